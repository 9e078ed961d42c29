// map n (\i -> .. xs[i] .. ys[j, i] ..) (iota n)
//   =>  let columns = rearrange (1, 0) ys
//       map n (\i x column -> .. x .. column[j] ..) (iota n) xs columns
//   where n is the dimension that i goes through; likewise reductions and scans
//
// Needs: binders unique.  Keeps: that.
// Why: the adjoint of an element is an element, while what is read at an index, which might be any,
// must be added to the array's adjoint by a histogram.
#include "core/ad/ad.h"
#include "core/ad/code.h"

typedef struct ElementSearch {
  Compiler *c;
  Map *iotas;  // Var -> Var: 0, 1, .. ; it knows its length
} ElementSearch;

// A function of a parallel operator, whose parameter `index` goes through 0, 1, .. up to `width`.
typedef struct Reading {
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

// The dimension whose elements the index goes through; -1: none.
static int whole_dimension(const Reading *r, const Exp *e) {
  if (e->kind != EXP_INDEX) return -1;
  Atom array = e->u.index.array;
  CoreType type = atom_type(array);
  if (!prim_is_float(type.elem) || map_has(r->inside, array.u.var)) return -1;
  for (int d = 0; d < type.rank; d++) {
    const DimIndex *dim = &e->u.index.dims[d];
    bool here = !dim->is_slice && atom_equal(dim->start, r->index);
    if (here && atom_equal(type.dims[d], r->width)) return d;
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

static void through_index(Builder *b, Soac *soac, int index) {
  Reading r = { .b = b, .inside = map_new(NULL), .width = soac->width };
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

static const Exp *read_elements(const ElementSearch *s, Builder *b, const Exp *e) {
  if (e->kind != EXP_MAP && e->kind != EXP_REDOMAP && e->kind != EXP_SCANOMAP) return e;
  Exp *out = mem_copy(e, sizeof *e);
  int count = e->u.soac.array_count;
  for (int i = 0; i < count; i++)
    if (counts_up(s, e->u.soac.arrays[i], e->u.soac.width))
      through_index(b, &out->u.soac, i);
  return out;
}

static void note_iota(const ElementSearch *s, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind == EXP_IOTA && atom_is_i64(e->u.iota.start, 0) &&
      atom_is_i64(e->u.iota.step, 1))
    map_put(s->iotas, stm->binders[0], stm->binders[0]);
}

static const Body *elements_in(CoreMapper *m, const Body *body) {
  const ElementSearch *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    note_iota(s, &stm);
    stm.exp = core_map_exp(m, read_elements(s, &b, stm.exp));
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *ad_elements(Compiler *c, const Body *body) {
  ElementSearch state = { c, map_new(NULL) };
  CoreMapper m = { .body = elements_in, .state = &state };
  return elements_in(&m, body);
}
