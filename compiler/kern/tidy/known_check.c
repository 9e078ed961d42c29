// check c; ..; check c && d   =>   check c; ..; check d
// axis a < n { check n != 0; check 0 <= a && a < n }   =>   axis a < n { }
// if c { check c }   =>   if c { }
//
// Why: a check in a loop is a branch per round, and per vector.  What follows from types and
// conditions alone, Core knows already (core/simplify_range.c); here are the checks that have been
// passed as well, which no later pass takes away.
#include "kern/facts.h"
#include "kern/tidy/tidy.h"

typedef struct Dropping {
  KernMapper mapper;
  const Facts *facts;  // around
  Map *terms;          // Var -> const Term *: what scalars are
} Dropping;

static const Term *resolved(const Dropping *d, const Term *t) {
  const Term *known = t->kind == TERM_VAR ? map_get(d->terms, t->u.var) : NULL;
  return known ? known : t;
}

static bool is_op(const Term *t, PrimOp op) {
  return t->kind == TERM_OP && t->u.op.op == op;
}

// ---- what follows

static bool is_among(const Facts *facts, const Term *condition) {
  for (; facts; facts = facts->outer)
    if (term_same(facts->holds, condition)) return true;
  return false;
}

// Is something greater than it?
static bool has_greater(const Facts *facts, const Term *t) {
  for (; facts; facts = facts->outer)
    if (is_op(facts->holds, OP_LT) && term_same(facts->holds->u.op.args[0], t))
      return true;
  return false;
}

// Is the number above a constant that is not negative, or another such one at least?
static bool is_positive(const Facts *facts, const Term *t) {
  for (; facts; facts = facts->outer) {
    const Term *f = facts->holds;
    if (!is_op(f, OP_LT) && !is_op(f, OP_LE)) continue;
    const Term *least = f->u.op.args[0];
    if (least->kind == TERM_CONST && prim_is_int(least->type) &&
        term_same(f->u.op.args[1], t) &&
        (is_op(f, OP_LT) ? least->u.constant.u.i >= 0 : least->u.constant.u.i > 0))
      return true;
  }
  return false;
}

// t = base + by, for a constant
static bool is_offset(const Dropping *d, const Term *t, const Term **base, int64_t *by) {
  const Term *sum = resolved(d, t);
  if (t->type != PRIM_I64 || (!is_op(sum, OP_ADD) && !is_op(sum, OP_SUB))) return false;
  const Term *c = sum->u.op.args[1];
  if (c->kind != TERM_CONST || c->u.constant.u.i == INT64_MIN) return false;
  *base = sum->u.op.args[0];
  *by = is_op(sum, OP_ADD) ? c->u.constant.u.i : -c->u.constant.u.i;
  return true;
}

// ---- numbers that are not 0

// The variable that another one is but a name of, or the number that it is.
static const Term *named_as(const Dropping *d, const Term *t) {
  for (const Term *next; t->kind == TERM_VAR; t = next) {
    next = resolved(d, t);
    if (next == t || (next->kind != TERM_VAR && next->kind != TERM_CONST)) break;
  }
  return t;
}

static bool is_signed_conversion(const Term *t) {
  return t->kind == TERM_CONVERT && prim_is_signed(t->type) &&
         prim_is_int(t->u.arg->type) && prim_is_signed(t->u.arg->type);
}

// Is the number at most what so many bits with a sign can hold?
static bool is_narrow(const Dropping *d, const Term *t, int bits) {
  const Term *base;
  int64_t by;
  if (is_offset(d, t, &base, &by) && by <= 0 && by >= INT32_MIN) t = base;  // no wrap
  t = resolved(d, t);
  return is_signed_conversion(t) && prim_bits(t->u.arg->type) <= bits;
}

// t < n, for such an n
static bool is_below_narrow(const Dropping *d, const Facts *facts, const Term *t,
                            int bits) {
  for (; facts; facts = facts->outer)
    if (is_op(facts->holds, OP_LT) && term_same(facts->holds->u.op.args[0], t) &&
        is_narrow(d, facts->holds->u.op.args[1], bits))
      return true;
  return false;
}

// 0 <= t, also where t is a counter in other bits, which has none to lose.
static bool is_natural_number(const Dropping *d, const Facts *facts, const Term *t) {
  t = named_as(d, t);
  if (t->type == PRIM_I64 && is_among(facts, term_at_most(term_i64(0), t))) return true;
  const Term *value = resolved(d, t);
  if (!is_signed_conversion(value)) return false;
  const Term *from = named_as(d, value->u.arg);
  bool wide = prim_bits(from->type) > prim_bits(t->type);
  return from->type == PRIM_I64 && is_among(facts, term_at_most(term_i64(0), from)) &&
         (!wide || is_below_narrow(d, facts, from, prim_bits(t->type)));
}

static bool is_even(const Dropping *d, const Term *t) {
  t = resolved(d, t);
  for (int i = 0; i < 2 && is_op(t, OP_MUL); i++) {
    const Term *factor = named_as(d, t->u.op.args[i]);
    if (factor->kind == TERM_CONST && factor->u.constant.u.i % 2 == 0) return true;
  }
  return false;
}

