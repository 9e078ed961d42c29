// What combines floats on the host, in blocks that follow from the number of elements alone
// (fixed_order.c).
#include "core/fixed_order.h"

enum {
  BLOCKS = 1024,     // at most, of a reduction or scan
  BIN_BLOCKS = 256,  // of a histogram; fewer if bins are more than elements in a block
  LANES = 64,  // neighbouring elements of a long block that are summed up side by side
  LONG_BLOCK = 256,  // elements
};

// ---- small things

static const Var *new_index(const Builder *b, const char *name) {
  return var_new(b->c, name_of(b->c->names, name), type_scalar(PRIM_I64), b->loc);
}

static Atom op2(Builder *b, const char *name, PrimOp op, Atom x, Atom y) {
  return core_let(b, name, exp_op2(op, x, y));
}

// ceil(x / y), of numbers that are not negative
static Atom ceil_div(Builder *b, Atom x, Atom y) {
  return op2(b, "blocks", OP_QUOT, size_add(b, x, size_sub(b, y, atom_i64(1))), y);
}

static Atom at_least_one(Builder *b, Atom x) {
  return op2(b, "size", OP_MAX, x, atom_i64(1));
}

// map (index < width) {body}
static void add_map(Builder *b, const Var *index, Atom width, const Body *body,
                    const StmAttrs *attrs, Atom *out) {
  Atom points = core_let(b, "points", exp_iota(width, atom_i64(0), atom_i64(1)));
  b->attrs = attrs;
  core_let_n(
      b, "block",
      exp_map(width, lambda_new(&index, 1, body), mem_copy(&points, sizeof points), 1),
      out);
  b->attrs = NULL;
}

// With the map in it, one space of points.
static const StmAttrs *flat(void) { return new_node(StmAttrs, .only_inner = true); }

// A point is one item's.
static const StmAttrs *one_item(void) {
  return new_node(StmAttrs, .sequential_inner = true);
}

// so_far, then elements first, first + step, .., `count` of them: as the operators combine them.
static Atom *sum_up(Builder *b, const Summed *s, const Atom *so_far, Atom first,
                    Atom step, Atom count) {
  Atom *out = new_array(Atom, s->values + 1);
  OrderedRounds r = rounds_begin(b, so_far, s->values, count);
  Atom at = size_add(&r.b, first, size_mul(&r.b, atom_var(r.index), step));
  rounds_end(b, &r, summed_combined(&r.b, s, r.now, summed_values(&r.b, s, at)), out);
  return out;
}

// ---- blocks

typedef struct Blocks {
  Atom size, count, lanes;
  bool cut;  // arrays hold blocks already: [count][size]
} Blocks;

// Of `width` elements; side by side: in lanes, if blocks are long.
static Blocks blocks_of(Builder *b, Atom width, bool side_by_side) {
  Blocks out = { .lanes = atom_i64(1) };
  out.size = at_least_one(b, ceil_div(b, width, atom_i64(BLOCKS)));
  if (side_by_side) {
    Atom is_long = op2(b, "long", OP_LE, atom_i64(LONG_BLOCK), out.size);
    Atom more = core_let(b, "more", exp_convert(PRIM_I64, is_long));
    out.lanes = size_add(b, size_mul(b, more, atom_i64(LANES - 1)), atom_i64(1));
    out.size = size_mul(b, ceil_div(b, out.size, out.lanes), out.lanes);
  }
  out.count = ceil_div(b, width, out.size);
  return out;
}

// The same operators over arrays of values.
static Summed of_arrays(Builder *b, const Summed *s, Atom width, const Atom *arrays) {
  Summed out = *s;
  out.width = width;
  out.fn = lambda_identity_over(b, "value", arrays, s->values);
  out.arrays = mem_copy(arrays, sizeof *arrays * (size_t)s->values);
  return out;
}

