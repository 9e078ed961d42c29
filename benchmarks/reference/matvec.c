// References of kernels/matvec.fl.
#include "kernels.h"

// Rows of a matrix times a vector.
#define ROW_PRODUCT(name, T)                                                      \
  static inline T name(int64_t m, const T *row, const T *x) {                     \
    T sum = 0;                                                                    \
    _Pragma("omp simd reduction(+ : sum)") for (int64_t j = 0; j < m; j++) sum += \
        row[j] * x[j];                                                            \
    return sum;                                                                   \
  }

ROW_PRODUCT(dot_f32, float)
ROW_PRODUCT(dot_f64, double)

#ifdef PLAIN
#  define ROWS(name, T, dot)                                        \
    void name(int64_t n, int64_t m, const T *a, const T *x, T *y) { \
      for (int64_t i = 0; i < n; i++)                               \
        y[i] = dot(m, a + i * m, x);                                \
    }
#  define COLUMNS(name, T)                                          \
    void name(int64_t n, int64_t m, const T *a, const T *x, T *y) { \
      memset(y, 0, (size_t)m * sizeof *y);                          \
      for (int64_t i = 0; i < n; i++)                               \
        for (int64_t j = 0; j < m; j++)                             \
          y[j] += x[i] * a[i * m + j];                              \
    }
#else
enum { SHORT_ROW = 32, FEW_ROWS = 64, BLOCK = 2048 };

// Rows shorter than two vectors: neighbouring ones side by side.  Few rows: each is shared out.
#  define ROWS(name, T, dot)                                                            \
    static void name##_short(int64_t n, int64_t m, const T *a, const T *x, T *y) {      \
      _Pragma("omp parallel for simd") for (int64_t i = 0; i < n; i++) {                \
        T sum = 0;                                                                      \
        for (int64_t j = 0; j < m; j++)                                                 \
          sum += a[i * m + j] * x[j];                                                   \
        y[i] = sum;                                                                     \
      }                                                                                 \
    }                                                                                   \
    static void name##_few(int64_t n, int64_t m, const T *a, const T *x, T *y) {        \
      T sums[FEW_ROWS] = { 0 };                                                         \
      _Pragma("omp parallel for reduction(+ : sums)") for (int64_t j = 0; j < m;        \
                                                           j += BLOCK) for (int64_t i = \
                                                                                0;      \
                                                                            i < n; i++) \
          sums[i] += dot(least(BLOCK, m - j), a + i * m + j, x + j);                    \
      memcpy(y, sums, (size_t)n * sizeof *y);                                           \
    }                                                                                   \
    static void name##_many(int64_t n, int64_t m, const T *a, const T *x, T *y) {       \
      _Pragma("omp parallel for") for (int64_t i = 0; i < n; i++) y[i] =                \
          dot(m, a + i * m, x);                                                         \
    }                                                                                   \
    void name(int64_t n, int64_t m, const T *a, const T *x, T *y) {                     \
      if (m < SHORT_ROW)                                                                \
        name##_short(n, m, a, x, y);                                                    \
      else if (n < FEW_ROWS)                                                            \
        name##_few(n, m, a, x, y);                                                      \
      else                                                                              \
        name##_many(n, m, a, x, y);                                                     \
    }

