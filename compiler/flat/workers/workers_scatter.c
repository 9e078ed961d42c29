// Scatters and updates of a distributed array:
//
//   let ys = gather ys'   let zs = segscatter1 <i < k> into ys[_] {.. in {at, v}}
//     =>  let zs' = segscatter1 <i < k> into ys'[_] {.. in {at - start, v}}
//         let zs = gather zs'
//
// All workers go through all points, and each writes those that lie in its block.  Where each point
// writes into its own row, or what they write is distributed itself (workers_deliver.c), the points
// are divided.
#include "flat/workers/workers.h"

static const RowPart *part_of_dest(const Spread *s, const ScatterDest *dest) {
  CoreType type = atom_type(dest->dest);
  const RowSplit *split = dest->index_count > 0 ? spread_split_of(s, type.dims[0]) : NULL;
  return split ? spread_part(s, dest->dest, split) : NULL;
}

const Body *spread_points_of_blocks(const Builder *b, const SegOp *seg,
                                    const RowSplit *const *splits) {
  Builder inner = builder_new(b->c, b->loc);
  core_add_body(&inner, seg->body);
  int count = seg->body->result_count;
  Atom *results = mem_copy(seg->body->results, sizeof *results * (size_t)count);
  for (int i = 0, at = 0; i < seg->dest_count; at += seg->dests[i++].index_count + 1)
    if (splits[i])
      results[at] =
          core_let(&inner, "row", exp_op2(OP_SUB, results[at], splits[i]->start));
  return core_body(&inner, results, count);
}

static const SegOp *scatter_of_blocks(const Builder *b, const SegOp *seg,
                                      const RowPart **parts) {
  SegOp *out = mem_copy(seg, sizeof *seg);
  size_t bytes = sizeof(ScatterDest) * (size_t)seg->dest_count;
  ScatterDest *dests = mem_copy(seg->dests, bytes);
  const RowSplit **splits = new_array(const RowSplit *, seg->dest_count);
  for (int i = 0; i < seg->dest_count; i++) {
    if (!parts[i]) continue;
    splits[i] = parts[i]->split;
    dests[i].dest = parts[i]->block;
    dests[i].inside = dests[i].ascending = false;
  }
  out->dests = dests;
  out->body = spread_points_of_blocks(b, seg, splits);
  return out;
}

// Does each point write into the row of its outer index?
static bool writes_own_rows(const SegOp *seg) {
  for (int i = 0, at = 0; i < seg->dest_count; at += seg->dests[i++].index_count + 1) {
    bool own = seg->dests[i].index_count > 0 &&
               atom_equal(seg->body->results[at], atom_var(seg->dims[0].index)) &&
               atom_equal(atom_type(seg->dests[i].dest).dims[0], seg->dims[0].width);
    if (!own) return false;
  }
  return true;
}

static void divide_points(Spread *s, Builder *b, const Stm *stm, const RowSplit *split) {
  const SegOp *seg = stm->exp->u.seg;
  bool whole_inputs = true;
  SegOp *divided = spread_block_seg(s, b, seg, split, &whole_inputs);
  size_t bytes = sizeof(ScatterDest) * (size_t)seg->dest_count;
  ScatterDest *dests = mem_copy(seg->dests, bytes);
  int count = divided->body->result_count;
  Atom *results = mem_copy(divided->body->results, sizeof(Atom) * (size_t)count);
  for (int i = 0, at = 0; i < seg->dest_count; at += seg->dests[i++].index_count + 1) {
    dests[i].dest = spread_block(s, b, seg->dests[i].dest, split);
    results[at] = atom_var(divided->dims[0].index);
  }
  Builder inner = builder_new(b->c, b->loc);
  core_add_body(&inner, divided->body);
  divided->body = core_body(&inner, results, count);
  divided->dests = dests;
  const Atom *blocks = spread_add_blocks(s, b, stm, divided, split, false);
  for (int i = 0; i < stm->binder_count; i++)
    spread_gather(s, b, stm->binders[i], blocks[i], split);
}

bool spread_reads_distributed(const Spread *s, const SegOp *seg) {
  VarVec vars = core_free_body(seg->body);
  vec_each (const Var **, var, &vars) {
    const RowSplit *split =
        (*var)->type.rank ? spread_split_of(s, (*var)->type.dims[0]) : NULL;
    if (split && spread_part(s, atom_var(*var), split)) return true;
  }
  return false;
}

static void write_blocks(Spread *s, Builder *b, const Stm *stm, const RowPart **parts) {
  const SegOp *seg = stm->exp->u.seg;
  Atom *out = new_array(Atom, stm->binder_count);
  const SegOp *divided = scatter_of_blocks(b, seg, parts);
  core_let_n(b, stm->binders[0]->name, exp_seg(divided), out);
  SpreadSeg note = { seg,     NULL, true, false, { 0 }, core_free_exp(exp_seg(divided)),
                     s->loops };
  for (int i = 0; i < seg->dest_count; i++) {
    if (!parts[i]) {
      core_let_vars(b, stm->binders + i, 1, exp_atom(out[i]));
      continue;
    }
    vec_push(&note.blocks, out[i].u.var);
    spread_gather(s, b, stm->binders[i], out[i], parts[i]->split);
  }
  vec_push(&s->segs, note);
}

bool spread_scatter(Spread *s, Builder *b, const Stm *stm) {
  const SegOp *seg = stm->exp->kind == EXP_SEG ? stm->exp->u.seg : NULL;
  if (!seg || seg->kind != SEG_SCATTER || seg->level != 1 || seg->after) return false;
  if (map_has(s->whole, seg)) return false;
  const RowPart **parts = new_array(const RowPart *, seg->dest_count + 1);
  bool some = false;
  for (int i = 0; i < seg->dest_count; i++)
    some = (parts[i] = part_of_dest(s, &seg->dests[i])) || some;
  b->loc = stm->loc;
  const RowSplit *split = spread_split_of(s, seg->dims[0].width);
  bool reads = spread_reads_distributed(s, seg);
  if (split && (some || reads) && writes_own_rows(seg)) {
    divide_points(s, b, stm, split);
    return true;
  }
  if (spread_may_deliver(s, seg) && spread_delivery(s, b, stm, split)) return true;
  if (some && !reads) write_blocks(s, b, stm, parts);
  return some && !reads;
}
