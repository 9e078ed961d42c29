// Terms beside the index of an axis: index + by, by - index.
#pragma once
#include "kern/kern.h"

typedef struct Offsets {
  const Kern *kern;
  Map *lets;   // Var -> const Term *: of the kernel
  Map *bound;  // Var -> Var: in the axis
  Map *tame;   // Var -> Var: indices and sizes
  bool wild;   // offsets may be of any size: whoever asks minds overflow
} Offsets;

Offsets offsets_in(const Kern *kern, const Axis *axis);
// Is it the same at all points of the axis?
bool offset_is_closed(const Offsets *o, const Term *t);
// Is it far from overflow?  Indices, sizes of arrays, and what few operations make of these.
bool offset_is_tame(const Offsets *o, const Term *t);
// t = base + by, for numbers that are the same at all points, and far from overflow unless `wild`.
bool offset_from(const Offsets *o, const Term *t, const Term *base, const Term **by);
// t = by - index, likewise.
bool offset_falls(const Offsets *o, const Term *t, const Term *index, const Term **by);