// Columns: sums of a block of columns stay in the nearest cache.  Rows are shared out if there are many.
#  define COLUMNS(name, T)                                                           \
    static void name##_part(const T *a, const T *x, T *y, int64_t m,                 \
                            const int64_t *box) {                                    \
      for (int64_t block = box[2]; block < box[3]; block += BLOCK) {                 \
        int64_t end = least(block + BLOCK, box[3]);                                  \
        for (int64_t i = box[0]; i < box[1]; i++)                                    \
          _Pragma("omp simd") for (int64_t j = block; j < end; j++) y[j] +=          \
              x[i] * a[i * m + j];                                                   \
      }                                                                              \
    }                                                                                \
    static void name##_by_rows(int64_t n, int64_t m, const T *a, const T *x, T *y) { \
      _Pragma("omp parallel") {                                                      \
        Part p = part_of(n);                                                         \
        T *own = calloc((size_t)m, sizeof *own);                                     \
        name##_part(a, x, own, m, (int64_t[]){ p.from, p.to, 0, m });                \
        _Pragma("omp critical") for (int64_t j = 0; j < m; j++) y[j] += own[j];      \
        free(own);                                                                   \
      }                                                                              \
    }                                                                                \
    void name(int64_t n, int64_t m, const T *a, const T *x, T *y) {                  \
      memset(y, 0, (size_t)m * sizeof *y);                                           \
      if (n > m / 4) {                                                               \
        name##_by_rows(n, m, a, x, y);                                               \
        return;                                                                      \
      }                                                                              \
      _Pragma("omp parallel") {                                                      \
        Part p = part_of(m);                                                         \
        name##_part(a, x, y, m, (int64_t[]){ 0, n, p.from, p.to });                  \
      }                                                                              \
    }
#endif

ROWS(rows, float, dot_f32)
ROWS(rows_f64, double, dot_f64)
COLUMNS(columns, float)
COLUMNS(columns_f64, double)

void residual(int64_t n, int64_t m, const float *a, const float *x, const float *b,
              float *r, float *norm) {
  float sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) {
    r[i] = b[i] - dot_f32(m, a + i * m, x);
    sum += r[i] * r[i];
  }
  *norm = sqrtf(sum);
}

#ifdef PLAIN
void both(int64_t n, int64_t m, const float *a, const float *x, const float *y, float *ax,
          float *ya) {
  rows(n, m, a, x, ax);
  columns(n, m, a, y, ya);
}
#else
// Each row is used for both while it is in the cache.
void both(int64_t n, int64_t m, const float *a, const float *x, const float *y, float *ax,
          float *ya) {
  memset(ya, 0, (size_t)m * sizeof *ya);
#  pragma omp parallel
  {
    Part p = part_of(n);
    float *own = calloc((size_t)m, sizeof *own);
    for (int64_t i = p.from; i < p.to; i++) {
      ax[i] = dot_f32(m, a + i * m, x);
#  pragma omp simd
      for (int64_t j = 0; j < m; j++)
        own[j] += y[i] * a[i * m + j];
    }
#  pragma omp critical
    for (int64_t j = 0; j < m; j++)
      ya[j] += own[j];
    free(own);
  }
}
#endif

#ifndef PLAIN
static void product_8(const float *a, const float *x, float *y) {
  for (int i = 0; i < 8; i++)
    y[i] = dot_f32(8, a + 8 * i, x);
}
#endif

void batch(int64_t k, int64_t n, const float *as, const float *xs, float *ys) {
#pragma omp parallel for schedule(static)
  for (int64_t l = 0; l < k; l++) {
    const float *a = as + l * n * n, *x = xs + l * n;
#ifndef PLAIN
    if (n == 8) {
      product_8(a, x, ys + l * n);
      continue;
    }
#endif
    for (int64_t i = 0; i < n; i++)
      ys[l * n + i] = dot_f32(n, a + i * n, x);
  }
}

void points(int64_t n, const float *a, const float *xs, float *ys) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    for (int r = 0; r < 4; r++) {
      float sum = 0;
      for (int c = 0; c < 4; c++)
        sum += a[4 * r + c] * xs[4 * i + c];
      ys[4 * i + r] = sum;
    }
}

void sparse_rows(int64_t n, int64_t m, int64_t k, const float *values,
                 const int64_t *columns, const float *x, float *y) {
  (void)k;
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < m; j++)
      sum += values[i * m + j] * x[columns[i * m + j]];
    y[i] = sum;
  }
}

void iterated(int64_t n, const float *a, const float *x, float *out) {
  float *from = malloc((size_t)n * sizeof *from);
  memcpy(from, x, (size_t)n * sizeof *from);
  for (int step = 0; step < 10; step++) {
    rows(n, n, a, from, out);
    memcpy(from, out, (size_t)n * sizeof *from);
  }
  free(from);
}
