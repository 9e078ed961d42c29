// unswitch a:   axis a { lets; x = if c { A } else { B }; rest }
//        =>     if c { axis a { lets; A; rest } } else { axis a { lets; B; rest } }
//
// Why: what each branch computes from things outside can then be computed once, before the axis,
// and the axis is a loop without branches.
#include "kern/plan.h"
#include "kern/step.h"

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

// The first branch whose condition is the same at all points.
static const KernStm *uniform_branch(const Axis *axis) {
  const KernBlock *body = axis->body;
  for (int i = 0; i < body->count; i++) {
    const KernStm *stm = &body->stms[i];
    if (stm->kind == KERN_IF && stm->u.cond.condition->kind != TERM_CONST &&
        is_outside(body, axis, stm->u.cond.condition))
      return stm;
  }
  return NULL;
}

static int size_of(const KernBlock *block) {
  int size = block->count;
  for (int i = 0; i < block->count; i++) {
    KernBlockVec blocks = kern_blocks(&block->stms[i]);
    vec_each (const KernBlock **, inner, &blocks)
      size += size_of(*inner);
  }
  return size;
}

// The axis with one side of the branch in its place.
static void add_side(KernBuilder *b, const KernStm *stm, const KernStm *branch,
                     const KernBlock *side, Name name) {
  Axis copy = *stm->u.axis;
  const KernBlock *all = copy.body;
  KernBuilder body = kern_builder(b->c, stm->loc);
  for (int i = 0; i < all->count; i++) {
    bool here = &all->stms[i] == branch;
    if (!here) kern_add(&body, all->stms[i]);
    for (int k = 0; here && k < side->count; k++)
      kern_add(&body, side->stms[k]);
    for (int k = 0; here && k < branch->binder_count; k++)
      kern_let_var(&body, branch->binders[k], side->results[k]);
  }
  copy.name = name;
  copy.body = kern_block(&body, all->results, all->result_count);
  kern_axis(b, copy, stm->binders, stm->binder_count);
}

static const KernBlock *side_of(Compiler *c, const KernStm *stm, const KernStm *branch,
                                const KernBlock *side, Name name) {
  KernBuilder b = kern_builder(c, stm->loc);
  const Term **totals = new_array(const Term *, stm->binder_count + 1);
  add_side(&b, stm, branch, side, name);
  for (int i = 0; i < stm->binder_count; i++)
    totals[i] = term_var(stm->binders[i]);
  return kern_rename(c, NULL, kern_block(&b, totals, stm->binder_count));
}

static void add_both(void *state, KernBuilder *b, const KernStm *stm) {
  const Name *other = state;
  const KernStm *branch = uniform_branch(stm->u.axis);
  const KernBlock *then_block = branch->u.cond.then_block;
  const KernBlock *else_block = branch->u.cond.else_block;
  kern_add(
      b, (KernStm){ .kind = KERN_IF,
                    .binders = stm->binders,
                    .binder_count = stm->binder_count,
                    .u.cond = { branch->u.cond.condition,
                                side_of(b->c, stm, branch, then_block, stm->u.axis->name),
                                side_of(b->c, stm, branch, else_block, *other),
                                branch->u.cond.usual } });
}

const Kern *step_unswitch(Step *s, const Kern *kern, Name name) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const Axis *axis = stm->u.axis;
  if (axis->role != AXIS_MAP && axis->role != AXIS_REDUCE)
    return step_refuse(s, "%s is no map and no reduction", name);
  if (axis->bind != BIND_SEQ) return step_refuse(s, "%s is no loop", name);
  if (!uniform_branch(axis))
    return step_refuse(s, "no condition in %s is the same at all points", name);
  if (size_of(axis->body) > MOST_STATEMENTS)
    return step_refuse(s, "%s would be too long twice", name);
  Name other = name_of(s->c->names, text_format("%s_else", name));
  for (int i = 2; kern_has_axis(kern, other); i++)
    other = name_of(s->c->names, text_format("%s_else%d", name, i));
  return kern_name_axes(s->c, step_replace(s, kern, name, add_both, &other));
}
