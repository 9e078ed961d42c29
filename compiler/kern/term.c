#include "kern/term.h"

// ---- building

static const Term *make(Term t) { return mem_copy(&t, sizeof t); }

const Term *term_var(const Var *var) {
  return make((Term){ .kind = TERM_VAR, .type = var->type.elem, .u.var = var });
}

const Term *term_const(Prim constant) {
  return make(
      (Term){ .kind = TERM_CONST, .type = constant.type, .u.constant = constant });
}

// Small numbers are most of all terms, and shared.
const Term *term_i64(int64_t value) {
  enum { SHARED = 65 };
  static Term shared[SHARED];
  if (value < 0 || value >= SHARED) return term_const(prim_i64(value));
  Term *t = &shared[value];
  Prim constant = prim_i64(value);
  *t = (Term){ .kind = TERM_CONST, .type = constant.type, .u.constant = constant };
  return t;
}

const Term *term_bool(bool value) { return term_const(prim_bool(value)); }

const Term *term_atom(Atom a) {
  return a.kind == ATOM_VAR ? term_var(a.u.var) : term_const(a.u.constant);
}

bool term_is_var(const Term *t, const Var *var) {
  return t->kind == TERM_VAR && t->u.var == var;
}

bool term_is_i64(const Term *t, int64_t value) {
  return t->kind == TERM_CONST && t->type == PRIM_I64 && t->u.constant.u.i == value;
}

bool term_is_bool(const Term *t, bool value) {
  return t->kind == TERM_CONST && t->type == PRIM_BOOL && t->u.constant.u.i == value;
}

// The operator applied to constants, if they all are and it does not trap.
static const Term *fold(PrimOp op, const Term *const *args, int count) {
  Prim values[3];
  for (int i = 0; i < count; i++) {
    if (args[i]->kind != TERM_CONST) return NULL;
    values[i] = args[i]->u.constant;
  }
  Prim result;
  return prim_apply(op, values, &result) ? term_const(result) : NULL;
}

static const Term *make_op(PrimOp op, const Term *const *args, int count) {
  const Term *folded = fold(op, args, count);
  if (folded) return folded;
  Term t = { .kind = TERM_OP, .type = op_result(op, args[0]->type) };
  t.u.op.op = op;
  t.u.op.operands = args[0]->type;
  for (int i = 0; i < count; i++)
    t.u.op.args[i] = args[i];
  return make(t);
}

const Term *term_op1(PrimOp op, const Term *a) { return make_op(op, &a, 1); }

const Term *term_op2(PrimOp op, const Term *a, const Term *b) {
  const Term *args[] = { a, b };
  return make_op(op, args, 2);
}

const Term *term_op3(PrimOp op, const Term *a, const Term *b, const Term *d) {
  const Term *args[] = { a, b, d };
  return make_op(op, args, 3);
}

const Term *term_add(const Term *a, const Term *b) {
  if (term_is_i64(a, 0)) return b;
  return term_is_i64(b, 0) ? a : term_op2(OP_ADD, a, b);
}

const Term *term_sub(const Term *a, const Term *b) {
  if (term_is_i64(b, 0)) return a;
  return term_same(a, b) ? term_i64(0) : term_op2(OP_SUB, a, b);
}

const Term *term_mul(const Term *a, const Term *b) {
  if (term_is_i64(a, 0) || term_is_i64(b, 1)) return a;
  return term_is_i64(b, 0) || term_is_i64(a, 1) ? b : term_op2(OP_MUL, a, b);
}

const Term *term_quot(const Term *a, const Term *b) {
  return term_is_i64(b, 1) ? a : term_op2(OP_QUOT, a, b);
}

const Term *term_ceil_div(const Term *a, const Term *b) {
  return term_quot(term_add(a, term_sub(b, term_i64(1))), b);
}

// Is it `t`, or among what `t` is the least (the greatest) of?
static bool is_extreme_of(const Term *t, PrimOp op, const Term *one) {
  while (t->kind == TERM_OP && t->u.op.op == op && !term_same(t->u.op.args[1], one))
    t = t->u.op.args[0];
  bool last = t->kind == TERM_OP && t->u.op.op == op;
  return last || term_same(t, one);
}

static const Term *extreme(PrimOp op, const Term *a, const Term *b) {
  if (is_extreme_of(a, op, b)) return a;
  return is_extreme_of(b, op, a) ? b : term_op2(op, a, b);
}

const Term *term_min(const Term *a, const Term *b) { return extreme(OP_MIN, a, b); }

const Term *term_max(const Term *a, const Term *b) { return extreme(OP_MAX, a, b); }

const Term *term_less(const Term *a, const Term *b) { return term_op2(OP_LT, a, b); }

const Term *term_at_most(const Term *a, const Term *b) { return term_op2(OP_LE, a, b); }

