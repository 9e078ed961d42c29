// if 0 < i { x = t[i - 1] in {x} } else {0}
//   =>   x = t[min(max(i - 1, 0), n - 1)]   select(0 < i, x, 0)     where 1 <= n
//
// Why: code for GPUs.  Loads under conditions are not shared between points, and the items of a
// warp wait for both branches anyway.  For conditions on indices alone: most points go one way, and
// of what depends on data the loads of the other may be many.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

enum { MOST_CLAMPED = 48 };  // statements of both branches

// The index of a dimension, and what it is when it is inside.
typedef struct ClampedIndex {
  const Term *at, *dim, *inside;
} ClampedIndex;

typedef struct Clamping {
  KernMapper mapper;
  Map *widths;  // Var -> const Term *: indices of axes
  Map *data;  // Var -> itself: what does not follow from indices and scalars of the host
  const Term *condition;
} Clamping;

// ---- branches that may run at all points

// By zero, or the least number by -1.
static bool may_trap(const Term *t) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  PrimOp op = t->kind == TERM_OP ? t->u.op.op : OP_COUNT;
  bool divides = op == OP_DIV || op == OP_MOD || op == OP_QUOT || op == OP_REM;
  bool safe =
      divides && operands[1]->kind == TERM_CONST && operands[1]->u.constant.u.i > 0;
  if (divides && prim_is_int(t->type) && !safe) return true;
  for (int i = 0; i < count; i++)
    if (may_trap(operands[i])) return true;
  return false;
}

static bool suits_clamps(const KernStm *stm) {
  if (stm->kind == KERN_LET) return !may_trap(stm->u.term);
  return stm->kind == KERN_LOAD && stm->u.load.tensor->space == TENSOR_GLOBAL &&
         !stm->u.load.tensor->ring;
}

static bool runs_anywhere(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (!suits_clamps(&block->stms[i])) return false;
  return true;
}

static bool may_clamp(const Clamping *s, const KernStm *stm) {
  const KernBlock *a = stm->u.cond.then_block, *b = stm->u.cond.else_block;
  return stm->binder_count && a->count + b->count <= MOST_CLAMPED && runs_anywhere(a) &&
         runs_anywhere(b) && !term_mentions_any(stm->u.cond.condition, s->data);
}

// ---- loads

static bool is_certainly_inside(const Clamping *s, const Term *at, const Term *dim) {
  const Term *width = at->kind == TERM_VAR ? map_get(s->widths, at->u.var) : NULL;
  bool constant = at->kind == TERM_CONST && dim->kind == TERM_CONST &&
                  at->u.constant.u.i >= 0 && at->u.constant.u.i < dim->u.constant.u.i;
  return constant || (width && term_same(width, dim));
}

static void want_element(Clamping *s, const Term *dim) {
  const Term *some = term_at_most(term_i64(1), dim);
  s->condition = s->condition ? term_and(s->condition, some) : some;
}

typedef Vec(ClampedIndex) ClampedIndices;
typedef Vec(const Term *) ClampedDims;

static bool is_clamped(const ClampedDims *dims, const Term *dim) {
  vec_each (const Term *const *, one, dims)
    if (term_same(*one, dim)) return true;
  return false;
}

// The dimensions in which loads may leave their arrays.
static void find_dims(Clamping *s, const KernBlock *block, ClampedDims *dims) {
  for (int i = 0; i < block->count; i++) {
    const Access *load = &block->stms[i].u.load;
    if (block->stms[i].kind != KERN_LOAD) continue;
    for (int d = 0; d < load->tensor->rank; d++) {
      const Term *dim = load->tensor->dims[d];
      if (is_certainly_inside(s, load->index[d], dim) || is_clamped(dims, dim)) continue;
      vec_push(dims, dim);
      want_element(s, dim);
    }
  }
}

// All indices of such a dimension are clamped: what neighbours read at the same place is the same
// term then.
static const Term *clamped(KernBuilder *b, ClampedIndices *known, const ClampedDims *dims,
                           const Term *at, const Term *dim) {
  if (!is_clamped(dims, dim)) return at;
  vec_each (const ClampedIndex *, one, known)
    if (term_same(one->at, at) && term_same(one->dim, dim)) return one->inside;
  const Term *zero = term_i64(0), *last = term_sub(dim, term_i64(1));
  const Term *inside = kern_let(b, "inside", term_min(term_max(at, zero), last));
  vec_push(known, (ClampedIndex){ at, dim, inside });
  return inside;
}

static void add_straight(KernBuilder *b, ClampedIndices *known, const ClampedDims *dims,
                         const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    KernStm stm = block->stms[i];
    int rank = stm.kind == KERN_LOAD ? stm.u.load.tensor->rank : 0;
    const Term **index = new_array(const Term *, rank + 1);
    for (int d = 0; d < rank; d++)
      index[d] = clamped(b, known, dims, stm.u.load.index[d], stm.u.load.tensor->dims[d]);
    if (stm.kind == KERN_LOAD) stm.u.load.index = index;
    kern_add(b, stm);
  }
}

static void add_clamped(Clamping *s, KernBuilder *b, const KernStm *stm) {
  ClampedIndices known = { 0 };
  ClampedDims dims = { 0 };
  const KernBlock *yes = stm->u.cond.then_block, *no = stm->u.cond.else_block;
  find_dims(s, yes, &dims);
  find_dims(s, no, &dims);
  add_straight(b, &known, &dims, yes);
  add_straight(b, &known, &dims, no);
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(b, stm->binders[i],
                 term_select(stm->u.cond.condition, yes->results[i], no->results[i]));
}

// ---- kernels

// let j = i   for the index i of an axis
static void see_copy(Clamping *s, const KernStm *stm) {
  const Term *t = stm->u.term;
  const Term *width = t->kind == TERM_VAR ? map_get(s->widths, t->u.var) : NULL;
  if (width) map_put(s->widths, stm->binders[0], width);
}

static const KernBlock *clamp_in(KernMapper *m, const KernBlock *block) {
  Clamping *s = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (stm->kind == KERN_AXIS)
      map_put(s->widths, stm->u.axis->index, stm->u.axis->width);
    if (stm->kind == KERN_LET) see_copy(s, stm);
    KernStm mapped = kern_map_stm(m, stm);
    if (stm->kind == KERN_IF && may_clamp(s, &mapped))
      add_clamped(s, &b, &mapped);
    else
      kern_add(&b, mapped);
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_clamp_loads(Compiler *c, const Kern *kern, const Term **condition) {
  Clamping s = { .mapper = { .c = c, .block = clamp_in },
                 .widths = map_new(NULL),
                 .data = kern_data(kern) };
  s.mapper.state = &s;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = clamp_in(&s.mapper, kern->body);
  *condition = s.condition;
  return out;
}
