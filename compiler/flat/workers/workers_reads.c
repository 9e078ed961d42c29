// What the points of a divided space read: xs[i, ..]      =>  xs'[j, ..]
//                                          xs[i - 1, ..]  =>  xs''[j + base, ..]
//                                    xs[(i + 1) % n, ..]  =>  xs''[(j + base) % extent, ..]
//                                    xs[max 0 (i-1), ..]  =>  xs''[max 0 (i-1) + base', ..]
//                                            zs[i + k, ..]  =>  zs'[j + base'', ..]
//                                        zs[2 * i + 1, ..]  =>  zs''[2 * i + 1 - first, ..]
//                                                 zs[.., i]  =>  zs'[.., j + base]
//
// where i = start + j, xs' is the block of xs, and xs'' the block with rows of the neighbours
// before and after it; zs has another number of rows than the space has points (tails, slices), k
// is known on the host, and zs' are the rows (or columns) of zs that the points read, zs'' all
// between the first and the last of these.
#include "core/bounds.h"
#include "flat/workers/workers.h"

// How rows of an array are read.
typedef struct RowReads {
  int64_t least, most;  // xs[i + least] .. xs[i + most]
  bool ring;            // some of them around its ends
  bool others;          // and in other ways
  Atom *block;          // of the array, with a border if it has one; NULL: not made yet
  Atom before;          // rows of the border before the block
  Atom extent;          // rows with the border
} RowReads;

enum { MOST_DISTANCES = 4, MOST_STRIDE = 64 };

// The index stride * i + offset.
typedef struct StridedIndex {
  int64_t stride, offset;
} StridedIndex;

// How rows of an array of another size are read in steps: zs[stride * i + low .. high].
typedef struct StridedReads {
  int64_t stride, low, high;  // stride 0: not read so
  bool made;
  Atom rows, first;  // zs'', of which row 0 is zs[first]
} StridedReads;

// How rows of an array of another size are read: zs[i + k].
typedef struct FarReads {
  const RowPart *part;
  AtomVec distances;  // k
  AtomVec blocks;     // zs', as many when they are made
  AtomVec bases;
  StridedReads strided;
  bool others;  // in other ways, or at too many distances
} FarReads;

// Rows that all points read: zs[k].
typedef struct SingleReads {
  const RowPart *part;
  AtomVec at;    // k
  AtomVec rows;  // as many arrays of one row when they are fetched
  bool others;   // and read in other ways, for which all of it may be gathered
} SingleReads;

// How columns of an array are read, in a dimension of as many as there are points: zs[.., i].
typedef struct ColumnFetch {
  int dim;  // 0: none is read so
  bool made;
  Atom columns, base;  // zs', of which column j + base is zs[.., i]
  bool others;         // and in other ways
} ColumnFetch;

typedef struct PointReads {
  Spread *s;
  Builder *host;
  const RowSplit *split;
  Atom width;
  const Var *from, *to;  // i, j
  Map *host_vars;        // what is free in the seg-op
  Map *arrays;           // Var on the host, of as many rows as are divided -> RowReads
  Positions positions;
  Map *far;        // Var on the host, of another size -> FarReads
  Map *distances;  // Var -> Atom: k, of i + k
  Map *strides;    // Var -> StridedIndex
  Map *singles;    // Var on the host, distributed -> SingleReads
  Map *columns;    // Var on the host, distributed -> ColumnFetch
  bool *whole_inputs;
} PointReads;

// i + k
static void note_distance(PointReads *r, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (exp->kind != EXP_OP || exp->u.op.op != OP_ADD || exp->u.op.type != PRIM_I64) return;
  const Atom *args = exp->u.op.args;
  for (int i = 0; i < 2; i++) {
    bool is_host = args[!i].kind == ATOM_CONST || map_has(r->host_vars, args[!i].u.var);
    if (is_host && atom_equal(args[i], atom_var(r->from)))
      map_put(r->distances, stm->binders[0], &args[!i]);
  }
}

