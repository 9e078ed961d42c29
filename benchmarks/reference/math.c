// References of kernels/math.fl: with fast mathematics the compiler calls libmvec, vectors at a time.
#include "kernels.h"

#define MAP(name, T, element)                                          \
  void name(int64_t n, const T *xs, T *out) {                          \
    _Pragma("omp parallel for simd") for (int64_t i = 0; i < n; i++) { \
      T x = xs[i];                                                     \
      out[i] = element;                                                \
    }                                                                  \
  }
#define MAP_2(name, T, element)                                        \
  void name(int64_t n, const T *xs, const T *ys, T *out) {             \
    _Pragma("omp parallel for simd") for (int64_t i = 0; i < n; i++) { \
      T x = xs[i], y = ys[i];                                          \
      out[i] = element;                                                \
    }                                                                  \
  }

MAP(exp_f32, float, expf(x))
MAP(log_f32, float, logf(x))
MAP(sin_f32, float, sinf(x))
MAP(cos_f32, float, cosf(x))
MAP(tan_f32, float, tanf(x))
MAP(atan_f32, float, atanf(x))
MAP(tanh_f32, float, tanhf(x))
MAP(erf_f32, float, erff(x))
MAP(cbrt_f32, float, cbrtf(x))
MAP(sqrt_f32, float, sqrtf(x))
MAP(exp2_f32, float, exp2f(x))
MAP(log2_f32, float, log2f(x))
MAP(log10_f32, float, log10f(x))
MAP(log1p_f32, float, log1pf(x))
MAP(expm1_f32, float, expm1f(x))
MAP(asin_f32, float, asinf(x))
MAP(acos_f32, float, acosf(x))
MAP(sinh_f32, float, sinhf(x))
MAP(cosh_f32, float, coshf(x))
MAP_2(pow_f32, float, powf(x, y))
MAP_2(atan2_f32, float, atan2f(x, y))
MAP_2(hypot_f32, float, hypotf(x, y))
MAP_2(division_f32, float, x / y)
MAP(sigmoid_f32, float, 1 / (1 + expf(-x)))
MAP(rounding_f32, float, floorf(x) + ceilf(x) + rintf(x) + truncf(x))

MAP(exp_f64, double, exp(x))
MAP(log_f64, double, log(x))
MAP(sin_f64, double, sin(x))
MAP(cos_f64, double, cos(x))
MAP(tan_f64, double, tan(x))
MAP(atan_f64, double, atan(x))
MAP(tanh_f64, double, tanh(x))
MAP(erf_f64, double, erf(x))
MAP(cbrt_f64, double, cbrt(x))
MAP(sqrt_f64, double, sqrt(x))
MAP(exp2_f64, double, exp2(x))
MAP(log2_f64, double, log2(x))
MAP(log10_f64, double, log10(x))
MAP(log1p_f64, double, log1p(x))
MAP(expm1_f64, double, expm1(x))
MAP(asin_f64, double, asin(x))
MAP(acos_f64, double, acos(x))
MAP(sinh_f64, double, sinh(x))
MAP(cosh_f64, double, cosh(x))
MAP_2(pow_f64, double, pow(x, y))
MAP_2(atan2_f64, double, atan2(x, y))
MAP_2(hypot_f64, double, hypot(x, y))
MAP_2(division_f64, double, x / y)
MAP(sigmoid_f64, double, 1 / (1 + exp(-x)))
MAP(rounding_f64, double, floor(x) + ceil(x) + rint(x) + trunc(x))

MAP(several, double, sin(x) * cos(x) + x * sqrt(x))
MAP(gelu, float, 0.5f * x * (1 + tanhf(0.7978846f * (x + 0.044715f * x * x * x))))

void conditional(int64_t n, const float *xs, float *out) {
#ifdef PLAIN
  for (int64_t i = 0; i < n; i++)
    out[i] = xs[i] > 0 ? expf(xs[i]) * sinf(xs[i]) : 0;
#else
#  pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float value = expf(xs[i]) * sinf(xs[i]);
    out[i] = xs[i] > 0 ? value : 0;
  }
#endif
}

void box_muller(int64_t n, const float *us, const float *vs, float *as, float *bs) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float r = sqrtf(-2 * logf(us[i])), t = 6.2831853f * vs[i];
    as[i] = r * cosf(t);
    bs[i] = r * sinf(t);
  }
}

void waves(int64_t n, float *out) {
#pragma omp parallel for simd
  for (int64_t i = 0; i < n; i++) {
    float t = (float)i * 0.001f;
    out[i] = sinf(t) + 0.5f * sinf(3 * t) + 0.25f * cosf(5 * t);
  }
}
