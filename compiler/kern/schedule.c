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

// Every innermost loop in vectors, where that pays.
static Recipe rows(const Schedule *s) {
  Recipe r = recipe_new(s->c, s->kern);
  unswitch_rows(&r);
  AxisStms axes = innermost_axes(r.kern);
  vec_each (const KernStm **, stm, &axes) {
    if (kern_vectorises_itself(*stm)) continue;
    Recipe next = r;
    row_in_lanes(&next, (*stm)->u.axis);
    if (!next.failed && pays(s, &next, r.kern, (*stm)->u.axis->name)) r = next;
  }
  return r;
}

// ---- outer lanes

// Does the kernel store where it loads?  Then no point may run twice.
typedef struct InPlace {
  Map *loaded, *stored;  // root tensors
} InPlace;

static void see_access(KernVisitor *v, Access access, bool stores) {
  InPlace *p = v->state;
  const Tensor *root = tensor_root(access.tensor);
  if (root->space == TENSOR_GLOBAL)
    map_put(stores ? p->stored : p->loaded, root->host, root);
}

static void see_both(void *state, const void *key, void *value) {
  InPlace *p = state;
  (void)value;
  if (map_has(p->loaded, key)) map_put(p->loaded, p, p);
}

static bool updates_in_place(const Kern *kern) {
  InPlace p = { map_new(NULL), map_new(NULL) };
  KernVisitor v = { .access = see_access, .state = &p };
  kern_visit_block(&v, kern->body);
  map_each(p.stored, see_both, &p);
  return map_has(p.loaded, &p);
}

static const Term *at_least(const Term *condition, const Term *width, int64_t least) {
  const Term *more = term_at_most(term_i64(least), width);
  return condition ? term_and(condition, more) : more;
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
  bool once = updates_in_place(s->kern);
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
  if (!last || updates_in_place(s->kern) ||
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
  bool move = !updates_in_place(s->kern);
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
  if (!updates_in_place(s->kern) && innermost_axes(s->kern).count > 0) {
    add_outer(s, out, false, NARROW);
    add_outer(s, out, true, NARROW);
  }
  add_tile(s, out, 4, 2);
  add_tile(s, out, 4, 1);
  add_tile(s, out, 1, 2);
  add_tile(s, out, 1, 4);
}

static const KernPlan *one_kernel(Compiler *c, const Kern *kern, KernUse use) {
  Schedule s = { c, kern };
  Candidates all = { 0 };
  Candidate plain = { .recipe = recipe_new(c, kern) };
  vec_push(&all, plain);
  if (use != USE_FEW) add_rows(&s, &all);
  if (use == USE_POINTS) add_points(&s, &all);
  if (use == USE_CHUNKS && !updates_in_place(kern)) {
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
