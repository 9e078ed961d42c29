// interior:   axis a lane { body }
//        =>   if the block lies inside { axis a lane { body' } } else { axis a lane { body } }
//
// body' has no conditions, clamps, remainders and checks on indices that have one outcome at all
// points of the block: max(0, i - 1) becomes i - 1, (i + 1) % n becomes i + 1, a check goes.
// Why: what remains are affine indices, so vectors are loaded whole, and no branch.  Stencils,
// wrapped and padded borders, convolutions live on it.
//
// Where a border goes through the middle, the blocks that are left have a form of their own:
// else if the block lies on the other side { axis a lane { body'' } } else { .. }
//
// Short loops get such a form, too, but only checks go there.
//
// Files: forms and assumptions in interior_assume.c, terms in interior_terms.c, bits of indices in
// interior_bits.c, blocks that move in moved.c, statements here.
//
// Where points may run twice, a block at the border moves inside, and the few points that it
// leaves follow one by one (moved.c).
//
// Indices are brought to the form base + sum of (factor * index of an axis in the block); its least
// and its greatest value stand at corners of the block, and the condition tests these.  Sums that
// overflow between corners show as a least value above the greatest one: so that is tested too.
#include "kern/steps/interior.h"
#include "kern/tidy/tidy.h"
#include "kern/wide_lanes.h"

enum {
  MOST_SCALE = 1 << 30,
  MOST_LOOP_STATEMENTS = 40,
  // Statements of a branch that becomes a choice.  All lanes seldom agree on what depends on data,
  // and loads under masks go one by one.
  FEW_CHOSEN = 4,
  MOST_CHOSEN = 32,
  MOST_BASE = 128,  // operators and operands of what a form begins with
  MOST_FORMS = 3,   // of a block, but for the one that holds everywhere
  EVERYWHERE = (1 << GUESS_PLACES) - 1,
};

// ---- indices

static void add_index(Interior *x, const Var *var, Index index) {
  Linear form = { .base = term_i64(0) };
  form.by[x->index_count] = 1;
  x->indices[x->index_count++] = index;
  map_put(x->forms, var, mem_copy(&form, sizeof form));
}

// An axis whose width is known outside.
static void add_axis_index(Interior *x, const Axis *axis) {
  Linear width;
  if (x->index_count == MOST_INDICES || !interior_form(x, axis->width, &width) ||
      !interior_is_closed(x, &width))
    return;
  add_index(x, axis->index,
            (Index){ .low = term_i64(0),
                     .high = term_sub(width.base, term_i64(1)),
                     .over_lanes = axis->bind == BIND_LANE });
}

// let i = min(block * size, last) + point   of a split into blocks that overlap
static bool is_coordinate(const Interior *x, const Term *t, Linear *form) {
  if (!x->may_move || x->index_count == MOST_INDICES || t->kind != TERM_OP ||
      t->u.op.op != OP_ADD || t->type != PRIM_I64)
    return false;
  const Term *first = t->u.op.args[0];
  if (!x->in_grid && !term_mentions(first, x->around->index)) return false;
  return first->kind == TERM_OP && first->u.op.op == OP_MIN &&
         interior_form(x, t, form) && term_same(form->base, first) &&
         !interior_is_closed(x, form);
}

static void add_coordinate(Interior *x, KernBuilder *b, const KernStm *stm,
                           const Linear *form) {
  const Term *first = stm->u.term->u.op.args[0], *point = stm->u.term->u.op.args[1];
  const Var *at = kern_index(x->c, stm->binders[0]->name, stm->loc);
  int64_t size = 1;
  for (int i = 0; i < x->index_count; i++)
    size += form->by[i] * x->indices[i].high->u.constant.u.i;
  guess_let(&x->guess, at, first);
  kern_let_var(b, stm->binders[0], term_add(term_var(at), point));
  add_index(x, stm->binders[0],
            (Index){ .low = term_var(at),
                     .high = term_add(term_var(at), term_i64(size - 1)),
                     .over_lanes = interior_form_differs(x, form),
                     .at = at,
                     .first = first,
                     .last = first->u.op.args[1],
                     .size = size });
}

