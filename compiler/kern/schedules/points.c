// Points: the innermost axis of the grid in lanes, neighbouring points together; several rows and
// vectors of them as tiles; or more of them for the device's own compiler.
#include "kern/schedules/schedule.h"

// What each further vector of columns saves, of lines of memory that lie apart otherwise.
#define NEARER 0.1

enum {
  LONG_ROW = 256,  // too many elements to have 16 such rows at hand
  FEW_LOOPS = 8,   // of which straight code is written several times
  SHORT_BODY = 24  // statements, of which four times as many are little code
};

void schedule_widen_grid(Recipe *r) {
  for (;;) {
    Recipe next = *r;
    const Axis *last = schedule_last_grid(next.kern);
    const KernBlock *body = last ? last->body : next.kern->body;
    const KernStm *stm = body->count ? &body->stms[body->count - 1] : NULL;
    if (!stm || stm->kind != KERN_AXIS || stm->u.axis->bind != BIND_SEQ ||
        stm->u.axis->role != AXIS_MAP)
      return;
    recipe_bind(&next, stm->u.axis->name, BIND_GRID);
    if (next.failed) return;
    *r = next;
  }
}

typedef struct RowSearch {
  const Axis *axis;
  bool found, calls;
} RowSearch;

static void look_for_rows(KernVisitor *v, Access access, bool stores) {
  RowSearch *s = v->state;
  int rank = access.tensor->rank;
  bool along = rank > 0 && term_is_var(access.index[rank - 1], s->axis->index);
  s->found = s->found || (along && !stores);
}

static void look_for_long_rounds(KernVisitor *v, const Term *term) {
  RowSearch *s = v->state;
  s->calls = s->calls || term_calls_library(term);
}

// Four rounds of a loop that hands on what it makes of a row, as straight code.  Rounds that call
// functions do not wait for loads.
static void unroll_fours(Recipe *r, const Axis *axis) {
  if (!axis->param_count || axis->body->count > SHORT_BODY) return;
  RowSearch s = { .axis = axis };
  KernVisitor v = { .access = look_for_rows, .term = look_for_long_rounds, .state = &s };
  kern_visit_block(&v, axis->body);
  if (!s.found || s.calls) return;
  Recipe next = *r;
  recipe_split(&next, axis->name, TILE_HEIGHT, SPLIT_PEEL);
  recipe_unroll(&next, axis->name);
  if (!next.failed) *r = next;
}

// Tiles of loads.
void schedule_rows_by_fours(const Schedule *s, Candidates *out, const Candidate *points) {
  Candidate cand = *points;
  AxisStms axes = schedule_innermost(cand.recipe.kern);
  if (cand.recipe.failed) return;
  cand.recipe = recipe_copy(&points->recipe);
  vec_each (const KernStm **, stm, &axes) {
    const Axis *row = (*stm)->u.axis;
    if (row->role == AXIS_LOOP && !schedule_are_many(&axes))
      unroll_fours(&cand.recipe, row);
    if (row->role != AXIS_REDUCE) continue;
    recipe_split(&cand.recipe, row->name, TILE_HEIGHT, SPLIT_PEEL);
    recipe_bind(&cand.recipe, row->name, BIND_REG);
  }
  if (cand.recipe.lines.count == points->recipe.lines.count) return;
  cand.what = text_format("%s, rows by fours", points->what);
  schedule_offer(s, out, &cand);
}

// The outermost loops in lanes that read rows again, with those rows side by side.
static void stage_loops(Recipe *r, const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ) {
      Recipe next = *r;
      recipe_stage(&next, stm->u.axis->name);
      if (!next.failed) *r = next;
      if (!next.failed) continue;
    }
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      stage_loops(r, *inner);
  }
}

void schedule_tile_copies(Recipe *r, const Kern *before, int64_t than) {
  AxisStms axes = schedule_innermost(r->kern);
  vec_each (const KernStm **, stm, &axes) {
    Name row = (*stm)->u.axis->name;
    if (r->failed || kern_has_axis(before, row)) continue;
    if (than) recipe_where_fewer(r, row, than);
    recipe_split(r, row, TILE_HEIGHT, SPLIT_PEEL);
    recipe_bind(r, row, BIND_REG);
  }
}

void schedule_rows_staged(const Schedule *s, Candidates *out, const Candidate *points) {
  Candidate cand = *points;
  AxisStms axes = schedule_innermost(cand.recipe.kern);
  if (cand.recipe.failed || schedule_are_many(&axes)) return;
  cand.recipe = recipe_copy(&points->recipe);
  stage_loops(&cand.recipe, points->recipe.kern->body);
  if (cand.recipe.kern == points->recipe.kern) return;
  schedule_tile_copies(&cand.recipe, points->recipe.kern, LONG_ROW);
  cand.weight++;  // so that the same without rows stays behind it
  cand.what = text_format("%s, rows staged", points->what);
  if (schedule_offer(s, out, &cand)) schedule_pairs_by_fours(s, out, &cand);
}

