// let a = map n (\i -> replicate m i) (iota n)   let b = replicate n (iota m)
// reshape [n * m] a   reshape [n * m] b
//   =>   map (\k -> k // m) (iota (n * m))   map (\k -> k %% m) (iota (n * m))
// reshape [n * m] (map n (\\x -> map m (\\y -> f x y) ys) xs)
//   =>   map (\\k -> f xs[k // m] ys[k %% m]) (iota (n * m))
//   where f computes one scalar, and one histogram, filter or scatter alone reads it; in branches,
//   too, but for filters, which compute what they read twice
//
// Needs, keeps: Core; binders unique.
// Why: all pairs of indices in one dimension, as filters and sums of them take them, or what is
// made for all pairs to be counted, need not be stored: what reads them computes them (`fuse`), by
// loops over rows in the end (kern/schedules/rows_within.c, kern/tidy/unflatten.c).
#include "base/map.h"
#include "core/core.h"
#include "core/passes.h"

// Of a variable: its statement, and the number of the result.
typedef struct MadeBy {
  const Stm *stm;
  int result;
} MadeBy;

// Of a map's parameter: the array, and the index of the element in it.  Of an array: the element,
// and its index.
typedef struct Given {
  Atom array;
  const Atom *at;
} Given;

typedef struct FlatPlaces {
  Compiler *c;
  Map *defs;   // Var -> const MadeBy *
  Map *given;  // Var -> const Given *: of the maps around what is asked for
  Map *uses;   // Var -> int *: how often it is mentioned
  Map *
      read;  // Var -> what goes through its elements once, in order: a histogram, a filter
  Map *filtered;  // Var -> likewise, if a filter does, which computes them twice
} FlatPlaces;

static void note_statement(FlatPlaces *x, const Stm *stm) {
  for (int k = 0; k < stm->binder_count; k++)
    map_put(x->defs, stm->binders[k], new_node(MadeBy, .stm = stm, .result = k));
}

static const MadeBy *maker_of(const FlatPlaces *x, Atom a) {
  return a.kind == ATOM_VAR ? map_get(x->defs, a.u.var) : NULL;
}

// ---- elements

static bool place_element(FlatPlaces *x, Atom array, const Atom *at, Atom *out);

// A scalar within a map: what the map is given.
static bool given_element(FlatPlaces *x, Atom scalar, Atom *out) {
  const Given *given = scalar.kind == ATOM_VAR ? map_get(x->given, scalar.u.var) : NULL;
  return given && place_element(x, given->array, given->at, out);
}

// Of an array within maps: a row, or what is repeated in it.
static bool row_element(FlatPlaces *x, Atom row, const Atom *at, Atom *out) {
  return atom_type(row).rank ? place_element(x, row, at, out)
                             : given_element(x, row, out);
}

static bool element_of_map(FlatPlaces *x, const Soac *soac, int k, const Atom *at,
                           Atom *out) {
  for (int i = 0; i < soac->array_count; i++)
    map_put(x->given, soac->fn.params[i],
            new_node(Given, .array = soac->arrays[i], .at = at));
  return row_element(x, soac->fn.body->results[k], at + 1, out);
}

// The element at these indices, if it is one of them.
static bool place_element(FlatPlaces *x, Atom array, const Atom *at, Atom *out) {
  const MadeBy *made = maker_of(x, array);
  if (!made) return false;
  const Exp *e = made->stm->exp;
  if (e->kind == EXP_REPLICATE) return row_element(x, e->u.replicate.value, at + 1, out);
  if (e->kind == EXP_MAP) return element_of_map(x, &e->u.soac, made->result, at, out);
  bool counts = e->kind == EXP_IOTA && atom_is_i64(e->u.iota.start, 0) &&
                atom_is_i64(e->u.iota.step, 1);
  *out = at[0];
  return counts;
}

// ---- what scalars are made of

// The code that makes an element of a nest of maps.
typedef struct PairCode {
  Compiler *c;
  Builder *b;
  Subst *subst;
  Map *maps;   // Var -> const MadeBy *: the maps, and what is repeated, within the nest
  Map *known;  // Var -> const Given *: the element of such that was made last
  bool branches;  // scalars may be made in branches
} PairCode;

static bool pair_element(PairCode *p, Atom a, const Atom *at, Atom *out);

static bool is_nest(const Exp *e) {
  return e->kind == EXP_MAP || e->kind == EXP_REPLICATE;
}

static bool computes_scalars(const Stm *stm, bool branches);

static bool scalars_only(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (!computes_scalars(&body->stms[i], true)) return false;
  return true;
}

