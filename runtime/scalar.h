// Begin scalar.h: the scalar operators, in the words that C, C++ and OpenCL C share.
//
// Semantics are those of compiler/base/prim.def, where the same operators have their rows; names
// as contract.h says.  Integers wrap: sums and products are computed unsigned, in W (32 bits or
// 64), where no promotion to int can overflow.
#ifdef FLC_ON_DEVICE
#  define FLC_FN        static __attribute__((unused)) inline
#  define FLC_M32(name) name
#  define FLC_CLZ32(x)  ((int)clz((uint32_t)(x)))
#  define FLC_CLZ64(x)  ((int)clz((uint64_t)(x)))
#  define FLC_POPC32(x) ((int)popcount((uint32_t)(x)))
#  define FLC_POPC64(x) ((int)popcount((uint64_t)(x)))
#else
#  define FLC_FN        static __attribute__((unused)) inline
#  define FLC_M32(name) name##f
#  define FLC_F64
#  define FLC_CLZ32(x)  ((x) ? __builtin_clz((uint32_t)(x)) : 32)
#  define FLC_CLZ64(x)  ((x) ? __builtin_clzll((uint64_t)(x)) : 64)
#  define FLC_POPC32(x) __builtin_popcount((uint32_t)(x))
#  define FLC_POPC64(x) __builtin_popcountll((uint64_t)(x))
#endif
#define FLC_M64(name) name

// Floats and vectors of them, evaluated once each; may be rounded once if FLC_CONTRACT says so.
// No function: then a loop's sums would not be known as such.  (GPUs: prelude.cl.)
#if defined(FLC_ON_DEVICE) && defined(FLC_CONTRACT) && defined(__clang__) && \
    !defined(FLC_GPU)
#  define FLC_MAD(a, b, c) ({ _Pragma("clang fp contract(on)")(a) * (b) + (c); })
#else
#  define FLC_MAD(a, b, c) ((a) * (b) + (c))
#endif
#define flc_mad_f32(a, b, c) FLC_MAD(a, b, c)
#define flc_mad_f64(a, b, c) FLC_MAD(a, b, c)

// What signed and unsigned integers of one width share.
#define FLC_INT_OPS(t, T, U, W, bits, w)                                      \
  FLC_FN T flc_add_##t(T a, T b) { return (T)((W)a + (W)b); }                 \
  FLC_FN T flc_sub_##t(T a, T b) { return (T)((W)a - (W)b); }                 \
  FLC_FN T flc_mul_##t(T a, T b) { return (T)((W)a * (W)b); }                 \
  FLC_FN T flc_and_##t(T a, T b) { return (T)(a & b); }                       \
  FLC_FN T flc_or_##t(T a, T b) { return (T)(a | b); }                        \
  FLC_FN T flc_xor_##t(T a, T b) { return (T)(a ^ b); }                       \
  FLC_FN T flc_shl_##t(T a, T b) { return (T)((W)a << ((W)b & (bits - 1))); } \
  FLC_FN T flc_shr_##t(T a, T b) { return (T)(a >> ((W)b & (bits - 1))); }    \
  FLC_FN T flc_min_##t(T a, T b) { return b < a ? b : a; }                    \
  FLC_FN T flc_max_##t(T a, T b) { return a < b ? b : a; }                    \
  FLC_FN bool flc_eq_##t(T a, T b) { return a == b; }                         \
  FLC_FN bool flc_ne_##t(T a, T b) { return a != b; }                         \
  FLC_FN bool flc_lt_##t(T a, T b) { return a < b; }                          \
  FLC_FN bool flc_le_##t(T a, T b) { return a <= b; }                         \
  FLC_FN T flc_neg_##t(T a) { return (T)((W)0 - (W)a); }                      \
  FLC_FN T flc_not_##t(T a) { return (T)~a; }                                 \
  FLC_FN int32_t flc_popc_##t(T a) { return FLC_POPC##w((U)a); }              \
  FLC_FN int32_t flc_clz_##t(T a) { return FLC_CLZ##w((U)a) - (w - bits); }   \
  FLC_FN int32_t flc_ctz_##t(T a) {                                           \
    return FLC_POPC##w((U)((((W)a & ((W)0 - (W)a)) - (W)1)));                 \
  }                                                                           \
  FLC_FN T flc_mad_hi_##t(T a, T b, T c) { return (T)((W)flc_mul_hi_##t(a, b) + (W)c); }

