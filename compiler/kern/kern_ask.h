// What steps and other rewritings ask of kernels.
#pragma once
#include "kern/kern.h"

bool kern_has_axis(const Kern *kern, Name name);
bool kern_block_has_axis(const KernBlock *block, Name name);
// Its statements, with those of blocks within.
int kern_statements(const KernBlock *block);
// What a let of the block binds the variable to; else the term itself.
const Term *term_behind(const KernBlock *block, const Term *t);
// Is it the addition of two floats?
bool kern_adds_floats(const KernOp *op);
// Var -> itself: conditions in a round of a `while` that do not hold if there is another round.
Map *kern_failed(const KernStm *loop);

// Does straight code of a point only move elements, some of which lie as far apart along the axis
// of that index as a width says that only the host knows?
bool kern_moves_apart(const KernBlock *point, const Var *index);

// Does the host know the width before the launch?
bool kern_host_knows(const Kern *kern, const Term *width);

// Var -> itself: what does not follow from indices and scalars of the host alone.
Map *kern_data(const Kern *kern);

// Does the code store where it loads, but in arrays of its own?  Then no point may run twice.
bool kern_updates_in_place(const KernBlock *block);
// May the points of a map run twice, within a round of the loops around it?
bool kern_may_run_twice(const Kern *kern, const Axis *axis);
// May they do so if the first time is over?
bool kern_may_run_again(const Axis *axis);
