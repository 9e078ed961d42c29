// What the type of a polymorphic function tells of the memory of its results.
//
// The function cannot make values of a type parameter.  If no argument holds one either, they come
// from its sources: the functions among the arguments that give such values.  A part of the result
// that is such a value is then as fresh as what the sources give, if it is there only once.
#include "types/consume.h"

// How often the type parameter is mentioned in `type`.
static int mentions(const Type *type, const Binding *param) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_PARAM:
    return (type->u.param == param) + (type->args ? mentions(type->args, param) : 0);
  case TYPE_ARRAY: return mentions(type->u.array.elem, param);
  case TYPE_FUNCTION:
    return mentions(type->u.function.from, param) + mentions(type->u.function.to, param);
  case TYPE_RECORD: {
    int count = 0;
    for (int i = 0; i < type->u.record.count; i++)
      count += mentions(type->u.record.fields[i].type, param);
    return count;
  }
  case TYPE_PRIM:
  case TYPE_VAR: return 0;
  }
  return 0;
}

static bool is_param(const Type *type, const Binding *param) {
  type = type_resolve(type);
  return type->kind == TYPE_PARAM && type->u.param == param;
}

// A function of one argument, which keeps it and is told nothing of the type parameter.
static bool is_source(const Type *type, const Binding *param) {
  if (type->kind != TYPE_FUNCTION || !is_param(type->u.function.to, param)) return false;
  const Type *from = type->u.function.from;
  return !type_has_unique(from) && !mentions(from, param);
}

// The expression of a field, or NULL where the record is not written there.
static const AstExp *written_part(const AstExp *record, int at, Name name) {
  while (record->kind == AST_ASCRIBE)
    record = record->u.ascribe.exp;
  if (record->kind == AST_TUPLE && at < record->u.tuple.items.count)
    return record->u.tuple.items.at[at];
  if (record->kind == AST_RECORD)
    vec_each (const AstFieldExp *, field, &record->u.record.fields)
      if (field->name == name) return field->value;
  return NULL;
}

// Whether what an argument of the type brings along of the type parameter is sources that give
// fresh values.
static bool brings_fresh(const Type *type, const Binding *param, const AstExp *arg) {
  type = type_resolve(type);
  if (!mentions(type, param)) return true;
  if (!arg) return false;
  if (type->kind != TYPE_RECORD)
    return is_source(type, param) && consume_gives_fresh(arg);
  for (int i = 0; i < type->u.record.count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    if (!brings_fresh(f->type, param, written_part(arg, i, f->name))) return false;
  }
  return true;
}

static bool is_fresh(const Type *type, const Binding *param, const AstExpVec *args) {
  for (int i = 0; i < args->count; i++) {
    type = type_resolve(type);
    if (type->kind != TYPE_FUNCTION) return false;
    if (!brings_fresh(type->u.function.from, param, args->at[i])) return false;
    type = type->u.function.to;
  }
  return type_resolve(type)->kind != TYPE_FUNCTION && mentions(type, param) == 1;
}

BindingVec consume_fresh_params(const AstExp *function, const AstExpVec *args) {
  BindingVec fresh = { 0 };
  const Binding *b = function->kind == AST_NAME ? function->u.name.binding : NULL;
  for (int i = 0; b && i < b->types.count; i++)
    if (is_fresh(b->type, b->types.at[i], args)) vec_push(&fresh, b->types.at[i]);
  return fresh;
}

bool consume_is_fresh_param(const BindingVec *fresh, const Type *declared) {
  while (declared->kind == TYPE_ARRAY)
    declared = type_resolve(declared->u.array.elem);
  for (int i = 0; i < fresh->count; i++)
    if (is_param(declared, fresh->at[i])) return true;
  return false;
}
