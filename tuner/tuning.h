// What a tuning is made of; each part says who keeps it.
#pragma once
#include "tuner/replay.h"

typedef struct TunerRange {
  const char *name;  // of a size or integer parameter
  int64_t low, high;
  bool linear;  // points are spread evenly, not by orders of magnitude
} TunerRange;

// Makes a data set with these sizes, in the order of the ranges; false if that cannot be.
typedef bool (*TunerMake)(void *state, const int64_t *sizes, int number,
                          TunerDataset *out);

typedef struct TunerOptions {
  const char *const *argv;             // starts the program as a server
  const char *entry, *program, *hash;  // names the program and its version
  const TunerDataset *data;
  int dataset_count;
  const TunerRange *ranges;  // or points of this box
  int range_count, max_points, holdout;
  TunerMake make;
  bool (*allowed)(const void *state, const int64_t *sizes);  // NULL: the whole box
  void *make_state;
  SolveObjective objective;
  double budget_s, timeout_s, short_us;
  uint64_t seed;
  const char *log_path, *out_path, *scratch;  // log_path NULL: none
  int number;                                 // of the entry point, among several
  const char *report_path;                    // of the HTML page, or NULL
  bool dry_run, quiet;
  bool no_replay;  // force versions in whole runs
  bool no_sizes;   // choose thresholds only
  bool shares;     // parameters of the whole program are left to shared.c
  const char *(*compare)(const void *state, const char *got, const char *expected);
  const void *compare_state;
} TunerOptions;

// A choice: a tree per guard, which may be just a threshold (choose.c, sample.c).
typedef struct Choice {
  SolveProblem problem;
  SolveResult best;
  const int64_t *thresholds;  // those of the file
  const Decision *decisions;  // range mode: trees by sizes, or NULL: the thresholds
  SizeTable sizes;            // what the program says of its sizes, per data set
  double *alone;              // per data set: the best that is possible for it alone
} Choice;

typedef struct Verified {
  Samples tuned, before, rival;  // whole runs; `before` with the program's own thresholds
} Verified;

// Whole runs that check the choice (verify.c).
typedef struct Verification {
  const int64_t *before;  // the program's own thresholds, or NULL if it does not tell
  const int64_t *rival;   // the second best by prediction, if it is close; or NULL
  Verified *verified;     // per data set
  bool kept_before;       // verification speaks against the new thresholds
  bool blind;             // the choice lead to versions that were not measured
  bool mistrusted;        // whole runs contradicted replay, so that versions were forced
  int runs;
} Verification;

// What held-out points say about a choice.
typedef struct Precision {
  int points;
  int fastest;  // ... where the fastest version is chosen, or one that noise cannot tell from it
  int near;  // ... or one within 2 %
  int even;  // ... where noise leaves open which of several versions is the fastest
  double regret, regret_error;  // mean of tuned / best - 1, and its standard error
} Precision;

typedef struct CurvePoint {
  int points;  // that it was made from
  const int64_t *thresholds;
  const Decision *decisions;
  Precision precision;
} CurvePoint;

// The tuned program on a held-out point.
typedef struct Trial {
  int dataset;
  double predicted_us, best_us;
  Samples us;
  bool disagrees;  // it decided otherwise than the tuner's model
} Trial;

// Range mode (sample.c).
typedef struct Sampling {
  int64_t *points;        // per data set, its point
  int holdout_from;       // data sets from here on were kept out of the choice
  int cells, open_cells;  // of the box; open: no version is best everywhere in it
  Vec(CurvePoint) curve;
  Precision before_precision;  // of the program's own thresholds
  Vec(Trial) trials;
} Sampling;

// A group size, a number of groups or the like.
typedef struct SizeParam {
  const char *name, *kind;
  const char *operation;  // whose kernels it is for: main.segmap_2; NULL: all
  const char *follows;    // the parameter whose value it has unless it is set; or NULL
  int64_t most;           // 0: no limit
  int64_t before, value;
  const char *reason;  // why it was changed, or NULL
} SizeParam;

// Sizes of groups and the like (sizes.c).
typedef struct Sizing {
  Vec(SizeParam) params;
  int64_t max_group_size;  // of the device
  int runs;                // whole runs that compared sizes
} Sizing;

typedef struct Tuning {
  const TunerOptions *options;
  const TunerTree *tree;
  const char *device;
  Evidence *seen;
  Measure *m;
  Replayer *replayer;
  Choice choice;
  Verification checks;
  Sampling sampling;
  Sizing sizing;
  int percent;     // of the progress line
  int runs;        // that cover all versions, per data set
  bool kept_file;  // interrupted too early for a better one than is there
  int left_out;    // data sets on which the program fails, whatever the version
  int missing;     // runs that would have shown more versions, had there been time
  double seconds;
  const char *problem_text;  // why there is no result, or NULL
} Tuning;

void tuning_progress(const Tuning *t, int percent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// "41.2 ms"
const char *tuning_time(double us);

// The interval of a share (Wilson, 95 %).
typedef struct Interval {
  double low, high;
} Interval;
Interval tuning_interval(int hits, int all);
