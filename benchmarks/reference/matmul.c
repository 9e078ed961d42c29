// References of kernels/matmul.fl: OpenBLAS where it has the product, tiles in registers elsewhere.
#include "kernels.h"

#ifdef PLAIN

// a[i][k] is a[i * row_a + k * column_a], and so on: all transpositions of the textbook's loops.
#  define PLAIN_PRODUCT(name, T, Element)                                      \
    static void name(const int64_t *sizes, const Element *a, const Element *b, \
                     const int64_t *strides, T *c) {                           \
      int64_t n = sizes[0], m = sizes[1], p = sizes[2];                        \
      for (int64_t i = 0; i < n; i++)                                          \
        for (int64_t j = 0; j < p; j++) {                                      \
          T sum = 0;                                                           \
          for (int64_t k = 0; k < m; k++)                                      \
            sum += (T)a[i * strides[0] + k * strides[1]] *                     \
                   (T)b[k * strides[2] + j * strides[3]];                      \
          c[i * p + j] = sum;                                                  \
        }                                                                      \
    }

PLAIN_PRODUCT(multiply_f32, float, float)
PLAIN_PRODUCT(multiply_f64, double, double)
PLAIN_PRODUCT(multiply_i32, int32_t, int32_t)
PLAIN_PRODUCT(multiply_u8, int32_t, uint8_t)

#  define MULTIPLY(T, ta, tb, n, m, p, a, b, c)                                        \
    multiply_##T(                                                                      \
        (int64_t[]){ n, m, p }, a, b,                                                  \
        (int64_t[]){ (ta) ? 1 : (m), (ta) ? (n) : 1, (tb) ? 1 : (p), (tb) ? (m) : 1 }, \
        c)

#else
#  include <cblas.h>

#  define MULTIPLY_f32(ta, tb, n, m, p, a, b, c)                                      \
    cblas_sgemm(CblasRowMajor, (ta) ? CblasTrans : CblasNoTrans,                      \
                (tb) ? CblasTrans : CblasNoTrans, (int)(n), (int)(p), (int)(m), 1, a, \
                (int)((ta) ? (n) : (m)), b, (int)((tb) ? (m) : (p)), 0, c, (int)(p))
#  define MULTIPLY_f64(ta, tb, n, m, p, a, b, c)                                      \
    cblas_dgemm(CblasRowMajor, (ta) ? CblasTrans : CblasNoTrans,                      \
                (tb) ? CblasTrans : CblasNoTrans, (int)(n), (int)(p), (int)(m), 1, a, \
                (int)((ta) ? (n) : (m)), b, (int)((tb) ? (m) : (p)), 0, c, (int)(p))
#  define MULTIPLY(T, ta, tb, n, m, p, a, b, c) MULTIPLY_##T(ta, tb, n, m, p, a, b, c)
#endif

void ab(int64_t n, int64_t m, int64_t p, const float *a, const float *b, float *c) {
  MULTIPLY(f32, false, false, n, m, p, a, b, c);
}

void atb(int64_t n, int64_t m, int64_t p, const float *a, const float *b, float *c) {
  MULTIPLY(f32, true, false, n, m, p, a, b, c);
}

void abt(int64_t n, int64_t m, int64_t p, const float *a, const float *b, float *c) {
  MULTIPLY(f32, false, true, n, m, p, a, b, c);
}

void atbt(int64_t n, int64_t m, int64_t p, const float *a, const float *b, float *c) {
  MULTIPLY(f32, true, true, n, m, p, a, b, c);
}

void ab_f64(int64_t n, int64_t m, int64_t p, const double *a, const double *b,
            double *c) {
  MULTIPLY(f64, false, false, n, m, p, a, b, c);
}

void atb_f64(int64_t n, int64_t m, int64_t p, const double *a, const double *b,
             double *c) {
  MULTIPLY(f64, true, false, n, m, p, a, b, c);
}

void abt_f64(int64_t n, int64_t m, int64_t p, const double *a, const double *b,
             double *c) {
  MULTIPLY(f64, false, true, n, m, p, a, b, c);
}

static inline float relu(float x) { return x > 0 ? x : 0; }

static void add_bias(int64_t n, int64_t p, const float *bias, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
#pragma omp simd
    for (int64_t j = 0; j < p; j++)
      out[i * p + j] = relu(out[i * p + j] + bias[j]);
}

void layer(int64_t n, int64_t m, int64_t p, const float *x, const float *w,
           const float *bias, float *out) {
  MULTIPLY(f32, false, false, n, m, p, x, w, out);
  add_bias(n, p, bias, out);
}

void layer_in_steps(int64_t n, int64_t m, int64_t p, const float *x, const float *w,
                    const float *bias, float *out) {
  MULTIPLY(f32, false, true, n, m, p, x, w, out);
  add_bias(n, p, bias, out);
}

