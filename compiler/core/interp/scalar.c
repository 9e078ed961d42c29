// Scalar instructions.  The common operators on the common types have functions of their own, equal
// to prim_apply; all others go through prim_apply itself.
#include "base/mem.h"
#include "core/interp/machine.h"
#include <math.h>
#include <string.h>

// ---- the general case

typedef struct Scalar {
  const Exp *exp;
  Slot args[3];
  PrimType result;
} Scalar;

static bool trap(Machine *m, const Ins *ins, const Scalar *s) {
  if (s->exp->u.op.op == OP_POW)
    return run_fail(m, ins->stm, "negative exponent of an integer power");
  return run_fail(m, ins->stm, "division by zero");
}

static bool run_op(Machine *m, const Ins *ins) {
  const Scalar *s = ins->more;
  Prim args[3], result;
  for (int i = 0; i < op_arity(s->exp->u.op.op); i++)
    args[i] = word_prim(s->args[i].elem, s->args[i].at);
  if (!prim_apply(s->exp->u.op.op, args, &result)) return trap(m, ins, s);
  word_set_prim(ins->dst, result);
  return true;
}

static bool run_convert(Machine *m, const Ins *ins) {
  (void)m;
  const Scalar *s = ins->more;
  word_set_prim(ins->dst, prim_convert(s->result, word_prim(s->args[0].elem, ins->a)));
  return true;
}

static bool run_bits(Machine *m, const Ins *ins) {
  (void)m;
  const Scalar *s = ins->more;
  uint64_t bits = prim_bits_of(word_prim(s->args[0].elem, ins->a));
  word_set_prim(ins->dst, prim_of_bits(s->result, bits));
  return true;
}

// ---- the fast cases

#define INS_FN(NAME, ...)                        \
  static bool NAME(Machine *m, const Ins *ins) { \
    (void)m;                                     \
    __VA_ARGS__;                                 \
    return true;                                 \
  }

