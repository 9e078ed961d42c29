// seghist1 on a GPU.  Each group adds a chunk of a segment to bins in local memory, of which it has
// several copies if they are few, so that its items seldom meet at one (bins.h):
//
//   for item's elements { bins[bin][item % copies] op= value }
//   for item's bins { sum = op over copies; dest[bin] op= sum, or partials[chunk][bin] = sum }
//
// The former where that is one atomic operation; else a second kernel adds to the destination what
// all groups have, because they would wait for each other there.  If the bins are too many for
// local memory, or rows, each item adds to the destination directly.
#include "imp/lower/bins.h"
#include "imp/lower/wide.h"

enum { LOCKS = 1 << 16, LOCK_BYTES = 4, MOST_COPIES = 32, COLUMNS = 32, FEW_CHUNKS = 16 };

typedef struct WideHist {
  Code *host;
  const Stm *stm;
  const SegOp *seg;
  const Arr **outs;
  const Layouts *layouts;
  int64_t atomic_bytes;
} WideHist;

static BinWay way_of(const WideHist *h, int op) {
  return bin_way(&h->seg->hists[op].op, h->atomic_bytes);
}

static bool has_rows(const SegOp *seg) {
  for (int i = 0; i < seg->hist_count; i++)
    for (int v = 0; v < seg->hists[i].op.count; v++)
      if (seg->hists[i].op.op.params[v]->type.rank > 0) return true;
  return false;
}

// One element of the body.
static void add_element(const WideHist *h, Code *k, const Bins *bins) {
  int count = h->seg->body->result_count;
  const ImpExp **values = new_array(const ImpExp *, count + 1);
  const Arr **made = new_array(const Arr *, count + 1);
  seq_body(k, h->seg->body, values, made);
  bins_round(k, bins, h->seg->hist_count, values, made);
}

// The old values at a segment whose index variables are bound.
static const Arr **dests_of_segment(const WideHist *h) {
  int outer = h->seg->dim_count - 1;
  const ImpExp *const *indices = space_indices(h->seg->dims, outer);
  const Arr **dests = new_array(const Arr *, h->stm->binder_count + 1);
  for (int i = 0; i < h->stm->binder_count; i++)
    dests[i] = element_of(h->outs[i], indices, outer);
  return dests;
}

// ---- directly

// Locks for all bins of the destinations; NULL if none needs any.
static const Mem *make_locks(const WideHist *h) {
  const ImpExp *bins = NULL;
  for (int i = 0; i < h->seg->hist_count; i++) {
    const ImpExp *width = imp_atom(h->seg->hists[i].width);
    if (way_of(h, i) == BIN_LOCKED) bins = bins ? imp_max(bins, width) : width;
  }
  if (!bins) return NULL;
  const ImpExp *all = imp_mul(space_size(h->seg->dims, h->seg->dim_count - 1), bins);
  const ImpExp **shape = new_array(const ImpExp *, 1);
  shape[0] = imp_named(h->host->b, "locks", imp_min(all, imp_i64(LOCKS)));
  const Mem *mem = host_mem(h->host, "locks", PRIM_I32, shape[0]);
  Arr locks = arr_dense(mem, PRIM_I32, shape, 1),
      free = arr_virtual(PRIM_I32, shape, imp_const(prim_int(PRIM_I32, 0)), NULL);
  host_copy(h->host, &locks, &free);
  return mem;
}

// Those of the segment at hand, if each segment has so many.
static Arr locks_of_segment(const WideHist *h, const Mem *locks, Atom bins) {
  int rank = h->seg->dim_count;
  const ImpExp **shape = new_array(const ImpExp *, rank);
  for (int d = 0; d < rank - 1; d++)
    shape[d] = imp_atom(h->seg->dims[d].width);
  shape[rank - 1] = imp_atom(bins);
  Arr all = arr_dense(locks, PRIM_I32, shape, rank);
  return *element_of(&all, space_indices(h->seg->dims, rank - 1), rank - 1);
}

