// The recursion of core_walk.c for passes that only look.
#include "core/core.h"

static void visit_atom(CoreVisitor *v, Atom a) {
  if (v->atom) v->atom(v, a);
}

static void visit_atoms(CoreVisitor *v, const Atom *atoms, int count) {
  for (int i = 0; i < count; i++)
    visit_atom(v, atoms[i]);
}

static void visit_type(CoreVisitor *v, CoreType type) {
  visit_atoms(v, type.dims, type.rank);
}

static void visit_body(CoreVisitor *v, const Body *body) {
  if (v->body) v->body(v, body);
}

static void visit_binders(CoreVisitor *v, const Var *const *vars, int count) {
  for (int i = 0; i < count; i++) {
    visit_type(v, vars[i]->type);
    if (v->binder) v->binder(v, vars[i]);
  }
}

static void visit_lambda(CoreVisitor *v, const Lambda *fn) {
  visit_binders(v, fn->params, fn->param_count);
  visit_body(v, fn->body);
}

static void visit_dims(CoreVisitor *v, const DimIndex *dims, int count) {
  for (int i = 0; i < count; i++) {
    visit_atom(v, dims[i].start);
    if (!dims[i].is_slice) continue;
    visit_atom(v, dims[i].count);
    visit_atom(v, dims[i].stride);
  }
}

static void visit_ops(CoreVisitor *v, const RedOp *ops, int count) {
  for (int i = 0; i < count; i++) {
    visit_atoms(v, ops[i].neutral, ops[i].count);
    visit_lambda(v, &ops[i].op);
  }
}

static void visit_hists(CoreVisitor *v, const HistOp *ops, int count) {
  for (int i = 0; i < count; i++) {
    visit_atoms(v, ops[i].dests, ops[i].op.count);
    visit_atom(v, ops[i].width);
    visit_ops(v, &ops[i].op, 1);
  }
}

static void visit_dests(CoreVisitor *v, const ScatterDest *dests, int count) {
  for (int i = 0; i < count; i++)
    visit_atom(v, dests[i].dest);
}

static void visit_soac(CoreVisitor *v, const Soac *soac) {
  visit_atom(v, soac->width);
  visit_atoms(v, soac->arrays, soac->array_count);
  visit_lambda(v, &soac->fn);
  visit_ops(v, soac->ops, soac->op_count);
}

static void visit_scatter(CoreVisitor *v, const Exp *e) {
  visit_atom(v, e->u.scatter.width);
  visit_atoms(v, e->u.scatter.arrays, e->u.scatter.array_count);
  visit_dests(v, e->u.scatter.dests, e->u.scatter.dest_count);
  visit_lambda(v, &e->u.scatter.fn);
}

static void visit_hist(CoreVisitor *v, const Exp *e) {
  visit_atom(v, e->u.hist.width);
  visit_atoms(v, e->u.hist.arrays, e->u.hist.array_count);
  visit_lambda(v, &e->u.hist.fn);
  visit_hists(v, e->u.hist.ops, e->u.hist.op_count);
}

static void visit_loop(CoreVisitor *v, const Exp *e) {
  visit_atoms(v, e->u.loop.inits, e->u.loop.param_count);
  if (e->u.loop.form == CORE_FOR) visit_atom(v, e->u.loop.bound);
  visit_binders(v, e->u.loop.params, e->u.loop.param_count);
  if (e->u.loop.form == CORE_FOR) visit_binders(v, &e->u.loop.index, 1);
  visit_body(v, e->u.loop.body);
}

static void visit_assert(CoreVisitor *v, const Exp *e) {
  visit_atom(v, e->u.assert.condition);
  visit_atoms(v, e->u.assert.values, e->u.assert.value_count);
  visit_atoms(v, e->u.assert.atoms, e->u.assert.atom_count);
}

static void visit_seg(CoreVisitor *v, const SegOp *seg) {
  for (int i = 0; i < seg->dim_count; i++)
    visit_atom(v, seg->dims[i].width);
  visit_ops(v, seg->ops, seg->op_count);
  visit_hists(v, seg->hists, seg->hist_count);
  visit_dests(v, seg->dests, seg->dest_count);
  for (int i = 0; i < seg->dim_count; i++) {
    visit_binders(v, (const Var *const[]){ seg->dims[i].index }, 1);
  }
  visit_body(v, seg->body);
  if (seg->after) visit_lambda(v, seg->after);
}

static void visit_size(CoreVisitor *v, const SizeExp *e) {
  if (!e) return;
  if (e->kind == SIZE_EXP_ATOM) {
    visit_atom(v, e->atom);
    return;
  }
  visit_size(v, e->a);
  visit_size(v, e->b);
}

static void visit_index(CoreVisitor *v, const Exp *e) {
  visit_atom(v, e->u.index.array);
  visit_dims(v, e->u.index.dims, e->u.index.dim_count);
}

