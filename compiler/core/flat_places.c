// let a = map n (\i -> replicate m i) (iota n)   let b = replicate n (iota m)
// reshape [n * m] a   reshape [n * m] b
//   =>   map (\k -> k // m) (iota (n * m))   map (\k -> k %% m) (iota (n * m))
//
// Needs, keeps: Core; binders unique.
// Why: all pairs of indices in one dimension, as filters and sums of them take them, need not be
// stored: what reads them computes them (`fuse`), by loops over rows in the end
// (kern/schedules/rows_within.c, kern/tidy/unflatten.c).
#include "base/map.h"
#include "core/core.h"
#include "core/passes.h"

// Of a variable: its statement, and the number of the result.
typedef struct MadeBy {
  const Stm *stm;
  int result;
} MadeBy;

// Of a map's parameter: the array, and the index of the element in it.
typedef struct Given {
  Atom array;
  const Atom *at;
} Given;

typedef struct FlatPlaces {
  Compiler *c;
  Map *defs;   // Var -> const MadeBy *
  Map *given;  // Var -> const Given *: of the maps around what is asked for
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

// ---- reshapes

// NULL: the array is no such one.
static const Exp *in_one_dimension(FlatPlaces *x, Builder *b, const Exp *e) {
  Atom array = e->u.reshape.array;
  CoreType type = atom_type(array);
  if (e->u.reshape.rank != 1 || type.rank < 2 || type.elem != PRIM_I64) return NULL;
  Builder in = builder_new(x->c, b->loc);
  const Var *k = var_new(x->c, name_of(x->c->names, "k"), type_scalar(PRIM_I64), b->loc);
  Atom *at = new_array(Atom, type.rank + 1), left = atom_var(k), element;
  for (int i = type.rank - 1; i > 0; i--) {
    at[i] = core_let(&in, "place", exp_op2(OP_REM, left, type.dims[i]));
    left = core_let(&in, "row", exp_op2(OP_QUOT, left, type.dims[i]));
  }
  at[0] = left;
  x->given = map_new(NULL);
  if (!place_element(x, array, at, &element)) return NULL;
  Atom width = e->u.reshape.dims[0];
  Atom is = core_let(b, "is", exp_iota(width, atom_i64(0), atom_i64(1)));
  Lambda fn = lambda_new(mem_copy(&k, sizeof k), 1, core_body(&in, &element, 1));
  return exp_map(width, fn, &is, 1);
}

static const Body *places_in_body(CoreMapper *m, const Body *body) {
  FlatPlaces *x = m->state;
  Builder b = builder_new(x->c, (Loc){ 0 });
  bool changed = false;
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    stm.exp = core_map_exp(m, stm.exp);
    const Exp *flat =
        stm.exp->kind == EXP_RESHAPE ? in_one_dimension(x, &b, stm.exp) : NULL;
    if (flat) stm.exp = flat;
    changed = changed || stm.exp != body->stms[i].exp;
    note_statement(x, mem_copy(&stm, sizeof stm));
    core_add_stm(&b, stm);
  }
  return changed ? core_body(&b, body->results, body->result_count) : body;
}

static const Body *rewrite_places(Compiler *c, const Body *body) {
  FlatPlaces x = { .c = c, .defs = map_new(NULL) };
  CoreMapper m = { .body = places_in_body, .state = &x };
  return places_in_body(&m, body);
}

const Core *flat_places(Compiler *c, const Core *core) {
  return dead(c, core_map_bodies(c, core, rewrite_places));
}
