// axis i < 3 { body i }   =>   body 0; body 1; body 2
//
// Keeps: what the rounds carry and sum up goes from one to the next, in order.  Without inits the
// first value is the sum so far: neutral elements are left out.
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

// How many values go from round to round.
static int carried_count(const Axis *axis) {
  return axis->role == AXIS_LOOP ? axis->param_count : kern_sum_count(axis);
}

static void add_round(KernBuilder *b, const Axis *axis, const KernBlock *body, int64_t at,
                      const Term **values) {
  int count = carried_count(axis);
  Map *replace = map_new(NULL);
  bool loops = axis->role == AXIS_LOOP, first = at == 0 && !axis->inits;
  map_put(replace, axis->index, term_i64(at));
  for (int i = 0; loops && i < count; i++)
    map_put(replace, axis->params[i], values[i]);
  const Term *const *results = add_renamed(b, replace, body);
  const Term **named = new_array(const Term *, count + 1);
  for (int i = 0; i < count; i++)
    named[i] = kern_let(b, "value", results[i]);
  if (!loops && !first)
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
  for (int64_t at = 0; at < axis->width->u.constant.u.i; at++)
    add_round(b, axis, body, at, values);
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(b, stm->binders[i], values[i]);
}
