// Points whose places follow from their numbers:
//
//   map n (\i -> if c i then f xs[i + 1] else g)
//     =>  let ys = map n (\i y^ -> if c i then f^ xs[i + 1] y^ else 0)
//         let xs^ = map n (\p -> xs^[p] + (if 0 <= p - 1 then ys[p - 1] else 0))
//
// in place of a histogram with the places i + 1: where each point has an element of its own, sums
// by element read what is added, and those in which points differ without leaving the element are
// reductions.
#include "core/ad/reverse.h"

enum {
  MOST_TERMS = 16,
  MOST_TIMES = 1 << 16
};  // so that products of numbers do not wrap

// ---- what places are made of

static const Stm *binding_in(const Builder *b, Atom a) {
  for (int i = b->stms.count - 1; i >= 0; i--)
    if (b->stms.at[i].binder_count == 1 && b->stms.at[i].binders[0] == a.u.var)
      return &b->stms.at[i];
  return NULL;
}

static const Exp *definition(const Reverse *r, Atom a) {
  const Stm *stm = NULL;
  if (a.kind == ATOM_CONST) return NULL;
  for (const AdScope *in = r->scope; in && !stm; in = in->outer)
    stm = binding_in(in->b, a);
  if (!stm && r->around) stm = binding_in(r->around, a);
  return stm ? stm->exp : NULL;
}

static bool same_term(const AdTerm *x, const AdTerm *y) {
  if (x->kind != y->kind) return false;
  return x->kind == TERM_ATOM ? atom_equal(x->atom, y->atom) : x->dim == y->dim;
}

// What is there already is there so many times more: i + i is 2 * i.
static void add_term(AdPlace *place, AdTerm term) {
  vec_each (AdTerm *, known, &place->terms) {
    if (!same_term(known, &term)) continue;
    known->times += term.times;
    if (!known->times) *known = place->terms.at[--place->terms.count];
    return;
  }
  vec_push(&place->terms, term);
}

// A product with a small constant, which the simplifier puts second.
static bool is_product(const Exp *e) {
  if (e->kind != EXP_OP || e->u.op.op != OP_MUL || e->u.op.type != PRIM_I64) return false;
  Atom by = e->u.op.args[1];
  return by.kind == ATOM_CONST && by.u.constant.u.i < MOST_TIMES &&
         by.u.constant.u.i > -MOST_TIMES && by.u.constant.u.i != 0;
}

// Adds what the number, so many times, is the sum of; false if that is too much.
static bool add_terms(const Reverse *r, AdPlace *out, Atom a, int64_t times) {
  const Exp *e = definition(r, a);
  if (e && e->kind == EXP_ATOM) return add_terms(r, out, e->u.atom.atom, times);
  PrimOp op = e && e->kind == EXP_OP && e->u.op.type == PRIM_I64 ? e->u.op.op : OP_MUL;
  if (op == OP_ADD || op == OP_SUB)
    return add_terms(r, out, e->u.op.args[0], times) &&
           add_terms(r, out, e->u.op.args[1], op == OP_SUB ? -times : times);
  if (e && is_product(e)) {
    times *= e->u.op.args[1].u.constant.u.i;
    return times < MOST_TIMES && times > -MOST_TIMES &&
           add_terms(r, out, e->u.op.args[0], times);
  }
  add_term(out, (AdTerm){ .kind = TERM_ATOM, .atom = a, .times = times });
  return out->terms.count <= MOST_TERMS;
}

static bool find_place(const Reverse *r, AdPlace *out, Atom a, Atom size) {
  const Exp *e = definition(r, a);
  *out = (AdPlace){ .wraps = e && e->kind == EXP_OP && e->u.op.op == OP_MOD &&
                             atom_equal(e->u.op.args[1], size) };
  return add_terms(r, out, out->wraps ? e->u.op.args[0] : a, 1);
}

const AdPlace *reverse_places(const Reverse *r, const Exp *index) {
  CoreType type = atom_type(index->u.index.array);
  AdPlace *places = new_array(AdPlace, type.rank);
  int within = 0;
  for (int d = 0; d < type.rank; d++) {
    const DimIndex *dim = &index->u.index.dims[d];
    if (!find_place(r, &places[d], dim->start, type.dims[d])) return NULL;
    if (!dim->is_slice) continue;
    if (dim->stride.kind != ATOM_CONST || !dim->stride.u.constant.u.i) return NULL;
    vec_push(&places[d].terms, (AdTerm){ .kind = TERM_WITHIN,
                                         .dim = within++,
                                         .times = dim->stride.u.constant.u.i });
  }
  return places;
}

