// Axes as code: a loop, or, in lockstep, the body once.
//
//   seq   for i < n { body }              reg, lane   body, for all points at once
//   with accumulators                     and what the points have is then combined
#include "imp/lower/kern.h"
#include "kern/kern_ask.h"

// ---- variables that loops change

const VarCopies **params_begin(KernCode *kc, const Var *const *params,
                               const Term *const *inits, int count) {
  const VarCopies **out = new_array(const VarCopies *, count + 1);
  for (int i = 0; i < count; i++) {
    VarCopies *value = copies_new(kc, params[i], set_of_var(kc, params[i]));
    for (Copies c = copies_over(kc, value->set); copies_next(&c);)
      declare_copy(kc, params[i], value, lower_as(kc, inits[i], value->vector));
    out[i] = value;
  }
  return out;
}

void params_next(KernCode *kc, const VarCopies *const *params, const Term *const *results,
                 int count, bool masked) {
  const ImpExp ***next = new_array(const ImpExp **, count + 1);
  for (int i = 0; i < count; i++) {  // all are computed before any changes
    next[i] = new_array(const ImpExp *, copy_count(kc, params[i]->set) + 1);
    for (Copies c = copies_over(kc, params[i]->set); copies_next(&c);) {
      const ImpExp *is = lower_as(kc, results[i], params[i]->vector);
      if (count > 1 && is->kind != IMP_CONST)
        is = is->lanes ? imp_vector_var(imp_declare(kc->k->b, "next", is), is->lanes)
                       : imp_let(kc->k->b, "next", is);
      next[i][copy_at(kc, params[i]->set)] = is;
    }
  }
  for (int i = 0; i < count; i++)
    for (Copies c = copies_over(kc, params[i]->set); copies_next(&c);)
      assign_copy(kc, params[i], next[i][copy_at(kc, params[i]->set)],
                  masked ? mask_at_hand(kc) : NULL);
}

void params_end(KernCode *kc, const KernStm *stm, const VarCopies *const *params) {
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *binder = stm->binders[i];
    VarCopies *value = copies_new(kc, binder, set_of_var(kc, binder));
    for (Copies c = copies_over(kc, value->set); copies_next(&c);)
      declare_copy(kc, binder, value, copy_of(kc, params[i]));
  }
}

// ---- operators

// Lowers the operator's block, where `left` and `right` are its parameters.
static KernCode op_code(KernCode *kc, const KernOp *op, const ImpExp *const *left,
                        const ImpExp *const *right, bool vector) {
  KernCode inner = *kc;
  inner.values = map_new(kc->values);
  if (kc->vary) inner.vary = vary_op(kc->vary, op, vector ? kc->lane : 0);
  inner.fixed = inner.open;
  inner.mask = NULL;
  inner.masks = NULL;
  for (int i = 0; i < 2 * op->count; i++) {
    VarCopies *param = copies_new(&inner, op->params[i], vector ? kc->lane : 0);
    declare_copy(&inner, op->params[i], param,
                 i < op->count ? left[i] : right[i - op->count]);
  }
  lower_block(&inner, op->block);
  return inner;
}

void apply_op(KernCode *kc, const KernOp *op, const ImpExp *const *left,
              const ImpExp *const *right, const ImpExp **out) {
  bool vector = false;
  for (int i = 0; i < op->count; i++)
    vector = vector || left[i]->lanes || right[i]->lanes;
  KernCode inner = op_code(kc, op, left, right, vector);
  for (int i = 0; i < op->count; i++)
    out[i] = declared(&inner, "r", lower_as(&inner, op->block->results[i], vector));
}

// out = op acc (the results of the axis from the first on), which are `right`.  The last digits of
// sums depend on the order of additions anyway, so a product and the sum that it is added to may be
// rounded together: half of the work of products of matrices.
static void sum_element(KernCode *kc, const Axis *axis, const KernOp *op, int first,
                        const ImpExp *const *acc, const ImpExp *const *right,
                        const ImpExp **out) {
  const Term *element = term_behind(axis->body, axis->body->results[first]);
  if (!kern_adds_floats(op) || element->kind != TERM_OP || element->u.op.op != OP_MUL) {
    apply_op(kc, op, acc, right, out);
    return;
  }
  bool vector = acc[0]->lanes || right[0]->lanes;
  const Term *const *factors = element->u.op.args;
  out[0] = declared(kc, "r",
                    imp_op3(OP_MAD, lower_as(kc, factors[0], vector),
                            lower_as(kc, factors[1], vector), acc[0]));
}

