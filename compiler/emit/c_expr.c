// Expressions and names, common to C and OpenCL C: the fewest parentheses, plain operators where
// they mean exactly what Imp means, and the functions of runtime/scalar.h elsewhere.
#include "emit/c_vector.h"
#include <ctype.h>
#include <math.h>
#include <string.h>

// ---- names

CodeText code_text_new(Emit *e, Text *t) {
  return (CodeText){ .e = e, .t = t, .names = map_new(NULL) };
}

const char *c_identifier(const char *text) {
  Text *t = text_new();
  if (isdigit((unsigned char)*text)) text_add(t, "_");
  for (const char *s = text; *s; s++) {
    bool fine = isalnum((unsigned char)*s) || *s == '_';
    text_add_bytes(t, fine ? s : "_", 1);
  }
  return text_str(t);
}

// Could the name and a number be something else: M_PI_2, CL_VERSION_1_1, flc_fail_8,
// result_0?
static bool is_reserved(const char *name) {
  return (*name >= 'A' && *name <= 'Z') || *name == '_' ||
         strncmp(name, "flc_", 4) == 0 || strncmp(name, "rt_", 3) == 0 ||
         strcmp(name, "result") == 0;
}

const char *c_local_name(const char *name) {
  const char *identifier = c_identifier(name);
  return is_reserved(identifier) ? text_format("v_%s", identifier) : identifier;
}

const char *c_name_of(CodeText *c, const void *binder, const char *name) {
  const char *known = map_get(c->names, binder);
  if (known) return known;
  const char *fresh = text_format("%s_%d", c_local_name(name), ++c->next);
  map_put(c->names, binder, fresh);
  return fresh;
}

const char *c_var(CodeText *c, const Var *var) { return c_name_of(c, var, var->name); }

const char *c_mem(CodeText *c, const Mem *mem) { return c_name_of(c, mem, mem->name); }

static const char *const type_names[PRIM_COUNT] = {
  [PRIM_I8] = "int8_t",    [PRIM_I16] = "int16_t",  [PRIM_I32] = "int32_t",
  [PRIM_I64] = "int64_t",  [PRIM_U8] = "uint8_t",   [PRIM_U16] = "uint16_t",
  [PRIM_U32] = "uint32_t", [PRIM_U64] = "uint64_t", [PRIM_F16] = "uint16_t",
  [PRIM_F32] = "float",    [PRIM_F64] = "double",   [PRIM_BOOL] = "bool",
};

const char *c_type(PrimType type) { return type_names[type]; }

const char *c_memory_type(PrimType type) {
  return type == PRIM_BOOL ? "uint8_t" : type_names[type];
}

// ---- expressions

// C's levels of precedence, as far as they are used.
typedef enum Prec {
  PREC_TERNARY,
  PREC_OR,
  PREC_AND,
  PREC_BITS,
  PREC_EQUAL,
  PREC_LESS,
  PREC_ADD,
  PREC_MUL,
  PREC_UNARY,
  PREC_PRIMARY
} Prec;

typedef struct Piece {
  const char *text;
  Prec prec;
} Piece;

// An operator that C has with the same meaning.  `operand`: what its operands must bind like;
// higher than C demands where gcc warns about clarity.
typedef struct Plain {
  const char *text;
  Prec prec, left, right;
} Plain;

static Piece piece(CodeText *c, const ImpExp *e, Arith arith);

static const char *at_least(Piece p, Prec prec) {
  return p.prec >= prec ? p.text : text_format("(%s)", p.text);
}

static bool has_plain_arithmetic(PrimType type, Arith arith) {
  if (arith == ARITH_PLAIN && type == PRIM_I64) return true;
  return prim_is_float(type) || type == PRIM_U32 || type == PRIM_U64;
}

static Plain arithmetic(PrimOp op) {
  if (op == OP_ADD) return (Plain){ "+", PREC_ADD, PREC_ADD, PREC_MUL };
  if (op == OP_SUB) return (Plain){ "-", PREC_ADD, PREC_ADD, PREC_MUL };
  return (Plain){ op == OP_MUL ? "*" : "/", PREC_MUL, PREC_MUL, PREC_UNARY };
}

