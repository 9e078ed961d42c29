// Text values: literals with or without suffix, nested arrays, `empty([0][3]i32)`, strings,
// comments.
#include "base/mem.h"
#include "core/value/literal.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// An array under construction.
typedef struct Build {
  ValueReader *r;
  PrimType elem;
  bool elem_known;
  int wanted_rank;                // -1: not known
  int rank;                       // -1 until the first element has been met
  int64_t shape[VALUE_MAX_RANK];  // -1: not known yet
  char *data;
  size_t bytes, capacity;
} Build;

static bool peek_is(ValueReader *r, char ch) {
  value_skip_space(r);
  return r->position < r->length && r->bytes[r->position] == ch;
}

static bool accept_char(ValueReader *r, char ch) {
  if (!peek_is(r, ch)) return false;
  r->position++;
  return true;
}

static bool expect_char(ValueReader *r, char ch, const char *where) {
  if (accept_char(r, ch)) return true;
  value_fail(r, r->position, "expected '%c' %s, found %s", ch, where, value_found(r));
  return false;
}

static bool at_word(const ValueReader *r, const char *word) {
  size_t length = strlen(word);
  return r->length - r->position >= length &&
         memcmp(r->bytes + r->position, word, length) == 0;
}

static void append(Build *b, Prim value) {
  size_t size = (size_t)prim_size_bytes(b->elem);
  if (b->bytes + size > b->capacity) {
    size_t capacity = b->capacity ? b->capacity * 2 : 64;
    char *data = mem_alloc_plain(capacity);
    if (b->bytes) memcpy(data, b->data, b->bytes);
    b->data = data;
    b->capacity = capacity;
  }
  uint64_t bits = (uint64_t)value.u.i;  // the low bytes of the union, whatever the type
  memcpy(b->data + b->bytes, &bits, size);
  b->bytes += size;
}

// Fixes the rank when the first element is met at `depth`; later ones must stand as deep.
static bool note_rank(Build *b, int depth, size_t at) {
  if (b->rank < 0) b->rank = depth;
  if (b->wanted_rank >= 0 && depth != b->wanted_rank) {
    value_fail(b->r, at, "expected a value of type %s, found %s",
               value_type_name(b->elem, b->wanted_rank),
               depth ? "an array of another rank" : "a scalar");
    return false;
  }
  if (b->rank == depth) return true;
  value_fail(b->r, at,
             "expected an array nested %d deep like those before it, found %d deep",
             b->rank, depth);
  return false;
}

// Fixes the size of a dimension when its first row is complete; others must be equal.
static bool note_size(Build *b, int depth, int64_t row, int64_t count, size_t at) {
  if (b->shape[depth] < 0) b->shape[depth] = count;
  if (b->shape[depth] == count) return true;
  value_fail(b->r, at, "row %" PRId64 " has %" PRId64 " element%s, expected %" PRId64,
             row, count, count == 1 ? "" : "s", b->shape[depth]);
  return false;
}

static bool read_element(Build *b, int depth) {
  size_t at = b->r->position;
  Prim value;
  if (!value_read_literal(b->r, b->elem_known ? &b->elem : NULL, &value)) return false;
  b->elem = value.type;
  b->elem_known = true;
  if (!note_rank(b, depth, at)) return false;
  append(b, value);
  return true;
}

// "abc" is an array of u8, and thus a row.
static bool read_string(Build *b, int depth, int64_t row) {
  ValueReader *r = b->r;
  size_t at = r->position++;
  if (b->elem_known && b->elem != PRIM_U8)
    return value_fail(r, at, "expected %s, found a string", prim_type_name(b->elem)) !=
           NULL;
  b->elem = PRIM_U8;
  b->elem_known = true;
  if (!note_rank(b, depth + 1, at)) return false;
  int64_t count = 0;
  for (int ch; (ch = value_read_char(r, at)) != VALUE_STRING_END; count++) {
    if (ch == VALUE_STRING_BAD) return false;
    append(b, prim_int(PRIM_U8, ch));
  }
  return note_size(b, depth, row, count, at);
}

// The size between the brackets of `empty`.
static bool read_size(ValueReader *r, int64_t *out) {
  static const PrimType size_type = PRIM_I64;
  size_t at = r->position;
  Prim value;
  if (!value_read_literal(r, &size_type, &value)) return false;
  *out = value.u.i;
  if (value.u.i < 0) value_fail(r, at, "expected a size, found %" PRId64, value.u.i);
  return value.u.i >= 0;
}

// The type name that ends `empty([0]i32)`.
static bool read_elem_name(ValueReader *r, PrimType *out) {
  value_skip_space(r);
  size_t start = r->position, end = start;
  while (end < r->length && isalnum((unsigned char)r->bytes[end]))
    end++;
  if (!prim_type_named(text_format("%.*s", (int)(end - start), r->bytes + start), out)) {
    value_fail(r, start, "expected an element type, found %s", value_found(r));
    return false;
  }
  r->position = end;
  return true;
}

