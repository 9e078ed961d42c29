// flc eval FILE: runs an entry point in the interpreter, on values from standard input.
#include "commands/version_options.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: flc eval FILE [-e ENTRY] [--after PASS] [--path PATH] [-b] < VALUES\n"
    "\n"
    "Runs an entry point (default: main, or the only one) in the interpreter.\n"
    "  -e, --entry ENTRY   the entry point\n"
    "  --after PASS        interpret the program as it stands after PASS (see flc dump)\n"
    "  --path PATH         the version to run, after flattening: V2 (see flc tree), or "
    "outcomes of\n"
    "                      guards: main.top_0=T,main.intra_1=F; the others by their "
    "thresholds\n"
    "  --flatten MODE      incremental (default), moderate, full or outer\n"
    "  --max-versions N    versions per entry point, at most (default 256)\n"
    "  -b, --binary        write binary values\n";

typedef struct EvalOptions {
  const char *entry, *after, *path;
  FlattenOptions flatten;
  bool binary;
} EvalOptions;

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
  if (bytes)
    return command_read_inputs(c, entry, value_reader_new("<stdin>", bytes, length));
  error(c, (Loc){ 0 }, "cannot read standard input: %s",
        message ? message : strerror(errno));
  return NULL;
}

static int eval(Compiler *c, const char *path, EvalOptions options) {
  Program *program = program_read(c, path);
  if (program) program->flatten = options.flatten;
  bool ok = program && pipeline_run(c, program, options.after);
  const Entry *entry = ok ? command_entry(c, program->core, options.entry) : NULL;
  Decider decider = { 0 };
  if (entry && options.path) {
    VersionTree tree = version_tree(c, entry);
    ok = decider_force(c, &decider, &tree, options.path);
  }
  if (!diag_ok(c) || !entry || !ok) return 1;
  const Value **inputs = read_inputs(c, entry);
  if (!inputs) return diag_ok(c) ? 0 : 1;
  c->phase = "eval";
  InterpResult result =
      interp_run(c, program->core, entry, inputs,
                 (InterpOptions){ .decide = decider_decide, .state = &decider });
  if (!result.ok) error(c, result.loc, "%s", result.message);
  if (!diag_ok(c)) return 1;
  return write_results(&result, options.binary) ? 0 : 1;
}

int command_eval(Compiler *c, int argc, char **argv) {
  static const struct option options[] = {
    { "entry", required_argument, NULL, 'e' },
    { "after", required_argument, NULL, 'a' },
    { "binary", no_argument, NULL, 'b' },
    { "help", no_argument, NULL, 'h' },
    { "path", required_argument, NULL, 'p' },
    { "flatten", required_argument, NULL, 'f' },
    { "max-versions", required_argument, NULL, 'm' },
    { NULL, 0, NULL, 0 },
  };
  EvalOptions given = { .flatten = { FLATTEN_INCREMENTAL, 256, NULL } };
  opterr = 0;
  for (int o; (o = getopt_long(argc, argv, ":e:b", options, NULL)) != -1;) {
    if (o == 'h') return fputs(help, stdout) == EOF;
    if (o == '?' || o == ':') return command_option_error(c, o, argv);
    if (o == 'e') given.entry = optarg;
    if (o == 'a') given.after = optarg;
    if (o == 'b') given.binary = true;
    if (o == 'p') given.path = optarg;
    const char *message = o == 'f'   ? set_flatten_mode(&given.flatten, optarg)
                          : o == 'm' ? set_max_versions(&given.flatten, optarg)
                                     : NULL;
    if (message) return command_usage_error(c, "flc eval: %s", message);
  }
  const char *after = given.after;
  if (after && (!pipeline_knows(after) || pipeline_stage_after(after) < STAGE_CORE))
    return command_usage_error(c, "flc eval: %s is no pass after which a program can run",
                               after);
  if (optind != argc - 1)
    return command_usage_error(c, "flc eval: expected one file name");
  return eval(c, argv[optind], given);
}
