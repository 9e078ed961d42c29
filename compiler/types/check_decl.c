// Definitions at top level, and whole programs.
#include "base/text.h"
#include "source/source.h"
#include "types/check.h"
#include <ctype.h>
#include <string.h>

// --- Names at top level ---

static void define(Check *k, Binding *b) {
  b->is_top = true;
  scope_check_definable(k, b);
  bool is_new = check_new_name(k, k->own.values, "", b->name, b->loc);
  if (!is_new && b->function && b->function->params.count)
    hint(k->c, "a function has one definition, in which `match` tells cases apart");
  if (!k->local) map_put(k->defined.values, b->name, b);
  map_put(k->scope.values, b->name, b);
  if (map_get(k->scope.modules, b->name)) map_put(k->scope.modules, b->name, NULL);
}

static void define_type(Check *k, TypeDef *def) {
  check_new_name(k, k->own.types, "type ", def->name, def->loc);
  if (!k->local) map_put(k->defined.types, def->name, def);
  map_put(k->scope.types, def->name, def);
}

// --- Entry points ---

// Whether it is of this kind, or holds what is, but for functions' parameters and results.
static bool has_kind(const Type *type, TypeKind kind) {
  if (type->kind == kind) return true;
  if (type->kind == TYPE_ARRAY) return has_kind(type->u.array.elem, kind);
  if (type->kind != TYPE_RECORD) return false;
  for (int i = 0; i < type->u.record.count; i++)
    if (has_kind(type->u.record.fields[i].type, kind)) return true;
  return false;
}

static bool has_function(const Type *type) { return has_kind(type, TYPE_FUNCTION); }

// Those who call from outside choose no sizes but by arrays.
static void check_entry_size(Check *k, Loc loc, const Binding *b) {
  if (!b->sizes.count || type_resolve(b->type)->kind == TYPE_FUNCTION) return;
  Name size = b->sizes.at[0]->name;
  error(k->c, loc, "nothing tells the size `%s` of the entry point `%s`", size, b->name);
  hint(k->c, "let it be a parameter: `(%s: i64)`", size);
}

// What leaves a type open: a parameter; an argument that is missing, as in `entry f x = map`; or
// the result, as [].  (Parameters that add_params has added stand where the name does.)
static void hint_polymorphic(Check *k, const AstDecl *decl, const Binding *b) {
  const AstPatVec *params = &decl->u.value.function.params;
  const Type *type = type_resolve(b->type);
  bool open = false, added = false;
  for (int i = 0; i < params->count && type->kind == TYPE_FUNCTION; i++) {
    added = params->at[i]->loc.start == decl->u.value.name_loc.start;
    open = open || ((!added || i == 0) && has_kind(type->u.function.from, TYPE_PARAM));
    type = type_resolve(type->u.function.to);
  }
  if (open)
    hint(k->c, "write the types of its parameters");
  else if (added)
    hint(k->c, "its result is a function: is an argument missing?");
  else
    hint(k->c, "write the type of its result, as in `entry %s : []i32 = ...`", b->name);
}

static void check_entry(Check *k, const AstDecl *decl, const Binding *b) {
  Loc loc = decl->u.value.name_loc;
  if (strchr(b->name, '\''))
    error(k->c, loc, "the name of an entry point has no `'` in it: `%s`", b->name);
  // After other errors it may be in consequence that a type is open.
  if (b->types.count > 0 && diag_error_count(k->c)) return;
  if (b->types.count > 0) {
    error(k->c, loc, "entry point `%s` cannot be polymorphic: its type is `%s`", b->name,
          type_text(b->type));
    hint_polymorphic(k, decl, b);
    return;
  }
  const Type *type = b->type;
  for (int i = 0; i < decl->u.value.function.params.count && type->kind == TYPE_FUNCTION;
       i++) {
    if (has_function(type->u.function.from))
      error(k->c, decl->u.value.function.params.at[i]->loc,
            "a parameter of an entry point cannot be a function");
    type = type->u.function.to;
  }
  if (has_function(type))
    error(k->c, loc, "the result of an entry point cannot be a function");
  check_entry_size(k, loc, b);
}

// The parameters that the function returned by an entry point has and that are not written.
static int missing_params(const AstFunction *f, const Type *type) {
  int missing = -f->params.count;
  for (type = type_resolve(type); type->kind == TYPE_FUNCTION;
       type = type_resolve(type->u.function.to))
    missing++;
  return missing;
}

