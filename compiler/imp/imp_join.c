//        if c { let x = a[i];  rest(x) } else { let y = b[k];  rest(y) }
//   =>   var x;  if c { x = a[i] } else { x = b[k] }  rest(x)
//
// What both branches end with, but for names, stands once behind them, if it is long and needs few
// of the values that the branches have made.  Blocks inside of borders differ from others only in
// what they load; what they compute from it, a scan by a long operator above all, is most of the
// text, and the device's compiler takes time for each line.
#include <string.h>

#include "base/map.h"
#include "imp/imp.h"

enum {
  LEAST_TAIL = 24,  // statements
  MOST_JOINED = 8,  // values
};

typedef struct JoinedBranch {
  const ImpBlock *body;
  Map *own;    // Var: declared in it, not in a block within -> the ImpStm
  Map *pairs;  // Var -> the one of the other branch that stands for the same
} JoinedBranch;

// ---- the same but for names

static JoinedBranch branch_of(const ImpBlock *body) {
  JoinedBranch out = { body, map_new(NULL), map_new(NULL) };
  vec_each (const ImpStm **, stm, body)
    if ((*stm)->kind == IMP_DECLARE) map_put(out.own, (*stm)->u.declare.var, *stm);
  return out;
}

static bool pair_vars(JoinedBranch *a, JoinedBranch *b, const Var *x, const Var *y) {
  bool own = map_has(a->own, x);
  if (own != map_has(b->own, y)) return false;
  if (!own) return x == y;
  if (map_has(a->pairs, x) || map_has(b->pairs, y)) return map_get(a->pairs, x) == y;
  const ImpStm *of_x = map_get(a->own, x), *of_y = map_get(b->own, y);
  if (x->type.elem != y->type.elem || of_x->u.declare.lanes != of_y->u.declare.lanes)
    return false;
  map_put(a->pairs, x, y);
  map_put(b->pairs, y, x);
  return true;
}

static bool same_constant(Prim a, Prim b) {
  return a.type == b.type && memcmp(&a.u, &b.u, sizeof a.u) == 0;
}

// What is in the nodes themselves, but for operands.
static bool same_node(JoinedBranch *a, JoinedBranch *b, const ImpExp *e,
                      const ImpExp *f) {
  ImpExpKind kind = e->kind;
  if (kind != f->kind || e->type != f->type || e->lanes != f->lanes) return false;
  if (kind == IMP_VAR) return pair_vars(a, b, e->u.var, f->u.var);
  if (kind == IMP_CONST) return same_constant(e->u.constant, f->u.constant);
  if (kind == IMP_OP)
    return e->u.op.op == f->u.op.op && e->u.op.operands == f->u.op.operands;
  if (kind == IMP_LOAD) return e->u.load.mem == f->u.load.mem;
  if (kind == IMP_STRIDED)
    return e->u.strided.mem == f->u.strided.mem && e->u.strided.run == f->u.strided.run;
  if (kind == IMP_PERMUTE)
    return memcmp(e->u.permute.from, f->u.permute.from, (size_t)e->lanes) == 0;
  if (kind == IMP_ITEM) return e->u.item == f->u.item;
  if (kind == IMP_TUNING) return e->u.tuning == f->u.tuning;
  return kind != IMP_SHUFFLE || e->u.shuffle.up == f->u.shuffle.up;
}

static bool same_but_for_names(JoinedBranch *a, JoinedBranch *b, const ImpExp *e,
                               const ImpExp *f) {
  if (!e || !f) return e == f;
  if (!same_node(a, b, e, f)) return false;
  const ImpExp *of_e[3], *of_f[3];
  int count = imp_operands(e, of_e);
  if (count != imp_operands(f, of_f)) return false;
  for (int i = 0; i < count; i++)
    if (!same_but_for_names(a, b, of_e[i], of_f[i])) return false;
  return true;
}

static bool same_store(JoinedBranch *a, JoinedBranch *b, const ImpStm *s,
                       const ImpStm *t) {
  return s->u.store.mem == t->u.store.mem && s->u.store.run == t->u.store.run &&
         s->u.store.packed == t->u.store.packed && s->u.store.over == t->u.store.over &&
         same_but_for_names(a, b, s->u.store.index, t->u.store.index) &&
         same_but_for_names(a, b, s->u.store.value, t->u.store.value) &&
         same_but_for_names(a, b, s->u.store.step, t->u.store.step) &&
         same_but_for_names(a, b, s->u.store.mask, t->u.store.mask);
}

static bool same_stm(JoinedBranch *a, JoinedBranch *b, const ImpStm *s, const ImpStm *t) {
  if (s->kind != t->kind) return false;
  if (s->kind == IMP_STORE) return same_store(a, b, s, t);
  if (s->kind == IMP_DECLARE)
    return pair_vars(a, b, s->u.declare.var, t->u.declare.var) &&
           same_but_for_names(a, b, s->u.declare.value, t->u.declare.value);
  return s->kind == IMP_ASSIGN && pair_vars(a, b, s->u.assign.var, t->u.assign.var) &&
         same_but_for_names(a, b, s->u.assign.value, t->u.assign.value);
}

