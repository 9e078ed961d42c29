// Files that scripts read.
#include "commands/script_files.h"
#include "base/text.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

size_t script_builtin(const char *at, const char **builtin, const char **name) {
  size_t start = *at == '$' ? 1 : strncmp(at, "io.", 3) == 0 ? 3 : 0, end = start;
  while (isalpha((unsigned char)at[end]))
    end++;
  size_t open = end + strspn(at + end, " \t\n"), close = open + 1;
  if (end == start || start == 0 || at[open] != '"') return 0;
  close += strcspn(at + close, "\"\n");
  if (at[close] != '"') return 0;
  *builtin = text_format("%.*s", (int)(end - start), at + start);
  if (strcmp(*builtin, "loadvalue") == 0) *builtin = "loaddata";
  *name = text_format("%.*s", (int)(close - open - 1), at + open + 1);
  return close + 1;
}

size_t script_quoted(const char *at) {
  size_t length = 1;
  while (at[length] && at[length] != '"')
    length += at[length] == '\\' && at[length + 1] ? 2 : 1;
  return length + (at[length] == '"');
}

const char *script_load_data(const char *path, ValueVec *out) {
  size_t length;
  const char *message = NULL;
  char *bytes = text_read_file(path, &length);
  if (!bytes) return text_format("cannot read %s: %s", path, strerror(errno));
  bytes = value_gunzip(bytes, length, &length, &message);
  ValueReader *reader = bytes ? value_reader_new(path, bytes, length) : NULL;
  while (reader && !message && !value_at_end(reader)) {
    const Value *v = value_read(reader, NULL, &message);
    if (v) vec_push(out, v);
  }
  return message;
}

const char *script_load_bytes(const char *path, ValueVec *out) {
  size_t length;
  const char *bytes = text_read_file(path, &length);
  if (!bytes) return text_format("cannot read %s: %s", path, strerror(errno));
  Value *v = value_new(PRIM_U8, 1, &(int64_t){ (int64_t)length });
  memcpy(v->data, bytes, length);
  vec_push(out, v);
  return NULL;
}
