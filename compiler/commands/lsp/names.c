#include "base/vec.h"
#include "commands/lsp/lsp.h"
#include "commands/lsp/scope.h"
#include "source/ast_walk.h"
#include "source/lex.h"
#include <stdlib.h>
#include <string.h>

// ---- collecting

// Files that are being imported: one that imports itself has a mistake, and no end.
typedef struct OpenImport {
  const struct OpenImport *outer;
  const AstProgram *program;
} OpenImport;

typedef struct Walk {
  Compiler *c;  // NULL: imports are not looked at
  OpenImport import;
  LspNames names;
  ScopeWalk scope;
  uint32_t offset;  // of the expression that is looked for
  const AstExp *around;
} Walk;

static void add_name(Walk *w, LspName name) {
  bool known = name.binding && name.loc.file && name.name;
  // Operators in brackets are named by the brackets, too.
  size_t length = known ? strlen(name.name) : 0;
  if (!known || name.loc.end - name.loc.start < length) return;
  name.loc.start = name.loc.end - (uint32_t)length;
  if (strncmp(name.loc.file->text + name.loc.start, name.name, length) == 0)
    vec_push(&w->names, name);
}

// ---- types, modules and module types

static void add_scope_name(Walk *w, const ScopeThing *thing, Name name, Loc loc,
                           bool is_definition) {
  if (thing && thing->binding)
    add_name(w, (LspName){ loc, name, thing->binding, NULL, is_definition, false });
}

static void define_name(Walk *w, ScopeSpace space, Name name, Loc loc,
                        const ScopeNames *members) {
  const ScopeThing *thing = scope_define(&w->scope, space, name, loc, members);
  add_scope_name(w, thing, name, loc, true);
}

// The part of a path that begins at `start`, if it stands there.
static Loc path_part(const AstName *path, uint32_t start, Name part) {
  size_t length = strlen(part);
  bool is_there = start + length <= path->loc.end &&
                  strncmp(path->loc.file->text + start, part, length) == 0;
  return is_there ? (Loc){ path->loc.file, start, start + (uint32_t)length } : (Loc){ 0 };
}

// The modules of a path `a.b.c`; what the names behind them are members of, or NULL.  `*at` goes to
// where those begin.
static const ScopeNames *use_qualifiers(Walk *w, const AstName *path, uint32_t *at) {
  const ScopeNames *names = &w->scope.visible;
  *at = path->loc.start;
  vec_each (const Name *, part, &path->qualifiers) {
    const ScopeThing *module = scope_meaning(names, SCOPE_MODULE, *part);
    add_scope_name(w, module, *part, path_part(path, *at, *part), false);
    *at += (uint32_t)strlen(*part) + 1;
    names = module ? module->members : NULL;
  }
  return names;
}

static const ScopeThing *use_path(Walk *w, const AstName *path, ScopeSpace space) {
  uint32_t at;
  const ScopeNames *names = use_qualifiers(w, path, &at);
  const ScopeThing *thing = scope_meaning(names, space, path->name);
  add_scope_name(w, thing, path->name, path_part(path, at, path->name), false);
  return thing;
}

static void walk_exp(Walk *w, const AstExp *exp);
static void walk_type(Walk *w, const AstType *type);

static void walk_type_args(Walk *w, const AstType *type) {
  vec_each (const AstTypeArg *, arg, &type->u.name.args) {
    if (arg->type) walk_type(w, arg->type);
    if (arg->size) walk_exp(w, arg->size);
  }
}

static void walk_types(Walk *w, const AstTypeVec *types) {
  vec_each (AstType *const *, type, types)
    walk_type(w, *type);
}

static void walk_type(Walk *w, const AstType *type) {
  switch (type->kind) {
  case AST_TYPE_NAME:
    use_path(w, &type->u.name.name, SCOPE_TYPE);
    walk_type_args(w, type);
    return;
  case AST_TYPE_TUPLE: walk_types(w, &type->u.tuple.items); return;
  case AST_TYPE_RECORD:
    vec_each (const AstField *, field, &type->u.record.fields)
      walk_type(w, field->type);
    return;
  case AST_TYPE_ARRAY:
    if (type->u.array.size) walk_exp(w, type->u.array.size);
    walk_type(w, type->u.array.elem);
    return;
  case AST_TYPE_UNIQUE: walk_type(w, type->u.unique.of); return;
  case AST_TYPE_FUNCTION:
    walk_type(w, type->u.function.from);
    walk_type(w, type->u.function.to);
    return;
  case AST_TYPE_SUM:
    vec_each (const AstConstructor *, constructor, &type->u.sum.constructors)
      walk_types(w, &constructor->payload);
    return;
  case AST_TYPE_EXISTS: walk_type(w, type->u.exists.of); return;
  }
}

