// loop (s) { a = f(s);  m = min a x;  r = min m y }  =>  loop (s) { .. t = min x y;  r = min a t }
//
// for operators that are associative and commutative, of floats the least and the greatest, where
// x and y do not depend on what the loop carries.  Why: the next round waits for one operation
// instead of two.
#include "kern/tidy/tidy.h"

typedef struct Late {
  KernMapper mapper;
  Map *late;  // Var -> itself: depends on what a loop around carries
  Map *lets;  // Var -> const Term *
} Late;

static bool may_regroup(const Term *t) {
  if (t->kind != TERM_OP) return false;
  PrimOp op = t->u.op.op;
  if (op == OP_MIN || op == OP_MAX) return true;
  bool whole = op == OP_ADD || op == OP_AND || op == OP_OR || op == OP_XOR;
  return whole && prim_is_int(t->type);
}

static bool is_late(const Late *l, const Term *t) {
  return term_mentions_any(t, l->late);
}

// Statements with blocks are taken to depend.
static void note_late(Late *l, const KernStm *stm) {
  bool late = stm->kind != KERN_LET && stm->kind != KERN_LOAD;
  if (stm->kind == KERN_LET) late = is_late(l, stm->u.term);
  for (int i = 0; stm->kind == KERN_LOAD && i < stm->u.load.tensor->rank; i++)
    late = late || is_late(l, stm->u.load.index[i]);
  for (int i = 0; late && i < stm->binder_count; i++)
    map_put(l->late, stm->binders[i], stm->binders[i]);
}

// The operand of the operation that depends, if only one does; the other one is `early`.
static const Term *only_late(const Late *l, const Term *t, const Term **early) {
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (is_late(l, a) == is_late(l, b)) return NULL;
  *early = is_late(l, a) ? b : a;
  return is_late(l, a) ? a : b;
}

static void add_regrouped(const Late *l, KernBuilder *b, const KernStm *stm) {
  const Term *t = stm->u.term, *early, *before, *first = NULL, *inner = NULL;
  const Term *late = may_regroup(t) ? only_late(l, t, &early) : NULL;
  if (late && late->kind == TERM_VAR) inner = map_get(l->lets, late->u.var);
  if (inner && may_regroup(inner) && inner->u.op.op == t->u.op.op &&
      inner->u.op.operands == t->u.op.operands)
    first = only_late(l, inner, &before);
  if (!first) {
    kern_add(b, *stm);
    return;
  }
  const Term *both = kern_let(b, "both", term_op2(t->u.op.op, before, early));
  // Of floats the second operand has the shorter way (c_vector.c).
  kern_let_var(b, stm->binders[0], term_op2(t->u.op.op, both, first));
}

static const KernBlock *regroup(KernMapper *m, const KernBlock *block);

// The loop by itself: what loops around it carry, its rounds do not wait for.
static KernStm regroup_loop(const Late *l, const KernStm *stm) {
  Late inner = { .mapper = l->mapper, .late = map_new(NULL), .lets = l->lets };
  inner.mapper.state = &inner;
  for (int i = 0; i < stm->u.axis->param_count; i++)
    map_put(inner.late, stm->u.axis->params[i], stm->u.axis->params[i]);
  return kern_map_stm(&inner.mapper, stm);
}

static const KernBlock *regroup(KernMapper *m, const KernBlock *block) {
  Late *l = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    bool loop = stm->kind == KERN_AXIS && stm->u.axis->role == AXIS_LOOP;
    int before = b.stms.count;
    if (stm->kind == KERN_LET)
      add_regrouped(l, &b, stm);
    else
      kern_add(&b, loop ? regroup_loop(l, stm) : kern_map_stm(m, stm));
    for (int k = before; k < b.stms.count; k++) {
      if (b.stms.at[k].kind == KERN_LET)
        map_put(l->lets, b.stms.at[k].binders[0], b.stms.at[k].u.term);
      note_late(l, &b.stms.at[k]);
    }
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_late_operands(Compiler *c, const Kern *kern) {
  Late l = { .mapper = { .c = c, .block = regroup },
             .late = map_new(NULL),
             .lets = map_new(NULL) };
  l.mapper.state = &l;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = regroup(&l.mapper, kern->body);
  return out;
}
