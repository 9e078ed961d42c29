// What schedules ask about the loops of a kernel: which are innermost, how deep they nest, what is
// inside of what, what they read for several points.
#include "kern/schedules/schedule.h"

// Matches of sum types with dozens of constructors that hold arrays have hundreds.
enum { MOST_LOOPS = 100 };

static bool stm_has_axis(const KernStm *stm) {
  if (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE) return true;
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks)
    if (schedule_has_loop(*block)) return true;
  return false;
}

bool schedule_has_loop(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (stm_has_axis(&block->stms[i])) return true;
  return false;
}

static void see_innermost(KernVisitor *v, const KernStm *stm) {
  AxisStms *out = v->state;
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ &&
      !schedule_has_loop(stm->u.axis->body))
    vec_push(out, stm);
}

AxisStms schedule_innermost(const Kern *kern) {
  AxisStms out = { 0 };
  KernVisitor v = { .stm = see_innermost, .state = &out };
  kern_visit_block(&v, kern->body);
  return out;
}

bool schedule_are_many(const AxisStms *axes) { return axes->count > MOST_LOOPS; }

const Axis *schedule_last_grid(const Kern *kern) {
  const Axis *last = NULL;
  const KernBlock *b = kern->body;
  while (b->count == 1 && b->stms[0].kind == KERN_AXIS &&
         b->stms[0].u.axis->bind == BIND_GRID) {
    last = b->stms[0].u.axis;
    b = last->body;
  }
  return last;
}

const Axis *schedule_axis_before(const Kern *kern, const Axis *last) {
  const Axis *before = NULL;
  const KernBlock *b = kern->body;
  while (b->count == 1 && b->stms[0].kind == KERN_AXIS && b->stms[0].u.axis != last) {
    before = b->stms[0].u.axis;
    b = before->body;
  }
  return before;
}

static int height_of(const KernBlock *block);

int schedule_depth(const KernStm *stm) {
  int height = 0;
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks)
    if (height_of(*block) > height) height = height_of(*block);
  return height + (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE);
}

static int height_of(const KernBlock *block) {
  int height = 0;
  for (int i = 0; i < block->count; i++)
    if (schedule_depth(&block->stms[i]) > height)
      height = schedule_depth(&block->stms[i]);
  return height;
}

bool schedule_has_role(const KernBlock *block, AxisRole role) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_AXIS && stm->u.axis->role == role) return true;
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      if (schedule_has_role(*inner, role)) return true;
  }
  return false;
}

bool schedule_contains(const KernBlock *block, const KernStm *stm) {
  for (int i = 0; i < block->count; i++) {
    if (&block->stms[i] == stm) return true;
    KernBlockVec blocks = kern_blocks(&block->stms[i]);
    vec_each (const KernBlock **, inner, &blocks)
      if (schedule_contains(*inner, stm)) return true;
  }
  return false;
}

bool schedule_is_within(const KernStm *stm, const AxisStms *maps) {
  vec_each (const KernStm *const *, map, maps)
    if (schedule_contains((*map)->u.axis->body, stm)) return true;
  return false;
}

// ---- what points read in common

static void see_moving(void *state, const Var *var) {
  SharedReads *r = state;
  if (map_has(r->moved, var)) r->moves = true;
}

static void see_moving_let(KernVisitor *v, const KernStm *stm) {
  SharedReads *r = v->state;
  if (stm->kind != KERN_LET) return;
  r->moves = false;
  term_each_var(stm->u.term, see_moving, r);
  if (r->moves) map_put(r->moved, stm->binders[0], stm);
}

static void see_shared(KernVisitor *v, Access access, bool stores) {
  SharedReads *r = v->state;
  r->moves = stores;
  for (int i = 0; i < access.tensor->rank; i++)
    term_each_var(access.index[i], see_moving, r);
  if (!r->moves) r->found = true;
  if (!stores && r->moves) r->others = true;
}

SharedReads schedule_shared(const Kern *kern, const KernBlock *block,
                            const Axis *points) {
  SharedReads r = { .moved = map_new(NULL) };
  map_put(r.moved, points->index, points);
  KernVisitor lets = { .stm = see_moving_let, .state = &r },
              loads = { .access = see_shared, .state = &r };
  kern_visit_block(&lets, kern->body);
  kern_visit_block(&loads, block);
  return r;
}

// ---- rows that are near

enum { MOST_LOADS = 32 };

// What an index moves with.
typedef struct Movers {
  Map *with;  // variables
  bool found;
} Movers;

typedef struct RowLoads {
  Movers rows, points;
  const Access *at[MOST_LOADS];  // those that are not the same at all points of a row
  int count;
} RowLoads;

static void see_mover(void *state, const Var *var) {
  Movers *m = state;
  if (map_has(m->with, var)) m->found = true;
}

static bool term_moves(Movers *m, const Term *t) {
  m->found = false;
  term_each_var(t, see_mover, m);
  return m->found;
}

static bool access_moves(Movers *m, const Access *a) {
  for (int i = 0; i < a->tensor->rank; i++)
    if (term_moves(m, a->index[i])) return true;
  return false;
}

static void note_moving(Movers *m, const KernStm *stm) {
  bool moves = stm->kind == KERN_LET    ? term_moves(m, stm->u.term)
               : stm->kind == KERN_LOAD ? access_moves(m, &stm->u.load)
                                        : false;
  if (moves) map_put(m->with, stm->binders[0], stm);
}

static void see_row_stm(KernVisitor *v, const KernStm *stm) {
  RowLoads *r = v->state;
  note_moving(&r->rows, stm);
  note_moving(&r->points, stm);
  if (stm->kind != KERN_LOAD || !access_moves(&r->points, &stm->u.load)) return;
  if (r->count < MOST_LOADS) r->at[r->count] = &stm->u.load;
  r->count++;
}

// Are these loads of rows that lie near each other, as a stencil's are?
static bool are_of_near_rows(RowLoads *r, const Access *a, const Access *b) {
  if (a->tensor != b->tensor) return false;
  for (int i = 0; i < a->tensor->rank; i++)
    if (!term_same(a->index[i], b->index[i]) && term_moves(&r->rows, a->index[i]))
      return true;
  return false;
}

// Is it the same in all rows, or side by side in neighbouring ones?
static bool is_shared_by_rows(RowLoads *r, const Access *a) {
  return !access_moves(&r->rows, a) ||
         term_moves(&r->rows, a->index[a->tensor->rank - 1]);
}

bool schedule_rows_near(const Kern *kern, const Axis *rows, const Axis *points) {
  RowLoads r = { .rows.with = map_new(NULL), .points.with = map_new(NULL) };
  map_put(r.rows.with, rows->index, rows);
  map_put(r.points.with, points->index, points);
  KernVisitor v = { .stm = see_row_stm, .state = &r };
  kern_visit_block(&v, kern->body);
  if (r.count == 0 || r.count > MOST_LOADS) return true;
  for (int i = 0; i < r.count; i++) {
    if (is_shared_by_rows(&r, r.at[i])) return true;
    for (int k = 0; k < r.count; k++)
      if (are_of_near_rows(&r, r.at[i], r.at[k])) return true;
  }
  return false;
}
