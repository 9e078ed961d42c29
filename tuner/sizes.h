#pragma once
#include "tuner/tuning.h"

// Finds the sizes that the program has; chooses them, by whole runs with the chosen
// thresholds.
void sizes_find(Tuning *t);
void sizes_choose(Tuning *t);
// The same in range mode, by what is chosen from the points (`decisions`, one per guard), on those
// data sets that `on` has.
void sizes_choose_on(Tuning *t, const Decision *decisions, bool *on);
