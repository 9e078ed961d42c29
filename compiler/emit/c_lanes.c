// Expressions of IMP_LANES statements, as OpenCL vectors of LANES numbers.
//
// A bool that depends on the lane is an int16 of 0 and -1, whatever was compared.  What OpenCL has no
// vector operator for is computed lane by lane.  Lanes that are masked out may compute anything, but must
// not read where the others would not: they read element 0, which exists if another lane reads.
#include "emit/emit_lanes.h"
#include <string.h>

// ---- types and small pieces

static const char *const vector_types[PRIM_COUNT] = {
  [PRIM_I8] = "char16",    [PRIM_I16] = "short16", [PRIM_I32] = "int16",
  [PRIM_I64] = "long16",   [PRIM_U8] = "uchar16",  [PRIM_U16] = "ushort16",
  [PRIM_U32] = "uint16",   [PRIM_U64] = "ulong16", [PRIM_F32] = "float16",
  [PRIM_F64] = "double16", [PRIM_BOOL] = "int16",
};

const char *lane_type(PrimType type) { return vector_types[type]; }

const char *lane_memory_type(PrimType type) {
  return type == PRIM_BOOL ? "uchar16" : vector_types[type];
}

char lane_digit(int lane) { return "0123456789abcdef"[lane]; }

const char *lane_temporary(LaneCode *l, const char *type, const char *name,
                           const char *value) {
  const char *fresh = text_format("%s_%d", name, ++l->c->next);
  c_line(l->c, "%s %s = %s;", type, fresh, value);
  return fresh;
}

// A mask for operands of another width.
static const char *mask_for(PrimType type, const char *mask) {
  static const char *const widths[] = { [1] = "char16", [2] = "short16", [8] = "long16" };
  int bytes = prim_size_bytes(type);
  if (type == PRIM_BOOL || bytes == 4) return mask;
  return text_format("convert_%s(%s)", widths[bytes], mask);
}

const char *lane_choose(PrimType type, const char *mask, const char *a, const char *b) {
  return text_format("(%s ? %s : %s)", mask_for(type, mask), a, b);
}

static const char *splat(PrimType type, const char *scalar) {
  if (type == PRIM_BOOL) return text_format("((int16)((%s) ? -1 : 0))", scalar);
  return text_format("((%s)(%s))", vector_types[type], scalar);
}

static const char *from_memory(PrimType type, const char *value) {
  return type == PRIM_BOOL ? text_format("(convert_int16(%s) != 0)", value) : value;
}

const char *lane_to_memory(PrimType type, const char *value) {
  return type == PRIM_BOOL ? text_format("convert_uchar16(%s & 1)", value) : value;
}

const char *lane_list(const char *type, const char *before, const char *after) {
  Text *t = text_new();
  text_printf(t, "(%s)(", type);
  for (int i = 0; i < LANES; i++)
    text_printf(t, "%s%s%c%s", i ? ", " : "", before, lane_digit(i), after);
  text_add(t, ")");
  return text_str(t);
}

// ---- indices

const char *lane_base(LaneCode *l, Affine a) {
  const ImpExp *before = imp_mul(imp_i64((int64_t)LANES * l->vector), a.step);
  return c_size(l->c, imp_add(a.base, before));
}

bool lane_is_step(Affine a, int64_t step) {
  return a.step->kind == IMP_CONST && a.step->u.constant.u.i == step;
}

static const char *affine_value(LaneCode *l, Affine a) {
  const char *base = lane_base(l, a);
  if (lane_is_step(a, 1)) return text_format("((long16)(%s) + FLC_LANES)", base);
  return text_format("((long16)(%s) + (long16)(%s) * FLC_LANES)", base,
                     c_size(l->c, a.step));
}

const char *lane_positions(LaneCode *l, const ImpExp *index, bool own) {
  const char *at = lane_exp(l, index);
  if (own) at = text_format("%s * %d + FLC_LANES", at, LANES);
  if (l->mask)
    at = lane_choose(PRIM_I64, l->mask, text_format("(%s)", at), "(long16)(0)");
  return lane_temporary(l, "long16", "at", at);
}

