// Forward mode: statements compute tangents beside values.
//
//   map n (\x -> {x * x}) xs   =>   map n (\x x' -> {x * x, x' * x + x * x'}) xs xs'
//   loop p = a for i < n do e  =>   loop p p' = a a' for i < n do e e'
//   redomap op {ne}            =>   redomap (op, its tangent) {ne, 0}
//
// Needs: binders unique.  Keeps: that; the variables of the original.
#include "core/ad/ad.h"
#include "core/ad/code.h"

typedef struct Forward {
  Compiler *c;
  Builder *b;
  Active active;
  Map *tangents;  // Var -> Atom
} Forward;

// The results of a statement in their new order: values and, of those that are active, tangents.
typedef struct ResultPlace {
  int k;
  bool tangent;
} ResultPlace;
typedef Vec(ResultPlace) Layout;

// ---- tangents

static void set_tangent(Forward *f, const Var *var, Atom tangent) {
  map_put(f->tangents, var, mem_copy(&tangent, sizeof tangent));
}

static Atom tangent_of(Forward *f, Atom a) {
  const Atom *known = a.kind == ATOM_VAR ? map_get(f->tangents, a.u.var) : NULL;
  return known ? *known : ad_zeros(f->b, atom_type(a));
}

static bool is_active(const Forward *f, const Var *var) {
  return ad_is_active(&f->active, atom_var(var));
}

static const Var *new_tangent(Forward *f, const Var *var) {
  const Var *tangent = var_like(f->c, var);
  set_tangent(f, var, atom_var(tangent));
  return tangent;
}

// Appends the tangents of the atoms at which `vars` are active.
static void add_tangents(Forward *f, AtomVec *out, const Var *const *vars,
                         const Atom *atoms, int count) {
  for (int i = 0; i < count; i++)
    if (is_active(f, vars[i])) vec_push(out, tangent_of(f, atoms[i]));
}

static void add_atoms(AtomVec *out, const Atom *atoms, int count) {
  for (int i = 0; i < count; i++)
    vec_push(out, atoms[i]);
}

// The variables, then tangents for those that are active.
static void add_params(Forward *f, VarVec *out, const Var *const *vars, int count) {
  for (int i = 0; i < count; i++)
    vec_push(out, vars[i]);
  for (int i = 0; i < count; i++)
    if (is_active(f, vars[i])) vec_push(out, new_tangent(f, vars[i]));
}

// ---- layouts

static void place(const Forward *f, Layout *l, const Stm *stm, int first, int count) {
  for (int k = first; k < first + count; k++)
    vec_push(l, (ResultPlace){ k, false });
  for (int k = first; k < first + count; k++)
    if (is_active(f, stm->binders[k])) vec_push(l, (ResultPlace){ k, true });
}

static Layout plain_layout(const Forward *f, const Stm *stm) {
  Layout l = { 0 };
  place(f, &l, stm, 0, stm->binder_count);
  return l;
}

static void bind_layout(Forward *f, const Stm *stm, const Layout *l, const Exp *exp) {
  VarVec binders = { 0 };
  vec_each (const ResultPlace *, p, l) {
    const Var *var = stm->binders[p->k];
    vec_push(&binders, p->tangent ? new_tangent(f, var) : var);
  }
  core_add_stm(f->b, (Stm){ binders.at, binders.count, exp, stm->loc, stm->attrs });
}

// ---- bodies

static void forward_stm(Forward *f, const Stm *stm);

static void forward_stms(Forward *f, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    forward_stm(f, &body->stms[i]);
}

static const Body *forward_body(Forward *f, const Body *body, const Layout *l) {
  Builder *outer = f->b, b = builder_new(f->c, f->b->loc);
  f->b = &b;
  forward_stms(f, body);
  AtomVec results = { 0 };
  vec_each (const ResultPlace *, p, l) {
    Atom a = body->results[p->k];
    vec_push(&results, p->tangent ? tangent_of(f, a) : a);
  }
  f->b = outer;
  return core_body(&b, results.at, results.count);
}

// ---- control

static void forward_if(Forward *f, const Stm *stm) {
  const Exp *e = stm->exp;
  Layout l = plain_layout(f, stm);
  const Body *yes = forward_body(f, e->u.cond.then_body, &l);
  const Body *no = forward_body(f, e->u.cond.else_body, &l);
  bind_layout(f, stm, &l, exp_if(e->u.cond.condition, yes, no));
}

