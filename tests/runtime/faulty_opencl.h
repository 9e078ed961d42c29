// OpenCL whose calls fail on demand, and an account of its objects (faulty_opencl.c).
#pragma once
#include <CL/cl.h>
#include <stdbool.h>

// Forgets the count of calls, and lets call number `at` (from 1; 0: none) return `status`; with
// `lost` every later call, too, as when a device is lost.  Releases always work.
void faulty_plan(long at, cl_int status, bool lost);
// The calls since, and whether the planned one was among them.
long faulty_calls(void);
bool faulty_happened(void);
// References to contexts, queues, buffers, programs, kernels and events not given back yet.
int faulty_alive(void);
// References given back that nobody held.
int faulty_misuses(void);