const char *lane_pointer(LaneCode *l, const Mem *mem) {
  const char *name = c_mem(l->c, mem);
  bool own =
      lanes_is_own(l->info, mem) && (lanes_mem_depends(l->info, mem) & DEPENDS_LANE);
  if (!own || mem->space != MEM_PRIVATE) return name;
  return text_format("((%s *)%s)", c_memory_type(mem->elem), name);
}

const char *lane_own_element(LaneCode *l, const Mem *mem, const ImpExp *index) {
  const char *name = c_mem(l->c, mem);
  if (mem->space != MEM_PRIVATE)
    name = text_format("((__global %s *)%s)", lane_memory_type(mem->elem), name);
  return text_format("%s[%s]", name, c_size(l->c, index));
}

// ---- loads

static const char *gather(LaneCode *l, const Mem *mem, const ImpExp *index, bool own) {
  const char *at = lane_positions(l, index, own);
  const char *from = text_format("%s[%s.s", lane_pointer(l, mem), at);
  return lane_list(lane_memory_type(mem->elem), from, "]");
}

static const char *neighbours(LaneCode *l, const Mem *mem, const ImpExp *index,
                              Affine a) {
  const char *type = lane_memory_type(mem->elem);
  const char *whole =
      text_format("vload16(0, %s + (%s))", c_mem(l->c, mem), lane_base(l, a));
  if (!l->mask) return whole;
  const char *got = text_format("got_%d", ++l->c->next);
  c_line(l->c, "%s %s;", type, got);
  c_line(l->c, "if (%s) {", l->full);
  c_line(l->c, "  %s = %s;", got, whole);
  c_line(l->c, "} else {");
  text_indent(l->c->t, 2);
  c_line(l->c, "%s = %s;", got, gather(l, mem, index, false));
  c_close(l->c);
  return got;
}

static const char *strided(LaneCode *l, const Mem *mem, Affine a) {
  const char *base = lane_temporary(l, "long", "base", lane_base(l, a));
  const char *step = lane_temporary(l, "long", "step", c_size(l->c, a.step));
  Text *t = text_new();
  text_printf(t, "(%s)(", lane_memory_type(mem->elem));
  for (int i = 0; i < LANES; i++)
    text_printf(t, "%s%s[%s + %d * %s]", i ? ", " : "", c_mem(l->c, mem), base, i, step);
  text_add(t, ")");
  return text_str(t);
}

static const char *load(LaneCode *l, const ImpExp *e) {
  const Mem *mem = e->u.load.mem;
  const ImpExp *index = e->u.load.index;
  bool own =
      lanes_is_own(l->info, mem) && (lanes_mem_depends(l->info, mem) & DEPENDS_LANE);
  Affine a;
  const char *value;
  if (own && !lanes_depends(l->info, index))
    value = lane_own_element(l, mem, index);
  else if (own || !lanes_affine(l->info, index, &a))
    value = gather(l, mem, index, own);
  else if (lane_is_step(a, 1))
    value = neighbours(l, mem, index, a);
  else
    value = l->mask ? gather(l, mem, index, false) : strided(l, mem, a);
  return from_memory(mem->elem, value);
}

// ---- operators

// One lane after the other, by the functions for scalars.
static const char *each_lane(LaneCode *l, const ImpExp *e, const char *function) {
  int arity = e->kind == IMP_OP ? op_arity(e->u.op.op) : 1;
  const ImpExp *operands[3];
  const char *args[3] = { "", "", "" };
  imp_operands(e, operands);
  for (int i = 0; i < arity; i++)
    args[i] = lane_temporary(l, lane_type(operands[i]->type), "lanes",
                             lane_exp(l, operands[i]));
  Text *t = text_new();
  text_printf(t, "(%s)(", lane_type(e->type));
  for (int lane = 0; lane < LANES; lane++) {
    text_printf(t, "%s%s(", lane ? ", " : "", function);
    for (int i = 0; i < arity; i++)
      text_printf(t, "%s%s.s%c", i ? ", " : "", args[i], lane_digit(lane));
    text_add(t, ")");
  }
  text_add(t, ")");
  return text_str(t);
}

