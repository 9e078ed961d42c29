// References of kernels/rows.fl.
//
// The work on a row is written once as a macro, of which there are two instances: for a thread that has
// rows of its own, and (`SHARE` is `parallel for`) for a few long rows that all threads share.
#include "kernels.h"

#define DO_PRAGMA(text) _Pragma(#text)

#ifdef PLAIN
#  define EACH_ROW(n, m, one, ...)    \
    for (int64_t i = 0; i < (n); i++) \
    one(m, __VA_ARGS__)
#  define INSTANCES(ROW, name) ROW(name, )
#else
enum { FEW_ROWS = 8, LONG_ROW = 50000, SIDE_BY_SIDE = 16 };

#  define EACH_ROW(n, m, one, ...)          \
    if ((n) < FEW_ROWS && (m) > LONG_ROW) { \
      for (int64_t i = 0; i < (n); i++)     \
        one##_shared(m, __VA_ARGS__);       \
      return;                               \
    }                                       \
    _Pragma("omp parallel for") for (int64_t i = 0; i < (n); i++) one(m, __VA_ARGS__)
#  define INSTANCES(ROW, name) \
    ROW(name, )                \
  ROW(name##_shared, parallel for)
#endif

// The greatest element, and the sum of a function of the elements.
#define GREATEST(name, SHARE)                            \
  static inline float name(int64_t m, const float *xs) { \
    float high = -FLT_MAX;                               \
    DO_PRAGMA(omp SHARE simd reduction(max : high))      \
    for (int64_t j = 0; j < m; j++)                      \
      high = xs[j] > high ? xs[j] : high;                \
    return high;                                         \
  }
#define SUM_OF(name, SHARE, term)                                 \
  static inline float name(int64_t m, const float *xs, float y) { \
    float sum = 0;                                                \
    (void)y;                                                      \
    DO_PRAGMA(omp SHARE simd reduction(+ : sum))                  \
    for (int64_t j = 0; j < m; j++)                               \
      sum += term;                                                \
    return sum;                                                   \
  }
#define SUM(name, SHARE)                 SUM_OF(name, SHARE, xs[j])
#define SUM_OF_SQUARES(name, SHARE)      SUM_OF(name, SHARE, (xs[j] - y) * (xs[j] - y))
#define SUM_OF_EXPONENTIALS(name, SHARE) SUM_OF(name, SHARE, expf(xs[j] - y))

INSTANCES(GREATEST, greatest)
INSTANCES(SUM, sum)
INSTANCES(SUM_OF_SQUARES, squares)
INSTANCES(SUM_OF_EXPONENTIALS, exponentials)

// A row with each element replaced by `element`, of x and two numbers.
#define REPLACE(name, SHARE, element)                                                 \
  static inline void name(int64_t m, const float *xs, float a, float b, float *out) { \
    (void)b;                                                                          \
    DO_PRAGMA(omp SHARE simd)                                                         \
    for (int64_t j = 0; j < m; j++)                                                   \
      out[j] = element;                                                               \
  }
#define SHIFT_AND_SCALE(name, SHARE) REPLACE(name, SHARE, (xs[j] - a) * b)
INSTANCES(SHIFT_AND_SCALE, shift_and_scale)

// Exponentials are stored, then scaled.
#define SOFTMAX(name, SHARE, suffix)                                \
  static inline void name(int64_t m, const float *xs, float *out) { \
    float high = greatest##suffix(m, xs), sum = 0;                  \
    DO_PRAGMA(omp SHARE simd reduction(+ : sum))                    \
    for (int64_t j = 0; j < m; j++)                                 \
      sum += out[j] = expf(xs[j] - high);                           \
    shift_and_scale##suffix(m, out, 0, 1 / sum, out);               \
  }
#define LOG_SOFTMAX(name, SHARE, suffix)                                              \
  static inline void name(int64_t m, const float *xs, float *out) {                   \
    float high = greatest##suffix(m, xs);                                             \
    shift_and_scale##suffix(m, xs, high + logf(exponentials##suffix(m, xs, high)), 1, \
                            out);                                                     \
  }
