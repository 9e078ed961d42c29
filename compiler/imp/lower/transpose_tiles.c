// Transpositions on GPUs: a group reads a tile of the array in the order in which it lies, keeps it
// in local memory, and writes it in the order of the copy.
//
//   tile[t, u] = from[.., t, u]  (neighbours: u);  barrier;  to[.., u, t] = tile[t, u]  (t)
//
// A tile is a square of 32 x 32 elements, or as many small matrices as have about as many together;
// of narrow arrays it is some rows (transpose_rows.c).  Dimensions that lie in one in both arrays
// are one before that.
#include "imp/lower/lower.h"

enum { TILE = 32, TILE_ITEMS = 256, TILE_ELEMENTS = 1024, MOST_DIGITS = 3 };
enum { TILE_ROOM = 1536 };  // rows of 2 take 3

// A dimension of the tile: how many elements it has at most, where it begins, and how many it has
// here.
typedef struct TileDim {
  int dim;
  const ImpExp *extent, *first, *here;
} TileDim;

typedef struct Tiles {
  KernelCode *kernel;
  Arr to, from;
  TileDim t, u;  // innermost in memory of `to`, of `from`
  TileDim more;  // small matrices, if there is such a dimension: else dim is -1
  const ImpExp *pitch;
  const ImpExp **at;
  const Mem *mem;
} Tiles;

// ---- dimensions that lie in one

static bool lies_in_one_if(const Arr *arr, bool layout, int d, int e) {
  Arr as = layout_resolved(arr, layout);
  return imp_same(as.strides[d], imp_mul(as.shape[e], as.strides[e]));
}

bool arr_lies_in_one(const Arr *arr, int d, int e) {
  return lies_in_one_if(arr, true, d, e) && lies_in_one_if(arr, false, d, e);
}

static Arr without_dim(const Arr *arr, int d, int into) {
  Arr out = *arr;
  const ImpExp **shape = new_array(const ImpExp *, arr->rank + 1),
               **strides = new_array(const ImpExp *, arr->rank + 1);
  out.rank = 0;
  for (int i = 0; i < arr->rank; i++) {
    if (i == d) continue;
    shape[out.rank] = i == into ? imp_mul(arr->shape[d], arr->shape[i]) : arr->shape[i];
    strides[out.rank++] = arr->strides[i];
  }
  out.shape = shape;
  out.strides = strides;
  return out;
}

static void join_dims(Arr *to, Arr *from) {
  for (int d = 0; d < to->rank; d++)
    for (int e = 0; e < to->rank; e++) {
      if (d == e || !arr_lies_in_one(to, d, e) || !arr_lies_in_one(from, d, e)) continue;
      *to = without_dim(to, d, e);
      *from = without_dim(from, d, e);
      d = e = -1;
      break;
    }
}

// ---- the shape of tiles, on the host

static const ImpExp *tiles_along(Code *host, const Arr *to, const TileDim *dim) {
  return imp_named(host->b, "tiles", imp_ceil_div(to->shape[dim->dim], dim->extent));
}

// The dimension whose small matrices share a tile: the first one that is not the tile's own.
static int dim_of_more(const Tiles *s) {
  for (int d = 0; d < s->to.rank; d++)
    if (d != s->t.dim && d != s->u.dim) return d;
  return -1;
}

// Tiles of TILE x TILE.
static void find_squares(Tiles *s) {
  s->t.extent = s->u.extent = imp_i64(TILE);
  s->pitch = imp_i64(TILE + 1);
  s->more.dim = -1;
}

static const ImpExp *whole_dim(Code *host, const Arr *to, int dim) {
  return imp_named(host->b, "extent", imp_max(imp_i64(1), to->shape[dim]));
}

static void find_matrices(Tiles *s, Code *host) {
  s->t.extent = whole_dim(host, &s->to, s->t.dim);
  s->u.extent = whole_dim(host, &s->to, s->u.dim);
  const ImpExp *u = s->u.extent, *even = imp_sub(imp_i64(1), imp_rem(u, imp_i64(2)));
  s->pitch = imp_named(host->b, "pitch", imp_add(u, even));
  s->more.dim = dim_of_more(s);
  const ImpExp *count = imp_quot(imp_i64(TILE_ELEMENTS), imp_mul(s->t.extent, u));
  s->more.extent = imp_named(host->b, "matrices", count);
}

// ---- the kernel

static void begin_dim(Tiles *s, TileDim *dim, const ImpExp *tile) {
  ImpBuilder *b = &s->kernel->b;
  dim->first = imp_named(b, "first", imp_mul(tile, dim->extent));
  const ImpExp *left = imp_sub(s->to.shape[dim->dim], dim->first);
  dim->here = imp_named(b, "here", imp_min(dim->extent, left));
}

// One digit of the group's number.
static const ImpExp *next_digit(ImpBuilder *b, const ImpExp **rest, const ImpExp *width) {
  const ImpExp *digit = imp_named(b, "i", imp_rem(*rest, width));
  *rest = imp_named(b, "rest", imp_quot(*rest, width));
  return digit;
}

