// Schedules: for each kernel the recipes that may suit it; the cost model picks.
//
// On a CPU level 0 is the lanes of an item (PPoPP'19, section 3.2, end: multicores with SIMD
// units), so a kernel can use vectors in two ways:
//   outer   the innermost axis of the grid in lanes: neighbouring points advance together
//   rows    the innermost loops in lanes: each point by itself, its rows in vectors
// Which is better depends on the widths of the rows, so a plan may decide when the program runs.
#include "kern/schedule.h"
#include "kern/chunks.h"
#include "kern/narrow.h"
#include "kern/recipe_book.h"
#include "kern/wide_lanes.h"
#include <string.h>

enum {
  POINTS = 1000,      // what each dimension of the grid is taken to have
  WIDE = 128,         // lanes for the device's compiler
  NARROW = 4,         // lanes for rows that are fewer
  TRIPS = 64,         // what loops are taken to have
  SHORT = 64,         // elements that are too few for a row in vectors,
  SHORT_TRIPS = 20,   // and as many as such rows are taken to have
  PIECE = 64,         // elements of a lane's piece of a block
  LONG_ROW = 256,     // too many elements to have 16 such rows at hand
  NARROW_WEIGHT = 2,  // stands behind LANES as what is left where its condition fails
  CHAINS =
      4,  // accumulators that a reduction of one instruction needs to keep the pipeline busy
};

void schedule_leave_out(const Schedule *s, const char *what, const char *why) {
  vec_push(s->notes, (KernNote){ what, why });
}

// One more candidate, if all of its steps apply.
bool schedule_offer(const Schedule *s, Candidates *out, const Candidate *cand) {
  if (cand->recipe.failed)
    schedule_leave_out(s, cand->what, recipe_refusal(&cand->recipe));
  else
    vec_push(out, *cand);
  return !cand->recipe.failed;
}

// ---- axes

static bool has_axis_inside(const KernBlock *block);

static bool stm_has_axis(const KernStm *stm) {
  if (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE) return true;
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks)
    if (has_axis_inside(*block)) return true;
  return false;
}

static bool has_axis_inside(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (stm_has_axis(&block->stms[i])) return true;
  return false;
}

static void see_innermost(KernVisitor *v, const KernStm *stm) {
  AxisStms *out = v->state;
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ &&
      !has_axis_inside(stm->u.axis->body))
    vec_push(out, stm);
}

AxisStms schedule_innermost(const Kern *kern) {
  AxisStms out = { 0 };
  KernVisitor v = { .stm = see_innermost, .state = &out };
  kern_visit_block(&v, kern->body);
  return out;
}

const Axis *schedule_last_grid(const Kern *kern) {
  const Axis *last = NULL;
  const KernBlock *b = kern->body;
  while (b->count == 1 && b->stms[0].kind == KERN_AXIS &&
         b->stms[0].u.axis->bind == BIND_GRID) {
    last = b->stms[0].u.axis;
    b = last->body;
  }
  return last;
}

const Axis *schedule_axis_before(const Kern *kern, const Axis *last) {
  const Axis *before = NULL;
  const KernBlock *b = kern->body;
  while (b->count == 1 && b->stms[0].kind == KERN_AXIS && b->stms[0].u.axis != last) {
    before = b->stms[0].u.axis;
    b = before->body;
  }
  return before;
}

// What the axes in the grid, of chunks, go over.
static const Var *length_of_chunk(const Kern *kern) {
  const Axis *chunks = schedule_last_grid(kern);
  const KernBlock *body = chunks ? chunks->body : kern->body;
  for (int i = 0; i < body->count; i++)
    if (body->stms[i].kind == KERN_AXIS)
      return body->stms[i].u.axis->width->kind == TERM_VAR
                 ? body->stms[i].u.axis->width->u.var
                 : NULL;
  return NULL;
}

// ---- rows

// Partial results in LANES x chains accumulators: lane l takes every LANES-th element.
void schedule_interleaved(Recipe *r, Name k, int chains) {
  recipe_split(r, k, LANES, SPLIT_PEEL);
  Name blocks = recipe_outer(r, k);
  recipe_swap(r, blocks, k);
  if (chains > 1) {
    recipe_split(r, blocks, chains, SPLIT_PEEL);
    recipe_swap(r, recipe_outer(r, blocks), blocks);
  }
  recipe_bind(r, k, BIND_LANE);
  if (chains > 1) recipe_bind(r, blocks, BIND_REG);
}

// Several accumulators keep the pipeline busy by themselves.
static int chains_of(const Axis *axis) {
  int values = kern_sum_count(axis);
  return values >= CHAINS ? 1 : CHAINS / values;
}

