// Schedules for points that each go through all rows of another array, in code for GPUs:
//
//   axis n grid { .. axis m reduce { .. axis k reduce { .. a[n, k] .. b[m, k] .. } .. } .. }
//
// As blocks of a product (groups.c), but that what a row of them makes is joined, not
// stored: the nearest of many points, rows of attention.  An item takes several points of the grid
// and several of the reduction in registers, and a group reads STEPS points of the inner loop into
// local memory at a time.
//
// Why: each element of a row would be read for each row of the other array.
#include "kern/recipes/recipe.h"
#include "kern/schedules/group_loops.h"
#include "kern/schedules/groups.h"

enum { ITEMS = 64, STEPS = 8 };
// What a point hands on from pair to pair is there once for several of them.
enum { CARRIED = 4 };

// Where an item has one point.
enum { FEW_PAIRS = 8 };

// What pairs may hold in registers, and of how many points of the grid and of the reduction.
typedef struct PairShape {
  int bytes, points, pairs;
} PairShape;

static const PairShape shapes[] = {
  { 4, 4, 16 }, { 8, 2, 8 }, { 16, 2, 4 }, { 32, 1, 4 }
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

// A reduction over rows, and the loops over what is in both rows.
typedef Vec(Name) PairNames;

typedef struct PairLoop {
  Name name;
  PairNames loops;
  int bytes;
  bool makes;  // a row, rather than one value
} PairLoop;

typedef struct PairSchedule {
  Compiler *c;
  const Kern *kern;
  const Axis *points;  // the innermost axis of the grid
  Vec(PairLoop) pairs;
  bool makes;  // one of them does
} PairSchedule;

// ---- which reductions gain

static bool stands_in(const KernBlock *block, const Axis *axis) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind == KERN_AXIS && block->stms[i].u.axis == axis) return true;
  return false;
}

// The loops of the reduction's body whose loads differ along it, or along the points.
static bool find_pair_loops(const PairSchedule *s, const Axis *axis, PairLoop *out) {
  GroupLoops of = { .kern = s->kern, .row = s->points, .column = axis, .rows_own = true };
  group_find_loops(&of);
  *out = (PairLoop){ .name = axis->name, .makes = axis->role == AXIS_MAP };
  KernBlock ahead, behind;
  if (axis->role == AXIS_LOOP && !kern_part_rounds(axis, &ahead, &behind)) return false;
  int kept = 0;
  vec_each (const Axis **, loop, &of.loops) {
    if (!stands_in(axis->body, *loop) || !group_gains_from_blocks(&of, *loop)) continue;
    vec_push(&out->loops, (*loop)->name);
    of.loops.at[kept++] = *loop;
  }
  of.loops.count = kept;
  out->bytes = group_bytes_of_points(&of);
  int carried = 0;
  for (int i = 0; i < axis->param_count; i++)
    carried += prim_size_bytes(axis->params[i]->type.elem);
  if (out->bytes < carried / CARRIED) out->bytes = carried / CARRIED;
  return kept && !of.refused;
}

static bool joins_or_makes(const Axis *axis) {
  return axis->role == AXIS_REDUCE || axis->role == AXIS_LOOP ||
         (axis->role == AXIS_MAP && axis->bind == BIND_SEQ);
}

static bool find_pairs(PairSchedule *s) {
  GroupLoops of = { .kern = s->kern };
  if (!group_find_points(&of)) return false;
  s->points = of.column;
  for (int i = 0; i < s->points->body->count; i++) {
    const KernStm *stm = &s->points->body->stms[i];
    PairLoop pair;
    if (stm->kind == KERN_AXIS && joins_or_makes(stm->u.axis) &&
        find_pair_loops(s, stm->u.axis, &pair)) {
      vec_push(&s->pairs, pair);
      s->makes = s->makes || pair.makes;
    }
  }
  return s->pairs.count > 0;
}

