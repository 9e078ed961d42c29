// A row per point, cut into chunks:
//
//   reduce   partials[p][c] = op over chunk c           result[p] = op over partials[p]
//   scan     partials[p][c] = op over chunk c           partials[p][c] = op of those before c
//            scan of the chunk, from partials[p][c]
//   hist     copies[p][c] = histogram of chunk c        dest[p] = op dest[p] copies[p][..]
//
// Why: a grid of few points leaves cores idle.  (docs/opencl.md:
// few items with contiguous chunks on a CPU.)
#include "kern/kern_ask.h"
#include "kern/schedules/bands.h"
#include "kern/schedules/cut.h"

enum {
  UNKNOWN_ROUNDS = 4,
  VECTOR_LANES = 16,
  ROWS_IN_BANDS = 256,
  LANES_OF_ITEM = 1024,  // of columns that an item goes through together (sweep.c)
};

// ---- taking the kernel apart

static bool find_row(Cut *x) {
  for (int i = 0; i < x->point->count; i++) {
    const KernStm *stm = &x->point->stms[i];
    if (stm->kind != KERN_AXIS) continue;
    AxisRole role = stm->u.axis->role;
    if (role != AXIS_REDUCE && role != AXIS_SCAN && role != AXIS_HIST) return false;
    x->at = i;
    x->row = stm->u.axis;
    return i + 1 == x->point->count || role == AXIS_REDUCE;
  }
  return false;
}

bool cut_take_apart(Cut *x) {
  const KernBlock *b = x->kern->body;
  while (b->count == 1 && b->stms[0].kind == KERN_AXIS &&
         b->stms[0].u.axis->bind == BIND_GRID) {
    if (x->grid_count == 15) return false;
    x->grid[x->grid_count++] = b->stms[0].u.axis;
    b = b->stms[0].u.axis->body;
  }
  x->point = b;
  return find_row(x);
}

// ---- what the host decides

static const Term *rows_of(const Cut *x) {
  const Term *rows = term_i64(1);
  for (int i = 0; i < x->grid_count; i++) {
    const Term *width = x->grid[i]->width;
    if (x->columns && i + 1 == x->grid_count)
      width = term_ceil_div(width, term_i64(LANES_OF_ITEM));
    rows = term_mul(rows, width);
  }
  return rows;
}

// A reduction whose partial results a scan takes has the scan's chunks.
Name kern_chunk_param(Compiler *c, const KernSeg *seg, const char *what) {
  const char *name = seg->share == SHARE_NONE ? text_format("%s.%s", seg->name, what)
                                              : text_format("segscan_%s", what);
  return name_of(c->names, name);
}

static const Term *tuned(Cut *x, const char *what) {
  return term_tuning(kern_chunk_param(x->c, x->seg, what));
}

// How many elements an element is worth: one, and one for each round of the loops within.
static const Term *worth_of(const Cut *x, const KernBlock *block) {
  const Term *sum = term_i64(1);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    KernBlockVec blocks = kern_blocks(stm);
    const Term *rounds = term_i64(1);
    if (stm->kind == KERN_AXIS && kern_host_knows(x->kern, stm->u.axis->width))
      rounds = stm->u.axis->width;
    else if (stm->kind == KERN_AXIS)
      rounds = term_i64(UNKNOWN_ROUNDS);
    vec_each (const KernBlock **, within, &blocks) {
      const Term *inner = worth_of(x, *within);
      if (stm->kind == KERN_AXIS || !term_is_i64(inner, 1))
        sum = term_add(sum, term_mul(rounds, inner));
    }
  }
  return sum;
}

