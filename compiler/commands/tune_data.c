// Reads or makes inputs and writes them in the binary form that a server restores.
#include "commands/tune_data.h"
#include "commands/test_run.h"
#include "commands/test_spec.h"
#include "core/generate.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool fail(const TuneInputs *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool fail(const TuneInputs *in, const char *format, ...) {
  va_list args;
  va_start(args, format);
  error(in->c, (Loc){ 0 }, "%s", text_format_list(format, args));
  va_end(args);
  return false;
}

// Writes the bytes beside the others and names them by their hash.
static bool keep(const TuneInputs *in, const Text *bytes, const char *name,
                 TunerDataset *out) {
  uint64_t hash = compile_hash(COMPILE_HASH_SEED, text_str(bytes), text_length(bytes));
  out->hash = text_format("%016llx", (unsigned long long)hash);
  out->file = text_format("%s/%s-%s", in->scratch, name, out->hash);
  out->weight = out->weight > 0 ? out->weight : 1;
  if (text_write_file(bytes, out->file)) return true;
  return fail(in, "cannot write %s: %s", out->file, strerror(errno));
}

// The inputs of the entry point, binary.
static bool convert(const TuneInputs *in, ValueReader *reader, Text *bytes) {
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
  return fail(in, "--data %s: expected a positive number after @weight=", text);
}

bool tune_data_file(TuneInputs *in, const char *text, DatasetVec *out) {
  TunerDataset data = { 0 };
  const char *path = NULL, *message = NULL;
  if (!split_weight(in, text, &path, &data.weight)) return false;
  size_t length = 0;
  char *bytes = text_read_file(path, &length);
  if (!bytes) return fail(in, "cannot read %s: %s", path, strerror(errno));
  bytes = value_gunzip(bytes, length, &length, &message);
  if (!bytes) return fail(in, "%s: %s", path, message);
  data.name = command_file_name(path);
  Text *binary = text_new();
  if (!in->about)
    text_add_bytes(binary, bytes, length);
  else if (!convert(in, value_reader_new(path, bytes, length), binary))
    return false;
  if (!keep(in, binary, "data", &data)) return false;
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
  ValueReader *reader = test_open_values(in->path, &test->outcome, &message);
  if (!reader) return NULL;
  Text *bytes = text_new();
  for (int i = 0; i < in->about->result_count; i++) {
    ValueType type = { in->about->results[i].elem, in->about->results[i].rank };
    const Value *v = value_read(reader, &type, &message);
    if (!v) return NULL;
    value_write_binary(bytes, v);
  }
  const char *file = text_format("%s/expected-%s", in->scratch, hash);
  return text_write_file(bytes, file) ? file : NULL;
}

static const char *case_name(const TestCase *test) {
  if (test->name) return test->name;
  if (test->input.source == TEST_FILE) return command_file_name(test->input.text);
  return text_format("line %d", test->line);
}

static bool add_case(TuneInputs *in, const TestCase *test, DatasetVec *out) {
  const char *message = NULL;
  TunerDataset data = { .name = case_name(test) };
  ValueReader *reader = test_open_values(in->path, &test->input, &message);
  if (message) return fail(in, "%s: %s", data.name, message);
  if (!reader) {
    warning(in->c, (Loc){ 0 }, "%s is not there and is left out", test->input.text);
    return true;
  }
  Text *bytes = text_new();
  if (!convert(in, reader, bytes) || !keep(in, bytes, "data", &data)) return false;
  data.expected = expected_file(in, test, data.hash);
  vec_push(out, data);
  return true;
}

bool tune_data_tests(TuneInputs *in, DatasetVec *out) {
  size_t length = 0;
  const char *source = text_read_file(in->path, &length);
  if (!source) return fail(in, "cannot read %s: %s", in->path, strerror(errno));
  TestSpec spec = test_spec_parse(source);
  if (spec.message) return fail(in, "%s", spec.message);
  vec_each (const double *, x, &spec.tolerances)
    vec_push(&in->tolerances, *x);
  vec_each (const TestCase *, test, &spec.cases)
    if (is_for_tuning(in, test) && !add_case(in, test, out)) return false;
  return true;
}

