// The data sets of a tuning: files, test blocks, or random inputs of given sizes.
#pragma once
#include "commands/commands.h"
#include "tuner/driver.h"

typedef Vec(TunerDataset) DatasetVec;
typedef Vec(TunerRange) RangeVec;

typedef struct TuneInputs {
  Compiler *c;
  const char *path;  // of the program
  const char *entry;
  const Entry *about;      // the entry point; NULL: files are handed on as they are
  const char *scratch;     // a folder for binary values
  Vec(double) tolerances;  // of the program's tests: relative, per result
  RangeVec ranges;
  uint64_t seed;
} TuneInputs;

// "file.in" or "file.in@weight=3"; false after an error.
bool tune_data_file(TuneInputs *in, const char *text, DatasetVec *out);

// Those of the test blocks that are meant for tuning and whose files are there.
bool tune_data_tests(TuneInputs *in, DatasetVec *out);

// "n=1:1000,m=1:4096"; false after an error.
bool tune_ranges(TuneInputs *in, const char *text);
// Is every size of the entry point in a range?  False after an error.
bool tune_ranges_complete(TuneInputs *in);

// TunerMake: random inputs with these sizes; `state` is a TuneInputs.
bool tune_data_random(void *state, const int64_t *sizes, int number, TunerDataset *out);

// Compares files of values as the tests do; `state` is a TuneInputs.
const char *tune_data_compare(const void *state, const char *got, const char *expected);
