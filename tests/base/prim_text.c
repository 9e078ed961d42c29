#include "base/mem.h"
#include "base/prim.h"
#include "unit.h"
#include <math.h>

static void integers_carry_their_type(void) {
  CHECK_TEXT(prim_text(prim_i32(-3)), "-3i32");
  CHECK_TEXT(prim_text(prim_i64(INT64_MIN)), "-9223372036854775808i64");
  CHECK_TEXT(prim_text(prim_int(PRIM_U64, -1)), "18446744073709551615u64");
  CHECK_TEXT(prim_text(prim_int(PRIM_U8, -1)), "255u8");
  CHECK_TEXT(prim_text(prim_bool(true)), "true");
}

static void floats_are_short(void) {
  CHECK_TEXT(prim_text(prim_f32(1.5f)), "1.5f32");
  CHECK_TEXT(prim_text(prim_f32(0.1f)), "0.1f32");
  CHECK_TEXT(prim_text(prim_f64(100)), "100.0f64");
  CHECK_TEXT(prim_text(prim_f64(-0.0)), "-0.0f64");
  CHECK_TEXT(prim_text(prim_f64(1e30)), "1.0e+30f64");
  CHECK_TEXT(prim_text(prim_f64(1.25e-30)), "1.25e-30f64");
  CHECK_TEXT(prim_text(prim_f32(16777216)), "16777216.0f32");
  CHECK_TEXT(prim_text(prim_f64(0.1 + 0.2)), "0.30000000000000004f64");
  CHECK_TEXT(prim_text(prim_f32(NAN)), "f32.nan");
  CHECK_TEXT(prim_text(prim_f32(-INFINITY)), "-f32.inf");
  CHECK_TEXT(prim_text(prim_f64(INFINITY)), "f64.inf");
}

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void check_round_trip(Prim value) {
  if (isnan(prim_to_double(value)) || isinf(prim_to_double(value))) return;
  const char *text = prim_text(value);
  bool f32 = value.type == PRIM_F32;
  Prim back = f32 ? prim_f32(strtof(text, NULL)) : prim_f64(strtod(text, NULL));
  CHECK(prim_identical(value, back));
  CHECK(strchr(text, '.'));
}

static void floats_read_back(void) {
  uint64_t state = 88172645463325252;
  for (int i = 0; i < 20000; i++) {
    uint64_t bits = next_random(&state);
    check_round_trip(prim_of_bits(PRIM_F32, bits & UINT32_MAX));
    check_round_trip(prim_of_bits(PRIM_F64, bits));
  }
  for (uint64_t bits = 0; bits < 100; bits++) {
    check_round_trip(prim_of_bits(PRIM_F32, bits));
    check_round_trip(prim_of_bits(PRIM_F64, bits));
  }
}

static bool literal_fits(PrimType type, const char *digits, bool negative) {
  const Big *value = big_parse(digits, strlen(digits), 10);
  Prim out;
  return prim_of_big(type, negative ? big_neg(value) : value, &out);
}

static void literals_must_fit(void) {
  CHECK(literal_fits(PRIM_I8, "127", false) && !literal_fits(PRIM_I8, "128", false));
  CHECK(literal_fits(PRIM_I8, "128", true) && !literal_fits(PRIM_I8, "129", true));
  CHECK(literal_fits(PRIM_U8, "255", false) && !literal_fits(PRIM_U8, "1", true));
  CHECK(literal_fits(PRIM_U64, "18446744073709551615", false));
  CHECK(!literal_fits(PRIM_U64, "18446744073709551616", false));
  CHECK(!literal_fits(PRIM_I64, "9223372036854775808", false));
  CHECK(literal_fits(PRIM_F32, "1000000000000000000000000", false));
  CHECK(!literal_fits(PRIM_BOOL, "1", false));
}

int main(void) {
  mem_init();
  integers_carry_their_type();
  floats_are_short();
  floats_read_back();
  literals_must_fit();
  return 0;
}
