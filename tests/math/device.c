#include "device.h"
#include "base/mem.h"
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct MathDevice {
  cl_device_id id;
  cl_context context;
  cl_command_queue queue;
  cl_mem a, b, out;
  cl_program program;
  const MathUses *uses;
};

static void want(cl_int status, const char *what) {
  if (status == CL_SUCCESS) return;
  fprintf(stderr, "%s: OpenCL status %d\n", what, (int)status);
  exit(1);
}

// ---- the device

static cl_mem block(const MathDevice *d) {
  cl_int status;
  cl_mem mem =
      clCreateBuffer(d->context, CL_MEM_READ_WRITE, MATH_BATCH * 8, NULL, &status);
  want(status, "a buffer");
  return mem;
}

// The PoCL of ./dev test (tests/linker/library.py) knows what programs bring declarations of; here
// clang's header declares.
static void want_whole_library(void) {
  const char *vendors = getenv("OCL_ICD_VENDORS");
  if (vendors && strstr(vendors, "/pocl/vendors")) unsetenv("OCL_ICD_VENDORS");
}

MathDevice *math_device_open(void) {
  cl_platform_id platform;
  cl_uint platforms = 0;
  want_whole_library();
  clGetPlatformIDs(1, &platform, &platforms);
  if (!platforms) return NULL;
  MathDevice *d = new (MathDevice);
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &d->id, NULL) != CL_SUCCESS)
    return NULL;
  cl_int status;
  d->context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &status);
  want(status, "a context");
  d->queue = clCreateCommandQueue(d->context, d->id, 0, &status);
  want(status, "a queue");
  d->a = block(d);
  d->b = block(d);
  d->out = block(d);
  return d;
}

void math_device_close(MathDevice *d) {
  if (d->program) clReleaseProgram(d->program);
  clReleaseMemObject(d->a);
  clReleaseMemObject(d->b);
  clReleaseMemObject(d->out);
  clReleaseCommandQueue(d->queue);
  clReleaseContext(d->context);
}

// ---- programs

static const char *type_of(const MathUse *use) {
  const char *type = use->type == PRIM_F64 ? "double" : "float";
  return use->width == 1 ? type : text_format("%s%d", type, use->width);
}

static void add_types(Text *t, const MathUse *use, int number) {
  text_printf(t, "typedef %s Block%d __attribute__((aligned(4)));\n", type_of(use),
              number);
}

static const char *loaded(const MathUse *use, const char *from) {
  const char *type = use->type == PRIM_F64 ? "double" : "float";
  const char *values = text_format("(__global const %s *)%s", type, from);
  if (use->width == 1) return text_format("(%s)[i]", values);
  return text_format("vload%d(i, %s)", use->width, values);
}

// The elements of an item by one function.  They are stored through a type without alignment:
// PoCL 3.1 cuts what vstore16 stores into pieces.
static void add_case(Text *t, const MathUse *use, int number, const char *function) {
  text_printf(t, "  case %d:\n", number);
  text_printf(t, "    for (int r = 0; r < repeats; r++)\n");
  text_printf(t, "      for (long i = first; i < first + count; i++)\n");
  text_printf(t, "        ((__global Block%d *)out)[i] = %s(", number, function);
  text_add(t, loaded(use, "a"));
  if (op_arity(use->op) == 2) text_printf(t, ", %s", loaded(use, "b"));
  text_add(t, ");\n    break;\n");
}

const char *math_program_text(const MathUses *uses, bool own) {
  Text *t = text_new(), *cases = text_new();
  MathUses called = { 0 };
  text_add(t, "#pragma OPENCL FP_CONTRACT OFF\n");
  text_add(t, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  for (int i = 0; i < uses->count; i++) {
    const char *function = emit_math_use(&called, uses->at[i]);
    add_types(t, &uses->at[i], i);
    add_case(cases, &uses->at[i], i, own ? op_name(uses->at[i].op) : function);
  }
  if (!own) emit_math(t, &called);
  text_add(t, "__kernel void apply(__global char *out, __global const char *a,\n");
  text_add(t, "    __global const char *b, long count, int repeats, int use) {\n");
  text_add(t, "  long first = get_global_id(0) * count;\n  switch (use) {\n");
  text_printf(t, "%s  }\n}\n", text_str(cases));
  return text_str(t);
}

static void show_log(MathDevice *d) {
  size_t bytes = 0;
  clGetProgramBuildInfo(d->program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
  char *log = new_array(char, bytes + 1);
  clGetProgramBuildInfo(d->program, d->id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
  fprintf(stderr, "%s\n", log);
}

void math_device_build(MathDevice *d, const MathUses *uses, bool own) {
  if (d->program) clReleaseProgram(d->program);
  d->uses = uses;
  cl_int status;
  const char *text = math_program_text(uses, own);
  d->program = clCreateProgramWithSource(d->context, 1, &text, NULL, &status);
  want(status, "a program");
  const char *options = "-w -cl-fp32-correctly-rounded-divide-sqrt";
  status = clBuildProgram(d->program, 1, &d->id, options, NULL, NULL);
  if (status != CL_SUCCESS) show_log(d);
  want(status, "building");
}

// ---- runs

// By `items` items, each with as many vectors.
static void run_kernel(MathDevice *d, int use, size_t items, size_t count,
                       cl_int repeats) {
  cl_int status, number = use;
  cl_kernel kernel = clCreateKernel(d->program, "apply", &status);
  want(status, "a kernel");
  cl_mem blocks[] = { d->out, d->a, d->b };
  cl_long share = (cl_long)(count / items / (size_t)d->uses->at[use].width);
  size_t group = 1;
  for (cl_uint i = 0; i < 3; i++)
    want(clSetKernelArg(kernel, i, sizeof blocks[i], &blocks[i]), "an argument");
  want(clSetKernelArg(kernel, 3, sizeof share, &share), "an argument");
  want(clSetKernelArg(kernel, 4, sizeof repeats, &repeats), "an argument");
  want(clSetKernelArg(kernel, 5, sizeof number, &number), "an argument");
  want(clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &items, &group, 0, NULL, NULL),
       "a launch");
  clReleaseKernel(kernel);
}

static void write_block(MathDevice *d, cl_mem mem, size_t bytes, const void *from) {
  want(clEnqueueWriteBuffer(d->queue, mem, CL_TRUE, 0, bytes, from, 0, NULL, NULL),
       "writing");
}

void math_device_run(MathDevice *d, int use, size_t count, const void *a, const void *b,
                     void *out) {
  size_t bytes = count * (d->uses->at[use].type == PRIM_F64 ? 8 : 4);
  write_block(d, d->a, bytes, a);
  write_block(d, d->b, bytes, b);
  run_kernel(d, use, count % 256 ? 1 : 8, count, 1);
  want(clEnqueueReadBuffer(d->queue, d->out, CL_TRUE, 0, bytes, out, 0, NULL, NULL),
       "reading");
}

void math_device_repeat(MathDevice *d, int use, size_t count, int repeats) {
  run_kernel(d, use, 1, count, repeats);
  want(clFinish(d->queue), "waiting");
}
