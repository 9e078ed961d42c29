// Parameters of the whole program, which several entry points share.
#pragma once
#include "tuner/tuning.h"

// Chooses them by all entry points together, once each has its thresholds and the parameters of its
// own kernels, and writes the file again; what was changed, a line each, for people.
const char *shared_choose(Tuning *const *all, int count);