static const char *wrapping(PrimType type, const char *a, const char *op, const char *b) {
  if (prim_is_float(type) || !prim_is_signed(type))
    return text_format("(%s %s %s)", a, op, b);
  const char *plain = lane_type(type);
  return text_format("as_%s(as_u%s(%s) %s as_u%s(%s))", plain, plain, a, op, plain, b);
}

static const char *compare(PrimType type, const char *a, const char *op, const char *b) {
  bool same = type == PRIM_I32 || type == PRIM_U32 || type == PRIM_F32;
  return text_format(same ? "(%s %s %s)" : "convert_int16(%s %s %s)", a, op, b);
}

static const char *of_bools(const ImpExp *e, const char *a, const char *b) {
  PrimOp op = e->u.op.op;
  if (op == OP_EQ) return text_format("(~(%s ^ %s))", a, b);
  if (op == OP_NE) return text_format("(%s ^ %s)", a, b);
  if (op == OP_LT) return text_format("(~%s & %s)", a, b);
  if (op == OP_LE) return text_format("(~%s | %s)", a, b);
  return text_format("(%s %s %s)", a, op_vector(op, PRIM_BOOL), b);
}

static const char *least_or_greatest(LaneCode *l, const ImpExp *e, const char *a,
                                     const char *b) {
  PrimType type = e->type;
  if (!prim_is_float(type))
    return text_format("%s(%s, %s)", op_vector(e->u.op.op, type), a, b);
  const char *left = lane_temporary(l, lane_type(type), "left", a);
  const char *right = lane_temporary(l, lane_type(type), "right", b);
  const char *sign = e->u.op.op == OP_MIN ? "<" : ">";
  return text_format("((%s %s %s) | (%s != %s) ? %s : %s)", right, sign, left, left, left,
                     right, left);
}

// A division that vectors have: of floats, or truncating by a constant that is neither 0 nor -1.
static bool is_vector_division(const ImpExp *e) {
  PrimOp op = e->u.op.op;
  const ImpExp *divisor = e->u.op.args[1];
  if (prim_is_float(e->type)) return true;
  bool positive = divisor->kind == IMP_CONST && divisor->u.constant.u.i > 0;
  return positive && (op == OP_QUOT || op == OP_REM || !prim_is_signed(e->type));
}

// `vector` is the operator's name in OpenCL.
static const char *binary(LaneCode *l, const ImpExp *e, const char *vector) {
  PrimOp op = e->u.op.op;
  PrimType type = e->u.op.operands;
  if (op_cost(op, type) == COST_DIVISION && !is_vector_division(e)) return NULL;
  const char *a = lane_exp(l, e->u.op.args[0]), *b = lane_exp(l, e->u.op.args[1]);
  if (type == PRIM_BOOL) return of_bools(e, a, b);
  if (e->type == PRIM_BOOL) return compare(type, a, vector, b);
  if (op == OP_MIN || op == OP_MAX) return least_or_greatest(l, e, a, b);
  if (op == OP_ADD || op == OP_SUB || op == OP_MUL) return wrapping(type, a, vector, b);
  return text_format("(%s %s %s)", a, vector, b);
}

static const char *unary(LaneCode *l, const ImpExp *e, const char *vector) {
  PrimOp op = e->u.op.op;
  PrimType type = e->u.op.operands;
  const char *a = lane_exp(l, e->u.op.args[0]);
  if (op == OP_NEG && prim_is_int(type)) return wrapping(type, splat(type, "0"), "-", a);
  if (op == OP_NEG || op == OP_NOT) return text_format("(%s%s)", vector, a);
  if (op == OP_ABS && prim_is_float(type)) return text_format("fabs(%s)", a);
  if (op == OP_ABS) return text_format("as_%s(abs(%s))", lane_type(type), a);
  return text_format("%s(%s)", vector, a);
}