void chain(int64_t n, const float *a, const float *b, const float *c, float *out) {
  float *ab = malloc((size_t)(n * n) * sizeof *ab);
  MULTIPLY(f32, false, false, n, n, n, a, b, ab);
  MULTIPLY(f32, false, false, n, n, n, ab, c, out);
  free(ab);
}

static float *centred(int64_t n, int64_t m, const float *xss) {
  float *means = calloc((size_t)m, sizeof *means),
        *out = malloc((size_t)(n * m) * sizeof *out);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      means[j] += xss[i * m + j] / (float)n;
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = xss[i * m + j] - means[j];
  free(means);
  return out;
}

void covariances(int64_t n, int64_t m, const float *xss, float *out) {
  float *xs = centred(n, m, xss);
  MULTIPLY(f32, true, false, m, n, m, xs, xs, out);
  for (int64_t i = 0; i < m * m; i++)
    out[i] /= (float)(n - 1);
  free(xs);
}

#ifdef PLAIN
void gemm(int64_t n, int64_t m, int64_t p, float alpha, float beta, const float *a,
          const float *b, const float *c, float *out) {
  MULTIPLY(f32, false, false, n, m, p, a, b, out);
  for (int64_t i = 0; i < n * p; i++)
    out[i] = alpha * out[i] + beta * c[i];
}

void ab_i32(int64_t n, int64_t m, int64_t p, const int32_t *a, const int32_t *b,
            int32_t *c) {
  MULTIPLY(i32, false, false, n, m, p, a, b, c);
}

void bytes(int64_t n, const uint8_t *a, const uint8_t *b, int32_t *c) {
  MULTIPLY(u8, false, false, n, n, n, a, b, c);
}

void batch(int64_t k, int64_t n, const float *as, const float *bs, float *cs) {
  for (int64_t at = 0; at < k * n * n; at += n * n)
    MULTIPLY(f32, false, false, n, n, n, as + at, bs + at, cs + at);
}

void complex_ab(int64_t n, int64_t m, int64_t p, const float *ar, const float *ai,
                const float *br, const float *bi, float *re, float *im) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < p; j++) {
      float r = 0, s = 0;
      for (int64_t k = 0; k < m; k++) {
        float a = ar[i * m + k], b = ai[i * m + k], c = br[k * p + j], d = bi[k * p + j];
        r += a * c - b * d;
        s += a * d + b * c;
      }
      re[i * p + j] = r;
      im[i * p + j] = s;
    }
}

void shortest(int64_t n, const float *a, const float *b, float *c) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < n; j++) {
      float low = INFINITY;
      for (int64_t k = 0; k < n; k++)
        low = a[i * n + k] + b[k * n + j] < low ? a[i * n + k] + b[k * n + j] : low;
      c[i * n + j] = low;
    }
}
#else
void gemm(int64_t n, int64_t m, int64_t p, float alpha, float beta, const float *a,
          const float *b, const float *c, float *out) {
  memcpy(out, c, (size_t)(n * p) * sizeof *out);
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)p, (int)m, alpha, a,
              (int)m, b, (int)p, beta, out, (int)p);
}

// C += A * B for integers: a panel of 32 columns of B is packed, tiles of 6 x 32 stay in registers.
typedef int32_t IntVector __attribute__((vector_size(64)));
enum {
  TILE_ROWS = 6,
  TILE_VECTORS = 2,
  VECTOR = 16,
  TILE_COLUMNS = TILE_VECTORS * VECTOR
};

static void integer_tile(int64_t m, int rows, const int32_t *a, const IntVector *panel,
                         int64_t columns, int32_t *c, int64_t p) {
  IntVector acc[TILE_ROWS][TILE_VECTORS] = { 0 };
  const int32_t *row[TILE_ROWS];
  for (int r = 0; r < TILE_ROWS; r++)
    row[r] = a + (r < rows ? r : 0) * m;
  for (int64_t k = 0; k < m; k++)
    for (int r = 0; r < TILE_ROWS; r++)
      for (int v = 0; v < TILE_VECTORS; v++)
        acc[r][v] += row[r][k] * panel[k * TILE_VECTORS + v];
  for (int r = 0; r < rows; r++)
    memcpy(c + r * p, acc[r], (size_t)columns * sizeof *c);
}

static void pack_panel(int64_t m, int64_t p, int64_t columns, const int32_t *b,
                       int32_t *panel) {
  for (int64_t k = 0; k < m; k++)
    for (int64_t j = 0; j < TILE_COLUMNS; j++)
      panel[k * TILE_COLUMNS + j] = j < columns ? b[k * p + j] : 0;
}

