// Powers of constants, and e^x - 1.
//
// Method (Cody & Waite 1980): x = n * log(b) + r with an integer n and a small r, by subtracting
// n times log(b) in two parts, of which the first has so few bits that the product is exact; then
// b^x = 2^n * b^r.  To round to n, 1.5 times the number from which on all floats are integers
// is added: n is then in the low bits.  Results that are not normal are made on a path of their
// own, which is taken if any lane needs it.

// y * 2^n where the result may be subnormal; 0 if `under`, infinite if `over`.
// section scale_f32
FN F scale_f32(F y, I n, I under, I over) {
  I h = n >> 1;
  y = y * as_F((h + 127) << 23) * as_F((n - h + 127) << 23);
  y = under ? (F)(0.0f) : y;
  return over ? (F)(INFINITY) : y;
}
// section scale_f64
FN F scale_f64(F y, I n, I under, I over) {
  I h = n >> 1;
  y = y * as_F((h + 1023) << 52) * as_F((n - h + 1023) << 52);
  y = under ? (F)(0.0) : y;
  return over ? (F)(INFINITY) : y;
}

// e^r, where x = r + n log(2).
// section exp_part_f32
FN F exp_part_f32(F x, I *n) {
  F t = x * 1.44269502f + 12582912.0f, k = t - 12582912.0f;
  F r = x - k * 0.693145752f - k * 1.42860677e-6f, z = r * r;
  *n = as_I(t) - 0x4b400000;
  // fit.py: exp_f32
  F p = (0.00138199504f * z + 0.0416682772f) * z + 0.49999994f;
  F q = 0.00836869143f * z + 0.166665211f;
  return ((q * r + p) * r + 1.0f) * r + 1.0f;
}
// section exp_part_f64
FN F exp_part_f64(F x, I *n) {
  F t = x * 1.4426950408889634 + 6755399441055744.0, k = t - 6755399441055744.0;
  F r = x - k * 0.6931471805601177 - k * -1.7239444525614835e-13, z = r * r;
  *n = as_I(t) - 0x4338000000000000;
  // fit.py: exp_f64
  F p = (((2.7630344704801101e-7 * z + 0.000024801492798938048) * z +
        0.0013888888943995434) * z + 0.04166666666652806) * z + 0.50000000000000111;
  F q = (((2.5005562545850089e-8 * z + 2.7557565532341701e-6) * z +
        0.00019841269535784769) * z + 0.0083333333334766491) * z + 0.16666666666666452;
  return ((q * r + p) * r + 1.0) * r + 1.0;
}

// section exp_f32: within 0.95
FN F exp_f32(F x) {
  I n;
  F p = exp_part_f32(x, &n), y = as_F(as_I(p) + (n << 23));
  if (any_f32(!(fabs(x) < 87.0f))) y = scale_f32(p, n, x < -104.0f, x > 89.0f);
  return y;
}
// section exp_f64: within 1.00
FN F exp_f64(F x) {
  I n;
  F p = exp_part_f64(x, &n), y = as_F(as_I(p) + (n << 52));
  if (any_f64(!(fabs(x) < 708.0))) y = scale_f64(p, n, x < -746.0, x > 710.0);
  return y;
}

// 2^x where that is normal.
// section exp2_part_f32
FN F exp2_part_f32(F x) {
  F t = x + 12582912.0f, r = x - (t - 12582912.0f), z = r * r;
  // fit.py: exp2_f32
  F p = (0.00133909797f * z + 0.0555035956f) * z + 0.693147182f;
  F q = (0.000153299217f * z + 0.00961849838f) * z + 0.240226477f;
  p = (q * r + p) * r + 1.0f;
  return p * as_F((as_I(t) - 0x4b400000 + 127) << 23);
}
// section exp2_part_f64
FN F exp2_part_f64(F x) {
  F t = x + 6755399441055744.0, r = x - (t - 6755399441055744.0), z = r * r;
  // fit.py: exp2_f64
  F p = ((((4.4388597507927788e-10 * z + 1.0178160071141892e-7) * z +
        0.000015252733633900688) * z + 0.0013333558146546391) * z +
        0.055504108664821722) * z + 0.69314718055994529;
  F q = (((7.0732326307756753e-9 * z + 1.3215438837941931e-6) * z +
        0.00015403530449033151) * z + 0.009618129107601606) * z + 0.24022650695910108;
  p = (q * r + p) * r + 1.0;
  return p * as_F((as_I(t) - 0x4338000000000000 + 1023) << 52);
}

