// Nests: how the interpreter runs SOACs and seg-ops (soac.c), with what scatters and
// histograms add (dest.c).
#pragma once
#include "core/interp/machine.h"

// An array whose rows (or elements, if `load` is set) are a lambda's parameter.
typedef struct Input {
  Slot array, to;
  LoadFn *load;
} Input;

// One value per point, stored into an array.
typedef struct Output {
  Slot from, to;
  const Slot *dims;  // the declared shape of `to`
  StoreFn *store;    // scalars
  bool keep;         // `from` is needed for the next point
} Output;

typedef struct SpaceNest SpaceNest;

struct SpaceNest {
  const Slot *widths;
  Word **indices;  // of the space; NULL in SOACs
  int dim_count;
  const Input *inputs;
  int input_count;
  const InsCode *start, *body;  // before each line, NULL if nothing; for each point
  const Output *elems;  // per point; the first `scan_count` are accumulators of scans
  int elem_count, scan_count;
  const Output *totals;  // per line
  int total_count;
  const Word *keep_if;  // filter: whether the point's elements are kept
  Word *kept;           // filter: how many were
  bool (*before)(Machine *m, const Ins *ins,
                 const SpaceNest *n);  // instead of outputs: scatter, hist
  bool (*each)(Machine *m, const Ins *ins, const SpaceNest *n);
  const void *dests;
};

typedef struct Point {
  int64_t outer, inner,
      next;  // line, place in it, place of the next element in the results
} Point;

void nest_line(Gen *g, SpaceNest *n, Atom width);
void nest_space(Gen *g, SpaceNest *n, const SegOp *seg);
void nest_inputs(Gen *g, SpaceNest *n, const Lambda *fn, const Atom *arrays, int count);
Slot *nest_body(Gen *g, SpaceNest *n, const Lambda *fn, const RedOp *ops, int op_count);
void nest_add(Gen *g, const SpaceNest *n);

// The same for the statement's own expression, or for a seg-op of that kind.
void gen_scatter(Gen *g, const Exp *exp);
void gen_hist(Gen *g, const Exp *exp);
void gen_seg_scatter(Gen *g, const SegOp *seg);
void gen_seg_hist(Gen *g, const SegOp *seg);
// The statement's seg-op, run by InterpOptions.run_seg.
void gen_outside_seg(Gen *g, const Exp *exp, const Slot *to);
