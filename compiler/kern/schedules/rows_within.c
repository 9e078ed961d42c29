// axis i < w reduce { .. (base + i) / m .. (base + i) % m .. }
//   =>   axis o < rows loop (so_far) {
//          let q = base / m + o; ..
//          axis t < those of row q reduce { .. q .. first + t .. } from {so_far}
//        }
//
// Why: what lies in rows of m elements is summed up, scanned or counted in one dimension by a
// division per point; and along a row comparisons of its places change once, so that loops can end
// there.  Maps over whole rows become axes of the grid (unflatten.c); here a row may begin and end
// within a chunk.
#include "kern/offsets.h"
#include "kern/schedules/rewrites.h"

enum { LEAST_PLACES = 16 };  // shorter rows are not worth loops of their own

typedef struct RowsWithin {
  KernMapper axes;    // finds axes
  KernMapper points;  // rewrites what depends on the index of one
  const Kern *kern;
  // of the axis at hand
  const Axis *axis;
  Offsets offsets;
  const Term *base, *places;  // places: the divisor
  const Term *row, *place;    // what quotients and remainders are
  const Term *rows;           // how many there are of all; NULL: unknown
  Map *plain;                 // Var -> const Term *: in whose place it stands
  Map *starts, *usual;        // as in Kern
  Map *bound;  // Var -> itself: what the kernel binds, which the host does not know
  const Term *condition;  // of rows that are worth it, for the host
  bool found;
} RowsWithin;

static bool is_op_of(const Term *t, PrimOp op) {
  return t->kind == TERM_OP && t->u.op.op == op && t->u.op.operands == PRIM_I64;
}

// ---- divisions

static bool is_first_place(const RowsWithin *x, const Term *t) {
  if (t->kind == TERM_CONST) return t->u.constant.u.i >= 0;
  return t->kind == TERM_VAR && x->kern->starts && map_has(x->kern->starts, t->u.var);
}

static bool divides_places(PrimOp op) {
  return op == OP_DIV || op == OP_QUOT || op == OP_MOD || op == OP_REM;
}

// Is it (base + index) by a divisor that the axis does not bind?
static bool is_row_division(const RowsWithin *x, const Term *t, const Term **base) {
  const Term *index = term_var(x->axis->index);
  if (t->kind != TERM_OP || t->type != PRIM_I64 || !divides_places(t->u.op.op))
    return false;
  const Term *m = t->u.op.args[1];
  return m->kind == TERM_VAR && offset_is_closed(&x->offsets, m) &&
         !map_has(x->offsets.lets, m->u.var) &&
         offset_from(&x->offsets, t->u.op.args[0], index, base) &&
         is_first_place(x, *base);
}

static void find_division(RowsWithin *x, const Term *t) {
  const Term *operands[3], *base;
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    find_division(x, operands[i]);
  if (x->places || !is_row_division(x, t, &base)) return;
  x->base = base;
  x->places = t->u.op.args[1];
}

static void see_row_division(KernVisitor *v, const Term *t) {
  find_division(v->state, t);
}

static const Term *of_row(KernMapper *m, const Term *t) {
  RowsWithin *x = m->state;
  const Term *operands[3], *base;
  if (is_row_division(x, t, &base) && term_same(base, x->base) &&
      term_same(t->u.op.args[1], x->places)) {
    bool quotient = t->u.op.op == OP_DIV || t->u.op.op == OP_QUOT;
    return quotient ? x->row : x->place;
  }
  const Term *plain = t->kind == TERM_VAR ? map_get(x->plain, t->u.var) : NULL;
  if (plain) return plain;
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = of_row(m, operands[i]);
  return count ? term_with(t, operands, count) : t;
}

static const KernBlock *block_of_row(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    const RowsWithin *x = m->state;
    if (stm.kind == KERN_LET && stm.u.term->kind == TERM_VAR)
      map_put(x->plain, stm.binders[0], stm.u.term);
    kern_add(&b, stm);
  }
  return kern_block(&b, kern_map_results(m, block), block->result_count);
}

// ---- axes

static int values_carried(const Axis *axis) {
  if (axis->role == AXIS_HIST) return 0;
  return axis->role == AXIS_LOOP ? axis->param_count : kern_sum_count(axis);
}

