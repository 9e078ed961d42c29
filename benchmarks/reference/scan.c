// References of kernels/scan.fl.
//
// A scan of a whole array makes two passes: each thread reduces its part, then it scans the part from
// what comes before it.
#include "kernels.h"

// `STEP(acc, i)` combines the state with element i, `PUT(acc, i)` stores it, `JOIN(a, b)` combines two.
#ifdef PLAIN
#  define SCAN(Acc, STEP, PUT, JOIN, ...) \
    Acc acc = __VA_ARGS__;                \
    for (int64_t i = 0; i < n; i++) {     \
      STEP(acc, i);                       \
      PUT(acc, i);                        \
    }
#else
#  define SCAN(Acc, STEP, PUT, JOIN, ...)                                              \
    Acc parts[MOST_THREADS];                                                           \
    _Pragma("omp parallel") {                                                          \
      Part p = part_of(n);                                                             \
      Acc part = __VA_ARGS__, acc = __VA_ARGS__;                                       \
      for (int64_t i = p.from; i < p.to && p.id < p.threads - 1; i++)                  \
        STEP(part, i);                                                                 \
      parts[p.id] = part;                                                              \
      _Pragma("omp barrier") for (int t = 0; t < p.id; t++) acc = JOIN(acc, parts[t]); \
      for (int64_t i = p.from; i < p.to; i++) {                                        \
        STEP(acc, i);                                                                  \
        PUT(acc, i);                                                                   \
      }                                                                                \
    }
#endif

// Scans whose steps the compiler turns into vectors; `add` is an expression of element i.
#ifdef PLAIN
#  define SCAN_IN_VECTORS(T, from_acc, put) \
    T acc = 0;                              \
    for (int64_t i = 0; i < n; i++) {       \
      acc = from_acc;                       \
      put;                                  \
    }
#else
#  define SCAN_IN_VECTORS(T, from_acc, put)                                             \
    T parts[MOST_THREADS];                                                              \
    _Pragma("omp parallel") {                                                           \
      Part p = part_of(n);                                                              \
      T acc = 0;                                                                        \
      if (p.id < p.threads - 1) {                                                       \
        _Pragma("omp simd reduction(+ : acc)") for (int64_t i = p.from; i < p.to; i++)  \
            acc = from_acc;                                                             \
      }                                                                                 \
      parts[p.id] = acc;                                                                \
      _Pragma("omp barrier") acc = 0;                                                   \
      for (int t = 0; t < p.id; t++)                                                    \
        acc = acc + parts[t];                                                           \
      _Pragma("omp simd reduction(inscan, + : acc)") for (int64_t i = p.from; i < p.to; \
                                                          i++) {                        \
        acc = from_acc;                                                                 \
        _Pragma("omp scan inclusive(acc)") put;                                         \
      }                                                                                 \
    }
#endif

void prefix_sums(int64_t n, const int32_t *xs, int32_t *out) {
  SCAN_IN_VECTORS(uint32_t, acc + (uint32_t)xs[i], out[i] = (int32_t)acc)
}

void prefix_sums_f32(int64_t n, const float *xs, float *out) {
  SCAN_IN_VECTORS(float, acc + xs[i], out[i] = acc)
}

void prefix_sums_i64(int64_t n, const int64_t *xs, int64_t *out) {
  SCAN_IN_VECTORS(int64_t, acc + xs[i], out[i] = acc)
}

void ranks(int64_t n, const float *xs, int64_t *out) {
  SCAN_IN_VECTORS(int64_t, acc + (xs[i] < 0.5f), out[i] = acc)
}

void cumulative_means(int64_t n, const float *xs, float *out) {
  SCAN_IN_VECTORS(float, acc + 2 * xs[i], out[i] = acc / (float)(i + 1))
}

void exclusive(int64_t n, const int32_t *xs, int32_t *out) {
  out[0] = 0;
  prefix_sums(n - 1, xs, out + 1);
}

