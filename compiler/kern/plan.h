// Plans: how a seg-op of the host becomes kernels.
#pragma once
#include "base/map.h"
#include "kern/profile.h"
#include "kern/view.h"

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

// Recipes that the user gave: kern/recipes/recipe_book.h.
typedef struct RecipeBook RecipeBook;

// Partial results of a reduction that serve a scan of the same values (SegOp.partials).
typedef enum KernShare { SHARE_NONE, SHARE_KEEP, SHARE_TAKE } KernShare;

// A seg-op as kernels: one, or several plans one after the other.
typedef struct KernPlan KernPlan;
struct KernPlan {
  Name name;              // what recipes call the kernel; NULL: that of the plan before
  const KernWhy *why;     // if asked for; NULL: the user's choice, or in the plan before
  const KernBlock *lets;  // scalars of the host that what follows mentions; or NULL
  const Term *condition;  // of the host; NULL: always
  const KernPlan *otherwise;  // if the condition does not hold
  bool by_choice;             // a parameter may ask for that
  int recipes;  // so many does the parameter NAME.recipe choose from; 0: there is none
  int choice;  // it has to be that for this one, which is not printed as a recipe; 0: others
  bool in_rows;      // GPUs: its points each go through rows (schedules/group_rows.c)
  bool many_points;  // of the kernel: who gets how many is a parameter of its own
  bool one_for_two;  // of the seg-op: Kern.one_for_two
  // Of the seg-op: dimensions of its points, if columns are summed up in bands (schedules/bands.c),
  // or if it is a map of straight code; else 0.
  int bands, straight;
  const Kern *kern;   // the kernel; or NULL:
  // The kernel where `small` holds as well: places of arrays have 32 bits in it; or NULL.
  const Kern *narrow;
  const Term *small;
  const Kern *tried;  // as KernTry has it, if what sums become has been added since
  const KernPlan *const *parts;  // all of these
  int part_count;
  const Tensor *const *temps;  // arrays that the parts share
  int temp_count;
  KernShare share;            // the temps, which are there for `otherwise` as well
  const char *const *recipe;  // of the kernel: lines
  int recipe_count;
};

// A histogram that is no AXIS_HIST (its values are arrays, say) in chunks of its points: `fill`
// makes a copy of the destinations for each chunk, from neutral elements, and `combine` adds the
// copies to the destinations.  Both mention `count` and `size`, which the host decides.
typedef struct HistChunks {
  const Var *count, *size;          // chunks of a segment, points of a chunk
  const Term *rows, *width, *bins;  // segments, points of one, bins of one
  const Tensor *const *temps;       // the copies: [segments..][count][bins]row
  int temp_count;
  const Kern *fill, *combine;
} HistChunks;

typedef struct KernSeg {
  const Tensor **outs;  // one per binder of the statement; scalars: of rank 0
  const Kern *kern;     // as it comes from Flat
  SegKind kind;
  const HistChunks *hist;  // NULL: the kernel may be cut by itself
  KernShare share;         // set by who knows what stands behind the seg-op
  Name name;  // what recipes call it: ENTRY.KIND, with a number if there are several
} KernSeg;

// An update whose old array is still needed, so that it was copied.
typedef struct CopyNote {
  Loc loc;
  Name array;
  const char *why;
} CopyNote;
typedef Vec(CopyNote) CopyNotes;
// Unless it is there: code may be made in several forms.
void kern_note_copy(CopyNotes *notes, CopyNote note);

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

// The destinations that a scatter or histogram updates, in the order of its binders; 0 for others.
int seg_dests(const SegOp *seg, Atom *out);
bool seg_commutes(const SegOp *seg);  // all of its operators
// Has the memory of a result spare elements (Tensor.spare)?  The host makes it then.
bool seg_has_spare(const SegOp *seg, int result);

// Does the host (KernHost.scalars) compute it as `max 1 n`?
bool scalar_is_positive(const Map *scalars, Atom a);
// An array of the host.
const Tensor *kern_host_tensor(Compiler *c, KernHost host, const Var *var);
// A seg-op as one naive kernel.
KernSeg kern_from_seg(Compiler *c, KernHost host, const Stm *stm, CopyNotes *copies);
// The kernel without stores to an array that nobody reads.
const Kern *kern_without_stores(Compiler *c, const Kern *kern, const Tensor *unread);
// The kernel with the bodies of the functions that it calls in their place.
const Kern *kern_inline(Compiler *c, const Kern *kern);
// Likewise, or the kernel as it is where that would be too long.
const Kern *kern_inline_short(Compiler *c, const Kern *kern);
const KernPlan *kern_plan_without_calls(Compiler *c, const KernPlan *plan);
// Notes what a statement of the host makes views of, and how it computes scalars, so that kernels
// see through them.
void kern_see_host(Compiler *c, KernHost host, const Stm *stm);
// Likewise a reshape that only gives sizes other names.  False: its array is no view, or of other
// rank.
bool kern_see_renamed(KernHost host, const Stm *stm);

// The plan as recipes that `--recipe` can read, with the kernels as comments.
void kern_print_plan(Text *t, const KernPlan *plan);
// A parameter NAME.recipe of the plan or of its parts, and what it chooses from.
typedef struct KernChoice {
  const char *parameter;
  const char *const *ways;  // each "step; step; ..": what is tried first with 1, 2, ..
  int way_count;
} KernChoice;
typedef Vec(KernChoice) KernChoices;
void kern_plan_choices(const KernPlan *plan, KernChoices *out);
// Why it is as it is (explain.c).
void kern_explain_plan(Text *t, const KernPlan *plan);
// What recipes call the entry point's next seg-op of a kind: main.segmap, main.segmap_2, ..
// counts: Name -> int *, of the kinds so far.
Name kern_seg_name(Compiler *c, Map *counts, Name entry, SegKind kind);
// "segred"
const char *kern_kind_name(SegKind kind);
// How to run it (schedules/schedule.c); book: NULL if there is none.
const KernPlan *kern_schedule(Compiler *c, RecipeBook *book, const KernSeg *seg);

// The same for many items that don't work together, as GPUs have them: one for each point, rows in
// chunks.
const KernPlan *kern_schedule_items(Compiler *c, const KernSeg *seg);
// The same for GPUs: a kernel of groups of items, with what the host is to ask before it is
// launched; NULL if there is no such kernel (schedules/groups.c).
const KernPlan *kern_schedule_groups(Compiler *c, const KernSeg *seg);
// The first plans, and behind the last of them another one; first: NULL if there are none.
const KernPlan *kern_plan_or(const KernPlan *first, const KernPlan *otherwise);
