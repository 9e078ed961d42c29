// stage k:
//        axis k: k < 16 { .. let x = t[f(k, i)] .. }
//   =>   local tile[..]
//        axis t_tile: c < 64 item { axis t_round: r < .. { tile[..] = t[low + ..] } }
//        axis k: k < 16 { .. let x = tile[f(k, i) - low] .. }
//
// Likewise `t[f(k, i)] = x`, where each element of the box is stored once: behind the loop the
// items copy the tile to the array.
//
// The items of a group share the work of the new axis, and meet before and after it.  Why: what
// several of them read comes from global memory once (CUDA-CHiLL: copy_to_shared), and words that
// neighbours touch apart from each other move in the order in which they lie.
//
// Where points have rows in one dimension (`t[i * m + k]`), row and place are as indices of two
// dimensions.
//
// Every index is read as low + (sum of positive multiples of the indices inside the group, or of
// how far these are from their last points), through lets, clamps (min, max) and sums: the box of
// what a group reads begins at `low`, which is the least that it reads in that dimension.  Only
// clamps can make the box larger than what is read; what would be behind the array's end is then
// its last element, which nobody reads there.
#include "base/map.h"
#include "kern/row_index.h"
#include "kern/steps/step.h"

enum { MOST_TILES = 8, TILE_BYTES = 16384, LEAST_REUSE = 4 };

// An index: low + at most `extent`.
typedef struct StageSpan {
  const Term *low;
  const Term *more;  // what is added to it; NULL: unknown, or nothing
  const Term *most;  // the greatest value of that, at most `extent`; NULL: likewise
  int64_t extent;
  int64_t step;  // each multiple of it up to `extent` belongs to one point; 0: unknown
  bool known;    // else the rest says nothing
  bool clamped;  // not all of it need be an index of the array
  unsigned set;  // the inside axes that it varies in, by their numbers
} StageSpan;

// The box that a load of the loop reads at the points of a group.
typedef struct StageTile {
  const Tensor *from, *to;
  StageSpan *spans;
  int64_t size;  // elements
  bool in_rows;  // `from` is the array as rows: see `told_apart`
  bool padded;   // rows are one longer than what they hold
  bool stores;   // made here, then copied to the array
} StageTile;

typedef struct Staging {
  Step *s;
  const Kern *kern;
  const Axis *axis;
  Map *lets;         // Var -> const Term *
  Map *axes;         // index Var -> const Axis *
  Map *stored;       // Var of the host, written by the kernel
  Map *loaded;       // likewise read
  VarVec inside;     // the indices that differ within a group
  int64_t points;    // that a group has in a run of the loop
  int64_t items;     // of a group
  unsigned fastest;  // neighbouring items differ in this axis
  StageTile tiles[MOST_TILES];
  int count;
  int64_t bytes;
  Map *tile_of;  // Access -> StageTile
  Vec(const Tensor *) in_rows;
} Staging;

// ---- what there is

static void note_stage_stm(KernVisitor *v, const KernStm *stm) {
  Staging *x = v->state;
  if (stm->kind == KERN_LET) map_put(x->lets, stm->binders[0], stm->u.term);
  if (stm->kind == KERN_AXIS) map_put(x->axes, stm->u.axis->index, stm->u.axis);
}

static void note_stage_access(KernVisitor *v, Access access, bool stores) {
  Staging *x = v->state;
  const Tensor *root = tensor_root(access.tensor);
  if (root->host) map_put(stores ? x->stored : x->loaded, root->host, root);
}

static int number_inside(const Staging *x, const Var *var) {
  for (int i = 0; i < x->inside.count; i++)
    if (x->inside.at[i] == var) return i;
  return -1;
}

static bool has_constant_width(const Axis *axis) {
  return axis->width->kind == TERM_CONST;
}

// 0: not known.
static int64_t points_at_most(const Axis *axis) {
  return has_constant_width(axis) ? axis->width->u.constant.u.i : axis->most;
}

