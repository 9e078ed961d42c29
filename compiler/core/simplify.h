// Shared by the files of `simplify`: what is known about variables, and the rules by topic.
#pragma once
#include "core/core.h"

// What is known about a variable.
typedef struct Known {
  const Exp *exp;     // it is the (only) value of this expression, or NULL
  int depth;          // how many bodies enclose its binding
  bool nonneg;        // an integer >= 0
  const Atom *below;  // ... that is less than this, or NULL
} Known;

typedef struct Simplify {
  Compiler *c;
  Subst *subst;      // variables whose bindings are gone, or that got another type
  Map *known;        // Var -> Known
  Builder *builder;  // of the innermost body
  int depth;         // of that body
  bool changed;      // has a rule fired in this round?
} Simplify;

// The expression that defines a variable; NULL for constants, parameters and the like.
const Exp *simplify_def(const Simplify *s, Atom a);

// Is the atom bound outside of bodies at this depth?
bool simplify_is_outside(const Simplify *s, Atom a, int depth);

// Facts about integers.
bool simplify_is_nonneg(const Simplify *s, Atom a);
bool simplify_is_below(const Simplify *s, Atom a, Atom limit);
void simplify_note_range(Simplify *s, const Var *var,
                         const Atom *below);  // 0 <= var (< below)

// `let name = exp`, simplified; the atom may well be a constant or an older variable.
Atom simplify_let(Simplify *s, const char *name, const Exp *exp);

// An expression with these values: an assertion that holds.
const Exp *simplify_values(const Atom *atoms, int count);

// The statements of a body that is no longer needed elsewhere join the current one.
const Exp *simplify_inline(Simplify *s, const Body *body);

// Rules that look at an expression before its bodies have been simplified: a better expression
// with the same values, or NULL.
const Exp *simplify_scalar(Simplify *s, const Exp *exp);
const Exp *simplify_array(Simplify *s, const Exp *exp);
const Exp *simplify_control(Simplify *s, const Exp *exp);
const Exp *simplify_soac(Simplify *s, const Exp *exp);

// Rules that look at what the bodies return, after these have been simplified.  Results of the
// statement that turn out to be known atoms are dropped: see simplify_keep.
void simplify_if_results(Simplify *s, Stm *stm);
void simplify_loop_results(Simplify *s, Stm *stm);
void simplify_map_results(Simplify *s, Stm *stm);

// Result k of the statement is this atom.
void simplify_result_is(Simplify *s, const Stm *stm, int k, Atom a);
// The binders with keep[k], and how many there are.
const Var **simplify_keep_binders(const Stm *stm, const bool *keep, int *count);
// The body with only the results with keep[k].
const Body *simplify_keep_results(const Body *body, const bool *keep);
