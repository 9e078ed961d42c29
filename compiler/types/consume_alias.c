// Sets of roots.
#include "types/consume.h"

const Alias *alias_of_root(Root *root) {
  Alias *a = new (Alias);
  vec_push(&a->roots, root);
  return a;
}

const Alias *alias_record(const Name *names, const Alias *const *fields, int count) {
  for (int i = 0; i < count; i++)
    if (fields[i])
      return new_node(Alias, .count = count, .names = names, .fields = fields);
  return NULL;
}

const Alias *alias_field(const Alias *a, Name name) {
  if (!a || !a->count) return a;
  for (int i = 0; i < a->count; i++)
    if (a->names[i] == name) return a->fields[i];
  return NULL;
}

static const Alias *union_roots(const Alias *a, const Alias *b) {
  Alias *both = new (Alias);
  int i = 0, j = 0;
  while (i < a->roots.count || j < b->roots.count) {
    Root *x = i < a->roots.count ? a->roots.at[i] : NULL;
    Root *y = j < b->roots.count ? b->roots.at[j] : NULL;
    bool left = x && (!y || x->id <= y->id), right = y && (!x || y->id <= x->id);
    vec_push(&both->roots, left ? x : y);
    i += left;
    j += right;
  }
  // Sharing keeps chains of names that alias the same roots cheap.
  if (both->roots.count == a->roots.count) return a;
  return both->roots.count == b->roots.count ? b : both;
}

const Alias *alias_union(const Alias *a, const Alias *b) {
  if (!a || a == b) return b;
  if (!b) return a;
  if (!a->count && !b->count) return union_roots(a, b);
  const Alias *record = a->count ? a : b;
  const Alias **fields = new_array(const Alias *, record->count);
  for (int i = 0; i < record->count; i++)
    fields[i] =
        alias_union(alias_field(a, record->names[i]), alias_field(b, record->names[i]));
  return alias_record(record->names, fields, record->count);
}

const Alias *alias_flat(const Alias *a) {
  if (!a || !a->count) return a;
  const Alias *all = NULL;
  for (int i = 0; i < a->count; i++)
    all = alias_union(all, alias_flat(a->fields[i]));
  return all;
}

bool alias_has(const Alias *flat, const Root *root) {
  for (int i = 0; flat && i < flat->roots.count; i++)
    if (flat->roots.at[i] == root) return true;
  return false;
}

// --- Types ---

static bool any_part(const Type *type, bool (*holds)(const Type *type)) {
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (holds(type->u.record.fields[i].type)) return true;
  return false;
}

bool type_shares(const Type *type) {
  type = type_resolve(type);
  bool leaf =
      type->kind == TYPE_ARRAY || type->kind == TYPE_PARAM || type->kind == TYPE_FUNCTION;
  return leaf || any_part(type, type_shares);
}

bool type_has_function(const Type *type) {
  type = type_resolve(type);
  bool param = type->kind == TYPE_PARAM && type->u.param->lifted;
  return type->kind == TYPE_FUNCTION || param || any_part(type, type_has_function);
}
