#include "emit/c_vector.h"
#include <string.h>

// ---- types and small pieces

static const char *const scalar_names[PRIM_COUNT] = {
  [PRIM_I8] = "char",   [PRIM_I16] = "short",  [PRIM_I32] = "int",
  [PRIM_I64] = "long",  [PRIM_U8] = "uchar",   [PRIM_U16] = "ushort",
  [PRIM_U32] = "uint",  [PRIM_U64] = "ulong",  [PRIM_F16] = "ushort",
  [PRIM_F32] = "float", [PRIM_F64] = "double", [PRIM_BOOL] = "int",
};

const char *vector_type(PrimType type, int lanes) {
  return text_format("%s%d", scalar_names[type], lanes);
}

const char *vector_memory_type(PrimType type, int lanes) {
  return vector_type(type == PRIM_BOOL ? PRIM_U8 : type, lanes);
}

char vector_digit(int lane) { return "0123456789abcdef"[lane]; }

const char *vector_temporary(CodeText *c, const char *type, const char *name,
                             const char *value) {
  const char *fresh = text_format("%s_%d", name, ++c->next);
  c_line(c, "%s %s = %s;", type, fresh, value);
  return fresh;
}

// The value under a name, for what mentions it several times.
static const char *as_variable(CodeText *c, const ImpExp *e) {
  const char *text = vector_exp(c, e);
  if (e->kind == IMP_VAR) return text;
  return vector_temporary(c, vector_type(e->type, e->lanes), "v", text);
}

// A mask for operands of another width.
static const char *mask_for(PrimType type, int lanes, const char *mask) {
  static const char *const names[] = { [1] = "char", [2] = "short", [8] = "long" };
  int bytes = prim_size_bytes(type);
  if (type == PRIM_BOOL || bytes == 4) return mask;
  return text_format("convert_%s%d(%s)", names[bytes], lanes, mask);
}

static const char *splat(const ImpExp *e, const char *scalar) {
  const char *type = vector_type(e->type, e->lanes);
  if (e->type == PRIM_BOOL) return text_format("((%s)((%s) ? -1 : 0))", type, scalar);
  return text_format("((%s)(%s))", type, scalar);
}

static const char *from_memory(PrimType type, int lanes, const char *value) {
  return type == PRIM_BOOL ? text_format("(convert_int%d(%s) != 0)", lanes, value)
                           : value;
}

static const char *to_memory(PrimType type, int lanes, const char *value) {
  return type == PRIM_BOOL ? text_format("convert_uchar%d(%s & 1)", lanes, value) : value;
}

// ---- memory

// A pointer to single numbers.
static const char *pointer_to(CodeText *c, const Mem *mem) {
  const char *name = c_mem(c, mem);
  if (!mem->lanes || mem->space != MEM_PRIVATE) return name;
  return text_format("((%s *)%s)", c_memory_type(mem->elem), name);
}

// An element of memory whose elements are vectors.
static const char *whole_vector(CodeText *c, const Mem *mem, const ImpExp *index) {
  const char *name = c_mem(c, mem);
  if (mem->space != MEM_PRIVATE)
    name = text_format("((%s%s *)%s)", vector_place(mem).space,
                       vector_memory_type(mem->elem, mem->lanes), name);
  return text_format("%s[%s]", name, c_size(c, index));
}

// Indices that are converted from i32, as such: the processor extends them.  `base` is to be added
// to them; or NULL.
static const ImpExp *few_bits(const ImpExp *index, const ImpExp **base) {
  *base = NULL;
  if (index->kind == IMP_CONVERT && index->type == PRIM_I64)
    return index->u.convert.arg->type == PRIM_I32 ? index->u.convert.arg : NULL;
  if (index->kind == IMP_SELECT) {
    const ImpExp *few = few_bits(index->u.select.a, base), *none = index->u.select.b;
    bool to_0 = none->kind == IMP_SPLAT && imp_is_i64(none->u.convert.arg, 0);
    const ImpExp *zero = imp_const(prim_int(PRIM_I32, 0));
    return few && to_0 && !*base ? imp_select(index->u.select.condition, few, zero)
                                 : NULL;
  }
  bool sum = index->kind == IMP_OP && index->u.op.op == OP_ADD &&
             index->u.op.args[0]->kind == IMP_SPLAT;
  const ImpExp *inner, *few = sum ? few_bits(index->u.op.args[1], &inner) : NULL;
  if (few && !inner) *base = index->u.op.args[0]->u.convert.arg;
  return few && !inner ? few : NULL;
}

