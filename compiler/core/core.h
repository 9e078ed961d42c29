// Core: first-order, monomorphic, A-normal form, with nested parallel operators: the source
// language of the incremental-flattening paper (PPoPP'19, section 2, Figure 1), with arrays of
// tuples turned into tuples of arrays.  Printed (core_print.c):
//
//   entry main (n: i64) (m: i64) (xss: [n][m]f32) : [n]f32 =
//     let ys : [n]f32 =
//       map n (\(xs: [m]f32) ->
//         let s : f32 = redomap m (\(x: f32) -> {x}) xs
//                       op (\(a: f32) (b: f32) -> let c : f32 = a + b in {c}) {0.0f32}
//         in {s}) xss
//     in {ys}
//
// Flat, the paper's target language (section 2.1), is Core with two more kinds of expression,
// EXP_SEG and EXP_GUARD, so that one walker, printer and interpreter serve both; SOACs that remain
// in Flat are sequential.  flat/flat.h says what Flat promises beyond this header.  Nodes never
// change once built, except through the builder.  A binder is one Var, unique by address and bound
// once in a whole program: rename when a body is copied (core_rename_*).
#pragma once
#include "base/diag.h"
#include "base/prim.h"
#include "base/text.h"
#include "base/vec.h"

typedef struct Var Var;
typedef struct Exp Exp;
typedef struct Body Body;
typedef struct SegOp SegOp;
typedef struct Guard Guard;

typedef enum AtomKind { ATOM_VAR, ATOM_CONST } AtomKind;

// A variable or a scalar constant.
typedef struct Atom {
  AtomKind kind;
  union {
    const Var *var;
    Prim constant;
  } u;
} Atom;
typedef Vec(Atom) AtomVec;

// [dims[0]]...[dims[rank-1]]elem; the dims are i64 atoms.  A scalar has rank 0.
typedef struct CoreType {
  PrimType elem;
  int rank;
  const Atom *dims;
} CoreType;

struct Var {
  Name name;  // as the source calls it, or a descriptive word; printed as name_id
  int id;
  CoreType type;
  Loc loc;
};
typedef Vec(const Var *) VarVec;

// What #[...] said about a statement.
typedef struct StmAttrs {
  bool sequential, sequential_outer, sequential_inner;
  bool no_outer, no_intra, only_intra, only_inner;  // flattening(...)
  bool unroll;
  int stripmine;  // loops that reverse mode makes around the rounds of a loop
  Name name;  // name("n"): the stable name of its guards, or NULL
  const char *traced;  // what the interpreter calls the results when it shows them, or NULL
  bool stops;          // the interpreter asks whether to go on
} StmAttrs;

// let binders = exp
typedef struct Stm {
  const Var **binders;
  int binder_count;
  const Exp *exp;
  Loc loc;                // of the source expression: run-time errors cite it
  const StmAttrs *attrs;  // NULL: none
} Stm;

// let stms in {results}
struct Body {
  const Stm *stms;
  int stm_count;
  const Atom *results;
  int result_count;
};

// \params -> body
typedef struct Lambda {
  const Var **params;
  int param_count;
  const Body *body;
} Lambda;

// The rows of exp.def: beside each its syntax and its member of Exp.
typedef enum ExpKind {
#define EXP_KIND(name, word, cheap, fails, traits) EXP_##name,
#include "core/exp.def"
#undef EXP_KIND
} ExpKind;

// One dimension of an index: a position, or `count` positions from `start` on, `stride` apart.
// All i64; the stride may be negative or zero.
typedef struct DimIndex {
  bool is_slice;
  Atom start;          // the position itself if it is no slice
  Atom count, stride;  // slices only
} DimIndex;

// An operator of a redomap or scanomap over `count` values at once (a tuple): `op` has 2*count
// parameters (left, then right) and count results.  Associative with `neutral`.  Operands may be
// arrays.
typedef struct RedOp {
  Lambda op;
  const Atom *neutral;
  int count;
  bool commutative;
} RedOp;

