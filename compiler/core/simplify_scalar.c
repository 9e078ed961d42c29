// Scalars: folding, algebra, conversions.  What ranges decide is in simplify_range.c.
//
// Integers wrap, so their algebra is that of a ring; for floats only what IEEE 754 gives exactly.
// An operation that traps is never folded: it stays, to trap when the program runs.  Nor is a
// value known where one that it is made from may fail: q == q and x + q - q stay if q is x / y, as
// what is computed from nothing that may fail would lose the failure of what it depends on.
#include "core/operands.h"
#include "core/simplify.h"
#include <math.h>

typedef enum Gives {
  GIVES_LEFT,
  GIVES_RIGHT,
  GIVES_ZERO,
  GIVES_ONE,
  GIVES_NOT_LEFT
} Gives;
typedef enum Class { CLASS_INT, CLASS_FLOAT, CLASS_BOOL } Class;

// x op value => what it gives
typedef struct UnitRule {
  PrimOp op;
  Class class;
  double value;
  Gives gives;
} UnitRule;

// x op x => what it gives
typedef struct SameRule {
  PrimOp op;
  bool floats;  // also with NaN
  Gives gives;
} SameRule;

// clang-format off
static const UnitRule unit_rules[] = {
  { OP_ADD,  CLASS_INT,   0,    GIVES_LEFT },
  { OP_SUB,  CLASS_INT,   0,    GIVES_LEFT },
  { OP_MUL,  CLASS_INT,   1,    GIVES_LEFT },
  { OP_MUL,  CLASS_INT,   0,    GIVES_ZERO },
  { OP_DIV,  CLASS_INT,   1,    GIVES_LEFT },
  { OP_QUOT, CLASS_INT,   1,    GIVES_LEFT },
  { OP_MOD,  CLASS_INT,   1,    GIVES_ZERO },
  { OP_REM,  CLASS_INT,   1,    GIVES_ZERO },
  { OP_POW,  CLASS_INT,   1,    GIVES_LEFT },
  { OP_POW,  CLASS_INT,   0,    GIVES_ONE },
  { OP_POW,  CLASS_FLOAT, 1,    GIVES_LEFT },
  { OP_POW,  CLASS_FLOAT, 0,    GIVES_ONE },  // also of NaN
  { OP_POW,  CLASS_FLOAT, -0.0, GIVES_ONE },
  { OP_AND,  CLASS_INT,   0,    GIVES_ZERO },
  { OP_OR,   CLASS_INT,   0,    GIVES_LEFT },
  { OP_XOR,  CLASS_INT,   0,    GIVES_LEFT },
  { OP_SHL,  CLASS_INT,   0,    GIVES_LEFT },
  { OP_SHR,  CLASS_INT,   0,    GIVES_LEFT },
  { OP_ADD,  CLASS_FLOAT, -0.0, GIVES_LEFT },  // not 0.0: -0.0 + 0.0 is 0.0
  { OP_SUB,  CLASS_FLOAT, 0.0,  GIVES_LEFT },
  { OP_MUL,  CLASS_FLOAT, 1,    GIVES_LEFT },
  { OP_DIV,  CLASS_FLOAT, 1,    GIVES_LEFT },
  { OP_LAND, CLASS_BOOL,  1,    GIVES_LEFT },
  { OP_LAND, CLASS_BOOL,  0,    GIVES_RIGHT },
  { OP_LOR,  CLASS_BOOL,  0,    GIVES_LEFT },
  { OP_LOR,  CLASS_BOOL,  1,    GIVES_RIGHT },
  { OP_EQ,   CLASS_BOOL,  1,    GIVES_LEFT },
  { OP_EQ,   CLASS_BOOL,  0,    GIVES_NOT_LEFT },
  { OP_NE,   CLASS_BOOL,  0,    GIVES_LEFT },
  { OP_NE,   CLASS_BOOL,  1,    GIVES_NOT_LEFT },
};

