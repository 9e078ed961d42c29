// Maps whose functions call the function itself that is being evaluated become loops, as calls come
// one after the other (stack.c).
#include "core/elab/stack.h"

static const Var **copy_vars(const Var *const *vars, int count) {
  return mem_copy(vars, (size_t)count * sizeof *vars);
}

static Atom zeros_like(Elab *e, CoreType type) {
  AtomVec dims = { 0 };
  for (int i = 0; i < type.rank; i++)
    vec_push(&dims, type.dims[i]);
  return elab_zeros(e, type.elem, &dims);
}

static void read_elements(Elab *e, const Soac *soac, Atom index) {
  for (int i = 0; i < soac->array_count; i++)
    core_let_vars(e->b, copy_vars(&soac->fn.params[i], 1), 1,
                  exp_index(soac->arrays[i], &index, 1, false));
}

// The round of the loop that stores what the function gives.
static const Body *round_of_map(Elab *e, const Stack *s, const Soac *soac,
                                const VarVec *arrays, Atom index) {
  Inner inner;
  elab_enter(e, &inner);
  read_elements(e, soac, index);
  const Body *body = stack_without_maps(e, s, soac->fn.body);
  core_add_body(e->b, body);
  AtomVec next = { 0 };
  for (int i = 0; i < arrays->count; i++)
    vec_push(&next, slot_store(e, arrays->at[i], index, body->results[i]));
  elab_leave(e, &inner);
  return core_body(&inner.b, next.at, next.count);
}

static void add_map(Elab *e, const Stack *s, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  VarVec arrays = { 0 };
  AtomVec inits = { 0 };
  for (int i = 0; i < stm->binder_count; i++) {
    vec_push(&arrays, var_like(e->c, stm->binders[i]));
    vec_push(&inits, zeros_like(e, stm->binders[i]->type));
  }
  const Var *index =
      var_new(e->c, name_of(e->c->names, "i"), type_scalar(PRIM_I64), stm->loc);
  const Body *body = round_of_map(e, s, soac, &arrays, atom_var(index));
  const Exp *loop = new_node(Exp, .kind = EXP_LOOP,
                             .u.loop = { .params = arrays.at,
                                         .inits = inits.at,
                                         .param_count = arrays.count,
                                         .form = CORE_FOR,
                                         .index = index,
                                         .bound = soac->width,
                                         .body = body });
  core_let_vars(e->b, copy_vars(stm->binders, stm->binder_count), stm->binder_count,
                loop);
}

static const Exp *without_maps(Elab *e, const Stack *s, const Exp *exp) {
  Exp *copy = mem_copy(exp, sizeof *copy);
  if (exp->kind == EXP_IF) {
    copy->u.cond.then_body = stack_without_maps(e, s, exp->u.cond.then_body);
    copy->u.cond.else_body = stack_without_maps(e, s, exp->u.cond.else_body);
  }
  if (exp->kind == EXP_LOOP)
    copy->u.loop.body = stack_without_maps(e, s, exp->u.loop.body);
  return copy;
}

const Body *stack_without_maps(Elab *e, const Stack *s, const Body *body) {
  Inner inner;
  elab_enter(e, &inner);
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    bool calls = stack_calls(s, stm.exp) && !stack_is_call(s, stm.exp);
    e->b->loc = stm.loc;
    if (calls && stm.exp->kind == EXP_MAP) {
      add_map(e, s, &stm);
      continue;
    }
    if (calls) stm.exp = without_maps(e, s, stm.exp);
    core_add_stm(e->b, stm);
  }
  elab_leave(e, &inner);
  return core_body(&inner.b, body->results, body->result_count);
}
