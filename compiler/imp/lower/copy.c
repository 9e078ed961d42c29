// Copies of whole arrays by a kernel, in the order of the copy (copy_cpu.c: on CPUs).
#include "imp/lower/lower.h"

static SegDim new_dim(Code *host, const ImpExp *width) {
  const Var *index = var_new(host->lower->c, name_of(host->lower->c->names, "i"),
                             type_scalar(PRIM_I64), host->b->loc);
  return (SegDim){ index, code_atom(host, width) };
}

static void copy_points(Code *host, const Arr *to, const Arr *from) {
  SegDim *dims = new_array(SegDim, to->rank + 1);
  for (int i = 0; i < to->rank; i++)
    dims[i] = new_dim(host, to->shape[i]);
  const ImpExp *const *at = space_indices(dims, to->rank);
  KernelCode *kernel = kernel_begin(host, host->b->loc);
  Items items = { 0 };
  items_open_space(&items, host, kernel, dims, to->rank);
  imp_store(&items.inner, to->mem, arr_index(to, at),
            arr_load(from, arr_index(from, at)));
  items_close(&items, "copy");
}

void host_copy(Code *host, const Arr *to, const Arr *from) {
  if (layout_transpose(host, to, from)) return;
  if (host->lower->machine->side_by_side)
    copy_points(host, to, from);
  else
    copy_on_cpu(host, to, from);
}

// ---- maps that only copy
//
//   segmap <i < n> { x = xs[:, i] in {x} }   =   a copy of xs with its dimensions swapped

enum { MAX_RANK = 16 };

// A view in the body: the dimensions of `arr` that the space's indices walk over, and the others.
typedef struct BodyView {
  const Var *name;
  Arr arr;
  int walked_by[MAX_RANK];  // per dimension of arr: the space's dimension, or -1
  unsigned used;            // the space's dimensions among them
} BodyView;

static int space_dimension(const SegOp *seg, Atom index) {
  for (int i = 0; i < seg->dim_count; i++)
    if (index.kind == ATOM_VAR && index.u.var == seg->dims[i].index) return i;
  return -1;
}

// The view for xs[dims]; false if an index walks over two dimensions.
static bool index_view(const SegOp *seg, BodyView *view, const DimIndex *dims) {
  DimIndex all[MAX_RANK];
  int kept = 0, next = 0;
  for (int i = 0; i < view->arr.rank; i++) {
    int space = view->walked_by[i];
    if (space < 0) {
      all[i] = dims[next++];
      space = all[i].is_slice ? -1 : space_dimension(seg, all[i].start);
      if (space >= 0 && view->used & 1u << space) return false;
    }
    if (space >= 0) {
      all[i] = dim_slice(atom_i64(0), seg->dims[space].width, atom_i64(1));
      view->used |= 1u << space;
    }
    if (all[i].is_slice) view->walked_by[kept++] = space;
  }
  view->arr = arr_slice(&view->arr, all);
  return true;
}

static void permute_view(BodyView *view, const int *perm) {
  int others[MAX_RANK], all[MAX_RANK], count = 0, next = 0;
  for (int i = 0; i < view->arr.rank; i++)
    if (view->walked_by[i] < 0) others[count++] = i;
  for (int i = 0; i < view->arr.rank; i++)
    all[i] = view->walked_by[i] < 0 ? others[perm[next++]] : i;
  view->arr = arr_permute(&view->arr, all);
}

