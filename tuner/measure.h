// Runs of the program, and what they tell about its versions (tuning.md, section 2).
//
// A version is what stands behind one branch of a guard.  A run forces a path; the program reports
// each decision with its Par and its time, so that the time from a decision to the next one is
// that of the version.  One run thereby measures all regions that stand side by side.
#pragma once
#include "tuner/child.h"
#include "tuner/decision.h"
#include "tuner/log.h"
#include "tuner/solve.h"

typedef struct TunerDataset {
  const char *name;
  const char *file;  // the inputs, one value after the other, binary
  const char
      *expected;     // the result as `store` writes it, or NULL: that of the default path
  const char *hash;  // of the inputs
  double weight;
} TunerDataset;

typedef Vec(double) Samples;

// Events of one guard in one data set that agree in Par and in the group around them.
typedef struct Group {
  int dataset, guard, parent;
  int64_t par;
  bool fits;
  Samples us[2];   // per run and branch
  bool forced[2];  // the samples are of whole runs that forced the branch, not of replay
  bool bound[2];   // the sample is a lower bound: replay abandoned the version
} Group;

// ---- replay (replay.h)

typedef struct RaceGroup RaceGroup;

typedef struct RaceInside {
  RaceGroup *inner;
  int64_t count;
} RaceInside;
typedef Vec(RaceInside) RaceInsides;

typedef struct RaceDecision {
  int guard;
  int64_t par;
  bool fits;
} RaceDecision;

// An alternative of a race.
typedef struct Contender {
  Vec(double) own, total;  // of one event, per round; total negative: none
  Vec(RaceDecision) path;  // to it, its own guard last
  RaceInsides inside;      // events within one run of it
  double bound;            // it takes longer; 0: unknown
  bool failed;
} Contender;

// Events of one guard in one data set that agree in Par.
struct RaceGroup {
  int dataset, root;
  int64_t par, local;
  int epoch;          // the start of the server that knows its samples
  const int *leaves;  // per alternative its branch: 2 * guard + branch
  Contender *list;
  int count;
};

// What is behind a branch of a guard.
typedef struct Version {
  const char *failure;  // why it must not be used, or NULL
  int successes, timeouts;
} Version;

typedef struct DataState {
  bool loaded;
  const char *failure;          // the program fails on it whatever the version, or NULL
  const char *default_failure;  // ... with its own thresholds
  const char *expected;
  double least_us;     // of all runs so far; INFINITY
  Samples base;        // outside of versions
  bool *slow;          // per version: it ran into the time limit here
  bool covered;        // replay has shown all versions
  RaceInsides inside;  // replay: events within the whole run
  double race_base;    // ... and its time outside of all regions
} DataState;

// Runs of one path on one data set.
typedef struct PathRuns {
  const char *text;
  int dataset, runs;
  bool failed, checked;
  int epoch;  // the start of the server in which it ran last
} PathRuns;

typedef struct Measure {
  Child server;
  const TunerTree *tree;
  const char *entry, *device;
  TunerDataset *data;
  DataState *states;
  int dataset_count;
  Version *versions;  // per guard: the two branches
  Vec(Group) groups;
  Vec(PathRuns) paths;
  Vec(RaceGroup *) races;
  Vec(RaceGroup *) race_numbers;  // by the numbers that the server gives them
  int race_epoch;                 // the start of the server that gave them
  int race_rounds;                // of a race at one event, at most
  double race_ms;
  int64_t capacity;  // bytes of local memory of a group
  TunerLog log;
  Text *report;      // what went wrong, for people
  double timeout_s;  // the least time that a run is given
  double short_us;   // runs below this are repeated at once
  double deadline;   // child_now() after which no run starts
  bool interrupted;
  int executions, replayed;  // runs made now, and taken from the log
  const char *scratch;       // a folder for results
  // NULL if the two files hold the same values, else the difference.
  const char *(*compare)(const void *state, const char *got, const char *expected);
  const void *compare_state;
  void (*progress)(void *state, const char *what);  // or NULL
  void *progress_state;
} Measure;

// Starts the program unless it runs already; false if it cannot even greet (the report says why).
// There can be `capacity` data sets in the end.
bool measure_open(Measure *m, const TunerDataset *data, int count, int capacity);
void measure_close(Measure *m);

void measure_add(Measure *m, TunerDataset data);
void measure_unload(Measure *m, int dataset);

// Runs by default on the data set: the reference result, a first idea of the time.
void measure_default(Measure *m, int dataset);

// Makes sure of `runs` runs of the path, as far as time and failures allow.
void measure_path(Measure *m, int dataset, Path path, int runs);

// The path with every version replaced that must not be used.
Path measure_repair(const Measure *m, Path path);

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

// Makes the decisions (one per guard) the settings of the program; false if it fails.
bool measure_decide(Measure *m, const Decision *decisions, const SizeTable *sizes);

// The thresholds with which the program starts; NULL if it does not tell.
const int64_t *measure_default_thresholds(Measure *m);

bool measure_time_left(const Measure *m);

// ---- shared with replay.c

bool measure_start(
    Measure *m);  // the program, unless it runs; false if it does not even greet
Reply measure_command(Measure *m, const char *line);
// Calls the entry point; the result is the variable `result`.
Reply measure_call(Measure *m, int dataset, bool first, double *us);
// NULL if the variable `result` is what it should be.
const char *measure_check_result(Measure *m, int dataset);
// Notes that the version failed.
void measure_blame(Measure *m, int dataset, int version, const char *failure,
                   bool timeout);
// Runs the path without keeping its times: does it fail?  If so a version is blamed.
void measure_probe(Measure *m, int dataset, Path path);

// The lower quartile of samples (what disturbs a run on a shared machine only makes it longer), and
// its standard error.
double samples_typical(const Samples *s);
double samples_error(const Samples *s);
