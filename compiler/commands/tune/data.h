// The data sets of a tuning: files, test blocks, or random inputs of given sizes.
#pragma once
#include "commands/commands.h"
#include "tuner/driver.h"

typedef Vec(TunerDataset) DatasetVec;
typedef Vec(TunerRange) RangeVec;

// The program of --gen, which makes inputs from sizes.
typedef struct Generator {
  const char *path;    // NULL: there is none
  const Entry *about;  // of its entry point, one integer per parameter
  Child server;
} Generator;

typedef struct TuneInputs {
  Compiler *c;
  const char *path;  // of the program
  const char *entry;
  const Entry *about;      // the entry point; NULL: files are handed on as they are
  const char *scratch;     // a folder for binary values
  Vec(double) tolerances;  // of the program's tests: relative, per result
  RangeVec ranges;
  Vec(const char *) constraints;  // "n*m<=2^26"
  Generator generator;
  uint64_t seed;
} TuneInputs;

// "file.in" or "file.in@weight=3"; false after an error.
bool tune_data_file(TuneInputs *in, const char *text, DatasetVec *out);

// Those of the test blocks that are meant for tuning and whose files are there.
bool tune_data_tests(TuneInputs *in, DatasetVec *out);

// ---- ranges (range.c)

// "n=1:1000000,m=1:4096,n*m<=2^26": ranges and constraints; false after an error.
bool tune_ranges(TuneInputs *in, const char *text);
// Compiles the program of --gen; false after an error.
bool tune_generator(TuneInputs *in, const char *path, const char *device);
// Do the ranges say what the inputs need, and nothing else?  False after an error.
bool tune_ranges_complete(TuneInputs *in);
// Do the constraints allow the sizes?  `state` is a TuneInputs.
bool tune_allowed(const void *state, const int64_t *sizes);

// TunerMake: inputs with these sizes, random or from the generator; `state` is a TuneInputs.
bool tune_data_make(void *state, const int64_t *sizes, int number, TunerDataset *out);

// ---- shared by the files

bool tune_fail(const TuneInputs *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
// Writes the bytes beside the others and names them by their hash; false after an error.
bool tune_keep(const TuneInputs *in, const Text *bytes, const char *name,
               TunerDataset *out);

// Compares files of values as the tests do; `state` is a TuneInputs.
const char *tune_data_compare(const void *state, const char *got, const char *expected);
