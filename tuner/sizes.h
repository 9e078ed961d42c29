#pragma once
#include "tuner/tuning.h"

// Finds the sizes that the program has; chooses them, by whole runs with the chosen
// thresholds.
void sizes_find(Tuning *t);
void sizes_choose(Tuning *t);
