// Kern: one kernel, before it becomes linear code.  Loops are axes with a role and a place on the
// machine, accesses have an index per dimension, scalars are bound once.  Printed (kern_print.c):
//
//   kernel segmap_4 {
//     axis n: i < n grid map {
//       let s: f32 = axis m: k < m reduce (+) {0.0f32} {
//         let x: f32 = xss[i, k]
//         let y: f32 = x * x
//         in {y}
//       }
//       ys[i] = s
//     }
//   }
//
// Made from seg-ops (from/from_flat.c), rewritten by the steps of recipes (steps), lowered by
// imp/lower/kern.c.  Nodes never change once built;
// a step returns a new kernel that shares what stayed.
#pragma once
#include "base/map.h"
#include "kern/term.h"

// Where an axis runs.
typedef enum AxisBind {
  BIND_SEQ,   // a loop
  BIND_GRID,  // across work-groups, or, on a CPU, runs of neighbouring points across items
  BIND_ITEM,  // across the work-items of a group; within others: as many, that meet around it
  BIND_LANE,  // SIMD lanes of an item; constant width
  BIND_REG,   // copies in named registers; constant width
} AxisBind;

// What joins the points of an axis.
typedef enum AxisRole {
  AXIS_MAP,   // nothing: any order will do
  AXIS_LOOP,  // each begins where the last one ended: scalars in params, arrays in memory
  AXIS_REDUCE,  // the body's results are combined by operators, in order
  AXIS_SCAN,    // likewise, and `after` sees at each point what there is so far
  AXIS_HIST,    // the body's results go into the bins of destinations, in any order
} AxisRole;

enum { KERN_WIDE = 16 };       // lanes of the widest vectors
enum { SPARE_ELEMENTS = 16 };  // a line of memory, or more

typedef enum TensorSpace {
  TENSOR_GLOBAL,  // the host's: a parameter of the kernel
  TENSOR_OWN,  // of each point; lowering finds room by the size: private, scratch or arena memory
  TENSOR_LOCAL,  // of a work-group
} TensorSpace;

// A block of memory seen as an array.  Elements lie row-major, or with the dimensions in `order`.
typedef struct Tensor Tensor;
struct Tensor {
  Name name;
  int id;
  PrimType elem;
  int rank;
  const Term *const *dims;
  bool open;  // memory of rank 0 that KERN_ROOM sizes, seen through others
  // The first index is a place of a loop's arrays: variables that differ in each round.
  bool ring;
  TensorSpace space;
  bool made;         // TENSOR_LOCAL: the group's items store there what is then copied
  bool spare;        // rank 1: behind its end are SPARE_ELEMENTS for each item of a scan
  const Var *host;   // TENSOR_GLOBAL: the array's name in Flat; NULL: made by the plan
  const Tensor *of;  // whose memory it is under other dims (row-major), or NULL: its own
  const int *order;  // outermost first; NULL: 0, 1, ..
};

// tensor[index[0], ...]: one element.
typedef struct Access {
  const Tensor *tensor;
  const Term *const *index;
} Access;

typedef struct KernStm KernStm;

// stms in {results}
typedef struct KernBlock {
  const KernStm *stms;
  int count;
  const Term *const *results;
  int result_count;
} KernBlock;

// An operator on `count` scalars at once: 2 * count params (left, then right), count results.
typedef struct KernOp {
  const Var *const *params;
  const KernBlock *block;
  const Term *const *neutral;
  int count;
  bool commutative;
} KernOp;

// One histogram: tensor[index.., bin] = op old value, for `op.count` tensors; a bin that is not in
// 0 <= bin < width is left out.
typedef struct KernHist {
  const Access *dests;  // an index less than the tensor's rank
  const Term *width;
  KernOp op;
  bool chained;  // the bins are those of the histogram before it
} KernHist;

typedef struct Axis {
  Name name;  // in recipes; once per kernel
  const Var *index;
  const Term *width;  // less than 0 counts as 0
  AxisRole role;
  AxisBind bind;
  bool rest;     // what a split has left: few points
  bool bulk;     // what has most of the points of an axis in parts
  int64_t most;  // there are no more points than that; 0: not known
  bool many;     // points, of a reduction: several vectors at once pay (long_sums.c)
  const KernBlock *body;
  // AXIS_LOOP: the body's results are the next params.
  // AXIS_REDUCE, AXIS_SCAN: `inits` are the first operands; NULL: the neutral elements.
  const Var *const *params;
  const Term *const *inits;
  int param_count;
  const KernOp *ops;  // AXIS_REDUCE, AXIS_SCAN
  int op_count;
  const Var *const
      *sums;  // AXIS_SCAN: bound in `after`, which sees what the body binds as well
  const KernBlock *after;
  // AXIS_HIST: the body's results are a bin per histogram, then all values.
  const KernHist *hists;
  int hist_count;
} Axis;

