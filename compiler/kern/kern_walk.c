// The recursion over kernels, once: looking (each), rewriting (map), copying (rename).
#include "kern/kern.h"
#include <string.h>

// ---- blocks of a statement

static void push_ops(KernBlockVec *out, const KernOp *ops, int count) {
  for (int i = 0; i < count; i++)
    vec_push(out, ops[i].block);
}

static void push_axis(KernBlockVec *out, const Axis *axis) {
  vec_push(out, axis->body);
  if (axis->after) vec_push(out, axis->after);
  push_ops(out, axis->ops, axis->op_count);
  for (int i = 0; i < axis->hist_count; i++)
    push_ops(out, &axis->hists[i].op, 1);
}

KernBlockVec kern_blocks(const KernStm *stm) {
  KernBlockVec out = { 0 };
  switch (stm->kind) {
  case KERN_AXIS: push_axis(&out, stm->u.axis); break;
  case KERN_IF:
    vec_push(&out, stm->u.cond.then_block);
    vec_push(&out, stm->u.cond.else_block);
    break;
  case KERN_WHILE: vec_push(&out, stm->u.loop.body); break;
  case KERN_LET:
  case KERN_LOAD:
  case KERN_STORE:
  case KERN_ALLOC:
  case KERN_ROOM:
  case KERN_CALL:
  case KERN_CHECK: break;
  }
  return out;
}

// ---- looking

static void visit_term(KernVisitor *v, const Term *term) {
  if (v->term && term) v->term(v, term);
}

static void visit_terms(KernVisitor *v, const Term *const *terms, int count) {
  for (int i = 0; terms && i < count; i++)
    visit_term(v, terms[i]);
}

static void visit_binders(KernVisitor *v, const Var *const *vars, int count) {
  for (int i = 0; v->binder && i < count; i++)
    v->binder(v, vars[i]);
}

static void visit_access(KernVisitor *v, Access access, int indices, bool stores) {
  if (v->access) v->access(v, access, stores);
  visit_terms(v, access.index, indices);
}

static void visit_op(KernVisitor *v, const KernOp *op) {
  visit_terms(v, op->neutral, op->count);
  visit_binders(v, op->params, 2 * op->count);
  kern_visit_block(v, op->block);
}

// Which bin it is, no term tells: visitors find a number that no axis changes.
static Access with_bin(Access bins) {
  int indices = bins.tensor->rank - 1;
  const Term **index = new_array(const Term *, indices + 1);
  for (int i = 0; i < indices; i++)
    index[i] = bins.index[i];
  index[indices] = term_i64(0);
  return (Access){ bins.tensor, index };
}

static void visit_hist(KernVisitor *v, const KernHist *hist) {
  visit_term(v, hist->width);
  for (int i = 0; i < hist->op.count; i++) {
    int indices = hist->dests[i].tensor->rank - 1;
    visit_access(v, with_bin(hist->dests[i]), indices, false);
    visit_access(v, with_bin(hist->dests[i]), indices, true);
  }
  visit_op(v, &hist->op);
}

static void visit_axis(KernVisitor *v, const Axis *axis) {
  visit_term(v, axis->width);
  visit_terms(v, axis->inits, axis->params ? axis->param_count : kern_sum_count(axis));
  v->depth++;
  visit_binders(v, &axis->index, 1);
  visit_binders(v, axis->params, axis->param_count);
  kern_visit_block(v, axis->body);
  for (int i = 0; i < axis->op_count; i++)
    visit_op(v, &axis->ops[i]);
  for (int i = 0; i < axis->hist_count; i++)
    visit_hist(v, &axis->hists[i]);
  if (axis->after) {
    visit_binders(v, axis->sums, kern_sum_count(axis));
    kern_visit_block(v, axis->after);
  }
  v->depth--;
}

static void visit_while(KernVisitor *v, const KernStm *stm) {
  visit_terms(v, stm->u.loop.inits, stm->u.loop.param_count);
  v->depth++;
  visit_binders(v, stm->u.loop.params, stm->u.loop.param_count);
  kern_visit_block(v, stm->u.loop.body);
  v->depth--;
}

static void visit_check(KernVisitor *v, const KernStm *stm) {
  visit_term(v, stm->u.check.condition);
  visit_terms(v, stm->u.check.values, stm->u.check.value_count);
}

static void visit_parts(KernVisitor *v, const KernStm *stm) {
  switch (stm->kind) {
  case KERN_LET: visit_term(v, stm->u.term); return;
  case KERN_LOAD: visit_access(v, stm->u.load, stm->u.load.tensor->rank, false); return;
  case KERN_STORE:
    visit_access(v, stm->u.store.to, stm->u.store.to.tensor->rank, true);
    visit_term(v, stm->u.store.value);
    return;
  case KERN_ALLOC: visit_terms(v, stm->u.tensor->dims, stm->u.tensor->rank); return;
  case KERN_ROOM: visit_term(v, stm->u.room.count); return;
  case KERN_AXIS: visit_axis(v, stm->u.axis); return;
  case KERN_IF:
    visit_term(v, stm->u.cond.condition);
    kern_visit_block(v, stm->u.cond.then_block);
    kern_visit_block(v, stm->u.cond.else_block);
    return;
  case KERN_WHILE: visit_while(v, stm); return;
  case KERN_CALL: visit_terms(v, stm->u.call.args, stm->u.call.arg_count); return;
  case KERN_CHECK: visit_check(v, stm); return;
  }
}

