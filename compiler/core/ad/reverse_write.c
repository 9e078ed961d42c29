// Scatter, histograms and filter.
//
//   ys = scatter d is vs          =>  vs^[i] += ys^[is[i]], for one of those with equal is[i]
//                                     d^ += ys^ with zeros at is
//   ys = hist d (+) is vs         =>  vs^[i] += ys^[is[i]]   d^ += ys^
//   ys = hist d max is vs         =>  likewise for those that became the result
//   ys = hist d (*) is vs         =>  times the product of the others
//   n, ys = filter p xs           =>  xs^ += scatter zeros (places of what was kept) ys^
#include "core/ad/reverse.h"

// ---- reading at indices

static Atom within_bounds(Builder *b, CoreType type, const Atom *indices, int count) {
  Atom inside = atom_bool(true);
  for (int d = 0; d < count; d++) {
    Atom low = ad_op2(b, OP_LE, atom_i64(0), indices[d]);
    Atom high = ad_op2(b, OP_LT, indices[d], type.dims[d]);
    Atom both = ad_op2(b, OP_LAND, low, high);
    inside = d ? ad_op2(b, OP_LAND, inside, both) : both;
  }
  return inside;
}

// array[indices], zeros outside.
static Atom element(Builder *b, Atom array, const Atom *indices, int count) {
  CoreType type = atom_type(array);
  Builder yes = builder_new(b->c, b->loc), no = builder_new(b->c, b->loc);
  Atom there = core_let(&yes, "there", exp_index(array, indices, count, false));
  Atom zeros = ad_zeros(&no, type_peel(type, count));
  Atom inside = within_bounds(b, type, indices, count);
  return core_let(b, "element",
                  exp_if(inside, core_body(&yes, &there, 1), core_body(&no, &zeros, 1)));
}

// The elements at arrays of indices.
static Atom gather(Builder *b, Atom array, const Atom *indices, int count) {
  AdLambda l = ad_lambda(b);
  Atom *at = new_array(Atom, count);
  for (int d = 0; d < count; d++)
    at[d] = ad_param(&l, "i", type_scalar(PRIM_I64));
  Atom found = element(&l.b, array, at, count);
  Lambda fn = ad_lambda_end(&l, &found, 1);
  return core_let(b, "gathered", exp_map(ad_length(indices[0]), fn, indices, count));
}

// ---- scatter

// \indices value -> indices value
static Lambda same(Builder *b, const Atom *arrays, int count) {
  AdLambda l = ad_lambda(b);
  Atom *results = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    results[i] = ad_param(&l, "x", type_row(atom_type(arrays[i])));
  return ad_lambda_end(&l, results, count);
}

// dest with [indices] = values; the values are the last of the arrays.
static Atom scatter(Builder *b, Atom dest, const Atom *arrays, int count) {
  ScatterDest to = { dest, count - 1, false, false, false };
  const Exp *exp =
      new_node(Exp, .kind = EXP_SCATTER,
               .u.scatter = { .width = ad_length(arrays[0]),
                              .fn = same(b, arrays, count),
                              .arrays = mem_copy(arrays, sizeof *arrays * (size_t)count),
                              .array_count = count,
                              .dests = mem_copy(&to, sizeof to),
                              .dest_count = 1 });
  return core_let(b, "scattered", exp);
}

static bool may_write_twice(const Reverse *r, const ScatterDest *dest,
                            const Atom *indices) {
  if (dest->inside || dest->ascending) return false;
  for (int d = 0; d < dest->index_count; d++)
    if (reverse_is_distinct(r, indices[d])) return false;
  return true;
}

// indices[0], with -1 for all but one of the values that are written to the same place: they are
// equal, and the adjoint of the place is that of one of them.
static Atom of_one_each(Builder *b, Atom dest, const Atom *indices, int count) {
  CoreType places_of = atom_type(dest);
  places_of.elem = PRIM_I64;
  places_of.rank = count;
  Atom *arrays = new_array(Atom, count + 1);
  for (int d = 0; d < count; d++)
    arrays[d] = indices[d];
  Atom places = ad_iota(b, ad_length(indices[0]));
  arrays[count] = places;
  Atom stay = scatter(b, ad_zeros(b, places_of), arrays, count + 1);
  stay = gather(b, stay, indices, count);
  AdLambda l = ad_lambda(b);
  Atom i = ad_param(&l, "i", type_scalar(PRIM_I64));
  Atom place = ad_param(&l, "place", type_scalar(PRIM_I64));
  Atom one = ad_param(&l, "one", type_scalar(PRIM_I64));
  Atom stays = ad_op2(&l.b, OP_EQ, place, one);
  Atom to = ad_select(&l.b, stays, i, atom_i64(-1));
  Lambda fn = ad_lambda_end(&l, &to, 1);
  Atom from[] = { indices[0], places, stay };
  return core_let(b, "once", exp_map(ad_length(indices[0]), fn, from, 3));
}

