// Modules and their types, where modules are opaque: whether a module has a type, and what is seen
// of it then.
#include "base/text.h"
#include "types/consume.h"
#include "types/module.h"

enum { DEEP_LEVEL = 1000000 };  // deeper than the sizes in the types that are compared

// --- What becomes of the members ---

static const TypeDef *meaning_of(const TypeSubst *subst, const Binding *abstract) {
  for (int i = 0; i < subst->abstract.count; i++)
    if (subst->abstract.at[i] == abstract) return subst->meanings.at[i];
  return NULL;
}

static const TypeDef *substitute_def(Check *k, const Member *member,
                                     const TypeSubst *subst) {
  const TypeDef *meaning =
      member->is_abstract ? meaning_of(subst, member->type->type->u.param) : NULL;
  TypeDef *def = mem_copy(meaning ? meaning : member->type, sizeof *def);
  def->name = member->name;
  def->lifted = member->type->lifted;
  if (!meaning) def->type = type_substitute(k, subst, def->type);
  return def;
}

// A value whose type stays as it is stays itself, since sizes may mention it.
static Binding *substitute_value(Check *k, Binding *value, const TypeSubst *subst) {
  for (int i = 0; i < subst->sizes.count; i++)
    if (subst->sizes.at[i] == value) return subst->values.at[i];
  const Type *type = type_substitute(k, subst, value->type);
  if (type == value->type) return value;
  Binding *b = mem_copy(value, sizeof *b);
  b->type = type;
  if (type_resolve(type)->kind == TYPE_FUNCTION) module_name_sizes(k, value->type, b);
  return b;
}

// A member as others see it: if its sizes are not known, they are some that have names.
static Binding *seen_value(Check *k, Binding *value, const TypeSubst *subst) {
  value = substitute_value(k, value, subst);
  bool is_function = type_resolve(value->type)->kind == TYPE_FUNCTION;
  if (is_function || !type_has_any_size(value->type)) return value;
  Binding *b = mem_copy(value, sizeof *b);
  BindingVec made = { 0 };
  b->type = type_name_anonymous(k, value->type, &made);
  vec_each (Binding **, size, &made)
    (*size)->level = 0;
  return b;
}

Signature *signature_substitute(Check *k, const Signature *s, const TypeSubst *subst) {
  if (s->function) return function_substitute(s, subst);
  Signature *out = mem_copy(s, sizeof *out);
  out->members.count = out->members.capacity = 0;
  out->members.at = NULL;
  vec_each (const Member *, old, &s->members) {
    Member member = *old;
    if (member.kind == SPEC_VALUE)
      member.value = substitute_value(k, member.value, subst);
    if (member.kind == SPEC_MODULE) member.of = signature_substitute(k, member.of, subst);
    if (member.kind == SPEC_TYPE) {
      bool known = member.is_abstract && meaning_of(subst, member.type->type->u.param);
      member.type = substitute_def(k, old, subst);
      member.is_abstract = member.is_abstract && !known;
    }
    vec_push(&out->members, member);
  }
  return out;
}

static const Module *build(Check *k, const Signature *s, const TypeSubst *subst) {
  if (s->function) return function_assume(k, signature_substitute(k, s, subst));
  Module *m = new_node(Module, .names = names_new(NULL), .ready = true);
  vec_each (const Member *, member, &s->members) {
    if (member->kind == SPEC_VALUE)
      map_put(m->names.values, member->name, seen_value(k, member->value, subst));
    if (member->kind == SPEC_TYPE)
      map_put(m->names.types, member->name, substitute_def(k, member, subst));
    if (member->kind == SPEC_MODULE)
      map_put(m->names.modules, member->name, build(k, member->of, subst));
  }
  return m;
}

// --- New abstract types ---

static void add_fresh(Check *k, const Signature *s, TypeSubst *subst) {
  vec_each (const Member *, member, &s->members) {
    if (member->kind == SPEC_MODULE) add_fresh(k, member->of, subst);
    if (!member->is_abstract) continue;
    const Binding *old = member->type->type->u.param;
    Binding *fresh = mem_copy(old, sizeof *fresh);
    fresh->id = k->c->next_id++;
    Type *type = mem_copy(member->type->type, sizeof *type);
    type->u.param = fresh;
    TypeDef *def = mem_copy(member->type, sizeof *def);
    def->type = type;
    vec_push(&subst->abstract, old);
    vec_push(&subst->meanings, def);
  }
}