// The power by squaring, those of two by a shift; the exponent is not negative.
#define FLC_INT_POW(t, T, U, W)                                          \
  FLC_FN T flc_pow_##t(T a, T b) {                                       \
    W base = (W)a, power = 1;                                            \
    if (base == 2) return (T)((U)b < 8 * sizeof(W) ? power << (U)b : 0); \
    for (U exponent = (U)b; exponent; exponent = (U)(exponent >> 1)) {   \
      if (exponent & 1) power *= base;                                   \
      base *= base;                                                      \
    }                                                                    \
    return (T)power;                                                     \
  }

// GPUs divide numbers of 64 bits slowly, and most that come are short and not negative.
#define FLC_SHORT_32(a, b) 0
#ifdef FLC_GPU
#  define FLC_SHORT_64(a, b) (((uint64_t)((a) | (b)) >> 32) == 0)
#else
#  define FLC_SHORT_64(a, b) 0
#endif

// Without branches, so that compilers make one division of quotient and remainder.
FLC_FN uint32_t flc_short_quot(uint32_t a, uint32_t b) {
  uint32_t q = a / (b + (b == 0));
  return b == 0 ? 0 : q;
}
FLC_FN uint32_t flc_short_rem(uint32_t a, uint32_t b) {
  uint32_t r = a % (b + (b == 0));
  return b == 0 ? 0 : r;
}

// Division: by 0 gives 0; by -1, the only quotient that overflows, wraps.  `div_by` and `mod_by`
// are for positive constants: of numbers that are not negative compilers divide by fewer
// instructions, and of -1 - a the quotient is -1 less that of a.
#define FLC_SIGNED_OPS(t, T, U, W, w)                                            \
  FLC_FN T flc_quot_##t(T a, T b) {                                              \
    if (FLC_SHORT_##w(a, b)) return (T)flc_short_quot((uint32_t)a, (uint32_t)b); \
    return (T)(b == 0 ? 0 : b == -1 ? (T)((W)0 - (W)a) : a / b);                 \
  }                                                                              \
  FLC_FN T flc_rem_##t(T a, T b) {                                               \
    if (FLC_SHORT_##w(a, b)) return (T)flc_short_rem((uint32_t)a, (uint32_t)b);  \
    return (T)(b == 0 || b == -1 ? 0 : a % b);                                   \
  }                                                                              \
  FLC_FN T flc_div_##t(T a, T b) {                                               \
    T r = flc_rem_##t(a, b);                                                     \
    return (T)((W)flc_quot_##t(a, b) - (W)(r != 0 && (r < 0) != (b < 0)));       \
  }                                                                              \
  FLC_FN T flc_mod_##t(T a, T b) {                                               \
    T r = flc_rem_##t(a, b);                                                     \
    return (T)(r != 0 && (r < 0) != (b < 0) ? r + b : r);                        \
  }                                                                              \
  FLC_FN T flc_div_by_##t(T a, T b) {                                            \
    T sign = (T)(a >> (8 * sizeof(T) - 1));                                      \
    return (T)((U)((U)(a ^ sign) / (U)b) ^ (U)sign);                             \
  }                                                                              \
  FLC_FN T flc_mod_by_##t(T a, T b) {                                            \
    return (T)((W)a - (W)flc_div_by_##t(a, b) * (W)b);                           \
  }                                                                              \
  FLC_FN T flc_abs_##t(T a) { return (T)(a < 0 ? (W)0 - (W)a : (W)a); }          \
  FLC_FN T flc_sgn_##t(T a) { return (T)((a > 0) - (a < 0)); }

#define FLC_UNSIGNED_OPS(t, T, w)                                                \
  FLC_FN T flc_quot_##t(T a, T b) {                                              \
    if (FLC_SHORT_##w(a, b)) return (T)flc_short_quot((uint32_t)a, (uint32_t)b); \
    return (T)(b == 0 ? 0 : a / b);                                              \
  }                                                                              \
  FLC_FN T flc_rem_##t(T a, T b) {                                               \
    if (FLC_SHORT_##w(a, b)) return (T)flc_short_rem((uint32_t)a, (uint32_t)b);  \
    return (T)(b == 0 ? 0 : a % b);                                              \
  }                                                                              \
  FLC_FN T flc_div_##t(T a, T b) { return flc_quot_##t(a, b); }                  \
  FLC_FN T flc_mod_##t(T a, T b) { return flc_rem_##t(a, b); }                   \
  FLC_FN T flc_abs_##t(T a) { return a; }                                        \
  FLC_FN T flc_sgn_##t(T a) { return (T)(a != 0); }

