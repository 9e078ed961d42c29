// cut a:   axis a: i < n { if i < t { A } else { B }; rest }
//     =>   axis a_low: i < t { A; rest }   axis a: t <= i < n { B; rest }
//
// Index-set splitting: where comparisons of the index with what is the same at all points change
// their outcome, one axis ends and the next begins.  Why: the loops are without branches, and one
// whose summands are neutral goes (sums of triangular matrices, borders, masks before and after).
//
// Borders are of three kinds, so that their order is known: near the first point (a constant), near
// the last one (the width less a constant), and one in between.
#include "kern/offsets.h"
#include "kern/steps/step.h"

enum {
  NEAR = 64,  // points between a border and the end that it lies at
  MOST_CUT_STATEMENTS = 60,
};
static const int64_t FAR = INT64_C(1) << 60;  // beyond the sums of a few tame numbers

typedef enum BorderPlace { NEAR_FIRST, BETWEEN, NEAR_LAST } BorderPlace;

// What a comparison is before `at`, and from there on; for OP_EQ and OP_NE, at that point alone.
typedef struct Border {
  const Term *at;
  BorderPlace place;
  int64_t
      from_end;  // of one near an end: how far behind the first point, or behind the last one
  int64_t more;  // points behind what is compared with
  const Term *before, *after;
  const Term *there;  // NULL: as after
} Border;

typedef struct Cutting {
  Compiler *c;
  const Axis *axis;
  Offsets offsets;
  int64_t low, high;  // where the borders near the ends are, from these; 0: there is none
  const Border *between;  // NULL: none
  // of the part at hand
  int side;  // of the border in between: -1 before, 0 there, 1 after
} Cutting;

// ---- forms

// t = base + by, for a constant
static bool is_beside(const Cutting *x, const Term *t, const Term *base, int64_t *by) {
  const Term *moved;
  if (!offset_from(&x->offsets, t, base, &moved) || moved->kind != TERM_CONST)
    return false;
  *by = moved->u.constant.u.i;
  return true;
}

// limit, far from overflow
static const Term *tame_limit(const Term *limit) {
  if (limit->kind == TERM_CONST) return limit;
  return term_min(term_max(limit, term_i64(-FAR)), term_i64(FAR));
}

// limit - by + more, far from overflow
static const Term *moved(const Term *limit, const Term *by, int64_t more) {
  const Term *sum = term_sub(term_i64(more), by);
  return term_is_i64(sum, 0) ? limit : term_add(tame_limit(limit), sum);
}

// ---- borders

// index + by OP limit, or with the sides changed
typedef struct CutSides {
  const Term *by;
  const Term *limit;
  bool changed;
  const Term *moving, *closed;  // the operands
  bool falls;                   // it was by - index that was compared
} CutSides;

static bool is_far(const Term *t) {
  return t->kind == TERM_CONST && (t->u.constant.u.i > FAR || t->u.constant.u.i < -FAR);
}

static bool sides_of_cut(const Cutting *x, const Term *t, CutSides *out) {
  const Term *index = term_var(x->axis->index);
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  out->changed = offset_is_closed(&x->offsets, a);
  out->closed = out->limit = out->changed ? a : b;
  out->moving = out->changed ? b : a;
  if (!offset_is_closed(&x->offsets, out->closed) || is_far(out->closed)) return false;
  if (offset_from(&x->offsets, out->moving, index, &out->by)) return true;
  // by - index OP limit: index and by - limit have their sides changed
  out->falls = offset_falls(&x->offsets, out->moving, index, &out->by);
  if (!out->falls) return false;
  out->limit = term_sub(out->by, tame_limit(out->closed));
  out->by = term_i64(0);
  out->changed = !out->changed;
  return true;
}

static void order_border(const Term *t, const CutSides *s, Border *out) {
  bool strict = t->u.op.op == OP_LT;
  // i + by < limit before limit - by; limit < i + by from limit - by + 1 on
  out->more = strict == s->changed;
  out->at = moved(s->limit, s->by, out->more);
  out->before = term_bool(!s->changed);
  out->after = term_bool(s->changed);
}

static void equality_border(const Term *t, const CutSides *s, Border *out) {
  bool equal = t->u.op.op == OP_EQ;
  out->at = moved(s->limit, s->by, 0);
  out->before = out->after = term_bool(!equal);
  out->there = term_bool(equal);
}

static void clamp_border(const Term *t, const CutSides *s, Border *out) {
  bool index_first = (t->u.op.op == OP_MIN) != s->falls;
  out->at = moved(s->limit, s->by, 0);
  out->before = index_first ? s->moving : s->closed;
  out->after = index_first ? s->closed : s->moving;
}

