// Array literals, ranges, indexing, slices and updates.
#include "types/check.h"

// All elements have the type of the first, whose sizes are the row's.
const Type *infer_array(Check *k, AstExp *exp) {
  const Type *elem = type_data_var(k, exp->loc);
  Why why = { .kind = WHY_ELEMENT };
  vec_each (AstExp **, item, &exp->u.array.items) {
    check_exp(k, *item, elem, why);
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
  return a && b ? size_simplify(size_binary(SIZE_SUB, b, a)) : NULL;
}

// Whether a second element is that of a step by one, as in 0..1..<n.
static bool steps_by_one(const AstExp *from, const AstExp *second) {
  bool literals = from->kind == AST_INT && second->kind == AST_INT &&
                  !from->u.integer.negative && !second->u.integer.negative;
  return literals && big_compare(big_add(from->u.integer.value, big_of(1)),
                                 second->u.integer.value) == 0;
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
  const Type *elem = type_var_of(k, CLASS_INT, exp->loc);
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
    return size ? size : unknown_size(k, node);
  }
  const Size *from = size_of_exp(k, dim->from);
  if (!from) return unknown_size(k, node);
  return size_binary(SIZE_SUB, whole, from);
}

static void check_slice(Check *k, const AstDim *dim) {
  AstExp *const parts[] = { dim->from, dim->to, dim->step };
  for (int i = 0; i < 3; i++)
    if (parts[i]) check_exp(k, parts[i], type_prim(PRIM_I64), (Why){ .kind = WHY_INDEX });
}

static void check_index(Check *k, AstExp *index) {
  check_exp(k, index, type_var_of(k, CLASS_INT, index->loc), (Why){ .kind = WHY_INDEX });
}

// The type of array[dims]; sizes that are new belong to `node`.
static const Type *index_type(Check *k, AstExp *node, const Type *array,
                              const AstDimVec *dims, int at) {
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

// --- Updates ---

// The type that the new value must have.  A slice of unknown size takes a value of any size,
// which is compared when the program runs.
static const Type *update_type(Check *k, AstExp *node, const Type *array,
                               const AstDimVec *dims) {
  int before = node->unknown_sizes.count;
  const Type *type = index_type(k, node, array, dims, 0);
  for (int i = before; i < node->unknown_sizes.count; i++)
    type = type_replace_size(k, node->unknown_sizes.at[i], size_var(k, NULL, node->loc),
                             type);
  node->unknown_sizes.count = before;
  return type;
}

// `type` with any size where `dims` has slices.
static const Type *any_slice(const Type *type, const AstDimVec *dims) {
  type = type_resolve(type);
  int slices = 0;
  vec_each (const AstDim *, dim, dims)
    slices += dim->is_slice;
  const Type *elem = type;
  for (int i = 0; i < slices && elem->kind == TYPE_ARRAY; i++)
    elem = type_resolve(elem->u.array.elem);
  for (; slices > 0; slices--)
    elem = type_array_of(new_node(Size, .kind = SIZE_ANY), elem);
  return type->kind == TYPE_ARRAY ? elem : type;
}

// The new value: one whose sizes cannot be shown to be those of the slice is compared with it when
// the program runs.
static void check_update(Check *k, AstExp *value, const Type *type, const AstDimVec *dims,
                         Loc from) {
  const Type *actual = infer(k, value);
  k->at = value->loc;
  if (unify(k, type, actual)) return;
  bool run_tells = k->mismatch.kind == MISMATCH_SIZE &&
                   (size_resolve(k->mismatch.expected_size)->kind != SIZE_CONST ||
                    size_resolve(k->mismatch.actual_size)->kind != SIZE_CONST);
  expect_type(k, value->loc, run_tells ? any_slice(type, dims) : type, actual,
              (Why){ .kind = WHY_UPDATE, .from = from });
}

const Type *infer_with(Check *k, AstExp *exp) {
  const Type *array = infer(k, exp->u.with.array);
  const Type *elem = update_type(k, exp, array, &exp->u.with.dims);
  check_update(k, exp->u.with.value, elem, &exp->u.with.dims, exp->u.with.array->loc);
  return array;
}

// let xs[i] = v in b
const Type *infer_let_with(Check *k, AstExp *exp) {
  const Type *array = infer(k, exp->u.let_with.array);
  const Type *elem = update_type(k, exp, array, &exp->u.let_with.dims);
  check_update(k, exp->u.let_with.value, elem, &exp->u.let_with.dims,
               exp->u.let_with.array->loc);
  int mark = scope_mark(k);
  k->level++;
  check_pat(k, exp->u.let_with.pat, array);
  check_pat_names(k, exp->u.let_with.pat, PAT_PARAM);
  const Type *body = infer(k, exp->u.let_with.body);
  k->level--;
  scope_leave(k, mark);
  return body;
}