static const SameRule same_rules[] = {
  { OP_SUB,  false, GIVES_ZERO },
  { OP_XOR,  false, GIVES_ZERO },
  { OP_AND,  false, GIVES_LEFT },
  { OP_OR,   false, GIVES_LEFT },
  { OP_LAND, false, GIVES_LEFT },
  { OP_LOR,  false, GIVES_LEFT },
  { OP_MIN,  true,  GIVES_LEFT },
  { OP_MAX,  true,  GIVES_LEFT },
  { OP_EQ,   false, GIVES_ONE },
  { OP_LE,   false, GIVES_ONE },
  { OP_NE,   false, GIVES_ZERO },
  { OP_LT,   true,  GIVES_ZERO },
};
// clang-format on

static Class class_of(PrimType type) {
  if (type == PRIM_BOOL) return CLASS_BOOL;
  return prim_is_float(type) ? CLASS_FLOAT : CLASS_INT;
}

static Prim constant_of(PrimType type, double value) {
  switch (class_of(type)) {
  case CLASS_INT: return prim_int(type, (int64_t)value);
  case CLASS_FLOAT: return prim_float(type, value);
  case CLASS_BOOL: break;
  }
  return prim_bool(value != 0);
}

static const Exp *give(const Exp *e, Gives gives) {
  PrimType result = op_result(e->u.op.op, e->u.op.type);
  switch (gives) {
  case GIVES_LEFT: return exp_atom(e->u.op.args[0]);
  case GIVES_RIGHT: return exp_atom(e->u.op.args[1]);
  case GIVES_ZERO: return exp_atom(atom_const(constant_of(result, 0)));
  case GIVES_ONE: return exp_atom(atom_const(constant_of(result, 1)));
  case GIVES_NOT_LEFT: return exp_op1(OP_NOT, e->u.op.args[0]);
  }
  return NULL;
}

static const Exp *with_unit(const Exp *e) {
  Atom right = e->u.op.args[1];
  if (right.kind == ATOM_VAR) return NULL;
  Class class = class_of(e->u.op.type);
  for (size_t i = 0; i < sizeof unit_rules / sizeof *unit_rules; i++) {
    const UnitRule *rule = &unit_rules[i];
    if (rule->op != e->u.op.op || rule->class != class) continue;
    if (prim_identical(right.u.constant, constant_of(e->u.op.type, rule->value))) {
      return give(e, rule->gives);
    }
  }
  return NULL;
}

static const Exp *with_itself(const Exp *e) {
  if (!atom_equal(e->u.op.args[0], e->u.op.args[1])) return NULL;
  for (size_t i = 0; i < sizeof same_rules / sizeof *same_rules; i++) {
    const SameRule *rule = &same_rules[i];
    bool applies = rule->floats || !prim_is_float(e->u.op.type);
    if (rule->op == e->u.op.op && applies) return give(e, rule->gives);
  }
  return NULL;
}

static bool is_constant(Atom a, Prim value) {
  return a.kind == ATOM_CONST && prim_identical(a.u.constant, value);
}

// x < least => false   greatest < x => false   least <= x => true   x <= greatest => true
static const Exp *with_extreme(const Exp *e) {
  PrimOp op = e->u.op.op;
  PrimType type = e->u.op.type;
  if (!prim_is_int(type) || (op != OP_LT && op != OP_LE)) return NULL;
  Atom least = e->u.op.args[op == OP_LT], greatest = e->u.op.args[op == OP_LE];
  bool decided =
      is_constant(least, prim_lowest(type)) || is_constant(greatest, prim_highest(type));
  return decided ? exp_atom(atom_bool(op == OP_LE)) : NULL;
}

static const Exp *fold(const Exp *e) {
  Prim args[3];
  for (int i = 0; i < op_arity(e->u.op.op); i++) {
    if (e->u.op.args[i].kind == ATOM_VAR) return NULL;
    args[i] = e->u.op.args[i].u.constant;
  }
  Prim result;
  return prim_apply(e->u.op.op, args, &result) ? exp_atom(atom_const(result)) : NULL;
}