static const Bins *bins_of_segment(const WideHist *h, const Mem *locks) {
  Bins *bins = new_array(Bins, h->seg->hist_count + 1);
  const Arr **dests = dests_of_segment(h);
  for (int i = 0; i < h->seg->hist_count; i++) {
    const HistOp *hist = &h->seg->hists[i];
    bins[i] = (Bins){ .hist = hist, .dests = dests, .way = way_of(h, i) };
    if (bins[i].way == BIN_LOCKED) {
      bins[i].locks = locks_of_segment(h, locks, hist->width);
      bins[i].lock_mask = LOCKS - 1;
    }
    dests += hist->op.count;
  }
  return bins;
}

// An item per element.
static void add_directly(const WideHist *h) {
  const SegOp *seg = h->seg;
  const Mem *locks = make_locks(h);
  KernelCode *kernel = kernel_begin(h->host, h->stm->loc);
  layout_bind(&kernel->code, h->layouts);
  Items items;
  items_open_space(&items, h->host, kernel, seg->dims, seg->dim_count);
  add_element(h, &kernel->code, bins_of_segment(h, locks));
  items_close(&items, "seghist_direct");
  if (locks) imp_release(h->host->b, locks);
}

// No more items than shall have rows of their own, of one segment.
static void add_rows(const WideHist *h) {
  const SegOp *seg = h->seg;
  const Mem *locks = make_locks(h);
  KernelCode *kernel = kernel_begin(h->host, h->stm->loc);
  layout_bind(&kernel->code, h->layouts);
  Items items;
  const ImpExp *width = imp_atom(seg->dims[0].width);
  const ImpExp *most = imp_max(imp_i64(1), code_tuning(h->host, "seghist_items"));
  const ImpExp *count = imp_let(h->host->b, "items", imp_min(width, most));
  const ImpExp *gid = items_open(&items, h->host, kernel, count);
  Code *k = &kernel->code, round;
  ImpBuilder b;
  const Var *i;
  const ImpExp *at =
      imp_add(gid, imp_mul(wide_open_loop(k, &round, &b, &i), items.count));
  code_bind_scalar(&round, seg->dims[0].index, at);
  add_element(h, &round, bins_of_segment(h, locks));
  wide_close_loop(k, &b, i, imp_ceil_div(imp_sub(width, gid), items.count));
  items_close(&items, "seghist_rows");
  if (locks) imp_release(h->host->b, locks);
}

// ---- in local memory

typedef struct LocalHist {
  const WideHist *h;
  Wide w;
  WideKernel kernel;
  const ImpExp *copies;  // of the bins
  const ImpExp *mine;    // the number of the item's copy
  Bins *bins;            // local: the item's copy
  const Arr **partials;  // [segments][chunks][bins], for each value; NULL: none
} LocalHist;

// The bytes of one copy of the bins.
static const ImpExp *bytes_of_bins(const WideHist *h) {
  const ImpExp *bytes = imp_i64(0);
  int next = 0;
  for (int i = 0; i < h->seg->hist_count; i++) {
    int64_t each = way_of(h, i) == BIN_LOCKED ? LOCK_BYTES : 0;
    for (int v = 0; v < h->seg->hists[i].op.count; v++)
      each += prim_size_bytes(h->outs[next++]->elem);
    bytes = imp_add(bytes, imp_mul(imp_atom(h->seg->hists[i].width), imp_i64(each)));
  }
  return bytes;
}

static const ImpExp *local_bytes(const WideHist *h) {
  return tuning_param(h->host->lower, "seghist_local_bytes", "bytes", 16384, 16384);
}

static const ImpExp *most_bins(const WideHist *h) {
  const ImpExp *most = imp_i64(1);
  for (int i = 0; i < h->seg->hist_count; i++)
    most = imp_max(most, imp_atom(h->seg->hists[i].width));
  return imp_named(h->host->b, "bins", most);
}

