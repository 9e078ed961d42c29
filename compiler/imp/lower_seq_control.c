// Sequential loops and branches in kernels.
#include "imp/lower.h"

// ---- if

// A place for an array result of a branch: memory of the enclosing body that dies here is used
// again, so that `if c then xs with [i] = v else xs` copies nothing.
static const Arr *branch_place(Code *k, const Stm *stm, int i, const Body *body,
                               int position) {
  const Arr *wanted = map_get(k->wanted, stm->binders[i]);
  if (wanted) return wanted;
  const Body *branches[] = { stm->exp->u.cond.then_body, stm->exp->u.cond.else_body };
  for (int side = 0; side < 2; side++) {
    Atom result = branches[side]->results[i];
    if (result.kind != ATOM_VAR || !map_has(k->arrays, result.u.var)) continue;
    if (!code_may_overwrite(k, result, body, position)) continue;
    bool taken = false;  // two results must not share one place
    for (int j = 0; j < i; j++) {
      const Arr *other = map_get(k->arrays, stm->binders[j]);
      taken = taken || (other && other->mem == code_array(k, result)->mem);
    }
    if (!taken) return code_array(k, result);
  }
  Arr fresh = code_alloc(k, stm->binders[i]->name, stm->binders[i]->type);
  return mem_copy(&fresh, sizeof fresh);
}

// What the enclosing body owns and does not read after the `if`, a branch may overwrite.
static void inherit_owned(Code *outer, Code *inner, const Stm *stm, const Body *body,
                          int position) {
  const Body *branches[] = { stm->exp->u.cond.then_body, stm->exp->u.cond.else_body };
  for (int side = 0; side < 2; side++) {
    VarVec free = core_free_body(branches[side]);
    vec_each (const Var **, v, &free) {
      if (!map_has(outer->arrays, *v) || (*v)->type.rank == 0) continue;
      if (code_may_overwrite(outer, atom_var(*v), body, position)) {
        const Mem *mem = code_array(outer, atom_var(*v))->mem;
        map_put(inner->owned, mem, mem);
      }
    }
  }
}

typedef struct If {
  const Stm *stm;
  const Body *outer;
  int position;
  const Arr **places;
} If;

static ImpBlock branch(Code *k, const If *info, const Body *body) {
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  inherit_owned(k, &inner, info->stm, info->outer, info->position);
  int count = body->result_count;
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **dests = new_array(const Arr *, count + 1);
  seq_body(&inner, body, scalars, dests);
  for (int i = 0; i < count; i++) {
    if (info->stm->binders[i]->type.rank == 0)
      imp_assign(&b, info->stm->binders[i], scalars[i]);
    else
      code_copy(&inner, info->places[i], dests[i]);
  }
  return b.block;
}

void seq_if(Code *k, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  If info = { stm, body, position, new_array(const Arr *, stm->binder_count + 1) };
  for (int i = 0; i < stm->binder_count; i++) {
    if (stm->binders[i]->type.rank == 0) {
      code_bind_scalar(k, stm->binders[i], NULL);
      continue;
    }
    info.places[i] = branch_place(k, stm, i, body, position);
    code_bind(k, stm->binders[i], *info.places[i]);
  }
  ImpBlock then_block = branch(k, &info, exp->u.cond.then_body);
  ImpBlock else_block = branch(k, &info, exp->u.cond.else_body);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_IF,
                              .u.cond = { imp_atom(exp->u.cond.condition), then_block,
                                          else_block } });
}

// ---- loop

// Where a parameter lies: where its last value is wanted; where its first value is if nothing else
// needs that; else in memory of its own.
static Arr param_place(Code *k, const Stm *stm, int i, const Body *body, int position) {
  const Exp *exp = stm->exp;
  const Var *param = exp->u.loop.params[i];
  const Arr *wanted = map_get(k->wanted, stm->binders[i]);
  if (wanted) return *wanted;
  const Arr *init = code_array(k, exp->u.loop.inits[i]);
  if (arr_is_dense(init) && code_loop_takes(k, exp, i, body, position)) return *init;
  return code_alloc(k, param->name, param->type);
}

// Parameters in memory and variables of their own, holding the initial values.
static void loop_params(Code *k, const Stm *stm, const Body *body, int position,
                        Map *params) {
  const Exp *exp = stm->exp;
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    const Var *param = exp->u.loop.params[i];
    Atom init = exp->u.loop.inits[i];
    if (param->type.rank == 0) {
      code_bind_scalar(k, param, imp_atom(init));
      continue;
    }
    Arr place = param_place(k, stm, i, body, position);
    code_copy(k, &place, code_array(k, init));
    code_bind(k, param, place);
    map_put(params, place.mem, place.mem);
  }
}

// Is a result computed in the memory of another parameter, which is overwritten before it is read?
static bool in_other_param(Code *k, const Exp *exp, const Arr *made, int i) {
  for (int j = 0; j < exp->u.loop.param_count; j++) {
    const Var *param = exp->u.loop.params[j];
    if (j != i && param->type.rank > 0 &&
        code_array(k, atom_var(param))->mem == made->mem)
      return true;
  }
  return false;
}

// Moves the results to the parameters, as if all at once.
static void next_params(Code *k, const Exp *exp, const ImpExp **scalars,
                        const Arr **made) {
  int count = exp->u.loop.param_count;
  const Var **moved = new_array(const Var *, count + 1);
  for (int i = 0; i < count; i++) {
    const Var *param = exp->u.loop.params[i];
    if (param->type.rank == 0) {
      moved[i] = imp_declare(k->b, param->name, scalars[i]);
    } else if (in_other_param(k, exp, made[i], i)) {
      Arr temporary = code_alloc(k, param->name, param->type);
      code_copy(k, &temporary, made[i]);
      made[i] = mem_copy(&temporary, sizeof temporary);
    }
  }
  // Arrays first: where a view lies may depend on the scalars as they were.
  for (int i = 0; i < count; i++)
    if (!moved[i]) code_copy(k, code_array(k, atom_var(exp->u.loop.params[i])), made[i]);
  for (int i = 0; i < count; i++)
    if (moved[i]) imp_assign(k->b, exp->u.loop.params[i], imp_var(moved[i]));
}

static void loop_results(Code *k, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *param = stm->exp->u.loop.params[i];
    if (param->type.rank == 0)
      code_bind_scalar(k, stm->binders[i], imp_var(param));
    else
      code_bind(k, stm->binders[i], *code_array(k, atom_var(param)));
  }
}

void seq_loop(Code *k, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  Map *params = map_new(NULL);
  loop_params(k, stm, body, position, params);
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  inner.owned = params;
  if (exp->u.loop.index) map_put(k->inside, exp->u.loop.index, exp);
  int count = exp->u.loop.param_count;
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **made = new_array(const Arr *, count + 1);
  seq_body(&inner, exp->u.loop.body, scalars, made);
  next_params(&inner, exp, scalars, made);
  if (exp->u.loop.form == CORE_FOR)
    imp_add_stm(k->b,
                (ImpStm){ .kind = IMP_FOR,
                          .u.loop = { exp->u.loop.index, imp_atom(exp->u.loop.bound),
                                      b.block, false } });
  else
    imp_add_stm(k->b, (ImpStm){ .kind = IMP_WHILE,
                                .u.loop_while = {
                                    imp_var(exp->u.loop.params[exp->u.loop.while_param]),
                                    b.block } });
  loop_results(k, stm);
}
