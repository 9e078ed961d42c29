// seghist1 on a GPU with operators on one value of 32 or 64 bits: each group counts a chunk of a
// segment in a histogram in local memory and adds that to the destination; if the bins are too many
// for local memory, each item adds to the destination directly.  By the atomic operation, or, where
// there is none, in a loop that compares and exchanges:
//
//   old = ne; while (!done) { new = op old x; done = (dest[bin] was old and is new) }
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
  if (body->stm_count != 1 || body->stms[0].exp->kind != EXP_OP) return false;
  const Exp *exp = body->stms[0].exp;
  const Var *x = op->op.params[0], *y = op->op.params[1];
  *out = exp->u.op.op;
  PrimType type = exp->u.op.type;
  bool bits = *out == OP_MIN || *out == OP_MAX || *out == OP_AND || *out == OP_OR ||
              *out == OP_XOR;
  bool exists = *out == OP_ADD || (bits && (type == PRIM_I32 || type == PRIM_U32));
  if (!exists || !is_param(body->results[0], body->stms[0].binders[0])) return false;
  const Atom *args = exp->u.op.args;
  return (is_param(args[0], x) && is_param(args[1], y)) ||
         (is_param(args[0], y) && is_param(args[1], x));
}

// The bytes that must be changed at once: 4 or 8; 0: no atomic operation serves.
static int atomic_bytes(const RedOp *op) {
  CoreType type = op->op.params[0]->type;
  int bytes = prim_size_bytes(type.elem);
  return op->count == 1 && type.rank == 0 && (bytes == 4 || bytes == 8) ? bytes : 0;
}

static int most_atomic_bytes(const SegOp *seg) {
  int most = 4;
  for (int i = 0; i < seg->hist_count; i++) {
    int bytes = atomic_bytes(&seg->hists[i].op);
    if (!bytes) return 0;
    most = bytes > most ? bytes : most;
  }
  return most;
}

// ---- code

// mem[at] = op mem[at] value, whatever the operator
static void exchange(Code *k, const HistOp *hist, const Mem *mem, const ImpExp *at,
                     const ImpExp *value) {
  const Var *old = imp_declare(k->b, "old", imp_atom(hist->op.neutral[0])),
            *done = imp_declare(k->b, "done", imp_const(prim_bool(false)));
  const ImpExp *before = imp_var(old);
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  Accs accs = accs_from(&inner, &hist->op, 1, &before);
  accs_apply(&inner, accs, &value);
  ImpStm stm = { .kind = IMP_ATOMIC,
                 .u.atomic = { OP_ADD, mem, at, accs_values(accs)[0], before, done,
                               ATOMIC_EXCHANGE } };
  imp_add_stm(&b, stm);
  ImpStm loop = { .kind = IMP_WHILE,
                  .u.loop_while = { imp_op1(OP_NOT, imp_var(done)), b.block } };
  imp_add_stm(k->b, loop);
}

static void add_atomic(Code *k, const HistOp *hist, const Mem *mem, const ImpExp *at,
                       const ImpExp *value) {
  ImpStm stm = { .kind = IMP_ATOMIC, .u.atomic = { .mem = mem, .index = at } };
  stm.u.atomic.value = value;
  if (atomic_op(&hist->op, &stm.u.atomic.op))
    imp_add_stm(k->b, stm);
  else
    exchange(k, hist, mem, at, value);
}

// if 0 <= bin < width { dest[bin] op= value }, with the dests in order
static void add_element(const AtomicHist *h, Code *k, const Arr *const *dests) {
  int count = h->seg->body->result_count;
  const ImpExp **values = new_array(const ImpExp *, count + 1);
  seq_body(k, h->seg->body, values, new_array(const Arr *, count + 1));
  for (int i = 0; i < h->seg->hist_count; i++) {
    const HistOp *hist = &h->seg->hists[i];
    const ImpExp *bin = values[i];
    ImpBuilder b;
    Code inner = code_inner(k, &b);
    add_atomic(&inner, hist, dests[i]->mem, arr_index(dests[i], &bin),
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
  const ImpExp *rounds = imp_ceil_div(rest, s->kernel.size);
  wide_close_loop(s->kernel.k, b, i, imp_let(s->kernel.k->b, "rounds", rounds));
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
    ImpBuilder add;
    Code then_code = code_inner(&inner, &add);
    add_atomic(&then_code, hist, dests[h]->mem, arr_index(dests[h], &bin), sum);
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
  const ImpExp *rounds = imp_ceil_div(rest, s->kernel.size);
  wide_close_loop(k->k, &b, i, imp_let(k->k->b, "rounds", rounds));
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
  wide_open_chunk(&s.kernel, imp_item(ITEM_GROUP_ID));
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

// A block of the host's code for one way to do it.
static ImpBuilder host_block_for(const AtomicHist *h, Code *code, AtomicHist *way) {
  *code = *h->host;
  *way = *h;
  way->host = code;
  return (ImpBuilder){ .c = h->host->lower->c, .loc = h->stm->loc };
}

static void add_atomically(const AtomicHist *h) {
  Code local_code, direct_code;
  AtomicHist in_local, in_direct;
  ImpBuilder local = host_block_for(h, &local_code, &in_local);
  ImpBuilder direct = host_block_for(h, &direct_code, &in_direct);
  local_code.b = &local;
  direct_code.b = &direct;
  add_by_groups(&in_local);
  add_directly(&in_direct);
  imp_add_stm(h->host->b,
              (ImpStm){ .kind = IMP_IF,
                        .u.cond = { fits_locally(h), local.block, direct.block } });
}

// Atomic operations on 64 bits where the device has them and the user lets us.
static void add_by_bytes(const AtomicHist *h) {
  Code wide_code, copying_code;
  AtomicHist in_wide, in_copies;
  ImpBuilder wide = host_block_for(h, &wide_code, &in_wide);
  ImpBuilder copies = host_block_for(h, &copying_code, &in_copies);
  wide_code.b = &wide;
  copying_code.b = &copies;
  add_atomically(&in_wide);
  hist_by_copies(&copying_code, h->stm, h->outs, h->outs);
  const ImpExp *allowed =
      tuning_param(h->host->lower, "seghist_atomic_bytes", "bytes", 8, 8);
  const ImpExp *most = imp_min(allowed, imp_item(ITEM_ATOMIC_BYTES));
  imp_add_stm(h->host->b, (ImpStm){ .kind = IMP_IF,
                                    .u.cond = { imp_op2(OP_LE, imp_i64(8), most),
                                                wide.block, copies.block } });
}

bool lower_atomic_seghist(Code *host, const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  int bytes = most_atomic_bytes(seg);
  if (!bytes) return false;
  Layouts layouts = layout_inputs(host, seg);
  AtomicHist h = { .host = host, .stm = stm, .seg = seg, .layouts = &layouts };
  h.outs = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++) {
    Arr out = host_take(host, stm->binders[i], seg->hists[i].dests[0], body, position);
    h.outs[i] = mem_copy(&out, sizeof out);
  }
  if (bytes == 8)
    add_by_bytes(&h);
  else
    add_atomically(&h);
  for (int i = 0; i < stm->binder_count; i++)
    code_bind(host, stm->binders[i], *h.outs[i]);
  return true;
}
