// Code across lanes: accesses, divergent control, and values combined over the lanes.
//
// Where control differs from lane to lane, both sides of a branch run under masks, and a loop goes
// on while any lane does.  Lanes that are masked out may compute anything, but must not read where
// there is nothing: they read what lies there, or element 0, which exists if another lane reads.
#include "imp/lower/kern.h"

enum { MOST_TWICE = 32 };  // statements that are worth a copy

// ---- accesses

bool affine_place(KernCode *kc, const Access *access, const Arr *arr, const ImpExp **base,
                  const ImpExp **step) {
  *base = arr->offset;
  *step = imp_i64(0);
  for (int i = 0; i < access->tensor->rank; i++) {
    Affine a;
    if (!vary_affine(kc->vary, access->index[i], &a)) return false;
    *base = imp_add(*base, imp_mul(lower_scalar(kc, a.base), arr->strides[i]));
    *step = imp_add(*step, imp_mul(lower_scalar(kc, a.step), arr->strides[i]));
  }
  return true;
}

static const ImpExp *iota(KernCode *kc) { return imp_iota(PRIM_I64, kc->lanes); }

static const ImpExp *times(KernCode *kc, const ImpExp *a, const ImpExp *b) {
  if (b->kind == IMP_CONST && b->u.constant.u.i == 1) return a;
  return imp_op2(OP_MUL, a, imp_splat(b, kc->lanes));
}

static bool is_zero(const ImpExp *e) {
  return e->kind == IMP_CONST && e->u.constant.u.i == 0;
}

// An index; in lanes as a conversion if it is one, so that what loads may see its bits.
static const ImpExp *index_at(KernCode *kc, const Term *t) {
  const Term *few = vary_few_bits(kc->vary, t);
  bool shown = few && in_lanes(kc, set_of_term(kc, few));
  return shown ? imp_convert(PRIM_I64, lower_term(kc, few)) : lower_term(kc, t);
}

// The place of each lane.
static const ImpExp *places(KernCode *kc, const Access *access, const Arr *arr) {
  const ImpExp *at = arr->offset;
  for (int i = 0; i < access->tensor->rank; i++) {
    const ImpExp *index = index_at(kc, access->index[i]);
    const ImpExp *term = index->lanes ? times(kc, index, arr->strides[i])
                                      : imp_mul(index, arr->strides[i]);
    bool first = is_zero(at) && !at->lanes;
    at = first                      ? term
         : at->lanes || term->lanes ? imp_op2(OP_ADD, at, term)
                                    : imp_add(at, term);
  }
  at = imp_splat(at, kc->lanes);
  // Memory of each lane: element by element, the lanes side by side.
  if (arr->mem->lanes)
    at = imp_op2(OP_ADD, times(kc, at, imp_i64(arr->mem->lanes)), iota(kc));
  return at;
}

static const ImpExp *safe_places(KernCode *kc, const ImpExp *at) {
  if (!kc->mask) return at;
  return imp_select(mask_at_hand(kc), at, imp_splat(imp_i64(0), kc->lanes));
}

// Row by row without gaps, in memory of that size.
static bool fills_memory(const Tensor *t, const Arr *arr) {
  if (tensor_root(t)->open) return false;
  Arr dense = arr_dense(arr->mem, arr->elem, arr->shape, arr->rank);
  for (int i = 0; i < arr->rank; i++)
    if (!imp_same(arr->strides[i], dense.strides[i])) return false;
  return true;
}

// Do the elements of all lanes exist?  Those of lanes that are masked out may be of other rows.
static const ImpExp *exist(KernCode *kc, const Arr *arr, const ImpExp *base) {
  const ImpExp *count = imp_i64(1);
  for (int i = 0; i < arr->rank; i++)
    count = imp_mul(count, arr->shape[i]);
  const ImpExp *last = imp_add(arr->offset, imp_add(count, imp_i64(-kc->lanes)));
  return imp_and(imp_op2(OP_LE, arr->offset, base), imp_op2(OP_LE, base, last));
}

