#include "kern/view.h"
#include "kern/sums.h"

static int tensor_rank(const View *v) { return v->tensor ? v->tensor->rank : 1; }

View view_of(const Tensor *t) {
  const Term **start = new_array(const Term *, t->rank + 1);
  const Term **stride = new_array(const Term *, t->rank + 1);
  int *dim = new_array(int, t->rank + 1);
  for (int i = 0; i < t->rank; i++) {
    start[i] = term_i64(0);
    stride[i] = term_i64(1);
    dim[i] = i;
  }
  return (View){ .tensor = t,
                 .elem = t->elem,
                 .rank = t->rank,
                 .shape = t->dims,
                 .start = start,
                 .dim = dim,
                 .stride = stride };
}

View view_virtual(PrimType elem, const Term *const *shape, const Term *first,
                  const Term *step) {
  const Term **start = new_array(const Term *, 1), **stride = new_array(const Term *, 1);
  start[0] = term_i64(0);
  stride[0] = term_i64(1);
  return (View){ .elem = elem,
                 .rank = 1,
                 .shape = shape,
                 .start = start,
                 .dim = new_array(int, 1),
                 .stride = stride,
                 .first = first,
                 .step = step };
}

static const Term **copy_start(const View *v) {
  const Term **start = new_array(const Term *, tensor_rank(v) + 1);
  for (int d = 0; d < tensor_rank(v); d++)
    start[d] = v->start[d];
  return start;
}

View view_peel(const View *v, const Term *const *indices, int count) {
  View out = *v;
  const Term **start = copy_start(v);
  for (int i = 0; i < count; i++)
    start[v->dim[i]] = term_add(start[v->dim[i]], term_mul(indices[i], v->stride[i]));
  out.start = start;
  out.rank -= count;
  out.shape += count;
  out.dim += count;
  out.stride += count;
  return out;
}

View view_at(const View *v, const Term *index) { return view_peel(v, &index, 1); }

View view_slice(const View *v, const DimIndex *dims) {
  View out = *v;
  const Term **start = copy_start(v);
  const Term **shape = new_array(const Term *, v->rank + 1);
  const Term **stride = new_array(const Term *, v->rank + 1);
  int *dim = new_array(int, v->rank + 1);
  out.rank = 0;
  for (int i = 0; i < v->rank; i++) {
    int d = v->dim[i];
    start[d] = term_add(start[d], term_mul(term_atom(dims[i].start), v->stride[i]));
    if (!dims[i].is_slice) continue;
    shape[out.rank] = term_atom(dims[i].count);
    stride[out.rank] = term_mul(term_atom(dims[i].stride), v->stride[i]);
    dim[out.rank++] = d;
  }
  out.start = start;
  out.shape = shape;
  out.stride = stride;
  out.dim = dim;
  return out;
}

View view_renamed(const View *v, const Term *const *shape) {
  View out = *v;
  out.shape = shape;
  return out;
}

View view_rows(const View *v, const Term *from, const Term *count) {
  View out = *v;
  const Term **start = copy_start(v);
  const Term **shape = new_array(const Term *, v->rank + 1);
  start[v->dim[0]] = term_add(start[v->dim[0]], term_mul(from, v->stride[0]));
  for (int i = 0; i < v->rank; i++)
    shape[i] = i == 0 ? count : v->shape[i];
  out.start = start;
  out.shape = shape;
  return out;
}

View view_permute(const View *v, const int *perm) {
  View out = *v;
  const Term **shape = new_array(const Term *, v->rank + 1);
  const Term **stride = new_array(const Term *, v->rank + 1);
  int *dim = new_array(int, v->rank + 1);
  for (int i = 0; i < v->rank; i++) {
    shape[i] = v->shape[perm[i]];
    stride[i] = v->stride[perm[i]];
    dim[i] = v->dim[perm[i]];
  }
  out.shape = shape;
  out.stride = stride;
  out.dim = dim;
  return out;
}

