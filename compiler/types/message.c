// What is said when two types that ought to be equal are not.
#include "base/text.h"
#include "types/check.h"
#include <ctype.h>

const char *class_text(TypeClass prims) {
  if (prims & CLASS_STRUCTURE) return "a value that `==` can compare";
  if (prims == CLASS_INTBOOL) return "an integer or a bool";
  if (!(prims & ~CLASS_SIGNED)) return "a signed integer";
  if (!(prims & ~CLASS_INT)) return "an integer";
  if (!(prims & ~CLASS_FLOAT)) return "a float";
  if (!(prims & ~CLASS_NUM)) return "a number";
  return "a scalar";
}

// What is known of an open type that a literal or an operator has; NULL for other types.
static const char *open_class(const Type *type) {
  type = type_resolve(type);
  bool open = type->kind == TYPE_VAR && type->u.var->prims && !type->u.var->fields.count;
  return open ? class_text(type->u.var->prims) : NULL;
}

const char *type_phrase(const Type *type) {
  const char *open = open_class(type);
  return open ? text_format("is %s", open)
              : text_format("has type `%s`", type_text(type));
}

static bool is_any_value(const Type *type) {
  type = type_resolve(type);
  return type->kind == TYPE_VAR && !type->u.var->prims && !type->u.var->fields.count;
}

static const char *expected_phrase(const Type *type, const Mismatch *m) {
  if (m->kind == MISMATCH_FUNCTION && is_any_value(type))
    return "expected a value that is no function";
  const char *open = open_class(type);
  return open ? text_format("expected %s", open)
              : text_format("expected `%s`", type_text(type));
}

static const char *subject(Why why) {
  switch (why.kind) {
  case WHY_ARGUMENT:
    if (why.name) return text_format("argument %d of `%s`", why.index, why.name);
    return text_format("argument %d", why.index);
  case WHY_ASCRIPTION: return "the expression before the type";
  case WHY_RESULT:
    return text_format("the result of `%s`", why.name ? why.name : "the function");
  case WHY_BRANCH: return "the `else` branch";
  case WHY_CASE: return text_format("case %d", why.index);
  case WHY_CONDITION: return "the condition";
  case WHY_ELEMENT: return "this array element";
  case WHY_INDEX: return "the index";
  case WHY_INDEXED: return "what is indexed";
  case WHY_LOOP: return "the body of the loop";
  case WHY_LOOP_FOR: return "what the loop runs over";
  case WHY_PATTERN:
  case WHY_VALUE: return "the value";
  case WHY_PARAM: return "what this parameter is given";
  case WHY_RANGE: return "the bound of the range";
  case WHY_SIZE: return "the size";
  case WHY_UPDATE: return "the new value";
  case WHY_OPERATOR: return "the operand";
  }
  return "the expression";
}

static bool is_constructor(const Mismatch *m) {
  return m->kind == MISMATCH_FIELD && m->field[0] == '#';
}

// The same is wrong with a name wherever it is used: where it is defined, often.
static bool is_said_often(Check *k, Loc loc, const Type *expected, const Type *actual) {
  enum { OFTEN = 3, LONG = 60 };
  uint32_t length = loc.end - loc.start;
  if (!loc.file || length > LONG) return false;
  const char *start = loc.file->text + loc.start;
  for (uint32_t i = 0; i < length; i++)
    if (!isalnum((unsigned char)start[i]) && start[i] != '_') return false;
  // The number of errors before the definition tells definitions with errors apart.
  const char *what = text_format("%d %.*s: `%s`, not `%s`", k->errors, (int)length, start,
                                 type_text(actual), type_text(expected));
  for (int i = 1; i <= OFTEN; i++) {
    Name key = name_of(k->c->names, text_format("%s, time %d", what, i));
    if (map_has(k->unknown, key)) continue;
    map_put(k->unknown, key, key);
    return false;
  }
  return true;
}

bool type_has_error(const Type *type) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_VAR: return type->u.var->is_error;
  case TYPE_ARRAY: return type_has_error(type->u.array.elem);
  case TYPE_FUNCTION:
    return type_has_error(type->u.function.from) || type_has_error(type->u.function.to);
  case TYPE_RECORD:
    for (int i = 0; i < type->u.record.count; i++)
      if (type_has_error(type->u.record.fields[i].type)) return true;
    return false;
  case TYPE_PRIM:
  case TYPE_PARAM: return false;
  }
  return false;
}

// What is said of an open type once is not said again.
static void settle_as_error(const Type *type) {
  type = type_resolve(type);
  if (type->kind == TYPE_VAR) type->u.var->is_error = true;
}

static void tell_argument_count(Check *k, const Mismatch *m, int count,
                                const Type *given) {
  int found = given->u.record.count;
  error(k->c, m->at, "`%s` takes %d argument%s%s%s%s, found %d", m->constructor, count,
        count == 1 ? "" : "s", m->sum ? " in `" : "", m->sum ? type_text(m->sum) : "",
        m->sum ? "`" : "", found);
  if (count > 1 && found == 1 &&
      type_resolve(given->u.record.fields[0].type)->kind == TYPE_RECORD)
    hint(k->c, "arguments follow one another without commas: `%s x y`", m->constructor);
}

void tell_constructor_arguments(Check *k, const Mismatch *m) {
  const Type *has = type_resolve(m->has), *given = type_resolve(m->given);
  int count = has->u.record.count;
  if (count != given->u.record.count) {
    tell_argument_count(k, m, count, given);
    return;
  }
  for (int i = 0; i < count; i++) {
    const Type *e = has->u.record.fields[i].type, *a = given->u.record.fields[i].type;
    if (unify(k, e, a)) continue;
    Mismatch part = k->mismatch;
    error(k->c, m->at, "argument %d of `%s` %s, %s", i + 1, m->constructor,
          type_phrase(a), expected_phrase(e, &part));
    explain_mismatch(k, &part, e, a);
    return;
  }
}

// Arguments of a constructor are tuples; of what is known as an error nothing is said.
static bool is_in_arguments(const Mismatch *m) {
  return m->constructor && type_resolve(m->has)->kind == TYPE_RECORD &&
         type_resolve(m->given)->kind == TYPE_RECORD;
}

bool expect_type(Check *k, Loc loc, const Type *expected, const Type *actual, Why why) {
  k->at = loc;
  if (unify(k, expected, actual)) return true;
  Mismatch m = k->mismatch;
  if (type_has_error(expected) || type_has_error(actual)) return false;
  if (is_said_often(k, loc, expected, actual)) return false;
  if (is_constructor(&m)) {
    error(k->c, loc, "`%s` has no constructor `%s`", type_text(m.actual), m.field);
    hint_field(k, m.actual, m.field);
    settle_as_error(expected);
    settle_as_error(actual);
    return false;
  }
  if (is_in_arguments(&m)) {
    tell_constructor_arguments(k, &m);
    settle_as_error(actual);
    return false;
  }
  error(k->c, loc, "%s %s, %s", subject(why), type_phrase(actual),
        expected_phrase(expected, &m));
  explain_mismatch(k, &m, expected, actual);
  note_other_argument(k, &m, why);
  if (why.from.file && !why.from.file->built_in && !mismatch_of_one_name(&m))
    note(k->c, why.from, "`%s` is expected because of this", type_text(expected));
  hint_mismatch(k, loc, expected, actual, why);
  return false;
}