// ---- leaving scopes

void reverse_places_leave(const AdScope *s, AdPoints *p) {
  for (int d = 0; p->places && d < p->array->type.rank; d++)
    vec_each (const AdTerm *, term, &p->places[d].terms)
      if (term->kind == TERM_ATOM && !reverse_is_outside(s, term->atom)) {
        p->places = NULL;
        return;
      }
}

// The number from which on, one by one, the parameter counts; false if it does not.
static bool counts_from(const Reverse *r, const Soac *soac, const Lambda *fn, Atom param,
                        Atom *start) {
  for (int i = 0; i < soac->array_count; i++) {
    if (!atom_equal(atom_var(fn->params[i]), param)) continue;
    const Exp *e = definition(r, soac->arrays[i]);
    if (!e || e->kind != EXP_IOTA || !atom_is_i64(e->u.iota.step, 1)) return false;
    *start = e->u.iota.start;
    return true;
  }
  return false;
}

void reverse_places_leave_map(const Reverse *r, const Soac *soac, const Lambda *fn,
                              const AdScope *s, AdPoints *p) {
  if (!p->places) return;
  int rank = p->array->type.rank;
  AdPlace *places = new_array(AdPlace, rank);
  for (int d = 0; d < rank; d++) {
    places[d] = (AdPlace){ .wraps = p->places[d].wraps };
    vec_each (const AdTerm *, term, &p->places[d].terms) {
      AdTerm out = *term;
      Atom start;
      if (out.kind == TERM_ATOM && counts_from(r, soac, fn, out.atom, &start)) {
        add_term(&places[d],
                 (AdTerm){ .kind = TERM_ATOM, .atom = start, .times = out.times });
        out.kind = TERM_POINT;
        out.dim = p->lead;
      }
      add_term(&places[d], out);
    }
  }
  p->places = places;
  reverse_places_leave(s, p);
}

// ---- which numbers places have

// The dimensions of the values whose numbers are part of a place: one, or two.
typedef struct AdPair {
  int first, second;  // second -1: one
} AdPair;

static bool find_pair(const AdPoints *p, const AdPlace *place, AdPair *out) {
  *out = (AdPair){ -1, -1 };
  bool single = place->wraps;
  vec_each (const AdTerm *, term, &place->terms) {
    if (term->kind == TERM_ATOM) continue;
    int dim = term->kind == TERM_WITHIN ? p->lead + term->dim : p->lead - 1 - term->dim;
    single |= term->times != 1;
    if (out->second >= 0) return false;
    *(out->first < 0 ? &out->first : &out->second) = dim;
  }
  return out->first >= 0 && (out->second < 0 || !single);
}

// No dimension of the values is part of two places.
static bool find_pairs(const AdPoints *p, AdPair *pairs) {
  uint64_t seen = 0;
  for (int d = 0; d < p->array->type.rank; d++) {
    if (!find_pair(p, &p->places[d], &pairs[d])) return false;
    uint64_t here = UINT64_C(1) << pairs[d].first;
    if (pairs[d].second >= 0) here |= UINT64_C(1) << pairs[d].second;
    if (seen & here) return false;
    seen |= here;
  }
  return true;
}

// The values with their dimensions in this order, after sums over those that it leaves out.
static Atom in_order(Builder *b, Atom values, const int *dims, int count) {
  int all = atom_type(values).rank, others = 0, *perm = new_array(int, all);
  bool same = true;
  uint64_t used = 0;
  for (int d = 0; d < count; d++)
    used |= UINT64_C(1) << dims[d];
  for (int k = 0; k < all; k++)
    if (!(used >> k & 1)) perm[others++] = k;
  for (int d = 0; d < count; d++)
    perm[others + d] = dims[d];
  for (int k = 0; k < all; k++)
    same &= perm[k] == k;
  if (!same) values = core_let(b, "columns", exp_rearrange(perm, all, values));
  for (int k = 0; k < others; k++)
    values = ad_sum_rows(b, values);
  return values;
}

