// Fitting decision trees: one guard at a time, all others as they are, until nothing gets better.
//
// For one guard, each event that reaches it costs something behind either branch (the decisions
// below are known), so that its tree is a classifier with costs: a leaf takes the best threshold on
// Par among its events, and the best condition is found by trying every product of sizes at up to
// MOST_CUTS values.  The root is chosen with the two conditions below it in view.
#include "tuner/decision.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CUTS = 24, MOST_ROUNDS = 6 };
static const double unusable = 1e6;

typedef struct FitEvent {
  int64_t par;
  int dataset;
  double cost
      [2];  // weighted logarithms of what the branches cost, relative to the better one
} FitEvent;

typedef struct Events {
  const FitEvent *at;  // by Par, ascending
  int count;
} Events;

typedef struct Fit {
  const SolveProblem *p;
  const double *best;  // per data set: the least time that any choice gives
  const SizeTable *sizes;
  Decision *decisions;
  double penalty;  // of a comparison, in units of the objective
  unsigned product_count;
  int64_t *products;  // [data set][product]: the product of the sizes in the mask
} Fit;

typedef struct Leaf {
  double cost;
  int64_t threshold;
} Leaf;

// ---- leaves

// The threshold that costs least, where one between always and never pays the penalty; among equals
// that with the widest gap.
static Leaf best_leaf(const Fit *f, Events e) {
  double cost = 0;
  for (int i = 0; i < e.count; i++)
    cost += e.at[i].cost[0];
  Leaf best = { cost, 0 };
  double widest = 0;
  for (int i = 0; i < e.count; i++) {
    cost += e.at[i].cost[1] - e.at[i].cost[0];
    bool last = i + 1 == e.count;
    if (!last && e.at[i + 1].par == e.at[i].par) continue;
    int64_t high = last ? SOLVE_NEVER : e.at[i + 1].par;
    double gap = last ? 0 : (double)high / (double)(e.at[i].par + 1);
    double all = cost + (last ? 0 : f->penalty);
    bool tie = fabs(all - best.cost) <= 1e-12 * best.cost;
    if (tie ? gap <= widest : !(all < best.cost)) continue;
    best = (Leaf){ all, solve_middle(e.at[i].par, high) };
    widest = gap;
  }
  return best;
}

// ---- conditions

typedef struct FitSplit {
  DecisionNode condition;
  double cost;  // of both leaves
} FitSplit;

static int64_t product_of(const Fit *f, const FitEvent *e, unsigned mask) {
  return f->products[(unsigned)e->dataset * f->product_count + mask];
}

static Events events_beyond(const Fit *f, Events e, DecisionNode condition, bool beyond) {
  FitEvent *kept = mem_alloc_plain((size_t)(e.count + 1) * sizeof *kept);
  int count = 0;
  for (int i = 0; i < e.count; i++)
    if ((product_of(f, &e.at[i], condition.sizes) >= condition.value) == beyond)
      kept[count++] = e.at[i];
  return (Events){ kept, count };
}

