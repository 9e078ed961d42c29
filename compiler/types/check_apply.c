// Application, operators and sections.
#include "base/text.h"
#include "types/check.h"
#include <string.h>

static Name function_name(const AstExp *function) {
  return function->kind == AST_NAME ? function->u.name.name.name : NULL;
}

// Sizes of a result that each application makes anew.
static const Type *open_result(Check *k, AstExp *node, const Type *to,
                               const BindingVec *exists) {
  for (int i = 0; i < exists->count; i++) {
    Binding *fresh =
        binding_new(k, BIND_SIZE, unknown_name(k), node->loc, type_prim(PRIM_I64));
    vec_push(&node->unknown_sizes, fresh);
    to = type_replace_size(k, exists->at[i], size_of_binding(fresh, node->loc), to);
  }
  return to;
}

// The type without variables that bind sizes, which are collected, in the type and in the fields of
// records; itself if there are none.
static const Type *without_bound(const Type *type, BindingVec *exists) {
  int before = exists->count;
  const Type *known = type_resolve_result(type, exists);
  if (known->kind != TYPE_RECORD) return exists->count > before ? known : type;
  TypeField *fields = NULL;
  for (int i = 0; i < known->u.record.count; i++) {
    const TypeField *f = &known->u.record.fields[i];
    const Type *field = without_bound(f->type, exists);
    if (field == f->type) continue;
    size_t bytes = sizeof *fields * (size_t)known->u.record.count;
    if (!fields) fields = mem_copy(known->u.record.fields, bytes);
    fields[i].type = field;
  }
  if (!fields) return exists->count > before ? known : type;
  Type *copy = mem_copy(known, sizeof *copy);
  copy->u.record.fields = fields;
  return copy;
}

// The same for a result of which some was a variable when it was applied, and became known since.
static const Type *open_known(Check *k, AstExp *node, const Type *type) {
  BindingVec exists = { 0 };
  const Type *known = without_bound(type, &exists);
  return exists.count ? open_result(k, node, known, &exists) : type;
}

// (n: i64) -> [n]t applied to `e` is [e]t, if `e` can be in a size; otherwise each size that
// mentions the parameter is a new one.
static const Type *apply_named(Check *k, AstExp *node, const Type *function,
                               const Type *to, const AstExp *arg) {
  const Binding *param = function->u.function.param;
  k->at = node->loc;
  // What is wrong with the argument is reported with it.
  if (arg && arg->type) unify(k, function->u.function.from, arg->type);
  const Size *size = arg ? size_operand(k, arg) : NULL;
  if (size) return type_replace_size(k, param, size, to);
  Loc loc = arg ? arg->loc : node->loc;
  Binding *hidden =
      binding_new(k, BIND_VALUE, param->name, loc, function->u.function.from);
  hidden->level = k->level + 1;
  to = type_replace_size(k, param, size_of_binding(hidden, loc), to);
  BindingVec made = { 0 };
  to = type_close(k, to, &made, loc);
  add_unknowns(node, &made);
  return to;
}

const Type *apply_one(Check *k, AstExp *node, const Type *function, const AstExp *arg,
                      const Type **from) {
  function = type_resolve(open_known(k, node, function));
  if (type_is_error(function)) return *from = type_error(k, node->loc);
  if (function->kind == TYPE_VAR) {
    const Type *made =
        type_function(NULL, type_var(k, node->loc), type_var(k, node->loc));
    k->at = node->loc;
    if (!unify(k, function, made)) return NULL;
    function = made;
  }
  if (function->kind != TYPE_FUNCTION) return NULL;
  *from = function->u.function.from;
  BindingVec exists = { 0 };
  for (int i = 0; i < function->u.function.exist_count; i++)
    vec_push(&exists, function->u.function.exists[i]);
  const Type *to = type_resolve_result(function->u.function.to, &exists);
  const Binding *param = function->u.function.param;
  if (param && type_mentions(to, param)) to = apply_named(k, node, function, to, arg);
  return open_result(k, node, to, &exists);
}

