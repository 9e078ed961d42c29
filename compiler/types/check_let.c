// Bindings: let, local functions, lambdas and what they share with definitions.
#include "base/text.h"
#include "types/check.h"
#include <string.h>

// The type of what was checked one level further in, as it is known outside.
static const Type *leave_level(Check *k, AstExp *exp, const Type *type) {
  BindingVec unknowns = { 0 };
  size_equations_leave(k);
  const Type *closed = type_leave(k, type, &unknowns, exp->loc);
  add_unknowns(exp, &unknowns);
  return closed;
}

// --- let ---

// let [n] p = e: the value tells n, which in the body is a name for that size.
static const Type *open_sizes(Check *k, const AstTypeParamVec *sizes, const Type *type,
                              TypeSubst *vars) {
  for (int i = 0; i < sizes->count; i++) {
    vec_push(&vars->sizes, sizes->at[i].binding);
    vec_push(&vars->to_sizes, size_var(k, sizes->at[i].name, sizes->at[i].loc));
    vars->to_sizes.at[i]->u.var->level = k->level - 1;
  }
  return type_substitute(k, vars, type);
}

static void check_let_value(Check *k, AstExp *exp, const Type *value) {
  AstPat *pat = exp->u.let.pat;
  const AstTypeParamVec *sizes = &exp->u.let.sizes;
  bind_type_params(k, &exp->u.let.sizes, NULL);
  if (sizes->count == 0 && pat->kind != AST_PAT_ASCRIBE) {
    check_pat(k, pat, value);
    return;
  }
  const Type *type = check_pat(k, pat, type_var(k, pat->loc));
  TypeSubst vars = { 0 };
  Loc from = pat->kind == AST_PAT_ASCRIBE ? pat->u.ascribe.type->loc : pat->loc;
  if (!expect_type(k, exp->u.let.value->loc, open_sizes(k, sizes, type, &vars), value,
                   (Why){ .kind = WHY_VALUE, .from = from }))
    pat_bind_errors(k, pat);
  for (int i = 0; i < sizes->count; i++) {
    const Size *known = size_resolve(vars.to_sizes.at[i]);
    if (known->kind != SIZE_VAR) sizes->at[i].binding->known = known;
  }
}

// A size that only functions of the pattern have: no value tells it.
static void check_sizes_of_values(Check *k, const AstExp *exp) {
  const Type *type = exp->u.let.pat->type;
  vec_each (const AstTypeParam *, p, &exp->u.let.sizes) {
    bool open = p->kind != TYPE_PARAM_SIZE || !type_mentions(type, p->binding);
    if (open || type_has_error(type) || type_tells_size(type, p->binding)) continue;
    error(k->c, p->loc, "no array of the pattern tells the size `%s`", p->name);
    hint(k->c, "it is a size of functions only, which do not carry it along");
  }
}

// let n = e: where n has no meaning any more, sizes that mention it are expressed by e.
static void note_value(Check *k, const AstExp *exp) {
  Binding *name = pat_binding(exp->u.let.pat);
  const Size *size = name ? size_of_exp(k, exp->u.let.value) : NULL;
  if (size && size_is_small(size)) name->known = size;
}

// let _ = assert c e in ..
static void warn_unchecked(Check *k, const AstExp *exp) {
  bool unused = exp->u.let.pat->kind == AST_PAT_WILDCARD;
  if (!unused || exp->u.let.value->kind != AST_ASSERT) return;
  warning(k->c, exp->u.let.value->loc,
          "this assertion is not checked, as nothing needs its value");
}

