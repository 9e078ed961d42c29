// interior:   axis a lane { body }
//        =>   if the block lies inside { axis a lane { body' } } else { axis a lane { body } }
//
// body' has no conditions, clamps, remainders and checks on indices that have one outcome at all
// points of the block: max(0, i - 1) becomes i - 1, (i + 1) % n becomes i + 1, a check goes.
// Why: what remains are affine indices, so vectors are loaded whole, and no branch.  Stencils,
// wrapped and padded borders, convolutions live on it.
//
// Short loops get such a form, too, but only checks go there.
//
// Where points may run twice, a block at the border moves inside, and the few points that it
// leaves follow one by one (step_moved.c).
//
// Indices are brought to the form base + sum of (factor * index of an axis in the block); its least
// and its greatest value stand at corners of the block, and the condition tests these.  Sums that
// overflow between corners show as a least value above the greatest one: so that is tested too.
#include "kern/interior.h"
#include "kern/plan.h"
#include "kern/wide_lanes.h"

enum {
  MOST_FACTOR = 1 << 20,
  MOST_SCALE = 1 << 30,
  MOST_LOOP_STATEMENTS = 40,
  // Statements of a branch that becomes a choice.  All lanes seldom agree on what depends on data,
  // and loads under masks go one by one.
  FEW_CHOSEN = 4,
  MOST_CHOSEN = 32,
};

// ---- forms

static bool is_closed(const Interior *x, const Linear *f) {
  for (int i = 0; i < x->index_count; i++)
    if (f->by[i]) return false;
  return true;
}

static bool is_small(const Interior *x, const Linear *f) {
  for (int i = 0; i < x->index_count; i++)
    if (f->by[i] > MOST_FACTOR || f->by[i] < -MOST_FACTOR) return false;
  return true;
}

static bool linear_of(const Interior *x, const Term *t, Linear *out);

static bool add_forms(const Interior *x, const Linear *a, const Linear *b, int64_t sign,
                      Linear *out) {
  out->base = sign > 0 ? term_add(a->base, b->base) : term_sub(a->base, b->base);
  for (int i = 0; i < x->index_count; i++)
    out->by[i] = a->by[i] + sign * b->by[i];
  return is_small(x, out);
}

static bool scale_form(const Interior *x, const Linear *a, const Linear *b, Linear *out) {
  const Term *factor = b->base;
  if (!is_closed(x, b) || factor->kind != TERM_CONST) return false;
  int64_t by = factor->u.constant.u.i;
  if (by > MOST_FACTOR || by < -MOST_FACTOR) return false;
  out->base = term_mul(a->base, factor);
  for (int i = 0; i < x->index_count; i++)
    out->by[i] = a->by[i] * by;
  return is_small(x, out);
}

// An operation on what is known outside, which cannot trap there.
static bool closed_op(const Interior *x, PrimOp op, const Linear *a, const Linear *b,
                      Linear *out) {
  bool divides = op == OP_QUOT || op == OP_DIV || op == OP_REM || op == OP_MOD;
  bool positive = b->base->kind == TERM_CONST && b->base->u.constant.u.i > 0;
  if (!is_closed(x, a) || !is_closed(x, b)) return false;
  if (divides ? !positive : op != OP_MUL && op != OP_MIN && op != OP_MAX) return false;
  *out = (Linear){ .base = term_op2(op, a->base, b->base) };
  return true;
}

static bool linear_of_op(const Interior *x, const Term *t, Linear *out) {
  Linear a = { 0 }, b = { 0 };
  PrimOp op = t->u.op.op;
  if (op_arity(op) != 2 || t->u.op.operands != PRIM_I64) return false;
  if (!linear_of(x, t->u.op.args[0], &a) || !linear_of(x, t->u.op.args[1], &b))
    return false;
  if (op == OP_ADD || op == OP_SUB)
    return add_forms(x, &a, &b, op == OP_ADD ? 1 : -1, out);
  if (op == OP_MUL && (scale_form(x, &a, &b, out) || scale_form(x, &b, &a, out)))
    return true;
  return closed_op(x, op, &a, &b, out);
}

static bool linear_of(const Interior *x, const Term *t, Linear *out) {
  *out = (Linear){ .base = t };
  if (t->type != PRIM_I64) return false;
  if (t->kind == TERM_CONST) return true;
  if (t->kind == TERM_OP) return linear_of_op(x, t, out);
  if (t->kind != TERM_VAR) return false;
  const Linear *known = map_get(x->forms, t->u.var);
  if (known) *out = *known;
  return known || !map_has(x->bound, t->u.var);
}