// if these neighbours exist, or all lanes take part { whole } else { one by one }
static const ImpExp *masked_neighbours(KernCode *kc, const Tensor *t, const Arr *arr,
                                       const ImpExp *base) {
  Compiler *c = kc->k->lower->c;
  const Var *got =
      var_new(c, name_of(c->names, "got"), type_scalar(arr->elem), kc->k->b->loc);
  base = declared(kc, "base", base);
  const ImpExp *at = imp_op2(OP_ADD, imp_splat(base, kc->lanes), iota(kc));
  const ImpExp *all = fills_memory(t, arr) ? exist(kc, arr, base)
                                           : imp_over_lanes(IMP_ALL, mask_at_hand(kc));
  ImpBuilder whole = { .c = c, .loc = kc->k->b->loc }, others = whole;
  imp_assign(&whole, got, imp_vload(arr->mem, base, kc->lanes));
  imp_assign(&others, got, imp_vload(arr->mem, safe_places(kc, at), kc->lanes));
  map_put(kc->k->inside, got, got);
  add_stm(kc, (ImpStm){ .kind = IMP_DECLARE, .u.declare = { got, NULL, kc->lanes } });
  add_stm(kc, (ImpStm){ .kind = IMP_IF, .u.cond = { all, whole.block, others.block } });
  return imp_vector_var(got, kc->lanes);
}

const ImpExp *lane_load(KernCode *kc, const Access *access, const Arr *arr) {
  const ImpExp *base, *step;
  bool affine = affine_place(kc, access, arr, &base, &step);
  if (arr->mem->lanes) {
    if (affine && is_zero(step)) return imp_vload(arr->mem, base, kc->lanes);
    return imp_vload(arr->mem, safe_places(kc, places(kc, access, arr)), kc->lanes);
  }
  if (affine && is_zero(step)) return imp_splat(imp_load(arr->mem, base), kc->lanes);
  if (affine && imp_is_i64(step, 1) && kc->mask &&
      (!kc->some || fills_memory(access->tensor, arr)))
    return masked_neighbours(kc, access->tensor, arr, base);
  if (affine && !kc->mask && lone_step(step, arr->mem->elem))
    return load_every_nth(kc, arr, base, lone_step(step, arr->mem->elem));
  if (affine && !kc->mask && imp_is_i64(step, -1)) return load_backwards(kc, arr, base);
  if (affine && !kc->mask) return imp_strided(arr->mem, base, step, 1, kc->lanes);
  return imp_vload(arr->mem, safe_places(kc, places(kc, access, arr)), kc->lanes);
}

// ---- stores

static void add_store(KernCode *kc, const Arr *arr, const ImpExp *index,
                      const ImpExp *value, const ImpExp *step) {
  if (step && imp_is_i64(step, 1)) step = NULL;
  add_stm(kc, (ImpStm){ .kind = IMP_STORE,
                        .u.store = { arr->mem, index, value, step, mask_at_hand(kc), 0,
                                     false, false } });
}

void lane_store(KernCode *kc, const Access *access, const Arr *arr, const ImpExp *value) {
  const ImpExp *base, *step;
  bool affine = affine_place(kc, access, arr, &base, &step);
  bool own = arr->mem->lanes != 0;
  if (own && affine && is_zero(step))
    add_store(kc, arr, base, value, NULL);
  else if (!own && affine && (imp_is_i64(step, 1) || !kc->mask))
    add_store(kc, arr, base, value, step);
  else
    add_store(kc, arr, places(kc, access, arr), value, NULL);
}

// ---- divergent control

const ImpExp *mask_and(const ImpExp *mask, const ImpExp *more) {
  return mask ? imp_op2(OP_LAND, mask, more) : more;
}

const ImpExp *mask_at_hand(const KernCode *kc) {
  return kc->masks ? copy_of(kc, kc->masks) : kc->mask;
}

