// Sine, cosine, tangent.
//
// Method: x = n * pi / 2 + r by subtracting n times pi / 2 in three parts with `fma`, which makes
// the first difference exact (Cody & Waite 1980), then polynomials for the sine and the cosine
// of r.  Where x is too large for that, n and r come from the bits of 1 / (2 pi) that matter, by
// integers, lane by lane (Payne & Hanek 1983), on a path that is taken if any lane needs it.
// The parts of pi / 2 have one sign: x = -0 then leaves r = -0.

// r and n of a large x; r + *low is exact to more than a float's precision.  The fraction of
// x / (2 pi), in turns, is a fixed-point number of 64 bits.
// scalar section reduce_f32
static __constant uint turn_bits_f32[] = { 0, 0x28be60db, 0x9391054a, 0x7f09d5f4,
                                           0x7d4d3770, 0x36d8a566, 0x4f10e410, 0x7f9458ea };
FN float reduce_f32(float x, int *n, float *low) {
  int exponent = (as_int(x) >> 23 & 255) - 150, at = exponent + 32, shift = at & 31;
  if (exponent == 105) return x - x;
  __constant uint *bits = turn_bits_f32 + (at >> 5);
  ulong high = (ulong)bits[0] << 32 | bits[1], next = (ulong)bits[2] << 32 | bits[3];
  ulong m = (as_uint(x) & 0x7fffff) | 0x800000;
  high = high << shift | (shift ? next >> (64 - shift) : 0);
  ulong turn = m * high + (m * (next << shift >> 32) >> 32);
  turn = as_int(x) < 0 ? -turn : turn;
  *n = (int)((turn + 0x2000000000000000) >> 62);
  long s = (long)(turn << 2) >> 1;
  float t = (float)s, u = (float)(s - (long)t), scale = 0x1p-64f;
  float p = t * 3.14159274f, e = fma(t, 3.14159274f, -p) + t * -8.74227766e-8f;
  e = (e + u * 3.14159274f) * scale;
  p = p * scale;
  *low = p - (p + e) + e;
  return p + e;
}
// scalar section reduce_f64
static __constant ulong turn_bits_f64[] = {
  0, 0x28be60db9391054a, 0x7f09d5f47d4d3770, 0x36d8a5664f10e410,
  0x7f9458eaf7aef158, 0x6dc91b8e909374b8, 0x01924bba82746487, 0x3f877ac72c4a69cf,
  0xba208d7d4baed121, 0x3a671c09ad17df90, 0x4e64758e60d4ce7d, 0x272117e2ef7e4a0e,
  0xc7fe25fff7816603, 0xfbcbc462d6829b47, 0xdb4d9fb3c9f2c26d, 0xd3d18fd9a797fa8b,
  0x5d49eeb1faf97c5e, 0xcf41ce7de294a4ba, 0x9afed7ec47e35742, 0x1580cc11bf1edaea
};
FN double reduce_f64(double x, long *n, double *low) {
  int exponent = (int)(as_long(x) >> 52 & 2047) - 1075, at = exponent + 64,
                 shift = at & 63;
  if (exponent == 972) return x - x;
  __constant ulong *bits = turn_bits_f64 + (at >> 6);
  ulong m = (as_ulong(x) & 0xfffffffffffff) | 0x10000000000000;
  ulong a = bits[0], b = bits[1], c = bits[2];
  if (shift) {
    a = a << shift | b >> (64 - shift);
    b = b << shift | c >> (64 - shift);
    c = c << shift | bits[3] >> (64 - shift);
  }
  ulong rest = m * b + mul_hi(m, c), turn = m * a + mul_hi(m, b) + (rest < m * b);
  if (as_long(x) < 0) {
    rest = -rest;
    turn = ~turn + (rest == 0);
  }
  *n = (long)((turn + 0x2000000000000000) >> 62);
  turn = turn << 2 | rest >> 62;
  long s = (long)turn >> 1;
  rest = turn << 63 | rest << 2 >> 1;
  double t = (double)s, u = (double)(s - (long)t) + (double)rest * 0x1p-64,
             scale = 0x1p-64;
  double p = t * 3.1415926535897931;
  double e = fma(t, 3.1415926535897931, -p) + t * 1.2246467991473532e-16;
  e = (e + u * 3.1415926535897931) * scale;
  p = p * scale;
  *low = p - (p + e) + e;
  return p + e;
}

// r, and n, with the lanes that are not small replaced.
// section far_f32
FN F far_f32(F x, F r, I *n, F *low) {
  union { F v; float lane[LANES]; } from, to, rest;
  union { I v; int lane[LANES]; } count;
  from.v = x, to.v = r, count.v = *n, rest.v = *low;
  #pragma unroll 1
  for (int i = 0; i < LANES; i++)
    if (!(fabs(from.lane[i]) < 1e5f))
      to.lane[i] = reduce_f32(from.lane[i], &count.lane[i], &rest.lane[i]);
  *n = count.v;
  *low = rest.v;
  return to.v;
}
// section far_f64
FN F far_f64(F x, F r, I *n, F *low) {
  union { F v; double lane[LANES]; } from, to, rest;
  union { I v; long lane[LANES]; } count;
  from.v = x, to.v = r, count.v = *n, rest.v = *low;
  #pragma unroll 1
  for (int i = 0; i < LANES; i++)
    if (!(fabs(from.lane[i]) < 1e12))
      to.lane[i] = reduce_f64(from.lane[i], &count.lane[i], &rest.lane[i]);
  *n = count.v;
  *low = rest.v;
  return to.v;
}

