#include "kern/motion.h"

typedef struct Mover {
  const Motions *asked;
  Map *known;    // Var -> const Motion *, of what the kernel binds
  int depth;     // of loops
  bool in_item;  // of a group, whose items share the axes around this
} Mover;

static const Motion other = { STEP_OTHER, false, 0 };

static void put(Mover *f, const Var *var, Motion m) {
  map_put(f->known, var, mem_copy(&m, sizeof m));
}

static void put_others(Mover *f, const Var *const *vars, int count) {
  for (int i = 0; i < count; i++)
    put(f, vars[i], other);
}

// ---- of terms

static Motion mixed(Motion a, Motion b) {
  bool still = a.step == 0 && b.step == 0;
  return (Motion){ still ? 0 : STEP_OTHER, a.walks || b.walks, a.space | b.space };
}

// Of a sum, or of what is kept within bounds.
static Motion joined(Motion a, Motion b) {
  Motion both = mixed(a, b);
  if (a.step + b.step == 1) both.step = 1;
  return both;
}

static Motion motion_of(const Mover *f, const Term *t);

// A group's points, counted through rows: neighbours are neighbours in a row, mostly.
static bool counts_rows(const Mover *f, PrimOp op, Motion a, Motion b) {
  return f->asked->groups && (op == OP_QUOT || op == OP_REM) && a.step == 1 &&
         b.step == 0;
}

static Motion motion_of_op(const Mover *f, const Term *t) {
  Motion a = motion_of(f, t->u.op.args[0]);
  if (op_arity(t->u.op.op) == 1) return mixed(a, a);
  Motion b = motion_of(f, t->u.op.args[1]);
  PrimOp op = t->u.op.op;
  if (op == OP_ADD || op == OP_MIN || op == OP_MAX || (op == OP_SUB && b.step == 0))
    return joined(a, b);
  Motion both = mixed(a, b);
  if (counts_rows(f, op, a, b)) both.step = op == OP_REM;
  return op_arity(op) == 2 ? both : mixed(both, motion_of(f, t->u.op.args[2]));
}

static Motion motion_of(const Mover *f, const Term *t) {
  const Motion *known;
  switch (t->kind) {
  case TERM_CONST:
  case TERM_TUNING: return (Motion){ 0 };
  case TERM_VAR:
    known = map_get(f->known, t->u.var);
    return known ? *known : (Motion){ 0 };
  case TERM_OP: return motion_of_op(f, t);
  case TERM_CONVERT: return motion_of(f, t->u.arg);
  case TERM_BITS:
  case TERM_SELECT: return other;
  }
  return other;
}

// ---- of accesses

static const Motion *motions_of(const Mover *f, const Access *access) {
  Motion *dims = new_array(Motion, access->tensor->rank + 1);
  for (int d = 0; d < access->tensor->rank; d++)
    dims[d] = motion_of(f, access->index[d]);
  return dims;
}

static bool is_of_host(const Access *access) {
  return tensor_root(access->tensor)->space == TENSOR_GLOBAL;
}

static void move_access(const Mover *f, const Access *access) {
  if (is_of_host(access))
    f->asked->see(f->asked->state, access, motions_of(f, access), f->depth);
}

static void move_load(Mover *f, const KernStm *stm) {
  const Access *from = &stm->u.load;
  move_access(f, from);
  const Motion *dims = motions_of(f, from);
  Motion all = { 0 };
  for (int d = 0; d < from->tensor->rank; d++)
    all = mixed(all, dims[d]);
  bool shared = is_of_host(from) && all.step == 0;
  put(f, stm->binders[0], (Motion){ shared ? 0 : STEP_OTHER, false, all.space });
}

// ---- of axes

static void move_block(Mover *f, const KernBlock *block);

// The indices of a space, of which `outer` are around it; `step`: of the innermost.
static void put_space(Mover *f, const SegOp *seg, int outer, int step) {
  for (int d = 0; d < seg->dim_count; d++) {
    int bit = outer + d < 31 ? outer + d : 31;
    put(f, seg->dims[d].index,
        (Motion){ d == seg->dim_count - 1 ? step : 0, false, 1U << bit });
  }
}

