// let x = 2 + 3  let y = x  in f y  =>  f 5
//
// Folding, copy propagation, algebra, known branches and trip counts, checks that cannot fail:
// the rules stand in simplify_*.c; this file walks.
//
// Needs: Core or Flat, one binding per variable.   Keeps: both.   Why: elaboration writes down
// what the source says, sizes included; all later passes are simpler when they see the rest only.
//
// A program is walked from the top, each statement with what is known about the variables before
// it.  A round makes new opportunities (a branch that is gone frees a result), so there are some.
#include "core/simplify.h"
#include "core/passes.h"

static const char *const no_message[] = { "" };

enum { MAX_ROUNDS = 4, MAX_REWRITES = 16 };

// ---- knowledge

static Known *known_of(const Simplify *s, const Var *var) {
  return map_get(s->known, var);
}

Known *simplify_learn(Simplify *s, const Var *var) {
  Known *k = known_of(s, var);
  if (k) return k;
  k = new_node(Known, .at_least = INT64_MIN);
  map_put(s->known, var, k);
  return k;
}

const Exp *simplify_def(const Simplify *s, Atom a) {
  const Known *k = a.kind == ATOM_VAR ? known_of(s, a.u.var) : NULL;
  return k ? k->exp : NULL;
}

bool simplify_is_outside(const Simplify *s, Atom a, int depth) {
  if (a.kind == ATOM_CONST) return true;
  const Known *k = known_of(s, a.u.var);
  return !k || k->depth < depth;  // nothing is known of the parameters of the whole body
}

// The sizes of a parameter's type are sizes of an array that exists.
static void note_sizes(Simplify *s, CoreType type) {
  for (int i = 0; i < type.rank; i++)
    simplify_assume_at_least(s, type.dims[i], 0);
}

static void note_binding(Simplify *s, const Var *var, const Exp *exp, int depth) {
  Known *k = simplify_learn(s, var);
  k->exp = exp;
  k->depth = depth;
}

static void note_param(Simplify *s, const Var *var) {
  note_binding(s, var, NULL, s->depth + 1);
  note_sizes(s, var->type);
}

// ---- one statement

static const Exp *rewrite_once(Simplify *s, const Exp *exp) {
  const Exp *better = simplify_scalar(s, exp);
  if (!better) better = simplify_array(s, exp);
  if (!better) better = simplify_control(s, exp);
  if (!better) better = simplify_soac(s, exp);
  return better;
}

static const Exp *rewrite(Simplify *s, const Exp *exp) {
  for (int i = 0; i < MAX_REWRITES; i++) {
    const Exp *better = rewrite_once(s, exp);
    if (!better) return exp;
    s->changed = true;
    exp = better;
  }
  return exp;
}

Atom simplify_let(Simplify *s, const char *name, const Exp *exp) {
  exp = rewrite(s, exp);
  if (exp->kind == EXP_ATOM) return exp->u.atom.atom;
  Atom a = core_let(s->builder, name, exp);
  note_binding(s, a.u.var, exp, s->depth);
  failing_note(s->failing, &(Stm){ .binders = &a.u.var, .binder_count = 1, .exp = exp });
  return a;
}

const Exp *simplify_values(const Atom *atoms, int count) {
  if (count == 1) return exp_atom(atoms[0]);
  const Atom *copy = count ? mem_copy(atoms, sizeof *atoms * (size_t)count) : NULL;
  return new_node(Exp, .kind = EXP_ASSERT,
                  .u.assert = { .condition = atom_bool(true),
                                .parts = no_message,
                                .atoms = copy,
                                .atom_count = count });
}

static bool holds(const Exp *exp) {
  return exp->kind == EXP_ASSERT && atom_equal(exp->u.assert.condition, atom_bool(true));
}

Atom simplify_atom(const Simplify *s, Atom a) {
  // A parameter may have become one of another type, before its value was known.
  return subst_atom(s->subst, subst_atom(s->subst, a));
}

static Atom subst(CoreMapper *m, Atom a) { return simplify_atom(m->state, a); }

static const Var *subst_binder(CoreMapper *m, const Var *var) {
  Simplify *s = m->state;
  CoreType type = subst_type(s->subst, var->type);
  if (type.dims == var->type.dims) return var;
  const Var *copy = var_new(s->c, var->name, type, var->loc);
  subst_put(s->subst, var, atom_var(copy));
  return copy;
}

