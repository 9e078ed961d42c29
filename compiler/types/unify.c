// Unification of types (Hindley-Milner), with levels in place of environments.
//
// `expected` is what the context asks for, `actual` what an expression has: the difference
// matters for messages and for functions whose results have sizes of their own.
#include "types/check.h"
#include <limits.h>

const Type *type_resolve(const Type *type) { return type_resolve_result(type, NULL); }

const Type *type_resolve_result(const Type *type, BindingVec *exists) {
  while (type->kind == TYPE_VAR && type->u.var->solution) {
    TypeVar *var = type->u.var;
    if (exists)
      for (int i = 0; i < var->exists.count; i++)
        vec_push(exists, var->exists.at[i]);
    const Type *next = var->solution;
    // Halve the path, unless that would lose sizes bound on the way.
    if (next->kind == TYPE_VAR && next->u.var->solution && !next->u.var->exists.count &&
        !var->exists.count)
      var->solution = next->u.var->solution;
    type = next;
  }
  return type;
}

static const Type *fresh_var(Check *k, Loc loc, TypeClass prims) {
  TypeVar *var = new_node(TypeVar, .level = k->level, .id = k->c->next_id++, .loc = loc,
                          .prims = prims);
  if (prims) {
    var->first_order = var->fixed_size = true;
    vec_push(&k->vars, var);
  }
  return new_node(Type, .kind = TYPE_VAR, .u.var = var);
}

const Type *type_var(Check *k, Loc loc) { return fresh_var(k, loc, CLASS_ANY); }

const Type *type_var_of(Check *k, TypeClass prims, Loc loc) {
  return fresh_var(k, loc, prims);
}

const Type *type_data_var(Check *k, Loc loc) {
  const Type *type = fresh_var(k, loc, CLASS_ANY);
  type->u.var->first_order = type->u.var->fixed_size = true;
  return type;
}

const Type *type_error(Check *k, Loc loc) {
  const Type *type = fresh_var(k, loc, CLASS_ANY);
  type->u.var->is_error = true;
  k->type_errors++;
  return type;
}

bool type_is_error(const Type *type) {
  type = type_resolve(type);
  return type->kind == TYPE_VAR && type->u.var->is_error;
}

static bool mismatch(Check *k, Mismatch m) {
  k->mismatch = m;
  return false;
}

static bool is_no_own_size(Check *k, const TypeVar *var, const Size *size) {
  const Binding *own = type_var_in_names(var, size);
  return !own ||
         mismatch(k,
                  (Mismatch){ .kind = MISMATCH_CYCLE, .size = own, .actual_size = size });
}

// Whether `type` may be bound to `var`: it does not contain it, and mentions no size from deeper
// scopes.  Open variables in it become as shallow as `var`.
static bool can_enter(Check *k, TypeVar *var, const Type *type) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_PRIM: return true;
  case TYPE_PARAM:
    if (type->u.param->level > var->level)
      return mismatch(k, (Mismatch){ .kind = MISMATCH_SCOPE, .size = type->u.param });
    return !type->args || can_enter(k, var, type->args);
  case TYPE_RECORD:
    for (int i = 0; i < type->u.record.count; i++)
      if (!can_enter(k, var, type->u.record.fields[i].type)) return false;
    return true;
  case TYPE_ARRAY:
    return size_can_enter(k, type->u.array.size, var->level) &&
           is_no_own_size(k, var, type->u.array.size) &&
           can_enter(k, var, type->u.array.elem);
  case TYPE_FUNCTION:
    return can_enter(k, var, type->u.function.from) &&
           can_enter(k, var, type->u.function.to);
  case TYPE_VAR:
    if (type->u.var == var) return mismatch(k, (Mismatch){ .kind = MISMATCH_INFINITE });
    if (type->u.var->level > var->level) type->u.var->level = var->level;
    return true;
  }
  return true;
}

void type_lower(Check *k, const Type *type) {
  TypeVar here = { .level = k->level };
  can_enter(k, &here, type);
}

