// Schedules for points whose loops read the same, or windows that move, in code for GPUs:
//
//   axis n grid { .. a[n] .. axis m reduce { .. b[m] .. } .. }
//   axis n grid { .. axis k reduce { .. a[n + k] .. } .. }
//
// A group of ITEMS items copies STEPS points of what the loop reads to local memory at a time, and
// each item takes several points of the grid in registers, for all of which an element is read
// once: bodies that attract each other, tables that each point searches.
//
// Of windows (moving sums) the points of an item only share the rounds: what overlaps is in caches,
// and to stage it takes more instructions than it saves.
//
// Why: as it stands each point loads each element, which costs as many instructions as a short
// body has.
#include "kern/recipes/recipe.h"
#include "kern/schedules/group_loops.h"
#include "kern/schedules/groups.h"
#include "kern/sums.h"

enum { ITEMS = 128, STEPS = 32, MOST_STMS = 256, MOST_DISTANCE = 2 };

// How many points an item has, by what each holds in registers.
typedef struct SharedShape {
  int bytes, points;
} SharedShape;

static const SharedShape shapes[] = { { 32, 4 }, { 64, 2 } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

typedef struct SharedLoop {
  Name name;
  int depth;   // loops around it
  bool moves;  // it reads a window only, which moves with the point
} SharedLoop;

typedef struct SharedSchedule {
  Compiler *c;
  GroupLoops of;
  Map *lets;              // Var -> const Term *
  Vec(SharedLoop) loops;  // those that read what several points read
  int stms;
} SharedSchedule;

// ---- which loops read what several points read

// Does it read elements that are the same for all points, and others in each round?
static bool reads_shared(const GroupLoops *s, const Axis *axis) {
  for (int i = 0; i < axis->body->count; i++) {
    const KernStm *stm = &axis->body->stms[i];
    if (stm->kind == KERN_LOAD &&
        tensor_root(stm->u.load.tensor)->space == TENSOR_GLOBAL &&
        group_access_depends(s, &stm->u.load) == ON_LOOP)
      return true;
  }
  return false;
}

// Do neighbouring points read elements of the same window, which moves with the point?
static bool moves_window(const SharedSchedule *s, const Axis *axis, const Access *load) {
  int unit = tensor_unit_dim(load->tensor);
  if (unit < 0 || tensor_root(load->tensor)->space != TENSOR_GLOBAL) return false;
  const Term *at = term_inlined(s->lets, load->index[unit]);
  IndexSum sum;
  if (!at || !sum_of(at, &sum)) return false;
  int64_t by = sum_factor(&sum, s->of.column->index);
  return by && by >= -MOST_DISTANCE && by <= MOST_DISTANCE &&
         sum_factor(&sum, axis->index);
}

// Windows of constant width, and those of points of grids, are for strips (group_strips.c).
static bool reads_window(const SharedSchedule *s, const Axis *axis) {
  if (axis->width->kind == TERM_CONST || s->of.grid > 1) return false;
  for (int i = 0; i < axis->body->count; i++) {
    const KernStm *stm = &axis->body->stms[i];
    if (stm->kind == KERN_LOAD && moves_window(s, axis, &stm->u.load)) return true;
  }
  return false;
}

static void see_shared_loop(SharedSchedule *s, const Axis *axis, int depth) {
  bool shared = reads_shared(&s->of, axis);
  if (shared || reads_window(s, axis))
    vec_push(&s->loops, (SharedLoop){ axis->name, depth, !shared });
}

static void see_shared_stm(KernVisitor *v, const KernStm *stm) {
  SharedSchedule *s = v->state;
  s->stms++;
  vec_each (const Axis **, loop, &s->of.loops)
    if (stm->kind == KERN_AXIS && stm->u.axis == *loop)
      see_shared_loop(s, *loop, v->depth - s->of.grid);
}

static bool find_shared_loops(SharedSchedule *s) {
  if (!group_find_points(&s->of)) return false;
  group_find_loops(&s->of);
  s->lets = sum_lets(s->of.kern);
  KernVisitor v = { .stm = see_shared_stm, .state = s };
  kern_visit_block(&v, s->of.kern->body);
  return s->loops.count && !s->of.refused;
}

static int points_of_item(const SharedSchedule *s) {
  int bytes = group_bytes_of_points(&s->of), points = 1;
  for (int i = SHAPES - 1; i >= 0; i--)
    if (bytes <= shapes[i].bytes && shapes[i].points * s->stms <= MOST_STMS)
      points = shapes[i].points;
  return points;
}

// ---- the recipe

// A loop within others is run often: it should be long.
static bool stage_shared(Recipe *r, const SharedLoop *loop) {
  Recipe before = recipe_copy(r);
  recipe_where(r, loop->name, loop->depth ? STEPS : 1);
  recipe_split(r, loop->name, STEPS, SPLIT_RUN);
  recipe_stage(r, loop->name);
  if (!r->failed) return true;
  *r = before;
  return false;
}

static Recipe in_shared(const SharedSchedule *s, int points) {
  Recipe r = recipe_new(s->c, s->of.kern, NULL);
  Name name = s->of.column->name;
  r.step.groups = true;
  recipe_split(&r, name, (int64_t)ITEMS * points, SPLIT_CLAMP);
  if (points > 1) recipe_split(&r, name, ITEMS, SPLIT_PEEL);
  Name order[] = { name, recipe_outer(&r, name) };
  if (points > 1) recipe_permute(&r, order, 2);
  recipe_bind(&r, name, BIND_ITEM);
  r.unchecked = true;
  if (points > 1) recipe_bind(&r, order[1], BIND_REG);
  bool gains = false;
  vec_each (const SharedLoop *, loop, &s->loops)
    if (!r.failed && (loop->moves ? points > 1 : stage_shared(&r, loop))) gains = true;
  recipe_check(&r);
  r.failed = r.failed || !gains;
  return r;
}

// One that pays from `parameter` points on, in rows of one group at least.
static KernPlan *plan_of_shared(const SharedSchedule *s, const KernSeg *seg,
                                const Term *checks, int points, const char *parameter) {
  Recipe r = in_shared(s, points);
  if (r.failed || !kern_is_staged(r.kern)) return NULL;
  const Term *least = term_tuning(name_of(s->c->names, parameter));
  const Term *condition = term_at_most(least, group_points_of_grid(s->of.kern));
  const Term *row = term_i64((int64_t)ITEMS / 2 * points);
  condition = term_and(condition, term_at_most(row, s->of.column->width));
  if (checks) condition = term_and(condition, checks);
  if (r.condition) condition = term_and(condition, r.condition);
  return new_node(KernPlan, .name = seg->name, .kern = r.kern, .condition = condition,
                  .in_rows = true, .recipe = r.lines.at, .recipe_count = r.lines.count);
}

const KernPlan *kern_schedule_group_shared(Compiler *c, const KernSeg *seg,
                                           const Kern *kern, const Term *checks) {
  SharedSchedule s = { .c = c, .of.kern = kern };
  if (!find_shared_loops(&s)) return NULL;
  int points = points_of_item(&s);
  KernPlan *one = plan_of_shared(&s, seg, checks, 1, "segmap_staged_points");
  if (points == 1) return one;
  KernPlan *several = plan_of_shared(&s, seg, checks, points, "segmap_shared_points");
  if (several && one) one->name = NULL;
  return several ? kern_plan_or(several, one) : one;
}
