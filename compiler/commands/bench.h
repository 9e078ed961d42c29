// Measurements of `flc bench`, and their JSON form, which is Futhark's.
#pragma once
#include "commands/commands.h"
#include "commands/test_spec.h"

typedef Vec(double) TimeVec;  // microseconds

typedef struct BenchResult {
  const char *program;  // "matmul.fl", or "matmul.fl:entry"
  const char *dataset;
  const char *error;  // NULL: times are there
  TimeVec times;
  double moved;       // bytes per run, as #[bytes(..)] says; 0: it says nothing
  const char *peak;   // bytes of device memory in digits; NULL: not measured
} BenchResult;
typedef Vec(BenchResult) BenchVec;

// "1.23 ms"
const char *bench_time_text(double us);
// What to call the data of a case, number `number` of its program.
const char *bench_dataset_name(const TestCase *test, int number);
// Has the case data to measure the entry point on?
bool bench_is_wanted(const TestCase *test, const Entry *entry);

double bench_median(const TimeVec *times);
// The bytes that a call moves, as `#[bytes(e)]` on the entry point says; 0 if it says nothing.
double bench_bytes(const Entry *entry, const Value *const *inputs);

// All results as JSON, programs and data sets in order.
void bench_write_json(Text *t, const BenchVec *results);
// Reads such a file, without what has no times; false if it is no JSON.
bool bench_read_json(const char *text, BenchVec *out);
