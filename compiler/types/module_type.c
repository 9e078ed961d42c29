// Module types.
#include "types/module.h"

enum { MAX_MEMBERS = 20000 };  // of a module type, with those of the modules in it

static const Signature any_module = { .any = true };

// Loaded when a program first names one, or one that there is not.
static const Signature *find_in_prelude(Library *lib, Name name) {
  if (!lib->signatures) lib->signatures = prelude_signatures(lib);
  return map_get(lib->signatures, name);
}

static const Signature *find_signature(Check *k, const AstName *name) {
  const Module *m = NULL;
  if (name->qualifiers.count) {
    m = module_find(k, name->qualifiers.at, name->qualifiers.count);
    if (!m) error(k->c, name->loc, "unknown module `%s`", name->qualifiers.at[0]);
    if (!m) return &any_module;
  }
  const Signature *s = map_get(m ? m->names.signatures : k->scope.signatures, name->name);
  if (!s && !m) s = find_in_prelude(k->lib, name->name);
  if (s) return s;
  error(k->c, name->loc, "unknown module type `%s`", name->name);
  return &any_module;
}

// --- Members of opaque modules ---

// Each evaluation of a module type has parameters of its own.
static AstTypeParamVec *copy_params(const AstTypeParamVec *params) {
  AstTypeParamVec *copy = new (AstTypeParamVec);
  vec_each (const AstTypeParam *, param, params)
    vec_push(copy, *param);
  return copy;
}

// t applied to its own parameters
static const Type *abstract_type(Check *k, const Binding *binding,
                                 const AstTypeParamVec *params) {
  Type *type = mem_copy(type_of_param(binding), sizeof *type);
  if (params->count == 0) return type;
  TypeField *fields = new_array(TypeField, params->count);
  for (int i = 0; i < params->count; i++) {
    const Binding *b = params->at[i].binding;
    bool is_size = params->at[i].kind == TYPE_PARAM_SIZE;
    fields[i].name = type_field_name(k->c, i);
    fields[i].type = is_size ? type_array_of(size_of_binding(b, b->loc), type_unit())
                             : type_of_param(b);
  }
  type->args = type_record(fields, params->count, true);
  return type;
}

static const TypeDef *type_def(Check *k, const AstSpec *spec) {
  AstTypeParamVec *params = copy_params(&spec->params);
  int mark = scope_mark(k);
  k->level++;
  bind_type_params(k, params, NULL);
  const Type *type = spec->type ? check_type(k, spec->type) : NULL;
  k->level--;
  scope_leave(k, mark);
  finish_definition(k, NULL);
  if (!type) {
    Binding *b = binding_new(k, BIND_TYPE_PARAM, spec->name, spec->loc, NULL);
    b->level = 0;
    b->lifted = spec->lifted == LIFTED_FULLY;
    b->size_lifted = spec->lifted != LIFTED_NOT;
    type = abstract_type(k, b, params);
  }
  return new_node(TypeDef, .name = spec->name, .loc = spec->loc, .type = type,
                  .params = params->count ? params : NULL, .lifted = spec->lifted);
}

static Binding *value_binding(Check *k, const AstSpec *spec) {
  Binding *b = binding_new(k, BIND_FUNCTION, spec->name, spec->loc, NULL);
  AstTypeParamVec *params = copy_params(&spec->params);
  int mark = scope_mark(k);
  check_named_sizes(k, spec->type);
  k->level++;
  bind_type_params(k, params, b);
  BindingVec made = { 0 };
  b->type = type_name_anonymous(k, check_type(k, spec->type), &made);
  vec_each (Binding **, size, &made)
    (*size)->level = 0;
  k->level--;
  scope_leave(k, mark);
  finish_definition(k, NULL);
  b->type = type_solve(k, b->type);
  b->is_top = true;
  return b;
}

static void see_module(Check *k, Map *modules, const Member *member);

// Later members may mention the member.
static void see_member(Check *k, const Names *names, const Member *member) {
  if (member->kind == SPEC_TYPE) map_put(names->types, member->name, member->type);
  if (member->kind == SPEC_VALUE) map_put(names->values, member->name, member->value);
  if (member->kind == SPEC_MODULE) see_module(k, names->modules, member);
}

static void see_module(Check *k, Map *modules, const Member *member) {
  if (signature_is_vague(member->of)) return;
  if (member->of->function)
    map_put(modules, member->name, function_assume(k, member->of));
  if (member->of->any) return;
  Module *m = new_node(Module, .names = names_new(NULL), .ready = true);
  vec_each (const Member *, inner, &member->of->members)
    see_member(k, &m->names, inner);
  map_put(modules, member->name, m);
}

static Member opaque_member(Check *k, const AstSpec *spec) {
  Member member = { .kind = spec->kind, .name = spec->name, .loc = spec->loc };
  if (spec->kind == SPEC_MODULE) member.of = signature_of(k, spec->of);
  if (spec->kind == SPEC_VALUE) member.value = value_binding(k, spec);
  if (spec->kind == SPEC_TYPE) member.type = type_def(k, spec);
  member.is_abstract = spec->kind == SPEC_TYPE && !spec->type;
  return member;
}

// --- Module types ---

static Member transparent_member(Check *k, const AstSpec *spec) {
  const Signature *of = spec->kind == SPEC_MODULE ? signature_of(k, spec->of) : NULL;
  return (Member){ .kind = spec->kind, .name = spec->name, .loc = spec->loc, .of = of };
}

