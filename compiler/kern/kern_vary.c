#include "kern/kern_vary.h"

enum { MAX_AXES = 16 };

// What is known of a variable or tensor.
typedef struct Fact {
  AxisSet set;        // it differs between the points of these
  AxisSet around;     // lockstep axes around its binder
  const Term *value;  // of a let
  const Term *step;   // affine variables
} Fact;

struct Vary {
  const Vary *outer;
  Map *facts;  // Var or Tensor -> Fact
  const Axis *axes[MAX_AXES];
  int axis_count;
  AxisSet lanes;    // the lane axes, of which none is within another
  AxisSet around;   // while walking: lockstep axes around
  AxisSet control;  // what decides whether a point comes by
  bool changed;
  const char *refuses;
  bool branches;  // there are some that differ from register to register
};

static void refuse(Vary *v, const char *why) {
  if (!v->refuses) v->refuses = why;
}

static Fact *fact_of(Vary *v, const void *key) {
  Fact *found = map_get(v->facts, key);
  if (found) return found;
  Fact *fact = new_node(Fact, .around = v->around);
  map_put(v->facts, key, fact);
  return fact;
}

static const Fact *known(const Vary *v, const void *key) {
  for (; v; v = v->outer) {
    const Fact *fact = map_get(v->facts, key);
    if (fact) return fact;
  }
  return NULL;
}

// What is seen for the first time is seen where it is bound, before all that reads it; only what
// was there before makes another round necessary.  Of what is the same everywhere there is no fact,
// but where one of `outer` would be taken for it.
static void raise(Vary *v, const void *key, AxisSet set) {
  Fact *known_fact = map_get(v->facts, key), *fact = known_fact;
  if (!fact && ((set & v->around) || v->outer)) fact = fact_of(v, key);
  if (!fact) return;
  set &= fact->around;
  if ((fact->set | set) == fact->set) return;
  fact->set |= set;
  if (known_fact) v->changed = true;
}

// ---- questions

AxisSet vary_var(const Vary *v, const Var *var) {
  const Fact *fact = known(v, var);
  return fact ? fact->set : 0;
}

AxisSet vary_tensor(const Vary *v, const Tensor *t) {
  const Fact *fact = known(v, tensor_root(t));
  return fact ? fact->set : 0;
}

AxisSet vary_term(const Vary *v, const Term *t) {
  if (t->kind == TERM_VAR) return vary_var(v, t->u.var);
  const Term *operands[3];
  AxisSet set = 0;
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    set |= vary_term(v, operands[i]);
  return set;
}

AxisSet vary_axis(const Vary *v, const Axis *axis) {
  for (; v; v = v->outer)
    for (int i = 0; i < v->axis_count; i++)
      if (v->axes[i] == axis) return 1u << i;
  return 0;
}

AxisSet vary_lanes(const Vary *v) {
  for (; v; v = v->outer)
    if (v->lanes) return v->lanes;
  return 0;
}

static const char *const differing_control =
    "control that differs from register to register";

const char *vary_refuses(const Vary *v) {
  return v->refuses || !v->branches ? v->refuses : differing_control;
}

const char *vary_refuses_item(const Vary *v) { return v->refuses; }

// ---- affine values

const Term *vary_step(const Vary *v, const Var *var) {
  const Fact *fact = known(v, var);
  return fact ? fact->step : NULL;
}

static bool is_lane_index(const Vary *v, const Var *var) {
  for (; v; v = v->outer)
    for (int i = 0; i < v->axis_count; i++)
      if (v->axes[i]->bind == BIND_LANE && v->axes[i]->index == var) return true;
  return false;
}

static bool is_index_of(const Vary *v, AxisSet bit, const Var *var) {
  for (; v; v = v->outer)
    for (int i = 0; i < v->axis_count; i++)
      if (bit == 1u << i && v->axes[i]->index == var) return true;
  return false;
}

// How far the term moves from one point of the register axis to the next; false: unknown, or not
// the same everywhere.
static bool reg_step(const Vary *v, const Term *t, AxisSet bit, int64_t *step) {
  int64_t a, b;
  *step = 0;
  if (!(vary_term(v, t) & bit)) return true;
  if (t->kind == TERM_VAR) {
    const Fact *fact = known(v, t->u.var);
    *step = 1;
    return is_index_of(v, bit, t->u.var) ||
           (fact && fact->value && reg_step(v, fact->value, bit, step));
  }
  bool sum = t->kind == TERM_OP && t->type == PRIM_I64 &&
             (t->u.op.op == OP_ADD || t->u.op.op == OP_SUB);
  if (!sum || !reg_step(v, t->u.op.args[0], bit, &a) ||
      !reg_step(v, t->u.op.args[1], bit, &b))
    return false;
  *step = t->u.op.op == OP_ADD ? a + b : a - b;
  return true;
}

