#include "base/quote.h"
#include "base/text.h"
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD";  // U+FFFD

static bool continues(const char *s, int count) {
  for (int i = 0; i < count; i++)
    if (((unsigned char)s[i] & 0xC0) != 0x80) return false;
  return true;
}

// The bytes of the character at `s`; 0 if none begins there: no short forms of long ones,
// no surrogates, nothing beyond U+10FFFF.
static int character(const char *s) {
  unsigned char a = (unsigned char)s[0], b = (unsigned char)s[1];
  if (a < 0x80) return 1;
  if (a >= 0xC2 && a < 0xE0) return continues(s + 1, 1) ? 2 : 0;
  if (a >= 0xE0 && a < 0xF0)
    return continues(s + 1, 2) && !(a == 0xE0 && b < 0xA0) && !(a == 0xED && b >= 0xA0)
               ? 3
               : 0;
  if (a >= 0xF0 && a < 0xF5)
    return continues(s + 1, 3) && !(a == 0xF0 && b < 0x90) && !(a == 0xF4 && b >= 0x90)
               ? 4
               : 0;
  return 0;
}

// Adds the text, with `one` deciding about each character; what is none is replaced.
static const char *each(const char *before, const char *text, const char *after,
                        void (*one)(Text *t, const char *s, int length)) {
  Text *t = text_new();
  text_add(t, before);
  for (const char *s = text; *s;) {
    int length = character(s);
    if (length)
      one(t, s, length);
    else
      text_add(t, replacement);
    s += length ? length : 1;
  }
  text_add(t, after);
  return text_str(t);
}

static void as_it_is(Text *t, const char *s, int length) {
  text_add_bytes(t, s, (size_t)length);
}

const char *quote_utf8(const char *text) { return each("", text, "", as_it_is); }

static void within_json(Text *t, const char *s, int length) {
  if (*s == '"' || *s == '\\')
    text_printf(t, "\\%c", *s);
  else if (length == 1 && ((unsigned char)*s < ' ' || *s == 127))
    text_printf(t, "\\u%04x", (unsigned)*s);
  else
    text_add_bytes(t, s, (size_t)length);
}

const char *quote_json(const char *text) { return each("\"", text, "\"", within_json); }

static void within_html(Text *t, const char *s, int length) {
  switch (*s) {
  case '<': text_add(t, "&lt;"); return;
  case '>': text_add(t, "&gt;"); return;
  case '&': text_add(t, "&amp;"); return;
  case '"': text_add(t, "&quot;"); return;
  case '\'': text_add(t, "&#39;"); return;
  case '\n': text_add(t, "\n"); return;
  default: break;
  }
  if (length == 1 && ((unsigned char)*s < ' ' || *s == 127))
    text_add(t, " ");
  else
    text_add_bytes(t, s, (size_t)length);
}

const char *quote_html(const char *text) { return each("", text, "", within_html); }

static void within_line(Text *t, const char *s, int length) {
  if (length == 1 && ((unsigned char)*s < ' ' || *s == 127))
    text_add(t, " ");
  else
    text_add_bytes(t, s, (size_t)length);
}

const char *quote_line(const char *text) { return each("", text, "", within_line); }

// Backslashes continue a line, and so does ??/ .
const char *quote_comment(const char *text) {
  Text *t = text_new();
  for (const char *s = text; *s; s++) {
    bool plain = *s >= ' ' && *s <= '~' && *s != '\\' && *s != '?';
    text_add_bytes(t, plain ? s : "_", 1);
  }
  return text_str(t);
}
