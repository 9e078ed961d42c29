#include "kern/facts.h"

const Facts *facts_with(const Facts *outer, const Term *holds) {
  return new_node(Facts, .outer = outer, .holds = holds);
}

static bool has_op(const Term *t, PrimOp op) {
  return t->kind == TERM_OP && t->u.op.op == op;
}

// !(a < b)  =>  b <= a
static const Term *opposite(const Term *t) {
  bool orders = has_op(t, OP_LT) || has_op(t, OP_LE);
  if (!orders && !has_op(t, OP_EQ)) return NULL;
  if (!prim_is_int(t->u.op.operands)) return NULL;  // NaN is neither
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (!orders) return term_op2(OP_NE, a, b);
  return term_op2(has_op(t, OP_LT) ? OP_LE : OP_LT, b, a);
}

const Facts *facts_of_outcome(const Facts *facts, const Map *lets, const Term *condition,
                              bool holds) {
  const Term *t = condition;
  const Term *is = lets && t->kind == TERM_VAR ? map_get(lets, t->u.var) : NULL;
  if (is) t = is;
  if (has_op(t, OP_NOT)) return facts_of_outcome(facts, lets, t->u.op.args[0], !holds);
  if (has_op(t, holds ? OP_LAND : OP_LOR)) {
    facts = facts_of_outcome(facts, lets, t->u.op.args[0], holds);
    return facts_of_outcome(facts, lets, t->u.op.args[1], holds);
  }
  const Term *fact = holds ? t : opposite(t);
  return fact ? facts_with(facts, fact) : facts;
}