static bool computes_scalars(const Stm *stm, bool branches) {
  const Exp *e = stm->exp;
  for (int k = 0; k < stm->binder_count; k++)
    if (stm->binders[k]->type.rank > 0) return false;
  if (e->kind == EXP_IF)
    return branches && scalars_only(e->u.cond.then_body) &&
           scalars_only(e->u.cond.else_body);
  return exp_is_scalar(e) || e->kind == EXP_INDEX || e->kind == EXP_ATOM;
}

static bool mentions_map(const PairCode *p, const Exp *exp) {
  VarVec free = core_free_exp(exp);
  vec_each (const Var **, var, &free)
    if (map_has(p->maps, *var)) return true;
  return false;
}

static bool add_scalars(PairCode *p, const Stm *stm) {
  if (!computes_scalars(stm, p->branches) || mentions_map(p, stm->exp)) return false;
  Atom *values = new_array(Atom, stm->binder_count + 1);
  p->b->loc = stm->loc;
  core_let_n(p->b, "value", core_rename_exp(p->c, p->subst, stm->exp), values);
  for (int k = 0; k < stm->binder_count; k++)
    subst_put(p->subst, stm->binders[k], values[k]);
  return true;
}

static bool body_element(PairCode *p, const Body *body, int k, const Atom *at,
                         Atom *out) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (!is_nest(stm->exp)) {
      if (!add_scalars(p, stm)) return false;
      continue;
    }
    for (int r = 0; r < stm->binder_count; r++)
      map_put(p->maps, stm->binders[r], new_node(MadeBy, .stm = stm, .result = r));
  }
  return pair_element(p, body->results[k], at, out);
}

// One of a map's inputs: the element, or the row, at that place.
static bool bind_input(PairCode *p, const Var *param, Atom array, const Atom *at) {
  Atom element;
  bool inner = array.kind == ATOM_VAR && map_has(p->maps, array.u.var);
  if (param->type.rank && inner) return false;
  if (param->type.rank)
    element = core_let(p->b, "row", exp_index(subst_atom(p->subst, array), at, 1, false));
  else if (!pair_element(p, array, at, &element))
    return false;
  subst_put(p->subst, param, element);
  return true;
}

static bool element_of_nest(PairCode *p, const Soac *soac, int k, const Atom *at,
                            Atom *out) {
  for (int i = 0; i < soac->array_count; i++)
    if (!bind_input(p, soac->fn.params[i], soac->arrays[i], at)) return false;
  return body_element(p, soac->fn.body, k, at + 1, out);
}

static bool element_of_made(PairCode *p, const MadeBy *made, const Atom *at, Atom *out) {
  const Exp *e = made->stm->exp;
  if (e->kind == EXP_REPLICATE) return pair_element(p, e->u.replicate.value, at + 1, out);
  return element_of_nest(p, &e->u.soac, made->result, at, out);
}

// Of what several maps read, once: else chains of such would double from map to map.
static bool pair_element(PairCode *p, Atom a, const Atom *at, Atom *out) {
  const MadeBy *made = a.kind == ATOM_VAR ? map_get(p->maps, a.u.var) : NULL;
  int rank = atom_type(a).rank;
  if (!made) {
    *out = subst_atom(p->subst, a);
    if (rank) *out = core_let(p->b, "x", exp_index(*out, at, rank, false));
    return true;
  }
  const Given *known = map_get(p->known, a.u.var);
  if (known && known->at == at) {
    *out = known->array;
    return true;
  }
  if (!element_of_made(p, made, at, out)) return false;
  map_put(p->known, a.u.var, new_node(Given, .array = *out, .at = at));
  return true;
}

static bool has_one_reader(const FlatPlaces *x, Atom a) {
  const int *count = map_get(x->uses, a.u.var);
  return count && *count == 1;
}

// Does a nest of maps make the array, for one reader alone?
static bool scalar_element(FlatPlaces *x, Builder *b, Atom array, const Atom *at,
                           bool branches, Atom *out) {
  const MadeBy *made = maker_of(x, array);
  if (!made || !is_nest(made->stm->exp) || !has_one_reader(x, array)) return false;
  PairCode p = { .c = x->c,
                 .b = b,
                 .subst = subst_new(),
                 .maps = map_new(NULL),
                 .known = map_new(NULL),
                 .branches = branches };
  map_put(p.maps, array.u.var, made);
  return pair_element(&p, array, at, out);
}

static bool is_read_in_order(const FlatPlaces *x, const Stm *stm) {
  const Var *flat = stm->binders[0];
  return map_has(x->read, flat) && has_one_reader(x, atom_var(flat));
}

// ---- reshapes