// The greatest value (the least, if `sign` is -1) of the form in the block.
static const Term *extreme(const Interior *x, const Linear *f, int sign) {
  const Term *t = f->base;
  for (int i = 0; i < x->index_count; i++) {
    const Term *end = f->by[i] * sign > 0 ? x->indices[i].high : x->indices[i].low;
    if (f->by[i]) t = term_add(t, term_mul(end, term_i64(f->by[i])));
  }
  return t;
}

static bool differs_in_lanes(const Interior *x, const Linear *f) {
  for (int i = 0; i < x->index_count; i++)
    if (f->by[i] && x->indices[i].over_lanes) return true;
  return false;
}

// ---- assumptions

// What a condition asks of a coordinate: to begin at `from` at least, or at `to` at most.
typedef struct Shift {
  int index;
  const Term *from, *to;
} Shift;

// Conditions that go together; none is noted if one cannot be.
typedef struct Assumption {
  const Term *at[8];
  int count;
  Shift moves[4];
  int move_count;
} Assumption;

static void want(Assumption *w, const Term *condition) { w->at[w->count++] = condition; }

// The values between the extremes are those of the points.
static void want_range(const Interior *x, Assumption *w, const Linear *f) {
  if (!is_closed(x, f)) want(w, term_at_most(extreme(x, f, -1), extreme(x, f, 1)));
}

// The coordinate of the form if there is one, and its factor is 1 or -1; else -1.
static int coordinate_of(const Interior *x, const Linear *f) {
  int found = -1;
  for (int i = 0; i < x->index_count; i++) {
    if (!f->by[i] || !x->indices[i].at) continue;
    if (found >= 0 || (f->by[i] != 1 && f->by[i] != -1)) return -1;
    found = i;
  }
  return found;
}

// Does it depend on where the block comes to lie?
static bool follows_block(const Interior *x, const Term *t) {
  for (int i = 0; i < x->index_count; i++)
    if (x->indices[i].at && term_mentions(t, x->indices[i].at)) return true;
  for (int i = 0; i < x->first_count; i++)
    if (term_mentions(t, x->firsts[i].var)) return true;
  return false;
}

// Where the coordinate of `moving` must lie for moving <= limit (or limit <= moving, if `sign` is
// -1), `strict` or not.  Whether it then is so is tested all the same.
static void want_move(const Interior *x, Assumption *w, const Linear *moving,
                      const Linear *limit, int sign, bool strict) {
  int k = coordinate_of(x, moving);
  if (k < 0 || coordinate_of(x, limit) >= 0) return;
  Linear rest = *moving;
  rest.by[k] = 0;
  const Term *room = term_sub(extreme(x, limit, -sign), extreme(x, &rest, sign));
  if (strict) room = term_sub(room, term_i64(sign));
  if (follows_block(x, room)) return;
  bool is_least = moving->by[k] * sign < 0;
  if (moving->by[k] < 0) room = term_sub(term_i64(0), room);
  if (!is_least) room = term_sub(room, term_i64(x->indices[k].size - 1));
  w->moves[w->move_count++] =
      (Shift){ k, is_least ? room : NULL, is_least ? NULL : room };
}

static bool go_together(const Interior *x, const Linear *a, const Linear *b) {
  for (int i = 0; i < x->index_count; i++)
    if (a->by[i] != b->by[i]) return false;
  return true;
}

// a < b (or a <= b) at all points: at one if they differ by the same everywhere, as i and i + k do.
static void want_order(const Interior *x, Assumption *w, const Linear *a, const Linear *b,
                       PrimOp op) {
  int least = go_together(x, a, b) ? -1 : 1;
  want(w, term_op2(op, extreme(x, a, least), extreme(x, b, -1)));
  want_move(x, w, a, b, 1, op == OP_LT);
  want_move(x, w, b, a, -1, op == OP_LT);
}

// a < b, a <= b, or one of two of these
static bool seems_to_hold(const Interior *x, const Term *condition, int place) {
  const Term *const *args = condition->u.op.args;
  PrimOp op = condition->u.op.op;
  if (op == OP_LOR)
    return seems_to_hold(x, args[0], place) || seems_to_hold(x, args[1], place);
  double a = guess_term(&x->guess, args[0], place),
         b = guess_term(&x->guess, args[1], place);
  return op == OP_LT ? a < b : a <= b;
}

