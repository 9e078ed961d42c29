// Schedules for points that read what their neighbours in the next rows read, in code for GPUs:
//
//   axis n grid { axis m grid { .. a[n + x, m + y] .. w[x, y] .. } }
//
// An item takes ROWS points of a column in registers: windows that overlap, weights, and what comes
// of the column alone are loaded once for all of them; indices are computed once.  Where points of
// another dimension read the same windows (filters of a layer), it takes those of several of them.
// Neighbouring items have neighbouring columns, then the next strip: pictures may be narrow.
//
// Why: a stencil is bound by the number of its loads, most of which caches answer.
#include "kern/recipes/recipe.h"
#include "kern/schedules/group_loops.h"
#include "kern/schedules/groups.h"
#include "kern/sums.h"
#include "kern/tidy/tidy.h"

enum { ROWS = 4, MOST_LOADS = 64, LEAST_LOADS = 4, MOST_STMS = 128 };
// Points of the third dimension, and the statements of all points of an item.
enum { MOST_LAYERS = 4, MOST_TEXT = 3200 };
enum { MOST_GRID = 8 };

enum { SOME_ROUNDS = 4 };  // what loops of unknown width are taken to have

// How often a load, or a block, runs, as far as that is known; and in loops of constant width
// alone.
typedef struct StripPlace {
  int64_t times, straight;
} StripPlace;

typedef struct StripLoad {
  const Access *access;
  int on;
  StripPlace at;
} StripLoad;

typedef struct StripSchedule {
  Compiler *c;
  GroupLoops of;
  Map *lets;
  Vec(StripLoad) loads;
  Vec(Name) windows;  // loops of constant width, outermost first
  int stms;
  int64_t all, needed;  // loads of ROWS points: as they are, and in a strip
  bool arrays, rounds;  // points have arrays of their own; loops of unknown width
} StripSchedule;

// ---- loads

static void find_strip_loads(StripSchedule *s, const KernBlock *block, StripPlace at);

static void find_in_loop(StripSchedule *s, const Axis *axis, StripPlace at) {
  bool constant = axis->width->kind == TERM_CONST;
  int64_t width = constant ? axis->width->u.constant.u.i : 1;
  at.times *= constant ? width : SOME_ROUNDS;
  at.straight *= width;
  s->rounds = s->rounds || !constant;
  if (constant) vec_push(&s->windows, axis->name);
  find_strip_loads(s, axis->body, at);
  if (axis->after) find_strip_loads(s, axis->after, at);
}

static void find_strip_stm(StripSchedule *s, const KernStm *stm, StripPlace at) {
  s->stms++;
  s->arrays = s->arrays || stm->kind == KERN_ALLOC;
  if (stm->kind == KERN_LOAD) {
    const Access *load = &stm->u.load;
    vec_push(&s->loads, (StripLoad){ load, group_access_depends(&s->of, load), at });
  }
  if (stm->kind == KERN_AXIS) {
    find_in_loop(s, stm->u.axis, at);
    return;
  }
  KernBlockVec inner = kern_blocks(stm);
  vec_each (const KernBlock **, one, &inner)
    find_strip_loads(s, *one, at);
}

static void find_strip_loads(StripSchedule *s, const KernBlock *block, StripPlace at) {
  for (int i = 0; i < block->count; i++)
    find_strip_stm(s, &block->stms[i], at);
}

static int dim_depends(const StripSchedule *s, const Access *access, int dim) {
  return group_term_depends(&s->of, access->index[dim]);
}

// Does it read a window that moves with the row?  Loops of unknown width are not unrolled.
static bool is_window(const StripSchedule *s, const StripLoad *load) {
  if (load->at.straight < 2) return false;
  for (int d = 0; d < load->access->tensor->rank; d++) {
    int on = dim_depends(s, load->access, d);
    if (on & ON_ROW && on & (ON_LOOP | ON_OUTER)) return true;
  }
  return false;
}