void reverse_scatter(Reverse *r, const Stm *stm) {
  const Exp *e = stm->exp;
  Builder *b = r->scope->b;
  Atom adjoint = *reverse_adjoint(r, stm->binders[0]);
  const ScatterDest *dest = &e->u.scatter.dests[0];
  int indices = dest->index_count;
  Atom *arrays = mem_copy(e->u.scatter.arrays, sizeof(Atom) * (size_t)(indices + 1));
  Atom values = arrays[indices];
  if (reverse_is_active(r, values)) {
    Atom all = arrays[0];
    if (may_write_twice(r, dest, arrays))
      arrays[0] = of_one_each(b, dest->dest, arrays, indices);
    reverse_add(r, values, gather(b, adjoint, arrays, indices));
    arrays[0] = all;
  }
  if (!reverse_is_active(r, e->u.scatter.dests[0].dest)) return;
  arrays[indices] = ad_zeros(b, atom_type(values));
  reverse_add(r, e->u.scatter.dests[0].dest, scatter(b, adjoint, arrays, indices + 1));
}

// ---- histograms

typedef struct HistRule {
  Builder *b;
  Atom dest, indices, values, result, adjoint;
  PrimType elem;
} HistRule;

static Atom hist(const HistRule *h, PrimOp op, Prim neutral, Atom dest, Atom values) {
  Atom arrays[2] = { h->indices, values };
  HistOp *to = new_node(HistOp, .dests = mem_copy(&dest, sizeof dest),
                        .width = ad_length(dest), .op = ad_red_op(h->b, op, neutral));
  const Exp *exp = new_node(Exp, .kind = EXP_HIST,
                            .u.hist = { .width = ad_length(values),
                                        .fn = same(h->b, arrays, 2),
                                        .arrays = mem_copy(arrays, sizeof arrays),
                                        .array_count = 2,
                                        .ops = to,
                                        .op_count = 1 });
  return core_let(h->b, "histogram", exp);
}

static void add_sum(Reverse *r, const HistRule *h) {
  reverse_add(r, h->dest, h->adjoint);
  if (reverse_is_active(r, h->values))
    reverse_add(r, h->values, gather(h->b, h->adjoint, &h->indices, 1));
}

// For each bin the first value that became its result; none (the number of values) if it is the one
// that was there before.
static Atom winners(const HistRule *h) {
  Builder *b = h->b;
  Atom count = ad_length(h->values), places = ad_iota(b, count);
  AdLambda l = ad_lambda(b);
  Atom i = ad_param(&l, "i", type_scalar(PRIM_I64));
  Atom bin = ad_param(&l, "bin", type_scalar(PRIM_I64));
  Atom v = ad_param(&l, "v", type_scalar(h->elem));
  Atom result = element(&l.b, h->result, &bin, 1),
       before = element(&l.b, h->dest, &bin, 1);
  Atom is_result = ad_op2(&l.b, OP_EQ, v, result);
  Atom is_new = ad_op2(&l.b, OP_NE, before, result);
  Atom wins = ad_op2(&l.b, OP_LAND, is_result, is_new);
  Atom place = ad_select(&l.b, wins, i, count);
  Lambda fn = ad_lambda_end(&l, &place, 1);
  Atom candidates = core_let(
      b, "candidates", exp_map(count, fn, (Atom[]){ places, h->indices, h->values }, 3));
  Atom none = core_let(b, "none", exp_replicate(ad_length(h->dest), count));
  return hist(h, OP_MIN, prim_highest(PRIM_I64), none, candidates);
}

