// Derivatives of operators on scalars, a function for each in a table.
#include "core/ad/code.h"

// An operation y = op(x, ..), and d, of which the derivative is to be a multiple.
typedef struct OpStep {
  Builder *b;
  PrimType type;
  PrimOp op;
  const Atom *x;
  Atom y, d;
  int arg;  // the operand by which it is differentiated
} OpStep;

typedef Atom (*PartialFn)(const OpStep *s);

static Atom number(const OpStep *s, double value) { return ad_number(s->type, value); }
static Atom apply1(const OpStep *s, PrimOp op, Atom x) { return ad_op1(s->b, op, x); }
static Atom apply2(const OpStep *s, PrimOp op, Atom x, Atom y) {
  return ad_op2(s->b, op, x, y);
}
static Atom times(const OpStep *s, Atom x, Atom y) { return apply2(s, OP_MUL, x, y); }
static Atom over(const OpStep *s, Atom x, Atom y) { return apply2(s, OP_DIV, x, y); }
static Atom plus(const OpStep *s, Atom x, Atom y) { return apply2(s, OP_ADD, x, y); }
static Atom minus(const OpStep *s, Atom x, Atom y) { return apply2(s, OP_SUB, x, y); }
static Atom square(const OpStep *s, Atom x) { return times(s, x, x); }
static Atom negated(const OpStep *s, Atom x) { return apply1(s, OP_NEG, x); }

// The part, but zero where d is zero and the slope infinite or undefined, though the value is
// finite: what a condition leaves out (if r > 0 then r else 0, of a root r) changes nothing then.
// Not for every d of zero: the part changes with d, which derivatives of derivatives ask for.
static Atom tamed(const OpStep *s, Atom singular, Atom part) {
  Atom zero = number(s, 0);
  Atom nothing = apply2(s, OP_EQ, s->d, zero);
  return ad_select(s->b, singular, ad_select(s->b, nothing, zero, part), part);
}

static Atom tamed_at_zero(const OpStep *s, Atom x, Atom part) {
  return tamed(s, apply2(s, OP_EQ, x, number(s, 0)), part);
}

#define PI   3.14159265358979323846
#define LN2  0.69314718055994530942
#define LN10 2.30258509299404568402

// ---- arithmetic

static Atom pass(const OpStep *s) { return s->d; }

static Atom by_minus_one(const OpStep *s) { return negated(s, s->d); }

static Atom of_sub(const OpStep *s) { return s->arg == 0 ? s->d : negated(s, s->d); }

static Atom of_mul(const OpStep *s) { return times(s, s->d, s->x[1 - s->arg]); }

static Atom of_div(const OpStep *s) {
  if (!prim_is_float(s->type)) return number(s, 0);
  Atom part = over(s, s->d, s->x[1]);
  return s->arg == 0 ? part : negated(s, times(s, part, s->y));
}

// x - y * trunc(x / y)
static Atom of_mod(const OpStep *s) {
  if (!prim_is_float(s->type)) return number(s, 0);
  if (s->arg == 0) return s->d;
  return negated(s, times(s, s->d, apply1(s, OP_TRUNC, over(s, s->x[0], s->x[1]))));
}

static bool is_at_least_one(Atom a) {
  return a.kind == ATOM_CONST && prim_to_double(a.u.constant) >= 1;
}

// y * x ** (y - 1); where y is zero, zero for all x.
static Atom of_base(const OpStep *s) {
  Atom x = s->x[0], y = s->x[1];
  Atom less = minus(s, y, number(s, 1));
  if (!prim_is_float(s->type)) less = apply2(s, OP_MAX, less, number(s, 0));
  Atom slope = times(s, y, apply2(s, OP_POW, x, less));
  if (y.kind == ATOM_VAR) {
    Atom constant = apply2(s, OP_EQ, y, number(s, 0));
    slope = ad_select(s->b, constant, number(s, 0), slope);
  }
  Atom part = times(s, s->d, slope);
  bool finite = !prim_is_float(s->type) || is_at_least_one(y);
  return finite ? part : tamed_at_zero(s, x, part);
}

// x ** y * log x; where x is zero, zero for all positive y.
static Atom of_pow(const OpStep *s) {
  if (s->arg == 0) return of_base(s);
  if (!prim_is_float(s->type)) return number(s, 0);
  Atom slope = times(s, s->y, apply1(s, OP_LOG, s->x[0]));
  Atom constant = apply2(s, OP_EQ, s->x[0], number(s, 0));
  return times(s, s->d, ad_select(s->b, constant, number(s, 0), slope));
}