const Type *infer_let(Check *k, AstExp *exp) {
  int mark = scope_mark(k), equations = k->equations.count;
  if (!exp->u.let.sizes.count)
    expect_constructors_of_pat(k, exp->u.let.value, exp->u.let.pat);
  const Type *value = infer(k, exp->u.let.value);
  k->level++;
  check_let_value(k, exp, value);
  warn_unchecked(k, exp);
  size_equations_solve(k, equations, false);
  check_pat_names(k, exp->u.let.pat, &exp->u.let.sizes, PAT_LET);
  note_value(k, exp);
  const Type *body = infer(k, exp->u.let.body);
  check_sizes_told(k, &exp->u.let.sizes, exp->u.let.pat->type);
  check_sizes_of_values(k, exp);
  k->level--;
  scope_leave(k, mark);
  return leave_level(k, exp, body);
}

// --- Functions ---

// The parameter of the function type that is expected, or NULL; `expected` becomes what it gives.
static const Type *take_param(const Type **expected, const Binding **name) {
  const Type *function = *expected ? type_resolve(*expected) : NULL;
  bool given = function && function->kind == TYPE_FUNCTION;
  *expected = given ? function->u.function.to : NULL;
  *name = given ? function->u.function.param : NULL;
  return given ? function->u.function.from : NULL;
}

// Each parameter is one level deeper than the one before, so that its type may mention it.
static const Type *check_param(Check *k, AstPat *pat, const Type **expected) {
  const Binding *other;
  const Type *given = take_param(expected, &other);
  bool written = given && pat->kind == AST_PAT_ASCRIBE;
  const Type *result =
      check_pat(k, pat, written || !given ? type_var(k, pat->loc) : given);
  if (written)
    expect_type(k, pat->loc, result, given,
                (Why){ .kind = WHY_PARAM, .from = pat->u.ascribe.type->loc });
  k->level++;
  const Binding *name = pat_binding(pat);
  if (name && other)
    *expected = type_replace_size(k, other, size_of_binding(name, pat->loc), *expected);
  else if (other && type_mentions(*expected, other))
    *expected = NULL;  // in terms of a parameter that has no name here
  return result;
}

// What a parameter of a named function leaves open, branches do not tell.
static void keep_apart(const Type *type) {
  type = type_resolve(type);
  if (type->kind == TYPE_RECORD)
    for (int i = 0; i < type->u.record.count; i++)
      keep_apart(type->u.record.fields[i].type);
  if (type->kind != TYPE_ARRAY) return;
  const Size *size = size_resolve(type->u.array.size);
  if (size->kind == SIZE_VAR) size->u.var->apart = true;
  keep_apart(type->u.array.elem);
}

// Sizes that the declared result leaves open as `[]` are those of the body; of those that it hides,
// `?[k]`, callers know no more than that they are there.
static const Type *check_result(Check *k, const AstType *result, const Type *written,
                                AstExp *body, Name name) {
  const Type *shown = type_open_shown(k, written);
  check_exp(k, body, type_open_anonymous(k, shown),
            (Why){ .kind = WHY_RESULT, .name = name, .from = result->loc });
  return shown;
}

static const Type *hide_in_functions(Check *k, const Type *type, const Binding *size);

static const Type *hide_in_fields(Check *k, const Type *type, const Binding *size) {
  TypeField *fields = new_array(TypeField, type->u.record.count);
  for (int i = 0; i < type->u.record.count; i++) {
    fields[i] = type->u.record.fields[i];
    fields[i].type = hide_in_functions(k, fields[i].type, size);
  }
  Type *out = mem_copy(type, sizeof *out);
  out->u.record.fields = fields;
  return out;
}

// A size that only the results of functions within the type have is a new one of each of their
// calls: `?[n].bool -> [n]t` is `bool -> ?[n].[n]t`.
static const Type *hide_in_functions(Check *k, const Type *type, const Binding *size) {
  type = type_resolve(type);
  if (!type_mentions(type, size)) return type;
  if (type->kind == TYPE_RECORD) return hide_in_fields(k, type, size);
  if (type->kind != TYPE_FUNCTION || type_mentions(type->u.function.from, size))
    return type;
  Type *out = mem_copy(type, sizeof *out);
  const Type *to = type->u.function.to;
  if (!type_tells_size(to, size)) {
    out->u.function.to = hide_in_functions(k, to, size);
    return out;
  }
  Binding *own = binding_new(k, BIND_SIZE, size->name, size->loc, type_prim(PRIM_I64));
  own->level = 0;
  BindingVec exists = { 0 };
  for (int i = 0; i < type->u.function.exist_count; i++)
    vec_push(&exists, type->u.function.exists[i]);
  vec_push(&exists, own);
  out->u.function.to = type_replace_size(k, size, size_of_binding(own, size->loc), to);
  out->u.function.exist_count = exists.count;
  out->u.function.exists = exists.at;
  return out;
}

