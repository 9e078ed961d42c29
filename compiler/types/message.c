// What is said when two types that ought to be equal are not.
#include "base/text.h"
#include "types/check.h"
#include <ctype.h>
#include <limits.h>
#include <string.h>

static const char *class_text(TypeClass prims) {
  if (prims & CLASS_STRUCTURE) return "a type without functions and with known equality";
  if (prims == CLASS_INT) return "an integer type";
  if (prims == CLASS_FLOAT) return "a floating-point type";
  if (prims == CLASS_NUM) return "a number";
  if (prims == CLASS_INTBOOL) return "an integer type or bool";
  if (!(prims & ~CLASS_INT)) return "an integer type";
  return "a scalar type";
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
  case WHY_PATTERN: return "the value";
  case WHY_RANGE: return "the bound of the range";
  case WHY_SIZE: return "the size";
  case WHY_UPDATE: return "the new value";
  case WHY_OPERATOR: return "the operand";
  }
  return "the expression";
}

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

static void explain_sizes(Check *k, const Mismatch *m, const Type *expected) {
  const Size *e = size_resolve(m->expected_size), *a = size_resolve(m->actual_size);
  note(k->c, k->at, "sizes `%s` and `%s` can't be shown equal", size_text(a),
       size_text(e));
  note_size(k, a);
  note_size(k, e);
  bool unknown = e->kind == SIZE_NAME && e->u.name->name[0] == '?';
  if (unknown)
    hint(k->c, "give the unknown size a name, as in `let [k] (xs: [k]t) = ...`, and "
               "write `:> [k]t`");
  else
    hint(k->c, "write `:> %s` if they are equal when the program runs",
         type_text(expected));
}

static void explain_scope(Check *k, const Mismatch *m) {
  const char *what = m->size->kind == BIND_TYPE_PARAM ? "type" : "size";
  note(k->c, k->at, "%s `%s` is not known yet, or no longer, where it is needed", what,
       m->size->name);
  if (m->size->loc.file && !m->size->loc.file->built_in)
    note(k->c, m->size->loc, "%s `%s` comes from here", what, m->size->name);
}

static void explain_cycle(Check *k, const Mismatch *m, const Type *expected) {
  note(k->c, k->at, "`%s` would be a size of `%s` itself", size_text(m->actual_size),
       m->size->name);
  if (m->size->loc.file && !m->size->loc.file->built_in)
    note(k->c, m->size->loc, "the sizes of `%s` are fixed here, before anything in it is known",
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

// The differing part, if it is not the whole.
static void explain_kind(Check *k, const Mismatch *m, const Type *expected) {
  if (type_resolve(expected) == m->expected || type_resolve(expected) == m->actual)
    return;
  note(k->c, k->at, "`%s` differs from `%s`", type_text(m->actual),
       type_text(m->expected));
}

static void explain(Check *k, const Mismatch *m, const Type *expected) {
  switch (m->kind) {
  case MISMATCH_KIND: explain_kind(k, m, expected); break;
  case MISMATCH_SIZE: explain_sizes(k, m, expected); break;
  case MISMATCH_SCOPE:
    if (m->size->level == INT_MAX)
      explain_varying(k, m);
    else
      explain_scope(k, m);
    break;
  case MISMATCH_VARYING: explain_varying(k, m); break;
  case MISMATCH_CLASS:
    note(k->c, k->at, "`%s` is not %s", type_text(m->actual), class_text(m->prims));
    break;
  case MISMATCH_FUNCTION:
    note(k->c, k->at, "a function (`%s`) cannot be used here", type_text(m->actual));
    break;
  case MISMATCH_FIELD:
    note(k->c, k->at, "`%s` has no %s `%s`", type_text(m->actual),
         m->field[0] == '#' ? "constructor" : "field", m->field);
    break;
  case MISMATCH_CYCLE: explain_cycle(k, m, expected); break;
  case MISMATCH_INFINITE: note(k->c, k->at, "a type cannot contain itself"); break;
  }
}

// --- What to write instead ---

// The source text, in brackets unless it is one word; NULL if it is long.
static const char *operand_text(Loc loc) {
  enum { SHORT = 24 };
  uint32_t length = loc.end - loc.start;
  const char *start = loc.file->text + loc.start;
  if (length > SHORT || memchr(start, '\n', length)) return NULL;
  bool word = strcspn(start, " -+*/%<>=!&|^") >= length;
  return text_format(word ? "%.*s" : "(%.*s)", (int)length, start);
}

// 1.0f64 where an f32 is expected is to be 1.0f32.
static bool hint_suffix(Check *k, Loc loc, const char *expected, const char *actual) {
  size_t length = loc.end - loc.start, suffix = strlen(actual);
  const char *start = loc.file->text + loc.start;
  if (!isdigit((unsigned char)*start) || length <= suffix) return false;
  if (strncmp(start + length - suffix, actual, suffix) != 0) return false;
  hint(k->c, "write %.*s%s", (int)(length - suffix), start, expected);
  return true;
}

static void hint_conversion(Check *k, Loc loc, PrimType expected, PrimType actual) {
  const char *to = prim_type_name(expected), *from = prim_type_name(actual);
  if (hint_suffix(k, loc, to, from)) return;
  const char *text = operand_text(loc);
  hint(k->c, "`%s.%s%s%s` converts it", to, from, text ? " " : "", text ? text : "");
}

static void suggest(Check *k, Loc loc, const Type *expected, const Type *actual) {
  expected = type_resolve(expected);
  actual = type_resolve(actual);
  if (expected->kind == TYPE_PRIM && actual->kind == TYPE_PRIM &&
      expected->u.prim != actual->u.prim && loc.file && !loc.file->built_in)
    hint_conversion(k, loc, expected->u.prim, actual->u.prim);
  bool open = expected->kind == TYPE_VAR && !expected->u.var->prims;
  if (actual->kind == TYPE_FUNCTION && expected->kind != TYPE_FUNCTION && !open)
    hint(k->c, "is an argument missing?");
}

bool expect_type(Check *k, Loc loc, const Type *expected, const Type *actual, Why why) {
  k->at = loc;
  if (unify(k, expected, actual)) return true;
  Mismatch m = k->mismatch;
  error(k->c, loc, "%s has type `%s`, expected `%s`", subject(why), type_text(actual),
        type_text(expected));
  explain(k, &m, expected);
  if (why.from.file && !why.from.file->built_in)
    note(k->c, why.from, "`%s` is expected because of this", type_text(expected));
  suggest(k, loc, expected, actual);
  return false;
}