typedef struct Maximum {
  float x;
} Maximum;

#define NO_MAXIMUM \
  { -FLT_MAX }

static inline Maximum join_maxima(Maximum a, Maximum b) { return a.x > b.x ? a : b; }

void running_maximum(int64_t n, const float *xs, float *out) {
#define MAXIMUM_STEP(m, i) (m).x = xs[i] > (m).x ? xs[i] : (m).x
#define MAXIMUM_PUT(m, i)  out[i] = (m).x
  SCAN(Maximum, MAXIMUM_STEP, MAXIMUM_PUT, join_maxima, NO_MAXIMUM)
}

typedef struct Segment {
  int32_t sum;
  bool flag;
} Segment;

static inline Segment join_segments(Segment a, Segment b) {
  return (Segment){ b.flag ? b.sum : a.sum + b.sum, a.flag || b.flag };
}

void segmented(int64_t n, const bool *flags, const int32_t *xs, int32_t *out) {
#define SEGMENT_STEP(s, i) \
  (s).sum = (flags[i] ? 0 : (s).sum) + xs[i], (s).flag |= flags[i]
#define SEGMENT_PUT(s, i) out[i] = (s).sum
  SCAN(Segment, SEGMENT_STEP, SEGMENT_PUT, join_segments, { 0, false })
}

typedef struct FloatSegment {
  float sum;
  bool flag;
} FloatSegment;

static inline FloatSegment join_float_segments(FloatSegment a, FloatSegment b) {
  return (FloatSegment){ b.flag ? b.sum : a.sum + b.sum, a.flag || b.flag };
}

void segmented_f32(int64_t n, const bool *flags, const float *xs, float *out) {
  SCAN(FloatSegment, SEGMENT_STEP, SEGMENT_PUT, join_float_segments, { 0, false })
}

typedef struct Pair {
  float a;
  double b;
} Pair;

static inline Pair join_pairs(Pair x, Pair y) { return (Pair){ x.a + y.a, x.b + y.b }; }

void pairs(int64_t n, const float *xs, const double *ys, float *as, double *bs) {
#define PAIR_STEP(p, i) (p).a += xs[i], (p).b += ys[i]
#define PAIR_PUT(p, i)  as[i] = (p).a, bs[i] = (p).b
  SCAN(Pair, PAIR_STEP, PAIR_PUT, join_pairs, { 0, 0 })
}

typedef struct Triple {
  float low, high;
  double sum;
} Triple;

static inline Triple join_triples(Triple a, Triple b) {
  return (Triple){ a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high,
                   a.sum + b.sum };
}

void triples(int64_t n, const float *xs, float *lows, float *highs, double *sums) {
#define TRIPLE_STEP(t, i)                      \
  (t).low = xs[i] < (t).low ? xs[i] : (t).low, \
  (t).high = xs[i] > (t).high ? xs[i] : (t).high, (t).sum += (double)xs[i]
#define TRIPLE_PUT(t, i) lows[i] = (t).low, highs[i] = (t).high, sums[i] = (t).sum
  SCAN(Triple, TRIPLE_STEP, TRIPLE_PUT, join_triples, { FLT_MAX, -FLT_MAX, 0 })
}

typedef struct Position {
  float x;
  int64_t i;
} Position;

static inline Position join_positions(Position a, Position b) {
  return b.x > a.x ? b : a;
}

void running_argmax(int64_t n, const float *xs, int64_t *out) {
#define POSITION_STEP(p, k) (p) = xs[k] > (p).x ? (Position){ xs[k], k } : (p)
#define POSITION_PUT(p, k)  out[k] = (p).i
  SCAN(Position, POSITION_STEP, POSITION_PUT, join_positions, { -FLT_MAX, 0 })
}

typedef struct Linear {
  double a, b;
} Linear;

static inline Linear join_linear(Linear x, Linear y) {
  return (Linear){ x.a * y.a, x.b * y.a + y.b };
}

