// Sequential loops and branches.
#include "kern/from/from_flat.h"

// ---- where array results lie
//
// Note [Sizes found out].  The size of a result may be found out by the statement itself: the
// branches of an `if`, or the rounds of a loop, yield arrays of different sizes, and the type of
// the result mentions a binder of the same statement.  No place can be made for such an array
// beforehand, and none that is wanted for it is sure to hold what a loop has on the way.  It has
// memory without dims (KERN_ROOM), which is given room for each value when that is there.  An `if`
// that gives the result of a branch has the memory of the `if` around: a chain of `else if` copies
// nothing from link to link.

typedef struct FromPlace {
  const View *view;    // a fixed place; or
  const Tensor *open;  // memory of a size that is found out
  bool empty;          // of the former: it holds nothing yet
} FromPlace;

static bool finds_size(const Var *const *vars, int count, CoreType type) {
  for (int d = 0; d < type.rank; d++)
    for (int i = 0; i < count; i++)
      if (type.dims[d].kind == ATOM_VAR && type.dims[d].u.var == vars[i]) return true;
  return false;
}

static FromPlace fixed_place(View view) {
  return (FromPlace){ .view = mem_copy(&view, sizeof view) };
}

static FromPlace open_place(From *f, const Var *var) {
  const Tensor *wanted = f->rooms ? map_get(f->rooms, var) : NULL;
  if (wanted) {
    map_put(f->owned, wanted, wanted);
    return (FromPlace){ .open = wanted };
  }
  Tensor *t = new_node(Tensor, .name = var->name, .id = f->c->next_id++,
                       .elem = var->type.elem, .space = TENSOR_OWN, .open = true);
  kern_add(f->b, (KernStm){ .kind = KERN_ALLOC, .u.tensor = t });
  map_put(f->owned, t, t);
  return (FromPlace){ .open = t };
}

static const Tensor *memory_of(const FromPlace *place) {
  if (place->open) return place->open;
  return place->view && place->view->tensor ? tensor_root(place->view->tensor) : NULL;
}

static View shaped(From *f, const Tensor *open, const Term *const *shape, int rank) {
  Tensor *alias = mem_copy(open, sizeof *open);
  alias->id = f->c->next_id++;
  alias->of = open;
  alias->open = false;
  alias->dims = shape;
  alias->rank = rank;
  return view_of(alias);
}

// All of a tensor, or of a row of it: one element of the outer dimensions, all of the inner ones.
static bool is_whole_row(const View *view) {
  const Tensor *t = view->tensor;
  int outer = t ? t->rank - view->rank : -1;
  if (outer < 0) return false;
  for (int k = 0; k < view->rank; k++) {
    int d = outer + k;
    if (view->dim[k] != d || !term_is_i64(view->start[d], 0) ||
        !term_is_i64(view->stride[k], 1) || !term_same(view->shape[k], t->dims[d]))
      return false;
  }
  return true;
}

static bool is_there(const FromPlace *place, const View *value) {
  return place->open && value->tensor && value->tensor->of == place->open &&
         value->tensor->rank == value->rank && is_whole_row(value);
}

static void put(From *f, const FromPlace *place, const View *value) {
  if (is_there(place, value)) return;
  if (place->view) {
    from_copy(f, place->view, value);
    return;
  }
  const Term *count = kern_let(f->b, "count", view_count(value));
  kern_add(f->b, (KernStm){ .kind = KERN_ROOM, .u.room = { place->open, count } });
  View room = shaped(f, place->open, value->shape, value->rank);
  from_copy(f, &room, value);
}

static const View *set_apart(From *f, const View *value) {
  View apart = from_alloc_like(f, "apart", value);
  from_copy(f, &apart, value);
  return mem_copy(&apart, sizeof apart);
}

// Does the value lie where another one goes, or where it would be moved onto itself?
static bool in_the_way(const FromPlace *places, int count, int i, const View *value) {
  if (!value->tensor || is_there(&places[i], value)) return false;
  for (int j = 0; j < count; j++)
    if ((j != i || places[j].open) && memory_of(&places[j]) == tensor_root(value->tensor))
      return true;
  return false;
}

