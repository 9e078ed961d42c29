// spread: no change; the recipe is for arrays whose rows do not push each other out of the cache.
//
// Lanes that each go along a row of their own store to a line of each row, again and again.  Where
// rows begin a multiple of 4096 bytes apart, all of these lines belong into one set of the first
// cache, which has room for 8 or 12 of them: each store then waits for a line, one after the other.
// Loads wait together, and do not mind.  Fewer lanes have room.
#include "kern/kern_vary.h"
#include "kern/steps/step.h"

enum {
  TURN = 4096,      // bytes after which the sets begin again
  MOST_MEET = 16,   // so many rows need two sets at least, of 8 lines or more
  LEAST_APART = 8,  // then they begin so many bytes apart, within their sets
  MOST_LOCKS = 16,  // as kern_vary.h has
};

typedef struct RowSpread {
  const Kern *kern;
  const Vary *vary;  // NULL: outside of lanes and registers
  const Axis *locks[MOST_LOCKS];
  int lock_count;
  bool in_loop;
  const Term *condition;
} RowSpread;

// How many elements neighbours of a dimension lie apart.
static const Term *elements_apart(const Tensor *t, int dim) {
  const Term *apart = term_i64(1);
  for (int i = t->rank - 1; i >= 0; i--) {
    int d = t->order ? t->order[i] : i;
    if (d == dim) break;
    apart = term_mul(apart, t->dims[d]);
  }
  return apart;
}

// The dimension along which the lanes lie, each a row further; -1: they are neighbours, or
// somewhere.
static int dim_of_lanes(const RowSpread *x, const Access *to) {
  int found = -1;
  for (int d = 0; d < to->tensor->rank; d++) {
    Affine a;
    if (!vary_affine(x->vary, to->index[d], &a)) return -1;
    if (term_is_i64(a.step, 0)) continue;
    if (found >= 0 || !term_is_i64(a.step, 1)) return -1;
    found = d;
  }
  return found == tensor_unit_dim(to->tensor) ? -1 : found;
}

// Points that store at once, each to its row.
static int64_t rows_at_once(const RowSpread *x, const Term *index) {
  int64_t rows = 1;
  for (int i = 0; i < x->lock_count; i++)
    if (vary_term(x->vary, index) & vary_axis(x->vary, x->locks[i]))
      rows *= x->locks[i]->width->u.constant.u.i;
  return rows;
}

static void see_store(RowSpread *x, const Access *to) {
  const Tensor *t = to->tensor;
  if (tensor_root(t)->space != TENSOR_GLOBAL || t->rank < 2) return;
  int dim = dim_of_lanes(x, to);
  int64_t rows = dim < 0 ? 0 : rows_at_once(x, to->index[dim]);
  if (rows < MOST_MEET) return;
  const Term *apart = elements_apart(t, dim);
  if (!kern_host_knows(x->kern, apart)) return;
  int64_t groups = rows / MOST_MEET, near = groups * (LEAST_APART - 1);
  const Term *bytes = term_mul(apart, term_i64(groups * prim_size_bytes(t->elem)));
  const Term *place = term_op2(OP_REM, term_add(bytes, term_i64(near)), term_i64(TURN));
  const Term *spread = term_less(term_i64(2 * near), place);
  spread =
      term_or(term_less(bytes, term_i64(TURN / 2)), spread);  // short rows share lines
  x->condition = term_and(x->condition, spread);
}

// What is in a statement stands in lockstep, or in a loop, beside what is around it.
static void see_stm(RowSpread *x, const KernStm *stm) {
  RowSpread inner = *x;
  if (kern_is_lock(stm)) {
    if (!inner.vary) inner.vary = vary_stm(stm);
    if (inner.lock_count < MOST_LOCKS) inner.locks[inner.lock_count++] = stm->u.axis;
  } else if (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE) {
    inner.in_loop = inner.vary != NULL;
  }
  if (stm->kind == KERN_STORE && x->in_loop) see_store(&inner, &stm->u.store.to);
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks)
    for (int i = 0; i < (*block)->count; i++)
      see_stm(&inner, &(*block)->stms[i]);
  x->condition = inner.condition;
}

const Term *step_rows_spread(const Kern *kern) {
  RowSpread x = { .kern = kern, .condition = term_bool(true) };
  for (int i = 0; i < kern->body->count; i++)
    see_stm(&x, &kern->body->stms[i]);
  return x.condition;
}
