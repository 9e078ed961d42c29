// axis: i < n * m { .. i / m .. i % m .. }
//   =>   axis: o < n { axis: k < m { let i = o * m + k; .. o .. k .. } }
//        where n and m are small and not negative, of which the host makes sure
// axis: i < s { .. i / m .. i % m .. }
//   =>   likewise, where s = n * m for an n that i / m is compared with, else for n = s / m; and
//        where m is no short row
//
// A shift of the index to the right divides it, and the last bits of it are a remainder.
//
// Why: rows and columns of what lies in one dimension are found by divisions, and lanes gather what
// they read there.  Of o and k both are plain indices.
//
// Products are compared by their factors, also those of scalars that the host computes.  Of several
// divisors the greatest decides; what is left of the others is found in the next round, as
// k % d for i % d.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

enum { MOST_FACTORS = 6, MOST_ENSURED = 12, PRODUCT_BITS = 60, CONSTANT_BITS = 20 };
// Rows of fewer points stay: of lengths that the host finds out, with plain points or with long
// ones; of constant length, but for those of a few points in all.
enum { LEAST_ROW = 4, LEAST_LONG_ROW = 16, LEAST_CONSTANT_ROW = 5 };
enum { UNROLLED = 8, FEW_IN_ALL = 16, LEAST_OF_FEW = 3, MOST_WITHIN = 64 };

// What is not constant, and what is: 1 or more.
typedef struct Factors {
  const Term *at[MOST_FACTORS];
  int count;
  int64_t constant;
} Factors;

static const Factors no_factors = { .constant = 1 };

typedef struct Unflatten {
  KernMapper mapper;
  const Kern *kern;
  Map *inside;  // Var -> itself: bound in the kernel
  Map *lets;    // Var -> const Term *
  // Of the axis at hand:
  const Var *index, *outer, *inner;
  const Term *all;      // its width
  Factors width, rows;  // rows: the divisor
  bool divides;         // the width is no product of which the divisor is a part
  bool
      long_points;  // library functions, loops: lanes without gaps matter more than moves
  bool loads;       // what is divided is an index of a load
  const Term *limit;  // how many rows there seem to be then, or NULL
  Map *plain;         // Var -> const Term *: another variable, in whose place it stands
  bool done;
  // Of all axes:
  KernBuilder host;                   // what the host computes
  Map *outside;                       // as in Kern
  const Term *whole;                  // the host asks whether widths are so many rows
  const Term *ensured[MOST_ENSURED];  // and whether they are small
  int ensured_count, longest;         // longest: factors of a width
  int64_t greatest;                   // and the greatest constant one
} Unflatten;

static void note_bound(KernVisitor *v, const Var *var) {
  Unflatten *x = v->state;
  map_put(x->inside, var, var);
}

static void see_lets(KernVisitor *v, const KernStm *stm) {
  Unflatten *x = v->state;
  if (stm->kind == KERN_LET) map_put(x->lets, stm->binders[0], stm->u.term);
}

// ---- products

static bool is_product(const Term *t) {
  return t && t->kind == TERM_OP && t->type == PRIM_I64 && t->u.op.op == OP_MUL;
}

static bool add_factor(const Term *t, Factors *out) {
  const int64_t most = INT64_C(1) << CONSTANT_BITS;
  if (t->kind == TERM_CONST) {
    int64_t by = t->u.constant.u.i;
    if (by <= 0 || by > most / out->constant) return false;
    out->constant *= by;
    return true;
  }
  if (t->kind != TERM_VAR || out->count == MOST_FACTORS) return false;
  out->at[out->count++] = t;
  return true;
}

static bool has_factors(const Factors *f) { return f->count > 0 || f->constant > 1; }

static bool has_more_factors(const Factors *a, const Factors *b) {
  return a->count > b->count || (a->count == b->count && a->constant > b->constant);
}

