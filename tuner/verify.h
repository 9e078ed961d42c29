#pragma once
#include "tuner/tuning.h"

// Runs the whole program, tuned against default, and draws the consequences.
void verify(Tuning *t);

// Do the thresholds choose what the program's own ones choose?
bool verify_same_versions(const Tuning *t, int dataset);
