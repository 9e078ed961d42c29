// Scalar types, values and what is known about the operators; prim_apply.c computes.
#include "base/prim.h"
#include <math.h>
#include <string.h>

typedef struct TypeRow {
  const char *name;
  int bits;
} TypeRow;

static const TypeRow types[PRIM_COUNT] = {
  [PRIM_I8] = { "i8", 8 },    [PRIM_I16] = { "i16", 16 }, [PRIM_I32] = { "i32", 32 },
  [PRIM_I64] = { "i64", 64 }, [PRIM_U8] = { "u8", 8 },    [PRIM_U16] = { "u16", 16 },
  [PRIM_U32] = { "u32", 32 }, [PRIM_U64] = { "u64", 64 }, [PRIM_F16] = { "f16", 16 },
  [PRIM_F32] = { "f32", 32 }, [PRIM_F64] = { "f64", 64 }, [PRIM_BOOL] = { "bool", 8 },
};

const char *prim_type_name(PrimType type) { return types[type].name; }

bool prim_type_named(const char *name, PrimType *out) {
  for (PrimType type = 0; type < PRIM_COUNT; type++) {
    if (strcmp(types[type].name, name) != 0) continue;
    *out = type;
    return true;
  }
  return false;
}

int prim_size_bytes(PrimType type) { return types[type].bits / 8; }
int prim_bits(PrimType type) { return types[type].bits; }
bool prim_is_int(PrimType type) { return type <= PRIM_U64; }
bool prim_is_signed(PrimType type) { return type <= PRIM_I64; }
bool prim_is_float(PrimType type) { return type >= PRIM_F16 && type <= PRIM_F64; }

PrimType prim_unsigned(PrimType type) {
  return prim_is_signed(type) ? type + (PRIM_U8 - PRIM_I8) : type;
}

PrimType prim_signed(PrimType type) {
  return prim_is_int(type) && !prim_is_signed(type) ? type - (PRIM_U8 - PRIM_I8) : type;
}

// The words of prim.def's columns, as sets of types and as results.
typedef enum Operands {
  INT = 1,
  FLOAT = 2,
  BOOL_ONLY = 4,
  NUM = INT | FLOAT,
  INTBOOL = INT | BOOL_ONLY,
  ANY = NUM | BOOL_ONLY
} Operands;
typedef enum Result { RESULT_SAME, RESULT_BOOL, RESULT_I32 } Result;
typedef enum CostColumn { CHEAP, DIVISION, REMAINDER, LIBRARY } CostColumn;

typedef struct OpRow {
  const char *spelling;
  int arity;
  Operands operands;
  Result result;
  CostColumn cost;
  const char *vector;
} OpRow;

