// loop (xs = xs0, t = t0) for i < k do let ys = map n (\x -> {f x t i}) xs in {ys, g t}
//   =>  let xs = map n (\x0 -> loop (x = x0, t = t0) for i < k do {f x t i, g t}) xs0
//       let t = loop (t = t0) for i < k do {g t}
//
// where f has no operators but maps over rows that the loop carries, which are treated alike, and
// no round can fail by itself, as there may be no elements; but for one check of scalars, as slices
// have it, which a loop of its own makes before (round_checks.c).
//
// Needs: Core, fused, so that a round is one map; binders unique.  Keeps: both.
// Why: elements that do not mind the others (independent particles, iterations of a fractal,
// generators of random numbers) stay in registers for all rounds, where each round would read and
// write arrays, in a kernel of its own.
#include "core/passes.h"
#include "core/round_checks.h"

enum { MAX_SCALARS = 16 };  // statements that all elements compute for themselves

typedef struct LoopsToMaps {
  Compiler *c;
  bool changed;
} LoopsToMaps;

// A row that a round picks from an array from outside: each element reads its own.
typedef struct RoundRow {
  const Stm *stm;
  int dim;  // of the array: the row's first one, which may be a slice of it
} RoundRow;

// A loop whose rounds are a map.
typedef struct RoundMap {
  Compiler *c;
  const Exp *loop;
  const Exp *map;  // of the round
  const Stm *map_stm;
  int map_at;        // where it stands in the body
  Map *made;         // Var: bound in the body, or a parameter
  Map *rows;         // Var -> RoundRow *
  const Stm *check;  // or NULL
  const Var *bound;  // with a check: the loop's, behind it
} RoundMap;

static const Exp *map_of_rounds(Builder *b, const Exp *loop);

// ---- which loops

static bool is_carried_array(const Var *param) { return param->type.rank > 0; }

static void note_made(RoundMap *r) {
  r->made = map_new(NULL);
  const Body *body = r->loop->u.loop.body;
  for (int i = 0; i < r->loop->u.loop.param_count; i++)
    map_put(r->made, r->loop->u.loop.params[i], r->loop);
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      map_put(r->made, body->stms[i].binders[k], r->loop);
}

static bool is_made_there(const RoundMap *r, Atom a) {
  return a.kind == ATOM_VAR && map_has(r->made, a.u.var);
}

// A scalar of the round, which may be an element of an array from outside.
static bool is_plain_scalar(const RoundMap *r, const Stm *stm) {
  const Exp *e = stm->exp;
  bool element = e->kind == EXP_INDEX && stm->binders[0]->type.rank == 0 &&
                 !is_made_there(r, e->u.index.array);
  return (element || exp_is_scalar(e)) && !exp_may_fail(e) && !stm->attrs;
}

// The dimension that comes first in the part that an index shows.
static int first_shown(const Exp *index) {
  int d = 0;
  while (d < index->u.index.dim_count && !index->u.index.dims[d].is_slice)
    d++;
  return d;
}

static bool note_row(RoundMap *r, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_INDEX || stm->attrs || exp_may_fail(e)) return false;
  const Var *row = stm->binders[0];
  Atom array = e->u.index.array;
  if (row->type.rank == 0 || is_made_there(r, array)) return false;
  int dim = first_shown(e);
  if (dim == e->u.index.dim_count) return false;
  map_put(r->rows, row, new_node(RoundRow, .stm = stm, .dim = dim));
  return true;
}

static bool note_check(RoundMap *r, const Stm *stm) {
  if (r->check || !round_check_alone(r->loop, stm)) return false;
  r->check = stm;
  r->bound =
      var_new(r->c, name_of(r->c->names, "rounds"), type_scalar(PRIM_I64), stm->loc);
  return true;
}

// The map, if the rest are a few scalars and rows.
static bool find_map(RoundMap *r) {
  const Body *body = r->loop->u.loop.body;
  if (body->stm_count > MAX_SCALARS + 1) return false;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (is_plain_scalar(r, stm) || note_row(r, stm) || note_check(r, stm)) continue;
    if (r->map || stm->exp->kind != EXP_MAP || stm->attrs) return false;
    r->map = stm->exp;
    r->map_stm = stm;
    r->map_at = i;
  }
  return r->map && !is_made_there(r, r->map->u.soac.width);
}

