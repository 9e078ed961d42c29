// segred1 on a GPU, chosen by the width of the segments when running:
//
//   columns: neighbouring segments to a group (wide_columns.c), if they lie so
//   short: several segments to a group (wide_short.c)
//   else:  one or several groups to a segment.  The items of a group stride over its chunk, or, if
//          the operators do not commute, take contiguous pieces of what the group has staged in
//          local memory; then a tree.  A second kernel does the same with the results of several
//          groups.
#include "imp/lower/wide.h"

// Each item accumulates the elements item, item + group_size, ..
static void stride_over_chunk(WideKernel *s) {
  Code inner;
  ImpBuilder b;
  const Var *i;
  const ImpExp *size = s->size, *rest = imp_sub(s->length, s->item);
  const ImpExp *rounds =
      imp_let(s->k->b, "rounds", imp_max(imp_i64(0), imp_ceil_div(rest, size)));
  Accs accs = wide_accs(s, s->k, wide_neutral(s->w));
  const ImpExp *round = wide_open_loop(s->k, &inner, &b, &i);
  const ImpExp *at = imp_add(imp_add(s->start, s->item), imp_mul(round, size));
  const ImpExp **values = new_array(const ImpExp *, s->w->reds + 1);
  wide_element(s, &inner, at, values);
  wide_add_element(s, &inner, accs, values);
  wide_close_loop(s->k, &b, i, rounds);
  wide_store(s, s->k->b, s->parts, s->item, accs_values(accs));
  wide_barrier(s);
  Parts parts = wide_parts(s);
  parts_halve(&parts, s->k);
}

void wide_sum_piece(WideKernel *s, Code *k) {
  Code inner;
  ImpBuilder b;
  const Var *i;
  Accs accs = wide_accs(s, k, wide_neutral(s->w));
  const ImpExp *at =
      imp_add(imp_mul(s->item, imp_i64(s->each)), wide_open_loop(k, &inner, &b, &i));
  accs_join(&inner, accs, wide_loads(s, s->staged, at));
  wide_close_loop(k, &b, i, imp_i64(s->each));
  wide_store(s, k->b, s->parts, s->item, accs_values(accs));
}

// total = op total parts[0], by the first item
static void add_to_total(WideKernel *s, Code *k, const Mem *const *total) {
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  Accs accs = wide_accs(s, &inner, wide_loads(s, total, imp_i64(0)));
  accs_join(&inner, accs, wide_loads(s, s->parts, imp_i64(0)));
  wide_store(s, &b, total, imp_i64(0), accs_values(accs));
  wide_by_first(s, k, &b);
}

// In rounds over the chunk; what they give is accumulated in `total`.
static const Mem *const *reduce_in_order(WideKernel *s) {
  Code inner;
  ImpBuilder b, first;
  const Var *i;
  s->staged = wide_local(s, "staged", imp_mul(s->w->group_size, imp_i64(s->each)));
  const Mem *const *total = wide_local(s, "total", imp_i64(1));
  first = wide_block(s->k);
  wide_store(s, &first, total, imp_i64(0), wide_neutral(s->w));
  wide_by_first(s, s->k, &first);
  const ImpExp *rounds = wide_rounds(s), *round = wide_open_loop(s->k, &inner, &b, &i);
  wide_stage(s, &inner, imp_mul(round, imp_mul(s->size, imp_i64(s->each))));
  imp_add_stm(&b, (ImpStm){ .kind = IMP_BARRIER });
  wide_sum_piece(s, &inner);
  imp_add_stm(&b, (ImpStm){ .kind = IMP_BARRIER });
  Parts parts = wide_parts(s);
  parts_tree(&parts, &inner, (PartRun){ s->item, s->size, s->steps, NULL });
  add_to_total(s, &inner, total);
  wide_close_loop(s->k, &b, i, rounds);
  return total;
}

void wide_reduce(const Wide *w, const char *name) {
  WideKernel s = wide_begin(w);
  wide_open_chunk(&s, imp_item(ITEM_GROUP_ID));
  s.parts = wide_local(&s, "parts", w->group_size);
  const Mem *const *total = s.parts;
  if (seg_commutes(w->seg))
    stride_over_chunk(&s);
  else
    total = reduce_in_order(&s);
  ImpBuilder b = wide_block(s.k);
  const ImpExp *at[] = { s.segment, s.chunk }, *const *values =
                                                   wide_loads(&s, total, imp_i64(0));
  for (int r = 0; r < w->reds; r++)
    imp_store(&b, w->out[r]->mem, arr_index(w->out[r], at), values[r]);
  wide_by_first(&s, s.k, &b);
  wide_end(&s, name, imp_mul(w->segments, w->chunks));
}

// ---- on the host

Wide wide_within(const Wide *w, Code *host, ImpBuilder *b) {
  Wide inner = *w;
  *b = (ImpBuilder){ .c = w->host->lower->c, .loc = w->host->b->loc };
  *host = *w->host;
  host->b = b;
  inner.host = host;
  return inner;
}

