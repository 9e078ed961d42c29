// One recursion over the children of an expression, written twice: once building, once looking.
// The other one is core_visit.c.  Every pass walks through these two, so that a new child of a kind
// is added here and there; a new kind is a row of exp.def, and breaks each switch that must know
// it.
#include "core/core.h"
#include <string.h>

// ---- mapping

static Atom map_atom(CoreMapper *m, Atom a) { return m->atom ? m->atom(m, a) : a; }

static const Body *map_body(CoreMapper *m, const Body *body) {
  return m->body ? m->body(m, body) : body;
}

static const Var *map_binder(CoreMapper *m, const Var *var) {
  return m->binder ? m->binder(m, var) : var;
}

// Like all array mappers here: the same array when nothing changed.
static const Atom *map_atoms(CoreMapper *m, const Atom *atoms, int count) {
  if (!m->atom) return atoms;
  Atom *out = new_array(Atom, count);
  bool changed = false;
  for (int i = 0; i < count; i++) {
    out[i] = map_atom(m, atoms[i]);
    changed |= !atom_equal(out[i], atoms[i]);
  }
  return changed ? out : atoms;
}

static const Var **map_binders(CoreMapper *m, const Var **vars, int count) {
  if (!m->binder) return vars;
  const Var **out = new_array(const Var *, count);
  bool changed = false;
  for (int i = 0; i < count; i++) {
    out[i] = map_binder(m, vars[i]);
    changed |= out[i] != vars[i];
  }
  return changed ? out : vars;
}

CoreType core_map_type(CoreMapper *m, CoreType type) {
  return (CoreType){ type.elem, type.rank, map_atoms(m, type.dims, type.rank) };
}

Lambda core_map_lambda(CoreMapper *m, Lambda fn) {
  const Var **params = map_binders(m, fn.params, fn.param_count);
  return (Lambda){ params, fn.param_count, map_body(m, fn.body) };
}

static bool same_bytes(const void *a, const void *b, size_t size) {
  return memcmp(a, b, size) == 0;
}

static const DimIndex *map_dims(CoreMapper *m, const DimIndex *dims, int count) {
  if (!m->atom) return dims;
  DimIndex *out = new_array(DimIndex, count);
  bool changed = false;
  for (int i = 0; i < count; i++) {
    const DimIndex *dim = &dims[i];
    out[i] = *dim;
    out[i].start = map_atom(m, dim->start);
    changed |= !atom_equal(out[i].start, dim->start);
    if (!dim->is_slice) continue;
    out[i].count = map_atom(m, dim->count);
    out[i].stride = map_atom(m, dim->stride);
    changed |=
        !atom_equal(out[i].count, dim->count) || !atom_equal(out[i].stride, dim->stride);
  }
  return changed ? out : dims;
}

static RedOp map_op(CoreMapper *m, const RedOp *op) {
  const Atom *neutral = map_atoms(m, op->neutral, op->count);
  RedOp out = *op;
  out.neutral = neutral;
  out.op = core_map_lambda(m, op->op);
  return out;
}

static const RedOp *map_ops(CoreMapper *m, const RedOp *ops, int count) {
  RedOp *out = new_array(RedOp, count);
  bool changed = false;
  for (int i = 0; i < count; i++) {
    out[i] = map_op(m, &ops[i]);
    changed |= !same_bytes(&out[i], &ops[i], sizeof *out);
  }
  return changed ? out : ops;
}

static const HistOp *map_hists(CoreMapper *m, const HistOp *ops, int count) {
  HistOp *out = new_array(HistOp, count);
  bool changed = false;
  for (int i = 0; i < count; i++) {
    out[i] = ops[i];
    out[i].dests = map_atoms(m, ops[i].dests, ops[i].op.count);
    out[i].width = map_atom(m, ops[i].width);
    out[i].op = map_op(m, &ops[i].op);
    changed |= !same_bytes(&out[i], &ops[i], sizeof *out);
  }
  return changed ? out : ops;
}