// c op x => x op c: the other rules look for constants on the right.
static const Exp *constant_to_the_right(const Exp *e) {
  Atom left = e->u.op.args[0], right = e->u.op.args[1];
  if (left.kind == ATOM_VAR || right.kind == ATOM_CONST) return NULL;
  bool turns = operands_may_turn(e->u.op.op, e->u.op.type);
  return turns ? exp_op2(e->u.op.op, right, left) : NULL;
}

// ---- sums and products of integers

static bool is_op(const Exp *e, PrimOp op) {
  return e && e->kind == EXP_OP && e->u.op.op == op;
}

static bool is_sum_with_constant(const Exp *e) {
  return (is_op(e, OP_ADD) || is_op(e, OP_SUB)) && e->u.op.args[1].kind == ATOM_CONST;
}

// The constant that is added in the end.
static Prim addend(const Exp *e) {
  Prim c = e->u.op.args[1].u.constant, negated;
  if (e->u.op.op == OP_ADD || !prim_apply(OP_NEG, &c, &negated)) return c;
  return negated;
}

static const Exp *with_combined(PrimOp op, Atom x, Prim a, Prim b) {
  Prim combined;
  if (!prim_apply(op, (Prim[]){ a, b }, &combined)) return NULL;
  return exp_op2(op, x, atom_const(combined));
}

// (x + c) - d => x + (c - d), and (x * c) * d => x * (c * d)
static const Exp *reassociate(const Simplify *s, const Exp *e) {
  const Exp *inner = simplify_def(s, e->u.op.args[0]);
  if (!inner || inner->kind != EXP_OP) return NULL;
  Atom x = inner->u.op.args[0];
  if (is_sum_with_constant(e) && is_sum_with_constant(inner)) {
    return with_combined(OP_ADD, x, addend(inner), addend(e));
  }
  bool products = is_op(e, OP_MUL) && is_op(inner, OP_MUL) &&
                  e->u.op.args[1].kind == ATOM_CONST &&
                  inner->u.op.args[1].kind == ATOM_CONST;
  if (!products) return NULL;
  return with_combined(OP_MUL, x, inner->u.op.args[1].u.constant,
                       e->u.op.args[1].u.constant);
}

// (x + y) - x => y   (x + y) - y => x   x - (x - y) => y, if x (or y) cannot fail
static const Exp *cancel_difference(const Simplify *s, const Exp *e) {
  Atom left = e->u.op.args[0], right = e->u.op.args[1];
  const Exp *sum = simplify_def(s, left);
  const Exp *difference = simplify_def(s, right);
  if (is_op(difference, OP_SUB) && atom_equal(difference->u.op.args[0], left))
    return failing_has(s->failing, left) ? NULL : exp_atom(difference->u.op.args[1]);
  if (failing_has(s->failing, right)) return NULL;
  if (is_op(sum, OP_ADD) && atom_equal(sum->u.op.args[0], right)) {
    return exp_atom(sum->u.op.args[1]);
  }
  if (is_op(sum, OP_ADD) && atom_equal(sum->u.op.args[1], right)) {
    return exp_atom(sum->u.op.args[0]);
  }
  return NULL;
}

// (x + y) * m - x * m => y * m if x cannot fail, in any order of factors and addends: the length
// of row number x of what lies in one dimension, `xs[i * m:(i + 1) * m]`.
static const Exp *cancel_products(const Simplify *s, const Exp *e) {
  const Exp *all = simplify_def(s, e->u.op.args[0]),
            *less = simplify_def(s, e->u.op.args[1]);
  if (!is_op(all, OP_MUL) || !is_op(less, OP_MUL)) return NULL;
  for (int k = 0; k < 8; k++) {
    int by = k & 1, from = k >> 1 & 1, added = k >> 2;
    const Exp *sum = simplify_def(s, all->u.op.args[1 - by]);
    if (is_op(sum, OP_ADD) && atom_equal(all->u.op.args[by], less->u.op.args[from]) &&
        atom_equal(sum->u.op.args[1 - added], less->u.op.args[1 - from]) &&
        !failing_has(s->failing, less->u.op.args[1 - from]))
      return exp_op2(OP_MUL, sum->u.op.args[added], all->u.op.args[by]);
  }
  return NULL;
}

