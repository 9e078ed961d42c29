// The solver finds what trying every vector of thresholds finds, on random forests with loops,
// ties, Par 0, versions that do not fit or failed, and data sets in conflict.
#include "tuner/solve.h"
#include "unit.h"
#include <math.h>

enum { FORESTS = 10000, MOST_GUARDS = 4, MOST_GROUPS = 64 };

typedef struct Random {
  uint64_t state;
} Random;

static int below(Random *r, int n) {
  r->state = r->state * 6364136223846793005u + 1442695040888963407u;
  return (int)((r->state >> 33) % (uint64_t)n);
}

// ---- random trees

static Tree *kernel(void) { return tree_node(TREE_KERNEL, "", NULL, 0); }

static Tree *random_tree(Random *r, int depth, int *guards);

static Tree *random_guard(Random *r, int depth, int *guards) {
  (*guards)--;
  const Tree **children = new_array(const Tree *, 2);
  children[0] = random_tree(r, depth - 1, guards);
  children[1] = random_tree(r, depth - 1, guards);
  return tree_node(TREE_GUARD, "g", children, 2);
}

static Tree *random_list(Random *r, int depth, int *guards, TreeKind kind) {
  int count = kind == TREE_LOOP ? 1 : 1 + below(r, 3);
  const Tree **children = new_array(const Tree *, count);
  for (int i = 0; i < count; i++)
    children[i] = random_tree(r, depth - 1, guards);
  return tree_node(kind, "", children, count);
}

static Tree *random_tree(Random *r, int depth, int *guards) {
  if (depth == 0) return kernel();
  int die = below(r, 6);
  if (die < 3 && *guards > 0) return random_guard(r, depth, guards);
  if (die == 3) return random_list(r, depth, guards, TREE_LOOP);
  return die == 4 ? random_list(r, depth, guards, TREE_SEQ) : kernel();
}

// ---- random events

typedef struct Forest {
  SolveGroup groups[MOST_GROUPS];
  double weights[3], base[3];
  SolveProblem problem;
} Forest;

static double random_cost(Random *r) {
  return below(r, 40) == 0 ? INFINITY : (double)below(r, 8);  // small: ties are common
}

static void add_event(Forest *f, Random *r, int dataset, int guard, int parent) {
  if (f->problem.group_count == MOST_GROUPS) return;
  f->groups[f->problem.group_count++] =
      (SolveGroup){ dataset,          guard,
                    parent,           below(r, 6),
                    below(r, 8) != 0, { random_cost(r), random_cost(r) } };
}

// One event per guard and event around it; in loops several.
static void add_events(Forest *f, Random *r, int dataset, int guard) {
  int parent_guard = f->problem.tree->guards[guard].parent,
      before = f->problem.group_count;
  for (int p = parent_guard < 0 ? -1 : 0; p < (parent_guard < 0 ? 0 : before); p++)
    if (p < 0 || (f->groups[p].guard == parent_guard && f->groups[p].dataset == dataset))
      for (int n = 1 + below(r, 2); n > 0; n--)
        add_event(f, r, dataset, guard, p);
}

static Forest *random_forest(Random *r) {
  Forest *f = new (Forest);
  int guards = MOST_GUARDS;
  f->problem.tree = tree_of(random_tree(r, 4, &guards));
  f->problem.groups = f->groups;
  f->problem.weights = f->weights;
  f->problem.base = f->base;
  f->problem.dataset_count = 1 + below(r, 3);
  f->problem.objective = (SolveObjective)below(r, 3);
  for (int d = 0; d < f->problem.dataset_count; d++) {
    f->weights[d] = 1 + below(r, 3);
    f->base[d] = 1 + below(r, 5);
    for (int g = 0; g < f->problem.tree->guard_count; g++)
      add_events(f, r, d, g);
  }
  return f;
}

// ---- brute force

typedef struct Brute {
  const SolveProblem *p;
  const double *best;  // per data set alone
  int64_t thresholds[MOST_GUARDS];
  double least;     // of the objective
  double alone[3];  // the least time per data set
} Brute;

static void try_all(Brute *b, int guard) {
  if (guard == b->p->tree->guard_count) {
    const double *times = solve_times(b->p, b->thresholds);
    b->least = fmin(b->least, solve_objective(b->p, times, b->best));
    for (int d = 0; d < b->p->dataset_count; d++)
      b->alone[d] = fmin(b->alone[d], times[d]);
    return;
  }
  for (int64_t t = 0; t <= 6; t++) {
    b->thresholds[guard] = t == 6 ? SOLVE_NEVER : t;
    try_all(b, guard + 1);
  }
}

static Brute brute_force(const SolveProblem *p, const double *best) {
  Brute b = {
    .p = p, .best = best, .least = INFINITY, .alone = { INFINITY, INFINITY, INFINITY }
  };
  try_all(&b, 0);
  return b;
}

static bool close_to(double a, double b) {
  return (isinf(a) && isinf(b)) || fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static void check_forest(const Forest *f) {
  const SolveProblem *p = &f->problem;
  Brute alone = brute_force(p, NULL);
  for (int d = 0; d < p->dataset_count; d++)
    CHECK(close_to(solve_alone(p, d).times[d], alone.alone[d]));
  bool regret = p->objective == SOLVE_MAX_REGRET && p->dataset_count > 1;
  for (int d = 0; d < p->dataset_count; d++)
    if (regret && isinf(alone.alone[d])) return;  // no version works: no ratio to compare
  Brute brute = regret ? brute_force(p, alone.alone) : alone;
  SolveResult r = solve(p);
  CHECK(r.exact);
  CHECK(close_to(r.objective, brute.least));
}

int main(void) {
  mem_init();
  Random r = { 20190216 };
  int guards = 0, conflicts = 0;
  for (int i = 0; i < FORESTS; i++) {
    const Forest *f = random_forest(&r);
    check_forest(f);
    guards += f->problem.tree->guard_count;
    conflicts += f->problem.dataset_count > 1;
  }
  CHECK(guards > FORESTS && conflicts > FORESTS / 2);
  return 0;
}
