// Schedules for points that each go through rows, in code for GPUs:
//
//   axis n grid { .. axis m reduce { .. a[n, m] .. } .. axis m2 map { out[n, m2] = .. } }
//
// Neighbouring items have neighbouring rows, so in each round of a loop they touch words that lie
// apart.  Here a group of ROWS items copies STEPS columns of its rows to local memory at a time, in
// the order in which they lie, and stores what it makes in the same way.
//
// Why: else a copy of the array with its dimensions exchanged is written and read besides, and
// another one of the result.
#include "kern/recipes/recipe.h"
#include "kern/row_index.h"
#include "kern/schedules/groups.h"
#include "kern/sums.h"
#include <string.h>

enum { ROWS = 64, STEPS = 16, LOCAL_BYTES = 32768 };

// What lies in rows of one dimension (`a[n * 100 + m]`) need not be staged: it may be that it
// cannot.
typedef struct RowLoop {
  Name name;
  bool must;
} RowLoop;

typedef struct RowSchedule {
  const Axis *points;  // the innermost axis of the grid
  Map *lets;           // Var -> const Term *
  Map *varies;         // Var -> itself: differs between neighbouring points
  Vec(RowLoop) loops;  // those that touch words apart
  bool refused;
} RowSchedule;

// ---- what differs between points

static void see_differing(void *state, const Var *var) {
  RowSchedule *s = state;
  if (map_has(s->varies, var)) s->refused = true;
}

static bool term_varies(const RowSchedule *s, const Term *t) {
  RowSchedule asked = { .varies = s->varies };
  term_each_var(t, see_differing, &asked);
  return asked.refused;
}

// Do neighbouring points touch words apart, at the same place of a row each?
static bool is_apart(const RowSchedule *s, Access access) {
  int unit = tensor_unit_dim(access.tensor);
  bool others = false;
  if (tensor_root(access.tensor)->space != TENSOR_GLOBAL || unit < 0) return false;
  for (int d = 0; d < access.tensor->rank; d++)
    others = others || (d != unit && term_varies(s, access.index[d]));
  return others && !term_varies(s, access.index[unit]);
}

static bool differs_by_point(const void *state, const Term *t) {
  return term_varies(state, t);
}

// Do they read words apart as they have rows in one dimension?
static bool is_in_rows(const RowSchedule *s, Access load) {
  int unit = tensor_unit_dim(load.tensor);
  RowQuestion q = { s->lets, differs_by_point, s };
  RowIndex row;
  return tensor_root(load.tensor)->space == TENSOR_GLOBAL && unit >= 0 &&
         kern_row_index(&q, load.index[unit], &row);
}

static void note_binders(RowSchedule *s, const KernStm *stm) {
  bool same = (stm->kind == KERN_LET && !term_varies(s, stm->u.term));
  if (stm->kind == KERN_LOAD) {
    same = true;
    for (int d = 0; d < stm->u.load.tensor->rank; d++)
      same = same && !term_varies(s, stm->u.load.index[d]);
  }
  for (int i = 0; i < stm->binder_count && !same; i++)
    map_put(s->varies, stm->binders[i], stm->binders[i]);
}

// ---- which loops touch words apart

// Around a statement: loops of the point, and whether it is one of the innermost one's own.
typedef struct RowPlace {
  const Axis *loop;
  int depth;
  bool own;
} RowPlace;

static void find_in_block(RowSchedule *s, const KernBlock *block, RowPlace at);

static void add_loop_apart(RowSchedule *s, RowPlace at, bool must) {
  if (!at.depth) return;
  if (at.depth > 1 || !at.own || at.loop->role == AXIS_HIST) {
    s->refused = s->refused || must;
    return;
  }
  int last = s->loops.count - 1;
  if (last < 0 || s->loops.at[last].name != at.loop->name)
    vec_push(&s->loops, (RowLoop){ at.loop->name, must });
  else
    s->loops.at[last].must |= must;
}

static void find_in_axis(RowSchedule *s, const KernStm *stm, RowPlace at) {
  const Axis *axis = stm->u.axis;
  bool loop = axis->bind == BIND_SEQ;
  if (axis->bind == BIND_ITEM) map_put(s->varies, axis->index, axis->index);
  for (int i = 0; i < axis->param_count; i++)
    map_put(s->varies, axis->params[i], axis->params[i]);
  for (int i = 0; axis->sums && i < kern_sum_count(axis); i++)
    map_put(s->varies, axis->sums[i], axis->sums[i]);
  if (loop) at = (RowPlace){ axis, at.depth + 1, true };
  find_in_block(s, axis->body, at);
  if (axis->after) find_in_block(s, axis->after, at);
}

// Rounds of a `while` are each point's own number: PoCL 3.1 compiles such loops wrongly in some
// kernels with barriers, so that they do not end.
static bool may_not_be_staged(const KernStm *stm) {
  return stm->kind == KERN_CALL || stm->kind == KERN_ROOM || stm->kind == KERN_WHILE;
}

static void find_in_stm(RowSchedule *s, const KernStm *stm, RowPlace at) {
  if (may_not_be_staged(stm)) s->refused = true;
  if (stm->kind == KERN_LOAD && is_apart(s, stm->u.load)) add_loop_apart(s, at, true);
  if (stm->kind == KERN_LOAD && is_in_rows(s, stm->u.load)) add_loop_apart(s, at, false);
  if (stm->kind == KERN_STORE && is_apart(s, stm->u.store.to))
    add_loop_apart(s, at, true);
  if (stm->kind == KERN_AXIS) {
    find_in_axis(s, stm, at);
    return;
  }
  if (stm->kind == KERN_WHILE) at.depth++;
  at.own = false;
  KernBlockVec inner = kern_blocks(stm);
  vec_each (const KernBlock **, block, &inner)
    find_in_block(s, *block, at);
}

