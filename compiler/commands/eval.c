// flc eval FILE: runs an entry point in the interpreter, on values from standard input.
#include "commands/eval_workers.h"
#include "commands/mpi.h"
#include "commands/version_options.h"
#include "kern/kern_interp.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// clang-format off
static const Option option_rows[] = {
  { 'e', 'e', "entry", "ENTRY", "the entry point; default `main`, or the only one", NULL },
  { 'e', 0, "entry-point", "ENTRY", NULL, NULL },
  { 'a', 0, "after", "PASS",
    "interpret the program as it stands after this pass (see [dump](#dump)), or, after `kern`, "
    "its kernels by their [recipes](recipes.md)", "kern" },
  { 'c', 0, "code", "CODE",
    "after `kern`: the kernels for `cpu` (default), or `gpu`, if they are made from such ones",
    "cpu gpu" },
  { 'p', 0, "path", "PATH",
    "after flattening: which version to run, by name (`V2`) or guard by guard "
    "(`main.top_0=T,main.intra_1=F`; the others by their thresholds)", NULL },
  { 'b', 'b', "binary", NULL, "write binary values", NULL },
  FLATTEN_OPTIONS,
  RECIPE_OPTION,
  WORKERS_OPTIONS,
  { 'n', 0, "ranks", "N",
    "after `distribute`, with `--mpi` or `--workers`: as so many workers, who do their parts and "
    "exchange what they need", NULL },
  OPTIONS_END
};
// clang-format on

typedef struct EvalOptions {
  const char *entry, *after, *path, *recipe;
  FlattenOptions flatten;
  Profile code;
  int ranks;
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
  return fwrite(text_str(t), 1, length, stdout) == length;
}

// Someone at a terminal learns what is waited for.
static void ask_for_inputs(const Entry *entry) {
  if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) return;
  fprintf(stderr, "type values, then Ctrl-D:");
  for (int i = 0; i < entry->input_count; i++)
    fprintf(stderr, "%s %s: %s", i ? "," : "", entry->inputs[i].name,
            entry->inputs[i].type);
  fprintf(stderr, "\n");
}

static const Value **read_inputs(Compiler *c, const Entry *entry) {
  size_t length;
  if (entry->input_count) ask_for_inputs(entry);
  char *bytes = text_read_file("-", &length);
  const char *message = NULL;
  if (bytes) bytes = value_gunzip(bytes, length, &length, &message);
  if (bytes)
    return command_read_inputs(c, entry, value_reader_new("<stdin>", bytes, length));
  error(c, (Loc){ 0 }, "cannot read standard input: %s",
        message ? message : strerror(errno));
  return NULL;
}

// The program with this entry point alone: the passes need not go through the others.
static const Core *with_entry(const Core *core, const Entry *entry) {
  Core *out = mem_copy(core, sizeof *core);
  out->entries = mem_copy(&entry, sizeof entry);
  out->entry_count = 1;
  return out;
}

static int eval(Compiler *c, const char *path, EvalOptions options) {
  Program *program = program_read(c, path);
  if (!program || !take_recipes(c, program, options.recipe)) return !diag_ok(c);
  program->flatten = options.flatten;
  program->flatten.blocks =
      false;  // all workers of the interpreter are given whole values
  bool kernels = options.after && strcmp(options.after, "kern") == 0;
  bool ok = pipeline_run(c, program, "elaborate");
  const Entry *entry = ok ? command_entry(c, program->core, options.entry) : NULL;
  if (!diag_ok(c) || !entry) return 1;
  program->core = with_entry(program->core, entry);
  // What is traced is shown in the order of the text, before passes move or drop it.
  bool traced = !options.after && !options.path && interp_shows_values(program->core);
  ok = traced || pipeline_run(c, program, kernels ? NULL : options.after);
  const Core *core = ok && kernels ? pipeline_in_order(c, program) : program->core;
  entry = ok ? core->entries[0] : NULL;
  Decider decider = { 0 };
  if (entry && options.path) {
    VersionTree tree = version_tree(c, entry);
    ok = decider_force(c, &decider, &tree, options.path);
  }
  if (kernels && ok) ok = pipeline_read_recipes(c, program);
  if (!diag_ok(c) || !entry || !ok) return 1;
  const Value **inputs = read_inputs(c, entry);
  if (!inputs) return diag_ok(c) ? 0 : 1;
  c->phase = "eval";
  InterpOptions how = { .decide = decider_decide, .state = &decider, .trace = traced };
  if (kernels) kern_run_segs(kern_runner(c, entry, program->recipes, options.code), &how);
  InterpResult result =
      options.ranks > 1 ? interp_run_workers(c, core, entry, inputs, how, options.ranks)
                        : interp_run(c, core, entry, inputs, how);
  if (!result.ok) error(c, result.loc, "%s", result.message);
  if (!diag_ok(c)) return 1;
  return write_results(&result, options.binary) ? 0 : 1;
}

static int command_eval(Compiler *c, int argc, char **argv) {
  EvalOptions given = { .flatten = default_flatten_options() };
  OptionReader r = options_begin(c, &eval_command, argc, argv);
  for (int o; (o = options_next(&r));) {
    if (o == 'e') given.entry = optarg;
    if (o == 'a') given.after = optarg;
    if (o == 'b') given.binary = true;
    if (o == 'p') given.path = optarg;
    if (o == OPTION_RECIPE) given.recipe = optarg;
    const char *message = set_flatten_option(&given.flatten, o);
    if (o == 'c') message = profile_option(optarg, &given.code);
    if (o == 'n' && !mpi_read_count(optarg, &given.ranks))
      message = text_format("expected a number of workers, found %s", optarg);
    if (message) return command_usage_error(c, "flc eval: %s", message);
  }
  if (r.over) return r.status;
  const char *after = given.after;
  bool kernels = after && strcmp(after, "kern") == 0;
  if (after && !kernels &&
      (!pipeline_knows(after) || pipeline_stage_after(after) < STAGE_CORE))
    return command_usage_error(c, "flc eval: %s is no pass after which a program can run",
                               after);
  if (optind != argc - 1)
    return command_usage_error(c, "flc eval: expected one file name");
  return eval(c, argv[optind], given);
}

const Command eval_command = {
  .name = "eval",
  .summary = "runs an entry point in the interpreter",
  .usage = "FILE [OPTIONS] < VALUES",
  .about =
      "Runs an entry point in the interpreter.  Reads its arguments in order, text or "
      "binary, gzipped or not, and writes its result, a line for each component of a "
      "tuple.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_eval,
};
