// Which variables do the results of a body depend on?
//
// Precisely, result by result: the k-th result of an `if` depends on the k-th results of its
// branches, a loop parameter on its initial value and on what the body returns for it, an array
// that a SOAC builds on one result of its function.  So a parameter that only feeds itself is dead.
// Linear: every variable is marked once.
#include "core/dead.h"

typedef enum Role { ROLE_BINDER, ROLE_LOOP_PARAM, ROLE_ELEMENT } Role;

// Where a variable comes from.
typedef struct Origin {
  Role role;
  const Stm *stm;     // ROLE_BINDER
  const Exp *exp;     // ROLE_LOOP_PARAM: the loop
  const Atom *array;  // ROLE_ELEMENT: what the parameter runs over
  int k;              // which binder or parameter
} Origin;

typedef struct Marking {
  Map *origins;  // Var -> Origin
  Map *live;     // Var -> Var
  Map *needed;   // Exp -> Exp: what every result depends on has been marked
  VarVec work;   // live variables whose origins are still to be followed
} Marking;

// ---- origins

static void originate(Marking *m, const Var *var, Origin origin) {
  map_put(m->origins, var,
          new_node(Origin, .role = origin.role, .stm = origin.stm, .exp = origin.exp,
                   .array = origin.array, .k = origin.k));
}

static void originate_elements(Marking *m, const Lambda *fn, const Atom *arrays) {
  for (int i = 0; i < fn->param_count; i++) {
    originate(m, fn->params[i], (Origin){ .role = ROLE_ELEMENT, .array = &arrays[i] });
  }
}

static void originate_params(Marking *m, const Exp *e) {
  if (e->kind == EXP_LOOP) {
    for (int k = 0; k < e->u.loop.param_count; k++) {
      originate(m, e->u.loop.params[k],
                (Origin){ .role = ROLE_LOOP_PARAM, .exp = e, .k = k });
    }
  } else if (e->kind == EXP_SCATTER) {
    originate_elements(m, &e->u.scatter.fn, e->u.scatter.arrays);
  } else if (e->kind == EXP_HIST) {
    originate_elements(m, &e->u.hist.fn, e->u.hist.arrays);
  } else if (exp_is_soac(e)) {
    originate_elements(m, &e->u.soac.fn, e->u.soac.arrays);
  }
}

static void collect(CoreVisitor *v, const Body *body) {
  Marking *m = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    for (int k = 0; k < stm->binder_count; k++) {
      originate(m, stm->binders[k], (Origin){ .role = ROLE_BINDER, .stm = stm, .k = k });
    }
    originate_params(m, stm->exp);
    core_visit_exp(v, stm->exp);
  }
}

// ---- marking

static void mark(Marking *m, Atom a) {
  if (a.kind == ATOM_CONST || map_has(m->live, a.u.var)) return;
  map_put(m->live, a.u.var, a.u.var);
  vec_push(&m->work, a.u.var);
}

static void mark_all(Marking *m, const Atom *atoms, int count) {
  for (int i = 0; i < count; i++)
    mark(m, atoms[i]);
}

static void mark_type(Marking *m, CoreType type) { mark_all(m, type.dims, type.rank); }

static void mark_atom(CoreVisitor *v, Atom a) { mark(v->state, a); }

// Types of parameters matter only where the parameters are used, but operators are taken whole.
static void mark_lambda(Marking *m, const Lambda *fn) {
  for (int i = 0; i < fn->param_count; i++)
    mark_type(m, fn->params[i]->type);
  mark_all(m, fn->body->results, fn->body->result_count);
}

static void mark_op(Marking *m, const RedOp *op) {
  mark_all(m, op->neutral, op->count);
  mark_lambda(m, &op->op);
}

static void mark_branches(Marking *m, const Body *first, const Body *second, int k) {
  mark(m, first->results[k]);
  mark(m, second->results[k]);
}

// Result k belongs to an operator, with all the values that it combines, or is a mapped one.
static void mark_combined(Marking *m, const RedOp *ops, int op_count, const Body *body,
                          int k) {
  int first = 0;
  for (int i = 0; i < op_count; i++) {
    if (k < first + ops[i].count) {
      mark_op(m, &ops[i]);
      mark_all(m, &body->results[first], ops[i].count);
      return;
    }
    first += ops[i].count;
  }
  mark(m, body->results[k]);
}

static void mark_dest(Marking *m, const ScatterDest *dests, const Body *body, int k) {
  int first = 0;
  for (int i = 0; i < k; i++)
    first += dests[i].index_count + 1;
  mark(m, dests[k].dest);
  mark_all(m, &body->results[first], dests[k].index_count + 1);
}

static void mark_hist(Marking *m, const HistOp *hists, int count, const Body *body,
                      int k) {
  bool wanted = false;
  for (int i = 0, value = count, result = 0; i < count; value += hists[i++].op.count) {
    const HistOp *hist = &hists[i];
    if (!hist->chained) {
      wanted = result <= k && k < result + hist->op.count;
      result += hist->op.count;
    }
    if (!wanted) continue;
    mark_all(m, hist->dests, hist->op.count);
    mark(m, hist->width);
    mark_op(m, &hist->op);
    mark(m, body->results[i]);
    mark_all(m, &body->results[value], hist->op.count);
  }
}

static void mark_seg_result(Marking *m, const SegOp *seg, int k) {
  switch (seg->kind) {
  case SEG_MAP:
  case SEG_RED:
  case SEG_SCAN: mark_combined(m, seg->ops, seg->op_count, seg->body, k); return;
  case SEG_HIST: mark_hist(m, seg->hists, seg->hist_count, seg->body, k); return;
  case SEG_SCATTER: mark_dest(m, seg->dests, seg->body, k); return;
  }
}

