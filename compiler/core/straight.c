// map 2 (\a b -> {a + b}) xs ys, where xs = [p, q], ys = [r, s]   =>   p + r, q + s
#include "core/straight.h"
#include "core/passes.h"
#include <limits.h>

enum { MOST_ROUNDS = 16 };

typedef Vec(int) PlaceVec;

int straight_size(CoreType type, int most) {
  int64_t size = 1;
  for (int d = 0; d < type.rank; d++) {
    if (type.dims[d].kind != ATOM_CONST) return 0;
    int64_t width = type.dims[d].u.constant.u.i;
    if (width < 1 || width > most) return 0;
    size *= width;
    if (size > most) return 0;
  }
  return (int)size;
}

bool straight_is_small(const Straight *s, CoreType type) {
  return type.rank > 0 && straight_size(type, s->most) > 0;
}

// ---- what is known

static Atom let(Straight *s, const char *name, const Exp *exp) {
  --*s->budget;
  return core_let(s->b, name, exp);
}

void straight_bind(Straight *s, const Var *var, Atom atom) {
  map_put(s->elements, var, NULL);
  map_put(s->atoms, var, mem_copy(&atom, sizeof atom));
}

// With sizes that are constants in this round of a loop only: 3 - i.
static CoreType known_type(Straight *s, CoreType type) {
  Atom *dims = new_array(Atom, type.rank + 1);
  for (int d = 0; d < type.rank; d++)
    dims[d] = straight_whole(s, type.dims[d]);
  return (CoreType){ type.elem, type.rank, dims };
}

void straight_bind_elements(Straight *s, const Var *var, const Atom *at, int count) {
  if (var->type.rank == 0) {
    straight_bind(s, var, at[0]);
    return;
  }
  CoreType type = known_type(s, var->type);
  if (straight_size(type, INT_MAX) != count) *s->budget = -1;
  map_put(s->atoms, var, NULL);
  map_put(s->elements, var,
          new_node(ArrayParts, .type = type,
                   .at = mem_copy(at, (size_t)count * sizeof *at), .count = count));
}

const Exp *straight_array(Builder *b, CoreType type, const Atom *at) {
  CoreType row = type_row(type);
  int count = (int)type.dims[0].u.constant.u.i, size = straight_size(row, INT_MAX);
  Atom *rows = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    rows[i] = row.rank ? core_let(b, "row", straight_array(b, row, at + (size_t)i * size))
                       : at[i];
  return exp_array(rows, count, row);
}

Atom straight_whole(Straight *s, Atom a) {
  if (a.kind != ATOM_VAR) return a;
  const Atom *known = map_get(s->atoms, a.u.var);
  if (known) return *known;
  const ArrayParts *parts = map_get(s->elements, a.u.var);
  if (!parts) return a;
  Atom made = let(s, "array", straight_array(s->b, parts->type, parts->at));
  map_put(s->atoms, a.u.var, mem_copy(&made, sizeof made));
  return made;
}

const ArrayParts *straight_known(const Straight *s, Atom a) {
  return a.kind == ATOM_VAR ? map_get(s->elements, a.u.var) : NULL;
}

// The indices of element `k` of an array, in row-major order.
static void place_of(CoreType type, int k, Atom *out) {
  for (int d = type.rank - 1; d >= 0; d--) {
    int width = (int)type.dims[d].u.constant.u.i;
    out[d] = atom_i64(k % width);
    k /= width;
  }
}

const ArrayParts *straight_elements(Straight *s, Atom a) {
  const ArrayParts *known = straight_known(s, a);
  if (known) return known;
  CoreType type = atom_type(a);
  Atom array = straight_whole(s, a);
  int count = straight_size(type, s->most);
  Atom *at = new_array(Atom, count + 1), *place = new_array(Atom, type.rank + 1);
  for (int k = 0; k < count; k++) {
    place_of(type, k, place);
    at[k] =
        type.rank ? let(s, "element", exp_index(array, place, type.rank, false)) : array;
  }
  ArrayParts *read = new_node(ArrayParts, .type = type, .at = at, .count = count);
  if (type.rank) map_put(s->elements, a.u.var, read);
  return read;
}

