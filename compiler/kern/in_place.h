// What the two halves of kern_in_place share: in_place.c leaves out stores, in_place_loads.c asks
// what loads may see.
#pragma once
#include "base/map.h"
#include "kern/plan.h"

// In the kernel, `to` is what `from` was.  NULL if some point would read what another one has
// stored; loads that are the same in all of a loop are made before it.
const Kern *in_place_loads(Compiler *c, const Kern *kern, const Tensor *to,
                           const Tensor *from);

// Is it an access to the tensor?
bool in_place_same(const Tensor *a, const Tensor *b);

// The lets of the kernel and of the host: Var -> const Term *.
Map *in_place_lets(const Kern *kern);
