// flc data: generates, converts and compares values.
#include "base/mem.h"
#include "commands/commands.h"
#include "core/value/generate.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
static const Option option_rows[] = {
  { 'g', 'g', "generate", "TYPE",
    "a random value of this type, or a literal value; may be repeated", NULL },
  { 's', 's', "seed", "SEED",
    "seed of the first `-g`, default 1; each further one has the next", NULL },
  { 0, 0, "T-bounds=A:B", NULL,
    "range of random numbers of type T, as in `--f32-bounds=-1:1`", NULL },
  { 'b', 'b', "binary", NULL, "write binary values (Futhark's format, version 2)", NULL },
  { 'x', 0, "text", NULL, "write text, which is the default", NULL },
  { 't', 't', "type", NULL, "write only the types", NULL },
  { 'c', 0, "compare", NULL, "compare two files; 2 is the exit status of a difference", NULL },
  { 'T', 0, "tolerance", "X",
    "floats may differ by `X` times the greatest absolute value expected; "
    "default by max(0.002, 0.002 times that value)", NULL },
  OPTIONS_END
};
// clang-format on

typedef enum DataForm { FORM_TEXT, FORM_BINARY, FORM_TYPE } DataForm;

typedef struct DataOptions {
  DataForm form;
  uint64_t seed;
  Vec(const char *) generate;
  GenerateBounds bounds;
  bool compare;
  double tolerance;
  bool has_tolerance;
} DataOptions;

static void write_value(Text *t, const Value *v, DataForm form) {
  if (form == FORM_BINARY) {
    value_write_binary(t, v);
    return;
  }
  if (form == FORM_TYPE)
    text_add(t, value_type_text(v));
  else
    value_write_text(t, v);
  text_add(t, "\n");
}

static int write_out(const Text *t) {
  size_t length = text_length(t);
  return fwrite(text_str(t), 1, length, stdout) == length ? 0 : 1;
}

static int report_failure(Compiler *c, const char *message) {
  error(c, (Loc){ 0 }, "%s", message);
  diag_flush(c);
  return 1;
}

// The values of a file, in a reader; NULL after an error.
static ValueReader *open_values(Compiler *c, const char *path) {
  size_t length = 0;
  const char *message = NULL;
  char *bytes = text_read_file(path, &length);
  if (!bytes) message = strerror(errno);
  if (bytes) bytes = value_gunzip(bytes, length, &length, &message);
  if (bytes)
    return value_reader_new(strcmp(path, "-") == 0 ? "<stdin>" : path, bytes, length);
  report_failure(c, text_format("cannot read %s: %s", path, message));
  return NULL;
}

static int convert(Compiler *c, const DataOptions *o) {
  ValueReader *reader = open_values(c, "-");
  if (!reader) return 1;
  Text *t = text_new();
  const char *message = NULL;
  for (Value *v; (v = value_read(reader, NULL, &message));)
    write_value(t, v, o->form);
  if (message) return report_failure(c, message);
  return write_out(t);
}

static int generate(Compiler *c, const DataOptions *o) {
  Text *t = text_new();
  for (int k = 0; k < o->generate.count; k++) {
    const char *message = NULL;
    const Value *v =
        generate_value(o->generate.at[k], o->seed + (uint64_t)k, &o->bounds, &message);
    if (!v) return report_failure(c, message);
    write_value(t, v, o->form);
  }
  return write_out(t);
}

// The difference between value number `index` of both files, or NULL.
static const char *difference(const DataOptions *o, const Value *got,
                              const Value *expected) {
  static const double default_tolerance = 0.002;
  if (o->has_tolerance) return value_compare(got, expected, o->tolerance, true);
  return value_compare(got, expected, default_tolerance, false);
}

static int differ(int index, const char *text) {
  printf("value %d: %s\n", index, text);
  return 2;
}

// The next value of each file, NULL at the end.  Either may have left out its suffixes: what it is
// read as then follows the other.
typedef struct ValuePair {
  const Value *got, *expected;
} ValuePair;

static ValueType type_of(const Value *v) { return (ValueType){ v->elem, v->rank }; }

// False and a message if one of the files is damaged.
static bool read_pair(ValueReader *got, ValueReader *expected, ValuePair *pair,
                      const char **message) {
  ValueReader *got_again = value_reader_fork(got),
              *expected_again = value_reader_fork(expected);
  pair->got = value_read(got, NULL, message);
  if (*message) return false;
  ValueType type = pair->got ? type_of(pair->got) : (ValueType){ 0 };
  pair->expected = value_read(expected, pair->got ? &type : NULL, message);
  if (!*message) return true;
  value_reader_restore(expected, expected_again);
  pair->expected = value_read(expected, NULL, message);
  if (*message) return false;
  type = type_of(pair->expected);
  const char *mismatch = NULL;
  const Value *as_expected = value_read(got_again, &type, &mismatch);
  if (as_expected) pair->got = as_expected;
  return true;
}