static const Term *const *operands_before(const Axis *axis) {
  if (axis->inits || axis->role == AXIS_HIST) return axis->inits;
  const Term **values = new_array(const Term *, kern_sum_count(axis) + 1);
  for (int o = 0, next = 0; o < axis->op_count; o++)
    for (int k = 0; k < axis->ops[o].count; k++)
      values[next++] = axis->ops[o].neutral[k];
  return values;
}

static const Term **terms_of_vars(const Var *const *vars, int count) {
  const Term **terms = new_array(const Term *, count + 1);
  for (int i = 0; i < count; i++)
    terms[i] = term_var(vars[i]);
  return terms;
}

static const Var *const *vars_like(Compiler *c, const Var *const *vars, int count) {
  const Var **out = new_array(const Var *, count + 1);
  for (int i = 0; i < count; i++)
    out[i] = var_like(c, vars[i]);
  return out;
}

// The factor of the whole width beside the places; NULL: it is no such product.
static const Term *count_of_rows(const RowsWithin *x) {
  const Term *width = x->axis->width;
  const Term *length =
      width->kind == TERM_VAR ? map_get(x->offsets.lets, width->u.var) : NULL;
  if (length && is_op_of(length, OP_MIN) && is_op_of(length->u.op.args[1], OP_SUB))
    width = length->u.op.args[1]->u.op.args[0];  // min(size, width - start)
  const Term *made = width->kind == TERM_VAR && x->kern->outside
                         ? map_get(x->kern->outside, width->u.var)
                         : NULL;
  if (made) width = made;
  if (!is_op_of(width, OP_MUL)) return NULL;
  const Term *a = width->u.op.args[0], *b = width->u.op.args[1];
  if (!term_same(a, x->places)) return term_same(b, x->places) ? a : NULL;
  return b;
}

// Is it the number of the row, maybe by a name of its own?
static bool is_row(const RowsWithin *x, const Term *t) {
  if (term_same(t, x->row)) return true;
  const Term *let = t->kind == TERM_VAR ? map_get(x->offsets.lets, t->u.var) : NULL,
             *base;
  return let && is_row_division(x, let, &base) && term_same(base, x->base) &&
         term_same(let->u.op.args[1], x->places) &&
         (let->u.op.op == OP_DIV || let->u.op.op == OP_QUOT);
}

// Rows are counted from 0 on, and a row has places.
static const Term *known_of_rows(void *state, const Term *t) {
  const RowsWithin *x = state;
  if (t->kind != TERM_OP || op_arity(t->u.op.op) != 2 || t->u.op.operands != PRIM_I64)
    return t;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  PrimOp op = t->u.op.op;
  if ((op == OP_NE || op == OP_EQ) && term_is_i64(b, 0) && term_same(a, x->places))
    return term_bool(op == OP_NE);
  if (op == OP_LE && term_is_i64(a, 0) && is_row(x, b)) return term_bool(true);
  // A size, as a product of negative numbers says nothing of rows.
  bool counts = x->rows && term_same(b, x->rows) && b->kind == TERM_VAR &&
                map_has(x->offsets.tame, b->u.var);
  return op == OP_LT && counts && is_row(x, a) ? term_bool(true) : t;
}

// A scalar that is the place of an element, and far from overflow.
static const Term *place_let(RowsWithin *x, KernBuilder *b, const char *name,
                             const Term *value) {
  const Term *t = kern_let(b, name, value);
  if (t->kind == TERM_VAR) map_put(x->starts, t->u.var, t->u.var);
  return t;
}

// A width of which nothing is known.
static const Term *width_let(RowsWithin *x, KernBuilder *b, const char *name,
                             const Term *value) {
  const Term *t = kern_let(b, name, value);
  if (t->kind == TERM_VAR) map_put(x->usual, t->u.var, t->u.var);
  return t;
}

