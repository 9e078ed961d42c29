// Sums of the columns of arrays, several rows at once.
#pragma once
#include "kern/kern.h"

// A reduction along columns, in bands: band b of `count` has the rows b, b + count, ..
typedef struct Bands {
  const Kern *kern;   // the sums of all columns of all bands; stores nothing
  const Term *count;  // 1 if there are columns enough
  const Term *summed;  // rows that are in bands; fewer than `count` are left behind them
} Bands;

// The kernel in bands, if its points end in a reduction whose operators commute, and that mentions
// the number of a row only where it reads columns next to each other; false else.  Adds scalars of
// the host that it mentions to `lets`.
bool kern_in_bands(KernBuilder *lets, const Kern *kern, Bands *out);
