// Parametric modules: their types, what is seen of them through a type, and, where modules are
// opaque, those of which nothing is known but the type.
//
// All are module expressions, made here: m seen as (x : a) -> b is \(x : a) -> m x : b, and what is
// assumed to have that type is \(x : a) -> some module of type b.
#include "types/module.h"

// Names that no program can write.
static Name name_of_function(Check *k) { return name_of(k->c->names, "(function)"); }

static Name function_param(Check *k, const AstModType *type) {
  Name param = type->u.function.param;
  return param ? param : name_of(k->c->names, "(parameter)");
}

static AstModExp *module_name(Name name, Loc loc) {
  return new_node(AstModExp, .kind = MODEXP_NAME, .loc = loc,
                  .u.name = { .loc = loc, .name = name });
}

// \(x : a) -> body, where the names of its type are those in `scope`
static Module *function_of(Check *k, const AstModType *type, Names scope,
                           AstModExp *body) {
  AstModExp *exp = new_node(AstModExp, .kind = MODEXP_FUNCTION, .loc = body->loc);
  exp->u.function.param = function_param(k, type);
  exp->u.function.type = type->u.function.from;
  exp->u.function.body = body;
  Module *m = new_node(Module, .names = names_new(NULL), .function = exp, .ready = true);
  m->scope = names_new(&scope);
  return m;
}

const Module *function_assume(Check *k, const Signature *s) {
  AstModExp *body = new_node(AstModExp, .kind = MODEXP_ASCRIBE, .loc = s->function->loc);
  body->u.ascribe.type = s->function->u.function.to;
  return function_of(k, s->function, s->scope, body);
}

Module *function_impose(Check *k, const Module *m, const Signature *s, Loc loc) {
  AstModExp *apply = new_node(AstModExp, .kind = MODEXP_APPLY, .loc = loc);
  apply->u.apply.function = module_name(name_of_function(k), loc);
  apply->u.apply.arg = module_name(function_param(k, s->function), loc);
  AstModExp *body = new_node(AstModExp, .kind = MODEXP_ASCRIBE, .loc = loc);
  body->u.ascribe.exp = apply;
  body->u.ascribe.type = s->function->u.function.to;
  Module *seen = function_of(k, s->function, s->scope, body);
  map_put(seen->scope.modules, name_of_function(k), m);
  return seen;
}

// --- What the type of a parametric module mentions, it finds by names ---

static void put_meanings(const TypeSubst *subst, const Map *from, Map *to) {
  for (int i = 0; i < subst->abstract.count; i++) {
    const Binding *old = subst->abstract.at[i];
    const TypeDef *def = map_get(from, old->name);
    bool meant = def && def->type->kind == TYPE_PARAM && def->type->u.param == old;
    if (meant) map_put(to, old->name, subst->meanings.at[i]);
  }
}

typedef struct ModuleSubst {
  const TypeSubst *subst;
  Map *out;
} ModuleSubst;

static void put_module(void *state, const void *name, void *value) {
  ModuleSubst *to = state;
  Module *m = mem_copy(value, sizeof *m);
  m->names.types = map_new(m->names.types);
  put_meanings(to->subst, m->names.types, m->names.types);
  map_put(to->out, name, map_count(m->names.types) ? m : value);
}

Signature *function_substitute(const Signature *s, const TypeSubst *subst) {
  Signature *out = mem_copy(s, sizeof *out);
  out->scope = names_new(&s->scope);
  put_meanings(subst, s->scope.types, out->scope.types);
  map_each(s->around, put_module, &(ModuleSubst){ subst, out->scope.modules });
  out->around = out->scope.modules;
  for (int i = 0; i < subst->values.count; i++) {
    const Binding *old = subst->sizes.at[i];
    if (map_get(s->scope.values, old->name) == old)
      map_put(out->scope.values, old->name, subst->values.at[i]);
  }
  return out;
}

const Signature *signature_of_function(Check *k, const AstModType *type) {
  Names outer = names_keep(k);
  Signature *s = new_node(Signature, .any = true, .function = type);
  s->scope = names_new(&outer);
  s->around = outer.modules;
  if (!k->opaque) return s;
  names_see(k, names_new(&s->scope));
  const Signature *from = signature_of(k, type->u.function.from);
  s->vague = signature_is_vague(from);
  if (!s->vague) {
    map_put(k->scope.modules, function_param(k, type), module_assume(k, from));
    s->vague = signature_is_vague(signature_of(k, type->u.function.to));
  }
  names_see(k, outer);
  return s;
}
