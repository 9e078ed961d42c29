// References of kernels/permute.fl.
#include "kernels.h"

// What is kept of each thread's part is counted first, then stored behind what comes before.
#ifdef PLAIN
#  define FILTER(keep, store)       \
    int64_t to = 0;                 \
    for (int64_t i = 0; i < n; i++) \
      if (keep) {                   \
        store;                      \
        to++;                       \
      }                             \
    return to;
#else
// Without a branch: an element that is not kept is overwritten by the next.  `guard` elements behind the
// end of a part belong to the next one, so the last ones are stored with a branch.
#  define FILTER(keep, store)                                                          \
    int64_t counts[MOST_THREADS + 1] = { 0 }, total = 0;                               \
    _Pragma("omp parallel") {                                                          \
      Part p = part_of(n);                                                             \
      int64_t count = 0, to = 0, i = p.from;                                           \
      _Pragma("omp simd reduction(+ : count)") for (int64_t i = p.from; i < p.to; i++) \
          count += (keep);                                                             \
      counts[p.id + 1] = count;                                                        \
      _Pragma("omp barrier") for (int t = 0; t <= p.id; t++) to += counts[t];          \
      int64_t end = to + count;                                                        \
      for (; i < p.to && to < end; i++) {                                              \
        store;                                                                         \
        to += (keep);                                                                  \
      }                                                                                \
      if (p.id == p.threads - 1) total = end;                                          \
    }                                                                                  \
    return total;
#endif

int64_t filtered(int64_t n, const float *xs,
                 float *out){ FILTER(xs[i] < 0.5f, out[to] = xs[i]) }

int64_t filtered_by(int64_t n, float p_limit, const float *xs,
                    float *out){ FILTER(xs[i] < p_limit, out[to] = xs[i]) }

int64_t filtered_i64(int64_t n, const int64_t *xs,
                     int64_t *out){ FILTER(xs[i] % 3 == 0, out[to] = xs[i]) }

int64_t positions(int64_t n, const float *xs,
                  int64_t *out){ FILTER(xs[i] > 0.9f, out[to] = i) }

int64_t filtered_pairs(int64_t n, const int32_t *ks, const float *vs, int32_t *out_k,
                       float *out_v) {
  FILTER(ks[i] < 500, (out_k[to] = ks[i], out_v[to] = vs[i]))
}

void sum_of_filtered(int64_t n, const float *xs, float *out) {
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++)
    sum += 2 * xs[i] > 1 ? 2 * xs[i] : 0;
  *out = sum;
}

static int64_t count_small(int64_t n, const int32_t *xs) {
  int64_t count = 0;
#pragma omp simd reduction(+ : count)
  for (int64_t i = 0; i < n; i++)
    count += xs[i] < 500;
  return count;
}

// Stores the part's small elements from `small` on and the others from `large` on.
static void store_parts(Part p, const int32_t *xs, int64_t small, int64_t large,
                        int32_t *out) {
  for (int64_t i = p.from; i < p.to; i++) {
    bool is_small = xs[i] < 500;
    out[is_small ? small : large] = xs[i];
    small += is_small;
    large += !is_small;
  }
}

void partitioned(int64_t n, const int32_t *xs, int32_t *out) {
#ifdef PLAIN
  store_parts((Part){ 0, 1, 0, n }, xs, 0, count_small(n, xs), out);
#else
  int64_t counts[MOST_THREADS];
#  pragma omp parallel
  {
    Part p = part_of(n);
    counts[p.id] = count_small(p.to - p.from, xs + p.from);
#  pragma omp barrier
    int64_t before = 0, all = 0;
    for (int t = 0; t < p.threads; t++) {
      before += t < p.id ? counts[t] : 0;
      all += counts[t];
    }
    store_parts(p, xs, before, all + p.from - before, out);
  }
#endif
}

// Sorting: a pass puts elements in the order of one digit; threads count their parts' digits first.
enum { MOST_DIGITS = 256 };

static void count_digits(Part p, const uint32_t *xs, int shift, uint32_t mask,
                         int64_t *counts) {
  memset(counts, 0, MOST_DIGITS * sizeof *counts);
  for (int64_t i = p.from; i < p.to; i++)
    counts[xs[i] >> shift & mask]++;
}

static void store_by_digit(Part p, const uint32_t *xs, int shift, uint32_t mask,
                           int64_t *at, uint32_t *out) {
  for (int64_t i = p.from; i < p.to; i++)
    out[at[xs[i] >> shift & mask]++] = xs[i];
}

