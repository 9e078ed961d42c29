// Plans: how a seg-op of the host becomes kernels.
#pragma once
#include "kern/from_flat.h"

// Which machine a plan is for (docs/opencl.md: CPUs want few items with long runs, GPUs many).
typedef enum Profile { PROFILE_CPU, PROFILE_GPU } Profile;

// What a schedule left out, and why; both for people.
typedef struct KernNote {
  const char *what, *why;
} KernNote;
typedef Vec(KernNote) KernNotes;

// What a schedule weighed: a form of the kernel, where its condition holds.
typedef struct KernTry {
  const char *what;
  const Kern *kern;
  const Term *condition;  // NULL: always
  double cycles;
} KernTry;

// How a schedule chose.
typedef struct KernWhy {
  const Kern *naive;
  double points, trips;  // what sizes were taken to be: CostGuess
  const Var *length;
  const KernTry *tries;
  int try_count;
  const KernNote *notes;
  int note_count;
} KernWhy;

// Recipes that the user gave: kern/recipe_book.h.
typedef struct RecipeBook RecipeBook;

// Partial results of a reduction that serve a scan of the same values (SegOp.partials).
typedef enum KernShare { SHARE_NONE, SHARE_KEEP, SHARE_TAKE } KernShare;

// A seg-op as kernels: one, or several plans one after the other.
typedef struct KernPlan KernPlan;
struct KernPlan {
  Name name;              // what recipes call the kernel; NULL: that of the plan before
  const KernWhy *why;     // NULL: the user's choice, or explained by the plan before
  const KernBlock *lets;  // scalars of the host that what follows mentions; or NULL
  const Term *condition;  // of the host; NULL: always
  const KernPlan *otherwise;  // if the condition does not hold
  bool by_choice;             // a parameter may ask for that
  int recipes;  // so many does the parameter NAME.recipe choose from; 0: there is none
  int choice;  // it has to be that for this one, which is not printed as a recipe; 0: others
  bool in_rows;       // GPUs: its points each go through rows (schedules/group_rows.c)
  bool many_points;   // of the kernel: who gets how many is a parameter of its own
  bool one_for_two;   // of the seg-op: Kern.one_for_two
  const Kern *kern;   // the kernel; or NULL:
  const Kern *tried;  // as KernTry has it, if what sums become has been added since
  const KernPlan *const *parts;  // all of these
  int part_count;
  const Tensor *const *temps;  // arrays that the parts share
  int temp_count;
  KernShare share;            // the temps, which are there for `otherwise` as well
  const char *const *recipe;  // of the kernel: lines
  int recipe_count;
};

typedef struct KernSeg {
  const Tensor **outs;  // one per binder of the statement; scalars: of rank 0
  const Kern *kern;     // as it comes from Flat
  SegKind kind;
  KernShare share;  // set by who knows what stands behind the seg-op
  Name name;  // what recipes call it: ENTRY.KIND, with a number if there are several
} KernSeg;

// What the host knows around a seg-op.
typedef struct KernHost {
  Map *
      views;  // Var -> const View *: arrays that are views, iotas or copies of one scalar
  Map *sizes;    // Var -> Var: scalars that are no negative numbers
  Map *scalars;  // Var -> const Term *: Kern.outside
  Map *rounds;   // Var -> const Term *: Kern.rounds
  const int *(*order)(void *state, const Var *var);  // how an array lies: Tensor.order
  void *state;
} KernHost;

// An array of the host.
const Tensor *kern_host_tensor(Compiler *c, KernHost host, const Var *var);
// A seg-op as one naive kernel.
KernSeg kern_from_seg(Compiler *c, KernHost host, const Stm *stm, CopyNotes *copies);
// Notes what a statement of the host makes views of, and how it computes scalars, so that kernels
// see through them.
void kern_see_host(Compiler *c, KernHost host, const Stm *stm);

// The plan as recipes that `--recipe` can read, with the kernels as comments.
void kern_print_plan(Text *t, const KernPlan *plan);
// Why it is as it is (explain.c).
void kern_explain_plan(Text *t, const KernPlan *plan);
// What recipes call the entry point's next seg-op of a kind: main.segmap, main.segmap_2, ..
// counts: Name -> int *, of the kinds so far.
Name kern_seg_name(Compiler *c, Map *counts, Name entry, SegKind kind);
// "segred"
const char *kern_kind_name(SegKind kind);
// How to run it (schedules/schedule.c); book: NULL if there is none.
const KernPlan *kern_schedule(Compiler *c, RecipeBook *book, const KernSeg *seg);

// The same for GPUs: a kernel of groups of items, with what the host is to ask before it is
// launched; NULL if there is no such kernel (schedules/groups.c).
const KernPlan *kern_schedule_groups(Compiler *c, const KernSeg *seg);
// One of them: points that each go through rows (schedules/group_rows.c).  checks: what the host is
// to ask in any case, or NULL.
const KernPlan *kern_schedule_group_rows(Compiler *c, const KernSeg *seg,
                                         const Kern *kern, const Term *checks);