static int param_of_loop(const RoundMap *r, Atom a) {
  for (int i = 0; i < r->loop->u.loop.param_count; i++)
    if (a.kind == ATOM_VAR && a.u.var == r->loop->u.loop.params[i]) return i;
  return -1;
}

static int result_of_map(const RoundMap *r, Atom a) {
  for (int i = 0; i < r->map_stm->binder_count; i++)
    if (a.kind == ATOM_VAR && a.u.var == r->map_stm->binders[i]) return i;
  return -1;
}

static const RoundRow *row_of_round(const RoundMap *r, Atom a) {
  return a.kind == ATOM_VAR ? map_get(r->rows, a.u.var) : NULL;
}

// What the map reads from outside of the loop stays; what it reads of the loop are its arrays.
static bool has_known_inputs(const RoundMap *r) {
  const Soac *soac = &r->map->u.soac;
  for (int i = 0; i < soac->array_count; i++)
    if (is_made_there(r, soac->arrays[i]) && !row_of_round(r, soac->arrays[i]) &&
        param_of_loop(r, soac->arrays[i]) < 0)
      return false;
  return true;
}

static int times_read_by_map(const RoundMap *r, const Var *var) {
  int count = 0;
  for (int i = 0; i < r->map->u.soac.array_count; i++)
    count += atom_equal(r->map->u.soac.arrays[i], atom_var(var));
  return count;
}

static int times_handed_on(const RoundMap *r, const Var *var) {
  const Body *body = r->loop->u.loop.body;
  int count = 0;
  for (int i = 0; i < body->result_count; i++)
    count += atom_equal(body->results[i], atom_var(var));
  return count;
}

// An array of as many elements as the map has, which nobody sees but the map and the next round.
static bool is_of_elements(const RoundMap *r, const Map *uses, const Var *array,
                           int by_map) {
  const int *count = map_get(uses, array);
  if (!atom_equal(array->type.dims[0], r->map->u.soac.width)) return false;
  return !count || *count == by_map + times_handed_on(r, array);
}

static bool has_own_elements(const RoundMap *r) {
  const Body *body = r->loop->u.loop.body;
  const Map *uses = core_uses(body);
  for (int i = 0; i < r->map_stm->binder_count; i++)
    if (!is_of_elements(r, uses, r->map_stm->binders[i], 0)) return false;
  for (int i = 0; i < r->map->u.soac.array_count; i++) {
    const RoundRow *row = row_of_round(r, r->map->u.soac.arrays[i]);
    const Var *array = row ? row->stm->binders[0] : NULL;
    if (row && !is_of_elements(r, uses, array, times_read_by_map(r, array))) return false;
  }
  bool any = false;
  for (int i = 0; i < r->loop->u.loop.param_count; i++) {
    const Var *param = r->loop->u.loop.params[i];
    Atom next = body->results[i];
    if (!is_carried_array(param)) continue;
    any = true;
    if (!is_of_elements(r, uses, param, times_read_by_map(r, param))) return false;
    if (param_of_loop(r, next) < 0 && result_of_map(r, next) < 0) return false;
  }
  return any;
}

// Sizes of what is carried are those of before the loop.
static bool has_fixed_sizes(const RoundMap *r) {
  for (int i = 0; i < r->loop->u.loop.param_count; i++) {
    CoreType type = r->loop->u.loop.params[i]->type;
    for (int d = 0; d < type.rank; d++)
      if (is_made_there(r, type.dims[d])) return false;
  }
  return true;
}

static bool is_map_of_rounds(RoundMap *r) {
  note_made(r);
  r->rows = map_new(NULL);
  return find_map(r) && has_known_inputs(r) && has_fixed_sizes(r) && has_own_elements(r);
}

// ---- an element's rounds

// Inputs and carried arrays of the new map, and what stands for their elements in a round.
typedef struct RoundElements {
  VarVec params;  // of the map's function: an element of each array
  AtomVec arrays;
  const Var **carried;  // per parameter of the loop: the new loop's
  const Var *place;     // of the element, where rows are read; or NULL
  Vec(Stm) own;         // what it reads of them
  Subst *subst;
} RoundElements;

static const Var *carried_element(RoundMap *r, const Var *array, Loc loc) {
  return var_new(r->c, array->name, type_row(array->type), loc);
}

