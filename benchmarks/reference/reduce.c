// References of kernels/reduce.fl.
#include "kernels.h"

#define SUM(name, T, element, Out)                                                    \
  void name(int64_t n, const T *xs, Out *out) {                                       \
    Out total = 0;                                                                    \
    _Pragma("omp parallel for simd reduction(+ : total)") for (int64_t i = 0; i < n;  \
                                                               i++) total += element; \
    *out = total;                                                                     \
  }

SUM(sum, float, xs[i], float)
SUM(sum_f64, double, xs[i], double)
SUM(sum_bytes, uint8_t, xs[i], int64_t)
SUM(count, float, xs[i] < 0.5f, int64_t)

void sum_i32(int64_t n, const int32_t *xs, int32_t *out) {
  uint32_t total = 0;
#pragma omp parallel for simd reduction(+ : total)
  for (int64_t i = 0; i < n; i++)
    total += (uint32_t)xs[i];
  *out = (int32_t)total;
}

// What the loop says: additions in order, on one core.
void sum_in_order(int64_t n, const float *xs, float *out) {
  float total = 0;
  for (int64_t i = 0; i < n; i++)
    total += xs[i];
  *out = total;
}

void dot(int64_t n, const float *xs, const float *ys, float *out) {
  float total = 0;
#pragma omp parallel for simd reduction(+ : total)
  for (int64_t i = 0; i < n; i++)
    total += xs[i] * ys[i];
  *out = total;
}

void dot_f64(int64_t n, const double *xs, const double *ys, double *out) {
  double total = 0;
#pragma omp parallel for simd reduction(+ : total)
  for (int64_t i = 0; i < n; i++)
    total += xs[i] * ys[i];
  *out = total;
}

void maximum(int64_t n, const float *xs, float *out) {
  float high = -INFINITY;
#pragma omp parallel for simd reduction(max : high)
  for (int64_t i = 0; i < n; i++)
    high = xs[i] > high ? xs[i] : high;
  *out = high;
}

void minimum_i32(int64_t n, const int32_t *xs, int32_t *out) {
  int32_t low = INT32_MAX;
#pragma omp parallel for simd reduction(min : low)
  for (int64_t i = 0; i < n; i++)
    low = xs[i] < low ? xs[i] : low;
  *out = low;
}

void norm(int64_t n, const float *xs, float *out) {
  float total = 0;
#pragma omp parallel for simd reduction(+ : total)
  for (int64_t i = 0; i < n; i++)
    total += xs[i] * xs[i];
  *out = sqrtf(total);
}

void largest_difference(int64_t n, const float *xs, const float *ys, float *out) {
  float high = 0;
#pragma omp parallel for simd reduction(max : high)
  for (int64_t i = 0; i < n; i++) {
    float d = fabsf(xs[i] - ys[i]);
    high = d > high ? d : high;
  }
  *out = high;
}

// The extreme of each block in vectors; the block that had the best one is searched for its position.
#define EXTREME_WITH_POSITION(name, T, Position, worst, reduction, better)             \
  void name(int64_t n, const T *xs, T *value, Position *position) {                    \
    enum { BLOCK = 4096 };                                                             \
    T best = worst;                                                                    \
    int64_t from = 0;                                                                  \
    _Pragma("omp parallel") {                                                          \
      T own = worst;                                                                   \
      int64_t own_from = 0;                                                            \
      _Pragma("omp for schedule(static) nowait") for (int64_t at = 0; at < n;          \
                                                      at += BLOCK) {                   \
        int64_t end = least(at + BLOCK, n);                                            \
        T x = worst;                                                                   \
        _Pragma(reduction) for (int64_t i = at; i < end; i++) x =                      \
            xs[i] better x ? xs[i] : x;                                                \
        if (x better own) own = x, own_from = at;                                      \
      }                                                                                \
      _Pragma("omp critical") if (own better best || (own == best && own_from < from)) \
          best = own,                                                                  \
          from = own_from;                                                             \
    }                                                                                  \
    while (xs[from] != best)                                                           \
      from++;                                                                          \
    *value = best;                                                                     \
    *position = (Position)from;                                                        \
  }