// All that the function returns for each element, in blocks, so that one worker makes and combines
// them.  Behind the end of the last block are values of the last element.
static Atom *map_blocks(Builder *b, const Soac *soac, Blocks *blocks) {
  const Var *block = new_index(b, "b"), *index = new_index(b, "j");
  Builder outer = builder_new(b->c, b->loc), inner = outer;
  int count = soac->fn.body->result_count;
  Atom *rows = new_array(Atom, count + 1), *out = new_array(Atom, count + 1);
  Atom start = size_mul(&outer, atom_var(block), blocks->size);
  Atom last = size_sub(&outer, soac->width, atom_i64(1));
  Atom at = op2(&inner, "at", OP_MIN, size_add(&inner, start, atom_var(index)), last);
  Summed s = { .fn = soac->fn, .arrays = soac->arrays };
  const Atom *values = summed_values(&inner, &s, at);
  add_map(&outer, index, blocks->size, core_body(&inner, values, count), NULL, rows);
  add_map(b, block, blocks->count, core_body(&outer, rows, count), flat(), out);
  blocks->cut = true;
  return out;
}

// What is combined in a block: `length` elements from `first` on.
static Summed in_block(Builder *b, const Summed *s, const Blocks *blocks,
                       const Var *block, Atom *first, Atom *length) {
  Atom start = size_mul(b, atom_var(block), blocks->size);
  *first = blocks->cut ? atom_i64(0) : start;
  *length = op2(b, "length", OP_MIN, blocks->size, size_sub(b, s->width, start));
  if (!blocks->cut) return *s;
  Atom *rows = new_array(Atom, s->values + 1);
  for (int i = 0; i < s->values; i++)
    rows[i] = array_element(b, s->arrays[i], atom_var(block));
  return of_arrays(b, s, blocks->size, rows);
}

static bool is_side_by_side(const Summed *s) {
  for (int o = 0; o < s->op_count; o++) {
    if (!s->ops[o].commutative || core_has_soac(s->ops[o].op.body)) return false;
    for (int i = 0; i < s->ops[o].count; i++)
      if (atom_type(s->ops[o].neutral[i]).rank) return false;
  }
  return true;
}

// [count][lanes]: lane l of a block has elements l, l + lanes, ..
static Atom *sum_lanes(Builder *b, const Summed *s, const Blocks *blocks) {
  const Var *block = new_index(b, "b"), *lane = new_index(b, "l");
  Builder outer = builder_new(b->c, b->loc), inner = outer;
  Atom start, length;
  Summed own = in_block(&outer, s, blocks, block, &start, &length);
  Atom each = op2(&outer, "rounds", OP_QUOT, length, blocks->lanes);
  Atom first = size_add(&inner, start, atom_var(lane));
  Atom *sums = sum_up(&inner, &own, summed_neutral(s), first, blocks->lanes, each);
  Atom *row = new_array(Atom, s->values + 1), *out = new_array(Atom, s->values + 1);
  add_map(&outer, lane, blocks->lanes, core_body(&inner, sums, s->values), one_item(),
          row);
  add_map(b, block, blocks->count, core_body(&outer, row, s->values), flat(), out);
  return out;
}

// [count]: the lanes of a block one after the other, then what was left of the last block.
static Atom *sum_blocks(Builder *b, const Summed *s, const Blocks *blocks,
                        const Atom *lanes) {
  const Var *block = new_index(b, "b");
  Builder inner = builder_new(b->c, b->loc);
  Atom *rows = new_array(Atom, s->values + 1), *out = new_array(Atom, s->values + 1);
  for (int i = 0; i < s->values; i++)
    rows[i] = array_element(&inner, lanes[i], atom_var(block));
  Summed of_lanes = of_arrays(&inner, s, blocks->lanes, rows);
  Atom zero = atom_i64(0), one = atom_i64(1);
  Atom *sums = sum_up(&inner, &of_lanes, summed_neutral(s), zero, one, blocks->lanes);
  Atom start, length;
  Summed own = in_block(&inner, s, blocks, block, &start, &length);
  Atom left = op2(&inner, "left", OP_REM, length, blocks->lanes);
  Atom first = size_add(&inner, start, size_sub(&inner, length, left));
  sums = sum_up(&inner, &own, sums, first, one, left);
  add_map(b, block, blocks->count, core_body(&inner, sums, s->values), one_item(), out);
  return out;
}

// [count]: each block from its first element to its last.
static Atom *sum_whole_blocks(Builder *b, const Summed *s, const Blocks *blocks) {
  const Var *block = new_index(b, "b");
  Builder inner = builder_new(b->c, b->loc);
  Atom start, length;
  Summed own = in_block(&inner, s, blocks, block, &start, &length);
  Atom *sums = sum_up(&inner, &own, summed_neutral(s), start, atom_i64(1), length);
  Atom *out = new_array(Atom, s->values + 1);
  add_map(b, block, blocks->count, core_body(&inner, sums, s->values), one_item(), out);
  return out;
}

