// Measurements of `flc bench`, what is said of them, and their JSON form, which is Futhark's.
#pragma once
#include "commands/program_start.h"

typedef Vec(double) TimeVec;  // microseconds

typedef struct BenchResult {
  const char *program;  // "matmul.fl", or "matmul.fl:entry"
  const char *dataset;
  const char *error;  // NULL: times are there
  TimeVec times;
  double moved;      // bytes per run, as #[bytes(..)] says; 0: it says nothing
  const char *peak;  // bytes of device memory in digits; NULL: not measured
} BenchResult;
typedef Vec(BenchResult) BenchVec;

// What an earlier call of flc bench has written.
typedef struct BenchEarlier {
  const char *name;  // of the file
  BenchVec results;
} BenchEarlier;
typedef Vec(BenchEarlier) BenchHistory;

// What was measured earlier on the same data of the same program, or NULL.
const BenchResult *bench_find(const BenchVec *results, const BenchResult *same);

// "1.23 ms"
const char *bench_time_text(double us);
// What to call the data of a case, number `number` of its program.
const char *bench_dataset_name(const TestCase *test, int number);
// Has the case data to measure the entry point on?
bool bench_is_wanted(const TestCase *test, const Entry *entry);
// The bytes that a call moves, as `#[bytes(e)]` on the entry point says; 0 if it says nothing.
double bench_bytes(const Entry *entry, const Value *const *inputs);

// ---- statistics (stats.c); there is at least one time

double bench_median(const TimeVec *times);
// The time below which a part `at` of them lies.
double bench_quantile(const TimeVec *times, double at);
double bench_total(const TimeVec *times);
// The standard error of the mean, relative to it.
double bench_relative_error(const TimeVec *times);

typedef struct BenchInterval {
  double low, middle, high;
} BenchInterval;

// How many times as fast `now` is as `before`: the ratio of the medians, and between which bounds
// it would lie in 95 of 100 samples from these runs.
BenchInterval bench_ratio(const TimeVec *before, const TimeVec *now);

// ---- running (run.c)

typedef struct BenchRunner {
  const char *folder;  // for temporary files
  int status;          // a file that says what the program is at
  int runs;            // the least
  double enough_us, most_us, timeout_s;
  bool wants_peak, fixed;  // fixed: no more than the least number of runs
  ProgramStart start;
  int done, cases;  // for the line of progress
} BenchRunner;

// What to run; the inputs lie in bench_input_path.
typedef struct BenchJob {
  const char *executable, *path, *entry, *dataset;
} BenchJob;

const char *bench_input_path(const BenchRunner *r);
// Fills in times, peak or error.
void bench_measure(const BenchRunner *r, const BenchJob *job, BenchResult *out);

// ---- files

// All results as JSON, programs and data sets in order.
void bench_write_json(Text *t, const BenchVec *results);
// Reads such a file, without what has no times; NULL, or what is wrong with it.
const char *bench_read_json(const char *text, size_t length, BenchVec *out);
// A page of HTML about the results, with those of earlier runs, oldest first.
void bench_write_page(Text *t, const BenchVec *results, const BenchHistory *history);
