// The state of lowering Flat to Imp, shared by its files.
#pragma once
#include "base/map.h"
#include "imp/imp.h"

typedef struct Lower {
  Compiler *c;
  const Traits *machine;  // that the code is for
  const KernPlan *plan;   // of the kernel at hand, or NULL
  Name kernel;            // at hand, by the name that recipes use; or NULL
  RecipeBook *book;       // NULL: none
  const Entry *entry;     // at hand
  Map *segs;              // Name -> const int *: the entry's seg-ops of that kind
  const Var
      *layout;  // of the entry: whether arrays are laid out anew; NULL while nothing asks
  Map *partials;  // SegOp.partials -> const Memory **: kept for a scan
  Map *copy_of;   // Mem -> Mem: the copy in another layout -> the original
  Map *scalars;   // Var -> const Term *: how the host computes them (Kern.outside)
  Map *
      rounds;  // Var -> const Term *: indices of its loops, and their bounds (Kern.rounds)
  Map *
      rooms;  // of the entry: Var -> const Room *: arrays that lie between rows of others
  Map *roomy;     // Mem -> const Room *: memory with such room
  Map *underway;  // SegOp -> Underway: its border may still be on its way
  Vec(const Kernel *) kernels;
  Vec(TuningParam) tuning;
  CopyNotes copies;
  Vec(const KernPlan *) plans;
  Vec(const SegOp *) planned;  // what each of them is for
  bool failed;
} Lower;

typedef Vec(Scratch) ScratchVec;

typedef struct LaidCopy LaidCopy;

// A body of the host's code, and the copies of its arrays in other layouts.
typedef struct HostScope {
  ImpBuilder *b;
  Map *arrays, *owned;
  struct HostScope *parent;
  Vec(LaidCopy *) copies;
} HostScope;

// Room in local memory for arrays of items: element j of an item's at j * size + item.
typedef struct LocalRows {
  const ImpExp *item, *size;  // of the group
  const ImpExp *items;        // its size on the host
  const ImpExp *bytes;        // that an item takes so far
} LocalRows;

// Code under construction for one kernel (or, with `host`, for the host).
typedef struct Code {
  Lower *lower;
  ImpBuilder *b;  // where statements go
  Map *arrays;    // Var -> const Arr *; a child per body
  Map *
      inside;  // variables bound inside of the kernel: their values are unknown on the host
  Map *sizes;  // Var -> Var: what is no negative number, as checks before have found
  Map *owned;  // Mem -> Mem: memory that this body may overwrite when its value is dead
  Map *released;  // Mem -> Mem: on the host, what of it is released by now
  Map *wanted;    // Var -> const Arr *: where a binder's array should be made
  Map *
      views;  // on the host: Var -> const View *: what kernels see through; a child per body
  Map *
      layouts;  // on the host: Var -> const int *: how the array is rearranged by its only reader
  Map *
      landings;  // on the host: Var -> Landing *: what is made in a part of another array,
                 // and what that array is then
  ScratchVec *scratch;  // NULL on the host
  LocalRows *rows;      // where arrays of an item lie instead; or NULL
  bool own_results;  // rows that loops make are arrays of the item until they are ready
  bool *may_fail;
  HostScope *scope;      // on the host
  const ImpExp *active;  // in a work-group: checks count only if this holds; NULL: always
} Code;

// ---- sequential code in kernels (seq.c, seq_body.c)

// The body's statements.  Results: scalars are stored in `scalars[i]`; array results are copied to
// `dests[i]` where that is given (an array of the right shape), else their place is stored in
// `dests[i]` on return.
void seq_body(Code *k, const Body *body, const ImpExp **scalars, const Arr **dests);
void seq_stm(Code *k, const Stm *stm);

// A scalar expression (EXP_OP, EXP_CONVERT, scalar EXP_INDEX, ...) with its checks; NULL if the
// expression is no scalar one.
const ImpExp *seq_scalar(Code *k, const Stm *stm);

// ---- accumulators (acc.c)

