// A kernel that ends in a reduction, scan or histogram of rows, taken apart into chunks (chunks.c).
#pragma once
#include "base/map.h"
#include "kern/schedules/chunks.h"

typedef struct Cut {
  Compiler *c;
  const Kern *kern;
  const Axis *grid[16];  // outermost first
  int grid_count;
  const KernBlock *point;
  int at;  // of the axis in the point's statements
  const Axis *row;
  const KernSeg *seg;
  bool columns;  // are in lanes, not the elements of rows
  Chunks *out;
  Map *starts;  // Kern.starts
} Cut;

// A copy of the point with every binder fresh, and the indices of its grid.
typedef struct Copy {
  const Var *indices[16];
  const KernBlock *point;
  const Axis *row;
} Copy;

// Finds grid, point and row.  False: there is no row, or points do something else behind it.
bool cut_take_apart(Cut *x);

Copy cut_fresh_point(Cut *x);

// The grid around a block, with one more axis inside if `last` is given.
const Kern *cut_in_grid(Cut *x, const Copy *copy, const Axis *last,
                        const KernBlock *block, const char *suffix);

// The axis of the chunks.
Axis cut_chunk_axis(Cut *x);

// Adds the point's statements before the row.
void cut_before_row(Cut *x, KernBuilder *b, const Copy *copy);

// The row's axis over the elements of a chunk.
Axis cut_chunk_of(Cut *x, KernBuilder *b, const Axis *row, const Var *chunk);

// Partial results of all chunks, or copies of so many bins.
const Tensor *cut_temp_new(Cut *x, const char *name, PrimType elem, const Term *bins);

// temp[indices.., chunk, bin]; NULL: without a bin
Access cut_temp_at(Cut *x, const Tensor *temp, const Copy *copy, const Term *chunk,
                   const Term *bin);

// The arrays of partial results, and what a point of the chunk of that number does for them.
void cut_make_partials(Cut *x);
const KernBlock *cut_partial_sums(Cut *x, const Copy *copy, const Var *number);
// The points, from their partial results.
const Kern *cut_combine_partials(Cut *x, const char *suffix);

void cut_add_phase(Chunks *out, const Kern *kern, KernUse use);

const Term *const *cut_terms(const Var *const *vars, int count);

// ---- histograms (chunked_hists.c)

// The copies of the bins.
void cut_make_copies(Cut *x);

// The phases: chunks count, copies are put together.
const Kern *cut_fill_copies(Cut *x);
const Kern *cut_combine_copies(Cut *x);

// May something in it fail?
bool kern_has_checks(const KernBlock *block);
