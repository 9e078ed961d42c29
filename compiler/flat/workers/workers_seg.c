// Seg-ops over blocks of their outer dimension, and what makes their results whole.
#include "flat/rules.h"
#include "flat/workers/workers.h"

// ---- which

static bool operators_on_scalars(const RedOp *ops, int count) {
  for (int i = 0; i < count; i++)
    for (int k = 0; k < ops[i].count; k++)
      if (atom_type(ops[i].neutral[k]).rank) return false;
  return true;
}

bool spread_can(const SegOp *seg) {
  Atom width = seg->dims[0].width;
  bool few = width.kind == ATOM_CONST && width.u.constant.u.i < FEW_ROWS;
  if (seg->level != 1 || seg->after || few) return false;
  bool segments = seg->dim_count > 1;
  switch (seg->kind) {
  case SEG_MAP:
  case SEG_RED:
  case SEG_HIST: return true;
  case SEG_SCAN: return segments || operators_on_scalars(seg->ops, seg->op_count);
  case SEG_SCATTER: return spread_is_filter(seg);
  }
  return false;
}

// ---- what a divided seg-op costs

enum { LIBRARY_COST = 16, BYTE_COST = 8 };  // in operations: a function; to gather a byte

// The operations for a point, or for an element of a row that it makes; false if there are loops,
// which may be long.
static bool straight_cost(const Body *body, int64_t *sum) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    bool library =
        exp->kind == EXP_OP && op_cost(exp->u.op.op, exp->u.op.type) == COST_LIBRARY;
    bool long_one = exp->kind == EXP_LOOP || exp->kind == EXP_CALL ||
                    (exp_is_parallel(exp) && exp->kind != EXP_MAP);
    if (long_one) return false;
    *sum += library ? LIBRARY_COST : 1;
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      if (!straight_cost(*inner, sum)) return false;
  }
  return true;
}

bool spread_costs_little(const SegOp *seg) {
  int64_t operations = 0, bytes = 0;
  bool reduces = seg->kind == SEG_RED || seg->kind == SEG_HIST;
  if (!straight_cost(seg->body, &operations)) return false;
  if (reduces && seg->dim_count > 1) return false;
  int first = 0;
  for (int i = 0; seg->kind == SEG_RED && i < seg->op_count; i++)
    first += seg->ops[i].count;
  for (int i = first; seg->kind != SEG_HIST && i < seg->body->result_count; i++)
    bytes += prim_size_bytes(atom_type(seg->body->results[i]).elem);
  return operations < BYTE_COST * bytes;
}

// ---- results

static const char *binder_name(const Stm *stm) { return stm->binders[0]->name; }

// The divided seg-op's results; those that stay distributed are noted.
Atom *spread_add_blocks(Spread *s, Builder *b, const Stm *stm, const SegOp *seg,
                        const RowSplit *split, bool whole_inputs) {
  const SegOp *before = stm->exp->u.seg;
  Atom *out = new_array(Atom, stm->binder_count);
  core_let_n(b, binder_name(stm), exp_seg(seg), out);
  SpreadSeg note = { before,       split, spread_costs_little(before),
                     whole_inputs, { 0 }, core_free_exp(exp_seg(seg)),
                     s->loops };
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i]->type.rank) vec_push(&note.blocks, out[i].u.var);
  vec_push(&s->segs, note);
  return out;
}

// ---- combining what each worker has reduced

Operators spread_operators(const SegOp *seg) {
  return (Operators){ seg->ops, seg->op_count };
}

int spread_operand_count(Operators ops) {
  int sum = 0;
  for (int i = 0; i < ops.count; i++)
    sum += ops.at[i].count;
  return sum;
}

static const Var *index_new(const Builder *b, const char *name) {
  return var_new(b->c, name_of(b->c->names, name), type_scalar(PRIM_I64), b->loc);
}

