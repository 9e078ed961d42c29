// flc lib FILE: a C library: source, header and manifest.
#include "base/file.h"
#include "commands/version_options.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: flc lib FILE [-o BASE] [--prefix PREFIX] [--flatten MODE]\n"
    "           [--max-versions N]\n"
    "\n"
    "Compiles a program to BASE.c, BASE.h and BASE.json (the manifest).\n"
    "  -o, --output BASE   path without an extension (default: FILE without .fl or "
    ".fut)\n"
    "  --prefix PREFIX     of exported names (default: fl; `futhark` suits existing "
    "bindings)\n" FLATTEN_HELP;

// Can C include a file of this name?
static bool is_header_name(const char *base) {
  const char *name = command_file_name(base);
  for (const char *s = name; *s; s++)
    if ((unsigned char)*s < ' ' || *s == '"' || *s == '\\') return false;
  return !strstr(name, "??");  // perhaps a trigraph
}

static int make_library(Compiler *c, const char *path, CompileOptions options) {
  EmitResult result;
  options.library = true;
  if (!options.base) options.base = compile_base(path);
  if (!is_header_name(options.base))
    return command_usage_error(
        c, "flc lib: no C file can include %s.h; name another with -o", options.base);
  if (!compile_to_c(c, path, options, &result)) {
    diag_flush(c);
    return 1;
  }
  const FileOutput files[] = {
    { text_format("%s.c", options.base), result.c },
    { text_format("%s.h", options.base), result.header },
    { text_format("%s.json", options.base), result.manifest },
  };
  const char *failed = file_write_all(files, 3);
  if (failed) error(c, (Loc){ 0 }, "cannot write %s: %s", failed, strerror(errno));
  return diag_ok(c) ? 0 : 1;
}

int command_lib(Compiler *c, int argc, char **argv) {
  static const struct option options[] = {
    { "output", required_argument, NULL, 'o' },
    { "prefix", required_argument, NULL, 'p' },
    { "help", no_argument, NULL, 'h' },
    { "flatten", required_argument, NULL, 'f' },
    { "max-versions", required_argument, NULL, 'm' },
    { NULL, 0, NULL, 0 },
  };
  CompileOptions given = { .flatten = default_flatten_options() };
  opterr = 0;
  for (int o; (o = getopt_long(argc, argv, ":o:", options, NULL)) != -1;) {
    if (o == 'h') return fputs(help, stdout) == EOF;
    if (o == '?' || o == ':') return command_option_error(c, o, argv);
    if (o == 'o') given.base = optarg;
    if (o == 'p') given.prefix = optarg;
    const char *message = set_flatten_option(&given.flatten, o);
    if (message) return command_usage_error(c, "flc lib: %s", message);
  }
  if (given.prefix && !compile_is_prefix(given.prefix))
    return command_usage_error(c, "flc lib: the prefix %s is no C identifier",
                               given.prefix);
  if (optind != argc - 1)
    return command_usage_error(c, "flc lib: expected one file name");
  return make_library(c, argv[optind], given);
}
