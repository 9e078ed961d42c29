// Schedules for groups of items that share local memory: code for GPUs.
//
//   axis n grid { axis p grid { .. axis k reduce { .. a[n, k] .. b[k, p] .. } .. c[n, p] = .. } }
//
// Where a loop reads what differs along one dimension of the grid only, and also what differs along
// another one only, blocks of points need less than points by themselves: an item takes some rows
// and columns of points in registers, and a group reads what its items need into local memory,
// STEPS points of the loop at a time.  (PPoPP'19, section 2.2, version 3: block and register tiling
// combined; it has no rules for them.)
#include "kern/plan.h"
#include "kern/recipe.h"

enum { STEPS = 16 };  // of a loop, between barriers

// In each of two dimensions: what an item holds of that many bytes per point leaves registers for
// the rest.
typedef struct BlockShape {
  int bytes, items, rows;
} BlockShape;

static const BlockShape shapes[] = { { 4, 8, 8 }, { 16, 16, 4 }, { 64, 16, 2 } };
enum { SHAPES = sizeof shapes / sizeof *shapes };

// What a value depends on, by the two innermost dimensions of the grid.
enum { ON_NONE = 0, ON_ROW = 1, ON_COLUMN = 2, ON_BOTH = 3 };

typedef struct GroupSchedule {
  Compiler *c;
  const Kern *kern;
  const Axis *row, *column;
  Map *depends;             // Var -> const int *
  Vec(const Axis *) loops;  // those to be staged
  const BlockShape *shape;
  bool refused;
} GroupSchedule;

static int depends_on(const GroupSchedule *s, const Term *t);

static int var_depends(const GroupSchedule *s, const Var *var) {
  const int *known = map_get(s->depends, var);
  return known ? *known : ON_NONE;
}

static int depends_on(const GroupSchedule *s, const Term *t) {
  if (t->kind == TERM_VAR) return var_depends(s, t->u.var);
  const Term *operands[3];
  int on = ON_NONE, count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    on |= depends_on(s, operands[i]);
  return on;
}

static void note_depends(GroupSchedule *s, const Var *var, int on) {
  map_put(s->depends, var, mem_copy(&on, sizeof on));
}

static int access_depends(const GroupSchedule *s, const Access *access) {
  int on = ON_NONE;
  for (int i = 0; i < access->tensor->rank; i++)
    on |= depends_on(s, access->index[i]);
  return on;
}

// ---- checks
//
// Groups that wait for each other at barriers cannot stop on errors: what the host knows is a
// condition of the whole kernel, which where it fails leaves the work to items by themselves.

typedef struct HostChecks {
  KernMapper mapper;
  const Kern *kern;
  const Term *condition;  // NULL: none yet
} HostChecks;

static const KernBlock *without_checks(KernMapper *m, const KernBlock *block) {
  HostChecks *h = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    const Term *condition = stm->kind == KERN_CHECK ? stm->u.check.condition : NULL;
    b.loc = stm->loc;
    if (!condition || !step_host_knows(h->kern, condition))
      kern_add(&b, kern_map_stm(m, stm));
    else
      h->condition = h->condition ? term_and(h->condition, condition) : condition;
  }
  return kern_block(&b, block->results, block->result_count);
}

static const Kern *checked_by_host(Compiler *c, const Kern *kern,
                                   const Term **condition) {
  HostChecks h = { .mapper = { .c = c, .block = without_checks }, .kern = kern };
  h.mapper.state = &h;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = without_checks(&h.mapper, kern->body);
  *condition = h.condition;
  return out;
}

// ---- which loops gain from blocks

static bool is_innermost(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (kern_blocks(&block->stms[i]).count) return false;
  return true;
}

