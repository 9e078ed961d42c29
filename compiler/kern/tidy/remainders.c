// x / 3, x % 3        =>  as C divides, where x is not negative
// (x + 1) % m         =>  x + 1 < m ? x + 1 : 0, where 0 <= x < m
// (x + y) % m         =>  x + y < m ? x + y : x + y - m, where both are
// (x - 1 + m) % m     =>  x > 0 ? x - 1 : m - 1, and (x + m + 1) % m likewise; two places away, too
// x / p, x % p        =>  x >> k, x & (p - 1), where p = 1 << k or a product of such, and positive
//
// What loops carry counts as such if it begins so and each round keeps it so: the digits of a
// number, the place in a ring or in a table of hashed keys.  Comes late, as other passes look for
// divisions of indices.  Why: rounding down takes as long as the division by a constant itself, and
// other divisions take twenty times as long as a comparison.
#include "kern/kern_ask.h"
#include "kern/sums.h"
#include "kern/tidy/tidy.h"

enum { REMAINDER_FUEL = 24 };
enum { FAR_PLACE = 2 };  // in a ring; each step doubles the text

// What a loop carries, at first and from round to round.
typedef struct Carried {
  const Term *init, *next;
} Carried;

typedef struct Remainders {
  KernMapper mapper;
  Map *naturals;      // Var -> ..: indices and sizes
  const Map *starts;  // likewise
  Map *lets;          // Var -> const Term *
  Map *carried;       // Var -> const Carried *
  Map *widths;        // Var -> const Term *: of axes, by their indices
  Map *assumed;       // Var -> itself: carried, while its next value is looked at
  const Var *row;     // the index of rows that read the same places; NULL: of none
  int64_t least;      // how many rows there are at least
} Remainders;

// ---- what is not negative

static bool is_unsigned(Remainders *r, const Term *t, int fuel);

// A small constant, an index, a size, or such a sum: sums of them do not overflow.
static bool is_never_negative(Remainders *r, const Term *t) {
  if (t->kind == TERM_CONST)
    return t->u.constant.u.i >= 0 && t->u.constant.u.i <= INT32_MAX;
  return t->kind == TERM_VAR &&
         (map_has(r->naturals, t->u.var) || (r->starts && map_has(r->starts, t->u.var)));
}

static bool op_is_unsigned(Remainders *r, const Term *t, int fuel) {
  PrimOp op = t->u.op.op;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (op == OP_ADD) return is_never_negative(r, a) && is_never_negative(r, b);
  if (op == OP_MAX || op == OP_AND)
    return is_unsigned(r, a, fuel) || is_unsigned(r, b, fuel);
  if (op == OP_MOD) return is_unsigned(r, b, fuel);
  if (op == OP_REM) return is_unsigned(r, a, fuel);
  if (op == OP_MIN || op == OP_DIV || op == OP_QUOT)
    return is_unsigned(r, a, fuel) && is_unsigned(r, b, fuel);
  return false;
}

// Does it hold of what a loop carries: at first, and in the next round if in this one?
static bool in_every_round(Remainders *r, const Var *var, const Term *m, int fuel,
                           bool (*holds)(Remainders *r, const Term *t, const Term *m,
                                         int fuel)) {
  const Carried *c = map_get(r->carried, var);
  if (!c) return false;
  if (map_has(r->assumed, var)) return true;
  map_put(r->assumed, var, c);
  bool kept = holds(r, c->init, m, fuel) && holds(r, c->next, m, fuel);
  map_remove(r->assumed, var);
  return kept;
}

static bool stays_unsigned(Remainders *r, const Term *t, const Term *m, int fuel) {
  (void)m;
  return is_unsigned(r, t, fuel);
}

static bool is_unsigned(Remainders *r, const Term *t, int fuel) {
  if (t->type != PRIM_I64 || fuel <= 0) return false;
  if (is_never_negative(r, t)) return true;
  if (t->kind == TERM_CONST) return t->u.constant.u.i >= 0;
  if (t->kind == TERM_CONVERT)
    return !prim_is_signed(t->u.arg->type) && prim_is_int(t->u.arg->type) &&
           prim_bits(t->u.arg->type) < 64;
  if (t->kind == TERM_SELECT)
    return is_unsigned(r, t->u.select.a, fuel - 1) &&
           is_unsigned(r, t->u.select.b, fuel - 1);
  if (t->kind == TERM_OP) return op_is_unsigned(r, t, fuel - 1);
  if (t->kind != TERM_VAR) return false;
  const Term *let = map_get(r->lets, t->u.var);
  return let ? is_unsigned(r, let, fuel - 1)
             : in_every_round(r, t->u.var, NULL, fuel - 1, stays_unsigned);
}

// ---- what is a remainder by m, which is not negative

