// What the scalar operators compute: tables for integers (and bool) and for floats of one, two
// and three operands.  The build turns contraction of a * b + c off, so that each operator rounds.
#include "base/prim.h"
#include <math.h>

// Integers.  Operands come sign- or zero-extended; results are wrapped by the caller.  Sums and
// products are computed in uint64_t, where overflow wraps.

typedef bool IntFn(PrimType type, const int64_t *x, int64_t *out);

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;

static bool int_add(PrimType type, const int64_t *x, int64_t *out) {
  (void)type;
  *out = (int64_t)((uint64_t)x[0] + (uint64_t)x[1]);
  return true;
}

static bool int_sub(PrimType type, const int64_t *x, int64_t *out) {
  (void)type;
  *out = (int64_t)((uint64_t)x[0] - (uint64_t)x[1]);
  return true;
}

static bool int_mul(PrimType type, const int64_t *x, int64_t *out) {
  (void)type;
  *out = (int64_t)((uint64_t)x[0] * (uint64_t)x[1]);
  return true;
}

// Quotient towards zero and its remainder; false if the divisor is 0.
static bool divide(PrimType type, const int64_t *x, int64_t *quotient,
                   int64_t *remainder) {
  if (x[1] == 0) return false;
  if (!prim_is_signed(type)) {
    *quotient = (int64_t)((uint64_t)x[0] / (uint64_t)x[1]);
    *remainder = (int64_t)((uint64_t)x[0] % (uint64_t)x[1]);
    return true;
  }
  if (x[1] == -1) {  // the only quotient that overflows is by -1: it wraps
    *quotient = (int64_t)(0 - (uint64_t)x[0]);
    *remainder = 0;
    return true;
  }
  *quotient = x[0] / x[1];
  *remainder = x[0] % x[1];
  return true;
}

// Must the quotient towards zero be stepped down to be the floor?
static bool floor_differs(PrimType type, int64_t remainder, int64_t divisor) {
  return prim_is_signed(type) && remainder != 0 && (remainder < 0) != (divisor < 0);
}

static bool int_div(PrimType type, const int64_t *x, int64_t *out) {
  int64_t remainder = 0;
  if (!divide(type, x, out, &remainder)) return false;
  *out -= floor_differs(type, remainder, x[1]);
  return true;
}

static bool int_mod(PrimType type, const int64_t *x, int64_t *out) {
  int64_t quotient = 0;
  if (!divide(type, x, &quotient, out)) return false;
  if (floor_differs(type, *out, x[1])) *out += x[1];
  return true;
}

static bool int_quot(PrimType type, const int64_t *x, int64_t *out) {
  int64_t remainder = 0;
  return divide(type, x, out, &remainder);
}

static bool int_rem(PrimType type, const int64_t *x, int64_t *out) {
  int64_t quotient = 0;
  return divide(type, x, &quotient, out);
}

static bool int_pow(PrimType type, const int64_t *x, int64_t *out) {
  if (prim_is_signed(type) && x[1] < 0) return false;
  uint64_t base = (uint64_t)x[0], power = 1;
  for (uint64_t exponent = (uint64_t)x[1]; exponent; exponent >>= 1) {
    if (exponent & 1) power *= base;
    base *= base;
  }
  *out = (int64_t)power;
  return true;
}

static bool int_and(PrimType type, const int64_t *x, int64_t *out) {
  (void)type;
  *out = x[0] & x[1];
  return true;
}

static bool int_or(PrimType type, const int64_t *x, int64_t *out) {
  (void)type;
  *out = x[0] | x[1];
  return true;
}

static bool int_xor(PrimType type, const int64_t *x, int64_t *out) {
  (void)type;
  *out = x[0] ^ x[1];
  return true;
}

static int shift_count(PrimType type, int64_t count) {
  return (int)(count & (prim_bits(type) - 1));
}

static bool int_shl(PrimType type, const int64_t *x, int64_t *out) {
  *out = (int64_t)((uint64_t)x[0] << shift_count(type, x[1]));
  return true;
}

