// References of kernels/windows.fl.
#include "kernels.h"

static inline int64_t clamp(int64_t i, int64_t n) {
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}
static inline float maximum(float a, float b) { return a > b ? a : b; }
static inline float minimum(float a, float b) { return a < b ? a : b; }

// Of 2 x 2 points: `value` is an expression of rows u and d, and of columns l and r.
#define OF_FOUR(name, T, value)                                         \
  int64_t name(int64_t n, int64_t m, const T *image, T *restrict out) { \
    _Pragma("omp parallel for") for (int64_t i = 0; i < n / 2; i++) {   \
      const T *u = image + 2 * i * m, *d = u + m;                       \
      T *o = out + i * (m / 2);                                         \
      _Pragma("omp simd") for (int64_t j = 0; j < m / 2; j++) {         \
        int64_t l = 2 * j, r = 2 * j + 1;                               \
        o[j] = value;                                                   \
      }                                                                 \
    }                                                                   \
    return n / 2;                                           \
  }

OF_FOUR(pool_2x2, float, maximum(maximum(u[l], u[r]), maximum(d[l], d[r])))
OF_FOUR(halved, float, 0.25f * (u[l] + u[r] + d[l] + d[r]))
OF_FOUR(halved_bytes, uint8_t, (uint8_t)((u[l] + u[r] + d[l] + d[r] + 2) >> 2))

int64_t pool_channels(int64_t c, int64_t n, int64_t m, const float *images, float *out) {
#pragma omp parallel for
  for (int64_t k = 0; k < c * (n / 2); k++) {
    const float *u = images + k / (n / 2) * n * m + 2 * (k % (n / 2)) * m, *d = u + m;
    float *restrict o = out + k * (m / 2);
#pragma omp simd
    for (int64_t j = 0; j < m / 2; j++)
      o[j] = maximum(maximum(u[2 * j], u[2 * j + 1]), maximum(d[2 * j], d[2 * j + 1]));
  }
  return c * (n / 2) * (m / 2);
}

int64_t pool_3x3(int64_t n, int64_t m, const float *image, float *restrict out) {
  int64_t rows = (n - 1) / 2, columns = (m - 1) / 2;
#pragma omp parallel for
  for (int64_t i = 0; i < rows; i++)
#pragma omp simd
    for (int64_t j = 0; j < columns; j++) {
      float most = image[2 * i * m + 2 * j];
      for (int64_t k = 0; k < 3; k++)
        for (int64_t l = 0; l < 3; l++)
          most = maximum(most, image[(2 * i + k) * m + 2 * j + l]);
      out[i * columns + j] = most;
    }
  return rows;
}

void doubled(int64_t n, int64_t m, const float *image, float *restrict out) {
#pragma omp parallel for
  for (int64_t i = 0; i < 2 * n; i++)
#pragma omp simd
    for (int64_t j = 0; j < 2 * m; j++)
      out[i * 2 * m + j] = image[i / 2 * m + j / 2];
}

int64_t pair_sums(int64_t n, const float *xs, float *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n / 2; i++)
    out[i] = xs[2 * i] + xs[2 * i + 1];
  return n / 2;
}

int64_t haar(int64_t n, const float *xs, float *restrict sums,
             float *restrict differences) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n / 2; i++) {
    sums[i] = 0.5f * (xs[2 * i] + xs[2 * i + 1]);
    differences[i] = 0.5f * (xs[2 * i] - xs[2 * i + 1]);
  }
  return n / 2;
}

#define SORT(T, a, b)        \
  {                          \
    T first = a < b ? a : b; \
    b = a < b ? b : a;       \
    a = first;               \
  }
#define SORT_3(T, a, b, c) SORT(T, a, b) SORT(T, b, c) SORT(T, a, b)

