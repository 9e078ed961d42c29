// What whole numbers may be, by what they are made of: bytes, constants, truth values.
#include "kern/ranges.h"

static const int64_t FAR = (int64_t)1 << 40;

static Bounds range_of_type(PrimType type) {
  int bits = prim_bits(type);
  if (type == PRIM_BOOL) return (Bounds){ 0, 1 };
  if (type == PRIM_U64) return (Bounds){ 0, FAR };
  if (!prim_is_int(type) || bits == 64) return (Bounds){ -FAR, FAR };
  if (!prim_is_signed(type)) return (Bounds){ 0, ((int64_t)1 << bits) - 1 };
  return (Bounds){ -((int64_t)1 << (bits - 1)), ((int64_t)1 << (bits - 1)) - 1 };
}

bool bounds_fit(Bounds r, PrimType type) {
  Bounds all = range_of_type(type);
  return prim_is_int(type) && all.low <= r.low && r.high <= all.high && -FAR < r.low &&
         r.high < FAR;
}

Bounds bounds_hull(Bounds a, Bounds b) {
  return (Bounds){ a.low < b.low ? a.low : b.low, a.high > b.high ? a.high : b.high };
}

static Bounds range_of_product(Bounds a, Bounds b) {
  static const int64_t most = (int64_t)1 << 31;
  if (a.low < -most || a.high > most || b.low < -most || b.high > most)
    return (Bounds){ -FAR, FAR };
  Bounds low = { a.low * b.low, a.low * b.high },
         high = { a.high * b.low, a.high * b.high };
  if (low.low > low.high) low = (Bounds){ low.high, low.low };
  if (high.low > high.high) high = (Bounds){ high.high, high.low };
  return bounds_hull(low, high);
}

// Of numbers that are not negative: as many ones as the greater has bits.
static Bounds range_of_bits(Bounds a, Bounds b) {
  int64_t most = a.high | b.high, ones = 1;
  if (a.low < 0 || b.low < 0) return (Bounds){ -FAR, FAR };
  while (ones <= most)
    ones *= 2;
  return (Bounds){ 0, ones - 1 };
}

static Bounds range_of_and(Bounds a, Bounds b) {
  if (a.low < 0 && b.low < 0) return (Bounds){ -FAR, FAR };
  if (a.low < 0) return (Bounds){ 0, b.high };
  if (b.low < 0) return (Bounds){ 0, a.high };
  return (Bounds){ 0, a.high < b.high ? a.high : b.high };
}

static bool is_constant(Bounds r) { return r.low == r.high; }

static bool is_unbounded(Bounds r) { return r.low <= -FAR || r.high >= FAR; }

static Bounds range_of_shift(PrimOp op, Bounds a, Bounds by) {
  if (!is_constant(by) || by.low < 0 || by.low > 15 || is_unbounded(a))
    return (Bounds){ -FAR, FAR };
  if (op == OP_SHL) return range_of_product(a, (Bounds){ 1 << by.low, 1 << by.low });
  return (Bounds){ a.low >> by.low, a.high >> by.low };
}

static int64_t rounded_down(int64_t a, int64_t by) {
  return a / by - (a < 0 && a % by != 0);
}

// By a positive constant; remainders of what is not negative.
static Bounds range_of_division(PrimOp op, Bounds a, Bounds by) {
  if (!is_constant(by) || by.low <= 0 || is_unbounded(a)) return (Bounds){ -FAR, FAR };
  if (op == OP_DIV)
    return (Bounds){ rounded_down(a.low, by.low), rounded_down(a.high, by.low) };
  if (op == OP_QUOT) return (Bounds){ a.low / by.low, a.high / by.low };
  if (a.low < 0) return (Bounds){ -FAR, FAR };
  return (Bounds){ 0, a.high < by.low ? a.high : by.low - 1 };
}

static Bounds range_of_abs(Bounds a) {
  if (a.low >= 0) return a;
  return (Bounds){ a.high > 0 ? 0 : -a.high, a.high > -a.low ? a.high : -a.low };
}

static Bounds range_of_pair(PrimOp op, Bounds a, Bounds b) {
  if (op == OP_ADD) return (Bounds){ a.low + b.low, a.high + b.high };
  if (op == OP_SUB) return (Bounds){ a.low - b.high, a.high - b.low };
  if (op == OP_MUL) return range_of_product(a, b);
  if (op == OP_MIN)
    return (Bounds){ a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high };
  if (op == OP_MAX)
    return (Bounds){ a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high };
  if (op == OP_AND) return range_of_and(a, b);
  if (op == OP_OR || op == OP_XOR) return range_of_bits(a, b);
  if (op == OP_SHL || op == OP_SHR) return range_of_shift(op, a, b);
  if (op == OP_DIV || op == OP_QUOT || op == OP_MOD || op == OP_REM)
    return range_of_division(op, a, b);
  return (Bounds){ -FAR, FAR };
}

static Bounds range_of_op(const Map *ranges, const Term *t) {
  Bounds a = kern_range(ranges, t->u.op.args[0]);
  if (op_arity(t->u.op.op) == 2)
    return range_of_pair(t->u.op.op, a, kern_range(ranges, t->u.op.args[1]));
  if (t->u.op.op == OP_ABS) return range_of_abs(a);
  if (t->u.op.op == OP_POPC || t->u.op.op == OP_CLZ || t->u.op.op == OP_CTZ)
    return (Bounds){ 0, prim_bits(t->u.op.operands) };
  if (t->u.op.op == OP_NEG) return (Bounds){ -a.high, -a.low };
  return (Bounds){ -FAR, FAR };
}

static Bounds range_before_wrapping(const Map *ranges, const Term *t) {
  const Bounds *known = t->kind == TERM_VAR ? map_get(ranges, t->u.var) : NULL;
  if (known) return *known;
  if (t->kind == TERM_CONST && prim_is_int(t->type) && t->u.constant.u.i < FAR &&
      t->u.constant.u.i > -FAR)
    return (Bounds){ t->u.constant.u.i, t->u.constant.u.i };
  if (t->kind == TERM_OP && prim_is_int(t->type)) return range_of_op(ranges, t);
  if (t->kind == TERM_CONVERT &&
      (prim_is_int(t->u.arg->type) || t->u.arg->type == PRIM_BOOL))
    return kern_range(ranges, t->u.arg);
  if (t->kind == TERM_SELECT)
    return bounds_hull(kern_range(ranges, t->u.select.a),
                       kern_range(ranges, t->u.select.b));
  return range_of_type(t->type);
}

Bounds kern_range(const Map *ranges, const Term *t) {
  Bounds r = range_before_wrapping(ranges, t);
  return bounds_fit(r, t->type) ? r : range_of_type(t->type);
}

static void note_range(KernVisitor *v, const KernStm *stm) {
  if (stm->kind != KERN_LET || !prim_is_int(stm->u.term->type)) return;
  Bounds r = kern_range(v->state, stm->u.term);
  map_put(v->state, stm->binders[0], mem_copy(&r, sizeof r));
}

const Map *kern_ranges(const KernBlock *block) {
  Map *ranges = map_new(NULL);
  KernVisitor lets = { .stm = note_range, .state = ranges };
  kern_visit_block(&lets, block);
  return ranges;
}
