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
  int *budget;    // statements that may still be added; below 0: given up
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

// Adds the statements of a body: operators over few elements one after the other, branches and
// loops on the elements of what they return and carry.  What cannot be taken apart is kept, with
// arrays made of their elements.  Every binder is fresh.
void straight_body(Straight *s, const Body *body);

// Makes an array of its elements.
const Exp *straight_array(Builder *b, CoreType type, const Atom *at);