// ---- statements of the interior

static const Term *map_inner_term(KernMapper *m, const Term *t) {
  return interior_term(m->state, t);
}

static void note_binder(KernVisitor *v, const Var *var) {
  Interior *x = v->state;
  map_put(x->bound, var, var);
}

// Does it follow from indices, as i < k?  Then most blocks have one outcome, and go one way.
static bool is_of_indices(const Interior *x, const Term *t) {
  Linear form;
  if (t->type != PRIM_BOOL) return interior_form(x, t, &form);
  if (t->kind == TERM_VAR)
    return map_has(x->of_indices, t->u.var) || !map_has(x->bound, t->u.var);
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    if (!is_of_indices(x, operands[i])) return false;
  return true;
}

// The operands of i * m, for an m that is the same in all of the block, and no constant.
static bool is_scaled(const Interior *x, const Term *t, Linear *index, Linear *by) {
  if (t->kind != TERM_OP || t->u.op.op != OP_MUL || t->type != PRIM_I64) return false;
  const Term *const *args = t->u.op.args;
  if (!interior_form(x, args[0], index) || !interior_form(x, args[1], by)) return false;
  if (interior_is_closed(x, index)) {
    const Linear closed = *index;
    *index = *by;
    *by = closed;
  }
  return !interior_is_closed(x, index) && interior_is_closed(x, by);
}

// let k = i * m: an index of its own, where the product cannot overflow.  Checks on places in rows
// of one dimension need it.
static void note_scaled(Interior *x, const Var *var, const Term *t) {
  Linear index, by;
  Assumption w = { .count = 0 };
  if (!x->scales || x->index_count == MOST_INDICES || !is_scaled(x, t, &index, &by))
    return;
  const Term *low = interior_extreme(x, &index, -1),
             *high = interior_extreme(x, &index, 1);
  interior_want_range(x, &w, &index);
  interior_want(&w, term_at_most(term_i64(0), by.base));
  interior_want(&w, term_at_most(by.base, term_i64(MOST_SCALE)));
  interior_want(&w, term_at_most(term_i64(-MOST_SCALE), low));
  interior_want(&w, term_at_most(high, term_i64(MOST_SCALE)));
  x->checking = true;
  bool holds = interior_assume(x, &w);
  x->checking = false;
  if (holds)
    add_index(x, var,
              (Index){ .low = term_mul(low, by.base),
                       .high = term_mul(high, by.base),
                       .over_lanes = interior_form_differs(x, &index) });
}

static void add_inner_let(Interior *x, KernBuilder *b, const KernStm *stm) {
  Linear form;
  if (is_coordinate(x, stm->u.term, &form)) {
    add_coordinate(x, b, stm, &form);
    return;
  }
  const Term *t = interior_term(x, stm->u.term);
  if (interior_form(x, t, &form) && !term_is_long(form.base, MOST_BASE)) {
    map_put(x->forms, stm->binders[0], mem_copy(&form, sizeof form));
    if (interior_is_closed(x, &form) && form.base->kind == TERM_CONST) t = form.base;
  } else
    note_scaled(x, stm->binders[0], t);
  if (t->kind == TERM_CONST && (t->type == PRIM_BOOL || t->type == PRIM_I64))
    map_put(x->values, stm->binders[0], t);
  if (t->type == PRIM_BOOL && is_of_indices(x, t))
    map_put(x->of_indices, stm->binders[0], t);
  kern_let_var(b, stm->binders[0], t);
}

static const KernBlock *inner_block(KernMapper *m, const KernBlock *block);

// 0 <= index < size at all points; then it makes no difference who loads.
static bool assume_index(Interior *x, const Term *index, const Term *size) {
  Linear at, width;
  Assumption w = { .count = 0 };
  if (!interior_form(x, index, &at) || !interior_form(x, size, &width)) return false;
  Linear zero = { .base = term_i64(0) };
  interior_want_order(x, &w, &zero, &at, OP_LE);
  interior_want_order(x, &w, &at, &width, OP_LT);
  interior_want_range(x, &w, &at);
  return interior_assume(x, &w);
}

