// Lanes that are more than a vector has: loops that the device's own compiler makes vectors of.
#pragma once
#include "kern/kern.h"

enum { MOST_LANES = 16, WIDEST_LANES = 512 };

// Is it an axis of more than MOST_LANES lanes?
bool kern_is_wide(const Axis *axis);

// Such axes as loops: what is lowered.
const Kern *kern_wide_lanes_as_loops(Compiler *c, const Kern *kern);
