// May what a scalar is computed from fail?  Its definitions are followed up to parameters and
// elements of arrays: an array that nothing needs is not made, whatever fails in making it.
#include "core/simplify.h"

static void find_failure(CoreVisitor *v, const Body *body) {
  bool *found = v->state;
  for (int i = 0; i < body->stm_count && !*found; i++)
    *found = exp_may_fail(body->stms[i].exp);
  if (!*found) core_visit_body(v, body);
}

static bool bodies_may_fail(const Exp *e) {
  bool found = false;
  CoreVisitor v = { .body = find_failure, .state = &found };
  core_visit_exp(&v, e);
  return found;
}

enum { MOST_LOOKED_AT = 32 };  // definitions, for one answer

static bool definition_may_fail(const Simplify *s, Atom a, int *left);

static bool any_may_fail(const Simplify *s, const Atom *atoms, int count, int *left) {
  for (int i = 0; i < count; i++)
    if (definition_may_fail(s, atoms[i], left)) return true;
  return false;
}

static bool position_may_fail(const Simplify *s, const Exp *e, int *left) {
  for (int i = 0; i < e->u.index.dim_count; i++)
    if (definition_may_fail(s, e->u.index.dims[i].start, left)) return true;
  return false;
}

static bool definition_may_fail(const Simplify *s, Atom a, int *left) {
  const Exp *e = simplify_origin(s, a);
  if (!e) return false;
  if (--*left < 0 || exp_may_fail(e) || bodies_may_fail(e)) return true;
  if (e->kind == EXP_OP) return any_may_fail(s, e->u.op.args, op_arity(e->u.op.op), left);
  if (e->kind == EXP_CONVERT || e->kind == EXP_BITS)
    return definition_may_fail(s, e->u.convert.atom, left);
  if (e->kind == EXP_INDEX) return position_may_fail(s, e, left);
  return e->kind == EXP_IF && definition_may_fail(s, e->u.cond.condition, left);
}

bool simplify_may_fail(const Simplify *s, Atom a) {
  int left = MOST_LOOKED_AT;
  return definition_may_fail(s, a, &left);
}