// Each lane takes a contiguous piece, so that operands stay in order.  Pieces of long rows are
// those of a block: lanes that read a power of two apart would push each other's lines out of the
// caches.
static void in_pieces(Recipe *r, Name k, bool long_rows) {
  if (long_rows) recipe_split(r, k, LANES * PIECE, SPLIT_PEEL);
  recipe_split_into(r, k, LANES);
  recipe_bind(r, recipe_outer(r, k), BIND_LANE);
  recipe_split(r, k, TILE_HEIGHT, SPLIT_PEEL);
  recipe_bind(r, k, BIND_REG);
}

static void row_in_lanes(Recipe *r, const Axis *axis, bool long_rows) {
  switch (axis->role) {
  case AXIS_MAP:
  case AXIS_SCAN:
    recipe_split(r, axis->name, LANES, SPLIT_PEEL);
    recipe_bind(r, axis->name, BIND_LANE);
    return;
  case AXIS_REDUCE:
    if (kern_commutes(axis))
      schedule_interleaved(r, axis->name, chains_of(axis));
    else
      in_pieces(r, axis->name, long_rows);
    return;
  case AXIS_LOOP:
  case AXIS_HIST: return;
  }
}

double schedule_cost(const Schedule *s, const Kern *kern, double trips) {
  CostGuess guess = {
    .naive = s->kern, .points = POINTS, .trips = trips, .length = s->length
  };
  return kern_cost(kern, &guess);
}

// The kernels are those before and after each step, of which most are asked about several times.
static double cost_of_rows(const Schedule *s, const Kern *kern, const CostGuess *guess) {
  const double *known = map_get(s->row_costs, kern);
  if (known) return *known;
  double cost = kern_cost(kern, guess);
  map_put(s->row_costs, kern, mem_copy(&cost, sizeof cost));
  return cost;
}

// Does the recipe make an axis of `before` faster by a fifth at least?
static bool pays(const Schedule *s, const Recipe *r, const Kern *before, Name axis) {
  CostGuess guess = {
    .naive = s->kern, .points = POINTS, .trips = 250, .length = s->length
  };
  double saved = cost_of_rows(s, before, &guess) - cost_of_rows(s, r->kern, &guess);
  if (saved > 0) return saved > 0.2 * kern_axis_cost(before, &guess, axis);
  // Of a part that has no points, as its borders are guessed, nothing is known.
  Step step = { .c = s->c };
  const KernStm *stm = step_axis(&step, before, axis);
  return stm && !step_host_knows(before, stm->u.axis->width) &&
         kern_axis_cost(before, &guess, axis) == 0;
}

// Conditions that are the same for a row decided before it.
static void unswitch_rows(Recipe *r) {
  AxisStms axes = schedule_innermost(r->kern);
  vec_each (const KernStm **, stm, &axes) {
    Recipe next = *r;
    recipe_unswitch(&next, (*stm)->u.axis->name);
    if (!next.failed) *r = next;
  }
}

// The parts beside one border may have others in them.
static void cut_row(Recipe *r, Name axis, int times) {
  Recipe next = *r;
  recipe_cut(&next, axis);
  if (next.failed) return;
  *r = next;
  if (times == 1) return;
  cut_row(r, name_of(r->step.c->names, text_format("%s_before", axis)), times - 1);
  cut_row(r, axis, times - 1);
}

// Loops between the places where comparisons of their indices change.
static void cut_rows(Recipe *r) {
  AxisStms axes = schedule_innermost(r->kern);
  vec_each (const KernStm **, stm, &axes)
    cut_row(r, (*stm)->u.axis->name, (*stm)->u.axis->role == AXIS_MAP ? 2 : 1);
}

// The loop in vectors, if that pays.
static void add_row(const Schedule *s, Recipe *r, const KernStm *stm) {
  Name axis = stm->u.axis->name;
  const char *what = text_format("%s in vectors", axis);
  if (r->failed) return;
  if (kern_vectorises_itself(stm)) {
    schedule_leave_out(s, what, "the device's own compiler does that");
    return;
  }
  Recipe next = *r;
  row_in_lanes(&next, stm->u.axis, s->length != NULL);
  if (next.failed)
    schedule_leave_out(s, what, recipe_refusal(&next));
  else if (!pays(s, &next, r->kern, axis))
    schedule_leave_out(s, what, "saves less than a fifth of that loop");
  else
    *r = next;
}

// Loops of few rounds as straight code, from inside out; maps, too, or what is in them.
static void unroll_short(Recipe *r, bool maps) {
  for (bool more = true; more;) {
    AxisStms axes = schedule_innermost(r->kern);
    more = false;
    vec_each (const KernStm **, stm, &axes) {
      Recipe next = *r;
      if ((*stm)->u.axis->role == AXIS_MAP && !maps) continue;
      recipe_unroll(&next, (*stm)->u.axis->name);
      if (next.failed) continue;
      *r = next;
      more = true;
    }
  }
}

