// References of kernels/power.fl.
#include "kernels.h"

#define MAP(name, T, element)                                          \
  void name(int64_t n, const T *xs, T *out) {                          \
    _Pragma("omp parallel for simd") for (int64_t i = 0; i < n; i++) { \
      T x = xs[i];                                                     \
      out[i] = element;                                                \
    }                                                                  \
  }

static inline float sixth(float x) { return x * x * x * (x * x * x); }
static inline double fourth_square(double x) { return x * x * (x * x); }

MAP(square, float, x *x)
MAP(square_f64, double, x *x)
MAP(cube, float, x *x *x)
MAP(fifth, float, x *x *(x *x) * x)
MAP(sixteenth, double, fourth_square(fourth_square(x)))
MAP(root, float, sqrtf(x))
MAP(root_f64, double, sqrt(x))
MAP(three_halves, float, x *sqrtf(x))
MAP(inverse, float, 1 / x)
MAP(inverse_square, double, 1 / (x * x))
MAP(square_i32, int32_t, (int32_t)((uint32_t)x *(uint32_t)x))
MAP(cube_i64, int64_t, (int64_t)((uint64_t)x *(uint64_t)x *(uint64_t)x))
MAP(two_to, int32_t, 1 << x)
MAP(polynomial, double, 1 + x * (-1 + x * (1 + x * (-2 + 3 * x))))
MAP(lennard_jones, float, 4 * (sixth(1 / x) - 1) * sixth(1 / x))

// The bits of the exponent are the same for all elements.
void power_i32(int64_t n, int32_t e, const int32_t *xs, int32_t *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    uint32_t power = 1, x = (uint32_t)xs[i];
    for (int32_t bits = e; bits > 0; bits >>= 1) {
      if (bits & 1) power *= x;
      x *= x;
    }
    out[i] = (int32_t)power;
  }
}

void power_f32(int64_t n, float e, const float *xs, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = powf(xs[i], e);
}

void power_by_i32(int64_t n, int32_t e, const float *xs, float *out) {
  power_f32(n, (float)e, xs, out);
}

void square_error(int64_t n, const float *xs, const float *ys, float *out) {
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (int64_t i = 0; i < n; i++)
    sum += (xs[i] - ys[i]) * (xs[i] - ys[i]);
  *out = sum / (float)n;
}

void lengths(int64_t n, const float *xs, const float *ys, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++)
    out[i] = sqrtf(xs[i] * xs[i] + ys[i] * ys[i]);
}
