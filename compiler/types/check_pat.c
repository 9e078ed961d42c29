// Patterns: their types, and the names that they bind.
#include "types/check.h"

static const Type *check_name_pat(Check *k, AstPat *pat, const Type *type) {
  Binding *b = binding_new(k, BIND_VALUE, pat->u.name.name, pat->loc, type);
  pat->u.name.binding = b;
  vec_push(&k->bindings, b);
  return type;
}

static void expect_shape(Check *k, const AstPat *pat, const Type *shape,
                         const Type *type) {
  k->at = pat->loc;
  if (unify(k, shape, type) || type_has_error(type)) return;
  error(k->c, pat->loc, "this pattern is for `%s`, but the value has type `%s`",
        type_text(shape), type_text(type));
  note_fields(k, type, shape);
  type = type_resolve(type);
  if (type->kind == TYPE_ARRAY && type_is_tuple(shape) &&
      type_is_tuple(type_resolve(type->u.array.elem)))
    hint(k->c, "`unzip` makes a tuple of arrays of an array of tuples");
}

static const Type *check_fields(Check *k, AstPat *pat, TypeField *fields,
                                AstPatVec *items, const Type *type) {
  bool tuple = pat->kind == AST_PAT_TUPLE;
  for (int i = 0; i < items->count; i++)
    fields[i].type = type_var(k, items->at[i]->loc);
  const Type *shape =
      items->count ? type_record(fields, items->count, tuple) : type_unit();
  expect_shape(k, pat, shape, type);
  for (int i = 0; i < items->count; i++)
    check_pat_part(k, items->at[i], fields[i].type);
  return type;
}

static const Type *check_tuple_pat(Check *k, AstPat *pat, const Type *type) {
  int count = pat->u.tuple.items.count;
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++)
    fields[i].name = type_field_name(k->c, i);
  return check_fields(k, pat, fields, &pat->u.tuple.items, type);
}

static const Type *check_record_pat(Check *k, AstPat *pat, const Type *type) {
  int count = pat->u.record.fields.count;
  TypeField *fields = new_array(TypeField, count);
  AstPatVec items = { 0 };
  for (int i = 0; i < count; i++) {
    fields[i].name = pat->u.record.fields.at[i].name;
    vec_push(&items, pat->u.record.fields.at[i].pat);
  }
  return check_fields(k, pat, fields, &items, type);
}

static const Type *check_literal_pat(Check *k, AstPat *pat, const Type *type) {
  expect_shape(k, pat, infer(k, pat->u.literal.value), type);
  return type;
}

static const Type *check_ascribe_pat(Check *k, AstPat *pat, const Type *type) {
  const Type *written = type_open_anonymous(k, check_type(k, pat->u.ascribe.type));
  expect_type(k, pat->loc, written, type,
              (Why){ .kind = WHY_PATTERN, .from = pat->u.ascribe.type->loc });
  return check_pat_part(k, pat->u.ascribe.pat, written);
}

static const Type *check_attr_pat(Check *k, AstPat *pat, const Type *type) {
  check_attr(k, pat->u.attr.attr);
  return check_pat_part(k, pat->u.attr.pat, type);
}

static const Type *check_kind(Check *k, AstPat *pat, const Type *type) {
  switch (pat->kind) {
  case AST_PAT_NAME: return check_name_pat(k, pat, type);
  case AST_PAT_WILDCARD: return type;
  case AST_PAT_TUPLE: return check_tuple_pat(k, pat, type);
  case AST_PAT_RECORD: return check_record_pat(k, pat, type);
  case AST_PAT_LITERAL: return check_literal_pat(k, pat, type);
  case AST_PAT_ASCRIBE: return check_ascribe_pat(k, pat, type);
  case AST_PAT_CONSTRUCTOR: return check_constructor_pat(k, pat, type);
  case AST_PAT_ATTR: return check_attr_pat(k, pat, type);
  }
  return type;
}

const Type *check_pat_part(Check *k, AstPat *pat, const Type *expected) {
  const Type *type = check_kind(k, pat, expected);
  pat->type = type;
  vec_push(&k->pats, pat);
  return type;
}

// --- Names ---

// Calls `visit` for each name, literal and constructor of the pattern.
static void each_name(const AstPat *pat, void (*visit)(void *state, const AstPat *pat),
                      void *state) {
  switch (pat->kind) {
  case AST_PAT_NAME: visit(state, pat); break;
  case AST_PAT_WILDCARD: break;
  case AST_PAT_TUPLE:
    vec_each (AstPat *const *, p, &pat->u.tuple.items)
      each_name(*p, visit, state);
    break;
  case AST_PAT_RECORD:
    vec_each (const AstFieldPat *, f, &pat->u.record.fields)
      each_name(f->pat, visit, state);
    break;
  case AST_PAT_LITERAL: visit(state, pat); break;
  case AST_PAT_ASCRIBE: each_name(pat->u.ascribe.pat, visit, state); break;
  case AST_PAT_CONSTRUCTOR:
    visit(state, pat);
    vec_each (AstPat *const *, p, &pat->u.constructor.payload)
      each_name(*p, visit, state);
    break;
  case AST_PAT_ATTR: each_name(pat->u.attr.pat, visit, state); break;
  }
}