static int compare_values(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

// Where to cut the events by a product in (from, to): between neighbours, at most MOST_CUTS of
// them.
static int event_cuts(const Fit *f, Events e, unsigned mask, int64_t from, int64_t to,
                      int64_t *cuts) {
  int64_t *values = mem_alloc_plain((size_t)(e.count + 1) * sizeof *values);
  int inside = 0, distinct = 0, count = 0;
  for (int i = 0; i < e.count; i++) {
    int64_t value = product_of(f, &e.at[i], mask);
    if (value > from && value < to) values[inside++] = value;
  }
  qsort(values, (size_t)inside, sizeof *values, compare_values);
  for (int i = 0; i < inside; i++)
    if (i == 0 || values[i] != values[i - 1]) values[distinct++] = values[i];
  int steps = distinct - 1 < MOST_CUTS ? distinct - 1 : MOST_CUTS;
  for (int k = 0; k < steps; k++) {
    int at = (int)((int64_t)k * (distinct - 1) / steps);
    cuts[count++] = solve_middle(values[at], values[at + 1]);
  }
  return count;
}

static FitSplit split_at(const Fit *f, Events e, DecisionNode condition) {
  Events low = events_beyond(f, e, condition, false),
         high = events_beyond(f, e, condition, true);
  if (low.count == 0 || high.count == 0) return (FitSplit){ condition, INFINITY };
  return (FitSplit){ condition, best_leaf(f, low).cost + best_leaf(f, high).cost };
}

static int compare_splits(const void *a, const void *b) {
  const FitSplit *x = a, *y = b;
  return (x->cost > y->cost) - (x->cost < y->cost);
}

typedef Vec(FitSplit) Splits;

// All products of a few sizes; of many sizes only single ones, pairs, and all.
static bool is_asked(const Fit *f, unsigned mask) {
  return f->sizes->count <= 3 || __builtin_popcount(mask) <= 2 ||
         mask == f->product_count - 1;
}

// All conditions, the best first.
static Splits splits_of(const Fit *f, Events e) {
  Splits found = { 0 };
  for (unsigned mask = 1; mask < f->product_count; mask++) {
    int64_t cuts[MOST_CUTS];
    int count = is_asked(f, mask) ? event_cuts(f, e, mask, -1, INT64_MAX, cuts) : 0;
    for (int k = 0; k < count; k++)
      vec_push(&found, split_at(f, e, (DecisionNode){ mask, cuts[k] }));
  }
  if (found.count) qsort(found.at, (size_t)found.count, sizeof *found.at, compare_splits);
  return found;
}

// ---- trees

typedef struct Grown {
  Decision decision;
  double cost;  // penalties included
} Grown;

static Grown grow_leaf(const Fit *f, Events e, int node, Decision d) {
  Leaf leaf = best_leaf(f, e);
  d.nodes[node] = (DecisionNode){ 0, leaf.threshold };
  return (Grown){ d, leaf.cost };
}

static Grown grow_tree(const Fit *f, Events e, int node, int conditions, Decision d);

// A condition at the node, and the best that `rest` more conditions below it can do.
static Grown grow_below(const Fit *f, Events e, int node, int rest, Decision d,
                        DecisionNode condition) {
  Events low = events_beyond(f, e, condition, false),
         high = events_beyond(f, e, condition, true);
  Grown best = { d, INFINITY };
  d.nodes[node] = condition;
  for (int left = 0; left <= rest; left++) {
    Grown a = grow_tree(f, low, 2 * node, left, d);
    Grown b = grow_tree(f, high, 2 * node + 1, rest - left, a.decision);
    double cost = a.cost + b.cost + f->penalty;
    if (cost < best.cost) best = (Grown){ b.decision, cost };
  }
  return best;
}

static bool is_leaf(const Grown *g, int node) { return !g->decision.nodes[node].sizes; }

// The first cuts are coarse: those between their neighbours are tried for the best one.
static Grown refine_fit(const Fit *f, Events e, int node, int rest, Decision d,
                        Grown best) {
  DecisionNode condition = best.decision.nodes[node];
  int64_t coarse[MOST_CUTS], fine[MOST_CUTS], from = -1, to = INT64_MAX;
  int count = event_cuts(f, e, condition.sizes, from, to, coarse);
  for (int k = 0; k < count; k++) {
    if (coarse[k] < condition.value) from = coarse[k] - 1;
    if (coarse[k] > condition.value && to == INT64_MAX) to = coarse[k];
  }
  count = event_cuts(f, e, condition.sizes, from, to, fine);
  for (int k = 0; k < count; k++) {
    Grown grown =
        grow_below(f, e, node, rest, d, (DecisionNode){ condition.sizes, fine[k] });
    if (grown.cost < best.cost) best = grown;
  }
  return best;
}

// How many conditions are looked at more closely: fewer further down.
static int width_of(int conditions) {
  return conditions >= 3 ? 12 : conditions == 2 ? 4 : 1;
}

// The best tree with at most so many conditions.
static Grown grow_tree(const Fit *f, Events e, int node, int conditions, Decision d) {
  if (conditions == 0 || 2 * node >= DECISION_NODES) return grow_leaf(f, e, node, d);
  Grown fewer = grow_tree(f, e, node, conditions - 1, d), best = fewer;
  if (fewer.cost <= f->penalty) return fewer;
  Splits splits = splits_of(f, e);
  best.cost = INFINITY;
  for (int i = 0; i < splits.count && i < width_of(conditions); i++) {
    if (isinf(splits.at[i].cost)) break;
    Grown grown = grow_below(f, e, node, conditions - 1, d, splits.at[i].condition);
    if (grown.cost < best.cost) best = grown;
  }
  if (isfinite(best.cost) && !is_leaf(&best, node))
    best = refine_fit(f, e, node, conditions - 1, d, best);
  return best.cost < fewer.cost ? best : fewer;
}

// ---- one guard

// Per group and branch, the microseconds from there on under the present decisions.
static double *values_below(const Fit *f) {
  const SolveProblem *p = f->p;
  double *behind = new_array(double, 2 * p->group_count + 2);
  for (int i = p->group_count - 1; i >= 0; i--) {
    const SolveGroup *g = &p->groups[i];
    for (int b = 0; b < 2; b++)
      behind[2 * i + b] += g->cost[b];
    int64_t t = decision_threshold(&f->decisions[g->guard],
                                   decision_sizes(f->sizes, g->dataset), f->sizes->count);
    int branch = p->tree->guards[g->guard].parent_branch;
    if (g->parent >= 0)
      behind[2 * g->parent + branch] += behind[2 * i + solve_branch(g, t)];
  }
  return behind;
}

static int compare_events(const void *a, const void *b) {
  const FitEvent *x = a, *y = b;
  if (x->par != y->par) return x->par < y->par ? -1 : 1;
  return x->dataset - y->dataset;
}

// The logarithm of how much slower `us` more microseconds make the data set, by its share of all.
// What measurements exaggerate, or what cannot be used, thereby does not outweigh all else.
static double loss_of(const Fit *f, int dataset, double us) {
  double best = f->best[dataset];
  if (!isfinite(best) || best <= 0) return 0;
  return f->p->weights[dataset] * best * log1p(fmin(us / best, unusable));
}

// The events of a guard: those that are reached, or all.
static Events events_of(const Fit *f, int guard, bool all) {
  const SolveFate *fates = decision_fates(f->p, f->sizes, f->decisions);
  const double *behind = values_below(f);
  Vec(FitEvent) events = { 0 };
  for (int i = 0; i < f->p->group_count; i++) {
    const SolveGroup *g = &f->p->groups[i];
    if (g->guard != guard || (!all && !fates[i].reached) || !g->fits) continue;
    double a = behind[2 * i], b = behind[2 * i + 1], least = fmin(a, b);
    if (isinf(least)) continue;
    FitEvent event = { .par = g->par, .dataset = g->dataset };
    event.cost[0] = loss_of(f, g->dataset, a - least);
    event.cost[1] = loss_of(f, g->dataset, b - least);
    vec_push(&events, event);
  }
  if (events.count)
    qsort(events.at, (size_t)events.count, sizeof *events.at, compare_events);
  return (Events){ events.at, events.count };
}

static double objective(const Fit *f) {
  const double *times = decision_times(f->p, f->sizes, f->decisions);
  double sum = 0;
  for (int d = 0; d < f->p->dataset_count; d++)
    sum += loss_of(f, d, fmax(0, times[d] - f->best[d]));
  for (int g = 0; g < f->p->tree->guard_count; g++)
    sum += f->penalty * decision_comparisons(&f->decisions[g]);
  return sum;
}

// Keeps the new tree of a guard if that lowers the objective.
static bool refit(Fit *f, int guard, bool all) {
  Events events = events_of(f, guard, all);
  if (events.count == 0) return false;
  double before = objective(f);
  Decision old = f->decisions[guard];
  f->decisions[guard] =
      grow_tree(f, events, 1, DECISION_MOST_CONDITIONS, (Decision){ { { 0 } } }).decision;
  if (all || objective(f) < before - 1e-9 * before) return true;
  f->decisions[guard] = old;
  return false;
}

static void descend(Fit *f) {
  for (int round = 0; round < MOST_ROUNDS; round++) {
    bool changed = false;
    for (int g = f->p->tree->guard_count - 1; g >= 0; g--)
      changed |= refit(f, g, false);
    if (!changed) return;
  }
}

// ---- the whole

static void find_products(Fit *f) {
  const SizeTable *s = f->sizes;
  f->product_count = 1u << s->count;
  f->products = new_array(int64_t, (unsigned)f->p->dataset_count * f->product_count + 1);
  for (int d = 0; d < f->p->dataset_count; d++)
    for (unsigned mask = 0; mask < f->product_count; mask++)
      f->products[(unsigned)d * f->product_count + mask] =
          decision_product(mask, decision_sizes(s, d), s->count);
}

// From the thresholds; or from trees that see all events, inner guards first.
static Decision *fit_from(Fit f, const int64_t *thresholds, bool all, double *cost) {
  int guards = f.p->tree->guard_count;
  f.decisions = new_array(Decision, guards + 1);
  for (int g = 0; g < guards; g++)
    f.decisions[g] = decision_plain(thresholds[g]);
  for (int g = guards - 1; g >= 0 && all; g--)
    refit(&f, g, true);
  descend(&f);
  *cost = objective(&f);
  return f.decisions;
}

const Decision *decision_fit(const SolveProblem *p, const double *best,
                             const SizeTable *sizes, const int64_t *thresholds,
                             double least_gain) {
  Fit f = { .p = p, .best = best, .sizes = sizes };
  find_products(&f);
  for (int d = 0; d < p->dataset_count; d++)
    if (isfinite(best[d])) f.penalty += least_gain * p->weights[d] * best[d];
  double first = 0, second = 0;
  const Decision *a = fit_from(f, thresholds, false, &first);
  const Decision *b = fit_from(f, thresholds, true, &second);
  return second < first ? b : a;
}
