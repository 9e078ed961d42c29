// seghist1 with arrays whose sizes only the item knows: kernels that may have to be run again, so
// items can't add to bins that others add to.  Every item works on a chunk of a segment with a
// histogram of its own; an item per bin then combines the copies with the destination.  Items
// stride over the segment: neighbours read neighbouring elements.
#include "imp/lower/lower.h"

typedef struct HistCopies {
  Code *host;
  const Stm *stm;
  const SegOp *seg;
  const ImpExp *segments, *width, *copies;
  const Arr **subs;         // [segments][copies][bins] per destination
  const Arr *const *dests;  // [segments][bins]: the old values
  const Arr *const *outs;
} HistCopies;

// Few enough copies that combining them costs no more than the elements themselves.
static const ImpExp *choose_copies(HistCopies *h) {
  const ImpExp *items = code_tuning(h->host, "seghist_items");
  const ImpExp *bins = imp_i64(1);
  for (int i = 0; i < h->seg->hist_count; i++)
    bins = imp_add(bins, imp_atom(h->seg->hists[i].width));
  const ImpExp *wanted = imp_ceil_div(items, imp_max(h->segments, imp_i64(1)));
  const ImpExp *paying = imp_quot(h->width, bins);
  return imp_let(h->host->b, "copies", imp_max(imp_i64(1), imp_min(wanted, paying)));
}

// [segments][copies][bins]row, where the destination is [n_p]...[n_2][bins]row.
static Arr make_sub(HistCopies *h, const Var *binder, const ImpExp *bins) {
  CoreType row = type_peel(binder->type, h->seg->dim_count);
  const ImpExp *const *row_shape = code_shape(row);
  const ImpExp **shape = new_array(const ImpExp *, row.rank + 3);
  shape[0] = h->segments;
  shape[1] = h->copies;
  shape[2] = bins;
  for (int i = 0; i < row.rank; i++)
    shape[3 + i] = row_shape[i];
  Arr sub = arr_dense(NULL, row.elem, shape, row.rank + 3);
  sub.mem = host_mem(h->host, "copies", row.elem, arr_count(&sub));
  return sub;
}

static void make_subs(HistCopies *h) {
  int next = 0;
  for (int o = 0; o < h->seg->hist_count; o++) {
    const HistOp *hist = &h->seg->hists[o];
    for (int i = 0; i < hist->op.count; i++, next++) {
      const Var *binder = h->stm->binders[next];
      Arr sub = make_sub(h, binder, imp_atom(hist->width));
      h->subs[next] = mem_copy(&sub, sizeof sub);
    }
  }
}

static void clear_sub(const HistCopies *h, const Arr *sub, Atom neutral) {
  const ImpExp **shape = new_array(const ImpExp *, 1);
  shape[0] = arr_count(sub);
  Arr to = arr_dense(sub->mem, sub->elem, shape, 1),
      from = arr_virtual(sub->elem, shape, imp_atom(neutral), NULL);
  host_copy(h->host, &to, &from);
}

// subs[segment][copy][bin] = neutral, those of numbers by a kernel of their own, in order
static bool clear_first(const HistCopies *h) {
  int next = 0;
  for (int o = 0; o < h->seg->hist_count; o++)
    for (int i = 0; i < h->seg->hists[o].op.count; i++)
      if (h->subs[next++]->rank > 3) return false;
  next = 0;
  for (int o = 0; o < h->seg->hist_count; o++)
    for (int i = 0; i < h->seg->hists[o].op.count; i++, next++)
      clear_sub(h, h->subs[next], h->seg->hists[o].op.neutral[i]);
  return true;
}

static void clear_copy(const HistCopies *h, Code *k, const ImpExp *const *at) {
  int next = 0;
  for (int o = 0; o < h->seg->hist_count; o++) {
    const HistOp *hist = &h->seg->hists[o];
    const Var *bin = code_index(k, "bin");
    ImpBuilder b;
    Code inner = code_inner(k, &b);
    for (int i = 0; i < hist->op.count; i++, next++) {
      const ImpExp *place[] = { at[0], at[1], imp_var(bin) };
      code_store(&inner, element_of(h->subs[next], place, 3), hist->op.neutral[i]);
    }
    imp_for(k->b, bin, imp_atom(hist->width), b.block);
  }
}

// One element of the body, added to the copy of the item that is at hand.
static void add_to_copy(const HistCopies *h, Code *k, const ImpExp *const *at) {
  const SegOp *seg = h->seg;
  int count = seg->body->result_count;
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **made = new_array(const Arr *, count + 1),
            **own = new_array(const Arr *, h->stm->binder_count + 1);
  seq_body(k, seg->body, scalars, made);
  for (int d = 0; d < h->stm->binder_count; d++)
    own[d] = element_of(h->subs[d], at, 2);
  hist_round(k, seg->hists, seg->hist_count, own, scalars, made);
}

