// map m (\x -> .. if b then let s = e in e' else e'') xs
//   =>  let t = if b && 0 < m then e else 0
//       in map m (\x -> .. if b then let s = t in e' else e'') xs
//   where e is a reduction or a loop of scalar results, and neither e nor b reads what differs
//   from x to x
//
// The map may be any other operator, or a loop with a counter; b may be several branches, one in
// the other.
//
// Needs: Core, fused; binders unique.  Keeps: both.
// Why: hoisting leaves what stands in a branch where it is, as nobody may need it.  A sum that
// belongs to a row (`if j < i then q[j, k] else q[j, k] - r[k] * sum (map2 (*) r q[j])`) was made
// anew for each of its elements, m * m products instead of m.
//
// What e and b read of the function's statements goes along, as a copy.  Where something before e
// may fail and does not go along, e stays: what it reads may be checked there.
#include "core/hoist.h"
#include "core/passes.h"

// A body on the way from the operator's function, the outermost, to the statement.
typedef struct GuardFrame {
  const Body *body;
  int at;          // the statement, or the branch around it
  Atom condition;  // of branches: the body runs if it is `taken`
  bool taken;
  const struct GuardFrame *around;  // NULL: the function
} GuardFrame;

typedef struct Guarded {
  Compiler *c;
  Map *varies;  // Var: differs from element to element
  Atom times;   // elements
  Builder *before;
} Guarded;

typedef Vec(Stm) StmSlice;

enum { FEW_ELEMENTS = 2 };  // not worth another kernel

static bool atom_varies(const Guarded *g, Atom a) {
  return a.kind == ATOM_VAR && map_has(g->varies, a.u.var);
}

static bool stm_varies(const Guarded *g, const Stm *stm) {
  VarVec reads = core_free_stm(stm);
  bool found = false;
  vec_each (const Var **, var, &reads)
    found = found || map_has(g->varies, *var);
  return found;
}

static bool fails_anywhere(const Exp *e) {
  if (exp_may_fail(e)) return true;
  BodyVec bodies = exp_bodies(e);
  bool found = false;
  vec_each (const Body **, body, &bodies)
    for (int i = 0; i < (*body)->stm_count; i++)
      found = found || fails_anywhere((*body)->stms[i].exp);
  return found;
}

// ---- what goes along

static void note_needed(Map *needed, const Stm *stm) {
  VarVec reads = core_free_stm(stm);
  vec_each (const Var **, var, &reads)
    map_put(needed, *var, stm);
}

static bool goes_along(const Map *needed, const Stm *stm) {
  bool found = false;
  for (int i = 0; i < stm->binder_count; i++)
    found = found || map_has(needed, stm->binders[i]);
  return found;
}

// The statements of the frame before the current one that are needed, the last first; false if
// something else may fail there.
static bool slice_frame(const GuardFrame *frame, Map *needed, StmSlice *slice) {
  for (int i = frame->at - 1; i >= 0; i--) {
    const Stm *stm = &frame->body->stms[i];
    if (goes_along(needed, stm)) {
      note_needed(needed, stm);
      vec_push(slice, *stm);
    } else if (fails_anywhere(stm->exp))
      return false;
  }
  return true;
}

// Of the function's statements, the last first, those that the condition needs; false if they may
// not stand before the operator.
static bool slice_condition(Atom condition, const StmSlice *slice, StmSlice *out) {
  Map *needed = map_new(NULL);
  if (condition.kind == ATOM_VAR) map_put(needed, condition.u.var, needed);
  for (int i = 0; i < slice->count; i++) {
    const Stm *stm = &slice->at[i];
    if (!goes_along(needed, stm)) continue;
    if (stm->exp->kind == EXP_INDEX || fails_anywhere(stm->exp)) return false;
    note_needed(needed, stm);
    vec_push(out, *stm);
  }
  return true;
}

static void add_slice(Builder *b, const StmSlice *last_first) {
  for (int i = last_first->count - 1; i >= 0; i--)
    core_add_stm(b, last_first->at[i]);
}