// Adds the factors of what the host knows; false: it does not, or there are too many.
static bool add_factors(const Unflatten *x, const Term *t, Factors *out) {
  if (t->kind == TERM_VAR && map_has(x->inside, t->u.var)) return false;
  const Term *made = t->kind == TERM_VAR && x->kern->outside
                         ? map_get(x->kern->outside, t->u.var)
                         : NULL;
  if (is_product(made)) t = made;
  if (is_product(t))
    return add_factors(x, t->u.op.args[0], out) && add_factors(x, t->u.op.args[1], out);
  return t->type == PRIM_I64 && add_factor(t, out);
}

// Takes the factors of `part` out of `all`; false: some are not there.
static bool take_factors(Factors *all, const Factors *part) {
  for (int i = 0; i < part->count; i++) {
    int k = 0;
    while (k < all->count && !term_same(all->at[k], part->at[i]))
      k++;
    if (k == all->count) return false;
    all->at[k] = all->at[--all->count];
  }
  bool divides = all->constant % part->constant == 0;
  if (divides) all->constant /= part->constant;
  return divides;
}

static const Term *product_of(const Factors *f) {
  const Term *product = term_i64(f->constant);
  for (int i = 0; i < f->count; i++)
    product = term_mul(product, f->at[i]);
  return product;
}

// ---- divisions

static bool is_quotient_op(PrimOp op) { return op == OP_DIV || op == OP_QUOT; }

// The division that a variable stands for, or the index, or NULL.
static const Term *seen_through(const Unflatten *x, const Term *t) {
  while (t && t->kind == TERM_VAR && t->u.var != x->index)
    t = map_get(x->lets, t->u.var);
  return t;
}

// A division of what is not negative.
typedef struct IndexDivision {
  bool quotient;
  const Term *of, *by;
} IndexDivision;

// x >> k divides by a power of two, and x & (2^k - 1) is the remainder.
static bool bits_divide(const Term *t, IndexDivision *out) {
  const Term *bits = t->u.op.args[1];
  if (bits->kind != TERM_CONST) return false;
  int64_t n = bits->u.constant.u.i;
  bool shifts = t->u.op.op == OP_SHR && n > 0 && n < CONSTANT_BITS;
  bool masks = t->u.op.op == OP_AND && n > 0 && n < INT64_C(1) << CONSTANT_BITS &&
               (n & (n + 1)) == 0;
  if (!shifts && !masks) return false;
  const int64_t by = shifts ? INT64_C(1) << n : n + 1;
  *out = (IndexDivision){ shifts, t->u.op.args[0], term_i64(by) };
  return true;
}

static bool as_division(const Term *t, IndexDivision *out) {
  if (t->kind != TERM_OP || t->type != PRIM_I64) return false;
  PrimOp op = t->u.op.op;
  if (op == OP_SHR || op == OP_AND) return bits_divide(t, out);
  if (!is_quotient_op(op) && op != OP_MOD && op != OP_REM) return false;
  *out = (IndexDivision){ is_quotient_op(op), t->u.op.args[0], t->u.op.args[1] };
  return true;
}

// Is it (index / first) by `second`?  first: no factors if it is the index itself.
static bool divides_index(const Unflatten *x, const Term *t, Factors *first,
                          Factors *second, bool *quotient) {
  IndexDivision d, within;
  *first = *second = no_factors;
  if (!as_division(t, &d) || !add_factors(x, d.by, second)) return false;
  *quotient = d.quotient;
  const Term *a = seen_through(x, d.of);
  if (!a) return false;
  if (as_division(a, &within) && within.quotient) {
    if (!add_factors(x, within.by, first)) return false;
    a = seen_through(x, within.of);
  }
  return a && a->kind == TERM_VAR && a->u.var == x->index;
}

