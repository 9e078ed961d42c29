// Seg-ops as nests of axes: a MAP axis per outer dimension;
// the innermost by the kind of the seg-op.
#include "kern/from/from_flat.h"

int seg_dests(const SegOp *seg, Atom *out) {
  int count = 0;
  for (int d = 0; d < seg->dest_count; d++)
    out[count++] = seg->dests[d].dest;
  for (int h = 0; h < seg->hist_count; h++)
    for (int i = 0; i < seg->hists[h].op.count && !seg->hists[h].chained; i++)
      out[count++] = seg->hists[h].dests[i];
  return count;
}

bool seg_commutes(const SegOp *seg) {
  for (int i = 0; i < seg->op_count; i++)
    if (!seg->ops[i].commutative) return false;
  return true;
}

bool seg_has_spare(const SegOp *seg, int result) {
  if (!seg->after || result >= seg->dest_count || seg->dim_count != 1) return false;
  const ScatterDest *dest = &seg->dests[result];
  return dest->covered && atom_type(dest->dest).rank == 1;
}

typedef struct SegCode {
  const SegOp *seg;
  const View *const *outs;
  const Term **totals;
  int reds;
} SegCode;

const Term *const *from_seg_indices(const SegOp *seg, int count) {
  const Term **indices = from_scalars(count);
  for (int i = 0; i < count; i++)
    indices[i] = term_var(seg->dims[i].index);
  return indices;
}

// A body at one point; results from `from` on are stored at the point, in the outs from `out` on.
static void point_of(From *f, const SegCode *s, const Body *body, int from, int out,
                     const Term **scalars, const View **made) {
  const SegOp *seg = s->seg;
  int count = body->result_count;
  const Term *const *indices = from_seg_indices(seg, seg->dim_count);
  View *to = new_array(View, count + 1);
  for (int i = from; i < count; i++) {
    to[i] = view_peel(s->outs[out + i - from], indices, seg->dim_count);
    if (to[i].rank > 0) made[i] = &to[i];
  }
  from_body(f, body, scalars, made);
  for (int i = from; i < count; i++)
    if (to[i].rank == 0) from_store_scalar(f, &to[i], scalars[i]);
}

static void point(From *f, const SegCode *s, int from, const Term **scalars,
                  const View **made) {
  point_of(f, s, s->seg->body, from, from, scalars, made);
}

void from_open_dim(FromLoop *loop, From *f, AxisRole role, const SegDim *dim) {
  from_open(loop, f, role, dim->index->name, term_atom(dim->width));
  loop->axis.index = dim->index;
}

static void map_point(From *f, const SegCode *s) {
  int count = s->seg->body->result_count;
  point(f, s, 0, from_scalars(count), from_places(count));
}

static void store_dests(From *f, const SegCode *s, const Term *const *scalars,
                        const View *const *made) {
  const SegOp *seg = s->seg;
  for (int d = 0, first = 0; d < seg->dest_count; d++) {
    int indexed = seg->dests[d].index_count;
    from_store_if_inside(f, s->outs[d], scalars + first, indexed,
                         scalars[first + indexed], made[first + indexed]);
    first += indexed + 1;
  }
}

static void scatter_point(From *f, const SegCode *s) {
  int count = s->seg->body->result_count;
  const Term **scalars = from_scalars(count);
  const View **made = from_places(count);
  from_body(f, s->seg->body, scalars, made);
  store_dests(f, s, scalars, made);
}

// Element types of the values that the operators combine.
static const Var *fresh_like(From *f, const RedOp *op, int i, const char *name) {
  return var_new(f->c, name_of(f->c->names, name),
                 type_scalar(op->op.params[i]->type.elem), f->b->loc);
}

static const Var **value_vars(From *f, const SegOp *seg, int reds, const char *name) {
  const Var **vars = new_array(const Var *, reds + 1);
  for (int o = 0, next = 0; o < seg->op_count; o++)
    for (int i = 0; i < seg->ops[o].count; i++)
      vars[next++] = fresh_like(f, &seg->ops[o], i, name);
  return vars;
}

static void store_at(From *f, const SegCode *s, const Var *const *vars, int depth) {
  const Term *const *indices = from_seg_indices(s->seg, depth);
  for (int i = 0; i < s->reds; i++) {
    if (!s->outs[i]) {
      s->totals[i] = term_var(vars[i]);
      continue;
    }
    View to = view_peel(s->outs[i], indices, depth);
    from_store_scalar(f, &to, term_var(vars[i]));
  }
}

// What is made of the scanned scalars (sums) and of the body's other results.
static void point_after(From *f, const SegCode *s, const Var *const *sums,
                        const Term *const *scalars) {
  const SegOp *seg = s->seg;
  const Lambda *after = seg->after;
  int count = after->body->result_count;
  const Term **results = from_scalars(count);
  const View **made = from_places(count);
  for (int i = 0; i < seg->dim_count; i++)
    kern_let_var(f->b, after->params[i], term_var(seg->dims[i].index));
  for (int i = 0; i < seg->body->result_count; i++)
    kern_let_var(f->b, after->params[seg->dim_count + i],
                 i < s->reds ? term_var(sums[i]) : scalars[i]);
  point_of(f, s, after->body, seg_dest_values(seg), seg->dest_count, results, made);
  store_dests(f, s, results, made);
}

static void scan_row(From *f, const SegCode *s, FromLoop *loop,
                     const Term *const *scalars) {
  const Var **sums = value_vars(f, s->seg, s->reds, "sum");
  KernBuilder after = kern_builder(f->c, f->b->loc);
  From at_point = loop->inner;
  at_point.b = &after;
  if (s->seg->after)
    point_after(&at_point, s, sums, scalars);
  else
    store_at(&at_point, s, sums, s->seg->dim_count);
  loop->axis.sums = sums;
  loop->axis.after = kern_block(&after, NULL, 0);
  from_close(loop, f, scalars, s->reds, NULL, 0);
}