// ---- accumulators

// Those of an axis with operators: a value per combined scalar, in order.
typedef struct Sums {
  const Axis *axis;
  int count;
  VarCopies **values;
  const Var **vars;  // what they are called
} Sums;

static PrimType sum_type(const Axis *axis, int number) {
  for (int o = 0; o < axis->op_count; number -= axis->ops[o++].count)
    if (number < axis->ops[o].count) return axis->ops[o].params[number]->type.elem;
  return PRIM_I64;
}

static AxisSet sum_set(KernCode *kc, const Axis *axis, int number) {
  for (int o = 0; o < axis->op_count; number -= axis->ops[o++].count)
    if (number < axis->ops[o].count) return set_of_var(kc, axis->ops[o].params[number]);
  return 0;
}

static const Term *first_operand(const Axis *axis, int number) {
  if (axis->inits) return axis->inits[number];
  for (int o = 0; o < axis->op_count; number -= axis->ops[o++].count)
    if (number < axis->ops[o].count) return axis->ops[o].neutral[number];
  return NULL;
}

static Sums sums_begin(KernCode *kc, const Axis *axis) {
  Compiler *c = kc->k->lower->c;
  Sums s = { .axis = axis, .count = kern_sum_count(axis) };
  s.values = new_array(VarCopies *, s.count + 1);
  s.vars = new_array(const Var *, s.count + 1);
  for (int i = 0; i < s.count; i++) {
    s.vars[i] = var_new(c, name_of(c->names, "acc"), type_scalar(sum_type(axis, i)),
                        kc->k->b->loc);
    s.values[i] = copies_new(kc, s.vars[i], sum_set(kc, axis, i));
    for (Copies at = copies_over(kc, s.values[i]->set); copies_next(&at);)
      declare_copy(kc, s.vars[i], s.values[i],
                   lower_as(kc, first_operand(axis, i), s.values[i]->vector));
  }
  return s;
}

// acc = op acc (results of the body), in the lanes of `mask`.
static void sums_add(KernCode *kc, const Sums *s, const ImpExp *mask) {
  const Axis *axis = s->axis;
  for (int o = 0, first = 0; o < axis->op_count; first += axis->ops[o++].count) {
    const KernOp *op = &axis->ops[o];
    const ImpExp **left = new_array(const ImpExp *, op->count),
                 **right = new_array(const ImpExp *, op->count),
                 **out = new_array(const ImpExp *, op->count);
    AxisSet set = s->values[first]->set;
    for (Copies c = copies_over(kc, set); copies_next(&c);) {
      for (int i = 0; i < op->count; i++) {
        left[i] = copy_of(kc, s->values[first + i]);
        right[i] =
            lower_as(kc, axis->body->results[first + i], s->values[first + i]->vector);
      }
      sum_element(kc, axis, op, first, left, right, out);
      for (int i = 0; i < op->count; i++)
        assign_copy(kc, s->values[first + i], out[i], mask);
    }
  }
}

// The statement's binders are the sums.
static void sums_end(KernCode *kc, const KernStm *stm, const Sums *s) {
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *binder = stm->binders[i];
    VarCopies *value = copies_new(kc, binder, set_of_var(kc, binder));
    for (Copies c = copies_over(kc, value->set); copies_next(&c);)
      declare_copy(kc, binder, value, copy_of(kc, s->values[i]));
  }
}

// ---- histograms

static const ImpExp *hist_index(KernCode *kc, const Access *dest, const Arr *arr,
                                const ImpExp *bin) {
  int last = dest->tensor->rank - 1;
  const ImpExp *at = imp_add(arr->offset, imp_mul(bin, arr->strides[last]));
  for (int i = 0; i < last; i++)
    at = imp_add(at, imp_mul(lower_scalar(kc, dest->index[i]), arr->strides[i]));
  return at;
}