#ifdef PLAIN
#  undef EXTREME_WITH_POSITION
#  define EXTREME_WITH_POSITION(name, T, Position, worst, reduction, better) \
    void name(int64_t n, const T *xs, T *value, Position *position) {        \
      int64_t at = 0;                                                        \
      for (int64_t i = 1; i < n; i++)                                        \
        if (xs[i] better xs[at]) at = i;                                     \
      *value = xs[at];                                                       \
      *position = (Position)at;                                              \
    }
#endif

EXTREME_WITH_POSITION(argmin, float, int64_t, INFINITY, "omp simd reduction(min : x)", <)
EXTREME_WITH_POSITION(argmax, float, int64_t, -INFINITY, "omp simd reduction(max : x)", >)
EXTREME_WITH_POSITION(argmin_i32, int32_t, int32_t, INT32_MAX,
                      "omp simd reduction(min : x)", <)

void minimum_and_maximum(int64_t n, const float *xs, float *low_out, float *high_out) {
  float low = INFINITY, high = -INFINITY;
#pragma omp parallel for simd reduction(min : low) reduction(max : high)
  for (int64_t i = 0; i < n; i++) {
    low = xs[i] < low ? xs[i] : low;
    high = xs[i] > high ? xs[i] : high;
  }
  *low_out = low;
  *high_out = high;
}

void mean_and_variance(int64_t n, const double *xs, double *mean, double *variance) {
  double sum = 0, squares = 0;
#pragma omp parallel for simd reduction(+ : sum, squares)
  for (int64_t i = 0; i < n; i++) {
    sum += xs[i];
    squares += xs[i] * xs[i];
  }
  *mean = sum / (double)n;
  *variance = squares / (double)n - *mean * *mean;
}

static double deviations(int64_t n, const double *xs, double *mean) {
  double sum = 0, squares = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++)
    sum += xs[i];
  double m = sum / (double)n;
#pragma omp parallel for simd reduction(+ : squares)
  for (int64_t i = 0; i < n; i++)
    squares += (xs[i] - m) * (xs[i] - m);
  *mean = m;
  return squares;
}

void variance(int64_t n, const double *xs, double *out) {
  double mean;
  *out = deviations(n, xs, &mean) / (double)n;
}

// Whoever writes C computes the same by two passes.
#ifdef PLAIN
void moments(int64_t n, const double *xs, double *mean_out, double *variance_out) {
  double mean = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) {
    double d = xs[i] - mean;
    mean += d / (double)(i + 1);
    squares += d * (xs[i] - mean);
  }
  *mean_out = mean;
  *variance_out = squares / (double)n;
}
#else
void moments(int64_t n, const double *xs, double *mean, double *variance_out) {
  *variance_out = deviations(n, xs, mean) / (double)n;
}
#endif

void four_statistics(int64_t n, const float *xs, float *low_out, float *high_out,
                     double *sum_out, int64_t *count_out) {
  float low = INFINITY, high = -INFINITY;
  double sum = 0;
  int64_t count = 0;
#pragma omp parallel for simd reduction(min : low) reduction(max : high) reduction(+ : sum, count)
  for (int64_t i = 0; i < n; i++) {
    low = xs[i] < low ? xs[i] : low;
    high = xs[i] > high ? xs[i] : high;
    sum += (double)xs[i];
    count += xs[i] > 0.5f;
  }
  *low_out = low;
  *high_out = high;
  *sum_out = sum;
  *count_out = count;
}

void three_counts(int64_t n, const int32_t *xs, int32_t *a_out, int32_t *b_out,
                  int32_t *c_out) {
  int32_t a = 0, b = 0, c = 0;
#pragma omp parallel for simd reduction(+ : a, b, c)
  for (int64_t i = 0; i < n; i++) {
    a += xs[i] < 300;
    b += xs[i] >= 300 && xs[i] < 600;
    c += xs[i] >= 600;
  }
  *a_out = a;
  *b_out = b;
  *c_out = c;
}

