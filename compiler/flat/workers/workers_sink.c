// let xs = gather ..  let ys = if Par(..) >= t then {.. xs ..} else {..}
//   =>  let ys = if Par(..) >= t then {let xs = gather ..  .. xs ..} else {..}
//
// Needs: Flat.   Keeps: one binding per name.   Why: what only some of several versions read whole
// (a loop in one item, say) is not moved for the others.  All workers take the same version; other
// branches may differ by rank, unless `alike` has their conditions.
#include "flat/workers/workers.h"

typedef struct SinkState {
  Compiler *c;
  const Map *alike;  // conditions that are the same for all workers
} SinkState;

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
static int only_reader(const Stm *stms, int count, int at, const Var *var,
                       const Body *body) {
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

// Do all workers take the same of its branches?
static bool is_taken_alike(const Exp *exp, const Map *alike) {
  if (exp->kind == EXP_GUARD) return true;
  return exp->kind == EXP_IF && exp->u.cond.condition.kind == ATOM_VAR &&
         map_has(alike, exp->u.cond.condition.u.var);
}

enum { BRANCHES = 2 };

static void branches_of(Exp *exp, const Body **out[BRANCHES]) {
  bool guard = exp->kind == EXP_GUARD;
  out[0] = guard ? &exp->u.guard.then_body : &exp->u.cond.then_body;
  out[1] = guard ? &exp->u.guard.else_body : &exp->u.cond.else_body;
}

static bool some_branch_spares(const Exp *exp, const Var *var, const Map *alike);

// Is there a way through such branches that does not read it?
static bool spares(const Body *body, const Var *var, const Map *alike) {
  if (!body_mentions(body, var)) return true;
  int reader = only_reader(body->stms, body->stm_count, -1, var, body);
  return reader >= 0 && some_branch_spares(body->stms[reader].exp, var, alike);
}

static bool some_branch_spares(const Exp *exp, const Var *var, const Map *alike) {
  if (!is_taken_alike(exp, alike)) return false;
  Exp copy = *exp;
  const Body **branches[BRANCHES];
  branches_of(&copy, branches);
  return spares(*branches[0], var, alike) || spares(*branches[1], var, alike);
}

// The gather, then the branch, which has a name of its own for it.
static const Body *branch_with(Compiler *c, const Stm *gather, const Body *branch) {
  Builder b = builder_new(c, gather->loc);
  Subst *subst = subst_new();
  Stm own = *gather;
  const Var *var = var_like(c, gather->binders[0]);
  own.binders = mem_copy(&var, sizeof var);
  subst_put(subst, gather->binders[0], atom_var(var));
  core_add_stm(&b, own);
  branch = core_subst_body(c, subst, branch);
  core_add_body(&b, branch);
  return core_body(&b, branch->results, branch->result_count);
}

// Moves the gather into the branches that read it, if one does not.
static void sink(const SinkState *s, Stm *gather, Stm *reader) {
  const Var *var = gather->binders[0];
  if (!some_branch_spares(reader->exp, var, s->alike)) return;
  Exp *out = mem_copy(reader->exp, sizeof *reader->exp);
  const Body **branches[BRANCHES];
  branches_of(out, branches);
  for (int i = 0; i < BRANCHES; i++)
    if (body_mentions(*branches[i], var))
      *branches[i] = branch_with(s->c, gather, *branches[i]);
  reader->exp = out;
  gather->exp = NULL;
}

static const Body *sink_in_body(CoreMapper *m, const Body *body) {
  const SinkState *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  Stm *stms = mem_copy(body->stms, sizeof *stms * (size_t)body->stm_count);
  for (int i = body->stm_count - 1; i >= 0; i--) {
    if (stms[i].exp->kind != EXP_GATHER) continue;
    int reader = only_reader(stms, body->stm_count, i, stms[i].binders[0], body);
    if (reader >= 0) sink(s, &stms[i], &stms[reader]);
  }
  for (int i = 0; i < body->stm_count; i++) {
    if (!stms[i].exp) continue;
    stms[i].exp = core_map_exp(m, stms[i].exp);
    core_add_stm(&b, stms[i]);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *spread_sink(Compiler *c, const Body *body, const Map *alike) {
  SinkState s = { c, alike };
  CoreMapper m = { .body = sink_in_body, .state = &s };
  return sink_in_body(&m, body);
}
