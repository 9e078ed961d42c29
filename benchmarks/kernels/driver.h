// Measures the entry point of a library that `flc lib` made beside references in C, in one process.
//
// driver.c is the same for all kernels.  benchmarks/kernels.py writes the functions below for each entry
// point: the C API has types of its own for every program.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { MOST_DIMS = 4, MOST_VALUES = 12 };

typedef enum Type { I8, I16, I32, I64, U8, U16, U32, U64, F32, F64, BOOL } Type;

// An array, row-major, or a scalar (rank 0).
typedef struct Value {
  Type type;
  int rank;
  int64_t shape[MOST_DIMS];
  void *data;
} Value;

// The entry point with its inputs on the device; the rest is private to the generated file.
typedef struct Ours Ours;

// How many inputs and results the entry point has, and their types and ranks.
int ours_inputs(Value *inputs);
int ours_outputs(Value *outputs);

// NULL without memory; ours_error then has nothing to say.
Ours *ours_start(const char *path);
// Copies the inputs to the device; false on errors, like all that follow.
bool ours_load(Ours *ours, const Value *inputs);
// Copies those inputs again that a call consumes.
bool ours_reload(Ours *ours, const Value *inputs);
// Runs the entry point and waits for it.
bool ours_call(Ours *ours);
// The shapes of the results of the last call, and their elements unless data is NULL.
bool ours_results(Ours *ours, Value *outputs);
// Gives the results of the last call back.
void ours_release(Ours *ours);
char *ours_error(Ours *ours);

// Which input the reference overwrites with its result, or -1.
int reference_in_place(void);
// Calls `function`; its result, which is the number of elements of outputs whose length it decides.
int64_t reference_call(void *function, const int64_t *sizes, const Value *inputs,
                       const Value *outputs);
