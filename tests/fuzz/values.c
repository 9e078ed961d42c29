// Random texts and bytes for the reader of values in compiled programs: values SEED COUNT.  It accepts
// what the compiler's reader accepts, reads the same, and never leaves its memory (build with
// -fsanitize=address,undefined).
#include "../../runtime/all.c"
#include "../unit.h"
#include "core/value/value.h"
#include "mutate.h"

static const struct rt_program no_program;  // nothing of it is needed

RT_FN const struct rt_program *rt_program(void) { return &no_program; }

#define SEED(text) \
  { text, sizeof(text) - 1 }
static const struct {
  const char *bytes;
  size_t length;
} seeds[] = {
  SEED(" -- comment [\n 5 -- more\n"),
  SEED("[1, -2, 3i32]"),
  SEED("\xef\xbb\xbf[1, 2]"),
  SEED("[[1, 2], [3, 4], [5, 6]]"),
  SEED("[[1.5f32, 2f32], [1e10, -0.5]]"),
  SEED("[f32.nan, -f32.inf, 0x1.8p3, 1_0.0e-3]"),
  SEED("[true, false]"),
  SEED("empty([0][3]f32)"),
  SEED("empty([2][0]i64)"),
  SEED("[empty([0]i32), empty([0]i32)]"),
  SEED("\"ab\\n\\x41\\255\""),
  SEED("[\"ab\", \"cd\"]"),
  SEED("0b101u8 0xffi64 18446744073709551615u64"),
  SEED("-9223372036854775808 255 65535u16"),
  SEED("b\2\1 i32\2\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0"),
  SEED("b\2\2bool\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\1\0"),
  SEED("b\2\0 f64\0\0\0\0\0\0\xf0\x3f"),
  SEED("b\2\1  u8\3\0\0\0\0\0\0\0abc"),
  SEED("b\2\2 i64\0\0\0\0\0\0\0\x40\4\0\0\0\0\0\0\0"),
};

static const char *const words[] = {
  "[",
  "]",
  ",",
  "[]",
  "empty(",
  ")",
  "i32",
  "i64",
  "f32",
  "u8",
  "e",
  "-",
  "--",
  "\n",
  "\"",
  "\\x",
  "true",
  "f64.nan",
  "inf",
  ".",
  "0x",
  "0b",
  "_",
  "1e400",
  "9999999",
  "\xff\xff",
  "[0]",
  "i8",
  "p",
  "e-9",
  "+",
  "\\",
  "b\2",
  "b\2\1",
  "bool",
  "\t\r\f\v",
  "0",
  "1",
  "f16",
  "00000000000",
  "99999999999999999999",
  "0.1000000000000000055511151231257827",
  "1e-46",
  "nan",
};

static void compare(const struct rt_host_value *v, const Value *expected) {
  struct rt_text t = { NULL, 0, 0 };
  Text *text = text_new();
  rt_write_text(&t, v);
  value_write_text(text, expected);
  CHECK_TEXT(t.data, text_str(text));
  rt_text_free(&t);
}

static void read_both(const Mutant *m, enum rt_elem elem, int rank) {
  struct rt_reader r = { "data", m->bytes, m->length, 0, NULL };
  struct rt_host_value v;
  ValueType type = { (PrimType)elem, rank };
  ValueReader *reader = value_reader_new("data", m->bytes, m->length);
  bool ok = true;
  for (int i = 0; i < 3 && ok; i++) {
    const char *message = NULL;
    ok = rt_read_value(&r, elem, rank, &v);
    Value *expected = value_read(reader, &type, &message);
    if (ok != (expected != NULL))
      fprintf(stderr, "%.*s\nas %s with %d dimensions: %s / %s\n", (int)m->length,
              m->bytes, rt_elems[elem].name, rank, ok ? "accepted" : r.message,
              expected ? "accepted" : message);
    CHECK(ok == (expected != NULL));
    CHECK(ok || r.message);
    if (ok) compare(&v, expected);
    rt_host_value_free(&v);
  }
  free(r.message);
}

int main(int argc, char **argv) {
  long count = argc > 2 ? atol(argv[2]) : 20000;
  mutate_state = argc > 1 ? (uint64_t)atoll(argv[1]) * 2 + 1 : 1;
  for (long i = 0; i < count; i++) {
    size_t s = mutate_random(sizeof seeds / sizeof *seeds);
    Mutant m =
        mutant_of(seeds[s].bytes, seeds[s].length, words, sizeof words / sizeof *words);
    for (int k = 0; k < 4; k++)
      read_both(&m, (enum rt_elem)mutate_random(RT_ELEM_COUNT), (int)mutate_random(3));
    free(m.bytes);
  }
  return 0;
}
