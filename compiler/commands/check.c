// flc check FILE...: reads and type-checks, and says nothing if all is well.
#include "commands/commands.h"
#include <stdio.h>

static int command_check(Compiler *c, int argc, char **argv) {
  OptionReader r = options_begin(c, &check_command, argc, argv);
  if (options_next(&r) || r.over) return r.status;
  if (optind == argc) return command_usage_error(c, "flc check: expected a file name");
  bool ok = true;
  for (int i = optind; i < argc; i++) {
    Program *program = program_read(c, argv[i]);
    if (program) pipeline_run(c, program, "elaborate");
    ok = diag_ok(c) && ok;
  }
  return ok ? 0 : 1;
}

const Command check_command = {
  .name = "check",
  .summary = "type-checks programs",
  .usage = "FILE...",
  .about =
      "Parses and type-checks each program and elaborates its entry points, reporting "
      "errors and warnings.",
  .operands = OPERANDS_PROGRAMS,
  .run = command_check,
};
