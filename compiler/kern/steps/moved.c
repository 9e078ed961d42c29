// axis a grid { axis b lane { body } }   at a border   =>   the block, moved inside
//                                                           the points that it left, one by one
//
// Why: one point in a row lies on the border of a stencil, not a vector of them.
#include "kern/steps/interior.h"

const KernBlock *interior_copy(Interior *x, const KernStm *stm) {
  KernBuilder b = kern_builder(x->c, stm->loc);
  const Term **results = new_array(const Term *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++)
    results[i] = term_var(stm->binders[i]);
  kern_add(&b, *stm);
  return kern_rename(x->c, NULL, kern_block(&b, results, stm->binder_count));
}

// The places of blocks, kept within an array, that a term mentions: each with how often.
typedef struct BlockPlaces {
  const Term *at[MOST_FIRSTS];
  int times[MOST_FIRSTS];
  const Var *var[MOST_FIRSTS];  // what they are bound to; NULL: nothing
  int count;
} BlockPlaces;

static int place_among(const BlockPlaces *p, const Term *t) {
  for (int i = 0; i < p->count; i++)
    if (term_same(p->at[i], t)) return i;
  return -1;
}

static void count_places(BlockPlaces *p, const Term *t) {
  bool place = t->kind == TERM_OP && (t->u.op.op == OP_MIN || t->u.op.op == OP_MAX);
  int known = place ? place_among(p, t) : -1;
  const Term *operands[3];
  int count = known < 0 ? term_operands(t, operands) : 0;
  for (int i = 0; i < count; i++)
    count_places(p, operands[i]);
  if (known < 0 && place && p->count < MOST_FIRSTS) {
    known = p->count++;
    p->at[known] = t;
  }
  if (known >= 0) p->times[known]++;
}

static const Term *with_places(const BlockPlaces *p, const Term *t) {
  int known = t->kind == TERM_OP ? place_among(p, t) : -1;
  if (known >= 0 && p->var[known]) return term_var(p->var[known]);
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = with_places(p, operands[i]);
  return count ? term_with(t, operands, count) : t;
}

// The place of a block, which several of the conditions mention, computed once.
static const Term *share_places(const Interior *x, KernBuilder *b, const Term *all) {
  BlockPlaces p = { .count = 0 };
  count_places(&p, all);
  for (int i = 0; i < p.count; i++) {
    if (p.times[i] < 2) continue;
    const Var *var = kern_index(x->c, "place", b->loc);
    kern_let_var(b, var, with_places(&p, p.at[i]));
    p.var[i] = var;
  }
  return with_places(&p, all);
}

const Term *interior_inside(const Interior *x, KernBuilder *b) {
  for (int i = 0; i < x->first_count; i++)
    kern_let_var(b, x->firsts[i].var, x->firsts[i].value);
  const Term *all = term_bool(true);
  for (int i = 0; i < x->index_count; i++)
    if (x->indices[i].at)
      all = term_and(all, term_at_most(term_i64(0), x->indices[i].low));
  bool implied[MOST_CONDITIONS] = { false };
  if (!x->wide) interior_implied(x, implied);
  for (int i = 0; i < x->condition_count; i++)
    if (!implied[i]) all = term_and(all, x->conditions[i]);
  bool sides = interior_places(x->places) < GUESS_PLACES;
  return kern_let(b, "inside", sides ? share_places(x, b, all) : all);
}

KernStm interior_if(const KernStm *stm, const Term *condition, int usual,
                    const KernBlock *then_block, const KernBlock *else_block) {
  return (KernStm){ .kind = KERN_IF,
                    .loc = stm->loc,
                    .binders = stm->binders,
                    .binder_count = stm->binder_count,
                    .u.cond = { condition, then_block, else_block, usual, false } };
}

// ---- the shape of blocks

// The lockstep axis that is all of the block but for lets before it; NULL: the block is that of
// the points.
static const KernStm *next_lock(const KernBlock *block) {
  for (int i = 0; i + 1 < block->count; i++)
    if (block->stms[i].kind != KERN_LET) return NULL;
  const KernStm *last = block->count ? &block->stms[block->count - 1] : NULL;
  return last && kern_is_lock(last) ? last : NULL;
}

bool moved_is_block(const KernBlock *block) { return next_lock(block) != NULL; }

bool moved_applies(const KernStm *stm) {
  for (; stm; stm = next_lock(stm->u.axis->body))
    if (stm->u.axis->role != AXIS_MAP) return false;
  return true;
}

// ---- the choice

static bool has_coordinates(const Interior *x) {
  for (int i = 0; i < x->index_count; i++)
    if (x->indices[i].at) return true;
  return false;
}

// at = max(first, from), but not beyond `to` and the last block
static void choose_places(const Interior *x, KernBuilder *b) {
  for (int i = 0; i < x->index_count; i++) {
    const Index *index = &x->indices[i];
    if (!index->at) continue;
    const Term *t = index->first;
    if (index->from) t = term_min(term_max(t, index->from), index->last);
    if (index->to) t = term_min(t, index->to);
    kern_let_var(b, index->at, t);
  }
}

