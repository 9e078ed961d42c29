// for k < n { acc = acc + (c && p(k) ? x(k) : 0) }   =>   for k < (c ? n : 0) { .. }
//
// Why: where all of a sum hangs on a condition that the loop does not change, a sequential loop
// asks it before (is there an edge at all?).  In lanes and registers there are no rounds if it
// holds for none of them.  The sum is what it begins with then, as it is after neutral elements.
#include "imp/lower/kern.h"
#include "kern/kern_ask.h"

typedef Vec(const Var *) VarsNeeded;

typedef struct Idle {
  const Axis *axis;
  VarsNeeded found;
} Idle;

static bool is_bound_by(const Axis *axis, const Var *var) {
  for (int i = 0; i < axis->body->count; i++)
    for (int k = 0; k < axis->body->stms[i].binder_count; k++)
      if (axis->body->stms[i].binders[k] == var) return true;
  return var == axis->index;
}

// Adds what has to hold, of what is known before the loop, for the truth value to hold.
static void find_needed(Idle *s, const Term *t) {
  t = term_behind(s->axis->body, t);
  if (t->kind == TERM_VAR && t->type == PRIM_BOOL && !is_bound_by(s->axis, t->u.var))
    vec_push(&s->found, t->u.var);
  if (t->kind == TERM_OP && t->u.op.op == OP_LAND) {
    find_needed(s, t->u.op.args[0]);
    find_needed(s, t->u.op.args[1]);
  }
  if (t->kind != TERM_SELECT || !term_is_bool(t->u.select.b, false)) return;
  find_needed(s, t->u.select.condition);
  find_needed(s, t->u.select.a);
}

// Likewise for the number not to be neutral.
static void find_active(Idle *s, const Term *t, const Term *neutral) {
  t = term_behind(s->axis->body, t);
  if (t->type == PRIM_BOOL && term_is_bool(neutral, false)) find_needed(s, t);
  if (t->kind == TERM_CONVERT && t->u.arg->type == PRIM_BOOL && prim_is_int(t->type) &&
      term_same(neutral, term_const(prim_zero(t->type))))
    find_needed(s, t->u.arg);
  if (t->kind != TERM_SELECT || t->type == PRIM_BOOL ||
      !term_same(t->u.select.b, neutral))
    return;
  find_needed(s, t->u.select.condition);
  find_active(s, t->u.select.a, neutral);
}

static bool is_among(const VarsNeeded *all, const Var *var) {
  vec_each (const Var **, one, all)
    if (*one == var) return true;
  return false;
}

// The conditions without any of which all that the axis adds up is neutral.
static VarsNeeded needed_by_all(const Axis *axis) {
  int count = kern_sum_count(axis), number = 0;
  Idle *sums = new_array(Idle, count + 1);
  for (int o = 0; o < axis->op_count; o++)
    for (int i = 0; i < axis->ops[o].count; i++, number++) {
      sums[number].axis = axis;
      find_active(&sums[number], axis->body->results[number], axis->ops[o].neutral[i]);
    }
  VarsNeeded needed = { 0 };
  vec_each (const Var **, one, &sums[0].found) {
    int known = 1;
    while (known < count && is_among(&sums[known].found, *one))
      known++;
    if (known == count && !is_among(&needed, *one)) vec_push(&needed, *one);
  }
  return needed;
}

// Do all of them hold, in a lane of any copy?
static const ImpExp *hold_somewhere(KernCode *kc, const VarsNeeded *needed) {
  AxisSet set = kc->masks ? kc->masks->set : 0;
  vec_each (const Var **, one, needed)
    set |= set_of_var(kc, *one);
  bool vector = in_lanes(kc, set);
  const ImpExp *any = NULL;
  for (Copies at = copies_over(kc, set); copies_next(&at);) {
    const ImpExp *all = vector ? mask_at_hand(kc) : NULL;
    vec_each (const Var **, one, needed) {
      const ImpExp *holds = lower_as(kc, term_var(*one), vector);
      all = all ? imp_op2(OP_LAND, all, holds) : holds;
    }
    any = any ? imp_op2(OP_LOR, any, all) : all;
  }
  return vector ? imp_over_lanes(IMP_ANY, any) : any;
}

const ImpExp *rounds_unless_idle(KernCode *kc, const Axis *axis, const ImpExp *rounds) {
  if (axis->role != AXIS_REDUCE || !axis->op_count || kc->tiles) return rounds;
  if (!may_be_left_out(axis->body)) return rounds;
  VarsNeeded needed = needed_by_all(axis);
  if (!needed.count) return rounds;
  const ImpExp *holds = hold_somewhere(kc, &needed);
  return declared(kc, "rounds", imp_select(holds, rounds, imp_i64(0)));
}
