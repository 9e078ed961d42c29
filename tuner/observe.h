// From what the program reports about a run to the run's groups.
#pragma once
#include "tuner/log.h"
#include "tuner/tree.h"

// The run that the report of a call of `us` microseconds tells of; false if it is damaged.
bool observe_report(const TunerTree *tree, const char *report, double us, Run *run);

// One round of one path of the reply to `race` (runtime/race.h).
struct json_t;
bool observe_race(const TunerTree *tree, const struct json_t *race, int path, int round,
                  Run *run);