// Sums of few numbers as straight code, and the maps around them in vectors, where that pays.
static Recipe rows_of_few(const Schedule *s) {
  Recipe r = recipe_new(s->c, s->kern), none = r;
  unroll_short(&r, false);
  AxisStms axes = schedule_innermost(r.kern);
  if (!axes.count) return none;
  vec_each (const KernStm **, stm, &axes)
    if ((*stm)->u.axis->role != AXIS_MAP) return none;
  vec_each (const KernStm **, stm, &axes)
    add_row(s, &r, *stm);
  return r;
}

// Every innermost loop in vectors, where that pays.
static Recipe rows(const Schedule *s, bool cut) {
  Recipe r = recipe_new(s->c, s->kern);
  unswitch_rows(&r);
  const Kern *whole = r.kern;
  if (cut) cut_rows(&r);
  if (cut && r.kern == whole) return recipe_new(s->c, s->kern);
  AxisStms axes = schedule_innermost(r.kern);
  vec_each (const KernStm **, stm, &axes)
    add_row(s, &r, *stm);
  return r;
}

// Maps of rows in vectors that only pay inside of borders.
static Recipe rows_inside(const Schedule *s) {
  Recipe r = recipe_new(s->c, s->kern);
  AxisStms axes = schedule_innermost(r.kern);
  vec_each (const KernStm **, stm, &axes) {
    Recipe next = r;
    if ((*stm)->u.axis->role == AXIS_MAP && !kern_vectorises_itself(*stm))
      row_in_lanes(&next, (*stm)->u.axis, false);
    if (next.failed || next.kern == r.kern)
      add_row(s, &r, *stm);
    else
      r = next;
  }
  recipe_interior(&r, false);
  return r;
}

// ---- outer lanes

// Nested maps that are all their points do become part of the grid.
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

