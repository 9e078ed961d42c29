// Runs the tests of one program.
#pragma once
#include "commands/program_start.h"
#include "commands/test/host.h"

// How far programs go.
typedef enum TestDepth {
  TEST_RUN,
  TEST_CHECK,      // they are type-checked
  TEST_COMPILE,    // they are compiled, for the device, too
  TEST_STRUCTURE,  // they are compiled as far as their structure tests look
} TestDepth;

typedef struct TestOptions {
  TestDepth depth;
  const char *entry;  // only cases of this entry point, or NULL
  const char *stage;  // only this stage ("elaborate", "core", "flat", "device"), or NULL
  int64_t max_steps;  // of the interpreter, per run
  uint64_t seed;      // of random arguments of properties
  const char *exclude;  // a tag of cases that are left out, too; or NULL
  int jobs, timeout_s;
  double versions_s;  // on the device: from then on, only default versions
  bool verbose, no_device;
  bool all_versions;   // on the device: without leaving out any
  bool unoptimised;    // on the device: no kernel is optimised
  int workers;         // on the device; 0: one, in a program for one
  ProgramStart start;  // on the device; flatten and recipe everywhere
} TestOptions;

typedef struct TestReport {
  int passed, failed, skipped;
  Text *
      text;  // the failures (and, if verbose, what was skipped), each with its difference
} TestReport;

// A reader of what a test of the program's entry point gives (inputs or expected results); NULL
// with a message, or with none if the file is one that is not shipped and absent.
ValueReader *test_open_values(const char *program, const Entry *entry,
                              const TestText *text, const char **message);
// script.c: likewise, for what a script computes.
ValueReader *test_script_values(const char *program, const Entry *entry,
                                const char *script, const char **message);
// Where a data file of a test is; NULL if it is one of those that are not shipped and absent.
const char *test_locate(const char *program, const char *name);
// Is it a file of the published data sets, which are not shipped?
bool test_is_published(const char *path);

// On the device in `host`, or in processes of its own (NULL).
TestReport test_run_program(Compiler *c, const char *path, const TestOptions *options,
                            TestHost *host);