static Atom won_by_value(const HistRule *h, Atom winner) {
  Builder *b = h->b;
  Atom count = ad_length(h->values), places = ad_iota(b, count);
  AdLambda l = ad_lambda(b);
  Atom i = ad_param(&l, "i", type_scalar(PRIM_I64));
  Atom bin = ad_param(&l, "bin", type_scalar(PRIM_I64));
  Atom inside = within_bounds(&l.b, atom_type(winner), &bin, 1);
  Atom wins = ad_op2(&l.b, OP_EQ, i, element(&l.b, winner, &bin, 1));
  Atom counts = ad_op2(&l.b, OP_LAND, inside, wins);
  Atom adjoint = element(&l.b, h->adjoint, &bin, 1);
  Atom part = ad_select(&l.b, counts, adjoint, ad_number(h->elem, 0));
  Lambda fn = ad_lambda_end(&l, &part, 1);
  return core_let(b, "parts", exp_map(count, fn, (Atom[]){ places, h->indices }, 2));
}

static Atom won_by_dest(const HistRule *h) {
  AdLambda l = ad_lambda(h->b);
  Atom before = ad_param(&l, "before", type_scalar(h->elem));
  Atom after = ad_param(&l, "after", type_scalar(h->elem));
  Atom adjoint = ad_param(&l, "adjoint", type_scalar(h->elem));
  Atom stayed = ad_op2(&l.b, OP_EQ, before, after);
  Atom part = ad_select(&l.b, stayed, adjoint, ad_number(h->elem, 0));
  Lambda fn = ad_lambda_end(&l, &part, 1);
  return core_let(
      h->b, "parts",
      exp_map(ad_length(h->dest), fn, (Atom[]){ h->dest, h->result, h->adjoint }, 3));
}

static void add_extremum(Reverse *r, const HistRule *h) {
  if (reverse_is_active(r, h->dest)) reverse_add(r, h->dest, won_by_dest(h));
  if (reverse_is_active(r, h->values))
    reverse_add(r, h->values, won_by_value(h, winners(h)));
}

// ---- products

// What there is of each product: how many zeros, the product without them, and their sum
// (ad_product_of_others).
enum { ZEROS, PRODUCT, SUM, FACTS };

// \x -> (0, x, 0), or, if x is zero, (1, 1, x)
static void split_zeros(const HistRule *h, Atom array, Atom *out) {
  AdLambda l = ad_lambda(h->b);
  Atom x = ad_param(&l, "x", type_scalar(h->elem)), none = ad_number(h->elem, 0);
  Atom is_zero = ad_op2(&l.b, OP_EQ, x, none);
  AtomVec results = { 0 }, arrays = { 0 };
  vec_push(&results, ad_select(&l.b, is_zero, atom_i64(1), atom_i64(0)));
  vec_push(&results, ad_select(&l.b, is_zero, ad_number(h->elem, 1), x));
  vec_push(&results, ad_select(&l.b, is_zero, x, none));
  vec_push(&arrays, array);
  ad_map(h->b, &l, &results, &arrays, out);
}

// adjoint * the product of the others, for each x of the array; the rest is per element, too.
static Atom product_parts(const HistRule *h, Atom array, const Atom *facts,
                          Atom adjoint) {
  AdLambda l = ad_lambda(h->b);
  Atom x = ad_param(&l, "x", type_scalar(h->elem));
  Atom n = ad_param(&l, "n", type_scalar(PRIM_I64));
  Atom p = ad_param(&l, "p", type_scalar(h->elem));
  Atom sum = ad_param(&l, "sum", type_scalar(h->elem));
  Atom a = ad_param(&l, "a", type_scalar(h->elem));
  Atom part = ad_op2(&l.b, OP_MUL, a, ad_product_of_others(&l.b, x, n, p, sum));
  Lambda fn = ad_lambda_end(&l, &part, 1);
  Atom arrays[] = { array, facts[ZEROS], facts[PRODUCT], facts[SUM], adjoint };
  return core_let(h->b, "parts", exp_map(ad_length(array), fn, arrays, 5));
}

