// What the files behind value.h share: the reader's state, and the texts and bytes of one value.
#pragma once
#include "core/value/value.h"

enum { VALUE_MAX_RANK = 32 };

struct ValueReader {
  const char *what;   // name of the stream, for messages
  const char *bytes;  // not necessarily NUL-terminated
  size_t length, position;
  const char *message;  // the first failure
  // Where the bytes begin in the file that `what` names, from 0, and how much stands before each
  // further line there.
  int line, column, margin;
};

// Stores "what:line:col: ..." for the byte at `position`; returns NULL for the caller's
// convenience.
void *value_fail(ValueReader *r, size_t position, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void value_skip_space(ValueReader *r);  // white space and comments
Value *value_read_text(ValueReader *r, const ValueType *expected);
Value *value_read_binary(ValueReader *r);              // stands at the `b`
const char *value_type_name(PrimType elem, int rank);  // "[][]f32"
