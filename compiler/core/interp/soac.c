// Second-order operations.  SOACs and seg-ops are one thing here: a nest.  A SOAC is a nest of one
// dimension with arrays to read from; a seg-op has several dimensions and reads in its body.
#include "base/mem.h"
#include "core/interp/nest.h"
#include <string.h>

// ---- running

static bool fits_space(const SpaceNest *n, const Output *o, int space_rank) {
  for (int d = 0; d < space_rank; d++)
    if (o->dims[d].at->i != n->widths[d].at->i) return false;
  return true;
}

static bool allocate(Machine *m, const Ins *ins, const Output *o) {
  int64_t shape[64];
  for (int d = 0; d < o->to.rank; d++)
    shape[d] = o->dims[d].at->i;
  return array_alloc(m, ins->stm, o->to, shape);
}

static bool allocate_outputs(Machine *m, const Ins *ins, const SpaceNest *n) {
  for (int i = 0; i < n->elem_count; i++) {
    if (!fits_space(n, &n->elems[i], n->dim_count))
      run_bug(m, ins->stm, "result %d does not have the width", i);
    if (!allocate(m, ins, &n->elems[i])) return false;
  }
  for (int i = 0; i < n->total_count && n->dim_count > 1; i++) {
    if (!fits_space(n, &n->totals[i], n->dim_count - 1))
      run_bug(m, ins->stm, "result %d does not have the width", i);
    if (!allocate(m, ins, &n->totals[i])) return false;
  }
  return true;
}

// What stays the same for all rows of an input: shape and strides.
static void prepare_inputs(Machine *m, const Ins *ins, const SpaceNest *n) {
  for (int i = 0; i < n->input_count; i++) {
    Slot array = n->inputs[i].array, row = n->inputs[i].to;
    int64_t size = slot_shape(array)[0];
    if (size != n->widths[0].at->i)
      run_bug(m, ins->stm, "array %d has %lld elements, the width is %lld", i,
              (long long)size, (long long)n->widths[0].at->i);
    if (row.rank == 0) continue;
    memcpy(slot_shape(row), slot_shape(array) + 1, (size_t)row.rank * sizeof(int64_t));
    memcpy(slot_strides(row), slot_strides(array) + 1,
           (size_t)row.rank * sizeof(int64_t));
  }
}

static void load_inputs(const SpaceNest *n, int64_t i) {
  for (int k = 0; k < n->input_count; k++) {
    const Input *in = &n->inputs[k];
    char *at = in->array.at[0].base + i * slot_strides(in->array)[0];
    if (in->load) {
      in->load(in->to.at, at);
      continue;
    }
    in->to.at[0].base = at;
    in->to.at[1] = in->array.at[1];
    in->to.at[1].store->refs++;
  }
}

_Noreturn static void row_bug(Machine *m, const Ins *ins, Slot row) {
  Text *t = text_new();
  for (int d = 0; d < row.rank; d++)
    text_printf(t, "[%lld]", (long long)slot_shape(row)[d]);
  run_bug(m, ins->stm, "a row of shape %s, unlike the result's", text_str(t));
}

// Stores one element into row number `at` of the result, counted over its leading dimensions.
static void store_output(Machine *m, const Ins *ins, const Output *o, int64_t at) {
  int rank = o->from.rank, outer = o->to.rank - rank;
  char *to = o->to.at[0].base + at * slot_strides(o->to)[outer - 1];
  if (o->store) {
    o->store(to, o->from.at);
    return;
  }
  const int64_t *shape = slot_shape(o->to) + outer;
  if (memcmp(shape, slot_shape(o->from), (size_t)rank * sizeof *shape) != 0)
    row_bug(m, ins, o->from);
  region_copy((MemoryRegion){ to, slot_strides(o->to) + outer },
              (MemoryRegion){ o->from.at[0].base, slot_strides(o->from) }, shape, rank,
              prim_size_bytes(o->to.elem));
  if (!o->keep) array_release(m, o->from);
}

static void drop_outputs(Machine *m, const SpaceNest *n) {
  for (int k = 0; k < n->elem_count; k++)
    if (n->elems[k].from.rank) array_release(m, n->elems[k].from);
}

static bool run_point(Machine *m, const Ins *ins, const SpaceNest *n, Point *p) {
  load_inputs(n, p->inner);
  if (!run_code(m, n->body)) return false;
  if (n->each) return n->each(m, ins, n);
  if (n->keep_if && !n->keep_if->i) {
    drop_outputs(m, n);
    return true;
  }
  for (int k = 0; k < n->elem_count; k++)
    store_output(m, ins, &n->elems[k], p->next);
  p->next++;
  return true;
}

static void store_totals(Machine *m, const Ins *ins, const SpaceNest *n, int64_t outer) {
  for (int k = 0; k < n->total_count; k++) {
    const Output *o = &n->totals[k];
    if (n->dim_count > 1)
      store_output(m, ins, o, outer);
    else if (o->to.rank)
      array_move(m, o->to, o->from);
    else
      *o->to.at = *o->from.at;
  }
}

