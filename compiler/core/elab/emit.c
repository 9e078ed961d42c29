// Small code: named statements, folded scalar operators, assertions.
#include "core/elab/elaborate.h"

Atom elab_emit(Elab *e, const char *name, const Exp *exp) {
  if (e->hint) name = e->hint;
  e->hint = NULL;
  return core_let(e->b, name, exp);
}

// ---- scalars

static bool fold(PrimOp op, const Atom *args, Atom *out) {
  Prim values[3];
  for (int i = 0; i < op_arity(op); i++) {
    if (args[i].kind != ATOM_CONST) return false;
    values[i] = args[i].u.constant;
  }
  Prim result;
  if (!prim_apply(op, values, &result)) return false;
  *out = atom_const(result);
  return true;
}

Atom elab_op1(Elab *e, PrimOp op, Atom a) {
  Atom folded;
  return fold(op, &a, &folded) ? folded : elab_emit(e, op_name(op), exp_op1(op, a));
}

Atom elab_op2(Elab *e, PrimOp op, Atom a, Atom b) {
  Atom folded;
  if (fold(op, (Atom[]){ a, b }, &folded)) return folded;
  return elab_emit(e, op_name(op), exp_op2(op, a, b));
}

Atom elab_op3(Elab *e, PrimOp op, Atom a, Atom b, Atom d) {
  Atom folded;
  if (fold(op, (Atom[]){ a, b, d }, &folded)) return folded;
  return elab_emit(e, op_name(op), exp_op3(op, a, b, d));
}

Atom elab_convert(Elab *e, PrimType to, Atom a) {
  if (atom_type(a).elem == to) return a;
  if (a.kind == ATOM_CONST) return atom_const(prim_convert(to, a.u.constant));
  return elab_emit(e, prim_type_name(to), exp_convert(to, a));
}

Atom elab_to_i64(Elab *e, Atom a) {
  const char *hint = e->hint;
  e->hint = NULL;
  Atom result = elab_convert(e, PRIM_I64, a);
  e->hint = hint;
  return result;
}

static bool is_bool(Atom a, bool value) {
  return a.kind == ATOM_CONST && a.u.constant.type == PRIM_BOOL &&
         (a.u.constant.u.i != 0) == value;
}

Atom elab_and(Elab *e, Atom a, Atom b) {
  if (is_bool(a, true) || is_bool(b, false)) return b;
  if (is_bool(b, true) || is_bool(a, false)) return a;
  return elab_op2(e, OP_LAND, a, b);
}

Atom elab_or(Elab *e, Atom a, Atom b) {
  if (is_bool(a, false) || is_bool(b, true)) return b;
  if (is_bool(b, false) || is_bool(a, true)) return a;
  return elab_op2(e, OP_LOR, a, b);
}

static const Body *body_of_atom(Compiler *c, Loc loc, Atom a) {
  Builder b = builder_new(c, loc);
  return core_body(&b, &a, 1);
}

Atom elab_select(Elab *e, Atom condition, Atom yes, Atom no) {
  if (is_bool(condition, true) || atom_equal(yes, no)) return yes;
  if (is_bool(condition, false)) return no;
  return elab_emit(e, "selected",
                   exp_if(condition, body_of_atom(e->c, e->b->loc, yes),
                          body_of_atom(e->c, e->b->loc, no)));
}

// ---- assertions

void elab_assert(Elab *e, Atom condition, Message *m, Atom *atoms, int count) {
  if (is_bool(condition, true) || !count) return;
  message_end(m);
  const Exp *exp =
      new_node(Exp, .kind = EXP_ASSERT,
               .u.assert = { .condition = condition,
                             .parts = m->parts.at,
                             .values = m->values.at,
                             .value_count = m->values.count,
                             .atoms = mem_copy(atoms, (size_t)count * sizeof *atoms),
                             .atom_count = count });
  core_let_n(e->b, "checked", exp, atoms);
}
