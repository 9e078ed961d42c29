// The checker: what kern.h promises of every kernel, after from_flat and after every step.
#include "base/map.h"
#include "kern/kern.h"

typedef struct KernCheck {
  Compiler *c;
  const Kern *kern;
  Map *bound;         // Var -> itself, ever
  const Map *before;  // what another kernel binds, whose step this one is; NULL: none
  Map *visible;       // Var or Tensor that may be used here; a child per block
  Loc loc;
} KernCheck;

static void fail(KernCheck *s, const char *what, const char *name) {
  Text *t = text_new();
  kern_print(t, s->kern);
  bug(s->c, s->loc, "%s: %s\n%s", what, name, text_str(t));
}

static void demand(KernCheck *s, bool condition, const char *what, const char *name) {
  if (!condition) fail(s, what, name);
}

// ---- uses

// Free variables of the kernel are the host's: those that no statement of it binds.
static void use_var(void *state, const Var *var) {
  KernCheck *s = state;
  if (map_has(s->visible, var)) return;
  demand(s, !map_has(s->bound, var), "used outside of its block", var->name);
  demand(s, !s->before || !map_has(s->before, var), "used, and no longer bound",
         var->name);
}

static void check_term_type(KernCheck *s, const Term *t) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    check_term_type(s, operands[i]);
  if (t->kind != TERM_OP) return;
  for (int i = 0; i < count; i++) {
    bool exponent = t->u.op.op == OP_LDEXP && i == 1;
    demand(s, exponent || operands[i]->type == t->u.op.operands,
           "operand of another type", op_name(t->u.op.op));
  }
}

static void use_term(KernCheck *s, const Term *t, const PrimType *type) {
  demand(s, t != NULL, "missing term", "");
  if (type)
    demand(s, t->type == *type, "term of the wrong type", prim_type_name(t->type));
  check_term_type(s, t);
  term_each_var(t, use_var, s);
}

static void use_i64(KernCheck *s, const Term *t) {
  PrimType type = PRIM_I64;
  use_term(s, t, &type);
}

static void use_tensor(KernCheck *s, const Tensor *t) {
  const Tensor *root = tensor_root(t);
  demand(s, t->elem == root->elem, "view of other elements", t->name);
  if (root->space == TENSOR_GLOBAL) return;
  demand(s, map_has(s->visible, root), "tensor outside of its block", t->name);
}

static void use_access(KernCheck *s, const Access *access, int indices) {
  use_tensor(s, access->tensor);
  for (int i = 0; i < indices; i++)
    use_i64(s, access->index[i]);
}

// ---- binders

static void bind_var(KernCheck *s, const Var *var) {
  demand(s, !map_has(s->bound, var), "bound twice", var->name);
  demand(s, var->type.rank == 0, "no scalar", var->name);
  map_put(s->bound, var, var);
  map_put(s->visible, var, var);
}

static void bind_vars(KernCheck *s, const Var *const *vars, int count) {
  for (int i = 0; i < count; i++)
    bind_var(s, vars[i]);
}

// ---- blocks

static void check_stms(KernCheck *s, const KernBlock *block);

static void check_results(KernCheck *s, const KernBlock *block, const Var *const *like,
                          int count) {
  demand(s, block->result_count == count, "wrong number of results", "block");
  for (int i = 0; i < count; i++)
    use_term(s, block->results[i], &like[i]->type.elem);
}

// A block with binders of its own; `like` gives the types of its results.
static void check_block(KernCheck *s, const KernBlock *block, const Var *const *binders,
                        int binder_count, const Var *const *like, int count) {
  Map *outer = s->visible;
  s->visible = map_new(outer);
  bind_vars(s, binders, binder_count);
  check_stms(s, block);
  check_results(s, block, like, count);
  s->visible = outer;
}

static void check_op(KernCheck *s, const KernOp *op) {
  for (int i = 0; i < op->count; i++)
    use_term(s, op->neutral[i], &op->params[i]->type.elem);
  check_block(s, op->block, op->params, 2 * op->count, op->params, op->count);
}

// The left parameters of all operators: what the values look like.
static const Var *const *op_params(const Axis *axis) {
  const Var **out = new_array(const Var *, kern_sum_count(axis) + 1);
  for (int i = 0, next = 0; i < axis->op_count; i++)
    for (int k = 0; k < axis->ops[i].count; k++)
      out[next++] = axis->ops[i].params[k];
  return out;
}

static void check_inits(KernCheck *s, const Axis *axis, const Var *const *like,
                        int count) {
  for (int i = 0; axis->inits && i < count; i++)
    use_term(s, axis->inits[i], &like[i]->type.elem);
}

static void check_hist_results(KernCheck *s, const Axis *axis) {
  int next = axis->hist_count;
  for (int h = 0; h < axis->hist_count; h++) {
    const KernHist *hist = &axis->hists[h];
    use_i64(s, axis->body->results[h]);
    for (int i = 0; i < hist->op.count; i++)
      use_term(s, axis->body->results[next++], &hist->op.params[i]->type.elem);
  }
  demand(s, next == axis->body->result_count, "wrong number of results", "hist");
}

static void check_hists(KernCheck *s, const Axis *axis) {
  for (int h = 0; h < axis->hist_count; h++) {
    const KernHist *hist = &axis->hists[h];
    use_i64(s, hist->width);
    for (int i = 0; i < hist->op.count; i++)
      use_access(s, &hist->dests[i], hist->dests[i].tensor->rank - 1);
    check_op(s, &hist->op);
  }
}