// Sizes and types; types are visible in the scope that was entered for them.
static void walk_type_params(Walk *w, const AstTypeParamVec *params) {
  vec_each (const AstTypeParam *, param, params) {
    const Binding *b = param->binding;
    bool is_size = param->kind == TYPE_PARAM_SIZE;
    const Type *type = is_size && b ? b->type : NULL;
    add_name(w, (LspName){ param->loc, param->name, b, type, true, false });
    const ScopeThing *thing = new_node(ScopeThing, .binding = b);
    if (!is_size) map_put(w->scope.visible.types, param->name, thing);
  }
}

static void walk_pat(Walk *w, const AstPat *pat, bool is_field);

static void walk_pats(Walk *w, const AstPatVec *pats) {
  vec_each (AstPat *const *, pat, pats)
    walk_pat(w, *pat, false);
}

static void walk_record_pat(Walk *w, const AstPat *pat) {
  vec_each (const AstFieldPat *, field, &pat->u.record.fields) {
    const AstPat *inner =
        field->pat->kind == AST_PAT_ASCRIBE ? field->pat->u.ascribe.pat : field->pat;
    walk_pat(w, field->pat, inner->loc.start == field->loc.start);
  }
}

static void walk_pat(Walk *w, const AstPat *pat, bool is_field) {
  switch (pat->kind) {
  case AST_PAT_NAME:
    add_name(w, (LspName){ pat->loc, pat->u.name.name, pat->u.name.binding, pat->type,
                           true, is_field });
    return;
  case AST_PAT_WILDCARD:
  case AST_PAT_LITERAL: return;
  case AST_PAT_TUPLE: walk_pats(w, &pat->u.tuple.items); return;
  case AST_PAT_RECORD: walk_record_pat(w, pat); return;
  case AST_PAT_ASCRIBE:
    walk_pat(w, pat->u.ascribe.pat, is_field);
    walk_type(w, pat->u.ascribe.type);
    return;
  case AST_PAT_CONSTRUCTOR: walk_pats(w, &pat->u.constructor.payload); return;
  case AST_PAT_ATTR: walk_pat(w, pat->u.attr.pat, is_field); return;
  }
}

static void walk_function(Walk *w, const AstFunction *function) {
  walk_type_params(w, &function->type_params);
  if (function->result) walk_type(w, function->result);
}

static void walk_field_names(Walk *w, const AstExp *exp) {
  for (int i = 0; i < exp->u.record.fields.count; i++) {
    const AstFieldExp *field = &exp->u.record.fields.at[i];
    const AstExp *value = field->value;
    if (value->kind == AST_NAME && value->loc.start == field->loc.start)
      add_name(w, (LspName){ value->loc, field->name, value->u.name.binding, value->type,
                             false, true });
  }
}

// What the visitor of parts does not see.
static void walk_own_names(Walk *w, const AstExp *exp) {
  uint32_t at;
  if (exp->kind == AST_NAME) use_qualifiers(w, &exp->u.name.name, &at);
  if (exp->kind == AST_NAME)
    add_name(w, (LspName){ exp->loc, exp->u.name.name.name, exp->u.name.binding,
                           exp->type, false, false });
  if (exp->kind == AST_RECORD) walk_field_names(w, exp);
  if (exp->kind == AST_LAMBDA) walk_function(w, &exp->u.lambda.function);
  if (exp->kind == AST_LET) walk_type_params(w, &exp->u.let.sizes);
  if (exp->kind == AST_LOOP) walk_type_params(w, &exp->u.loop.sizes);
  if (exp->kind == AST_ASCRIBE || exp->kind == AST_COERCE)
    walk_type(w, exp->u.ascribe.type);
  if (exp->kind != AST_LET_FUN) return;
  const Binding *b = exp->u.let_fun.binding;
  add_name(w, (LspName){ exp->u.let_fun.name_loc, exp->u.let_fun.name, b,
                         b ? b->type : NULL, true, false });
  walk_function(w, &exp->u.let_fun.function);
}

