// Steps: rewritings of a kernel that keep its meaning, by the names of axes (docs/kernels.md).
//
// A step returns the new kernel, or NULL with `refusal` saying why it does not apply.
#pragma once
#include "base/map.h"
#include "kern/kern_ask.h"

typedef struct Step {
  Compiler *c;
  bool groups;          // has the code groups of items?  (That for GPUs.)
  const char *refusal;  // "`permute k j`: ..."
  const Term *fits;     // what the last interior is for, if the host knows it; or NULL
  bool could_move;      // one of its blocks, if it was allowed to
  bool by_loops;        // borders of the last interior may be as wide as loops are long
} Step;

// Notes a reason; returns NULL.
const Kern *step_refuse(Step *s, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The axis of that name, with its statement; NULL, and a refusal, if there is none.
const KernStm *step_axis(Step *s, const Kern *kern, Name name);

// Is the second axis a statement of the first one's body?
bool step_is_inside(const Kern *kern, Name outer, Name inner);

// What takes the place of a statement: `add` writes it to the builder.
typedef void (*StepAdd)(void *state, KernBuilder *b, const KernStm *stm);
// The kernel with the statement of the axis replaced.
const Kern *step_replace(Step *s, const Kern *kern, Name axis, StepAdd add, void *state);

// The body of points `index` from 0 on, below a constant width, without divisions where rows turn
// within; what that needs is added before (turns.c).
const KernBlock *kern_turn_points(KernBuilder *before, const Var *index,
                                  const Term *width, const KernBlock *block);

// ---- splitting (steps/split.c)

typedef enum SplitRest {
  SPLIT_SHORT,  // the last block is shorter: a loop of its own width
  SPLIT_BOUND,  // the same, but the points of maps have a condition, so that lanes can take them
  SPLIT_PEEL,  // what does not fill a block follows in an axis of its own: NAME_rest
  SPLIT_CHAIN,  // the same, and blocks of reductions begin with what those before them have
  SPLIT_OVERLAP,  // the last block begins earlier, so that it is full; some points run twice
  SPLIT_RUN,  // the last block is a shorter loop, and blocks begin with what those before them have
  SPLIT_CLAMP,   // points behind the end do what the last one does, but for its stores
  SPLIT_FOLLOW,  // as SPLIT_OVERLAP, in a second round of the last block: NAME_last
} SplitRest;

// a < n  =>  a0 < n/T { a < T } with index a0 * T + a.
// Legal: always; SPLIT_OVERLAP and SPLIT_CLAMP for maps that may run a point twice, SPLIT_FOLLOW
// for those that may do so one time after the other; the first and the last where n >= T.
const Kern *step_split(Step *s, const Kern *kern, Name name, int64_t by, SplitRest rest);
// a < n  =>  a0 < P { a < n/P } with index a0 * (n/P) + a, and the rest in NAME_rest.
const Kern *step_split_into(Step *s, const Kern *kern, Name name, int64_t pieces);

// ---- order (steps/permute.c)

// Two axes of which the second is all that the first's body is, but for lets, change places.
// Legal: maps; reductions whose operators commute.
const Kern *step_swap(Step *s, const Kern *kern, Name name);

// ---- all points together (steps/sweep.c)

// Points that each go through loops go through them together, `by` elements of a sum at once; what
// they sum up and compute between loops is kept in arrays.
// Legal: a map, of points whose greatest number is known, of loops whose widths are the same for
// all; nothing is stored where it is loaded.
const Kern *step_sweep(Step *s, const Kern *kern, Name name, int64_t by);

// ---- the machine (steps/bind.c)
// Legal: no order between points (lanes, registers: what kern_vary.h can run in lockstep; items:
// all around them is the grid and other items).
const Kern *step_bind(Step *s, const Kern *kern, Name name, AxisBind bind);
// The same, but for what lockstep code cannot do; NULL if some of the kernel's blocks do it:
// asked when other steps have had their turn.  Likewise whether the axes of the grid are outside
// of all others.
const Kern *step_bind_unchecked(Step *s, const Kern *kern, Name name, AxisBind bind);
const Kern *step_check_lockstep(Step *s, const Kern *kern);
const Kern *step_check_grid(Step *s, const Kern *kern);
// The outermost axis in lanes or registers around the named one, or at it; or NULL.
const KernStm *step_lockstep_around(const Kern *kern, Name name);
// Are there checks in the block that the axis stands in?
bool step_checks_beside(const Kern *kern, Name axis);

// ---- copies of what is read again (steps/stage.c, steps/stage_rows.c)

// What the loads of a loop read that the items of a group share: copied to local memory before it.
// Legal: the loop is of constant width, all items of the group come by, indices are sums of those
// of axes, and nothing is written to the array.
const Kern *step_stage(Step *s, const Kern *kern, Name name);

// In code for CPUs, which step_stage asks for: rows, a lane each, that the rounds of a loop read,
// copied to memory of the lanes' own, side by side.
// Legal: the loop is in lanes, nothing is written to the array, loads under no condition, no
// checks; rows of a width that is known before the loop and the same in all lanes.
const Kern *step_stage_rows(Step *s, const Kern *kern, Name name);

// ---- rows that lanes store to (steps/spread.c)

// What the host is to see of the sizes of arrays: that lines of rows that are stored to together
// find room in the first cache; true: there are no such stores.
const Term *step_rows_spread(const Kern *kern);

// ---- conditions that are the same at all points of an axis (steps/unswitch.c)
// Legal: loops that are maps or reductions; short ones.
const Kern *step_unswitch(Step *s, const Kern *kern, Name name);

// ---- what a histogram counts, block by block (steps/collect.c)

// A block of `by` points makes its bins and values, of which those that count are kept in arrays;
// then NAME_kept adds them.
// Legal: histograms that are loops, without loops or effects in them.
const Kern *step_collect(Step *s, const Kern *kern, Name name, int64_t by);

// ---- the points of a short axis as straight code (steps/unroll.c)

const Kern *step_unroll(Step *s, const Kern *kern, Name name);

// ---- comparisons that change their outcome once along an axis (steps/cut.c)
// Legal: loops that are maps, reductions or carry values; short ones.  What stays of the axis is
// the last part; others are NAME_low, NAME_before, NAME_at, NAME_high.
const Kern *step_cut(Step *s, const Kern *kern, Name name);

// ---- loops that begin or end elsewhere in each lane (steps/align.c)
// Legal: reductions and loops in lanes, without effects, whose ends are sums of indices, sizes, and
// the least and greatest of such.  NAME_before and NAME_behind are for some lanes.
const Kern *step_align(Step *s, const Kern *kern, Name name);

// ---- conditions on indices (steps/interior.c)

// Blocks of lanes and registers in two forms: where conditions, clamps and remainders of indices
// have one outcome for all of a block, code without them.  twice: points of the grid may run
// twice, so blocks at borders move inside.
const Kern *step_interior(Step *s, const Kern *kern, bool twice);