// The statement's axis over t < width, where the index is before + t, in what is known of rows.
static const KernBlock *axis_in_row(RowsWithin *x, const KernStm *stm, const Term *before,
                                    const Var *t, const Term *width,
                                    const Var *const *so_far) {
  const Axis *axis = stm->u.axis;
  Compiler *c = x->axes.c;
  KernBuilder b = kern_builder(c, stm->loc), body = b;
  KernStm inner = kern_map_stm(&x->points, stm);
  kern_let_var(&body, axis->index, term_add(before, term_var(t)));
  const KernBlock *points = inner.u.axis->body;
  for (int i = 0; i < points->count; i++)
    kern_add(&body, points->stms[i]);
  Axis *copy = mem_copy(inner.u.axis, sizeof *copy);
  int count = values_carried(axis);
  copy->index = t;
  copy->width = width;
  copy->body = kern_block(&body, points->results, points->result_count);
  if (count) copy->inits = terms_of_vars(so_far, count);
  inner.u.axis = copy;
  kern_add(&b, inner);
  const KernBlock *block = kern_block(&b, terms_of_vars(stm->binders, count), count);
  return kern_rename(c, NULL, kern_assume(c, (KernKnown){ known_of_rows, x }, block));
}

// The points of row q, which go on from `so_far`.
static const KernBlock *points_of_row(RowsWithin *x, const KernStm *stm, const Term *q,
                                      const Term *end, const Var *const *so_far) {
  Compiler *c = x->axes.c;
  KernBuilder b = kern_builder(c, stm->loc);
  x->row = place_let(x, &b, "row", q);
  x->rows = count_of_rows(x);
  x->plain = map_new(NULL);
  const Term *begin = place_let(x, &b, "begin", term_mul(x->row, x->places));
  const Term *from = place_let(x, &b, "from", term_max(x->base, begin));
  const Term *to = term_min(end, term_add(begin, x->places));
  const Term *first = place_let(x, &b, "first", term_sub(from, begin));
  const Term *before = place_let(x, &b, "before", term_sub(from, x->base));
  const Term *width = width_let(x, &b, "those", term_sub(to, from));
  const Var *t = kern_index(c, x->axis->index->name, x->axis->index->loc);
  x->place = term_add(first, term_var(t));
  const KernBlock *points = axis_in_row(x, stm, before, t, width, so_far);
  for (int i = 0; i < points->count; i++)
    kern_add(&b, points->stms[i]);
  return kern_block(&b, points->results, points->result_count);
}

static void add_rows(RowsWithin *x, KernBuilder *b, const KernStm *stm,
                     const Var *const *binders) {
  const Axis *axis = stm->u.axis;
  Compiler *c = x->axes.c;
  int count = values_carried(axis);
  const Term *m = x->places, *zero = term_i64(0), *one = term_i64(1);
  const Term *row = place_let(x, b, "row", term_quot(x->base, m));
  const Term *end = kern_let(b, "end", term_add(x->base, term_max(axis->width, zero)));
  const Term *past = term_add(term_quot(term_sub(end, one), m), one);
  const Var *o = kern_index(c, axis->index->name, axis->index->loc);
  Axis rows = { .name = name_of(c->names, text_format("%s_rows", axis->name)),
                .index = o,
                .width = width_let(x, b, "rows", term_sub(past, row)),
                .role = count ? AXIS_LOOP : AXIS_MAP };
  const Var *const *so_far = vars_like(c, stm->binders, count);
  rows.body = points_of_row(x, stm, term_add(row, term_var(o)), end, so_far);
  if (count) {
    rows.params = so_far;
    rows.param_count = count;
    rows.inits = operands_before(axis);
  }
  kern_axis(b, rows, binders, count);
}

// With binders for what goes on from row to row, also if nobody wants it in the end.
static KernStm with_totals(Compiler *c, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  KernStm out = *stm;
  if (stm->binder_count || axis->role == AXIS_HIST) return out;
  const Var **totals = new_array(const Var *, values_carried(axis) + 1);
  if (axis->role == AXIS_LOOP)
    for (int i = 0; i < axis->param_count; i++)
      totals[i] = var_like(c, axis->params[i]);
  for (int o = 0, next = 0; o < axis->op_count; o++)
    for (int k = 0; k < axis->ops[o].count; k++)
      totals[next++] = var_like(c, axis->ops[o].params[k]);
  out.binders = totals;
  out.binder_count = values_carried(axis);
  return out;
}

