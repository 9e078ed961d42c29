// The tree of versions that a generated program carries (docs/tree-schema.md):
//
//   T ::= kernel | guard ? T : T | T ; ... ; T | loop T
//
// A guard takes its first branch iff Par >= its threshold and the version fits the device.
#pragma once
#include "base/vec.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum TreeKind {
  TREE_KERNEL,  // code without a decision
  TREE_GUARD,   // children[0] if taken, else children[1]
  TREE_SEQ,     // children one after the other, or some of them (an if of the program)
  TREE_LOOP,    // children[0], any number of times
} TreeKind;

typedef struct Tree Tree;
struct Tree {
  TreeKind kind;
  const char
      *name;  // guards: stable and unique; kernels: "V3", or "" where there is no choice
  const char *par;  // guards: the polynomial, for people
  const char
      *code;      // for people: kernels in the paper's notation, guards as in the source
  int line;       // in the source, or 0
  uint64_t hash;  // of the code in it, up to names
  int guard;      // guards: number, in the order of the text; else -1
  const Tree **children;
  int child_count;
};

typedef struct TreeGuard {
  const Tree *node;
  int parent;          // the guard around it, or -1
  int parent_branch;   // 0: in its first branch
  int root;            // the guard where its race begins: see tree_alternatives
  const char *region;  // roots: names the code, whatever else the program holds
} TreeGuard;

typedef struct TunerTree {
  const Tree *root;
  TreeGuard *guards;
  int guard_count;
} TunerTree;

// A forced outcome per guard: 'T', 'F' or 0 (by its threshold).
typedef struct Path {
  char *outcome;
} Path;

// Reads the tree of entry point `entry`; NULL and a message if the text is not of the schema.
const TunerTree *tree_read(const char *json, const char *entry, const char **message);

// A tree from nodes (tests); numbers the guards.
Tree *tree_node(TreeKind kind, const char *name, const Tree **children, int count);
const TunerTree *tree_of(Tree *root);

// How many runs show every version at every event: the maximum over what stands side by side
// (docs/tuning.md).
int tree_runs(const Tree *tree);

// The forced versions of run number `run` of tree_runs.
Path tree_cover(const TunerTree *tree, int run);

// Guards that stand directly in each other's branches are decided by one race, whose alternatives
// are the branches behind which no further guard stands directly.  The branches as 2 * guard +
// branch.
typedef Vec(int) TreeBranches;
TreeBranches tree_alternatives(const TunerTree *tree, int root);

// The path that forces only what leads to a branch of a guard.
Path tree_path_to(const TunerTree *tree, int guard, int branch);

// "main.top_0=T,main.intra_1=F": as set_path and --path read it.
const char *tree_path_text(const TunerTree *tree, Path path);

// The path from a guard to a branch of itself or of a guard within.
Path tree_path_below(const TunerTree *tree, int from, int guard, int branch);

// The root of the region, or -1.
int tree_region_named(const TunerTree *tree, const char *region);

int tree_guard_named(const TunerTree *tree, const char *name);  // or -1

// "main.top_0" or "not main.top_0": the version behind a branch of a guard.
const char *tree_version_name(const TunerTree *tree, int guard, int branch);