// ---- the new statement

static const Body *zeros_like(Guarded *g, const Stm *stm) {
  Builder b = builder_new(g->c, stm->loc);
  Atom *zeros = new_array(Atom, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++)
    zeros[i] = atom_const(prim_zero(stm->binders[i]->type.elem));
  return core_body(&b, zeros, stm->binder_count);
}

static const Exp *if_taken(Guarded *g, const Stm *stm, Atom condition, bool taken,
                           const Body *body) {
  const Body *zeros = zeros_like(g, stm);
  return taken ? exp_if(condition, body, zeros) : exp_if(condition, zeros, body);
}

// Whether the branch is taken for some element.
static Atom taken_at_all(Guarded *g, Builder *b, const GuardFrame *frame) {
  if (g->times.kind == ATOM_CONST) return frame->condition;
  PrimOp op = frame->taken ? OP_LT : OP_LE;
  Atom zero = atom_i64(0), times = g->times;
  Atom runs =
      core_let(b, frame->taken ? "runs" : "idle",
               exp_op2(op, frame->taken ? zero : times, frame->taken ? times : zero));
  return core_let(b, "guard",
                  exp_op2(frame->taken ? OP_LAND : OP_LOR, frame->condition, runs));
}

// let t = e, under its conditions, before the operator; false if it has to stay.
static bool add_guarded(Guarded *g, const GuardFrame *frame, const Stm *stm, Atom *out) {
  Map *needed = map_new(NULL);
  note_needed(needed, stm);
  int count = stm->binder_count;
  Builder b = builder_new(g->c, stm->loc);
  Atom *results = new_array(Atom, count);
  StmSlice slice = { 0 };
  if (!slice_frame(frame, needed, &slice)) return false;
  add_slice(&b, &slice);
  core_let_n(&b, stm->binders[0]->name, stm->exp, results);
  for (; frame->around->around; frame = frame->around) {
    const Exp *e =
        if_taken(g, stm, frame->condition, frame->taken, core_body(&b, results, count));
    if (frame->condition.kind == ATOM_VAR) map_put(needed, frame->condition.u.var, stm);
    slice = (StmSlice){ 0 };
    if (!slice_frame(frame->around, needed, &slice)) return false;
    b = builder_new(g->c, stm->loc);
    add_slice(&b, &slice);
    core_let_n(&b, stm->binders[0]->name, e, results);
  }
  if (frame->condition.kind == ATOM_VAR) map_put(needed, frame->condition.u.var, stm);
  StmSlice first = { 0 }, along = { 0 };
  slice = (StmSlice){ 0 };
  if (!slice_frame(frame->around, needed, &slice)) return false;
  if (!slice_condition(frame->condition, &slice, &first)) return false;
  Builder inner = builder_new(g->c, stm->loc), all = inner;
  vec_each (Stm *, other, &slice) {
    bool before = false;
    vec_each (Stm *, f, &first)
      before = before || f->binders == other->binders;
    if (!before) vec_push(&along, *other);
  }
  add_slice(&inner, &along);
  core_add_body(&inner, core_body(&b, results, count));
  add_slice(&all, &first);
  Atom guard = taken_at_all(g, &all, frame);
  core_let_n(&all, stm->binders[0]->name,
             if_taken(g, stm, guard, frame->taken, core_body(&inner, results, count)),
             out);
  const Body *fresh = core_rename_body(g->c, subst_new(), core_body(&all, out, count));
  core_add_body(g->before, fresh);
  for (int i = 0; i < count; i++)
    out[i] = fresh->results[i];
  return true;
}

// ---- walking

static bool is_costly_scalar(const Stm *stm) {
  if (stm->exp->kind != EXP_REDOMAP && stm->exp->kind != EXP_LOOP) return false;
  bool scalar = stm->binder_count > 0;
  for (int i = 0; i < stm->binder_count; i++)
    scalar = scalar && stm->binders[i]->type.rank == 0;
  return scalar;
}