// Sums over the dimensions of the values that are in no pair, whose dimensions are numbered anew.
static Atom sum_others(Builder *b, Atom values, AdPair *pairs, int rank) {
  int all = atom_type(values).rank, count = 0;
  int *dims = new_array(int, all), *now = new_array(int, all);
  for (int k = 0; k < all; k++) {
    bool used = false;
    for (int d = 0; d < rank; d++)
      used |= pairs[d].first == k || pairs[d].second == k;
    now[k] = count;
    if (used) dims[count++] = k;
  }
  for (int d = 0; d < rank; d++) {
    pairs[d].first = now[pairs[d].first];
    if (pairs[d].second >= 0) pairs[d].second = now[pairs[d].second];
  }
  return in_order(b, values, dims, count);
}

static Atom within(Builder *b, Atom exists, Atom place, Atom size) {
  Atom low = ad_op2(b, OP_LE, atom_i64(0), place);
  Atom high = ad_op2(b, OP_LT, place, size);
  return ad_op2(b, OP_LAND, exists, ad_op2(b, OP_LAND, low, high));
}

// values[places[0], ..], or 0 where there is no such element.
static Atom value_if(Builder *b, Atom exists, Atom values, const Atom *places) {
  CoreType type = atom_type(values);
  Builder yes = builder_new(b->c, b->loc), no = builder_new(b->c, b->loc);
  Atom value = core_let(&yes, "value", exp_index(values, places, type.rank, false));
  Atom zero = atom_const(prim_zero(type.elem));
  return core_let(b, "added",
                  exp_if(exists, core_body(&yes, &value, 1), core_body(&no, &zero, 1)));
}

// ---- two numbers in a place: sums of diagonals

// Values by the second numbers of pairs that have one, then by the first numbers of all.
typedef struct Diagonals {
  Atom values;
  const AdPair *pairs;
  int rank, seconds;
  Atom *places;  // in the values
} Diagonals;

static Atom diagonal_value(Builder *b, const Diagonals *s, const Atom *sums) {
  CoreType type = atom_type(s->values);
  int second = 0;
  Atom exists = atom_bool(true);
  for (int d = 0; d < s->rank; d++) {
    int at = s->seconds + d;
    s->places[at] = sums[d];
    if (s->pairs[d].second < 0) continue;
    s->places[at] = size_sub(b, sums[d], s->places[second++]);
    exists = within(b, exists, s->places[at], type.dims[at]);
  }
  return value_if(b, exists, s->values, s->places);
}

// Over second numbers from dimension `at` on.
static Atom diagonal_sum(Builder *b, const Diagonals *s, const Atom *sums, int at) {
  if (at == s->seconds) return diagonal_value(b, s, sums);
  AdLambda l = ad_lambda(b);
  CoreType type = atom_type(s->values);
  Atom all = ad_iota(b, type.dims[at]);
  s->places[at] = ad_param(&l, "second", type_scalar(PRIM_I64));
  Atom summand = diagonal_sum(&l.b, s, sums, at + 1);
  RedOp op = ad_red_op(b, OP_ADD, prim_zero(type.elem));
  Soac soac = { .width = type.dims[at],
                .fn = ad_lambda_end(&l, &summand, 1),
                .arrays = mem_copy(&all, sizeof all),
                .array_count = 1,
                .ops = mem_copy(&op, sizeof op),
                .op_count = 1 };
  return core_let(b, "total", exp_soac(EXP_REDOMAP, soac));
}

// How many sums each pair has.
static Atom *sum_counts(Builder *b, Atom values, const AdPair *pairs, int rank) {
  const Atom *dims = atom_type(values).dims;
  Atom *counts = new_array(Atom, rank);
  for (int d = 0; d < rank; d++) {
    counts[d] = dims[pairs[d].first];
    if (pairs[d].second < 0) continue;
    Atom both = size_add(b, counts[d], dims[pairs[d].second]);
    counts[d] = ad_op2(b, OP_MAX, size_sub(b, both, atom_i64(1)), atom_i64(0));
  }
  return counts;
}

// For all sums from that of pair d on.
static Atom diagonal_sums(Builder *b, const Diagonals *s, const Atom *counts, Atom *sums,
                          int d) {
  if (d == s->rank) return diagonal_sum(b, s, sums, 0);
  AdLambda l = ad_lambda(b);
  sums[d] = ad_param(&l, "sum", type_scalar(PRIM_I64));
  Atom all = ad_iota(b, counts[d]), row = diagonal_sums(&l.b, s, counts, sums, d + 1);
  return core_let(b, "sums", exp_map(counts[d], ad_lambda_end(&l, &row, 1), &all, 1));
}

