// What is known to hold at a place of a kernel: the outcomes of conditions around it.
#pragma once
#include "base/map.h"
#include "kern/term.h"

typedef struct Facts Facts;
struct Facts {
  const Facts *outer;  // NULL: nothing else
  const Term *holds;
};

// One more.
const Facts *facts_with(const Facts *outer, const Term *holds);
// What follows from a condition that holds, or does not; lets: Var -> const Term *, or NULL.
const Facts *facts_of_outcome(const Facts *facts, const Map *lets, const Term *condition,
                              bool holds);
