// Reading and writing values: the runtime accepts and refuses the same texts and bytes as the
// compiler's own reader, reads the same values, and writes the same text.
#include "../../runtime/all.c"
#include "../unit.h"
#include "core/value/value.h"

static const struct rt_program no_program = {
  "none", NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL,         0,     NULL, 0,    NULL, 0,
  NULL,   0,    NULL, 0,    NULL, 0,    NULL, 0, RT_KINDS_ONE, false, NULL, NULL, 0,
};

RT_FN const struct rt_program *rt_program(void) { return &no_program; }

typedef struct Case {
  const char *text;
  enum rt_elem elem;  // in the order of PrimType
  int rank;
  bool accepted;
} Case;

static const Case cases[] = {
  { "5", RT_I32, 0, true },
  { " -- comment [\n 5 -- more\n", RT_I32, 0, true },
  { "5i32", RT_I32, 0, true },
  { "5i64", RT_I32, 0, false },
  { "5", RT_F32, 0, true },
  { "5.0", RT_I32, 0, false },
  { "1e3", RT_I32, 0, false },
  { "-128", RT_I8, 0, true },
  { "-129", RT_I8, 0, false },
  { "127i8", RT_I8, 0, true },
  { "128", RT_I8, 0, false },
  { "255", RT_U8, 0, true },
  { "256", RT_U8, 0, false },
  { "-1", RT_U8, 0, false },
  { "65535u16", RT_U16, 0, true },
  { "32768", RT_I16, 0, false },
  { "4294967295", RT_U32, 0, true },
  { "4294967296", RT_U32, 0, false },
  { "-2147483648", RT_I32, 0, true },
  { "2147483648", RT_I32, 0, false },
  { "18446744073709551615", RT_U64, 0, true },
  { "18446744073709551616", RT_U64, 0, false },
  { "-9223372036854775808", RT_I64, 0, true },
  { "9223372036854775808", RT_I64, 0, false },
  { "255i8", RT_I8, 0, true },
  { "0x8407i16", RT_I16, 0, true },
  { "-1u32", RT_U32, 0, true },
  { "0b100000001u8", RT_U8, 0, true },
  { "-9223372036854775809i64", RT_I64, 0, true },
  { "18446744073709551621u64", RT_U64, 0, true },
  { "0x123456789abcdef0123456789abcdef0i64", RT_I64, 0, true },
  { "0x123456789abcdef0123456789abcdef0", RT_I64, 0, false },
  { "1_000_000", RT_I64, 0, true },
  { "0x1F", RT_I32, 0, true },
  { "-0xffi64", RT_I64, 0, true },
  { "0b101", RT_U8, 0, true },
  { "0b101", RT_F32, 0, true },
  { "-0b101", RT_F64, 0, true },
  { "0b102", RT_U8, 0, false },
  { "0b", RT_U8, 0, false },
  { "0x_1", RT_I32, 0, false },
  { "0xp3", RT_F32, 0, false },
  { "0x1.8", RT_F32, 0, false },
  { "0x1p", RT_F32, 0, false },
  { ".5e-3", RT_F32, 0, true },
  { "1.", RT_F64, 0, true },
  { "0x1.8p3", RT_F64, 0, true },
  { "true", RT_BOOL, 0, true },
  { "false", RT_BOOL, 0, true },
  { "1", RT_BOOL, 0, false },
  { "true", RT_I32, 0, false },
  { "0.1", RT_F32, 0, true },
  { "0.1", RT_F64, 0, true },
  { "1.0e-6", RT_F32, 0, true },
  { "-1.5E+10f32", RT_F32, 0, true },
  { "3.4e39", RT_F32, 0, true },
  { "1e-45", RT_F32, 0, true },
  { "16777217", RT_F32, 0, true },
  { "0.1f64", RT_F32, 0, false },
  { "123456789012345678901234567890", RT_F64, 0, true },
  { "2.2250738585072011e-308", RT_F64, 0, true },
  { "f32.nan", RT_F32, 0, true },
  { "-f32.inf", RT_F32, 0, true },
  { "f64.inf", RT_F64, 0, true },
  { "f64.nan", RT_F32, 0, false },
  { "abc", RT_I32, 0, false },
  { "5x", RT_I32, 0, false },
  { "[1, 2, 3]", RT_I32, 1, true },
  { "[1,2,3", RT_I32, 1, false },
  { "[1 2]", RT_I32, 1, false },
  { "[1, 2]", RT_I32, 2, false },
  { "[[1, 2], [3, 4], [5, 6]]", RT_I32, 2, true },
  { "[[1, 2], [3]]", RT_I32, 2, false },
  { "[[1.5f32], [2f32]]", RT_F32, 2, true },
  { "5", RT_I32, 1, false },
  { "[]", RT_I32, 1, true },
  { "[]", RT_I32, 2, false },
  { "[[], []]", RT_I32, 2, true },
  { "empty([0]i32)", RT_I32, 1, true },
  { "empty([0][3]f32)", RT_F32, 2, true },
  { "empty([2]i32)", RT_I32, 1, false },
  { "empty([4611686018427387904][0]i8)", RT_I8, 2, true },
  { "empty([4611686018427387904][0]i64)", RT_I64, 2, false },
  { "empty([0][4611686018427387904][8]i8)", RT_I8, 3, false },
  { "empty([0]i64)", RT_I32, 1, false },
  { "[[empty([0]i32), []], [[], empty([0]i32)]]", RT_I32, 3, true },
  { "[empty([0]i32), [1]]", RT_I32, 2, false },
  { "[empty([0][2]i32)]", RT_I32, 2, false },
  { "[empty([2][4611686018427387904][0]i8), empty([2][4611686018427387904][0]i8)]", RT_I8,
    4, false },
  { "\"ab\\n\\x41\"", RT_U8, 1, true },
  { "\"ab", RT_U8, 1, false },
  { "\"\\0\\07\\x0a\\255\"", RT_U8, 1, true },
  { "\"\\x\"", RT_U8, 1, false },
  { "\"\\x 5\"", RT_U8, 1, false },
  { "\"\\256\"", RT_U8, 1, false },
  { "\"ab\"", RT_I32, 1, false },
};

