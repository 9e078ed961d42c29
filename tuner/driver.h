// The whole of a tuning: cover all versions, choose, measure again what is contested, verify.
#pragma once
#include "tuner/tuning.h"

// Tunes, writes the file (not in a dry run) and the report.  `problem_text` is set on failure.
Tuning *tuner_run(const TunerOptions *options);
// Writes the file again, with what was changed since.
void tuner_write(Tuning *t);