// [segments][count] in the memory of each value
const Arr *const *wide_rows(const Wide *w, const Mem *const *mems, const ImpExp *count) {
  const Arr **rows = new_array(const Arr *, w->reds + 1);
  const ImpExp **shape = new_array(const ImpExp *, 2);
  shape[0] = w->segments;
  shape[1] = count;
  for (int r = 0; r < w->reds; r++) {
    Arr arr = arr_dense(mems[r], mems[r]->elem, shape, 2);
    rows[r] = mem_copy(&arr, sizeof arr);
  }
  return rows;
}

const Arr *const *wide_turned_rows(const Wide *w, const Mem *const *mems,
                                   const ImpExp *count) {
  static const int turned[] = { 1, 0 };
  const Arr **rows = new_array(const Arr *, w->reds + 1);
  const ImpExp **shape = new_array(const ImpExp *, 2);
  shape[0] = count;
  shape[1] = w->segments;
  for (int r = 0; r < w->reds; r++) {
    Arr arr = arr_dense(mems[r], mems[r]->elem, shape, 2);
    arr = arr_permute(&arr, turned);
    rows[r] = mem_copy(&arr, sizeof arr);
  }
  return rows;
}

// columns: NULL if rows are reduced.
static void reduce_parts_of(const Wide *w, const ColumnTiles *columns, const char *name) {
  if (columns)
    wide_reduce_columns(w, *columns, name);
  else
    wide_reduce(w, name);
}

static void combine_chunks(const Wide *w, const ColumnTiles *columns,
                           const Mem *const *totals) {
  Wide again = *w;
  again.from = w->out;
  again.out = wide_rows(w, totals, imp_i64(1));
  again.width = again.chunk_size = w->chunks;
  again.chunks = imp_i64(1);
  again.mapped = NULL;
  again.layouts = NULL;
  reduce_parts_of(&again, columns, "segred_combine");
}

// With one chunk per segment its result is the segment's.
static void reduce_long(Wide *w, const Mem *const *partials, const Mem *const *totals,
                        bool columns) {
  int64_t each = seg_commutes(w->seg) ? 1 : wide_each(w);
  ColumnTiles all;
  const ColumnTiles *of = columns ? &all : NULL;
  if (columns)
    all = wide_columns(w, "segred", true);
  else
    wide_chunks(w, "segred", imp_mul(w->group_size, imp_i64(each)));
  Code many_code;
  ImpBuilder many, one = { .c = w->host->lower->c, .loc = w->host->b->loc },
                   *b = w->host->b;
  const ImpExp *several = imp_less(imp_i64(1), w->chunks);
  wide_within(w, &many_code, &many);
  for (int r = 0; r < w->reds; r++) {
    const ImpExp *count = imp_mul(w->segments, w->chunks);
    imp_add_stm(&many, (ImpStm){ .kind = IMP_ALLOC, .u.alloc = { partials[r], count } });
    imp_add_stm(&one,
                (ImpStm){ .kind = IMP_SHARE, .u.share = { partials[r], totals[r] } });
  }
  imp_add_stm(b,
              (ImpStm){ .kind = IMP_IF, .u.cond = { several, many.block, one.block } });
  w->out = columns ? wide_turned_rows(w, partials, w->chunks)
                   : wide_rows(w, partials, w->chunks);
  reduce_parts_of(w, of, columns ? "segred_columns" : "segred");
  Wide combine = wide_within(w, &many_code, &many);
  combine_chunks(&combine, of, totals);
  imp_if(b, several, many.block);
  for (int r = 0; r < w->reds; r++)
    imp_release(b, partials[r]);
}

// Several segments to a group if they are so short that they fit.
static void reduce_rows(Wide *w, const Mem *const *partials, const Mem *const *totals) {
  ShortSegments short_ones = wide_short_segments(w);
  Code short_code, long_code;
  ImpBuilder few, many;
  Wide in_short = wide_within(w, &short_code, &few),
       in_long = wide_within(w, &long_code, &many);
  in_short.out = wide_rows(w, totals, imp_i64(1));
  wide_reduce_short(&in_short, short_ones);
  reduce_long(&in_long, partials, totals, false);
  imp_add_stm(
      w->host->b,
      (ImpStm){ .kind = IMP_IF, .u.cond = { short_ones.fit, few.block, many.block } });
}

void lower_wide_segred(Code *host, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  bool columns = wide_has_columns(host, stm);
  Layouts layouts = { 0 };
  if (!columns) layouts = layout_inputs(host, stm);
  Wide w = wide_new(host, seg, "segred");
  const Mem **partials = new_array(const Mem *, w.reds + 1),
            **totals = new_array(const Mem *, w.reds + 1);
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *binder = stm->binders[i];
    if (i >= w.reds) {
      outs[i] = layout_out(host, binder, seg->dim_count);
      continue;
    }
    partials[i] = host_declare_mem(host, "partials", binder->type.elem);
    totals[i] = host_mem(host, binder->name, binder->type.elem, w.segments);
    Arr out = arr_dense(totals[i], binder->type.elem, code_shape(binder->type),
                        binder->type.rank);
    outs[i] = mem_copy(&out, sizeof out);
  }
  w.layouts = &layouts;
  w.mapped = outs;
  if (columns)
    reduce_long(&w, partials, totals, true);
  else
    reduce_rows(&w, partials, totals);
  seg_bind_results(host, stm, outs);
}