static Plain comparison(PrimOp op) {
  if (op == OP_EQ) return (Plain){ "==", PREC_EQUAL, PREC_ADD, PREC_ADD };
  if (op == OP_NE) return (Plain){ "!=", PREC_EQUAL, PREC_ADD, PREC_ADD };
  return (Plain){ op == OP_LT ? "<" : "<=", PREC_LESS, PREC_ADD, PREC_ADD };
}

static bool is_positive(const ImpExp *e) {
  if (e->kind == IMP_ITEM) return e->u.item == ITEM_LOCAL_SIZE;
  return e->kind == IMP_CONST && prim_is_int(e->type) && e->u.constant.u.i > 0;
}

// The division that C has: truncating, by what is surely neither 0 nor -1.
static Plain division(const ImpExp *e) {
  Plain none = { 0 };
  PrimOp op = e->u.op.op;
  bool truncates = op == OP_QUOT || op == OP_REM || !prim_is_signed(e->u.op.operands);
  if (!truncates || !is_positive(e->u.op.args[1])) return none;
  bool remainder = op == OP_REM || op == OP_MOD;
  return (Plain){ remainder ? "%" : "/", PREC_MUL, PREC_MUL, PREC_UNARY };
}

// text is NULL if C has no such operator.
static Plain plain_operator(const ImpExp *e, Arith arith) {
  PrimType type = e->u.op.operands;
  PrimOp op = e->u.op.op;
  if (op == OP_ADD || op == OP_SUB || op == OP_MUL ||
      (op == OP_DIV && prim_is_float(type)))
    return has_plain_arithmetic(type, arith) ? arithmetic(op) : (Plain){ 0 };
  if (op == OP_EQ || op == OP_NE || op == OP_LT || op == OP_LE)
    return type == PRIM_BOOL && (op == OP_LT || op == OP_LE) ? (Plain){ 0 }
                                                             : comparison(op);
  if ((op == OP_DIV || op == OP_MOD || op == OP_QUOT || op == OP_REM) &&
      prim_is_int(type))
    return division(e);
  if (op == OP_AND) return (Plain){ "&", PREC_BITS, PREC_UNARY, PREC_UNARY };
  if (op == OP_OR) return (Plain){ "|", PREC_BITS, PREC_UNARY, PREC_UNARY };
  if (op == OP_XOR) return (Plain){ "^", PREC_BITS, PREC_UNARY, PREC_UNARY };
  if (op == OP_LAND) return (Plain){ "&&", PREC_AND, PREC_AND, PREC_BITS };
  if (op == OP_LOR) return (Plain){ "||", PREC_OR, PREC_OR, PREC_BITS };
  return (Plain){ 0 };
}

static const char *function_of(CodeText *c, const ImpExp *e, Arith arith) {
  PrimOp op = e->u.op.op;
  PrimType type = e->u.op.operands;
  bool saturates = arith == ARITH_SATURATE && type == PRIM_I64;
  if (saturates && (op == OP_ADD || op == OP_MUL))
    return text_format("rt_sat_%s", op_name(op));
  const char *own = c->math ? emit_math_use(c->math, (MathUse){ op, type, 1 }) : NULL;
  if (own) return own;
  bool by = (op == OP_DIV || op == OP_MOD) && prim_is_int(type) &&
            prim_bits(type) <= 32 && prim_is_signed(type) && is_positive(e->u.op.args[1]);
  return text_format("flc_%s%s_%s", op_name(op), by ? "_by" : "", prim_type_name(type));
}

static Piece call_op(CodeText *c, const ImpExp *e, Arith arith) {
  Text *t = text_new();
  text_printf(t, "%s(", function_of(c, e, arith));
  for (int i = 0; i < op_arity(e->u.op.op); i++)
    text_printf(t, "%s%s", i ? ", " : "", piece(c, e->u.op.args[i], arith).text);
  text_add(t, ")");
  return (Piece){ text_str(t), PREC_PRIMARY };
}

