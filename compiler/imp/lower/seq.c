// Scalar expressions with their checks.
#include "imp/lower/lower.h"

// ---- scalars

static void check_divisor(Code *k, const Exp *exp, Loc loc) {
  if (!op_may_trap(exp->u.op.op, exp->u.op.type)) return;
  if (!k->lower->machine->by_axes &&
      scalar_is_positive(k->lower->scalars, exp->u.op.args[1]))
    return;  // Kern has seen to its own checks
  const ImpExp *divisor = imp_atom(exp->u.op.args[1]);
  bool power = exp->u.op.op == OP_POW;
  const ImpExp *zero = imp_const(prim_zero(exp->u.op.type));
  const ImpExp *fine =
      imp_op2(power ? OP_LE : OP_NE, power ? zero : divisor, power ? divisor : zero);
  if (fine->kind == IMP_CONST && fine->u.constant.u.i) return;
  static const char *const division[] = { "division by zero" };
  static const char *const negative[] = { "negative exponent of an integer power" };
  code_check(k, fine, power ? negative : division, NULL, 0, loc);
}

static const ImpExp *scalar_op(Code *k, const Exp *exp, Loc loc) {
  check_divisor(k, exp, loc);
  const ImpExp *a = imp_atom(exp->u.op.args[0]);
  int arity = op_arity(exp->u.op.op);
  if (arity == 1) return imp_op1(exp->u.op.op, a);
  const ImpExp *b = imp_atom(exp->u.op.args[1]);
  return arity == 2 ? imp_op2(exp->u.op.op, a, b)
                    : imp_op3(exp->u.op.op, a, b, imp_atom(exp->u.op.args[2]));
}

static const ImpExp *index_value(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Arr *arr = code_array(k, exp->u.index.array);
  if (exp->u.index.checked) code_check_bounds(k, arr, exp->u.index.dims, stm->loc);
  Arr element = arr_slice(arr, exp->u.index.dims);
  return arr_load(&element, element.offset);
}

const ImpExp *seq_scalar(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (stm->binder_count != 1 || stm->binders[0]->type.rank > 0) return NULL;
  if (exp->kind == EXP_ATOM || exp->kind == EXP_COPY) return imp_atom(exp->u.atom.atom);
  if (exp->kind == EXP_OP) return scalar_op(k, exp, stm->loc);
  if (exp->kind == EXP_CONVERT)
    return imp_convert(exp->u.convert.to, imp_atom(exp->u.convert.atom));
  if (exp->kind == EXP_BITS)
    return imp_bits(exp->u.convert.to, imp_atom(exp->u.convert.atom));
  if (exp->kind == EXP_INDEX) return index_value(k, stm);
  return NULL;
}