// As many chunks as give every compute unit work, but none smaller than is worth an item; copies of
// histograms cost no more than the elements themselves.  Scans compute elements twice in chunks; a
// reduction for a scan has the same ones.
static const Term *most_chunks(Cut *x) {
  const Term *width = term_max(x->row->width, term_i64(1)), *worth = term_i64(1);
  if (x->row->role != AXIS_SCAN && !x->seg->share) worth = worth_of(x, x->row->body);
  if (x->columns) {
    const Term *lanes = x->grid[x->grid_count - 1]->width;
    worth = term_mul(worth, term_min(lanes, term_i64(LANES_OF_ITEM)));
  }
  bool plain = term_is_i64(worth, 1);
  const Term *elements = plain ? width : term_mul(width, worth), *most;
  if (x->row->role != AXIS_HIST)
    most = term_ceil_div(elements, tuned(x, "chunk"));
  else {
    const Term *bins = term_i64(1);
    for (int i = 0; i < x->row->hist_count; i++)
      if (!x->row->hists[i].chained) bins = term_add(bins, x->row->hists[i].width);
    most = term_quot(plain ? x->row->width : elements, bins);
  }
  return plain ? most : term_min(width, most);
}

// A multiple of what vectors hold, so that small ones leave no points to scalars; but fewer, if the
// points may have vectors of their own.
static const Term *size_of_chunk(KernBuilder *b, const Term *width, const Term *most,
                                 bool loops) {
  const Term *even =
                 term_ceil_div(width, kern_let(b, "most", term_max(most, term_i64(1)))),
             *size = kern_let(b, "even", term_max(even, term_i64(1))),
             *lanes = term_i64(VECTOR_LANES),
             *unit = loops ? lanes : kern_let(b, "unit", term_min(lanes, size));
  return term_mul(term_ceil_div(size, unit), unit);
}

static void see_loop(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS && stm->u.axis->role == AXIS_LOOP) *(bool *)v->state = true;
}

static bool has_loops(const KernBlock *block) {
  bool loops = false;
  KernVisitor v = { .stm = see_loop, .state = &loops };
  kern_visit_block(&v, block);
  return loops;
}

static const Term *count_of_chunks(const Term *width, const Term *size) {
  return term_max(term_i64(1), term_ceil_div(width, size));
}

static void decide(Cut *x, KernBuilder *b) {
  const Term *rows = kern_let(b, "rows", rows_of(x));
  const Term *wanted = term_ceil_div(tuned(x, "items"), term_max(rows, term_i64(1)));
  const Term *most = term_min(wanted, most_chunks(x));
  x->out->size = kern_let(
      b, "chunk_size",
      size_of_chunk(b, x->row->width, most, !x->seg->share && has_loops(x->row->body)));
  x->out->count = kern_let(b, "chunks", count_of_chunks(x->row->width, x->out->size));
  x->out->pays = term_less(term_i64(1), x->out->count);
}

// ---- kernels

Copy cut_fresh_point(Cut *x) {
  Copy copy = { .point = NULL };
  Map *replace = map_new(NULL);
  for (int i = 0; i < x->grid_count; i++) {
    copy.indices[i] = var_like(x->c, x->grid[i]->index);
    map_put(replace, x->grid[i]->index, term_var(copy.indices[i]));
  }
  copy.point = kern_rename(x->c, replace, x->point);
  copy.row = copy.point->stms[x->at].u.axis;
  return copy;
}

const Kern *cut_in_grid(Cut *x, const Copy *copy, const Axis *last,
                        const KernBlock *block, const char *suffix) {
  Name name = name_of(x->c->names, text_format("%s_%s", x->kern->name, suffix));
  for (int i = x->grid_count; i >= 0; i--) {
    if (i == x->grid_count && !last) continue;
    Axis axis = i == x->grid_count ? *last : *x->grid[i];
    if (i < x->grid_count) axis.index = copy->indices[i];
    axis.body = block;
    KernBuilder b = kern_builder(x->c, x->kern->loc);
    kern_axis(&b, axis, NULL, 0);
    block = kern_block(&b, NULL, 0);
  }
  Kern kern = *x->kern;
  kern.name = name;
  kern.body = block;
  kern.starts = x->starts;
  return kern_name_axes(x->c, &kern);
}

Axis cut_chunk_axis(Cut *x) {
  return (Axis){ .index = kern_index(x->c, "c", x->kern->loc),
                 .width = x->out->count,
                 .role = AXIS_MAP,
                 .bind = BIND_GRID };
}

void cut_before_row(Cut *x, KernBuilder *b, const Copy *copy) {
  for (int i = 0; i < x->at; i++)
    kern_add(b, copy->point->stms[i]);
}