static const ScatterDest *map_dests(CoreMapper *m, const ScatterDest *dests, int count) {
  ScatterDest *out = new_array(ScatterDest, count);
  bool changed = false;
  for (int i = 0; i < count; i++) {
    out[i] = dests[i];
    out[i].dest = map_atom(m, dests[i].dest);
    changed |= !atom_equal(out[i].dest, dests[i].dest);
  }
  return changed ? out : dests;
}

static void map_soac(CoreMapper *m, Soac *soac) {
  soac->width = map_atom(m, soac->width);
  soac->arrays = map_atoms(m, soac->arrays, soac->array_count);
  soac->fn = core_map_lambda(m, soac->fn);
  soac->ops = map_ops(m, soac->ops, soac->op_count);
}

static void map_scatter(CoreMapper *m, Exp *e) {
  e->u.scatter.width = map_atom(m, e->u.scatter.width);
  e->u.scatter.arrays = map_atoms(m, e->u.scatter.arrays, e->u.scatter.array_count);
  e->u.scatter.dests = map_dests(m, e->u.scatter.dests, e->u.scatter.dest_count);
  e->u.scatter.fn = core_map_lambda(m, e->u.scatter.fn);
}

static void map_hist(CoreMapper *m, Exp *e) {
  e->u.hist.width = map_atom(m, e->u.hist.width);
  e->u.hist.arrays = map_atoms(m, e->u.hist.arrays, e->u.hist.array_count);
  e->u.hist.fn = core_map_lambda(m, e->u.hist.fn);
  e->u.hist.ops = map_hists(m, e->u.hist.ops, e->u.hist.op_count);
}

// What stands outside the loop comes before its parameters, the parameters before its body.
static void map_loop(CoreMapper *m, Exp *e) {
  e->u.loop.inits = map_atoms(m, e->u.loop.inits, e->u.loop.param_count);
  if (e->u.loop.form == CORE_FOR) e->u.loop.bound = map_atom(m, e->u.loop.bound);
  e->u.loop.params = map_binders(m, e->u.loop.params, e->u.loop.param_count);
  if (e->u.loop.form == CORE_FOR) e->u.loop.index = map_binder(m, e->u.loop.index);
  e->u.loop.body = map_body(m, e->u.loop.body);
}

static void map_assert(CoreMapper *m, Exp *e) {
  e->u.assert.condition = map_atom(m, e->u.assert.condition);
  e->u.assert.values = map_atoms(m, e->u.assert.values, e->u.assert.value_count);
  e->u.assert.atoms = map_atoms(m, e->u.assert.atoms, e->u.assert.atom_count);
}

static const SegDim *map_space(CoreMapper *m, const SegDim *dims, int count) {
  SegDim *out = new_array(SegDim, count);
  bool changed = false;
  for (int i = 0; i < count; i++)
    out[i].width = map_atom(m, dims[i].width);
  for (int i = 0; i < count; i++) {
    out[i].index = map_binder(m, dims[i].index);
    changed |= out[i].index != dims[i].index || !atom_equal(out[i].width, dims[i].width);
  }
  return changed ? out : dims;
}

// Operators and destinations stand outside the space, as in the paper: before its indices.
static const SegOp *map_seg(CoreMapper *m, const SegOp *seg) {
  SegOp out = *seg;
  out.ops = map_ops(m, seg->ops, seg->op_count);
  out.hists = map_hists(m, seg->hists, seg->hist_count);
  out.dests = map_dests(m, seg->dests, seg->dest_count);
  out.dims = map_space(m, seg->dims, seg->dim_count);
  out.body = map_body(m, seg->body);
  if (seg->after) {
    Lambda after = core_map_lambda(m, *seg->after);
    if (!same_bytes(&after, seg->after, sizeof after))
      out.after = mem_copy(&after, sizeof after);
  }
  return same_bytes(&out, seg, sizeof out) ? seg : mem_copy(&out, sizeof out);
}

