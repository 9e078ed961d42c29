// Results made where arrays lie that nothing reads afterwards.
#pragma once
#include "kern/view.h"

// The kernel with its result `out` made where `from` lies, an array of the same elements and
// dimensions that nothing reads afterwards: what would be copied from there stays.  NULL: nothing
// would, or points would read what others have stored (in_place.c).  dims: how many axes of the
// grid are to stay there.
const Kern *kern_in_place(Compiler *c, const Kern *kern, const Tensor *out,
                          const Tensor *from, int dims);

// The kernel, of one point, with its result `out` made where `from` lies, without the copy of that
// to `out` that it begins with.  NULL: it does not, or reads `from` elsewhere (in_place_copied.c).
const Kern *kern_without_copy(Compiler *c, const Kern *kern, const Tensor *out,
                              const Tensor *from);

// The kernel with its result `out` made in a part of another array that it may overwrite.  NULL:
// points would read what others have stored (in_view.c).
const Kern *kern_in_view(Compiler *c, const Kern *kern, const Tensor *out,
                         const View *place);

// Likewise arrays within the kernel that are made only to be copied to parts of others.
const Kern *kern_update_in_place(Compiler *c, const Kern *kern);

// Likewise loops within the kernel whose arrays trade places with what is made of them.
const Kern *kern_rings_in_place(Compiler *c, const Kern *kern);