// In one item: the results of `body`, which is at its only point.
static Atom *in_one_item(Builder *b, const Body *body) {
  Atom *out = new_array(Atom, body->result_count + 1);
  add_map(b, new_index(b, "z"), atom_i64(1), body, one_item(), out);
  for (int i = 0; i < body->result_count; i++)
    out[i] = array_element(b, out[i], atom_i64(0));
  return out;
}

static void bind_ordered(Builder *b, const Stm *stm, int first, const Atom *atoms,
                         int count) {
  for (int i = 0; i < count; i++)
    core_let_vars(b, &stm->binders[first + i], 1, exp_atom(atoms[i]));
}

// The first `width` of the elements in all blocks.
static Atom flattened(Builder *b, Atom blocks, Atom width) {
  CoreType type = atom_type(blocks);
  Atom *dims = new_array(Atom, type.rank);
  DimIndex *kept = new_array(DimIndex, type.rank);
  dims[0] = size_mul(b, type.dims[0], type.dims[1]);
  kept[0] = dim_slice(atom_i64(0), width, atom_i64(1));
  for (int i = 1; i < type.rank - 1; i++) {
    dims[i] = type.dims[i + 1];
    kept[i] = dim_slice(atom_i64(0), dims[i], atom_i64(1));
  }
  Atom flat = core_let(b, "flat", exp_reshape(dims, type.rank - 1, blocks));
  return core_let(b, "scanned", exp_slice(flat, kept, false));
}

// The values that are combined, in blocks if the function has versions of its own or makes other
// arrays, too, which are bound here.
static Summed values_of(Builder *b, const Stm *stm, Blocks *blocks) {
  const Soac *soac = &stm->exp->u.soac;
  Summed s = summed_of(soac);
  int others = soac->fn.body->result_count - s.values;
  if (!others && !core_has_soac(soac->fn.body)) return s;
  Atom *arrays = map_blocks(b, soac, blocks);
  for (int i = s.values; i < s.values + others; i++)
    arrays[i] = flattened(b, arrays[i], s.width);
  bind_ordered(b, stm, s.values, arrays + s.values, others);
  s.arrays = arrays;
  return s;
}

void order_reduction(Builder *b, const Stm *stm) {
  Summed s = summed_of(&stm->exp->u.soac);
  bool side_by_side = is_side_by_side(&s);
  Blocks blocks = blocks_of(b, s.width, side_by_side);
  s = values_of(b, stm, &blocks);
  const Atom *sums = side_by_side ? sum_blocks(b, &s, &blocks, sum_lanes(b, &s, &blocks))
                                  : sum_whole_blocks(b, &s, &blocks);
  Builder inner = builder_new(b->c, b->loc);
  Summed of_blocks = of_arrays(&inner, &s, blocks.count, sums);
  sums = sum_up(&inner, &of_blocks, summed_neutral(&s), atom_i64(0), atom_i64(1),
                blocks.count);
  bind_ordered(b, stm, 0, in_one_item(b, core_body(&inner, sums, s.values)), s.values);
}

// ---- scans

// A round that stores what it has, before it adds the values of the element or after that.
typedef struct ScanLoop {
  Atom first, count, size;  // elements; of the array that is made
  bool before;
} ScanLoop;

// The sums of all, then the array of the sums so far, for each value.
static Atom *scan_loop(Builder *b, const Summed *s, ScanLoop loop) {
  int values = s->values;
  Atom *inits = new_array(Atom, 2 * values + 1), *next = new_array(Atom, 2 * values + 1);
  Atom *neutral = summed_neutral(s);
  for (int i = 0; i < values; i++) {
    inits[i] = neutral[i];
    inits[values + i] = array_scratch(b, loop.size, atom_type(neutral[i]));
  }
  OrderedRounds r = rounds_begin(b, inits, 2 * values, loop.count);
  Atom index = atom_var(r.index), at = size_add(&r.b, loop.first, index);
  const Atom *sums = summed_combined(&r.b, s, r.now, summed_values(&r.b, s, at));
  for (int i = 0; i < values; i++) {
    next[i] = sums[i];
    next[values + i] =
        array_with_row(&r.b, r.now[values + i], index, loop.before ? r.now[i] : sums[i]);
  }
  Atom *out = new_array(Atom, 2 * values + 1);
  rounds_end(b, &r, next, out);
  return out;
}