// What the lanes sum up, each a row of its own, four elements at once: tiles of loads.
static void add_rows_by_fours(const Schedule *s, Candidates *out,
                              const Candidate *points) {
  Candidate cand = *points;
  AxisStms axes = schedule_innermost(cand.recipe.kern);
  if (cand.recipe.failed) return;
  cand.recipe = recipe_copy(&points->recipe);
  vec_each (const KernStm **, stm, &axes) {
    const Axis *row = (*stm)->u.axis;
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

// Steps for the copies that stages have made, of rows that are shorter than that (0: of any).
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

// Points in lanes with the rows that they read again, if those are not long, side by side.
static void add_staged_rows(const Schedule *s, Candidates *out, const Candidate *points) {
  Candidate cand = *points;
  if (cand.recipe.failed) return;
  cand.recipe = recipe_copy(&points->recipe);
  stage_loops(&cand.recipe, points->recipe.kern->body);
  if (cand.recipe.kern == points->recipe.kern) return;
  schedule_tile_copies(&cand.recipe, points->recipe.kern, LONG_ROW);
  cand.weight++;  // so that the same without rows stays behind it
  cand.what = text_format("%s, rows staged", points->what);
  schedule_offer(s, out, &cand);
}

static void add_outer(const Schedule *s, Candidates *out, bool widened, int lanes) {
  Candidate cand = { .what = text_format("%d %spoints in lanes", lanes,
                                         widened ? "inner " : "neighbouring "),
                     .recipe = recipe_new(s->c, s->kern) };
  if (widened) schedule_widen_grid(&cand.recipe);
  bool same = cand.recipe.kern == s->kern;
  const Axis *last = schedule_last_grid(cand.recipe.kern);
  if (!last || (widened && same)) return;
  bool once = step_updates_in_place(s->kern->body);
  if (!once) cand.weight = lanes == LANES ? LANES : NARROW_WEIGHT;
  recipe_split(&cand.recipe, last->name, lanes, once ? SPLIT_BOUND : SPLIT_OVERLAP);
  recipe_bind(&cand.recipe, last->name, BIND_LANE);
  schedule_offer(s, out, &cand);
  if (lanes == LANES) add_rows_by_fours(s, out, &cand);
  if (lanes == LANES) add_staged_rows(s, out, &cand);
}

// Several rows and vectors at once, so that what they read in common is read once.
static void tile(Candidate *cand, int height, int vectors) {
  Recipe *r = &cand->recipe;
  const Axis *last = schedule_last_grid(r->kern),
             *before = schedule_axis_before(r->kern, last);
  if (height > 1) {
    recipe_split(r, before->name, height, SPLIT_OVERLAP);
    recipe_swap(r, before->name, last->name);
    recipe_bind(r, before->name, BIND_REG);
  }
  cand->weight = LANES * vectors * height;
  recipe_split(r, last->name, LANES * vectors, SPLIT_OVERLAP);
  if (vectors > 1) {
    recipe_split(r, last->name, LANES, SPLIT_OVERLAP);
    recipe_bind(r, recipe_outer(r, last->name), BIND_REG);
  }
  recipe_bind(r, last->name, BIND_LANE);
}

// If lanes and registers only work in the interior, the tile is for that.
static void add_tile(const Schedule *s, Candidates *out, int height, int vectors) {
  Candidate cand = { .what =
                         text_format("tiles of %d rows by %d vectors", height, vectors),
                     .recipe = recipe_new(s->c, s->kern) };
  schedule_widen_grid(&cand.recipe);
  const Axis *last = schedule_last_grid(cand.recipe.kern);
  if (!last || step_updates_in_place(s->kern->body) ||
      (height > 1 && !schedule_axis_before(cand.recipe.kern, last)))
    return;
  Candidate inside = cand;
  tile(&cand, height, vectors);
  if (schedule_offer(s, out, &cand)) return;
  inside.what = text_format("%s, inside of borders", cand.what);
  inside.recipe.unchecked = true;
  tile(&inside, height, vectors);
  recipe_interior(&inside.recipe, true);
  recipe_check(&inside.recipe);
  schedule_offer(s, out, &inside);
}

// ---- lanes for the device's compiler

static void see_wide(KernVisitor *v, const KernStm *stm) {
  AxisStms *out = v->state;
  if (stm->kind == KERN_AXIS && kern_is_wide(stm->u.axis)) vec_push(out, stm);
}

// Are all wide lanes loops that the device's compiler runs in vectors?
static bool wide_lanes_are_plain(const Kern *kern) {
  AxisStms wide = { 0 };
  KernVisitor v = { .stm = see_wide, .state = &wide };
  kern_visit_block(&v, kern->body);
  vec_each (const KernStm **, stm, &wide)
    if (!kern_lanes_are_plain(*stm)) return false;
  return true;
}

// Rows of neighbouring points for the device's compiler, which has 64 lanes of bytes.  What has no
// borders is left to it as it is, if it has one row.
static void add_wide(const Schedule *s, Candidates *out, int height, int lanes) {
  Candidate cand = { .what = text_format("%d rows of %d points", height, lanes),
                     .recipe = recipe_new(s->c, s->kern) };
  Recipe *r = &cand.recipe;
  schedule_widen_grid(r);
  unroll_short(r, true);
  const Axis *last = schedule_last_grid(r->kern);
  const Axis *before = last ? schedule_axis_before(r->kern, last) : NULL;
  if (!last || step_updates_in_place(s->kern->body) || (height > 1 && !before) ||
      has_axis_inside(last->body))
    return;
  r->unchecked = true;
  if (height > 1) {
    recipe_split(r, before->name, height, SPLIT_OVERLAP);
    recipe_swap(r, before->name, last->name);
    recipe_bind(r, before->name, BIND_REG);
  }
  cand.weight = lanes * height;
  recipe_split(r, last->name, lanes, SPLIT_OVERLAP);
  recipe_bind(r, last->name, BIND_LANE);
  recipe_interior(r, true);
  recipe_check(r);
  if (!r->failed && !wide_lanes_are_plain(r->kern))
    schedule_leave_out(s, cand.what,
                       "no loop that the device's compiler would run in vectors");
  else
    schedule_offer(s, out, &cand);
}

// ---- lanes within points

static int height_of(const KernBlock *block);

static int height_of_stm(const KernStm *stm) {
  int height = 0;
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks)
    if (height_of(*block) > height) height = height_of(*block);
  return height + (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE);
}

// How deep loops are nested in it.
static int height_of(const KernBlock *block) {
  int height = 0;
  for (int i = 0; i < block->count; i++)
    if (height_of_stm(&block->stms[i]) > height) height = height_of_stm(&block->stms[i]);
  return height;
}

static bool has_role(const KernBlock *block, AxisRole role) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_AXIS && stm->u.axis->role == role) return true;
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      if (has_role(*inner, role)) return true;
  }
  return false;
}

// Of maps in maps the inner ones go in lanes, as rows.
static void see_map_of_loops(KernVisitor *v, const KernStm *stm) {
  AxisStms *out = v->state;
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ &&
      stm->u.axis->role == AXIS_MAP && height_of_stm(stm) == 2 &&
      !has_role(stm->u.axis->body, AXIS_MAP))
    vec_push(out, stm);
}

static AxisStms maps_of_loops(const Kern *kern) {
  AxisStms out = { 0 };
  KernVisitor v = { .stm = see_map_of_loops, .state = &out };
  kern_visit_block(&v, kern->body);
  return out;
}

// The points of a map in vectors.
static void map_in_lanes(Candidate *cand, const KernStm *stm, int vectors) {
  Recipe *r = &cand->recipe;
  const Axis *axis = stm->u.axis;
  if (!step_host_knows(r->kern, axis->width) || step_updates_in_place(axis->body)) {
    recipe_split(r, axis->name, LANES, SPLIT_PEEL);
    recipe_bind(r, axis->name, BIND_LANE);
    return;
  }
  recipe_split(r, axis->name, LANES * vectors, SPLIT_OVERLAP);
  if (vectors > 1) {
    recipe_split(r, axis->name, LANES, SPLIT_OVERLAP);
    recipe_bind(r, recipe_outer(r, axis->name), BIND_REG);
  }
  recipe_bind(r, axis->name, BIND_LANE);
}