static void find_in_block(RowSchedule *s, const KernBlock *block, RowPlace at) {
  for (int i = 0; i < block->count; i++) {
    find_in_stm(s, &block->stms[i], at);
    note_binders(s, &block->stms[i]);
  }
}

static void see_points(KernVisitor *v, const KernStm *stm) {
  const Axis **found = v->state;
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_GRID) *found = stm->u.axis;
}

// The innermost axis of the grid; NULL if there is none.
static const Axis *innermost_of_grid(const Kern *kern) {
  const Axis *found = NULL;
  KernVisitor v = { .stm = see_points, .state = &found };
  kern_visit_block(&v, kern->body);
  return found;
}

static RowSchedule find_apart(const Kern *kern, const Axis *points) {
  RowSchedule s = { .points = points, .lets = sum_lets(kern), .varies = map_new(NULL) };
  map_put(s.varies, points->index, points->index);
  find_in_block(&s, points->body, (RowPlace){ 0 });
  return s;
}

// ---- the recipe

// Local memory by the size of elements, and whether it is for what is made: what a loop needs, and
// the most so far.  Loops share it (imp/lower/kern.h: TileRoom).
typedef struct TileBytes {
  int64_t loop[2][9], most[2][9];
} TileBytes;

static void see_tile(KernVisitor *v, const KernStm *stm) {
  TileBytes *bytes = v->state;
  if (stm->kind == KERN_AXIS) memset(bytes->loop, 0, sizeof bytes->loop);
  if (stm->kind != KERN_ALLOC || stm->u.tensor->space != TENSOR_LOCAL) return;
  int size = prim_size_bytes(stm->u.tensor->elem);
  int64_t needed = size;
  for (int d = 0; d < stm->u.tensor->rank; d++)
    needed *= stm->u.tensor->dims[d]->u.constant.u.i;
  int64_t *loop = &bytes->loop[stm->u.tensor->made][size],
          *most = &bytes->most[stm->u.tensor->made][size];
  *loop += needed;
  if (*loop > *most) *most = *loop;
}

static int64_t local_bytes(const Kern *kern) {
  TileBytes bytes = { 0 };
  KernVisitor v = { .stm = see_tile, .state = &bytes };
  kern_visit_block(&v, kern->body);
  int64_t all = 0;
  for (int size = 1; size <= 8; size++)
    all += bytes.most[false][size] + bytes.most[true][size];
  return all;
}

static bool has_to_be_staged(const RowSchedule *s) {
  vec_each (const RowLoop *, loop, &s->loops)
    if (loop->must) return true;
  return false;
}

bool kern_is_staged(const Kern *kern) {
  const Axis *groups = innermost_of_grid(kern);
  if (!groups || local_bytes(kern) > LOCAL_BYTES) return false;
  RowSchedule left = find_apart(kern, groups);
  return !left.refused && !has_to_be_staged(&left);
}

static bool stage_or_leave(Recipe *r, const RowLoop *loop, const Recipe *before) {
  recipe_stage(r, loop->name);
  if (!r->failed || loop->must) return !r->failed;
  *r = *before;
  return false;
}

static bool stage_row_loop(Recipe *r, const RowLoop *loop, int steps) {
  Recipe before = recipe_copy(r);
  recipe_where(r, loop->name, steps);
  recipe_split(r, loop->name, steps, SPLIT_CHAIN);
  return stage_or_leave(r, loop, &before);
}

static void stage_rest(Recipe *r, const RowLoop *rest) {
  Recipe before = recipe_copy(r);
  stage_or_leave(r, rest, &before);
}

// What splits left of loops that are staged.
static void stage_rests(Recipe *r) {
  if (r->failed) return;
  RowSchedule rests = find_apart(r->kern, innermost_of_grid(r->kern));
  vec_each (const RowLoop *, rest, &rests.loops)
    stage_rest(r, rest);
}

void kern_stage_apart(Recipe *r, int steps) {
  if (r->failed) return;
  RowSchedule apart = find_apart(r->kern, innermost_of_grid(r->kern));
  vec_each (const RowLoop *, loop, &apart.loops)
    if (!r->failed) stage_row_loop(r, loop, steps);
  stage_rests(r);
}

static Recipe in_rows(Compiler *c, const Kern *kern, const RowSchedule *s) {
  Recipe r = recipe_new(c, kern, NULL);
  Name points = s->points->name;
  r.step.groups = true;
  recipe_split(&r, points, ROWS, SPLIT_OVERLAP);
  recipe_bind(&r, points, BIND_ITEM);
  bool staged = false;
  vec_each (const RowLoop *, loop, &s->loops)
    staged = stage_row_loop(&r, loop, STEPS) || staged;
  if (!staged) r.failed = true;
  stage_rests(&r);
  return r;
}

const KernPlan *kern_schedule_group_rows(Compiler *c, const KernSeg *seg,
                                         const Kern *kern, const Term *checks) {
  const Axis *points = innermost_of_grid(kern);
  if (!points) return NULL;
  RowSchedule s = find_apart(kern, points);
  if (s.refused || !s.loops.count) return NULL;
  Recipe r = in_rows(c, kern, &s);
  if (r.failed || !kern_is_staged(r.kern)) return NULL;
  const Term *least = term_tuning(name_of(c->names, "segmap_staged_points"));
  const Term *condition = term_at_most(least, points->width);
  if (checks) condition = term_and(condition, checks);
  if (r.condition) condition = term_and(condition, r.condition);
  return new_node(KernPlan, .name = seg->name, .kern = r.kern, .condition = condition,
                  .in_rows = true, .recipe = r.lines.at, .recipe_count = r.lines.count);
}