static void bind_one_name(void *check, const AstPat *pat) {
  if (pat->kind == AST_PAT_NAME) scope_bind(check, pat->u.name.binding, false);
}

// Types in a pattern cannot mention what the pattern binds.
const Type *check_pat(Check *k, AstPat *pat, const Type *expected) {
  const Type *type = check_pat_part(k, pat, expected);
  each_name(pat, bind_one_name, k);
  return type;
}

static void bind_error(void *check, const AstPat *pat) {
  if (pat->kind == AST_PAT_NAME) pat->u.name.binding->type = type_error(check, pat->loc);
}

void pat_bind_errors(Check *k, const AstPat *pat) { each_name(pat, bind_error, k); }

typedef struct BoundNames {
  Check *k;
  PatRole role;
  Vec(const AstPat *) seen;
  const AstTypeParamVec *sizes;  // bound before the patterns, among types; or NULL
} BoundNames;

static void report_twice(Check *k, const AstPat *pat, Loc first) {
  error(k->c, pat->loc, "`%s` is bound twice", pat->u.name.name);
  note(k->c, first, "`%s` is also bound here", pat->u.name.name);
}

static void warn_if_unused(Check *k, const Binding *binding) {
  for (int i = k->scope.entries.count - 1; i >= 0; i--) {
    ScopeEntry *entry = &k->scope.entries.at[i];
    if (entry->binding != binding) continue;
    entry->warn = true;
    return;
  }
}

// Outside of a match, a constructor must be the only one of its type.
static void check_only_constructor(Check *k, const AstPat *pat) {
  const Type *type = type_resolve(pat->type);
  if (type_is_sum(type) && type->u.record.count > 2)
    error(k->c, pat->loc, "`#%s` may not match here", pat->u.constructor.name);
}

static void check_one_name(void *state, const AstPat *pat) {
  BoundNames *names = state;
  Check *k = names->k;
  if (pat->kind == AST_PAT_LITERAL) {
    if (names->role == PAT_CASE) return;
    error(k->c, pat->loc, "a literal pattern may not match here");
    hint(k->c, "`match x case 1 -> ... case _ -> ...` tells values apart");
    return;
  }
  if (pat->kind == AST_PAT_CONSTRUCTOR) {
    if (names->role != PAT_CASE) check_only_constructor(k, pat);
    return;
  }
  vec_each (const AstPat **, p, &names->seen) {
    if ((*p)->u.name.name != pat->u.name.name) continue;
    report_twice(k, pat, (*p)->loc);
    return;
  }
  for (int i = 0; names->sizes && i < names->sizes->count; i++) {
    const AstTypeParam *size = &names->sizes->at[i];
    if (size->kind == TYPE_PARAM_SIZE && size->name == pat->u.name.name)
      report_twice(k, pat, size->loc);
  }
  vec_push(&names->seen, pat);
  if (names->role == PAT_LET) warn_if_unused(k, pat->u.name.binding);
}

void check_pat_names(Check *k, AstPat *pat, const AstTypeParamVec *sizes, PatRole role) {
  BoundNames names = { .k = k, .role = role, .sizes = sizes };
  each_name(pat, check_one_name, &names);
}

void check_param_names(Check *k, const AstFunction *f) {
  BoundNames names = { .k = k, .role = PAT_PARAM, .sizes = &f->type_params };
  vec_each (AstPat *const *, pat, &f->params)
    each_name(*pat, check_one_name, &names);
}

static const AstPat *strip_pat(const AstPat *pat) {
  while (pat->kind == AST_PAT_ASCRIBE || pat->kind == AST_PAT_ATTR)
    pat = pat->kind == AST_PAT_ASCRIBE ? pat->u.ascribe.pat : pat->u.attr.pat;
  return pat;
}

Binding *pat_binding(const AstPat *pat) {
  pat = strip_pat(pat);
  return pat->kind == AST_PAT_NAME ? pat->u.name.binding : NULL;
}

typedef struct InnerNames {
  Check *k;
  Loc loc;  // of the type
  const Type *type;
} InnerNames;

static void check_inner_name(void *state, const AstPat *pat) {
  const InnerNames *names = state;
  if (pat->kind != AST_PAT_NAME || !type_mentions(names->type, pat->u.name.binding))
    return;
  error(
      names->k->c, names->loc,
      "the type of this result mentions `%s`, which callers cannot see: it is inside the "
      "pattern of a parameter",
      pat->u.name.name);
  note(names->k->c, pat->loc, "`%s` is bound here", pat->u.name.name);
  hint(names->k->c, "write `[]` for the size, or give `%s` a parameter of its own",
       pat->u.name.name);
}

void check_result_names(Check *k, const AstFunction *f, const Type *result) {
  InnerNames names = { .k = k, .loc = f->result->loc, .type = result };
  vec_each (AstPat *const *, pat, &f->params)
    if (!pat_binding(*pat)) each_name(*pat, check_inner_name, &names);
}