// Moves values to their places, as if all at once; NULL: none there.
static void put_all(From *f, const FromPlace *places, const View **values, int count) {
  for (int i = 0; i < count; i++)
    if (values[i] && in_the_way(places, count, i, values[i]))
      values[i] = set_apart(f, values[i]);
  for (int i = 0; i < count; i++)
    if (values[i]) put(f, &places[i], values[i]);
}

static void bind_place(From *f, const Var *var, const FromPlace *place) {
  from_bind(f, var,
            place->view ? *place->view
                        : shaped(f, place->open, view_shape(var->type), var->type.rank));
}

static const Var *const *scalar_vars(const Var *const *vars, int count, int *kept) {
  const Var **out = new_array(const Var *, count + 1);
  *kept = 0;
  for (int i = 0; i < count; i++)
    if (vars[i]->type.rank == 0) out[(*kept)++] = vars[i];
  return out;
}

// The scalars among values, in order.
static const Term *const *scalar_terms(const Var *const *vars, const Term *const *terms,
                                       int count) {
  const Term **out = from_scalars(count);
  for (int i = 0, kept = 0; i < count; i++)
    if (vars[i]->type.rank == 0) out[kept++] = terms[i];
  return out;
}

// ---- if

// Has another result of the statement this memory?  Two must not share one place.
static bool is_taken(const FromPlace *places, int count, const Tensor *memory) {
  for (int i = 0; i < count; i++)
    if (memory_of(&places[i]) == memory) return true;
  return false;
}

static const Exp *made_in(const Body *body, const Var *var, int *which) {
  for (int i = 0; i < body->stm_count; i++)
    for (*which = 0; *which < body->stms[i].binder_count; ++*which)
      if (body->stms[i].binders[*which] == var) return body->stms[i].exp;
  return NULL;
}

static Atom origin(From *f, const Body *body, Atom result);

static Atom origin_of_branch(From *f, const Exp *exp, int which) {
  Atom found = origin(f, exp->u.cond.then_body, exp->u.cond.then_body->results[which]);
  if (found.kind == ATOM_VAR && map_has(f->views, found.u.var)) return found;
  return origin(f, exp->u.cond.else_body, exp->u.cond.else_body->results[which]);
}

// The array of the enclosing body that a branch updates to get its result; the result itself if
// there is none.
static Atom origin(From *f, const Body *body, Atom result) {
  int which;
  const Exp *exp = NULL;
  while (result.kind == ATOM_VAR && !map_has(f->views, result.u.var)) {
    exp = made_in(body, result.u.var, &which);
    if (!exp) return result;
    if (exp->kind == EXP_UPDATE)
      result = exp->u.update.array;
    else if (exp->kind == EXP_LOOP)
      result = exp->u.loop.inits[which];
    else
      return exp->kind == EXP_IF ? origin_of_branch(f, exp, which) : result;
  }
  return result;
}

// A place for an array result of a branch: memory of the enclosing body that dies here is used
// again, so that neither `if c then xs with [i] = v else xs` nor updates on both sides copy.
static FromPlace branch_place(From *f, const Stm *stm, int i, const Body *body,
                              int position, const FromPlace *before) {
  const Var *binder = stm->binders[i];
  if (finds_size(stm->binders, stm->binder_count, binder->type))
    return open_place(f, binder);
  const View *wanted = map_get(f->wanted, binder);
  if (wanted) return (FromPlace){ .view = wanted, .empty = true };
  const Body *branches[] = { stm->exp->u.cond.then_body, stm->exp->u.cond.else_body };
  for (int side = 0; side < 2; side++) {
    Atom result = origin(f, branches[side], branches[side]->results[i]);
    if (result.kind != ATOM_VAR || !map_has(f->views, result.u.var)) continue;
    if (!from_may_overwrite(f, result, body, position)) continue;
    if (!is_taken(before, i, tensor_root(from_view(f, result)->tensor)))
      return (FromPlace){ .view = from_view(f, result) };
  }
  return fixed_place(from_alloc(f, binder->name, binder->type));
}