// Where the operator chooses all of what there was or all that is new: the condition, and whether
// what there was stays if it holds.  Else NULL.
static const Term *condition_to_stay(const KernOp *op, bool *stays) {
  const Term *condition = NULL;
  for (int i = 0; i < op->count; i++) {
    const Term *t = term_behind(op->block, op->block->results[i]);
    if (t->kind != TERM_SELECT) return NULL;
    bool first = term_is_var(t->u.select.a, op->params[i]);
    if (!first && !term_is_var(t->u.select.b, op->params[i])) return NULL;
    if (condition && (*stays != first || !term_same(condition, t->u.select.condition)))
      return NULL;
    *stays = first;
    condition = t->u.select.condition;
  }
  return condition;
}

// Whether numbers of several arrays are to be stored; NULL: always.  Few elements are greater than
// all before them, and processors foresee that, but a load waits for the store before it.
static const ImpExp *is_new(KernCode *in_op, const KernOp *op) {
  bool stays = false;
  const Term *condition = op->count > 1 ? condition_to_stay(op, &stays) : NULL;
  if (!condition) return NULL;
  const ImpExp *holds = lower_scalar(in_op, condition);
  return stays ? imp_op1(OP_NOT, holds) : holds;
}

// dest[bin] = op dest[bin] values
static void hist_update(KernCode *kc, const KernHist *hist, const ImpExp *bin,
                        const Term *const *results) {
  const KernOp *op = &hist->op;
  int count = op->count;
  const ImpExp **old = new_array(const ImpExp *, count),
               **new = new_array(const ImpExp *, count),
               **out = new_array(const ImpExp *, count),
               **at = new_array(const ImpExp *, count);
  const Mem **mems = new_array(const Mem *, count);
  for (int i = 0; i < count; i++) {
    const Arr *arr = memory_at(kc, hist->dests[i].tensor);
    mems[i] = arr->mem;
    at[i] = declared(kc, "at", hist_index(kc, &hist->dests[i], arr, bin));
    old[i] = declared(kc, "old", imp_load(arr->mem, at[i]));
    new[i] = lower_scalar(kc, results[i]);
  }
  KernCode in_op = op_code(kc, op, old, new, false);
  for (int i = 0; i < count; i++)
    out[i] = declared(&in_op, "r", lower_scalar(&in_op, op->block->results[i]));
  const ImpExp *condition = is_new(&in_op, op);
  ImpBuilder b;
  Code code;
  KernCode inner = inner_code(kc, &code, &b);
  for (int i = 0; i < count; i++)
    imp_store(condition ? inner.k->b : kc->k->b, mems[i], at[i], out[i]);
  if (condition)
    add_stm(kc, (ImpStm){ .kind = IMP_IF, .u.cond = { condition, b.block, { 0 } } });
}

// 0 <= bin && bin < width, in one comparison, as no width is negative.
static const ImpExp *is_bin(const ImpExp *bin, const ImpExp *width) {
  return imp_less(imp_convert(PRIM_U64, bin), imp_convert(PRIM_U64, width));
}

static void update_bins(KernCode *kc, const Axis *axis) {
  for (int h = 0, next = axis->hist_count; h < axis->hist_count; h++) {
    const KernHist *hist = &axis->hists[h];
    ImpBuilder b;
    Code code;
    KernCode inner = inner_code(kc, &code, &b);
    const ImpExp *bin = lower_scalar(kc, axis->body->results[h]);
    hist_update(&inner, hist, bin, axis->body->results + next);
    const ImpExp *inside = is_bin(bin, lower_scalar(kc, hist->width));
    add_stm(kc, (ImpStm){ .kind = IMP_IF, .u.cond = { inside, b.block, { 0 } } });
    next += hist->op.count;
  }
}

// ---- loops

// Nothing but scalar code, on arrays that are made elsewhere?
static bool is_straight(const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    KernStmKind kind = block->stms[i].kind;
    if (kind == KERN_AXIS) {
      if (block->stms[i].u.axis->bind != BIND_REG ||
          !is_straight(block->stms[i].u.axis->body))
        return false;
    } else if (kind == KERN_IF) {
      if (!is_straight(block->stms[i].u.cond.then_block) ||
          !is_straight(block->stms[i].u.cond.else_block))
        return false;
    } else if (kind != KERN_LET && kind != KERN_LOAD && kind != KERN_STORE &&
               kind != KERN_CHECK) {
      return false;
    }
  }
  return true;
}