// At which places does it all seem to hold?
static int places_of(const Interior *x, const Assumption *w) {
  int places = 0;
  for (int i = 0; i < GUESS_PLACES; i++) {
    bool holds = true;
    for (int k = 0; k < w->count && holds; k++)
      holds = term_is_bool(w->at[k], true) || seems_to_hold(x, w->at[k], i);
    if (holds) places |= 1 << i;
  }
  return places;
}

static int places_in(int places) {
  int count = 0;
  for (; places; places &= places - 1)
    count++;
  return count;
}

static bool is_noted(const Interior *x, const Term *condition) {
  for (int i = 0; i < x->condition_count; i++)
    if (term_same(x->conditions[i], condition)) return true;
  return false;
}

static bool is_certain(const Interior *x) { return x->checking && !x->in_branch; }

static bool can_assume(const Interior *x, const Assumption *w) {
  for (int i = 0; i < w->count; i++)
    if (term_is_bool(w->at[i], false)) return false;
  if (x->condition_count + w->count > MOST_CONDITIONS) return false;
  if (is_certain(x)) return true;
  int places = places_of(x, w);
  return x->mostly ? places_in(x->places & places) >= GUESS_MAJORITY
                   : places_in(places) == GUESS_PLACES;
}

static void move_coordinate(Index *index, const Shift *move) {
  const Term *from = move->from, *to = move->to;
  if (from) index->from = index->from ? term_max(index->from, from) : from;
  if (to) index->to = index->to ? term_min(index->to, to) : to;
}

// Notes what is to be assumed, if it seems to be usual.  What every point checks holds, or the
// program fails: no guess is needed.
static bool assume(Interior *x, const Assumption *w) {
  if (!can_assume(x, w)) return false;
  if (!is_certain(x)) x->places &= places_of(x, w);
  for (int i = 0; i < w->count; i++)
    if (!term_is_bool(w->at[i], true) && !is_noted(x, w->at[i]))
      x->conditions[x->condition_count++] = w->at[i];
  for (int i = 0; i < w->move_count; i++)
    move_coordinate(&x->indices[w->moves[i].index], &w->moves[i]);
  return true;
}

// Forms of both sides, of which one at least varies in the block, but for checks in wide lanes.
typedef struct Sides {
  Linear a, b;
} Sides;

static bool sides_of(const Interior *x, const Term *a, const Term *b, Sides *out) {
  return linear_of(x, a, &out->a) && linear_of(x, b, &out->b) &&
         ((x->wide && x->checking) || !(is_closed(x, &out->a) && is_closed(x, &out->b)));
}

static bool sides_differ_in_lanes(const Interior *x, const Sides *s) {
  return differs_in_lanes(x, &s->a) || differs_in_lanes(x, &s->b);
}

static bool assume_sides(Interior *x, const Sides *s, Assumption *w) {
  want_range(x, w, &s->a);
  want_range(x, w, &s->b);
  if (!assume(x, w)) return false;
  if (sides_differ_in_lanes(x, s)) x->over_lanes = true;
  return true;
}

static bool assume_order(Interior *x, const Term *a, const Term *b, PrimOp op) {
  Sides s;
  Assumption w = { .count = 0 };
  if (!sides_of(x, a, b, &s)) return false;
  want_order(x, &w, &s.a, &s.b, op);
  return assume_sides(x, &s, &w);
}

static bool seems_a_size(const Interior *x, const Term *t) {
  if (t->kind != TERM_VAR || map_has(x->bound, t->u.var)) return false;
  return guess_term(&x->guess, t, 0) >= 5000;
}

// q * n <= a < (q + 1) * n at all points, for a size n
static bool assume_quotient(Interior *x, const Term *a, const Term *n, int64_t q) {
  Sides s;
  Assumption w = { .count = 0 };
  if (!seems_a_size(x, n) || !sides_of(x, a, n, &s)) return false;
  Linear least = { .base = term_mul(n, term_i64(q)) };
  Linear past = { .base = term_mul(n, term_i64(q + 1)) };
  want(&w, term_less(term_i64(0), n));
  want_order(x, &w, &least, &s.a, OP_LE);
  want_order(x, &w, &s.a, &past, OP_LT);
  return assume_sides(x, &s, &w);
}

// ---- terms of the interior

