// flc run FILE: builds the program, once per source and compiler, and runs it.
#include "commands/commands.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] = "usage: flc run FILE [OPTIONS OF THE PROGRAM] < VALUES\n"
                           "\n"
                           "Compiles a program, keeps the executable in a cache "
                           "($XDG_CACHE_HOME/flc or ~/.cache/flc) and\n"
                           "runs it with the options after FILE: -e ENTRY, -b, -r RUNS, "
                           "... (see --help of an executable).\n";

// The hash covers flc itself by the time of its file, so that a new flc builds anew.
static const char *cached_path(const char *path, const char *source, size_t length) {
  struct stat self = { 0 };
  if (stat("/proc/self/exe", &self) != 0) self.st_mtime = 0;
  const char *about =
      text_format("%s %lld.%ld %lld", FLC_VERSION, (long long)self.st_mtime,
                  (long)self.st_mtim.tv_nsec, (long long)self.st_size);
  uint64_t hash = compile_hash(COMPILE_HASH_SEED, about, strlen(about));
  hash = compile_hash(hash, path, strlen(path));
  hash = compile_hash(hash, source, length);
  return text_format("%s/%016llx", compile_cache_folder(), (unsigned long long)hash);
}

// The tuning that lies beside the source belongs to the program.
static char **arguments(const char *path, int argc, char **argv) {
  char **args = new_array(char *, argc + 4);
  const char *tuning = text_format("%s.tuning", path);
  int count = 0;
  args[count++] = mem_copy(path, strlen(path) + 1);
  if (access(tuning, R_OK) == 0) {
    args[count++] = mem_copy("--tuning", sizeof "--tuning");
    args[count++] = mem_copy(tuning, strlen(tuning) + 1);
  }
  for (int i = 0; i < argc; i++)
    args[count++] = argv[i];
  return args;
}

const char *command_executable(Compiler *c, const char *path) {
  size_t length;
  const char *source = text_read_file(path, &length);
  if (!source) {
    error(c, (Loc){ 0 }, "cannot read %s: %s", path, strerror(errno));
    return NULL;
  }
  const char *program = cached_path(path, source, length);
  if (access(program, X_OK) == 0) return program;
  EmitResult result;
  bool made = compile_to_c(c, path, (CompileOptions){ 0 }, &result) &&
              compile_executable(c, result.c, program);
  return made ? program : NULL;
}

static int run(Compiler *c, const char *path, int argc, char **argv) {
  const char *program = command_executable(c, path);
  if (program) {
    execv(program, arguments(path, argc, argv));
    error(c, (Loc){ 0 }, "cannot run %s: %s", program, strerror(errno));
  }
  diag_flush(c);
  return 1;
}

int command_run(Compiler *c, int argc, char **argv) {
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
    return fputs(help, stdout) == EOF;
  if (argc < 2 || argv[1][0] == '-')
    return command_usage_error(c, "flc run: expected a file name first");
  return run(c, argv[1], argc - 2, argv + 2);
}
