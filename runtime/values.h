// Begin values.h: values as text and as bytes (docs/cli.md), as compiler/core/value*.c reads and
// writes them.  Reading is directed by the type of the parameter.

// An array (rank 0: a scalar) on the host, row-major; owns its data.
struct rt_host_value {
  enum rt_elem elem;
  int rank;
  int64_t shape[RT_MAX_RANK];
  char *data;
  size_t bytes, capacity;
};

// A stream of values, which it does not own; message: the first failure, owned.
struct rt_reader {
  const char *what;
  const char *bytes;
  size_t length, position;
  char *message;
};

RT_FN void rt_host_value_free(struct rt_host_value *v) {
  free(v->data);
  memset(v, 0, sizeof *v);
}

// Of the byte order mark before a text, of which editors make files of UTF-8.
RT_FN size_t rt_mark_length(const struct rt_reader *r) {
  return r->length >= 3 && memcmp(r->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

RT_FN bool rt_reader_fail(struct rt_reader *r, size_t at, const char *format, ...)
    RT_TEXT(3);
RT_FN bool rt_reader_fail(struct rt_reader *r, size_t at, const char *format, ...) {
  if (r->message) return false;
  struct rt_text t = { NULL, 0, 0 };
  int line = 1, column = 1;
  for (size_t i = rt_mark_length(r); i < at && i < r->length; i++) {
    bool ends_line = r->bytes[i] == '\n';
    line += ends_line;
    column = ends_line ? 1 : column + ((r->bytes[i] & 0xC0) != 0x80);
  }
  rt_text_printf(&t, "%s:%d:%d: ", r->what, line, column);
  va_list args;
  va_start(args, format);
  rt_text_vprintf(&t, format, args);
  va_end(args);
  r->message = rt_text_take(&t);
  return false;
}

RT_FN char rt_byte_at(const struct rt_reader *r, size_t i) {
  return i < r->length ? r->bytes[i] : '\0';
}

RT_FN bool rt_is_space(char ch) { return ch == ' ' || (ch >= '\t' && ch <= '\r'); }

RT_FN void rt_skip_space(struct rt_reader *r) {
  if (r->position == 0) r->position = rt_mark_length(r);
  for (;;) {
    while (r->position < r->length && rt_is_space(r->bytes[r->position]))
      r->position++;
    if (rt_byte_at(r, r->position) != '-' || rt_byte_at(r, r->position + 1) != '-')
      return;
    while (r->position < r->length && r->bytes[r->position] != '\n')
      r->position++;
  }
}

RT_FN bool rt_reader_at_end(struct rt_reader *r) {
  rt_skip_space(r);
  return r->position >= r->length;
}

// ---- scalar literals

RT_FN bool rt_is_word(char ch) {
  return (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') ||
         (ch >= 'A' && ch <= 'Z') || ch == '_' || ch == '.';
}

// The end of the word at `i`.
RT_FN size_t rt_word_end(const struct rt_reader *r, size_t i) {
  while (rt_is_word(rt_byte_at(r, i)))
    i++;
  return i;
}

// The value of a hexadecimal digit; 16 for other bytes.
RT_FN int rt_digit(char ch) {
  char lower = (char)(ch | 0x20);
  if (ch >= '0' && ch <= '9') return ch - '0';
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}

// What is said of a file that is no text and no binary values: "" if nothing.
RT_FN const char *rt_kind_of_file(const struct rt_reader *r) {
  unsigned char first = (unsigned char)r->bytes[0];
  if (r->position > 0) return "";
  if (first == 0xff || first == 0xfe) return ": this is UTF-16, where UTF-8 is read";
  if (r->length > 6 && memcmp(r->bytes, "\x93NUMPY", 6) == 0)
    return ": this is a file of NumPy, whose arrays programs take in Python";
  return "";
}

// What stands at the position, for messages; static text or a copy in `text`.
RT_FN const char *rt_found(const struct rt_reader *r, char *text, size_t size) {
  size_t at = r->position, end = rt_word_end(r, at + (rt_byte_at(r, at) == '-'));
  if (at >= r->length) return "the end of the data";
  if (end == at) end = at + 1;
  if (end - at > 40) end = at + 40;
  unsigned char ch = (unsigned char)r->bytes[at];
  if (ch < ' ' || ch > '~')
    snprintf(text, size, "byte 0x%02x%s", ch, rt_kind_of_file(r));
  else
    snprintf(text, size, "'%.*s'", (int)(end - at), r->bytes + at);
  return text;
}

enum { RT_LITERAL_BYTES = 1200 };  // the longest decimal that an f64 can need

// A literal taken apart: the digits without separators and suffix.
struct rt_literal {
  char digits[RT_LITERAL_BYTES];
  bool negative, is_float, is_word;
  enum rt_elem suffix;  // RT_ELEM_COUNT: none
};

// "f32.nan", "inf" and the like; false if the word is another.
RT_FN bool rt_float_word(struct rt_literal *lit, const char *word, size_t length) {
  lit->suffix = RT_ELEM_COUNT;
  if (length > 4 && word[3] == '.') {
    lit->suffix = rt_elem_named(word, 3);
    if (lit->suffix == RT_ELEM_COUNT || !rt_elems[lit->suffix].is_float) return false;
    word += 4;
    length -= 4;
  }
  if (length != 3 || (memcmp(word, "nan", 3) != 0 && memcmp(word, "inf", 3) != 0))
    return false;
  memcpy(lit->digits, word, 3);
  lit->digits[3] = '\0';
  lit->is_float = lit->is_word = true;
  return true;
}

RT_FN bool rt_bool_word(struct rt_literal *lit, const char *word, size_t length) {
  bool yes = length == 4 && memcmp(word, "true", 4) == 0;
  if (!yes && !(length == 5 && memcmp(word, "false", 5) == 0)) return false;
  lit->suffix = RT_BOOL;
  lit->is_word = true;
  lit->digits[0] = yes ? '1' : '0';
  lit->digits[1] = '\0';
  return !lit->negative;
}

// Past the digits of a base at `i`, with `_` between them.
RT_FN size_t rt_skip_digits(const struct rt_reader *r, size_t i, int base) {
  if (rt_digit(rt_byte_at(r, i)) >= base) return i;
  while (rt_digit(rt_byte_at(r, i)) < base || rt_byte_at(r, i) == '_')
    i++;
  return i;
}

// Past an exponent: the letter, perhaps a sign, and digits; `i` itself if none stands there.
RT_FN size_t rt_skip_exponent(const struct rt_reader *r, size_t i, char letter) {
  if ((rt_byte_at(r, i) | 0x20) != letter) return i;
  char sign = rt_byte_at(r, i + 1);
  size_t digits = i + 1 + (sign == '-' || sign == '+'), end = digits;
  while (rt_digit(rt_byte_at(r, end)) < 10)
    end++;
  return end > digits ? end : i;
}

// The end of the number at `i`, without its suffix; `i` if it has no digits.
RT_FN size_t rt_number_end(const struct rt_reader *r, size_t i, bool *is_float) {
  char mark = rt_byte_at(r, i) == '0' ? (char)(rt_byte_at(r, i + 1) | 0x20) : '\0';
  bool hex = mark == 'x', binary = mark == 'b';
  size_t whole = rt_skip_digits(r, hex || binary ? i + 2 : i, hex ? 16 : binary ? 2 : 10);
  *is_float = false;
  if (binary || (hex && whole == i + 2)) return whole > i + 2 ? whole : i;
  size_t end = whole;
  if (rt_byte_at(r, end) == '.') end = rt_skip_digits(r, end + 1, hex ? 16 : 10);
  size_t exponent = rt_skip_exponent(r, end, hex ? 'p' : 'e');
  if (hex && exponent == end) return whole;
  *is_float = exponent > whole;
  return exponent;
}

// A number from `start` on: its digits without separators, and its suffix.
RT_FN bool rt_number(struct rt_reader *r, struct rt_literal *lit, size_t start) {
  size_t end = rt_number_end(r, start, &lit->is_float), word = rt_word_end(r, end);
  size_t to = 0;
  lit->suffix = RT_ELEM_COUNT;
  if (word > end) lit->suffix = rt_elem_named(r->bytes + end, word - end);
  if (end == start || (word > end && lit->suffix >= RT_BOOL)) return false;
  for (size_t i = start; i < end; i++) {
    if (r->bytes[i] == '_') continue;
    if (to + 1 == sizeof lit->digits) return false;
    lit->digits[to++] = r->bytes[i];
  }
  lit->digits[to] = '\0';
  if (lit->digits[1] == 'B') lit->digits[1] = 'b';
  r->position = word;
  return true;
}

// Reads the literal at the position and moves past it; false if none stands there.
RT_FN bool rt_scan_literal(struct rt_reader *r, struct rt_literal *lit) {
  char sign = rt_byte_at(r, r->position);
  size_t start = r->position + (sign == '-' || sign == '+');
  char first = rt_byte_at(r, start);
  lit->negative = sign == '-';
  lit->is_float = lit->is_word = false;
  if (rt_digit(first) < 10 || (first == '.' && rt_digit(rt_byte_at(r, start + 1)) < 10))
    return rt_number(r, lit, start);
  size_t end = rt_word_end(r, start);
  const char *word = r->bytes + start;
  bool ok = rt_float_word(lit, word, end - start) || rt_bool_word(lit, word, end - start);
  if (ok) r->position = end;
  return ok;
}

// The value of an integer's digits modulo 2^64; says whether that is another one.
RT_FN uint64_t rt_magnitude(const struct rt_literal *lit, bool *overflow) {
  char mark = lit->digits[0] == '0' ? (char)(lit->digits[1] | 0x20) : '\0';
  uint64_t base = mark == 'x' ? 16 : mark == 'b' ? 2 : 10, value = 0;
  *overflow = false;
  for (const char *at = lit->digits + (base == 10 ? 0 : 2); *at; at++) {
    uint64_t digit = (uint64_t)rt_digit(*at);
    if (value > (UINT64_MAX - digit) / base) *overflow = true;
    value = value * base + digit;
  }
  return value;
}

// Stores an integer, wrapped if it has a suffix; false if it has none and does not fit.
RT_FN bool rt_store_int(const struct rt_literal *lit, enum rt_elem elem, void *out) {
  bool overflow;
  uint64_t magnitude = rt_magnitude(lit, &overflow);
  uint64_t most = UINT64_MAX >> (64 - rt_elems[elem].bytes * 8);
  if (rt_elems[elem].is_signed) most = (most >> 1) + lit->negative;
  if (lit->negative && !rt_elems[elem].is_signed) most = 0;
  if (lit->suffix == RT_ELEM_COUNT && (overflow || magnitude > most)) return false;
  uint64_t value = lit->negative ? 0 - magnitude : magnitude;
  memcpy(out, &value, (size_t)rt_elems[elem].bytes);  // little-endian hosts only
  return true;
}

// Rounded to odd: if it is not exact, the last bit is 1, so that f16 is rounded to as if once.
RT_FN double rt_odd_of_decimal(const char *digits) {
  int mode = fegetround();
  fesetround(FE_DOWNWARD);
  double low = strtod(digits, NULL);
  fesetround(FE_UPWARD);
  double high = strtod(digits, NULL);
  fesetround(mode);
  uint64_t bits = 0;
  memcpy(&bits, &low, sizeof bits);
  bits |= low != high;
  memcpy(&low, &bits, sizeof low);
  return low;
}

// Stores a float; false for a binary integer that is too long.
RT_FN bool rt_store_float(const struct rt_literal *lit, enum rt_elem elem, void *out) {
  bool binary = lit->digits[0] == '0' && lit->digits[1] == 'b';
  errno = 0;
  uint64_t bits = binary ? strtoull(lit->digits + 2, NULL, 2) : 0;
  if (binary && errno != 0) return false;
  if (elem == RT_F16) {
    double value = binary ? (double)bits : rt_odd_of_decimal(lit->digits);
    uint16_t half = flc_f64_to_f16(lit->negative ? -value : value);
    memcpy(out, &half, sizeof half);
  } else if (elem == RT_F32) {
    float value = binary ? (float)bits : strtof(lit->digits, NULL);
    if (lit->negative) value = -value;
    memcpy(out, &value, sizeof value);
  } else {
    double value = binary ? (double)bits : strtod(lit->digits, NULL);
    if (lit->negative) value = -value;
    memcpy(out, &value, sizeof value);
  }
  return true;
}

RT_FN bool rt_literal_may_be(const struct rt_literal *lit, enum rt_elem elem) {
  if (lit->suffix != RT_ELEM_COUNT && lit->suffix != elem) return false;
  if (lit->is_float) return rt_elems[elem].is_float;
  return elem != RT_BOOL || lit->suffix == RT_BOOL;
}

// The short decimals that fill big files: one multiplication or division of exact operands.
RT_FN bool rt_read_short(struct rt_reader *r, enum rt_elem elem, void *out) {
  static const double tens[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
  size_t i = r->position, digits = 0, decimals = 0;
  bool negative = rt_byte_at(r, i) == '-', point = false;
  uint64_t mantissa = 0;
  for (i += negative;; i++) {
    char ch = rt_byte_at(r, i);
    if (ch == '.' && !point && digits > 0) {
      point = true;
      continue;
    }
    if (ch < '0' || ch > '9') break;
    mantissa = mantissa * 10 + (uint64_t)(ch - '0');
    decimals += point;
    if (++digits > 15) return false;
  }
  if (digits == 0 || rt_is_word(rt_byte_at(r, i))) return false;
  if (elem == RT_F16) return false;
  double value = (double)mantissa / tens[decimals];
  if (elem == RT_F64) {
    if (negative) value = -value;
    memcpy(out, &value, sizeof value);
  } else {
    // Rounding twice is right unless the double lies exactly between two floats.
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & ((UINT64_C(1) << 29) - 1)) == UINT64_C(1) << 28) return false;
    float narrow = negative ? -(float)value : (float)value;
    memcpy(out, &narrow, sizeof narrow);
  }
  r->position = i;
  return true;
}

// Short integers, likewise.
RT_FN bool rt_read_short_int(struct rt_reader *r, enum rt_elem elem, void *out) {
  size_t i = r->position, most_digits = rt_elems[elem].bytes == 1 ? 2 : 4;
  bool negative = rt_byte_at(r, i) == '-';
  if (rt_elems[elem].bytes > 2) most_digits = rt_elems[elem].bytes == 4 ? 9 : 18;
  if (elem == RT_BOOL || (negative && !rt_elems[elem].is_signed)) return false;
  size_t start = i += negative;
  int64_t value = 0;
  for (; rt_byte_at(r, i) >= '0' && rt_byte_at(r, i) <= '9' && i - start < most_digits;
       i++)
    value = value * 10 + (rt_byte_at(r, i) - '0');
  if (i == start || rt_is_word(rt_byte_at(r, i))) return false;
  if (negative) value = -value;
  memcpy(out, &value, (size_t)rt_elems[elem].bytes);
  r->position = i;
  return true;
}

enum { RT_HINT_BYTES = 100 };

// nan, true or 1 in the letters of other languages, as a value of this type: the hint, or "".
RT_FN void rt_constant_hint(const char *word, bool negative, enum rt_elem elem,
                            char *hint) {
  static const char *const words[][2] = {
    { "nan", "nan" },     { "inf", "inf" }, { "infinity", "inf" }, { "true", "true" },
    { "false", "false" }, { "1", "true" },  { "0", "false" },
  };
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    bool is_bool = i > 2;
    if (strcmp(word, words[i][0]) != 0) continue;
    if (is_bool && elem == RT_BOOL)
      snprintf(hint, RT_HINT_BYTES, "\nhint: write `%s`", words[i][1]);
    if (!is_bool && rt_elems[elem].is_float)
      snprintf(hint, RT_HINT_BYTES, "\nhint: write `%s%s.%s`", negative ? "-" : "",
               rt_elems[elem].name, words[i][1]);
  }
}

// 1.5f and 3L.
RT_FN void rt_suffix_hint(const char *word, bool negative, enum rt_elem elem,
                          char *hint) {
  size_t length = strlen(word), digits = length;
  while (digits > 0 && strchr("fdlu", word[digits - 1]))
    digits--;
  if (!digits || digits == length || rt_digit(word[0]) > 9 || word[1] == 'x') return;
  if (elem == RT_BOOL || (!rt_elems[elem].is_float && strpbrk(word, ".e"))) return;
  snprintf(hint, RT_HINT_BYTES, "\nhint: the suffix of its type is `%s`: `%s%.*s%s`",
           rt_elems[elem].name, negative ? "-" : "", (int)digits, word,
           rt_elems[elem].name);
}

// What to write for the word at `at`: the end of a message.
RT_FN const char *rt_word_hint(const struct rt_reader *r, size_t at, enum rt_elem elem,
                               char *hint) {
  char word[24] = { 0 }, first = rt_byte_at(r, at);
  bool negative = first == '-';
  if (first == '(')
    return "\nhint: the values of a tuple follow one another, without brackets";
  if (first == '{')
    return "\nhint: the fields of a record follow one another, without braces and names";
  if (first == '#')
    return "\nhint: the number of a constructor comes first, from 0 on, then what all of "
           "them hold";
  if (first == ',')
    return "\nhint: no comma stands between values, nor in a number: `1.5`";
  at += negative;
  size_t length = rt_word_end(r, at) - at;
  hint[0] = '\0';
  if (length >= sizeof word) return hint;
  for (size_t i = 0; i < length; i++)
    word[i] = (char)tolower((unsigned char)r->bytes[at + i]);
  rt_constant_hint(word, negative, elem, hint);
  rt_suffix_hint(word, negative, elem, hint);
  return hint;
}

RT_FN bool rt_read_literal(struct rt_reader *r, enum rt_elem elem, void *out) {
  struct rt_literal lit;
  size_t start = r->position;
  char found[96], hint[RT_HINT_BYTES];
  if (rt_elems[elem].is_float ? rt_read_short(r, elem, out)
                              : rt_read_short_int(r, elem, out))
    return true;
  if (!rt_scan_literal(r, &lit))
    return rt_reader_fail(r, start, "expected %s, found %s%s", rt_elems[elem].name,
                          rt_found(r, found, sizeof found),
                          rt_word_hint(r, start, elem, hint));
  if (!rt_literal_may_be(&lit, elem))
    return rt_reader_fail(r, start, "expected %s, found %s (%.*s)%s", rt_elems[elem].name,
                          lit.suffix != RT_ELEM_COUNT ? rt_elems[lit.suffix].name
                          : lit.is_float              ? "a decimal number"
                                                      : "an integer",
                          (int)(r->position - start), r->bytes + start,
                          rt_word_hint(r, start, elem, hint));
  if (!(rt_elems[elem].is_float ? rt_store_float(&lit, elem, out)
                                : rt_store_int(&lit, elem, out)))
    return rt_reader_fail(r, start, "%.*s does not fit %s", (int)(r->position - start),
                          r->bytes + start, rt_elems[elem].name);
  return true;
}

// ---- text values

RT_FN bool rt_append_element(struct rt_host_value *v, const void *elem) {
  size_t size = (size_t)rt_elems[v->elem].bytes;
  if (v->bytes + size > v->capacity) {
    v->capacity = v->capacity ? v->capacity * 2 : 64;
    v->data = (char *)rt_host_grow(v->data, v->capacity);
  }
  memcpy(v->data + v->bytes, elem, size);
  v->bytes += size;
  return true;
}

// Fixes the size of a dimension at its first row; others must be equal.
RT_FN bool rt_note_size(struct rt_reader *r, struct rt_host_value *v, int depth,
                        int64_t count, size_t at) {
  if (v->shape[depth] < 0) v->shape[depth] = count;
  if (v->shape[depth] == count) return true;
  return rt_reader_fail(r, at, "a row has %" PRId64 " element%s, expected %" PRId64,
                        count, count == 1 ? "" : "s", v->shape[depth]);
}

// The byte of an escape after its backslash; -1 if there is no such escape.
RT_FN int rt_read_escape(struct rt_reader *r) {
  static const char from[] = "nrtabfv\\\"'", to[] = "\n\r\t\a\b\f\v\\\"'";
  char ch = rt_byte_at(r, r->position++);
  const char *known = ch ? strchr(from, ch) : NULL;
  if (known) return (unsigned char)to[known - from];
  bool hex = ch == 'x';
  size_t start = hex ? r->position : --r->position;
  int value = 0, digit = 0;
  for (; (digit = rt_digit(rt_byte_at(r, r->position))) < (hex ? 16 : 10); r->position++)
    if (value < 256) value = value * (hex ? 16 : 10) + digit;
  return r->position > start && value < 256 ? value : -1;
}

// "abc" is an array of u8.
RT_FN bool rt_read_string(struct rt_reader *r, struct rt_host_value *v, int depth) {
  size_t at = r->position++;
  if (v->elem != RT_U8 || depth + 1 != v->rank)
    return rt_reader_fail(r, at, "expected %s, found a string", rt_elems[v->elem].name);
  int64_t count = 0;
  for (;; count++) {
    char ch = rt_byte_at(r, r->position);
    if (r->position >= r->length || ch == '\n')
      return rt_reader_fail(r, at, "expected '\"' at the end of the string");
    size_t start = r->position++;
    if (ch == '"') return rt_note_size(r, v, depth, count, at);
    int byte = ch == '\\' ? rt_read_escape(r) : (unsigned char)ch;
    if (byte < 0) return rt_reader_fail(r, start, "unknown escape in a string");
    uint8_t element = (uint8_t)byte;
    rt_append_element(v, &element);
  }
}

RT_FN bool rt_at_empty(const struct rt_reader *r) {
  size_t length = strlen("empty");
  return r->length - r->position >= length &&
         memcmp(r->bytes + r->position, "empty", length) == 0;
}

// empty([0][3]i32), the whole value or a row of it.
RT_FN bool rt_read_empty(struct rt_reader *r, struct rt_host_value *v, int depth) {
  int64_t shape[RT_MAX_RANK];
  size_t at = r->position;
  int rank = 0, wanted = v->rank - depth;
  bool any_zero = false;
  r->position += strlen("empty");
  rt_skip_space(r);
  if (rt_byte_at(r, r->position++) != '(')
    return rt_reader_fail(r, at, "expected '(' after empty");
  for (rt_skip_space(r); rt_byte_at(r, r->position) == '['; rt_skip_space(r)) {
    int64_t size = 0;
    r->position++;
    rt_skip_space(r);
    if (rank == RT_MAX_RANK) return rt_reader_fail(r, at, "too many dimensions");
    if (!rt_read_literal(r, RT_I64, &size)) return false;
    rt_skip_space(r);
    if (size < 0 || rt_byte_at(r, r->position++) != ']')
      return rt_reader_fail(r, at,
                            "expected a size and ']' in the type of an empty array");
    shape[rank++] = size;
    any_zero |= size == 0;
  }
  size_t end = rt_word_end(r, r->position);
  enum rt_elem elem = rt_elem_named(r->bytes + r->position, end - r->position);
  r->position = end;
  rt_skip_space(r);
  if (elem != v->elem || rank != wanted || rt_byte_at(r, r->position++) != ')')
    return rt_reader_fail(
        r, at, "expected an array of %s with %d dimension%s, found another type",
        rt_elems[v->elem].name, wanted, wanted == 1 ? "" : "s");
  if (!any_zero)
    return rt_reader_fail(r, at, "an empty array needs a dimension of size 0");
  for (int i = 0; i < rank; i++)
    if (!rt_note_size(r, v, depth + i, shape[i], at)) return false;
  return true;
}

RT_FN bool rt_read_row(struct rt_reader *r, struct rt_host_value *v, int depth);

RT_FN bool rt_read_item(struct rt_reader *r, struct rt_host_value *v, int depth) {
  char elem[8];
  rt_skip_space(r);
  char ch = rt_byte_at(r, r->position);
  if (ch == '"') return rt_read_string(r, v, depth);
  if (rt_at_empty(r)) return rt_read_empty(r, v, depth);
  if (ch == '[' && depth < v->rank) return rt_read_row(r, v, depth);
  if (ch == '[')
    return rt_reader_fail(r, r->position, "expected %s, found an array%s",
                          rt_elems[v->elem].name,
                          depth ? ": there are too many dimensions" : "");
  if (depth < v->rank) {
    char found[96];
    return rt_reader_fail(r, r->position, "expected an array of %s, found %s",
                          rt_elems[v->elem].name, rt_found(r, found, sizeof found));
  }
  return rt_read_literal(r, v->elem, elem) && rt_append_element(v, elem);
}

RT_FN bool rt_read_row(struct rt_reader *r, struct rt_host_value *v, int depth) {
  size_t at = r->position++;
  int64_t count = 0;
  char found[96];
  rt_skip_space(r);
  if (rt_byte_at(r, r->position) == ']') {
    r->position++;
    if (depth + 1 == v->rank) return rt_note_size(r, v, depth, 0, at);
    return rt_reader_fail(r, at,
                          "the shape of [] is not known here: write an empty array as "
                          "empty([0][0]%s)",
                          rt_elems[v->elem].name);
  }
  for (;; count++) {
    if (!rt_read_item(r, v, depth + 1)) return false;
    rt_skip_space(r);
    char ch = rt_byte_at(r, r->position);
    if (ch != ',' && ch != ']')
      return rt_reader_fail(r, r->position, "expected ']' or ',' in an array, found %s",
                            rt_found(r, found, sizeof found));
    r->position++;
    if (ch == ',') rt_skip_space(r);
    if (ch == ',' && rt_byte_at(r, r->position) == ']') ch = rt_byte_at(r, r->position++);
    if (ch == ']') return rt_note_size(r, v, depth, count + 1, at);
  }
}

// ---- binary values

RT_FN bool rt_binary_header(struct rt_reader *r, const struct rt_host_value *v) {
  size_t at = r->position;
  if (r->length - at < 7)
    return rt_reader_fail(r, at, "a binary value ends in its header");
  int version = (unsigned char)r->bytes[at + 1], rank = (unsigned char)r->bytes[at + 2];
  if (version != 2)
    return rt_reader_fail(r, at, "expected version 2 of the binary format, found %d",
                          version);
  size_t blanks = 0;
  while (blanks < 4 && r->bytes[at + 3 + blanks] == ' ')
    blanks++;
  enum rt_elem elem = rt_elem_named(r->bytes + at + 3 + blanks, 4 - blanks);
  if (elem == RT_ELEM_COUNT)
    return rt_reader_fail(r, at, "unknown type \"%.4s\" of a binary value",
                          r->bytes + at + 3);
  if (elem != v->elem || rank != v->rank)
    return rt_reader_fail(r, at, "expected %s with %d dimension%s, found %s with %d",
                          rt_elems[v->elem].name, v->rank, v->rank == 1 ? "" : "s",
                          rt_elems[elem].name, rank);
  r->position = at + 7;
  return true;
}

// The sizes, and the bytes of the elements, which are there.
RT_FN bool rt_binary_sizes(struct rt_reader *r, struct rt_host_value *v, int64_t *bytes) {
  size_t at = r->position, sizes = (size_t)v->rank * sizeof *v->shape;
  if (!rt_binary_header(r, v)) return false;
  if (r->length - r->position < sizes)
    return rt_reader_fail(r, at, "a binary value ends in its sizes");
  memcpy(v->shape, r->bytes + r->position, sizes);
  r->position += sizes;
  if (!rt_shape_fits(v->rank, v->shape, rt_elems[v->elem].bytes))
    return rt_reader_fail(r, at, "damaged sizes of a binary value");
  *bytes = rt_sat_mul(rt_shape_count(v->rank, v->shape), rt_elems[v->elem].bytes);
  if ((uint64_t)*bytes <= r->length - r->position) return true;
  return rt_reader_fail(r, at, "expected %" PRId64 " bytes of elements, found %zu",
                        *bytes, r->length - r->position);
}

// So many bytes of elements of the value that begins at `at`.
RT_FN bool rt_binary_elements(struct rt_reader *r, struct rt_host_value *v, size_t at,
                              int64_t bytes) {
  v->bytes = (size_t)bytes;
  v->data = (char *)malloc(v->bytes + 1);
  if (!v->data) return rt_reader_fail(r, at, "out of host memory");
  memcpy(v->data, r->bytes + r->position, v->bytes);
  r->position += v->bytes;
  for (size_t i = 0; v->elem == RT_BOOL && i < v->bytes; i++)
    if ((unsigned char)v->data[i] > 1)
      return rt_reader_fail(r, at, "expected 0 or 1 for a bool");
  return true;
}

RT_FN bool rt_read_binary(struct rt_reader *r, struct rt_host_value *v) {
  size_t at = r->position;
  int64_t bytes = 0;
  return rt_binary_sizes(r, v, &bytes) && rt_binary_elements(r, v, at, bytes);
}

RT_FN void rt_begin_value(enum rt_elem elem, int rank, struct rt_host_value *v) {
  memset(v, 0, sizeof *v);
  v->elem = elem;
  v->rank = rank;
  for (int i = 0; i < rank; i++)
    v->shape[i] = -1;
}

// The next value, of the given type; false and a message if there is none.
RT_FN bool rt_read_value(struct rt_reader *r, enum rt_elem elem, int rank,
                         struct rt_host_value *v) {
  rt_begin_value(elem, rank, v);
  rt_skip_space(r);
  if (rt_byte_at(r, r->position) == 'b') return rt_read_binary(r, v);
  size_t at = r->position;
  if (!rt_read_item(r, v, 0)) return false;
  return rt_shape_fits(v->rank, v->shape, rt_elems[elem].bytes) ||
         rt_reader_fail(r, at, "the sizes of an empty array are too large");
}

// ---- writing

RT_FN bool rt_reads_back(const char *text, enum rt_elem elem, double value) {
  if (elem == RT_F32) return strtof(text, NULL) == (float)value;
  double read = strtod(text, NULL);
  if (elem == RT_F16) read = (double)flc_f16_to_f32(flc_f64_to_f16(read));
  return read == value;
}

// The shortest decimal that reads back to the value, plain unless that has many zeros.
RT_FN void rt_write_float(struct rt_text *t, enum rt_elem elem, double value) {
  const char *type = rt_elems[elem].name;
  if (value != value) {
    rt_text_printf(t, "%s.nan", type);
    return;
  }
  if (value - value != 0) {
    rt_text_printf(t, "%s%s.inf", value < 0 ? "-" : "", type);
    return;
  }
  char scientific[40];
  // What every normal number keeps, what tells all apart, the least normal one.
  int sure = elem == RT_F16 ? 3 : elem == RT_F32 ? FLT_DIG : DBL_DIG;
  int most = elem == RT_F16 ? 5 : elem == RT_F32 ? 9 : 17;
  double normal = elem == RT_F16   ? 6.103515625e-5
                  : elem == RT_F32 ? (double)FLT_MIN
                                   : DBL_MIN;
  int digits = fabs(value) < normal ? 1 : sure;
  for (;; digits++) {
    snprintf(scientific, sizeof scientific, "%.*e", digits - 1, value);
    if (digits == most || rt_reads_back(scientific, elem, value)) break;
  }
  const char *e = strchr(scientific, 'e');
  for (const char *last = e - 1; digits > 1 && *last == '0'; last--)
    digits--;
  int exponent = atoi(e + 1);
  bool plain = exponent >= -5 && exponent <= (elem == RT_F64 ? 15 : 8);
  int decimals = digits - 1 - (plain ? exponent : 0);
  if (decimals < 1) decimals = 1;
  if (plain)
    rt_text_printf(t, "%.*f%s", decimals, value, type);
  else
    rt_text_printf(t, "%.*e%s", decimals, value, type);
}

RT_FN void rt_write_element(struct rt_text *t, enum rt_elem elem, const char *from) {
  struct rt_value v;
  memset(&v, 0, sizeof v);
  memcpy(&v.u, from, (size_t)rt_elems[elem].bytes);
  switch (elem) {
  case RT_I8: rt_text_printf(t, "%di8", v.u.i8); break;
  case RT_I16: rt_text_printf(t, "%di16", v.u.i16); break;
  case RT_I32: rt_text_printf(t, "%" PRId32 "i32", v.u.i32); break;
  case RT_I64: rt_text_printf(t, "%" PRId64 "i64", v.u.i64); break;
  case RT_U8: rt_text_printf(t, "%du8", v.u.u8); break;
  case RT_U16: rt_text_printf(t, "%du16", v.u.u16); break;
  case RT_U32: rt_text_printf(t, "%" PRIu32 "u32", v.u.u32); break;
  case RT_U64: rt_text_printf(t, "%" PRIu64 "u64", v.u.u64); break;
  case RT_F16: rt_write_float(t, elem, (double)flc_f16_to_f32(v.u.f16)); break;
  case RT_F32: rt_write_float(t, elem, (double)v.u.f32); break;
  case RT_F64: rt_write_float(t, elem, v.u.f64); break;
  case RT_BOOL: rt_text_add(t, v.u.u8 ? "true" : "false"); break;
  case RT_ELEM_COUNT: break;
  }
}

RT_FN void rt_write_rows(struct rt_text *t, const struct rt_host_value *v, int depth,
                         const char **next) {
  if (depth == v->rank) {
    rt_write_element(t, v->elem, *next);
    *next += rt_elems[v->elem].bytes;
    return;
  }
  rt_text_add(t, "[");
  for (int64_t i = 0; i < v->shape[depth]; i++) {
    if (i) rt_text_add(t, ", ");
    rt_write_rows(t, v, depth + 1, next);
  }
  rt_text_add(t, "]");
}

RT_FN void rt_write_text(struct rt_text *t, const struct rt_host_value *v) {
  const char *next = v->data;
  if (rt_shape_count(v->rank, v->shape) > 0) {
    rt_write_rows(t, v, 0, &next);
    return;
  }
  rt_text_add(t, "empty(");
  for (int i = 0; i < v->rank; i++)
    rt_text_printf(t, "[%" PRId64 "]", v->shape[i]);
  rt_text_printf(t, "%s)", rt_elems[v->elem].name);
}

RT_FN void rt_write_binary(struct rt_text *t, const struct rt_host_value *v) {
  char head[7] = { 'b', 2, (char)v->rank, ' ', ' ', ' ', ' ' };
  size_t length = strlen(rt_elems[v->elem].name);
  memcpy(head + sizeof head - length, rt_elems[v->elem].name, length);
  rt_text_bytes(t, head, sizeof head);
  rt_text_bytes(t, v->shape, (size_t)v->rank * sizeof *v->shape);
  rt_text_bytes(t, v->data, v->bytes);
}
// End values.h
