// Scatters of what is distributed:
//
//   let zs = segscatter1 <i < k> into ys[_] {.. xs[i] .. in {at, v}}
//     =>  let zs' = if workers > 1
//           then let (ps, vs) = segmap1 <j < count> {.. xs'[j] .. in {at, v}}
//                in deliver n from start:count ys' ps vs
//           else segscatter1 <j < count> into ys'[_] {.. in {at - start, v}}
//         let zs = gather zs'
//
// Each worker computes the values of its points, and sends each to the worker that has its place,
// or to all if the rows are not divided (the splits of points and rows have guards of their own);
// positions outside become -1.  The result stays distributed.
//
// To sort out a value and send it takes about as long as to scatter ten.  So where that is all that
// the points do, up to FEW_WORKERS workers have all that these read, and each goes through all of
// them.
#include "flat/workers/workers.h"

enum { FEW_WORKERS = 5 };

// The split of the rows into which it writes a value for each point; NULL if there is none.
static const RowSplit *split_of_dest(const Spread *s, const ScatterDest *dest) {
  return dest->index_count ? spread_split_of(s, atom_type(dest->dest).dims[0]) : NULL;
}

static Atom is_below(Builder *b, Atom index, Atom size) {
  Atom low = core_let(b, "low", exp_op2(OP_LE, atom_i64(0), index));
  Atom high = core_let(b, "high", exp_op2(OP_LT, index, size));
  return core_let(b, "inside", exp_op2(OP_LAND, low, high));
}

// The number of the place among those of all rows; -1 if there is none.
static Atom position_of(Builder *b, const ScatterDest *dest, const Atom *indices) {
  CoreType type = atom_type(dest->dest);
  Builder there = builder_new(b->c, b->loc);
  Atom inside = is_below(b, indices[0], type.dims[0]), position = indices[0];
  for (int i = 1; i < dest->index_count; i++) {
    Atom also = is_below(b, indices[i], type.dims[i]);
    inside = core_let(b, "inside", exp_op2(OP_LAND, inside, also));
    position = size_mul(&there, position, type.dims[i]);
    position = core_let(&there, "position", exp_op2(OP_ADD, position, indices[i]));
  }
  Atom nowhere = atom_i64(-1);
  return core_let(
      b, "position",
      exp_if(inside, core_body(&there, &position, 1), spread_no_stms(b, &nowhere, 1)));
}

// segmap {positions.., values..}: the points of the divided scatter; the arrays.
static Atom *add_points(Builder *b, const SegOp *divided) {
  int count = divided->dest_count;
  Builder inner = builder_new(b->c, b->loc);
  Atom *results = new_array(Atom, 2 * count), *out = new_array(Atom, 2 * count);
  core_add_body(&inner, divided->body);
  for (int i = 0, at = 0; i < count; at += divided->dests[i++].index_count + 1) {
    const Atom *indices = divided->body->results + at;
    results[i] = position_of(&inner, &divided->dests[i], indices);
    results[count + i] = indices[divided->dests[i].index_count];
  }
  const SegOp *seg = new_node(SegOp, .kind = SEG_MAP, .level = 1, .dims = divided->dims,
                              .dim_count = divided->dim_count,
                              .body = core_body(&inner, results, 2 * count));
  core_let_n(b, "points", exp_seg(seg), out);
  return out;
}

// With several workers: `blocks` with what all have for them.
static const Body *deliver_points(Builder *b, const SegOp *divided, const Atom *blocks,
                                  const RowSplit **splits) {
  Atom *out = new_array(Atom, divided->dest_count);
  const Atom *points = add_points(b, divided);
  for (int i = 0; i < divided->dest_count; i++) {
    const RowSplit *to = splits[i];
    const Exp *block =
        exp_gather(to->workers, to->width, to->start, to->count, blocks[i]);
    out[i] = core_let(b, "delivered",
                      exp_deliver(block, points[i], points[divided->dest_count + i]));
  }
  return core_body(b, out, divided->dest_count);
}

