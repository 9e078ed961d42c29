// Completion: the names that can stand at a place.
//
// What is being written can hardly be read.  It can with a name at the place, and that program is
// the one that is asked for its names.
#include "base/embed.h"
#include "base/vec.h"
#include "commands/lsp/lsp.h"
#include "source/lex.h"
#include "source/source.h"
#include <string.h>

typedef struct CompletionItems {
  json_t *list;
  Map *known;  // names that are in the list
  LspQuery *query;
  const AstProgram
      *ast;  // of the program with a name at the place; NULL if it cannot be read
} CompletionItems;

// Definitions of a module, and those around it that they see.
typedef struct ModuleScope {
  const struct ModuleScope *outer;
  const AstDeclVec *decls;
} ModuleScope;

enum {
  ITEM_FUNCTION = 3,
  ITEM_FIELD = 5,
  ITEM_VARIABLE = 6,
  ITEM_CLASS = 7,
  ITEM_MODULE = 9,
  ITEM_KEYWORD = 14,
  ITEM_CONSTRUCTOR = 20  // a member of an enumeration
};

static void add_item(CompletionItems *items, Name name, int kind, const char *detail) {
  Name interned = name_of(items->query->c->names, name);
  if (!lex_is_name_start(*interned) || map_has(items->known, interned)) return;
  map_put(items->known, interned, items);
  json_t *item = json_pack("{s:s, s:i}", "label", interned, "kind", kind);
  if (detail) json_object_set_new(item, "detail", json_string(detail));
  json_array_append_new(items->list, item);
}

// ---- definitions

static const char *type_of_value(const AstDecl *decl) {
  const Binding *b = decl->u.value.binding;
  return b && b->type ? type_text(b->type) : decl->doc;
}

static void add_decl(CompletionItems *items, const AstDecl *decl) {
  switch (decl->kind) {
  case AST_DECL_VALUE:
    add_item(items, decl->u.value.name, ITEM_FUNCTION, type_of_value(decl));
    return;
  case AST_DECL_TYPE: add_item(items, decl->u.type.name, ITEM_CLASS, decl->doc); return;
  case AST_DECL_MODULE:
    add_item(items, decl->u.module.name, ITEM_MODULE, decl->doc);
    return;
  case AST_DECL_SPEC:
  case AST_DECL_MODULE_TYPE:
  case AST_DECL_OPEN:
  case AST_DECL_LOCAL: return;
  }
}

static void add_decls(CompletionItems *items, const AstDeclVec *decls) {
  vec_each (AstDecl *const *, decl, decls)
    add_decl(items, *decl);
}

static void add_library_file(CompletionItems *items, const EmbeddedFile *f) {
  SourceFile *file = source_file_new(f->path, f->text, f->length);
  file->built_in = true;
  const AstProgram *library = source_parse(items->query->c, file);
  if (library) add_decls(items, &library->decls);
}

// ---- members of modules

// Names and imports may lead in circles.
typedef struct ModuleSearch {
  Compiler *c;
  int steps_left;
} ModuleSearch;

enum { MODULE_STEPS = 300 };

static const ModuleScope *open_name(ModuleSearch *m, const ModuleScope *scope, Name name);

// `a.b.c`
static const ModuleScope *open_path(ModuleSearch *m, const ModuleScope *scope,
                                    const AstName *path) {
  vec_each (const Name *, part, &path->qualifiers)
    scope = open_name(m, scope, *part);
  return open_name(m, scope, path->name);
}

// The module that the expression makes, or the applications of the one that it is; NULL if that is
// not known.
static const ModuleScope *open_module(ModuleSearch *m, const ModuleScope *scope,
                                      const AstModExp *exp) {
  const AstProgram *program = NULL;
  if (!exp || m->steps_left-- <= 0) return NULL;
  switch (exp->kind) {
  case MODEXP_NAME: return open_path(m, scope, &exp->u.name);
  case MODEXP_IMPORT:
    program = lsp_imported(m->c, exp);
    return program ? new_node(ModuleScope, NULL, &program->decls) : NULL;
  case MODEXP_BODY: return new_node(ModuleScope, scope, &exp->u.body);
  case MODEXP_APPLY: return open_module(m, scope, exp->u.apply.function);
  case MODEXP_ASCRIBE: return open_module(m, scope, exp->u.ascribe.exp);
  case MODEXP_FUNCTION: return open_module(m, scope, exp->u.function.body);
  }
  return NULL;
}

