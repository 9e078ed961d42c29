// The exact choice of thresholds (docs/tuning.md, step 3).
//
// A group is all events of one guard in one data set that agree in what surrounds them and in Par:
// iterations of a loop, say.  A run costs the base of its data set, plus for every group that is
// reached the cost of the branch that it takes.  Nothing is assumed about how costs grow.
#pragma once
#include "tuner/tree.h"

typedef struct SolveGroup {
  int dataset, guard;
  int parent;  // the group of the guard around it, before this one in the list; -1: none
  int64_t par;
  bool fits;       // the first branch fits the device
  double cost[2];  // microseconds of a run spent behind either branch, what belongs to
                   // guards within excepted; INFINITY: the version is unusable
} SolveGroup;

typedef enum SolveObjective {
  SOLVE_SUM,         // sum of weight * time
  SOLVE_GEOMEAN,     // weighted geometric mean
  SOLVE_MAX_REGRET,  // the worst ratio to the data set's own best
} SolveObjective;

typedef struct SolveProblem {
  const TunerTree *tree;
  const SolveGroup *groups;
  int group_count;
  const double *weights;  // per data set, positive
  const double *base;     // microseconds per data set outside of all versions
  int dataset_count;
  SolveObjective objective;
} SolveProblem;

#define SOLVE_NEVER INT64_MAX  // the threshold of a version that is never taken

// Every threshold in (low, high] decides as `threshold` does on all events seen.
typedef struct SolveCut {
  bool
      reached;  // by an event of the chosen versions; else chosen as if all events came here
  bool seen;  // by any event at all
  int64_t low, high, threshold;
} SolveCut;

typedef struct SolveResult {
  double objective;
  SolveCut *cuts;  // per guard
  double *times;   // microseconds per data set
  bool exact;      // false if the search had to be cut short
} SolveResult;

SolveResult solve(const SolveProblem *problem);

// The best that thresholds for this data set alone can reach.
SolveResult solve_alone(const SolveProblem *problem, int dataset);

// Microseconds per data set under these thresholds, per guard.
double *solve_times(const SolveProblem *problem, const int64_t *thresholds);

// The value of the objective; `best` per data set is needed for SOLVE_MAX_REGRET only.
double solve_objective(const SolveProblem *problem, const double *times,
                       const double *best);

// Is the group reached under the thresholds, and by which branch is it left?
typedef struct SolveFate {
  bool reached;
  int branch;
} SolveFate;
SolveFate *solve_fates(const SolveProblem *problem, const int64_t *thresholds);
double *solve_fated_times(const SolveProblem *problem, const SolveFate *fates);

// The branch by which a group is left at a threshold.
int solve_branch(const SolveGroup *group, int64_t threshold);

// The middle of (low, high], geometrically: sizes between behave like those nearer to them.
int64_t solve_middle(int64_t low, int64_t high);

const int64_t *solve_thresholds(const SolveProblem *problem, const SolveResult *result);