bool unify_first_order(Check *k, const Type *type) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_PRIM: return true;
  case TYPE_RECORD:
    for (int i = 0; i < type->u.record.count; i++)
      if (!unify_first_order(k, type->u.record.fields[i].type)) return false;
    return true;
  case TYPE_ARRAY: return unify_first_order(k, type->u.array.elem);
  case TYPE_PARAM:
    return !type->u.param->lifted ||
           mismatch(k, (Mismatch){ .kind = MISMATCH_FUNCTION, .actual = type });
  case TYPE_FUNCTION:
    return mismatch(k, (Mismatch){ .kind = MISMATCH_FUNCTION, .actual = type });
  case TYPE_VAR:
    type->u.var->first_order = true;
    if (!type->u.var->is_error) type->u.var->fixed_size = true;
    return true;
  }
  return true;
}

bool unify_element(Check *k, const Type *type) {
  type = type_resolve(type);
  if (type->kind == TYPE_VAR) type->u.var->is_element = true;
  if (type->kind == TYPE_PARAM && type->u.param->size_lifted)
    return mismatch(k, (Mismatch){ .kind = MISMATCH_LIFTED, .actual = type });
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (!unify_element(k, type->u.record.fields[i].type)) return false;
  return true;
}

// Narrows an open variable to the scalar types that are in both sets.
static bool narrow(Check *k, const Type *type, TypeClass prims) {
  TypeVar *var = type->u.var;
  if (var->is_error || !prims) return true;
  TypeClass both = var->prims ? var->prims & prims : prims;
  if (!both)
    return mismatch(k,
                    (Mismatch){ .kind = MISMATCH_CLASS, .prims = prims, .actual = type });
  if (!var->prims && !var->fields.count) vec_push(&k->vars, var);
  var->prims = both;
  var->first_order = var->fixed_size = true;
  return true;
}

bool unify_class(Check *k, const Type *type, TypeClass prims) {
  type = type_resolve(type);
  if (!prims) return true;
  if (type->kind == TYPE_VAR) return narrow(k, type, prims);
  if (type->kind == TYPE_PRIM && (prims >> type->u.prim & 1)) return true;
  if (type->kind == TYPE_ARRAY && prims & CLASS_STRUCTURE)
    return unify_class(k, type->u.array.elem, prims);
  if (type->kind == TYPE_PARAM && type->u.param->prims &&
      !(type->u.param->prims & ~prims))
    return true;
  if (type->kind != TYPE_RECORD || !(prims & CLASS_STRUCTURE))
    return mismatch(k,
                    (Mismatch){ .kind = MISMATCH_CLASS, .prims = prims, .actual = type });
  for (int i = 0; i < type->u.record.count; i++)
    if (!unify_class(k, type->u.record.fields[i].type, prims)) return false;
  return true;
}

static const Type *find_field(const Type *record, Name name) {
  for (int i = 0; i < record->u.record.count; i++)
    if (record->u.record.fields[i].name == name) return record->u.record.fields[i].type;
  return NULL;
}

// The type of a field, or the arguments of a constructor.
static bool unify_fields(Check *k, FieldWant want, const Type *has, const Type *sum) {
  if (unify(k, want.type, has)) return true;
  if (want.name[0] != '#' || k->mismatch.constructor) return false;
  k->mismatch.constructor = want.name;
  k->mismatch.has = has;
  k->mismatch.given = want.type;
  k->mismatch.sum = sum;
  k->mismatch.at = want.loc;
  return false;
}

static bool want_field(Check *k, const Type *type, FieldWant want) {
  type = type_resolve(type);
  if (type->kind == TYPE_RECORD) {
    const Type *field = find_field(type, want.name);
    if (field) return unify_fields(k, want, field, type);
    return mismatch(
        k, (Mismatch){ .kind = MISMATCH_FIELD, .actual = type, .field = want.name });
  }
  if (type->kind != TYPE_VAR)
    return mismatch(
        k, (Mismatch){ .kind = MISMATCH_FIELD, .actual = type, .field = want.name });
  TypeVar *var = type->u.var;
  for (int i = 0; i < var->fields.count; i++)
    if (var->fields.at[i].name == want.name)
      return unify_fields(k, want, var->fields.at[i].type, NULL);
  if (!can_enter(k, var, want.type)) return false;
  if (!var->fields.count && !var->prims) vec_push(&k->vars, var);
  vec_push(&var->fields, want);
  return true;
}