// The axes whose points a group has: items, registers, and the loop itself.
static void find_inside(Staging *x) {
  x->points = x->items = 1;
  for (const KernBlock *block = x->kern->body; block;) {
    const Axis *next = NULL;
    for (int i = 0; i < block->count; i++)
      if (block->stms[i].kind == KERN_AXIS &&
          (block->stms[i].u.axis == x->axis ||
           kern_block_has_axis(block->stms[i].u.axis->body, x->axis->name)))
        next = block->stms[i].u.axis;
    if (!next) return;
    bool inside = next->bind == BIND_ITEM || next->bind == BIND_REG || next == x->axis;
    if (inside && points_at_most(next)) {
      if (next->bind == BIND_ITEM) {
        x->fastest = 1u << x->inside.count;
        x->items *= points_at_most(next);
      }
      x->points *= points_at_most(next);
      vec_push(&x->inside, next->index);
    }
    block = next == x->axis ? NULL : next->body;
  }
}

// ---- indices

static const StageSpan unknown_span = { 0 };

static StageSpan span_of(const Staging *x, const Term *t);

static StageSpan span_of_var(const Staging *x, const Term *t) {
  int number = number_inside(x, t->u.var);
  const Axis *axis = map_get(x->axes, t->u.var);
  const Term *let = map_get(x->lets, t->u.var);
  if (number >= 0)
    return (StageSpan){ .low = term_i64(0),
                        .more = t,
                        .most = term_sub(axis->width, term_i64(1)),
                        .extent = points_at_most(axis) - 1,
                        .step = 1,
                        .known = true,
                        .set = 1u << number };
  if (let) return span_of(x, let);
  bool around = axis && kern_block_has_axis(axis->body, x->axis->name);
  return (StageSpan){ .low = t, .known = around };
}

static const Term *sum_or_one(const Term *a, const Term *b) {
  return a && b ? term_add(a, b) : a ? a : b;
}

// Of i * 8 + j, where j < 8, as of one index.
static int64_t step_of_sum(StageSpan a, StageSpan b) {
  if (!a.extent || !b.extent) return a.extent ? a.step : b.step;
  if (!a.step || !b.step || a.set & b.set) return 0;
  if (b.step == a.extent + a.step) return a.step;
  return a.step == b.extent + b.step ? b.step : 0;
}

static StageSpan span_of_sum(StageSpan a, StageSpan b) {
  bool known = (!a.extent || a.more) && (!b.extent || b.more);
  return (StageSpan){ .low = term_add(a.low, b.low),
                      .more = known ? sum_or_one(a.more, b.more) : NULL,
                      .most = known ? sum_or_one(a.most, b.most) : NULL,
                      .extent = a.extent + b.extent,
                      .step = step_of_sum(a, b),
                      .known = true,
                      .clamped = a.clamped || b.clamped,
                      .set = a.set | b.set };
}

// What falls, from its least value.
static StageSpan span_of_difference(StageSpan a, StageSpan b) {
  if (b.extent && !b.more) return unknown_span;
  b.low = term_sub(term_i64(0), b.extent ? term_add(b.low, b.most) : b.low);
  if (b.extent) b.more = term_sub(b.most, b.more);
  return span_of_sum(a, b);
}

static StageSpan span_of_product(StageSpan a, StageSpan b) {
  StageSpan moving = a.extent ? a : b, by = a.extent ? b : a;
  bool positive = by.low->kind == TERM_CONST && by.low->u.constant.u.i > 0;
  if (by.extent || !positive) return unknown_span;
  moving.low = term_mul(moving.low, by.low);
  moving.more = moving.more ? term_mul(moving.more, by.low) : NULL;
  moving.most = moving.most ? term_mul(moving.most, by.low) : NULL;
  moving.extent *= by.low->u.constant.u.i;
  moving.step *= by.low->u.constant.u.i;
  return moving;
}

static StageSpan span_of_clamp(PrimOp op, StageSpan a, StageSpan b) {
  StageSpan moving = a.extent ? a : b, by = a.extent ? b : a;
  if (by.extent) return unknown_span;
  moving.low = op == OP_MIN ? term_min(moving.low, by.low) : term_max(moving.low, by.low);
  moving.more = moving.most = NULL;
  moving.clamped = true;
  return moving;
}

