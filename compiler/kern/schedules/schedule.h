// What the files of the schedule for CPUs share: candidates, and what is asked about kernels.
#pragma once
#include "kern/cost/kern_cost.h"
#include "kern/plan.h"
#include "kern/recipes/recipe.h"
#include "kern/schedules/chunks.h"

enum {
  LANES = 16,
  NARROW = 4,            // lanes for rows that are fewer, and for what fills no vector
  FEW_LANES_WEIGHT = 2,  // of 8 points in lanes; of 4 it is 1
  MOST_OTHERS = 5,
  POINTS = 1000,  // what each dimension of the grid is taken to have
  TRIPS = 64,     // what loops are taken to have
};

typedef struct Schedule {
  Compiler *c;
  const Kern *kern;
  KernNotes *notes;        // what was left out, and why
  const Var *length;       // of a chunk, if the kernel has chunks: CostGuess.length
  bool in_place;           // CostGuess.in_place
  Map *steps;              // Recipe.known
  Map *costs;              // Kern -> const double *: with TRIPS
  Map *row_costs;          // Kern -> const KernCosts *
  const RecipeBook *book;  // or NULL
  Name name;               // of the kernel, for recipes
} Schedule;

// A way to run a kernel, where its recipe's condition holds.
typedef struct Candidate {
  const char *what;
  Recipe recipe;
  int weight;     // how much the condition demands
  int across;     // points of a row that go together in blocks; 0: whatever
  bool first;     // all others stand behind it, whatever they demand
  double nearer;  // what it saves by reading from near by, as a part of the cost
  double cost;
} Candidate;
typedef Vec(Candidate) Candidates;

typedef Vec(const KernStm *) AxisStms;

// ---- the choice (choose.c)

// A recipe for the kernel, without steps.
Recipe schedule_recipe(const Schedule *s);
// Notes what is no candidate, and why.
void schedule_leave_out(const Schedule *s, const char *what, const char *why);
// One more candidate, if all of its steps apply.
bool schedule_offer(const Schedule *s, Candidates *out, const Candidate *cand);
// What the kernel costs if loops have so many rounds.
double schedule_cost(const Schedule *s, const Kern *kern, double trips);
CostGuess schedule_guess(const Schedule *s, double trips);
// As a plan, without what stands behind it.
KernPlan schedule_plan_of(const Candidate *cand);
// What the cost model picks.
const KernPlan *schedule_cheapest(const Schedule *s, KernUse use);
// The chosen plan, and what a parameter may ask for instead (others.c).
const KernPlan *schedule_with_others(const Schedule *s, const Candidates *all,
                                     const KernPlan *chosen);

// ---- loops (loops.c)

// The loops without others in them.
AxisStms schedule_innermost(const Kern *kern);
// Too many to take steps for each: a step copies the whole kernel.
bool schedule_are_many(const AxisStms *axes);
// The innermost axis of the grid, and the one around an axis of the grid; or NULL.
const Axis *schedule_last_grid(const Kern *kern);
const Axis *schedule_axis_before(const Kern *kern, const Axis *last);
bool schedule_has_loop(const KernBlock *block);
// Is an axis of that role in it?
bool schedule_has_role(const KernBlock *block, AxisRole role);
// How deep loops are nested in it.
int schedule_depth(const KernStm *stm);
bool schedule_contains(const KernBlock *block, const KernStm *stm);
// Is it in the body of one of them?
bool schedule_is_within(const KernStm *stm, const AxisStms *axes);

// What a block reads.
typedef struct SharedReads {
  Map *moved;   // variables that differ between the points
  bool moves;   // the one looked at does
  bool found;   // something is the same for all points
  bool others;  // something is not
} SharedReads;
SharedReads schedule_shared(const Kern *kern, const KernBlock *block, const Axis *points);
// Do points without loops read something that others of the next rows read as well, or what lies
// beside it?  `points` is the axis of the points of a row.
bool schedule_rows_near(const Kern *kern, const Axis *rows, const Axis *points);

// ---- steps

// The loop in vectors, if that pays.
void schedule_add_row(const Schedule *s, Recipe *r, const KernStm *stm);
// Partial results in LANES x chains accumulators: lane l takes every LANES-th element.
void schedule_interleaved(Recipe *r, Name k, int chains);
// Partial results of contiguous pieces, one per lane.
void schedule_pieces(Recipe *r, Name k, bool long_rows);
// Loops of few rounds as straight code, from inside out; maps, too, or what is in them.
void schedule_unroll_short(Recipe *r, bool maps);
// Nested maps that are all their points do become part of the grid.
void schedule_widen_grid(Recipe *r);
// Steps for the copies that stages have made, of rows that are shorter than that (0: of any).
void schedule_tile_copies(Recipe *r, const Kern *before, int64_t than);

// ---- candidates

// The innermost loops in lanes (rows.c).
void schedule_rows(const Schedule *s, Candidates *out);
// Neighbouring points in lanes; more tiles of them than the cost model needs to weigh; rows of
// chunks (points.c).
void schedule_points(const Schedule *s, Candidates *out);
void schedule_more_tiles(const Schedule *s, Candidates *out);
void schedule_rows_of_chunks(const Schedule *s, Candidates *out);
// What the lanes of a candidate sum up, each a row of its own, four elements at once.
void schedule_rows_by_fours(const Schedule *s, Candidates *out, const Candidate *points);
// A candidate's points in lanes with the rows that they read again, if those are not long, side by
// side.
void schedule_rows_staged(const Schedule *s, Candidates *out, const Candidate *points);
// Many points, or elements of rows within points, for the device's compiler (wide.c).
void schedule_wide(const Schedule *s, Candidates *out);
// Products of matrices and the like (products.c).
void schedule_products(const Schedule *s, Candidates *out);
// Grids whose innermost axes are short: a small matrix per point (short.c).
void schedule_short(const Schedule *s, Candidates *out);
// Do the points' loops read elements once, a row after the other?  Then the time goes by reading
// them (sweep.c).
bool schedule_goes_down_rows(const Kern *kern, const Axis *points);
// Neighbouring columns together, row by row (sweep.c).
void schedule_sweep(const Schedule *s, Candidates *out, bool chunks);
// Maps of loops within points in lanes; sums of what loops compute (within.c).
void schedule_within(const Schedule *s, Candidates *out);
void schedule_sums_of_loops(const Schedule *s, Candidates *out);
// Sums over pairs; those of a candidate whose lanes are around them, four at once (pairs.c).
void schedule_pairs(const Schedule *s, Candidates *out);
void schedule_pairs_by_fours(const Schedule *s, Candidates *out, const Candidate *points);
