// let r = map (\x -> e) xs   =>   the element r[j]: let x = xs[j] in e
#include "flat/elements.h"
#include "core/passes.h"
#include "flat/flat.h"

enum {
  MOST_WORK = 48,     // of what is done for an element, in statements
  MOST_PARTS = 4,     // of rows that are written out or put together
  MOST_LOOKUPS = 64,  // for an element: arrays made of themselves, and again, have no end
};

typedef struct Def {
  const Exp *exp;
  int k;  // which of its results
} Def;

// The same in another place.
static Element element_in(const Element *s, Builder *b) {
  Element inner = *s;
  inner.b = b;
  inner.fails = false;
  return inner;
}

static void note_defs(Map *defs, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      map_put(defs, body->stms[i].binders[k],
              new_node(Def, .exp = body->stms[i].exp, .k = k));
}

static const Def *def_of(const Element *s, Atom a) {
  return a.kind == ATOM_VAR ? map_get(s->defs, a.u.var) : NULL;
}

// Does it lie in memory that others have written?
static bool is_view(const Element *s, Atom a) {
  const Def *def = def_of(s, a);
  if (!def) return a.kind == ATOM_VAR;
  if (def->exp->kind == EXP_INDEX) return is_view(s, def->exp->u.index.array);
  if (def->exp->kind == EXP_REARRANGE) return is_view(s, def->exp->u.rearrange.array);
  return def->exp->kind == EXP_ATOM && is_view(s, def->exp->u.atom.atom);
}

// ---- elements: of arrays, at an index per dimension

static Atom no_element(Element *s) {
  s->fails = true;
  return atom_i64(0);
}

static Atom element_of_iota(Element *s, const Exp *e, const Atom *at) {
  if (!prim_is_int(e->u.iota.type)) return no_element(s);
  Atom i = core_let(s->b, "i", exp_convert(e->u.iota.type, at[0]));
  Atom scaled = core_let(s->b, "scaled", exp_op2(OP_MUL, i, e->u.iota.step));
  return core_let(s->b, "element", exp_op2(OP_ADD, e->u.iota.start, scaled));
}

// The element in a branch of its own, behind what its builder has.
static const Body *element_branch(Element *s, Builder *b, Atom array, const Atom *at) {
  Element inner = element_in(s, b);
  Atom result = flat_element_at(&inner, array, at);
  s->fails |= inner.fails;
  return core_body(b, &result, 1);
}

static Atom element_if(Element *s, Atom condition, const Body *yes, const Body *no) {
  return s->fails ? no_element(s) : core_let(s->b, "element", exp_if(condition, yes, no));
}

// if i < size of the first { first[i] } else { those behind it [i - size] }
static Atom element_of_concat(Element *s, const Atom *arrays, int count, const Atom *at) {
  if (count == 1) return flat_element_at(s, arrays[0], at);
  Atom size = atom_type(arrays[0]).dims[0];
  Atom in_first = core_let(s->b, "first", exp_op2(OP_LT, at[0], size));
  Builder first = builder_new(s->c, s->b->loc), others = first;
  const Body *yes = element_branch(s, &first, arrays[0], at);
  int rank = atom_type(arrays[0]).rank;
  Atom *behind = mem_copy(at, sizeof *at * (size_t)rank);
  behind[0] = size_sub(&others, at[0], size);
  Element inner = element_in(s, &others);
  Atom rest = element_of_concat(&inner, arrays + 1, count - 1, behind);
  s->fails |= inner.fails;
  return element_if(s, in_first, yes, core_body(&others, &rest, 1));
}

// if i == 0 { a } else { if i == 1 { b } else { c } }
static Atom element_of_literal(Element *s, const Atom *atoms, int count, int i,
                               const Atom *at) {
  if (i == count - 1) return flat_element_at(s, atoms[i], at + 1);
  Atom here = core_let(s->b, "here", exp_op2(OP_EQ, at[0], atom_i64(i)));
  Builder one = builder_new(s->c, s->b->loc), others = one;
  const Body *yes = element_branch(s, &one, atoms[i], at + 1);
  Element inner = element_in(s, &others);
  Atom rest = element_of_literal(&inner, atoms, count, i + 1, at);
  s->fails |= inner.fails;
  return element_if(s, here, yes, core_body(&others, &rest, 1));
}

// A branch with the element in the place of result number k.
static const Body *branch_with_element(Element *s, const Body *body, int k,
                                       const Atom *at) {
  note_defs(s->defs, body);
  Builder b = builder_new(s->c, s->b->loc);
  core_add_body(&b, body);
  return core_rename_body(s->c, subst_new(), element_branch(s, &b, body->results[k], at));
}

static Atom element_of_if(Element *s, const Exp *e, int k, const Atom *at) {
  const Body *yes = branch_with_element(s, e->u.cond.then_body, k, at);
  const Body *no = branch_with_element(s, e->u.cond.else_body, k, at);
  return element_if(s, e->u.cond.condition, yes, no);
}

// What the function of a map takes: elements, or rows as they lie.
static Atom argument_at(Element *s, Atom array, const Atom *at) {
  if (atom_type(array).rank > 1 && !is_view(s, array)) return no_element(s);
  return is_view(s, array) ? core_let(s->b, "x", exp_index(array, at, 1, false))
                           : flat_element_at(s, array, at);
}

static void note_own(Element *s, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      map_put(s->own, body->stms[i].binders[k], body->stms[i].binders[k]);
}