static StageSpan span_of_op(PrimOp op, StageSpan a, StageSpan b) {
  if (op == OP_MUL) return span_of_product(a, b);
  if (op == OP_MIN || op == OP_MAX) return span_of_clamp(op, a, b);
  if (op == OP_SUB) return span_of_difference(a, b);
  return op == OP_ADD ? span_of_sum(a, b) : unknown_span;
}

static StageSpan span_of_operands(const Staging *x, const Term *t) {
  const Term *operands[3], *lows[3] = { NULL };
  StageSpan spans[3] = { 0 };
  bool moves = false;
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++) {
    spans[i] = span_of(x, operands[i]);
    if (!spans[i].known) return unknown_span;
    lows[i] = spans[i].low;
    moves = moves || spans[i].extent;
  }
  if (!moves) return (StageSpan){ .low = term_with(t, lows, count), .known = true };
  bool sum = t->kind == TERM_OP && t->type == PRIM_I64 && count == 2;
  return sum ? span_of_op(t->u.op.op, spans[0], spans[1]) : unknown_span;
}

// What the kernel binds is the same for a group only if it is computed from what is.
static void see_stage_binder(KernVisitor *v, const Var *var) {
  map_put(v->state, var, var);
}

static StageSpan span_of(const Staging *x, const Term *t) {
  if (t->kind == TERM_CONST) return (StageSpan){ .low = t, .known = true };
  if (t->kind != TERM_VAR) return span_of_operands(x, t);
  StageSpan span = span_of_var(x, t);
  if (span.known || map_has(x->lets, t->u.var) || map_has(x->axes, t->u.var)) return span;
  Map *bound = map_new(NULL);
  KernVisitor v = { .binder = see_stage_binder, .state = bound };
  kern_visit_block(&v, x->kern->body);
  span.known = !map_has(bound, t->u.var);
  return span;
}

// ---- does everybody come by?

// Why not; NULL if all items of a group run the loop, equally often.
static const char *stage_control(const Staging *x, const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    KernBlockVec inner = kern_blocks(stm);
    for (int k = 0; k < inner.count; k++) {
      bool here = stm->kind == KERN_AXIS && stm->u.axis == x->axis;
      if (!here && !kern_block_has_axis(inner.at[k], x->axis->name)) continue;
      if (stm->kind != KERN_AXIS) return "it is under a condition";
      StageSpan width = span_of(x, stm->u.axis->width);
      if (!width.known || width.extent) return "how often it runs differs between items";
      return here ? NULL : stage_control(x, inner.at[k]);
    }
  }
  return "it is not in the kernel's own blocks";
}

// ---- rows in one dimension

static bool differs_by_item(const void *state, const Term *t) {
  const Staging *x = state;
  StageSpan span = span_of(x, t);
  return !span.known || span.set & x->fastest;
}

// The order of the dimensions, with the place in a row behind the last one.
static const int *order_in_rows(const Tensor *t) {
  int *order = new_array(int, t->rank + 1);
  for (int i = 0; i < t->rank; i++)
    order[i] = t->order ? t->order[i] : i;
  order[t->rank] = t->rank;
  return order;
}

// t[.., row * length + place] as if it were t[.., row, .., place]: a tensor with one more
// dimension, of that length, which is no part of the kernel.
static const Tensor *in_rows_of(Staging *x, const Tensor *t, const Term *length) {
  vec_each (const Tensor *const *, one, &x->in_rows)
    if ((*one)->of == t && term_same((*one)->dims[t->rank], length)) return *one;
  const Term **dims = new_array(const Term *, t->rank + 1);
  for (int d = 0; d < t->rank; d++)
    dims[d] = t->dims[d];
  dims[t->rank] = length;
  Tensor *rows = mem_copy(tensor_view(x->s->c, t, dims, t->rank + 1), sizeof *rows);
  rows->order = order_in_rows(t);
  vec_push(&x->in_rows, rows);
  return rows;
}

