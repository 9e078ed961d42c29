// Types as they are written, and sizes in them.
#include "base/text.h"
#include "source/ast_walk.h"
#include "source/source.h"
#include "types/check.h"
#include "types/consume.h"

// Types that double from definition to definition would soon fill the memory.
enum { MAX_TYPE_PARTS = 20000 };

static void count_parts(const Type *type, int *left) {
  type = type_resolve(type);
  if (--*left < 0) return;
  if (type->kind == TYPE_ARRAY) count_parts(type->u.array.elem, left);
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count && *left >= 0;
       i++)
    count_parts(type->u.record.fields[i].type, left);
}

const Type *type_record_checked(Check *k, Loc loc, const TypeField *fields, int count,
                                bool is_tuple) {
  const Type *type = type_record(fields, count, is_tuple);
  int left = MAX_TYPE_PARTS;
  count_parts(type, &left);
  if (left >= 0) return type;
  error(k->c, loc, "this type has more than %d parts", MAX_TYPE_PARTS);
  return type_error(k, loc);
}

// --- Sizes ---

// A name that is not bound, where other languages would bind it.
static bool is_unknown_name(Check *k, const AstExp *exp) {
  if (exp->kind != AST_NAME || exp->u.name.name.qualifiers.count) return false;
  if (scope_has_value(k, &exp->u.name.name)) return false;
  Name name = exp->u.name.name.name;
  if (map_has(k->unknown, name)) return true;
  map_put(k->unknown, name, name);
  error(k->c, exp->loc, "unknown size `%s`", name);
  hint(k->c,
       "sizes are parameters, too: `[%s]` before the others, as in `def f [%s] (xs: "
       "[%s]i32)` or `let [%s] (xs: [%s]i32) = ..`",
       name, name, name, name, name);
  return true;
}

static bool consumes_argument(const AstExp *apply) {
  const AstExp *f = apply->u.apply.function;
  const Binding *b = f->kind == AST_NAME ? f->u.name.binding : NULL;
  const Type *type = b && b->type ? type_resolve(b->type) : type_resolve(f->type);
  for (int i = 0; i < apply->u.apply.args.count && type->kind == TYPE_FUNCTION; i++) {
    if (type_has_unique(type->u.function.from)) return true;
    type = type_resolve(type->u.function.to);
  }
  return false;
}

static void find_consumer(AstVisitor *v, const AstExp *exp) {
  const AstExp **found = v->state;
  bool update = exp->kind == AST_WITH || exp->kind == AST_LET_WITH;
  if (update || (exp->kind == AST_APPLY && consumes_argument(exp))) *found = exp;
  if (!*found) ast_visit_parts(v, exp);
}

// A size may be computed any number of times.
static void check_consumes_nothing(Check *k, const AstExp *exp) {
  const AstExp *found = NULL;
  AstVisitor visitor = { .exp = find_consumer, .state = &found };
  find_consumer(&visitor, exp);
  if (found) error(k->c, found->loc, "an expression in a size must not consume anything");
}

const Size *check_size(Check *k, AstExp *exp) {
  if (is_unknown_name(k, exp)) return size_var(k, NULL, exp->loc);
  int errors = diag_error_count(k->c);
  check_exp(k, exp, type_prim(PRIM_I64), (Why){ .kind = WHY_SIZE });
  // What it is compared with is right.
  if (diag_error_count(k->c) > errors) return size_var(k, NULL, exp->loc);
  check_consumes_nothing(k, exp);
  const Size *size = size_of_exp(k, exp);
  if (!size && !type_is_error(exp->type)) size = size_opaque(k, exp);
  return size ? size : new_node(Size, .kind = SIZE_ANY, .loc = exp->loc);
}

// --- Types ---

bool type_has_any_size(const Type *type) {
  type = type_resolve(type);
  if (type->kind == TYPE_ARRAY)
    return size_resolve(type->u.array.size)->kind == SIZE_ANY ||
           type_has_any_size(type->u.array.elem);
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (type_has_any_size(type->u.record.fields[i].type)) return true;
  return false;
}