Straight straight_inner(const Straight *s, Builder *b) {
  Straight inner = *s;
  inner.b = b;
  inner.atoms = map_new(s->atoms);
  inner.elements = map_new(s->elements);
  return inner;
}

// ---- statements that are kept

static void keep_stm(Straight *s, const Stm *stm) {
  if (s->rolls && exp_has_bodies(stm->exp)) {
    straight_keep(s, stm);
    return;
  }
  Subst *subst = subst_new();
  VarVec free = core_free_exp(stm->exp);
  vec_each (const Var *const *, v, &free)
    subst_put(subst, *v, straight_whole(s, atom_var(*v)));
  Atom *out = new_array(Atom, stm->binder_count + 1);
  core_let_n(s->b, "kept", core_rename_exp(s->c, subst, stm->exp), out);
  --*s->budget;
  for (int i = 0; i < stm->binder_count; i++)
    straight_bind(s, stm->binders[i], out[i]);
}

// ---- views of elements

// A number if it is constant.
static bool known_number(Straight *s, Atom a, int64_t *out) {
  Atom known = straight_whole(s, a);
  if (known.kind != ATOM_CONST) return false;
  *out = known.u.constant.u.i;
  return true;
}

typedef struct PickedRange {
  int64_t start, count, stride;
} PickedRange;

static bool constant_range(Straight *s, const DimIndex *dim, int64_t width,
                           PickedRange *out) {
  *out = (PickedRange){ .count = 1, .stride = 1 };
  if (!known_number(s, dim->start, &out->start)) return false;
  if (dim->is_slice && (!known_number(s, dim->count, &out->count) ||
                        !known_number(s, dim->stride, &out->stride)))
    return false;
  int64_t last = out->start + (out->count - 1) * out->stride;
  return out->count > 0 && out->start >= 0 && out->start < width && last >= 0 &&
         last < width;
}

// Which elements an index picks; false if that is not known.
static bool picked(Straight *s, CoreType type, const DimIndex *dims, PlaceVec *out) {
  PlaceVec places = { 0 };
  vec_push(&places, 0);
  for (int d = 0; d < type.rank; d++) {
    int64_t width = type.dims[d].u.constant.u.i;
    PickedRange r;
    if (!constant_range(s, &dims[d], width, &r)) return false;
    PlaceVec next = { 0 };
    vec_each (const int *, place, &places)
      for (int64_t i = 0; i < r.count; i++)
        vec_push(&next, *place * (int)width + (int)(r.start + i * r.stride));
    places = next;
  }
  *out = places;
  return true;
}

static bool index_elements(Straight *s, const Stm *stm) {
  const ArrayParts *of = straight_known(s, stm->exp->u.index.array);
  PlaceVec places;
  if (!of) return false;
  if (!picked(s, of->type, stm->exp->u.index.dims, &places))
    return s->rolls && straight_choose(s, stm, of);
  Atom *at = new_array(Atom, places.count + 1);
  for (int i = 0; i < places.count; i++)
    at[i] = of->at[places.at[i]];
  straight_bind_elements(s, stm->binders[0], at, places.count);
  return true;
}

static bool update_elements(Straight *s, const Stm *stm) {
  Atom array = stm->exp->u.update.array, value = stm->exp->u.update.value;
  PlaceVec places;
  if (!straight_is_small(s, atom_type(array))) return false;
  const ArrayParts *of = straight_elements(s, array);
  if (!picked(s, of->type, stm->exp->u.update.dims, &places))
    return s->rolls && straight_choose(s, stm, of);
  const ArrayParts *with = straight_elements(s, value);
  Atom *at = mem_copy(of->at, (size_t)of->count * sizeof *at);
  for (int i = 0; i < places.count; i++)
    at[places.at[i]] = with->at[i];
  straight_bind_elements(s, stm->binders[0], at, of->count);
  return true;
}

