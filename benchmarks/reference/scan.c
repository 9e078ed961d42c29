// References of kernels/scan.fl.
//
// A scan of a whole array goes by chunks that threads take in turns: a chunk is reduced, waits for what
// comes before it, and is scanned from there while it is still in the cache.
#include "kernels.h"

#ifndef PLAIN
static inline int64_t chunk_of(int64_t n) {
  return most(4096, least(32768, n / (8 * omp_get_max_threads())));
}

enum { LANES = 4 };
#endif

// `STEP(acc, i)` combines the state with element i, `PUT(acc, i)` stores it, `JOIN(a, b)` combines two.
// Four parts of a chunk advance side by side: each waits for its own additions.
#ifdef PLAIN
#  define SCAN(Acc, STEP, PUT, JOIN, ...) \
    Acc acc = __VA_ARGS__;                \
    for (int64_t i = 0; i < n; i++) {     \
      STEP(acc, i);                       \
      PUT(acc, i);                        \
    }
#else
#  define SCAN(Acc, STEP, PUT, JOIN, ...)                                               \
    Acc total = __VA_ARGS__;                                                            \
    int64_t chunk = chunk_of(n);                                                        \
    _Pragma("omp parallel for ordered schedule(static, 1)") for (int64_t from = 0;      \
                                                                 from < n;              \
                                                                 from += chunk) {       \
      int64_t to = least(from + chunk, n), length = (to - from) / LANES, i;             \
      Acc lane[LANES] = { __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__ }, before; \
      for (int64_t k = 0; k < length; k++)                                              \
        for (int l = 0; l < LANES; l++) {                                               \
          i = from + l * length + k;                                                    \
          STEP(lane[l], i);                                                             \
        }                                                                               \
      for (i = from + LANES * length; i < to; i++)                                      \
        STEP(lane[LANES - 1], i);                                                       \
      Acc all = JOIN(JOIN(lane[0], lane[1]), JOIN(lane[2], lane[3]));                   \
      _Pragma("omp ordered") {                                                          \
        before = total;                                                                 \
        total = JOIN(total, all);                                                       \
      }                                                                                 \
      for (int l = 0; l < LANES; l++) {                                                 \
        Acc next = JOIN(before, lane[l]);                                               \
        lane[l] = before;                                                               \
        before = next;                                                                  \
      }                                                                                 \
      for (int64_t k = 0; k < length; k++)                                              \
        for (int l = 0; l < LANES; l++) {                                               \
          i = from + l * length + k;                                                    \
          STEP(lane[l], i);                                                             \
          PUT(lane[l], i);                                                              \
        }                                                                               \
      for (i = from + LANES * length; i < to; i++) {                                    \
        STEP(lane[LANES - 1], i);                                                       \
        PUT(lane[LANES - 1], i);                                                        \
      }                                                                                 \
    }
#endif

// Sums that the compiler turns into vectors: `from_acc` is the state after element i.
#ifdef PLAIN
#  define SCAN_IN_VECTORS(T, from_acc, put) \
    T acc = 0;                              \
    for (int64_t i = 0; i < n; i++) {       \
      acc = from_acc;                       \
      put;                                  \
    }
#else
#  define SCAN_IN_VECTORS(T, from_acc, put)                                            \
    T total = 0;                                                                       \
    int64_t chunk = chunk_of(n);                                                       \
    _Pragma("omp parallel for ordered schedule(static, 1)") for (int64_t from = 0;     \
                                                                 from < n;             \
                                                                 from += chunk) {      \
      int64_t to = least(from + chunk, n);                                             \
      T acc = 0, sum;                                                                  \
      _Pragma("omp simd reduction(+ : acc)") for (int64_t i = from; i < to; i++) acc = \
          from_acc;                                                                    \
      sum = acc;                                                                       \
      _Pragma("omp ordered") {                                                         \
        acc = total;                                                                   \
        total += sum;                                                                  \
      }                                                                                \
      _Pragma("omp simd reduction(inscan, + : acc)") for (int64_t i = from; i < to;    \
                                                          i++) {                       \
        acc = from_acc;                                                                \
        _Pragma("omp scan inclusive(acc)") put;                                        \
      }                                                                                \
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

// A row's chain of additions is waited for; those of several short rows aren't.
enum { SIDE_BY_SIDE = 8, SHORT_ROW = 64, FEW_ROWS = 8 };

#define ROWS(name, T, whole)                                                          \
  static inline void name##_row(int64_t m, const T *xs, T *out) {                     \
    T acc = 0;                                                                        \
    _Pragma("omp simd reduction(inscan, + : acc)") for (int64_t j = 0; j < m; j++) {  \
      acc += xs[j];                                                                   \
      _Pragma("omp scan inclusive(acc)") out[j] = acc;                                \
    }                                                                                 \
  }                                                                                   \
  static inline void name##_short_rows(int64_t m, const T *xss, T *out) {             \
    T acc[SIDE_BY_SIDE] = { 0 };                                                      \
    for (int64_t j = 0; j < m; j++)                                                   \
      for (int r = 0; r < SIDE_BY_SIDE; r++)                                          \
        out[r * m + j] = acc[r] += xss[r * m + j];                                    \
  }                                                                                   \
  void name(int64_t n, int64_t m, const T *xss, T *out) {                             \
    int64_t whole_blocks = m <= SHORT_ROW ? n / SIDE_BY_SIDE : 0;                     \
    if (n < FEW_ROWS) {                                                               \
      for (int64_t i = 0; i < n; i++)                                                 \
        whole(m, xss + i * m, out + i * m);                                           \
      return;                                                                         \
    }                                                                                 \
    _Pragma("omp parallel for") for (int64_t b = 0; b < whole_blocks; b++)            \
        name##_short_rows(m, xss + b * SIDE_BY_SIDE * m, out + b * SIDE_BY_SIDE * m); \
    _Pragma("omp parallel for") for (int64_t i = whole_blocks * SIDE_BY_SIDE; i < n;  \
                                     i++) name##_row(m, xss + i * m, out + i * m);    \
  }