static void fill_copies(const HistCopies *h) {
  const SegOp *seg = h->seg;
  bool cleared = clear_first(h);
  KernelCode *kernel = kernel_begin(h->host, h->stm->loc);
  Items items;
  ImpBuilder b;
  const ImpExp *gid =
      items_open(&items, h->host, kernel, imp_mul(h->segments, h->copies));
  Code *k = &kernel->code;
  const ImpExp *segment = imp_let(k->b, "segment", imp_quot(gid, h->copies));
  const ImpExp *copy = imp_let(k->b, "copy", imp_rem(gid, h->copies));
  const ImpExp *at[] = { segment, copy };
  const ImpExp *rest = imp_max(imp_i64(0), imp_sub(h->width, copy));
  const ImpExp *rounds = imp_let(k->b, "rounds", imp_ceil_div(rest, h->copies));
  bind_space(k, seg->dims, seg->dim_count - 1, segment);
  if (!cleared) clear_copy(h, k, at);
  const Var *i = code_index(k, "i");
  Code round = code_inner(k, &b);
  code_bind_scalar(&round, seg->dims[seg->dim_count - 1].index,
                   imp_add(copy, imp_mul(imp_var(i), h->copies)));
  add_to_copy(h, &round, at);
  imp_for(k->b, i, rounds, b.block);
  items_close(&items, "seghist");
}

// The bin of a destination at one segment, whose index variables are bound.
static const Arr *bin_of(const Arr *arr, const SegOp *seg, const ImpExp *bin) {
  Arr segment =
      arr_peel(arr, space_indices(seg->dims, seg->dim_count - 1), seg->dim_count - 1);
  return element_of(&segment, &bin, 1);
}

// for each copy { acc = op acc (the bin in the copy) }; at: the segment, the bin
static void add_copies(const HistCopies *h, Code *k, const Accumulator *acc, int first,
                       const ImpExp *const *at) {
  const Var *copy = code_index(k, "copy");
  ImpBuilder b;
  Code round = code_inner(k, &b);
  int count = acc->op->count;
  const ImpExp **values = new_array(const ImpExp *, count);
  const Arr **rows = new_array(const Arr *, count);
  for (int i = 0; i < count; i++) {
    const ImpExp *place[] = { at[0], imp_var(copy), at[1] };
    rows[i] = element_of(h->subs[first + i], place, 3);
    values[i] = acc->vars[i] ? imp_load(rows[i]->mem, rows[i]->offset) : NULL;
  }
  acc_join(&round, acc, values, rows);
  imp_for(k->b, copy, h->copies, b.block);
}

// An item per bin: the old value, then what the copies have.
static void combine_copies(const HistCopies *h, int o, int first) {
  const HistOp *hist = &h->seg->hists[o];
  KernelCode *kernel = kernel_begin(h->host, h->stm->loc);
  const ImpExp *bins = imp_atom(hist->width);
  Items items;
  const ImpExp *gid = items_open(&items, h->host, kernel, imp_mul(h->segments, bins));
  Code *k = &kernel->code;
  const ImpExp *segment = imp_let(k->b, "segment", imp_quot(gid, bins));
  const ImpExp *bin = imp_let(k->b, "bin", imp_rem(gid, bins));
  bind_space(k, h->seg->dims, h->seg->dim_count - 1, segment);
  Accumulator acc = acc_new(k, &hist->op);
  for (int i = 0; i < hist->op.count; i++)
    acc_load(k, &acc, i, bin_of(h->dests[first + i], h->seg, bin));
  const ImpExp *at[] = { segment, bin };
  add_copies(h, k, &acc, first, at);
  for (int i = 0; i < hist->op.count; i++)
    acc_store(k, &acc, i, bin_of(h->outs[first + i], h->seg, bin));
  items_close(&items, "seghist_combine");
}

static void hist_by_copies(Code *host, const Stm *stm, const Arr *const *dests,
                           const Arr *const *outs) {
  const SegOp *seg = stm->exp->u.seg;
  HistCopies h = { .host = host, .stm = stm, .seg = seg, .dests = dests, .outs = outs };
  h.segments = imp_let(host->b, "segments", space_size(seg->dims, seg->dim_count - 1));
  h.width = imp_atom(seg->dims[seg->dim_count - 1].width);
  h.copies = choose_copies(&h);
  h.subs = new_array(const Arr *, stm->binder_count + 1);
  make_subs(&h);
  fill_copies(&h);
  for (int o = 0, first = 0; o < seg->hist_count; first += seg->hists[o++].op.count)
    combine_copies(&h, o, first);
  for (int i = 0; i < stm->binder_count; i++)
    imp_release(host->b, h.subs[i]->mem);
}

void lower_seghist(Code *host, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  const Arr **dests = new_array(const Arr *, stm->binder_count + 1),
            **outs = new_array(const Arr *, stm->binder_count + 1);
  for (int o = 0, next = 0; o < seg->hist_count; o++)
    for (int i = 0; i < seg->hists[o].op.count; i++, next++) {
      dests[next] = code_array(host, seg->hists[o].dests[i]);
      outs[next] = host_out(host, stm->binders[next]);
    }
  hist_by_copies(host, stm, dests, outs);
  for (int i = 0; i < stm->binder_count; i++)
    code_bind(host, stm->binders[i], *outs[i]);
}
