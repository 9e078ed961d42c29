// Files that scripts read: `$loaddata "f"` and `$loadbytes "f"`, also written `io.loaddata "f"` and
// so on (or `io.loadvalue "f" : t`, whose type says no more than the file), in the expressions of
// test blocks and of `flc literate`.
#pragma once
#include "base/vec.h"
#include "core/value/value.h"

typedef Vec(const Value *) ValueVec;

// The length of `$builtin "name"` at `at`, 0 if something else stands there; stores both words.
size_t script_builtin(const char *at, const char **builtin, const char **name);
// The length of the text in quotes that begins here.
size_t script_quoted(const char *at);
// Adds what the file holds: all its values, or its bytes as one.  NULL, or what is wrong.
const char *script_load_data(const char *path, ValueVec *out);
const char *script_load_bytes(const char *path, ValueVec *out);
