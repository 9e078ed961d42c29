#include "core/failing.h"

typedef struct FailSearch {
  const Map *failing;
  bool found;
} FailSearch;

// An atom of any depth; those of outer bodies are known, what a body binds fails in it.
static void find_failing_atom(CoreVisitor *v, Atom a) {
  FailSearch *s = v->state;
  s->found = s->found || failing_has(s->failing, a);
}

static void find_failing_body(CoreVisitor *v, const Body *body) {
  FailSearch *s = v->state;
  for (int i = 0; i < body->stm_count && !s->found; i++)
    s->found = exp_may_fail(body->stms[i].exp);
  if (!s->found) core_visit_body(v, body);
}

bool failing_within(const Exp *e) {
  FailSearch s = { map_new(NULL), false };
  CoreVisitor v = { .body = find_failing_body, .state = &s };
  core_visit_exp(&v, e);
  return s.found;
}

void failing_note(Map *failing, const Stm *stm) {
  FailSearch s = { failing, exp_may_fail(stm->exp) };
  CoreVisitor v = { .atom = find_failing_atom, .body = find_failing_body, .state = &s };
  if (!s.found) core_visit_exp(&v, stm->exp);
  for (int i = 0; i < stm->binder_count && s.found; i++)
    map_put(failing, stm->binders[i], stm->binders[i]);
}

bool failing_has(const Map *failing, Atom a) {
  return a.kind == ATOM_VAR && map_has(failing, a.u.var);
}
