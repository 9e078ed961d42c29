#include <math.h>

#include "kern/steps/guess.h"

enum { UNKNOWN = 64, SHORT = 8, LARGE = 10000, LARGER = 11000 };

static void know(Guess *g, const Var *var, const double *numbers) {
  map_put(g->known, var, mem_copy(numbers, GUESS_PLACES * sizeof *numbers));
}

// ---- numbers of terms

typedef struct Numbers {
  const Guess *g;
  int place;
  Map *
      computed;  // Var of g->outside -> const double *: each one once, however often it is used
} Numbers;

static double number_of(Numbers *s, const Term *t);

static double number_of_computed(Numbers *s, const Var *var, const Term *value) {
  if (!s->computed) s->computed = map_new(NULL);
  const double *known = map_get(s->computed, var);
  if (known) return *known;
  double number = number_of(s, value);
  map_put(s->computed, var, mem_copy(&number, sizeof number));
  return number;
}

// A loop of the host is now near its beginning, now near its end.
static double number_of_round(Numbers *s, const Term *bound) {
  static const double places[GUESS_PLACES] = { 0.2, 0.8, 0.3, 0.9, 0.5 };
  return trunc(number_of(s, bound) * places[s->place]);
}

static double number_of_var(Numbers *s, const Var *var) {
  const double *known = map_get(s->g->known, var);
  if (known) return known[s->place];
  const Term *value = s->g->outside ? map_get(s->g->outside, var) : NULL;
  const Term *bound = s->g->rounds ? map_get(s->g->rounds, var) : NULL;
  if (bound) return number_of_round(s, bound);
  return value ? number_of_computed(s, var, value) : UNKNOWN;
}

// 2^k - 1, below which a number is its remainder by 2^k.
static bool is_mask(const Term *t) {
  int64_t mask = t->kind == TERM_CONST ? t->u.constant.u.i : -1;
  return mask >= 0 && (mask & (mask + 1)) == 0;
}

static double number_of(Numbers *s, const Term *t) {
  if (t->kind == TERM_CONST && t->type == PRIM_I64) return (double)t->u.constant.u.i;
  if (t->kind == TERM_VAR) return number_of_var(s, t->u.var);
  if (t->kind != TERM_OP) return UNKNOWN;
  if (t->u.op.op == OP_NOT && t->type == PRIM_I64)
    return -1 - number_of(s, t->u.op.args[0]);
  if (op_arity(t->u.op.op) != 2) return UNKNOWN;
  double a = number_of(s, t->u.op.args[0]), b = number_of(s, t->u.op.args[1]);
  PrimOp op = t->u.op.op;
  if (op == OP_ADD) return a + b;
  if (op == OP_SUB) return a - b;
  if (op == OP_MUL) return a * b;
  if (op == OP_MIN) return a < b ? a : b;
  if (op == OP_MAX) return a > b ? a : b;
  if ((op == OP_QUOT || op == OP_DIV) && b >= 1) return trunc(a / b);
  if ((op == OP_REM || op == OP_MOD) && b >= 1) return a - floor(a / b) * b;
  if (op == OP_AND && is_mask(t->u.op.args[1])) return a - floor(a / (b + 1)) * (b + 1);
  return UNKNOWN;
}

double guess_term(const Guess *g, const Term *t, int place) {
  Numbers s = { g, place, NULL };
  return number_of(&s, t);
}

typedef struct Guessed {
  const Guess *g;
  bool known;
} Guessed;

static void see_unknown(void *state, const Var *var) {
  Guessed *s = state;
  const Term *value = s->g->outside ? map_get(s->g->outside, var) : NULL;
  if (map_has(s->g->known, var)) return;
  if (value)
    s->known = s->known && guess_is_known(s->g, value);
  else
    s->known = false;
}

bool guess_is_known(const Guess *g, const Term *t) {
  Guessed s = { g, true };
  term_each_var(t, see_unknown, &s);
  return s.known;
}

// ---- sizes

typedef struct SizeGuess {
  Guess *g;
  double value;
} SizeGuess;

static void guess_size(SizeGuess *s, const Var *var);

// What is taken away is not the most of it.
static void guess_sizes_in(SizeGuess *s, const Term *t) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  if (t->kind == TERM_VAR) guess_size(s, t->u.var);
  if (t->kind == TERM_OP && t->u.op.op == OP_SUB) count = 1;
  for (int i = 0; i < count; i++)
    guess_sizes_in(s, operands[i]);
}

