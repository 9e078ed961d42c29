// Modules (module.h).  A parametric module is checked anew for each application, with its parameter
// bound to the argument.
#include "types/module.h"
#include "source/source.h"
#include <stdlib.h>
#include <string.h>

enum {
  MAX_APPLICATIONS = 200,       // of parametric modules inside one another
  MAX_ALL_APPLICATIONS = 20000  // in all
};

// --- Names ---

Names names_new(const Names *parent) {
  return (Names){ map_new(parent ? parent->values : NULL),
                  map_new(parent ? parent->types : NULL),
                  map_new(parent ? parent->modules : NULL),
                  map_new(parent ? parent->signatures : NULL) };
}

Names names_visible(const Check *k) {
  return (Names){ k->scope.values, k->scope.types, k->scope.modules,
                  k->scope.signatures };
}

void names_see(Check *k, Names names) {
  k->scope.values = names.values;
  k->scope.types = names.types;
  k->scope.modules = names.modules;
  k->scope.signatures = names.signatures;
}

Names names_keep(Check *k) {
  k->scopes_kept++;
  return names_visible(k);
}

// Names that come now are not seen by parametric modules from before, which kept the scope.
static void names_go_on(Check *k) {
  if (k->scopes_kept == k->scopes_left) return;
  Names now = names_visible(k);
  names_see(k, names_new(&now));
  k->scopes_left = k->scopes_kept;
}

static const Module *find_first(Check *k, Name name) {
  const Module *m = map_get(k->scope.modules, name);
  return m || !prelude_is_module(name) ? m : prelude_module(k->lib, name);
}

const Module *module_find(Check *k, const Name *path, int count) {
  const Module *m = find_first(k, path[0]);
  for (int i = 1; i < count && m; i++) {
    const Module *inner = map_get(m->names.modules, path[i]);
    m = inner || !m->broken ? inner : m;  // what a broken module lacks is broken too
  }
  return m;
}

static const Module *find_named(Check *k, const AstName *name) {
  Vec(Name) path = { 0 };
  vec_each (const Name *, qualifier, &name->qualifiers)
    vec_push(&path, *qualifier);
  vec_push(&path, name->name);
  const Module *m = module_find(k, path.at, path.count);
  if (m && prelude_is_internal(k->lib, m) && !k->built_in)
    error(k->c, name->loc, "the module `%s` can only be named before one of its members",
          name->name);
  if (m) return m;
  error(k->c, name->loc, "unknown module `%s`", name->name);
  if (strcmp(name->name, "struct") == 0 || strcmp(name->name, "sig") == 0)
    hint(k->c, "the members of a module stand in braces: `module m = { .. }`");
  else if (map_get(k->scope.values, name->name))
    hint(k->c, "`%s` is a value: `%s[i]` is an element, `%s.x` a field", name->name,
         name->name, name->name);
  else if (strcmp(name->name, "as") == 0)
    hint(k->c, "`module m = import \"dir/file\"` gives a file a name");
  else if (!hint_closest(k, name->name, k->scope.modules, NULL))
    hint(k->c, "`import \"dir/file\"` makes the definitions of a file visible");
  return NULL;
}

// --- Module types ---

static const Module *restricted(Check *k, const Module *m, const Signature *s, Loc loc);

static void take_member(Check *k, const Module *m, const Member *member, Module *into,
                        Loc loc) {
  static const char *const kinds[] = {
    [SPEC_VALUE] = "value", [SPEC_TYPE] = "type", [SPEC_MODULE] = "module"
  };
  const Map *from[] = { [SPEC_VALUE] = m->names.values,
                        [SPEC_TYPE] = m->names.types,
                        [SPEC_MODULE] = m->names.modules };
  Map *to[] = { [SPEC_VALUE] = into->names.values,
                [SPEC_TYPE] = into->names.types,
                [SPEC_MODULE] = into->names.modules };
  const void *meaning = map_get(from[member->kind], member->name);
  if (!meaning) {
    error(k->c, loc, "the module lacks the %s `%s` of its module type",
          kinds[member->kind], member->name);
    return;
  }
  if (member->kind == SPEC_MODULE) meaning = restricted(k, meaning, member->of, loc);
  map_put(to[member->kind], member->name, meaning);
}