static void forward_choose(Forward *f, const Stm *stm) {
  Exp *e = mem_copy(stm->exp, sizeof *stm->exp);
  Layout l = plain_layout(f, stm);
  e->u.choose.first = forward_body(f, e->u.choose.first, &l);
  e->u.choose.second = forward_body(f, e->u.choose.second, &l);
  bind_layout(f, stm, &l, e);
}

static void forward_loop(Forward *f, const Stm *stm) {
  Exp *e = mem_copy(stm->exp, sizeof *stm->exp);
  int count = e->u.loop.param_count;
  const Var *const *params = e->u.loop.params;
  Layout l = plain_layout(f, stm);
  AtomVec inits = { 0 };
  VarVec all = { 0 };
  add_atoms(&inits, e->u.loop.inits, count);
  add_tangents(f, &inits, params, e->u.loop.inits, count);
  add_params(f, &all, params, count);
  e->u.loop.params = all.at;
  e->u.loop.inits = inits.at;
  e->u.loop.param_count = all.count;
  e->u.loop.body = forward_body(f, e->u.loop.body, &l);
  bind_layout(f, stm, &l, e);
}

static void forward_assert(Forward *f, const Stm *stm) {
  Exp *e = mem_copy(stm->exp, sizeof *stm->exp);
  Layout l = plain_layout(f, stm);
  AtomVec atoms = { 0 };
  vec_each (const ResultPlace *, p, &l) {
    Atom a = e->u.assert.atoms[p->k];
    vec_push(&atoms, p->tangent ? tangent_of(f, a) : a);
  }
  e->u.assert.atoms = atoms.at;
  e->u.assert.atom_count = atoms.count;
  bind_layout(f, stm, &l, e);
}

// ---- parallel operators

// The function on elements and their tangents; stores the arrays that it goes through.
static Lambda forward_lambda(Forward *f, const Lambda *fn, const Atom *arrays,
                             const Layout *l, AtomVec *all) {
  VarVec params = { 0 };
  add_atoms(all, arrays, fn->param_count);
  add_tangents(f, all, fn->params, arrays, fn->param_count);
  add_params(f, &params, fn->params, fn->param_count);
  return lambda_new(params.at, params.count, forward_body(f, fn->body, l));
}

// op (a, b) => op (a, a', b, b'), where the first of its values is result `first` of the statement.
static RedOp forward_op(Forward *f, const RedOp *op, const Stm *stm, int first) {
  Layout l = { 0 };
  VarVec params = { 0 };
  AtomVec neutral = { 0 };
  place(f, &l, stm, first, op->count);
  vec_each (ResultPlace *, p, &l)
    p->k -= first;
  add_params(f, &params, op->op.params, op->count);
  add_params(f, &params, op->op.params + op->count, op->count);
  vec_each (const ResultPlace *, p, &l) {
    Atom a = op->neutral[p->k];
    vec_push(&neutral, p->tangent ? tangent_of(f, a) : a);
  }
  const Body *body = forward_body(f, op->op.body, &l);
  return (RedOp){ .op = lambda_new(params.at, params.count, body),
                  .neutral = neutral.at,
                  .count = l.count,
                  .commutative = op->commutative };
}

typedef Vec(RedOp) ForwardOps;

// A sum and its tangent do not need each other; other operators become one on pairs.
static void add_ops(Forward *f, ForwardOps *ops, const RedOp *op, const Stm *stm,
                    int first) {
  PrimOp by;
  bool is_sum = op->count == 1 && ad_is_op(&op->op, &by) && by == OP_ADD;
  if (!is_sum || !is_active(f, stm->binders[first])) {
    vec_push(ops, forward_op(f, op, stm, first));
    return;
  }
  RedOp tangent = *op;
  Atom zero = tangent_of(f, op->neutral[0]);
  tangent.op = core_rename_lambda(f->c, NULL, op->op);
  tangent.neutral = mem_copy(&zero, sizeof zero);
  vec_push(ops, *op);
  vec_push(ops, tangent);
}

