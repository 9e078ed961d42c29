// Schedules for short innermost axes of the grid: a small matrix per point, whose elements are too
// few for 16 lanes.  The axes become loops of the point, and
//
//   rows     the innermost of them goes in lanes, if it has 4 or 8 points
//   points   all are straight code, and the points outside go in lanes
//   maps     the rows that the points make and go on with are in lanes, each map by itself
//
// Likewise if loops of the points read short rows: as straight code, lanes read records; and if the
// outermost axis of the grid is short: planes, all of which a point makes, so that what they have
// in common is read once.
#include "kern/records.h"
#include "kern/schedules/schedule.h"
#include "kern/sums.h"

enum { MOST_SHORT = 8, MOST_POINTS = 64, MOST_GRID = 8 };

// The width of an axis of few points; 0: it has more, or the host finds out how many.
static int64_t short_width(const Axis *axis) {
  bool known = axis && axis->width->kind == TERM_CONST;
  int64_t width = known ? axis->width->u.constant.u.i : 0;
  return width <= MOST_SHORT ? width : 0;
}

// Of loops, whose rows may have as many bytes as lanes pick from together.
static int64_t short_rounds(const Axis *axis) {
  bool known = axis->width->kind == TERM_CONST;
  int64_t width = known ? axis->width->u.constant.u.i : 0;
  return width <= MOST_SHORT || width == MOST_APART ? width : 0;
}

// The short innermost axes of the grid as loops, but for the outermost axis; how many they are.
static int loops_of_points(Recipe *r) {
  int count = 0;
  int64_t points = 1;
  for (;; count++) {
    const Axis *last = schedule_last_grid(r->kern);
    points *= short_width(last);
    if (!points || points > MOST_POINTS || !schedule_axis_before(r->kern, last)) break;
    recipe_bind(r, last->name, BIND_SEQ);
    if (r->failed) break;
  }
  return count;
}

// Innermost loops of few rounds as straight code, outer ones afterwards if `all`.
static void unroll_innermost(Recipe *r, bool all) {
  for (bool more = true; more && !r->failed;) {
    AxisStms axes = schedule_innermost(r->kern);
    more = false;
    if (schedule_are_many(&axes)) return;
    vec_each (const KernStm **, stm, &axes) {
      Recipe next = *r;
      if (!short_rounds((*stm)->u.axis)) continue;
      recipe_unroll(&next, (*stm)->u.axis->name);
      if (next.failed) continue;
      *r = next;
      more = all;
    }
  }
}

static void add_short_rows(const Schedule *s, Candidates *out, const Recipe *loops,
                           Name row, int64_t width) {
  Candidate cand = { .what = text_format("short rows of %d in lanes", (int)width),
                     .recipe = recipe_copy(loops) };
  recipe_bind(&cand.recipe, row, BIND_LANE);
  unroll_innermost(&cand.recipe, false);
  schedule_offer(s, out, &cand);
}

static void add_short_points(const Schedule *s, Candidates *out, const Recipe *loops,
                             int lanes) {
  Candidate cand = { .what =
                         text_format("%d points in lanes, short axes unrolled", lanes),
                     .recipe = recipe_copy(loops),
                     .weight = lanes };
  Recipe *r = &cand.recipe;
  unroll_innermost(r, true);
  // Of straight code that stores nothing (places that are known to be outside) no grid is left.
  const Axis *last = schedule_last_grid(r->kern);
  if (!last || schedule_innermost(r->kern).count) return;
  recipe_split(r, last->name, lanes, SPLIT_OVERLAP);
  recipe_bind(r, last->name, BIND_LANE);
  schedule_offer(s, out, &cand);
}

typedef struct ShortReads {
  Map *lets;
  bool found;
} ShortReads;

// Loops of few rounds may be of any numbers.
static bool may_pick(const Axis *axis, PrimType elem) {
  return (axis->role == AXIS_LOOP && short_width(axis)) ||
         is_few_apart(short_rounds(axis), elem);
}

// xs[i, k] or xs[i, 7 - k]; reductions have tiles of four by four, or are left to the device's own
// compiler, but where lanes pick from the same vectors.
static bool reads_row(const Map *lets, const Access *access, const Axis *axis) {
  const Tensor *t = access->tensor;
  if (!may_pick(axis, t->elem)) return false;
  const Term *at = t->rank > 1 ? term_inlined(lets, access->index[t->rank - 1]) : NULL;
  IndexSum sum;
  if (!at || !term_same(t->dims[t->rank - 1], axis->width) || !sum_of(at, &sum))
    return false;
  int64_t by = sum_factor(&sum, axis->index);
  return sum.count == 1 && (by == 1 || by == -1);
}

