// flc lib FILE: a C library: source, header and manifest.
#include "base/file.h"
#include "commands/version_options.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// clang-format off
static const Option option_rows[] = {
  { 'o', 'o', "output", "BASE",
    "path without an extension; default `FILE` without `.fl` or `.fut`", NULL },
  { 'p', 0, "prefix", "PREFIX",
    "prefix of exported names; default `fl`; `futhark` suits existing bindings", NULL },
  { 'd', 0, "device", "NAME",
    "compile the kernels for this OpenCL device: a part of its name, or `#k`", NULL },
  FLATTEN_OPTIONS,
  RECIPE_OPTION,
  { OPTION_MPI, 0, "mpi", NULL,
    "for the processes of an MPI job ([machines.md](machines.md#libraries)); compiled with "
    "`mpicc`", NULL },
  { OPTION_WORKERS, 0, "workers", NULL,
    "for several devices, or parts of one, each with a thread of the process "
    "([machines.md](machines.md#several-devices-of-a-process))", NULL },
  MIXED_OPTION,
  OPTIONS_END
};
// clang-format on

// Can C include a file of this name?
static bool is_header_name(const char *base) {
  const char *name = command_file_name(base);
  for (const char *s = name; *s; s++)
    if ((unsigned char)*s < ' ' || *s == '"' || *s == '\\') return false;
  return !strstr(name, "??");  // perhaps a trigraph
}

// The base stands for three files: it is none itself that something else is already.
static const char *refused_base(const char *base) {
  struct stat status;
  size_t length = strlen(base);
  if (strcmp(base, "-") == 0 || strncmp(base, "/dev/", 5) == 0)
    return "three files go to no stream or device";
  bool folder = length && base[length - 1] == '/';
  bool found = stat(base, &status) == 0;
  if (folder || !*base || (found && S_ISDIR(status.st_mode)))
    return "expected a path without an extension, found a folder";
  return found && !S_ISREG(status.st_mode) ? "three files go to no stream or device"
                                           : NULL;
}

static int make_library(Compiler *c, const char *path, CompileOptions options) {
  EmitResult result;
  options.library = true;
  if (!options.base) options.base = compile_base(path);
  const char *refused = refused_base(options.base);
  if (refused)
    return command_usage_error(c, "flc lib: cannot write %s: %s", options.base, refused);
  if (!is_header_name(options.base))
    return command_usage_error(
        c, "flc lib: no C file can include %s.h; name another with -o", options.base);
  Program *program = program_read(c, path);
  if (!program || !compile_program_to_c(c, program, options, &result)) {
    diag_flush(c);
    return 1;
  }
  command_warn_without_entries(c, program->core);
  const FileOutput files[] = {
    { text_format("%s.c", options.base), result.c },
    { text_format("%s.h", options.base), result.header },
    { text_format("%s.json", options.base), result.manifest },
  };
  const char *failed = file_write_all(files, 3);
  if (failed) error(c, (Loc){ 0 }, "cannot write %s: %s", failed, strerror(errno));
  return diag_ok(c) ? 0 : 1;
}

static int command_lib(Compiler *c, int argc, char **argv) {
  CompileOptions given = { .flatten = default_flatten_options() };
  OptionReader r = options_begin(c, &lib_command, argc, argv);
  for (int o; (o = options_next(&r));) {
    if (o == 'o') given.base = optarg;
    if (o == 'p') given.prefix = optarg;
    if (o == 'd') given.device = optarg;
    if (o == OPTION_RECIPE) given.recipe = optarg;
    const char *message = set_flatten_option(&given.flatten, o);
    if (message) return command_usage_error(c, "flc lib: %s", message);
  }
  if (r.over) return r.status;
  if (given.prefix && !compile_is_prefix(given.prefix))
    return command_usage_error(c, "flc lib: the prefix %s is no C identifier",
                               given.prefix);
  if (optind != argc - 1)
    return command_usage_error(c, "flc lib: expected one file name");
  return make_library(c, argv[optind], given);
}

const Command lib_command = {
  .name = "lib",
  .summary = "compiles a program to a C library",
  .usage = "FILE [OPTIONS]",
  .about = "Compiles a program to `BASE.c`, `BASE.h` and `BASE.json`, the manifest: a "
           "description of its entry points and types.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_lib,
};
