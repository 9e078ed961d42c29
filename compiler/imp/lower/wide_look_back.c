// A scan of long segments in one kernel: each element is read once and written once.
//
//   take the next chunk's number
//   stage its elements, sum them; signal that sum
//   look back: the sums of the chunks before, until one says what all before and with it have
//   signal what all before and with this one have; scan the pieces with what comes before
//
// (Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, 2016.)
// Groups take numbers in the order in which they start, so that whoever is waited for is running:
// groups that run make progress, on GPUs and on threads alike.  `states` holds the next number and,
// after it, a word per chunk.  A group that fails signals all the same; the host throws away what
// others make of it.
#include "imp/lower/wide.h"

// How many chunks a group looks back at together, an item each: a warp, which is enough to be
// faster than memory.
enum { WINDOW = 32 };

// What is known of a chunk; 0: nothing.
enum { HAS_OWN_SUM = 1, HAS_SUM = 2 };

typedef struct LookBack {
  WideKernel s;
  const Mem *states;
  const Mem *const *chunk_sums, *const *sums;  // of each chunk; of all up to it
  const Mem *taken, *nearest, *const *seen, *const *carry;  // local
  const ImpExp *number;                                     // of the chunk in all
  const ImpExp *window, *steps;  // items; doublings that reach them
  const Var *behind,
      *found;  // chunks that are seen; the nearest of a window that says it all
} LookBack;

// ---- words between groups

static void add_word(ImpBuilder *b, const LookBack *l, AtomicAction action,
                     const ImpExp *at, const ImpExp *value, const Var *result) {
  ImpStm stm = { .kind = IMP_ATOMIC };
  stm.u.atomic.action = action;
  stm.u.atomic.mem = l->states;
  stm.u.atomic.index = at;
  stm.u.atomic.value = value;
  stm.u.atomic.result = result;
  imp_add_stm(b, stm);
}

static const ImpExp *i32_const(int64_t value) {
  return imp_convert(PRIM_I32, imp_i64(value));
}

// values[number] = .., and everybody may read them
static void signal_sum(const LookBack *l, ImpBuilder *b, const Mem *const *mems,
                       const ImpExp *const *values, int state) {
  wide_store(&l->s, b, mems, l->number, values);
  add_word(b, l, ATOMIC_SIGNAL, imp_add(l->number, imp_i64(1)), i32_const(state), NULL);
}

static const Mem *local_word(WideKernel *s, const char *name) {
  const Mem *mem = mem_new(s->w->host->lower->c, name, MEM_LOCAL, PRIM_I32);
  vec_push(&s->kernel->scratch, (Scratch){ .mem = mem, .count = imp_i64(1) });
  return mem;
}

static void forget_nearest(const LookBack *l, ImpBuilder *b) {
  imp_store(b, l->nearest, imp_i64(0), i32_const(-1));
}

// ---- the steps

static void take_number(LookBack *l) {
  WideKernel *s = &l->s;
  ImpBuilder b = wide_block(s->k);
  const Var *next = imp_declare(&b, "next", i32_const(0));
  add_word(&b, l, ATOMIC_TAKE, imp_i64(0), NULL, next);
  imp_store(&b, l->taken, imp_i64(0), imp_var(next));
  forget_nearest(l, &b);
  wide_store(s, &b, l->carry, imp_i64(0), wide_neutral(s->w));
  wide_by_first(s, s->k, &b);
  wide_barrier(s);
  l->number = imp_let(
      s->k->b, "number",
      imp_convert(PRIM_I64, imp_convert(PRIM_U32, imp_load(l->taken, imp_i64(0)))));
}

// By the first item: what the chunk has is all if it is the segment's first.
static void signal_own_sum(LookBack *l, const ImpExp *const *sum) {
  ImpBuilder b = wide_block(l->s.k), all = b, own = b;
  signal_sum(l, &all, l->sums, sum, HAS_SUM);
  signal_sum(l, &own, l->chunk_sums, sum, HAS_OWN_SUM);
  const ImpExp *is_first = imp_op2(OP_EQ, l->s.chunk, imp_i64(0));
  imp_add_stm(&b,
              (ImpStm){ .kind = IMP_IF, .u.cond = { is_first, all.block, own.block } });
  wide_by_first(&l->s, l->s.k, &b);
}

