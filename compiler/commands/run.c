// flc run FILE: builds the program, once per source and compiler, and runs it.
#include "commands/commands.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] = "usage: flc run FILE [OPTIONS OF THE PROGRAM] < VALUES\n"
                           "\n"
                           "Compiles a program, keeps the executable in a cache "
                           "($XDG_CACHE_HOME/flc or ~/.cache/flc) and\n"
                           "runs it with the options after FILE: -e ENTRY, -b, -r RUNS, "
                           "... (see --help of an executable).\n";

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

static int run(Compiler *c, const char *path, int argc, char **argv) {
  Program *source = program_read(c, path);
  const char *program = source ? compile_program(c, source, (CompileOptions){ 0 }) : NULL;
  diag_flush(c);
  if (!program) return 1;
  execv(program, arguments(path, argc, argv));
  return command_usage_error(c, "cannot run %s: %s", program, strerror(errno));
}

int command_run(Compiler *c, int argc, char **argv) {
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
    return fputs(help, stdout) == EOF;
  if (argc < 2 || argv[1][0] == '-')
    return command_usage_error(c, "flc run: expected a file name first");
  return run(c, argv[1], argc - 2, argv + 2);
}
