// The state of the step `interior`, shared by step_interior.c and step_moved.c.
#pragma once
#include "kern/guess.h"
#include "kern/step.h"

enum { MOST_INDICES = 10, MOST_CONDITIONS = 64, MOST_FIRSTS = 4 };

// base + sum of by[k] * (index k of the block); base is known outside of the block.
typedef struct Linear {
  const Term *base;
  int64_t by[MOST_INDICES];
} Linear;

// What goes from `low` to `high` in the block: the index of an axis, or a coordinate of the
// block's points.
typedef struct Index {
  const Term *low, *high;
  bool over_lanes;  // it differs from lane to lane
  // coordinates: low + 0, 1, .., size - 1 with a `low` that the step may choose
  const Var *at;             // the variable that low is; NULL: no coordinate
  const Term *first, *last;  // where the block lies; the greatest choice
  int64_t size;
  const Term *from, *to;  // what conditions ask of the choice; NULL: nothing
} Index;

// A remainder at the first point of the block, computed before it.
typedef struct FirstPlace {
  const Var *var;
  const Term *value;
} FirstPlace;

typedef struct Interior {
  KernMapper outer;  // of the kernel
  KernMapper inner;  // of a block's own copy
  Compiler *c;
  Guess guess;
  int depth;  // of axes around
  const Kern *kern;
  bool in_grid;  // axes of the grid are all that is around
  // A loop over blocks whose points may run twice; NULL: what is around is none.
  const Axis *around;
  bool twice;  // points of the grid may run twice
  bool found;  // a block with an interior
  // of the block at hand
  bool may_move;
  bool wide;         // its lanes become a loop that must have no checks at all
  bool checks_only;  // it is a loop; only checks are to go
  bool scales;       // there are checks that products of indices may matter for
  Map *forms;        // Var -> const Linear *
  Map *bound;        // Var -> Var: within the block
  Map *values;       // Var -> const Term *: constants that they are
  Map *of_indices;   // Var -> const Term *: bools that follow from indices
  Index indices[MOST_INDICES];
  int index_count;
  const Term *conditions[MOST_CONDITIONS];
  int condition_count;
  FirstPlace firsts[MOST_FIRSTS];
  int first_count;
  int places;       // a bit for each place of guesses where the conditions hold
  bool mostly;      // it is enough if they hold at most places
  bool checking;    // the condition is that of a check: it holds
  bool in_branch;   // what is looked at may not run at all points
  bool over_lanes;  // an assumption is about what differs between lanes
} Interior;

// A copy of the statement as a block with its binders for results.
const KernBlock *interior_copy(Interior *x, const KernStm *stm);
// Whether all that is assumed holds, with what that needs.
const Term *interior_inside(const Interior *x, KernBuilder *b);
// The statement's binders = if condition .., which holds so many times in a hundred.
KernStm interior_if(const KernStm *stm, const Term *condition, int usual,
                    const KernBlock *then_block, const KernBlock *else_block);

// Is the block one lockstep axis, but for lets before it?
bool moved_is_block(const KernBlock *block);
// Is the block nothing but maps within maps, down to its points?
bool moved_applies(const KernStm *stm);
// Has every coordinate an axis that completes it, so that the points that are left are ranges?
bool moved_can_end(Interior *x, const KernStm *stm);
// Adds `inside`, moved, and the points that it leaves; false if the block has no coordinates.
bool moved_add(Interior *x, KernBuilder *b, const KernStm *stm, const KernBlock *inside);