static Piece op_piece(CodeText *c, const ImpExp *e, Arith arith) {
  PrimOp op = e->u.op.op;
  bool saturates = arith == ARITH_SATURATE && e->u.op.operands == PRIM_I64;
  Plain plain = plain_operator(e, saturates ? ARITH_WRAP : arith);
  if (plain.text) {
    const char *left = at_least(piece(c, e->u.op.args[0], arith), plain.left);
    const char *right = at_least(piece(c, e->u.op.args[1], arith), plain.right);
    return (Piece){ text_format("%s %s %s", left, plain.text, right), plain.prec };
  }
  const char *prefix = op == OP_NOT && e->type == PRIM_BOOL     ? "!"
                       : op == OP_NEG && prim_is_float(e->type) ? "-"
                                                                : NULL;
  if (!prefix) return call_op(c, e, arith);
  // A sign before a sign would be another operator.
  const char *operand = at_least(piece(c, e->u.op.args[0], arith), PREC_PRIMARY);
  return (Piece){ text_format("%s%s", prefix, operand), PREC_UNARY };
}

static const char *float_literal(Prim value) {
  double exact = prim_to_double(value);
  if (isnan(exact)) return "NAN";
  if (isinf(exact)) return exact < 0 ? "-INFINITY" : "INFINITY";
  const char *text = prim_text(value);
  int digits = (int)strlen(text) - (int)strlen(prim_type_name(value.type));
  return text_format("%.*s%s", digits, text, value.type == PRIM_F32 ? "f" : "");
}

static const char *int_literal(Prim value) {
  int64_t i = value.u.i;
  if (value.type == PRIM_U64 || value.type == PRIM_U32) {
    bool is_long = (uint64_t)i > UINT32_MAX;
    return text_format("%llu%s", (unsigned long long)i, is_long ? "ul" : "u");
  }
  if (i == INT64_MIN) return "INT64_MIN";
  return i == INT32_MIN ? "INT32_MIN" : text_format("%lld", (long long)i);
}

static Piece const_piece(Prim value) {
  const char *text = value.type == PRIM_F16 ? text_format("0x%04x", (unsigned)value.u.i)
                     : prim_is_float(value.type) ? float_literal(value)
                     : value.type == PRIM_BOOL   ? prim_text(value)
                                                 : int_literal(value);
  return (Piece){ text, *text == '-' ? PREC_UNARY : PREC_PRIMARY };
}

// The f16 that an operand in f32 is made of, or equal to; else NULL.
static const ImpExp *half_operand(const ImpExp *e) {
  if (e->kind == IMP_CONVERT && e->u.convert.arg->type == PRIM_F16)
    return e->u.convert.arg;
  if (e->kind != IMP_CONST) return NULL;
  const ImpExp *half = imp_convert(PRIM_F16, e);
  double exact = prim_to_double(e->u.constant);
  return prim_to_double(half->u.constant) == exact ? half : NULL;
}

// Operations of f16, which are lowered to those of f32 (Note [f16]): devices may have them.
static const char *half_function(CodeText *c, const ImpExp *e, Arith arith) {
  const ImpExp *wide = e->u.convert.arg;
  if (e->type != PRIM_F16 || wide->kind != IMP_OP || wide->type != PRIM_F32) return NULL;
  PrimOp op = wide->u.op.op;
  if (op != OP_ADD && op != OP_SUB && op != OP_MUL) return NULL;
  const ImpExp *a = half_operand(wide->u.op.args[0]),
               *b = half_operand(wide->u.op.args[1]);
  if (!a || !b) return NULL;
  return text_format("flc_%s_f16(%s, %s)", op_name(op), piece(c, a, arith).text,
                     piece(c, b, arith).text);
}

