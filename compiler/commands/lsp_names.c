#include "base/vec.h"
#include "commands/lsp.h"
#include "source/ast_walk.h"
#include <stdlib.h>
#include <string.h>

// ---- collecting

typedef struct Walk {
  LspNames names;
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
  case AST_TYPE_NAME: walk_type_args(w, type); return;
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

static void walk_sizes(Walk *w, const AstTypeParamVec *params) {
  vec_each (const AstTypeParam *, param, params)
    if (param->kind == TYPE_PARAM_SIZE)
      add_name(w, (LspName){ param->loc, param->name, param->binding,
                             param->binding ? param->binding->type : NULL, true, false });
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
  walk_sizes(w, &function->type_params);
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
  if (exp->kind == AST_NAME)
    add_name(w, (LspName){ exp->loc, exp->u.name.name.name, exp->u.name.binding,
                           exp->type, false, false });
  if (exp->kind == AST_RECORD) walk_field_names(w, exp);
  if (exp->kind == AST_LAMBDA) walk_function(w, &exp->u.lambda.function);
  if (exp->kind == AST_LET) walk_sizes(w, &exp->u.let.sizes);
  if (exp->kind == AST_LOOP) walk_sizes(w, &exp->u.loop.sizes);
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
  walk_own_names(w, exp);
  ast_visit_parts(&v, exp);
}

static void walk_decl(Walk *w, const AstDecl *decl);

static void walk_module(Walk *w, const AstModExp *exp) {
  switch (exp->kind) {
  case MODEXP_NAME:
  case MODEXP_IMPORT: return;
  case MODEXP_BODY:
    vec_each (AstDecl *const *, decl, &exp->u.body)
      walk_decl(w, *decl);
    return;
  case MODEXP_APPLY:
    walk_module(w, exp->u.apply.function);
    walk_module(w, exp->u.apply.arg);
    return;
  case MODEXP_ASCRIBE: walk_module(w, exp->u.ascribe.exp); return;
  case MODEXP_FUNCTION: walk_module(w, exp->u.function.body); return;
  }
}

static void walk_value(Walk *w, const AstDecl *decl) {
  const Binding *b = decl->u.value.binding;
  add_name(w, (LspName){ decl->u.value.name_loc, decl->u.value.name, b,
                         b ? b->type : NULL, true, false });
  walk_pats(w, &decl->u.value.function.params);
  walk_function(w, &decl->u.value.function);
  walk_exp(w, decl->u.value.function.body);
}

static void walk_decl(Walk *w, const AstDecl *decl) {
  switch (decl->kind) {
  case AST_DECL_VALUE: walk_value(w, decl); return;
  case AST_DECL_TYPE:
    walk_sizes(w, &decl->u.type.params);
    walk_type(w, decl->u.type.type);
    return;
  case AST_DECL_SPEC:
  case AST_DECL_MODULE_TYPE: return;
  case AST_DECL_MODULE: walk_module(w, decl->u.module.exp); return;
  case AST_DECL_OPEN: walk_module(w, decl->u.open.exp); return;
  case AST_DECL_LOCAL: walk_decl(w, decl->u.local.decl); return;
  }
}

static Walk walk(const AstProgram *program, uint32_t offset) {
  Walk w = { .offset = offset };
  vec_each (AstDecl *const *, decl, &program->decls)
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

LspNames lsp_names(const AstProgram *program) {
  LspNames all = walk(program, 0).names, names = { 0 };
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

bool lsp_same_name(const LspNames *names, const LspName *a, const LspName *b) {
  if (a->binding == b->binding) return true;
  Bindings all = one_with(names, a->binding);
  return strcmp(a->name, b->name) == 0 && names_one(&all, b->binding);
}

const AstExp *lsp_exp_at(const AstProgram *program, uint32_t offset) {
  return walk(program, offset).around;
}
