// t / d, t % d   =>   (high * t + (low * t >> 32)) >> 32, t - that * d
//                     where 1 <= d <= 2^31 and 0 <= t < 2^31, of which the host makes sure
//
// Divisors that are the same at all points, indices as dividends: spans of Fourier transforms, rows
// and columns of what lies in one dimension.  Why: a division takes as long as a dozen other
// operations, and lanes have none.
//
// high and low are the halves of ceil(2^64 / d), which the host computes; the quotient is exact for
// 32 bits (Lemire, Kaser and Kurz, "Faster remainder by direct computation", 2019, theorem 1), and
// no intermediate result reaches 2^63.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

enum { HALF = 32, MOST_BITS = 31, LEAST_BITS = 27, MOST_SUMS = 4, MOST_CONDITIONS = 12 };

typedef struct Divisor {
  const Var *var, *high, *low;
} Divisor;

// Whether a variable is 0 or more, and below 2^bits.
typedef struct Smallness {
  int bits;
  bool holds;
} Smallness;

typedef struct Dividing {
  KernMapper mapper;
  const Kern *kern;
  Map *inside;    // Var -> itself: bound in the kernel
  Map *lets;      // Var -> const Term *
  Map *widths;    // Var -> const Term *: of axes, by their indices
  Map *divisors;  // Var -> Divisor *
  Map *small;     // Var -> const Smallness *: where the conditions hold
  KernBuilder *host;
  const Term *conditions[MOST_CONDITIONS];
  int count;
  bool at_points;  // some dividend differs from point to point
} Dividing;

// ---- what there is

static void see_inner(KernVisitor *v, const Var *var) {
  Dividing *x = v->state;
  map_put(x->inside, var, var);
}

static void see_widths(KernVisitor *v, const KernStm *stm) {
  Dividing *x = v->state;
  if (stm->kind == KERN_LET) map_put(x->lets, stm->binders[0], stm->u.term);
  if (stm->kind == KERN_AXIS) map_put(x->widths, stm->u.axis->index, stm->u.axis->width);
}

// ---- sizes of dividends

static bool ensure(Dividing *x, const Term *condition) {
  for (int i = 0; i < x->count; i++)
    if (term_same(x->conditions[i], condition)) return true;
  if (x->count == MOST_CONDITIONS || term_is_bool(condition, false)) return false;
  if (!term_is_bool(condition, true)) x->conditions[x->count++] = condition;
  return true;
}

static bool ensure_at_most(Dividing *x, const Term *t, int bits) {
  return ensure(x, term_at_most(t, term_i64(INT64_C(1) << bits)));
}

static const Var *host_var(const Dividing *x, const Term *t) {
  return t->kind == TERM_VAR && !map_has(x->inside, t->u.var) ? t->u.var : NULL;
}

static bool is_division(const Dividing *x, const Term *t) {
  if (t->kind != TERM_OP || t->type != PRIM_I64 || op_arity(t->u.op.op) != 2)
    return false;
  PrimOp op = t->u.op.op;
  bool division = op == OP_DIV || op == OP_QUOT || op == OP_MOD || op == OP_REM;
  return division && host_var(x, t->u.op.args[1]);
}

static bool is_below(Dividing *x, const Term *t, int bits);

static bool find_small(Dividing *x, const Var *var, int bits) {
  const Term *let = map_get(x->lets, var), *width = map_get(x->widths, var);
  if (let) return is_below(x, let, bits);
  if (width) return kern_host_knows(x->kern, width) && ensure_at_most(x, width, bits);
  if (map_has(x->inside, var)) return false;
  const Term *t = term_var(var);
  return ensure(x, term_at_most(term_i64(0), t)) &&
         ensure(x, term_less(t, term_i64(INT64_C(1) << bits)));
}

// Each variable is asked about once, however often sums mention it.
static bool is_small_var(Dividing *x, const Var *var, int bits) {
  const Smallness *known = map_get(x->small, var);
  if (known && known->holds && known->bits <= bits) return true;
  if (known && !known->holds && known->bits >= bits) return false;
  Smallness found = { bits, find_small(x, var, bits) };
  map_put(x->small, var, mem_copy(&found, sizeof found));
  return found.holds;
}

// Is it 0 or more, and below 2^bits, where the conditions hold?
static bool is_below(Dividing *x, const Term *t, int bits) {
  if (t->type != PRIM_I64 || bits < LEAST_BITS) return false;
  if (t->kind == TERM_CONST)
    return t->u.constant.u.i >= 0 && t->u.constant.u.i < INT64_C(1) << bits;
  if (t->kind == TERM_VAR) return is_small_var(x, t->u.var, bits);
  if (t->kind != TERM_OP) return false;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (t->u.op.op == OP_ADD) return is_below(x, a, bits - 1) && is_below(x, b, bits - 1);
  if (!is_division(x, t) || !ensure(x, term_at_most(term_i64(1), b))) return false;
  if (t->u.op.op == OP_DIV || t->u.op.op == OP_QUOT) return is_below(x, a, bits);
  return is_below(x, a, MOST_BITS) && ensure_at_most(x, b, bits);
}