// Wrapping arithmetic in uint64_t, then cut to the type.
#define INT_OPS(TYPE, T)                                                                 \
  INS_FN(add_##TYPE,                                                                     \
         ins->dst->i = (int64_t)(T)((uint64_t)ins->a->i + (uint64_t)ins->b->i))          \
  INS_FN(sub_##TYPE,                                                                     \
         ins->dst->i = (int64_t)(T)((uint64_t)ins->a->i - (uint64_t)ins->b->i))          \
  INS_FN(mul_##TYPE,                                                                     \
         ins->dst->i = (int64_t)(T)((uint64_t)ins->a->i * (uint64_t)ins->b->i))          \
  INS_FN(shl_##TYPE,                                                                     \
         ins->dst->i = (int64_t)(T)((uint64_t)ins->a->i                                  \
                                    << (ins->b->i & (8 * (int)sizeof(T) - 1))))          \
  INS_FN(shr_##TYPE, ins->dst->i = (int64_t)(T)((T)ins->a->i >>                          \
                                                (ins->b->i & (8 * (int)sizeof(T) - 1)))) \
  INS_FN(lt_##TYPE, ins->dst->i = (T)ins->a->i < (T)ins->b->i)                           \
  INS_FN(le_##TYPE, ins->dst->i = (T)ins->a->i <= (T)ins->b->i)                          \
  INS_FN(min_##TYPE, ins->dst->i = (T)ins->b->i < (T)ins->a->i ? ins->b->i : ins->a->i)  \
  INS_FN(max_##TYPE, ins->dst->i = (T)ins->a->i < (T)ins->b->i ? ins->b->i : ins->a->i)
INT_OPS(PRIM_I8, int8_t)
INT_OPS(PRIM_I16, int16_t)
INT_OPS(PRIM_I32, int32_t)
INT_OPS(PRIM_I64, int64_t)
INT_OPS(PRIM_U8, uint8_t)
INT_OPS(PRIM_U16, uint16_t)
INT_OPS(PRIM_U32, uint32_t)
INT_OPS(PRIM_U64, uint64_t)

// The same for every type that is kept in `i`.
INS_FN(and_int, ins->dst->i = ins->a->i & ins->b->i)
INS_FN(or_int, ins->dst->i = ins->a->i | ins->b->i)
INS_FN(xor_int, ins->dst->i = ins->a->i ^ ins->b->i)
INS_FN(eq_int, ins->dst->i = ins->a->i == ins->b->i)
INS_FN(ne_int, ins->dst->i = ins->a->i != ins->b->i)
INS_FN(not_bool, ins->dst->i = !ins->a->i)

#define FLOAT_OPS(TYPE, M, F)                                     \
  INS_FN(add_##TYPE, ins->dst->M = ins->a->M + ins->b->M)         \
  INS_FN(sub_##TYPE, ins->dst->M = ins->a->M - ins->b->M)         \
  INS_FN(mul_##TYPE, ins->dst->M = ins->a->M * ins->b->M)         \
  INS_FN(div_##TYPE, ins->dst->M = ins->a->M / ins->b->M)         \
  INS_FN(min_##TYPE, ins->dst->M = F(fmin)(ins->a->M, ins->b->M)) \
  INS_FN(max_##TYPE, ins->dst->M = F(fmax)(ins->a->M, ins->b->M)) \
  INS_FN(eq_##TYPE, ins->dst->i = ins->a->M == ins->b->M)         \
  INS_FN(ne_##TYPE, ins->dst->i = ins->a->M != ins->b->M)         \
  INS_FN(lt_##TYPE, ins->dst->i = ins->a->M < ins->b->M)          \
  INS_FN(le_##TYPE, ins->dst->i = ins->a->M <= ins->b->M)         \
  INS_FN(neg_##TYPE, ins->dst->M = -ins->a->M)                    \
  INS_FN(abs_##TYPE, ins->dst->M = F(fabs)(ins->a->M))            \
  INS_FN(sqrt_##TYPE, ins->dst->M = F(sqrt)(ins->a->M))           \
  INS_FN(exp_##TYPE, ins->dst->M = F(exp)(ins->a->M))             \
  INS_FN(log_##TYPE, ins->dst->M = F(log)(ins->a->M))             \
  INS_FN(sin_##TYPE, ins->dst->M = F(sin)(ins->a->M))             \
  INS_FN(cos_##TYPE, ins->dst->M = F(cos)(ins->a->M))             \
  INS_FN(pow_##TYPE, ins->dst->M = F(pow)(ins->a->M, ins->b->M))
#define F32_FN(name) name##f
#define F64_FN(name) name
FLOAT_OPS(PRIM_F32, f32, F32_FN)
FLOAT_OPS(PRIM_F64, f64, F64_FN)

#define INT_ROW(TYPE)                                                                    \
  [OP_ADD][TYPE] = add_##TYPE, [OP_SUB][TYPE] = sub_##TYPE, [OP_MUL][TYPE] = mul_##TYPE, \
  [OP_SHL][TYPE] = shl_##TYPE, [OP_SHR][TYPE] = shr_##TYPE, [OP_LT][TYPE] = lt_##TYPE,   \
  [OP_LE][TYPE] = le_##TYPE, [OP_MIN][TYPE] = min_##TYPE, [OP_MAX][TYPE] = max_##TYPE,   \
  [OP_AND][TYPE] = and_int, [OP_OR][TYPE] = or_int, [OP_XOR][TYPE] = xor_int,            \
  [OP_EQ][TYPE] = eq_int, [OP_NE][TYPE] = ne_int

#define FLOAT_ROW(TYPE)                                                                  \
  [OP_ADD][TYPE] = add_##TYPE, [OP_SUB][TYPE] = sub_##TYPE, [OP_MUL][TYPE] = mul_##TYPE, \
  [OP_DIV][TYPE] = div_##TYPE, [OP_MIN][TYPE] = min_##TYPE, [OP_MAX][TYPE] = max_##TYPE, \
  [OP_EQ][TYPE] = eq_##TYPE, [OP_NE][TYPE] = ne_##TYPE, [OP_LT][TYPE] = lt_##TYPE,       \
  [OP_LE][TYPE] = le_##TYPE, [OP_NEG][TYPE] = neg_##TYPE, [OP_ABS][TYPE] = abs_##TYPE,   \
  [OP_SQRT][TYPE] = sqrt_##TYPE, [OP_EXP][TYPE] = exp_##TYPE,                            \
  [OP_LOG][TYPE] = log_##TYPE, [OP_SIN][TYPE] = sin_##TYPE, [OP_COS][TYPE] = cos_##TYPE, \
  [OP_POW][TYPE] = pow_##TYPE

static InsFn *fast_op(PrimOp op, PrimType type) {
  static InsFn *const table[OP_COUNT][PRIM_COUNT] = {
    INT_ROW(PRIM_I8),
    INT_ROW(PRIM_I16),
    INT_ROW(PRIM_I32),
    INT_ROW(PRIM_I64),
    INT_ROW(PRIM_U8),
    INT_ROW(PRIM_U16),
    INT_ROW(PRIM_U32),
    INT_ROW(PRIM_U64),
    FLOAT_ROW(PRIM_F32),
    FLOAT_ROW(PRIM_F64),
    [OP_EQ][PRIM_BOOL] = eq_int,
    [OP_NE][PRIM_BOOL] = ne_int,
    [OP_LAND][PRIM_BOOL] = and_int,
    [OP_LOR][PRIM_BOOL] = or_int,
    [OP_NOT][PRIM_BOOL] = not_bool,
  };
  return table[op][type];
}

// Signed division by a positive number, towards minus infinity and towards zero.

static bool div_signed(Machine *m, const Ins *ins) {
  int64_t a = ins->a->i, b = ins->b->i;
  if (b <= 0) return run_op(m, ins);
  ins->dst->i = a / b - (a % b < 0);
  return true;
}

static bool mod_signed(Machine *m, const Ins *ins) {
  int64_t a = ins->a->i, b = ins->b->i;
  if (b <= 0) return run_op(m, ins);
  int64_t remainder = a % b;
  ins->dst->i = remainder < 0 ? remainder + b : remainder;
  return true;
}

static bool quot_signed(Machine *m, const Ins *ins) {
  if (ins->b->i <= 0) return run_op(m, ins);
  ins->dst->i = ins->a->i / ins->b->i;
  return true;
}

static bool rem_signed(Machine *m, const Ins *ins) {
  if (ins->b->i <= 0) return run_op(m, ins);
  ins->dst->i = ins->a->i % ins->b->i;
  return true;
}

// Division by other numbers, and of unsigned ones, is prim_apply's.
static InsFn *fast_division(PrimOp op, PrimType type) {
  if (!prim_is_signed(type)) return NULL;
  if (op == OP_DIV) return div_signed;
  if (op == OP_MOD) return mod_signed;
  if (op == OP_QUOT) return quot_signed;
  return op == OP_REM ? rem_signed : NULL;
}

INS_FN(i64_to_f32, ins->dst->f32 = (float)ins->a->i)
INS_FN(i64_to_f64, ins->dst->f64 = (double)ins->a->i)
INS_FN(f32_to_f64, ins->dst->f64 = (double)ins->a->f32)
INS_FN(f64_to_f32, ins->dst->f32 = (float)ins->a->f64)
INS_FN(to_i32, ins->dst->i = (int32_t)ins->a->i)
INS_FN(to_i64, ins->dst->i = ins->a->i)
INS_FN(to_u8, ins->dst->i = (uint8_t)ins->a->i)
INS_FN(to_u32, ins->dst->i = (uint32_t)ins->a->i)

static InsFn *fast_convert(PrimType to, PrimType from) {
  if (from == PRIM_F16 || to == PRIM_F16) return NULL;
  if (from == PRIM_F32) return to == PRIM_F64 ? f32_to_f64 : NULL;
  if (from == PRIM_F64) return to == PRIM_F32 ? f64_to_f32 : NULL;
  if (prim_extends_by_zeros(to, from)) return NULL;
  bool exact = from != PRIM_U64;  // u64 is kept as if signed
  if (to == PRIM_F32) return exact ? i64_to_f32 : NULL;
  if (to == PRIM_F64) return exact ? i64_to_f64 : NULL;
  if (to == PRIM_I32) return to_i32;
  if (to == PRIM_I64 || to == PRIM_U64) return to_i64;
  if (to == PRIM_U8) return to_u8;
  return to == PRIM_U32 ? to_u32 : NULL;
}

// ---- generating

static void gen_op(Gen *g, const Exp *exp, Slot to) {
  int arity = op_arity(exp->u.op.op);
  Scalar *s = new_node(Scalar, .exp = exp, .result = to.elem);
  for (int i = 0; i < arity; i++)
    s->args[i] = gen_slot(g, exp->u.op.args[i]);
  PrimType type = s->args[0].elem;
  InsFn *run = fast_op(exp->u.op.op, type);
  if (!run) run = fast_division(exp->u.op.op, type);
  gen_add(g, (Ins){ .run = run ? run : run_op,
                    .dst = to.at,
                    .a = s->args[0].at,
                    .b = s->args[1].at,
                    .more = s });
}

void gen_scalar_exp(Gen *g, const Exp *exp, Slot to) {
  if (exp->kind == EXP_OP) {
    gen_op(g, exp, to);
    return;
  }
  Slot from = gen_slot(g, exp->u.convert.atom);
  const Scalar *s =
      new_node(Scalar, .exp = exp, .args = { from }, .result = exp->u.convert.to);
  InsFn *run = exp->kind == EXP_BITS ? run_bits : fast_convert(s->result, from.elem);
  gen_add(g,
          (Ins){ .run = run ? run : run_convert, .dst = to.at, .a = from.at, .more = s });
}
