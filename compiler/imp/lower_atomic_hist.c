// seghist1 on a GPU with operators for which there are atomic operations on 32 bits: each group
// counts a chunk of a segment in a histogram in local memory and adds that to the destination; if
// the bins are too many for local memory, each item adds to the destination directly.
#include "imp/lower_wide.h"

typedef struct AtomicHist {
  Code *host;
  const Stm *stm;
  const SegOp *seg;
  const Arr **outs;
  const Layouts *layouts;
} AtomicHist;

// ---- the operators

static bool is_param(Atom a, const Var *param) {
  return a.kind == ATOM_VAR && a.u.var == param;
}

// The operation of `\x y -> x op y`, if it exists in atomic form.
static bool atomic_op(const RedOp *op, PrimOp *out) {
  const Body *body = op->op.body;
  if (op->count != 1 || body->stm_count != 1 || body->stms[0].exp->kind != EXP_OP)
    return false;
  const Exp *exp = body->stms[0].exp;
  const Var *x = op->op.params[0], *y = op->op.params[1];
  *out = exp->u.op.op;
  PrimType type = exp->u.op.type;
  bool whole = type == PRIM_I32 || type == PRIM_U32;
  bool exists = *out == OP_ADD
                    ? whole || type == PRIM_F32
                    : whole && (*out == OP_MIN || *out == OP_MAX || *out == OP_AND ||
                                *out == OP_OR || *out == OP_XOR);
  if (!exists || x->type.rank > 0 ||
      !is_param(body->results[0], body->stms[0].binders[0]))
    return false;
  const Atom *args = exp->u.op.args;
  return (is_param(args[0], x) && is_param(args[1], y)) ||
         (is_param(args[0], y) && is_param(args[1], x));
}

static bool all_atomic(const SegOp *seg) {
  PrimOp op;
  for (int i = 0; i < seg->hist_count; i++)
    if (!atomic_op(&seg->hists[i].op, &op)) return false;
  return true;
}

// ---- code

static void add_atomic(ImpBuilder *b, const HistOp *hist, const Mem *mem,
                       const ImpExp *at, const ImpExp *value) {
  ImpStm stm = { .kind = IMP_ATOMIC, .u.atomic = { OP_ADD, mem, at, value } };
  atomic_op(&hist->op, &stm.u.atomic.op);
  imp_add_stm(b, stm);
}

// if 0 <= bin < width { dest[bin] op= value }, with the dests in order
static void add_element(const AtomicHist *h, Code *k, const Arr *const *dests) {
  int count = h->seg->body->result_count;
  const ImpExp **values = new_array(const ImpExp *, count + 1);
  seq_body(k, h->seg->body, values, new_array(const Arr *, count + 1));
  for (int i = 0; i < h->seg->hist_count; i++) {
    const HistOp *hist = &h->seg->hists[i];
    const ImpExp *bin = values[i];
    ImpBuilder b = wide_block(k);
    add_atomic(&b, hist, dests[i]->mem, arr_index(dests[i], &bin),
               values[h->seg->hist_count + i]);
    const ImpExp *inside =
        imp_and(imp_op2(OP_LE, imp_i64(0), bin), imp_less(bin, imp_atom(hist->width)));
    imp_if(k->b, inside, b.block);
  }
}

static const Arr **dests_of_segment(const AtomicHist *h) {
  int outer = h->seg->dim_count - 1;
  const ImpExp *const *indices = space_indices(h->seg->dims, outer);
  const Arr **dests = new_array(const Arr *, h->seg->hist_count + 1);
  for (int i = 0; i < h->seg->hist_count; i++)
    dests[i] = element_of(h->outs[i], indices, outer);
  return dests;
}

// An item per element.
static void add_directly(const AtomicHist *h) {
  const SegOp *seg = h->seg;
  KernelCode *kernel = kernel_begin(h->host, h->stm->loc);
  layout_bind(&kernel->code, h->layouts);
  Items items;
  items_open_space(&items, h->host, kernel, seg->dims, seg->dim_count);
  add_element(h, &kernel->code, dests_of_segment(h));
  items_close(&items, "seghist_direct");
}

// ---- histograms in local memory

typedef struct LocalHist {
  const AtomicHist *h;
  Wide w;
  WideKernel kernel;
  const Arr **bins;  // local
} LocalHist;

// for each of the item's bins { block }
static const ImpExp *open_bins(LocalHist *s, Code *inner, ImpBuilder *b, const Var **i) {
  const ImpExp *round = wide_open_loop(s->kernel.k, inner, b, i);
  return imp_let(b, "bin", imp_add(s->kernel.item, imp_mul(round, s->kernel.size)));
}

static void close_bins(LocalHist *s, const ImpBuilder *b, const Var *i,
                       const ImpExp *count) {
  const ImpExp *rest = imp_max(imp_i64(0), imp_sub(count, s->kernel.item));
  wide_close_loop(s->kernel.k, b, i, imp_ceil_div(rest, s->kernel.size));
}