// Could the width be so many rows?  The host will know.  Rows of constant length where the number
// of the row is part of what it reads: else lanes over several of them are better.
static bool may_be_rows(const Unflatten *x, const Factors *divisor, bool quotient) {
  for (int i = 0; i < divisor->count; i++)
    if (term_same(divisor->at[i], x->all)) return false;
  bool constant = x->loads && quotient && x->all->kind != TERM_CONST;
  return x->divides && (divisor->count || constant);
}

static bool is_part(const Unflatten *x, const Factors *divisor) {
  Factors rest = x->width;
  return !x->divides && take_factors(&rest, divisor) && has_factors(&rest);
}

static void see_division(Unflatten *x, const Term *t) {
  const Term *operands[3];
  Factors first, second;
  bool quotient;
  if (divides_index(x, t, &first, &second, &quotient) && !has_factors(&first) &&
      has_more_factors(&second, &x->rows) &&
      (is_part(x, &second) || may_be_rows(x, &second, quotient)))
    x->rows = second;
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    see_division(x, operands[i]);
}

static void see_divisions(KernVisitor *v, const Term *t) { see_division(v->state, t); }

static void see_loaded(KernVisitor *v, Access access, bool stores) {
  Unflatten *x = v->state;
  x->loads = !stores;
  for (int i = 0; i < access.tensor->rank && !stores; i++) {
    const Term *index = term_inlined(x->lets, access.index[i]);
    if (index) see_division(x, index);
  }
  x->loads = false;
}

// A division of the index in terms of the row and the place in it; NULL: it is none.
static const Term *without_index(const Unflatten *x, const Term *t) {
  Factors first, second, rest = x->rows;
  bool quotient;
  if (!divides_index(x, t, &first, &second, &quotient) || !take_factors(&rest, &first))
    return NULL;
  const Term *k = term_var(x->inner), *by = product_of(&first);
  if (has_factors(&first)) k = term_quot(k, by);
  if (!take_factors(&rest, &second)) return NULL;
  bool more = has_factors(&rest);
  if (!quotient) return more ? term_op2(OP_REM, k, product_of(&second)) : k;
  const Term *row = term_mul(term_var(x->outer), product_of(&rest));
  return more ? term_add(row, term_quot(k, product_of(&second))) : term_var(x->outer);
}

static const Term *by_rows(KernMapper *m, const Term *t) {
  const Unflatten *x = m->state;
  const Term *operands[3], *simple = without_index(x, t);
  if (t->kind == TERM_VAR) simple = map_get(x->plain, t->u.var);
  if (simple) return simple;
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = by_rows(m, operands[i]);
  return count ? term_with(t, operands, count) : t;
}

static const KernBlock *rows_of_block(KernMapper *m, const KernBlock *block) {
  Unflatten *x = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    bool plain = stm.kind == KERN_LET && stm.u.term->kind == TERM_VAR;
    b.loc = stm.loc;
    if (plain) map_put(x->plain, stm.binders[0], stm.u.term);
    kern_add(&b, stm);  // lengths of arrays may mention it
  }
  return kern_block(&b, kern_map_results(m, block), block->result_count);
}

// A divisor is not 0 in a row.
static const Term *no_divisor_is_zero(void *state, const Term *t) {
  const Unflatten *x = state;
  bool asks = t->kind == TERM_OP && (t->u.op.op == OP_NE || t->u.op.op == OP_EQ) &&
              term_is_i64(t->u.op.args[1], 0);
  Factors divisor = no_factors, rest = x->rows;
  return asks && add_factors(x, t->u.op.args[0], &divisor) &&
                 take_factors(&rest, &divisor)
             ? term_bool(t->u.op.op == OP_NE)
             : t;
}

// ---- axes

static bool is_near_sum(const Term *t) {
  return t && t->kind == TERM_OP && t->type == PRIM_I64 &&
         (t->u.op.op == OP_ADD || t->u.op.op == OP_SUB) &&
         t->u.op.args[1]->kind == TERM_CONST;
}

