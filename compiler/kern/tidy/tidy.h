// Rewritings of a kernel that do not ask how it will run: what schedules begin with.
#pragma once
#include "kern/kern.h"

// The kernel without short loops whose indices, once known, decide conditions and places.
const Kern *kern_unroll_short(Compiler *c, const Kern *kern);
// The block with elements loaded once that nothing in it stores (short_loops.c).
const KernBlock *kern_load_once(Compiler *c, const KernBlock *block);

// The kernel with scalars in the place of own arrays whose elements are known where they are loaded
// (known_elements.c).
const Kern *kern_know_elements(Compiler *c, const Kern *kern);

// The kernel with short rows of its results, which its loops read again, in memory of each point.
const Kern *kern_own_rows(Compiler *c, const Kern *kern);

// The block with products that are only added to sums of floats where they are added
// (added_products.c).
const KernBlock *kern_added_products(Compiler *c, const KernBlock *block);

// The kernel with functions of the index in the place of numbers that loops count up (counters.c).
const Kern *kern_count_rounds(Compiler *c, const Kern *kern);

// The kernel with loads that are the same at all points of a loop before it.
const Kern *kern_load_early(Compiler *c, const Kern *kern);
// Loads that loops do not need go behind them (late_loads.c).
const Kern *kern_load_late(Compiler *c, const Kern *kern);

// The kernel with choices between values in the place of short branches.
const Kern *kern_choose(Compiler *c, const Kern *kern);
// The kernel with loops that may have no rounds in the place of branches with such a loop
// (guarded_whiles.c).
const Kern *kern_guard_whiles(Compiler *c, const Kern *kern);
// The kernel with choices by what ends a loop behind it (found_behind.c).
const Kern *kern_choose_behind(Compiler *c, const Kern *kern);

// The kernel with choices in the place of branches on conditions of indices, whose loads are kept
// inside of their arrays: if these have elements, which is the condition (or NULL)
// (clamped_loads.c).
const Kern *kern_clamp_loads(Compiler *c, const Kern *kern, const Term **condition);

// Adds the `if` as choices; false, and nothing is added, unless its branches have `most` statements
// at most and those of them that are loads or branches may run where they are not reached.
typedef bool (*KernRunsAnywhere)(void *state, const KernStm *stm);
bool kern_add_choice(KernBuilder *b, const KernStm *stm, int most, KernRunsAnywhere runs,
                     void *state);

// The kernel with what takes long, and is the second operand of `&&` or `||`, in a branch
// (lazy_operands.c).
const Kern *kern_wait_for_operands(Compiler *c, const Kern *kern);

// The kernel without checks that others before them, or axes around them, have made.
const Kern *kern_drop_known_checks(Compiler *c, const Kern *kern);

// The kernel without divisions that comparisons do, and with those of C where numbers are not
// negative (remainders.c).
const Kern *kern_simple_remainders(Compiler *c, const Kern *kern);
// The same for an axis, of `least` rows at least, whose neighbours read places of a ring that are
// the same in part.
const Kern *kern_simple_remainders_of_rows(Compiler *c, const Kern *kern, const Var *row,
                                           int64_t least);

// The kernel with one comparison in the place of two where an index is checked.
const Kern *kern_compare_once(Compiler *c, const Kern *kern);

// The kernel, if it has one point, with room as large as has been checked for arrays whose size is
// found within: room that the host can make.
const Kern *kern_bound_rooms(Compiler *c, const Kern *kern);

// The kernel with what a round of a loop stores for the next one to load in a variable.
const Kern *kern_carry_stores(Compiler *c, const Kern *kern);
// Would the loop carry what a store of its rounds leaves?
bool kern_is_carried(Compiler *c, const KernStm *loop);
// The kernel with stores in each round where loops store what they have just loaded or another
// value, so that the next round may have it (steady_stores.c).
const Kern *kern_steady_stores(Compiler *c, const Kern *kern);

// Tensor -> itself: memory that the kernel stores in (made_again.c).
const Map *kern_stored(const Kern *kern);
// The kernel with rows that points make computed where they are read (rows_where_read.c).
const Kern *kern_rows_where_read(Compiler *c, const Kern *kern);
// The kernel whose scans' `after` computes nothing again that their body has (made_again.c).
const Kern *kern_make_once(Compiler *c, const Kern *kern);
// The kernel without what is stored in arrays only to be stored over (dead_fills.c).
const Kern *kern_drop_fills(Compiler *c, const Kern *kern);

// The kernel with reductions in the place of loops that only sum up whole numbers or truth values
// (loops_as_sums.c).
const Kern *kern_loops_as_sums(Compiler *c, const Kern *kern);

// The kernel with what loops carry joined last to what else is joined in a round.
const Kern *kern_late_operands(Compiler *c, const Kern *kern);

// A kernel that is right where a condition of the host holds.
typedef struct KernQuick {
  const Kern *kern;
  const KernBlock *lets;  // scalars of the host that it mentions
  const Term *condition;
  bool guessed;  // that may well not hold
} KernQuick;

// The kernel with neighbouring points of short rows, whose sums go over outer dimensions, as points
// of one axis; false: it has none.
bool kern_join_grid(Compiler *c, const Kern *kern, KernQuick *out);

// The kernel with the axis of the grid inside along which neighbours in memory lie; false: it is
// there, or there is none (grid_order.c).
bool kern_order_grid(Compiler *c, const Kern *kern, KernQuick *out);

// The kernel with products in the place of divisions of indices; false: there are none
// (reciprocals.c).
bool kern_by_reciprocals(Compiler *c, const Kern *kern, KernQuick *out);

// The kernel with axes over rows and over their places where an axis goes over all of them and its
// index is divided; false: there are none (unflatten.c).
bool kern_unflatten(Compiler *c, const Kern *kern, KernQuick *out);

// The kernel with both points of an exchange together, whose indices differ in one bit; false: it
// has none (partners.c).
bool kern_pair_partners(Compiler *c, const Kern *kern, KernQuick *out);
// Likewise where loops of a point make such exchanges, which ask for themselves.
const Kern *kern_pair_within(Compiler *c, const Kern *kern);

// The kernel with those whole numbers in 8 or 16 bits that need no more.
const Kern *kern_narrow(Compiler *c, const Kern *kern);
