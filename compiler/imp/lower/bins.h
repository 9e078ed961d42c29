// Bins of a histogram to which several items add at the same time (bins.c).
#pragma once
#include "imp/lower/lower.h"

// How a value is added to a bin.
typedef enum BinWay {
  BIN_ATOMIC,     // by an atomic operation that devices have
  BIN_ADDED,      // floats, which most add by comparing and exchanging
  BIN_EXCHANGED,  // in a loop that compares and exchanges
  BIN_LOCKED
} BinWay;

// The bins of one operator.
typedef struct Bins {
  const HistOp *hist;
  const Arr *const *dests;  // a value each: [bins], or [bins] rows
  BinWay way;
  Arr locks;          // BIN_LOCKED: of i32, one for each bin ..
  int64_t lock_mask;  // .. at the index & lock_mask; 0: at the index
} Bins;

// The way for an operator on a device whose widest atomic operations have so many bytes.
BinWay bin_way(const RedOp *op, int64_t atomic_bytes);

// dests[bin] = op dests[bin] values; the bin exists
void bins_add(Code *k, const Bins *bins, const ImpExp *bin, const ImpExp *const *scalars,
              const Arr *const *arrays);

// One element's contributions to `count` operators' bins: `scalars` and `arrays` are the results of
// the histogram's body, numbers of bins first.
void bins_round(Code *k, const Bins *bins, int count, const ImpExp *const *scalars,
                const Arr *const *arrays);