bool vary_neighbours(const Vary *v, const Access *access, AxisSet bit) {
  int unit = tensor_unit_dim(access->tensor);
  if (vary_tensor(v, access->tensor) & bit) return false;
  for (int i = 0; i < access->tensor->rank; i++) {
    int64_t step;
    if (!reg_step(v, access->index[i], bit, &step) || step != (i == unit)) return false;
  }
  return true;
}

static bool affine_var(const Vary *v, const Term *t, Affine *out) {
  if (is_lane_index(v, t->u.var)) {
    *out = (Affine){ term_i64(0), term_i64(1) };
    return true;
  }
  const Term *step = vary_step(v, t->u.var);
  if (!step) return false;
  *out = (Affine){ t, step };
  return true;
}

static bool affine_op(const Vary *v, const Term *t, Affine *out) {
  PrimOp op = t->u.op.op;
  Affine a, b;
  if (op != OP_ADD && op != OP_SUB && op != OP_MUL) return false;
  if (!vary_affine(v, t->u.op.args[0], &a) || !vary_affine(v, t->u.op.args[1], &b))
    return false;
  if (op == OP_ADD) *out = (Affine){ term_add(a.base, b.base), term_add(a.step, b.step) };
  if (op == OP_SUB) *out = (Affine){ term_sub(a.base, b.base), term_sub(a.step, b.step) };
  if (op != OP_MUL) return true;
  bool a_moves = !term_is_i64(a.step, 0), b_moves = !term_is_i64(b.step, 0);
  if (a_moves && b_moves) return false;
  const Term *step = a_moves ? term_mul(a.step, b.base) : term_mul(a.base, b.step);
  *out = (Affine){ term_mul(a.base, b.base), step };
  return true;
}

bool vary_affine(const Vary *v, const Term *t, Affine *out) {
  if (t->type != PRIM_I64) return false;
  if (!(vary_term(v, t) & vary_lanes(v))) {
    *out = (Affine){ t, term_i64(0) };
    return true;
  }
  if (t->kind == TERM_VAR) return affine_var(v, t, out);
  return t->kind == TERM_OP && affine_op(v, t, out);
}

const Term *vary_few_bits(const Vary *v, const Term *t) {
  const Fact *fact = t->kind == TERM_VAR ? known(v, t->u.var) : NULL;
  if (fact && fact->value) t = fact->value;
  if (t->kind != TERM_CONVERT || t->type != PRIM_I64) return NULL;
  PrimType from = t->u.arg->type;
  if (!prim_is_int(from) || !(prim_bits(from) < 32 || from == PRIM_I32)) return NULL;
  return term_convert(PRIM_I32, t->u.arg);
}

// ---- walking, until nothing changes

static void see_block(Vary *v, const KernBlock *block);

static AxisSet terms_set(const Vary *v, const Term *const *terms, int count) {
  AxisSet set = 0;
  for (int i = 0; i < count; i++)
    set |= vary_term(v, terms[i]);
  return set;
}

static AxisSet index_set(const Vary *v, const Access *access) {
  return terms_set(v, access->index, access->tensor->rank);
}

// What is assigned under a condition that differs, and read after it, differs.
static void raise_result(Vary *v, const Var *var, AxisSet set) { raise(v, var, set); }

static void see_let(Vary *v, const KernStm *stm) {
  Affine a;
  const Var *var = stm->binders[0];
  raise(v, var, vary_term(v, stm->u.term));
  Fact *fact = map_get(v->facts, var);
  if (!fact) return;
  fact->value = stm->u.term;
  if (!(fact->set & v->lanes) || var->type.elem != PRIM_I64) return;
  bool affine = vary_affine(v, stm->u.term, &a);
  fact->step = affine ? a.step : NULL;
}

static void see_store(Vary *v, const KernStm *stm) {
  const Tensor *root = tensor_root(stm->u.store.to.tensor);
  if (!known(v, root) || root->space == TENSOR_LOCAL) return;  // a group has one
  raise(v, root,
        index_set(v, &stm->u.store.to) | vary_term(v, stm->u.store.value) | v->control);
}