// That of one reduction operator: a variable or an array per value.
typedef struct Accumulator {
  const RedOp *op;
  const Var **vars;    // scalars
  const Arr **places;  // arrays
} Accumulator;

Accumulator acc_new(Code *k, const RedOp *op);  // holds the neutral element
// acc = op acc values
void acc_apply(Code *k, const Accumulator *acc, const ImpExp *const *scalars,
               const Arr *const *arrays);
// The same, as accs_join has it.
void acc_join(Code *k, const Accumulator *acc, const ImpExp *const *scalars,
              const Arr *const *arrays);

// Those of several operators.
typedef struct Accs {
  Accumulator *at;
  int count;
} Accs;
Accs accs_new(Code *k, const RedOp *ops, int count);
// Operators on scalars: holding these values; applied to one more of each; what they hold.
Accs accs_from(Code *k, const RedOp *ops, int count, const ImpExp *const *values);
void accs_apply(Code *k, Accs accs, const ImpExp *const *scalars);
// The same with what some elements gave together, and that is neutral if there were none: an
// operator that may fail is only applied to what some element gave (Note [Nothing to combine]).
void accs_join(Code *k, Accs accs, const ImpExp *const *scalars);
const ImpExp *const *accs_values(Accs accs);

// if the indices are in bounds: dest[indices] = value (a scalar, or an array for the rest).
void store_if_inside(Code *k, const Arr *dest, const ImpExp *const *indices, int count,
                     const ImpExp *scalar, const Arr *array);
// dests[bin] = op dests[bin] values
void hist_apply(Code *k, const HistOp *hist, const Arr *const *dests, const ImpExp *bin,
                const ImpExp *const *scalars, const Arr *const *arrays);
// The same for what some elements gave, scalars that are neutral if there were none.
void hist_join(Code *k, const HistOp *hist, const Arr *const *dests, const ImpExp *bin,
               const ImpExp *const *scalars);

// ---- shared by sequential, group and host code (array.c)

const Arr *code_array(Code *k, Atom a);
void code_bind(Code *k, const Var *var, Arr arr);
// Binds a scalar binder to a value.
void code_bind_scalar(Code *k, const Var *var, const ImpExp *value);
const ImpExp *const *code_shape(CoreType type);
Atom code_atom(Code *k,
               const ImpExp *width);  // a name for a width, unless it is constant
// The index of a loop to be made, an i64.
const Var *code_index(Code *k, const char *name);

// Views: index with slices, rearrange, reshape when possible, atom.
// False if the statement is none.
bool code_view(Code *k, const Stm *stm);
void code_check_bounds(Code *k, const Arr *arr, const DimIndex *dims, Loc loc);
// A run-time error unless the condition holds.
void code_check(Code *k, const ImpExp *condition, const char *const *parts,
                const ImpExp *const *values, int count, Loc loc);
// Is it no negative number, whatever happens: a constant, the size of a parameter, or checked?
bool code_is_size(const Code *k, Atom a);
// An error if a size is negative; `unless`: where nobody makes it, or NULL.
void code_check_size(Code *k, Atom size, const ImpExp *unless);
void code_note_size(Code *k, const Stm *stm);  // a scalar that is no negative number
// An iota or replicate of negative size may have become a space of negative width.  It is none
// inside of a dimension without points.
void code_check_space(Code *k, const SegDim *dims, int count);
void code_may_fail(Code *k);  // notes that the kernel may report an error
void code_assert(Code *k, const Stm *stm);

// Memory of an item for `count` elements: private if they are few and constant, scratch if the host
// knows how many, else of the arena.  lanes: elements are vectors of so many numbers; 0: numbers.
// An array of an item that lies in local memory (Code.rows); false: it is to lie elsewhere.
bool code_alloc_row(Code *k, const char *name, PrimType elem, const ImpExp *const *dims,
                    int rank, const ImpExp *count, Arr *out);
const Mem *code_memory(Code *k, const char *name, PrimType elem, const ImpExp *count,
                       int lanes);
