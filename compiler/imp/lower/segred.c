// segred1 and segscan1 where groups do not suit (Note [Running again] in kernel.c): each
// segment (a row of the innermost dimension) is cut into chunks, an item per chunk; their partial
// results are combined by an item per segment.
//
//   segred:   partials[s][c] = op over chunk c    result[s] = op over partials[s]
//   segscan:  partials[s][c] = op over chunk c    before[s][c] = op of the partials before c
//             result[s][i] = scan of the chunk, from before[s][c]
//
// With one chunk per segment, as many segments have it, the first step alone is the result.
#include "imp/lower/lower.h"

typedef struct Chunked {
  Code *host;
  const Stm *stm;
  const SegOp *seg;
  int reds;
  const ImpExp *segments, *width;     // of the outer dimensions; of the innermost one
  const ImpExp *chunks, *chunk_size;  // per segment; elements
  const Arr **outs;                   // arrays of the binders
  const Arr **partials;               // [segments][chunks] per reduced value
} Chunked;

// As many chunks as give every compute unit work, but none smaller than is worth an item.
static void choose_chunks(Chunked *s, const char *what) {
  const ImpExp *items = code_tuning(s->host, text_format("%s_items", what));
  const ImpExp *least = code_tuning(s->host, text_format("%s_chunk", what));
  const ImpExp *segments = imp_max(s->segments, imp_i64(1));
  const ImpExp *wanted = imp_ceil_div(items, segments);
  const ImpExp *most = imp_ceil_div(imp_max(s->width, imp_i64(1)), least);
  s->chunks = imp_named(s->host->b, "chunks", imp_max(imp_i64(1), imp_min(wanted, most)));
  s->chunk_size = imp_named(s->host->b, "chunk_size", imp_ceil_div(s->width, s->chunks));
}

static Chunked chunked_new(Code *host, const Stm *stm, const char *what) {
  const SegOp *seg = stm->exp->u.seg;
  Chunked s = { .host = host, .stm = stm, .seg = seg };
  for (int i = 0; i < seg->op_count; i++)
    s.reds += seg->ops[i].count;
  s.segments = imp_named(host->b, "segments", space_size(seg->dims, seg->dim_count - 1));
  s.width = imp_atom(seg->dims[seg->dim_count - 1].width);
  choose_chunks(&s, what);
  s.outs = new_array(const Arr *, stm->binder_count + 1);
  s.partials = new_array(const Arr *, s.reds + 1);
  return s;
}

// [segments][chunks] of the operators' types.
static void alloc_partials(Chunked *s) {
  const ImpExp **shape = new_array(const ImpExp *, 2);
  shape[0] = s->segments;
  shape[1] = s->chunks;
  for (int i = 0; i < s->reds; i++) {
    PrimType elem = s->stm->binders[i]->type.elem;
    const Mem *mem = host_mem(s->host, "partials", elem, imp_mul(s->segments, s->chunks));
    Arr arr = arr_dense(mem, elem, shape, 2);
    s->partials[i] = mem_copy(&arr, sizeof arr);
  }
}

typedef struct ChunkItem {
  const ImpExp *segment, *chunk, *start, *length;
} ChunkItem;

// Which chunk of which segment an item works on.
static ChunkItem chunk_item(const Chunked *s, ImpBuilder *b, const ImpExp *at) {
  ChunkItem item;
  item.segment = imp_let(b, "segment", imp_quot(at, s->chunks));
  item.chunk = imp_let(b, "chunk", imp_rem(at, s->chunks));
  item.start = imp_let(b, "start", imp_mul(item.chunk, s->chunk_size));
  const ImpExp *rest = imp_sub(s->width, item.start);
  item.length = imp_let(b, "length", imp_max(imp_i64(0), imp_min(s->chunk_size, rest)));
  return item;
}

// for i < length { values of the body at start + i; accumulate; `after` sees the results }
typedef void (*AfterRound)(const Chunked *s, Code *k, Accs accs,
                           const ImpExp *const *scalars);

static void chunk_loop(const Chunked *s, Code *k, const ChunkItem *item, Accs accs,
                       AfterRound after) {
  const SegOp *seg = s->seg;
  int count = seg->body->result_count;
  const Var *i = code_index(k, "i");
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  code_bind_scalar(&inner, seg->dims[seg->dim_count - 1].index,
                   imp_add(item->start, imp_var(i)));
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **made = new_array(const Arr *, count + 1);
  for (int r = s->reds; r < count; r++)
    if (s->outs[r] && s->outs[r]->rank > seg->dim_count)
      made[r] = element_of(s->outs[r], space_indices(seg->dims, seg->dim_count),
                           seg->dim_count);
  seq_body(&inner, seg->body, scalars, made);
  accs_apply(&inner, accs, scalars);
  after(s, &inner, accs, scalars);
  bool reassociate = seg->kind == SEG_RED;
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_FOR,
                              .u.loop = { i, item->length, b.block, reassociate, false,
                                          false, false } });
}

