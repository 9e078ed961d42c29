// Scalar literals.  Most of a big data file are short decimals: those are converted exactly with
// one multiplication or division; the rest goes through strtod or strtof.
#include "core/value/literal.h"
#include "base/mem.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum LiteralKind {
  LITERAL_INT,
  LITERAL_DECIMAL,
  LITERAL_BOOL,
  LITERAL_NAN,
  LITERAL_INF
} LiteralKind;

typedef struct Literal {
  LiteralKind kind;
  bool negative;
  uint64_t mantissa;  // the digits, modulo 2^64; for LITERAL_BOOL the value
  bool overflow;      // more digits than the mantissa holds
  int exponent;       // value = mantissa * 10^exponent
  bool hex_float;     // leave the value to strtod
  bool binary;        // 0b101, which strtod does not read
  bool has_type;
  PrimType type;
  size_t start, end;  // the digits in the reader's bytes, without sign and suffix
} Literal;

static char byte_at(const ValueReader *r, size_t i) {
  return i < r->length ? r->bytes[i] : '\0';
}

static bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }

static bool is_word(char ch) {
  return isalnum((unsigned char)ch) || ch == '_' || ch == '.';
}

static size_t word_end(const ValueReader *r, size_t i) {
  while (is_word(byte_at(r, i)))
    i++;
  return i;
}

// As in runtime/values.h.
static const char *kind_of_file(const ValueReader *r) {
  unsigned char first = (unsigned char)r->bytes[0];
  if (r->position > 0) return "";
  if (first == 0xff || first == 0xfe) return ": this is UTF-16, where UTF-8 is read";
  if (r->length > 6 && memcmp(r->bytes, "\x93NUMPY", 6) == 0)
    return ": this is a file of NumPy, whose arrays programs take in Python";
  return "";
}

const char *value_found(const ValueReader *r) {
  size_t at = r->position, end = word_end(r, at + (byte_at(r, at) == '-'));
  if (at >= r->length) return "the end of the data";
  if (end > at + 40) end = at + 40;
  if (end == at) end = at + 1;
  unsigned char byte = (unsigned char)r->bytes[at];
  if (end == at + 1 && !isprint(byte))
    return text_format("byte 0x%02x%s", byte, kind_of_file(r));
  return text_format("'%.*s'", (int)(end - at), r->bytes + at);
}

// Digits of the mantissa from `i` on, `_` between them allowed.
static size_t scan_digits(const ValueReader *r, size_t i, Literal *lit, bool fraction) {
  for (;; i++) {
    char ch = byte_at(r, i);
    if (ch == '_') continue;
    if (!is_digit(ch)) return i;
    uint64_t digit = (uint64_t)(ch - '0');
    lit->overflow |= lit->mantissa > (UINT64_MAX - digit) / 10;
    lit->mantissa = lit->mantissa * 10 + digit;
    lit->exponent -= fraction;
  }
}

static size_t scan_exponent(const ValueReader *r, size_t i, Literal *lit) {
  char mark = byte_at(r, i), sign = byte_at(r, i + 1);
  bool has_sign = sign == '-' || sign == '+';
  size_t digits = i + 1 + has_sign;
  if ((mark != 'e' && mark != 'E') || !is_digit(byte_at(r, digits))) return i;
  int exponent = 0;
  for (; is_digit(byte_at(r, digits)); digits++)
    if (exponent < 100000) exponent = exponent * 10 + (byte_at(r, digits) - '0');
  lit->exponent += sign == '-' ? -exponent : exponent;
  lit->kind = LITERAL_DECIMAL;
  return digits;
}

static void scan_decimal(const ValueReader *r, Literal *lit) {
  size_t i = scan_digits(r, lit->start, lit, false);
  if (byte_at(r, i) == '.' && is_digit(byte_at(r, i + 1))) {
    i = scan_digits(r, i + 1, lit, true);
    lit->kind = LITERAL_DECIMAL;
  } else if (byte_at(r, i) == '.') {
    i++;  // "1." as Futhark's data tools accept it
    lit->kind = LITERAL_DECIMAL;
  }
  lit->end = scan_exponent(r, i, lit);
}

// -1: no digit.
static int hex_value(char ch) {
  if (!isxdigit((unsigned char)ch)) return -1;
  return is_digit(ch) ? ch - '0' : (ch | 0x20) - 'a' + 10;
}