Axis cut_chunk_of(Cut *x, KernBuilder *b, const Axis *row, const Var *chunk) {
  const Term *start = kern_let(b, "start", term_mul(term_var(chunk), x->out->size));
  if (start->kind == TERM_VAR) map_put(x->starts, start->u.var, start->u.var);
  Axis axis = *row;
  axis.index = kern_index(x->c, row->index->name, row->index->loc);
  axis.width = kern_let(b, "length", term_min(x->out->size, term_sub(row->width, start)));
  KernBuilder body = kern_builder(x->c, x->kern->loc);
  kern_let_var(&body, row->index, term_add(start, term_var(axis.index)));
  for (int i = 0; i < row->body->count; i++)
    kern_add(&body, row->body->stms[i]);
  axis.body = kern_block(&body, row->body->results, row->body->result_count);
  return axis;
}

// Where columns are in lanes, they lie side by side, so that cores store to lines of their own.
static void chunk_before_columns(const Cut *x, const Term **terms) {
  int last = x->grid_count - 1;
  const Term *chunk = terms[last + 1];
  terms[last + 1] = terms[last];
  terms[last] = chunk;
}

Access cut_temp_at(Cut *x, const Tensor *temp, const Copy *copy, const Term *chunk,
                   const Term *bin) {
  const Term **index = new_array(const Term *, x->grid_count + 3);
  int n = 0;
  for (; n < x->grid_count; n++)
    index[n] = term_var(copy->indices[n]);
  index[n++] = chunk;
  if (x->columns) chunk_before_columns(x, index);
  if (bin) index[n++] = bin;
  return (Access){ temp, index };
}

const Tensor *cut_temp_new(Cut *x, const char *name, PrimType elem, const Term *bins) {
  const Term **dims = new_array(const Term *, x->grid_count + 3);
  int n = 0;
  for (; n < x->grid_count; n++)
    dims[n] = x->grid[n]->width;
  dims[n++] = x->out->count;
  if (x->columns) chunk_before_columns(x, dims);
  if (bins) dims[n++] = bins;
  return tensor_new(x->c, name, elem, dims, n, TENSOR_GLOBAL);
}

// ---- reductions and scans

static const Var *const *fresh_values(Cut *x, const Axis *axis, const char *name) {
  const Var **vars = new_array(const Var *, kern_sum_count(axis) + 1);
  for (int o = 0, next = 0; o < axis->op_count; o++)
    for (int k = 0; k < axis->ops[o].count; k++)
      vars[next++] =
          var_new(x->c, name_of(x->c->names, name),
                  type_scalar(axis->ops[o].params[k]->type.elem), x->kern->loc);
  return vars;
}

const Term *const *cut_terms(const Var *const *vars, int count) {
  const Term **terms = new_array(const Term *, count + 1);
  for (int i = 0; i < count; i++)
    terms[i] = term_var(vars[i]);
  return terms;
}

void cut_make_partials(Cut *x) {
  int count = kern_sum_count(x->row);
  const Tensor **temps = new_array(const Tensor *, count + 1);
  for (int o = 0, next = 0; o < x->row->op_count; o++)
    for (int k = 0; k < x->row->ops[o].count; k++)
      temps[next++] =
          cut_temp_new(x, "partials", x->row->ops[o].params[k]->type.elem, NULL);
  x->out->temps = temps;
  x->out->temp_count = count;
}