// Gives the entry point `= f`, of that type, the form `x = f x`; what `f` consumes, `x` gives up.
static void add_params(Check *k, AstDecl *decl, int count, const Type *type) {
  AstFunction *f = &decl->u.value.function;
  Loc loc = decl->u.value.name_loc;
  if (f->result)
    f->body = new_node(AstExp, .kind = AST_ASCRIBE, .loc = f->body->loc,
                       .u.ascribe = { .exp = f->body, .type = f->result });
  f->result = NULL;
  AstExp *apply = new_node(AstExp, .kind = AST_APPLY, .loc = f->body->loc,
                           .u.apply.function = f->body);
  for (int i = 0; i < f->params.count; i++)
    type = type_resolve(type)->u.function.to;
  for (int i = 0; i < count; i++, type = type_resolve(type)->u.function.to) {
    Name name = name_of(k->c->names, text_format("arg%d", f->params.count));
    bool consumed = type_has_unique(type_resolve(type)->u.function.from);
    vec_push(&f->params, new_node(AstPat, .kind = AST_PAT_NAME, .loc = loc,
                                  .u.name = { .name = name, .consumed = consumed }));
    vec_push(&apply->u.apply.args, new_node(AstExp, .kind = AST_NAME, .loc = loc,
                                            .u.name.name = { .loc = loc, .name = name }));
  }
  f->body = apply;
}

// --- Definitions ---

static Binding *infer_definition(Check *k, AstDecl *decl, const Binding *before,
                                 const Type *assumed) {
  AstFunction *f = &decl->u.value.function;
  Binding *b =
      binding_new(k, BIND_FUNCTION, decl->u.value.name, decl->u.value.name_loc, NULL);
  b->function = f;
  vec_each (const AstAttr **, attr, &decl->attrs)
    vec_push(&b->attrs, *attr);
  decl->u.value.binding = b;
  Within self = { .binding = b, .before = before, .assumed = assumed };
  b->type = infer_function(k, f, &self, NULL);
  finish_definition(k, b);
  return b;
}

static const Size *anonymous_size(Check *k, const Size *size) {
  (void)k;
  return new_node(Size, .kind = SIZE_ANY, .loc = size->loc);
}

// The result of a function, not written, with anonymous sizes; NULL if it has no arrays.
static const Type *unsized_result(Check *k, const AstFunction *f, const Type *type) {
  for (int i = 0; i < f->params.count; i++) {
    if (type->kind != TYPE_FUNCTION) return NULL;
    type = type->u.function.to;
  }
  const Type *unsized = type_map_sizes(k, type, anonymous_size);
  return unsized == type ? NULL : unsized;
}

// A function that calls itself, whose result is not written but has sizes, is inferred again, as
// each call gives sizes of its own.
static Binding *infer_twice(Check *k, AstDecl *decl) {
  const AstFunction *f = &decl->u.value.function;
  DiagSaved *before = diag_save(k->c), *again = diag_save(k->c);
  Binding *b = infer_definition(k, decl, NULL, NULL);
  bool open = b->calls_itself && !f->result && diag_error_count(k->c) == 0;
  const Type *result = open ? unsized_result(k, f, b->type) : NULL;
  if (result) diag_restore(k->c, again);
  if (result) b = infer_definition(k, decl, b, result);
  diag_add(k->c, before);
  return b;
}

static bool holds_function(const Type *type) {
  type = type_resolve(type);
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (holds_function(type->u.record.fields[i].type)) return true;
  return type->kind == TYPE_FUNCTION;
}

// The parameters of a function that is the result could stand before the `=`.
static void check_recursive_result(Check *k, const AstFunction *f, const Binding *b) {
  const Type *type = type_resolve(b->type);
  for (int i = 0; i < f->params.count && type->kind == TYPE_FUNCTION; i++)
    type = type_resolve(type->u.function.to);
  if (!b->calls_itself || !holds_function(type)) return;
  error(k->c, b->loc, "the result of a function that calls itself cannot %s (type `%s`)",
        type->kind == TYPE_FUNCTION ? "be a function" : "have a function in it",
        type_text(type));
  if (type->kind == TYPE_FUNCTION)
    hint(k->c, "give `%s` further parameters instead", b->name);
}