#ifdef PLAIN
#  undef ROWS
#  define ROWS(name, T, whole)                              \
    void name(int64_t n, int64_t m, const T *xss, T *out) { \
      for (int64_t i = 0; i < n; i++) {                     \
        T acc = 0;                                          \
        for (int64_t j = 0; j < m; j++)                     \
          out[i * m + j] = acc += xss[i * m + j];           \
      }                                                     \
    }
#endif

ROWS(rows, float, prefix_sums_f32)
ROWS(rows_i32, int32_t, prefix_sums)

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

// Few columns: chunks of rows, as for a whole array.  16 columns are a vector.
enum { COLUMNS = 16 };

static inline void add_row(int64_t m, const float *xs, float *acc) {
#  pragma omp simd
  for (int64_t j = 0; j < m; j++)
    acc[j] += xs[j];
}

static inline void scan_chunk(int64_t rows, int64_t m, const float *xss, float *acc,
                              float *out) {
  for (int64_t i = 0; i < rows; i++) {
    add_row(m, xss + i * m, acc);
    memcpy(out + i * m, acc, (size_t)m * sizeof *acc);
  }
}

static void scan_few_columns(int64_t n, int64_t m, const float *xss, float *out) {
  float total[COLUMNS] = { 0 };
#  pragma omp parallel for ordered schedule(static, 1)
  for (int64_t from = 0; from < n; from += 1024) {
    int64_t rows = least(1024, n - from);
    float sums[COLUMNS] = { 0 }, acc[COLUMNS];
    for (int64_t i = from; i < from + rows; i++)
      add_row(m == COLUMNS ? COLUMNS : m, xss + i * m, sums);
#  pragma omp ordered
    {
      memcpy(acc, total, sizeof acc);
      add_row(COLUMNS, sums, total);
    }
    if (m == COLUMNS)
      scan_chunk(rows, COLUMNS, xss + from * m, acc, out + from * m);
    else
      scan_chunk(rows, m, xss + from * m, acc, out + from * m);
  }
}

void columns(int64_t n, int64_t m, const float *xss, float *out) {
  if (m <= COLUMNS) {
    scan_few_columns(n, m, xss, out);
    return;
  }
  int64_t width = least(2048, (m + omp_get_max_threads() - 1) / omp_get_max_threads());
#  pragma omp parallel for
  for (int64_t j = 0; j < m; j += width)
    scan_columns(n, m, j, least(j + width, m), xss, out);
}

// Adds the sums of rows, up to each column, to those of the rows above.
static inline void area_row(int64_t m, const int32_t *xs, const int32_t *above,
                            int32_t *out) {
  int32_t acc = 0;
#  pragma omp simd reduction(inscan, + : acc)
  for (int64_t j = 0; j < m; j++) {
    acc += xs[j];
#  pragma omp scan inclusive(acc)
    out[j] = acc + above[j];
  }
}

// Each thread needs the area above its rows: the columns of all rows before them, added up.
void summed_area(int64_t n, int64_t m, const int32_t *xss, int32_t *out) {
  int32_t *sums = calloc((size_t)(m * (omp_get_max_threads() + 1)), sizeof *sums);
  int32_t *zeros = sums + m * omp_get_max_threads();
#  pragma omp parallel
  {
    Part p = part_of(n);
    int32_t *above = malloc((size_t)m * sizeof *above);
    memset(above, 0, (size_t)m * sizeof *above);
    for (int64_t i = p.from; i < p.to && p.id < p.threads - 1; i++)
#  pragma omp simd
      for (int64_t j = 0; j < m; j++)
        sums[p.id * m + j] += xss[i * m + j];
#  pragma omp barrier
    for (int t = 0; t < p.id; t++)
      for (int64_t j = 0; j < m; j++)
        above[j] += sums[t * m + j];
    area_row(m, above, zeros, above);
    for (int64_t i = p.from; i < p.to; i++)
      area_row(m, xss + i * m, i == p.from ? above : out + (i - 1) * m, out + i * m);
    free(above);
  }
  free(sums);
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
