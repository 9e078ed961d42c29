// Sizes that come up where an abstract type in the type of a function gets a meaning, `?[k].[k]t`.
//
// Those of parameters become parameters, those of the result differ from call to call; but where
// `ctx -> t ctx` has `?[k].[k]u8` for ctx, `t` is applied to the sizes of the argument, as the
// context is the one thing that it can be.
#include "types/module.h"

// What became of the abstract types in parameters.
typedef struct ToldSizes {
  const Binding *abstract;
  const Type *type;  // NULL if it is there several times
} ToldSizes;

typedef Vec(ToldSizes) ToldVec;

// Whether the type is as before, but for its parts.
static bool is_same_form(const Type *old, const Type *now) {
  return old->kind == now->kind &&
         (old->kind != TYPE_PARAM || old->u.param == now->u.param) &&
         (old->kind != TYPE_RECORD || old->u.record.count == now->u.record.count);
}

static void note_told(ToldVec *told, const Type *old, const Type *now);

static void note_told_parts(ToldVec *told, const Type *old, const Type *now) {
  if (old->kind == TYPE_ARRAY) note_told(told, old->u.array.elem, now->u.array.elem);
  for (int i = 0; old->kind == TYPE_RECORD && i < old->u.record.count; i++)
    note_told(told, old->u.record.fields[i].type, now->u.record.fields[i].type);
  if (old->args && now->args) note_told(told, old->args, now->args);
}

static void note_told(ToldVec *told, const Type *old, const Type *now) {
  old = type_resolve(old);
  now = type_resolve(now);
  if (is_same_form(old, now)) {
    note_told_parts(told, old, now);
  } else if (old->kind == TYPE_PARAM && !old->args) {
    vec_each (ToldSizes *, t, told)
      if (t->abstract == old->u.param) {
        t->type = NULL;
        return;
      }
    vec_push(told, ((ToldSizes){ old->u.param, now }));
  }
}

static const Type *told_type(const ToldVec *told, const Type *old) {
  vec_each (const ToldSizes *, t, told)
    if (t->abstract == old->u.param) return t->type;
  return NULL;
}

static const Type *tie(const ToldVec *told, const Type *old, const Type *now,
                       bool in_args);

static const Type *tie_fields(const ToldVec *told, const Type *old, const Type *now,
                              bool in_args) {
  TypeField *fields = new_array(TypeField, now->u.record.count);
  for (int i = 0; i < now->u.record.count; i++) {
    fields[i] = now->u.record.fields[i];
    fields[i].type = tie(told, old->u.record.fields[i].type, fields[i].type, in_args);
  }
  Type *out = mem_copy(now, sizeof *out);
  out->u.record.fields = fields;
  return out;
}

// `now`, which `old` became, with the sizes that parameters have in what abstract types are
// applied to.
static const Type *tie(const ToldVec *told, const Type *old, const Type *now,
                       bool in_args) {
  old = type_resolve(old);
  now = type_resolve(now);
  if (!is_same_form(old, now)) {
    const Type *known =
        in_args && old->kind == TYPE_PARAM && !old->args ? told_type(told, old) : NULL;
    return known ? known : now;
  }
  if (old->kind == TYPE_RECORD) return tie_fields(told, old, now, in_args);
  if (!now->args || !old->args) return now;
  Type *out = mem_copy(now, sizeof *out);
  out->args = tie(told, old->args, now->args, true);
  return out;
}

static const Type *name_sizes(Check *k, const Type *old, const Type *type,
                              BindingVec *params, ToldVec *told) {
  Type *copy = mem_copy(type, sizeof *type);
  if (old->kind != TYPE_FUNCTION)
    old = type;  // a function by the meaning of an abstract type
  const Type *from = type_name_anonymous(k, type->u.function.from, params);
  note_told(told, old->u.function.from, from);
  copy->u.function.from = from;
  const Type *to = type_resolve(type->u.function.to);
  const Type *old_to = type_resolve(old->u.function.to);
  if (to->kind == TYPE_FUNCTION) {
    copy->u.function.to = name_sizes(k, old_to, to, params, told);
    return copy;
  }
  BindingVec exists = { 0 };
  for (int i = 0; i < type->u.function.exist_count; i++)
    vec_push(&exists, type->u.function.exists[i]);
  copy->u.function.to = type_name_anonymous(k, tie(told, old_to, to, false), &exists);
  vec_each (Binding **, b, &exists)
    (*b)->level = 0;
  copy->u.function.exist_count = exists.count;
  copy->u.function.exists = exists.at;
  return copy;
}

void module_name_sizes(Check *k, const Type *before, Binding *function) {
  BindingVec sizes = { 0 };
  for (int i = 0; i < function->sizes.count; i++)
    vec_push(&sizes, function->sizes.at[i]);
  ToldVec told = { 0 };
  k->level++;
  const Type *now = type_resolve(function->type);
  function->type = name_sizes(k, type_resolve(before), now, &sizes, &told);
  k->level--;
  function->sizes.at = sizes.at;
  function->sizes.count = sizes.count;
  function->sizes.capacity = sizes.capacity;
}