static bool int_shr(PrimType type, const int64_t *x, int64_t *out) {
  int count = shift_count(type, x[1]);
  *out = prim_is_signed(type) ? x[0] >> count : (int64_t)((uint64_t)x[0] >> count);
  return true;
}

static bool less(PrimType type, int64_t a, int64_t b) {
  return prim_is_signed(type) ? a < b : (uint64_t)a < (uint64_t)b;
}

static bool int_min(PrimType type, const int64_t *x, int64_t *out) {
  *out = less(type, x[1], x[0]) ? x[1] : x[0];
  return true;
}

static bool int_max(PrimType type, const int64_t *x, int64_t *out) {
  *out = less(type, x[0], x[1]) ? x[1] : x[0];
  return true;
}

// The upper half of the product of twice the width.
static bool int_mul_hi(PrimType type, const int64_t *x, int64_t *out) {
  if (prim_is_signed(type)) {
    *out = (int64_t)(((Wide)x[0] * x[1]) >> prim_bits(type));
  } else {
    UnsignedWide product = (UnsignedWide)(uint64_t)x[0] * (uint64_t)x[1];
    *out = (int64_t)(product >> prim_bits(type));
  }
  return true;
}

static bool int_mad_hi(PrimType type, const int64_t *x, int64_t *out) {
  int_mul_hi(type, x, out);
  *out = (int64_t)((uint64_t)*out + (uint64_t)x[2]);
  return true;
}

static bool int_eq(PrimType type, const int64_t *x, int64_t *out) {
  (void)type;
  *out = x[0] == x[1];
  return true;
}

static bool int_ne(PrimType type, const int64_t *x, int64_t *out) {
  (void)type;
  *out = x[0] != x[1];
  return true;
}

static bool int_lt(PrimType type, const int64_t *x, int64_t *out) {
  *out = less(type, x[0], x[1]);
  return true;
}

static bool int_le(PrimType type, const int64_t *x, int64_t *out) {
  *out = !less(type, x[1], x[0]);
  return true;
}

static bool int_neg(PrimType type, const int64_t *x, int64_t *out) {
  (void)type;
  *out = (int64_t)(0 - (uint64_t)x[0]);
  return true;
}

static bool int_not(PrimType type, const int64_t *x, int64_t *out) {
  (void)type;
  *out = ~x[0];  // of a bool, too: one bit is kept
  return true;
}

static bool int_abs(PrimType type, const int64_t *x, int64_t *out) {
  bool negative = prim_is_signed(type) && x[0] < 0;
  *out = negative ? (int64_t)(0 - (uint64_t)x[0]) : x[0];
  return true;
}

static bool int_sgn(PrimType type, const int64_t *x, int64_t *out) {
  *out = prim_is_signed(type) && x[0] < 0 ? -1 : x[0] != 0;
  return true;
}

static uint64_t low_bits(PrimType type, int64_t x) {
  return (uint64_t)x & (UINT64_MAX >> (64 - prim_bits(type)));
}

static bool int_popc(PrimType type, const int64_t *x, int64_t *out) {
  *out = __builtin_popcountll(low_bits(type, x[0]));
  return true;
}

static bool int_clz(PrimType type, const int64_t *x, int64_t *out) {
  uint64_t bits = low_bits(type, x[0]);
  *out = bits ? __builtin_clzll(bits) - (64 - prim_bits(type)) : prim_bits(type);
  return true;
}

static bool int_ctz(PrimType type, const int64_t *x, int64_t *out) {
  uint64_t bits = low_bits(type, x[0]);
  *out = bits ? __builtin_ctzll(bits) : prim_bits(type);
  return true;
}

