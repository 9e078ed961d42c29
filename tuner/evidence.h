// What runs have told about the versions of a program.
//
// A version is what stands behind one branch of a guard.  The time from a decision to the
// next one is that of the version, so that one run measures all regions that stand side
// by side.
#pragma once
#include "tuner/log.h"
#include "tuner/samples.h"
#include "tuner/tree.h"

typedef struct TunerDataset {
  const char *name;
  const char *file;  // the inputs, one value after the other, binary
  const char
      *expected;     // the result as `store` writes it, or NULL: that of the default path
  const char *hash;  // of the inputs
  double weight;
} TunerDataset;

// Events of one guard in one data set that agree in Par and in the group around them.
typedef struct EventGroup {
  int dataset, guard, parent;
  int64_t par;
  bool fits;
  Samples us[2];   // per run and branch
  bool forced[2];  // the samples are of whole runs that forced the branch, not of replay
  bool bound[2];   // the sample is a lower bound: replay abandoned the version
} EventGroup;

// What is behind a branch of a guard.
typedef struct Version {
  const char *failure;  // why it must not be used, or NULL
  int successes, timeouts;
} Version;

typedef struct DataState {
  const char *failure;          // the program fails on it whatever the version, or NULL
  const char *default_failure;  // ... with its own thresholds
  bool default_is_slow;         // which is one of time
  Path works;                   // a path that does, if the default fails; or outcome NULL
  double least_us;              // of all runs so far; INFINITY
  Samples base;                 // outside of versions
  bool *slow;                   // per version: it ran into the time limit here
  const char **errors;          // per version: what the program said of it here, or NULL
  bool covered;                 // replay has shown all versions
  Run by_default;               // the first run; us 0: none that went well
  bool stays;                   // too little was measured: it is to run as by default
} DataState;

typedef struct Evidence {
  const TunerTree *tree;
  TunerDataset *data;
  DataState *states;  // per data set
  int dataset_count;
  Version *versions;  // per guard: the two branches
  Vec(EventGroup) groups;
  int64_t capacity;  // bytes of local memory of a group
} Evidence;

// There can be `capacity` data sets in the end.
Evidence *evidence_new(const TunerTree *tree, int capacity);
void evidence_add_dataset(Evidence *e, TunerDataset data);

// The number of the group of events, which may be new.
int evidence_group(Evidence *e, int dataset, int guard, int parent, int64_t par,
                   bool fits);

// Adds a run to the samples of the data set.
void evidence_add_run(Evidence *e, int dataset, const Run *run);

// Forgets what was measured on the data set: it is to run as in its first run, whatever that costs.
void evidence_stay(Evidence *e, int dataset);

// Was the guard decided on a data set that does not merely stay as it is?
bool evidence_is_measured(const Evidence *e, int guard);

// The path with every version replaced that must not be used on the data set.
Path evidence_repair(const Evidence *e, int dataset, Path path);
