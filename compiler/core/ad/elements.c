// map n (\i -> .. xs[i] .. ys[j, i] ..) (iota n)
//   =>  let columns = rearrange (1, 0) ys
//       map n (\i x column -> .. x .. column[j] ..) (iota n) xs columns
//   where n is the dimension that i goes through; likewise reductions and scans
//
// Needs: binders unique.  Keeps: that.
// Why: the adjoint of an element is an element, while what is read at an index, which might be any,
// must be added to the array's adjoint by a histogram.  That of a row is a row, however few of its
// elements are read: within an operator around, each of whose elements has rows of its own, only
// rows are taken of which all is read, or one place.
#include "core/ad/ad.h"
#include "core/ad/code.h"

typedef struct ElementSearch {
  Compiler *c;
  Map *iotas;   // Var -> Var: 0, 1, .. ; it knows its length
  Map *widths;  // indices (Var) -> Atom: they go through 0, 1, .. up to that
  const Map
      *around;  // what the function binds that the operator at hand stands in; NULL: none
} ElementSearch;

// A function of a parallel operator, whose parameter `index` goes through 0, 1, .. up to `width`.
typedef struct Reading {
  const ElementSearch *search;
  Builder *b;  // around the operator
  Map *inside;
  Atom index, width;
  VarVec params;   // for rows of `arrays`
  AtomVec arrays;  // views of ...
  AtomVec sources;
  Vec(int) dims;  // ... that begin with this dimension
} Reading;

static void note_binder(CoreVisitor *v, const Var *var) { map_put(v->state, var, var); }

static void note_body(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      note_binder(v, body->stms[i].binders[k]);
  core_visit_body(v, body);
}

void ad_note_bound(Map *bound, const Body *body) {
  CoreVisitor v = { .binder = note_binder, .body = note_body, .state = bound };
  note_body(&v, body);
}

// ---- one read

// Does one run of the function read all of the dimension, or always at the same place?
static bool is_regular(const Reading *r, const DimIndex *dim, Atom size) {
  if (dim->is_slice) return dim_is_whole(dim, size);
  if (dim->start.kind == ATOM_CONST || !map_has(r->inside, dim->start.u.var)) return true;
  const Atom *width = map_get(r->search->widths, dim->start.u.var);
  return width && atom_equal(*width, size);
}

static bool gives_rows(const Reading *r, const Exp *e, int dim) {
  CoreType type = atom_type(e->u.index.array);
  const Map *around = r->search->around;
  if (!around || map_has(around, e->u.index.array.u.var)) return true;
  for (int d = 0; d < type.rank; d++)
    if (d != dim && !is_regular(r, &e->u.index.dims[d], type.dims[d])) return false;
  return true;
}

// The dimension whose elements the index goes through; -1: none.
static int whole_dimension(const Reading *r, const Exp *e) {
  if (e->kind != EXP_INDEX) return -1;
  Atom array = e->u.index.array;
  CoreType type = atom_type(array);
  if (!prim_is_float(type.elem) || map_has(r->inside, array.u.var)) return -1;
  for (int d = 0; d < type.rank; d++) {
    const DimIndex *dim = &e->u.index.dims[d];
    bool here = !dim->is_slice && atom_equal(dim->start, r->index);
    if (here && atom_equal(type.dims[d], r->width)) return gives_rows(r, e, d) ? d : -1;
  }
  return -1;
}

static Atom beginning_with(Builder *b, Atom array, int dim) {
  int rank = atom_type(array).rank, *perm = new_array(int, rank);
  if (!dim) return array;
  perm[0] = dim;
  for (int i = 1; i < rank; i++)
    perm[i] = i <= dim ? i - 1 : i;
  return core_let(b, "columns", exp_rearrange(perm, rank, array));
}

static Atom row_param(Reading *r, Atom array, int dim) {
  for (int i = 0; i < r->params.count; i++)
    if (atom_equal(r->sources.at[i], array) && r->dims.at[i] == dim)
      return atom_var(r->params.at[i]);
  Atom view = beginning_with(r->b, array, dim);
  Name name = array.u.var->name;
  const Var *param = var_new(r->b->c, name, type_row(atom_type(view)), r->b->loc);
  vec_push(&r->params, param);
  vec_push(&r->arrays, view);
  vec_push(&r->sources, array);
  vec_push(&r->dims, dim);
  return atom_var(param);
}