static IntFn *const int_fns[OP_COUNT] = {
  [OP_ADD] = int_add, [OP_SUB] = int_sub,       [OP_MUL] = int_mul,
  [OP_DIV] = int_div, [OP_MOD] = int_mod,       [OP_QUOT] = int_quot,
  [OP_REM] = int_rem, [OP_POW] = int_pow,       [OP_AND] = int_and,
  [OP_OR] = int_or,   [OP_XOR] = int_xor,       [OP_SHL] = int_shl,
  [OP_SHR] = int_shr, [OP_MIN] = int_min,       [OP_MAX] = int_max,
  [OP_EQ] = int_eq,   [OP_NE] = int_ne,         [OP_LT] = int_lt,
  [OP_LE] = int_le,   [OP_LAND] = int_and,      [OP_LOR] = int_or,
  [OP_NEG] = int_neg, [OP_NOT] = int_not,       [OP_ABS] = int_abs,
  [OP_SGN] = int_sgn, [OP_POPC] = int_popc,     [OP_CLZ] = int_clz,
  [OP_CTZ] = int_ctz, [OP_MUL_HI] = int_mul_hi, [OP_MAD_HI] = int_mad_hi,
};

static bool apply_int(PrimOp op, PrimType type, const Prim *args, Prim *out) {
  int64_t x[3] = { 0 }, result = 0;
  for (int i = 0; i < op_arity(op); i++)
    x[i] = args[i].u.i;
  if (!int_fns[op](type, x, &result)) return false;
  *out = prim_int(op_result(op, type), result);
  return true;
}

// Floats.  f32 is computed in float throughout, by the float functions of libm; only what libm
// lacks (the functions of half turns) is computed in double and rounded.

typedef struct UnaryFn {
  float (*f32)(float);
  double (*f64)(double);
} UnaryFn;

typedef struct BinaryFn {
  float (*f32)(float, float);
  double (*f64)(double, double);
} BinaryFn;

typedef struct TernaryFn {
  float (*f32)(float, float, float);
  double (*f64)(double, double, double);
} TernaryFn;

static float add32(float a, float b) { return a + b; }
static double add64(double a, double b) { return a + b; }
static float sub32(float a, float b) { return a - b; }
static double sub64(double a, double b) { return a - b; }
static float mul32(float a, float b) { return a * b; }
static double mul64(double a, double b) { return a * b; }
static float div32(float a, float b) { return a / b; }
static double div64(double a, double b) { return a / b; }
static float neg32(float a) { return -a; }
static double neg64(double a) { return -a; }
static float lerp32(float a, float b, float t) { return a + (b - a) * t; }
static double lerp64(double a, double b, double t) { return a + (b - a) * t; }
static float mad32(float a, float b, float c) { return a * b + c; }
static double mad64(double a, double b, double c) { return a * b + c; }

static double sgn64(double a) { return isnan(a) ? a : (a > 0) - (a < 0); }
static float sgn32(float a) { return (float)sgn64((double)a); }

// lgamma itself writes to a global variable.
static float lgamma32(float a) {
  int sign = 0;
  return lgammaf_r(a, &sign);
}

static double lgamma64(double a) {
  int sign = 0;
  return lgamma_r(a, &sign);
}

// sin(pi * x), exact where x is a multiple of 1/2: x is reduced before pi comes in.
static double sinpi64(double x) {
  double turn = fmod(fabs(x), 2);  // exact
  double sign = turn >= 1 ? -1 : 1;
  double half = turn >= 1 ? turn - 1 : turn;
  double folded = half > 0.5 ? 1 - half : half;
  return copysign(1, x) * sign * sin(M_PI * folded);
}

static double cospi64(double x) {
  double turn = fmod(fabs(x), 2);
  double half = turn > 1 ? 2 - turn : turn;
  return half > 0.5 ? -sin(M_PI * (half - 0.5)) : sin(M_PI * (0.5 - half));
}

static double tanpi64(double x) { return sinpi64(x) / cospi64(x); }
static double asinpi64(double x) { return asin(x) / M_PI; }
static double acospi64(double x) { return acos(x) / M_PI; }
static double atanpi64(double x) { return atan(x) / M_PI; }
static double atan2pi64(double y, double x) { return atan2(y, x) / M_PI; }
static float sinpi32(float x) { return (float)sinpi64((double)x); }
static float cospi32(float x) { return (float)cospi64((double)x); }
static float tanpi32(float x) { return (float)tanpi64((double)x); }
static float asinpi32(float x) { return (float)asinpi64((double)x); }
static float acospi32(float x) { return (float)acospi64((double)x); }
static float atanpi32(float x) { return (float)atanpi64((double)x); }
static float atan2pi32(float y, float x) {
  return (float)atan2pi64((double)y, (double)x);
}

