// The table of sub-commands, nothing else.
#include "base/mem.h"
#include "commands/commands.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const struct {
  const char *name;
  int (*run)(Compiler *c, int argc, char **argv);
  const char *help;
} commands[] = {
  { "check", command_check, "type-check programs" },
  { "build", command_build, "compile a program to an executable" },
  { "run", command_run, "compile and run a program" },
  { "lib", command_lib, "compile a program to a C library" },
  { "eval", command_eval, "run an entry point in the interpreter" },
  { "test", command_test, "run the test blocks of programs" },
  { "bench", command_bench, "measure programs on the data of their test blocks" },
  { "data", command_data, "generate, convert and compare values" },
  { "tune", command_tune, "choose between code versions by measuring" },
  { "tree", command_tree, "draw the code versions of a program" },
  { "dump", command_dump, "print a program after a pass" },
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

static int print_help(FILE *out) {
  fputs("usage: flc COMMAND ...\n\n", out);
  for (int i = 0; i < COMMAND_COUNT; i++)
    fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
  fputs("\n`flc help COMMAND` says more.  Version: flc --version\n", out);
  return out == stdout ? 0 : 1;
}

static int unknown_command(Compiler *c, const char *name) {
  error(c, (Loc){ 0 }, "unknown command %s", name);
  Name names[COMMAND_COUNT];
  for (int i = 0; i < COMMAND_COUNT; i++)
    names[i] = commands[i].name;
  Name closest = diag_closest(name, names, COMMAND_COUNT);
  if (closest) hint(c, "did you mean `flc %s`?", closest);
  diag_flush(c);
  return 1;
}

// Syntax trees are walked recursively: a deep stack turns "too deep" into the parser's clear
// message.
static void raise_stack_limit(void) {
  struct rlimit limit;
  const rlim_t wanted = 120u << 20;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
  setrlimit(RLIMIT_STACK, &limit);
}

static bool is_one_of(const char *word, const char *a, const char *b) {
  return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

static int run_command(Compiler *c, int argc, char **argv) {
  for (int i = 0; i < COMMAND_COUNT; i++)
    if (strcmp(argv[0], commands[i].name) == 0) return commands[i].run(c, argc, argv);
  return unknown_command(c, argv[0]);
}

// flc help COMMAND: what `flc COMMAND --help` says.
static int help_on(Compiler *c, int argc, char **argv) {
  if (argc == 1) return print_help(stdout);
  if (argc > 2)
    return command_usage_error(c, "flc help: expected at most one name of a command");
  char option[] = "--help", *words[] = { argv[1], option, NULL };
  return run_command(c, 2, words);
}

int main(int argc, char **argv) {
  raise_stack_limit();
  signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error like a full disk
  mem_init();
  if (argc < 2) return print_help(stderr);
  if (is_one_of(argv[1], "--help", "-h")) return print_help(stdout);
  if (is_one_of(argv[1], "--version", "-V")) return printf("flc %s\n", FLC_VERSION) < 0;
  Compiler *c = compiler_new();
  c->check_ir = getenv("FLC_CHECK_IR") != NULL;
  if (strcmp(argv[1], "help") == 0) return help_on(c, argc - 1, argv + 1);
  return run_command(c, argc - 1, argv + 1);
}