static bool contains(const KernBlock *block, const KernStm *stm) {
  for (int i = 0; i < block->count; i++) {
    if (&block->stms[i] == stm) return true;
    KernBlockVec blocks = kern_blocks(&block->stms[i]);
    vec_each (const KernBlock **, inner, &blocks)
      if (contains(*inner, stm)) return true;
  }
  return false;
}

static bool is_within(const KernStm *stm, const AxisStms *maps) {
  vec_each (const KernStm *const *, map, maps)
    if (contains((*map)->u.axis->body, stm)) return true;
  return false;
}

// Loops of each point in vectors, several points at once, so that what they read in common is
// read once: rows that are multiplied with a matrix, and the result with another.
static void add_lanes_within(const Schedule *s, Candidates *out, int height,
                             int vectors) {
  Candidate cand = { .what = text_format("inner points in lanes, %d rows by %d vectors",
                                         height, vectors),
                     .recipe = recipe_new(s->c, s->kern),
                     .weight = LANES * vectors * height };
  const Axis *last = schedule_last_grid(s->kern);
  AxisStms maps = maps_of_loops(s->kern);
  if (!last || !maps.count || step_updates_in_place(s->kern->body)) return;
  AxisStms rows = schedule_innermost(s->kern);
  if (height > 1) recipe_split(&cand.recipe, last->name, height, SPLIT_OVERLAP);
  vec_each (const KernStm **, stm, &maps)
    map_in_lanes(&cand, *stm, vectors);
  vec_each (const KernStm **, stm, &rows)
    if (!is_within(*stm, &maps)) add_row(s, &cand.recipe, *stm);
  if (height > 1) recipe_bind(&cand.recipe, last->name, BIND_REG);
  schedule_offer(s, out, &cand);
}

// A map of loops in lanes, or its loops in vectors, whichever is cheaper.
static void add_map_or_rows(const Schedule *s, Recipe *r, const KernStm *map) {
  Candidate in_lanes = { .recipe = recipe_copy(r) };
  map_in_lanes(&in_lanes, map, 1);
  Recipe by_rows = recipe_copy(r);
  AxisStms rows = schedule_innermost(s->kern);
  vec_each (const KernStm **, row, &rows)
    if (contains(map->u.axis->body, *row)) add_row(s, &by_rows, *row);
  bool lanes = !in_lanes.recipe.failed && schedule_cost(s, in_lanes.recipe.kern, TRIPS) <
                                              schedule_cost(s, by_rows.kern, TRIPS);
  *r = lanes ? in_lanes.recipe : by_rows;
}

// Several maps, some of which go through rows and others through columns; or one that the schedules
// above leave out, as the kernel updates what it reads.
static void add_maps_apart(const Schedule *s, Candidates *out) {
  Candidate cand = { .what = "inner points or rows in lanes, map by map",
                     .recipe = recipe_new(s->c, s->kern) };
  AxisStms maps = maps_of_loops(s->kern), rows = schedule_innermost(s->kern);
  if (maps.count < (step_updates_in_place(s->kern->body) ? 1 : 2)) return;
  vec_each (const KernStm **, map, &maps)
    add_map_or_rows(s, &cand.recipe, *map);
  vec_each (const KernStm **, row, &rows)
    if (!is_within(*row, &maps)) add_row(s, &cand.recipe, *row);
  schedule_offer(s, out, &cand);
}

// ---- lanes around loops

// A reduction of what loops compute.
static void see_sum_of_loops(KernVisitor *v, const KernStm *stm) {
  AxisStms *out = v->state;
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ &&
      stm->u.axis->role == AXIS_REDUCE && height_of_stm(stm) >= 2 &&
      !has_role(stm->u.axis->body, AXIS_MAP) && !is_within(stm, out))
    vec_push(out, stm);
}

static AxisStms sums_of_loops(const Kern *kern) {
  AxisStms out = { 0 };
  KernVisitor v = { .stm = see_sum_of_loops, .state = &out };
  kern_visit_block(&v, kern->body);
  return out;
}

// What is summed up in vectors, each lane with its own loops; other loops as rows.
static void add_sums_of_loops(const Schedule *s, Candidates *out) {
  Candidate cand = { .what = "sums of loops in lanes",
                     .recipe = recipe_new(s->c, s->kern) };
  AxisStms sums = sums_of_loops(s->kern);
  if (!sums.count) return;
  AxisStms rows = schedule_innermost(s->kern);
  vec_each (const KernStm **, stm, &sums)
    if (kern_commutes((*stm)->u.axis))
      schedule_interleaved(&cand.recipe, (*stm)->u.axis->name, 1);
    else
      in_pieces(&cand.recipe, (*stm)->u.axis->name, false);
  vec_each (const KernStm **, stm, &rows)
    if (!is_within(*stm, &sums)) add_row(s, &cand.recipe, *stm);
  if (schedule_offer(s, out, &cand)) add_rows_by_fours(s, out, &cand);
}

