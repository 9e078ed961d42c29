// Reductions, scans and histograms over long rows,
// cut into chunks that items work on at the same time.
#pragma once
#include "kern/plan.h"

// What a kernel of unknown sizes is for.
typedef enum KernUse {
  USE_POINTS,  // many points
  USE_CHUNKS,  // a few, with long rows: each keeps an item busy
  USE_FEW,     // a few, and short: as it is
} KernUse;

// What the host decides: how many chunks per row, how many elements in each.
typedef struct Chunks {
  const KernBlock *lets;
  const Term *count, *size;
  const Term *pays;            // or else rows stay as they are
  const Tensor *const *temps;  // partial results [rows..][count], or copies of histograms
  int temp_count;
  const Kern *phases[3];
  KernUse uses[3];
  int phase_count;
} Chunks;

// Unpredictable stores to arrays with spare elements without a branch: item number `item` stores
// what is not wanted behind the end.
const KernBlock *kern_use_spare(Compiler *c, const KernBlock *block, const Term *item);

// The parameter that tells how many "items" the chunks of a seg-op are for, or how large each
// "chunk" is at least.
Name kern_chunk_param(Compiler *c, const KernSeg *seg, const char *what);

// The kernel in phases: its points must end in a reduction, scan or histogram.
// False if they do not.  A scan that takes partial results lacks the phase that makes them.
// The parameters that tell how many chunks there are and how large at least are `seg`'s own.
bool kern_in_chunks(Compiler *c, const Kern *kern, const KernSeg *seg, Chunks *out);
// The same for sums of columns in bands (bands.h).
bool kern_columns_in_chunks(Compiler *c, const Kern *kern, const KernSeg *seg,
                            Chunks *out);
// The same for long sums over the columns of two arrays that no cache holds, so that all points go
// through a chunk before the next one.
bool kern_products_in_chunks(Compiler *c, const Kern *kern, Chunks *out);
// The same for a histogram that `from` has made in chunks.  False also if the operator may fail,
// which it must not for copies without elements.
bool kern_hist_in_chunks(Compiler *c, const KernSeg *seg, Chunks *out);