// Is it the number of the row, or near it?
static bool is_row_number(const Unflatten *x, const Term *t) {
  Factors first, second, rest = x->rows;
  bool quotient;
  t = seen_through(x, t);
  while (is_near_sum(t))
    t = seen_through(x, t->u.op.args[0]);
  return t && divides_index(x, t, &first, &second, &quotient) && quotient &&
         !has_factors(&first) && take_factors(&rest, &second) && !has_factors(&rest);
}

// The size n in what the host knows: n, n - 1; or NULL.
static const Term *size_behind(const Unflatten *x, const Term *t) {
  const Term *made = t->kind == TERM_VAR && x->kern->outside
                         ? map_get(x->kern->outside, t->u.var)
                         : NULL;
  if (is_near_sum(made)) t = made;
  if (is_near_sum(t)) t = t->u.op.args[0];
  bool outside = t->kind == TERM_VAR && !map_has(x->inside, t->u.var);
  return outside && t->type == PRIM_I64 && !term_same(t, x->all) ? t : NULL;
}

static void see_limit_in(Unflatten *x, const Term *t) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  PrimOp op = t->kind == TERM_OP ? t->u.op.op : OP_ADD;
  bool compares = op == OP_LT || op == OP_LE || op == OP_EQ || op == OP_NE;
  for (int i = 0; i < count; i++) {
    if (compares && !x->limit && is_row_number(x, operands[i]))
      x->limit = size_behind(x, operands[1 - i]);
    see_limit_in(x, operands[i]);
  }
}

static void see_limit(KernVisitor *v, const Term *t) { see_limit_in(v->state, t); }

// How many rows the axis has, if the host finds that so.
static const Term *row_count(Unflatten *x, const Axis *axis) {
  Factors rest = x->width;
  take_factors(&rest, &x->rows);
  if (!x->divides) return product_of(&rest);
  KernVisitor v = { .term = see_limit, .state = x };
  x->limit = NULL;
  if (x->rows.count < MOST_FACTORS) kern_visit_block(&v, axis->body);
  if (x->limit) return x->limit;
  const Var *rows = kern_index(x->mapper.c, "rows", axis->index->loc);
  kern_let_var(&x->host, rows,
               term_quot(x->all, term_max(term_i64(1), product_of(&x->rows))));
  return term_var(rows);
}

static void forget_maker(void *state, const Var *var) { map_put(state, var, NULL); }

// The width is the product, whatever the host makes the two sides of: n = s / m, too.
static void note_product(Unflatten *x, const Term *product) {
  if (x->all->kind != TERM_VAR) return;
  term_each_var(product, forget_maker, x->outside);
  map_put(x->outside, x->all->u.var, product);
}

// The host asks whether there are so many whole rows, which are long.
static void ensure_whole(Unflatten *x, const Term *rows) {
  const Term *size = product_of(&x->rows), *product = term_mul(rows, size);
  const Term *whole = term_op2(OP_EQ, product, x->all);
  note_product(x, product);
  const int64_t least = x->long_points ? LEAST_LONG_ROW : LEAST_ROW;
  if (x->rows.count) whole = term_and(term_at_most(term_i64(least), size), whole);
  x->whole = x->whole ? term_and(x->whole, whole) : whole;
}

static const Axis *grid_within(const KernBlock *body) {
  const KernStm *stm = body->count == 1 ? body->stms : NULL;
  bool grid = stm && stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_GRID;
  return grid ? stm->u.axis : NULL;
}

// Lets before the body: axes of the grid stay one inside of the other, with nothing between them.
static const KernBlock *after_lets(const KernBuilder *lets, const KernBlock *body) {
  KernBuilder b = kern_builder(lets->c, lets->loc);
  kern_expect(&b, body->count);
  const Axis *within = grid_within(body);
  if (!within) {
    for (int i = 0; i < lets->stms.count; i++)
      kern_add(&b, lets->stms.at[i]);
    for (int i = 0; i < body->count; i++)
      kern_add(&b, body->stms[i]);
    return kern_block(&b, NULL, 0);
  }
  Axis axis = *within;
  axis.body = after_lets(lets, within->body);
  kern_axis(&b, axis, NULL, 0);
  return kern_block(&b, NULL, 0);
}