static void forward_soac(Forward *f, const Stm *stm) {
  Soac soac = stm->exp->u.soac;
  Layout l = { 0 };
  ForwardOps ops = { 0 };
  int at = 0;
  for (int i = 0; i < soac.op_count; i++) {
    place(f, &l, stm, at, soac.ops[i].count);
    add_ops(f, &ops, &soac.ops[i], stm, at);
    at += soac.ops[i].count;
  }
  place(f, &l, stm, at, stm->binder_count - at);
  AtomVec arrays = { 0 };
  soac.fn = forward_lambda(f, &soac.fn, soac.arrays, &l, &arrays);
  soac.arrays = arrays.at;
  soac.array_count = arrays.count;
  soac.ops = ops.at;
  soac.op_count = ops.count;
  bind_layout(f, stm, &l, exp_soac(stm->exp->kind, soac));
}

static void place_dest(Layout *results, int first, int index_count, int value) {
  for (int i = 0; i < index_count; i++)
    vec_push(results, (ResultPlace){ first + i, false });
  vec_push(results, (ResultPlace){ first + index_count, value });
}

static void forward_scatter(Forward *f, const Stm *stm) {
  Exp *e = mem_copy(stm->exp, sizeof *stm->exp);
  Layout binders = { 0 }, results = { 0 };
  Vec(ScatterDest) dests = { 0 };
  int first = 0;
  for (int i = 0; i < e->u.scatter.dest_count; i++) {
    ScatterDest dest = e->u.scatter.dests[i];
    for (int tangent = 0; tangent < 2; tangent++) {
      if (tangent && !is_active(f, stm->binders[i])) continue;
      Atom to = tangent ? tangent_of(f, dest.dest) : dest.dest;
      vec_push(&dests,
               (ScatterDest){ to, dest.index_count, dest.covered, dest.inside, false });
      vec_push(&binders, (ResultPlace){ i, tangent });
      place_dest(&results, first, dest.index_count, tangent);
    }
    first += dest.index_count + 1;
  }
  AtomVec arrays = { 0 };
  e->u.scatter.fn =
      forward_lambda(f, &e->u.scatter.fn, e->u.scatter.arrays, &results, &arrays);
  e->u.scatter.arrays = arrays.at;
  e->u.scatter.array_count = arrays.count;
  e->u.scatter.dests = dests.at;
  e->u.scatter.dest_count = dests.count;
  bind_layout(f, stm, &binders, e);
}

static HistOp forward_hist_op(Forward *f, const HistOp *hist, const Stm *stm, int first) {
  HistOp out = { .width = hist->width, .op = forward_op(f, &hist->op, stm, first) };
  AtomVec dests = { 0 };
  add_atoms(&dests, hist->dests, hist->op.count);
  add_tangents(f, &dests, stm->binders + first, hist->dests, hist->op.count);
  out.dests = dests.at;
  return out;
}

// The function returns the indices of all histograms, then the values.
static void forward_hist(Forward *f, const Stm *stm) {
  Exp *e = mem_copy(stm->exp, sizeof *stm->exp);
  Layout binders = { 0 }, results = { 0 };
  int count = e->u.hist.op_count, at = 0;
  HistOp *ops = new_array(HistOp, count);
  for (int i = 0; i < count; i++) {
    ops[i] = forward_hist_op(f, &e->u.hist.ops[i], stm, at);
    place(f, &binders, stm, at, e->u.hist.ops[i].op.count);
    at += e->u.hist.ops[i].op.count;
    vec_push(&results, (ResultPlace){ i, false });
  }
  vec_each (const ResultPlace *, p, &binders)
    vec_push(&results, (ResultPlace){ count + p->k, p->tangent });
  AtomVec arrays = { 0 };
  e->u.hist.fn = forward_lambda(f, &e->u.hist.fn, e->u.hist.arrays, &results, &arrays);
  e->u.hist.arrays = arrays.at;
  e->u.hist.array_count = arrays.count;
  e->u.hist.ops = ops;
  bind_layout(f, stm, &binders, e);
}

// ---- one result

static Atom operation_tangent(Forward *f, const Stm *stm) {
  const Exp *e = stm->exp;
  Atom y = atom_var(stm->binders[0]), sum = ad_number(y.u.var->type.elem, 0);
  bool any = false;
  for (int i = 0; i < op_arity(e->u.op.op); i++) {
    Atom x = e->u.op.args[i];
    if (!ad_is_active(&f->active, x) || !ad_has_partial(e->u.op.op, i)) continue;
    Atom part = ad_partial(f->b, e, y, i, tangent_of(f, x));
    sum = any ? ad_op2(f->b, OP_ADD, sum, part) : part;
    any = true;
  }
  return sum;
}

