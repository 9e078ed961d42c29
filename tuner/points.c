#include "tuner/points.h"
#include <math.h>
#include <string.h>

enum { MOST_GROUPS_FOR_EVEN = 64 };
static const double sigmas = 1.96;  // of a 95 % interval
static const double unusable = 1e6, slow_enough = 4;

// ---- taking over

static SolveProblem problem_of_one(const Points *points, int dataset) {
  return points_problem(points, &dataset, 1, NULL);
}

static double *time_runs(const Tuning *t, int dataset, const SolveProblem *p) {
  double *us = new_array(double, t->runs + 1);
  for (int run = 0; run < t->runs; run++) {
    Path path = evidence_repair(t->seen, dataset, tree_cover(t->tree, run));
    int64_t *thresholds = new_array(int64_t, t->tree->guard_count + 1);
    for (int g = 0; g < t->tree->guard_count; g++)
      thresholds[g] = path.outcome[g] == 'T' ? 0 : SOLVE_NEVER;
    us[run] = solve_times(p, thresholds)[0];
  }
  return us;
}

static bool is_unusable(const Evidence *seen, int dataset, int version) {
  return seen->versions[version].failure || seen->states[dataset].errors[version];
}

void points_add(Points *points, int dataset) {
  const Evidence *seen = points->t->seen;
  PointData *out = &points->of[dataset];
  int *numbers = new_array(int, seen->groups.count + 1), kept = 0;
  out->groups = new_array(SolveGroup, seen->groups.count + 1);
  out->errors = mem_alloc_array((size_t)seen->groups.count + 1, sizeof *out->errors);
  for (int i = 0; i < seen->groups.count; i++) {
    const EventGroup *g = &seen->groups.at[i];
    if (g->dataset != dataset) continue;
    numbers[i] = kept;
    SolveGroup group = { .guard = g->guard, .par = g->par, .fits = g->fits };
    group.parent = g->parent < 0 ? -1 : numbers[g->parent];
    for (int b = 0; b < 2; b++) {
      bool failed = is_unusable(seen, dataset, 2 * g->guard + b);
      group.cost[b] = failed ? INFINITY : samples_low(&g->us[b]);
      out->errors[kept][b] = samples_low_error(&g->us[b]);
    }
    out->groups[kept++] = group;
  }
  out->group_count = kept;
  const Samples *base = &seen->states[dataset].base;
  out->base = base->count ? samples_low(base) : 0;
  SolveProblem p = problem_of_one(points, dataset);
  SolveResult best = solve(&p);
  out->best_us = seen->states[dataset].failure ? INFINITY : best.times[0];
  out->fates = solve_fates(&p, solve_thresholds(&p, &best));
  out->run_us = time_runs(points->t, dataset, &p);
  for (int i = 0; i < kept; i++)  // unknown, so at least slow
    for (int b = 0; b < 2; b++)
      if (isinf(out->groups[i].cost[b]) &&
          !is_unusable(seen, dataset, 2 * out->groups[i].guard + b))
        out->groups[i].cost[b] = POINTS_FAR * out->best_us;
}

// ---- problems

SolveProblem points_problem(const Points *points, const int *datasets, int count,
                            const double *shares) {
  const Tuning *t = points->t;
  int all = 0;
  for (int k = 0; k < count; k++)
    all += points->of[datasets ? datasets[k] : k].group_count;
  SolveGroup *groups = new_array(SolveGroup, all + 1);
  double *weights = new_array(double, count + 1), *base = new_array(double, count + 1);
  int kept = 0;
  for (int k = 0; k < count; k++) {
    const PointData *point = &points->of[datasets ? datasets[k] : k];
    int first = kept;
    for (int i = 0; i < point->group_count; i++) {
      groups[kept] = point->groups[i];
      groups[kept].dataset = k;
      if (groups[kept].parent >= 0) groups[kept].parent += first;
      kept++;
    }
    base[k] = point->base;
    bool works = isfinite(point->best_us) && point->best_us > 0;
    weights[k] = works ? (shares ? shares[k] : 1) / point->best_us : 1e-9;
  }
  return (SolveProblem){ t->tree, groups, kept, weights, base, count, SOLVE_SUM };
}

double *points_best(const Points *points, int count) {
  double *best = new_array(double, count + 1);
  for (int d = 0; d < count; d++)
    best[d] = points->of[d].best_us;
  return best;
}

