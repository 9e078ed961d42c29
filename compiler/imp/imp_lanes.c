// What differs between the points of an IMP_LANES statement: variables and arrays that are the same in
// all lanes stay scalars, indices that are base + lane * step address neighbours.
//
// A value depends on the lane if something that it is computed from does, or if it is assigned where
// only some lanes come by: under a condition, or in a loop, that depends on the lane and does not enclose
// the variable's declaration.  Found by going over the body until nothing changes.
#include "imp/imp.h"

enum { MAX_DEPTH = 64 };

// A variable of the body, or an array of which each point has its own.
typedef struct Binder {
  int depends;          // a set of Dependence
  int depth;            // of divergent control around its declaration
  int declared;         // how often; or assigned later
  const ImpExp *value;  // where it is declared
  const ImpExp *step;   // affine variables
} Binder;

struct LaneInfo {
  const ImpStm *lanes;
  Map *binders;            // Var or Mem -> Binder
  int control[MAX_DEPTH];  // what the enclosing divergent control depends on
  int depth;
  bool changed;
  const char *unsupported;
};

static Binder *binder_of(LaneInfo *s, const void *key) {
  Binder *found = map_get(s->binders, key);
  if (found) return found;
  Binder *b = new (Binder);
  b->depth = s->depth;
  map_put(s->binders, key, b);
  s->changed = true;
  return b;
}

static void raise(LaneInfo *s, Binder *b, int depends) {
  for (int i = b->depth; i < s->depth; i++)
    depends |= s->control[i];
  if ((b->depends | depends) == b->depends) return;
  b->depends |= depends;
  s->changed = true;
}

// ---- dependence

bool lanes_is_own(const LaneInfo *s, const Mem *mem) {
  return map_has(s->lanes->u.lanes.own, mem) || map_has(s->binders, mem);
}

int lanes_mem_depends(const LaneInfo *s, const Mem *mem) {
  const Binder *b = map_get(s->binders, mem);
  return b ? b->depends : 0;
}

int lanes_var_depends(const LaneInfo *s, const Var *var) {
  if (var == s->lanes->u.lanes.lane) return DEPENDS_LANE;
  if (var == s->lanes->u.lanes.row) return DEPENDS_ROW;
  const Binder *b = map_get(s->binders, var);
  return b ? b->depends : 0;
}

int lanes_depends(const LaneInfo *s, const ImpExp *e) {
  if (!e) return 0;
  if (e->kind == IMP_VAR) return lanes_var_depends(s, e->u.var);
  int depends = e->kind == IMP_LOAD ? lanes_mem_depends(s, e->u.load.mem) : 0;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    depends |= lanes_depends(s, operands[i]);
  return depends;
}

int lanes_depth(const LaneInfo *s, const Var *var) {
  const Binder *b = map_get(s->binders, var);
  return b ? b->depth : 0;
}

// ---- affine values

bool lanes_var_is_affine(const LaneInfo *s, const Var *var) {
  const Binder *b = map_get(s->binders, var);
  return b && b->step;
}

static bool affine_var(const LaneInfo *s, const ImpExp *e, Affine *out) {
  if (e->u.var == s->lanes->u.lanes.lane) {
    *out = (Affine){ imp_i64(0), imp_i64(1) };
    return true;
  }
  const Binder *b = map_get(s->binders, e->u.var);
  if (!b || !b->step) return false;
  *out = (Affine){ e, b->step };
  return true;
}

static bool is_zero(const ImpExp *e) {
  return e->kind == IMP_CONST && e->u.constant.u.i == 0;
}

