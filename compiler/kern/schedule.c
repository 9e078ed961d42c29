// Schedules: for each kernel the recipes that may suit it; the cost model picks.
//
// On a CPU level 0 is the lanes of an item (PPoPP'19, section 3.2, end: multicores with SIMD
// units), so a kernel can use vectors in two ways:
//   outer   the innermost axis of the grid in lanes: neighbouring points advance together
//   rows    the innermost loops in lanes: each point by itself, its rows in vectors
// Which is better depends on the widths of the rows, so a plan may decide when the program runs.
#include "kern/chunks.h"
#include "kern/kern_cost.h"
#include "kern/plan.h"
#include "kern/recipe.h"

enum {
  LANES = 16,
  NARROW = 4,         // lanes for rows that are fewer
  NARROW_WEIGHT = 2,  // stands behind LANES as what is left where its condition fails
  CHAINS =
      4,  // accumulators that a reduction of one instruction needs to keep the pipeline busy
};

typedef struct Schedule {
  Compiler *c;
  const Kern *kern;
} Schedule;

// A way to run a kernel, where it applies.
typedef struct Candidate {
  Recipe recipe;
  const Term *condition;  // of the host; NULL: always
  int weight;             // how much the condition demands
  double cost;
} Candidate;
typedef Vec(Candidate) Candidates;

// ---- axes

typedef Vec(const KernStm *) AxisStms;

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

static AxisStms innermost_axes(const Kern *kern) {
  AxisStms out = { 0 };
  KernVisitor v = { .stm = see_innermost, .state = &out };
  kern_visit_block(&v, kern->body);
  return out;
}

static const Axis *last_grid_axis(const Kern *kern) {
  const Axis *last = NULL;
  const KernBlock *b = kern->body;
  while (b->count == 1 && b->stms[0].kind == KERN_AXIS &&
         b->stms[0].u.axis->bind == BIND_GRID) {
    last = b->stms[0].u.axis;
    b = last->body;
  }
  return last;
}

static const Axis *axis_before(const Kern *kern, const Axis *last) {
  const Axis *before = NULL;
  const KernBlock *b = kern->body;
  while (b->count == 1 && b->stms[0].kind == KERN_AXIS && b->stms[0].u.axis != last) {
    before = b->stms[0].u.axis;
    b = before->body;
  }
  return before;
}

// ---- rows

