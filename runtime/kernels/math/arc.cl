// Inverse sine, cosine, tangent.
//
// Method: polynomials near 0; elsewhere asin(x) = pi / 2 - 2 asin(sqrt((1 - x) / 2)) and
// atan(x) = pi / 2 - atan(1 / x) (Abramowitz & Stegun 4.4).  A result is c + f * (s + w) with an
// exact multiple c of pi / 2 in two parts, f = 1, -1, 2 or -2, and w much smaller than s.

// section asin_f32: within 1.40
FN F asin_f32(F x) {
  F a = fabs(x);
  I big = a > 0.55f;
  F z = big ? 0.5f - a * 0.5f : a * a, s = big ? sqrt(z) : a, v = z * z;
  // fit.py: asin_f32
  F p = (0.0491001047f * v + 0.0463533364f) * v + 0.166669309f;
  F q = 0.0199472867f * v + 0.0748812109f;
  F w = (q * z + p) * z * s + (big ? (F)(2.18556941e-8f) : (F)(0.0f));
  F y = s + w;
  y = big ? 1.57079637f - 2.0f * y : y;
  return as_F(as_U(y) | (as_U(x) & 0x80000000));
}
// section asin_f64: within 2.30
FN F asin_f64(F x) {
  F a = fabs(x);
  I big = a > 0.55;
  F z = big ? 0.5 - a * 0.5 : a * a, s = big ? sqrt(z) : a, v = z * z;
  // fit.py: asin_f64
  F p = (((((0.049562479076104941 * v + 0.044307841909718253) * v +
        0.013702532926720754) * v + 0.01405680358411285) * v + 0.022372635353961452) * v +
        0.04464285754234526) * v + 0.16666666666668406;
  F q = ((((-0.050401859693126556 * v - 0.006413003627442411) * v +
        0.010829698069738375) * v + 0.017344690637996919) * v + 0.030381926460123124) *
        v + 0.074999999995538899;
  F w = (q * z + p) * z * s;
  F y = big ? (1.5707963267948966 - 2.0 * s) - (2.0 * w - 6.123233995736766e-17) : s + w;
  return as_F(as_U(y) | (as_U(x) & 0x8000000000000000));
}

// section acos_f32: within 1.75
FN F acos_f32(F x) {
  F a = fabs(x);
  I big = a > 0.55f;
  F z = big ? 0.5f - a * 0.5f : a * a, s = big ? sqrt(z) : x, v = z * z;
  // fit.py: asin_f32
  F p = (0.0491001047f * v + 0.0463533364f) * v + 0.166669309f;
  F q = 0.0199472867f * v + 0.0748812109f;
  F w = (q * z + p) * z * s;
  F f = big ? (x < 0.0f ? (F)(-2.0f) : (F)(2.0f)) : (F)(-1.0f);
  F c = big ? (x < 0.0f ? (F)(3.14159274f) : (F)(0.0f)) : (F)(1.57079637f);
  return (f * s + c) + (f * w - c * 2.78275341e-8f);
}
// section acos_f64: within 1.90
FN F acos_f64(F x) {
  F a = fabs(x);
  I big = a > 0.55;
  F z = big ? 0.5 - a * 0.5 : a * a, s = big ? sqrt(z) : x, v = z * z;
  // fit.py: asin_f64
  F p = (((((0.049562479076104941 * v + 0.044307841909718253) * v +
        0.013702532926720754) * v + 0.01405680358411285) * v + 0.022372635353961452) * v +
        0.04464285754234526) * v + 0.16666666666668406;
  F q = ((((-0.050401859693126556 * v - 0.006413003627442411) * v +
        0.010829698069738375) * v + 0.017344690637996919) * v + 0.030381926460123124) *
        v + 0.074999999995538899;
  F w = (q * z + p) * z * s;
  F f = big ? (x < 0.0 ? (F)(-2.0) : (F)(2.0)) : (F)(-1.0);
  F c = big ? (x < 0.0 ? (F)(3.1415926535897931) : (F)(0.0)) : (F)(1.5707963267948966);
  return (f * s + c) + (f * w + c * 3.8981718325193755e-17);
}

