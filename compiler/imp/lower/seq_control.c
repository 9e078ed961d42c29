// Sequential loops and branches in kernels.
#include "imp/lower/lower.h"

// ---- where results lie
//
// Note [Sizes found out].  The size of a result may be found out by the statement itself: the
// branches of an `if`, or the rounds of a loop, yield arrays of different sizes, and the type of
// the result mentions a binder of the same statement.  No place can be made for such an array
// beforehand, and none that is wanted for it is sure to hold what a loop has on the way.  It has a
// block of the arena of its own, which is given room for each value when that is there.  An `if`
// that gives the result of a branch has the block of the `if` around: a chain of `else if` copies
// nothing from link to link.

typedef struct SeqPlace {
  const Arr *arr;   // a fixed place; or
  const Mem *open;  // memory of a size that is found out
  bool empty;       // nothing lies at the fixed place yet
} SeqPlace;

static bool binds(const Var *const *vars, int count, Atom a) {
  for (int i = 0; i < count; i++)
    if (a.kind == ATOM_VAR && a.u.var == vars[i]) return true;
  return false;
}

static bool finds_size(const Var *const *vars, int count, CoreType type) {
  for (int i = 0; i < type.rank; i++)
    if (binds(vars, count, type.dims[i])) return true;
  return false;
}

static SeqPlace open_place(Code *k, const Var *var) {
  const Mem *wanted = k->rooms ? map_get(k->rooms, var) : NULL;
  if (wanted) map_put(k->owned, wanted, wanted);
  return (SeqPlace){ .open =
                         wanted ? wanted : code_open_mem(k, var->name, var->type.elem) };
}

static SeqPlace fixed_place(Arr arr) {
  return (SeqPlace){ .arr = mem_copy(&arr, sizeof arr), .empty = true };
}

static const Mem *mem_of(const SeqPlace *place) {
  return place->arr ? place->arr->mem : place->open;
}

static bool is_there(const SeqPlace *place, const Arr *value) {
  return place->open && value->mem == place->open && imp_is_i64(value->offset, 0) &&
         arr_is_dense(value);
}

static void put(Code *k, const SeqPlace *place, const Arr *value) {
  if (is_there(place, value)) return;
  Arr room = place->arr ? *place->arr : code_fit(k, place->open, value);
  code_copy(k, &room, value);
}

// Does the value lie where another one goes, or where it would be moved onto itself?
static bool in_the_way(const SeqPlace *places, int count, int i, const Arr *value) {
  if (is_there(&places[i], value)) return false;
  for (int j = 0; j < count; j++)
    if ((j != i || places[j].open) && value->mem && mem_of(&places[j]) == value->mem)
      return true;
  return false;
}

// Moves values to their places, as if all at once; NULL: none there.
static void put_all(Code *k, const SeqPlace *places, const Arr **values, int count) {
  for (int i = 0; i < count; i++)
    if (values[i] && in_the_way(places, count, i, values[i]))
      values[i] = code_set_apart(k, values[i]);
  for (int i = 0; i < count; i++)
    if (values[i]) put(k, &places[i], values[i]);
}

// The variable's array at its place.
static void bind_place(Code *k, const Var *var, const SeqPlace *place) {
  code_bind(k, var,
            place->arr ? *place->arr
                       : arr_dense(place->open, var->type.elem, code_shape(var->type),
                                   var->type.rank));
}

// ---- if

typedef struct SeqIf {
  const Stm *stm;
  const Body *outer;
  int position;
  SeqPlace *places;  // one per result that is an array
} SeqIf;

// Has one of the first `count` results this memory?  Two must not share one place.
static bool is_taken(const SeqIf *info, int count, const Mem *mem) {
  for (int i = 0; i < count; i++)
    if (mem_of(&info->places[i]) == mem) return true;
  return false;
}