// Partial results in LANES x chains accumulators: lane l takes every LANES-th element.
static void interleaved(Recipe *r, Name k, int chains) {
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

// Each lane takes a contiguous piece, so that operands stay in order.
static void in_pieces(Recipe *r, Name k) {
  recipe_split_into(r, k, LANES);
  recipe_bind(r, recipe_outer(r, k), BIND_LANE);
}

static void row_in_lanes(Recipe *r, const Axis *axis) {
  switch (axis->role) {
  case AXIS_MAP:
  case AXIS_SCAN:
    recipe_split(r, axis->name, LANES, SPLIT_PEEL);
    recipe_bind(r, axis->name, BIND_LANE);
    return;
  case AXIS_REDUCE:
    if (kern_commutes(axis))
      interleaved(r, axis->name, chains_of(axis));
    else
      in_pieces(r, axis->name);
    return;
  case AXIS_LOOP:
  case AXIS_HIST: return;
  }
}

static double cost_of(const Schedule *s, const Kern *kern, double trips) {
  CostGuess guess = { .naive = s->kern, .points = 1000, .trips = trips };
  return kern_cost(kern, &guess);
}

// Does the recipe make an axis of `before` faster by a fifth at least?
static bool pays(const Schedule *s, const Recipe *r, const Kern *before, Name axis) {
  CostGuess guess = { .naive = s->kern, .points = 1000, .trips = 250 };
  double saved = kern_cost(before, &guess) - kern_cost(r->kern, &guess);
  return saved > 0.2 * kern_axis_cost(before, &guess, axis);
}

// Conditions that are the same for a row decided before it.
static void unswitch_rows(Recipe *r) {
  AxisStms axes = innermost_axes(r->kern);
  vec_each (const KernStm **, stm, &axes) {
    Recipe next = *r;
    recipe_unswitch(&next, (*stm)->u.axis->name);
    if (!next.failed) *r = next;
  }
}

// The loop in vectors, if that pays.
static void add_row(const Schedule *s, Recipe *r, const KernStm *stm) {
  if (r->failed || kern_vectorises_itself(stm)) return;
  Recipe next = *r;
  row_in_lanes(&next, stm->u.axis);
  if (!next.failed && pays(s, &next, r->kern, stm->u.axis->name)) *r = next;
}

// Every innermost loop in vectors, where that pays.
static Recipe rows(const Schedule *s) {
  Recipe r = recipe_new(s->c, s->kern);
  unswitch_rows(&r);
  AxisStms axes = innermost_axes(r.kern);
  vec_each (const KernStm **, stm, &axes)
    add_row(s, &r, *stm);
  return r;
}

// ---- outer lanes

// Does the code store where it loads, but in arrays of its own?  Then no point may run twice.
typedef struct InPlace {
  Map *loaded, *stored, *made;  // root tensors; those of the host by its names
  bool found;
} InPlace;

static void see_access(KernVisitor *v, Access access, bool stores) {
  InPlace *p = v->state;
  const Tensor *root = tensor_root(access.tensor);
  const void *key = root->space == TENSOR_GLOBAL ? (const void *)root->host : root;
  map_put(stores ? p->stored : p->loaded, key, root);
}

static void see_made(KernVisitor *v, const KernStm *stm) {
  InPlace *p = v->state;
  if (stm->kind == KERN_ALLOC) map_put(p->made, stm->u.tensor, stm);
}

static void see_both(void *state, const void *key, void *value) {
  InPlace *p = state;
  if (map_has(p->loaded, key) && !map_has(p->made, value)) p->found = true;
}

static bool updates_in_place(const KernBlock *block) {
  InPlace p = { map_new(NULL), map_new(NULL), map_new(NULL), false };
  KernVisitor v = { .stm = see_made, .access = see_access, .state = &p };
  kern_visit_block(&v, block);
  map_each(p.stored, see_both, &p);
  return p.found;
}

static bool demands(const Term *condition, const Term *what) {
  if (term_same(condition, what)) return true;
  return condition->kind == TERM_OP && condition->u.op.op == OP_LAND &&
         (demands(condition->u.op.args[0], what) ||
          demands(condition->u.op.args[1], what));
}

static const Term *at_least(const Term *condition, const Term *width, int64_t least) {
  const Term *more = term_at_most(term_i64(least), width);
  if (!condition) return more;
  return demands(condition, more) ? condition : term_and(condition, more);
}

static bool has_check(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind == KERN_CHECK) return true;
  return false;
}

// Nested maps that are all their points do become part of the grid.  Condition: checks around a
// map are made at its points, so there must be some; NULL: there are none.
static const Term *widen_grid(Recipe *r) {
  const Term *condition = NULL;
  for (;;) {
    Recipe next = *r;
    const Axis *last = last_grid_axis(next.kern);
    const KernBlock *body = last ? last->body : next.kern->body;
    const KernStm *stm = body->count ? &body->stms[body->count - 1] : NULL;
    if (!stm || stm->kind != KERN_AXIS || stm->u.axis->bind != BIND_SEQ ||
        stm->u.axis->role != AXIS_MAP)
      return condition;
    recipe_bind(&next, stm->u.axis->name, BIND_GRID);
    if (next.failed) return condition;
    if (has_check(body)) condition = at_least(condition, stm->u.axis->width, 1);
    *r = next;
  }
}

static void add_outer(const Schedule *s, Candidates *out, bool widened, int lanes) {
  Candidate cand = { .recipe = recipe_new(s->c, s->kern) };
  if (widened) cand.condition = widen_grid(&cand.recipe);
  bool same = cand.recipe.kern == s->kern;
  const Axis *last = last_grid_axis(cand.recipe.kern);
  if (!last || (widened && same)) return;
  bool once = updates_in_place(s->kern->body);
  if (!once) {
    cand.condition = at_least(cand.condition, last->width, lanes);
    cand.weight = lanes == LANES ? LANES : NARROW_WEIGHT;
  }
  recipe_split(&cand.recipe, last->name, lanes, once ? SPLIT_BOUND : SPLIT_OVERLAP);
  recipe_bind(&cand.recipe, last->name, BIND_LANE);
  if (!cand.recipe.failed) vec_push(out, cand);
}

