//        for i < n { if c { let q = a / b; .. } }
//   =>   let q = b != 0 ? a / b : 0; for i < n { if c { .. } }
//
// if a and b are the same in all rounds.
//
// Why: it is computed once.  And LLVM 14 computes a division that is the same in all rounds but
// made under a condition for the first of the rounds that it runs together, whether or not the
// condition holds there: the others then have any number, and load from anywhere.
#include "base/map.h"
#include "imp/imp.h"

typedef struct Lifting {
  Map *varies;   // Var: set or declared in the loop, but for what is lifted
  Map *guarded;  // Var: what is lifted out of inner loops, which may move on
  ImpBlock before;
} Lifting;

static ImpBlock lift_in(void *guarded, const ImpBlock *block);

// ---- what the loop changes

static void see_set(Lifting *l, const ImpStm *stm) {
  if (stm->kind == IMP_DECLARE) map_put(l->varies, stm->u.declare.var, stm);
  if (stm->kind == IMP_ASSIGN) map_put(l->varies, stm->u.assign.var, stm);
  if (stm->kind == IMP_FOR) map_put(l->varies, stm->u.loop.var, stm);
  if (stm->kind == IMP_ATOMIC && stm->u.atomic.result)
    map_put(l->varies, stm->u.atomic.result, stm);
  if (stm->kind == IMP_ATOMIC && stm->u.atomic.old && stm->u.atomic.old->kind == IMP_VAR)
    map_put(l->varies, stm->u.atomic.old->u.var, stm);
  for (int i = 0; stm->kind == IMP_CALL && i < stm->u.call.var_count; i++)
    map_put(l->varies, stm->u.call.vars[i], stm);
}

static void see_all_set(Lifting *l, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    see_set(l, *stm);
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      see_all_set(l, inner[i]);
  }
}

static bool is_same(const Lifting *l, const ImpExp *e) {
  return e->kind == IMP_CONST || (e->kind == IMP_VAR && !map_has(l->varies, e->u.var));
}

// ---- lifting

static bool is_integer_division(const ImpExp *e) {
  if (e->kind != IMP_OP || e->lanes || !prim_is_int(e->type)) return false;
  PrimOp op = e->u.op.op;
  return (op == OP_DIV || op == OP_MOD || op == OP_QUOT || op == OP_REM) &&
         e->u.op.args[1]->kind != IMP_CONST;
}

static const ImpExp *guarded_division(const ImpExp *e) {
  const ImpExp *zero = imp_const(prim_zero(e->type));
  return imp_select(imp_op2(OP_NE, e->u.op.args[1], zero), e, zero);
}

static bool is_assigned(const Lifting *l, const Var *var) {
  const ImpStm *last = map_get(l->varies, var);
  return last && last->kind != IMP_DECLARE;
}

// The division that a statement declares, if it is the same in all rounds; else NULL.
static const ImpExp *division_of(const Lifting *l, const ImpStm *stm) {
  const ImpExp *e = stm->kind == IMP_DECLARE ? stm->u.declare.value : NULL;
  if (!e || is_assigned(l, stm->u.declare.var)) return NULL;
  bool moved = map_has(l->guarded, stm->u.declare.var);
  const ImpExp *division = moved ? e->u.select.a : e;
  if (!is_integer_division(division) || !is_same(l, division->u.op.args[0]) ||
      !is_same(l, division->u.op.args[1]))
    return NULL;
  return moved ? e : guarded_division(e);
}

static bool lifts(Lifting *l, const ImpStm *stm) {
  const ImpExp *value = division_of(l, stm);
  if (!value) return false;
  ImpStm *moved = mem_copy(stm, sizeof *stm);
  moved->u.declare.value = value;
  vec_push(&l->before, moved);
  map_put(l->guarded, stm->u.declare.var, moved);
  map_remove(l->varies, stm->u.declare.var);
  return true;
}

// The block without what goes before the loop; in its branches, too.
static ImpBlock left_of(void *state, const ImpBlock *block) {
  Lifting *l = state;
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, stm, block) {
    if (lifts(l, *stm)) continue;
    vec_push(&out, (*stm)->kind == IMP_IF ? imp_map_blocks(*stm, left_of, l) : *stm);
  }
  return out;
}

// Is there something that may be lifted?  Most loops have nothing.
static bool may_lift(const Map *guarded, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (stm->kind == IMP_DECLARE && stm->u.declare.value &&
        (is_integer_division(stm->u.declare.value) ||
         map_has(guarded, stm->u.declare.var)))
      return true;
    if (stm->kind == IMP_IF && (may_lift(guarded, &stm->u.cond.then_body) ||
                                may_lift(guarded, &stm->u.cond.else_body)))
      return true;
  }
  return false;
}

// Adds the loop, behind what is lifted out of it.
static void lift_out_of(Map *guarded, const ImpStm *loop, ImpBlock *out) {
  Lifting l = { .varies = map_new(NULL), .guarded = guarded };
  map_put(l.varies, loop->u.loop.var, loop);
  see_all_set(&l, &loop->u.loop.body);
  loop = imp_map_blocks(loop, left_of, &l);
  vec_each (const ImpStm **, before, &l.before)
    vec_push(out, *before);
  vec_push(out, loop);
}

static ImpBlock lift_in(void *guarded, const ImpBlock *block) {
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, stm, block) {
    const ImpStm *inner = imp_map_blocks(*stm, lift_in, guarded);
    if (inner->kind == IMP_FOR && may_lift(guarded, &inner->u.loop.body))
      lift_out_of(guarded, inner, &out);
    else
      vec_push(&out, inner);
  }
  return out;
}

ImpBlock imp_lift_divisions(const ImpBlock *block) {
  return lift_in(map_new(NULL), block);
}
