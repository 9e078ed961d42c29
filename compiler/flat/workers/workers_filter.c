// Filters of a distributed array:
//
//   let offsets = segscan1 <i < n> (+) {flag}                   (workers_seg.c)
//   let ys = segscatter1 <i < n> into scratch {flag * offsets[i] - 1, x}
//     =>  let kept = segscatter1 <j < count> into scratch' {flag * own_offsets[j] - 1, x}
//         let ys' = fetch start:rows of all from before:own kept
//         let ys = gather ys'
//
// Each worker keeps what its block has of them: `own` rows, as many as the scan of its block alone
// says, in front of which the workers before it have kept `before`.  What follows is divided
// evenly, for which rows move to neighbours where their numbers differ; if nobody runs in parallel
// over what was kept, all fetch all.
#include "flat/rules.h"
#include "flat/workers/workers.h"

bool spread_is_filter(const SegOp *seg) {
  if (seg->kind != SEG_SCATTER || seg->dim_count > 1) return false;
  for (int i = 0; i < seg->dest_count; i++)
    if (!seg->dests[i].ascending) return false;
  return seg->dest_count > 0;
}

bool spread_is_scratch(const Body *body, int position) {
  const Stm *stm = &body->stms[position];
  const Exp *exp = stm->exp;
  if (exp->kind != EXP_SEG || exp->u.seg->kind != SEG_MAP || exp->u.seg->body->stm_count)
    return false;
  for (int i = position + 1; i < body->stm_count; i++) {
    const Exp *reader = body->stms[i].exp;
    if (reader->kind != EXP_SEG || !spread_is_filter(reader->u.seg)) continue;
    for (int d = 0; d < reader->u.seg->dest_count; d++)
      if (atom_equal(reader->u.seg->dests[d].dest, atom_var(stm->binders[0])))
        return true;
  }
  return false;
}

// ---- where the numbers are

static const Exp *def_in(const Body *body, Atom a) {
  for (int i = 0; i < body->stm_count && a.kind == ATOM_VAR; i++)
    if (body->stms[i].binders[0] == a.u.var) return body->stms[i].exp;
  return NULL;
}

static bool is_op(const Exp *exp, PrimOp op) {
  return exp && exp->kind == EXP_OP && exp->u.op.op == op;
}

// The divided scan that `a` is an element of, at the point's own index.
static const Var *scan_read(const Spread *s, const SegOp *seg, Atom a) {
  const Exp *exp = def_in(seg->body, a);
  if (!exp || exp->kind != EXP_INDEX || exp->u.index.dim_count != 1) return NULL;
  const DimIndex *at = &exp->u.index.dims[0];
  Atom array = exp->u.index.array;
  bool own = !at->is_slice && atom_equal(at->start, atom_var(seg->dims[0].index));
  return own && array.kind == ATOM_VAR && map_has(s->scans, array.u.var) ? array.u.var
                                                                         : NULL;
}

// The offsets in an index: flag * offsets[i] - 1, or without a flag that is known; NULL if it is
// something else.
static const Var *offsets_of(const Spread *s, const SegOp *seg, Atom index) {
  const Exp *less = def_in(seg->body, index);
  if (!is_op(less, OP_SUB) && !is_op(less, OP_ADD)) return NULL;
  int64_t by = is_op(less, OP_SUB) ? 1 : -1;
  if (!atom_equal(less->u.op.args[1], atom_i64(by))) return NULL;
  Atom ends = less->u.op.args[0];
  const Exp *product = def_in(seg->body, ends);
  if (!is_op(product, OP_MUL)) return scan_read(s, seg, ends);
  const Var *first = scan_read(s, seg, product->u.op.args[0]);
  return first ? first : scan_read(s, seg, product->u.op.args[1]);
}

// The same for all that is kept.
static const Var *filter_offsets(const Spread *s, const SegOp *seg) {
  const Atom *results = seg->body->results;
  for (int i = 1; i < seg->dest_count; i++)
    if (!atom_equal(results[(size_t)i * 2], results[0])) return NULL;
  return offsets_of(s, seg, results[0]);
}

