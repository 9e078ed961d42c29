// Indices into rows that lie in one dimension: row * length + place.
#pragma once
#include "kern/kern.h"

typedef struct RowIndex {
  const Term *row, *length, *place;
} RowIndex;

typedef struct RowQuestion {
  const Map *lets;  // Var -> const Term *
  // Does it differ between neighbouring points?
  bool (*differs)(const void *state, const Term *t);
  const void *state;
} RowQuestion;

// t = row * length + place, where only `row` differs between neighbouring points, of any length but
// for the constants -1, 0 and 1; false: it is none such.  Sums that overflow do so in both forms.
bool kern_row_index(const RowQuestion *q, const Term *t, RowIndex *out);
