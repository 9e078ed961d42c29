// segscan1 on a GPU, chosen by the width of the segments when running:
//
//   columns: neighbouring segments to a group (wide_columns.c), if they lie so
//   short: several segments to a group, an element to an item, scanned in local memory
//   else:  one or several groups to a segment.  A group scans its chunk in rounds: it stages
//          elements in local memory, each item scans a contiguous piece of them, the items' sums
//          are scanned, and what comes before is added to each piece.  With several, the chunks
//          are of one round each and look back (wide_look_back.c), or, with
//          segscan_look_back=0, a first kernel reduces longer ones and a second scans what that
//          gave.
//
// What is made of the scanned values at once (SegOp.after) takes the place of storing them.
#include "imp/lower/wide.h"

// What `after` says is to be stored: values at indices of the destinations, then mapped ones.
static void store_made(const WideKernel *s, Code *k, const ImpExp *const *scalars,
                       const Arr *const *arrays) {
  const SegOp *seg = s->w->seg;
  int first = 0, left = seg->after->body->result_count;
  for (int d = 0; d < seg->dest_count; d++) {
    int indexed = seg->dests[d].index_count;
    store_if_inside(k, s->w->made[d], scalars + first, indexed, scalars[first + indexed],
                    arrays[first + indexed]);
    first += indexed + 1;
  }
  const ImpExp *const *indices = space_indices(seg->dims, seg->dim_count);
  for (int i = seg->dest_count; first < left; i++, first++) {
    Arr to = arr_peel(s->w->made[i], indices, seg->dim_count);
    if (to.rank == 0) imp_store(k->b, to.mem, to.offset, scalars[first]);
  }
}

// Mapped arrays are made where they go.
static void place_made(const WideKernel *s, const Arr **arrays) {
  const SegOp *seg = s->w->seg;
  const ImpExp *const *indices = space_indices(seg->dims, seg->dim_count);
  int first = seg_dest_values(seg), left = seg->after->body->result_count;
  for (int i = seg->dest_count; first < left; i++, first++)
    if (s->w->made[i]->rank > seg->dim_count)
      arrays[first] = element_of(s->w->made[i], indices, seg->dim_count);
}

// `after` of a point.  What it takes of the body beside the scanned values is computed again, as
// that is less than keeping it.
static void store_after(const WideKernel *s, Code *k, const ImpExp *at,
                        const ImpExp *const *values) {
  const SegOp *seg = s->w->seg;
  const Lambda *after = seg->after;
  int rank = seg->dim_count, count = seg->body->result_count;
  const ImpExp **others = new_array(const ImpExp *, count + 1),
               **results = new_array(const ImpExp *, after->body->result_count + 1);
  const Arr **no_arrays = new_array(const Arr *, count + 1),
            **arrays = new_array(const Arr *, after->body->result_count + 1);
  code_bind_scalar(k, seg->dims[rank - 1].index, at);
  if (count > s->w->reds) seq_body(k, seg->body, others, no_arrays);
  for (int d = 0; d < rank; d++)
    code_bind_scalar(k, after->params[d], imp_var(seg->dims[d].index));
  for (int r = 0; r < count; r++)
    code_bind_scalar(k, after->params[rank + r], r < s->w->reds ? values[r] : others[r]);
  place_made(s, arrays);
  seq_body(k, after->body, results, arrays);
  store_made(s, k, results, arrays);
}

static void store_element(const WideKernel *s, Code *k, const ImpExp *at,
                          const ImpExp *const *values) {
  const ImpExp *indices[] = { s->segment, at };
  if (s->w->made) {
    store_after(s, k, at, values);
    return;
  }
  for (int r = 0; r < s->w->reds; r++)
    imp_store(k->b, s->w->out[r]->mem, arr_index(s->w->out[r], indices), values[r]);
}

// What comes before the chunk.
static const Mem *const *start_carry(WideKernel *s) {
  const Mem *const *carry = wide_local(s, "carry", imp_i64(1));
  ImpBuilder first, other;
  Code inner = code_inner(s->k, &first);
  wide_store(s, &first, carry, imp_i64(0), wide_neutral(s->w));
  if (s->w->before) {
    other = wide_block(&inner);
    const ImpExp *at[] = { s->segment, imp_sub(s->chunk, imp_i64(1)) };
    for (int r = 0; r < s->w->reds; r++)
      imp_store(&other, carry[r], imp_i64(0),
                imp_load(s->w->before[r]->mem, arr_index(s->w->before[r], at)));
    imp_if(inner.b, imp_less(imp_i64(0), s->chunk), other.block);
  }
  wide_by_first(s, s->k, &first);
  return carry;
}

