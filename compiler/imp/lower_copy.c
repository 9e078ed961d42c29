// Copies of whole arrays by a kernel, in the order of the copy.
//
// On a CPU a transposition goes tile by tile, through a private array: both arrays are then touched in
// whole cache lines, whatever the distance of their rows (opencl-notes.md, section 2).
#include "imp/lower.h"

enum { TILE = 64, FLAT_RUN = 512 };

static Atom width_atom(Code *host, const ImpExp *width) {
  if (width->kind == IMP_CONST) return atom_const(width->u.constant);
  if (width->kind == IMP_VAR) return atom_var(width->u.var);
  return atom_var(imp_declare(host->b, "width", width));
}

static SegDim new_dim(Code *host, const ImpExp *width) {
  const Var *index = var_new(host->lower->c, name_of(host->lower->c->names, "i"), type_scalar(PRIM_I64), host->b->loc);
  return (SegDim){ index, width_atom(host, width) };
}

static void copy_points(Code *host, const Arr *to, const Arr *from) {
  SegDim *dims = new_array(SegDim, to->rank + 1);
  for (int i = 0; i < to->rank; i++)
    dims[i] = new_dim(host, to->shape[i]);
  const ImpExp *const *at = space_indices(dims, to->rank);
  KernelCode *kernel = kernel_begin(host, host->b->loc);
  Items items;
  items_open_space(&items, host, kernel, dims, to->rank, FLAT_RUN);
  imp_store(&items.inner, to->mem, arr_index(to, at), arr_load(from, arr_index(from, at)));
  items_close(&items, "copy", true);
}

static bool is_one(const ImpExp *e) {
  return e->kind == IMP_CONST && e->u.constant.u.i == 1;
}

// The dimension along which the rows of `from` run; -1 if the last one will do.
static int row_dimension(const Arr *to, const Arr *from) {
  int last = to->rank - 1;
  if (is_one(from->strides[last]) || !from->mem) return -1;
  for (int i = 0; i < last; i++)
    if (is_one(from->strides[i])) return i;
  return -1;
}

// One side of a tile: <index = first + s, s < length>, in a dimension of the arrays.
typedef struct Side {
  SegDim dim;
  const ImpExp *first, *length;
} Side;

static void find_side(Code *k, Side *side, const ImpExp *block) {
  side->first = imp_var(imp_declare(k->b, "first", imp_mul(block, imp_i64(TILE))));
  const ImpExp *length = imp_min(imp_i64(TILE), imp_sub(imp_atom(side->dim.width), side->first));
  side->length = imp_var(imp_declare(k->b, "side", length));
}

static const Var *step_of_loop(Code *k) {
  const Var *step = var_new(k->lower->c, name_of(k->lower->c->names, "s"), type_scalar(PRIM_I64), k->b->loc);
  map_put(k->inside, step, step);
  return step;
}

typedef struct Tile {
  const Arr *to, *from;
  const ImpExp *const *at;  // the element, by the indices of the dimensions
  Side row, column;         // of `to`
  const Mem *mem;           // [column][row]
} Tile;

// for s < outer { for t < inner { tile[s][t] = from (row by row of `from`), or to = tile[t][s] } }
static void tile_loops(const Tile *tile, Code *k, const Side *outer, const Side *inner, bool fill) {
  ImpBuilder around, within;
  const Var *s = step_of_loop(k), *t = step_of_loop(k);
  Code code_around = code_inner(k, &around), code_within = code_inner(&code_around, &within);
  code_bind_scalar(&code_within, outer->dim.index, imp_add(outer->first, imp_var(s)));
  code_bind_scalar(&code_within, inner->dim.index, imp_add(inner->first, imp_var(t)));
  const Var *column = fill ? s : t, *row = fill ? t : s;
  const ImpExp *place = imp_add(imp_mul(imp_var(column), imp_i64(TILE)), imp_var(row));
  if (fill)
    imp_store(&within, tile->mem, place, arr_load(tile->from, arr_index(tile->from, tile->at)));
  else
    imp_store(&within, tile->to->mem, arr_index(tile->to, tile->at), imp_load(tile->mem, place));
  imp_add_stm(&around, (ImpStm){ .kind = IMP_FOR, .u.loop = { t, inner->length, within.block } });
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_FOR, .u.loop = { s, outer->length, around.block } });
}

// Reads and writes whole rows, of either array, of one tile.
static void copy_tile(Tile *tile, Code *k, const ImpExp *row_block, const ImpExp *column_block) {
  tile->mem = mem_new(k->lower->c, "tile", MEM_PRIVATE, tile->to->elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_LOCAL, .u.alloc = { tile->mem, imp_i64(TILE * TILE) } });
  find_side(k, &tile->row, row_block);
  find_side(k, &tile->column, column_block);
  tile_loops(tile, k, &tile->column, &tile->row, true);
  tile_loops(tile, k, &tile->row, &tile->column, false);
}

// The space: the dimensions of the array but for `across` and the last, then the blocks of these two.
static void copy_tiles(Code *host, const Arr *to, const Arr *from, int across) {
  int last = to->rank - 1, outer = 0;
  SegDim *dims = new_array(SegDim, to->rank + 1);
  const ImpExp **at = new_array(const ImpExp *, to->rank + 1);
  Tile tile = { .to = to, .from = from, .at = at, .row.dim = new_dim(host, to->shape[across]),
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
  Items items;
  items_open_space(&items, host, kernel, dims, outer + 2, 1);
  copy_tile(&tile, &kernel->code, imp_var(dims[outer].index), imp_var(dims[outer + 1].index));
  items_close(&items, "copy_tiles", false);
}

void host_copy(Code *host, const Arr *to, const Arr *from) {
  int across = host->lower->profile == PROFILE_CPU ? row_dimension(to, from) : -1;
  if (to->rank < 2 || across < 0)
    copy_points(host, to, from);
  else
    copy_tiles(host, to, from, across);
}