void kern_visit_stm(KernVisitor *v, const KernStm *stm) {
  if (v->stm) v->stm(v, stm);
  visit_parts(v, stm);
  visit_binders(v, stm->binders, stm->binder_count);
}

void kern_visit_block(KernVisitor *v, const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    kern_visit_stm(v, &block->stms[i]);
  visit_terms(v, block->results, block->result_count);
}

// ---- rewriting
//
// What stays as it is is shared with what it comes from.

static const Term *map_term(KernMapper *m, const Term *term) {
  return m->term && term ? m->term(m, term) : term;
}

static const Term *const *map_terms(KernMapper *m, const Term *const *terms, int count) {
  if (!terms || !m->term) return terms;
  const Term **out = NULL;
  for (int i = 0; i < count; i++) {
    const Term *term = m->term(m, terms[i]);
    if (term == terms[i]) continue;
    if (!out) out = mem_copy(terms, sizeof(Term *) * (size_t)count);
    out[i] = term;
  }
  return out ? out : terms;
}

const Term *const *kern_map_results(KernMapper *m, const KernBlock *block) {
  return map_terms(m, block->results, block->result_count);
}

const KernBlock *kern_map_block(KernMapper *m, const KernBlock *block) {
  KernStm *stms = NULL;
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    if (memcmp(&stm, &block->stms[i], sizeof stm) == 0) continue;
    if (!stms) stms = mem_copy(block->stms, sizeof *stms * (size_t)block->count);
    stms[i] = stm;
  }
  const Term *const *results = kern_map_results(m, block);
  if (!stms && results == block->results) return block;
  KernBlock *out = mem_copy(block, sizeof *block);
  if (stms) out->stms = stms;
  out->results = results;
  return out;
}

static const Var *const *map_binders(KernMapper *m, const Var *const *vars, int count) {
  if (!vars || !m->binder) return vars;
  const Var **out = new_array(const Var *, count + 1);
  for (int i = 0; i < count; i++)
    out[i] = m->binder(m, vars[i]);
  return out;
}

static const KernBlock *map_block(KernMapper *m, const KernBlock *block) {
  return block && m->block ? m->block(m, block) : block;
}

static Access map_access(KernMapper *m, Access access, int indices) {
  const Tensor *tensor = m->tensor ? m->tensor(m, access.tensor) : access.tensor;
  return (Access){ tensor, map_terms(m, access.index, indices) };
}

static KernOp map_op(KernMapper *m, KernOp op) {
  op.neutral = map_terms(m, op.neutral, op.count);
  op.params = map_binders(m, op.params, 2 * op.count);
  op.block = map_block(m, op.block);
  return op;
}

static const KernOp *map_ops(KernMapper *m, const KernOp *ops, int count) {
  KernOp *out = NULL;
  for (int i = 0; i < count; i++) {
    KernOp op = map_op(m, ops[i]);
    if (memcmp(&op, &ops[i], sizeof op) == 0) continue;
    if (!out) out = mem_copy(ops, sizeof *ops * (size_t)count);
    out[i] = op;
  }
  return out ? out : ops;
}

static const KernHist *map_hists(KernMapper *m, const KernHist *hists, int count) {
  if (!count) return hists;
  KernHist *out = new_array(KernHist, count + 1);
  for (int i = 0; i < count; i++) {
    Access *dests = new_array(Access, hists[i].op.count + 1);
    for (int k = 0; k < hists[i].op.count; k++)
      dests[k] = map_access(m, hists[i].dests[k], hists[i].dests[k].tensor->rank - 1);
    out[i] = (KernHist){ dests, map_term(m, hists[i].width), map_op(m, hists[i].op),
                         hists[i].chained };
  }
  return out;
}

static const Axis *map_axis(KernMapper *m, const Axis *from) {
  Axis axis;
  memcpy(&axis, from, sizeof axis);
  int inits = from->params ? from->param_count : kern_sum_count(from);
  axis.width = map_term(m, from->width);
  axis.inits = map_terms(m, from->inits, inits);
  if (m->binder) axis.index = m->binder(m, from->index);
  axis.params = map_binders(m, from->params, from->param_count);
  axis.body = map_block(m, from->body);
  axis.ops = map_ops(m, from->ops, from->op_count);
  axis.hists = map_hists(m, from->hists, from->hist_count);
  axis.sums = map_binders(m, from->sums, kern_sum_count(from));
  axis.after = map_block(m, from->after);
  return memcmp(&axis, from, sizeof axis) ? mem_copy(&axis, sizeof axis) : from;
}