void wide_scan_piece(WideKernel *s, Code *k, const Mem *const *carry,
                     const ImpExp *sums) {
  Code inner;
  ImpBuilder b, before;
  const Var *i;
  Accs accs = wide_accs(s, k, wide_loads(s, carry, imp_i64(0)));
  Code then_code = code_inner(k, &before);
  accs_join(&then_code, accs, wide_loads(s, s->parts, imp_sub(sums, imp_i64(1))));
  imp_if(k->b, imp_less(imp_i64(0), s->item), before.block);
  const ImpExp *at =
      imp_add(imp_mul(s->item, imp_i64(s->each)), wide_open_loop(k, &inner, &b, &i));
  accs_join(&inner, accs, wide_loads(s, s->staged, at));
  wide_store(s, &b, s->staged, at, accs_values(accs));
  wide_close_loop(k, &b, i, imp_i64(s->each));
}

void wide_write_out(WideKernel *s, Code *k, const ImpExp *first) {
  Code inner;
  ImpBuilder b, present;
  const Var *i;
  const ImpExp *round = wide_open_loop(k, &inner, &b, &i), *size = s->size;
  const ImpExp *j = imp_let(&b, "j", imp_add(imp_mul(round, size), s->item));
  Code then_code = code_inner(&inner, &present);
  store_element(s, &then_code, imp_add(s->start, imp_add(first, j)),
                wide_loads(s, s->staged, j));
  imp_if(inner.b, imp_less(imp_add(first, j), s->length), present.block);
  wide_close_loop(k, &b, i, imp_i64(s->each));
}

// The last sum to the carry.
static void carry_on(WideKernel *s, Code *k, const Mem *const *carry) {
  ImpBuilder b = wide_block(k);
  const ImpExp *last = imp_sub(imp_mul(s->size, imp_i64(s->each)), imp_i64(1));
  wide_store(s, &b, carry, imp_i64(0), wide_loads(s, s->staged, last));
  wide_by_first(s, k, &b);
}

static void scan_long(const Wide *w, const char *name) {
  WideKernel s = wide_begin(w);
  Code inner;
  ImpBuilder b;
  const Var *i;
  wide_open_chunk(&s, imp_item(ITEM_GROUP_ID));
  s.staged = wide_local(&s, "staged", imp_mul(w->group_size, imp_i64(s.each)));
  s.parts = wide_local(&s, "parts", imp_mul(imp_i64(2), w->group_size));
  const Mem *const *carry = start_carry(&s);
  const ImpExp *rounds = wide_rounds(&s), *round = wide_open_loop(s.k, &inner, &b, &i);
  const ImpExp *first = imp_mul(round, imp_mul(s.size, imp_i64(s.each)));
  wide_stage(&s, &inner, first);
  imp_add_stm(&b, (ImpStm){ .kind = IMP_BARRIER });
  wide_sum_piece(&s, &inner);
  imp_add_stm(&b, (ImpStm){ .kind = IMP_BARRIER });
  Parts parts = wide_parts(&s);
  const ImpExp *sums =
      parts_scan(&parts, &inner, (PartRun){ s.item, s.size, s.steps, NULL });
  wide_scan_piece(&s, &inner, carry, sums);
  imp_add_stm(&b, (ImpStm){ .kind = IMP_BARRIER });
  wide_write_out(&s, &inner, first);
  carry_on(&s, &inner, carry);
  imp_add_stm(&b, (ImpStm){ .kind = IMP_BARRIER });
  wide_close_loop(s.k, &b, i, rounds);
  wide_end(&s, name, imp_mul(w->segments, w->chunks));
}

