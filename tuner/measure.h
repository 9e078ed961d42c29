// Runs of the program, of which it reports each decision with its Par and its time.
#pragma once
#include "tuner/child.h"
#include "tuner/decision.h"
#include "tuner/races.h"

// Runs of one path on one data set.
typedef struct PathRuns {
  const char *text;
  int dataset, runs;
  bool failed, checked;
  int epoch;  // the start of the server in which it ran last
} PathRuns;

// What the server has of a data set, and what it should make of it.
typedef struct Held {
  bool loaded;
  const char *expected;  // a file with the result; NULL: not yet known
} Held;

typedef struct Limits {
  double timeout_s;  // the least time that a run is given
  double short_us;   // runs below this are repeated at once
  double deadline;   // child_now() after which no run starts
} Limits;

// How results are judged.
typedef struct Judge {
  const char *scratch;  // a folder for results
  int number;           // that tells them from those of other entry points
  // NULL if the two files hold the same values, else the difference.
  const char *(*compare)(const void *state, const char *got, const char *expected);
  const void *compare_state;
} Judge;

typedef struct Measure {
  Child server;
  const char *entry;
  Evidence *seen;
  Races *races;  // what the log says of regions goes there
  Vec(PathRuns) paths;
  Held *held;  // per data set
  Limits limits;
  Judge judge;
  TunerLog log;
  Text *report;           // what went wrong, for people
  bool errors_are_final;  // sizes will come between those that are measured
  bool interrupted;
  int executions, replayed;  // runs made now, and taken from the log
} Measure;

// Starts the program unless it runs already; false if it cannot even greet (the report says why).
// There can be `capacity` data sets in the end.
bool measure_open(Measure *m, const TunerDataset *data, int count, int capacity);
void measure_close(Measure *m);

void measure_add(Measure *m, TunerDataset data);
void measure_unload(Measure *m, int dataset);

// Runs by default on the data set: the reference result, a first idea of the time.
void measure_default(Measure *m, int dataset);

// Does the program run on the data set along the path, though it fails by default?  Nobody is to
// blame if it does not: the data may be wrong.
bool measure_can_run(Measure *m, int dataset, Path path);

// All data sets were measured: versions that reported errors and never worked are not used.
void measure_settle(Measure *m);

// Makes sure of `runs` runs of the path, as far as time and failures allow.
void measure_path(Measure *m, int dataset, Path path, int runs);

// Was the path run on the data set, or is it known to fail there?
bool measure_was_tried(const Measure *m, int dataset, Path path);

// Was it run, and did it always work?
bool measure_works(const Measure *m, int dataset, Path path);

// Loads the data set unless it is there; the server's variables with its inputs, " d0_0 d0_1", or
// NULL if that fails.
const char *measure_variables(Measure *m, int dataset);

// How many runs of the path there are.
int measure_runs(const Measure *m, int dataset, Path path);

// One run that follows these thresholds, nothing forced, unobserved; negative if it fails.
double measure_thresholds(Measure *m, int dataset, const int64_t *thresholds);

// The thresholds become the settings of the program; false if it fails.
bool measure_set_thresholds(Measure *m, const int64_t *thresholds);

// Makes the decisions (one per guard) the settings of the program; false if it fails.
bool measure_decide(Measure *m, const Decision *decisions, const SizeTable *sizes);

// The thresholds with which the program starts; NULL if it does not tell.
const int64_t *measure_default_thresholds(Measure *m);

bool measure_time_left(const Measure *m);

// ---- for replay.c and sizes.c

bool measure_start(
    Measure *m);  // the program, unless it runs; false if it does not even greet
Reply measure_command(Measure *m, const char *line);
// Calls the entry point; the result is the variable `result`.
Reply measure_call(Measure *m, int dataset, bool first, double *us);
// NULL if the variable `result` is what it should be.
const char *measure_check_result(Measure *m, int dataset);
// Notes that the version failed.
void measure_blame(Measure *m, int dataset, int version, const char *failure,
                   FailureKind kind);
// Runs the path without keeping its times: does it fail?  If so a version is blamed.
void measure_probe(Measure *m, int dataset, Path path);