static const char *ternary(LaneCode *l, const ImpExp *e, const char *vector) {
  const char *a = lane_exp(l, e->u.op.args[0]), *b = lane_exp(l, e->u.op.args[1]),
             *d = lane_exp(l, e->u.op.args[2]);
  return text_format("%s(%s, %s, %s)", vector, a, b, d);
}

// Is it NaN, is it infinite?  By comparisons, whatever the device's functions cost.
static const char *tested(LaneCode *l, const ImpExp *e) {
  PrimType type = e->u.op.operands;
  const char *a =
      lane_temporary(l, lane_type(type), "tested", lane_exp(l, e->u.op.args[0]));
  const char *nan = compare(type, a, "!=", a);
  if (e->u.op.op == OP_ISNAN) return nan;
  const char *difference = text_format("(%s - %s)", a, a);
  return text_format("(~%s & %s)", nan, compare(type, difference, "!=", difference));
}

// OpenCL's own `mad` may round once.
static const char *multiply_and_add(LaneCode *l, const ImpExp *e) {
  return text_format("(%s * %s + %s)", lane_exp(l, e->u.op.args[0]),
                     lane_exp(l, e->u.op.args[1]), lane_exp(l, e->u.op.args[2]));
}

static const char *as_vectors(LaneCode *l, const ImpExp *e) {
  PrimOp op = e->u.op.op;
  const char *vector = op_vector(op, e->u.op.operands);
  if (op == OP_ISNAN || op == OP_ISINF) return tested(l, e);
  if (op == OP_MAD) return multiply_and_add(l, e);
  if (!vector) return NULL;
  if (op_arity(op) == 1) return unary(l, e, vector);
  return op_arity(op) == 2 ? binary(l, e, vector) : ternary(l, e, vector);
}

static const char *operation(LaneCode *l, const ImpExp *e) {
  const char *text = as_vectors(l, e);
  if (text) return text;
  return each_lane(
      l, e,
      text_format("flc_%s_%s", op_name(e->u.op.op), prim_type_name(e->u.op.operands)));
}

static const char *conversion(LaneCode *l, const ImpExp *e) {
  const ImpExp *arg = e->u.convert.arg;
  if (prim_is_float(arg->type) && prim_is_int(e->type))
    return each_lane(
        l, e,
        text_format("flc_%s_to_%s", prim_type_name(arg->type), prim_type_name(e->type)));
  const char *value = lane_exp(l, arg);
  if (e->type == arg->type) return value;
  if (e->type == PRIM_BOOL) return compare(arg->type, value, "!=", splat(arg->type, "0"));
  if (arg->type == PRIM_BOOL) value = text_format("(%s & 1)", value);
  if (prim_extends_by_zeros(e->type, arg->type))
    value = text_format("as_%s(%s)", lane_type(prim_unsigned(arg->type)), value);
  return text_format("convert_%s(%s)", lane_type(e->type), value);
}

const char *lane_exp(LaneCode *l, const ImpExp *e) {
  Affine a;
  if (!(lanes_depends(l->info, e) & DEPENDS_LANE)) return splat(e->type, c_exp(l->c, e));
  if (e->type == PRIM_I64 && lanes_affine(l->info, e, &a)) return affine_value(l, a);
  switch (e->kind) {
  case IMP_VAR: return c_var(l->c, e->u.var);
  case IMP_OP: return operation(l, e);
  case IMP_CONVERT: return conversion(l, e);
  case IMP_BITS:
    return text_format("as_%s(%s)", lane_type(e->type), lane_exp(l, e->u.convert.arg));
  case IMP_LOAD: return load(l, e);
  case IMP_SELECT:
  case IMP_CONST:
  case IMP_ITEM:
  case IMP_TUNING: break;
  }
  bug(l->c->e->c, (Loc){ 0 }, "an expression without vector code");
}