static const Type *hide_told_by_calls(Check *k, const Type *to, BindingVec *exists) {
  int kept = 0;
  for (int i = 0; i < exists->count; i++) {
    const Binding *size = exists->at[i];
    const Type *hidden = type_tells_size(to, size) ? to : hide_in_functions(k, to, size);
    if (hidden == to || type_mentions(hidden, size)) exists->at[kept++] = exists->at[i];
    to = hidden;
  }
  exists->count = kept;
  return to;
}

// What a function gives may be a function of arrays whose size only its own body knows.
static void check_told_outside(Check *k, const AstFunction *f, const Type *to,
                               const BindingVec *exists) {
  vec_each (Binding *const *, b, exists) {
    if (!type_mentions(to, *b) || type_tells_size(to, *b)) continue;
    error(k->c, f->body->loc,
          "the result has type `%s`, but nothing outside of this function tells the size "
          "`%s`",
          type_text(to), (*b)->name);
    hint(k->c, "let it take arrays of any size, and use `:>` inside of it");
    return;
  }
}

static const Type *arrows(const AstFunction *f, const Type **params, const Type *to,
                          const BindingVec *exists) {
  Map *mentioned = map_new(NULL);
  type_size_names(to, mentioned);
  for (int i = f->params.count - 1; i >= 0; i--) {
    Binding *name = pat_binding(f->params.at[i]);
    bool occurs = name && map_has(mentioned, name);
    to = type_function(occurs ? name : NULL, params[i], to);
    type_size_names(params[i], mentioned);
    if (i < f->params.count - 1) continue;
    Type *last = mem_copy(to, sizeof *to);
    last->u.function.exist_count = exists->count;
    last->u.function.exists = exists->at;
    to = last;
  }
  return to;
}

// Sizes in the result that are neither known outside nor named parameters are new ones; so are
// names inside the pattern of a parameter.
static void hide_inner_names(Check *k, const AstFunction *f, const Type **to,
                             BindingVec *exists) {
  vec_each (Binding **, b, exists)
    (*b)->level = 0;
  for (int i = 0; i < f->params.count; i++) {
    Binding *name = pat_binding(f->params.at[i]);
    if (name) name->level = 0;
  }
  int made = exists->count;
  *to = type_close(k, *to, exists, f->body->loc);
  for (int i = made; i < exists->count; i++)
    exists->at[i]->level = 0;
}

// A name inside the pattern of one parameter has no place in a function's type, so that the type
// of a later parameter cannot mention it.
static void check_param_sizes(Check *k, const AstFunction *f, const Type **params) {
  for (int i = 1; i < f->params.count; i++) {
    BindingVec inner = { 0 };
    const Type *closed = type_close(k, params[i], &inner, f->params.at[i]->loc);
    if (inner.count == 0) continue;
    error(k->c, f->params.at[i]->loc,
          "the type `%s` of this parameter mentions a size that callers cannot see: "
          "it is inside the pattern of an earlier parameter",
          type_text(params[i]));
    hint(k->c, "bind the size as a parameter `[n]`, or give it a parameter of its own");
    params[i] = closed;
  }
}

// What a function is to its own body.  Sizes that the result leaves open are new ones in each call.
static const Type *own_type(Check *k, const AstFunction *f, const Type **params,
                            const Type *result) {
  if (!f->params.count) return NULL;
  BindingVec exists = { 0 };
  const Type *to = type_name_anonymous(k, result, &exists);
  vec_each (Binding **, b, &exists)
    (*b)->level = 0;
  return arrows(f, params, to, &exists);
}

