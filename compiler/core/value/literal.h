// The scalar literals of text values.
#pragma once
#include "core/value/reader.h"

enum { VALUE_STRING_END = -1, VALUE_STRING_BAD = -2 };

// The literal at the reader's position; with `wanted` it must have, or be free to take, that type.
bool value_read_literal(ValueReader *r, const PrimType *wanted, Prim *out);

// The next byte of the string that began at `start`: a byte, VALUE_STRING_END, or VALUE_STRING_BAD.
int value_read_char(ValueReader *r, size_t start);

// What stands at the reader's position, for messages: "'x'", "the word foo", "the end of the data".
const char *value_found(const ValueReader *r);