#ifdef PLAIN
static void sort_pass(int64_t n, const uint32_t *xs, int shift, uint32_t mask,
                      uint32_t *out) {
  int64_t counts[MOST_DIGITS], at[MOST_DIGITS], sum = 0;
  Part p = { 0, 1, 0, n };
  count_digits(p, xs, shift, mask, counts);
  for (int d = 0; d < MOST_DIGITS; d++) {
    at[d] = sum;
    sum += counts[d];
  }
  store_by_digit(p, xs, shift, mask, at, out);
}
#else
static void sort_pass(int64_t n, const uint32_t *xs, int shift, uint32_t mask,
                      uint32_t *out) {
  int64_t(*counts)[MOST_DIGITS] = malloc(sizeof *counts * (size_t)omp_get_max_threads());
#  pragma omp parallel
  {
    Part p = part_of(n);
    int64_t at[MOST_DIGITS], sum = 0;
    count_digits(p, xs, shift, mask, counts[p.id]);
#  pragma omp barrier
    for (uint32_t d = 0; d <= mask; d++)
      for (int t = 0; t < p.threads; t++) {
        if (t == p.id) at[d] = sum;
        sum += counts[t][d];
      }
    store_by_digit(p, xs, shift, mask, at, out);
  }
  free(counts);
}
#endif

void split_by_bit(int64_t n, const uint32_t *xs, uint32_t *out) {
  sort_pass(n, xs, 0, 1, out);
}

void radix_sort(int64_t n, const uint32_t *xs, uint32_t *out) {
  uint32_t *other = malloc((size_t)n * sizeof *other);
  sort_pass(n, xs, 0, 255, other);
  sort_pass(n, other, 8, 255, out);
  sort_pass(n, out, 16, 255, other);
  sort_pass(n, other, 24, 255, out);
  free(other);
}

// One step of the network on 2^k elements: partners are `d` apart, blocks of 2^(i + 1) alternate.
static void bitonic_step(int64_t n, int64_t i, int64_t d, float *xs) {
#pragma omp parallel for
  for (int64_t block = 0; block < n; block += 2 * d) {
    bool up = (block >> (i + 1) & 1) == 0;
#pragma omp simd
    for (int64_t a = block; a < block + d; a++) {
      float low = xs[a] < xs[a + d] ? xs[a] : xs[a + d],
            high = xs[a] < xs[a + d] ? xs[a + d] : xs[a];
      xs[a] = up ? low : high;
      xs[a + d] = up ? high : low;
    }
  }
}

void bitonic_sort(int64_t n, int64_t k, const float *xs, float *out) {
  memcpy(out, xs, (size_t)n * sizeof *out);
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j <= i; j++)
      bitonic_step(n, i, (int64_t)1 << (i - j), out);
}

void gathered(int64_t n, int64_t m, const int64_t *is, const float *xs, float *out) {
  (void)m;
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = xs[is[i]];
}

void gathered_i32(int64_t n, const int32_t *is, const double *xs, double *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = xs[is[i]];
}

void looked_up(int64_t n, const uint8_t *table, const uint8_t *xs, uint8_t *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    out[i] = table[xs[i]];
}

void gathered_rows(int64_t n, int64_t m, int64_t k, const int64_t *is, const float *xss,
                   float *out) {
  (void)k;
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    memcpy(out + i * m, xss + is[i] * m, (size_t)m * sizeof *out);
}

void scattered(int64_t n, const int64_t *is, const float *xs, float *out) {
#pragma omp parallel
  {
#pragma omp for simd
    for (int64_t i = 0; i < n; i++)
      out[i] = 0;
#pragma omp for
    for (int64_t i = 0; i < n; i++)
      out[is[i]] = xs[i];
  }
}

void scattered_into(int64_t m, int64_t n, float *dest, const int64_t *is,
                    const float *xs) {
  (void)m;
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    dest[is[i]] = xs[i];
}

// Transpositions in blocks that fit the nearest cache; `n` rows that are `pitch` elements apart become
// columns that are `out_pitch` apart.
enum { BLOCK = 16 };

