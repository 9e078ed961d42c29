// F(guard, E) = min over t of own costs + F(then, E with Par >= t) + F(else, E with Par < t);
// F(seq) = sum; F(loop T) = F(T).
//
// F yields the plans that no other plan beats in all data sets (for the objective `sum` a single
// number and so a single plan).  Memoised on the set of events.  For a single number the cuts are
// tried in the order of a lower bound (every event at its best version) until no other can win.
#include "tuner/solve.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A decision for one guard and those within its branches; or two lists of decisions (guard -1).
typedef struct SolveChoice SolveChoice;
struct SolveChoice {
  int guard;
  int64_t low, high;
  const SolveChoice *first, *second;
};

typedef struct Plan {
  double *cost;  // per dimension
  const SolveChoice *choice;
} Plan;

typedef Vec(Plan) Front;

// Groups, in the order of their numbers.
typedef struct Set {
  const int *at;
  int count;
} Set;

typedef struct Memo Memo;
struct Memo {
  const Tree *node;
  Set set;
  Front front;
  Memo *next;
};

enum {
  FEW_SLOTS = 1 << 6,
  MANY_SLOTS = 1 << 14,
  MOST_STEPS = 200000,
  BEAM = 6,
  MOST_PLANS = 400
};

typedef struct Solver {
  const SolveProblem *p;
  int dims;
  const double *scale;  // per data set: its factor where there is one dimension
  double *bound;        // per group: the least cost of it and all below, scaled
  Vec(int) * children;  // per group and, last, for the root: groups directly below
  Memo **memo;
  unsigned slots;
  int steps;
  bool exact;
} Solver;

static double scaled(const Solver *s, const SolveGroup *g, int branch) {
  return s->scale[g->dataset] * g->cost[branch];
}

// ---- sets

static unsigned set_hash(const Solver *s, const Tree *node, Set set) {
  uint64_t h = (uint64_t)(uintptr_t)node;
  for (int i = 0; i < set.count; i++)
    h = (h ^ (uint64_t)set.at[i]) * 0x9E3779B97F4A7C15u + (h >> 29);
  return (unsigned)((h ^ (h >> 32)) % s->slots);
}

static Memo *memo_slot(Solver *s, const Tree *node, Set set) {
  Memo **slot = &s->memo[set_hash(s, node, set)];
  for (Memo *m = *slot; m; m = m->next)
    if (m->node == node && m->set.count == set.count &&
        memcmp(m->set.at, set.at, (size_t)set.count * sizeof(int)) == 0)
      return m;
  *slot = new_node(Memo, .node = node, .set = set, .next = *slot);
  (*slot)->front.capacity = -1;  // not computed
  return *slot;
}