static const char *applied_text(Loc loc) {
  enum { SHORT = 30 };
  uint32_t length = loc.end - loc.start;
  const char *start = loc.file->text + loc.start;
  if (length > SHORT || memchr(start, '\n', length)) return NULL;
  return text_format("`%.*s`", (int)length, start);
}

// x and y, where the operator is a symbol; other unknown words have been told.
static bool word_operator(Check *k, const AstExp *exp) {
  vec_each (AstExp *const *, arg, &exp->u.apply.args) {
    Name name = function_name(*arg);
    const char *symbol = name ? hint_word_operator(name) : NULL;
    if (!name || (*arg)->u.name.name.qualifiers.count) continue;
    if (!(*arg)->u.name.binding) return true;
    if (!symbol) continue;
    error(k->c, (*arg)->loc, "`%s` is no operator", name);
    hint(k->c, "write `%s`", symbol);
    return true;
  }
  return false;
}

// Is it in the body of a lambda without brackets on its line, as `b` in reduce \a b -> a + b 0 xs?
static bool is_in_bare_lambda(Loc loc) {
  const char *text = loc.file->text, *at = text + loc.start;
  for (int depth = 0; at > text && at[-1] != '\n' && depth >= 0; at--) {
    if (at[-1] == ')') depth++;
    if (at[-1] == '(') depth--;
    if (at[-1] != '\\' || depth) continue;
    while (--at > text && at[-1] == ' ')
      ;
    return at > text && at[-1] != '(';
  }
  return false;
}

// a max b
static bool is_infix(const AstExp *exp) {
  const AstExp *first = exp->u.apply.args.at[0];
  return exp->u.apply.args.count == 2 && first->kind == AST_NAME && first->type &&
         type_arity(first->type) == 2;
}

static void no_function(Check *k, const AstExp *exp, const Type *type) {
  const AstExp *f = exp->u.apply.function;
  if (word_operator(k, exp)) return;
  const char *text = applied_text(f->loc),
             *arg = applied_text(exp->u.apply.args.at[0]->loc);
  const Type *t = type_resolve(type);
  bool is_open = t->kind == TYPE_VAR && !t->u.var->prims && !t->u.var->fields.count;
  const char *phrase =
      is_open ? "can be no" : text_format("%s and is no", type_phrase(type));
  error(k->c, f->loc, "%s %s function", text ? text : "this", phrase);
  if (hint_operator_argument(k, f->loc)) return;
  if (f->kind == AST_STRING)
    hint(k->c, "is an operator or a comma missing? Comments begin with `--`");
  else if (type_resolve(type)->kind == TYPE_ARRAY && text)
    hint(k->c, "`%.*s[i]` is element `i` of it, where `[` touches the name",
         (int)strlen(text) - 2, text + 1);
  else if (is_in_bare_lambda(f->loc))
    hint(k->c, "a lambda reaches as far to the right as it can: write `(\\x -> ..)`");
  else if (arg && is_infix(exp))
    hint(k->c, "functions stand before their arguments: `%.*s a b`", (int)strlen(arg) - 2,
         arg + 1);
  else if (!exp->u.apply.is_operator)
    hint(k->c, "is an operator or a comma missing before %s?",
         arg ? arg : "the next word");
}

static void too_many(Check *k, const AstExp *exp, int index, const Type *function) {
  Loc loc = exp->u.apply.args.at[index]->loc;
  Name name = function_name(exp->u.apply.function);
  if (index == 0)
    no_function(k, exp, function);
  else
    error(k->c, loc, "too many arguments: %s%s%s takes %d, found %d", name ? "`" : "",
          name ? name : "the function", name ? "`" : "", index, exp->u.apply.args.count);
  int count = exp->u.apply.args.count;
  if (index == 2 && count <= 5 && name && strcmp(name, "zip") == 0)
    hint(k->c, "`zip%d` takes %d", count, count);
}

// Function literals among the arguments come last: by then the other arguments have told what
// their parameters are.
typedef struct Pending {
  AstExp *arg;
  const Type *from;
  Why why;
} Pending;
typedef Vec(Pending) PendingVec;