// Memory for an array of the type: private if small and constant, else scratch.
Arr code_alloc(Code *k, const char *name, CoreType type);
// Are arrays of the type few elements, which are the item's own memory then?
bool code_is_private(CoreType type);
void code_copy(Code *k, const Arr *to, const Arr *from);  // element-wise loops
bool arr_same(const Arr *a, const Arr *b);                // same place, structurally
const Arr *code_set_apart(Code *k, const Arr *arr);       // a copy in memory of its own

// Is anything in the memory read by a statement between the positions?
bool code_memory_read_between(Code *k, const Mem *mem, const Body *body, int after,
                              int before);
// Is anything in the memory read by a statement after `position`, or returned?
bool code_memory_used_after(Code *k, const Mem *mem, const Body *body, int position);
// Read, or (used) read or returned, asked at one position after the other: `reads` (Mem -> MemRead)
// holds what was found before, so that all questions together pass over the body once a block.
bool code_memory_still_read(Code *k, const Mem *mem, const Body *body, int position,
                            Map *reads);
bool code_memory_still_used(Code *k, const Mem *mem, const Body *body, int position,
                            Map *reads);
// May the memory of `array` be overwritten by the statement at `position` of `body`?
bool code_may_overwrite(Code *k, Atom array, const Body *body, int position);
// The same, whatever the statement itself reads.
bool code_dies(Code *k, Atom array, const Body *body, int position);
// Does the body mention anything that lies in the memory?
bool code_mentions(Code *k, const Mem *mem, const Body *body);
// May the loop at `position` begin with parameter number `i` in the memory of its initial value?
bool code_loop_takes(Code *k, const Exp *loop, int i, const Body *body, int position);

// Notes that updating `array` costs a copy.
void code_note_copy(Code *k, Atom array);

// A child of the code for an inner body, with its own block.
Code code_inner(Code *k, ImpBuilder *b);

// The call of a function, whose results the binders are.
void code_call(Code *k, const Stm *stm);

// The loop, whose rounds are `body`.
void code_add_loop(Code *k, const Exp *exp, ImpBlock body);

// ---- kernels (kernel.c)

// A kernel under construction: its code, and what it collects.
typedef struct KernelCode {
  Code code;
  ImpBuilder b;
  ScratchVec scratch;
  bool may_fail;
  bool one_point;  // of a space of one point
} KernelCode;

KernelCode *kernel_begin(Code *host, Loc loc);

// Lets scratch arrays of the kernel's body share memory (scratch.c).
void share_scratch(ScratchVec *scratch, const ImpBlock *body);

// Of the kernel's block, which each of `points` points runs from its start: the checks before
// everything else that mention only what the host knows become the host's (host_checks.c).
void move_checks_to_host(Code *host, KernelCode *kernel, ImpBlock *block,
                         const ImpExp *points);

// The most bytes of local memory that a launch of the version counts, of variables from outside of
// it; NULL where that cannot be said (local.c).
const ImpExp *local_need(const ImpBlock *version);

// How it is launched: `items` work-items, or `groups` of `group_size` (a kernel with barriers).
typedef struct Launch {
  const char *name;
  const ImpExp *items;
  const ImpExp *groups, *group_size;
  bool own;  // only where arrays of items lie in local memory (own_local.c)
} Launch;
// What the kernel needs from outside becomes its parameters; adds the launch to the host's block.
void kernel_end(Code *host, KernelCode *kernel, Launch launch);

// A launch of items that have arrays, and likewise one with these in local memory, where they are
// small enough (own_local.c); false, and nothing done, where there are none.
bool launch_with_own(Code *host, const ImpStm *launch);
// Only the latter; the kernel becomes one that has its arrays there.
void launch_own(Code *host, Kernel *kernel, const ImpStm *launch);
// Are its arrays that small?  A condition of the host.
const ImpExp *own_is_small(Code *host, const Kernel *kernel);

// ---- the positions of a kernel without barriers (items.c)