// Without stores to the host's arrays: a scan's first phase stores nothing else.
static const KernBlock *without_stores(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    bool outside = stm->kind == KERN_STORE &&
                   tensor_root(stm->u.store.to.tensor)->space == TENSOR_GLOBAL;
    b.loc = stm->loc;
    if (!outside) kern_add(&b, kern_map_stm(m, stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

static Axis as_reduction(Cut *x, Axis axis) {
  if (axis.role != AXIS_SCAN) return axis;
  KernMapper m = { .c = x->c, .block = without_stores };
  axis.role = AXIS_REDUCE;
  axis.body = without_stores(&m, axis.body);
  axis.sums = NULL;
  axis.after = NULL;
  return axis;
}

// partials[p][c] = op over the chunk
const KernBlock *cut_partial_sums(Cut *x, const Copy *copy, const Var *number) {
  KernBuilder b = kern_builder(x->c, x->kern->loc);
  cut_before_row(x, &b, copy);
  Axis chunk = as_reduction(x, cut_chunk_of(x, &b, copy->row, number));
  int count = kern_sum_count(&chunk);
  const Var *const *totals = fresh_values(x, &chunk, "total");
  kern_axis(&b, chunk, totals, count);
  for (int i = 0; i < count; i++)
    kern_store(&b, cut_temp_at(x, x->out->temps[i], copy, term_var(number), NULL),
               term_var(totals[i]));
  return kern_block(&b, NULL, 0);
}

static const Kern *reduce_chunks(Cut *x) {
  Copy copy = cut_fresh_point(x);
  Axis grid = cut_chunk_axis(x);
  const KernBlock *point = cut_partial_sums(x, &copy, grid.index);
  const char *suffix = x->row->role == AXIS_SCAN ? "sums" : "chunks";
  return cut_in_grid(x, &copy, &grid, point, suffix);
}

// An axis over a point's partial results, with the operators of the row.
static Axis over_partials(Cut *x, const Copy *copy, KernBuilder *body,
                          const Var *const *values) {
  Axis axis = { .index = kern_index(x->c, "c", x->kern->loc),
                .width = x->out->count,
                .role = AXIS_REDUCE,
                .ops = copy->row->ops,
                .op_count = copy->row->op_count };
  *body = kern_builder(x->c, x->kern->loc);
  for (int i = 0; i < x->out->temp_count; i++)
    kern_load_var(body, values[i],
                  cut_temp_at(x, x->out->temps[i], copy, term_var(axis.index), NULL));
  return axis;
}

// The point, whose statements before the row are in `b`, with the axis in the place of the row.
static const Kern *in_place_of_row(Cut *x, const Copy *copy, KernBuilder *b, Axis axis,
                                   const char *suffix) {
  const KernStm *row = &copy->point->stms[x->at];
  kern_axis(b, axis, row->binders, row->binder_count);
  for (int i = x->at + 1; i < copy->point->count; i++)
    kern_add(b, copy->point->stms[i]);
  return cut_in_grid(x, copy, NULL, kern_block(b, NULL, 0), suffix);
}

const Kern *cut_combine_partials(Cut *x, const char *suffix) {
  Copy copy = cut_fresh_point(x);
  KernBuilder b = kern_builder(x->c, x->kern->loc), body;
  cut_before_row(x, &b, &copy);
  const Var *const *values = fresh_values(x, copy.row, "partial");
  Axis axis = over_partials(x, &copy, &body, values);
  int count = x->out->temp_count;
  axis.body = kern_block(&body, cut_terms(values, count), count);
  return in_place_of_row(x, &copy, &b, axis, suffix);
}

// A partial result of a column, of all in its bands of all chunks, which lie behind one another.
static const KernBlock *part_of_column(Cut *x, const Copy *copy, const Term *part,
                                       const Term *parts) {
  KernBuilder b = kern_builder(x->c, x->kern->loc);
  int count = x->out->temp_count, last = x->grid_count - 1;
  const Var *const *values = fresh_values(x, copy->row, "partial");
  for (int i = 0; i < count; i++) {
    const Tensor *temp = x->out->temps[i];
    const Term **dims = mem_copy(temp->dims, sizeof *dims * (size_t)temp->rank);
    dims[last] = parts;
    dims[last + 1] = x->grid[last]->width;
    const Tensor *view = tensor_view(x->c, temp, dims, temp->rank);
    kern_load_var(&b, values[i], cut_temp_at(x, view, copy, part, NULL));
  }
  return kern_block(&b, cut_terms(values, count), count);
}

// The row that is so many behind those in bands.
static const KernBlock *row_behind(Cut *x, const Bands *bands, const Axis *row,
                                   const Term *behind) {
  KernBuilder b = kern_builder(x->c, x->kern->loc);
  kern_let_var(&b, row->index, term_add(bands->summed, behind));
  for (int i = 0; i < row->body->count; i++)
    kern_add(&b, row->body->stms[i]);
  return kern_block(&b, row->body->results, row->body->result_count);
}

// result[p][j] = op over partials[p][c][band * m + j] of all bands, and the rows behind them
static const Kern *combine_bands(Cut *x, const Bands *bands) {
  Copy copy = cut_fresh_point(x);
  KernBuilder b = kern_builder(x->c, x->kern->loc), body = b;
  cut_before_row(x, &b, &copy);
  const Var *part = kern_index(x->c, "part", b.loc);
  const Var *const *values = fresh_values(x, copy.row, "value");
  const Term *parts = kern_let(&b, "parts", term_mul(bands->count, x->out->count));
  const KernBlock *in_bands = part_of_column(x, &copy, term_var(part), parts);
  const KernBlock *behind =
      row_behind(x, bands, copy.row, term_sub(term_var(part), parts));
  int count = x->out->temp_count;
  kern_add(&body, (KernStm){ .kind = KERN_IF,
                             .binders = values,
                             .binder_count = count,
                             .u.cond = { term_less(term_var(part), parts), in_bands,
                                         behind, 0, false } });
  Axis axis = *copy.row;
  axis.index = part;
  axis.width = term_add(parts, term_sub(copy.row->width, bands->summed));
  axis.body = kern_block(&body, cut_terms(values, count), count);
  return in_place_of_row(x, &copy, &b, axis, "combine");
}

// partials[p][c] = op of those before c: a scan that stores what came before.
static const Kern *scan_partials(Cut *x) {
  Copy copy = cut_fresh_point(x);
  KernBuilder b = kern_builder(x->c, x->kern->loc), body, place;
  int count = x->out->temp_count;
  const Var *const *values = fresh_values(x, copy.row, "partial");
  const Var *const *before = fresh_values(x, copy.row, "before");
  const Var *const *after = fresh_values(x, copy.row, "so_far");
  Axis sum = over_partials(x, &copy, &body, values);
  Axis loop = { .index = sum.index,
                .width = sum.width,
                .role = AXIS_LOOP,
                .params = before,
                .param_count = count };
  const Term **inits = new_array(const Term *, count + 1);
  for (int o = 0, next = 0; o < sum.op_count; o++)
    for (int k = 0; k < sum.ops[o].count; k++)
      inits[next++] = sum.ops[o].neutral[k];
  loop.inits = inits;
  for (int i = 0; i < count; i++)
    kern_store(&body, cut_temp_at(x, x->out->temps[i], &copy, term_var(loop.index), NULL),
               term_var(before[i]));
  // One more element: a reduction of one point, that begins with what came before.
  sum.index = kern_index(x->c, "one", x->kern->loc);
  sum.width = term_i64(1);
  sum.inits = cut_terms(before, count);
  place = kern_builder(x->c, x->kern->loc);
  sum.body = kern_block(&place, cut_terms(values, count), count);
  kern_axis(&body, sum, after, count);
  loop.body = kern_block(&body, cut_terms(after, count), count);
  kern_axis(&b, loop, fresh_values(x, copy.row, "all"), count);
  return cut_in_grid(x, &copy, NULL, kern_block(&b, NULL, 0), "before");
}

static const Kern *scan_chunks(Cut *x) {
  Copy copy = cut_fresh_point(x);
  Axis grid = cut_chunk_axis(x);
  KernBuilder b = kern_builder(x->c, x->kern->loc);
  cut_before_row(x, &b, &copy);
  int count = x->out->temp_count;
  const Var *const *before = fresh_values(x, copy.row, "before");
  for (int i = 0; i < count; i++)
    kern_load_var(&b, before[i],
                  cut_temp_at(x, x->out->temps[i], &copy, term_var(grid.index), NULL));
  Axis chunk = cut_chunk_of(x, &b, copy.row, grid.index);
  chunk.inits = cut_terms(before, count);
  chunk.after = kern_use_spare(x->c, chunk.after, term_var(grid.index));
  kern_axis(&b, chunk, NULL, 0);
  return cut_in_grid(x, &copy, &grid, kern_block(&b, NULL, 0), "chunks");
}

// ---- the phases

void cut_add_phase(Chunks *out, const Kern *kern, KernUse use) {
  out->phases[out->phase_count] = kern;
  out->uses[out->phase_count++] = use;
}

static void add_phases(Cut *x) {
  if (x->row->role == AXIS_HIST) {
    cut_make_copies(x);
    cut_add_phase(x->out, cut_fill_copies(x), USE_CHUNKS);
    cut_add_phase(x->out, cut_combine_copies(x), USE_POINTS);
    return;
  }
  cut_make_partials(x);
  if (x->seg->share != SHARE_TAKE) cut_add_phase(x->out, reduce_chunks(x), USE_CHUNKS);
  if (x->row->role == AXIS_REDUCE) {
    cut_add_phase(x->out, cut_combine_partials(x, "combine"), USE_FEW);
    return;
  }
  cut_add_phase(x->out, scan_partials(x), USE_FEW);
  cut_add_phase(x->out, scan_chunks(x), USE_CHUNKS);
}

bool kern_in_chunks(Compiler *c, const Kern *kern, const KernSeg *seg, Chunks *out) {
  Cut x = { .c = c, .kern = kern, .seg = seg, .out = out, .starts = map_new(NULL) };
  KernBuilder lets = kern_builder(c, kern->loc);
  *out = (Chunks){ 0 };
  if (!cut_take_apart(&x)) return false;
  decide(&x, &lets);
  add_phases(&x);
  out->lets = kern_block(&lets, NULL, 0);
  return true;
}

bool kern_columns_in_chunks(Compiler *c, const Kern *kern, const KernSeg *seg,
                            Chunks *out) {
  Cut x = {
    .c = c, .kern = kern, .seg = seg, .columns = true, .out = out, .starts = map_new(NULL)
  };
  KernBuilder lets = kern_builder(c, kern->loc);
  Bands bands;
  *out = (Chunks){ 0 };
  if (seg->share || !cut_take_apart(&x) || !kern_in_bands(&lets, kern, &bands))
    return false;
  Cut in_bands = x;
  in_bands.kern = bands.kern;
  in_bands.grid_count = 0;
  if (!cut_take_apart(&in_bands)) return false;
  decide(&in_bands, &lets);
  out->pays = term_at_most(term_i64(ROWS_IN_BANDS), x.row->width);
  out->lets = kern_block(&lets, NULL, 0);
  cut_make_partials(&in_bands);
  cut_add_phase(out, reduce_chunks(&in_bands), USE_CHUNKS);
  Kern named = *kern;
  named.name = bands.kern->name;
  x.kern = &named;
  cut_add_phase(out, combine_bands(&x, &bands), USE_FEW);
  return true;
}

bool kern_hist_in_chunks(Compiler *c, const KernSeg *seg, Chunks *out) {
  const HistChunks *hist = seg->hist;
  const Kern *combine = hist ? kern_inline(c, hist->combine) : NULL;
  if (!hist || kern_has_checks(combine->body)) return false;
  KernBuilder b = kern_builder(c, seg->kern->loc);
  const Term *items = term_tuning(kern_chunk_param(c, seg, "items")),
             *wanted = term_ceil_div(items, term_max(hist->rows, term_i64(1))),
             *most = term_quot(hist->width, hist->bins);
  kern_let_var(&b, hist->size,
               size_of_chunk(&b, hist->width, term_min(wanted, most), true));
  kern_let_var(&b, hist->count, count_of_chunks(hist->width, term_var(hist->size)));
  *out = (Chunks){ .lets = kern_block(&b, NULL, 0),
                   .count = term_var(hist->count),
                   .pays = term_less(term_i64(1), term_var(hist->count)),
                   .size = term_var(hist->size),
                   .temps = hist->temps,
                   .temp_count = hist->temp_count };
  cut_add_phase(out, kern_inline(c, hist->fill), USE_CHUNKS);
  cut_add_phase(out, combine, USE_POINTS);
  return true;
}
