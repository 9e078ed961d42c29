// The version tree of an entry point as data:
//
//   T ::= leaf | T; ...; T | loop T | if T T | guard ? T : T
//
// Extracted from Flat: what is around the guards, without the code.  A leaf is a run of kernels; a
// leaf that is a whole branch of a guard is a version and has a number, V0, V1, ... in the order in
// which they are drawn.  docs/tree-schema.md describes the JSON form.
#pragma once
#include "base/map.h"
#include "core/core.h"

// Futhark's default threshold on a GPU, which the interpreter follows, too.
enum { VERSION_DEFAULT_THRESHOLD = 32768 };
// Of splits: default_workers (runtime/tuning.h), without what exchanges take.
enum { VERSION_DEFAULT_SPLIT = 1 << 18 };

// Splits of programs for several workers (workers.h).
typedef Vec(const Exp *) SplitVec;
typedef Vec(Name) LayoutVec;

typedef enum RegionKind {
  REGION_LEAF,   // kernels without a guard: code, body, version
  REGION_SEQ,    // one after the other: parts
  REGION_LOOP,   // parts[0]
  REGION_IF,     // a condition of the program: parts[0] if it holds, else parts[1]
  REGION_GUARD,  // guard; parts[0] if it holds, else parts[1]
} RegionKind;

typedef struct Region {
  RegionKind kind;
  Loc loc;  // of the loop, if or versioned operator
  const struct Region **parts;
  int part_count;
  const Guard *guard;
  // "segmap1<n,p> (segred0<m>)", "gather", "border", "fetch", "deliver"; "no kernels"
  const char *code;
  const Body *body;  // a leaf's
  int version;       // -1: no version of its own
  SplitVec splits;   // by which something in it is divided, but for those within
} Region;

// A kernel with several recipes, one of which its parameter picks: a guard of kind `recipe`.
typedef struct RecipeGuard {
  const char *parameter;    // "main.segmap.recipe"
  const char *const *ways;  // each with its steps, "split n by 8; bind n to reg"
  int way_count;
} RecipeGuard;
typedef Vec(RecipeGuard) RecipeGuards;

typedef struct SizeNames SizeNames;  // how the sizes of an entry are called

typedef struct VersionTree {
  const Entry *entry;
  const Region *root;
  SizeNames *sizes;
  int version_count, guard_count;
  int kernel_count, stm_count;  // level-1 seg-ops; statements of Flat, at any depth
  const Map
      *recipes;  // SegOp -> RecipeGuards, if kernels have several; NULL: not asked for
  SplitVec splits;
  SplitVec all_splits;  // with those of as many rows in other layouts
} VersionTree;

// The tree of one entry point of Flat.
VersionTree version_tree(Compiler *c, const Entry *entry);

// A guard's outcome on the way to a version.
typedef struct PathStep {
  Name guard;
  bool first;  // the first branch
} PathStep;
typedef Vec(PathStep) StepVec;

// The kernels with several recipes of a version or run of kernels, in order.
RecipeGuards version_recipes(const VersionTree *tree, const Region *leaf);
// Is it among them?
bool version_has_split(const SplitVec *splits, const Exp *split);

// The layouts in which there are its rows, each with weights of its own.
LayoutVec version_layouts(const VersionTree *tree, const Exp *split);

// Do workers exchange something in it, beside no kernel?
bool version_only_moves(const Body *body);

// The guards that lead to a version, outermost first; false if there is no such version.
bool version_path(const VersionTree *tree, int version, StepVec *out);

// What a run of the program met at a guard: a value of Par, how often, and what it was compared
// with.
typedef struct GuardEvent {
  Name guard;
  int64_t par, threshold, count;
  bool first;  // outcome
} GuardEvent;
typedef Vec(GuardEvent) EventVec;

// The tree as a drawing; with `events` (or NULL) it shows Par and marks the versions that ran.
void version_tree_text(Text *t, const VersionTree *tree, const EventVec *events);
// For graphviz.
void version_tree_dot(Text *t, const VersionTree *tree, const EventVec *events);
// One entry of the JSON form.
void version_tree_json(Text *t, const VersionTree *tree, const EventVec *events);

// The trees of all entry points, as generated programs carry them.
const char *versions_text(Compiler *c, const Core *flat);
const char *versions_json(Compiler *c, const Core *flat);

// ---- texts (version_text.c)

SizeNames *size_names_new(const Entry *entry);
// A size expression in the program's own names: "n*m", "max(n, m)".
const char *version_size_text(SizeNames *names, const SizeExp *exp);
// What the program calls a size, or how it computes it.
const char *version_size_name(SizeNames *names, Atom size);
// Did the user write the name where the variable is bound?
bool version_is_users(const Var *var);
// The seg-ops of a body: "segmap1<n> (segmap0<m>, 3 segscan0<m>)".
const char *version_code_text(SizeNames *names, const Body *body);
// The source text that a position spans, on one line, cut to `max` characters.
const char *version_source_text(Loc loc, int max);
