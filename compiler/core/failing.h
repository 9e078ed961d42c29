// Variables that are computed from what may fail: `q` and `q + 1` of `let q = x / y`.  A pass that
// knows a value without one of them must keep it all the same, or its failure is lost.
#pragma once
#include "base/map.h"
#include "core/core.h"

// May something in the bodies of the expression fail?
bool failing_within(const Exp *e);
// Notes the binders of a statement, whose operands have been noted.  failing: Var -> Var.
void failing_note(Map *failing, const Stm *stm);

// Is the atom such a variable?
bool failing_has(const Map *failing, Atom a);