// What the host computes a size from has the value.
static void guess_size(SizeGuess *s, const Var *var) {
  const Term *computed = s->g->outside ? map_get(s->g->outside, var) : NULL;
  if (computed) {
    if (map_has(s->g->sized, var)) return;
    map_put(s->g->sized, var, var);
    guess_sizes_in(s, computed);
    return;
  }
  double numbers[GUESS_PLACES];
  for (int i = 0; i < GUESS_PLACES; i++)
    numbers[i] = s->value;
  if (!map_has(s->g->known, var)) know(s->g, var, numbers);
}

static void guess_sizes(Guess *g, const Term *t, double value) {
  SizeGuess size = { g, value };
  guess_sizes_in(&size, t);
}

static void see_width(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS) guess_sizes(v->state, stm->u.axis->width, SHORT);
}

static void see_lock(KernVisitor *v, const KernStm *stm) {
  if (!kern_is_lock(stm)) return;
  KernVisitor inner = { .stm = see_width, .state = v->state };
  kern_visit_block(&inner, stm->u.axis->body);
}

// What indices are compared with is as large as they are.
static void see_limits(Guess *g, const Term *t) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  bool compares = t->kind == TERM_OP && t->u.op.operands == PRIM_I64 &&
                  (t->u.op.op == OP_LT || t->u.op.op == OP_LE);
  for (int i = 0; i < count; i++)
    if (compares && operands[i]->kind == TERM_VAR &&
        map_has(g->sizes, operands[i]->u.var))
      guess_sizes(g, operands[i], LARGE);
    else
      see_limits(g, operands[i]);
}

static void see_condition(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_LET && stm->u.term->type == PRIM_BOOL)
    see_limits(v->state, stm->u.term);
  if (stm->kind == KERN_IF) see_limits(v->state, stm->u.cond.condition);
}

static void see_size(KernVisitor *v, Access access, bool stores) {
  Guess *g = v->state;
  (void)stores;
  for (int i = 0; i < access.tensor->rank; i++)
    if (access.tensor->dims[i]->kind == TERM_VAR)
      map_put(g->sizes, access.tensor->dims[i]->u.var, access.tensor);
}

Guess guess_new(const Kern *kern) {
  Guess g = { kern->outside, kern->rounds, map_new(NULL), map_new(NULL), map_new(NULL) };
  KernVisitor sizes = { .access = see_size, .state = &g },
              limits = { .stm = see_condition, .state = &g };
  kern_visit_block(&sizes, kern->body);
  kern_visit_block(&limits, kern->body);
  KernVisitor v = { .stm = see_lock, .state = &g };
  kern_visit_block(&v, kern->body);
  return g;
}

// What picks one of a few rows lies among them.
static void guess_row(Guess *g, const Term *index, const Term *size) {
  if (index->kind != TERM_VAR || size->kind != TERM_CONST ||
      map_has(g->known, index->u.var))
    return;
  guess_let(g, index->u.var, term_i64(size->u.constant.u.i / 2));
}

static void see_dims(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  for (int i = 0; i < access.tensor->rank; i++) {
    guess_sizes(v->state, access.tensor->dims[i], LARGER);
    guess_row(v->state, access.index[i], access.tensor->dims[i]);
  }
}

void guess_dims(Guess *g, const KernStm *stm) {
  KernVisitor v = { .access = see_dims, .state = g };
  kern_visit_stm(&v, stm);
}

// ---- indices

void guess_axis(Guess *g, const Axis *axis, int depth) {
  static const double places[] = { 0.41, 0.62, 0.29, 0.53, 0.37, 0.71, 0.47 };
  enum { COUNT = sizeof places / sizeof places[0] };
  double numbers[GUESS_PLACES];
  guess_sizes(g, axis->width, LARGE);
  for (int i = 0; i < GUESS_PLACES; i++)
    numbers[i] = trunc(guess_term(g, axis->width, i) * places[(2 * i + depth) % COUNT]);
  know(g, axis->index, numbers);
}

void guess_let(Guess *g, const Var *var, const Term *value) {
  double numbers[GUESS_PLACES];
  for (int i = 0; i < GUESS_PLACES; i++)
    numbers[i] = guess_term(g, value, i);
  know(g, var, numbers);
}