static const AstDecl *without_local(const AstDecl *decl) {
  while (decl->kind == AST_DECL_LOCAL)
    decl = decl->u.local.decl;
  return decl;
}

// The last one of that name among these definitions and what they open.
static const ModuleScope *open_defined(ModuleSearch *m, const ModuleScope *scope,
                                       Name name) {
  for (int i = scope->decls->count - 1; i >= 0; i--) {
    const AstDecl *decl = without_local(scope->decls->at[i]);
    if (decl->kind == AST_DECL_MODULE && strcmp(decl->u.module.name, name) == 0)
      return open_module(m, scope, decl->u.module.exp);
    if (decl->kind != AST_DECL_OPEN) continue;
    const ModuleScope *opened = open_module(m, scope, decl->u.open.exp);
    const ModuleScope *found = opened ? open_defined(m, opened, name) : NULL;
    if (found) return found;
  }
  return NULL;
}

static const ModuleScope *open_name(ModuleSearch *m, const ModuleScope *scope,
                                    Name name) {
  const ModuleScope *found = NULL;
  for (; scope && !found; scope = scope->outer)
    found = open_defined(m, scope, name);
  return found;
}

static void add_scalar_members(CompletionItems *items, Name module) {
  const char *paths[2];
  if (!types_module_files(module, paths)) return;
  for (int i = 0; i < prelude_file_count; i++)
    for (int k = 0; k < 2; k++)
      if (paths[k] && strcmp(prelude_files[i].path, paths[k]) == 0)
        add_library_file(items, &prelude_files[i]);
}

// The names before the word at the place, `a` and `b` of `a.b.wo`, and where they begin.
typedef struct NamePath {
  Vec(Name) names;
  uint32_t start;
} NamePath;

static NamePath qualifiers(const LspQuery *q) {
  const char *text = q->program->file->text;
  NamePath path = { 0 };
  Vec(Name) backwards = { 0 };
  uint32_t at = q->offset;
  while (at > 0 && lex_is_name_part(text[at - 1]))
    at--;
  while (at > 1 && text[at - 1] == '.' && lex_is_name_part(text[at - 2])) {
    uint32_t end = --at;
    while (at > 0 && lex_is_name_part(text[at - 1]))
      at--;
    vec_push(&backwards, text_format("%.*s", (int)(end - at), text + at));
  }
  path.start = at;
  for (int i = backwards.count - 1; i >= 0; i--)
    vec_push(&path.names, backwards.at[i]);
  return path;
}

// ---- fields of values

static const Type *type_of_field(const Type *record, Name name) {
  for (int i = 0; record->kind == TYPE_RECORD && i < record->u.record.count; i++)
    if (strcmp(record->u.record.fields[i].name, name) == 0)
      return type_resolve(record->u.record.fields[i].type);
  return NULL;
}

// What may follow `a.b.` where `a` is a value: the fields of a record.  False: it is none.
static bool add_fields(CompletionItems *items, const NamePath *path) {
  LspNames names = { 0 };
  if (items->ast) names = lsp_names(items->query->c, items->ast);
  const LspName *value = lsp_name_at(&names, path->start);
  const Type *type = value && value->type ? type_resolve(value->type) : NULL;
  for (int i = 1; type && i < path->names.count; i++)
    type = type_of_field(type, path->names.at[i]);
  if (!type || type->kind != TYPE_RECORD) return false;
  for (int i = 0; i < type->u.record.count; i++) {
    const TypeField *field = &type->u.record.fields[i];
    add_item(items, field->name, ITEM_FIELD, type_text(field->type));
  }
  return true;
}

// ---- members

// What may follow `a.b.` where `a` is a module.
static void add_members_at(CompletionItems *items, const NamePath *path) {
  ModuleSearch search = { items->query->c, MODULE_STEPS };
  const ModuleScope *scope =
      items->ast ? new_node(ModuleScope, NULL, &items->ast->decls) : NULL;
  for (int i = 0; scope && i < path->names.count; i++)
    scope = i ? open_defined(&search, scope, path->names.at[i])
              : open_name(&search, scope, path->names.at[i]);
  if (scope)
    add_decls(items, scope->decls);
  else if (path->names.count == 1)
    add_scalar_members(items, path->names.at[0]);
}

// ---- names without a module before them

// All names that occur in the text, also where it cannot be read, but for the one that is
// being written.
static void add_names_of_text(CompletionItems *items) {
  const LspQuery *q = items->query;
  Compiler *c = compiler_new();
  TokenVec tokens = lex_file(c, q->program->file);
  vec_each (const Token *, token, &tokens) {
    bool here = token->start <= q->offset && q->offset <= token->end;
    if (token->kind == TOKEN_NAME && !here)
      add_item(items, token->name, ITEM_VARIABLE, NULL);
  }
}

