// axis a loop (s = s0) { .. let r = s + x  in {r} }
//   =>  axis a reduce (+) from {s0} { .. in {x} }
// .. select(c, s + x, s) ..  =>  .. select(c, x, 0) ..
//
// for operators on whole numbers and truth values that are associative and commutative, where
// nothing else in a round reads what it carries.  Why: sums may be taken in lanes and in any order,
// loops not.  Loops of a length that a point finds out stay: they may well be short.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

typedef struct LoopSums {
  const Axis *axis;
  Map *lets;  // Var -> const Term *: of the round
  Map *late;  // Var -> itself: what depends on what the loop carries
} LoopSums;

typedef struct SeenCarried {
  const Map *late;
  bool *found;
} SeenCarried;

// A result of a round: its param joined with `joined`, which is of the round alone.
typedef struct SumPart {
  const Var *param;
  PrimOp op;
  bool known;  // the operator
  KernBuilder *b;
} SumPart;

// What joins the param to give the term, or NULL; `*none`: nothing, the term is the param.
static const Term *joined_by(const LoopSums *s, SumPart *j, const Term *t, bool *none);

static const Term *joined_by_op(const LoopSums *s, SumPart *j, const Term *t,
                                bool *none) {
  PrimOp op = t->u.op.op;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (!op_joins_in_any_order(op, t->type) || t->u.op.operands != t->type ||
      (j->known && j->op != op))
    return NULL;
  j->op = op;
  j->known = true;
  bool first = term_mentions_any(a, s->late);
  const Term *late = first ? a : b, *early = first ? b : a;
  if (term_mentions_any(early, s->late)) return NULL;
  bool alone = false;
  const Term *before = joined_by(s, j, late, &alone);
  if (!before) return NULL;
  *none = false;
  return alone ? early : kern_let(j->b, "joined", term_op2(op, before, early));
}

static const Term *joined_by_choice(const LoopSums *s, SumPart *j, const Term *t,
                                    bool *none) {
  const Term *condition = t->u.select.condition;
  bool none_of_a = false, none_of_b = false;
  if (term_mentions_any(condition, s->late)) return NULL;
  const Term *a = joined_by(s, j, t->u.select.a, &none_of_a);
  const Term *b = a ? joined_by(s, j, t->u.select.b, &none_of_b) : NULL;
  if (!b || !j->known) return NULL;
  const Term *neutral = term_const(prim_neutral(j->op, t->type));
  *none = false;
  return kern_let(
      j->b, "joined",
      term_select(condition, none_of_a ? neutral : a, none_of_b ? neutral : b));
}

static const Term *joined_by(const LoopSums *s, SumPart *j, const Term *t, bool *none) {
  *none = term_is_var(t, j->param);
  if (*none) return t;
  const Term *let = t->kind == TERM_VAR ? map_get(s->lets, t->u.var) : NULL;
  if (let) return joined_by(s, j, let, none);
  if (t->kind == TERM_SELECT) return joined_by_choice(s, j, t, none);
  if (t->kind == TERM_OP && term_operands(t, (const Term *[3]){ 0 }) == 2)
    return joined_by_op(s, j, t, none);
  return NULL;
}

static void see_late_term(KernVisitor *v, const Term *t) {
  const SeenCarried *l = v->state;
  if (term_mentions_any(t, l->late)) l->found[0] = true;
}

static bool mentions_late(const Map *late, const KernStm *stm) {
  bool found = false;
  SeenCarried l = { late, &found };
  KernVisitor v = { .term = see_late_term, .state = &l };
  kern_visit_stm(&v, stm);
  return found;
}

// Is the statement one that may run in any order, or makes what is carried?  Notes it.
static bool may_sum_over(LoopSums *s, KernBuilder *b, const KernStm *stm) {
  if (stm->kind == KERN_LET) map_put(s->lets, stm->binders[0], stm->u.term);
  if (stm->kind == KERN_LET && term_mentions_any(stm->u.term, s->late)) {
    map_put(s->late, stm->binders[0], stm->binders[0]);
    return true;
  }
  bool plain = stm->kind == KERN_LET || stm->kind == KERN_LOAD || stm->kind == KERN_CHECK;
  kern_add(b, *stm);
  return plain && !mentions_late(s->late, stm);
}

static KernOp op_of_sum(Compiler *c, PrimOp op, const Var *like) {
  const Var **params = new_array(const Var *, 2);
  const Term **neutral = new_array(const Term *, 1),
             **result = new_array(const Term *, 1);
  for (int i = 0; i < 2; i++)
    params[i] = var_new(c, like->name, like->type, like->loc);
  KernBuilder b = kern_builder(c, like->loc);
  result[0] = kern_let(&b, "sum", term_op2(op, term_var(params[0]), term_var(params[1])));
  neutral[0] = term_const(prim_neutral(op, like->type.elem));
  return (KernOp){ params, kern_block(&b, result, 1), neutral, 1, true };
}

// The axis as a reduction; NULL: it is none.
static const Axis *as_sum(Compiler *c, const Axis *axis) {
  LoopSums s = { axis, map_new(NULL), map_new(NULL) };
  KernBuilder b = kern_builder(c, (Loc){ 0 });
  const Term **results = new_array(const Term *, axis->param_count);
  KernOp *ops = new_array(KernOp, axis->param_count);
  for (int i = 0; i < axis->param_count; i++)
    map_put(s.late, axis->params[i], axis->params[i]);
  for (int i = 0; i < axis->body->count; i++)
    if (!may_sum_over(&s, &b, &axis->body->stms[i])) return NULL;
  for (int i = 0; i < axis->param_count; i++) {
    SumPart j = { .param = axis->params[i], .b = &b };
    bool none = false;
    results[i] = joined_by(&s, &j, axis->body->results[i], &none);
    if (!results[i] || none) return NULL;
    ops[i] = op_of_sum(c, j.op, axis->params[i]);
  }
  Axis *sum = mem_copy(axis, sizeof *axis);
  sum->role = AXIS_REDUCE;
  sum->body = kern_block(&b, results, axis->param_count);
  sum->params = NULL;
  sum->ops = ops;
  sum->op_count = axis->param_count;
  sum->param_count = 0;
  return sum;
}

static const KernBlock *sums_in(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    bool loop = stm.kind == KERN_AXIS && stm.u.axis->role == AXIS_LOOP &&
                stm.u.axis->param_count > 0 &&
                kern_host_knows(m->state, stm.u.axis->width);
    const Axis *sum = loop ? as_sum(m->c, stm.u.axis) : NULL;
    if (sum) stm.u.axis = sum;
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_loops_as_sums(Compiler *c, const Kern *kern) {
  KernMapper m = { .c = c, .block = sums_in, .state = (void *)(intptr_t)kern };
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = sums_in(&m, kern->body);
  return out;
}