typedef enum KernStmKind {
  KERN_LET,    // binder = term: u.term
  KERN_LOAD,   // binder = tensor[index..]: u.load
  KERN_STORE,  // tensor[index..] = term: u.store
  KERN_ALLOC,  // a tensor that this block's code uses from here on: u.tensor
  KERN_ROOM,  // room for so many elements in a tensor without dims; what it held is lost: u.room
  KERN_AXIS,   // binders = axis ..: u.axis (LOOP: last params; REDUCE, SCAN: totals)
  KERN_IF,     // binders = if c then {..} else {..}: u.cond
  KERN_WHILE,  // binders = while params[which] {..}: u.loop
  KERN_CALL,   // binders = f args: u.call (a Core function)
  KERN_CHECK,  // a run-time error unless the condition holds: u.check
} KernStmKind;

struct KernStm {
  KernStmKind kind;
  Loc loc;
  const Var *const *binders;
  int binder_count;
  union {
    const Term *term;
    Access load;
    struct {
      Access to;
      const Term *value;
    } store;
    const Tensor *tensor;
    struct {
      const Tensor *tensor;
      const Term *count;
    } room;
    const Axis *axis;
    struct {
      const Term *condition;
      const KernBlock *then_block, *else_block;
      int usual;   // per cent of the times that it holds; 0: unknown
      bool sides;  // of a border: points in lockstep in the forms that they have there
    } cond;
    struct {
      const Var *const *params;
      const Term *const *inits;
      int param_count, which;
      const KernBlock *body;
    } loop;
    struct {
      const Function *function;
      const Term *const *args;
      int arg_count;
    } call;
    // parts and values as EXP_ASSERT
    struct {
      const Term *condition;
      const char *const *parts;
      const Term *const *values;
      int value_count;
    } check;
  } u;
};

typedef struct Kern {
  Name name;
  Loc loc;
  const KernBlock *body;
  const Map *outside;  // Var -> const Term *: how the host computes scalars; or NULL
  const Map
      *rounds;  // Var -> const Term *: indices of loops of the host, below that; or NULL
  const Map *starts;  // Var -> itself: places of arrays, where chunks begin; or NULL
  const Map *usual;   // Var -> itself: widths that are as large as others; or NULL
  const Map *wide;    // Var -> itself: widths of KERN_WIDE points at least; or NULL
  // A loop that does little stores all of an array in the place of the one before (in_place.c).
  bool one_for_two;
} Kern;

// ---- building (kern_build.c)

typedef struct KernBuilder {
  Compiler *c;
  Loc loc;  // given to statements that are added
  Vec(KernStm) stms;
} KernBuilder;

KernBuilder kern_builder(Compiler *c, Loc loc);
void kern_expect(KernBuilder *b, int count);  // statements, before the first
void kern_add(KernBuilder *b, KernStm stm);   // with the builder's loc unless it has one
const KernBlock *kern_block(const KernBuilder *b, const Term *const *results, int count);
const Var *kern_index(Compiler *c, const char *name, Loc loc);  // a fresh i64
const Term *kern_let(KernBuilder *b, const char *name,
                     const Term *value);  // constants and variables as they are
void kern_let_var(KernBuilder *b, const Var *binder, const Term *value);
void kern_load_var(KernBuilder *b, const Var *binder, Access from);
void kern_store(KernBuilder *b, Access to, const Term *value);
void kern_axis(KernBuilder *b, Axis axis, const Var *const *binders, int count);
bool kern_is_lock(const KernStm *stm);  // an axis in lanes or registers
int kern_sum_count(const Axis *axis);   // values that its operators combine
bool kern_commutes(const Axis *axis);   // all of its operators
// Does histogram number `hist` of an AXIS_HIST count a point or not by what its body decides?  That
// is, is its bin -1 in a branch?
bool kern_may_be_none(const Axis *axis, int hist);
const Tensor *tensor_new(Compiler *c, const char *name, PrimType elem,
                         const Term *const *dims, int rank, TensorSpace space);