// Constants that are added up stay small.
static bool is_step(Atom a) {
  return a.kind == ATOM_CONST && a.u.constant.type == PRIM_I64 &&
         a.u.constant.u.i >= -MOST_STRIDE && a.u.constant.u.i <= MOST_STRIDE;
}

// i * c
static bool times_index(const PointReads *r, const Atom *args, StridedIndex *found) {
  for (int i = 0; i < 2; i++)
    if (atom_equal(args[i], atom_var(r->from)) && is_step(args[!i])) {
      *found = (StridedIndex){ args[!i].u.constant.u.i, 0 };
      return found->stride > 1;
    }
  return false;
}

// i * c + k
static bool plus_offset(const PointReads *r, const Atom *args, int sign,
                        StridedIndex *found) {
  for (int i = 0; i < (sign > 0 ? 2 : 1); i++) {
    const StridedIndex *of =
        args[i].kind == ATOM_VAR ? map_get(r->strides, args[i].u.var) : NULL;
    if (!of || !is_step(args[!i])) continue;
    int64_t offset = of->offset + sign * args[!i].u.constant.u.i;
    *found = (StridedIndex){ of->stride, offset };
    return offset >= -MOST_STRIDE && offset <= MOST_STRIDE;
  }
  return false;
}

static void note_stride(const PointReads *r, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (exp->kind != EXP_OP || exp->u.op.type != PRIM_I64 || !r->strides) return;
  const Atom *args = exp->u.op.args;
  PrimOp op = exp->u.op.op;
  StridedIndex found = { 0, 0 };
  bool is_one = op == OP_MUL   ? times_index(r, args, &found)
                : op == OP_ADD ? plus_offset(r, args, 1, &found)
                : op == OP_SUB ? plus_offset(r, args, -1, &found)
                               : false;
  if (is_one) map_put(r->strides, stm->binders[0], mem_copy(&found, sizeof found));
}

// ---- which rows are read

static RowReads *reads_of(const PointReads *r, Atom a) {
  return a.kind == ATOM_VAR ? map_get(r->arrays, a.u.var) : NULL;
}

bool spread_has_single_indices(const Exp *exp) {
  CoreType type = atom_type(exp->u.index.array);
  for (int i = 0; i < exp->u.index.dim_count; i++) {
    const DimIndex *dim = &exp->u.index.dims[i];
    if (dim->is_slice && !dim_is_whole(dim, type.dims[i])) return false;
  }
  return true;
}

// What is known of an array of which an index reads a row near i; NULL: it reads in another way.
static RowReads *row_read(const PointReads *r, const Exp *exp, RowPosition *at) {
  RowReads *reads = exp->kind == EXP_INDEX ? reads_of(r, exp->u.index.array) : NULL;
  if (!reads) return NULL;
  const DimIndex *row = &exp->u.index.dims[0];
  const RowPosition *position =
      row->is_slice ? NULL : spread_position(&r->positions, row->start);
  if (!position || position->loose) return NULL;
  bool is_own = position->least == 0 && position->most == 0;
  if (!is_own && exp->u.index.checked && !spread_has_single_indices(exp)) return NULL;
  *at = *position;
  return reads;
}

static void note_other(CoreVisitor *v, Atom a) {
  const PointReads *r = v->state;
  RowReads *reads = reads_of(r, a);
  FarReads *far = a.kind == ATOM_VAR ? map_get(r->far, a.u.var) : NULL;
  if (reads) reads->others = true;
  SingleReads *single = a.kind == ATOM_VAR ? map_get(r->singles, a.u.var) : NULL;
  ColumnFetch *columns = a.kind == ATOM_VAR ? map_get(r->columns, a.u.var) : NULL;
  if (far) far->others = true;
  if (single) single->others = true;
  if (columns) columns->others = true;
}

