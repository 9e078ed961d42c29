// Sum types: the types, their values and the patterns that take these apart.
//
// A constructor `#c` of a type that is not known yet asks for a field "#c", like a projection from
// an unknown record (types.h).
#include "base/text.h"
#include "types/check.h"

enum { MAX_CONSTRUCTORS = 255 };  // the tag is a u8

Name constructor_field(Check *k, Name constructor) {
  return name_of(k->c->names, text_format("#%s", constructor));
}

static const Type *payload_type(Check *k, const Type *const *types, int count) {
  if (count == 0) return type_unit();
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++)
    fields[i] = (TypeField){ type_field_name(k->c, i), types[i] };
  return type_record(fields, count, true);
}

static const Type *check_payload(Check *k, const AstConstructor *constructor) {
  int count = constructor->payload.count;
  const Type **types = new_array(const Type *, count);
  for (int i = 0; i < count; i++)
    types[i] = check_type(k, constructor->payload.at[i]);
  return payload_type(k, types, count);
}

const Type *check_sum(Check *k, const AstType *type) {
  int count = type->u.sum.constructors.count;
  TypeField *fields = new_array(TypeField, count + 1);
  fields[0] = (TypeField){ name_of(k->c->names, "#"), type_prim(PRIM_U8) };
  for (int i = 0; i < count; i++) {
    const AstConstructor *constructor = &type->u.sum.constructors.at[i];
    fields[i + 1] = (TypeField){ constructor_field(k, constructor->name),
                                 check_payload(k, constructor) };
    for (int j = 1; j <= i; j++)
      if (fields[j].name == fields[i + 1].name)
        error(k->c, constructor->loc, "duplicate constructor `%s`", fields[j].name);
  }
  if (count > MAX_CONSTRUCTORS)
    limit(k->c, type->loc, "sum types with more than %d constructors", MAX_CONSTRUCTORS);
  return type_record_checked(k, type->loc, fields, count + 1, false);
}

static void no_constructor(Check *k, Loc loc, Name field, const Type *type) {
  error(k->c, loc, "`%s` has no constructor `%s`", type_text(type), field);
  hint_field(k, type, field);
}

// --- Constructors whose sum type is known ---

static const Type *field_type(const Type *record, Name name) {
  for (int i = 0; i < record->u.record.count; i++)
    if (record->u.record.fields[i].name == name) return record->u.record.fields[i].type;
  return NULL;
}

static void expect_items(Check *k, const AstExpVec *items, const Type *tuple) {
  tuple = tuple ? type_resolve(tuple) : NULL;
  if (!tuple || tuple->kind != TYPE_RECORD) return;
  for (int i = 0; i < items->count; i++) {
    const Type *type = field_type(tuple, type_field_name(k->c, i));
    if (type) expect_constructors(k, items->at[i], type);
  }
}

static void expect_fields(Check *k, const AstExp *exp, const Type *record) {
  vec_each (const AstFieldExp *, field, &exp->u.record.fields) {
    const Type *type = field_type(record, field->name);
    if (type) expect_constructors(k, field->value, type);
  }
}

static void expect_here(Check *k, AstExp *exp, const Type *type) {
  if (exp->kind == AST_TUPLE) expect_items(k, &exp->u.tuple.items, type);
  if (exp->kind == AST_RECORD) expect_fields(k, exp, type);
  if (exp->kind != AST_CONSTRUCTOR || !type_is_sum(type)) return;
  exp->u.constructor.expected = type;
  expect_items(k, &exp->u.constructor.payload,
               field_type(type, constructor_field(k, exp->u.constructor.name)));
}