// Where the border is, which comes `more` points behind limit - by.
static void place_border(const Cutting *x, const CutSides *s, Border *out) {
  int64_t limit;
  out->place = BETWEEN;
  if (s->by->kind != TERM_CONST || is_far(s->by)) return;
  if (s->limit->kind == TERM_CONST) {
    if (s->limit->u.constant.u.i > NEAR) return;
    out->place = NEAR_FIRST;
    out->from_end = out->at->u.constant.u.i;
  } else if (is_beside(x, s->limit, x->axis->width, &limit) && limit <= 0 &&
             limit >= -NEAR) {
    out->place = NEAR_LAST;
    out->from_end = limit - s->by->u.constant.u.i + out->more;
  }
}

// Does the outcome of the operation change once along the axis?
static bool border_of(const Cutting *x, const Term *t, Border *out) {
  CutSides s;
  if (t->kind != TERM_OP || t->u.op.operands != PRIM_I64 || op_arity(t->u.op.op) != 2)
    return false;
  PrimOp op = t->u.op.op;
  bool order = op == OP_LT || op == OP_LE, equality = op == OP_EQ || op == OP_NE;
  if (!order && !equality && op != OP_MIN && op != OP_MAX) return false;
  s.falls = false;
  if (!sides_of_cut(x, t, &s)) return false;
  *out = (Border){ 0 };
  if (order)
    order_border(t, &s, out);
  else if (equality)
    equality_border(t, &s, out);
  else
    clamp_border(t, &s, out);
  place_border(x, &s, out);
  // At one point near an end: all others lie on one side of it.
  if (equality && out->place == NEAR_FIRST) out->from_end++;
  return true;
}

// If all points lie behind it, or before it, it is none.
static void note_border(Cutting *x, const Border *border) {
  int64_t at = border->from_end;
  if (border->place == NEAR_FIRST && at > x->low) x->low = at;
  if (border->place == NEAR_LAST && at < x->high) x->high = at;
  if (border->place == BETWEEN && !x->between)
    x->between = mem_copy(border, sizeof *border);
}

static void find_borders(Cutting *x, const Term *t) {
  Border border;
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    find_borders(x, operands[i]);
  if (border_of(x, t, &border)) note_border(x, &border);
}

// Those of checks hold anyway: they are no borders, but go where others make them known.
static void see_border(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_LET) find_borders(v->state, stm->u.term);
  if (stm->kind == KERN_IF) find_borders(v->state, stm->u.cond.condition);
}

// ---- a part without comparisons

static const Term *cut_op(void *state, const Term *t) {
  const Cutting *x = state;
  Border border;
  if (!border_of(x, t, &border)) return t;
  if (border.place == NEAR_FIRST) return border.from_end <= x->low ? border.after : t;
  if (border.place == NEAR_LAST) return border.from_end >= x->high ? border.before : t;
  const Border *b = x->between;
  if (!b || !term_same(border.at, b->at) || !border.there != !b->there) return t;
  if (x->side == 0) return border.there;
  return x->side < 0 ? border.before : border.after;
}

// ---- the parts

// Does the axis add nothing to what it begins with?
static bool sums_nothing(const Axis *axis) {
  if (axis->role != AXIS_REDUCE) return false;
  for (int i = 0; i < axis->body->count; i++)
    if (axis->body->stms[i].kind != KERN_LET && axis->body->stms[i].kind != KERN_LOAD)
      return false;
  for (int o = 0, next = 0; o < axis->op_count; o++)
    for (int k = 0; k < axis->ops[o].count; k++)
      if (!term_same(axis->body->results[next++], axis->ops[o].neutral[k])) return false;
  return true;
}

typedef struct CutParts {
  Cutting *cut;
  KernBuilder *b;
  const KernStm *stm;
  const Term *const *so_far;  // what the next part begins with; NULL: as the axis does
  bool whole;                 // the part at hand keeps its comparisons
} CutParts;

// A copy of the statement, as all of a block.
static const KernStm *cut_copy(Cutting *x, const KernStm *stm) {
  KernBuilder b = kern_builder(x->c, stm->loc);
  kern_add(&b, *stm);
  return &kern_rename(x->c, NULL, kern_block(&b, NULL, 0))->stms[0];
}

static const KernBlock *begin_at(Cutting *x, const Axis *axis, const Var *k,
                                 const Term *first, const KernBlock *body) {
  KernBuilder b = kern_builder(x->c, axis->index->loc);
  kern_expect(&b, body->count);
  kern_let_var(&b, axis->index, term_add(first, term_var(k)));
  for (int i = 0; i < body->count; i++)
    kern_add(&b, body->stms[i]);
  return kern_block(&b, body->results, body->result_count);
}