typedef struct BorderLoop {
  const Term *border;
  bool found;
} BorderLoop;

static void see_border_loop(KernVisitor *v, const KernStm *stm) {
  BorderLoop *l = v->state;
  if (stm->kind != KERN_AXIS || stm->u.axis->width->kind != TERM_VAR) return;
  l->found |= term_mentions(l->border, stm->u.axis->width->u.var);
}

// Is the border as wide as a loop of the points is long (a sum over all pairs that meet there)?
static bool goes_by_loop(const Term *border, const KernStm *lock) {
  BorderLoop loop = { border, false };
  KernVisitor v = { .stm = see_border_loop, .state = &loop };
  kern_visit_stm(&v, lock);
  return loop.found;
}

// Is there a place for the block inside of all borders?  Of points between borders that may be
// wide one in 16 may be outside: those go one by one.
static const Term *fits_inside(Interior *x, const KernStm *lock) {
  const Term *t = term_bool(true);
  for (int i = 0; i < x->index_count; i++) {
    const Index *index = &x->indices[i];
    if (!index->at || (!index->from && !index->to)) continue;
    const Term *from = index->from ? index->from : term_i64(0);
    const Term *to = index->to ? term_min(index->to, index->last) : index->last;
    bool wide = goes_by_loop(from, lock) || goes_by_loop(to, lock);
    if (index->from || wide) t = term_and(t, term_at_most(from, to));
    if (!wide) continue;
    x->by_loops = true;
    const Term *outside = term_sub(index->last, term_sub(to, from));
    const Term *points = term_add(index->last, term_i64(index->size));
    t = term_and(t, term_at_most(term_mul(term_i64(16), outside), points));
  }
  return t;
}

// Are all points of the block done, because it did not move?
static const Term *all_done(const Interior *x, const Term *inside) {
  const Term *t = inside;
  for (int i = 0; i < x->index_count; i++)
    if (x->indices[i].at)
      t = term_and(t, term_op2(OP_EQ, x->indices[i].low, x->indices[i].first));
  return t;
}

// ---- the points that are left
//
// Where an axis with index a completes a coordinate, those with a < low or high <= a are left, with
// all that is inside of them:
//   axis a { x }  =>  axis a_left: t < low + w - high { x at t, or behind the block }
//                     if other coordinates moved { axis a_moved: high - low { the same of x } }

typedef struct Left {
  Interior *x;
  const Term *inside;
  bool ranged[MOST_INDICES];  // coordinates: the point is known to be in the moved block
} Left;

// Is the term the variable plus others?
static bool is_sum_with(const Term *t, const Var *var) {
  if (t->kind == TERM_VAR) return t->u.var == var;
  if (t->kind != TERM_OP || t->u.op.op != OP_ADD) return false;
  const Term *const *args = t->u.op.args;
  bool first = term_mentions(args[0], var), second = term_mentions(args[1], var);
  return first != second && is_sum_with(args[first ? 0 : 1], var);
}

// The coordinate that the axis completes, and where it is at the axis' first point; -1: none.
static int completed(const Left *l, const Axis *axis, const Term **begin) {
  Map *lets = map_new(NULL);
  const KernBlock *body = axis->body;
  for (int k = 0; k < body->count && body->stms[k].kind == KERN_LET; k++) {
    const Term *t = body->stms[k].u.term;
    map_put(lets, body->stms[k].binders[0], t);
    for (int i = 0; i < l->x->index_count; i++) {
      const Index *index = &l->x->indices[i];
      bool is_it = index->at && !l->ranged[i] && t->kind == TERM_OP &&
                   t->u.op.op == OP_ADD && term_same(t->u.op.args[0], index->first);
      const Term *whole = is_it ? term_inlined(lets, t) : NULL;
      if (!whole || !is_sum_with(whole, axis->index)) continue;
      Map *zero = map_new(NULL);
      map_put(zero, axis->index, term_i64(0));
      *begin = term_inlined(zero, whole);
      return i;
    }
  }
  return -1;
}

// Are the coordinates that are not ranged where they were?
static const Term *others_stay(const Left *l) {
  const Term *t = term_bool(true);
  for (int i = 0; i < l->x->index_count; i++) {
    const Index *index = &l->x->indices[i];
    if (index->at && !l->ranged[i])
      t = term_and(t, term_op2(OP_EQ, index->low, index->first));
  }
  return t;
}

// All points of the block, one by one.
static const KernBlock *all_points(Interior *x, const KernBlock *block) {
  KernBuilder b = kern_builder(x->c, (Loc){ 0 });
  const KernStm *lock = next_lock(block);
  for (int i = 0; i + (lock ? 1 : 0) < block->count; i++)
    kern_add(&b, block->stms[i]);
  if (lock) {
    Axis axis = *lock->u.axis;
    axis.bind = BIND_SEQ;
    axis.body = all_points(x, axis.body);
    kern_axis(&b, axis, NULL, 0);
  }
  return kern_block(&b, NULL, 0);
}