static const UnaryFn unary_fns[OP_COUNT] = {
  [OP_NEG] = { neg32, neg64 },
  [OP_ABS] = { fabsf, fabs },
  [OP_SGN] = { sgn32, sgn64 },
  [OP_SQRT] = { sqrtf, sqrt },
  [OP_CBRT] = { cbrtf, cbrt },
  [OP_EXP] = { expf, exp },
  [OP_EXP2] = { exp2f, exp2 },
  [OP_EXP10] = { exp10f, exp10 },
  [OP_EXPM1] = { expm1f, expm1 },
  [OP_LOG] = { logf, log },
  [OP_LOG2] = { log2f, log2 },
  [OP_LOG10] = { log10f, log10 },
  [OP_LOG1P] = { log1pf, log1p },
  [OP_SIN] = { sinf, sin },
  [OP_COS] = { cosf, cos },
  [OP_TAN] = { tanf, tan },
  [OP_ASIN] = { asinf, asin },
  [OP_ACOS] = { acosf, acos },
  [OP_ATAN] = { atanf, atan },
  [OP_SINPI] = { sinpi32, sinpi64 },
  [OP_COSPI] = { cospi32, cospi64 },
  [OP_TANPI] = { tanpi32, tanpi64 },
  [OP_ASINPI] = { asinpi32, asinpi64 },
  [OP_ACOSPI] = { acospi32, acospi64 },
  [OP_ATANPI] = { atanpi32, atanpi64 },
  [OP_SINH] = { sinhf, sinh },
  [OP_COSH] = { coshf, cosh },
  [OP_TANH] = { tanhf, tanh },
  [OP_ASINH] = { asinhf, asinh },
  [OP_ACOSH] = { acoshf, acosh },
  [OP_ATANH] = { atanhf, atanh },
  [OP_ERF] = { erff, erf },
  [OP_ERFC] = { erfcf, erfc },
  [OP_GAMMA] = { tgammaf, tgamma },
  [OP_LGAMMA] = { lgamma32, lgamma64 },
  [OP_FLOOR] = { floorf, floor },
  [OP_CEIL] = { ceilf, ceil },
  [OP_TRUNC] = { truncf, trunc },
  [OP_ROUND] = { rintf, rint },
};

static const BinaryFn binary_fns[OP_COUNT] = {
  [OP_ADD] = { add32, add64 },
  [OP_SUB] = { sub32, sub64 },
  [OP_MUL] = { mul32, mul64 },
  [OP_DIV] = { div32, div64 },
  [OP_MOD] = { fmodf, fmod },
  [OP_POW] = { powf, pow },
  [OP_MIN] = { fminf, fmin },
  [OP_MAX] = { fmaxf, fmax },
  [OP_ATAN2] = { atan2f, atan2 },
  [OP_ATAN2PI] = { atan2pi32, atan2pi64 },
  [OP_HYPOT] = { hypotf, hypot },
  [OP_COPYSIGN] = { copysignf, copysign },
  [OP_NEXTAFTER] = { nextafterf, nextafter },
};

static const TernaryFn ternary_fns[OP_COUNT] = {
  [OP_LERP] = { lerp32, lerp64 },
  [OP_FMA] = { fmaf, fma },
  [OP_MAD] = { mad32, mad64 },
};

static bool is_f32(const Prim *args) { return args[0].type == PRIM_F32; }

static Prim apply_unary(UnaryFn fn, const Prim *args) {
  if (is_f32(args)) return prim_f32(fn.f32(args[0].u.f32));
  return prim_f64(fn.f64(args[0].u.f64));
}

static Prim apply_binary(BinaryFn fn, const Prim *args) {
  if (is_f32(args)) return prim_f32(fn.f32(args[0].u.f32, args[1].u.f32));
  return prim_f64(fn.f64(args[0].u.f64, args[1].u.f64));
}

