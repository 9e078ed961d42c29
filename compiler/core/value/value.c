// Values and the stream they are read from; text.c and binary.c know the two formats.
#include "core/value/value.h"
#include "base/mem.h"
#include "core/value/reader.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

Value *value_new(PrimType elem, int rank, const int64_t *shape) {
  Value *v = new_node(Value, .elem = elem, .rank = rank);
  v->shape = mem_alloc_plain((size_t)rank * sizeof *shape);
  if (rank) memcpy(v->shape, shape, (size_t)rank * sizeof *shape);
  v->data = mem_alloc_plain((size_t)value_count(v) * (size_t)prim_size_bytes(elem));
  return v;
}

int64_t value_count(const Value *v) {
  int64_t count = 1;
  for (int i = 0; i < v->rank; i++)
    count *= v->shape[i];
  return count;
}

bool value_shape_fits(int rank, const int64_t *shape, int elem_bytes) {
  int64_t bytes = elem_bytes;
  for (int i = 0; i < rank; i++)
    if (shape[i] < 0 || (shape[i] > 0 && __builtin_mul_overflow(bytes, shape[i], &bytes)))
      return false;
  return true;
}

Prim value_get(const Value *v, int64_t i) {
  uint64_t bits = 0;
  size_t size = (size_t)prim_size_bytes(v->elem);
  memcpy(&bits, (const char *)v->data + (size_t)i * size,
         size);  // little-endian hosts only
  return prim_of_bits(v->elem, bits);
}

void value_set(Value *v, int64_t i, Prim p) {
  uint64_t bits = prim_bits_of(p);
  size_t size = (size_t)prim_size_bytes(v->elem);
  memcpy((char *)v->data + (size_t)i * size, &bits, size);
}

const char *value_type_text(const Value *v) {
  Text *t = text_new();
  for (int i = 0; i < v->rank; i++)
    text_printf(t, "[%lld]", (long long)v->shape[i]);
  text_add(t, prim_type_name(v->elem));
  return text_str(t);
}

const char *value_type_name(PrimType elem, int rank) {
  Text *t = text_new();
  for (int i = 0; i < rank; i++)
    text_add(t, "[]");
  text_add(t, prim_type_name(elem));
  return text_str(t);
}

ValueReader *value_reader_new(const char *what, const char *bytes, size_t length) {
  return new_node(ValueReader, .what = what, .bytes = bytes, .length = length);
}

void value_reader_place(ValueReader *r, int line, int column, int margin) {
  r->line = line;
  r->column = column;
  r->margin = margin;
}

ValueReader *value_reader_fork(const ValueReader *r) { return mem_copy(r, sizeof *r); }

void value_reader_restore(ValueReader *r, const ValueReader *fork) { *r = *fork; }

// Of the byte order mark before a text, of which editors make files of UTF-8.
static size_t mark_length(const ValueReader *r) {
  return r->length >= 3 && memcmp(r->bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

void *value_fail(ValueReader *r, size_t position, const char *format, ...) {
  if (r->message) return NULL;
  int line = r->line + 1, column = r->column + 1;
  for (size_t i = mark_length(r); i < position && i < r->length; i++) {
    bool ends_line = r->bytes[i] == '\n';
    line += ends_line;
    column = ends_line ? r->margin + 1 : column + ((r->bytes[i] & 0xC0) != 0x80);
  }
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  r->message = text_format("%s:%d:%d: %s", r->what, line, column, text);
  return NULL;
}

static bool is_space(char ch) {
  return ch == ' ' || ch == '\n' || ch == '\t' || ch == '\r' || ch == '\f' || ch == '\v';
}

static bool at_comment(const ValueReader *r) {
  return r->position + 1 < r->length && r->bytes[r->position] == '-' &&
         r->bytes[r->position + 1] == '-';
}

void value_skip_space(ValueReader *r) {
  if (r->position == 0) r->position = mark_length(r);
  for (;;) {
    while (r->position < r->length && is_space(r->bytes[r->position]))
      r->position++;
    if (!at_comment(r)) return;
    while (r->position < r->length && r->bytes[r->position] != '\n')
      r->position++;
  }
}

bool value_at_end(ValueReader *r) {
  value_skip_space(r);
  return r->position >= r->length;
}

// Does the value have the wanted type?  Text that was read for it always does.
static bool agrees(ValueReader *r, size_t start, const Value *v,
                   const ValueType *expected) {
  if (v->elem == expected->elem && v->rank == expected->rank) return true;
  value_fail(r, start, "expected a value of type %s, found %s",
             value_type_name(expected->elem, expected->rank),
             value_type_name(v->elem, v->rank));
  return false;
}

Value *value_read(ValueReader *r, const ValueType *expected, const char **message) {
  *message = NULL;
  if (value_at_end(r)) return NULL;
  size_t start = r->position;
  bool binary = r->bytes[start] == 'b';
  Value *v = binary ? value_read_binary(r) : value_read_text(r, expected);
  if (v && expected && !agrees(r, start, v, expected)) v = NULL;
  *message = r->message;
  return v;
}

// Inflates into a buffer that doubles; false on damage.
static bool inflate_all(z_stream *z, Text *out) {
  static const size_t chunk_bytes = 1 << 18;
  char *chunk = mem_alloc_plain(chunk_bytes);
  for (int status = Z_OK; status != Z_STREAM_END;) {
    z->next_out = (unsigned char *)chunk;
    z->avail_out = (unsigned)chunk_bytes;
    status = inflate(z, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) return false;
    text_add_bytes(out, chunk, chunk_bytes - z->avail_out);
    if (status == Z_STREAM_END && z->avail_in > 0)
      status = inflateReset(z);  // another member
  }
  return true;
}

char *value_gunzip(const char *bytes, size_t length, size_t *out_length,
                   const char **message) {
  *out_length = length;
  *message = NULL;
  bool gzipped =
      length > 2 && (unsigned char)bytes[0] == 0x1F && (unsigned char)bytes[1] == 0x8B;
  if (!gzipped) return (char *)(uintptr_t)bytes;
  z_stream z = { .next_in = (unsigned char *)(uintptr_t)bytes,
                 .avail_in = (unsigned)length };
  static const int gzip_window_bits = 15 + 16;
  Text *out = text_new();
  bool ok = inflateInit2(&z, gzip_window_bits) == Z_OK && inflate_all(&z, out);
  inflateEnd(&z);
  if (!ok) *message = "damaged gzip data";
  if (!ok) return NULL;
  *out_length = text_length(out);
  return (char *)(uintptr_t)text_str(out);
}
