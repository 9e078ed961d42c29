// psi x = the derivative of log (gamma x), for those of gamma and lgamma
//
// NIST Digital Library of Mathematical Functions: psi x = psi (1 - x) - pi cot (pi x) below 1/2
// (5.5.4), psi x = psi (x + 1) - 1 / x up to SHIFT (5.5.2), from where on the first terms of
// log x - 1 / (2 x) - sum of B_2k / (2k x^2k) (5.11.2, Bernoulli's numbers: 24.2) do.  In f64 that
// is good for about 15 digits of the greater of psi x and 1.
#include "core/ad/code.h"

enum { SHIFT = 10 };

static Atom add(Builder *b, Atom x, Atom y) { return ad_op2(b, OP_ADD, x, y); }
static Atom sub(Builder *b, Atom x, Atom y) { return ad_op2(b, OP_SUB, x, y); }
static Atom mul(Builder *b, Atom x, Atom y) { return ad_op2(b, OP_MUL, x, y); }
static Atom quotient(Builder *b, Atom x, Atom y) { return ad_op2(b, OP_DIV, x, y); }

// x >= SHIFT
static Atom of_large(Builder *b, Atom x) {
  static const double parts[] = { 1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                  1.0 / 132, -691.0 / 32760, 1.0 / 12 };
  enum { COUNT = sizeof parts / sizeof *parts };
  PrimType type = atom_type(x).elem;
  Atom inverse = quotient(b, ad_number(type, 1), x), square = mul(b, inverse, inverse);
  Atom series = ad_number(type, parts[COUNT - 1]);
  for (int k = COUNT - 2; k >= 0; k--)
    series = add(b, mul(b, series, square), ad_number(type, parts[k]));
  Atom rest = add(b, mul(b, ad_number(type, 0.5), inverse), mul(b, series, square));
  return sub(b, ad_op1(b, OP_LOG, x), rest);
}

// x >= 1/2
static Atom of_positive(Builder *b, Atom x) {
  PrimType type = atom_type(x).elem;
  Atom one = ad_number(type, 1), sum = quotient(b, one, x);
  for (int k = 1; k < SHIFT; k++)
    sum = add(b, sum, quotient(b, one, add(b, x, ad_number(type, k))));
  return sub(b, of_large(b, add(b, x, ad_number(type, SHIFT))), sum);
}

Atom ad_digamma(Builder *b, Atom x) {
  PrimType type = atom_type(x).elem;
  if (type == PRIM_F16) {
    Atom wide = core_let(b, "x", exp_convert(PRIM_F32, x));
    return core_let(b, "psi", exp_convert(PRIM_F16, ad_digamma(b, wide)));
  }
  Atom low = ad_op2(b, OP_LT, x, ad_number(type, 0.5));
  Atom mirrored = sub(b, ad_number(type, 1), x);
  Atom psi = of_positive(b, ad_select(b, low, mirrored, x));
  // The other operand is a number whose tangent, too, has a derivative.
  Atom below = ad_select(b, low, x, ad_number(type, 0.25));
  Atom cotangent = quotient(b, ad_op1(b, OP_COSPI, below), ad_op1(b, OP_SINPI, below));
  Atom difference = mul(b, ad_number(type, 3.14159265358979323846), cotangent);
  return sub(b, psi, ad_select(b, low, difference, ad_number(type, 0)));
}
