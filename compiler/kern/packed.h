// Stores behind a scan of flags that lie side by side: what a filter keeps, the two sides of a
// partition, the buckets of a radix sort.
#pragma once
#include "kern/kern_vary.h"

enum { MOST_PIECES = 16 };

// Elements that lie side by side, of the lanes whose flag is set.
typedef struct PackedPiece {
  int flag;           // the scan's sum that it is counted by
  bool others;        // of the lanes whose flag is not set
  const Term *only;   // so it is, if these lanes are the same ones; NULL: they are
  const Term *first;  // where the first one's element goes; lane 0's, where it differs
} PackedPiece;

// A store whose elements are that, in pieces; if the elements of a piece do not all lie in
// 0 <= index < width, it is as if it were none (NULL: all do).
typedef struct PackedStore {
  Access to;
  const Term *value, *width;
  bool over;  // what lies behind the elements is stored later, or by no one
  PackedPiece pieces[MOST_PIECES];
  int count;
} PackedStore;

typedef Vec(const PackedStore *) PackedStoreVec;

typedef struct PackedScan {
  const Term *const *flags;  // of each sum: what it counts
  const KernBlock *plain;    // of `after`: what needs no sums, and comes first,
  const KernBlock *counted;  // and what does
  PackedStoreVec stores;     // what `counted` does
} PackedScan;

// The scan in lanes as one of flags, if nothing but such stores needs its sums; or NULL.
const PackedScan *kern_packed_scan(Compiler *c, const Vary *vary, const Axis *axis);