typedef struct Soac {
  Atom width;     // i64: elements of every array, outermost dimension
  Lambda fn;      // a parameter per array; results: see below
  const Atom *arrays;
  int array_count;
  // EXP_MAP:      every result of `fn` becomes an array.  op_count is 0.
  // EXP_REDOMAP:  the first sum(ops[i].count) results of `fn` are reduced, the others become
  //               arrays; the value is the reduced values, then the arrays.
  // EXP_SCANOMAP: likewise with scanned arrays first.
  // EXP_FILTER:   `fn` returns a bool, then values: those of elements with true are kept, in
  //               order.  The value is their number (i64), then arrays of that number.
  const RedOp *ops;
  int op_count;
} Soac;

// One destination: dest with [index...] = value for each element; what is out of bounds is left
// out.  `fn` returns for each destination its index_count indices (i64) and one value.  Equal
// indices must carry equal values; else any of them is stored.
typedef struct ScatterDest {
  Atom dest;
  int index_count;  // leading dimensions of dest that are indexed
  bool covered;     // every element that is read is written: what dest holds does not matter
  bool inside;      // indices are in bounds, by checks before: it is an update of a slice
  bool ascending;   // of a filter: indices in bounds ascend from 0 on in steps of 1
} ScatterDest;

// One histogram: dests[k] with [i] = op dests[k][i] v, for each element in any order.  `fn` returns
// for each histogram its index (i64; out of bounds is left out), then, after all the indices, the
// values.
typedef struct HistOp {
  const Atom *dests;  // op.count arrays of equal outer size
  Atom width;         // that size
  RedOp op;
  // Of a SEG_HIST: goes into the bins of the histogram before it, whose destinations, width and
  // operator it has; no results of its own.  Made by flat_chain_hists, for CPUs.
  bool chained;
} HistOp;

typedef enum LoopForm { CORE_FOR, CORE_WHILE } LoopForm;

typedef struct Function Function;

struct Exp {
  ExpKind kind;
  union {
    struct { Atom atom; } atom;
    struct { PrimOp op; PrimType type; Atom args[3]; } op;  // type: of the operands
    struct { PrimType to; Atom atom; } convert;
    // a DimIndex per dimension
    struct { Atom array; const DimIndex *dims; int dim_count; bool checked; } index;
    struct { Atom array; const DimIndex *dims; int dim_count; Atom value; bool checked; } update;
    struct { Atom count, start, step; PrimType type; } iota;  // count >= 0 is checked
    struct { Atom count, value; } replicate;                  // count >= 0 is checked
    // dimension i of the result is perm[i] of the array
    struct { const int *perm; int rank; Atom array; } rearrange;
    struct { const Atom *dims; int rank; Atom array; } reshape;
    struct { Atom count; const Atom *arrays; int array_count; } concat;  // count: the sum
    struct { Atom amount, array; } rotate;
    struct { const Atom *atoms; int count; CoreType row; } array;
    // The message is parts[0] values[0] parts[1] ... parts[value_count].
    struct {
      Atom condition;
      const char *const *parts;
      const Atom *values;  // scalars
      int value_count;
      const Atom *atoms;
      int atom_count;
    } assert;
    // spares_copy: the second body copies an array that it updates, unless that may be overwritten;
    // the first one, which is slower but for that, does not (flat/host_loop.c).
    struct { Atom condition; const Body *then_body, *else_body; bool spares_copy; } cond;
    struct {
      const Var **params;  // the types may mention earlier params (sizes that vary)
      const Atom *inits;
      int param_count;
      LoopForm form;
      const Var *index;  // CORE_FOR: bound, counts from 0
      Atom bound;        // CORE_FOR
      int while_param;   // CORE_WHILE: which param (bool) says whether to go on
      const Body *body;  // results: the next params
    } loop;
    struct { const Function *function; const Atom *args; int arg_count; } call;
    struct { bool by_size; Atom size; const Body *first, *second; } choose;
    Soac soac;
    struct {
      Atom width;
      Lambda fn;
      const Atom *arrays;
      int array_count;
      const ScatterDest *dests;
      int dest_count;
    } scatter;
    struct {
      Atom width;
      Lambda fn;
      const Atom *arrays;
      int array_count;
      const HistOp *ops;
      int op_count;
    } hist;
    const SegOp *seg;
    struct { const Guard *guard; const Body *then_body, *else_body; } guard;
    // This worker's block of `width` rows: the first row, how many, the number of workers that the
    // rows are divided among, which of them this one is, and how many rows the largest block has.
    // One worker does all if the guard is not taken; if `workers` is not 0, another split with the
    // same guard has asked that, and found so many.  layout: which weights say how many rows each
    // worker has (flat/workers/workers_layouts.c); NULL: those of the program.
    struct { const Guard *guard; Atom width, workers; Name layout; } split;
    // Each place where workers exchange something has a number, `site`, in programs for devices of
    // different kinds (flat_keep_alike); else 0.
    //
    // The blocks of so many workers in order, `total` rows; of this one: `count` rows from row
    // `start` on, or a scalar, which is a block of one.  Every worker has the result.  layout: as
    // that of the split which makes the blocks.
    struct { Atom workers, total, start, count, value; int site; Name layout; } gather;
    // The rows of this worker's block with so many rows before and after it (constants), those of
    // others, as far as the array has them: `extent` rows in all.  In a ring the last row comes
    // before the first one, so that all have them; a single worker's border is its block.
    struct {
      Atom workers, total, start, count, before, after, extent, block;
      bool ring;
      int site;
      Name layout;
    } border;
    // Rows `first` to first + rows of what the blocks of all workers hold in order, `total` rows;
    // each may want others.  Of this worker: `count` rows from row `start` on; blocks may be of any
    // sizes.  A single worker's block is all rows.  dim > 0: all rows, but of dimension `dim` only
    // positions `first` to first + rows (an exchange of columns).
    struct {
      Atom workers, total, start, count, first, rows, block;
      int dim, site;
    } fetch;
    // This worker's block, `count` of `total` rows from row `start` on, with the values that all
    // workers have for it, elements or rows of their own: values[k] belongs to place positions[k]
    // of such in all rows, one after the other; who names another place is left out.  Of the
    // values for one place the last in the order of the workers, and of each one's points, stays.
    struct {
      Atom workers, total, start, count, block, positions, values;
      int site;
      Name layout;
    } deliver;
  } u;
};

