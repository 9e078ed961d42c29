// filter n (\x -> {p x, x}) xss   =>   let is = filter n (\x i -> {p x, i}) xss (iota n)
//                                     in map (\i -> xss[i]) is
//   where the elements that are kept are rows
//
// Why: neighbouring work-items would each store a row of its own, and rows that are not kept are
// not looked at but for what the predicate reads of them.
#include "flat/rules.h"

// A filter of rows, and of their places instead.
typedef struct RowFilter {
  Compiler *c;
  const Stm *stm;
  const Soac *soac;
  int place;  // which result of the new filter's function is the place; 0: none is
} RowFilter;

// The array whose rows a result of the function is; false if it is something else.
static bool row_of_array(const Soac *soac, Atom result, Atom *array) {
  int param = lambda_param_index(&soac->fn, result);
  if (param < 0 || soac->fn.params[param]->type.rank == 0) return false;
  *array = soac->arrays[param];
  return true;
}

static bool keeps_any_row(const Soac *soac) {
  Atom array;
  for (int i = 1; i < soac->fn.body->result_count; i++)
    if (row_of_array(soac, soac->fn.body->results[i], &array)) return true;
  return false;
}

// The new function: places, once, where rows were.
static Lambda fn_of_places(RowFilter *r) {
  Lambda fn = core_rename_lambda(r->c, subst_new(), r->soac->fn);
  Soac renamed = *r->soac;
  renamed.fn = fn;
  int count = fn.param_count;
  const Var **params = new_array(const Var *, count + 1);
  for (int i = 0; i < count; i++)
    params[i] = fn.params[i];
  params[count] =
      var_new(r->c, name_of(r->c->names, "place"), type_scalar(PRIM_I64), r->stm->loc);
  AtomVec results = { 0 };
  for (int i = 0; i < fn.body->result_count; i++) {
    Atom array;
    bool row = i > 0 && row_of_array(&renamed, fn.body->results[i], &array);
    if (row && r->place) continue;
    if (row) r->place = results.count;
    vec_push(&results, row ? atom_var(params[count]) : fn.body->results[i]);
  }
  Body *body = mem_copy(fn.body, sizeof *fn.body);
  body->results = results.at;
  body->result_count = results.count;
  return lambda_new(params, count + 1, body);
}

static const Exp *filter_of_places(RowFilter *r, Builder *b) {
  Soac soac = *r->soac;
  Atom *arrays = new_array(Atom, soac.array_count + 1);
  for (int i = 0; i < soac.array_count; i++)
    arrays[i] = soac.arrays[i];
  arrays[soac.array_count++] =
      core_let(b, "places", exp_iota(soac.width, atom_i64(0), atom_i64(1)));
  soac.arrays = arrays;
  soac.fn = fn_of_places(r);
  return exp_soac(EXP_FILTER, soac);
}

// map (\i -> xss[i]) places
static Atom rows_at(const RowFilter *r, Builder *b, Atom array, Atom count, Atom places) {
  const Var *place =
      var_new(r->c, name_of(r->c->names, "place"), type_scalar(PRIM_I64), b->loc);
  Builder inner = builder_new(r->c, b->loc);
  Atom at = atom_var(place);
  Atom row = core_let(&inner, "row", exp_index(array, &at, 1, false));
  Lambda fn = lambda_new(&place, 1, core_body(&inner, &row, 1));
  return core_let(b, "kept", exp_map(count, fn, &places, 1));
}

const Body *flatten_row_filter(Flatten *fl, const Stm *stm) {
  RowFilter r = { .c = fl->c, .stm = stm, .soac = &stm->exp->u.soac };
  if (!keeps_any_row(r.soac)) return NULL;
  Builder b = builder_new(fl->c, stm->loc);
  const Exp *filter = filter_of_places(&r, &b);
  int count = r.soac->fn.body->result_count;
  Atom *kept = new_array(Atom, filter->u.soac.fn.body->result_count),
       *results = new_array(Atom, count);
  core_let_n(&b, "kept", filter, kept);
  for (int i = 0, at = 0; i < count; i++) {
    Atom array;
    bool row = i > 0 && row_of_array(r.soac, r.soac->fn.body->results[i], &array);
    results[i] = row ? rows_at(&r, &b, array, kept[0], kept[r.place]) : kept[at];
    at += !row || at == r.place;
  }
  return core_body(&b, results, count);
}