static const char *gathered(CodeText *c, const Mem *mem, const ImpExp *index) {
  const ImpExp *base, *few = few_bits(index, &base);
  if (prim_size_bytes(mem->elem) < 4 || (few && base && mem->lanes)) few = NULL;
  const char *function = helper_gather(c, mem, index->lanes, few != NULL),
             *from = pointer_to(c, mem);
  if (few && base) from = text_format("%s + (%s)", from, c_size(c, base));
  return text_format("%s(%s, %s)", function, from, vector_exp(c, few ? few : index));
}

static const char *load(CodeText *c, const ImpExp *e) {
  const Mem *mem = e->u.load.mem;
  const ImpExp *index = e->u.load.index;
  const char *value;
  if (index->lanes)
    value = gathered(c, mem, index);
  else if (mem->lanes)
    value = whole_vector(c, mem, index);
  else
    value = text_format("%s(%s + (%s))", helper_load(c, mem, e->lanes), c_mem(c, mem),
                        c_size(c, index));
  return from_memory(e->type, e->lanes, value);
}

static const char *strided(CodeText *c, const ImpExp *e) {
  const Mem *mem = e->u.strided.mem;
  const char *value = text_format(
      "%s(%s + (%s), %s)", helper_strided(c, mem, e->u.strided.run, e->lanes),
      pointer_to(c, mem), c_size(c, e->u.strided.index), c_size(c, e->u.strided.step));
  return from_memory(e->type, e->lanes, value);
}

static void store_some(CodeText *c, const ImpStm *stm, const char *value,
                       const char *mask) {
  const Mem *mem = stm->u.store.mem;
  int lanes = stm->u.store.value->lanes;
  const char *function = stm->u.store.packed
                             ? helper_pack(c, mem, lanes, stm->u.store.over)
                             : helper_store_some(c, mem, lanes);
  c_line(c, "%s(%s + (%s), %s, %s);", function, pointer_to(c, mem),
         c_size(c, stm->u.store.index), value, mask);
}

static void store_anywhere(CodeText *c, const ImpStm *stm, const char *value,
                           const char *mask) {
  const Mem *mem = stm->u.store.mem;
  int lanes = stm->u.store.value->lanes;
  const char *at = vector_exp(c, stm->u.store.index);
  const char *function = helper_scatter(c, mem, lanes, mask != NULL);
  c_line(c, "%s(%s, %s, %s%s%s);", function, pointer_to(c, mem), at, value,
         mask ? ", " : "", mask ? mask : "");
}

static void store_own(CodeText *c, const ImpStm *stm, const char *value,
                      const char *mask) {
  const Mem *mem = stm->u.store.mem;
  const char *element = whole_vector(c, mem, stm->u.store.index);
  PrimType type = mem->elem == PRIM_BOOL ? PRIM_U8 : mem->elem;
  if (mask)
    value = text_format("%s ? %s : %s", mask_for(type, mem->lanes, mask), value, element);
  c_line(c, "%s = %s;", element, value);
}

void vector_store(CodeText *c, const ImpStm *stm) {
  const Mem *mem = stm->u.store.mem;
  const ImpExp *value_exp = stm->u.store.value;
  int lanes = value_exp->lanes;
  const char *mask = stm->u.store.mask ? as_variable(c, stm->u.store.mask) : NULL;
  const char *value = to_memory(mem->elem, lanes, vector_exp(c, value_exp));
  if (stm->u.store.index->lanes)
    store_anywhere(c, stm, value, mask);
  else if (mem->lanes)
    store_own(c, stm, value, mask);
  else if (stm->u.store.step)
    c_line(c, "%s(%s + (%s), %s, %s);", helper_spread(c, mem, stm->u.store.run, lanes),
           pointer_to(c, mem), c_size(c, stm->u.store.index),
           c_size(c, stm->u.store.step), value);
  else if (mask)
    store_some(c, stm, value, mask);
  else
    c_line(c, "%s(%s + (%s), %s);", helper_store(c, mem, lanes), c_mem(c, mem),
           c_size(c, stm->u.store.index), value);
}

