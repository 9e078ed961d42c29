// Numeric literals: 42  1_000i8  0xff_u8  0b101  0rXIV  1.5  1e-3f32  0x1.8p3
#include "source/lex.h"
#include <ctype.h>
#include <string.h>

bool lex_is_digit(char ch) { return ch >= '0' && ch <= '9'; }

static bool is_hex(char ch) { return isxdigit((unsigned char)ch) != 0; }
static bool is_binary(char ch) { return ch == '0' || ch == '1'; }
static bool is_roman(char ch) { return ch != '\0' && strchr("IVXLCDM", ch) != NULL; }

// A digit, then digits and underscores; 0 if there is no digit.
static size_t digits(const char *text, bool (*is_digit)(char)) {
  size_t n = 0;
  if (!is_digit(text[0])) return 0;
  while (is_digit(text[n]) || text[n] == '_')
    n++;
  return n;
}

// e or p, a sign, digits; 0 if that is not there
static size_t exponent(const char *text, char letter) {
  if ((text[0] | 0x20) != letter) return 0;
  size_t sign = text[1] == '+' || text[1] == '-';
  size_t n = digits(text + 1 + sign, lex_is_digit);
  return n ? 1 + sign + n : 0;
}

static size_t decimal(const char *text, TokenKind *kind) {
  size_t n = digits(text, lex_is_digit);
  size_t fraction = text[n] == '.' ? digits(text + n + 1, lex_is_digit) : 0;
  if (fraction) n += 1 + fraction;
  size_t power = exponent(text + n, 'e');
  *kind = fraction || power ? TOKEN_FLOAT : TOKEN_NATURAL;
  return n + power;
}

// 0x, 0b and 0r; 0 if it is none of them
static size_t based(const char *text, TokenKind *kind) {
  char base = text[0] == '0' ? (char)(text[1] | 0x20) : '\0';
  bool (*is_digit)(char) = base == 'x' ? is_hex : base == 'b' ? is_binary : is_roman;
  if (base != 'x' && base != 'b' && base != 'r') return 0;
  size_t n = digits(text + 2, is_digit);
  if (!n) return 0;
  n += 2;
  *kind = TOKEN_INT;
  if (base != 'x') return n;
  size_t fraction = text[n] == '.' ? digits(text + n + 1, is_hex) : 0;
  size_t whole = n + (fraction ? 1 + fraction : 0);
  size_t power = exponent(text + whole, 'p');
  if (!power) return n;
  *kind = TOKEN_FLOAT;
  return whole + power;
}

size_t lex_number(const char *text, bool after_dot, TokenKind *kind) {
  *kind = TOKEN_NATURAL;
  if (after_dot) return digits(text, lex_is_digit);
  size_t n = based(text, kind);
  if (!n) n = decimal(text, kind);
  size_t suffix = n;
  while (lex_is_name_part(text[suffix]))
    suffix++;
  if (suffix == n) return n;
  if (*kind == TOKEN_NATURAL) *kind = text[n] == 'f' ? TOKEN_FLOAT : TOKEN_INT;
  return suffix;
}
