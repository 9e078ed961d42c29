// map n (\p -> .. p[0] .. p[k] .. y[k] ..) ps
//   =>  let x = ps[:, 0]   let x' = if 0 <= k && k < m then ps[:, k] else zeros   let z = y[k]
//       map n (\x x' -> .. x .. x' .. z ..) x x'
//   where 0 and k are the same for all elements, and p is read at no other places; likewise
//   reductions and scans
//
// Needs: binders unique.  Keeps: that.
// Why: the adjoint of a number is a number, that of p an array in which one element after the other
// is changed, and what is read of y would be added to its adjoint by a histogram.
#include "core/ad/ad.h"
#include "core/ad/code.h"
#include "core/bounds.h"

// A read that begins at the same place for all elements.
typedef struct SamePlace {
  const Exp *read;
  bool certain;  // it is made for all elements, and known to be within the array
  Atom value;    // what takes its place
} SamePlace;

typedef struct SamePlaces {
  Compiler *c;
  const Lambda *fn;
  Map *inside;  // Var -> Var: what is bound in the function
  Map *odd;     // ... and which of its parameters are read elsewhere, too
  int depth;    // of the body at hand, in the function
  Vec(SamePlace) all;
} SamePlaces;

// ---- which

static bool varies(const SamePlaces *s, Atom a) {
  return a.kind == ATOM_VAR && map_has(s->inside, a.u.var);
}

static bool is_param(const SamePlaces *s, Atom a) {
  for (int i = 0; i < s->fn->param_count; i++)
    if (atom_equal(a, atom_var(s->fn->params[i]))) return true;
  return false;
}

static bool is_fixed(const SamePlaces *s, const DimIndex *dim, Atom size) {
  return dim->is_slice ? dim_is_whole(dim, size) : !varies(s, dim->start);
}

// How many of the read's dimensions tell the place: of a parameter the first, else all; 0: it is
// not the same for all elements.
static int fixed_dims(const SamePlaces *s, const Exp *e) {
  if (e->kind != EXP_INDEX || !prim_is_float(atom_type(e->u.index.array).elem)) return 0;
  const DimIndex *dims = e->u.index.dims;
  if (is_param(s, e->u.index.array)) return !dims->is_slice && !varies(s, dims->start);
  if (varies(s, e->u.index.array)) return 0;
  CoreType type = atom_type(e->u.index.array);
  for (int d = 0; d < type.rank; d++)
    if (!is_fixed(s, &dims[d], type.dims[d])) return 0;
  return type.rank;
}

static bool same_dim(const DimIndex *a, const DimIndex *b) {
  return a->is_slice == b->is_slice && (a->is_slice || atom_equal(a->start, b->start));
}

static SamePlace *known_place(const SamePlaces *s, const Exp *e) {
  int fixed = fixed_dims(s, e);
  vec_each (SamePlace *, p, &s->all) {
    bool same = atom_equal(p->read->u.index.array, e->u.index.array);
    for (int d = 0; same && d < fixed; d++)
      same = same_dim(&p->read->u.index.dims[d], &e->u.index.dims[d]);
    if (same) return p;
  }
  return NULL;
}

static void note_odd(CoreVisitor *v, Atom a) {
  SamePlaces *s = v->state;
  if (is_param(s, a)) map_put(s->odd, a.u.var, s);
}

static void note_place(SamePlaces *s, const Exp *e) {
  bool certain = s->depth == 1 && !e->u.index.checked && is_param(s, e->u.index.array);
  SamePlace *known = known_place(s, e);
  if (known)
    known->certain |= certain;
  else
    vec_push(&s->all, (SamePlace){ .read = e, .certain = certain });
}

static void find_places(CoreVisitor *v, const Body *body) {
  SamePlaces *s = v->state;
  s->depth++;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (fixed_dims(s, e))
      note_place(s, e);
    else
      core_visit_stm(v, &body->stms[i]);
  }
  for (int i = 0; i < body->result_count; i++)
    note_odd(v, body->results[i]);
  s->depth--;
}

static SamePlaces places_of(Compiler *c, const Lambda *fn) {
  SamePlaces s = { .c = c, .fn = fn, .inside = map_new(NULL), .odd = map_new(NULL) };
  for (int i = 0; i < fn->param_count; i++)
    map_put(s.inside, fn->params[i], fn->params[i]);
  ad_note_bound(s.inside, fn->body);
  CoreVisitor v = { .atom = note_odd, .body = find_places, .state = &s };
  find_places(&v, fn->body);
  int count = 0;
  vec_each (const SamePlace *, p, &s.all)
    if (!map_has(s.odd, p->read->u.index.array.u.var)) s.all.at[count++] = *p;
  s.all.count = count;
  return s;
}