static void see_if(Vary *v, const KernStm *stm) {
  AxisSet condition = vary_term(v, stm->u.cond.condition), control = v->control;
  v->control |= condition;
  see_block(v, stm->u.cond.then_block);
  see_block(v, stm->u.cond.else_block);
  v->control = control;
  for (int i = 0; i < stm->binder_count; i++)
    raise_result(v, stm->binders[i],
                 condition | vary_term(v, stm->u.cond.then_block->results[i]) |
                     vary_term(v, stm->u.cond.else_block->results[i]));
}

// Params that begin with inits and become the body's results; `stops`: what decides when it ends.
static void see_params(Vary *v, const Var *const *params, const Term *const *inits,
                       int count, const KernBlock *body, AxisSet stops) {
  for (int i = 0; i < count; i++)
    raise(v, params[i], vary_term(v, inits[i]) | vary_term(v, body->results[i]) | stops);
}

static void see_while(Vary *v, const KernStm *stm) {
  const Var *const *params = stm->u.loop.params;
  AxisSet control = v->control, stops = vary_var(v, params[stm->u.loop.which]);
  v->control |= stops;
  for (int i = 0; i < stm->u.loop.param_count; i++)
    fact_of(v, params[i]);
  see_block(v, stm->u.loop.body);
  see_params(v, params, stm->u.loop.inits, stm->u.loop.param_count, stm->u.loop.body,
             stops);
  v->control = control;
  for (int i = 0; i < stm->binder_count; i++)
    raise_result(v, stm->binders[i], vary_var(v, params[i]));
}

// ---- axes

static AxisSet open_axis(Vary *v, const Axis *axis) {
  if (axis->bind != BIND_LANE && axis->bind != BIND_REG) return 0;
  AxisSet bit = vary_axis(v, axis);
  if (!bit && v->axis_count == MAX_AXES) {
    refuse(v, "too many axes in lockstep");
    return 0;
  }
  if (!bit) {
    bit = 1u << v->axis_count;
    v->axes[v->axis_count++] = axis;
  }
  if (axis->bind == BIND_LANE) {
    if (v->around & v->lanes & ~bit) refuse(v, "lanes within lanes");
    v->lanes |= bit;
  }
  return bit;
}

static void see_op(Vary *v, const KernOp *op, AxisSet set) {
  for (int i = 0; i < 2 * op->count; i++)
    raise(v, op->params[i], set);
  see_block(v, op->block);
}

// What each operator's values differ in.
static void see_sums(Vary *v, const KernStm *stm, AxisSet bit, AxisSet stops) {
  const Axis *axis = stm->u.axis;
  for (int o = 0, next = 0; o < axis->op_count; o++) {
    const KernOp *op = &axis->ops[o];
    AxisSet set = stops | bit;
    for (int i = 0; i < op->count; i++) {
      set |= vary_term(v, axis->body->results[next + i]);
      set |= vary_term(v, axis->inits ? axis->inits[next + i] : op->neutral[i]);
    }
    see_op(v, op, set);
    set |= terms_set(v, op->block->results, op->count);
    for (int i = 0; i < 2 * op->count; i++)  // what the operator itself takes from around
      raise(v, op->params[i], set);
    for (int i = 0; i < op->count; i++, next++) {
      if (axis->sums) raise(v, axis->sums[next], set);
      if (stm->binder_count) raise_result(v, stm->binders[next], set & ~bit);
    }
  }
}

static void see_hists(Vary *v, const Axis *axis) {
  for (int h = 0; h < axis->hist_count; h++) {
    const KernHist *hist = &axis->hists[h];
    for (int i = 0; i < hist->op.count; i++) {
      const Tensor *root = tensor_root(hist->dests[i].tensor);
      if (known(v, root)) raise(v, root, ~0u);
    }
    see_op(v, &hist->op, ~0u);
  }
}