// The upper half of the product, through a type of twice the width.
#define FLC_MUL_HI(t, T, D, bits) \
  FLC_FN T flc_mul_hi_##t(T a, T b) { return (T)(((D)a * (D)b) >> bits); }

FLC_MUL_HI(i8, int8_t, int32_t, 8)
FLC_MUL_HI(i16, int16_t, int32_t, 16)
FLC_MUL_HI(i32, int32_t, int64_t, 32)
FLC_MUL_HI(u8, uint8_t, uint32_t, 8)
FLC_MUL_HI(u16, uint16_t, uint32_t, 16)
FLC_MUL_HI(u32, uint32_t, uint64_t, 32)
#ifdef FLC_ON_DEVICE
FLC_FN int64_t flc_mul_hi_i64(int64_t a, int64_t b) { return mul_hi(a, b); }
FLC_FN uint64_t flc_mul_hi_u64(uint64_t a, uint64_t b) { return mul_hi(a, b); }
#else
__extension__ typedef __int128 FlcWide;
__extension__ typedef unsigned __int128 FlcUnsignedWide;
FLC_MUL_HI(i64, int64_t, FlcWide, 64)
FLC_MUL_HI(u64, uint64_t, FlcUnsignedWide, 64)
#endif

#define FLC_SIGNED(t, T, U, W, bits, w) \
  FLC_INT_OPS(t, T, U, W, bits, w)      \
  FLC_INT_POW(t, T, U, W)               \
  FLC_SIGNED_OPS(t, T, U, W, w)
#define FLC_UNSIGNED(t, T, W, bits, w) \
  FLC_INT_OPS(t, T, T, W, bits, w)     \
  FLC_INT_POW(t, T, T, W)              \
  FLC_UNSIGNED_OPS(t, T, w)

FLC_SIGNED(i8, int8_t, uint8_t, uint32_t, 8, 32)
FLC_SIGNED(i16, int16_t, uint16_t, uint32_t, 16, 32)
FLC_SIGNED(i32, int32_t, uint32_t, uint32_t, 32, 32)
FLC_SIGNED(i64, int64_t, uint64_t, uint64_t, 64, 64)
FLC_UNSIGNED(u8, uint8_t, uint32_t, 8, 32)
FLC_UNSIGNED(u16, uint16_t, uint32_t, 16, 32)
FLC_UNSIGNED(u32, uint32_t, uint32_t, 32, 32)
FLC_UNSIGNED(u64, uint64_t, uint64_t, 64, 64)

FLC_FN bool flc_eq_bool(bool a, bool b) { return a == b; }
FLC_FN bool flc_ne_bool(bool a, bool b) { return a != b; }
FLC_FN bool flc_lt_bool(bool a, bool b) { return !a & b; }
FLC_FN bool flc_le_bool(bool a, bool b) { return !a | b; }
FLC_FN bool flc_land_bool(bool a, bool b) { return a & b; }
FLC_FN bool flc_lor_bool(bool a, bool b) { return a | b; }
FLC_FN bool flc_not_bool(bool a) { return !a; }

// ---- floats

#define FLC_UNARY(op, f, t, F, M) \
  FLC_FN F flc_##op##_##t(F a) { return M(f)(a); }
#define FLC_BINARY(op, f, t, F, M) \
  FLC_FN F flc_##op##_##t(F a, F b) { return M(f)(a, b); }

#define FLC_FLOAT_BASIC(t, F, M)                                            \
  FLC_FN F flc_add_##t(F a, F b) { return a + b; }                          \
  FLC_FN F flc_sub_##t(F a, F b) { return a - b; }                          \
  FLC_FN F flc_mul_##t(F a, F b) { return a * b; }                          \
  FLC_FN F flc_div_##t(F a, F b) { return a / b; }                          \
  FLC_FN F flc_neg_##t(F a) { return -a; }                                  \
  FLC_FN bool flc_eq_##t(F a, F b) { return a == b; }                       \
  FLC_FN bool flc_ne_##t(F a, F b) { return a != b; }                       \
  FLC_FN bool flc_lt_##t(F a, F b) { return a < b; }                        \
  FLC_FN bool flc_le_##t(F a, F b) { return a <= b; }                       \
  FLC_FN bool flc_isnan_##t(F a) { return a != a; }                         \
  FLC_FN bool flc_isinf_##t(F a) { return (a == a) & (a - a != a - a); }    \
  FLC_FN F flc_sgn_##t(F a) { return a != a ? a : (F)((a > 0) - (a < 0)); } \
  FLC_FN F flc_lerp_##t(F a, F b, F x) { return a + (b - a) * x; }          \
  FLC_FN F flc_fma_##t(F a, F b, F c) { return M(fma)(a, b, c); }           \
  FLC_FN F flc_ldexp_##t(F a, int32_t n) { return M(ldexp)(a, n); }

