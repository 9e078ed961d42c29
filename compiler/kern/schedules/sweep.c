// Columns: points whose loops go from row to row, and that read neighbours there, go through the
// rows together, as memory lies, with their sums in the first cache.
#include "base/map.h"
#include "kern/schedules/schedule.h"

enum {
  VECTORS = 16,  // of columns that go together
  LONG_PIECE =
      64,  // of those whose rows are in chunks, so that items need not share columns out
  MANY_ROWS = 4000,  // of fewer rows the caches hold much, and sums stay in registers
};

// So many columns at least go in vectors of `lanes`, so many of these together, with so many rows
// at once: few columns wait for their sums, many for memory, which one row after the other suits
// best.
typedef struct SweepWay {
  int columns, lanes, vectors, rows;
} SweepWay;

typedef struct MemoryWalk {
  const Axis *points;
  const Map *lets;  // Var -> const Term *, all of the kernel
  Map *loops;       // indices of loops
  AxisStms grid;
  int by_columns, by_rows;
  bool again;  // other points of the grid read the same
} MemoryWalk;

static void see_column_let(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_LET) map_put(v->state, stm->binders[0], stm->u.term);
}

static void see_grid(KernVisitor *v, const KernStm *stm) {
  MemoryWalk *x = v->state;
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_GRID) vec_push(&x->grid, stm);
}

static void see_loop_index(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ)
    map_put(v->state, stm->u.axis->index, stm);
}

// Does a loop's index stand in it, but where it steps over rows of some width?
static bool moves_within_row(const MemoryWalk *x, const Term *at) {
  if (at->kind == TERM_VAR) return map_has(x->loops, at->u.var);
  const Term *operands[3];
  int count = term_operands(at, operands);
  bool by_rows = at->kind == TERM_OP && at->u.op.op == OP_MUL &&
                 operands[0]->kind != TERM_CONST && operands[1]->kind != TERM_CONST;
  for (int i = 0; i < count; i++)
    if (!by_rows && moves_within_row(x, operands[i])) return true;
  return false;
}

static bool access_mentions(const MemoryWalk *x, Access access, const Var *var) {
  for (int d = 0; d < access.tensor->rank; d++) {
    const Term *at = term_inlined(x->lets, access.index[d]);
    if (!at || term_mentions(at, var)) return true;
  }
  return false;
}

// Does a loop go through what is read?
static bool moves(const MemoryWalk *x, Access access) {
  for (int d = 0; d < access.tensor->rank; d++) {
    const Term *at = term_inlined(x->lets, access.index[d]);
    if (!at || term_mentions_any(at, x->loops)) return true;
  }
  return false;
}

// Along what do neighbours in memory lie?  What is the same for all points lies anywhere, and what
// no loop goes through is read once.
static void see_column(KernVisitor *v, Access access, bool stores) {
  MemoryWalk *x = v->state;
  int unit = tensor_unit_dim(access.tensor);
  const Term *at = unit < 0 ? NULL : term_inlined(x->lets, access.index[unit]);
  if (!moves(x, access) || !at || !access_mentions(x, access, x->points->index)) return;
  x->by_rows += moves_within_row(x, at);
  if (stores || !term_mentions(at, x->points->index)) return;
  x->by_columns++;
  vec_each (const KernStm **, stm, &x->grid)
    x->again |= !access_mentions(x, access, (*stm)->u.axis->index);
}

bool schedule_goes_down_rows(const Kern *kern, const Axis *points) {
  Map *lets = map_new(NULL);
  MemoryWalk x = { .points = points, .lets = lets, .loops = map_new(NULL) };
  KernVisitor all = { .stm = see_column_let, .state = lets },
              grid = { .stm = see_grid, .state = &x },
              loops = { .stm = see_loop_index, .state = x.loops },
              loads = { .access = see_column, .state = &x };
  kern_visit_block(&all, kern->body);
  kern_visit_block(&grid, kern->body);
  kern_visit_block(&loops, points->body);
  kern_visit_block(&loads, points->body);
  return x.by_columns && !x.by_rows && !x.again;
}

static void see_swept(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ)
    vec_push((AxisStms *)v->state, stm);
}

// Sums of few elements in registers, maps of points in lanes.
static void parts_in_lanes(Recipe *r, const SweepWay *way) {
  AxisStms axes = { 0 };
  KernVisitor v = { .stm = see_swept, .state = &axes };
  kern_visit_block(&v, r->kern->body);
  vec_each (const KernStm **, stm, &axes) {
    const Axis *axis = (*stm)->u.axis;
    if (axis->role == AXIS_REDUCE && term_is_i64(axis->width, way->rows))
      recipe_bind(r, axis->name, BIND_REG);
    if (axis->role == AXIS_MAP && term_is_i64(axis->width, way->lanes))
      recipe_bind(r, axis->name, BIND_LANE);
  }
}

// Sums of few rows are left out.
static void where_rows_are_many(Recipe *r, const Axis *points) {
  for (int i = 0; i < points->body->count; i++) {
    const KernStm *stm = &points->body->stms[i];
    if (stm->kind != KERN_AXIS) continue;
    recipe_where(r, stm->u.axis->name, MANY_ROWS);
    return;
  }
}

// Loops that carry values are not swept: they go down the columns of one vector, where tiles of
// points have up to four, if there are as many.
static bool carries(const Axis *points) {
  for (int i = 0; i < points->body->count; i++) {
    const KernStm *stm = &points->body->stms[i];
    if (stm->kind == KERN_AXIS && stm->u.axis->role == AXIS_LOOP) return true;
  }
  return false;
}

static void add_sweep(const Schedule *s, Candidates *out, const Axis *points,
                      const Axis *chunks, const SweepWay *way) {
  Candidate cand = { .what = text_format("columns together, row by row, %d in lanes",
                                         way->lanes),
                     .recipe = schedule_recipe(s),
                     .first = true,
                     .nearer = 0.8 };
  Recipe *r = &cand.recipe;
  if (chunks) recipe_swap(r, points->name, chunks->name);
  recipe_where(r, points->name, way->columns);
  if (carries(points)) recipe_where_fewer(r, points->name, 4 * LANES);
  if (!chunks && !schedule_has_role(points->body, AXIS_MAP))
    where_rows_are_many(r, points);
  recipe_split(r, points->name, way->lanes, SPLIT_OVERLAP);
  Name vectors = recipe_outer(r, points->name);
  recipe_split(r, vectors, way->vectors, SPLIT_SHORT);
  recipe_sweep(r, vectors, way->rows);
  parts_in_lanes(r, way);
  schedule_offer(s, out, &cand);
}

void schedule_sweep(const Schedule *s, Candidates *out, bool chunks) {
  static const SweepWay columns[] = { { 32, LANES, VECTORS, 1 },
                                      { 8, LANES / 2, VECTORS, 4 },
                                      { 4, 4, VECTORS, 4 } },
                        wide[] = { { 512, LANES, LONG_PIECE, 1 },
                                   { LANES, LANES, VECTORS, 1 } };
  const Axis *last = schedule_last_grid(s->kern),
             *points = chunks ? schedule_axis_before(s->kern, last) : last;
  if (!points || !schedule_goes_down_rows(s->kern, points)) return;
  int count = s->kern->wide ? 2 : schedule_has_role(last->body, AXIS_MAP) ? 1 : 3;
  for (int i = 0; i < count; i++)
    add_sweep(s, out, points, chunks ? last : NULL,
              s->kern->wide ? &wide[i] : &columns[i]);
}
