// Maps within maps that make an array, and what its elements are made of.
#pragma once
#include "base/map.h"
#include "core/core.h"

enum { MAX_RANK = 16, MAX_SLICE = 48 };  // statements of f

// A scalar in f that is an element of `array`, whose dimensions are gone through by these maps of
// the nest (0: outermost).
typedef struct NestInput {
  const Var *scalar;
  Atom array;
  int levels[MAX_RANK];
  int count;
} NestInput;

// What function number `level` of a nest computes, and the arrays of its values that the maps up
// to there return in addition.
typedef struct Lifted {
  const Var *var;
  int level;
  const Var *arrays[MAX_RANK];
} Lifted;

typedef struct MapNest {
  Compiler *c;
  int rank;
  const Stm *stms[MAX_RANK];  // the map at each level, or at the innermost a replicate
  Map *levels;                // Var -> level + 1 of the function that binds it
  Map *defs;                  // Var -> Stm, of what these functions compute
  Map *params;                // Var -> the array (Var) whose element it is
  Vec(NestInput) inputs;
  Vec(Stm) slice;  // the statements of f
  Map *done;       // variables that are in one of the two
  Atom result;     // of f
  Vec(Lifted) lifted;
  bool fails;
} MapNest;

MapNest nest_new(Compiler *c, int rank);
// Goes inwards from the map that makes `array`; false if that is no nest.
bool nest_find(MapNest *n, const Stm *stm, const Var *array);
// Finds out how f gets at a scalar: from outside, from an array, or by computing it again, whatever
// that takes: the array of its values would be as large as the one that the nest made.  What outer
// functions compute is lifted, but for places.
void nest_need(MapNest *n, Atom a);
// Adds f, with these values in place of the inputs.
Atom nest_apply(const MapNest *n, Builder *b, const Atom *now);
// The map at a level of the nest with what functions from there on return in addition.
Stm nest_with_lifted(const MapNest *n, const Stm *old, int level);
// How many elements the map, or the replicate, makes.
Atom nest_width(const Stm *stm);
// The number of the variable among the statement's binders, or -1.
int nest_binder(const Stm *stm, const Var *var);
bool exp_is_nest(const Exp *e);  // a map, reduction or scan