static void add_keywords(CompletionItems *items) {
  for (int kind = TOKEN_TRUE; kind <= TOKEN_CASE; kind++) {
    const char *quoted = token_text((TokenKind)kind);
    add_item(items, text_format("%.*s", (int)strlen(quoted) - 2, quoted + 1),
             ITEM_KEYWORD, NULL);
  }
}

static void add_typed_names(CompletionItems *items) {
  LspNames names = lsp_names(items->query->c, items->ast);
  vec_each (const LspName *, name, &names) {
    bool here =
        name->loc.start <= items->query->offset && items->query->offset < name->loc.end;
    if (name->is_definition && name->type && !here)
      add_item(items, name->name,
               name->type->kind == TYPE_FUNCTION ? ITEM_FUNCTION : ITEM_VARIABLE,
               type_text(name->type));
  }
}

bool lsp_is_open_file(const char *path) {
  return !strstr(path, "/mod_") && !strstr(path, "intrinsics") &&
         !strstr(path, "module_types");
}

// ---- constructors

// Those that occur in the text, but for the one that is being written.
static void add_constructors_of(CompletionItems *items, SourceFile *file, bool asked) {
  Compiler *c = compiler_new();
  TokenVec tokens = lex_file(c, file);
  vec_each (const Token *, token, &tokens) {
    bool here = asked && token->start <= items->query->offset &&
                items->query->offset <= token->end;
    if (token->kind == TOKEN_CONSTRUCTOR && !here)
      add_item(items, token->name, ITEM_CONSTRUCTOR, NULL);
  }
}

// Is what is being written a constructor, `#wo`?  Then those of this file and of its imports.
static bool add_constructors(CompletionItems *items, uint32_t start) {
  const LspQuery *q = items->query;
  if (start == 0 || q->program->file->text[start - 1] != '#') return false;
  add_constructors_of(items, q->program->file, true);
  size_t i;
  const json_t *path;
  // As when the text could be read last.
  json_array_foreach(q->document->imports, i, path) {
    SourceFile *file = lsp_read_source(q->c, json_string_value(path));
    if (file) add_constructors_of(items, file, false);
  }
  return true;
}

// ---- names of other files

// What `import "file"` and `open m` make visible.
static void add_opened(CompletionItems *items) {
  ModuleSearch search = { items->query->c, MODULE_STEPS };
  const ModuleScope scope = { NULL, &items->ast->decls };
  vec_each (AstDecl *const *, decl, &items->ast->decls) {
    const AstDecl *open = without_local(*decl);
    if (open->kind != AST_DECL_OPEN) continue;
    const ModuleScope *opened = open_module(&search, &scope, open->u.open.exp);
    if (opened) add_decls(items, opened->decls);
  }
}

static void add_all_names(CompletionItems *items) {
  if (items->ast) add_typed_names(items);
  if (items->ast) add_opened(items);
  add_names_of_text(items);
  for (int i = 0; i < prelude_file_count; i++)
    if (lsp_is_open_file(prelude_files[i].path))
      add_library_file(items, &prelude_files[i]);
  add_keywords(items);
}

// ---- the answer

// The program with the letters of a name at the place.
static const AstProgram *with_name(const LspQuery *q) {
  const SourceFile *file = q->program->file;
  const char *text =
      text_format("%.*sx%s", (int)q->offset, file->text, file->text + q->offset);
  Compiler *c = compiler_new();
  Program *program = program_of_text(c, file->path, text, strlen(text));
  pipeline_run(c, program, "check");
  return program->ast;
}

// `"` and `/` ask for the files of an import only.
static bool is_asked_for_files(const LspQuery *q) {
  const json_t *context = json_object_get(q->params, "context");
  const char *typed = json_string_value(json_object_get(context, "triggerCharacter"));
  return typed && (*typed == '"' || *typed == '/');
}

json_t *lsp_completion(LspQuery *q) {
  CompletionItems items = { json_array(), map_new(NULL), q, NULL };
  if (lsp_import_completion(q, items.list) || is_asked_for_files(q)) return items.list;
  items.ast = with_name(q);
  NamePath path = qualifiers(q);
  if (path.names.count) {
    if (!add_fields(&items, &path)) add_members_at(&items, &path);
  } else if (!add_constructors(&items, path.start)) {
    add_all_names(&items);
  }
  return items.list;
}
