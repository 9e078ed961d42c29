// Exact integers of any size (GMP behind it): literals and coefficients of size polynomials.
// Values are immutable.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Big Big;

const Big *big_of(int64_t value);
// Digits in `base` (2..36) without prefix, separators or sign; NULL if there is none.
const Big *big_parse(const char *digits, size_t length, int base);
const Big *big_add(const Big *a, const Big *b);
const Big *big_sub(const Big *a, const Big *b);
const Big *big_mul(const Big *a, const Big *b);
const Big *big_neg(const Big *a);
const Big *big_wrap(const Big *a, int bits, bool is_signed);  // modulo 2^bits
int big_compare(const Big *a, const Big *b);
bool big_fits_i64(const Big *a);
bool big_fits_u64(const Big *a);
int64_t big_to_i64(const Big *a);    // the lowest 64 bits
double big_to_double(const Big *a);  // nearest, ties to even; infinite beyond the range
float big_to_float(const Big *a);    // likewise
const char *big_text(const Big *a);  // decimal