// Do its loads differ along one dimension, or along the other, but never along both?
static bool gains_from_blocks(const GroupSchedule *s, const Axis *axis) {
  int seen = ON_NONE;
  for (int i = 0; i < axis->body->count; i++) {
    const KernStm *stm = &axis->body->stms[i];
    if (stm->kind != KERN_LOAD) continue;
    int on = access_depends(s, &stm->u.load);
    if (on == ON_BOTH) return false;
    seen |= on;
  }
  return seen == ON_BOTH;
}

// What it carries from round to round.
static int carried_bytes(const Axis *axis) {
  int bytes = 0;
  for (int i = 0; i < axis->param_count; i++)
    bytes += prim_size_bytes(axis->params[i]->type.elem);
  for (int o = 0; o < axis->op_count; o++)
    for (int i = 0; i < axis->ops[o].count; i++)
      bytes += prim_size_bytes(axis->ops[o].params[i]->type.elem);
  return bytes;
}

// Of what differs from point to point, the loop's own and what stands before it.
typedef struct HeldValues {
  const GroupSchedule *schedule;
  Map *own, *held;  // Var -> itself
  int bytes;
} HeldValues;

static void see_own_value(KernVisitor *v, const Var *var) {
  HeldValues *h = v->state;
  map_put(h->own, var, var);
}

static void see_held_value(void *state, const Var *var) {
  HeldValues *h = state;
  if (map_has(h->own, var) || map_has(h->held, var)) return;
  map_put(h->held, var, var);
  if (var_depends(h->schedule, var) == ON_BOTH)
    h->bytes += prim_size_bytes(var->type.elem);
}

static void see_held_term(KernVisitor *v, const Term *term) {
  term_each_var(term, see_held_value, v->state);
}

// What the body of the loop reads of values of its point that were made before it.
static int held_bytes(const GroupSchedule *s, const Axis *axis) {
  HeldValues h = { s, map_new(NULL), map_new(NULL), 0 };
  for (int i = 0; i < axis->param_count; i++)
    map_put(h.own, axis->params[i], axis->params[i]);
  KernVisitor own = { .binder = see_own_value, .state = &h },
              held = { .term = see_held_term, .state = &h };
  kern_visit_block(&own, axis->body);
  kern_visit_block(&held, axis->body);
  return h.bytes;
}

static void see_axis_of_group(GroupSchedule *s, const Axis *axis) {
  if (axis->bind != BIND_SEQ) return;
  note_depends(s, axis->index, ON_NONE);
  for (int i = 0; i < axis->param_count; i++)
    note_depends(s, axis->params[i], ON_BOTH);
  bool loop = axis->role == AXIS_REDUCE || axis->role == AXIS_LOOP;
  if (loop && is_innermost(axis->body)) vec_push(&s->loops, axis);
}

static void see_group_stm(KernVisitor *v, const KernStm *stm) {
  GroupSchedule *s = v->state;
  int on = ON_BOTH;
  if (stm->kind == KERN_LET) on = depends_on(s, stm->u.term);
  if (stm->kind == KERN_LOAD) on = access_depends(s, &stm->u.load);
  if (stm->kind == KERN_AXIS) see_axis_of_group(s, stm->u.axis);
  for (int i = 0; i < stm->binder_count; i++)
    note_depends(s, stm->binders[i], on);
  if (stm->kind == KERN_CHECK || stm->kind == KERN_CALL || stm->kind == KERN_WHILE)
    s->refused = true;
}

// The two innermost axes of the grid; false if there are none.
static bool find_block_axes(GroupSchedule *s) {
  const KernBlock *block = s->kern->body;
  while (block->count == 1 && block->stms[0].kind == KERN_AXIS &&
         block->stms[0].u.axis->bind == BIND_GRID) {
    s->row = s->column;
    s->column = block->stms[0].u.axis;
    block = s->column->body;
  }
  return s->row != NULL;
}

