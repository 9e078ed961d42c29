// Hyperbolic functions: odd polynomials near 0, elsewhere by their definition.

// e^a / 2, a >= 0
// section half_exp_f32
FN F half_exp_f32(F a) {
  I n;
  F p = exp_part_f32(a, &n), y = as_F(as_I(p) + (n - 1 << 23));
  if (any_f32(!(a < 87.0f))) y = scale_f32(p, n - 1, a < 0.0f, a > 90.0f);
  return y;
}
// section half_exp_f64
FN F half_exp_f64(F a) {
  I n;
  F p = exp_part_f64(a, &n), y = as_F(as_I(p) + (n - 1 << 52));
  if (any_f64(!(a < 708.0))) y = scale_f64(p, n - 1, a < 0.0, a > 711.0);
  return y;
}

// section sinh_f32: within 1.80
FN F sinh_f32(F x) {
  F a = fabs(x), z = a * a, e = half_exp_f32(a);
  // fit.py: sinh_f32
  F p = ((2.78221319e-6f * z + 0.000198428956f) * z + 0.00833331048f) * z + 0.166666672f;
  F y = a < 1.0f ? p * z * a + a : e - 0.25f / e;
  return as_F(as_U(y) | (as_U(x) & 0x80000000));
}
// section sinh_f64: within 1.80
FN F sinh_f64(F x) {
  F a = fabs(x), z = a * a, e = half_exp_f64(a), v = z * z;
  // fit.py: sinh_f64
  F p = ((7.5032965075739512e-13 * v + 2.5052089415153274e-8) * v +
        0.00019841269841061168) * v + 0.16666666666666666;
  F q = ((6.4743616440908112e-15 * v + 1.6061338776144061e-10) * v +
        2.7557319310083569e-6) * v + 0.0083333333333335726;
  F y = a < 1.0 ? (q * z + p) * z * a + a : e - 0.25 / e;
  return as_F(as_U(y) | (as_U(x) & 0x8000000000000000));
}

// section cosh_f32: within 1.40
FN F cosh_f32(F x) {
  F e = half_exp_f32(fabs(x));
  return e + 0.25f / e;
}
// section cosh_f64: within 1.50
FN F cosh_f64(F x) {
  F e = half_exp_f64(fabs(x));
  return e + 0.25 / e;
}

// tanh(a) = 1 - 2 / (e^2a + 1)
// section tanh_f32: within 1.60
FN F tanh_f32(F x) {
  I n;
  F a = fabs(x);
  a = a > 10.0f ? (F)(10.0f) : a;
  F z = a * a, e = exp_part_f32(a + a, &n);
  e = e * as_F((n + 127) << 23);
  // fit.py: tanh_f32
  F p = (((-0.00571087934f * z + 0.0206451733f) * z - 0.0537419431f) * z + 0.133314759f) *
        z - 0.333332837f;
  F y = a < 0.625f ? p * z * a + a : 1.0f - 2.0f / (e + 1.0f);
  return as_F(as_U(y) | (as_U(x) & 0x80000000));
}
// section tanh_f64: within 1.60
FN F tanh_f64(F x) {
  I n;
  F a = fabs(x);
  a = a > 20.0 ? (F)(20.0) : a;
  F z = a * a, e = exp_part_f64(a + a, &n), v = z * z;
  e = e * as_F((n + 1023) << 52);
  // fit.py: tanh_f64
  F p = ((((-0.000016074629746807811 * v - 0.00022856865611454273) * v -
        0.001454959719989944) * v - 0.008863221029928264) * v - 0.053968253931405315) *
        v - 0.3333333333333286;
  F q = (((0.000077148959989213435 * v + 0.00058631898610263732) * v +
        0.0035919893618280366) * v + 0.021869487578605806) * v + 0.13333333333262487;
  F y = a < 0.625 ? (q * z + p) * z * a + a : 1.0 - 2.0 / (e + 1.0);
  return as_F(as_U(y) | (as_U(x) & 0x8000000000000000));
}
