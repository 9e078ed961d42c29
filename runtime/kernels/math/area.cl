// Inverse hyperbolic functions (Abramowitz & Stegun 4.6): for f64 by log1p of what makes their
// definitions exact near 0; for f32, which has less to spare, by polynomials there, and elsewhere
// by logarithms of sums whose rounding is made up for.

// section asinh_f64: within 2.00
FN F asinh_f64(F x) {
  F a = fabs(x);
  I big = a > 1e150;
  F b = big ? (F)(1.0) : a, s = b * b;
  F y = log1p_f64(big ? a : s / (1.0 + sqrt(1.0 + s)) + b);
  y = big ? y + 0.69314718055994529 : y;
  return as_F(as_U(y) | (as_U(x) & 0x8000000000000000));
}
// section acosh_f64: within 2.40
FN F acosh_f64(F x) {
  I big = x > 1e150;
  F b = big ? (F)(1.0) : x - 1.0;
  F y = log1p_f64(big ? x : sqrt(b * b + 2.0 * b) + b);
  y = x < 1.0 ? (F)(NAN) : y;
  return big ? y + 0.69314718055994529 : y;
}
// section atanh_f64: within 2.30
FN F atanh_f64(F x) {
  F a = fabs(x), y = log1p_f64(2.0 * a / (1.0 - a)) * 0.5;
  return as_F(as_U(y) | (as_U(x) & 0x8000000000000000));
}

// log(2^k (u + lost)), u positive and normal
// section log_sum_f32
FN F log_sum_f32(F u, F lost, F k) {
  I n;
  F f = log_part_f32(u, &n);
  lost = lost * as_F((127 - n) << 23);
  k += convert_F(n);
  F l = log_tail_f32(f) + k * 1.42860677e-6f + (lost - lost * f);
  return k * 0.693145752f + (f + l);
}

// section asinh_f32: within 1.70
FN F asinh_f32(F x) {
  F a = fabs(x), z = a * a, v = z * z;
  // fit.py: asinh_f32
  F p = (((-0.000386900909f * v - 0.00701428531f) * v - 0.0209914837f) * v -
        0.0445993282f) * v - 0.166666597f;
  F q = ((0.00239373557f * v + 0.0135805365f) * v + 0.0300608575f) * v + 0.0749970526f;
  I big = a > 1e9f;
  F r = sqrt(a * a + 1.0f), u = r + a, y = log_sum_f32(u, (r - u) + a, u - u);
  if (any_f32(!(a < 1e9f)))
    y = big ? log_sum_f32(a * 0.5f, a - a, (F)(2.0f)) : y;
  y = a < 1.0f ? (q * z + p) * z * a + a : y;
  y = a < (F)(INFINITY) ? y : a;
  return as_F(as_U(y) | (as_U(x) & 0x80000000));
}
// section acosh_f32: within 1.25
FN F acosh_f32(F x) {
  F t = x - 1.0f, d = t + t, v = fma(t, t, d), w = sqrt(v), s = w + t, u = s + 1.0f;
  F lost = t < 1.0f ? (s - (u - 1.0f)) + ((w - s) + t) : (w - u) + x;
  F more = (fma(-w, w, v) + fma(t, t, d - v)) * (0.5f / w);  // what w lacks
  lost = t > 0.0f ? lost + more : lost;
  F y = log_sum_f32(u, lost, u - u);
  if (any_f32(!(x < 1e9f))) {
    y = x < 1e9f ? y : log_sum_f32(x * 0.5f, x - x, (F)(2.0f));
    y = x < (F)(INFINITY) ? y : x;
  }
  return x < 1.0f ? (F)(NAN) : y;
}
// section atanh_f32: within 1.50
FN F atanh_f32(F x) {
  F a = fabs(x), z = a * a, v = z * z;
  // fit.py: atanh_f32
  F p = (0.0516031422f * v + 0.142237842f) * v + 0.333333015f;
  F q = (0.176380515f * v + 0.1181641f) * v + 0.20002453f;
  F y = 0.5f * log_f32((1.0f + a) / (1.0f - a));
  y = a < 0.5f ? (q * z + p) * z * a + a : y;
  return as_F(as_U(y) | (as_U(x) & 0x80000000));
}