static void carry_elements(RoundMap *r, RoundElements *e, Loc loc) {
  int count = r->loop->u.loop.param_count;
  e->carried = new_array(const Var *, count);
  for (int i = 0; i < count; i++) {
    const Var *param = r->loop->u.loop.params[i];
    e->carried[i] = is_carried_array(param) ? carried_element(r, param, loc) : param;
    if (!is_carried_array(param)) continue;
    vec_push(&e->params, carried_element(r, param, loc));
    vec_push(&e->arrays, r->loop->u.loop.inits[i]);
  }
}

// start + place * stride
static Atom place_in_row(Builder *b, const DimIndex *dim, Atom place) {
  return size_add(b, dim->start, size_mul(b, place, dim->stride));
}

// x = xss[i, place]
static void read_own(RoundMap *r, RoundElements *e, const RoundRow *row, const Var *x) {
  const Exp *index = row->stm->exp;
  if (!e->place)
    e->place = var_new(r->c, name_of(r->c->names, "place"), type_scalar(PRIM_I64),
                       row->stm->loc);
  int count = index->u.index.dim_count;
  DimIndex *dims = mem_copy(index->u.index.dims, (size_t)count * sizeof *dims);
  Builder b = builder_new(r->c, row->stm->loc);
  dims[row->dim] = dim_fix(place_in_row(&b, &dims[row->dim], atom_var(e->place)));
  core_let_vars(&b, mem_copy(&x, sizeof x), 1,
                exp_slice(index->u.index.array, dims, false));
  vec_each (const Stm *, own, &b.stms)
    vec_push(&e->own, *own);
}

static void read_elements(RoundMap *r, RoundElements *e) {
  const Soac *soac = &r->map->u.soac;
  for (int i = 0; i < soac->array_count; i++) {
    int param = param_of_loop(r, soac->arrays[i]);
    if (param >= 0) {
      subst_put(e->subst, soac->fn.params[i], atom_var(e->carried[param]));
      continue;
    }
    const RoundRow *row = row_of_round(r, soac->arrays[i]);
    if (row) {
      read_own(r, e, row, soac->fn.params[i]);
      continue;
    }
    vec_push(&e->params, soac->fn.params[i]);
    vec_push(&e->arrays, soac->arrays[i]);
  }
}

static Atom next_element(const RoundMap *r, const RoundElements *e, Atom next) {
  int param = param_of_loop(r, next), result = result_of_map(r, next);
  if (param >= 0) return atom_var(e->carried[param]);
  return result >= 0 ? r->map->u.soac.fn.body->results[result] : next;
}

// The statements of a round, with those of the map's function in the place of the map.
static const Body *round_of_element(const RoundMap *r, const RoundElements *e) {
  const Body *body = r->loop->u.loop.body;
  Builder b = builder_new(r->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++)
    if (i == r->map_at) {
      vec_each (const Stm *, own, &e->own)
        core_add_stm(&b, *own);
      core_add_body(&b, r->map->u.soac.fn.body);
    } else if (r->check == &body->stms[i]) {
      round_check_passed(&b, r->check);
    } else if (!map_has(r->rows, body->stms[i].binders[0])) {
      core_add_stm(&b, body->stms[i]);
    }
  Atom *results = new_array(Atom, body->result_count);
  for (int i = 0; i < body->result_count; i++)
    results[i] = next_element(r, e, body->results[i]);
  return core_subst_body(r->c, e->subst, core_body(&b, results, body->result_count));
}

static const Exp *loop_of_element(const RoundMap *r, const RoundElements *e) {
  Exp *loop = mem_copy(r->loop, sizeof *r->loop);
  int count = loop->u.loop.param_count, element = 0;
  Atom *inits = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    inits[i] = is_carried_array(r->loop->u.loop.params[i])
                   ? atom_var(e->params.at[element++])
                   : r->loop->u.loop.inits[i];
  loop->u.loop.params = e->carried;
  loop->u.loop.inits = inits;
  loop->u.loop.body = round_of_element(r, e);
  if (r->check) loop->u.loop.bound = atom_var(r->bound);
  return loop;
}

// Rows become maps of rounds themselves.
static const Exp *rounds_of_element(Builder *b, const Exp *loop) {
  bool rows = false;
  for (int i = 0; i < loop->u.loop.param_count; i++)
    rows = rows || is_carried_array(loop->u.loop.params[i]);
  if (rows) return map_of_rounds(b, loop);
  return core_has_soac(loop->u.loop.body) ? NULL : loop;
}

static void number_elements(Builder *b, RoundElements *e, Atom width) {
  if (!e->place) return;
  Atom places = core_let(b, "places", exp_iota(width, atom_i64(0), atom_i64(1)));
  vec_push(&e->params, e->place);
  vec_push(&e->arrays, places);
}