// No more than fit, and than the elements of a chunk pay for.
static void choose_bin_copies(LocalHist *s, const ImpExp *bins) {
  const ImpExp *bytes = imp_max(imp_i64(1), bytes_of_bins(s->h));
  const ImpExp *fit = imp_quot(local_bytes(s->h), bytes);
  const ImpExp *pay = imp_quot(s->w.chunk_size, imp_mul(bins, imp_i64(4)));
  const ImpExp *most = imp_min(imp_i64(MOST_COPIES), imp_min(fit, pay));
  s->copies = imp_named(s->h->host->b, "copies", imp_max(imp_i64(1), most));
}

// A local array of all copies: [bins] of the item's own.
static const Arr *local_bins(LocalHist *s, const char *name, PrimType elem, Atom bins) {
  const ImpExp **shape = new_array(const ImpExp *, 2);
  shape[0] = imp_atom(bins);
  shape[1] = s->copies;
  const Mem *mem = mem_new(s->h->host->lower->c, name, MEM_LOCAL, elem);
  vec_push(&s->kernel.kernel->scratch,
           (Scratch){ .mem = mem, .count = imp_mul(shape[0], shape[1]) });
  Arr all = arr_dense(mem, elem, shape, 2);
  Arr *own = new (Arr);
  *own = all;
  own->rank = 1;
  own->offset = imp_add(all.offset, s->mine);
  return own;
}

static void make_bins(LocalHist *s) {
  const SegOp *seg = s->h->seg;
  s->bins = new_array(Bins, seg->hist_count + 1);
  int next = 0;
  for (int i = 0; i < seg->hist_count; i++) {
    const HistOp *hist = &seg->hists[i];
    const Arr **dests = new_array(const Arr *, hist->op.count + 1);
    for (int v = 0; v < hist->op.count; v++)
      dests[v] = local_bins(s, "bins", s->h->outs[next++]->elem, hist->width);
    s->bins[i] = (Bins){ .hist = hist, .dests = dests, .way = way_of(s->h, i) };
    if (s->bins[i].way == BIN_LOCKED)
      s->bins[i].locks = *local_bins(s, "locks", PRIM_I32, hist->width);
  }
}

// Code for each of the numbers item, item + size, .. below `count`.
typedef struct Strided {
  Code inner;
  ImpBuilder b;
  const Var *i;
  const ImpExp *at, *rounds;
} Strided;

static void strided_open(Strided *s, WideKernel *k, const ImpExp *count) {
  const ImpExp *rest = imp_max(imp_i64(0), imp_sub(count, k->item));
  s->rounds = imp_let(k->k->b, "rounds", imp_ceil_div(rest, k->size));
  const ImpExp *round = wide_open_loop(k->k, &s->inner, &s->b, &s->i);
  s->at = imp_let(&s->b, "at", imp_add(k->item, imp_mul(round, k->size)));
}

static void strided_close(Strided *s, WideKernel *k) {
  wide_close_loop(k->k, &s->b, s->i, s->rounds);
}

static void clear_bins(LocalHist *s) {
  for (int h = 0; h < s->h->seg->hist_count; h++) {
    const Bins *bins = &s->bins[h];
    Strided each;
    strided_open(&each, &s->kernel, imp_mul(imp_atom(bins->hist->width), s->copies));
    for (int v = 0; v < bins->hist->op.count; v++)
      imp_store(&each.b, bins->dests[v]->mem, each.at,
                imp_atom(bins->hist->op.neutral[v]));
    if (bins->way == BIN_LOCKED)
      imp_store(&each.b, bins->locks.mem, each.at, imp_const(prim_int(PRIM_I32, 0)));
    strided_close(&each, &s->kernel);
  }
}

static void count_chunk(LocalHist *s) {
  const SegOp *seg = s->h->seg;
  Strided each;
  strided_open(&each, &s->kernel, s->kernel.length);
  code_bind_scalar(&each.inner, seg->dims[seg->dim_count - 1].index,
                   imp_add(s->kernel.start, each.at));
  add_element(s->h, &each.inner, s->bins);
  strided_close(&each, &s->kernel);
}