static bool is_remainder(Remainders *r, const Term *t, const Term *m, int fuel) {
  if (fuel <= 0) return false;
  if (t->kind == TERM_OP && (t->u.op.op == OP_MOD || t->u.op.op == OP_REM))
    return term_same(t->u.op.args[1], m) &&
           (t->u.op.op == OP_MOD || is_unsigned(r, t->u.op.args[0], fuel - 1));
  if (t->kind == TERM_SELECT)
    return is_remainder(r, t->u.select.a, m, fuel - 1) &&
           is_remainder(r, t->u.select.b, m, fuel - 1);
  if (t->kind != TERM_VAR) return false;
  const Term *width = map_get(r->widths, t->u.var), *let = map_get(r->lets, t->u.var);
  if (width) return term_same(width, m);
  return let ? is_remainder(r, let, m, fuel - 1)
             : in_every_round(r, t->u.var, m, fuel - 1, is_remainder);
}

static const Term *sum_behind(Remainders *r, const Term *t) {
  const Term *let = t->kind == TERM_VAR ? map_get(r->lets, t->u.var) : NULL;
  return let ? let : t;
}

// (x + y) % m, or NULL.
static const Term *turned(Remainders *r, const Term *sum, const Term *m) {
  const Term *plain = sum_behind(r, sum);
  bool adds = plain->kind == TERM_OP && plain->u.op.op == OP_ADD;
  if (!adds || !is_never_negative(r, m)) return NULL;
  const Term *x = plain->u.op.args[0], *y = plain->u.op.args[1];
  const Term *less = term_less(sum, m);
  if (term_is_i64(y, 1) && is_remainder(r, x, m, REMAINDER_FUEL))
    return term_select(less, sum, term_i64(0));
  if (is_remainder(r, x, m, REMAINDER_FUEL) && is_remainder(r, y, m, REMAINDER_FUEL))
    return term_select(less, sum, term_sub(sum, m));
  return NULL;
}

// x + by + times * m, where x is a remainder by m; false: it is no such sum.
typedef struct NextPlace {
  const Term *x;
  int64_t by, times;
} NextPlace;

static bool find_next_place(Remainders *r, const Term *t, const Term *m, NextPlace *out) {
  IndexSum sum;
  const Term *whole = term_inlined(r->lets, t);
  if (!whole || !sum_of(whole, &sum)) return false;
  *out = (NextPlace){ .by = sum.constant };
  for (int i = 0; i < sum.count; i++) {
    if (term_same(sum.at[i], m))
      out->times = sum.by[i];
    else if (!out->x && sum.by[i] == 1 && is_remainder(r, sum.at[i], m, REMAINDER_FUEL))
      out->x = sum.at[i];
    else
      return false;
  }
  return out->x != NULL;
}

// Of m that form a ring.
static const Term *place_behind(const Term *x, const Term *m) {
  const Term *next = term_add(x, term_i64(1));
  return term_select(term_less(next, m), next, term_i64(0));
}

static const Term *place_before(const Term *x, const Term *m) {
  const Term *one = term_i64(1);
  return term_select(term_less(term_i64(0), x), term_sub(x, one), term_sub(m, one));
}

// Written alike for all places: compilers see where those of neighbouring rows are the same.
static const Term *place_of_row(const Term *x, int64_t by, const Term *m) {
  const Term *at = by ? term_add(x, term_i64(by)) : x;
  return term_select(term_less(at, term_i64(0)), term_add(at, m),
                     term_select(term_less(at, m), at, term_sub(at, m)));
}

// The place one or two before, or behind, of m that form a ring; or NULL.  Rounded down, or not
// negative but for m = 1, where that is the same.
static const Term *next_place(Remainders *r, const Term *t, const Term *m, bool down) {
  NextPlace p;
  if (!is_never_negative(r, m) || !find_next_place(r, t, m, &p)) return NULL;
  bool fits = p.times == 1 || (p.times == 0 && (down || p.by >= 0));
  if (!fits) return NULL;
  bool is_row = r->row && p.x->kind == TERM_VAR && p.x->u.var == r->row;
  if (is_row && p.by <= r->least && -p.by <= r->least) return place_of_row(p.x, p.by, m);
  if (p.by < -FAR_PLACE || p.by > FAR_PLACE) return NULL;
  const Term *place = p.x;
  for (; p.by > 0; p.by--)
    place = place_behind(place, m);
  for (; p.by < 0; p.by++)
    place = place_before(place, m);
  return place;
}

// ---- division by powers of two

// k, if the term is 2^k wherever it is positive (it may be -2^63, or 0 as a product); or NULL.
// Shifts take their counts modulo 64, so k may be any number.
static const Term *exponent(Remainders *r, const Term *t, int fuel) {
  if (t->type != PRIM_I64 || fuel <= 0) return NULL;
  if (t->kind == TERM_CONST) {
    int64_t n = t->u.constant.u.i;
    bool power = n > 0 && (n & (n - 1)) == 0;
    return power ? term_i64(__builtin_ctzll((uint64_t)n)) : NULL;
  }
  const Term *let = t->kind == TERM_VAR ? map_get(r->lets, t->u.var) : NULL;
  if (let) return exponent(r, let, fuel - 1);
  if (t->kind != TERM_OP || (t->u.op.op != OP_SHL && t->u.op.op != OP_MUL)) return NULL;
  const Term *a = exponent(r, t->u.op.args[0], fuel - 1), *b = t->u.op.args[1];
  if (t->u.op.op == OP_MUL) b = exponent(r, b, fuel - 1);
  return a && b ? term_add(a, b) : NULL;
}

