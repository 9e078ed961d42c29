#include "base/text.h"
#include "base/mem.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct Text {
  char *bytes;  // NUL-terminated
  size_t length, capacity;
  int indent;
  bool indent_due;  // a line was started and nothing has been added to it
};

static const size_t first_capacity = 64;

Text *text_new(void) {
  char *bytes = mem_alloc_text(first_capacity);
  *bytes = '\0';
  return new_node(Text, .bytes = bytes, .capacity = first_capacity);
}

// Makes room for `more` bytes and the NUL.
static void reserve(Text *t, size_t more) {
  size_t needed = t->length + more + 1;
  if (needed <= t->capacity) return;
  size_t capacity = t->capacity * 2 > needed ? t->capacity * 2 : needed;
  char *bytes = mem_alloc_text(capacity);
  memcpy(bytes, t->bytes, t->length);
  t->bytes = bytes;
  t->capacity = capacity;
}

static void append(Text *t, const char *s, size_t length) {
  reserve(t, length);
  memcpy(t->bytes + t->length, s, length);
  t->length += length;
  t->bytes[t->length] = '\0';
}

static void append_due_indent(Text *t) {
  if (!t->indent_due) return;
  t->indent_due = false;
  for (int i = 0; i < t->indent; i++)
    append(t, " ", 1);
}

void text_add_bytes(Text *t, const char *s, size_t length) {
  if (!length) return;
  append_due_indent(t);
  append(t, s, length);
}

void text_add(Text *t, const char *s) { text_add_bytes(t, s, strlen(s)); }

char *text_format_list(const char *format, va_list args) {
  char few[256];  // most texts are short: formatted once, and copied
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(few, sizeof few, format, again);
  va_end(again);
  size_t size = length < 0 ? 1 : (size_t)length + 1;
  char *result = mem_alloc_text(size);
  *result = '\0';
  if (length >= 0 && size <= sizeof few)
    memcpy(result, few, size);
  else
    vsnprintf(result, size, format, args);
  return result;
}

// Formats in place, once more if that took more room.  No argument may be a part of `t`.
void text_printf_list(Text *t, const char *format, va_list args) {
  va_list again;
  bool due = t->indent_due;
  size_t before = t->length;
  append_due_indent(t);
  va_copy(again, args);
  size_t room = t->capacity - t->length;
  int length = vsnprintf(t->bytes + t->length, room, format, again);
  va_end(again);
  if (length > 0 && (size_t)length >= room) {
    reserve(t, (size_t)length);
    vsnprintf(t->bytes + t->length, (size_t)length + 1, format, args);
  }
  if (length > 0) {
    t->length += (size_t)length;
    return;
  }
  t->length = before;
  t->bytes[before] = '\0';
  t->indent_due = due;
}

void text_printf(Text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  text_printf_list(t, format, args);
  va_end(args);
}

const char *text_format(const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *result = text_format_list(format, args);
  va_end(args);
  return result;
}

void text_newline(Text *t) {
  append(t, "\n", 1);
  t->indent_due = true;
}

void text_indent(Text *t, int columns) { t->indent += columns; }

const char *text_str(const Text *t) { return t->bytes; }

void text_cut(Text *t, size_t length) {
  t->length = length;
  t->bytes[length] = '\0';
}

size_t text_length(const Text *t) { return t->length; }

// Reads until the end; NULL if reading fails.
static char *read_stream(FILE *in, size_t *length) {
  Text *t = text_new();
  do {
    reserve(t, t->capacity);
    t->length += fread(t->bytes + t->length, 1, t->capacity - t->length - 1, in);
  } while (!feof(in) && !ferror(in));
  t->bytes[t->length] = '\0';
  *length = t->length;
  return ferror(in) ? NULL : t->bytes;
}

char *text_read_file(const char *path, size_t *length) {
  if (strcmp(path, "-") == 0) return read_stream(stdin, length);
  FILE *in = fopen(path, "rb");
  if (!in) return NULL;
  char *result = read_stream(in, length);
  int reason = errno;
  fclose(in);
  errno = reason;
  return result;
}

// The first carriage return from `at` on that no newline follows, or NULL.
static char *lone_return(char *at, const char *end) {
  while ((at = memchr(at, '\r', (size_t)(end - at))) && at[1] == '\n')
    at += 2;
  return at;
}

static void returns_to_newlines(char *text, size_t length) {
  for (char *at = text; (at = lone_return(at, text + length));)
    *at = '\n';
}

const char *text_with_newlines(const char *text, size_t length) {
  if (!memchr(text, '\r', length)) return text;
  char *copy = mem_copy(text, length + 1);
  returns_to_newlines(copy, length);
  return copy;
}

char *text_read_lines(const char *path, size_t *length) {
  char *text = text_read_file(path, length);
  if (!text) return NULL;
  if (strncmp(text, "\xef\xbb\xbf", 3) == 0) {
    *length -= 3;
    memmove(text, text + 3, *length + 1);
  }
  returns_to_newlines(text, *length);
  return text;
}
