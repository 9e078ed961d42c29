// Code of a work-group: every item runs it, scalars have the same value in each, and level-0
// seg-ops share their points among the items.
//
// Barriers (docs/opencl.md) stand at the top level of the kernel or in loops with at least one
// trip.  So a conditional around level-0 code does not branch: its body runs with `active` false
// where it should not run, and then neither reads, writes nor fails.
#pragma once
#include "imp/lower/lower.h"

typedef struct Group {
  Code k;                    // k.active: the predicate, NULL for true
  const ImpExp *group_size;  // a host expression
  bool dirty;                // memory may have been read since the last barrier
  bool reshapes;             // arrays are seen in other ranks: they are to be dense
} Group;

void group_body(Group *g, const Body *body, const ImpExp **scalars, const Arr **dests);
void group_seg(Group *g, const Stm *stm, const Body *body,
               int position);  // group_seg.c
bool group_has_seg(const Exp *exp);
// Checks on the host the sizes that level-0 code is certain to make,
// before the kernel for `around`.
void group_check_spaces(Code *host, Code *kernel, const SegOp *around);

// The size of the group for the seg-ops in the body, at most `limit`: a host expression.
const ImpExp *group_size_for(Code *host, const SegOp *around, const ImpExp *limit);

// Local memory for an array whose size the host knows.
Arr group_alloc(Group *g, const char *name, CoreType type);
Arr group_alloc_for(Group *g, const Var *binder);

// Rows of an odd number of words begin in different banks, so that items that each work on a row do
// not wait for each other.  Returns how many elements the array takes.
const ImpExp *group_spread_over_banks(const Group *g, Arr *arr);

typedef enum PointOrder {
  POINTS_STRIDED,    // neighbouring points to neighbouring items
  POINTS_PIECES,     // contiguous pieces
  POINTS_ODD_PIECES  // of odd length, so that neighbours begin in different banks
} PointOrder;

// The points 0 <= j < count shared among the items: statements between open and close run for each
// point of the item.
typedef struct GroupPoints {
  Code item;         // code for one point
  const ImpExp *at;  // j
  const Var *round;
  const ImpExp *rounds;
} GroupPoints;
GroupPoints points_open(Group *g, ImpBuilder *b, const ImpExp *count, PointOrder order);
void points_close(Group *g, const GroupPoints *points);

// Where an item is in a space whose points the items take in turns.  It counts, in place of
// dividing the number of each point by the widths: by the digits of the group's size.
typedef struct ItemPlaces {
  int rank;
  const ImpExp *const *shape;
  const Var **at;  // NULL: widths that are cheap to divide by
  const ImpExp **steps;
} ItemPlaces;

// The points of the seg-op's space, neighbours to neighbouring items; its indices are bound.
GroupPoints space_points_open(Group *g, ImpBuilder *b, const SegOp *seg,
                              ItemPlaces *places);
void space_points_close(Group *g, GroupPoints *points, const ItemPlaces *places);

void group_barrier(Group *g);
void group_barrier_if_dirty(Group *g);
void group_copy(Group *g, const Arr *to, const Arr *from);  // shared among the items