static void find_tile(Tiles *s, const ImpExp *tiles_t, const ImpExp *tiles_u,
                      const ImpExp *tiles_more) {
  ImpBuilder *b = &s->kernel->b;
  const ImpExp *rest = imp_named(b, "group", imp_item(ITEM_GROUP_ID));
  begin_dim(s, &s->u, next_digit(b, &rest, tiles_u));
  begin_dim(s, &s->t, next_digit(b, &rest, tiles_t));
  if (s->more.dim >= 0) begin_dim(s, &s->more, next_digit(b, &rest, tiles_more));
  s->at = new_array(const ImpExp *, s->to.rank + 1);
  for (int d = s->to.rank - 1; d >= 0; d--)
    if (d != s->t.dim && d != s->u.dim && d != s->more.dim)
      s->at[d] = next_digit(b, &rest, s->to.shape[d]);
}

// Where an item is in the tile: digits, the fastest first, which it counts rather than divides for.
typedef struct TilePlace {
  const TileDim *dims[MOST_DIGITS];
  const Var *at[MOST_DIGITS];
  const ImpExp *steps[MOST_DIGITS];
  int count;
} TilePlace;

static TilePlace place_begin(const Tiles *s, bool fill) {
  TilePlace p = { .dims = { fill ? &s->u : &s->t, fill ? &s->t : &s->u, &s->more },
                  .count = s->more.dim < 0 ? 2 : 3 };
  ImpBuilder *b = &s->kernel->b;
  const ImpExp *item = imp_item(ITEM_LOCAL_ID), *step = imp_i64(TILE_ITEMS);
  for (int i = 0; i < p.count; i++) {
    bool last = i == p.count - 1;
    const ImpExp *extent = p.dims[i]->extent;
    p.at[i] = imp_declare(b, "place", last ? item : imp_rem(item, extent));
    p.steps[i] = imp_named(b, "step", last ? step : imp_rem(step, extent));
    if (last) break;
    item = imp_named(b, "rest", imp_quot(item, extent));
    step = imp_named(b, "rest", imp_quot(step, extent));
  }
  return p;
}

static void place_advance(const TilePlace *p, ImpBuilder *b) {
  const ImpExp *carry = imp_i64(0);
  for (int i = 0; i < p->count; i++) {
    const ImpExp *by = imp_add(p->steps[i], carry);
    if (imp_is_i64(by, 0)) continue;
    const ImpExp *next = imp_add(imp_var(p->at[i]), by), *extent = p->dims[i]->extent;
    if (i == p->count - 1) {
      imp_assign(b, p->at[i], next);
      return;
    }
    next = imp_let(b, "next", next);
    const ImpExp *wraps = imp_let(b, "wraps", imp_op2(OP_LE, extent, next));
    imp_assign(b, p->at[i], imp_select(wraps, imp_sub(next, extent), next));
    carry = imp_select(wraps, imp_i64(1), imp_i64(0));
  }
}

static const ImpExp *place_in(const TilePlace *p, const TileDim *dim) {
  for (int i = 0; i < p->count; i++)
    if (p->dims[i] == dim) return imp_var(p->at[i]);
  return imp_i64(0);
}

// Is the place part of the array?  Also says which element of it that is.
static const ImpExp *locate(Tiles *s, const TilePlace *p, ImpBuilder *b) {
  const ImpExp *within = NULL;
  for (int i = 0; i < p->count; i++) {
    const TileDim *dim = p->dims[i];
    s->at[dim->dim] = imp_named(b, "at", imp_add(dim->first, imp_var(p->at[i])));
    const ImpExp *here = imp_less(imp_var(p->at[i]), dim->here);
    within = within ? imp_and(within, here) : here;
  }
  return within;
}

// What the items take in turns: from the array to the tile, or from the tile to the copy.
static void move_tile(Tiles *s, bool fill) {
  Compiler *c = s->kernel->b.c;
  ImpBuilder b = { .c = c, .loc = s->kernel->b.loc }, inside = b;
  const Var *round = var_new(c, name_of(c->names, "r"), type_scalar(PRIM_I64), b.loc);
  TilePlace p = place_begin(s, fill);
  const ImpExp *within = locate(s, &p, &b);
  const ImpExp *rows = imp_mul(place_in(&p, &s->more), s->t.extent);
  rows = imp_mul(imp_add(rows, place_in(&p, &s->t)), s->pitch);
  const ImpExp *place = imp_add(rows, place_in(&p, &s->u));
  if (fill)
    imp_store(&inside, s->mem, place, imp_load(s->from.mem, arr_index(&s->from, s->at)));
  else
    imp_store(&inside, s->to.mem, arr_index(&s->to, s->at), imp_load(s->mem, place));
  imp_if(&b, within, inside.block);
  place_advance(&p, &b);
  imp_for(&s->kernel->b, round, imp_i64(TILE_ELEMENTS / TILE_ITEMS), b.block);
}