static void check_pending(Check *k, PendingVec *pending) {
  vec_each (Pending *, p, pending)
    check_exp(k, p->arg, p->from, p->why);
  pending->count = 0;
}

static bool is_lambda(const AstExp *exp) { return exp->kind == AST_LAMBDA; }

// After a wrong argument those that share a type with it would only be wrong in consequence.
static bool is_consequence(const AstExp *exp, int wrong, int index) {
  const AstExp *f = exp->u.apply.function;
  const Binding *b = f->kind == AST_NAME ? f->u.name.binding : NULL;
  return wrong && b && b->type && share_type_param(b, wrong, index);
}

// Arrays of one rank, both functions, or both scalars?  Otherwise the result would be of another
// shape as well, and further arguments may be shifted.
static bool same_shape(const Type *a, const Type *b) {
  a = type_resolve(a);
  b = type_resolve(b);
  while (a->kind == TYPE_ARRAY && b->kind == TYPE_ARRAY) {
    a = type_resolve(a->u.array.elem);
    b = type_resolve(b->u.array.elem);
  }
  bool a_scalar = a->kind == TYPE_PRIM || (a->kind == TYPE_VAR && a->u.var->prims);
  bool b_scalar = b->kind == TYPE_PRIM || (b->kind == TYPE_VAR && b->u.var->prims);
  return a->kind == b->kind || (a_scalar && b_scalar);
}

// Lambdas that nothing tells the parameters of.
static void infer_lambdas(Check *k, const AstExp *exp, int from) {
  for (int i = from; i < exp->u.apply.args.count; i++)
    if (is_lambda(exp->u.apply.args.at[i])) infer(k, exp->u.apply.args.at[i]);
}

static const Type *give_up(Check *k, AstExp *exp, int from, PendingVec *pending) {
  infer_lambdas(k, exp, from);
  check_pending(k, pending);
  return type_error(k, exp->loc);
}

// map (\x y -> ..) xs ys, where the lambda is what is told of
static bool is_map_of_several(const AstExp *exp) {
  Name name = function_name(exp->u.apply.function);
  const AstExp *first = exp->u.apply.args.at[0];
  return name && strcmp(name, "map") == 0 && is_lambda(first) &&
         first->u.lambda.function.params.count > 1;
}

static const Type *apply_all(Check *k, AstExp *exp, const Type *type) {
  PendingVec pending = { 0 };
  int wrong = 0;  // the first argument that does not fit, from 1 on
  for (int i = 0; i < exp->u.apply.args.count; i++) {
    AstExp *arg = exp->u.apply.args.at[i];
    if (type_resolve(type)->kind == TYPE_VAR) check_pending(k, &pending);
    const Type *from = NULL, *to = apply_one(k, exp, type, arg, &from);
    if (!to && !wrong && !is_map_of_several(exp)) too_many(k, exp, i, type);
    if (!to) return give_up(k, exp, i, &pending);
    type = to;
    Why why = { WHY_ARGUMENT, i + 1, function_name(exp->u.apply.function), { 0 }, exp };
    if (is_lambda(arg)) vec_push(&pending, (Pending){ arg, from, why });
    if (is_lambda(arg) || is_consequence(exp, wrong, i + 1)) continue;
    if (expect_type(k, arg->loc, from, arg->type, why)) continue;
    if (exp->u.apply.is_operator || !same_shape(from, arg->type))
      return give_up(k, exp, i + 1, &pending);
    if (!wrong) wrong = i + 1;
  }
  check_pending(k, &pending);
  return open_known(k, exp, type);
}

// - e and ! e are applications of intrinsics whose names are not those of the binary operators.
static const Type *infer_unary(Check *k, AstExp *exp) {
  AstExp *f = exp->u.apply.function;
  return infer_intrinsic(k, f, strcmp(f->u.name.name.name, "-") == 0 ? "neg" : "not");
}