static bool rearrange_elements(Straight *s, const Stm *stm) {
  const ArrayParts *of = straight_known(s, stm->exp->u.rearrange.array);
  if (!of) return false;
  CoreType made = known_type(s, stm->binders[0]->type);
  if (straight_size(made, INT_MAX) != of->count) return false;
  Atom *at = new_array(Atom, of->count), *place = new_array(Atom, made.rank);
  for (int k = 0; k < of->count; k++) {
    place_of(made, k, place);
    int from = 0;
    for (int d = 0; d < made.rank; d++) {
      int i = 0;
      while (stm->exp->u.rearrange.perm[i] != d)
        i++;
      from = from * (int)of->type.dims[d].u.constant.u.i + (int)place[i].u.constant.u.i;
    }
    at[k] = of->at[from];
  }
  straight_bind_elements(s, stm->binders[0], at, of->count);
  return true;
}

static bool same_elements(Straight *s, const Stm *stm, Atom array) {
  const ArrayParts *of = straight_known(s, array);
  if (!of || !straight_is_small(s, stm->binders[0]->type)) return false;
  straight_bind_elements(s, stm->binders[0], of->at, of->count);
  return true;
}

// ---- arrays that are made

static bool joined_elements(Straight *s, const Stm *stm, const Atom *atoms, int count) {
  AtomVec at = { 0 };
  if (!straight_is_small(s, stm->binders[0]->type)) return false;
  for (int i = 0; i < count; i++)
    if (!straight_size(atom_type(atoms[i]), s->most)) return false;
  for (int i = 0; i < count; i++) {
    const ArrayParts *part = straight_elements(s, atoms[i]);
    for (int k = 0; k < part->count; k++)
      vec_push(&at, part->at[k]);
  }
  straight_bind_elements(s, stm->binders[0], at.at, at.count);
  return true;
}

static bool repeated_elements(Straight *s, const Stm *stm) {
  Atom value = stm->exp->u.replicate.value;
  if (!straight_is_small(s, stm->binders[0]->type)) return false;
  int count = (int)stm->binders[0]->type.dims[0].u.constant.u.i;
  Atom *values = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    values[i] = value;
  return joined_elements(s, stm, values, count);
}

static bool numbers(Straight *s, const Stm *stm) {
  int64_t start, step;
  if (!straight_is_small(s, stm->binders[0]->type) || stm->exp->u.iota.type != PRIM_I64 ||
      !known_number(s, stm->exp->u.iota.start, &start) ||
      !known_number(s, stm->exp->u.iota.step, &step))
    return false;
  int count = straight_size(stm->binders[0]->type, s->most);
  Atom *at = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    at[i] = atom_i64(start + i * step);
  straight_bind_elements(s, stm->binders[0], at, count);
  return true;
}

// ---- operators over few elements

static void bind_part(Straight *s, const Var *param, const ArrayParts *of, int i) {
  int size = straight_size(param->type, s->most);
  straight_bind_elements(s, param, of->at + (size_t)i * size, size);
}

static void run(Straight *s, const Lambda *fn) { straight_body(s, fn->body); }

// The elements of the results behind those of before.
static void gather(Straight *s, const Lambda *fn, int from, int count, AtomVec *to) {
  for (int i = 0; i < count; i++) {
    const ArrayParts *part = straight_elements(s, fn->body->results[from + i]);
    for (int k = 0; k < part->count; k++)
      vec_push(&to[i], part->at[k]);
  }
}

static bool is_small_soac(const Straight *s, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  if (soac->width.kind != ATOM_CONST || soac->width.u.constant.u.i < 1 ||
      soac->width.u.constant.u.i > MOST_ROUNDS)
    return false;
  for (int i = 0; i < soac->array_count; i++)
    if (!straight_is_small(s, atom_type(soac->arrays[i]))) return false;
  for (int i = 0; i < stm->binder_count; i++)
    if (!straight_size(stm->binders[i]->type, s->most)) return false;
  return true;
}

// Combines what the operators have so far with what the function has returned.
static void combine(Straight *s, const Soac *soac, AtomVec *values, AtomVec *with) {
  for (int i = 0, at = 0; i < soac->op_count; at += soac->ops[i].count, i++) {
    const RedOp *op = &soac->ops[i];
    for (int k = 0; k < op->count; k++) {
      AtomVec *left = &values[at + k], *right = &with[at + k];
      straight_bind_elements(s, op->op.params[k], left->at, left->count);
      straight_bind_elements(s, op->op.params[op->count + k], right->at, right->count);
    }
    run(s, &op->op);
    for (int k = 0; k < op->count; k++)
      values[at + k] = (AtomVec){ 0 };
    gather(s, &op->op, 0, op->count, values + at);
  }
}

