// Taking SOACs apart and putting them together again, for fuse.c.
#include "core/fuse.h"
#include <string.h>

static void push_atoms(AtomVec *to, const Atom *atoms, int count) {
  for (int i = 0; i < count; i++)
    vec_push(to, atoms[i]);
}

static void push_vars(VarVec *to, const Var *const *vars, int count) {
  for (int i = 0; i < count; i++)
    vec_push(to, vars[i]);
}

static void take_lambda(Form *form, const Lambda *fn, int reduced) {
  push_vars(&form->params, fn->params, fn->param_count);
  for (int i = 0; i < fn->body->stm_count; i++)
    vec_push(&form->stms, fn->body->stms[i]);
  push_atoms(&form->reduced, fn->body->results, reduced);
  push_atoms(&form->mapped, fn->body->results + reduced,
             fn->body->result_count - reduced);
  form->nested = core_has_soac(fn->body);
}

static void take_soac(Form *form, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  int reduced = soac_red_count(soac);
  form->width = soac->width;
  push_atoms(&form->arrays, soac->arrays, soac->array_count);
  for (int i = 0; i < soac->op_count; i++)
    vec_push(&form->ops, soac->ops[i]);
  take_lambda(form, &soac->fn, reduced);
  push_vars(&form->reduced_binders, stm->binders, reduced);
  push_vars(&form->mapped_binders, stm->binders + reduced, stm->binder_count - reduced);
}

static void take_scatter(Form *form, const Stm *stm) {
  const Exp *e = stm->exp;
  form->width = e->u.scatter.width;
  push_atoms(&form->arrays, e->u.scatter.arrays, e->u.scatter.array_count);
  take_lambda(form, &e->u.scatter.fn, 0);
  push_vars(&form->mapped_binders, stm->binders, stm->binder_count);
}

static void take_hist(Form *form, const Stm *stm) {
  const Exp *e = stm->exp;
  form->width = e->u.hist.width;
  push_atoms(&form->arrays, e->u.hist.arrays, e->u.hist.array_count);
  for (int i = 0; i < e->u.hist.op_count; i++)
    vec_push(&form->hists, e->u.hist.ops[i]);
  take_lambda(form, &e->u.hist.fn, 0);
  push_vars(&form->mapped_binders, stm->binders, stm->binder_count);
}

Form *form_of(const Stm *stm) {
  if (!exp_is_soac(stm->exp)) return NULL;
  Form *form = new_node(Form, .kind = stm->exp->kind);
  if (form->kind == EXP_SCATTER)
    take_scatter(form, stm);
  else if (form->kind == EXP_HIST)
    take_hist(form, stm);
  else
    take_soac(form, stm);
  return form;
}

const Body *form_body(const Form *form) {
  AtomVec results = { 0 };
  push_atoms(&results, form->reduced.at, form->reduced.count);
  push_atoms(&results, form->mapped.at, form->mapped.count);
  return new_node(Body, .stms = form->stms.at, .stm_count = form->stms.count,
                  .results = results.at, .result_count = results.count);
}

static Lambda form_lambda(const Form *form) {
  return lambda_new(form->params.at, form->params.count, form_body(form));
}

const Exp *form_exp(const Form *form, const Exp *old) {
  Exp e = *old;
  e.kind = form->kind;
  if (form->kind == EXP_SCATTER) {
    e.u.scatter.fn = form_lambda(form);
    e.u.scatter.arrays = form->arrays.at;
    e.u.scatter.array_count = form->arrays.count;
    return mem_copy(&e, sizeof e);
  }
  if (form->kind == EXP_HIST) {
    e.u.hist.fn = form_lambda(form);
    e.u.hist.arrays = form->arrays.at;
    e.u.hist.array_count = form->arrays.count;
    e.u.hist.ops = form->hists.at;
    e.u.hist.op_count = form->hists.count;
    return mem_copy(&e, sizeof e);
  }
  Soac soac = { .width = form->width,
                .fn = form_lambda(form),
                .arrays = form->arrays.at,
                .array_count = form->arrays.count,
                .ops = form->ops.at,
                .op_count = form->ops.count };
  return exp_soac(form->kind, soac);
}

VarVec form_binders(const Form *form) {
  VarVec all = { 0 };
  push_vars(&all, form->reduced_binders.at, form->reduced_binders.count);
  push_vars(&all, form->mapped_binders.at, form->mapped_binders.count);
  return all;
}

int form_mapped_index(const Form *form, const Var *binder) {
  for (int i = 0; i < form->mapped_binders.count; i++)
    if (form->mapped_binders.at[i] == binder) return i;
  return -1;
}