typedef enum SegKind { SEG_MAP, SEG_RED, SEG_SCAN, SEG_HIST, SEG_SCATTER } SegKind;

// <index < width>: one dimension of a space.
typedef struct SegDim {
  const Var *index;  // i64
  Atom width;        // in scope where the seg-op stands
} SegDim;

// segmap^level <i_p < n_p> ... <i_1 < n_1> {body}: the body for every point of the space, in
// parallel.  The context's reads (x = xs[i]) are the body's leading statements.
struct SegOp {
  SegKind kind;
  int level;           // 0: within a work-group; 1: the grid
  const SegDim *dims;  // outermost first; at least one
  int dim_count;
  const Body *body;
  // SEG_MAP:   every result becomes an array [n_p]...[n_1].  op_count is 0.
  // SEG_RED:   as EXP_REDOMAP along the innermost dimension; reduced values are [n_p]...[n_2].
  // SEG_SCAN:  as EXP_SCANOMAP along the innermost dimension.
  const RedOp *ops;
  int op_count;
  // SEG_HIST: as EXP_HIST along the innermost dimension; dests are [n_p]...[n_2][width]row.
  const HistOp *hists;
  int hist_count;
  // SEG_SCATTER: as EXP_SCATTER; the indices that the body returns cover every indexed dimension.
  const ScatterDest *dests;
  int dest_count;
  // SEG_SCAN, or NULL: what is made of each point at once.  It takes the indices of the point, the
  // scanned scalars and the body's other results; it returns what a SEG_SCATTER does for `dests`,
  // then mapped values.  The seg-op's value is the destinations and the mapped arrays alone.  Made
  // by flat_fuse_scans, behind the last pass that rewrites Flat.
  const Lambda *after;
  // Not 0: a SEG_RED and a SEG_SCAN behind it with the same number combine the same values, so that
  // partial results of the one serve the other.
  int partials;
};

typedef enum SizeExpKind { SIZE_EXP_ATOM, SIZE_EXP_ADD, SIZE_EXP_MUL, SIZE_EXP_MAX } SizeExpKind;

// An expression over sizes, evaluated on the host in saturating 64-bit arithmetic.
typedef struct SizeExp {
  SizeExpKind kind;
  Atom atom;                       // SIZE_EXP_ATOM
  const struct SizeExp *a, *b;     // the others
} SizeExp;