bool type_is_known(const Type *type) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_PRIM: return true;
  case TYPE_VAR: return false;
  case TYPE_PARAM: return !type->args || type_is_known(type->args);
  case TYPE_ARRAY:
    return !size_is_open(type->u.array.size) && type_is_known(type->u.array.elem);
  case TYPE_FUNCTION:
    return type_is_known(type->u.function.from) && type_is_known(type->u.function.to);
  case TYPE_RECORD:
    for (int i = 0; i < type->u.record.count; i++)
      if (!type_is_known(type->u.record.fields[i].type)) return false;
    return true;
  }
  return false;
}

bool type_size_varies(const Type *type) {
  type = type_resolve(type);
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (type_size_varies(type->u.record.fields[i].type)) return true;
  if (type->kind == TYPE_PARAM) return type->u.param->size_lifted;
  return type->kind != TYPE_RECORD && type_has_any_size(type);
}

static const Type *check_tuple(Check *k, const AstType *type) {
  int count = type->u.tuple.items.count;
  if (count == 0) return type_unit();
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++) {
    fields[i].name = type_field_name(k->c, i);
    fields[i].type = check_type(k, type->u.tuple.items.at[i]);
  }
  return type_record_checked(k, type->loc, fields, count, true);
}

static const Type *check_record(Check *k, const AstType *type) {
  int count = type->u.record.fields.count;
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++) {
    const AstField *f = &type->u.record.fields.at[i];
    fields[i] = (TypeField){ f->name, check_type(k, f->type) };
    for (int j = 0; j < i; j++)
      if (fields[j].name == f->name) error(k->c, f->loc, "duplicate field `%s`", f->name);
  }
  return type_record_checked(k, type->loc, fields, count, false);
}

static const AstType *lifted_part(Check *k, const AstType *type);

static const AstType *lifted_name(Check *k, const AstType *type) {
  const TypeDef *def = scope_find_type(k, &type->u.name.name);
  const AstType *part = def && def->lifted != LIFTED_NOT ? type : NULL;
  for (int i = 0; !part && i < type->u.name.args.count; i++) {
    const AstTypeArg *arg = &type->u.name.args.at[i];
    part = arg->type ? lifted_part(k, arg->type) : NULL;
  }
  return part;
}

// The name of a lifted type or parameter among the parts of a type that are in no array of it and
// no function; NULL if there is none.
static const AstType *lifted_part(Check *k, const AstType *type) {
  const AstType *part = NULL;
  switch (type->kind) {
  case AST_TYPE_NAME: return lifted_name(k, type);
  case AST_TYPE_UNIQUE: return lifted_part(k, type->u.unique.of);
  case AST_TYPE_EXISTS: return lifted_part(k, type->u.exists.of);
  case AST_TYPE_ARRAY:
  case AST_TYPE_FUNCTION: return NULL;
  case AST_TYPE_TUPLE:
    for (int i = 0; !part && i < type->u.tuple.items.count; i++)
      part = lifted_part(k, type->u.tuple.items.at[i]);
    return part;
  case AST_TYPE_RECORD:
    for (int i = 0; !part && i < type->u.record.fields.count; i++)
      part = lifted_part(k, type->u.record.fields.at[i].type);
    return part;
  case AST_TYPE_SUM:
    for (int i = 0; !part && i < type->u.sum.constructors.count; i++) {
      const AstTypeVec *payload = &type->u.sum.constructors.at[i].payload;
      for (int j = 0; !part && j < payload->count; j++)
        part = lifted_part(k, payload->at[j]);
    }
    return part;
  }
  return NULL;
}

// Whether an array may have such elements.  An abbreviation says that its sizes vary, where a
// written `[]` says that all rows have one size.
static bool check_elem(Check *k, const AstType *elem, const Type *type) {
  const AstType *part = lifted_part(k, elem);
  if (!part) {
    bool fits = unify_first_order(k, type);
    if (!fits)
      error(k->c, elem->loc, "an array cannot hold functions (element type `%s`)",
            type_text(type));
    return fits;
  }
  const TypeDef *def = scope_find_type(k, &part->u.name.name);
  error(k->c, part->loc,
        def && def->lifted == LIFTED_FULLY
            ? "an array cannot hold functions, which values of `%s` may be"
            : "the elements of an array must have one size, but those of `%s` vary",
        part->u.name.name.name);
  return false;
}

static const Type *check_array(Check *k, const AstType *type) {
  const Size *size = type->u.array.size
                         ? check_size(k, type->u.array.size)
                         : new_node(Size, .kind = SIZE_ANY, .loc = type->loc);
  const Type *elem = check_type(k, type->u.array.elem);
  if (!check_elem(k, type->u.array.elem, elem)) return type_error(k, type->loc);
  return type_array_of(size, elem);
}