// The array that what the body calls so lies in, if updates make it in place: one from around the
// branch, or the atom itself.
static Atom updated_root(const Body *body, Atom a) {
  for (int i = body->stm_count - 1; i >= 0 && a.kind == ATOM_VAR; i--) {
    const Stm *stm = &body->stms[i];
    for (int k = 0; k < stm->binder_count; k++) {
      if (stm->binders[k] != a.u.var) continue;
      const Exp *e = stm->exp;
      if (e->kind == EXP_UPDATE) a = e->u.update.array;
      if (e->kind == EXP_IF)
        a = updated_root(e->u.cond.else_body, e->u.cond.else_body->results[k]);
      break;
    }
  }
  return a;
}

// A place for an array result of a branch: memory of the enclosing body that dies here is used
// again, so that `if c then xs with [i] = v else xs` copies nothing.
static SeqPlace branch_place(Code *k, const SeqIf *info, int i) {
  const Stm *stm = info->stm;
  const Var *binder = stm->binders[i];
  if (finds_size(stm->binders, stm->binder_count, binder->type))
    return open_place(k, binder);
  const Arr *wanted = map_get(k->wanted, binder);
  if (wanted) return (SeqPlace){ .arr = wanted, .empty = true };
  const Body *branches[] = { stm->exp->u.cond.then_body, stm->exp->u.cond.else_body };
  for (int side = 0; side < 2; side++) {
    Atom result = updated_root(branches[side], branches[side]->results[i]);
    if (result.kind != ATOM_VAR || !map_has(k->arrays, result.u.var)) continue;
    if (!code_may_overwrite(k, result, info->outer, info->position)) continue;
    if (!is_taken(info, i, code_array(k, result)->mem))
      return (SeqPlace){ .arr = code_array(k, result) };
  }
  return fixed_place(code_alloc(k, binder->name, binder->type));
}

// What the enclosing body owns and does not read after the `if`, a branch may overwrite.
static void inherit_owned(Code *outer, Code *inner, const SeqIf *info) {
  const Exp *exp = info->stm->exp;
  const Body *branches[] = { exp->u.cond.then_body, exp->u.cond.else_body };
  for (int side = 0; side < 2; side++) {
    VarVec free = core_free_body(branches[side]);
    vec_each (const Var **, v, &free) {
      if (!map_has(outer->arrays, *v) || (*v)->type.rank == 0) continue;
      if (!code_may_overwrite(outer, atom_var(*v), info->outer, info->position)) continue;
      const Mem *mem = code_array(outer, atom_var(*v))->mem;
      map_put(inner->owned, mem, mem);
    }
  }
}

// What another `if` in the branch gives as its result may lie there from the start.
static Map *rooms_for(const SeqIf *info, const Body *body) {
  Map *rooms = map_new(NULL);
  for (int i = 0; i < body->result_count; i++) {
    Atom result = body->results[i];
    if (info->places[i].open && result.kind == ATOM_VAR && !map_has(rooms, result.u.var))
      map_put(rooms, result.u.var, info->places[i].open);
  }
  return rooms;
}

static ImpBlock branch(Code *k, const SeqIf *info, const Body *body) {
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  inner.rooms = rooms_for(info, body);
  inherit_owned(k, &inner, info);
  int count = body->result_count;
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **made = new_array(const Arr *, count + 1);
  for (int i = 0; i < count; i++)
    if (info->places[i].empty) made[i] = info->places[i].arr;
  seq_body(&inner, body, scalars, made);
  put_all(&inner, info->places, made, count);
  for (int i = 0; i < count; i++)
    if (scalars[i]) imp_assign(&b, info->stm->binders[i], scalars[i]);
  return b.block;
}

void seq_if(Code *k, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  SeqPlace *places = new_array(SeqPlace, stm->binder_count + 1);
  SeqIf info = { stm, body, position, places };
  for (int i = 0; i < stm->binder_count; i++) {
    if (stm->binders[i]->type.rank == 0)
      code_bind_scalar(k, stm->binders[i], NULL);
    else
      places[i] = branch_place(k, &info, i);
  }
  ImpBlock then_block = branch(k, &info, exp->u.cond.then_body);
  ImpBlock else_block = branch(k, &info, exp->u.cond.else_body);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_IF,
                              .u.cond = { imp_atom(exp->u.cond.condition), then_block,
                                          else_block } });
  for (int i = 0; i < stm->binder_count; i++)
    if (mem_of(&places[i])) bind_place(k, stm->binders[i], &places[i]);
}