// a < b at all points or b < a at all points
static bool assume_apart(Interior *x, const Term *a, const Term *b) {
  Sides s;
  Assumption w = { .count = 0 };
  if (!sides_of(x, a, b, &s)) return false;
  const Term *less = term_less(extreme(x, &s.a, 1), extreme(x, &s.b, -1));
  const Term *more = term_less(extreme(x, &s.b, 1), extreme(x, &s.a, -1));
  want(&w, term_or(less, more));
  return assume_sides(x, &s, &w);
}

static const Term *known_comparison(Interior *x, const Term *t) {
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  PrimOp op = t->u.op.op;
  if (op == OP_LT || op == OP_LE) {
    if (assume_order(x, a, b, op)) return term_bool(true);
    bool fails = !x->checking && assume_order(x, b, a, op == OP_LT ? OP_LE : OP_LT);
    return fails ? term_bool(false) : t;
  }
  if (x->checking && op == OP_EQ) return t;
  bool differ = assume_order(x, a, b, OP_LT) || assume_order(x, b, a, OP_LT) ||
                (!x->may_move && assume_apart(x, a, b));
  return differ ? term_bool(op == OP_NE) : t;
}

// Blocks that cannot be moved are many on either side of a border that goes through the middle.
static const Term *inner_comparison(Interior *x, const Term *t) {
  const Term *known = known_comparison(x, t);
  if (known != t || x->may_move) return known;
  x->mostly = true;
  known = known_comparison(x, t);
  x->mostly = false;
  return known;
}

// Those that are the same in all lanes cost too little for another condition.
static const Term *inner_choice(Interior *x, const Term *t) {
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  bool least = t->u.op.op == OP_MIN;
  Sides s;
  if (!sides_of(x, a, b, &s) || !sides_differ_in_lanes(x, &s)) return t;
  if (assume_order(x, a, b, OP_LE)) return least ? a : b;
  return assume_order(x, b, a, OP_LE) ? (least ? b : a) : t;
}

// Of an index that is the same for all of the block: additions instead of a division, if a is
// near n.
static const Term *closed_remainder(Interior *x, const Term *t) {
  const Term *a = t->u.op.args[0], *n = t->u.op.args[1], *twice = term_add(n, n);
  Linear form;
  Assumption w = { .count = 0 };
  if (t->u.op.op != OP_MOD || !seems_a_size(x, n) || !linear_of(x, a, &form)) return t;
  want(&w, term_less(term_i64(0), n));
  want(&w, term_at_most(term_sub(term_i64(0), n), form.base));
  want(&w, term_less(form.base, term_add(twice, n)));
  if (!assume(x, &w)) return t;
  const Term *above = term_select(term_less(a, n), a, term_sub(a, n));
  const Term *far = term_select(term_less(a, twice), above, term_sub(a, twice));
  return term_select(term_less(a, term_i64(0)), term_add(a, n), far);
}

static const Term *first_place(Interior *x, const Term *low, const Term *n) {
  const Term *value = term_op2(OP_MOD, low, term_max(n, term_i64(1)));
  for (int i = 0; i < x->first_count; i++)
    if (term_same(x->firsts[i].value, value)) return term_var(x->firsts[i].var);
  if (x->first_count == MOST_FIRSTS) return NULL;
  const Var *var = kern_index(x->c, "first", (Loc){ 0 });
  guess_let(&x->guess, var, value);
  x->firsts[x->first_count++] = (FirstPlace){ var, value };
  return term_var(var);
}

// By a division for each block, if it has no turn inside: it begins at its least index.
static const Term *turned_remainder(Interior *x, const Term *t, const Linear *form) {
  const Term *a = t->u.op.args[0], *n = t->u.op.args[1];
  Assumption w = { .count = 0 };
  if (t->u.op.op != OP_MOD || !seems_a_size(x, n)) return t;
  const Term *low = extreme(x, form, -1), *span = term_sub(extreme(x, form, 1), low);
  const Term *first = first_place(x, low, n);
  if (!first) return t;
  want(&w, term_less(term_i64(0), n));
  want_range(x, &w, form);
  want(&w, term_less(term_add(first, span), n));
  if (!assume(x, &w)) return t;
  if (differs_in_lanes(x, form)) x->over_lanes = true;
  return term_add(term_sub(a, low), first);
}

// Is there a guess for all that the form begins with?
static bool is_guessed(const Interior *x, const Linear *form) {
  return guess_is_known(&x->guess, form->base);
}