// Which item works on which positions: an item per position (GPUs), or per run of positions (CPUs).
typedef struct Items {
  Code *host;
  KernelCode *kernel;
  const ImpExp *count;         // positions
  const ImpExp *position;      // the one at hand; NULL in runs
  const ImpExp *run, *length;  // runs: positions per item; of this item's loop
  const Var *index, *row, *column, *left;
  // Runs: at least so many positions each; does no position read or write what another one writes?
  int64_t least;
  bool independent;
  bool scalar;  // runs: the loop over their positions is not for vectors
  Name owner;   // has parameters of its own for runs: main.segmap_2; NULL: nobody
  ImpBuilder inner, walk;    // code for a position; around the loop over a row
  bool own;                  // see Launch
  const ImpExp *group_size;  // of groups; NULL: what the device has
} Items;

// Code for one of `count` positions follows, until items_close; returns the position.
const ImpExp *items_open(Items *s, Code *host, KernelCode *kernel, const ImpExp *count);
// The same for the points of a space, whose index variables are bound.
void items_open_space(Items *s, Code *host, KernelCode *kernel, const SegDim *dims,
                      int count);
// The same in runs; `least`, `independent` and `owner` are set before.
void items_open_runs(Items *s, Code *host, KernelCode *kernel, const SegDim *dims,
                     int count);
// Ends and launches the kernel.
void items_close(Items *s, const char *name);

// ---- layouts on GPUs (coalesce.c, transpose.c)

// An array as a kernel sees it: a copy in the order of dimensions that suits it.
typedef struct Laid {
  const Var *var;
  const Arr *arr;
} Laid;
typedef Vec(Laid) Layouts;

// The arrays that the seg-op's kernel should read in another order, and the host's code that makes
// the copies; none with the profile for CPUs.
Layouts layout_inputs(Code *host, const Stm *stm);
void layout_bind(Code *kernel, const Layouts *layouts);
// Those that layout_inputs would copy.
VarVec layout_apart(Code *host, const Stm *stm);

// What a kernel of groups reads that should lie in another order, and which of its results
// neighbouring items would store apart.
typedef struct GroupWish {
  const Var *var;
  const int *order;
  bool own;  // words that lie apart, of no other rows than the group's own
} GroupWish;
typedef struct GroupWishes {
  Vec(GroupWish) reads;
  const bool *stores_apart;  // per result
} GroupWishes;
GroupWishes layout_group_wishes(Code *host, const Stm *stm);
// Copies for what it reads; own rows only on demand.
Layouts layout_group_inputs(Code *host, const GroupWishes *wishes, bool own);

// Does the body mention the array only as its row at the point's place?  (short_rows.c)
bool seg_reads_own_rows(const SegOp *seg, const Var *var);

// Does the body store arrays whose size only the item knows?
// (Note [Running again] in kernel.c)
bool body_takes_arena(const SegOp *seg);

// A copy with the dimensions in this order in memory, made once for every kernel that wants it.
const Arr *layout_copy(Code *host, const Var *var, const int *order);
// Memory for a binder: on GPUs the dimensions of the rows (all but the first `space`) come first.
const Arr *layout_out(Code *host, const Var *binder, int space);
// to = from through tiles; false, and nothing done, if that does not suit.
bool layout_transpose(Code *host, const Arr *to, const Arr *from);
// Are two dimensions one, with and without layouts, of which the second is the inner one?
bool arr_lies_in_one(const Arr *arr, int outer, int inner);
enum { TRANSPOSE_NARROW = 48 };  // elements of a row
// The same of an array of which one of the two has rows of at most that many elements, one behind
// the other; `row` and `place` are the dimensions.
void transpose_by_rows(Code *host, const Arr *to, const Arr *from, int row, int place);
// Does it reshape arrays to another rank, at any depth?
bool body_changes_rank(const Body *body);
// The dimension whose neighbours are neighbours in memory; -1 if none is.
int layout_unit_dim(const Arr *arr);
// The array as it lies with or without layouts.
Arr layout_resolved(const Arr *arr, bool on);

// Is the array dense with layout=0?
bool layout_dense_if_off(const Arr *arr);
// Is it dense with or without?  Then layout_dense makes it so in any case.
bool layout_may_be_dense(const Arr *arr);
Arr layout_dense(Code *host, const Arr *arr);

