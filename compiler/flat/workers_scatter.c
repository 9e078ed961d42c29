// Scatters and updates of a distributed array:
//
//   let ys = gather ys'   let zs = segscatter1 <i < k> into ys[_] {.. in {at, v}}
//     =>  let zs' = segscatter1 <i < k> into ys'[_] {.. in {at - start, v}}
//         let zs = gather zs'
//
// All workers go through all points, and each writes those that lie in its block.
#include "flat/workers.h"

static const RowPart *part_of_dest(const Spread *s, const ScatterDest *dest) {
  CoreType type = atom_type(dest->dest);
  const RowSplit *split = dest->index_count > 0 ? spread_split_of(s, type.dims[0]) : NULL;
  return split ? spread_part(s, dest->dest, split) : NULL;
}

// The points, with the rows of a block in the place of those of all.
static const Body *points_of_blocks(const Builder *b, const SegOp *seg,
                                    const RowPart **parts) {
  Builder inner = builder_new(b->c, b->loc);
  core_add_body(&inner, seg->body);
  int count = seg->body->result_count;
  Atom *results = mem_copy(seg->body->results, sizeof *results * (size_t)count);
  for (int i = 0, at = 0; i < seg->dest_count; at += seg->dests[i++].index_count + 1)
    if (parts[i])
      results[at] =
          core_let(&inner, "row", exp_op2(OP_SUB, results[at], parts[i]->split->start));
  return core_body(&inner, results, count);
}

static const SegOp *scatter_of_blocks(const Builder *b, const SegOp *seg,
                                      const RowPart **parts) {
  SegOp *out = mem_copy(seg, sizeof *seg);
  size_t bytes = sizeof(ScatterDest) * (size_t)seg->dest_count;
  ScatterDest *dests = mem_copy(seg->dests, bytes);
  for (int i = 0; i < seg->dest_count; i++) {
    if (!parts[i]) continue;
    dests[i].dest = parts[i]->block;
    dests[i].inside = dests[i].ascending = false;
  }
  out->dests = dests;
  out->body = points_of_blocks(b, seg, parts);
  return out;
}

bool spread_scatter(Spread *s, Builder *b, const Stm *stm) {
  const SegOp *seg = stm->exp->kind == EXP_SEG ? stm->exp->u.seg : NULL;
  if (!seg || seg->kind != SEG_SCATTER || seg->level != 1 || seg->after) return false;
  if (map_has(s->whole, seg)) return false;
  const RowPart **parts = new_array(const RowPart *, seg->dest_count + 1);
  bool some = false;
  for (int i = 0; i < seg->dest_count; i++)
    some = (parts[i] = part_of_dest(s, &seg->dests[i])) || some;
  if (!some) return false;
  b->loc = stm->loc;
  Atom *out = new_array(Atom, stm->binder_count);
  const SegOp *divided = scatter_of_blocks(b, seg, parts);
  core_let_n(b, stm->binders[0]->name, exp_seg(divided), out);
  SpreadSeg note = { seg, NULL, true, false, { 0 }, core_free_exp(exp_seg(divided)) };
  for (int i = 0; i < seg->dest_count; i++) {
    if (!parts[i]) {
      core_let_vars(b, stm->binders + i, 1, exp_atom(out[i]));
      continue;
    }
    vec_push(&note.blocks, out[i].u.var);
    spread_gather(s, b, stm->binders[i], out[i], parts[i]->split);
  }
  vec_push(&s->segs, note);
  return true;
}