// (x - y) + y => x if y cannot fail, in either order
static const Exp *cancel_sum(const Simplify *s, const Exp *e) {
  for (int i = 0; i < 2; i++) {
    const Exp *difference = simplify_def(s, e->u.op.args[i]);
    if (is_op(difference, OP_SUB) &&
        atom_equal(difference->u.op.args[1], e->u.op.args[1 - i]) &&
        !failing_has(s->failing, e->u.op.args[1 - i])) {
      return exp_atom(difference->u.op.args[0]);
    }
  }
  return NULL;
}

// x % y == 0 => x %% y == 0, which rounds as machines do; and so for !=
static const Exp *divides(Simplify *s, const Exp *e) {
  const Exp *mod = simplify_def(s, e->u.op.args[0]);
  if ((e->u.op.op != OP_EQ && e->u.op.op != OP_NE) || !is_op(mod, OP_MOD) ||
      !prim_is_signed(e->u.op.type) || e->u.op.args[1].kind != ATOM_CONST ||
      e->u.op.args[1].u.constant.u.i != 0)
    return NULL;
  Atom rem =
      simplify_let(s, "rem", exp_op2(OP_REM, mod->u.op.args[0], mod->u.op.args[1]));
  return exp_op2(e->u.op.op, rem, e->u.op.args[1]);
}

// x == x + c => false   x != x + c => true, for c != 0
static const Exp *with_own_sum(const Simplify *s, const Exp *e) {
  PrimOp op = e->u.op.op;
  if ((op != OP_EQ && op != OP_NE) || !prim_is_int(e->u.op.type)) return NULL;
  for (int i = 0; i < 2; i++) {
    const Exp *sum = simplify_def(s, e->u.op.args[i]);
    if (is_sum_with_constant(sum) && addend(sum).u.i != 0 &&
        atom_equal(sum->u.op.args[0], e->u.op.args[1 - i]))
      return exp_atom(atom_bool(op == OP_NE));
  }
  return NULL;
}

static bool is_at_most(const Exp *e, Atom a, Atom b) {
  return is_op(e, OP_LE) && atom_equal(e->u.op.args[0], a) &&
         atom_equal(e->u.op.args[1], b);
}

// 0 <= x && x <= x + c && x + c <= n  =>  0 <= x && x < n - (c - 1), for c > 0 and n >= 0: slices
// of c elements are checked as indices are.
static const Exp *short_slice_inside(Simplify *s, const Exp *e) {
  const Exp *begin = is_op(e, OP_LAND) ? simplify_def(s, e->u.op.args[0]) : NULL;
  const Exp *end = begin ? simplify_def(s, e->u.op.args[1]) : NULL;
  if (!is_op(begin, OP_LAND) || !is_op(end, OP_LE) || end->u.op.type != PRIM_I64)
    return NULL;
  Atom to = end->u.op.args[0], n = end->u.op.args[1];
  const Exp *sum = simplify_def(s, to);
  if (!is_sum_with_constant(sum) || !simplify_is_nonneg(s, n)) return NULL;
  Atom x = sum->u.op.args[0];
  int64_t count = addend(sum).u.i;
  if (count <= 0 || !is_at_most(simplify_def(s, begin->u.op.args[0]), atom_i64(0), x) ||
      !is_at_most(simplify_def(s, begin->u.op.args[1]), x, to))
    return NULL;
  Atom places = simplify_let(s, "places", exp_op2(OP_SUB, n, atom_i64(count - 1)));
  Atom below = simplify_let(s, "below", exp_op2(OP_LT, x, places));
  return exp_op2(OP_LAND, begin->u.op.args[0], below);
}