// Few lanes stand behind LANES, as what is left where its condition fails.
static int weight_of_lanes(int lanes) {
  return lanes == LANES ? LANES : lanes == NARROW ? 1 : FEW_LANES_WEIGHT;
}

// The last block of the axis, which points may not fill.  Rows that lie apart have a form for
// blocks inside anyway, which loses checks as well.
static SplitRest rest_of(const Schedule *s, const Kern *kern, const Axis *axis) {
  if (!s->in_place) return SPLIT_OVERLAP;
  bool follows = schedule_goes_down_rows(kern, axis) && kern_may_run_again(axis);
  return follows ? SPLIT_FOLLOW : SPLIT_BOUND;
}

static void add_outer(const Schedule *s, Candidates *out, bool widened, int lanes) {
  Candidate cand = { .what = text_format("%d %spoints in lanes", lanes,
                                         widened ? "inner " : "neighbouring "),
                     .recipe = schedule_recipe(s) };
  if (widened) schedule_widen_grid(&cand.recipe);
  bool same = cand.recipe.kern == s->kern;
  const Axis *last = schedule_last_grid(cand.recipe.kern);
  if (!last || (widened && same)) return;
  SplitRest rest = rest_of(s, cand.recipe.kern, last);
  cand.across = lanes;
  cand.weight = weight_of_lanes(lanes);
  if (rest == SPLIT_BOUND) recipe_where(&cand.recipe, last->name, lanes);
  recipe_split(&cand.recipe, last->name, lanes, rest);
  recipe_bind(&cand.recipe, last->name, BIND_LANE);
  schedule_offer(s, out, &cand);
  if (lanes == LANES) schedule_rows_by_fours(s, out, &cand);
  if (lanes == LANES) schedule_rows_staged(s, out, &cand);
}

// Several rows and vectors at once, so that what they read in common is read once.
typedef struct Tile {
  int height, vectors, lanes;
  bool straight;  // loops of few rounds are straight code before
} Tile;

// Points without loops gain no more by a wide block than the last one of a row, which is done
// twice, may cost.
static void make_tile(const Schedule *s, Candidate *cand, Tile t) {
  Recipe *r = &cand->recipe;
  const Axis *last = schedule_last_grid(r->kern),
             *before = schedule_axis_before(r->kern, last);
  if (t.height > 1) {
    recipe_split(r, before->name, t.height, SPLIT_OVERLAP);
    recipe_swap(r, before->name, last->name);
    recipe_bind(r, before->name, BIND_REG);
  }
  cand->across = t.lanes * t.vectors;
  cand->weight = weight_of_lanes(t.lanes) * t.vectors * t.height;
  if (t.vectors > 1 && !schedule_has_loop(last->body))
    recipe_where_filled(r, last->name, cand->across);
  recipe_split(r, last->name, cand->across, rest_of(s, r->kern, last));
  if (t.vectors > 1) recipe_split(r, last->name, t.lanes, SPLIT_OVERLAP);
  recipe_bind(r, last->name,
              BIND_LANE);  // first: loops that end apart have masks in lanes alone
  if (t.vectors > 1) recipe_bind(r, recipe_outer(r, last->name), BIND_REG);
}

// Do the points of different rows read the same?  Else several rows at once only spread over
// memory what one by one lies near by.
static bool rows_share(const Kern *kern, const Axis *rows, const Axis *points) {
  AxisStms loops = schedule_innermost(kern);
  if (!loops.count) return schedule_rows_near(kern, rows, points);
  bool others = false;
  vec_each (const KernStm **, stm, &loops) {
    SharedReads reads = schedule_shared(kern, (*stm)->u.axis->body, rows);
    if (reads.found) return true;
    others = others || reads.others;
  }
  return !others;
}

static const Axis *rows_of_tile(const Kern *kern) {
  const Axis *last = schedule_last_grid(kern);
  return last ? schedule_axis_before(kern, last) : NULL;
}

static void see_long(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  if (prim_size_bytes(access.tensor->elem) > 4) *(bool *)v->state = true;
}

// Straight code for all of the tile goes from statement to statement: of two numbers each, which
// are used in the next, a value of a tile that fills more than eight registers is spilled.
static bool fits_registers(const Kern *kern, const Axis *points, Tile t) {
  bool is_long = false;
  KernVisitor v = { .access = see_long, .state = &is_long };
  kern_visit_block(&v, kern->body);
  return schedule_has_loop(points->body) ||
         t.height * t.vectors * t.lanes * (is_long ? 2 : 1) <= 8 * LANES;
}

