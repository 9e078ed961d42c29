// References of kernels/stencil.fl: the interior in vectors, borders apart.
#include "kernels.h"

static inline int64_t clamp(int64_t i, int64_t n) {
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}
static inline int64_t wrap(int64_t i, int64_t n) {
  return i < 0 ? i + n : i >= n ? i - n : i;
}

// One dimension: `value` is an expression of xs, l, i and r.
#define STENCIL_1D(name, T, BORDER, value)                                 \
  void name(int64_t n, const T *xs, T *out) {                              \
    _Pragma("omp parallel for simd") for (int64_t i = 1; i < n - 1; i++) { \
      int64_t l = i - 1, r = i + 1;                                        \
      out[i] = value;                                                      \
    }                                                                      \
    for (int64_t i = 0; i < n; i += n - 1) {                               \
      int64_t l = BORDER(i - 1, n), r = BORDER(i + 1, n);                  \
      out[i] = value;                                                      \
    }                                                                      \
  }

STENCIL_1D(clamped_1d, float, clamp, (xs[l] + xs[i] + xs[r]) / 3)
STENCIL_1D(wrapped_1d, float, wrap, 0.25f * xs[l] + 0.5f * xs[i] + 0.25f * xs[r])

void zero_1d(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 1; i < n - 1; i++)
    out[i] = xs[i - 1] - 2 * xs[i] + xs[i + 1];
  out[0] = xs[1] - 2 * xs[0];
  out[n - 1] = xs[n - 2] - 2 * xs[n - 1];
}

void inner_1d(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 1; i < n - 1; i++)
    out[i] = 0.5f * (xs[i - 1] + xs[i + 1]);
  out[0] = xs[0];
  out[n - 1] = xs[n - 1];
}

int64_t slices_1d(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n - 2; i++)
    out[i] = xs[i] - 2 * xs[i + 1] + xs[i + 2];
  return n - 2;
}

static inline double fourth_order(const double *xs, const int64_t *at) {
  return (-xs[at[0]] + 16 * xs[at[1]] - 30 * xs[at[2]] + 16 * xs[at[3]] - xs[at[4]]) / 12;
}

void fourth_order_1d(int64_t n, const double *xs, double *out) {
#pragma omp parallel for simd
  for (int64_t i = 2; i < n - 2; i++)
    out[i] = (-xs[i - 2] + 16 * xs[i - 1] - 30 * xs[i] + 16 * xs[i + 1] - xs[i + 2]) / 12;
  for (int64_t k = 0; k < 4; k++) {
    int64_t i = k < 2 ? k : n - 4 + k;
    int64_t at[] = { clamp(i - 2, n), clamp(i - 1, n), i, clamp(i + 1, n),
                     clamp(i + 2, n) };
    out[i] = fourth_order(xs, at);
  }
}

// Two dimensions: `value` is an expression of rows u, c and d (above, at and below) and columns l, j, r.
#define ROW_OF_STENCIL(name, T, BORDER, value)                                           \
  static inline void name##_row(int64_t m, const T *u, const T *c, const T *d, T *out) { \
    _Pragma("omp simd") for (int64_t j = 1; j < m - 1; j++) {                            \
      int64_t l = j - 1, r = j + 1;                                                      \
      (void)l, (void)r;                                                                  \
      out[j] = (T)(value);                                                               \
    }                                                                                    \
    for (int64_t j = 0; j < m; j += m - 1) {                                             \
      int64_t l = BORDER(j - 1, m), r = BORDER(j + 1, m);                                \
      out[j] = (T)(value);                                                               \
    }                                                                                    \
  }
#define STENCIL_2D(name, T, BORDER, value)                      \
  ROW_OF_STENCIL(name, T, BORDER, value)                        \
  void name(int64_t n, int64_t m, const T *xss, T *out) {       \
    _Pragma("omp parallel for") for (int64_t i = 0; i < n; i++) \
        name##_row(m, xss + BORDER(i - 1, n) * m, xss + i * m,  \
                   xss + BORDER(i + 1, n) * m, out + i * m);    \
  }