// The points of the innermost dimension.
static bool run_line(Machine *m, const Ins *ins, const SpaceNest *n, Point *p) {
  int64_t width = n->widths[n->dim_count - 1].at->i;
  if (n->start && !run_code(m, n->start)) return false;
  for (p->inner = 0; p->inner < width; p->inner++) {
    if (n->indices) n->indices[n->dim_count - 1]->i = p->inner;
    if (!run_point(m, ins, n, p)) return false;
  }
  store_totals(m, ins, n, p->outer);
  for (int k = 0; k < n->scan_count; k++)
    if (n->elems[k].from.rank) array_release(m, n->elems[k].from);
  return true;
}

static void set_outer_indices(const SpaceNest *n, int64_t outer) {
  for (int d = n->dim_count - 2; d >= 0; d--) {
    int64_t width = n->widths[d].at->i;
    n->indices[d]->i = outer % width;
    outer /= width;
  }
}

static bool run_nest(Machine *m, const Ins *ins) {
  const SpaceNest *n = ins->more;
  for (int d = 0; d < n->dim_count; d++) {
    int64_t width = n->widths[d].at->i;
    // A replicate may have become a nest; it is none where nobody makes it.
    if (width < 0) return run_fail(m, ins->stm, NEGATIVE_SIZE, (long long)width);
    if (width == 0) break;
  }
  if (n->before && !n->before(m, ins, n)) return false;
  if (!allocate_outputs(m, ins, n)) return false;
  prepare_inputs(m, ins, n);
  int64_t outer_count = 1;
  for (int d = 0; d < n->dim_count - 1; d++)
    outer_count *= n->widths[d].at->i;
  Point p = { 0 };
  for (p.outer = 0; p.outer < outer_count; p.outer++) {
    set_outer_indices(n, p.outer);
    if (!run_line(m, ins, n, &p)) return false;
  }
  if (!n->kept) return true;
  n->kept->i = p.next;
  for (int k = 0; k < n->elem_count; k++)
    slot_shape(n->elems[k].to)[0] = p.next;
  return true;
}

// ---- generating

static Output output_new(Gen *g, Slot from, const Var *binder) {
  Output o = { .from = from, .to = gen_var(g, binder) };
  o.dims = gen_atoms(g, binder->type.dims, binder->type.rank);
  if (from.rank == 0) o.store = scalar_store(from.elem);
  return o;
}

static Output *outputs_new(Gen *g, const Slot *from, const Var *const *binders,
                           int count) {
  Output *outputs = new_array(Output, count);
  for (int i = 0; i < count; i++)
    outputs[i] = output_new(g, from[i], binders[i]);
  return outputs;
}

void nest_inputs(Gen *g, SpaceNest *n, const Lambda *fn, const Atom *arrays, int count) {
  Input *inputs = new_array(Input, count);
  for (int i = 0; i < count; i++) {
    inputs[i].array = gen_slot(g, arrays[i]);
    inputs[i].to = gen_var(g, fn->params[i]);
    if (inputs[i].to.rank == 0) inputs[i].load = scalar_load(inputs[i].to.elem);
  }
  n->inputs = inputs;
  n->input_count = count;
}

static void space_widths(SpaceNest *n, const Slot *widths, int count) {
  n->widths = widths;
  n->dim_count = count;
}

void nest_space(Gen *g, SpaceNest *n, const SegOp *seg) {
  Slot *widths = new_array(Slot, seg->dim_count);
  n->indices = new_array(Word *, seg->dim_count);
  for (int d = 0; d < seg->dim_count; d++) {
    widths[d] = gen_slot(g, seg->dims[d].width);
    n->indices[d] = gen_var(g, seg->dims[d].index).at;
  }
  space_widths(n, widths, seg->dim_count);
}

void nest_line(Gen *g, SpaceNest *n, Atom width) {
  space_widths(n, gen_atoms(g, &width, 1), 1);
}

static Slot *left_params(Gen *g, const RedOp *op) {
  Slot *left = new_array(Slot, op->count);
  for (int i = 0; i < op->count; i++)
    left[i] = gen_var(g, op->op.params[i]);
  return left;
}

// The operators' left parameters hold what is accumulated; every line starts from the neutral
// elements, which therefore are not consumed.
static const InsCode *gen_start(Gen *g, const RedOp *ops, int count) {
  InsVec outer = gen_begin(g);
  VarVec dying = g->dying;
  g->dying = (VarVec){ 0 };
  for (int i = 0; i < count; i++)
    gen_moves(g, left_params(g, &ops[i]), ops[i].neutral, ops[i].count);
  g->dying = dying;
  return gen_end(g, outer);
}

// left = op left values, as part of the body.  The right parameters live where the values are.
static void gen_accumulate(Gen *g, const RedOp *op, const Slot *values) {
  for (int i = 0; i < op->count; i++)
    gen_alias(g, op->op.params[op->count + i], values[i]);
  gen_lambda_to(g, &op->op, left_params(g, op));
}