static const SizeExp *map_size(CoreMapper *m, const SizeExp *e) {
  if (!e) return NULL;
  if (e->kind == SIZE_EXP_ATOM) {
    Atom a = map_atom(m, e->atom);
    return atom_equal(a, e->atom) ? e : size_exp_atom(a);
  }
  const SizeExp *a = map_size(m, e->a);
  const SizeExp *b = map_size(m, e->b);
  return a == e->a && b == e->b ? e : size_exp_op(e->kind, a, b);
}

static const Guard *map_guard(CoreMapper *m, const Guard *guard) {
  Guard out = *guard;
  out.par = map_size(m, guard->par);
  out.local_bytes = map_size(m, guard->local_bytes);
  out.step = map_size(m, guard->step);
  out.moved = map_size(m, guard->moved);
  return same_bytes(&out, guard, sizeof out) ? guard : mem_copy(&out, sizeof out);
}

static void map_op_args(CoreMapper *m, Exp *e) {
  for (int i = 0; i < op_arity(e->u.op.op); i++)
    e->u.op.args[i] = map_atom(m, e->u.op.args[i]);
}

static void map_iota(CoreMapper *m, Exp *e) {
  e->u.iota.count = map_atom(m, e->u.iota.count);
  e->u.iota.start = map_atom(m, e->u.iota.start);
  e->u.iota.step = map_atom(m, e->u.iota.step);
}

static void map_index(CoreMapper *m, Exp *e) {
  e->u.index.array = map_atom(m, e->u.index.array);
  e->u.index.dims = map_dims(m, e->u.index.dims, e->u.index.dim_count);
}

static void map_update(CoreMapper *m, Exp *e) {
  e->u.update.array = map_atom(m, e->u.update.array);
  e->u.update.dims = map_dims(m, e->u.update.dims, e->u.update.dim_count);
  e->u.update.value = map_atom(m, e->u.update.value);
}

static void map_branches(CoreMapper *m, const Body **first, const Body **second) {
  *first = map_body(m, *first);
  *second = map_body(m, *second);
}

static void map_choose(CoreMapper *m, Exp *e) {
  if (e->u.choose.by_size) e->u.choose.size = map_atom(m, e->u.choose.size);
  map_branches(m, &e->u.choose.first, &e->u.choose.second);
}

static void map_split(CoreMapper *m, Exp *e) {
  e->u.split.guard = map_guard(m, e->u.split.guard);
  e->u.split.width = map_atom(m, e->u.split.width);
  e->u.split.workers = map_atom(m, e->u.split.workers);
}

static void map_gather(CoreMapper *m, Exp *e) {
  e->u.gather.workers = map_atom(m, e->u.gather.workers);
  e->u.gather.total = map_atom(m, e->u.gather.total);
  e->u.gather.start = map_atom(m, e->u.gather.start);
  e->u.gather.count = map_atom(m, e->u.gather.count);
  e->u.gather.value = map_atom(m, e->u.gather.value);
}

static void map_border(CoreMapper *m, Exp *e) {
  e->u.border.workers = map_atom(m, e->u.border.workers);
  e->u.border.total = map_atom(m, e->u.border.total);
  e->u.border.start = map_atom(m, e->u.border.start);
  e->u.border.count = map_atom(m, e->u.border.count);
  e->u.border.before = map_atom(m, e->u.border.before);
  e->u.border.after = map_atom(m, e->u.border.after);
  e->u.border.extent = map_atom(m, e->u.border.extent);
  e->u.border.block = map_atom(m, e->u.border.block);
}

static void map_deliver(CoreMapper *m, Exp *e) {
  e->u.deliver.workers = map_atom(m, e->u.deliver.workers);
  e->u.deliver.total = map_atom(m, e->u.deliver.total);
  e->u.deliver.start = map_atom(m, e->u.deliver.start);
  e->u.deliver.count = map_atom(m, e->u.deliver.count);
  e->u.deliver.block = map_atom(m, e->u.deliver.block);
  e->u.deliver.positions = map_atom(m, e->u.deliver.positions);
  e->u.deliver.values = map_atom(m, e->u.deliver.values);
}

