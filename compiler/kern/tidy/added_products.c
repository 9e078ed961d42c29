// axis i { let p = a * b  in {p} } op +   =>   axis i { in {a * b} } op +
//
// if nothing else mentions p, and what is summed up are floats.
//
// Why: a product and the sum that it is added to become one instruction (imp/lower/axis.c).
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

typedef struct Mentions {
  const Var *var;
  int count;
} Mentions;

static void see_term(KernVisitor *v, const Term *term) {
  Mentions *m = v->state;
  m->count += term_mentions(term, m->var);
}

// Is the variable a product that the block binds, and nothing but its results, once?
static bool is_only_result(const KernBlock *block, const Term *result) {
  if (result->kind != TERM_VAR) return false;
  const Term *value = term_behind(block, result);
  if (value->kind != TERM_OP || value->u.op.op != OP_MUL) return false;
  Mentions m = { .var = result->u.var };
  KernVisitor v = { .term = see_term, .state = &m };
  kern_visit_block(&v, block);
  return m.count == 1;
}

// The body with that result as a term of its own.
static const KernBlock *with_product(Compiler *c, const KernBlock *body, int result) {
  const Var *var = body->results[result]->u.var;
  const Term **results = mem_copy(body->results, sizeof(Term *) * body->result_count);
  KernBuilder b = kern_builder(c, (Loc){ 0 });
  results[result] = term_behind(body, body->results[result]);
  for (int i = 0; i < body->count; i++)
    if (body->stms[i].kind != KERN_LET || body->stms[i].binders[0] != var)
      kern_add(&b, body->stms[i]);
  return kern_block(&b, results, body->result_count);
}

static KernStm with_products(Compiler *c, KernStm stm) {
  if (stm.kind != KERN_AXIS || stm.u.axis->role != AXIS_REDUCE) return stm;
  Axis *axis = mem_copy(stm.u.axis, sizeof *stm.u.axis);
  for (int o = 0, first = 0; o < axis->op_count; first += axis->ops[o++].count)
    if (kern_adds_floats(&axis->ops[o]) &&
        is_only_result(axis->body, axis->body->results[first]))
      axis->body = with_product(c, axis->body, first);
  stm.u.axis = axis;
  return stm;
}

static const KernBlock *map_products(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    b.loc = block->stms[i].loc;
    kern_add(&b, with_products(m->c, kern_map_stm(m, &block->stms[i])));
  }
  return kern_block(&b, block->results, block->result_count);
}

const KernBlock *kern_added_products(Compiler *c, const KernBlock *block) {
  KernMapper m = { .c = c, .block = map_products };
  return map_products(&m, block);
}