const Term *term_and(const Term *a, const Term *b) {
  if (term_is_bool(a, true) || term_is_bool(b, false)) return b;
  return term_is_bool(b, true) || term_is_bool(a, false) ? a : term_op2(OP_LAND, a, b);
}

const Term *term_or(const Term *a, const Term *b) {
  if (term_is_bool(a, false) || term_is_bool(b, true)) return b;
  return term_is_bool(b, false) || term_is_bool(a, true) ? a : term_op2(OP_LOR, a, b);
}

const Term *term_convert(PrimType to, const Term *a) {
  if (a->type == to) return a;
  if (a->kind == TERM_CONST) return term_const(prim_convert(to, a->u.constant));
  return make((Term){ .kind = TERM_CONVERT, .type = to, .u.arg = a });
}

const Term *term_bits(PrimType to, const Term *a) {
  return make((Term){ .kind = TERM_BITS, .type = to, .u.arg = a });
}

const Term *term_select(const Term *condition, const Term *a, const Term *b) {
  if (term_is_bool(condition, true)) return a;
  if (term_is_bool(condition, false)) return b;
  return make(
      (Term){ .kind = TERM_SELECT, .type = a->type, .u.select = { condition, a, b } });
}

const Term *term_tuning(Name name) {
  return make((Term){ .kind = TERM_TUNING, .type = PRIM_I64, .u.tuning = name });
}

// ---- asking

int term_operands(const Term *t, const Term **out) {
  switch (t->kind) {
  case TERM_VAR:
  case TERM_CONST:
  case TERM_TUNING: return 0;
  case TERM_OP:
    for (int i = 0; i < op_arity(t->u.op.op); i++)
      out[i] = t->u.op.args[i];
    return op_arity(t->u.op.op);
  case TERM_CONVERT:
  case TERM_BITS: out[0] = t->u.arg; return 1;
  case TERM_SELECT:
    out[0] = t->u.select.condition;
    out[1] = t->u.select.a;
    out[2] = t->u.select.b;
    return 3;
  }
  return 0;
}

static bool same_node(const Term *a, const Term *b) {
  if (a->kind != b->kind || a->type != b->type) return false;
  switch (a->kind) {
  case TERM_VAR: return a->u.var == b->u.var;
  case TERM_CONST: return prim_identical(a->u.constant, b->u.constant);
  case TERM_TUNING: return a->u.tuning == b->u.tuning;
  case TERM_OP: return a->u.op.op == b->u.op.op && a->u.op.operands == b->u.op.operands;
  case TERM_CONVERT:
  case TERM_BITS:
  case TERM_SELECT: return true;
  }
  return false;
}

bool term_same(const Term *a, const Term *b) {
  if (a == b) return true;
  if (!same_node(a, b)) return false;
  const Term *of_a[3], *of_b[3];
  int count = term_operands(a, of_a);
  term_operands(b, of_b);
  bool commutes = a->kind == TERM_OP && count == 2 && op_is_commutative(a->u.op.op);
  if (commutes && term_same(of_a[0], of_b[1]) && term_same(of_a[1], of_b[0])) return true;
  for (int i = 0; i < count; i++)
    if (!term_same(of_a[i], of_b[i])) return false;
  return true;
}

bool term_mentions(const Term *t, const Var *var) {
  if (t->kind == TERM_VAR) return t->u.var == var;
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    if (term_mentions(operands[i], var)) return true;
  return false;
}

bool term_calls_library(const Term *t) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  bool found =
      t->kind == TERM_OP && op_cost(t->u.op.op, t->u.op.args[0]->type) == COST_LIBRARY;
  for (int i = 0; i < count && !found; i++)
    found = term_calls_library(operands[i]);
  return found;
}

bool term_mentions_any(const Term *t, const Map *vars) {
  if (t->kind == TERM_VAR) return map_has(vars, t->u.var);
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    if (term_mentions_any(operands[i], vars)) return true;
  return false;
}

// A multiplication and shifts, in vectors as well.
static bool divides_by_constant(const Term *t) {
  PrimType type = t->u.op.operands;
  const Term *by = op_arity(t->u.op.op) == 2 ? t->u.op.args[1] : NULL;
  return op_cost(t->u.op.op, type) == COST_DIVISION && prim_is_int(type) &&
         prim_bits(type) <= 32 && by && by->kind == TERM_CONST && by->u.constant.u.i > 0;
}

// What is left of `most` behind the term, below 0 if it has more.
static int left_behind(const Term *t, int most) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  most--;
  for (int i = 0; i < count && most >= 0; i++)
    most = left_behind(operands[i], most);
  return most;
}

bool term_is_long(const Term *t, int most) { return left_behind(t, most) < 0; }

bool term_is_cheap(const Term *t) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    if (!term_is_cheap(operands[i])) return false;
  return t->kind != TERM_OP || divides_by_constant(t) ||
         (op_cost(t->u.op.op, t->u.op.operands) == COST_CHEAP &&
          !op_may_trap(t->u.op.op, t->u.op.operands));
}

