// References of kernels/map.fl: loops that a compiler vectorises.
#include "kernels.h"

void increment(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = xs[i] + 1;
}

void saxpy(int64_t n, float a, const float *xs, const float *ys, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = a * xs[i] + ys[i];
}

void daxpy_tabulate(int64_t n, double a, const double *xs, const double *ys,
                    double *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = a * xs[i] + ys[i];
}

void four_arrays(int64_t n, const float *as, const float *bs, const float *cs,
                 const float *ds, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = as[i] * ds[i] - bs[i] * cs[i];
}

void zip_tuples(int64_t n, const float *as, const int32_t *bs, const double *cs,
                double *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = (double)as[i] * bs[i] + cs[i];
}

void complex_products(int64_t n, const float *ar, const float *ai, const float *br,
                      const float *bi, float *re, float *im) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    re[i] = ar[i] * br[i] - ai[i] * bi[i];
    im[i] = ar[i] * bi[i] + ai[i] * br[i];
  }
}

void three_results(int64_t n, const double *xs, double *halves, int32_t *thousandths,
                   bool *small) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    halves[i] = xs[i] * 0.5;
    thousandths[i] = (int32_t)(xs[i] * 1000);
    small[i] = xs[i] < 0.25;
  }
}

void pipeline(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float x = xs[i] * 2 + 1;
    x *= x;
    out[i] = x > 1 ? x : 1;
  }
}

void leaky_relu(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = xs[i] < 0 ? 0.01f * xs[i] : xs[i];
}

// All three, then a choice: the lanes of a vector need them all.
void branches(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float x = xs[i], below = 1 / (1 - x), middle = x * x * x, above = sqrtf(fabsf(x));
    out[i] = x < 0 ? below : x < 0.5f ? middle : above;
  }
}

void polynomial(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float x = xs[i];
    float high = 0.125f + x * (0.0625f + x * (0.03125f + x * 0.015625f));
    out[i] = 1 + x * (0.5f + x * (0.25f + x * high));
  }
}

#ifdef PLAIN
void horner(int64_t n, int64_t k, const double *cs, const double *xs, double *out) {
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = 0; j < k; j++)
      sum = sum * xs[i] + cs[j];
    out[i] = sum;
  }
}
#else
// Blocks of elements stay in registers while the coefficients pass.
enum { HORNER_BLOCK = 64 };

static void horner_block(int64_t count, int64_t k, const double *cs, const double *xs,
                         double *out) {
  double sums[HORNER_BLOCK] = { 0 };
  for (int64_t j = 0; j < k; j++)
#  pragma omp simd
    for (int64_t i = 0; i < HORNER_BLOCK; i++)
      sums[i] = sums[i] * xs[i < count ? i : 0] + cs[j];
  memcpy(out, sums, (size_t)count * sizeof *out);
}

static void horner_full_block(int64_t k, const double *cs, const double *xs,
                              double *out) {
  double sums[HORNER_BLOCK] = { 0 };
  for (int64_t j = 0; j < k; j++)
#  pragma omp simd
    for (int i = 0; i < HORNER_BLOCK; i++)
      sums[i] = sums[i] * xs[i] + cs[j];
  memcpy(out, sums, sizeof sums);
}

void horner(int64_t n, int64_t k, const double *cs, const double *xs, double *out) {
#  pragma omp parallel for
  for (int64_t i = 0; i < n; i += HORNER_BLOCK) {
    if (i + HORNER_BLOCK <= n)
      horner_full_block(k, cs, xs + i, out + i);
    else
      horner_block(n - i, k, cs, xs + i, out + i);
  }
}
#endif

void grey(int64_t n, const uint8_t *rs, const uint8_t *gs, const uint8_t *bs,
          uint8_t *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = (uint8_t)((rs[i] * 77 + gs[i] * 151 + bs[i] * 28) >> 8);
}

void grey_pixels(int64_t n, int64_t m, const uint8_t *image, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n * m; i++)
    out[i] =
        0.299f * image[3 * i] + 0.587f * image[3 * i + 1] + 0.114f * image[3 * i + 2];
}

void unit_vectors(int64_t n, const float *vs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float x = vs[3 * i], y = vs[3 * i + 1], z = vs[3 * i + 2];
    float scale = 1 / sqrtf(x * x + y * y + z * z);
    out[3 * i] = x * scale;
    out[3 * i + 1] = y * scale;
    out[3 * i + 2] = z * scale;
  }
}

void integer_hash(int64_t n, const uint32_t *xs, uint32_t *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    uint32_t x = xs[i];
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    out[i] = x ^ (x >> 16);
  }
}

void remainders(int64_t n, const int64_t *xs, int64_t *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    int64_t r = xs[i] % 7;
    out[i] = r < 0 ? r + 7 : r;
  }
}

