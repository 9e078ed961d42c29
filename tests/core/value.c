#include "core/value/value.h"
#include "base/mem.h"
#include "unit.h"
#include <float.h>
#include <math.h>

static const char *message_of(const char *text, const ValueType *type) {
  const char *message = NULL;
  ValueReader *reader = value_reader_new("t", text, strlen(text));
  const Value *v = value_read(reader, type, &message);
  if (v) return "no message";
  return message ? message : "the end";
}

// The value as it is written back.
static const char *read_as(const char *text, const ValueType *type) {
  const char *message = NULL;
  ValueReader *reader = value_reader_new("t", text, strlen(text));
  const Value *v = value_read(reader, type, &message);
  if (!v) return message ? message : "the end";
  CHECK(value_at_end(reader));
  Text *t = text_new();
  value_write_text(t, v);
  return text_str(t);
}

static void reads_literals_without_a_type(void) {
  CHECK_TEXT(read_as("1", NULL), "1i32");
  CHECK_TEXT(read_as("-1.5", NULL), "-1.5f64");
  CHECK_TEXT(read_as("0xFFu8", NULL), "255u8");
  CHECK_TEXT(read_as("0b101i8", NULL), "5i8");
  CHECK_TEXT(read_as("1_000_000i64", NULL), "1000000i64");
  CHECK_TEXT(read_as("-f32.inf", NULL), "-f32.inf");
  CHECK_TEXT(read_as("nan", NULL), "f64.nan");
  CHECK_TEXT(read_as("0x1.8p3f32", NULL), "12.0f32");
  CHECK_TEXT(read_as("-9223372036854775808i64", NULL), "-9223372036854775808i64");
  CHECK_TEXT(read_as("18446744073709551615u64", NULL), "18446744073709551615u64");
  CHECK_TEXT(read_as(" -- a comment [\n true -- another", NULL), "true");
}

static void wraps_literals_with_a_suffix(void) {
  CHECK_TEXT(read_as("255i8", NULL), "-1i8");
  CHECK_TEXT(read_as("0x8407i16", NULL), "-31737i16");
  CHECK_TEXT(read_as("-1u16", NULL), "65535u16");
  CHECK_TEXT(read_as("-129i8", &(ValueType){ PRIM_I8, 0 }), "127i8");
  CHECK_TEXT(read_as("18446744073709551621u64", NULL), "5u64");
  CHECK_TEXT(read_as("[0x1_0000_0000_0000_0003i64, 1]", NULL), "[3i64, 1i64]");
}

static void reads_literals_for_a_type(void) {
  CHECK_TEXT(read_as("1", &(ValueType){ PRIM_F32, 0 }), "1.0f32");
  CHECK_TEXT(read_as("0.1", &(ValueType){ PRIM_F32, 0 }), "0.1f32");
  CHECK_TEXT(read_as("[0.1, 65504, 1e-7, 2049]", &(ValueType){ PRIM_F16, 1 }),
             "[0.1f16, 65504.0f16, 1.2e-07f16, 2048.0f16]");
  CHECK_TEXT(read_as("-f16.inf", NULL), "-f16.inf");
  CHECK_TEXT(read_as("16", &(ValueType){ PRIM_I64, 0 }), "16i64");
  CHECK_TEXT(read_as("inf", &(ValueType){ PRIM_F32, 0 }), "f32.inf");
  CHECK_TEXT(read_as("[]", &(ValueType){ PRIM_F32, 1 }), "empty([0]f32)");
  CHECK_TEXT(read_as("[[], []]", &(ValueType){ PRIM_I8, 2 }), "empty([2][0]i8)");
}

