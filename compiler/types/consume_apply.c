// Applications: what a function consumes, and what its result may share memory with.
#include "base/text.h"
#include "types/consume.h"
#include <string.h>

static bool is_pipe(const AstExp *exp, const char *spelling) {
  const AstExp *f = exp->u.apply.function;
  const Binding *b = f->kind == AST_NAME ? f->u.name.binding : NULL;
  return b && b->is_top && b->loc.file && b->loc.file->built_in &&
         exp->u.apply.args.count == 2 && strcmp(b->name, spelling) == 0;
}

// f >-> g and g <-< f give what g gives.
static const Type *composition_type(const AstExp *exp) {
  bool right = is_pipe(exp, ">->");
  const Type *type = type_resolve(exp->type);
  if ((!right && !is_pipe(exp, "<-<")) || type->kind != TYPE_FUNCTION) return NULL;
  const Type *last = consume_type(exp->u.apply.args.at[right ? 1 : 0]);
  if (last->kind != TYPE_FUNCTION) return NULL;
  Type *copy = mem_copy(type, sizeof *type);
  copy->u.function.to = type_unique_like(type->u.function.to, last->u.function.to);
  return copy;
}

const Type *consume_type(const AstExp *function) {
  switch ((int)function->kind) {
  case AST_NAME: {
    const Binding *b = function->u.name.binding;
    bool known = b && b->type && type_resolve(b->type)->kind == TYPE_FUNCTION;
    return type_resolve(known ? b->type : function->type);
  }
  case AST_ASCRIBE:
  case AST_COERCE: return consume_type(function->u.ascribe.exp);
  case AST_ATTR: return consume_type(function->u.attr.exp);
  case AST_ASSERT: return consume_type(function->u.assert.exp);
  case AST_OPEN_IN: return consume_type(function->u.open_in.exp);
  case AST_LET: return consume_type(function->u.let.body);
  case AST_LET_FUN: return consume_type(function->u.let_fun.body);
  case AST_LET_WITH: return consume_type(function->u.let_with.body);
  case AST_APPLY: {
    const Type *composed = composition_type(function);
    if (composed) return composed;
    const Type *type = consume_type(function->u.apply.function);
    for (int i = 0; i < function->u.apply.args.count; i++) {
      if (type->kind != TYPE_FUNCTION) return type_resolve(function->type);
      type = type_resolve(type->u.function.to);
    }
    return type;
  }
  }
  return type_resolve(function->type);
}

// --- Functions as arguments ---

static const Type *result_of(const Type *type) {
  type = type_resolve(type);
  while (type->kind == TYPE_FUNCTION)
    type = type_resolve(type->u.function.to);
  return type;
}

// Of `t` in `*t` nothing is consumed where it stands for numbers.
static bool consumes_memory(const Type *declared, const Type *here) {
  bool known = here && here->kind == TYPE_FUNCTION;
  return type_has_unique(declared->u.function.from) &&
         (!known || type_shares(here->u.function.from));
}

static const Type *given_by(const Type *type) {
  type = type ? type_resolve(type) : NULL;
  return type && type->kind == TYPE_FUNCTION ? type->u.function.to : NULL;
}

void consume_check_function(Consume *u, const Type *wanted, const AstExp *arg,
                            const char *where) {
  const Type *actual = consume_type(arg), *to = wanted, *here = arg->type;
  for (; actual->kind == TYPE_FUNCTION; actual = type_resolve(actual->u.function.to)) {
    to = to ? type_resolve(to) : NULL;
    here = here ? type_resolve(here) : NULL;
    bool known = to && to->kind == TYPE_FUNCTION;
    if (consumes_memory(actual, here) &&
        !(known && type_has_unique(to->u.function.from))) {
      error(u->k->c, arg->loc,
            "this function consumes its argument, which %s does not say", where);
      return;
    }
    to = given_by(to);
    here = given_by(here);
  }
  if (!wanted || type_resolve(wanted)->kind != TYPE_FUNCTION) return;
  bool fresh = type_has_unique(result_of(wanted)) && type_shares(result_of(arg->type));
  if (fresh && !type_has_unique(result_of(consume_type(arg))))
    error(
        u->k->c, arg->loc,
        "the result of this function may share memory with other values, but %s says `*`",
        where);
}

// --- Results ---