// r and n
// section quarters_f32
FN F quarters_f32(F x, I *n) {
  F t = x * 0.636619747f + 12582912.0f, k = t - 12582912.0f, low = k;
  *n = as_I(t);
  F r = fma(k, (F)(-1.57079625f), x);
  r = fma(k, (F)(-5.39030253e-15f), fma(k, (F)(-7.54978942e-8f), r));
  if (any_f32(!(fabs(x) < 1e5f))) r = far_f32(x, r, n, &low);
  return r;
}
// section quarters_f64
FN F quarters_f64(F x, I *n) {
  F t = x * 0.63661977236758138 + 6755399441055744.0, k = t - 6755399441055744.0, low = k;
  *n = as_I(t);
  F r = fma(k, (F)(-1.5707963267948966), x);
  r = fma(k, (F)(-1.0828566739219139e-32), fma(k, (F)(-6.1232339957367648e-17), r));
  if (any_f64(!(fabs(x) < 1e12))) r = far_f64(x, r, n, &low);
  return r;
}

// sin(n pi / 2 + r)
// section sin_part_f32
FN F sin_part_f32(F r, I n) {
  F z = r * r;
  // fit.py: sin_f32, cos_f32
  F s = (-0.00019507893f * z + 0.00833210628f) * z - 0.166666538f;
  F c = (0.0000244300863f * z - 0.00138872978f) * z + 0.0416666456f;
  s = s * z * r + r;
  c = (c * z - 0.5f) * z + 1.0f;
  F y = (n & 1) != 0 ? c : as_F(as_U(s) | (as_U(r) & 0x80000000));
  return as_F(as_U(y) ^ (as_U(n) & 2) << 30);
}
// section sin_part_f64
FN F sin_part_f64(F r, I n) {
  F z = r * r, w = z * z;
  // fit.py: sin_f64, cos_f64
  F s = ((1.5893110139438095e-10 * w + 2.755731329839719e-6) * w +
        0.0083333333333210687) * z;
  F c = ((-1.1356702406933143e-11 * w - 2.7557313945982568e-7) * w -
        0.0013888888888872008) * z;
  s = s + ((-2.5050695433530814e-8 * w - 0.00019841269828697951) * w -
      0.16666666666666627);
  c = c + ((2.0875667088247923e-9 * w + 0.000024801587288109801) * w +
      0.041666666666666588);
  s = s * z * r + r;
  c = (c * z - 0.5) * z + 1.0;
  F y = (n & 1) != 0 ? c : as_F(as_U(s) | (as_U(r) & 0x8000000000000000));
  return as_F(as_U(y) ^ (as_U(n) & 2) << 62);
}

// section sin_f32: within 1.60
FN F sin_f32(F x) {
  I n;
  F r = quarters_f32(x, &n);
  return sin_part_f32(r, n);
}
// section sin_f64: within 1.65
FN F sin_f64(F x) {
  I n;
  F r = quarters_f64(x, &n);
  return sin_part_f64(r, n);
}

// section cos_f32: within 1.60
FN F cos_f32(F x) {
  I n;
  F r = quarters_f32(x, &n);
  return sin_part_f32(r, n + 1);
}
// section cos_f64: within 1.65
FN F cos_f64(F x) {
  I n;
  F r = quarters_f64(x, &n);
  return sin_part_f64(r, n + 1);
}

// The tangent is tan(r), or -1 / tan(r) if n is odd.  For f32, what r and the
// tangent lose by rounding counts.
// section tan_f32: within 1.75
FN F tan_f32(F x) {
  F t = x * 0.636619747f + 12582912.0f, k = t - 12582912.0f;
  I n = as_I(t);
  F first = fma(k, (F)(-1.57079625f), x), second = k * 7.54978942e-8f, r = first - second;
  F low = (first - r) - second;
  low = low - fma(k, (F)(7.54978942e-8f), -second) - k * 5.39030253e-15f;
  if (any_f32(!(fabs(x) < 1e5f))) r = far_f32(x, r, &n, &low);
  F z = r * r, w = z * z;
  // fit.py: tan_f32
  F p = (0.00278250594f * w + 0.0533540845f) * w + 0.333331317f;
  F q = (0.00958733261f * w + 0.0246377066f) * w + 0.133394748f;
  F v = (q * z + p) * z * r + (low + low * z), y = r + v, c = -1.0f / y;
  c = c * c * ((r - y) + v) + c;
  y = (n & 1) != 0 ? c : y;
  return x == 0.0f ? x : y;
}
// section tan_f64: within 3.50
FN F tan_f64(F x) {
  I n;
  F r = quarters_f64(x, &n), z = r * r, w = z * z;
  // fit.py: tan_f64
  F p = (((((-0.000048989652164254737 * w - 0.000034785260155696085) * w +
        0.00021944642029820012) * w + 0.0014545177278602833) * w +
        0.0088632147062788005) * w + 0.053968253913250212) * w + 0.33333333333332571;
  F q = (((((0.000021846142816211609 * w + 0.000097120862825049437) * w +
        0.00014252494933532573) * w + 0.00059606729252469287) * w +
        0.0035923289592686984) * w + 0.021869489928097816) * w + 0.13333333333442898;
  F y = (q * z + p) * z * r + r;
  y = (n & 1) != 0 ? -1.0 / y : y;
  return x == 0.0 ? x : y;
}
