// map n (\p -> .. p[0] .. p[1] ..) ps   =>  map n (\x y -> .. x .. y ..) ps[:, 0] ps[:, 1]
//   where p is read at no other indices than numbers; likewise reductions and scans
//
// Needs: binders unique.  Keeps: that.
// Why: the adjoint of a number is a number, that of p an array in which one element after the other
// is changed.
#include "core/ad/ad.h"
#include "core/ad/code.h"

// The reads of one parameter.
typedef struct Components {
  Compiler *c;
  Atom row;
  int other;  // mentions that are no such reads
  AtomVec indices;
  VarVec params;  // the components at these
} Components;

static bool is_component(const Components *s, const Exp *e) {
  return e->kind == EXP_INDEX && atom_equal(e->u.index.array, s->row) &&
         !e->u.index.dims[0].is_slice && e->u.index.dims[0].start.kind == ATOM_CONST;
}

// ---- where a row is read

static void count_mention(CoreVisitor *v, Atom a) {
  Components *s = v->state;
  s->other += atom_equal(a, s->row);
}

static void note_component(Components *s, Atom index) {
  vec_each (const Atom *, known, &s->indices)
    if (atom_equal(*known, index)) return;
  vec_push(&s->indices, index);
}

static void find_components(CoreVisitor *v, const Body *body) {
  Components *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (is_component(s, e))
      note_component(s, e->u.index.dims[0].start);
    else
      core_visit_stm(v, &body->stms[i]);
  }
  for (int i = 0; i < body->result_count; i++)
    count_mention(v, body->results[i]);
}

static Components components_of(Compiler *c, const Lambda *fn, int param) {
  Components s = { .c = c, .row = atom_var(fn->params[param]) };
  CoreVisitor v = { .atom = count_mention, .body = find_components, .state = &s };
  CoreType type = fn->params[param]->type;
  if (type.rank && prim_is_float(type.elem)) find_components(&v, fn->body);
  if (s.other) s.indices.count = 0;
  return s;
}

// ---- reading components

static Atom component(const Components *s, Atom index) {
  int k = 0;
  while (!atom_equal(s->indices.at[k], index))
    k++;
  return atom_var(s->params.at[k]);
}

static const Exp *read_component(const Components *s, const Exp *e) {
  Atom part = component(s, e->u.index.dims[0].start);
  if (!atom_type(part).rank) return exp_atom(part);
  return exp_slice(part, e->u.index.dims + 1, e->u.index.checked);
}

static const Body *read_components(CoreMapper *m, const Body *body) {
  const Components *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    stm.exp =
        is_component(s, stm.exp) ? read_component(s, stm.exp) : core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// array[:, index]
static Atom column(Builder *b, Atom array, Atom index) {
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int d = 0; d < type.rank; d++)
    dims[d] = d == 1 ? dim_fix(index) : dim_slice(atom_i64(0), type.dims[d], atom_i64(1));
  return core_let(b, "column", exp_slice(array, dims, true));
}

// Columns in place of an array of rows.
static void split_array(Builder *b, Soac *soac, int array) {
  Components s = components_of(b->c, &soac->fn, array);
  if (!s.indices.count) return;
  VarVec params = { 0 };
  AtomVec arrays = { 0 };
  for (int i = 0; i < soac->array_count; i++) {
    vec_push(&params, soac->fn.params[i]);
    vec_push(&arrays, soac->arrays[i]);
  }
  vec_each (const Atom *, index, &s.indices) {
    Atom part = column(b, soac->arrays[array], *index);
    CoreType type = type_row(atom_type(part));
    const Var *param = var_new(b->c, s.row.u.var->name, type, b->loc);
    vec_push(&s.params, param);
    vec_push(&params, param);
    vec_push(&arrays, part);
  }
  CoreMapper m = { .body = read_components, .state = &s };
  soac->fn = lambda_new(params.at, params.count, read_components(&m, soac->fn.body));
  soac->arrays = arrays.at;
  soac->array_count = arrays.count;
}

static const Body *components_in(CoreMapper *m, const Body *body) {
  Builder b = builder_new(m->state, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    const Exp *e = stm.exp;
    b.loc = stm.loc;
    if (e->kind == EXP_MAP || e->kind == EXP_REDOMAP || e->kind == EXP_SCANOMAP) {
      Exp *split = mem_copy(e, sizeof *e);
      for (int k = 0; k < e->u.soac.array_count; k++)
        split_array(&b, &split->u.soac, k);
      stm.exp = split;
    }
    stm.exp = core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *ad_components(Compiler *c, const Body *body) {
  CoreMapper m = { .body = components_in, .state = c };
  return components_in(&m, body);
}