// empty([0][3]i32)
static Value *read_empty(ValueReader *r) {
  size_t at = r->position;
  r->position += strlen("empty");
  int64_t shape[VALUE_MAX_RANK];
  int rank = 0;
  bool any_zero = false;
  if (!expect_char(r, '(', "after empty")) return NULL;
  while (accept_char(r, '[')) {
    value_skip_space(r);
    if (rank == VALUE_MAX_RANK) return value_fail(r, at, "too many dimensions");
    if (!read_size(r, &shape[rank]) || !expect_char(r, ']', "after the size"))
      return NULL;
    any_zero |= shape[rank++] == 0;
  }
  PrimType elem;
  if (!read_elem_name(r, &elem) || !expect_char(r, ')', "after the type")) return NULL;
  if (!any_zero) return value_fail(r, at, "an empty array needs a dimension of size 0");
  if (!value_shape_fits(rank, shape, prim_size_bytes(elem)))
    return value_fail(r, at, "the sizes of an empty array are too large");
  return value_new(elem, rank, shape);
}

// empty([0]i32) as a row: sizes, and no elements.
static bool empty_item(Build *b, int depth, int64_t row) {
  size_t at = b->r->position;
  const Value *v = read_empty(b->r);
  if (!v) return false;
  if (b->elem_known && v->elem != b->elem)
    return value_fail(b->r, at, "expected %s, found an array of %s",
                      prim_type_name(b->elem), prim_type_name(v->elem)) != NULL;
  b->elem = v->elem;
  b->elem_known = true;
  if (!note_rank(b, depth + v->rank, at)) return false;
  for (int i = 0; i < v->rank; i++)
    if (!note_size(b, depth + i, row, v->shape[i], at)) return false;
  return true;
}

static bool read_row(Build *b, int depth, int64_t row);

static bool read_item(Build *b, int depth, int64_t row) {
  if (peek_is(b->r, '[')) return read_row(b, depth, row);
  if (peek_is(b->r, '"')) return read_string(b, depth, row);
  if (at_word(b->r, "empty")) return empty_item(b, depth, row);
  return read_element(b, depth);
}

// `[]` says how long it is but not what it holds.
static bool empty_row(Build *b, int depth, int64_t row, size_t at) {
  bool innermost = b->wanted_rank == depth + 1 || b->rank == depth + 1;
  if (b->elem_known && innermost) {
    b->rank = depth + 1;
    return note_size(b, depth, row, 0, at);
  }
  value_fail(b->r, at,
             "the type of [] is not known here: write an empty array as empty([0]i32)");
  return false;
}

// [item, ...]: row number `row` (from 1) of the array around it.
static bool read_row(Build *b, int depth, int64_t row) {
  size_t at = b->r->position++;
  if (depth >= VALUE_MAX_RANK) return value_fail(b->r, at, "too many dimensions") != NULL;
  if (accept_char(b->r, ']')) return empty_row(b, depth, row, at);
  int64_t count = 0;
  do {
    if (!read_item(b, depth + 1, count + 1)) return false;
    count++;
  } while (accept_char(b->r, ',') && !peek_is(b->r, ']'));
  return expect_char(b->r, ']', "or ',' in an array") &&
         note_size(b, depth, row, count, at);
}

static Value *finish(const Build *b) {
  Value *v = new_node(Value, .elem = b->elem, .rank = b->rank, .data = b->data);
  v->shape = mem_alloc_plain((size_t)b->rank * sizeof *v->shape);
  for (int i = 0; i < b->rank; i++)
    v->shape[i] = b->shape[i] < 0 ? 0 : b->shape[i];
  if (!v->data) v->data = mem_alloc_plain(1);
  return v;
}

Value *value_read_text(ValueReader *r, const ValueType *expected) {
  if (at_word(r, "empty")) return read_empty(r);
  Build b = { .r = r, .rank = -1, .wanted_rank = expected ? expected->rank : -1 };
  b.elem_known = expected != NULL;
  if (expected) b.elem = expected->elem;
  for (int i = 0; i < VALUE_MAX_RANK; i++)
    b.shape[i] = -1;
  size_t at = r->position;
  if (!read_item(&b, 0, 1)) return NULL;
  Value *v = finish(&b);
  if (value_shape_fits(v->rank, v->shape, prim_size_bytes(v->elem))) return v;
  return value_fail(r, at, "the sizes of an empty array are too large");
}

static void write_elements(Text *t, const Value *v, int depth, int64_t *next) {
  if (depth == v->rank) {
    text_add(t, prim_text(value_get(v, (*next)++)));
    return;
  }
  text_add(t, "[");
  for (int64_t i = 0; i < v->shape[depth]; i++) {
    if (i) text_add(t, ", ");
    write_elements(t, v, depth + 1, next);
  }
  text_add(t, "]");
}

void value_write_text(Text *t, const Value *v) {
  int64_t next = 0;
  if (value_count(v) > 0) {
    write_elements(t, v, 0, &next);
    return;
  }
  text_printf(t, "empty(%s)", value_type_text(v));
}
