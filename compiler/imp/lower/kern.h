// Kernels in Kern to linear code (kern.c: statements; axis.c: axes; vector.c:
// vectors).
//
// Axes in lockstep (kern/kern_vary.h) turn each variable that differs between their points into
// copies: one per point of the register axes that it differs in, vectors if it differs
// across the lanes.
#pragma once
#include "imp/lower/lower.h"
#include "kern/kern_vary.h"
#include "kern/records.h"

enum { MAX_LOCKS = 16 };

// Local memory of a group for a tile (kern/steps/stage.c).  Loops that follow one another use the
// same: what is copied there, is so behind a barrier, and what is made there has been copied by
// then.
typedef struct TileRoom {
  const Mem *mem;
  int64_t count;
  bool made;
  const KernBlock *user;  // the last one
} TileRoom;
typedef Vec(TileRoom) TileRooms;

typedef struct KernCode {
  Code *k;                // where statements go, and what the kernel needs
  Map *values;            // Var -> Value
  Map *memory;            // root Tensor -> Memory
  const Vary *vary;       // NULL: nothing runs in lockstep
  AxisSet lane;           // the open lane axis; 0: none
  int lanes;              // its width
  AxisSet open;           // open register axes,
  AxisSet fixed;          // those of them whose copy at hand is all that is made now
  int counts[MAX_LOCKS];  // their widths,
  int at[MAX_LOCKS];      // and the copy at hand, by number of the bit
  const ImpExp *mask;     // the lanes that take part; NULL: all
  const struct VarCopies
      *masks;              // by copies of registers, if these differ in that; or NULL
  bool some;               // not all lanes do, as is known
  int64_t group;           // items of a group that work together; 0: there are no groups
  TileRooms *tiles;        // of such a group; or NULL
  const KernBlock *block;  // at hand
  // Var -> const ImpExp *: vectors that are permutations, or other names of vectors; or NULL
  Map *permuted;
  Map *
      joined;  // Var -> AxisSet: sums that lanes and registers join (early_end.c); or NULL
} KernCode;

// A variable: copies by the points of the register axes in `set`.
typedef struct VarCopies {
  AxisSet set;
  bool vector;            // each copy is one
  const ImpExp **copies;  // variables, or constants
} VarCopies;

// An own tensor: likewise.
typedef struct Memory {
  AxisSet set;
  const Arr **copies;
} Memory;

// ---- copies

// for each copy over the open register axes of `set`:
//   for (Copies c = copies_over(kc, set); copies_next(&c);)
typedef struct Copies {
  KernCode *kc;
  AxisSet set;
  bool started;
} Copies;
Copies copies_over(KernCode *kc, AxisSet set);
bool copies_next(Copies *copies);
int copy_count(const KernCode *kc, AxisSet set);
int copy_at(const KernCode *kc, AxisSet set);  // the number of the copy at hand

// ---- the grid (plan.c)

// The axes of a block that stand one directly in the other, outermost first, and the block at each
// of their points.
typedef struct Grid {
  SegDim *dims;
  int count;
  const KernBlock *block;
} Grid;
Grid find_grid(KernCode *host, const KernBlock *block, AxisBind bind);

// ---- values

AxisSet set_of_var(const KernCode *kc, const Var *var);
AxisSet set_of_term(const KernCode *kc, const Term *t);
bool in_lanes(const KernCode *kc, AxisSet set);
// Room for a variable's copies.
VarCopies *copies_new(KernCode *kc, const Var *var, AxisSet set);
// Declares the copy at hand, with its value.
void declare_copy(KernCode *kc, const Var *var, VarCopies *value, const ImpExp *is);
// Declares all copies, without values.
VarCopies *declare_copies(KernCode *kc, const Var *var, AxisSet set);
// The copy at hand gets a value, in the lanes of `mask` (NULL: all).
void assign_copy(KernCode *kc, const VarCopies *value, const ImpExp *is,
                 const ImpExp *mask);
const ImpExp *copy_of(const KernCode *kc, const VarCopies *value);  // at hand

