// Copies of whole arrays by CPUs.
//
//   rows side by side in both         row by row, if they are short
//   a short dimension                 its elements within the point, so that neighbouring points
//                                     read and write runs of memory
//   rows of one, columns of the other squares of vectors, which are transposed in registers: both
//                                     arrays are touched in whole cache lines, whatever the
//                                     distance of their rows
#include "imp/lower/lower.h"

enum {
  LEAST_LANES = 4,  // of a square
  TILE = 64,        // squares within this many rows and columns follow one another
  LINE_BYTES = 64,
  LONG_SIDE = 1024,
  SHORT_ROW = 128,   // elements; more are worth the beginning of a loop
  MOST_INSIDE = 16,  // elements of short dimensions, one by one
  LEAST_RUN = 64,    // points with such elements; fewer are less than an item is worth
  FLAT_RUN = 512     // likewise, of one element each
};

// `inside`: the dimensions that each point goes through.
typedef struct ArrayCopy {
  Code *host;
  const Arr *to, *from;
  const ImpExp **at;  // the element
  SegDim *dims;
  unsigned inside;
  int run;  // the innermost dimension of the space
} ArrayCopy;

static bool is_unit(const Arr *arr, int d) { return imp_is_i64(arr->strides[d], 1); }

static bool is_backwards(const Arr *arr, int d) {
  return imp_is_i64(arr->strides[d], -1);
}

static bool is_row(const Arr *arr, int d) {
  return is_unit(arr, d) || is_backwards(arr, d);
}

// The width, if it is constant and small; else 0.
static int64_t short_width(const Arr *arr, int d) {
  const ImpExp *width = arr->shape[d];
  if (width->kind != IMP_CONST) return 0;
  int64_t value = width->u.constant.u.i;
  return value >= 1 && value <= MOST_INSIDE ? value : 0;
}

static ArrayCopy begin_copy(Code *host, const Arr *to, const Arr *from) {
  Compiler *c = host->lower->c;
  ArrayCopy copy = { .host = host, .to = to, .from = from };
  copy.at = new_array(const ImpExp *, to->rank + 1);
  copy.dims = new_array(SegDim, to->rank + 1);
  for (int d = 0; d < to->rank; d++) {
    const Var *index =
        var_new(c, name_of(c->names, "i"), type_scalar(PRIM_I64), host->b->loc);
    copy.dims[d] = (SegDim){ index, code_atom(host, to->shape[d]) };
    copy.at[d] = imp_var(index);
  }
  return copy;
}

// ---- points that go through short dimensions

typedef struct CopiedElement {
  const ImpExp *place, *value;
} CopiedElement;

typedef Vec(CopiedElement) CopiedElements;

// All loads stand before all stores: nobody else knows that the arrays are two.
static void unrolled(const ArrayCopy *copy, ImpBuilder *b, int d,
                     CopiedElements *elements) {
  while (d < copy->to->rank && !(copy->inside >> d & 1))
    d++;
  if (d == copy->to->rank) {
    const ImpExp *value = arr_load(copy->from, arr_index(copy->from, copy->at));
    vec_push(elements,
             (CopiedElement){ arr_index(copy->to, copy->at), imp_let(b, "x", value) });
    return;
  }
  for (int64_t i = 0; i < short_width(copy->to, d); i++) {
    copy->at[d] = imp_i64(i);
    unrolled(copy, b, d + 1, elements);
  }
}

static void store_all(const ArrayCopy *copy, ImpBuilder *b) {
  CopiedElements elements = { 0 };
  unrolled(copy, b, 0, &elements);
  vec_each (CopiedElement *, element, &elements)
    imp_store(b, copy->to->mem, element->place, element->value);
}

static void looped(const ArrayCopy *copy, ImpBuilder *b, int d) {
  while (d < copy->to->rank && !(copy->inside >> d & 1))
    d++;
  if (d == copy->to->rank) {
    imp_store(b, copy->to->mem, arr_index(copy->to, copy->at),
              arr_load(copy->from, arr_index(copy->from, copy->at)));
    return;
  }
  ImpBuilder round = { .c = b->c, .loc = b->loc };
  looped(copy, &round, d + 1);
  imp_for(b, copy->dims[d].index, copy->to->shape[d], round.block);
}

static bool all_short(const ArrayCopy *copy) {
  for (int d = 0; d < copy->to->rank; d++)
    if (copy->inside >> d & 1 && !short_width(copy->to, d)) return false;
  return true;
}

// Would vectors of points read or write with gaps only in one of the arrays?
static bool joins_points(const ArrayCopy *copy) {
  return copy->inside && is_unit(copy->from, copy->run) != is_unit(copy->to, copy->run);
}

