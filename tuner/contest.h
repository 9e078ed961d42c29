// Contests between the values of a parameter, which take turns within the program (runtime/race.h).
#pragma once
#include "tuner/tuning.h"

enum { CONTEST_MOST = 8 };

// What takes part: "main.segmap.groups=8", or "-": the settings as they are.
typedef struct Entrant {
  const char *settings;
  int64_t value;
  Samples *us;  // per data set
  bool out;
} Entrant;

// The first entrant is what is in force.
typedef struct Contest {
  Tuning *t;
  const bool *on;  // per data set: does it take part?
  Entrant list[CONTEST_MOST];
  int count;
  double until;  // child_now()
} Contest;

// A contest without entrants, on those data sets, until then.
Contest contest_new(Tuning *t, const bool *on, double until);
void contest_enter(Contest *c, const char *settings, int64_t value);

// The one that is clearly better than the first, on no data set clearly worse, and was so in two
// races after each other; or NULL.
const Entrant *contest_winner(Contest *c);

// So many more rounds of all that are not out; false if the program fails or the time is up.
bool contest_turn(Contest *c, int turns);

// Does any data set lose by it, beyond noise?
bool contest_harms_one(const Contest *c, const Entrant *entrant);

// Its time over that of the first, by the objective, and the relative error of that.
double contest_ratio(const Contest *c, const Entrant *entrant, double *error);
