// Shared by the files of `simplify`: what is known about variables, and the rules by topic.
#pragma once
#include "core/failing.h"

// Upper bounds of an integer variable: it is less than each of them.
typedef struct Bound {
  Atom limit;
  int64_t offset;  // not negative: the number and this are below the limit
  const struct Bound *next;
} Bound;

// What is known about a variable.
typedef struct Known {
  const Exp *exp;    // it is the (only) value of this expression, or NULL
  int depth;         // how many bodies enclose its binding
  int64_t at_least;  // INT64_MIN: nothing known
  const Bound *below;
  bool
      counts;  // it goes through the numbers below a bound, so it stays far from overflow
} Known;

// What was known before an assumption.
typedef struct Undo {
  Known *known;
  int64_t at_least;
  const Bound *below;
} Undo;

typedef struct Simplify {
  Compiler *c;
  Subst *subst;      // variables whose bindings are gone, or that got another type
  Map *known;        // Var -> Known
  Map *failing;      // failing.h
  Builder *builder;  // of the innermost body
  int depth;         // of that body
  bool changed;      // has a rule fired in this round?
  Vec(Undo) undo;    // of the assumptions that hold in the current body
} Simplify;

// The expression that defines a variable; NULL for constants, parameters and the like.
const Exp *simplify_def(const Simplify *s, Atom a);
// What stands in the atom's place by now.
Atom simplify_atom(const Simplify *s, Atom a);

// Is the atom bound outside of bodies at this depth?
bool simplify_is_outside(const Simplify *s, Atom a, int depth);

// What is known about a variable, to be extended.
Known *simplify_learn(Simplify *s, const Var *var);

// Ranges of integers (simplify_range.c).
int64_t simplify_lower(const Simplify *s, Atom a);  // INT64_MIN if unknown
int64_t simplify_upper(const Simplify *s, Atom a);  // INT64_MAX if unknown
// Is it a conversion between signed integers that changes no number it may be of?
bool simplify_keeps_value(const Simplify *s, const Exp *e);
// Known to be no negative number?
bool simplify_is_nonneg(const Simplify *s, Atom a);
// Known to be less than the limit?
bool simplify_is_below(const Simplify *s, Atom a, Atom limit);
const Exp *simplify_comparison(const Simplify *s, const Exp *e);  // true, false or NULL

// Facts that hold until simplify_forget is called with what simplify_mark returned.
int simplify_mark(const Simplify *s);
void simplify_forget(Simplify *s, int mark);
// A condition that holds (or not) in the body to come.
void simplify_assume(Simplify *s, Atom condition, bool holds);
// The variable lies between these for as long as it is in scope; extremes say nothing.
void simplify_learn_range(Simplify *s, const Var *var, int64_t low, int64_t high);
void simplify_learn_below(Simplify *s, const Var *var, Atom limit);  // likewise
void simplify_assume_at_least(Simplify *s, Atom a, int64_t least);
void simplify_assume_below(Simplify *s, Atom a, Atom limit);

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