// The operand that is the result; of equal ones the first.  NaN is less and greater than none.
static Atom of_extremum(const OpStep *s) {
  Atom first = apply2(s, OP_EQ, s->x[0], s->y);
  Atom zero = number(s, 0);
  return ad_select(s->b, first, s->arg == 0 ? s->d : zero, s->arg == 0 ? zero : s->d);
}

static Atom of_abs(const OpStep *s) { return times(s, s->d, apply1(s, OP_SGN, s->x[0])); }

static Atom of_copysign(const OpStep *s) {
  Atom from = apply2(s, OP_COPYSIGN, number(s, 1), s->x[0]);
  Atom to = apply2(s, OP_COPYSIGN, s->d, s->x[1]);
  Atom sign = apply2(s, OP_COPYSIGN, number(s, 1), s->d);
  return times(s, times(s, to, from), sign);
}

// a + (b - a) * t
static Atom of_lerp(const OpStep *s) {
  if (s->arg == 0) return times(s, s->d, minus(s, number(s, 1), s->x[2]));
  if (s->arg == 1) return times(s, s->d, s->x[2]);
  return times(s, s->d, minus(s, s->x[1], s->x[0]));
}

static Atom of_mad(const OpStep *s) { return s->arg == 2 ? s->d : of_mul(s); }

static Atom of_ldexp(const OpStep *s) { return apply2(s, OP_LDEXP, s->d, s->x[1]); }

// ---- roots, exponentials, logarithms

static Atom of_sqrt(const OpStep *s) {
  return tamed_at_zero(s, s->y, over(s, s->d, times(s, number(s, 2), s->y)));
}

static Atom of_cbrt(const OpStep *s) {
  Atom part = over(s, s->d, times(s, number(s, 3), square(s, s->y)));
  return tamed_at_zero(s, s->y, part);
}

static Atom of_exp(const OpStep *s) { return times(s, s->d, s->y); }

static Atom of_exp2(const OpStep *s) {
  return times(s, s->d, times(s, number(s, LN2), s->y));
}

static Atom of_exp10(const OpStep *s) {
  return times(s, s->d, times(s, number(s, LN10), s->y));
}

static Atom of_expm1(const OpStep *s) {
  return times(s, s->d, plus(s, s->y, number(s, 1)));
}

static Atom of_log(const OpStep *s) { return over(s, s->d, s->x[0]); }

static Atom of_log2(const OpStep *s) {
  return over(s, s->d, times(s, number(s, LN2), s->x[0]));
}

static Atom of_log10(const OpStep *s) {
  return over(s, s->d, times(s, number(s, LN10), s->x[0]));
}

static Atom of_log1p(const OpStep *s) {
  return over(s, s->d, plus(s, number(s, 1), s->x[0]));
}

// ---- trigonometric functions

static Atom of_sin(const OpStep *s) { return times(s, s->d, apply1(s, OP_COS, s->x[0])); }

static Atom of_cos(const OpStep *s) {
  return negated(s, times(s, s->d, apply1(s, OP_SIN, s->x[0])));
}

static Atom of_tan(const OpStep *s) {
  return times(s, s->d, plus(s, number(s, 1), square(s, s->y)));
}

static Atom from_one(const OpStep *s) {
  return minus(s, number(s, 1), square(s, s->x[0]));
}

static Atom over_root(const OpStep *s, Atom x) {
  return tamed_at_zero(s, x, over(s, s->d, apply1(s, OP_SQRT, x)));
}

static Atom of_asin(const OpStep *s) { return over_root(s, from_one(s)); }

static Atom of_acos(const OpStep *s) { return negated(s, of_asin(s)); }

static Atom of_atan(const OpStep *s) {
  return over(s, s->d, plus(s, number(s, 1), square(s, s->x[0])));
}

static Atom times_pi(const OpStep *s, Atom x) { return times(s, number(s, PI), x); }
static Atom over_pi(const OpStep *s, Atom x) { return over(s, x, number(s, PI)); }

static Atom of_sinpi(const OpStep *s) {
  return times_pi(s, times(s, s->d, apply1(s, OP_COSPI, s->x[0])));
}

static Atom of_cospi(const OpStep *s) {
  return negated(s, times_pi(s, times(s, s->d, apply1(s, OP_SINPI, s->x[0]))));
}

static Atom of_tanpi(const OpStep *s) { return times_pi(s, of_tan(s)); }
static Atom of_asinpi(const OpStep *s) { return over_pi(s, of_asin(s)); }
static Atom of_acospi(const OpStep *s) { return over_pi(s, of_acos(s)); }
static Atom of_atanpi(const OpStep *s) { return over_pi(s, of_atan(s)); }

static Atom of_atan2(const OpStep *s) {
  Atom y = s->x[0], x = s->x[1];
  Atom sum = plus(s, square(s, x), square(s, y));
  Atom part = tamed_at_zero(s, sum, over(s, s->d, sum));
  return s->arg == 0 ? times(s, part, x) : negated(s, times(s, part, y));
}

