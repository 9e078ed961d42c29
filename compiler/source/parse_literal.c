// Values of literals.
#include "base/text.h"
#include "source/parse.h"
#include <stdlib.h>
#include <string.h>

bool at_literal(const Parser *p) {
  TokenKind kind = peek_kind(p);
  return kind == TOKEN_NATURAL || kind == TOKEN_INT || kind == TOKEN_FLOAT ||
         kind == TOKEN_CHAR || kind == TOKEN_STRING || kind == TOKEN_TRUE ||
         kind == TOKEN_FALSE;
}

// The literal's `digits` behind the first `skip` characters, without underscores; `suffix` is what
// follows them, good or bad.
static char *clean(const char *name, size_t skip, const char *digits, char **suffix) {
  size_t length = strlen(name), n = 0;
  char *text = mem_alloc_plain(length + 2);
  size_t end = skip + strspn(name + skip, digits);
  for (size_t i = skip; i < end; i++)
    if (name[i] != '_') text[n++] = name[i];
  text[n++] = '\0';
  *suffix = text + n;
  memcpy(*suffix, name + end, length - end);
  return text;
}

static bool read_suffix(Parser *p, Loc loc, const char *suffix, PrimType *type) {
  if (prim_type_named(suffix, type) && *type != PRIM_BOOL) return true;
  fail_at(p, loc, "expected a number's suffix (i8 to u64, f16 to f64), found '%.40s'",
          suffix);
  parse_hint_suffix(p, loc, suffix);
  return false;
}

// Roman numerals: a digit before a greater one counts negative.
static const Big *roman_value(const char *digits) {
  static const struct {
    char letter;
    int value;
  } table[] = {
    { 'I', 1 },   { 'V', 5 },   { 'X', 10 },   { 'L', 50 },
    { 'C', 100 }, { 'D', 500 }, { 'M', 1000 },
  };
  int64_t sum = 0, greatest = 0;
  for (size_t i = strlen(digits); i-- > 0;) {
    int value = 0;
    for (size_t j = 0; j < sizeof table / sizeof *table; j++)
      if (table[j].letter == digits[i]) value = table[j].value;
    sum += value < greatest ? -value : value;
    if (value > greatest) greatest = value;
  }
  return big_of(sum);
}

static const Big *int_value(const char *name, char **suffix) {
  char base = name[0] == '0' ? (char)(name[1] | 0x20) : '\0';
  const char *digits = "0123456789_";
  if (base == 'x') digits = "0123456789abcdefABCDEF_";
  if (base == 'b') digits = "01_";
  if (base == 'r') digits = "IVXLCDM_";
  bool based = (base == 'x' || base == 'b' || base == 'r') && name[2] != '_' &&
               name[2] != '\0' && strchr(digits, name[2]);
  if (!based) base = '\0';
  char *text = clean(name, based ? 2 : 0, based ? digits : "0123456789_", suffix);
  if (base == 'r') return roman_value(text);
  return big_parse(text, strlen(text), base == 'x' ? 16 : base == 'b' ? 2 : 10);
}

static AstExp *parse_int(Parser *p) {
  const Token *token = next(p);
  AstExp *exp = new_exp(p, AST_INT, token_loc(p, token));
  char *suffix;
  exp->u.integer.value = int_value(token->name, &suffix);
  exp->u.integer.has_suffix = *suffix != '\0';
  if (*suffix) read_suffix(p, exp->loc, suffix, &exp->u.integer.suffix);
  return exp;
}