// seen[item] = the sum of the item's chunk of the window, or neutral; nearest: the last item
// whose chunk has more than its own.
static void see_window(LookBack *l, Code *k) {
  WideKernel *s = &l->s;
  const ImpExp *before = imp_add(imp_var(l->behind), imp_sub(l->window, s->item));
  const ImpExp *at = imp_let(k->b, "at", imp_sub(l->number, before));
  ImpBuilder inside = wide_block(k), present = inside, all = inside, own = inside;
  wide_store(s, &inside, l->seen, s->item, wide_neutral(s->w));
  const Var *state = imp_declare(&present, "state", i32_const(0));
  add_word(&present, l, ATOMIC_AWAIT, imp_add(at, imp_i64(1)), NULL, state);
  wide_store(s, &all, l->seen, s->item, wide_loads(s, l->sums, at));
  ImpStm nearest = { .kind = IMP_ATOMIC,
                     .u.atomic = {
                         .op = OP_MAX, .mem = l->nearest, .index = imp_i64(0) } };
  nearest.u.atomic.value = imp_convert(PRIM_I32, s->item);
  imp_add_stm(&all, nearest);
  wide_store(s, &own, l->seen, s->item, wide_loads(s, l->chunk_sums, at));
  const ImpExp *has_all = imp_op2(OP_EQ, imp_var(state), i32_const(HAS_SUM));
  imp_add_stm(&present,
              (ImpStm){ .kind = IMP_IF, .u.cond = { has_all, all.block, own.block } });
  imp_if(&inside, imp_op2(OP_LE, before, s->chunk), present.block);
  imp_if(k->b, imp_less(s->item, l->window), inside.block);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_BARRIER });
}

// carry = op seen[0] carry, by the first item
static void carry_seen(LookBack *l, Code *k) {
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  Accs accs = wide_accs(&l->s, &inner, wide_loads(&l->s, l->seen, imp_i64(0)));
  accs_join(&inner, accs, wide_loads(&l->s, l->carry, imp_i64(0)));
  wide_store(&l->s, &b, l->carry, imp_i64(0), accs_values(accs));
  forget_nearest(l, &b);
  wide_by_first(&l->s, k, &b);
}

// Sums from the nearest chunk on that knows all before it.
static void sum_window(LookBack *l, Code *k) {
  WideKernel *s = &l->s;
  const ImpExp *found = imp_var(l->found);
  imp_assign(k->b, l->found, imp_convert(PRIM_I64, imp_load(l->nearest, imp_i64(0))));
  ImpBuilder useless = wide_block(k);
  wide_store(s, &useless, l->seen, s->item, wide_neutral(s->w));
  imp_if(k->b, imp_less(s->item, found), useless.block);
  imp_assign(k->b, l->behind, imp_add(imp_var(l->behind), l->window));
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_BARRIER });
  Parts parts = { s->w->seg, s->w->reds, l->seen, s->item, NULL };
  parts_tree(&parts, k, (PartRun){ s->item, l->window, l->steps, NULL });
  carry_seen(l, k);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_BARRIER });
}

static void look_back(LookBack *l) {
  WideKernel *s = &l->s;
  l->behind = imp_declare(s->k->b, "behind", imp_i64(0));
  l->found = imp_declare(s->k->b, "found", imp_i64(-1));
  ImpBuilder b;
  Code inner = code_inner(s->k, &b);
  see_window(l, &inner);
  sum_window(l, &inner);
  const ImpExp *behind = imp_var(l->behind);
  const ImpExp *more =
      imp_and(imp_less(imp_var(l->found), imp_i64(0)), imp_less(behind, s->chunk));
  const ImpExp *goes_on = imp_op2(OP_LOR, imp_op2(OP_EQ, behind, imp_i64(0)), more);
  ImpStm loop = { .kind = IMP_WHILE, .u.loop_while = { goes_on, b.block } };
  imp_add_stm(s->k->b, loop);
}

