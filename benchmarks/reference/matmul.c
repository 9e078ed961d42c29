// C = A * B in plain C and OpenMP (ikj order), or with OpenBLAS when built with -DBLAS.
//
//   matmul RUNS N    prints the microseconds of each run, one a line
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef BLAS
#include <cblas.h>
#endif

static void multiply(int n, const float *a, const float *b, float *c) {
#ifdef BLAS
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, a, n, b, n, 0, c, n);
#else
  memset(c, 0, (size_t)n * (size_t)n * sizeof *c);
#pragma omp parallel for
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) {
      float x = a[i * n + k];
#pragma omp simd
      for (int j = 0; j < n; j++)
        c[i * n + j] += x * b[k * n + j];
    }
#endif
}

int main(int argc, char **argv) {
  if (argc != 3) return fprintf(stderr, "usage: matmul RUNS N\n"), 1;
  int n = atoi(argv[2]);
  size_t count = (size_t)n * (size_t)n;
  float *a = malloc(count * sizeof *a), *b = malloc(count * sizeof *b), *c = malloc(count * sizeof *c);
  for (size_t i = 0; i < count; i++)
    a[i] = b[i] = (float)(i % 1000) / 1000;
  for (int r = 0; r < atoi(argv[1]) + 1; r++) {
    double start = omp_get_wtime();
    multiply(n, a, b, c);
    if (r > 0) printf("%.0f\n", (omp_get_wtime() - start) * 1e6);  // the first run warms up
  }
}
