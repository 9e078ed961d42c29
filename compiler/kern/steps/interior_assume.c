// Indices as forms of those of the block, and what is assumed of them (steps/interior.c).
#include "kern/steps/interior.h"

enum { MOST_FACTOR = 1 << 20 };

// ---- forms

bool interior_is_closed(const Interior *x, const Linear *f) {
  for (int i = 0; i < x->index_count; i++)
    if (f->by[i]) return false;
  return true;
}

static bool is_small(const Interior *x, const Linear *f) {
  for (int i = 0; i < x->index_count; i++)
    if (f->by[i] > MOST_FACTOR || f->by[i] < -MOST_FACTOR) return false;
  return true;
}

static bool add_forms(const Interior *x, const Linear *a, const Linear *b, int64_t sign,
                      Linear *out) {
  out->base = sign > 0 ? term_add(a->base, b->base) : term_sub(a->base, b->base);
  for (int i = 0; i < x->index_count; i++)
    out->by[i] = a->by[i] + sign * b->by[i];
  return is_small(x, out);
}

static bool scale_form(const Interior *x, const Linear *a, const Linear *b, Linear *out) {
  const Term *factor = b->base;
  if (!interior_is_closed(x, b) || factor->kind != TERM_CONST) return false;
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
  if (!interior_is_closed(x, a) || !interior_is_closed(x, b)) return false;
  bool bits = op == OP_AND || op == OP_OR || op == OP_XOR || op == OP_SHL || op == OP_SHR;
  if (divides ? !positive : !bits && op != OP_MUL && op != OP_MIN && op != OP_MAX)
    return false;
  *out = (Linear){ .base = term_op2(op, a->base, b->base) };
  return true;
}

static bool linear_of_op(const Interior *x, const Term *t, Linear *out) {
  Linear a = { 0 }, b = { 0 };
  PrimOp op = t->u.op.op;
  if (op_arity(op) != 2 || t->u.op.operands != PRIM_I64) return false;
  if (!interior_form(x, t->u.op.args[0], &a) || !interior_form(x, t->u.op.args[1], &b))
    return false;
  if (op == OP_ADD || op == OP_SUB)
    return add_forms(x, &a, &b, op == OP_ADD ? 1 : -1, out);
  if (op == OP_MUL && (scale_form(x, &a, &b, out) || scale_form(x, &b, &a, out)))
    return true;
  return closed_op(x, op, &a, &b, out);
}

bool interior_form(const Interior *x, const Term *t, Linear *out) {
  *out = (Linear){ .base = t };
  if (t->type != PRIM_I64) return false;
  if (t->kind == TERM_CONST) return true;
  if (t->kind == TERM_OP) return linear_of_op(x, t, out);
  if (t->kind != TERM_VAR) return false;
  const Linear *known = map_get(x->forms, t->u.var);
  if (known) *out = *known;
  return known || !map_has(x->bound, t->u.var);
}

const Term *interior_extreme(const Interior *x, const Linear *f, int sign) {
  const Term *t = f->base;
  for (int i = 0; i < x->index_count; i++) {
    const Term *end = f->by[i] * sign > 0 ? x->indices[i].high : x->indices[i].low;
    if (f->by[i]) t = term_add(t, term_mul(end, term_i64(f->by[i])));
  }
  return t;
}

bool interior_form_differs(const Interior *x, const Linear *f) {
  for (int i = 0; i < x->index_count; i++)
    if (f->by[i] && x->indices[i].over_lanes) return true;
  return false;
}

// ---- assumptions

void interior_want(Assumption *w, const Term *condition) {
  w->at[w->count++] = condition;
}

void interior_want_range(const Interior *x, Assumption *w, const Linear *f) {
  if (!interior_is_closed(x, f))
    interior_want(w, term_at_most(interior_extreme(x, f, -1), interior_extreme(x, f, 1)));
}