static const Exp *integer_rules(Simplify *s, const Exp *e) {
  if (!prim_is_int(e->u.op.type)) return NULL;
  const Exp *whole = divides(s, e);
  if (whole) return whole;
  const Exp *better = reassociate(s, e);
  if (!better && e->u.op.op == OP_SUB) better = cancel_difference(s, e);
  if (!better && e->u.op.op == OP_SUB) better = cancel_products(s, e);
  if (!better && e->u.op.op == OP_ADD) better = cancel_sum(s, e);
  return better;
}

// ---- negation

static const Exp *inverted(const Exp *e, PrimOp op, bool swap) {
  Atom a = e->u.op.args[0], b = e->u.op.args[1];
  return swap ? exp_op2(op, b, a) : exp_op2(op, a, b);
}

// not (a < b) => b <= a, and the like; not so for floats, where NaN compares with nothing.
static const Exp *not_of(const Exp *e) {
  if (is_op(e, OP_NOT)) return exp_atom(e->u.op.args[0]);
  if (is_op(e, OP_EQ)) return inverted(e, OP_NE, false);
  if (is_op(e, OP_NE)) return inverted(e, OP_EQ, false);
  if (prim_is_float(e->u.op.type)) return NULL;
  if (is_op(e, OP_LT)) return inverted(e, OP_LE, true);
  if (is_op(e, OP_LE)) return inverted(e, OP_LT, true);
  return NULL;
}

static const Exp *unary_rules(const Simplify *s, const Exp *e) {
  const Exp *inner = simplify_def(s, e->u.op.args[0]);
  if (!inner || inner->kind != EXP_OP) return NULL;
  if (e->u.op.op == OP_NOT) return not_of(inner);
  if (e->u.op.op == OP_NEG && is_op(inner, OP_NEG)) return exp_atom(inner->u.op.args[0]);
  return NULL;
}

// ---- powers of floats

// By multiplications x ** 4 and x ** -2 are off by less than two units in the last place, x ** 5
// and x ** -3 are not.
enum {
  MOST_FACTORS = 4,  // in the type itself
  LEAST_FACTORS = -2,
  MOST_BY_SQUARING = 64,
};

static Atom float_const(PrimType type, double value) {
  return atom_const(prim_float(type, value));
}

// x * .. * x, n of them, by squaring.
static const Exp *product(Simplify *s, Atom x, int n) {
  if (n == 1) return exp_atom(x);
  Atom half = simplify_let(s, "power", product(s, x, n / 2));
  const Exp *square = exp_op2(OP_MUL, half, half);
  if (n % 2 == 0) return square;
  return exp_op2(OP_MUL, simplify_let(s, "square", square), x);
}

// Not 1 / (x * x), where the product may overflow though the quotient does not.
static const Exp *inverse_product(Simplify *s, Atom x, int n) {
  const Exp *inverse = exp_op2(OP_DIV, float_const(atom_type(x).elem, 1), x);
  return n == 1 ? inverse : product(s, simplify_let(s, "inverse", inverse), n);
}

static const Body *value_body(const Builder *b, Atom value) {
  return core_body(b, &value, 1);
}

// x ** 0.5 => if x == -infinity then infinity else sqrt (x + 0); the sum turns -0 into 0.
static const Exp *square_root(Simplify *s, Atom x) {
  PrimType type = atom_type(x).elem;
  Atom ends = simplify_let(s, "ends", exp_op2(OP_EQ, x, atom_const(prim_lowest(type))));
  Builder infinite = builder_new(s->c, s->builder->loc);
  Builder finite = builder_new(s->c, s->builder->loc);
  Atom sum = core_let(&finite, "sum", exp_op2(OP_ADD, x, float_const(type, 0)));
  Atom value = core_let(&finite, "root", exp_op1(OP_SQRT, sum));
  return exp_if(ends, value_body(&infinite, atom_const(prim_highest(type))),
                value_body(&finite, value));
}

