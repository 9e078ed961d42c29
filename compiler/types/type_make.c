// Making types, sizes and bindings.
#include "base/text.h"
#include "types/check.h"
#include <stdlib.h>
#include <string.h>

const Type *type_prim(PrimType prim) {
  static const Type prims[PRIM_COUNT] = {
    [PRIM_I8] = { .kind = TYPE_PRIM, .u.prim = PRIM_I8 },
    [PRIM_I16] = { .kind = TYPE_PRIM, .u.prim = PRIM_I16 },
    [PRIM_I32] = { .kind = TYPE_PRIM, .u.prim = PRIM_I32 },
    [PRIM_I64] = { .kind = TYPE_PRIM, .u.prim = PRIM_I64 },
    [PRIM_U8] = { .kind = TYPE_PRIM, .u.prim = PRIM_U8 },
    [PRIM_U16] = { .kind = TYPE_PRIM, .u.prim = PRIM_U16 },
    [PRIM_U32] = { .kind = TYPE_PRIM, .u.prim = PRIM_U32 },
    [PRIM_U64] = { .kind = TYPE_PRIM, .u.prim = PRIM_U64 },
    [PRIM_F16] = { .kind = TYPE_PRIM, .u.prim = PRIM_F16 },
    [PRIM_F32] = { .kind = TYPE_PRIM, .u.prim = PRIM_F32 },
    [PRIM_F64] = { .kind = TYPE_PRIM, .u.prim = PRIM_F64 },
    [PRIM_BOOL] = { .kind = TYPE_PRIM, .u.prim = PRIM_BOOL },
  };
  return &prims[prim];
}

const Type *type_array_of(const Size *size, const Type *elem) {
  return new_node(Type, .kind = TYPE_ARRAY, .u.array = { .size = size, .elem = elem });
}

const Type *type_function(const Binding *param, const Type *from, const Type *to) {
  return new_node(Type, .kind = TYPE_FUNCTION,
                  .u.function = { .param = param, .from = from, .to = to });
}

const Type *type_of_param(const Binding *param) {
  return new_node(Type, .kind = TYPE_PARAM, .u.param = param);
}

static bool is_number_name(Name name) { return name[strspn(name, "0123456789")] == 0; }

int type_field_order(Name a, Name b) {
  bool numbers = is_number_name(a) && is_number_name(b);
  int longer = numbers ? (int)strlen(a) - (int)strlen(b) : 0;
  if (longer) return longer;
  return is_number_name(a) == is_number_name(b) ? strcmp(a, b)
         : is_number_name(a)                    ? -1
                                                : 1;
}

// {0: a, 1: b} is (a, b).
static bool is_tuple_of(const TypeField *sorted, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(sorted[i].name, text_format("%d", i)) != 0) return false;
  return count > 1;
}

static int compare_fields(const void *a, const void *b) {
  return type_field_order(((const TypeField *)a)->name, ((const TypeField *)b)->name);
}

// A tuple's fields come in their order.
const Type *type_record(const TypeField *fields, int count, bool is_tuple) {
  TypeField *sorted = new_array(TypeField, count);
  for (int i = 0; i < count; i++)
    sorted[i] = fields[i];
  if (!is_tuple && count > 1)
    qsort(sorted, (size_t)count, sizeof *sorted, compare_fields);
  return new_node(Type, .kind = TYPE_RECORD,
                  .u.record = { .is_tuple = is_tuple || is_tuple_of(sorted, count),
                                .count = count,
                                .fields = sorted });
}

const Type *type_unit(void) {
  static const Type unit = { .kind = TYPE_RECORD, .u.record.is_tuple = true };
  return &unit;
}

bool type_has_unique(const Type *type) {
  type = type_resolve(type);
  if (type->unique) return true;
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (type_has_unique(type->u.record.fields[i].type)) return true;
  return false;
}

const Type *type_with_unique(const Type *type) {
  Type *copy = mem_copy(type_resolve(type), sizeof *copy);
  copy->unique = true;
  return copy;
}

const Type *type_without_unique(const Type *type) {
  if (!type_has_unique(type)) return type;
  type = type_resolve(type);
  Type *copy = mem_copy(type, sizeof *type);
  copy->unique = false;
  if (type->kind != TYPE_RECORD || type->u.record.count == 0) return copy;
  TypeField *fields = new_array(TypeField, type->u.record.count);
  for (int i = 0; i < type->u.record.count; i++)
    fields[i] = (TypeField){ type->u.record.fields[i].name,
                             type_without_unique(type->u.record.fields[i].type) };
  copy->u.record.fields = fields;
  return copy;
}

static TypeField *fields_unique_like(const Type *type, const Type *model) {
  TypeField *fields = new_array(TypeField, type->u.record.count);
  for (int i = 0; i < type->u.record.count; i++)
    fields[i] = (TypeField){ type->u.record.fields[i].name,
                             type_unique_like(type->u.record.fields[i].type,
                                              model->u.record.fields[i].type) };
  return fields;
}

const Type *type_unique_like(const Type *type, const Type *model) {
  type = type_resolve(type);
  model = type_resolve(model);
  Type *copy = mem_copy(type, sizeof *type);
  bool alike = model->kind == type->kind;
  copy->unique = model->unique;
  if (alike && type->kind == TYPE_FUNCTION) {
    copy->u.function.from =
        type_unique_like(type->u.function.from, model->u.function.from);
    copy->u.function.to = type_unique_like(type->u.function.to, model->u.function.to);
  } else if (alike && type->kind == TYPE_RECORD && type->u.record.count > 0 &&
             type->u.record.count == model->u.record.count) {
    copy->u.record.fields = fields_unique_like(type, model);
  } else if (type->kind == TYPE_VAR) {
    return type;
  }
  return copy;
}

Name type_field_name(Compiler *c, int index) {
  return name_of(c->names, text_format("%d", index));
}

bool type_is_tuple(const Type *type) {
  return type->kind == TYPE_RECORD && type->u.record.is_tuple;
}

int type_arity(const Type *type) {
  int arity = 0;
  for (type = type_resolve(type); type->kind == TYPE_FUNCTION;
       type = type_resolve(type->u.function.to))
    arity++;
  return arity;
}

bool type_is_sum(const Type *type) {
  return type->kind == TYPE_RECORD && type->u.record.count > 0 &&
         type->u.record.fields[0].name[0] == '#';
}

int type_constructor(const Type *sum, Name field) {
  for (int i = 1; i < sum->u.record.count; i++)
    if (sum->u.record.fields[i].name == field) return i - 1;
  return -1;
}

const Size *size_of_binding(const Binding *binding, Loc loc) {
  return new_node(Size, .kind = SIZE_NAME, .loc = loc, .u.name = binding);
}

const Size *size_const(int64_t value, Loc loc) {
  return new_node(Size, .kind = SIZE_CONST, .loc = loc, .u.constant = big_of(value));
}

Binding *binding_new(Check *k, BindingKind kind, Name name, Loc loc, const Type *type) {
  return new_node(Binding, .kind = kind, .name = name, .loc = loc, .type = type,
                  .id = k->c->next_id++, .level = k->level);
}