// ---- what each worker keeps

// The rows that this worker's block has of them.
static Atom rows_kept(Builder *b, Atom offsets, const RowSplit *split) {
  Builder some = builder_new(b->c, b->loc);
  Atom more = spread_is_more(b, split->count, 0), none = atom_i64(0);
  Atom last = size_sub(&some, split->count, atom_i64(1));
  Atom end = core_let(&some, "end", exp_index(offsets, &last, 1, false));
  return core_let(b, "own",
                  exp_if(more, core_body(&some, &end, 1), spread_no_stms(b, &none, 1)));
}

// segmap1 <i < rows> <j < m> .. {0}: for `rows` rows of the array.
static Atom scratch_of(Builder *b, CoreType type, Atom rows) {
  SegDim *dims = new_array(SegDim, type.rank);
  for (int i = 0; i < type.rank; i++)
    dims[i] =
        (SegDim){ var_new(b->c, name_of(b->c->names, "i"), type_scalar(PRIM_I64), b->loc),
                  i ? type.dims[i] : rows };
  Atom zero = atom_const(prim_zero(type.elem));
  return core_let(
      b, "scratch",
      exp_seg(new_node(SegOp, .kind = SEG_MAP, .level = 1, .dims = dims,
                       .dim_count = type.rank, .body = spread_no_stms(b, &zero, 1))));
}

// The divided scatter, into rows of this worker: by the scan of its own block.
static const SegOp *own_filter(Spread *s, Builder *b, const Stm *stm, const Var *offsets,
                               Atom own, const RowSplit *split) {
  const RowPart *part = map_get(s->parts, offsets);
  const ScanPart *scan = map_get(s->scans, offsets);
  const SegOp *seg = stm->exp->u.seg;
  bool whole_inputs = true;
  map_put(s->parts, offsets, new_node(RowPart, scan->own, split, part->loops));
  SegOp *out = spread_block_seg(s, b, seg, split, &whole_inputs);
  map_put(s->parts, offsets, part);
  ScatterDest *dests = mem_copy(seg->dests, sizeof *dests * (size_t)seg->dest_count);
  for (int i = 0; i < seg->dest_count; i++)
    dests[i].dest = scratch_of(b, atom_type(dests[i].dest), own);
  out->dests = dests;
  return out;
}

// ---- what all have of it

// The rows that the workers have kept: this worker's block of the split, or all.
static void share_kept(Spread *s, Builder *b, const Var *binder, const Exp *kept) {
  Atom all = binder->type.dims[0];
  const RowSplit *even = spread_split_of(s, all);
  if (!even) {
    core_let_vars(b, mem_copy(&binder, sizeof binder), 1,
                  exp_fetch(kept, atom_i64(0), all));
    return;
  }
  Atom block = core_let(b, binder->name, exp_fetch(kept, even->start, even->count));
  spread_flow(s, block, kept->u.gather.value);
  spread_gather(s, b, binder, block, even);
}

bool spread_filter(Spread *s, Builder *b, const Stm *stm, const RowSplit *split) {
  const Var *offsets = filter_offsets(s, stm->exp->u.seg);
  if (!offsets || !spread_part(s, atom_var(offsets), split)) return false;
  b->loc = stm->loc;
  const ScanPart *scan = map_get(s->scans, offsets);
  Atom own = rows_kept(b, scan->own, split);
  const SegOp *divided = own_filter(s, b, stm, offsets, own, split);
  const Atom *kept = spread_add_blocks(s, b, stm, divided, split, false);
  for (int i = 0; i < stm->binder_count; i++) {
    spread_flow(s, kept[i], scan->own);
    share_kept(s, b, stm->binders[i],
               exp_gather(split->workers, stm->binders[i]->type.dims[0], scan->before,
                          own, kept[i]));
  }
  return true;
}