// What is known of an array of another size of which an index reads a row i + k.
static FarReads *far_read(const PointReads *r, const Exp *exp, Atom *distance) {
  if (exp->kind != EXP_INDEX || exp->u.index.checked) return NULL;
  Atom array = exp->u.index.array;
  const DimIndex *row = &exp->u.index.dims[0];
  FarReads *far = array.kind == ATOM_VAR ? map_get(r->far, array.u.var) : NULL;
  if (!far || row->is_slice || row->start.kind != ATOM_VAR) return NULL;
  const Atom *k = map_get(r->distances, row->start.u.var);
  if (k) *distance = *k;
  return k ? far : NULL;
}

// The same of one of which it reads a row i * c + k.
static FarReads *strided_read(const PointReads *r, const Exp *exp, StridedIndex *at) {
  if (exp->kind != EXP_INDEX || exp->u.index.array.kind != ATOM_VAR) return NULL;
  const DimIndex *row = &exp->u.index.dims[0];
  if (row->is_slice || row->start.kind != ATOM_VAR || !r->strides) return NULL;
  const StridedIndex *found = map_get(r->strides, row->start.u.var);
  FarReads *far = map_get(r->far, exp->u.index.array.u.var);
  if (!found || !far) return NULL;
  *at = *found;
  return exp->u.index.checked && !spread_has_single_indices(exp) ? NULL : far;
}

static bool is_on_host(const PointReads *r, Atom a) {
  return a.kind == ATOM_CONST || map_has(r->host_vars, a.u.var);
}

// What is known of an array of which an index reads a row that is the same for all points.
static SingleReads *single_read(const PointReads *r, const Exp *exp) {
  if (exp->kind != EXP_INDEX || exp->u.index.array.kind != ATOM_VAR) return NULL;
  const DimIndex *row = &exp->u.index.dims[0];
  if (row->is_slice || !is_on_host(r, row->start)) return NULL;
  bool may_be_checked = !exp->u.index.checked || spread_has_single_indices(exp);
  return may_be_checked ? map_get(r->singles, exp->u.index.array.u.var) : NULL;
}

// The same of one of which it reads column i, of dimension `dim`.
static ColumnFetch *column_read(const PointReads *r, const Exp *exp, int *dim) {
  if (exp->kind != EXP_INDEX || exp->u.index.array.kind != ATOM_VAR) return NULL;
  ColumnFetch *found = map_get(r->columns, exp->u.index.array.u.var);
  CoreType type = atom_type(exp->u.index.array);
  bool all_single = exp->u.index.dim_count == type.rank;
  for (int i = 0; i < exp->u.index.dim_count; i++)
    all_single = all_single && !exp->u.index.dims[i].is_slice;
  if (!found || (exp->u.index.checked && !all_single)) return NULL;
  for (int i = 1; i < exp->u.index.dim_count; i++) {
    const DimIndex *at = &exp->u.index.dims[i];
    bool own = !at->is_slice && atom_equal(at->start, atom_var(r->from)) &&
               atom_equal(type.dims[i], r->width);
    if (!own || (found->dim && found->dim != i)) continue;
    *dim = i;
    return found;
  }
  return NULL;
}

static int place_of(const AtomVec *atoms, Atom a) {
  for (int i = 0; i < atoms->count; i++)
    if (atom_equal(atoms->at[i], a)) return i;
  return atoms->count;
}

static void add_far(FarReads *far, Atom distance) {
  if (place_of(&far->distances, distance) == MOST_DISTANCES) far->others = true;
  if (place_of(&far->distances, distance) == far->distances.count)
    vec_push(&far->distances, distance);
}

static void add_strided(FarReads *far, StridedIndex at) {
  StridedReads *reads = &far->strided;
  if (!reads->stride)
    *reads = (StridedReads){ .stride = at.stride, .low = at.offset, .high = at.offset };
  if (at.stride != reads->stride) far->others = true;
  if (at.offset < reads->low) reads->low = at.offset;
  if (at.offset > reads->high) reads->high = at.offset;
}

