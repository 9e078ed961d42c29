// What the functions of runtime/kernels/math/ should give, and how far off a result is.
#pragma once
#include "base/prim.h"

// The functions that this file knows, by number; OP_COUNT behind the last.
PrimOp math_function(int number);

// The exact result but for rounding errors far below one of `type`'s: through double for f32, through
// long double for f64.
long double math_reference(PrimOp op, PrimType type, double a, double b);

// The distance in units in the last place of `type` at `expected`, which is not rounded; infinity counts as
// the power of two that follows the greatest number.  0 if both are NaN; huge if one is, or if the
// sign of a zero is wrong.
double math_error(PrimType type, double got, long double expected);

// Arguments that are likely to be difficult, from a generator of random bits.
typedef struct MathRandom {
  uint64_t state;
} MathRandom;
uint64_t math_random(MathRandom *r);
double math_argument(PrimType type, MathRandom *r);
// The second argument of op, the first being a.
double math_second(PrimOp op, PrimType type, double a, MathRandom *r);