// Results beside the reduced ones are stored at their point.
static void store_mapped(const Chunked *s, Code *k, Accs accs,
                         const ImpExp *const *scalars) {
  (void)accs;
  const ImpExp *const *indices = space_indices(s->seg->dims, s->seg->dim_count);
  for (int r = s->reds; r < s->seg->body->result_count; r++)
    if (s->outs[r] && s->outs[r]->rank == s->seg->dim_count)
      imp_store(k->b, s->outs[r]->mem, arr_index(s->outs[r], indices), scalars[r]);
}

static void store_partials(const Chunked *s, Code *k, const ChunkItem *item,
                           const ImpExp *const *values) {
  const ImpExp *at[] = { item->segment, item->chunk };
  for (int i = 0; i < s->reds; i++)
    imp_store(k->b, s->partials[i]->mem, arr_index(s->partials[i], at), values[i]);
}

// partials[s][c] = op over chunk c of segment s.
static void reduce_chunks(const Chunked *s, const char *name) {
  const SegOp *seg = s->seg;
  KernelCode *kernel = kernel_begin(s->host, s->stm->loc);
  Items items;
  const ImpExp *at = items_open(&items, s->host, kernel, imp_mul(s->segments, s->chunks));
  Code *k = &kernel->code;
  ChunkItem item = chunk_item(s, &items.inner, at);
  bind_space(k, seg->dims, seg->dim_count - 1, item.segment);
  Accs accs = accs_new(k, seg->ops, seg->op_count);
  chunk_loop(s, k, &item, accs, store_mapped);
  store_partials(s, k, &item, accs_values(accs));
  items_close(&items, name);
}

// An item per segment walks over its partial results; the last value goes to `totals`, or, if that
// is NULL, the accumulated value before each takes its place (an exclusive scan).
static void combine_partials(const Chunked *s, const Mem *const *totals,
                             const char *name) {
  KernelCode *kernel = kernel_begin(s->host, s->stm->loc);
  Items items;
  const ImpExp *segment = items_open(&items, s->host, kernel, s->segments);
  Code *k = &kernel->code;
  Accs accs = accs_new(k, s->seg->ops, s->seg->op_count);
  const Var *i = code_index(k, "i");
  ImpBuilder b;
  Code round = code_inner(k, &b);
  const ImpExp *at[] = { segment, imp_var(i) };
  const ImpExp **values = new_array(const ImpExp *, s->reds + 1);
  const ImpExp *const *so_far = accs_values(accs);
  for (int r = 0; r < s->reds; r++) {
    const ImpExp *place = arr_index(s->partials[r], at);
    values[r] = imp_let(&b, "partial", imp_load(s->partials[r]->mem, place));
    if (!totals) imp_store(&b, s->partials[r]->mem, place, so_far[r]);
  }
  accs_join(&round, accs, values);
  imp_for(k->b, i, s->chunks, b.block);
  for (int r = 0; totals && r < s->reds; r++)
    imp_store(k->b, totals[r], segment, so_far[r]);
  items_close(&items, name);
}

// host: if chunks > 1 { then } else { otherwise }
static void if_many_chunks(const Chunked *s, ImpBlock then_block, ImpBlock else_block) {
  const ImpExp *many = imp_less(imp_i64(1), s->chunks);
  imp_add_stm(s->host->b,
              (ImpStm){ .kind = IMP_IF, .u.cond = { many, then_block, else_block } });
}

static void alloc_mapped(Chunked *s) {
  for (int i = s->reds; i < s->stm->binder_count; i++)
    s->outs[i] = host_out(s->host, s->stm->binders[i]);
}

// The reduced values: the partial results themselves if there is one chunk per segment.
static void combine_or_share(Chunked *s) {
  Code *host = s->host;
  const Mem **totals = new_array(const Mem *, s->reds + 1);
  for (int i = 0; i < s->reds; i++)
    totals[i] =
        host_declare_mem(host, s->stm->binders[i]->name, s->stm->binders[i]->type.elem);
  ImpBuilder many = { .c = host->lower->c, .loc = s->stm->loc }, one = many;
  Code then_code = *host;
  then_code.b = &many;
  Chunked inner = *s;
  inner.host = &then_code;
  for (int i = 0; i < s->reds; i++) {
    imp_add_stm(&many,
                (ImpStm){ .kind = IMP_ALLOC, .u.alloc = { totals[i], s->segments } });
    imp_add_stm(&one, (ImpStm){ .kind = IMP_SHARE,
                                .u.share = { totals[i], s->partials[i]->mem } });
  }
  combine_partials(&inner, totals, "segred_combine");
  if_many_chunks(s, many.block, one.block);
  for (int i = 0; i < s->reds; i++) {
    imp_release(host->b, s->partials[i]->mem);
    const Var *binder = s->stm->binders[i];
    Arr out = arr_dense(totals[i], binder->type.elem, code_shape(binder->type),
                        binder->type.rank);
    s->outs[i] = mem_copy(&out, sizeof out);
  }
}

