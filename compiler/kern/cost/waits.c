// What rounds of loops wait for: choices by what was read just before, and the round before.
#include "kern/cost/kern_cost.h"
#include "kern/kern_ask.h"
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

static void set_source(Map *sources, const Var *const *vars, int count, Source source) {
  static const Source each[] = { FROM_OUTSIDE, CARRIED, READ_THERE, CHOSEN_BY_THAT };
  for (int i = 0; i < count && source != FROM_OUTSIDE; i++)
    map_put(sources, vars[i], &each[source]);
}

static Source source_of_load(const Map *sources, const Access *load) {
  for (int i = 0; i < load->tensor->rank; i++)
    if (source_of(sources, load->index[i]) >= CARRIED) return READ_THERE;
  return FROM_OUTSIDE;
}

static void see_source(KernVisitor *v, const KernStm *stm) {
  Map *sources = v->state;
  Source source = FROM_OUTSIDE;
  if (stm->kind == KERN_LET) source = source_of(sources, stm->u.term);
  if (stm->kind == KERN_LOAD) source = source_of_load(sources, &stm->u.load);
  if (stm->kind == KERN_IF && source_of(sources, stm->u.cond.condition) >= READ_THERE)
    source = CHOSEN_BY_THAT;
  set_source(sources, stm->binders, stm->binder_count, source);
}

// The latest source of what a round hands to the next one.
static Source source_of_round(const Var *const *params, int count,
                              const KernBlock *body) {
  Map *sources = map_new(NULL);
  Source latest = FROM_OUTSIDE;
  set_source(sources, params, count, CARRIED);
  KernVisitor v = { .stm = see_source, .state = sources };
  kern_visit_block(&v, body);
  for (int i = 0; i < body->result_count; i++) {
    Source source = source_of(sources, body->results[i]);
    latest = source > latest ? source : latest;
  }
  return latest;
}

bool kern_searches(const Var *const *params, int count, const KernBlock *body) {
  return source_of_round(params, count, body) == CHOSEN_BY_THAT;
}

bool kern_follows_reads(const Var *const *params, int count, const KernBlock *body) {
  return source_of_round(params, count, body) == READ_THERE;
}

// ---- loops in which each point tries the same candidates until one fits: divisors, keys

typedef struct Trying {
  const Vary *vary;
  Map *same;          // Var -> itself: the same at all points that are in the same round
  const Map *failed;  // conditions that do not hold where the loop goes on
  bool asks;          // whether a point's own number equals another one
} Trying;

static bool has_failed(const Trying *t, const Term *condition) {
  return condition->kind == TERM_VAR && map_has(t->failed, condition->u.var);
}

static bool is_same_at_points(const Trying *t, const Term *term) {
  if (term->kind == TERM_VAR)
    return map_has(t->same, term->u.var) ||
           !(vary_var(t->vary, term->u.var) & vary_lanes(t->vary));
  if (term->kind == TERM_SELECT && has_failed(t, term->u.select.condition))
    return is_same_at_points(t, term->u.select.b);
  const Term *operands[3];
  int count = term_operands(term, operands);
  for (int i = 0; i < count; i++)
    if (!is_same_at_points(t, operands[i])) return false;
  return true;
}

static bool asks_for_equality(const Term *t) {
  return t->kind == TERM_OP && (t->u.op.op == OP_EQ || t->u.op.op == OP_NE) &&
         prim_is_int(t->u.op.operands);
}

static void see_trial(KernVisitor *v, const KernStm *stm) {
  Trying *t = v->state;
  if (stm->kind != KERN_LET) return;
  if (is_same_at_points(t, stm->u.term))
    map_put(t->same, stm->binders[0], stm->binders[0]);
  else if (asks_for_equality(stm->u.term))
    t->asks = true;
}

// Does it say whether the loop goes on, or what was found?
static bool is_outcome(const KernStm *loop, int param) {
  return loop->u.loop.params[param]->type.elem == PRIM_BOOL;
}

bool kern_tries(const Vary *vary, const KernStm *stm) {
  const KernBlock *body = stm->u.loop.body;
  Trying t = { .vary = vary, .same = map_new(NULL), .failed = kern_failed(stm) };
  int count = stm->u.loop.param_count;
  for (int i = 0; i < count; i++) {
    if (is_outcome(stm, i)) continue;
    if (!is_same_at_points(&t, stm->u.loop.inits[i])) return false;
    map_put(t.same, stm->u.loop.params[i], stm->u.loop.params[i]);
  }
  KernVisitor v = { .stm = see_trial, .state = &t };
  kern_visit_block(&v, body);
  for (int i = 0; i < count; i++)
    if (!is_outcome(stm, i) && !is_same_at_points(&t, body->results[i])) return false;
  return t.asks;
}

// ---- how long a value takes from round to round

