// Core and Flat as text, in the notation of the incremental-flattening paper (section 2, Figure 1
// and section 2.1): programs, bodies, statements, types.  Expressions are in core_print_exp.c.
//
// One statement per line; what a statement contains is indented by two columns.  A variable is
// printed as name_id, so that a dump is the same from run to run.
#include "core/core.h"

static void print_var(Text *t, const Var *var) {
  text_printf(t, "%s_%d", var->name, var->id);
}

void core_print_atom(Text *t, Atom a) {
  if (a.kind == ATOM_VAR) {
    print_var(t, a.u.var);
  } else {
    text_add(t, prim_text(a.u.constant));
  }
}

void core_print_size(Text *t, Atom a) {
  if (a.kind == ATOM_CONST && a.u.constant.type == PRIM_I64) {
    text_printf(t, "%lld", (long long)a.u.constant.u.i);
  } else {
    core_print_atom(t, a);
  }
}

void core_print_type(Text *t, CoreType type) {
  for (int i = 0; i < type.rank; i++) {
    text_add(t, "[");
    core_print_size(t, type.dims[i]);
    text_add(t, "]");
  }
  text_add(t, prim_type_name(type.elem));
}

// ---- statements

static void print_flag(Text *t, bool set, const char *word) {
  if (set) text_printf(t, "#[%s] ", word);
}

static void print_attrs(Text *t, const StmAttrs *attrs) {
  print_flag(t, attrs->sequential, "sequential");
  print_flag(t, attrs->sequential_outer, "sequential_outer");
  print_flag(t, attrs->sequential_inner, "sequential_inner");
  print_flag(t, attrs->no_outer, "flattening(no_outer)");
  print_flag(t, attrs->no_intra, "flattening(no_intra)");
  print_flag(t, attrs->only_intra, "flattening(only_intra)");
  print_flag(t, attrs->only_inner, "flattening(only_inner)");
  print_flag(t, attrs->unroll, "unroll");
  print_flag(t, attrs->traced != NULL, "trace");
  print_flag(t, attrs->stops, "break");
  if (attrs->stripmine) text_printf(t, "#[stripmine(%d)] ", attrs->stripmine);
  if (attrs->name) text_printf(t, "#[name(\"%s\")] ", attrs->name);
}

static void print_typed(Text *t, const Var *var, const char *colon) {
  print_var(t, var);
  text_add(t, colon);
  core_print_type(t, var->type);
}

static void print_binders(Text *t, const Stm *stm) {
  if (stm->binder_count == 1) {
    text_add(t, " ");
    print_typed(t, stm->binders[0], " : ");
    return;
  }
  for (int i = 0; i < stm->binder_count; i++) {
    text_add(t, " (");
    print_typed(t, stm->binders[i], " : ");
    text_add(t, ")");
  }
}

// Does the expression contain a body with statements, or several operators?
static bool needs_lines(const Exp *exp) {
  BodyVec bodies = exp_bodies(exp);
  vec_each (const Body **, body, &bodies)
    if ((*body)->stm_count) return true;
  return bodies.count > 2;
}

static void print_stm(Text *t, const Stm *stm) {
  if (stm->attrs) print_attrs(t, stm->attrs);
  text_add(t, "let");
  print_binders(t, stm);
  text_add(t, " =");
  bool lines = needs_lines(stm->exp);
  if (lines) {
    text_indent(t, 2);
    text_newline(t);
  } else {
    text_add(t, " ");
  }
  core_print_exp(t, stm->exp);
  if (lines) text_indent(t, -2);
}

static void print_results(Text *t, const Body *body) {
  text_add(t, "{");
  for (int i = 0; i < body->result_count; i++) {
    if (i) text_add(t, ", ");
    core_print_atom(t, body->results[i]);
  }
  text_add(t, "}");
}

void core_print_body(Text *t, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    print_stm(t, &body->stms[i]);
    text_newline(t);
  }
  if (body->stm_count) text_add(t, "in ");
  print_results(t, body);
}

// ---- programs

static void print_entry_params(Text *t, const Var *const *params, int count) {
  for (int i = 0; i < count; i++) {
    text_add(t, " (");
    print_typed(t, params[i], ": ");
    text_add(t, ")");
  }
}

static void print_result_types(Text *t, const CoreType *types, int count) {
  text_add(t, " : ");
  if (count != 1) text_add(t, "(");
  for (int i = 0; i < count; i++) {
    if (i) text_add(t, ", ");
    core_print_type(t, types[i]);
  }
  if (count != 1) text_add(t, ")");
}

static void print_definition(Text *t, const Body *body) {
  text_add(t, " =");
  text_indent(t, 2);
  text_newline(t);
  core_print_body(t, body);
  text_indent(t, -2);
  text_newline(t);
}

static void print_function(Text *t, const Function *f) {
  text_printf(t, "def %s", f->name);
  print_entry_params(t, f->params, f->param_count);
  print_result_types(t, f->results, f->body->result_count);
  print_definition(t, f->body);
}

// Sizes that only exist at run time are shown as ?[k]. in front of the results that mention them.
static void print_entry(Text *t, const Entry *e) {
  text_printf(t, "entry %s", e->name);
  print_entry_params(t, e->params, e->param_count);
  if (e->size_result_count) text_add(t, " : ");
  for (int i = 0; i < e->size_result_count; i++) {
    text_add(t, "?[");
    print_var(t, e->size_results[i]);
    text_add(t, "].");
  }
  print_result_types(t, e->results, e->result_count);
  print_definition(t, e->body);
}

void core_print(Text *t, const Core *core) {
  for (int i = 0; i < core->function_count; i++) {
    if (i) text_newline(t);
    print_function(t, core->functions[i]);
  }
  for (int i = 0; i < core->entry_count; i++) {
    if (i || core->function_count) text_newline(t);
    print_entry(t, core->entries[i]);
  }
}