// False if there are too many.
static bool add_single(SingleReads *single, Atom row) {
  int place = place_of(&single->at, row);
  if (place == single->at.count && place < MOST_DISTANCES) vec_push(&single->at, row);
  return place < MOST_DISTANCES;
}

static void add_read(RowReads *reads, const RowPosition *at) {
  if (at->least < reads->least) reads->least = at->least;
  if (at->most > reads->most) reads->most = at->most;
  reads->ring = reads->ring || at->ring;
}

static void note_reads(CoreVisitor *v, const Body *body) {
  PointReads *r = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    RowPosition at;
    RowReads *reads = row_read(r, exp, &at);
    Atom distance;
    FarReads *far = reads ? NULL : far_read(r, exp, &distance);
    StridedIndex step;
    FarReads *strided = reads || far ? NULL : strided_read(r, exp, &step);
    SingleReads *single = reads || far || strided ? NULL : single_read(r, exp);
    if (far) add_far(far, distance);
    if (strided) add_strided(strided, step);
    if (single && !add_single(single, exp->u.index.dims[0].start)) single = NULL;
    int dim = 0;
    bool known = reads || far || strided || single;
    ColumnFetch *columns = known ? NULL : column_read(r, exp, &dim);
    if (columns) columns->dim = dim;
    spread_enter(&r->positions, exp);
    if (!known && !columns) core_visit_exp(v, exp);
    if (reads) add_read(reads, &at);
    note_distance(r, &body->stms[i]);
    note_stride(r, &body->stms[i]);
    spread_note_point(&r->positions, &body->stms[i]);
  }
  for (int i = 0; i < body->result_count; i++)
    note_other(v, body->results[i]);
}

// ---- blocks

static bool has_border(const RowReads *reads) {
  int64_t widest = reads->most > -reads->least ? reads->most : -reads->least;
  return !reads->others && widest > 0 && widest <= MOST_BORDER;
}

static Atom smaller(Builder *b, Atom x, Atom y) {
  return core_let(b, "rows", exp_op2(OP_MIN, x, y));
}

// So many rows in a ring, or 0 where one worker has all.
static Atom around(const PointReads *r, Atom rows) {
  Builder *b = r->host;
  Atom others = size_sub(b, r->split->workers, atom_i64(1));
  return smaller(b, rows, size_mul(b, rows, others));
}

// The block with rows before and after it.
static Atom with_border(const PointReads *r, RowReads *reads, Atom block) {
  const RowSplit *split = r->split;
  Builder *b = r->host;
  Atom low = atom_i64(-reads->least), high = atom_i64(reads->most), after;
  if (reads->ring) {
    reads->before = around(r, low);
    after = around(r, high);
  } else {
    Atom end = size_add(b, split->start, split->count);
    reads->before = smaller(b, low, split->start);
    after = smaller(b, high, size_sub(b, split->width, end));
  }
  reads->extent = size_add(b, size_add(b, reads->before, split->count), after);
  const Exp *gather =
      exp_gather(split->workers, split->width, split->start, split->count, block);
  Atom border =
      core_let(b, "border", exp_border(gather, low, high, reads->extent, reads->ring));
  spread_flow(r->s, border, block);
  return border;
}

static void make_block(const PointReads *r, Atom array, RowReads *reads) {
  bool distributed = spread_part(r->s, array, r->split) != NULL;
  *r->whole_inputs = *r->whole_inputs && !distributed;
  Atom block = spread_block(r->s, r->host, array, r->split);
  if (distributed && has_border(reads)) block = with_border(r, reads, block);
  reads->block = mem_copy(&block, sizeof block);
}

