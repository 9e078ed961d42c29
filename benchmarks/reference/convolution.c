// References of kernels/convolution.fl: a block of neighbouring results stays in registers while the
// kernel passes over it.
#include "kernels.h"

static inline int64_t clamp(int64_t i, int64_t n) {
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

enum { BLOCK = 64 };

// out[i] += sum of w[j] * xs[i + j], for i < n.
static inline void correlate(int64_t n, int64_t k, const float *xs, const float *ws,
                             float *out) {
#ifdef PLAIN
  for (int64_t i = 0; i < n; i++) {
    float sum = 0;
    for (int64_t j = 0; j < k; j++)
      sum += ws[j] * xs[i + j];
    out[i] += sum;
  }
#else
  int64_t i = 0;
  for (; i + BLOCK <= n; i += BLOCK) {
    float sums[BLOCK];
    memcpy(sums, out + i, sizeof sums);
    for (int64_t j = 0; j < k; j++)
#  pragma omp simd
      for (int b = 0; b < BLOCK; b++)
        sums[b] += ws[j] * xs[i + j + b];
    memcpy(out + i, sums, sizeof sums);
  }
  for (int64_t j = 0; j < k; j++)
#  pragma omp simd
    for (int64_t b = i; b < n; b++)
      out[b] += ws[j] * xs[b + j];
#endif
}

enum { PIECE = 4096 };

int64_t valid_1d(int64_t n, int64_t k, const float *xs, const float *ws, float *out) {
  int64_t count = n - k + 1;
#pragma omp parallel for
  for (int64_t i = 0; i < count; i += PIECE) {
    int64_t piece = least(PIECE, count - i);
    memset(out + i, 0, (size_t)piece * sizeof *out);
    correlate(piece, k, xs + i, ws, out + i);
  }
  return count;
}

// The interior as above, the borders one by one.
void clamped_1d(int64_t n, int64_t k, const float *xs, const float *ws, float *out) {
  int64_t half = k / 2, end = n - k + 1 + half;
  valid_1d(n, k, xs, ws, out + half);
  for (int64_t i = 0; i < n; i = i == half - 1 ? end : i + 1) {
    out[i] = 0;
    for (int64_t j = 0; j < k; j++)
      out[i] += ws[j] * xs[clamp(i + j - half, n)];
  }
}

int64_t five_weights(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n - 4; i++)
    out[i] = 0.0625f * (xs[i] + xs[i + 4]) + 0.25f * (xs[i + 1] + xs[i + 3]) +
             0.375f * xs[i + 2];
  return n - 4;
}

int64_t three_by_three(int64_t n, int64_t m, const float *image, const float *w,
                       float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n - 2; i++) {
    const float *u = image + i * m, *c = u + m, *d = c + m;
    float *o = out + i * (m - 2);
#pragma omp simd
    for (int64_t j = 0; j < m - 2; j++)
      o[j] = w[0] * u[j] + w[1] * u[j + 1] + w[2] * u[j + 2] + w[3] * c[j] +
             w[4] * c[j + 1] + w[5] * c[j + 2] + w[6] * d[j] + w[7] * d[j + 1] +
             w[8] * d[j + 2];
  }
  return n - 2;
}

#ifdef PLAIN
void zero_2d(int64_t n, int64_t m, int64_t k, const float *image, const float *w,
             float *out) {
  int64_t half = k / 2;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++) {
      float sum = 0;
      for (int64_t a = most(0, half - i); a < least(k, n + half - i); a++)
        for (int64_t b = most(0, half - j); b < least(k, m + half - j); b++)
          sum += w[a * k + b] * image[(i + a - half) * m + j + b - half];
      out[i * m + j] = sum;
    }
}

int64_t valid_2d(int64_t n, int64_t m, int64_t k, const float *image, const float *w,
                 float *out) {
  int64_t width = m - k + 1;
  for (int64_t i = 0; i < n - k + 1; i++)
    for (int64_t j = 0; j < width; j++) {
      float sum = 0;
      for (int64_t a = 0; a < k; a++)
        for (int64_t b = 0; b < k; b++)
          sum += w[a * k + b] * image[(i + a) * m + j + b];
      out[i * width + j] = sum;
    }
  return n - k + 1;
}
#else
// A block of results of a row stays in registers through all rows of the kernel.
static inline void block_2d(int64_t m, int64_t k, const float *image, const float *w,
                            float *out) {
  float sums[BLOCK] = { 0 };
  for (int64_t a = 0; a < k; a++)
    for (int64_t b = 0; b < k; b++)
#  pragma omp simd
      for (int l = 0; l < BLOCK; l++)
        sums[l] += w[a * k + b] * image[a * m + b + l];
  memcpy(out, sums, sizeof sums);
}

static void row_2d(int64_t m, int64_t k, const float *image, const float *w, float *out) {
  int64_t width = m - k + 1, j = 0;
  for (; j + BLOCK <= width; j += BLOCK)
    block_2d(m, k, image + j, w, out + j);
  memset(out + j, 0, (size_t)(width - j) * sizeof *out);
  for (int64_t a = 0; a < k; a++)
    correlate(width - j, k, image + a * m + j, w + a * k, out + j);
}