// Where each worker goes through all points: the scatter, under names of its own.
static const Body *scatter_points(Builder *b, const SegOp *divided, const Atom *blocks,
                                  const RowSplit **splits) {
  SegOp *seg = mem_copy(divided, sizeof *divided);
  SegDim *dims = mem_copy(seg->dims, sizeof *dims * (size_t)seg->dim_count);
  ScatterDest *dests = mem_copy(seg->dests, sizeof *dests * (size_t)seg->dest_count);
  Atom *out = new_array(Atom, seg->dest_count);
  Subst *subst = subst_new();
  for (int i = 0; i < seg->dim_count; i++) {
    dims[i].index = var_like(b->c, dims[i].index);
    subst_put(subst, seg->dims[i].index, atom_var(dims[i].index));
  }
  for (int i = 0; i < seg->dest_count; i++) {
    dests[i].dest = blocks[i];
    dests[i].inside = dests[i].ascending = false;
  }
  seg->dims = dims;
  seg->dests = dests;
  seg->body = core_rename_body(b->c, subst, spread_points_of_blocks(b, divided, splits));
  core_let_n(b, "scattered", exp_seg(seg), out);
  return core_body(b, out, seg->dest_count);
}

// A cheap one stays whole if its results are gathered, whatever it reads: else that would be moved,
// too.
static void note_delivery(Spread *s, const Stm *stm, const Exp *both, const Atom *out) {
  const SegOp *seg = stm->exp->u.seg;
  SpreadSeg note = { seg,     NULL,  spread_costs_little(seg),
                     true,    { 0 }, core_free_exp(both),
                     s->loops };
  for (int i = 0; i < seg->dest_count; i++)
    vec_push(&note.blocks, out[i].u.var);
  vec_push(&s->segs, note);
}

bool spread_is_worth_delivering(const SegOp *seg) {
  Atom width = seg->dims[0].width;
  bool few = width.kind == ATOM_CONST && width.u.constant.u.i < FEW_ROWS;
  return seg->kind == SEG_SCATTER && seg->level == 1 && !seg->after && !few &&
         !spread_is_filter(seg) && !spread_costs_little(seg);
}

bool spread_may_deliver(const Spread *s, const SegOp *seg) {
  bool scatter = seg->kind == SEG_SCATTER && seg->level == 1 && !seg->after;
  if (!scatter || !spread_split_of(s, seg->dims[0].width)) return false;
  return (spread_reads_distributed(s, seg) && s->loops == 0) ||
         spread_is_worth_delivering(seg);
}

bool spread_delivery(Spread *s, Builder *b, const Stm *stm, const RowSplit *split) {
  const SegOp *seg = stm->exp->u.seg;
  int count = seg->dest_count;
  const RowSplit **splits = new_array(const RowSplit *, count + 1);
  for (int i = 0; i < count; i++)
    if (!(splits[i] = split_of_dest(s, &seg->dests[i]))) return false;
  bool whole_inputs = true, costly = spread_is_worth_delivering(seg);
  Builder all = builder_new(b->c, b->loc), one = builder_new(b->c, b->loc);
  const SegOp *divided =
      spread_block_seg(s, costly ? b : &all, seg, split, &whole_inputs);
  Atom *blocks = new_array(Atom, count), *out = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    blocks[i] = spread_block(s, b, seg->dests[i].dest, splits[i]);
  Atom more = spread_is_more(b, split->workers, costly ? 1 : FEW_WORKERS);
  map_put(s->alike, more.u.var, more.u.var);
  const Body *several = deliver_points(&all, divided, blocks, splits);
  const Exp *both =
      exp_if(more, several, scatter_points(&one, costly ? divided : seg, blocks, splits));
  core_let_n(b, stm->binders[0]->name, both, out);
  note_delivery(s, stm, both, out);
  for (int i = 0; i < count; i++)
    spread_gather(s, b, stm->binders[i], out[i], splits[i]);
  return true;
}