static void map_while(KernMapper *m, KernStm *stm) {
  stm->u.loop.inits = map_terms(m, stm->u.loop.inits, stm->u.loop.param_count);
  stm->u.loop.params = map_binders(m, stm->u.loop.params, stm->u.loop.param_count);
  stm->u.loop.body = map_block(m, stm->u.loop.body);
}

KernStm kern_map_stm(KernMapper *m, const KernStm *from) {
  KernStm stm = *from;
  switch (from->kind) {
  case KERN_LET: stm.u.term = map_term(m, from->u.term); break;
  case KERN_LOAD:
    stm.u.load = map_access(m, from->u.load, from->u.load.tensor->rank);
    break;
  case KERN_STORE:
    stm.u.store.to = map_access(m, from->u.store.to, from->u.store.to.tensor->rank);
    stm.u.store.value = map_term(m, from->u.store.value);
    break;
  case KERN_ALLOC:
    if (m->tensor) stm.u.tensor = m->tensor(m, from->u.tensor);
    break;
  case KERN_ROOM:
    if (m->tensor) stm.u.room.tensor = m->tensor(m, from->u.room.tensor);
    stm.u.room.count = map_term(m, from->u.room.count);
    break;
  case KERN_AXIS: stm.u.axis = map_axis(m, from->u.axis); break;
  case KERN_IF:
    stm.u.cond.condition = map_term(m, from->u.cond.condition);
    stm.u.cond.then_block = map_block(m, from->u.cond.then_block);
    stm.u.cond.else_block = map_block(m, from->u.cond.else_block);
    break;
  case KERN_WHILE: map_while(m, &stm); break;
  case KERN_CALL:
    stm.u.call.args = map_terms(m, from->u.call.args, from->u.call.arg_count);
    break;
  case KERN_CHECK:
    stm.u.check.condition = map_term(m, from->u.check.condition);
    stm.u.check.values = map_terms(m, from->u.check.values, from->u.check.value_count);
    break;
  }
  stm.binders = map_binders(m, stm.binders, stm.binder_count);
  return stm;
}

// ---- copying

typedef struct KernRenaming {
  Map *terms;    // Var -> const Term *
  Map *tensors;  // Tensor -> Tensor
} KernRenaming;

static const Term *renamed_var(void *state, const Var *var) {
  KernRenaming *r = state;
  return map_get(r->terms, var);
}

static const Term *rename_term(KernMapper *m, const Term *term) {
  return term_replace(term, renamed_var, m->state);
}

static const Var *rename_binder(KernMapper *m, const Var *var) {
  KernRenaming *r = m->state;
  const Var *copy = var_like(m->c, var);
  map_put(r->terms, var, term_var(copy));
  return copy;
}

static bool dims_change(KernMapper *m, const Tensor *t, const Term **dims) {
  bool changed = false;
  for (int i = 0; i < t->rank; i++) {
    dims[i] = rename_term(m, t->dims[i]);
    changed = changed || dims[i] != t->dims[i];
  }
  return changed;
}

// A tensor of the block itself gets a copy where it is made; views of one follow it.
static const Tensor *rename_tensor(KernMapper *m, const Tensor *t) {
  KernRenaming *r = m->state;
  const Tensor *known = map_get(r->tensors, t);
  if (known) return known;
  const Tensor *of = t->of ? rename_tensor(m, t->of) : NULL;
  const Term **dims = new_array(const Term *, t->rank + 1);
  bool changed = dims_change(m, t, dims) || of != t->of;
  Tensor *copy = mem_copy(t, sizeof *t);
  copy->of = of;
  copy->dims = dims;
  copy->id = m->c->next_id++;
  const Tensor *result = changed ? copy : t;
  map_put(r->tensors, t, result);
  return result;
}

static void fresh_tensor(KernMapper *m, const Tensor *t) {
  KernRenaming *r = m->state;
  const Term **dims = new_array(const Term *, t->rank + 1);
  dims_change(m, t, dims);
  Tensor *copy = mem_copy(t, sizeof *t);
  copy->dims = dims;
  copy->id = m->c->next_id++;
  map_put(r->tensors, t, copy);
}

static const KernBlock *rename_block(KernMapper *m, const KernBlock *block) {
  KernStm *stms = new_array(KernStm, block->count + 1);
  for (int i = 0; i < block->count; i++) {
    if (block->stms[i].kind == KERN_ALLOC) fresh_tensor(m, block->stms[i].u.tensor);
    stms[i] = kern_map_stm(m, &block->stms[i]);
  }
  return new_node(KernBlock, .stms = stms, .count = block->count,
                  .results = map_terms(m, block->results, block->result_count),
                  .result_count = block->result_count);
}

const KernBlock *kern_rename(Compiler *c, const Map *replace, const KernBlock *block) {
  KernRenaming r = { map_new(replace), map_new(NULL) };
  KernMapper m = { .c = c,
                   .term = rename_term,
                   .tensor = rename_tensor,
                   .block = rename_block,
                   .binder = rename_binder,
                   .state = &r };
  const KernBlock *copy = rename_block(&m, block);
  map_clear(r.terms);
  map_clear(r.tensors);
  return copy;
}
