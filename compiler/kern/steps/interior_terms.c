// Terms where what is assumed of the block holds (steps/interior.c).
#include "kern/steps/interior.h"

static const Term *known_comparison(Interior *x, const Term *t) {
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  PrimOp op = t->u.op.op;
  if (op == OP_LT || op == OP_LE) {
    if (interior_order(x, a, b, op)) return term_bool(true);
    bool fails = !x->checking && interior_order(x, b, a, op == OP_LT ? OP_LE : OP_LT);
    return fails ? term_bool(false) : t;
  }
  if (x->checking && op == OP_EQ) return t;
  bool differ = interior_order(x, a, b, OP_LT) || interior_order(x, b, a, OP_LT) ||
                (!x->may_move && interior_apart(x, a, b));
  return differ ? term_bool(op == OP_NE) : t;
}

// Blocks that cannot be moved are many on either side of a border that goes through the middle.
static const Term *inner_comparison(Interior *x, const Term *t) {
  const Term *together = x->checking ? NULL : interior_together(x, t);
  if (together) return together;
  const Term *known = known_comparison(x, t);
  if (known != t || x->may_move) return known;
  x->mostly = true;
  known = known_comparison(x, t);
  x->mostly = false;
  return known;
}

// Those that are the same in all lanes cost too little for another condition.
static const Term *inner_choice(Interior *x, const Term *t) {
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  bool least = t->u.op.op == OP_MIN;
  Sides s;
  if (!interior_sides(x, a, b, &s) || !interior_sides_differ(x, &s)) return t;
  if (interior_order(x, a, b, OP_LE)) return least ? a : b;
  return interior_order(x, b, a, OP_LE) ? (least ? b : a) : t;
}

// Of an index that is the same for all of the block: additions instead of a division, if a is
// near n.
static const Term *closed_remainder(Interior *x, const Term *t) {
  const Term *a = t->u.op.args[0], *n = t->u.op.args[1], *twice = term_add(n, n);
  Linear form;
  Assumption w = { .count = 0 };
  if (t->u.op.op != OP_MOD || !interior_seems_size(x, n) || !interior_form(x, a, &form))
    return t;
  interior_want(&w, term_less(term_i64(0), n));
  interior_want(&w, term_at_most(term_sub(term_i64(0), n), form.base));
  interior_want(&w, term_less(form.base, term_add(twice, n)));
  if (!interior_assume(x, &w)) return t;
  const Term *above = term_select(term_less(a, n), a, term_sub(a, n));
  const Term *far = term_select(term_less(a, twice), above, term_sub(a, twice));
  return term_select(term_less(a, term_i64(0)), term_add(a, n), far);
}

const Term *interior_first(Interior *x, const Term *value, bool bits) {
  for (int i = 0; i < x->first_count; i++)
    if (term_same(x->firsts[i].value, value)) return term_var(x->firsts[i].var);
  if (x->first_count == MOST_FIRSTS) return NULL;
  const Var *var = kern_index(x->c, "first", (Loc){ 0 });
  guess_let(&x->guess, var, value);
  x->firsts[x->first_count++] = (FirstPlace){ var, value, bits };
  return term_var(var);
}

// By a division for each block, if it has no turn inside: it begins at its least index.
static const Term *turned_remainder(Interior *x, const Term *t, const Linear *form) {
  const Term *a = t->u.op.args[0], *n = t->u.op.args[1];
  Assumption w = { .count = 0 };
  if (t->u.op.op != OP_MOD || !interior_seems_size(x, n)) return t;
  const Term *low = interior_extreme(x, form, -1),
             *span = term_sub(interior_extreme(x, form, 1), low);
  const Term *first =
      interior_first(x, term_op2(OP_MOD, low, term_max(n, term_i64(1))), false);
  if (!first) return t;
  interior_want(&w, term_less(term_i64(0), n));
  interior_want_range(x, &w, form);
  interior_want(&w, term_less(term_add(first, span), n));
  if (!interior_assume(x, &w)) return t;
  if (interior_form_differs(x, form)) x->over_lanes = true;
  return term_add(term_sub(a, low), first);
}

// Is there a guess for all that the form begins with?
static bool is_guessed(const Interior *x, const Linear *form) {
  return guess_is_known(&x->guess, form->base);
}

static const Term *inner_remainder(Interior *x, const Term *t) {
  const Term *a = t->u.op.args[0], *n = t->u.op.args[1];
  Linear form;
  bool linear = interior_form(x, a, &form);
  if (linear && interior_is_closed(x, &form)) return closed_remainder(x, t);
  if (linear && !is_guessed(x, &form)) return turned_remainder(x, t, &form);
  int64_t least = t->u.op.op == OP_MOD ? -2 : 0;
  for (int64_t q = 2; q >= least; q--)
    if (interior_quotient(x, a, n, q)) return term_sub(a, term_mul(n, term_i64(q)));
  return linear ? turned_remainder(x, t, &form) : t;
}

static bool is_any_of(PrimOp op, const PrimOp *ops) {
  for (; *ops != OP_COUNT; ops++)
    if (op == *ops) return true;
  return false;
}

static const PrimOp comparisons[] = { OP_LT, OP_LE, OP_EQ, OP_NE, OP_COUNT },
                    choices[] = { OP_MIN, OP_MAX, OP_COUNT },
                    bitwise[] = { OP_XOR, OP_OR, OP_AND, OP_SHR, OP_COUNT },
                    remainders[] = { OP_REM, OP_MOD, OP_COUNT };

// With operands that are those of the interior.
static const Term *inner_op(Interior *x, const Term *t) {
  if (!interior_may_know(t) || (x->checks_only && !x->checking)) return t;
  PrimOp op = t->u.op.op;
  if (is_any_of(op, comparisons)) return inner_comparison(x, t);
  if (is_any_of(op, choices)) return inner_choice(x, t);
  if (is_any_of(op, bitwise)) return interior_bits(x, t);
  return inner_remainder(x, t);
}

bool interior_may_know(const Term *t) {
  if (t->kind != TERM_OP || op_arity(t->u.op.op) != 2 || t->u.op.operands != PRIM_I64)
    return false;
  PrimOp op = t->u.op.op;
  return is_any_of(op, comparisons) || is_any_of(op, choices) || is_any_of(op, bitwise) ||
         is_any_of(op, remainders);
}

const Term *interior_term(Interior *x, const Term *t) {
  if (t->kind == TERM_VAR) {
    const Term *known = map_get(x->values, t->u.var);
    return known ? known : t;
  }
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = interior_term(x, operands[i]);
  return count ? inner_op(x, term_with(t, operands, count)) : t;
}

// Of two conditions the second is taken to hold: a slice is no empty one, but inside.
static const Term *checked_or(Interior *x, const Term *t) {
  const Interior before = *x;
  if (term_is_bool(interior_checked(x, t->u.op.args[1]), true)) return term_bool(true);
  *x = before;
  return interior_term(x, t);
}

const Term *interior_checked(Interior *x, const Term *t) {
  const Term *args[3];
  int count = t->kind == TERM_OP ? term_operands(t, args) : 0;
  bool joins = count && t->u.op.op == OP_LAND;
  if (!count) return interior_term(x, t);
  if (t->u.op.op == OP_LOR) return checked_or(x, t);
  for (int i = 0; i < count; i++)
    args[i] = joins ? interior_checked(x, args[i]) : interior_term(x, args[i]);
  if (joins) return term_with(t, args, count);
  x->checking = true;
  const Term *inner = inner_op(x, term_with(t, args, count));
  x->checking = false;
  return inner;
}
