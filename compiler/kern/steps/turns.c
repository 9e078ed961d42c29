// axis a < w { m = (x + a) % n }
//   =>   first = x % n
//        axis a < w { at = first + a   m = if at < n then at else at - n }
//
// Why: a division for each of a block's points is most of what they cost, and a row that is read
// from another place on, and round, turns in one block of it.
//
// Where n is less than w, or the sum overflows, points divide.
#include "kern/steps/step.h"
#include "kern/sums.h"

typedef struct Turns {
  Compiler *c;
  KernBuilder *before;
  Map *lets;    // Var -> const Term *, of the block
  Map *bound;   // Var -> Var, likewise
  Map *widths;  // Var -> const Term *: indices from 0 on, constants
} Turns;

static void note_stm(KernVisitor *v, const KernStm *stm) {
  Turns *s = v->state;
  const Axis *axis = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
  if (stm->kind == KERN_LET) map_put(s->lets, stm->binders[0], stm->u.term);
  if (axis && axis->bind == BIND_SEQ && axis->width->kind == TERM_CONST)
    map_put(s->widths, axis->index, axis->width);
}

static void see_bound(KernVisitor *v, const Var *var) {
  Turns *s = v->state;
  map_put(s->bound, var, var);
}

// The only addend of the sum that is bound in the block, an index of constant width; or -1.
static int turning_index(const Turns *s, const IndexSum *sum) {
  int found = -1;
  for (int k = 0; k < sum->count; k++) {
    if (!term_mentions_any(sum->at[k], s->bound)) continue;
    bool index = sum->at[k]->kind == TERM_VAR && map_has(s->widths, sum->at[k]->u.var);
    if (found >= 0 || !index || sum->by[k] != 1) return -1;
    found = k;
  }
  return found;
}

static const Term *sum_without(const IndexSum *sum, int which) {
  const Term *t = term_i64(sum->constant);
  for (int k = 0; k < sum->count; k++)
    if (k != which) t = term_add(t, term_mul(sum->at[k], term_i64(sum->by[k])));
  return t;
}

static const Term *without_division(Turns *s, const Term *t) {
  const Term *n = t->u.op.args[1], *whole = term_inlined(s->lets, t->u.op.args[0]);
  IndexSum sum;
  if (!whole || term_mentions_any(n, s->bound) || !sum_of(whole, &sum)) return t;
  int which = turning_index(s, &sum);
  if (which < 0) return t;
  const Term *index = sum.at[which], *width = map_get(s->widths, index->u.var);
  const Term *base = kern_let(s->before, "base", sum_without(&sum, which));
  const Term *first =
      kern_let(s->before, "first", term_op2(OP_MOD, base, term_max(n, term_i64(1))));
  const Term *once = kern_let(
      s->before, "once",
      term_and(term_at_most(width, n), term_at_most(base, term_add(base, width))));
  const Term *at = term_add(first, index);
  return term_select(once, term_select(term_less(at, n), at, term_sub(at, n)), t);
}

static const Term *term_without_divisions(KernMapper *m, const Term *t) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = term_without_divisions(m, operands[i]);
  if (count) t = term_with(t, operands, count);
  bool mod = t->kind == TERM_OP && t->type == PRIM_I64 && t->u.op.op == OP_MOD;
  return mod && t->u.op.args[1]->kind != TERM_CONST ? without_division(m->state, t) : t;
}

const KernBlock *kern_turn_points(KernBuilder *before, const Var *index,
                                  const Term *width, const KernBlock *block) {
  if (width->kind != TERM_CONST) return block;
  Turns s = { .c = before->c, .before = before };
  s.lets = map_new(NULL);
  s.bound = map_new(NULL);
  s.widths = map_new(NULL);
  map_put(s.bound, index, index);
  map_put(s.widths, index, width);
  KernVisitor v = { .stm = note_stm, .binder = see_bound, .state = &s };
  kern_visit_block(&v, block);
  KernMapper m = {
    .c = before->c, .term = term_without_divisions, .block = kern_map_block, .state = &s
  };
  return kern_map_block(&m, block);
}