// Several streams, so that the chain of comparisons is not waited for.
#define STREAMS 64

#ifdef PLAIN
void two_greatest(int64_t n, const float *xs, float *first, float *second) {
  float a = -INFINITY, b = -INFINITY;
  for (int64_t i = 0; i < n; i++) {
    if (xs[i] > a)
      b = a, a = xs[i];
    else if (xs[i] > b)
      b = xs[i];
  }
  *first = a;
  *second = b;
}
#else
static void keep_two(float *a, float *b, float x) {
  float low = x < *a ? x : *a;
  *a = x > *a ? x : *a;
  *b = low > *b ? low : *b;
}

static void two_of_part(Part p, const float *xs, float *a_out, float *b_out) {
  float a[STREAMS], b[STREAMS];
  for (int s = 0; s < STREAMS; s++)
    a[s] = b[s] = -FLT_MAX;
  int64_t i = p.from;
  for (; i + STREAMS <= p.to; i += STREAMS)
#  pragma omp simd
    for (int s = 0; s < STREAMS; s++) {
      float x = xs[i + s], low = x < a[s] ? x : a[s];
      a[s] = x > a[s] ? x : a[s];
      b[s] = low > b[s] ? low : b[s];
    }
  for (; i < p.to; i++)
    keep_two(&a[0], &b[0], xs[i]);
  for (int s = 0; s < STREAMS; s++) {
    keep_two(a_out, b_out, a[s]);
    keep_two(a_out, b_out, b[s]);
  }
}

void two_greatest(int64_t n, const float *xs, float *first, float *second) {
  float a = -FLT_MAX, b = -FLT_MAX;
#  pragma omp parallel
  {
    Part p = part_of(n);
    float own_a = -FLT_MAX, own_b = -FLT_MAX;
    two_of_part(p, xs, &own_a, &own_b);
#  pragma omp critical
    {
      keep_two(&a, &b, own_a);
      keep_two(&a, &b, own_b);
    }
  }
  *first = a;
  *second = b;
}
#endif

// Parts are reduced in order by one thread each; these are combined in order.  `Acc` is what one part
// gives; `LANES` parts of a thread advance side by side, as many as registers hold.
#define LANES 2
#define IN_ORDER(Acc, neutral, step, join)                   \
  const Acc start = neutral;                                 \
  Acc total = start;                                         \
  Acc parts[MOST_THREADS];                                   \
  int threads = 1;                                           \
  _Pragma("omp parallel") {                                  \
    Part p = part_of(n);                                     \
    int64_t length = (p.to - p.from) / LANES;                \
    Acc lane[LANES];                                         \
    for (int l = 0; l < LANES; l++)                          \
      lane[l] = start;                                       \
    for (int64_t k = 0; k < length; k++)                     \
      for (int l = 0; l < LANES; l++)                        \
        step(lane[l], p.from + l * length + k);              \
    for (int64_t i = p.from + LANES * length; i < p.to; i++) \
      step(lane[LANES - 1], i);                              \
    Acc all = lane[0];                                       \
    for (int l = 1; l < LANES; l++)                          \
      all = join(all, lane[l]);                              \
    parts[p.id] = all;                                       \
    if (p.id == 0) threads = p.threads;                      \
  }                                                          \
  for (int t = 0; t < threads; t++)                          \
    total = join(total, parts[t]);