HostScope *host_scope(ImpBuilder *b, Map *arrays, Map *owned, HostScope *parent);
// Declares the parameter's value before the code of an entry, if that asks for it.
const ImpExp *layout_chosen(Lower *lower);
void layout_declare(Lower *lower, ImpBlock *block);

// ---- seg-ops of level 1 (segmap.c, plan.c, wide*.c, ...); binders are bound on the host
void lower_seg(Code *host, const Stm *stm, const Body *body, int position);
void lower_segmap(Code *host, const Stm *stm);
// An item per point, whose results go to `outs`.
void lower_segmap_to(Code *host, const Stm *stm, const Arr *const *outs);
// The same without regard to short rows; at the point whose index variables are bound.
void segmap_by_items(Code *host, const Stm *stm, const Arr *const *outs);
void seg_point(Code *k, const Stm *stm, const Arr *const *outs);
// Likewise, and rows of results are written in columns first.
void segmap_by_columns(Code *host, const Stm *stm, const Arr *const *outs);
// The arrays of which points read rows that groups may read and write together (short_rows.c),
// maybe none; NULL: they have no such rows, nor results in rows.  `outs` need no memory.
const VarVec *find_short_rows(Code *host, const Stm *stm, const Arr *const *outs);
// By such groups, where rows are short.
void lower_short_rows(Code *host, const Stm *stm, const Arr *const *outs,
                      const VarVec *arrays);
// By groups that share what they read (blocks.c); false, and nothing done, where that does
// not pay.
bool lower_block_segmap(Code *host, const Stm *stm);
// A segmap that only copies, in tiles where that pays; false, and nothing done, for others.
bool lower_copying_segmap(Code *host, const Stm *stm);
// What a segmap that only copies copies, for each of its results; NULL for others.
const Arr **copied_by_segmap(Code *k, const Stm *stm);
// The same by groups (wide*.c)
void lower_wide_segred(Code *host, const Stm *stm);
void lower_wide_segscan(Code *host, const Stm *stm, const Body *body, int position);
void lower_wide_seghist(Code *host, const Stm *stm, const Body *body, int position);
// A segmap of level 1 whose body holds seg-ops of level 0 (group.c).
void lower_group_segmap(Code *host, const Stm *stm);

// A seg-op through Kern (plan.c).
void lower_kern_seg(Code *host, const Stm *stm, const Body *body, int position);
// The program keeps what is decided for a seg-op.
void lower_note_plan(Lower *lower, const SegOp *seg, const KernPlan *plan);

// The index variables of a space, as expressions; an element (or row) of an output.
const ImpExp *const *space_indices(const SegDim *dims, int count);
const Arr *element_of(const Arr *out, const ImpExp *const *indices, int count);
const Arr *host_out(Code *host, const Var *binder);  // fresh memory for a binder
const Arr *host_map_out(Code *host,
                        const Var *binder);  // the same, laid out as its reader wants it
// Binds the results of a seg-op; those that are scalars are read from their memory,
// which is then released.
void seg_bind_results(Code *host, const Stm *stm, const Arr *const *outs);

// The space's index variables from a flat position, declared in the kernel.
void bind_space(Code *k, const SegDim *dims, int count, const ImpExp *flat);
const ImpExp *space_size(const SegDim *dims, int count);
const ImpExp *space_is_empty(const SegDim *dims, int count);  // NULL: certainly not

// ---- the host (host.c)
void host_body(Code *k, const Body *body, const ImpExp **scalars, const Arr **arrays);
void host_copy(Code *host, const Arr *to, const Arr *from);  // a kernel (copy.c)
// The same on CPUs (copy_cpu.c).
void copy_on_cpu(Code *host, const Arr *to, const Arr *from);
// Do both have rows in memory, none of which is known to be short?
bool copy_by_rows(const Arr *to, const Arr *from);
// How often floats are rounded in an order that differs between two versions (roundings.c).
const ImpExp *host_roundings(const Body *first, const Body *second);
const ImpExp *tuning_param(Lower *lower, const char *name, const char *kind, int64_t cpu,
                           int64_t gpu);
