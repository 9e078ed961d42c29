// Core functions as C functions; the same text serves kernels and the host.
//
//   static int32_t julian_day_fn(int32_t x_1) { ... }
//   static void split_fn(uint64_t x_1, uint64_t *result_0, uint64_t *result_1) { ... }
#include "emit/c_vector.h"

const char *emit_function_name(Emit *e, const Function *function) {
  return map_get(e->functions, function);
}

static void function_block(CodeText *c, const ImpBlock *block);

static void function_for(CodeText *c, const ImpStm *stm) {
  const char *i = c_var(c, stm->u.loop.var);
  c_line(c, "for (int64_t %s = 0; %s < %s; %s++) {", i, i, c_bound(c, stm->u.loop.bound),
         i);
  function_block(c, &stm->u.loop.body);
  c_line(c, "}");
}

static void function_if(CodeText *c, const ImpStm *stm) {
  c_line(c, "if (%s) {", c_exp(c, stm->u.cond.condition));
  function_block(c, &stm->u.cond.then_body);
  if (stm->u.cond.else_body.count) {
    c_line(c, "} else {");
    function_block(c, &stm->u.cond.else_body);
  }
  c_line(c, "}");
}

static void function_stm(CodeText *c, const ImpStm *stm) {
  if (stm->kind == IMP_DECLARE && map_has(c->live, stm->u.declare.var))
    emit_declare(c, stm);
  else if (stm->kind == IMP_ASSIGN && map_has(c->live, stm->u.assign.var))
    c_line(c, "%s = %s;", c_var(c, stm->u.assign.var), c_exp(c, stm->u.assign.value));
  else if (stm->kind == IMP_FOR)
    function_for(c, stm);
  else if (stm->kind == IMP_IF)
    function_if(c, stm);
  else if (stm->kind == IMP_CALL)
    emit_call(c, stm);
  else if (stm->kind == IMP_WHILE) {
    c_line(c, "while (%s) {", c_exp(c, stm->u.loop_while.condition));
    function_block(c, &stm->u.loop_while.body);
    c_line(c, "}");
  } else if (stm->kind != IMP_DECLARE && stm->kind != IMP_ASSIGN)
    bug(c->e->c, stm->loc, "statement %d in a scalar function", (int)stm->kind);
}

static void function_block(CodeText *c, const ImpBlock *block) {
  text_indent(c->t, 2);
  vec_each (const ImpStm **, stm, block)
    function_stm(c, *stm);
  text_indent(c->t, -2);
}

void emit_declare(CodeText *c, const ImpStm *stm) {
  const Var *var = stm->u.declare.var;
  int lanes = stm->u.declare.lanes;
  const char *type = lanes ? vector_type(var->type.elem, lanes) : c_type(var->type.elem);
  if (!stm->u.declare.value) {
    c_line(c, lanes ? "%s %s = 0;" : "%s %s;", type, c_var(c, var));
    return;
  }
  const char *value = c_exp(c, stm->u.declare.value);
  c_line(c, "%s %s = %s;", type, c_var(c, var), value);
}

void emit_call(CodeText *c, const ImpStm *stm) {
  Text *t = text_new();
  bool single = stm->u.call.var_count == 1;
  if (single) text_printf(t, "%s = ", c_var(c, stm->u.call.vars[0]));
  text_printf(t, "%s(", emit_function_name(c->e, stm->u.call.function));
  for (int i = 0; i < stm->u.call.arg_count; i++)
    text_printf(t, "%s%s", i ? ", " : "", c_exp(c, stm->u.call.args[i]));
  for (int i = 0; i < stm->u.call.var_count && !single; i++)
    text_printf(t, "%s&%s", i || stm->u.call.arg_count ? ", " : "",
                c_var(c, stm->u.call.vars[i]));
  c_line(c, "%s);", text_str(t));
}

static const char *function_head(CodeText *c, const Function *function) {
  Text *t = text_new();
  bool single = function->result_count == 1;
  text_printf(t, "static __attribute__((unused)) %s %s(",
              single ? c_type(function->results[0].elem) : "void",
              emit_function_name(c->e, function));
  for (int i = 0; i < function->param_count; i++)
    text_printf(t, "%s%s %s", i ? ", " : "", c_type(function->params[i]->type.elem),
                c_var(c, function->params[i]));
  for (int i = 0; i < function->result_count && !single; i++)
    text_printf(t, "%s%s *result_%d", i || function->param_count ? ", " : "",
                c_type(function->results[i].elem), i);
  text_add(t, ") {");
  return text_str(t);
}

// Parameters that are not read would be warned about.
static void unused_params(CodeText *c, const Function *function) {
  for (int i = 0; i < function->param_count; i++)
    if (!map_has(c->live, function->params[i]))
      c_line(c, "(void)%s;", c_var(c, function->params[i]));
}

void emit_function(Emit *e, Text *t, const Function *function, MathUses *math) {
  const ImpFunction *body = imp_lower_function(e->c, function);
  CodeText c = code_text_new(e, t);
  c.math = math;
  c.live = imp_live(&body->body, body->results, function->result_count);
  emit_keep_called(c.live, &body->body);
  c_line(&c, "%s", function_head(&c, function));
  text_indent(t, 2);
  unused_params(&c, function);
  text_indent(t, -2);
  function_block(&c, &body->body);
  text_indent(t, 2);
  for (int i = 0; i < function->result_count && function->result_count != 1; i++)
    c_line(&c, "*result_%d = %s;", i, c_exp(&c, body->results[i]));
  if (function->result_count == 1) c_line(&c, "return %s;", c_exp(&c, body->results[0]));
  c_close(&c);
}

void emit_keep_called(Map *live, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    for (int i = 0; stm->kind == IMP_CALL && i < stm->u.call.var_count; i++)
      map_put(live, stm->u.call.vars[i], stm);
    if (stm->kind == IMP_READ) map_put(live, stm->u.read.var, stm);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      emit_keep_called(live, inner[i]);
  }
}

static void note_host_calls(const ImpBlock *block, Map *called) {
  vec_each (const ImpStm **, at, block) {
    if ((*at)->kind == IMP_CALL) map_put(called, (*at)->u.call.function, *at);
    const ImpBlock *inner[2];
    int count = imp_blocks(*at, inner);
    for (int i = 0; i < count; i++)
      note_host_calls(inner[i], called);
  }
}

void emit_host_functions(Emit *e, Text *t) {
  Map *called = map_new(NULL);
  for (int p = 0; p < PROFILE_COUNT; p++)
    for (int i = 0; i < e->programs[p]->entry_count; i++)
      note_host_calls(&e->programs[p]->entries[i]->body, called);
  if (!map_count(called)) return;
  // A function may call those before it: all up to the last one that the host calls.
  int last = -1;
  for (int i = 0; i < e->flat->function_count; i++)
    if (map_has(called, e->flat->functions[i])) last = i;
  for (int i = 0; i <= last; i++) {
    emit_function(e, t, e->flat->functions[i], NULL);
    text_newline(t);
  }
}