#define FLC_FLOAT_LIBRARY(t, F, M)                                                   \
  FLC_BINARY(pow, pow, t, F, M)                                                      \
  FLC_BINARY(mod, fmod, t, F, M)                                                     \
  /* One is NaN: the other.  Written out, since calls of fmax are not vectorised. */ \
  FLC_FN F flc_min_##t(F a, F b) { return a == a ? (b < a ? b : a) : b; }            \
  FLC_FN F flc_max_##t(F a, F b) { return a == a ? (a < b ? b : a) : b; }            \
  FLC_UNARY(abs, fabs, t, F, M)                                                      \
  FLC_UNARY(sqrt, sqrt, t, F, M)                                                     \
  FLC_UNARY(cbrt, cbrt, t, F, M)                                                     \
  FLC_UNARY(exp, exp, t, F, M)                                                       \
  FLC_UNARY(exp2, exp2, t, F, M)                                                     \
  FLC_UNARY(exp10, exp10, t, F, M)                                                   \
  FLC_UNARY(expm1, expm1, t, F, M)                                                   \
  FLC_UNARY(log, log, t, F, M)                                                       \
  FLC_UNARY(log2, log2, t, F, M)                                                     \
  FLC_UNARY(log10, log10, t, F, M)                                                   \
  FLC_UNARY(log1p, log1p, t, F, M)                                                   \
  FLC_UNARY(sin, sin, t, F, M)                                                       \
  FLC_UNARY(cos, cos, t, F, M)                                                       \
  FLC_UNARY(tan, tan, t, F, M)                                                       \
  FLC_UNARY(asin, asin, t, F, M)                                                     \
  FLC_UNARY(acos, acos, t, F, M)                                                     \
  FLC_UNARY(atan, atan, t, F, M)                                                     \
  FLC_UNARY(sinh, sinh, t, F, M)                                                     \
  FLC_UNARY(cosh, cosh, t, F, M)                                                     \
  FLC_UNARY(tanh, tanh, t, F, M)                                                     \
  FLC_UNARY(asinh, asinh, t, F, M)                                                   \
  FLC_UNARY(acosh, acosh, t, F, M)                                                   \
  FLC_UNARY(atanh, atanh, t, F, M)                                                   \
  FLC_BINARY(atan2, atan2, t, F, M)                                                  \
  FLC_BINARY(hypot, hypot, t, F, M)                                                  \
  FLC_BINARY(copysign, copysign, t, F, M)                                            \
  FLC_BINARY(nextafter, nextafter, t, F, M)                                          \
  FLC_UNARY(erf, erf, t, F, M)                                                       \
  FLC_UNARY(erfc, erfc, t, F, M)                                                     \
  FLC_UNARY(gamma, tgamma, t, F, M)                                                  \
  FLC_UNARY(floor, floor, t, F, M)                                                   \
  FLC_UNARY(ceil, ceil, t, F, M)                                                     \
  FLC_UNARY(trunc, trunc, t, F, M)

FLC_FLOAT_BASIC(f32, float, FLC_M32)
FLC_FLOAT_LIBRARY(f32, float, FLC_M32)
#ifdef FLC_F64
FLC_FLOAT_BASIC(f64, double, FLC_M64)
FLC_FLOAT_LIBRARY(f64, double, FLC_M64)
#endif

// Processors have an instruction, which not every OpenCL makes of its own rint (PoCL).
#ifdef FLC_HAS_RINT
#  define FLC_RINT32(a) __builtin_rintf(a)
#  define FLC_RINT64(a) __builtin_rint(a)
#else
#  define FLC_RINT32(a) FLC_M32(rint)(a)
#  define FLC_RINT64(a) rint(a)
#endif
FLC_FN float flc_round_f32(float a) { return FLC_RINT32(a); }
#ifdef FLC_F64
FLC_FN double flc_round_f64(double a) { return FLC_RINT64(a); }
#endif

