// Scalar types, scalar values and scalar operators with their exact semantics.  This is the one
// place that says what an operator computes; folding and the interpreter call it.
#pragma once
#include "base/big.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum PrimType {
  PRIM_I8, PRIM_I16, PRIM_I32, PRIM_I64,
  PRIM_U8, PRIM_U16, PRIM_U32, PRIM_U64,
  PRIM_F16, PRIM_F32, PRIM_F64, PRIM_BOOL,
  PRIM_COUNT
} PrimType;

// A scalar.  Integers are kept sign-extended (i8..i64) or zero-extended (u8..u64) in `i`.
typedef struct Prim {
  PrimType type;
  union {
    int64_t i;  // every integer type; bool as 0 or 1; the bits of an f16
    float f32;
    double f64;
  } u;
} Prim;

typedef enum PrimOp {
#define OP(name, spelling, arity, operands, result, cost, vector) OP_##name,
#include "base/prim.def"
#undef OP
  OP_COUNT
} PrimOp;

// See prim.def.
typedef enum OpCost { COST_CHEAP, COST_DIVISION, COST_LIBRARY } OpCost;

const char *prim_type_name(PrimType type);              // "i32"
bool prim_type_named(const char *name, PrimType *out);  // false if there is no such type
int prim_size_bytes(PrimType type);
int prim_bits(PrimType type);                           // 8 for bool
bool prim_is_int(PrimType type);
bool prim_is_signed(PrimType type);                     // i8..i64
bool prim_is_float(PrimType type);
PrimType prim_unsigned(PrimType type);                  // the unsigned type of an integer's width
PrimType prim_signed(PrimType type);                    // the signed one

const char *op_name(PrimOp op);       // lower case: "add"
const char *op_spelling(PrimOp op);   // "+"
int op_arity(PrimOp op);
bool op_exists(PrimOp op, PrimType operands);
PrimType op_result(PrimOp op, PrimType operands);
bool op_is_commutative(PrimOp op);
// Does the operator join several values of the type to the same in any order, however grouped?
// Exactly: not on floats.
bool op_joins_in_any_order(PrimOp op, PrimType type);
bool op_may_trap(PrimOp op, PrimType operands);  // division by zero, negative integer power
OpCost op_cost(PrimOp op, PrimType operands);
bool op_is_cheap(PrimOp op, PrimType operands);  // not dearer than to store its result and read it
const char *op_vector(PrimOp op, PrimType operands);  // what computes OpenCL vectors, or NULL

Prim prim_i32(int32_t value);
Prim prim_i64(int64_t value);
Prim prim_bool(bool value);
Prim prim_f32(float value);
Prim prim_f64(double value);
Prim prim_int(PrimType type, int64_t value);     // wraps to the type
Prim prim_float(PrimType type, double value);    // rounds to the type
Prim prim_zero(PrimType type);
Prim prim_one(PrimType type);
Prim prim_lowest(PrimType type);                 // minus infinity for floats
Prim prim_highest(PrimType type);
// Of a sum, product, least, greatest or bitwise operator on numbers, of && and || on truth values.
Prim prim_neutral(PrimOp op, PrimType type);
double prim_to_double(Prim value);
// The value of a decimal or hexadecimal number without a sign, rounded once.
Prim prim_of_decimal(PrimType type, const char *digits);
uint64_t prim_bits_of(Prim value);               // the value's bits, zero-extended
Prim prim_of_bits(PrimType type, uint64_t bits);
bool prim_identical(Prim a, Prim b);             // same type and bits (tells -0.0 from 0.0)

// False, and nothing stored, if the operation traps (see op_may_trap).  Operands must have a type
// on which the operator exists.
bool prim_apply(PrimOp op, const Prim *args, Prim *out);

// Futhark's conversions: integers wrap or extend, by the sign from signed to signed, else by zeros;
// float to integer truncates, NaN and infinities give 0 and what is out of range saturates;
// bool <-> number by 0/1 and != 0.
Prim prim_convert(PrimType to, Prim value);
bool prim_extends_by_zeros(PrimType to, PrimType from);  // from signed to wider unsigned

// A literal's value; false if the integer does not fit the type.
bool prim_of_big(PrimType type, const Big *value, Prim *out);

// Source syntax with suffix: "-3i32", "1.5f32", "f32.nan", "true".  Reads back to the same value.
const char *prim_text(Prim value);
