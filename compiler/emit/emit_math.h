// Mathematical functions for kernels on CPUs, from runtime/kernels/math/ (emit_math.c).
//
//   MathUses uses = { 0 };
//   const char *name = emit_math_use(&uses, (MathUse){ OP_EXP, PRIM_F32, 16 });  // "fl_exp_f32x16"
//   emit_math(t, &uses);  // its text, and those of all functions that it calls
#pragma once
#include "base/prim.h"
#include "base/text.h"
#include "base/vec.h"

// Calls of a function on values of a type, `width` at a time: 1, or a vector of 2, 4, 8 or 16.
typedef struct MathUse {
  PrimOp op;
  PrimType type;
  int width;
} MathUse;
typedef Vec(MathUse) MathUses;

// How the function is called, and notes that it is; NULL if there is no text for it:
// then OpenCL's own is to be called.
const char *emit_math_use(MathUses *uses, MathUse use);

// Is some lane of the mask set?  Its bytes are then a number that is not 0.
const char *emit_any_lane(const char *mask, int width);

// The texts of all of these and of what they call, each once and after what it calls.
void emit_math(Text *t, const MathUses *uses);
