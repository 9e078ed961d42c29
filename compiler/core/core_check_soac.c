// Typing rules of SOACs and seg-ops.
#include "core/core_check.h"

// One parameter per array, with the type of its rows.
static void check_arrays(const CoreCheck *ck, Atom width, const Lambda *fn,
                         const Atom *arrays, int count) {
  check_scalar(ck, width, PRIM_I64, "the width");
  check_that(ck, fn->param_count == count, "one parameter per array is needed");
  for (int i = 0; i < count; i++) {
    CoreType type = atom_type(arrays[i]);
    check_that(ck, type.rank > 0, "a scalar stands where an array is needed");
    check_same_size(ck, type.dims[0], width, "an array");
    check_same_type(ck, fn->params[i]->type, type_row(type), "a parameter");
  }
}

static void check_red_op(const CoreCheck *ck, const RedOp *op) {
  const Lambda *fn = &op->op;
  check_that(ck, op->count > 0 && fn->param_count == 2 * op->count,
             "an operator takes twice as many values as it combines");
  check_that(ck, fn->body->result_count == op->count,
             "an operator returns as many values as it combines");
  for (int i = 0; i < op->count; i++) {
    CoreType type = atom_type(op->neutral[i]);
    check_same_type(ck, fn->params[i]->type, type, "a left operand");
    check_same_type(ck, fn->params[op->count + i]->type, type, "a right operand");
    check_same_type(ck, atom_type(fn->body->results[i]), type,
                    "the result of an operator");
  }
}

// The results of `body` from `first` on are combined by the operator.
static void check_combined(const CoreCheck *ck, const RedOp *op, const Body *body,
                           int first) {
  for (int i = 0; i < op->count; i++) {
    check_same_type(ck, atom_type(body->results[first + i]), atom_type(op->neutral[i]),
                    "a value to combine");
  }
}

static void check_ops(const CoreCheck *ck, const RedOp *ops, int count,
                      const Body *body) {
  check_that(ck, count > 0, "a reduction or scan needs an operator");
  int combined = 0;
  for (int i = 0; i < count; i++) {
    check_red_op(ck, &ops[i]);
    check_that(ck, combined + ops[i].count <= body->result_count,
               "a value to combine is missing");
    check_combined(ck, &ops[i], body, combined);
    combined += ops[i].count;
  }
}

static void check_filter(const CoreCheck *ck, const Body *body) {
  check_that(ck, body->result_count > 0, "a filter needs a condition");
  check_scalar(ck, body->results[0], PRIM_BOOL, "the condition of a filter");
}

static void check_soac(const CoreCheck *ck, const Exp *e) {
  const Soac *soac = &e->u.soac;
  check_arrays(ck, soac->width, &soac->fn, soac->arrays, soac->array_count);
  if (e->kind == EXP_REDOMAP || e->kind == EXP_SCANOMAP) {
    check_ops(ck, soac->ops, soac->op_count, soac->fn.body);
    return;
  }
  check_that(ck, soac->op_count == 0, "an operator where none belongs");
  if (e->kind == EXP_FILTER) check_filter(ck, soac->fn.body);
}

// For each destination its indices, then its value.
static void check_dests(const CoreCheck *ck, const ScatterDest *dests, int count,
                        const Body *body) {
  int next = 0;
  for (int i = 0; i < count; i++) {
    int indices = dests[i].index_count;
    CoreType type = atom_type(dests[i].dest);
    check_that(ck, indices > 0 && indices <= type.rank,
               "a destination with too many indices");
    check_that(ck, next + indices < body->result_count, "a scatter lacks values");
    for (int k = 0; k < indices; k++) {
      check_scalar(ck, body->results[next++], PRIM_I64, "an index of a scatter");
    }
    check_same_type(ck, atom_type(body->results[next++]), type_peel(type, indices),
                    "a value of a scatter");
  }
  check_that(ck, next == body->result_count, "a scatter has too many values");
}

// A histogram below `outer` dimensions of a space.
static void check_hist_op(const CoreCheck *ck, const HistOp *hist, int outer) {
  check_scalar(ck, hist->width, PRIM_I64, "the width of a histogram");
  check_red_op(ck, &hist->op);
  for (int i = 0; i < hist->op.count; i++) {
    CoreType type = atom_type(hist->dests[i]);
    check_that(ck, type.rank > outer, "a histogram must be an array");
    check_same_size(ck, type.dims[outer], hist->width, "a histogram");
    check_same_type(ck, type_peel(type, outer + 1), atom_type(hist->op.neutral[i]),
                    "an element of a histogram");
  }
}

