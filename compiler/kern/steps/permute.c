// permute a b:   axis a { lets; axis b { body } }   =>   axis b { axis a { lets; body } }
//
// Why: the axis with neighbouring elements inside, what is used again soon inside,
// lanes around loops.
#include "base/map.h"
#include "kern/steps/step.h"

// The axis that is all of the block but for lets before it; NULL if it is not like that.
static const KernStm *only_axis(const KernBlock *block) {
  if (block->count == 0) return NULL;
  for (int i = 0; i + 1 < block->count; i++)
    if (block->stms[i].kind != KERN_LET) return NULL;
  const KernStm *last = &block->stms[block->count - 1];
  return last->kind == KERN_AXIS ? last : NULL;
}

// The outer reduction's contributions are the inner one's totals, all of them, in order?
static bool hands_on_totals(const Axis *outer, const KernStm *inner) {
  if (outer->body->result_count != inner->binder_count) return false;
  for (int i = 0; i < inner->binder_count; i++) {
    const Term *result = outer->body->results[i];
    if (result->kind != TERM_VAR || result->u.var != inner->binders[i]) return false;
  }
  return true;
}

// ---- are two operators one, up to the names of variables?

static const Term *counterpart(void *state, const Var *var) {
  return map_get(state, var);
}

static bool equal_terms(Map *names, const Term *a, const Term *b) {
  return term_same(term_replace(a, counterpart, names), b);
}

static void pair_vars(Map *names, const Var *const *a, const Var *const *b, int count) {
  for (int i = 0; i < count; i++)
    map_put(names, a[i], term_var(b[i]));
}

static bool equal_blocks(Map *names, const KernBlock *a, const KernBlock *b);

static bool equal_stms(Map *names, const KernStm *a, const KernStm *b) {
  if (a->kind != b->kind || a->binder_count != b->binder_count) return false;
  bool equal = false;
  if (a->kind == KERN_LET) equal = equal_terms(names, a->u.term, b->u.term);
  if (a->kind == KERN_CHECK)
    equal = equal_terms(names, a->u.check.condition, b->u.check.condition);
  if (a->kind == KERN_IF)
    equal = equal_terms(names, a->u.cond.condition, b->u.cond.condition) &&
            equal_blocks(names, a->u.cond.then_block, b->u.cond.then_block) &&
            equal_blocks(names, a->u.cond.else_block, b->u.cond.else_block);
  pair_vars(names, a->binders, b->binders, a->binder_count);
  return equal;
}

static bool equal_blocks(Map *names, const KernBlock *a, const KernBlock *b) {
  if (a->count != b->count || a->result_count != b->result_count) return false;
  for (int i = 0; i < a->count; i++)
    if (!equal_stms(names, &a->stms[i], &b->stms[i])) return false;
  for (int i = 0; i < a->result_count; i++)
    if (!equal_terms(names, a->results[i], b->results[i])) return false;
  return true;
}

static bool equal_ops(const Axis *a, const Axis *b) {
  if (a->op_count != b->op_count) return false;
  Map *names = map_new(NULL);
  for (int i = 0; i < a->op_count; i++) {
    const KernOp *x = &a->ops[i], *y = &b->ops[i];
    if (x->count != y->count) return false;
    pair_vars(names, x->params, y->params, 2 * x->count);
    if (!equal_blocks(names, x->block, y->block)) return false;
  }
  return true;
}

static const char *why_not(const Axis *outer, const KernStm *stm) {
  const Axis *inner = stm->u.axis;
  if (outer->role != inner->role) return "they do not do the same";
  if (outer->role != AXIS_MAP && outer->role != AXIS_REDUCE)
    return "values go from point to point";
  if (term_mentions(inner->width, outer->index))
    return "the inner width depends on the outer index";
  for (const KernStm *let = outer->body->stms; let != stm; let++)
    if (term_mentions(inner->width, let->binders[0]))
      return "the inner width is computed within";
  if (outer->role == AXIS_MAP) return NULL;
  if (!hands_on_totals(outer, stm)) return "the totals are used in between";
  if (inner->inits) return "the inner one begins with a value";
  if (!equal_ops(outer, inner)) return "their operators differ";
  return kern_commutes(outer) ? NULL : "the operator does not commute";
}

static void add_swapped(void *state, KernBuilder *b, const KernStm *stm) {
  const Axis *outer = stm->u.axis;
  const KernStm *inner_stm = *(const KernStm *const *)state;
  const Axis *inner = inner_stm->u.axis;
  Axis new_outer = *inner, new_inner = *outer;
  KernBuilder body = kern_builder(b->c, stm->loc), around = body;
  for (int i = 0; i + 1 < outer->body->count; i++)
    kern_add(&body, outer->body->stms[i]);
  for (int i = 0; i < inner->body->count; i++)
    kern_add(&body, inner->body->stms[i]);
  new_inner.body = kern_block(&body, inner->body->results, inner->body->result_count);
  new_inner.inits = NULL;
  kern_axis(&around, new_inner, inner_stm->binders, inner_stm->binder_count);
  new_outer.inits = outer->inits;
  new_outer.body = kern_block(&around, outer->body->results, outer->body->result_count);
  kern_axis(b, new_outer, stm->binders, stm->binder_count);
}

const Kern *step_swap(Step *s, const Kern *kern, Name name) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const KernStm *inner = only_axis(stm->u.axis->body);
  if (!inner) return step_refuse(s, "%s has more in it than an axis", name);
  const char *reason = why_not(stm->u.axis, inner);
  if (reason)
    return step_refuse(s, "%s and %s cannot change places: %s", name, inner->u.axis->name,
                       reason);
  return step_replace(s, kern, name, add_swapped, &inner);
}
