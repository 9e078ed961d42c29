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

// 0 <= x + 1 where 0 <= x and x is not the greatest number; x - 1 < n where 0 <= x < n; x != 0
// where 2 <= x.
static bool follows(const Dropping *d, const Facts *facts, const Term *t) {
  const Term *const *args = t->u.op.args, *zero = term_i64(0), *base;
  int64_t by;
  if (is_op(t, OP_LE) && term_is_i64(args[0], 0) && is_offset(d, args[1], &base, &by))
    return by == 1 && is_among(facts, term_at_most(zero, base)) &&
           has_greater(facts, base);
  if (is_op(t, OP_NE) && term_same(args[1], term_const(prim_zero(args[1]->type))))
    return is_positive(facts, args[0]);
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