static void check_value(Check *k, AstDecl *decl) {
  AstFunction *f = &decl->u.value.function;
  int errors = diag_error_count(k->c), outer = k->errors, type_errors = k->type_errors;
  k->errors = 0;
  k->outer_type_errors = type_errors;
  Binding *b = infer_twice(k, decl);
  k->errors = outer;
  if (decl->u.value.is_entry && k->in_module) {
    error(k->c, b->loc, "an entry point cannot be inside of a module");
    hint(k->c, "define it with `def`, and at top level write `entry %s = m.%s`", b->name,
         b->name);
  }
  // A function of that name is always an entry point; modules and imported files have none.
  if (k->inside) decl->u.value.is_entry = false;
  if (!k->built_in && !k->inside && b->name == name_of(k->c->names, "main"))
    decl->u.value.is_entry = true;
  int missing = missing_params(f, b->type);
  if (decl->u.value.is_entry && diag_error_count(k->c) == errors && missing > 0) {
    add_params(k, decl, missing, b->type);
    check_value(k, decl);
    return;
  }
  // A name of a broken module has no type, although nothing was reported here.
  bool typed = k->type_errors == type_errors;
  if (typed && diag_error_count(k->c) == errors) check_recursive_result(k, f, b);
  if (typed && diag_error_count(k->c) == errors) check_causality(k, f);
  if (typed && diag_error_count(k->c) == errors) consume_definition(k, decl);
  b->wrong = !typed || diag_error_count(k->c) != errors;
  define(k, b);
  if (decl->u.value.is_entry && diag_error_count(k->c) == errors) check_entry(k, decl, b);
}

// What a module type specifies as `type t` is not `type~` by the meaning that `with t = ..` gives
// it, nor is another name for it; only opaque modules show what was specified.
static bool written_size_varies(Check *k, const AstType *written, const Type *type) {
  bool bare = written->kind == AST_TYPE_NAME && !written->u.name.args.count;
  const TypeDef *def = bare ? scope_find_type(k, &written->u.name.name) : NULL;
  bool specified = def && def->lifted == LIFTED_NOT;
  bool unseen = !k->opaque && bare && k->lib->has_signatures;
  return type_size_varies(type) && !specified && !unseen;
}

// What the type's declaration must say of it: `type~` of varying sizes, `type^` of functions.
static void check_lifted(Check *k, const AstDecl *decl, const TypeDef *def) {
  Loc loc = decl->u.type.name_loc;
  if (def->lifted != LIFTED_FULLY && !unify_first_order(k, def->type))
    error(k->c, loc, "type `%s` may be a function: declare it as `type^`", def->name);
  else if (def->lifted == LIFTED_NOT &&
           written_size_varies(k, decl->u.type.type, def->type))
    error(k->c, loc, "type `%s` has sizes that vary: declare it as `type~`", def->name);
  vec_each (const AstTypeParam *, param, &decl->u.type.params)
    if (param->kind == TYPE_PARAM_SIZE && !type_mentions(def->type, param->binding))
      error(k->c, param->loc, "the size `%s` does not occur in the type", param->name);
}

static void check_type_decl(Check *k, AstDecl *decl) {
  int mark = scope_mark(k);
  k->level++;
  bind_type_params(k, &decl->u.type.params, NULL);
  TypeDef *def =
      new_node(TypeDef, .name = decl->u.type.name, .loc = decl->u.type.name_loc,
               .params = &decl->u.type.params, .is_top = true);
  check_named_sizes(k, decl->u.type.type);
  def->type = check_type(k, decl->u.type.type);
  def->lifted = decl->u.type.lifted;
  k->level--;
  scope_leave(k, mark);
  finish_definition(k, NULL);
  check_lifted(k, decl, def);
  define_type(k, def);
}

static bool is_operator(Name name) {
  return !isalpha((unsigned char)name[0]) && name[0] != '_';
}

// Operators are known everywhere; with three of them sizes are computed.
static void define_operator(Library *lib, Binding *b) {
  static const char spelling[] = { [SIZE_ADD] = '+', [SIZE_SUB] = '-', [SIZE_MUL] = '*' };
  map_put(lib->values, b->name, b);
  for (int op = SIZE_ADD; op <= SIZE_MUL; op++)
    if (b->name[0] == spelling[op] && !b->name[1]) lib->size_ops[op] = b;
}