void vector_check(CodeText *c, const ImpStm *stm) {
  const ImpExp *condition = stm->u.check.condition;
  int lanes = condition->lanes;
  const char *failed = vector_temporary(c, vector_type(PRIM_BOOL, lanes), "failed",
                                        text_format("~%s", vector_exp(c, condition)));
  c_line(c, "if (%s(%s)) {", helper_any(c, lanes), failed);
  c_open(c);
  const char *lane = vector_temporary(
      c, "int", "lane", text_format("%s(%s)", helper_first(c, lanes), failed));
  Text *call = text_new();
  int count = emit_check_values(stm);
  text_printf(call, "%s(flc_error, %d", count > 4 ? "flc_fail_8" : "flc_fail",
              emit_check(c->e, stm));
  for (int i = 0; i < (count > 4 ? IMP_CHECK_VALUES : 4); i++) {
    if (i >= count) {
      text_add(call, ", 0");
      continue;
    }
    const ImpExp *value = imp_convert(PRIM_I64, imp_splat(stm->u.check.values[i], lanes));
    text_printf(call, ", %s(%s, %s)", helper_pick(c, PRIM_I64, lanes),
                vector_exp(c, value), lane);
  }
  c_line(c, "%s);", text_str(call));
  c_line(c, "%s", emit_return(c));
  c_close(c);
}

// ---- operators

static bool divides_at_once(const ImpExp *e) {
  return e->kind == IMP_OP && op_cost(e->u.op.op, e->u.op.operands) == COST_DIVISION &&
         prim_is_int(e->type) && prim_bits(e->type) <= 32;
}

// One lane after the other, by the functions for scalars; but for divisions.
static const char *each_lane(CodeText *c, const ImpExp *e, const char *function) {
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  Text *t = text_new();
  text_printf(t, "%s(",
              divides_at_once(e) ? helper_divide(c, function, e)
                                 : helper_each(c, function, e));
  for (int i = 0; i < count; i++)
    text_printf(t, "%s%s", i ? ", " : "", vector_exp(c, operands[i]));
  text_add(t, ")");
  return text_str(t);
}

static const char *wrapping(const ImpExp *e, const char *a, const char *op,
                            const char *b) {
  PrimType type = e->type;
  if (prim_is_float(type) || !prim_is_signed(type))
    return text_format("(%s %s %s)", a, op, b);
  const char *plain = vector_type(type, e->lanes);
  return text_format("as_%s(as_u%s(%s) %s as_u%s(%s))", plain, plain, a, op, plain, b);
}

// Index arithmetic does not overflow, but PoCL would make no use of that: as it is.
static const char *compare(const ImpExp *e, const char *a, const char *op,
                           const char *b) {
  PrimType type = e->u.op.operands;
  bool same = type == PRIM_I32 || type == PRIM_U32 || type == PRIM_F32;
  if (same) return text_format("(%s %s %s)", a, op, b);
  return text_format("convert_int%d(%s %s %s)", e->lanes, a, op, b);
}

static const char *of_bools(const ImpExp *e, const char *a, const char *b) {
  PrimOp op = e->u.op.op;
  if (op == OP_EQ) return text_format("(~(%s ^ %s))", a, b);
  if (op == OP_NE) return text_format("(%s ^ %s)", a, b);
  if (op == OP_LT) return text_format("(~%s & %s)", a, b);
  if (op == OP_LE) return text_format("(~%s | %s)", a, b);
  return text_format("(%s %s %s)", a, op_vector(op, PRIM_BOOL), b);
}

// Floats: a comparison of which processors have an instruction, under the mask of another one, as
// NaN is not chosen.
static const char *least_or_greatest(CodeText *c, const ImpExp *e) {
  const char *a = as_variable(c, e->u.op.args[0]), *b = as_variable(c, e->u.op.args[1]);
  if (!prim_is_float(e->type))
    return text_format("%s(%s, %s)", op_vector(e->u.op.op, e->type), a, b);
  const char *sign = e->u.op.op == OP_MIN ? "<" : ">";
  return text_format("(%s == %s ? (%s %s %s ? %s : %s) : %s)", a, a, b, sign, a, b, a, b);
}

// A division that vectors have: of floats, or by a constant that is neither 0 nor -1.
static bool is_vector_division(const ImpExp *e) {
  const ImpExp *divisor = e->u.op.args[1];
  if (prim_is_float(e->type)) return true;
  if (divisor->kind == IMP_SPLAT) divisor = divisor->u.convert.arg;
  return divisor->kind == IMP_CONST && divisor->u.constant.u.i > 0;
}

