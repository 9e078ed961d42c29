// Which loops of a kernel read what several of its points need: schedules for groups of items ask.
#pragma once
#include "base/map.h"
#include "kern/kern.h"

// What a value depends on: a dimension of points, or another one; innermost loops of the kernel, or
// loops around others; a third dimension of points.
enum {
  ON_NONE = 0,
  ON_ROW = 1,
  ON_COLUMN = 2,
  ON_BOTH = 3,
  ON_LOOP = 4,
  ON_OUTER = 8,
  ON_LAYER = 16
};

typedef struct GroupLoops {
  const Kern *kern;
  const Axis *layer, *row, *column;  // the first two may be NULL
  Map *depends;                      // Var -> const int *
  int grid;                          // axes of the grid
  Vec(const Axis *) loops;           // innermost ones that carry or join values
  bool rows_own;                     // the arrays of a point's own are those of rows
  bool refused;  // it does what groups that meet at barriers cannot do
} GroupLoops;

// Finds the innermost axis of the grid, as columns; false if there is none.
bool group_find_points(GroupLoops *s);
// The axis of the grid that is directly around that one.
const Axis *group_axis_around(const Kern *kern, const Axis *inner);
// What the loops of the kernel depend on; row and column are set.
void group_find_loops(GroupLoops *s);
int group_term_depends(const GroupLoops *s, const Term *t);
int group_access_depends(const GroupLoops *s, const Access *access);

// Do the loads of its body differ along one dimension, or along the other, but never along both?
bool group_gains_from_blocks(const GroupLoops *s, const Axis *axis);
// What points side by side each have in registers while a loop runs: the most that one of the
// loops carries and reads of values of its point that were made before it.
int group_bytes_of_points(const GroupLoops *s);
// The points of all axes of the grid.
const Term *group_points_of_grid(const Kern *kern);

// The kernel without checks that the host can make, which are `*condition` then (or NULL).  Is what
// groups stage of it inside of its arrays, whatever the checks find that are left?
const Kern *group_checked_by_host(Compiler *c, const Kern *kern, const Term **condition,
                                  bool *may_stage);
