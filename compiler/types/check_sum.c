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
  if (type_resolve(type)->kind == TYPE_RECORD && k->mismatch.kind != MISMATCH_FIELD)
    error(k->c, loc, "`%s` does not have these arguments in `%s`", field,
          type_text(type));
  else
    error(k->c, loc, "`%s` has no constructor `%s`", type_text(type), field);
  hint_field(k, type, field);
}

// #c e...: of any sum type with that constructor
const Type *infer_constructor(Check *k, AstExp *exp) {
  int count = exp->u.constructor.payload.count;
  const Type **types = new_array(const Type *, count);
  for (int i = 0; i < count; i++)
    types[i] = infer(k, exp->u.constructor.payload.at[i]);
  const Type *type = type_var(k, exp->loc);
  type->u.var->fixed_size = true;
  const Type *payload =
      unify_field(k, type, constructor_field(k, exp->u.constructor.name), exp->loc);
  unify(k, payload, payload_type(k, types, count));
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
  if (!payload || !unify(k, payload, payload_type(k, types, count)))
    no_constructor(k, pat->loc, field, type);
  for (int i = 0; i < count; i++)
    check_pat_part(k, pat->u.constructor.payload.at[i], types[i]);
  return type;
}