static void scan_short(const Wide *w) {
  Short segments = wide_short(w);
  WideKernel s = wide_begin(w);
  s.parts = wide_local(&s, "parts", imp_mul(imp_i64(2), w->group_size));
  wide_open_short(&s, &segments);
  Parts parts = wide_parts(&s);
  PartRun run = { segments.position, segments.width, segments.steps, NULL };
  const ImpExp *sums = parts_scan(&parts, s.k, run);
  ImpBuilder b;
  Code inner = code_inner(s.k, &b);
  if (w->made) bind_space(&inner, w->seg->dims, w->seg->dim_count - 1, s.segment);
  store_element(&s, &inner, segments.position, wide_loads(&s, s.parts, sums));
  const ImpExp *inside = imp_less(segments.position, w->width);
  imp_if(s.k->b, imp_and(segments.active, inside), b.block);
  wide_end(&s, "segscan_short", segments.groups);
}

// ---- on the host

// before[s][c] = op over the chunks 0 .. c of segment s
static void scan_chunks(const Wide *w, const Mem *const *partials) {
  Wide reduce = *w, again = *w;
  reduce.out = again.from = again.out = wide_rows(w, partials, w->chunks);
  reduce.mapped = NULL;
  wide_reduce(&reduce, "segscan_reduce");
  again.width = again.chunk_size = w->chunks;
  again.chunks = imp_i64(1);
  again.before = again.mapped = again.made = NULL;
  again.layouts = NULL;
  scan_long(&again, "segscan_combine");
}

// In three kernels, or, with one chunk, in one.
static void scan_in_chunks(Wide *w, const Mem *const *partials) {
  Code many_code;
  ImpBuilder many, *b = w->host->b;
  Wide inner = wide_within(w, &many_code, &many);
  for (int r = 0; r < w->reds; r++) {
    const ImpExp *count = imp_mul(w->segments, w->chunks);
    imp_add_stm(b, (ImpStm){ .kind = IMP_ALLOC, .u.alloc = { partials[r], count } });
  }
  scan_chunks(&inner, partials);
  const ImpExp *several = imp_less(imp_i64(1), w->chunks);
  imp_if(b, several, many.block);
  w->before = wide_rows(w, partials, w->chunks);
  scan_long(w, "segscan");
  for (int r = 0; r < w->reds; r++)
    imp_release(b, partials[r]);
}

// The ways to scan long segments, and what they keep meanwhile.
typedef struct LongScan {
  const Mem *states;
  const Mem **partials, **sums;
} LongScan;

static void scan_long_segments(const Wide *w, const LongScan *kept) {
  Code back_code, chunks_code;
  ImpBuilder back, chunks;
  const ImpExp *elements = imp_mul(w->group_size, imp_i64(wide_each(w)));
  Wide shared = *w;
  wide_chunks(&shared, "segscan", elements);
  Wide in_one = wide_within(&shared, &back_code, &back),
       in_chunks = wide_within(&shared, &chunks_code, &chunks);
  in_one.chunk_size = elements;
  in_one.chunks = imp_named(&back, "tiles", imp_ceil_div(w->width, elements));
  wide_scan_by_look_back(&in_one, kept->states, kept->partials, kept->sums);
  scan_in_chunks(&in_chunks, kept->partials);
  const ImpExp *wanted =
      imp_op2(OP_EQ, tuning_param(w->host->lower, "segscan_look_back", "switch", 0, 1),
              imp_i64(1));
  const ImpExp *several = imp_less(imp_i64(1), shared.chunks);
  imp_add_stm(w->host->b, (ImpStm){ .kind = IMP_IF,
                                    .u.cond = { imp_and(wanted, several), back.block,
                                                chunks.block } });
}

// A result [n_p]...[n_1] as [n_p * .. * n_2][n_1].
static const Arr *const *flattened(const Wide *w, const Arr *const *outs) {
  const Mem **mems = new_array(const Mem *, w->reds + 1);
  for (int r = 0; r < w->reds; r++)
    mems[r] = outs[r]->mem;
  return wide_rows(w, mems, w->width);
}

static LongScan new_long_scan(const Wide *w) {
  LongScan kept = { host_declare_mem(w->host, "states", PRIM_I32),
                    new_array(const Mem *, w->reds + 1),
                    new_array(const Mem *, w->reds + 1) };
  for (int o = 0, next = 0; o < w->seg->op_count; o++)
    for (int i = 0; i < w->seg->ops[o].count; i++, next++) {
      PrimType type = w->seg->ops[o].op.params[i]->type.elem;
      kept.partials[next] = host_declare_mem(w->host, "partials", type);
      kept.sums[next] = host_declare_mem(w->host, "sums", type);
    }
  return kept;
}

