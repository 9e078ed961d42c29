// for i < n { acc = acc && p(i) }
//   =>  while at < n && acc { for i < min(b, n - at) { acc = acc && p(at + i) }; at += b }
//
// Why: a sequential loop leaves where it knows, and so must a reduction that seldom goes far (is it
// prime, is it among them, does anything come near?).  Blocks, as to ask takes a few cycles.
#include "imp/lower/kern.h"
#include "kern/kern_ask.h"

// Statements in a block; as many is a division worth, or a function of the library.
enum { BLOCK_WORK = 64, SLOW_WORK = 32, LEAST_ROUNDS = 4, MOST_ROUNDS = 32 };

// OP_LAND or OP_LOR if that is the operator, else OP_ADD.
static PrimOp truth_operator(const KernOp *op) {
  if (op->count != 1 || op->block->result_count != 1) return OP_ADD;
  const Term *t = term_behind(op->block, op->block->results[0]);
  if (t->kind != TERM_OP || (t->u.op.op != OP_LAND && t->u.op.op != OP_LOR))
    return OP_ADD;
  const Term *const *args = t->u.op.args;
  bool both = term_is_var(args[0], op->params[0]) && term_is_var(args[1], op->params[1]);
  bool turned =
      term_is_var(args[0], op->params[1]) && term_is_var(args[1], op->params[0]);
  return both || turned ? t->u.op.op : OP_ADD;
}

static bool is_truth(const Axis *axis) {
  for (int o = 0; o < axis->op_count; o++)
    if (truth_operator(&axis->ops[o]) == OP_ADD) return false;
  return axis->role == AXIS_REDUCE && axis->op_count;
}

bool may_be_left_out(const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_STORE || stm->kind == KERN_ALLOC || stm->kind == KERN_ROOM ||
        stm->kind == KERN_CALL || stm->kind == KERN_CHECK ||
        (stm->kind == KERN_AXIS && stm->u.axis->hist_count))
      return false;
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      if (!may_be_left_out(*inner)) return false;
  }
  return true;
}

// How many statements a round has; more than a block, if there are loops.
static int64_t work_of(const KernBlock *block) {
  int64_t work = 0;
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_WHILE || (stm->kind == KERN_AXIS && !kern_is_lock(stm)))
      return BLOCK_WORK + 1;
    bool slow = stm->kind == KERN_LET && !term_is_cheap(stm->u.term);
    work += slow ? SLOW_WORK : 1;
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      work += work_of(*inner);
  }
  return work;
}

int64_t early_end_block(const KernCode *kc, const Axis *axis) {
  if (kc->tiles || !is_truth(axis) || !may_be_left_out(axis->body)) return 0;
  int64_t work = work_of(axis->body) * copy_count(kc, kc->open);
  int64_t block = work > BLOCK_WORK ? 1 : BLOCK_WORK / (work > 1 ? work : 1);
  if (block > 1 && block < LEAST_ROUNDS) block = LEAST_ROUNDS;
  if (block > MOST_ROUNDS) block = MOST_ROUNDS;
  const Term *width = axis->width;
  bool is_short = width->kind == TERM_CONST && width->u.constant.u.i <= 2 * block;
  return is_short || (axis->most && axis->most <= 2 * block) ? 0 : block;
}

// ---- sums of lanes and registers, which are combined in the end

static AxisSet joined_of(const KernCode *kc, const Var *var) {
  return kc->joined ? (AxisSet)(intptr_t)map_get(kc->joined, var) : 0;
}

static const KernStm *reduction_of(const KernBlock *block, const Term *t) {
  for (int i = 0; t->kind == TERM_VAR && i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_AXIS && stm->binder_count == 1 && stm->binders[0] == t->u.var)
      return stm;
  }
  return NULL;
}

void early_end_join(KernCode *inner, const KernStm *stm, AxisSet bit) {
  const Axis *axis = stm->u.axis;
  if (!is_truth(axis) || axis->op_count > 1 || !stm->binder_count) return;
  PrimOp op = truth_operator(&axis->ops[0]);
  AxisSet set = bit | joined_of(inner, stm->binders[0]);
  inner->joined = map_new(inner->joined);
  const KernBlock *body = axis->body;
  const Term *sum = body->results[0];
  // Nothing comes after it that reads it, a check say: it may not be what it would be in the end.
  if (!body->count || reduction_of(body, sum) != &body->stms[body->count - 1]) return;
  for (const KernStm *s; sum && (s = reduction_of(body, sum));) {
    const Axis *part = s->u.axis;
    if (!is_truth(part) || part->op_count > 1 || truth_operator(&part->ops[0]) != op)
      return;
    map_put(inner->joined, s->binders[0], (void *)(intptr_t)set);
    sum = part->inits ? part->inits[0] : NULL;
  }
}

// ---- the condition

// Do these go on?  all: as what they are parts of is not known as long as none of them is.
static const ImpExp *copies_go_on(KernCode *kc, const VarCopies *sum, PrimOp op,
                                  bool all) {
  const ImpExp *going = NULL;
  AxisSet set = sum->set | (kc->masks ? kc->masks->set : 0);
  for (Copies at = copies_over(kc, set); copies_next(&at);) {
    const ImpExp *one = copy_of(kc, sum);
    if (op == OP_LOR) one = imp_op1(OP_NOT, one);
    if (sum->vector && !all) one = mask_and(mask_at_hand(kc), one);
    going = going ? imp_op2(all ? OP_LAND : OP_LOR, going, one) : one;
  }
  return sum->vector ? imp_over_lanes(all ? IMP_ALL : IMP_ANY, going) : going;
}

const ImpExp *early_end_going(KernCode *kc, const KernStm *stm, VarCopies *const *sums) {
  const Axis *axis = stm->u.axis;
  const ImpExp *going = NULL;
  for (int o = 0; o < axis->op_count; o++) {
    AxisSet joined = stm->binder_count ? joined_of(kc, stm->binders[o]) : 0;
    AxisSet set = sums[o]->set | (sums[o]->vector ? kc->lane : 0);
    bool all = !kc->mask && !kc->masks && !(set & ~joined);
    const ImpExp *one = copies_go_on(kc, sums[o], truth_operator(&axis->ops[o]), all);
    going = going ? imp_op2(OP_LOR, going, one) : one;
  }
  return going;
}