static void visited_exp(AstVisitor *v, const AstExp *exp) { walk_exp(v->state, exp); }
static void visited_pat(AstVisitor *v, const AstPat *pat) {
  walk_pat(v->state, pat, false);
}

static void walk_exp(Walk *w, const AstExp *exp) {
  bool inside = exp->loc.start <= w->offset && w->offset < exp->loc.end;
  if (inside && exp->type) w->around = exp;
  AstVisitor v = { visited_exp, visited_pat, w };
  ScopeWalk saved = w->scope;
  bool has_scope = exp->kind == AST_OPEN_IN || exp->kind == AST_LET_FUN;
  if (has_scope) scope_enter(&w->scope, false);
  walk_own_names(w, exp);
  if (exp->kind == AST_OPEN_IN) {
    const ScopeThing *module = use_path(w, &exp->u.open_in.module, SCOPE_MODULE);
    scope_add_members(&w->scope, module ? module->members : NULL);
  }
  ast_visit_parts(&v, exp);
  w->scope = saved;
}

static void walk_decl(Walk *w, const AstDecl *decl);

static const ScopeNames *walk_module_type(Walk *w, const AstModType *type);

// Where the name of a specification stands: it is the first word behind `type`, `module` or `val`.
static Loc name_in_spec(const AstSpec *spec) {
  const SourceFile *file = spec->loc.file;
  uint32_t at = spec->loc.start, length = (uint32_t)strlen(spec->name);
  while (lex_is_name_part(file->text[at]))
    at++;
  at += (uint32_t)strspn(file->text + at, "~^ \t\r\n");
  bool is_there = strncmp(file->text + at, spec->name, length) == 0;
  return is_there ? (Loc){ file, at, at + length } : (Loc){ 0 };
}

static void walk_spec(Walk *w, const AstSpec *spec) {
  const ScopeNames *members = spec->of ? walk_module_type(w, spec->of) : NULL;
  ScopeWalk saved = scope_enter(&w->scope, false);
  walk_type_params(w, &spec->params);
  if (spec->type) walk_type(w, spec->type);
  w->scope = saved;
  switch (spec->kind) {
  case SPEC_VALUE: return;
  case SPEC_TYPE:
    define_name(w, SCOPE_TYPE, spec->name, name_in_spec(spec), NULL);
    return;
  case SPEC_MODULE:
    define_name(w, SCOPE_MODULE, spec->name, name_in_spec(spec), members);
    return;
  case SPEC_INCLUDE: scope_add_members(&w->scope, members); return;
  }
}

static const ScopeNames *walk_specs(Walk *w, const AstModType *type) {
  ScopeWalk saved = scope_enter(&w->scope, true);
  vec_each (const AstSpec *, spec, &type->u.specs)
    walk_spec(w, spec);
  const ScopeNames *members =
      new_node(ScopeNames, w->scope.defined.types, w->scope.defined.modules,
               w->scope.defined.signatures);
  w->scope = saved;
  return members;
}

// `s with t = u`
static const ScopeNames *walk_with(Walk *w, const AstModType *type) {
  const ScopeNames *members = walk_module_type(w, type->u.with.of);
  const AstName *name = &type->u.with.name;
  if (!name->qualifiers.count)
    add_scope_name(w, scope_meaning(members, SCOPE_TYPE, name->name), name->name,
                   name->loc, false);
  ScopeWalk saved = scope_enter(&w->scope, false);
  walk_type_params(w, &type->u.with.params);
  walk_type(w, type->u.with.type);
  w->scope = saved;
  return members;
}

// The names of a parameter are those of its type; where it is defined is not known.
static void define_module_param(Walk *w, Name param, const ScopeNames *members) {
  static const Loc nowhere = { 0 };
  if (param) scope_define(&w->scope, SCOPE_MODULE, param, nowhere, members);
}

