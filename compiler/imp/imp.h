// Imp: what runs where.  Host code (scalars, device buffers, control) and kernels; statements, no
// arrays.  Printed (imp_print.c):
//
//   entry main(n: i64, xs: f32 global) {
//     alloc ys_mem: n f32
//     launch segmap_4 <n> (xs_mem, ys_mem, n)
//     free xs_mem ...
//   }
//   kernel segmap_4 (xs_mem: global f32, ys_mem: global f32, n: i64) {
//     let i = global_id
//     if i < n { ys_mem[i] = xs_mem[i] + 1.0f32 }
//   }
//
// An array is a block of memory (Mem) with an offset and strides, in elements (Arr): views cost
// nothing.  Blocks on the host are reference-counted when the program runs; `alloc` of a variable
// that holds a block releases that block, so loops need no extra code.
#pragma once
#include "base/map.h"
#include "kern/plan.h"

typedef enum MemSpace {
  MEM_GLOBAL,   // a device buffer; on the host a reference to one
  MEM_LOCAL,    // of a work-group
  MEM_PRIVATE,  // of a work-item: a C array of constant size
  MEM_SCRATCH,  // per work-item (or group), in one device buffer that the launch provides
  MEM_ARENA,  // of a work-item, of a size that only it knows: taken from the arena of the launch
} MemSpace;

// A block of elements of one type.
typedef struct Mem {
  Name name;
  int id;
  MemSpace space;
  PrimType elem;
  int lanes;  // each element is a vector of so many numbers; 0: one number
} Mem;

typedef enum ImpExpKind {
  IMP_VAR,      // u.var
  IMP_CONST,    // u.constant
  IMP_OP,       // u.op (integer division by zero is excluded by a check before it)
  IMP_CONVERT,  // u.convert
  IMP_BITS,     // u.convert
  IMP_LOAD,     // mem[index]: u.load (kernels only)
  IMP_SELECT,   // condition ? a : b: u.select
  IMP_ITEM,     // u.item: a number of the work-item
  IMP_SHUFFLE,  // what another item of the sub-group has, which all its items ask: u.shuffle
  IMP_TUNING,  // the value of a tuning parameter, an i64: u.tuning
  // vectors (kernels only).  Any of the above has `lanes` numbers if its operands have; an IMP_LOAD
  // with a scalar index has neighbouring elements, with a vector of indices those,
  // wherever they are
  IMP_SPLAT,    // one number in all lanes: u.convert
  IMP_IOTA,     // 0, 1, .., lanes - 1
  IMP_STRIDED,  // mem[index + lane / run * step + lane % run]: u.strided
  IMP_PERMUTE,  // lanes of one or two vectors, of any length: u.permute
  IMP_PICK,     // the number in lane `which`: u.pick
  IMP_ANY,      // does any lane hold?  u.convert
  IMP_ALL,      // do all?  u.convert
  IMP_MOST,     // the greatest lane (i64): u.convert
  IMP_COUNT,    // how many hold (i64): u.convert
} ImpExpKind;

enum { IMP_CHECK_VALUES = 8 };  // RT_MAX_CHECK_VALUES of the runtime

typedef enum ItemNumber {
  ITEM_GLOBAL_ID,
  ITEM_LOCAL_ID,
  ITEM_GROUP_ID,
  ITEM_LOCAL_SIZE,   // these two are constants of the kernel: it has sized
  ITEM_LOCAL_STEPS,  // so many doublings of 1 reach the local size, at least 1
  ITEM_SUB_STEPS,  // likewise: of the size of sub-groups (see prelude.cl); 0: there are none
  ITEM_ATOMIC_BYTES  // on the host: the widest atomic operations of the device
} ItemNumber;

