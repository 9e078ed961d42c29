// Code on small arrays of constant shape as straight code on their elements.
#pragma once
#include "base/map.h"
#include "core/core.h"

// The elements of a small array in row-major order.
typedef struct ArrayParts {
  CoreType type;
  const Atom *at;
  int count;
} ArrayParts;

// Straight code under construction.  Scopes nest: one per body.
typedef struct Straight {
  Compiler *c;
  Builder *b;
  Map *atoms;     // Var -> Atom: what stands for it
  Map *elements;  // Var -> ArrayParts: of an array that is known by its elements
  int most;       // elements of an array that is known by them
  int *budget;    // statements that may still be added; below 0: given up
  // Loops of many rounds and operators over many elements stay, with what they carry and do taken
  // apart; what is known is computed, and elements at places found at run time are chosen.
  bool rolls;
} Straight;

// How many elements a value of this type has, 1 for scalars; 0 if that is not known, or above
// `most`.
int straight_size(CoreType type, int most);

// An array, or a scalar, by its elements, which are read if they are not known; the array must have
// a small constant shape.
const ArrayParts *straight_elements(Straight *s, Atom a);

// What stands for the value in statements that are kept.
Atom straight_whole(Straight *s, Atom a);

void straight_bind(Straight *s, const Var *var, Atom atom);
void straight_bind_elements(Straight *s, const Var *var, const Atom *at, int count);

bool straight_is_small(const Straight *s, CoreType type);     // an array of few elements
const ArrayParts *straight_known(const Straight *s, Atom a);  // NULL: not by its elements

// Adds the elements of a value that takes the place of one of this type, if that is a small array;
// else the value.
void straight_add_parts(Straight *s, CoreType type, Atom value, AtomVec *out);
// Binds values to what straight_add_parts made of them.
void straight_bind_parts(Straight *s, const Var *const *binders, int count,
                         const Atom *at);

Straight straight_inner(const Straight *s, Builder *b);  // a scope within

// Where loops may stay (straight_kept.c): keeps a statement with bodies, these taken apart.
void straight_keep(Straight *s, const Stm *stm);
// Has the statement to do with arrays known by their elements, or with small ones that it carries?
bool straight_mentions_parts(const Straight *s, const Stm *stm);
// Binds what is known (straight_known.c); false if it is not.
bool straight_fold(Straight *s, const Stm *stm);
// An index of, or an update to, an array known by its elements, at a place found at run time.
bool straight_choose(Straight *s, const Stm *stm, const ArrayParts *of);

// Adds the statements of a body: operators over few elements one after the other, branches and
// loops on the elements of what they return and carry.  What cannot be taken apart is kept, with
// arrays made of their elements.  Every binder is fresh.
void straight_body(Straight *s, const Body *body);

// Makes an array of its elements.
const Exp *straight_array(Builder *b, CoreType type, const Atom *at);
