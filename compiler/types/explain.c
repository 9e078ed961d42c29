// Notes on why two types differ: which part, which sizes, and where they come from.
#include "base/text.h"
#include "types/check.h"
#include <limits.h>
#include <string.h>

// Where a size was bound, or how it came into being.
static void note_size(Check *k, const Size *size) {
  size = size_resolve(size);
  if (size->kind == SIZE_NAME && size->u.name->loc.file &&
      !size->u.name->loc.file->built_in) {
    bool unknown = size->u.name->name[0] == '?';
    note(k->c, size->u.name->loc,
         unknown ? "`%s` is the unknown size of this result"
                 : "size `%s` comes from here",
         size->u.name->name);
  } else if (size->loc.file && !size->loc.file->built_in && size->kind != SIZE_VAR) {
    note(k->c, size->loc, "size `%s` comes from here", size_text(size));
  }
}

// Whether all that the size mentions means the same where the message points to.
static bool size_in_scope(Check *k, const Size *size) {
  size = size_resolve(size);
  if (size->kind == SIZE_NAME)
    return map_get(k->scope.values, size->u.name->name) == size->u.name;
  if (size->kind != SIZE_EXP || !size->u.exp.tree) return size->kind == SIZE_CONST;
  for (int i = 0; i < size->u.exp.tree->count; i++)
    if (!size_in_scope(k, size->u.exp.tree->parts[i])) return false;
  return true;
}

static bool sizes_in_scope(Check *k, const Type *type) {
  type = type_resolve(type);
  for (; type->kind == TYPE_ARRAY; type = type_resolve(type->u.array.elem))
    if (!size_in_scope(k, type->u.array.size)) return false;
  return true;
}

static bool is_positive(const Size *size) {
  return size->kind == SIZE_CONST && big_compare(size->u.constant, big_of(0)) > 0;
}

// n + 1 and n
static bool never_equal(const Size *e, const Size *a) {
  return is_positive(size_simplify(size_binary(SIZE_SUB, e, a))) ||
         is_positive(size_simplify(size_binary(SIZE_SUB, a, e)));
}

static bool is_unknown_size(const Size *size) {
  return size->kind == SIZE_NAME && size->u.name->name[0] == '?';
}

static void hint_coercion(Check *k, const Size *e, const Size *a, const Type *expected) {
  if (is_unknown_size(e))
    hint(k->c, "give the unknown size a name, as in `let [k] (xs: [k]t) = ...`, and "
               "write `:> [k]t`");
  else if (sizes_in_scope(k, expected))
    hint(k->c, "write `:> %s` if they are equal when the program runs%s",
         type_text(expected),
         is_unknown_size(a) ? "; `[]` leaves the size open where a type is written" : "");
  else
    hint(k->c,
         "`:>` promises that sizes are equal; a size without a name here has one in "
         "a type of where it is from, as in `:> m.t`");
}

static void explain_sizes(Check *k, const Mismatch *m, const Type *expected) {
  const Size *e = size_resolve(m->expected_size), *a = size_resolve(m->actual_size);
  if (e->kind == SIZE_CONST && a->kind == SIZE_CONST) {
    note(k->c, k->at, "sizes `%s` and `%s` differ", size_text(a), size_text(e));
    return;
  }
  bool never = never_equal(e, a);
  note(k->c, k->at,
       never ? "sizes `%s` and `%s` are never equal"
             : "sizes `%s` and `%s` can't be shown equal",
       size_text(a), size_text(e));
  note_size(k, a);
  note_size(k, e);
  if (!never) hint_coercion(k, e, a, expected);
}

static void explain_scope(Check *k, const Mismatch *m, const Type *expected) {
  const char *what = m->size->kind == BIND_TYPE_PARAM ? "type" : "size";
  note(k->c, k->at, "%s `%s` is not known yet, or no longer, where it is needed", what,
       m->size->name);
  if (m->size->loc.file && !m->size->loc.file->built_in)
    note(k->c, m->size->loc, "%s `%s` comes from here", what, m->size->name);
  if (m->size->kind != BIND_TYPE_PARAM && sizes_in_scope(k, expected))
    hint(k->c, "write `:> %s` if they are equal when the program runs",
         type_text(expected));
}

