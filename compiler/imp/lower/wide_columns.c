// Reductions along a dimension in which neighbours lie apart: sums of columns.  A group has
// neighbouring columns, `lanes` items to each, which stride over the group's chunk of rows:
//
//   item: acc = op acc xss[start + lane + lanes * round][column] ..
//         parts[item] = acc; barrier; tree over the lanes of each column
//
// Why: as they lie, items that work on a column together would read a sector each for a word, and
// a transposed copy is written and read besides.
//
// Scans likewise, in rounds: each of a column's items has a few rows that follow one another, what
// they have is scanned, and the result is written as the input lies.
#include "imp/lower/wide.h"

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

bool wide_has_columns(Code *host, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  int reds = 0;
  for (int o = 0; o < seg->op_count; o++)
    reds += seg->ops[o].count;
  if (seg->dim_count < 2 || seg->body->result_count != reds || !seg_commutes(seg))
    return false;
  SegOp turned = columns_first(seg);
  Exp exp = *stm->exp;
  exp.u.seg = &turned;
  Stm turned_stm = *stm;
  turned_stm.exp = &exp;
  return layout_apart(host, stm).count > 0 && layout_apart(host, &turned_stm).count == 0;
}

// How many columns have items enough in a group, if they are so short, whatever lies between them:
// neighbours in a dimension of three leave most of a group without work.
static const ImpExp *short_columns(const Wide *w) {
  const ImpExp *rows = imp_ceil_div(w->width, wide_elements_each(w));
  const ImpExp *lanes = imp_max(imp_i64(1), imp_min(rows, w->group_size));
  return imp_quot(w->group_size, lanes);
}

// As many columns to a group as fit, evenly; as many chunks of rows as are worth a group.
ColumnTiles wide_columns(Wide *w, const char *what, bool sums) {
  ColumnTiles of = { 0 };
  ImpBuilder *b = w->host->b;
  const ImpExp *all =
      imp_max(imp_i64(1), imp_atom(w->seg->dims[w->seg->dim_count - 2].width));
  const ImpExp *most = imp_min(w->group_size, imp_i64(COLUMNS));
  const ImpExp *side_by_side = imp_ceil_div(all, imp_ceil_div(all, most));
  if (sums) side_by_side = imp_max(side_by_side, short_columns(w));
  of.columns = imp_named(b, "columns", side_by_side);
  of.lanes = imp_named(b, "lanes", imp_quot(w->group_size, of.columns));
  of.steps = host_doublings(w->host, of.lanes);
  of.tiles = imp_named(b, "tiles", imp_ceil_div(w->segments, of.columns));
  Wide tiles = *w;
  tiles.segments = of.tiles;
  tiles.group_size = of.lanes;
  wide_chunks(&tiles, what, imp_i64(1));
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
  wide_add_element(s, &inner, accs, values);
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

// ---- scans

typedef struct ColumnScan {
  WideKernel s;
  ColumnTiles of;
  const ImpExp *column, *lane, *active;
  const ImpExp *first;      // row of the round's piece
  const Mem *const *carry;  // local: of each column, what comes before the round
} ColumnScan;

// The column's first item: carry = what comes before the chunk
static void start_columns(ColumnScan *l) {
  WideKernel *s = &l->s;
  ImpBuilder own, before = wide_block(s->k);
  Code mine = code_inner(s->k, &own);
  wide_store(s, &own, l->carry, l->column, wide_neutral(s->w));
  if (s->w->before) {
    const ImpExp *at[] = { s->segment, imp_sub(s->chunk, imp_i64(1)) };
    for (int r = 0; r < s->w->reds; r++)
      imp_store(&before, l->carry[r], l->column,
                imp_load(s->w->before[r]->mem, arr_index(s->w->before[r], at)));
    imp_if(mine.b, imp_and(l->active, imp_less(imp_i64(0), s->chunk)), before.block);
  }
  imp_if(s->k->b, imp_op2(OP_EQ, l->lane, imp_i64(0)), own.block);
  wide_barrier(s);
}

// Where the item keeps its row number i of a round: neighbours beside each other.
static const ImpExp *kept_at(const WideKernel *s, const ImpExp *i) {
  return imp_add(imp_mul(i, s->size), s->item);
}

static const ImpExp *has_row(const ColumnScan *l, const ImpExp *row) {
  return imp_and(l->active, imp_less(row, l->s.length));
}

// staged, and parts[item] = op over the item's rows, neutral elements beyond the end
static void stage_column(ColumnScan *l, Code *k) {
  WideKernel *s = &l->s;
  Code inner;
  ImpBuilder b, present;
  const Var *i;
  Accs accs = wide_accs(s, k, wide_neutral(s->w));
  const ImpExp *round = wide_open_loop(k, &inner, &b, &i), *at = kept_at(s, round);
  const ImpExp *row = imp_let(&b, "row", imp_add(l->first, round));
  ImpBuilder absent = wide_block(&inner);
  Code there = code_inner(&inner, &present);
  const ImpExp **values = new_array(const ImpExp *, s->w->reds + 1);
  if (!s->w->from)
    bind_space(&there, s->w->seg->dims, s->w->seg->dim_count - 1, s->segment);
  wide_element(s, &there, imp_add(s->start, row), values);
  wide_store(s, &present, s->staged, at, values);
  wide_store(s, &absent, s->staged, at, wide_neutral(s->w));
  imp_add_stm(&b, (ImpStm){ .kind = IMP_IF,
                            .u.cond = { has_row(l, row), present.block, absent.block } });
  accs_join(&inner, accs, wide_loads(s, s->staged, at));
  wide_close_loop(k, &b, i, imp_i64(s->each));
  wide_store(s, k->b, s->parts, s->item, accs_values(accs));
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_BARRIER });
}

