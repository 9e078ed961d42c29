#include "reference.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const PrimOp functions[] = {
  OP_EXP,  OP_EXP2,  OP_EXP10, OP_EXPM1, OP_LOG,  OP_LOG2, OP_LOG10, OP_LOG1P, OP_POW,
  OP_SIN,  OP_COS,   OP_TAN,   OP_ASIN,  OP_ACOS, OP_ATAN, OP_ATAN2, OP_SINH,  OP_COSH,
  OP_TANH, OP_ASINH, OP_ACOSH, OP_ATANH, OP_ERF,  OP_ERFC, OP_CBRT,  OP_HYPOT, OP_COUNT,
};

PrimOp math_function(int number) { return functions[number]; }

// ---- references

typedef double Double1(double);
typedef long double Long1(long double);
typedef double Double2(double, double);
typedef long double Long2(long double, long double);

static Double1 *const doubles[OP_COUNT] = {
  [OP_EXP] = exp,   [OP_EXP2] = exp2,   [OP_EXP10] = exp10, [OP_EXPM1] = expm1,
  [OP_LOG] = log,   [OP_LOG2] = log2,   [OP_LOG10] = log10, [OP_LOG1P] = log1p,
  [OP_SIN] = sin,   [OP_COS] = cos,     [OP_TAN] = tan,     [OP_ASIN] = asin,
  [OP_ACOS] = acos, [OP_ATAN] = atan,   [OP_SINH] = sinh,   [OP_COSH] = cosh,
  [OP_TANH] = tanh, [OP_ASINH] = asinh, [OP_ACOSH] = acosh, [OP_ATANH] = atanh,
  [OP_ERF] = erf,   [OP_ERFC] = erfc,   [OP_CBRT] = cbrt,
};
static Long1 *const longs[OP_COUNT] = {
  [OP_EXP] = expl,   [OP_EXP2] = exp2l,   [OP_EXP10] = exp10l, [OP_EXPM1] = expm1l,
  [OP_LOG] = logl,   [OP_LOG2] = log2l,   [OP_LOG10] = log10l, [OP_LOG1P] = log1pl,
  [OP_SIN] = sinl,   [OP_COS] = cosl,     [OP_TAN] = tanl,     [OP_ASIN] = asinl,
  [OP_ACOS] = acosl, [OP_ATAN] = atanl,   [OP_SINH] = sinhl,   [OP_COSH] = coshl,
  [OP_TANH] = tanhl, [OP_ASINH] = asinhl, [OP_ACOSH] = acoshl, [OP_ATANH] = atanhl,
  [OP_ERF] = erfl,   [OP_ERFC] = erfcl,   [OP_CBRT] = cbrtl,
};
static Double2 *const doubles2[OP_COUNT] = {
  [OP_POW] = pow, [OP_ATAN2] = atan2, [OP_HYPOT] = hypot
};
static Long2 *const longs2[OP_COUNT] = {
  [OP_POW] = powl, [OP_ATAN2] = atan2l, [OP_HYPOT] = hypotl
};

long double math_reference(PrimOp op, PrimType type, double a, double b) {
  bool f32 = type == PRIM_F32;
  if (op_arity(op) == 2) return f32 ? (long double)doubles2[op](a, b) : longs2[op](a, b);
  return f32 ? (long double)doubles[op](a) : longs[op](a);
}

// ---- errors

// 2^exponent, which is normal.
static double power(int exponent) {
  uint64_t bits = (uint64_t)(exponent + 1023) << 52;
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

// floor(log2(x)) of a normal number.
static int exponent_of(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof x);
  return (int)(bits >> 52 & 2047) - 1023;
}

// Neither zero nor infinite nor NaN; of the same sign.
static double error_f32(double got, double expected) {
  int exponent = exponent_of(expected), unit = exponent < -126 ? -149 : exponent - 23;
  if (exponent > 127 && isinf(got)) return 0;
  if (exponent > 127) unit = 104;
  if (isinf(got)) got = copysign(0x1p128, got);
  return fabs(got - expected) * power(-unit);
}

static double error_f64(double got, long double expected) {
  int exponent;
  frexpl(expected, &exponent);
  int unit = exponent < -1021 ? -1074 : exponent - 53;
  if (exponent > 1024 && isinf(got)) return 0;
  if (exponent > 1024) unit = 971;
  long double near =
      isinf(got) ? copysignl(0x1p1024L, (long double)got) : (long double)got;
  return (double)fabsl(ldexpl(near - expected, -unit));
}