// The row of the block with its border that the index reads.
static Atom bordered_row(const PointReads *r, Builder *b, Atom index, bool checked,
                         const RowReads *reads, const RowPosition *at) {
  if (checked ||
      at->least != at->most) {  // xs[max (i - 1) 0]: as the program computes it
    Atom base = size_sub(r->host, reads->before, r->split->start);
    if (!at->ring) return size_add(b, index, base);
    Atom row = size_add(b, index, size_add(r->host, base, r->split->width));
    return core_let(b, "row", exp_op2(OP_MOD, row, r->split->width));
  }
  Atom base = size_add(r->host, reads->before, atom_i64(at->least));
  Atom row = size_add(b, atom_var(r->to), base);
  // Only one worker without a border has to go around.
  return at->ring ? core_let(b, "row", exp_op2(OP_MOD, row, reads->extent)) : row;
}

// The index, once it is known to be one of the array's.
static Atom checked_index(Builder *b, const Exp *exp) {
  Atom row = exp->u.index.dims[0].start;
  if (!exp->u.index.checked) return row;
  CoreType type = atom_type(exp->u.index.array);
  return core_let(b, "checked", bounds_assert(b, type, exp->u.index.dims, &row, 1));
}

// xs''[j + base, ..]; the expression itself if it reads no row that is near.
static const Exp *near_row(PointReads *r, Builder *b, const Exp *exp) {
  RowPosition at;
  RowReads *reads = row_read(r, exp, &at);
  bool bordered =
      reads && has_border(reads) && spread_part(r->s, exp->u.index.array, r->split);
  bool is_own = reads && at.least == 0 && at.most == 0;
  if (!reads || (!is_own && !bordered)) return exp;
  if (!reads->block) make_block(r, exp->u.index.array, reads);
  Exp *out = mem_copy(exp, sizeof *exp);
  size_t bytes = sizeof(DimIndex) * (size_t)exp->u.index.dim_count;
  DimIndex *dims = mem_copy(exp->u.index.dims, bytes);
  bool checked = exp->u.index.checked && !is_own;
  Atom row = atom_var(r->to);
  if (bordered)
    row = bordered_row(r, b, checked ? checked_index(b, exp) : dims[0].start, checked,
                       reads, &at);
  dims[0] = dim_fix(row);
  if (checked) out->u.index.checked = false;
  out->u.index.array = *reads->block;
  out->u.index.dims = dims;
  return out;
}

// The rows that the points read at one distance.  With one worker the array itself, of which `base`
// is then more.
static void make_far(const PointReads *r, FarReads *far, Atom distance) {
  const RowSplit *from = far->part->split, *to = r->split;
  Builder *b = r->host;
  Atom several = smaller(b, size_sub(b, from->workers, atom_i64(1)), atom_i64(1));
  Atom row = size_add(b, distance, to->start), first = size_mul(b, several, row);
  Atom less = size_mul(b, several, size_sub(b, from->width, to->count));
  const Exp *blocks =
      exp_gather(from->workers, from->width, from->start, from->count, far->part->block);
  Atom rows =
      core_let(b, "rows", exp_fetch(blocks, first, size_sub(b, from->width, less)));
  spread_flow(r->s, rows, far->part->block);
  vec_push(&far->blocks, rows);
  vec_push(&far->bases, size_sub(b, row, first));
  *r->whole_inputs = false;
}

// zs'[j + base, ..]; NULL if it is no such read.
static const Exp *far_row(const PointReads *r, Builder *b, const Exp *exp) {
  Atom distance;
  FarReads *far = far_read(r, exp, &distance);
  if (!far || far->others) return NULL;
  while (far->blocks.count < far->distances.count)
    make_far(r, far, far->distances.at[far->blocks.count]);
  int at = place_of(&far->distances, distance);
  Exp *out = mem_copy(exp, sizeof *exp);
  size_t bytes = sizeof(DimIndex) * (size_t)exp->u.index.dim_count;
  DimIndex *dims = mem_copy(exp->u.index.dims, bytes);
  dims[0] = dim_fix(size_add(b, atom_var(r->to), far->bases.at[at]));
  out->u.index.array = far->blocks.at[at];
  out->u.index.dims = dims;
  return out;
}

