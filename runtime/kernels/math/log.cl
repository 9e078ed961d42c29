// Logarithms.
//
// Method (Cody & Waite 1980; for f64 with the series in f / (2 + f), Abramowitz & Stegun 4.1.27):
// x = 2^k * (1 + f) with 1 + f between sqrt(1/2) and sqrt(2).  For other bases f, which is exact,
// is multiplied in two parts.  Arguments that are not positive, normal and finite have a path of
// their own, which is taken if any lane needs it.

// section log_rare_f32
FN I log_rare_f32(F x) { return as_U(x) - 0x00800000 >= 0x7f000000; }
// section log_rare_f64
FN I log_rare_f64(F x) { return as_U(x) - 0x0010000000000000 >= 0x7fe0000000000000; }

// f, and the exponent k; x is positive and normal.
// section log_part_f32
FN F log_part_f32(F x, I *k) {
  *k = (as_I(x) - 0x3f3504f3) >> 23;
  return as_F(as_I(x) - (*k << 23)) - 1.0f;
}
// section log_part_f64
FN F log_part_f64(F x, I *k) {
  *k = (as_I(x) - 0x3fe6a09e667f3bcd) >> 52;
  return as_F(as_I(x) - (*k << 52)) - 1.0;
}

// The same; x may be subnormal if `rare`.
// section log_parts_f32
FN F log_parts_f32(F x, int rare, F *k) {
  I n;
  F f = log_part_f32(x, &n);
  *k = convert_F(n);
  if (rare) {
    I tiny = x < 1.17549435e-38f;
    f = log_part_f32(tiny ? x * 8388608.0f : x, &n);
    *k = convert_F(n) - (tiny ? (F)(23.0f) : (F)(0.0f));
  }
  return f;
}
// section log_parts_f64
FN F log_parts_f64(F x, int rare, F *k) {
  I n;
  F f = log_part_f64(x, &n);
  *k = convert_F(n);
  if (rare) {
    I tiny = x < 2.2250738585072014e-308;
    f = log_part_f64(tiny ? x * 4503599627370496.0 : x, &n);
    *k = convert_F(n) - (tiny ? (F)(52.0) : (F)(0.0));
  }
  return f;
}

// y, which is the logarithm of x where that is positive and finite, or what it is elsewhere.
// section log_ends_f32
FN F log_ends_f32(F x, F y) {
  y = x < (F)(INFINITY) ? y : x;
  return x > 0.0f ? y : x == 0.0f ? (F)(-INFINITY) : (F)(NAN);
}
// section log_ends_f64
FN F log_ends_f64(F x, F y) {
  y = x < (F)(INFINITY) ? y : x;
  return x > 0.0 ? y : x == 0.0 ? (F)(-INFINITY) : (F)(NAN);
}

// log(1 + f) - f
// section log_tail_f32
FN F log_tail_f32(F f) {
  F z = f * f;
  // fit.py: log_f32
  F p = ((0.127622277f * z + 0.142015785f) * z + 0.200012416f) * z + 0.333333313f;
  F q = ((-0.0763646141f * z - 0.131596074f) * z - 0.166234091f) * z - 0.250008196f;
  return ((q * f + p) * f - 0.5f) * z;
}
// section log_tail_f64
FN F log_tail_f64(F f) {
  F s = f / (f + 2.0), z = s * s, w = z * z, h = f * f * 0.5;
  // fit.py: log_s_f64
  F p = ((0.14795634333924021 * w + 0.18183562866144329) * w + 0.28571428742032429) * w +
        0.6666666666666734;
  F q = (0.15314084603127498 * w + 0.22222198604673679) * w + 0.39999999999416624;
  return s * ((q * z + p) * z + h) - h;
}

// section log_f32: within 0.95
FN F log_f32(F x) {
  int rare = any_f32(log_rare_f32(x));
  F k, f = log_parts_f32(x, rare, &k);
  F l = log_tail_f32(f) + k * 1.42860677e-6f;
  F y = k * 0.693145752f + (f + l);
  if (rare) y = log_ends_f32(x, y);
  return y;
}
// section log_f64: within 1.00
FN F log_f64(F x) {
  int rare = any_f64(log_rare_f64(x));
  F k, f = log_parts_f64(x, rare, &k);
  F l = log_tail_f64(f) + k * -1.7239444525614835e-13;
  F y = k * 0.6931471805601177 + (f + l);
  if (rare) y = log_ends_f64(x, y);
  return y;
}