// A parameter of one kernel, which has the value of `parent` (by tuning_param) while nobody sets
// it.
const ImpExp *tuning_param_following(Lower *lower, const char *name,
                                     const ImpExp *parent);
// A parameter that chooses between so many recipes.
void tuning_param_of_recipes(Lower *lower, const char *name, int count);
// The parameter of that name, one of those that plans mention (params.c).
const ImpExp *code_tuning(Code *k, const char *name);
// The memory of `source` for overwriting, under a new reference: the same block if it dies here.
Arr host_take(Code *k, const Var *binder, Atom source, const Body *body, int position);
// The memory that `held` refers to, which is its last use, for overwriting.
Arr host_overwrite(Code *k, const Var *binder, const Mem *held);
bool host_is_plain(const Arr *arr);  // row-major from the beginning of its memory on
const Mem *host_declare_mem(Code *k, const char *name, PrimType elem);
const Mem *host_mem(Code *k, const char *name, PrimType elem, const ImpExp *count);
void host_read(Code *k, const Var *var, const Mem *mem, const ImpExp *index);
Arr host_alloc(Code *k, const char *name, CoreType type);

// ---- blocks with room for their borders (rooms.c)

typedef struct Room Room;
void rooms_find(Lower *lower, const Body *body);
const Room *room_of(Code *k, const Var *var);  // that it is to have, or NULL
// The array of that type which `mem` holds for the variable, behind its room if that has one.
Arr room_array(Code *k, const Var *var, CoreType type, const Mem *mem);
Arr room_alloc(Code *k, const Var *var, CoreType type);  // for one that has room
// Does the array lie as the variable, which has room, is to lie?
bool room_is_like(Code *k, const Var *var, Atom a);
// The rows before it, if the array lies in memory with room; or NULL.
const ImpExp *room_rows(Code *k, Atom a);

// ---- borders that are on their way (underway.c)

// The rows of others that a border has before the block, and those behind it.
const ImpExp *border_rows_before(const Exp *border);
const ImpExp *border_rows_after(const Exp *border);
// May the rows of a border, which lies in `arr`, come while the kernel that reads it is at work?  A
// condition; NULL: they may not.
const ImpExp *underway_begin(Code *k, const Stm *stm, const Body *body, int position,
                             const Arr *arr);

// ---- results that are made in the array which an update would copy them to (landing.c)

typedef struct Landing Landing;
// Looks for the update of what the statement binds; the last update of the body, or -1.
void landing_find(Code *host, const Body *body, int position, int last_update);
int landing_last_update(const Body *body);
// Where the binder lands, or NULL; the same for what a branch yields for it.
Landing *landing_of(Code *host, const Var *binder);
void landing_pass(Code *inner, Landing *landing, const Body *branch, Atom result);
// The place, of the binder's shape; all of the array.
const Arr *landing_place(Code *host, Landing *landing);
const Arr *landing_array(Code *host, const Landing *landing);
// There is nothing to copy: all branches have landed, or copied to there.
void landing_is_made(Landing *landing);
void landing_copy(Code *host, Landing *landing, const Arr *made, CoreType type);
// Is the place in the array?  If it is not, a check behind it fails, and nothing need be made.
const ImpExp *landing_fits(Code *host, const Landing *landing);
// The update itself, if what it would copy has landed; false: it has not.
bool landing_update(Code *host, const Stm *stm);

// How arrays lie, for kernels (layout.c).
KernHost code_kern_host(Code *k);
// The same for a body that takes arrays as the host has them, whatever they are views of.
KernHost code_kern_host_as_is(Code *k, const Body *body);
// Layouts (layout.c).  The hints that a body gives about its arrays;
// those of a branch's results.
void host_find_layouts(Code *k, const Body *body);
void host_pass_layout(Code *k, const Var *binder, Atom result);
CoreType host_memory_type(Code *k,
                          const Var *binder);  // of the array as it lies in memory
Arr host_of_memory(Code *k, const Var *binder,
                   Arr memory);  // the binder's view of memory of that type
Arr host_to_memory(Code *k, const Var *binder, const Arr *arr);  // the opposite