bool signature_has_any(const Signature *s) {
  if (s->function) return s->vague;
  if (s->any) return true;
  vec_each (const Member *, member, &s->members)
    if (member->kind == SPEC_MODULE && signature_has_any(member->of)) return true;
  return false;
}

bool signature_is_vague(const Signature *s) {
  return s->function ? s->vague : signature_has_any(s);
}

static void keep_abstract(Signature *s, const Signature *like) {
  for (int i = 0; i < s->members.count; i++) {
    Member *member = &s->members.at[i];
    const Member *old = &like->members.at[i];
    member->is_abstract = old->is_abstract;
    if (member->kind != SPEC_MODULE || old->of->any) continue;
    Signature *inner = mem_copy(member->of, sizeof *inner);
    keep_abstract(inner, old->of);
    member->of = inner;
  }
}

const Signature *signature_fresh(Check *k, const Signature *s) {
  if (s->any) return s;
  TypeSubst fresh = { 0 };
  add_fresh(k, s, &fresh);
  Signature *out = signature_substitute(k, s, &fresh);
  keep_abstract(out, s);
  return out;
}

const Module *module_assume(Check *k, const Signature *s) {
  if (s->function) return function_assume(k, s);
  TypeSubst fresh = { 0 };
  add_fresh(k, s, &fresh);
  return build(k, s, &fresh);
}

// --- Whether a module has the members ---

typedef struct Match {
  Check *k;
  Loc loc;                  // of the module
  TypeSubst types;          // what the abstract types are in the module
  const char *path;         // to the module that is being compared, "n."
  Vec(const char *) lacks;  // "type `n.t`"
  bool failed;
} Match;

static void missing(Match *t, const Member *member, const char *kind) {
  vec_push(&t->lacks, text_format("%s `%s%s`", kind, t->path, member->name));
  t->failed = true;
}

// One message, because another module than is needed may lack dozens.
static void report_missing(const Match *t) {
  enum { SHOWN = 5 };
  if (t->lacks.count == 0) return;
  if (t->lacks.count == 1) {
    error(t->k->c, t->loc, "the module lacks the %s of its module type", t->lacks.at[0]);
    return;
  }
  int shown = t->lacks.count > SHOWN + 1 ? SHOWN : t->lacks.count;
  Text *names = text_new();
  for (int i = 0; i < shown; i++)
    text_printf(names, "%s%s", i ? ", " : "", t->lacks.at[i]);
  if (shown < t->lacks.count) text_printf(names, " and %d more", t->lacks.count - shown);
  error(t->k->c, t->loc, "the module lacks members of its module type: %s",
        text_str(names));
}

static bool same_params(const TypeDef *a, const TypeDef *b) {
  int count = a->params ? a->params->count : 0;
  if (count != (b->params ? b->params->count : 0)) return false;
  for (int i = 0; i < count; i++)
    if ((a->params->at[i].kind == TYPE_PARAM_SIZE) !=
        (b->params->at[i].kind == TYPE_PARAM_SIZE))
      return false;
  return true;
}

static void report_type(Match *t, const Member *member, const char *what) {
  error(t->k->c, t->loc, "type `%s%s` of the module %s", t->path, member->name, what);
  note(t->k->c, member->loc, "`%s` is specified here", member->name);
  t->failed = true;
}

static TypeSubst copy_subst(const TypeSubst *subst) {
  TypeSubst copy = { 0 };
  for (int i = 0; i < subst->sizes.count; i++) {
    vec_push(&copy.sizes, subst->sizes.at[i]);
    vec_push(&copy.to_sizes, subst->to_sizes.at[i]);
  }
  for (int i = 0; i < subst->abstract.count; i++) {
    vec_push(&copy.abstract, subst->abstract.at[i]);
    vec_push(&copy.meanings, subst->meanings.at[i]);
  }
  return copy;
}

static bool shows_size(const Type *type, const Binding *size) {
  type = type_resolve(type);
  if (type->kind == TYPE_ARRAY) {
    const Size *s = size_resolve(type->u.array.size);
    return (s->kind == SIZE_NAME && s->u.name == size) ||
           shows_size(type->u.array.elem, size);
  }
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (shows_size(type->u.record.fields[i].type, size)) return true;
  return type->kind == TYPE_PARAM && type->args && shows_size(type->args, size);
}

