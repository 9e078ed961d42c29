// Where the numbers lie that points compute, from the point itself: i - 1, max 0 (i - 1),
// (i + 1) % n, i + d where d counts to a small number, if i == 0 then n - 1 else i - 1.
#include "flat/workers/workers.h"

Positions spread_positions(Spread *s, Atom width) {
  return (Positions){ s, width, map_new(NULL), map_new(NULL) };
}

const RowPosition *spread_position(const Positions *p, Atom a) {
  return a.kind == ATOM_VAR ? map_get(p->found, a.u.var) : NULL;
}

// ---- small numbers

static bool is_small(SmallRange r) {
  return r.least >= -MOST_BORDER && r.most <= MOST_BORDER && r.least <= r.most;
}

static bool range_of(const Positions *p, Atom a, SmallRange *out) {
  if (a.kind == ATOM_VAR) {
    const SmallRange *known = map_get(p->ranges, a.u.var);
    if (known) *out = *known;
    return known != NULL;
  }
  if (atom_type(a).elem != PRIM_I64) return false;
  *out = (SmallRange){ a.u.constant.u.i, a.u.constant.u.i };
  return is_small(*out);
}

static void note_range(Map *ranges, const Var *var, SmallRange r) {
  if (is_small(r)) map_put(ranges, var, mem_copy(&r, sizeof r));
}

static bool is_zero(Atom a) { return atom_is_i64(a, 0); }

static void note_sum(Positions *p, const Var *var, const Exp *exp) {
  SmallRange x, y;
  const Atom *args = exp->u.op.args;
  if (!range_of(p, args[0], &x) || !range_of(p, args[1], &y)) return;
  if (exp->u.op.op == OP_ADD)
    note_range(p->ranges, var, (SmallRange){ x.least + y.least, x.most + y.most });
  if (exp->u.op.op == OP_SUB)
    note_range(p->ranges, var, (SmallRange){ x.least - y.most, x.most - y.least });
}

void spread_note_below(Positions *p, const Var *index, Atom width) {
  if (width.kind != ATOM_CONST || map_has(p->found, index)) return;
  note_range(p->ranges, index, (SmallRange){ 0, width.u.constant.u.i - 1 });
}

// Parameters of functions of elements, indices of spaces and loops.
void spread_enter(Positions *p, const Exp *exp) {
  bool soac = exp->kind == EXP_MAP || exp->kind == EXP_REDOMAP ||
              exp->kind == EXP_SCANOMAP || exp->kind == EXP_FILTER;
  for (int i = 0; soac && i < exp->u.soac.array_count; i++) {
    Atom array = exp->u.soac.arrays[i];
    const SmallRange *r =
        array.kind == ATOM_VAR ? map_get(p->s->offsets, array.u.var) : NULL;
    if (r) note_range(p->ranges, exp->u.soac.fn.params[i], *r);
  }
  for (int d = 0; exp->kind == EXP_SEG && d < exp->u.seg->dim_count; d++)
    spread_note_below(p, exp->u.seg->dims[d].index, exp->u.seg->dims[d].width);
  if (exp->kind == EXP_LOOP && exp->u.loop.form == CORE_FOR)
    spread_note_below(p, exp->u.loop.index, exp->u.loop.bound);
}

// ---- positions

// n - k, where k is small
static bool from_end(const Spread *s, Atom position, Atom rows, int64_t *k) {
  const Exp *def = position.kind == ATOM_VAR ? map_get(s->defs, position.u.var) : NULL;
  if (!def || !atom_equal(def->u.op.args[0], rows)) return false;
  Atom by = def->u.op.args[1];
  bool less = def->u.op.op == OP_SUB;
  if (by.kind != ATOM_CONST || (!less && def->u.op.op != OP_ADD)) return false;
  *k = less ? by.u.constant.u.i : -by.u.constant.u.i;
  return *k > 0 && *k <= MOST_BORDER;
}

bool spread_is_last(const Spread *s, Atom position, Atom rows) {
  int64_t k;
  return from_end(s, position, rows, &k) && k == 1;
}

