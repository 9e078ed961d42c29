// Lanes within points: a map of loops whose points go in lanes, or a reduction of what loops
// compute.
#include "kern/schedules/schedule.h"

// Does the block have a map that may fill vectors?
static bool has_long_map(const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    const Axis *axis = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
    bool few =
        axis && axis->width->kind == TERM_CONST && axis->width->u.constant.u.i < LANES;
    if (axis && axis->role == AXIS_MAP && !few) return true;
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      if (has_long_map(*inner)) return true;
  }
  return false;
}

// Of maps in maps the inner ones go in lanes, as rows, unless they are short.
static void see_map_of_loops(KernVisitor *v, const KernStm *stm) {
  AxisStms *out = v->state;
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ &&
      stm->u.axis->role == AXIS_MAP && schedule_depth(stm) >= 2 &&
      !has_long_map(stm->u.axis->body))
    vec_push(out, stm);
}

static AxisStms maps_of_loops(const Kern *kern) {
  AxisStms out = { 0 };
  KernVisitor v = { .stm = see_map_of_loops, .state = &out };
  kern_visit_block(&v, kern->body);
  return out;
}

// Vectors of the points of a map, and short ones of those that fill none: loops like the others,
// which go through memory once for each vector.
static void bind_in_lanes(Recipe *r, Name axis) {
  recipe_split(r, axis, LANES, SPLIT_PEEL);
  recipe_bind(r, axis, BIND_LANE);
  Recipe next = *r;
  Name rest = name_of(r->step.c->names, text_format("%s_rest", axis));
  if (r->failed || !kern_has_axis(r->kern, rest)) return;
  recipe_split(&next, rest, NARROW, SPLIT_PEEL);
  recipe_bind(&next, rest, BIND_LANE);
  if (!next.failed) *r = next;
}

// The points of a map in vectors.
static void map_in_lanes(Candidate *cand, const KernStm *stm, int vectors) {
  Recipe *r = &cand->recipe;
  const Axis *axis = stm->u.axis;
  if (!kern_host_knows(r->kern, axis->width) || kern_updates_in_place(axis->body)) {
    bind_in_lanes(r, axis->name);
    return;
  }
  recipe_split(r, axis->name, LANES * vectors, SPLIT_OVERLAP);
  if (vectors > 1) {
    recipe_split(r, axis->name, LANES, SPLIT_OVERLAP);
    recipe_bind(r, recipe_outer(r, axis->name), BIND_REG);
  }
  recipe_bind(r, axis->name, BIND_LANE);
}

// Loops of each point in vectors, several points at once, so that what they read in common is
// read once: rows that are multiplied with a matrix, and the result with another.
static void add_lanes_within(const Schedule *s, Candidates *out, int height,
                             int vectors) {
  Candidate cand = { .what = text_format("inner points in lanes, %d rows by %d vectors",
                                         height, vectors),
                     .recipe = schedule_recipe(s),
                     .weight = LANES * vectors * height };
  const Axis *last = schedule_last_grid(s->kern);
  AxisStms maps = maps_of_loops(s->kern);
  if (!last || !maps.count || s->in_place) return;
  AxisStms rows = schedule_innermost(s->kern);
  if (height > 1) recipe_split(&cand.recipe, last->name, height, SPLIT_OVERLAP);
  vec_each (const KernStm **, stm, &maps)
    map_in_lanes(&cand, *stm, vectors);
  vec_each (const KernStm **, stm, &rows)
    if (!schedule_is_within(*stm, &maps)) schedule_add_row(s, &cand.recipe, *stm);
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
    if (schedule_contains(map->u.axis->body, *row)) schedule_add_row(s, &by_rows, *row);
  bool lanes = !in_lanes.recipe.failed && schedule_cost(s, in_lanes.recipe.kern, TRIPS) <
                                              schedule_cost(s, by_rows.kern, TRIPS);
  *r = lanes ? in_lanes.recipe : by_rows;
}

