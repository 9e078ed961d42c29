// What reductions and scans on GPUs have in common.
#include "imp/lower/wide.h"

enum { MOST_EACH = 9, STAGED_BYTES = 24576, USUAL_GROUP = 256 };
enum { LEAST_GROUP = 32, LOCAL_BYTES = 31 * 1024 };

// ---- what items have in local memory

static PrimType value_type(const Wide *w, int value) {
  for (int o = 0; o < w->seg->op_count; value -= w->seg->ops[o++].count)
    if (value < w->seg->ops[o].count) return w->seg->ops[o].op.params[value]->type.elem;
  return PRIM_I64;
}

static int64_t bytes_of_values(const Wide *w) {
  int64_t bytes = 0;
  for (int i = 0; i < w->reds; i++)
    bytes += prim_size_bytes(value_type(w, i));
  return bytes;
}

// Odd, so that what neighbouring items read of it lies in different banks.
int64_t wide_each(const Wide *w) {
  int64_t bytes = bytes_of_values(w);
  int64_t each = STAGED_BYTES / (USUAL_GROUP * (bytes ? bytes : 1));
  each = each > MOST_EACH ? MOST_EACH : each < 1 ? 1 : each;
  return each % 2 ? each : each - 1;
}

// How many items have room for what they stage and for their sums, of which a scan keeps two: all
// devices have 32 KB for a group, where local arrays would otherwise lie in global memory.
static int64_t items_with_room(const Wide *w) {
  bool scans = w->seg->kind == SEG_SCAN;
  if (!scans && w->seg->kind != SEG_RED) return USUAL_GROUP;
  int64_t staged = scans || !seg_commutes(w->seg) ? wide_each(w) : 0;
  int64_t bytes = (staged + (scans ? 2 : 1)) * bytes_of_values(w), items = USUAL_GROUP;
  while (items > LEAST_GROUP && items * bytes > LOCAL_BYTES)
    items /= 2;
  return items;
}

// ---- on the host

Wide wide_new(Code *host, const SegOp *seg, const char *what) {
  Wide w = { .host = host, .seg = seg };
  for (int i = 0; i < seg->op_count; i++)
    w.reds += seg->ops[i].count;
  w.segments = imp_named(host->b, "segments", space_size(seg->dims, seg->dim_count - 1));
  w.width = imp_atom(seg->dims[seg->dim_count - 1].width);
  const char *name = text_format("%s_group_size", what);
  const ImpExp *size =
      tuning_param(host->lower, name, "group_size", USUAL_GROUP, USUAL_GROUP);
  int64_t most = items_with_room(&w);
  if (most < USUAL_GROUP) size = imp_min(size, imp_i64(most));
  w.group_size = imp_named(host->b, "group_size", imp_max(imp_i64(1), size));
  return w;
}

void wide_chunks(Wide *w, const char *what, const ImpExp *multiple) {
  const char *groups = text_format("%s_groups", what),
             *least = text_format("%s_least", what);
  const ImpExp *wanted =
      imp_ceil_div(tuning_param(w->host->lower, groups, "grid_size", -1, -1),
                   imp_max(w->segments, imp_i64(1)));
  const ImpExp *fewest = tuning_param(w->host->lower, least, "chunk", 4, 4);
  const ImpExp *most =
      imp_quot(w->width, imp_mul(w->group_size, imp_max(imp_i64(1), fewest)));
  w->chunks = imp_named(w->host->b, "chunks", imp_max(imp_i64(1), imp_min(wanted, most)));
  w->chunk_size =
      imp_named(w->host->b, "chunk_size",
                imp_mul(multiple, imp_ceil_div(w->width, imp_mul(w->chunks, multiple))));
}

// ---- a kernel

WideKernel wide_begin(const Wide *w) {
  WideKernel s = { .w = w,
                   .kernel = kernel_begin(w->host, w->host->b->loc),
                   .size = imp_item(ITEM_LOCAL_SIZE),
                   .steps = imp_item(ITEM_LOCAL_STEPS),
                   .each = wide_each(w) };
  s.k = &s.kernel->code;
  if (w->layouts) layout_bind(s.k, w->layouts);
  s.item = imp_named(s.k->b, "item", imp_item(ITEM_LOCAL_ID));
  return s;
}

void wide_open_chunk(WideKernel *s, const ImpExp *number) {
  const Wide *w = s->w;
  const ImpExp *group = imp_named(s->k->b, "group", number);
  s->segment = imp_named(s->k->b, "segment", imp_quot(group, w->chunks));
  s->chunk = imp_named(s->k->b, "chunk", imp_rem(group, w->chunks));
  s->start = imp_named(s->k->b, "start", imp_mul(s->chunk, w->chunk_size));
  const ImpExp *rest = imp_sub(w->width, s->start);
  s->length =
      imp_named(s->k->b, "length", imp_max(imp_i64(0), imp_min(w->chunk_size, rest)));
  if (!w->from) bind_space(s->k, w->seg->dims, w->seg->dim_count - 1, s->segment);
}