typedef struct ImpExp ImpExp;
struct ImpExp {
  ImpExpKind kind;
  PrimType type;
  int lanes;  // of a vector; 0: a scalar
  union {
    const Var *var;
    Prim constant;
    struct {
      PrimOp op;
      PrimType operands;
      const ImpExp *args[3];
    } op;
    struct {
      const ImpExp *arg;
    } convert;  // to `type`
    struct {
      const Mem *mem;
      const ImpExp *index;
    } load;
    struct {
      const ImpExp *condition, *a, *b;
    } select;
    struct {
      const ImpExp *value, *apart;
      bool up;
    } shuffle;  // of the item so far behind (up) or ahead; some value where that is none
    ItemNumber item;  // dimension 0 only: spaces are flattened
    Name tuning;
    struct {
      const Mem *mem;
      const ImpExp *index, *step;
      int run;  // neighbours per step: 1, or 4
    } strided;
    struct {
      const ImpExp *a, *b;
      const signed char *from;
    } permute;  // lane i: a[from[i]]; from the number of a's lanes on: b
    struct {
      const ImpExp *vector, *which;
    } pick;
  } u;
};

// Where an array lies: element (i_0, ..) is mem[offset + sum i_k * strides[k]].
//
// In sequential code an iota or a replicated scalar lies nowhere: mem is NULL and the element at
// offset o is start + o * step (step NULL: start).  Views of it are views like any other.  An iota
// that the host has made has both: it lies somewhere, and code computes its elements all the same.
typedef struct Arr {
  const Mem *mem;
  PrimType elem;
  int rank;
  const ImpExp *offset;
  const ImpExp *const *shape;
  const ImpExp *const *strides;
  const ImpExp *start, *step;  // of an iota or a replicated scalar, else NULL
} Arr;

typedef struct ImpStm ImpStm;
typedef Vec(const ImpStm *) ImpBlock;

typedef enum ImpStmKind {
  IMP_DECLARE,  // type var = value: u.declare (value may be NULL)
  IMP_ASSIGN,   // var = value: u.assign
  IMP_STORE,  // mem[index] = value: u.store (kernels only); vectors as IMP_LOAD has them
  IMP_PREFETCH,  // mem[index], which may lie outside, is soon wanted: u.prefetch (kernels only)
  IMP_ATOMIC,   // u.atomic (kernels only), as its action says
  IMP_LOCKED,   // a body that one item at a time runs (kernels only): u.locked
  IMP_FOR,      // for (i64 var = 0; var < bound; var++): u.loop
  IMP_WHILE,    // while (condition): u.loop_while
  IMP_IF,       // u.cond
  IMP_BARRIER,  // of a work-group, local and global memory: no member
  IMP_CALL,     // vars = f(args): u.call (a Core function)
  IMP_CHECK,    // if (!condition) run-time error: u.check
  IMP_COMMENT,  // u.comment
  // kernels: memory of the group or item
  IMP_LOCAL,  // local or private array of `count` elements: u.alloc
  // host
  IMP_DECLARE_MEM,  // a reference to no block: u.mem
  IMP_ALLOC,        // mem = new block of `count` elements: u.alloc
  IMP_SHARE,        // to = from (both references): u.share
  IMP_UNIQUE,  // if `from` is referenced from elsewhere too, to = a copy, else to = from: u.share
  IMP_RELEASE,  // mem refers to nothing any more: u.mem
  IMP_LAUNCH,   // u.launch
  IMP_TABLE,    // mem = a block of constants, which others may refer to as well: u.table
  IMP_READ,     // var = mem[index] (waits for the device): u.read
  IMP_GUARD,    // u.guard: a decision between versions
  IMP_ONCE,     // if (mem refers to nothing) body: u.once
  IMP_SPLIT,    // vars = this worker's block: u.split
  IMP_GATHER,   // to = the workers' blocks: u.gather
  IMP_AWAIT,    // waits for the rows of others in a border: u.mem
} ImpStmKind;

typedef struct Kernel Kernel;

