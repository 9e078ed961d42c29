#include "kern/kern.h"

KernBuilder kern_builder(Compiler *c, Loc loc) {
  return (KernBuilder){ .c = c, .loc = loc };
}

void kern_expect(KernBuilder *b, int count) {
  b->stms.at = new_array(KernStm, count + 1);
  b->stms.capacity = count + 1;
}

void kern_add(KernBuilder *b, KernStm stm) {
  if (!stm.loc.file) stm.loc = b->loc;
  vec_push(&b->stms, stm);
}

const KernBlock *kern_block(const KernBuilder *b, const Term *const *results, int count) {
  return new_node(KernBlock, .stms = b->stms.at, .count = b->stms.count,
                  .results = results, .result_count = count);
}

const Var *kern_index(Compiler *c, const char *name, Loc loc) {
  return var_new(c, name_of(c->names, name), type_scalar(PRIM_I64), loc);
}

// One binder, as an array of its own.
static const Var *const *only(const Var *var) {
  const Var **binders = new_array(const Var *, 1);
  binders[0] = var;
  return binders;
}

void kern_let_var(KernBuilder *b, const Var *binder, const Term *value) {
  kern_add(b, (KernStm){ .kind = KERN_LET,
                         .binders = only(binder),
                         .binder_count = 1,
                         .u.term = value });
}

const Term *kern_let(KernBuilder *b, const char *name, const Term *value) {
  if (value->kind == TERM_CONST || value->kind == TERM_VAR) return value;
  const Var *var =
      var_new(b->c, name_of(b->c->names, name), type_scalar(value->type), b->loc);
  kern_let_var(b, var, value);
  return term_var(var);
}

void kern_load_var(KernBuilder *b, const Var *binder, Access from) {
  kern_add(b, (KernStm){ .kind = KERN_LOAD,
                         .binders = only(binder),
                         .binder_count = 1,
                         .u.load = from });
}

void kern_store(KernBuilder *b, Access to, const Term *value) {
  kern_add(b, (KernStm){ .kind = KERN_STORE, .u.store = { to, value } });
}

void kern_axis(KernBuilder *b, Axis axis, const Var *const *binders, int count) {
  kern_add(b, (KernStm){ .kind = KERN_AXIS,
                         .binders = binders,
                         .binder_count = count,
                         .u.axis = mem_copy(&axis, sizeof axis) });
}

const Tensor *tensor_new(Compiler *c, const char *name, PrimType elem,
                         const Term *const *dims, int rank, TensorSpace space) {
  return new_node(Tensor, .name = name_of(c->names, name), .id = c->next_id++,
                  .elem = elem, .rank = rank, .dims = dims, .space = space);
}

const Tensor *tensor_view(Compiler *c, const Tensor *of, const Term *const *dims,
                          int rank) {
  Tensor *view =
      mem_copy(tensor_new(c, of->name, of->elem, dims, rank, of->space), sizeof *view);
  view->of = of;
  return view;
}

const Tensor *tensor_rows_joined(Compiler *c, Map *views, const Tensor *t) {
  const Tensor *known = map_get(views, t);
  if (known) return known;
  const Term **dims = new_array(const Term *, t->rank);
  for (int d = 0; d < t->rank - 1; d++)
    dims[d] = t->dims[d];
  dims[t->rank - 2] = term_mul(t->dims[t->rank - 2], t->dims[t->rank - 1]);
  const Tensor *view = tensor_view(c, t, dims, t->rank - 1);
  map_put(views, t, view);
  return view;
}

const Tensor *tensor_root(const Tensor *t) {
  while (t->of)
    t = t->of;
  return t;
}

bool kern_same_access(const Access *a, const Access *b) {
  if (a->tensor != b->tensor) return false;
  for (int d = 0; d < a->tensor->rank; d++)
    if (!term_same(a->index[d], b->index[d])) return false;
  return true;
}

int tensor_unit_dim(const Tensor *t) {
  if (t->rank == 0) return -1;
  return t->order ? t->order[t->rank - 1] : t->rank - 1;
}

bool kern_commutes(const Axis *axis) {
  for (int i = 0; i < axis->op_count; i++)
    if (!axis->ops[i].commutative) return false;
  return true;
}

enum { MOST_BRANCHES = 6 };  // and lets, that a bin goes through

static bool is_below_0(const Term *t) {
  return t->kind == TERM_CONST && t->u.constant.u.i < 0;
}

static const KernStm *binder_of(const KernBlock *block, const Term *t) {
  for (int i = 0; t->kind == TERM_VAR && i < block->count; i++)
    for (int k = 0; k < block->stms[i].binder_count; k++)
      if (block->stms[i].binders[k] == t->u.var) return &block->stms[i];
  return NULL;
}

// Is it a constant below 0 in one of its branches, of which there are so many at most?
static bool is_none_in_branch(const KernBlock *block, const Term *t, int depth) {
  const KernStm *stm = binder_of(block, t);
  if (stm && stm->kind == KERN_LET && depth)
    return is_none_in_branch(block, stm->u.term, depth - 1);
  if (stm && stm->kind == KERN_IF) {
    int k = 0;
    while (stm->binders[k] != t->u.var)
      k++;
    const Term *a = stm->u.cond.then_block->results[k],
               *b = stm->u.cond.else_block->results[k];
    return is_below_0(a) || is_below_0(b);
  }
  if (t->kind != TERM_SELECT || !depth) return false;
  const Term *a = t->u.select.a, *b = t->u.select.b;
  return is_below_0(a) || is_below_0(b) || is_none_in_branch(block, a, depth - 1) ||
         is_none_in_branch(block, b, depth - 1);
}

bool kern_may_be_none(const Axis *axis, int hist) {
  return is_none_in_branch(axis->body, axis->body->results[hist], MOST_BRANCHES);
}

bool kern_is_lock(const KernStm *stm) {
  if (stm->kind != KERN_AXIS) return false;
  return stm->u.axis->bind == BIND_LANE || stm->u.axis->bind == BIND_REG;
}

int kern_sum_count(const Axis *axis) {
  int count = 0;
  for (int i = 0; i < axis->op_count; i++)
    count += axis->ops[i].count;
  return count;
}