static void explain_cycle(Check *k, const Mismatch *m, const Type *expected) {
  note(k->c, k->at, "`%s` would be a size of `%s` itself", size_text(m->actual_size),
       m->size->name);
  if (m->size->loc.file && !m->size->loc.file->built_in)
    note(k->c, m->size->loc,
         "the sizes of `%s` are fixed here, before anything in it is known",
         m->size->name);
  hint(k->c,
       "give its size a name, as in `[n]`, and write `:> %s` if they are equal when "
       "the program runs",
       type_text(expected));
}

// A size that a function's result has for each argument anew, as in map iota ns.
static void explain_varying(Check *k, const Mismatch *m) {
  note(k->c, k->at, "size `%s` of the result differs from call to call", m->size->name);
  hint(k->c, "all rows of an array must have the same size");
}

static void explain_untold(Check *k, const Mismatch *m) {
  note(k->c, k->at, "size `%s` is an argument of the call whose result is of type `%s`",
       m->size->name, type_text(m->actual));
  hint(k->c, "no array of that type has the size: apply the function to all arguments");
}

// --- Which part differs ---

// What is expected and what there is, walked side by side.
typedef struct Pair {
  const Type *expected, *actual;
} Pair;

static bool find_part(Text *t, Pair whole, const Mismatch *m);

static bool find_below(Text *t, const char *here, Pair child, const Mismatch *m) {
  Text *inner = text_new();
  if (!find_part(inner, child, m)) return false;
  const char *deeper = text_str(inner);
  text_add(t, *deeper ? text_format("%s of %s", deeper, here) : here);
  return true;
}

static bool find_in_function(Text *t, Pair whole, const Mismatch *m) {
  const Type *e = whole.expected, *a = whole.actual;
  for (int index = 1; e->kind == TYPE_FUNCTION && a->kind == TYPE_FUNCTION; index++) {
    Pair from = { e->u.function.from, a->u.function.from };
    Pair swapped = { from.actual, from.expected };  // as they were unified
    const char *here = text_format("parameter %d", index);
    if (find_below(t, here, from, m) || find_below(t, here, swapped, m)) return true;
    e = type_resolve(e->u.function.to);
    a = type_resolve(a->u.function.to);
  }
  return find_below(t, "the result", (Pair){ e, a }, m);
}

static bool find_in_record(Text *t, Pair whole, const Mismatch *m) {
  int count = whole.expected->u.record.count;
  if (count != whole.actual->u.record.count) return false;
  for (int i = 0; i < count; i++) {
    const TypeField *e = &whole.expected->u.record.fields[i];
    const TypeField *a = &whole.actual->u.record.fields[i];
    const char *here = text_format(
        whole.expected->u.record.is_tuple ? "component %s" : "field `%s`", e->name);
    if (find_below(t, here, (Pair){ e->type, a->type }, m)) return true;
  }
  return false;
}

// Where the types differ: "field `x` of the result"; nothing if it is as a whole.
static bool find_part(Text *t, Pair whole, const Mismatch *m) {
  const Type *e = type_resolve(whole.expected), *a = type_resolve(whole.actual);
  if (e == type_resolve(m->expected) && a == type_resolve(m->actual)) return true;
  if (e->kind != a->kind) return false;
  switch (e->kind) {
  case TYPE_PRIM:
  case TYPE_PARAM:
  case TYPE_VAR: return false;
  case TYPE_ARRAY:
    return find_below(t, "the elements", (Pair){ e->u.array.elem, a->u.array.elem }, m);
  case TYPE_FUNCTION: return find_in_function(t, (Pair){ e, a }, m);
  case TYPE_RECORD: return find_in_record(t, (Pair){ e, a }, m);
  }
  return false;
}

static bool has_field(const Type *record, Name name) {
  for (int i = 0; i < record->u.record.count; i++)
    if (record->u.record.fields[i].name == name) return true;
  return false;
}

static const char *missing_field(const Type *from, const Type *in) {
  for (int i = 0; i < in->u.record.count; i++)
    if (!has_field(from, in->u.record.fields[i].name)) return in->u.record.fields[i].name;
  return NULL;
}

void note_fields(Check *k, const Type *expected, const Type *actual) {
  const Type *e = type_resolve(expected), *a = type_resolve(actual);
  if (e->kind != TYPE_RECORD || a->kind != TYPE_RECORD || type_is_sum(e)) return;
  if (e->u.record.is_tuple != a->u.record.is_tuple || type_is_sum(a)) return;
  if (e->u.record.is_tuple) {
    if (e->u.record.count != a->u.record.count)
      note(k->c, k->at, "%d components, expected %d", a->u.record.count,
           e->u.record.count);
    return;
  }
  const char *missing = missing_field(a, e), *extra = missing_field(e, a);
  if (missing) note(k->c, k->at, "field `%s` is missing", missing);
  if (extra) note(k->c, k->at, "field `%s` is not expected", extra);
}