// lgamma writes to a global variable in C; the functions of half turns exist in OpenCL only.
#ifdef FLC_ON_DEVICE
#  define FLC_FLOAT_EXTRA(t, F)              \
    FLC_UNARY(lgamma, lgamma, t, F, FLC_M32) \
    FLC_UNARY(sinpi, sinpi, t, F, FLC_M32)   \
    FLC_UNARY(cospi, cospi, t, F, FLC_M32)   \
    FLC_UNARY(tanpi, tanpi, t, F, FLC_M32)   \
    FLC_UNARY(asinpi, asinpi, t, F, FLC_M32) \
    FLC_UNARY(acospi, acospi, t, F, FLC_M32) \
    FLC_UNARY(atanpi, atanpi, t, F, FLC_M32) \
    FLC_BINARY(atan2pi, atan2pi, t, F, FLC_M32)
FLC_FLOAT_EXTRA(f32, float)
#  ifdef FLC_F64
FLC_FLOAT_EXTRA(f64, double)
#  endif
#else
FLC_FN float flc_lgamma_f32(float a) {
  int sign = 0;
  return lgammaf_r(a, &sign);
}

FLC_FN double flc_lgamma_f64(double a) {
  int sign = 0;
  return lgamma_r(a, &sign);
}

// x is reduced before pi comes in, so that multiples of 1/2 give exact results.
FLC_FN double flc_sinpi_f64(double x) {
  double turn = fmod(fabs(x), 2);
  double sign = turn >= 1 ? -1 : 1;
  double half = turn >= 1 ? turn - 1 : turn;
  double folded = half > 0.5 ? 1 - half : half;
  return copysign(1, x) * sign * sin(M_PI * folded);
}

FLC_FN double flc_cospi_f64(double x) {
  double turn = fmod(fabs(x), 2);
  double half = turn > 1 ? 2 - turn : turn;
  return half > 0.5 ? -sin(M_PI * (half - 0.5)) : sin(M_PI * (0.5 - half));
}

FLC_FN double flc_tanpi_f64(double x) { return flc_sinpi_f64(x) / flc_cospi_f64(x); }
FLC_FN double flc_asinpi_f64(double x) { return asin(x) / M_PI; }
FLC_FN double flc_acospi_f64(double x) { return acos(x) / M_PI; }
FLC_FN double flc_atanpi_f64(double x) { return atan(x) / M_PI; }
FLC_FN double flc_atan2pi_f64(double y, double x) { return atan2(y, x) / M_PI; }
FLC_FN float flc_sinpi_f32(float x) { return (float)flc_sinpi_f64((double)x); }
FLC_FN float flc_cospi_f32(float x) { return (float)flc_cospi_f64((double)x); }
FLC_FN float flc_tanpi_f32(float x) { return (float)flc_tanpi_f64((double)x); }
FLC_FN float flc_asinpi_f32(float x) { return (float)flc_asinpi_f64((double)x); }
FLC_FN float flc_acospi_f32(float x) { return (float)flc_acospi_f64((double)x); }
FLC_FN float flc_atanpi_f32(float x) { return (float)flc_atanpi_f64((double)x); }
FLC_FN float flc_atan2pi_f32(float y, float x) {
  return (float)flc_atan2pi_f64((double)y, (double)x);
}
#endif

// ---- conversions

// Plain casts: integers wrap or extend, floats round once.
#define FLC_CAST(from, From, to, To) \
  FLC_FN To flc_##from##_to_##to(From a) { return (To)a; }
// From signed to wider unsigned, where the bits of U are followed by zeros.
#define FLC_EXTEND(from, From, U, to, To) \
  FLC_FN To flc_##from##_to_##to(From a) { return (To)(U)a; }
#define FLC_TO_BOOL(from, From) \
  FLC_FN bool flc_##from##_to_bool(From a) { return a != 0; }

#define FLC_FROM_INT(from, From)   \
  FLC_CAST(from, From, f32, float) \
  FLC_TO_BOOL(from, From)
#define FLC_INT_PAIR(a, A, b, B)      FLC_CAST(a, A, b, B) FLC_CAST(b, B, a, A)
#define FLC_MIXED_PAIR(a, A, U, b, B) FLC_EXTEND(a, A, U, b, B) FLC_CAST(b, B, a, A)