static bool assume_inside(void *state, const KernStm *stm) {
  if (stm->kind != KERN_LOAD) return false;
  const Access *access = &stm->u.load;
  for (int i = 0; i < access->tensor->rank; i++)
    if (!assume_index(state, access->index[i], access->tensor->dims[i])) return false;
  return true;
}

// One whose branches are short becomes choices.
static void add_unknown_if(Interior *x, KernBuilder *b, const KernStm *stm) {
  bool around = x->in_branch;
  x->in_branch = true;
  KernStm inner = kern_map_stm(&x->inner, stm);
  x->in_branch = around;
  const Interior before = *x;
  int most = is_of_indices(x, inner.u.cond.condition) ? FEW_CHOSEN : MOST_CHOSEN;
  bool chosen = !x->checks_only && kern_add_choice(b, &inner, most, assume_inside, x);
  if (chosen) return;
  *x = before;  // of its loads some may have been taken to be inside
  kern_add(b, inner);
}

// A branch whose condition is known is its block.
static void add_inner_if(Interior *x, KernBuilder *b, const KernStm *stm) {
  const Term *condition = interior_term(x, stm->u.cond.condition);
  if (condition->kind != TERM_CONST) {
    add_unknown_if(x, b, stm);
    return;
  }
  bool holds = condition->u.constant.u.i != 0;
  const KernBlock *block =
      inner_block(&x->inner, holds ? stm->u.cond.then_block : stm->u.cond.else_block);
  for (int i = 0; i < block->count; i++)
    kern_add(b, block->stms[i]);
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(b, stm->binders[i], block->results[i]);
}

static void add_inner_check(Interior *x, KernBuilder *b, const KernStm *stm) {
  KernStm check = *stm;
  check.u.check.condition = interior_checked(x, stm->u.check.condition);
  if (!term_is_bool(check.u.check.condition, true)) kern_add(b, check);
}

static void add_mapped(Interior *x, KernBuilder *b, const KernStm *stm) {
  bool around = x->in_branch;
  x->in_branch |= stm->kind == KERN_WHILE;
  kern_add(b, kern_map_stm(&x->inner, stm));
  x->in_branch = around;
}

static void add_inner_stm(Interior *x, KernBuilder *b, const KernStm *stm) {
  b->loc = stm->loc;
  if (stm->kind == KERN_AXIS) add_axis_index(x, stm->u.axis);
  if (stm->kind == KERN_LET)
    add_inner_let(x, b, stm);
  else if (stm->kind == KERN_IF)
    add_inner_if(x, b, stm);
  else if (stm->kind == KERN_CHECK)
    add_inner_check(x, b, stm);
  else
    add_mapped(x, b, stm);
}

static const KernBlock *inner_block(KernMapper *m, const KernBlock *block) {
  Interior *x = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++)
    add_inner_stm(x, &b, &block->stms[i]);
  return kern_block(&b, kern_map_results(m, block), block->result_count);
}

// ---- the block

static void see_check(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_CHECK) ++*(int *)v->state;
}

static int checks_in(const KernBlock *block) {
  int count = 0;
  KernVisitor v = { .stm = see_check, .state = &count };
  kern_visit_block(&v, block);
  return count;
}

static void begin_block(Interior *x, const KernBlock *copy, bool may_move) {
  x->forms = map_new(NULL);
  x->bound = map_new(NULL);
  x->values = map_new(NULL);
  x->of_indices = map_new(NULL);
  x->index_count = x->condition_count = x->first_count = 0;
  x->over_lanes = false;
  x->places = x->among;
  x->may_move = may_move;
  x->scales = checks_in(copy) > 0;
  KernVisitor v = { .binder = note_binder, .state = x };
  kern_visit_block(&v, copy);
}