// The arrays over the points; what is combined stands before them.
static void gather_from(Spread *s, Builder *b, const Stm *stm, const Atom *blocks,
                        const RowSplit *split) {
  const SegOp *seg = stm->exp->u.seg;
  bool across = seg->kind == SEG_RED && seg->dim_count == 1;
  int first = across ? spread_operand_count(spread_operators(seg)) : 0;
  for (int i = first; i < stm->binder_count; i++)
    spread_gather(s, b, stm->binders[i], blocks[i], split);
}

static const RedOp *fresh_operators(Builder *b, Operators ops) {
  RedOp *out = new_array(RedOp, ops.count);
  for (int i = 0; i < ops.count; i++) {
    out[i] = ops.at[i];
    out[i].op = core_rename_lambda(b->c, subst_new(), ops.at[i].op);
  }
  return out;
}

// segmap1 <index < width> {inner, results}, called `name`.
static Atom *add_segmap(Builder *b, const char *name, SegDim dim, const Body *body) {
  const SegOp *seg =
      new_node(SegOp, .kind = SEG_MAP, .level = 1, .dims = mem_copy(&dim, sizeof dim),
               .dim_count = 1, .body = body);
  Atom *out = new_array(Atom, body->result_count);
  core_let_n(b, name, exp_seg(seg), out);
  return out;
}

// [dims..] in front of the array's own dimensions but the first `dropped`, without moving anything.
static Atom shaped(Builder *b, const Atom *dims, int count, Atom array, int dropped) {
  CoreType type = atom_type(array);
  int rank = count + type.rank - dropped;
  Atom *all = new_array(Atom, rank);
  for (int i = 0; i < rank; i++)
    all[i] = i < count ? dims[i] : type.dims[dropped + i - count];
  return core_let(b, "shaped", exp_reshape(all, rank, array));
}

Atom spread_gather_value(Builder *b, const char *name, Atom value,
                         const RowSplit *split) {
  Atom one = atom_i64(1);
  if (atom_type(value).rank) value = shaped(b, &one, 1, value, 0);
  return core_let(
      b, name,
      exp_gather(split->workers, split->workers, split->rank, atom_i64(1), value));
}

Atom *spread_reduce(Builder *b, Operators ops, Atom width, const Atom *arrays) {
  int values = spread_operand_count(ops);
  Atom *out = new_array(Atom, values);
  Soac soac = { .width = width,
                .fn = lambda_identity_over(b, "value", arrays, values),
                .arrays = mem_copy(arrays, sizeof *arrays * (size_t)values),
                .array_count = values,
                .ops = fresh_operators(b, ops),
                .op_count = ops.count };
  core_let_n(b, "combined", exp_soac(EXP_REDOMAP, soac), out);
  return out;
}

// array[0:count]
static Atom first_rows(Builder *b, Atom array, Atom count) {
  if (atom_equal(atom_type(array).dims[0], count)) return array;
  DimIndex rows = dim_slice(atom_i64(0), count, atom_i64(1));
  return core_let(b, "first", exp_slice(array, mem_copy(&rows, sizeof rows), false));
}

// segmap1 <z < 1> {reduction of the arrays}, of which the host reads the only elements.
static Atom *reduce_arrays(Builder *b, Operators ops, Atom width, const Atom *arrays) {
  int values = spread_operand_count(ops);
  Builder inner = builder_new(b->c, b->loc);
  Atom first = atom_i64(0), *firsts = new_array(Atom, values);
  for (int i = 0; i < values; i++)
    firsts[i] = first_rows(b, arrays[i], width);
  Atom *combined = spread_reduce(&inner, ops, width, firsts);
  SegDim dim = { index_new(b, "z"), atom_i64(1) };
  combined = add_segmap(b, "combined", dim, core_body(&inner, combined, values));
  for (int i = 0; i < values; i++)
    combined[i] = core_let(b, "combined", exp_index(combined[i], &first, 1, false));
  return combined;
}