static bool told_apart(Staging *x, Access access, Access *out) {
  const Tensor *t = access.tensor;
  int unit = tensor_unit_dim(t);
  RowQuestion q = { x->lets, differs_by_item, x };
  RowIndex row;
  if (unit < 0 || !kern_row_index(&q, access.index[unit], &row)) return false;
  StageSpan length = span_of(x, row.length);
  if (!length.known || length.extent) return false;
  const Term **index = new_array(const Term *, t->rank + 1);
  for (int d = 0; d < t->rank; d++)
    index[d] = access.index[d];
  index[unit] = row.row;
  index[t->rank] = row.place;
  *out = (Access){ in_rows_of(x, t, length.low), index };
  return true;
}

// The place in the array of one that is told apart.
static Access in_array(const StageTile *tile, const Term *const *index) {
  const Tensor *t = tile->from->of;
  int unit = tensor_unit_dim(t);
  const Term **at = mem_copy(index, t->rank * sizeof *index);
  at[unit] = term_add(term_mul(index[unit], tile->from->dims[t->rank]), index[t->rank]);
  return (Access){ t, at };
}

// ---- tiles

static bool same_box(const StageTile *a, const StageTile *b) {
  if (a->from != b->from) return false;
  for (int d = 0; d < a->from->rank; d++)
    if (a->spans[d].extent != b->spans[d].extent ||
        !term_same(a->spans[d].low, b->spans[d].low))
      return false;
  return true;
}

// The dimension in which they differ, where that is at constant places: numbers of one record.
// -1: they lie otherwise.
static int dim_of_places(const StageTile *a, const StageTile *b) {
  int found = -1;
  if (a->from != b->from || a->stores || b->stores || a->in_rows != b->in_rows) return -1;
  for (int d = 0; d < a->from->rank; d++) {
    const StageSpan *p = &a->spans[d], *q = &b->spans[d];
    if (p->extent == q->extent && term_same(p->low, q->low)) continue;
    bool places =
        !p->set && !q->set && p->low->kind == TERM_CONST && q->low->kind == TERM_CONST;
    if (found >= 0 || !places) return -1;
    found = d;
  }
  return found;
}

// Both in one box, if little lies between them; false: they stay apart.
static bool join_places(StageTile *tile, const StageTile *more) {
  int d = dim_of_places(tile, more);
  if (d < 0) return false;
  StageSpan *to = &tile->spans[d];
  int64_t a = to->low->u.constant.u.i, b = more->spans[d].low->u.constant.u.i,
          first = a < b ? a : b, a_end = a + to->extent,
          b_end = b + more->spans[d].extent,
          extent = (a_end > b_end ? a_end : b_end) - first,
          both = to->extent + more->spans[d].extent + 2;
  if (extent >= 2 * both) return false;
  tile->size = tile->size / (to->extent + 1) * (extent + 1);
  to->low = term_i64(first);
  to->extent = extent;
  return true;
}

// Rows that items read across, not along, are one longer, so that what neighbours read lies in
// different banks.
static bool wants_padding(const Staging *x, const StageTile *tile) {
  int unit = tensor_unit_dim(tile->from);
  unsigned others = 0;
  for (int d = 0; d < tile->from->rank; d++)
    if (d != unit) others |= tile->spans[d].set;
  unsigned along = tile->spans[unit].set;
  if (!along) others &= ~(1u << number_inside(x, x->axis->index));
  return others && !(along & x->fastest) && tile->spans[unit].extent % 2;
}

// Do neighbouring items touch words apart, which the loop then goes on from?
static bool lies_apart(const Staging *x, const StageTile *tile) {
  int unit = tensor_unit_dim(tile->from), loop = number_inside(x, x->axis->index);
  unsigned others = 0;
  for (int d = 0; d < tile->from->rank; d++)
    if (d != unit) others |= tile->spans[d].set;
  unsigned along = tile->spans[unit].set;
  return others & x->fastest && !(along & x->fastest) && along & 1u << loop;
}