static const KernBlock *block_of_rows(RowsWithin *x, const KernStm *stm) {
  KernBuilder b = kern_builder(x->axes.c, stm->loc);
  KernStm whole = with_totals(x->axes.c, stm);
  const Var *const *totals = vars_like(x->axes.c, whole.binders, whole.binder_count);
  add_rows(x, &b, &whole, totals);
  return kern_block(&b, terms_of_vars(totals, stm->binder_count), stm->binder_count);
}

static const KernBlock *block_as_it_is(RowsWithin *x, const KernStm *stm) {
  KernBuilder b = kern_builder(x->axes.c, stm->loc);
  kern_add(&b, *stm);
  const Term **results = terms_of_vars(stm->binders, stm->binder_count);
  return kern_rename(x->axes.c, NULL, kern_block(&b, results, stm->binder_count));
}

static bool may_have_rows(const KernStm *stm) {
  const Axis *axis = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
  return axis && axis->bind == BIND_SEQ && !axis->rest && axis->role != AXIS_MAP &&
         (!stm->binder_count || stm->binder_count == values_carried(axis));
}

static void note_binder_of(KernVisitor *v, const Var *var) {
  map_put(v->state, var, var);
}

static Map *bound_in(const Kern *kern) {
  KernVisitor v = { .binder = note_binder_of, .state = map_new(NULL) };
  kern_visit_block(&v, kern->body);
  return v.state;
}

static bool finds_division(RowsWithin *x, const KernStm *stm) {
  x->axis = stm->u.axis;
  x->offsets = offsets_in(x->kern, stm->u.axis);
  x->places = NULL;
  KernVisitor within = { .binder = note_binder_of, .state = x->offsets.bound },
              divisions = { .term = see_row_division, .state = x };
  kern_visit_stm(&within, stm);
  kern_visit_stm(&divisions, stm);
  return x->places != NULL;
}

static const KernBlock *block_with_rows(KernMapper *m, const KernBlock *block) {
  RowsWithin *x = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = block->stms[i];
    b.loc = stm.loc;
    if (!may_have_rows(&stm) || !finds_division(x, &stm)) {
      kern_add(&b, kern_map_stm(m, &stm));
      continue;
    }
    x->found = true;
    // Where the host knows the divisor it has asked: kern_rows_are_long.
    int64_t least = map_has(x->bound, x->places->u.var) ? LEAST_PLACES : 1;
    const Term *worth = term_at_most(term_i64(least), x->places);
    kern_add(&b, (KernStm){ .kind = KERN_IF,
                            .loc = stm.loc,
                            .binders = stm.binders,
                            .binder_count = stm.binder_count,
                            .u.cond = { worth, block_of_rows(x, &stm),
                                        block_as_it_is(x, &stm), 99, false } });
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_rows_within(Compiler *c, const Kern *kern) {
  RowsWithin x = { .kern = kern,
                   .bound = bound_in(kern),
                   .starts = map_new(kern->starts),
                   .usual = map_new(NULL) };
  x.axes = (KernMapper){ .c = c, .block = block_with_rows, .state = &x };
  x.points = (KernMapper){ .c = c, .term = of_row, .block = block_of_row, .state = &x };
  Kern rows = *kern;
  rows.body = block_with_rows(&x.axes, kern->body);
  rows.starts = x.starts;
  rows.usual = x.usual;
  return x.found ? kern_name_axes(c, &rows) : kern;
}

// ---- what the host is asked

static void see_rows(KernVisitor *v, const KernStm *stm) {
  RowsWithin *x = v->state;
  if (!may_have_rows(stm) || !finds_division(x, stm)) return;
  if (map_has(x->bound, x->places->u.var)) return;
  x->found = true;
  x->condition = term_and(x->condition, term_at_most(term_i64(LEAST_PLACES), x->places));
}

const Term *kern_rows_are_long(const Kern *kern) {
  RowsWithin x = { .kern = kern, .bound = bound_in(kern), .condition = term_bool(true) };
  KernVisitor v = { .stm = see_rows, .state = &x };
  kern_visit_block(&v, kern->body);
  return x.found ? x.condition : NULL;
}
