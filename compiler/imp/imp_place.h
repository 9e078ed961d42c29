// Which element of a block of memory an access in a loop is, seen from the loop's index.
#pragma once
#include "base/map.h"
#include "imp/imp.h"

// Element base + stride * (index + shift).
typedef struct MemPlace {
  bool known;
  const ImpExp *base, *stride;  // the same in all rounds; NULL: 0, and 1
  int64_t shift;
} MemPlace;

// What is known of the variables of a kernel.
typedef struct ImpVars {
  Map *values;  // Var -> ImpExp: what it is declared with, if it is never assigned
  Map *sets;    // Var: assigned somewhere
} ImpVars;

ImpVars imp_vars(const ImpBlock *block);

// Of what a loop with this index reads or writes at `at`.
MemPlace imp_place(const ImpVars *vars, const Var *index, const ImpExp *at);

// Do two places differ in nothing but their shift?  If they are of different loops: in rounds of
// the same number.
bool imp_places_match(const MemPlace *a, const MemPlace *b);

// Does every item have the memory for itself?
bool imp_is_own(const Mem *mem);