// 0x1F, 0b101, and hexadecimal floats, which have an exponent after p.
static void scan_based(const ValueReader *r, Literal *lit) {
  bool binary = (byte_at(r, lit->start + 1) | 0x20) == 'b';
  lit->binary = binary;
  uint64_t base = binary ? 2 : 16;
  size_t i = lit->start + 2;
  lit->end = i;
  if (hex_value(byte_at(r, i)) < 0 || hex_value(byte_at(r, i)) >= (int)base) return;
  for (;; i++) {
    int digit = hex_value(byte_at(r, i));
    if (byte_at(r, i) == '_') continue;
    if (digit < 0 || digit >= (int)base) break;
    lit->overflow |= lit->mantissa > (UINT64_MAX >> (binary ? 1 : 4));
    lit->mantissa = lit->mantissa * base + (uint64_t)digit;
  }
  lit->end = i;
  if (binary || (byte_at(r, i) != '.' && (byte_at(r, i) | 0x20) != 'p')) return;
  if (byte_at(r, i) == '.' && hex_value(byte_at(r, ++i)) >= 0)
    while (byte_at(r, i) == '_' || hex_value(byte_at(r, i)) >= 0)
      i++;
  if ((byte_at(r, i) | 0x20) != 'p') return;
  i += 1 + (byte_at(r, i + 1) == '-' || byte_at(r, i + 1) == '+');
  if (!is_digit(byte_at(r, i))) return;
  while (is_digit(byte_at(r, i)))
    i++;
  lit->end = i;
  lit->kind = LITERAL_DECIMAL;
  lit->hex_float = true;
}

// The type name directly after the digits; false if something else stands there.
static bool scan_suffix(const ValueReader *r, Literal *lit, size_t *end) {
  char name[8] = { 0 };
  *end = word_end(r, lit->end);
  if (*end == lit->end) return true;
  if (*end - lit->end >= sizeof name) return false;
  memcpy(name, r->bytes + lit->end, *end - lit->end);
  lit->has_type = prim_type_named(name, &lit->type) && lit->type != PRIM_BOOL;
  return lit->has_type;
}

typedef struct LiteralWord {
  const char *text;
  LiteralKind kind;
  bool has_type;
  PrimType type;
  uint64_t value;
} LiteralWord;

static const LiteralWord words[] = {
  { "true", LITERAL_BOOL, true, PRIM_BOOL, 1 },
  { "false", LITERAL_BOOL, true, PRIM_BOOL, 0 },
  { "nan", LITERAL_NAN, false, PRIM_F64, 0 },
  { "inf", LITERAL_INF, false, PRIM_F64, 0 },
  { "f16.nan", LITERAL_NAN, true, PRIM_F16, 0 },
  { "f16.inf", LITERAL_INF, true, PRIM_F16, 0 },
  { "f32.nan", LITERAL_NAN, true, PRIM_F32, 0 },
  { "f32.inf", LITERAL_INF, true, PRIM_F32, 0 },
  { "f64.nan", LITERAL_NAN, true, PRIM_F64, 0 },
  { "f64.inf", LITERAL_INF, true, PRIM_F64, 0 },
};

static bool scan_word(ValueReader *r, Literal *lit, size_t *end) {
  *end = word_end(r, lit->start);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t length = strlen(words[i].text);
    if (*end - lit->start != length) continue;
    if (memcmp(r->bytes + lit->start, words[i].text, length) != 0) continue;
    lit->kind = words[i].kind;
    lit->has_type = words[i].has_type;
    lit->type = words[i].type;
    lit->mantissa = words[i].value;
    return lit->kind != LITERAL_BOOL || !lit->negative;
  }
  return false;
}

// Scans a literal with its sign and suffix and moves past it.
static bool scan(ValueReader *r, Literal *lit) {
  char sign = byte_at(r, r->position);
  lit->negative = sign == '-';
  lit->start = r->position + (sign == '-' || sign == '+');
  char first = byte_at(r, lit->start), next = byte_at(r, lit->start + 1);
  char second = (char)(next | 0x20);
  size_t end = 0;
  bool ok;
  if (is_digit(first) || (first == '.' && is_digit(next))) {
    bool based = first == '0' && (second == 'x' || second == 'b');
    if (based)
      scan_based(r, lit);
    else
      scan_decimal(r, lit);
    ok = scan_suffix(r, lit, &end) && !(based && lit->end == lit->start + 2);
  } else {
    ok = scan_word(r, lit, &end);
  }
  if (ok) r->position = end;
  return ok;
}

static const double powers_of_ten[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                        1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                        1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };

// One correctly rounded operation on two exact operands; false if they are not exact.
static bool short_decimal(const Literal *lit, double *out) {
  if (lit->overflow || lit->hex_float || lit->mantissa > (UINT64_C(1) << 53))
    return false;
  if (lit->exponent < -22 || lit->exponent > 22) return false;
  double mantissa = (double)lit->mantissa;
  *out = lit->exponent < 0 ? mantissa / powers_of_ten[-lit->exponent]
                           : mantissa * powers_of_ten[lit->exponent];
  return true;
}

// The digits as a NUL-terminated string without separators.
static const char *digits_text(const ValueReader *r, const Literal *lit) {
  char *text = mem_alloc_plain(lit->end - lit->start + 1), *to = text;
  for (size_t i = lit->start; i < lit->end; i++)
    if (r->bytes[i] != '_') *to++ = r->bytes[i];
  return text;
}

// An f32 rounded from a correctly rounded f64 is right unless the f64 lies exactly between two
// f32 or outside of the normal range.
static bool narrows_exactly(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  static const uint64_t dropped = (UINT64_C(1) << 29) - 1, halfway = UINT64_C(1) << 28;
  if ((bits & dropped) == halfway) return false;
  return value == 0 || (value > 1.2e-38 && value < 3.4e38);
}

static Prim float_value(const ValueReader *r, const Literal *lit, PrimType type) {
  double value = NAN;
  if (lit->kind == LITERAL_INF) value = INFINITY;
  if (lit->kind == LITERAL_NAN || lit->kind == LITERAL_INF)
    return prim_float(type, lit->negative ? -value : value);
  if (lit->binary && type == PRIM_F32) value = (float)lit->mantissa;
  if (lit->binary && type != PRIM_F32) value = (double)lit->mantissa;
  if (lit->binary) return prim_float(type, lit->negative ? -value : value);
  if (type == PRIM_F16) {
    value = prim_to_double(prim_of_decimal(type, digits_text(r, lit)));
    return prim_float(type, lit->negative ? -value : value);
  }
  bool exact = short_decimal(lit, &value);
  if (type == PRIM_F32 && (!exact || !narrows_exactly(value)))
    return prim_f32(strtof(digits_text(r, lit), NULL) * (lit->negative ? -1.0F : 1.0F));
  if (!exact) value = strtod(digits_text(r, lit), NULL);
  return prim_float(type, lit->negative ? -value : value);
}

// Wrapped if the integer has a suffix; false if it has none and does not fit the type.
static bool int_value(const Literal *lit, PrimType type, Prim *out) {
  uint64_t bits = lit->negative ? 0 - lit->mantissa : lit->mantissa;
  *out = prim_int(type, (int64_t)bits);
  if (lit->has_type) return true;
  if (lit->overflow) return false;
  if (type == PRIM_U64) return !lit->negative || lit->mantissa == 0;
  if (lit->mantissa > (uint64_t)INT64_MAX + lit->negative) return false;
  return out->u.i == (int64_t)bits;
}

static PrimType default_type(const Literal *lit) {
  if (lit->has_type) return lit->type;
  return lit->kind == LITERAL_INT ? PRIM_I32 : PRIM_F64;
}

// May the literal stand for a value of the type?
static bool may_be(const Literal *lit, PrimType type) {
  if (lit->has_type && lit->type != type) return false;
  if (lit->kind == LITERAL_BOOL) return type == PRIM_BOOL;
  if (lit->kind == LITERAL_INT) return type != PRIM_BOOL;
  return prim_is_float(type);
}

// nan, true or 1 in the letters of other languages, as a value of this type; NULL if it is none.
static const char *constant(const char *word, const char *sign, PrimType type) {
  static const char *const spellings[][2] = {
    { "nan", "nan" },     { "inf", "inf" }, { "infinity", "inf" }, { "true", "true" },
    { "false", "false" }, { "1", "true" },  { "0", "false" },
  };
  for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++) {
    bool is_bool = i > 2;
    if (strcmp(word, spellings[i][0]) != 0) continue;
    if (is_bool && type == PRIM_BOOL) return spellings[i][1];
    if (!is_bool && prim_is_float(type))
      return text_format("%s%s.%s", sign, prim_type_name(type), spellings[i][1]);
  }
  return NULL;
}

// 1.5f and 3L.
static const char *with_suffix(const char *word, const char *sign, PrimType type) {
  size_t length = strlen(word), digits = length;
  while (digits > 0 && strchr("fdlu", word[digits - 1]))
    digits--;
  if (!digits || digits == length || !is_digit(word[0]) || word[1] == 'x') return NULL;
  if (type == PRIM_BOOL || (!prim_is_float(type) && strpbrk(word, ".e"))) return NULL;
  return text_format("%s%.*s%s", sign, (int)digits, word, prim_type_name(type));
}