static bool affine_op(const LaneInfo *s, const ImpExp *e, Affine *out) {
  PrimOp op = e->u.op.op;
  Affine a, b;
  if (op != OP_ADD && op != OP_SUB && op != OP_MUL) return false;
  if (!lanes_affine(s, e->u.op.args[0], &a) || !lanes_affine(s, e->u.op.args[1], &b))
    return false;
  if (op == OP_ADD) *out = (Affine){ imp_add(a.base, b.base), imp_add(a.step, b.step) };
  if (op == OP_SUB) *out = (Affine){ imp_sub(a.base, b.base), imp_sub(a.step, b.step) };
  if (op != OP_MUL) return true;
  if (!is_zero(a.step) && !is_zero(b.step)) return false;
  const ImpExp *step =
      is_zero(a.step) ? imp_mul(a.base, b.step) : imp_mul(a.step, b.base);
  *out = (Affine){ imp_mul(a.base, b.base), step };
  return true;
}

bool lanes_affine(const LaneInfo *s, const ImpExp *e, Affine *out) {
  if (e->type != PRIM_I64) return false;
  if (!(lanes_depends(s, e) & DEPENDS_LANE)) {
    *out = (Affine){ e, imp_i64(0) };
    return true;
  }
  if (e->kind == IMP_VAR) return affine_var(s, e, out);
  return e->kind == IMP_OP && affine_op(s, e, out);
}

// Has it the same value wherever it can be mentioned?
static bool is_stable(const LaneInfo *s, const ImpExp *e) {
  if (e->kind == IMP_LOAD) return false;
  if (e->kind == IMP_VAR) {
    const Binder *b = map_get(s->binders, e->u.var);
    return !b || b->declared == 1;
  }
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (!is_stable(s, operands[i])) return false;
  return true;
}

static void note_affine(LaneInfo *s, const ImpStm *stm) {
  Binder *b = binder_of(s, stm->u.declare.var);
  Affine affine;
  if (b->declared != 1 || !b->value || !(b->depends & DEPENDS_LANE)) return;
  if (lanes_affine(s, b->value, &affine) && is_stable(s, affine.step))
    b->step = affine.step;
}

// ---- going over the body

static void no_vectors(LaneInfo *s, const char *why) {
  if (!s->unsupported) s->unsupported = why;
}

static void see_block(LaneInfo *s, const ImpBlock *block);

// A block where only some of the points may come by.
static void see_controlled(LaneInfo *s, int depends, const ImpBlock *block) {
  bool diverges = depends != 0;
  if (s->depth == MAX_DEPTH) {
    no_vectors(s, "deep nesting");
    return;
  }
  if (diverges) s->control[s->depth++] = depends;
  see_block(s, block);
  if (diverges) s->depth--;
}

static void see_for(LaneInfo *s, const ImpStm *stm) {
  int depends = lanes_depends(s, stm->u.loop.bound);
  if (depends && s->depth < MAX_DEPTH) s->control[s->depth++] = depends;
  binder_of(s, stm->u.loop.var);
  if (depends) s->depth--;
  see_controlled(s, depends, &stm->u.loop.body);
}

static void see_declare(LaneInfo *s, const ImpStm *stm) {
  Binder *b = binder_of(s, stm->u.declare.var);
  b->value = stm->u.declare.value;
  raise(s, b, lanes_depends(s, stm->u.declare.value));
}

static void see_store(LaneInfo *s, const ImpStm *stm) {
  const Mem *mem = stm->u.store.mem;
  if (!lanes_is_own(s, mem)) return;
  raise(s, binder_of(s, mem),
        lanes_depends(s, stm->u.store.index) | lanes_depends(s, stm->u.store.value));
}

static void see_call(LaneInfo *s, const ImpStm *stm) {
  for (int i = 0; i < stm->u.call.var_count; i++) {
    Binder *b = binder_of(s, stm->u.call.vars[i]);
    for (int k = 0; k < stm->u.call.arg_count; k++)
      raise(s, b, lanes_depends(s, stm->u.call.args[k]));
  }
}