// Is each element of the box that of one point of the group?
static bool has_point_each(const Staging *x, const StageTile *tile) {
  unsigned seen = 0;
  for (int d = 0; d < tile->from->rank; d++) {
    const StageSpan *span = &tile->spans[d];
    bool several = span->set & (span->set - 1);
    if (span->clamped || seen & span->set || (several && span->step != 1)) return false;
    seen |= span->set;
  }
  return tile->size == x->points;
}

static bool follows_loop(const Staging *x, const StageSpan *span) {
  return span->set & 1u << number_inside(x, x->axis->index);
}

// May columns be left out, as many as the loop has less points than it could have?
static bool has_columns(const Staging *x, const StageTile *tile) {
  for (int d = 0; d < tile->from->rank; d++) {
    const StageSpan *span = &tile->spans[d];
    bool alone =
        span->extent == points_at_most(x->axis) - 1 && !(span->set & (span->set - 1));
    if (follows_loop(x, span) && (!alone || span->clamped)) return false;
  }
  return true;
}

// Does it pay, and may it be done?
static bool suits_tile(const Staging *x, const StageTile *tile) {
  if (tile->size <= 1) return false;
  if (!has_constant_width(x->axis) && !has_columns(x, tile)) return false;
  if (tile->stores) return lies_apart(x, tile) && has_point_each(x, tile);
  return x->points >= LEAST_REUSE * tile->size ||
         (lies_apart(x, tile) && x->points >= tile->size);
}

// The box of the access; false if it is not known or too large, or to be left alone.
static bool find_box(const Staging *x, Access access, bool stores, bool in_rows,
                     StageTile *out) {
  const Tensor *root = tensor_root(access.tensor);
  int rank = access.tensor->rank;
  if (root->space != TENSOR_GLOBAL || rank == 0 || !root->host ||
      map_has(stores ? x->loaded : x->stored, root->host))
    return false;
  *out = (StageTile){ .from = access.tensor,
                      .spans = new_array(StageSpan, rank),
                      .size = 1,
                      .in_rows = in_rows,
                      .stores = stores };
  for (int d = 0; d < rank; d++) {
    out->spans[d] = span_of(x, access.index[d]);
    if (!out->spans[d].known || out->spans[d].extent >= TILE_BYTES) return false;
    out->size *= out->spans[d].extent + 1;
    if (out->size > TILE_BYTES) return false;
    if (in_rows && out->spans[d].clamped) return false;
  }
  out->padded = wants_padding(x, out);
  return suits_tile(x, out);
}

static bool find_tile(Staging *x, Access access, bool stores, StageTile *out) {
  Access rows;
  if (find_box(x, access, stores, false, out)) return true;
  return !stores && told_apart(x, access, &rows) && find_box(x, rows, false, true, out);
}

static bool join_tiles(Staging *x, StageTile *tile, const StageTile *more) {
  int64_t before = tile->size;
  if (!join_places(tile, more)) return false;
  x->bytes += 2 * (tile->size - before) * prim_size_bytes(tile->from->elem);
  tile->padded = wants_padding(x, tile);
  return true;
}

static const StageTile *tile_of(Staging *x, Access access, bool stores) {
  StageTile tile;
  if (!find_tile(x, access, stores, &tile)) return NULL;
  int64_t bytes = 2 * tile.size * prim_size_bytes(tile.from->elem);
  for (int i = 0; i < x->count; i++) {
    if (same_box(&x->tiles[i], &tile)) return &x->tiles[i];
    if (x->bytes + bytes > 2 * (int64_t)TILE_BYTES) continue;
    if (join_tiles(x, &x->tiles[i], &tile)) return &x->tiles[i];
  }
  if (x->count == MOST_TILES || x->bytes + bytes > 2 * (int64_t)TILE_BYTES) return NULL;
  x->bytes += bytes;
  x->tiles[x->count] = tile;
  return &x->tiles[x->count++];
}

// The dimensions as they lie in memory, outermost first.
static int dim_in_order(const Tensor *t, int i) { return t->order ? t->order[i] : i; }

static const Term *const *tile_dims(const StageTile *tile) {
  int rank = tile->from->rank;
  const Term **dims = new_array(const Term *, rank);
  for (int i = 0; i < rank; i++) {
    int64_t extent = tile->spans[dim_in_order(tile->from, i)].extent + 1;
    dims[i] = term_i64(i == rank - 1 && tile->padded ? extent + 1 : extent);
  }
  return dims;
}

