// seghist1 <i < n> into dest of k op (map2 (+)) { .. in {bin, row}}
//   =>  seghist1 <p < n * m> into reshape dest of k * m op (+) {
//         let i = p / m  let j = p % m  .. in {bin * m + j, row[j]} }
//
// where the operator goes through its rows element by element.
//
// Needs, keeps: Flat, whose other promises hold.
// Why: code for GPUs.  An item that adds a row holds a lock for as long, and others wait; elements
// are added by atomic operations, in local memory if the bins are few, and neighbouring items read
// neighbouring words.  What a point computes for its bin and its row is computed again for each
// element, so it must be little.
#include "base/map.h"
#include "core/passes.h"
#include "flat/elements.h"
#include "flat/spaces.h"

typedef struct RowHists {
  Compiler *c;
  Map *alike;  // Var -> const Atom *: arrays of a number, over and over
} RowHists;

// One of the values that a histogram combines.
typedef struct RowHist {
  const RowHists *s;
  const Stm *stm;
  const SegOp *seg;
  const HistOp *hist;
  int number;    // of the histogram, in the seg-op
  int value;     // in its operator
  int position;  // of the value among all that the seg-op combines
  const Var *binder;
} RowHist;

static CoreType row_of_value(const RowHist *h) {
  return h->hist->op.op.params[h->value]->type;
}

// ---- arrays of one number

static const Atom *repeated_number(const RowHists *s, Atom a) {
  if (atom_type(a).rank == 0) return mem_copy(&a, sizeof a);
  return a.kind == ATOM_VAR ? map_get(s->alike, a.u.var) : NULL;
}

static bool is_index_of(const SegOp *seg, Atom a) {
  for (int d = 0; d < seg->dim_count; d++)
    if (atom_equal(a, atom_var(seg->dims[d].index))) return true;
  return false;
}

static const Atom *number_of(const RowHists *s, const Exp *e) {
  if (e->kind == EXP_ATOM) return repeated_number(s, e->u.atom.atom);
  if (e->kind == EXP_REPLICATE) return repeated_number(s, e->u.replicate.value);
  if (e->kind != EXP_SEG || e->u.seg->kind != SEG_MAP) return NULL;
  const Body *body = e->u.seg->body;
  bool alone = body->stm_count == 0 && body->result_count == 1;
  if (!alone || is_index_of(e->u.seg, body->results[0])) return NULL;
  return repeated_number(s, body->results[0]);
}

static void note_repeated(CoreVisitor *v, const Body *body) {
  RowHists *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    const Atom *number = stm->binder_count == 1 ? number_of(s, stm->exp) : NULL;
    if (number) map_put(s->alike, stm->binders[0], number);
  }
  core_visit_body(v, body);
}

// ---- the operator on elements

static const Body *body_of_value(Compiler *c, const Body *body, int result) {
  Body one = *body;
  one.results = &body->results[result];
  one.result_count = 1;
  return dead_body(c, &one);
}

// Does it mention other parameters of the operator than those two?
static bool needs_others(const Body *body, const Lambda *op, const Var *const *pair) {
  VarVec free = core_free_body(body);
  vec_each (const Var *const *, v, &free)
    for (int i = 0; i < op->param_count; i++)
      if (*v == op->params[i] && *v != pair[0] && *v != pair[1]) return true;
  return false;
}

// map m f as bs  =>  the body of f on elements of `as` and `bs`, whose parameters become `pair`;
// NULL if the body does other things.
static const Body *body_of_elements(Compiler *c, const Body *body, const Var **pair) {
  const Exp *e = body->stm_count == 1 ? body->stms[0].exp : NULL;
  if (!e || e->kind != EXP_MAP || body->stms[0].binder_count != 1 ||
      !atom_equal(body->results[0], atom_var(body->stms[0].binders[0])))
    return NULL;
  const Soac *map = &e->u.soac;
  Subst *subst = subst_new();
  const Var *inner[2];
  for (int k = 0; k < 2; k++)
    inner[k] = var_new(c, pair[k]->name, type_peel(pair[k]->type, 1), pair[k]->loc);
  for (int i = 0; i < map->array_count; i++) {
    bool first = atom_equal(map->arrays[i], atom_var(pair[0]));
    if (!first && !atom_equal(map->arrays[i], atom_var(pair[1]))) return NULL;
    subst_put(subst, map->fn.params[i], atom_var(inner[!first]));
  }
  pair[0] = inner[0];
  pair[1] = inner[1];
  return core_rename_body(c, subst, map->fn.body);
}

// The operator of one value alone, on its elements; false if it is none.
static bool scalar_operator(const RowHist *h, RedOp *out) {
  Compiler *c = h->s->c;
  const RedOp *op = &h->hist->op;
  const Atom *neutral = repeated_number(h->s, op->neutral[h->value]);
  const Var *pair[] = { op->op.params[h->value], op->op.params[op->count + h->value] };
  const Body *body = body_of_value(c, op->op.body, h->value);
  int rank = pair[0]->type.rank;
  for (int d = 0; d < rank && body; d++)
    body = body_of_elements(c, body, pair);
  if (!neutral || !body || flat_has_loops(body) || needs_others(body, &op->op, pair))
    return false;
  Lambda fn = { mem_copy(pair, sizeof pair), 2, body };
  *out = (RedOp){ fn, neutral, 1, op->commutative };
  return true;
}

