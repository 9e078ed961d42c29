// Seg-ops that somebody else runs: kernels (kern/kern_interp.c).
#include "base/mem.h"
#include "core/interp/machine.h"
#include "core/interp/nest.h"
#include <string.h>

typedef struct OutsideSeg {
  const Stm *stm;
  const Var **vars;  // what it mentions
  Slot *slots;
  int var_count;
  Slot *binders;
  const Slot **dims;  // of each binder
  Slot *dests;        // of the first results: what they begin with
  int dest_count;
  Slot *widths;  // of the space
  int dim_count;
} OutsideSeg;

// An array of negative size has no elements.
static int64_t *counted_shape(const int64_t *shape, int rank) {
  int64_t *out = mem_alloc_plain(((size_t)rank + 1) * sizeof *out);
  for (int d = 0; d < rank; d++)
    out[d] = shape[d] > 0 ? shape[d] : 0;
  return out;
}

static int64_t *result_shape(const OutsideSeg *o, int i) {
  int rank = o->binders[i].rank;
  int64_t *shape = mem_alloc_plain(((size_t)rank + 1) * sizeof *shape);
  for (int d = 0; d < rank; d++)
    shape[d] = o->dims[i][d].at->i;
  return shape;
}

static Value *slot_value(Slot s) {
  bool empty = false;
  for (int d = 0; d < s.rank; d++)
    empty = empty || slot_shape(s)[d] < 0;
  return empty ? value_new(s.elem, s.rank, counted_shape(slot_shape(s), s.rank))
               : value_of_slot(s);
}

// A destination's elements, or zeros.
static Value *first_result(const OutsideSeg *o, int i) {
  if (i < o->dest_count) return slot_value(o->dests[i]);
  int rank = o->binders[i].rank;
  return value_new(o->binders[i].elem, rank, counted_shape(result_shape(o, i), rank));
}

static bool put_result(Machine *m, const OutsideSeg *o, int i, const Value *v) {
  Slot to = o->binders[i];
  if (to.rank == 0) {
    word_set_prim(to.at, value_get(v, 0));
    return true;
  }
  if (!array_alloc(m, o->stm, to, result_shape(o, i))) return false;
  memcpy(to.at[0].base, v->data,
         (size_t)value_count(v) * (size_t)prim_size_bytes(v->elem));
  return true;
}

// A replicate may have become a seg-op; it is none where nobody makes it.
static bool check_widths(Machine *m, const OutsideSeg *o) {
  for (int d = 0; d < o->dim_count; d++) {
    int64_t width = o->widths[d].at->i;
    if (width < 0) return run_fail(m, o->stm, NEGATIVE_SIZE, (long long)width);
    if (width == 0) return true;
  }
  return true;
}

static bool run_outside(Machine *m, const Ins *ins) {
  const OutsideSeg *o = ins->more;
  if (!check_widths(m, o)) return false;
  int count = o->stm->binder_count;
  const Value **values = new_array(const Value *, o->var_count + 1);
  for (int i = 0; i < o->var_count; i++)
    values[i] = slot_value(o->slots[i]);
  Value **results = new_array(Value *, count + 1);
  for (int i = 0; i < count; i++)
    results[i] = first_result(o, i);
  InterpSeg seg = { .stm = o->stm,
                    .vars = o->vars,
                    .values = values,
                    .var_count = o->var_count,
                    .results = results,
                    .steps = m->steps,
                    .max_steps = m->options.max_steps };
  if (!m->options.run_seg(m->options.seg_state, &seg)) {
    m->message = seg.message;
    m->loc = seg.loc;
    return false;
  }
  m->steps = seg.steps;
  for (int i = 0; i < count; i++)
    if (!put_result(m, o, i, results[i])) return false;
  return true;
}

static void note_dest(Gen *g, OutsideSeg *o, Atom dest) {
  o->dests[o->dest_count++] = gen_slot(g, dest);
}

static void note_dests(Gen *g, OutsideSeg *o, const SegOp *seg) {
  o->dests = new_array(Slot, o->stm->binder_count + 1);
  for (int d = 0; d < seg->dest_count; d++)
    note_dest(g, o, seg->dests[d].dest);
  for (int h = 0; h < seg->hist_count; h++)
    for (int i = 0; i < seg->hists[h].op.count && !seg->hists[h].chained; i++)
      note_dest(g, o, seg->hists[h].dests[i]);
}

static void add_var(VarVec *vars, const Var *var) {
  for (int i = 0; i < vars->count; i++)
    if (vars->at[i] == var) return;
  vec_push(vars, var);
}

static void add_sizes(VarVec *vars, CoreType type) {
  for (int d = 0; d < type.rank; d++)
    if (type.dims[d].kind == ATOM_VAR) add_var(vars, type.dims[d].u.var);
}

// What the statement mentions, and the sizes of that.
static VarVec mentioned(const Stm *stm) {
  VarVec free = core_free_exp(stm->exp), all = { 0 };
  for (int i = 0; i < free.count; i++) {
    add_var(&all, free.at[i]);
    add_sizes(&all, free.at[i]->type);
  }
  for (int i = 0; i < stm->binder_count; i++)
    add_sizes(&all, stm->binders[i]->type);
  return all;
}

void gen_outside_seg(Gen *g, const Exp *exp, const Slot *to) {
  const Stm *stm = g->stm;
  OutsideSeg *o = new_node(OutsideSeg, .stm = stm);
  VarVec free = mentioned(stm);
  g->m->options.meet_seg(g->m->options.seg_state, stm, &free);
  o->vars = new_array(const Var *, free.count + 1);
  o->slots = new_array(Slot, free.count + 1);
  for (int i = 0; i < free.count; i++) {
    o->vars[i] = free.at[i];
    o->slots[i] = gen_var(g, free.at[i]);
  }
  o->var_count = free.count;
  o->binders = mem_copy(to, (size_t)stm->binder_count * sizeof *to);
  o->dims = new_array(const Slot *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++)
    o->dims[i] = gen_atoms(g, stm->binders[i]->type.dims, stm->binders[i]->type.rank);
  note_dests(g, o, exp->u.seg);
  o->dim_count = exp->u.seg->dim_count;
  o->widths = new_array(Slot, o->dim_count + 1);
  for (int d = 0; d < o->dim_count; d++)
    o->widths[d] = gen_slot(g, exp->u.seg->dims[d].width);
  gen_add(g, (Ins){ .run = run_outside, .more = o, .stm = stm });
}
