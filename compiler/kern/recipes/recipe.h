// Recipes: steps by name, applied one after the other, that can be printed.
#pragma once
#include "kern/steps/step.h"

typedef Vec(const char *) RecipeLines;

typedef struct Recipe {
  Step step;
  bool unchecked;    // whether lanes and registers work is asked at the end: recipe_check
  const Kern *kern;  // so far; stays as it was before a step that does not apply
  const Term *condition;  // of the host: what the steps ask of widths; NULL: nothing
  bool moves;             // blocks at borders move inside
  bool by_loops;          // .. which may be as wide as loops are long
  bool failed;            // a step did not apply: step.refusal says why,
  const char *refused;    // and this is its line
  RecipeLines lines;
  Map *known;  // what steps made of kernels, for recipes that begin alike; or NULL
} Recipe;

// known: an empty map, which the recipes for a kernel share; or NULL.
Recipe recipe_new(Compiler *c, const Kern *kern, Map *known);

// Each applies a step, unless one has failed before.
void recipe_split(Recipe *r, Name axis, int64_t by, SplitRest rest);
void recipe_split_into(Recipe *r, Name axis, int64_t pieces);
void recipe_swap(Recipe *r, Name outer, Name inner);  // inner, outer afterwards
// Puts the axes in that order, outermost first, as far as they are neighbours.
void recipe_permute(Recipe *r, const Name *axes, int count);
void recipe_sweep(Recipe *r, Name axis, int64_t by);
void recipe_collect(Recipe *r, Name axis, int64_t by);
void recipe_bind(Recipe *r, Name axis, AxisBind bind);
void recipe_unswitch(Recipe *r, Name axis);
void recipe_unroll(Recipe *r, Name axis);
void recipe_cut(Recipe *r, Name axis);
void recipe_align(Recipe *r, Name axis);
void recipe_stage(Recipe *r, Name axis);
void recipe_interior(Recipe *r, bool twice);
// The recipe is for axes of so many points at least.
void recipe_where(Recipe *r, Name axis, int64_t least);
// .. of fewer points than that.
void recipe_where_fewer(Recipe *r, Name axis, int64_t than);
// .. of points that fill blocks of so many, or four of them: what the last one, which begins
// earlier, does twice is little.
void recipe_where_filled(Recipe *r, Name axis, int64_t by);
// .. for arrays whose rows, that lanes store to, do not push each other out of the cache.
void recipe_spread(Recipe *r);
void recipe_check(Recipe *r);

// The same, to be continued in another way: its lines are its own.
Recipe recipe_copy(const Recipe *r);

// `r` where the conditions of `first` hold, too, which has nothing else.
Recipe recipe_then(const Recipe *first, const Recipe *r);

// "`split n by 4`: ...", once it has failed.
const char *recipe_refusal(const Recipe *r);

// How recipes spell these.
const char *recipe_rest_word(SplitRest rest);
const char *recipe_bind_word(AxisBind bind);

// The axis that encloses the named one directly, or that it is split from: NAME0, NAME1, ..;
// the last made.
Name recipe_outer(const Recipe *r, Name axis);
