// flc build FILE: an executable.
#include "base/file.h"
#include "commands/version_options.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: flc build FILE [-o OUT] [--prefix PREFIX] [--emit-c] [--server]\n"
    "           [--explain-copies] [--flatten MODE] [--max-versions N]\n"
    "\n"
    "Compiles a program to an executable, which reads the arguments of an entry point "
    "from standard\n"
    "input and writes its result (OUT --help says more).\n"
    "  -o, --output OUT   the executable (default: FILE without .fl or .fut)\n"
    "  --prefix PREFIX    of exported names (default: fl)\n"
    "  --emit-c           write C text instead of compiling it (default: FILE with .c)\n"
    "  --server           an executable that serves commands without being asked to (OUT "
    "--server)\n"
    "  --explain-copies   say which updates copy an array instead of overwriting it, and "
    "why\n" FLATTEN_HELP "The C compiler is $CC (default: cc).\n";

typedef struct BuildOptions {
  const char *output, *prefix;
  bool emit_c, explain_copies, server;
  FlattenOptions flatten;
} BuildOptions;

// The C text of an executable; one that always serves says so before everything else.
static const Text *whole_text(const Text *c_text, BuildOptions options) {
  if (!options.server) return c_text;
  Text *t = text_new();
  text_add(t, "#define RT_ALWAYS_SERVER 1\n");
  text_add(t, text_str(c_text));
  return t;
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
  if (!compile_to_c(c, path,
                    (CompileOptions){ .prefix = options.prefix,
                                      .explain_copies = options.explain_copies,
                                      .flatten = options.flatten },
                    &result)) {
    diag_flush(c);
    return 1;
  }
  const Text *text = whole_text(result.c, options);
  if (!options.emit_c)
    compile_executable(c, text, output);
  else if (!file_write(output, text))
    error(c, (Loc){ 0 }, "cannot write %s: %s", output, strerror(errno));
  return diag_ok(c) ? 0 : 1;
}

int command_build(Compiler *c, int argc, char **argv) {
  static const struct option options[] = {
    { "output", required_argument, NULL, 'o' },
    { "prefix", required_argument, NULL, 'p' },
    { "emit-c", no_argument, NULL, 'c' },
    { "help", no_argument, NULL, 'h' },
    { "server", no_argument, NULL, 's' },
    { "explain-copies", no_argument, NULL, 'x' },
    { "flatten", required_argument, NULL, 'f' },
    { "max-versions", required_argument, NULL, 'm' },
    { NULL, 0, NULL, 0 },
  };
  BuildOptions given = { .flatten = default_flatten_options() };
  opterr = 0;
  for (int o; (o = getopt_long(argc, argv, ":o:", options, NULL)) != -1;) {
    if (o == 'h') return fputs(help, stdout) == EOF;
    if (o == '?' || o == ':') return command_option_error(c, o, argv);
    if (o == 'o') given.output = optarg;
    if (o == 'p') given.prefix = optarg;
    if (o == 'c') given.emit_c = true;
    if (o == 'x') given.explain_copies = true;
    if (o == 's') given.server = true;
    const char *message = set_flatten_option(&given.flatten, o);
    if (message) return command_usage_error(c, "flc build: %s", message);
  }
  if (given.prefix && !compile_is_prefix(given.prefix))
    return command_usage_error(c, "flc build: the prefix %s is no C identifier",
                               given.prefix);
  if (optind != argc - 1)
    return command_usage_error(c, "flc build: expected one file name");
  return build(c, argv[optind], given);
}
