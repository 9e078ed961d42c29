// Rewritings that schedules try before they choose a recipe, and what they end with.
#pragma once
#include "kern/kern.h"

// The kernel with innermost maps in phases, where constants divide their indices (phases.c).
const Kern *kern_in_phases(Compiler *c, const Kern *kern);

// The kernel with loops that have no remainder of their index where rows are read from another
// place on, and round (wraps.c).
const Kern *kern_turn_rows(Compiler *c, const Kern *kern);

// The kernel with loops over rows in the place of loops whose indices are divided (rows_within.c).
const Kern *kern_rows_within(Compiler *c, const Kern *kern);
// Whether such rows are long enough for that, of which the host decides; NULL: there are none.
const Term *kern_rows_are_long(const Kern *kern);

// The kernel with sums of many points marked so, which the device's compiler is to run in several
// vectors at once (long_sums.c).  rows: those within the grid may be short.
const Kern *kern_long_sums(Compiler *c, const Kern *kern, bool rows);
// The kernel with such sums in 16 or 32 bits, in blocks, where wider ones would have fewer lanes
// (narrow_sums.c): what a schedule ends with.
const Kern *kern_narrow_sums(Compiler *c, const Kern *kern);
// The kernel with places of arrays in 32 bits that loops in lanes carry, for where `small` (of the
// host) holds; NULL: there are none (narrow_places.c).
const Kern *kern_narrow_places(Compiler *c, const Kern *kern, const Term **small);