// The sums of the copies of a bin, those of neighbouring items beginning at different ones.
static const ImpExp *const *sum_copies(LocalHist *s, Code *k, const Bins *bins,
                                       const ImpExp *bin) {
  const RedOp *op = &bins->hist->op;
  const ImpExp **neutral = new_array(const ImpExp *, op->count),
               **values = new_array(const ImpExp *, op->count);
  for (int v = 0; v < op->count; v++)
    neutral[v] = imp_atom(op->neutral[v]);
  Accs accs = accs_from(k, op, 1, neutral);
  Code inner;
  ImpBuilder b;
  const Var *i;
  const ImpExp *round = wide_open_loop(k, &inner, &b, &i);
  const ImpExp *at = imp_let(&b, "at", imp_add(s->mine, round));
  const ImpExp *copy = imp_select(imp_less(at, s->copies), at, imp_sub(at, s->copies));
  const ImpExp *place = imp_let(&b, "place", imp_add(imp_mul(bin, s->copies), copy));
  for (int v = 0; v < op->count; v++)
    values[v] = imp_load(bins->dests[v]->mem, place);
  accs_join(&inner, accs, values);
  wide_close_loop(k, &b, i, s->copies);
  return accs_values(accs);
}

// To the destination, or, a value each, to the group's part of `partials`.
static void flush_bins(LocalHist *s) {
  const Bins *dests = bins_of_segment(s->h, NULL);
  for (int h = 0, next = 0; h < s->h->seg->hist_count;
       next += s->bins[h++].hist->op.count) {
    const RedOp *op = &s->bins[h].hist->op;
    Strided each;
    strided_open(&each, &s->kernel, imp_atom(s->bins[h].hist->width));
    const ImpExp *const *sums = sum_copies(s, &each.inner, &s->bins[h], each.at);
    if (s->bins[h].way == BIN_ATOMIC) {
      ImpBuilder add;
      Code then_code = code_inner(&each.inner, &add);
      bins_add(&then_code, &dests[h], each.at, sums, NULL);
      imp_if(&each.b, imp_op2(OP_NE, sums[0], imp_atom(op->neutral[0])), add.block);
    }
    for (int v = 0; v < op->count && s->partials[next + v]; v++) {
      const ImpExp *place[] = { s->kernel.segment, s->kernel.chunk, each.at };
      const Arr *to = s->partials[next + v];
      imp_store(&each.b, to->mem, arr_index(to, place), sums[v]);
    }
    strided_close(&each, &s->kernel);
  }
}

static void make_partials(LocalHist *s) {
  const WideHist *h = s->h;
  s->partials = new_array(const Arr *, h->stm->binder_count + 1);
  for (int i = 0, next = 0; i < h->seg->hist_count; i++)
    for (int v = 0; v < h->seg->hists[i].op.count; v++, next++) {
      if (way_of(h, i) == BIN_ATOMIC) continue;
      const ImpExp **shape = new_array(const ImpExp *, 3);
      shape[0] = s->w.segments;
      shape[1] = s->w.chunks;
      shape[2] = imp_atom(h->seg->hists[i].width);
      Arr arr = arr_dense(NULL, h->outs[next]->elem, shape, 3);
      arr.mem = host_mem(h->host, "partials", arr.elem, arr_count(&arr));
      s->partials[next] = mem_copy(&arr, sizeof arr);
    }
}

// ---- what the groups have

// A group's tile of bins, `columns` of them; `slices` items to each, which share the chunks.
typedef struct BinTile {
  const ImpExp *columns, *slices, *column, *slice, *bin, *active;
} BinTile;

static BinTile open_tile(WideKernel *k, const HistOp *hist, const ImpExp *tiles,
                         const ImpExp *columns) {
  BinTile t = { .columns = columns };
  t.slices = imp_quot(k->size, t.columns);
  t.column = imp_let(k->k->b, "column", imp_rem(k->item, t.columns));
  t.slice = imp_let(k->k->b, "slice", imp_quot(k->item, t.columns));
  const ImpExp *group = imp_let(k->k->b, "group", imp_item(ITEM_GROUP_ID));
  k->segment = imp_let(k->k->b, "segment", imp_quot(group, tiles));
  t.bin = imp_let(k->k->b, "bin",
                  imp_add(imp_mul(imp_rem(group, tiles), t.columns), t.column));
  t.active = imp_and(imp_less(t.slice, t.slices), imp_less(t.bin, imp_atom(hist->width)));
  return t;
}