// The module with the names that its type has.
static const Module *restricted(Check *k, const Module *m, const Signature *s, Loc loc) {
  if (s->function) return function_seen_as(k, m, s, loc);
  if (s->any) return m;
  if (m->function) {
    error(k->c, loc, "a parametric module stands where a module is expected");
    return m;
  }
  Module *seen = new_node(Module, .names = names_new(NULL), .ready = true);
  vec_each (const Member *, member, &s->members)
    take_member(k, m, member, seen, loc);
  return seen;
}

static bool check_function_body(Check *k, const AstModExp *exp, Names scope);

const Module *function_seen_as(Check *k, const Module *m, const Signature *s, Loc loc) {
  if (!m->function) {
    error(k->c, loc, "a module stands where a parametric module is expected");
    return m;
  }
  if (m->broken || s->vague) return m;
  Module *seen = function_impose(k, m, s, loc);
  if (k->opaque) seen->broken = !check_function_body(k, seen->function, seen->scope);
  return seen;
}

static const Module *seen_as(Check *k, const Module *m, const Signature *s,
                             bool is_abstract, Loc loc) {
  bool imposed = k->opaque && !s->function;
  return imposed ? module_impose(k, m, s, is_abstract, loc) : restricted(k, m, s, loc);
}

// --- Modules ---

static const Module *eval(Check *k, const AstModExp *exp);

static Module *module_of_decls(Check *k, const AstDeclVec *decls) {
  Names outer = names_visible(k);
  Check saved = *k;
  names_see(k, names_new(&outer));
  k->defined = names_new(NULL);
  k->later = map_new(NULL);
  k->own = names_new(NULL);
  k->local = false;
  k->in_module = true;
  k->inside++;
  check_decls(k, decls);
  Module *m = new_node(Module, .names = k->defined, .ready = true);
  names_see(k, outer);
  k->defined = saved.defined;
  k->later = saved.later;
  k->own = saved.own;
  k->local = saved.local;
  k->in_module = saved.in_module;
  k->scopes_left = saved.scopes_left;
  k->inside--;
  return m;
}

static const Module *eval_body(Check *k, const AstModExp *function) {
  bool made = !function->u.function.again;
  return eval(k, made ? function->u.function.body : source_parse_again(function));
}

static const Module *eval_apply(Check *k, const AstModExp *exp) {
  const Module *f = eval(k, exp->u.apply.function);
  const Module *arg = eval(k, exp->u.apply.arg);
  if (!f || !arg || f->broken || arg->broken) return NULL;
  if (!f->function) {
    error(k->c, exp->u.apply.function->loc, "this module takes no parameters");
    return NULL;
  }
  if (k->applications >= MAX_APPLICATIONS) {
    error(k->c, exp->loc, "applications of modules are nested too deeply");
    return NULL;
  }
  if (++k->lib->applications > MAX_ALL_APPLICATIONS) {
    error(k->c, exp->loc, "more than %d applications of modules", MAX_ALL_APPLICATIONS);
    return NULL;
  }
  Names outer = names_visible(k);
  k->applications++;
  names_see(k, names_new(&f->scope));
  const Signature *s = signature_of(k, f->function->u.function.type);
  int errors = diag_error_count(k->c);
  arg = seen_as(k, arg, s, false, exp->u.apply.arg->loc);
  map_put(k->scope.modules, f->function->u.function.param, arg);
  bool is_right = diag_error_count(k->c) == errors;
  const Module *m = is_right ? eval_body(k, f->function) : NULL;
  names_see(k, outer);
  k->applications--;
  return m;
}

static const Module *eval_ascribe(Check *k, const AstModExp *exp) {
  if (!exp->u.ascribe.exp) return module_assume(k, signature_of(k, exp->u.ascribe.type));
  const Module *m = eval(k, exp->u.ascribe.exp);
  const Signature *s = signature_of(k, exp->u.ascribe.type);
  return m && (m->function || !m->broken)
             ? seen_as(k, m, s, true, exp->u.ascribe.exp->loc)
             : NULL;
}

// --- Imports ---

