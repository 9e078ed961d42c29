// Characters that word processors, web pages and mathematics write for those of Fl.
#include "base/text.h"
#include "source/lex.h"
#include <string.h>

#define SPACE    "write an ordinary space"
#define DELETE   "it is invisible: delete it"
#define QUOTES   "texts stand in straight quotes: `\"abc\"`"
#define QUOTE    "characters stand in straight quotes: `'a'`"
#define DASH     "the sign is `-`, comments begin with `--`"
#define PRODUCTS "the product is `*`"

static const Lookalike lookalikes[] = {
  { 0xa0, LOOKALIKE_SPACE, "a non-breaking space", SPACE },
  { 0x2000, LOOKALIKE_SPACE, "a wide space", SPACE },
  { 0x2001, LOOKALIKE_SPACE, "a wide space", SPACE },
  { 0x2002, LOOKALIKE_SPACE, "a wide space", SPACE },
  { 0x2003, LOOKALIKE_SPACE, "a wide space", SPACE },
  { 0x2004, LOOKALIKE_SPACE, "a wide space", SPACE },
  { 0x2005, LOOKALIKE_SPACE, "a wide space", SPACE },
  { 0x2006, LOOKALIKE_SPACE, "a narrow space", SPACE },
  { 0x2007, LOOKALIKE_SPACE, "a wide space", SPACE },
  { 0x2008, LOOKALIKE_SPACE, "a narrow space", SPACE },
  { 0x2009, LOOKALIKE_SPACE, "a narrow space", SPACE },
  { 0x200a, LOOKALIKE_SPACE, "a narrow space", SPACE },
  { 0x202f, LOOKALIKE_SPACE, "a narrow non-breaking space", SPACE },
  { 0x205f, LOOKALIKE_SPACE, "a narrow space", SPACE },
  { 0x3000, LOOKALIKE_SPACE, "a wide space", SPACE },
  { 0xad, LOOKALIKE_SPACE, "a soft hyphen", DELETE },
  { 0x200b, LOOKALIKE_SPACE, "a space of no width", DELETE },
  { 0x200c, LOOKALIKE_SPACE, "a non-joiner", DELETE },
  { 0x200d, LOOKALIKE_SPACE, "a joiner", DELETE },
  { 0x200e, LOOKALIKE_SPACE, "a mark of direction", DELETE },
  { 0x200f, LOOKALIKE_SPACE, "a mark of direction", DELETE },
  { 0x2028, LOOKALIKE_SPACE, "a line separator", "end the line with a newline" },
  { 0x2060, LOOKALIKE_SPACE, "a word joiner", DELETE },
  { 0xfeff, LOOKALIKE_SPACE, "a byte order mark", DELETE },
  { 0x201c, LOOKALIKE_QUOTE, NULL, QUOTES },
  { 0x201d, LOOKALIKE_QUOTE, NULL, QUOTES },
  { 0x201e, LOOKALIKE_QUOTE, NULL, QUOTES },
  { 0xab, LOOKALIKE_QUOTE, NULL, QUOTES },
  { 0xbb, LOOKALIKE_QUOTE, NULL, QUOTES },
  { 0x2018, LOOKALIKE_QUOTE, NULL, QUOTE },
  { 0x2019, LOOKALIKE_QUOTE, NULL, QUOTE },
  { 0x201a, LOOKALIKE_QUOTE, NULL, QUOTE },
  { 0xb4, LOOKALIKE_SIGN, NULL, QUOTE },
  { 0x2032, LOOKALIKE_SIGN, NULL, "names may end in a straight quote: `x'`" },
  { 0x2010, LOOKALIKE_SIGN, NULL, DASH },
  { 0x2011, LOOKALIKE_SIGN, NULL, DASH },
  { 0x2012, LOOKALIKE_SIGN, NULL, DASH },
  { 0x2013, LOOKALIKE_SIGN, NULL, DASH },
  { 0x2014, LOOKALIKE_SIGN, NULL, DASH },
  { 0x2015, LOOKALIKE_SIGN, NULL, DASH },
  { 0x2212, LOOKALIKE_SIGN, NULL, DASH },
  { 0xd7, LOOKALIKE_SIGN, NULL, PRODUCTS },
  { 0xb7, LOOKALIKE_SIGN, NULL, PRODUCTS },
  { 0x22c5, LOOKALIKE_SIGN, NULL, PRODUCTS },
  { 0x2219, LOOKALIKE_SIGN, NULL, PRODUCTS },
  { 0x2217, LOOKALIKE_SIGN, NULL, PRODUCTS },
  { 0xf7, LOOKALIKE_SIGN, NULL, "the quotient is `/`" },
  { 0x2044, LOOKALIKE_SIGN, NULL, "the quotient is `/`" },
  { 0x2215, LOOKALIKE_SIGN, NULL, "the quotient is `/`" },
  { 0x2264, LOOKALIKE_SIGN, NULL, "write `<=`" },
  { 0x2265, LOOKALIKE_SIGN, NULL, "write `>=`" },
  { 0x2260, LOOKALIKE_SIGN, NULL, "write `!=`" },
  { 0x2261, LOOKALIKE_SIGN, NULL, "write `==`" },
  { 0x2192, LOOKALIKE_SIGN, NULL, "write `->`" },
  { 0x21d2, LOOKALIKE_SIGN, NULL, "write `->`" },
  { 0x21a6, LOOKALIKE_SIGN, NULL, "write `->`" },
  { 0x2190, LOOKALIKE_SIGN, NULL, "`let x = ... in ...` names a value" },
  { 0x2026, LOOKALIKE_SIGN, NULL, "write `...`" },
  { 0x2227, LOOKALIKE_SIGN, NULL, "write `&&`" },
  { 0x2228, LOOKALIKE_SIGN, NULL, "write `||`" },
  { 0xac, LOOKALIKE_SIGN, NULL, "write `!`" },
  { 0x2218, LOOKALIKE_SIGN, NULL, "`f <-< g` applies `g`, then `f`" },
  { 0xb2, LOOKALIKE_SIGN, NULL, "a square is `x * x`, a power `x ** 2`" },
  { 0xb3, LOOKALIKE_SIGN, NULL, "a power is `x ** 3`" },
  { 0x221a, LOOKALIKE_SIGN, NULL, "a root is `f32.sqrt x`" },
  { 0x221e, LOOKALIKE_SIGN, NULL, "write `f32.inf`" },
  { 0x2211, LOOKALIKE_SIGN, NULL, "a sum is `f32.sum xs`" },
  { 0x3bb, LOOKALIKE_SIGN, NULL, "a function is written `\\x -> ...`" },
  { 0x3c0, LOOKALIKE_SIGN, NULL, "write `f32.pi`" },
};

// The code of the well-formed character at `text`.
static uint32_t decode(const char *text, uint32_t *length) {
  const unsigned char *bytes = (const unsigned char *)text;
  *length = lex_character_length(*text);
  uint32_t code = *length == 1 ? bytes[0] : bytes[0] & (0x7fu >> *length);
  for (uint32_t i = 1; i < *length; i++)
    code = code << 6 | (bytes[i] & 0x3f);
  return code;
}

// Those of full width, U+FF01 to U+FF5E, are ASCII's in order.
static bool full_width(uint32_t code, Lookalike *found) {
  if (code < 0xff01 || code > 0xff5e || lex_is_name_part((char)(code - 0xfee0)))
    return false;
  *found = (Lookalike){ code, LOOKALIKE_SIGN, NULL,
                        text_format("write `%c`", (int)(code - 0xfee0)) };
  return true;
}

uint32_t lex_lookalike(const char *text, Lookalike *found) {
  uint32_t length, code = decode(text, &length);
  if (full_width(code, found)) return length;
  for (size_t i = 0; i < sizeof lookalikes / sizeof *lookalikes; i++) {
    if (lookalikes[i].code != code) continue;
    *found = lookalikes[i];
    return length;
  }
  return 0;
}
