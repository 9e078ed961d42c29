// The building blocks of micro.fl in plain C and OpenMP, all cores.
//
//   micro NAME RUNS SIZES...   prints the microseconds of each run, one a line
//
// saxpy n | sum n | prefix n | row_sums n m.  Inputs are those of micro.fl's generators.
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float *floats(int64_t n) {
  float *xs = malloc((size_t)n * sizeof *xs);
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    xs[i] = (float)(i % 1000) / 1000;
  return xs;
}

static void saxpy(int64_t n, float a, const float *xs, const float *ys, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = a * xs[i] + ys[i];
}

static float sum(int64_t n, const float *xs) {
  float total = 0;
#pragma omp parallel for simd reduction(+ : total)
  for (int64_t i = 0; i < n; i++)
    total += xs[i];
  return total;
}

// Two passes: sums of the threads' pieces, then each piece scanned from what comes before it.
static void prefix(int64_t n, const int32_t *xs, int32_t *out) {
  int32_t sums[257] = { 0 };
#pragma omp parallel
  {
    int id = omp_get_thread_num(), threads = omp_get_num_threads();
    int64_t from = n * id / threads, to = n * (id + 1) / threads;
    uint32_t total = 0;
    for (int64_t i = from; i < to; i++)
      total += (uint32_t)xs[i];
    sums[id + 1] = (int32_t)total;
#pragma omp barrier
    uint32_t acc = 0;
    for (int t = 0; t <= id; t++)
      acc += (uint32_t)sums[t];
    for (int64_t i = from; i < to; i++)
      out[i] = (int32_t)(acc += (uint32_t)xs[i]);
  }
}

static void row_sums(int64_t n, int64_t m, const float *xss, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < m; j++)
      total += xss[i * m + j];
    out[i] = total;
  }
}

typedef struct Data {
  int64_t n, m;
  float *xs, *ys, *out;
  int32_t *is, *scanned;
} Data;

static volatile float sink;

static void run(const char *name, const Data *d) {
  if (strcmp(name, "saxpy") == 0) saxpy(d->n, 2, d->xs, d->ys, d->out);
  if (strcmp(name, "sum") == 0) sink = sum(d->n, d->xs);
  if (strcmp(name, "prefix") == 0) prefix(d->n, d->is, d->scanned);
  if (strcmp(name, "row_sums") == 0) row_sums(d->n, d->m, d->xs, d->out);
}

int main(int argc, char **argv) {
  if (argc < 4) return fprintf(stderr, "usage: micro NAME RUNS SIZES...\n"), 1;
  Data d = { .n = atoll(argv[3]), .m = argc > 4 ? atoll(argv[4]) : 1 };
  int64_t count = d.n * d.m;
  d.xs = floats(count);
  d.ys = floats(count);
  d.out = floats(count);
  d.is = malloc((size_t)count * sizeof *d.is);
  d.scanned = calloc((size_t)count, sizeof *d.scanned);
  for (int64_t i = 0; i < count; i++)
    d.is[i] = (int32_t)(i % 1000);
  for (int r = 0; r < atoi(argv[2]) + 1; r++) {
    double start = omp_get_wtime();
    run(argv[1], &d);
    if (r > 0) printf("%.0f\n", (omp_get_wtime() - start) * 1e6);  // the first run warms up
  }
}
