// What places in arrays may be, whose sizes are below a bound.
#pragma once
#include "kern/ranges.h"

// Twice as much, and less, is an i32.
static const int64_t SIZES_BELOW = (int64_t)1 << 30;

// Var -> const Bounds *: of the whole numbers that are bound in the block, at any depth, where they
// are bound, and of `sizes` (Var -> anything), if these are from 0 on and below SIZES_BELOW.
// Params of loops: of all that they have in a round and behind the last one.
const Map *kern_place_ranges(const KernBlock *block, const Map *sizes);