void recurrence(int64_t n, const double *as, const double *bs, double *out) {
#define LINEAR_STEP(f, i) (f).b = (f).b * as[i] + bs[i], (f).a *= as[i]
#define LINEAR_PUT(f, i)  out[i] = (f).b
  SCAN(Linear, LINEAR_STEP, LINEAR_PUT, join_linear, { 1, 0 })
}

void moving_average(int64_t n, const float *xs, float *out) {
#define AVERAGE_STEP(f, i) (f).b = (f).b * 0.9 + 0.1 * (double)xs[i], (f).a *= 0.9
#define AVERAGE_PUT(f, i)  out[i] = (float)(f).b
  SCAN(Linear, AVERAGE_STEP, AVERAGE_PUT, join_linear, { 1, 0 })
}

typedef struct Fibonacci {
  uint32_t last, next;
} Fibonacci;

#ifdef PLAIN
void fibonacci(int64_t n, uint32_t *out) {
  uint32_t last = 0, next = 1;
  for (int64_t i = 0; i < n; i++) {
    out[i] = next;
    next += last;
    last = out[i];
  }
}
#else
// F(i) and F(i + 1) by doubling.
static Fibonacci fibonacci_at(int64_t i) {
  Fibonacci f = { 0, 1 };
  for (int bit = 62; bit >= 0; bit--) {
    uint32_t even = f.last * (2 * f.next - f.last),
             odd = f.last * f.last + f.next * f.next;
    f = i >> bit & 1 ? (Fibonacci){ odd, even + odd } : (Fibonacci){ even, odd };
  }
  return f;
}

void fibonacci(int64_t n, uint32_t *out) {
#  pragma omp parallel
  {
    Part p = part_of(n);
    Fibonacci f = fibonacci_at(p.from);
    for (int64_t i = p.from; i < p.to; i++) {
      out[i] = f.next;
      f = (Fibonacci){ f.next, f.last + f.next };
    }
  }
}
#endif

// Rows and columns

static inline void scan_row(int64_t m, const float *xs, float *out) {
  float acc = 0;
#ifdef PLAIN
  for (int64_t j = 0; j < m; j++)
    out[j] = acc += xs[j];
#else
#  pragma omp simd reduction(inscan, + : acc)
  for (int64_t j = 0; j < m; j++) {
    acc += xs[j];
#  pragma omp scan inclusive(acc)
    out[j] = acc;
  }
#endif
}

// A row's chain of additions is waited for; those of several rows aren't.
enum { SIDE_BY_SIDE = 8, SHORT_ROW = 64, FEW_ROWS = 8 };

static inline void scan_short_rows(int64_t m, const float *xss, float *out) {
  float acc[SIDE_BY_SIDE] = { 0 };
  for (int64_t j = 0; j < m; j++)
    for (int r = 0; r < SIDE_BY_SIDE; r++)
      out[r * m + j] = acc[r] += xss[r * m + j];
}

static void short_rows(int64_t n, int64_t m, const float *xss, float *out) {
  int64_t whole = n / SIDE_BY_SIDE;
#pragma omp parallel for
  for (int64_t b = 0; b < whole; b++)
    scan_short_rows(m, xss + b * SIDE_BY_SIDE * m, out + b * SIDE_BY_SIDE * m);
  for (int64_t i = whole * SIDE_BY_SIDE; i < n; i++)
    scan_row(m, xss + i * m, out + i * m);
}

static void each_row(int64_t n, int64_t m, const float *xss, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    scan_row(m, xss + i * m, out + i * m);
}

void rows(int64_t n, int64_t m, const float *xss, float *out) {
  if (n >= FEW_ROWS && m <= SHORT_ROW)
    short_rows(n, m, xss, out);
  else if (n >= FEW_ROWS)
    each_row(n, m, xss, out);
  else
    for (int64_t i = 0; i < n; i++)
      prefix_sums_f32(m, xss + i * m, out + i * m);
}