// Several maps, some of which go through rows and others through columns; or one that the schedules
// above leave out, as the kernel updates what it reads.
static void add_maps_apart(const Schedule *s, Candidates *out) {
  Candidate cand = { .what = "inner points or rows in lanes, map by map",
                     .recipe = schedule_recipe(s) };
  AxisStms maps = maps_of_loops(s->kern), rows = schedule_innermost(s->kern);
  if (maps.count < (s->in_place ? 1 : 2)) return;
  vec_each (const KernStm **, map, &maps)
    add_map_or_rows(s, &cand.recipe, *map);
  vec_each (const KernStm **, row, &rows)
    if (!schedule_is_within(*row, &maps)) schedule_add_row(s, &cand.recipe, *row);
  schedule_offer(s, out, &cand);
}

static bool is_of_width(const KernStm *map, const Term *width) {
  return term_same(map->u.axis->width, width);
}

// Those of several maps that have one width in lanes, and the loops of the others as rows: where
// the others have too few points to fill vectors, as a window that goes over a picture has.
static void add_width_in_lanes(const Schedule *s, Candidates *out, const AxisStms *maps,
                               const Term *width) {
  Candidate cand = { .what = "inner points of one width in lanes, others as rows",
                     .recipe = schedule_recipe(s),
                     .weight = 2 * LANES };
  AxisStms lanes = { 0 }, rows = schedule_innermost(s->kern);
  vec_each (const KernStm **, map, maps)
    if (is_of_width(*map, width)) vec_push(&lanes, *map);
  if (lanes.count == maps->count) return;
  vec_each (const KernStm **, map, &lanes)
    map_in_lanes(&cand, *map, 2);
  vec_each (const KernStm **, row, &rows)
    if (!schedule_is_within(*row, &lanes)) schedule_add_row(s, &cand.recipe, *row);
  schedule_offer(s, out, &cand);
}

static void add_widths_apart(const Schedule *s, Candidates *out) {
  AxisStms maps = maps_of_loops(s->kern);
  if (s->in_place) return;
  for (int i = 0; i < maps.count; i++) {
    const Term *width = maps.at[i]->u.axis->width;
    bool known = !kern_host_knows(s->kern, width);
    for (int k = 0; k < i; k++)
      known = known || is_of_width(maps.at[k], width);
    if (!known) add_width_in_lanes(s, out, &maps, width);
  }
}

void schedule_within(const Schedule *s, Candidates *out) {
  add_lanes_within(s, out, 4, 2);
  add_lanes_within(s, out, 1, 2);
  add_maps_apart(s, out);
  add_widths_apart(s, out);
}

// ---- lanes around loops

// A reduction of what loops compute.
static void see_sum_of_loops(KernVisitor *v, const KernStm *stm) {
  AxisStms *out = v->state;
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ &&
      stm->u.axis->role == AXIS_REDUCE && schedule_depth(stm) >= 2 &&
      !schedule_is_within(stm, out))
    vec_push(out, stm);
}

static AxisStms sums_of_loops(const Kern *kern) {
  AxisStms out = { 0 };
  KernVisitor v = { .stm = see_sum_of_loops, .state = &out };
  kern_visit_block(&v, kern->body);
  return out;
}

// What is summed up in vectors, each lane with its own loops; other loops as rows.
void schedule_sums_of_loops(const Schedule *s, Candidates *out) {
  Candidate cand = { .what = "sums of loops in lanes", .recipe = schedule_recipe(s) };
  AxisStms sums = sums_of_loops(s->kern);
  if (!sums.count) return;
  AxisStms rows = schedule_innermost(s->kern);
  vec_each (const KernStm **, stm, &sums)
    if (kern_commutes((*stm)->u.axis))
      schedule_interleaved(&cand.recipe, (*stm)->u.axis->name, 1);
    else
      schedule_pieces(&cand.recipe, (*stm)->u.axis->name, false);
  vec_each (const KernStm **, stm, &rows)
    if (!schedule_is_within(*stm, &sums)) schedule_add_row(s, &cand.recipe, *stm);
  if (!schedule_offer(s, out, &cand)) return;
  schedule_rows_by_fours(s, out, &cand);
  schedule_rows_staged(s, out, &cand);
}