static Piece convert_piece(CodeText *c, const ImpExp *e, Arith arith) {
  const ImpExp *arg = e->u.convert.arg;
  const char *in_half = half_function(c, e, arith);
  if (in_half) return (Piece){ in_half, PREC_PRIMARY };
  Piece inner = piece(c, arg, arith);
  if (e->type == arg->type) return inner;
  bool half = e->type == PRIM_F16 || arg->type == PRIM_F16;
  if (half || (prim_is_float(arg->type) && prim_is_int(e->type))) {
    const char *text = text_format("flc_%s_to_%s(%s)", prim_type_name(arg->type),
                                   prim_type_name(e->type), inner.text);
    return (Piece){ text, PREC_PRIMARY };
  }
  if (e->type == PRIM_BOOL)
    return (Piece){ text_format("%s != 0", at_least(inner, PREC_ADD)), PREC_EQUAL };
  const char *text = at_least(inner, PREC_UNARY);
  if (prim_extends_by_zeros(e->type, arg->type))
    text = text_format("(%s)%s", c_type(prim_unsigned(arg->type)), text);
  return (Piece){ text_format("(%s)%s", c_type(e->type), text), PREC_UNARY };
}

// A value of type f16 is its bits.
static PrimType bits_type(PrimType type) { return type == PRIM_F16 ? PRIM_U16 : type; }

static Piece bits_piece(CodeText *c, const ImpExp *e) {
  const ImpExp *arg = e->u.convert.arg;
  Piece inner = piece(c, arg, ARITH_WRAP);
  PrimType from = bits_type(arg->type), to = bits_type(e->type);
  if (from == to) return inner;
  const char *text = text_format("flc_bits_%s_to_%s(%s)", prim_type_name(from),
                                 prim_type_name(to), inner.text);
  return (Piece){ text, PREC_PRIMARY };
}

static Piece select_piece(CodeText *c, const ImpExp *e, Arith arith) {
  const char *condition = at_least(piece(c, e->u.select.condition, arith), PREC_OR);
  const char *a = at_least(piece(c, e->u.select.a, arith), PREC_OR);
  const char *b = at_least(piece(c, e->u.select.b, arith), PREC_TERNARY);
  return (Piece){ text_format("%s ? %s : %s", condition, a, b), PREC_TERNARY };
}

static const char *const item_texts[] = {
  [ITEM_GLOBAL_ID] = "flc_number(get_global_id(0))",
  [ITEM_LOCAL_ID] = "flc_number(get_local_id(0))",
  [ITEM_GROUP_ID] = "flc_number(get_group_id(0))",
  [ITEM_LOCAL_SIZE] = "FLC_GROUP_SIZE",
  [ITEM_LOCAL_STEPS] = "FLC_GROUP_STEPS",
  [ITEM_SUB_STEPS] = "FLC_SUB_STEPS",
  [ITEM_ATOMIC_BYTES] = "rt_atomic_bytes(ctx)",
};

static Piece item_piece(const CodeText *c, ItemNumber item) {
  if (c->lone && (item == ITEM_GLOBAL_ID || item == ITEM_GROUP_ID))
    return (Piece){ "flc_item", PREC_PRIMARY };
  return (Piece){ item_texts[item], PREC_UNARY };
}

static Piece tuning_piece(CodeText *c, const ImpExp *e) {
  int index = emit_tuning_index(c->e, e->u.tuning);
  return (Piece){ text_format("rt_param(ctx, %d)", index), PREC_PRIMARY };
}

static Piece load_piece(CodeText *c, const ImpExp *e) {
  const char *element = c_element(c, e->u.load.mem, e->u.load.index);
  if (!c->guarded) return (Piece){ element, PREC_PRIMARY };
  return (Piece){ text_format("(flc_ok ? %s : 0)", element), PREC_PRIMARY };
}

static Piece shuffle_piece(CodeText *c, const ImpExp *e) {
  const char *value = piece(c, e->u.shuffle.value, ARITH_WRAP).text,
             *apart = piece(c, e->u.shuffle.apart, ARITH_PLAIN).text;
  return (Piece){ text_format("flc_shuffle_%s(%s, %s, %s)", prim_type_name(e->type),
                              value, apart, e->u.shuffle.up ? "true" : "false"),
                  PREC_PRIMARY };
}