static const Term *inner_remainder(Interior *x, const Term *t) {
  const Term *a = t->u.op.args[0], *n = t->u.op.args[1];
  Linear form;
  bool linear = linear_of(x, a, &form);
  if (linear && is_closed(x, &form)) return closed_remainder(x, t);
  if (linear && !is_guessed(x, &form)) return turned_remainder(x, t, &form);
  int64_t least = t->u.op.op == OP_MOD ? -2 : 0;
  for (int64_t q = 2; q >= least; q--)
    if (assume_quotient(x, a, n, q)) return term_sub(a, term_mul(n, term_i64(q)));
  return linear ? turned_remainder(x, t, &form) : t;
}

// With operands that are those of the interior.
static const Term *inner_op(Interior *x, const Term *t) {
  if (t->kind != TERM_OP || op_arity(t->u.op.op) != 2 || t->u.op.operands != PRIM_I64)
    return t;
  PrimOp op = t->u.op.op;
  if (x->checks_only && !x->checking) return t;
  if (op == OP_LT || op == OP_LE || op == OP_EQ || op == OP_NE)
    return inner_comparison(x, t);
  if (op == OP_MIN || op == OP_MAX) return inner_choice(x, t);
  return op == OP_REM || op == OP_MOD ? inner_remainder(x, t) : t;
}

static const Term *inner_term(Interior *x, const Term *t) {
  if (t->kind == TERM_VAR) {
    const Term *known = map_get(x->values, t->u.var);
    return known ? known : t;
  }
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = inner_term(x, operands[i]);
  return count ? inner_op(x, term_with(t, operands, count)) : t;
}

static const Term *map_inner_term(KernMapper *m, const Term *t) {
  return inner_term(m->state, t);
}

static const Term *checked_term(Interior *x, const Term *t);

// Of two conditions the second is taken to hold: a slice is no empty one, but inside.
static const Term *checked_or(Interior *x, const Term *t) {
  const Interior before = *x;
  if (term_is_bool(checked_term(x, t->u.op.args[1]), true)) return term_bool(true);
  *x = before;
  return inner_term(x, t);
}

// What a check joins is taken to hold.
static const Term *checked_term(Interior *x, const Term *t) {
  const Term *args[3];
  int count = t->kind == TERM_OP ? term_operands(t, args) : 0;
  bool joins = count && t->u.op.op == OP_LAND;
  if (!count) return inner_term(x, t);
  if (t->u.op.op == OP_LOR) return checked_or(x, t);
  for (int i = 0; i < count; i++)
    args[i] = joins ? checked_term(x, args[i]) : inner_term(x, args[i]);
  if (joins) return term_with(t, args, count);
  x->checking = true;
  const Term *inner = inner_op(x, term_with(t, args, count));
  x->checking = false;
  return inner;
}

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
  if (x->index_count == MOST_INDICES || !linear_of(x, axis->width, &width) ||
      !is_closed(x, &width))
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
  return first->kind == TERM_OP && first->u.op.op == OP_MIN && linear_of(x, t, form) &&
         term_same(form->base, first) && !is_closed(x, form);
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
                     .over_lanes = differs_in_lanes(x, form),
                     .at = at,
                     .first = first,
                     .last = first->u.op.args[1],
                     .size = size });
}

// ---- statements of the interior

static void note_binder(KernVisitor *v, const Var *var) {
  Interior *x = v->state;
  map_put(x->bound, var, var);
}

// Does it follow from indices, as i < k?  Then most blocks have one outcome, and go one way.
static bool is_of_indices(const Interior *x, const Term *t) {
  Linear form;
  if (t->type != PRIM_BOOL) return linear_of(x, t, &form);
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
  if (!linear_of(x, args[0], index) || !linear_of(x, args[1], by)) return false;
  if (is_closed(x, index)) {
    const Linear closed = *index;
    *index = *by;
    *by = closed;
  }
  return !is_closed(x, index) && is_closed(x, by);
}

