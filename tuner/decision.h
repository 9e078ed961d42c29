// Guards whose threshold depends on the sizes of a call (docs/tuning.md, "Ranges"): a binary tree
// with a condition "n*m >= 4096" at each of at most three inner nodes and a threshold on Par at its
// leaves.
//
// In a tuning file, `name=value` lines (runtime/decision.h evaluates them):
//   main.top_0=64          the threshold at leaves without a line of their own
//   main.top_0@1:n*m=4096  node 1, the root: if n*m >= 4096 go on at node 3 (2k+1), else at 2 (2k)
//   main.top_0@2=0         the threshold at node 2
#pragma once
#include "base/text.h"
#include "tuner/solve.h"

enum { DECISION_NODES = 16, DECISION_MOST_SIZES = 6, DECISION_MOST_CONDITIONS = 3 };

typedef struct DecisionNode {
  unsigned sizes;  // bit k: size k is a factor of what is compared; 0: a leaf
  int64_t value;   // the least product that goes on at 2k+1; a leaf's threshold
} DecisionNode;

// Nodes by their numbers, from 1; those below a leaf mean nothing.
typedef struct Decision {
  DecisionNode nodes[DECISION_NODES];
} Decision;

// What the program knows of its sizes, per data set.
typedef struct SizeTable {
  int count;
  bool named;  // were the names read?
  const char *names[DECISION_MOST_SIZES];
  int64_t *values;  // [data set][DECISION_MOST_SIZES]
} SizeTable;

int64_t *decision_sizes(const SizeTable *sizes, int dataset);

Decision decision_plain(int64_t threshold);

int decision_conditions(const Decision *d);
int decision_comparisons(const Decision *d);  // with those of Par at the leaves

// The product of the sizes of the mask; saturates.
int64_t decision_product(unsigned mask, const int64_t *sizes, int count);

// The threshold for the sizes of a call, as the program computes it.
int64_t decision_threshold(const Decision *d, const int64_t *sizes, int count);

// Which groups are reached, and by which branch they are left; `decisions` has one per guard.
SolveFate *decision_fates(const SolveProblem *p, const SizeTable *sizes,
                          const Decision *decisions);

// Microseconds per data set.
double *decision_times(const SolveProblem *p, const SizeTable *sizes,
                       const Decision *decisions);

// Trees that lose less than `thresholds` do: the mean logarithm of time / best, weighted by
// weight * best.  A comparison is there only if it lowers that mean by `least_gain`.  One tree per
// guard.  `best`: per data set, the least time that any choice of versions gives.
const Decision *decision_fit(const SolveProblem *p, const double *best,
                             const SizeTable *sizes, const int64_t *thresholds,
                             double least_gain);

// The guard's lines in a tuning file; the first one is `name=threshold`.
void decision_lines(Text *text, const char *name, const Decision *d,
                    const SizeTable *sizes);

// "if n*m >= 4096 then Par >= 64 else never"
const char *decision_text(const Decision *d, const SizeTable *sizes);