const Type *infer_intrinsic(Check *k, AstExp *name, const char *intrinsic) {
  Binding *b = map_get(k->lib->intrinsics, name_of(k->c->names, intrinsic));
  if (!b) bug(k->c, name->loc, "no intrinsic %s", intrinsic);
  name->u.name.binding = b;
  return instantiate(k, b, name->loc, &name->u.name.inst);
}

static bool is_unary(const AstExp *exp) {
  const AstExp *f = exp->u.apply.function;
  if (!exp->u.apply.is_operator || exp->u.apply.args.count != 1 || f->kind != AST_NAME)
    return false;
  return strcmp(f->u.name.name.name, "-") == 0 || strcmp(f->u.name.name.name, "!") == 0;
}

// What follows from such an operand, the bool of a comparison say, would only lead to more
// messages.
static bool has_erroneous_operand(const AstExp *exp) {
  vec_each (AstExp *const *, arg, &exp->u.apply.args)
    if ((*arg)->type && type_is_error((*arg)->type)) return true;
  return false;
}

// x // words that have no meaning
static bool is_comment(Check *k, const AstExp *exp) {
  Name op = function_name(exp->u.apply.function);
  if (!exp->u.apply.is_operator || !op || strcmp(op, "//") != 0) return false;
  const AstExp *right = exp->u.apply.args.at[exp->u.apply.args.count - 1];
  while (right->kind == AST_APPLY)
    right =
        right->u.apply.is_operator ? right->u.apply.args.at[0] : right->u.apply.function;
  return right->kind == AST_NAME && !scope_has_value(k, &right->u.name.name);
}

static void infer_arguments(Check *k, const AstExp *exp, const Type *function) {
  vec_each (AstExp *const *, arg, &exp->u.apply.args) {
    function = type_resolve(function);
    if (function->kind == TYPE_FUNCTION) {
      expect_constructors(k, *arg, function->u.function.from);
      function = function->u.function.to;
    }
    if (!is_lambda(*arg)) infer(k, *arg);
  }
}

const Type *infer_apply(Check *k, AstExp *exp) {
  AstExp *f = exp->u.apply.function;
  const Type *function = NULL;
  if (is_unary(exp)) {
    function = infer_unary(k, exp);
    f->type = function;
    vec_push(&k->exps, f);
  } else {
    function = infer(k, f);
  }
  if (is_comment(k, exp)) {
    error(k->c, f->loc, "comments begin with `--`; `//` divides");
    return type_error(k, exp->loc);
  }
  // Operands of an unknown operator are often words of another language.
  if (exp->u.apply.is_operator && type_is_error(function)) return type_error(k, exp->loc);
  infer_arguments(k, exp, function);
  if (exp->u.apply.is_operator && has_erroneous_operand(exp))
    return type_error(k, exp->loc);
  return apply_all(k, exp, function);
}

// (e +) and (+ e)
const Type *infer_section(Check *k, AstExp *exp) {
  const Type *op = infer(k, exp->u.section.op), *left = NULL, *right = NULL;
  Name name = function_name(exp->u.section.op);
  if (exp->kind == AST_SECTION_LEFT) {
    infer(k, exp->u.section.operand);
    const Type *to = apply_one(k, exp, op, exp->u.section.operand, &left);
    if (!to) return type_error(k, exp->loc);
    expect_type(k, exp->u.section.operand->loc, left, exp->u.section.operand->type,
                (Why){ .kind = WHY_ARGUMENT, .index = 1, .name = name });
    return to;
  }
  const Type *rest = apply_one(k, exp, op, NULL, &left);
  infer(k, exp->u.section.operand);
  const Type *to = rest ? apply_one(k, exp, rest, exp->u.section.operand, &right) : NULL;
  if (!to) {
    error(k->c, exp->loc, "the operator of a section must take two arguments");
    return type_error(k, exp->loc);
  }
  expect_type(k, exp->u.section.operand->loc, right, exp->u.section.operand->type,
              (Why){ .kind = WHY_ARGUMENT, .index = 2, .name = name });
  return type_function(NULL, left, to);
}