static bool find_shape(GroupSchedule *s) {
  int bytes = 1;
  vec_each (const Axis **, loop, &s->loops) {
    int needed = carried_bytes(*loop) + held_bytes(s, *loop);
    if (needed > bytes) bytes = needed;
  }
  for (int i = SHAPES - 1; i >= 0; i--)
    if (bytes <= shapes[i].bytes) s->shape = &shapes[i];
  return s->shape != NULL;
}

static bool find_loops(GroupSchedule *s) {
  note_depends(s, s->row->index, ON_ROW);
  note_depends(s, s->column->index, ON_COLUMN);
  KernVisitor v = { .stm = see_group_stm, .state = s };
  kern_visit_block(&v, s->kern->body);
  int kept = 0;
  vec_each (const Axis **, loop, &s->loops)
    if (gains_from_blocks(s, *loop)) s->loops.at[kept++] = *loop;
  s->loops.count = kept;
  return kept > 0 && !s->refused && find_shape(s);
}

// ---- the recipe

// n  =>  n0 (blocks) { n (items) { n1 (points of an item) } }: neighbouring items, neighbouring
// points.
static void split_for_group(Recipe *r, const BlockShape *shape, Name axis, Name *blocks,
                            Name *points) {
  recipe_split(r, axis, (int64_t)shape->items * shape->rows, SPLIT_CLAMP);
  *blocks = recipe_outer(r, axis);
  recipe_split(r, axis, shape->items, SPLIT_PEEL);
  *points = recipe_outer(r, axis);
}

static void stage_loop(Recipe *r, Name loop) {
  recipe_where(r, loop, STEPS);
  recipe_split(r, loop, STEPS, SPLIT_CHAIN);
  recipe_stage(r, loop);
}

static Recipe in_blocks(const GroupSchedule *s) {
  Recipe r = recipe_new(s->c, s->kern);
  Name row = s->row->name, column = s->column->name;
  Name rows, columns, row_points, column_points;
  r.step.groups = true;
  split_for_group(&r, s->shape, row, &rows, &row_points);
  split_for_group(&r, s->shape, column, &columns, &column_points);
  Name order[] = { rows, columns, row, column, row_points, column_points };
  recipe_permute(&r, order, sizeof order / sizeof *order);
  recipe_bind(&r, row, BIND_ITEM);
  recipe_bind(&r, column, BIND_ITEM);
  r.unchecked = true;
  recipe_bind(&r, row_points, BIND_REG);
  recipe_bind(&r, column_points, BIND_REG);
  vec_each (const Axis *const *, loop, &s->loops)
    stage_loop(&r, (*loop)->name);
  recipe_check(&r);
  return r;
}

static const KernPlan *plan_of_blocks(Compiler *c, const KernSeg *seg, const Kern *kern,
                                      const Term *checks) {
  GroupSchedule s = { .c = c, .kern = kern_load_late(c, kern), .depends = map_new(NULL) };
  if (!find_block_axes(&s) || !find_loops(&s)) return NULL;
  Recipe r = in_blocks(&s);
  if (r.failed) return NULL;
  const Term *points = term_mul(s.row->width, s.column->width);
  const Term *least = term_tuning(name_of(c->names, "segmap_block_points"));
  const Term *condition = term_at_most(least, points);
  if (checks) condition = term_and(condition, checks);
  if (r.condition) condition = term_and(condition, r.condition);
  return new_node(KernPlan, .name = seg->name, .kern = r.kern, .condition = condition,
                  .recipe = r.lines.at, .recipe_count = r.lines.count);
}

const KernPlan *kern_schedule_groups(Compiler *c, const KernSeg *seg) {
  if (seg->kind != SEG_MAP) return NULL;
  const Term *checks;
  const Kern *kern = kern_choose(c, kern_drop_known_checks(c, kern_inline(c, seg->kern)));
  kern = checked_by_host(c, kern, &checks);
  const KernPlan *blocks = plan_of_blocks(c, seg, kern, checks);
  return blocks ? blocks : kern_schedule_group_rows(c, seg, kern, checks);
}
