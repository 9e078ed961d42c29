// Profiles: the two kinds of machines that code is made for, and what they want of it.
#pragma once
#include <stdbool.h>

// docs/opencl.md: CPUs want few items with long runs, GPUs many.
typedef enum Profile { PROFILE_CPU, PROFILE_GPU, PROFILE_COUNT } Profile;

typedef struct Traits {
  const char *name;   // as `--code` has it
  bool by_axes;       // Kern schedules all seg-ops, and has seen to their checks and copies
  bool group_plans;   // Kern schedules groups of items that wait for each other
  bool side_by_side;  // neighbouring items go in lockstep and should touch neighbouring words
  bool sized;         // kernels are compiled for a size of groups, which is in their text
  bool local_memory;  // groups share some, which guards ask for; else level 0 is an item's lanes
  bool in_place;      // results are made in arrays that die, and in parts of others
  bool in_parts;      // points whose data is still on its way may be launched by themselves
  bool own_math;      // mathematical functions are ours (runtime/kernels/math)
  bool lone_items;    // a group of one item is a call of a function
} Traits;

extern const Traits profile_traits[PROFILE_COUNT];