// x + 2 where 0 <= x, which may wrap, but not as far as to 0; 2 * x + 3.
static bool is_sum_not_zero(const Dropping *d, const Facts *facts, const Term *t) {
  const Term *sum = resolved(d, t);
  if (!is_op(sum, OP_ADD) || !prim_is_int(sum->type) || !prim_is_signed(sum->type))
    return false;
  for (int i = 0; i < 2; i++) {
    const Term *c = named_as(d, sum->u.op.args[i]), *other = sum->u.op.args[1 - i];
    if (c->kind != TERM_CONST) continue;
    if (c->u.constant.u.i > 0 && is_natural_number(d, facts, other)) return true;
    if (c->u.constant.u.i % 2 && is_even(d, other)) return true;
  }
  return false;
}

// 0 <= x + 1 where 0 <= x and x is not the greatest number; x - 1 < n where 0 <= x < n; x != 0
// where 2 <= x.
static bool follows(const Dropping *d, const Facts *facts, const Term *t) {
  const Term *const *args = t->u.op.args, *zero = term_i64(0), *base;
  int64_t by;
  if (is_op(t, OP_LE) && term_is_i64(args[0], 0) && is_offset(d, args[1], &base, &by))
    return by == 1 && is_among(facts, term_at_most(zero, base)) &&
           has_greater(facts, base);
  if (is_op(t, OP_NE) && term_same(args[1], term_const(prim_zero(args[1]->type))))
    return is_positive(facts, args[0]) || is_sum_not_zero(d, facts, args[0]);
  if (is_op(t, OP_LT) && is_offset(d, args[0], &base, &by))
    return by < 0 && is_among(facts, term_at_most(zero, base)) &&
           is_among(facts, term_less(base, args[1]));
  return false;
}

// What is left of a condition; NULL: nothing.
static const Term *unknown_of(const Dropping *d, const Facts *facts,
                              const Term *condition) {
  if (is_op(condition, OP_LAND)) {
    const Term *a = unknown_of(d, facts, condition->u.op.args[0]);
    const Term *b = unknown_of(d, facts, condition->u.op.args[1]);
    return a && b ? term_and(a, b) : a ? a : b;
  }
  bool known = term_is_bool(condition, true) || is_among(facts, condition) ||
               follows(d, facts, condition);
  return known ? NULL : condition;
}

// ---- kernels

// Within an axis there is a point, so its width is not 0, and its index is below that.
static const Facts *facts_within(const Facts *facts, const KernStm *stm) {
  if (stm->kind != KERN_AXIS) return facts;
  const Term *index = term_var(stm->u.axis->index), *width = stm->u.axis->width;
  facts = facts_with(facts, term_op2(OP_NE, width, term_i64(0)));
  facts = facts_with(facts, term_at_most(term_i64(0), index));
  return facts_with(facts, term_less(index, width));
}

static void add_branches(Dropping *d, KernBuilder *b, const KernStm *stm) {
  KernStm copy = *stm;
  const Facts *facts = d->facts;
  d->facts = facts_of_outcome(facts, d->terms, stm->u.cond.condition, true);
  copy.u.cond.then_block = d->mapper.block(&d->mapper, stm->u.cond.then_block);
  d->facts = facts_of_outcome(facts, d->terms, stm->u.cond.condition, false);
  copy.u.cond.else_block = d->mapper.block(&d->mapper, stm->u.cond.else_block);
  kern_add(b, copy);
}

static void add_check(const Dropping *d, const Facts *facts, KernBuilder *b,
                      const KernStm *stm) {
  KernStm copy = *stm;
  copy.u.check.condition = unknown_of(d, facts, stm->u.check.condition);
  if (copy.u.check.condition) kern_add(b, copy);
}

static void add_known(Dropping *d, const Facts *facts, KernBuilder *b,
                      const KernStm *stm) {
  b->loc = stm->loc;
  d->facts = facts_within(facts, stm);
  if (stm->kind == KERN_CHECK)
    add_check(d, facts, b, stm);
  else if (stm->kind == KERN_IF)
    add_branches(d, b, stm);
  else
    kern_add(b, kern_map_stm(&d->mapper, stm));
  if (stm->kind == KERN_LET) map_put(d->terms, stm->binders[0], stm->u.term);
}

static const KernBlock *drop_known(KernMapper *m, const KernBlock *block) {
  Dropping *d = m->state;
  const Facts *around = d->facts, *facts = around;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    add_known(d, facts, &b, stm);
    if (stm->kind == KERN_CHECK)
      facts = facts_of_outcome(facts, d->terms, stm->u.check.condition, true);
  }
  d->facts = around;
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_drop_known_checks(Compiler *c, const Kern *kern) {
  Dropping d = { .mapper = { .c = c, .block = drop_known }, .terms = map_new(NULL) };
  d.mapper.state = &d;
  Kern out = *kern;
  out.body = drop_known(&d.mapper, kern->body);
  return mem_copy(&out, sizeof out);
}
