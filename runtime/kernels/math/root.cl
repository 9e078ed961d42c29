// Cube root and hypotenuse.

// Method: r near a^(-1/3), from dividing the exponent by 3 (the idea of Kahan's cbrt, 1991), made
// better by a step of fourth order, two for f64; then a Newton step on a * r^2.
// section cbrt_f32: within 0.85
FN F cbrt_f32(F x) {
  F a = fabs(x);
  int rare = any_f32(as_U(a) - 0x00800000 >= 0x7f000000);
  if (rare) a = a < 1.17549435e-38f ? a * 16777216.0f : a;
  F r = as_F(0x54a21d2a - convert_I(convert_F(as_I(a)) * 0.333333343f));
  F h = 1.0f - a * r * (r * r);
  r = ((0.172839506f * h + 0.222222224f) * h + 0.333333343f) * h * r + r;
  F s = r * r, y = a * s;
  y = y + fma(-(y * y), y, a) * s * 0.333333343f;
  if (rare) {
    y = fabs(x) < 1.17549435e-38f ? y * 0.00390625f : y;
    y = x == 0.0f | !(fabs(x) < (F)(INFINITY)) ? fabs(x) : y;
  }
  return as_F(as_U(y) | (as_U(x) & 0x80000000));
}
// section cbrt_f64: within 0.90
FN F cbrt_f64(F x) {
  F a = fabs(x);
  int rare = any_f64(as_U(a) - 0x0010000000000000 >= 0x7fe0000000000000);
  if (rare) a = a < 2.2250738585072014e-308 ? a * 18014398509481984.0 : a;
  F r = as_F(0x553ef0ff289dd796 - convert_I(convert_F(as_I(a)) * 0.33333333333333331));
  F h = 1.0 - a * r * (r * r);
  r = ((0.1728395061728395 * h + 0.22222222222222221) * h + 0.33333333333333331) * h * r +
      r;
  h = 1.0 - a * r * (r * r);
  r = ((0.1728395061728395 * h + 0.22222222222222221) * h + 0.33333333333333331) * h * r +
      r;
  F s = r * r, y = a * s;
  y = y + fma(-(y * y), y, a) * s * 0.33333333333333331;
  if (rare) {
    y = fabs(x) < 2.2250738585072014e-308 ? y * 3.814697265625e-06 : y;
    y = x == 0.0 | !(fabs(x) < (F)(INFINITY)) ? fabs(x) : y;
  }
  return as_F(as_U(y) | (as_U(x) & 0x8000000000000000));
}

// Both are scaled by a power of 2 that makes the greater one between 1 and 2.
// section hypot_f32: within 1.25
FN F hypot_f32(F x, F y) {
  F ax = fabs(x), ay = fabs(y), m = ax > ay ? ax : ay;
  U e = as_U(m) & 0x7f800000;
  F s = as_F(0x7f000000 - e), a = ax * s, b = ay * s;
  F h = sqrt(a * a + b * b) * as_F(e);
  if (any_f32(as_U(m) - 0x00800000 >= 0x7e800000)) {
    I small = m < 1.0f;
    s = small ? (F)(0x1p100f) : (F)(0x1p-100f);
    a = ax * s, b = ay * s;
    F g = sqrt(a * a + b * b) * (small ? (F)(0x1p-100f) : (F)(0x1p100f));
    h = as_U(m) - 0x00800000 >= 0x7e800000 ? g : h;
    h = ax == (F)(INFINITY) | ay == (F)(INFINITY) ? (F)(INFINITY) : h;
  }
  return h;
}
// section hypot_f64: within 1.30
FN F hypot_f64(F x, F y) {
  F ax = fabs(x), ay = fabs(y), m = ax > ay ? ax : ay;
  U e = as_U(m) & 0x7ff0000000000000;
  F s = as_F(0x7fe0000000000000 - e), a = ax * s, b = ay * s;
  F h = sqrt(a * a + b * b) * as_F(e);
  if (any_f64(as_U(m) - 0x0010000000000000 >= 0x7fd0000000000000)) {
    I small = m < 1.0;
    s = small ? (F)(0x1p700) : (F)(0x1p-700);
    a = ax * s, b = ay * s;
    F g = sqrt(a * a + b * b) * (small ? (F)(0x1p-700) : (F)(0x1p700));
    h = as_U(m) - 0x0010000000000000 >= 0x7fd0000000000000 ? g : h;
    h = ax == (F)(INFINITY) | ay == (F)(INFINITY) ? (F)(INFINITY) : h;
  }
  return h;
}