#define LOG_SUM(name, SHARE, suffix)                                \
  static inline void name(int64_t m, const float *xs, float *out) { \
    float high = greatest##suffix(m, xs);                           \
    *out = high + logf(exponentials##suffix(m, xs, high));          \
  }
#define NORMALISE(name, SHARE, suffix)                                      \
  static inline void name(int64_t m, const float *xs, float *out) {         \
    float mean = sum##suffix(m, xs, 0) / (float)m;                          \
    float variance = squares##suffix(m, xs, mean) / (float)m;               \
    shift_and_scale##suffix(m, xs, mean, 1 / sqrtf(variance + 1e-5f), out); \
  }
#define RMS(name, SHARE, suffix)                                                       \
  static inline void name(int64_t m, const float *xs, float *out) {                    \
    shift_and_scale##suffix(m, xs, 0, 1 / sqrtf(squares##suffix(m, xs, 0) / (float)m), \
                            out);                                                      \
  }
#define RESCALE(name, SHARE, suffix)                                     \
  static inline void name(int64_t m, const float *xs, float *out) {      \
    float low = FLT_MAX, high = -FLT_MAX;                                \
    DO_PRAGMA(omp SHARE simd reduction(min : low) reduction(max : high)) \
    for (int64_t j = 0; j < m; j++) {                                    \
      low = xs[j] < low ? xs[j] : low;                                   \
      high = xs[j] > high ? xs[j] : high;                                \
    }                                                                    \
    shift_and_scale##suffix(m, xs, low, 1 / (high - low), out);          \
  }

SOFTMAX(softmax_row, , )
LOG_SOFTMAX(log_softmax_row, , )
LOG_SUM(log_sum_row, , )
NORMALISE(normalise_row, , )
RMS(rms_row, , )
RESCALE(rescale_row, , )
#ifndef PLAIN
SOFTMAX(softmax_row_shared, parallel for, _shared)
LOG_SOFTMAX(log_softmax_row_shared, parallel for, _shared)
LOG_SUM(log_sum_row_shared, parallel for, _shared)
NORMALISE(normalise_row_shared, parallel for, _shared)
RMS(rms_row_shared, parallel for, _shared)
RESCALE(rescale_row_shared, parallel for, _shared)
#endif

void softmax(int64_t n, int64_t m, const float *xss, float *out) {
  EACH_ROW(n, m, softmax_row, xss + i * m, out + i * m);
}

void log_softmax(int64_t n, int64_t m, const float *xss, float *out) {
  EACH_ROW(n, m, log_softmax_row, xss + i * m, out + i * m);
}

void log_sums(int64_t n, int64_t m, const float *xss, float *out) {
  EACH_ROW(n, m, log_sum_row, xss + i * m, out + i);
}

void layer_norm(int64_t n, int64_t m, const float *xss, float *out) {
  EACH_ROW(n, m, normalise_row, xss + i * m, out + i * m);
}

void rms_norm(int64_t n, int64_t m, const float *xss, float *out) {
  EACH_ROW(n, m, rms_row, xss + i * m, out + i * m);
}

void rescaled(int64_t n, int64_t m, const float *xss, float *out) {
  EACH_ROW(n, m, rescale_row, xss + i * m, out + i * m);
}

void layer_norm_affine(int64_t n, int64_t m, const float *gamma, const float *beta,
                       const float *xss, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    const float *xs = xss + i * m;
    float mean = sum(m, xs, 0) / (float)m;
    float scale = 1 / sqrtf(squares(m, xs, mean) / (float)m + 1e-5f);
#pragma omp simd
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = gamma[j] * (xs[j] - mean) * scale + beta[j];
  }
}

// Columns in blocks, rows from top to bottom.
static void normalise_columns(int64_t n, int64_t m, int64_t from, int64_t to,
                              const float *xss, float *out) {
  int64_t width = to - from;
  float *means = calloc((size_t)width, sizeof *means),
        *scales = calloc((size_t)width, sizeof *scales);
  for (int64_t i = 0; i < n; i++)
#pragma omp simd
    for (int64_t j = 0; j < width; j++)
      means[j] += xss[i * m + from + j];
  for (int64_t j = 0; j < width; j++)
    means[j] /= (float)n;
  for (int64_t i = 0; i < n; i++)
#pragma omp simd
    for (int64_t j = 0; j < width; j++)
      scales[j] +=
          (xss[i * m + from + j] - means[j]) * (xss[i * m + from + j] - means[j]);
  for (int64_t j = 0; j < width; j++)
    scales[j] = 1 / sqrtf(scales[j] / (float)n + 1e-5f);
  for (int64_t i = 0; i < n; i++)
#pragma omp simd
    for (int64_t j = 0; j < width; j++)
      out[i * m + from + j] = (xss[i * m + from + j] - means[j]) * scales[j];
  free(means);
  free(scales);
}