void wide_end(WideKernel *s, const char *name, const ImpExp *groups) {
  kernel_end(s->w->host, s->kernel,
             (Launch){ .name = name, .groups = groups, .group_size = s->w->group_size });
}

const Mem **wide_local(WideKernel *s, const char *name, const ImpExp *count) {
  const Mem **mems = new_array(const Mem *, s->w->reds + 1);
  for (int i = 0; i < s->w->reds; i++) {
    mems[i] = mem_new(s->w->host->lower->c, name, MEM_LOCAL, value_type(s->w, i));
    vec_push(&s->kernel->scratch, (Scratch){ .mem = mems[i], .count = count });
  }
  return mems;
}

void wide_barrier(WideKernel *s) {
  imp_add_stm(s->k->b, (ImpStm){ .kind = IMP_BARRIER });
}

// ---- values

const ImpExp *const *wide_neutral(const Wide *w) {
  const ImpExp **values = new_array(const ImpExp *, w->reds + 1);
  for (int o = 0, next = 0; o < w->seg->op_count; o++)
    for (int i = 0; i < w->seg->ops[o].count; i++)
      values[next++] = imp_atom(w->seg->ops[o].neutral[i]);
  return values;
}

const ImpExp *const *wide_loads(const WideKernel *s, const Mem *const *mems,
                                const ImpExp *at) {
  return values_load(mems, s->w->reds, at);
}

void wide_store(const WideKernel *s, ImpBuilder *b, const Mem *const *mems,
                const ImpExp *at, const ImpExp *const *values) {
  values_store(b, mems, s->w->reds, at, values);
}

// The body's results beside the reduced ones are stored at their point.
static void body_element(const WideKernel *s, Code *k, const ImpExp *at,
                         const ImpExp **values) {
  const SegOp *seg = s->w->seg;
  int count = seg->body->result_count, rank = seg->dim_count;
  const ImpExp *const *indices = space_indices(seg->dims, rank);
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **made = new_array(const Arr *, count + 1);
  code_bind_scalar(k, seg->dims[rank - 1].index, at);
  for (int r = s->w->reds; r < count && s->w->mapped; r++)
    if (s->w->mapped[r]->rank > rank)
      made[r] = element_of(s->w->mapped[r], indices, rank);
  seq_body(k, seg->body, scalars, made);
  for (int r = s->w->reds; r < count && s->w->mapped; r++)
    if (s->w->mapped[r]->rank == rank)
      imp_store(k->b, s->w->mapped[r]->mem, arr_index(s->w->mapped[r], indices),
                scalars[r]);
  for (int r = 0; r < s->w->reds; r++)
    values[r] = scalars[r];
}

void wide_element(const WideKernel *s, Code *k, const ImpExp *at, const ImpExp **values) {
  if (!s->w->from) {
    body_element(s, k, at, values);
    return;
  }
  const ImpExp *indices[] = { s->segment, at };
  for (int r = 0; r < s->w->reds; r++)
    values[r] = imp_load(s->w->from[r]->mem, arr_index(s->w->from[r], indices));
}

Accs wide_accs(const WideKernel *s, Code *k, const ImpExp *const *values) {
  return accs_from(k, s->w->seg->ops, s->w->seg->op_count, values);
}

void wide_add_element(const WideKernel *s, Code *k, Accs accs,
                      const ImpExp *const *values) {
  if (s->w->from)
    accs_join(k, accs, values);
  else
    accs_apply(k, accs, values);
}

// ---- control

ImpBuilder wide_block(const Code *k) {
  return (ImpBuilder){ .c = k->b->c, .loc = k->b->loc };
}

void wide_by_first(const WideKernel *s, Code *k, const ImpBuilder *block) {
  imp_if(k->b, imp_op2(OP_EQ, s->item, imp_i64(0)), block->block);
}

const ImpExp *wide_open_loop(Code *k, Code *inner, ImpBuilder *b, const Var **i) {
  *i = code_index(k, "i");
  *inner = code_inner(k, b);
  return imp_var(*i);
}

void wide_close_loop(Code *k, const ImpBuilder *b, const Var *i, const ImpExp *bound) {
  imp_for(k->b, i, bound, b->block);
}

// ---- staging