// Items take neighbouring points of level 0, or pieces where a reduction does not commute.
static void put_inner_spaces(Mover *f, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_SEG) {
      const SegOp *seg = exp->u.seg;
      bool pieces = seg->kind == SEG_RED && !seg_commutes(seg);
      put_space(f, seg, f->asked->seg->dim_count, pieces ? STEP_OTHER : 1);
      continue;
    }
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      put_inner_spaces(f, *inner);
  }
}

static bool is_of_space(const Mover *f, const Axis *axis) {
  for (int d = 0; d < f->asked->seg->dim_count; d++)
    if (f->asked->seg->dims[d].index == axis->index) return true;
  return false;
}

static bool mentions(const Access *access, const Var *index) {
  for (int d = 0; d < access->tensor->rank; d++)
    if (term_mentions(access->index[d], index)) return true;
  return false;
}

// Are there only loads that depend on the index, what they are stored by, and maps around them?
static bool only_copies(const KernBlock *block, const Var *index) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    bool copies = stm->kind == KERN_STORE ||
                  (stm->kind == KERN_LOAD && mentions(&stm->u.load, index)) ||
                  (stm->kind == KERN_AXIS && stm->u.axis->role == AXIS_MAP &&
                   only_copies(stm->u.axis->body, index));
    if (!copies) return false;
  }
  return true;
}

// Of a nest that the items of a group share: is there more of it inside?  Rows are copied element
// by element.
static bool is_around(const Axis *axis, const Motion *known) {
  if (known && known->step == 0) return true;
  const KernStm *inner = axis->body->count ? &axis->body->stms[0] : NULL;
  if (!inner || inner->kind != KERN_AXIS || axis->role != AXIS_MAP) return false;
  return known ? only_copies(axis->body, axis->index)
               : axis->body->count == 1 && inner->u.axis->role == AXIS_MAP;
}

static void move_axis(Mover *f, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  if (is_of_space(f, axis)) {
    move_block(f, axis->body);
    return;
  }
  Mover inner = *f;
  const Motion *known = map_get(f->known, axis->index);
  bool shared = f->asked->groups && !f->in_item && (known || axis->role == AXIS_MAP),
       around = shared && is_around(axis, known);
  if (!known || (around && known->step))
    put(f, axis->index, (Motion){ shared && !around, true, 0 });
  inner.depth += !around;
  inner.in_item = inner.in_item || (shared && !around);
  put_others(f, axis->params, axis->param_count);
  put_others(f, axis->sums, axis->sums ? kern_sum_count(axis) : 0);
  KernBlockVec blocks = kern_blocks(stm);
  for (int o = 0; o < axis->op_count; o++)
    put_others(f, axis->ops[o].params, 2 * axis->ops[o].count);
  for (int h = 0; h < axis->hist_count; h++)
    put_others(f, axis->hists[h].op.params, 2 * axis->hists[h].op.count);
  vec_each (const KernBlock **, block, &blocks)
    move_block(&inner, *block);
  put_others(f, stm->binders, stm->binder_count);
}

static void move_inner(Mover *f, const KernStm *stm) {
  bool loops = stm->kind == KERN_WHILE;
  if (loops) put_others(f, stm->u.loop.params, stm->u.loop.param_count);
  f->depth += loops;
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks)
    move_block(f, *block);
  f->depth -= loops;
  put_others(f, stm->binders, stm->binder_count);
}

static void move_block(Mover *f, const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_LET)
      put(f, stm->binders[0], motion_of(f, stm->u.term));
    else if (stm->kind == KERN_LOAD)
      move_load(f, stm);
    else if (stm->kind == KERN_STORE)
      move_access(f, &stm->u.store.to);
    else if (stm->kind == KERN_AXIS)
      move_axis(f, stm);
    else
      move_inner(f, stm);
  }
}

void motions_find(const Motions *asked, const Kern *kern) {
  Mover f = { .asked = asked, .known = map_new(NULL) };
  put_space(&f, asked->seg, 0, asked->groups ? 0 : 1);
  if (asked->groups) put_inner_spaces(&f, asked->seg->body);
  move_block(&f, kern->body);
}