void batch_norm(int64_t n, int64_t m, const float *xss, float *out) {
#ifdef PLAIN
  normalise_columns(n, m, 0, m, xss, out);
#else
#  pragma omp parallel
  {
    Part p = part_of(m);
    normalise_columns(n, m, p.from, p.to, xss, out);
  }
#endif
}

// Positions

// The extreme first, in vectors, then where it is.
static inline int64_t position_of(int64_t m, const float *xs, float x) {
  int64_t j = 0;
  while (j < m - 1 && xs[j] != x)
    j++;
  return j;
}

static inline float lowest(int64_t m, const float *xs) {
  float low = FLT_MAX;
#pragma omp simd reduction(min : low)
  for (int64_t j = 0; j < m; j++)
    low = xs[j] < low ? xs[j] : low;
  return low;
}

static inline int64_t position_of_greatest(int64_t m, const float *xs) {
#ifdef PLAIN
  int64_t at = 0;
  for (int64_t j = 1; j < m; j++)
    if (xs[j] > xs[at]) at = j;
  return at;
#else
  return position_of(m, xs, greatest(m, xs));
#endif
}

static inline int64_t position_of_lowest(int64_t m, const float *xs) {
#ifdef PLAIN
  int64_t at = 0;
  for (int64_t j = 1; j < m; j++)
    if (xs[j] < xs[at]) at = j;
  return at;
#else
  return position_of(m, xs, lowest(m, xs));
#endif
}

void argmax(int64_t n, int64_t m, const float *xss, int64_t *out) {
#ifndef PLAIN
  if (n < FEW_ROWS && m > LONG_ROW) {
    for (int64_t i = 0; i < n; i++)
      out[i] = position_of(m, xss + i * m, greatest_shared(m, xss + i * m));
    return;
  }
#endif
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    out[i] = position_of_greatest(m, xss + i * m);
}

void argmin(int64_t n, int64_t m, const float *xss, float *lows, int32_t *positions) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    int64_t at = position_of_lowest(m, xss + i * m);
    lows[i] = xss[i * m + at];
    positions[i] = (int32_t)at;
  }
}

// Neighbours

#ifdef PLAIN
void nearest_centre(int64_t n, int64_t k, int64_t d, const float *points,
                    const float *centres, int32_t *out) {
  for (int64_t i = 0; i < n; i++) {
    float best = INFINITY;
    for (int64_t c = 0; c < k; c++) {
      float sum = 0;
      for (int64_t x = 0; x < d; x++)
        sum += (points[i * d + x] - centres[c * d + x]) *
               (points[i * d + x] - centres[c * d + x]);
      if (sum < best) best = sum, out[i] = (int32_t)c;
    }
  }
}

void nearest_in_plane(int64_t n, int64_t m, const float *qx, const float *qy,
                      const float *px, const float *py, float *distances,
                      int64_t *positions) {
  for (int64_t i = 0; i < n; i++) {
    float best = INFINITY;
    for (int64_t j = 0; j < m; j++) {
      float dx = px[j] - qx[i], dy = py[j] - qy[i], d = dx * dx + dy * dy;
      if (d < best) best = d, positions[i] = j;
    }
    distances[i] = best;
  }
}
#else
// Centres by dimension: their distances from a point are a vector.
void nearest_centre(int64_t n, int64_t k, int64_t d, const float *points,
                    const float *centres, int32_t *out) {
  float *by_dimension = malloc((size_t)(k * d) * sizeof *by_dimension);
  for (int64_t c = 0; c < k; c++)
    for (int64_t x = 0; x < d; x++)
      by_dimension[x * k + c] = centres[c * d + x];
#  pragma omp parallel
  {
    float *sums = malloc((size_t)k * sizeof *sums);
#  pragma omp for
    for (int64_t i = 0; i < n; i++) {
      memset(sums, 0, (size_t)k * sizeof *sums);
      for (int64_t x = 0; x < d; x++) {
        float at = points[i * d + x];
#  pragma omp simd
        for (int64_t c = 0; c < k; c++)
          sums[c] += (at - by_dimension[x * k + c]) * (at - by_dimension[x * k + c]);
      }
      out[i] = (int32_t)position_of_lowest(k, sums);
    }
    free(sums);
  }
  free(by_dimension);
}