// A parameter that is named may occur in sizes of the result; anonymous sizes of the result
// differ from call to call.
static const Type *check_function(Check *k, const AstType *type) {
  int mark = scope_mark(k);
  const Type *from = check_type(k, type->u.function.from);
  Binding *param = NULL;
  if (type->u.function.param) {
    param = binding_new(k, BIND_SIZE, type->u.function.param, type->loc, from);
    param->level = 0;
    scope_bind(k, param, false);
  }
  BindingVec exists = { 0 };
  const Type *to = type_name_anonymous(k, check_type(k, type->u.function.to), &exists);
  vec_each (Binding **, b, &exists)
    (*b)->level = 0;
  scope_leave(k, mark);
  return new_node(
      Type, .kind = TYPE_FUNCTION,
      .u.function = { .param = param && type_mentions(to, param) ? param : NULL,
                      .from = from,
                      .to = to,
                      .exist_count = exists.count,
                      .exists = exists.at });
}

// `square [] t` is `[n][n]t` for some n: wherever the parameter stands there is the same size.
static const Size *any_argument(Check *k, const AstTypeParam *param,
                                const AstTypeArg *arg) {
  const Binding *key =
      binding_new(k, BIND_SIZE, param->name, arg->loc, type_prim(PRIM_I64));
  return new_node(Size, .kind = SIZE_ANY, .loc = arg->loc, .u.name = key);
}

static bool bind_argument(Check *k, const AstTypeParam *param, const AstTypeArg *arg,
                          TypeSubst *s) {
  bool wants_size = param->kind == TYPE_PARAM_SIZE;
  if (wants_size != arg->is_size) {
    error(k->c, arg->loc, "expected a %s for `%s`, found a %s",
          wants_size ? "size" : "type", param->name, wants_size ? "type" : "size");
    return false;
  }
  if (wants_size) {
    vec_push(&s->sizes, param->binding);
    vec_push(&s->to_sizes,
             arg->size ? check_size(k, arg->size) : any_argument(k, param, arg));
    return true;
  }
  vec_push(&s->types, param->binding);
  vec_push(&s->to_types, check_type(k, arg->type));
  return true;
}

// An abstract type may have its arguments in arrays.
static bool has_functions_in_arrays(Check *k, const Type *type) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_PRIM:
  case TYPE_VAR: return false;
  case TYPE_PARAM: return type->args && !unify_first_order(k, type->args);
  case TYPE_ARRAY: return !unify_first_order(k, type->u.array.elem);
  case TYPE_FUNCTION:
    return has_functions_in_arrays(k, type->u.function.from) ||
           has_functions_in_arrays(k, type->u.function.to);
  case TYPE_RECORD:
    for (int i = 0; i < type->u.record.count; i++)
      if (has_functions_in_arrays(k, type->u.record.fields[i].type)) return true;
    return false;
  }
  return false;
}

static bool may_be_a_function(Check *k, const TypeDef *def, const Binding *param,
                              const Type *arg) {
  TypeSubst s = { 0 };
  vec_push(&s.types, param);
  vec_push(&s.to_types, arg);
  return !has_functions_in_arrays(k, type_substitute(k, &s, def->type));
}

// An abbreviation stands for its type: `type^ pair 'a = (a, a)` may be one of functions.
static bool check_functions(Check *k, const AstType *type, const TypeDef *def,
                            const TypeSubst *s) {
  for (int i = 0, at = 0; i < type->u.name.args.count; i++) {
    const AstTypeParam *param = &def->params->at[i];
    if (param->kind == TYPE_PARAM_SIZE) continue;
    const Type *arg = s->to_types.at[at++];
    if (param->kind == TYPE_PARAM_LIFTED || unify_first_order(k, arg)) continue;
    if (may_be_a_function(k, def, param->binding, arg)) continue;
    error(k->c, type->u.name.args.at[i].loc, "`%s` cannot be a function here",
          param->name);
    return false;
  }
  return true;
}

static bool has_type_params(const TypeDef *def) {
  for (int i = 0; def->params && i < def->params->count; i++)
    if (def->params->at[i].kind != TYPE_PARAM_SIZE) return true;
  return false;
}