// A term at hand: a vector if it differs across the lanes (or `vector`), else a scalar.
const ImpExp *lower_term(KernCode *kc, const Term *t);
const ImpExp *lower_as(KernCode *kc, const Term *t, bool vector);
// A term that is the same in all lanes, or, of an affine one, its base.
const ImpExp *lower_scalar(KernCode *kc, const Term *t);
const ImpExp *lower_vector(KernCode *kc, const Term *t);

// ---- kernels that are copies (permuted.c)

// A kernel that only copies an array, with its dimensions in another order: is made as such a copy;
// false: it is another one.  `host`: has the memory of its arrays.
bool lower_permuted(KernCode *host, const Kern *kern);

// ---- in the place of what dies (in_place.c)

// The memory of an array that dies with the seg-op, if its result may be made there: the kernel is
// then one that does.  Or NULL.
const Mem *lower_in_place(Code *host, KernSeg *seg, const Var *binder, int result,
                          const Body *body, int position);

// Does the kernel know the array's memory by another name as well?
bool lower_has_other_names(Code *host, const Kern *kern, const Var *array);
// Makes the result of a seg-op where it is to land, if its kernel may; false: it is made apart.
bool landing_take(Code *host, KernSeg *seg, const Var *binder, int result);

// ---- what reads a border (underway.c)

typedef void LowerPart(Code *host, const KernSeg *seg, void *state);

// Lowers the points of a seg-op in parts, those first that need not wait for its border; false: it
// has none, or its kernel cannot be divided.
bool lower_interior_first(Code *host, const KernSeg *seg, const SegOp *op,
                          LowerPart *lower, void *state);
// Waits for that border first.
void underway_end(Code *host, const SegOp *op);

// ---- blocks (kern.c)

void lower_block(KernCode *kc, const KernBlock *block);
void lower_stm(KernCode *kc, const KernStm *stm);
void lower_axis(KernCode *kc, const KernStm *stm);             // axis.c
void lower_item_axis(KernCode *kc, const KernStm *stm);        // blocks.c
KernCode inner_code(KernCode *kc, Code *code, ImpBuilder *b);  // for a block of its own
// Variables that loops change: declared with their first values; all assigned at the end of a
// round, in the lanes that take part if `masked`; bound to the statement's binders when the loop is
// over.
const VarCopies **params_begin(KernCode *kc, const Var *const *params,
                               const Term *const *inits, int count);
void params_next(KernCode *kc, const VarCopies *const *params, const Term *const *results,
                 int count, bool masked);
void params_end(KernCode *kc, const KernStm *stm, const VarCopies *const *params);
void add_stm(KernCode *kc, ImpStm stm);
const ImpExp *declared(KernCode *kc, const char *name, const ImpExp *value);
// Declares the copy at hand of what is loaded, a vector.
void declare_loaded(KernCode *kc, const Var *binder, VarCopies *value, const ImpExp *is);
// The vector, a permutation of permutations, by as few of them as what it is made of needs
// (permute.c).
const ImpExp *permuted_at_once(KernCode *kc, const ImpExp *vector);

// op left right -> out: scalars, or vectors if one is; at the copy at hand.
void apply_op(KernCode *kc, const KernOp *op, const ImpExp *const *left,
              const ImpExp *const *right, const ImpExp **out);

// ---- reductions by && and || that end where the outcome is known (early_end.c)

// So many rounds go by before it is asked; 0: the axis is none of these, or too short.
int64_t early_end_block(const KernCode *kc, const Axis *axis);
// Notes which sums the reduction, in lanes or registers, joins: one of them may decide for all.
void early_end_join(KernCode *inner, const KernStm *stm, AxisSet bit);
// May what follows change the outcome?  sums: one for each operator, so far.
const ImpExp *early_end_going(KernCode *kc, const KernStm *stm, VarCopies *const *sums);

// May points be left out, if nobody needs their results?  Not if they fail or store.
bool may_be_left_out(const KernBlock *block);
// The rounds of an axis: none if by a condition from outside it adds up nothing (idle.c).
const ImpExp *rounds_unless_idle(KernCode *kc, const Axis *axis, const ImpExp *rounds);

// ---- memory