// let k = i * m: an index of its own, where the product cannot overflow.  Checks on places in rows
// of one dimension need it.
static void note_scaled(Interior *x, const Var *var, const Term *t) {
  Linear index, by;
  Assumption w = { .count = 0 };
  if (!x->scales || x->index_count == MOST_INDICES || !is_scaled(x, t, &index, &by))
    return;
  const Term *low = extreme(x, &index, -1), *high = extreme(x, &index, 1);
  want_range(x, &w, &index);
  want(&w, term_at_most(term_i64(0), by.base));
  want(&w, term_at_most(by.base, term_i64(MOST_SCALE)));
  want(&w, term_at_most(term_i64(-MOST_SCALE), low));
  want(&w, term_at_most(high, term_i64(MOST_SCALE)));
  x->checking = true;
  bool holds = assume(x, &w);
  x->checking = false;
  if (holds)
    add_index(x, var,
              (Index){ .low = term_mul(low, by.base),
                       .high = term_mul(high, by.base),
                       .over_lanes = differs_in_lanes(x, &index) });
}

static void add_inner_let(Interior *x, KernBuilder *b, const KernStm *stm) {
  Linear form;
  if (is_coordinate(x, stm->u.term, &form)) {
    add_coordinate(x, b, stm, &form);
    return;
  }
  const Term *t = inner_term(x, stm->u.term);
  if (linear_of(x, t, &form)) {
    map_put(x->forms, stm->binders[0], mem_copy(&form, sizeof form));
    if (is_closed(x, &form) && form.base->kind == TERM_CONST) t = form.base;
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
  if (!linear_of(x, index, &at) || !linear_of(x, size, &width)) return false;
  Linear zero = { .base = term_i64(0) };
  want_order(x, &w, &zero, &at, OP_LE);
  want_order(x, &w, &at, &width, OP_LT);
  want_range(x, &w, &at);
  return assume(x, &w);
}

static bool assume_inside(void *state, const Access *access) {
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
  const Term *condition = inner_term(x, stm->u.cond.condition);
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
  check.u.check.condition = checked_term(x, stm->u.check.condition);
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
  x->places = (1 << GUESS_PLACES) - 1;
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

static void add_with_interior(Interior *x, KernBuilder *b, const KernStm *stm) {
  bool may_move = x->twice && (x->in_grid || x->around) && moved_applies(stm);
  const KernBlock *inside = inside_block(x, stm, may_move);
  if (!moved_can_end(x, stm)) inside = inside_block(x, stm, false);
  if (!x->over_lanes) {
    kern_add(b, *stm);
    return;
  }
  x->found = true;
  if (moved_add(x, b, stm, inside)) return;
  const Term *condition = interior_inside(x, b);
  int usual = 80 * places_in(x->places) / GUESS_PLACES;
  kern_add(b, interior_if(stm, condition, usual, inside, interior_copy(x, stm)));
}

// The axis as a loop over blocks of points that may run twice.
static const Axis *loop_of_blocks(const Interior *x, const Axis *axis) {
  bool blocks = axis && axis->role == AXIS_MAP && axis->bind == BIND_SEQ &&
                moved_is_block(axis->body);
  return blocks && x->twice && step_may_run_twice(x->kern, axis) ? axis : NULL;
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
  const KernBlock *inside = inside_block(x, stm, false);
  if (checks_in(inside) >= checks_in(stm->u.axis->body)) {
    kern_add(b, *stm);
    return;
  }
  x->found = true;
  const Term *condition = interior_inside(x, b);
  kern_add(b, interior_if(stm, condition, 98, inside, interior_copy(x, stm)));
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
      add_with_interior(x, &b, stm);
      continue;
    }
    if (is_checked_loop(stm)) {
      add_without_checks(x, &b, stm);
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
    if (kern_is_lock(&block->stms[i]) || is_checked_loop(&block->stms[i])) return true;
    KernBlockVec blocks = kern_blocks(&block->stms[i]);
    vec_each (const KernBlock **, inner, &blocks)
      if (has_block(*inner)) return true;
  }
  return false;
}

const Kern *step_interior(Step *s, const Kern *kern, bool twice) {
  if (twice && step_updates_in_place(kern->body))
    return step_refuse(s, "it overwrites what it reads: no point may run twice");
  Interior x = {
    .c = s->c, .kern = kern, .guess = guess_new(kern), .twice = twice, .in_grid = true
  };
  x.outer = (KernMapper){ .c = s->c, .block = outer_block, .state = &x };
  x.inner = (KernMapper){
    .c = s->c, .term = map_inner_term, .block = inner_block, .state = &x
  };
  Kern out = *kern;
  if (has_block(kern->body)) out.body = outer_block(&x.outer, kern->body);
  if (!x.found)
    return step_refuse(s, "no condition on indices has one outcome in blocks");
  return kern_name_axes(s->c, &out);
}