// The space: the dimensions but for those inside, `run` last.
static void copy_inside(Code *host, const Arr *to, const Arr *from, unsigned inside,
                        int run) {
  ArrayCopy copy = begin_copy(host, to, from);
  copy.inside = inside;
  copy.run = run;
  SegDim *space = new_array(SegDim, to->rank + 1);
  int count = 0;
  for (int d = 0; d < to->rank; d++)
    if (d != run && !(inside >> d & 1)) space[count++] = copy.dims[d];
  if (run >= 0) space[count++] = copy.dims[run];
  KernelCode *kernel = kernel_begin(host, host->b->loc);
  Items items = { .least = inside ? LEAST_RUN : FLAT_RUN,
                  .independent = joins_points(&copy) };
  items_open_runs(&items, host, kernel, space, count);
  if (all_short(&copy))
    store_all(&copy, &items.inner);
  else
    looped(&copy, &items.inner, 0);
  items_close(&items, "copy_short");
}

// The short dimensions that lie innermost in either array.
static unsigned short_dimensions(const Arr *to, const Arr *from) {
  unsigned inside = 0;
  int64_t count = 1;
  for (int d = 0; d + 1 < to->rank; d++)
    if (is_unit(from, d) && short_width(to, d) && !inside) {
      inside |= 1u << d;
      count *= short_width(to, d);
    }
  for (int d = to->rank - 1; d > 0; d--) {
    if (inside >> d & 1) continue;
    count *= short_width(to, d);
    if (!count || count > MOST_INSIDE) break;
    inside |= 1u << d;
  }
  return inside;
}

static bool copy_short(Code *host, const Arr *to, const Arr *from) {
  unsigned inside = short_dimensions(to, from);
  int run = to->rank - 1;
  while (run >= 0 && inside >> run & 1)
    run--;
  if (!inside || run < 0) return false;
  copy_inside(host, to, from, inside, run);
  return true;
}

// ---- squares

typedef struct Square {
  ArrayCopy copy;
  int across, lanes;  // the dimension along which rows of `from` run
} Square;

static const ImpExp *vector_let(ImpBuilder *b, const char *name, const ImpExp *value) {
  return imp_vector_var(imp_declare(b, name, value), value->lanes);
}

// Exchanges what lies `apart` off the diagonal of each square of 2 * apart vectors and lanes.
static void swap_squares(ImpBuilder *b, const ImpExp **rows, int lanes, int apart) {
  for (int i = 0; i < lanes; i++) {
    if (i & apart) continue;
    signed char *low = new_array(signed char, lanes),
                *high = new_array(signed char, lanes);
    for (int k = 0; k < lanes; k++) {
      low[k] = (signed char)(k & apart ? lanes + k - apart : k);
      high[k] = (signed char)(k & apart ? lanes + k : k + apart);
    }
    const ImpExp *a = rows[i], *c = rows[i + apart];
    rows[i] = vector_let(b, "turned", imp_permute(a, c, low));
    rows[i + apart] = vector_let(b, "turned", imp_permute(a, c, high));
  }
}

static void copy_square(const Square *s, ImpBuilder *b) {
  const ArrayCopy *copy = &s->copy;
  int last = copy->to->rank - 1;
  const ImpExp *rows[MOST_INSIDE];
  bool backwards = is_backwards(copy->from, s->across);
  const ImpExp *from = arr_index(copy->from, copy->at);
  from = imp_let(b, "from", backwards ? imp_sub(from, imp_i64(s->lanes - 1)) : from);
  for (int i = 0; i < s->lanes; i++) {
    const ImpExp *step = imp_mul(copy->from->strides[last], imp_i64(i));
    rows[i] =
        vector_let(b, "row", imp_vload(copy->from->mem, imp_add(from, step), s->lanes));
  }
  for (int apart = s->lanes / 2; apart > 0; apart /= 2)
    swap_squares(b, rows, s->lanes, apart);
  const ImpExp *to = imp_let(b, "to", arr_index(copy->to, copy->at));
  for (int i = 0; i < s->lanes; i++) {
    const ImpExp *step = imp_mul(copy->to->strides[s->across], imp_i64(i));
    imp_store(b, copy->to->mem, imp_add(to, step),
              rows[backwards ? s->lanes - 1 - i : i]);
  }
}

// Where the squares of a tile begin in a dimension, the last one moved inside.
typedef struct Squares {
  const Var *number;
  const ImpExp *count, *at;
} Squares;

static Squares squares_of(const Square *s, Code *k, Code *inner, int d) {
  const ImpExp *width = s->copy.to->shape[d], *lanes = imp_i64(s->lanes);
  const ImpExp *first = imp_mul(imp_var(s->copy.dims[d].index), imp_i64(TILE));
  first = imp_let(k->b, "first", first);
  const ImpExp *length = imp_min(imp_i64(TILE), imp_sub(width, first));
  Squares all = { .number = code_index(k, "square") };
  all.count = imp_let(k->b, "squares", imp_ceil_div(length, lanes));
  const ImpExp *at = imp_add(first, imp_mul(imp_var(all.number), lanes));
  all.at = imp_let(inner->b, "at", imp_min(at, imp_sub(width, lanes)));
  return all;
}

