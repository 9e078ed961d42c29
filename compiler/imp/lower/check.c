// Checks in code under construction.  Their texts are those of the interpreter
// (core/interp/index.c).
#include "imp/lower/lower.h"

void code_may_fail(Code *k) {
  if (k->may_fail) *k->may_fail = true;
}

void code_check(Code *k, const ImpExp *condition, const char *const *parts,
                const ImpExp *const *values, int count, Loc loc) {
  code_may_fail(k);
  if (k->active) condition = imp_op2(OP_LOR, imp_op1(OP_NOT, k->active), condition);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_CHECK,
                              .loc = loc,
                              .u.check = { condition, parts, values, count } });
}

bool code_is_size(const Code *k, Atom a) {
  if (a.kind == ATOM_CONST) return a.u.constant.u.i >= 0;
  return map_has(k->sizes, a.u.var);
}

// Sums and products of sizes are sizes: were they to overflow, no array could have them.
void code_note_size(Code *k, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_OP || e->u.op.type != PRIM_I64) return;
  PrimOp op = e->u.op.op;
  if (op != OP_ADD && op != OP_MUL && op != OP_MIN && op != OP_MAX) return;
  if (code_is_size(k, e->u.op.args[0]) && code_is_size(k, e->u.op.args[1]))
    map_put(k->sizes, stm->binders[0], stm->binders[0]);
}

void code_check_size(Code *k, Atom size, const ImpExp *unless) {
  static const char *const parts[] = { "Range 0..1..<", " is invalid (a negative size)" };
  if (code_is_size(k, size)) return;
  const ImpExp **values = new_array(const ImpExp *, 1);
  values[0] = imp_atom(size);
  const ImpExp *fine = imp_op2(OP_LE, imp_i64(0), values[0]);
  code_check(k, unless ? imp_op2(OP_LOR, unless, fine) : fine, parts, values, 1,
             k->b->loc);
  if (!unless) map_put(k->sizes, size.u.var, size.u.var);
}

void code_check_space(Code *k, const SegDim *dims, int count) {
  for (int i = 0; i < count; i++)
    code_check_size(k, dims[i].width, space_is_empty(dims, i));
}

// ---- texts

// A text with values in it, put together piece by piece; constants become part of the text.
typedef struct CheckText {
  Text *text;  // the part under construction
  Vec(const char *) parts;
  Vec(const ImpExp *) values;
} CheckText;

static void add_value(CheckText *t, const ImpExp *value) {
  if (value->kind == IMP_CONST) {
    text_printf(t->text, "%lld", (long long)value->u.constant.u.i);
    return;
  }
  vec_push(&t->parts, text_str(t->text));
  vec_push(&t->values, value);
  t->text = text_new();
}

static void add_dim(CheckText *t, const DimIndex *dim) {
  const ImpExp *start = imp_atom(dim->start);
  add_value(t, start);
  if (!dim->is_slice) return;
  const ImpExp *stride = imp_atom(dim->stride);
  text_add(t->text, ":");
  add_value(t, imp_add(start, imp_mul(imp_atom(dim->count), stride)));
  if (imp_is_i64(stride, 1)) return;
  text_add(t->text, ":");
  add_value(t, stride);
}

static bool same_value(const ImpExp *a, const ImpExp *b) {
  if (a->kind == IMP_CONST) return imp_is_i64(b, a->u.constant.u.i);
  return a->kind == IMP_VAR && b->kind == IMP_VAR && a->u.var == b->u.var;
}

static bool is_whole(const DimIndex *dim, const ImpExp *size) {
  return imp_is_i64(imp_atom(dim->start), 0) && imp_is_i64(imp_atom(dim->stride), 1) &&
         same_value(imp_atom(dim->count), size);
}

// Dimensions that are left whole at the end are those that the program does not mention.
static int shown_rank(const Arr *arr, const DimIndex *dims) {
  int rank = arr->rank;
  while (rank > 1 && dims[rank - 1].is_slice &&
         is_whole(&dims[rank - 1], arr->shape[rank - 1]))
    rank--;
  return rank;
}

static CheckText bounds_text(const Arr *arr, const DimIndex *dims) {
  CheckText t = { .text = text_new() };
  int rank = shown_rank(arr, dims);
  text_add(t.text, "Index [");
  for (int i = 0; i < rank; i++) {
    if (i) text_add(t.text, ", ");
    add_dim(&t, &dims[i]);
  }
  text_add(t.text, "] out of bounds");
  if (t.values.count + rank <= IMP_CHECK_VALUES) {
    text_add(t.text, " for array of shape ");
    for (int i = 0; i < rank; i++) {
      text_add(t.text, "[");
      add_value(&t, arr->shape[i]);
      text_add(t.text, "]");
    }
  }
  text_add(t.text, ".");
  vec_push(&t.parts, text_str(t.text));
  return t;
}

// ---- conditions

static const ImpExp *in_range(const ImpExp *index, const ImpExp *size) {
  return imp_and(imp_op2(OP_LE, imp_i64(0), index), imp_less(index, size));
}

// First and last element of a non-empty slice.
static const ImpExp *slice_fits(const DimIndex *dim, const ImpExp *size) {
  const ImpExp *start = imp_atom(dim->start), *count = imp_atom(dim->count),
               *stride = imp_atom(dim->stride);
  if (is_whole(dim, size)) return imp_const(prim_bool(true));
  const ImpExp *last = imp_add(start, imp_mul(imp_sub(count, imp_i64(1)), stride));
  const ImpExp *empty = imp_op2(OP_LE, count, imp_i64(0));
  return imp_op2(OP_LOR, empty, imp_and(in_range(start, size), in_range(last, size)));
}

void code_check_bounds(Code *k, const Arr *arr, const DimIndex *dims, Loc loc) {
  const ImpExp *inside = imp_const(prim_bool(true));
  for (int i = 0; i < arr->rank; i++) {
    const ImpExp *fits = dims[i].is_slice
                             ? slice_fits(&dims[i], arr->shape[i])
                             : in_range(imp_atom(dims[i].start), arr->shape[i]);
    inside = imp_and(inside, fits);
  }
  if (imp_is_i64(inside, 1)) return;
  CheckText t = bounds_text(arr, dims);
  code_check(k, inside, t.parts.at, t.values.at, t.values.count, loc);
}
