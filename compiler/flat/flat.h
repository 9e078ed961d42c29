// Flat: the target language of incremental flattening (PPoPP'19, section 2.1): Core in which
// parallelism stands only in seg-ops, and code versions behind guards.
//
//   entry main (n: i64) (m: i64) (xss: [n][m]f32) : [n]f32 =
//     let ys : [n]f32 =
//       if Par(n) >= main.top_0 then
//         let a : [n]f32 = segmap1 <i < n> {... redomap ... in {s}} in {a}
//       else
//         let b : [n]f32 = segred1 <i < n> <j < m> (+) {0.0f32} {...} in {b}
//     in {ys}
//
// Promises beyond core.h: SOACs are sequential; a seg-op of level 1 stands on the host, one of
// level 0 within a seg-op of level 1, and has one dimension if it combines values; nothing parallel
// stands in a seg-op of level 0; guards stand on the host, each name once.
#pragma once
#include "core/core.h"

typedef enum FlattenMode {
  FLATTEN_INCREMENTAL,  // every rule, every version
  FLATTEN_MODERATE,     // one version: PLDI'17's heuristic, inner redomaps sequential
  FLATTEN_FULL,         // one version: all parallelism at level 1
  FLATTEN_OUTER,        // one version: the outermost map only
} FlattenMode;

// Who runs a program, by what connects them (runtime/workers.h).
typedef enum Workers { WORKERS_ONE, WORKERS_MPI, WORKERS_THREADS } Workers;

typedef struct FlattenOptions {
  FlattenMode mode;
  int max_versions;  // per entry point; beyond it maps get fewer versions, with a warning
  Text *trace;       // "file:line:col: G3" per rule that fired, or NULL
  Workers workers;   // several: flat_for_workers
  bool blocks;  // callers hand in what #[blocks(..)] names as blocks: compiled programs
  bool mixed;   // several: on devices of different kinds, each with its own code
  bool reproducible;  // what combines floats does so in one order: fix_order
} FlattenOptions;

// Core -> Flat.
const Core *flatten(Compiler *c, const Core *core, FlattenOptions options);

// Flat -> Flat, for CPUs, before scans are joined: filters with what little is made of each element
// that they keep.
const Core *flat_filter_maps(Compiler *c, const Core *flat);
// Flat -> Flat, for CPUs, before scans are fused: scans that the same points read, their totals and
// what is stored at places made of them, each as one.
const Core *flat_join_scans(Compiler *c, const Core *flat);

// Flat -> Flat, for CPUs: histograms one into the other at the same points, as one that takes
// several values of each point.
const Core *flat_chain_hists(Compiler *c, const Core *flat);

// Flat -> Flat: scans with what is made of their values at each point.  With computes_again (code
// for GPUs) only scans whose elements are little work, as they are computed for both.
const Core *flat_fuse_scans(Compiler *c, const Core *flat, bool computes_again);

// Flat -> Flat, for CPUs: literals of few constants that points run over are their own.
const Core *flat_own_literals(Compiler *c, const Core *flat);

// What the host runs, that within branches and loops first (m->body gets these), with what stands
// at each position rewritten, from the last to the first; `rewrite` returns NULL where nothing
// changes.
typedef const Body *FlatRewriteAt(void *state, const Body *body, int position);
const Body *flat_rewrite_host(CoreMapper *m, Compiler *c, const Body *body,
                              FlatRewriteAt *rewrite);

// Do they have as many dimensions, of equal widths?
bool flat_same_space(const SegOp *a, const SegOp *b);
// Does the body only compute scalars, with reads of arrays, in at most so many statements?
bool flat_takes_little(const Body *body, int most);

// Flat -> Flat, for GPUs, before scans are fused: filters have room for all elements.
const Core *flat_filter_rooms(Compiler *c, const Core *flat);
// Flat -> Flat, for GPUs: rows that points make or copy are points of the space.
const Core *flat_spread_rows(Compiler *c, const Core *flat);
// Flat -> Flat, for GPUs: what combines points that go through rows combines what maps have made.
const Core *flat_points_first(Compiler *c, const Core *flat);
// For CPUs: what a scan's points take long to make, by a map before it (points_first.c).
const Core *flat_scans_last(Compiler *c, const Core *flat);
// Flat -> Flat, for GPUs: maps that only move the elements of an array are rearrangements.
const Core *flat_move_arrays(Compiler *c, const Core *flat);
// Flat -> Flat, for GPUs: the dimensions of maps in such an order that neighbours read neighbours.
const Core *flat_turn_spaces(Compiler *c, const Core *flat);
// Flat -> Flat, for GPUs: spaces whose points go through rows have one dimension.
const Core *flat_join_spaces(Compiler *c, const Core *flat);
// Flat -> Flat, for GPUs: small arrays that loops of points carry are scalars.
const Core *flat_small_arrays(Compiler *c, const Core *flat);
// Flat -> Flat, for GPUs: long sums for each of few pairs are sums of shorter ones.
const Core *flat_split_sums(Compiler *c, const Core *flat);
// Flat -> Flat, for GPUs: histograms of rows are histograms of their elements.
const Core *flat_row_hists(Compiler *c, const Core *flat);
// Flat -> Flat, for GPUs: groups for one operation alone become its outer dimensions.
const Core *flat_without_lone_groups(Compiler *c, const Core *flat);

// Flat -> Flat: literals of literals on the host are one.
const Core *flat_tables(Compiler *c, const Core *flat);

// Flat -> Flat: elements of reshapes that would be copies are those of what is reshaped, of which
// the host may join dimensions.
const Core *flat_gapped_rows(Compiler *c, const Core *flat, bool join);

// Flat -> Flat: for several workers (workers.h), of which each does a part.  blocks: the parameters
// that entry points name so hold this worker's rows, and so do results of as many.
const Core *flat_for_workers(Compiler *c, const Core *flat, bool blocks);

// What several workers exchange, or all do, and why.
typedef struct MoveNote {
  Loc loc;
  const char *text;
  const char *when;  // ", if main.top_0"; "" always
} MoveNote;
typedef Vec(MoveNote) MoveNotes;
MoveNotes flat_explain_moves(const Core *flat);

// Flat -> Flat, behind that, for workers on devices of different kinds: what all compute and could
// come out otherwise somewhere, as one of them has it; exchanges get their numbers.  fixed: sums
// and products of floats are rounded alike (--reproducible).
const Core *flat_keep_alike(Compiler *c, const Core *flat, bool fixed);

// Reports violations of the promises above through bug().
void flat_check(Compiler *c, const Core *flat);
// The same of what lies in blocks, in the body of an entry point (layout_check.c).
void flat_check_layouts(Compiler *c, const Body *body);