// Several rows and vectors at once, so that what they read in common is read once.
static void tile(Candidate *cand, int height, int vectors) {
  Recipe *r = &cand->recipe;
  const Axis *last = last_grid_axis(r->kern), *before = axis_before(r->kern, last);
  if (height > 1) {
    cand->condition = at_least(cand->condition, before->width, height);
    recipe_split(r, before->name, height, SPLIT_OVERLAP);
    recipe_swap(r, before->name, last->name);
    recipe_bind(r, before->name, BIND_REG);
  }
  cand->condition = at_least(cand->condition, last->width, LANES * vectors);
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
  Candidate cand = { .recipe = recipe_new(s->c, s->kern) };
  cand.condition = widen_grid(&cand.recipe);
  const Axis *last = last_grid_axis(cand.recipe.kern);
  if (!last || updates_in_place(s->kern->body) ||
      (height > 1 && !axis_before(cand.recipe.kern, last)))
    return;
  Candidate inside = cand;
  tile(&cand, height, vectors);
  if (!cand.recipe.failed) {
    vec_push(out, cand);
    return;
  }
  inside.recipe.unchecked = true;
  tile(&inside, height, vectors);
  recipe_interior(&inside.recipe, true);
  recipe_check(&inside.recipe);
  if (!inside.recipe.failed) vec_push(out, inside);
}

// Does the host know the width before the launch?
typedef struct HostWidth {
  Map *inside;
  bool found;
} HostWidth;

static void see_binder(KernVisitor *v, const Var *var) { map_put(v->state, var, var); }

static void see_bound(void *state, const Var *var) {
  HostWidth *b = state;
  if (map_has(b->inside, var)) b->found = true;
}

static bool host_knows(const Kern *kern, const Term *width) {
  HostWidth b = { .inside = map_new(NULL) };
  KernVisitor v = { .binder = see_binder, .state = b.inside };
  kern_visit_block(&v, kern->body);
  term_each_var(width, see_bound, &b);
  return !b.found;
}

// What the points sum up, if that is all they loop for: the axis; else NULL.
static const Axis *only_sum(const Kern *kern) {
  AxisStms axes = innermost_axes(kern);
  const Axis *sum = axes.count == 1 ? axes.at[0]->u.axis : NULL;
  return sum && sum->role == AXIS_REDUCE && kern_commutes(sum) &&
                 host_knows(kern, sum->width)
             ? sum
             : NULL;
}

// Does the sum read something that is the same for all points of the axis?
typedef struct Reuse {
  Map *moved;  // variables that differ between the points
  bool moves, found;
} Reuse;

static void see_moving(void *state, const Var *var) {
  Reuse *r = state;
  if (map_has(r->moved, var)) r->moves = true;
}

static void see_moving_let(KernVisitor *v, const KernStm *stm) {
  Reuse *r = v->state;
  if (stm->kind != KERN_LET) return;
  r->moves = false;
  term_each_var(stm->u.term, see_moving, r);
  if (r->moves) map_put(r->moved, stm->binders[0], stm);
}

static void see_reuse(KernVisitor *v, Access access, bool stores) {
  Reuse *r = v->state;
  r->moves = stores;
  for (int i = 0; i < access.tensor->rank; i++)
    term_each_var(access.index[i], see_moving, r);
  if (!r->moves) r->found = true;
}

static bool reads_in_common(const Kern *kern, const Axis *sum, const Axis *points) {
  Reuse r = { .moved = map_new(NULL) };
  map_put(r.moved, points->index, points);
  KernVisitor lets = { .stm = see_moving_let, .state = &r },
              loads = { .access = see_reuse, .state = &r };
  kern_visit_block(&lets, kern->body);
  kern_visit_block(&loads, sum->body);
  return r.found;
}

