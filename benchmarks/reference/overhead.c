// What a call costs: an entry point that launches one kernel (`one` of micro.fl, as a library) and waits,
// against an empty kernel on the same queue.  Prints the fastest of each, in microseconds.
#include "micro_lib.h"
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
  struct micro_context_config *cfg = micro_context_config_new();
  struct micro_context *ctx = micro_context_new(cfg);
  cl_command_queue queue = micro_context_get_command_queue(ctx);
  struct micro_f32_1d *xs = micro_new_f32_1d(ctx, data, 16), *ys = NULL;
  if (!xs) return 1;
  cl_kernel kernel = empty_kernel(queue);
  cl_mem buffer = micro_values_raw_f32_1d(ctx, xs);
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
    if (micro_entry_one(ctx, &ys, xs) || micro_context_sync(ctx)) return 1;
    double end = now_us();
    micro_free_f32_1d(ctx, ys);
    if (middle - start < bare) bare = middle - start;
    if (end - middle < call) call = end - middle;
  }
  printf("%.2f %.2f\n", call, bare);
  micro_free_f32_1d(ctx, xs);
  micro_context_free(ctx);
  micro_context_config_free(cfg);
  return 0;
}
