// What the files of the schedule for CPUs share: candidates, and what is asked about kernels.
#pragma once
#include "kern/kern_cost.h"
#include "kern/plan.h"
#include "kern/recipe.h"

enum { LANES = 16, MOST_OTHERS = 5 };

typedef struct Schedule {
  Compiler *c;
  const Kern *kern;
  KernNotes *notes;        // what was left out, and why
  const Var *length;       // of a chunk, if the kernel has chunks: CostGuess.length
  Map *row_costs;          // Kern -> const double *
  const RecipeBook *book;  // or NULL
  Name name;               // of the kernel, for recipes
} Schedule;

// A way to run a kernel, where its recipe's condition holds.
typedef struct Candidate {
  const char *what;
  Recipe recipe;
  int weight;     // how much the condition demands
  double nearer;  // what it saves by reading from near by, as a part of the cost
  double cost;
} Candidate;
typedef Vec(Candidate) Candidates;

typedef Vec(const KernStm *) AxisStms;

// Notes what is no candidate, and why.
void schedule_leave_out(const Schedule *s, const char *what, const char *why);
// One more candidate, if all of its steps apply.
bool schedule_offer(const Schedule *s, Candidates *out, const Candidate *cand);
// What the kernel costs if loops have so many rounds.
double schedule_cost(const Schedule *s, const Kern *kern, double trips);

// The loops without others in them.
AxisStms schedule_innermost(const Kern *kern);
// The innermost axis of the grid, and the one around an axis of the grid; or NULL.
const Axis *schedule_last_grid(const Kern *kern);
const Axis *schedule_axis_before(const Kern *kern, const Axis *last);

// Nested maps that are all their points do become part of the grid.
void schedule_widen_grid(Recipe *r);
// Partial results in LANES x chains accumulators: lane l takes every LANES-th element.
void schedule_interleaved(Recipe *r, Name k, int chains);
// Steps for the copies that stages have made, of rows that are shorter than that (0: of any).
void schedule_tile_copies(Recipe *r, const Kern *before, int64_t than);

// As a plan, without what stands behind it.
KernPlan schedule_plan_of(const Candidate *cand);
// The chosen plan, and what a parameter may ask for instead (schedule_others.c).
const KernPlan *schedule_with_others(const Schedule *s, const Candidates *all,
                                     const KernPlan *chosen);

// Candidates for products of matrices and the like (schedule_products.c).
void schedule_products(const Schedule *s, Candidates *out);
