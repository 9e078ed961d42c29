// Replay (docs/tuning.md, step 2): one run of the program per data set, in which every
// region runs all its alternatives on the same live inputs and tells what it saw, a line each:
//
//   group G GUARD PAR LOCAL      events of a guard that agree in Par; G is the program's number
//   try G A                      alternative A is about to run for the first time
//   decide G A GUARD PAR LOCAL T a decision on the way to alternative A, and its outcome
//   sample G A ROUND OWN TOTAL   microseconds of one event; OWN is without regions inside, and can
//                                be negative, as those are timed with waiting for the device
//   bound G A US                 abandoned: it takes longer
//   fail G A MESSAGE    differ G A B    cannot G REASON    done G A
//   inside G A H COUNT           a run of A meets COUNT events of group H; G -1: the whole call
//   base US                      outside of all regions
#pragma once
#include "tuner/measure.h"

typedef struct Replayer {
  Measure *m;
  Races *races;
  Vec(RaceGroup *) numbers;  // by the numbers that the server gives them
  int epoch;                 // the start of the server that gave them
  int rounds;                // of a race at one event, at most
  double race_ms;
  void (*progress)(void *state, const char *what);
  void *progress_state;
} Replayer;

typedef enum ReplayOutcome {
  REPLAY_DONE,
  REPLAY_DOUBTFUL,  // some results differ, or a region could not be raced
  REPLAY_FAILED,    // nothing can be said about some versions
} ReplayOutcome;

// Runs the data set once in this way and turns what it tells into samples of the guards.  Versions
// that fail are blamed and left out, and the run is made again.
ReplayOutcome replay_run(Replayer *r, int dataset);