// A loop over an axis that runs one point after the other.
typedef struct SeqAxis {
  KernCode *outer;
  const KernStm *stm;
  const Axis *axis;
  const VarCopies **params;  // AXIS_LOOP
  Sums sums;                 // AXIS_REDUCE, AXIS_SCAN
  const ImpExp *bound;       // rounds
  const ImpExp *each;        // rounds of each lane, if they differ
  const ImpExp *mask;        // the lanes that still go on, then
} SeqAxis;

static void scan_after(KernCode *kc, SeqAxis *s) {
  const Axis *axis = s->axis;
  for (int i = 0; i < s->sums.count; i++) {
    VarCopies *value = copies_new(kc, axis->sums[i], set_of_var(kc, axis->sums[i]));
    for (Copies c = copies_over(kc, value->set); copies_next(&c);)
      declare_copy(kc, axis->sums[i], value, copy_of(kc, s->sums.values[i]));
  }
  lower_block(kc, axis->after);
}

static void seq_round(KernCode *kc, SeqAxis *s) {
  const Axis *axis = s->axis;
  lower_block(kc, axis->body);
  switch (axis->role) {
  case AXIS_MAP: return;
  case AXIS_LOOP:
    params_next(kc, s->params, axis->body->results, axis->param_count, s->mask != NULL);
    return;
  case AXIS_REDUCE: sums_add(kc, &s->sums, s->mask); return;
  case AXIS_SCAN:
    sums_add(kc, &s->sums, s->mask);
    scan_after(kc, s);
    return;
  case AXIS_HIST: update_bins(kc, axis); return;
  }
}

static const Var *index_copy(KernCode *kc, const Axis *axis) {
  const Var *copy = var_like(kc->k->lower->c, axis->index);
  copies_new(kc, axis->index, 0)->copies[0] = imp_var(copy);
  map_put(kc->k->inside, copy, axis);
  return copy;
}

// The trip count differs across the lanes: as many rounds as the longest needs.
static void find_bound(SeqAxis *s) {
  KernCode *kc = s->outer;
  const Term *width = s->axis->width;
  if (!in_lanes(kc, set_of_term(kc, width))) {
    s->bound = lower_scalar(kc, width);
    return;
  }
  const ImpExp *each = lower_vector(kc, width);
  if (kc->mask)
    each = imp_select(mask_at_hand(kc), each, imp_splat(imp_i64(0), kc->lanes));
  s->each = declared(kc, "bound", each);
  s->bound = declared(kc, "most", imp_over_lanes(IMP_MOST, s->each));
}

// Adds `rounds` rounds, from `at` on (NULL: from 0).
static void seq_rounds(KernCode *kc, SeqAxis *s, const ImpExp *rounds, const Var *at) {
  const Axis *axis = s->axis;
  const Var *index = index_copy(kc, axis), *round = index;
  ImpBuilder b;
  Code code;
  KernCode inner = inner_code(kc, &code, &b);
  if (at) {
    round = var_like(kc->k->lower->c, index);
    map_put(kc->k->inside, round, axis);
    const ImpExp *is = imp_add(imp_var(at), imp_var(round));
    add_stm(&inner, (ImpStm){ .kind = IMP_DECLARE, .u.declare = { index, is, 0 } });
  }
  if (s->each) {
    const ImpExp *going = imp_less(imp_splat(imp_var(index), kc->lanes), s->each);
    s->mask = inner.mask = declared(&inner, "mask", going);
    inner.masks = NULL;
  }
  seq_round(&inner, s);
  bool plain = is_straight(axis->body) && !kc->lane;
  add_stm(kc, (ImpStm){ .kind = IMP_FOR,
                        .u.loop = { round, rounds, b.block,
                                    axis->role == AXIS_REDUCE && !kc->lane,
                                    axis->role == AXIS_MAP && plain, axis->many && plain,
                                    false } });
}

