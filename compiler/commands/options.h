// What a command is called with.  One table per command says it for all who want to know: the
// reader of options, `--help`, and by `flc help --json` docs/cli.md, the man pages and the
// completions of shells.
//
// Texts may hold `code` and [links](target), as in docs/cli.md; elsewhere only the words remain.
#pragma once
#include "base/diag.h"
#include <getopt.h>

typedef struct Option {
  int id;              // what options_next says; 0: the command finds it by itself
  char letter;         // -e, then also the id; 0: none
  const char *name;    // --entry
  const char *arg;     // what it stands for: "ENTRY"; NULL: it takes none
  const char *help;    // NULL: of no interest to users
  const char *values;  // the words that the argument may be, with blanks between; or NULL
} Option;

// What is completed after the options.
typedef enum CommandOperands {
  OPERANDS_NONE,
  OPERANDS_PROGRAMS,
  OPERANDS_FILES
} CommandOperands;

typedef struct Command {
  const char *name, *summary;
  const char *usage;      // behind `flc NAME `; several lines stand for several ways
  const char *about;      // paragraphs with an empty line between
  const Option *options;  // up to one without a name; NULL: none but --help
  CommandOperands operands;
  const char *actions;    // the words that the first operand may be, with blanks between; or NULL
  int (*run)(Compiler *c, int argc, char **argv);
} Command;

// Options of several commands.
enum {
  OPTION_HELP = 256,
  OPTION_FLATTEN,
  OPTION_MAX_VERSIONS,
  OPTION_RECIPE,
  OPTION_OTHER_RECIPES,
  OPTION_MPI,
  OPTION_WORKERS,
  OPTION_MIXED,
  OPTION_REPRODUCIBLE
};

#define OPTIONS_END \
  { 0, 0, NULL, NULL, NULL, NULL }

// Reads the options of a command: `for (int o; (o = options_next(&r));)`, where `optarg` is the
// argument.  Then `r.over` says whether the command has nothing more to do than to return
// `r.status`: --help was there, or something that is no option and was reported.
typedef struct OptionReader {
  Compiler *c;
  const Command *command;
  int argc;
  char **argv;
  const struct option *names;  // for getopt_long
  const char *letters;
  bool over;
  int status;
} OptionReader;

OptionReader options_begin(Compiler *c, const Command *command, int argc, char **argv);
int options_next(OptionReader *r);

// `flc COMMAND --help`; an exit status.
int options_print_help(const Command *command);