static int compare_ints(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

// The groups of the guard directly below those of the set.
static Set below(const Solver *s, int guard, Set set) {
  Vec(int) found = { 0 };
  for (int i = 0; i < set.count; i++)
    vec_each (int *, g, &s->children[set.at[i]])
      if (s->p->groups[*g].guard == guard) vec_push(&found, *g);
  if (found.count) qsort(found.at, (size_t)found.count, sizeof *found.at, compare_ints);
  return (Set){ found.at, found.count };
}

// ---- plans

static Plan plan_zero(const Solver *s) {
  return (Plan){ mem_alloc_plain((size_t)s->dims * sizeof(double)), NULL };
}

static Plan plan_join(const Solver *s, Plan a, Plan b) {
  Plan sum = plan_zero(s);
  for (int d = 0; d < s->dims; d++)
    sum.cost[d] = a.cost[d] + b.cost[d];
  sum.choice = !a.choice   ? b.choice
               : !b.choice ? a.choice
                           : new_node(SolveChoice, .guard = -1, .first = a.choice,
                                      .second = b.choice);
  return sum;
}

static bool beats(const Solver *s, const Plan *a, const Plan *b) {
  for (int d = 0; d < s->dims; d++)
    if (a->cost[d] > b->cost[d]) return false;
  return true;
}

// Adds the plan unless another is as good everywhere; drops those that it beats.
static void front_add(Solver *s, Front *front, Plan plan) {
  vec_each (Plan *, other, front)
    if (beats(s, other, &plan)) return;
  int kept = 0;
  for (int i = 0; i < front->count; i++)
    if (!beats(s, &plan, &front->at[i])) front->at[kept++] = front->at[i];
  front->count = kept;
  if (front->count == MOST_PLANS) {
    s->exact = false;
    return;
  }
  vec_push(front, plan);
}

static Front front_sum(Solver *s, const Front *a, const Front *b) {
  Front sum = { 0 };
  vec_each (Plan *, x, a)
    vec_each (Plan *, y, b)
      front_add(s, &sum, plan_join(s, *x, *y));
  return sum;
}

// ---- guards

// The events of a guard, by Par, and what each cut costs.  Events from `fitting` on do not fit
// and always take the second branch; cut c sends events[c..fitting) into the first.
typedef struct Cuts {
  const Tree *node;
  int *events;
  int count, fitting;
  int *
      starts;  // candidates: events[starts[k]..] have equal or larger Par; the last is `fitting`
  int start_count;
} Cuts;

typedef struct Order {
  int64_t par;
  int group;
} Order;

static int compare_orders(const void *a, const void *b) {
  const Order *x = a, *y = b;
  if (x->par != y->par) return x->par < y->par ? -1 : 1;
  return (x->group > y->group) - (x->group < y->group);
}

static Cuts cuts_of(const Solver *s, const Tree *node, Set set) {
  Cuts cuts = { .node = node, .count = set.count };
  Order *order = new_array(Order, set.count + 1);
  for (int i = 0; i < set.count; i++)
    if (s->p->groups[set.at[i]].fits)
      order[cuts.fitting++] = (Order){ s->p->groups[set.at[i]].par, set.at[i] };
  qsort(order, (size_t)cuts.fitting, sizeof *order, compare_orders);
  cuts.events = new_array(int, set.count + 1);
  cuts.starts = new_array(int, cuts.fitting + 1);
  for (int i = 0; i < cuts.fitting; i++) {
    cuts.events[i] = order[i].group;
    if (i == 0 || order[i].par != order[i - 1].par) cuts.starts[cuts.start_count++] = i;
  }
  cuts.starts[cuts.start_count++] = cuts.fitting;
  int at = cuts.fitting;
  for (int i = 0; i < set.count; i++)
    if (!s->p->groups[set.at[i]].fits) cuts.events[at++] = set.at[i];
  return cuts;
}

// The events that take the branch at the cut.
static Set cut_set(const Cuts *cuts, int start, int branch) {
  int *at = mem_alloc_plain((size_t)(cuts->count + 1) * sizeof *at);
  int count = 0;
  for (int i = 0; i < cuts->count; i++)
    if ((i >= start && i < cuts->fitting) == (branch == 0)) at[count++] = cuts->events[i];
  qsort(at, (size_t)count, sizeof *at, compare_ints);
  return (Set){ at, count };
}

static int64_t par_at(const Solver *s, const Cuts *cuts, int event) {
  return s->p->groups[cuts->events[event]].par;
}

static const SolveChoice *cut_choice(const Solver *s, const Cuts *cuts, int start,
                                     const SolveChoice *inner) {
  SolveChoice *choice = new_node(SolveChoice, .guard = cuts->node->guard, .first = inner);
  choice->low = start == 0 ? -1 : par_at(s, cuts, start - 1);
  choice->high = start == cuts->fitting ? SOLVE_NEVER : par_at(s, cuts, start);
  return choice;
}

static Front best_plans(Solver *s, const Tree *node, Set set);

static void add_costs(const Solver *s, Plan *plan, Set set, int branch) {
  for (int i = 0; i < set.count; i++) {
    const SolveGroup *g = &s->p->groups[set.at[i]];
    plan->cost[s->dims == 1 ? 0 : g->dataset] += scaled(s, g, branch);
  }
}

static Front plans_at_cut(Solver *s, const Cuts *cuts, int start) {
  Set taken = cut_set(cuts, start, 0), other = cut_set(cuts, start, 1);
  Front first = best_plans(s, cuts->node->children[0], taken);
  Front second = best_plans(s, cuts->node->children[1], other);
  Plan own = plan_zero(s);
  add_costs(s, &own, taken, 0);
  add_costs(s, &own, other, 1);
  Front inner = front_sum(s, &first, &second), all = { 0 };
  vec_each (Plan *, plan, &inner) {
    Plan whole = plan_join(s, own, *plan);
    whole.choice = cut_choice(s, cuts, start, plan->choice);
    front_add(s, &all, whole);
  }
  return all;
}

// The least that the groups below this one can cost behind the branch.
static double bound_below(const Solver *s, int group, int branch) {
  double sum = 0;
  vec_each (int *, g, &s->children[group]) {
    int guard = s->p->groups[*g].guard;
    if (s->p->tree->guards[guard].parent_branch == branch) sum += s->bound[*g];
  }
  return sum;
}

static double bound_branch(const Solver *s, int group, int branch) {
  return scaled(s, &s->p->groups[group], branch) + bound_below(s, group, branch);
}

typedef struct Bounded {
  double bound;
  int start;
} Bounded;

static int compare_bounds(const void *a, const void *b) {
  const Bounded *x = a, *y = b;
  if (x->bound != y->bound) return x->bound < y->bound ? -1 : 1;
  return x->start - y->start;
}

// The cuts by what they cost at least.
static Bounded *bounded_cuts(const Solver *s, const Cuts *cuts) {
  Bounded *order = new_array(Bounded, cuts->start_count);
  for (int k = 0; k < cuts->start_count; k++) {
    order[k].start = cuts->starts[k];
    for (int i = 0; i < cuts->count; i++)
      order[k].bound += bound_branch(s, cuts->events[i],
                                     i >= cuts->starts[k] && i < cuts->fitting ? 0 : 1);
  }
  qsort(order, (size_t)cuts->start_count, sizeof *order, compare_bounds);
  return order;
}

// Between plans of equal cost the one with the widest gap tolerates most on unseen sizes.
static bool wider(const SolveChoice *a, const SolveChoice *b) {
  return ((double)a->high + 1) / ((double)a->low + 2) >
         ((double)b->high + 1) / ((double)b->low + 2);
}

static bool improves(const Front *best, const Plan *plan) {
  if (best->count == 0) return true;
  double old = best->at[0].cost[0], now = plan->cost[0];
  if (now < old) return true;
  return now == old && wider(plan->choice, best->at[0].choice);
}

static Front guard_scalar(Solver *s, const Cuts *cuts) {
  Bounded *order = bounded_cuts(s, cuts);
  Front best = { 0 };
  for (int k = 0; k < cuts->start_count; k++) {
    if (best.count && order[k].bound > best.at[0].cost[0] * (1 + 1e-12)) break;
    if (s->steps > MOST_STEPS && k >= BEAM) {
      s->exact = false;
      break;
    }
    Front here = plans_at_cut(s, cuts, order[k].start);
    if (!improves(&best, &here.at[0])) continue;
    best.count = 0;
    vec_push(&best, here.at[0]);
  }
  return best;
}

static Front guard_vectors(Solver *s, const Cuts *cuts) {
  Front all = { 0 };
  for (int k = 0; k < cuts->start_count; k++) {
    Front here = plans_at_cut(s, cuts, cuts->starts[k]);
    vec_each (Plan *, plan, &here)
      front_add(s, &all, *plan);
  }
  return all;
}

// `set` holds the groups of the guard around `node` that come here.
static Front compute(Solver *s, const Tree *node, Set set) {
  Front front = { 0 };
  if (node->kind == TREE_GUARD) {
    Set events = below(s, node->guard, set);
    if (events.count) {
      s->steps++;
      Cuts cuts = cuts_of(s, node, events);
      return s->dims == 1 ? guard_scalar(s, &cuts) : guard_vectors(s, &cuts);
    }
  }
  vec_push(&front, plan_zero(s));
  if (node->kind == TREE_GUARD) return front;
  for (int i = 0; i < node->child_count; i++) {
    Front child = best_plans(s, node->children[i], set);
    front = front_sum(s, &front, &child);
  }
  return front;
}

static Front best_plans(Solver *s, const Tree *node, Set set) {
  Memo *memo = memo_slot(s, node, set);
  if (memo->front.capacity >= 0) return memo->front;
  Front front = compute(s, node, set);
  memo->front = front;
  return front;
}

// ---- the whole

static Solver solver_new(const SolveProblem *p, const double *scale, int dims) {
  Solver s = { .p = p, .dims = dims, .scale = scale, .exact = true };
  s.slots = p->group_count > 30 ? MANY_SLOTS : FEW_SLOTS;
  s.memo = new_array(Memo *, s.slots);
  s.bound = new_array(double, p->group_count + 1);
  s.children = mem_alloc_array((size_t)p->group_count + 1, sizeof *s.children);
  for (int g = 0; g < p->group_count; g++) {
    int parent = p->groups[g].parent;
    vec_push(&s.children[parent < 0 ? p->group_count : parent], g);
  }
  for (int g = p->group_count - 1; g >= 0; g--) {
    double first = p->groups[g].fits ? bound_branch(&s, g, 0) : INFINITY;
    s.bound[g] = fmin(first, bound_branch(&s, g, 1));
  }
  return s;
}

static Front solver_run(Solver *s) {
  int *root = mem_alloc_plain(sizeof *root);
  *root = s->p->group_count;
  return best_plans(s, s->p->tree->root, (Set){ root, 1 });
}

int64_t solve_middle(int64_t low, int64_t high) {
  if (high == SOLVE_NEVER) return SOLVE_NEVER;
  double from = low < 1 ? 1 : (double)low;
  double at = ceil(sqrt(from * (double)high));
  if (at <= (double)low) return high;
  return at >= (double)high ? high : (int64_t)at;
}

static void collect(const SolveChoice *choice, SolveCut *cuts, bool reached) {
  if (!choice) return;
  collect(choice->first, cuts, reached);
  collect(choice->second, cuts, reached);
  if (choice->guard < 0) return;
  cuts[choice->guard] = (SolveCut){ reached, true, choice->low, choice->high,
                                    solve_middle(choice->low, choice->high) };
}

// Guards that the chosen versions do not reach decide for all events that could come to them.
static void fill_unreached(Solver *s, SolveCut *cuts) {
  const TunerTree *tree = s->p->tree;
  for (int guard = 0; guard < tree->guard_count; guard++) {
    if (cuts[guard].seen) continue;
    cuts[guard].threshold = SOLVE_NEVER;
    int *at = new_array(int, s->p->group_count + 1), count = 0;
    for (int g = 0; g < s->p->group_count; g++)
      if (s->p->groups[g].guard == tree->guards[guard].parent) at[count++] = g;
    if (tree->guards[guard].parent < 0) at[count++] = s->p->group_count;
    Front front = best_plans(s, tree->guards[guard].node, (Set){ at, count });
    collect(front.at[0].choice, cuts, false);
  }
}

// The times of a plan of several dimensions, base included.
static double *plan_times(const SolveProblem *p, const Plan *plan) {
  double *times = new_array(double, p->dataset_count + 1);
  for (int d = 0; d < p->dataset_count; d++)
    times[d] = p->base[d] + plan->cost[d];
  return times;
}

static const Plan *pick(const SolveProblem *p, const Front *front, const double *best) {
  const Plan *chosen = front->at;
  double least = INFINITY;
  vec_each (const Plan *, plan, front) {
    double value = solve_objective(p, plan_times(p, plan), best);
    if (!(value < least)) continue;
    least = value;
    chosen = plan;
  }
  return chosen;
}

static double *best_alone(const SolveProblem *p) {
  double *best = new_array(double, p->dataset_count + 1);
  for (int d = 0; d < p->dataset_count; d++)
    best[d] = solve_alone(p, d).times[d];
  return best;
}

static SolveResult result_of(Solver *s, const SolveChoice *choice, const double *best) {
  const SolveProblem *p = s->p;
  SolveResult r = { .cuts = new_array(SolveCut, p->tree->guard_count + 1) };
  collect(choice, r.cuts, true);
  fill_unreached(s, r.cuts);
  r.times = solve_times(p, solve_thresholds(p, &r));
  r.objective = solve_objective(p, r.times, best);
  r.exact = s->exact;
  return r;
}

SolveResult solve(const SolveProblem *p) {
  bool sum = p->objective == SOLVE_SUM || p->dataset_count == 1;
  double *ones = new_array(double, p->dataset_count + 1);
  for (int d = 0; d < p->dataset_count; d++)
    ones[d] = 1;
  Solver s = solver_new(p, sum ? p->weights : ones, sum ? 1 : p->dataset_count);
  const double *best = p->objective == SOLVE_MAX_REGRET && !sum ? best_alone(p) : NULL;
  Front front = solver_run(&s);
  return result_of(&s, sum ? front.at[0].choice : pick(p, &front, best)->choice, best);
}

// Events of other data sets cost nothing here, so they are left out.
SolveResult solve_alone(const SolveProblem *p, int dataset) {
  SolveProblem alone = *p;
  SolveGroup *groups = new_array(SolveGroup, p->group_count + 1);
  int *renumbered = new_array(int, p->group_count + 1);
  alone.group_count = 0;
  for (int g = 0; g < p->group_count; g++) {
    if (p->groups[g].dataset != dataset) continue;
    renumbered[g] = alone.group_count;
    groups[alone.group_count] = p->groups[g];
    if (p->groups[g].parent >= 0)
      groups[alone.group_count].parent = renumbered[p->groups[g].parent];
    alone.group_count++;
  }
  alone.groups = groups;
  alone.objective = SOLVE_SUM;
  return solve(&alone);
}

int solve_branch(const SolveGroup *g, int64_t threshold) {
  return g->fits && threshold != SOLVE_NEVER && g->par >= threshold ? 0 : 1;
}

SolveFate *solve_fates(const SolveProblem *p, const int64_t *thresholds) {
  SolveFate *fates = new_array(SolveFate, p->group_count + 1);
  for (int i = 0; i < p->group_count; i++) {
    const SolveGroup *g = &p->groups[i];
    int branch = p->tree->guards[g->guard].parent_branch;
    fates[i].reached =
        g->parent < 0 || (fates[g->parent].reached && fates[g->parent].branch == branch);
    fates[i].branch = solve_branch(g, thresholds[g->guard]);
  }
  return fates;
}

double *solve_times(const SolveProblem *p, const int64_t *thresholds) {
  return solve_fated_times(p, solve_fates(p, thresholds));
}

double *solve_fated_times(const SolveProblem *p, const SolveFate *fates) {
  double *times = new_array(double, p->dataset_count + 1);
  memcpy(times, p->base, (size_t)p->dataset_count * sizeof *times);
  for (int i = 0; i < p->group_count; i++)
    if (fates[i].reached)
      times[p->groups[i].dataset] += p->groups[i].cost[fates[i].branch];
  return times;
}

double solve_objective(const SolveProblem *p, const double *times, const double *best) {
  double sum = 0, weights = 0, worst = 0;
  for (int d = 0; d < p->dataset_count; d++) {
    weights += p->weights[d];
    sum += p->weights[d] *
           (p->objective == SOLVE_GEOMEAN ? log(fmax(times[d], 1e-9)) : times[d]);
    if (best) worst = fmax(worst, times[d] / fmax(best[d], 1e-9));
  }
  switch (p->objective) {
  case SOLVE_SUM: return sum;
  case SOLVE_GEOMEAN: return exp(sum / fmax(weights, 1e-9));
  case SOLVE_MAX_REGRET: return best ? worst : sum;
  }
  return sum;
}

const int64_t *solve_thresholds(const SolveProblem *p, const SolveResult *result) {
  int64_t *thresholds = new_array(int64_t, p->tree->guard_count + 1);
  for (int g = 0; g < p->tree->guard_count; g++)
    thresholds[g] = result->cuts[g].threshold;
  return thresholds;
}