// totals [count], then local [count][size], for each value.
static Atom *scan_each_block(Builder *b, const Summed *s, const Blocks *blocks) {
  const Var *block = new_index(b, "b");
  Builder inner = builder_new(b->c, b->loc);
  Atom start, length;
  Summed own = in_block(&inner, s, blocks, block, &start, &length);
  Atom *local = scan_loop(&inner, &own, (ScanLoop){ start, length, blocks->size, false });
  Atom *out = new_array(Atom, 2 * s->values + 1);
  add_map(b, block, blocks->count, core_body(&inner, local, 2 * s->values), one_item(),
          out);
  return out;
}

// [count]: what the blocks before each have summed up.
static Atom *carries(Builder *b, const Summed *s, const Blocks *blocks,
                     const Atom *totals) {
  Builder inner = builder_new(b->c, b->loc);
  Summed of_totals = of_arrays(&inner, s, blocks->count, totals);
  Atom *sums = scan_loop(&inner, &of_totals,
                         (ScanLoop){ atom_i64(0), blocks->count, blocks->count, true });
  return in_one_item(b, core_body(&inner, sums + s->values, s->values));
}

// [count][size]: carry[b] + local[b, j]
static Atom *with_carries(Builder *b, const Summed *s, const Blocks *blocks,
                          const Atom *carry, const Atom *local) {
  const Var *block = new_index(b, "b"), *index = new_index(b, "j");
  Builder outer = builder_new(b->c, b->loc), inner = outer;
  Atom *before = new_array(Atom, s->values + 1), *rows = new_array(Atom, s->values + 1);
  Atom *values = new_array(Atom, s->values + 1), *out = new_array(Atom, s->values + 1);
  for (int i = 0; i < s->values; i++) {
    before[i] = array_element(&outer, carry[i], atom_var(block));
    rows[i] = array_element(&outer, local[i], atom_var(block));
  }
  for (int i = 0; i < s->values; i++)
    values[i] = array_element(&inner, rows[i], atom_var(index));
  const Atom *sums = summed_combined(&inner, s, before, values);
  add_map(&outer, index, blocks->size, core_body(&inner, sums, s->values), one_item(),
          rows);
  add_map(b, block, blocks->count, core_body(&outer, rows, s->values), flat(), out);
  return out;
}

void order_scan(Builder *b, const Stm *stm) {
  Blocks blocks = blocks_of(b, stm->exp->u.soac.width, false);
  Summed s = values_of(b, stm, &blocks);
  Atom *each = scan_each_block(b, &s, &blocks);
  Atom *carry = carries(b, &s, &blocks, each);
  Atom *all = with_carries(b, &s, &blocks, carry, each + s.values);
  for (int i = 0; i < s.values; i++)
    all[i] = flattened(b, all[i], s.width);
  bind_ordered(b, stm, 0, all, s.values);
}

// ---- histograms

