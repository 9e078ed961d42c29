#include "speed_reference.h"
#include <math.h>

#define LOOP(name, T, call)                                                             \
  static void name(long n, const T *restrict a, const T *restrict b, T *restrict out) { \
    (void)b;                                                                            \
    _Pragma("omp simd") for (long i = 0; i < n; i++) out[i] = call;                     \
  }
#define UNARY(name)                      \
  LOOP(name##_f32, float, name##f(a[i])) \
  LOOP(name##_f64, double, name(a[i]))
#define BINARY(name)                           \
  LOOP(name##_f32, float, name##f(a[i], b[i])) \
  LOOP(name##_f64, double, name(a[i], b[i]))

UNARY(exp)
UNARY(exp2)
UNARY(exp10)
UNARY(expm1)
UNARY(log)
UNARY(log2)
UNARY(log10)
UNARY(log1p)
BINARY(pow)
UNARY(sin)
UNARY(cos)
UNARY(tan)
UNARY(asin)
UNARY(acos)
UNARY(atan)
BINARY(atan2)
UNARY(sinh)
UNARY(cosh)
UNARY(tanh)
UNARY(asinh)
UNARY(acosh)
UNARY(atanh)
UNARY(erf)
UNARY(erfc)
UNARY(cbrt)
BINARY(hypot)

#define ROWS(X)                                                                     \
  X(EXP, exp)                                                                       \
  X(EXP2, exp2)                                                                     \
  X(EXP10, exp10)                                                                   \
  X(EXPM1, expm1)                                                                   \
  X(LOG, log)                                                                       \
  X(LOG2, log2)                                                                     \
  X(LOG10, log10)                                                                   \
  X(LOG1P, log1p) X(POW, pow) X(SIN, sin) X(COS, cos) X(TAN, tan) X(ASIN, asin)     \
      X(ACOS, acos) X(ATAN, atan) X(ATAN2, atan2) X(SINH, sinh) X(COSH, cosh)       \
          X(TANH, tanh) X(ASINH, asinh) X(ACOSH, acosh) X(ATANH, atanh) X(ERF, erf) \
              X(ERFC, erfc) X(CBRT, cbrt) X(HYPOT, hypot)

#define ROW32(op, f) [OP_##op] = f##_f32,
#define ROW64(op, f) [OP_##op] = f##_f64,
static Loop32 *const loops_f32[OP_COUNT] = { ROWS(ROW32) };
static Loop64 *const loops_f64[OP_COUNT] = { ROWS(ROW64) };

Loop32 *math_loop_f32(PrimOp op) { return loops_f32[op]; }
Loop64 *math_loop_f64(PrimOp op) { return loops_f64[op]; }