// A type that an included module type has in common with this one, as in
// `type t include s with t = t`, is one and the same.
static bool is_repeated(Check *k, const Signature *s, const Member *member) {
  if (!k->opaque || member->kind != SPEC_TYPE || member->is_abstract) return false;
  vec_each (const Member *, old, &s->members)
    if (old->kind == SPEC_TYPE && old->name == member->name &&
        type_defs_agree(k, member->type, old->type))
      return true;
  return false;
}

// Module types that have another one twice double from definition to definition; said once.
static void limit_members(Check *k, Signature *s, Member *member) {
  int more = member->of->members.count + member->of->nested;
  if (s->nested + more <= MAX_MEMBERS) {
    s->nested += more;
    return;
  }
  if (!k->lib->has_huge_signature)
    error(k->c, member->loc, "this module type has more than %d members", MAX_MEMBERS);
  k->lib->has_huge_signature = true;
  member->of = &any_module;
}

static void add_member(Check *k, Signature *s, Member member) {
  vec_each (const Member *, old, &s->members) {
    bool twice = k->opaque && old->kind == member.kind && old->name == member.name;
    if (!twice) continue;
    error(k->c, member.loc, "`%s` is specified twice", member.name);
    note(k->c, old->loc, "`%s` is also specified here", member.name);
  }
  if (member.of) limit_members(k, s, &member);
  vec_push(&s->members, member);
  Names names = names_visible(k);
  if (k->opaque) see_member(k, &names, &member);
}

// What is included hides a value that was specified before.
static void forget_value(Signature *s, Name name) {
  int count = 0;
  for (int i = 0; i < s->members.count; i++) {
    Member member = s->members.at[i];
    if (member.kind != SPEC_VALUE || member.name != name) s->members.at[count++] = member;
  }
  s->members.count = count;
}

static const Signature *specs_signature(Check *k, const AstModType *type) {
  Signature *s = new (Signature);
  Names outer = names_visible(k);
  if (k->opaque) names_see(k, names_new(&outer));
  vec_each (const AstSpec *, spec, &type->u.specs) {
    if (spec->kind != SPEC_INCLUDE) {
      add_member(k, s, k->opaque ? opaque_member(k, spec) : transparent_member(k, spec));
      continue;
    }
    const Signature *included = signature_of(k, spec->of);
    vec_each (const Member *, member, &included->members) {
      if (member->kind == SPEC_VALUE) forget_value(s, member->name);
      if (!is_repeated(k, s, member)) add_member(k, s, *member);
    }
  }
  names_see(k, outer);
  return s;
}

// --- s with t = u ---

static const Member *find_type(const Signature *s, Name name, int kind) {
  vec_each (const Member *, member, &s->members)
    if (member->kind == kind && member->name == name) return member;
  return NULL;
}

static const Member *find_path(const Signature *s, const AstName *name) {
  vec_each (const Name *, qualifier, &name->qualifiers) {
    const Member *inner = find_type(s, *qualifier, SPEC_MODULE);
    if (!inner) return NULL;
    s = inner->of;
  }
  return find_type(s, name->name, SPEC_TYPE);
}

// A parameter of the abstract type that may stand for more than the one it is given in `with` may;
// -1 if there is none.
static int narrowed_param(const AstTypeParamVec *wanted, const AstTypeParamVec *given) {
  for (int i = 0; i < given->count; i++) {
    int from = wanted->at[i].kind, to = given->at[i].kind;
    bool plain = to == TYPE_PARAM_TYPE && from != TYPE_PARAM_TYPE;
    bool sizes = to == TYPE_PARAM_SIZE_LIFTED && from == TYPE_PARAM_LIFTED;
    if ((from == TYPE_PARAM_SIZE) != (to == TYPE_PARAM_SIZE) || plain || sizes) return i;
  }
  return -1;
}

static const Signature *with_signature(Check *k, const AstModType *type) {
  const Signature *s = signature_of(k, type->u.with.of);
  if (!k->opaque || s->any) return s;
  const AstName *name = &type->u.with.name;
  const Member *member = find_path(s, name);
  if (!member || !member->is_abstract) {
    error(k->c, name->loc, "the module type has no abstract type `%s`", name->name);
    return s;
  }
  AstSpec spec = { .kind = SPEC_TYPE,
                   .loc = name->loc,
                   .name = name->name,
                   .params = type->u.with.params,
                   .type = type->u.with.type,
                   .lifted = member->type->lifted };
  const TypeDef *def = type_def(k, &spec);
  int wanted = member->type->params ? member->type->params->count : 0;
  if (wanted != spec.params.count) {
    error(k->c, name->loc, "type `%s` takes %d argument%s, found %d", name->name, wanted,
          wanted == 1 ? "" : "s", spec.params.count);
    return s;
  }
  int narrowed = wanted ? narrowed_param(member->type->params, &spec.params) : -1;
  if (narrowed >= 0) {
    const AstTypeParam *param = &spec.params.at[narrowed];
    error(k->c, param->loc, "the parameter `%s` stands for less than that of type `%s`",
          param->name, name->name);
    note(k->c, member->type->params->at[narrowed].loc, "declared so here");
    return s;
  }
  TypeSubst subst = { 0 };
  vec_push(&subst.abstract, member->type->type->u.param);
  vec_push(&subst.meanings, def);
  return signature_substitute(k, s, &subst);
}

const Signature *signature_of(Check *k, const AstModType *type) {
  k->lib->has_signatures = true;
  switch (type->kind) {
  case MODTYPE_NAME: {
    const Signature *s = find_signature(k, &type->u.name);
    return k->opaque ? signature_fresh(k, s) : s;
  }
  case MODTYPE_FUNCTION: return signature_of_function(k, type);
  case MODTYPE_SPECS: return specs_signature(k, type);
  case MODTYPE_WITH: return with_signature(k, type);
  }
  return &any_module;
}