// [length] of an array's rows from `start` on
static Atom rows_from(Builder *b, Atom array, Atom start, Atom length) {
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  dims[0] = dim_slice(start, length, atom_i64(1));
  for (int i = 1; i < type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
  return core_let(b, "rows", exp_slice(array, dims, false));
}

// One of the histograms of a statement: its bins and values, in arrays.
typedef struct Counted {
  const HistOp *hist;
  Atom width;
  const Atom *arrays;  // indices, then values
} Counted;

// Fewer blocks if there are many bins: all bins of all blocks are as many as elements.
static Blocks blocks_of_bins(Builder *b, const Exp *exp) {
  Atom width = exp->u.hist.width, bins = atom_i64(1);
  for (int i = 0; i < exp->u.hist.op_count; i++)
    bins = op2(b, "bins", OP_MAX, bins, exp->u.hist.ops[i].width);
  Atom most = op2(b, "most", OP_QUOT, width, bins);
  most = op2(b, "most", OP_MIN, at_least_one(b, most), atom_i64(BIN_BLOCKS));
  Blocks out = { .lanes = atom_i64(1) };
  out.size = at_least_one(b, ceil_div(b, width, most));
  out.count = ceil_div(b, width, out.size);
  return out;
}

// The elements of a block.
static Atom rows_of_block(Builder *b, const Counted *h, const Blocks *blocks, Atom block,
                          Atom array) {
  Atom start = size_mul(b, block, blocks->size), first = start;
  Atom length = op2(b, "length", OP_MIN, blocks->size, size_sub(b, h->width, start));
  if (blocks->cut) array = array_element(b, array, block);
  if (blocks->cut) first = atom_i64(0);
  return rows_from(b, array, first, length);
}

// The histogram of elements, from neutral bins.
static Atom *count_rows(Builder *b, const Counted *h, Atom *rows) {
  int count = h->hist->op.count;
  HistOp *own = mem_copy(h->hist, sizeof *h->hist);
  Atom *dests = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    dests[i] = core_let(b, "bins", exp_replicate(own->width, own->op.neutral[i]));
  own->dests = dests;
  own->op.op = core_rename_lambda(b->c, subst_new(), own->op.op);
  const Exp *exp =
      new_node(Exp, .kind = EXP_HIST,
               .u.hist = { .width = atom_type(rows[0]).dims[0],
                           .fn = lambda_identity_over(b, "value", rows, count + 1),
                           .arrays = rows,
                           .array_count = count + 1,
                           .ops = own,
                           .op_count = 1 });
  Atom *out = new_array(Atom, count);
  b->attrs = new_node(StmAttrs, .sequential = true);
  core_let_n(b, "bins", exp, out);
  b->attrs = NULL;
  return out;
}

// [blocks][bins] for each value
static Atom *count_blocks(Builder *b, const Counted *h, const Blocks *blocks) {
  const Var *block = new_index(b, "b");
  Builder inner = builder_new(b->c, b->loc);
  Atom *rows = new_array(Atom, h->hist->op.count + 1);
  for (int i = 0; i <= h->hist->op.count; i++)
    rows[i] = rows_of_block(&inner, h, blocks, atom_var(block), h->arrays[i]);
  Atom *bins = count_rows(&inner, h, rows), *out = new_array(Atom, h->hist->op.count);
  add_map(b, block, blocks->count, core_body(&inner, bins, h->hist->op.count), one_item(),
          out);
  return out;
}

// array[:, index, ..]
static Atom column(Builder *b, Atom array, Atom index) {
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int i = 0; i < type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
  dims[1] = dim_fix(index);
  return core_let(b, "column", exp_slice(array, dims, false));
}

// [bins]: what the destination holds, then the blocks.
static Atom *add_bins(Builder *b, const HistOp *hist, const Blocks *blocks,
                      const Atom *bins) {
  const Var *bin = new_index(b, "bin");
  int count = hist->op.count;
  Builder inner = builder_new(b->c, b->loc);
  Atom *columns = new_array(Atom, count), *first = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    first[i] = array_element(&inner, hist->dests[i], atom_var(bin));
    columns[i] = column(&inner, bins[i], atom_var(bin));
  }
  Summed s = { .ops = &hist->op, .op_count = 1, .values = count };
  s = of_arrays(&inner, &s, blocks->count, columns);
  const Atom *sums = sum_up(&inner, &s, first, atom_i64(0), atom_i64(1), blocks->count);
  Atom *out = new_array(Atom, count);
  add_map(b, bin, hist->width, core_body(&inner, sums, count), one_item(), out);
  return out;
}

void order_histogram(Builder *b, const Stm *stm) {
  const Exp *exp = stm->exp;
  int hists = exp->u.hist.op_count, at = 0;
  Soac all = { .width = exp->u.hist.width,
               .fn = exp->u.hist.fn,
               .arrays = exp->u.hist.arrays,
               .array_count = exp->u.hist.array_count };
  Blocks blocks = blocks_of_bins(b, exp);
  const Atom *made =
      lambda_is_identity(&all.fn) ? all.arrays : map_blocks(b, &all, &blocks);
  for (int i = 0; i < hists; i++) {
    const HistOp *hist = &exp->u.hist.ops[i];
    Atom *arrays = new_array(Atom, hist->op.count + 1);
    arrays[0] = made[i];
    for (int k = 0; k < hist->op.count; k++)
      arrays[k + 1] = made[hists + at + k];
    Counted h = { hist, exp->u.hist.width, arrays };
    bind_ordered(b, stm, at, add_bins(b, hist, &blocks, count_blocks(b, &h, &blocks)),
                 hist->op.count);
    at += hist->op.count;
  }
}
