// The questions that the rules ask of a goal: what varies, what is cheap, and does any rule apply?
// The last is a dry run of the rules themselves.
#include "base/map.h"
#include "flat/rules.h"

bool goal_is_question(const Goal *goal) { return !goal->b; }

bool goal_varies(const Goal *goal, Atom a) {
  return a.kind == ATOM_VAR &&
         (map_has(goal->local, a.u.var) || nest_binds(goal->nest, a.u.var));
}

bool goal_type_varies(const Goal *goal, CoreType type) {
  for (int i = 0; i < type.rank; i++)
    if (goal_varies(goal, type.dims[i])) return true;
  return false;
}

static bool free_varies(const Goal *goal, VarVec free) {
  vec_each (const Var **, v, &free)
    if (goal_varies(goal, atom_var(*v))) return true;
  return false;
}

Goal goal_inside(const Goal *goal) {
  Goal inside = *goal;
  inside.local = map_new(goal->local);
  inside.b = NULL;
  return inside;
}

void goal_bind(Goal *goal, const Var *var) { map_put(goal->local, var, var); }

bool goal_is_uniform(const Goal *goal, const Stm *stm) {
  if (stm->binder_count != 1 || stm->binders[0]->type.rank > 0) return false;
  bool scalar = exp_is_scalar(stm->exp) || stm->exp->kind == EXP_ATOM;
  return scalar && !exp_may_fail(stm->exp) && !free_varies(goal, core_free_exp(stm->exp));
}

bool flat_operators_on_scalars(const Soac *soac) {
  for (int i = 0; i < soac->op_count; i++) {
    const RedOp *op = &soac->ops[i];
    for (int k = 0; k < op->count; k++)
      if (op->op.params[k]->type.rank > 0) return false;
    if (core_has_soac(op->op.body)) return false;
  }
  return true;
}

static bool binds(const Stm *stm, Atom a) {
  for (int i = 0; i < stm->binder_count; i++)
    if (a.kind == ATOM_VAR && stm->binders[i] == a.u.var) return true;
  return false;
}

// A size that the statement itself finds out (branches of different sizes, an array that a loop
// lets grow) is one per point of the context, and no size of an array over the context.
static bool finds_size(const Stm *stm, CoreType type) {
  for (int i = 0; i < type.rank; i++)
    if (binds(stm, type.dims[i])) return true;
  return false;
}

// The side condition of G6: is the size of an array that the statement binds different from point
// to point?
static bool sizes_vary(const Goal *goal) {
  const Stm *stm = goal->stm;
  for (int i = 0; i < stm->binder_count; i++) {
    CoreType type = stm->binders[i]->type;
    if (goal_type_varies(goal, type) || (goal->nest && finds_size(stm, type)))
      return true;
  }
  return false;
}

bool goal_operators_vary(const Goal *goal, const RedOp *ops, int count) {
  for (int i = 0; i < count; i++) {
    for (int k = 0; k < ops[i].count; k++)
      if (goal_varies(goal, ops[i].neutral[k])) return true;
    if (free_varies(goal, core_free_lambda(&ops[i].op))) return true;
  }
  return false;
}

enum { DEEPEST_NEST = 32 };  // parallelism further inside would add nothing but versions

bool goal_distributes(Flatten *fl, const Goal *goal) {
  if (nest_depth(goal->nest) >= DEEPEST_NEST) return false;
  if (flatten_is_sequential(goal->stm) || sizes_vary(goal)) return false;
  Goal question = *goal;
  question.b = NULL;
  return rule_apply(fl, &question, NULL);
}

bool goal_body_exploitable(Flatten *fl, const Goal *goal, const Body *body) {
  Goal inside = goal_inside(goal);
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    inside.stm = stm;
    if (exp_has_bodies(stm->exp) && goal_distributes(fl, &inside)) return true;
    bool uniform = goal_is_uniform(&inside, stm);
    for (int k = 0; k < stm->binder_count; k++) {
      map_put(fl->defs, stm->binders[k], stm);
      if (!uniform) goal_bind(&inside, stm->binders[k]);
    }
  }
  return false;
}

bool flat_body_has_seg(const Body *body, int level) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_SEG && exp->u.seg->level == level) return true;
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      if (flat_body_has_seg(*inner, level)) return true;
  }
  return false;
}
