// Measurements of `flc bench`, and their JSON form, which is Futhark's.
#pragma once
#include "commands/commands.h"

typedef Vec(double) TimeVec;  // microseconds

typedef struct BenchResult {
  const char *program;  // "matmul.fl", or "matmul.fl:entry"
  const char *dataset;
  const char *error;  // NULL: times are there
  TimeVec times;
} BenchResult;
typedef Vec(BenchResult) BenchVec;

double bench_median(const TimeVec *times);

// All results as JSON, programs and data sets in order.
void bench_write_json(Text *t, const BenchVec *results);
// Reads such a file; what it does not understand is passed over.
BenchVec bench_read_json(const char *text);