const Term *const *view_shape(CoreType type) {
  const Term **shape = new_array(const Term *, type.rank + 1);
  for (int i = 0; i < type.rank; i++)
    shape[i] = term_atom(type.dims[i]);
  return shape;
}

// ---- from accesses

static const Term *without_var(void *state, const Var *var) {
  return var == state ? term_i64(0) : NULL;
}

static int var_within(const Term *t, const Var *const *vars, int count) {
  for (int k = 0; k < count; k++)
    if (term_mentions(t, vars[k])) return k;
  return -1;
}

bool view_by_index(const Tensor *tensor, const Term *const *index, const Var *const *vars,
                   const Term *const *shape, int rank, View *out) {
  const Term **start = new_array(const Term *, tensor->rank + 1);
  const Term **stride = new_array(const Term *, rank + 1);
  int *dim = new_array(int, rank + 1), used = 0;
  for (int d = 0; d < tensor->rank; d++) {
    int k = var_within(index[d], vars, rank);
    start[d] = index[d];
    if (k < 0) continue;
    IndexSum sum;
    if (stride[k] || !sum_of(index[d], &sum) || !sum_factor(&sum, vars[k])) return false;
    start[d] = term_replace(index[d], without_var, (void *)(uintptr_t)vars[k]);
    if (var_within(start[d], vars, rank) >= 0) return false;
    stride[k] = term_i64(sum_factor(&sum, vars[k]));
    dim[k] = d;
    used++;
  }
  *out = (View){ .tensor = tensor,
                 .elem = tensor->elem,
                 .rank = rank,
                 .shape = shape,
                 .start = start,
                 .dim = dim,
                 .stride = stride };
  return used == rank;
}

// ---- reshaping

// The first dimension of the tensor that the view walks over, if it walks over that and all after
// it, whole and in order: its elements then lie side by side.  -1 if not.  Of a tensor's first
// dimension a beginning will do, but where dimensions before it are kept, it says how far apart
// their elements are.
static int dense_from(const View *v) {
  const Tensor *t = v->tensor;
  int first = t->rank - v->rank;
  if (first < 0 || t->order) return -1;
  for (int i = 0; i < v->rank; i++) {
    int d = first + i;
    if (v->dim[i] != d || !term_is_i64(v->stride[i], 1)) return -1;
    if (!term_is_i64(v->start[d], 0)) return -1;
    if (d > 0 && !term_same(v->shape[i], t->dims[d])) return -1;
  }
  return first;
}

// One virtual dimension, walked over row by row.
static View reshape_virtual(const View *v, const Term *const *shape, int rank) {
  View out = *v;
  const Term **stride = new_array(const Term *, rank + 1);
  const Term *step = v->rank ? v->stride[v->rank - 1] : term_i64(1);
  for (int i = rank - 1; i >= 0; i--) {
    stride[i] = step;
    step = term_mul(shape[i], step);
  }
  out.rank = rank;
  out.shape = shape;
  out.stride = stride;
  out.dim = new_array(int, rank + 1);
  return out;
}

static bool virtual_is_dense(const View *v) {
  const Term *step = v->rank ? v->stride[v->rank - 1] : term_i64(1);
  for (int i = v->rank - 1; i >= 0; i--) {
    if (!term_same(v->stride[i], step)) return false;
    step = term_mul(v->shape[i], step);
  }
  return true;
}

// What the memory of `t` is under these dims already: a value that was reshaped there and back is
// known to lie where it was.
static const Tensor *known_under(const Tensor *t, const Term *const *dims, int rank) {
  for (t = t->of; t; t = t->of) {
    bool same = t->rank == rank && !t->open;
    for (int d = 0; same && d < rank; d++)
      same = term_same(t->dims[d], dims[d]);
    if (same) return t;
  }
  return NULL;
}

static const Tensor *alias_under(Compiler *c, const Tensor *t, const Term *const *dims,
                                 int rank) {
  const Tensor *known = known_under(t, dims, rank);
  return known ? known
               : new_node(Tensor, .name = t->name, .id = c->next_id++, .elem = t->elem,
                          .rank = rank, .dims = dims, .space = t->space, .of = t);
}