static const Axis *axis_of_rows(Unflatten *x, const Axis *axis) {
  Compiler *c = x->mapper.c;
  x->outer = kern_index(c, axis->index->name, axis->index->loc);
  x->inner = kern_index(c, axis->index->name, axis->index->loc);
  x->plain = map_new(NULL);
  const Term *rows = row_count(x, axis);
  if (x->divides) ensure_whole(x, rows);
  KernMapper m = { .c = c, .term = by_rows, .block = rows_of_block, .state = x };
  const KernBlock *body =
      kern_assume(c, (KernKnown){ no_divisor_is_zero, x }, rows_of_block(&m, axis->body));
  const Term *row = term_mul(term_var(x->outer), product_of(&x->rows));
  const Var *first = kern_index(c, "first", axis->index->loc);
  KernBuilder in = kern_builder(c, axis->index->loc), out = in;
  kern_let_var(&in, first, row);
  kern_let_var(&in, axis->index, term_add(term_var(first), term_var(x->inner)));
  Axis inner = *axis, *outer = mem_copy(axis, sizeof *axis);
  inner.name = outer->name = NULL;
  inner.index = x->inner;
  inner.width = product_of(&x->rows);
  inner.body = after_lets(&in, body);
  kern_axis(&out, inner, NULL, 0);
  outer->index = x->outer;
  outer->width = rows;
  outer->body = kern_block(&out, NULL, 0);
  return outer;
}

// Short rows become straight code or go in lanes, so that an index around them counts as well.
static bool is_around_long_rows(const Axis *axis) {
  int64_t points = 1;
  for (const Axis *at = grid_within(axis->body); at && points <= MOST_WITHIN;
       at = grid_within(at->body)) {
    bool constant = at->width->kind == TERM_CONST;
    points = constant ? points * at->width->u.constant.u.i : INT64_MAX;
  }
  return points > MOST_WITHIN;
}

// Of constant length, for which phases, straight code or lanes over several of them are better.
static bool has_short_rows_only(const Unflatten *x, const Axis *axis) {
  if (x->rows.count) return false;
  bool constant = axis->width->kind == TERM_CONST;
  int64_t points = constant ? axis->width->u.constant.u.i : INT64_MAX;
  int64_t least = points <= FEW_IN_ALL ? LEAST_OF_FEW : LEAST_CONSTANT_ROW;
  if (x->long_points) least = LEAST_LONG_ROW;
  return points <= UNROLLED || x->rows.constant < least;
}

static void see_long_point(KernVisitor *v, const KernStm *stm) {
  bool *found = v->state;
  bool loop = stm->kind == KERN_AXIS && stm->u.axis->bind != BIND_GRID;
  *found |= loop || stm->kind == KERN_WHILE || stm->kind == KERN_CALL;
}

static void see_library(KernVisitor *v, const Term *t) {
  bool *found = v->state;
  *found |= term_calls_library(t);
}

static bool has_long_points(const Axis *axis) {
  bool found = false;
  KernVisitor v = { .stm = see_long_point, .term = see_library, .state = &found };
  kern_visit_block(&v, axis->body);
  return found;
}

static void see_bound_inside(void *state, const Var *var) {
  Unflatten *x = state;
  if (map_has(x->inside, var)) x->divides = false;
}

static bool finds_divisor(Unflatten *x, const Axis *axis) {
  x->rows = no_factors;
  KernVisitor v = { .term = see_divisions, .access = see_loaded, .state = x };
  kern_visit_block(&v, axis->body);
  return has_factors(&x->rows) && !has_short_rows_only(x, axis) &&
         x->ensured_count + x->width.count + x->rows.count < MOST_ENSURED;
}