// Fresh variables for the binders whose types change; the types may mention one another.
static void subst_binders(Simplify *s, Stm *stm) {
  const Var **out = new_array(const Var *, stm->binder_count);
  Var **copies = new_array(Var *, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *var = stm->binders[i];
    out[i] = var;
    if (subst_type(s->subst, var->type).dims == var->type.dims) continue;
    out[i] = copies[i] =
        new_node(Var, .name = var->name, .id = s->c->next_id++, .loc = var->loc);
    subst_put(s->subst, var, atom_var(out[i]));
  }
  for (int i = 0; i < stm->binder_count; i++) {
    if (copies[i]) copies[i]->type = subst_type(s->subst, stm->binders[i]->type);
  }
  stm->binders = out;
}

// What passes an assertion keeps its value.
static void note_passed(Simplify *s, const Stm *stm) {
  if (stm->exp->kind != EXP_ASSERT) return;
  for (int i = 0; i < stm->binder_count; i++) {
    Atom from = stm->exp->u.assert.atoms[i], to = atom_var(stm->binders[i]);
    if (!prim_is_signed(stm->binders[i]->type.elem) || stm->binders[i]->type.rank)
      continue;
    int64_t least = simplify_lower(s, from);
    simplify_assume_at_least(s, to, least);
    if (from.kind == ATOM_CONST && least < INT64_MAX)
      simplify_assume_below(s, to, atom_i64(least + 1));
  }
}

static void emit(Simplify *s, Stm stm) {
  subst_binders(s, &stm);
  bool single = stm.binder_count == 1;
  for (int i = 0; i < stm.binder_count; i++)
    note_binding(s, stm.binders[i], single ? stm.exp : NULL, s->depth);
  failing_note(s->failing, &stm);
  note_passed(s, &stm);
  core_add_stm(s->builder, stm);
}

static void substitute_values(Simplify *s, const Stm *stm, const Atom *values) {
  for (int i = 0; i < stm->binder_count; i++)
    subst_put(s->subst, stm->binders[i], values[i]);
  s->changed = true;
}

// ---- bodies

static const Body *simplify_body(CoreMapper *m, const Body *body);

static void note_lambda(Simplify *s, const Lambda *fn) {
  for (int i = 0; i < fn->param_count; i++)
    note_param(s, fn->params[i]);
}

static void note_ops(Simplify *s, const RedOp *ops, int count) {
  for (int i = 0; i < count; i++)
    note_lambda(s, &ops[i].op);
}

// The variable takes the values 0 .. limit - 1 in turn: where it has one, there are some.
static void note_counter(Simplify *s, const Var *var, Atom limit) {
  simplify_assume_at_least(s, limit, 1);
  simplify_assume_at_least(s, atom_var(var), 0);
  simplify_assume_below(s, atom_var(var), limit);
  simplify_learn(s, var)->counts = true;
}

// A parameter that runs over `iota n 0 1` lies below n.
static void note_elements(Simplify *s, const Lambda *fn, const Atom *arrays) {
  for (int i = 0; i < fn->param_count; i++) {
    const Exp *def = simplify_def(s, arrays[i]);
    if (!def || def->kind != EXP_IOTA) continue;
    if (!atom_is_i64(def->u.iota.start, 0) || !atom_is_i64(def->u.iota.step, 1)) continue;
    note_counter(s, fn->params[i], def->u.iota.count);
  }
}

// Where the function is applied there is an element to apply it to.
static void note_fn(Simplify *s, const Lambda *fn, const Atom *arrays, Atom width) {
  simplify_assume_at_least(s, width, 1);
  note_lambda(s, fn);
  note_elements(s, fn, arrays);
}

static void note_loop(Simplify *s, const Exp *exp) {
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    note_binding(s, exp->u.loop.params[i], NULL, s->depth + 1);
  }
  if (exp->u.loop.form == CORE_WHILE) return;
  note_binding(s, exp->u.loop.index, NULL, s->depth + 1);
  note_counter(s, exp->u.loop.index, exp->u.loop.bound);
  simplify_assume_at_least(s, exp->u.loop.bound, 1);
}

static void note_hists(Simplify *s, const HistOp *hists, int count) {
  for (int i = 0; i < count; i++)
    note_ops(s, &hists[i].op, 1);
}

static void note_seg(Simplify *s, const SegOp *seg) {
  note_ops(s, seg->ops, seg->op_count);
  note_hists(s, seg->hists, seg->hist_count);
  for (int i = 0; i < seg->dim_count; i++) {
    note_binding(s, seg->dims[i].index, NULL, s->depth + 1);
    note_counter(s, seg->dims[i].index, seg->dims[i].width);
    simplify_assume_at_least(s, seg->dims[i].width, 1);
  }
}