// ---- the histogram of elements

// The space with all elements of all rows in its last dimension, and where in its row each is.
typedef struct RowElements {
  SegDim *dims;
  Atom bin_width;  // elements of a row
  Atom *at;
} RowElements;

static Atom row_size(Builder *b, CoreType row) {
  Atom size = atom_i64(1);
  for (int d = 0; d < row.rank; d++)
    size = size_mul(b, size, row.dims[d]);
  return size;
}

// In the body: i and the place in its row of element number p; the divisors are the host's.
static void find_place(Builder *b, Atom p, const Atom *divisors, int rank, Atom *at,
                       Atom *i) {
  for (int d = rank - 1; d >= 0; d--) {
    Atom rest = core_let(b, "row", exp_op2(OP_QUOT, p, divisors[d]));
    Atom whole = core_let(b, "whole", exp_op2(OP_MUL, rest, divisors[d]));
    at[d] = core_let(b, "column", exp_op2(OP_SUB, p, whole));
    p = rest;
  }
  *i = p;
}

// if 0 <= bin && bin < k { bin * m + place } else { -1 }
static Atom bin_of_element(Builder *b, Atom bin, Atom bins, const Atom *at,
                           CoreType row) {
  Atom least = core_let(b, "least", exp_op2(OP_LE, atom_i64(0), bin));
  Atom most = core_let(b, "most", exp_op2(OP_LT, bin, bins));
  Atom inside = core_let(b, "inside", exp_op2(OP_LAND, least, most));
  Builder yes = builder_new(b->c, b->loc), no = yes;
  Atom place = bin, none = atom_i64(-1);
  for (int d = 0; d < row.rank; d++)
    place = size_add(&yes, size_mul(&yes, place, row.dims[d]), at[d]);
  return core_let(b, "bin",
                  exp_if(inside, core_body(&yes, &place, 1), core_body(&no, &none, 1)));
}

static const SegDim *dims_of_elements(const RowHist *h, Builder *host, Atom size,
                                      Subst *subst) {
  int count = h->seg->dim_count;
  SegDim *dims = mem_copy(h->seg->dims, sizeof *dims * (size_t)count);
  for (int d = 0; d < count; d++) {
    dims[d].index = var_like(h->s->c, dims[d].index);
    if (d < count - 1) subst_put(subst, h->seg->dims[d].index, atom_var(dims[d].index));
  }
  dims[count - 1].width = size_mul(host, dims[count - 1].width, size);
  return dims;
}

// The body for an element; NULL if that is much work for one.
static const Body *body_of_element(const RowHist *h, Builder *host, Subst *subst,
                                   const Var *p) {
  CoreType row = row_of_value(h);
  Builder b = builder_new(h->s->c, h->stm->loc);
  Atom *divisors = new_array(Atom, row.rank), *at = new_array(Atom, row.rank), i;
  int lookups = 0;
  for (int d = 0; d < row.rank; d++)
    divisors[d] = flat_divisor(host, row.dims[d]);
  find_place(&b, atom_var(p), divisors, row.rank, at, &i);
  subst_put(subst, h->seg->dims[h->seg->dim_count - 1].index, i);
  Element element = flat_element_new(h->s->c, &b, &lookups);
  const Body *body = core_rename_body(h->s->c, subst, h->seg->body);
  flat_element_body(&element, body);
  const Atom *results = body->results;
  Atom made[2] = { bin_of_element(&b, results[h->number], h->hist->width, at, row),
                   flat_element_at(&element, results[h->seg->hist_count + h->position],
                                   at) };
  if (element.fails) return NULL;
  const Body *needed = dead_body(h->s->c, core_body(&b, made, 2));
  if (!flat_element_repeats_little(&element, needed)) return NULL;
  return cse_body(h->s->c, needed);
}

// [..][k]row  =>  [..][k * m]
static Atom dest_of_elements(const RowHist *h, Builder *host, Atom dest, Atom bins) {
  int rank = h->seg->dim_count;
  Atom *dims = new_array(Atom, rank);
  for (int d = 0; d < rank - 1; d++)
    dims[d] = h->seg->dims[d].width;
  dims[rank - 1] = bins;
  return core_let(host, "elements", exp_reshape(dims, rank, dest));
}

// The histogram of the value's elements, as an array of rows; false if there is none.
static bool make_element_hist(const RowHist *h, Builder *b, Atom *rows) {
  RedOp op;
  CoreType row = row_of_value(h);
  if (row.rank == 0 || !scalar_operator(h, &op)) return false;
  Subst *subst = subst_new();
  Atom size = row_size(b, row);
  const SegDim *dims = dims_of_elements(h, b, size, subst);
  const Body *body = body_of_element(h, b, subst, dims[h->seg->dim_count - 1].index);
  if (!body) return false;
  HistOp hist = { .width = size_mul(b, h->hist->width, size), .op = op };
  Atom dest = dest_of_elements(h, b, h->hist->dests[h->value], hist.width);
  hist.dests = mem_copy(&dest, sizeof dest);
  SegOp *seg = mem_copy(h->seg, sizeof *h->seg);
  seg->dims = dims;
  seg->body = body;
  seg->hists = mem_copy(&hist, sizeof hist);
  seg->hist_count = 1;
  Atom made = core_let(b, "histogram", exp_seg(seg));
  CoreType type = h->binder->type;
  *rows = core_let(b, "rows", exp_reshape(type.dims, type.rank, made));
  return true;
}