static Atom of_atan2pi(const OpStep *s) { return over_pi(s, of_atan2(s)); }

static Atom of_hypot(const OpStep *s) {
  return tamed_at_zero(s, s->y, times(s, s->d, over(s, s->x[s->arg], s->y)));
}

// ---- hyperbolic functions, the error function

static Atom of_sinh(const OpStep *s) {
  return times(s, s->d, apply1(s, OP_COSH, s->x[0]));
}
static Atom of_cosh(const OpStep *s) {
  return times(s, s->d, apply1(s, OP_SINH, s->x[0]));
}

static Atom of_tanh(const OpStep *s) {
  return times(s, s->d, minus(s, number(s, 1), square(s, s->y)));
}

static Atom of_asinh(const OpStep *s) {
  Atom sum = plus(s, square(s, s->x[0]), number(s, 1));
  return over(s, s->d, apply1(s, OP_SQRT, sum));
}

static Atom of_acosh(const OpStep *s) {
  return over_root(s, minus(s, square(s, s->x[0]), number(s, 1)));
}

static Atom of_atanh(const OpStep *s) { return over(s, s->d, from_one(s)); }

// 2 / sqrt pi * exp (-x * x)
static Atom of_erf(const OpStep *s) {
  Atom bell = apply1(s, OP_EXP, negated(s, square(s, s->x[0])));
  return times(s, s->d, times(s, number(s, 1.12837916709551257390), bell));
}

static Atom of_erfc(const OpStep *s) { return negated(s, of_erf(s)); }

static Atom of_lgamma(const OpStep *s) {
  return times(s, s->d, ad_digamma(s->b, s->x[0]));
}

static Atom of_gamma(const OpStep *s) { return times(s, s->y, of_lgamma(s)); }

// ---- the table: operators that are not in it have derivative zero

static const PartialFn partials[OP_COUNT] = {
  [OP_ADD] = pass,           [OP_SUB] = of_sub,       [OP_MUL] = of_mul,
  [OP_DIV] = of_div,         [OP_MOD] = of_mod,       [OP_POW] = of_pow,
  [OP_MIN] = of_extremum,    [OP_MAX] = of_extremum,  [OP_NEG] = by_minus_one,
  [OP_ABS] = of_abs,         [OP_SQRT] = of_sqrt,     [OP_CBRT] = of_cbrt,
  [OP_EXP] = of_exp,         [OP_EXP2] = of_exp2,     [OP_EXP10] = of_exp10,
  [OP_EXPM1] = of_expm1,     [OP_LOG] = of_log,       [OP_LOG2] = of_log2,
  [OP_LOG10] = of_log10,     [OP_LOG1P] = of_log1p,   [OP_SIN] = of_sin,
  [OP_COS] = of_cos,         [OP_TAN] = of_tan,       [OP_ASIN] = of_asin,
  [OP_ACOS] = of_acos,       [OP_ATAN] = of_atan,     [OP_SINPI] = of_sinpi,
  [OP_COSPI] = of_cospi,     [OP_TANPI] = of_tanpi,   [OP_ASINPI] = of_asinpi,
  [OP_ACOSPI] = of_acospi,   [OP_ATANPI] = of_atanpi, [OP_SINH] = of_sinh,
  [OP_COSH] = of_cosh,       [OP_TANH] = of_tanh,     [OP_ASINH] = of_asinh,
  [OP_ACOSH] = of_acosh,     [OP_ATANH] = of_atanh,   [OP_ATAN2] = of_atan2,
  [OP_ATAN2PI] = of_atan2pi, [OP_HYPOT] = of_hypot,   [OP_COPYSIGN] = of_copysign,
  [OP_NEXTAFTER] = pass,     [OP_ERF] = of_erf,       [OP_ERFC] = of_erfc,
  [OP_GAMMA] = of_gamma,     [OP_LGAMMA] = of_lgamma, [OP_LERP] = of_lerp,
  [OP_FMA] = of_mad,         [OP_MAD] = of_mad,       [OP_LDEXP] = of_ldexp,
};

bool ad_has_partial(PrimOp op, int arg) {
  bool only_first = op == OP_COPYSIGN || op == OP_NEXTAFTER || op == OP_LDEXP;
  return partials[op] && (arg == 0 || !only_first);
}

Atom ad_partial(Builder *b, const Exp *operation, Atom result, int arg, Atom d) {
  PrimOp op = operation->u.op.op;
  OpStep s = {
    .b = b, .type = operation->u.op.type, .op = op, .x = operation->u.op.args
  };
  s.y = result;
  s.d = d;
  s.arg = arg;
  return partials[op](&s);
}
