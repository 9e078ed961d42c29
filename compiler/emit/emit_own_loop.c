// Loops of the host that only compute: they launch nothing and read no array, such as that which
// finds a logarithm.  In a table of host code (emit_script.c) each is a function in C.
#include "emit/emit.h"

bool emit_only_computes(const ImpStm *stm) {
  bool scalar = stm->kind == IMP_DECLARE || stm->kind == IMP_ASSIGN ||
                stm->kind == IMP_CALL || stm->kind == IMP_CHECK ||
                stm->kind == IMP_COMMENT;
  bool inside = stm->kind == IMP_FOR || stm->kind == IMP_WHILE || stm->kind == IMP_IF;
  if (!inside) return scalar;
  const ImpBlock *inner[2];
  int count = imp_blocks(stm, inner);
  for (int i = 0; i < count; i++)
    vec_each (const ImpStm **, at, inner[i])
      if (!emit_only_computes(*at)) return false;
  return true;
}

// ---- the variables of outside

typedef struct OuterVars {
  Map *live, *declared, *mentioned;
  LoopVars found;
} OuterVars;

static void mention(OuterVars *o, const Var *var) {
  if (map_has(o->declared, var) || map_has(o->mentioned, var)) return;
  map_put(o->mentioned, var, var);
  vec_push(&o->found.outer, var);
}

static void mention_in(void *state, const ImpExp *e) {
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  if (e->kind == IMP_VAR) mention(state, e->u.var);
  for (int i = 0; i < count; i++)
    mention_in(state, operands[i]);
}

static void set_var(OuterVars *o, const Var *var) {
  mention(o, var);
  map_put(o->found.set, var, var);
}

static void visit(OuterVars *o, const ImpStm *stm) {
  const Var *declared = stm->kind == IMP_DECLARE ? stm->u.declare.var : NULL,
            *assigned = stm->kind == IMP_ASSIGN ? stm->u.assign.var : NULL;
  const Var *to = declared ? declared : assigned;
  if (to && !map_has(o->live, to)) return;
  imp_each_exp(stm, mention_in, o);
  if (stm->kind == IMP_FOR) declared = stm->u.loop.var;
  if (declared) map_put(o->declared, declared, declared);
  if (assigned) set_var(o, assigned);
  for (int i = 0; stm->kind == IMP_CALL && i < stm->u.call.var_count; i++)
    set_var(o, stm->u.call.vars[i]);
  const ImpBlock *inner[2];
  int count = imp_blocks(stm, inner);
  for (int i = 0; i < count; i++)
    vec_each (const ImpStm **, at, inner[i])
      visit(o, *at);
}

LoopVars emit_loop_vars(const ImpStm *loop, Map *live) {
  OuterVars o = { live, map_new(NULL), map_new(NULL), { .set = map_new(NULL) } };
  visit(&o, loop);
  return o.found;
}
