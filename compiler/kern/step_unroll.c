// unroll a:   axis a: i < 3 { body i }   =>   body 0; body 1; body 2
//
// Why: what the body computes from the index is then a constant, and what is around it is straight
// code: the nine points of a window are nine loads.
#include "kern/narrow.h"
#include "kern/plan.h"
#include "kern/step.h"

enum { MOST_COPIES = 16, MOST_STATEMENTS = 200 };

static int statement_count(const KernBlock *block) {
  int size = block->count;
  for (int i = 0; i < block->count; i++) {
    KernBlockVec blocks = kern_blocks(&block->stms[i]);
    vec_each (const KernBlock **, inner, &blocks)
      size += statement_count(*inner);
  }
  return size;
}

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

static void add_round(KernBuilder *b, const Axis *axis, int64_t at, const Term **values,
                      int count) {
  Map *replace = map_new(NULL);
  bool loops = axis->role == AXIS_LOOP, first = at == 0 && !axis->inits;
  map_put(replace, axis->index, term_i64(at));
  for (int i = 0; loops && i < count; i++)
    map_put(replace, axis->params[i], values[i]);
  const Term *const *results = add_renamed(b, replace, axis->body);
  const Term **named = new_array(const Term *, count + 1);
  for (int i = 0; i < count; i++)
    named[i] = kern_let(b, "value", results[i]);
  if (!loops && !first)
    add_sums(b, axis, named, values);
  else
    for (int i = 0; i < count; i++)
      values[i] = named[i];
}

static void add_all_rounds(void *state, KernBuilder *b, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  int count = axis->role == AXIS_LOOP ? axis->param_count : kern_sum_count(axis);
  const Term **values = new_array(const Term *, count + 1);
  (void)state;
  for (int i = 0; axis->inits && i < count; i++)
    values[i] = axis->inits[i];
  for (int64_t at = 0; at < axis->width->u.constant.u.i; at++)
    add_round(b, axis, at, values, count);
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(b, stm->binders[i], values[i]);
}

static const Term *term_as_it_is(void *state, const Term *t) {
  (void)state;
  return t;
}

const Kern *step_unroll(Step *s, const Kern *kern, Name name) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const Axis *axis = stm->u.axis;
  const Term *width = axis->width;
  if (axis->role == AXIS_SCAN || axis->role == AXIS_HIST)
    return step_refuse(s, "%s is a scan or a histogram", name);
  if (axis->bind != BIND_SEQ) return step_refuse(s, "%s is no loop", name);
  if (width->kind != TERM_CONST || width->u.constant.u.i < 1 ||
      width->u.constant.u.i > MOST_COPIES)
    return step_refuse(s, "%s has no constant width from 1 to %d", name, MOST_COPIES);
  if (statement_count(axis->body) * width->u.constant.u.i > MOST_STATEMENTS)
    return step_refuse(s, "%s would be too long", name);
  const Kern *unrolled = step_replace(s, kern, name, add_all_rounds, NULL);
  Kern *out = mem_copy(unrolled, sizeof *unrolled);
  out->body = kern_assume(s->c, (KernKnown){ .of = term_as_it_is }, unrolled->body);
  return kern_name_axes(s->c, kern_narrow(s->c, out));
}
