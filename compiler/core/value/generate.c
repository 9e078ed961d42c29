// Recipe SM: element i of the array of seed s is a hash of s + (i + 1) * golden, so that data sets
// need not be shipped.
#include "core/value/generate.h"
#include "base/diag.h"
#include "base/mem.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15);

static uint64_t random_bits(uint64_t seed, uint64_t i) {
  uint64_t z = seed + (i + 1) * golden;
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

// lo + (hi - lo) * a fraction of [0, 1), computed in f64 and rounded once.
static Prim random_float(PrimType type, uint64_t z, double low, double high) {
  double fraction = type == PRIM_F16   ? (double)(z >> 53) * 0x1p-11
                    : type == PRIM_F32 ? (double)(z >> 40) * 0x1p-24
                                       : (double)(z >> 11) * 0x1p-53;
  return prim_float(type, low + (high - low) * fraction);
}

static Prim random_int(PrimType type, uint64_t z, const GenerateBounds *bounds) {
  int bits = prim_bits(type);
  if (!bounds->has[type]) return prim_int(type, (int64_t)(z >> (64 - bits)));
  uint64_t low = (uint64_t)bounds->low[type].u.i;
  uint64_t count = (uint64_t)bounds->high[type].u.i - low + 1;
  uint64_t source = bits == 64 ? z : z >> 32;
  // All 64 bits: the count overflows to 0.
  // cppcheck-suppress knownConditionTrueFalse
  return prim_int(type, (int64_t)(low + (count ? source % count : source)));
}

static Prim random_prim(PrimType type, uint64_t z, const GenerateBounds *bounds) {
  if (type == PRIM_BOOL) return prim_bool(z >> 63);
  if (!prim_is_float(type)) return random_int(type, z, bounds);
  if (!bounds->has[type]) return random_float(type, z, 0, 1);
  return random_float(type, z, prim_to_double(bounds->low[type]),
                      prim_to_double(bounds->high[type]));
}

bool generate_bounds_ok(const GenerateBounds *bounds, PrimType type) {
  Prim args[2] = { bounds->low[type], bounds->high[type] }, ordered;
  return prim_apply(OP_LE, args, &ordered) && ordered.u.i;
}

enum { MAX_RANK = 32 };

// "[100][3]f32" with literal sizes; false if the text is no such type.
static bool parse_value_type(const char *text, PrimType *elem, int *rank,
                             int64_t *shape) {
  *rank = 0;
  while (*text == ' ')
    text++;
  while (*text == '[') {
    char *end = NULL;
    if (*rank == MAX_RANK || text[1] < '0' || text[1] > '9') return false;
    shape[(*rank)++] = strtoll(text + 1, &end, 10);
    if (strncmp(end, "i64", 3) == 0) end += 3;
    if (*end != ']') return false;
    text = end + 1;
  }
  size_t length = strcspn(text, " \t\n");
  return text[length + strspn(text + length, " \t\n")] == '\0' &&
         prim_type_named(text_format("%.*s", (int)length, text), elem);
}

bool generate_is_type(const char *text) {
  PrimType elem;
  int rank;
  int64_t shape[MAX_RANK];
  return parse_value_type(text, &elem, &rank, shape);
}

static bool is_too_big(const int64_t *shape, int rank) {
  static const int64_t most_elements = INT64_C(1) << 36;
  int64_t count = 1;
  for (int d = 0; d < rank; d++)
    if (__builtin_mul_overflow(count, shape[d], &count)) return true;
  return count > most_elements;
}

// The type that was meant by a name from elsewhere or nearly the right one; NULL if it is unclear.
static const char *meant_type(const char *name) {
  static const char *const others[][2] = {
    { "int", "i32" },    { "long", "i64" }, { "uint", "u32" }, { "float", "f32" },
    { "double", "f64" }, { "half", "f16" }, { "char", "u8" },  { "byte", "u8" },
  };
  Name names[PRIM_COUNT];
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(name, others[i][0]) == 0) return others[i][1];
  for (int type = 0; type < PRIM_COUNT; type++)
    names[type] = prim_type_name((PrimType)type);
  return diag_closest(name, names, PRIM_COUNT);
}

// The end of the message: [n]f32, [3]f33.
static const char *type_hint(const char *text) {
  const char *bracket = strrchr(text, ']'), *name = bracket ? bracket + 1 : text;
  PrimType elem;
  if (prim_type_named(name, &elem))
    return "\nhint: the sizes of a type are numbers: `[100][3]f32`";
  const char *meant = isalpha((unsigned char)*name) ? meant_type(name) : NULL;
  if (!meant) return "";
  return text_format("\nhint: did you mean `%.*s%s`?", (int)(name - text), text, meant);
}

const Value *generate_value(const char *text, uint64_t seed, const GenerateBounds *bounds,
                            const char **message) {
  PrimType elem;
  int rank;
  int64_t shape[MAX_RANK];
  *message = NULL;
  if (parse_value_type(text, &elem, &rank, shape)) {
    if (is_too_big(shape, rank)) *message = text_format("%s is too big", text);
    if (*message) return NULL;
    Value *v = value_new(elem, rank, shape);
    for (int64_t i = 0; i < value_count(v); i++)
      value_set(v, i, random_prim(elem, random_bits(seed, (uint64_t)i), bounds));
    return v;
  }
  ValueReader *reader = value_reader_new("value", text, strlen(text));
  const Value *v = value_read(reader, NULL, message);
  if (v && value_at_end(reader)) return v;
  *message = text_format("expected a type with sizes or a value, found %s%s", text,
                         type_hint(text));
  return NULL;
}