// The product in f64, which rounds to what f32 can hold of it but for one argument in millions.
static const Exp *wide_product(Simplify *s, Atom x, int n) {
  Atom wide = simplify_let(s, "wide", exp_convert(PRIM_F64, x));
  Atom power = simplify_let(s, "power", product(s, wide, n < 0 ? -n : n));
  if (n < 0)
    power = simplify_let(s, "inverse", exp_op2(OP_DIV, float_const(PRIM_F64, 1), power));
  return exp_convert(PRIM_F32, power);
}

// |x| ** (quarters / 4) as factors: |x| by squaring, a square root, and the root of that.
typedef struct Roots {
  Atom x;  // not negative
  Atom root, fourth;
  int whole, part;  // the exponent, and how many quarters more
} Roots;

static Roots roots_of(Simplify *s, Atom x, int quarters) {
  Roots r = { .whole = quarters / 4, .part = quarters % 4 };
  r.root = simplify_let(s, "root", square_root(s, x));
  if (r.part != 2) r.fourth = simplify_let(s, "root", exp_op1(OP_SQRT, r.root));
  if (r.whole > 0) r.x = simplify_let(s, "size", exp_op1(OP_ABS, x));
  return r;
}

// 1, or what there is so far, times (or over) the roots.
static const Exp *join_roots(Simplify *s, const Exp *power, PrimOp op, Roots r) {
  Atom roots[] = { r.root, r.fourth };
  for (int i = 0; i < 2; i++) {
    if (i == 0 ? r.part == 1 : r.part == 2) continue;
    power = power ? exp_op2(op, simplify_let(s, "power", power), roots[i])
                  : exp_atom(roots[i]);
  }
  return power;
}

// Each quotient stays in the range of its type where the power does.
static const Exp *narrow_roots(Simplify *s, Roots r, bool inverse) {
  if (!inverse)
    return join_roots(s, r.whole > 0 ? product(s, r.x, r.whole) : NULL, OP_MUL, r);
  const Exp *one = exp_atom(float_const(atom_type(r.root).elem, 1));
  return join_roots(s, r.whole > 0 ? inverse_product(s, r.x, r.whole) : one, OP_DIV, r);
}

static Atom widened(Simplify *s, Atom x) {
  return simplify_let(s, "wide", exp_convert(PRIM_F64, x));
}

// Roots of f32 multiplied in f64.
static const Exp *wide_roots(Simplify *s, Roots r, bool inverse) {
  if (r.whole > 0) r.x = widened(s, r.x);
  r.root = widened(s, r.root);
  if (r.part != 2) r.fourth = widened(s, r.fourth);
  const Exp *power = narrow_roots(s, r, false);
  if (inverse)
    power = exp_op2(OP_DIV, float_const(PRIM_F64, 1), simplify_let(s, "power", power));
  return exp_convert(PRIM_F32, simplify_let(s, "power", power));
}

// Is f32 off by less than two units?
static bool few_roundings(int quarters, bool inverse) {
  if (inverse) return quarters <= 2;
  return quarters == 1 || quarters == 2 || quarters == 5 || quarters == 6 ||
         quarters == 10;
}

// Halves and quarters, off by less than four units in f64, by less than two in f32.
static const Exp *root_power(Simplify *s, Atom x, double exponent) {
  double size = fabs(exponent) * 4;
  if (size != floor(size) || size > 4 * MOST_BY_SQUARING) return NULL;
  int quarters = (int)size;
  bool inverse = exponent < 0, wide = atom_type(x).elem == PRIM_F32;
  int most = inverse ? -LEAST_FACTORS * 4 + 2 : MOST_FACTORS * 4 + 2;
  if (!wide && quarters > (quarters % 2 == 0 ? most : most / 2)) return NULL;
  if (wide && few_roundings(quarters, inverse)) wide = false;
  Roots r = roots_of(s, x, quarters);
  return wide ? wide_roots(s, r, inverse) : narrow_roots(s, r, inverse);
}

// A number of twice the digits, `most + rest`.
typedef struct Twofold {
  Atom most, rest;
} Twofold;