static bool is_whole(const Type *type, const Type *part) {
  return part && type_resolve(type) == type_resolve(part);
}

bool mismatch_of_one_name(const Mismatch *m) {
  return m->kind == MISMATCH_KIND && m->expected->kind == TYPE_PARAM &&
         m->actual->kind == TYPE_PARAM &&
         m->expected->u.param->name == m->actual->u.param->name;
}

// Two type parameters of one name.
static bool explain_params(Check *k, const Mismatch *m) {
  if (!mismatch_of_one_name(m)) return false;
  const Binding *e = m->expected->u.param, *a = m->actual->u.param;
  if (a->loc.file == e->loc.file && a->loc.start == e->loc.start) {
    note(k->c, a->loc, "each module that is seen through this has a type `%s` of its own",
         a->name);
    return true;
  }
  note(k->c, a->loc, "this `%s` is one type", a->name);
  note(k->c, e->loc, "this `%s` is another one", e->name);
  return true;
}

// The parameters of functions were unified the other way round.
static void note_part(Check *k, const char *part, const Mismatch *m) {
  bool parameter = strstr(part, "parameter ") != NULL;
  note(k->c, k->at, "%s: `%s`, expected `%s`", part,
       type_text(parameter ? m->expected : m->actual),
       type_text(parameter ? m->actual : m->expected));
}

// Functions of different numbers of parameters; false if they are not.
static bool note_arity(Check *k, const Type *expected, const Type *actual) {
  int wanted = type_arity(expected), takes = type_arity(actual);
  if (!wanted || !takes || wanted == takes) return false;
  note(k->c, k->at, "it takes %d argument%s, expected %d", takes, takes > 1 ? "s" : "",
       wanted);
  return true;
}

// The differing part, if it is not the whole.
// The abstract type of a module, which was declared by `type t` and not by 't; or NULL.
static const Binding *abstract_of_module(const Type *type) {
  type = type_resolve(type);
  const Binding *b = type->kind == TYPE_PARAM ? type->u.param : NULL;
  if (!b || !b->loc.file) return NULL;
  const char *text = b->loc.file->text + b->loc.start;
  return strncmp(text, "type", 4) == 0 && strchr(" ~^\n", text[4]) ? b : NULL;
}

static void note_abstract(Check *k, const Binding *b) {
  note(k->c, b->loc, "`%s` is abstract: outside of its module nothing is equal to it",
       b->name);
}

static void note_abstract_of(Check *k, const Type *expected, const Type *actual) {
  const Binding *e = abstract_of_module(expected), *a = abstract_of_module(actual);
  if (e && a) return;
  if (e || a) note_abstract(k, e ? e : a);
}

static void explain_kind(Check *k, const Mismatch *m, const Type *expected,
                         const Type *actual) {
  note_abstract_of(k, m->expected, m->actual);
  if (explain_params(k, m) || note_arity(k, expected, actual)) return;
  note_fields(k, m->expected, m->actual);
  if (is_whole(expected, m->expected) || is_whole(expected, m->actual)) return;
  Text *t = text_new();
  if (find_part(t, (Pair){ expected, actual }, m) && *text_str(t))
    note_part(k, text_str(t), m);
  else
    note(k->c, k->at, "`%s` differs from `%s`", type_text(m->actual),
         type_text(m->expected));
}

static void explain_class(Check *k, const Mismatch *m, const Type *expected,
                          const Type *actual) {
  const Type *type = type_resolve(m->actual);
  if (type->kind == TYPE_PARAM) {
    Name name = type->u.param->name;
    if (abstract_of_module(type)) {
      note_abstract(k, type->u.param);
      hint(k->c,
           "its module type can have the operation, or say what the type is, `with %s = "
           "i32`",
           name);
      return;
    }
    note(k->c, type->u.param->loc, "`%s` may be any type", name);
    hint(k->c, "take the operation as a parameter, as in `(op: %s -> %s -> %s)`", name,
         name, m->prims & CLASS_STRUCTURE ? "bool" : name);
    return;
  }
  // Said already, unless it is a part.
  if (is_whole(expected, type) || is_whole(actual, type)) return;
  note(k->c, k->at, "`%s` is not %s", type_text(type), class_text(m->prims));
}