// ---- the values of a seg-op

static Builder builder_at(const RowHist *h) {
  Builder b = builder_new(h->s->c, h->stm->loc);
  b.attrs = h->stm->attrs;
  return b;
}

// May it stand by itself?
static bool is_alone(const RowHist *h) {
  Builder b = builder_at(h);
  RedOp op;
  Atom rows;
  return row_of_value(h).rank ? make_element_hist(h, &b, &rows) : scalar_operator(h, &op);
}

// The histogram of that value alone.
static const SegOp *hist_of_value(const RowHist *h) {
  RedOp op = h->hist->op;
  const Var *pair[] = { op.op.params[h->value], op.op.params[op.count + h->value] };
  op.op = (Lambda){ mem_copy(pair, sizeof pair), 2,
                    body_of_value(h->s->c, op.op.body, h->value) };
  op.neutral += h->value;
  op.count = 1;
  HistOp hist = { .dests = h->hist->dests + h->value, .width = h->hist->width, .op = op };
  const Atom *results = h->seg->body->results;
  Atom made[] = { results[h->number], results[h->seg->hist_count + h->position] };
  Body body = *h->seg->body;
  body.results = made;
  body.result_count = 2;
  SegOp *seg = mem_copy(h->seg, sizeof *h->seg);
  seg->body = dead_body(h->s->c, &body);
  seg->hists = mem_copy(&hist, sizeof hist);
  seg->hist_count = 1;
  return core_rename_exp(h->s->c, subst_new(), exp_seg(seg))->u.seg;
}

// What fails at a point fails, too, if its row has no elements.
static Atom has_elements(const RowHist *h, Builder *b) {
  CoreType row = row_of_value(h);
  Atom size = row_size(b, row);
  if (!flat_may_fail(h->seg->body)) return atom_bool(true);
  if (size.kind == ATOM_CONST) return atom_bool(size.u.constant.u.i > 0);
  return core_let(b, "some", exp_op2(OP_LT, atom_i64(0), size));
}

static const Exp *rows_or_elements(const RowHist *h, Builder *host) {
  Builder yes = builder_at(h), no = builder_at(h);
  Atom elements, some = has_elements(h, host);
  bool known = some.kind == ATOM_CONST;
  if (known && !some.u.constant.u.i) return exp_seg(hist_of_value(h));
  make_element_hist(h, known ? host : &yes, &elements);
  if (known) return exp_atom(elements);
  Atom rows = core_let(&no, "histogram", exp_seg(hist_of_value(h)));
  return exp_if(some, core_body(&yes, &elements, 1), core_body(&no, &rows, 1));
}

static void add_value(const RowHist *h, Builder *host) {
  const Exp *made =
      row_of_value(h).rank ? rows_or_elements(h, host) : exp_seg(hist_of_value(h));
  const Var **binder = new_array(const Var *, 1);
  binder[0] = h->binder;
  core_let_vars(host, binder, 1, made);
}

// Do all values of its histograms stand by themselves, and are there rows among them?
static bool suits_elements(RowHist h) {
  bool rows = false;
  for (h.number = 0; h.number < h.seg->hist_count; h.number++) {
    h.hist = &h.seg->hists[h.number];
    for (h.value = 0; h.value < h.hist->op.count; h.value++, h.position++) {
      h.binder = h.stm->binders[h.position];
      if (!is_alone(&h)) return false;
      rows = rows || row_of_value(&h).rank > 0;
    }
  }
  return rows;
}

static void add_values(RowHist h, Builder *host) {
  for (h.number = 0; h.number < h.seg->hist_count; h.number++) {
    h.hist = &h.seg->hists[h.number];
    for (h.value = 0; h.value < h.hist->op.count; h.value++, h.position++) {
      h.binder = h.stm->binders[h.position];
      add_value(&h, host);
    }
  }
}

static void add_row_hists(void *state, Builder *b, const Body *body, int position) {
  const Stm *stm = &body->stms[position];
  RowHist h = { .s = state, .stm = stm, .seg = stm->exp->u.seg };
  if (h.seg->kind == SEG_HIST && suits_elements(h))
    add_values(h, b);
  else
    core_add_stm(b, *stm);
}

const Core *flat_row_hists(Compiler *c, const Core *flat) {
  RowHists s = { c, map_new(NULL) };
  CoreVisitor v = { .body = note_repeated, .state = &s };
  for (int i = 0; i < flat->entry_count; i++)
    note_repeated(&v, flat->entries[i]->body);
  return flat_rewrite_segs(c, flat, add_row_hists, &s);
}