const Type *unify_field(Check *k, const Type *record, Name field, Loc loc) {
  record = type_resolve(record);
  if (type_is_error(record)) return type_error(k, loc);
  if (record->kind == TYPE_RECORD) {
    const Type *type = find_field(record, field);
    if (!type)
      mismatch(k, (Mismatch){ .kind = MISMATCH_FIELD, .actual = record, .field = field });
    return type;
  }
  const Type *type = type_var(k, loc);
  return want_field(k, record, (FieldWant){ field, type, loc }) ? type : NULL;
}

// Binds `var` to `type` (an open variable or not), with all that was asked of the variable.
static bool bind_type(Check *k, TypeVar *var, const Type *type,
                      const BindingVec *exists) {
  if (type->kind == TYPE_VAR && type->u.var == var) return true;
  if (exists->count && var->fixed_size)
    return mismatch(
        k, (Mismatch){ .kind = MISMATCH_VARYING, .size = exists->at[0], .actual = type });
  if (!can_enter(k, var, type)) {
    k->mismatch.actual = type;
    if (k->mismatch.kind != MISMATCH_SCOPE) return false;
    type = type_outer(k, type, var->level);
    if (!can_enter(k, var, type)) return false;
  }
  if (var->first_order && !unify_first_order(k, type)) return false;
  if (var->is_element && !unify_element(k, type)) return false;
  if (!unify_class(k, type, var->prims)) return false;
  // What is found out about a value does not say whose it is.
  var->solution = type_without_unique(type);
  for (int i = 0; i < exists->count; i++)
    vec_push(&var->exists, exists->at[i]);
  if (var->fixed_size && type->kind == TYPE_VAR) type->u.var->fixed_size = true;
  for (int i = 0; i < var->fields.count; i++) {
    if (want_field(k, type, var->fields.at[i])) continue;
    var->solution = NULL;  // another attempt is to fail as well
    var->exists.count = 0;
    return false;
  }
  return true;
}

static bool unify_records(Check *k, const Type *e, const Type *a) {
  int count = e->u.record.count;
  bool same = count == a->u.record.count;
  for (int i = 0; same && i < count; i++)
    same = e->u.record.fields[i].name == a->u.record.fields[i].name;
  if (!same)
    return mismatch(k, (Mismatch){ .kind = MISMATCH_KIND, .expected = e, .actual = a });
  for (int i = 0; i < count; i++)
    if (!unify(k, e->u.record.fields[i].type, a->u.record.fields[i].type)) return false;
  return true;
}

// A size that stands for a bound one while two functions are compared: no variable may hold it.
static Binding *skolem(Check *k, const Binding *bound) {
  Binding *b = binding_new(k, BIND_SIZE, bound->name, bound->loc, type_prim(PRIM_I64));
  b->level = INT_MAX;
  return b;
}

// The result type of a function, with the sizes that it binds in `exists`.
static const Type *result(const Type *function, BindingVec *exists) {
  for (int i = 0; i < function->u.function.exist_count; i++)
    vec_push(exists, function->u.function.exists[i]);
  return type_resolve_result(function->u.function.to, exists);
}

// Both arrows' parameters become the same fresh name, which is returned (NULL if they have none).
static Binding *equate_params(Check *k, const Type *e, const Type *a, const Type **to_e,
                              const Type **to_a) {
  const Binding *pe = e->u.function.param, *pa = a->u.function.param;
  if ((!pe && !pa) || pe == pa) return NULL;
  Binding *same = skolem(k, pe ? pe : pa);
  const Size *name = size_of_binding(same, k->at);
  if (pe) *to_e = type_replace_size(k, pe, name, *to_e);
  if (pa) *to_a = type_replace_size(k, pa, name, *to_a);
  return same;
}

// The result of a function where parameters that are being compared occur in it: where a variable
// takes it on, these sizes are more that each application makes anew; the result must tell them.
static bool bind_result(Check *k, TypeVar *var, const Type *type, BindingVec *exists) {
  for (int i = 0; i < k->params.count && !var->fixed_size; i++) {
    const Binding *param = k->params.at[i];
    if (!type_mentions(type, param)) continue;
    if (!type_tells_size(type, param))
      return mismatch(
          k, (Mismatch){ .kind = MISMATCH_UNTOLD, .size = param, .actual = type });
    Binding *fresh =
        binding_new(k, BIND_SIZE, param->name, param->loc, type_prim(PRIM_I64));
    fresh->level = 0;
    vec_push(exists, fresh);
    type = type_replace_size(k, param, size_of_binding(fresh, param->loc), type);
  }
  return bind_type(k, var, type, exists);
}