// ---- the choice

static double cost_of(const Schedule *s, const Candidate *cand, double trips) {
  return (1 - cand->nearer) * schedule_cost(s, cand->recipe.kern, trips);
}

static void find_costs(const Schedule *s, Candidates *candidates, double trips) {
  vec_each (Candidate *, cand, candidates)
    cand->cost = cost_of(s, cand, trips);
}

// The same with the interior apart, where that is better.
static bool try_interior(const Schedule *s, Candidate *cand, double trips, bool move) {
  Candidate next = *cand;
  recipe_interior(&next.recipe, move);
  if (next.recipe.failed) return false;
  next.what = text_format("%s, with an interior", cand->what);
  next.cost = cost_of(s, &next, trips);
  if (next.cost < 0.95 * cand->cost)
    *cand = next;
  else
    schedule_leave_out(s, next.what, "saves less than a twentieth");
  return true;
}

static void try_interiors(const Schedule *s, Candidates *candidates, double trips) {
  bool move = !step_updates_in_place(s->kern->body);
  vec_each (Candidate *, cand, candidates) {
    if (cand->recipe.unchecked) continue;
    if (!move || !try_interior(s, cand, trips, true)) try_interior(s, cand, trips, false);
  }
}

static const Candidate *cheapest(const Candidates *candidates) {
  const Candidate *best = &candidates->at[0];
  for (int i = 1; i < candidates->count; i++)
    if (candidates->at[i].cost < 0.9 * best->cost) best = &candidates->at[i];
  return best;
}

KernPlan schedule_plan_of(const Candidate *cand) {
  return (KernPlan){ .kern = cand->recipe.kern,
                     .recipe = cand->recipe.lines.at,
                     .recipe_count = cand->recipe.lines.count,
                     .condition = cand->recipe.condition };
}

// One vector stays behind several: else 16 columns go one by one where 32 are best.
static bool is_weaker(const Candidate *cand, const Candidate *best) {
  return 8 * cand->weight <= best->weight ||
         (cand->weight == LANES && best->weight > LANES);
}

// The candidates that the best one leaves: without conditions, or with weaker ones than its own.
static Candidates others(const Candidates *all, const Candidate *best) {
  Candidates out = { 0 };
  vec_each (const Candidate *, cand, all)
    if (cand != best && (!cand->recipe.condition || is_weaker(cand, best)))
      vec_push(&out, *cand);
  return out;
}

static const KernPlan *choose_plan(const Candidates *all) {
  const Candidate *best = cheapest(all);
  KernPlan plan = schedule_plan_of(best);
  if (plan.condition) {
    Candidates rest = others(all, best);
    plan.otherwise = choose_plan(&rest);
  }
  return mem_copy(&plan, sizeof plan);
}

// ---- short rows

// All innermost loops have fewer points than that.
static Recipe rows_are_short(const Schedule *s) {
  Recipe r = recipe_new(s->c, s->kern);
  AxisStms axes = schedule_innermost(s->kern);
  for (int i = 0; i < axes.count; i++) {
    Recipe next = r;
    recipe_where_fewer(&next, axes.at[i]->u.axis->name, SHORT);
    if (next.failed || next.condition != r.condition) r = next;
  }
  return r;
}

// What is best for rows of any length fills vectors of long rows: is another candidate much better
// for short ones?
static const KernPlan *with_short_rows(const Schedule *s, Candidates *all,
                                       const KernPlan *chosen) {
  Recipe are_short = rows_are_short(s);
  Candidate *best = NULL;
  if (chosen->condition || are_short.failed || !are_short.condition) return chosen;
  double usual = schedule_cost(s, chosen->kern, SHORT_TRIPS), least = 0.6 * usual;
  vec_each (Candidate *, cand, all) {
    if (cand->recipe.kern == chosen->kern) continue;
    double cost = cost_of(s, cand, SHORT_TRIPS);
    if (cost >= least) continue;
    best = cand;
    least = 0.9 * cost;
  }
  if (!best) return chosen;
  best->what = text_format("short rows: %s", best->what);
  best->recipe = recipe_then(&are_short, &best->recipe);
  KernPlan plan = schedule_plan_of(best);
  plan.otherwise = chosen;
  return mem_copy(&plan, sizeof plan);
}