// ---- the copy

static Name tile_axis_name(const Staging *x, const KernBuilder *b, const char *array) {
  Compiler *c = x->s->c;
  for (int i = 1;; i++) {
    Name name = name_of(c->names, i == 1 ? text_format("%s_tile", array)
                                         : text_format("%s_tile%d", array, i));
    bool taken = kern_has_axis(x->kern, name);
    for (int k = 0; k < b->stms.count; k++) {
      const KernStm *stm = &b->stms.at[k];
      taken = taken || (stm->kind == KERN_AXIS && stm->u.axis->name == name);
    }
    if (!taken) return name;
  }
}

// The item's element of a round, number item + round * items: its row, and what is over.
typedef struct TilePoint {
  const Term *item, *round;
  const Term *row, *column;
  int64_t items;
} TilePoint;

// With rows of a length that divides the number of items the column is the same in every round.
static void find_tile_row(TilePoint *p, KernBuilder *b, int64_t length) {
  const Term *size = term_i64(length);
  const Term *whole = term_add(p->item, term_mul(p->round, term_i64(p->items)));
  bool same = p->items % length == 0;
  const Term *from = same ? p->item : kern_let(b, "place", whole);
  p->row = kern_let(b, "row", term_quot(from, size));
  p->column = kern_let(b, "column", term_sub(from, term_mul(p->row, size)));
  const Term *before = term_mul(p->round, term_i64(p->items / length));
  if (same) p->row = kern_let(b, "row", term_add(p->row, before));
}

// The place in the tile, its dimensions as they lie in memory, and that in the array.
static void tile_places(const StageTile *tile, KernBuilder *b, TilePoint *p,
                        const Term **to, const Term **from) {
  const Tensor *t = tile->from;
  int last = t->rank - 1;
  find_tile_row(p, b, tile->spans[dim_in_order(t, last)].extent + 1);
  to[last] = p->column;
  const Term *rest = p->row;
  for (int i = last - 1; i >= 0; i--) {
    const Term *size = term_i64(tile->spans[dim_in_order(t, i)].extent + 1);
    const Term *next = i ? kern_let(b, "rest", term_quot(rest, size)) : NULL;
    to[i] = i ? kern_let(b, "at", term_sub(rest, term_mul(next, size))) : rest;
    rest = next;
  }
  for (int i = 0; i <= last; i++) {
    int d = dim_in_order(t, i);
    const Term *at = term_add(tile->spans[d].low, to[i]);
    if (tile->spans[d].clamped) at = term_min(at, term_sub(t->dims[d], term_i64(1)));
    from[d] = kern_let(b, "at", at);
  }
}

// tile[..] = t[..]   for one point of the tile; or back
static void move_element(const Staging *x, KernBuilder *b, const StageTile *tile,
                         const Term **to, const Term **from) {
  Compiler *c = x->s->c;
  const Var *element =
      var_new(c, name_of(c->names, "element"), type_scalar(tile->from->elem), b->loc);
  Access outside = { tile->from, from }, here = { tile->to, to };
  if (tile->in_rows) outside = in_array(tile, from);
  kern_load_var(b, element, tile->stores ? here : outside);
  kern_store(b, tile->stores ? outside : here, term_var(element));
}

// if condition { one }
static void add_if(KernBuilder *b, const Term *condition, const KernBuilder *one) {
  KernBuilder nothing = kern_builder(b->c, b->loc);
  kern_add(b, (KernStm){ .kind = KERN_IF,
                         .u.cond = { condition, kern_block(one, NULL, 0),
                                     kern_block(&nothing, NULL, 0), 0, false } });
}