// Are the indices some rows apart, and otherwise the same?
static bool is_other_row(const StripSchedule *s, const StripLoad *a, const StripLoad *b) {
  if (a->access->tensor != b->access->tensor) return false;
  bool apart = false;
  for (int d = 0; d < a->access->tensor->rank; d++) {
    const Term *x = term_inlined(s->lets, a->access->index[d]),
               *y = term_inlined(s->lets, b->access->index[d]);
    if (!x || !y) return false;
    if (term_same(x, y)) continue;
    if (!(dim_depends(s, a->access, d) & dim_depends(s, b->access, d) & ON_ROW))
      return false;
    apart = true;
  }
  return apart;
}

static bool has_other_row(const StripSchedule *s, const StripLoad *load) {
  vec_each (const StripLoad *, other, &s->loads)
    if (other != load && is_other_row(s, load, other)) return true;
  return false;
}

// Do neighbouring items touch words apart?  Those want the array the other way round.
static bool lies_across(const StripSchedule *s, const Access *access) {
  int unit = tensor_unit_dim(access->tensor);
  if (unit < 0 || dim_depends(s, access, unit) & ON_COLUMN) return false;
  return group_access_depends(&s->of, access) & ON_COLUMN;
}

static bool reads_across(const StripSchedule *s) {
  vec_each (const StripLoad *, load, &s->loads)
    if (lies_across(s, load->access)) return true;
  return false;
}

static void count_strip_loads(StripSchedule *s) {
  vec_each (const StripLoad *, load, &s->loads) {
    bool moves = load->on & ON_ROW;
    bool shared = !moves || is_window(s, load) || has_other_row(s, load);
    s->all += ROWS * load->at.times;
    s->needed += load->at.times * (shared ? moves ? 2 : 1 : ROWS);
  }
}

static bool takes_remainder(const Term *t) {
  const Term *operands[3];
  if (t->kind == TERM_OP && (t->u.op.op == OP_MOD || t->u.op.op == OP_REM)) return true;
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    if (takes_remainder(operands[i])) return true;
  return false;
}

static bool is_in_ring(const StripSchedule *s) {
  vec_each (const StripLoad *, load, &s->loads)
    for (int d = 0; d < load->access->tensor->rank; d++) {
      const Term *whole = term_inlined(s->lets, load->access->index[d]);
      if (whole && takes_remainder(whole)) return true;
    }
  return false;
}

// Do points of a column need much less together than each by itself?  In three dimensions and more,
// or in rings, where to find a point takes as many instructions as some loads, a sixth will do.
static bool gains_from_strips(const StripSchedule *s) {
  if (s->all < (int64_t)LEAST_LOADS * ROWS) return false;
  return s->of.grid > 2 || is_in_ring(s) ? 5 * s->all >= 6 * s->needed
                                         : 7 * s->all >= 10 * s->needed;
}

// Is at least a quarter of what a point loads the same for all layers?
static bool layers_read_the_same(const StripSchedule *s) {
  int64_t all = 0, same = 0;
  vec_each (const StripLoad *, load, &s->loads) {
    all += load->at.times;
    if (!(load->on & ON_LAYER)) same += load->at.times;
  }
  return 4 * same >= all;
}

// The nearest axis around the columns that is not that of the rows; NULL: there is none.
static const Axis *axis_of_layers(const GroupLoops *of) {
  const Axis *around = group_axis_around(of->kern, of->column);
  if (around != of->row) return around;
  return of->grid > 2 ? group_axis_around(of->kern, around) : NULL;
}

// Strips of points along that axis of the grid; false: they do not suit.
static bool strips_along(StripSchedule *s, const Axis *row) {
  group_find_points(&s->of);
  s->of.row = row;
  s->of.layer = axis_of_layers(&s->of);
  group_find_loops(&s->of);
  s->lets = sum_lets(s->of.kern);
  find_strip_loads(s, s->of.column->body, (StripPlace){ 1, 1 });
  bool suits = !s->of.refused && !(s->arrays && s->rounds);
  if (!suits || s->loads.count > MOST_LOADS || s->stms > MOST_STMS || reads_across(s))
    return false;
  count_strip_loads(s);
  return gains_from_strips(s);
}

