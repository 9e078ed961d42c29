// What differs between the points of axes that run in lockstep (lanes and registers), and how
// indices move from lane to lane.
//
// Code under such an axis runs once for all its points: what is the same at all of them stays one
// scalar, the rest has a copy per register point, or a vector across the lanes.
#pragma once
#include "base/map.h"
#include "kern/kern.h"

enum {
  TILE_HEIGHT = 4,  // register points whose loads from lanes apart become a tile
  MOST_APART = 16,  // lanes that are read as vectors of neighbours
};

// A set of axes: a bit each, by the order in which they were opened.
typedef unsigned AxisSet;

typedef struct Vary Vary;

// An i64 that is base + lane * step.  Variables of that form stand in `base` for what they are in
// lane 0, and the lane axis's own index for 0; `step` is the same in all lanes.
typedef struct Affine {
  const Term *base, *step;
} Affine;

// Analyses a statement or block in the scope of which lockstep axes stand; what is bound outside is
// the same at all points.
const Vary *vary_stm(const KernStm *stm);
// The same for an operator's block: its params differ between the points of `set`, as `outer` (or
// NULL) says of the rest.
Vary *vary_op(const Vary *outer, const KernOp *op, AxisSet set);
// The same for a round of a loop whose params, which `outer` does not know, are the same at all
// points, if all points decide (let a bool) alike.  NULL: what it loads or hands on would differ.
const Vary *vary_alike(const Vary *outer, const KernBlock *body);

AxisSet vary_axis(const Vary *v, const Axis *axis);  // its bit; 0: not in lockstep
AxisSet vary_lanes(const Vary *v);                   // the bits of the lane axes
AxisSet vary_var(const Vary *v, const Var *var);
AxisSet vary_term(const Vary *v, const Term *t);
AxisSet vary_tensor(const Vary *v,
                    const Tensor *t);  // of which lockstep points each has its own
bool vary_affine(const Vary *v, const Term *t, Affine *out);
// How far the variable moves from lane to lane; NULL: it is no affine one.
const Term *vary_step(const Vary *v, const Var *var);
// A term that is converted from a whole number of at most 32 bits, or names one that is: that
// number as an i32; NULL: it is none.
const Term *vary_few_bits(const Vary *v, const Term *t);
// Are the points of the register axis `bit` neighbours in memory?
bool vary_neighbours(const Vary *v, const Access *access, AxisSet bit);
// if condition { stores }, which can be made for each register point by itself.
bool vary_is_guard(const KernStm *stm);
// Why the code cannot run in lockstep; NULL: it can.
const char *vary_refuses(const Vary *v);
// The same where the registers are those of an item on a GPU, whose points may each take a branch
// of their own.  (A CPU's points are quicker one after the other then.)
const char *vary_refuses_item(const Vary *v);