// section exp2_f32: within 1.05
FN F exp2_f32(F x) {
  F t = x + 12582912.0f, r = x - (t - 12582912.0f), z = r * r;
  // fit.py: exp2_f32
  F p = (0.00133909797f * z + 0.0555035956f) * z + 0.693147182f;
  F q = (0.000153299217f * z + 0.00961849838f) * z + 0.240226477f;
  p = (q * r + p) * r + 1.0f;
  F y = as_F(as_I(p) + (as_I(t) << 23));
  if (any_f32(!(fabs(x) < 126.0f)))
    y = scale_f32(p, as_I(t) - 0x4b400000, x < -151.0f, x > 129.0f);
  return y;
}
// section exp2_f64: within 1.10
FN F exp2_f64(F x) {
  F t = x + 6755399441055744.0, r = x - (t - 6755399441055744.0), z = r * r;
  // fit.py: exp2_f64
  F p = ((((4.4388597507927788e-10 * z + 1.0178160071141892e-7) * z +
        0.000015252733633900688) * z + 0.0013333558146546391) * z +
        0.055504108664821722) * z + 0.69314718055994529;
  F q = (((7.0732326307756753e-9 * z + 1.3215438837941931e-6) * z +
        0.00015403530449033151) * z + 0.009618129107601606) * z + 0.24022650695910108;
  p = (q * r + p) * r + 1.0;
  F y = as_F(as_I(p) + (as_I(t) << 52));
  if (any_f64(!(fabs(x) < 1022.0)))
    y = scale_f64(p, as_I(t) - 0x4338000000000000, x < -1076.0, x > 1025.0);
  return y;
}

// section exp10_f32: within 1.25
FN F exp10_f32(F x) {
  F t = x * 3.32192802f + 12582912.0f, k = t - 12582912.0f;
  F r = x - k * 0.30103302f - k * -3.02435546e-6f, z = r * r;
  // fit.py: exp10_f32
  F p = (0.541826427f * z + 2.03465605f) * z + 2.30258512f;
  F q = (0.206166551f * z + 1.17129517f) * z + 2.65094876f;
  p = (q * r + p) * r + 1.0f;
  F y = as_F(as_I(p) + (as_I(t) << 23));
  if (any_f32(!(fabs(x) < 37.0f)))
    y = scale_f32(p, as_I(t) - 0x4b400000, x < -46.0f, x > 39.0f);
  return y;
}
// section exp10_f64: within 1.30
FN F exp10_f64(F x) {
  F t = x * 3.3219280948873622 + 6755399441055744.0, k = t - 6755399441055744.0;
  F r = x - k * 0.30102999566406652 - k * -8.5323443170571066e-14, z = r * r;
  // fit.py: exp10_f64
  F p = ((((0.00024042968264741167 * z + 0.0050140303292511559) * z +
        0.068089362481490681) * z + 0.53938292922444409) * z + 2.0346785922933379) * z +
        2.3025850929940459;
  F q = (((0.001157472135573471 * z + 0.019597625086912988) * z + 0.20699584941137211) *
        z + 1.1712551489092786) * z + 2.6509490552392023;
  p = (q * r + p) * r + 1.0;
  F y = as_F(as_I(p) + (as_I(t) << 52));
  if (any_f64(!(fabs(x) < 307.0)))
    y = scale_f64(p, as_I(t) - 0x4338000000000000, x < -325.0, x > 309.0);
  return y;
}

// e^x - 1 = 2^n * (e^r - 1) + (2^n - 1), all halved, so that 2^n cannot overflow alone.
// section expm1_f32: within 1.70
FN F expm1_f32(F x) {
  F t = x * 1.44269502f + 12582912.0f, k = t - 12582912.0f;
  F r = x - k * 0.693145752f - k * 1.42860677e-6f, z = r * r;
  // fit.py: exp_f32
  F p = (0.00138199504f * z + 0.0416682772f) * z + 0.49999994f;
  F q = 0.00836869143f * z + 0.166665211f;
  p = (q * r + p) * z + r;
  F h = as_F((as_I(t) << 23) + 0x3f000000);
  F y = (h * p + (h - 0.5f)) * 2.0f;
  if (any_f32(!(fabs(x) < 86.0f))) {
    y = x < -86.0f ? (F)(-1.0f) : y;
    y = x > 89.0f ? (F)(INFINITY) : y;
  }
  return as_F(as_U(y) | (as_U(x) & 0x80000000));
}
// section expm1_f64: within 2.30
FN F expm1_f64(F x) {
  F t = x * 1.4426950408889634 + 6755399441055744.0, k = t - 6755399441055744.0;
  F r = x - k * 0.6931471805601177 - k * -1.7239444525614835e-13, z = r * r;
  // fit.py: exp_f64
  F p = (((2.7630344704801101e-7 * z + 0.000024801492798938048) * z +
        0.0013888888943995434) * z + 0.04166666666652806) * z + 0.50000000000000111;
  F q = (((2.5005562545850089e-8 * z + 2.7557565532341701e-6) * z +
        0.00019841269535784769) * z + 0.0083333333334766491) * z + 0.16666666666666452;
  p = (q * r + p) * z + r;
  F h = as_F((as_I(t) << 52) + 0x3fe0000000000000);
  F y = (h * p + (h - 0.5)) * 2.0;
  if (any_f64(!(fabs(x) < 700.0))) {
    y = x < -700.0 ? (F)(-1.0) : y;
    y = x > 710.0 ? (F)(INFINITY) : y;
  }
  return as_F(as_U(y) | (as_U(x) & 0x8000000000000000));
}