typedef enum AtomicAction {
  // mem[index] op= value (i32, u32, i64, u64: add min max and or xor; f32, f64: add)
  ATOMIC_UPDATE,
  // if mem[index] is `old` it becomes value, and result = true; else old = mem[index] (32, 64 bits)
  ATOMIC_EXCHANGE,
  // Between groups, of an i32; guarded by no failure, since others wait.
  ATOMIC_TAKE,  // result = mem[index]++
  // mem[index] = value, which is more than it was; seen after what the item has stored before
  ATOMIC_SIGNAL,
  ATOMIC_AWAIT,  // result = mem[index], as soon as that is not 0; then what was stored is seen
} AtomicAction;

typedef struct KernelArg {
  bool is_mem;
  const Mem *mem;       // a host reference
  const ImpExp *value;  // a scalar
  // Memory of a kernel that uses an arena: it reads what was there before, it writes there.
  bool loads, changes;
} KernelArg;

typedef struct ImpParam {  // a parameter of an entry, or a result: a scalar or an array
  const Var *var;          // scalars
  Arr arr;                 // arrays: contiguous, row-major
  bool is_array;
} ImpParam;

struct ImpStm {
  ImpStmKind kind;
  Loc loc;
  union {
    struct {
      const Var *var;
      const ImpExp *value;
      int lanes;
    } declare;
    struct {
      const Var *var;
      const ImpExp *value;
    } assign;
    // step: lanes are so far apart (NULL: 1, or the index is a vector);
    // mask: of these lanes (NULL: all); run: so many lanes side by side, of a `step` (0: one);
    // packed: those of the mask go side by side, whatever is between them, from the index on;
    // over: and what lies behind them, up to as many elements as there are lanes, may change
    struct {
      const Mem *mem;
      const ImpExp *index, *value, *step, *mask;
      int run;
      bool packed, over;
    } store;
    struct {
      const Mem *mem;
      const ImpExp *index;
      bool stores;
    } prefetch;
    struct {
      PrimOp op;
      const Mem *mem;
      const ImpExp *index, *value, *old;
      const Var *result;
      AtomicAction action;
    } atomic;
    // Holding lock `index` (an i32, 0: free), for which an item waits; what the body stores to,
    // global or local, those who hold the lock after it see.
    struct {
      const Mem *locks;
      const ImpExp *index;
      ImpBlock body;
    } locked;
    // reassociate: float operations in the body may be reordered (a reduction; vectorises).
    // independent: no iteration reads or writes what another one writes
    // many: there are so many iterations that several vectors of them at once pay
    // scalar: vectors would be put together and taken apart word by word
    struct {
      const Var *var;
      const ImpExp *bound;
      ImpBlock body;
      bool reassociate, independent, many, scalar;
    } loop;
    struct {
      const ImpExp *condition;
      ImpBlock body;
    } loop_while;
    struct {
      const ImpExp *condition;
      ImpBlock then_body, else_body;
    } cond;
    struct {
      const Function *function;
      const Var **vars;
      int var_count;
      const ImpExp **args;
      int arg_count;
    } call;
    // parts and values as EXP_ASSERT; values beyond IMP_CHECK_VALUES, and the text around them, are
    // left out; in kernels they reach the host as i64
    struct {
      const ImpExp *condition;
      const char *const *parts;
      const ImpExp *const *values;
      int value_count;
    } check;
    struct {
      const char *text;
    } comment;
    struct {
      const Mem *mem;
    } mem;
    struct {
      const Mem *mem;
      const ImpExp *count;
    } alloc;
    struct {
      const Mem *mem;
      const Prim *values;
      int count;
    } table;
    struct {
      const Mem *to, *from;
    } share;
    // items: how many work-items at least (the last group may have idle ones: kernels test); with
    // groups != NULL: so many groups of exactly group_size.  Nothing is launched for 0 items.
    struct {
      const Kernel *kernel;
      const ImpExp *items, *groups,
          *group_size;        // group_size NULL: the default of the profile
      const KernelArg *args;  // one per kernel param, scratch excepted
      int arg_count;
    } launch;
    struct {
      const Var *var;
      const Mem *mem;
      const ImpExp *index;
    } read;
    // results: what the branches make, for comparing versions; one_for_two: the item of GUARD_LOOP
    // has one array where the host has two; bands: the last version of the other
    // branch is but sums in bands (KernPlan)
    struct {
      const Guard *guard;
      bool one_for_two, bands;
      const ImpExp *par, *local_bytes;
      const ImpExp *step;  // on CPUs: Guard.step, 0 if it is not known; NULL: no matter
      ImpBlock then_body, else_body;
      const ImpParam *results;
      int result_count;
      const ImpExp *roundings;  // in an order that differs between the branches
    } guard;
    struct {
      const Mem *mem;
      ImpBlock body;
    } once;
    // vars: the results of EXP_SPLIT
    struct {
      const Guard *guard;
      const ImpExp *par, *width, *moved;
      const Var *const *vars;
      const ImpExp *workers;  // NULL: the guard says it
      Name layout;            // or NULL
    } split;
    // rows of `row` elements; from NULL: the block is one scalar, `value`
    struct {
      const Mem *to, *from;
      const ImpExp *value, *workers, *total, *start, *count, *row;
      const ImpExp *before, *after;  // of EXP_BORDER; NULL: all rows
      const ImpExp *first, *rows;    // of EXP_FETCH; or NULL
      // Of one of columns: how often they lie in a row, how many there are, each of `unit`
      // elements; `first` and `rows` are of these.  NULL: of rows.
      const ImpExp *outer, *columns;
      const ImpExp
          *room;  // so many rows lie before the block in `from`, and those after a border
                  // behind it; NULL: it lies alone
      bool each, ring;      // every worker has one row; see EXP_BORDER
      int site;             // its number, if it has one
      const ImpExp *later;  // of EXP_BORDER: does IMP_AWAIT follow?  NULL: it does not
      const Mem *positions, *values;  // of EXP_DELIVER; or NULL
      const ImpExp *points, *unit;    // that have those; the elements of each value
      Name layout;                    // of the blocks; or NULL
    } gather;
  } u;
};