const ImpExp *wide_rounds(const WideKernel *s) {
  const ImpExp *elements = imp_mul(s->size, imp_i64(s->each));
  return imp_let(s->k->b, "rounds",
                 imp_max(imp_i64(1), imp_ceil_div(s->length, elements)));
}

void wide_stage(WideKernel *s, Code *k, const ImpExp *first) {
  Code inner;
  ImpBuilder b, present, absent;
  const Var *i;
  const ImpExp *round = wide_open_loop(k, &inner, &b, &i);
  const ImpExp *j = imp_let(&b, "j", imp_add(imp_mul(round, s->size), s->item));
  Code then_code = code_inner(&inner, &present);
  absent = wide_block(&inner);
  const ImpExp *at = imp_add(first, j);
  const ImpExp **values = new_array(const ImpExp *, s->w->reds + 1);
  wide_element(s, &then_code, imp_add(s->start, at), values);
  wide_store(s, &present, s->staged, j, values);
  wide_store(s, &absent, s->staged, j, wide_neutral(s->w));
  imp_add_stm(
      &b, (ImpStm){ .kind = IMP_IF,
                    .u.cond = { imp_less(at, s->length), present.block, absent.block } });
  wide_close_loop(k, &b, i, imp_i64(s->each));
}

// ---- combining within the group

Parts wide_parts(const WideKernel *s) {
  return (Parts){ s->w->seg, s->w->reds, s->parts, s->item, NULL };
}

// ---- short segments

const ImpExp *wide_is_short(const Wide *w) {
  return imp_op2(OP_LE, imp_mul(w->width, imp_i64(2)), w->group_size);
}

Short wide_short(const Wide *w) {
  Short s = { 0 };
  s.width = imp_named(w->host->b, "width", imp_max(imp_i64(1), w->width));
  s.per_group = imp_named(w->host->b, "per_group",
                          imp_max(imp_i64(1), imp_quot(w->group_size, s.width)));
  s.groups = imp_ceil_div(w->segments, s.per_group);
  s.steps = host_doublings(w->host, s.width);
  return s;
}

// Is it an operator on integers that begins with what is neutral to it?
static bool begins_neutral(const RedOp *op) {
  const Body *body = op->op.body;
  const Atom *first = op->neutral;
  CoreType type = op->op.params[0]->type;
  if (op->count != 1 || type.rank || prim_is_float(type.elem) || body->stm_count != 1 ||
      body->stms[0].exp->kind != EXP_OP || first->kind != ATOM_CONST)
    return false;
  PrimOp number = body->stms[0].exp->u.op.op;
  bool known =
      number == OP_ADD || number == OP_MUL || number == OP_MIN || number == OP_MAX;
  return known && prim_identical(first->u.constant, prim_neutral(number, type.elem));
}

// first element = op neutral first element: that may be something else, as `scan i32.max 0` has
// no number below 0, the greater of -inf and NaN is -inf, and 0 + -0 is 0.
static void begin_segment(const WideKernel *s, Code *k, const ImpExp *position,
                          const ImpExp *const *values) {
  bool neutral = true;
  for (int o = 0; o < s->w->seg->op_count; o++)
    neutral = neutral && begins_neutral(&s->w->seg->ops[o]);
  if (neutral) return;
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  Accs accs = wide_accs(s, &inner, wide_neutral(s->w));
  wide_add_element(s, &inner, accs, values);
  wide_store(s, &b, s->parts, s->item, accs_values(accs));
  imp_if(k->b, imp_op2(OP_EQ, position, imp_i64(0)), b.block);
}

void wide_open_short(WideKernel *s, Short *segments) {
  Code *k = s->k;
  const SegOp *seg = s->w->seg;
  const ImpExp *number = imp_named(s->k->b, "number", imp_quot(s->item, segments->width));
  segments->position = imp_named(s->k->b, "position", imp_rem(s->item, segments->width));
  s->segment =
      imp_named(s->k->b, "segment",
                imp_add(imp_mul(imp_item(ITEM_GROUP_ID), segments->per_group), number));
  const ImpExp *fits = imp_and(imp_less(number, segments->per_group),
                               imp_less(s->segment, s->w->segments));
  segments->active = fits;
  ImpBuilder present;
  Code inner = code_inner(k, &present);
  const ImpExp **values = new_array(const ImpExp *, s->w->reds + 1);
  wide_store(s, k->b, s->parts, s->item, wide_neutral(s->w));
  bind_space(&inner, seg->dims, seg->dim_count - 1, s->segment);
  wide_element(s, &inner, segments->position, values);
  wide_store(s, &present, s->parts, s->item, values);
  begin_segment(s, &inner, segments->position, values);
  imp_if(k->b, imp_and(segments->active, imp_less(segments->position, s->w->width)),
         present.block);
  wide_barrier(s);
}