static Atom element_of_map(Element *s, const Soac *map, int k, const Atom *at) {
  Subst *subst = subst_new();
  for (int i = 0; i < map->array_count; i++)
    subst_put(subst, map->fn.params[i], argument_at(s, map->arrays[i], at));
  if (s->fails) return no_element(s);
  const Body *body = core_rename_body(s->c, subst, map->fn.body);
  note_defs(s->defs, body);
  note_own(s, body);
  core_add_body(s->b, body);
  return flat_element_at(s, body->results[k], at + 1);
}

// assert c {array}  =>  assert c {element}
static Atom element_of_assert(Element *s, const Exp *e, int k, const Atom *at) {
  Atom element = flat_element_at(s, e->u.assert.atoms[k], at);
  if (s->fails) return no_element(s);
  Exp *one = mem_copy(e, sizeof *e);
  one->u.assert.atoms = mem_copy(&element, sizeof element);
  one->u.assert.atom_count = 1;
  return core_let(s->b, "element", one);
}

static Atom element_of_rearrange(Element *s, const Exp *e, const Atom *at) {
  Atom *moved = new_array(Atom, e->u.rearrange.rank);
  for (int i = 0; i < e->u.rearrange.rank; i++)
    moved[e->u.rearrange.perm[i]] = at[i];
  return flat_element_at(s, e->u.rearrange.array, moved);
}

// Of a part of an array that the body makes.
static Atom element_of_part(Element *s, const Exp *e, const Atom *at) {
  if (e->u.index.checked) return no_element(s);
  Atom *all = new_array(Atom, e->u.index.dim_count);
  for (int i = 0, next = 0; i < e->u.index.dim_count; i++) {
    const DimIndex *dim = &e->u.index.dims[i];
    all[i] = dim->start;
    if (dim->is_slice)
      all[i] = size_add(s->b, dim->start, size_mul(s->b, at[next++], dim->stride));
  }
  return flat_element_at(s, e->u.index.array, all);
}

static Atom element_of_reshape(Element *s, const Exp *e, const Atom *at) {
  bool same = e->u.reshape.rank == 1 && atom_type(e->u.reshape.array).rank == 1;
  return same ? flat_element_at(s, e->u.reshape.array, at) : no_element(s);
}

static bool is_of_parts(const Exp *e, ExpKind kind, int count) {
  return e->kind == kind && count > 0 && count <= MOST_PARTS;
}

static Atom element_of_def(Element *s, const Def *def, const Atom *at) {
  const Exp *e = def->exp;
  if (e->kind == EXP_ATOM || e->kind == EXP_COPY)
    return flat_element_at(s, e->u.atom.atom, at);
  if (e->kind == EXP_REPLICATE) return flat_element_at(s, e->u.replicate.value, at + 1);
  if (e->kind == EXP_IOTA) return element_of_iota(s, e, at);
  if (is_of_parts(e, EXP_ARRAY, e->u.array.count))
    return element_of_literal(s, e->u.array.atoms, e->u.array.count, 0, at);
  if (is_of_parts(e, EXP_CONCAT, e->u.concat.array_count))
    return element_of_concat(s, e->u.concat.arrays, e->u.concat.array_count, at);
  if (e->kind == EXP_REARRANGE) return element_of_rearrange(s, e, at);
  if (e->kind == EXP_INDEX) return element_of_part(s, e, at);
  if (e->kind == EXP_RESHAPE) return element_of_reshape(s, e, at);
  if (e->kind == EXP_IF) return element_of_if(s, e, def->k, at);
  if (e->kind == EXP_MAP) return element_of_map(s, &e->u.soac, def->k, at);
  if (e->kind == EXP_ASSERT) return element_of_assert(s, e, def->k, at);
  return no_element(s);
}

Atom flat_element_at(Element *s, Atom array, const Atom *at) {
  int rank = atom_type(array).rank;
  if (s->fails || ++*s->lookups > MOST_LOOKUPS) return no_element(s);
  if (rank == 0) return array;
  if (is_view(s, array))
    return core_let(s->b, "element", exp_index(array, at, rank, false));
  const Def *def = def_of(s, array);
  return def ? element_of_def(s, def, at) : no_element(s);
}

// ---- work

static void find_arrays(CoreVisitor *v, const Body *body) {
  bool *found = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    ExpKind kind = stm->exp->kind;
    for (int k = 0; k < stm->binder_count; k++)
      *found |= stm->binders[k]->type.rank > 0 && kind != EXP_INDEX &&
                kind != EXP_REARRANGE && kind != EXP_ATOM;
  }
  core_visit_body(v, body);
}

static bool makes_arrays(const Body *body) {
  bool found = false;
  CoreVisitor v = { .body = find_arrays, .state = &found };
  find_arrays(&v, body);
  return found;
}

bool flat_element_repeats_little(const Element *s, const Body *body) {
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++)
    if (!map_has(s->own, body->stms[i].binders[0])) core_add_stm(&b, body->stms[i]);
  return !makes_arrays(body) && flat_takes_little(core_body(&b, NULL, 0), MOST_WORK);
}

Element flat_element_new(Compiler *c, Builder *b, int *lookups) {
  return (Element){ c, map_new(NULL), map_new(NULL), b, false, lookups };
}

void flat_element_body(Element *s, const Body *body) {
  note_defs(s->defs, body);
  core_add_body(s->b, body);
}