static const Exp *read_row(Reading *r, const Exp *e, int dim) {
  Atom row = row_param(r, e->u.index.array, dim);
  int rank = atom_type(row).rank;
  if (!rank) return exp_atom(row);
  DimIndex *dims = new_array(DimIndex, rank);
  for (int d = 0; d < rank; d++)
    dims[d] = e->u.index.dims[d < dim ? d : d + 1];
  return exp_slice(row, dims, e->u.index.checked);
}

static const Body *read_rows(CoreMapper *m, const Body *body) {
  Reading *r = m->state;
  Builder b = builder_new(r->b->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    int dim = whole_dimension(r, stm.exp);
    stm.exp = dim < 0 ? core_map_exp(m, stm.exp) : read_row(r, stm.exp, dim);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// ---- operators

static bool counts_up(const ElementSearch *s, Atom array, Atom width) {
  return map_has(s->iotas, array.u.var) && atom_equal(ad_length(array), width);
}

static void through_index(const ElementSearch *s, Builder *b, Soac *soac, int index) {
  Reading r = { .search = s, .b = b, .inside = map_new(NULL), .width = soac->width };
  r.index = atom_var(soac->fn.params[index]);
  ad_note_bound(r.inside, soac->fn.body);
  CoreMapper m = { .body = read_rows, .state = &r };
  const Body *body = read_rows(&m, soac->fn.body);
  VarVec params = { 0 };
  AtomVec arrays = { 0 };
  for (int i = 0; i < soac->array_count; i++) {
    vec_push(&params, soac->fn.params[i]);
    vec_push(&arrays, soac->arrays[i]);
  }
  for (int i = 0; i < r.params.count; i++) {
    vec_push(&params, r.params.at[i]);
    vec_push(&arrays, r.arrays.at[i]);
  }
  soac->fn = lambda_new(params.at, params.count, body);
  soac->arrays = arrays.at;
  soac->array_count = arrays.count;
}

static bool has_function(const Exp *e) {
  return e->kind == EXP_MAP || e->kind == EXP_REDOMAP || e->kind == EXP_SCANOMAP;
}

static const Exp *read_elements(const ElementSearch *s, Builder *b, const Exp *e) {
  if (!has_function(e)) return e;
  Exp *out = mem_copy(e, sizeof *e);
  int count = e->u.soac.array_count;
  for (int i = 0; i < count; i++)
    if (counts_up(s, e->u.soac.arrays[i], e->u.soac.width))
      through_index(s, b, &out->u.soac, i);
  return out;
}

static void note_iota(const ElementSearch *s, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind == EXP_IOTA && atom_is_i64(e->u.iota.start, 0) &&
      atom_is_i64(e->u.iota.step, 1))
    map_put(s->iotas, stm->binders[0], stm->binders[0]);
}

// ---- what indices go through

static void note_index(const ElementSearch *s, const Exp *e) {
  if (e->kind == EXP_LOOP && e->u.loop.form == CORE_FOR)
    map_put(s->widths, e->u.loop.index, mem_copy(&e->u.loop.bound, sizeof(Atom)));
  if (!has_function(e)) return;
  for (int i = 0; i < e->u.soac.array_count; i++)
    if (counts_up(s, e->u.soac.arrays[i], e->u.soac.width))
      map_put(s->widths, e->u.soac.fn.params[i],
              mem_copy(&e->u.soac.width, sizeof(Atom)));
}

static void note_indices(CoreVisitor *v, const Body *body) {
  const ElementSearch *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    note_iota(s, &body->stms[i]);
    note_index(s, body->stms[i].exp);
    core_visit_exp(v, body->stms[i].exp);
  }
}

// ---- bodies

static const Map *bound_by(const Soac *soac) {
  Map *bound = map_new(NULL);
  for (int i = 0; i < soac->fn.param_count; i++)
    map_put(bound, soac->fn.params[i], soac);
  ad_note_bound(bound, soac->fn.body);
  return bound;
}

static const Body *elements_in(CoreMapper *m, const Body *body) {
  ElementSearch *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  const Map *around = s->around;
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    const Exp *e = read_elements(s, &b, stm.exp);
    if (has_function(e)) s->around = bound_by(&e->u.soac);
    stm.exp = core_map_exp(m, e);
    s->around = around;
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *ad_elements(Compiler *c, const Body *body) {
  ElementSearch state = { c, map_new(NULL), map_new(NULL), NULL };
  CoreVisitor v = { .body = note_indices, .state = &state };
  note_indices(&v, body);
  CoreMapper m = { .body = elements_in, .state = &state };
  return elements_in(&m, body);
}