// The values by the sums of the numbers in each pair, of which there are so many.
static Atom by_sums(Builder *b, Atom values, const AdPair *pairs, int rank,
                    const Atom *counts) {
  int count = 0, *dims = new_array(int, 2 * rank);
  for (int d = 0; d < rank; d++)
    if (pairs[d].second >= 0) dims[count++] = pairs[d].second;
  int seconds = count;
  for (int d = 0; d < rank; d++)
    dims[count++] = pairs[d].first;
  values = in_order(b, values, dims, count);
  if (!seconds) return values;
  Diagonals s = { values, pairs, rank, seconds, new_array(Atom, count) };
  return diagonal_sums(b, &s, counts, new_array(Atom, rank), 0);
}

// How many points there are for one sum, if it goes over these numbers.
static Atom product_of(Builder *b, Atom values, const AdPair *pairs, int rank) {
  Atom product = atom_i64(1);
  for (int d = 0; d < rank; d++)
    if (pairs[d].second >= 0)
      product = size_mul(b, product, atom_type(values).dims[pairs[d].second]);
  return product;
}

static AdPair *swapped(const AdPair *pairs, int rank) {
  AdPair *out = new_array(AdPair, rank);
  for (int d = 0; d < rank; d++)
    out[d] = pairs[d].second < 0 ? pairs[d] : (AdPair){ pairs[d].second, pairs[d].first };
  return out;
}

// The same, where each sum goes over those numbers of which there are fewer.
static Atom by_short_sums(Builder *b, Atom values, const AdPair *pairs, int rank) {
  const AdPair *other = swapped(pairs, rank);
  Atom steps = product_of(b, values, pairs, rank);
  Atom others = product_of(b, values, other, rank);
  const Atom *counts = sum_counts(b, values, pairs, rank);
  if (steps.kind == ATOM_CONST) return by_sums(b, values, pairs, rank, counts);
  if (others.kind == ATOM_CONST) return by_sums(b, values, other, rank, counts);
  Builder yes = builder_new(b->c, b->loc), no = builder_new(b->c, b->loc);
  Atom few = ad_op2(b, OP_LE, steps, others);
  Atom here = by_sums(&yes, values, pairs, rank, counts);
  Atom there = by_sums(&no, values, other, rank, counts);
  return core_let(b, "sums",
                  exp_if(few, core_body(&yes, &here, 1), core_body(&no, &there, 1)));
}

// ---- blocks

// An array of what is added, whose element [i, ..] belongs to [offsets[0] + i * steps[0], ..] of
// the adjoint.
typedef struct AdBlock {
  Atom values;
  Atom *offsets;
  int64_t *steps;         // above 0
  const AdPlace *places;  // which of them wrap
} AdBlock;

static AdBlock block_of(Builder *b, const AdPoints *p, Atom values) {
  CoreType type = atom_type(values);
  DimIndex *turned = new_array(DimIndex, type.rank);
  AdBlock block = { .offsets = new_array(Atom, type.rank),
                    .steps = new_array(int64_t, type.rank),
                    .places = p->places };
  for (int d = 0; d < type.rank; d++) {
    Atom count = type.dims[d], sum = atom_i64(0), last = size_sub(b, count, atom_i64(1));
    turned[d] = dim_slice(atom_i64(0), count, atom_i64(1));
    vec_each (const AdTerm *, term, &p->places[d].terms) {
      Atom times = atom_i64(term->times);
      if (term->kind == TERM_ATOM)
        sum = size_add(b, sum, size_mul(b, term->atom, times));
      else
        block.steps[d] = term->times;
      if (term->kind == TERM_ATOM || term->times > 0) continue;
      turned[d] = dim_slice(last, count, atom_i64(-1));
      sum = size_add(b, sum, size_mul(b, last, times));
      block.steps[d] = -term->times;
    }
    block.offsets[d] = sum;
  }
  block.values = core_let(b, "values", exp_slice(values, turned, false));
  return block;
}

static bool is_moved(const AdBlock *block, int d) {
  return !atom_is_i64(block->offsets[d], 0);
}

static Atom moved_value(Builder *b, const AdBlock *block, const Atom *places) {
  CoreType type = atom_type(block->values);
  Atom exists = atom_bool(true);
  for (int d = 0; d < type.rank; d++)
    if (is_moved(block, d) && !block->places[d].wraps)
      exists = within(b, exists, places[d], type.dims[d]);
  return value_if(b, exists, block->values, places);
}

