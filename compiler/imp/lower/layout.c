// Layouts of arrays: an array whose only reader rearranges it (a transpose, mostly) is made in the
// rearranged order, so that the rearrangement costs nothing later; on GPUs, where kernels choose
// layouts for what they read, only if it then leaves the body, so that rows are wanted.
//
// A layout is a hint: arrays carry their strides, and whoever needs another order copies.
#include "imp/lower/lower.h"

typedef struct VarUses {
  CoreVisitor visitor;
  const Var *var;
  int count;
} VarUses;

static void count_atom(CoreVisitor *v, Atom a) {
  VarUses *uses = v->state;
  uses->count += a.kind == ATOM_VAR && a.u.var == uses->var;
}

static void count_body(CoreVisitor *v, const Body *body) { core_visit_body(v, body); }

static int uses_in(const Body *body, const Var *var) {
  VarUses uses = { .visitor = { .atom = count_atom, .body = count_body }, .var = var };
  uses.visitor.state = &uses;
  core_visit_body(&uses.visitor, body);
  return uses.count;
}

static bool is_result(const Body *body, const Var *var) {
  for (int i = 0; i < body->result_count; i++)
    if (atom_equal(body->results[i], atom_var(var))) return true;
  return false;
}

// Does it leave the body, also as what versions have all in common (flat/moved_arrays.c)?
static bool leaves_body(const Body *body, const Var *var) {
  if (is_result(body, var)) return true;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (e->kind == EXP_GUARD && leaves_body(e->u.guard.then_body, var) &&
        is_result(body, body->stms[i].binders[0]))
      return true;
  }
  return false;
}

// What the memory of an array should be rearranged by, of which only that is made; NULL: nothing.
static const int *layout_wanted(const Code *k, const Stm *stm) {
  const int *perm = stm->exp->u.rearrange.perm,
            *outside = map_get(k->layouts, stm->binders[0]);
  if (!outside || !k->lower->machine->side_by_side) return perm;
  int rank = stm->exp->u.rearrange.rank;
  int *both = new_array(int, rank);
  bool same = true;
  for (int d = 0; d < rank; d++) {
    both[d] = perm[outside[d]];
    same = same && both[d] == d;
  }
  return same ? NULL : both;
}

void host_find_layouts(Code *k, const Body *body) {
  bool all = !k->lower->machine->side_by_side;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind != EXP_REARRANGE || exp->u.rearrange.array.kind != ATOM_VAR) continue;
    const Var *array = exp->u.rearrange.array.u.var;
    if (!all && !leaves_body(body, body->stms[i].binders[0])) continue;
    const int *perm = layout_wanted(k, &body->stms[i]);
    if (perm && uses_in(body, array) == 1) map_put(k->layouts, array, perm);
  }
}

void host_pass_layout(Code *k, const Var *binder, Atom result) {
  const int *perm = map_get(k->layouts, binder);
  if (perm && result.kind == ATOM_VAR) map_put(k->layouts, result.u.var, perm);
}

CoreType host_memory_type(Code *k, const Var *binder) {
  const int *perm = map_get(k->layouts, binder);
  CoreType type = binder->type;
  if (!perm) return type;
  Atom *dims = new_array(Atom, type.rank + 1);
  for (int i = 0; i < type.rank; i++)
    dims[i] = binder->type.dims[perm[i]];
  type.dims = dims;
  return type;
}

Arr host_of_memory(Code *k, const Var *binder, Arr memory) {
  const int *perm = map_get(k->layouts, binder);
  if (!perm) return memory;
  int *back = new_array(int, memory.rank + 1);
  for (int i = 0; i < memory.rank; i++)
    back[perm[i]] = i;
  return arr_permute(&memory, back);
}

Arr host_to_memory(Code *k, const Var *binder, const Arr *arr) {
  const int *perm = map_get(k->layouts, binder);
  return perm ? arr_permute(arr, perm) : *arr;
}

const Arr *host_map_out(Code *host, const Var *binder) {
  Arr memory = host_alloc(host, binder->name, host_memory_type(host, binder));
  Arr out = host_of_memory(host, binder, memory);
  return mem_copy(&out, sizeof out);
}

// ---- what is known of arrays that lie somewhere

static bool is_dense_in(const Arr *arr, const int *order) {
  Arr permuted = arr_permute(arr, order);
  return arr_is_dense(&permuted);
}

// The dimensions by stride, where strides tell: those of permuted dense arrays do.
static const int *order_of_arr(const Arr *arr) {
  if (arr->rank < 2 || arr_is_dense(arr)) return NULL;
  int *order = new_array(int, arr->rank);
  for (int i = 0; i < arr->rank; i++)
    order[i] = i;
  // Rotations and swaps of two dimensions are all that hints and copies make.
  for (int a = 0; a < arr->rank; a++)
    for (int b = a + 1; b < arr->rank; b++) {
      order[a] = b;
      order[b] = a;
      if (is_dense_in(arr, order)) return order;
      order[a] = a;
      order[b] = b;
    }
  for (int shift = 1; shift < arr->rank; shift++) {
    for (int i = 0; i < arr->rank; i++)
      order[i] = (i + shift) % arr->rank;
    if (is_dense_in(arr, order)) return order;
  }
  return NULL;
}

static const int *order_of_var(void *state, const Var *var) {
  Code *k = state;
  const Arr *arr = map_get(k->arrays, var);
  return arr ? order_of_arr(arr) : map_get(k->layouts, var);
}

KernHost code_kern_host(Code *k) {
  return (KernHost){ k->views,         k->sizes,     k->lower->scalars,
                     k->lower->rounds, order_of_var, k };
}

KernHost code_kern_host_as_is(Code *k, const Body *body) {
  KernHost host = code_kern_host(k);
  Map *numbers = map_new(NULL);
  VarVec free = core_free_body(body);
  vec_each (const Var **, v, &free) {
    View *view = map_get(host.views, *v);
    if (view && !view->tensor) map_put(numbers, *v, view);
  }
  host.views = numbers;
  return host;
}
