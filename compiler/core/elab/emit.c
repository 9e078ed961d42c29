// Small code: named statements, folded scalar operators, assertions.
#include "core/elab/elaborate.h"

Atom elab_emit(Elab *e, const char *name, const char *otherwise, const Exp *exp) {
  return core_let(e->b, name ? name : otherwise, exp);
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

static const Exp *op_exp(PrimOp op, const Atom *args) {
  if (op_arity(op) == 1) return exp_op1(op, args[0]);
  if (op_arity(op) == 2) return exp_op2(op, args[0], args[1]);
  return exp_op3(op, args[0], args[1], args[2]);
}

static bool is_rounded_on_gpus(PrimOp op, Atom arg) {
  return (op == OP_DIV || op == OP_SQRT) && atom_type(arg).elem == PRIM_F32;
}

// #[exact]: f64 has more than twice the digits, so that to round twice is to round once
// (S. Figueroa, "When is double rounding innocuous?", SIGNUM Newsletter 30(3), 1995).
static Atom in_f64(Elab *e, const char *name, PrimOp op, const Atom *args) {
  Atom wide[2];
  for (int i = 0; i < op_arity(op); i++)
    wide[i] = elab_convert(e, NULL, PRIM_F64, args[i]);
  return elab_convert(e, name, PRIM_F32, elab_op(e, NULL, op, wide));
}

Atom elab_op(Elab *e, const char *name, PrimOp op, const Atom *args) {
  Atom folded;
  if (fold(op, args, &folded)) return folded;
  if (e->exact && is_rounded_on_gpus(op, args[0])) return in_f64(e, name, op, args);
  return elab_emit(e, name, op_name(op), op_exp(op, args));
}

Atom elab_op1(Elab *e, PrimOp op, Atom a) { return elab_op(e, NULL, op, &a); }

Atom elab_op2(Elab *e, PrimOp op, Atom a, Atom b) {
  return elab_op(e, NULL, op, (Atom[]){ a, b });
}

Atom elab_convert(Elab *e, const char *name, PrimType to, Atom a) {
  if (atom_type(a).elem == to) return a;
  if (a.kind == ATOM_CONST) return atom_const(prim_convert(to, a.u.constant));
  return elab_emit(e, name, prim_type_name(to), exp_convert(to, a));
}

Atom elab_to_i64(Elab *e, Atom a) { return elab_convert(e, NULL, PRIM_I64, a); }

static bool is_bool(Atom a, bool value) {
  return a.kind == ATOM_CONST && a.u.constant.type == PRIM_BOOL &&
         (a.u.constant.u.i != 0) == value;
}

Atom elab_junction(Elab *e, const char *name, PrimOp op, const Atom *args) {
  bool unit = op == OP_LAND;  // true && a is a, false && a is false
  if (is_bool(args[0], unit) || is_bool(args[1], !unit)) return args[1];
  if (is_bool(args[1], unit) || is_bool(args[0], !unit)) return args[0];
  return elab_op(e, name, op, args);
}

Atom elab_and(Elab *e, Atom a, Atom b) {
  return elab_junction(e, NULL, OP_LAND, (Atom[]){ a, b });
}

Atom elab_or(Elab *e, Atom a, Atom b) {
  return elab_junction(e, NULL, OP_LOR, (Atom[]){ a, b });
}

static const Body *body_of_atom(Compiler *c, Loc loc, Atom a) {
  Builder b = builder_new(c, loc);
  return core_body(&b, &a, 1);
}

Atom elab_select(Elab *e, Atom condition, Atom yes, Atom no) {
  if (is_bool(condition, true) || atom_equal(yes, no)) return yes;
  if (is_bool(condition, false)) return no;
  return elab_emit(e, NULL, "selected",
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
