// What replay (replay.h) and earlier tunings, by the log, have told about the regions of
// a program: an alternative of a region is a branch of one of its guards behind which
// there is no further guard.
#pragma once
#include "tuner/evidence.h"

enum { RACES_MOST_ROUNDS = 64 };

typedef struct RaceGroup RaceGroup;

typedef struct RaceInside {
  RaceGroup *inner;
  int64_t count;
} RaceInside;
typedef Vec(RaceInside) RaceInsides;

typedef struct RaceDecision {
  int guard;
  int64_t par;
  bool fits;
} RaceDecision;

// An alternative of a race.
typedef struct Contender {
  Vec(double) own, total;  // of one event, per round; total negative: none
  Vec(RaceDecision) path;  // to it, its own guard last
  RaceInsides inside;      // events within one run of it
  double bound;            // it takes longer; 0: unknown
  bool failed;
} Contender;

// Events of one guard in one data set that agree in Par.
struct RaceGroup {
  int dataset, root;
  int64_t par, local;
  int epoch;          // the start of the server that knows its samples
  const int *leaves;  // per alternative its branch: 2 * guard + branch
  Contender *list;
  int count;
};

// One run of a data set, without its regions.
typedef struct RaceWhole {
  RaceInsides inside;  // events within it
  double base_us;      // outside of all regions
} RaceWhole;

typedef struct Races {
  Evidence *seen;
  Vec(RaceGroup *) groups;
  RaceWhole *whole;  // per data set
} Races;

// There can be `capacity` data sets in the end.
Races *races_new(Evidence *seen, int capacity);

RaceGroup *races_group(Races *r, int dataset, int root, int64_t par, int64_t local);

// False if it is known.
bool races_add_inside(RaceInsides *list, RaceGroup *inner, int64_t count);

// Takes a line about alternative `k`, without its numbers, from the program or from the
// log.  False if it says nothing new.
bool races_take(const Races *r, RaceGroup *g, int k, const char *what, const char *text);

// The time of one event; 0 if unknown.
double races_middle(const Contender *c);

// The line as the log keeps it; and back.  The latter is true for a measurement.
RaceLine races_line(const Races *r, const RaceGroup *g, int k, const char *what,
                    const char *text);
bool races_remember(Races *r, const RaceLine *line);

// Makes the samples of the data set's event groups from all that is known.
void races_place(Races *r, int dataset);