// ---- quotients

static const Divisor *divisor_of(Dividing *x, const Var *var) {
  const Divisor *known = map_get(x->divisors, var);
  if (known) return known;
  const Term *most = term_i64(INT64_C(1) << MOST_BITS),
             *one = term_i64(INT64_C(1) << HALF);
  const Term *d =
      kern_let(x->host, "divisor", term_min(term_max(term_var(var), term_i64(1)), most));
  const Term *high = kern_let(x->host, "high", term_quot(one, d));
  const Term *left = term_sub(one, term_mul(high, d));
  const Term *low = kern_let(x->host, "low", term_ceil_div(term_mul(left, one), d));
  known = new_node(Divisor, .var = var, .high = high->u.var, .low = low->u.var);
  map_put(x->divisors, var, known);
  return known;
}

static const Term *shifted(const Term *t) { return term_op2(OP_SHR, t, term_i64(HALF)); }

static const Term *quotient(const Divisor *d, const Term *t) {
  const Term *low = shifted(term_mul(term_var(d->low), t));
  return shifted(term_add(term_mul(term_var(d->high), t), low));
}

// Is it the index of an axis of that width, or a place beside it?  Interiors need no division for
// those (steps/interior.c).
static bool is_beside_index(const Dividing *x, const Term *t, const Term *width,
                            int sums) {
  if (t->kind == TERM_OP && (t->u.op.op == OP_ADD || t->u.op.op == OP_SUB))
    return sums > 0 && (is_beside_index(x, t->u.op.args[0], width, sums - 1) ||
                        is_beside_index(x, t->u.op.args[1], width, sums - 1));
  if (t->kind != TERM_VAR) return false;
  const Term *let = map_get(x->lets, t->u.var), *own = map_get(x->widths, t->u.var);
  return let ? is_beside_index(x, let, width, sums) : own && term_same(own, width);
}

static bool needs_no_division(Dividing *x, const Term *t) {
  int before = x->count;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (a->kind != TERM_VAR || is_beside_index(x, a, b, MOST_SUMS)) return false;
  if (is_below(x, a, MOST_BITS) && ensure(x, term_at_most(term_i64(1), b)) &&
      ensure_at_most(x, b, MOST_BITS))
    return true;
  x->count = before;
  x->small = map_new(NULL);
  return false;
}

static const Term *by_reciprocal(KernMapper *m, const Term *t) {
  Dividing *x = m->state;
  const Term *operands[3];
  if (is_division(x, t) && needs_no_division(x, t)) {
    const Term *a = t->u.op.args[0];
    const Divisor *d = divisor_of(x, t->u.op.args[1]->u.var);
    const Term *q = quotient(d, a);
    x->at_points |= !host_var(x, a);
    bool whole = t->u.op.op == OP_DIV || t->u.op.op == OP_QUOT;
    return whole ? q : term_sub(a, term_mul(q, term_var(d->var)));
  }
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = by_reciprocal(m, operands[i]);
  return count ? term_with(t, operands, count) : t;
}

// A divisor is not 0.
static const Term *not_zero(void *state, const Term *t) {
  const Dividing *x = state;
  bool asks = t->kind == TERM_OP && (t->u.op.op == OP_NE || t->u.op.op == OP_EQ) &&
              term_is_i64(t->u.op.args[1], 0);
  const Var *var = asks ? host_var(x, t->u.op.args[0]) : NULL;
  return var && map_has(x->divisors, var) ? term_bool(t->u.op.op == OP_NE) : t;
}

bool kern_by_reciprocals(Compiler *c, const Kern *kern, KernQuick *out) {
  KernBuilder host = kern_builder(c, kern->loc);
  Dividing x = { .mapper = { .c = c, .term = by_reciprocal, .block = kern_map_block },
                 .kern = kern,
                 .inside = map_new(NULL),
                 .lets = map_new(NULL),
                 .widths = map_new(NULL),
                 .divisors = map_new(NULL),
                 .small = map_new(NULL),
                 .host = &host };
  x.mapper.state = &x;
  KernVisitor v = { .stm = see_widths, .binder = see_inner, .state = &x };
  kern_visit_block(&v, kern->body);
  const KernBlock *body = kern_map_block(&x.mapper, kern->body);
  if (!x.at_points) return false;
  const Term *condition = term_bool(true);
  for (int i = 0; i < x.count; i++)
    condition = term_and(condition, x.conditions[i]);
  Kern *quick = mem_copy(kern, sizeof *kern);
  quick->body = kern_assume(c, (KernKnown){ not_zero, &x }, body);
  *out = (KernQuick){ quick, kern_block(&host, NULL, 0), condition, false };
  return true;
}