static void add_product(Reverse *r, const HistRule *h) {
  Builder *b = h->b;
  Atom of_dest[FACTS], of_values[FACTS];
  split_zeros(h, h->dest, of_dest);
  split_zeros(h, h->values, of_values);
  Prim one = prim_one(h->elem), none = prim_zero(h->elem);
  Atom facts[] = { hist(h, OP_ADD, prim_i64(0), of_dest[ZEROS], of_values[ZEROS]),
                   hist(h, OP_MUL, one, of_dest[PRODUCT], of_values[PRODUCT]),
                   hist(h, OP_ADD, none, of_dest[SUM], of_values[SUM]) };
  if (reverse_is_active(r, h->dest))
    reverse_add(r, h->dest, product_parts(h, h->dest, facts, h->adjoint));
  if (!reverse_is_active(r, h->values)) return;
  for (int i = 0; i < FACTS; i++)
    facts[i] = gather(b, facts[i], &h->indices, 1);
  Atom a = gather(b, h->adjoint, &h->indices, 1);
  reverse_add(r, h->values, product_parts(h, h->values, facts, a));
}

void reverse_hist(Reverse *r, const Stm *stm) {
  const Exp *e = stm->exp;
  const HistOp *op = &e->u.hist.ops[0];
  HistRule h = { .b = r->scope->b,
                 .dest = op->dests[0],
                 .indices = e->u.hist.arrays[0],
                 .values = e->u.hist.arrays[1],
                 .result = atom_var(stm->binders[0]),
                 .adjoint = *reverse_adjoint(r, stm->binders[0]) };
  h.elem = atom_type(h.dest).elem;
  PrimOp by = OP_ADD;
  ad_is_op(&op->op.op, &by);
  if (by == OP_ADD)
    add_sum(r, &h);
  else if (by == OP_MUL)
    add_product(r, &h);
  else
    add_extremum(r, &h);
}

// ---- filter

// Adds the filter, which keeps the places of the elements, too.
Kept reverse_keep_filter(Reverse *r, const Stm *stm) {
  Builder *b = r->scope->b;
  Soac soac = stm->exp->u.soac;
  int count = soac.array_count;
  VarVec params = { 0 }, binders = { 0 };
  AtomVec arrays = { 0 }, results = { 0 };
  for (int i = 0; i < count; i++) {
    vec_push(&params, soac.fn.params[i]);
    vec_push(&arrays, soac.arrays[i]);
  }
  vec_push(&arrays, ad_iota(b, soac.width));
  Name name = name_of(r->c->names, "place");
  vec_push(&params, var_new(r->c, name, type_scalar(PRIM_I64), stm->loc));
  for (int i = 0; i < stm->binder_count; i++) {
    vec_push(&results, soac.fn.body->results[i]);
    vec_push(&binders, stm->binders[i]);
  }
  vec_push(&results, atom_var(params.at[count]));
  Atom kept = atom_var(stm->binders[0]);
  CoreType type = type_of_rows(type_scalar(PRIM_I64), kept);
  vec_push(&binders, var_new(r->c, name, type, stm->loc));
  Body *body = mem_copy(soac.fn.body, sizeof *body);
  body->results = results.at;
  body->result_count = results.count;
  soac.fn = lambda_new(params.at, params.count, body);
  soac.arrays = arrays.at;
  soac.array_count = arrays.count;
  const Exp *exp = exp_soac(EXP_FILTER, soac);
  core_add_stm(b, (Stm){ binders.at, binders.count, exp, stm->loc, stm->attrs });
  return (Kept){ .positions = atom_var(binders.at[binders.count - 1]) };
}

// The array whose elements a result consists of.
static Atom filtered_array(const Soac *soac, int result) {
  for (int i = 0; i < soac->array_count; i++)
    if (atom_equal(soac->fn.body->results[result], atom_var(soac->fn.params[i])))
      return soac->arrays[i];
  return atom_i64(0);
}

void reverse_filter(Reverse *r, const Stm *stm, const Kept *kept) {
  Builder *b = r->scope->b;
  for (int i = 1; i < stm->binder_count; i++) {
    const Atom *adjoint = reverse_adjoint(r, stm->binders[i]);
    Atom array = filtered_array(&stm->exp->u.soac, i);
    if (!adjoint || !reverse_is_active(r, array)) continue;
    Atom none = ad_zeros(b, atom_type(array));
    Atom arrays[2] = { kept->positions, *adjoint };
    reverse_add(r, array, scatter(b, none, arrays, 2));
  }
}
