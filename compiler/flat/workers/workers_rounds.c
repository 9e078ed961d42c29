// Arrays that a loop carries in one shape, and of which each round reads and makes another one:
//
//   loop xs = e do let a = reshape [h][w] xs .. in {reshape [h * w] r}
//     =>  let e' = reshape [h][w] e
//         let ys = loop a = e' do .. in {r}
//         reshape [h * w] ys
//
// Needs: Flat.   Keeps: its promises, and one binding per name.   Why: by rows of h, what the
// rounds make stays where it is (workers.c).
#include "flat/workers/workers.h"

// A parameter that has another shape in each round.
typedef struct Reshaped {
  const Var *param;
  const Exp *to;  // its reshape; NULL: not found yet
  Map *alike;     // Var: it, or what is asserted of it
  bool others;    // something else reads it
} Reshaped;

static bool atom_in(const Map *vars, Atom a) {
  return a.kind == ATOM_VAR && map_has(vars, a.u.var);
}

static bool mentions_some(const Exp *exp, const Map *vars) {
  VarVec used = core_free_exp(exp);
  vec_each (const Var **, var, &used)
    if (map_has(vars, *var)) return true;
  return false;
}

static bool shapes_alike(const Exp *a, const Exp *b) {
  if (a->u.reshape.rank != b->u.reshape.rank) return false;
  for (int i = 0; i < a->u.reshape.rank; i++)
    if (!atom_equal(a->u.reshape.dims[i], b->u.reshape.dims[i])) return false;
  return true;
}

static bool is_assert_of(const Exp *exp, const Map *vars) {
  return exp->kind == EXP_ASSERT && exp->u.assert.atom_count == 1 &&
         atom_in(vars, exp->u.assert.atoms[0]);
}

static void note_read(Reshaped *r, const Stm *stm) {
  const Exp *exp = stm->exp;
  bool reshapes = exp->kind == EXP_RESHAPE && atom_in(r->alike, exp->u.reshape.array);
  if (is_assert_of(exp, r->alike))
    map_put(r->alike, stm->binders[0], stm);
  else if (reshapes && !r->to)
    r->to = exp;
  else if (!reshapes ? mentions_some(exp, r->alike) : !shapes_alike(exp, r->to))
    r->others = true;
}

// Is the shape known before the loop?
static bool is_known_before(const Exp *loop, const Exp *reshape) {
  VarVec known = core_free_exp(loop);
  for (int d = 0; d < reshape->u.reshape.rank; d++) {
    Atom dim = reshape->u.reshape.dims[d];
    bool found = dim.kind == ATOM_CONST;
    vec_each (const Var **, var, &known)
      found = found || atom_equal(dim, atom_var(*var));
    if (!found) return false;
  }
  return true;
}

// What is reshaped to result number `i`, if that has the shape in which rounds read it.
static const Atom *reshaped_result(const Body *body, int i, const Exp *to) {
  Atom result = body->results[i];
  for (int k = 0; k < body->stm_count && result.kind == ATOM_VAR; k++) {
    const Exp *exp = body->stms[k].exp;
    if (body->stms[k].binders[0] != result.u.var || exp->kind != EXP_RESHAPE) continue;
    CoreType type = atom_type(exp->u.reshape.array);
    bool same = type.rank == to->u.reshape.rank;
    for (int d = 0; same && d < type.rank; d++)
      same = atom_equal(type.dims[d], to->u.reshape.dims[d]);
    return same ? &exp->u.reshape.array : NULL;
  }
  return NULL;
}

static Reshaped find_reshaped(const Exp *loop, int i) {
  const Body *body = loop->u.loop.body;
  const Var *param = loop->u.loop.params[i];
  Reshaped r = { .param = param, .alike = map_new(NULL) };
  if (!param->type.rank) return r;
  map_put(r.alike, param, param);
  for (int k = 0; k < body->stm_count; k++)
    note_read(&r, &body->stms[k]);
  for (int k = 0; k < body->result_count; k++)
    r.others = r.others || atom_in(r.alike, body->results[k]);
  bool good =
      r.to && !r.others && is_known_before(loop, r.to) && reshaped_result(body, i, r.to);
  if (!good) r.to = NULL;
  return r;
}

static Atom in_shape(Builder *b, const Exp *to, Atom array) {
  return core_let(b, "shaped",
                  exp_reshape(to->u.reshape.dims, to->u.reshape.rank, array));
}