#define SEGMENT(T, suffix)                                                               \
  typedef struct Segment##suffix {                                                       \
    T total, prefix, tail, best;                                                         \
  } Segment##suffix;                                                                     \
  static inline T max##suffix(T a, T b) { return a > b ? a : b; }                        \
  static inline Segment##suffix join##suffix(Segment##suffix a, Segment##suffix b) {     \
    return (                                                                             \
        Segment##suffix){ a.total + b.total, max##suffix(a.prefix, a.total + b.prefix),  \
                          max##suffix(b.tail, a.tail + b.total),                         \
                          max##suffix(max##suffix(a.best, b.best), a.tail + b.prefix) }; \
  }                                                                                      \
  static inline T kadane##suffix(int64_t n, const T *xs) {                               \
    T here = 0, best = 0;                                                                \
    for (int64_t i = 0; i < n; i++) {                                                    \
      here = max##suffix(here + xs[i], 0);                                               \
      best = max##suffix(best, here);                                                    \
    }                                                                                    \
    return best;                                                                         \
  }

SEGMENT(int32_t, _i32)
SEGMENT(float, _f32)

#define SEGMENT_STEP(acc, i)                                                \
  do {                                                                      \
    (acc).total += xs[i];                                                   \
    (acc).prefix = (acc).total > (acc).prefix ? (acc).total : (acc).prefix; \
    (acc).tail = (acc).tail + xs[i] > 0 ? (acc).tail + xs[i] : 0;           \
    (acc).best = (acc).tail > (acc).best ? (acc).tail : (acc).best;         \
  } while (0)

#ifdef PLAIN
void segment_sum(int64_t n, const int32_t *xs, int32_t *out) { *out = kadane_i32(n, xs); }

void segment_sum_f32(int64_t n, const float *xs, float *out) { *out = kadane_f32(n, xs); }

void compose_linear(int64_t n, const double *as, const double *bs, double *a_out,
                    double *b_out) {
  double a = 1, b = 0;
  for (int64_t i = 0; i < n; i++) {
    b = b * as[i] + bs[i];
    a *= as[i];
  }
  *a_out = a;
  *b_out = b;
}

void matrix_chain(int64_t n, const uint32_t *xs, uint32_t *out_a, uint32_t *out_b,
                  uint32_t *out_c, uint32_t *out_d) {
  uint32_t a = 1, b = 0, c = 0, d = 1;
  for (int64_t i = 0; i < n; i++) {
    uint32_t next_a = a * xs[i] + b, next_c = c * xs[i] + d;
    b = a;
    d = c;
    a = next_a;
    c = next_c;
  }
  *out_a = a;
  *out_b = b;
  *out_c = c;
  *out_d = d;
}

void brackets(int64_t n, const int8_t *xs, int32_t *total_out, int32_t *low_out) {
  int32_t total = 0, low = 0;
  for (int64_t i = 0; i < n; i++) {
    total += xs[i];
    low = total < low ? total : low;
  }
  *total_out = total;
  *low_out = low;
}

void longest_run(int64_t n, const int32_t *xs, int64_t *out) {
  int64_t best = 0, run = 0;
  for (int64_t i = 0; i < n; i++) {
    run = i > 0 && xs[i] == xs[i - 1] ? run + 1 : 1;
    best = run > best ? run : best;
  }
  *out = best;
}
#else
void segment_sum(int64_t n, const int32_t *xs, int32_t *out) {
  IN_ORDER(Segment_i32, { 0 }, SEGMENT_STEP, join_i32)
  *out = total.best;
}

void segment_sum_f32(int64_t n, const float *xs, float *out) {
  IN_ORDER(Segment_f32, { 0 }, SEGMENT_STEP, join_f32)
  *out = total.best;
}

typedef struct Linear {
  double a, b;
} Linear;

static inline Linear join_linear(Linear x, Linear y) {
  return (Linear){ x.a * y.a, x.b * y.a + y.b };
}

void compose_linear(int64_t n, const double *as, const double *bs, double *a_out,
                    double *b_out) {
#  define LINEAR_STEP(acc, i) (acc).b = (acc).b * as[i] + bs[i], (acc).a *= as[i]
  const Linear one = { 1, 0 };
  IN_ORDER(Linear, one, LINEAR_STEP, join_linear)
  *a_out = total.a;
  *b_out = total.b;
}