static void note_scatter(Simplify *s, const Exp *e) {
  note_fn(s, &e->u.scatter.fn, e->u.scatter.arrays, e->u.scatter.width);
}

static void note_hist(Simplify *s, const Exp *e) {
  note_fn(s, &e->u.hist.fn, e->u.hist.arrays, e->u.hist.width);
  note_hists(s, e->u.hist.ops, e->u.hist.op_count);
}

static void note_soac(Simplify *s, const Soac *soac) {
  note_fn(s, &soac->fn, soac->arrays, soac->width);
  note_ops(s, soac->ops, soac->op_count);
}

static void note_inner_params(Simplify *s, const Exp *exp) {
  if (exp->kind == EXP_LOOP) {
    note_loop(s, exp);
  } else if (exp->kind == EXP_SEG) {
    note_seg(s, exp->u.seg);
  } else if (exp->kind == EXP_SCATTER) {
    note_scatter(s, exp);
  } else if (exp->kind == EXP_HIST) {
    note_hist(s, exp);
  } else if (exp_is_soac(exp)) {
    note_soac(s, &exp->u.soac);
  }
}

enum { MOST_LIMITS = 4 };

// What a condition compares is below these; results of its branches may be, too.
typedef struct Compared {
  Atom at[MOST_LIMITS];
  int count;
} Compared;

// What signed results of a branch may be.
typedef struct Extent {
  int64_t low, high;
  unsigned below;  // a bit for each of the limits
} Extent;

static Extent extent_of(const Simplify *s, Atom a, const Compared *limits) {
  bool is_signed = !atom_type(a).rank && prim_is_signed(atom_type(a).elem);
  if (!is_signed) return (Extent){ INT64_MIN, INT64_MAX, 0 };
  Extent out = { simplify_lower(s, a), simplify_upper(s, a), 0 };
  for (int i = 0; i < limits->count; i++)
    if (atom_type(limits->at[i]).elem == atom_type(a).elem &&
        simplify_is_below(s, a, limits->at[i]))
      out.below |= 1u << i;
  return out;
}

// n for the condition i == n - 1 of an i < n.
static Compared limits_of(const Simplify *s, Atom condition) {
  Compared limits = { 0 };
  const Exp *e = simplify_def(s, condition);
  bool compares =
      e && e->kind == EXP_OP && op_arity(e->u.op.op) == 2 && prim_is_signed(e->u.op.type);
  for (int i = 0; compares && i < 2; i++) {
    Atom a = e->u.op.args[i];
    const Known *k = a.kind == ATOM_VAR ? map_get(s->known, a.u.var) : NULL;
    for (const Bound *b = k ? k->below : NULL; b && limits.count < MOST_LIMITS;
         b = b->next)
      if (b->limit.kind == ATOM_VAR) limits.at[limits.count++] = b->limit;
  }
  return limits;
}

// In a branch the condition is known, and what follows from it.
static const Body *simplify_branch(CoreMapper *m, const Body *body, Atom condition,
                                   bool holds, const Compared *limits, Extent *extents) {
  Simplify *s = m->state;
  int mark = simplify_mark(s);
  simplify_assume(s, condition, holds);
  subst_put(s->subst, condition.u.var, atom_bool(holds));
  body = simplify_body(m, body);
  subst_put(s->subst, condition.u.var, condition);
  for (int i = 0; i < body->result_count; i++)
    extents[i] = extent_of(s, body->results[i], limits);
  simplify_forget(s, mark);
  return body;
}

static const Exp *simplify_branches(CoreMapper *m, const Exp *exp,
                                    const Var *const *binders) {
  Atom condition = exp->u.cond.condition;
  if (condition.kind == ATOM_CONST) return core_map_exp(m, exp);
  int count = exp->u.cond.then_body->result_count;
  Extent *a = new_array(Extent, count), *b = new_array(Extent, count);
  Compared limits = limits_of(m->state, condition);
  const Body *then_body =
      simplify_branch(m, exp->u.cond.then_body, condition, true, &limits, a);
  const Body *else_body =
      simplify_branch(m, exp->u.cond.else_body, condition, false, &limits, b);
  for (int i = 0; i < count; i++) {
    int64_t low = a[i].low < b[i].low ? a[i].low : b[i].low;
    int64_t high = a[i].high > b[i].high ? a[i].high : b[i].high;
    simplify_learn_range(m->state, binders[i], low, high);
    for (int k = 0; k < limits.count; k++)
      if (a[i].below & b[i].below & 1u << k)
        simplify_learn_below(m->state, binders[i], limits.at[k]);
  }
  return exp_if_again(exp, then_body, else_body);
}

