// loop .. for i < k do let c = .. let x = assert c "[{v}]" {a} ..
//   =>  let (ok, v) = loop (ok = true, v = 0) for i < k do
//         let c = .. in if ok then {c, v} else {ok, v}
//       let k' = assert ok "[{v}]" {k}
//
// Needs: Core; binders unique.  Keeps: both.  Why: what the rounds do may then be done element by
// element, of which there may be none.
#include "core/round_checks.h"

bool round_check_alone(const Exp *loop, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_ASSERT || stm->attrs || loop->u.loop.form != CORE_FOR) return false;
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i]->type.rank > 0) return false;
  for (int i = 0; i < loop->u.loop.param_count; i++)
    if (loop->u.loop.params[i]->type.rank == 0) return false;
  return true;
}

void round_check_passed(Builder *b, const Stm *check) {
  for (int i = 0; i < check->binder_count; i++)
    core_let_vars(b, mem_copy(&check->binders[i], sizeof(const Var *)), 1,
                  exp_atom(check->exp->u.assert.atoms[i]));
}

// The condition and the message's values of the first round that fails, or of the last one.
static const Body *checked_round(Compiler *c, const Exp *loop, const Stm *check,
                                 const Var *const *params) {
  const Exp *e = check->exp;
  int count = e->u.assert.value_count + 1;
  Builder b = builder_new(c, check->loc);
  for (int i = 0; &loop->u.loop.body->stms[i] != check; i++)
    if (loop->u.loop.body->stms[i].binders[0]->type.rank == 0)
      core_add_stm(&b, loop->u.loop.body->stms[i]);
  Atom *now = new_array(Atom, count), *before = new_array(Atom, count),
       *next = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    now[i] = i ? e->u.assert.values[i - 1] : e->u.assert.condition;
    before[i] = atom_var(params[i]);
  }
  Builder yes = builder_new(c, check->loc), no = yes;
  core_let_n(
      &b, "seen",
      exp_if(before[0], core_body(&yes, now, count), core_body(&no, before, count)),
      next);
  return core_body(&b, next, count);
}

void round_checks_before(Builder *b, const Exp *loop, const Stm *check,
                         const Var *bound) {
  const Exp *e = check->exp;
  int count = e->u.assert.value_count + 1;
  const Var **params = new_array(const Var *, count);
  Atom *inits = new_array(Atom, count), *seen = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    PrimType type = i ? atom_type(e->u.assert.values[i - 1]).elem : PRIM_BOOL;
    params[i] =
        var_new(b->c, name_of(b->c->names, "seen"), type_scalar(type), check->loc);
    inits[i] = atom_const(i ? prim_zero(type) : prim_bool(true));
  }
  Exp *rounds = mem_copy(loop, sizeof *loop);
  rounds->u.loop.params = params;
  rounds->u.loop.inits = inits;
  rounds->u.loop.param_count = count;
  rounds->u.loop.body = checked_round(b->c, loop, check, params);
  core_let_n(b, "checked", core_rename_exp(b->c, subst_new(), rounds), seen);
  Exp *all = mem_copy(e, sizeof *e);
  all->u.assert.condition = seen[0];
  all->u.assert.values = seen + 1;
  all->u.assert.atoms = mem_copy(&loop->u.loop.bound, sizeof(Atom));
  all->u.assert.atom_count = 1;
  core_let_vars(b, mem_copy(&bound, sizeof bound), 1, all);
}