// What is multiplied last, and what it lacks, as it does not have twice the digits.
typedef struct LastFactors {
  Atom left, right, rest;
} LastFactors;

static Twofold twofold_power(Simplify *s, Atom x, int n);

static LastFactors last_factors(Simplify *s, Atom x, int n) {
  Twofold some = twofold_power(s, x, n % 2 == 0 ? n / 2 : n - 1);
  if (n % 2 == 1)
    return (LastFactors){ some.most, x,
                          simplify_let(s, "rest", exp_op2(OP_MUL, some.rest, x)) };
  Atom twice = simplify_let(s, "twice", exp_op2(OP_ADD, some.most, some.most));
  return (LastFactors){ some.most, some.most,
                        simplify_let(s, "rest", exp_op2(OP_MUL, twice, some.rest)) };
}

// x * .. * x by squaring, n of them.
static Twofold twofold_power(Simplify *s, Atom x, int n) {
  LastFactors last = { x, x, float_const(atom_type(x).elem, 0) };
  if (n > 2) last = last_factors(s, x, n);
  Atom most = simplify_let(s, "power", exp_op2(OP_MUL, last.left, last.right));
  Atom minus = simplify_let(s, "minus", exp_op1(OP_NEG, most));
  Atom error = simplify_let(s, "error", exp_op3(OP_FMA, last.left, last.right, minus));
  if (n > 2) error = simplify_let(s, "error", exp_op2(OP_ADD, error, last.rest));
  return (Twofold){ most, error };
}

// The product in twice the digits; of what is infinite, or too great, the rest is NaN, or infinite
// with another sign.
static const Exp *careful_product(Simplify *s, Atom x, int n) {
  LastFactors last = last_factors(s, x, n);
  Atom sum = simplify_let(s, "power", exp_op3(OP_FMA, last.left, last.right, last.rest));
  Atom size = simplify_let(s, "size", exp_op1(OP_ABS, sum));
  Atom highest = atom_const(prim_highest(atom_type(x).elem));
  Atom finite = simplify_let(s, "finite", exp_op2(OP_LT, size, highest));
  Builder yes = builder_new(s->c, s->builder->loc),
          no = builder_new(s->c, s->builder->loc);
  Atom infinite = core_let(&no, "power", exp_op2(OP_MUL, last.left, last.right));
  return exp_if(finite, value_body(&yes, sum), value_body(&no, infinite));
}

// Integers wrap in products as in powers.
static const Exp *integer_power(Simplify *s, const Exp *e) {
  Atom x = e->u.op.args[0], y = e->u.op.args[1];
  if (y.kind == ATOM_VAR) return NULL;
  int64_t exponent = y.u.constant.u.i;
  return exponent >= 2 && exponent <= MOST_BY_SQUARING ? product(s, x, (int)exponent)
                                                       : NULL;
}

static const Exp *power_rules(Simplify *s, const Exp *e) {
  if (e->u.op.op != OP_POW) return NULL;
  if (prim_is_int(e->u.op.type)) return integer_power(s, e);
  if (e->u.op.type == PRIM_F16) return NULL;  // factors would be rounded one by one
  Atom x = e->u.op.args[0], y = e->u.op.args[1];
  if (x.kind == ATOM_CONST && prim_to_double(x.u.constant) == 2)
    return exp_op1(OP_EXP2, y);
  if (y.kind == ATOM_VAR) return NULL;
  double exponent = prim_to_double(y.u.constant);
  for (int n = 2; n <= MOST_FACTORS; n++)
    if (exponent == n) return product(s, x, n);
  for (int n = -1; n >= LEAST_FACTORS; n--)
    if (exponent == n) return inverse_product(s, x, -n);
  bool whole = fabs(exponent) <= MOST_BY_SQUARING && exponent == floor(exponent);
  if (!whole) return root_power(s, x, exponent);
  if (e->u.op.type == PRIM_F32) return wide_product(s, x, (int)exponent);
  return exponent > 0 ? careful_product(s, x, (int)exponent) : NULL;
}