// The body and, of a scan, what comes after it, in one scope.
static void check_axis_body(KernCheck *s, const Axis *axis, const Var *const *like,
                            int count) {
  Map *outer = s->visible;
  s->visible = map_new(outer);
  bind_var(s, axis->index);
  bind_vars(s, axis->params, axis->param_count);
  check_stms(s, axis->body);
  if (axis->role == AXIS_HIST)
    check_hist_results(s, axis);
  else
    check_results(s, axis->body, like, count);
  if (axis->after) {
    bind_vars(s, axis->sums, kern_sum_count(axis));
    check_stms(s, axis->after);
  }
  s->visible = outer;
}

static void check_axis(KernCheck *s, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  bool loops = axis->role == AXIS_LOOP;
  int count = loops ? axis->param_count : kern_sum_count(axis);
  const Var *const *like = loops ? axis->params : op_params(axis);
  bool constant = axis->width->kind == TERM_CONST;
  demand(s, axis->name != NULL, "axis without a name", axis->index->name);
  demand(s, constant || (axis->bind != BIND_LANE && axis->bind != BIND_REG),
         "lanes or registers without a constant width", axis->name);
  demand(s, (axis->after != NULL) == (axis->role == AXIS_SCAN), "`after` of no scan",
         axis->name);
  bool in_order = axis->bind == BIND_SEQ || axis->bind == BIND_REG;
  demand(s, in_order || axis->role != AXIS_LOOP, "a loop in parallel", axis->name);
  demand(s, axis->bind != BIND_ITEM || (constant && axis->role == AXIS_MAP),
         "items that are no map of constant width", axis->name);
  use_i64(s, axis->width);
  check_inits(s, axis, like, count);
  check_axis_body(s, axis, like, count);
  for (int i = 0; i < axis->op_count; i++)
    check_op(s, &axis->ops[i]);
  check_hists(s, axis);
  demand(s, stm->binder_count == 0 || stm->binder_count == count,
         "wrong number of binders", axis->name);
}

static void check_if(KernCheck *s, const KernStm *stm) {
  PrimType type = PRIM_BOOL;
  use_term(s, stm->u.cond.condition, &type);
  check_block(s, stm->u.cond.then_block, NULL, 0, stm->binders, stm->binder_count);
  check_block(s, stm->u.cond.else_block, NULL, 0, stm->binders, stm->binder_count);
}

static void check_while(KernCheck *s, const KernStm *stm) {
  int count = stm->u.loop.param_count;
  for (int i = 0; i < count; i++)
    use_term(s, stm->u.loop.inits[i], &stm->u.loop.params[i]->type.elem);
  check_block(s, stm->u.loop.body, stm->u.loop.params, count, stm->u.loop.params, count);
}

static void check_alloc(KernCheck *s, const Tensor *t) {
  demand(s, t->space != TENSOR_GLOBAL && !t->of, "not of the kernel's own", t->name);
  for (int i = 0; i < t->rank; i++)
    use_i64(s, t->dims[i]);
  map_put(s->visible, t, t);
}

static void check_stm(KernCheck *s, const KernStm *stm) {
  PrimType truth = PRIM_BOOL;
  switch (stm->kind) {
  case KERN_LET: use_term(s, stm->u.term, &stm->binders[0]->type.elem); break;
  case KERN_LOAD:
    use_access(s, &stm->u.load, stm->u.load.tensor->rank);
    demand(s, stm->binders[0]->type.elem == stm->u.load.tensor->elem,
           "load of the wrong type", stm->binders[0]->name);
    break;
  case KERN_STORE:
    use_access(s, &stm->u.store.to, stm->u.store.to.tensor->rank);
    use_term(s, stm->u.store.value, &stm->u.store.to.tensor->elem);
    break;
  case KERN_ALLOC: check_alloc(s, stm->u.tensor); break;
  case KERN_ROOM:
    use_tensor(s, stm->u.room.tensor);
    use_i64(s, stm->u.room.count);
    break;
  case KERN_AXIS: check_axis(s, stm); break;
  case KERN_IF: check_if(s, stm); break;
  case KERN_WHILE: check_while(s, stm); break;
  case KERN_CALL:
    for (int i = 0; i < stm->u.call.arg_count; i++)
      use_term(s, stm->u.call.args[i], NULL);
    break;
  case KERN_CHECK:
    use_term(s, stm->u.check.condition, &truth);
    for (int i = 0; i < stm->u.check.value_count; i++)
      use_term(s, stm->u.check.values[i], NULL);
    break;
  }
}

static void check_stms(KernCheck *s, const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    s->loc = block->stms[i].loc;
    check_stm(s, &block->stms[i]);
    bind_vars(s, block->stms[i].binders, block->stms[i].binder_count);
  }
}

static KernCheck kern_check_new(Compiler *c, const Kern *kern) {
  return (KernCheck){ .c = c,
                      .kern = kern,
                      .bound = map_new(NULL),
                      .visible = map_new(NULL),
                      .loc = kern->loc };
}

void kern_check(Compiler *c, const Kern *kern) {
  KernCheck s = kern_check_new(c, kern);
  check_stms(&s, kern->body);
}

void kern_check_made_of(Compiler *c, const Kern *kern, const Kern *before) {
  KernCheck first = kern_check_new(c, before), s = kern_check_new(c, kern);
  check_stms(&first, before->body);
  s.before = first.bound;
  check_stms(&s, kern->body);
}