// A number of rows of the array.
static Atom row_of(Builder *b, Atom row, Atom width) {
  Atom most = smaller(b, row, width);
  return core_let(b, "row", exp_op2(OP_MAX, most, atom_i64(0)));
}

// All rows between the first and the last that the points read.  With one worker the array itself.
static void make_strided(const PointReads *r, FarReads *far) {
  const RowSplit *from = far->part->split, *to = r->split;
  StridedReads *reads = &far->strided;
  Builder *b = r->host;
  Atom stride = atom_i64(reads->stride), low = atom_i64(reads->low);
  Atom several = smaller(b, size_sub(b, from->workers, atom_i64(1)), atom_i64(1));
  Atom first = row_of(b, size_add(b, size_mul(b, stride, to->start), low), from->width);
  Atom end = size_mul(b, stride, size_add(b, to->start, to->count));
  Atom last = size_add(b, end, atom_i64(reads->high + 1 - reads->stride));
  Atom behind = core_let(b, "end", exp_op2(OP_MAX, row_of(b, last, from->width), first));
  Atom less = size_sub(b, from->width, size_sub(b, behind, first));
  Atom count = size_sub(b, from->width, size_mul(b, several, less));
  const Exp *blocks =
      exp_gather(from->workers, from->width, from->start, from->count, far->part->block);
  reads->first = size_mul(b, several, first);
  reads->rows = core_let(b, "rows", exp_fetch(blocks, reads->first, count));
  reads->made = true;
  spread_flow(r->s, reads->rows, far->part->block);
  *r->whole_inputs = false;
}

// zs''[i * c + k - first, ..]; NULL if it is no such read.
static const Exp *strided_row(const PointReads *r, Builder *b, const Exp *exp) {
  StridedIndex at;
  FarReads *far = strided_read(r, exp, &at);
  if (!far || far->others) return NULL;
  if (!far->strided.made) make_strided(r, far);
  Exp *out = mem_copy(exp, sizeof *exp);
  size_t bytes = sizeof(DimIndex) * (size_t)exp->u.index.dim_count;
  DimIndex *dims = mem_copy(exp->u.index.dims, bytes);
  dims[0] = dim_fix(size_sub(b, checked_index(b, exp), far->strided.first));
  out->u.index.array = far->strided.rows;
  out->u.index.dims = dims;
  out->u.index.checked = false;
  return out;
}

// zs'[.., j + base]; NULL if it is no such read.
static const Exp *column_of(const PointReads *r, Builder *b, const Exp *exp) {
  int dim;
  RowPosition row;
  ColumnFetch *found = column_read(r, exp, &dim);
  if (!found || !found->dim || found->others || row_read(r, exp, &row)) return NULL;
  if (!found->made)
    found->columns =
        spread_columns(r->s, r->host, exp->u.index.array, r->split, dim, &found->base);
  found->made = true;
  *r->whole_inputs = false;
  Exp *out = mem_copy(exp, sizeof *exp);
  size_t bytes = sizeof(DimIndex) * (size_t)exp->u.index.dim_count;
  DimIndex *dims = mem_copy(exp->u.index.dims, bytes);
  if (exp->u.index.checked) dims[0] = dim_fix(checked_index(b, exp));
  dims[dim] = dim_fix(size_add(b, atom_var(r->to), found->base));
  out->u.index.array = found->columns;
  out->u.index.dims = dims;
  out->u.index.checked = false;
  return out;
}

// Is the array gathered anyway?
static bool is_read_whole(const PointReads *r, const SingleReads *single, Atom array) {
  const FarReads *far = map_get(r->far, array.u.var);
  return single->others || (far && far->others);
}

