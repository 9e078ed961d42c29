#include "base/big.h"
#include "base/mem.h"
#include <float.h>
#include <gmp.h>
#include <math.h>
#include <string.h>

// GMP allocates the limbs through mem.h; nothing is ever cleared.
struct Big {
  mpz_t value;
};

static Big *fresh(void) {
  Big *a = new (Big);
  mpz_init(a->value);
  return a;
}

const Big *big_of(int64_t value) {
  Big *a = fresh();
  uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  mpz_import(a->value, 1, -1, sizeof magnitude, 0, 0, &magnitude);
  if (value < 0) mpz_neg(a->value, a->value);
  return a;
}

static int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'z') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'Z') return digit - 'A' + 10;
  return 36;
}

const Big *big_parse(const char *digits, size_t length, int base) {
  if (!length) return NULL;
  char *copy = mem_alloc_plain(length + 1);
  for (size_t i = 0; i < length; i++) {
    if (digit_value(digits[i]) >= base) return NULL;
    copy[i] = digits[i];
  }
  Big *a = fresh();
  return mpz_set_str(a->value, copy, base) == 0 ? a : NULL;
}

const Big *big_add(const Big *a, const Big *b) {
  Big *sum = fresh();
  mpz_add(sum->value, a->value, b->value);
  return sum;
}

const Big *big_sub(const Big *a, const Big *b) {
  Big *difference = fresh();
  mpz_sub(difference->value, a->value, b->value);
  return difference;
}

const Big *big_mul(const Big *a, const Big *b) {
  Big *product = fresh();
  mpz_mul(product->value, a->value, b->value);
  return product;
}

const Big *big_neg(const Big *a) {
  Big *negated = fresh();
  mpz_neg(negated->value, a->value);
  return negated;
}

const Big *big_wrap(const Big *a, int bits, bool is_signed) {
  Big *low = fresh();
  mpz_fdiv_r_2exp(low->value, a->value, (mp_bitcnt_t)bits);
  if (!is_signed || !mpz_tstbit(low->value, (mp_bitcnt_t)bits - 1)) return low;
  Big *modulus = fresh();
  mpz_setbit(modulus->value, (mp_bitcnt_t)bits);
  return big_sub(low, modulus);
}

int big_compare(const Big *a, const Big *b) {
  int order = mpz_cmp(a->value, b->value);
  return (order > 0) - (order < 0);
}

static size_t bit_length(const Big *a) {
  return mpz_sgn(a->value) ? mpz_sizeinbase(a->value, 2) : 0;
}

bool big_fits_i64(const Big *a) {
  if (bit_length(a) <= 63) return true;
  return big_compare(a, big_of(INT64_MIN)) == 0;
}

bool big_fits_u64(const Big *a) { return mpz_sgn(a->value) >= 0 && bit_length(a) <= 64; }

// The lowest 64 bits of the two's complement.
static uint64_t lowest_bits(const mpz_t a) {
  mpz_t low;
  mpz_init(low);
  mpz_fdiv_r_2exp(low, a, 64);
  uint64_t bits = 0;
  mpz_export(&bits, NULL, -1, sizeof bits, 0, 0, low);
  return bits;
}

int64_t big_to_i64(const Big *a) { return (int64_t)lowest_bits(a->value); }

// The nearest number with `precision` significant bits, ties to even, before any overflow.
static double rounded(const Big *a, unsigned precision) {
  size_t bits = bit_length(a);
  if (bits > DBL_MAX_EXP) return mpz_sgn(a->value) < 0 ? -INFINITY : INFINITY;
  if (bits <= precision) return mpz_get_d(a->value);
  // Two bits more than the result has, the last of which also tells whether anything below was
  // cut off: what GMP offers truncates.
  size_t shift = bits - precision;
  mpz_t top;
  mpz_init(top);
  mpz_abs(top, a->value);
  mpz_mul_2exp(top, top, 2);
  bool inexact = mpz_scan1(top, 0) < shift;
  mpz_tdiv_q_2exp(top, top, shift);
  uint64_t kept = lowest_bits(top) | inexact;
  uint64_t below = kept & 3, quotient = kept >> 2;
  if (below == 3 || (below == 2 && (quotient & 1))) quotient++;
  double magnitude = ldexp((double)quotient, (int)shift);
  return mpz_sgn(a->value) < 0 ? -magnitude : magnitude;
}

double big_to_double(const Big *a) { return rounded(a, DBL_MANT_DIG); }

float big_to_float(const Big *a) { return (float)rounded(a, FLT_MANT_DIG); }

const char *big_text(const Big *a) { return mpz_get_str(NULL, 10, a->value); }