FLC_INT_PAIR(i8, int8_t, i16, int16_t)
FLC_INT_PAIR(i8, int8_t, i32, int32_t)
FLC_INT_PAIR(i8, int8_t, i64, int64_t)
FLC_INT_PAIR(i8, int8_t, u8, uint8_t)
FLC_MIXED_PAIR(i8, int8_t, uint8_t, u16, uint16_t)
FLC_MIXED_PAIR(i8, int8_t, uint8_t, u32, uint32_t)
FLC_MIXED_PAIR(i8, int8_t, uint8_t, u64, uint64_t)
FLC_INT_PAIR(i16, int16_t, i32, int32_t)
FLC_INT_PAIR(i16, int16_t, i64, int64_t)
FLC_INT_PAIR(i16, int16_t, u8, uint8_t)
FLC_INT_PAIR(i16, int16_t, u16, uint16_t)
FLC_MIXED_PAIR(i16, int16_t, uint16_t, u32, uint32_t)
FLC_MIXED_PAIR(i16, int16_t, uint16_t, u64, uint64_t)
FLC_INT_PAIR(i32, int32_t, i64, int64_t)
FLC_INT_PAIR(i32, int32_t, u8, uint8_t)
FLC_INT_PAIR(i32, int32_t, u16, uint16_t)
FLC_INT_PAIR(i32, int32_t, u32, uint32_t)
FLC_MIXED_PAIR(i32, int32_t, uint32_t, u64, uint64_t)
FLC_INT_PAIR(i64, int64_t, u8, uint8_t)
FLC_INT_PAIR(i64, int64_t, u16, uint16_t)
FLC_INT_PAIR(i64, int64_t, u32, uint32_t)
FLC_INT_PAIR(i64, int64_t, u64, uint64_t)
FLC_INT_PAIR(u8, uint8_t, u16, uint16_t)
FLC_INT_PAIR(u8, uint8_t, u32, uint32_t)
FLC_INT_PAIR(u8, uint8_t, u64, uint64_t)
FLC_INT_PAIR(u16, uint16_t, u32, uint32_t)
FLC_INT_PAIR(u16, uint16_t, u64, uint64_t)
FLC_INT_PAIR(u32, uint32_t, u64, uint64_t)
FLC_FROM_INT(i8, int8_t)
FLC_FROM_INT(i16, int16_t)
FLC_FROM_INT(i32, int32_t)
FLC_FROM_INT(i64, int64_t)
FLC_FROM_INT(u8, uint8_t)
FLC_FROM_INT(u16, uint16_t)
FLC_FROM_INT(u32, uint32_t)
FLC_FROM_INT(u64, uint64_t)
FLC_CAST(bool, bool, i8, int8_t)
FLC_CAST(bool, bool, i16, int16_t)
FLC_CAST(bool, bool, i32, int32_t)
FLC_CAST(bool, bool, i64, int64_t)
FLC_CAST(bool, bool, u8, uint8_t)
FLC_CAST(bool, bool, u16, uint16_t)
FLC_CAST(bool, bool, u32, uint32_t)
FLC_CAST(bool, bool, u64, uint64_t)
FLC_CAST(bool, bool, f32, float)

// Truncates; NaN and infinities give 0, what is out of range the nearest value.  Of few bits all
// values are exact floats, and code without branches becomes vectors.
#define FLC_FLOAT_TO_SMALL(from, From, to, To, least, greatest)    \
  FLC_FN To flc_##from##_to_##to(From a) {                         \
    From b = a - a == 0 ? a : 0;                                   \
    b = b < (From)least ? (From)least : b;                         \
    return (To)(int32_t)(b > (From)greatest ? (From)greatest : b); \
  }
// `high` is one more than the greatest value, a power of two, and `low` the least value: both exact
// floats.  What is in range, nearly all, comes first: processors foresee two comparisons.
#define FLC_FLOAT_TO_INT(from, From, to, To, low, high, least, greatest) \
  FLC_FN To flc_##from##_to_##to(From a) {                               \
    if (a >= (From)low && a < (From)high) return (To)a;                  \
    if (a - a != 0) return 0;                                            \
    return a < 0 ? least : greatest;                                     \
  }
#define FLC_FROM_FLOAT(from, From)                                                     \
  FLC_FLOAT_TO_SMALL(from, From, i8, int8_t, INT8_MIN, INT8_MAX)                       \
  FLC_FLOAT_TO_SMALL(from, From, i16, int16_t, INT16_MIN, INT16_MAX)                   \
  FLC_FLOAT_TO_INT(from, From, i32, int32_t, -2147483648.0f, 2147483648.0f, INT32_MIN, \
                   INT32_MAX)                                                          \
  FLC_FLOAT_TO_INT(from, From, i64, int64_t, -9223372036854775808.0f,                  \
                   9223372036854775808.0f, INT64_MIN, INT64_MAX)                       \
  FLC_FLOAT_TO_SMALL(from, From, u8, uint8_t, 0, UINT8_MAX)                            \
  FLC_FLOAT_TO_SMALL(from, From, u16, uint16_t, 0, UINT16_MAX)                         \
  FLC_FLOAT_TO_INT(from, From, u32, uint32_t, 0.0f, 4294967296.0f, 0, UINT32_MAX)      \
  FLC_FLOAT_TO_INT(from, From, u64, uint64_t, 0.0f, 18446744073709551616.0f, 0,        \
                   UINT64_MAX)                                                         \
  FLC_TO_BOOL(from, From)