static bool has_wide(const KernStm *stm) {
  if (stm->kind == KERN_AXIS && kern_is_wide(stm->u.axis)) return true;
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks)
    for (int i = 0; i < (*block)->count; i++)
      if (has_wide(&(*block)->stms[i])) return true;
  return false;
}

// The block with what is assumed of it.
static const KernBlock *inside_block(Interior *x, const KernStm *stm, bool may_move) {
  const KernBlock *copy = interior_copy(x, stm);
  x->checks_only = !kern_is_lock(stm);
  x->wide = x->checks_only || has_wide(stm);
  begin_block(x, copy, may_move);
  guess_dims(&x->guess, stm);
  return inner_block(&x->inner, copy);
}

static int usual_of(const Interior *x) {
  return 80 * interior_places(x->places) / interior_places(x->among);
}

// Its forms are not looked at again: another interior would find the same condition in the one for
// what is left.
static KernStm sides_if(const KernStm *stm, const Term *condition, int usual,
                        const KernBlock *inside, const KernBlock *rest) {
  KernStm out = interior_if(stm, condition, usual, inside, rest);
  out.u.cond.sides = true;
  return out;
}

// What blocks do that are not all inside: where a border goes through the middle, those on its
// other side are many, too, and have a form of their own.
static const KernBlock *other_sides(Interior *x, const KernStm *stm, int forms) {
  const KernBlock *outside = interior_copy(x, stm);
  x->among &= ~x->places;
  if (!x->among || forms == MOST_FORMS) return outside;
  const KernStm *copy = &outside->stms[0];
  const KernBlock *inside = inside_block(x, copy, false);
  if (!x->over_lanes || !x->places) return outside;
  KernBuilder b = kern_builder(x->c, stm->loc);
  const Term *condition = interior_inside(x, &b);
  int usual = usual_of(x);
  const KernBlock *rest = other_sides(x, copy, forms + 1);
  kern_add(&b, sides_if(copy, condition, usual, inside, rest));
  return kern_block(&b, outside->results, outside->result_count);
}

static void add_with_interior(Interior *x, KernBuilder *b, const KernStm *stm) {
  x->among = EVERYWHERE;
  bool may_move = x->twice && (x->in_grid || x->around) && moved_applies(stm);
  x->could_move |= may_move;
  const KernBlock *inside = inside_block(x, stm, may_move);
  if (!moved_can_end(x, stm)) inside = inside_block(x, stm, false);
  if (!x->over_lanes) {
    kern_add(b, *stm);
    return;
  }
  x->found = true;
  if (moved_add(x, b, stm, inside)) return;
  const Term *condition = interior_inside(x, b);
  int usual = usual_of(x);
  const KernBlock *outside = other_sides(x, stm, 1);
  kern_add(b, sides_if(stm, condition, usual, inside, outside));
}

// The axis as a loop over blocks of points that may run twice.
static const Axis *loop_of_blocks(const Interior *x, const Axis *axis) {
  bool blocks = axis && axis->role == AXIS_MAP && axis->bind == BIND_SEQ &&
                moved_is_block(axis->body);
  return blocks && x->twice && kern_may_run_twice(x->kern, axis) ? axis : NULL;
}

static void see_statement(KernVisitor *v, const KernStm *stm) {
  int *room = v->state;
  bool nested =
      stm->kind == KERN_AXIS || stm->kind == KERN_WHILE || stm->kind == KERN_CALL;
  *room -= nested ? MOST_LOOP_STATEMENTS : 1;
}

// A short loop with checks, which may be known to hold before it.
static bool is_checked_loop(const KernStm *stm) {
  const Axis *axis = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
  int room = MOST_LOOP_STATEMENTS;
  KernVisitor v = { .stm = see_statement, .state = &room };
  if (!axis || axis->bind != BIND_SEQ || axis->rest || axis->role == AXIS_HIST)
    return false;
  kern_visit_block(&v, axis->body);
  return room > 0 && checks_in(axis->body) > 0;
}

