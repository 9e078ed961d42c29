// From what the program reports about a run to the run's groups, and from those to the samples.
#pragma once
#include "tuner/measure.h"

// The run that the report of a call of `us` microseconds tells of; false if it is damaged.
bool observe_report(const Measure *m, const char *report, double us, Run *run);

// One round of one path of the reply to `race` (runtime/race.h).
struct json_t;
bool observe_race(const Measure *m, const struct json_t *race, int path, int round,
                  Run *run);

// The number of the group of events, which may be new.
int observe_group(Measure *m, int dataset, int guard, int parent, int64_t par, bool fits);

// Adds a run to the samples of the data set.
void observe_run(Measure *m, int dataset, const Run *run);