static void fetch_row(const PointReads *r, SingleReads *single, Atom at) {
  const RowPart *part = single->part;
  const RowSplit *split = part->split;
  const Exp *blocks =
      exp_gather(split->workers, split->width, split->start, split->count, part->block);
  Builder *b = r->host;  // a row that is not there is none, and a check fails behind it
  Atom first = row_of(b, at, split->width);
  Atom rows = smaller(b, size_sub(b, split->width, first), atom_i64(1));
  Atom row = core_let(b, "row", exp_fetch(blocks, first, rows));
  vec_push(&single->rows, row);
  *r->whole_inputs = false;
}

// row[0, ..]; NULL if it is no such read.
static const Exp *single_row(const PointReads *r, Builder *b, const Exp *exp) {
  SingleReads *single = single_read(r, exp);
  int place = single ? place_of(&single->at, exp->u.index.dims[0].start) : 0;
  if (!single || place == single->at.count ||
      is_read_whole(r, single, exp->u.index.array))
    return NULL;
  while (single->rows.count < single->at.count)
    fetch_row(r, single, single->at.at[single->rows.count]);
  Atom row = checked_index(b, exp), first = atom_i64(0);
  if (exp->u.index.checked)  // the only row, but not before the check
    first = core_let(b, "first", exp_op2(OP_SUB, row, exp->u.index.dims[0].start));
  Exp *out = mem_copy(exp, sizeof *exp);
  size_t bytes = sizeof(DimIndex) * (size_t)exp->u.index.dim_count;
  DimIndex *dims = mem_copy(exp->u.index.dims, bytes);
  dims[0] = dim_fix(first);
  out->u.index.array = single->rows.at[place];
  out->u.index.dims = dims;
  out->u.index.checked = false;
  return out;
}