// Blocks of rounds, until the outcome is known.
static void seq_blocks(KernCode *kc, SeqAxis *s, int64_t block) {
  const Var *at = imp_declare(kc->k->b, "at", imp_i64(0));
  map_put(kc->k->inside, at, at);
  ImpBuilder b;
  Code code;
  KernCode inner = inner_code(kc, &code, &b);
  const ImpExp *left = imp_sub(s->bound, imp_var(at));
  seq_rounds(&inner, s, declared(&inner, "rounds", imp_min(imp_i64(block), left)), at);
  imp_assign(&b, at, imp_add(imp_var(at), imp_i64(block)));
  const ImpExp *going = imp_op2(OP_LAND, imp_less(imp_var(at), s->bound),
                                early_end_going(kc, s->stm, s->sums.values));
  add_stm(kc, (ImpStm){ .kind = IMP_WHILE, .u.loop_while = { going, b.block } });
}

static void seq_axis(KernCode *kc, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  SeqAxis s = { .outer = kc, .stm = stm, .axis = axis };
  find_bound(&s);
  s.bound = rounds_unless_idle(kc, axis, s.bound);
  if (axis->role == AXIS_LOOP)
    s.params = params_begin(kc, axis->params, axis->inits, axis->param_count);
  if (axis->op_count) s.sums = sums_begin(kc, axis);
  int64_t block = early_end_block(kc, axis);
  if (block)
    seq_blocks(kc, &s, block);
  else
    seq_rounds(kc, &s, s.bound, NULL);
  if (axis->role == AXIS_LOOP) params_end(kc, stm, s.params);
  if (axis->op_count) sums_end(kc, stm, &s.sums);
}

// ---- lockstep

static int bit_number(AxisSet bit) {
  int i = 0;
  while (!(bit >> i & 1))
    i++;
  return i;
}

// Opens the axis: its index is the number of the copy, or (lanes) 0 as a base.
static KernCode open_lock(KernCode *kc, const KernStm *stm) {
  KernCode inner = *kc;
  const Axis *axis = stm->u.axis;
  if (!kc->vary) inner.vary = vary_stm(stm);
  AxisSet bit = vary_axis(inner.vary, axis);
  if (axis->role == AXIS_REDUCE) early_end_join(&inner, stm, bit);
  int width = (int)axis->width->u.constant.u.i;
  VarCopies *index = new_node(VarCopies, .set = axis->bind == BIND_REG ? bit : 0);
  index->copies = new_array(const ImpExp *, width + 1);
  for (int i = 0; i < width; i++)
    index->copies[i] = imp_i64(i);
  map_put(inner.values, axis->index, index);
  if (axis->bind == BIND_LANE) {
    inner.lane = bit;
    inner.lanes = width;
  } else {
    inner.open |= bit;
    inner.counts[bit_number(bit)] = width;
  }
  return inner;
}

// What the points of a register axis have, combined in order.
static void reduce_regs(KernCode *inner, const Axis *axis, const KernOp *op, int first,
                        const ImpExp **out) {
  const Term *const *results = axis->body->results + first;
  int number = bit_number(vary_axis(inner->vary, axis));
  const ImpExp **right = new_array(const ImpExp *, op->count);
  bool vector = in_lanes(inner, set_of_var(inner, op->params[0]));
  for (int p = 0; p < inner->counts[number]; p++) {
    inner->at[number] = p;
    for (int i = 0; i < op->count; i++)
      right[i] = lower_as(inner, results[i], vector);
    if (p == 0)
      for (int i = 0; i < op->count; i++)
        out[i] = right[i];
    else
      sum_element(inner, axis, op, first, out, right, out);
  }
}

static void reduce_lock(KernCode *inner, const Axis *axis, const KernOp *op, int first,
                        const ImpExp **out) {
  const Term *const *results = axis->body->results + first;
  if (axis->bind == BIND_REG) {
    reduce_regs(inner, axis, op, first, out);
    return;
  }
  const ImpExp **values = new_array(const ImpExp *, op->count);
  for (int i = 0; i < op->count; i++)
    values[i] = lower_vector(inner, results[i]);
  reduce_lanes(inner, op, values, out);
}