static const Exp *simplify_bodies(Simplify *s, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (!exp_has_bodies(exp)) return exp;
  CoreMapper m = { .body = simplify_body, .state = s };
  if (exp->kind == EXP_IF) return simplify_branches(&m, exp, stm->binders);
  int mark = simplify_mark(s);
  note_inner_params(s, exp);
  exp = core_map_exp(&m, exp);
  simplify_forget(s, mark);
  return exp;
}

static void simplify_results(Simplify *s, Stm *stm) {
  if (stm->exp->kind == EXP_IF) simplify_if_results(s, stm);
  if (stm->exp->kind == EXP_LOOP) simplify_loop_results(s, stm);
  if (exp_is_soac(stm->exp)) simplify_map_results(s, stm);
}

static void simplify_stm(Simplify *s, const Stm *original) {
  Stm stm = *original;
  s->builder->loc = stm.loc;
  CoreMapper m = { .atom = subst, .binder = subst_binder, .state = s };
  stm.exp = rewrite(s, core_map_exp(&m, stm.exp));
  if (stm.exp->kind == EXP_ATOM) {
    substitute_values(s, &stm, &stm.exp->u.atom.atom);
    return;
  }
  if (holds(stm.exp)) {
    substitute_values(s, &stm, stm.exp->u.assert.atoms);
    return;
  }
  stm.exp = simplify_bodies(s, &stm);
  s->builder->loc = stm.loc;
  simplify_results(s, &stm);
  if (stm.binder_count) emit(s, stm);
}

static Atom *subst_results(const Simplify *s, const Body *body) {
  Atom *results = new_array(Atom, body->result_count);
  for (int i = 0; i < body->result_count; i++) {
    results[i] = simplify_atom(s, body->results[i]);
  }
  return results;
}

const Exp *simplify_inline(Simplify *s, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    simplify_stm(s, &body->stms[i]);
  return simplify_values(subst_results(s, body), body->result_count);
}

static const Body *simplify_body(CoreMapper *m, const Body *body) {
  Simplify *s = m->state;
  Builder *outer = s->builder;
  Builder inner = builder_new(s->c, outer ? outer->loc : (Loc){ 0 });
  s->builder = &inner;
  s->depth++;
  for (int i = 0; i < body->stm_count; i++)
    simplify_stm(s, &body->stms[i]);
  const Body *result = core_body(&inner, subst_results(s, body), body->result_count);
  s->depth--;
  s->builder = outer;
  return result;
}

// ---- results that are dropped

void simplify_result_is(Simplify *s, const Stm *stm, int k, Atom a) {
  subst_put(s->subst, stm->binders[k], a);
  s->changed = true;
}

const Var **simplify_keep_binders(const Stm *stm, const bool *keep, int *count) {
  const Var **out = new_array(const Var *, stm->binder_count);
  *count = 0;
  for (int i = 0; i < stm->binder_count; i++) {
    if (keep[i]) out[(*count)++] = stm->binders[i];
  }
  return out;
}

const Body *simplify_keep_results(const Body *body, const bool *keep) {
  Atom *results = new_array(Atom, body->result_count);
  int count = 0;
  for (int i = 0; i < body->result_count; i++) {
    if (keep[i]) results[count++] = body->results[i];
  }
  return new_node(Body, .stms = body->stms, .stm_count = body->stm_count,
                  .results = results, .result_count = count);
}

// ---- programs

// One round over the body of a function or entry point, whose parameters are what is free in it.
static const Body *simplify_round(Compiler *c, const Body *body, bool *changed) {
  Simplify s = {
    .c = c, .subst = subst_new(), .known = map_new(NULL), .failing = map_new(NULL)
  };
  VarVec params = core_free_body(body);
  for (int i = 0; i < params.count; i++)
    note_sizes(&s, params.at[i]->type);
  CoreMapper m = { .state = &s };
  body = simplify_body(&m, body);
  *changed = s.changed;
  return body;
}

static const Body *simplify_whole(Compiler *c, const Body *body) {
  bool changed = true;
  for (int round = 0; changed && round < MAX_ROUNDS; round++) {
    body = simplify_round(c, body, &changed);
  }
  return body;
}

const Core *simplify(Compiler *c, const Core *core) {
  return dead(c, core_map_bodies(c, dead(c, core), simplify_whole));
}