// The element at these indices, computed: a place, or a scalar that one reader takes.
static bool flat_element(FlatPlaces *x, Builder *b, const Stm *stm, const Atom *at,
                         Atom *out) {
  Atom array = stm->exp->u.reshape.array;
  x->given = map_new(NULL);
  if (atom_type(array).elem == PRIM_I64 && place_element(x, array, at, out)) return true;
  bool once = !map_has(x->filtered, stm->binders[0]);
  return is_read_in_order(x, stm) && scalar_element(x, b, array, at, once, out);
}

// NULL: the array is no such one.
static const Exp *in_one_dimension(FlatPlaces *x, Builder *b, const Stm *stm) {
  const Exp *e = stm->exp;
  CoreType type = atom_type(e->u.reshape.array);
  if (e->u.reshape.rank != 1 || type.rank < 2) return NULL;
  Builder in = builder_new(x->c, b->loc);
  const Var *k = var_new(x->c, name_of(x->c->names, "k"), type_scalar(PRIM_I64), b->loc);
  Atom *at = new_array(Atom, type.rank + 1), left = atom_var(k), element;
  for (int i = type.rank - 1; i > 0; i--) {
    at[i] = core_let(&in, "place", exp_op2(OP_REM, left, type.dims[i]));
    left = core_let(&in, "row", exp_op2(OP_QUOT, left, type.dims[i]));
  }
  at[0] = left;
  if (!flat_element(x, &in, stm, at, &element)) return NULL;
  Atom width = e->u.reshape.dims[0];
  Atom is = core_let(b, "is", exp_iota(width, atom_i64(0), atom_i64(1)));
  Lambda fn = lambda_new(mem_copy(&k, sizeof k), 1, core_body(&in, &element, 1));
  return exp_map(width, fn, &is, 1);
}

static void note_read(FlatPlaces *x, const Atom *arrays, int count, bool filtered) {
  for (int i = 0; i < count; i++) {
    if (arrays[i].kind != ATOM_VAR) continue;
    map_put(x->read, arrays[i].u.var, x);
    if (filtered) map_put(x->filtered, arrays[i].u.var, x);
  }
}

static bool one_is_filtered(const FlatPlaces *x, const Stm *stm) {
  for (int k = 0; k < stm->binder_count; k++)
    if (map_has(x->filtered, stm->binders[k])) return true;
  return false;
}

static bool all_are_read(const FlatPlaces *x, const Stm *stm) {
  for (int k = 0; k < stm->binder_count; k++) {
    Atom result = atom_var(stm->binders[k]);
    if (!map_has(x->read, result.u.var) || !has_one_reader(x, result)) return false;
  }
  return true;
}

// From the end: what maps make for such readers, they read in order as well.
static void find_readers(FlatPlaces *x, const Body *body) {
  for (int i = body->stm_count - 1; i >= 0; i--) {
    const Stm *stm = &body->stms[i];
    const Exp *e = stm->exp;
    if (e->kind == EXP_HIST)
      note_read(x, e->u.hist.arrays, e->u.hist.array_count, false);
    else if (e->kind == EXP_SCATTER)
      note_read(x, e->u.scatter.arrays, e->u.scatter.array_count, false);
    else if (e->kind == EXP_FILTER || (e->kind == EXP_MAP && all_are_read(x, stm)))
      note_read(x, e->u.soac.arrays, e->u.soac.array_count,
                e->kind == EXP_FILTER || one_is_filtered(x, stm));
  }
}

static const Body *places_in_body(CoreMapper *m, const Body *body) {
  FlatPlaces *x = m->state;
  Builder b = builder_new(x->c, (Loc){ 0 });
  bool changed = false;
  find_readers(x, body);
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    stm.exp = core_map_exp(m, stm.exp);
    const Exp *flat = stm.exp->kind == EXP_RESHAPE ? in_one_dimension(x, &b, &stm) : NULL;
    if (flat) stm.exp = flat;
    changed = changed || stm.exp != body->stms[i].exp;
    note_statement(x, mem_copy(&stm, sizeof stm));
    core_add_stm(&b, stm);
  }
  return changed ? core_body(&b, body->results, body->result_count) : body;
}

static const Body *rewrite_places(Compiler *c, const Body *body) {
  FlatPlaces x = { .c = c,
                   .defs = map_new(NULL),
                   .uses = core_uses(body),
                   .read = map_new(NULL),
                   .filtered = map_new(NULL) };
  CoreMapper m = { .body = places_in_body, .state = &x };
  return places_in_body(&m, body);
}

const Core *flat_places(Compiler *c, const Core *core) {
  return dead(c, core_map_bodies(c, core, rewrite_places));
}
