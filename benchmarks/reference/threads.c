// What C with OpenMP gains of several threads (../workers.py): threads NAME RUNS prints the
// milliseconds of the best run.
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Room that each thread touches first where it works later.
static void *room(int64_t count, size_t bytes) {
  char *p = malloc((size_t)count * bytes);
#pragma omp parallel for
  for (int64_t i = 0; i < count; i++)
    memset(p + (size_t)i * bytes, 0, bytes);
  return p;
}

static float *floats(int64_t count) {
  float *xs = room(count, sizeof *xs);
  for (int64_t i = 0; i < count; i++)
    xs[i] = (float)(i * 7919 % 1000) / 1000;
  return xs;
}

static double *doubles(int64_t count) {
  double *xs = room(count, sizeof *xs);
  for (int64_t i = 0; i < count; i++)
    xs[i] = (double)(i * 7919 % 1000) / 1000;
  return xs;
}

static void least(double *best, double start) {
  double took = omp_get_wtime() - start;
  if (took < *best) *best = took;
}

static double saxpy(int runs) {
  enum { N = 20000000 };
  float *xs = floats(N), *ys = floats(N), *out = room(N, sizeof *out);
  double best = INFINITY;
  for (int r = 0; r < runs; r++) {
    double start = omp_get_wtime();
#pragma omp parallel for simd
    for (int64_t i = 0; i < N; i++)
      out[i] = 2 * xs[i] + ys[i];
    least(&best, start);
  }
  return best;
}

static volatile double kept;  // so that sums are computed

static double dot(int runs) {
  enum { N = 20000000 };
  float *xs = floats(N), *ys = floats(N);
  double best = INFINITY;
  for (int r = 0; r < runs; r++) {
    double start = omp_get_wtime();
    float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (int64_t i = 0; i < N; i++)
      sum += xs[i] * ys[i];
    kept = sum;
    least(&best, start);
  }
  return best;
}

static double math(int runs) {
  enum { N = 5000000 };
  double *xs = doubles(N), best = INFINITY;
  for (int r = 0; r < runs; r++) {
    double start = omp_get_wtime(), sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
    for (int64_t i = 0; i < N; i++)
      sum += exp(sin(xs[i])) * log(xs[i] + 2);
    kept = sum;
    least(&best, start);
  }
  return best;
}

static double matmul(int runs) {
  enum { N = 1024, TILE = 64 };
  float *a = floats(N * N), *b = floats(N * N), *out = room(N * N, sizeof *out);
  double best = INFINITY;
  for (int r = 0; r < runs; r++) {
    double start = omp_get_wtime();
#pragma omp parallel for
    for (int i = 0; i < N; i += 4) {
      memset(out + i * N, 0, 4 * N * sizeof *out);
      for (int k0 = 0; k0 < N; k0 += TILE)
        for (int k = k0; k < k0 + TILE; k++)
#pragma omp simd
          for (int j = 0; j < N; j++)
            for (int row = i; row < i + 4; row++)
              out[row * N + j] += a[row * N + k] * b[k * N + j];
    }
    least(&best, start);
  }
  return best;
}

static double bodies(int runs) {
  enum { N = 10000, STEPS = 10 };
  float *x = floats(N), *y = floats(N), *z = floats(N), *m = floats(N);
  float *vx = room(N, sizeof *vx), *vy = room(N, sizeof *vy), *vz = room(N, sizeof *vz);
  double best = INFINITY;
  for (int r = 0; r < runs; r++) {
    double start = omp_get_wtime();
    for (int step = 0; step < STEPS; step++) {
#pragma omp parallel for
      for (int i = 0; i < N; i++) {
        float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
        for (int j = 0; j < N; j++) {
          float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
          float r2 = dx * dx + dy * dy + dz * dz + 0.01f, s = m[j] / (r2 * sqrtf(r2));
          ax += s * dx, ay += s * dy, az += s * dz;
        }
        vx[i] += 0.01f * ax, vy[i] += 0.01f * ay, vz[i] += 0.01f * az;
      }
      for (int i = 0; i < N; i++)
        x[i] += 0.01f * vx[i], y[i] += 0.01f * vy[i], z[i] += 0.01f * vz[i];
    }
    least(&best, start);
  }
  return best;
}