// ---- ranges

static bool add_range(TuneInputs *in, const char *text, int length) {
  const char *part = text_format("%.*s", length, text);
  TunerRange range = { 0 };
  const char *equals = strchr(part, '=');
  char *rest = NULL;
  if (equals) {
    range.name = text_format("%.*s", (int)(equals - part), part);
    range.low = strtoll(equals + 1, &rest, 10);
    if (*rest == ':') range.high = strtoll(rest + 1, &rest, 10);
  }
  if (!equals || *rest || range.low < 0 || range.high <= range.low)
    return fail(in, "--range: expected NAME=LOW:HIGH with LOW < HIGH, found %s", part);
  vec_push(&in->ranges, range);
  return true;
}

bool tune_ranges(TuneInputs *in, const char *text) {
  for (const char *at = text; *at;) {
    int length = (int)strcspn(at, ",");
    if (!add_range(in, at, length)) return false;
    at += length + (at[length] == ',');
  }
  if (in->ranges.count <= 4) return true;
  return fail(in, "--range: at most 4 sizes can be varied");
}

static int range_named(const TuneInputs *in, const char *name) {
  for (int i = 0; i < in->ranges.count; i++)
    if (strcmp(in->ranges.at[i].name, name) == 0) return i;
  return -1;
}

// "[n][m]f32" with the sizes of the point: "[10][20]f32"; NULL and the unknown name.
static const char *sized_type(const TuneInputs *in, const char *type,
                              const int64_t *sizes, const char **unknown) {
  Text *t = text_new();
  for (const char *at = type; *at;) {
    int length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == '\'')
      length++;
    const char *word = text_format("%.*s", length, at);
    bool is_size =
        at > type && at[-1] == '[' && length > 0 && !isdigit((unsigned char)*at);
    int range = is_size ? range_named(in, word) : -1;
    if (is_size && range < 0) {
      *unknown = word;
      return NULL;
    }
    if (range >= 0)
      text_printf(t, "%lld", (long long)sizes[range]);
    else
      text_add_bytes(t, at, (size_t)(length ? length : 1));
    at += length ? length : 1;
  }
  return text_str(t);
}

// What generate_value makes the parameter from.
static const char *input_spec(const TuneInputs *in, const EntryValue *input,
                              const int64_t *sizes, const char **unknown) {
  int range = input->name ? range_named(in, input->name) : -1;
  const char *type = input->type + (*input->type == '*');
  if (range >= 0 && *type != '[')
    return text_format("%lld%s", (long long)sizes[range], type);
  return sized_type(in, type, sizes, unknown);
}

bool tune_ranges_complete(TuneInputs *in) {
  const int64_t *sizes = new_array(int64_t, in->ranges.count + 1);
  for (int i = 0; i < in->about->input_count; i++) {
    const EntryValue *input = &in->about->inputs[i];
    const char *unknown = NULL;
    if (input->opaque)
      return fail(in, "--range: parameter %s: %s: there are no random records or tuples",
                  input->name, input->type);
    if (!input_spec(in, input, sizes, &unknown))
      return fail(in, "--range: size %s of parameter %s needs a range", unknown,
                  input->name);
  }
  return true;
}

bool tune_data_random(void *state, const int64_t *sizes, int number, TunerDataset *out) {
  static const GenerateBounds no_bounds = { 0 };
  const TuneInputs *in = state;
  Text *bytes = text_new(), *name = text_new();
  for (int i = 0; i < in->about->input_count; i++) {
    const char *unknown = NULL, *message = NULL;
    const char *spec = input_spec(in, &in->about->inputs[i], sizes, &unknown);
    const Value *v =
        spec ? generate_value(spec, in->seed + (uint64_t)i, &no_bounds, &message) : NULL;
    if (!v) return false;
    value_write_binary(bytes, v);
  }
  for (int i = 0; i < in->ranges.count; i++)
    text_printf(name, "%s%s=%lld", i ? "," : "", in->ranges.at[i].name,
                (long long)sizes[i]);
  out->name = text_str(name);
  return keep(in, bytes, text_format("point%d", number), out);
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