// Chunks of neighbouring rows together: the chunks outside, the rows in lanes, so that what lies
// side by side in memory (the columns of a matrix) is read and written side by side.
static void add_rows_of_chunks(const Schedule *s, Candidates *out, int lanes) {
  Candidate cand = { .what = text_format("chunks of %d rows in lanes", lanes),
                     .recipe = recipe_new(s->c, s->kern) };
  const Axis *chunks = schedule_last_grid(s->kern),
             *row = schedule_axis_before(s->kern, chunks);
  if (!row) return;
  cand.weight = lanes == LANES ? LANES : NARROW_WEIGHT;
  recipe_swap(&cand.recipe, row->name, chunks->name);
  recipe_split(&cand.recipe, row->name, lanes, SPLIT_OVERLAP);
  recipe_bind(&cand.recipe, row->name, BIND_LANE);
  schedule_offer(s, out, &cand);
}

static void add_rows(const Schedule *s, Candidates *out) {
  Candidate by_rows = { .what = "rows in vectors", .recipe = rows(s, false) };
  if (by_rows.recipe.kern != s->kern) vec_push(out, by_rows);
  Candidate unrolled = { .what = "short loops unrolled", .recipe = rows_of_few(s) };
  if (unrolled.recipe.kern != s->kern) vec_push(out, unrolled);
  Candidate inside = { .what = "rows in vectors, inside of borders",
                       .recipe = rows_inside(s) };
  if (!inside.recipe.failed) vec_push(out, inside);
  Candidate in_parts = { .what = "rows in parts", .recipe = rows(s, true) };
  if (in_parts.recipe.kern != s->kern) vec_push(out, in_parts);
}

// Neighbouring points together.
static void add_points(const Schedule *s, Candidates *out) {
  add_outer(s, out, false, LANES);
  add_outer(s, out, true, LANES);
  // Few neighbouring points, each with a loop: a column each of a narrow matrix, say.
  if (!step_updates_in_place(s->kern->body) && schedule_innermost(s->kern).count > 0) {
    add_outer(s, out, false, NARROW);
    add_outer(s, out, true, NARROW);
  }
  add_tile(s, out, 4, 2);
  add_tile(s, out, 4, 1);
  add_tile(s, out, 1, 2);
  add_tile(s, out, 1, 4);
  add_wide(s, out, 4, WIDE);
  add_wide(s, out, 1, WIDE);
  add_wide(s, out, 1, WIDE / 2);
  schedule_products(s, out);
  add_lanes_within(s, out, 4, 2);
  add_lanes_within(s, out, 1, 2);
  add_maps_apart(s, out);
}

// What was tried, in order.
static const KernTry *tries_of(const Candidates *all) {
  KernTry *tries = new_array(KernTry, all->count + 1);
  for (int i = 0; i < all->count; i++) {
    const Candidate *cand = &all->at[i];
    tries[i] =
        (KernTry){ cand->what, cand->recipe.kern, cand->recipe.condition, cand->cost };
  }
  return tries;
}

static const KernPlan *explained(const Schedule *s, const Candidates *all,
                                 const KernPlan *chosen) {
  KernWhy why = { .naive = s->kern,
                  .points = POINTS,
                  .trips = TRIPS,
                  .length = s->length,
                  .tries = tries_of(all),
                  .try_count = all->count,
                  .notes = s->notes->at,
                  .note_count = s->notes->count };
  KernPlan *plan = mem_copy(chosen, sizeof *chosen);
  plan->why = mem_copy(&why, sizeof why);
  return plan;
}

// More tiles than the cost model needs to weigh.
static void add_more_tiles(const Schedule *s, Candidates *out) {
  add_tile(s, out, 2, 2);
  add_tile(s, out, 2, 4);
  add_tile(s, out, 8, 1);
  add_tile(s, out, 8, 2);
}

static const KernPlan *with_others(const Schedule *s, KernUse use, const Candidates *all,
                                   const KernPlan *chosen) {
  Candidates more = { 0 }, every = { 0 };
  if (!s->book || (!s->book->others && !s->book->choices.count)) return chosen;
  if (use == USE_POINTS) add_more_tiles(s, &more);
  find_costs(s, &more, TRIPS);
  try_interiors(s, &more, TRIPS);
  vec_each (const Candidate *, cand, all)
    vec_push(&every, *cand);
  vec_each (const Candidate *, cand, &more)
    vec_push(&every, *cand);
  return schedule_with_others(s, &every, chosen);
}

static const KernPlan *cheapest_plan(const Schedule *s, KernUse use) {
  Candidates all = { 0 };
  Candidate plain = { .what = "as it is", .recipe = recipe_new(s->c, s->kern) };
  vec_push(&all, plain);
  if (use != USE_FEW) add_rows(s, &all);
  if (use != USE_FEW) add_sums_of_loops(s, &all);
  if (use == USE_POINTS) add_points(s, &all);
  if (use == USE_CHUNKS && !step_updates_in_place(s->kern->body)) {
    add_rows_of_chunks(s, &all, LANES);
    add_rows_of_chunks(s, &all, NARROW);
  }
  find_costs(s, &all, TRIPS);
  try_interiors(s, &all, TRIPS);
  const KernPlan *chosen = choose_plan(&all);
  if (use != USE_FEW) chosen = with_short_rows(s, &all, chosen);
  if (use != USE_FEW) chosen = with_others(s, use, &all, chosen);
  return explained(s, &all, chosen);
}