// ---- reading there outside

// The value of `read`, or zeros where nothing is that could be read.
static Atom guarded(Builder *b, const SamePlace *p, Atom exists, const Exp *read) {
  if (p->certain) return core_let(b, "x", read);
  Builder yes = builder_new(b->c, b->loc), no = builder_new(b->c, b->loc);
  Atom value = core_let(&yes, "x", read), zeros = ad_zeros(&no, atom_type(value));
  const Body *bodies[2] = { core_body(&yes, &value, 1), core_body(&no, &zeros, 1) };
  return core_let(b, "x", exp_if(exists, bodies[0], bodies[1]));
}

// array[:, k] for the parameter's read at k
static Atom column(Builder *b, const SamePlace *p, Atom array) {
  CoreType type = atom_type(array), first = type_row(type);
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int d = 0; d < type.rank; d++)
    dims[d] = d == 1 ? p->read->u.index.dims[0]
                     : dim_slice(atom_i64(0), type.dims[d], atom_i64(1));
  first.rank = 1;
  return guarded(b, p, bounds_condition(b, first, p->read->u.index.dims),
                 exp_slice(array, dims, false));
}

// Columns in place of what has them as rows.
static void read_columns(SamePlaces *s, Builder *b, Soac *soac) {
  VarVec params = { 0 };
  AtomVec arrays = { 0 };
  for (int i = 0; i < soac->array_count; i++) {
    vec_push(&params, soac->fn.params[i]);
    vec_push(&arrays, soac->arrays[i]);
    vec_each (SamePlace *, p, &s->all) {
      if (!atom_equal(p->read->u.index.array, atom_var(soac->fn.params[i]))) continue;
      Atom part = column(b, p, soac->arrays[i]);
      const Var *param =
          var_new(b->c, soac->fn.params[i]->name, type_row(atom_type(part)), b->loc);
      p->value = atom_var(param);
      vec_push(&params, param);
      vec_push(&arrays, part);
    }
  }
  soac->fn = lambda_new(params.at, params.count, soac->fn.body);
  soac->arrays = arrays.at;
  soac->array_count = arrays.count;
}

static void read_outside(const SamePlaces *s, Builder *b) {
  vec_each (SamePlace *, p, &s->all) {
    const Exp *read = p->read;
    if (is_param(s, read->u.index.array)) continue;
    Atom exists = bounds_condition(b, atom_type(read->u.index.array), read->u.index.dims);
    p->value =
        guarded(b, p, exists, exp_slice(read->u.index.array, read->u.index.dims, false));
  }
}

// ---- reading what was read

static const Exp *read_place(SamePlaces *s, Builder *b, const Exp *e,
                             const SamePlace *p) {
  Atom part = p->value;
  CoreType type = atom_type(e->u.index.array);
  if (e->u.index.checked)
    part = core_let(b, "x", bounds_assert(b, type, e->u.index.dims, &part, 1));
  int fixed = fixed_dims(s, e);
  if (fixed == type.rank) return exp_atom(part);
  return exp_slice(part, e->u.index.dims + fixed, e->u.index.checked);
}

static const Body *read_places(CoreMapper *m, const Body *body) {
  SamePlaces *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    const SamePlace *p = fixed_dims(s, stm.exp) ? known_place(s, stm.exp) : NULL;
    b.loc = stm.loc;
    stm.exp = p ? read_place(s, &b, stm.exp, p) : core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// ---- operators

static void split_places(Builder *b, Soac *soac) {
  Lambda fn = soac->fn;
  SamePlaces s = places_of(b->c, &fn);
  if (!s.all.count) return;
  read_columns(&s, b, soac);
  read_outside(&s, b);
  CoreMapper m = { .body = read_places, .state = &s };
  soac->fn.body = read_places(&m, soac->fn.body);
}

static const Body *places_in(CoreMapper *m, const Body *body) {
  Builder b = builder_new(m->state, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    stm.exp = core_map_exp(m, stm.exp);
    const Exp *e = stm.exp;
    if (e->kind == EXP_MAP || e->kind == EXP_REDOMAP || e->kind == EXP_SCANOMAP) {
      Exp *split = mem_copy(e, sizeof *e);
      split_places(&b, &split->u.soac);
      stm.exp = split;
    }
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *ad_same_places(Compiler *c, const Body *body) {
  CoreMapper m = { .body = places_in, .state = c };
  return places_in(&m, body);
}
