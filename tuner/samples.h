// Times of runs in microseconds, and what can be said from them.
#pragma once
#include "base/vec.h"

typedef Vec(double) Samples;

// The lower quartile (what disturbs a run on a shared machine only makes it longer), and
// its standard error.
double samples_typical(const Samples *s);
double samples_error(const Samples *s);

// Of many runs in turn: what a run takes when nothing disturbs it, a low quantile; and
// its standard error.
double samples_low(const Samples *s);
double samples_low_error(const Samples *s);
