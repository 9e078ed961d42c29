// Measures errors in units in the last place: errors SAMPLES WIDTH [FUNCTION_TYPE...]
//
// Random arguments, most of them where something changes, against the host's library (reference.h);
// 0 SAMPLES: all 2^32 arguments of the functions of one f32, against the same functions of f64, which
// random arguments have shown to be right.  Prints the greatest error and where it is.  Runs for minutes.
#include "device.h"
#include "reference.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Worst {
  double error, a, b, got;
  long double expected;
} Worst;

typedef struct Batch {
  PrimType type;
  void *a, *b, *out;
  bool given;            // f32: by the function of f64,
  double *wide, *exact;  // whose arguments and results these are
} Batch;

static double at(PrimType type, const void *values, size_t i) {
  return type == PRIM_F32 ? (double)((const float *)values)[i]
                          : ((const double *)values)[i];
}

static void put(PrimType type, void *values, size_t i, double x) {
  if (type == PRIM_F32)
    ((float *)values)[i] = (float)x;
  else
    ((double *)values)[i] = x;
}

// Surely less than so many units off?  A float is at most 2^24 units.
static bool is_better(double got, double exact, double units) {
  bool same = memcmp(&got, &exact, sizeof got) == 0;
  return same || fabs(got - exact) < fabs(exact) * (units * 0x1p-24);
}

// The worst of a part of the batch.
static Worst worst_of(PrimOp op, const Batch *batch, size_t from, size_t to) {
  Worst worst = { .error = -1 };
  for (size_t i = from; i < to; i++) {
    double a = at(batch->type, batch->a, i), b = at(batch->type, batch->b, i),
           got = at(batch->type, batch->out, i);
    if (batch->given && is_better(got, batch->exact[i], worst.error)) continue;
    long double expected = batch->given ? (long double)batch->exact[i]
                                        : math_reference(op, batch->type, a, b);
    double error = math_error(batch->type, got, expected);
    if (error > worst.error) worst = (Worst){ error, a, b, got, expected };
  }
  return worst;
}

static Worst compare(PrimOp op, const Batch *batch) {
  enum { PARTS = 64 };
  Worst parts[PARTS], worst = { .error = -1 };
#pragma omp parallel for schedule(dynamic)
  for (int i = 0; i < PARTS; i++)
    parts[i] = worst_of(op, batch, (size_t)i * (MATH_BATCH / PARTS),
                        (size_t)(i + 1) * (MATH_BATCH / PARTS));
  for (int i = 0; i < PARTS; i++)
    if (parts[i].error > worst.error) worst = parts[i];
  return worst;
}

static void fill_all(const Batch *batch, uint64_t first) {
  for (size_t i = 0; i < MATH_BATCH; i++) {
    uint32_t bits = (uint32_t)(first + i);
    memcpy((float *)batch->a + i, &bits, sizeof bits);
    batch->wide[i] = (double)((float *)batch->a)[i];
  }
}

static void fill_random(PrimOp op, const Batch *batch, uint64_t seed) {
  enum { PARTS = 64 };
#pragma omp parallel for
  for (int part = 0; part < PARTS; part++) {
    MathRandom r = { (seed + (uint64_t)part + 1) * UINT64_C(0x9e3779b97f4a7c15) };
    for (int i = 0; i < MATH_BATCH / PARTS; i++) {
      size_t index = (size_t)(part * (MATH_BATCH / PARTS) + i);
      double a = math_argument(batch->type, &r);
      put(batch->type, batch->a, index, a);
      put(batch->type, batch->b, index,
          op_arity(op) == 2 ? math_second(op, batch->type, a, &r) : 0);
    }
  }
}

static void keep_worst(Worst *worst, Worst other) {
  if (other.error > worst->error) *worst = other;
}

// Uses: the function of f32, and that of f64.
static Worst measure_all(MathDevice *d, PrimOp op, Batch *batch) {
  Worst worst = { .error = -1 };
  batch->given = true;
  for (uint64_t first = 0; first < UINT64_C(1) << 32; first += MATH_BATCH) {
    fill_all(batch, first);
    math_device_run(d, 0, MATH_BATCH, batch->a, batch->b, batch->out);
    math_device_run(d, 1, MATH_BATCH, batch->wide, batch->b, batch->exact);
    keep_worst(&worst, compare(op, batch));
  }
  return worst;
}

static Worst measure(MathDevice *d, PrimOp op, Batch *batch, uint64_t samples) {
  Worst worst = { .error = -1 };
  batch->given = false;
  for (uint64_t first = 0; first < samples; first += MATH_BATCH) {
    fill_random(op, batch, first);
    math_device_run(d, 0, MATH_BATCH, batch->a, batch->b, batch->out);
    keep_worst(&worst, compare(op, batch));
  }
  return worst;
}

static void report(MathDevice *d, MathUse use, Batch *batch, uint64_t samples) {
  MathUses uses = { 0 };
  vec_push(&uses, use);
  vec_push(&uses, ((MathUse){ use.op, PRIM_F64, use.width }));
  math_device_build(d, &uses, false);
  Worst w = samples ? measure(d, use.op, batch, samples) : measure_all(d, use.op, batch);
  printf("%-20s %8.4f ulp at %a", emit_math_use(&(MathUses){ 0 }, use), w.error, w.a);
  if (op_arity(use.op) == 2) printf(", %a", w.b);
  printf(": %a, not %La\n", w.got, w.expected);
  fflush(stdout);
}

static bool is_wanted(int argc, char **argv, const char *name) {
  for (int i = 3; i < argc; i++)
    if (strcmp(argv[i], name) == 0) return true;
  return argc <= 3;
}

int main(int argc, char **argv) {
  MathDevice *d = math_device_open();
  if (!d || argc < 3) return 1;
  uint64_t samples = strtoull(argv[1], NULL, 10);
  int width = atoi(argv[2]);
  Batch batch = {
    PRIM_F32, malloc(MATH_BATCH * 8), calloc(MATH_BATCH, 8), malloc(MATH_BATCH * 8),
    false,    malloc(MATH_BATCH * 8), malloc(MATH_BATCH * 8)
  };
  for (int i = 0; math_function(i) != OP_COUNT; i++)
    for (PrimType type = PRIM_F32; type <= PRIM_F64; type++) {
      MathUse use = { math_function(i), type, width };
      const char *name = text_format("%s_%s", op_name(use.op), prim_type_name(type));
      if (!emit_math_use(&(MathUses){ 0 }, use) || !is_wanted(argc, argv, name)) continue;
      if (!samples && (type != PRIM_F32 || op_arity(use.op) != 1)) continue;
      batch.type = type;
      report(d, use, &batch, samples);
    }
  math_device_close(d);
  return 0;
}
