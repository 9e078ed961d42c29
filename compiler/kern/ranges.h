// What whole numbers may be.
#pragma once
#include "base/map.h"
#include "kern/kern.h"

typedef struct Bounds {
  int64_t low, high;
} Bounds;

// Var -> const Bounds *: of the whole numbers that lets bind, at any depth.
const Map *kern_ranges(const KernBlock *block);
// What a whole number may be; all that its type has, if it wraps.
Bounds kern_range(const Map *ranges, const Term *t);

bool bounds_fit(Bounds r, PrimType type);  // false: or nothing is known of them
Bounds bounds_hull(Bounds a, Bounds b);
