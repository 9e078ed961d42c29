// Reads or makes inputs and writes them in the binary form that a server restores.
#include "commands/tune/data.h"
#include "base/file.h"
#include "base/hash.h"
#include "commands/test/run.h"
#include "commands/test/spec.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool tune_fail(const TuneInputs *in, const char *format, ...) {
  va_list args;
  va_start(args, format);
  error(in->c, (Loc){ 0 }, "%s", text_format_list(format, args));
  va_end(args);
  return false;
}

bool tune_keep(const TuneInputs *in, const Text *bytes, const char *name,
               TunerDataset *out) {
  out->hash = hash_of(text_str(bytes), text_length(bytes));
  out->file = text_format("%s/%s-%s", in->scratch, name, out->hash);
  out->weight = out->weight > 0 ? out->weight : 1;
  if (file_write(out->file, bytes)) return true;
  return tune_fail(in, "cannot write %s: %s", out->file, strerror(errno));
}

// The inputs of the entry point, binary.
static bool convert_inputs(const TuneInputs *in, ValueReader *reader, Text *bytes) {
  const Value **values = command_read_inputs(in->c, in->about, reader);
  if (!values) return false;
  for (int i = 0; i < in->about->param_count - in->about->size_count; i++)
    value_write_binary(bytes, values[i]);
  return true;
}

// ---- files

// Cuts "@weight=3" off; false after an error.
static bool split_weight(const TuneInputs *in, const char *text, const char **path,
                         double *weight) {
  const char *at = strstr(text, "@weight=");
  char *end = NULL;
  *path = at ? text_format("%.*s", (int)(at - text), text) : text;
  *weight = at ? strtod(at + strlen("@weight="), &end) : 1;
  if (!at || (*end == '\0' && *weight > 0 && *weight < 1e12)) return true;
  return tune_fail(in, "--data %s: expected a positive number after @weight=", text);
}

bool tune_data_file(TuneInputs *in, const char *text, DatasetVec *out) {
  TunerDataset data = { 0 };
  const char *path = NULL, *message = NULL;
  if (!split_weight(in, text, &path, &data.weight)) return false;
  size_t length = 0;
  char *bytes = text_read_file(path, &length);
  if (!bytes) return tune_fail(in, "cannot read %s: %s", path, strerror(errno));
  bytes = value_gunzip(bytes, length, &length, &message);
  if (!bytes) return tune_fail(in, "%s: %s", path, message);
  data.name = command_file_name(path);
  Text *binary = text_new();
  if (!in->about)
    text_add_bytes(binary, bytes, length);
  else if (!convert_inputs(in, value_reader_new(path, bytes, length), binary))
    return false;
  if (!tune_keep(in, binary, "data", &data)) return false;
  vec_push(out, data);
  return true;
}

// ---- test blocks

static bool is_for_entry(const TuneInputs *in, const TestCase *test) {
  if (test->entries.count == 0) return strcmp(in->entry, "main") == 0;
  return test_has_tag(&test->entries, in->entry);
}

static bool is_for_tuning(const TuneInputs *in, const TestCase *test) {
  return is_for_entry(in, test) && test->outcome.source != TEST_ERROR &&
         !test_has_tag(&test->tags, "notune") && !test_has_tag(&test->tags, "disable");
}

// The expected results in binary form; none if there are none or they cannot be read.
static const char *expected_file(const TuneInputs *in, const TestCase *test,
                                 const char *hash) {
  const char *message = NULL;
  if (test->outcome.source != TEST_FILE && test->outcome.source != TEST_VALUES)
    return NULL;
  ValueReader *reader = test_open_values(in->path, in->about, &test->outcome, &message);
  if (!reader) return NULL;
  Text *bytes = text_new();
  for (int i = 0; i < in->about->result_count; i++) {
    ValueType type = { in->about->results[i].elem, in->about->results[i].rank };
    const Value *v = value_read(reader, &type, &message);
    if (!v) return NULL;
    value_write_binary(bytes, v);
  }
  const char *file = text_format("%s/expected-%s", in->scratch, hash);
  return file_write(file, bytes) ? file : NULL;
}

// As flc bench numbers them.
static const char *case_name(const TestCase *test, int number) {
  if (test->name) return test->name;
  if (test->input.source == TEST_FILE) return command_file_name(test->input.text);
  return text_format("#%d", number);
}

static bool add_case(TuneInputs *in, const TestCase *test, int number, DatasetVec *out) {
  const char *message = NULL;
  TunerDataset data = { .name = case_name(test, number) };
  ValueReader *reader = test_open_values(in->path, in->about, &test->input, &message);
  if (message) return tune_fail(in, "%s: %s", data.name, message);
  if (!reader) {
    warning(in->c, (Loc){ 0 }, "%s is not there and is left out", test->input.text);
    return true;
  }
  Text *bytes = text_new();
  if (!convert_inputs(in, reader, bytes) || !tune_keep(in, bytes, "data", &data))
    return false;
  data.expected = expected_file(in, test, data.hash);
  vec_push(out, data);
  return true;
}

bool tune_data_tests(TuneInputs *in, DatasetVec *out) {
  size_t length = 0;
  const char *source = text_read_lines(in->path, &length);
  if (!source) return tune_fail(in, "cannot read %s: %s", in->path, strerror(errno));
  TestSpec spec = test_spec_parse(source);
  if (spec.message) return tune_fail(in, "%s", spec.message);
  vec_each (const double *, x, &spec.tolerances)
    vec_push(&in->tolerances, *x);
  for (int i = 0; i < spec.cases.count; i++) {
    const TestCase *test = &spec.cases.at[i];
    if (is_for_tuning(in, test) && !add_case(in, test, i, out)) return false;
  }
  return true;
}

// ---- results

static const char *compare_value(const TuneInputs *in, int i, const Value *got,
                                 const Value *want) {
  static const double default_tolerance = 0.002;
  int count = in->tolerances.count;
  if (!count) return value_compare(got, want, default_tolerance, false);
  return value_compare(got, want, in->tolerances.at[i < count ? i : count - 1], true);
}

static ValueReader *open_file(const char *path) {
  size_t length = 0;
  const char *bytes = text_read_file(path, &length);
  return bytes ? value_reader_new(path, bytes, length) : NULL;
}

const char *tune_data_compare(const void *state, const char *got, const char *expected) {
  const TuneInputs *in = state;
  ValueReader *ours = open_file(got), *theirs = open_file(expected);
  if (!ours || !theirs) return "it cannot be read";
  for (int i = 0;; i++) {
    const char *message = NULL;
    const Value *a = value_read(ours, NULL, &message),
                *b = value_read(theirs, NULL, &message);
    if (!a && !b) return message;
    if (!a || !b) return message ? message : "another number of values";
    const char *difference = compare_value(in, i, a, b);
    if (difference) return difference;
  }
}
