// axis a grid { axis b lane { body } }   at a border   =>   the block, moved inside
//                                                           the points that it left, one by one
//
// Why: one point in a row lies on the border of a stencil, not a vector of them.
#include "kern/interior.h"

const KernBlock *interior_copy(Interior *x, const KernStm *stm) {
  KernBuilder b = kern_builder(x->c, stm->loc);
  const Term **results = new_array(const Term *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++)
    results[i] = term_var(stm->binders[i]);
  kern_add(&b, *stm);
  return kern_rename(x->c, NULL, kern_block(&b, results, stm->binder_count));
}

const Term *interior_condition(const Interior *x) {
  const Term *all = term_bool(true);
  for (int i = 0; i < x->index_count; i++)
    if (x->indices[i].at)
      all = term_and(all, term_at_most(term_i64(0), x->indices[i].low));
  for (int i = 0; i < x->condition_count; i++)
    all = term_and(all, x->conditions[i]);
  return all;
}

KernStm interior_if(const KernStm *stm, const Term *condition, int usual,
                    const KernBlock *then_block, const KernBlock *else_block) {
  return (KernStm){ .kind = KERN_IF,
                    .loc = stm->loc,
                    .binders = stm->binders,
                    .binder_count = stm->binder_count,
                    .u.cond = { condition, then_block, else_block, usual } };
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

// Are all points of the block done, because it did not move?
static const Term *all_done(const Interior *x, const Term *inside) {
  const Term *t = inside;
  for (int i = 0; i < x->index_count; i++)
    if (x->indices[i].at)
      t = term_and(t, term_op2(OP_EQ, x->indices[i].low, x->indices[i].first));
  return t;
}

// ---- the points that are left

typedef struct Left {
  Interior *x;
  const Term *inside;
  const Term *points[MOST_INDICES];  // of coordinates: the variables of this copy
} Left;

// The lets of coordinates; those of the same form come in the same order as in the moved copy.
static void see_coordinate(Left *l, const KernStm *let) {
  const Term *t = let->u.term;
  if (t->kind != TERM_OP || t->u.op.op != OP_ADD) return;
  for (int i = 0; i < l->x->index_count; i++) {
    const Index *index = &l->x->indices[i];
    if (!index->at || l->points[i] || !term_same(t->u.op.args[0], index->first)) continue;
    l->points[i] = term_var(let->binders[0]);
    return;
  }
}

// Is the point in the moved block?  Of coordinates that are still open: are all?
static const Term *is_done(const Left *l) {
  const Term *t = l->inside;
  for (int i = 0; i < l->x->index_count; i++) {
    const Index *index = &l->x->indices[i];
    if (!index->at) continue;
    if (!l->points[i]) {
      t = term_and(t, term_op2(OP_EQ, index->low, index->first));
      continue;
    }
    t = term_and(t, term_at_most(index->low, l->points[i]));
    t = term_and(t, term_at_most(l->points[i], index->high));
  }
  return t;
}

// if it is done {} else { block }
static void add_unless_done(const Left *l, KernBuilder *b, const KernBlock *block) {
  KernBuilder nothing = kern_builder(l->x->c, (Loc){ 0 });
  kern_add(
      b, (KernStm){ .kind = KERN_IF,
                    .u.cond = { is_done(l), kern_block(&nothing, NULL, 0), block, 97 } });
}

static int add_lets(Left *l, KernBuilder *b, const KernBlock *block) {
  int i = 0;
  for (; i < block->count && block->stms[i].kind == KERN_LET; i++) {
    see_coordinate(l, &block->stms[i]);
    kern_add(b, block->stms[i]);
  }
  return i;
}

static const KernBlock *left_points(Left *l, const KernBlock *block) {
  KernBuilder b = kern_builder(l->x->c, (Loc){ 0 }), rest = b;
  const KernStm *lock = next_lock(block);
  int lets = add_lets(l, &b, block);
  if (lock) {
    Left outer = *l;
    Axis axis = *lock->u.axis;
    axis.bind = BIND_SEQ;
    axis.body = left_points(l, axis.body);
    kern_axis(&rest, axis, NULL, 0);
    add_unless_done(&outer, &b, kern_block(&rest, NULL, 0));
    return kern_block(&b, NULL, 0);
  }
  for (int i = lets; i < block->count; i++)
    kern_add(&rest, block->stms[i]);
  add_unless_done(l, &b, kern_block(&rest, NULL, 0));
  return kern_block(&b, NULL, 0);
}

bool moved_add(Interior *x, KernBuilder *b, const KernStm *stm, const KernBlock *inside) {
  if (!has_coordinates(x)) return false;
  KernBuilder nothing = kern_builder(x->c, stm->loc);
  const KernBlock *none = kern_block(&nothing, NULL, 0);
  choose_places(x, b);
  Left left = { .x = x, .inside = kern_let(b, "inside", interior_condition(x)) };
  const Term *done = kern_let(b, "done", all_done(x, left.inside));
  kern_add(b, interior_if(stm, left.inside, 98, inside, none));
  kern_add(b,
           interior_if(stm, done, 97, none, left_points(&left, interior_copy(x, stm))));
  return true;
}