static const Module *load_file(Check *k, const SourceFile *file) {
  Module *m = new (Module);
  map_put(k->lib->files, name_of(k->c->names, file->path), m);
  vec_push(&k->lib->checked->imports, file);
  const AstProgram *program = source_parse(k->c, file);
  if (!program) return NULL;
  Check *inner = check_new(k->lib, false);
  inner->opaque = k->opaque;
  inner->inside++;
  check_decls(inner, &program->decls);
  m->names = inner->defined;
  m->ready = true;
  return m;
}

static void hint_import(Check *k, const char *path) {
  const char *ending = strrchr(path, '.');
  if (strncmp(path, "lib/github.com/", 15) == 0 ||
      strncmp(path, "lib/gitlab.com/", 15) == 0)
    hint(k->c, "`flc pkg sync` fetches the packages that futhark.pkg names");
  else if (ending && (strcmp(ending, ".fl") == 0 || strcmp(ending, ".fut") == 0))
    hint(k->c, "leave out the ending `%s`", ending);
  else if (*path != '/' && getenv("FLC_IMPORTS"))
    hint(k->c, "paths are relative to the file that imports, or else to %s",
         getenv("FLC_IMPORTS"));
  else if (*path != '/')
    hint(k->c, "paths are relative to the file that imports");
}

// Files of the prelude, whose names all programs see: a module of these names, or NULL.
static const Module *prelude_file(const Check *k, const char *path) {
  static const char *const files[] = { "ad",      "array", "functional", "math",
                                       "prelude", "soacs", "zip" };
  if (strncmp(path, "/prelude/", 9) != 0) return NULL;
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    if (strcmp(path + 9, files[i]) != 0) continue;
    Module *m = new_node(Module, .names = names_new(NULL), .ready = true);
    m->names.values = k->lib->values;
    m->names.types = k->lib->types;
    return m;
  }
  return NULL;
}

static const Module *eval_import(Check *k, const AstModExp *exp) {
  const SourceFile *file = source_import(k->c, exp);
  const Module *prelude = file ? NULL : prelude_file(k, exp->u.path);
  if (prelude) return prelude;
  if (!file) {
    error(k->c, exp->loc, "cannot read `%s.fl` or `%s.fut` for this import", exp->u.path,
          exp->u.path);
    hint_import(k, exp->u.path);
    k->lib->lacks_names = true;
    return NULL;
  }
  const Module *m = map_get(k->lib->files, name_of(k->c->names, file->path));
  if (!m) return load_file(k, file);
  if (m->ready) return m;
  error(k->c, exp->loc, "`%s` is imported while it is being loaded", file->path);
  return NULL;
}

// Whether the body of a parametric module is right for every argument of its parameter's type.
static bool check_function_body(Check *k, const AstModExp *exp, Names scope) {
  int errors = diag_error_count(k->c);
  Names outer = names_visible(k);
  names_see(k, names_new(&scope));
  const Signature *s = signature_of(k, exp->u.function.type);
  if (!signature_is_vague(s)) {
    map_put(k->scope.modules, exp->u.function.param, module_assume(k, s));
    eval_body(k, exp);
  }
  names_see(k, outer);
  return diag_error_count(k->c) == errors;
}

static const Module *eval_function(Check *k, const AstModExp *exp) {
  Module *m = new_node(Module, .names = names_new(NULL), .function = exp, .ready = true);
  m->scope = names_keep(k);
  k->lib->has_signatures = true;
  if (k->opaque) m->broken = !check_function_body(k, exp, m->scope);
  return m;
}

// NULL after errors.
static const Module *eval(Check *k, const AstModExp *exp) {
  switch (exp->kind) {
  case MODEXP_NAME: return find_named(k, &exp->u.name);
  case MODEXP_BODY: return module_of_decls(k, &exp->u.body);
  case MODEXP_IMPORT: return eval_import(k, exp);
  case MODEXP_APPLY: return eval_apply(k, exp);
  case MODEXP_ASCRIBE: return eval_ascribe(k, exp);
  case MODEXP_FUNCTION: return eval_function(k, exp);
  }
  return NULL;
}

// --- Definitions ---

