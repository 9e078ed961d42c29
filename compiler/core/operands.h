// The order of the operands of an operation.
#pragma once
#include "core/core.h"

// May two operands change places?  Those of the least and greatest of floats may not: of 0 and -0
// one is the result, and of equal ones the first has the derivative.
bool operands_may_turn(PrimOp op, PrimType type);