static int compare_files(Compiler *c, const DataOptions *o, char **paths) {
  ValueReader *got = open_values(c, paths[0]);
  ValueReader *expected = got ? open_values(c, paths[1]) : NULL;
  if (!expected) return 1;
  for (int index = 0;; index++) {
    ValuePair pair;
    const char *message = NULL;
    if (!read_pair(got, expected, &pair, &message)) return report_failure(c, message);
    if (!pair.got && !pair.expected) return 0;
    if (!pair.got) return differ(index, "missing");
    if (!pair.expected) return differ(index, "more values than expected");
    const char *text = difference(o, pair.got, pair.expected);
    if (text) return differ(index, text);
  }
}

// --f32-bounds=-1:1; NULL if `arg` is none of these, else the message or "" if it is well.
static const char *bounds_option(const char *arg, GenerateBounds *bounds) {
  const char *end = strstr(arg, "-bounds=");
  PrimType type;
  if (strncmp(arg, "--", 2) != 0 || !end) return NULL;
  if (!prim_type_named(text_format("%.*s", (int)(end - arg - 2), arg + 2), &type))
    return NULL;
  const char *text = end + strlen("-bounds="), *message = NULL;
  const char *colon = strchr(text, ':');
  if (!colon) return text_format("expected a range A:B, found %s", text);
  bounds->has[type] = true;
  ValueType scalar = { type, 0 };
  ValueReader *low = value_reader_new(arg, text, (size_t)(colon - text));
  ValueReader *high = value_reader_new(arg, colon + 1, strlen(colon + 1));
  const Value *from = value_read(low, &scalar, &message);
  const Value *to = from ? value_read(high, &scalar, &message) : NULL;
  if (!from || !to || !value_at_end(low) || !value_at_end(high))
    return message ? message : text_format("expected a range A:B, found %s", text);
  bounds->low[type] = value_get(from, 0);
  bounds->high[type] = value_get(to, 0);
  if (generate_bounds_ok(bounds, type)) return "";
  return text_format("the range %s is empty", text);
}

// Takes the bounds, whose names getopt does not know, out of the arguments; NULL or a message.
static const char *take_bounds(int *argc, char **argv, GenerateBounds *bounds) {
  int kept = 1;
  for (int i = 1; i < *argc; i++) {
    const char *message = bounds_option(argv[i], bounds);
    if (message && *message) return message;
    if (!message) argv[kept++] = argv[i];
  }
  argv[kept] = NULL;
  *argc = kept;
  return NULL;
}

// The option's own argument; NULL or a message.
static const char *set_data_option(DataOptions *o, int option) {
  char *end = NULL;
  switch (option) {
  case 'g': vec_push(&o->generate, optarg); return NULL;
  case 'b': o->form = FORM_BINARY; return NULL;
  case 'x': o->form = FORM_TEXT; return NULL;
  case 't': o->form = FORM_TYPE; return NULL;
  case 'c': o->compare = true; return NULL;
  case 's': o->seed = strtoull(optarg, &end, 10); break;
  case 'T':
    o->tolerance = strtod(optarg, &end);
    o->has_tolerance = true;
    if (!(o->tolerance >= 0))
      return text_format("--tolerance wants a number from 0 on, found %s", optarg);
    break;
  }
  return end && end != optarg && *end == '\0'
             ? NULL
             : text_format("expected a number, found %s", optarg);
}

static int run_data(Compiler *c, const DataOptions *o, int count, char **rest) {
  if (o->compare && count != 2)
    return command_usage_error(c, "flc data --compare: expected two files");
  if (o->compare) return compare_files(c, o, rest);
  if (count) return command_usage_error(c, "flc data: unexpected argument %s", rest[0]);
  return o->generate.count ? generate(c, o) : convert(c, o);
}

static int command_data(Compiler *c, int argc, char **argv) {
  DataOptions o = { .seed = 1 };
  const char *message = take_bounds(&argc, argv, &o.bounds);
  OptionReader r = options_begin(c, &data_command, argc, argv);
  for (int k; !message && (k = options_next(&r));)
    message = set_data_option(&o, k);
  if (r.over) return r.status;
  if (message) return command_usage_error(c, "flc data: %s", message);
  return run_data(c, &o, argc - optind, argv + optind);
}

const Command data_command = {
  .name = "data",
  .summary = "generates, converts and compares values",
  .usage = "-g TYPE... [OPTIONS]\n"
           "[OPTIONS] < VALUES\n"
           "--compare GOT EXPECTED [--tolerance X]",
  .about =
      "Writes values: random ones of the given types (`-g '[100][3]f32' -g 10i64`), or "
      "those on standard input (text, binary or gzipped) in another form.",
  .options = option_rows,
  .operands = OPERANDS_FILES,
  .run = command_data,
};
