// Operators side by side in one.
#ifndef FLC_CORE_OP_PARTS_H
#define FLC_CORE_OP_PARTS_H

#include "base/vec.h"
#include "core/core.h"

// An operator on some of the components of another one: which ones.
typedef struct OpPart {
  RedOp op;
  int *at;
} OpPart;

typedef Vec(OpPart) OpParts;

// The operators of which `op` consists, each of as few components as possible: those whose values
// depend on no other component. Not renamed.
OpParts op_parts(const RedOp *op);

#endif