// The alias of a result that is declared as `declared`, where all arguments have `source` and
// values of the type parameters in `fresh` are new.
static const Alias *result_alias(const Type *declared, const Type *actual,
                                 const Alias *source, const BindingVec *fresh) {
  declared = type_resolve(declared);
  actual = type_resolve(actual);
  if (!source || declared->unique || !type_shares(actual)) return NULL;
  if (consume_is_fresh_param(fresh, declared)) return NULL;
  bool records = declared->kind == TYPE_RECORD && actual->kind == TYPE_RECORD &&
                 declared->u.record.count == actual->u.record.count;
  if (!records) return source;
  int count = actual->u.record.count;
  const Alias **fields = new_array(const Alias *, count);
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++) {
    names[i] = actual->u.record.fields[i].name;
    fields[i] = result_alias(declared->u.record.fields[i].type,
                             actual->u.record.fields[i].type, source, fresh);
  }
  return alias_record(names, fields, count);
}

bool consume_gives_fresh(const AstExp *function) {
  const Type *declared = consume_type(function), *actual = type_resolve(function->type);
  if (declared->kind != TYPE_FUNCTION || actual->kind != TYPE_FUNCTION) return false;
  const Alias any = { 0 };
  const BindingVec none = { 0 };
  return !result_alias(declared->u.function.to, actual->u.function.to, &any, &none);
}

// --- Applications ---

typedef struct ConsumedCall {
  Consume *u;
  const AstExp *exp, *function;
  const Type *type;     // of what is applied to the next argument
  const Alias *source;  // of the function and the arguments that it does not consume
} ConsumedCall;

// Whether the name of the function helps.
static const char *param_of(const AstExp *function) {
  if (function->kind != AST_NAME) return "the type of the function's parameter";
  return text_format("the type of the parameter of `%s`", function->u.name.name.name);
}

// The parts of what is consumed must not share memory with each other.
static void check_parts(Consume *u, const Alias *alias, const AstExp *arg) {
  const Alias *seen = NULL;
  for (int i = 0; alias && i < alias->count; i++) {
    const Alias *part = alias_flat(alias->fields[i]);
    for (int j = 0; part && j < part->roots.count; j++) {
      Root *root = part->roots.at[j];
      if (!alias_has(seen, root) || root->reported) continue;
      root->reported = true;
      error(u->k->c, arg->loc,
            "two parts of what is consumed here may be the memory of `%s`",
            root->binding->name);
    }
    seen = alias_union(seen, part);
  }
}

// What an expression gives that is a definition, or a part of one; else the expression itself.
static const AstExp *definition_of(const AstExp *exp);

static const AstExp *field_value(const AstExp *record, Name name) {
  if (record->kind == AST_RECORD)
    vec_each (const AstFieldExp *, field, &record->u.record.fields)
      if (field->name == name) return definition_of(field->value);
  return NULL;
}

static const AstFunction *defined_function(const AstExp *exp) {
  if (exp->kind == AST_LAMBDA) return &exp->u.lambda.function;
  return exp->kind == AST_NAME && exp->u.name.binding ? exp->u.name.binding->function
                                                      : NULL;
}

static const AstExp *definition_of(const AstExp *exp) {
  switch ((int)exp->kind) {
  case AST_ASCRIBE:
  case AST_COERCE: return definition_of(exp->u.ascribe.exp);
  case AST_ATTR: return definition_of(exp->u.attr.exp);
  case AST_LET: return definition_of(exp->u.let.body);
  case AST_LET_FUN: return definition_of(exp->u.let_fun.body);
  case AST_PROJECT: {
    const AstExp *value =
        field_value(definition_of(exp->u.project.record), exp->u.project.field);
    return value ? value : exp;
  }
  case AST_NAME: {
    const AstFunction *f = defined_function(exp);
    return f && !f->params.count ? definition_of(f->body) : exp;
  }
  }
  return exp;
}

static const Binding *head_of(const AstExp *exp) {
  while (exp->kind == AST_PROJECT)
    exp = exp->u.project.record;
  return exp->kind == AST_NAME ? exp->u.name.binding : NULL;
}

// Fresh parts of a result that are the same memory have a root in common.
static const Alias *common_root(const ConsumedCall *call) {
  const Type *result = type_resolve(call->exp->type);
  const AstFunction *f = defined_function(definition_of(call->function));
  if (!f || !f->shares_parts || result->kind != TYPE_RECORD) return NULL;
  Consume *u = call->u;
  const Binding *b = head_of(call->function);
  if (!b) b = new_node(Binding, .name = name_of(u->k->c->names, "its other parts"));
  return alias_of_root(new_node(Root, .binding = b, .id = u->k->c->next_id++,
                                .depth = u->region->depth, .is_result = true));
}

