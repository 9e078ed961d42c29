// segmap1 on a GPU whose points each read a short row of an array.  The items of a group copy the
// rows of the group to local memory, neighbours neighbouring words, and then read them there:
//
//   for e < rows * m { local[e + e / m] = xss[first * m + e] }; barrier
//   item: local[item * (m + 1) + j]
//
// Rows that they make go the same way back, and rows that they keep for themselves lie there.
// Rows of even length are one longer there, so that they begin in different banks.
//
// What fails leaves its loops (emit_loops.c), so checks cost no more than without the barriers.
//
// Why: as they lie, items would read a word of 32 sectors each at once, and the transposed copies
// that longer rows get are read and written besides.
#include "imp/lower/wide.h"

enum { ROW_BYTES = 644, FEW_POINTS = 32 };
// Whatever is set, no longer rows: a group of 32 would have 256 KB, and local_place not divide
// rightly.
enum { MOST_ROW_BYTES = 8192 };

// Items of a group, by the bytes that each has.
typedef struct GroupSize {
  int64_t bytes, items;
} GroupSize;

static const GroupSize sizes[] = { { 124, 256 }, { 484, 64 } };
enum { SIZES = sizeof sizes / sizeof *sizes, LEAST_GROUP = 32 };

typedef struct RowUse {
  const Var *var;
  const SegOp *seg;
  int all, own;  // times that the body mentions the array; as the row of the point
} RowUse;

static void see_mention(CoreVisitor *v, Atom a) {
  RowUse *use = v->state;
  use->all += a.kind == ATOM_VAR && a.u.var == use->var;
}

// xss[i, ..], where i is the index of the point.
static bool is_own_row(const RowUse *use, const Exp *exp) {
  if (exp->kind != EXP_INDEX || !atom_equal(exp->u.index.array, atom_var(use->var)))
    return false;
  for (int d = 0; d < use->seg->dim_count; d++) {
    const DimIndex *at = &exp->u.index.dims[d];
    if (at->is_slice || !atom_equal(at->start, atom_var(use->seg->dims[d].index)))
      return false;
  }
  return true;
}

static void see_rows(CoreVisitor *v, const Body *body) {
  RowUse *use = v->state;
  for (int i = 0; i < body->stm_count; i++)
    use->own += is_own_row(use, body->stms[i].exp);
  core_visit_body(v, body);
}

bool seg_reads_own_rows(const SegOp *seg, const Var *var) {
  if (var->type.rank <= seg->dim_count) return false;
  RowUse use = { .var = var, .seg = seg };
  CoreVisitor v = { .atom = see_mention, .body = see_rows, .state = &use };
  see_rows(&v, seg->body);
  return use.own > 0 && use.own == use.all;
}

// The arrays to be staged: all that neighbouring items would not read in order; false if there are
// others among them.
static bool find_rows_to_stage(Code *host, const Stm *stm, VarVec *apart) {
  const SegOp *seg = stm->exp->u.seg;
  if (!host->lower->machine->side_by_side || seg->dim_count != 1) return false;
  Atom points = seg->dims[0].width;
  if (points.kind == ATOM_CONST && points.u.constant.u.i < FEW_POINTS) return false;
  *apart = layout_apart(host, stm);
  vec_each (const Var *const *, v, apart) {
    const Arr *arr = code_array(host, atom_var(*v));
    if (!arr_is_dense(arr) || !seg_reads_own_rows(seg, *v)) return false;
  }
  return true;
}

typedef struct ShortRows {
  KernelCode *kernel;
  const ImpExp *size, *item, *first, *rows;  // of the group
  const Var *items;                          // on the host: its size
  LocalRows own;
} ShortRows;

// Elements of a row: of all dimensions but the first.
static const ImpExp *row_count(const Arr *arr) {
  const ImpExp *count = arr->shape[1];
  for (int d = 2; d < arr->rank; d++)
    count = imp_mul(count, arr->shape[d]);
  return count;
}

static const ImpExp *group_size(const ImpExp *bytes) {
  const ImpExp *items = imp_i64(LEAST_GROUP);
  for (int i = SIZES - 1; i >= 0; i--)
    items = imp_select(imp_op2(OP_LE, bytes, imp_i64(sizes[i].bytes)),
                       imp_i64(sizes[i].items), items);
  return items;
}