double points_least(const Points *points, const SolveProblem *p) {
  double sum = 0;
  for (int d = 0; d < p->dataset_count; d++)
    if (isfinite(points->of[d].best_us)) sum += p->weights[d] * points->of[d].best_us;
  return sum;
}

// ---- one choice for several points

// Thresholds 0 and SOLVE_NEVER that cost least on all points together.
static const int64_t *constant_choice(const SolveProblem *p) {
  int guards = p->tree->guard_count;
  double *costs = new_array(double, 2 * guards + 2);
  int64_t *thresholds = new_array(int64_t, guards + 1);
  for (int i = 0; i < p->group_count; i++) {
    const SolveGroup *g = &p->groups[i];
    for (int b = 0; b < 2; b++) {
      double cost = b == 0 && !g->fits ? INFINITY : p->weights[g->dataset] * g->cost[b];
      costs[2 * g->guard + b] += fmin(cost, slow_enough);
    }
  }
  for (int g = guards - 1; g >= 0; g--) {  // guards within others come later
    const TreeGuard *guard = &p->tree->guards[g];
    bool first = costs[2 * g] <= costs[2 * g + 1];
    thresholds[g] = first ? 0 : SOLVE_NEVER;
    if (guard->parent >= 0)
      costs[2 * guard->parent + guard->parent_branch] += costs[2 * g + !first];
  }
  return thresholds;
}

// The noise of the difference between two choices for a point.
static double noise_between(const PointData *point, const SolveFate *a,
                            const SolveFate *b) {
  double squares = 0;
  for (int i = 0; i < point->group_count; i++) {
    if (a[i].reached == b[i].reached && (!a[i].reached || a[i].branch == b[i].branch))
      continue;
    if (a[i].reached) squares += pow(point->errors[i][a[i].branch], 2);
    if (b[i].reached) squares += pow(point->errors[i][b[i].branch], 2);
  }
  return sigmas * sqrt(squares);
}

double points_disagreement(const Points *points, const int *datasets, int count,
                           double *worst) {
  SolveProblem p = points_problem(points, datasets, count, NULL);
  const int64_t *thresholds = constant_choice(&p);
  const SolveFate *fates = solve_fates(&p, thresholds);
  const double *times = solve_fated_times(&p, fates);
  double sum = 0;
  int first = 0, used = 0;
  *worst = 0;
  for (int k = 0; k < count; k++) {
    const PointData *point = &points->of[datasets[k]];
    if (isfinite(point->best_us)) {
      double noise = noise_between(point, fates + first, point->fates);
      double ratio = fmin(times[k] / point->best_us, unusable);
      sum += log(ratio);
      *worst = fmax(*worst, ratio - 1 - noise / point->best_us);
      used++;
    }
    first += point->group_count;
  }
  return used ? sum / used : 0;
}

// ---- verdicts

// Is there another choice that noise cannot tell from the best?  Each branch of the best is
// forbidden in turn.
static bool is_even(const Points *points, int dataset) {
  const PointData *point = &points->of[dataset];
  SolveProblem p = problem_of_one(points, dataset);
  SolveGroup *groups = mem_copy(p.groups, (size_t)(p.group_count + 1) * sizeof *groups);
  p.groups = groups;
  for (int i = 0; i < p.group_count && p.group_count <= MOST_GROUPS_FOR_EVEN; i++) {
    if (!point->fates[i].reached) continue;
    double *cost = &groups[i].cost[point->fates[i].branch], before = *cost;
    *cost = INFINITY;
    SolveResult other = solve(&p);
    const SolveFate *fates = solve_fates(&p, solve_thresholds(&p, &other));
    *cost = before;
    if (other.times[0] - point->best_us <= noise_between(point, fates, point->fates))
      return true;
  }
  return false;
}

PointVerdict points_verdict(const Points *points, int dataset, const int64_t *thresholds,
                            const Decision *decisions, const SizeTable *sizes) {
  const PointData *point = &points->of[dataset];
  SolveProblem p = problem_of_one(points, dataset);
  SizeTable own = *sizes;
  own.values = decision_sizes(sizes, dataset);
  const SolveFate *fates =
      decisions ? decision_fates(&p, &own, decisions) : solve_fates(&p, thresholds);
  PointVerdict v = { .us = solve_fated_times(&p, fates)[0], .best_us = point->best_us };
  v.ratio = v.us / v.best_us;
  v.is_fastest = v.us - v.best_us <= noise_between(point, fates, point->fates);
  v.is_even = is_even(points, dataset);
  return v;
}