FLC_FROM_FLOAT(f32, float)
#ifdef FLC_F64
FLC_FROM_FLOAT(f64, double)
FLC_CAST(i8, int8_t, f64, double)
FLC_CAST(i16, int16_t, f64, double)
FLC_CAST(i32, int32_t, f64, double)
FLC_CAST(i64, int64_t, f64, double)
FLC_CAST(u8, uint8_t, f64, double)
FLC_CAST(u16, uint16_t, f64, double)
FLC_CAST(u32, uint32_t, f64, double)
FLC_CAST(u64, uint64_t, f64, double)
FLC_CAST(bool, bool, f64, double)
FLC_CAST(f32, float, f64, double)
FLC_CAST(f64, double, f32, float)
#endif

// The same bits.
#ifdef FLC_ON_DEVICE
#  define FLC_BITS(from, From, to, To)            \
    FLC_FN To flc_bits_##from##_to_##to(From a) { \
      union {                                     \
        From from;                                \
        To to;                                    \
      } both;                                     \
      both.from = a;                              \
      return both.to;                             \
    }
#else
#  define FLC_BITS(from, From, to, To)            \
    FLC_FN To flc_bits_##from##_to_##to(From a) { \
      To b;                                       \
      memcpy(&b, &a, sizeof b);                   \
      return b;                                   \
    }
#endif
#define FLC_BITS_PAIR(a, A, b, B) FLC_BITS(a, A, b, B) FLC_BITS(b, B, a, A)

FLC_BITS_PAIR(i8, int8_t, u8, uint8_t)
FLC_BITS_PAIR(i16, int16_t, u16, uint16_t)
FLC_BITS_PAIR(i32, int32_t, u32, uint32_t)
FLC_BITS_PAIR(i64, int64_t, u64, uint64_t)
FLC_BITS_PAIR(i32, int32_t, f32, float)
FLC_BITS_PAIR(u32, uint32_t, f32, float)
#ifdef FLC_F64
FLC_BITS_PAIR(i64, int64_t, f64, double)
FLC_BITS_PAIR(u64, uint64_t, f64, double)
#endif
FLC_BITS_PAIR(i16, int16_t, f16, uint16_t)

// ---- f16: values are their 16 bits, computed with in f32, or, with FLC_HALF, in f16.  Vectors
// have functions of their own.
#if defined(FLC_CUDA) && defined(__CUDACC_RTC__)
FLC_FN float flc_f16_to_f32(uint16_t a) {
  float b;
  asm("cvt.f32.f16 %0, %1;" : "=f"(b) : "h"(a));
  return b;
}

FLC_FN uint16_t flc_f32_to_f16(float a) {
  uint16_t b;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(b) : "f"(a));
  return b;
}
#elif defined(FLC_HALF)
#  pragma OPENCL EXTENSION cl_khr_fp16 : enable
FLC_FN float flc_f16_to_f32(uint16_t a) { return (float)as_half(a); }
FLC_FN uint16_t flc_f32_to_f16(float a) { return as_ushort(convert_half_rte(a)); }
#elif defined(FLC_ON_DEVICE) && !defined(FLC_CUDA) && defined(__F16C__)
FLC_FN float flc_f16_to_f32(uint16_t a) {
  return __builtin_ia32_vcvtph2ps((short8)((short)a, 0, 0, 0, 0, 0, 0, 0))[0];
}

FLC_FN uint16_t flc_f32_to_f16(float a) {
  return (uint16_t)__builtin_ia32_vcvtps2ph((float4)(a, 0, 0, 0), 0)[0];
}
#elif defined(FLC_ON_DEVICE) && !defined(FLC_CUDA)
// These functions are part of OpenCL C; the type half in other uses is not.
FLC_FN float flc_f16_to_f32(uint16_t a) {
  return vload_half(0, (const __private half *)&a);
}