// How far rows lie apart in local memory: an odd number.
static const ImpExp *local_stride(const Arr *arr) {
  return imp_op2(OP_OR, row_count(arr), imp_i64(1));
}

// Room in local memory for the rows of the group, seen as if all of the array lay there.
static Arr local_rows(ShortRows *s, Code *host, const Arr *arr) {
  const ImpExp *stride = imp_let(host->b, "stride", local_stride(arr));
  const Mem *mem = mem_new(host->lower->c, "rows", MEM_LOCAL, arr->elem);
  vec_push(&s->kernel->scratch,
           (Scratch){ .mem = mem, .count = imp_mul(imp_var(s->items), stride) });
  const ImpExp **strides = new_array(const ImpExp *, arr->rank);
  for (int d = 0; d < arr->rank; d++)
    strides[d] = d ? arr->strides[d] : stride;
  Arr here = *arr;
  here.mem = mem;
  here.strides = strides;
  here.offset = imp_sub(imp_i64(0), imp_mul(s->first, stride));
  return here;
}

// Where an element of the group's rows is among them: a product takes the place of a division by
// the length of a row.  Exact as long as its number times that length is below 2^32: 32 rows of
// MOST_ROW_BYTES, or more and shorter ones (`sizes`), stay below 2^31.
static const ImpExp *local_place(Code *host, const Arr *arr, ImpBuilder *b,
                                 const ImpExp *at) {
  const ImpExp *m = row_count(arr), *more = imp_sub(local_stride(arr), m);
  if (imp_is_i64(more, 0)) return at;
  const ImpExp *divisor = imp_max(m, imp_i64(1)),
               *inverse = imp_ceil_div(imp_i64((int64_t)1 << 32), divisor);
  inverse = imp_let(host->b, "inverse", inverse);
  const ImpExp *row = imp_op2(OP_SHR, imp_mul(at, inverse), imp_i64(32));
  return imp_let(b, "place", imp_add(at, imp_mul(row, imp_let(host->b, "more", more))));
}

// The items copy the rows of the group in order: to local memory, or back.
static void move_rows(ShortRows *s, Code *host, const Arr *arr, const Arr *here,
                      bool back) {
  Code *k = &s->kernel->code, inner, present;
  const ImpExp *m = row_count(arr), *all = imp_mul(s->rows, m);
  ImpBuilder b, in;
  const Var *i;
  const ImpExp *round = wide_open_loop(k, &inner, &b, &i);
  const ImpExp *at = imp_let(&b, "at", imp_add(s->item, imp_mul(round, s->size)));
  present = code_inner(&inner, &in);
  const ImpExp *there = imp_add(arr->offset, imp_add(imp_mul(s->first, m), at)),
               *place = local_place(host, arr, present.b, at);
  if (back)
    imp_store(present.b, arr->mem, there, imp_load(here->mem, place));
  else
    imp_store(present.b, here->mem, place, imp_load(arr->mem, there));
  imp_if(&b, imp_less(at, all), in.block);
  wide_close_loop(k, &b, i, m);
}

static void stage_rows(ShortRows *s, Code *host, const Var *var) {
  const Arr *arr = code_array(host, atom_var(var));
  Arr here = local_rows(s, host, arr);
  move_rows(s, host, arr, &here, false);
  map_put(s->kernel->code.arrays, var, mem_copy(&here, sizeof here));
}

// Does the point make a row of it, in order?
static bool is_row_result(const Arr *out) { return out->rank >= 2 && arr_is_dense(out); }

static void run_points(ShortRows *s, Code *host, const Stm *stm, const Arr *const *outs) {
  const SegOp *seg = stm->exp->u.seg;
  ImpBuilder b;
  Code point = code_inner(&s->kernel->code, &b);
  point.rows = &s->own;
  code_bind_scalar(&point, seg->dims[0].index, imp_add(s->first, s->item));
  seg_point(&point, stm, outs);
  move_checks_to_host(host, s->kernel, &b.block, imp_atom(seg->dims[0].width));
  imp_if(s->kernel->code.b, imp_less(s->item, s->rows), b.block);
}