static const ScopeNames *walk_module_type(Walk *w, const AstModType *type) {
  const ScopeThing *named = NULL;
  ScopeWalk saved = w->scope;
  switch (type->kind) {
  case MODTYPE_NAME:
    named = use_path(w, &type->u.name, SCOPE_SIGNATURE);
    return named ? named->members : NULL;
  case MODTYPE_SPECS: return walk_specs(w, type);
  case MODTYPE_WITH: return walk_with(w, type);
  case MODTYPE_FUNCTION: break;
  }
  const ScopeNames *from = walk_module_type(w, type->u.function.from);
  scope_enter(&w->scope, false);
  define_module_param(w, type->u.function.param, from);
  walk_module_type(w, type->u.function.to);
  w->scope = saved;
  return NULL;
}

static const ScopeNames *walk_module(Walk *w, const AstModExp *exp);
static Walk walk_program(Compiler *c, OpenImport import, uint32_t offset);

static const ScopeNames *walk_module_body(Walk *w, const AstDeclVec *decls) {
  ScopeWalk saved = scope_enter(&w->scope, true);
  vec_each (AstDecl *const *, decl, decls)
    walk_decl(w, *decl);
  const ScopeNames *members =
      new_node(ScopeNames, w->scope.defined.types, w->scope.defined.modules,
               w->scope.defined.signatures);
  w->scope = saved;
  return members;
}

// The members that its applications have.
static const ScopeNames *walk_module_function(Walk *w, const AstModExp *exp) {
  const ScopeNames *members = walk_module_type(w, exp->u.function.type);
  ScopeWalk saved = scope_enter(&w->scope, false);
  define_module_param(w, exp->u.function.param, members);
  members = walk_module(w, exp->u.function.body);
  w->scope = saved;
  return members;
}

static bool is_being_imported(const OpenImport *import, const AstProgram *program) {
  for (; import; import = import->outer)
    if (strcmp(import->program->file->path, program->file->path) == 0) return true;
  return false;
}

// What another file defines; the names in it are not of interest.
static const ScopeNames *walk_import(const Walk *w, const AstModExp *exp) {
  const AstProgram *program = w->c ? lsp_imported(w->c, exp) : NULL;
  if (!program || is_being_imported(&w->import, program)) return NULL;
  const Walk other = walk_program(w->c, (OpenImport){ &w->import, program }, 0);
  return new_node(ScopeNames, other.scope.defined.types, other.scope.defined.modules,
                  other.scope.defined.signatures);
}

// The members of the module, or of what a parametric one makes; NULL: they are not known.
static const ScopeNames *walk_module(Walk *w, const AstModExp *exp) {
  const ScopeThing *named = NULL;
  const ScopeNames *members = NULL;
  switch (exp->kind) {
  case MODEXP_NAME:
    named = use_path(w, &exp->u.name, SCOPE_MODULE);
    return named ? named->members : NULL;
  case MODEXP_IMPORT: return walk_import(w, exp);
  case MODEXP_BODY: return walk_module_body(w, &exp->u.body);
  case MODEXP_APPLY:
    members = walk_module(w, exp->u.apply.function);
    walk_module(w, exp->u.apply.arg);
    return members;
  case MODEXP_ASCRIBE:
    members = walk_module_type(w, exp->u.ascribe.type);
    return exp->u.ascribe.exp ? walk_module(w, exp->u.ascribe.exp) : members;
  case MODEXP_FUNCTION: return walk_module_function(w, exp);
  }
  return NULL;
}

static void walk_value(Walk *w, const AstDecl *decl) {
  const Binding *b = decl->u.value.binding;
  add_name(w, (LspName){ decl->u.value.name_loc, decl->u.value.name, b,
                         b ? b->type : NULL, true, false });
  ScopeWalk saved = scope_enter(&w->scope, false);
  walk_function(w, &decl->u.value.function);
  walk_pats(w, &decl->u.value.function.params);
  walk_exp(w, decl->u.value.function.body);
  w->scope = saved;
}

static void walk_type_decl(Walk *w, const AstDecl *decl) {
  ScopeWalk saved = scope_enter(&w->scope, false);
  walk_type_params(w, &decl->u.type.params);
  walk_type(w, decl->u.type.type);
  w->scope = saved;
  define_name(w, SCOPE_TYPE, decl->u.type.name, decl->u.type.name_loc, NULL);
}

