// Elements at places that rounds or operators hand on: carried_loads.c, carried_operands.c.
#pragma once
#include "core/core.h"

typedef struct CarriedLoad {
  Compiler *c;
  const Exp *load;     // an EXP_INDEX without slices, of a scalar
  const Var *element;  // what it loads, where that is at hand
} CarriedLoad;

// The body, in which the load stands, with one more result, the element at another place of its
// array; false if that would have to be loaded.
bool carried_give(const CarriedLoad *l, const Body *body, const Atom *place,
                  const Body **out);
// The body with the element in place of the load, which may stand in its branches.
const Body *carried_without(const CarriedLoad *l, const Body *body);
// let first = if 0 < width then xs[place] else 0
Atom carried_first(Builder *b, const CarriedLoad *l, Atom width, const Atom *place);