static const Body *guard_in(Guarded *g, const Body *body, GuardFrame frame);

static const Exp *guard_branches(Guarded *g, const Exp *e, const GuardFrame *around) {
  GuardFrame branch = { .condition = e->u.cond.condition,
                        .taken = true,
                        .around = around };
  const Body *then_body = guard_in(g, e->u.cond.then_body, branch);
  branch.taken = false;
  const Body *else_body = guard_in(g, e->u.cond.else_body, branch);
  bool same = then_body == e->u.cond.then_body && else_body == e->u.cond.else_body;
  return same ? e : exp_if(e->u.cond.condition, then_body, else_body);
}

static const Body *guard_in(Guarded *g, const Body *body, GuardFrame frame) {
  Builder b = builder_new(g->c, (Loc){ 0 });
  bool changed = false;
  frame.body = body;
  for (frame.at = 0; frame.at < body->stm_count; frame.at++) {
    Stm stm = body->stms[frame.at];
    bool differs = stm_varies(g, &stm);
    Atom *out = new_array(Atom, stm.binder_count);
    if (stm.exp->kind == EXP_IF && !atom_varies(g, stm.exp->u.cond.condition))
      stm.exp = guard_branches(g, stm.exp, &frame);
    changed = changed || stm.exp != body->stms[frame.at].exp;
    for (int i = 0; i < stm.binder_count && differs; i++)
      map_put(g->varies, stm.binders[i], g);
    if (frame.around && !differs && is_costly_scalar(&stm) &&
        add_guarded(g, &frame, &stm, out)) {
      for (int i = 0; i < stm.binder_count; i++)
        core_let_vars(&b, &stm.binders[i], 1, exp_atom(out[i]));
      changed = true;
    } else
      core_add_stm(&b, stm);
  }
  return changed ? core_body(&b, body->results, body->result_count) : body;
}

static void note_varying(Guarded *g, const Var *const *vars, int count) {
  for (int i = 0; i < count; i++)
    map_put(g->varies, vars[i], g);
}

static bool is_worth_it(Atom times) {
  return times.kind == ATOM_VAR || times.u.constant.u.i > FEW_ELEMENTS;
}

static const Exp *guard_operator(Compiler *c, Builder *before, const Exp *e) {
  Guarded g = { .c = c, .varies = map_new(NULL), .before = before };
  Exp out = *e;
  if (e->kind == EXP_LOOP && e->u.loop.form == CORE_FOR) {
    g.times = e->u.loop.bound;
    note_varying(&g, e->u.loop.params, e->u.loop.param_count);
    note_varying(&g, &e->u.loop.index, 1);
    if (is_worth_it(g.times))
      out.u.loop.body = guard_in(&g, e->u.loop.body, (GuardFrame){ 0 });
    return out.u.loop.body == e->u.loop.body ? e : mem_copy(&out, sizeof out);
  }
  bool is_soac = e->kind == EXP_MAP || e->kind == EXP_REDOMAP ||
                 e->kind == EXP_SCANOMAP || e->kind == EXP_FILTER;
  if (!is_soac || !is_worth_it(e->u.soac.width)) return e;
  g.times = e->u.soac.width;
  Lambda *fn = &out.u.soac.fn;
  note_varying(&g, fn->params, fn->param_count);
  fn->body = guard_in(&g, fn->body, (GuardFrame){ 0 });
  return fn->body == e->u.soac.fn.body ? e : mem_copy(&out, sizeof out);
}

static const Body *guard_body(CoreMapper *m, const Body *body) {
  Compiler *c = m->state;
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    stm.exp = guard_operator(c, &b, core_map_exp(m, stm.exp));
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *guard_program_body(Compiler *c, const Body *body) {
  CoreMapper m = { .body = guard_body, .state = c };
  return guard_body(&m, body);
}

const Core *hoist_guarded(Compiler *c, const Core *core) {
  return core_map_bodies(c, core, guard_program_body);
}
