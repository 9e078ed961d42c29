// Whole numbers in few bits.
#pragma once
#include "kern/kern.h"

// The kernel with those numbers in 8 or 16 bits that need no more.
const Kern *kern_narrow(Compiler *c, const Kern *kern);
// The kernel with sums of many points marked so, which the device's compiler is to run in several
// vectors at once (long_sums.c).  rows: those within the grid may be short.
const Kern *kern_long_sums(Compiler *c, const Kern *kern, bool rows);
// The kernel with such sums in 16 or 32 bits, in blocks, where wider ones would have fewer lanes
// (narrow_sums.c): what a schedule ends with.
const Kern *kern_narrow_sums(Compiler *c, const Kern *kern);
