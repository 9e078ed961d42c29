// What flc says of its commands, which are `count` in a table.
#pragma once
#include "commands/commands.h"
#include <stdio.h>

// The list of commands; the exit status: 1 on standard error.
int help_print(FILE *out, const Command *const *commands, int count);

// The command of this name; NULL after an error.
const Command *help_find(Compiler *c, const char *name, const Command *const *commands,
                         int count);

// flc help [COMMAND | --json]; an exit status.
int help_on(Compiler *c, int argc, char **argv, const Command *const *commands,
            int count);
