#pragma once
#include "tuner/tuning.h"

// The setting file as text; what was chosen and why, for people; data sets that lose.
const char *settings_text(const Tuning *t);
const char *settings_choice(const Tuning *t, int guard);  // "from Par 64 on"
const char *settings_reason(const Tuning *t, int guard);
const char *settings_conflicts(const Tuning *t);
// Why data sets fail ("bad: out of device memory", a line each); that they were left out, or NULL.
const char *settings_failures(const Tuning *t);
const char *settings_left_out(const Tuning *t);
const char *settings_summary(const Tuning *t);
