// One command per file of its name; what runs it returns flc's exit status: 0, 1 after a user's
// mistake, 2 where a comparison finds a difference.
#pragma once
#include "commands/options.h"
#include "core/interp/interp.h"
#include "emit/emit.h"
#include "pipeline.h"

extern const Command check_command;
extern const Command build_command;
extern const Command run_command;
extern const Command lib_command;
extern const Command eval_command;
extern const Command test_command;
extern const Command bench_command;
extern const Command profile_command;
extern const Command data_command;
extern const Command tune_command;
extern const Command tree_command;
extern const Command dump_command;
extern const Command doc_command;
extern const Command repl_command;
extern const Command literate_command;
extern const Command pkg_command;
extern const Command fmt_command;
extern const Command lsp_command;

// ---- shared by the commands (common.c)

// The entry point called `name`, or "main", or the only one; NULL after an error that lists them.
const Entry *command_entry(Compiler *c, const Core *core, const char *name);

// Warns if there is none.
void command_warn_without_entries(Compiler *c, const Core *core);

// The entry point of this name, or NULL.
const Entry *command_find_entry(const Core *core, const char *name);

// The leaves of the entry's parameters read from `reader`; NULL after an error that names the
// parameter, its type and the place in the data.
const Value **command_read_inputs(Compiler *c, const Entry *entry, ValueReader *reader);

// "matmul.fl" for "dir/matmul.fl".
const char *command_file_name(const char *path);

// The text of a type with names for sizes that the program has none for: "?3" becomes "k3", or, if
// that stands there already, "k3'".
const char *command_name_sizes(const char *text);

typedef Vec(const char *) ProgramPaths;

// The programs directly in a folder.
void command_find_programs_in(const char *folder, ProgramPaths *out);
// The path, or if it is a folder the programs in it and in its folders, in order.
void command_find_programs(const char *path, ProgramPaths *out);
// Those of several paths.  False after an error: a folder has none.
bool command_find_all_programs(Compiler *c, char **paths, int count, ProgramPaths *out);

// On a terminal: shows what is going on, until the next call; "" takes it away.
void command_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
// A file in memory for programs that flc runs (they find it by $FLC_STATUS_FILE), and
// what they say there of themselves: "compiling kernel 3 of 7" or "".
int command_status_file(void);
const char *command_status(int file);

// Can all of these files (NULL: none) be written?  For commands that work long for them; false
// after an error.
bool command_outputs(Compiler *c, const char *const *paths, int count);
// Is none of these outputs (NULL: there is none) a program that is there, as where the name of
// the output was left out before that of the program?  Otherwise that is reported.
bool command_spares_programs(Compiler *c, const char *const *paths, int count);

// The exit status of a command that ended with this one: 1, after an error, if not all that it
// printed could be written.
int command_finish(Compiler *c, int status);

// Reports a mistake in how flc was called.
int command_usage_error(Compiler *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Reports what getopt_long has found: '?', or ':' for an option without its argument (the
// list of short options begins with ':').
int command_option_error(const OptionReader *r, int found);

// ---- generated programs (compile.c)

typedef struct CompileOptions {
  const char *prefix;  // of exported names
  const char *base;    // libraries: the path without ".c"
  bool library;
  bool untuned;            // leave the tuning file beside the source aside
  const char *tuning;      // its ending; NULL: `tuning`
  bool explain_copies;     // say on standard error which updates copy
  FlattenOptions flatten;  // max_versions 0: as the program has it
  const char *recipe;      // a file of recipes; NULL: as the program has it
  bool other_recipes;      // kernels have further recipes, as parameters
  const char *device;      // compile the kernels for it, too; NULL: for none
  bool little_use;         // it will run on little
} CompileOptions;

typedef enum CompileLevel { COMPILE_QUICK, COMPILE_OPTIMISED } CompileLevel;

// A program that was read as C text; false after errors (already reported).
bool compile_program_to_c(Compiler *c, Program *program, CompileOptions options,
                          EmitResult *out);
// Compiles C text with $CC (default: cc) to an executable; all of it or nothing.  False after
// errors.
bool compile_executable(Compiler *c, const EmitResult *made, const char *output);
// Compiles C text without optimising it, once per text; the executable in the cache, or NULL after
// errors.
const char *compile_cached(Compiler *c, const EmitResult *made);
// Likewise, a shared object for what compile_host makes.
const char *compile_shared(Compiler *c, const EmitResult *made);
// The program that runs shared objects (test/host.h), in the cache; NULL where there is no cache,
// or after errors.
const char *compile_host(Compiler *c);
// The executable of a program in the cache, compiled if need be; NULL after errors.
const char *compile_program(Compiler *c, Program *program, CompileOptions options);
// The kernels of an executable's C text, compiled for a device; NULL after errors.
const Ahead *compile_ahead(Compiler *c, const EmitResult *made, const char *device);
// "dir/matmul" for "dir/matmul.fl" and "dir/matmul.fut".
const char *compile_base(const char *path);
// Is it a C identifier?
bool compile_is_prefix(const char *prefix);