// Rows of several dimensions that lie in one, as rows of one; or other names of their sizes.
static bool reshape_view(BodyView *view, CoreType type) {
  int rows[MAX_RANK], count = 0, kept = 0;
  for (int d = 0; d < view->arr.rank; d++)
    if (view->walked_by[d] < 0) rows[count++] = d;
  if (type.rank != count && (type.rank != 1 || !count)) return false;
  const ImpExp **shape = new_array(const ImpExp *, view->arr.rank + 1),
               **strides = new_array(const ImpExp *, view->arr.rank + 1);
  for (int d = 0, row = 0; d < view->arr.rank; d++) {
    bool walked = view->walked_by[d] >= 0, last = row == count - 1;
    bool stays = walked || type.rank == count || last;
    if (!stays && !arr_lies_in_one(&view->arr, d, rows[row + 1])) return false;
    if (stays) {
      shape[kept] =
          walked ? view->arr.shape[d] : imp_atom(type.dims[type.rank == count ? row : 0]);
      strides[kept] = view->arr.strides[d];
      view->walked_by[kept++] = view->walked_by[d];
    }
    row += !walked;
  }
  for (int d = kept; d < view->arr.rank; d++)
    view->walked_by[d] = -1;
  view->arr.rank = kept;
  view->arr.shape = shape;
  view->arr.strides = strides;
  return true;
}

// What the body's statement makes a view of: one of the `count` views, or an array from outside.
static BodyView body_view_of(Code *host, const BodyView *views, int count, Atom array) {
  for (int i = 0; i < count; i++)
    if (array.u.var == views[i].name) return views[i];
  BodyView view = { .arr = *code_array(host, array) };
  for (int i = 0; i < MAX_RANK; i++)
    view.walked_by[i] = -1;
  return view;
}

static bool add_view(Code *host, const SegOp *seg, BodyView *views, int count,
                     const Stm *stm) {
  const Exp *exp = stm->exp;
  bool index = exp->kind == EXP_INDEX && !exp->u.index.checked;
  bool turns = exp->kind == EXP_REARRANGE;
  if (!index && !turns && exp->kind != EXP_RESHAPE) return false;
  Atom array = index   ? exp->u.index.array
               : turns ? exp->u.rearrange.array
                       : exp->u.reshape.array;
  if (array.kind != ATOM_VAR || array.u.var->type.rank == 0 ||
      array.u.var->type.rank + seg->dim_count > MAX_RANK)
    return false;
  BodyView view = body_view_of(host, views, count, array);
  view.name = stm->binders[0];
  if (turns) permute_view(&view, exp->u.rearrange.perm);
  if (index && !index_view(seg, &view, exp->u.index.dims)) return false;
  bool reshapes = exp->kind == EXP_RESHAPE;
  if (reshapes && !reshape_view(&view, stm->binders[0]->type)) return false;
  views[count] = view;
  return true;
}

// The result as an array: the space's dimensions first.  NULL if it does not depend on all of them.
static const Arr *whole_result(const SegOp *seg, const BodyView *views, Atom result) {
  const BodyView *view = NULL;
  for (int i = 0; i < seg->body->stm_count; i++)
    if (result.kind == ATOM_VAR && result.u.var == views[i].name) view = &views[i];
  if (!view || view->used != (1u << seg->dim_count) - 1) return NULL;
  int perm[MAX_RANK], next = seg->dim_count;
  for (int i = 0; i < view->arr.rank; i++)
    perm[view->walked_by[i] >= 0 ? view->walked_by[i] : next++] = i;
  Arr whole = arr_permute(&view->arr, perm);
  return mem_copy(&whole, sizeof whole);
}

const Arr **copied_by_segmap(Code *k, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  const Body *body = seg->body;
  BodyView *views = new_array(BodyView, body->stm_count + 1);
  const Arr **sources = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0; i < body->stm_count; i++)
    if (!add_view(k, seg, views, i, &body->stms[i])) return NULL;
  for (int i = 0; i < stm->binder_count; i++) {
    sources[i] = whole_result(seg, views, body->results[i]);
    if (!sources[i]) return NULL;
  }
  return sources;
}

bool lower_copying_segmap(Code *host, const Stm *stm) {
  const Arr **sources = copied_by_segmap(host, stm);
  for (int i = 0; sources && i < stm->binder_count; i++) {
    const Arr *out = host_out(host, stm->binders[i]);
    host_copy(host, out, sources[i]);
    code_bind(host, stm->binders[i], *out);
  }
  return sources != NULL;
}
