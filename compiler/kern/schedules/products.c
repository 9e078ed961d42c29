// Schedules for products of matrices, distances, correlations: points of two dimensions that sum up
// what they read in common with others along each.
//
//   tiles of rows   both are read along rows: each of 4 x 4 points has its sum in lanes
//   panels          columns in lanes; what they read is copied for a band of rows
#include "kern/schedules/schedule.h"
#include <math.h>

enum {
  FEWEST = 8,
  LEAST_SUM = 64,
  LONG_SUM = 4096,
  USUAL_SUM = 512,  // elements that sums are taken to have
  LARGE_SUM = 256,
  MANY_COLUMNS = 512,  // as many columns, so long, are more than caches hold
};

// What the points sum up, or carry from round to round, if that is all they loop for: the axis;
// else NULL.
static const Axis *only_sum(const Kern *kern) {
  AxisStms axes = schedule_innermost(kern);
  const Axis *sum = axes.count == 1 ? axes.at[0]->u.axis : NULL;
  bool sums = sum && (sum->role == AXIS_REDUCE ||
                      (sum->role == AXIS_LOOP && sum->param_count > 0));
  return sums && kern_host_knows(kern, sum->width) ? sum : NULL;
}

// Points of two dimensions that sum up what they read in common with others in each of the two.
typedef struct ProductNest {
  const Axis *rows, *columns, *sum;
} ProductNest;

static bool find_product(const Schedule *s, Recipe *r, ProductNest *out) {
  schedule_widen_grid(r);
  out->columns = schedule_last_grid(r->kern);
  out->rows = out->columns ? schedule_axis_before(r->kern, out->columns) : NULL;
  out->sum = only_sum(r->kern);
  return out->rows && out->sum && !s->in_place &&
         schedule_shared(r->kern, out->sum->body, out->rows).found &&
         schedule_shared(r->kern, out->sum->body, out->columns).found;
}

// Rows against rows, as in a product with a transposed matrix: what TILE x TILE points read in
// common is read once, and the sum of each is in lanes.  Of BAND tiles below one another the
// columns stay in the cache.
static void tile_of_rows(Recipe *r, const ProductNest *p) {
  enum { TILE = 4, BAND = 8 };
  recipe_where(r, p->sum->name, 2 * LANES);
  schedule_interleaved(r, p->sum->name, 1);
  recipe_split(r, p->rows->name, TILE, SPLIT_OVERLAP);
  Name rows = recipe_outer(r, p->rows->name);
  recipe_swap(r, p->rows->name, p->columns->name);
  recipe_split(r, p->columns->name, TILE, SPLIT_OVERLAP);
  recipe_split(r, rows, BAND, SPLIT_SHORT);
  recipe_swap(r, rows, recipe_outer(r, p->columns->name));
  recipe_bind(r, p->rows->name, BIND_REG);
  recipe_bind(r, p->columns->name, BIND_REG);
}

// Of one point's sums.
static int sum_bytes(const Axis *sum) {
  int bytes = 0;
  for (int i = 0; i < sum->param_count; i++)
    bytes += prim_size_bytes(sum->params[i]->type.elem);
  for (int o = 0; o < sum->op_count; o++)
    for (int i = 0; i < sum->ops[o].count; i++)
      bytes += prim_size_bytes(sum->ops[o].params[i]->type.elem);
  return bytes;
}

// Products of large matrices: of two vectors of columns what the sum reads is copied once for a
// band of rows, so that it lies in one piece, near by.  (Goto and van de Geijn, Anatomy of
// High-Performance Matrix Multiplication, 2008: panels.)
static void panels(Recipe *r, const ProductNest *p, int least, int than) {
  enum { SUMS_BYTES = 32, VECTORS = 2, BAND = 128 };
  int bytes = sum_bytes(p->sum),
      rows_at_once = bytes < SUMS_BYTES ? SUMS_BYTES / bytes : 1;
  Name lanes = p->columns->name;
  recipe_where(r, p->sum->name, least);
  recipe_where_fewer(r, p->sum->name, than);
  recipe_where(r, p->rows->name, BAND);
  recipe_split(r, p->rows->name, rows_at_once, SPLIT_OVERLAP);
  recipe_swap(r, p->rows->name, lanes);
  recipe_split(r, lanes, LANES * VECTORS, SPLIT_OVERLAP);
  Name blocks = recipe_outer(r, lanes);
  recipe_split(r, lanes, LANES, SPLIT_OVERLAP);
  Name vectors = recipe_outer(r, lanes), rows = recipe_outer(r, p->rows->name);
  recipe_split(r, rows, BAND / rows_at_once, SPLIT_SHORT);
  recipe_permute(r, (const Name[]){ blocks, vectors, lanes, rows }, 4);
  recipe_bind(r, lanes, BIND_LANE);
  recipe_bind(r, vectors, BIND_REG);
  recipe_bind(r, p->rows->name, BIND_REG);
  const Kern *unstaged = r->kern;
  recipe_stage(r, rows);
  if (!r->failed) schedule_tile_copies(r, unstaged, 0);
}

static double least_cost(const Schedule *s, const Candidates *all) {
  double least = INFINITY;
  vec_each (const Candidate *, cand, all)
    least = fmin(least, schedule_cost(s, cand->recipe.kern, USUAL_SUM));
  return least;
}

// Where others read lane by lane a copy pays for itself; where they read columns side by side, of
// matrices that no cache holds.
static void add_panels(const Schedule *s, Candidates *out, const Recipe *whole,
                       const ProductNest *p, bool tiles) {
  Candidate cand = { .what = "panels of columns",
                     .recipe = recipe_copy(whole),
                     .weight = 1024 };
  panels(&cand.recipe, p, LEAST_SUM, LONG_SUM);
  if (!cand.recipe.failed) {
    double cost = schedule_cost(s, cand.recipe.kern, USUAL_SUM);
    const Candidate *tile = &out->at[out->count - 1];
    if (tiles && schedule_cost(s, tile->recipe.kern, USUAL_SUM) < 1.1 * cost) {
      schedule_leave_out(s, cand.what, "tiles of rows by rows are as good");
      Candidate few = { .what = "panels of columns for short sums",
                        .recipe = recipe_copy(whole),
                        .weight = 4096,
                        .first = true };
      panels(&few.recipe, p, FEWEST, LEAST_SUM);
      schedule_offer(s, out, &few);
      return;
    }
    if (cost > 0.75 * least_cost(s, out)) {
      Recipe large = recipe_copy(whole);
      recipe_where(&large, p->sum->name, LARGE_SUM);
      recipe_where(&large, p->columns->name, MANY_COLUMNS);
      panels(&large, p, LEAST_SUM, LONG_SUM);
      cand.recipe = large;
      cand.nearer = 0.2;
      cand.first = true;  // for fewer columns, or longer sums, tiles of rows follow
    }
  }
  schedule_offer(s, out, &cand);
}

void schedule_products(const Schedule *s, Candidates *out) {
  Recipe whole = schedule_recipe(s);
  ProductNest p;
  if (!find_product(s, &whole, &p)) return;
  Candidate tile = { .what = "tiles of rows by rows",
                     .recipe = recipe_copy(&whole),
                     .weight = 2048,  // if its sums are short, all others may follow
                     .nearer = 0.2 };
  bool in_lanes = p.sum->role == AXIS_REDUCE && kern_commutes(p.sum);
  if (in_lanes) tile_of_rows(&tile.recipe, &p);
  bool tiles = in_lanes && schedule_offer(s, out, &tile);
  add_panels(s, out, &whole, &p, tiles);
}
