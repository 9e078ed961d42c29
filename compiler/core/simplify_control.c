// Branches and loops.
#include "core/simplify.h"

static bool is_true(Atom a) { return atom_equal(a, atom_bool(true)); }
static bool is_false(Atom a) { return atom_equal(a, atom_bool(false)); }

// ---- branches

// The only result of a body without statements.
static bool is_plain_bool(const Body *body) {
  if (body->stm_count || body->result_count != 1) return false;
  CoreType type = atom_type(body->results[0]);
  return !type.rank && type.elem == PRIM_BOOL;
}

// if c then true else b => c || b   if c then b else false => c && b
// if c then false else true => not c
static const Exp *bool_if(const Simplify *s, const Exp *e) {
  const Body *then_body = e->u.cond.then_body, *else_body = e->u.cond.else_body;
  if (!is_plain_bool(then_body) || !is_plain_bool(else_body)) return NULL;
  Atom condition = e->u.cond.condition;
  Atom a = simplify_atom(s, then_body->results[0]);
  Atom b = simplify_atom(s, else_body->results[0]);
  if (is_true(a)) return exp_op2(OP_LOR, condition, b);
  if (is_false(b)) return exp_op2(OP_LAND, condition, a);
  return is_false(a) && is_true(b) ? exp_op1(OP_NOT, condition) : NULL;
}

// if true then a else b => a
static const Exp *cond(Simplify *s, const Exp *e) {
  if (is_true(e->u.cond.condition)) return simplify_inline(s, e->u.cond.then_body);
  if (is_false(e->u.cond.condition)) return simplify_inline(s, e->u.cond.else_body);
  return bool_if(s, e);
}

static bool same_result(const Simplify *s, const Exp *e, int k) {
  Atom result = e->u.cond.then_body->results[k];
  return atom_equal(result, e->u.cond.else_body->results[k]) &&
         simplify_is_outside(s, result, s->depth + 1);
}

// if c then {x} else {x}, where c may fail
static bool stays_for_failure(const Simplify *s, const Stm *stm) {
  for (int k = 0; k < stm->binder_count; k++)
    if (!same_result(s, stm->exp, k)) return false;
  return failing_has(s->failing, stm->exp->u.cond.condition);
}

// if c then {x, y} else {x, z} => x, and if c then {y} else {z}
void simplify_if_results(Simplify *s, Stm *stm) {
  if (stays_for_failure(s, stm)) return;
  const Exp *e = stm->exp;
  const Body *then_body = e->u.cond.then_body, *else_body = e->u.cond.else_body;
  bool *keep = new_array(bool, stm->binder_count);
  for (int k = 0; k < stm->binder_count; k++) {
    keep[k] = !same_result(s, e, k);
    if (!keep[k]) simplify_result_is(s, stm, k, then_body->results[k]);
  }
  int count;
  const Var **binders = simplify_keep_binders(stm, keep, &count);
  if (count == stm->binder_count) return;
  stm->exp = exp_if_again(e, simplify_keep_results(then_body, keep),
                          simplify_keep_results(else_body, keep));
  stm->binders = binders;
  stm->binder_count = count;
}

// ---- loops

// for i < 0 => the initial values   for i < 1 => the body, once
static const Exp *counted_loop(Simplify *s, const Exp *e) {
  Atom bound = e->u.loop.bound;
  if (bound.kind == ATOM_VAR || !prim_is_signed(bound.u.constant.type)) return NULL;
  int64_t trips = bound.u.constant.u.i;
  if (trips <= 0) return simplify_values(e->u.loop.inits, e->u.loop.param_count);
  if (trips > 1) return NULL;
  for (int i = 0; i < e->u.loop.param_count; i++) {
    subst_put(s->subst, e->u.loop.params[i], e->u.loop.inits[i]);
  }
  subst_put(s->subst, e->u.loop.index, atom_const(prim_zero(bound.u.constant.type)));
  return simplify_inline(s, e->u.loop.body);
}

static const Exp *loop(Simplify *s, const Exp *e) {
  if (e->u.loop.form == CORE_FOR) return counted_loop(s, e);
  if (!is_false(e->u.loop.inits[e->u.loop.while_param])) return NULL;
  return simplify_values(e->u.loop.inits, e->u.loop.param_count);
}

// Is parameter k returned as it came, or always the initial value?
static bool never_changes(const Exp *e, int k) {
  Atom next = e->u.loop.body->results[k];
  bool is_condition = e->u.loop.form == CORE_WHILE && e->u.loop.while_param == k;
  if (is_condition) return false;
  return atom_equal(next, atom_var(e->u.loop.params[k])) ||
         atom_equal(next, e->u.loop.inits[k]);
}

// The loop with only the parameters with keep[k].
static Exp *keep_params(const Exp *e, const bool *keep) {
  Exp *out = mem_copy(e, sizeof *e);
  const Var **params = new_array(const Var *, e->u.loop.param_count);
  Atom *inits = new_array(Atom, e->u.loop.param_count);
  int count = 0;
  for (int k = 0; k < e->u.loop.param_count; k++) {
    if (!keep[k]) continue;
    if (e->u.loop.while_param == k) out->u.loop.while_param = count;
    params[count] = e->u.loop.params[k];
    inits[count++] = e->u.loop.inits[k];
  }
  out->u.loop.params = params;
  out->u.loop.inits = inits;
  out->u.loop.param_count = count;
  out->u.loop.body = simplify_keep_results(e->u.loop.body, keep);
  return out;
}

// loop x = a, y = b do let z = x + y in {x, z} => loop y = b do let z = a + y in {z}; x is a
void simplify_loop_results(Simplify *s, Stm *stm) {
  const Exp *e = stm->exp;
  bool *keep = new_array(bool, stm->binder_count);
  Subst *constant = subst_new();
  for (int k = 0; k < stm->binder_count; k++) {
    keep[k] = !never_changes(e, k);
    if (keep[k]) continue;
    subst_put(constant, e->u.loop.params[k], e->u.loop.inits[k]);
    simplify_result_is(s, stm, k, e->u.loop.inits[k]);
  }
  int count;
  const Var **binders = simplify_keep_binders(stm, keep, &count);
  if (count == stm->binder_count) return;
  stm->exp = core_subst_exp(s->c, constant, keep_params(e, keep));
  stm->binders = binders;
  stm->binder_count = count;
}

const Exp *simplify_control(Simplify *s, const Exp *e) {
  if (e->kind == EXP_IF) return cond(s, e);
  return e->kind == EXP_LOOP ? loop(s, e) : NULL;
}
