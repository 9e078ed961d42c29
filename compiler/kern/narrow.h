// Whole numbers in few bits.
#pragma once
#include "kern/kern.h"

// The kernel with those numbers in 8 or 16 bits that need no more.
const Kern *kern_narrow(Compiler *c, const Kern *kern);