// ---- what is needed of the branches

typedef struct BranchEnd {
  const JoinedBranch *branch;
  Map *declared;  // in the tail
  Map *needed;    // Var of the branch that it has from before
  VarVec order;
} BranchEnd;

static void need_var(BranchEnd *t, const Var *var) {
  if (!map_has(t->branch->own, var) || map_has(t->declared, var) ||
      map_has(t->needed, var))
    return;
  map_put(t->needed, var, t);
  vec_push(&t->order, var);
}

static void want_of_branch(void *state, const ImpExp *e) {
  if (e->kind == IMP_VAR) need_var(state, e->u.var);
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    want_of_branch(state, operands[i]);
}

// What the last `count` statements of the branch have from those before.
static BranchEnd tail_of(const JoinedBranch *branch, int count) {
  BranchEnd t = { .branch = branch, .declared = map_new(NULL), .needed = map_new(NULL) };
  for (int i = branch->body->count - count; i < branch->body->count; i++) {
    const ImpStm *stm = branch->body->at[i];
    imp_each_exp(stm, want_of_branch, &t);
    if (stm->kind == IMP_DECLARE) map_put(t.declared, stm->u.declare.var, branch);
    if (stm->kind == IMP_ASSIGN) need_var(&t, stm->u.assign.var);
  }
  return t;
}

// ---- joining

static const ImpStm *assignment(Loc loc, const Var *var, const ImpExp *value) {
  return new_node(ImpStm, .kind = IMP_ASSIGN, .loc = loc, .u.assign = { var, value });
}

// The branch without its tail: what the tail needs is declared outside.
static ImpBlock head_of(const JoinedBranch *branch, const BranchEnd *tail, int count) {
  ImpBlock out = { 0 };
  for (int i = 0; i < branch->body->count - count; i++) {
    const ImpStm *stm = branch->body->at[i];
    bool needed = stm->kind == IMP_DECLARE && map_has(tail->needed, stm->u.declare.var);
    if (!needed)
      vec_push(&out, stm);
    else if (stm->u.declare.value)
      vec_push(&out, assignment(stm->loc, stm->u.declare.var, stm->u.declare.value));
  }
  return out;
}

static const ImpExp *joined_value(const JoinedBranch *branch, const Var *var) {
  const ImpStm *declared = map_get(branch->own, var);
  return new_node(ImpExp, .kind = IMP_VAR, .type = var->type.elem,
                  .lanes = declared->u.declare.lanes, .u.var = var);
}

static void join_tail(const ImpStm *stm, const JoinedBranch *a, const JoinedBranch *b,
                      int count, ImpBlock *out) {
  BranchEnd tail = tail_of(a, count);
  if (tail.order.count > MOST_JOINED) {
    vec_push(out, stm);
    return;
  }
  BranchEnd none = { .needed = map_new(NULL) };
  ImpStm *branches = mem_copy(stm, sizeof *stm);
  branches->u.cond.then_body = head_of(a, &tail, count);
  branches->u.cond.else_body = head_of(b, &none, count);
  vec_each (const Var **, var, &tail.order) {
    const ImpStm *declared = map_get(a->own, *var);
    vec_push(out, new_node(ImpStm, .kind = IMP_DECLARE, .loc = stm->loc,
                           .u.declare = { *var, NULL, declared->u.declare.lanes }));
    vec_push(&branches->u.cond.else_body,
             assignment(stm->loc, *var, joined_value(b, map_get(a->pairs, *var))));
  }
  vec_push(out, branches);
  for (int i = a->body->count - count; i < a->body->count; i++)
    vec_push(out, a->body->at[i]);
}

static void join_branches(const ImpStm *stm, ImpBlock *out) {
  JoinedBranch a = branch_of(&stm->u.cond.then_body),
               b = branch_of(&stm->u.cond.else_body);
  int least = a.body->count < b.body->count ? a.body->count : b.body->count, count = 0;
  while (count < least && same_stm(&a, &b, a.body->at[a.body->count - 1 - count],
                                   b.body->at[b.body->count - 1 - count]))
    count++;
  if (count >= LEAST_TAIL)
    join_tail(stm, &a, &b, count, out);
  else
    vec_push(out, stm);
}

static ImpBlock join_in(void *state, const ImpBlock *block) {
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = imp_map_blocks(*at, join_in, state);
    if (stm->kind == IMP_IF)
      join_branches(stm, &out);
    else
      vec_push(&out, stm);
  }
  return out;
}

ImpBlock imp_join_branches(const ImpBlock *block) { return join_in(NULL, block); }