// Others: points that each sum up what they make of their row and of each of many rows
// (schedules/group_pairs.c).
const KernPlan *kern_schedule_group_pairs(Compiler *c, const KernSeg *seg,
                                          const Kern *kern, const Term *checks);
// Others: points that read what those of the next rows read (schedules/group_strips.c).
const KernPlan *kern_schedule_group_strips(Compiler *c, const KernSeg *seg,
                                           const Kern *kern, const Term *checks);
// Is all staged that neighbouring points touch apart, in as much local memory as groups may have?
bool kern_is_staged(const Kern *kern);
// Others: points whose loops read the same, one or the other `otherwise`
// (schedules/group_shared.c).
const KernPlan *kern_schedule_group_shared(Compiler *c, const KernSeg *seg,
                                           const Kern *kern, const Term *checks);

// The first plans, and behind the last of them another one; first: NULL if there are none.
const KernPlan *kern_plan_or(const KernPlan *first, const KernPlan *otherwise);

// The kernel with the bodies of the functions that it calls in their place.
const Kern *kern_inline(Compiler *c, const Kern *kern);

// The kernel with its result `out` made where `from` lies, an array of the same elements and
// dimensions that nothing reads afterwards: what would be copied from there stays.  NULL: nothing
// would, or points would read what others have stored (in_place.c).  dims: how many axes of the
// grid are to stay there.
const Kern *kern_in_place(Compiler *c, const Kern *kern, const Tensor *out,
                          const Tensor *from, int dims);

// The kernel with its result `out` made in a part of another array that it may overwrite.  NULL:
// points would read what others have stored (in_view.c).
const Kern *kern_in_view(Compiler *c, const Kern *kern, const Tensor *out,
                         const View *place);

// Likewise arrays within the kernel that are made only to be copied to parts of others.
const Kern *kern_update_in_place(Compiler *c, const Kern *kern);

// Likewise loops within the kernel whose arrays trade places with what is made of them.
const Kern *kern_rings_in_place(Compiler *c, const Kern *kern);

// The kernel without short loops whose indices, once known, decide conditions and places.
const Kern *kern_unroll_short(Compiler *c, const Kern *kern);
// The block with elements loaded once that nothing in it stores (unroll.c).
const KernBlock *kern_load_once(Compiler *c, const KernBlock *block);

// The kernel with short rows of its results, which its loops read again, in memory of each point.
const Kern *kern_own_rows(Compiler *c, const Kern *kern);

// The kernel with loads that are the same at all points of a loop before it.
const Kern *kern_load_early(Compiler *c, const Kern *kern);
// Loads that loops do not need go behind them (late_loads.c).
const Kern *kern_load_late(Compiler *c, const Kern *kern);

// The kernel with choices between values in the place of short branches.
const Kern *kern_choose(Compiler *c, const Kern *kern);

// Adds the `if` as choices; false, and nothing is added, unless its branches have `most` statements
// at most and load only what is inside of its array.
typedef bool (*KernIsInside)(void *state, const Access *access);
bool kern_add_choice(KernBuilder *b, const KernStm *stm, int most, KernIsInside is_inside,
                     void *state);

// The kernel without checks that others before them, or axes around them, have made.
const Kern *kern_drop_known_checks(Compiler *c, const Kern *kern);

// The kernel without divisions that comparisons do, and with those of C where numbers are not
// negative (remainders.c).
const Kern *kern_simple_remainders(Compiler *c, const Kern *kern);

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

// The kernel whose scans' `after` computes nothing again that their body has (made_again.c).
const Kern *kern_make_once(Compiler *c, const Kern *kern);
// The kernel without what is stored in arrays only to be stored over (dead_fills.c).
const Kern *kern_drop_fills(Compiler *c, const Kern *kern);

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

// The kernel with products in the place of divisions of indices; false: there are none
// (reciprocals.c).
bool kern_by_reciprocals(Compiler *c, const Kern *kern, KernQuick *out);

// The kernel with innermost maps in phases, where constants divide their indices (phases.c).
const Kern *kern_in_phases(Compiler *c, const Kern *kern);

// The kernel with loops that have no remainder of their index where rows are read from another
// place on, and round (wraps.c).
const Kern *kern_turn_rows(Compiler *c, const Kern *kern);

// The kernel with loops over rows in the place of loops whose indices are divided (rows_within.c).
const Kern *kern_rows_within(Compiler *c, const Kern *kern);
// Whether such rows are long enough for that, of which the host decides; NULL: there are none.
const Term *kern_rows_are_long(const Kern *kern);

// The kernel with axes over rows and over their places where an axis goes over all of them and its
// index is divided; false: there are none (unflatten.c).
bool kern_unflatten(Compiler *c, const Kern *kern, KernQuick *out);

// Gives axes names that are unique in the kernel: those of their widths, or of their indices; and
// others to copies of axes, but for the first.
const Kern *kern_name_axes(Compiler *c, const Kern *kern);
