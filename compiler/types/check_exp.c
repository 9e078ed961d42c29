// The typing rules: a function per kind of expression, which returns the type of the expression.
// Solved types are written into the tree at the end of the enclosing definition.
#include "base/text.h"
#include "types/check.h"
#include <string.h>

void add_unknowns(AstExp *exp, const BindingVec *unknowns) {
  vec_each (Binding **, b, unknowns)
    vec_push(&exp->unknown_sizes, *b);
}

Name unknown_name(Check *k) {
  return name_of(k->c->names, text_format("?%d", ++k->unknown_count));
}

// --- Names ---

static const Type *infer_project(Check *k, AstExp *exp);

// `a.b.c` where `a` is no module: projections from the variable `a`.
static void make_projections(AstExp *exp) {
  AstName name = exp->u.name.name;
  AstExp *from = new_node(AstExp, .kind = AST_NAME, .loc = exp->loc);
  from->u.name.name = (AstName){ .loc = exp->loc, .name = name.qualifiers.at[0] };
  for (int i = 1; i <= name.qualifiers.count; i++) {
    AstExp *to = i == name.qualifiers.count ? exp : new_node(AstExp, .loc = exp->loc);
    bool last = i == name.qualifiers.count;
    to->kind = AST_PROJECT;
    to->u.project.record = from;
    to->u.project.field = last ? name.name : name.qualifiers.at[i];
    from = to;
  }
}

// Whether the parser took a projection for a qualified name, because some module has the name of
// the variable.  Modules are defined at top level, so that a variable of a definition hides them,
// and those of the prelude come before all variables.
static bool is_projection(Check *k, const AstName *name) {
  if (!name->qualifiers.count) return false;
  const Binding *variable = map_get(k->scope.values, name->qualifiers.at[0]);
  if (!variable) return false;
  bool hides = !variable->is_top || (!variable->loc.file->built_in &&
                                     !map_get(k->scope.modules, variable->name));
  return hides || !scope_has_value(k, name);
}

// `a.b` where `a` is a module that the parser did not know: a qualified name.
static bool make_qualified(Check *k, AstExp *exp) {
  const AstExp *record = exp->u.project.record;
  if (record->kind == AST_PROJECT && !make_qualified(k, exp->u.project.record))
    return false;
  if (record->kind != AST_NAME || scope_has_value(k, &record->u.name.name)) return false;
  AstName name = record->u.name.name;
  Name last = name.name;
  AstName whole = { .loc = exp->loc, .name = exp->u.project.field };
  vec_each (Name *, qualifier, &name.qualifiers)
    vec_push(&whole.qualifiers, *qualifier);
  vec_push(&whole.qualifiers, last);
  if (!module_find(k, whole.qualifiers.at, whole.qualifiers.count)) return false;
  exp->kind = AST_NAME;
  exp->u.name.name = whole;
  exp->u.name.binding = NULL;
  exp->u.name.inst = NULL;
  return true;
}

// A function calls itself at its own types.  What mentions a function that recurs does so too, for
// elaboration.
static bool note_recursion(Check *k, Binding *b, const AstExp *exp) {
  bool own = false;
  for (const Within *w = k->within; w; w = w->outer)
    own = own || w->binding == b;
  if (own) b->calls_itself = b->recurs = true;
  for (const Within *w = k->within; w && b->recurs; w = w->outer)
    w->binding->recurs = true;
  for (int i = 0; own && i < b->types.count; i++)
    unify(k, exp->u.name.inst->types[i], type_of_param(b->types.at[i]));
  return own;
}

const Type *infer_name(Check *k, AstExp *exp) {
  if (is_projection(k, &exp->u.name.name)) {
    make_projections(exp);
    return infer_project(k, exp);
  }
  Binding *b = scope_find(k, &exp->u.name.name);
  exp->u.name.binding = b;
  if (b && b->name[0] == '_' && !k->built_in) {
    error(k->c, exp->loc, "`%s` is used, but begins with `_`", b->name);
    hint(k->c, "names that begin with `_` are for what nothing uses");
  }
  if (!b || !b->type) return type_error(k, exp->loc);
  const Type *type = instantiate(k, b, exp->loc, &exp->u.name.inst);
  if (note_recursion(k, b, exp)) {
    OwnUse *use = new_node(OwnUse, .binding = b, .exp = exp);
    vec_push(&k->own_uses, use);
    type = type_freshen_sizes(k, type, use);
  }
  return type_without_unique(
      type);  // another name, or a closure, may have the same memory
}

// --- Records ---

static const Type *infer_tuple(Check *k, AstExp *exp) {
  int count = exp->u.tuple.items.count;
  if (count == 0) return type_unit();
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++) {
    fields[i].name = type_field_name(k->c, i);
    fields[i].type = infer(k, exp->u.tuple.items.at[i]);
  }
  return type_record_checked(k, exp->loc, fields, count, true);
}