// section log2_f32: within 1.15
FN F log2_f32(F x) {
  int rare = any_f32(log_rare_f32(x));
  F k, f = log_parts_f32(x, rare, &k), z = f * f;
  // fit.py: log2_f32
  F p = (((-0.109952971f * z - 0.190810144f) * z - 0.239662409f) * z - 0.36069417f) * z -
        0.721347392f;
  F q = ((0.185712278f * z + 0.204666913f) * z + 0.288564831f) * z + 0.480898261f;
  F l = ((q * f + p) * f + 1.92596303e-8f) * f;
  F y = f * 1.44269502f + l + k;
  if (rare) y = log_ends_f32(x, y);
  return y;
}
// section log2_f64: within 1.15
FN F log2_f64(F x) {
  int rare = any_f64(log_rare_f64(x));
  F k, f = log_parts_f64(x, rare, &k);
  F l = log_tail_f64(f) * 1.4426950408889634 + f * 2.0355273740931033e-17;
  F y = f * 1.4426950408889634 + l + k;
  if (rare) y = log_ends_f64(x, y);
  return y;
}

// section log10_f32: within 1.00
FN F log10_f32(F x) {
  int rare = any_f32(log_rare_f32(x));
  F k, f = log_parts_f32(x, rare, &k), z = f * f;
  // fit.py: log10_f32
  F p = (((-0.0331252962f * z - 0.0574393906f) * z - 0.072145015f) * z - 0.108579807f) *
        z - 0.217147201f;
  F q = ((0.0559284166f * z + 0.0616063587f) * z + 0.0868669525f) * z + 0.144764796f;
  F l = ((q * f + p) * f - 1.010305e-8f) * f + k * -3.02435546e-6f;
  F y = k * 0.30103302f + (f * 0.434294492f + l);
  if (rare) y = log_ends_f32(x, y);
  return y;
}
// section log10_f64: within 1.00
FN F log10_f64(F x) {
  int rare = any_f64(log_rare_f64(x));
  F k, f = log_parts_f64(x, rare, &k);
  F l = f * 1.0983196502167651e-17 + k * -8.5323443170571066e-14;
  l = log_tail_f64(f) * 0.43429448190325182 + l;
  F y = k * 0.30102999566406652 + (f * 0.43429448190325182 + l);
  if (rare) y = log_ends_f64(x, y);
  return y;
}

// What 1 + x loses by rounding, divided by 1 + f, is added; from 2^24 (2^53) on, nothing that matters.
// section log1p_f32: within 1.25
FN F log1p_f32(F x) {
  I k;
  F u = x + 1.0f, b = u - 1.0f;
  F lost = (x - b) + (1.0f - (u - b));
  F f = log_part_f32(u, &k);
  int rare = any_f32(!(x > -1.0f) | !(x < 1.6777216e7f));
  lost = lost * as_F((127 - k) << 23);
  if (rare) lost = x < 1.6777216e7f ? lost : (F)(0.0f);
  F n = convert_F(k);
  F l = log_tail_f32(f) + n * 1.42860677e-6f + (lost - lost * f);
  F y = n * 0.693145752f + (f + l);
  if (rare) y = log_ends_f32(u, y);
  return as_F(as_U(y) | (as_U(x) & 0x80000000));
}
// section log1p_f64: within 1.60
FN F log1p_f64(F x) {
  I k;
  F u = x + 1.0, b = u - 1.0;
  F lost = (x - b) + (1.0 - (u - b));
  F f = log_part_f64(u, &k);
  int rare = any_f64(!(x > -1.0) | !(x < 9007199254740992.0));
  lost = lost * as_F((1023 - k) << 52);
  if (rare) lost = x < 9007199254740992.0 ? lost : (F)(0.0);
  f += lost;
  F n = convert_F(k);
  F l = log_tail_f64(f) + n * -1.7239444525614835e-13;
  F y = n * 0.6931471805601177 + (f + l);
  if (rare) y = log_ends_f64(u, y);
  return as_F(as_U(y) | (as_U(x) & 0x8000000000000000));
}