// Destinations are overwritten in place if nothing else refers to their memory.
static const Arr **places_of_results(const Wide *w, const Stm *stm, const Body *body,
                                     int position) {
  Code *host = w->host;
  const SegOp *seg = w->seg;
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *binder = stm->binders[i];
    bool scanned = !seg->after && i < w->reds;
    if (seg->after && i < seg->dest_count) {
      Arr taken = host_take(host, binder, seg->dests[i].dest, body, position);
      outs[i] = mem_copy(&taken, sizeof taken);
    } else {
      outs[i] = layout_out(host, binder, scanned ? binder->type.rank : seg->dim_count);
    }
  }
  return outs;
}

// ---- columns

// The last two dimensions in the other order in memory, as the input lies.
static const Arr *column_out(Code *host, const Var *binder) {
  int rank = binder->type.rank, *order = new_array(int, rank);
  const ImpExp *const *shape = code_shape(binder->type);
  const ImpExp **turned = new_array(const ImpExp *, rank);
  for (int d = 0; d < rank; d++) {
    order[d] = d < rank - 2 ? d : 2 * rank - 3 - d;
    turned[d] = shape[d < rank - 2 ? d : 2 * rank - 3 - d];
  }
  Arr dense = host_alloc(host, binder->name, binder->type);
  Arr lying = arr_dense(dense.mem, dense.elem, turned, rank),
      out = arr_permute(&lying, order);
  return mem_copy(&out, sizeof out);
}

// In three kernels, or, with one chunk, in one: sums of chunks; what comes before each; the scan.
static void scan_columns(Wide *w, const Mem *const *partials) {
  Code many_code;
  ImpBuilder many, *b = w->host->b;
  ColumnTiles of = wide_columns(w, "segscan", false);
  Wide sums = wide_within(w, &many_code, &many);
  for (int r = 0; r < w->reds; r++) {
    const ImpExp *count = imp_mul(w->segments, w->chunks);
    imp_add_stm(b, (ImpStm){ .kind = IMP_ALLOC, .u.alloc = { partials[r], count } });
  }
  sums.mapped = NULL;
  sums.out = w->before = wide_turned_rows(w, partials, w->chunks);
  wide_reduce_columns(&sums, of, "segscan_reduce");
  Wide again = sums;
  again.from = sums.out;
  again.width = again.chunk_size = w->chunks;
  again.chunks = imp_i64(1);
  again.before = NULL;
  again.layouts = NULL;
  wide_scan_columns(&again, of, "segscan_combine");
  imp_if(b, imp_less(imp_i64(1), w->chunks), many.block);
  wide_scan_columns(w, of, "segscan_columns");
  for (int r = 0; r < w->reds; r++)
    imp_release(b, partials[r]);
}

static void lower_column_scan(Code *host, const Stm *stm) {
  Layouts layouts = { 0 };
  Wide w = wide_new(host, stm->exp->u.seg, "segscan");
  const Mem **partials = new_array(const Mem *, w.reds + 1);
  const Arr **outs = new_array(const Arr *, w.reds + 1);
  for (int r = 0; r < w.reds; r++) {
    partials[r] = host_declare_mem(host, "partials", stm->binders[r]->type.elem);
    outs[r] = column_out(host, stm->binders[r]);
  }
  w.layouts = &layouts;
  w.mapped = outs;
  scan_columns(&w, partials);
  seg_bind_results(host, stm, outs);
}

void lower_wide_segscan(Code *host, const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  if (!seg->after && wide_has_columns(host, stm)) {
    lower_column_scan(host, stm);
    return;
  }
  Layouts layouts = layout_inputs(host, stm);
  Wide w = wide_new(host, seg, "segscan");
  LongScan kept = new_long_scan(&w);
  const Arr **outs = places_of_results(&w, stm, body, position);
  w.layouts = &layouts;
  if (seg->after) {
    w.made = outs;
  } else {
    w.mapped = outs;
    w.out = flattened(&w, outs);
  }
  Code short_code, long_code;
  ImpBuilder few, many;
  Wide in_short = wide_within(&w, &short_code, &few),
       in_long = wide_within(&w, &long_code, &many);
  scan_short(&in_short);
  scan_long_segments(&in_long, &kept);
  imp_add_stm(
      host->b,
      (ImpStm){ .kind = IMP_IF, .u.cond = { wide_is_short(&w), few.block, many.block } });
  seg_bind_results(host, stm, outs);
}