static const Type *infer_record(Check *k, AstExp *exp) {
  int count = exp->u.record.fields.count;
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++) {
    const AstFieldExp *f = &exp->u.record.fields.at[i];
    fields[i] = (TypeField){ f->name, infer(k, f->value) };
    for (int j = 0; j < i; j++)
      if (fields[j].name == f->name) error(k->c, f->loc, "duplicate field `%s`", f->name);
  }
  return type_record_checked(k, exp->loc, fields, count, false);
}

// Said once of a type: what it has not is often a mistake where it is defined.
static void no_field(Check *k, const Type *record, Name field, Loc loc) {
  Text *key = text_new();
  record = type_resolve(record);
  text_printf(key, "field %s", field);
  for (int i = 0; record->kind == TYPE_RECORD && i < record->u.record.count; i++)
    text_printf(key, " %s", record->u.record.fields[i].name);
  Name name = name_of(k->c->names, text_str(key));
  if (record->kind == TYPE_RECORD && map_has(k->unknown, name)) return;
  map_put(k->unknown, name, name);
  error(k->c, loc, "no field `%s` in `%s`", field, type_text(record));
  hint_field(k, record, field);
}

const Type *field_of(Check *k, const Type *record, Name field, Loc loc) {
  const Type *type = unify_field(k, record, field, loc);
  if (type) return type;
  if (k->mismatch.kind == MISMATCH_FIELD)
    no_field(k, record, field, loc);
  else
    error(k->c, loc, "field `%s` does not have the type that is needed", field);
  return type_error(k, loc);
}

// Once for each value: the module is often used.
static void tell_hidden(Check *k, const AstExp *base, Name member) {
  Name name = base->u.name.name.name;
  const Binding *value = base->u.name.binding;
  uint32_t place = value ? value->loc.start : 0;
  Name key = name_of(k->c->names, text_format("module %s is hidden at %u", name, place));
  if (map_has(k->unknown, key)) return;
  map_put(k->unknown, key, key);
  error(k->c, base->loc,
        "`%s` is a value here, which hides the module whose `%s` is meant", name, member);
  if (value && value->loc.file && !value->loc.file->built_in)
    note(k->c, value->loc, "`%s` is bound here", name);
  hint(k->c, "give one of them another name");
}

// f64.sqrt, where f64 is a value without such a field that has the name of the module
static bool hides_module(Check *k, const AstExp *base, const Type *type, Name member) {
  bool plain = base->kind == AST_NAME && base->u.name.name.qualifiers.count == 0;
  const Module *m = plain ? module_find(k, &base->u.name.name.name, 1) : NULL;
  if (!m || !map_has(m->names.values, member)) return false;
  type = type_resolve(type);
  if (type->kind == TYPE_VAR) return false;
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (type->u.record.fields[i].name == member) return false;
  tell_hidden(k, base, member);
  return true;
}

static const Type *infer_project(Check *k, AstExp *exp) {
  if (make_qualified(k, exp)) return infer_name(k, exp);
  const AstExp *base = exp->u.project.record;
  if (base->kind == AST_NAME &&
      scope_unknown_module(k, &base->u.name.name, exp->u.project.field))
    return type_error(k, exp->loc);
  const Type *record = infer(k, exp->u.project.record);
  if (hides_module(k, base, record, exp->u.project.field)) return type_error(k, exp->loc);
  Loc loc = exp->loc;
  uint32_t length = (uint32_t)strlen(exp->u.project.field);
  if (loc.end - loc.start > length) loc.start = loc.end - length;
  return field_of(k, record, exp->u.project.field, loc);
}

static const Type *infer_section_field(Check *k, AstExp *exp) {
  const Type *from = type_var(k, exp->loc), *type = from;
  for (int i = 0; i < exp->u.section_field.fields.count; i++)
    type = field_of(k, type, exp->u.section_field.fields.at[i], exp->loc);
  return type_function(NULL, from, type);
}

// --- Conditions, types in expressions, attributes ---

static const Type *infer_logical(Check *k, AstExp *exp) {
  const Type *boolean = type_prim(PRIM_BOOL);
  Name op = name_of(k->c->names, exp->kind == AST_AND ? "&&" : "||");
  check_exp(k, exp->u.logical.left, boolean,
            (Why){ .kind = WHY_ARGUMENT, .index = 1, .name = op });
  check_exp(k, exp->u.logical.right, boolean,
            (Why){ .kind = WHY_ARGUMENT, .index = 2, .name = op });
  return boolean;
}

static const Type *infer_ascribe(Check *k, AstExp *exp) {
  const Type *type = type_open_anonymous(k, check_type(k, exp->u.ascribe.type));
  exp->u.ascribe.ascribed = type;
  check_exp(k, exp->u.ascribe.exp, type,
            (Why){ .kind = WHY_ASCRIPTION, .from = exp->u.ascribe.type->loc });
  return type;
}

// A variable, not SIZE_ANY: what is coerced may be a parameter whose type is still to be found.
static const Size *any_size(Check *k, const Size *size) {
  return size_var(k, NULL, size->loc);
}

