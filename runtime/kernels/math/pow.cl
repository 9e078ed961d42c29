// x^y = 2^(y log2(x)) or e^(y log(x)), the logarithm more exact than the type.
//
// For f32 it is a polynomial in double.  For f64 it is a sum of two numbers (Dekker 1971): log(x) =
// k log(2) + 2 s + 2 s^3 / 3 + .. with s = f / (2 + f) in two parts, of which the terms from s^5 on need
// only the first.  Bases other than positive normal numbers and exponents that are not finite
// have a path of their own, which is taken if any lane needs it.

// Is v an integer?
// section whole_f32
FN I whole_f32(F v) {
  F a = fabs(v), r = a + 8388608.0f;
  return a >= 8388608.0f | r - 8388608.0f == a;
}
// section whole_f64
FN I whole_f64(F v) {
  F a = fabs(v), r = a + 4503599627370496.0;
  return a >= 4503599627370496.0 | r - 4503599627370496.0 == a;
}

// p, which is |x|^y where that is neither 0 nor infinite for x or y alone, with everything that
// C's annex F asks for.
// section pow_ends_f32
FN F pow_ends_f32(F x, F y, F p) {
  F a = fabs(x), end = (a < 1.0f) == (y < 0.0f) ? (F)(INFINITY) : (F)(0.0f);
  p = a == 0.0f | a == (F)(INFINITY) | fabs(y) == (F)(INFINITY) ? end : p;
  p = a == 1.0f ? (F)(1.0f) : p;
  p = (as_I(x) < 0) & whole_f32(y) & !whole_f32(y * 0.5f) ? -p : p;
  p = (x < 0.0f) & (a < (F)(INFINITY)) & !whole_f32(y) ? (F)(NAN) : p;
  p = x != x | y != y ? x + y : p;
  return y == 0.0f | x == 1.0f ? (F)(1.0f) : p;
}
// section pow_ends_f64
FN F pow_ends_f64(F x, F y, F p) {
  F a = fabs(x), end = (a < 1.0) == (y < 0.0) ? (F)(INFINITY) : (F)(0.0);
  p = a == 0.0 | a == (F)(INFINITY) | fabs(y) == (F)(INFINITY) ? end : p;
  p = a == 1.0 ? (F)(1.0) : p;
  p = (as_I(x) < 0) & whole_f64(y) & !whole_f64(y * 0.5) ? -p : p;
  p = (x < 0.0) & (a < (F)(INFINITY)) & !whole_f64(y) ? (F)(NAN) : p;
  p = x != x | y != y ? x + y : p;
  return y == 0.0 | x == 1.0 ? (F)(1.0) : p;
}

// section pow_f32: within 1.25
FN F pow_f32(F x, F y) {
  F a = fabs(x);
  int rare = any_f32(log_rare_f32(x) | !(fabs(y) < (F)(INFINITY)));
  I k = (as_I(a) - 0x3f3504f3) >> 23, more = k - k;
  if (rare) {
    I tiny = a < 1.17549435e-38f;
    a = tiny ? a * 8388608.0f : a;
    k = (as_I(a) - 0x3f3504f3) >> 23;
    more = tiny ? (I)(23) : more;
  }
  D f = convert_D(as_F(as_I(a) - (k << 23)) - 1.0f), z = f * f;
  // fit.py: pow_log2_f64
  D p = (((((0.077369882667614645 * z + 0.14474839837157077) * z + 0.15876982681211746) *
        z + 0.20617535726085598) * z + 0.28853729354172958) * z + 0.48089836139464098) *
        z + 1.4426950408687018;
  D q = ((((-0.14283881312210081 * z - 0.1431565620094972) * z - 0.18030059459669476) *
        z - 0.24045316577200967) * z - 0.36067367482538487) * z - 0.72134752086877973;
  D e = convert_D(y) * ((q * f + p) * f + convert_D(k - more));
  D t = e + 6755399441055744.0;
  F r = convert_F(e - (t - 6755399441055744.0)), b = convert_F(e), w = r * r;
  I n = convert_I(as_L(t));
  // fit.py: exp2_f32
  F u = (0.00133909797f * w + 0.0555035956f) * w + 0.693147182f;
  F v = (0.000153299217f * w + 0.00961849838f) * w + 0.240226477f;
  u = (v * r + u) * r + 1.0f;
  v = as_F(as_I(u) + (n << 23));
  if (any_f32(!(fabs(b) < 126.0f))) v = scale_f32(u, n, b < -151.0f, b > 129.0f);
  if (rare) v = pow_ends_f32(x, y, v);
  return v;
}

// section pow_f64: within 2.00
FN F pow_f64(F x, F y) {
  F a = fabs(x);
  int rare = any_f64(log_rare_f64(x) | !(fabs(y) < (F)(INFINITY)));
  F k, f = log_parts_f64(a, rare, &k);
  F d = f + 2.0, c = 1.0 / d;
  F s = f * c, s2 = (fma(-s, d, f) - s * (f - (d - 2.0))) * c;
  F z = s * s, z2 = fma(s, s, -z) + 2.0 * s * s2, w = z * z;
  // fit.py: pow_s_f64
  F p = ((0.13196266219848271 * w + 0.15386757108309662) * w + 0.22222222519888549) * w +
        0.40000000000002256;
  F q = (0.13256823751180294 * w + 0.1818178437110638) * w + 0.28571428570099694;
  F t = z * 0.66666666666666663;
  F t2 = fma(z, (F)(0.66666666666666663), -t) + z * 3.7007434154171886e-17;
  t2 = z2 * 0.66666666666666663 + t2 + (q * z + p) * w;
  F u = s * t, u2 = fma(s, t, -u) + (s * t2 + s2 * t);
  F v = 2.0 * s + u, v2 = (2.0 * s - v) + u + (2.0 * s2 + u2);
  F m = k * 0.6931471805601177, l = m + v;
  F l2 = (m - l) + v + (k * -1.7239444525614835e-13 + v2);
  F o = l + l2, o2 = (l - o) + l2;
  F e = y * o, e2 = fma(y, o, -e) + y * o2;
  F g = e * 1.4426950408889634 + 6755399441055744.0, h = g - 6755399441055744.0;
  F r = e - h * 0.6931471805601177 + (h * 1.7239444525614835e-13 + e2);
  I n = as_I(g) - 0x4338000000000000;
  w = r * r;
  // fit.py: exp_f64
  p = (((2.7630344704801101e-7 * w + 0.000024801492798938048) * w +
      0.0013888888943995434) * w + 0.04166666666652806) * w + 0.50000000000000111;
  q = (((2.5005562545850089e-8 * w + 2.7557565532341701e-6) * w +
      0.00019841269535784769) * w + 0.0083333333334766491) * w + 0.16666666666666452;
  p = ((q * r + p) * r + 1.0) * r + 1.0;
  v = as_F(as_I(p) + (n << 52));
  if (any_f64(!(fabs(e) < 708.0))) v = scale_f64(p, n, e < -746.0, e > 710.0);
  if (rare) v = pow_ends_f64(x, y, v);
  return v;
}
