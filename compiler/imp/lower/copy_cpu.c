// Copies of whole arrays by CPUs.
//
//   rows side by side in both         row by row, if they are short
//   a short dimension                 its elements within the point, so that neighbouring points
//                                     read and write runs of memory
//   records of 8 or 16 bits each      some of each record's elements, or every second element, of
//                                     16 points at once, by permutations of vectors; other
//                                     numbers the device's compiler moves as well
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

static const ImpExp *vector_let(ImpBuilder *b, const char *name, const ImpExp *value) {
  return imp_vector_var(imp_declare(b, name, value), value->lanes);
}

// ---- records of narrow numbers

enum { POINTS = 16, MOST_STEP = 16, MOST_PARTS = 8 };

// Of each point the elements source[0], source[1], .. fill a record; points are `step` apart where
// they come from.
typedef struct Records {
  ArrayCopy copy;
  int64_t source[MOST_INSIDE];
  int size, filled;
  int64_t step, low, high;  // the first and the last element of POINTS points
} Records;

static bool constant_of(const ImpExp *e, int64_t *out) {
  if (e->kind != IMP_CONST) return false;
  *out = e->u.constant.u.i;
  return true;
}

// The elements of the dimensions from `d` on; false: not all of them are known, or fit in.
static bool fill_records(Records *r, int d, int64_t to, int64_t from) {
  const ArrayCopy *copy = &r->copy;
  int64_t to_step, from_step;
  while (d < copy->to->rank && !(copy->inside >> d & 1))
    d++;
  if (d == copy->to->rank) {
    if (to < 0 || to >= r->size || r->filled >= r->size) return false;
    r->source[to] = from;
    r->filled++;
    return true;
  }
  if (!constant_of(copy->to->strides[d], &to_step) ||
      !constant_of(copy->from->strides[d], &from_step))
    return false;
  for (int64_t i = 0; i < short_width(copy->to, d); i++)
    if (!fill_records(r, d + 1, to + i * to_step, from + i * from_step)) return false;
  return true;
}

static bool fills_each_once(const Records *r) {
  if (r->filled != r->size) return false;
  for (int i = 0; i < r->size; i++)
    if (r->source[i] == INT64_MIN) return false;
  return true;
}

static bool find_records(Records *r) {
  const ArrayCopy *copy = &r->copy;
  int64_t size;
  if (!copy->from->mem || prim_size_bytes(copy->to->elem) > 2 || !all_short(copy) ||
      !constant_of(copy->to->strides[copy->run], &size) ||
      !constant_of(copy->from->strides[copy->run], &r->step))
    return false;
  int64_t apart = r->step < 0 ? -r->step : r->step;
  if (size < 1 || size > MOST_INSIDE || apart < 2 || apart > MOST_STEP ||
      apart > MOST_PARTS * size)
    return false;
  r->size = (int)size;
  for (int i = 0; i < r->size; i++)
    r->source[i] = INT64_MIN;
  if (!fill_records(r, 0, 0, 0) || !fills_each_once(r)) return false;
  r->low = r->high = r->source[0];
  for (int i = 0; i < r->size; i++) {
    if (r->source[i] < r->low) r->low = r->source[i];
    if (r->source[i] > r->high) r->high = r->source[i];
  }
  *(r->step < 0 ? &r->low : &r->high) += (POINTS - 1) * r->step;
  return r->high - r->low < MOST_STEP * POINTS * 2;
}

// Where the vector `part` of those that are loaded begins; the last one ends with the last element.
static int64_t part_begin(const Records *r, int part) {
  int64_t begin = part * POINTS, last = r->high - r->low + 1 - POINTS;
  return begin < last ? begin : last;
}

