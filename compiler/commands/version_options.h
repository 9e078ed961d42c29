// What several commands say about versions: how to flatten, and which version to run.
#pragma once
#include "base/vec.h"
#include "commands/commands.h"
#include "flat/versions.h"

// --flatten=incremental|moderate|full|outer and --max-versions N; NULL, or what is wrong.
const char *set_flatten_mode(FlattenOptions *options, const char *text);
const char *set_max_versions(FlattenOptions *options, const char *text);
// And --mpi, --workers, --mixed and --reproducible, by the number of their option and `optarg`;
// other options are none of its business.
const char *set_flatten_option(FlattenOptions *options, int option);
// Of --code: NULL, or what is wrong with the name.
const char *profile_option(const char *name, Profile *out);
// What commands begin with.
FlattenOptions default_flatten_options(void);
// The rows of these in a table of options.
#define FLATTEN_OPTIONS                                                                  \
  { OPTION_FLATTEN,                                                                      \
    0,                                                                                   \
    "flatten",                                                                           \
    "MODE",                                                                              \
    "`incremental` (default), or one of the paper's other schemes: `moderate`, `full`, " \
    "`outer`",                                                                           \
    "incremental moderate full outer" },                                                 \
      { OPTION_MAX_VERSIONS,                                                             \
        0,                                                                               \
        "max-versions",                                                                  \
        "N",                                                                             \
        "versions per entry point, at most; default 256",                                \
        NULL },                                                                          \
      REPRODUCIBLE_OPTION

// The row of --reproducible.
#define REPRODUCIBLE_OPTION                                                        \
  {                                                                                \
    OPTION_REPRODUCIBLE, 0, "reproducible", NULL,                                  \
        "sums of floats in one order, whatever the version, the settings and the " \
        "number of workers "                                                       \
        "([machines.md](machines.md#reproducible-results))",                       \
        NULL                                                                       \
  }

// The row of --recipe FILE.
#define RECIPE_OPTION                                                  \
  {                                                                    \
    OPTION_RECIPE, 0, "recipe", "FILE",                                \
        "[recipes](recipes.md) for kernels in the code for CPUs", NULL \
  }
// The row of --other-recipes.
#define OTHER_RECIPES_OPTION                                                            \
  {                                                                                     \
    OPTION_OTHER_RECIPES, 0, "other-recipes", NULL,                                     \
        "with the [other recipes](recipes.md#other-recipes) of kernels that the tuner " \
        "tries, as parameters",                                                         \
        NULL                                                                            \
  }
// The row of --mixed.
#define MIXED_OPTION                                                                 \
  {                                                                                  \
    OPTION_MIXED, 0, "mixed", NULL,                                                  \
        "with several workers: on devices of different kinds, each with code of its " \
        "own ([machines.md](machines.md#devices-of-different-kinds))",               \
        NULL                                                                         \
  }

// The rows of --mpi, --workers and --mixed.
#define WORKERS_OPTIONS                                               \
  { OPTION_MPI,                                                       \
    0,                                                                \
    "mpi",                                                            \
    NULL,                                                             \
    "for the processes of an MPI job, each of which does a part "     \
    "([machines.md](machines.md))",                                   \
    NULL },                                                           \
  {                                                                   \
    OPTION_WORKERS, 0, "workers", NULL,                               \
        "for several devices, or parts of one, in the same way", NULL \
  },                                                                  \
      MIXED_OPTION

// The row of --mpi N.
#define MPI_OPTION                                                            \
  {                                                                           \
    OPTION_MPI, 0, "mpi", "N",                                                \
        "run as N processes of an MPI job ([machines.md](machines.md))", NULL \
  }

// The row of --workers N.
#define WORKERS_OPTION                                                                \
  {                                                                                   \
    OPTION_WORKERS, 0, "workers", "N",                                                \
        "run as N workers, on parts of the device ([machines.md](machines.md))", NULL \
  }

// Reads them for a program that has no kernels yet; path: NULL for none.  False after errors.
bool take_recipes(Compiler *c, Program *program, const char *path);

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
// The choices between recipes that settings hold, for a program that has no kernels yet; with
// `others` it gets them all.
void take_choices(Program *program, const Decider *settings, bool others);

bool decider_force(Compiler *c, Decider *d, const VersionTree *tree, const char *text);

// --tuning FILE: lines name=value; false after an error.
bool decider_read_tuning(Compiler *c, Decider *d, const char *path);
// The tuning file beside the source, if there is one; false after errors.
bool decider_read_beside(Compiler *c, Decider *d, const char *source, const char *ending);

// InterpOptions.decide, with a Decider as its state.
int decider_decide(void *state, const Exp *exp, int64_t par);
// InterpOptions.meet_split, likewise: notes what it would be.
void decider_meet_split(void *state, const Exp *split, int64_t par);