// The loop as a map over what it carries, whose results are the carried arrays; NULL: it is none.
// What the map reads besides is added to `b`.
static const Exp *map_of_rounds(Builder *b, const Exp *loop) {
  RoundMap r = { .c = b->c, .loop = loop };
  if (!is_map_of_rounds(&r)) return NULL;
  RoundElements e = { .subst = subst_new() };
  carry_elements(&r, &e, b->loc);
  read_elements(&r, &e);
  Builder element = builder_new(b->c, b->loc);
  const Exp *rounds = rounds_of_element(&element, loop_of_element(&r, &e));
  if (!rounds) return NULL;
  int count = exp_result_count(rounds), kept = 0;
  Atom *values = new_array(Atom, count);
  core_let_n(&element, "rounds", rounds, values);
  for (int i = 0; i < count; i++)
    if (rounds->kind == EXP_MAP || is_carried_array(loop->u.loop.params[i]))
      values[kept++] = values[i];
  if (r.check) round_checks_before(b, loop, r.check, r.bound);
  number_elements(b, &e, r.map->u.soac.width);
  Lambda fn = lambda_new(e.params.at, e.params.count, core_body(&element, values, kept));
  return exp_map(r.map->u.soac.width, fn, e.arrays.at, e.arrays.count);
}

// ---- what else the loop carries

static const Exp *loop_of_scalars(Compiler *c, const Exp *loop, const Stm *stm,
                                  VarVec *binders) {
  Exp *alone = mem_copy(loop, sizeof *loop);
  const Body *body = loop->u.loop.body;
  VarVec params = { 0 };
  AtomVec inits = { 0 }, results = { 0 };
  for (int i = 0; i < loop->u.loop.param_count; i++) {
    if (is_carried_array(loop->u.loop.params[i])) continue;
    if (loop->u.loop.form == CORE_WHILE && i == loop->u.loop.while_param)
      alone->u.loop.while_param = params.count;
    vec_push(&params, loop->u.loop.params[i]);
    vec_push(&inits, loop->u.loop.inits[i]);
    vec_push(&results, body->results[i]);
    vec_push(binders, stm->binders[i]);
  }
  if (!params.count) return NULL;
  Builder b = builder_new(c, stm->loc);
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].exp->kind != EXP_MAP) core_add_stm(&b, body->stms[i]);
  alone->u.loop.params = params.at;
  alone->u.loop.inits = inits.at;
  alone->u.loop.param_count = params.count;
  alone->u.loop.body = core_body(&b, results.at, results.count);
  return core_rename_exp(c, subst_new(), alone);
}

// ---- where there are such loops

static void emit_rounds(LoopsToMaps *w, Builder *b, const Stm *stm) {
  const Exp *loop = stm->exp;
  b->loc = stm->loc;
  const Exp *map = loop->kind == EXP_LOOP && !stm->attrs ? map_of_rounds(b, loop) : NULL;
  if (!map) {
    core_add_stm(b, *stm);
    return;
  }
  w->changed = true;
  VarVec arrays = { 0 }, scalars = { 0 };
  const Exp *alone = loop_of_scalars(w->c, loop, stm, &scalars);
  for (int i = 0; i < stm->binder_count; i++)
    if (is_carried_array(loop->u.loop.params[i])) vec_push(&arrays, stm->binders[i]);
  if (alone) core_let_vars(b, scalars.at, scalars.count, alone);
  core_let_vars(b, arrays.at, arrays.count, map);
}

static const Body *rounds_in_body(CoreMapper *m, const Body *body) {
  LoopsToMaps *w = m->state;
  Builder b = builder_new(w->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    stm.exp = core_map_exp(m, stm.exp);
    emit_rounds(w, &b, &stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *loops_to_maps_body(Compiler *c, const Body *body) {
  LoopsToMaps w = { .c = c };
  CoreMapper m = { .body = rounds_in_body, .state = &w };
  const Body *rewritten = rounds_in_body(&m, body);
  return w.changed ? rewritten : body;
}

// What makes the elements and what reads them fuse with their rounds.
const Core *loops_to_maps(Compiler *c, const Core *core) {
  const Core *rewritten = core_map_bodies(c, core, loops_to_maps_body);
  if (core_same_bodies(core, rewritten)) return core;
  return simplify(c, fuse(c, rewritten));
}