// val f 'a [n] : t, in the prelude only
static void check_spec(Check *k, AstDecl *decl) {
  if (!k->built_in) {
    error(k->c, decl->loc, "`val` may occur in module types only");
    return;
  }
  Binding *b =
      binding_new(k, BIND_INTRINSIC, decl->u.spec.name, decl->u.spec.name_loc, NULL);
  decl->u.spec.binding = b;
  int mark = scope_mark(k);
  k->level++;
  bind_type_params(k, &decl->u.spec.params, b);
  b->type = type_open_anonymous(k, check_type(k, decl->u.spec.type));
  k->level--;
  scope_leave(k, mark);
  TypeClass prims = attr_overload(&decl->attrs);
  if (prims && b->types.count > 0) b->types.at[0]->prims = prims;
  finish_definition(k, b);
  b->is_top = true;
  map_put(k->lib->intrinsics, b->name, b);
  if (is_operator(b->name)) define_operator(k->lib, b);
}

static void check_local(Check *k, AstDecl *decl) {
  bool outer = k->local;
  k->local = true;
  check_decl(k, decl->u.local.decl);
  k->local = outer;
}

void check_decl(Check *k, AstDecl *decl) {
  vec_each (const AstAttr **, attr, &decl->attrs)
    check_attr(k, *attr);
  switch (decl->kind) {
  case AST_DECL_VALUE: check_value(k, decl); break;
  case AST_DECL_TYPE: check_type_decl(k, decl); break;
  case AST_DECL_SPEC: check_spec(k, decl); break;
  case AST_DECL_MODULE: check_module(k, decl); break;
  case AST_DECL_MODULE_TYPE: check_module_type(k, decl); break;
  case AST_DECL_OPEN: check_open(k, decl); break;
  case AST_DECL_LOCAL: check_local(k, decl); break;
  }
}

Check *check_new(Library *lib, bool built_in) {
  Check *k = new_node(Check, .c = lib->c, .lib = lib, .built_in = built_in);
  k->scope.values = map_new(lib->values);
  k->scope.types = map_new(lib->types);
  k->scope.modules = map_new(NULL);
  k->scope.signatures = map_new(NULL);
  k->defined = names_new(NULL);
  k->own = names_new(NULL);
  k->later = map_new(NULL);
  k->unknown = map_new(NULL);
  return k;
}

static AstDecl *without_local(AstDecl *decl) {
  while (decl->kind == AST_DECL_LOCAL)
    decl = decl->u.local.decl;
  return decl;
}

void check_decls(Check *k, const AstDeclVec *decls) {
  vec_each (AstDecl **, d, decls)
    scope_expect(k, without_local(*d));
  vec_each (AstDecl **, d, decls) {
    if (diag_full(k->c)) return;
    check_decl(k, *d);
    AstDecl *decl = without_local(*d);
    vec_push(&k->lib->checked->decls, decl);
    if (decl->kind == AST_DECL_VALUE && decl->u.value.is_entry)
      vec_push(&k->lib->checked->entries, decl);
  }
}

// Checks the program again, from a tree of its own, with opaque modules.
static void check_opaque(const Library *transparent, const AstProgram *program) {
  Library *lib = mem_copy(transparent, sizeof *lib);
  lib->checked = new (CheckedProgram);
  lib->files = map_new(NULL);
  lib->applications = 0;
  AstProgram *again = source_parse(lib->c, program->file);
  Check *k = check_new(lib, false);
  k->opaque = true;
  if (again) check_decls(k, &again->decls);
}

CheckedProgram *types_check(Compiler *c, AstProgram *program) {
  int errors = diag_error_count(c);
  Library *lib = new_node(Library, .c = c);
  lib->checked = new (CheckedProgram);
  lib->files = map_new(NULL);
  lib->warned = map_new(NULL);
  lib->places = lib->checked->modules = map_new(NULL);
  if (!prelude_load(lib)) return NULL;
  DiagSaved *before = diag_save(c);
  check_decls(check_new(lib, false), &program->decls);
  if (lib->has_signatures || lib->gives_constant) {
    // What is wrong with opaque modules is nearer to what was written.
    DiagSaved *transparent = diag_save(c);
    check_opaque(lib, program);
    if (diag_error_count(c) == 0) diag_restore(c, transparent);
  }
  diag_add(c, before);
  return diag_error_count(c) == errors ? lib->checked : NULL;
}