// By the first item of a chunk that is not the segment's first.
static void signal_all(LookBack *l, const ImpExp *const *sum) {
  ImpBuilder b, first = wide_block(l->s.k);
  Code inner = code_inner(l->s.k, &b);
  Accs accs = wide_accs(&l->s, &inner, wide_loads(&l->s, l->carry, imp_i64(0)));
  accs_join(&inner, accs, sum);
  signal_sum(l, &b, l->sums, accs_values(accs), HAS_SUM);
  imp_if(&first, imp_less(imp_i64(0), l->s.chunk), b.block);
  wide_by_first(&l->s, l->s.k, &first);
}

static LookBack begin_look_back(const Wide *w, const Mem *states,
                                const Mem *const *chunk_sums, const Mem *const *sums) {
  LookBack l = {
    .s = wide_begin(w), .states = states, .chunk_sums = chunk_sums, .sums = sums
  };
  WideKernel *s = &l.s;
  s->staged = wide_local(s, "staged", imp_mul(w->group_size, imp_i64(s->each)));
  s->parts = wide_local(s, "parts", imp_mul(imp_i64(2), w->group_size));
  l.carry = wide_local(s, "carry", imp_i64(1));
  l.seen = wide_local(s, "seen", imp_i64(WINDOW));
  l.taken = local_word(s, "taken");
  l.nearest = local_word(s, "nearest");
  l.window = imp_min(imp_i64(WINDOW), s->size);
  l.steps = imp_min(imp_i64(5), s->steps);
  return l;
}

static void scan_chunk(LookBack *l) {
  WideKernel *s = &l->s;
  take_number(l);
  wide_open_chunk(s, l->number);
  wide_stage(s, s->k, imp_i64(0));
  wide_barrier(s);
  wide_sum_piece(s, s->k);
  wide_barrier(s);
  Parts parts = wide_parts(s);
  const ImpExp *at =
      parts_scan(&parts, s->k, (PartRun){ s->item, s->size, s->steps, NULL });
  const ImpExp *last = imp_add(imp_sub(at, s->item), imp_sub(s->size, imp_i64(1)));
  const ImpExp *const *sum = wide_loads(s, s->parts, last);
  signal_own_sum(l, sum);
  look_back(l);
  signal_all(l, sum);
  wide_scan_piece(s, s->k, l->carry, at);
  wide_barrier(s);
  wide_write_out(s, s->k, imp_i64(0));
}

// ---- on the host

// states[0 .. count - 1] = 0
static void clear_states(const Wide *w, const Mem *states, const ImpExp *count) {
  KernelCode *kernel = kernel_begin(w->host, w->host->b->loc);
  Items items;
  const ImpExp *at = items_open(&items, w->host, kernel, count);
  imp_store(kernel->code.b, states, at, i32_const(0));
  items_close(&items, "segscan_clear");
}

void wide_scan_by_look_back(const Wide *w, const Mem *states,
                            const Mem *const *chunk_sums, const Mem *const *sums) {
  ImpBuilder *b = w->host->b;
  const ImpExp *chunks = imp_let(b, "chunks", imp_mul(w->segments, w->chunks));
  const ImpExp *words = imp_let(b, "words", imp_add(chunks, imp_i64(1)));
  imp_add_stm(b, (ImpStm){ .kind = IMP_ALLOC, .u.alloc = { states, words } });
  for (int r = 0; r < w->reds; r++) {
    imp_add_stm(b, (ImpStm){ .kind = IMP_ALLOC, .u.alloc = { chunk_sums[r], chunks } });
    imp_add_stm(b, (ImpStm){ .kind = IMP_ALLOC, .u.alloc = { sums[r], chunks } });
  }
  clear_states(w, states, words);
  LookBack l = begin_look_back(w, states, chunk_sums, sums);
  scan_chunk(&l);
  wide_end(&l.s, "segscan_look_back", chunks);
  imp_release(b, states);
  for (int r = 0; r < w->reds; r++) {
    imp_release(b, chunk_sums[r]);
    imp_release(b, sums[r]);
  }
}
