// Where the values of test blocks come from: the block itself, files, or a generator.
#include "base/mem.h"
#include "commands/test/run.h"
#include "core/value/generate.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- files

static const char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? text_format("%.*s/", (int)(slash - path), path) : "";
}

// The folder around the file that holds the project's meson.build, or NULL.
static const char *project_root(const char *path) {
  static const int most_levels = 40;
  const char *up = folder_of(path);
  if (!*up) up = "./";
  for (int i = 0; i < most_levels; i++) {
    if (access(text_format("%smeson.build", up), F_OK) == 0) return up;
    up = text_format("%s../", up);
  }
  return NULL;
}

bool test_is_published(const char *path) {
  return strncmp(path, "data/published/", strlen("data/published/")) == 0;
}

// Written on demand, by benchmarks/generate.py.
static bool is_generated(const char *path) {
  return strncmp(path, "data/generated/", strlen("data/generated/")) == 0;
}

static const char *if_present(const char *path) {
  return access(path, R_OK) == 0 ? path : NULL;
}

const char *test_locate(const char *program, const char *name) {
  const char *beside = text_format("%s%s", folder_of(program), name);
  if (is_generated(name)) return if_present(beside);
  if (!test_is_published(name)) return beside;
  const char *folder = getenv("FLC_DATA"), *root = project_root(program);
  if (!folder && root) folder = text_format("%s../shared/data", root);
  const char *rest = name + strlen("data/published/");
  const char *there = folder ? if_present(text_format("%s/%s", folder, rest)) : NULL;
  return there ? there : if_present(beside);
}

// ---- values

// The types of the text generate bytes; literals stay text.
static bool random_bytes(const char *types, Text *out, const char **message) {
  static const GenerateBounds no_bounds = { 0 };
  uint64_t seed = 1;
  for (const char *s = types + strspn(types, " \t\n"); *s; s += strspn(s, " \t\n")) {
    int depth = 0;
    const char *start = s;
    for (; *s && (depth > 0 || !strchr(" \t\n", *s)); s++)
      depth += *s == '[' || *s == '(' ? 1 : *s == ']' || *s == ')' ? -1 : 0;
    const char *token = text_format("%.*s", (int)(s - start), start);
    if (!generate_is_type(token)) {
      text_printf(out, "%s ", token);
      continue;
    }
    const Value *v = generate_value(token, seed++, &no_bounds, message);
    if (!v) return false;
    value_write_binary(out, v);
    text_add(out, "\n");
  }
  return true;
}

static ValueReader *values_in_braces(const char *program, const TestText *text) {
  ValueReader *reader = value_reader_new(text->line ? program : "test values", text->text,
                                         strlen(text->text));
  if (text->line)
    value_reader_place(reader, text->line - 1, text->column - 1, TEST_MARGIN);
  return reader;
}

ValueReader *test_open_values(const char *program, const Entry *entry,
                              const TestText *text, const char **message) {
  *message = NULL;
  if (text->source == TEST_SCRIPT)
    return test_script_values(program, entry, text->text, message);
  if (text->source == TEST_VALUES) return values_in_braces(program, text);
  if (text->source == TEST_RANDOM) {
    Text *bytes = text_new();
    if (!random_bytes(text->text, bytes, message)) return NULL;
    return value_reader_new("random input", text_str(bytes), text_length(bytes));
  }
  const char *path = test_locate(program, text->text);
  if (!path) return NULL;
  size_t length = 0;
  char *bytes = text_read_file(path, &length);
  if (!bytes) *message = text_format("cannot read %s: %s", path, strerror(errno));
  if (!bytes) return NULL;
  if (text->source == TEST_SCRIPT_FILE)
    return test_script_values(program, entry, bytes, message);
  bytes = value_gunzip(bytes, length, &length, message);
  if (*message) *message = text_format("%s: %s", path, *message);
  return bytes ? value_reader_new(path, bytes, length) : NULL;
}
