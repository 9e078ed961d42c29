// flc check FILE...: reads and type-checks, and says nothing if all is well.
#include "commands/commands.h"
#include <stdio.h>
#include <string.h>

static const char help[] = "usage: flc check FILE...\n"
                           "\n"
                           "Parses and type-checks each program and elaborates its entry "
                           "points, reporting errors and\n"
                           "warnings.  Exit status 0 if there were no errors.\n";

int command_check(Compiler *c, int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "--help") == 0) return fputs(help, stdout) == EOF;
  if (argc < 2) return command_usage_error(c, "flc check: expected a file name");
  bool ok = true;
  for (int i = 1; i < argc; i++) {
    if (argv[i][0] == '-' && argv[i][1])
      return command_usage_error(c, "flc check: unknown option %s", argv[i]);
    Program *program = program_read(c, argv[i]);
    if (program) pipeline_run(c, program, "elaborate");
    ok = diag_ok(c) && ok;
  }
  return ok ? 0 : 1;
}
