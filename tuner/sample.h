#pragma once
#include "tuner/tuning.h"

// Measures points of the box, refined where the winner changes; sets the thresholds and
// the precision.
void sample_ranges(Tuning *t);
