// Run-time values outside of generated programs: what the interpreter, `flc data` and `flc test`
// handle.  Formats: Futhark's text and binary values (docs/cli.md).
#pragma once
#include "base/diag.h"
#include "base/prim.h"
#include "base/text.h"

// An array (rank 0: a scalar), row-major, dense, native byte order; bool is one byte 0 or 1.
typedef struct Value {
  PrimType elem;
  int rank;
  int64_t *shape;
  void *data;  // value_count(v) elements
} Value;

Value *value_new(PrimType elem, int rank, const int64_t *shape);  // zeroed
int64_t value_count(const Value *v);                              // number of elements
// Is the product of the sizes, those of 0 left out, a number of bytes?  Others are refused.
bool value_shape_fits(int rank, const int64_t *shape, int elem_bytes);
Prim value_get(const Value *v, int64_t i);
void value_set(Value *v, int64_t i, Prim p);

// A stream of values (a file, standard input, the text between braces of a test block).
typedef struct ValueReader ValueReader;
ValueReader *value_reader_new(const char *what, const char *bytes, size_t length);
// Messages count from here on: the bytes begin at this line and column, from 0, of the file that
// `what` names, and `margin` columns stand before each further line.
void value_reader_place(ValueReader *reader, int line, int column, int margin);

// The next value.  With `expected` its text may leave out suffixes, and a value of another type or
// rank is an error.  On failure returns NULL and stores a message with line and column (text) or
// byte offset (binary); at the end of the data stores NULL.
typedef struct ValueType {
  PrimType elem;
  int rank;
} ValueType;
Value *value_read(ValueReader *reader, const ValueType *expected, const char **message);
bool value_at_end(ValueReader *reader);

// For a second try with another type: a reader at the same place, and the way back to it.
ValueReader *value_reader_fork(const ValueReader *reader);
void value_reader_restore(ValueReader *reader, const ValueReader *fork);

void value_write_text(Text *t, const Value *v);
void value_write_binary(Text *t, const Value *v);
const char *value_type_text(const Value *v);  // "[2][3]f32"

// Decompresses gzipped bytes; others are returned as they are.  NULL and a message on damage.
char *value_gunzip(const char *bytes, size_t length, size_t *out_length,
                   const char **message);

// NULL if they agree, else where and how they differ.  Floats: absolute difference at most
// `tolerance` * max |expected| if `relative`, else max(tolerance, tolerance * max |expected|);
// NaN equals NaN, infinities must agree.
const char *value_compare(const Value *got, const Value *expected, double tolerance,
                          bool relative);
