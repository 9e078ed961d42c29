// What a call costs: an entry point that launches one kernel (`one` of call.fl, as a library) and waits,
// against an empty kernel on the same queue.  Prints the fastest of each, in microseconds.
#include "call_lib.h"
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 3000 };

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static cl_kernel empty_kernel(cl_command_queue queue) {
  static const char *const text = "__kernel void empty(__global float *x, long n) { }";
  const char *source = text;
  cl_context cl;
  clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof cl, &cl, NULL);
  cl_program program = clCreateProgramWithSource(cl, 1, &source, NULL, NULL);
  if (clBuildProgram(program, 0, NULL, NULL, NULL, NULL) != CL_SUCCESS) exit(1);
  return clCreateKernel(program, "empty", NULL);
}

int main(void) {
  static const float data[16] = { 1 };
  struct call_context_config *cfg = call_context_config_new();
  struct call_context *ctx = call_context_new(cfg);
  cl_command_queue queue = call_context_get_command_queue(ctx);
  struct call_f32_1d *xs = call_new_f32_1d(ctx, data, 16), *ys = NULL;
  if (!xs) return 1;
  cl_kernel kernel = empty_kernel(queue);
  cl_mem buffer = call_values_raw_f32_1d(ctx, xs);
  cl_long n = 16;
  clSetKernelArg(kernel, 0, sizeof buffer, &buffer);
  clSetKernelArg(kernel, 1, sizeof n, &n);
  double bare = 1e9, call = 1e9;
  for (int i = 0; i < ROUNDS; i++) {
    size_t size = 16;
    double start = now_us();
    clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, &size, 0, NULL, NULL);
    clFinish(queue);
    double middle = now_us();
    if (call_entry_one(ctx, &ys, xs) || call_context_sync(ctx)) return 1;
    double end = now_us();
    call_free_f32_1d(ctx, ys);
    if (middle - start < bare) bare = middle - start;
    if (end - middle < call) call = end - middle;
  }
  printf("%.2f %.2f\n", call, bare);
  call_free_f32_1d(ctx, xs);
  call_context_free(ctx);
  call_context_config_free(cfg);
  return 0;
}