static bool is_cheap(const Term *t) {
  if (t->kind == TERM_OP && !op_is_cheap(t->u.op.op, t->u.op.operands)) return false;
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    if (!is_cheap(operands[i])) return false;
  return true;
}

// Better computed for nothing than jumped over?
static bool is_short(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind != KERN_LET || !is_cheap(block->stms[i].u.term)) return false;
  return block->count <= 12;
}

static KernCode masked(KernCode *kc, const ImpExp *mask) {
  KernCode inner = *kc;
  inner.mask = mask;
  inner.masks = NULL;
  return inner;
}

static void assign_results(KernCode *kc, const KernStm *stm, const KernBlock *block,
                           const ImpExp *mask) {
  for (int i = 0; i < stm->binder_count; i++) {
    const VarCopies *value = map_get(kc->values, stm->binders[i]);
    for (Copies c = copies_over(kc, value->set); copies_next(&c);)
      assign_copy(kc, value, lower_as(kc, block->results[i], value->vector), mask);
  }
}

// Straight code that loads what differs from lane to lane: without masks it is much shorter.
static bool is_better_whole(const KernCode *kc, const KernBlock *block) {
  bool loads = false;
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind != KERN_LET && stm->kind != KERN_LOAD && stm->kind != KERN_STORE)
      return false;
    loads |= stm->kind == KERN_LOAD && in_lanes(kc, set_of_var(kc, stm->binders[0]));
  }
  return loads && block->count <= MOST_TWICE;
}

static ImpBlock side_block(KernCode *kc, const KernStm *stm, const KernBlock *block,
                           const ImpExp *mask, bool some) {
  KernCode masked_code = masked(kc, mask);
  masked_code.some = some || kc->some;
  ImpBuilder b;
  Code code;
  KernCode inner = inner_code(&masked_code, &code, &b);
  lower_block(&inner, block);
  assign_results(&inner, stm, block, mask);
  return b.block;
}

// if all lanes { block } else { if any lane { block under the mask } }
static void side(KernCode *kc, const KernStm *stm, const KernBlock *block,
                 const ImpExp *mask) {
  if (!block->count && !block->result_count) return;
  bool whole = !kc->some && is_better_whole(kc, block);
  ImpStm any = { .kind = IMP_IF,
                 .loc = kc->k->b->loc,
                 .u.cond = { imp_over_lanes(IMP_ANY, mask),
                             side_block(kc, stm, block, mask, whole),
                             { 0 } } };
  if (!whole) {
    add_stm(kc, any);
    return;
  }
  ImpBuilder others = { .c = kc->k->lower->c, .loc = kc->k->b->loc };
  imp_add_stm(&others, any);
  add_stm(kc, (ImpStm){ .kind = IMP_IF,
                        .u.cond = { imp_over_lanes(IMP_ALL, mask),
                                    side_block(kc, stm, block, NULL, false),
                                    others.block } });
}

void lane_if(KernCode *kc, const KernStm *stm) {
  const KernBlock *then_block = stm->u.cond.then_block,
                  *else_block = stm->u.cond.else_block;
  const ImpExp *condition =
      declared(kc, "condition", lower_vector(kc, stm->u.cond.condition));
  if (is_short(then_block) && is_short(else_block)) {
    lower_block(kc, then_block);
    assign_results(kc, stm, then_block, NULL);
    lower_block(kc, else_block);
    assign_results(kc, stm, else_block, imp_op1(OP_NOT, condition));
    return;
  }
  const ImpExp *no = imp_op1(OP_NOT, condition);
  side(kc, stm, then_block, declared(kc, "mask", mask_and(mask_at_hand(kc), condition)));
  side(kc, stm, else_block, declared(kc, "mask", mask_and(mask_at_hand(kc), no)));
}

// The lanes that go through a loop, by the copies that differ in that: those for which `going`
// holds.
static VarCopies *declare_masks(KernCode *kc, const VarCopies *going) {
  Compiler *c = kc->k->lower->c;
  const Var *mask =
      var_new(c, name_of(c->names, "mask"), type_scalar(PRIM_BOOL), kc->k->b->loc);
  VarCopies *masks = copies_new(kc, mask, going->set | kc->lane);
  for (Copies at = copies_over(kc, masks->set); copies_next(&at);)
    declare_copy(kc, mask, masks, mask_and(mask_at_hand(kc), copy_of(kc, going)));
  return masks;
}