static double jacobi(int runs) {
  enum { N = 2000, ROUNDS = 20 };
  float *from = floats(N * N), *to = room(N * N, sizeof *to);
  double best = INFINITY;
  memcpy(to, from, (size_t)N * N * sizeof *to);
  for (int r = 0; r < runs; r++) {
    double start = omp_get_wtime();
    for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for
      for (int i = 1; i < N - 1; i++)
#pragma omp simd
        for (int j = 1; j < N - 1; j++)
          to[i * N + j] = 0.25f * (from[(i - 1) * N + j] + from[(i + 1) * N + j] +
                                   from[i * N + j - 1] + from[i * N + j + 1]);
      float *other = from;
      from = to;
      to = other;
    }
    least(&best, start);
  }
  return best;
}

enum { POINTS = 400000, DIMS = 8, CENTRES = 16 };

typedef struct Sums {
  float sums[CENTRES * DIMS], counts[CENTRES];
} Sums;

static int nearest(const float *point, const float *centres) {
  int best = -1;
  float least_distance = INFINITY;
  for (int c = 0; c < CENTRES; c++) {
    float distance = 0;
    for (int d = 0; d < DIMS; d++) {
      float far = centres[c * DIMS + d] - point[d];
      distance += far * far;
    }
    if (distance < least_distance) best = c, least_distance = distance;
  }
  return best;
}

static void add_points(Sums *all, const float *points, const float *centres) {
  memset(all, 0, sizeof *all);
#pragma omp parallel
  {
    Sums own = { 0 };
#pragma omp for
    for (int i = 0; i < POINTS; i++) {
      const float *point = points + i * DIMS;
      int at = nearest(point, centres);
      own.counts[at]++;
      for (int d = 0; d < DIMS; d++)
        own.sums[at * DIMS + d] += point[d];
    }
#pragma omp critical
    {
      for (int c = 0; c < CENTRES; c++)
        all->counts[c] += own.counts[c];
      for (int k = 0; k < CENTRES * DIMS; k++)
        all->sums[k] += own.sums[k];
    }
  }
}

static double kmeans(int runs) {
  enum { ROUNDS = 10 };
  float *points = floats(POINTS * DIMS), centres[CENTRES * DIMS];
  double best = INFINITY;
  for (int r = 0; r < runs; r++) {
    double start = omp_get_wtime();
    memcpy(centres, points, sizeof centres);
    for (int round = 0; round < ROUNDS; round++) {
      Sums all;
      add_points(&all, points, centres);
      for (int k = 0; k < CENTRES * DIMS; k++)
        centres[k] = all.sums[k] / fmaxf(1, all.counts[k / DIMS]);
    }
    kept = centres[0];
    least(&best, start);
  }
  return best;
}

static double power(int runs) {
  enum { N = 3000, ROUNDS = 20 };
  double *a = doubles((int64_t)N * N), *x = doubles(N), *y = doubles(N), best = INFINITY;
  for (int r = 0; r < runs; r++) {
    double start = omp_get_wtime();
    for (int round = 0; round < ROUNDS; round++) {
      double norm = 0;
#pragma omp parallel for reduction(+ : norm)
      for (int i = 0; i < N; i++) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (int j = 0; j < N; j++)
          sum += a[(int64_t)i * N + j] * x[j];
        y[i] = sum;
        norm += sum * sum;
      }
      for (int i = 0; i < N; i++)
        x[i] = y[i] / sqrt(norm);
    }
    least(&best, start);
  }
  return best;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    double (*run)(int runs);
  } all[] = { { "saxpy", saxpy },   { "dot", dot },       { "math", math },
              { "matmul", matmul }, { "bodies", bodies }, { "jacobi", jacobi },
              { "power", power },   { "kmeans", kmeans } };
  for (size_t i = 0; argc == 3 && i < sizeof all / sizeof *all; i++)
    if (strcmp(all[i].name, argv[1]) == 0)
      printf("%.3f\n", 1e3 * all[i].run(atoi(argv[2])));
  return argc != 3;
}
