// References of kernels/histogram.fl: each thread has bins of its own, which are combined.
#include "kernels.h"

// `count` numbers of type T for each thread, all `neutral`.
#define ADD(a, b)    ((a) + (b))
#define LESSER(a, b) ((a) < (b) ? (a) : (b))

// One statement for each element, on the bins `own`; then those of all threads combined into `out`.
#ifdef PLAIN
#  define PRIVATE_BINS(T, bins, neutral, combine, out, statement) \
    T *own = out;                                                 \
    for (int64_t b = 0; b < (bins); b++)                          \
      own[b] = neutral;                                           \
    for (int64_t i = 0; i < n; i++)                               \
    statement
#else
#  define PRIVATE_BINS(T, bins, neutral, combine, out, statement)            \
    int64_t padded = ((bins) + 31) / 16 * 16;                                \
    T *all = malloc((size_t)(padded * omp_get_max_threads()) * sizeof *all); \
    _Pragma("omp parallel") {                                                \
      Part p = part_of(n);                                                   \
      T *own = all + p.id * padded;                                          \
      for (int64_t b = 0; b < (bins); b++)                                   \
        own[b] = neutral;                                                    \
      for (int64_t i = p.from; i < p.to; i++) {                              \
        statement                                                            \
      }                                                                      \
      _Pragma("omp barrier")                                                 \
          _Pragma("omp for simd") for (int64_t b = 0; b < (bins); b++) {     \
        T total = all[b];                                                    \
        for (int t = 1; t < p.threads; t++)                                  \
          total = combine(total, all[t * padded + b]);                       \
        (out)[b] = total;                                                    \
      }                                                                      \
    }                                                                        \
    free(all);
#endif

// Counts.  With few bins, neighbours often meet in one: four sets of bins take turns.
enum { FEW_BINS = 1024, SETS = 4 };

#ifdef PLAIN
#  define COUNT(bins, out, element, T)              \
    memset(out, 0, (size_t)(bins) * sizeof *(out)); \
    for (int64_t i = 0; i < n; i++)                 \
      (out)[element]++;
#else
#  define COUNT(bins, out, element, T)                                                  \
    memset(out, 0, (size_t)(bins) * sizeof *(out));                                     \
    _Pragma("omp parallel") {                                                           \
      Part p = part_of(n);                                                              \
      int64_t sets = (bins) <= FEW_BINS ? SETS : 1, i = p.from;                         \
      T *own = calloc((size_t)(sets * (bins)), sizeof *own);                            \
      for (; sets == SETS && i + SETS <= p.to; i += SETS) {                             \
        int64_t at = i;                                                                 \
        for (int s = 0; s < SETS; s++) {                                                \
          i = at + s;                                                                   \
          own[s * (bins) + (element)]++;                                                \
        }                                                                               \
        i = at;                                                                         \
      }                                                                                 \
      for (; i < p.to; i++)                                                             \
        own[element]++;                                                                 \
      _Pragma("omp critical") for (int64_t s = 0; s < sets;                             \
                                   s++) for (int64_t b = 0; b < (bins); b++)(out)[b] += \
          own[s * (bins) + b];                                                          \
      free(own);                                                                        \
    }
#endif

void counts(int64_t n, int64_t k, const int64_t *is, int32_t *out) {
  COUNT(k, out, is[i], int32_t)
}

void bytes(int64_t n, const uint8_t *pixels, int64_t *out) {
  COUNT(256, out, pixels[i], int64_t)
}

void binned(int64_t n, int64_t k, const float *xs, int32_t *out) {
  float width = (float)k;
  COUNT(k, out, (int64_t)(xs[i] * width), int32_t)
}

void uneven(int64_t n, int64_t k, const int64_t *is, int32_t *out) {
  COUNT(k, out, most(0, is[i]), int32_t)
}

// Those outside have a bin of their own at the end.
void some_outside(int64_t n, int64_t k, const int64_t *is, int32_t *out) {
  int32_t *wide = malloc((size_t)(k + 1) * sizeof *wide);
  COUNT(k + 1, wide, (uint64_t)is[i] < (uint64_t)k ? is[i] : k, int32_t)
  memcpy(out, wide, (size_t)k * sizeof *out);
  free(wide);
}