static Piece call_piece(const char *function, const char *arg) {
  return (Piece){ text_format("%s(%s)", function, arg), PREC_PRIMARY };
}

static Piece pick_piece(CodeText *c, const ImpExp *e) {
  const ImpExp *vector = e->u.pick.vector, *which = e->u.pick.which;
  const char *text = vector_exp(c, vector);
  if (which->kind == IMP_CONST && vector->kind == IMP_VAR)
    text = text_format("%s.s%c", text, vector_digit((int)which->u.constant.u.i));
  else
    text = text_format("%s(%s, %s)", helper_pick(c, e->type, vector->lanes), text,
                       c_size(c, which));
  if (e->type == PRIM_BOOL) return (Piece){ text_format("%s != 0", text), PREC_EQUAL };
  return (Piece){ text, PREC_PRIMARY };
}

static Piece piece(CodeText *c, const ImpExp *e, Arith arith) {
  if (e->lanes) return (Piece){ vector_exp(c, e), PREC_PRIMARY };
  switch (e->kind) {
  case IMP_VAR: return (Piece){ c_var(c, e->u.var), PREC_PRIMARY };
  case IMP_CONST: return const_piece(e->u.constant);
  case IMP_OP: return op_piece(c, e, arith);
  case IMP_CONVERT: return convert_piece(c, e, arith);
  case IMP_BITS: return bits_piece(c, e);
  case IMP_SHUFFLE: return shuffle_piece(c, e);
  case IMP_LOAD: return load_piece(c, e);
  case IMP_SELECT: return select_piece(c, e, arith);
  case IMP_ITEM: return item_piece(c, e->u.item);
  case IMP_TUNING: return tuning_piece(c, e);
  case IMP_PICK: return pick_piece(c, e);
  case IMP_ANY:
    return call_piece(helper_any(c, e->u.convert.arg->lanes),
                      vector_exp(c, e->u.convert.arg));
  case IMP_ALL:
    return call_piece(helper_all(c, e->u.convert.arg->lanes),
                      vector_exp(c, e->u.convert.arg));
  case IMP_MOST:
    return call_piece(helper_most(c, e->u.convert.arg->lanes),
                      vector_exp(c, e->u.convert.arg));
  case IMP_COUNT:
    return call_piece(helper_count(c, e->u.convert.arg->lanes),
                      vector_exp(c, e->u.convert.arg));
  case IMP_SPLAT:
  case IMP_IOTA:
  case IMP_STRIDED:
  case IMP_PERMUTE: break;  // vectors
  }
  return (Piece){ "", PREC_PRIMARY };
}

const char *c_exp(CodeText *c, const ImpExp *e) { return piece(c, e, ARITH_WRAP).text; }

const char *c_size(CodeText *c, const ImpExp *e) { return piece(c, e, ARITH_PLAIN).text; }

const char *c_bound(CodeText *c, const ImpExp *e) {
  return at_least(piece(c, e, ARITH_PLAIN), PREC_ADD);
}

const char *c_saturating(CodeText *c, const ImpExp *e) {
  return piece(c, e, ARITH_SATURATE).text;
}

const char *c_element(CodeText *c, const Mem *mem, const ImpExp *index) {
  Piece at = piece(c, index, ARITH_PLAIN);
  if (mem->space != MEM_SCRATCH || !c->interleaved)
    return text_format("%s[%s]", c_mem(c, mem), at.text);
  const char *name = c_mem(c, mem), *times = at_least(at, PREC_MUL);
  if (c->own_group)
    return text_format("%s[%s * %lld]", name, times, (long long)c->own_group);
  return text_format("%s[%s * (int64_t)get_global_size(0)]", name, times);
}

// ---- lines

void c_line(CodeText *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  text_newline(c->t);
  text_printf_list(c->t, format, args);
  va_end(args);
}

void c_open(CodeText *c) { text_indent(c->t, 2); }

void c_close(CodeText *c) {
  text_indent(c->t, -2);
  c_line(c, "}");
}