// x / -2^63 or x % -2^63, rounded down.
static const Term *by_least(bool remainder, const Term *x) {
  const Term *zero = term_i64(0), *least = term_i64(INT64_MIN);
  const Term *above = remainder ? term_op2(OP_ADD, x, least) : term_i64(-1);
  const Term *same = remainder ? zero : term_i64(1), *rest = remainder ? x : zero;
  return term_select(term_less(zero, x), above,
                     term_select(term_op2(OP_EQ, x, least), same, rest));
}

// Rounded down, by a shift or a mask; or NULL.
static const Term *by_power(Remainders *r, const Term *t) {
  enum { POWER_FUEL = 8 };
  const Term *x = t->u.op.args[0], *p = t->u.op.args[1];
  bool remainder = t->u.op.op == OP_MOD;
  const Term *k = p->kind == TERM_CONST ? NULL : exponent(r, p, POWER_FUEL);
  if (!k || (!remainder && t->u.op.op != OP_DIV)) return NULL;
  const Term *quick =
      remainder ? term_op2(OP_AND, x, term_sub(p, term_i64(1))) : term_op2(OP_SHR, x, k);
  return term_select(term_less(term_i64(0), p), quick, by_least(remainder, x));
}

// ---- rewriting

static const Term *without_rounding(Remainders *r, const Term *t) {
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  bool remainder = t->u.op.op == OP_MOD || t->u.op.op == OP_REM;
  const Term *turn = remainder ? turned(r, a, b) : NULL;
  if (remainder && !turn) turn = next_place(r, a, b, t->u.op.op == OP_MOD);
  if (!turn) turn = by_power(r, t);
  if (turn) return turn;
  bool rounds = t->u.op.op == OP_MOD || t->u.op.op == OP_DIV;
  bool constant = b->kind == TERM_CONST && b->u.constant.u.i > 0;
  if (!rounds || !constant || !is_unsigned(r, a, REMAINDER_FUEL)) return t;
  return term_op2(remainder ? OP_REM : OP_QUOT, a, b);
}

static const Term *in_term(Remainders *r, const Term *t) {
  const Term *operands[3], *mapped[3];
  int count = term_operands(t, operands);
  bool same = true;
  for (int i = 0; i < count; i++) {
    mapped[i] = in_term(r, operands[i]);
    same = same && mapped[i] == operands[i];
  }
  if (!same) t = term_with(t, mapped, count);
  if (t->kind != TERM_OP || t->type != PRIM_I64) return t;
  PrimOp op = t->u.op.op;
  bool divides = op == OP_DIV || op == OP_MOD || op == OP_QUOT || op == OP_REM;
  return divides ? without_rounding(r, t) : t;
}

static const Term *map_remainders(KernMapper *m, const Term *t) {
  return in_term(m->state, t);
}

// ---- what is known

static void see_carried(Remainders *r, const Var *const *params, const Term *const *inits,
                        const KernBlock *body, int count) {
  for (int i = 0; i < count; i++)
    map_put(r->carried, params[i],
            new_node(Carried, .init = inits[i], .next = body->results[i]));
}

static void see_remainder_stm(KernVisitor *v, const KernStm *stm) {
  Remainders *r = v->state;
  if (stm->kind == KERN_LET) map_put(r->lets, stm->binders[0], stm->u.term);
  if (stm->kind == KERN_WHILE)
    see_carried(r, stm->u.loop.params, stm->u.loop.inits, stm->u.loop.body,
                stm->u.loop.param_count);
  if (stm->kind != KERN_AXIS) return;
  const Axis *axis = stm->u.axis;
  map_put(r->widths, axis->index, axis->width);
  if (axis->role == AXIS_LOOP)
    see_carried(r, axis->params, axis->inits, axis->body, axis->param_count);
}

const Kern *kern_simple_remainders_of_rows(Compiler *c, const Kern *kern, const Var *row,
                                           int64_t least) {
  Remainders r = { .mapper = { .c = c, .term = map_remainders, .block = kern_map_block },
                   .naturals = sum_naturals(kern),
                   .starts = kern->starts,
                   .lets = map_new(NULL),
                   .carried = map_new(NULL),
                   .widths = map_new(NULL),
                   .assumed = map_new(NULL),
                   .row = row,
                   .least = least };
  r.mapper.state = &r;
  KernVisitor v = { .stm = see_remainder_stm, .state = &r };
  kern_visit_block(&v, kern->body);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = kern_map_block(&r.mapper, kern->body);
  return out;
}

const Kern *kern_simple_remainders(Compiler *c, const Kern *kern) {
  return kern_simple_remainders_of_rows(c, kern, NULL, 0);
}
