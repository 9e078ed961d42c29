#pragma once
#include "tuner/tuning.h"

// The measurements of the first `count` data sets as a problem to solve.
SolveProblem choose_problem(const Tuning *t, int count);

// What was chosen: which groups are reached and how they are left; microseconds per data
// set.
SolveFate *choice_fates(const Choice *c);
double *choice_times(const Choice *c);

// Runs every version of the data set `runs` times, forced.
void choose_cover(Tuning *t, int dataset, int runs);

// Where the program fails by default, is there a path on which it does not?  If not, the data set
// is left out.
void choose_working(Tuning *t, int dataset);

// Measures every version on the data set: by replay, or by whole runs where that is not
// possible.
void choose_measure(Tuning *t, int dataset);

// Sets the thresholds from the measurements; in the second case none stands on a bound,
// in the third what is contested has been measured again.
void choose(Tuning *t);
void choose_known(Tuning *t);
void choose_settled(Tuning *t);
