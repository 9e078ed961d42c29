// Array literals, ranges, indexing and slices.
#include "types/check.h"

// All elements have the type of the first, whose sizes are the row's.
const Type *infer_array(Check *k, AstExp *exp) {
  const Type *elem = type_data_var(k, exp->loc);
  elem->u.var->is_element = true;
  Why why = { .kind = WHY_ELEMENT };
  bool wrong = false;
  vec_each (AstExp **, item, &exp->u.array.items) {
    const Type *type = infer(k, *item);
    wrong = wrong || !expect_type(k, (*item)->loc, elem, type, why);
    if (!why.from.file) why.from = (*item)->loc;
  }
  return type_array_of(size_const(exp->u.array.items.count, exp->loc), elem);
}

// A size that only the run tells.
static const Size *unknown_size(Check *k, AstExp *node) {
  Binding *fresh =
      binding_new(k, BIND_SIZE, unknown_name(k), node->loc, type_prim(PRIM_I64));
  vec_push(&node->unknown_sizes, fresh);
  return size_of_binding(fresh, node->loc);
}

// --- Ranges ---

static bool is_i64(const Type *type) {
  type = type_resolve(type);
  return type->kind == TYPE_PRIM && type->u.prim == PRIM_I64;
}

// The size of what starts at `from` and ends before `to`, if both can be sizes.
static const Size *difference(Check *k, const AstExp *from, const AstExp *to) {
  const Size *a = from ? size_of_exp(k, from) : size_const(0, (Loc){ 0 });
  const Size *b = size_of_exp(k, to);
  return a && b ? size_minus(b, a) : NULL;
}

// Whether a second element is that of a step by one, as in 0..1..<n.
static bool steps_by_one(const AstExp *from, const AstExp *second) {
  bool literals = from->kind == AST_INT && second->kind == AST_INT;
  return literals &&
         big_compare(big_add(literal_value(from), big_of(1)), literal_value(second)) == 0;
}

// a..<b has b - a elements and a...b one more, where a and b can be sizes.
static const Size *range_size(Check *k, AstExp *exp) {
  const AstExp *from = exp->u.range.from, *to = exp->u.range.to;
  const AstExp *second = exp->u.range.second;
  bool literals = from->kind == AST_INT && to->kind == AST_INT;
  bool simple =
      (!second || steps_by_one(from, second)) && exp->u.range.end != RANGE_ABOVE;
  if (!simple || (!literals && !is_i64(from->type))) return unknown_size(k, exp);
  const Size *size = difference(k, from, to);
  if (!size) return unknown_size(k, exp);
  if (exp->u.range.end == RANGE_BELOW) return size;
  return size_simplify(size_binary(SIZE_ADD, size, size_const(1, exp->loc)));
}

const Type *infer_range(Check *k, AstExp *exp) {
  const Type *elem = type_var_of(k, CLASS_SIGNED, exp->loc);
  Why why = { .kind = WHY_RANGE };
  check_exp(k, exp->u.range.from, elem, why);
  why.from = exp->u.range.from->loc;
  if (exp->u.range.second) check_exp(k, exp->u.range.second, elem, why);
  check_exp(k, exp->u.range.to, elem, why);
  return type_array_of(range_size(k, exp), elem);
}

// --- Indexing ---

// The size of xs[from:to] for xs of size `whole`.
static const Size *slice_size(Check *k, AstExp *node, const AstDim *dim,
                              const Size *whole) {
  bool all = !dim->from && !dim->to;
  if (dim->step) {
    bool reversed = all && dim->step->kind == AST_INT && dim->step->u.integer.negative &&
                    big_compare(dim->step->u.integer.value, big_of(1)) == 0;
    return reversed ? whole : unknown_size(k, node);
  }
  if (all) return whole;
  if (dim->to) {
    const Size *size = difference(k, dim->from, dim->to);
    return size ? size_simplify(size) : unknown_size(k, node);
  }
  const Size *from = size_of_exp(k, dim->from);
  if (!from) return unknown_size(k, node);
  return size_simplify(size_binary(SIZE_SUB, whole, from));
}

// xs[-1], which others write for the last element
static bool is_negative_index(const AstExp *index) {
  bool literal = index && index->kind == AST_INT;
  return literal && big_compare(literal_value(index), big_of(0)) < 0;
}

static void warn_negative(Check *k, const AstExp *index) {
  if (!is_negative_index(index)) return;
  warning(k->c, index->loc, "a negative index is out of bounds of every array");
  hint(k->c, "indices count from 0; the last element of `xs` is `xs[length xs - 1]`");
}

// xs[:-1], which others write for all but the last one
static void warn_negative_end(Check *k, const AstExp *end) {
  if (!is_negative_index(end)) return;
  warning(k->c, end->loc, "a negative index is out of bounds of every array");
  hint(k->c, "`xs[:length xs - 1]` is `xs` without its last element");
}

// The bounds of a slice by a step of -1 begin with the last index, and end with -1.
static void check_slice(Check *k, const AstDim *dim) {
  AstExp *const parts[] = { dim->from, dim->to, dim->step };
  for (int i = 0; i < 3; i++)
    if (parts[i]) check_exp(k, parts[i], type_prim(PRIM_I64), (Why){ .kind = WHY_INDEX });
  warn_negative(k, dim->from);
  if (!dim->step) warn_negative_end(k, dim->to);
}

static void check_index(Check *k, AstExp *index) {
  check_exp(k, index, type_var_of(k, CLASS_SIGNED, index->loc),
            (Why){ .kind = WHY_INDEX });
  warn_negative(k, index);
}

const Type *index_type(Check *k, AstExp *node, const Type *array, const AstDimVec *dims,
                       int at) {
  if (at == dims->count) return array;
  const AstDim *dim = &dims->at[at];
  const Type *elem = type_data_var(k, node->loc);
  const Size *size = size_var(k, NULL, node->loc);
  array = type_resolve(array);
  if (array->kind == TYPE_ARRAY) {
    elem = array->u.array.elem;
    size = array->u.array.size;
  } else if (array->kind != TYPE_VAR) {
    error(k->c, dim->loc, "too many indices: `%s` is not an array", type_text(array));
    if (type_is_tuple(array)) hint(k->c, "`x.0` is the first component of a tuple `x`");
    if (at == 0 && array->kind == TYPE_PRIM)
      hint(k->c, "the type of an array is `[]%s`", type_text(array));
    return type_error(k, node->loc);
  } else {
    expect_type(k, node->loc, type_array_of(size, elem), array,
                (Why){ .kind = WHY_INDEXED });
  }
  if (!dim->is_slice) {
    check_index(k, dim->index);
    return index_type(k, node, elem, dims, at + 1);
  }
  check_slice(k, dim);
  size = slice_size(k, node, dim, size);
  return type_array_of(size, index_type(k, node, elem, dims, at + 1));
}

const Type *infer_index(Check *k, AstExp *exp) {
  const Type *array = infer(k, exp->u.index.array);
  return index_type(k, exp, array, &exp->u.index.dims, 0);
}

const Type *infer_section_index(Check *k, AstExp *exp) {
  const Type *array = type_var(k, exp->loc);
  const Type *result = index_type(k, exp, array, &exp->u.section_index.dims, 0);
  BindingVec exists = { 0 };
  vec_each (Binding **, b, &exp->unknown_sizes) {
    (*b)->level = 0;
    vec_push(&exists, *b);
  }
  return new_node(Type, .kind = TYPE_FUNCTION,
                  .u.function = { .from = array,
                                  .to = result,
                                  .exist_count = exists.count,
                                  .exists = exists.at });
}
