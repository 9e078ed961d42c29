// What rounds of loops wait for: choices by what was read just before, and the round before.
#include "kern/kern_cost.h"
#include <math.h>

// ---- loops in which what a round reads decides where the next one reads: searches in sorted
// arrays, descents in trees

// What a value comes from, the later one if several.
typedef enum Source { FROM_OUTSIDE, CARRIED, READ_THERE, CHOSEN_BY_THAT } Source;

static Source source_of_var(const Map *sources, const Var *var) {
  const Source *known = map_get(sources, var);
  return known ? *known : FROM_OUTSIDE;
}

static Source source_of(const Map *sources, const Term *t) {
  if (t->kind == TERM_VAR) return source_of_var(sources, t->u.var);
  const Term *operands[3];
  int count = term_operands(t, operands);
  Source latest = FROM_OUTSIDE;
  for (int i = 0; i < count; i++) {
    Source source = source_of(sources, operands[i]);
    latest = source > latest ? source : latest;
  }
  if (t->kind == TERM_SELECT && source_of(sources, t->u.select.condition) >= READ_THERE)
    return CHOSEN_BY_THAT;
  return latest;
}

static void set_source(Map *sources, const KernStm *stm, Source source) {
  for (int i = 0; i < stm->binder_count; i++)
    map_put(sources, stm->binders[i], mem_copy(&source, sizeof source));
}

static Source source_of_load(const Map *sources, const Access *load) {
  for (int i = 0; i < load->tensor->rank; i++)
    if (source_of(sources, load->index[i]) >= CARRIED) return READ_THERE;
  return FROM_OUTSIDE;
}

static void see_source(KernVisitor *v, const KernStm *stm) {
  Map *sources = v->state;
  if (stm->kind == KERN_LET) set_source(sources, stm, source_of(sources, stm->u.term));
  if (stm->kind == KERN_LOAD)
    set_source(sources, stm, source_of_load(sources, &stm->u.load));
  if (stm->kind == KERN_IF && source_of(sources, stm->u.cond.condition) >= READ_THERE)
    set_source(sources, stm, CHOSEN_BY_THAT);
}

bool kern_searches(const Var *const *params, int count, const KernBlock *body) {
  Map *sources = map_new(NULL);
  Source carried = CARRIED;
  for (int i = 0; i < count; i++)
    map_put(sources, params[i], mem_copy(&carried, sizeof carried));
  KernVisitor v = { .stm = see_source, .state = sources };
  kern_visit_block(&v, body);
  for (int i = 0; i < body->result_count; i++)
    if (source_of(sources, body->results[i]) == CHOSEN_BY_THAT) return true;
  return false;
}

// ---- how long a value takes from round to round

// Cycles until the vector that an operation makes can be used.
static double latency_of_op(const Term *t) {
  if (t->kind != TERM_OP) return 1;
  OpCost cost = op_cost(t->u.op.op, t->u.op.operands);
  if (cost == COST_LIBRARY) return 60;
  if (cost == COST_DIVISION) return prim_size_bytes(t->u.op.operands) == 8 ? 20 : 12;
  if (prim_is_float(t->u.op.operands)) return 4;
  return t->u.op.op == OP_MUL ? 10 : 1;
}

// When the value is there if the round begins at 0; -1: it does not depend on the round before.
static double time_of(const Map *times, const Term *t) {
  const double *known = t->kind == TERM_VAR ? map_get(times, t->u.var) : NULL;
  if (known) return *known;
  const Term *operands[3];
  int count = term_operands(t, operands);
  double latest = -1;
  for (int i = 0; i < count; i++)
    latest = fmax(latest, time_of(times, operands[i]));
  return latest < 0 ? latest : latest + latency_of_op(t);
}

static void set_time(Map *times, const KernStm *stm, double time) {
  for (int i = 0; i < stm->binder_count && time >= 0; i++)
    map_put(times, stm->binders[i], mem_copy(&time, sizeof time));
}

static double time_of_load(const Map *times, const Access *load) {
  double latest = -1;
  for (int i = 0; i < load->tensor->rank; i++)
    latest = fmax(latest, time_of(times, load->index[i]));
  return latest < 0 ? latest : latest + 5;
}

static double time_of_results(const Map *times, const KernBlock *block) {
  double latest = -1;
  for (int i = 0; i < block->result_count; i++)
    latest = fmax(latest, time_of(times, block->results[i]));
  return latest;
}

static void time_block(Map *times, const KernBlock *block);

static double time_of_branches(Map *times, const KernStm *stm) {
  time_block(times, stm->u.cond.then_block);
  time_block(times, stm->u.cond.else_block);
  double latest = fmax(time_of(times, stm->u.cond.condition),
                       time_of_results(times, stm->u.cond.then_block));
  latest = fmax(latest, time_of_results(times, stm->u.cond.else_block));
  return latest < 0 ? latest : latest + 1;
}

// Of loops within, whose own rounds count elsewhere, what goes in comes out.
static double time_of_axis(const Map *times, const Axis *axis) {
  double latest = -1;
  for (int i = 0; i < axis->param_count && axis->inits; i++)
    latest = fmax(latest, time_of(times, axis->inits[i]));
  return latest;
}

static void time_block(Map *times, const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_LET) set_time(times, stm, time_of(times, stm->u.term));
    if (stm->kind == KERN_LOAD) set_time(times, stm, time_of_load(times, &stm->u.load));
    if (stm->kind == KERN_IF) set_time(times, stm, time_of_branches(times, stm));
    if (stm->kind == KERN_AXIS) set_time(times, stm, time_of_axis(times, stm->u.axis));
  }
}

double kern_round_latency(const Var *const *params, int count, const KernBlock *body) {
  Map *times = map_new(NULL);
  double start = 0;
  for (int i = 0; i < count; i++)
    map_put(times, params[i], mem_copy(&start, sizeof start));
  time_block(times, body);
  return fmax(time_of_results(times, body), 0);
}