static void reduce_row(From *f, const SegCode *s) {
  const SegOp *seg = s->seg;
  int count = seg->body->result_count;
  const Term **scalars = from_scalars(count);
  FromLoop loop;
  bool scans = seg->kind == SEG_SCAN;
  from_open_dim(&loop, f, scans ? AXIS_SCAN : AXIS_REDUCE,
                &seg->dims[seg->dim_count - 1]);
  point(&loop.inner, s, seg->after ? count : s->reds, scalars, from_places(count));
  KernOp *ops = new_array(KernOp, seg->op_count + 1);
  for (int i = 0; i < seg->op_count; i++)
    ops[i] = from_op(f, &seg->ops[i]);
  loop.axis.ops = ops;
  loop.axis.op_count = seg->op_count;
  if (scans) {
    scan_row(f, s, &loop, scalars);
    return;
  }
  const Var **totals = value_vars(f, seg, s->reds, "total");
  from_close(&loop, f, scalars, s->reds, totals, s->reds);
  store_at(f, s, totals, seg->dim_count - 1);
}

// ---- histograms

// The destinations of one histogram at the segment.
static KernHist hist_at(From *f, const SegCode *s, const HistOp *hist, int first) {
  const Term *const *outer = from_seg_indices(s->seg, s->seg->dim_count - 1);
  Access *dests = new_array(Access, hist->op.count + 1);
  for (int i = 0; i < hist->op.count; i++) {
    View at = view_peel(s->outs[first + i], outer, s->seg->dim_count - 1);
    dests[i] = (Access){ at.tensor, at.start };
  }
  return (KernHist){ dests, term_atom(hist->width), from_op(f, &hist->op),
                     hist->chained };
}

static void hist_row_of_arrays(From *f, const SegCode *s) {
  const SegOp *seg = s->seg;
  int count = seg->body->result_count, outer = seg->dim_count - 1;
  int dests = seg_dests(seg, new_array(Atom, count + 1));
  const Term **scalars = from_scalars(count);
  const View **made = from_places(count);
  View *rows = new_array(View, dests + 1);
  const View **at = from_places(dests);
  for (int d = 0; d < dests; d++) {
    rows[d] = view_peel(s->outs[d], from_seg_indices(seg, outer), outer);
    at[d] = &rows[d];
  }
  FromLoop loop;
  from_open_dim(&loop, f, AXIS_LOOP, &seg->dims[outer]);
  from_body(&loop.inner, seg->body, scalars, made);
  from_hist_round(&loop.inner, seg->hists, seg->hist_count, at, scalars, made);
  from_close(&loop, f, NULL, 0, NULL, 0);
}

bool from_is_plain_hist(const SegOp *seg, const View *const *outs) {
  for (int h = 0, next = 0; h < seg->hist_count; h++) {
    if (!from_scalar_ops(&seg->hists[h].op, 1)) return false;
    for (int i = 0; i < seg->hists[h].op.count && !seg->hists[h].chained; i++, next++) {
      const View *out = outs[next];
      int last = out->tensor->rank - 1;
      bool plain = out->dim[out->rank - 1] == last && term_is_i64(out->start[last], 0) &&
                   term_is_i64(out->stride[out->rank - 1], 1);
      if (!plain) return false;
    }
  }
  return true;
}

static void hist_row(From *f, const SegCode *s) {
  const SegOp *seg = s->seg;
  if (!from_is_plain_hist(seg, s->outs)) {
    hist_row_of_arrays(f, s);
    return;
  }
  int count = seg->body->result_count;
  const Term **scalars = from_scalars(count);
  KernHist *hists = new_array(KernHist, seg->hist_count + 1);
  for (int h = 0, first = 0; h < seg->hist_count; h++) {
    if (h && !seg->hists[h].chained) first += seg->hists[h - 1].op.count;
    hists[h] = hist_at(f, s, &seg->hists[h], first);
  }
  FromLoop loop;
  from_open_dim(&loop, f, AXIS_HIST, &seg->dims[seg->dim_count - 1]);
  from_body(&loop.inner, seg->body, scalars, from_places(count));
  loop.axis.hists = hists;
  loop.axis.hist_count = seg->hist_count;
  from_close(&loop, f, scalars, count, NULL, 0);
}

// ---- the nest

static void innermost(From *f, const SegCode *s) {
  switch (s->seg->kind) {
  case SEG_MAP: map_point(f, s); return;
  case SEG_SCATTER: scatter_point(f, s); return;
  case SEG_RED:
  case SEG_SCAN: reduce_row(f, s); return;
  case SEG_HIST: hist_row(f, s); return;
  }
}

static void nest(From *f, const SegCode *s, int depth, int maps) {
  if (depth == maps) {
    innermost(f, s);
    return;
  }
  FromLoop loop;
  from_open_dim(&loop, f, AXIS_MAP, &s->seg->dims[depth]);
  nest(&loop.inner, s, depth + 1, maps);
  from_close(&loop, f, NULL, 0, NULL, 0);
}

void from_seg(From *f, const SegOp *seg, const View *const *outs, const Term **totals) {
  SegCode s = { .seg = seg, .outs = outs, .totals = totals };
  for (int i = 0; i < seg->op_count; i++)
    s.reds += seg->ops[i].count;
  bool all = seg->kind == SEG_MAP || seg->kind == SEG_SCATTER;
  nest(f, &s, 0, seg->dim_count - !all);
}