// Why there is no such tile; or NULL.
static const char *no_tile(const Kern *kern, Tile t) {
  const Axis *last = schedule_last_grid(kern), *rows = rows_of_tile(kern);
  if (t.height > 1 && !rows_share(kern, rows, last)) return "rows read nothing in common";
  return fits_registers(kern, last, t) ? NULL : "values do not fit into registers";
}

static bool has_tiles(const Schedule *s, const Kern *kern, Tile t) {
  const Axis *last = schedule_last_grid(kern);
  if (!last || (t.straight && schedule_has_loop(last->body))) return false;
  if (s->in_place) return t.height == 1 && rest_of(s, kern, last) == SPLIT_FOLLOW;
  return t.height == 1 || rows_of_tile(kern);
}

static bool goes_down_rows(const Kern *kern) {
  const Axis *last = schedule_last_grid(kern);
  return last && schedule_goes_down_rows(kern, last);
}

// If lanes and registers only work in the interior, the tile is for that.
static void add_tile(const Schedule *s, Candidates *out, Tile t) {
  Candidate cand = { .what = text_format("tiles of %d rows by %d vectors%s", t.height,
                                         t.vectors, t.straight ? ", straight code" : ""),
                     .recipe = schedule_recipe(s) };
  schedule_widen_grid(&cand.recipe);
  if (t.straight) schedule_unroll_short(&cand.recipe, true);
  if (!has_tiles(s, cand.recipe.kern, t)) return;
  const char *reason = no_tile(cand.recipe.kern, t);
  if (reason) {
    schedule_leave_out(s, cand.what, reason);
    return;
  }
  if (t.height == 1 && goes_down_rows(cand.recipe.kern))
    cand.nearer = NEARER * (t.vectors - 1);
  Candidate inside = cand;
  make_tile(s, &cand, t);
  if (schedule_offer(s, out, &cand)) return;
  inside.what = text_format("%s, inside of borders", cand.what);
  inside.recipe.unchecked = true;
  make_tile(s, &inside, t);
  recipe_interior(&inside.recipe, true);
  recipe_check(&inside.recipe);
  schedule_offer(s, out, &inside);
}

// Points whose loops of few rounds are straight code.
static void add_straight(const Schedule *s, Candidates *out) {
  AxisStms loops = schedule_innermost(s->kern);
  Recipe r = schedule_recipe(s);
  schedule_widen_grid(&r);
  const Kern *loop = r.kern;
  if (!loops.count || loops.count > FEW_LOOPS) return;
  schedule_unroll_short(&r, true);
  if (r.kern == loop) return;
  add_tile(s, out, (Tile){ 4, 1, LANES, true });
  add_tile(s, out, (Tile){ 1, 1, LANES, true });
  if (!rows_of_tile(r.kern)) return;  // rows that fill no vector are many rows
  add_tile(s, out, (Tile){ 1, 1, LANES / 2, true });
  add_tile(s, out, (Tile){ 1, 1, NARROW, true });
}

// ---- loops that begin or end elsewhere at each point

// Parts between two borders, of which those that sum up nothing go.
static void cut_twice(Recipe *r, Name axis) {
  Recipe next = *r;
  recipe_cut(&next, axis);
  if (next.failed) return;
  recipe_cut(&next, name_of(r->step.c->names, text_format("%s_before", axis)));
  if (next.failed) {
    next = *r;
    recipe_cut(&next, axis);
  }
  *r = next;
}

static bool sums_or_carries(const Axis *axis) {
  return axis->role == AXIS_REDUCE || axis->role == AXIS_LOOP;
}

// What the borders of sums leave; false: all points go as far, as far as is known.
static bool cut_ragged(Recipe *r) {
  AxisStms axes = schedule_innermost(r->kern);
  if (schedule_are_many(&axes)) return false;
  vec_each (const KernStm **, stm, &axes)
    if ((*stm)->u.axis->role == AXIS_REDUCE) cut_twice(r, (*stm)->u.axis->name);
  axes = schedule_innermost(r->kern);
  vec_each (const KernStm **, stm, &axes) {
    const Axis *axis = (*stm)->u.axis;
    if (sums_or_carries(axis) && !kern_host_knows(r->kern, axis->width)) return true;
  }
  return false;
}

static void align_all(Recipe *r) {
  AxisStms axes = schedule_innermost(r->kern);
  vec_each (const KernStm **, stm, &axes) {
    Recipe next = *r;
    if (!sums_or_carries((*stm)->u.axis)) continue;
    recipe_align(&next, (*stm)->u.axis->name);
    if (!next.failed) *r = next;
  }
}