// A constant has one value for each of its size parameters, so that nobody could name a size that
// only the value tells.
static void check_constant_sizes(Check *k, const AstFunction *f, const Type *to,
                                 const BindingVec *exists) {
  if (f->params.count || !f->type_params.count) return;
  vec_each (Binding *const *, b, exists) {
    if (!type_mentions(to, *b)) continue;
    error(
        k->c, f->body->loc,
        "a definition without parameters that has size parameters cannot have a size of "
        "its own: its type is `%s`",
        type_text(to));
    hint(k->c, "give it a parameter, as in `def f [n] () = ..`");
    return;
  }
}

// What was found out of the result before, with the function's type parameters in place of those of
// that time.
static const Type *assumed_result(Check *k, const Within *within, Loc loc) {
  TypeSubst now = { 0 };
  const Binding *owner = within->binding;
  for (int i = 0; i < within->before->types.count; i++) {
    bool is_written = i < owner->types.count;
    vec_push(&now.types, within->before->types.at[i]);
    vec_push(&now.to_types,
             is_written ? type_of_param(owner->types.at[i]) : type_var(k, loc));
  }
  return type_substitute(k, &now, within->assumed);
}

// The body of a function whose result is not written.
static const Type *infer_unwritten(Check *k, AstFunction *f, Within *within,
                                   const Type **params) {
  Binding *owner = within->binding;
  Loc loc = f->body->loc;
  within->result = within->assumed ? assumed_result(k, within, loc) : type_var(k, loc);
  owner->type = own_type(k, f, params, within->result);
  const Type *to = infer(k, f->body);
  owner->type = NULL;
  if (owner->calls_itself)
    expect_type(k, f->body->loc, type_open_anonymous(k, within->result), to,
                (Why){ .kind = WHY_RESULT, .name = owner->name });
  return to;
}

static const Type *infer_body(Check *k, AstFunction *f, Within *within,
                              const Type **params, const Type *expected) {
  Binding *owner = within->binding;
  Name name = owner ? owner->name : NULL;
  if (f->result) {
    const Type *written = check_type(k, f->result);
    check_result_names(k, f, written);
    if (owner) owner->type = own_type(k, f, params, written);
    const Type *to = check_result(k, f->result, written, f->body, name);
    if (owner) owner->type = NULL;
    return to;
  }
  if (f->body->kind == AST_LAMBDA && expected &&
      type_resolve(expected)->kind == TYPE_FUNCTION) {
    check_exp(k, f->body, expected, (Why){ .kind = WHY_RESULT });
    return f->body->type;
  }
  if (expected) expect_constructors(k, f->body, expected);
  return owner ? infer_unwritten(k, f, within, params) : infer(k, f->body);
}

const Type *infer_function(Check *k, AstFunction *f, const Within *self,
                           const Type *expected) {
  int mark = scope_mark(k), level = k->level, equations = k->equations.count;
  Within within = *self;
  Binding *owner = self->binding;
  within.outer = k->within;
  if (owner) k->within = &within;
  k->level++;
  bind_type_params(k, &f->type_params, owner);
  k->level++;
  const Type **params = new_array(const Type *, f->params.count);
  for (int i = 0; i < f->params.count; i++) {
    params[i] = check_param(k, f->params.at[i], &expected);
    if (owner) keep_apart(params[i]);
  }
  check_param_names(k, f);
  BindingVec exists = { 0 };
  const Type *to = infer_body(k, f, &within, params, expected);
  to = type_name_anonymous(k, to, &exists);
  size_equations_solve(k, equations, false);
  k->level = level + 1;
  hide_inner_names(k, f, &to, &exists);
  to = hide_told_by_calls(k, to, &exists);
  check_told_outside(k, f, to, &exists);
  check_constant_sizes(k, f, to, &exists);
  check_param_sizes(k, f, params);
  k->level = level;
  const Type *type = arrows(f, params, to, &exists);
  check_sizes_told(k, &f->type_params, type);
  scope_leave(k, mark);
  k->within = within.outer;
  return type;
}