// ---- loop

// May a loop work on it where it lies?  Items side by side have neighbouring words of most arrays,
// so that none is dense.
static bool suits_loops(const Code *k, const Arr *arr) {
  bool own_words = k->lower->machine->side_by_side && arr->mem && !arr->start;
  return own_words || arr_is_dense(arr);
}

// Where a parameter lies: where its last value is wanted; where its first value is if nothing else
// needs that; else in memory of its own.
static SeqPlace param_place(Code *k, const Stm *stm, int i, const Body *body,
                            int position) {
  const Exp *exp = stm->exp;
  const Var *param = exp->u.loop.params[i];
  if (finds_size(exp->u.loop.params, exp->u.loop.param_count, param->type))
    return open_place(k, param);
  const Arr *wanted = map_get(k->wanted, stm->binders[i]);
  if (wanted) return (SeqPlace){ .arr = wanted };
  const Arr *init = code_array(k, exp->u.loop.inits[i]);
  if (suits_loops(k, init) && code_loop_takes(k, exp, i, body, position))
    return (SeqPlace){ .arr = init };
  return fixed_place(code_alloc(k, param->name, param->type));
}

// Parameters in memory and variables of their own, holding the initial values.
static const SeqPlace *loop_params(Code *k, const Stm *stm, const Body *body,
                                   int position) {
  const Exp *exp = stm->exp;
  SeqPlace *places = new_array(SeqPlace, exp->u.loop.param_count + 1);
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    const Var *param = exp->u.loop.params[i];
    Atom init = exp->u.loop.inits[i];
    if (param->type.rank == 0) {
      code_bind_scalar(k, param, imp_atom(init));
      continue;
    }
    places[i] = param_place(k, stm, i, body, position);
    put(k, &places[i], code_array(k, init));
    bind_place(k, param, &places[i]);
  }
  return places;
}

// Moves the results to the parameters, as if all at once.
static void next_params(Code *k, const Exp *exp, const SeqPlace *places,
                        const ImpExp **scalars, const Arr **made) {
  int count = exp->u.loop.param_count;
  const Var **moved = new_array(const Var *, count + 1);
  for (int i = 0; i < count; i++) {
    const Var *param = exp->u.loop.params[i];
    if (param->type.rank == 0) moved[i] = imp_declare(k->b, param->name, scalars[i]);
    // What stays as it was is not moved.
    else if (arr_same_shape(code_array(k, atom_var(param)), made[i]))
      made[i] = NULL;
  }
  // Arrays first: where a view lies may depend on the scalars as they were.
  put_all(k, places, made, count);
  for (int i = 0; i < count; i++)
    if (moved[i]) imp_assign(k->b, exp->u.loop.params[i], imp_var(moved[i]));
}

static void loop_results(Code *k, const Stm *stm, const SeqPlace *places) {
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *param = stm->exp->u.loop.params[i];
    if (param->type.rank == 0)
      code_bind_scalar(k, stm->binders[i], imp_var(param));
    else
      bind_place(k, stm->binders[i], &places[i]);
  }
}

static Map *memory_of(const SeqPlace *places, int count) {
  Map *mems = map_new(NULL);
  for (int i = 0; i < count; i++)
    if (mem_of(&places[i])) map_put(mems, mem_of(&places[i]), places);
  return mems;
}

void seq_loop(Code *k, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  int count = exp->u.loop.param_count;
  const SeqPlace *places = loop_params(k, stm, body, position);
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  inner.owned = memory_of(places, count);
  if (exp->u.loop.index) map_put(k->inside, exp->u.loop.index, exp);
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **made = new_array(const Arr *, count + 1);
  seq_body(&inner, exp->u.loop.body, scalars, made);
  next_params(&inner, exp, places, scalars, made);
  code_add_loop(k, exp, b.block);
  loop_results(k, stm, places);
}