void rows_i32(int64_t n, int64_t m, const int32_t *xss, int32_t *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    int32_t acc = 0;
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = acc += xss[i * m + j];
  }
}

#ifdef PLAIN
void columns(int64_t n, int64_t m, const float *xss, float *out) {
  memcpy(out, xss, (size_t)m * sizeof *out);
  for (int64_t i = 1; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = out[(i - 1) * m + j] + xss[i * m + j];
}

void summed_area(int64_t n, int64_t m, const int32_t *xss, int32_t *out) {
  for (int64_t i = 0; i < n; i++) {
    int32_t acc = 0;
    for (int64_t j = 0; j < m; j++) {
      acc += xss[i * m + j];
      out[i * m + j] = acc + (i > 0 ? out[(i - 1) * m + j] : 0);
    }
  }
}
#else
// Down the columns from `from` to `to`, the running sums beside each other.
static void scan_columns(int64_t n, int64_t m, int64_t from, int64_t to, const float *xss,
                         float *out) {
  memcpy(out + from, xss + from, (size_t)(to - from) * sizeof *out);
  for (int64_t i = 1; i < n; i++)
#  pragma omp simd
    for (int64_t j = from; j < to; j++)
      out[i * m + j] = out[(i - 1) * m + j] + xss[i * m + j];
}

// Few columns: rows are shared out, in two passes as for a whole array.
static void scan_few_columns(int64_t n, int64_t m, const float *xss, float *out) {
  float sums[MOST_THREADS][64] = { { 0 } };
#  pragma omp parallel
  {
    Part p = part_of(n);
    float acc[64] = { 0 };
    for (int64_t i = p.from; i < p.to; i++)
#  pragma omp simd
      for (int64_t j = 0; j < m; j++)
        acc[j] += xss[i * m + j];
    memcpy(sums[p.id], acc, sizeof acc);
#  pragma omp barrier
    memset(acc, 0, sizeof acc);
    for (int t = 0; t < p.id; t++)
      for (int64_t j = 0; j < m; j++)
        acc[j] += sums[t][j];
    for (int64_t i = p.from; i < p.to; i++)
#  pragma omp simd
      for (int64_t j = 0; j < m; j++)
        out[i * m + j] = acc[j] += xss[i * m + j];
  }
}

void columns(int64_t n, int64_t m, const float *xss, float *out) {
  enum { COLUMNS = 2048 };
  if (m <= 64) {
    scan_few_columns(n, m, xss, out);
    return;
  }
  int64_t width = least(COLUMNS, (m + omp_get_max_threads() - 1) / omp_get_max_threads());
#  pragma omp parallel for
  for (int64_t j = 0; j < m; j += width)
    scan_columns(n, m, j, least(j + width, m), xss, out);
}

// Rows first, each followed by the sum with the row above: threads have blocks of columns for that.
void summed_area(int64_t n, int64_t m, const int32_t *xss, int32_t *out) {
#  pragma omp parallel
  {
#  pragma omp for
    for (int64_t i = 0; i < n; i++) {
      int32_t acc = 0;
      for (int64_t j = 0; j < m; j++)
        out[i * m + j] = acc += xss[i * m + j];
    }
    Part p = part_of(m);
    for (int64_t i = 1; i < n; i++)
#  pragma omp simd
      for (int64_t j = p.from; j < p.to; j++)
        out[i * m + j] += out[(i - 1) * m + j];
  }
}
#endif

void row_maxima(int64_t n, int64_t m, const float *xss, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    float acc = -FLT_MAX;
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = acc = xss[i * m + j] > acc ? xss[i * m + j] : acc;
  }
}

void row_recurrences(int64_t n, int64_t m, const double *as, const double *bs,
                     double *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    double b = 0;
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = b = b * as[i * m + j] + bs[i * m + j];
  }
}
