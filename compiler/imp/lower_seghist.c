// seghist1: every item works on a chunk of a segment with a histogram of its own; an item per bin
// then combines the copies with the destination.  No atomics: any operator, any number of values.
#include "imp/lower.h"

typedef struct Hist {
  Code *host;
  const Stm *stm;
  const SegOp *seg;
  const ImpExp *segments, *width, *copies, *chunk_size;
  const Arr **subs;   // [segments][copies][bins] per destination
  const Arr **dests;  // [segments][bins]: the old values
  const Arr **outs;
} Hist;

static const ImpExp *declared(Code *host, const char *name, const ImpExp *value) {
  return imp_var(imp_declare(host->b, name, value));
}

// Few enough copies that combining them costs no more than the elements themselves.
static const ImpExp *choose_copies(Hist *h) {
  const ImpExp *items =
      tuning_param(h->host->lower, "seghist_items", "grid_size", -1, 1024);
  const ImpExp *bins = imp_i64(1);
  for (int i = 0; i < h->seg->hist_count; i++)
    bins = imp_add(bins, imp_atom(h->seg->hists[i].width));
  const ImpExp *wanted = imp_ceil_div(items, imp_max(h->segments, imp_i64(1)));
  const ImpExp *paying = imp_quot(h->width, bins);
  return declared(h->host, "copies", imp_max(imp_i64(1), imp_min(wanted, paying)));
}

// [segments][copies][bins]row, where the destination is [n_p]...[n_2][bins]row.
static Arr make_sub(Hist *h, const Var *binder, const ImpExp *bins) {
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

static void make_places(Hist *h) {
  int next = 0;
  for (int o = 0; o < h->seg->hist_count; o++) {
    const HistOp *hist = &h->seg->hists[o];
    for (int i = 0; i < hist->op.count; i++, next++) {
      const Var *binder = h->stm->binders[next];
      Arr sub = make_sub(h, binder, imp_atom(hist->width));
      h->subs[next] = mem_copy(&sub, sizeof sub);
      h->dests[next] = code_array(h->host, hist->dests[i]);
      h->outs[next] = host_out(h->host, binder);
    }
  }
}

// subs[segment][copy][bin] = neutral
static void clear_copy(const Hist *h, Code *k, const ImpExp *const *at) {
  int next = 0;
  for (int o = 0; o < h->seg->hist_count; o++) {
    const HistOp *hist = &h->seg->hists[o];
    const Var *bin = var_new(k->lower->c, name_of(k->lower->c->names, "bin"),
                             type_scalar(PRIM_I64), k->b->loc);
    map_put(k->inside, bin, bin);
    ImpBuilder b;
    Code inner = code_inner(k, &b);
    for (int i = 0; i < hist->op.count; i++, next++) {
      const ImpExp *place[] = { at[0], at[1], imp_var(bin) };
      code_store(&inner, element_of(h->subs[next], place, 3), hist->op.neutral[i]);
    }
    imp_add_stm(k->b,
                (ImpStm){ .kind = IMP_FOR,
                          .u.loop = { bin, imp_atom(hist->width), b.block, false } });
  }
}

static void fill_copies(const Hist *h) {
  const SegOp *seg = h->seg;
  KernelCode *kernel = kernel_begin(h->host, h->stm->loc);
  Items items;
  ImpBuilder b;
  const ImpExp *gid =
      items_open(&items, h->host, kernel, imp_mul(h->segments, h->copies), 1);
  Code *k = &kernel->code;
  const ImpExp *at[2];
  at[0] = imp_var(imp_declare(k->b, "segment", imp_quot(gid, h->copies)));
  at[1] = imp_var(imp_declare(k->b, "copy", imp_rem(gid, h->copies)));
  const ImpExp *start =
      imp_var(imp_declare(k->b, "start", imp_mul(at[1], h->chunk_size)));
  const ImpExp *length =
      imp_max(imp_i64(0), imp_min(h->chunk_size, imp_sub(h->width, start)));
  bind_space(k, seg->dims, seg->dim_count - 1, at[0]);
  clear_copy(h, k, at);
  const Var *i = var_new(b.c = k->lower->c, name_of(k->lower->c->names, "i"),
                         type_scalar(PRIM_I64), h->stm->loc);
  map_put(k->inside, i, i);
  Code round = code_inner(k, &b);
  code_bind_scalar(&round, seg->dims[seg->dim_count - 1].index,
                   imp_add(start, imp_var(i)));
  int count = seg->body->result_count;
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **made = new_array(const Arr *, count + 1),
            **own = new_array(const Arr *, h->stm->binder_count + 1);
  seq_body(&round, seg->body, scalars, made);
  for (int d = 0; d < h->stm->binder_count; d++)
    own[d] = element_of(h->subs[d], at, 2);
  hist_round(&round, seg->hists, seg->hist_count, own, scalars, made);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_FOR, .u.loop = { i, length, b.block, false } });
  items_close(&items, "seghist", false);
}

