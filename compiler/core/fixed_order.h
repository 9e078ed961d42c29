// Loops that combine values in order, for fix_order.
#pragma once
#include "core/core.h"

// What is combined: the operators, and what gives the values of element `at`.
typedef struct Summed {
  Atom width;
  const RedOp *ops;
  int op_count;
  int values;  // of all operators
  Lambda fn;   // elements of the arrays to values, then others
  const Atom *arrays;
} Summed;

// A loop under construction: `count` values, which the rounds get in `now`.
typedef struct OrderedRounds {
  Builder b;  // of a round
  const Var **params;
  const Atom *inits;
  Atom *now;
  int count;
  const Var *index;
  Atom bound;
} OrderedRounds;

OrderedRounds rounds_begin(const Builder *b, const Atom *inits, int count, Atom bound);
void rounds_end(Builder *b, OrderedRounds *r, const Atom *next, Atom *out);

Summed summed_of(const Soac *soac);
Atom *summed_neutral(const Summed *s);
// What the function returns for element `at`.
const Atom *summed_values(Builder *b, const Summed *s, Atom at);
// op so_far values, for every operator.
Atom *summed_combined(Builder *b, const Summed *s, const Atom *so_far,
                      const Atom *values);

Atom array_element(Builder *b, Atom array, Atom index);
// An array of `count` rows, of whatever value; with another row.
Atom array_scratch(Builder *b, Atom count, CoreType row);
Atom array_with_row(Builder *b, Atom array, Atom index, Atom value);

// What stands on the host, in blocks (fixed_blocks.c): a redomap, scanomap or histogram.
void order_reduction(Builder *b, const Stm *stm);
void order_scan(Builder *b, const Stm *stm);
void order_histogram(Builder *b, const Stm *stm);
