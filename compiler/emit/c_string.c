// Texts as string literals of C.
#include "emit/emit.h"
#include <string.h>

static void add_escaped(Text *t, const char *s) {
  unsigned char ch = (unsigned char)*s;
  if (*s == '\n')
    text_add(t, "\\n");
  else if (*s == '"' || *s == '\\')
    text_printf(t, "\\%c", *s);
  else if (*s == '?')
    text_add(t, "\\?");  // no trigraphs
  else if (ch < ' ' || ch > '~')
    text_printf(t, "\\%03o", ch);
  else
    text_add_bytes(t, s, 1);
}

// How many characters from here on stand for themselves.
static size_t plain_length(const char *s, const char *end) {
  const char *at = s;
  while (at < end && *at >= ' ' && *at <= '~' && *at != '"' && *at != '\\' && *at != '?')
    at++;
  return (size_t)(at - s);
}

void c_add_string(Text *t, const char *text, size_t length) {
  const char *end = text + length;
  text_add_bytes(t, "\"", 1);
  for (const char *s = text; s < end;) {
    size_t plain = plain_length(s, end);
    text_add_bytes(t, s, plain);
    s += plain;
    if (s < end) add_escaped(t, s++);
  }
  text_add_bytes(t, "\"", 1);
}

const char *c_string(const char *text) {
  Text *t = text_new();
  c_add_string(t, text, strlen(text));
  return text_str(t);
}

enum { LITERAL_BYTES = 4000 };  // C99 promises 4095

void c_text_rows(Text *t, const char *text) {
  size_t room = LITERAL_BYTES;
  while (*text) {
    size_t length = strcspn(text, "\n");
    length += text[length] == '\n';
    text_add(t, "\n  ");
    c_add_string(t, text, length);
    text += length;
    room -= length < room ? length : room;
    size_t next = strcspn(text, "\n") + 1;
    if (*text && next <= room) continue;
    text_add(t, ",");
    room = LITERAL_BYTES;
  }
}