// Finds the divisor that cuts the axis into rows.
static bool finds_rows(Unflatten *x, const Axis *axis) {
  x->index = axis->index;
  x->all = axis->width;
  x->width = no_factors;
  x->divides = false;
  if (axis->role != AXIS_MAP || is_around_long_rows(axis)) return false;
  x->long_points = has_long_points(axis);
  if (add_factors(x, axis->width, &x->width) && finds_divisor(x, axis)) return true;
  x->width = no_factors;
  x->divides = axis->bind == BIND_GRID;
  term_each_var(axis->width, see_bound_inside, x);
  return x->divides && finds_divisor(x, axis);
}

static const KernBlock *unflatten_block(KernMapper *m, const KernBlock *block) {
  Unflatten *x = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = block->stms[i];
    b.loc = stm.loc;
    if (!x->done && stm.kind == KERN_AXIS && finds_rows(x, stm.u.axis)) {
      x->done = true;
      stm.u.axis = axis_of_rows(x, stm.u.axis);
      kern_add(&b, stm);
    } else
      kern_add(&b, kern_map_stm(m, &stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

// The factors of the width, as far as it is one of the products that the host compares it with.
static Factors factors_of_width(Unflatten *x) {
  Factors all = x->divides ? x->rows : x->width;
  if (x->divides && x->limit) all.at[all.count++] = x->limit;
  if (x->greatest < all.constant) x->greatest = all.constant;
  return all;
}

static void ensure_small(Unflatten *x) {
  const Factors factors = factors_of_width(x);
  if (x->longest < factors.count) x->longest = factors.count;
  for (int i = 0; i < factors.count; i++) {
    int k = 0;
    while (k < x->ensured_count && !term_same(x->ensured[k], factors.at[i]))
      k++;
    if (k == x->ensured_count) x->ensured[x->ensured_count++] = factors.at[i];
  }
}

// One axis more in rows; NULL: there is none.
static const Kern *unflatten_once(Unflatten *x, const Kern *kern) {
  x->kern = kern;
  x->inside = map_new(NULL);
  x->lets = map_new(NULL);
  x->done = false;
  KernVisitor v = { .stm = see_lets, .binder = note_bound, .state = x };
  kern_visit_block(&v, kern->body);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->outside = x->outside = map_new(kern->outside);
  out->body = unflatten_block(&x->mapper, kern->body);
  if (!x->done) return NULL;
  ensure_small(x);
  return out;
}

// Each factor is 0 or more, and so small that the products are; and rows are whole.
static const Term *all_small(const Unflatten *x) {
  const Term *condition = x->whole ? x->whole : term_bool(true);
  int bits = PRODUCT_BITS;
  for (int64_t rest = x->greatest; rest > 1; rest = (rest + 1) / 2)
    bits--;
  int64_t most = INT64_C(1) << bits / (x->longest ? x->longest : 1);
  for (int i = 0; i < x->ensured_count; i++) {
    const Term *f = x->ensured[i];
    condition = term_and(condition, term_and(term_at_most(term_i64(0), f),
                                             term_at_most(f, term_i64(most))));
  }
  return condition;
}

bool kern_unflatten(Compiler *c, const Kern *kern, KernQuick *out) {
  Unflatten x = { .mapper = { .c = c, .block = unflatten_block },

                  .host = kern_builder(c, kern->loc),
                  .greatest = 1 };
  x.mapper.state = &x;
  const Kern *found = NULL;
  for (const Kern *next = kern; next;) {
    next = unflatten_once(&x, next);
    if (next) found = next;
  }
  if (!found) return false;
  *out = (KernQuick){ kern_name_axes(c, found), kern_block(&x.host, NULL, 0),
                      all_small(&x), x.whole != NULL };
  return true;
}
