// Runs the tests of one program.
#pragma once
#include "commands/commands.h"

typedef struct TestOptions {
  const char *entry;  // only cases of this entry point, or NULL
  const char *stage;  // only this stage ("elaborate", "core", "flat", "device"), or NULL
  int64_t max_steps;  // of the interpreter, per run
  int jobs, timeout_s;
  bool verbose, no_device;
  bool all_versions;  // on the device: without leaving out any
} TestOptions;

typedef struct TestReport {
  int passed, failed, skipped;
  Text *
      text;  // the failures (and, if verbose, what was skipped), each with its difference
} TestReport;

TestReport test_run_program(Compiler *c, const char *path, const TestOptions *options);