// What a split gives.
enum { SPLIT_START, SPLIT_COUNT, SPLIT_WORKERS, SPLIT_RANK, SPLIT_MOST, SPLIT_RESULTS };

typedef enum GuardKind {
  GUARD_TOP,
  GUARD_INTRA,
  GUARD_REDOMAP,
  GUARD_CHOOSE,
  GUARD_LOOP,
  GUARD_WORKERS,  // of a split; `par` is operations
} GuardKind;

// Par >= threshold, and the version fits into local memory.
struct Guard {
  GuardKind kind;
  Name name;             // stable: "main.top_2"; the threshold's name
  Loc loc;               // the SOAC that was versioned
  const SizeExp *par;
  const SizeExp *local_bytes;  // local memory that the first branch needs, or NULL: none
  const SizeExp *step;  // GUARD_INTRA: operations of its largest step; NULL: not known
  // GUARD_WORKERS: what is exchanged for so many divided seg-ops, and bytes moved, or NULL
  int exchanges, segs;
  const SizeExp *moved;
};

// A function without parallelism, called from several places.
struct Function {
  Name name;
  Loc loc;
  const Var **params;
  int param_count;
  const CoreType *results;
  int result_count;
  const Body *body;
  bool noinline;  // stays, even if it is called from one place only
  // with_vjp: from the results and their adjoints, in terms of the params, too, the adjoints of the
  // first params.  Such calls exist only within code that is being differentiated (core/ad).
  const Lambda *adjoint;
};

// One parameter or result of an entry point as the source and C know it.
typedef struct EntryValue {
  Name name;          // the parameter's name; NULL for results without one
  const char *type;   // in source syntax: "[n][m]f32", "(i32, point)", a record by its abbreviation
  bool unique;
  bool opaque;        // record or other composite: one opaque value for C
  int first, count;   // its leaves among the entry's params or results
  // for records and tuples: the fields, each a value of its own over the same leaves
  const struct EntryValue *fields;
  int field_count;
  // for sum types: what follows the leaf that says which constructor it is
  const struct EntryConstructor *constructors;
  int constructor_count;
  // for arrays of opaque values: one of them, whose leaves are rows of these; how many dimensions
  const struct EntryValue *element;
  int rank;
} EntryValue;

typedef struct EntryConstructor {
  const char *name;
  const EntryValue *fields;
  int field_count;
} EntryConstructor;

// Without the sizes: "[n][m]f32" is "[][]f32" (elab/elaborate.c).
const char *entry_type_without_sizes(const char *type);

// Parameters in order: the sizes first, then the leaves of the source parameters.  A caller binds
// each size from the first array dimension that names it and checks the other dimensions.
typedef struct Entry {
  Name name;
  Loc loc;
  const char *doc;
  const char **attributes;    // as they are written, without #[]
  int attribute_count;
  const Var **params;
  int param_count;
  int size_count;  // how many of the first params are sizes
  const EntryValue *inputs;
  int input_count;
  const EntryValue *outputs;  // one per component when the source result is a tuple
  int output_count;
  const char *output_type;    // of the source result: as EntryValue.type
  const SizeExp *bytes;       // #[bytes(e)], over params: the bytes that a call moves; or NULL
  // #[blocks(xs)], per param: where there are several workers, callers hand in their rows; or NULL
  const bool *blocks;
  const bool *result_blocks;  // per leaf: callers get their rows; or NULL
  const CoreType *results;    // may mention params; the body's results begin with unknown sizes
  int result_count;           // leaves; the body has size_result_count more results before them
  int size_result_count;      // i64 results that `results` mention through size_results
  const Var **size_results;   // the names by which `results` refer to them
  const Body *body;
} Entry;

typedef struct Core {
  const Function **functions;  // callees before callers
  int function_count;
  const Entry **entries;
  int entry_count;
} Core;

// ---- building (core_build.c)