Atom spread_is_more(Builder *b, Atom value, int64_t than) {
  return core_let(b, "more", exp_op2(OP_LT, atom_i64(than), value));
}

const Body *spread_no_stms(const Builder *b, const Atom *atoms, int count) {
  Builder empty = builder_new(b->c, b->loc);
  return core_body(&empty, atoms, count);
}

// segred1 <i < n>: each worker reduces its block; then all combine the values of all, in order.
static void spread_reduction(Spread *s, Builder *b, const Stm *stm, const Atom *own,
                             const RowSplit *split) {
  Operators ops = spread_operators(stm->exp->u.seg);
  int values = spread_operand_count(ops);
  Builder all = builder_new(s->c, stm->loc);
  Atom *arrays = new_array(Atom, values);
  if (values) {
    Atom more = spread_is_more(b, split->workers, 1);
    for (int i = 0; i < values; i++)
      arrays[i] = spread_gather_value(&all, stm->binders[i]->name, own[i], split);
    const Atom *combined = reduce_arrays(&all, ops, split->workers, arrays);
    core_let_vars(
        b, stm->binders, values,
        exp_if(more, core_body(&all, combined, values), spread_no_stms(b, own, values)));
  }
  gather_from(s, b, stm, own, split);
}

// ---- scans

// The last element of the block, or the neutral element if it has none.
static Atom last_or_neutral(Builder *b, Atom block, Atom neutral, Atom count) {
  Builder some = builder_new(b->c, b->loc);
  Atom more = spread_is_more(b, count, 0);
  Atom last = core_let(&some, "last", exp_op2(OP_SUB, count, atom_i64(1)));
  Atom value = core_let(&some, "total", exp_index(block, &last, 1, false));
  return core_let(
      b, "total",
      exp_if(more, core_body(&some, &value, 1), spread_no_stms(b, &neutral, 1)));
}

// The total of each worker, for each value that is scanned.
static Atom *gather_totals(Builder *b, const Stm *stm, const Atom *blocks,
                           const RowSplit *split) {
  Operators ops = spread_operators(stm->exp->u.seg);
  Atom *out = new_array(Atom, spread_operand_count(ops));
  for (int o = 0, at = 0; o < ops.count; o++)
    for (int i = 0; i < ops.at[o].count; i++, at++) {
      Atom total = last_or_neutral(b, blocks[at], ops.at[o].neutral[i], split->count);
      out[at] = spread_gather_value(b, stm->binders[at]->name, total, split);
    }
  return out;
}

Atom *spread_apply(Builder *b, Operators ops, const Atom *carry, const Atom *elements) {
  Atom *out = new_array(Atom, spread_operand_count(ops));
  for (int o = 0, at = 0; o < ops.count; at += ops.at[o++].count) {
    const RedOp *op = &ops.at[o];
    Subst *subst = subst_new();
    for (int i = 0; i < op->count; i++) {
      subst_put(subst, op->op.params[i], carry[at + i]);
      subst_put(subst, op->op.params[op->count + i], elements[at + i]);
    }
    const Body *body = core_rename_body(b->c, subst, op->op.body);
    core_add_body(b, body);
    for (int i = 0; i < op->count; i++)
      out[at + i] = body->results[i];
  }
  return out;
}

// segmap1 <j < count> {op carry blocks[j]}
static Atom *add_carry(Builder *b, Operators ops, Atom count, const Atom *carry,
                       const Atom *blocks) {
  int values = spread_operand_count(ops);
  Builder inner = builder_new(b->c, b->loc);
  SegDim dim = { index_new(b, "j"), count };
  Atom index = atom_var(dim.index), *elements = new_array(Atom, values);
  for (int i = 0; i < values; i++)
    elements[i] = core_let(&inner, "value", exp_index(blocks[i], &index, 1, false));
  const Atom *sums = spread_apply(&inner, ops, carry, elements);
  return add_segmap(b, "scanned", dim, core_body(&inner, sums, values));
}