// axis t < width { let a = at; body }
static void add_moved_part(Interior *x, KernBuilder *b, const Axis *axis, const Var *t,
                           const Term *width, const Term *at, const KernBlock *body) {
  KernBuilder inner = kern_builder(x->c, b->loc);
  kern_expect(&inner, body->count);
  body = kern_turn_points(b, axis->index, axis->width, body);
  Axis part = { .name = axis->name, .index = t, .width = width, .role = AXIS_MAP };
  kern_let_var(&inner, axis->index, at);
  for (int i = 0; i < body->count; i++)
    kern_add(&inner, body->stms[i]);
  part.body = kern_rename(x->c, NULL, kern_block(&inner, NULL, 0));
  kern_axis(b, part, NULL, 0);
}

static void add_left(Left *l, KernBuilder *b, const KernStm *lock);

static const KernBlock *left_of_body(Left *l, const KernBlock *block) {
  KernBuilder b = kern_builder(l->x->c, (Loc){ 0 });
  const KernStm *lock = next_lock(block);
  for (int i = 0; i + (lock ? 1 : 0) < block->count; i++)
    kern_add(&b, block->stms[i]);
  if (lock) add_left(l, &b, lock);
  return kern_block(&b, NULL, 0);
}

static void add_ranges(Left *l, KernBuilder *b, const Axis *axis, int coordinate,
                       const Term *begin) {
  Interior *x = l->x;
  const Index *index = &x->indices[coordinate];
  const Term *width = axis->width, *zero = term_i64(0);
  const Term *from = term_min(term_max(term_sub(index->low, begin), zero), width);
  const Term *behind = term_sub(term_add(index->high, term_i64(1)), begin);
  const Term *low = kern_let(b, "low", term_select(l->inside, from, width));
  const Term *high = kern_let(
      b, "high", term_select(l->inside, term_min(term_max(behind, zero), width), width));
  const Var *t = kern_index(x->c, "left", b->loc);
  const Term *at = term_var(t);
  add_moved_part(x, b, axis, t, term_add(low, term_sub(width, high)),
                 term_select(term_less(at, low), at, term_add(term_sub(at, low), high)),
                 all_points(x, axis->body));
  l->ranged[coordinate] = true;
  const Term *stay = others_stay(l);
  if (term_is_bool(stay, true)) return;
  KernBuilder nothing = kern_builder(x->c, b->loc), moved = nothing;
  const Var *m = kern_index(x->c, "moved", b->loc);
  add_moved_part(x, &moved, axis, m, term_sub(high, low), term_add(term_var(m), low),
                 left_of_body(l, axis->body));
  kern_add(b, (KernStm){ .kind = KERN_IF,
                         .u.cond = { stay, kern_block(&nothing, NULL, 0),
                                     kern_block(&moved, NULL, 0), 97, false } });
}

// What is left of the points of a lockstep axis.
static void add_left(Left *l, KernBuilder *b, const KernStm *lock) {
  const Axis *axis = lock->u.axis;
  const Term *begin = NULL;
  int coordinate = completed(l, axis, &begin);
  if (coordinate >= 0) {
    add_ranges(l, b, axis, coordinate, begin);
    return;
  }
  Axis seq = *axis;
  seq.bind = BIND_SEQ;
  seq.body = left_of_body(l, axis->body);
  kern_axis(b, seq, NULL, 0);
}

bool moved_can_end(Interior *x, const KernStm *stm) {
  Left l = { .x = x };
  for (; stm; stm = next_lock(stm->u.axis->body)) {
    const Term *begin;
    int coordinate = completed(&l, stm->u.axis, &begin);
    if (coordinate >= 0) l.ranged[coordinate] = true;
  }
  return term_is_bool(others_stay(&l), true);
}

bool moved_add(Interior *x, KernBuilder *b, const KernStm *stm, const KernBlock *inside) {
  if (!has_coordinates(x)) return false;
  if (x->in_grid) x->fits = term_and(x->fits, fits_inside(x, stm));
  KernBuilder nothing = kern_builder(x->c, stm->loc);
  const KernBlock *none = kern_block(&nothing, NULL, 0);
  choose_places(x, b);
  Left left = { .x = x, .inside = interior_inside(x, b) };
  const Term *done = kern_let(b, "done", all_done(x, left.inside));
  kern_add(b, interior_if(stm, left.inside, 98, inside, none));
  KernBuilder rest = kern_builder(x->c, stm->loc);
  add_left(&left, &rest, &interior_copy(x, stm)->stms[0]);
  kern_add(b, interior_if(stm, done, 99, none, kern_block(&rest, NULL, 0)));
  return true;
}