// A scalar or memory parameter of a kernel.
typedef struct KernelParam {
  bool is_mem;
  const Mem *mem;
  const Var *var;
} KernelParam;

// Arrays of a kernel that the launch makes room for; `count` elements, a host expression.  By
// mem->space:
// MEM_SCRATCH: `count` for each work-item, in one device buffer, or in local memory (`own_local`).
// MEM_LOCAL: `count` for each group, in local memory, or, when that is too small, in one device
// buffer (the fallback build).
typedef struct Scratch {
  const Mem *mem;
  const ImpExp *count;
  const Mem *
      within;  // it lies in the memory of this array, which is not needed when it is; or NULL
} Scratch;

struct Kernel {
  Name name;  // "segmap_12": unique in the program, a C identifier
  Loc loc;
  const KernelParam *params;
  int param_count;
  const Scratch *scratch;
  int scratch_count;
  ImpBlock body;
  bool
      may_fail;  // contains IMP_CHECK: the host looks at the error word; or heeds it only
  bool uses_arena;  // has MEM_ARENA arrays; may be run again when the arena was too small
  bool has_barrier;  // one group per unit of work, group_size as launched
  bool sized;        // compiled for each size of groups
  bool one_point;    // of which one item runs all, as loops of the host
  bool own_local;    // arrays of MEM_SCRATCH lie in local memory, in groups of group_size
  int64_t group_size;          // as launched, 0: the default of the profile, -1: computed
  const Function **functions;  // called, callees first
  int function_count;
  const KernPlan *plan;  // NULL: it was not made by one
  Name recipe_name;      // what recipes call it: main.segred_2_chunks; or NULL
};