#define MEAN_OF_NINE \
  (u[l] + u[j] + u[r] + c[l] + c[j] + c[r] + d[l] + d[j] + d[r]) * (1 / 9.0f)
STENCIL_2D(clamped_2d, float, clamp, 0.2f * (u[j] + d[j] + c[l] + c[r] + c[j]))
STENCIL_2D(blur_3x3, float, clamp, MEAN_OF_NINE)
STENCIL_2D(wrapped_2d, float, wrap, u[j] + d[j] + c[l] + c[r] - 4 * c[j])

// 3 neighbours alive, or 2 and the cell itself: the number, or'ed with the cell, is 3.
#define LIFE \
  (((uint8_t)(u[l] + u[j] + u[r] + c[l] + c[r] + d[l] + d[j] + d[r])) | c[j]) == 3
STENCIL_2D(life, uint8_t, wrap, LIFE)

static inline float minimum(float a, float b) { return a < b ? a : b; }
static inline float maximum(float a, float b) { return a > b ? a : b; }

static inline float median(float a, float b, float c, float d, float x) {
  float low = maximum(minimum(a, b), minimum(c, d)),
        high = minimum(maximum(a, b), maximum(c, d));
  return maximum(minimum(low, high), minimum(maximum(low, high), x));
}

STENCIL_2D(median_2d, float, clamp, median(u[j], d[j], c[l], c[r], c[j]))

void zero_2d(int64_t n, int64_t m, const float *xss, float *out) {
  float *zeros = calloc((size_t)m, sizeof *zeros);
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    const float *c = xss + i * m, *u = i > 0 ? c - m : zeros,
                *d = i < n - 1 ? c + m : zeros;
    float *o = out + i * m;
#pragma omp simd
    for (int64_t j = 1; j < m - 1; j++)
      o[j] = u[j] + d[j] + c[j - 1] + c[j + 1] - 4 * c[j];
    o[0] = u[0] + d[0] + c[1] - 4 * c[0];
    o[m - 1] = u[m - 1] + d[m - 1] + c[m - 2] - 4 * c[m - 1];
  }
  free(zeros);
}

void sobel(int64_t n, int64_t m, const float *image, float *out) {
  memset(out, 0, (size_t)m * sizeof *out);
  memset(out + (n - 1) * m, 0, (size_t)m * sizeof *out);
#pragma omp parallel for
  for (int64_t i = 1; i < n - 1; i++) {
    const float *c = image + i * m, *u = c - m, *d = c + m;
    float *o = out + i * m;
    o[0] = o[m - 1] = 0;
#pragma omp simd
    for (int64_t j = 1; j < m - 1; j++) {
      float gx = u[j + 1] + 2 * c[j + 1] + d[j + 1] - u[j - 1] - 2 * c[j - 1] - d[j - 1];
      float gy = d[j - 1] + 2 * d[j] + d[j + 1] - u[j - 1] - 2 * u[j] - u[j + 1];
      o[j] = sqrtf(gx * gx + gy * gy);
    }
  }
}

// Three dimensions: rows a, b (x - 1, x + 1), u, d (y - 1, y + 1) and c.
#define STENCIL_3D(name, T, BORDER)                                                     \
  static inline void name##_row(int64_t k, const T *const *rows, T *out) {              \
    const T *a = rows[0], *b = rows[1], *u = rows[2], *d = rows[3], *c = rows[4];       \
    _Pragma("omp simd") for (int64_t z = 1; z < k - 1; z++) out[z] =                    \
        a[z] + b[z] + u[z] + d[z] + c[z - 1] + c[z + 1] - 6 * c[z];                     \
    for (int64_t z = 0; z < k; z += k - 1)                                              \
      out[z] = a[z] + b[z] + u[z] + d[z] + c[BORDER(z - 1, k)] + c[BORDER(z + 1, k)] -  \
               6 * c[z];                                                                \
  }                                                                                     \
  void name(int64_t n, int64_t m, int64_t k, const T *xs, T *out) {                     \
    _Pragma("omp parallel for collapse(2)") for (int64_t x = 0; x < n;                  \
                                                 x++) for (int64_t y = 0; y < m; y++) { \
      const T *rows[] = { xs + (BORDER(x - 1, n) * m + y) * k,                          \
                          xs + (BORDER(x + 1, n) * m + y) * k,                          \
                          xs + (x * m + BORDER(y - 1, m)) * k,                          \
                          xs + (x * m + BORDER(y + 1, m)) * k, xs + (x * m + y) * k };  \
      name##_row(k, rows, out + (x * m + y) * k);                                       \
    }                                                                                   \
  }