// What to write for the word at `at`: the end of a message, as in runtime/values.h.
static const char *word_hint(const ValueReader *r, size_t at, PrimType type) {
  char first = byte_at(r, at);
  const char *sign = first == '-' ? "-" : "";
  at += strlen(sign);
  if (first == '(')
    return "\nhint: the values of a tuple follow one another, without brackets";
  if (first == '{')
    return "\nhint: the fields of a record follow one another, without braces and names";
  if (first == '#')
    return "\nhint: the number of a constructor comes first, from 0 on, then what all of "
           "them hold";
  if (first == ',')
    return "\nhint: no comma stands between values, nor in a number: `1.5`";
  size_t length = word_end(r, at) - at;
  char *word = new_array(char, length + 1);
  for (size_t i = 0; i < length; i++)
    word[i] = (char)tolower((unsigned char)r->bytes[at + i]);
  const char *as = constant(word, sign, type);
  if (as) return text_format("\nhint: write `%s`", as);
  as = with_suffix(word, sign, type);
  if (!as) return "";
  return text_format("\nhint: the suffix of its type is `%s`: `%s`", prim_type_name(type),
                     as);
}

// The same where no type is known.
static const char *any_word_hint(const ValueReader *r, size_t at) {
  const char *text = word_hint(r, at, PRIM_F64);
  return *text ? text : word_hint(r, at, PRIM_BOOL);
}

static bool mismatch(ValueReader *r, size_t start, const Literal *lit, PrimType wanted) {
  const char *kind = lit->kind == LITERAL_INT ? "an integer" : "a decimal number";
  bool contradicts = lit->has_type && lit->type == wanted;  // 1.5i32
  const char *found = lit->has_type && !contradicts ? prim_type_name(lit->type) : kind;
  value_fail(r, start, "expected %s, found %s (%.*s)%s", prim_type_name(wanted), found,
             (int)(r->position - start), r->bytes + start, word_hint(r, start, wanted));
  return false;
}

bool value_read_literal(ValueReader *r, const PrimType *wanted, Prim *out) {
  size_t start = r->position;
  Literal lit = { .kind = LITERAL_INT };
  if (!scan(r, &lit)) {
    value_fail(r, start, "expected %s, found %s%s",
               wanted ? prim_type_name(*wanted) : "a value", value_found(r),
               wanted ? word_hint(r, start, *wanted) : any_word_hint(r, start));
    return false;
  }
  PrimType type = wanted ? *wanted : default_type(&lit);
  if (!may_be(&lit, type)) return mismatch(r, start, &lit, type);
  if (lit.kind == LITERAL_BOOL) {
    *out = prim_bool(lit.mantissa);
  } else if (prim_is_float(type) && !(lit.binary && lit.overflow)) {
    *out = float_value(r, &lit, type);
  } else if (prim_is_float(type) || !int_value(&lit, type, out)) {
    value_fail(r, start, "%.*s does not fit %s", (int)(r->position - start),
               r->bytes + start, prim_type_name(type));
    return false;
  }
  return true;
}

// After a backslash: \n, \t, \" and so on, \xHH, \DDD.
static int read_escape(ValueReader *r) {
  static const char from[] = "nrtabfv0\\\"'", to[] = "\n\r\t\a\b\f\v\0\\\"'";
  char ch = byte_at(r, r->position++);
  const char *known = ch ? memchr(from, ch, sizeof from - 1) : NULL;
  if (known && !(ch == '0' && is_digit(byte_at(r, r->position))))
    return (unsigned char)to[known - from];
  bool hex = ch == 'x';
  if (!hex && !is_digit(ch)) return VALUE_STRING_BAD;
  int value = hex ? 0 : ch - '0';
  size_t start = r->position;
  for (; hex ? isxdigit((unsigned char)byte_at(r, r->position))
             : is_digit(byte_at(r, r->position));
       r->position++)
    if (value < 256) value = value * (hex ? 16 : 10) + hex_value(byte_at(r, r->position));
  return value < 256 && !(hex && r->position == start) ? value : VALUE_STRING_BAD;
}

int value_read_char(ValueReader *r, size_t start) {
  char ch = byte_at(r, r->position);
  if (r->position >= r->length || ch == '\n') {
    value_fail(r, start, "expected '\"' at the end of the string");
    return VALUE_STRING_BAD;
  }
  size_t at = r->position++;
  if (ch == '"') return VALUE_STRING_END;
  if (ch != '\\') return (unsigned char)ch;
  int byte = read_escape(r);
  if (byte == VALUE_STRING_BAD) value_fail(r, at, "unknown escape in a string");
  return byte;
}