static void store_row(const ColumnScan *l, Code *k, const ImpExp *row,
                      const ImpExp *const *values) {
  const Wide *w = l->s.w;
  const ImpExp *flat[] = { l->s.segment, row }, *const *at = flat;
  if (w->mapped) {
    bind_space(k, w->seg->dims, w->seg->dim_count - 1, l->s.segment);
    code_bind_scalar(k, w->seg->dims[w->seg->dim_count - 1].index, row);
    at = space_indices(w->seg->dims, w->seg->dim_count);
  }
  const Arr *const *outs = w->mapped ? w->mapped : w->out;
  for (int r = 0; r < w->reds; r++)
    imp_store(k->b, outs[r]->mem, arr_index(outs[r], at), values[r]);
}

// The item's rows with all before them; `sums`: where its scanned part is.
static void write_column(ColumnScan *l, Code *k, const ImpExp *sums) {
  WideKernel *s = &l->s;
  Code inner;
  ImpBuilder b, before, present, last = wide_block(k);
  const Var *i;
  Accs accs = wide_accs(s, k, wide_loads(s, l->carry, l->column));
  Code others = code_inner(k, &before);
  accs_join(&others, accs, wide_loads(s, s->parts, imp_sub(sums, l->of.columns)));
  imp_if(k->b, imp_less(imp_i64(0), l->lane), before.block);
  const ImpExp *round = wide_open_loop(k, &inner, &b, &i);
  const ImpExp *row = imp_let(&b, "row", imp_add(l->first, round));
  accs_join(&inner, accs, wide_loads(s, s->staged, kept_at(s, round)));
  Code there = code_inner(&inner, &present);
  store_row(l, &there, imp_add(s->start, row), accs_values(accs));
  imp_if(&b, has_row(l, row), present.block);
  wide_close_loop(k, &b, i, imp_i64(s->each));
  wide_store(s, k->b, s->staged, s->item, accs_values(accs));
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_BARRIER });
  wide_store(s, &last, l->carry, l->column, wide_loads(s, s->staged, s->item));
  const ImpExp *end = imp_sub(l->of.lanes, imp_i64(1));
  imp_if(k->b, imp_op2(OP_EQ, l->lane, end), last.block);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_BARRIER });
}

void wide_scan_columns(const Wide *w, ColumnTiles of, const char *name) {
  ColumnScan l = { .s = wide_begin(w), .of = of };
  WideKernel *s = &l.s;
  Code inner;
  ImpBuilder b;
  const Var *i;
  l.active = open_columns(s, &of, &l.lane);
  l.column = imp_named(s->k->b, "column", imp_rem(s->item, of.columns));
  l.carry = wide_local(s, "carry", of.columns);
  s->parts = wide_local(s, "parts", imp_mul(imp_i64(2), w->group_size));
  s->staged = wide_local(s, "staged", imp_mul(w->group_size, imp_i64(s->each)));
  start_columns(&l);
  const ImpExp *rows = imp_mul(of.lanes, imp_i64(s->each));
  const ImpExp *length = imp_max(imp_i64(1), s->length);
  const ImpExp *rounds = imp_let(s->k->b, "rounds", imp_ceil_div(length, rows));
  const ImpExp *round = wide_open_loop(s->k, &inner, &b, &i);
  const ImpExp *piece = imp_mul(l.lane, imp_i64(s->each));
  l.first = imp_let(&b, "first", imp_add(imp_mul(round, rows), piece));
  stage_column(&l, &inner);
  Parts parts = wide_parts(s);
  parts.stride = of.columns;
  write_column(&l, &inner,
               parts_scan(&parts, &inner, (PartRun){ l.lane, of.lanes, of.steps, NULL }));
  wide_close_loop(s->k, &b, i, rounds);
  wide_end(s, name, imp_mul(of.tiles, w->chunks));
}