// Along the axis by which strips need least.
static bool find_strips(StripSchedule *s) {
  GroupLoops points = s->of;
  bool found = false;
  if (!group_find_points(&points) || points.grid > MOST_GRID) return false;
  const StripSchedule before = *s;
  const Axis *row = points.column;
  for (int i = points.grid; i > 1; i--) {
    StripSchedule along = before;
    row = group_axis_around(points.kern, row);
    if (!strips_along(&along, row) || (found && along.needed >= s->needed)) continue;
    *s = along;
    found = true;
  }
  return found;
}

// ---- the recipe

// Where windows overlap shows in straight code, as far as that of all points does not get too long.
static void unroll_windows(Recipe *r, const StripSchedule *s, int points) {
  for (int i = s->windows.count - 1; i >= 0; i--) {
    Recipe before = recipe_copy(r);
    recipe_unroll(r, s->windows.at[i]);
    if (r->failed || kern_statements(r->kern->body) * points > MOST_TEXT) *r = before;
  }
}

// The grid from the outermost axis that is split on, then the points of an item.
static void order_strips(Recipe *r, const StripSchedule *s, bool layers) {
  const GroupLoops *of = &s->of;
  Name order[MOST_GRID + 2];
  int split = layers ? 2 : 1, first = MOST_GRID;
  const Axis *axis = of->column;
  order[--first] = axis->name;
  while (split) {
    axis = group_axis_around(of->kern, axis);
    bool is_split = axis == of->row || (layers && axis == of->layer);
    order[--first] = is_split ? recipe_outer(r, axis->name) : axis->name;
    split -= is_split;
  }
  int count = MOST_GRID;
  order[count++] = of->row->name;
  if (layers) order[count++] = of->layer->name;
  recipe_permute(r, order + first, count - first);
}

static Recipe in_strips(const StripSchedule *s, int layers) {
  Recipe r = recipe_new(s->c, s->of.kern, NULL);
  Name row = s->of.row->name;
  r.step.groups = true;
  unroll_windows(&r, s, ROWS * layers);
  r.kern = kern_simple_remainders_of_rows(s->c, r.kern, s->of.row->index, ROWS);
  recipe_split(&r, row, ROWS, SPLIT_OVERLAP);
  if (layers > 1) recipe_split(&r, s->of.layer->name, layers, SPLIT_OVERLAP);
  order_strips(&r, s, layers > 1);
  recipe_bind(&r, row, BIND_REG);
  if (layers > 1) recipe_bind(&r, s->of.layer->name, BIND_REG);
  return r;
}

static KernPlan *plan_of_strips(const StripSchedule *s, const KernSeg *seg,
                                const Term *checks, int layers) {
  Recipe r = in_strips(s, layers);
  if (r.failed) return NULL;
  const Term *least = term_tuning(name_of(s->c->names, "segmap_shared_points"));
  least = term_mul(term_i64(layers), least);
  const Term *condition = term_at_most(least, group_points_of_grid(s->of.kern));
  if (checks) condition = term_and(condition, checks);
  if (r.condition) condition = term_and(condition, r.condition);
  return new_node(KernPlan, .name = seg->name, .kern = r.kern, .condition = condition,
                  .in_rows = true, .recipe = r.lines.at, .recipe_count = r.lines.count);
}

const KernPlan *kern_schedule_group_strips(Compiler *c, const KernSeg *seg,
                                           const Kern *kern, const Term *checks,
                                           bool straight) {
  const Term *some;
  StripSchedule s = { .c = c, .of.kern = kern_clamp_loads(c, kern, &some) };
  if (!find_strips(&s) || (straight && s.rounds)) return NULL;
  if (some) checks = checks ? term_and(checks, some) : some;
  KernPlan *one = plan_of_strips(&s, seg, checks, 1);
  if (!one || !s.of.layer || !layers_read_the_same(&s)) return one;
  KernPlan *several = plan_of_strips(&s, seg, checks, MOST_LAYERS);
  one->name = NULL;
  return several ? kern_plan_or(several, one) : one;
}
