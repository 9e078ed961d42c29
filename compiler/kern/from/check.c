// Checks of kernels.  Their texts are those of the interpreter (core/interp/index.c).
#include "kern/from/from_flat.h"

enum { CHECK_VALUES = 8 };  // RT_MAX_CHECK_VALUES of the runtime

void from_check(From *f, const Term *condition, const char *const *parts,
                const Term *const *values, int count, Loc loc) {
  if (term_is_bool(condition, true)) return;
  kern_add(f->b, (KernStm){ .kind = KERN_CHECK,
                            .loc = loc,
                            .u.check = { condition, parts, values, count } });
}

// ---- texts

// A text with values in it, put together piece by piece; constants become part of the text.
typedef struct FromText {
  Text *text;  // the part under construction
  Vec(const char *) parts;
  Vec(const Term *) values;
} FromText;

static void add_value(FromText *t, const Term *value) {
  if (value->kind == TERM_CONST) {
    text_printf(t->text, "%lld", (long long)value->u.constant.u.i);
    return;
  }
  vec_push(&t->parts, text_str(t->text));
  vec_push(&t->values, value);
  t->text = text_new();
}

static void add_dim(FromText *t, const DimIndex *dim) {
  const Term *start = term_atom(dim->start);
  add_value(t, start);
  if (!dim->is_slice) return;
  const Term *stride = term_atom(dim->stride);
  text_add(t->text, ":");
  add_value(t, term_add(start, term_mul(term_atom(dim->count), stride)));
  if (term_is_i64(stride, 1)) return;
  text_add(t->text, ":");
  add_value(t, stride);
}

// Dimensions that are left whole at the end are those that the program does not mention.
static int shown_rank(const View *view, const DimIndex *dims) {
  int rank = view->rank;
  while (rank > 1 && dims[rank - 1].is_slice && atom_is_i64(dims[rank - 1].start, 0) &&
         atom_is_i64(dims[rank - 1].stride, 1) &&
         term_same(term_atom(dims[rank - 1].count), view->shape[rank - 1]))
    rank--;
  return rank;
}

static FromText bounds_text(const View *view, const DimIndex *dims) {
  FromText t = { .text = text_new() };
  int rank = shown_rank(view, dims);
  text_add(t.text, "Index [");
  for (int i = 0; i < rank; i++) {
    if (i) text_add(t.text, ", ");
    add_dim(&t, &dims[i]);
  }
  text_add(t.text, "] out of bounds");
  if (t.values.count + rank <= CHECK_VALUES) {
    text_add(t.text, " for array of shape ");
    for (int i = 0; i < rank; i++) {
      text_add(t.text, "[");
      add_value(&t, view->shape[i]);
      text_add(t.text, "]");
    }
  }
  text_add(t.text, ".");
  vec_push(&t.parts, text_str(t.text));
  return t;
}

// ---- conditions

static const Term *in_range(const Term *index, const Term *size) {
  return term_and(term_at_most(term_i64(0), index), term_less(index, size));
}

// First and last element of a non-empty slice.
static const Term *slice_fits(const DimIndex *dim, const Term *size) {
  const Term *start = term_atom(dim->start), *count = term_atom(dim->count),
             *stride = term_atom(dim->stride);
  if (term_is_i64(start, 0) && term_is_i64(stride, 1) && term_same(count, size))
    return term_bool(true);
  const Term *last = term_add(start, term_mul(term_sub(count, term_i64(1)), stride));
  const Term *empty = term_at_most(count, term_i64(0));
  return term_or(empty, term_and(in_range(start, size), in_range(last, size)));
}

void from_check_bounds(From *f, const View *view, const DimIndex *dims, Loc loc) {
  const Term *inside = term_bool(true);
  for (int i = 0; i < view->rank; i++) {
    const Term *fits = dims[i].is_slice
                           ? slice_fits(&dims[i], view->shape[i])
                           : in_range(term_atom(dims[i].start), view->shape[i]);
    inside = term_and(inside, fits);
  }
  if (term_is_bool(inside, true)) return;
  FromText t = bounds_text(view, dims);
  from_check(f, inside, t.parts.at, t.values.at, t.values.count, loc);
}