static void see_stm(LaneInfo *s, const ImpStm *stm) {
  if (stm->kind == IMP_DECLARE) see_declare(s, stm);
  if (stm->kind == IMP_ASSIGN)
    raise(s, binder_of(s, stm->u.assign.var), lanes_depends(s, stm->u.assign.value));
  if (stm->kind == IMP_STORE) see_store(s, stm);
  if (stm->kind == IMP_FOR) see_for(s, stm);
  if (stm->kind == IMP_LOCAL) binder_of(s, stm->u.alloc.mem);
  if (stm->kind == IMP_CALL) see_call(s, stm);
  if (stm->kind == IMP_WHILE)
    see_controlled(s, lanes_depends(s, stm->u.loop_while.condition),
                   &stm->u.loop_while.body);
  if (stm->kind != IMP_IF) return;
  int depends = lanes_depends(s, stm->u.cond.condition);
  see_controlled(s, depends, &stm->u.cond.then_body);
  see_controlled(s, depends, &stm->u.cond.else_body);
}

static void see_block(LaneInfo *s, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block)
    see_stm(s, *stm);
}

// ---- the settled body: affine variables, and what has no vector code

static void judge_exp(void *state, const ImpExp *e) {
  LaneInfo *s = state;
  if (e->kind == IMP_SELECT && lanes_depends(s, e)) no_vectors(s, "a choice");
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    judge_exp(state, operands[i]);
}

static void judge_control(LaneInfo *s, const ImpExp *condition) {
  int depends = lanes_depends(s, condition);
  bool single = s->lanes->u.lanes.rows * s->lanes->u.lanes.vectors == 1;
  if (depends && !single) no_vectors(s, "divergent control in several vectors");
}

static void judge_store(LaneInfo *s, const ImpStm *stm) {
  if (lanes_is_own(s, stm->u.store.mem)) return;
  int all = s->lanes->u.lanes.row ? DEPENDS_LANE | DEPENDS_ROW : DEPENDS_LANE;
  if (lanes_depends(s, stm->u.store.index) != all)
    no_vectors(s, "a store to one place from all lanes");
}

static void judge_local(LaneInfo *s, const ImpStm *stm) {
  bool single = s->lanes->u.lanes.rows * s->lanes->u.lanes.vectors == 1;
  if (stm->u.alloc.mem->space != MEM_PRIVATE || !single)
    no_vectors(s, "an array of each lane");
}

static void judge_block(LaneInfo *s, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    imp_each_exp(stm, judge_exp, s);
    if (stm->kind == IMP_DECLARE) note_affine(s, stm);
    if (stm->kind == IMP_FOR) judge_control(s, stm->u.loop.bound);
    if (stm->kind == IMP_WHILE) judge_control(s, stm->u.loop_while.condition);
    if (stm->kind == IMP_IF) judge_control(s, stm->u.cond.condition);
    if (stm->kind == IMP_STORE) judge_store(s, stm);
    if (stm->kind == IMP_LOCAL) judge_local(s, stm);
    bool plain =
        stm->kind != IMP_CALL && stm->kind != IMP_ATOMIC && stm->kind != IMP_BARRIER;
    if (!plain || stm->kind == IMP_LANES) no_vectors(s, "a call or synchronisation");
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      judge_block(s, inner[i]);
  }
}

static void count_values(LaneInfo *s, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    if ((*at)->kind == IMP_DECLARE) binder_of(s, (*at)->u.declare.var)->declared++;
    if ((*at)->kind == IMP_ASSIGN) binder_of(s, (*at)->u.assign.var)->declared++;
    const ImpBlock *inner[2];
    int count = imp_blocks(*at, inner);
    for (int i = 0; i < count; i++)
      count_values(s, inner[i]);
  }
}

static void own_binder(void *state, const void *key, void *value) {
  (void)value;
  binder_of(state, key);
}

LaneInfo *lanes_analyse(const ImpStm *lanes) {
  LaneInfo *s = new_node(LaneInfo, .lanes = lanes, .binders = map_new(NULL));
  map_each(lanes->u.lanes.own, own_binder, s);
  for (s->changed = true; s->changed;) {
    s->changed = false;
    see_block(s, &lanes->u.lanes.body);
  }
  count_values(s, &lanes->u.lanes.body);
  judge_block(s, &lanes->u.lanes.body);
  return s;
}

const char *lanes_unsupported(const LaneInfo *s) { return s->unsupported; }
