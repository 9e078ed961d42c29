// Options that scripts for Futhark's commands pass, where they ask for nothing that flc would do
// otherwise: rows of several commands that no help mentions; and the choice of a backend.
#pragma once
#include "commands/options.h"

enum { OPTION_BACKEND = 400, OPTION_OF_FUTHARK };

#define FUTHARK_OPTIONS                                                              \
  { OPTION_BACKEND,                                                                  \
    0,                                                                               \
    "backend",                                                                       \
    "NAME",                                                                          \
    "how programs find devices: `opencl` or `cuda`; default the first that has one", \
    "opencl cuda" },                                                                 \
      { OPTION_OF_FUTHARK, 0, "futhark", "PROGRAM", NULL, NULL },                    \
      { OPTION_OF_FUTHARK, 0, "no-terminal", NULL, NULL, NULL },                     \
      { OPTION_OF_FUTHARK, 0, "no-validate", NULL, NULL, NULL },                     \
      { OPTION_OF_FUTHARK, 0, "progress", NULL, NULL, NULL },                        \
      { OPTION_OF_FUTHARK, 'v', "verbose", NULL, NULL, NULL }, {                     \
    OPTION_OF_FUTHARK, 0, "concurrency", "NUM", NULL, NULL                           \
  }

// Is it one of them?  A backend of programs goes to `backend`; of one that is not flc's it says so.
bool futhark_option(Compiler *c, const Command *command, int option,
                    const char **backend);

// What Futhark calls a command of flc, or `name` itself.
const char *futhark_command(const char *name);

// What to use, as in "`%s`", for a command or an option "--NAME" of Futhark's that flc does not
// have; or NULL.
const char *futhark_instead(const char *name);