static const Body *near_body(CoreMapper *m, const Body *body) {
  PointReads *r = m->state;
  Builder b = builder_new(r->s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    const Exp *near = far_row(r, &b, stm.exp);
    if (!near) near = strided_row(r, &b, stm.exp);
    if (!near) near = single_row(r, &b, stm.exp);
    if (!near) near = column_of(r, &b, stm.exp);
    if (!near) near = near_row(r, &b, stm.exp);
    stm.exp = near != stm.exp ? near : core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// ---- the body

static Map *arrays_of_rows(const Body *body, Atom width) {
  Map *arrays = map_new(NULL);
  VarVec vars = core_free_body(body);
  vec_each (const Var **, var, &vars)
    if ((*var)->type.rank && atom_equal((*var)->type.dims[0], width))
      map_put(arrays, *var, new (RowReads));
  return arrays;
}

// Distributed arrays of other sizes.
static Map *far_arrays(const Spread *s, const Body *body, Atom width) {
  Map *arrays = map_new(NULL);
  VarVec vars = core_free_body(body);
  vec_each (const Var **, var, &vars) {
    if (!(*var)->type.rank || atom_equal((*var)->type.dims[0], width)) continue;
    const RowSplit *split = spread_split_of(s, (*var)->type.dims[0]);
    const RowPart *part = split ? spread_part(s, atom_var(*var), split) : NULL;
    if (part && part->loops == s->loops)
      map_put(arrays, *var, new_node(FarReads, .part = part));
  }
  return arrays;
}

// Distributed arrays, but for those that would be asked for a row in each round of a loop.
static Map *distributed_arrays(const Spread *s, const Body *body) {
  Map *arrays = map_new(NULL);
  VarVec vars = core_free_body(body);
  vec_each (const Var **, var, &vars) {
    const RowSplit *split =
        (*var)->type.rank ? spread_split_of(s, (*var)->type.dims[0]) : NULL;
    const RowPart *part = split ? spread_part(s, atom_var(*var), split) : NULL;
    if (part && part->loops == s->loops)
      map_put(arrays, *var, new_node(SingleReads, .part = part));
  }
  return arrays;
}

// Those with columns, as many as there are points, but for those that would be asked for them in
// each round of a loop.
static Map *arrays_of_columns(const Spread *s, const Body *body, Atom width) {
  Map *arrays = map_new(NULL);
  VarVec vars = core_free_body(body);
  vec_each (const Var **, var, &vars) {
    CoreType type = (*var)->type;
    bool fits = false;
    for (int i = 1; i < type.rank; i++)
      fits = fits || atom_equal(type.dims[i], width);
    if (fits && spread_part_for_columns(s, atom_var(*var)))
      map_put(arrays, *var, new (ColumnFetch));
  }
  return arrays;
}

// What is free in the seg-op: all but its indices.
static Map *host_vars(const SegOp *seg) {
  Map *vars = map_new(NULL);
  VarVec free = core_free_body(seg->body);
  vec_each (const Var **, var, &free)
    map_put(vars, *var, *var);
  for (int d = 0; d < seg->dim_count; d++)
    map_remove(vars, seg->dims[d].index);
  return vars;
}

// What each worker does whole, but for rows that all points read.
const SegOp *spread_single_reads(Spread *s, Builder *b, const SegOp *seg) {
  bool whole = true;
  PointReads r = { .s = s,
                   .host = b,
                   .arrays = map_new(NULL),
                   .positions = spread_positions(s, seg->dims[0].width),
                   .host_vars = host_vars(seg),
                   .far = map_new(NULL),
                   .distances = map_new(NULL),
                   .singles = distributed_arrays(s, seg->body),
                   .columns = map_new(NULL),
                   .whole_inputs = &whole };
  CoreVisitor v = { .atom = note_other, .body = note_reads, .state = &r };
  CoreMapper m = { .body = near_body, .state = &r };
  note_reads(&v, seg->body);
  SegOp *out = mem_copy(seg, sizeof *seg);
  out->body = near_body(&m, seg->body);
  return whole ? seg : out;
}

const Body *spread_reads(Spread *s, Builder *b, const Body *body, SpreadInputs in) {
  SegOp seg = *in.seg;
  seg.body = spread_turned_reads(s, in.seg->body);
  body = body == in.seg->body ? seg.body : spread_turned_reads(s, body);
  in.seg = &seg;
  PointReads r = { .s = s,
                   .host = b,
                   .split = in.split,
                   .width = in.split->width,
                   .to = in.to,
                   .arrays = arrays_of_rows(in.seg->body, in.split->width),
                   .positions = spread_positions(s, in.split->width),
                   .from = in.from,
                   .host_vars = host_vars(in.seg),
                   .far = far_arrays(s, in.seg->body, in.split->width),
                   .distances = map_new(NULL),
                   .strides = map_new(NULL),
                   .singles = distributed_arrays(s, in.seg->body),
                   .columns = arrays_of_columns(s, in.seg->body, in.split->width),
                   .whole_inputs = in.whole };
  Atom here = atom_i64(0);
  map_put(r.distances, in.from, mem_copy(&here, sizeof here));
  map_put(r.positions.found, in.from, new (RowPosition));
  for (int d = 0; d < in.seg->dim_count; d++)
    spread_note_below(&r.positions, in.seg->dims[d].index, in.seg->dims[d].width);
  CoreVisitor v = { .atom = note_other, .body = note_reads, .state = &r };
  note_reads(&v, body);
  CoreMapper m = { .body = near_body, .state = &r };
  Builder inner = builder_new(s->c, b->loc);
  core_let_vars(&inner, mem_copy(&in.from, sizeof in.from), 1,
                exp_op2(OP_ADD, in.split->start, atom_var(in.to)));
  const Body *near = spread_unturned_reads(s, near_body(&m, body));
  core_add_body(&inner, near);
  return core_body(&inner, near->results, near->result_count);
}