void ab_i32(int64_t n, int64_t m, int64_t p, const int32_t *a, const int32_t *b,
            int32_t *c) {
#  pragma omp parallel
  {
    IntVector *panel = aligned_alloc(64, (size_t)(m * TILE_VECTORS) * sizeof *panel);
#  pragma omp for schedule(dynamic)
    for (int64_t j = 0; j < p; j += TILE_COLUMNS) {
      int64_t columns = least(TILE_COLUMNS, p - j);
      pack_panel(m, p, columns, b + j, (int32_t *)panel);
      for (int64_t i = 0; i < n; i += TILE_ROWS)
        integer_tile(m, (int)least(TILE_ROWS, n - i), a + i * m, panel, columns,
                     c + i * p + j, p);
    }
    free(panel);
  }
}

static int32_t *widened(int64_t n, const uint8_t *xs) {
  int32_t *out = malloc((size_t)n * sizeof *out);
#  pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = xs[i];
  return out;
}

void bytes(int64_t n, const uint8_t *a, const uint8_t *b, int32_t *c) {
  int32_t *wide_a = widened(n * n, a), *wide_b = widened(n * n, b);
  ab_i32(n, n, n, wide_a, wide_b, c);
  free(wide_a);
  free(wide_b);
}

// Rows of the result in registers or the nearest cache.
static void small_product(int64_t n, const float *a, const float *b, float *c) {
  for (int64_t i = 0; i < n; i++) {
#  pragma omp simd
    for (int64_t j = 0; j < n; j++)
      c[i * n + j] = a[i * n] * b[j];
    for (int64_t k = 1; k < n; k++)
#  pragma omp simd
      for (int64_t j = 0; j < n; j++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
  }
}

#  define PRODUCT_OF_SIZE(N)                                            \
    static void product_##N(const float *a, const float *b, float *c) { \
      for (int i = 0; i < N; i++) {                                     \
        float row[N] = { 0 };                                           \
        for (int k = 0; k < N; k++)                                     \
          for (int j = 0; j < N; j++)                                   \
            row[j] += a[i * N + k] * b[k * N + j];                      \
        memcpy(c + i * N, row, sizeof row);                             \
      }                                                                 \
    }

PRODUCT_OF_SIZE(4)
PRODUCT_OF_SIZE(16)

void batch(int64_t k, int64_t n, const float *as, const float *bs, float *cs) {
  int64_t size = n * n;
#  pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < k; i++) {
    const float *a = as + i * size, *b = bs + i * size;
    float *c = cs + i * size;
    if (n == 4)
      product_4(a, b, c);
    else if (n == 16)
      product_16(a, b, c);
    else if (n < 48)
      small_product(n, a, b, c);
    else
      MULTIPLY(f32, false, false, n, n, n, a, b, c);
  }
}

// Interleaved for OpenBLAS, and back.
static float *interleaved(int64_t n, const float *re, const float *im) {
  float *out = malloc((size_t)n * 2 * sizeof *out);
#  pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    out[2 * i] = re[i];
    out[2 * i + 1] = im[i];
  }
  return out;
}

void complex_ab(int64_t n, int64_t m, int64_t p, const float *ar, const float *ai,
                const float *br, const float *bi, float *re, float *im) {
  const float one[2] = { 1, 0 }, zero[2] = { 0, 0 };
  float *a = interleaved(n * m, ar, ai), *b = interleaved(m * p, br, bi);
  float *c = malloc((size_t)(n * p) * 2 * sizeof *c);
  cblas_cgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)n, (int)p, (int)m, one, a,
              (int)m, b, (int)p, zero, c, (int)p);
#  pragma omp parallel for simd
  for (int64_t i = 0; i < n * p; i++) {
    re[i] = c[2 * i];
    im[i] = c[2 * i + 1];
  }
  free(a);
  free(b);
  free(c);
}

// Four rows of the result at a time, so that a row of b that is loaded is used four times.
static void shortest_rows(int64_t n, int64_t i, const float *a, const float *b,
                          float *c) {
  for (int64_t j = 0; j < 4 * n; j++)
    c[i * n + j] = FLT_MAX;
  float *c0 = c + i * n, *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n;
  const float *a0 = a + i * n, *a1 = a0 + n, *a2 = a1 + n, *a3 = a2 + n;
  for (int64_t k = 0; k < n; k++)
#  pragma omp simd
    for (int64_t j = 0; j < n; j++) {
      float x = b[k * n + j];
      c0[j] = fminf(c0[j], a0[k] + x);
      c1[j] = fminf(c1[j], a1[k] + x);
      c2[j] = fminf(c2[j], a2[k] + x);
      c3[j] = fminf(c3[j], a3[k] + x);
    }
}

// `n` is a multiple of four in all rows.
void shortest(int64_t n, const float *a, const float *b, float *c) {
#  pragma omp parallel for
  for (int64_t i = 0; i < n; i += 4)
    shortest_rows(n, i, a, b, c);
}
#endif

void batch_of_fours(int64_t k, const float *as, const float *bs, float *cs) {
  batch(k, 4, as, bs, cs);
}