// The lanes of the stored vector `number`, from the parts that have them.
static const ImpExp *joined_parts(const Records *r, ImpBuilder *b, int number,
                                  const ImpExp **parts) {
  const ImpExp *out = NULL;
  bool have[POINTS] = { 0 };
  for (int part = 0, left = POINTS; left; part++) {
    signed char *from = new_array(signed char, POINTS);
    bool any = false;
    for (int lane = 0; lane < POINTS; lane++) {
      int element = number * POINTS + lane;
      int64_t at = element / r->size * r->step + r->source[element % r->size] - r->low;
      int64_t in_part = at - part_begin(r, part);
      from[lane] = (signed char)(have[lane] ? lane : 0);
      if (have[lane] || in_part < 0 || in_part >= POINTS) continue;
      from[lane] = (signed char)(out ? POINTS + in_part : in_part);
      have[lane] = any = true;
      left--;
    }
    if (any)
      out = vector_let(
          b, "joined",
          imp_permute(out ? out : parts[part], out ? parts[part] : NULL, from));
  }
  return out;
}

static void copy_block(const Records *r, ImpBuilder *b) {
  const ArrayCopy *copy = &r->copy;
  const ImpExp *parts[MOST_STEP * 2];
  const ImpExp *from = imp_let(b, "from", arr_index(copy->from, copy->at)),
               *to = imp_let(b, "to", arr_index(copy->to, copy->at));
  int count = (int)((r->high - r->low + POINTS) / POINTS);
  for (int part = 0; part < count; part++) {
    const ImpExp *at = imp_add(from, imp_i64(r->low + part_begin(r, part)));
    parts[part] = vector_let(b, "part", imp_vload(copy->from->mem, at, POINTS));
  }
  for (int i = 0; i < r->size; i++)
    imp_store(b, copy->to->mem, imp_add(to, imp_i64(i * POINTS)),
              joined_parts(r, b, i, parts));
}

// The last block is moved inside.
static void copy_blocks(Code *host, const Records *records, SegDim *space, int count) {
  Records r = *records;
  ArrayCopy *copy = &r.copy;
  const ImpExp *width = copy->to->shape[copy->run];
  space[count - 1].width = code_atom(host, imp_ceil_div(width, imp_i64(POINTS)));
  KernelCode *kernel = kernel_begin(host, host->b->loc);
  Items items = { .least = LEAST_RUN };
  items_open_runs(&items, host, kernel, space, count);
  const ImpExp *first = imp_mul(imp_var(space[count - 1].index), imp_i64(POINTS));
  copy->at[copy->run] =
      imp_let(&items.inner, "at", imp_min(first, imp_sub(width, imp_i64(POINTS))));
  for (int d = 0; d < copy->to->rank; d++)
    if (copy->inside >> d & 1) copy->at[d] = imp_i64(0);
  copy_block(&r, &items.inner);
  items_close(&items, "copy_records");
}

// ---- point by point

static void copy_each(Code *host, const ArrayCopy *copy, SegDim *space, int count) {
  KernelCode *kernel = kernel_begin(host, host->b->loc);
  Items items = { .least = copy->inside ? LEAST_RUN : FLAT_RUN,
                  .independent = joins_points(copy) };
  items_open_runs(&items, host, kernel, space, count);
  if (all_short(copy))
    store_all(copy, &items.inner);
  else
    looped(copy, &items.inner, 0);
  items_close(&items, "copy_short");
}

// The space: the dimensions but for those inside, `run` last.
static void copy_inside(Code *host, const Arr *to, const Arr *from, unsigned inside,
                        int run) {
  Records records = { .copy = begin_copy(host, to, from) };
  ArrayCopy *copy = &records.copy;
  copy->inside = inside;
  copy->run = run;
  SegDim *space = new_array(SegDim, to->rank + 1);
  int count = 0;
  for (int d = 0; d < to->rank; d++)
    if (d != run && !(inside >> d & 1)) space[count++] = copy->dims[d];
  if (run >= 0) space[count++] = copy->dims[run];
  if (run < 0 || !find_records(&records)) {
    copy_each(host, copy, space, count);
    return;
  }
  ImpBuilder few, many;
  Code few_code = code_inner(host, &few), many_code = code_inner(host, &many);
  SegDim *blocks = new_array(SegDim, count);
  for (int i = 0; i < count; i++)
    blocks[i] = space[i];
  copy_each(&few_code, copy, space, count);
  copy_blocks(&many_code, &records, blocks, count);
  imp_if_else(host->b, imp_less(to->shape[run], imp_i64(POINTS)), few.block, many.block);
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