// What the enclosing body owns and does not read after the `if`, a branch may overwrite.
static void inherit_owned(From *outer, From *inner, const Body *branch, const Body *body,
                          int position) {
  VarVec free = core_free_body(branch);
  vec_each (const Var **, v, &free) {
    if (!map_has(outer->views, *v) || (*v)->type.rank == 0) continue;
    if (!from_may_overwrite(outer, atom_var(*v), body, position)) continue;
    const Tensor *memory = tensor_root(from_view(outer, atom_var(*v))->tensor);
    map_put(inner->owned, memory, memory);
  }
}

typedef struct FromIf {
  const Stm *stm;
  const Body *outer;
  int position;
  const FromPlace *places;
} FromIf;

// What another `if` in the branch gives as its result may lie there from the start.
static Map *rooms_for(const FromIf *info, const Body *body) {
  Map *rooms = map_new(NULL);
  for (int i = 0; i < body->result_count; i++) {
    Atom result = body->results[i];
    if (info->places[i].open && result.kind == ATOM_VAR && !map_has(rooms, result.u.var))
      map_put(rooms, result.u.var, info->places[i].open);
  }
  return rooms;
}

static const KernBlock *branch(From *f, const FromIf *info, const Body *body) {
  KernBuilder b;
  From inner = from_inner(f, &b);
  inner.rooms = rooms_for(info, body);
  const Body *branches[] = { info->stm->exp->u.cond.then_body,
                             info->stm->exp->u.cond.else_body };
  for (int side = 0; side < 2; side++)
    inherit_owned(f, &inner, branches[side], info->outer, info->position);
  int count = body->result_count, kept;
  const Term **scalars = from_scalars(count);
  const View **made = from_places(count);
  for (int i = 0; i < count; i++)
    if (info->places[i].empty) made[i] = info->places[i].view;
  from_body(&inner, body, scalars, made);
  put_all(&inner, info->places, made, count);
  scalar_vars(info->stm->binders, count, &kept);
  return kern_block(&b, scalar_terms(info->stm->binders, scalars, count), kept);
}

void from_if(From *f, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  int count = stm->binder_count, kept;
  FromPlace *places = new_array(FromPlace, count + 1);
  for (int i = 0; i < count; i++)
    if (stm->binders[i]->type.rank > 0)
      places[i] = branch_place(f, stm, i, body, position, places);
  FromIf info = { stm, body, position, places };
  const KernBlock *blocks[2] = { branch(f, &info, exp->u.cond.then_body),
                                 branch(f, &info, exp->u.cond.else_body) };
  const Var *const *binders = scalar_vars(stm->binders, count, &kept);
  kern_add(f->b, (KernStm){ .kind = KERN_IF,
                            .binders = binders,
                            .binder_count = kept,
                            .u.cond = { term_atom(exp->u.cond.condition), blocks[0],
                                        blocks[1], 0, false } });
  for (int i = 0; i < count; i++)
    if (stm->binders[i]->type.rank > 0) bind_place(f, stm->binders[i], &places[i]);
}

// ---- loop

// Where a parameter lies: where its last value is wanted; where its first value is if nothing else
// needs that; else in memory of its own.
static FromPlace param_place(From *f, const Stm *stm, int i, const Body *body,
                             int position) {
  const Exp *exp = stm->exp;
  const Var *param = exp->u.loop.params[i];
  if (finds_size(exp->u.loop.params, exp->u.loop.param_count, param->type))
    return open_place(f, param);
  const View *wanted = map_get(f->wanted, stm->binders[i]);
  if (wanted) return (FromPlace){ .view = wanted };
  const View *init = from_view(f, exp->u.loop.inits[i]);
  if (is_whole_row(init) && from_loop_takes(f, exp, i, body, position))
    return (FromPlace){ .view = init };
  return fixed_place(from_alloc(f, param->name, param->type));
}

// A loop as it is made.
typedef struct LoopParts {
  const Stm *stm;
  RingVec rings;
  const FromPlace *places;  // of arrays that are in no ring
  // scalars, those that stand for places in rings last
  const Var **params, **binders;
  const Term **inits, **next;
  int count;
} LoopParts;

// Array parameters in memory, holding the initial values.
static const FromPlace *param_places(From *f, const LoopParts *loop, const Body *body,
                                     int position) {
  const Exp *exp = loop->stm->exp;
  FromPlace *places = new_array(FromPlace, exp->u.loop.param_count + 1);
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    if (exp->u.loop.params[i]->type.rank == 0 || from_in_ring(&loop->rings, i)) continue;
    places[i] = param_place(f, loop->stm, i, body, position);
    put(f, &places[i], from_view(f, exp->u.loop.inits[i]));
  }
  return places;
}