int64_t valid_2d(int64_t n, int64_t m, int64_t k, const float *image, const float *w,
                 float *out) {
#  pragma omp parallel for
  for (int64_t i = 0; i < n - k + 1; i++)
    row_2d(m, k, image + i * m, w, out + i * (m - k + 1));
  return n - k + 1;
}

// The image with its border of zeros.
void zero_2d(int64_t n, int64_t m, int64_t k, const float *image, const float *w,
             float *out) {
  int64_t half = k / 2, width = m + k - 1;
  float *padded = calloc((size_t)((n + k - 1) * width), sizeof *padded);
  for (int64_t i = 0; i < n; i++)
    memcpy(padded + (i + half) * width + half, image + i * m, (size_t)m * sizeof *padded);
  valid_2d(n + k - 1, width, k, padded, w, out);
  free(padded);
}
#endif

static void blur_row(int64_t m, int64_t k, const float *xs, const float *w, float *padded,
                     float *out) {
  int64_t half = k / 2;
  for (int64_t j = 0; j < half; j++)
    padded[j] = xs[0];
  memcpy(padded + half, xs, (size_t)m * sizeof *padded);
  for (int64_t j = half + m; j < m + k - 1; j++)
    padded[j] = xs[m - 1];
  memset(out, 0, (size_t)m * sizeof *out);
  correlate(m, k, padded, w, out);
}

void separable(int64_t n, int64_t m, int64_t k, const float *image, const float *w,
               float *out) {
  float *rows = malloc((size_t)(n * m) * sizeof *rows);
#pragma omp parallel
  {
    float *padded = malloc((size_t)(m + k) * sizeof *padded);
#pragma omp for
    for (int64_t i = 0; i < n; i++)
      blur_row(m, k, image + i * m, w, padded, rows + i * m);
    free(padded);
#pragma omp for
    for (int64_t i = 0; i < n; i++) {
      memset(out + i * m, 0, (size_t)m * sizeof *out);
      for (int64_t d = 0; d < k; d++) {
        const float *row = rows + clamp(i + d - k / 2, n) * m;
#pragma omp simd
        for (int64_t j = 0; j < m; j++)
          out[i * m + j] += w[d] * row[j];
      }
    }
  }
  free(rows);
}

// One row of one output channel: a block of it stays in registers through all input channels.
static void layer_row(const int64_t *sizes, const float *x, const float *w, float bias,
                      float *out) {
  int64_t c = sizes[0], n = sizes[1], m = sizes[2], width = m - 2;
  for (int64_t j = 0; j < width; j += BLOCK) {
    float sums[BLOCK] = { 0 };
    int64_t count = least(BLOCK, width - j);
    for (int64_t k = 0; k < c; k++)
      for (int64_t a = 0; a < 3; a++)
        for (int64_t b = 0; b < 3; b++)
#pragma omp simd
          for (int64_t l = 0; l < count; l++)
            sums[l] += w[k * 9 + a * 3 + b] * x[(k * n + a) * m + b + j + l];
    for (int64_t l = 0; l < count; l++)
      out[j + l] = sums[l] + bias > 0 ? sums[l] + bias : 0;
  }
}

void layer(int64_t c, int64_t o, int64_t n, int64_t m, const float *x, const float *w,
           const float *bias, float *out) {
#pragma omp parallel for collapse(2)
  for (int64_t k = 0; k < o; k++)
    for (int64_t i = 0; i < n - 2; i++)
      layer_row((int64_t[]){ c, n, m }, x + i * m, w + k * c * 9, bias[k],
                out + (k * (n - 2) + i) * (m - 2));
}

static inline float maximum(float a, float b) { return a > b ? a : b; }

void pooled(int64_t c, int64_t n, int64_t m, const float *x, float *out) {
#pragma omp parallel for collapse(2)
  for (int64_t k = 0; k < c; k++)
    for (int64_t i = 0; i < n / 2; i++) {
      const float *u = x + (k * n + 2 * i) * m, *d = u + m;
      float *o = out + (k * (n / 2) + i) * (m / 2);
#pragma omp simd
      for (int64_t j = 0; j < m / 2; j++)
        o[j] = maximum(maximum(u[2 * j], u[2 * j + 1]), maximum(d[2 * j], d[2 * j + 1]));
    }
}

static inline uint8_t sharp(int x, int u, int d, int l, int r) {
  int y = 5 * x - u - d - l - r;
  return (uint8_t)(y < 0 ? 0 : y > 255 ? 255 : y);
}

void sharpened(int64_t n, int64_t m, const uint8_t *image, uint8_t *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    const uint8_t *c = image + i * m, *u = image + clamp(i - 1, n) * m,
                  *d = image + clamp(i + 1, n) * m;
    uint8_t *o = out + i * m;
#pragma omp simd
    for (int64_t j = 1; j < m - 1; j++)
      o[j] = sharp(c[j], u[j], d[j], c[j - 1], c[j + 1]);
    o[0] = sharp(c[0], u[0], d[0], c[0], c[1]);
    o[m - 1] = sharp(c[m - 1], u[m - 1], d[m - 1], c[m - 2], c[m - 1]);
  }
}
