// References of kernels/bytes.fl.
#include "kernels.h"

static inline int64_t clamp(int64_t i, int64_t n) {
  return i < 0 ? 0 : i >= n ? n - 1 : i;
}

// A function of pixels: `value` is an expression of x.
#define PIXELS(name, T, R, parameter, value)                                             \
  void name(int64_t n, int64_t m, parameter, const T *restrict image, R *restrict out) { \
    _Pragma("omp parallel for simd") for (int64_t i = 0; i < n * m; i++) {               \
      T x = image[i];                                                                    \
      out[i] = value;                                                                    \
    }                                                                                    \
  }

// A function of the rows u, row, d and of columns l, j, r; borders by BORDER.
#define WINDOW(name, T, R, value)                                                       \
  static inline R name##_at(const T *u, const T *row, const T *d, int64_t l, int64_t j, \
                            int64_t r) {                                                \
    (void)u, (void)row, (void)d, (void)l, (void)r;                                      \
    return value;                                                                       \
  }                                                                                     \
  static inline void name##_row(int64_t m, const T *u, const T *row, const T *d,        \
                                R *restrict out) {                                      \
    _Pragma("omp simd") for (int64_t j = 1; j < m - 1; j++) out[j] =                    \
        name##_at(u, row, d, j - 1, j, j + 1);                                          \
  }

#define CLAMPED(name, T, R, value)                                                  \
  WINDOW(name, T, R, value)                                                         \
  void name(int64_t n, int64_t m, const T *image, R *restrict out) {                \
    _Pragma("omp parallel for") for (int64_t i = 0; i < n; i++) {                   \
      const T *u = image + clamp(i - 1, n) * m, *row = image + i * m,               \
              *d = image + clamp(i + 1, n) * m;                                     \
      name##_row(m, u, row, d, out + i * m);                                        \
      for (int64_t j = 0; j < m; j += m - 1)                                        \
        out[i * m + j] = name##_at(u, row, d, clamp(j - 1, m), j, clamp(j + 1, m)); \
    }                                                                               \
  }

#define WRAPPED(name, T, R, value)                                              \
  WINDOW(name, T, R, value)                                                     \
  void name(int64_t n, int64_t m, const T *image, R *restrict out) {            \
    _Pragma("omp parallel for") for (int64_t i = 0; i < n; i++) {               \
      const T *u = image + (i + n - 1) % n * m, *row = image + i * m,           \
              *d = image + (i + 1) % n * m;                                     \
      name##_row(m, u, row, d, out + i * m);                                    \
      for (int64_t j = 0; j < m; j += m - 1)                                    \
        out[i * m + j] = name##_at(u, row, d, (j + m - 1) % m, j, (j + 1) % m); \
    }                                                                           \
  }

#define AROUND (u[l] + u[j] + u[r] + row[l] + row[r] + d[l] + d[j] + d[r])
static inline uint8_t lives(uint8_t around, uint8_t here) {
  return (around == 3) | ((around == 2) & here);
}
WRAPPED(life_bytes, uint8_t, uint8_t, lives((uint8_t)AROUND, row[j]))
// As bytes: C does not count bools in vectors.
CLAMPED(life_bools, uint8_t, uint8_t, lives((uint8_t)AROUND, row[j]))
WRAPPED(life_step, int8_t, int8_t, (int8_t)lives((uint8_t)AROUND, (uint8_t)row[j]))

void life_rows(int64_t n, int64_t m, int64_t k, const int8_t *cells, int8_t *out) {
  size_t bytes = (size_t)(n * m);
  int8_t *now = malloc(bytes), *next = malloc(bytes);
  memcpy(now, cells, bytes);
  for (int64_t t = 0; t < k; t++) {
    life_step(n, m, now, next);
    int8_t *old = now;
    now = next;
    next = old;
  }
  memcpy(out, now, bytes);
  free(now);
  free(next);
}

static inline uint8_t u8_of(int x) { return (uint8_t)(x < 0 ? 0 : x > 255 ? 255 : x); }

PIXELS(threshold, uint8_t, uint8_t, uint8_t level, x > level ? 255 : 0)
PIXELS(brighter, uint8_t, uint8_t, int32_t by, u8_of(x + by))

void contrast(int64_t n, int64_t m, float gain, float bias, const uint8_t *image,
              uint8_t *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n * m; i++) {
    float y = gain * image[i] + bias;
    y = y > 255 ? 255 : y;
    out[i] = (uint8_t)(int)(y < 0 ? 0 : y);
  }
}