// xs[8 * i + k], for a k below 8: lanes pick from the same vectors.
static bool reads_row_of_many(const Map *lets, const Access *access, const Axis *axis) {
  const Term *at =
      access->tensor->rank == 1 ? term_inlined(lets, access->index[0]) : NULL;
  IndexSum sum;
  bool apart = false;
  if (!may_pick(axis, access->tensor->elem)) return false;
  if (!at || !sum_of(at, &sum) || sum_factor(&sum, axis->index) != 1) return false;
  for (int i = 0; i < sum.count; i++)
    apart |= sum.by[i] == short_rounds(axis) && sum.at[i]->kind == TERM_VAR;
  return apart;
}

// Loops of few rounds that read a row of as many elements.
static void see_short_row(KernVisitor *v, const KernStm *stm) {
  ShortReads *reads = v->state;
  const Axis *axis = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
  if (stm->kind == KERN_LET) map_put(reads->lets, stm->binders[0], stm->u.term);
  if (!axis || short_rounds(axis) < 2 ||
      (axis->role != AXIS_LOOP && axis->role != AXIS_REDUCE))
    return;
  for (int i = 0; i < axis->body->count; i++) {
    const KernStm *inner = &axis->body->stms[i];
    if (inner->kind == KERN_LET) map_put(reads->lets, inner->binders[0], inner->u.term);
    if (inner->kind == KERN_LOAD)
      reads->found |= reads_row(reads->lets, &inner->u.load, axis) ||
                      reads_row_of_many(reads->lets, &inner->u.load, axis);
  }
}

static bool reads_short_rows(const Kern *kern) {
  ShortReads reads = { .lets = map_new(NULL) };
  KernVisitor v = { .stm = see_short_row, .state = &reads };
  kern_visit_block(&v, kern->body);
  return reads.found;
}

// The axes of the grid, the outermost one inside of all others; how many they are.
static int outermost_inside(const Kern *kern, Name *axes) {
  const Axis *at[MOST_GRID];
  int count = 0;
  for (const Axis *axis = schedule_last_grid(kern); axis && count < MOST_GRID;
       axis = schedule_axis_before(kern, axis))
    at[count++] = axis;
  for (int i = 0; i + 1 < count; i++)
    axes[i] = at[count - 2 - i]->name;
  if (count) axes[count - 1] = at[count - 1]->name;
  return count == MOST_GRID || !count || short_width(at[count - 1]) < 2 ? 0 : count;
}

typedef struct PlaneLoads {
  const Var *plane;
  Map *lets;
  int shared, own;  // loads
} PlaneLoads;

static void see_plane_stm(KernVisitor *v, const KernStm *stm) {
  PlaneLoads *loads = v->state;
  if (stm->kind == KERN_LET) map_put(loads->lets, stm->binders[0], stm->u.term);
}

// Is the plane at most the last index, which tells elements of a record apart?
static void see_plane_access(KernVisitor *v, Access access, bool stores) {
  PlaneLoads *loads = v->state;
  bool own = false;
  if (stores) return;
  for (int d = 0; d + 1 < access.tensor->rank; d++) {
    const Term *index = term_inlined(loads->lets, access.index[d]);
    own |= !index || term_mentions(index, loads->plane);
  }
  if (access.tensor->rank == 1) {  // a[plane] is a number of each plane
    const Term *index = term_inlined(loads->lets, access.index[0]);
    if (index && index->kind == TERM_VAR && index->u.var == loads->plane) return;
    own = !index || term_mentions(index, loads->plane);
  }
  loads->own += own;
  loads->shared += !own && access.tensor->rank > 0;
}

static bool planes_share_loads(const Kern *kern, const Var *plane) {
  PlaneLoads loads = { .plane = plane, .lets = map_new(NULL) };
  KernVisitor v = { .stm = see_plane_stm, .access = see_plane_access, .state = &loads };
  kern_visit_block(&v, kern->body);
  return loads.shared > 0 && loads.own == 0;
}