typedef struct ImpEntry {
  const Entry *entry;
  const ImpParam *params;
  ImpBlock body;
  // results in order: size results first (scalars), then leaves; arrays contiguous, row-major
  const ImpParam *results;
  const ImpExp **scalar_results;  // parallel: the value of a scalar result
  int result_count;
} ImpEntry;

// A number that the user or the tuner may set: name, class ("threshold", ..),
// default.
typedef struct TuningParam {
  Name name;
  const char *kind;
  int64_t cpu_default, gpu_default;
  Name follows;  // the parameter whose value it has while it has none of its own; or NULL
  int64_t most;  // 0: no limit of its own
  int64_t cpu_step;  // not 0: by default on CPUs a step may be so many operations
  int64_t cpu_each;  // not 0: by default on CPUs it is that for each core
  // Not 0: the default on CPUs is more on few cores, which move so many words for one of one core.
  int64_t cpu_words;
} TuningParam;

typedef struct ImpProgram {
  const Core *flat;
  const ImpEntry **entries;
  int entry_count;
  const Kernel **kernels;  // in order of first launch
  int kernel_count;
  const TuningParam *tuning;
  int tuning_count;
  const KernPlan *const *plans;  // in order of the seg-ops
  const SegOp *const *planned;   // which those are
  int plan_count;
  const CopyNote *copies;  // for --explain-copies
  int copy_count;
  const Function **functions;
  int function_count;
} ImpProgram;

// Flat -> Imp for one profile, by the recipes of the book (or NULL).  mixed: other workers run the
// other profile; all of them compute on the host what stands there.  NULL after errors (already
// reported).
ImpProgram *imp_lower(Compiler *c, const Core *flat, Profile profile, RecipeBook *book,
                      bool mixed);

// ---- building (imp_build.c)

const ImpExp *imp_var(const Var *var);
const ImpExp *imp_const(Prim constant);
const ImpExp *imp_i64(int64_t value);
bool imp_is_i64(const ImpExp *e, int64_t value);
bool imp_is_true(const ImpExp *e);
const ImpExp *imp_atom(Atom a);
// Fold constants and the neutral cases of integer arithmetic.
const ImpExp *imp_op1(PrimOp op, const ImpExp *a);
const ImpExp *imp_op2(PrimOp op, const ImpExp *a, const ImpExp *b);
const ImpExp *imp_op3(PrimOp op, const ImpExp *a, const ImpExp *b, const ImpExp *d);
const ImpExp *imp_add(const ImpExp *a, const ImpExp *b);  // i64
const ImpExp *imp_sub(const ImpExp *a, const ImpExp *b);
const ImpExp *imp_mul(const ImpExp *a, const ImpExp *b);
const ImpExp *imp_quot(const ImpExp *a, const ImpExp *b);  // b > 0 is known
const ImpExp *imp_rem(const ImpExp *a, const ImpExp *b);   // b > 0 is known
const ImpExp *imp_ceil_div(const ImpExp *a, const ImpExp *b);
const ImpExp *imp_min(const ImpExp *a, const ImpExp *b);
const ImpExp *imp_max(const ImpExp *a, const ImpExp *b);
const ImpExp *imp_less(const ImpExp *a, const ImpExp *b);
const ImpExp *imp_and(const ImpExp *a, const ImpExp *b);  // bool
const ImpExp *imp_convert(PrimType to, const ImpExp *a);
const ImpExp *imp_bits(PrimType to, const ImpExp *a);
const ImpExp *imp_select(const ImpExp *condition, const ImpExp *a, const ImpExp *b);
const ImpExp *imp_load(const Mem *mem, const ImpExp *index);
const ImpExp *imp_item(ItemNumber item);
const ImpExp *imp_shuffle(const ImpExp *value, const ImpExp *apart, bool up);
const ImpExp *imp_tuning(Name name);
// Vectors.  Operators and conversions spread scalars among their operands to all lanes.
const ImpExp *imp_vector_var(const Var *var, int lanes);
const ImpExp *imp_splat(const ImpExp *a, int lanes);  // vectors as they are
const ImpExp *imp_iota(PrimType type, int lanes);
const ImpExp *imp_vload(const Mem *mem, const ImpExp *index,
                        int lanes);  // neighbours, or a vector of indices
