// check 0 <= i && i < n  =>  check u64(i) < u64(n), where n is a dimension of an array
//
// Why: the device's compiler does not know that no dimension is negative, so it compares twice; in
// a loop that loads from anywhere, each costs a cycle.  Comes last, as other passes look for the
// two comparisons.
#include "kern/tidy/tidy.h"

static bool compares_indices(const Term *t, PrimOp op) {
  return t->kind == TERM_OP && t->u.op.op == op && t->u.op.operands == PRIM_I64;
}

static bool is_dimension(const Map *dims, const Term *t) {
  return t->kind == TERM_CONST ? t->u.constant.u.i >= 0
                               : t->kind == TERM_VAR && map_has(dims, t->u.var);
}

// 0 <= i && i < n
static bool checks_inside(const Map *dims, const Term *low, const Term *high) {
  return compares_indices(low, OP_LE) && compares_indices(high, OP_LT) &&
         term_is_i64(low->u.op.args[0], 0) &&
         term_same(low->u.op.args[1], high->u.op.args[0]) &&
         is_dimension(dims, high->u.op.args[1]);
}

static const Term *compared_once(const Map *dims, const Term *t) {
  if (t->kind != TERM_OP || t->u.op.op != OP_LAND) return t;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (!checks_inside(dims, a, b))
    return term_and(compared_once(dims, a), compared_once(dims, b));
  return term_less(term_convert(PRIM_U64, b->u.op.args[0]),
                   term_convert(PRIM_U64, b->u.op.args[1]));
}

static const KernBlock *checked_once(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    if (stm.kind == KERN_CHECK)
      stm.u.check.condition = compared_once(m->state, stm.u.check.condition);
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

// Arrays of the host are there, so their dimensions are not negative.
static void note_dims(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  const Tensor *t = access.tensor;
  if (t->space != TENSOR_GLOBAL || t->of || !t->host) return;
  for (int i = 0; i < t->rank; i++)
    if (t->dims[i]->kind == TERM_VAR)
      map_put(v->state, t->dims[i]->u.var, t->dims[i]->u.var);
}

const Kern *kern_compare_once(Compiler *c, const Kern *kern) {
  KernVisitor v = { .access = note_dims, .state = map_new(NULL) };
  kern_visit_block(&v, kern->body);
  KernMapper m = { .c = c, .block = checked_once, .state = v.state };
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = checked_once(&m, kern->body);
  return out;
}
