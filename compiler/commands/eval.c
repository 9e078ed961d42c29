// flc eval FILE: runs an entry point in the interpreter, on values from standard input.
#include "commands/commands.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: flc eval FILE [-e ENTRY] [--after PASS] [-b] < VALUES\n"
    "\n"
    "Runs an entry point (default: main, or the only one) in the interpreter.\n"
    "  -e, --entry ENTRY   the entry point\n"
    "  --after PASS        interpret the program as it stands after PASS (see flc dump)\n"
    "  -b, --binary        write binary values\n";

typedef struct Options {
  const char *entry, *after;
  bool binary;
} Options;

static bool write_results(const InterpResult *result, bool binary) {
  Text *t = text_new();
  for (int i = 0; i < result->value_count; i++) {
    if (binary) {
      value_write_binary(t, result->values[i]);
      continue;
    }
    value_write_text(t, result->values[i]);
    text_add(t, "\n");
  }
  size_t length = text_length(t);
  return fwrite(text_str(t), 1, length, stdout) == length && fflush(stdout) == 0;
}

static const Value **read_inputs(Compiler *c, const Entry *entry) {
  size_t length;
  char *bytes = text_read_file("-", &length);
  const char *message = NULL;
  if (bytes) bytes = value_gunzip(bytes, length, &length, &message);
  if (bytes) return command_read_inputs(c, entry, value_reader_new("<stdin>", bytes, length));
  error(c, (Loc){ 0 }, "cannot read standard input: %s", message ? message : strerror(errno));
  return NULL;
}

static int eval(Compiler *c, const char *path, Options options) {
  Program *program = program_read(c, path);
  bool ok = program && pipeline_run(c, program, options.after);
  const Entry *entry = ok ? command_entry(c, program->core, options.entry) : NULL;
  if (!diag_ok(c) || !entry) return 1;
  const Value **inputs = read_inputs(c, entry);
  if (!inputs) return diag_ok(c) ? 0 : 1;
  c->phase = "eval";
  InterpResult result = interp_run(c, program->core, entry, inputs, (InterpOptions){ 0 });
  if (!result.ok) error(c, result.loc, "%s", result.message);
  if (!diag_ok(c)) return 1;
  return write_results(&result, options.binary) ? 0 : 1;
}

int command_eval(Compiler *c, int argc, char **argv) {
  static const struct option options[] = {
    { "entry", required_argument, NULL, 'e' }, { "after", required_argument, NULL, 'a' },
    { "binary", no_argument, NULL, 'b' },      { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  Options given = { 0 };
  opterr = 0;
  for (int o; (o = getopt_long(argc, argv, "e:b", options, NULL)) != -1;) {
    if (o == 'h') return fputs(help, stdout) == EOF;
    if (o == '?') return command_usage_error(c, "flc eval: unknown option %s", argv[optind - 1]);
    if (o == 'e') given.entry = optarg;
    if (o == 'a') given.after = optarg;
    if (o == 'b') given.binary = true;
  }
  const char *after = given.after;
  if (after && (!pipeline_knows(after) || strcmp(after, "parse") == 0 || strcmp(after, "check") == 0))
    return command_usage_error(c, "flc eval: %s is no pass after which a program can run", after);
  if (optind != argc - 1) return command_usage_error(c, "flc eval: expected one file name");
  return eval(c, argv[optind], given);
}