const ImpExp *imp_strided(const Mem *mem, const ImpExp *index, const ImpExp *step,
                          int run, int lanes);
const ImpExp *imp_permute(const ImpExp *a, const ImpExp *b, const signed char *from);
// The same, as a vector of another length.
const ImpExp *imp_permute_to(const ImpExp *a, const ImpExp *b, const signed char *from,
                             int lanes);
const ImpExp *imp_pick(const ImpExp *vector, const ImpExp *which);
const ImpExp *imp_over_lanes(ImpExpKind kind,
                             const ImpExp *a);  // IMP_ANY .. IMP_COUNT
const ImpExp *imp_size_exp(
    const SizeExp *e);  // saturating on the host: marked by type i64 and add/mul

// A block under construction, chained to the one around it.
typedef struct ImpBuilder {
  Compiler *c;
  ImpBlock block;
  Loc loc;
} ImpBuilder;

void imp_add_stm(ImpBuilder *b, ImpStm stm);  // copies; loc is the builder's
const Var *imp_declare(ImpBuilder *b, const char *name,
                       const ImpExp *value);  // let name = value
const ImpExp *imp_let(ImpBuilder *b, const char *name,
                      const ImpExp *value);  // the same, as an expression
const ImpExp *imp_named(ImpBuilder *b, const char *name,
                        const ImpExp *value);  // likewise, but constants stay
// for index < bound { block }
void imp_for(ImpBuilder *b, const Var *index, const ImpExp *bound, ImpBlock block);
void imp_if(ImpBuilder *b, const ImpExp *condition, ImpBlock block);
void imp_if_else(ImpBuilder *b, const ImpExp *condition, ImpBlock yes, ImpBlock no);
void imp_release(ImpBuilder *b, const Mem *mem);
void imp_assign(ImpBuilder *b, const Var *var, const ImpExp *value);
void imp_store(ImpBuilder *b, const Mem *mem, const ImpExp *index, const ImpExp *value);
const Mem *mem_new(Compiler *c, const char *name, MemSpace space, PrimType elem);

// An index function over fresh row-major memory, and views of one.
Arr arr_dense(const Mem *mem, PrimType elem, const ImpExp *const *shape, int rank);
const ImpExp *arr_index(const Arr *arr, const ImpExp *const *indices);  // full index
const ImpExp *arr_load(const Arr *arr, const ImpExp *offset);  // the element there
// start, start + step, .. without memory; step NULL: start everywhere.
Arr arr_virtual(PrimType elem, const ImpExp *const *shape, const ImpExp *start,
                const ImpExp *step);
Arr arr_peel(const Arr *arr, const ImpExp *const *indices,
             int count);                              // leading indices fixed
Arr arr_slice(const Arr *arr, const DimIndex *dims);  // dims by imp_atom
Arr arr_permute(const Arr *arr, const int *perm);
// Does it lie from the beginning of its memory on?
bool arr_begins(const Arr *arr);
bool arr_is_dense(
    const Arr *arr);  // row-major without gaps, any offset; structurally known
// The reshaped view; false if it would need a copy.
bool arr_reshape(const Arr *arr, const ImpExp *const *shape, int rank, Arr *out);
const ImpExp *arr_count(const Arr *arr);  // number of elements

void imp_print(Text *t, const ImpProgram *program);
void imp_print_plans(Text *t, const ImpProgram *program);
void imp_explain_plans(Text *t, const ImpProgram *program);

// ---- walking (imp_walk.c)