// A destination with its outer dimensions flattened, at one segment.
static Arr segment_of(const Arr *arr, const SegOp *seg) {
  const ImpExp *const *indices = space_indices(seg->dims, seg->dim_count - 1);
  return arr_peel(arr, indices, seg->dim_count - 1);
}

static void combine_copies(const Hist *h, int o, int first) {
  const HistOp *hist = &h->seg->hists[o];
  KernelCode *kernel = kernel_begin(h->host, h->stm->loc);
  const ImpExp *bins = imp_atom(hist->width);
  Items items;
  ImpBuilder b;
  const ImpExp *gid = items_open(&items, h->host, kernel, imp_mul(h->segments, bins), 1);
  Code *k = &kernel->code;
  const ImpExp *segment = imp_var(imp_declare(k->b, "segment", imp_quot(gid, bins)));
  const ImpExp *bin = imp_var(imp_declare(k->b, "bin", imp_rem(gid, bins)));
  bind_space(k, h->seg->dims, h->seg->dim_count - 1, segment);
  Accumulator acc = acc_new(k, &hist->op);
  for (int i = 0; i < hist->op.count; i++) {
    Arr old = segment_of(h->dests[first + i], h->seg);
    const Arr *at = element_of(&old, &bin, 1);
    if (acc.vars[i])
      imp_assign(k->b, acc.vars[i], imp_load(at->mem, at->offset));
    else
      code_copy(k, acc.places[i], at);
  }
  const Var *copy = var_new(k->lower->c, name_of(k->lower->c->names, "copy"),
                            type_scalar(PRIM_I64), h->stm->loc);
  map_put(k->inside, copy, copy);
  Code round = code_inner(k, &b);
  const ImpExp **values = new_array(const ImpExp *, hist->op.count);
  const Arr **rows = new_array(const Arr *, hist->op.count);
  for (int i = 0; i < hist->op.count; i++) {
    const ImpExp *at[] = { segment, imp_var(copy), bin };
    rows[i] = element_of(h->subs[first + i], at, 3);
    values[i] = acc.vars[i] ? imp_load(rows[i]->mem, rows[i]->offset) : NULL;
  }
  acc_apply(&round, &acc, values, rows);
  imp_add_stm(k->b,
              (ImpStm){ .kind = IMP_FOR, .u.loop = { copy, h->copies, b.block, false } });
  for (int i = 0; i < hist->op.count; i++) {
    Arr out = segment_of(h->outs[first + i], h->seg);
    const Arr *at = element_of(&out, &bin, 1);
    if (acc.vars[i])
      imp_store(k->b, at->mem, at->offset, imp_var(acc.vars[i]));
    else
      code_copy(k, at, acc.places[i]);
  }
  items_close(&items, "seghist_combine", false);
}

void lower_seghist(Code *host, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  Hist h = { .host = host, .stm = stm, .seg = seg };
  h.segments = declared(host, "segments", space_size(seg->dims, seg->dim_count - 1));
  h.width = imp_atom(seg->dims[seg->dim_count - 1].width);
  h.copies = choose_copies(&h);
  h.chunk_size = declared(host, "chunk_size", imp_ceil_div(h.width, h.copies));
  h.subs = new_array(const Arr *, stm->binder_count + 1);
  h.dests = new_array(const Arr *, stm->binder_count + 1);
  h.outs = new_array(const Arr *, stm->binder_count + 1);
  make_places(&h);
  fill_copies(&h);
  for (int o = 0, first = 0; o < seg->hist_count; first += seg->hists[o++].op.count)
    combine_copies(&h, o, first);
  for (int i = 0; i < stm->binder_count; i++) {
    imp_add_stm(host->b, (ImpStm){ .kind = IMP_RELEASE, .u.mem = { h.subs[i]->mem } });
    code_bind(host, stm->binders[i], *h.outs[i]);
  }
}