static void reads_arrays(void) {
  CHECK_TEXT(read_as("[[1, 2], [3, 4], [5, 6]]", NULL),
             "[[1i32, 2i32], [3i32, 4i32], [5i32, 6i32]]");
  CHECK_TEXT(read_as("empty([0][3]i32)", NULL), "empty([0][3]i32)");
  CHECK_TEXT(read_as("[empty([0]i32), empty([0]i32)]", NULL), "empty([2][0]i32)");
  CHECK_TEXT(read_as("[[empty([0][2]i8)]]", NULL), "empty([1][1][0][2]i8)");
  CHECK_TEXT(read_as("[[], empty([0]f32)]", &(ValueType){ PRIM_F32, 2 }),
             "empty([2][0]f32)");
  CHECK_TEXT(read_as("\"a\\n\\x41\"", NULL), "[97u8, 10u8, 65u8]");
  CHECK_TEXT(read_as("[\"ab\", \"cd\"]", NULL), "[[97u8, 98u8], [99u8, 100u8]]");
  CHECK_TEXT(read_as("[1i64,2]", NULL), "[1i64, 2i64]");
}

static void says_what_is_wrong(void) {
  CHECK_TEXT(message_of("[[1, 2], [3]]", NULL),
             "t:1:10: row 2 has 1 element, expected 2");
  CHECK_TEXT(message_of("[1,\n 2.5]", NULL),
             "t:2:2: expected i32, found a decimal number (2.5)");
  CHECK_TEXT(message_of("[1i32, 2i64]", NULL), "t:1:8: expected i32, found i64 (2i64)");
  CHECK_TEXT(message_of("[1 2]", NULL),
             "t:1:4: expected ']' or ',' in an array, found '2'");
  CHECK_TEXT(message_of("3000000000", NULL), "t:1:1: 3000000000 does not fit i32");
  CHECK_TEXT(message_of("-1", &(ValueType){ PRIM_U16, 0 }), "t:1:1: -1 does not fit u16");
  CHECK_TEXT(message_of("1.5i32", NULL),
             "t:1:1: expected i32, found a decimal number (1.5i32)");
  CHECK_TEXT(message_of("[1, [2]]", NULL),
             "t:1:6: expected an array nested 1 deep like those before it, found 2 deep");
  CHECK_TEXT(message_of("[1, 2]", &(ValueType){ PRIM_I32, 2 }),
             "t:1:2: expected a value of type [][]i32, found an array of another rank");
  CHECK_TEXT(message_of("0.03f64", &(ValueType){ PRIM_F32, 0 }),
             "t:1:1: expected f32, found f64 (0.03f64)");
  CHECK_TEXT(message_of("empty([2]i32)", NULL),
             "t:1:1: an empty array needs a dimension of size 0");
  CHECK_TEXT(message_of("[empty([0]i32), [1]]", NULL),
             "t:1:17: row 2 has 1 element, expected 0");
  CHECK_TEXT(
      message_of("[empty([4611686018427387904][0]i8), empty([4611686018427387904][0]i8)]",
                 NULL),
      "t:1:1: the sizes of an empty array are too large");
  CHECK_TEXT(message_of("[[1], empty([0]i64)]", NULL),
             "t:1:7: expected i32, found an array of i64");
  CHECK_TEXT(message_of("[1, 2", NULL),
             "t:1:6: expected ']' or ',' in an array, found the end of the data");
  CHECK_TEXT(message_of("0x", NULL), "t:1:1: expected a value, found '0x'");
  CHECK_TEXT(message_of(" -- nothing", NULL), "the end");
}

// Short and long decimals must round as strtod and strtof do.
static void rounds_correctly(void) {
  static const char *const numbers[] = {
    "0.1",
    "1e22",
    "1e23",
    "9007199254740993",
    "0.3",
    "123456789012345678901234567890",
    "1e-45",
    "8388608.5",
    "16777217",
    "1.00000017881393421514957253748434595763683319091796875001",
    "3.4028235e38",
    "1.17549435e-38",
    "2.2250738585072011e-308",
    "7.038531e-26",
    "0.000030517578125",
    "1e400",
  };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    const char *message = NULL;
    ValueReader *reader = value_reader_new("t", numbers[i], strlen(numbers[i]));
    ValueReader *again = value_reader_fork(reader);
    const Value *f64 = value_read(reader, &(ValueType){ PRIM_F64, 0 }, &message);
    const Value *f32 = value_read(again, &(ValueType){ PRIM_F32, 0 }, &message);
    CHECK(value_get(f64, 0).u.f64 == strtod(numbers[i], NULL));
    CHECK(value_get(f32, 0).u.f32 == strtof(numbers[i], NULL));
  }
}

