// Sums of i64 scalars with constant factors, modulo 2^64 as the language computes them:
// `m - k + 1` and `m + 1 - k` have the same.
#pragma once
#include "core/failing.h"

enum { LINEAR_TERMS = 8 };

typedef struct LinearTerm {
  const Var *var;
  uint64_t factor;
} LinearTerm;

typedef struct LinearSum {
  LinearTerm
      terms[LINEAR_TERMS];  // in the order of their variables' numbers, no factor is 0
  int count;
  uint64_t constant;
} LinearSum;

// The sum that `e` computes from `sums` (Var -> LinearSum: of what it is made of, where that is a
// sum as well); false if it is no addition, subtraction or multiplication by a constant of i64, or
// has too many terms.
bool linear_of_exp(const Map *sums, const Exp *e, LinearSum *sum);

// Has the sum that `e` computes all that may fail of what it is made of (failing.h)?
bool linear_keeps_failing(const Map *sums, const Map *failing, const Exp *e,
                          const LinearSum *sum);

// A text that is equal for equal sums.
const char *linear_text(const LinearSum *sum);

// What a sum of one variable or none is; false for others.
bool linear_is_atom(const LinearSum *sum, Atom *atom);
