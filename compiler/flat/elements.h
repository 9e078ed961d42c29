// Elements of the arrays that the body of a seg-op makes, for code that makes an element instead of
// an array (spread_rows.c, row_hists.c).
#pragma once
#include "base/map.h"
#include "core/core.h"

// What computes an element of the arrays that a body makes.
typedef struct Element {
  Compiler *c;
  Map *defs;     // Var -> Def: of the body
  Map *own;      // Var -> Var: what functions of maps compute, for each element anyway
  Builder *b;    // where it goes
  bool fails;    // there is an array that is made in no way known here
  int *lookups;  // of elements that it needs, so far
} Element;

// lookups: 0 at first.
Element flat_element_new(Compiler *c, Builder *b, int *lookups);
// Adds what the body does to the builder; its arrays are known from there on.
void flat_element_body(Element *s, const Body *body);
// The element of the array at an index per dimension; s->fails where it is not known how.
Atom flat_element_at(Element *s, Atom array, const Atom *at);
// Is what all elements of a row compute alike little, in the body that computes one?
bool flat_element_repeats_little(const Element *s, const Body *body);