static void begin(Straight *s, const Soac *soac, AtomVec *values) {
  for (int i = 0, at = 0; i < soac->op_count; i++)
    for (int k = 0; k < soac->ops[i].count; k++, at++) {
      const ArrayParts *first = straight_elements(s, soac->ops[i].neutral[k]);
      for (int e = 0; e < first->count; e++)
        vec_push(&values[at], first->at[e]);
    }
}

static void add_all(AtomVec *to, const AtomVec *values) {
  vec_each (const Atom *, a, values)
    vec_push(to, *a);
}

static bool soac_elements(Straight *s, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  if (!is_small_soac(s, stm) || (s->rolls && !straight_mentions_parts(s, stm)))
    return false;
  int combined = soac_red_count(soac), count = stm->binder_count;
  AtomVec *made = new_array(AtomVec, count + 1), *values = new_array(AtomVec, count + 1);
  begin(s, soac, values);
  for (int i = 0; i < (int)soac->width.u.constant.u.i && *s->budget >= 0; i++) {
    AtomVec *with = new_array(AtomVec, count + 1);
    for (int k = 0; k < soac->array_count; k++)
      bind_part(s, soac->fn.params[k], straight_elements(s, soac->arrays[k]), i);
    run(s, &soac->fn);
    gather(s, &soac->fn, 0, combined, with);
    gather(s, &soac->fn, combined, count - combined, made + combined);
    combine(s, soac, values, with);
    for (int k = 0; k < combined && stm->exp->kind == EXP_SCANOMAP; k++)
      add_all(&made[k], &values[k]);
  }
  for (int k = 0; k < combined && stm->exp->kind == EXP_REDOMAP; k++)
    made[k] = values[k];
  for (int i = 0; i < count && *s->budget >= 0; i++)
    straight_bind_elements(s, stm->binders[i], made[i].at, made[i].count);
  return true;
}

// ---- branches and loops

void straight_add_parts(Straight *s, CoreType type, Atom result, AtomVec *out) {
  bool small = straight_is_small(s, type);
  if (small != straight_is_small(s, atom_type(result))) *s->budget = -1;
  if (!small || *s->budget < 0) {
    vec_push(out, straight_whole(s, result));
    return;
  }
  const ArrayParts *parts = straight_elements(s, result);
  for (int k = 0; k < parts->count; k++)
    vec_push(out, parts->at[k]);
}

static const Body *straight_branch(const Straight *s, const Stm *stm, const Body *body) {
  Builder b = builder_new(s->c, s->b->loc);
  Straight inner = straight_inner(s, &b);
  AtomVec out = { 0 };
  straight_body(&inner, body);
  for (int i = 0; i < body->result_count; i++)
    straight_add_parts(&inner, stm->binders[i]->type, body->results[i], &out);
  return core_body(&b, out.at, out.count);
}

void straight_bind_parts(Straight *s, const Var *const *binders, int count,
                         const Atom *at) {
  if (*s->budget < 0) return;
  for (int i = 0; i < count; i++) {
    int size = straight_is_small(s, binders[i]->type)
                   ? straight_size(binders[i]->type, s->most)
                   : 1;
    if (straight_is_small(s, binders[i]->type))
      straight_bind_elements(s, binders[i], at, size);
    else
      straight_bind(s, binders[i], at[0]);
    at += size;
  }
}

// A branch that is known to be taken.
static void taken_branch(Straight *s, const Stm *stm, const Body *body) {
  AtomVec out = { 0 };
  straight_body(s, body);
  for (int i = 0; i < body->result_count; i++)
    straight_add_parts(s, stm->binders[i]->type, body->results[i], &out);
  straight_bind_parts(s, stm->binders, stm->binder_count, out.at);
}

// The branch with those results alone that differ between the two: others come from outside.
static const Body *differing_results(const Body *body, const Body *other) {
  AtomVec results = { 0 };
  for (int i = 0; i < body->result_count; i++)
    if (!atom_equal(body->results[i], other->results[i]))
      vec_push(&results, body->results[i]);
  return new_node(Body, .stms = body->stms, .stm_count = body->stm_count,
                  .results = results.at, .result_count = results.count);
}