typedef struct Matrix {
  uint32_t a, b, c, d;
} Matrix;

static inline Matrix join_matrix(Matrix x, Matrix y) {
  return (Matrix){ x.a * y.a + x.b * y.c, x.a * y.b + x.b * y.d, x.c * y.a + x.d * y.c,
                   x.c * y.b + x.d * y.d };
}

void matrix_chain(int64_t n, const uint32_t *xs, uint32_t *out_a, uint32_t *out_b,
                  uint32_t *out_c, uint32_t *out_d) {
#  define MATRIX_STEP(m, i) \
    (m) = (Matrix) { (m).a *xs[i] + (m).b, (m).a, (m).c *xs[i] + (m).d, (m).c }
  Matrix identity = { 1, 0, 0, 1 };
  IN_ORDER(Matrix, identity, MATRIX_STEP, join_matrix)
  *out_a = total.a;
  *out_b = total.b;
  *out_c = total.c;
  *out_d = total.d;
}

typedef struct Depth {
  int32_t total, low;
} Depth;

static inline Depth join_depth(Depth x, Depth y) {
  return (Depth){ x.total + y.total, (int32_t)least(x.low, x.total + y.low) };
}

void brackets(int64_t n, const int8_t *xs, int32_t *total_out, int32_t *low_out) {
#  define DEPTH_STEP(acc, i) \
    (acc).total += xs[i], (acc).low = (acc).total < (acc).low ? (acc).total : (acc).low
  IN_ORDER(Depth, { 0 }, DEPTH_STEP, join_depth)
  *total_out = total.total;
  *low_out = total.low;
}

// Each thread finds runs that begin in its part, to their ends; a run that began before is not its own.
void longest_run(int64_t n, const int32_t *xs, int64_t *out) {
  int64_t best = 0;
#  pragma omp parallel reduction(max : best)
  {
    Part p = part_of(n);
    int64_t i = p.from, run = 1;
    while (i > 0 && i < p.to && xs[i] == xs[i - 1])
      i++;
    for (i++; i < p.to; i++) {
      best = run > best ? run : best;
      run = xs[i] == xs[i - 1] ? run + 1 : 1;
    }
    for (; i < n && xs[i] == xs[i - 1]; i++)
      run++;
    best = run > best ? run : best;
  }
  *out = best;
}
#endif

void is_sorted(int64_t n, const int32_t *xs, bool *out) {
  bool sorted = true;
#pragma omp parallel for simd reduction(& : sorted)
  for (int64_t i = 0; i < n - 1; i++)
    sorted &= xs[i] <= xs[i + 1];
  *out = sorted;
}

void exclusive_or(int64_t n, const int64_t *xs, int64_t *out) {
  int64_t all = 0;
#pragma omp parallel for simd reduction(^ : all)
  for (int64_t i = 0; i < n; i++)
    all ^= xs[i];
  *out = all;
}

void cosine(int64_t n, const float *xs, const float *ys, float *out) {
  float xy = 0, xx = 0, yy = 0;
#pragma omp parallel for simd reduction(+ : xy, xx, yy)
  for (int64_t i = 0; i < n; i++) {
    xy += xs[i] * ys[i];
    xx += xs[i] * xs[i];
    yy += ys[i] * ys[i];
  }
  *out = xy / sqrtf(xx * yy);
}

void integral(int64_t n, double *out) {
  double h = 1 / (double)n, sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++) {
    double x = ((double)i + 0.5) * h;
    sum += 4 / (1 + x * x);
  }
  *out = h * sum;
}

// Rows and columns

static inline float row_sum(int64_t m, const float *xs) {
  float total = 0;
#pragma omp simd reduction(+ : total)
  for (int64_t j = 0; j < m; j++)
    total += xs[j];
  return total;
}

// Rows shorter than a vector: neighbouring rows side by side.
static void short_row_sums(int64_t n, int64_t m, const float *xss, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float total = 0;
    for (int64_t j = 0; j < m; j++)
      total += xss[i * m + j];
    out[i] = total;
  }
}

