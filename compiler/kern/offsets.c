#include "kern/offsets.h"

enum {
  MOST_TAME = 4,  // operations, one in another
  MOST_MOVES = 6,
};
static const int64_t TAME = INT64_C(1) << 48;  // no index and no size is greater

// ---- what there is

static void note_offset_let(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_LET) map_put(v->state, stm->binders[0], stm->u.term);
}

static void note_index(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS) map_put(v->state, stm->u.axis->index, stm->u.axis->index);
}

// Arrays of the host exist, and have no dimension that overflows.
static void note_size(KernVisitor *v, Access access, bool stores) {
  const Tensor *t = access.tensor;
  (void)stores;
  for (int i = 0; t->space == TENSOR_GLOBAL && i < t->rank; i++)
    if (t->dims[i]->kind == TERM_VAR)
      map_put(v->state, t->dims[i]->u.var, t->dims[i]->u.var);
}

static void note_inside(KernVisitor *v, const Var *var) { map_put(v->state, var, var); }

Offsets offsets_in(const Kern *kern, const Axis *axis) {
  Offsets o = { kern, map_new(NULL), map_new(NULL), map_new(kern->starts), false };
  KernVisitor lets = { .stm = note_offset_let, .state = o.lets },
              tame = { .stm = note_index, .access = note_size, .state = o.tame },
              binders = { .binder = note_inside, .state = o.bound };
  kern_visit_block(&lets, kern->body);
  kern_visit_block(&tame, kern->body);
  kern_visit_block(&binders, axis->body);
  map_put(o.bound, axis->index, axis->index);
  for (int i = 0; i < axis->param_count; i++)
    map_put(o.bound, axis->params[i], axis->params[i]);
  return o;
}

// ---- forms

static const Term *let_of(const Offsets *o, const Term *t) {
  const Term *known = t->kind == TERM_VAR ? map_get(o->lets, t->u.var) : NULL;
  if (!known && t->kind == TERM_VAR && o->kern->outside)
    known = map_get(o->kern->outside, t->u.var);
  return known;
}

typedef struct Closed {
  const Offsets *offsets;
  bool closed;
} Closed;

static void see_open(void *state, const Var *var) {
  Closed *s = state;
  if (map_has(s->offsets->bound, var)) s->closed = false;
}

bool offset_is_closed(const Offsets *o, const Term *t) {
  Closed s = { o, true };
  term_each_var(t, see_open, &s);
  return s.closed;
}

static bool is_tame(const Offsets *o, const Term *t, int fuel) {
  if (t->kind == TERM_CONST) return t->u.constant.u.i > -TAME && t->u.constant.u.i < TAME;
  if (t->kind == TERM_VAR && map_has(o->tame, t->u.var)) return true;
  const Term *op = t->kind == TERM_VAR ? let_of(o, t) : t;
  if (!op || !fuel) return false;
  if (op->kind == TERM_VAR || op->kind == TERM_CONST) return is_tame(o, op, fuel - 1);
  if (op->kind != TERM_OP || op->u.op.operands != PRIM_I64 || op_arity(op->u.op.op) != 2)
    return false;
  PrimOp kind = op->u.op.op;
  const Term *a = op->u.op.args[0], *b = op->u.op.args[1];
  if (kind == OP_REM || kind == OP_MOD) return is_tame(o, b, fuel - 1);
  bool keeps = kind == OP_ADD || kind == OP_SUB || kind == OP_MIN || kind == OP_MAX ||
               kind == OP_QUOT || kind == OP_DIV;
  return keeps && is_tame(o, a, fuel - 1) && is_tame(o, b, fuel - 1);
}

bool offset_is_tame(const Offsets *o, const Term *t) { return is_tame(o, t, MOST_TAME); }

static bool may_be_offset(const Offsets *o, const Term *t) {
  return offset_is_closed(o, t) && (o->wild || offset_is_tame(o, t));
}

static bool is_moved(const Offsets *o, const Term *t, const Term *base, int fuel,
                     const Term **by) {
  *by = term_i64(0);
  if (term_same(t, base)) return true;
  const Term *op = t->kind == TERM_VAR ? let_of(o, t) : t;
  if (!op || !fuel) return false;
  if (op->kind == TERM_VAR) return is_moved(o, op, base, fuel - 1, by);
  if (op->kind != TERM_OP || (op->u.op.op != OP_ADD && op->u.op.op != OP_SUB))
    return false;
  const Term *a = op->u.op.args[0], *b = op->u.op.args[1];
  if (op->u.op.op == OP_ADD && offset_is_closed(o, a) && !offset_is_closed(o, b)) {
    const Term *other = a;
    a = b;
    b = other;
  }
  if (!may_be_offset(o, b) || !is_moved(o, a, base, fuel - 1, by)) return false;
  *by = op->u.op.op == OP_ADD ? term_add(*by, b) : term_sub(*by, b);
  return true;
}

bool offset_from(const Offsets *o, const Term *t, const Term *base, const Term **by) {
  return is_moved(o, t, base, MOST_MOVES, by);
}

static bool falls_from(const Offsets *o, const Term *t, const Term *index, int fuel,
                       const Term **by) {
  const Term *op = t->kind == TERM_VAR ? let_of(o, t) : t, *more;
  if (!op || !fuel) return false;
  if (op->kind == TERM_VAR) return falls_from(o, op, index, fuel - 1, by);
  if (op->kind != TERM_OP || (op->u.op.op != OP_ADD && op->u.op.op != OP_SUB))
    return false;
  const Term *a = op->u.op.args[0], *b = op->u.op.args[1];
  bool adds = op->u.op.op == OP_ADD;
  if (may_be_offset(o, a)) {
    bool found = adds ? falls_from(o, b, index, fuel - 1, &more)
                      : is_moved(o, b, index, fuel - 1, &more);
    *by = found ? (adds ? term_add(a, more) : term_sub(a, more)) : NULL;
    return found;
  }
  if (!may_be_offset(o, b) || !falls_from(o, a, index, fuel - 1, by)) return false;
  *by = adds ? term_add(*by, b) : term_sub(*by, b);
  return true;
}

bool offset_falls(const Offsets *o, const Term *t, const Term *index, const Term **by) {
  return falls_from(o, t, index, MOST_MOVES, by);
}