static void add_planes(const Schedule *s, Candidates *out) {
  Name axes[MOST_GRID];
  Candidate cand = { .what = "planes together, points in lanes",
                     .nearer = 0.3,
                     .recipe = schedule_recipe(s) };
  Recipe *r = &cand.recipe;
  schedule_widen_grid(r);
  int count = outermost_inside(r->kern, axes);
  const KernStm *plane = count < 2 ? NULL : step_axis(&r->step, r->kern, axes[count - 1]);
  if (!plane || !planes_share_loads(s->kern, plane->u.axis->index)) return;
  recipe_permute(r, axes, count);
  recipe_bind(r, axes[count - 1], BIND_SEQ);
  unroll_innermost(r, true);
  if (r->failed || schedule_innermost(r->kern).count) return;
  recipe_split(r, axes[count - 2], LANES, SPLIT_OVERLAP);
  recipe_bind(r, axes[count - 2], BIND_LANE);
  schedule_offer(s, out, &cand);
}

// ---- short maps within points

static bool has_map(const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_AXIS && stm->u.axis->role == AXIS_MAP) return true;
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      if (has_map(*inner)) return true;
  }
  return false;
}

// Innermost maps of as many points as a narrow vector has lanes.
static void see_short_map(KernVisitor *v, const KernStm *stm) {
  AxisStms *out = v->state;
  const Axis *axis = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
  int64_t width = short_width(axis);
  if ((width == 4 || width == 8) && axis->role == AXIS_MAP && axis->bind == BIND_SEQ &&
      !has_map(axis->body))
    vec_push(out, stm);
}

// Short maps around those in lanes.
static void see_rows_of_lanes(KernVisitor *v, const KernStm *stm) {
  AxisStms *out = v->state;
  const Axis *axis = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
  bool rows =
      axis && axis->role == AXIS_MAP && axis->bind == BIND_SEQ && short_width(axis) > 1;
  for (int i = 0; rows && i < axis->body->count; i++) {
    const KernStm *inner = &axis->body->stms[i];
    if (inner->kind != KERN_AXIS || inner->u.axis->bind != BIND_LANE) continue;
    vec_push(out, stm);
    return;
  }
}

static AxisStms axes_seen(const Kern *kern, void (*see)(KernVisitor *, const KernStm *)) {
  AxisStms out = { 0 };
  KernVisitor v = { .stm = see, .state = &out };
  kern_visit_block(&v, kern->body);
  return out;
}

// Several rows at once, where that is cheaper: what they have in common is read once.
static void rows_in_registers(const Schedule *s, Recipe *r) {
  AxisStms rows = axes_seen(r->kern, see_rows_of_lanes);
  vec_each (const KernStm **, row, &rows) {
    Recipe next = recipe_copy(r);
    recipe_bind(&next, (*row)->u.axis->name, BIND_REG);
    if (!next.failed &&
        schedule_cost(s, next.kern, TRIPS) < schedule_cost(s, r->kern, TRIPS))
      *r = next;
  }
}

// The rows of small matrices that a point makes, one after the other, in lanes.
static void add_short_maps(const Schedule *s, Candidates *out) {
  Candidate cand = { .what = "short maps within points in lanes",
                     .recipe = schedule_recipe(s) };
  Recipe *r = &cand.recipe;
  if (short_width(schedule_last_grid(s->kern))) loops_of_points(r);
  if (r->failed) return;
  AxisStms maps = axes_seen(r->kern, see_short_map);
  bool loops = false;
  vec_each (const KernStm **, map, &maps)
    loops |= schedule_depth(*map) >= 2;
  if (!loops) return;
  vec_each (const KernStm **, map, &maps)
    recipe_bind(r, (*map)->u.axis->name, BIND_LANE);
  unroll_innermost(r, false);
  if (r->failed) return;
  rows_in_registers(s, r);
  schedule_offer(s, out, &cand);
}

void schedule_short(const Schedule *s, Candidates *out) {
  const Axis *last = schedule_last_grid(s->kern);
  int64_t width = short_width(last);
  Recipe loops = schedule_recipe(s);
  if (!last || s->in_place) return;
  add_planes(s, out);
  add_short_maps(s, out);
  if (!width && reads_short_rows(s->kern)) add_short_points(s, out, &loops, LANES);
  if (!width || !loops_of_points(&loops) || loops.failed) return;
  if (width == 4 || width == 8) add_short_rows(s, out, &loops, last->name, width);
  add_short_points(s, out, &loops, LANES);
  add_short_points(s, out, &loops, LANES / 4);
}