static void map_fetch(CoreMapper *m, Exp *e) {
  e->u.fetch.workers = map_atom(m, e->u.fetch.workers);
  e->u.fetch.total = map_atom(m, e->u.fetch.total);
  e->u.fetch.start = map_atom(m, e->u.fetch.start);
  e->u.fetch.count = map_atom(m, e->u.fetch.count);
  e->u.fetch.first = map_atom(m, e->u.fetch.first);
  e->u.fetch.rows = map_atom(m, e->u.fetch.rows);
  e->u.fetch.block = map_atom(m, e->u.fetch.block);
}

static void map_children(CoreMapper *m, Exp *e) {
  switch (e->kind) {
  case EXP_ATOM:
  case EXP_COPY: e->u.atom.atom = map_atom(m, e->u.atom.atom); return;
  case EXP_OP: map_op_args(m, e); return;
  case EXP_CONVERT:
  case EXP_BITS: e->u.convert.atom = map_atom(m, e->u.convert.atom); return;
  case EXP_INDEX: map_index(m, e); return;
  case EXP_UPDATE: map_update(m, e); return;
  case EXP_IOTA: map_iota(m, e); return;
  case EXP_REPLICATE:
    e->u.replicate.count = map_atom(m, e->u.replicate.count);
    e->u.replicate.value = map_atom(m, e->u.replicate.value);
    return;
  case EXP_REARRANGE: e->u.rearrange.array = map_atom(m, e->u.rearrange.array); return;
  case EXP_RESHAPE:
    e->u.reshape.dims = map_atoms(m, e->u.reshape.dims, e->u.reshape.rank);
    e->u.reshape.array = map_atom(m, e->u.reshape.array);
    return;
  case EXP_CONCAT:
    e->u.concat.count = map_atom(m, e->u.concat.count);
    e->u.concat.arrays = map_atoms(m, e->u.concat.arrays, e->u.concat.array_count);
    return;
  case EXP_ROTATE:
    e->u.rotate.amount = map_atom(m, e->u.rotate.amount);
    e->u.rotate.array = map_atom(m, e->u.rotate.array);
    return;
  case EXP_ARRAY:
    e->u.array.atoms = map_atoms(m, e->u.array.atoms, e->u.array.count);
    e->u.array.row = core_map_type(m, e->u.array.row);
    return;
  case EXP_ASSERT: map_assert(m, e); return;
  case EXP_IF:
    e->u.cond.condition = map_atom(m, e->u.cond.condition);
    map_branches(m, &e->u.cond.then_body, &e->u.cond.else_body);
    return;
  case EXP_LOOP: map_loop(m, e); return;
  case EXP_CALL:
    e->u.call.args = map_atoms(m, e->u.call.args, e->u.call.arg_count);
    return;
  case EXP_CHOOSE: map_choose(m, e); return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_FILTER: map_soac(m, &e->u.soac); return;
  case EXP_SCATTER: map_scatter(m, e); return;
  case EXP_HIST: map_hist(m, e); return;
  case EXP_SEG: e->u.seg = map_seg(m, e->u.seg); return;
  case EXP_GUARD:
    e->u.guard.guard = map_guard(m, e->u.guard.guard);
    map_branches(m, &e->u.guard.then_body, &e->u.guard.else_body);
    return;
  case EXP_SPLIT: map_split(m, e); return;
  case EXP_GATHER: map_gather(m, e); return;
  case EXP_BORDER: map_border(m, e); return;
  case EXP_FETCH: map_fetch(m, e); return;
  case EXP_DELIVER: map_deliver(m, e); return;
  }
}

const Exp *core_map_exp(CoreMapper *m, const Exp *exp) {
  Exp out;
  memcpy(&out, exp,
         sizeof out);  // with its padding, so that unchanged nodes compare equal
  map_children(m, &out);
  return same_bytes(&out, exp, sizeof out) ? exp : mem_copy(&out, sizeof out);
}
