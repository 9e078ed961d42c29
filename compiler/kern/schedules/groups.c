// Schedules for groups of items that share local memory: code for GPUs.
//
//   axis n grid { axis p grid { .. axis k reduce { .. a[n, k] .. b[k, p] .. } .. c[n, p] = .. } }
//
// Where a loop reads what differs along one dimension of the grid only, and also what differs along
// another one only, blocks of points need less than points by themselves: an item takes some rows
// and columns of points in registers, and a group reads what its items need into local memory,
// STEPS points of the loop at a time.  Axes of the grid between the two stay outside of the blocks.
// (PPoPP'19, section 2.2, version 3: block and register tiling
// combined; it has no rules for them.)
#include "kern/schedules/groups.h"
#include "kern/recipes/recipe.h"
#include "kern/schedules/group_loops.h"
#include "kern/tidy/tidy.h"

enum { STEPS = 16 };  // of a loop, between barriers
enum { MOST_GRID = 8 };

// Items in each of two dimensions, with so many points along each: what an item holds of that many
// bytes per point leaves registers for the rest.  Smaller ones are for narrower arrays.
typedef struct BlockShape {
  int bytes, items, rows, columns;
} BlockShape;

static const BlockShape shapes[] = {
  { 4, 8, 8, 8 },  { 4, 8, 4, 4 },   { 4, 8, 2, 2 },  { 16, 16, 4, 4 },
  { 16, 8, 2, 2 }, { 64, 16, 2, 2 }, { 64, 8, 2, 2 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct GroupSchedule {
  Compiler *c;
  GroupLoops of;  // loops: those to be staged
  const BlockShape *shape;
} GroupSchedule;

// ---- which loops gain from blocks

static bool find_shape(GroupSchedule *s) {
  int bytes = group_bytes_of_points(&s->of);
  s->shape = NULL;
  for (int i = SHAPES - 1; i >= 0; i--)
    if (bytes <= shapes[i].bytes) s->shape = &shapes[i];
  return s->shape != NULL;
}

static bool find_loops(GroupSchedule *s) {
  int kept = 0;
  s->of.loops.count = 0;
  group_find_loops(&s->of);
  vec_each (const Axis **, loop, &s->of.loops)
    if (group_gains_from_blocks(&s->of, *loop)) s->of.loops.at[kept++] = *loop;
  s->of.loops.count = kept;
  return kept > 0 && !s->of.refused && find_shape(s);
}

// The innermost axis of the grid, and the nearest one around it with which a loop gains.
static bool find_block_axes(GroupSchedule *s) {
  if (!group_find_points(&s->of) || s->of.grid > MOST_GRID) return false;
  s->of.row = s->of.column;
  for (int i = s->of.grid; i > 1; i--) {
    s->of.row = group_axis_around(s->of.kern, s->of.row);
    if (find_loops(s)) return true;
  }
  return false;
}

// ---- the recipe

// n  =>  n0 (blocks) { n (items) { n1 (points of an item) } }: neighbouring items, neighbouring
// points.
static void split_for_group(Recipe *r, int items, int each, Name axis, Name *blocks,
                            Name *points) {
  recipe_split(r, axis, (int64_t)items * each, SPLIT_CLAMP);
  *blocks = recipe_outer(r, axis);
  recipe_split(r, axis, items, SPLIT_PEEL);
  *points = recipe_outer(r, axis);
}

static void stage_loop(Recipe *r, Name loop) {
  const KernStm *stm = step_axis(&r->step, r->kern, loop);
  if (stm && kern_host_knows(r->kern, stm->u.axis->width)) recipe_where(r, loop, STEPS);
  recipe_split(r, loop, STEPS, SPLIT_CHAIN);
  recipe_stage(r, loop);
}

static const Axis *axis_within(const Axis *axis) { return axis->body->stms[0].u.axis; }

static Recipe in_blocks(const GroupSchedule *s) {
  Recipe r = recipe_new(s->c, s->of.kern, NULL);
  Name row = s->of.row->name, column = s->of.column->name;
  Name rows, columns, row_points, column_points;
  r.step.groups = true;
  const BlockShape *shape = s->shape;
  split_for_group(&r, shape->items, shape->rows, row, &rows, &row_points);
  split_for_group(&r, shape->items, shape->columns, column, &columns, &column_points);
  Name order[MOST_GRID + 4] = { rows };
  int count = 1;
  for (const Axis *axis = axis_within(s->of.row); axis != s->of.column;
       axis = axis_within(axis))
    order[count++] = axis->name;
  Name of_block[] = { columns, row, column, row_points, column_points };
  for (int i = 0; i < 5; i++)
    order[count++] = of_block[i];
  recipe_permute(&r, order, count);
  recipe_bind(&r, row, BIND_ITEM);
  recipe_bind(&r, column, BIND_ITEM);
  r.unchecked = true;
  recipe_bind(&r, row_points, BIND_REG);
  recipe_bind(&r, column_points, BIND_REG);
  vec_each (const Axis *const *, loop, &s->of.loops)
    stage_loop(&r, (*loop)->name);
  recipe_check(&r);
  return r;
}

const KernPlan *kern_plan_or(const KernPlan *first, const KernPlan *otherwise) {
  if (!first) return otherwise;
  KernPlan *out = mem_copy(first, sizeof *first);
  out->otherwise = kern_plan_or(first->otherwise, otherwise);
  return out;
}

// More than half of a block, or another one suits better.
static const Term *fills_half(const Axis *axis, int64_t block) {
  return term_less(term_i64(block / 2), axis->width);
}

static KernPlan *plan_of_shape(const GroupSchedule *s, const Term *checks) {
  Recipe r = in_blocks(s);
  if (r.failed) return NULL;
  const Term *least = term_tuning(name_of(s->c->names, "segmap_block_points"));
  const Term *condition = term_at_most(least, group_points_of_grid(s->of.kern));
  int64_t items = s->shape->items;
  condition = term_and(condition, fills_half(s->of.row, items * s->shape->rows));
  condition = term_and(condition, fills_half(s->of.column, items * s->shape->columns));
  if (checks) condition = term_and(condition, checks);
  if (r.condition) condition = term_and(condition, r.condition);
  return new_node(KernPlan, .kern = r.kern, .condition = condition, .recipe = r.lines.at,
                  .recipe_count = r.lines.count);
}

static const KernPlan *plan_of_blocks(Compiler *c, const KernSeg *seg, const Kern *kern,
                                      const Term *checks) {
  GroupSchedule s = { .c = c, .of.kern = kern_load_late(c, kern) };
  if (!find_block_axes(&s)) return NULL;
  const KernPlan *plans = NULL;
  int bytes = s.shape->bytes;
  for (; s.shape < shapes + SHAPES && s.shape->bytes == bytes; s.shape++) {
    KernPlan *plan = plan_of_shape(&s, checks);
    if (plan && !plans) plan->name = seg->name;
    if (plan) plans = kern_plan_or(plans, plan);
  }
  return plans;
}

// `rings`: the kernel with divisions, of which strips see more.
static const KernPlan *plan_of_lines(Compiler *c, const KernSeg *seg, const Kern *kern,
                                     const Kern *rings, const Term *checks) {
  const KernPlan *pairs = kern_schedule_group_pairs(c, seg, kern, checks);
  if (pairs) return pairs;
  const KernPlan *straight = kern_schedule_group_strips(c, seg, rings, checks, true);
  if (straight) return straight;
  const KernPlan *shared = kern_schedule_group_shared(c, seg, kern, checks);
  if (shared) return shared;
  const KernPlan *rows = kern_schedule_group_rows(c, seg, kern, checks);
  return rows ? rows : kern_schedule_group_strips(c, seg, rings, checks, false);
}

static const KernPlan *plan_of_unstaged(Compiler *c, const KernSeg *seg, const Kern *kern,
                                        const Term *checks) {
  const KernPlan *straight = kern_schedule_group_strips(c, seg, kern, checks, true);
  return straight ? straight : kern_schedule_group_strips(c, seg, kern, checks, false);
}

const KernPlan *kern_schedule_groups(Compiler *c, const KernSeg *seg) {
  if (seg->kind != SEG_MAP) return NULL;
  const Term *checks;
  bool may_stage;
  const Kern *rings =
      kern_choose(c, kern_drop_known_checks(c, kern_inline_short(c, seg->kern)));
  rings = group_checked_by_host(c, rings, &checks, &may_stage);
  if (!may_stage) return plan_of_unstaged(c, seg, rings, checks);
  const Kern *kern = kern_simple_remainders(c, rings);
  const KernPlan *blocks = plan_of_blocks(c, seg, kern, checks),
                 *lines = plan_of_lines(c, seg, kern_load_early(c, kern),
                                        kern_load_early(c, rings), checks);
  if (!blocks || !lines) return blocks ? blocks : lines;
  // Where blocks would be half empty; what is left of `lines` is for few points, which have caches.
  KernPlan *narrow = mem_copy(lines, sizeof *lines);
  narrow->name = NULL;
  narrow->otherwise = NULL;
  return kern_plan_or(blocks, narrow);
}