Atom atom_var(const Var *var);
Atom atom_const(Prim constant);
Atom atom_i64(int64_t value);
Atom atom_bool(bool value);
bool atom_equal(Atom a, Atom b);  // same variable, or identical constants
bool atom_is_i64(Atom a, int64_t value);
CoreType atom_type(Atom a);  // the type of a variable, or of a constant
CoreType type_scalar(PrimType elem);
CoreType type_array(PrimType elem, int rank, const Atom *dims);  // copies dims
CoreType type_row(CoreType type);                                // without the outermost dimension
CoreType type_of_rows(CoreType row, Atom count);                 // [count]row
CoreType type_peel(CoreType type, int count);                    // without `count` outer dimensions
bool type_same_shape(CoreType a, CoreType b);                    // elem, rank and atom_equal dims

// A fresh variable; its number comes from the compiler, in order of creation.
const Var *var_new(Compiler *c, Name name, CoreType type, Loc loc);
const Var *var_like(Compiler *c, const Var *var);  // fresh, with the same name and type

// A body under construction.  Builders nest: one per body.
typedef struct Builder {
  Compiler *c;
  Vec(Stm) stms;
  Loc loc;                // given to statements that are added
  const StmAttrs *attrs;  // likewise
} Builder;

// An empty body whose statements stand at `loc`.
Builder builder_new(Compiler *c, Loc loc);

// Adds `let name = exp` and returns the fresh variable; core_let_n for several results, whose
// atoms are stored in `out`.  Types are computed by exp_types.
Atom core_let(Builder *b, const char *name, const Exp *exp);
// Binds several results, called `name`; their atoms go to `out`.
void core_let_n(Builder *b, const char *name, const Exp *exp, Atom *out);
// Binds results to variables that exist already.
void core_let_vars(Builder *b, const Var **binders, int count, const Exp *exp);
void core_add_stm(Builder *b, Stm stm);  // as it is, with its own position and attributes
void core_add_body(Builder *b, const Body *body);  // its statements; the caller uses its results
// The statements so far, with these results; the builder may go on.
const Body *core_body(const Builder *b, const Atom *results, int count);

// The types of an expression's results, `*count` of them.  Sizes that only exist at run time
// (filter's count, an `if` with results of different sizes) refer to the expression's own results:
// `binders`, when given, stand for them.
const CoreType *exp_types(Compiler *c, const Exp *exp, const Var *const *binders, int *count);
// How many values the expression has, without computing their types.
int exp_result_count(const Exp *exp);
int seg_dest_values(const SegOp *seg);  // results that its destinations take

const Exp *exp_atom(Atom a);
const Exp *exp_op1(PrimOp op, Atom a);
const Exp *exp_op2(PrimOp op, Atom a, Atom b);
const Exp *exp_op3(PrimOp op, Atom a, Atom b, Atom d);
// To the nearest value of another numeric type; integers wrap.
const Exp *exp_convert(PrimType to, Atom a);
// The same bits as a value of another type of that size.
const Exp *exp_bits(PrimType to, Atom a);
const Exp *exp_index(Atom array, const Atom *indices, int count, bool checked);  // the rest in full
const Exp *exp_slice(Atom array, const DimIndex *dims, bool checked);  // one per dimension
// The array with a part replaced; one DimIndex per dimension.
const Exp *exp_update(Atom array, const DimIndex *dims, Atom value, bool checked);
// start, start + step, ..., of the type of `start`.
const Exp *exp_iota(Atom count, Atom start, Atom step);
const Exp *exp_replicate(Atom count, Atom value);
// Dimension i of the result is dimension perm[i] of the array.
const Exp *exp_rearrange(const int *perm, int rank, Atom array);
// The same elements in another shape, in row-major order.
const Exp *exp_reshape(const Atom *dims, int rank, Atom array);
// Along the outer dimension; `count` is the sum of the sizes.
const Exp *exp_concat(Atom count, const Atom *arrays, int array_count);
// Element i of the result is element (i + amount) mod n.
const Exp *exp_rotate(Atom amount, Atom array);
const Exp *exp_copy(Atom a);  // the value in memory that nobody else refers to
// An array literal; `row` is the type of its elements.
const Exp *exp_array(const Atom *atoms, int count, CoreType row);
const Exp *exp_if(Atom condition, const Body *then_body, const Body *else_body);
// The same choice between other bodies.
const Exp *exp_if_again(const Exp *choice, const Body *then_body, const Body *else_body);
const Exp *exp_map(Atom width, Lambda fn, const Atom *arrays, int array_count);
// A map, redomap, scanomap or filter; `soac` is kept as it is.
const Exp *exp_soac(ExpKind kind, Soac soac);
const Exp *exp_seg(const SegOp *seg);  // Flat only
const SizeExp *size_exp_atom(Atom a);
// Folds constants.
const SizeExp *size_exp_op(SizeExpKind kind, const SizeExp *a, const SizeExp *b);
// Flat only.
const Exp *exp_guard(const Guard *guard, const Body *then_body, const Body *else_body);
const Exp *exp_split(const Guard *guard, Atom width);
// Of as many rows as `split`, which has so many workers: by the weights of this layout.
const Exp *exp_split_likewise(const Exp *split, Atom workers, Name layout);
// Like a gather of an array, but of these rows only.
const Exp *exp_border(const Exp *gather, Atom before, Atom after, Atom extent, bool ring);
const Exp *exp_fetch(const Exp *gather, Atom first, Atom rows);
const Exp *exp_fetch_columns(const Exp *gather, int dim, Atom first, Atom columns);
// The block of a gather of an array, with values put into it.
const Exp *exp_deliver(const Exp *gather, Atom positions, Atom values);
const Exp *exp_gather(Atom workers, Atom total, Atom start, Atom count, Atom value);