void lower_segred(Code *host, const Stm *stm) {
  Chunked s = chunked_new(host, stm, "segred");
  alloc_partials(&s);
  alloc_mapped(&s);
  reduce_chunks(&s, "segred");
  combine_or_share(&s);
  seg_bind_results(host, stm, s.outs);
}

// ---- scan

static void store_scanned(const Chunked *s, Code *k, Accs accs,
                          const ImpExp *const *scalars) {
  const ImpExp *const *indices = space_indices(s->seg->dims, s->seg->dim_count);
  const ImpExp *const *values = accs_values(accs);
  for (int r = 0; r < s->reds; r++)
    imp_store(k->b, s->outs[r]->mem, arr_index(s->outs[r], indices), values[r]);
  store_mapped(s, k, accs, scalars);
}

// Starts from what comes before the chunk, if there are several.
static void load_before(const Chunked *s, Code *k, const ChunkItem *item, Accs accs) {
  const ImpExp *at[] = { item->segment, item->chunk };
  ImpBuilder b = { .c = k->lower->c, .loc = k->b->loc };
  for (int o = 0, next = 0; o < s->seg->op_count; o++)
    for (int i = 0; i < s->seg->ops[o].count; i++, next++)
      imp_assign(&b, accs.at[o].vars[i],
                 imp_load(s->partials[next]->mem, arr_index(s->partials[next], at)));
  const ImpExp *many = imp_less(imp_i64(1), s->chunks);
  imp_if(k->b, many, b.block);
}

static void scan_each_chunk(const Chunked *s) {
  const SegOp *seg = s->seg;
  KernelCode *kernel = kernel_begin(s->host, s->stm->loc);
  Items items;
  const ImpExp *at = items_open(&items, s->host, kernel, imp_mul(s->segments, s->chunks));
  ChunkItem item = chunk_item(s, &items.inner, at);
  bind_space(&kernel->code, seg->dims, seg->dim_count - 1, item.segment);
  Accs accs = accs_new(&kernel->code, seg->ops, seg->op_count);
  load_before(s, &kernel->code, &item, accs);
  chunk_loop(s, &kernel->code, &item, accs, store_scanned);
  items_close(&items, "segscan");
}

static void nothing_after(const Chunked *s, Code *k, Accs accs,
                          const ImpExp *const *scalars) {
  (void)s;
  (void)k;
  (void)accs;
  (void)scalars;
}

// The sums of the chunks, and of what comes before each; only with several chunks.
static void scan_before(const Chunked *s) {
  Code *host = s->host;
  ImpBuilder many = { .c = host->lower->c, .loc = s->stm->loc };
  Code then_code = *host;
  then_code.b = &many;
  Chunked inner = *s;
  inner.host = &then_code;
  inner.outs = new_array(const Arr *,
                         s->stm->binder_count + 1);  // the first pass stores nothing else
  KernelCode *kernel = kernel_begin(&then_code, s->stm->loc);
  Items items;
  const ImpExp *at =
      items_open(&items, &then_code, kernel, imp_mul(s->segments, s->chunks));
  ChunkItem item = chunk_item(s, &items.inner, at);
  bind_space(&kernel->code, s->seg->dims, s->seg->dim_count - 1, item.segment);
  Accs accs = accs_new(&kernel->code, s->seg->ops, s->seg->op_count);
  chunk_loop(&inner, &kernel->code, &item, accs, nothing_after);
  store_partials(&inner, &kernel->code, &item, accs_values(accs));
  items_close(&items, "segscan_reduce");
  combine_partials(&inner, NULL, "segscan_combine");
  if_many_chunks(s, many.block, (ImpBlock){ 0 });
}

void lower_segscan(Code *host, const Stm *stm) {
  Chunked s = chunked_new(host, stm, "segscan");
  for (int i = 0; i < stm->binder_count; i++)
    s.outs[i] = host_out(host, stm->binders[i]);
  alloc_partials(&s);
  scan_before(&s);
  scan_each_chunk(&s);
  for (int i = 0; i < s.reds; i++)
    imp_release(host->b, s.partials[i]->mem);
  seg_bind_results(host, stm, s.outs);
}