static void explain_function(Check *k, const Mismatch *m, const Type *expected,
                             const Type *actual) {
  if (note_arity(k, expected, actual)) return;
  if (!is_whole(expected, m->actual) && !is_whole(actual, m->actual))
    note(k->c, k->at, "a function (`%s`) cannot be used here", type_text(m->actual));
}

// Otherwise both types, in full, tell enough.
static void explain_infinite(Check *k, const Type *expected, const Type *actual) {
  expected = type_resolve(expected);
  actual = type_resolve(actual);
  if (expected->kind == TYPE_FUNCTION || actual->kind == TYPE_FUNCTION)
    note(k->c, k->at, "a type cannot contain itself");
}

void explain_mismatch(Check *k, const Mismatch *m, const Type *expected,
                      const Type *actual) {
  switch (m->kind) {
  case MISMATCH_KIND: explain_kind(k, m, expected, actual); break;
  case MISMATCH_SIZE: explain_sizes(k, m, expected); break;
  case MISMATCH_SCOPE:
    if (m->size->level == INT_MAX)
      explain_varying(k, m);
    else
      explain_scope(k, m, expected);
    break;
  case MISMATCH_VARYING: explain_varying(k, m); break;
  case MISMATCH_UNTOLD: explain_untold(k, m); break;
  case MISMATCH_LIFTED:
    note(k->c, k->at, "the sizes in values of type `%s` may vary", type_text(m->actual));
    hint(k->c,
         "elements of arrays, and what a type parameter 'a stands for, have one size");
    break;
  case MISMATCH_CLASS: explain_class(k, m, expected, actual); break;
  case MISMATCH_FUNCTION: explain_function(k, m, expected, actual); break;
  case MISMATCH_FIELD:
    note(k->c, k->at, "`%s` has no %s `%s`", type_text(m->actual),
         m->field[0] == '#' ? "constructor" : "field", m->field);
    break;
  case MISMATCH_CYCLE: explain_cycle(k, m, expected); break;
  case MISMATCH_INFINITE: explain_infinite(k, expected, actual); break;
  }
}

static bool mentions_param(const Type *type, const Binding *param) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_PARAM: return type->u.param == param;
  case TYPE_ARRAY: return mentions_param(type->u.array.elem, param);
  case TYPE_FUNCTION:
    return mentions_param(type->u.function.from, param) ||
           mentions_param(type->u.function.to, param);
  case TYPE_RECORD:
    for (int i = 0; i < type->u.record.count; i++)
      if (mentions_param(type->u.record.fields[i].type, param)) return true;
    return false;
  case TYPE_PRIM:
  case TYPE_VAR: return false;
  }
  return false;
}

// The type of a function's parameter number `index`, from 1 on, or NULL.
static const Type *explained_param(const Type *type, int index) {
  for (type = type_resolve(type); index > 1 && type->kind == TYPE_FUNCTION; index--)
    type = type_resolve(type->u.function.to);
  return type->kind == TYPE_FUNCTION ? type->u.function.from : NULL;
}

bool share_type_param(const Binding *function, int i, int j) {
  const Type *a = explained_param(function->type, i),
             *b = explained_param(function->type, j);
  if (!a || !b) return false;
  for (int t = 0; t < function->types.count; t++)
    if (mentions_param(a, function->types.at[t]) &&
        mentions_param(b, function->types.at[t]))
      return true;
  return false;
}

// The earlier argument from which the function learnt the type that this one lacks, as the neutral
// element of a reduction: the first whose type has a parameter in common.
void note_other_argument(Check *k, const Mismatch *m, Why why) {
  const AstExp *node = why.apply;
  if (!node || m->kind == MISMATCH_SIZE || node->u.apply.function->kind != AST_NAME)
    return;
  const Binding *b = node->u.apply.function->u.name.binding;
  if (!b || !b->type || why.index < 2) return;
  const AstExp *found = NULL;
  int index = 0;
  for (int i = 1; i < why.index; i++) {
    const AstExp *arg = node->u.apply.args.at[i - 1];
    if (!share_type_param(b, i, why.index)) continue;
    if (arg->kind == AST_LAMBDA || !arg->type || type_arity(arg->type)) continue;
    found = arg;
    index = i;
  }
  if (found) note(k->c, found->loc, "argument %d %s", index, type_phrase(found->type));
}