static void visit_update(CoreVisitor *v, const Exp *e) {
  visit_atom(v, e->u.update.array);
  visit_dims(v, e->u.update.dims, e->u.update.dim_count);
  visit_atom(v, e->u.update.value);
}

static void visit_branches(CoreVisitor *v, const Body *first, const Body *second) {
  visit_body(v, first);
  visit_body(v, second);
}

static void visit_choose(CoreVisitor *v, const Exp *e) {
  if (e->u.choose.by_size) visit_atom(v, e->u.choose.size);
  visit_branches(v, e->u.choose.first, e->u.choose.second);
}

static void visit_iota(CoreVisitor *v, const Exp *e) {
  visit_atom(v, e->u.iota.count);
  visit_atom(v, e->u.iota.start);
  visit_atom(v, e->u.iota.step);
}

static void visit_guard(CoreVisitor *v, const Exp *e) {
  visit_size(v, e->u.guard.guard->par);
  visit_size(v, e->u.guard.guard->local_bytes);
  visit_size(v, e->u.guard.guard->step);
  visit_branches(v, e->u.guard.then_body, e->u.guard.else_body);
}

static void visit_split(CoreVisitor *v, const Exp *e) {
  visit_size(v, e->u.split.guard->par);
  visit_size(v, e->u.split.guard->moved);
  visit_atom(v, e->u.split.width);
  visit_atom(v, e->u.split.workers);
}

static void visit_gather(CoreVisitor *v, const Exp *e) {
  visit_atom(v, e->u.gather.workers);
  visit_atom(v, e->u.gather.total);
  visit_atom(v, e->u.gather.start);
  visit_atom(v, e->u.gather.count);
  visit_atom(v, e->u.gather.value);
}

static void visit_border(CoreVisitor *v, const Exp *e) {
  visit_atom(v, e->u.border.workers);
  visit_atom(v, e->u.border.total);
  visit_atom(v, e->u.border.start);
  visit_atom(v, e->u.border.count);
  visit_atom(v, e->u.border.before);
  visit_atom(v, e->u.border.after);
  visit_atom(v, e->u.border.extent);
  visit_atom(v, e->u.border.block);
}

static void visit_deliver(CoreVisitor *v, const Exp *e) {
  visit_atom(v, e->u.deliver.workers);
  visit_atom(v, e->u.deliver.total);
  visit_atom(v, e->u.deliver.start);
  visit_atom(v, e->u.deliver.count);
  visit_atom(v, e->u.deliver.block);
  visit_atom(v, e->u.deliver.positions);
  visit_atom(v, e->u.deliver.values);
}

static void visit_fetch(CoreVisitor *v, const Exp *e) {
  visit_atom(v, e->u.fetch.workers);
  visit_atom(v, e->u.fetch.total);
  visit_atom(v, e->u.fetch.start);
  visit_atom(v, e->u.fetch.count);
  visit_atom(v, e->u.fetch.first);
  visit_atom(v, e->u.fetch.rows);
  visit_atom(v, e->u.fetch.block);
}

void core_visit_exp(CoreVisitor *v, const Exp *e) {
  switch (e->kind) {
  case EXP_ATOM:
  case EXP_COPY: visit_atom(v, e->u.atom.atom); return;
  case EXP_OP: visit_atoms(v, e->u.op.args, op_arity(e->u.op.op)); return;
  case EXP_CONVERT:
  case EXP_BITS: visit_atom(v, e->u.convert.atom); return;
  case EXP_INDEX: visit_index(v, e); return;
  case EXP_UPDATE: visit_update(v, e); return;
  case EXP_IOTA: visit_iota(v, e); return;
  case EXP_REPLICATE:
    visit_atom(v, e->u.replicate.count);
    visit_atom(v, e->u.replicate.value);
    return;
  case EXP_REARRANGE: visit_atom(v, e->u.rearrange.array); return;
  case EXP_RESHAPE:
    visit_atoms(v, e->u.reshape.dims, e->u.reshape.rank);
    visit_atom(v, e->u.reshape.array);
    return;
  case EXP_CONCAT:
    visit_atom(v, e->u.concat.count);
    visit_atoms(v, e->u.concat.arrays, e->u.concat.array_count);
    return;
  case EXP_ROTATE:
    visit_atom(v, e->u.rotate.amount);
    visit_atom(v, e->u.rotate.array);
    return;
  case EXP_ARRAY:
    visit_atoms(v, e->u.array.atoms, e->u.array.count);
    visit_type(v, e->u.array.row);
    return;
  case EXP_ASSERT: visit_assert(v, e); return;
  case EXP_IF:
    visit_atom(v, e->u.cond.condition);
    visit_branches(v, e->u.cond.then_body, e->u.cond.else_body);
    return;
  case EXP_LOOP: visit_loop(v, e); return;
  case EXP_CALL: visit_atoms(v, e->u.call.args, e->u.call.arg_count); return;
  case EXP_CHOOSE: visit_choose(v, e); return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_FILTER: visit_soac(v, &e->u.soac); return;
  case EXP_SCATTER: visit_scatter(v, e); return;
  case EXP_HIST: visit_hist(v, e); return;
  case EXP_SEG: visit_seg(v, e->u.seg); return;
  case EXP_GUARD: visit_guard(v, e); return;
  case EXP_SPLIT: visit_split(v, e); return;
  case EXP_GATHER: visit_gather(v, e); return;
  case EXP_BORDER: visit_border(v, e); return;
  case EXP_FETCH: visit_fetch(v, e); return;
  case EXP_DELIVER: visit_deliver(v, e); return;
  }
}