static void binary_reads_back(void) {
  static const PrimType types[] = { PRIM_I8,  PRIM_U16, PRIM_I32, PRIM_I64,
                                    PRIM_F32, PRIM_F64, PRIM_BOOL };
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    Value *v = value_new(types[i], 2, (int64_t[]){ 2, 3 });
    for (int64_t k = 0; k < 6; k++)
      value_set(v, k, prim_convert(types[i], prim_i32((int)k)));
    Text *t = text_new();
    value_write_binary(t, v);
    const char *message = NULL;
    ValueReader *reader = value_reader_new("t", text_str(t), text_length(t));
    const Value *back = value_read(reader, &(ValueType){ types[i], 2 }, &message);
    CHECK(back && value_at_end(reader));
    CHECK(value_compare(back, v, 0, true) == NULL);
  }
}

static const char *binary_message(const char *bytes, size_t length) {
  const char *message = NULL;
  ValueReader *reader = value_reader_new("t", bytes, length);
  CHECK(value_read(reader, NULL, &message) == NULL);
  return message;
}

static void refuses_damaged_binary(void) {
  static const char short_head[] = "b\2\1", version[] = "b\3\0 i32....",
                    type[] = "b\2\0 i3x....";
  static const char huge[] = "b\2\1 i32\377\377\377\377\377\377\377\177";
  static const char short_data[] = "b\2\1 i32\2\0\0\0\0\0\0\0....";
  CHECK_TEXT(binary_message(short_head, sizeof short_head - 1),
             "t:1:1: byte 0: expected 4 more bytes of a binary value, found the end");
  CHECK_TEXT(binary_message(version, sizeof version - 1),
             "t:1:1: byte 1: expected version 2 of the binary format, found 3");
  CHECK_TEXT(binary_message(type, sizeof type - 1),
             "t:1:1: byte 3: unknown type \" i3x\" of a binary value");
  CHECK_TEXT(binary_message(huge, sizeof huge - 1),
             "t:1:8: byte 7: damaged sizes of a binary value");
  CHECK_TEXT(binary_message(short_data, sizeof short_data - 1),
             "t:1:16: byte 15: expected 4 more bytes of a binary value, found the end");
}

static Value *floats(float a, float b) {
  Value *v = value_new(PRIM_F32, 1, (int64_t[]){ 2 });
  value_set(v, 0, prim_f32(a));
  value_set(v, 1, prim_f32(b));
  return v;
}

static void compares_by_tolerance(void) {
  CHECK(value_compare(floats(1.001F, 2), floats(1, 2), 0.002, false) == NULL);
  CHECK(value_compare(floats(1001, 2), floats(1000, 2), 0.002, false) == NULL);
  CHECK(value_compare(floats(1e-4F, 0), floats(2e-4F, 0), 0.002, true) != NULL);
  CHECK(value_compare(floats(NAN, INFINITY), floats(NAN, INFINITY), 0, true) == NULL);
  CHECK(value_compare(floats(NAN, 0), floats(0, 0), 1, false) != NULL);
  CHECK(value_compare(floats(INFINITY, 0), floats(-INFINITY, 0), 1, false) != NULL);
  CHECK_TEXT(value_compare(floats(0, 5), floats(0, 4), 0.125, true),
             "element [1]: got 5.0f32, expected 4.0f32 (difference 1, tolerance 0.5)");
  CHECK_TEXT(
      value_compare(floats(0, 5), value_new(PRIM_F32, 1, (int64_t[]){ 3 }), 0, true),
      "got a value of type [2]f32, expected [3]f32");
}

int main(void) {
  mem_init();
  reads_literals_without_a_type();
  wraps_literals_with_a_suffix();
  reads_literals_for_a_type();
  reads_arrays();
  says_what_is_wrong();
  rounds_correctly();
  binary_reads_back();
  refuses_damaged_binary();
  compares_by_tolerance();
  return 0;
}