enum { SHORT_ROW = 16, FEW_ROWS = 16 };

void row_sums(int64_t n, int64_t m, const float *xss, float *out) {
  if (m < SHORT_ROW) {
    short_row_sums(n, m, xss, out);
    return;
  }
  if (n < FEW_ROWS) {
    for (int64_t i = 0; i < n; i++)
      sum(m, xss + i * m, out + i);
    return;
  }
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    out[i] = row_sum(m, xss + i * m);
}

void row_norms(int64_t n, int64_t m, const double *xss, double *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < m; j++)
      total += xss[i * m + j] * xss[i * m + j];
    out[i] = sqrt(total);
  }
}

#ifdef PLAIN
void column_sums(int64_t n, int64_t m, const float *xss, float *out) {
  memset(out, 0, (size_t)m * sizeof *out);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      out[j] += xss[i * m + j];
}
#else
// Rows are shared out; sums of a block of columns stay in the nearest cache, those of few in registers.
static void add_rows(int64_t from, int64_t to, int64_t m, const float *xss, float *sums) {
  enum { COLUMNS = 4096 };
  for (int64_t block = 0; block < m; block += COLUMNS) {
    int64_t end = least(block + COLUMNS, m);
    for (int64_t i = from; i < to; i++)
#  pragma omp simd
      for (int64_t j = block; j < end; j++)
        sums[j] += xss[i * m + j];
  }
}

// Many rows of few columns: 16 sums for each, at the places that elements have in as many rows.
static void add_short_rows(int64_t from, int64_t to, int64_t m, const float *xss,
                           float *sums) {
  enum { ROWS = 16, COLUMNS = 16 };
  float places[ROWS * COLUMNS] = { 0 };
  int64_t i = from, width = ROWS * m;
  for (; i + ROWS <= to; i += ROWS)
#  pragma omp simd
    for (int64_t k = 0; k < width; k++)
      places[k] += xss[i * m + k];
  for (int64_t k = 0; k < width; k++)
    sums[k % m] += places[k];
  add_rows(i, to, m, xss, sums);
}

static void share_rows(int64_t n, int64_t m, const float *xss, float *out) {
  memset(out, 0, (size_t)m * sizeof *out);
#  pragma omp parallel
  {
    Part p = part_of(n);
    float *own = calloc((size_t)m, sizeof *own);
    if (m <= 16)
      add_short_rows(p.from, p.to, m, xss, own);
    else
      add_rows(p.from, p.to, m, xss, own);
#  pragma omp critical
    for (int64_t j = 0; j < m; j++)
      out[j] += own[j];
    free(own);
  }
}

static void share_columns(int64_t n, int64_t m, const float *xss, float *out) {
  enum { COLUMNS = 2048 };
#  pragma omp parallel for
  for (int64_t block = 0; block < m; block += COLUMNS) {
    int64_t end = least(block + COLUMNS, m);
    memset(out + block, 0, (size_t)(end - block) * sizeof *out);
    for (int64_t i = 0; i < n; i++)
#  pragma omp simd
      for (int64_t j = block; j < end; j++)
        out[j] += xss[i * m + j];
  }
}

void column_sums(int64_t n, int64_t m, const float *xss, float *out) {
  if (n > m / 4)
    share_rows(n, m, xss, out);
  else
    share_columns(n, m, xss, out);
}
#endif

void sum_2d(int64_t n, int64_t m, const float *xss, float *out) { sum(n * m, xss, out); }

void row_dots(int64_t n, int64_t m, const float *a, const float *b, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int64_t j = 0; j < m; j++)
      total += a[i * m + j] * b[i * m + j];
    out[i] = total;
  }
}

void row_segment_sums(int64_t n, int64_t m, const int32_t *xss, int32_t *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    out[i] = kadane_i32(m, xss + i * m);
}
