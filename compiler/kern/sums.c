// Sums: index terms up to the laws of addition, bounds of them, and comparisons.
//
// Numbers of elements, and so indices and widths, are far below 2^62: with small factors no sum of
// theirs overflows.  Of scalars nothing is known, so one of them may be added once, no more.
#include "kern/sums.h"
#include "kern/kern_ask.h"

enum { MOST_FACTOR = 1 << 10 };

static bool add_one(IndexSum *s, const Term *t, int64_t by) {
  int i = 0;
  while (i < s->count && !term_same(s->at[i], t))
    i++;
  if (i == MOST_ADDENDS) return false;
  if (i == s->count) {
    s->at[s->count] = t;
    s->by[s->count++] = 0;
  }
  s->by[i] += by;
  bool small = s->by[i] <= MOST_FACTOR && s->by[i] >= -MOST_FACTOR;
  if (s->by[i] == 0) {
    s->count--;
    s->at[i] = s->at[s->count];
    s->by[i] = s->by[s->count];
  }
  return small;
}

static bool is_small_number(int64_t number) {
  return number < INT64_C(1) << 40 && number > -(INT64_C(1) << 40);
}

bool sum_add(const IndexSum *a, const IndexSum *b, int64_t by, IndexSum *out) {
  *out = *a;
  if (by > MOST_FACTOR || by < -MOST_FACTOR) return false;
  out->constant += by * b->constant;
  bool fits = is_small_number(out->constant);
  for (int i = 0; i < b->count && fits; i++)
    fits = add_one(out, b->at[i], by * b->by[i]);
  return fits;
}

static bool sum_of_op(const Term *t, IndexSum *out) {
  IndexSum a, b, none = { 0 };
  PrimOp op = t->u.op.op;
  if (!sum_of(t->u.op.args[0], &a) || !sum_of(t->u.op.args[1], &b)) return false;
  if (op != OP_MUL) return sum_add(&a, &b, op == OP_ADD ? 1 : -1, out);
  if (b.count) return sum_add(&none, &b, a.constant, out);
  return sum_add(&none, &a, b.constant, out);
}

static bool is_number(const Term *t) { return t->kind == TERM_CONST; }

bool sum_of(const Term *t, IndexSum *out) {
  *out = (IndexSum){ 0 };
  if (t->type != PRIM_I64) return false;
  if (t->kind == TERM_CONST) {
    out->constant = t->u.constant.u.i;
    return is_small_number(out->constant);
  }
  PrimOp op = t->kind == TERM_OP ? t->u.op.op : OP_COUNT;
  bool scales =
      op == OP_MUL && (is_number(t->u.op.args[0]) || is_number(t->u.op.args[1]));
  if (op == OP_ADD || op == OP_SUB || scales) return sum_of_op(t, out);
  return add_one(out, t, 1);
}

const Term *sum_term(const IndexSum *s) {
  const Term *sum = term_i64(0);
  for (int i = 0; i < s->count; i++)
    sum = term_add(sum, term_mul(s->at[i], term_i64(s->by[i])));
  return term_add(sum, term_i64(s->constant));
}

int64_t sum_factor(const IndexSum *s, const Var *var) {
  int64_t by = 0;
  for (int i = 0; i < s->count; i++) {
    if (!term_mentions(s->at[i], var)) continue;
    if (s->at[i]->kind != TERM_VAR) return 0;
    by = s->by[i];
  }
  return by;
}

// ---- extremes

static void drop_var(IndexSum *s, const Var *var) {
  for (int i = 0; i < s->count; i++)
    if (s->at[i]->kind == TERM_VAR && s->at[i]->u.var == var) {
      s->count--;
      s->at[i] = s->at[s->count];
      s->by[i] = s->by[s->count];
      return;
    }
}

// The index of the axis becomes 0 or width - 1.
static bool at_end(const Ranges *r, const Axis *axis, int sign, IndexSum *s) {
  int64_t by = sum_factor(s, axis->index);
  if (!by) return true;
  drop_var(s, axis->index);
  if ((by > 0) == (sign < 0)) return true;
  const Term *width = term_inlined(r->lets, axis->width);
  IndexSum last, before = *s;
  if (!width || !sum_of(width, &last)) return false;
  last.constant--;
  return sum_add(&before, &last, by, s);
}

bool sum_extreme(const Ranges *r, const IndexSum *s, int sign, IndexSum *out) {
  *out = *s;
  for (int i = r->depth - 1; i >= 0; i--)
    if (r->loops[i]->kind == KERN_AXIS && !at_end(r, r->loops[i]->u.axis, sign, out))
      return false;
  for (int i = 0; i < out->count; i++)
    if (term_mentions_any(out->at[i], r->inside)) return false;
  return true;
}

// ---- comparisons

static bool is_natural(const Ranges *r, const Term *t) {
  return t->kind == TERM_VAR && map_has(r->naturals, t->u.var);
}

static bool is_plainly_positive(const Ranges *r, const IndexSum *s) {
  int64_t scalars = 0;
  for (int i = 0; i < s->count; i++) {
    if (s->by[i] < 0 || !is_natural(r, s->at[i])) return false;
    scalars += s->by[i];
  }
  return s->constant > 0 && scalars <= 2;
}

// What is at least 0 as the fact says: a < b, a <= b.
static bool sum_of_fact(const Term *fact, IndexSum *out) {
  if (fact->kind != TERM_OP || fact->u.op.operands != PRIM_I64) return false;
  PrimOp op = fact->u.op.op;
  IndexSum a, b;
  if ((op != OP_LT && op != OP_LE) || !sum_of(fact->u.op.args[0], &a) ||
      !sum_of(fact->u.op.args[1], &b) || !sum_add(&b, &a, -1, out))
    return false;
  if (op == OP_LT) out->constant--;
  return true;
}

bool sum_is_positive(const Ranges *r, const IndexSum *s, const Facts *facts) {
  if (is_plainly_positive(r, s)) return true;
  for (; facts; facts = facts->outer) {
    IndexSum known, rest;
    if (sum_of_fact(facts->holds, &known) && sum_add(s, &known, -1, &rest) &&
        is_plainly_positive(r, &rest))
      return true;
  }
  return false;
}

// ---- what is known of a kernel

static void see_natural(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS) map_put(v->state, stm->u.axis->index, stm);
}

static void see_sizes(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  for (int d = 0; d < access.tensor->rank; d++) {
    const Term *dim = access.tensor->dims[d];
    if (dim->kind == TERM_VAR) map_put(v->state, dim->u.var, dim);
  }
}

static void see_round(void *state, const void *key, void *value) {
  map_put(state, key, value);
}

Map *sum_naturals(const Kern *kern) {
  Map *naturals = map_new(NULL);
  KernVisitor v = { .stm = see_natural, .access = see_sizes, .state = naturals };
  kern_visit_block(&v, kern->body);
  if (kern->rounds) map_each(kern->rounds, see_round, naturals);
  return naturals;
}

static void see_host_let(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_LET) map_put(v->state, stm->binders[0], stm->u.term);
}

Map *sum_lets(const Kern *kern) {
  Map *lets = map_new(kern->outside);
  KernVisitor v = { .stm = see_host_let, .state = lets };
  kern_visit_block(&v, kern->body);
  return lets;
}
