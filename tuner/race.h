// Races: the covering paths of a data set take turns in one command of the server (runtime/race.h),
// until the noise no longer hides which is the fastest.
#pragma once
#include "tuner/tuning.h"

typedef struct RaceResult {
  bool ok;
  int rounds;
  Samples tuned;   // whole runs of what the settings of the program choose, if asked for
  bool disagrees;  // such a run decided otherwise than `fates` say
} RaceResult;

// Races the paths that work on the data set, for at most `seconds`: their times become samples, the
// sizes of the call go into the size table.  With `decisions` (one per guard) the program takes
// them as its settings and runs by them, too.
// `skip`, if not NULL: which covering runs are left out.
RaceResult race_paths(Tuning *t, int dataset, double seconds, const Decision *decisions,
                      const bool *skip);
