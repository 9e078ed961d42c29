// The table of sub-commands, nothing else.
#include "base/mem.h"
#include "commands/help.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const Command *const commands[] = {
  &check_command,    &build_command, &run_command,   &lib_command,     &eval_command,
  &repl_command,     &test_command,  &bench_command, &profile_command, &data_command,
  &tune_command,     &tree_command,  &dump_command,  &fmt_command,     &doc_command,
  &literate_command, &pkg_command,   &lsp_command,
};
enum { COMMAND_COUNT = sizeof commands / sizeof *commands };

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

int main(int argc, char **argv) {
  raise_stack_limit();
  signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error like a full disk
  mem_init();
  if (argc < 2) return help_print(stderr, commands, COMMAND_COUNT);
  Compiler *c = compiler_new();
  if (is_one_of(argv[1], "--help", "-h"))
    return command_finish(c, help_print(stdout, commands, COMMAND_COUNT));
  if (is_one_of(argv[1], "--version", "-V"))
    return command_finish(c, printf("flc %s\n", FLC_VERSION) < 0);
  c->check_ir = getenv("FLC_CHECK_IR") != NULL;
  if (strcmp(argv[1], "help") == 0)
    return command_finish(c, help_on(c, argc - 1, argv + 1, commands, COMMAND_COUNT));
  const Command *command = help_find(c, argv[1], commands, COMMAND_COUNT);
  return command ? command_finish(c, command->run(c, argc - 1, argv + 1)) : 1;
}