// By a positive constant.  Vectors divide what is not negative by fewer instructions, and of -1 - a
// the quotient is -1 less that of a.
static const char *rounding_down(CodeText *c, const ImpExp *e, const char *divisor) {
  const char *a = as_variable(c, e->u.op.args[0]), *name = vector_type(e->type, e->lanes);
  const char *plain = vector_type(prim_unsigned(e->type), e->lanes);
  const char *sign = vector_temporary(c, name, "sign",
                                      text_format("%s >> %d", a, prim_bits(e->type) - 1));
  const char *q = text_format("(as_%s(as_%s(%s ^ %s) / as_%s(%s)) ^ %s)", name, plain, a,
                              sign, plain, divisor, sign);
  if (e->u.op.op == OP_DIV) return q;
  return text_format("as_%s(as_%s(%s) - as_%s(%s) * as_%s(%s))", name, plain, a, plain, q,
                     plain, divisor);
}

// `vector` is the operator's name in OpenCL.
static const char *binary(CodeText *c, const ImpExp *e, const char *vector) {
  PrimOp op = e->u.op.op;
  PrimType type = e->u.op.operands;
  if (op_cost(op, type) == COST_DIVISION && !is_vector_division(e)) return NULL;
  if (op == OP_MIN || op == OP_MAX) return least_or_greatest(c, e);
  if ((op == OP_DIV || op == OP_MOD) && prim_is_signed(type) && !prim_is_float(type))
    return rounding_down(c, e, as_variable(c, e->u.op.args[1]));
  const char *a = vector_exp(c, e->u.op.args[0]), *b = vector_exp(c, e->u.op.args[1]);
  if (type == PRIM_BOOL) return of_bools(e, a, b);
  if (e->type == PRIM_BOOL) return compare(e, a, vector, b);
  if (op == OP_ADD || op == OP_SUB || op == OP_MUL) return wrapping(e, a, vector, b);
  return text_format("(%s %s %s)", a, vector, b);
}

// Of integers, for which LLVM knows the instruction; of OpenCL's own abs PoCL makes one for each
// quarter of a vector.
static const char *absolute(CodeText *c, const ImpExp *e) {
  const char *a = as_variable(c, e->u.op.args[0]), *name = vector_type(e->type, e->lanes);
  const char *plain = vector_type(prim_unsigned(e->type), e->lanes);
  if (!prim_is_signed(e->type)) return a;
  return text_format("(%s < (%s)(0) ? as_%s((%s)(0) - as_%s(%s)) : %s)", a, name, name,
                     plain, plain, a, a);
}

static const char *unary(CodeText *c, const ImpExp *e, const char *vector) {
  PrimOp op = e->u.op.op;
  PrimType type = e->u.op.operands;
  const char *a = vector_exp(c, e->u.op.args[0]), *name = vector_type(type, e->lanes);
  if (op == OP_NEG && prim_is_int(type))
    return wrapping(e, text_format("((%s)(0))", name), "-", a);
  if (op == OP_NEG || op == OP_NOT) return text_format("(%s%s)", vector, a);
  if (op == OP_ABS && prim_is_float(type)) return text_format("fabs(%s)", a);
  if (op == OP_ABS) return absolute(c, e);
  if (op == OP_POPC) return text_format("%s(%s)", helper_popc(c, type, e->lanes), a);
  if (op == OP_ROUND) return text_format("%s(%s)", helper_round(c, type, e->lanes), a);
  return text_format("%s(%s)", vector, a);
}

static const char *ternary(CodeText *c, const ImpExp *e, const char *vector) {
  const char *a = vector_exp(c, e->u.op.args[0]), *b = vector_exp(c, e->u.op.args[1]),
             *d = vector_exp(c, e->u.op.args[2]);
  if (e->u.op.op == OP_MAD) vector = "FLC_MAD";
  return text_format("%s(%s, %s, %s)", vector, a, b, d);
}

// Is it NaN, is it infinite?  By comparisons, whatever the device's functions cost.
static const char *tested(CodeText *c, const ImpExp *e) {
  const char *a = as_variable(c, e->u.op.args[0]);
  const char *nan = compare(e, a, "!=", a);
  if (e->u.op.op == OP_ISNAN) return nan;
  const char *difference = text_format("(%s - %s)", a, a);
  return text_format("(~%s & %s)", nan, compare(e, difference, "!=", difference));
}

// A function of our own or OpenCL's, or NULL.
static const char *library_function(CodeText *c, const ImpExp *e) {
  MathUse use = { e->u.op.op, e->u.op.operands, e->lanes };
  if (op_cost(use.op, use.type) != COST_LIBRARY) return NULL;
  const char *own = c->math ? emit_math_use(c->math, use) : NULL;
  return own ? own : op_vector(use.op, use.type);
}