static void clear_bins(LocalHist *s) {
  for (int h = 0; h < s->h->seg->hist_count; h++) {
    const HistOp *hist = &s->h->seg->hists[h];
    Code inner;
    ImpBuilder b;
    const Var *i;
    const ImpExp *bin = open_bins(s, &inner, &b, &i);
    imp_store(&b, s->bins[h]->mem, bin, imp_atom(hist->op.neutral[0]));
    close_bins(s, &b, i, imp_atom(hist->width));
  }
}

static void flush_bins(LocalHist *s) {
  const Arr **dests = dests_of_segment(s->h);
  for (int h = 0; h < s->h->seg->hist_count; h++) {
    const HistOp *hist = &s->h->seg->hists[h];
    Code inner;
    ImpBuilder b;
    const Var *i;
    const ImpExp *bin = open_bins(s, &inner, &b, &i);
    const ImpExp *sum = imp_let(&b, "sum", imp_load(s->bins[h]->mem, bin));
    ImpBuilder add = wide_block(&inner);
    add_atomic(&add, hist, dests[h]->mem, arr_index(dests[h], &bin), sum);
    imp_if(inner.b, imp_op2(OP_NE, sum, imp_atom(hist->op.neutral[0])), add.block);
    close_bins(s, &b, i, imp_atom(hist->width));
  }
}

static void make_bins(LocalHist *s) {
  s->bins = new_array(const Arr *, s->h->seg->hist_count + 1);
  for (int h = 0; h < s->h->seg->hist_count; h++) {
    const ImpExp **shape = new_array(const ImpExp *, 1);
    shape[0] = imp_atom(s->h->seg->hists[h].width);
    const Mem *mem =
        mem_new(s->h->host->lower->c, "bins", MEM_LOCAL, s->h->outs[h]->elem);
    vec_push(&s->kernel.kernel->scratch, (Scratch){ .mem = mem, .count = shape[0] });
    Arr arr = arr_dense(mem, mem->elem, shape, 1);
    s->bins[h] = mem_copy(&arr, sizeof arr);
  }
}

static void count_chunk(LocalHist *s) {
  Code inner;
  ImpBuilder b;
  const Var *i;
  WideKernel *k = &s->kernel;
  const ImpExp *round = wide_open_loop(k->k, &inner, &b, &i);
  const ImpExp *at = imp_add(imp_add(k->start, k->item), imp_mul(round, s->kernel.size));
  code_bind_scalar(&inner, s->h->seg->dims[s->h->seg->dim_count - 1].index, at);
  add_element(s->h, &inner, s->bins);
  const ImpExp *rest = imp_max(imp_i64(0), imp_sub(k->length, k->item));
  wide_close_loop(k->k, &b, i, imp_ceil_div(rest, s->kernel.size));
}

static void add_by_groups(const AtomicHist *h) {
  LocalHist s = { .h = h, .w = wide_new(h->host, h->seg, "seghist") };
  const ImpExp *least =
      s.w.group_size;  // a group with fewer elements than bins does not pay
  for (int i = 0; i < h->seg->hist_count; i++)
    least = imp_max(least, imp_atom(h->seg->hists[i].width));
  wide_chunks(&s.w, "seghist", imp_let(h->host->b, "least", least));
  s.w.layouts = h->layouts;
  s.kernel = wide_begin(&s.w);
  wide_open_chunk(&s.kernel);
  make_bins(&s);
  clear_bins(&s);
  wide_barrier(&s.kernel);
  count_chunk(&s);
  wide_barrier(&s.kernel);
  flush_bins(&s);
  wide_end(&s.kernel, "seghist", imp_mul(s.w.segments, s.w.chunks));
}

// ---- on the host

static const ImpExp *fits_locally(const AtomicHist *h) {
  const ImpExp *bytes = imp_i64(0);
  for (int i = 0; i < h->seg->hist_count; i++)
    bytes = imp_add(bytes, imp_mul(imp_atom(h->seg->hists[i].width),
                                   imp_i64(prim_size_bytes(h->outs[i]->elem))));
  return imp_op2(
      OP_LE, bytes,
      tuning_param(h->host->lower, "seghist_local_bytes", "bytes", 16384, 16384));
}

bool lower_atomic_seghist(Code *host, const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  if (!all_atomic(seg)) return false;
  Layouts layouts = layout_inputs(host, seg);
  AtomicHist h = { .host = host, .stm = stm, .seg = seg, .layouts = &layouts };
  h.outs = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++) {
    Arr out = host_take(host, stm->binders[i], seg->hists[i].dests[0], body, position);
    h.outs[i] = mem_copy(&out, sizeof out);
  }
  ImpBuilder local = { .c = host->lower->c, .loc = stm->loc }, direct = local;
  Code local_code = *host, direct_code = *host;
  AtomicHist in_local = h, in_direct = h;
  local_code.b = &local;
  direct_code.b = &direct;
  in_local.host = &local_code;
  in_direct.host = &direct_code;
  add_by_groups(&in_local);
  add_directly(&in_direct);
  imp_add_stm(host->b,
              (ImpStm){ .kind = IMP_IF,
                        .u.cond = { fits_locally(&h), local.block, direct.block } });
  for (int i = 0; i < stm->binder_count; i++)
    code_bind(host, stm->binders[i], *h.outs[i]);
  return true;
}
