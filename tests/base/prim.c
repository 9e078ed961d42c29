#include "base/prim.h"
#include "base/mem.h"
#include "unit.h"
#include <ctype.h>
#include <float.h>
#include <math.h>

static Prim apply(PrimOp op, Prim a, Prim b) {
  Prim out = prim_bool(false);
  Prim args[] = { a, b };
  CHECK(op_exists(op, a.type));
  CHECK(prim_apply(op, args, &out));
  CHECK(out.type == op_result(op, a.type));
  return out;
}

static Prim apply3(PrimOp op, Prim a, Prim b, Prim d) {
  Prim out = prim_bool(false);
  Prim args[] = { a, b, d };
  CHECK(prim_apply(op, args, &out));
  return out;
}

static int64_t ints(PrimOp op, PrimType type, int64_t a, int64_t b) {
  return apply(op, prim_int(type, a), prim_int(type, b)).u.i;
}

static bool traps(PrimOp op, PrimType type, int64_t a, int64_t b) {
  Prim args[] = { prim_int(type, a), prim_int(type, b) };
  Prim out;
  return op_may_trap(op, type) && !prim_apply(op, args, &out);
}

static double floats(PrimOp op, double a, double b) {
  Prim f32 = apply(op, prim_float(PRIM_F32, a), prim_float(PRIM_F32, b));
  Prim f64 = apply(op, prim_f64(a), prim_f64(b));
  bool same = prim_to_double(f32) == prim_to_double(f64);
  CHECK(same || (isnan(prim_to_double(f32)) && isnan(prim_to_double(f64))));
  return prim_to_double(f64);
}

static double unary(PrimOp op, double a) { return floats(op, a, 0); }

static bool same_word(const char *upper, const char *lower) {
  for (; *upper || *lower; upper++, lower++) {
    if (tolower((unsigned char)*upper) != *lower) return false;
  }
  return true;
}