static const char *call_library(CodeText *c, const ImpExp *e, const char *function) {
  const char *a = vector_exp(c, e->u.op.args[0]);
  if (op_arity(e->u.op.op) == 1) return text_format("%s(%s)", function, a);
  return text_format("%s(%s, %s)", function, a, vector_exp(c, e->u.op.args[1]));
}

static const char *operation(CodeText *c, const ImpExp *e) {
  PrimOp op = e->u.op.op;
  PrimType type = e->u.op.operands;
  const char *vector = op_vector(op, type), *text = NULL;
  if (op == OP_ISNAN || op == OP_ISINF) return tested(c, e);
  const char *function = library_function(c, e);
  if (function) return call_library(c, e, function);
  if (vector || op == OP_MAD)
    text = op_arity(op) == 1   ? unary(c, e, vector)
           : op_arity(op) == 2 ? binary(c, e, vector)
                               : ternary(c, e, vector);
  if (text) return text;
  return each_lane(c, e, text_format("flc_%s_%s", op_name(op), prim_type_name(type)));
}

static const char *is_not_zero(PrimType type, int lanes, const char *value) {
  const char *test = text_format("(%s != (%s)(0))", value, vector_type(type, lanes));
  return prim_size_bytes(type) == 4 ? test : text_format("convert_int%d%s", lanes, test);
}

static const char *conversion(CodeText *c, const ImpExp *e) {
  const ImpExp *arg = e->u.convert.arg;
  PrimType from = arg->type;
  const char *value = vector_exp(c, arg);
  if (e->type == from) return value;
  if (e->type == PRIM_F16 && from == PRIM_F64) return each_lane(c, e, "flc_f64_to_f16");
  if (e->type == PRIM_F16 || from == PRIM_F16)
    return text_format("%s(%s)", helper_half(c, e->type, e->lanes), value);
  if (e->type == PRIM_BOOL) return is_not_zero(from, e->lanes, value);
  if (prim_is_float(from) && prim_is_int(e->type))
    return text_format("%s(%s)", helper_to_int(c, from, e->type, e->lanes), value);
  if (prim_is_float(e->type) && from == PRIM_I64)
    return text_format("%s(%s)", helper_from_i64(c, e->type, e->lanes), value);
  if (from == PRIM_BOOL) value = text_format("(%s & 1)", value);
  if (prim_extends_by_zeros(e->type, from))
    value = text_format("as_%s(%s)", vector_type(prim_unsigned(from), e->lanes), value);
  return text_format("convert_%s(%s)", vector_type(e->type, e->lanes), value);
}

static const char *choice(CodeText *c, const ImpExp *e) {
  const char *mask = vector_exp(c, e->u.select.condition);
  const char *a = vector_exp(c, e->u.select.a), *b = vector_exp(c, e->u.select.b);
  return text_format("(%s ? %s : %s)", mask_for(e->type, e->lanes, mask), a, b);
}

// ---- lanes

static const char *permutation(CodeText *c, const ImpExp *e) {
  const char *function = helper_permute(c, e), *a = vector_exp(c, e->u.permute.a);
  if (!e->u.permute.b) return text_format("%s(%s)", function, a);
  return text_format("%s(%s, %s)", function, a, vector_exp(c, e->u.permute.b));
}

const char *vector_exp(CodeText *c, const ImpExp *e) {
  switch (e->kind) {
  case IMP_VAR: return c_var(c, e->u.var);
  case IMP_OP: return operation(c, e);
  case IMP_CONVERT: return conversion(c, e);
  case IMP_BITS:
    return text_format("as_%s(%s)", vector_type(e->type, e->lanes),
                       vector_exp(c, e->u.convert.arg));
  case IMP_LOAD: return load(c, e);
  case IMP_SELECT: return choice(c, e);
  case IMP_SPLAT: return splat(e, c_exp(c, e->u.convert.arg));
  case IMP_IOTA: return helper_iota(c, e->type, e->lanes);
  case IMP_STRIDED: return strided(c, e);
  case IMP_PERMUTE: return permutation(c, e);
  case IMP_CONST:
  case IMP_ITEM:
  case IMP_SHUFFLE:
  case IMP_TUNING:
  case IMP_PICK:
  case IMP_ANY:
  case IMP_ALL:
  case IMP_MOST:
  case IMP_COUNT: break;
  }
  bug(c->e->c, (Loc){ 0 }, "an expression without vector code");
}