// What an operator makes of a position and something else; false if that is none.
static bool move_position(const Positions *p, PrimOp op, Atom other, RowPosition *at) {
  SmallRange r;
  if (at->ring) return false;
  switch ((int)op) {
  case OP_ADD:
  case OP_SUB:
    if (!range_of(p, other, &r)) {
      at->loose = true;
      return atom_equal(other, p->width);
    }
    at->least += op == OP_ADD ? r.least : -r.most;
    at->most += op == OP_ADD ? r.most : -r.least;
    return is_small((SmallRange){ at->least, at->most });
  case OP_MOD:
    at->loose = false;
    at->ring = true;
    return atom_equal(other, p->width);
  case OP_MAX:  // where it is 0, i is less than that
    if (at->most < 0) at->most = 0;
    return !at->loose && is_zero(other);
  case OP_MIN:
    if (at->least > 0) at->least = 0;
    return !at->loose && spread_is_last(p->s, other, p->width);
  default: return false;
  }
}

static void note_moved(Positions *p, const Var *var, const Exp *exp) {
  const Atom *args = exp->u.op.args;
  bool commutes = exp->u.op.op != OP_SUB && exp->u.op.op != OP_MOD;
  bool swapped = commutes && !spread_position(p, args[0]);
  const RowPosition *from = spread_position(p, args[swapped]);
  if (!from) return;
  RowPosition at = *from;
  if (move_position(p, exp->u.op.op, args[!swapped], &at))
    map_put(p->found, var, mem_copy(&at, sizeof at));
}

// xs[i], where the elements of xs are positions or small.
static void note_element(Positions *p, const Var *var, const Exp *exp) {
  Atom array = exp->u.index.array;
  const DimIndex *row = &exp->u.index.dims[0];
  if (exp->u.index.dim_count != 1 || row->is_slice || array.kind != ATOM_VAR) return;
  const SmallRange *r = map_get(p->s->offsets, array.u.var);
  if (r) note_range(p->ranges, var, *r);
  const RowPosition *at = spread_position(p, row->start);
  const RowPosition *element = map_get(p->s->indices, array.u.var);
  bool own = at && !at->least && !at->most && !at->loose;
  if (own && element && atom_equal(atom_type(array).dims[0], p->width))
    map_put(p->found, var, element);
}

// ---- at the ends

typedef struct EndTest {
  bool otherwise;  // it is the end where the condition is false
  bool last;       // the end is n - 1, not 0
} EndTest;

static bool is_at(const Positions *p, Atom a, int64_t distance) {
  const RowPosition *at = spread_position(p, a);
  return at && !at->loose && !at->ring && at->least == distance && at->most == distance;
}

static bool is_last(const Positions *p, Atom a) {
  return spread_is_last(p->s, a, p->width);
}

static bool is_one(Atom a) { return atom_is_i64(a, 1); }

// Does the condition, or its contrary, say that the point is the first or the last one?
static bool end_test(const Positions *p, Atom condition, EndTest *out) {
  const Exp *def =
      condition.kind == ATOM_VAR ? map_get(p->s->defs, condition.u.var) : NULL;
  if (!def) return false;
  Atom x = def->u.op.args[0], y = def->u.op.args[1];
  bool x_own = is_at(p, x, 0), y_own = is_at(p, y, 0);
  bool x_next = is_at(p, x, 1) && atom_equal(y, p->width);  // i + 1 and n
  bool y_next = is_at(p, y, 1) && atom_equal(x, p->width);
  *out = (EndTest){ false, false };
  switch ((int)def->u.op.op) {
  case OP_EQ:
    out->last = (x_own && is_last(p, y)) || (y_own && is_last(p, x)) || x_next || y_next;
    return out->last || (x_own && is_zero(y)) || (y_own && is_zero(x));
  case OP_LT:
    out->last = (x_own && is_last(p, y)) || x_next;
    out->otherwise = out->last || is_zero(x);
    return out->last || (y_own && is_zero(x)) || (x_own && is_one(y));
  case OP_LE:
    out->last = (y_own && is_last(p, x)) || y_next;
    out->otherwise = !out->last && is_one(x);
    return out->last || (x_own && is_zero(y)) || (y_own && is_one(x));
  default: return false;
  }
}