DimIndex dim_fix(Atom position);  // one position
// `count` positions from `start` on, `stride` apart.
DimIndex dim_slice(Atom start, Atom count, Atom stride);
bool dim_is_whole(const DimIndex *dim, Atom size);  // 0:size:1, all of a dimension of this size
// Copies the list of parameters.
Lambda lambda_new(const Var *const *params, int count, const Body *body);
// Does it return its parameters, in order?
bool lambda_is_identity(const Lambda *fn);
int lambda_param_index(const Lambda *fn, Atom a);  // which parameter it is; -1: none
// A lambda that is a map over its own parameters, as operators on arrays have it, e.g.
// \xs ys -> map (+) xs ys, element by element: the map's width, and its function with parameters
// in the order of those of `op`; else NULL.
const Soac *lambda_vector_operator(const Lambda *op);
// \x y .. -> x y .., over elements of the arrays.
Lambda lambda_identity_over(Builder *b, const char *name, const Atom *arrays, int count);
// map count (\columns -> redomap, or scanomap, width op columns) arrays: an operator on scalars,
// not renamed, over the rows of `op.count` arrays.
const Exp *exp_reduced_rows(Builder *b, ExpKind kind, Atom count, Atom width, RedOp op,
                            const Atom *arrays);
// Can it be proved that an operator on scalars gives the same with its operands exchanged?
bool lambda_commutes(const Lambda *op);
int soac_red_count(const Soac *soac);  // sum of ops[i].count

// i64 arithmetic with folding: sizes and indices.
Atom size_add(Builder *b, Atom x, Atom y);
Atom size_sub(Builder *b, Atom x, Atom y);
Atom size_mul(Builder *b, Atom x, Atom y);

// ---- walking (core_walk.c)

// Functions for the children of an expression; NULL members mean identity.
typedef struct CoreMapper {
  Atom (*atom)(struct CoreMapper *m, Atom a);              // every atom, also in types
  const Body *(*body)(struct CoreMapper *m, const Body *body);
  // parameters of lambdas, loops, spaces
  const Var *(*binder)(struct CoreMapper *m, const Var *var);
  void *state;
} CoreMapper;

// The expression with its direct children mapped (shared when nothing changed).
const Exp *core_map_exp(CoreMapper *m, const Exp *exp);
Lambda core_map_lambda(CoreMapper *m, Lambda fn);  // with its parameters and body mapped
CoreType core_map_type(CoreMapper *m, CoreType type);  // with its dimensions mapped

// Functions called for the children of an expression; NULL members are skipped.
typedef struct CoreVisitor {
  void (*atom)(struct CoreVisitor *v, Atom a);
  void (*body)(struct CoreVisitor *v, const Body *body);
  void (*binder)(struct CoreVisitor *v, const Var *var);
  void *state;
} CoreVisitor;