// All the indices, then all the values.
static void check_hists(const CoreCheck *ck, const HistOp *hists, int count,
                        const Body *body) {
  int next = count;
  for (int i = 0; i < count; i++)
    next += hists[i].op.count;
  check_that(ck, next == body->result_count,
             "a histogram has too few or too many values");
  next = count;
  for (int i = 0; i < count; i++) {
    check_scalar(ck, body->results[i], PRIM_I64, "the index of a histogram");
    check_combined(ck, &hists[i].op, body, next);
    next += hists[i].op.count;
  }
}

static void check_hist_ops(const CoreCheck *ck, const HistOp *hists, int count,
                           int outer) {
  for (int i = 0; i < count; i++)
    check_hist_op(ck, &hists[i], outer);
}

static void check_space(const CoreCheck *ck, const SegOp *seg) {
  check_that(ck, ck->flat, "a seg-op outside of Flat");
  check_that(ck, seg->dim_count > 0, "a space without dimensions");
  for (int i = 0; i < seg->dim_count; i++) {
    check_scalar(ck, seg->dims[i].width, PRIM_I64, "the width of a space");
    check_scalar(ck, atom_var(seg->dims[i].index), PRIM_I64, "an index of a space");
  }
}

static void check_after(const CoreCheck *ck, const SegOp *seg) {
  const Lambda *after = seg->after;
  Body to_dests = *after->body;
  int indices = seg->dim_count, values = seg_dest_values(seg);
  check_that(ck, to_dests.result_count >= values, "a scatter lacks values");
  to_dests.result_count = values;
  check_dests(ck, seg->dests, seg->dest_count, &to_dests);
  check_that(ck, after->param_count == indices + seg->body->result_count,
             "`after` takes too few or too many values");
  for (int i = 0; i < indices; i++)
    check_scalar(ck, atom_var(after->params[i]), PRIM_I64, "an index of a space");
  for (int i = 0; i < seg->body->result_count; i++)
    check_same_type(ck, after->params[indices + i]->type,
                    atom_type(seg->body->results[i]), "a scanned value");
}

static void check_seg(const CoreCheck *ck, const SegOp *seg) {
  check_space(ck, seg);
  bool combines = seg->kind == SEG_RED || seg->kind == SEG_SCAN;
  check_that(ck, combines || !seg->op_count, "an operator where none belongs");
  check_that(ck, seg->kind == SEG_HIST || !seg->hist_count,
             "a histogram where none belongs");
  check_that(ck, seg->kind == SEG_SCATTER || seg->after || !seg->dest_count,
             "a destination where none belongs");
  check_that(ck, seg->kind == SEG_SCAN || !seg->after, "`after` of no scan");
  switch (seg->kind) {
  case SEG_MAP: return;
  case SEG_RED:
  case SEG_SCAN:
    check_ops(ck, seg->ops, seg->op_count, seg->body);
    if (seg->after) check_after(ck, seg);
    return;
  case SEG_HIST:
    check_hist_ops(ck, seg->hists, seg->hist_count, seg->dim_count - 1);
    check_hists(ck, seg->hists, seg->hist_count, seg->body);
    return;
  case SEG_SCATTER: check_dests(ck, seg->dests, seg->dest_count, seg->body); return;
  }
}

static void check_scatter(const CoreCheck *ck, const Exp *e) {
  check_arrays(ck, e->u.scatter.width, &e->u.scatter.fn, e->u.scatter.arrays,
               e->u.scatter.array_count);
  check_dests(ck, e->u.scatter.dests, e->u.scatter.dest_count, e->u.scatter.fn.body);
}

static void check_hist(const CoreCheck *ck, const Exp *e) {
  check_arrays(ck, e->u.hist.width, &e->u.hist.fn, e->u.hist.arrays,
               e->u.hist.array_count);
  check_hist_ops(ck, e->u.hist.ops, e->u.hist.op_count, 0);
  check_hists(ck, e->u.hist.ops, e->u.hist.op_count, e->u.hist.fn.body);
}

void check_parallel(const CoreCheck *ck, const Exp *e) {
  if (e->kind == EXP_SEG) {
    check_seg(ck, e->u.seg);
  } else if (e->kind == EXP_SCATTER) {
    check_scatter(ck, e);
  } else if (e->kind == EXP_HIST) {
    check_hist(ck, e);
  } else {
    check_soac(ck, e);
  }
}
