// flc dump FILE --after PASS: the program as it stands after a pass.
#include "commands/commands.h"
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: flc dump FILE [--after PASS] [--list-passes] [--times]\n"
    "\n"
    "Prints the program as it stands after PASS (default: the last one).\n"
    "  --list-passes   the passes in order, with their reasons\n"
    "  --times         milliseconds per pass, on standard error\n";

static int list_passes(void) {
  for (int i = 0; pipeline_pass_name(i); i++)
    printf("%-16s %s\n", pipeline_pass_name(i), pipeline_pass_reason(i));
  return 0;
}

static void print_times(const Program *program) {
  for (int i = 0; pipeline_pass_name(i); i++)
    fprintf(stderr, "%-16s %8.2f ms\n", pipeline_pass_name(i), program->pass_ms[i]);
}

static int dump(Compiler *c, const char *path, const char *after, bool times) {
  Program *program = program_read(c, path);
  bool ok = program && pipeline_run(c, program, after);
  if (!diag_ok(c) || !ok) return 1;
  Text *t = text_new();
  pipeline_print(c, t, program);
  if (times) print_times(program);
  return fputs(text_str(t), stdout) == EOF;
}

int command_dump(Compiler *c, int argc, char **argv) {
  static const struct option options[] = {
    { "after", required_argument, NULL, 'a' }, { "list-passes", no_argument, NULL, 'l' },
    { "times", no_argument, NULL, 't' },       { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
  };
  const char *after = NULL;
  bool times = false;
  opterr = 0;
  for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (o == 'h') return fputs(help, stdout) == EOF;
    if (o == 'l') return list_passes();
    if (o == '?') return command_usage_error(c, "flc dump: unknown option %s", argv[optind - 1]);
    if (o == 'a') after = optarg;
    if (o == 't') times = true;
  }
  if (after && !pipeline_knows(after))
    return command_usage_error(c, "flc dump: unknown pass %s (see flc dump --list-passes)", after);
  if (optind != argc - 1) return command_usage_error(c, "flc dump: expected one file name");
  return dump(c, argv[optind], after, times);
}