// The least distance in a block of points, in vectors; a block with a lesser one than before is
// searched again for its place.
typedef struct Nearest {
  float distance;
  int64_t at;
} Nearest;

static inline float distance(const float *p, float x, float y, const float *py,
                             int64_t j) {
  return (p[j] - x) * (p[j] - x) + (py[j] - y) * (py[j] - y);
}

static Nearest nearest_in(int64_t from, int64_t to, float x, float y, const float *px,
                          const float *py) {
  enum { BLOCK = 2048 };
  Nearest best = { FLT_MAX, 0 };
  for (int64_t at = from; at < to; at += BLOCK) {
    int64_t end = least(at + BLOCK, to);
    float low = FLT_MAX;
#  pragma omp simd reduction(min : low)
    for (int64_t j = at; j < end; j++) {
      float d = distance(px, x, y, py, j);
      low = d < low ? d : low;
    }
    if (low < best.distance) best = (Nearest){ low, at };
  }
  // Recomputed, the least distance may differ in its last digit.
  int64_t end = least(best.at + BLOCK, to), at = best.at;
  for (int64_t j = at; j < end; j++)
    if (distance(px, x, y, py, j) < distance(px, x, y, py, at)) at = j;
  best.at = at;
  return best;
}

void nearest_in_plane(int64_t n, int64_t m, const float *qx, const float *qy,
                      const float *px, const float *py, float *distances,
                      int64_t *positions) {
  if (n >= FEW_ROWS) {
#  pragma omp parallel for
    for (int64_t i = 0; i < n; i++) {
      Nearest best = nearest_in(0, m, qx[i], qy[i], px, py);
      distances[i] = best.distance;
      positions[i] = best.at;
    }
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    Nearest best = { FLT_MAX, 0 };
#  pragma omp parallel
    {
      Part p = part_of(m);
      Nearest own = nearest_in(p.from, p.to, qx[i], qy[i], px, py);
#  pragma omp critical
      if (own.distance < best.distance ||
          (own.distance == best.distance && own.at < best.at))
        best = own;
    }
    distances[i] = best.distance;
    positions[i] = best.at;
  }
}
#endif

// The k least squares of distances, by insertion: most points are farther than the k-th.
static void keep_nearest(int64_t k, float *best, float d) {
  if (d >= best[k - 1]) return;
  int64_t r = k - 1;
  for (; r > 0 && best[r - 1] > d; r--)
    best[r] = best[r - 1];
  best[r] = d;
}

static void nearest_of_part(int64_t from, int64_t to, int64_t k, const float *at,
                            const float *px, const float *py, float *best) {
  enum { BLOCK = 64 };
  for (int64_t j = from; j < to; j += BLOCK) {
    float ds[BLOCK], low = FLT_MAX;
    int64_t count = least(BLOCK, to - j);
#pragma omp simd reduction(min : low)
    for (int64_t b = 0; b < count; b++) {
      float dx = px[j + b] - at[0], dy = py[j + b] - at[1];
      ds[b] = dx * dx + dy * dy;
      low = ds[b] < low ? ds[b] : low;
    }
    for (int64_t b = 0; b < count && low < best[k - 1]; b++)
      keep_nearest(k, best, ds[b]);
  }
}

static void k_nearest_of(int64_t m, int64_t k, const float *at, const float *px,
                         const float *py, float *best) {
  for (int64_t r = 0; r < k; r++)
    best[r] = FLT_MAX;
#ifdef PLAIN
  nearest_of_part(0, m, k, at, px, py, best);
#else
#  pragma omp parallel if (m > LONG_ROW)
  {
    Part p = part_of(m);
    float own[64];
    for (int64_t r = 0; r < k; r++)
      own[r] = FLT_MAX;
    nearest_of_part(p.from, p.to, k, at, px, py, own);
#  pragma omp critical
    for (int64_t r = 0; r < k; r++)
      keep_nearest(k, best, own[r]);
  }
#endif
  for (int64_t r = 0; r < k; r++)
    best[r] = sqrtf(best[r]);
}

// `k` is at most 64.
void k_nearest(int64_t n, int64_t m, int64_t k, const float *qx, const float *qy,
               const float *px, const float *py, float *out) {
#pragma omp parallel for if (n > 1)
  for (int64_t i = 0; i < n; i++)
    k_nearest_of(m, k, (float[]){ qx[i], qy[i] }, px, py, out + i * k);
}

