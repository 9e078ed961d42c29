// Which variables depend on the inputs, so that they carry derivatives.  Everything is looked at
// again until nothing is added, as loops and operators pass values on to themselves.
#include "core/ad/ad.h"

typedef struct ActivitySearch {
  Active *active;
  bool changed;
} ActivitySearch;

bool ad_carries(const Active *active, PrimType elem) {
  return (active->ints && prim_is_int(elem)) || (active->floats && prim_is_float(elem));
}

bool ad_is_active(const Active *active, Atom a) {
  return a.kind == ATOM_VAR && map_has(active->vars, a.u.var);
}

void ad_activate(Active *active, const Var *var) {
  if (ad_carries(active, var->type.elem)) map_put(active->vars, var, var);
}

static void mark(ActivitySearch *s, const Var *var, bool depends) {
  if (!depends || !ad_carries(s->active, var->type.elem)) return;
  if (map_has(s->active->vars, var)) return;
  map_put(s->active->vars, var, var);
  s->changed = true;
}

static bool depends(const ActivitySearch *s, Atom a) {
  return ad_is_active(s->active, a);
}

static bool any(const ActivitySearch *s, const Atom *atoms, int count) {
  for (int i = 0; i < count; i++)
    if (depends(s, atoms[i])) return true;
  return false;
}

static void mark_all(ActivitySearch *s, const Var *const *vars, const Atom *from,
                     int count) {
  for (int i = 0; i < count; i++)
    mark(s, vars[i], depends(s, from[i]));
}

// ---- expressions with bodies

static void search_body(ActivitySearch *s, const Body *body);

static void search_branches(ActivitySearch *s, const Stm *stm, const Body *a,
                            const Body *b) {
  search_body(s, a);
  search_body(s, b);
  mark_all(s, stm->binders, a->results, stm->binder_count);
  mark_all(s, stm->binders, b->results, stm->binder_count);
}

static void search_loop(ActivitySearch *s, const Stm *stm) {
  const Exp *e = stm->exp;
  int count = e->u.loop.param_count;
  mark_all(s, e->u.loop.params, e->u.loop.inits, count);
  search_body(s, e->u.loop.body);
  mark_all(s, e->u.loop.params, e->u.loop.body->results, count);
  for (int i = 0; i < count; i++)
    mark(s, stm->binders[i], depends(s, atom_var(e->u.loop.params[i])));
}

static void search_lambda(ActivitySearch *s, const Lambda *fn, const Atom *arrays) {
  mark_all(s, fn->params, arrays, fn->param_count);
  search_body(s, fn->body);
}

// `values` are combined by the operator, into `binders`.
static void search_op(ActivitySearch *s, const RedOp *op, const Atom *values,
                      const Var *const *binders) {
  mark_all(s, op->op.params, values, op->count);
  mark_all(s, op->op.params, op->neutral, op->count);
  search_body(s, op->op.body);
  mark_all(s, op->op.params, op->op.body->results, op->count);
  for (int k = 0; k < op->count; k++) {
    bool active = depends(s, atom_var(op->op.params[k]));
    mark(s, op->op.params[op->count + k], active);
    mark(s, binders[k], active);
  }
}

static void search_soac(ActivitySearch *s, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  const Body *body = soac->fn.body;
  search_lambda(s, &soac->fn, soac->arrays);
  mark_all(s, stm->binders, body->results, stm->binder_count);
  int at = 0;
  for (int i = 0; i < soac->op_count; i++) {
    search_op(s, &soac->ops[i], body->results + at, stm->binders + at);
    at += soac->ops[i].count;
  }
}

static void search_scatter(ActivitySearch *s, const Stm *stm) {
  const Exp *e = stm->exp;
  search_lambda(s, &e->u.scatter.fn, e->u.scatter.arrays);
  int at = 0;
  for (int i = 0; i < e->u.scatter.dest_count; i++) {
    const ScatterDest *dest = &e->u.scatter.dests[i];
    at += dest->index_count;
    Atom both[2] = { dest->dest, e->u.scatter.fn.body->results[at++] };
    mark(s, stm->binders[i], any(s, both, 2));
  }
}

static void search_hist(ActivitySearch *s, const Stm *stm) {
  const Exp *e = stm->exp;
  search_lambda(s, &e->u.hist.fn, e->u.hist.arrays);
  int at = 0;
  for (int i = 0; i < e->u.hist.op_count; i++) {
    const HistOp *hist = &e->u.hist.ops[i];
    mark_all(s, hist->op.op.params, hist->dests, hist->op.count);
    const Atom *values = e->u.hist.fn.body->results + e->u.hist.op_count + at;
    search_op(s, &hist->op, values, stm->binders + at);
    at += hist->op.count;
  }
}

// What the function has from around it is constant, by agreement.
static void search_call(ActivitySearch *s, const Stm *stm) {
  const Lambda *adjoint = stm->exp->u.call.function->adjoint;
  bool active = any(s, stm->exp->u.call.args, adjoint->body->result_count);
  for (int i = 0; i < stm->binder_count; i++)
    mark(s, stm->binders[i], active);
}

// ---- statements

static bool operation_depends(const ActivitySearch *s, const Exp *e) {
  for (int i = 0; i < op_arity(e->u.op.op); i++)
    if (depends(s, e->u.op.args[i])) return true;
  return false;
}

static void search_stm(ActivitySearch *s, const Stm *stm) {
  const Exp *e = stm->exp;
  const Var *var = stm->binders[0];
  switch (e->kind) {
  case EXP_ATOM:
  case EXP_COPY: mark(s, var, depends(s, e->u.atom.atom)); return;
  case EXP_OP: mark(s, var, operation_depends(s, e)); return;
  case EXP_CONVERT: mark(s, var, depends(s, e->u.convert.atom)); return;
  case EXP_INDEX: mark(s, var, depends(s, e->u.index.array)); return;
  case EXP_UPDATE:
    mark(s, var, depends(s, e->u.update.array) || depends(s, e->u.update.value));
    return;
  case EXP_REPLICATE: mark(s, var, depends(s, e->u.replicate.value)); return;
  case EXP_REARRANGE: mark(s, var, depends(s, e->u.rearrange.array)); return;
  case EXP_RESHAPE: mark(s, var, depends(s, e->u.reshape.array)); return;
  case EXP_CONCAT:
    mark(s, var, any(s, e->u.concat.arrays, e->u.concat.array_count));
    return;
  case EXP_ROTATE: mark(s, var, depends(s, e->u.rotate.array)); return;
  case EXP_ARRAY: mark(s, var, any(s, e->u.array.atoms, e->u.array.count)); return;
  case EXP_ASSERT:
    mark_all(s, stm->binders, e->u.assert.atoms, e->u.assert.atom_count);
    return;
  case EXP_IF: search_branches(s, stm, e->u.cond.then_body, e->u.cond.else_body); return;
  case EXP_CHOOSE: search_branches(s, stm, e->u.choose.first, e->u.choose.second); return;
  case EXP_LOOP: search_loop(s, stm); return;
  case EXP_CALL: search_call(s, stm); return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_FILTER: search_soac(s, stm); return;
  case EXP_SCATTER: search_scatter(s, stm); return;
  case EXP_HIST: search_hist(s, stm); return;
  case EXP_BITS:
  case EXP_IOTA:
  case EXP_SEG:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_GUARD: return;
  }
}

static void search_body(ActivitySearch *s, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].binder_count) search_stm(s, &body->stms[i]);
}

void ad_find_active(Active *active, const Body *body) {
  ActivitySearch s = { active, true };
  while (s.changed) {
    s.changed = false;
    search_body(&s, body);
  }
}
