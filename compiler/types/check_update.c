// Updates: e with [i].f = v, let e[i].f = v.
#include "types/check.h"

// An update while it is checked.
typedef struct UpdateCheck {
  Check *k;
  AstExp *node;
  const AstPath *path;
  AstExp *value;
  Loc target;
} UpdateCheck;

// --- Elements and slices ---

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
  bool run_tells = k->mismatch.kind == MISMATCH_SCOPE ||
                   (k->mismatch.kind == MISMATCH_SIZE &&
                    (size_resolve(k->mismatch.expected_size)->kind != SIZE_CONST ||
                     size_resolve(k->mismatch.actual_size)->kind != SIZE_CONST));
  expect_type(k, value->loc, run_tells ? any_slice(type, dims) : type, actual,
              (Why){ .kind = WHY_UPDATE, .from = from });
}

// --- Fields ---

static const Size *any_field_size(Check *k, const Size *size) {
  return size_var(k, NULL, size->loc);
}

// `record` with `field` of another type.
static const Type *with_field_type(const Type *record, Name field, const Type *type) {
  int count = record->u.record.count;
  TypeField *fields = mem_copy(record->u.record.fields, sizeof *fields * (size_t)count);
  for (int i = 0; i < count; i++)
    if (fields[i].name == field) fields[i].type = type;
  Type *copy = mem_copy(record, sizeof *copy);
  copy->u.record.fields = fields;
  return copy;
}

// A field of a record keeps its type but for its sizes; one of an array's element keeps them too.
static const Type *check_field_value(const UpdateCheck *u, const Type *type,
                                     bool in_array) {
  Check *k = u->k;
  const Type *wanted = in_array ? type : type_map_sizes(k, type, any_field_size);
  check_exp(k, u->value, wanted, (Why){ .kind = WHY_UPDATE });
  const Type *actual = u->value->type;
  k->at = u->value->loc;
  return !in_array && unify(k, wanted, actual) ? actual : type;
}

// --- Paths ---

static const Type *updated_type(const UpdateCheck *u, const Type *target, int at,
                                bool in_array);

static const Type *updated_array(const UpdateCheck *u, const Type *array, int at) {
  const AstStep *step = &u->path->at[at];
  const Type *elem = update_type(u->k, u->node, array, &step->dims);
  if (at + 1 == u->path->count)
    check_update(u->k, u->value, elem, &step->dims, u->target);
  else
    updated_type(u, elem, at + 1, true);
  return array;
}

static const Type *updated_record(const UpdateCheck *u, const Type *record, int at,
                                  bool in_array) {
  const AstStep *step = &u->path->at[at];
  const Type *field = field_of(u->k, record, step->field, step->loc);
  const Type *updated = updated_type(u, field, at + 1, in_array);
  record = type_resolve(record);
  if (record->kind == TYPE_RECORD) return with_field_type(record, step->field, updated);
  u->k->at = step->loc;
  unify(u->k, field, updated);
  return record;
}

// The type of `target` after the update of what the path leads to from the step `at` on.
static const Type *updated_type(const UpdateCheck *u, const Type *target, int at,
                                bool in_array) {
  if (at == u->path->count) return check_field_value(u, target, in_array);
  return u->path->at[at].field ? updated_record(u, target, at, in_array)
                               : updated_array(u, target, at);
}

const Type *infer_with(Check *k, AstExp *exp) {
  const Type *target = infer(k, exp->u.with.target);
  UpdateCheck update = { k, exp, &exp->u.with.path, exp->u.with.value,
                         exp->u.with.target->loc };
  return updated_type(&update, target, 0, false);
}

// let xs[i] = v in b
const Type *infer_let_with(Check *k, AstExp *exp) {
  const Type *target = infer(k, exp->u.let_with.target);
  UpdateCheck update = { k, exp, &exp->u.let_with.path, exp->u.let_with.value,
                         exp->u.let_with.target->loc };
  target = updated_type(&update, target, 0, false);
  int mark = scope_mark(k);
  k->level++;
  check_pat(k, exp->u.let_with.pat, target);
  check_pat_names(k, exp->u.let_with.pat, NULL, PAT_PARAM);
  const Type *body = infer(k, exp->u.let_with.body);
  k->level--;
  scope_leave(k, mark);
  return body;
}
