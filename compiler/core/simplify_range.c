// Ranges of integers: which comparisons hold, and so which bounds checks cannot fail.
//
//   map n (\i -> xs[i], xs[max (i-1) 0], if i < n-1 then xs[i+1] else ...)    none needs a check
//
// Known of a variable are a constant that it is not less than, and atoms that it is less than.
// Facts come from sizes, counters and the conditions of enclosing branches.  Only arithmetic that
// does not overflow is looked through, so that a fact about i + 1 is one about the sum itself.
#include "core/simplify.h"

enum {
  FUEL = 6,  // how many definitions are looked through
  SMALL_OFFSET = 1 << 20,
  SMALL_FACTOR = 1 << 15,
};

static const Known *known_of_atom(const Simplify *s, Atom a) {
  return a.kind == ATOM_VAR ? map_get(s->known, a.u.var) : NULL;
}

static int64_t min_of(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max_of(int64_t a, int64_t b) { return a > b ? a : b; }

// The value of a constant that an int64_t can hold.
static bool constant(Atom a, int64_t *out) {
  if (a.kind == ATOM_VAR || !prim_is_int(a.u.constant.type)) return false;
  *out = a.u.constant.u.i;
  return a.u.constant.type != PRIM_U64;
}

// The defining expression if it is an operation on signed integers.
static const Exp *signed_op(const Simplify *s, Atom a) {
  const Known *k = known_of_atom(s, a);
  const Exp *e = k ? k->exp : NULL;
  return e && e->kind == EXP_OP && prim_is_signed(e->u.op.type) ? e : NULL;
}

static int64_t upper_by_bound(const Simplify *s, Atom a);

// The only value that the atom can have: of a constant, or of one that has passed an assertion.
static bool only_value(const Simplify *s, Atom a, int64_t *out) {
  if (constant(a, out)) return true;
  const Known *k = known_of_atom(s, a);
  if (!k || k->at_least == INT64_MIN || upper_by_bound(s, a) != k->at_least) return false;
  *out = k->at_least;
  return true;
}

static bool small_offset(const Simplify *s, Atom a, int64_t *out) {
  return only_value(s, a, out) && *out >= -SMALL_OFFSET && *out <= SMALL_OFFSET;
}

// Is a = base + offset, as computed by one operation?
static bool is_offset(const Simplify *s, Atom a, Atom *base, int64_t *offset) {
  const Exp *e = signed_op(s, a);
  if (!e || (e->u.op.op != OP_ADD && e->u.op.op != OP_SUB)) return false;
  Atom x = e->u.op.args[0], y = e->u.op.args[1];
  int64_t c;
  if (small_offset(s, y, &c)) {
    *base = x;
    *offset = e->u.op.op == OP_ADD ? c : -c;
    return true;
  }
  *base = y;
  return e->u.op.op == OP_ADD && small_offset(s, x, offset);
}

// ---- lower bounds

static int64_t lower(const Simplify *s, Atom a, int fuel);
static int64_t upper(const Simplify *s, Atom a, int fuel);
static bool below(const Simplify *s, Atom a, Atom limit, int fuel);

// Can a + offset be computed without overflow, for a that is not negative?
static bool has_room(const Simplify *s, Atom a, int64_t offset) {
  const Known *k = known_of_atom(s, a);
  Atom base;
  int64_t more;
  if (offset <= 0) return true;
  if (is_offset(s, a, &base, &more) && more >= 0 && lower(s, base, 1) >= 0 &&
      has_room(s, base, offset + more))
    return true;
  if (!k || !k->below) return false;
  return offset == 1 || (k->counts && atom_type(a).elem == PRIM_I64);
}

static int64_t lower_offset(const Simplify *s, Atom base, int64_t offset, int fuel) {
  int64_t least = lower(s, base, fuel);
  if (least < 0 || least > INT64_MAX - SMALL_OFFSET || !has_room(s, base, offset)) {
    return INT64_MIN;
  }
  return least + offset;
}

// a <= b, from a < n and b = n - 1
static bool at_most_predecessor(const Simplify *s, Atom a, Atom b, int fuel) {
  Atom base;
  int64_t offset;
  return is_offset(s, b, &base, &offset) && offset == -1 && lower(s, base, fuel) >= 0 &&
         below(s, a, base, fuel);
}

static int64_t lower_difference(const Simplify *s, Atom a, Atom b, int fuel) {
  if (lower(s, b, fuel) < 0) return INT64_MIN;
  if (below(s, b, a, fuel)) return 1;
  return at_most_predecessor(s, b, a, fuel) ? 0 : INT64_MIN;
}

// a op b for an addition or multiplication of small numbers, so that it does not overflow.
static bool small_operands(const Simplify *s, Atom a, Atom b, int fuel) {
  if (atom_type(a).elem != PRIM_I64 && atom_type(a).elem != PRIM_I32) return false;
  return lower(s, a, fuel) >= 0 && lower(s, b, fuel) >= 0 &&
         upper(s, a, fuel) <= SMALL_FACTOR && upper(s, b, fuel) <= SMALL_FACTOR;
}

static int64_t lower_growing(const Simplify *s, const Exp *e, int fuel) {
  Atom a = e->u.op.args[0], b = e->u.op.args[1];
  if (!small_operands(s, a, b, fuel)) return INT64_MIN;
  int64_t x = lower(s, a, fuel), y = lower(s, b, fuel);
  return e->u.op.op == OP_ADD ? x + y : x * y;
}

static int64_t nonneg_if(bool condition) { return condition ? 0 : INT64_MIN; }

static int64_t lower_op(const Simplify *s, const Exp *e, int fuel) {
  PrimOp op = e->u.op.op;
  Atom a = e->u.op.args[0], b = e->u.op.args[1];
  if (op_arity(op) != 2) return INT64_MIN;
  if (op == OP_MAX) return max_of(lower(s, a, fuel), lower(s, b, fuel));
  if (op == OP_MIN) return min_of(lower(s, a, fuel), lower(s, b, fuel));
  if (op == OP_ADD || op == OP_MUL) return lower_growing(s, e, fuel);
  if (op == OP_SUB) return lower_difference(s, a, b, fuel);
  if (op == OP_MOD) return nonneg_if(lower(s, b, fuel) >= 0);  // the sign of the divisor
  if (op == OP_REM || op == OP_SHR) return nonneg_if(lower(s, a, fuel) >= 0);
  if (op == OP_AND) return nonneg_if(lower(s, a, fuel) >= 0 || lower(s, b, fuel) >= 0);
  if (op != OP_DIV && op != OP_QUOT) return INT64_MIN;
  return nonneg_if(lower(s, a, fuel) >= 0 && lower(s, b, fuel) >= 0);
}

// The operand of a conversion between integers that keeps every value, as a signed one.
static bool is_widened(const Exp *e, Atom *from) {
  if (!e || e->kind != EXP_CONVERT) return false;
  *from = e->u.convert.atom;
  PrimType type = atom_type(*from).elem;
  return prim_is_signed(type) && prim_is_signed(e->u.convert.to) &&
         prim_bits(e->u.convert.to) >= prim_bits(type);
}

// The greatest value of an unsigned type of at most 32 bits that a wider signed one is made of.
static int64_t greatest_unsigned(const Exp *e) {
  if (!e || e->kind != EXP_CONVERT || !prim_is_signed(e->u.convert.to)) return -1;
  PrimType type = atom_type(e->u.convert.atom).elem;
  if (!prim_is_int(type) || prim_is_signed(type)) return -1;
  if (prim_bits(type) >= prim_bits(e->u.convert.to)) return -1;
  return (INT64_C(1) << prim_bits(type)) - 1;
}

// Is it below what is made of a number of that many bits?
static bool below_widened_limit(const Simplify *s, Atom a, int bits) {
  const Known *k = known_of_atom(s, a);
  for (const Bound *b = k ? k->below : NULL; b; b = b->next) {
    const Known *limit = known_of_atom(s, b->limit);
    Atom from;
    if (b->offset >= 0 && limit && is_widened(limit->exp, &from) &&
        prim_bits(atom_type(from).elem) <= bits)
      return true;
  }
  return false;
}

// Likewise one that may lose bits, of a number that has none to lose.
static bool keeps_value(const Simplify *s, const Exp *e, Atom *from, int fuel) {
  if (is_widened(e, from)) return true;
  if (e->kind != EXP_CONVERT || !prim_is_signed(e->u.convert.to)) return false;
  *from = e->u.convert.atom;
  int bits = prim_bits(e->u.convert.to);
  return prim_is_signed(atom_type(*from).elem) && lower(s, *from, fuel) >= 0 &&
         (upper(s, *from, fuel) < INT64_C(1) << (bits - 1) ||
          below_widened_limit(s, *from, bits));
}

bool simplify_keeps_value(const Simplify *s, const Exp *e) {
  Atom from;
  return keeps_value(s, e, &from, FUEL);
}

static int64_t lower_defined(const Simplify *s, Atom a, const Exp *def, int fuel) {
  Atom base;
  int64_t offset;
  if (greatest_unsigned(def) >= 0) return 0;
  if (is_offset(s, a, &base, &offset)) {
    int64_t least = lower_offset(s, base, offset, fuel);
    return least != INT64_MIN ? least : lower_op(s, def, fuel);
  }
  if (keeps_value(s, def, &base, fuel)) return lower(s, base, fuel);
  bool op = def->kind == EXP_OP && prim_is_signed(def->u.op.type);
  return op ? lower_op(s, def, fuel) : INT64_MIN;
}

static int64_t lower(const Simplify *s, Atom a, int fuel) {
  int64_t value;
  if (constant(a, &value)) return value;
  const Known *k = known_of_atom(s, a);
  if (!k || !fuel) return INT64_MIN;
  if (!k->exp) return k->at_least;
  return max_of(k->at_least, lower_defined(s, a, k->exp, fuel - 1));
}

int64_t simplify_lower(const Simplify *s, Atom a) { return lower(s, a, FUEL); }
bool simplify_is_nonneg(const Simplify *s, Atom a) { return simplify_lower(s, a) >= 0; }

// ---- upper bounds

// The smallest constant bound that was noted.
static int64_t upper_by_bound(const Simplify *s, Atom a) {
  const Known *k = known_of_atom(s, a);
  int64_t most = INT64_MAX, c;
  for (const Bound *b = k ? k->below : NULL; b; b = b->next) {
    if (constant(b->limit, &c)) most = min_of(most, c - 1 - b->offset);
  }
  return most;
}

// Of a quotient, a remainder, the common bits, the high bits; where the result cannot be negative
// or is not above what is said.
static int64_t upper_part(const Simplify *s, const Exp *e, int fuel) {
  PrimOp op = e->u.op.op;
  Atom a = e->u.op.args[0], b = e->u.op.args[1];
  int64_t x = upper(s, a, fuel), y = upper(s, b, fuel), least = lower(s, b, fuel), by;
  bool positive = lower(s, a, fuel) >= 0;
  if (op == OP_MOD || op == OP_REM) {
    int64_t most = least >= 0 && y < INT64_MAX ? max_of(y - 1, 0) : INT64_MAX;
    return positive && least >= 0 ? min_of(x, most) : most;
  }
  if (op == OP_AND) {
    int64_t most = positive ? x : INT64_MAX;
    return least >= 0 ? min_of(most, y) : most;
  }
  if (!positive || x == INT64_MAX) return INT64_MAX;
  if (op == OP_SHR) return constant(b, &by) && by >= 0 && by < 63 ? x >> by : INT64_MAX;
  return (op == OP_DIV || op == OP_QUOT) && least >= 1 ? x / least : INT64_MAX;
}

static int64_t upper_op(const Simplify *s, const Exp *e, int fuel) {
  PrimOp op = e->u.op.op;
  Atom a = e->u.op.args[0], b = e->u.op.args[1];
  if (op_arity(op) != 2) return INT64_MAX;
  if (op == OP_MIN) return min_of(upper(s, a, fuel), upper(s, b, fuel));
  if (op == OP_MAX) return max_of(upper(s, a, fuel), upper(s, b, fuel));
  if (op == OP_SUB && lower(s, a, fuel) >= 0 && lower(s, b, fuel) >= 0) {
    int64_t most = upper(s, a, fuel);
    return most == INT64_MAX ? most : most - lower(s, b, fuel);
  }
  if (op != OP_ADD && op != OP_MUL) return upper_part(s, e, fuel);
  if (!small_operands(s, a, b, fuel)) return INT64_MAX;
  int64_t x = upper(s, a, fuel), y = upper(s, b, fuel);
  return op == OP_ADD ? x + y : x * y;
}

// Of an unsigned number of at most 32 bits by its definition: its type, a mask, a remainder, a
// shift.
static int64_t upper_unsigned(const Simplify *s, Atom a) {
  int bits = prim_bits(atom_type(a).elem);
  int64_t most = (INT64_C(1) << bits) - 1, c;
  const Known *k = known_of_atom(s, a);
  if (constant(a, &c)) return c;
  if (!k || !k->exp || k->exp->kind != EXP_OP || op_arity(k->exp->u.op.op) != 2)
    return most;
  PrimOp op = k->exp->u.op.op;
  bool second = constant(k->exp->u.op.args[1], &c);
  if (op == OP_AND && (second || constant(k->exp->u.op.args[0], &c))) return c;
  if (!second) return most;
  if ((op == OP_MOD || op == OP_REM) && c > 0) return c - 1;
  return op == OP_SHR && c >= 0 && c < bits ? most >> c : most;
}

static int64_t upper_converted(const Simplify *s, const Exp *e, int fuel) {
  Atom from;
  if (greatest_unsigned(e) >= 0) return upper_unsigned(s, e->u.convert.atom);
  return keeps_value(s, e, &from, fuel) ? upper(s, from, fuel) : INT64_MAX;
}

// INT64_MAX if unknown.
static int64_t upper(const Simplify *s, Atom a, int fuel) {
  int64_t value;
  if (constant(a, &value)) return value;
  int64_t most = upper_by_bound(s, a);
  const Known *k = known_of_atom(s, a);
  if (!fuel || !k || !k->exp) return most;
  if (k->exp->kind == EXP_CONVERT)
    return min_of(most, upper_converted(s, k->exp, fuel - 1));
  const Exp *e = signed_op(s, a);
  return e ? min_of(most, upper_op(s, e, fuel - 1)) : most;
}

int64_t simplify_upper(const Simplify *s, Atom a) { return upper(s, a, FUEL); }

// limit = base + its offset, as numbers: neither is negative, so the sum has not overflowed.
static bool is_exact_sum(const Simplify *s, Atom limit, Atom *base, int64_t *offset,
                         int fuel) {
  return is_offset(s, limit, base, offset) && *offset >= 0 &&
         lower(s, limit, fuel) >= 0 && lower(s, *base, fuel) >= 0;
}

// m <= limit - offset
static bool at_most(const Simplify *s, Atom m, Atom limit, int64_t offset, int fuel) {
  int64_t c, more;
  Atom base;
  if (offset == 0 && atom_equal(m, limit)) return true;
  int64_t least = lower(s, limit, fuel);
  if (constant(m, &c)) return least >= 0 && c <= least - offset;
  if (least < 0) return false;
  if (is_offset(s, m, &base, &more) && atom_equal(base, limit) && more <= -offset)
    return true;
  return is_exact_sum(s, limit, &base, &more, fuel) && atom_equal(m, base) &&
         offset <= more;
}

// a + offset < limit by one of the bounds of a
static bool below_by_bound(const Simplify *s, Atom a, int64_t offset, Atom limit,
                           int fuel) {
  const Known *k = known_of_atom(s, a);
  for (const Bound *b = k ? k->below : NULL; b; b = b->next) {
    if (at_most(s, b->limit, limit, max_of(offset - b->offset, 0), fuel)) return true;
  }
  return false;
}

static bool below_offset(const Simplify *s, Atom base, int64_t offset, Atom limit,
                         int fuel) {
  Atom inner;
  int64_t more;
  if (lower(s, base, fuel) < 0) return false;
  if (offset > 0 && fuel && is_offset(s, base, &inner, &more) && more >= 0 &&
      below_offset(s, inner, offset + more, limit, fuel - 1))
    return true;
  if (offset > 0) return below_by_bound(s, base, offset, limit, fuel);
  return (offset < 0 && atom_equal(base, limit)) || below(s, base, limit, fuel);
}

static bool below_quotient(const Simplify *s, Atom a, Atom b, Atom limit, int fuel) {
  return lower(s, a, fuel) >= 0 && lower(s, b, fuel) >= 1 && below(s, a, limit, fuel);
}

static bool below_difference(const Simplify *s, Atom a, Atom b, Atom limit, int fuel) {
  return lower(s, a, fuel) >= -1 && lower(s, b, fuel) >= 0 && below(s, a, limit, fuel);
}

// The remainder of a non-negative divisor, which is not zero or traps.
static bool below_remainder(const Simplify *s, Atom divisor, Atom limit, int fuel) {
  return lower(s, divisor, fuel) >= 0 && at_most(s, divisor, limit, 0, fuel);
}

static bool below_op(const Simplify *s, const Exp *e, Atom limit, int fuel) {
  PrimOp op = e->u.op.op;
  Atom a = e->u.op.args[0], b = e->u.op.args[1];
  if (op_arity(op) != 2) return false;
  if (op == OP_MIN) return below(s, a, limit, fuel) || below(s, b, limit, fuel);
  if (op == OP_MAX) return below(s, a, limit, fuel) && below(s, b, limit, fuel);
  if (op == OP_SUB) return below_difference(s, a, b, limit, fuel);
  if (op == OP_DIV || op == OP_QUOT) return below_quotient(s, a, b, limit, fuel);
  if (op == OP_SHR) return lower(s, a, fuel) >= 0 && below(s, a, limit, fuel);
  return (op == OP_MOD || op == OP_REM) && below_remainder(s, b, limit, fuel);
}

// convert i < convert n, from i < n
static bool below_widened(const Simplify *s, const Exp *def, Atom limit, int fuel) {
  Atom from, limit_from;
  const Known *k = known_of_atom(s, limit);
  return is_widened(def, &from) && k && is_widened(k->exp, &limit_from) &&
         atom_type(from).elem == atom_type(limit_from).elem &&
         below(s, from, limit_from, fuel);
}

static bool below_defined(const Simplify *s, Atom a, const Exp *def, Atom limit,
                          int fuel) {
  Atom base;
  int64_t offset;
  if (is_offset(s, a, &base, &offset)) return below_offset(s, base, offset, limit, fuel);
  if (def->kind == EXP_CONVERT) return below_widened(s, def, limit, fuel);
  bool op = def->kind == EXP_OP && prim_is_signed(def->u.op.type);
  return op && below_op(s, def, limit, fuel);
}

// a < a + 5
static bool below_own_sum(const Simplify *s, Atom a, Atom limit, int fuel) {
  Atom base;
  int64_t offset;
  return is_exact_sum(s, limit, &base, &offset, fuel) && offset > 0 &&
         atom_equal(base, a);
}

static bool below(const Simplify *s, Atom a, Atom limit, int fuel) {
  int64_t c;
  if (constant(a, &c)) return lower(s, limit, fuel) > c;
  const Known *k = known_of_atom(s, a);
  if (below_own_sum(s, a, limit, fuel)) return true;
  if (!k || !fuel) return false;
  if (below_by_bound(s, a, 0, limit, fuel - 1)) return true;
  if (constant(limit, &c) && upper(s, a, fuel) < c) return true;
  return k->exp && below_defined(s, a, k->exp, limit, fuel - 1);
}

bool simplify_is_below(const Simplify *s, Atom a, Atom limit) {
  return below(s, a, limit, FUEL);
}

// ---- comparisons

static const Exp *truth(bool value) { return exp_atom(atom_bool(value)); }

// a <= b for a constant a
static bool constant_at_most(const Simplify *s, Atom a, Atom b) {
  int64_t c;
  return constant(a, &c) && c <= simplify_lower(s, b);
}

// i + 5 <= n for i < n - 4
static bool sum_at_most(const Simplify *s, Atom a, Atom b) {
  Atom base;
  int64_t offset;
  return is_exact_sum(s, a, &base, &offset, FUEL) && offset > 0 &&
         below_offset(s, base, offset - 1, b, FUEL);
}

// 0 <= i => true   i < n => true   i == n => false   and their opposites
const Exp *simplify_comparison(const Simplify *s, const Exp *e) {
  PrimOp op = e->u.op.op;
  Atom a = e->u.op.args[0], b = e->u.op.args[1];
  bool equality = op == OP_EQ || op == OP_NE;
  if (!prim_is_signed(e->u.op.type) || !(equality || op == OP_LT || op == OP_LE))
    return NULL;
  bool less = simplify_is_below(s, a, b), greater = simplify_is_below(s, b, a);
  if (equality) return less || greater ? truth(op == OP_NE) : NULL;
  if (less || greater) return truth(less);
  if (op == OP_LE && (constant_at_most(s, a, b) || sum_at_most(s, a, b)))
    return truth(true);
  return op == OP_LT && constant_at_most(s, b, a) ? truth(false) : NULL;
}

// ---- assumptions

int simplify_mark(const Simplify *s) { return s->undo.count; }

void simplify_forget(Simplify *s, int mark) {
  while (s->undo.count > mark) {
    Undo u = s->undo.at[--s->undo.count];
    u.known->at_least = u.at_least;
    u.known->below = u.below;
  }
}

static Known *learn_for_now(Simplify *s, const Var *var) {
  Known *k = simplify_learn(s, var);
  vec_push(&s->undo, (Undo){ k, k->at_least, k->below });
  return k;
}

void simplify_assume_at_least(Simplify *s, Atom a, int64_t least) {
  if (a.kind == ATOM_CONST || least == INT64_MIN) return;
  Known *k = learn_for_now(s, a.u.var);
  k->at_least = max_of(k->at_least, least);
}

static void assume_bound(Simplify *s, Atom a, int64_t offset, Atom limit) {
  if (a.kind == ATOM_CONST) return;
  Known *k = learn_for_now(s, a.u.var);
  k->below = new_node(Bound, .limit = limit, .offset = offset, .next = k->below);
}

// Of i + 2 < n follows i < n and i + 1 < n.
void simplify_assume_below(Simplify *s, Atom a, Atom limit) {
  Atom base;
  int64_t offset;
  assume_bound(s, a, 0, limit);
  if (is_exact_sum(s, a, &base, &offset, FUEL)) assume_bound(s, base, offset, limit);
}

void simplify_learn_range(Simplify *s, const Var *var, int64_t low, int64_t high) {
  if (low == INT64_MIN && high == INT64_MAX) return;
  Known *k = simplify_learn(s, var);
  k->at_least = max_of(k->at_least, low);
  if (high < upper_by_bound(s, atom_var(var)))
    k->below = new_node(Bound, .limit = atom_i64(high + 1), .next = k->below);
}

void simplify_learn_below(Simplify *s, const Var *var, Atom limit) {
  Known *k = simplify_learn(s, var);
  for (const Bound *b = k->below; b; b = b->next)
    if (atom_equal(b->limit, limit)) return;
  k->below = new_node(Bound, .limit = limit, .next = k->below);
}

static void assume_less(Simplify *s, Atom a, Atom b) {
  int64_t least = simplify_lower(s, a);
  simplify_assume_below(s, a, b);
  if (least != INT64_MIN && least < INT64_MAX) simplify_assume_at_least(s, b, least + 1);
}

static void assume_at_most(Simplify *s, Atom a, Atom b) {
  int64_t c;
  if (constant(b, &c) && c < INT64_MAX && b.u.constant.type == PRIM_I64) {
    simplify_assume_below(s, a, atom_i64(c + 1));
  }
  simplify_assume_at_least(s, b, simplify_lower(s, a));
}

// a /= b moves a bound of a that b lies on.
static void assume_different(Simplify *s, Atom a, Atom b) {
  int64_t c;
  if (constant(b, &c) && simplify_lower(s, a) == c && c < INT64_MAX) {
    simplify_assume_at_least(s, a, c + 1);
  }
  Atom limit;
  int64_t offset;
  bool last =
      is_offset(s, b, &limit, &offset) && offset == -1 && simplify_is_nonneg(s, limit);
  if (last && simplify_is_below(s, a, limit)) simplify_assume_below(s, a, b);
}

static void assume_comparison(Simplify *s, const Exp *e, bool holds) {
  Atom a = e->u.op.args[0], b = e->u.op.args[1];
  PrimOp op = e->u.op.op;
  if (op == OP_LT && holds) assume_less(s, a, b);
  if (op == OP_LT && !holds) assume_at_most(s, b, a);
  if (op == OP_LE && holds) assume_at_most(s, a, b);
  if (op == OP_LE && !holds) assume_less(s, b, a);
  if (op == (holds ? OP_NE : OP_EQ)) assume_different(s, a, b);
}

static void assume(Simplify *s, Atom condition, bool holds, int fuel);

// if c then b else false, which holds: so do c and b.  if c then true else b, which does not.
static void assume_both(Simplify *s, const Exp *e, bool holds, int fuel) {
  const Body *both = holds ? e->u.cond.then_body : e->u.cond.else_body,
             *other = holds ? e->u.cond.else_body : e->u.cond.then_body;
  if (both->result_count != 1 || !atom_equal(other->results[0], atom_bool(!holds)))
    return;
  assume(s, e->u.cond.condition, holds, fuel);
  assume(s, both->results[0], holds, fuel);
}

static void assume(Simplify *s, Atom condition, bool holds, int fuel) {
  const Exp *e = simplify_def(s, condition);
  if (e && e->kind == EXP_IF && fuel) assume_both(s, e, holds, fuel - 1);
  if (!e || e->kind != EXP_OP || !fuel) return;
  if (e->u.op.op == OP_NOT) {
    assume(s, e->u.op.args[0], !holds, fuel - 1);
  } else if (e->u.op.op == (holds ? OP_LAND : OP_LOR)) {
    assume(s, e->u.op.args[0], holds, fuel - 1);
    assume(s, e->u.op.args[1], holds, fuel - 1);
  } else if (prim_is_signed(e->u.op.type)) {
    assume_comparison(s, e, holds);
  }
}

void simplify_assume(Simplify *s, Atom condition, bool holds) {
  assume(s, condition, holds, FUEL);
}
