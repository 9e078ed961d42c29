// Derivatives: Core in, Core out.
//
//   forward   y = x * x   =>   y = x * x, y' = x' * x + x * x'           beside each statement
//   reverse   y = x * x   =>   y = x * x  ...  x^ = x^ + y^ * x + y^ * x  statements backwards
//
// A tangent (x') says how a value changes when the inputs do, an adjoint (x^) how the outputs
// change when the value does.  Both have the type of the value.  Only numbers of one class have
// them: floats, or integers where the inputs have no floats; those of both where the inputs are of
// one and the results of the other, so that conversions pass them on.  What does not depend on the
// inputs has none.  docs/how-it-works.md tells the rest.
#pragma once
#include "core/core.h"

// The variables that depend on the inputs.
typedef struct Active {
  Map *vars;
  bool ints, floats;  // which numbers are differentiated
} Active;

// Does a variable of this type carry derivatives?
bool ad_carries(const Active *active, PrimType elem);
bool ad_is_active(const Active *active, Atom a);
void ad_activate(Active *active, const Var *var);
// Adds what depends on the active variables in the body, at any depth.
void ad_find_active(Active *active, const Body *body);

// A function to differentiate: `body` with what is free in it, among that the inputs.  Its
// statements are used up.
typedef struct AdFunction {
  const Body *body;
  const Var *const *inputs;
  int input_count;
  bool ints, floats;  // as in Active
  const Builder
      *around;  // what is bound before the function, as far as it is known; or NULL
} AdFunction;

// The body with functions' bodies in place of calls; those with an adjoint of their own may stay.
const Body *ad_inline(Compiler *c, const Body *body, bool keep_adjoints);
// Likewise, without detours, and if it is for the way back, as operators on elements.
const Body *ad_prepare(Compiler *c, const Body *body, bool backwards);
// The body with reductions in place of loops that add up (sums.c), numbers in place of short rows
// (unroll.c, same_places.c), and elements in place of reads by index (elements.c).
const Body *ad_sums(Compiler *c, const Body *body);
const Body *ad_unroll(Compiler *c, const Body *body);
const Body *ad_same_places(Compiler *c, const Body *body);
const Body *ad_elements(Compiler *c, const Body *body);
// Adds what the body binds, at any depth.  bound: Var -> Var.
void ad_note_bound(Map *bound, const Body *body);
// Adds the body to the builder, with code for the tangents of its results, which are stored:
// `seeds` are those of the inputs.
void ad_forward(Builder *b, const AdFunction *f, const Atom *seeds, Atom *tangents);
// Likewise for the adjoints of the inputs: `seeds` are those of the body's results, of which those
// that are no numbers of the class are not looked at.
void ad_reverse(Builder *b, const AdFunction *f, const Atom *seeds, Atom *adjoints);
