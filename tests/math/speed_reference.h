// The yardstick: loops that gcc turns into calls of the vector functions of libmvec.
#pragma once
#include "base/prim.h"

typedef void Loop32(long n, const float *a, const float *b, float *out);
typedef void Loop64(long n, const double *a, const double *b, double *out);

Loop32 *math_loop_f32(PrimOp op);
Loop64 *math_loop_f64(PrimOp op);