static void see_axis(Vary *v, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  AxisSet around = v->around, control = v->control, stops = vary_term(v, axis->width);
  AxisSet bit = open_axis(v, axis);
  v->around |= bit;
  v->control |= stops;
  raise(v, axis->index, bit);
  if (bit && axis->bind == BIND_LANE) fact_of(v, axis->index)->step = term_i64(1);
  for (int i = 0; i < axis->param_count; i++)
    fact_of(v, axis->params[i]);
  see_block(v, axis->body);
  see_params(v, axis->params, axis->inits, axis->param_count, axis->body, stops);
  AxisSet inside = v->around;
  v->around = around;
  for (int i = 0; i < stm->binder_count; i++)
    fact_of(v, stm->binders[i]);
  v->around = inside;
  see_sums(v, stm, bit, stops);
  see_hists(v, axis);
  if (axis->after) see_block(v, axis->after);
  v->around = around;
  v->control = control;
  for (int i = 0; axis->role == AXIS_LOOP && i < stm->binder_count; i++)
    raise_result(v, stm->binders[i], vary_var(v, axis->params[i]));
}

static void see_stm(Vary *v, const KernStm *stm) {
  switch (stm->kind) {
  case KERN_LET: see_let(v, stm); return;
  case KERN_LOAD:
    raise(v, stm->binders[0],
          index_set(v, &stm->u.load) | vary_tensor(v, stm->u.load.tensor));
    return;
  case KERN_STORE: see_store(v, stm); return;
  case KERN_ALLOC: fact_of(v, stm->u.tensor); return;
  case KERN_ROOM: return;
  case KERN_AXIS: see_axis(v, stm); return;
  case KERN_IF: see_if(v, stm); return;
  case KERN_WHILE: see_while(v, stm); return;
  case KERN_CALL:
    for (int i = 0; i < stm->binder_count; i++)
      raise(v, stm->binders[i], terms_set(v, stm->u.call.args, stm->u.call.arg_count));
    return;
  case KERN_CHECK: return;
  }
}

static void see_block(Vary *v, const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    see_stm(v, &block->stms[i]);
}

// ---- what has no lockstep code

typedef struct Lockstep {
  KernVisitor visitor;
  Vary *v;
  AxisSet regs;
} Lockstep;

static void judge_control(Lockstep *j, AxisSet set) {
  if (set & j->regs) refuse(j->v, differing_control);
}

// Behind the end of its result a filter may store anything (spare.c).
static void judge_store(Lockstep *j, const KernStm *stm) {
  Vary *v = j->v;
  const Tensor *to = stm->u.store.to.tensor;
  if (to->spare || known(v, tensor_root(to))) return;
  AxisSet value = vary_term(v, stm->u.store.value),
          index = index_set(v, &stm->u.store.to);
  if (value & ~index) refuse(v, "a store to one place from several points");
}

static void judge_alloc(Lockstep *j, const KernStm *stm) {
  const Tensor *t = stm->u.tensor;
  if (t->open || terms_set(j->v, t->dims, t->rank))
    refuse(j->v, "an array whose size differs from point to point");
}

static void judge_axis(Lockstep *j, const Axis *axis) {
  Vary *v = j->v;
  judge_control(j, vary_term(v, axis->width));
  if (axis->role == AXIS_HIST) refuse(v, "a histogram");
  if (axis->bind == BIND_GRID) refuse(v, "an axis across work-items");
  if (axis->bind == BIND_ITEM && vary_term(v, axis->width))
    refuse(v, "an axis across work-items of a width that differs");
  if (axis->bind == BIND_REG && axis->role == AXIS_SCAN)
    refuse(v, "a scan across registers");
  KernBlock ahead, behind;
  if (axis->bind == BIND_REG && axis->role == AXIS_LOOP &&
      !kern_part_rounds(axis, &ahead, &behind))
    refuse(v, "a loop across registers whose rounds wait for each other");
  bool differs = vary_term(v, axis->width) != 0;
  if (differs && axis->bind != BIND_SEQ) refuse(v, "lanes of a width that differs");
}

bool vary_is_guard(const KernStm *stm) {
  const KernBlock *block = stm->u.cond.then_block;
  if (stm->binder_count || stm->u.cond.else_block->count) return false;
  for (int i = 0; i < block->count; i++) {
    const KernStm *inner = &block->stms[i];
    bool guard = inner->kind == KERN_IF && vary_is_guard(inner);
    if (inner->kind != KERN_STORE && !guard) return false;
  }
  return true;
}

static void see_in_branch(KernVisitor *v, const KernStm *stm) {
  KernStmKind kind = stm->kind;
  if (kind != KERN_LET && kind != KERN_LOAD && kind != KERN_CHECK && kind != KERN_IF)
    *(bool *)v->state = true;
}