void plane(int64_t n, const float *xs, const float *ys, int32_t *out) {
  COUNT(64 * 64, out, (int64_t)(xs[i] * 64) * 64 + (int64_t)(ys[i] * 64), int32_t)
}

void sums_f32(int64_t n, int64_t k, const int64_t *is, const float *vs, float *out) {
  PRIVATE_BINS(float, k, 0, ADD, out, own[is[i]] += vs[i];)
}

void sums_i64(int64_t n, int64_t k, const int64_t *is, const int64_t *vs, int64_t *out) {
  PRIVATE_BINS(int64_t, k, 0, ADD, out, own[is[i]] += vs[i];)
}

void sums_f64(int64_t n, int64_t k, const int32_t *is, const double *vs, double *out) {
  PRIVATE_BINS(double, k, 0, ADD, out, own[is[i]] += vs[i];)
}

void minima(int64_t n, int64_t k, const int64_t *is, const float *vs, float *out) {
  PRIVATE_BINS(float, k, FLT_MAX, LESSER, out, own[is[i]] = LESSER(vs[i], own[is[i]]);)
}

// Pairs side by side in one bin, so that a cache line serves both.
typedef struct SumAndCount {
  float sum;
  int32_t count;
} SumAndCount;

static inline SumAndCount add_pairs(SumAndCount a, SumAndCount b) {
  return (SumAndCount){ a.sum + b.sum, a.count + b.count };
}

void sums_and_counts(int64_t n, int64_t k, const int64_t *is, const float *vs,
                     float *sums, int32_t *numbers) {
  const SumAndCount none = { 0, 0 };
  SumAndCount *bins = malloc((size_t)k * sizeof *bins);
#define ADD_PAIR             \
  {                          \
    own[is[i]].sum += vs[i]; \
    own[is[i]].count++;      \
  }
  PRIVATE_BINS(SumAndCount, k, none, add_pairs, bins, ADD_PAIR)
  for (int64_t b = 0; b < k; b++) {
    sums[b] = bins[b].sum;
    numbers[b] = bins[b].count;
  }
  free(bins);
}

typedef struct Maximum {
  float x;
  int64_t at;
} Maximum;

static inline Maximum greater(Maximum a, Maximum b) {
  return b.x > a.x || (b.x == a.x && b.at < a.at) ? b : a;
}

void positions_of_maxima(int64_t n, int64_t k, const int64_t *is, const float *vs,
                         float *xs, int64_t *positions) {
  const Maximum none = { -FLT_MAX, INT64_MAX };
  Maximum *bins = malloc((size_t)k * sizeof *bins);
  PRIVATE_BINS(Maximum, k, none, greater, bins,
               if (vs[i] > own[is[i]].x) own[is[i]] = ((Maximum){ vs[i], i });)
  for (int64_t b = 0; b < k; b++) {
    xs[b] = bins[b].x;
    positions[b] = bins[b].at;
  }
  free(bins);
}

void of_rows(int64_t n, int64_t m, const uint8_t *xss, int32_t *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    int32_t *bins = out + i * 16;
    memset(bins, 0, 16 * sizeof *bins);
    for (int64_t j = 0; j < m; j++)
      bins[xss[i * m + j]]++;
  }
}

void means(int64_t n, int64_t d, int64_t k, const int64_t *is, const float *points,
           float *out) {
  float *bins = malloc((size_t)(k * (d + 1)) * sizeof *bins);
#define ADD_POINT                       \
  {                                     \
    float *bin = own + is[i] * (d + 1); \
    for (int64_t x = 0; x < d; x++)     \
      bin[x] += points[i * d + x];      \
    bin[d]++;                           \
  }
  PRIVATE_BINS(float, k *(d + 1), 0, ADD, bins, ADD_POINT)
  for (int64_t b = 0; b < k; b++)
    for (int64_t x = 0; x < d; x++)
      out[b * d + x] = bins[b * (d + 1) + x] / bins[b * (d + 1) + d];
  free(bins);
}