// Likewise; not if it is in a column that the loop has not.
static void add_element(const Staging *x, KernBuilder *b, const StageTile *tile,
                        TilePoint *p) {
  int rank = tile->from->rank;
  const Term **to = new_array(const Term *, rank), **from = new_array(const Term *, rank);
  tile_places(tile, b, p, to, from);
  const Term *inside = NULL;
  for (int i = 0; i < rank && !has_constant_width(x->axis); i++)
    if (follows_loop(x, &tile->spans[dim_in_order(tile->from, i)]))
      inside = term_less(to[i], x->axis->width);
  KernBuilder one = kern_builder(x->s->c, b->loc);
  move_element(x, inside ? &one : b, tile, to, from);
  if (inside) add_if(b, inside, &one);
}

// axis t_round: r < rounds { if item + r * items < size { .. } }
static void add_rounds(const Staging *x, KernBuilder *out, const StageTile *tile,
                       const Term *item, Name name) {
  Compiler *c = x->s->c;
  KernBuilder body = kern_builder(c, out->loc), one = body;
  Axis axis = { .name = name,
                .index = kern_index(c, "r", out->loc),
                .width = term_i64((tile->size + x->items - 1) / x->items),
                .role = AXIS_MAP };
  TilePoint p = { item, term_var(axis.index), NULL, NULL, x->items };
  bool full = tile->size % x->items == 0;
  add_element(x, full ? &body : &one, tile, &p);
  const Term *place = term_add(item, term_mul(p.round, term_i64(x->items)));
  if (!full) add_if(&body, term_less(place, term_i64(tile->size)), &one);
  axis.body = kern_block(&body, NULL, 0);
  kern_axis(out, axis, NULL, 0);
}

static void add_copy(const Staging *x, KernBuilder *out, const StageTile *tile) {
  Compiler *c = x->s->c;
  KernBuilder body = kern_builder(c, out->loc);
  Name name = tile_axis_name(x, out, tile->from->name);
  Axis axis = { .name = name,
                .index = kern_index(c, "item", out->loc),
                .width = term_i64(x->items),
                .role = AXIS_MAP,
                .bind = BIND_ITEM };
  add_rounds(x, &body, tile, term_var(axis.index),
             name_of(c->names, text_format("%s_round", name)));
  axis.body = kern_block(&body, NULL, 0);
  kern_axis(out, axis, NULL, 0);
}

// ---- the loop

static bool is_bound_in_block(const KernBlock *block, const Term *t) {
  for (int i = 0; block && i < block->count; i++)
    for (int k = 0; k < block->stms[i].binder_count; k++)
      if (term_mentions(t, block->stms[i].binders[k])) return true;
  return false;
}

static bool is_bound_by(const Axis *axis, const Term *t) {
  return term_mentions(t, axis->index) || is_bound_in_block(axis->body, t) ||
         is_bound_in_block(axis->after, t);
}

static const Term *place_in_tile(const StageSpan *of, const StageSpan *place) {
  return of->extent ? term_sub(place->low, of->low) : term_i64(0);
}

// Where the element is in the tile; before the loop, where it stays the same.
static Access in_tile(Staging *x, KernBuilder *b, const StageTile *tile, Access access) {
  if (tile->in_rows) told_apart(x, access, &access);
  int rank = access.tensor->rank;
  const Term **index = new_array(const Term *, rank);
  for (int i = 0; i < rank; i++) {
    int d = dim_in_order(access.tensor, i);
    StageSpan span = span_of(x, access.index[d]);
    const Term *at = !span.extent ? place_in_tile(&tile->spans[d], &span)
                     : span.more  ? span.more
                                  : term_sub(access.index[d], tile->spans[d].low);
    index[i] = is_bound_by(x->axis, at) ? at : kern_let(b, "in_tile", at);
  }
  return (Access){ tile->to, index };
}

static void add_tiles(Staging *x, KernBuilder *b) {
  for (int i = 0; i < x->count; i++) {
    StageTile *tile = &x->tiles[i];
    for (int d = 0; d < tile->from->rank; d++)
      tile->spans[d].low = kern_let(b, "low", tile->spans[d].low);
    Tensor to = *tensor_new(x->s->c, tile->from->name, tile->from->elem, tile_dims(tile),
                            tile->from->rank, TENSOR_LOCAL);
    to.made = tile->stores;
    tile->to = mem_copy(&to, sizeof to);
    kern_add(b, (KernStm){ .kind = KERN_ALLOC, .u.tensor = tile->to });
  }
}

