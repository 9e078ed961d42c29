// What the halves of kern_in_place share: in_place.c leaves out stores, in_place_loads.c asks what
// loads may see.
#pragma once
#include "base/map.h"
#include "kern/in_place/in_place.h"

// An array: all of a tensor, or one of those that a ring has side by side (from/ring.c).
typedef struct ArrayPlace {
  const Tensor *tensor;
  const Term *at;  // its first index; NULL: all
} ArrayPlace;

// Is the access one of its elements?
bool in_place_is(ArrayPlace place, Access access);
// The first dimension within it.
int in_place_first(ArrayPlace place);

// In the block, which is one of the kernel's, `to` is what `from` was.  NULL if some point would
// read what another one has stored; loads that are the same in all of a loop are made before it.
// saves: parts that are too many for that may be copied before the block.
// lets: Var -> const Term *, of the kernel and of the host
const KernBlock *in_place_loads(Compiler *c, const Kern *kern, const Map *lets,
                                const KernBlock *block, ArrayPlace to, ArrayPlace from,
                                bool saves);

// Does each point of the block store an element of its own of `out`, once, and load none of it?
// And is all that the block loads of `from` in its own dimensions?  *loads: whether it loads any.
bool in_place_fits(const Kern *kern, const KernBlock *block, ArrayPlace out,
                   ArrayPlace from, bool *loads);

// ---- parts that are copied before the block (in_place_saved.c)

typedef struct SavedPart SavedPart;

typedef struct Saved {
  Compiler *c;
  const Kern *kern;
  ArrayPlace from;
  Map *inside;   // Var -> itself: bound in the block
  Map *of_load;  // Var -> SavedPart *: by the load's binder
  Vec(SavedPart *) parts;
} Saved;

Saved in_place_nothing_saved(Compiler *c, const Kern *kern, const KernBlock *block,
                             ArrayPlace from);
// The load's element is to be in a part of the array that is copied; index: without lets.  False:
// that might be all of it, or a part whose size the host does not know.
bool in_place_save(Saved *s, const KernStm *load, const Term *const *index);
// Where the element is then; false: in the array.
bool in_place_saved_load(const Saved *s, const KernStm *load, Access *out);
// The block behind the copies.
const KernBlock *in_place_with_saved(const Saved *s, const KernBlock *block);