// Quotients of 32-bit integers are exact in double precision, rounded down as in the language.
void quotients(int64_t n, const int32_t *xs, const int32_t *ys, int32_t *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
#ifdef PLAIN
    int32_t q = xs[i] / ys[i], r = xs[i] % ys[i];
    out[i] = q - (r != 0 && (r < 0) != (ys[i] < 0));
#else
    out[i] = (int32_t)floor((double)xs[i] / (double)ys[i]);
#endif
  }
}

void collatz(int64_t n, const int64_t *xs, int32_t *out) {
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < n; i++) {
    int32_t steps = 0;
    for (uint64_t x = (uint64_t)xs[i]; x != 1; steps++)
      x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    out[i] = steps;
  }
}

void tabulated(int64_t n, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = (float)i * 0.5f;
}

void matrix_sum(int64_t n, int64_t m, const float *a, const float *b, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n * m; i++)
    out[i] = a[i] + b[i];
}

#ifdef PLAIN
void table(int64_t n, int64_t m, float *out) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = (float)(i * 3 + j);
}

void add_row(int64_t n, int64_t m, const float *a, const float *row, float *out) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = a[i * m + j] + row[j];
}

void scale_rows(int64_t n, int64_t m, const float *a, const float *by, float *out) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = a[i * m + j] * by[i];
}

void outer_product(int64_t n, int64_t m, const float *xs, const float *ys, float *out) {
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++)
      out[i * m + j] = xs[i] * ys[j];
}
#else
// Each thread has a part of all elements, few and long rows included.
#  define EACH_PIECE_OF_ROWS(n, m)                                        \
    Part p = part_of((n) * (m));                                          \
    for (int64_t at = p.from, i = at / (m), j = at % (m), end; at < p.to; \
         at = end, i++, j = 0)                                            \
      if ((end = least(at + (m)-j, p.to)))

void table(int64_t n, int64_t m, float *out) {
#  pragma omp parallel
  {
    EACH_PIECE_OF_ROWS(n, m) {
#  pragma omp simd
      for (int64_t k = at; k < end; k++)
        out[k] = (float)(i * 3 + k - i * m);
    }
  }
}

void add_row(int64_t n, int64_t m, const float *a, const float *row, float *out) {
#  pragma omp parallel
  {
    EACH_PIECE_OF_ROWS(n, m) {
#  pragma omp simd
      for (int64_t k = at; k < end; k++)
        out[k] = a[k] + row[k - i * m];
    }
  }
}

void scale_rows(int64_t n, int64_t m, const float *a, const float *by, float *out) {
#  pragma omp parallel
  {
    EACH_PIECE_OF_ROWS(n, m) {
      float s = by[i];
#  pragma omp simd
      for (int64_t k = at; k < end; k++)
        out[k] = a[k] * s;
    }
  }
}

void outer_product(int64_t n, int64_t m, const float *xs, const float *ys, float *out) {
#  pragma omp parallel
  {
    EACH_PIECE_OF_ROWS(n, m) {
      float x = xs[i];
#  pragma omp simd
      for (int64_t k = at; k < end; k++)
        out[k] = x * ys[k - i * m];
    }
  }
}
#endif

void tensor(int64_t n, int64_t m, int64_t k, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n * m * k; i++)
    out[i] = xs[i] * 2 + 1;
}

void widen(int64_t n, const uint8_t *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = xs[i] / 255.0f;
}

void narrow(int64_t n, const float *xs, uint8_t *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float x = xs[i] < 255 ? xs[i] : 255;
    out[i] = (uint8_t)(int32_t)(x > 0 ? x : 0);
  }
}

void bytes(int64_t n, const int8_t *xs, const int8_t *ys, int8_t *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = (int8_t)(xs[i] > ys[i] ? xs[i] - ys[i] : ys[i] - xs[i]);
}

void comparisons(int64_t n, const int16_t *xs, int16_t *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = (int16_t)(xs[i] > 500 ? xs[i] - 500 : xs[i]);
}

int64_t differences(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n - 1; i++)
    out[i] = xs[i + 1] - xs[i];
  return n - 1;
}

void reversed(int64_t n, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = xs[n - 1 - i] * 2;
}

int64_t every_other(int64_t n, const float *xs, float *out) {
  int64_t count = (n + 1) / 2;
#pragma omp parallel for simd
  for (int64_t i = 0; i < count; i++)
    out[i] = xs[2 * i] + 1;
  return count;
}

int64_t concatenated(int64_t n, const float *xs, const float *ys, float *out) {
#pragma omp parallel
  {
#pragma omp for simd nowait
    for (int64_t i = 0; i < n; i++)
      out[i] = xs[i] + 1;
#pragma omp for simd
    for (int64_t i = 0; i < n; i++)
      out[n + i] = ys[i] * 2;
  }
  return 2 * n;
}
