// check 0 <= x && x < n, in lanes
//   =>  if !(0 <= first && last < n) { check 0 <= x && x < n, in lanes }
// for x = base + lane * step, in lanes or not: what lies between two places inside is inside.
//
// Why: indices and comparisons in 64 bits take several vectors for each of bytes.  A single
// comparison stays: between x < n at both ends x might go from the greatest number to the least.
#include "imp/lower/kern.h"

typedef Vec(const Term *) Terms;

static bool is_op(const Term *t, PrimOp op) {
  return t->kind == TERM_OP && t->u.op.op == op;
}

static void add_parts(Terms *parts, const Term *t) {
  if (is_op(t, OP_LAND)) {
    add_parts(parts, t->u.op.args[0]);
    add_parts(parts, t->u.op.args[1]);
  } else {
    vec_push(parts, t);
  }
}

// Is `x` not negative, or below something, by one of the parts?
static bool is_asked(const Terms *parts, const Term *x, bool below) {
  vec_each (const Term **, part, parts) {
    if (!is_op(*part, below ? OP_LT : OP_LE)) continue;
    const Term *const *args = (*part)->u.op.args;
    if (below ? term_same(args[0], x) : term_is_i64(args[0], 0) && term_same(args[1], x))
      return true;
  }
  return false;
}

// Steps so short that lanes cannot go all the way round from inside to inside.
static bool is_short_step(const Term *step) {
  enum { MOST = 1 << 30 };
  return step->kind == TERM_CONST && step->u.constant.u.i > -MOST &&
         step->u.constant.u.i < MOST;
}

// Are x of all lanes from 0 to n - 1?  That is, u64(least) < n - length, where `least` is that of
// the first or the last lane.  Or NULL.
static const ImpExp *inside_at_ends(KernCode *kc, const Term *x, const Term *n) {
  Affine a;
  if (in_lanes(kc, set_of_term(kc, n)) || !vary_affine(kc->vary, x, &a) ||
      !is_short_step(a.step))
    return NULL;
  int64_t length = (kc->lanes - 1) * a.step->u.constant.u.i;
  const ImpExp *first = lower_scalar(kc, a.base), *none = imp_i64(0);
  const ImpExp *least = length < 0 ? imp_add(first, imp_i64(length)) : first;
  const ImpExp *size = imp_op2(OP_MAX, lower_scalar(kc, n), none);
  const ImpExp *places = imp_add(size, imp_i64(length < 0 ? length : -length));
  return imp_less(imp_convert(PRIM_U64, least),
                  imp_convert(PRIM_U64, imp_op2(OP_MAX, places, none)));
}

static bool is_unsigned(const Term *t) {
  return t->kind == TERM_CONVERT && t->type == PRIM_U64 && t->u.arg->type == PRIM_I64;
}

static const ImpExp *part_at_ends(KernCode *kc, const Terms *parts, const Term *part) {
  if (!in_lanes(kc, set_of_term(kc, part))) return lower_scalar(kc, part);
  const Term *const *args = part->u.op.args;
  if (is_op(part, OP_LE) && term_is_i64(args[0], 0))
    return is_asked(parts, args[1], true) ? imp_const(prim_bool(true)) : NULL;
  if (!is_op(part, OP_LT)) return NULL;
  if (is_unsigned(args[0]) && is_unsigned(args[1]))
    return inside_at_ends(kc, args[0]->u.arg, args[1]->u.arg);
  return is_asked(parts, args[0], false) ? inside_at_ends(kc, args[0], args[1]) : NULL;
}

const ImpExp *holds_at_ends(KernCode *kc, const Term *condition) {
  Terms parts = { 0 };
  const ImpExp *all = imp_const(prim_bool(true));
  add_parts(&parts, condition);
  vec_each (const Term **, part, &parts) {
    const ImpExp *holds = part_at_ends(kc, &parts, *part);
    if (!holds) return NULL;
    all = imp_and(all, holds);
  }
  return all;
}