static void copy_tile(const Square *s, Code *k) {
  int last = s->copy.to->rank - 1;
  ImpBuilder rows, columns;
  Code row = code_inner(k, &rows), column = code_inner(&row, &columns);
  Squares down = squares_of(s, k, &row, s->across),
          along = squares_of(s, &row, &column, last);
  s->copy.at[s->across] = down.at;
  s->copy.at[last] = along.at;
  copy_square(s, &columns);
  imp_for(&rows, along.number, along.count, columns.block);
  imp_for(k->b, down.number, down.count, rows.block);
}

// The space: the dimensions but for the two, then their tiles.
static void copy_squares(Code *host, const Arr *to, const Arr *from, int across,
                         int lanes) {
  Square s = { .copy = begin_copy(host, to, from), .across = across, .lanes = lanes };
  int last = to->rank - 1, count = 0;
  SegDim *space = new_array(SegDim, to->rank + 1);
  for (int d = 0; d < last; d++)
    if (d != across) space[count++] = s.copy.dims[d];
  for (int i = 0; i < 2; i++) {
    SegDim *tiles = &s.copy.dims[i ? last : across];
    const ImpExp *width = to->shape[i ? last : across];
    tiles->width = code_atom(host, imp_ceil_div(width, imp_i64(TILE)));
    space[count++] = *tiles;
  }
  KernelCode *kernel = kernel_begin(host, host->b->loc);
  Items items = { .least = 1 };
  items_open_runs(&items, host, kernel, space, count);
  copy_tile(&s, &kernel->code);
  items_close(&items, "copy_squares");
}

// ---- which of them

// The dimension along which the rows of `from` run, forwards or backwards; -1 if the last one will
// do, or none does.
static int row_dimension(const Arr *to, const Arr *from) {
  int last = to->rank - 1;
  if (last < 0 || !is_unit(to, last) || is_row(from, last)) return -1;
  for (int d = 0; d < last; d++)
    if (is_row(from, d)) return d;
  return -1;
}

// The few rows or columns within the points.
static void copy_narrow(Code *host, const Arr *to, const Arr *from, int across) {
  int last = to->rank - 1;
  ImpBuilder rows, columns;
  Code rows_code = code_inner(host, &rows), columns_code = code_inner(host, &columns);
  copy_inside(&rows_code, to, from, 1u << across, last);
  copy_inside(&columns_code, to, from, 1u << last, across);
  const ImpExp *few_rows = imp_less(to->shape[across], to->shape[last]);
  imp_if_else(host->b, few_rows, rows.block, columns.block);
}

// Squares of whole lines of memory pay beyond caches; else smaller ones leave less at the ends.
static int64_t least_side(const Arr *arr, int lanes) {
  bool lines = lanes * prim_size_bytes(arr->elem) == LINE_BYTES;
  return lines && lanes > 8 ? LONG_SIDE : lanes;
}

// In the largest squares that fit in.
static void copy_transposed(Code *host, const Arr *to, const Arr *from, int across,
                            int lanes) {
  int last = to->rank - 1;
  const ImpExp *least = imp_min(to->shape[across], to->shape[last]);
  ImpBuilder large, small;
  Code large_code = code_inner(host, &large), small_code = code_inner(host, &small);
  copy_squares(&large_code, to, from, across, lanes);
  if (lanes > LEAST_LANES)
    copy_transposed(&small_code, to, from, across, lanes / 2);
  else
    copy_narrow(&small_code, to, from, across);
  imp_if_else(host->b, imp_less(least, imp_i64(least_side(to, lanes))), small.block,
              large.block);
}

// Rows that are side by side in both, and shorter than what a loop is worth.
static void copy_rows(Code *host, const Arr *to, const Arr *from) {
  int last = to->rank - 1;
  ImpBuilder few, many;
  Code few_code = code_inner(host, &few), many_code = code_inner(host, &many);
  copy_inside(&few_code, to, from, 1u << last, last - 1);
  copy_inside(&many_code, to, from, 0, last);
  imp_if_else(host->b, imp_less(to->shape[last], imp_i64(SHORT_ROW)), few.block,
              many.block);
}

bool copy_by_rows(const Arr *to, const Arr *from) {
  int across = row_dimension(to, from), last = to->rank - 1;
  if (across >= 0) return !short_width(to, across) && !short_width(to, last);
  return to->rank > 1 && is_unit(to, last) && is_unit(from, last) &&
         !short_width(to, last);
}

void copy_on_cpu(Code *host, const Arr *to, const Arr *from) {
  if (!to->rank) {
    copy_inside(host, to, from, 0, -1);
    return;
  }
  int across = from->mem ? row_dimension(to, from) : -1, last = to->rank - 1;
  if (copy_short(host, to, from)) return;
  if (across >= 0)
    copy_transposed(host, to, from, across, prim_size_bytes(to->elem) > 4 ? 8 : 16);
  else if (to->rank >= 2 && from->mem && is_unit(from, last) && is_unit(to, last))
    copy_rows(host, to, from);
  else
    copy_inside(host, to, from, 0, last);
}
