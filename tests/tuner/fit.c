// Decision trees: where no threshold on Par separates the versions, trees by sizes find the rule that
// made the costs, hold for sizes that they never saw, and stay away from noise.
#include "tuner/decision.h"
#include "unit.h"
#include <math.h>

enum { POINTS = 150, FRESH = 400, GUARDS = 2 };
enum { BEST_US = 10, OTHER_US = 20 };

typedef struct Random {
  uint64_t state;
} Random;

static double uniform(Random *r) {
  r->state = r->state * 6364136223846793005u + 1442695040888963407u;
  return (double)(r->state >> 11) / 9007199254740992.0;
}

static double gauss(Random *r) {
  return sqrt(-2 * log(uniform(r) + 1e-300)) * cos(6.283185307179586 * uniform(r));
}

// main.top_0 ? V0 : main.top_1 ? V1 : V2
static const TunerTree *chain(void) {
  const Tree **inner = new_array(const Tree *, 2), **outer = new_array(const Tree *, 2);
  inner[0] = tree_node(TREE_KERNEL, "V1", NULL, 0);
  inner[1] = tree_node(TREE_KERNEL, "V2", NULL, 0);
  outer[0] = tree_node(TREE_KERNEL, "V0", NULL, 0);
  outer[1] = tree_node(TREE_GUARD, "main.top_1", inner, 2);
  return tree_of(tree_node(TREE_GUARD, "main.top_0", outer, 2));
}

typedef int (*Rule)(int64_t n, int64_t m);

// Par is n at the outer guard and n*m at the inner one.
static int by_other_sizes(int64_t n, int64_t m) {
  if (m >= 40) return 0;
  return n >= 7 ? 1 : 2;
}

static int inside_a_band(int64_t n, int64_t m) {
  if (n * m >= 500 && n * m < 20000) return 0;
  return m >= 100 ? 2 : 1;
}

static int by_par(int64_t n, int64_t m) {
  if (n >= 50) return 0;
  return n * m >= 300 ? 1 : 2;
}

typedef struct Sample {
  SolveProblem problem;
  SizeTable sizes;
} Sample;

static Sample sample(const TunerTree *tree, Rule rule, int count, double noise,
                     Random *r) {
  SolveGroup *groups = new_array(SolveGroup, GUARDS * count);
  double *weights = new_array(double, count), *base = new_array(double, count);
  SizeTable sizes = { .count = 2, .names = { "n", "m" } };
  sizes.values = new_array(int64_t, count * DECISION_MOST_SIZES);
  for (int d = 0; d < count; d++) {
    int64_t *at = decision_sizes(&sizes, d);
    double us[3];
    for (int i = 0; i < 2; i++)
      at[i] = (int64_t)exp(uniform(r) * log(1001));
    for (int v = 0; v < 3; v++)
      us[v] = (v == rule(at[0], at[1]) ? BEST_US : OTHER_US) * (1 + noise * gauss(r));
    groups[2 * d] = (SolveGroup){ d, 0, -1, at[0], true, { us[0], 0 } };
    groups[2 * d + 1] =
        (SolveGroup){ d, 1, 2 * d, at[0] * at[1], true, { us[1], us[2] } };
    weights[d] = 1.0 / BEST_US;
  }
  return (Sample){ { tree, groups, GUARDS * count, weights, base, count, SOLVE_SUM },
                   sizes };
}

static double *best_times(const SolveProblem *p) {
  double *best = new_array(double, p->dataset_count);
  for (int d = 0; d < p->dataset_count; d++)
    best[d] = solve_alone(p, d).times[d];
  return best;
}

// The mean of time / BEST_US - 1.
static double loss(const Sample *s, const double *times) {
  double sum = 0;
  for (int d = 0; d < s->problem.dataset_count; d++)
    sum += times[d];
  return sum / (BEST_US * s->problem.dataset_count) - 1;
}

static int conditions(const Decision *decisions) {
  int sum = 0;
  for (int g = 0; g < GUARDS; g++) {
    int here = decision_conditions(&decisions[g]);
    CHECK(here <= DECISION_MOST_CONDITIONS);
    sum += here;
  }
  return sum;
}

static void finds(Rule rule, double noise, double least_loss, double most_loss,
                  int most) {
  Random r = { 20120901 };
  const TunerTree *tree = chain();
  Sample seen = sample(tree, rule, POINTS, noise, &r);
  Sample fresh = sample(tree, rule, FRESH, 0, &r);
  SolveResult best = solve(&seen.problem);
  const int64_t *thresholds = solve_thresholds(&seen.problem, &best);
  CHECK(loss(&fresh, solve_times(&fresh.problem, thresholds)) >= least_loss);
  const Decision *found = decision_fit(&seen.problem, best_times(&seen.problem),
                                       &seen.sizes, thresholds, 0.002);
  CHECK(loss(&fresh, decision_times(&fresh.problem, &fresh.sizes, found)) <= most_loss);
  CHECK(conditions(found) <= most);
}

// Versions that fail are not chosen, whatever the sizes.
static void avoids_failures(void) {
  Random r = { 7 };
  Sample seen = sample(chain(), by_other_sizes, POINTS, 0, &r);
  SolveGroup *groups =
      mem_copy(seen.problem.groups, sizeof *groups * (size_t)seen.problem.group_count);
  for (int i = 0; i < seen.problem.group_count; i++)
    if (groups[i].guard == 0) groups[i].cost[0] = INFINITY;
  seen.problem.groups = groups;
  SolveResult best = solve(&seen.problem);
  const Decision *found =
      decision_fit(&seen.problem, best_times(&seen.problem), &seen.sizes,
                   solve_thresholds(&seen.problem, &best), 0.002);
  const double *times = decision_times(&seen.problem, &seen.sizes, found);
  for (int d = 0; d < seen.problem.dataset_count; d++)
    CHECK(isfinite(times[d]));
}

static void texts(void) {
  static const SizeTable sizes = { .count = 2, .names = { "n", "m" } };
  Decision d = decision_plain(64);
  Text *plain = text_new(), *tree = text_new();
  decision_lines(plain, "g", &d, &sizes);
  CHECK_TEXT(text_str(plain), "g=64\n");
  CHECK_TEXT(decision_text(&d, &sizes), "Par >= 64");
  d.nodes[1] = (DecisionNode){ 3, 100 };
  d.nodes[2] = (DecisionNode){ 0, 64 };
  d.nodes[3] = (DecisionNode){ 2, 5 };
  d.nodes[6] = (DecisionNode){ 0, 64 };
  d.nodes[7] = (DecisionNode){ 0, SOLVE_NEVER };
  decision_lines(tree, "g", &d, &sizes);
  CHECK_TEXT(text_str(tree), "g=64\ng@1:n*m=100\ng@3:m=5\ng@7=9223372036854775807\n");
  CHECK_TEXT(decision_text(&d, &sizes),
             "if n*m >= 100 then (if m >= 5 then never else Par >= 64) else Par >= 64");
}

int main(void) {
  mem_init();
  finds(by_other_sizes, 0, 0.1, 0.02, 2);
  finds(inside_a_band, 0, 0.1, 0.03, 3);
  finds(by_other_sizes, 0.05, 0.1, 0.02, 2);
  finds(by_par, 0, 0, 0.01, 0);
  finds(by_par, 0.05, 0, 0.01, 0);
  avoids_failures();
  texts();
  return 0;
}