// The tuple that a single parameter takes apart, or NULL.
static const AstPat *tuple_param(const AstFunction *f) {
  const AstPat *pat = f->params.count == 1 ? f->params.at[0] : NULL;
  while (pat && (pat->kind == AST_PAT_ASCRIBE || pat->kind == AST_PAT_ATTR))
    pat = pat->kind == AST_PAT_ASCRIBE ? pat->u.ascribe.pat : pat->u.attr.pat;
  return pat && pat->kind == AST_PAT_TUPLE ? pat : NULL;
}

// How many arguments a function of this type is given; false if that is not known.
static bool is_given(const Type *type, int *count, const Type **first) {
  type = type_resolve(type);
  if (type->kind != TYPE_FUNCTION) return false;
  *first = type_resolve(type->u.function.from);
  for (*count = 0; type->kind == TYPE_FUNCTION; ++*count)
    type = type_resolve(type->u.function.to);
  return type->kind != TYPE_VAR || type->u.var->first_order;
}

static const char *param_text(const AstPat *pat) {
  return text_format("%.*s", (int)(pat->loc.end - pat->loc.start),
                     pat->loc.file->text + pat->loc.start);
}

static const char *param_list(const AstPatVec *params, const char *between) {
  Text *t = text_new();
  for (int i = 0; i < params->count; i++)
    text_printf(t, "%s%s", i ? between : "", param_text(params->at[i]));
  return text_str(t);
}

// Whether a function literal may take as many arguments as it is given.
bool check_lambda_params(Check *k, const AstExp *exp, const Type *expected, Why why) {
  const AstFunction *f = &exp->u.lambda.function;
  const AstPat *tuple = tuple_param(f);
  const Type *first;
  int given;
  if (!is_given(expected, &given, &first)) return true;
  bool pairs = type_is_tuple(first) && first->u.record.count == f->params.count;
  bool apart =
      tuple && given > 1 && tuple->u.tuple.items.count == given && !type_is_tuple(first);
  if (f->params.count <= given && !apart) return true;
  const char *caller = why.name ? text_format("`%s`", why.name) : "the context";
  error(k->c, exp->loc, "this function takes %d argument%s, but %s gives it %d",
        f->params.count, f->params.count > 1 ? "s" : "", caller, given);
  if (apart)
    hint(k->c, "write `\\%s -> ...`", param_list(&tuple->u.tuple.items, " "));
  else if (pairs && given == 1)
    hint(k->c, "the argument is a tuple: write `\\(%s) -> ...`",
         param_list(&f->params, ", "));
  else if (given == 1)
    hint_parameters(k, f->params.count, why);
  return false;
}

const Type *infer_lambda(Check *k, AstExp *exp, const Type *expected) {
  static const Within nobody = { 0 };
  const Type *type = infer_function(k, &exp->u.lambda.function, &nobody, expected);
  type_lower(k, type);
  return type;
}

// let f p = e in b, where f may be used at several types
const Type *infer_let_fun(Check *k, AstExp *exp) {
  int mark = scope_mark(k);
  Binding *b =
      binding_new(k, BIND_FUNCTION, exp->u.let_fun.name, exp->u.let_fun.name_loc, NULL);
  b->function = &exp->u.let_fun.function;
  exp->u.let_fun.binding = b;
  Within self = { .binding = b };
  b->type = infer_function(k, &exp->u.let_fun.function, &self, NULL);
  generalise(k, b);
  vec_push(&k->bindings, b);
  k->level++;
  scope_bind(k, b, true);
  const Type *body = infer(k, exp->u.let_fun.body);
  k->level--;
  scope_leave(k, mark);
  return leave_level(k, exp, body);
}