static bool is_size(const From *f, Atom a) {
  return a.kind == ATOM_CONST ? a.u.constant.u.i >= 0 : map_has(f->sizes, a.u.var);
}

// Sums and products of sizes are sizes: were they to overflow, no array could have them.
void from_note_size(From *f, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_OP || e->u.op.type != PRIM_I64) return;
  PrimOp op = e->u.op.op;
  if (op != OP_ADD && op != OP_MUL && op != OP_MIN && op != OP_MAX) return;
  if (is_size(f, e->u.op.args[0]) && is_size(f, e->u.op.args[1]))
    map_put(f->sizes, stm->binders[0], stm->binders[0]);
}

static void check_count(From *f, const Term *unless, Atom size, Loc loc) {
  static const char *const parts[] = { "Range 0..1..<", " is invalid (a negative size)" };
  if (is_size(f, size)) return;
  const Term **values = from_scalars(1);
  values[0] = term_atom(size);
  const Term *fine = term_at_most(term_i64(0), values[0]);
  from_check(f, unless ? term_or(unless, fine) : fine, parts, values, 1, loc);
  if (!unless) map_put(f->sizes, size.u.var, size.u.var);
}

void from_check_size(From *f, Atom count, Loc loc) { check_count(f, NULL, count, loc); }

void from_check_space(From *f, const SegDim *dims, int count, Loc loc) {
  const Term *empty = NULL;
  for (int i = 0; i < count; i++) {
    check_count(f, empty, dims[i].width, loc);
    const Term *none = term_at_most(term_atom(dims[i].width), term_i64(0));
    empty = empty ? term_or(empty, none) : none;
  }
}

static bool is_positive_constant(const Term *t) {
  return t->kind == TERM_CONST && prim_is_int(t->u.constant.type) &&
         t->u.constant.u.i > 0;
}

bool scalar_is_positive(const Map *scalars, Atom a) {
  const Term *t = a.kind == ATOM_VAR && scalars ? map_get(scalars, a.u.var) : NULL;
  if (!t || t->kind != TERM_OP || t->u.op.op != OP_MAX) return false;
  return is_positive_constant(t->u.op.args[0]) || is_positive_constant(t->u.op.args[1]);
}

void from_check_divisor(From *f, const Exp *exp, Loc loc) {
  if (!op_may_trap(exp->u.op.op, exp->u.op.type)) return;
  if (scalar_is_positive(f->scalars, exp->u.op.args[1])) return;
  const Term *divisor = term_atom(exp->u.op.args[1]);
  bool power = exp->u.op.op == OP_POW;
  const Term *zero = term_const(prim_zero(exp->u.op.type));
  static const char *const division[] = { "division by zero" };
  static const char *const negative[] = { "negative exponent of an integer power" };
  const Term *fine = power ? term_at_most(zero, divisor) : term_op2(OP_NE, divisor, zero);
  from_check(f, fine, power ? negative : division, NULL, 0, loc);
}

void from_assert(From *f, const Stm *stm) {
  const Exp *exp = stm->exp;
  int count = exp->u.assert.value_count;
  const Term **values = from_scalars(count);
  for (int i = 0; i < count; i++)
    values[i] = term_atom(exp->u.assert.values[i]);
  from_check(f, term_atom(exp->u.assert.condition), exp->u.assert.parts, values, count,
             stm->loc);
  for (int i = 0; i < exp->u.assert.atom_count; i++) {
    const Var *binder = stm->binders[i];
    if (binder->type.rank > 0)
      from_bind(f, binder, *from_view(f, exp->u.assert.atoms[i]));
    else
      kern_let_var(f->b, binder, term_atom(exp->u.assert.atoms[i]));
  }
}