static const PairShape *shape_of_pairs(const PairSchedule *s) {
  const PairShape *found = NULL;
  int bytes = 1;
  vec_each (const PairLoop *, pair, &s->pairs)
    if (pair->bytes > bytes) bytes = pair->bytes;
  for (int i = SHAPES - 1; i >= 0; i--)
    if (bytes <= shapes[i].bytes) found = &shapes[i];
  return found;
}

// ---- the recipe

// Rows of results, which points store apart from each other.
static void stage_made(Recipe *r, Name axis) {
  Recipe before = recipe_copy(r);
  recipe_stage(r, axis);
  if (r->failed) *r = before;
}

static void stage_pairs(Recipe *r, const PairLoop *pair, int pairs) {
  recipe_where(r, pair->name, pair->makes ? pairs : pairs / 2);
  recipe_split(r, pair->name, pairs, pair->makes ? SPLIT_OVERLAP : SPLIT_CLAMP);
  if (pair->makes) stage_made(r, pair->name);
  recipe_bind(r, pair->name, BIND_REG);
  vec_each (const Name *, loop, &pair->loops) {
    recipe_where(r, *loop, 1);
    recipe_split(r, *loop, STEPS, SPLIT_RUN);
    recipe_stage(r, *loop);
  }
}

static Recipe in_pairs(const PairSchedule *s, int points, int pairs) {
  Recipe r = recipe_new(s->c, s->kern, NULL);
  Name name = s->points->name;
  r.step.groups = true;
  recipe_split(&r, name, (int64_t)ITEMS * points, s->makes ? SPLIT_OVERLAP : SPLIT_CLAMP);
  if (points > 1) recipe_split(&r, name, ITEMS, SPLIT_PEEL);
  Name order[] = { name, recipe_outer(&r, name) };
  if (points > 1) recipe_permute(&r, order, 2);
  recipe_bind(&r, name, BIND_ITEM);
  r.unchecked = true;
  if (points > 1) recipe_bind(&r, order[1], BIND_REG);
  vec_each (const PairLoop *, pair, &s->pairs)
    stage_pairs(&r, pair, pairs);
  kern_stage_apart(&r, STEPS);
  recipe_check(&r);
  return r;
}

static KernPlan *plan_of_pairs(const PairSchedule *s, const KernSeg *seg,
                               const Term *checks, int points, int pairs,
                               const char *parameter) {
  Recipe r = in_pairs(s, points, pairs);
  if (r.failed || !kern_is_staged(r.kern)) return NULL;
  const Term *least = term_tuning(name_of(s->c->names, parameter));
  const Term *condition = term_at_most(least, group_points_of_grid(s->kern));
  const Term *row = term_i64((int64_t)(s->makes ? ITEMS : ITEMS / 2) * points);
  condition = term_and(condition, term_at_most(row, s->points->width));
  if (checks) condition = term_and(condition, checks);
  if (r.condition) condition = term_and(condition, r.condition);
  return new_node(KernPlan, .name = seg->name, .kern = r.kern, .condition = condition,
                  .in_rows = true, .recipe = r.lines.at, .recipe_count = r.lines.count);
}

const KernPlan *kern_schedule_group_pairs(Compiler *c, const KernSeg *seg,
                                          const Kern *kern, const Term *checks) {
  PairSchedule s = { .c = c, .kern = kern };
  const PairShape *shape = find_pairs(&s) ? shape_of_pairs(&s) : NULL;
  if (!shape) return NULL;
  int few = shape->pairs < FEW_PAIRS ? shape->pairs : FEW_PAIRS;
  KernPlan *one = plan_of_pairs(&s, seg, checks, 1, few, "segmap_staged_points");
  if (!one || shape->points == 1) return one;
  KernPlan *several =
      plan_of_pairs(&s, seg, checks, shape->points, shape->pairs, "segmap_shared_points");
  one->name = NULL;
  return several ? kern_plan_or(several, one) : one;
}
