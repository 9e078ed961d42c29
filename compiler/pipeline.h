// The way of a program through the compiler: the list of passes, in order, and the runner that
// checks and dumps between them.  Commands reach every pass through this header only.
#pragma once
#include "core/core.h"
#include "flat/flat.h"
#include "imp/imp.h"
#include "types/types.h"

// What a pass makes of the program.
typedef enum PipelineStage {
  STAGE_AST,      // ast
  STAGE_CHECKED,  // checked
  STAGE_CORE,     // core
  STAGE_FLAT,     // core, of which flat.h promises more
  STAGE_IMP,      // imp, per profile
} PipelineStage;

// A program on its way.  Each member is set once its phase has run.
typedef struct Program {
  const char *path;
  SourceFile *file;
  AstProgram *ast;
  CheckedProgram *checked;
  const Core *core;          // Core, and after "flatten" Flat
  const Core *in_order;      // Flat for CPUs: pipeline_in_order
  const ImpProgram *imp[2];  // by Profile, after "imp"
  FlattenOptions flatten;    // set before the pass "flatten" runs
  RecipeBook *recipes;       // set before the pass "imp" runs; NULL: none
  int passed;                // how many passes of the list have run
  double *pass_ms;           // time per pass, by position in the list
} Program;

// Reads a file ("-": standard input).  NULL after an error (already reported).
Program *program_read(Compiler *c, const char *path);
Program *program_of_text(Compiler *c, const char *path, const char *text, size_t length);

// The passes in order, by their names in a user's hands, and why each stands where it stands; NULL
// at the end.
const char *pipeline_pass_name(int i);
const char *pipeline_pass_reason(int i);
bool pipeline_knows(const char *pass);
// What a known pass makes, and the last pass that makes it.
PipelineStage pipeline_stage_after(const char *pass);
const char *pipeline_last_pass(PipelineStage stage);

// Runs every pass up to and including `after` (NULL: the last that makes Flat, which is all that
// the interpreter needs); passes that ran already are not run again.  False after errors (already
// reported).
bool pipeline_run(Compiler *c, Program *program, const char *after);

// What kernels for CPUs are made from: Flat, in which scans do what is made of their values.
const Core *pipeline_in_order(Compiler *c, Program *p);
// Flat as the code for GPUs is made from it, but for what the interpreter does not know: filters
// into rooms, and scans that do what is made of their values.
const Core *pipeline_for_gpus(Compiler *c, const Core *flat);

// The recipes that the user gave for it, in the file and in the source; false after errors.
bool pipeline_read_recipes(Compiler *c, Program *program);

// The program as text, as it stands; after "imp", its code for the profile.
void pipeline_print(Text *t, const Program *program, Profile profile);