// The coordinate of the form if there is one; else -1.
static int coordinate_of(const Interior *x, const Linear *f) {
  int found = -1;
  for (int i = 0; i < x->index_count; i++) {
    if (!f->by[i] || !x->indices[i].at) continue;
    if (found >= 0) return -1;
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

// The least coordinate (the greatest one) whose multiple is at least (at most) `room`.
static const Term *share_of(const Term *room, int64_t by, bool is_least) {
  if (by < 0) room = term_sub(term_i64(0), room);
  int64_t factor = by < 0 ? -by : by;
  if (factor == 1) return room;
  if (is_least) room = term_add(room, term_i64(factor - 1));
  return term_op2(OP_DIV, room, term_i64(factor));
}

// Where the coordinate of `moving` must lie for moving <= limit (or limit <= moving, if `sign` is
// -1), `strict` or not.  Whether it then is so is tested all the same.
static void want_move(const Interior *x, Assumption *w, const Linear *moving,
                      const Linear *limit, int sign, bool strict) {
  int k = coordinate_of(x, moving);
  if (k < 0 || coordinate_of(x, limit) >= 0) return;
  Linear rest = *moving;
  rest.by[k] = 0;
  const Term *room =
      term_sub(interior_extreme(x, limit, -sign), interior_extreme(x, &rest, sign));
  if (strict) room = term_sub(room, term_i64(sign));
  if (follows_block(x, room)) return;
  bool is_least = moving->by[k] * sign < 0;
  room = share_of(room, moving->by[k], is_least);
  if (!is_least) room = term_sub(room, term_i64(x->indices[k].size - 1));
  w->moves[w->move_count++] =
      (Shift){ k, is_least ? room : NULL, is_least ? NULL : room };
}

static bool go_together(const Interior *x, const Linear *a, const Linear *b) {
  for (int i = 0; i < x->index_count; i++)
    if (a->by[i] != b->by[i]) return false;
  return true;
}

// At one point, if they differ by the same everywhere, as i and i + k do.
void interior_want_order(const Interior *x, Assumption *w, const Linear *a,
                         const Linear *b, PrimOp op) {
  int least = go_together(x, a, b) ? -1 : 1;
  interior_want(w,
                term_op2(op, interior_extreme(x, a, least), interior_extreme(x, b, -1)));
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

int interior_places(int places) {
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
  return x->mostly ? 2 * interior_places(x->places & places) > interior_places(x->among)
                   : (places & x->among) == x->among;
}

static const Term *nearest(const Interior *x, PrimOp op, const Term *a, const Term *b) {
  if (!a || !b) return a ? a : b;
  if (!x->wide) return interior_nearest(op, a, b);
  return op == OP_MIN ? term_min(a, b) : term_max(a, b);
}

static void move_coordinate(Interior *x, const Shift *move) {
  Index *index = &x->indices[move->index];
  index->from = nearest(x, OP_MAX, index->from, move->from);
  index->to = nearest(x, OP_MIN, index->to, move->to);
}

bool interior_assume(Interior *x, const Assumption *w) {
  if (!can_assume(x, w)) return false;
  if (!is_certain(x)) x->places &= places_of(x, w);
  for (int i = 0; i < w->count; i++)
    if (!term_is_bool(w->at[i], true) && !is_noted(x, w->at[i]))
      x->conditions[x->condition_count++] = w->at[i];
  for (int i = 0; i < w->move_count; i++)
    move_coordinate(x, &w->moves[i]);
  return true;
}

bool interior_sides(const Interior *x, const Term *a, const Term *b, Sides *out) {
  return interior_form(x, a, &out->a) && interior_form(x, b, &out->b) &&
         ((x->wide && x->checking) ||
          !(interior_is_closed(x, &out->a) && interior_is_closed(x, &out->b)));
}

bool interior_sides_differ(const Interior *x, const Sides *s) {
  return interior_form_differs(x, &s->a) || interior_form_differs(x, &s->b);
}

static bool assume_sides(Interior *x, const Sides *s, Assumption *w) {
  interior_want_range(x, w, &s->a);
  interior_want_range(x, w, &s->b);
  if (!interior_assume(x, w)) return false;
  if (interior_sides_differ(x, s)) x->over_lanes = true;
  return true;
}

bool interior_order(Interior *x, const Term *a, const Term *b, PrimOp op) {
  Sides s;
  Assumption w = { .count = 0 };
  if (!interior_sides(x, a, b, &s)) return false;
  interior_want_order(x, &w, &s.a, &s.b, op);
  return assume_sides(x, &s, &w);
}

static bool has_bits(const Interior *x, const Linear *f) {
  for (int i = 0; i < x->first_count; i++)
    if (x->firsts[i].bits && term_mentions(f->base, x->firsts[i].var)) return true;
  return false;
}

const Term *interior_together(Interior *x, const Term *t) {
  Sides s;
  Assumption w = { .count = 0 };
  if (!interior_sides(x, t->u.op.args[0], t->u.op.args[1], &s) ||
      !go_together(x, &s.a, &s.b) || (!has_bits(x, &s.a) && !has_bits(x, &s.b)) ||
      !assume_sides(x, &s, &w))
    return NULL;
  return term_op2(t->u.op.op, interior_extreme(x, &s.a, -1),
                  interior_extreme(x, &s.b, -1));
}

bool interior_seems_size(const Interior *x, const Term *t) {
  if (t->kind != TERM_VAR || map_has(x->bound, t->u.var)) return false;
  return guess_term(&x->guess, t, 0) >= 5000;
}

bool interior_quotient(Interior *x, const Term *a, const Term *n, int64_t q) {
  Sides s;
  Assumption w = { .count = 0 };
  if (!interior_seems_size(x, n) || !interior_sides(x, a, n, &s)) return false;
  Linear least = { .base = term_mul(n, term_i64(q)) };
  Linear past = { .base = term_mul(n, term_i64(q + 1)) };
  interior_want(&w, term_less(term_i64(0), n));
  interior_want_order(x, &w, &least, &s.a, OP_LE);
  interior_want_order(x, &w, &s.a, &past, OP_LT);
  return assume_sides(x, &s, &w);
}

bool interior_apart(Interior *x, const Term *a, const Term *b) {
  Sides s;
  Assumption w = { .count = 0 };
  if (!interior_sides(x, a, b, &s)) return false;
  const Term *less =
      term_less(interior_extreme(x, &s.a, 1), interior_extreme(x, &s.b, -1));
  const Term *more =
      term_less(interior_extreme(x, &s.b, 1), interior_extreme(x, &s.a, -1));
  interior_want(&w, term_or(less, more));
  return assume_sides(x, &s, &w);
}