// ---- kernels and their names

// A seg-op whose kernels are to be scheduled.
typedef struct Scheduling {
  Compiler *c;
  RecipeBook *book;
  const KernSeg *seg;
} Scheduling;

Name kern_seg_name(Compiler *c, Map *counts, Name entry, SegKind kind) {
  Name word = name_of(c->names, kern_kind_name(kind));
  const int *before = map_get(counts, word);
  int number = before ? *before + 1 : 1;
  map_put(counts, word, mem_copy(&number, sizeof number));
  const char *suffix = number > 1 ? text_format("_%d", number) : "";
  return name_of(c->names, text_format("%s.%s%s", entry, word, suffix));
}

// That of the seg-op, with what its part of the work adds: main.segred_2, main.segred_2_chunks.
static Name name_of_kernel(const Scheduling *s, const Kern *kern) {
  const char *part = kern->name + strlen(s->seg->kern->name);
  return name_of(s->c->names, text_format("%s%s", s->seg->name, part));
}

// Its kernels have many points.
static const KernPlan *shared_out(const KernPlan *plan) {
  KernPlan *out = mem_copy(plan, sizeof *plan);
  out->many_points = true;
  if (plan->otherwise) out->otherwise = shared_out(plan->otherwise);
  return out;
}

static const KernPlan *one_kernel(const Scheduling *s, const Kern *kern, KernUse use) {
  Name name = name_of_kernel(s, kern);
  KernNotes notes = { 0 };
  Schedule schedule = { s->c,          kern,
                        &notes,        use == USE_CHUNKS ? length_of_chunk(kern) : NULL,
                        map_new(NULL), s->book,
                        name };
  const KernPlan *chosen = book_plan(s->c, s->book, name, kern);
  KernPlan plan = chosen ? *chosen : *cheapest_plan(&schedule, use);
  plan.name = name;
  const KernPlan *all = mem_copy(&plan, sizeof plan);
  return use == USE_POINTS ? shared_out(all) : all;
}

// Rows in chunks if that gives more than one, else as they are.
static const KernPlan *in_chunks(const Scheduling *s, const Kern *kern,
                                 const Chunks *chunks) {
  const KernPlan **parts = new_array(const KernPlan *, chunks->phase_count);
  for (int i = 0; i < chunks->phase_count; i++)
    parts[i] = one_kernel(s, chunks->phases[i], chunks->uses[i]);
  Kern *in_one = mem_copy(kern, sizeof *kern);
  in_one->body = kern_use_spare(s->c, kern->body, term_i64(0));
  return new_node(KernPlan, .lets = chunks->lets,
                  .condition = term_less(term_i64(1), chunks->count), .parts = parts,
                  .part_count = chunks->phase_count, .temps = chunks->temps,
                  .temp_count = chunks->temp_count, .share = s->seg->share,
                  .otherwise = one_kernel(s, in_one, USE_POINTS));
}

static bool has_rows(const Scheduling *s) {
  SegKind kind = s->seg->kind;
  return kind == SEG_RED || kind == SEG_SCAN || kind == SEG_HIST;
}

static const KernPlan *as_it_comes(const Scheduling *s, const Kern *kern) {
  Chunks chunks;
  return has_rows(s) && kern_in_chunks(s->c, kern, s->seg, &chunks)
             ? in_chunks(s, kern, &chunks)
             : one_kernel(s, kern, USE_POINTS);
}

// Without divisions, where indices and divisors are small enough.
static const KernPlan *without_divisions(const Scheduling *s, const Kern *kern) {
  KernQuick quick;
  if (s->seg->share || !kern_by_reciprocals(s->c, kern, &quick)) return NULL;
  const KernPlan **parts = new_array(const KernPlan *, 1);
  parts[0] = as_it_comes(s, quick.kern);
  Kern *divided = mem_copy(kern, sizeof *kern);
  divided->name = name_of(s->c->names, text_format("%s_divided", kern->name));
  return new_node(KernPlan, .lets = quick.lets, .condition = quick.condition,
                  .parts = parts, .part_count = 1,
                  .otherwise = has_rows(s) ? as_it_comes(s, divided)
                                           : one_kernel(s, divided, USE_FEW));
}

const KernPlan *kern_schedule(Compiler *c, RecipeBook *book, const KernSeg *seg) {
  const Kern *kern = kern_update_in_place(c, kern_inline(c, seg->kern));
  kern = kern_unroll_short(c, kern_rings_in_place(c, kern));
  kern = kern_narrow(c, kern_choose(c, kern_drop_known_checks(c, kern)));
  Scheduling s = { c, book, seg };
  const KernPlan *quick = without_divisions(&s, kern);
  return quick ? quick : as_it_comes(&s, kern);
}