FLC_FN uint16_t flc_f32_to_f16(float a) {
  uint16_t b;
  vstore_half_rte(a, 0, (__private half *)&b);
  return b;
}
#else
FLC_FN float flc_f16_to_f32(uint16_t a) {
  uint32_t magnitude = a & 0x7fffu, sign = (uint32_t)(a & 0x8000u) << 16;
  if (magnitude < 0x0400u) {  // subnormal: multiples of 2^-24
    float value = (float)magnitude * 5.9604644775390625e-8f;
    return sign ? -value : value;
  }
  uint32_t shift = magnitude < 0x7c00u ? 0x38000000u : 0x70000000u;
  return flc_bits_u32_to_f32(sign | ((magnitude << 13) + shift));
}

FLC_FN uint16_t flc_f32_to_f16(float a) {
  uint32_t bits = flc_bits_f32_to_u32(a), magnitude = bits & 0x7fffffffu;
  uint32_t sign = (bits >> 16) & 0x8000u;
  if (magnitude > 0x7f800000u)
    return (uint16_t)(sign | 0x7e00u | ((magnitude >> 13) & 0x03ffu));
  if (magnitude >= 0x477ff000u)
    return (uint16_t)(sign | 0x7c00u);  // 65520: no f16 is near
  if (magnitude < 0x38800000u) {  // subnormal: the steps of f16 are those of f32 at 0.5
    float steps = flc_bits_u32_to_f32(magnitude) + 0.5f;
    return (uint16_t)(sign | (flc_bits_f32_to_u32(steps) - 0x3f000000u));
  }
  magnitude += 0x0fffu + ((magnitude >> 13) & 1u);
  return (uint16_t)(sign | ((magnitude - 0x38000000u) >> 13));
}
#endif

// f32 has so many digits more that its sums and products, rounded again, are those of f16.
#if defined(FLC_CUDA) && defined(__CUDACC_RTC__) && __CUDA_ARCH__ >= 530
#  ifdef FLC_CONTRACT
#    define FLC_HALF_ROUNDED ""
#  else
#    define FLC_HALF_ROUNDED ".rn"  // not joined with others
#  endif
#  define FLC_HALF_OP(name, op)                                                  \
    FLC_FN uint16_t flc_##name##_f16(uint16_t a, uint16_t b) {                   \
      uint16_t c;                                                                \
      asm(#name FLC_HALF_ROUNDED ".f16 %0, %1, %2;" : "=h"(c) : "h"(a), "h"(b)); \
      return c;                                                                  \
    }
#elif defined(FLC_HALF)
#  define FLC_HALF_OP(name, op)                                \
    FLC_FN uint16_t flc_##name##_f16(uint16_t a, uint16_t b) { \
      return as_ushort((half)(as_half(a) op as_half(b)));      \
    }
#else
#  define FLC_HALF_OP(name, op)                                      \
    FLC_FN uint16_t flc_##name##_f16(uint16_t a, uint16_t b) {       \
      return flc_f32_to_f16(flc_f16_to_f32(a) op flc_f16_to_f32(b)); \
    }
#endif
FLC_HALF_OP(add, +)
FLC_HALF_OP(sub, -)
FLC_HALF_OP(mul, *)

// The float next to an inexact one whose last bit is 1, on the side where the exact value is: what
// is lost below it then counts when that is rounded to f16.
FLC_FN float flc_odd_f32(float near, bool too_great) {
  return flc_bits_u32_to_f32((flc_bits_f32_to_u32(near) - too_great) | 1u);
}

#ifdef FLC_F64
FLC_FN uint16_t flc_f64_to_f16(double a) {
  float near = (float)a;
  bool exact = (double)near == a || a - a != 0;
  return flc_f32_to_f16(exact ? near : flc_odd_f32(near, fabs((double)near) > fabs(a)));
}
#endif

// The product is exact in f32, and so is what the sum loses.
FLC_FN uint16_t flc_fma_f16(uint16_t a, uint16_t b, uint16_t c) {
  float product = flc_f16_to_f32(a) * flc_f16_to_f32(b), addend = flc_f16_to_f32(c);
  float sum = product + addend, part = sum - product;
  float lost = (product - (sum - part)) + (addend - part);
  bool exact = lost == 0 || lost != lost;
  return flc_f32_to_f16(exact ? sum : flc_odd_f32(sum, (lost < 0) == (sum > 0)));
}

FLC_FN uint16_t flc_nextafter_f16(uint16_t a, uint16_t b) {
  float from = flc_f16_to_f32(a), to = flc_f16_to_f32(b);
  if (from != from || to != to) return 0x7e00;
  if (from == to) return b;
  if (from == 0) return to < 0 ? 0x8001 : 0x0001;
  return (uint16_t)((from < to) == (from > 0) ? a + 1 : a - 1);
}
// End scalar.h
