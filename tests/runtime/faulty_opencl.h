// OpenCL or CUDA whose calls fail on demand, and an account of its objects (faulty_opencl.c,
// ../gpu/faulty_cuda.c).
#pragma once
#include <CL/cl.h>
#include <stdbool.h>

// Which of the two it is.
const char *faulty_backend(void);
// A queue that is not the runtime's; NULL if there is no device.
cl_command_queue faulty_queue_new(void);
void faulty_queue_free(cl_command_queue queue);
// Forgets the count of calls, and lets call number `at` (from 1; 0: none) return `status` (for CUDA
// what corresponds to it); with
// `lost` every later call, too, as when a device is lost.  Releases always work.
void faulty_plan(long at, cl_int status, bool lost);
// The calls since, and whether the planned one was among them.
long faulty_calls(void);
bool faulty_happened(void);
// References to contexts, queues, buffers, programs, kernels and events not given back yet.
int faulty_alive(void);
// References given back that nobody held.
int faulty_misuses(void);
