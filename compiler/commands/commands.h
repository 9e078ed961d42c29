// One function per sub-command, each in a file of its name; the result is flc's exit status: 0, 1
// after a user's mistake, 2 where a comparison finds a difference.
#pragma once
#include "core/interp.h"
#include "pipeline.h"

int command_check(Compiler *c, int argc, char **argv);
int command_eval(Compiler *c, int argc, char **argv);
int command_dump(Compiler *c, int argc, char **argv);
int command_test(Compiler *c, int argc, char **argv);
int command_data(Compiler *c, int argc, char **argv);

// ---- shared by the commands (common.c)

// The entry point called `name`, or "main", or the only one; NULL after an error that lists them.
const Entry *command_entry(Compiler *c, const Core *core, const char *name);

// The leaves of the entry's parameters read from `reader`; NULL after an error that names the
// parameter, its type and the place in the data.
const Value **command_read_inputs(Compiler *c, const Entry *entry, ValueReader *reader);

// Reports what an option parser found: "unknown option --foo", with the closest known one.
int command_usage_error(Compiler *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
