// axis a { .. if c { x = t[i]; .. } }   =>   x = t[i];  axis a { .. if c { .. } }
//
// where i is the index of an axis around `a` as wide as the array, or a constant below its constant
// width, so that the load is inside of it whether the branch is taken or not, and the kernel stores
// nothing there.
// Why: conditions on what was loaded are then the same at all points of `a`, or affine in its
// index, which `cut`, `unswitch` and `interior` know how to use.
#include "kern/tidy/tidy.h"

typedef struct EarlyLoads {
  KernMapper mapper;
  Map *widths;  // Var -> const Term *: indices of axes
  Map *stored;  // Tensor -> itself: memory of stores
  Map *within;  // Var -> itself: bound in the axis at hand
  Vec(KernStm) early;
  Map *moved;  // Var -> itself: what such loads bind
} EarlyLoads;

static void see_stored_memory(KernVisitor *v, Access access, bool stores) {
  const Tensor *root = tensor_root(access.tensor);
  if (stores) map_put(v->state, root, root);
}

// An index may have another name, in the body of its axis.
static void see_axis_width(KernVisitor *v, const KernStm *stm) {
  Map *widths = v->state;
  if (stm->kind == KERN_AXIS) map_put(widths, stm->u.axis->index, stm->u.axis->width);
  if (stm->kind != KERN_LET || stm->u.term->kind != TERM_VAR) return;
  const Term *width = map_get(widths, stm->u.term->u.var);
  if (width) map_put(widths, stm->binders[0], width);
}

static void see_bound_within(KernVisitor *v, const Var *var) {
  map_put(v->state, var, var);
}

// Is it a constant below a constant?
static bool is_constant_place(const Term *at, const Term *dim) {
  return at->kind == TERM_CONST && dim->kind == TERM_CONST && at->u.constant.u.i >= 0 &&
         at->u.constant.u.i < dim->u.constant.u.i;
}

static bool is_early(const EarlyLoads *l, const Access *access) {
  const Tensor *t = access->tensor;
  if (t->space != TENSOR_GLOBAL || map_has(l->stored, tensor_root(t))) return false;
  for (int i = 0; i < t->rank; i++) {
    const Term *at = access->index[i];
    const Term *width = at->kind == TERM_VAR ? map_get(l->widths, at->u.var) : NULL;
    bool inside = width && !map_has(l->within, at->u.var) && term_same(width, t->dims[i]);
    if (!inside && !is_constant_place(at, t->dims[i])) return false;
  }
  return true;
}

static void see_early_load(KernVisitor *v, const KernStm *stm) {
  EarlyLoads *l = v->state;
  if (stm->kind != KERN_LOAD || map_has(l->moved, stm->binders[0]) ||
      !is_early(l, &stm->u.load))
    return;
  vec_push(&l->early, *stm);
  map_put(l->moved, stm->binders[0], stm->binders[0]);
}

// The loads of the axis that go before it.
static void add_early_loads(EarlyLoads *l, KernBuilder *b, const KernStm *stm) {
  KernVisitor bound = { .binder = see_bound_within, .state = map_new(NULL) };
  kern_visit_stm(&bound, stm);
  l->within = bound.state;
  l->early.count = 0;
  KernVisitor v = { .stm = see_early_load, .state = l };
  kern_visit_block(&v, stm->u.axis->body);
  vec_each (const KernStm *, load, &l->early)
    kern_add(b, *load);
}

static const KernBlock *load_early(KernMapper *m, const KernBlock *block) {
  EarlyLoads *l = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (stm->kind == KERN_LOAD && map_has(l->moved, stm->binders[0])) continue;
    if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ)
      add_early_loads(l, &b, stm);
    kern_add(&b, kern_map_stm(m, stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_load_early(Compiler *c, const Kern *kern) {
  EarlyLoads l = { .mapper = { .c = c, .block = load_early },
                   .widths = map_new(NULL),
                   .stored = map_new(NULL),
                   .moved = map_new(NULL) };
  l.mapper.state = &l;
  KernVisitor stores = { .access = see_stored_memory, .state = l.stored },
              axes = { .stm = see_axis_width, .state = l.widths };
  kern_visit_block(&stores, kern->body);
  kern_visit_block(&axes, kern->body);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = load_early(&l.mapper, kern->body);
  return out;
}