static bool branch_elements(Straight *s, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (!straight_size(stm->binders[i]->type, s->most)) return false;
  Atom condition = straight_whole(s, stm->exp->u.cond.condition);
  if (condition.kind == ATOM_CONST) {
    taken_branch(s, stm,
                 condition.u.constant.u.i ? stm->exp->u.cond.then_body
                                          : stm->exp->u.cond.else_body);
    return true;
  }
  const Body *then_body = straight_branch(s, stm, stm->exp->u.cond.then_body),
             *else_body = straight_branch(s, stm, stm->exp->u.cond.else_body);
  if (*s->budget < 0) return true;
  int count = then_body->result_count;
  Atom *chosen = new_array(Atom, count + 1), *out = new_array(Atom, count + 1);
  core_let_n(s->b, "chosen",
             exp_if(condition, differing_results(then_body, else_body),
                    differing_results(else_body, then_body)),
             chosen);
  for (int i = 0, at = 0; i < count; i++)
    out[i] = atom_equal(then_body->results[i], else_body->results[i])
                 ? then_body->results[i]
                 : chosen[at++];
  straight_bind_parts(s, stm->binders, stm->binder_count, out);
  return true;
}

// A loop of few rounds, one after the other.
static bool loop_elements(Straight *s, const Stm *stm) {
  const Exp *e = stm->exp;
  int64_t bound;
  if (e->u.loop.form != CORE_FOR || !known_number(s, e->u.loop.bound, &bound) ||
      bound > MOST_ROUNDS || (s->rolls && !straight_mentions_parts(s, stm)))
    return false;
  int count = e->u.loop.param_count;
  for (int i = 0; i < count; i++)
    if (!straight_size(e->u.loop.params[i]->type, s->most)) return false;
  AtomVec now = { 0 };
  for (int i = 0; i < count; i++)
    straight_add_parts(s, e->u.loop.params[i]->type, e->u.loop.inits[i], &now);
  for (int64_t round = 0; round < bound && *s->budget >= 0; round++) {
    straight_bind_parts(s, e->u.loop.params, count, now.at);
    straight_bind(s, e->u.loop.index, atom_i64(round));
    straight_body(s, e->u.loop.body);
    now = (AtomVec){ 0 };
    for (int i = 0; i < count; i++)
      straight_add_parts(s, e->u.loop.params[i]->type, e->u.loop.body->results[i], &now);
  }
  straight_bind_parts(s, stm->binders, count, now.at);
  return true;
}

// ---- statements

static bool take_apart(Straight *s, const Stm *stm) {
  const Exp *e = stm->exp;
  switch (e->kind) {
  case EXP_ATOM:
  case EXP_COPY: return same_elements(s, stm, e->u.atom.atom);
  case EXP_RESHAPE: return same_elements(s, stm, e->u.reshape.array);
  case EXP_INDEX: return index_elements(s, stm);
  case EXP_UPDATE: return update_elements(s, stm);
  case EXP_IOTA: return numbers(s, stm);
  case EXP_REPLICATE: return repeated_elements(s, stm);
  case EXP_REARRANGE: return rearrange_elements(s, stm);
  case EXP_CONCAT:
    return joined_elements(s, stm, e->u.concat.arrays, e->u.concat.array_count);
  case EXP_ARRAY: return joined_elements(s, stm, e->u.array.atoms, e->u.array.count);
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP: return soac_elements(s, stm);
  case EXP_IF: return branch_elements(s, stm);
  case EXP_LOOP: return loop_elements(s, stm);
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_ASSERT: return s->rolls && straight_fold(s, stm);
  case EXP_BITS:
  case EXP_ROTATE:
  case EXP_CALL:
  case EXP_CHOOSE:
  case EXP_SCATTER:
  case EXP_HIST:
  case EXP_FILTER:
  case EXP_SEG:
  case EXP_GUARD:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER: return false;
  }
  return false;
}

void straight_body(Straight *s, const Body *body) {
  for (int i = 0; i < body->stm_count && *s->budget >= 0; i++) {
    s->b->loc = body->stms[i].loc;
    if (!take_apart(s, &body->stms[i])) keep_stm(s, &body->stms[i]);
  }
}