// Four accumulators for sums that all lanes have rounds of.
static void add_aligned_by_fours(const Schedule *s, Candidates *out,
                                 const Candidate *aligned) {
  Candidate cand = *aligned;
  cand.what = text_format("%s, by fours", aligned->what);
  cand.recipe = recipe_copy(&aligned->recipe);
  AxisStms axes = schedule_innermost(cand.recipe.kern);
  vec_each (const KernStm **, stm, &axes) {
    const Axis *axis = (*stm)->u.axis;
    if (!axis->bulk || axis->role != AXIS_REDUCE || !kern_commutes(axis)) continue;
    recipe_split(&cand.recipe, axis->name, TILE_HEIGHT, SPLIT_PEEL);
    recipe_bind(&cand.recipe, axis->name, BIND_REG);
  }
  if (cand.recipe.kern == aligned->recipe.kern) return;
  recipe_check(&cand.recipe);
  schedule_offer(s, out, &cand);
}

static void add_aligned(const Schedule *s, Candidates *out) {
  Candidate cand = { .what = "points in lanes, their loops side by side",
                     .recipe = schedule_recipe(s) };
  schedule_widen_grid(&cand.recipe);
  if (s->in_place || !schedule_last_grid(cand.recipe.kern) || !cut_ragged(&cand.recipe))
    return;
  cand.recipe.unchecked = true;
  make_tile(s, &cand, (Tile){ 1, 1, LANES, false });
  const Kern *tiled = cand.recipe.kern;
  align_all(&cand.recipe);
  if (cand.recipe.kern == tiled) return;
  add_aligned_by_fours(s, out, &cand);
  recipe_check(&cand.recipe);
  schedule_offer(s, out, &cand);
}

// ---- chunks

// Chunks of neighbouring rows together: the chunks outside, the rows in lanes, so that what lies
// side by side in memory (the columns of a matrix) is read and written side by side.
static void add_rows_of_chunks(const Schedule *s, Candidates *out, int lanes) {
  Candidate cand = { .what = text_format("chunks of %d rows in lanes", lanes),
                     .recipe = schedule_recipe(s) };
  const Axis *chunks = schedule_last_grid(s->kern),
             *row = schedule_axis_before(s->kern, chunks);
  if (!row) return;
  cand.weight = weight_of_lanes(lanes);
  recipe_swap(&cand.recipe, row->name, chunks->name);
  recipe_split(&cand.recipe, row->name, lanes, SPLIT_OVERLAP);
  recipe_bind(&cand.recipe, row->name, BIND_LANE);
  schedule_offer(s, out, &cand);
}

void schedule_rows_of_chunks(const Schedule *s, Candidates *out) {
  if (s->in_place) return;
  add_rows_of_chunks(s, out, LANES);
  add_rows_of_chunks(s, out, NARROW);
}

// ---- all

// Few neighbouring points: columns of a narrow matrix, say.
static void add_few_lanes(const Schedule *s, Candidates *out, int lanes) {
  bool loops = schedule_innermost(s->kern).count > 0;
  const Axis *last = schedule_last_grid(s->kern);
  if (loops || schedule_axis_before(s->kern, last)) add_outer(s, out, false, lanes);
  if (loops) add_outer(s, out, true, lanes);
}

// Rows of one vector, as two are more than they have.
static bool has_narrow_rows(const Schedule *s) {
  Recipe r = schedule_recipe(s);
  schedule_widen_grid(&r);
  const Axis *last = schedule_last_grid(r.kern);
  return last && last->width->kind == TERM_CONST &&
         last->width->u.constant.u.i < 2 * LANES;
}

void schedule_points(const Schedule *s, Candidates *out) {
  add_outer(s, out, false, LANES);
  add_outer(s, out, true, LANES);
  add_few_lanes(s, out, LANES / 2);
  add_few_lanes(s, out, NARROW);
  bool narrow = has_narrow_rows(s);
  add_tile(s, out, (Tile){ narrow ? 8 : 4, narrow ? 1 : 2, LANES, false });
  add_tile(s, out, (Tile){ 4, 1, LANES, false });
  add_tile(s, out, (Tile){ 1, 2, LANES, false });
  add_tile(s, out, (Tile){ 1, 4, LANES, false });
  add_straight(s, out);
  add_aligned(s, out);
}

void schedule_more_tiles(const Schedule *s, Candidates *out) {
  add_tile(s, out, (Tile){ 2, 2, LANES, false });
  add_tile(s, out, (Tile){ 2, 4, LANES, false });
  add_tile(s, out, (Tile){ 8, 1, LANES, false });
  add_tile(s, out, (Tile){ 8, 2, LANES, false });
}
