// Applications: what a function consumes, and what its result may share memory with.
#include "types/consume.h"
#include <string.h>

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
  case AST_APPLY: {
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

static Name name_of_function(const AstExp *function) {
  return function->kind == AST_NAME ? function->u.name.name.name : NULL;
}

static void report_argument(Consume *u, const AstExp *arg, const AstExp *function,
                            const char *what) {
  Name name = name_of_function(function);
  error(u->k->c, arg->loc, "%s, which %s%s%s does not expect of its argument", what,
        name ? "`" : "", name ? name : "the function", name ? "`" : "");
}

static const Type *result_of(const Type *type) {
  type = type_resolve(type);
  while (type->kind == TYPE_FUNCTION)
    type = type_resolve(type->u.function.to);
  return type;
}

// A function that is passed on must not consume more, nor share more, than `param` says.
static void check_function(Consume *u, const Type *param, const AstExp *arg,
                           const AstExp *function) {
  const Type *actual = consume_type(arg), *wanted = param;
  for (; actual->kind == TYPE_FUNCTION; actual = type_resolve(actual->u.function.to)) {
    wanted = wanted ? type_resolve(wanted) : NULL;
    bool known = wanted && wanted->kind == TYPE_FUNCTION;
    if (type_has_unique(actual->u.function.from) &&
        !(known && type_has_unique(wanted->u.function.from))) {
      report_argument(u, arg, function, "this function consumes its argument");
      return;
    }
    wanted = known ? wanted->u.function.to : NULL;
  }
  if (!param || type_resolve(param)->kind != TYPE_FUNCTION) return;
  bool fresh = type_has_unique(result_of(param));
  if (fresh && !type_has_unique(result_of(consume_type(arg))))
    error(u->k->c, arg->loc,
          "the result of this function may share memory with other values, but one with "
          "memory of its own (`*`) is expected");
}

// --- Results ---

// The alias of a result that is declared as `declared`, where all arguments have `source`.
static const Alias *result_alias(const Type *declared, const Type *actual,
                                 const Alias *source) {
  declared = type_resolve(declared);
  actual = type_resolve(actual);
  if (!source || declared->unique || !type_shares(actual)) return NULL;
  bool records = declared->kind == TYPE_RECORD && actual->kind == TYPE_RECORD &&
                 declared->u.record.count == actual->u.record.count;
  if (!records) return source;
  int count = actual->u.record.count;
  const Alias **fields = new_array(const Alias *, count);
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++) {
    names[i] = actual->u.record.fields[i].name;
    fields[i] = result_alias(declared->u.record.fields[i].type,
                             actual->u.record.fields[i].type, source);
  }
  return alias_record(names, fields, count);
}

// --- Applications ---

typedef struct Call {
  Consume *u;
  const AstExp *function;
  const Type *type;     // of what is applied to the next argument
  const Alias *source;  // of the function and the arguments that it does not consume
} Call;

static bool take_argument(Call *call, AstExp *arg, const Alias *alias) {
  bool known = call->type->kind == TYPE_FUNCTION;
  const Type *from = known ? call->type->u.function.from : NULL;
  bool dies = from && type_has_unique(from);
  if (dies)
    consume_value(call->u, alias, arg);
  else
    call->source = alias_union(call->source, alias_flat(alias));
  if (type_resolve(arg->type)->kind == TYPE_FUNCTION)
    check_function(call->u, from, arg, call->function);
  if (known) call->type = type_resolve(call->type->u.function.to);
  return dies;
}

static bool is_pipe(const AstExp *exp, const char *spelling) {
  const AstExp *f = exp->u.apply.function;
  const Binding *b = f->kind == AST_NAME ? f->u.name.binding : NULL;
  return b && b->is_top && b->loc.file && b->loc.file->built_in &&
         exp->u.apply.args.count == 2 && strcmp(b->name, spelling) == 0;
}

static const Alias *apply(Consume *u, const AstExp *exp, AstExp *f,
                          const AstExpVec *args) {
  const Alias *function = consume_exp(u, f);
  const Alias **observed = new_array(const Alias *, args->count);
  Call call = { u, f, consume_type(f), alias_flat(function) };
  int mark = u->log.count;
  for (int i = 0; i < args->count; i++) {
    const Alias *alias = consume_exp(u, args->at[i]);
    if (!take_argument(&call, args->at[i], alias)) observed[i] = alias;
  }
  if (u->log.count > mark) {
    consume_check_alive(u, function, f);
    for (int i = 0; i < args->count; i++)
      consume_check_alive(u, observed[i], args->at[i]);
  }
  return result_alias(call.type, exp->type, call.source);
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