static void walk_local(Walk *w, const AstDecl *decl) {
  bool before = w->scope.is_local;
  w->scope.is_local = true;
  walk_decl(w, decl);
  w->scope.is_local = before;
}

static void walk_decl(Walk *w, const AstDecl *decl) {
  switch (decl->kind) {
  case AST_DECL_VALUE: walk_value(w, decl); return;
  case AST_DECL_TYPE: walk_type_decl(w, decl); return;
  case AST_DECL_SPEC: return;
  case AST_DECL_MODULE_TYPE:
    define_name(w, SCOPE_SIGNATURE, decl->u.module_type.name,
                decl->u.module_type.name_loc,
                walk_module_type(w, decl->u.module_type.type));
    return;
  case AST_DECL_MODULE:
    define_name(w, SCOPE_MODULE, decl->u.module.name, decl->u.module.name_loc,
                walk_module(w, decl->u.module.exp));
    return;
  case AST_DECL_OPEN:
    scope_add_members(&w->scope, walk_module(w, decl->u.open.exp));
    return;
  case AST_DECL_LOCAL: walk_local(w, decl->u.local.decl); return;
  }
}

static Walk walk_program(Compiler *c, OpenImport import, uint32_t offset) {
  Walk w = { .c = c, .import = import, .scope = scope_walk_new(), .offset = offset };
  vec_each (AstDecl *const *, decl, &import.program->decls)
    walk_decl(&w, *decl);
  return w;
}

// ---- the names

// Definitions before uses of the same word.
static int compare_places(const void *a, const void *b) {
  const LspName *x = a, *y = b;
  if (x->loc.start != y->loc.start) return x->loc.start < y->loc.start ? -1 : 1;
  if (x->is_definition != y->is_definition) return x->is_definition ? -1 : 1;
  if (x->is_field != y->is_field) return x->is_field ? -1 : 1;
  return (x->binding->id > y->binding->id) - (x->binding->id < y->binding->id);
}

LspNames lsp_names(Compiler *c, const AstProgram *program) {
  LspNames all = walk_program(c, (OpenImport){ NULL, program }, 0).names, names = { 0 };
  if (all.count) qsort(all.at, (size_t)all.count, sizeof *all.at, compare_places);
  for (int i = 0; i < all.count; i++) {
    const LspName *name = &all.at[i], *before = i > 0 ? &all.at[i - 1] : NULL;
    bool again = before && before->loc.start == name->loc.start &&
                 before->binding == name->binding;
    if (!again) vec_push(&names, *name);
  }
  return names;
}

const LspName *lsp_name_at(const LspNames *names, uint32_t offset) {
  vec_each (const LspName *, name, names)
    if (name->loc.start <= offset && offset <= name->loc.end) return name;
  return NULL;
}

typedef Vec(const Binding *) Bindings;

static bool names_one(const Bindings *bindings, const Binding *binding) {
  vec_each (const Binding *const *, b, bindings)
    if (*b == binding) return true;
  return false;
}

// The bindings that are one with this one, as some words name two.
static Bindings one_with(const LspNames *names, const Binding *binding) {
  Bindings all = { 0 };
  vec_push(&all, binding);
  for (bool more = true; more;) {
    more = false;
    for (int i = 1; i < names->count; i++) {
      const LspName *a = &names->at[i - 1], *b = &names->at[i];
      if (a->loc.start != b->loc.start ||
          names_one(&all, a->binding) == names_one(&all, b->binding))
        continue;
      vec_push(&all, names_one(&all, a->binding) ? b->binding : a->binding);
      more = true;
    }
  }
  return all;
}

// An import and the application of a parametric module make bindings anew each time.
static bool same_origin(const LspName *a, const LspName *b) {
  Loc x = a->binding->loc, y = b->binding->loc;
  return x.file && x.file == y.file && x.start == y.start &&
         strcmp(a->name, b->name) == 0;
}

bool lsp_same_name(const LspNames *names, const LspName *a, const LspName *b) {
  if (a->binding == b->binding || same_origin(a, b)) return true;
  Bindings all = one_with(names, a->binding);
  return strcmp(a->name, b->name) == 0 && names_one(&all, b->binding);
}

const AstExp *lsp_exp_at(const AstProgram *program, uint32_t offset) {
  return walk_program(NULL, (OpenImport){ NULL, program }, offset).around;
}
