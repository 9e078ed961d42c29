//   axis i: i < n grid {
//     axis j: j < m grid {
//       s = axis k: k < p reduce { .. xs[k, i] .. ys[k, j] .. }   out[i, j] = f(s)
//   =>
//   axis c: c < p / L grid {
//     axis i, j { partials[i, c, j] = axis k: k < L reduce { .. xs[c * L + k, i] .. } }
//   axis i, j { s = axis c: c < p / L reduce { partials[i, c, j] }    out[i, j] = f(s) }
//
// where the sums are long and all columns of a chunk of L rows lie in a cache: covariances, normal
// equations.  Why: tiles of few pairs go through all rows one after the other, each from memory.
#include "base/map.h"
#include "kern/kern_ask.h"
#include "kern/schedules/cut.h"

enum {
  CHUNK_BYTES =
      1 << 17,  // of the rows of a chunk, which the second cache holds beside others
  HELD_BYTES = 1 << 21,  // of all rows, that it holds
  LEAST_ROWS = 128,      // of a chunk: fewer are not worth the partial results
  MEET_BYTES = 2048,     // between rows: a column lies in one of 32 sets of a cache
  LEAST_WIDTH = 8,       // of each dimension: fewer are few tiles
};

typedef struct SharedColumns {
  const Cut *x;
  const Map *lets;
  const Axis *rows, *columns;
  int by_rows, by_columns, others;  // loads of what neighbours of each axis share
  int bytes;                        // of the largest element
} SharedColumns;

static void see_let(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_LET) map_put(v->state, stm->binders[0], stm->u.term);
}

// Does that index, or any but that one (`unit` < 0: any at all), mention it?
static bool mentions_at(const SharedColumns *r, Access a, int only, int but,
                        const Var *var) {
  for (int d = 0; d < a.tensor->rank; d++) {
    if (d == but || (only >= 0 && d != only)) continue;
    const Term *at = term_inlined(r->lets, a.index[d]);
    if (!at || term_mentions(at, var)) return true;
  }
  return false;
}

// A load of neighbours of the axis, a row for each element of the sum.
static bool is_row_of(const SharedColumns *r, Access a, const Axis *axis,
                      const Axis *other) {
  int unit = tensor_unit_dim(a.tensor);
  return unit >= 0 && mentions_at(r, a, unit, -1, axis->index) &&
         !mentions_at(r, a, -1, unit, axis->index) &&
         !mentions_at(r, a, -1, -1, other->index) &&
         !mentions_at(r, a, unit, -1, r->x->row->index);
}

static void see_load(KernVisitor *v, Access a, bool stores) {
  SharedColumns *r = v->state;
  int bytes = prim_size_bytes(a.tensor->elem);
  if (stores || !mentions_at(r, a, -1, -1, r->x->row->index)) return;
  if (bytes > r->bytes) r->bytes = bytes;
  if (is_row_of(r, a, r->rows, r->columns))
    r->by_rows++;
  else if (is_row_of(r, a, r->columns, r->rows))
    r->by_columns++;
  else
    r->others += mentions_at(r, a, -1, -1, r->rows->index) ||
                 mentions_at(r, a, -1, -1, r->columns->index);
}

static bool reads_columns_of_both(SharedColumns *r) {
  Map *lets = map_new(NULL);
  KernVisitor all = { .stm = see_let, .state = lets },
              loads = { .access = see_load, .state = r };
  kern_visit_block(&all, r->x->kern->body);
  r->lets = lets;
  kern_visit_block(&loads, r->x->row->body);
  return r->by_rows && r->by_columns && !r->others;
}

static bool knows_widths(const Cut *x) {
  for (int i = 0; i < x->grid_count; i++)
    if (!kern_host_knows(x->kern, x->grid[i]->width)) return false;
  return kern_host_knows(x->kern, x->row->width);
}

// Do rows of so many elements lie so far apart that a column's meet in few sets of a cache?
static const Term *rows_meet(const SharedColumns *r, const Term *width) {
  const Term *apart = term_op2(OP_MOD, width, term_i64(MEET_BYTES / r->bytes));
  return term_op2(OP_EQ, apart, term_i64(0));
}

// As many rows as a part of the cache holds, and so many that partial results are at most twice of
// what is read.  Pays where the cache does not hold all of them, and partial results are no more
// than what is read, or a tile's columns drive each other out of it.
static void size_chunks(Cut *x, const SharedColumns *r, KernBuilder *b) {
  const Term *n = r->rows->width, *m = r->columns->width, *p = x->row->width;
  const Term *across = kern_let(b, "across", term_max(term_add(n, m), term_i64(1)));
  const Term *fit = term_quot(term_i64(CHUNK_BYTES / r->bytes), across),
             *least = term_max(fit, term_i64(LEAST_ROWS)), *pairs = term_mul(n, m),
             *half = term_ceil_div(pairs, term_mul(term_i64(2), across));
  Chunks *out = x->out;
  out->size = kern_let(b, "chunk_size", term_max(least, half));
  out->count = kern_let(b, "chunks", term_max(term_i64(1), term_ceil_div(p, out->size)));
  const Term *large = term_less(term_i64(HELD_BYTES / r->bytes), term_mul(p, across)),
             *few = term_at_most(pairs, term_mul(out->size, across)),
             *meet = term_and(rows_meet(r, n), term_less(out->size, p)),
             *wide = term_at_most(term_i64(LEAST_WIDTH), term_min(n, m));
  out->pays = term_and(term_and(wide, term_or(few, meet)), large);
}

// The chunks outside of the points, so that all of these go through one while it lies in the cache.
static const Kern *chunks_outside(Cut *x, const Kern *points, Axis chunks) {
  KernBuilder b = kern_builder(x->c, x->kern->loc);
  chunks.body = points->body;
  kern_axis(&b, chunks, NULL, 0);
  Kern *kern = mem_copy(points, sizeof *points);
  kern->body = kern_block(&b, NULL, 0);
  return kern_name_axes(x->c, kern);
}

static const Kern *pieces(Cut *x) {
  Copy copy = cut_fresh_point(x);
  Axis chunks = cut_chunk_axis(x);
  const KernBlock *point = cut_partial_sums(x, &copy, chunks.index);
  return chunks_outside(x, cut_in_grid(x, &copy, NULL, point, "pieces"), chunks);
}

bool kern_products_in_chunks(Compiler *c, const Kern *kern, Chunks *out) {
  Cut x = { .c = c, .kern = kern, .columns = true, .out = out, .starts = map_new(NULL) };
  *out = (Chunks){ 0 };
  if (!cut_take_apart(&x) || x.row->role != AXIS_REDUCE || x.grid_count != 2 ||
      !knows_widths(&x))
    return false;
  SharedColumns reads = { .x = &x, .rows = x.grid[0], .columns = x.grid[1] };
  if (!reads_columns_of_both(&reads)) return false;
  KernBuilder lets = kern_builder(c, kern->loc);
  size_chunks(&x, &reads, &lets);
  out->lets = kern_block(&lets, NULL, 0);
  cut_make_partials(&x);
  cut_add_phase(out, pieces(&x), USE_POINTS);
  cut_add_phase(out, cut_combine_partials(&x, "sum"), USE_POINTS);
  return true;
}
