// What several commands say about versions: how to flatten, and which version to run.
#pragma once
#include "base/vec.h"
#include "commands/commands.h"
#include "flat/versions.h"

// --flatten=incremental|moderate|full|outer and --max-versions N; NULL, or what is wrong.
const char *set_flatten_mode(FlattenOptions *options, const char *text);
const char *set_max_versions(FlattenOptions *options, const char *text);
// Both by the letter of their option ('f', 'm') and `optarg`; other letters are none of
// its business.
const char *set_flatten_option(FlattenOptions *options, int letter);
// What commands begin with.
FlattenOptions default_flatten_options(void);
// The lines of help about the two.
#define FLATTEN_HELP                                                                     \
  "  --flatten MODE     incremental (default), moderate, full or outer\n"                 \
  "  --max-versions N   versions per entry point, at most (default 256)\n"

// One line of a tuning file.
typedef struct Threshold {
  const char *name;
  int64_t value;
  bool used;
} Threshold;

// How the guards of a run are decided, and what the run met.
typedef struct Decider {
  StepVec forced;         // first of all
  Vec(Threshold) tuning;  // then, by name; else the default threshold
  EventVec events;
} Decider;

// --path main.top_0=T,main.intra_1=F or --path V2; false after an error.
bool decider_force(Compiler *c, Decider *d, const VersionTree *tree, const char *text);

// --tuning FILE: lines name=value; false after an error.
bool decider_read_tuning(Compiler *c, Decider *d, const char *path);

// InterpOptions.decide, with a Decider as its state.
int decider_decide(void *state, const Exp *exp, int64_t par);