static bool same_shape(const View *a, const View *b) {
  for (int i = 0; i < a->rank; i++)
    if (!term_same(a->shape[i], b->shape[i])) return false;
  return view_same(a, b);
}

static void add_scalars(LoopParts *loop, const Term *const *next) {
  const Exp *exp = loop->stm->exp;
  loop->count = 0;
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    if (exp->u.loop.params[i]->type.rank > 0) continue;
    loop->params[loop->count] = exp->u.loop.params[i];
    loop->binders[loop->count] = loop->stm->binders[i];
    loop->inits[loop->count] = term_atom(exp->u.loop.inits[i]);
    loop->next[loop->count++] = next[i];
  }
}

static void find_scalars(From *f, LoopParts *loop, const Term *const *next) {
  int added = from_ring_scalars(&loop->rings);
  int most = loop->stm->binder_count + added + 1;
  loop->params = new_array(const Var *, most);
  loop->binders = new_array(const Var *, most);
  loop->inits = from_scalars(most);
  loop->next = from_scalars(most);
  add_scalars(loop, next);
  int at = loop->count;
  from_ring_params(f, &loop->rings,
                   (RingParams){ loop->params + at, loop->binders + at, loop->inits + at,
                                 loop->next + at });
  loop->count += added;
}

// The body in `inner`, whose array results become the parameters.
static void loop_body(From *inner, LoopParts *loop) {
  const Exp *exp = loop->stm->exp;
  int count = exp->u.loop.param_count;
  for (int i = 0; i < count; i++) {
    const Tensor *memory = memory_of(&loop->places[i]);
    if (!memory) continue;
    bind_place(inner, exp->u.loop.params[i], &loop->places[i]);
    map_put(inner->owned, memory, memory);
  }
  from_ring_enter(inner, &loop->rings, exp);
  const Term **scalars = from_scalars(count);
  const View **made = from_places(count);
  from_body(inner, exp->u.loop.body, scalars, made);
  from_ring_leave(inner, &loop->rings, made);
  for (int i = 0; i < count; i++)  // what stays as it was is not moved
    if (made[i] && same_shape(from_view(inner, atom_var(exp->u.loop.params[i])), made[i]))
      made[i] = NULL;
  put_all(inner, loop->places, made, count);
  find_scalars(inner, loop, scalars);
}

static void for_loop(From *f, LoopParts *parts) {
  const Exp *exp = parts->stm->exp;
  FromLoop loop;
  from_open(&loop, f, AXIS_LOOP, "i", term_atom(exp->u.loop.bound));
  loop.axis.index = exp->u.loop.index;
  loop_body(&loop.inner, parts);
  loop.axis.params = parts->params;
  loop.axis.inits = parts->inits;
  loop.axis.param_count = parts->count;
  from_close(&loop, f, parts->next, parts->count, parts->binders, parts->count);
}

static void while_loop(From *f, LoopParts *loop) {
  const Exp *exp = loop->stm->exp;
  KernBuilder b;
  From inner = from_inner(f, &b);
  int which = 0;
  loop_body(&inner, loop);
  while (loop->params[which] != exp->u.loop.params[exp->u.loop.while_param])
    which++;
  kern_add(f->b, (KernStm){ .kind = KERN_WHILE,
                            .binders = loop->binders,
                            .binder_count = loop->count,
                            .u.loop = { loop->params, loop->inits, loop->count, which,
                                        kern_block(&b, loop->next, loop->count) } });
}

void from_loop(From *f, const Stm *stm, const Body *body, int position) {
  LoopParts loop = { .stm = stm, .rings = from_rings(f, stm->exp) };
  loop.places = param_places(f, &loop, body, position);
  if (stm->exp->u.loop.form == CORE_FOR)
    for_loop(f, &loop);
  else
    while_loop(f, &loop);
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i]->type.rank > 0 && !from_in_ring(&loop.rings, i))
      bind_place(f, stm->binders[i], &loop.places[i]);
  from_ring_bind(f, &loop.rings, stm);
}
