// flc check FILE...: reads and type-checks, and says nothing if all is well.
#include "commands/commands.h"
#include <getopt.h>
#include <stdio.h>

static const char help[] = "usage: flc check FILE...\n"
                           "\n"
                           "Parses and type-checks each program and elaborates its entry "
                           "points, reporting errors and\n"
                           "warnings.  Exit status 0 if there were no errors.\n";

int command_check(Compiler *c, int argc, char **argv) {
  static const struct option options[] = { { "help", no_argument, NULL, 'h' },
                                           { NULL, 0, NULL, 0 } };
  opterr = 0;
  for (int o; (o = getopt_long(argc, argv, ":h", options, NULL)) != -1;) {
    if (o == 'h') return fputs(help, stdout) == EOF;
    return command_option_error(c, o, argv);
  }
  if (optind == argc) return command_usage_error(c, "flc check: expected a file name");
  bool ok = true;
  for (int i = optind; i < argc; i++) {
    Program *program = program_read(c, argv[i]);
    if (program) pipeline_run(c, program, "elaborate");
    ok = diag_ok(c) && ok;
  }
  return ok ? 0 : 1;
}