// The totals of one operator at the copy at hand of the axes around.
static void lock_totals(KernCode *kc, KernCode *inner, const KernStm *stm, int o,
                        int first) {
  const Axis *axis = stm->u.axis;
  const KernOp *op = &axis->ops[o];
  const ImpExp **out = new_array(const ImpExp *, op->count),
               **left = new_array(const ImpExp *, op->count);
  reduce_lock(inner, axis, op, first, out);
  for (int i = 0; axis->inits && i < op->count; i++)
    left[i] = lower_as(kc, axis->inits[first + i], out[i]->lanes > 0);
  if (axis->inits) apply_op(inner, op, left, out, out);
  for (int i = 0; i < op->count && stm->binder_count; i++) {
    const Var *binder = stm->binders[first + i];
    declare_copy(kc, binder, map_get(kc->values, binder), out[i]);
  }
}

static void end_reduce(KernCode *kc, KernCode *inner, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  for (int i = 0; i < stm->binder_count; i++)
    copies_new(kc, stm->binders[i], set_of_var(inner, stm->binders[i]));
  for (int o = 0, first = 0; o < axis->op_count; first += axis->ops[o++].count) {
    AxisSet set = stm->binder_count ? set_of_var(inner, stm->binders[first]) : 0;
    for (Copies c = copies_over(kc, set); copies_next(&c);) {
      for (int i = 0; i < MAX_LOCKS; i++)
        inner->at[i] = kc->at[i];
      lock_totals(kc, inner, stm, o, first);
    }
  }
}

// What each point of a scan in lanes sees: vectors.
void lower_scan_sums(KernCode *kc, const Axis *axis) {
  for (int o = 0, first = 0; o < axis->op_count; first += axis->ops[o++].count) {
    const KernOp *op = &axis->ops[o];
    const ImpExp **values = new_array(const ImpExp *, op->count),
                 **left = new_array(const ImpExp *, op->count);
    for (int i = 0; i < op->count; i++)
      values[i] = lower_vector(kc, axis->body->results[first + i]);
    scan_lanes(kc, op, values);
    for (int i = 0; axis->inits && i < op->count; i++)
      left[i] = imp_splat(lower_scalar(kc, axis->inits[first + i]), kc->lanes);
    if (axis->inits) apply_op(kc, op, left, values, values);
    for (int i = 0; i < op->count; i++)
      declare_copy(kc, axis->sums[first + i],
                   copies_new(kc, axis->sums[first + i], kc->lane), values[i]);
  }
}

static void end_scan(KernCode *kc, KernCode *inner, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  if (lower_packed_scan(kc, inner, stm)) return;
  lower_scan_sums(inner, axis);
  for (int i = 0; i < stm->binder_count; i++) {
    const ImpExp *sums = copy_of(inner, map_get(inner->values, axis->sums[i]));
    declare_copy(kc, stm->binders[i], copies_new(kc, stm->binders[i], 0),
                 imp_pick(sums, imp_i64(inner->lanes - 1)));
  }
  lower_block(inner, axis->after);
}

// A loop across registers.
static void lock_rounds(KernCode *kc, KernCode *inner, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  KernCode one = *inner;
  AxisSet bit = vary_axis(inner->vary, axis);
  int number = bit_number(bit);
  KernBlock ahead, behind;
  kern_part_rounds(axis, &ahead, &behind);
  one.fixed |= bit;
  const VarCopies **params =
      params_begin(&one, axis->params, axis->inits, axis->param_count);
  lower_block(inner, &ahead);
  for (int i = 0; i < inner->counts[number]; i++) {
    one.at[number] = i;
    lower_block(&one, &behind);
    params_next(&one, params, behind.results, axis->param_count, false);
  }
  params_end(kc, stm, params);
}

static void lock_axis(KernCode *kc, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  KernCode inner = open_lock(kc, stm);
  if (axis->role == AXIS_LOOP) {
    lock_rounds(kc, &inner, stm);
    return;
  }
  lower_block(&inner, axis->body);
  if (axis->role == AXIS_REDUCE) end_reduce(kc, &inner, stm);
  if (axis->role == AXIS_SCAN) end_scan(kc, &inner, stm);
}

void lower_axis(KernCode *kc, const KernStm *stm) {
  bool locked = stm->u.axis->bind == BIND_LANE || stm->u.axis->bind == BIND_REG;
  if (stm->u.axis->bind == BIND_ITEM)
    lower_item_axis(kc, stm);
  else if (locked)
    lock_axis(kc, stm);
  else
    seq_axis(kc, stm);
}
