// flc build FILE: an executable.
#include "base/file.h"
#include "commands/version_options.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

// clang-format off
static const Option option_rows[] = {
  { 'o', 'o', "output", "OUT", "the executable; default `FILE` without `.fl` or `.fut`", NULL },
  { 'p', 0, "prefix", "PREFIX", "prefix of exported names; default `fl`", NULL },
  { 'c', 0, "emit-c", NULL,
    "write the C text instead of compiling it; default `FILE` with `.c`", NULL },
  { 'x', 0, "explain-copies", NULL,
    "say which updates copy an array instead of overwriting it, and what several "
    "workers exchange, and why", NULL },
  { 's', 0, "server", NULL,
    "an executable that serves commands without being asked to (by its own `--server`)", NULL },
  { 'd', 0, "device", "NAME",
    "compile the kernels for this OpenCL device: a part of its name, or `#k`", NULL },
  FLATTEN_OPTIONS,
  RECIPE_OPTION,
  OTHER_RECIPES_OPTION,
  WORKERS_OPTIONS,
  OPTIONS_END
};
// clang-format on

typedef struct BuildOptions {
  const char *output, *prefix, *recipe, *device;
  bool emit_c, explain_copies, server, other_recipes;
  FlattenOptions flatten;
} BuildOptions;

// The C text of an executable; one that always serves says so before everything else.
static EmitResult with_options(EmitResult made, BuildOptions options) {
  if (!options.server) return made;
  Text *t = text_new();
  text_add(t, "#define RT_ALWAYS_SERVER 1\n");
  text_add(t, text_str(made.c));
  made.c = t;
  made.apart = NULL;
  return made;
}

static int build(Compiler *c, const char *path, BuildOptions options) {
  EmitResult result;
  const char *base = compile_base(path);
  const char *output = options.output   ? options.output
                       : options.emit_c ? text_format("%s.c", base)
                                        : base;
  if (strcmp(output, path) == 0)
    return command_usage_error(
        c, "flc build: the output would replace %s; name another with -o", path);
  if (!command_spares_programs(c, &output, 1)) return 1;
  Program *program = program_read(c, path);
  CompileOptions compile = { .prefix = options.prefix,
                             .explain_copies = options.explain_copies,
                             .flatten = options.flatten,
                             .recipe = options.recipe,
                             .other_recipes = options.other_recipes,
                             .device = options.device };
  if (!program || !compile_program_to_c(c, program, compile, &result)) {
    diag_flush(c);
    return 1;
  }
  command_warn_without_entries(c, program->core);
  EmitResult made = with_options(result, options);
  if (!options.emit_c)
    compile_executable(c, &made, output);
  else if (!file_write(output, made.c))
    error(c, (Loc){ 0 }, "cannot write %s: %s", output, strerror(errno));
  return diag_ok(c) ? 0 : 1;
}

static int command_build(Compiler *c, int argc, char **argv) {
  BuildOptions given = { .flatten = default_flatten_options() };
  OptionReader r = options_begin(c, &build_command, argc, argv);
  for (int o; (o = options_next(&r));) {
    if (o == 'o') given.output = optarg;
    if (o == 'p') given.prefix = optarg;
    if (o == 'c') given.emit_c = true;
    if (o == 'x') given.explain_copies = true;
    if (o == 's') given.server = true;
    if (o == 'd') given.device = optarg;
    if (o == OPTION_RECIPE) given.recipe = optarg;
    if (o == OPTION_OTHER_RECIPES) given.other_recipes = true;
    const char *message = set_flatten_option(&given.flatten, o);
    if (message) return command_usage_error(c, "flc build: %s", message);
  }
  if (r.over) return r.status;
  if (given.prefix && !compile_is_prefix(given.prefix))
    return command_usage_error(c, "flc build: the prefix %s is no C identifier",
                               given.prefix);
  if (optind != argc - 1)
    return command_usage_error(c, "flc build: expected one file name");
  return build(c, argv[optind], given);
}

const Command build_command = {
  .name = "build",
  .summary = "compiles a program to an executable",
  .usage = "FILE [OPTIONS]",
  .about =
      "Compiles a program to an executable, which reads the arguments of an entry point "
      "from standard input and writes its result; with `--help` it lists its options.  "
      "The C compiler is `$CC`, default `cc`; it needs OpenCL's headers and loader.\n\n"
      "The values of a tuning file beside the source (`FILE.tuning`, made by `flc "
      "tune`) become the defaults of what is built.\n\n"
      "With `--device NAME` the executable holds kernels that are compiled for that "
      "device already ([opencl.md](opencl.md#compiling-ahead)): it starts at once there, "
      "if driver and platform are still the same, and compiles on its own elsewhere.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_build,
};