static void add_part(CutParts *p, const char *suffix, const Term *first,
                     const Term *end) {
  Cutting *x = p->cut;
  const Term *width = term_sub(end, first);
  if (term_is_i64(width, 0)) return;
  // The comparisons are found in what the axis binds itself, so the copy comes last.
  Axis axis = *p->stm->u.axis;
  if (!p->whole) axis.body = kern_assume(x->c, (KernKnown){ cut_op, x }, axis.body);
  if (sums_nothing(&axis) || (axis.role == AXIS_MAP && !kern_has_effect(axis.body)))
    return;
  axis.name = name_of(x->c->names, text_format("%s%s", axis.name, suffix));
  const Var *k = kern_index(x->c, axis.index->name, axis.index->loc);
  axis.body = begin_at(x, &axis, k, first, axis.body);
  axis.index = k;
  axis.width = width;
  if (p->so_far) axis.inits = p->so_far;
  KernStm part = *p->stm;
  part.u.axis = mem_copy(&axis, sizeof axis);
  const KernStm *copy = cut_copy(x, &part);
  kern_add(p->b, *copy);
  const Term **totals = new_array(const Term *, copy->binder_count + 1);
  for (int i = 0; i < copy->binder_count; i++)
    totals[i] = term_var(copy->binders[i]);
  p->so_far = totals;
}

// What a reduction without points gives.
static const Term *const *first_values(const Axis *axis) {
  if (axis->inits) return axis->inits;
  const Term **values = new_array(const Term *, kern_sum_count(axis) + 1);
  for (int o = 0, next = 0; o < axis->op_count; o++)
    for (int k = 0; k < axis->ops[o].count; k++)
      values[next++] = axis->ops[o].neutral[k];
  return values;
}

static const Term *between_of(KernBuilder *b, const char *name, const Term *at,
                              const Term *low, const Term *high) {
  return kern_let(b, name, term_min(term_max(at, low), high));
}

static void add_middle(CutParts *p, const Term *low, const Term *high) {
  const Border *border = p->cut->between;
  if (!border) {
    add_part(p, "", low, high);
    return;
  }
  const Term *from = between_of(p->b, "border", border->at, low, high), *to = from;
  p->cut->side = -1;
  add_part(p, "_before", low, from);
  if (border->there) {
    to = between_of(p->b, "border", moved(border->at, term_i64(0), 1), low, high);
    p->cut->side = 0;
    add_part(p, "_at", from, to);
  }
  p->cut->side = 1;
  add_part(p, "", to, high);
}

static void add_parts(void *state, KernBuilder *b, const KernStm *stm) {
  Cutting *x = state;
  const Axis *axis = stm->u.axis;
  CutParts p = { .cut = x, .b = b, .stm = stm };
  const Term *zero = term_i64(0), *end = kern_let(b, "end", term_max(axis->width, zero));
  const Term *low = zero, *high = end;
  if (x->low) low = between_of(b, "low", term_i64(x->low), zero, end);
  if (x->high)
    high = between_of(b, "high", term_add(tame_limit(axis->width), term_i64(x->high)),
                      low, end);
  p.whole = true;
  add_part(&p, "_low", zero, low);
  p.whole = false;
  add_middle(&p, low, high);
  p.whole = true;
  add_part(&p, "_high", high, end);
  const Term *const *last = p.so_far ? p.so_far : first_values(axis);
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(b, stm->binders[i], last[i]);
}

// ---- the step

const Kern *step_cut(Step *s, const Kern *kern, Name name) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const Axis *axis = stm->u.axis;
  if (axis->role != AXIS_MAP && axis->role != AXIS_REDUCE && axis->role != AXIS_LOOP)
    return step_refuse(s, "%s is no map, reduction or loop", name);
  if (axis->bind != BIND_SEQ) return step_refuse(s, "%s is no loop", name);
  Cutting x = { .c = s->c, .axis = axis, .offsets = offsets_in(kern, axis) };
  KernVisitor borders = { .stm = see_border, .state = &x };
  kern_visit_block(&borders, axis->body);
  if (!x.low && !x.high && !x.between)
    return step_refuse(s, "no comparison in %s changes its outcome once along it", name);
  if (kern_statements(axis->body) > MOST_CUT_STATEMENTS)
    return step_refuse(s, "%s would be too long in parts", name);
  return kern_name_axes(s->c, step_replace(s, kern, name, add_parts, &x));
}