// The sizes of a value of an abstract type must be told by the value.
static void check_sizes_shown(Match *t, const Member *member, const TypeDef *def) {
  for (int i = 0; def->params && i < def->params->count; i++) {
    const AstTypeParam *param = &def->params->at[i];
    if (param->kind != TYPE_PARAM_SIZE || shows_size(def->type, param->binding)) continue;
    report_type(t, member, "does not tell each of its sizes by an array of that size");
    return;
  }
}

// What `def` means, over the parameters of `like`, which has the same.
static const Type *type_over(Check *k, const TypeSubst *known, const TypeDef *def,
                             const TypeDef *like) {
  TypeSubst s = copy_subst(known);
  const AstTypeParamVec *params = def->params;
  for (int i = 0; params && i < params->count; i++) {
    const Binding *from = params->at[i].binding, *to = like->params->at[i].binding;
    if (params->at[i].kind == TYPE_PARAM_SIZE) {
      vec_push(&s.sizes, from);
      vec_push(&s.to_sizes, size_of_binding(to, to->loc));
    } else {
      vec_push(&s.types, from);
      vec_push(&s.to_types, type_of_param(to));
    }
  }
  return type_substitute(k, &s, def->type);
}

bool type_defs_agree(Check *k, const TypeDef *a, const TypeDef *b) {
  return same_params(a, b) && unify(k, type_over(k, &(TypeSubst){ 0 }, a, b), b->type);
}

// A type of the module that its module type does define.
static void match_meaning(Match *t, const Member *member, const TypeDef *def) {
  const Type *wanted = type_over(t->k, &t->types, member->type, def);
  t->k->at = t->loc;
  if (unify(t->k, wanted, def->type)) return;
  error(t->k->c, t->loc,
        "type `%s%s` of the module is `%s`, but its module type says `%s`", t->path,
        member->name, type_text(def->type), type_text(wanted));
  note(t->k->c, member->loc, "`%s` is specified here", member->name);
  t->failed = true;
}

static bool is_more_lifted(AstLifted a, AstLifted b) {
  return a != b && (a == LIFTED_FULLY || b == LIFTED_NOT);
}

static void match_type(Match *t, const Module *m, const Member *member) {
  const TypeDef *def = map_get(m->names.types, member->name);
  AstLifted lifted = member->type->lifted;
  if (!def) {
    missing(t, member, "type");
    return;
  }
  if (!same_params(member->type, def)) {
    report_type(t, member, "has other parameters than its module type says");
    return;
  }
  if (!member->is_abstract) {
    match_meaning(t, member, def);
    return;
  }
  if (lifted != LIFTED_FULLY && !unify_first_order(t->k, def->type))
    report_type(t, member, "may be a function, but is not specified as `type^`");
  else if (lifted == LIFTED_NOT && type_size_varies(def->type))
    report_type(t, member, "has sizes that vary, but is not specified as `type~`");
  else if (is_more_lifted(def->lifted, lifted))
    report_type(t, member,
                def->lifted == LIFTED_FULLY
                    ? "is declared as `type^`, but is not specified so"
                    : "is declared as `type~`, but is not specified so");
  check_sizes_shown(t, member, def);
  vec_push(&t->types.abstract, member->type->type->u.param);
  vec_push(&t->types.meanings, def);
}

// The module's number stands for the specified one in sizes.
static void match_size(Match *t, const Module *m, const Member *member) {
  Binding *value = map_get(m->names.values, member->name);
  const Type *type = type_resolve(member->value->type);
  if (!value || type->kind != TYPE_PRIM || type->u.prim != PRIM_I64) return;
  vec_push(&t->types.sizes, member->value);
  vec_push(&t->types.to_sizes, size_of_binding(value, member->loc));
  vec_push(&t->types.values, value);
}

static const char *enter_path(Match *t, const Member *member) {
  const char *outer = t->path;
  t->path = text_format("%s%s.", outer, member->name);
  return outer;
}

static void match_types(Match *t, const Module *m, const Signature *s) {
  vec_each (const Member *, member, &s->members) {
    if (member->kind == SPEC_VALUE) match_size(t, m, member);
    if (member->kind == SPEC_TYPE) match_type(t, m, member);
    if (member->kind != SPEC_MODULE) continue;
    const Module *inner = map_get(m->names.modules, member->name);
    bool function = member->of->function, fits = inner && !inner->function == !function;
    const char *outer = enter_path(t, member);
    if (fits && !function) match_types(t, inner, member->of);
    t->path = outer;
    if (!fits) missing(t, member, function ? "parametric module" : "module");
  }
}

// --- Values ---

