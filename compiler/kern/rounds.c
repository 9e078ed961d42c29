// axis i < 3 { body i }   =>   body 0; body 1; body 2
//
// Keeps: what the rounds carry and sum up goes from one to the next, in order.  Without inits the
// first value is the sum so far: neutral elements are left out, but for bounds (below).
#include "kern/kern.h"

// Adds a copy of the block with variables replaced; gives its results.
static const Term *const *add_renamed(KernBuilder *b, const Map *replace,
                                      const KernBlock *block) {
  const KernBlock *copy = kern_rename(b->c, replace, block);
  for (int i = 0; i < copy->count; i++)
    kern_add(b, copy->stms[i]);
  return copy->results;
}

// values = op values results
static void add_sums(KernBuilder *b, const Axis *axis, const Term *const *results,
                     const Term **values) {
  for (int o = 0, first = 0; o < axis->op_count; first += axis->ops[o++].count) {
    const KernOp *op = &axis->ops[o];
    Map *replace = map_new(NULL);
    for (int i = 0; i < op->count; i++) {
      map_put(replace, op->params[i], values[first + i]);
      map_put(replace, op->params[op->count + i], results[first + i]);
    }
    const Term *const *sums = add_renamed(b, replace, op->block);
    for (int i = 0; i < op->count; i++)
      values[first + i] = kern_let(b, "sum", sums[i]);
  }
}

// ---- bounds
//
// `reduce max 0 xs`: 0 is not neutral, but as often as a sum begins with it, it is the least that
// the sum can be.  So it is with operators that may take an operand twice.

static bool may_repeat(PrimOp op) {
  return op == OP_MIN || op == OP_MAX || op == OP_AND || op == OP_OR || op == OP_LAND ||
         op == OP_LOR;
}

static const Term *result_of(const KernBlock *block, int i) {
  const Term *t = block->results[i];
  for (int at = block->count - 1; t->kind == TERM_VAR && at >= 0; at--) {
    const KernStm *stm = &block->stms[at];
    if (stm->kind == KERN_LET && term_is_var(t, stm->binders[0])) t = stm->u.term;
  }
  return t;
}

// Does the operator combine its number `i` by one that may take operands twice, with a first
// operand that is not known to be neutral?
static bool bounds(const KernOp *op, int i) {
  const Term *t = result_of(op->block, i), *first = op->neutral[i];
  if (t->kind != TERM_OP || !may_repeat(t->u.op.op)) return false;
  const Var *left = op->params[i], *right = op->params[op->count + i];
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (!(term_is_var(a, left) && term_is_var(b, right)) &&
      !(term_is_var(a, right) && term_is_var(b, left)))
    return false;
  return first->kind != TERM_CONST ||
         !prim_identical(first->u.constant, prim_neutral(t->u.op.op, first->type));
}

// A sum whose first operands bound it begins with them: none are dropped.
static bool is_bounded(const Axis *axis) {
  bool some = false;
  for (int o = 0; axis->role == AXIS_REDUCE && o < axis->op_count; o++)
    for (int i = 0; i < axis->ops[o].count; i++)
      some = some || bounds(&axis->ops[o], i);
  return some;
}

static void neutral_values(const Axis *axis, const Term **values) {
  for (int o = 0, first = 0; o < axis->op_count; first += axis->ops[o++].count)
    for (int i = 0; i < axis->ops[o].count; i++)
      values[first + i] = axis->ops[o].neutral[i];
}

// How many values go from round to round.
static int carried_count(const Axis *axis) {
  return axis->role == AXIS_LOOP ? axis->param_count : kern_sum_count(axis);
}

// `none`: there are no values before.
static void add_round(KernBuilder *b, const Axis *axis, const KernBlock *body, int64_t at,
                      const Term **values, bool none) {
  int count = carried_count(axis);
  Map *replace = map_new(NULL);
  bool loops = axis->role == AXIS_LOOP;
  map_put(replace, axis->index, term_i64(at));
  for (int i = 0; loops && i < count; i++)
    map_put(replace, axis->params[i], values[i]);
  const Term *const *results = add_renamed(b, replace, body);
  const Term **named = new_array(const Term *, count + 1);
  for (int i = 0; i < count; i++)
    named[i] = kern_let(b, "value", results[i]);
  if (!loops && !none)
    add_sums(b, axis, named, values);
  else
    for (int i = 0; i < count; i++)
      values[i] = named[i];
}

void kern_add_rounds(KernBuilder *b, const KernStm *stm, const KernBlock *body) {
  const Axis *axis = stm->u.axis;
  int count = carried_count(axis);
  const Term **values = new_array(const Term *, count + 1);
  for (int i = 0; axis->inits && i < count; i++)
    values[i] = axis->inits[i];
  bool bounded = !axis->inits && is_bounded(axis);
  if (bounded) neutral_values(axis, values);
  bool begun = axis->inits || bounded;
  for (int64_t at = 0; at < axis->width->u.constant.u.i; at++)
    add_round(b, axis, body, at, values, at == 0 && !begun);
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(b, stm->binders[i], values[i]);
}
