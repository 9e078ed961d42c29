// Reductions along a dimension in which neighbours lie apart: sums of columns.  A group has
// neighbouring columns, `lanes` items to each, which stride over the group's chunk of rows:
//
//   item: acc = op acc xss[start + lane + lanes * round][column] ..
//         parts[item] = acc; barrier; tree over the lanes of each column
//
// Why: as they lie, items that work on a column together would read a sector each for a word, and
// a transposed copy is written and read besides.
#include "imp/lower_wide.h"

enum { COLUMNS = 32 };

// The last two dimensions of the space in the other order.
static SegOp columns_first(const SegOp *seg) {
  SegOp out = *seg;
  SegDim *dims = new_array(SegDim, seg->dim_count);
  int last = seg->dim_count - 1;
  for (int d = 0; d <= last; d++)
    dims[d] = seg->dims[d];
  dims[last] = seg->dims[last - 1];
  dims[last - 1] = seg->dims[last];
  out.dims = dims;
  return out;
}

bool wide_has_columns(Code *host, const SegOp *seg) {
  int reds = 0;
  for (int o = 0; o < seg->op_count; o++)
    reds += seg->ops[o].count;
  if (seg->dim_count < 2 || seg->body->result_count != reds || !seg_commutes(seg))
    return false;
  SegOp turned = columns_first(seg);
  return layout_apart(host, seg).count > 0 && layout_apart(host, &turned).count == 0;
}

// As many columns to a group as fit, evenly; as many chunks of rows as are worth a group.
ColumnTiles wide_columns(Wide *w) {
  ColumnTiles of = { 0 };
  ImpBuilder *b = w->host->b;
  const ImpExp *all =
      imp_max(imp_i64(1), imp_atom(w->seg->dims[w->seg->dim_count - 2].width));
  const ImpExp *most = imp_min(w->group_size, imp_i64(COLUMNS));
  of.columns = imp_named(b, "columns", imp_ceil_div(all, imp_ceil_div(all, most)));
  of.lanes = imp_named(b, "lanes", imp_quot(w->group_size, of.columns));
  of.steps = host_doublings(w->host, of.lanes);
  of.tiles = imp_named(b, "tiles", imp_ceil_div(w->segments, of.columns));
  Wide tiles = *w;
  tiles.segments = of.tiles;
  tiles.group_size = of.lanes;
  wide_chunks(&tiles, "segred", imp_i64(1));
  w->chunks = tiles.chunks;
  w->chunk_size = tiles.chunk_size;
  return of;
}

// The item's column and lane; returns which items have one.
static const ImpExp *open_columns(WideKernel *s, const ColumnTiles *of,
                                  const ImpExp **lane) {
  ImpBuilder *b = s->k->b;
  const Wide *w = s->w;
  const ImpExp *group = imp_named(b, "group", imp_item(ITEM_GROUP_ID));
  const ImpExp *column = imp_named(b, "column", imp_rem(s->item, of->columns));
  *lane = imp_named(b, "lane", imp_quot(s->item, of->columns));
  s->chunk = imp_named(b, "chunk", imp_rem(group, w->chunks));
  const ImpExp *tile = imp_quot(group, w->chunks);
  s->segment = imp_named(b, "segment", imp_add(imp_mul(tile, of->columns), column));
  s->start = imp_named(b, "start", imp_mul(s->chunk, w->chunk_size));
  s->length = imp_named(b, "length", imp_min(w->chunk_size, imp_sub(w->width, s->start)));
  return imp_and(imp_less(*lane, of->lanes), imp_less(s->segment, w->segments));
}

// parts[item] = op over the item's rows of its column
static void sum_rows(WideKernel *s, const ColumnTiles *of, const ImpExp *lane,
                     const ImpExp *active) {
  ImpBuilder there, b;
  const Var *i;
  Accs accs = wide_accs(s, s->k, wide_neutral(s->w));
  Code mine = code_inner(s->k, &there), inner;
  bind_space(&mine, s->w->seg->dims, s->w->seg->dim_count - 1, s->segment);
  const ImpExp *rest = imp_max(imp_i64(0), imp_sub(s->length, lane));
  const ImpExp *rounds = imp_let(&there, "rounds", imp_ceil_div(rest, of->lanes));
  const ImpExp *round = wide_open_loop(&mine, &inner, &b, &i);
  const ImpExp *row = imp_add(imp_add(s->start, lane), imp_mul(round, of->lanes));
  const ImpExp **values = new_array(const ImpExp *, s->w->reds + 1);
  wide_element(s, &inner, row, values);
  accs_apply(&inner, accs, values);
  wide_close_loop(&mine, &b, i, rounds);
  imp_if(s->k->b, active, there.block);
  wide_store(s, s->k->b, s->parts, s->item, accs_values(accs));
  wide_barrier(s);
}

void wide_reduce_columns(const Wide *w, ColumnTiles of, const char *name) {
  WideKernel s = wide_begin(w);
  const ImpExp *lane, *active = open_columns(&s, &of, &lane);
  s.parts = wide_local(&s, "parts", w->group_size);
  sum_rows(&s, &of, lane, active);
  Parts parts = wide_parts(&s);
  parts.stride = of.columns;
  parts_tree(&parts, s.k, (PartRun){ lane, of.lanes, of.steps, active });
  ImpBuilder b = wide_block(s.k);
  const ImpExp *at[] = { s.segment, s.chunk }, *const *values =
                                                   wide_loads(&s, s.parts, s.item);
  for (int r = 0; r < w->reds; r++)
    imp_store(&b, w->out[r]->mem, arr_index(w->out[r], at), values[r]);
  imp_if(s.k->b, imp_and(active, imp_op2(OP_EQ, lane, imp_i64(0))), b.block);
  wide_end(&s, name, imp_mul(of.tiles, w->chunks));
}