// Scalars and checks alone: each register point can go through its own branch.
static bool is_plain_branch(const KernStm *stm) {
  bool more = false;
  KernVisitor v = { .stm = see_in_branch, .state = &more };
  kern_visit_block(&v, stm->u.cond.then_block);
  kern_visit_block(&v, stm->u.cond.else_block);
  return !more;
}

static void judge_if(Lockstep *j, const KernStm *stm) {
  AxisSet set = vary_term(j->v, stm->u.cond.condition);
  bool lanes = set & j->v->lanes;
  if (vary_is_guard(stm)) return;
  if (lanes || !is_plain_branch(stm))
    judge_control(j, set);
  else if (set & j->regs)
    j->v->branches = true;
}

static bool is_straight_code(const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    KernStmKind kind = block->stms[i].kind;
    if (kind != KERN_LET && kind != KERN_LOAD && kind != KERN_CHECK) return false;
  }
  return true;
}

// Lanes have masks for each register point, which straight code asks for.
static void judge_while(Lockstep *j, const KernStm *stm) {
  AxisSet set = vary_var(j->v, stm->u.loop.params[stm->u.loop.which]);
  if (!(set & j->v->lanes) || !is_straight_code(stm->u.loop.body)) judge_control(j, set);
}

static void judge_stm(KernVisitor *visitor, const KernStm *stm) {
  Lockstep *j = visitor->state;
  switch (stm->kind) {
  case KERN_STORE: judge_store(j, stm); return;
  case KERN_ALLOC: judge_alloc(j, stm); return;
  case KERN_ROOM: refuse(j->v, "an array whose size is found out"); return;
  case KERN_AXIS: judge_axis(j, stm->u.axis); return;
  case KERN_IF: judge_if(j, stm); return;
  case KERN_WHILE: judge_while(j, stm); return;
  case KERN_CALL: refuse(j->v, "a call"); return;
  case KERN_LET:
  case KERN_LOAD:
  case KERN_CHECK: return;
  }
}

static AxisSet reg_bits(const Vary *v) {
  AxisSet regs = 0;
  for (int i = 0; i < v->axis_count; i++)
    if (v->axes[i]->bind == BIND_REG) regs |= 1u << i;
  return regs;
}

// ---- entries

static Vary *analyse(const KernStm *stm) {
  Vary *v = new_node(Vary, .facts = map_new(NULL));
  for (v->changed = true; v->changed;) {
    v->changed = false;
    see_stm(v, stm);
  }
  Lockstep j = { .visitor = { .stm = judge_stm }, .v = v, .regs = reg_bits(v) };
  j.visitor.state = &j;
  kern_visit_stm(&j.visitor, stm);
  return v;
}

// What was found last of axes, which never change: a step asks whether lanes can run, then the cost
// model what of them differs, of the same axis several times.
enum { RECENT = 16 };
typedef struct Recent {
  const Axis *axis;
  const Var *const *binders;
  const Vary *vary;
} Recent;

static Recent recent[RECENT];
static unsigned recent_count;

const Vary *vary_stm(const KernStm *stm) {
  if (stm->kind != KERN_AXIS) return analyse(stm);
  for (int i = 0; i < RECENT; i++)
    if (recent[i].axis == stm->u.axis && recent[i].binders == stm->binders)
      return recent[i].vary;
  Recent *last = &recent[recent_count++ % RECENT];
  *last = (Recent){ stm->u.axis, stm->binders, analyse(stm) };
  return last->vary;
}

Vary *vary_op(const Vary *outer, const KernOp *op, AxisSet set) {
  Vary *v = new_node(Vary, .outer = outer, .facts = map_new(NULL), .around = ~0u);
  for (v->changed = true; v->changed;) {
    v->changed = false;
    see_op(v, op, set);
  }
  return v;
}

const Vary *vary_alike(const Vary *outer, const KernBlock *body) {
  Vary *v = new_node(Vary, .outer = outer, .facts = map_new(NULL), .around = ~0u);
  if (!is_straight_code(body)) return NULL;
  for (int i = 0; i < body->count; i++) {
    const KernStm *stm = &body->stms[i];
    bool decision = stm->kind == KERN_LET && stm->binders[0]->type.elem == PRIM_BOOL;
    if (!decision) see_stm(v, stm);
    if (stm->kind == KERN_LOAD && vary_var(v, stm->binders[0])) return NULL;
  }
  return terms_set(v, body->results, body->result_count) ? NULL : v;
}