// Whether each part that has a `*` in `a`, or within such a one, has one in `b` too.  What holds no
// memory needs none.
static bool is_unique_as(const Type *a, bool in_a, const Type *b, bool in_b) {
  a = type_resolve(a);
  b = type_resolve(b);
  in_a = in_a || a->unique;
  in_b = in_b || b->unique;
  if (in_b || !type_shares(a)) return true;
  if (a->kind != TYPE_RECORD || b->kind != TYPE_RECORD)
    return !in_a && !type_has_unique(a);
  for (int i = 0; i < a->u.record.count; i++)
    if (!is_unique_as(a->u.record.fields[i].type, in_a, b->u.record.fields[i].type, in_b))
      return false;
  return true;
}

// Whether callers that know `wanted` only may treat the value so: it must not consume more, and
// what is said to be unshared must be.
static bool same_uniqueness(const Type *wanted, const Type *actual) {
  wanted = type_resolve(wanted);
  actual = type_resolve(actual);
  if (wanted->kind != TYPE_FUNCTION || actual->kind != TYPE_FUNCTION)
    return is_unique_as(wanted, false, actual, false);
  return is_unique_as(actual->u.function.from, false, wanted->u.function.from, false) &&
         same_uniqueness(wanted->u.function.to, actual->u.function.to);
}

// Whether the meaning of an abstract type brought sizes into that of a value without parameters.
static bool hides_size(const Type *meaning, const Type *written) {
  return type_resolve(written)->kind != TYPE_FUNCTION && type_has_any_size(meaning) &&
         !type_has_any_size(written);
}

static void match_value(Match *t, const Module *m, const Member *member) {
  Check *k = t->k;
  const Binding *value = map_get(m->names.values, member->name);
  if (!value || !value->type) {
    missing(t, member, "value");
    return;
  }
  if (value->wrong) return;
  int level = k->level;
  const Type *wanted = substitute_value(k, member->value, &t->types)->type;
  k->level = DEEP_LEVEL;
  k->at = t->loc;
  const Inst *inst;
  const Type *actual = instantiate(k, value, t->loc, &inst);
  bool same = unify(k, wanted, actual);
  k->level = level;
  if (same && hides_size(wanted, member->value->type)) {
    error(k->c, t->loc,
          "value `%s%s` has the type `%s`, which hides sizes that only the value tells",
          t->path, member->name, type_text(member->value->type));
    note(k->c, member->loc, "`%s` is specified here", member->name);
    hint(k->c, "let it be a function: `val %s : () -> ..`", member->name);
    t->failed = true;
    return;
  }
  if (same && same_uniqueness(wanted, value->type)) return;
  error(k->c, t->loc,
        "value `%s%s` of the module has type `%s`, but its module type says `%s`",
        t->path, member->name, type_text(value->type), type_text(wanted));
  note(k->c, member->loc, "`%s` is specified here", member->name);
  if (same) note(k->c, t->loc, "the types differ in what is consumed (`*`)");
  t->failed = true;
}

static void match_function(Match *t, const Module *m, const Signature *s) {
  int errors = diag_error_count(t->k->c);
  function_seen_as(t->k, m, signature_substitute(t->k, s, &t->types), t->loc);
  t->failed = t->failed || diag_error_count(t->k->c) > errors;
}

static void match_values(Match *t, const Module *m, const Signature *s) {
  vec_each (const Member *, member, &s->members) {
    if (member->kind == SPEC_VALUE) match_value(t, m, member);
    const Module *inner =
        member->kind == SPEC_MODULE ? map_get(m->names.modules, member->name) : NULL;
    const char *outer = enter_path(t, member);
    if (inner && member->of->function)
      match_function(t, inner, member->of);
    else if (inner)
      match_values(t, inner, member->of);
    t->path = outer;
  }
}

const Module *module_impose(Check *k, const Module *m, const Signature *s,
                            bool is_abstract, Loc loc) {
  if (signature_has_any(s)) return m;
  if (m->function) {
    error(k->c, loc, "a parametric module stands where a module is expected");
    hint(k->c, "one that is applied itself stands in brackets: `f (g { .. })`");
    return module_assume(k, s);
  }
  Match match = { .k = k, .loc = loc, .path = "" };
  match_types(&match, m, s);
  if (!match.failed) match_values(&match, m, s);
  report_missing(&match);
  finish_definition(k, NULL);
  return is_abstract || match.failed ? module_assume(k, s) : build(k, s, &match.types);
}