// c + f * atan(a), a between 0 and 1
// section atan_part_f32
FN F atan_part_f32(F a, F c, F f) {
  F z = a * a, v = z * z;
  // fit.py: atan_f32
  F p = (((-0.00178312266f * v - 0.031098064f) * v - 0.0839932188f) * v - 0.142640159f) *
        v - 0.333332986f;
  F q = ((0.0108696073f * v + 0.0578819886f) * v + 0.10950882f) * v + 0.199985296f;
  F w = (q * z + p) * z * a;
  return (f * a + c) + (f * w - c * 2.78275341e-8f);
}
// section atan_part_f64
FN F atan_part_f64(F a, F c, F f) {
  F z = a * a, v = z * z;
  // fit.py: atan_f64
  F p = ((((((((-0.00015221142856065685 * v - 0.0028856147203617584) * v -
        0.013902593501113846) * v - 0.029905755587620486) * v - 0.042192435868286061) *
        v - 0.052535267566620636) * v - 0.066664044216129051) * v -
        0.090909070077706669) * v - 0.14285714282588005) * v - 0.33333333333333071;
  F q = ((((((((0.000013230024587132886 * v + 0.00083156116169413896) * v +
        0.0071978965529063159) * v + 0.021987091932774289) * v + 0.036643162687742335) *
        v + 0.047223483202704447) * v + 0.058805298001218725) * v +
        0.076922798886513169) * v + 0.1111111100734002) * v + 0.19999999999951748;
  F w = (q * z + p) * z * a;
  return (f * a + c) + (f * w + c * 3.8981718325193755e-17);
}

// section atan_f32: within 2.00
FN F atan_f32(F x) {
  F a = fabs(x);
  I big = a > 1.0f;
  F y = atan_part_f32(big ? 1.0f / a : a, big ? (F)(1.57079637f) : (F)(0.0f),
                      big ? (F)(-1.0f) : (F)(1.0f));
  return as_F(as_U(y) | (as_U(x) & 0x80000000));
}
// section atan_f64: within 3.00
FN F atan_f64(F x) {
  F a = fabs(x);
  I big = a > 1.0;
  F y = atan_part_f64(big ? 1.0 / a : a, big ? (F)(1.5707963267948966) : (F)(0.0),
                      big ? (F)(-1.0) : (F)(1.0));
  return as_F(as_U(y) | (as_U(x) & 0x8000000000000000));
}

// section atan2_f32: within 2.00
FN F atan2_f32(F y, F x) {
  F ay = fabs(y), ax = fabs(x);
  I swap = ay > ax, left = as_I(x) < 0;
  F small = swap ? ax : ay, great = swap ? ay : ax, a = small / great;
  if (any_f32(!(great > 0.0f) | !(great < (F)(INFINITY)))) {
    a = small == great ? (F)(1.0f) : a;
    a = great == 0.0f ? small : a;
  }
  F c = swap ? (F)(1.57079637f) : left ? (F)(3.14159274f) : (F)(0.0f);
  F t = atan_part_f32(a, c, swap != left ? (F)(-1.0f) : (F)(1.0f));
  return as_F(as_U(t) | (as_U(y) & 0x80000000));
}
// section atan2_f64: within 3.00
FN F atan2_f64(F y, F x) {
  F ay = fabs(y), ax = fabs(x);
  I swap = ay > ax, left = as_I(x) < 0;
  F small = swap ? ax : ay, great = swap ? ay : ax, a = small / great;
  if (any_f64(!(great > 0.0) | !(great < (F)(INFINITY)))) {
    a = small == great ? (F)(1.0) : a;
    a = great == 0.0 ? small : a;
  }
  F c = swap ? (F)(1.5707963267948966) : left ? (F)(3.1415926535897931) : (F)(0.0);
  F t = atan_part_f64(a, c, swap != left ? (F)(-1.0) : (F)(1.0));
  return as_F(as_U(t) | (as_U(y) & 0x8000000000000000));
}