typedef struct Timing {
  Map *
      times;  // Var -> const double *: when it is there, if it depends on the round before
  bool lanes;
} Timing;

// Cycles until what an operation makes can be used.
static double latency_of_op(const Timing *t, const Term *term) {
  if (term->kind != TERM_OP) return 1;
  OpCost cost = op_cost(term->u.op.op, term->u.op.operands);
  if (cost == COST_LIBRARY) return 60;
  if (cost == COST_DIVISION) return prim_size_bytes(term->u.op.operands) == 8 ? 20 : 12;
  if (prim_is_float(term->u.op.operands)) return 4;
  return term->u.op.op == OP_MUL ? t->lanes ? 10 : 3 : 1;
}

// When the value is there; -1: it does not depend on the round before.
static double time_of(const Timing *t, const Term *term) {
  const double *known = term->kind == TERM_VAR ? map_get(t->times, term->u.var) : NULL;
  if (known) return *known;
  const Term *operands[3];
  int count = term_operands(term, operands);
  double latest = -1;
  for (int i = 0; i < count; i++)
    latest = fmax(latest, time_of(t, operands[i]));
  return latest < 0 ? latest : latest + latency_of_op(t, term);
}

static void set_time(const Timing *t, const Var *var, double time) {
  if (time >= 0) map_put(t->times, var, mem_copy(&time, sizeof time));
}

static void set_times(const Timing *t, const KernStm *stm, double time) {
  for (int i = 0; i < stm->binder_count; i++)
    set_time(t, stm->binders[i], time);
}

static double time_of_load(const Timing *t, const Access *load) {
  double latest = -1;
  for (int i = 0; i < load->tensor->rank; i++)
    latest = fmax(latest, time_of(t, load->index[i]));
  return latest < 0 ? latest : latest + 5;
}

static double time_of_results(const Timing *t, const KernBlock *block) {
  double latest = -1;
  for (int i = 0; i < block->result_count; i++)
    latest = fmax(latest, time_of(t, block->results[i]));
  return latest;
}

static void time_block(const Timing *t, const KernBlock *block);

// Of a point alone a branch is foreseen: what it gives does not wait for its condition.
static double time_of_branches(const Timing *t, const KernStm *stm) {
  time_block(t, stm->u.cond.then_block);
  time_block(t, stm->u.cond.else_block);
  double latest = fmax(time_of_results(t, stm->u.cond.then_block),
                       time_of_results(t, stm->u.cond.else_block));
  if (!t->lanes) return latest;
  latest = fmax(latest, time_of(t, stm->u.cond.condition));
  return latest < 0 ? latest : latest + 1;
}

// Of loops within, whose own rounds count elsewhere, what goes in comes out.
static double time_of_axis(const Timing *t, const Axis *axis) {
  double latest = -1;
  for (int i = 0; i < axis->param_count && axis->inits; i++)
    latest = fmax(latest, time_of(t, axis->inits[i]));
  return latest;
}

static void time_block(const Timing *t, const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_LET) set_times(t, stm, time_of(t, stm->u.term));
    if (stm->kind == KERN_LOAD) set_times(t, stm, time_of_load(t, &stm->u.load));
    if (stm->kind == KERN_IF) set_times(t, stm, time_of_branches(t, stm));
    if (stm->kind == KERN_AXIS) set_times(t, stm, time_of_axis(t, stm->u.axis));
  }
}

// A round that begins when the values that it takes over are there, which become those that it
// hands on; gives the time of the last one.
static double time_round(const Timing *t, const Var *const *params, int count,
                         const KernBlock *body) {
  double *next = new_array(double, count + 1), last = 0;
  time_block(t, body);
  for (int i = 0; i < count; i++) {
    next[i] = fmax(time_of(t, body->results[i]), 0);
    last = fmax(last, next[i]);
  }
  for (int i = 0; i < count; i++)
    set_time(t, params[i], next[i]);
  return last;
}

// Of a point alone, what is only made of a value that goes from round to round (sums of what a
// generator gives) does not count: after a few rounds it does not matter how late it is.  Vectors
// count it, as those that wait less than they seem to are as quick with others beside them.
double kern_round_latency(const Var *const *params, int count, const KernBlock *body,
                          bool lanes, double enough) {
  enum { MOST_ROUNDS = 4 };
  Timing t = { .times = map_new(NULL), .lanes = lanes };
  double start = 0, before = 0, last = 0;
  for (int i = 0; i < count; i++)
    set_time(&t, params[i], start);
  double first = time_round(&t, params, count, body);
  if (lanes || first <= enough || count == 1) return first;
  int rounds = count < MOST_ROUNDS ? count : MOST_ROUNDS;
  for (int i = 1; i < rounds; i++)
    before = time_round(&t, params, count, body);
  for (int i = 0; i < rounds; i++)
    last = time_round(&t, params, count, body);
  return (last - before) / rounds;
}