#define TRANSPOSE(suffix, T)                                                        \
  static inline void block_##suffix(const T *xs, int64_t pitch, T *out,             \
                                    int64_t out_pitch) {                            \
    for (int j = 0; j < BLOCK; j++)                                                 \
      for (int i = 0; i < BLOCK; i++)                                               \
        out[j * out_pitch + i] = xs[i * pitch + j];                                 \
  }                                                                                 \
  static void rows_##suffix(int64_t rows, int64_t m, const T *xs, T *out,           \
                            int64_t out_pitch) {                                    \
    int64_t j = 0;                                                                  \
    for (; rows == BLOCK && j + BLOCK <= m; j += BLOCK)                             \
      block_##suffix(xs + j, m, out + j * out_pitch, out_pitch);                    \
    for (; j < m; j++)                                                              \
      for (int64_t i = 0; i < rows; i++)                                            \
        out[j * out_pitch + i] = xs[i * m + j];                                     \
  }                                                                                 \
  static void few_rows_##suffix(int64_t n, int64_t m, const T *xs, T *out) {        \
    _Pragma("omp parallel for") for (int64_t j = 0; j < m; j++) for (int64_t i = 0; \
                                                                     i < n; i++)    \
        out[j * n + i] = xs[i * m + j];                                             \
  }                                                                                 \
  static void transpose_##suffix(int64_t n, int64_t m, const T *xs, T *out) {       \
    if (n < 4 * BLOCK && m > 4 * BLOCK) {                                           \
      few_rows_##suffix(n, m, xs, out);                                             \
      return;                                                                       \
    }                                                                               \
    _Pragma("omp parallel for") for (int64_t i = 0; i < n; i += BLOCK)              \
        rows_##suffix(least(BLOCK, n - i), m, xs + i * m, out + i, n);              \
  }

#ifdef PLAIN
#  undef TRANSPOSE
#  define TRANSPOSE(suffix, T)                                                  \
    static void transpose_##suffix(int64_t n, int64_t m, const T *xs, T *out) { \
      for (int64_t i = 0; i < n; i++)                                           \
        for (int64_t j = 0; j < m; j++)                                         \
          out[j * n + i] = xs[i * m + j];                                       \
    }
#endif

TRANSPOSE(f32, float)
TRANSPOSE(f64, double)
TRANSPOSE(u8, uint8_t)

void transposed(int64_t n, int64_t m, const float *xss, float *out) {
  transpose_f32(n, m, xss, out);
}

void transposed_f64(int64_t n, int64_t m, const double *xss, double *out) {
  transpose_f64(n, m, xss, out);
}

void transposed_bytes(int64_t n, int64_t m, const uint8_t *xss, uint8_t *out) {
  transpose_u8(n, m, xss, out);
}

void symmetric(int64_t n, const float *a, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i += BLOCK)
    for (int64_t j = 0; j < n; j += BLOCK)
      for (int64_t y = i; y < least(i + BLOCK, n); y++)
        for (int64_t x = j; x < least(j + BLOCK, n); x++)
          out[y * n + x] = 0.5f * (a[y * n + x] + a[x * n + y]);
}

void batch_transposed(int64_t k, int64_t n, int64_t m, const float *xs, float *out) {
#pragma omp parallel for
  for (int64_t l = 0; l < k; l++) {
    const float *from = xs + l * n * m;
    float *to = out + l * n * m;
    for (int64_t j = 0; j < m; j++)
      for (int64_t i = 0; i < n; i++)
        to[j * n + i] = from[i * m + j];
  }
}

void channels_last(int64_t k, int64_t n, int64_t m, const float *xs, float *out) {
  transpose_f32(k, n * m, xs, out);
}

void rotated(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n - 1000; i++)
    out[i] = xs[i + 1000];
  memcpy(out + n - 1000, xs, 1000 * sizeof *out);
}

void reversed(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = xs[n - 1 - i];
}

int64_t interleaved(int64_t n, const float *xs, const float *ys, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    out[2 * i] = xs[i];
    out[2 * i + 1] = ys[i];
  }
  return 2 * n;
}

int64_t quarter(int64_t n, int64_t m, const float *xss, float *out) {
  int64_t rows = 3 * n / 4 - n / 4, columns = 3 * m / 4 - m / 4;
#pragma omp parallel for
  for (int64_t i = 0; i < rows; i++)
    memcpy(out + i * columns, xss + (i + n / 4) * m + m / 4,
           (size_t)columns * sizeof *out);
  return rows;
}

int64_t repeated(int64_t n, const float *xs, float *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < 16; k++)
      out[16 * i + k] = xs[i];
  return 16 * n;
}

// The number of steps is the same for all keys, so that there is no branch to predict.
void searched(int64_t n, int64_t m, const int32_t *keys, const int32_t *sorted,
              int64_t *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    const int32_t *base = sorted;
    int64_t length = m;
    while (length > 1) {
      int64_t half = length / 2;
      base += base[half - 1] < keys[i] ? half : 0;
      length -= half;
    }
    out[i] = base - sorted + (*base < keys[i]);
  }
}
