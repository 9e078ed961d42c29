// Flat for several workers (processes of an MPI job): what is in parallel is divided among them.
//
//   let ys = segmap1 <i < n> {let x = xs[i] .. in {y}}
//     =>  let (start, count, workers, rank, most) = split n if Par(..) >= main.workers_0
//         let xs' = xs[start:count]
//         let ys' = segmap1 <j < count> {let x = xs'[j] .. in {y}}
//         let ys = gather n from start:count ys'
//
// All workers run the same host code on the same scalars, but for the results of splits, so that
// they agree wherever the host decides.  An array is replicated (ys) or distributed by blocks of
// its outer dimension (ys').  What reads element i at point i of a space that is divided alike
// reads the block, and what reads elements i - 1 or i + 1 a block with some rows of its neighbours;
// a gather whose result nobody reads any more is dead code.  There is one split for each width in a
// scope: what it divides is divided in the same way.
//
// Guards between versions count the rows of the largest block in the place of n.
//
// One worker does all, and gathers cost nothing, where the guard of the split says so.
#pragma once
#include "base/map.h"
#include "flat/flat.h"

typedef struct RowSplit {
  Atom width;
  Atom start, count, workers, rank;
  Atom most;  // rows of the largest block
} RowSplit;

// A block of an array's rows.
typedef struct RowPart {
  Atom block;
  const RowSplit *split;
  int loops;  // around the array
} RowPart;

// A seg-op that was divided.
typedef struct SpreadSeg {
  const SegOp *seg;       // before
  const RowSplit *split;  // NULL: all go through all points, and write blocks
  bool cheap;             // its results take longer to gather than to compute
  bool whole_inputs;      // none of what it reads is distributed
  VarVec blocks;          // its distributed results
  VarVec inputs;          // what the divided one mentions
  int loops;              // around it
} SpreadSeg;

// Of an array that a divided scan has made.
typedef struct ScanPart {
  Atom own;     // the scan of this worker's block alone
  Atom before;  // what the workers before this one have summed up
  Atom total;   // and all of them: the last element
} ScanPart;

// An array that is distributed by dimension number `dims`.
typedef struct Turned {
  Atom rows;  // the same with this dimension first: a gathered array
  int dims;
  Atom block;  // this worker's part of it, with its dimensions as they are
} Turned;

typedef struct LoopDepth {
  int loops;  // that are open within the loop
} LoopDepth;

typedef struct Spread {
  Compiler *c;
  const Entry *entry;
  int split_count;               // made for the entry: numbers their names
  Vec(const RowSplit *) splits;  // in scope, outermost first
  Map *parts;                    // Var of a gathered array -> RowPart
  Map *scans;                    // Var of a gathered array -> ScanPart
  Map *turned;                   // Var -> Turned
  Map *turned_blocks;            // Var of a block of rows -> Turned: as it lies
  int loops;                     // that are open
  Map *flows;                    // Var of a block -> VarVec of blocks that it may be
  Map *carried;                  // Var of a block that a loop carries -> LoopDepth
  Vec(SpreadSeg) segs;
  const Map *whole;  // SegOp: to be left to every worker
  Map *exchanges;    // Var of columns that are fetched -> Var of their array
  const Map
      *needed;   // Var of an array that is gathered anyway: no columns of it are fetched
  Map *alike;    // Var, a bool: a condition of ours that is the same for all workers
  Map *defs;     // Var, an i64 -> Exp
  Map *indices;  // Var, an array -> RowPosition: what its elements are
  Map *offsets;  // Var, an array -> SmallRange: likewise
} Spread;

// The split of so many rows; NULL if there is none.
const RowSplit *spread_split_of(const Spread *s, Atom width);
// The part of the array that this split makes; NULL if it is not distributed so.
const RowPart *spread_part(const Spread *s, Atom array, const RowSplit *split);
// The same, or a view of the replicated array.
Atom spread_block(const Spread *s, Builder *b, Atom array, const RowSplit *split);
// [split->count] rows of the type.
CoreType spread_type(CoreType type, const RowSplit *split);
// Notes that the first is made of the second, which may be gathered for it.
void spread_flow(Spread *s, Atom to, Atom from);
// array = gather block, bound and noted.
void spread_gather(Spread *s, Builder *b, const Var *array, Atom block,
                   const RowSplit *split);

// ---- loops (workers_rounds.c)

// Loops carry arrays in the shape in which their rounds read and make them.
const Body *spread_carry(Compiler *c, const Body *body);
// Does it choose between rounds on the host and, if they have little work, those of one item: not
// blocks, but small?
bool spread_is_loop_guard(const Exp *exp);

// ---- what has weights of its own (workers_layouts.c)