// Marks what result k, and it alone, depends on.
static void mark_result(Marking *m, const Exp *e, int k) {
  switch (e->kind) {
  case EXP_ASSERT: mark(m, e->u.assert.atoms[k]); return;
  case EXP_IF: mark_branches(m, e->u.cond.then_body, e->u.cond.else_body, k); return;
  case EXP_LOOP: mark(m, atom_var(e->u.loop.params[k])); return;
  case EXP_CHOOSE: mark_branches(m, e->u.choose.first, e->u.choose.second, k); return;
  case EXP_GUARD: mark_branches(m, e->u.guard.then_body, e->u.guard.else_body, k); return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_FILTER:
    mark_combined(m, e->u.soac.ops, e->u.soac.op_count, e->u.soac.fn.body, k);
    return;
  case EXP_SCATTER: mark_dest(m, e->u.scatter.dests, e->u.scatter.fn.body, k); return;
  case EXP_HIST:
    mark_hist(m, e->u.hist.ops, e->u.hist.op_count, e->u.hist.fn.body, k);
    return;
  case EXP_SEG: mark_seg_result(m, e->u.seg, k); return;
  case EXP_ATOM:
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS:
  case EXP_INDEX:
  case EXP_UPDATE:
  case EXP_IOTA:
  case EXP_REPLICATE:
  case EXP_REARRANGE:
  case EXP_RESHAPE:
  case EXP_CONCAT:
  case EXP_ROTATE:
  case EXP_COPY:
  case EXP_ARRAY:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_CALL: return;
  }
}

static void mark_loop(Marking *m, const Exp *e) {
  if (e->u.loop.form == CORE_FOR) {
    mark(m, e->u.loop.bound);
  } else {
    mark(m, atom_var(e->u.loop.params[e->u.loop.while_param]));
  }
}

static void mark_size(Marking *m, const SizeExp *e) {
  if (!e) return;
  if (e->kind == SIZE_EXP_ATOM) {
    mark(m, e->atom);
    return;
  }
  mark_size(m, e->a);
  mark_size(m, e->b);
}

static void mark_space(Marking *m, const SegOp *seg) {
  for (int i = 0; i < seg->dim_count; i++)
    mark(m, seg->dims[i].width);
}

static void mark_filter(Marking *m, const Soac *soac) {
  mark(m, soac->width);
  mark(m, soac->fn.body->results[0]);
}

// Marks what all results of an expression depend on.
static void mark_exp(Marking *m, const Exp *e) {
  CoreVisitor v = { .atom = mark_atom, .state = m };
  switch (e->kind) {
  case EXP_ASSERT:
    mark(m, e->u.assert.condition);
    mark_all(m, e->u.assert.values, e->u.assert.value_count);
    return;
  case EXP_IF: mark(m, e->u.cond.condition); return;
  case EXP_LOOP: mark_loop(m, e); return;
  case EXP_CHOOSE:
    if (e->u.choose.by_size) mark(m, e->u.choose.size);
    return;
  case EXP_GUARD:
    mark_size(m, e->u.guard.guard->par);
    mark_size(m, e->u.guard.guard->local_bytes);
    mark_size(m, e->u.guard.guard->step);
    return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP: mark(m, e->u.soac.width); return;
  case EXP_FILTER: mark_filter(m, &e->u.soac); return;
  case EXP_SCATTER: mark(m, e->u.scatter.width); return;
  case EXP_HIST: mark(m, e->u.hist.width); return;
  case EXP_SEG: mark_space(m, e->u.seg); return;
  case EXP_ATOM:
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS:
  case EXP_INDEX:
  case EXP_UPDATE:
  case EXP_IOTA:
  case EXP_REPLICATE:
  case EXP_REARRANGE:
  case EXP_RESHAPE:
  case EXP_CONCAT:
  case EXP_ROTATE:
  case EXP_COPY:
  case EXP_ARRAY:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_CALL: core_visit_exp(&v, e); return;
  }
}

// Of results that are kept or dropped together the types are needed together, too.
static void mark_once(Marking *m, const Stm *stm) {
  if (map_has(m->needed, stm->exp)) return;
  map_put(m->needed, stm->exp, stm->exp);
  mark_exp(m, stm->exp);
  if (!exp_has_joint_results(stm->exp)) return;
  for (int i = 0; i < stm->binder_count; i++)
    mark_type(m, stm->binders[i]->type);
}

static void follow_binder(Marking *m, const Stm *stm, int k) {
  mark_once(m, stm);
  mark_result(m, stm->exp, k);
}

static void follow(Marking *m, const Var *var) {
  mark_type(m, var->type);
  const Origin *o = map_get(m->origins, var);
  if (!o) return;  // a parameter of the whole body, of an operator, or an index
  switch (o->role) {
  case ROLE_BINDER: follow_binder(m, o->stm, o->k); return;
  case ROLE_LOOP_PARAM:
    mark(m, o->exp->u.loop.inits[o->k]);
    mark(m, o->exp->u.loop.body->results[o->k]);
    return;
  case ROLE_ELEMENT: mark(m, *o->array); return;
  }
}

const Map *dead_live(const Body *body) {
  Marking m = { .origins = map_new(NULL),
                .live = map_new(NULL),
                .needed = map_new(NULL) };
  CoreVisitor v = { .body = collect, .state = &m };
  collect(&v, body);
  mark_all(&m, body->results, body->result_count);
  while (m.work.count)
    follow(&m, m.work.at[--m.work.count]);
  return m.live;
}