static void read_both(const Case *c) {
  struct rt_reader r = { "data", c->text, strlen(c->text), 0, NULL };
  struct rt_host_value v;
  bool ok = rt_read_value(&r, c->elem, c->rank, &v);
  ValueType type = { (PrimType)c->elem, c->rank };
  const char *message = NULL;
  Value *expected =
      value_read(value_reader_new("data", c->text, r.length), &type, &message);
  if (ok != c->accepted || (expected != NULL) != c->accepted)
    fprintf(stderr, "%s: %s / %s\n", c->text, ok ? "accepted" : r.message,
            expected ? "accepted" : message);
  CHECK(ok == c->accepted);
  CHECK((expected != NULL) == c->accepted);
  if (ok) {
    struct rt_text t = { NULL, 0, 0 };
    Text *text = text_new();
    rt_write_text(&t, &v);
    value_write_text(text, expected);
    CHECK_TEXT(t.data, text_str(text));
    t.length = 0;
    rt_write_binary(&t, &v);
    Text *bytes = text_new();
    value_write_binary(bytes, expected);
    CHECK(t.length == text_length(bytes) &&
          memcmp(t.data, text_str(bytes), t.length) == 0);
    rt_text_free(&t);
  } else {
    CHECK(r.message && strncmp(r.message, "data:", 5) == 0);
  }
  free(r.message);
  rt_host_value_free(&v);
}

// Bytes with each byte damaged in turn never crash the reader.
static void read_damaged(void) {
  static const char bytes[] = "b\2\1 i32\2\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0";
  for (size_t at = 0; at < sizeof bytes; at++) {
    char copy[sizeof bytes];
    memcpy(copy, bytes, sizeof bytes);
    if (at < sizeof bytes - 1) copy[at] = (char)(copy[at] ^ 0x85);
    struct rt_reader r = { "data", copy, sizeof bytes - 1, 0, NULL };
    struct rt_host_value v;
    bool ok = rt_read_value(&r, RT_I32, 1, &v);
    CHECK(ok == (at >= 15));
    free(r.message);
    rt_host_value_free(&v);
  }
  for (size_t length = 0; length < sizeof bytes - 1; length++) {
    char *copy = (char *)rt_host_alloc(length);
    memcpy(copy, bytes, length);
    struct rt_reader r = { "data", copy, length, 0, NULL };
    struct rt_host_value v;
    CHECK(!rt_read_value(&r, RT_I32, 1, &v));
    free(r.message);
    free(copy);
    rt_host_value_free(&v);
  }
}

static void messages_say_where(void) {
  static const char text[] = "-- sizes\n[1, 2,\n true]";
  struct rt_reader r = { "standard input", text, sizeof text - 1, 0, NULL };
  struct rt_host_value v;
  CHECK(!rt_read_value(&r, RT_I32, 1, &v));
  CHECK_TEXT(r.message, "standard input:3:2: expected i32, found bool (true)");
  free(r.message);
  rt_host_value_free(&v);
}

int main(void) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    read_both(&cases[i]);
  read_damaged();
  messages_say_where();
  return 0;
}