// ---- conversions

// Does every value of `from` survive in `to`?
static bool preserves(PrimType from, PrimType to) {
  if (from == to) return true;
  if (prim_is_float(from) && prim_is_float(to)) return prim_bits(from) < prim_bits(to);
  if (!prim_is_int(from) || !prim_is_int(to) || prim_bits(to) <= prim_bits(from))
    return false;
  return prim_is_signed(to) || !prim_is_signed(from);
}

// May t2 (t1 x) be computed as t2 x?  Yes if t1 loses nothing, or nothing that t2 keeps; but what
// follows the bits of a signed x must be the same, zeros or copies of its sign.
static bool skips(PrimType from, PrimType middle, PrimType to) {
  if (prim_extends_by_zeros(to, from) != prim_extends_by_zeros(middle, from) &&
      prim_is_int(to) && prim_bits(to) > prim_bits(from))
    return false;
  if (preserves(from, middle)) return true;
  return prim_is_int(from) && prim_is_int(middle) && prim_is_int(to) &&
         prim_bits(middle) >= prim_bits(to);
}

static const Exp *convert(const Simplify *s, const Exp *e) {
  Atom a = e->u.convert.atom;
  PrimType to = e->u.convert.to;
  PrimType middle = atom_type(a).elem;
  if (middle == to) return exp_atom(a);
  if (a.kind == ATOM_CONST) return exp_atom(atom_const(prim_convert(to, a.u.constant)));
  const Exp *inner = simplify_def(s, a);
  if (!inner || inner->kind != EXP_CONVERT) return NULL;
  Atom source = inner->u.convert.atom;
  if (to == atom_type(source).elem && prim_is_signed(to) &&
      simplify_keeps_value(s, inner))
    return exp_atom(source);  // the number of a round, there and back
  return skips(atom_type(source).elem, middle, to) ? exp_convert(to, source) : NULL;
}

static const Exp *bits(const Simplify *s, const Exp *e) {
  Atom a = e->u.convert.atom;
  PrimType to = e->u.convert.to;
  if (atom_type(a).elem == to) return exp_atom(a);
  if (a.kind == ATOM_CONST)
    return exp_atom(atom_const(prim_of_bits(to, prim_bits_of(a.u.constant))));
  const Exp *inner = simplify_def(s, a);
  return inner && inner->kind == EXP_BITS ? exp_bits(to, inner->u.convert.atom) : NULL;
}

// Is it a constant, made from what may fail?
static bool loses_failure(const Simplify *s, const Exp *e, const Exp *better) {
  bool constant =
      better && better->kind == EXP_ATOM && better->u.atom.atom.kind == ATOM_CONST;
  return constant && (failing_has(s->failing, e->u.op.args[0]) ||
                      failing_has(s->failing, e->u.op.args[1]));
}

// x op y, known without the values of x and y
static const Exp *value_anyway(const Simplify *s, const Exp *e) {
  const Exp *better = with_unit(e);
  if (!better) better = with_itself(e);
  if (!better) better = with_extreme(e);
  if (!better) better = with_own_sum(s, e);
  if (!better) better = simplify_comparison(s, e);
  return loses_failure(s, e, better) ? NULL : better;
}

static const Exp *op(Simplify *s, const Exp *e) {
  const Exp *better = fold(e);
  if (better || op_arity(e->u.op.op) > 2) return better;
  if (op_arity(e->u.op.op) == 1) return unary_rules(s, e);
  better = constant_to_the_right(e);
  if (!better) better = value_anyway(s, e);
  if (!better) better = integer_rules(s, e);
  if (!better) better = power_rules(s, e);
  if (!better) better = short_slice_inside(s, e);
  return better;
}

const Exp *simplify_scalar(Simplify *s, const Exp *e) {
  if (e->kind == EXP_OP) return op(s, e);
  if (e->kind == EXP_CONVERT) return convert(s, e);
  if (e->kind == EXP_BITS) return bits(s, e);
  return NULL;
}
