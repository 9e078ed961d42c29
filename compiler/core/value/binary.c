// Binary values: 'b', version 2, rank, four characters of type, rank u64 sizes, the elements; all
// little-endian, which is also the order of every machine that flc runs on.
#include "base/mem.h"
#include "core/value/reader.h"
#include <string.h>

enum { BINARY_VERSION = 2, TYPE_CHARS = 4 };

static bool type_of_chars(const char *chars, PrimType *out) {
  char name[TYPE_CHARS + 1] = { 0 };
  int skipped = 0;
  while (skipped < TYPE_CHARS && chars[skipped] == ' ')
    skipped++;
  memcpy(name, chars + skipped, (size_t)(TYPE_CHARS - skipped));
  bool whole = strlen(name) == (size_t)(TYPE_CHARS - skipped);
  return whole && prim_type_named(name, out);
}

// Are there `count` more bytes?
static bool has(ValueReader *r, size_t count) {
  if (r->length - r->position >= count) return true;
  value_fail(r, r->position,
             "byte %zu: expected %zu more bytes of a binary value, found the end",
             r->position, count - (r->length - r->position));
  return false;
}

// Reads the sizes; false if they are damaged or ask for more bytes than there are.
static bool read_shape(ValueReader *r, int rank, int64_t *shape, int elem_bytes) {
  if (!has(r, (size_t)rank * sizeof *shape)) return false;
  if (rank) memcpy(shape, r->bytes + r->position, (size_t)rank * sizeof *shape);
  if (!value_shape_fits(rank, shape, elem_bytes)) {
    value_fail(r, r->position, "byte %zu: damaged sizes of a binary value", r->position);
    return false;
  }
  size_t bytes = (size_t)elem_bytes;
  for (int i = 0; i < rank; i++)
    bytes *= (size_t)shape[i];
  r->position += (size_t)rank * sizeof *shape;
  return has(r, bytes);
}

static bool bools_are_valid(ValueReader *r, const Value *v) {
  for (int64_t i = 0; v->elem == PRIM_BOOL && i < value_count(v); i++) {
    if (((const unsigned char *)v->data)[i] <= 1) continue;
    value_fail(r, r->position, "byte %zu: expected 0 or 1 for a bool",
               r->position + (size_t)i);
    return false;
  }
  return true;
}

static Value *read_elements(ValueReader *r, PrimType elem, int rank) {
  int64_t shape[VALUE_MAX_RANK];
  if (!read_shape(r, rank, shape, prim_size_bytes(elem))) return NULL;
  Value *v = value_new(elem, rank, shape);
  size_t bytes = (size_t)value_count(v) * (size_t)prim_size_bytes(elem);
  memcpy(v->data, r->bytes + r->position, bytes);
  if (!bools_are_valid(r, v)) return NULL;
  r->position += bytes;
  return v;
}

Value *value_read_binary(ValueReader *r) {
  size_t start = r->position;
  if (!has(r, 3 + TYPE_CHARS)) return NULL;
  int version = (unsigned char)r->bytes[start + 1],
      rank = (unsigned char)r->bytes[start + 2];
  if (version != BINARY_VERSION)
    return value_fail(r, start,
                      "byte %zu: expected version 2 of the binary format, found %d",
                      start + 1, version);
  if (rank > VALUE_MAX_RANK)
    return value_fail(r, start, "byte %zu: a binary value with %d dimensions", start + 2,
                      rank);
  PrimType elem;
  if (!type_of_chars(r->bytes + start + 3, &elem))
    return value_fail(r, start, "byte %zu: unknown type \"%.4s\" of a binary value",
                      start + 3, r->bytes + start + 3);
  r->position += 3 + TYPE_CHARS;
  return read_elements(r, elem, rank);
}

void value_write_binary(Text *t, const Value *v) {
  char head[3 + TYPE_CHARS] = { 'b', BINARY_VERSION, (char)v->rank, ' ', ' ', ' ', ' ' };
  const char *name = prim_type_name(v->elem);
  memcpy(head + sizeof head - strlen(name), name, strlen(name));
  text_add_bytes(t, head, sizeof head);
  text_add_bytes(t, (const char *)v->shape, (size_t)v->rank * sizeof *v->shape);
  text_add_bytes(t, v->data, (size_t)value_count(v) * (size_t)prim_size_bytes(v->elem));
}
