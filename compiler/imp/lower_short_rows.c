// segmap1 on a GPU whose points each read a short row of an array.  The items of a group copy the
// rows of the group to local memory, neighbours neighbouring words, and then read them there:
//
//   for e < rows * m { local[e] = xss[first * m + e] }; barrier; item: local[item * m + j]
//
// Why: as they lie, items would read a word of 32 sectors each at once, and the transposed copy
// that longer rows get is read and written besides.
#include "imp/lower_wide.h"

enum { GROUP = 256, ROW_BYTES = 96 };

typedef struct RowUse {
  const Var *var, *point;
  int all, own;  // times that the body mentions the array; as the row of the point
} RowUse;

static void see_mention(CoreVisitor *v, Atom a) {
  RowUse *use = v->state;
  use->all += a.kind == ATOM_VAR && a.u.var == use->var;
}

static bool is_own_row(const RowUse *use, const Exp *exp) {
  if (exp->kind != EXP_INDEX || !atom_equal(exp->u.index.array, atom_var(use->var)))
    return false;
  const DimIndex *first = &exp->u.index.dims[0];
  return !first->is_slice && atom_equal(first->start, atom_var(use->point));
}

static void see_rows(CoreVisitor *v, const Body *body) {
  RowUse *use = v->state;
  for (int i = 0; i < body->stm_count; i++)
    use->own += is_own_row(use, body->stms[i].exp);
  core_visit_body(v, body);
}

static bool reads_own_rows(const SegOp *seg, const Var *var) {
  RowUse use = { .var = var, .point = seg->dims[0].index };
  CoreVisitor v = { .atom = see_mention, .body = see_rows, .state = &use };
  see_rows(&v, seg->body);
  return use.own > 0 && use.own == use.all;
}

// The arrays to be staged: all that neighbouring items would not read in order; none if there are
// others among them.
static VarVec rows_to_stage(Code *host, const SegOp *seg) {
  VarVec none = { 0 };
  if (host->lower->profile != PROFILE_GPU || seg->dim_count != 1) return none;
  VarVec apart = layout_apart(host, seg);
  vec_each (const Var *const *, v, &apart) {
    const Arr *arr = code_array(host, atom_var(*v));
    if ((*v)->type.rank != 2 || !arr_is_dense(arr) || !reads_own_rows(seg, *v))
      return none;
  }
  return apart;
}

typedef struct ShortRows {
  KernelCode *kernel;
  const ImpExp *size, *item, *first, *rows;  // of the group
} ShortRows;

// The array in local memory, as if all of it lay there.
static void stage_rows(ShortRows *s, Code *host, const Var *var) {
  const Arr *arr = code_array(host, atom_var(var));
  Code *k = &s->kernel->code, inner, present;
  const ImpExp *m = arr->shape[1], *all = imp_mul(s->rows, m);
  Mem *mem = mem_copy(mem_new(host->lower->c, "rows", MEM_LOCAL, arr->elem), sizeof *mem);
  mem->padded = true;
  const ImpExp *room = imp_mul(imp_i64(GROUP), m);
  room = imp_add(room, imp_add(imp_quot(room, imp_i64(32)), imp_i64(1)));
  vec_push(&s->kernel->scratch, (Scratch){ .mem = mem, .count = room });
  ImpBuilder b, in;
  const Var *i;
  const ImpExp *round = wide_open_loop(k, &inner, &b, &i);
  const ImpExp *at = imp_let(&b, "at", imp_add(s->item, imp_mul(round, s->size)));
  present = code_inner(&inner, &in);
  const ImpExp *from = imp_add(arr->offset, imp_add(imp_mul(s->first, m), at));
  imp_store(present.b, mem, at, imp_load(arr->mem, from));
  imp_if(&b, imp_less(at, all), in.block);
  wide_close_loop(k, &b, i, m);
  Arr staged = *arr;
  staged.mem = mem;
  staged.offset = imp_sub(imp_i64(0), imp_mul(s->first, m));
  map_put(k->arrays, var, mem_copy(&staged, sizeof staged));
}

static void run_points(ShortRows *s, const Stm *stm, const Arr *const *outs) {
  const SegOp *seg = stm->exp->u.seg;
  ImpBuilder b;
  Code point = code_inner(&s->kernel->code, &b);
  code_bind_scalar(&point, seg->dims[0].index, imp_add(s->first, s->item));
  seg_point(&point, stm, outs);
  imp_if(s->kernel->code.b, imp_less(s->item, s->rows), b.block);
}

// False if the kernel may fail: with its barrier it would be slower than the copy.
static bool launch_short(Code *host, const Stm *stm, const Arr *const *outs,
                         const VarVec *arrays) {
  ShortRows s = { .kernel = kernel_begin(host, stm->loc),
                  .size = imp_item(ITEM_LOCAL_SIZE) };
  ImpBuilder *b = &s.kernel->b;
  const ImpExp *points = imp_atom(stm->exp->u.seg->dims[0].width);
  s.item = imp_let(b, "item", imp_item(ITEM_LOCAL_ID));
  s.first = imp_let(b, "first", imp_mul(imp_item(ITEM_GROUP_ID), s.size));
  s.rows = imp_let(b, "rows", imp_min(s.size, imp_sub(points, s.first)));
  vec_each (const Var *const *, v, arrays)
    stage_rows(&s, host, *v);
  imp_add_stm(b, (ImpStm){ .kind = IMP_BARRIER });
  run_points(&s, stm, outs);
  if (s.kernel->may_fail) return false;
  kernel_end(host, s.kernel,
             (Launch){ .name = "segmap_rows",
                       .groups = imp_ceil_div(points, imp_i64(GROUP)),
                       .group_size = imp_i64(GROUP) });
  return true;
}

bool lower_short_rows(Code *host, const Stm *stm, const Arr *const *outs) {
  VarVec arrays = rows_to_stage(host, stm->exp->u.seg);
  if (!arrays.count || body_takes_arena(host, stm->exp->u.seg)) return false;
  const ImpExp *bytes = imp_i64(0);
  vec_each (const Var *const *, v, &arrays) {
    const Arr *arr = code_array(host, atom_var(*v));
    bytes = imp_add(bytes, imp_mul(arr->shape[1], imp_i64(prim_size_bytes(arr->elem))));
  }
  Code staged = *host, apart = *host;
  ImpBuilder few = { .c = host->lower->c, .loc = stm->loc }, many = few;
  staged.b = &few;
  apart.b = &many;
  int notes = host->lower->copies.count;
  if (!launch_short(&staged, stm, outs, &arrays)) {
    host->lower->copies.count = notes;
    return false;
  }
  segmap_by_items(&apart, stm, outs);
  const ImpExp *limit =
      tuning_param(host->lower, "segmap_row_bytes", "bytes", ROW_BYTES, ROW_BYTES);
  imp_add_stm(host->b, (ImpStm){ .kind = IMP_IF,
                                 .u.cond = { imp_op2(OP_LE, bytes, limit), few.block,
                                             many.block } });
  return true;
}
