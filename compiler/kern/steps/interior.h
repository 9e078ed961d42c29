// The state of the step `interior`, shared by its files.
#pragma once
#include "kern/steps/guess.h"
#include "kern/steps/step.h"

enum { MOST_INDICES = 10, MOST_CONDITIONS = 64, MOST_FIRSTS = 6 };

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

// A remainder, or bits, at the first point of the block, computed before it.
typedef struct FirstPlace {
  const Var *var;
  const Term *value;
  bool bits;
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
  bool twice;       // points of the grid may run twice
  bool could_move;  // Step.could_move
  bool by_loops;    // Step.by_loops
  bool found;       // a block with an interior
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
  int among;         // a bit for each place of guesses that the block may lie at
  int places;        // .. and where the conditions hold
  bool mostly;       // it is enough if they hold at most places
  bool checking;     // the condition is that of a check: it holds
  bool in_branch;    // what is looked at may not run at all points
  bool over_lanes;   // an assumption is about what differs between lanes
  const Term *fits;  // blocks of the grid have a place inside of all borders
} Interior;

// What a condition asks of a coordinate: to begin at `from` at least, or at `to` at most.
typedef struct Shift {
  int index;
  const Term *from, *to;
} Shift;

// Conditions that go together; none is noted if one cannot be.
typedef struct Assumption {
  const Term *at[8];
  int count;
  Shift moves[4];
  int move_count;
} Assumption;

// Forms of both sides, of which one at least varies in the block, but for checks in wide lanes.
typedef struct Sides {
  Linear a, b;
} Sides;

// interior_assume.c

// An i64 as base + sum of (factor * index); false if it is none.
bool interior_form(const Interior *x, const Term *t, Linear *out);
bool interior_is_closed(const Interior *x, const Linear *f);
// The greatest value (the least, if `sign` is -1) of the form in the block.
const Term *interior_extreme(const Interior *x, const Linear *f, int sign);
bool interior_form_differs(const Interior *x, const Linear *f);  // from lane to lane
// Forms of both; false if there are none, or neither varies in the block, but for checks in wide
// lanes.
bool interior_sides(const Interior *x, const Term *a, const Term *b, Sides *out);
bool interior_sides_differ(const Interior *x, const Sides *s);  // from lane to lane
// Would it be a size, such as that of a row?
bool interior_seems_size(const Interior *x, const Term *t);

// Add to what is assumed: a condition; that the form's values lie between its extremes; that
// a < b (or a <= b) at all points.
void interior_want(Assumption *w, const Term *condition);
void interior_want_range(const Interior *x, Assumption *w, const Linear *f);
void interior_want_order(const Interior *x, Assumption *w, const Linear *a,
                         const Linear *b, PrimOp op);
// Notes what is to be assumed, if it seems to be usual.  What every point checks holds, or the
// program fails: no guess is needed.
bool interior_assume(Interior *x, const Assumption *w);
// The same of one comparison: a < b or a <= b; q * n <= a < (q + 1) * n for a size n; a < b at all
// points or b < a at all points.
bool interior_order(Interior *x, const Term *a, const Term *b, PrimOp op);
bool interior_quotient(Interior *x, const Term *a, const Term *n, int64_t q);
bool interior_apart(Interior *x, const Term *a, const Term *b);
int interior_places(int places);  // how many bits there are

// A comparison of what moves in the same way, as i and i ^ m do: of both at the block's first
// point; else NULL.
const Term *interior_together(Interior *x, const Term *t);

// interior_implied.c

// Notes which of the conditions hold where the others do.
void interior_implied(const Interior *x, bool *implied);
// The least (OP_MIN) or greatest (OP_MAX) of both, without what is another by a number more.
const Term *interior_nearest(PrimOp op, const Term *a, const Term *b);

// interior_terms.c

// The value at the block's first point as a variable that is bound before the block; NULL: there
// are too many.
const Term *interior_first(Interior *x, const Term *value, bool bits);

// May its operator have one outcome, or a simpler form, at all points of a block?
bool interior_may_know(const Term *t);
// The term as it is in the interior, where conditions on indices have one outcome.
const Term *interior_term(Interior *x, const Term *t);
// The same of a check's condition: what it joins is taken to hold.
const Term *interior_checked(Interior *x, const Term *t);

// interior_bits.c

// i ^ m, i | m, i & m or i >> s of an index in a block that begins at a multiple of its size, if m
// is one as well, or one less: of the block's first point, and its distance from there.
const Term *interior_bits(Interior *x, const Term *t);

// steps/interior.c

// A copy of the statement as a block with its binders for results.
const KernBlock *interior_copy(Interior *x, const KernStm *stm);
// Whether all that is assumed holds, with what that needs.
const Term *interior_inside(const Interior *x, KernBuilder *b);
// The statement's binders = if condition .., which holds so many times in a hundred.
KernStm interior_if(const KernStm *stm, const Term *condition, int usual,
                    const KernBlock *then_block, const KernBlock *else_block);

// steps/moved.c

// Is the block one lockstep axis, but for lets before it?
bool moved_is_block(const KernBlock *block);
// Is the block nothing but maps within maps, down to its points?
bool moved_applies(const KernStm *stm);
// Has every coordinate an axis that completes it, so that the points that are left are ranges?
bool moved_can_end(Interior *x, const KernStm *stm);
// Adds `inside`, moved, and the points that it leaves; false if the block has no coordinates.
bool moved_add(Interior *x, KernBuilder *b, const KernStm *stm, const KernBlock *inside);