// Rows against rows, as in a product with a transposed matrix: what TILE x TILE points read in
// common is read once, and the sum of each is in lanes.  Of BAND tiles below one another the
// columns stay in the cache.
static void add_tile_of_rows(const Schedule *s, Candidates *out) {
  enum {
    TILE = 4,
    BAND = 8,
    WEIGHT = 2048
  };  // if its sums are short, all others may follow
  Candidate cand = { .recipe = recipe_new(s->c, s->kern), .weight = WEIGHT };
  Recipe *r = &cand.recipe;
  cand.condition = widen_grid(r);
  const Axis *last = last_grid_axis(r->kern),
             *before = last ? axis_before(r->kern, last) : NULL, *sum = only_sum(r->kern);
  if (!before || !sum || updates_in_place(s->kern->body) ||
      !reads_in_common(r->kern, sum, before) || !reads_in_common(r->kern, sum, last))
    return;
  cand.condition = at_least(cand.condition, before->width, TILE);
  cand.condition = at_least(cand.condition, last->width, TILE);
  cand.condition = at_least(cand.condition, sum->width, 2 * LANES);
  interleaved(r, sum->name, 1);
  recipe_split(r, before->name, TILE, SPLIT_OVERLAP);
  Name rows = recipe_outer(r, before->name);
  recipe_swap(r, before->name, last->name);
  recipe_split(r, last->name, TILE, SPLIT_OVERLAP);
  recipe_split(r, rows, BAND, SPLIT_SHORT);
  recipe_swap(r, rows, recipe_outer(r, last->name));
  recipe_bind(r, before->name, BIND_REG);
  recipe_bind(r, last->name, BIND_REG);
  if (!r->failed) vec_push(out, cand);
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
  if (!host_knows(r->kern, axis->width) || updates_in_place(axis->body)) {
    recipe_split(r, axis->name, LANES, SPLIT_PEEL);
    recipe_bind(r, axis->name, BIND_LANE);
    return;
  }
  cand->condition = at_least(cand->condition, axis->width, LANES * vectors);
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
  Candidate cand = { .recipe = recipe_new(s->c, s->kern),
                     .weight = LANES * vectors * height };
  const Axis *last = last_grid_axis(s->kern);
  AxisStms maps = maps_of_loops(s->kern);
  if (!last || !maps.count || updates_in_place(s->kern->body)) return;
  AxisStms rows = innermost_axes(s->kern);
  if (height > 1) {
    cand.condition = at_least(cand.condition, last->width, height);
    recipe_split(&cand.recipe, last->name, height, SPLIT_OVERLAP);
  }
  vec_each (const KernStm **, stm, &maps)
    map_in_lanes(&cand, *stm, vectors);
  vec_each (const KernStm **, stm, &rows)
    if (!is_within(*stm, &maps)) add_row(s, &cand.recipe, *stm);
  if (height > 1) recipe_bind(&cand.recipe, last->name, BIND_REG);
  if (!cand.recipe.failed) vec_push(out, cand);
}

// ---- the choice

static void find_costs(const Schedule *s, Candidates *candidates, double trips) {
  vec_each (Candidate *, cand, candidates)
    cand->cost = cost_of(s, cand->recipe.kern, trips);
}

// The same with the interior apart, where that is better.
static bool try_interior(const Schedule *s, Candidate *cand, double trips, bool move) {
  Candidate next = *cand;
  recipe_interior(&next.recipe, move);
  if (next.recipe.failed) return false;
  next.cost = cost_of(s, next.recipe.kern, trips);
  if (next.cost < 0.95 * cand->cost) *cand = next;
  return true;
}