STENCIL_3D(clamped_3d, float, clamp)
STENCIL_3D(wrapped_3d, double, wrap)

// Loops over time: two states take turns.  `step` computes all of `to` from `from`.
#define TURNS(T, count, step)                                         \
  T *from = malloc((size_t)(count) * sizeof *from), *to = out;        \
  memcpy(from, start, (size_t)(count) * sizeof *from);                \
  T *own = from;                                                      \
  for (int64_t t = 0; t < steps; t++) {                               \
    step;                                                             \
    T *last = from;                                                   \
    from = to;                                                        \
    to = last;                                                        \
  }                                                                   \
  if (from != out) memcpy(out, from, (size_t)(count) * sizeof *from); \
  free(own);

static void heat_step_1d(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 1; i < n - 1; i++)
    out[i] = xs[i] + 0.1f * (xs[i - 1] - 2 * xs[i] + xs[i + 1]);
  out[0] = xs[0];
  out[n - 1] = xs[n - 1];
}

void heat_1d(int64_t n, int64_t steps, const float *start,
             float *out){ TURNS(float, n, heat_step_1d(n, from, to)) }

STENCIL_2D(heat_step_2d, float, clamp,
           c[j] + 0.1f * (u[j] + d[j] + c[l] + c[r] - 4 * c[j]))

    void heat_2d(int64_t n, int64_t m, int64_t steps, const float *start, float *out) {
  TURNS(float, n *m, heat_step_2d(n, m, from, to))
}

// The state before the last is overwritten by the next.
static inline void wave_row(int64_t m, const float *u, const float *c, const float *d,
                            float *v) {
#define WAVE(j, l, r) \
  v[j] = 2 * c[j] - v[j] + 0.1f * (u[j] + d[j] + c[l] + c[r] - 4 * c[j])
#pragma omp simd
  for (int64_t j = 1; j < m - 1; j++)
    WAVE(j, j - 1, j + 1);
  WAVE(0, m - 1, 1);
  WAVE(m - 1, m - 2, 0);
}

static void wave_step(int64_t n, int64_t m, const float *xss, float *before) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    wave_row(m, xss + wrap(i - 1, n) * m, xss + i * m, xss + wrap(i + 1, n) * m,
             before + i * m);
}

void wave_2d(int64_t n, int64_t m, int64_t steps, const float *start, const float *before,
             float *out) {
  memcpy(out, before, (size_t)(n * m) * sizeof *out);
  TURNS(float, n *m, wave_step(n, m, from, to))
}

static void rod_step(int64_t m, const float *xs, float *out) {
#pragma omp simd
  for (int64_t i = 1; i < m - 1; i++)
    out[i] = xs[i] + 0.2f * (xs[i - 1] - 2 * xs[i] + xs[i + 1]);
  out[0] = xs[0] + 0.2f * (xs[1] - xs[0]);
  out[m - 1] = xs[m - 1] + 0.2f * (xs[m - 2] - xs[m - 1]);
}

static void one_rod(int64_t m, int64_t steps, const float *start, float *out) {
  TURNS(float, m, rod_step(m, from, to))
}

void many_rods(int64_t n, int64_t m, int64_t steps, const float *rods, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    one_rod(m, steps, rods + i * m, out + i * m);
}