// With its name, for entry points.  A name that stands for several types, or for a scalar
// elsewhere, is none.
static const Type *named(const Type *type, const TypeDef *def) {
  PrimType prim;
  const Type *elem = type_resolve(type);
  while (elem->kind == TYPE_ARRAY)
    elem = type_resolve(elem->u.array.elem);
  if (!def->is_top || elem->kind != TYPE_RECORD) return type;
  if (has_type_params(def) || prim_type_named(def->name, &prim)) return type;
  Type *copy = mem_copy(type_resolve(type), sizeof *copy);
  copy->alias = def->name;
  return copy;
}

// i32[] and i32[n]
static void report_size_behind(Check *k, const AstType *type) {
  Text *t = text_new();
  for (int i = 0; i < type->u.name.args.count; i++) {
    const AstTypeArg *arg = &type->u.name.args.at[i];
    text_add(t, "[");
    if (arg->is_size && arg->size) ast_print_exp(t, arg->size);
    text_add(t, "]");
  }
  error(k->c, type->loc, "the sizes of an array stand before the type of its elements");
  hint(k->c, "write `%s%s`", text_str(t), type->u.name.name.name);
}

// "v [n] i32"
static void hint_type_arguments(Check *k, const TypeDef *def) {
  Text *t = text_new();
  text_add(t, def->name);
  for (int i = 0; def->params && i < def->params->count; i++) {
    const AstTypeParam *p = &def->params->at[i];
    bool is_size = p->kind == TYPE_PARAM_SIZE;
    text_printf(t, is_size ? " [%s]" : " %s", is_size ? p->name : "i32");
  }
  if (def->params) hint(k->c, "it is used as in `%s`", text_str(t));
}

static const Type *check_name(Check *k, const AstType *type) {
  const AstName *name = &type->u.name.name;
  const TypeDef *def = scope_find_type(k, name);
  if (!def) {
    scope_unknown_type(k, name);
    return type_error(k, type->loc);
  }
  int wanted = def->params ? def->params->count : 0, given = type->u.name.args.count;
  if (!wanted && given && type->u.name.args.at[0].is_size) {
    report_size_behind(k, type);
    return type_error(k, type->loc);
  }
  if (wanted != given) {
    error(k->c, type->loc, "type `%s` takes %d argument%s, found %d", name->name, wanted,
          wanted == 1 ? "" : "s", given);
    hint_type_arguments(k, def);
    return type_error(k, type->loc);
  }
  TypeSubst s = { 0 };
  for (int i = 0; i < given; i++)
    if (!bind_argument(k, &def->params->at[i], &type->u.name.args.at[i], &s))
      return type_error(k, type->loc);
  if (!check_functions(k, type, def, &s)) return type_error(k, type->loc);
  const Type *of = type_renew_anonymous(k, def->type);
  return named(given ? type_substitute(k, &s, of) : of, def);
}

// In the body of a parametric module another argument may hold arrays.
static void warn_of_star(Check *k, const AstType *type, const Type *of) {
  if (k->applications || k->built_in || type_has_error(of) || type_shares(of)) return;
  warning(k->c, type->loc, "`*` has no effect on the type `%s`, which holds no array",
          type_text(of));
}

static const Type *check_unique(Check *k, const AstType *type) {
  const Type *of = type_resolve(check_type(k, type->u.unique.of));
  if (of->kind == TYPE_VAR) return of;
  warn_of_star(k, type, of);
  return type_with_unique(of);
}

// ?[n].t: an anonymous size that may stand in several places.
bool type_tells_size(const Type *type, const Binding *size) {
  type = type_resolve(type);
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (type_tells_size(type->u.record.fields[i].type, size)) return true;
  return type->kind != TYPE_RECORD && type->kind != TYPE_FUNCTION &&
         type_mentions(type, size);
}