// A function that another one gives may hold what all its applications give, if that is of any
// type.
static const Alias *held_root(const ConsumedCall *call) {
  const AstExp *f = call->function;
  const Binding *b = f->kind == AST_NAME ? f->u.name.binding : NULL;
  bool gives =
      call->type->kind == TYPE_FUNCTION && result_of(call->type)->kind == TYPE_PARAM && b;
  if (!gives) return NULL;
  Consume *u = call->u;
  return alias_of_root(new_node(Root, .binding = b, .id = u->k->c->next_id++,
                                .depth = u->region->depth, .is_result = true));
}

static bool take_argument(ConsumedCall *call, AstExp *arg, const Alias *alias) {
  bool known = call->type->kind == TYPE_FUNCTION;
  const Type *from = known ? call->type->u.function.from : NULL;
  bool dies = from && type_has_unique(from);
  if (dies) {
    check_parts(call->u, alias, arg);
    consume_value(call->u, alias, arg);
  } else {
    call->source = alias_union(call->source, alias_flat(alias));
  }
  if (type_resolve(arg->type)->kind == TYPE_FUNCTION)
    consume_check_function(call->u, from, arg, param_of(call->function));
  if (known) call->type = type_resolve(call->type->u.function.to);
  return dies;
}

// A function that holds what it consumes can be applied once, even if that was nobody else's.
static void note_held(Consume *u, const AstExp *exp) {
  Binding *b = new_node(Binding, .name = name_of(u->k->c->names, "its argument"));
  Root *root =
      new_node(Root, .binding = b, .id = u->k->c->next_id++, .depth = u->region->depth);
  root->consumed = new_node(Consumed, .loc = exp->loc);
  vec_push(&u->log, (ConsumeEvent){ root, root->consumed });
}

// Operands are evaluated from left to right, arguments from right to left and before the function.
static const Alias **consume_arguments(Consume *u, const AstExp *exp,
                                       const AstExpVec *args) {
  const Alias **aliases = new_array(const Alias *, args->count);
  for (int i = 0; i < args->count; i++) {
    int at = exp->u.apply.is_operator ? i : args->count - 1 - i;
    int mark = u->log.count;
    aliases[at] = consume_exp(u, args->at[at]);
    consume_check_no_function(u, args->at[at], mark);
  }
  return aliases;
}

// What the call itself consumes, it consumes when all arguments have their values.
static const Alias *apply(Consume *u, const AstExp *exp, AstExp *f,
                          const AstExpVec *args) {
  int mark = u->log.count;
  const Alias **aliases = consume_arguments(u, exp, args);
  const Alias *function = consume_exp(u, f);
  if (u->log.count > mark)
    for (int i = 0; i < args->count; i++)
      consume_check_alive(u, aliases[i], args->at[i]);
  ConsumedCall call = { u, exp, f, consume_type(f), alias_flat(function) };
  mark = u->log.count;
  bool dies = false;
  for (int i = 0; i < args->count; i++) {
    if (u->log.count > mark) consume_check_alive(u, aliases[i], args->at[i]);
    if (!take_argument(&call, args->at[i], aliases[i])) continue;
    aliases[i] = NULL;
    dies = true;
  }
  if (u->log.count > mark) {
    consume_check_alive(u, function, f);
    for (int i = 0; i < args->count; i++)
      consume_check_alive(u, aliases[i], args->at[i]);
  }
  if (dies && type_has_function(exp->type)) note_held(u, exp);
  if (!call.source) call.source = common_root(&call);
  if (!call.source) call.source = held_root(&call);
  BindingVec fresh = { 0 };
  if (call.source) fresh = consume_fresh_params(f, args);
  return result_alias(call.type, exp->type, call.source, &fresh);
}

// x |> f and f <| x consume and share what f x does.
const Alias *consume_apply(Consume *u, AstExp *exp) {
  const AstExpVec *args = &exp->u.apply.args;
  bool right = is_pipe(exp, "|>");
  if (!right && !is_pipe(exp, "<|")) return apply(u, exp, exp->u.apply.function, args);
  AstExpVec arg = { 0 };
  vec_push(&arg, args->at[right ? 0 : 1]);
  return apply(u, exp, args->at[right ? 1 : 0], &arg);
}