// parts[item] = op over the item's chunks
static void sum_chunks(LocalHist *s, WideKernel *k, const BinTile *t, int first) {
  ImpBuilder own, b;
  Code code = code_inner(k->k, &own), inner;
  Accs accs = wide_accs(k, &code, wide_neutral(k->w));
  const Var *i;
  const ImpExp *chunk =
      imp_add(t->slice, imp_mul(wide_open_loop(&code, &inner, &b, &i), t->slices));
  const ImpExp *place[] = { k->segment, imp_let(&b, "chunk", chunk), t->bin };
  const ImpExp **values = new_array(const ImpExp *, k->w->reds + 1);
  for (int v = 0; v < k->w->reds; v++)
    values[v] =
        imp_load(s->partials[first + v]->mem, arr_index(s->partials[first + v], place));
  accs_join(&inner, accs, values);
  const ImpExp *rest = imp_max(imp_i64(0), imp_sub(s->w.chunks, t->slice));
  wide_close_loop(&code, &b, i, imp_ceil_div(rest, t->slices));
  wide_store(k, &own, k->parts, k->item, accs_values(accs));
  imp_if(k->k->b, t->active, own.block);
}

// dest[bin] = op dest[bin] (op over the chunks)
static void combine_bin_chunks(LocalHist *s, int op, int first) {
  const HistOp *hist = &s->h->seg->hists[op];
  SegOp *sums = mem_copy(s->h->seg, sizeof *sums);
  sums->ops = &hist->op;
  sums->op_count = 1;
  Wide w = s->w;
  w.seg = sums;
  w.reds = hist->op.count;
  w.layouts = NULL;
  ImpBuilder *b = w.host->b;
  // An item sums up few chunks sooner than it adds to a tree.
  const ImpExp *few = imp_op2(OP_LE, w.chunks, imp_i64(FEW_CHUNKS));
  const ImpExp *narrow = imp_min(w.group_size, imp_i64(COLUMNS));
  const ImpExp *columns = imp_let(b, "columns", imp_select(few, w.group_size, narrow));
  const ImpExp *tiles = imp_let(b, "tiles", imp_ceil_div(imp_atom(hist->width), columns));
  const ImpExp *steps = host_doublings(w.host, imp_quot(w.group_size, columns));
  WideKernel k = wide_begin(&w);
  BinTile t = open_tile(&k, hist, imp_max(tiles, imp_i64(1)), columns);
  bind_space(k.k, sums->dims, sums->dim_count - 1, k.segment);
  k.parts = wide_local(&k, "parts", w.group_size);
  sum_chunks(s, &k, &t, first);
  wide_barrier(&k);
  Parts parts = wide_parts(&k);
  parts.stride = t.columns;
  parts_tree(&parts, k.k, (PartRun){ t.slice, t.slices, steps, t.active });
  ImpBuilder last;
  Code code = code_inner(k.k, &last);
  hist_join(&code, hist, dests_of_segment(s->h) + first, t.bin,
            wide_loads(&k, k.parts, k.item));
  const ImpExp *leads = imp_op2(OP_EQ, t.slice, imp_i64(0));
  imp_if(k.k->b, imp_and(t.active, leads), last.block);
  wide_end(&k, "seghist_combine", imp_mul(w.segments, tiles));
}

static void combine_bins(LocalHist *s) {
  for (int i = 0, first = 0; i < s->h->seg->hist_count; i++) {
    if (s->partials[first]) combine_bin_chunks(s, i, first);
    for (int v = 0; v < s->h->seg->hists[i].op.count; v++, first++)
      if (s->partials[first]) imp_release(s->h->host->b, s->partials[first]->mem);
  }
}

