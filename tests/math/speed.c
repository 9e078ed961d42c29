// Nanoseconds per element of the functions of runtime/kernels/math/ as vectors on the first OpenCL device,
// beside gcc's loops with libmvec and OpenCL's own functions: speed [FUNCTION_TYPE...]
//
// One thread, arrays in the first-level cache, in turn, the fastest of many short runs of each.
#include "device.h"
#include "reference.h"
#include "speed_reference.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { COUNT = 2048, ROUNDS = 12, REPEATS = 2000 };

typedef struct Case {
  MathUse use;
  void *a, *b, *out;
} Case;

static double now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef struct Range {
  double low, high;
} Range;

static Range range_of(PrimOp op) {
  if (op == OP_ASIN || op == OP_ACOS || op == OP_ATANH) return (Range){ -0.999, 0.999 };
  if (op == OP_LOG || op == OP_LOG2 || op == OP_LOG10 || op == OP_POW || op == OP_LOG1P)
    return (Range){ 0.01, 20 };
  if (op == OP_ACOSH) return (Range){ 1, 20 };
  if (op == OP_ERF || op == OP_ERFC || op == OP_TANH) return (Range){ -4, 4 };
  return (Range){ -10, 10 };
}

static void fill(Case *c) {
  MathRandom r = { 88172645463325252u };
  Range range = range_of(c->use.op);
  for (int i = 0; i < COUNT; i++) {
    double u = (double)(math_random(&r) >> 11) * 0x1p-53,
           v = (double)(math_random(&r) >> 11) * 0x1p-53;
    double a = range.low + (range.high - range.low) * u, b = -5 + 10 * v;
    if (c->use.type == PRIM_F32) {
      ((float *)c->a)[i] = (float)a;
      ((float *)c->b)[i] = (float)b;
    } else {
      ((double *)c->a)[i] = a;
      ((double *)c->b)[i] = b;
    }
  }
}

static double reference_ns(const Case *c) {
  double start = now_ns();
  for (int i = 0; i < REPEATS; i++)
    if (c->use.type == PRIM_F32)
      math_loop_f32(c->use.op)(COUNT, c->a, c->b, c->out);
    else
      math_loop_f64(c->use.op)(COUNT, c->a, c->b, c->out);
  return (now_ns() - start) / COUNT / REPEATS;
}

static double device_ns(MathDevice *d) {
  double start = now_ns();
  math_device_repeat(d, 0, COUNT, REPEATS);
  return (now_ns() - start) / COUNT / REPEATS;
}

static double least(double a, double b) { return a < b ? a : b; }

static void compare(MathDevice *d, MathDevice *own, Case *c) {
  fill(c);
  MathUses uses = { 0 };
  vec_push(&uses, c->use);
  math_device_build(d, &uses, false);
  math_device_build(own, &uses, true);
  math_device_run(d, 0, COUNT, c->a, c->b, c->out);
  math_device_run(own, 0, COUNT, c->a, c->b, c->out);
  double ours = INFINITY, vendor = INFINITY, mvec = INFINITY;
  for (int i = 0; i < ROUNDS; i++) {
    mvec = least(mvec, reference_ns(c));
    ours = least(ours, device_ns(d));
    if (i < ROUNDS / 6) vendor = least(vendor, device_ns(own));
  }
  printf("%-12s %7.3f ns  libmvec %7.3f  ratio %5.2f  OpenCL's own %8.3f\n",
         text_format("%s_%s", op_name(c->use.op), prim_type_name(c->use.type)), ours,
         mvec, mvec / ours, vendor);
  fflush(stdout);
}

int main(int argc, char **argv) {
  MathDevice *d = math_device_open(), *own = math_device_open();
  if (!d) return 1;
  Case c = { .a = aligned_alloc(64, COUNT * 8),
             .b = aligned_alloc(64, COUNT * 8),
             .out = aligned_alloc(64, COUNT * 8) };
  for (PrimType type = PRIM_F32; type <= PRIM_F64; type++)
    for (int i = 0; math_function(i) != OP_COUNT; i++) {
      PrimOp op = math_function(i);
      const char *name = text_format("%s_%s", op_name(op), prim_type_name(type));
      bool wanted = argc == 1;
      for (int k = 1; k < argc; k++)
        wanted |= strcmp(argv[k], name) == 0;
      if (!wanted || !emit_math_use(&(MathUses){ 0 }, (MathUse){ op, type, 1 })) continue;
      c.use = (MathUse){ op, type, type == PRIM_F32 ? 16 : 8 };
      compare(d, own, &c);
    }
  return 0;
}
