// What the items of a group have, combined in local memory.
#pragma once
#include "imp/lower/lower.h"

// Values of the operators of a seg-op, one of each kind per item: mems[value][item].
typedef struct Parts {
  const SegOp *seg;
  int count;  // of kinds
  const Mem *const *mems;
  const ImpExp *item;
  const ImpExp *stride;  // what the next item of a run has is so far away; NULL: 1
} Parts;

// Neighbouring items that belong together.
typedef struct PartRun {
  const ImpExp *position,
      *count;            // of the item among them; of them
  const ImpExp *steps;   // so many doublings of 1 reach the count, at least 1
  const ImpExp *active;  // of which items; NULL: of all
} PartRun;

// Each begins with a barrier behind it and ends with one.
// The parts of a run become, in order, one: that of its first item.
void parts_tree(const Parts *p, Code *k, PartRun run);
// The same for the whole group and operators that commute.
void parts_halve(const Parts *p, Code *k);
// Inclusive sums of runs; `mems` have room for two values per item.  Returns where the item's own
// then is.
const ImpExp *parts_scan(const Parts *p, Code *k, PartRun run);

// How many doublings of 1 reach `count`, at least 1: a host variable.
const ImpExp *host_doublings(Code *host, const ImpExp *count);

const ImpExp *const *values_load(const Mem *const *mems, int count, const ImpExp *at);
void values_store(ImpBuilder *b, const Mem *const *mems, int count, const ImpExp *at,
                  const ImpExp *const *values);