static void add_copies(const Staging *x, KernBuilder *b, bool stores) {
  for (int i = 0; i < x->count; i++)
    if (x->tiles[i].stores == stores) add_copy(x, b, &x->tiles[i]);
}

static const Access *access_of(const KernStm *stm) {
  if (stm->kind == KERN_LOAD) return &stm->u.load;
  return stm->kind == KERN_STORE ? &stm->u.store.to : NULL;
}

// The block with its accesses to tiles; `before` the loop are the parts of their indices that
// stay the same.
static const KernBlock *with_tiles(Staging *x, KernBuilder *before,
                                   const KernBlock *block) {
  KernBuilder b = kern_builder(x->s->c, before->loc);
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = block->stms[i];
    const Access *access = access_of(&stm);
    const StageTile *tile = access ? map_get(x->tile_of, access->index) : NULL;
    if (tile && tile->stores) stm.u.store.to = in_tile(x, before, tile, *access);
    if (tile && !tile->stores) stm.u.load = in_tile(x, before, tile, *access);
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

static void add_staged(void *state, KernBuilder *b, const KernStm *stm) {
  Staging *x = state;
  Axis axis = *stm->u.axis;
  add_tiles(x, b);
  add_copies(x, b, false);
  axis.body = with_tiles(x, b, axis.body);
  if (axis.after) axis.after = with_tiles(x, b, axis.after);
  kern_axis(b, axis, stm->binders, stm->binder_count);
  add_copies(x, b, true);
}

typedef struct OwnStores {
  const Tensor *to;
  int count;
} OwnStores;

static void see_own_store(KernVisitor *v, Access access, bool stores) {
  OwnStores *own = v->state;
  own->count += stores && tensor_root(access.tensor) == own->to;
}

// How often the kernel's own loop stores to the array there.
static int own_stores(const Staging *x, const Tensor *to) {
  OwnStores own = { tensor_root(to), 0 };
  KernVisitor v = { .access = see_own_store, .state = &own };
  kern_visit_block(&v, x->axis->body);
  if (x->axis->after) kern_visit_block(&v, x->axis->after);
  return own.count;
}

static void find_tiles(Staging *x, const KernBlock *block) {
  for (int i = 0; block && i < block->count; i++) {
    const Access *access = access_of(&block->stms[i]);
    bool stores = block->stms[i].kind == KERN_STORE;
    if (!access || (stores && own_stores(x, access->tensor) > 1)) continue;
    const StageTile *tile = tile_of(x, *access, stores);
    if (tile) map_put(x->tile_of, access->index, tile);
  }
}

static const char *cannot_stage(const Kern *kern, const Axis *axis) {
  if (axis->bind != BIND_SEQ || !points_at_most(axis))
    return "it is no loop of constant width, nor what is left of one";
  return kern_updates_in_place(kern->body) ? "the kernel overwrites what it reads" : NULL;
}

const Kern *step_stage(Step *s, const Kern *kern, Name name) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  if (!s->groups) return step_stage_rows(s, kern, name);
  const char *reason = cannot_stage(kern, stm->u.axis);
  if (reason) return step_refuse(s, "%s: %s", name, reason);
  Staging x = { .s = s,
                .kern = kern,
                .axis = stm->u.axis,
                .lets = map_new(NULL),
                .axes = map_new(NULL),
                .stored = map_new(NULL),
                .loaded = map_new(NULL),
                .tile_of = map_new(NULL) };
  KernVisitor v = { .stm = note_stage_stm, .access = note_stage_access, .state = &x };
  kern_visit_block(&v, kern->body);
  find_inside(&x);
  reason = stage_control(&x, kern->body);
  if (reason) return step_refuse(s, "%s: %s", name, reason);
  find_tiles(&x, x.axis->body);
  find_tiles(&x, x.axis->after);
  if (!x.count) return step_refuse(s, "%s reads nothing that items share", name);
  return step_replace(s, kern, name, add_staged, &x);
}
