// Would a variable contain itself?  Through sizes, too: the size of `xs` cannot be `xs[0]`, an
// element of what it is the size of.
#include "base/map.h"
#include "types/check.h"

// What is looked for, one of the two, and what has been looked at.
typedef struct Search {
  const TypeVar *type_var;
  const SizeVar *size_var;
  Map *seen;               // Binding -> itself
  const Binding *through;  // found in the type of this binding
} Search;

static bool in_type(Search *s, const Type *type);

// Names of scalars, which are nearly all, have nothing in their types.
static bool in_name(Search *s, const Binding *b) {
  if (!b->type || type_resolve(b->type)->kind == TYPE_PRIM) return false;
  if (!s->seen) s->seen = map_new(NULL);
  if (map_has(s->seen, b)) return false;
  map_put(s->seen, b, b);
  if (!in_type(s, b->type)) return false;
  s->through = b;
  return true;
}

static bool in_size(Search *s, const Size *size) {
  size = size_resolve(size);
  if (size->kind == SIZE_VAR) return size->u.var == s->size_var;
  if (size->kind == SIZE_NAME) return in_name(s, size->u.name);
  if (size->kind != SIZE_EXP || !size->u.exp.tree) return false;
  for (int i = 0; i < size->u.exp.tree->count; i++)
    if (in_size(s, size->u.exp.tree->parts[i])) return true;
  return false;
}

// Of a record that is not known yet there are the fields that are used.
static bool in_var(Search *s, const TypeVar *var) {
  if (var == s->type_var) return true;
  vec_each (const FieldWant *, want, &var->fields)
    if (in_type(s, want->type)) return true;
  return false;
}

static bool in_type(Search *s, const Type *type) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_PRIM:
  case TYPE_PARAM: return false;
  case TYPE_VAR: return in_var(s, type->u.var);
  case TYPE_ARRAY:
    return in_size(s, type->u.array.size) || in_type(s, type->u.array.elem);
  case TYPE_FUNCTION:
    return in_type(s, type->u.function.from) || in_type(s, type->u.function.to);
  case TYPE_RECORD:
    for (int i = 0; i < type->u.record.count; i++)
      if (in_type(s, type->u.record.fields[i].type)) return true;
    return false;
  }
  return false;
}

const Binding *size_var_in_names(const SizeVar *var, const Size *size) {
  Search s = { .size_var = var };
  in_size(&s, size);
  return s.through;
}

const Binding *type_var_in_names(const TypeVar *var, const Size *size) {
  Search s = { .type_var = var };
  in_size(&s, size);
  return s.through;
}