void expect_constructors(Check *k, AstExp *exp, const Type *type) {
  type = type_resolve(type);
  if (type->kind != TYPE_RECORD) return;
  expect_here(k, exp, type);
  if (exp->kind == AST_LET) expect_constructors(k, exp->u.let.body, type);
  if (exp->kind == AST_LET_FUN) expect_constructors(k, exp->u.let_fun.body, type);
  if (exp->kind == AST_LET_WITH) expect_constructors(k, exp->u.let_with.body, type);
  if (exp->kind == AST_ATTR) expect_constructors(k, exp->u.attr.exp, type);
  if (exp->kind == AST_ASSERT) expect_constructors(k, exp->u.assert.exp, type);
  if (exp->kind == AST_OPEN_IN) expect_constructors(k, exp->u.open_in.exp, type);
  if (exp->kind == AST_IF) {
    expect_constructors(k, exp->u.cond.then_exp, type);
    expect_constructors(k, exp->u.cond.else_exp, type);
  }
  if (exp->kind == AST_MATCH)
    vec_each (const AstCase *, c, &exp->u.match.cases)
      expect_constructors(k, c->body, type);
}

static bool may_construct(const AstExp *exp) {
  return exp->kind == AST_CONSTRUCTOR || exp->kind == AST_RECORD ||
         exp->kind == AST_TUPLE || exp->kind == AST_IF || exp->kind == AST_MATCH ||
         exp->kind == AST_LET;
}

void expect_constructors_of_pat(Check *k, AstExp *exp, const AstPat *pat) {
  if (!may_construct(exp)) return;
  if (pat->kind == AST_PAT_ATTR) expect_constructors_of_pat(k, exp, pat->u.attr.pat);
  if (pat->kind == AST_PAT_ASCRIBE)
    expect_constructors(k, exp, check_type(k, pat->u.ascribe.type));
  if (pat->kind != AST_PAT_TUPLE || exp->kind != AST_TUPLE) return;
  for (int i = 0; i < pat->u.tuple.items.count && i < exp->u.tuple.items.count; i++)
    expect_constructors_of_pat(k, exp->u.tuple.items.at[i], pat->u.tuple.items.at[i]);
}

static const Size *fresh_size(Check *k, const Size *size) {
  return size_var(k, NULL, size->loc);
}

bool tell_sum(Check *k, const Type *open, const Type *sum) {
  return unify(k, open, type_map_sizes(k, type_without_unique(sum), fresh_size));
}

// The expected type with sizes of its own: branches may differ in them.  NULL if it does not fit.
// Another look at the expression, as in another module, may ask for another type.
static const Type *infer_expected(Check *k, AstExp *exp, const Type *payload) {
  const Type *expected = exp->u.constructor.expected;
  exp->u.constructor.expected = NULL;
  if (!expected) return NULL;
  const Type *type = type_map_sizes(k, type_without_unique(expected), fresh_size);
  const Type *field = field_type(type, constructor_field(k, exp->u.constructor.name));
  return field && unify(k, field, payload) ? type : NULL;
}

// #c e...: of any sum type with that constructor
const Type *infer_constructor(Check *k, AstExp *exp) {
  int count = exp->u.constructor.payload.count;
  const Type **types = new_array(const Type *, count);
  for (int i = 0; i < count; i++)
    types[i] = infer(k, exp->u.constructor.payload.at[i]);
  const Type *given = payload_type(k, types, count);
  const Type *expected = infer_expected(k, exp, given);
  if (expected) return expected;
  const Type *type = type_var(k, exp->loc);
  type->u.var->fixed_size = true;
  const Type *payload =
      unify_field(k, type, constructor_field(k, exp->u.constructor.name), exp->loc);
  unify(k, payload, given);
  return type;
}

const Type *check_constructor_pat(Check *k, AstPat *pat, const Type *type) {
  int count = pat->u.constructor.payload.count;
  Name field = constructor_field(k, pat->u.constructor.name);
  const Type **types = new_array(const Type *, count);
  for (int i = 0; i < count; i++)
    types[i] = type_var(k, pat->u.constructor.payload.at[i]->loc);
  k->at = pat->loc;
  const Type *payload = unify_field(k, type, field, pat->loc);
  const Type *given = payload_type(k, types, count);
  if (!payload)
    no_constructor(k, pat->loc, field, type);
  else if (!unify(k, payload, given) && !type_has_error(payload))
    tell_constructor_arguments(k, &(Mismatch){ .constructor = field,
                                               .has = payload,
                                               .given = given,
                                               .sum = type_resolve(type),
                                               .at = pat->loc });
  for (int i = 0; i < count; i++)
    check_pat_part(k, pat->u.constructor.payload.at[i], types[i]);
  return type;
}