void core_visit_stm(CoreVisitor *v, const Stm *stm) {
  core_visit_exp(v, stm->exp);
  for (int i = 0; i < stm->binder_count; i++)
    visit_type(v, stm->binders[i]->type);
}

void core_visit_body(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    core_visit_stm(v, &body->stms[i]);
  visit_atoms(v, body->results, body->result_count);
}

// ---- free variables

typedef struct Occurrences {
  VarVec order;
  Map *seen;  // variables in `order`
  Map *
      bound;  // binders met on the way; each is bound once, so one set serves the whole walk
} Occurrences;

static void note_atom(CoreVisitor *v, Atom a) {
  Occurrences *o = v->state;
  if (a.kind == ATOM_CONST || map_has(o->seen, a.u.var)) return;
  map_put(o->seen, a.u.var, a.u.var);
  vec_push(&o->order, a.u.var);
}

static void note_binder(CoreVisitor *v, const Var *var) {
  Occurrences *o = v->state;
  map_put(o->bound, var, var);
}

static void note_body(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    for (int k = 0; k < stm->binder_count; k++)
      note_binder(v, stm->binders[k]);
  }
  core_visit_body(v, body);
}

static Occurrences occurrences_new(void) {
  return (Occurrences){ .seen = map_new(NULL), .bound = map_new(NULL) };
}

static CoreVisitor occurrence_visitor(Occurrences *o) {
  return (CoreVisitor){
    .atom = note_atom, .body = note_body, .binder = note_binder, .state = o
  };
}

static VarVec unbound(const Occurrences *o) {
  VarVec free = { 0 };
  for (int i = 0; i < o->order.count; i++) {
    if (!map_has(o->bound, o->order.at[i])) vec_push(&free, o->order.at[i]);
  }
  return free;
}

VarVec core_free_exp(const Exp *exp) {
  Occurrences o = occurrences_new();
  CoreVisitor v = occurrence_visitor(&o);
  core_visit_exp(&v, exp);
  return unbound(&o);
}

VarVec core_free_stm(const Stm *stm) {
  VarVec vars = core_free_exp(stm->exp);
  for (int i = 0; i < stm->binder_count; i++)
    for (int d = 0; d < stm->binders[i]->type.rank; d++)
      if (stm->binders[i]->type.dims[d].kind == ATOM_VAR)
        vec_push(&vars, stm->binders[i]->type.dims[d].u.var);
  return vars;
}

VarVec core_free_body(const Body *body) {
  Occurrences o = occurrences_new();
  CoreVisitor v = occurrence_visitor(&o);
  note_body(&v, body);
  return unbound(&o);
}

VarVec core_free_lambda(const Lambda *fn) {
  Occurrences o = occurrences_new();
  CoreVisitor v = occurrence_visitor(&o);
  visit_lambda(&v, fn);
  return unbound(&o);
}

// ---- bodies

static void list_body(CoreVisitor *v, const Body *body) {
  BodyVec *bodies = v->state;
  vec_push(bodies, body);
}

BodyVec exp_bodies(const Exp *exp) {
  BodyVec bodies = { 0 };
  CoreVisitor v = { .body = list_body, .state = &bodies };
  core_visit_exp(&v, exp);
  return bodies;
}

// ---- uses

static void count_use(CoreVisitor *v, Atom a) {
  if (a.kind == ATOM_CONST) return;
  int *count = map_get(v->state, a.u.var);
  if (!count) map_put(v->state, a.u.var, count = new (int));
  ++*count;
}

static void count_uses(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    core_visit_exp(v, body->stms[i].exp);
  for (int i = 0; i < body->result_count; i++)
    count_use(v, body->results[i]);
}

Map *core_uses(const Body *body) {
  CoreVisitor v = { .atom = count_use, .body = count_uses, .state = map_new(NULL) };
  count_uses(&v, body);
  return v.state;
}

bool core_is_made_of(const Map *uses, const Var *var, Atom from) {
  if (from.kind != ATOM_VAR || from.u.var->type.rank != var->type.rank) return false;
  for (int d = 0; d < var->type.rank; d++)
    if (!atom_equal(var->type.dims[d], from.u.var->type.dims[d])) return false;
  const int *count = map_get(uses, from.u.var);
  return count && *count == 1;
}