static Prim apply_ternary(TernaryFn fn, const Prim *args) {
  if (is_f32(args)) return prim_f32(fn.f32(args[0].u.f32, args[1].u.f32, args[2].u.f32));
  return prim_f64(fn.f64(args[0].u.f64, args[1].u.f64, args[2].u.f64));
}

static Prim apply_ldexp(const Prim *args) {
  int exponent = (int)args[1].u.i;
  if (is_f32(args)) return prim_f32(ldexpf(args[0].u.f32, exponent));
  return prim_f64(ldexp(args[0].u.f64, exponent));
}

// The questions about floats; every f32 is an f64, so one comparison serves both.
static bool float_holds(PrimOp op, const Prim *args) {
  double a = prim_to_double(args[0]);
  if (op == OP_ISNAN) return isnan(a);
  if (op == OP_ISINF) return isinf(a);
  double b = prim_to_double(args[1]);
  if (op == OP_EQ) return a == b;
  if (op == OP_NE) return a != b;
  return op == OP_LT ? a < b : a <= b;
}

static Prim apply_float(PrimOp op, const Prim *args);

// Computed in f32 and rounded.  For + - * / and the square root that is as if rounded once, since
// f32 has two bits more than twice those of f16.
static Prim apply_rounded(PrimOp op, const Prim *args) {
  Prim wide[3];
  for (int i = 0; i < op_arity(op); i++)
    wide[i] = args[i].type == PRIM_F16 ? prim_convert(PRIM_F32, args[i]) : args[i];
  Prim result = apply_float(op, wide);
  return result.type == PRIM_F32 ? prim_convert(PRIM_F16, result) : result;
}

static Prim half_next(const Prim *args) {
  double from = prim_to_double(args[0]), to = prim_to_double(args[1]);
  if (isnan(from) || isnan(to)) return prim_float(PRIM_F16, NAN);
  if (from == to) return args[1];
  if (from == 0) return prim_float(PRIM_F16, copysign(0x1p-24, to));
  bool outwards = (from < to) == (from > 0);
  return prim_of_bits(PRIM_F16, (uint64_t)(args[0].u.i + (outwards ? 1 : -1)));
}

// f64 holds the product, and the sum of it and an f16 as well unless that rounds to one of both.
static Prim half_fma(const Prim *args) {
  double product = prim_to_double(args[0]) * prim_to_double(args[1]);
  return prim_float(PRIM_F16, product + prim_to_double(args[2]));
}

static Prim half_mad(const Prim *args) {
  Prim sum[2] = { apply_rounded(OP_MUL, args), args[2] };
  return apply_rounded(OP_ADD, sum);
}

static Prim half_lerp(const Prim *args) {
  Prim ends[2] = { args[1], args[0] };
  Prim mad[3] = { apply_rounded(OP_SUB, ends), args[2], args[0] };
  return half_mad(mad);
}

static Prim apply_half(PrimOp op, const Prim *args) {
  if (op == OP_NEXTAFTER) return half_next(args);
  if (op == OP_FMA) return half_fma(args);
  if (op == OP_MAD) return half_mad(args);
  return op == OP_LERP ? half_lerp(args) : apply_rounded(op, args);
}

static Prim apply_float(PrimOp op, const Prim *args) {
  if (args[0].type == PRIM_F16) return apply_half(op, args);
  if (unary_fns[op].f32) return apply_unary(unary_fns[op], args);
  if (binary_fns[op].f32) return apply_binary(binary_fns[op], args);
  if (ternary_fns[op].f32) return apply_ternary(ternary_fns[op], args);
  if (op == OP_LDEXP) return apply_ldexp(args);
  return prim_bool(float_holds(op, args));
}

bool prim_apply(PrimOp op, const Prim *args, Prim *out) {
  PrimType type = args[0].type;
  if (!prim_is_float(type)) return apply_int(op, type, args, out);
  *out = apply_float(op, args);
  return true;
}