void gamma_of(int64_t n, int64_t m, const uint8_t *table, const uint8_t *image,
              uint8_t *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n * m; i++)
    out[i] = table[image[i]];
}

CLAMPED(blur_bytes, uint8_t, uint8_t, (uint8_t)((AROUND + row[j]) / 9))
CLAMPED(binomial, uint8_t, uint8_t,
        (uint8_t)((u[l] + 2 * u[j] + u[r] + 2 * (row[l] + 2 * row[j] + row[r]) + d[l] +
                   2 * d[j] + d[r] + 8) >>
                  4))
#define ACROSS (u[r] + 2 * row[r] + d[r] - u[l] - 2 * row[l] - d[l])
#define DOWN   (d[l] + 2 * d[j] + d[r] - u[l] - 2 * u[j] - u[r])
CLAMPED(edges, uint8_t, uint8_t, u8_of(abs(ACROSS) + abs(DOWN)))

static inline uint8_t u8_min(uint8_t a, uint8_t b) { return a < b ? a : b; }
static inline uint8_t u8_max(uint8_t a, uint8_t b) { return a > b ? a : b; }
#define OF_ROW(f, row) f(f(row[l], row[j]), row[r])
#define OF_NINE(f)     f(f(OF_ROW(f, u), OF_ROW(f, row)), OF_ROW(f, d))
CLAMPED(eroded, uint8_t, uint8_t, OF_NINE(u8_min))
CLAMPED(dilated, uint8_t, uint8_t, OF_NINE(u8_max))

// `value` is an expression of a, x and y.
#define BLEND(name, value)                                                         \
  void name(int64_t n, const uint8_t *alpha, const uint8_t *xs, const uint8_t *ys, \
            uint8_t *restrict out) {                                               \
    _Pragma("omp parallel for simd") for (int64_t i = 0; i < n; i++) {             \
      uint8_t a = alpha[i], x = xs[i], y = ys[i];                                  \
      out[i] = (uint8_t)(value);                                                   \
    }                                                                              \
  }
static inline uint16_t blend_16(uint16_t a, uint16_t x, uint16_t y) {
  uint16_t t = (uint16_t)(a * x + (255 - a) * y + 128);
  return (uint16_t)((t + (t >> 8)) >> 8);
}
BLEND(blended, (a * x + (255 - a) * y) / 255)
BLEND(blended_u16, blend_16(a, x, y))

void grey(int64_t n, int64_t m, const uint8_t *image, uint8_t *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n * m; i++)
    out[i] =
        (uint8_t)((77 * image[3 * i] + 150 * image[3 * i + 1] + 29 * image[3 * i + 2]) >>
                  8);
}

void grey_planes(int64_t n, const uint8_t *r, const uint8_t *g, const uint8_t *b,
                 uint8_t *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = (uint8_t)(int)(0.299f * r[i] + 0.587f * g[i] + 0.114f * b[i]);
}

void grey_words(int64_t n, const uint32_t *pixels, uint8_t *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    uint32_t p = pixels[i];
    out[i] =
        (uint8_t)((77 * (p & 255) + 150 * ((p >> 8) & 255) + 29 * ((p >> 16) & 255)) >>
                  8);
  }
}

void swapped_colours(int64_t n, const uint8_t *image, uint8_t *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    out[3 * i] = image[3 * i + 2];
    out[3 * i + 1] = image[3 * i + 1];
    out[3 * i + 2] = image[3 * i];
  }
}

void count_equal(int64_t n, uint8_t x, const uint8_t *xs, int64_t *out) {
  int64_t count = 0;
#pragma omp parallel for simd reduction(+ : count)
  for (int64_t i = 0; i < n; i++)
    count += xs[i] == x;
  *out = count;
}

void count_equal_i32(int64_t n, uint8_t x, const uint8_t *xs, int32_t *out) {
  int32_t count = 0;
#pragma omp parallel for simd reduction(+ : count)
  for (int64_t i = 0; i < n; i++)
    count += xs[i] == x;
  *out = count;
}

#define SUM(name, T, R, begin, combine, how)                                \
  void name(int64_t n, const T *xs, R *out) {                               \
    R sum = begin;                                                          \
    _Pragma(how) for (int64_t i = 0; i < n; i++) sum = combine(sum, xs[i]); \
    *out = sum;                                                             \
  }
#define ADD(a, b) ((a) + (b))
#define XOR(a, b) ((uint8_t)((a) ^ (b)))
SUM(sum_of_bytes, uint8_t, int32_t, 0, ADD, "omp parallel for simd reduction(+ : sum)")
SUM(sum_of_bytes_u64, uint8_t, uint64_t, 0, ADD,
    "omp parallel for simd reduction(+ : sum)")