// {scanned.., before.., all..}
static const Body *carried_body(Builder *b, const Atom *scanned, const Atom *before,
                                const Atom *all, int count) {
  Atom *results = new_array(Atom, 3 * count);
  for (int i = 0; i < count; i++) {
    results[i] = scanned[i];
    results[count + i] = before[i];
    results[2 * count + i] = all[i];
  }
  return core_body(b, results, 3 * count);
}

// How it is with several workers; the atoms one after the other.
static const Body *carry_on(Builder *b, const Stm *stm, const Atom *blocks,
                            const RowSplit *split) {
  Operators ops = spread_operators(stm->exp->u.seg);
  const Atom *totals = gather_totals(b, stm, blocks, split);
  const Atom *before = reduce_arrays(b, ops, split->rank, totals);
  const Atom *all = reduce_arrays(b, ops, split->workers, totals);
  const Atom *scanned = add_carry(b, ops, split->count, before, blocks);
  return carried_body(b, scanned, before, all, spread_operand_count(ops));
}

// With one, who has the block.
static const Body *carry_nothing(Builder *b, const Stm *stm, const Atom *blocks,
                                 const RowSplit *split) {
  Operators ops = spread_operators(stm->exp->u.seg);
  int values = spread_operand_count(ops), at = 0;
  Atom *neutral = new_array(Atom, values), *all = new_array(Atom, values);
  for (int o = 0; o < ops.count; o++)
    for (int i = 0; i < ops.at[o].count; i++, at++) {
      neutral[at] = ops.at[o].neutral[i];
      all[at] = last_or_neutral(b, blocks[at], neutral[at], split->count);
    }
  return carried_body(b, blocks, neutral, all, values);
}

// segscan1 <i < n>: each worker scans its block; the totals of the workers before it are added.
static void spread_scan(Spread *s, Builder *b, const Stm *stm, Atom *blocks,
                        const RowSplit *split) {
  int values = spread_operand_count(spread_operators(stm->exp->u.seg));
  Builder all = builder_new(s->c, stm->loc), one = builder_new(s->c, stm->loc);
  Atom more = spread_is_more(b, split->workers, 1), *out = new_array(Atom, 3 * values);
  const Body *several = carry_on(&all, stm, blocks, split);
  core_let_n(b, binder_name(stm),
             exp_if(more, several, carry_nothing(&one, stm, blocks, split)), out);
  for (int i = 0; i < values; i++) {
    spread_flow(s, out[i], blocks[i]);
    map_put(s->scans, stm->binders[i],
            new_node(ScanPart, blocks[i], out[values + i], out[2 * values + i]));
    blocks[i] = out[i];
  }
  gather_from(s, b, stm, blocks, split);
}

// ---- histograms

// What each worker begins with: the destination for the first one, neutral elements for others.
static Atom first_dest(Builder *b, const HistOp *hist, int i, const RowSplit *split) {
  Builder others = builder_new(b->c, b->loc);
  Atom later = spread_is_more(b, split->rank, 0);
  SegDim dim = { index_new(b, "bin"), hist->width };
  const Atom *neutral =
      add_segmap(&others, "neutral", dim, spread_no_stms(b, &hist->op.neutral[i], 1));
  return core_let(b, "dest",
                  exp_if(later, core_body(&others, neutral, 1),
                         spread_no_stms(b, &hist->dests[i], 1)));
}

// With [split->count] segments of each destination, or as each worker begins.
static const HistOp *spread_dests(const Spread *s, Builder *b, const SegOp *seg,
                                  const RowSplit *split) {
  HistOp *out = new_array(HistOp, seg->hist_count);
  for (int h = 0; h < seg->hist_count; h++) {
    const HistOp *hist = &seg->hists[h];
    Atom *dests = new_array(Atom, hist->op.count);
    for (int i = 0; i < hist->op.count; i++)
      dests[i] = seg->dim_count > 1 ? spread_block(s, b, hist->dests[i], split)
                                    : first_dest(b, hist, i, split);
    out[h] = *hist;
    out[h].dests = dests;
  }
  return out;
}

