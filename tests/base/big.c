#include "base/big.h"
#include "base/mem.h"
#include "unit.h"
#include <math.h>

static const Big *parse(const char *digits) {
  return big_parse(digits, strlen(digits), 10);
}

static void parses_in_every_base(void) {
  CHECK_TEXT(big_text(big_parse("ff", 2, 16)), "255");
  CHECK_TEXT(big_text(big_parse("FFz", 2, 16)), "255");
  CHECK_TEXT(big_text(big_parse("101", 3, 2)), "5");
  CHECK_TEXT(big_text(big_parse("zz", 2, 36)), "1295");
  CHECK(!big_parse("", 0, 10));
  CHECK(!big_parse("12a", 3, 10));
  CHECK(!big_parse("-1", 2, 10));
  CHECK(!big_parse(" 1", 2, 10));
  CHECK(!big_parse("2", 1, 2));
}

static void knows_what_fits(void) {
  CHECK(big_fits_i64(parse("9223372036854775807")));
  CHECK(!big_fits_i64(parse("9223372036854775808")));
  CHECK(big_fits_i64(big_neg(parse("9223372036854775808"))));
  CHECK(!big_fits_i64(big_neg(parse("9223372036854775809"))));
  CHECK(big_fits_u64(parse("18446744073709551615")));
  CHECK(!big_fits_u64(parse("18446744073709551616")));
  CHECK(!big_fits_u64(big_of(-1)));
  CHECK(big_to_i64(big_neg(parse("9223372036854775808"))) == INT64_MIN);
  CHECK(big_to_i64(parse("18446744073709551617")) == 1);
  CHECK(big_to_i64(big_of(INT64_MIN)) == INT64_MIN);
  CHECK(big_to_i64(big_of(0)) == 0);
}

static void computes_exactly(void) {
  const Big *a = parse("340282366920938463463374607431768211456");
  CHECK_TEXT(
      big_text(big_mul(a, a)),
      "115792089237316195423570985008687907853269984665640564039457584007913129639936");
  CHECK_TEXT(big_text(big_sub(big_of(3), big_of(5))), "-2");
  CHECK_TEXT(big_text(big_add(big_of(INT64_MAX), big_of(1))), "9223372036854775808");
  CHECK(big_compare(big_of(3), a) == -1);
  CHECK(big_compare(a, a) == 0);
  CHECK(big_compare(a, big_of(-3)) == 1);
}

static const Big *power_of_two(int exponent) {
  const Big *power = big_of(1);
  for (int i = 0; i < exponent; i++)
    power = big_add(power, power);
  return power;
}

static void rounds_once_ties_to_even(void) {
  CHECK(big_to_double(parse("9007199254740993")) == 9007199254740992.0);
  CHECK(big_to_double(parse("9007199254740995")) == 9007199254740996.0);
  CHECK(big_to_double(big_neg(parse("9007199254740995"))) == -9007199254740996.0);
  const Big *tie = big_add(power_of_two(200), power_of_two(147));
  CHECK(big_to_double(tie) == ldexp(1, 200));
  CHECK(big_to_double(big_add(tie, big_of(1))) == ldexp(1, 200) + ldexp(1, 148));
  CHECK(big_to_float(parse("16777217")) == 16777216.0f);
  CHECK(big_to_float(parse("16777219")) == 16777220.0f);
  // Rounding to a double first would lose the 1 that breaks the tie.
  const Big *broken = big_add(big_add(power_of_two(100), power_of_two(76)), big_of(1));
  CHECK(big_to_float(broken) == (float)(ldexp(1, 100) + ldexp(1, 77)));
  CHECK(big_to_float(big_of(0)) == 0.0f);
}

static void overflows_to_infinity(void) {
  CHECK(isinf(big_to_double(power_of_two(1024))));
  CHECK(isinf(big_to_double(big_sub(power_of_two(1024), big_of(1)))));
  CHECK(big_to_double(power_of_two(1023)) == ldexp(1, 1023));
  CHECK(isinf(big_to_float(power_of_two(128))));
  CHECK(isinf(big_to_float(power_of_two(3000))));
  CHECK(big_to_double(big_neg(power_of_two(2000))) == -INFINITY);
}

static void wraps_in_twos_complement(void) {
  const Big *far = big_add(power_of_two(70), big_of(200));
  CHECK(big_compare(big_wrap(far, 8, false), big_of(200)) == 0);
  CHECK(big_compare(big_wrap(far, 8, true), big_of(-56)) == 0);
  CHECK(big_compare(big_wrap(big_of(-1), 64, false),
                    big_sub(power_of_two(64), big_of(1))) == 0);
  CHECK(big_compare(big_wrap(big_of(-129), 8, true), big_of(127)) == 0);
  CHECK(big_compare(big_wrap(big_of(-128), 8, true), big_of(-128)) == 0);
}

int main(void) {
  mem_init();
  parses_in_every_base();
  knows_what_fits();
  computes_exactly();
  rounds_once_ties_to_even();
  overflows_to_infinity();
  wraps_in_twos_complement();
  return 0;
}
