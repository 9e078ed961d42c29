// Copies of whole arrays by a kernel, in the order of the copy.
//
// On a CPU a transposition goes tile by tile, through a private array: both arrays are then touched
// in whole cache lines, whatever the distance of their rows (docs/opencl.md, "Maps and layouts").
#include "imp/lower.h"

enum { TILE = 64, FLAT_RUN = 512 };

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
  Items items = { .least = FLAT_RUN, .independent = true };
  if (host->lower->profile == PROFILE_CPU)
    items_open_runs(&items, host, kernel, dims, to->rank);
  else
    items_open_space(&items, host, kernel, dims, to->rank);
  imp_store(&items.inner, to->mem, arr_index(to, at),
            arr_load(from, arr_index(from, at)));
  items_close(&items, "copy");
}

// The dimension along which the rows of `from` run; -1 if the last one will do.
static int row_dimension(const Arr *to, const Arr *from) {
  int last = to->rank - 1;
  if (imp_is_i64(from->strides[last], 1) || !from->mem) return -1;
  for (int i = 0; i < last; i++)
    if (imp_is_i64(from->strides[i], 1)) return i;
  return -1;
}

// One side of a tile: <index = first + s, s < length>, in a dimension of the arrays.
typedef struct Side {
  SegDim dim;
  const ImpExp *first, *length;
} Side;

static void find_side(Code *k, Side *side, const ImpExp *block) {
  side->first = imp_let(k->b, "first", imp_mul(block, imp_i64(TILE)));
  const ImpExp *length =
      imp_min(imp_i64(TILE), imp_sub(imp_atom(side->dim.width), side->first));
  side->length = imp_let(k->b, "side", length);
}

typedef struct Tile {
  const Arr *to, *from;
  const ImpExp *const *at;  // the element, by the indices of the dimensions
  Side row, column;         // of `to`
  const Mem *mem;           // [column][row]
} Tile;

// for s < outer { for t < inner { tile[s][t] = from (row by row of `from`), or to = tile[t][s] } }
static void tile_loops(const Tile *tile, Code *k, const Side *outer, const Side *inner,
                       bool fill) {
  ImpBuilder around, within;
  const Var *s = code_index(k, "s"), *t = code_index(k, "s");
  Code code_around = code_inner(k, &around),
       code_within = code_inner(&code_around, &within);
  code_bind_scalar(&code_within, outer->dim.index, imp_add(outer->first, imp_var(s)));
  code_bind_scalar(&code_within, inner->dim.index, imp_add(inner->first, imp_var(t)));
  const Var *column = fill ? s : t, *row = fill ? t : s;
  const ImpExp *place = imp_add(imp_mul(imp_var(column), imp_i64(TILE)), imp_var(row));
  if (fill)
    imp_store(&within, tile->mem, place,
              arr_load(tile->from, arr_index(tile->from, tile->at)));
  else
    imp_store(&within, tile->to->mem, arr_index(tile->to, tile->at),
              imp_load(tile->mem, place));
  imp_for(&around, t, inner->length, within.block);
  imp_for(k->b, s, outer->length, around.block);
}

// Reads and writes whole rows, of either array, of one tile.
static void copy_tile(Tile *tile, Code *k, const ImpExp *row_block,
                      const ImpExp *column_block) {
  tile->mem = mem_new(k->lower->c, "tile", MEM_PRIVATE, tile->to->elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_LOCAL,
                              .u.alloc = { tile->mem, imp_i64((int64_t)TILE * TILE) } });
  find_side(k, &tile->row, row_block);
  find_side(k, &tile->column, column_block);
  tile_loops(tile, k, &tile->column, &tile->row, true);
  tile_loops(tile, k, &tile->row, &tile->column, false);
}

// The space: the dimensions of the array but for `across` and the last,
// then the blocks of these two.
static void copy_tiles(Code *host, const Arr *to, const Arr *from, int across) {
  int last = to->rank - 1, outer = 0;
  SegDim *dims = new_array(SegDim, to->rank + 1);
  const ImpExp **at = new_array(const ImpExp *, to->rank + 1);
  Tile tile = { .to = to,
                .from = from,
                .at = at,
                .row.dim = new_dim(host, to->shape[across]),
                .column.dim = new_dim(host, to->shape[last]) };
  for (int i = 0; i < last; i++) {
    if (i == across) continue;
    dims[outer] = new_dim(host, to->shape[i]);
    at[i] = imp_var(dims[outer++].index);
  }
  at[across] = imp_var(tile.row.dim.index);
  at[last] = imp_var(tile.column.dim.index);
  dims[outer] = new_dim(host, imp_ceil_div(to->shape[across], imp_i64(TILE)));
  dims[outer + 1] = new_dim(host, imp_ceil_div(to->shape[last], imp_i64(TILE)));
  KernelCode *kernel = kernel_begin(host, host->b->loc);
  Items items = { .least = 1 };
  items_open_runs(&items, host, kernel, dims, outer + 2);
  copy_tile(&tile, &kernel->code, imp_var(dims[outer].index),
            imp_var(dims[outer + 1].index));
  items_close(&items, "copy_tiles");
}

void host_copy(Code *host, const Arr *to, const Arr *from) {
  if (layout_transpose(host, to, from)) return;
  int across = host->lower->profile == PROFILE_CPU ? row_dimension(to, from) : -1;
  if (to->rank < 2 || across < 0)
    copy_points(host, to, from);
  else
    copy_tiles(host, to, from, across);
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
  if (!index && exp->kind != EXP_REARRANGE) return false;
  Atom array = index ? exp->u.index.array : exp->u.rearrange.array;
  if (array.u.var->type.rank + seg->dim_count > MAX_RANK) return false;
  BodyView view = body_view_of(host, views, count, array);
  view.name = stm->binders[0];
  if (!index) permute_view(&view, exp->u.rearrange.perm);
  if (index && !index_view(seg, &view, exp->u.index.dims)) return false;
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

bool lower_copying_segmap(Code *host, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  const Body *body = seg->body;
  BodyView *views = new_array(BodyView, body->stm_count + 1);
  const Arr **sources = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0; i < body->stm_count; i++)
    if (!add_view(host, seg, views, i, &body->stms[i])) return false;
  for (int i = 0; i < stm->binder_count; i++) {
    sources[i] = whole_result(seg, views, body->results[i]);
    if (!sources[i]) return false;
  }
  for (int i = 0; i < stm->binder_count; i++) {
    const Arr *out = host_out(host, stm->binders[i]);
    host_copy(host, out, sources[i]);
    code_bind(host, stm->binders[i], *out);
  }
  return true;
}