// How many dimensions stay as they are, from the first on (step 1) or the last (-1), one or more of
// either being left.
static int same_dims(const View *v, const Term *const *shape, int rank, int taken,
                     int step) {
  int count = 0, least = rank < v->rank ? rank : v->rank;
  for (; count < least - taken - 1; count++) {
    int mine = step > 0 ? count : v->rank - 1 - count,
        other = step > 0 ? count : rank - 1 - count;
    if (!term_same(v->shape[mine], shape[other])) break;
  }
  return count;
}

// One dimension walked over in rows: its steps are those of the tensor's dimension, wherever it
// begins there.
static bool split_dimension(const View *v, const Term *const *shape, int rank,
                            View *out) {
  if (v->rank == 0 || rank < v->rank) return false;
  int before = same_dims(v, shape, rank, 0, 1),
      behind = same_dims(v, shape, rank, before, -1);
  if (before + 1 + behind != v->rank) return false;
  *out = *v;
  const Term **stride = new_array(const Term *, rank + 1), *step = v->stride[before];
  int *dim = new_array(int, rank + 1);
  for (int i = rank - 1; i >= 0; i--) {
    int mine = i < before ? i : i < rank - behind ? before : i - rank + v->rank;
    dim[i] = v->dim[mine];
    stride[i] = mine == before ? step : v->stride[mine];
    if (mine == before) step = term_mul(shape[i], step);
  }
  out->rank = rank;
  out->shape = shape;
  out->stride = stride;
  out->dim = dim;
  return true;
}

bool view_reshape(Compiler *c, const View *v, const Term *const *shape, int rank,
                  View *out) {
  if (!v->tensor) {
    if (v->step && !virtual_is_dense(v)) return false;
    *out = reshape_virtual(v, shape, rank);
    return true;
  }
  int kept = dense_from(v);
  if (kept < 0) return split_dimension(v, shape, rank, out);
  const Term **dims = new_array(const Term *, kept + rank + 1);
  for (int i = 0; i < kept; i++)
    dims[i] = v->tensor->dims[i];
  for (int i = 0; i < rank; i++)
    dims[kept + i] = shape[i];
  View whole = view_of(alias_under(c, v->tensor, dims, kept + rank));
  *out = view_peel(&whole, v->start, kept);
  return true;
}

// ---- elements

bool view_same(const View *a, const View *b) {
  if (a == b) return true;
  if (a->tensor != b->tensor || a->rank != b->rank || !a->tensor) return false;
  for (int d = 0; d < a->tensor->rank; d++)
    if (!term_same(a->start[d], b->start[d])) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dim[i] != b->dim[i] || !term_same(a->stride[i], b->stride[i])) return false;
  return true;
}

const Term *view_count(const View *v) {
  const Term *count = term_i64(1);
  for (int i = 0; i < v->rank; i++)
    count = term_mul(count, v->shape[i]);
  return count;
}

Access view_access(const View *v, const Term *const *indices) {
  View at = view_peel(v, indices, v->rank);
  return (Access){ at.tensor, at.start };
}

const Term *view_element(const View *v) {
  if (!v->step) return v->first;
  const Term *at = term_convert(v->elem, v->start[0]);
  bool counts = term_same(v->first, term_const(prim_zero(v->elem))) &&
                term_same(v->step, term_const(prim_one(v->elem)));
  if (counts) return at;
  if (v->elem == PRIM_I64) return term_add(term_mul(at, v->step), v->first);
  return term_op2(OP_ADD, term_op2(OP_MUL, at, v->step), v->first);
}

const Term *view_load(KernBuilder *b, const char *name, const View *v,
                      const Term *const *indices) {
  if (!v->tensor) {
    View at = view_peel(v, indices, v->rank);
    return view_element(&at);
  }
  const Var *var =
      var_new(b->c, name_of(b->c->names, name), type_scalar(v->elem), b->loc);
  kern_load_var(b, var, view_access(v, indices));
  return term_var(var);
}
