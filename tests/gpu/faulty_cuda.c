// The stand-in for CUDA (standin/) as what fails on demand in tests/runtime/faults.c.
#define CL_TARGET_OPENCL_VERSION 120
#include "../runtime/faulty_opencl.h"
#include "standin/standin.h"
#include <stddef.h>

// Of the driver; the test is linked with the stand-in.
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuDeviceGet(int *device, int number);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuStreamCreate(void **stream, unsigned flags);
int cuStreamDestroy_v2(void *stream);

static int device;
static void *context;

const char *faulty_backend(void) { return "cuda"; }

cl_command_queue faulty_queue_new(void) {
  void *stream = NULL, *old = NULL;
  if (cuInit(0) || cuDeviceGet(&device, 0) ||
      cuDevicePrimaryCtxRetain(&context, device) || cuCtxPushCurrent_v2(context) ||
      cuStreamCreate(&stream, 0) || cuCtxPopCurrent_v2(&old))
    return NULL;
  return (cl_command_queue)stream;
}

void faulty_queue_free(cl_command_queue queue) {
  void *old = NULL;
  cuCtxPushCurrent_v2(context);
  cuStreamDestroy_v2(queue);
  cuCtxPopCurrent_v2(&old);
  cuDevicePrimaryCtxRelease_v2(device);
}

void faulty_plan(long at, cl_int status, bool lost) {
  enum { OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201, OUT_OF_RESOURCES = 701 };
  standin_plan(at,
               status == CL_MEM_OBJECT_ALLOCATION_FAILURE ? OUT_OF_MEMORY
               : status == CL_OUT_OF_RESOURCES            ? OUT_OF_RESOURCES
                                                          : INVALID_CONTEXT,
               lost);
}

long faulty_calls(void) { return standin_calls(); }
bool faulty_happened(void) { return standin_happened(); }
// What a thread has pushed and not popped is left, too.
int faulty_alive(void) { return standin_alive() + standin_depth(); }
int faulty_misuses(void) { return standin_misuses(); }