static AstExp *parse_float(Parser *p) {
  const Token *token = next(p);
  AstExp *exp = new_exp(p, AST_FLOAT, token_loc(p, token));
  bool hex = strncmp(token->name, "0x", 2) == 0 || strncmp(token->name, "0X", 2) == 0;
  char *suffix, *end;
  // the suffix is what strtod leaves over
  char *text =
      clean(token->name, 0, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFPX_.+-", &suffix);
  exp->u.floating.value = strtod(text, &end);
  exp->u.floating.value32 = strtof(text, NULL);
  exp->u.floating.value16 = prim_to_double(prim_of_decimal(PRIM_F16, text));
  exp->u.floating.has_suffix = *end != '\0';
  if (!*end) return exp;
  if (read_suffix(p, exp->loc, end, &exp->u.floating.suffix) &&
      !prim_is_float(exp->u.floating.suffix))
    fail_at(p, exp->loc,
            "expected a suffix f16, f32 or f64 after a %s number, found '%s'",
            hex ? "hexadecimal real" : "real", end);
  return exp;
}

// Adds the character with this number in UTF-8.
static void add_utf8(Text *t, uint32_t code) {
  char bytes[4];
  size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
  for (size_t i = n; i-- > 1; code >>= 6)
    bytes[i] = (char)(0x80 | (code & 0x3f));
  bytes[0] = (char)(lead[n] | code);
  text_add_bytes(t, bytes, n);
}

// The character that a letter after `\` stands for, or -1.
static int simple_escape(char letter) {
  const char *letters = "abfnrtv\\\"'", *values = "\a\b\f\n\r\t\v\\\"'";
  const char *found = letter ? strchr(letters, letter) : NULL;
  return found ? values[found - letters] : -1;
}

// Reads \n, \123, \x7f, \o17 behind the backslash at *at; false if it is none of them.
static bool read_escape(const char **at, uint32_t *code) {
  const char *text = *at;
  int simple = simple_escape(*text);
  int base = *text == 'x' ? 16 : *text == 'o' ? 8 : 10;
  if (simple >= 0) {
    *code = (uint32_t)simple;
    *at = text + 1;
    return true;
  }
  if (base != 10) text++;
  if (!lex_is_digit(*text) && !(base == 16 && lex_is_name_start(*text))) return false;
  char *end;
  unsigned long value = strtoul(text, &end, base);
  *code = value > 0x10ffff ? 0x110000 : (uint32_t)value;
  *at = end;
  return end > text;
}

// The characters between `start` and `end`, unescaped, in UTF-8.
static const char *unquote(Parser *p, uint32_t start, uint32_t end, size_t *length) {
  Text *t = text_new();
  const char *at = p->file->text + start, *stop = p->file->text + end;
  while (at < stop) {
    const char *run = at;
    while (at < stop && *at != '\\')
      at++;
    text_add_bytes(t, run, (size_t)(at - run));
    if (at == stop) break;
    uint32_t from = (uint32_t)(at - p->file->text), code;
    Loc loc = { .file = p->file, .start = from, .end = from + 2 };
    at++;
    if (*at == '&' && at++) continue;  // nothing: keeps digits apart
    bool known = read_escape(&at, &code);
    if (!known)
      fail_at(p, loc, "unknown escape sequence in a literal");
    else if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
      fail_at(p, loc, "escape sequence is no Unicode character");
    else
      add_utf8(t, code);
    if (!known) break;
  }
  *length = text_length(t);
  return mem_copy(text_str(t), *length + 1);
}

const char *parse_string(Parser *p, size_t *length) {
  const Token *token = next(p);
  return unquote(p, token->start + 1, token->end - 1, length);
}

static AstExp *parse_string_exp(Parser *p) {
  AstExp *exp = new_exp(p, AST_STRING, token_loc(p, peek(p)));
  exp->u.string.bytes = parse_string(p, &exp->u.string.length);
  return exp;
}

// The number of the character that `text` starts with.
static uint32_t first_character(const char *text) {
  unsigned char lead = (unsigned char)*text;
  if (lead < 0x80) return lead;
  uint32_t code = lead < 0xe0 ? lead & 0x1f : lead < 0xf0 ? lead & 0x0f : lead & 0x07;
  while (((unsigned char)*++text & 0xc0) == 0x80)
    code = code << 6 | ((unsigned char)*text & 0x3f);
  return code;
}

static AstExp *parse_char(Parser *p) {
  AstExp *exp = new_exp(p, AST_INT, token_loc(p, peek(p)));
  size_t length;
  const char *text = parse_string(p, &length);
  uint32_t code = first_character(text);
  exp->u.integer.value = big_of(code);
  size_t used = 1;
  while (((unsigned char)text[used < length ? used : length] & 0xc0) == 0x80)
    used++;
  if (length != used)
    fail_at(p, exp->loc, "expected one character in a character literal");
  return exp;
}

static AstExp *parse_bool(Parser *p) {
  const Token *token = next(p);
  AstExp *exp = new_exp(p, AST_BOOL, token_loc(p, token));
  exp->u.boolean.value = token->kind == TOKEN_TRUE;
  return exp;
}

AstExp *parse_literal(Parser *p) {
  TokenKind kind = peek_kind(p);
  if (kind == TOKEN_NATURAL || kind == TOKEN_INT) return parse_int(p);
  if (kind == TOKEN_FLOAT) return parse_float(p);
  if (kind == TOKEN_CHAR) return parse_char(p);
  if (kind == TOKEN_STRING) return parse_string_exp(p);
  if (kind == TOKEN_TRUE || kind == TOKEN_FALSE) return parse_bool(p);
  fail_expected(p, "a literal");
  return new_exp(p, AST_TUPLE, token_loc(p, peek(p)));
}

// The literal with a minus sign before it; `loc` is from the sign on.
AstExp *negate_literal(Parser *p, AstExp *literal, Loc loc) {
  AstExp *exp = new_exp(p, literal->kind, loc);
  exp->u = literal->u;
  if (exp->kind == AST_INT) {
    exp->u.integer.negative = true;
  } else if (exp->kind == AST_FLOAT) {
    exp->u.floating.value = -exp->u.floating.value;
    exp->u.floating.value32 = -exp->u.floating.value32;
    exp->u.floating.value16 = -exp->u.floating.value16;
  }
  return exp;
}
