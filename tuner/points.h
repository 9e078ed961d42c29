// The points of a sampled box: the measured costs of each, ready to be solved.
#pragma once
#include "tuner/tuning.h"

enum { POINTS_MOST_DIMS = 6 };
#define POINTS_FAR \
  3.0  // a version that was left out counts as that much slower than the best

// One point's events and the noise of their costs.
typedef struct PointData {
  SolveGroup *groups;  // parents count from here
  double (*errors)[2];
  int group_count;
  double base, best_us;    // best: of all choices of versions
  double *run_us;          // per covering run: what it takes; INFINITY if it was left out
  const SolveFate *fates;  // of the best choice
} PointData;

typedef struct Points {
  const Tuning *t;
  PointData *of;  // per data set
} Points;

// Takes over the samples of a data set.
void points_add(Points *points, int dataset);

// These data sets (NULL: the first `count`) as a problem in which a time counts relative to the
// point's best, times its share of all (NULL: all alike).
SolveProblem points_problem(const Points *points, const int *datasets, int count,
                            const double *shares);

// The best times of the first `count` points.
double *points_best(const Points *points, int count);

// What the objective of the problem would be if each point had its own best choice.
double points_least(const Points *points, const SolveProblem *p);

// What the best single choice of versions for these points loses: the mean logarithm of time /
// best; `worst`: the share of the best time that it loses on one of them, noise deducted.
double points_disagreement(const Points *points, const int *datasets, int count,
                           double *worst);

typedef struct PointVerdict {
  double us, best_us, ratio;
  bool is_fastest;  // as far as noise lets us know
  bool is_even;     // so would be another choice of versions
} PointVerdict;

// What the decisions (or the thresholds, if there are none) choose for a point.
PointVerdict points_verdict(const Points *points, int dataset, const int64_t *thresholds,
                            const Decision *decisions, const SizeTable *sizes);
