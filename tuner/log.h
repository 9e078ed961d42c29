// The log of a tuning (p.fl.tunelog): a line of JSON per run, synced, only ever appended to.  What
// it holds for this program and device is not measured again; a torn last line is passed over.
#pragma once
#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct RunGroup {
  int guard;
  int parent;  // an earlier element of the run, or -1
  int64_t par;
  bool fits;
  int branch;
  double us;
} RunGroup;

// What a failure says.
typedef enum FailureKind {
  FAILURE_OF_VERSION,  // a crash or a wrong result: the version is not used any more
  FAILURE_IN_TIME,     // it may just be slow on these data
  FAILURE_ON_DATA,     // an error that the program reports, such as too little memory
} FailureKind;

// A run of a path; or a failure of it.
typedef struct Run {
  const char *data;  // hash of the data set
  const char *path;
  const char *failure;  // NULL: it went well
  FailureKind kind;     // of the failure
  double us, base_us;
  RunGroup *groups;
  int group_count;
} Run;

// What replay saw of a region (replay.h).  `region` and `version` name the code itself, so that it
// holds for every program that has the same region.
typedef struct RaceLine {
  const char *region, *version;
  const char *data;         // hash of the data set
  const char *what, *text;  // a line as the program wrote it, without its numbers
  int64_t par, local;
} RaceLine;

typedef struct TunerLog {
  const char *path;  // NULL: none is kept
  const char *key;   // of program and device
  const char *device,
      *params;          // with driver; group sizes and the like: what races depend on
  int fd;               // -1: not open
  const char *problem;  // why nothing is written any more, or NULL
} TunerLog;

// Opens the log and calls `replay` for each of its runs of this key, `remember` for what it holds
// about regions on this device.
typedef struct LogReader {
  void (*replay)(void *state, const Run *run);
  void (*remember)(void *state, const RaceLine *line);
  void *state;
} LogReader;
void log_open(TunerLog *log, LogReader reader);
// Only reads it.  Without `params` whatever was measured with any sizes of groups counts.
void log_read(const TunerLog *log, LogReader reader);
void log_race(TunerLog *log, const RaceLine *line);
void log_append(TunerLog *log, const Run *run);
void log_close(TunerLog *log);