// Rows are made in local memory, then copied.
static void make_rows(ShortRows *s, Code *host, const Stm *stm, const Arr *const *outs) {
  ImpStm barrier = { .kind = IMP_BARRIER };
  const Arr **here = new_array(const Arr *, stm->binder_count + 1);
  bool rows = false;
  for (int i = 0; i < stm->binder_count; i++) {
    here[i] = outs[i];
    if (!is_row_result(outs[i])) continue;
    Arr staged = local_rows(s, host, outs[i]);
    here[i] = mem_copy(&staged, sizeof staged);
    rows = true;
  }
  imp_add_stm(s->kernel->code.b, barrier);
  run_points(s, host, stm, here);
  if (rows) imp_add_stm(s->kernel->code.b, barrier);
  for (int i = 0; i < stm->binder_count; i++)
    if (is_row_result(outs[i])) move_rows(s, host, outs[i], here[i], true);
}

// Adds the bytes of what points keep.
static void launch_short(Code *host, const Stm *stm, const Arr *const *outs,
                         const VarVec *arrays, const ImpExp **bytes) {
  ShortRows s = { .kernel = kernel_begin(host, stm->loc),
                  .size = imp_item(ITEM_LOCAL_SIZE) };
  ImpBuilder *b = &s.kernel->b;
  const ImpExp *points = imp_atom(stm->exp->u.seg->dims[0].width);
  s.item = imp_let(b, "item", imp_item(ITEM_LOCAL_ID));
  s.items = var_new(host->lower->c, name_of(host->lower->c->names, "group"),
                    type_scalar(PRIM_I64), stm->loc);
  s.own = (LocalRows){ s.item, s.size, imp_var(s.items), *bytes };
  s.first = imp_let(b, "first", imp_mul(imp_item(ITEM_GROUP_ID), s.size));
  s.rows = imp_let(b, "rows", imp_min(s.size, imp_sub(points, s.first)));
  vec_each (const Var *const *, v, arrays)
    stage_rows(&s, host, *v);
  make_rows(&s, host, stm, outs);
  *bytes = s.own.bytes;
  ImpStm size = { .kind = IMP_DECLARE, .u.declare = { s.items, group_size(*bytes), 0 } };
  imp_add_stm(host->b, size);
  const ImpExp *items = imp_var(s.items);
  kernel_end(host, s.kernel,
             (Launch){ .name = "segmap_rows",
                       .groups = imp_ceil_div(points, items),
                       .group_size = items });
}

static const ImpExp *more_bytes(const ImpExp *bytes, const Arr *arr) {
  const ImpExp *row = imp_mul(local_stride(arr), imp_i64(prim_size_bytes(arr->elem)));
  return bytes ? imp_add(bytes, row) : row;
}

// Of the rows that a point reads and makes, of which there are some.
static const ImpExp *bytes_of_rows(Code *host, const Stm *stm, const Arr *const *outs,
                                   const VarVec *arrays) {
  const ImpExp *bytes = NULL;
  vec_each (const Var *const *, v, arrays)
    bytes = more_bytes(bytes, code_array(host, atom_var(*v)));
  for (int i = 0; i < stm->binder_count; i++)
    if (is_row_result(outs[i])) bytes = more_bytes(bytes, outs[i]);
  return bytes;
}

const VarVec *find_short_rows(Code *host, const Stm *stm, const Arr *const *outs) {
  VarVec *arrays = new (VarVec);
  if (!find_rows_to_stage(host, stm, arrays)) return NULL;
  bool some = arrays->count > 0;
  for (int i = 0; i < stm->binder_count; i++)
    some = some || is_row_result(outs[i]);
  return some && !body_takes_arena(stm->exp->u.seg) ? arrays : NULL;
}

void lower_short_rows(Code *host, const Stm *stm, const Arr *const *outs,
                      const VarVec *arrays) {
  const ImpExp *bytes = bytes_of_rows(host, stm, outs, arrays);
  ImpBuilder few, many;
  Code staged = code_inner(host, &few), apart = code_inner(host, &many);
  launch_short(&staged, stm, outs, arrays, &bytes);
  segmap_by_columns(&apart, stm, outs);
  const ImpExp *limit =
      tuning_param(host->lower, "segmap_row_bytes", "bytes", ROW_BYTES, ROW_BYTES);
  const ImpExp *most = imp_min(limit, imp_i64(MOST_ROW_BYTES));
  imp_add_stm(host->b, (ImpStm){ .kind = IMP_IF,
                                 .u.cond = { imp_op2(OP_LE, bytes, most), few.block,
                                             many.block } });
}
