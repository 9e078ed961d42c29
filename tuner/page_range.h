// The part of the page that --range adds.
#pragma once
#include "tuner/tuning.h"

// Precision and loss by the number of points, and predicted against measured times.
void page_ranges(Text *out, const Tuning *t);