#define MEDIAN(name, T)                                                                  \
  static inline T name##_at(const T *u, const T *row, const T *d, int64_t l, int64_t j,  \
                            int64_t r) {                                                 \
    T a0 = u[l], a1 = u[j], a2 = u[r], b0 = row[l], b1 = row[j], b2 = row[r], c0 = d[l], \
      c1 = d[j], c2 = d[r];                                                              \
    SORT_3(T, a0, a1, a2)                                                                \
    SORT_3(T, b0, b1, b2)                                                                \
    SORT_3(T, c0, c1, c2)                                                                \
    T low = a0 > b0 ? a0 : b0, high = a2 < b2 ? a2 : b2;                                 \
    low = low > c0 ? low : c0;                                                           \
    high = high < c2 ? high : c2;                                                        \
    SORT_3(T, a1, b1, c1)                                                                \
    SORT_3(T, low, b1, high)                                                             \
    return b1;                                                                           \
  }                                                                                      \
  void name(int64_t n, int64_t m, const T *image, T *restrict out) {                     \
    _Pragma("omp parallel for") for (int64_t i = 0; i < n; i++) {                        \
      const T *u = image + clamp(i - 1, n) * m, *row = image + i * m,                    \
              *d = image + clamp(i + 1, n) * m;                                          \
      T *restrict o = out + i * m;                                                       \
      _Pragma("omp simd") for (int64_t j = 1; j < m - 1; j++) o[j] =                     \
          name##_at(u, row, d, j - 1, j, j + 1);                                         \
      for (int64_t j = 0; j < m; j += m - 1)                                             \
        o[j] = name##_at(u, row, d, clamp(j - 1, m), j, clamp(j + 1, m));                \
    }                                                                                    \
  }
MEDIAN(median_3x3, float)
MEDIAN(median_bytes, uint8_t)

static inline void transform(const float *c, const float *block, int64_t stride,
                             float *out) {
  float rows[8][8];
  for (int i = 0; i < 8; i++)
    for (int l = 0; l < 8; l++) {
      float sum = 0;
      for (int k = 0; k < 8; k++)
        sum += c[8 * i + k] * block[k * stride + l];
      rows[i][l] = sum;
    }
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) {
      float sum = 0;
      for (int l = 0; l < 8; l++)
        sum += rows[i][l] * c[8 * j + l];
      out[i * stride + j] = sum;
    }
}

void transformed(int64_t n, int64_t m, const float *c, const float *image, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n / 8; i++)
    for (int64_t j = 0; j < m / 8; j++)
      transform(c, image + 8 * (i * m + j), m, out + 8 * (i * m + j));
}

void transformed_blocks(int64_t n, const float *c, const float *blocks, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    transform(c, blocks + 64 * i, 8, out + 64 * i);
}

// Field q of the cell at i, j is f[q * across + (i * m + j) * along].
static inline void lattice_cell(const float *f, float *restrict out, int64_t across,
                                int64_t along, const int64_t *rows, int64_t l, int64_t j,
                                int64_t r, float omega) {
  int64_t u = rows[0], i = rows[1], d = rows[2];
#define AT(q, row, column) f[q * across + (row + column) * along]
  float g0 = AT(0, i, j), g1 = AT(1, i, l), g2 = AT(2, u, j), g3 = AT(3, i, r),
        g4 = AT(4, d, j), g5 = AT(5, u, l), g6 = AT(6, u, r), g7 = AT(7, d, r),
        g8 = AT(8, d, l);
  float density = g0 + g1 + g2 + g3 + g4 + g5 + g6 + g7 + g8;
  float vx = (g1 + g5 + g8 - g3 - g6 - g7) / density,
        vy = (g2 + g5 + g6 - g4 - g7 - g8) / density;
  float square = 1.5f * (vx * vx + vy * vy);
#define RELAX(q, g, w, e)             \
  out[q * across + (i + j) * along] = \
      g + omega * ((w)*density * (1 + 3 * (e) + 4.5f * (e) * (e)-square) - g);
  RELAX(0, g0, 4 / 9.f, 0)
  RELAX(1, g1, 1 / 9.f, vx)
  RELAX(2, g2, 1 / 9.f, vy)
  RELAX(3, g3, 1 / 9.f, -vx)
  RELAX(4, g4, 1 / 9.f, -vy)
  RELAX(5, g5, 1 / 36.f, vx + vy)
  RELAX(6, g6, 1 / 36.f, vy - vx)
  RELAX(7, g7, 1 / 36.f, -vx - vy)
  RELAX(8, g8, 1 / 36.f, vx - vy)
}