static const Type *check_exists(Check *k, const AstType *type) {
  int mark = scope_mark(k);
  BindingVec bound = { 0 };
  vec_each (Name *, name, &type->u.exists.sizes) {
    Binding *b = binding_new(k, BIND_SIZE, *name, type->loc, type_prim(PRIM_I64));
    b->level = 0;
    b->hides = true;
    scope_bind(k, b, false);
    vec_push(&bound, b);
  }
  const Type *of = check_type(k, type->u.exists.of);
  scope_leave(k, mark);
  vec_each (Binding **, b, &bound) {
    if (!type_mentions(of, *b)) {
      error(k->c, type->loc, "the size `%s` is not used in the type", (*b)->name);
    } else if (!type_tells_size(of, *b)) {
      error(k->c, type->loc, "no array of the type tells the size `%s`", (*b)->name);
      hint(k->c, "a function has no size: add an array, `?[%s].([%s](), ...)`",
           (*b)->name, (*b)->name);
    }
    const Size *any = new_node(Size, .kind = SIZE_ANY, .loc = type->loc, .u.name = *b);
    of = type_replace_size(k, *b, any, of);
  }
  return of;
}

const Type *check_type(Check *k, const AstType *type) {
  switch (type->kind) {
  case AST_TYPE_NAME: return check_name(k, type);
  case AST_TYPE_TUPLE: return check_tuple(k, type);
  case AST_TYPE_RECORD: return check_record(k, type);
  case AST_TYPE_ARRAY: return check_array(k, type);
  case AST_TYPE_UNIQUE: return check_unique(k, type);
  case AST_TYPE_FUNCTION: return check_function(k, type);
  case AST_TYPE_SUM: return check_sum(k, type);
  case AST_TYPE_EXISTS: return check_exists(k, type);
  }
  return type_error(k, type->loc);
}

// Sizes to the left of an arrow need names: nothing else tells what they are.
static void check_from(Check *k, const AstType *type) {
  if (type->kind == AST_TYPE_ARRAY) {
    if (!type->u.array.size)
      error(k->c, type->loc, "a size to the left of `->` must have a name: `[n]`");
    else
      check_from(k, type->u.array.elem);
  }
  if (type->kind == AST_TYPE_UNIQUE) check_from(k, type->u.unique.of);
  if (type->kind == AST_TYPE_FUNCTION) check_named_sizes(k, type);
  for (int i = 0; type->kind == AST_TYPE_TUPLE && i < type->u.tuple.items.count; i++)
    check_from(k, type->u.tuple.items.at[i]);
}

void check_named_sizes(Check *k, const AstType *type) {
  for (; type->kind == AST_TYPE_FUNCTION; type = type->u.function.to)
    check_from(k, type->u.function.from);
}

// --- Type parameters ---

static void bind_type_param(Check *k, AstTypeParam *p, Binding *owner) {
  bool is_size = p->kind == TYPE_PARAM_SIZE;
  Binding *b = binding_new(k, is_size ? BIND_SIZE : BIND_TYPE_PARAM, p->name, p->loc,
                           is_size ? type_prim(PRIM_I64) : NULL);
  b->lifted = p->kind == TYPE_PARAM_LIFTED;
  b->size_lifted = b->lifted || p->kind == TYPE_PARAM_SIZE_LIFTED;
  p->binding = b;
  if (is_size) {
    scope_bind(k, b, false);
    if (owner) vec_push(&owner->sizes, b);
    return;
  }
  AstLifted lifted = b->lifted        ? LIFTED_FULLY
                     : b->size_lifted ? LIFTED_SIZES
                                      : LIFTED_NOT;
  scope_bind_type(k, new_node(TypeDef, .name = p->name, .loc = p->loc,
                              .type = type_of_param(b), .lifted = lifted));
  if (owner) vec_push(&owner->types, b);
}

void bind_type_params(Check *k, AstTypeParamVec *params, Binding *owner) {
  for (int i = 0; i < params->count; i++) {
    for (int j = 0; j < i; j++)
      if (params->at[j].name == params->at[i].name &&
          (params->at[j].kind == TYPE_PARAM_SIZE) ==
              (params->at[i].kind == TYPE_PARAM_SIZE))
        error(k->c, params->at[i].loc, "duplicate parameter `%s`", params->at[i].name);
    bind_type_param(k, &params->at[i], owner);
  }
}

void check_sizes_told(Check *k, const AstTypeParamVec *params, const Type *type) {
  if (type_has_error(type)) return;
  vec_each (const AstTypeParam *, p, params) {
    const Binding *b = p->binding;
    if (p->kind != TYPE_PARAM_SIZE || type_mentions(type, b)) continue;
    error(k->c, p->loc, "nothing tells the value of the size `%s`", p->name);
    hint(k->c, "let the type of an array mention it, as in `[%s]i32`", p->name);
  }
}