// Splits for each layout; callers: parameters that the entry point names are handed in as blocks.
const Body *spread_layouts(Compiler *c, const Entry *entry, bool callers);

// ---- what splits are worth (workers_price.c)

// Splits know what is exchanged for them.
const Body *spread_price(Compiler *c, const Entry *entry, const Body *body);

// ---- what the host reads (workers_host.c)

// Adds such a statement; false if it reads nothing distributed, or more than a row.
bool spread_host_read(const Spread *s, Builder *b, const Stm *stm);

// Gathers stand in the branches that read them (workers_sink.c).
const Body *spread_sink(Compiler *c, const Body *body, const Map *alike);

// ---- where what points compute lies (workers_positions.c)

enum { MOST_BORDER = 64 };  // rows; who reads further away reads all

// Where a number is from the point i that computes it: i + least at least, i + most at most.  In
// a ring: within the array, after so many steps in a circle; loose: it will be by `% n`.
typedef struct RowPosition {
  int64_t least, most;
  bool loose, ring;
} RowPosition;

// A number from `least` to `most`, which are small.
typedef struct SmallRange {
  int64_t least, most;
} SmallRange;

typedef struct Positions {
  Spread *s;
  Atom width;   // there are as many points
  Map *found;   // Var -> RowPosition
  Map *ranges;  // Var -> SmallRange
} Positions;

Positions spread_positions(Spread *s, Atom width);
const RowPosition *spread_position(const Positions *p, Atom a);
// Notes an index of a dimension of so many; what a statement binds; and what its bodies take.
void spread_note_below(Positions *p, const Var *index, Atom width);
void spread_note_point(Positions *p, const Stm *stm);
void spread_enter(Positions *p, const Exp *exp);

// Is it the position of the last of so many rows?
bool spread_is_last(const Spread *s, Atom position, Atom rows);
// Notes the statement on the host: numbers, and arrays of positions.
void spread_note(Spread *s, const Stm *stm);

// ---- what points read (workers_reads.c)

// Are all indices but those of whole dimensions single ones?  Others have a check of another kind.
bool spread_has_single_indices(const Exp *exp);

// whole: set to false if some array is distributed.
typedef struct SpreadInputs {
  const Var *from, *to;  // index i among all rows; j in the block
  const RowSplit *split;
  bool *whole;
  const SegOp *seg;  // all of it: what is free in its body is bound on the host
} SpreadInputs;

// The body over a block, of which `to` is the index: let i = start + to, then the body, which reads
// rows of blocks where it can.  Blocks and borders are added to `b`.
const Body *spread_reads(Spread *s, Builder *b, const Body *body, SpreadInputs in);

// The seg-op, which is not divided, with rows of distributed arrays that all its points read.
const SegOp *spread_single_reads(Spread *s, Builder *b, const SegOp *seg);

// ---- seg-ops (workers_seg.c)

enum { FEW_ROWS = 32 };  // a number in the program's text: too few for many workers

// Can each worker run a block of it?
bool spread_can(const SegOp *seg);
// The same seg-op over the block; whole: as in SpreadInputs.
SegOp *spread_block_seg(Spread *s, Builder *b, const SegOp *seg, const RowSplit *split,
                        bool *whole);
// Adds and notes the divided seg-op: its results.
Atom *spread_add_blocks(Spread *s, Builder *b, const Stm *stm, const SegOp *seg,
                        const RowSplit *split, bool whole_inputs);
// Adds the statement, divided, with its binders bound.
void spread_seg(Spread *s, Builder *b, const Stm *stm, const RowSplit *split);

typedef struct Operators {
  const RedOp *at;
  int count;
} Operators;

Operators spread_operators(const SegOp *seg);
// How many values they take from each side.
int spread_operand_count(Operators ops);
// op carry element, for every operator.
Atom *spread_apply(Builder *b, Operators ops, const Atom *carry, const Atom *elements);
// Are the results for a point larger than what it takes to compute them is worth?
bool spread_costs_little(const SegOp *seg);
Atom spread_is_more(Builder *b, Atom value, int64_t than);
const Body *spread_no_stms(const Builder *b, const Atom *atoms, int count);
// A value of each worker, in an array.
Atom spread_gather_value(Builder *b, const char *name, Atom value, const RowSplit *split);
// redomap width (\x .. -> {x ..}) arrays ops: in one item, as there are few workers.
Atom *spread_reduce(Builder *b, Operators ops, Atom width, const Atom *arrays);

// ---- filters (workers_filter.c)

// The scatter of one?
bool spread_is_filter(const SegOp *seg);
// Does the statement make what filters that follow it overwrite?
bool spread_is_scratch(const Body *body, int position);
// Adds the scatter of a filter, divided; false, and nothing is added, if its offsets are not.
bool spread_filter(Spread *s, Builder *b, const Stm *stm, const RowSplit *split);

