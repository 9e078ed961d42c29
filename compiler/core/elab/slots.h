// Where values of sum types keep the arguments of their constructors (slots.c).
#pragma once
#include "core/elab/elaborate.h"

// A leaf of a value, and whether it says which constructor a value within this one has.
typedef struct ValLeaf {
  Atom atom;
  bool is_tag;
} ValLeaf;
typedef Vec(ValLeaf) ValLeafVec;

// The leaves of a value, in order, those that constructors share once; functions have none.
void leaves_add(const Val *v, ValLeafVec *out);
// The value with every leaf replaced by what `fn` makes of it; functions stay.
const Val *leaves_map(Elab *e, const Val *v, LeafFn fn, const void *state);
// The value with other leaves, one for each that leaves_add() tells; functions stay.
const Val *leaves_replace(Elab *e, const Val *v, const Atom *leaves);

// The kinds of leaves that constructors share: a scalar type, or SLOT_TAGS.
enum { SLOT_TAGS = PRIM_COUNT, SLOT_KINDS };
int sum_rank(const Val *sum);  // the dimensions of its tag
// The kind of a leaf in a sum of that rank, or -1 if it has a place of its own.
int slot_kind(const ValLeaf *leaf, int rank);
// Whether the next leaf of a constructor's arguments is one that no constructor before it has.
// Counts, for each kind, the leaves `taken` by all of them and those of this one, `next`.
bool slot_is_new(const ValLeaf *leaf, int rank, int *taken, int *next);