// The round, to which the parameter comes as it reads it.
static const Body *round_of_shape(Compiler *c, const Body *body, const Reshaped *r,
                                  const Var *param) {
  Builder b = builder_new(c, (Loc){ 0 });
  Map *now = map_new(NULL);  // Var of the old shape -> that of the new one
  map_put(now, r->param, param);
  for (int k = 0; k < body->stm_count; k++) {
    Stm stm = body->stms[k];
    const Exp *exp = stm.exp;
    b.loc = stm.loc;
    if (is_assert_of(exp, r->alike)) {
      Exp *own = mem_copy(exp, sizeof *exp);
      Atom array = atom_var(map_get(now, exp->u.assert.atoms[0].u.var));
      own->u.assert.atoms = mem_copy(&array, sizeof array);
      map_put(now, stm.binders[0], core_let(&b, "checked", own).u.var);
      continue;
    }
    if (exp->kind == EXP_RESHAPE && atom_in(r->alike, exp->u.reshape.array))
      stm.exp = exp_atom(atom_var(map_get(now, exp->u.reshape.array.u.var)));
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// The loop with parameter `i` in the shape of its rounds; what it gives in that of before.
static void carry_shape(Builder *b, Stm *stm, int i, const Reshaped *r, Builder *after) {
  Exp *loop = mem_copy(stm->exp, sizeof *stm->exp);
  size_t count = (size_t)loop->u.loop.param_count;
  const Var **params = mem_copy(loop->u.loop.params, count * sizeof *params);
  const Var **binders = mem_copy(stm->binders, count * sizeof *binders);
  Atom *inits = mem_copy(loop->u.loop.inits, count * sizeof *inits);
  const Body *body = loop->u.loop.body;
  Atom *results = mem_copy(body->results, count * sizeof *results);
  inits[i] = in_shape(b, r->to, inits[i]);
  CoreType type = atom_type(inits[i]), old = binders[i]->type;
  params[i] = var_new(b->c, r->param->name, type, r->param->loc);
  results[i] = *reshaped_result(body, i, r->to);
  body = round_of_shape(b->c, body, r, params[i]);
  loop->u.loop.body = new_node(Body, .stms = body->stms, .stm_count = body->stm_count,
                               .results = results, .result_count = body->result_count);
  const Var *whole = binders[i];
  binders[i] = var_new(b->c, whole->name, type, whole->loc);
  core_let_vars(after, mem_copy(&whole, sizeof whole), 1,
                exp_reshape(old.dims, old.rank, atom_var(binders[i])));
  loop->u.loop.params = params;
  loop->u.loop.inits = inits;
  stm->binders = binders;
  stm->exp = loop;
}

// ---- branches around loops

// What result number `i` reshapes, if its shape is known outside; NULL: it is no reshape.
static const Exp *reshaped_outside(const Body *body, int i) {
  Atom result = body->results[i];
  for (int k = 0; k < body->stm_count && result.kind == ATOM_VAR; k++) {
    const Exp *exp = body->stms[k].exp;
    if (body->stms[k].binders[0] != result.u.var || exp->kind != EXP_RESHAPE) continue;
    CoreType type = atom_type(exp->u.reshape.array);
    VarVec known = core_free_body(body);
    for (int d = 0; d < type.rank; d++) {
      bool found = type.dims[d].kind == ATOM_CONST;
      vec_each (const Var **, var, &known)
        found = found || atom_equal(type.dims[d], atom_var(*var));
      if (!found) return NULL;
    }
    return exp;
  }
  return NULL;
}

// The branch with another result.
static const Body *branch_giving(const Body *body, int i, Atom result) {
  size_t count = (size_t)body->result_count;
  Atom *results = mem_copy(body->results, count * sizeof *results);
  results[i] = result;
  return new_node(Body, .stms = body->stms, .stm_count = body->stm_count,
                  .results = results, .result_count = body->result_count);
}

// if .. then {.. in {reshape [h * w] r}} else {xs}  =>  reshape [h * w] (if .. then {r} else {xs'})
static void reshape_behind(Compiler *c, Stm *stm, int i, Builder *after) {
  const Exp *shape = reshaped_outside(stm->exp->u.guard.then_body, i);
  if (!shape) return;
  Exp *exp = mem_copy(stm->exp, sizeof *stm->exp);
  CoreType type = atom_type(shape->u.reshape.array), old = stm->binders[i]->type;
  const Body *others = exp->u.guard.else_body;
  Builder b = builder_new(c, stm->loc);
  core_add_body(&b, others);
  Atom other =
      core_let(&b, "shaped", exp_reshape(type.dims, type.rank, others->results[i]));
  exp->u.guard.then_body =
      branch_giving(exp->u.guard.then_body, i, shape->u.reshape.array);
  exp->u.guard.else_body =
      branch_giving(core_body(&b, others->results, others->result_count), i, other);
  size_t count = (size_t)stm->binder_count;
  const Var **binders = mem_copy(stm->binders, count * sizeof *binders);
  const Var *whole = binders[i];
  binders[i] = var_new(c, whole->name, type, whole->loc);
  core_let_vars(after, mem_copy(&whole, sizeof whole), 1,
                exp_reshape(old.dims, old.rank, atom_var(binders[i])));
  stm->binders = binders;
  stm->exp = exp;
}

bool spread_is_loop_guard(const Exp *exp) {
  return exp->kind == EXP_GUARD && exp->u.guard.guard->kind == GUARD_LOOP;
}

static const Body *carry_in_body(CoreMapper *m, const Body *body) {
  Compiler *c = m->state;
  Builder b = builder_new(c, (Loc){ 0 });
  for (int k = 0; k < body->stm_count; k++) {
    Stm stm = body->stms[k];
    Builder after = builder_new(c, stm.loc);
    b.loc = stm.loc;
    if (stm.exp->kind != EXP_SEG) stm.exp = core_map_exp(m, stm.exp);
    for (int i = 0; stm.exp->kind == EXP_LOOP && i < stm.exp->u.loop.param_count; i++) {
      Reshaped r = find_reshaped(stm.exp, i);
      if (r.to) carry_shape(&b, &stm, i, &r, &after);
    }
    for (int i = 0; spread_is_loop_guard(stm.exp) && i < stm.binder_count; i++)
      reshape_behind(c, &stm, i, &after);
    core_add_stm(&b, stm);
    core_add_body(&b, core_body(&after, NULL, 0));
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *spread_carry(Compiler *c, const Body *body) {
  CoreMapper m = { .body = carry_in_body, .state = c };
  return carry_in_body(&m, body);
}