// e :> t: the types agree but for the sizes, which are compared when the program runs.
static const Type *infer_coerce(Check *k, AstExp *exp) {
  BindingVec unknowns = { 0 };
  const Type *type =
      type_name_anonymous(k, check_type(k, exp->u.ascribe.type), &unknowns);
  add_unknowns(exp, &unknowns);
  exp->u.ascribe.ascribed = type;
  const Type *actual = infer(k, exp->u.ascribe.exp);
  const Type *shape = type_map_sizes(k, type, any_size);
  k->at = exp->u.ascribe.exp->loc;
  if (!unify(k, shape, actual)) {
    error(k->c, exp->u.ascribe.exp->loc,
          "`:>` changes sizes only: this has type `%s`, not `%s`", type_text(actual),
          type_text(type));
    return type;
  }
  return type;
}

static const Type *infer_assert(Check *k, AstExp *exp) {
  check_exp(k, exp->u.assert.condition, type_prim(PRIM_BOOL),
            (Why){ .kind = WHY_CONDITION });
  return infer(k, exp->u.assert.exp);
}

static const Type *infer_attr(Check *k, AstExp *exp) {
  check_attr_exp(k, exp);
  return infer(k, exp->u.attr.exp);
}

// --- All of them ---

static const Type *infer_kind(Check *k, AstExp *exp) {
  switch (exp->kind) {
  case AST_INT: return infer_integer(k, exp);
  case AST_FLOAT: return infer_float(k, exp);
  case AST_BOOL: return type_prim(PRIM_BOOL);
  case AST_STRING: return infer_string(exp);
  case AST_NAME: return infer_name(k, exp);
  case AST_TUPLE: return infer_tuple(k, exp);
  case AST_RECORD: return infer_record(k, exp);
  case AST_ARRAY: return infer_array(k, exp);
  case AST_RANGE: return infer_range(k, exp);
  case AST_INDEX: return infer_index(k, exp);
  case AST_PROJECT: return infer_project(k, exp);
  case AST_APPLY: return infer_apply(k, exp);
  case AST_AND: return infer_logical(k, exp);
  case AST_OR: return infer_logical(k, exp);
  case AST_LAMBDA: return infer_lambda(k, exp, NULL);
  case AST_SECTION_LEFT: return infer_section(k, exp);
  case AST_SECTION_RIGHT: return infer_section(k, exp);
  case AST_SECTION_FIELD: return infer_section_field(k, exp);
  case AST_SECTION_INDEX: return infer_section_index(k, exp);
  case AST_LET: return infer_let(k, exp);
  case AST_LET_FUN: return infer_let_fun(k, exp);
  case AST_LET_WITH: return infer_let_with(k, exp);
  case AST_IF: return infer_if(k, exp);
  case AST_LOOP: return infer_loop(k, exp);
  case AST_MATCH: return infer_match(k, exp);
  case AST_WITH: return infer_with(k, exp);
  case AST_ASCRIBE: return infer_ascribe(k, exp);
  case AST_COERCE: return infer_coerce(k, exp);
  case AST_ASSERT: return infer_assert(k, exp);
  case AST_ATTR: return infer_attr(k, exp);
  case AST_CONSTRUCTOR: return infer_constructor(k, exp);
  case AST_OPEN_IN: return infer_open_in(k, exp);
  case AST_HOLE: return type_var(k, exp->loc);
  }
  return type_error(k, exp->loc);
}

static const Type *annotate(Check *k, AstExp *exp, const Type *type) {
  exp->type = type;
  vec_push(&k->exps, exp);
  return type;
}

// Applications and slices make sizes from sizes.
static const Type *bound_sizes(Check *k, AstExp *exp, const Type *type) {
  if (exp->kind != AST_APPLY && exp->kind != AST_INDEX) return type;
  BindingVec unknowns = { 0 };
  type = type_bounded(k, type, &unknowns, exp->loc);
  add_unknowns(exp, &unknowns);
  return type;
}

const Type *infer(Check *k, AstExp *exp) {
  exp->unknown_sizes.count = 0;  // of an earlier attempt
  return annotate(k, exp, bound_sizes(k, exp, infer_kind(k, exp)));
}

// A function literal learns the types of its parameters from where it is used.
void check_exp(Check *k, AstExp *exp, const Type *expected, Why why) {
  if (exp->kind != AST_LAMBDA) {
    expect_constructors(k, exp, expected);
    expect_type(k, exp->loc, expected, infer(k, exp), why);
    return;
  }
  if (!check_lambda_params(k, exp, expected, why)) {
    annotate(k, exp, type_error(k, exp->loc));
    return;
  }
  int errors = diag_error_count(k->c);
  const Type *actual = annotate(k, exp, infer_lambda(k, exp, expected));
  // A mistake in the body would be reported once more.
  if (diag_error_count(k->c) == errors) expect_type(k, exp->loc, expected, actual, why);
}