// if the checks hold at all points { the loop without checks } else { the loop }
static void add_without_checks(Interior *x, KernBuilder *b, const KernStm *stm) {
  x->among = EVERYWHERE;
  const KernBlock *inside = inside_block(x, stm, false);
  if (checks_in(inside) >= checks_in(stm->u.axis->body)) {
    kern_add(b, *stm);
    return;
  }
  x->found = true;
  const Term *condition = interior_inside(x, b);
  kern_add(b, interior_if(stm, condition, 98, inside, interior_copy(x, stm)));
}

static bool may_know_some(const Term *t) {
  if (interior_may_know(t)) return true;
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    if (may_know_some(operands[i])) return true;
  return false;
}

static void see_term(KernVisitor *v, const Term *t) {
  bool *found = v->state;
  *found = *found || may_know_some(t);
}

static void see_branch(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_IF) *(bool *)v->state = true;
}

// Points in lockstep with a condition, choice or remainder of which something may be known.
static bool may_have_interior(const KernStm *stm) {
  bool found = false;
  KernVisitor v = { .stm = see_branch, .term = see_term, .state = &found };
  if (kern_is_lock(stm)) kern_visit_stm(&v, stm);
  return found;
}

static const KernBlock *outer_block(KernMapper *m, const KernBlock *block) {
  Interior *x = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  bool in_grid = x->in_grid;
  const Axis *around = x->around;
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    const Axis *axis = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
    b.loc = stm->loc;
    if (kern_is_lock(stm)) {
      if (may_have_interior(stm))
        add_with_interior(x, &b, stm);
      else
        kern_add(&b, *stm);
      continue;
    }
    if (is_checked_loop(stm)) {
      add_without_checks(x, &b, stm);
      continue;
    }
    if (stm->kind == KERN_IF && stm->u.cond.sides) {
      kern_add(&b, *stm);
      continue;
    }
    if (stm->kind == KERN_LET && stm->u.term->type == PRIM_I64)
      guess_let(&x->guess, stm->binders[0], stm->u.term);
    if (axis) guess_axis(&x->guess, axis, x->depth);
    x->in_grid = in_grid && axis && axis->bind == BIND_GRID;
    x->around = loop_of_blocks(x, axis);
    x->depth++;
    kern_add(&b, kern_map_stm(m, stm));
    x->depth--;
    x->in_grid = in_grid;
    x->around = around;
  }
  return kern_block(&b, block->results, block->result_count);
}

static bool has_block(const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (may_have_interior(stm) || is_checked_loop(stm)) return true;
    if (kern_is_lock(stm) || (stm->kind == KERN_IF && stm->u.cond.sides)) continue;
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      if (has_block(*inner)) return true;
  }
  return false;
}

static void see_aligned(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS && stm->u.axis->bulk) *(bool *)v->state = true;
}

const Kern *step_interior(Step *s, const Kern *kern, bool twice) {
  s->could_move = s->by_loops = false;
  bool aligned = false;
  KernVisitor v = { .stm = see_aligned, .state = &aligned };
  kern_visit_block(&v, kern->body);
  if (twice && aligned) return step_refuse(s, "`align` goes by where blocks begin");
  if (twice && kern_updates_in_place(kern->body))
    return step_refuse(s, "it overwrites what it reads: no point may run twice");
  Interior x = { .c = s->c,
                 .kern = kern,
                 .guess = guess_new(kern),
                 .twice = twice,
                 .in_grid = true,
                 .fits = term_bool(true) };
  x.outer = (KernMapper){ .c = s->c, .block = outer_block, .state = &x };
  x.inner = (KernMapper){
    .c = s->c, .term = map_inner_term, .block = inner_block, .state = &x
  };
  Kern out = *kern;
  if (has_block(kern->body)) out.body = outer_block(&x.outer, kern->body);
  s->could_move = x.could_move;
  s->by_loops = x.by_loops;
  if (!x.found)
    return step_refuse(s, "no condition on indices has one outcome in blocks");
  s->fits = x.fits;
  return kern_name_axes(s->c, &out);
}
