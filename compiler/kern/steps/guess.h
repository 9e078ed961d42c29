// Guesses: numbers that the scalars of a kernel may well be, to tell which outcome of a condition
// is the usual one.
//
// Widths of the grid, and of arrays, are large; loops within lockstep axes are short.  An index
// is somewhere in the middle of its axis; a few places are tried, not the same ones in any two
// axes.
#pragma once
#include "kern/kern.h"

enum { GUESS_PLACES = 5 };

typedef struct Guess {
  const Map *outside, *rounds;  // those of Kern
  Map *known;                   // Var -> const double *: GUESS_PLACES numbers
  Map *sized;                   // Var of `outside`: what it is computed from is known
  Map *sizes;                   // Var -> Tensor: a dimension of an array
} Guess;

Guess guess_new(const Kern *kern);
void guess_dims(Guess *g, const KernStm *stm);  // of what the statement reads and writes
void guess_axis(Guess *g, const Axis *axis, int depth);  // its width and index
void guess_let(Guess *g, const Var *var, const Term *value);
double guess_term(const Guess *g, const Term *t, int place);
// Is there a guess for each variable of the term?
bool guess_is_known(const Guess *g, const Term *t);