// The body: `fn`, then the operators.  Returns the results of `fn`; those that are accumulated are
// replaced by the accumulators.
Slot *nest_body(Gen *g, SpaceNest *n, const Lambda *fn, const RedOp *ops, int op_count) {
  VarVec dying = g->dying;
  g->dying = (VarVec){ 0 };
  if (op_count) n->start = gen_start(g, ops, op_count);
  InsVec outer = gen_begin(g);
  Slot *results = gen_lambda(g, fn);
  int at = 0;
  for (int i = 0; i < op_count; i++) {
    gen_accumulate(g, &ops[i], results + at);
    memcpy(results + at, left_params(g, &ops[i]), (size_t)ops[i].count * sizeof *results);
    at += ops[i].count;
  }
  n->body = gen_end(g, outer);
  g->dying = dying;
  return results;
}

// The results of a reduction or scan: accumulators first, then elements.
static void nest_results(Gen *g, SpaceNest *n, const Slot *results, int reduced,
                         bool scans) {
  const Var *const *binders = (const Var *const *)g->stm->binders;
  int skipped = scans ? 0 : reduced;  // a scan's accumulators are elements, too
  n->totals = outputs_new(g, results, binders, skipped);
  n->total_count = skipped;
  n->elem_count = g->stm->binder_count - skipped;
  Output *elems = outputs_new(g, results + skipped, binders + skipped, n->elem_count);
  n->scan_count = reduced - skipped;
  for (int i = 0; i < n->scan_count; i++)
    elems[i].keep = true;
  n->elems = elems;
}

static int count_reduced(const RedOp *ops, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++)
    sum += ops[i].count;
  return sum;
}

void nest_add(Gen *g, const SpaceNest *n) {
  gen_add(g, (Ins){ .run = run_nest, .more = n });
}

static void gen_soac(Gen *g, const Exp *exp) {
  const Soac *soac = &exp->u.soac;
  SpaceNest *n = new (SpaceNest);
  nest_line(g, n, soac->width);
  nest_inputs(g, n, &soac->fn, soac->arrays, soac->array_count);
  const Slot *results = nest_body(g, n, &soac->fn, soac->ops, soac->op_count);
  nest_results(g, n, results, count_reduced(soac->ops, soac->op_count),
               exp->kind == EXP_SCANOMAP);
  nest_add(g, n);
}

static const Slot *filter_dims(const SpaceNest *n, const Output *o) {
  Slot *dims = mem_copy(o->dims, (size_t)o->to.rank * sizeof *dims);
  dims[0] = n->widths[0];
  return dims;
}

static void gen_filter(Gen *g, const Exp *exp, const Slot *to) {
  const Soac *soac = &exp->u.soac;
  SpaceNest *n = new (SpaceNest);
  nest_line(g, n, soac->width);
  nest_inputs(g, n, &soac->fn, soac->arrays, soac->array_count);
  const Slot *results = nest_body(g, n, &soac->fn, NULL, 0);
  n->keep_if = results[0].at;
  n->kept = to[0].at;
  n->elem_count = g->stm->binder_count - 1;
  const Var *const *binders = (const Var *const *)g->stm->binders + 1;
  Output *elems = outputs_new(g, results + 1, binders, n->elem_count);
  for (int i = 0; i < n->elem_count; i++)  // room for all; cut to what was kept
    elems[i].dims = filter_dims(n, &elems[i]);
  n->elems = elems;
  nest_add(g, n);
}

static void gen_seg(Gen *g, const SegOp *seg) {
  SpaceNest *n = new (SpaceNest);
  nest_space(g, n, seg);
  const Lambda body = { .body = seg->body };
  const Slot *results = nest_body(g, n, &body, seg->ops, seg->op_count);
  nest_results(g, n, results, count_reduced(seg->ops, seg->op_count),
               seg->kind == SEG_SCAN);
  nest_add(g, n);
}

void gen_soac_exp(Gen *g, const Exp *exp, const Slot *to) {
  bool is_seg = exp->kind == EXP_SEG;
  if (is_seg && g->m->options.run_seg) {
    gen_outside_seg(g, exp, to);
    return;
  }
  if (exp->kind == EXP_FILTER) {
    gen_filter(g, exp, to);
    return;
  }
  if (exp->kind == EXP_SCATTER) {
    gen_scatter(g, exp);
    return;
  }
  if (exp->kind == EXP_HIST) {
    gen_hist(g, exp);
    return;
  }
  if (is_seg && exp->u.seg->kind == SEG_SCATTER) {
    gen_seg_scatter(g, exp->u.seg);
    return;
  }
  if (is_seg && exp->u.seg->kind == SEG_HIST) {
    gen_seg_hist(g, exp->u.seg);
    return;
  }
  if (is_seg) {
    gen_seg(g, exp->u.seg);
    return;
  }
  gen_soac(g, exp);
}
