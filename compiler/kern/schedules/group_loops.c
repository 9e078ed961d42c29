#include "kern/schedules/group_loops.h"

// ---- what values depend on

static int var_depends(const GroupLoops *s, const Var *var) {
  const int *known = map_get(s->depends, var);
  return known ? *known : ON_NONE;
}

int group_term_depends(const GroupLoops *s, const Term *t) {
  if (t->kind == TERM_VAR) return var_depends(s, t->u.var);
  const Term *operands[3];
  int on = ON_NONE, count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    on |= group_term_depends(s, operands[i]);
  return on;
}

static void note_depends(GroupLoops *s, const Var *var, int on) {
  map_put(s->depends, var, mem_copy(&on, sizeof on));
}

int group_access_depends(const GroupLoops *s, const Access *access) {
  int on = ON_NONE;
  for (int i = 0; i < access->tensor->rank; i++)
    on |= group_term_depends(s, access->index[i]);
  return on;
}

// ---- loops

static void see_inner_loop(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE) *(bool *)v->state = true;
}

static bool is_innermost(const KernBlock *block) {
  bool loops = false;
  KernVisitor v = { .stm = see_inner_loop, .state = &loops };
  kern_visit_block(&v, block);
  return !loops;
}

static void see_axis_of_group(GroupLoops *s, const Axis *axis) {
  if (axis->bind != BIND_SEQ) return;
  bool innermost = is_innermost(axis->body);
  if (axis != s->column) note_depends(s, axis->index, innermost ? ON_LOOP : ON_OUTER);
  for (int i = 0; i < axis->param_count; i++)
    note_depends(s, axis->params[i], ON_BOTH);
  bool loop = axis->role == AXIS_REDUCE || axis->role == AXIS_LOOP;
  if (loop && innermost) vec_push(&s->loops, axis);
}

static void see_group_stm(KernVisitor *v, const KernStm *stm) {
  GroupLoops *s = v->state;
  int on = ON_BOTH;
  if (stm->kind == KERN_LET) on = group_term_depends(s, stm->u.term);
  if (stm->kind == KERN_LOAD) on = group_access_depends(s, &stm->u.load);
  if (stm->kind == KERN_AXIS) see_axis_of_group(s, stm->u.axis);
  for (int i = 0; i < stm->binder_count; i++)
    note_depends(s, stm->binders[i], on);
  if (stm->kind == KERN_CALL || stm->kind == KERN_WHILE) s->refused = true;
}

const Term *group_points_of_grid(const Kern *kern) {
  const Term *points = term_i64(1);
  for (const KernBlock *block = kern->body;
       block->count == 1 && block->stms[0].kind == KERN_AXIS &&
       block->stms[0].u.axis->bind == BIND_GRID;
       block = block->stms[0].u.axis->body)
    points = term_mul(points, block->stms[0].u.axis->width);
  return points;
}

bool group_find_points(GroupLoops *s) {
  const KernBlock *block = s->kern->body;
  while (block->count == 1 && block->stms[0].kind == KERN_AXIS &&
         block->stms[0].u.axis->bind == BIND_GRID) {
    s->column = block->stms[0].u.axis;
    s->grid++;
    block = s->column->body;
  }
  return s->grid > 0;
}

const Axis *group_axis_around(const Kern *kern, const Axis *inner) {
  const Axis *axis = kern->body->stms[0].u.axis;
  while (axis->body->stms[0].u.axis != inner)
    axis = axis->body->stms[0].u.axis;
  return axis;
}

void group_find_loops(GroupLoops *s) {
  s->depends = map_new(NULL);
  if (s->layer) note_depends(s, s->layer->index, ON_LAYER);
  if (s->row) note_depends(s, s->row->index, ON_ROW);
  note_depends(s, s->column->index, ON_COLUMN);
  KernVisitor v = { .stm = see_group_stm, .state = s };
  kern_visit_block(&v, s->kern->body);
}

typedef struct LoadsOfLoop {
  const GroupLoops *loops;
  int seen;   // by all together
  bool both;  // one differs along both dimensions
} LoadsOfLoop;

// An array that a point has for itself, around the columns, is as another one's row.
static int own_depends(const GroupLoops *s, const Tensor *t) {
  return tensor_root(t)->space == TENSOR_OWN && s->rows_own ? ON_ROW : ON_NONE;
}

static void see_load_of_loop(KernVisitor *v, Access access, bool stores) {
  LoadsOfLoop *loads = v->state;
  int on = group_access_depends(loads->loops, &access) & ON_BOTH;
  on |= own_depends(loads->loops, access.tensor);
  loads->both = loads->both || on == ON_BOTH;
  loads->seen |= on;
  (void)stores;
}

bool group_gains_from_blocks(const GroupLoops *s, const Axis *axis) {
  LoadsOfLoop loads = { .loops = s };
  KernVisitor v = { .access = see_load_of_loop, .state = &loads };
  kern_visit_block(&v, axis->body);
  return loads.seen == ON_BOTH && !loads.both;
}

// ---- what they keep

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
  const GroupLoops *loops;
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
  int points = h->loops->row ? ON_BOTH : ON_COLUMN;
  if ((var_depends(h->loops, var) & points) == points)
    h->bytes += prim_size_bytes(var->type.elem);
}

static void see_held_term(KernVisitor *v, const Term *term) {
  term_each_var(term, see_held_value, v->state);
}

// What its body reads of values of its point that were made before it.
static int held_bytes(const GroupLoops *s, const Axis *axis) {
  HeldValues h = { s, map_new(NULL), map_new(NULL), 0 };
  for (int i = 0; i < axis->param_count; i++)
    map_put(h.own, axis->params[i], axis->params[i]);
  KernVisitor own = { .binder = see_own_value, .state = &h },
              held = { .term = see_held_term, .state = &h };
  kern_visit_block(&own, axis->body);
  kern_visit_block(&held, axis->body);
  return h.bytes;
}

int group_bytes_of_points(const GroupLoops *s) {
  int most = 1;
  vec_each (const Axis *const *, loop, &s->loops) {
    int bytes = carried_bytes(*loop) + held_bytes(s, *loop);
    if (bytes > most) most = bytes;
  }
  return most;
}
