// Runs the cases of a program on the device: built once, started once.
#pragma once
#include "commands/program_start.h"
#include "commands/test/host.h"

typedef struct TestDevice TestDevice;

// What a run gave: leaves of the results, or the message of an error.
typedef struct DeviceResult {
  bool ok;
  const char *message;
  const Value **values;
} DeviceResult;

// NULL if a result is right, else what is wrong.
typedef const char *(*DeviceJudge)(void *state, const DeviceResult *result);

typedef struct DeviceCase {
  const Entry *entry;
  const Value *const *inputs;  // leaves of the parameters
  bool default_only;           // run it as the thresholds say, in no other version
  DeviceJudge judge;
  void *state;
} DeviceCase;

typedef struct TestDeviceOptions {
  bool all_versions, unoptimised;
  // test_seconds from which on cases run in one version and profile each; 0: no end
  double until;
  int workers;  // 0: one, in a program for one
  const ProgramStart *start;
  TestHost *host;  // where it runs; NULL: in a process of its own
} TestDeviceOptions;

// The executable (from a cache); NULL after errors.
const char *test_device_build(Compiler *c, Program *program, const ProgramStart *start);
// Builds the program and looks for a device.  NULL: *message says what is wrong, or,
// if *absent, that there is no device here.
TestDevice *test_device_open(Compiler *c, Program *program, TestDeviceOptions options,
                             const char **message, bool *absent);
// Runs a case with the code of both profiles, in every version.  NULL, or the first wrong result
// with its profile and version.
const char *test_device_case(TestDevice *d, const DeviceCase *test);
// How many versions of cases were not run, because there were too many or it was late.
int test_device_left_out(const TestDevice *d);
// The seconds on a clock that only goes forward.
double test_seconds(void);
void test_device_close(TestDevice *d);
