// Transpositions of narrow arrays on GPUs: points, pixels, small matrices.
//
//   from[n, w]  =>  to[w, n]     for e < rows * w { tile[e] = from[first * w + e] };  barrier
//                                for c < w { to[c, first + row] = tile[row * w + c] }
//
// and the same backwards.  The rows of a group lie one behind the other, so no item need find out
// in which row it is; items then take columns, neighbours neighbouring rows.
//
// Why: of a tile of 32 x 32 an array of points has 32 x 3.
#include "imp/lower/lower.h"

enum { ROW_ITEMS = 256, LEAST_ROWS = 32, BANKS = 32, FEW_WORDS = 4 };
enum { ROW_ROOM = LEAST_ROWS * TRANSPOSE_NARROW * (BANKS + 1) / BANKS + 1 };

typedef struct NarrowRows {
  KernelCode *kernel;
  const Arr *from, *rows,
      *columns;    // the array in rows, and in columns; one of them is `from`
  int row, place;  // their dimensions
  const ImpExp *count, *width;  // rows of a group; their length
  const ImpExp *first, *here;   // of the group: its first row; how many it has
  const ImpExp **at;
  const Mem *tile;
} NarrowRows;

// Rows that a group takes at once: about a thousand elements.
static const ImpExp *rows_of_group(const ImpExp *width) {
  const ImpExp *count = imp_i64(LEAST_ROWS);
  for (int64_t rows = (int64_t)2 * LEAST_ROWS; rows <= ROW_ITEMS; rows *= 2) {
    const ImpExp *few = imp_op2(OP_LE, width, imp_i64(ROW_ITEMS / rows * FEW_WORDS));
    count = few->kind == IMP_CONST && !few->u.constant.u.i
                ? count
                : imp_select(few, imp_i64(rows), count);
  }
  return count;
}

static void find_rows(NarrowRows *s, const ImpExp *groups) {
  ImpBuilder *b = &s->kernel->b;
  const ImpExp *group = imp_named(b, "group", imp_item(ITEM_GROUP_ID)),
               *all = s->rows->shape[s->row],
               *rest = imp_named(b, "rest", imp_quot(group, groups));
  s->first = imp_named(b, "first", imp_mul(imp_rem(group, groups), s->count));
  s->here = imp_named(b, "here", imp_min(s->count, imp_sub(all, s->first)));
  for (int d = s->rows->rank - 1; d >= 0; d--) {
    if (d == s->row || d == s->place) continue;
    s->at[d] = imp_named(b, "i", imp_rem(rest, s->rows->shape[d]));
    rest = imp_named(b, "rest", imp_quot(rest, s->rows->shape[d]));
  }
}

// Between the array and an element of the tile; those 32 apart lie in different banks.
static void move_element(const NarrowRows *s, ImpBuilder *b, const Arr *arr,
                         const ImpExp *at, const ImpExp *element) {
  const ImpExp *e = imp_named(b, "element", element),
               *place = imp_add(e, imp_quot(e, imp_i64(BANKS)));
  if (arr == s->from)
    imp_store(b, s->tile, place, imp_load(arr->mem, at));
  else
    imp_store(b, arr->mem, at, imp_load(s->tile, place));
}

static void add_rounds(const NarrowRows *s, const Var *round, const ImpExp *rounds,
                       const ImpExp *within, ImpBuilder *body, ImpBuilder *moves) {
  imp_if(body, within, moves->block);
  imp_for(&s->kernel->b, round, rounds, body->block);
}

static void move_narrow(NarrowRows *s) {
  ImpBuilder *b = &s->kernel->b, body = { .c = b->c, .loc = b->loc }, moves = body;
  const Var *round =
      var_new(b->c, name_of(b->c->names, "r"), type_scalar(PRIM_I64), b->loc);
  const ImpExp *turn = imp_mul(imp_var(round), imp_i64(ROW_ITEMS)),
               *e = imp_let(&body, "e", imp_add(imp_item(ITEM_LOCAL_ID), turn));
  s->at[s->row] = s->first;
  s->at[s->place] = imp_i64(0);
  const ImpExp *begin = imp_named(b, "begin", arr_index(s->rows, s->at)),
               *all = imp_named(b, "all", imp_mul(s->here, s->width));
  move_element(s, &moves, s->rows, imp_add(begin, e), e);
  const ImpExp *rounds = imp_ceil_div(imp_mul(s->count, s->width), imp_i64(ROW_ITEMS));
  add_rounds(s, round, rounds, imp_less(e, all), &body, &moves);
}

static void move_wide(NarrowRows *s) {
  ImpBuilder *b = &s->kernel->b, body = { .c = b->c, .loc = b->loc }, moves = body;
  const Var *round =
      var_new(b->c, name_of(b->c->names, "r"), type_scalar(PRIM_I64), b->loc);
  const ImpExp *item = imp_item(ITEM_LOCAL_ID),
               *row = imp_let(b, "row", imp_rem(item, s->count)),
               *column = imp_let(b, "column", imp_quot(item, s->count)),
               *step = imp_named(b, "step", imp_quot(imp_i64(ROW_ITEMS), s->count)),
               *c = imp_let(&body, "c", imp_add(column, imp_mul(imp_var(round), step)));
  const ImpExp *begin = imp_let(b, "begin", imp_mul(row, s->width));
  s->at[s->row] = imp_let(b, "at", imp_add(s->first, row));
  s->at[s->place] = c;
  move_element(s, &moves, s->columns, arr_index(s->columns, s->at), imp_add(begin, c));
  const ImpExp *within = imp_and(imp_less(c, s->width), imp_less(row, s->here));
  add_rounds(s, round, imp_ceil_div(s->width, step), within, &body, &moves);
}

static void move_all(NarrowRows *s) {
  bool rows_first = s->from == s->rows;
  (rows_first ? move_narrow : move_wide)(s);
  imp_add_stm(&s->kernel->b, (ImpStm){ .kind = IMP_BARRIER });
  (rows_first ? move_wide : move_narrow)(s);
}

void transpose_by_rows(Code *host, const Arr *to, const Arr *from, int row, int place) {
  bool in_rows = layout_unit_dim(from) == place;
  NarrowRows s = { .from = from,
                   .rows = in_rows ? from : to,
                   .columns = in_rows ? to : from,
                   .row = row,
                   .place = place,
                   .at = new_array(const ImpExp *, to->rank + 1) };
  s.width = to->shape[place];
  s.count = imp_named(host->b, "rows", rows_of_group(s.width));
  const ImpExp *in_dim =
                   imp_named(host->b, "groups", imp_ceil_div(to->shape[row], s.count)),
               *groups = in_dim;
  for (int d = 0; d < to->rank; d++)
    if (d != row && d != place) groups = imp_mul(groups, to->shape[d]);
  groups = imp_min(groups, imp_mul(groups, s.width));  // none if rows are empty
  s.kernel = kernel_begin(host, host->b->loc);
  s.tile = mem_new(host->lower->c, "tile", MEM_LOCAL, to->elem);
  vec_push(&s.kernel->scratch, (Scratch){ .mem = s.tile, .count = imp_i64(ROW_ROOM) });
  find_rows(&s, in_dim);
  move_all(&s);
  kernel_end(host, s.kernel,
             (Launch){ .name = "turn_rows",
                       .groups = groups,
                       .group_size = imp_i64(ROW_ITEMS) });
}
