// The data that a program is profiled on: a file, standard input, or a case of its tests.
#include "base/file.h"
#include "base/hash.h"
#include "base/quote.h"
#include "commands/bench/bench.h"
#include "commands/profile/profile.h"
#include "commands/test/run.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static const Value **values_of(Compiler *c, const Entry *entry, const char *path) {
  size_t length;
  const char *message = NULL, *name = strcmp(path, "-") == 0 ? "standard input" : path;
  char *bytes = text_read_file(path, &length);
  if (bytes) bytes = value_gunzip(bytes, length, &length, &message);
  if (bytes) return command_read_inputs(c, entry, value_reader_new(name, bytes, length));
  error(c, (Loc){ 0 }, "cannot read %s: %s", name, message ? message : strerror(errno));
  return NULL;
}

static int argument_count(const Entry *entry) {
  return entry->param_count - entry->size_count;
}

static double bytes_of_values(const Entry *entry, const Value *const *values) {
  double sum = 0;
  for (int i = 0; i < argument_count(entry); i++) {
    double count = prim_size_bytes(entry->params[entry->size_count + i]->type.elem);
    for (int d = 0; d < entry->params[entry->size_count + i]->type.rank; d++)
      count *= (double)values[i]->shape[d];
    sum += count;
  }
  return sum;
}

// ---- cases

typedef struct CaseSearch {
  Compiler *c;
  const Program *program;
  const Entry *entry;
  const char *wanted;    // a name, or NULL
  const Value **values;  // of the best so far; NULL: none
  const char *name;
  double bytes;
  Text *names;  // of all
  bool failed;
} CaseSearch;

static bool report_case(CaseSearch *s, const char *name, const char *message) {
  if (message) error(s->c, (Loc){ 0 }, "%s: %s", name, message);
  s->failed = s->failed || message;
  return false;
}

static bool read_case(CaseSearch *s, const TestCase *test, const char *name,
                      const Value ***out) {
  static const TestText nothing = { .source = TEST_VALUES, .text = "" };
  const TestText *text = test->input.source == TEST_NOTHING ? &nothing : &test->input;
  const char *message = NULL;
  ValueReader *reader = test_open_values(s->program->path, s->entry, text, &message);
  if (!reader) return report_case(s, name, message);
  *out = command_read_inputs(s->c, s->entry, reader);
  s->failed = s->failed || !*out;
  return *out != NULL;
}

static void try_case(CaseSearch *s, const TestCase *test, int number) {
  const char *name = bench_dataset_name(test, number);
  text_printf(s->names, "%s%s", text_length(s->names) ? ", " : "", name);
  const char *short_name = text_format("#%d", number);
  if (s->wanted && strcmp(s->wanted, name) != 0 && strcmp(s->wanted, short_name) != 0)
    return;
  const Value **values = NULL;
  if (!read_case(s, test, name, &values)) return;
  double bytes = bytes_of_values(s->entry, values);
  if (s->values && bytes <= s->bytes) return;
  s->values = values;
  s->bytes = bytes;
  s->name = name;
}

static bool search_cases(CaseSearch *s) {
  TestSpec spec = test_spec_parse(s->program->file->text);
  if (spec.message) {
    error(s->c, (Loc){ 0 }, "%s: %s", s->program->path, spec.message);
    return false;
  }
  for (int i = 0; i < spec.cases.count && !s->failed; i++)
    if (bench_is_wanted(&spec.cases.at[i], s->entry)) try_case(s, &spec.cases.at[i], i);
  return !s->failed;
}

static const Value **values_of_stdin(const CaseSearch *s) {
  const Value **values = values_of(s->c, s->entry, "-");
  if (!values)
    hint(s->c,
         "without %s the values come from standard input, or from a file named with -i "
         "FILE",
         text_length(s->names) ? text_format("the data of %s", text_str(s->names))
                               : "a test block");
  return values;
}

static const Value **values_of_cases(CaseSearch *s) {
  if (!search_cases(s) || s->values) return s->failed ? NULL : s->values;
  if (s->wanted) {
    error(s->c, (Loc){ 0 }, "%s has no data set %s for entry point %s", s->program->path,
          s->wanted, s->entry->name);
    if (text_length(s->names)) hint(s->c, "its cases are %s", text_str(s->names));
    return NULL;
  }
  if (argument_count(s->entry) == 0) return new_array(const Value *, 1);
  if (!isatty(STDIN_FILENO)) return values_of_stdin(s);
  error(s->c, (Loc){ 0 }, "%s has no data for entry point %s", s->program->path,
        s->entry->name);
  hint(s->c,
       "name a file of values with -i FILE, or write a test block before the program: "
       "`-- ==` and `-- random input { [1000]f32 }`");
  return NULL;
}

bool trace_write_input(Compiler *c, const Program *program, const Entry *entry,
                       TraceInput input, const char *file, Trace *trace) {
  CaseSearch s = { .c = c,
                   .program = program,
                   .entry = entry,
                   .wanted = input.dataset,
                   .names = text_new() };
  const Value **values =
      input.path ? values_of(c, entry, input.path) : values_of_cases(&s);
  if (!values) return false;
  trace->dataset = s.name ? quote_utf8(s.name) : NULL;
  Text *bytes = text_new();
  for (int i = 0; i < argument_count(entry); i++)
    value_write_binary(bytes, values[i]);
  trace->data_hash = hash_of(text_str(bytes), text_length(bytes));
  if (file_write(file, bytes)) return true;
  error(c, (Loc){ 0 }, "cannot write %s: %s", file, strerror(errno));
  return false;
}