static void try_interiors(const Schedule *s, Candidates *candidates, double trips) {
  bool move = !updates_in_place(s->kern->body);
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

static KernPlan plan_of(const Candidate *cand) {
  return (KernPlan){ .kern = cand->recipe.kern,
                     .recipe = cand->recipe.lines.at,
                     .recipe_count = cand->recipe.lines.count,
                     .condition = cand->condition };
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
    if (cand != best && (!cand->condition || is_weaker(cand, best)))
      vec_push(&out, *cand);
  return out;
}

static const KernPlan *choose_plan(const Candidates *all) {
  const Candidate *best = cheapest(all);
  KernPlan plan = plan_of(best);
  if (plan.condition) {
    Candidates rest = others(all, best);
    plan.otherwise = choose_plan(&rest);
  }
  return mem_copy(&plan, sizeof plan);
}

// Chunks of neighbouring rows together: the chunks outside, the rows in lanes, so that what lies
// side by side in memory (the columns of a matrix) is read and written side by side.
static void add_rows_of_chunks(const Schedule *s, Candidates *out, int lanes) {
  Candidate cand = { .recipe = recipe_new(s->c, s->kern) };
  const Axis *chunks = last_grid_axis(s->kern), *row = axis_before(s->kern, chunks);
  if (!row) return;
  cand.condition = at_least(NULL, row->width, lanes);
  cand.weight = lanes == LANES ? LANES : NARROW_WEIGHT;
  recipe_swap(&cand.recipe, row->name, chunks->name);
  recipe_split(&cand.recipe, row->name, lanes, SPLIT_OVERLAP);
  recipe_bind(&cand.recipe, row->name, BIND_LANE);
  if (!cand.recipe.failed) vec_push(out, cand);
}

static void add_rows(const Schedule *s, Candidates *out) {
  Candidate by_rows = { .recipe = rows(s) };
  if (by_rows.recipe.kern != s->kern) vec_push(out, by_rows);
}

// Neighbouring points together.
static void add_points(const Schedule *s, Candidates *out) {
  add_outer(s, out, false, LANES);
  add_outer(s, out, true, LANES);
  // Few neighbouring points, each with a loop: a column each of a narrow matrix, say.
  if (!updates_in_place(s->kern->body) && innermost_axes(s->kern).count > 0) {
    add_outer(s, out, false, NARROW);
    add_outer(s, out, true, NARROW);
  }
  add_tile(s, out, 4, 2);
  add_tile(s, out, 4, 1);
  add_tile(s, out, 1, 2);
  add_tile(s, out, 1, 4);
  add_tile_of_rows(s, out);
  add_lanes_within(s, out, 4, 2);
  add_lanes_within(s, out, 1, 2);
}

static const KernPlan *one_kernel(Compiler *c, const Kern *kern, KernUse use) {
  Schedule s = { c, kern };
  Candidates all = { 0 };
  Candidate plain = { .recipe = recipe_new(c, kern) };
  vec_push(&all, plain);
  if (use != USE_FEW) add_rows(&s, &all);
  if (use == USE_POINTS) add_points(&s, &all);
  if (use == USE_CHUNKS && !updates_in_place(kern->body)) {
    add_rows_of_chunks(&s, &all, LANES);
    add_rows_of_chunks(&s, &all, NARROW);
  }
  double trips = use == USE_CHUNKS ? 4000 : 64;
  find_costs(&s, &all, trips);
  try_interiors(&s, &all, trips);
  return choose_plan(&all);
}

// Rows in chunks if that gives more than one, else as they are.
static const KernPlan *in_chunks(Compiler *c, const Kern *kern, const Chunks *chunks) {
  const KernPlan **parts = new_array(const KernPlan *, chunks->phase_count);
  for (int i = 0; i < chunks->phase_count; i++)
    parts[i] = one_kernel(c, chunks->phases[i], chunks->uses[i]);
  return new_node(
      KernPlan, .lets = chunks->lets, .condition = term_less(term_i64(1), chunks->count),
      .parts = parts, .part_count = chunks->phase_count, .temps = chunks->temps,
      .temp_count = chunks->temp_count, .otherwise = one_kernel(c, kern, USE_POINTS));
}

const KernPlan *kern_schedule(Compiler *c, Profile profile, const KernSeg *seg) {
  const Kern *kern = kern_choose(c, kern_drop_known_checks(c, kern_inline(c, seg->kern)));
  Chunks chunks;
  (void)profile;
  bool rows = seg->kind == SEG_RED || seg->kind == SEG_SCAN || seg->kind == SEG_HIST;
  return rows && kern_in_chunks(c, kern, &chunks) ? in_chunks(c, kern, &chunks)
                                                  : one_kernel(c, kern, USE_POINTS);
}
