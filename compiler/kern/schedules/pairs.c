// Schedules for sums over pairs (energies, kernels between samples, distances to the nearest): a
// reduction of what loops compute for the elements of another reduction, or for points of the grid.
// Several of both go together, so that what they read in common is read once.
//
//   columns in lanes   each lane goes through the loops of its pairs
//   rows by rows       the loops are sums, in lanes themselves
#include "kern/schedules/schedule.h"

enum {
  FEW_ROWS_WEIGHT =
      1,  // of a condition that asks for TILE_HEIGHT rows, as for so many lanes
  LONG_SUMS_WEIGHT = 2048,  // all others may follow where sums are short
  LONG_SUM = 8 * LANES,
};

// The inner reduction, and the axis directly around it.
typedef struct PairNest {
  const Axis *rows, *columns;
  int count;  // of such nests
  bool maps;  // the inner one may be a map
} PairNest;

static bool are_columns(const PairNest *p, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  bool sums = axis->role == AXIS_REDUCE && kern_commutes(axis),
       maps = p->maps && axis->role == AXIS_MAP;
  return axis->bind == BIND_SEQ && (sums || maps) && schedule_depth(stm) == 2 &&
         !schedule_has_role(axis->body, AXIS_MAP);
}

static void find_pair_nest(PairNest *p, const KernBlock *block, const Axis *around) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    const Axis *axis = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
    if (axis && are_columns(p, stm)) {
      p->rows = around;
      p->columns = axis;
      p->count++;
      continue;
    }
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      find_pair_nest(p, *inner, axis ? axis : around);
  }
}

// May several rows go together?  In a grid they must be rows of their own, not chunks of one.
static bool are_rows(const Schedule *s, const Axis *axis) {
  if (!axis) return false;
  if (axis->bind == BIND_GRID) return !s->length && !s->in_place;
  return axis->bind == BIND_SEQ && axis->role == AXIS_REDUCE && kern_commutes(axis);
}

static void rows_together(Recipe *r, const Axis *rows, int height) {
  recipe_split(r, rows->name, height,
               rows->bind == BIND_GRID ? SPLIT_OVERLAP : SPLIT_PEEL);
  recipe_bind(r, rows->name, BIND_REG);
}

// What fills no vector, four at once.
static void rest_in_lanes(Recipe *r, Name columns) {
  Name rest = name_of(r->step.c->names, text_format("%s_rest", columns));
  Recipe next = recipe_copy(r);
  if (r->failed || !kern_has_axis(r->kern, rest)) return;
  recipe_split(&next, rest, NARROW, SPLIT_PEEL);
  recipe_swap(&next, recipe_outer(&next, rest), rest);
  recipe_bind(&next, rest, BIND_LANE);
  if (!next.failed) *r = next;
}

static void add_columns(const Schedule *s, Candidates *out, const PairNest *p, int height,
                        int vectors) {
  Candidate cand = { .what =
                         text_format("pairs of %d rows by %d vectors", height, vectors),
                     .recipe = schedule_recipe(s),
                     .weight = FEW_ROWS_WEIGHT };
  schedule_interleaved(&cand.recipe, p->columns->name, vectors);
  rest_in_lanes(&cand.recipe, p->columns->name);
  if (height > 1) rows_together(&cand.recipe, p->rows, height);
  schedule_offer(s, out, &cand);
}

static const Axis *only_loop(const Axis *axis) {
  const Axis *found = NULL;
  int count = 0;
  for (int i = 0; i < axis->body->count; i++) {
    const KernStm *stm = &axis->body->stms[i];
    if (schedule_depth(stm)) count++;
    if (stm->kind == KERN_AXIS) found = stm->u.axis;
  }
  return count == 1 ? found : NULL;
}

// Each of 4 x 4 pairs has its sum in lanes, if that is long: adding up the lanes takes as long as
// some vectors.
static void add_rows_by_rows(const Schedule *s, Candidates *out, const PairNest *p) {
  Candidate cand = { .what = "pairs of rows by rows",
                     .recipe = schedule_recipe(s),
                     .weight = LONG_SUMS_WEIGHT };
  const Axis *sum = only_loop(p->columns);
  if (!sum || sum->role != AXIS_REDUCE || !kern_commutes(sum)) return;
  if (kern_host_knows(s->kern, sum->width))
    recipe_where(&cand.recipe, sum->name, LONG_SUM);
  schedule_interleaved(&cand.recipe, sum->name, 1);
  recipe_split(&cand.recipe, p->columns->name, TILE_HEIGHT, SPLIT_PEEL);
  recipe_bind(&cand.recipe, p->columns->name, BIND_REG);
  rows_together(&cand.recipe, p->rows, TILE_HEIGHT);
  schedule_offer(s, out, &cand);
}

// Several sums at once that wait for nothing of each other, of what is read once.
void schedule_pairs_by_fours(const Schedule *s, Candidates *out,
                             const Candidate *points) {
  PairNest p = { .maps = true };
  Candidate cand = *points;
  find_pair_nest(&p, s->kern->body, NULL);
  if (p.count != 1) return;
  cand.recipe = recipe_copy(&points->recipe);
  recipe_split(&cand.recipe, p.columns->name, TILE_HEIGHT, SPLIT_PEEL);
  recipe_bind(&cand.recipe, p.columns->name, BIND_REG);
  cand.what = text_format("%s, pairs by fours", points->what);
  schedule_offer(s, out, &cand);
}

void schedule_pairs(const Schedule *s, Candidates *out) {
  PairNest p = { 0 };
  find_pair_nest(&p, s->kern->body, NULL);
  if (p.count != 1) return;
  add_columns(s, out, &p, 1, 2);
  if (!are_rows(s, p.rows)) return;
  add_columns(s, out, &p, TILE_HEIGHT, 1);
  add_columns(s, out, &p, TILE_HEIGHT, 2);
  add_rows_by_rows(s, out, &p);
}
