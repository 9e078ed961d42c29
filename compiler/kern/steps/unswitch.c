// unswitch a:   axis a { lets; x = if c { A } else { B }; rest }
//        =>     if c { axis a { lets; A; rest } } else { axis a { lets; B; rest } }
//
// Of `c && d` the part that is the same at all points will do: d stays in the first axis.
//
// Why: what each branch computes from things outside can then be computed once, before the axis,
// and the axis is a loop without branches.
#include "kern/steps/step.h"

enum { MOST_STATEMENTS = 40 };

static bool is_outside(const KernBlock *body, const Axis *axis, const Term *t) {
  if (term_mentions(t, axis->index)) return false;
  for (int i = 0; i < axis->param_count; i++)
    if (term_mentions(t, axis->params[i])) return false;
  for (int i = 0; i < body->count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (term_mentions(t, body->stms[i].binders[k])) return false;
  return true;
}

// A branch, what of its condition is the same at all points, and what is left of that where it
// holds (NULL: nothing).
typedef struct UniformIf {
  const KernStm *branch;
  const Term *condition, *rest;
} UniformIf;

// The condition, through lets of the body.
static const Term *let_in(const KernBlock *body, const Term *t) {
  for (int i = 0; t->kind == TERM_VAR && i < body->count; i++)
    if (body->stms[i].kind == KERN_LET && body->stms[i].binders[0] == t->u.var)
      return let_in(body, body->stms[i].u.term);
  return t;
}

// Before the loop nobody has checked anything.
static bool may_trap(const Term *t) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    if (may_trap(operands[i])) return true;
  return t->kind == TERM_OP && op_may_trap(t->u.op.op, t->u.op.operands);
}

static bool is_uniform(const Axis *axis, const Term *t) {
  return t->kind != TERM_CONST && is_outside(axis->body, axis, t) && !may_trap(t);
}

static bool find_uniform(const Axis *axis, const Term *condition, UniformIf *out) {
  const Term *t = let_in(axis->body, condition);
  if (is_uniform(axis, t)) {
    *out = (UniformIf){ .condition = t };
    return true;
  }
  if (t->kind != TERM_OP || t->u.op.op != OP_LAND) return false;
  for (int side = 0; side < 2; side++) {
    const Term *part = let_in(axis->body, t->u.op.args[side]);
    if (!is_uniform(axis, part)) continue;
    *out = (UniformIf){ .condition = part, .rest = t->u.op.args[1 - side] };
    return true;
  }
  return false;
}

// The first branch with such a condition.
static bool uniform_branch(const Axis *axis, UniformIf *out) {
  const KernBlock *body = axis->body;
  for (int i = 0; i < body->count; i++) {
    const KernStm *stm = &body->stms[i];
    if (stm->kind != KERN_IF || !find_uniform(axis, stm->u.cond.condition, out)) continue;
    out->branch = stm;
    return true;
  }
  return false;
}

// The axis where the condition holds, or does not: with that side in the place of the branch.
static void add_side(KernBuilder *b, const KernStm *stm, const UniformIf *u, bool holds,
                     Name name) {
  const KernStm *branch = u->branch;
  const KernBlock *side = holds ? branch->u.cond.then_block : branch->u.cond.else_block;
  KernStm rest = *branch;
  rest.u.cond.condition = u->rest;
  Axis copy = *stm->u.axis;
  const KernBlock *all = copy.body;
  KernBuilder body = kern_builder(b->c, stm->loc);
  kern_expect(&body, all->count);
  for (int i = 0; i < all->count; i++) {
    bool here = &all->stms[i] == branch, narrower = here && holds && u->rest;
    if (narrower) kern_add(&body, rest);
    here = here && !narrower;
    if (!here && !narrower) kern_add(&body, all->stms[i]);
    for (int k = 0; here && k < side->count; k++)
      kern_add(&body, side->stms[k]);
    for (int k = 0; here && k < branch->binder_count; k++)
      kern_let_var(&body, branch->binders[k], side->results[k]);
  }
  copy.name = name;
  copy.body = kern_block(&body, all->results, all->result_count);
  kern_axis(b, copy, stm->binders, stm->binder_count);
}

typedef struct KnownOutcome {
  const Term *condition;
  bool holds;
} KnownOutcome;

static const Term *with_known(void *state, const Term *t) {
  const KnownOutcome *known = state;
  if (t->type != PRIM_BOOL || !term_same(t, known->condition)) return t;
  return term_bool(known->holds);
}

static const KernBlock *side_of(Compiler *c, const KernStm *stm, const UniformIf *u,
                                bool holds, Name name) {
  KernBuilder b = kern_builder(c, stm->loc);
  const Term **totals = new_array(const Term *, stm->binder_count + 1);
  add_side(&b, stm, u, holds, name);
  for (int i = 0; i < stm->binder_count; i++)
    totals[i] = term_var(stm->binders[i]);
  KnownOutcome known = { u->condition, holds };
  const KernBlock *side = kern_block(&b, totals, stm->binder_count);
  return kern_rename(c, NULL, kern_assume(c, (KernKnown){ with_known, &known }, side));
}

static void add_both(void *state, KernBuilder *b, const KernStm *stm) {
  const Name *other = state;
  UniformIf u;
  if (!uniform_branch(stm->u.axis, &u)) return;
  kern_add(b, (KernStm){ .kind = KERN_IF,
                         .binders = stm->binders,
                         .binder_count = stm->binder_count,
                         .u.cond = { u.condition,
                                     side_of(b->c, stm, &u, true, stm->u.axis->name),
                                     side_of(b->c, stm, &u, false, *other),
                                     u.branch->u.cond.usual, false } });
}

const Kern *step_unswitch(Step *s, const Kern *kern, Name name) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const Axis *axis = stm->u.axis;
  if (axis->role != AXIS_MAP && axis->role != AXIS_REDUCE)
    return step_refuse(s, "%s is no map and no reduction", name);
  if (axis->bind != BIND_SEQ) return step_refuse(s, "%s is no loop", name);
  UniformIf u;
  if (!uniform_branch(axis, &u))
    return step_refuse(s, "no condition in %s is the same at all points", name);
  if (kern_statements(axis->body) > MOST_STATEMENTS)
    return step_refuse(s, "%s would be too long twice", name);
  Name other = name_of(s->c->names, text_format("%s_else", name));
  for (int i = 2; kern_has_axis(kern, other); i++)
    other = name_of(s->c->names, text_format("%s_else%d", name, i));
  return kern_name_axes(s->c, step_replace(s, kern, name, add_both, &other));
}
