// Recipes that the user gives, in a file (--recipe) or as attributes (docs/recipes.md):
//
//   kernel main.segmap
//     split n by 4 overlap
//     bind n to reg
//   otherwise
//     split m by 16 overlap; bind m to lane      -- where n < 4
//
// `or` in place of `otherwise`: the parameter main.segmap.recipe chooses; 1: what stands before the
// first `or`, 2: before the second, ..
//
// Each step is checked as those of the scheduler are, and refused with its place in the text.
#pragma once
#include "kern/plan.h"
#include "kern/recipes/recipe.h"

typedef enum RecipeVerb {
  VERB_SPLIT,       // axes[0], number, rest
  VERB_SPLIT_INTO,  // axes[0], number
  VERB_PERMUTE,     // axes, outermost first
  VERB_SWEEP,       // axes[0], number
  VERB_COLLECT,     // axes[0], number
  VERB_BIND,        // axes, bind
  VERB_UNSWITCH,    // axes[0]
  VERB_UNROLL,      // axes[0]
  VERB_CUT,         // axes[0]
  VERB_ALIGN,       // axes[0]
  VERB_STAGE,       // axes[0]
  VERB_INTERIOR,    // move
  VERB_WHERE,       // axes[0], number
  VERB_SPREAD,
} RecipeVerb;

enum { MOST_STEP_AXES = 8 };

// A step as it was written.
typedef struct RecipeStep {
  Loc loc;
  RecipeVerb verb;
  Name axes[MOST_STEP_AXES];
  Loc axis_locs[MOST_STEP_AXES];
  int axis_count;
  int64_t number;
  SplitRest rest;
  AxisBind bind;
  bool move;   // interior
  bool fewer;  // where: `<`
  bool fills;  // where: `fills`
} RecipeStep;

// One way to run a kernel, for where those before it cannot be taken.
typedef struct RecipeWay {
  Loc loc;
  bool by_choice;  // `or`
  Vec(RecipeStep) steps;
} RecipeWay;

typedef struct BookEntry {
  Name kernel;  // NULL: the kernels of an expression
  Loc exp;
  Loc loc;  // of the name, or the text
  Vec(RecipeWay) ways;
  bool used;  // or passed over, for one that goes before it
  const DiagSaved
      *complaint;  // why it does not suit the first kernel of its expression; or NULL
} BookEntry;

// A tuned choice between recipes: "main.segmap.recipe", a number from 1 on.
typedef struct RecipeChoice {
  const char *param;
  int64_t value;
} RecipeChoice;

struct RecipeBook {
  const SourceFile *file;
  Vec(BookEntry) entries;
  Vec(RecipeChoice) choices;
  bool others;  // kernels have other recipes, too, as parameters (schedules/others.c)
  Vec(Name) kernels;  // of the program, as they are met
};

// What the parameter was tuned to; 0: it was not.
int64_t book_choice(const RecipeBook *book, Name param);

// The recipes of a file; NULL after errors.  (recipe_read.c)
RecipeBook *recipe_book_read(Compiler *c, const char *path);
// Adds one for the kernels that come from an expression, from a string in the source: it is for
// those of them to which it applies.
void recipe_book_add(Compiler *c, RecipeBook *book, Loc exp, Loc text);

// May the book have a recipe for the kernel?  book may be NULL.
bool book_mentions(const RecipeBook *book, Name kernel);

// The kernel by the book's recipe for it; NULL if there is none, or after an error.  book may be
// NULL.
const KernPlan *book_plan(Compiler *c, RecipeBook *book, Name kernel, const Kern *kern);

// After all kernels: recipes for kernels that the program does not have are errors, as are those of
// expressions that apply to none.
void book_finish(Compiler *c, const RecipeBook *book);
