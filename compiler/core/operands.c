#include "core/operands.h"

bool operands_may_turn(PrimOp op, PrimType type) {
  bool extremum = op == OP_MIN || op == OP_MAX;
  return op_is_commutative(op) && !(extremum && prim_is_float(type));
}