// Calls the visitor for the direct children.
void core_visit_exp(CoreVisitor *v, const Exp *exp);
void core_visit_stm(CoreVisitor *v, const Stm *stm);    // binders' types and the expression
void core_visit_body(CoreVisitor *v, const Body *body);  // statements and results

// How often the body's statements and results mention each variable, at any depth, but in types:
// Var -> int *.
struct Map *core_uses(const Body *body);
// Is `from`, which becomes the array `var`, of its size, and is that the only use of it?
bool core_is_made_of(const struct Map *uses, const Var *var, Atom from);

// A substitution: variables to atoms.
typedef struct Subst Subst;
Subst *subst_new(void);  // the empty substitution
// `from` becomes `to`; a later one replaces an earlier one.
void subst_put(Subst *s, const Var *from, Atom to);
// The atom itself if nothing is to be put in its place.
Atom subst_atom(const Subst *s, Atom a);
CoreType subst_type(const Subst *s, CoreType type);
// The body with the substitution applied and every binder in it fresh.
const Body *core_rename_body(Compiler *c, const Subst *s, const Body *body);
// Likewise for a lambda, with its parameters.
Lambda core_rename_lambda(Compiler *c, const Subst *s, Lambda fn);
// Likewise for one expression.
const Exp *core_rename_exp(Compiler *c, const Subst *s, const Exp *exp);
// Applies the substitution without renaming binders (the original must be dropped).
const Body *core_subst_body(Compiler *c, const Subst *s, const Body *body);
const Exp *core_subst_exp(Compiler *c, const Subst *s, const Exp *exp);

// The variables that occur free, each once, in order of first occurrence (types included).
VarVec core_free_exp(const Exp *exp);
VarVec core_free_stm(const Stm *stm);  // those of the expression, and of the binders' types
VarVec core_free_body(const Body *body);
VarVec core_free_lambda(const Lambda *fn);

// The inner bodies of an expression in order (lambdas' bodies, branches, loops), for vec_each.
typedef Vec(const Body *) BodyVec;
BodyVec exp_bodies(const Exp *exp);

// ---- traits of expressions (core_traits.c; the table is exp.def, which explains the words)

const char *exp_word(const Exp *exp);  // "redomap"; NULL: none
bool exp_is_scalar(const Exp *exp);  // computes one scalar from scalars
bool exp_is_view(const Exp *exp);  // its arrays lie in the memory of its operands
bool exp_is_shareable(const Exp *exp);  // equal ones in one scope are computed once
bool exp_has_joint_results(const Exp *exp);  // its results are kept or dropped together
// Holds functions, branches, or the body of a loop or a space.
bool exp_has_bodies(const Exp *exp);
bool exp_is_branch(const Exp *exp);  // runs one of its two bodies, once
bool exp_is_parallel(const Exp *exp);  // a SOAC or a seg-op
bool exp_is_soac(const Exp *exp);      // map .. filter
bool exp_is_exchange(const Exp *exp);  // moves elements between workers
bool exp_is_cheap(const Exp *exp);     // computed again rather than stored
bool exp_is_table(const Exp *exp);     // a literal of constants alone
bool exp_may_fail(const Exp *exp);     // traps, bounds, asserts at its own level
bool core_has_soac(const Body *body);  // at any depth, also seg-ops

// ---- programs

// The program with every body of functions and entry points mapped.
const Core *core_map_bodies(Compiler *c, const Core *core,
                            const Body *(*fn)(Compiler *c, const Body *body));
// Has the mapping left every body as it was?
bool core_same_bodies(const Core *a, const Core *b);

// ---- printing and checking

// The whole program; names carry the numbers of their variables.
void core_print(Text *t, const Core *core);
// `let ... in {results}`, at the current indentation.
void core_print_body(Text *t, const Body *body);
void core_print_exp(Text *t, const Exp *exp);
void core_print_type(Text *t, CoreType type);
void core_print_atom(Text *t, Atom a);
void core_print_size(Text *t, Atom a);  // i64 constants without their suffix

// Reports every violation through bug() after printing the offending statement: unbound or twice
// bound variables, types that disagree with exp_types (element types and ranks exactly; sizes
// when both are constants), wrong result counts, non-i64 sizes.  EXP_SEG and EXP_GUARD are refused
// unless `flat`.
void core_check(Compiler *c, const Core *core, bool flat);