// ---- scatters (workers_scatter.c)

// Adds a scatter into distributed arrays; false if it is none.
bool spread_scatter(Spread *s, Builder *b, const Stm *stm);
// Its points, with the rows of a block in the place of those of all; splits: per destination, NULL
// for one that is whole.
const Body *spread_points_of_blocks(const Builder *b, const SegOp *seg,
                                    const RowSplit *const *splits);
// Do its points read arrays that are distributed?
bool spread_reads_distributed(const Spread *s, const SegOp *seg);

// Takes a point of a scatter so long that workers should not go through all of them?
bool spread_is_worth_delivering(const SegOp *seg);
// The same, or is it outside of loops, and reads what is distributed; and are its points divided?
bool spread_may_deliver(const Spread *s, const SegOp *seg);
// Adds a scatter over points that are divided, of which each worker sends what belongs into the
// blocks of others (workers_deliver.c); false, and nothing is added, if not all that it writes into
// can be divided.
bool spread_delivery(Spread *s, Builder *b, const Stm *stm, const RowSplit *split);

// ---- sums of columns (workers_columns.c)

// What each point reduces over.
typedef enum ColumnKind {
  COLUMNS_NONE,
  COLUMNS_DISTRIBUTED,  // the rows of an array that is distributed by them
  COLUMNS_MIXED         // those of an array that all have, with one that is distributed
} ColumnKind;

ColumnKind spread_columns_of(const Spread *s, const SegOp *seg);
// Is it the first kind, in one part or several?
bool spread_is_column_sum(const Spread *s, const SegOp *seg);
// Adds such a statement, each worker's rows reduced and then combined; false if it is none.
bool spread_column_sum(Spread *s, Builder *b, const Stm *stm);
// Does the statement reduce rows, so many of them?
bool spread_is_reduction(const Stm *stm, Atom *width);
// Adds a statement that is no such sum.
void spread_whole_stm(Spread *s, Builder *b, const Stm *stm);
// Adds any statement (workers.c).
void spread_stm(Spread *s, Builder *b, const Stm *stm);

// ---- scans of columns (workers_prefixes.c)

// Is it the scan of columns of an array that is distributed by its rows?
bool spread_is_column_scan(const Spread *s, const SegOp *seg);
// Adds such a statement; false if it is none.
bool spread_column_scan(Spread *s, Builder *b, const Stm *stm);
// The array as one that is distributed by another dimension than the first; NULL if it is not.
const Turned *spread_turned(const Spread *s, Atom array);
const RowPart *spread_turned_part(const Spread *s, const Turned *t);
// array = all blocks, each with its rows behind `dims` other dimensions, bound and noted.
void spread_gather_turned(Spread *s, Builder *b, const Var *array, Atom block,
                          const RowSplit *split, int dims);
// The body, which reads the rows of such arrays where it can.
const Body *spread_turned_reads(Spread *s, const Body *body);
// The body, which reads blocks of such rows as they lie.
const Body *spread_unturned_reads(Spread *s, const Body *body);
// Adds a view by which the dimension comes first; false if the statement is none.
bool spread_turned_view(Spread *s, Builder *b, const Stm *stm);

// ---- columns of what is distributed by its rows (workers_exchange.c)

// The columns, of dimension `dim`, that this worker has of the part if they are divided by `to`:
// its first is number `base` of them.
Atom spread_columns(Spread *s, Builder *b, Atom array, const RowSplit *to, int dim,
                    Atom *base);
// The array's part, of which columns may be fetched here; NULL: they may not.
const RowPart *spread_part_for_columns(const Spread *s, Atom array);
// Adds arrays of which the body gathers all rows where it also fetches columns; false if there are
// none.
bool spread_find_needed(const Spread *s, const Body *body, Map *needed);
// Adds a view by which columns become rows that are divided; false if the statement is none.
bool spread_turning_view(Spread *s, Builder *b, const Stm *stm);

// ---- other rows (workers_reshape.c)

// The part of an array that the statement gives other rows; NULL if it is none.
const RowPart *spread_reshaped(const Spread *s, const Stm *stm);
// Adds such a statement; false, and nothing is added, if nothing runs over these rows.
bool spread_reshape(Spread *s, Builder *b, const Stm *stm);

// ---- points with several sums of columns (workers_apart.c)

// Are there several such reductions in its points?
bool spread_comes_apart(const Spread *s, const SegOp *seg);
// Adds the statement in two parts; false if it does not come apart.
bool spread_apart(Spread *s, Builder *b, const Stm *stm);