// The expressions that stand in a statement itself (not in its blocks), in order.
typedef void (*ImpExpFn)(void *state, const ImpExp *e);
void imp_each_exp(const ImpStm *stm, ImpExpFn fn, void *state);
// The operands of an expression.
int imp_operands(const ImpExp *e, const ImpExp **out);  // at most 3
// Are these expressions of whole numbers, without loads, certainly the same?
bool imp_same(const ImpExp *a, const ImpExp *b);
// The inner blocks of a statement: 0, 1 or 2.
int imp_blocks(const ImpStm *stm, const ImpBlock **out);
// The statement with `fn` of its inner blocks.
typedef ImpBlock (*ImpBlockFn)(void *state, const ImpBlock *block);
const ImpStm *imp_map_blocks(const ImpStm *stm, ImpBlockFn fn, void *state);
// The arrays of a kernel in one kind of memory: MEM_SCRATCH, or MEM_LOCAL or MEM_ARENA (those are
// IMP_LOCAL statements).  The counts are host expressions, except for MEM_ARENA.  Without those
// that lie in the memory of others.  With `own_local`, those of MEM_SCRATCH are of MEM_LOCAL.
typedef Vec(Scratch) KernelArrays;
KernelArrays imp_kernel_arrays(const Kernel *kernel, MemSpace space);
// Has the kernel a parameter, an array or a value of this type?  What nothing reads does not count.
bool imp_kernel_uses(Compiler *c, const Kernel *kernel, PrimType type);
// Moves what a loop computes anew in each round before the loop; in kernels without barriers.
ImpBlock imp_hoist(const ImpBlock *block);
// Moves divisions that are the same in all rounds of a loop before it (imp_divide.c).
ImpBlock imp_lift_divisions(const ImpBlock *block);
// Gives loops a form without the guards that hold in all rounds (imp_inside.c).
ImpBlock imp_inside(const ImpBlock *block);
// Makes one loop of those over the same range that follow one another, where the next one loads
// what the one before it stores (imp_fuse.c); in kernels without barriers.  `fresh`: global arrays
// that the kernel knows by no other name.
ImpBlock imp_fuse_loops(Compiler *c, const ImpBlock *block, const Map *fresh);
// What loops store and load again at once stays in variables (imp_forward.c); in kernels without
// barriers.
ImpBlock imp_forward_stores(Compiler *c, const ImpBlock *block);
// Loops down columns, which store one, ask for the rows ahead (imp_prefetch.c); last of all.
ImpBlock imp_prefetch_rows(Compiler *c, const ImpBlock *block);
// Puts products into the sums that are their only readers (imp_contract.c).
ImpBlock imp_contract(const ImpBlock *block);

// Does the block hold an exchange between workers?
bool imp_exchanges(const ImpBlock *block);
// An entry point with other exchanges in the one program than in the other, or in another order, or
// in other loops and branches; NULL if there is none.
const Entry *imp_other_exchanges(const ImpProgram *a, const ImpProgram *b);

// Launches whose results nothing reads go.
void imp_drop_dead(ImpProgram *program);

// Whether a kernel reads and writes the array of a parameter (imp_access.c).
typedef struct ImpAccess {
  bool reads, writes;
} ImpAccess;
ImpAccess imp_access(const Kernel *kernel, int param);

// Scalars that kernels make, and only kernels need, stay on the device.
void imp_keep_scalars(Compiler *c, ImpProgram *program);

// Kernels without checks that could run wild on what a failed kernel has not written look at the
// error word first.
void imp_heed_failures(ImpProgram *program);

// Kernels, in launches too, become others: Kernel -> Kernel.
void imp_replace_kernels(ImpProgram *program, Map *replaced);

// The variables whose values matter: all that statements with an effect read, directly or through
// declarations and assignments.  `extra` are read besides.
Map *imp_live(const ImpBlock *block, const ImpExp *const *extra, int extra_count);

// ---- Core functions (lower/function.c)

// The body of a function: statements, then the values of its results.
typedef struct ImpFunction {
  const Function *function;
  ImpBlock body;
  const ImpExp **results;
} ImpFunction;

const ImpFunction *imp_lower_function(Compiler *c, const Function *function);