// The workers' histograms of `width` bins as [workers][width].
static Atom gather_bins(Builder *b, Atom bins, const RowSplit *split) {
  return spread_gather_value(b, "bins", bins, split);
}

// array[:, index, ..]
static Atom column(Builder *b, Atom array, Atom count, Atom index) {
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int i = 0; i < type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), i ? type.dims[i] : count, atom_i64(1));
  dims[1] = dim_fix(index);
  return core_let(b, "column", exp_slice(array, dims, false));
}

// segmap1 <bin < width> {reduction of all[:, bin]}
static const Atom *reduce_bins(Builder *b, const HistOp *hist, const Atom *all,
                               Atom workers) {
  Builder inner = builder_new(b->c, b->loc);
  SegDim dim = { index_new(b, "bin"), hist->width };
  Atom *columns = new_array(Atom, hist->op.count);
  for (int i = 0; i < hist->op.count; i++)
    columns[i] = column(&inner, all[i], workers, atom_var(dim.index));
  const Atom *combined =
      spread_reduce(&inner, (Operators){ &hist->op, 1 }, workers, columns);
  return add_segmap(b, "combined", dim, core_body(&inner, combined, hist->op.count));
}

// seghist1 <i < n>: each worker has bins of its own for its block; all combine those of all.
static void spread_histogram(Builder *b, const Stm *stm, const Atom *own,
                             const RowSplit *split) {
  const SegOp *seg = stm->exp->u.seg;
  Builder all = builder_new(b->c, stm->loc);
  Vec(Atom) combined = { 0 };
  Atom more = spread_is_more(b, split->workers, 1);
  for (int h = 0; h < seg->hist_count; h++) {
    const HistOp *hist = &seg->hists[h];
    Atom *bins = new_array(Atom, hist->op.count);
    for (int i = 0; i < hist->op.count; i++)
      bins[i] = gather_bins(&all, own[combined.count + i], split);
    const Atom *values = reduce_bins(&all, hist, bins, split->workers);
    for (int i = 0; i < hist->op.count; i++)
      vec_push(&combined, values[i]);
  }
  core_let_vars(b, stm->binders, stm->binder_count,
                exp_if(more, core_body(&all, combined.at, combined.count),
                       spread_no_stms(b, own, stm->binder_count)));
}

// ---- all of them

SegOp *spread_block_seg(Spread *s, Builder *b, const SegOp *seg, const RowSplit *split,
                        bool *whole) {
  SegOp *out = mem_copy(seg, sizeof *seg);
  SegDim *dims = mem_copy(seg->dims, sizeof *dims * (size_t)seg->dim_count);
  dims[0] = (SegDim){ index_new(b, "j"), split->count };
  out->dims = dims;
  out->body = spread_reads(
      s, b, seg->body,
      (SpreadInputs){ seg->dims[0].index, dims[0].index, split, whole, seg });
  if (seg->hist_count) out->hists = spread_dests(s, b, seg, split);
  return out;
}

void spread_seg(Spread *s, Builder *b, const Stm *stm, const RowSplit *split) {
  const SegOp *seg = stm->exp->u.seg;
  bool whole_inputs = true;
  b->loc = stm->loc;
  const SegOp *divided = spread_block_seg(s, b, seg, split, &whole_inputs);
  Atom *blocks = spread_add_blocks(s, b, stm, divided, split, whole_inputs);
  bool across = seg->dim_count == 1;  // what it combines is that of several workers
  if (across && seg->kind == SEG_RED)
    spread_reduction(s, b, stm, blocks, split);
  else if (across && seg->kind == SEG_SCAN)
    spread_scan(s, b, stm, blocks, split);
  else if (across && seg->kind == SEG_HIST)
    spread_histogram(b, stm, blocks, split);
  else
    gather_from(s, b, stm, blocks, split);
}
