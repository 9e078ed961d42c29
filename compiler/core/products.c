// let c = map n (\x -> map m (\y -> {f x y}) ys) xs   in .. c[i, j] ..
//   =>  .. f xs[i] ys[j] ..
//   where c is read element by element, and what f reads has fewer dimensions than c
//
// Needs: Core, fused; binders unique.  Keeps: both.
// Why: such an array is as large as a product of others, and memory is slower than to multiply
// again.  Adjoints of convolutions are sums of products along diagonals.
//
// What an outer function computes is one more result of the maps up to there (map_nest.h).
#include "core/map_nest.h"
#include "core/passes.h"

enum { MOST_STATEMENTS = 8 };  // of f: each costs less than to store and to load

typedef struct ProductReads {
  int mentions, elements;
} ProductReads;

typedef struct Products {
  Compiler *c;
  Map *reads;               // Var -> ProductReads *
  Map *nests;               // Var -> MapNest *: those that are read so
  Vec(Builder *) builders;  // of the bodies around, outermost first
  bool changed;
} Products;

// ---- who reads elements

static ProductReads *product_reads(const Products *p, const Var *var) {
  ProductReads *reads = map_get(p->reads, var);
  if (reads) return reads;
  reads = mem_alloc(sizeof *reads);
  map_put(p->reads, var, reads);
  return reads;
}

static bool reads_element(const Exp *e) {
  if (e->kind != EXP_INDEX || e->u.index.checked || e->u.index.dim_count < 2)
    return false;
  for (int d = 0; d < e->u.index.dim_count; d++)
    if (e->u.index.dims[d].is_slice) return false;
  return true;
}

static void note_mention(CoreVisitor *v, Atom a) {
  if (a.kind == ATOM_VAR && a.u.var->type.rank > 1)
    product_reads(v->state, a.u.var)->mentions++;
}

static void note_reads(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (reads_element(e)) product_reads(v->state, e->u.index.array.u.var)->elements++;
    core_visit_stm(v, &body->stms[i]);
  }
  for (int i = 0; i < body->result_count; i++)
    note_mention(v, body->results[i]);
}

// ---- the nest that is read

static Stm *made_by(const Products *p, const Var *array) {
  for (int i = p->builders.count - 1; i >= 0; i--) {
    Builder *b = p->builders.at[i];
    for (int k = b->stms.count - 1; k >= 0; k--)
      if (nest_binder(&b->stms.at[k], array) >= 0) return &b->stms.at[k];
  }
  return NULL;
}

static bool is_outer_product(const MapNest *n) {
  if (n->fails || n->slice.count > MOST_STATEMENTS) return false;
  vec_each (const Stm *, stm, &n->slice)
    if (!exp_is_cheap(stm->exp) || exp_may_fail(stm->exp)) return false;
  vec_each (const NestInput *, in, &n->inputs)
    if (in->count >= n->rank) return false;
  return true;
}

// NULL: none, or not worth it.  The statement that makes the array returns what is lifted.
static const MapNest *nest_of(Products *p, const Var *array) {
  const MapNest *known = map_get(p->nests, array);
  const ProductReads *reads = product_reads(p, array);
  if (known || reads->mentions > reads->elements) return known;
  Stm *stm = made_by(p, array);
  if (!stm || stm->exp->kind != EXP_MAP) return NULL;
  MapNest n = nest_new(p->c, array->type.rank);
  const Stm *old = mem_copy(stm, sizeof *stm);
  if (!nest_find(&n, old, array)) return NULL;
  nest_need(&n, n.result);
  if (!is_outer_product(&n)) return NULL;
  if (n.lifted.count) *stm = nest_with_lifted(&n, old, 0);
  map_put(p->nests, array, mem_copy(&n, sizeof n));
  return map_get(p->nests, array);
}

// ---- reading what it is made of

static Atom input_at(Builder *b, const NestInput *in, const DimIndex *dims) {
  Atom *places = new_array(Atom, in->count);
  for (int k = 0; k < in->count; k++)
    places[k] = dims[in->levels[k]].start;
  return core_let(b, in->scalar->name, exp_index(in->array, places, in->count, false));
}

static const Exp *product_element(Builder *b, const MapNest *n, const DimIndex *dims) {
  Atom *now = new_array(Atom, n->inputs.count);
  for (int i = 0; i < n->inputs.count; i++)
    now[i] = input_at(b, &n->inputs.at[i], dims);
  return exp_atom(nest_apply(n, b, now));
}

static const Body *products_in(CoreMapper *m, const Body *body) {
  Products *p = m->state;
  Builder b = builder_new(p->c, (Loc){ 0 });
  vec_push(&p->builders, &b);
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    const MapNest *n =
        reads_element(stm.exp) ? nest_of(p, stm.exp->u.index.array.u.var) : NULL;
    stm.exp =
        n ? product_element(&b, n, stm.exp->u.index.dims) : core_map_exp(m, stm.exp);
    p->changed |= n != NULL;
    core_add_stm(&b, stm);
  }
  p->builders.count--;
  return core_body(&b, body->results, body->result_count);
}

static const Body *read_products(Compiler *c, const Body *body) {
  Products p = { .c = c, .reads = map_new(NULL), .nests = map_new(NULL) };
  CoreVisitor v = { .atom = note_mention, .body = note_reads, .state = &p };
  note_reads(&v, body);
  CoreMapper m = { .body = products_in, .state = &p };
  const Body *changed = products_in(&m, body);
  return p.changed ? changed : body;
}

const Core *products(Compiler *c, const Core *core) {
  const Core *read = core_map_bodies(c, core, read_products);
  if (core_same_bodies(core, read)) return core;
  return cse(c, hoist(c, simplify(c, dead(c, read))));
}
