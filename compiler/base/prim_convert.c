// Conversions between scalar types, from exact literals, and to text.
#include "base/prim.h"
#include "base/text.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// 2 to the number of bits that hold the magnitude of `type`: the first value too high for it.
static double limit_of(PrimType type) {
  return ldexp(1, prim_bits(type) - prim_is_signed(type));
}

// Truncates; NaN gives 0 and what is out of range the nearest value of the type.
static Prim int_of_double(PrimType to, double value) {
  if (isnan(value)) return prim_zero(to);
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
  return prim_f64(is_u64 ? (double)bits : (double)value.u.i);
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
  return prim_is_float(to) ? float_of_int(to, value) : prim_int(to, value.u.i);
}

bool prim_of_big(PrimType type, const Big *value, Prim *out) {
  if (type == PRIM_BOOL) return false;
  if (prim_is_float(type)) {
    *out =
        type == PRIM_F32 ? prim_f32(big_to_float(value)) : prim_f64(big_to_double(value));
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

static bool reads_back(const char *text, Prim value) {
  if (value.type == PRIM_F32) return strtof(text, NULL) == value.u.f32;
  return strtod(text, NULL) == value.u.f64;
}

// Scientific notation with the fewest digits that read back to the value.
static const char *shortest_scientific(Prim value, int *digits) {
  int most = value.type == PRIM_F32 ? FLT_DECIMAL_DIG : DBL_DECIMAL_DIG;
  const char *text = NULL;
  for (*digits = 1; *digits <= most; ++*digits) {
    text = text_format("%.*e", *digits - 1, prim_to_double(value));
    if (reads_back(text, value)) return text;
  }
  *digits = most;
  return text;
}

// The shortest text, as a plain decimal unless that has many zeros.
static const char *float_digits(Prim value) {
  int digits = 0;
  const char *scientific = shortest_scientific(value, &digits);
  int exponent = atoi(strchr(scientific, 'e') + 1);
  bool plain = exponent >= -5 && exponent <= (value.type == PRIM_F32 ? 8 : 15);
  if (plain) {
    int decimals = digits - 1 - exponent;
    return text_format("%.*f", decimals < 1 ? 1 : decimals, prim_to_double(value));
  }
  if (digits > 1) return scientific;
  return text_format("%.1e", prim_to_double(value));  // "1.0e+30", never "1e+30"
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