// The memory of a tensor that lies row by row, under other dimensions.
const Tensor *tensor_view(Compiler *c, const Tensor *of, const Term *const *dims,
                          int rank);
// `t` with its last two dimensions as one; views: Tensor -> Tensor, those that there are.
const Tensor *tensor_rows_joined(Compiler *c, Map *views, const Tensor *t);
const Tensor *tensor_root(const Tensor *t);  // whose memory it is
// The dimension whose neighbours are neighbours in memory; -1: rank 0.
int tensor_unit_dim(const Tensor *t);
// Are the indices the same terms, of one tensor?
bool kern_same_access(const Access *a, const Access *b);

// ---- walking (kern_walk.c)

// The blocks in a statement, in order: at most 3, and an operator's block each.
typedef Vec(const KernBlock *) KernBlockVec;
KernBlockVec kern_blocks(const KernStm *stm);

// Functions called for the parts of a kernel, at any depth; NULL members are skipped.
typedef struct KernVisitor {
  void (*stm)(struct KernVisitor *v, const KernStm *stm);  // before its parts
  void (*term)(struct KernVisitor *v, const Term *term);   // each term as a whole
  void (*access)(struct KernVisitor *v, Access access, bool stores);
  void (*binder)(struct KernVisitor *v, const Var *var);
  void *state;
  int depth;  // of axes and whiles around
} KernVisitor;
void kern_visit_block(KernVisitor *v, const KernBlock *block);
void kern_visit_stm(KernVisitor *v, const KernStm *stm);

// Rewriting: new parts for a statement's own; NULL members mean identity.
typedef struct KernMapper {
  Compiler *c;
  const Term *(*term)(struct KernMapper *m, const Term *term);
  const Tensor *(*tensor)(struct KernMapper *m, const Tensor *tensor);
  const KernBlock *(*block)(struct KernMapper *m, const KernBlock *block);
  const Var *(*binder)(struct KernMapper *m, const Var *var);
  void *state;
} KernMapper;
KernStm kern_map_stm(KernMapper *m, const KernStm *stm);
// The block with its statements and results mapped, as `block` of mappers that only change terms;
// its results alone.
const KernBlock *kern_map_block(KernMapper *m, const KernBlock *block);
const Term *const *kern_map_results(KernMapper *m, const KernBlock *block);

// A copy with every binder and own tensor fresh, and free variables replaced (Var -> const Term *).
const KernBlock *kern_rename(Compiler *c, const Map *replace, const KernBlock *block);
// The rounds of a map, reduction or loop of constant width, of 1 at least, one after the other: a
// copy of `body` each, which has the results of the axis' own; binds the statement's binders
// (rounds.c).
void kern_add_rounds(KernBuilder *b, const KernStm *stm, const KernBlock *body);
// The body of a loop (AXIS_LOOP) as what all rounds may do before any of them has its params, and
// what they do then, one after the other; false: it has stores or loops there (part_rounds.c).
// Such loops may go in registers.
bool kern_part_rounds(const Axis *axis, KernBlock *ahead, KernBlock *behind);

// ---- printing, checking

void kern_print(Text *t, const Kern *kern);
// Reports what breaks the rules of this header through bug(): variables bound once and before use,
// types, ranks, tensors used in their blocks, constant widths of lanes and registers, ...
void kern_check(Compiler *c, const Kern *kern);
// The same of a kernel that steps have made of another one: what only that binds is not the host's.
void kern_check_made_of(Compiler *c, const Kern *kern, const Kern *before);

// ---- simplifying

// Does the block do more than to compute its results?
bool kern_has_effect(const KernBlock *block);
// The block without what neither its results nor its effects need (kern_dead.c).
const KernBlock *kern_live_block(Compiler *c, const KernBlock *block);

// What is known of terms: of(state, t) is t, or what it is then.
typedef struct KernKnown {
  const Term *(*of)(void *state, const Term *t);
  void *state;
} KernKnown;
// The block without the branches, checks and terms that are decided by what is known
// (kern_assume.c).
const KernBlock *kern_assume(Compiler *c, KernKnown known, const KernBlock *block);
// Likewise by what its constants decide.
const KernBlock *kern_settle(Compiler *c, const KernBlock *block);

// Gives axes names that are unique in the kernel: those of their widths, or of their indices; and
// others to copies of axes, but for the first.
const Kern *kern_name_axes(Compiler *c, const Kern *kern);
