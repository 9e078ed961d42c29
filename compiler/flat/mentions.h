// Who reads a variable, and where: for passes that join seg-ops of the grid.
#pragma once
#include "core/core.h"

typedef struct FlatMentions {
  const Var *var;
  const SegOp *reader;  // NULL: it is none
  int all, own;         // own: of an element at the reader's point
} FlatMentions;

// The seg-op of the grid that statement `i` is, nothing behind it made at once; NULL: it is none.
const SegOp *flat_seg_at(const Body *body, int i);
FlatMentions flat_mentions_at(const Body *body, int at, const Var *var);
bool flat_is_result(const Body *body, const Var *var);
