// The checker of Core and Flat: scopes here, types in core_check_exp.c and core_check_soac.c.
// Linear in the size of the program, as it runs after every pass.
#include "core/core_check.h"
#include <stdio.h>

static void print_statement(const Stm *stm) {
  Body body = { .stms = stm, .stm_count = 1 };
  Text *t = text_new();
  core_print_body(t, &body);
  fprintf(stderr, "%s\n", text_str(t));
}

void check_that(const CoreCheck *ck, bool right, const char *what) {
  if (right) return;
  if (ck->stm) print_statement(ck->stm);
  Loc nowhere = { 0 };
  bug(ck->c, ck->stm ? ck->stm->loc : nowhere, "%s", what);
}

// The text of a message is only built when it is needed: this runs for every atom.
void check_scalar(const CoreCheck *ck, Atom a, PrimType type, const char *what) {
  CoreType got = atom_type(a);
  if (got.rank == 0 && got.elem == type) return;
  check_that(ck, false,
             text_format("%s must be a scalar of type %s", what, prim_type_name(type)));
}

void check_same_size(const CoreCheck *ck, Atom got, Atom wanted, const char *what) {
  bool differ =
      got.kind == ATOM_CONST && wanted.kind == ATOM_CONST && !atom_equal(got, wanted);
  if (differ)
    check_that(ck, false, text_format("%s has a size that cannot be right", what));
}

static const char *core_type_text(CoreType type) {
  Text *t = text_new();
  core_print_type(t, type);
  return text_str(t);
}

void check_same_type(const CoreCheck *ck, CoreType got, CoreType wanted,
                     const char *what) {
  if (got.elem != wanted.elem || got.rank != wanted.rank) {
    check_that(ck, false,
               text_format("%s has type %s instead of %s", what, core_type_text(got),
                           core_type_text(wanted)));
  }
  for (int i = 0; i < got.rank; i++)
    check_same_size(ck, got.dims[i], wanted.dims[i], what);
}

// ---- scopes

static CheckScope *scope_new(void) { return new_node(CheckScope, .active = true); }

static void bind(CoreCheck *ck, CheckScope *scope, const Var *var) {
  if (map_has(ck->scopes, var)) {
    check_that(ck, false, text_format("%s_%d is bound twice", var->name, var->id));
  }
  map_put(ck->scopes, var, scope);
}

static void check_var(const CoreCheck *ck, const Var *var) {
  const CheckScope *scope = map_get(ck->scopes, var);
  if (scope && scope->active) return;
  check_that(ck, false,
             text_format("%s_%d is used where it is not bound", var->name, var->id));
}

static void check_atom(const CoreCheck *ck, Atom a) {
  if (a.kind == ATOM_VAR) check_var(ck, a.u.var);
}

static void check_sizes(const CoreCheck *ck, CoreType type) {
  for (int i = 0; i < type.rank; i++) {
    check_atom(ck, type.dims[i]);
    check_scalar(ck, type.dims[i], PRIM_I64, "a size");
  }
}

static void see_atom(CoreVisitor *v, Atom a) { check_atom(v->state, a); }

static void visit_binder(CoreVisitor *v, const Var *var) {
  CoreCheck *ck = v->state;
  check_sizes(ck, var->type);
  bind(ck, ck->parameters, var);
}

static void check_binders(CoreCheck *ck, const Stm *stm) {
  check_that(ck, exp_result_count(stm->exp) == stm->binder_count,
             "wrong number of binders");
  for (int i = 0; i < stm->binder_count; i++)
    bind(ck, ck->body, stm->binders[i]);
  for (int i = 0; i < stm->binder_count; i++)
    check_sizes(ck, stm->binders[i]->type);
  int count;
  const CoreType *types = exp_types(ck->c, stm->exp, stm->binders, &count);
  for (int i = 0; i < count; i++) {
    check_same_type(ck, stm->binders[i]->type, types[i], "a binder");
  }
}

static void see_body(CoreVisitor *v, const Body *body);

static void check_stm(CoreCheck *ck, const Stm *stm) {
  CoreVisitor v = { see_atom, see_body, visit_binder, ck };
  CheckScope *outer = ck->parameters;
  ck->parameters = scope_new();
  ck->stm = stm;
  core_visit_exp(&v, stm->exp);
  ck->parameters = outer;
  ck->stm = stm;
  check_exp_of(ck, stm->exp);
  check_binders(ck, stm);
}

static void check_statements(CoreCheck *ck, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    check_stm(ck, &body->stms[i]);
  for (int i = 0; i < body->result_count; i++)
    check_atom(ck, body->results[i]);
}

// The parameters bound since the last body belong to this one and end with it.
static void see_body(CoreVisitor *v, const Body *body) {
  CoreCheck *ck = v->state;
  const Stm *outer_stm = ck->stm;
  CheckScope *outer = ck->body;
  CheckScope *parameters = ck->parameters;
  ck->body = scope_new();
  check_statements(ck, body);
  ck->body->active = false;
  ck->body = outer;
  parameters->active = false;
  ck->parameters = scope_new();
  ck->stm = outer_stm;
}

// ---- programs

static void bind_params(CoreCheck *ck, const Var *const *params, int count) {
  ck->stm = NULL;
  ck->parameters = scope_new();
  for (int i = 0; i < count; i++) {
    bind(ck, ck->parameters, params[i]);
    check_sizes(ck, params[i]->type);
  }
}

static void check_whole_body(CoreCheck *ck, const Body *body) {
  CoreVisitor v = { see_atom, see_body, visit_binder, ck };
  see_body(&v, body);
  ck->stm = NULL;
}

static void check_results(CoreCheck *ck, const CoreType *types, const Atom *results,
                          int count) {
  for (int i = 0; i < count; i++) {
    check_same_type(ck, atom_type(results[i]), types[i], "a result of a function");
  }
}

static void check_function(CoreCheck *ck, const Function *f) {
  bind_params(ck, f->params, f->param_count);
  check_whole_body(ck, f->body);
  check_results(ck, f->results, f->body->results, f->body->result_count);
  map_put(ck->functions, f, f);
}

static void check_entry(CoreCheck *ck, const Entry *e) {
  bind_params(ck, e->params, e->param_count);
  for (int i = 0; i < e->size_count; i++) {
    check_scalar(ck, atom_var(e->params[i]), PRIM_I64, "a size parameter");
  }
  check_whole_body(ck, e->body);
  check_that(ck, e->body->result_count == e->size_result_count + e->result_count,
             "an entry point has the wrong number of results");
  for (int i = 0; i < e->size_result_count; i++) {
    check_scalar(ck, e->body->results[i], PRIM_I64, "a size among the results");
  }
  check_results(ck, e->results, e->body->results + e->size_result_count, e->result_count);
}

void core_check(Compiler *c, const Core *core, bool flat) {
  CoreCheck ck = {
    .c = c, .flat = flat, .scopes = map_new(NULL), .functions = map_new(NULL)
  };
  for (int i = 0; i < core->function_count; i++)
    check_function(&ck, core->functions[i]);
  for (int i = 0; i < core->entry_count; i++)
    check_entry(&ck, core->entries[i]);
}
