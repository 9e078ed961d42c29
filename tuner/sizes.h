#pragma once
#include "tuner/contest.h"

// Finds the sizes that the program has; chooses them, by whole runs with the chosen
// thresholds.
void sizes_find(Tuning *t);
void sizes_choose(Tuning *t);
// The same in range mode, by what is chosen from the points (`decisions`, one per guard), on those
// data sets that `on` has.
void sizes_choose_on(Tuning *t, const Decision *decisions, bool *on);

// Gives the workers, if there are several, the shares of the work that they finish at the same
// time, where that is better on these data sets (balance.c).
void sizes_balance(Tuning *t, const bool *on, double until);
// The same for each layout of the entry point that has weights of its own, where it has something
// to gain.
void sizes_balance_layouts(Tuning *t, const bool *on, double until);
int sizes_count_layouts(const Tuning *t);
// Chooses from how much work on several workers divide it, where that is better on these data sets
// (splits.c).
void sizes_split(Tuning *t, const bool *on, double until);

// ---- for shared.c, balance.c and splits.c

bool sizes_is_weight(const SizeParam *p);                      // the share of a worker
bool sizes_is_of_layout(const SizeParam *p);                   // that in a layout of its own
bool sizes_is_split(const SizeParam *p);                       // the threshold of a split
// Was it changed?  Weights of a layout are changed together, as they follow the program's else.
bool sizes_is_changed(const SizeParam *p);
void sizes_read(Tuning *t, SizeParam *p);                      // the value in force
// The program has it from now on.
void sizes_set(Tuning *t, const SizeParam *p, int64_t value);
const char *sizes_setting(const SizeParam *p, int64_t value);  // "NAME=4"
// Is there a parameter of the entry point that has its value?
bool sizes_is_followed(const Tuning *t, const SizeParam *p);
// The data sets on which the program does not fail.
bool *sizes_datasets(const Tuning *t);
// Starts the program with the thresholds and sizes that were chosen; false if it fails.
bool sizes_apply(Tuning *t);
// The value in force and those to try, of weights those `near` to it or far from it.
void sizes_enter(Contest *c, const SizeParam *p, bool near);
// Does the program still give the right results?
bool sizes_hold(Tuning *t, const bool *on);
