// \(a, b) (c, d) -> {f a c, g b d}  =>  f, and g: operators side by side as operators of their own
#include "core/op_parts.h"
#include "base/map.h"

typedef struct Partition {
  const RedOp *op;
  Map *defs;   // Var -> Stm of the operator's body
  int *group;  // of each component, that of its least one
  int now;     // whose operands are looked for
  Map *seen;
} Partition;

static void join_groups(Partition *p, int a, int b) {
  int from = p->group[a] > p->group[b] ? p->group[a] : p->group[b];
  int to = p->group[a] > p->group[b] ? p->group[b] : p->group[a];
  for (int i = 0; i < p->op->count; i++)
    if (p->group[i] == from) p->group[i] = to;
}

// Components whose values the atom depends on are in the group of the component at hand.
static void find_operands(Partition *p, Atom a) {
  if (a.kind != ATOM_VAR || map_has(p->seen, a.u.var)) return;
  map_put(p->seen, a.u.var, a.u.var);
  int at = lambda_param_index(&p->op->op, a);
  if (at >= 0) join_groups(p, p->now, at % p->op->count);
  const Stm *def = map_get(p->defs, a.u.var);
  if (!def) return;
  VarVec free = core_free_exp(def->exp);
  vec_each (const Var **, v, &free)
    find_operands(p, atom_var(*v));
}

static void note_defs(Partition *p, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      map_put(p->defs, body->stms[i].binders[k], &body->stms[i]);
}

static bool is_needed(const Partition *p, const Stm *stm) {
  for (int k = 0; k < stm->binder_count; k++)
    if (map_has(p->seen, stm->binders[k])) return true;
  return false;
}

// The operator of the components whose group is `group`.
static OpPart part_of(Partition *p, int group) {
  const RedOp *op = p->op;
  int count = 0;
  OpPart part = { .op = *op, .at = new_array(int, op->count) };
  p->seen = map_new(NULL);
  for (int i = 0; i < op->count; i++) {
    if (p->group[i] != group) continue;
    p->now = i;
    find_operands(p, op->op.body->results[i]);
    part.at[count++] = i;
  }
  const Var **params = new_array(const Var *, 2 * count);
  Atom *neutral = new_array(Atom, count), *results = new_array(Atom, count);
  Vec(Stm) stms = { 0 };
  for (int i = 0; i < count; i++) {
    params[i] = op->op.params[part.at[i]];
    params[count + i] = op->op.params[op->count + part.at[i]];
    neutral[i] = op->neutral[part.at[i]];
    results[i] = op->op.body->results[part.at[i]];
  }
  for (int i = 0; i < op->op.body->stm_count; i++)
    if (is_needed(p, &op->op.body->stms[i])) vec_push(&stms, op->op.body->stms[i]);
  const Body *body = new_node(Body, .stms = stms.at, .stm_count = stms.count,
                              .results = results, .result_count = count);
  part.op.count = count;
  part.op.neutral = neutral;
  part.op.op = lambda_new(params, 2 * count, body);
  return part;
}

OpParts op_parts(const RedOp *op) {
  Partition p = { .op = op, .defs = map_new(NULL), .group = new_array(int, op->count) };
  OpParts parts = { 0 };
  note_defs(&p, op->op.body);
  for (int i = 0; i < op->count; i++)
    p.group[i] = i;
  for (int i = 0; i < op->count; i++) {
    p.now = i;
    p.seen = map_new(NULL);
    find_operands(&p, op->op.body->results[i]);
  }
  for (int i = 0; i < op->count; i++)
    if (p.group[i] == i) vec_push(&parts, part_of(&p, i));
  return parts;
}
