// Shared by sums (workers_columns.c) and scans (workers_prefixes.c) of the columns of an array that
// is distributed by its rows.
#pragma once
#include "flat/workers/workers.h"

// The reduction, or scan, over rows that each point of a seg-op is.
typedef struct ColumnSum {
  const SegOp *seg;
  bool scans;
  int at;  // the statement of the body that reduces, -1: the seg-op itself
  Atom width;
  Operators ops;
} ColumnSum;

typedef struct ColumnParts {
  Spread *s;
  Builder *host;
  const ColumnSum *sum;
  const RowSplit *split;
} ColumnParts;

// Of which kind it is, and by what the rows are divided; scans: that is wanted, and nothing else.
ColumnKind spread_find_columns(const Spread *s, const SegOp *seg, bool scans,
                               ColumnSum *sum, const RowSplit **split);
// The dimensions of the points.
int spread_point_dims(const ColumnSum *sum);
// The same of this worker's rows.
const SegOp *spread_own_columns(ColumnParts *p);
// segmap1 <j < m> {reduction of the first `count` rows of all[:, j]}, and what else the point
// computes.
const Exp *spread_combined(const ColumnParts *p, const Atom *all, Atom count);
