// Index terms as sums of multiples, to compare them and to say where they lie.
#pragma once
#include "kern/facts.h"
#include "kern/kern.h"

enum { MOST_ADDENDS = 12 };

// constant + sum of by[k] * at[k]; no two of the `at` are the same term.
typedef struct IndexSum {
  const Term *at[MOST_ADDENDS];
  int64_t by[MOST_ADDENDS];
  int count;
  int64_t constant;
} IndexSum;

// The i64 term as a sum of what is no sum itself; false: it is too long, or its factors too large.
bool sum_of(const Term *t, IndexSum *out);
// a + by * b; false: as above.
bool sum_add(const IndexSum *a, const IndexSum *b, int64_t by, IndexSum *out);
// The sum as a term.
const Term *sum_term(const IndexSum *s);
// How often the variable is in it, if it is in no other addend; else 0.
int64_t sum_factor(const IndexSum *s, const Var *var);

// What is known of scalars.
typedef struct Ranges {
  const Map *naturals;          // Var -> itself: no negative numbers
  const Map *inside;            // Var -> itself: they differ from point to point
  const Map *lets;              // Var -> const Term *: what widths are made of
  const KernStm *const *loops;  // around, outermost first
  int depth;
} Ranges;

// The least value (the greatest, if `sign` is 1) of the sum at all points of the loops; false: that
// is not known outside of them.
bool sum_extreme(const Ranges *r, const IndexSum *s, int sign, IndexSum *out);
// Is it certainly greater than 0?  The facts may help.
bool sum_is_positive(const Ranges *r, const IndexSum *s, const Facts *facts);

// Of a kernel: what is no negative number, indices and sizes (Ranges.naturals); its scalars and
// those of the host (Ranges.lets).
Map *sum_naturals(const Kern *kern);
Map *sum_lets(const Kern *kern);