void term_each_var(const Term *t, void (*visit)(void *state, const Var *var),
                   void *state) {
  if (t->kind == TERM_VAR) visit(state, t->u.var);
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    term_each_var(operands[i], visit, state);
}

const Term *term_with(const Term *t, const Term *const *args, int count) {
  if (t->kind == TERM_VAR || t->kind == TERM_CONST || t->kind == TERM_TUNING) return t;
  if (t->kind == TERM_CONVERT) return term_convert(t->type, args[0]);
  if (t->kind == TERM_BITS) return term_bits(t->type, args[0]);
  if (t->kind == TERM_SELECT) return term_select(args[0], args[1], args[2]);
  PrimOp op = t->u.op.op;
  if (op == OP_LAND) return term_and(args[0], args[1]);
  if (op == OP_LOR) return term_or(args[0], args[1]);
  if (t->type == PRIM_I64 && op == OP_ADD) return term_add(args[0], args[1]);
  if (t->type == PRIM_I64 && op == OP_SUB) return term_sub(args[0], args[1]);
  if (t->type == PRIM_I64 && op == OP_MUL) return term_mul(args[0], args[1]);
  return make_op(op, args, count);
}

const Term *term_replace(const Term *t, const Term *(*of)(void *state, const Var *var),
                         void *state) {
  if (t->kind == TERM_VAR) {
    const Term *other = of(state, t->u.var);
    return other ? other : t;
  }
  const Term *operands[3];
  int count = term_operands(t, operands);
  bool changed = false;
  for (int i = 0; i < count; i++) {
    const Term *new_operand = term_replace(operands[i], of, state);
    changed = changed || new_operand != operands[i];
    operands[i] = new_operand;
  }
  return changed ? term_with(t, operands, count) : t;
}

static const Term *inlined(const Map *lets, const Term *t, int *room) {
  const Term *let = t->kind == TERM_VAR ? map_get(lets, t->u.var) : NULL;
  if (--*room < 0) return NULL;
  if (let) return inlined(lets, let, room);
  const Term *args[3];
  int count = term_operands(t, args);
  for (int i = 0; i < count; i++)
    if (!(args[i] = inlined(lets, args[i], room))) return NULL;
  return count ? term_with(t, args, count) : t;
}

const Term *term_inlined(const Map *lets, const Term *t) {
  enum { MOST_TERMS = 100 };
  int room = MOST_TERMS;
  return inlined(lets, t, &room);
}

// ---- printing

// How tightly an operator binds; 0: it is written as a function.
static int binding(const Term *t) {
  static const int levels[OP_COUNT] = {
    [OP_LOR] = 1, [OP_LAND] = 2, [OP_EQ] = 3,  [OP_NE] = 3,   [OP_LT] = 3,  [OP_LE] = 3,
    [OP_OR] = 4,  [OP_XOR] = 5,  [OP_AND] = 6, [OP_SHL] = 7,  [OP_SHR] = 7, [OP_ADD] = 8,
    [OP_SUB] = 8, [OP_MUL] = 9,  [OP_DIV] = 9, [OP_QUOT] = 9, [OP_REM] = 9, [OP_MOD] = 9,
  };
  return t->kind == TERM_OP ? levels[t->u.op.op] : 0;
}

static void print_operand(Text *t, const Term *operand, bool parenthesised) {
  if (parenthesised) text_add(t, "(");
  term_print(t, operand);
  if (parenthesised) text_add(t, ")");
}

static void print_infix(Text *t, const Term *term) {
  const Term *a = term->u.op.args[0], *b = term->u.op.args[1];
  int level = binding(term);
  print_operand(t, a, binding(a) && binding(a) < level);
  text_printf(t, " %s ", op_spelling(term->u.op.op));
  print_operand(t, b, binding(b) && binding(b) <= level);
}

static void print_call(Text *t, const char *name, const Term *term) {
  const Term *operands[3];
  int count = term_operands(term, operands);
  text_printf(t, "%s(", name);
  for (int i = 0; i < count; i++) {
    if (i) text_add(t, ", ");
    term_print(t, operands[i]);
  }
  text_add(t, ")");
}

void term_print(Text *t, const Term *term) {
  switch (term->kind) {
  case TERM_VAR: core_print_atom(t, atom_var(term->u.var)); return;
  case TERM_CONST: core_print_size(t, atom_const(term->u.constant)); return;
  case TERM_OP:
    if (binding(term))
      print_infix(t, term);
    else
      print_call(t, op_name(term->u.op.op), term);
    return;
  case TERM_CONVERT: print_call(t, prim_type_name(term->type), term); return;
  case TERM_BITS:
    print_call(t, text_format("bits_%s", prim_type_name(term->type)), term);
    return;
  case TERM_SELECT: print_call(t, "select", term); return;
  case TERM_TUNING: text_add(t, term->u.tuning); return;
  }
}
