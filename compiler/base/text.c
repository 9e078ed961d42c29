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
  return new_node(Text, .bytes = mem_alloc_plain(first_capacity),
                  .capacity = first_capacity);
}

// Makes room for `more` bytes and the NUL.
static void reserve(Text *t, size_t more) {
  size_t needed = t->length + more + 1;
  if (needed <= t->capacity) return;
  size_t capacity = t->capacity * 2 > needed ? t->capacity * 2 : needed;
  char *bytes = mem_alloc_plain(capacity);
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
  va_list again;
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, again);
  va_end(again);
  size_t size = length < 0 ? 1 : (size_t)length + 1;
  char *result = mem_alloc_plain(size);
  vsnprintf(result, size, format, args);
  return result;
}

void text_printf(Text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  text_add(t, text_format_list(format, args));
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
