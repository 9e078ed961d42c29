// Kernels that only copy an array, with its dimensions in another order: transpositions, by
// whatever program.
//
//   axis i < n { axis j < m { x = a[j, i]  out[i, j] = x } }   =   a copy of a view of `a`
//
// Why: such copies go through squares of vectors, or through short dimensions
// (copy_cpu.c), wherever the dimensions stand.
#include "imp/lower/kern.h"
#include "kern/sums.h"

enum { MOST_AXES = 8 };

typedef struct Permuted {
  const Axis *axes[MOST_AXES];
  int count;
  Map *lets;  // Var -> const Term *
  const Access *load, *store;
} Permuted;

static bool add_axis(Permuted *p, const Axis *axis) {
  if (axis->role != AXIS_MAP || p->count == MOST_AXES) return false;
  p->axes[p->count++] = axis;
  return true;
}

static const Term *let_of(void *state, const Var *var) { return map_get(state, var); }

static bool add_let(Permuted *p, const KernStm *stm) {
  if (stm->u.term->type != PRIM_I64) return false;
  map_put(p->lets, stm->binders[0], term_replace(stm->u.term, let_of, p->lets));
  return true;
}

static bool find_moved(Permuted *p, const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    bool last = i == block->count - 1;
    if (stm->kind == KERN_AXIS && last)
      return add_axis(p, stm->u.axis) && find_moved(p, stm->u.axis->body);
    if (stm->kind == KERN_LET && add_let(p, stm)) continue;
    if (stm->kind == KERN_LOAD && !p->load) {
      p->load = &stm->u.load;
      map_put(p->lets, stm->binders[0], term_var(stm->binders[0]));
      continue;
    }
    if (stm->kind != KERN_STORE || !last || !p->load || i == 0) return false;
    const KernStm *load = &block->stms[i - 1];
    p->store = &stm->u.store.to;
    return load->kind == KERN_LOAD && stm->u.store.value->kind == TERM_VAR &&
           stm->u.store.value->u.var == load->binders[0];
  }
  return false;
}

static int axis_of(const Permuted *p, const Term *t) {
  for (int i = 0; i < p->count && t->kind == TERM_VAR; i++)
    if (p->axes[i]->index == t->u.var) return i;
  return -1;
}

static bool mentions_axes(const Permuted *p, const Term *t) {
  for (int i = 0; i < p->count; i++)
    if (term_mentions(t, p->axes[i]->index)) return true;
  return false;
}

// Adds the dimension's index to the view's strides and offset, by the dimension's stride; false: it
// is no sum of multiples of indices and of what the host knows.
static bool add_index(KernCode *host, const Permuted *p, const Term *index,
                      const ImpExp *stride, Arr *view, const ImpExp **strides) {
  IndexSum sum;
  if (!sum_of(term_replace(index, let_of, p->lets), &sum)) return false;
  view->offset = imp_add(view->offset, imp_mul(imp_i64(sum.constant), stride));
  for (int k = 0; k < sum.count; k++) {
    const ImpExp *step = imp_mul(imp_i64(sum.by[k]), stride);
    int axis = axis_of(p, sum.at[k]);
    if (axis < 0 && mentions_axes(p, sum.at[k])) return false;
    if (axis >= 0)
      strides[axis] = imp_add(strides[axis], step);
    else
      view->offset = imp_add(view->offset, imp_mul(lower_scalar(host, sum.at[k]), step));
  }
  return true;
}

// The array as the axes go through it.
static bool walked_view(KernCode *host, const Permuted *p, const Access *access,
                        Arr *view) {
  const Arr *arr = memory_at(host, access->tensor);
  const ImpExp **strides = new_array(const ImpExp *, p->count + 1),
               **shape = new_array(const ImpExp *, p->count + 1);
  *view = *arr;
  if (!arr->mem || arr->mem->lanes) return false;
  for (int i = 0; i < p->count; i++) {
    strides[i] = imp_i64(0);
    shape[i] = lower_scalar(host, p->axes[i]->width);
  }
  view->rank = p->count;
  view->strides = strides;
  view->shape = shape;
  for (int d = 0; d < arr->rank; d++)
    if (!add_index(host, p, access->index[d], arr->strides[d], view, strides))
      return false;
  return true;
}

static bool is_turned(const Permuted *p) {
  int before = -1;
  for (int d = 0; d < p->load->tensor->rank; d++) {
    const Term *index = term_replace(p->load->index[d], let_of, p->lets);
    for (int i = 0; i < p->count; i++) {
      if (!term_mentions(index, p->axes[i]->index)) continue;
      if (i < before) return true;
      before = i;
    }
  }
  return false;
}

bool lower_permuted(KernCode *host, const Kern *kern) {
  Permuted p = { .lets = map_new(NULL) };
  Arr to, from;
  if (!find_moved(&p, kern->body) || p.load->tensor->spare ||
      !walked_view(host, &p, p.store, &to) || !walked_view(host, &p, p.load, &from) ||
      to.mem == from.mem || !is_turned(&p) || !copy_by_rows(&to, &from))
    return false;
  host_copy(host->k, &to, &from);
  return true;
}