// Others

void unit_rows(int64_t n, int64_t m, const double *xss, double *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < m; j++)
      sum += xss[i * m + j] * xss[i * m + j];
    double scale = 1 / sqrt(sum);
#pragma omp simd
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = xss[i * m + j] * scale;
  }
}

void statistics(int64_t n, int64_t m, const float *xss, float *means, float *deviations,
                float *maxima) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    const float *xs = xss + i * m;
    means[i] = sum(m, xs, 0) / (float)m;
    deviations[i] = sqrtf(squares(m, xs, means[i]) / (float)m);
    maxima[i] = greatest(m, xs);
  }
}

// Scores of one query with keys by dimension; then rows of values, weighted, are added up.
static void attend(int64_t n, int64_t d, const float *query, const float *keys,
                   const float *v, float *scores, float *out) {
  memset(scores, 0, (size_t)n * sizeof *scores);
  for (int64_t x = 0; x < d; x++)
#pragma omp simd
    for (int64_t j = 0; j < n; j++)
      scores[j] += query[x] * keys[x * n + j];
  float scale = 1 / sqrtf((float)d), high = greatest(n, scores), total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t j = 0; j < n; j++)
    total += scores[j] = expf((scores[j] - high) * scale);
  memset(out, 0, (size_t)d * sizeof *out);
  for (int64_t j = 0; j < n; j++)
#pragma omp simd
    for (int64_t x = 0; x < d; x++)
      out[x] += scores[j] / total * v[j * d + x];
}

void attention(int64_t n, int64_t d, const float *q, const float *k, const float *v,
               float *out) {
  float *keys = malloc((size_t)(n * d) * sizeof *keys);
  for (int64_t j = 0; j < n; j++)
    for (int64_t x = 0; x < d; x++)
      keys[x * n + j] = k[j * d + x];
#pragma omp parallel
  {
    float *scores = malloc((size_t)n * sizeof *scores);
#pragma omp for
    for (int64_t i = 0; i < n; i++)
      attend(n, d, q + i * d, keys, v, scores, out + i * d);
    free(scores);
  }
  free(keys);
}

void sorted_rows(int64_t n, int64_t m, const float *xss, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    float *ys = out + i * m;
    memcpy(ys, xss + i * m, (size_t)m * sizeof *ys);
    for (int64_t j = 1; j < m; j++) {
      float x = ys[j];
      int64_t at = j;
      for (; at > 0 && ys[at - 1] > x; at--)
        ys[at] = ys[at - 1];
      ys[at] = x;
    }
  }
}

#ifdef PLAIN
#  define SYSTEMS 1
#else
#  define SYSTEMS 16
#endif

// Several systems side by side, since each waits for its own divisions; a vector of them.
static void solve(int64_t m, int64_t systems, const float *const *abcd,
                  float *restrict steps, float *restrict x) {
  const float *a = abcd[0], *b = abcd[1], *c = abcd[2], *d = abcd[3];
  float cp[SYSTEMS] = { 0 }, dp[SYSTEMS] = { 0 };
  for (int64_t i = 0; i < m; i++)
#pragma omp simd
    for (int64_t s = 0; s < systems; s++) {
      int64_t at = s * m + i;
      float r = 1 / (b[at] - a[at] * cp[s]);
      steps[i * SYSTEMS + s] = cp[s] = c[at] * r;
      x[at] = dp[s] = (d[at] - a[at] * dp[s]) * r;
    }
  for (int64_t i = m - 2; i >= 0; i--)
#pragma omp simd
    for (int64_t s = 0; s < systems; s++)
      x[s * m + i] = dp[s] = x[s * m + i] - steps[i * SYSTEMS + s] * dp[s];
}

void tridiagonal(int64_t n, int64_t m, const float *a, const float *b, const float *c,
                 const float *d, float *x) {
#pragma omp parallel
  {
    float *steps = malloc((size_t)m * SYSTEMS * sizeof *steps);
#pragma omp for
    for (int64_t i = 0; i < n; i += SYSTEMS) {
      const float *abcd[] = { a + i * m, b + i * m, c + i * m, d + i * m };
      solve(m, least(SYSTEMS, n - i), abcd, steps, x + i * m);
    }
    free(steps);
  }
}