static void lattice_step(int64_t n, int64_t m, int64_t across, int64_t along, float omega,
                         const float *f, float *restrict out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    int64_t rows[] = { (i + n - 1) % n * m, i * m, (i + 1) % n * m };
    lattice_cell(f, out, across, along, rows, m - 1, 0, 1 % m, omega);
#pragma omp simd
    for (int64_t j = 1; j < m - 1; j++)
      lattice_cell(f, out, across, along, rows, j - 1, j, j + 1, omega);
    lattice_cell(f, out, across, along, rows, m - 2, m - 1, 0, omega);
  }
}

static void lattice(int64_t n, int64_t m, int64_t k, int64_t across, int64_t along,
                    float omega, const float *f, float *out) {
  size_t bytes = (size_t)(9 * n * m) * sizeof(float);
  float *now = malloc(bytes), *next = malloc(bytes);
  memcpy(now, f, bytes);
  for (int64_t t = 0; t < k; t++) {
    lattice_step(n, m, across, along, omega, now, next);
    float *old = now;
    now = next;
    next = old;
  }
  memcpy(out, now, bytes);
  free(now);
  free(next);
}

void lattice_tuples(int64_t n, int64_t m, int64_t k, float omega, const float *f,
                    float *out) {
  lattice(n, m, k, n * m, 1, omega, f, out);
}

void lattice_cells(int64_t n, int64_t m, int64_t k, float omega, const float *f,
                   float *out) {
  lattice(n, m, k, 1, 9, omega, f, out);
}

#define WAVE(name, T)                                                                 \
  static void name##_step(int64_t n, const T *u, const T *before, T *restrict next) { \
    _Pragma("omp parallel for simd") for (int64_t i = 1; i < n - 1; i++) next[i] =    \
        2 * u[i] - before[i] + (T)0.25 * (u[i - 1] - 2 * u[i] + u[i + 1]);            \
  }
WAVE(wave, float)
WAVE(wave_rotated, double)

void wave(int64_t n, int64_t k, const float *u, const float *v, float *out) {
  size_t bytes = (size_t)n * sizeof(float);
  float *now = malloc(bytes), *before = malloc(bytes), *next = malloc(bytes);
  memcpy(now, u, bytes);
  memcpy(before, v, bytes);
  for (int64_t t = 0; t < k; t++) {
    wave_step(n, now, before, next);
    next[0] = 2 * now[0] - before[0] + 0.25f * (now[1] - 2 * now[0]);
    next[n - 1] = 2 * now[n - 1] - before[n - 1] + 0.25f * (now[n - 2] - 2 * now[n - 1]);
    float *old = before;
    before = now;
    now = next;
    next = old;
  }
  memcpy(out, now, bytes);
  free(now);
  free(before);
  free(next);
}

void wave_rotated(int64_t n, int64_t k, const double *u, const double *v, double *out) {
  size_t bytes = (size_t)n * sizeof(double);
  double *now = malloc(bytes), *before = malloc(bytes), *next = malloc(bytes);
  memcpy(now, u, bytes);
  memcpy(before, v, bytes);
  for (int64_t t = 0; t < k; t++) {
    wave_rotated_step(n, now, before, next);
    next[0] = next[n - 1] = 0;
    double *old = before;
    before = now;
    now = next;
    next = old;
  }
  memcpy(out, now, bytes);
  free(now);
  free(before);
  free(next);
}