// BOOL means one thing in the column of operands, another in that of results.
#define OPERANDS_INT     INT
#define OPERANDS_FLOAT   FLOAT
#define OPERANDS_NUM     NUM
#define OPERANDS_BOOL    BOOL_ONLY
#define OPERANDS_INTBOOL INTBOOL
#define OPERANDS_ANY     ANY
static const OpRow ops[OP_COUNT] = {
#define OP(name, spelling, arity, operands, result, cost, vector) \
  [OP_##name] = { spelling, arity, OPERANDS_##operands, RESULT_##result, cost, vector },
#include "base/prim.def"
#undef OP
};

// The operators that are spelled by symbols; the name of any other is its spelling.
static const char *const names[OP_COUNT] = {
  [OP_ADD] = "add", [OP_SUB] = "sub",   [OP_MUL] = "mul", [OP_DIV] = "div",
  [OP_MOD] = "mod", [OP_QUOT] = "quot", [OP_REM] = "rem", [OP_POW] = "pow",
  [OP_AND] = "and", [OP_OR] = "or",     [OP_XOR] = "xor", [OP_SHL] = "shl",
  [OP_SHR] = "shr", [OP_EQ] = "eq",     [OP_NE] = "ne",   [OP_LT] = "lt",
  [OP_LE] = "le",   [OP_LAND] = "land", [OP_LOR] = "lor",
};

const char *op_name(PrimOp op) { return names[op] ? names[op] : ops[op].spelling; }
const char *op_spelling(PrimOp op) { return ops[op].spelling; }
int op_arity(PrimOp op) { return ops[op].arity; }

bool op_exists(PrimOp op, PrimType operands) {
  Operands wanted = prim_is_int(operands)     ? INT
                    : prim_is_float(operands) ? FLOAT
                                              : BOOL_ONLY;
  return (ops[op].operands & wanted) != 0;
}

PrimType op_result(PrimOp op, PrimType operands) {
  switch (ops[op].result) {
  case RESULT_SAME: return operands;
  case RESULT_BOOL: return PRIM_BOOL;
  case RESULT_I32: return PRIM_I32;
  }
  __builtin_unreachable();
}

static const bool commutative[OP_COUNT] = {
  [OP_ADD] = true,   [OP_MUL] = true,  [OP_AND] = true, [OP_OR] = true,
  [OP_XOR] = true,   [OP_MIN] = true,  [OP_MAX] = true, [OP_EQ] = true,
  [OP_NE] = true,    [OP_LAND] = true, [OP_LOR] = true, [OP_MUL_HI] = true,
  [OP_HYPOT] = true,
};

bool op_is_commutative(PrimOp op) { return commutative[op]; }

bool op_joins_in_any_order(PrimOp op, PrimType type) {
  if (type == PRIM_BOOL) return op == OP_LAND || op == OP_LOR;
  return prim_is_int(type) &&
         (op == OP_ADD || op == OP_MUL || op == OP_AND || op == OP_OR || op == OP_XOR ||
          op == OP_MIN || op == OP_MAX);
}

bool op_may_trap(PrimOp op, PrimType operands) {
  if (op == OP_POW) return prim_is_signed(operands);
  bool divides = op == OP_DIV || op == OP_MOD || op == OP_QUOT || op == OP_REM;
  return divides && prim_is_int(operands);
}

OpCost op_cost(PrimOp op, PrimType operands) {
  switch (ops[op].cost) {
  case CHEAP: return COST_CHEAP;
  case DIVISION: return COST_DIVISION;
  case REMAINDER: return prim_is_float(operands) ? COST_LIBRARY : COST_DIVISION;
  case LIBRARY: return COST_LIBRARY;
  }
  __builtin_unreachable();
}

bool op_is_cheap(PrimOp op, PrimType operands) {
  OpCost cost = op_cost(op, operands);
  return cost == COST_CHEAP || (cost == COST_DIVISION && prim_is_float(operands));
}

const char *op_vector(PrimOp op, PrimType operands) {
  // f16 is computed in f32 (Note [f16]), but for these.
  if (operands == PRIM_F16 && (op == OP_FMA || op == OP_NEXTAFTER)) return NULL;
  bool none = prim_is_float(operands) ? ops[op].cost == REMAINDER : op == OP_POW;
  return none ? NULL : ops[op].vector;
}

Prim prim_i32(int32_t value) { return (Prim){ .type = PRIM_I32, .u.i = value }; }
Prim prim_i64(int64_t value) { return (Prim){ .type = PRIM_I64, .u.i = value }; }
Prim prim_bool(bool value) { return (Prim){ .type = PRIM_BOOL, .u.i = value }; }
Prim prim_f32(float value) { return (Prim){ .type = PRIM_F32, .u.f32 = value }; }
Prim prim_f64(double value) { return (Prim){ .type = PRIM_F64, .u.f64 = value }; }

static int64_t wrap(PrimType type, int64_t value) {
  switch (type) {
  case PRIM_I8: return (int8_t)value;
  case PRIM_I16: return (int16_t)value;
  case PRIM_I32: return (int32_t)value;
  case PRIM_U8: return (uint8_t)value;
  case PRIM_U16: return (uint16_t)value;
  case PRIM_U32: return (uint32_t)value;
  case PRIM_I64:
  case PRIM_U64: return value;
  case PRIM_BOOL: return value & 1;
  case PRIM_F16:
  case PRIM_F32:
  case PRIM_F64:
  case PRIM_COUNT: break;
  }
  __builtin_unreachable();
}

Prim prim_int(PrimType type, int64_t value) {
  return (Prim){ .type = type, .u.i = wrap(type, value) };
}

// An f16 has 5 bits of exponent and 10 of fraction, like an f32 otherwise.
enum { HALF_SIGN = 0x8000, HALF_INF = 0x7c00, HALF_NAN = 0x7e00, HALF_HIDDEN = 0x400 };

static double double_of_half(int64_t bits) {
  int64_t exponent = (bits & HALF_INF) >> 10, fraction = bits & (HALF_HIDDEN - 1);
  double value = exponent ? ldexp((double)(HALF_HIDDEN + fraction), (int)exponent - 25)
                          : ldexp((double)fraction, -24);
  if (exponent == 31) value = fraction ? NAN : INFINITY;
  return bits & HALF_SIGN ? -value : value;
}

// Rounded to even, once: the number of steps that f16 has up to `value` is found in f64.
static int64_t half_of_double(double value) {
  int64_t sign = signbit(value) ? HALF_SIGN : 0;
  double magnitude = fabs(value);
  if (isnan(value)) return sign | HALF_NAN;
  if (magnitude >= 65520) return sign | HALF_INF;  // half a step above the greatest
  int exponent = 0;
  frexp(magnitude, &exponent);
  bool subnormal = magnitude < 0x1p-14;
  double steps = rint(ldexp(magnitude, subnormal ? 24 : 11 - exponent));
  int64_t below = subnormal ? 0 : (int64_t)(exponent + 13) * HALF_HIDDEN;
  return sign | (below + (int64_t)steps);
}

Prim prim_float(PrimType type, double value) {
  if (type == PRIM_F16) return (Prim){ .type = type, .u.i = half_of_double(value) };
  return type == PRIM_F32 ? prim_f32((float)value) : prim_f64(value);
}

Prim prim_zero(PrimType type) {
  return prim_is_float(type) ? prim_float(type, 0) : prim_int(type, 0);
}

Prim prim_one(PrimType type) {
  return prim_is_float(type) ? prim_float(type, 1) : prim_int(type, 1);
}

Prim prim_lowest(PrimType type) {
  if (prim_is_float(type)) return prim_float(type, -INFINITY);
  if (!prim_is_signed(type)) return prim_zero(type);
  return prim_int(type, -1 - (INT64_MAX >> (64 - prim_bits(type))));
}

Prim prim_highest(PrimType type) {
  if (prim_is_float(type)) return prim_float(type, INFINITY);
  if (type == PRIM_BOOL) return prim_bool(true);
  if (!prim_is_signed(type)) return prim_int(type, -1);
  return prim_int(type, INT64_MAX >> (64 - prim_bits(type)));
}

Prim prim_neutral(PrimOp op, PrimType type) {
  if (type == PRIM_BOOL) return prim_bool(op == OP_LAND);
  if (op == OP_AND) return prim_int(type, -1);
  if (op == OP_MUL) return prim_one(type);
  if (op == OP_MIN) return prim_highest(type);
  return op == OP_MAX ? prim_lowest(type) : prim_zero(type);
}

double prim_to_double(Prim value) {
  if (value.type == PRIM_F16) return double_of_half(value.u.i);
  if (value.type == PRIM_F32) return (double)value.u.f32;
  if (value.type == PRIM_F64) return value.u.f64;
  return value.type == PRIM_U64 ? (double)(uint64_t)value.u.i : (double)value.u.i;
}

uint64_t prim_bits_of(Prim value) {
  uint64_t bits = 0;
  if (value.type == PRIM_F32) {
    memcpy(&bits, &value.u.f32, sizeof value.u.f32);
  } else if (value.type == PRIM_F64) {
    memcpy(&bits, &value.u.f64, sizeof value.u.f64);
  } else {
    bits = (uint64_t)value.u.i & (UINT64_MAX >> (64 - prim_bits(value.type)));
  }
  return bits;
}

Prim prim_of_bits(PrimType type, uint64_t bits) {
  if (!prim_is_float(type)) return prim_int(type, (int64_t)bits);
  Prim value = { .type = type };
  if (type == PRIM_F16) value.u.i = (int64_t)bits;
  if (type == PRIM_F32) memcpy(&value.u.f32, &bits, sizeof value.u.f32);
  if (type == PRIM_F64) memcpy(&value.u.f64, &bits, sizeof value.u.f64);
  return value;
}

bool prim_identical(Prim a, Prim b) {
  return a.type == b.type && prim_bits_of(a) == prim_bits_of(b);
}