bool check_new_name(Check *k, Map *own, const char *what, Name name, Loc loc) {
  if (k->local || k->built_in) return true;
  const Loc *old = map_get(own, name);
  if (old) {
    error(k->c, loc, "%s`%s` is defined twice", what, name);
    note(k->c, *old, "`%s` is also defined here", name);
  }
  map_put(own, name, mem_copy(&loc, sizeof loc));
  return !old;
}

static const Module *no_module(void) {
  return new_node(Module, .names = names_new(NULL), .ready = true, .broken = true);
}

// Trees of one file have different nodes, but the same places.
static Name module_place(NameTable *names, const AstDecl *decl) {
  Loc loc = decl->u.module.name_loc;
  return name_of(names, text_format("%u %s", loc.start, loc.file->path));
}

void check_module(Check *k, const AstDecl *decl) {
  const Module *m = eval(k, decl->u.module.exp);
  names_go_on(k);
  if (!m) m = no_module();
  if (!k->built_in) map_put(k->lib->places, module_place(k->c->names, decl), m);
  check_new_name(k, k->own.values, "", decl->u.module.name, decl->u.module.name_loc);
  map_put(k->scope.modules, decl->u.module.name, m);
  if (map_get(k->scope.values, decl->u.module.name))
    map_put(k->scope.values, decl->u.module.name, NULL);
  if (!k->local) map_put(k->defined.modules, decl->u.module.name, m);
}

typedef struct MemberVisit {
  void (*visit)(void *state, const ModuleMember *member);
  void *state;
} MemberVisit;

static void visit_value(void *state, const void *name, void *binding) {
  const MemberVisit *v = state;
  v->visit(v->state, &(ModuleMember){ .name = name, .value = binding });
}

static void visit_type(void *state, const void *name, void *meaning) {
  const MemberVisit *v = state;
  const TypeDef *def = meaning;
  v->visit(v->state, &(ModuleMember){ .name = name, .is_type = true, .type = def->type });
}

static void visit_module(void *state, const void *name, void *module) {
  const MemberVisit *v = state;
  (void)module;
  v->visit(v->state, &(ModuleMember){ .name = name, .is_module = true });
}

void types_module_members(NameTable *names, const CheckedProgram *program,
                          const AstDecl *module,
                          void (*visit)(void *state, const ModuleMember *member),
                          void *state) {
  const Module *m = map_get(program->modules, module_place(names, module));
  MemberVisit v = { visit, state };
  if (!m || m->function) return;
  map_each(m->names.types, visit_type, &v);
  map_each(m->names.modules, visit_module, &v);
  map_each(m->names.values, visit_value, &v);
}

void check_module_type(Check *k, const AstDecl *decl) {
  const Signature *s = signature_of(k, decl->u.module_type.type);
  names_go_on(k);
  check_new_name(k, k->own.signatures, "module type ", decl->u.module_type.name,
                 decl->u.module_type.name_loc);
  map_put(k->scope.signatures, decl->u.module_type.name, s);
  if (!k->local) map_put(k->defined.signatures, decl->u.module_type.name, s);
}

// The prelude's map also has names without a meaning, of what was bound within its functions.
static void put(void *map, const void *name, void *meaning) {
  if (meaning) map_put(map, name, meaning);
}

static void put_all(const Names *from, const Names *to) {
  map_each(from->values, put, to->values);
  map_each(from->types, put, to->types);
  map_each(from->modules, put, to->modules);
  map_each(from->signatures, put, to->signatures);
}

void check_open(Check *k, const AstDecl *decl) {
  const Module *m = eval(k, decl->u.open.exp);
  names_go_on(k);
  if (!m || m->broken) k->lib->lacks_names = true;
  if (!m) return;
  if (m->function) {
    error(k->c, decl->loc, "a parametric module cannot be opened");
    return;
  }
  Names seen = names_visible(k);
  put_all(&m->names, &seen);
  if (k->local) return;
  put_all(&m->names, &k->defined);
}

// m.(e)
const Type *infer_open_in(Check *k, AstExp *exp) {
  const Module *m = find_named(k, &exp->u.open_in.module);
  Names outer = names_visible(k), inner = names_new(&outer);
  if (m) put_all(&m->names, &inner);
  if (!m || m->broken) k->lib->lacks_names = true;
  names_see(k, inner);
  const Type *type = infer(k, exp->u.open_in.exp);
  names_see(k, outer);
  return type;
}