static const Atom *tangents_of(Forward *f, const Atom *atoms, int count) {
  Atom *out = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    out[i] = tangent_of(f, atoms[i]);
  return out;
}

// What moves values about moves their tangents likewise; NULL for other expressions.
static const Exp *moved(Forward *f, const Exp *exp) {
  Exp *e = mem_copy(exp, sizeof *exp);
  switch (e->kind) {
  case EXP_ATOM:
  case EXP_COPY: e->u.atom.atom = tangent_of(f, e->u.atom.atom); return e;
  case EXP_CONVERT: e->u.convert.atom = tangent_of(f, e->u.convert.atom); return e;
  case EXP_INDEX: e->u.index.array = tangent_of(f, e->u.index.array); return e;
  case EXP_UPDATE:
    e->u.update.array = tangent_of(f, e->u.update.array);
    e->u.update.value = tangent_of(f, e->u.update.value);
    return e;
  case EXP_REPLICATE:
    e->u.replicate.value = tangent_of(f, e->u.replicate.value);
    return e;
  case EXP_REARRANGE:
    e->u.rearrange.array = tangent_of(f, e->u.rearrange.array);
    return e;
  case EXP_RESHAPE: e->u.reshape.array = tangent_of(f, e->u.reshape.array); return e;
  case EXP_ROTATE: e->u.rotate.array = tangent_of(f, e->u.rotate.array); return e;
  case EXP_CONCAT:
    e->u.concat.arrays = tangents_of(f, e->u.concat.arrays, e->u.concat.array_count);
    return e;
  case EXP_ARRAY:
    e->u.array.atoms = tangents_of(f, e->u.array.atoms, e->u.array.count);
    return e;
  case EXP_OP:
  case EXP_BITS:
  case EXP_IOTA:
  case EXP_ASSERT:
  case EXP_IF:
  case EXP_LOOP:
  case EXP_CALL:
  case EXP_CHOOSE:
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_SCATTER:
  case EXP_HIST:
  case EXP_FILTER:
  case EXP_SEG:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_GUARD: return NULL;
  }
  return NULL;
}

static void forward_single(Forward *f, const Stm *stm) {
  core_add_stm(f->b, *stm);
  const Var *var = stm->binders[0];
  const Exp *tangent = moved(f, stm->exp);
  if (!tangent) {
    set_tangent(f, var, operation_tangent(f, stm));
    return;
  }
  const Var **binder = new_array(const Var *, 1);
  binder[0] = new_tangent(f, var);
  core_let_vars(f->b, binder, 1, tangent);
}

// ---- statements

static bool has_tangents(const Forward *f, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (is_active(f, stm->binders[i])) return true;
  return false;
}

static void dispatch(Forward *f, const Stm *stm) {
  switch (stm->exp->kind) {
  case EXP_IF: forward_if(f, stm); return;
  case EXP_CHOOSE: forward_choose(f, stm); return;
  case EXP_LOOP: forward_loop(f, stm); return;
  case EXP_ASSERT: forward_assert(f, stm); return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_FILTER: forward_soac(f, stm); return;
  case EXP_SCATTER: forward_scatter(f, stm); return;
  case EXP_HIST: forward_hist(f, stm); return;
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
  case EXP_ARRAY: forward_single(f, stm); return;
  case EXP_CALL:
  case EXP_SEG:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_GUARD: bug(f->c, stm->loc, "a derivative of what should not be here");
  }
}

static void forward_stm(Forward *f, const Stm *stm) {
  Loc loc = f->b->loc;
  f->b->loc = stm->loc;
  if (has_tangents(f, stm))
    dispatch(f, stm);
  else
    core_add_stm(f->b, *stm);
  f->b->loc = loc;
}

void ad_forward(Builder *b, const AdFunction *fn, const Atom *seeds, Atom *tangents) {
  Forward f = { .c = b->c, .b = b, .active = { map_new(NULL), fn->ints, fn->floats } };
  f.tangents = map_new(NULL);
  for (int i = 0; i < fn->input_count; i++) {
    ad_activate(&f.active, fn->inputs[i]);
    set_tangent(&f, fn->inputs[i], seeds[i]);
  }
  ad_find_active(&f.active, fn->body);
  forward_stms(&f, fn->body);
  for (int i = 0; i < fn->body->result_count; i++)
    tangents[i] = tangent_of(&f, fn->body->results[i]);
}