SUM(checksum, uint8_t, uint8_t, 0, XOR, "omp parallel for simd reduction(^ : sum)")
SUM(greatest_byte, uint8_t, uint8_t, 0, u8_max,
    "omp parallel for simd reduction(max : sum)")
SUM(count_true, uint8_t, int64_t, 0, ADD, "omp parallel for simd reduction(+ : sum)")

void differing_bytes(int64_t n, const uint8_t *xs, const uint8_t *ys, int64_t *out) {
  int64_t count = 0;
#pragma omp parallel for simd reduction(+ : count)
  for (int64_t i = 0; i < n; i++)
    count += xs[i] != ys[i];
  *out = count;
}

void row_differences(int64_t n, int64_t m, const uint8_t *xss, const uint8_t *ys,
                     int32_t *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < m; j++)
      sum += abs(xss[i * m + j] - ys[j]);
    out[i] = sum;
  }
}

// `value` is an expression of x and y.
#define PAIRS(name, T, R, value)                                       \
  void name(int64_t n, const T *xs, const T *ys, R *restrict out) {    \
    _Pragma("omp parallel for simd") for (int64_t i = 0; i < n; i++) { \
      T x = xs[i], y = ys[i];                                          \
      out[i] = (R)(value);                                             \
    }                                                                  \
  }
PAIRS(xor_bytes, uint8_t, uint8_t, x ^ y)
PAIRS(differences, uint8_t, uint8_t, x > y ? x - y : y - x)
PAIRS(mixed, int16_t, int16_t, x + y < -32768 ? -32768 : x + y > 32767 ? 32767 : x + y)
PAIRS(both, uint8_t, uint8_t, x &y)

void upper_case(int64_t n, const uint8_t *text, uint8_t *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = (uint8_t)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i]);
}

void louder(int64_t n, int16_t gain, const int16_t *xs, int16_t *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = (int16_t)((xs[i] * gain + 16384) >> 15);
}

void dot_i8(int64_t n, const int8_t *xs, const int8_t *ys, int32_t *out) {
  int32_t sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++)
    sum += xs[i] * ys[i];
  *out = sum;
}

void matvec_i8(int64_t n, int64_t m, const int8_t *a, const int8_t *x, int32_t *out) {
#pragma omp parallel for
  for (int64_t i = 0; i < n; i++) {
    int32_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = 0; j < m; j++)
      sum += a[i * m + j] * x[j];
    out[i] = sum;
  }
}

void equalised(int64_t n, int64_t m, const uint8_t *image, uint8_t *restrict out) {
  int32_t counts[256] = { 0 }, sum = 0, total = (int32_t)(n * m);
  uint8_t table[256];
#pragma omp parallel for reduction(+ : counts)
  for (int64_t i = 0; i < n * m; i++)
    counts[image[i]]++;
  for (int k = 0; k < 256; k++) {
    sum += counts[k];
    int32_t others = total - counts[0];
    table[k] = (uint8_t)((int64_t)(sum - counts[0]) * 255 / (others > 1 ? others : 1));
  }
#pragma omp parallel for simd
  for (int64_t i = 0; i < n * m; i++)
    out[i] = table[image[i]];
}

void prefix_sums(int64_t n, const uint8_t *xs, uint8_t *out) {
  uint8_t sum = 0;
  for (int64_t i = 0; i < n; i++)
    out[i] = sum = (uint8_t)(sum + xs[i]);
}

void are_positive(int64_t n, const float *xs, uint8_t *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = xs[i] > 0;
}

void masked(int64_t n, const uint8_t *keep, const float *xs, float *restrict out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = keep[i] ? xs[i] : 0;
}

static inline bool is_letter(uint8_t c) { return c >= 'a' && c <= 'h'; }

void words_found(int64_t n, const uint8_t *text, int64_t *out) {
  int64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n - 2; i++)
    sum += text[i] == 'f' && text[i + 1] == 'e' && text[i + 2] == 'd' &&
           (i == 0 || !is_letter(text[i - 1])) && (i + 3 >= n || !is_letter(text[i + 3]));
  *out = sum;
}

void corners(int64_t n, int64_t m, const uint8_t *board, int64_t *out) {
  int64_t sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      sum += board[i * m + j] == 1 && (i == 0 || board[(i - 1) * m + j] != 1) &&
             (j == 0 || board[i * m + j - 1] != 1);
  *out = sum;
}
