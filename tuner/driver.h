// The whole of a tuning: cover all versions, choose, measure again what is contested, verify.
#pragma once
#include "tuner/decision.h"
#include "tuner/measure.h"

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
  const char *report_path;                    // of the HTML page, or NULL
  bool dry_run, quiet;
  bool no_replay;  // force versions in whole runs
  bool no_sizes;   // choose thresholds only
  const char *(*compare)(const void *state, const char *got, const char *expected);
  const void *compare_state;
} TunerOptions;

typedef struct Verified {
  Samples tuned, before, rival;  // whole runs; `before` with the program's own thresholds
} Verified;

// What held-out points say about a choice.
typedef struct Precision {
  int points;
  int fastest;  // ... where the fastest version is chosen, or one that noise cannot tell from it
  int near;  // ... or one within 2 %
  int even;  // ... where noise leaves open which of several versions is the fastest
  double regret, regret_error;  // mean of tuned / best - 1, and its standard error
} Precision;

// A choice: a tree per guard, which may be just a threshold.
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

// A group size, a number of groups or the like.
typedef struct SizeParam {
  const char *name, *kind;
  int64_t before, value;
  const char *reason;  // why it was changed, or NULL
} SizeParam;

typedef struct Tuning {
  const TunerOptions *options;
  Measure *m;
  const TunerTree *tree;
  SolveProblem problem;
  SolveResult best;
  const int64_t *thresholds;  // those of the file
  const int64_t *before;      // the program's own, or NULL if it does not tell
  const int64_t *rival;       // the second best by prediction, if it is close; or NULL
  double *alone;              // per data set: the best that is possible for it alone
  Verified *verified;         // per data set
  bool kept_before;           // verification speaks against the new thresholds
  int percent;                // of the progress line
  int runs;                   // that cover all versions, per data set
  const Decision *decisions;  // range mode: trees by sizes, or NULL: the thresholds
  SizeTable sizes;            // what the program says of its sizes, per data set
  int64_t *points;            // range mode: per data set, its point
  int holdout_from;           // data sets from here on were kept out of the choice
  int cells, open_cells;      // of the box; open: no version is best everywhere in it
  Vec(CurvePoint) curve;
  Precision before_precision;  // of the program's own thresholds
  Vec(Trial) trials;
  Vec(SizeParam) size_params;
  int64_t max_group_size;  // of the device
  int sizing;              // whole runs that compared sizes
  int verifying;           // whole runs that compared thresholds
  bool blind;       // the choice lead to versions that were not measured
  bool mistrusted;         // whole runs contradicted replay, so that versions were forced
  double seconds;
  int missing;  // runs that would have shown more versions, had there been time
  const char *problem_text;  // why there is no result, or NULL
} Tuning;

// Tunes, writes the file (not in a dry run) and the report.  `problem_text` is set on failure.
Tuning *tuner_run(const TunerOptions *options);

// ---- shared by driver.c, verify.c, sample.c, settings.c, page.c

// The measurements of the first `count` data sets as a problem to solve.
SolveProblem tuning_problem(const Tuning *t, int count);

// Measures every version on the data set: by replay, or by whole runs where that is not possible.
void tuning_measure(Tuning *t, int dataset);

// Sets the thresholds from the measurements; in the second case none stands on a bound.
void tuning_choose(Tuning *t);
void tuning_choose_known(Tuning *t);

// Runs the whole program, tuned against default, and draws the consequences (verify.c).
void tuning_verify(Tuning *t);

// Finds the sizes that the program has; chooses them, by whole runs with the chosen thresholds
// (sizes.c).
void tuning_find_sizes(Tuning *t);
void tuning_choose_sizes(Tuning *t);

// Runs every version of the data set `runs` times, forced.
void tuning_cover(Tuning *t, int dataset, int runs);

void tuning_progress(const Tuning *t, int percent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Points of the box, refined where the winner changes; sets the thresholds and the precision.
void tuning_sample(Tuning *t);

// What was chosen: which groups are reached and how they are left; microseconds per data set.
SolveFate *tuning_fates(const Tuning *t);
double *tuning_times(const Tuning *t);

// Do the thresholds choose what the program's own ones choose?
bool tuning_same_versions(const Tuning *t, int dataset);

// The setting file as text; what was chosen and why, for people; data sets that lose.
const char *tuning_file_text(const Tuning *t);
const char *tuning_choice(const Tuning *t, int guard);  // "from Par 64 on"
const char *tuning_reason(const Tuning *t, int guard);
const char *tuning_conflicts(const Tuning *t);
const char *tuning_summary(const Tuning *t);

// The self-contained page of --report.
const char *tuning_page(const Tuning *t);

// "41.2 ms"
const char *tuning_time(double us);

// The interval of a share (Wilson, 95 %).
typedef struct Interval {
  double low, high;
} Interval;
Interval tuning_interval(int hits, int all);