// The block in its place within zeros, which are as many.
static Atom moved_block(Builder *b, const AdBlock *block, Atom *places, int d) {
  CoreType type = atom_type(block->values);
  if (d == type.rank) return moved_value(b, block, places);
  AdLambda l = ad_lambda(b);
  Atom place = ad_param(&l, "p", type_scalar(PRIM_I64)), all = ad_iota(b, type.dims[d]);
  places[d] = size_sub(&l.b, place, block->offsets[d]);
  if (block->places[d].wraps) places[d] = ad_op2(&l.b, OP_MOD, places[d], type.dims[d]);
  Atom row = moved_block(&l.b, block, places, d + 1);
  return core_let(b, "moved", exp_map(type.dims[d], ad_lambda_end(&l, &row, 1), &all, 1));
}

static void add_moved(Reverse *r, const AdPoints *p, const AdBlock *block) {
  int rank = p->array->type.rank;
  bool moves = false;
  for (int d = 0; d < rank; d++)
    moves |= is_moved(block, d);
  Atom sum =
      moves ? moved_block(r->scope->b, block, new_array(Atom, rank), 0) : block->values;
  reverse_add(r, atom_var(p->array), sum);
}

static Atom clamped(Builder *b, Atom a, Atom size) {
  return ad_op2(b, OP_MIN, ad_op2(b, OP_MAX, a, atom_i64(0)), size);
}

// How many steps there are from the offset to places below `end`, if there are no more than count.
static Atom steps_to(Builder *b, Atom end, Atom offset, int64_t step, Atom count) {
  Atom way = size_sub(b, end, offset);
  if (step > 1)
    way = ad_op2(b, OP_DIV, size_add(b, way, atom_i64(step - 1)), atom_i64(step));
  return clamped(b, way, count);
}

// Adds what of the block is within the adjoint, in place.
static void add_part(Reverse *r, const AdPoints *p, const AdBlock *block) {
  Builder *b = r->scope->b;
  CoreType type = p->array->type, from = atom_type(block->values);
  DimIndex *to = new_array(DimIndex, type.rank), *part = new_array(DimIndex, type.rank);
  for (int d = 0; d < type.rank; d++) {
    Atom offset = block->offsets[d], step = atom_i64(block->steps[d]);
    Atom first = steps_to(b, atom_i64(0), offset, block->steps[d], from.dims[d]);
    Atom end = steps_to(b, type.dims[d], offset, block->steps[d], from.dims[d]);
    Atom count = size_sub(b, end, first);
    Atom low = size_add(b, offset, size_mul(b, first, step));
    to[d] = dim_slice(clamped(b, low, type.dims[d]), count, step);
    part[d] = dim_slice(first, count, atom_i64(1));
  }
  Atom before = reverse_current(r, p->array);
  Atom old = core_let(b, "part", exp_slice(before, to, false));
  Atom sum = ad_add(b, old, core_let(b, "part", exp_slice(block->values, part, false)));
  reverse_assign(r, p->array, core_let(b, "adjoint", exp_update(before, to, sum, false)));
}

// Is there a point for each place, in all dimensions?
static bool is_whole(const AdPoints *p, const AdPair *pairs) {
  CoreType type = p->array->type;
  for (int d = 0; d < type.rank; d++) {
    Atom count = atom_type(p->values).dims[pairs[d].first];
    if (pairs[d].second >= 0 || !atom_equal(count, type.dims[d])) return false;
    vec_each (const AdTerm *, term, &p->places[d].terms)
      if (term->kind != TERM_ATOM && term->times != 1 && term->times != -1) return false;
  }
  return true;
}

bool reverse_add_block(Reverse *r, const AdPoints *p) {
  int rank = p->array->type.rank;
  AdPair *pairs = new_array(AdPair, rank);
  if (!p->places || !find_pairs(p, pairs)) return false;
  bool whole = is_whole(p, pairs), wraps = false;
  for (int d = 0; d < rank; d++)
    wraps |= p->places[d].wraps;
  if (wraps && !whole) return false;
  Builder *b = r->scope->b;
  Atom values = sum_others(b, p->values, pairs, rank);
  AdBlock block = block_of(b, p, by_short_sums(b, values, pairs, rank));
  if (whole)
    add_moved(r, p, &block);
  else
    add_part(r, p, &block);
  return true;
}