static void rows_agree_with_prim_def(void) {
#define OP(name, spelling, arity, operands, result, cost, vector) \
  CHECK(same_word(#name, op_name(OP_##name)));                    \
  CHECK_TEXT(op_spelling(OP_##name), spelling);                   \
  CHECK(op_arity(OP_##name) == (arity));
#include "base/prim.def"
#undef OP
  CHECK(op_exists(OP_NOT, PRIM_BOOL) && op_exists(OP_NOT, PRIM_U8));
  CHECK(!op_exists(OP_NOT, PRIM_F32) && !op_exists(OP_ADD, PRIM_BOOL));
  CHECK(op_exists(OP_LE, PRIM_BOOL) && !op_exists(OP_LAND, PRIM_I8));
}

// Every operator computes something on every type that it exists on.
static void every_operator_is_computed(void) {
  for (PrimOp op = 0; op < OP_COUNT; op++) {
    for (PrimType type = 0; type < PRIM_COUNT; type++) {
      if (!op_exists(op, type)) continue;
      Prim args[] = { prim_one(type), prim_one(type), prim_one(type) };
      if (op == OP_LDEXP) args[1] = prim_i32(1);
      Prim out;
      CHECK(prim_apply(op, args, &out) && out.type == op_result(op, type));
    }
  }
}

static void integers_wrap(void) {
  CHECK(ints(OP_ADD, PRIM_I8, 127, 1) == -128);
  CHECK(ints(OP_ADD, PRIM_U8, 255, 1) == 0);
  CHECK(ints(OP_ADD, PRIM_I64, INT64_MAX, 1) == INT64_MIN);
  CHECK(ints(OP_SUB, PRIM_U32, 0, 1) == UINT32_MAX);
  CHECK(ints(OP_MUL, PRIM_I32, 65536, 65536) == 0);
  CHECK(ints(OP_MUL, PRIM_I64, INT64_MIN, -1) == INT64_MIN);
  CHECK(ints(OP_NEG, PRIM_I16, -32768, 0) == -32768);
  CHECK(ints(OP_NEG, PRIM_U16, 1, 0) == 65535);
  CHECK(ints(OP_ABS, PRIM_I64, INT64_MIN, 0) == INT64_MIN);
  CHECK(ints(OP_ABS, PRIM_U8, 200, 0) == 200);
  CHECK(ints(OP_SGN, PRIM_I8, -5, 0) == -1 && ints(OP_SGN, PRIM_U64, -5, 0) == 1);
}

static void division_floors_or_truncates(void) {
  CHECK(ints(OP_DIV, PRIM_I32, -7, 2) == -4 && ints(OP_MOD, PRIM_I32, -7, 2) == 1);
  CHECK(ints(OP_DIV, PRIM_I32, 7, -2) == -4 && ints(OP_MOD, PRIM_I32, 7, -2) == -1);
  CHECK(ints(OP_DIV, PRIM_I32, -6, 2) == -3 && ints(OP_MOD, PRIM_I32, -6, 2) == 0);
  CHECK(ints(OP_QUOT, PRIM_I32, -7, 2) == -3 && ints(OP_REM, PRIM_I32, -7, 2) == -1);
  CHECK(ints(OP_QUOT, PRIM_I32, 7, -2) == -3 && ints(OP_REM, PRIM_I32, 7, -2) == 1);
  CHECK(ints(OP_DIV, PRIM_U64, -1, 2) == INT64_MAX &&
        ints(OP_MOD, PRIM_U64, -1, 10) == 5);
  CHECK(ints(OP_DIV, PRIM_U64, 7, -1) == 0 && ints(OP_REM, PRIM_U64, 7, -1) == 7);
}

static void division_traps_only_by_zero(void) {
  const PrimOp division[] = { OP_DIV, OP_MOD, OP_QUOT, OP_REM };
  for (int i = 0; i < 4; i++) {
    CHECK(traps(division[i], PRIM_I32, 1, 0) && traps(division[i], PRIM_U8, 0, 0));
    bool gives_quotient = division[i] == OP_DIV || division[i] == OP_QUOT;
    CHECK(ints(division[i], PRIM_I64, INT64_MIN, -1) == (gives_quotient ? INT64_MIN : 0));
    CHECK(ints(division[i], PRIM_I8, -128, -1) == (gives_quotient ? -128 : 0));
    CHECK(!op_may_trap(division[i], PRIM_F32));
  }
}

static void powers_wrap_and_trap(void) {
  CHECK(ints(OP_POW, PRIM_I32, 3, 4) == 81 && ints(OP_POW, PRIM_I32, 0, 0) == 1);
  CHECK(ints(OP_POW, PRIM_U8, 2, 8) == 0 && ints(OP_POW, PRIM_I8, -2, 7) == -128);
  CHECK(ints(OP_POW, PRIM_I64, -1, INT64_MAX) == -1);
  CHECK(ints(OP_POW, PRIM_U64, 3, -1) == (int64_t)UINT64_C(12297829382473034411));
  CHECK(traps(OP_POW, PRIM_I32, 1, -1) && !op_may_trap(OP_POW, PRIM_U32));
}

static void shifts_take_their_count_modulo_the_width(void) {
  CHECK(ints(OP_SHL, PRIM_I32, 1, 33) == 2 && ints(OP_SHL, PRIM_I32, 1, 31) == INT32_MIN);
  CHECK(ints(OP_SHL, PRIM_I8, 1, -1) == -128 && ints(OP_SHL, PRIM_U64, 1, 64) == 1);
  CHECK(ints(OP_SHR, PRIM_I8, -128, 7) == -1 && ints(OP_SHR, PRIM_U8, 128, 7) == 1);
  CHECK(ints(OP_SHR, PRIM_I64, -1, 63) == -1 && ints(OP_SHR, PRIM_U64, -1, 63) == 1);
}

static void bits_are_counted_within_the_width(void) {
  CHECK(ints(OP_CLZ, PRIM_I8, 1, 0) == 7 && ints(OP_CLZ, PRIM_U64, 0, 0) == 64);
  CHECK(ints(OP_CLZ, PRIM_I16, -1, 0) == 0 && ints(OP_CTZ, PRIM_I16, 0, 0) == 16);
  CHECK(ints(OP_CTZ, PRIM_I8, -128, 0) == 7 && ints(OP_POPC, PRIM_I8, -1, 0) == 8);
  CHECK(ints(OP_NOT, PRIM_U8, 1, 0) == 254 && ints(OP_NOT, PRIM_I8, 1, 0) == -2);
  CHECK(ints(OP_XOR, PRIM_U8, 5, 6) == 3 && ints(OP_AND, PRIM_I8, -1, 6) == 6);
}

static void high_halves_are_exact(void) {
  CHECK(ints(OP_MUL_HI, PRIM_I32, INT32_MIN, INT32_MIN) == 1 << 30);
  CHECK(ints(OP_MUL_HI, PRIM_I8, -1, 1) == -1 &&
        ints(OP_MUL_HI, PRIM_U8, 255, 255) == 254);
  CHECK(ints(OP_MUL_HI, PRIM_U64, -1, -1) == -2 &&
        ints(OP_MUL_HI, PRIM_I64, -1, -1) == 0);
  Prim byte = prim_int(PRIM_U8, 255);
  CHECK(apply3(OP_MAD_HI, byte, byte, prim_int(PRIM_U8, 5)).u.i == 3);
}

static void order_follows_signedness(void) {
  CHECK(ints(OP_LT, PRIM_I64, -1, 0) == 1 && ints(OP_LT, PRIM_U64, -1, 0) == 0);
  CHECK(ints(OP_LE, PRIM_U8, 255, 255) == 1 && ints(OP_LE, PRIM_I8, -1, -2) == 0);
  CHECK(ints(OP_MAX, PRIM_U64, -1, 0) == -1 && ints(OP_MIN, PRIM_I64, -1, 0) == -1);
  CHECK(ints(OP_LT, PRIM_BOOL, 0, 1) == 1 && ints(OP_LT, PRIM_BOOL, 1, 1) == 0);
  CHECK(ints(OP_NOT, PRIM_BOOL, 1, 0) == 0 && ints(OP_NOT, PRIM_BOOL, 0, 0) == 1);
  CHECK(ints(OP_LAND, PRIM_BOOL, 1, 0) == 0 && ints(OP_LOR, PRIM_BOOL, 1, 0) == 1);
}

static void floats_follow_ieee(void) {
  CHECK(isnan(floats(OP_DIV, 0, 0)) && floats(OP_DIV, -1, 0) == -INFINITY);
  CHECK(floats(OP_MIN, NAN, 1) == 1 && floats(OP_MAX, 1, NAN) == 1);
  CHECK(floats(OP_EQ, NAN, NAN) == 0 && floats(OP_NE, NAN, NAN) == 1);
  CHECK(floats(OP_LE, NAN, 1) == 0 && floats(OP_EQ, 0.0, -0.0) == 1);
  CHECK(floats(OP_MOD, -7.5, 2) == -1.5 && floats(OP_MOD, 7, -2) == 1 &&
        floats(OP_MOD, 7, 2) == 1);
  CHECK(floats(OP_MOD, -1, INFINITY) == -1 && isnan(floats(OP_MOD, 1, 0)));
  CHECK(signbit(unary(OP_NEG, 0)) && unary(OP_ABS, -2) == 2);
  CHECK(unary(OP_SGN, -3) == -1 && unary(OP_SGN, 0) == 0 && isnan(unary(OP_SGN, NAN)));
  CHECK(floats(OP_POW, 2, -1) == 0.5 && floats(OP_POW, 0, 0) == 1);
  CHECK(unary(OP_ISNAN, NAN) == 1 && unary(OP_ISINF, -INFINITY) == 1 &&
        unary(OP_ISINF, 1) == 0);
}

static void rounding_ties_go_to_even(void) {
  CHECK(unary(OP_ROUND, 0.5) == 0 && unary(OP_ROUND, 1.5) == 2 &&
        unary(OP_ROUND, 2.5) == 2);
  CHECK(unary(OP_ROUND, -2.5) == -2 && signbit(unary(OP_ROUND, -0.25)));
  CHECK(unary(OP_TRUNC, -1.75) == -1 && unary(OP_FLOOR, -1.25) == -2);
  CHECK(unary(OP_CEIL, 1.25) == 2);
}

static void half_turns_are_exact(void) {
  CHECK(unary(OP_SINPI, 1) == 0 && unary(OP_SINPI, 0.5) == 1 &&
        unary(OP_SINPI, 1.5) == -1);
  CHECK(unary(OP_SINPI, -0.5) == -1 && unary(OP_SINPI, 1e7) == 0);
  CHECK(unary(OP_COSPI, 0.5) == 0 && unary(OP_COSPI, 1) == -1 && unary(OP_COSPI, 2) == 1);
  CHECK(unary(OP_COSPI, 1.5) == 0 && unary(OP_COSPI, 0) == 1 && unary(OP_TANPI, 0) == 0);
  CHECK(fabs(apply(OP_SINPI, prim_f64(0.25), prim_f64(0)).u.f64 - sqrt(0.5)) < 1e-15);
  CHECK(fabs(apply(OP_COSPI, prim_f64(1.25), prim_f64(0)).u.f64 + sqrt(0.5)) < 1e-15);
  CHECK(unary(OP_ASINPI, 1) == 0.5 && floats(OP_ATAN2PI, 0, -1) == 1);
}

static void f32_is_computed_in_float(void) {
  Prim third = apply(OP_DIV, prim_f32(1), prim_f32(3));
  CHECK(third.u.f32 == 1.0f / 3.0f);
  CHECK(apply(OP_SQRT, prim_f32(2), prim_f32(0)).u.f32 == sqrtf(2));
  CHECK(apply(OP_ADD, prim_f32(16777216), prim_f32(1)).u.f32 == 16777216.0f);
  // Rounded twice, unless fused: 1 + 2^-12 squared needs 25 bits.
  Prim a = prim_f32(1 + 0x1p-12f), minus = prim_f32(-(1 + 0x1p-11f));
  CHECK(apply3(OP_MAD, a, a, minus).u.f32 == 0);
  CHECK(apply3(OP_FMA, a, a, minus).u.f32 == 0x1p-24f);
  CHECK(apply3(OP_LERP, prim_f32(2), prim_f32(4), prim_f32(0.25f)).u.f32 == 2.5f);
  Prim scaled[] = { prim_f32(3), prim_i32(-1) };
  Prim out;
  CHECK(prim_apply(OP_LDEXP, scaled, &out) && out.u.f32 == 1.5f);
}

// Each f16 survives what takes it to another type and back; between two there is one rounding.
static void f16_is_rounded_once(void) {
  for (uint64_t bits = 0; bits < 0x7c00; bits++) {
    Prim x = prim_of_bits(PRIM_F16, bits), next = prim_of_bits(PRIM_F16, bits + 1);
    double value = prim_to_double(x), middle = value / 2 + prim_to_double(next) / 2;
    CHECK(prim_identical(prim_float(PRIM_F16, value), x));
    CHECK(prim_identical(prim_convert(PRIM_F16, prim_convert(PRIM_F32, x)), x));
    if (isinf(middle)) break;
    CHECK(prim_identical(prim_float(PRIM_F16, middle), bits & 1 ? next : x));
    CHECK(prim_identical(prim_float(PRIM_F16, nextafter(middle, 0)), x));
    CHECK(prim_identical(prim_float(PRIM_F16, nextafter(middle, 1e9)), next));
  }
  CHECK(prim_bits_of(prim_float(PRIM_F16, 65519)) == 0x7bff);
  CHECK(prim_bits_of(prim_float(PRIM_F16, -65520)) == 0xfc00);
  CHECK(prim_bits_of(prim_of_decimal(PRIM_F16, "1.00048828125")) == 0x3c00);
  CHECK(prim_bits_of(prim_of_decimal(PRIM_F16, "1.000488281250000000000000001")) ==
        0x3c01);
  CHECK(isinf(prim_convert(PRIM_F32, prim_highest(PRIM_F16)).u.f32));
}

static int64_t to_int(PrimType to, double value) {
  return prim_convert(to, prim_f64(value)).u.i;
}

static void conversion_to_integers_saturates(void) {
  CHECK(to_int(PRIM_I32, NAN) == 0 && to_int(PRIM_I32, 1e10) == INT32_MAX);
  CHECK(to_int(PRIM_I32, -INFINITY) == 0 && to_int(PRIM_U64, INFINITY) == 0);
  CHECK(to_int(PRIM_I32, -1e300) == INT32_MIN && to_int(PRIM_U8, -3) == 0);
  CHECK(to_int(PRIM_U8, 256) == 255 && to_int(PRIM_U8, 255.9) == 255);
  CHECK(to_int(PRIM_I64, 0x1p63) == INT64_MAX && to_int(PRIM_I64, -0x1p63) == INT64_MIN);
  CHECK(to_int(PRIM_U64, 0x1p63) == INT64_MIN && to_int(PRIM_U64, 0x1p64) == -1);
  CHECK(to_int(PRIM_I8, -1.9) == -1 && to_int(PRIM_I8, -128.9) == -128);
  CHECK(to_int(PRIM_I64, 0x1.fffffffffffffp62) == 0x7ffffffffffffc00);
  CHECK(prim_convert(PRIM_I16, prim_f32(-1e9f)).u.i == -32768);
}

static void conversion_of_integers_wraps_or_extends(void) {
  CHECK(prim_convert(PRIM_U64, prim_int(PRIM_I8, -1)).u.i == 255);
  CHECK(prim_convert(PRIM_U64, prim_int(PRIM_I16, -32768)).u.i == 32768);
  CHECK(prim_convert(PRIM_U64, prim_int(PRIM_I64, -1)).u.i == -1);
  CHECK(prim_convert(PRIM_U8, prim_int(PRIM_I32, -1)).u.i == 255);
  CHECK(prim_convert(PRIM_I64, prim_int(PRIM_I8, -1)).u.i == -1);
  CHECK(prim_convert(PRIM_I64, prim_int(PRIM_U8, 255)).u.i == 255);
  CHECK(prim_convert(PRIM_I8, prim_int(PRIM_U8, 255)).u.i == -1);
  CHECK(prim_convert(PRIM_U32, prim_int(PRIM_I64, -1)).u.i == UINT32_MAX);
  CHECK(prim_convert(PRIM_BOOL, prim_int(PRIM_I64, 256)).u.i == 1);
  CHECK(prim_convert(PRIM_BOOL, prim_f64(NAN)).u.i == 1);
  CHECK(prim_convert(PRIM_F32, prim_bool(true)).u.f32 == 1);
}

static void conversion_to_floats_rounds_once(void) {
  CHECK(prim_convert(PRIM_F64, prim_int(PRIM_U64, -1)).u.f64 == 0x1p64);
  CHECK(prim_convert(PRIM_F32, prim_int(PRIM_U64, -1)).u.f32 == 0x1p64f);
  // Through f64 the last bit would be lost and the tie go to even.
  int64_t broken_tie = ((int64_t)1 << 60) + ((int64_t)1 << 36) + 1;
  CHECK(prim_convert(PRIM_F32, prim_i64(broken_tie)).u.f32 == 0x1p60f + 0x1p37f);
  CHECK(prim_convert(PRIM_F32, prim_int(PRIM_U64, broken_tie)).u.f32 ==
        0x1p60f + 0x1p37f);
  CHECK(isinf(prim_convert(PRIM_F32, prim_f64(1e300)).u.f32));
}

static void limits_and_bits(void) {
  CHECK(prim_lowest(PRIM_I64).u.i == INT64_MIN &&
        prim_highest(PRIM_I64).u.i == INT64_MAX);
  CHECK(prim_lowest(PRIM_I8).u.i == -128 && prim_highest(PRIM_I8).u.i == 127);
  CHECK(prim_lowest(PRIM_U32).u.i == 0 && prim_highest(PRIM_U32).u.i == UINT32_MAX);
  CHECK(prim_highest(PRIM_U64).u.i == -1 && isinf(prim_lowest(PRIM_F32).u.f32));
  CHECK(prim_bits_of(prim_int(PRIM_I8, -1)) == 0xFF &&
        prim_bits_of(prim_i64(-1)) == UINT64_MAX);
  CHECK(prim_bits_of(prim_f32(1)) == 0x3F800000);
  CHECK(prim_identical(prim_of_bits(PRIM_F64, 0x3FF0000000000000), prim_f64(1)));
  CHECK(prim_of_bits(PRIM_I16, 0x8000).u.i == -32768);
  CHECK(!prim_identical(prim_f64(0), prim_f64(-0.0)) &&
        !prim_identical(prim_i32(0), prim_i64(0)));
  PrimType type = PRIM_I8;
  CHECK(prim_type_named("f64", &type) && type == PRIM_F64 &&
        !prim_type_named("f8", &type));
}

int main(void) {
  mem_init();
  rows_agree_with_prim_def();
  every_operator_is_computed();
  integers_wrap();
  division_floors_or_truncates();
  division_traps_only_by_zero();
  powers_wrap_and_trap();
  shifts_take_their_count_modulo_the_width();
  bits_are_counted_within_the_width();
  high_halves_are_exact();
  order_follows_signedness();
  floats_follow_ieee();
  rounding_ties_go_to_even();
  half_turns_are_exact();
  f32_is_computed_in_float();
  f16_is_rounded_once();
  conversion_to_integers_saturates();
  conversion_of_integers_wraps_or_extends();
  conversion_to_floats_rounds_once();
  limits_and_bits();
  return 0;
}
