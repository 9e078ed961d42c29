// Checks of indices as statements.
#pragma once
#include "core/core.h"

// Are all indices within an array of this type?  Slices are not looked at.
Atom bounds_condition(Builder *b, CoreType type, const DimIndex *dims);

// Passes `count` values on if all indices are within an array of this type (slices are checked
// where they are made); else "Index [i, j] out of bounds for array of shape [n][m]", as the
// interpreter says it.
const Exp *bounds_assert(Builder *b, CoreType type, const DimIndex *dims,
                         const Atom *values, int count);