static void add_by_groups(const WideHist *h) {
  LocalHist s = { .h = h, .w = wide_new(h->host, h->seg, "seghist") };
  const ImpExp *bins = most_bins(h);
  // a group with fewer elements than bins does not pay
  const ImpExp *least = imp_let(h->host->b, "least", imp_max(s.w.group_size, bins));
  wide_chunks(&s.w, "seghist", least);
  choose_bin_copies(&s, bins);
  make_partials(&s);
  s.w.layouts = h->layouts;
  s.kernel = wide_begin(&s.w);
  s.mine = imp_let(s.kernel.k->b, "mine", imp_rem(s.kernel.item, s.copies));
  wide_open_chunk(&s.kernel, imp_item(ITEM_GROUP_ID));
  make_bins(&s);
  clear_bins(&s);
  wide_barrier(&s.kernel);
  count_chunk(&s);
  wide_barrier(&s.kernel);
  flush_bins(&s);
  wide_end(&s.kernel, "seghist", imp_mul(s.w.segments, s.w.chunks));
  combine_bins(&s);
}

// ---- on the host

// A block of the host's code for one way to do it.
static WideHist begin_way(const WideHist *h, Code *code, ImpBuilder *b) {
  WideHist way = *h;
  *code = *h->host;
  *b = (ImpBuilder){ .c = h->host->lower->c, .loc = h->stm->loc };
  code->b = b;
  way.host = code;
  return way;
}

static void host_branch_if(const WideHist *h, const ImpExp *condition,
                           const ImpBuilder *yes, const ImpBuilder *no) {
  imp_add_stm(h->host->b,
              (ImpStm){ .kind = IMP_IF, .u.cond = { condition, yes->block, no->block } });
}

static void add_all(const WideHist *h) {
  if (has_rows(h->seg)) {
    add_rows(h);
    return;
  }
  Code local_code, direct_code;
  ImpBuilder local, direct;
  WideHist in_local = begin_way(h, &local_code, &local),
           in_direct = begin_way(h, &direct_code, &direct);
  add_by_groups(&in_local);
  add_directly(&in_direct);
  host_branch_if(h, imp_op2(OP_LE, bytes_of_bins(h), local_bytes(h)), &local, &direct);
}

static bool depends_on_bytes(const SegOp *seg) {
  for (int i = 0; i < seg->hist_count; i++)
    if (bin_way(&seg->hists[i].op, 4) != bin_way(&seg->hists[i].op, 8)) return true;
  return false;
}

// Atomic operations on 64 bits where the device has them and the user lets us.
static void add_by_bytes(const WideHist *h) {
  Code wide_code, narrow_code;
  ImpBuilder wide, narrow;
  WideHist in_wide = begin_way(h, &wide_code, &wide),
           in_narrow = begin_way(h, &narrow_code, &narrow);
  in_narrow.atomic_bytes = 4;
  add_all(&in_wide);
  add_all(&in_narrow);
  const ImpExp *allowed =
      tuning_param(h->host->lower, "seghist_atomic_bytes", "bytes", 8, 8);
  const ImpExp *most = imp_min(allowed, imp_item(ITEM_ATOMIC_BYTES));
  host_branch_if(h, imp_op2(OP_LE, imp_i64(8), most), &wide, &narrow);
}

void lower_wide_seghist(Code *host, const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  Layouts layouts = layout_inputs(host, stm);
  WideHist h = {
    .host = host, .stm = stm, .seg = seg, .layouts = &layouts, .atomic_bytes = 8
  };
  h.outs = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0, next = 0; i < seg->hist_count; i++)
    for (int v = 0; v < seg->hists[i].op.count; v++, next++) {
      Arr out =
          host_take(host, stm->binders[next], seg->hists[i].dests[v], body, position);
      h.outs[next] = mem_copy(&out, sizeof out);
    }
  if (depends_on_bytes(seg))
    add_by_bytes(&h);
  else
    add_all(&h);
  for (int i = 0; i < stm->binder_count; i++)
    code_bind(host, stm->binders[i], *h.outs[i]);
}
