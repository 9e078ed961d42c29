// How the places that points of a seg-op read and write move from one point to the next.
#pragma once
#include "kern/plan.h"

enum { STEP_OTHER = 2 };  // else 0 or 1

// How a value changes from one item to the next, and what it depends on.
typedef struct Motion {
  int step;        // added when the innermost index grows by 1
  bool walks;      // follows a counted loop of the item
  unsigned space;  // bit k: depends on index k of the space
} Motion;

// What is asked of a seg-op's kernel as it comes from Flat.
typedef struct Motions {
  const SegOp *seg;
  // A group to a point of its space: the neighbours are points of level 0, and elements of what
  // a group copies.
  bool groups;
  // Called for each access of an array of the host; dims: of each index; depth: loops around.
  void (*see)(void *state, const Access *access, const Motion *dims, int depth);
  void *state;
} Motions;
void motions_find(const Motions *asked, const Kern *kern);
