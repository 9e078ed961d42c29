// How `flc test` and `flc bench` compile programs and start them: options that both have.
#pragma once
#include "commands/test/spec.h"
#include "commands/version_options.h"

enum {
  OPTION_RUNNER = 440,
  OPTION_CACHE_EXTENSION,
  OPTION_TUNING,
  OPTION_NO_TUNING,
  OPTION_PASS,
  OPTION_PASS_COMPILER
};

typedef struct ProgramStart {
  const char *runner;  // is given the executable and its arguments; NULL: none
  const char *tuning;  // the ending of tuning files; NULL: none are used
  bool asks_tuning;    // the user named it
  const char *cache;   // the ending of files for compiled kernels; NULL: the usual place
  TextVec options;     // of the programs
  int processes;       // of an MPI job; 0: none
  FlattenOptions flatten;
  const char *recipe;
} ProgramStart;

// What commands begin with.
ProgramStart program_start_default(void);

// clang-format off
#define PROGRAM_START_OPTIONS \
  { OPTION_TUNING, 0, "tuning", "ENDING", \
    "the ending of tuning files; default `tuning`, as in `FILE.tuning`", NULL }, \
  { OPTION_NO_TUNING, 0, "no-tuning", NULL, "use no tuning files", NULL }, \
  { OPTION_PASS, 0, "pass-option", "OPTION", \
    "an option of the programs; may be repeated", NULL }, \
  { OPTION_PASS_COMPILER, 0, "pass-compiler-option", "OPTION", \
    "one of the options `--flatten=MODE`, `--max-versions=N`, `--recipe=FILE`", NULL }, \
  { OPTION_RUNNER, 0, "runner", "PROGRAM", \
    "run this, with the executable and its options as arguments, instead of executables", \
    NULL }, \
  { OPTION_CACHE_EXTENSION, 0, "cache-extension", "ENDING", \
    "keep compiled kernels beside the program, in `FILE.ENDING`", NULL }, \
  FLATTEN_OPTIONS, \
  RECIPE_OPTION
// clang-format on

// How they are compiled: with the same tuning files.
CompileOptions program_start_compile(const ProgramStart *s);

// Is it one of them?  Then *message is NULL, or what is wrong with the argument.
bool program_start_option(ProgramStart *s, int option, const char **message);

// Warns of an ending for tuning files that none of the programs has.
void program_start_warn(Compiler *c, const ProgramStart *s, const ProgramPaths *paths);

// The words of a command line up to the executable's own options, then these.
TextVec program_start_words(const ProgramStart *s, const char *path,
                            const char *executable);
