// Checks of a loop's rounds, for loops_to_maps.c.
#pragma once
#include "core/core.h"

// Is the statement a check of scalars, in a loop that counts and carries none?
bool round_check_alone(const Exp *loop, const Stm *stm);

// What the check binds, once it holds.
void round_check_passed(Builder *b, const Stm *check);

// The check in all rounds of the loop, and `bound`, which is the loop's, behind it.  The scalars
// that stand before the check in a round must not fail.
void round_checks_before(Builder *b, const Exp *loop, const Stm *check, const Var *bound);