double math_error(PrimType type, double got, long double expected) {
  if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got) ? 0 : INFINITY;
  if (!signbit(got) != !signbit(expected)) return INFINITY;
  if (expected == 0 || isinf(expected))
    return (long double)got == expected ? 0 : INFINITY;
  return type == PRIM_F32 ? error_f32(got, (double)expected) : error_f64(got, expected);
}

// ---- arguments

uint64_t math_random(MathRandom *r) {  // Marsaglia's xorshift, Vigna's multiplier
  r->state ^= r->state >> 12;
  r->state ^= r->state << 25;
  r->state ^= r->state >> 27;
  return r->state * UINT64_C(2685821657736338717);
}

static double unit(MathRandom *r) { return (double)(math_random(r) >> 11) * 0x1p-53; }

static double any_bits(PrimType type, MathRandom *r) {
  uint64_t bits = math_random(r);
  if (type == PRIM_F64) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
  }
  float x;
  uint32_t low = (uint32_t)bits;
  memcpy(&x, &low, sizeof x);
  return (double)x;
}

// Where results overflow, underflow, saturate, or where another formula takes over.
static const double thresholds[] = {
  0x1p-1022,
  0x1p-1074,
  0x1p-149,
  0x1p-126,
  0x1p-54,
  0x1p-27,
  0x1p-24,
  0.5,
  0.625,
  0.7071067811865476,
  1,
  1.4142135623730951,
  2,
  6,
  9.01,
  10.05,
  19.06,
  26.54,
  38.53,
  44.85,
  87.336,
  88.7228,
  89.416,
  103.97,
  128,
  149,
  150,
  308.2547,
  323.306,
  708.3964,
  709.7827,
  710.4758,
  744.44,
  745.1332,
  1022,
  1024,
  1074,
  1075,
  1e5,
  0x1p24,
  0x1p40,
  0x1p53,
  3.4028234664e38,
  1.797693134862e308,
};

static double near_threshold(MathRandom *r) {
  size_t count = sizeof thresholds / sizeof *thresholds;
  double x = thresholds[math_random(r) % count];
  return x * (1 + ldexp(unit(r) - 0.5, -(int)(math_random(r) % 56)));
}

// Close to a multiple of a quarter of pi: sines and tangents are 0 or cancel.
static double near_quarter(PrimType type, MathRandom *r) {
  double k = floor(ldexp(unit(r), (int)(math_random(r) % 45)));
  double x = k * 0.78539816339744831;
  if (type == PRIM_F32) return (double)(float)x;
  return x * (1 + (double)((int)(math_random(r) % 9) - 4) * 0x1p-53);
}

static double magnitude(PrimType type, MathRandom *r) {
  switch (math_random(r) % 8) {
  case 0: return 2 * unit(r);
  case 1: return ldexp(1 + unit(r), (int)(math_random(r) % 80) - 60);
  case 2: return 1 + ldexp(unit(r) - 0.5, -(int)(math_random(r) % 52));
  case 3: return 800 * unit(r);
  case 4: return near_quarter(type, r);
  case 5: return near_threshold(r);
  default: return any_bits(type, r);
  }
}

static double to_type(PrimType type, double x) {
  return type == PRIM_F32 ? (double)(float)x : x;
}

double math_argument(PrimType type, MathRandom *r) {
  double x = magnitude(type, r);
  return to_type(type, math_random(r) % 2 ? x : -x);
}

// y such that a^y fills the range of results.
static double exponent_for(PrimType type, double a, MathRandom *r) {
  double range = type == PRIM_F32 ? 155 : 1090;
  return (2 * unit(r) - 1) * range / log2(fabs(a));
}

double math_second(PrimOp op, PrimType type, double a, MathRandom *r) {
  uint64_t choice = math_random(r) % 4;
  if (op == OP_POW && choice == 0) return floor(40 * unit(r)) / 2 - 10;
  if (op == OP_POW && choice < 3) return to_type(type, exponent_for(type, a, r));
  if (choice < 2)
    return to_type(type, ldexp(a * (2 * unit(r) - 1), (int)(math_random(r) % 60) - 30));
  return math_argument(type, r);
}