// Where a number is that is taken at that end.  If it is none of the array's, it must not seem to
// be one.
static bool position_at_end(const Positions *p, Atom a, bool last, RowPosition *out) {
  const RowPosition *known = spread_position(p, a);
  SmallRange r;
  int64_t k;
  if (known) {
    *out = *known;
    return !known->loose;
  }
  if (a.kind == ATOM_CONST && range_of(p, a, &r) && r.least >= 0)
    *out = last ? (RowPosition){ r.least + 1, r.least + 1, false, true }
                : (RowPosition){ r.least, r.least, false, false };
  else if (from_end(p->s, a, p->width, &k))
    *out = last ? (RowPosition){ 1 - k, 1 - k, false, false }
                : (RowPosition){ -k, -k, false, true };
  else
    return false;
  return true;
}

// if i == 0 then n - 1 else i - 1
static void note_choice(Positions *p, const Stm *stm) {
  const Exp *exp = stm->exp;
  EndTest test;
  RowPosition end, other;
  if (stm->binder_count != 1 || !end_test(p, exp->u.cond.condition, &test)) return;
  const Body *at_end = test.otherwise ? exp->u.cond.else_body : exp->u.cond.then_body;
  const Body *else_where = test.otherwise ? exp->u.cond.then_body : exp->u.cond.else_body;
  const RowPosition *known = spread_position(p, else_where->results[0]);
  if (!known || known->loose) return;
  if (!position_at_end(p, at_end->results[0], test.last, &end)) return;
  other = *known;
  if (end.least < other.least) other.least = end.least;
  if (end.most > other.most) other.most = end.most;
  other.ring = other.ring || end.ring;
  map_put(p->found, stm->binders[0], mem_copy(&other, sizeof other));
}

// ---- statements

// [-1, 0, 1]
static void note_literal(Spread *s, const Stm *stm) {
  const Exp *exp = stm->exp;
  SmallRange all = { MOST_BORDER, -MOST_BORDER };
  if (exp->kind != EXP_ARRAY || exp->u.array.row.rank) return;
  if (exp->u.array.row.elem != PRIM_I64) return;
  for (int i = 0; i < exp->u.array.count; i++) {
    Atom a = exp->u.array.atoms[i];
    int64_t value = a.kind == ATOM_CONST ? a.u.constant.u.i : INT64_MAX;
    if (value < all.least) all.least = value;
    if (value > all.most) all.most = value;
  }
  note_range(s->offsets, stm->binders[0], all);
}

static bool is_number_op(const Exp *exp) {
  return exp->kind == EXP_OP && exp->u.op.type == PRIM_I64 && op_arity(exp->u.op.op) == 2;
}

void spread_note_point(Positions *p, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (exp->kind == EXP_INDEX) note_element(p, stm->binders[0], exp);
  if (exp->kind == EXP_IF) note_choice(p, stm);
  note_literal(p->s, stm);
  if (!is_number_op(exp)) return;
  map_put(p->s->defs, stm->binders[0], exp);
  note_sum(p, stm->binders[0], exp);
  note_moved(p, stm->binders[0], exp);
}

// segmap1 <i < n> {.. in {i + 1}}
static void note_indices(Spread *s, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  SegDim dim = seg->dims[0];
  Positions p = spread_positions(s, dim.width);
  spread_note_below(&p, dim.index, dim.width);
  map_put(p.found, dim.index, new (RowPosition));
  for (int i = 0; i < seg->body->stm_count; i++)
    spread_note_point(&p, &seg->body->stms[i]);
  for (int i = 0; i < stm->binder_count; i++) {
    const RowPosition *at = spread_position(&p, seg->body->results[i]);
    SmallRange r;
    if (at && !at->loose) map_put(s->indices, stm->binders[i], mem_copy(at, sizeof *at));
    if (range_of(&p, seg->body->results[i], &r))
      note_range(s->offsets, stm->binders[i], r);
  }
}

void spread_note(Spread *s, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (is_number_op(exp)) map_put(s->defs, stm->binders[0], exp);
  note_literal(s, stm);
  bool is_map = exp->kind == EXP_SEG && exp->u.seg->kind == SEG_MAP;
  if (is_map && exp->u.seg->dim_count == 1) note_indices(s, stm);
}