static void launch_tiles(Tiles *s, Code *host) {
  const ImpExp *tiles_t = tiles_along(host, &s->to, &s->t),
               *tiles_u = tiles_along(host, &s->to, &s->u),
               *groups = imp_mul(tiles_t, tiles_u), *tiles_more = NULL;
  if (s->more.dim >= 0) {
    tiles_more = tiles_along(host, &s->to, &s->more);
    groups = imp_mul(groups, tiles_more);
  }
  for (int d = 0; d < s->to.rank; d++)
    if (d != s->t.dim && d != s->u.dim && d != s->more.dim)
      groups = imp_mul(groups, s->to.shape[d]);
  s->kernel = kernel_begin(host, host->b->loc);
  s->mem = mem_new(host->lower->c, "tile", MEM_LOCAL, s->to.elem);
  vec_push(&s->kernel->scratch, (Scratch){ .mem = s->mem, .count = imp_i64(TILE_ROOM) });
  find_tile(s, tiles_t, tiles_u, tiles_more);
  move_tile(s, true);
  imp_add_stm(&s->kernel->b, (ImpStm){ .kind = IMP_BARRIER });
  move_tile(s, false);
  kernel_end(host, s->kernel,
             (Launch){ .name = s->more.dim < 0 ? "transpose" : "turn_matrices",
                       .groups = groups,
                       .group_size = imp_i64(TILE_ITEMS) });
}

static void in_squares(const Tiles *s, Code *host) {
  Tiles squares = *s;
  find_squares(&squares);
  launch_tiles(&squares, host);
}

static void in_matrices(const Tiles *s, Code *host) {
  Tiles matrices = *s;
  find_matrices(&matrices, host);
  launch_tiles(&matrices, host);
}

// ---- which of them

typedef void (*TilesLaunch)(const Tiles *s, Code *host);

static const ImpExp *is_narrow(const Tiles *s, int dim) {
  return imp_op2(OP_LE, s->to.shape[dim], imp_i64(TRANSPOSE_NARROW));
}

// Do its rows lie one behind the other, with or without layouts?
static bool are_rows(const Arr *arr, int row, int place) {
  return imp_same(arr->strides[row], arr->shape[place]) &&
         imp_is_i64(arr->strides[place], 1);
}

static void in_rows_of_from(const Tiles *s, Code *host) {
  transpose_by_rows(host, &s->to, &s->from, s->t.dim, s->u.dim);
}

static void in_rows_of_to(const Tiles *s, Code *host) {
  transpose_by_rows(host, &s->to, &s->from, s->u.dim, s->t.dim);
}

typedef struct TilesChoice {
  const ImpExp *condition;
  TilesLaunch launch;
} TilesChoice;

// The first of them whose condition holds; the last one has none.
static void launch_first(const Tiles *s, Code *host, const TilesChoice *choices) {
  const ImpExp *condition = choices->condition;
  bool known = condition && condition->kind == IMP_CONST;
  if (known && !condition->u.constant.u.i) {
    launch_first(s, host, choices + 1);
  } else if (known || !condition) {
    choices->launch(s, host);
  } else {
    ImpBuilder yes, no;
    Code then_code = code_inner(host, &yes), else_code = code_inner(host, &no);
    choices->launch(s, &then_code);
    launch_first(s, &else_code, choices + 1);
    imp_if_else(host->b, condition, yes.block, no.block);
  }
}

static void launch_best(const Tiles *s, Code *host) {
  const ImpExp *t = is_narrow(s, s->t.dim), *u = is_narrow(s, s->u.dim);
  const ImpExp *small =
      imp_op2(OP_LE, imp_mul(s->to.shape[s->t.dim], s->to.shape[s->u.dim]),
              imp_i64(TILE_ELEMENTS / 2));
  TilesChoice choices[4];
  int count = 0;
  if (s->to.rank > 2)
    choices[count++] = (TilesChoice){ imp_and(small, imp_and(t, u)), in_matrices };
  if (are_rows(&s->from, s->t.dim, s->u.dim))
    choices[count++] = (TilesChoice){ u, in_rows_of_from };
  if (are_rows(&s->to, s->u.dim, s->t.dim))
    choices[count++] = (TilesChoice){ t, in_rows_of_to };
  choices[count] = (TilesChoice){ NULL, in_squares };
  launch_first(s, host, choices);
}

bool layout_transpose(Code *host, const Arr *to, const Arr *from) {
  if (!host->lower->machine->side_by_side || !from->mem) return false;
  Tiles s = { .to = *to, .from = *from };
  join_dims(&s.to, &s.from);
  s.t.dim = layout_unit_dim(&s.to);
  s.u.dim = layout_unit_dim(&s.from);
  if (s.t.dim < 0 || s.u.dim < 0 || s.t.dim == s.u.dim) return false;
  launch_best(&s, host);
  return true;
}
