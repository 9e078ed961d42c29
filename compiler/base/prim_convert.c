// Conversions between scalar types, from exact literals, and to text.
#include "base/prim.h"
#include "base/text.h"
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool prim_extends_by_zeros(PrimType to, PrimType from) {
  bool crosses = prim_is_signed(from) && prim_is_int(to) && !prim_is_signed(to);
  return crosses && prim_bits(to) > prim_bits(from);
}

// 2 to the number of bits that hold the magnitude of `type`: the first value too high for it.
static double limit_of(PrimType type) {
  return ldexp(1, prim_bits(type) - prim_is_signed(type));
}

// Truncates; NaN and infinities give 0, what is out of range the nearest value of the type.
static Prim int_of_double(PrimType to, double value) {
  if (!isfinite(value)) return prim_zero(to);
  double truncated = trunc(value);
  double limit = limit_of(to);
  if (truncated >= limit) return prim_highest(to);
  if (truncated < (prim_is_signed(to) ? -limit : 0)) return prim_lowest(to);
  if (to == PRIM_U64) return prim_int(to, (int64_t)(uint64_t)truncated);
  return prim_int(to, (int64_t)truncated);
}

// One rounding: an i64 does not go through f64 on its way to f32.
static Prim float_of_int(PrimType to, Prim value) {
  bool is_u64 = value.type == PRIM_U64;
  uint64_t bits = (uint64_t)value.u.i;
  if (to == PRIM_F32) return prim_f32(is_u64 ? (float)bits : (float)value.u.i);
  // Integers that an f64 has to round are beyond all f16.
  return prim_float(to, is_u64 ? (double)bits : (double)value.u.i);
}

// The low bits; to an unsigned type, even of a negative number, followed by zeros.
static Prim int_of_int(PrimType to, Prim value) {
  return prim_int(to, prim_is_signed(to) ? value.u.i : (int64_t)prim_bits_of(value));
}

static bool is_nonzero(Prim value) {
  return prim_is_float(value.type) ? prim_to_double(value) != 0 : value.u.i != 0;
}

Prim prim_convert(PrimType to, Prim value) {
  if (to == value.type) return value;
  if (to == PRIM_BOOL) return prim_bool(is_nonzero(value));
  if (prim_is_float(value.type)) {
    double exact = prim_to_double(value);
    return prim_is_float(to) ? prim_float(to, exact) : int_of_double(to, exact);
  }
  return prim_is_float(to) ? float_of_int(to, value) : int_of_int(to, value);
}

bool prim_of_big(PrimType type, const Big *value, Prim *out) {
  if (type == PRIM_BOOL) return false;
  if (prim_is_float(type)) {
    *out = type == PRIM_F32 ? prim_f32(big_to_float(value))
                            : prim_float(type, big_to_double(value));
    return true;
  }
  if (type == PRIM_U64) {
    if (!big_fits_u64(value)) return false;
    *out = prim_int(type, big_to_i64(value));
    return true;
  }
  if (!big_fits_i64(value)) return false;
  Prim wrapped = prim_int(type, big_to_i64(value));
  if (wrapped.u.i != big_to_i64(value)) return false;
  *out = wrapped;
  return true;
}

// Rounded to odd: if it is not exact, the last bit is 1.  Rounding that to a shorter type is as if
// there had been no first rounding.
static double odd_of_decimal(const char *digits) {
  int mode = fegetround();
  fesetround(FE_DOWNWARD);
  double low = strtod(digits, NULL);
  fesetround(FE_UPWARD);
  double high = strtod(digits, NULL);
  fesetround(mode);
  if (low == high) return low;
  uint64_t bits = prim_bits_of(prim_f64(low)) | 1;
  return prim_to_double(prim_of_bits(PRIM_F64, bits));
}

Prim prim_of_decimal(PrimType type, const char *digits) {
  if (type == PRIM_F16) return prim_float(type, odd_of_decimal(digits));
  return type == PRIM_F32 ? prim_f32(strtof(digits, NULL))
                          : prim_f64(strtod(digits, NULL));
}

enum { LONGEST_SCIENTIFIC = 32 };  // "-1.2345678901234567e-308" and a NUL

static bool reads_back(const char *text, Prim value) {
  if (value.type == PRIM_F32) return strtof(text, NULL) == value.u.f32;
  double read = strtod(text, NULL);
  return prim_to_double(prim_float(value.type, read)) == prim_to_double(value);
}

// How many digits every normal number keeps, how many tell all numbers apart, the least normal one.
typedef struct FloatDigits {
  int sure, most;
  double normal;
  int plain;  // the greatest exponent that is written without one
} FloatDigits;

static const FloatDigits float_digits_of[PRIM_COUNT] = {
  [PRIM_F16] = { 3, 5, 0x1p-14, 8 },
  [PRIM_F32] = { FLT_DIG, FLT_DECIMAL_DIG, (double)FLT_MIN, 8 },
  [PRIM_F64] = { DBL_DIG, DBL_DECIMAL_DIG, DBL_MIN, 15 },
};

static int drop_zeros(const char *scientific, int digits) {
  const char *last = strchr(scientific, 'e') - 1;
  while (digits > 1 && *last-- == '0')
    digits--;
  return digits;
}

// The fewest digits that read back to the value.  As many as every normal number keeps are tried
// first: if they read back, fewer do only where their last ones are zeros.
static int shortest_digits(Prim value, char *scientific) {
  const FloatDigits *d = &float_digits_of[value.type];
  double exact = prim_to_double(value);
  int most = d->most, digits = fabs(exact) < d->normal ? 1 : d->sure;
  for (;; digits++) {
    snprintf(scientific, LONGEST_SCIENTIFIC, "%.*e", digits - 1, exact);
    if (digits == most || reads_back(scientific, value)) break;
  }
  return drop_zeros(scientific, digits);
}

// The shortest text, as a plain decimal unless that has many zeros.
static const char *float_digits(Prim value) {
  char scientific[LONGEST_SCIENTIFIC];
  int digits = shortest_digits(value, scientific);
  int exponent = atoi(strchr(scientific, 'e') + 1);
  bool plain = exponent >= -5 && exponent <= float_digits_of[value.type].plain;
  int decimals = digits - 1 - (plain ? exponent : 0);
  if (decimals < 1) decimals = 1;  // "1.0e+30", never "1e+30"
  return text_format(plain ? "%.*f" : "%.*e", decimals, prim_to_double(value));
}

static const char *float_text(Prim value) {
  const char *type = prim_type_name(value.type);
  double exact = prim_to_double(value);
  if (isnan(exact)) return text_format("%s.nan", type);
  if (isinf(exact)) return text_format("%s%s.inf", exact < 0 ? "-" : "", type);
  return text_format("%s%s", float_digits(value), type);
}

const char *prim_text(Prim value) {
  if (prim_is_float(value.type)) return float_text(value);
  if (value.type == PRIM_BOOL) return value.u.i ? "true" : "false";
  const char *type = prim_type_name(value.type);
  if (value.type == PRIM_U64)
    return text_format("%llu%s", (unsigned long long)value.u.i, type);
  return text_format("%lld%s", (long long)value.u.i, type);
}
