// let xs = gather ..  let ys = if Par(..) >= t then {.. xs ..} else {..}
//   =>  let ys = if Par(..) >= t then {let xs = gather ..  .. xs ..} else {..}
//
// Needs: Flat.   Keeps: one binding per name.   Why: what only one of several versions reads whole
// (a loop in one item, say) is not moved for the others.  All workers take the same version; other
// branches may differ by rank.
#include "flat/workers.h"

static bool mentions(const Exp *exp, const Var *var) {
  VarVec used = core_free_exp(exp);
  vec_each (const Var **, each, &used)
    if (*each == var) return true;
  return false;
}

static bool body_mentions(const Body *body, const Var *var) {
  VarVec used = core_free_body(body);
  vec_each (const Var **, each, &used)
    if (*each == var) return true;
  return false;
}

// The only statement behind number `at` that mentions what that binds; -1 if there are others.
static int only_reader(const Stm *stms, int count, int at, const Body *body) {
  const Var *var = stms[at].binders[0];
  int found = -1;
  for (int i = 0; i < body->result_count; i++)
    if (body->results[i].kind == ATOM_VAR && body->results[i].u.var == var) return -1;
  for (int i = at + 1; i < count; i++) {
    if (!stms[i].exp || !mentions(stms[i].exp, var)) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

// Moves the gather into the branch that reads it, if there is one.
static void sink(Compiler *c, Stm *gather, Stm *reader) {
  if (reader->exp->kind != EXP_GUARD) return;
  Exp *out = mem_copy(reader->exp, sizeof *reader->exp);
  bool first = body_mentions(out->u.guard.then_body, gather->binders[0]);
  if (first == body_mentions(out->u.guard.else_body, gather->binders[0])) return;
  const Body **branch = first ? &out->u.guard.then_body : &out->u.guard.else_body;
  Builder b = builder_new(c, gather->loc);
  core_add_stm(&b, *gather);
  core_add_body(&b, *branch);
  *branch = core_body(&b, (*branch)->results, (*branch)->result_count);
  reader->exp = out;
  gather->exp = NULL;
}

static const Body *sink_in_body(CoreMapper *m, const Body *body) {
  Compiler *c = m->state;
  Builder b = builder_new(c, (Loc){ 0 });
  Stm *stms = mem_copy(body->stms, sizeof *stms * (size_t)body->stm_count);
  for (int i = body->stm_count - 1; i >= 0; i--) {
    if (stms[i].exp->kind != EXP_GATHER) continue;
    int reader = only_reader(stms, body->stm_count, i, body);
    if (reader >= 0) sink(c, &stms[i], &stms[reader]);
  }
  for (int i = 0; i < body->stm_count; i++) {
    if (!stms[i].exp) continue;
    stms[i].exp = core_map_exp(m, stms[i].exp);
    core_add_stm(&b, stms[i]);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *spread_sink(Compiler *c, const Body *body) {
  CoreMapper m = { .body = sink_in_body, .state = c };
  return sink_in_body(&m, body);
}