// Does a lane of any copy go on?
static const ImpExp *any_goes_on(KernCode *kc, const VarCopies *masks) {
  const ImpExp *any = NULL;
  for (Copies at = copies_over(kc, masks->set); copies_next(&at);) {
    const ImpExp *one = copy_of(kc, masks);
    any = any ? imp_op2(OP_LOR, any, one) : one;
  }
  return imp_over_lanes(IMP_ANY, any);
}

void lane_while(KernCode *kc, const KernStm *stm) {
  int count = stm->u.loop.param_count;
  const VarCopies **params =
      params_begin(kc, stm->u.loop.params, lower_rounds_alike(kc, stm), count);
  const VarCopies *going = map_get(kc->values, stm->u.loop.params[stm->u.loop.which]);
  VarCopies *masks = declare_masks(kc, going);
  KernCode masked_code = masked(kc, masks->copies[0]);
  masked_code.masks = masks;
  ImpBuilder b;
  Code code;
  KernCode inner = inner_code(&masked_code, &code, &b);
  lower_block(&inner, stm->u.loop.body);
  params_next(&inner, params, stm->u.loop.body->results, count, true);
  for (Copies at = copies_over(&inner, masks->set); copies_next(&at);)
    imp_assign(&b, copy_of(&inner, masks)->u.var,
               mask_and(copy_of(&inner, masks), copy_of(&inner, going)));
  add_stm(kc, (ImpStm){ .kind = IMP_WHILE,
                        .u.loop_while = { any_goes_on(kc, masks), b.block } });
  params_end(kc, stm, params);
}

// ---- over the lanes

// `distance` lanes further down; below that, lanes of the second vector.
static const signed char *shift_up(int lanes, int distance) {
  signed char *from = new_array(signed char, lanes);
  for (int i = 0; i < lanes; i++)
    from[i] = (signed char)(i < distance ? lanes + i : i - distance);
  return from;
}

// Every second lane, from `first` on; the rest are copies.
static const signed char *every_second(int lanes, int first) {
  signed char *from = new_array(signed char, lanes);
  for (int i = 0; i < lanes; i++)
    from[i] = (signed char)((2 * i + first) % lanes);
  return from;
}

void reduce_lanes(KernCode *kc, const KernOp *op, const ImpExp *const *values,
                  const ImpExp **out) {
  const ImpExp **left = new_array(const ImpExp *, op->count),
               **right = new_array(const ImpExp *, op->count);
  for (int i = 0; i < op->count; i++)
    out[i] = declared(kc, "parts", values[i]);
  for (int width = kc->lanes; width > 1; width /= 2) {
    for (int i = 0; i < op->count; i++) {
      left[i] = imp_permute(out[i], NULL, every_second(kc->lanes, 0));
      right[i] = imp_permute(out[i], NULL, every_second(kc->lanes, 1));
    }
    apply_op(kc, op, left, right, out);
  }
  for (int i = 0; i < op->count; i++)
    out[i] = declared(kc, "total", imp_pick(out[i], imp_i64(0)));
}

void scan_lanes(KernCode *kc, const KernOp *op, const ImpExp **values) {
  const ImpExp **left = new_array(const ImpExp *, op->count);
  for (int i = 0; i < op->count; i++)
    values[i] = declared(kc, "sums", values[i]);
  for (int distance = 1; distance < kc->lanes; distance *= 2) {
    for (int i = 0; i < op->count; i++) {
      const ImpExp *neutral = imp_splat(lower_scalar(kc, op->neutral[i]), kc->lanes);
      left[i] = imp_permute(values[i], neutral, shift_up(kc->lanes, distance));
    }
    apply_op(kc, op, left, values, values);
  }
}