static const Type *replace_exists(Check *k, const BindingVec *exists, bool open,
                                  const Type *type) {
  for (int i = 0; i < exists->count; i++) {
    Binding *b = exists->at[i];
    const Size *to =
        open ? size_var(k, b->name, k->at) : size_of_binding(skolem(k, b), b->loc);
    if (open) to->u.var->level = INT_MAX;
    type = type_replace_size(k, b, to, type);
  }
  return type;
}

// What is expected to have sizes of its own (?[k]) may have any sizes; what does have sizes of its
// own fits only there, or a variable that can carry them along.
static bool unify_results(Check *k, const Type *e, const Type *a, BindingVec *exists_e,
                          BindingVec *exists_a) {
  if (!exists_e->count && e->kind == TYPE_VAR && !e->u.var->is_error)
    return bind_result(k, e->u.var, a, exists_a);
  if (!exists_a->count && a->kind == TYPE_VAR && !a->u.var->is_error)
    return bind_result(k, a->u.var, e, exists_e);
  e = replace_exists(k, exists_e, true, e);
  a = replace_exists(k, exists_a, false, a);
  return unify(k, e, a);
}

// The type itself.  Sizes that a variable binds for its place as a function's result mean nothing
// outside of that place, so that nothing may be equal to them.
static const Type *resolve_value(Check *k, const Type *type) {
  BindingVec exists = { 0 };
  type = type_resolve_result(type, &exists);
  return exists.count ? replace_exists(k, &exists, false, type) : type;
}

// What functions take.  A variable may stand for arrays of a size that differs from call to call,
// as in `\_ xs -> 0` for (k: i64) -> [k]t -> i32: nothing can be asked of that size.
static bool unify_taken(Check *k, const Type *e, const Type *a) {
  BindingVec exists = { 0 };
  const Type *open_e = type_resolve(e), *open_a = type_resolve(a);
  if (k->params.count && open_a->kind == TYPE_VAR && !open_a->u.var->is_error)
    return bind_result(k, open_a->u.var, resolve_value(k, e), &exists);
  if (k->params.count && open_e->kind == TYPE_VAR && !open_e->u.var->is_error)
    return bind_result(k, open_e->u.var, resolve_value(k, a), &exists);
  return unify(k, a, e);
}

// (n: a) -> ?[k]. t: parameters are renamed to be the same.
static bool unify_functions(Check *k, const Type *e, const Type *a) {
  if (!unify_taken(k, e->u.function.from, a->u.function.from)) return false;
  BindingVec exists_e = { 0 }, exists_a = { 0 };
  const Type *to_e = result(e, &exists_e), *to_a = result(a, &exists_a);
  Binding *param = equate_params(k, e, a, &to_e, &to_a);
  if (param) vec_push(&k->params, param);
  bool same = unify_results(k, to_e, to_a, &exists_e, &exists_a);
  if (param) k->params.count--;
  return same;
}

bool unify(Check *k, const Type *e, const Type *a) {
  e = resolve_value(k, e);
  a = resolve_value(k, a);
  if (e == a || type_is_error(e) || type_is_error(a)) return true;
  static const BindingVec none = { 0 };
  if (a->kind == TYPE_VAR) return bind_type(k, a->u.var, e, &none);
  if (e->kind == TYPE_VAR) return bind_type(k, e->u.var, a, &none);
  if (e->kind == a->kind) {
    switch (e->kind) {
    case TYPE_PRIM:
      if (e->u.prim == a->u.prim) return true;
      break;
    case TYPE_PARAM:
      if (e->u.param == a->u.param) return !e->args || unify(k, e->args, a->args);
      break;
    case TYPE_RECORD: return unify_records(k, e, a);
    case TYPE_ARRAY:
      return unify(k, e->u.array.elem, a->u.array.elem) &&
             unify_sizes(k, e->u.array.size, a->u.array.size);
    case TYPE_FUNCTION: return unify_functions(k, e, a);
    case TYPE_VAR: break;
    }
  }
  return mismatch(k, (Mismatch){ .kind = MISMATCH_KIND, .expected = e, .actual = a });
}