// Where the tensor lies, for the copy at hand.
const Arr *memory_at(KernCode *kc, const Tensor *t);
void lower_load(KernCode *kc, const KernStm *stm);
AxisSet load_set(const KernCode *kc, const Access *access);  // of what it reads
void lower_store(KernCode *kc, const KernStm *stm);
void lower_alloc(KernCode *kc, const Tensor *t);

// ---- lanes (vector.c)

// An access whose index differs from lane to lane.
const ImpExp *lane_load(KernCode *kc, const Access *access, const Arr *arr);
// Where lane 0 is, and how far it is to the next lane; false if they are not equally far apart.
bool affine_place(KernCode *kc, const Access *access, const Arr *arr, const ImpExp **base,
                  const ImpExp **step);
void lane_store(KernCode *kc, const Access *access, const Arr *arr, const ImpExp *value);
const ImpExp *mask_and(const ImpExp *mask, const ImpExp *more);
// The lanes that take part at the copy at hand; NULL: all.
const ImpExp *mask_at_hand(const KernCode *kc);
// At the copy at hand of the register axes that the condition differs in; the binders are declared.
void lane_if(KernCode *kc, const KernStm *stm);
void lane_while(KernCode *kc, const KernStm *stm);
// Adds the first rounds of a loop, as long as all lanes decide alike (alike.c); gives what it goes
// on from, in lanes.
const Term *const *lower_rounds_alike(KernCode *kc, const KernStm *stm);
// The value of each operator over all lanes, in order; values: vectors.
void reduce_lanes(KernCode *kc, const KernOp *op, const ImpExp *const *values,
                  const ImpExp **out);
// values become their inclusive scans.
void scan_lanes(KernCode *kc, const KernOp *op, const ImpExp **values);
// Declares the sums of a scan in lanes, whose body is lowered: vectors.
void lower_scan_sums(KernCode *kc, const Axis *axis);  // axis.c
// The end of a scan of flags behind which elements go side by side (packed.c); false, and
// nothing is added, if it is none.
bool lower_packed_scan(KernCode *outer, KernCode *kc, const KernStm *stm);

// Does a condition that differs across the lanes hold in all of them?  By what it says of the
// first and the last (end_checks.c); NULL: that does not tell.
const ImpExp *holds_at_ends(KernCode *kc, const Term *condition);

// ---- lanes few elements apart (apart.c)

// How many, if few are (is_few_apart), or 0.
int small_step(const ImpExp *step, PrimType elem);
// How many, if so few that a load by itself pays; or 0.
int lone_step(const ImpExp *step, PrimType elem);
// From each lane's element on, of lanes n elements apart.
const ImpExp *load_every_nth(KernCode *kc, const Arr *arr, const ImpExp *base, int n);
// From the first lane's element downwards.
const ImpExp *load_backwards(KernCode *kc, const Arr *arr, const ImpExp *base);
// The load at `at` with others of the block that lie among the same neighbours; those are noted in
// `loaded`, by statement.  False, and nothing is added, if there are none.
bool lower_near_loads(KernCode *kc, const KernBlock *block, int at, bool *loaded);

// ---- tiles (tile.c)

// Are neighbours by the tensor's constant dimensions neighbours in memory?
bool lies_dense(const Tensor *t, const Arr *arr);
// Do all loads of the tile differ along these axes?
bool loads_have_set(KernCode *kc, const KernBlock *block, const RecordTile *tile,
                    AxisSet set);

// The copies of a load whose lanes are apart and whose register points are neighbours; false, and
// nothing is added, if it is no such load.
bool lower_tile(KernCode *kc, const Access *access, VarCopies *value, const Var *binder);
// The load at `at` with others of the block whose elements are its neighbours, where the lanes
// are apart; those are noted in `loaded`, by statement.  False, and nothing is added, if there
// are none.
bool lower_record(KernCode *kc, const KernBlock *block, int at, bool *loaded);
// Is the store at `at`, where lanes are apart, one of several that write the lanes' whole records?
// Notes them all in `stored`, by statement, to be made together where the last one stands.
bool lower_record_store(KernCode *kc, const KernBlock *block, int at,
                        const RecordStores **stored);
void lower_stored_record(KernCode *kc, const KernBlock *block,
                         const RecordStores *stores);
