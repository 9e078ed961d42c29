// Completion: the names that can stand at a place.
//
// What is being written can hardly be read.  It can with a name at the place, and that program is
// the one that is asked for its names.
#include "base/embed.h"
#include "base/vec.h"
#include "commands/lsp.h"
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

enum {
  ITEM_FUNCTION = 3,
  ITEM_VARIABLE = 6,
  ITEM_CLASS = 7,
  ITEM_MODULE = 9,
  ITEM_KEYWORD = 14
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

// The definitions in a module; NULL if they do not stand in this file.
static const AstDeclVec *members_of(const AstDeclVec *decls, Name module) {
  const AstModExp *exp = NULL;
  vec_each (AstDecl *const *, decl, decls)
    if ((*decl)->kind == AST_DECL_MODULE && strcmp((*decl)->u.module.name, module) == 0)
      exp = (*decl)->u.module.exp;
  while (exp && exp->kind == MODEXP_ASCRIBE)
    exp = exp->u.ascribe.exp;
  return exp && exp->kind == MODEXP_BODY ? &exp->u.body : NULL;
}

static void add_scalar_members(CompletionItems *items, Name module) {
  const char *paths[2];
  if (!types_module_files(module, paths)) return;
  for (int i = 0; i < prelude_file_count; i++)
    for (int k = 0; k < 2; k++)
      if (paths[k] && strcmp(prelude_files[i].path, paths[k]) == 0)
        add_library_file(items, &prelude_files[i]);
}

typedef Vec(Name) NamePath;

// The names before the word at the place: `a`, `b` of `a.b.wo`.
static NamePath qualifiers(const LspQuery *q) {
  const char *text = q->program->file->text;
  NamePath backwards = { 0 }, path = { 0 };
  uint32_t at = q->offset;
  while (at > 0 && lex_is_name_part(text[at - 1]))
    at--;
  while (at > 1 && text[at - 1] == '.' && lex_is_name_part(text[at - 2])) {
    uint32_t end = --at;
    while (at > 0 && lex_is_name_part(text[at - 1]))
      at--;
    vec_push(&backwards, text_format("%.*s", (int)(end - at), text + at));
  }
  for (int i = backwards.count - 1; i >= 0; i--)
    vec_push(&path, backwards.at[i]);
  return path;
}

// What may follow `a.b.`
static void add_members_at(CompletionItems *items, const NamePath *path) {
  const AstDeclVec *decls = items->ast ? &items->ast->decls : NULL;
  for (int i = 0; decls && i < path->count; i++)
    decls = members_of(decls, path->at[i]);
  if (decls)
    add_decls(items, decls);
  else if (path->count == 1)
    add_scalar_members(items, path->at[0]);
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
  LspNames names = lsp_names(items->ast);
  vec_each (const LspName *, name, &names) {
    bool here =
        name->loc.start <= items->query->offset && items->query->offset < name->loc.end;
    if (name->is_definition && name->type && !here)
      add_item(items, name->name,
               name->type->kind == TYPE_FUNCTION ? ITEM_FUNCTION : ITEM_VARIABLE,
               type_text(name->type));
  }
}

// The files of the library whose names need no module before them.
static bool is_open_file(const char *path) {
  return !strstr(path, "/mod_") && !strstr(path, "intrinsics") &&
         !strstr(path, "module_types");
}

// ---- names of other files

// The file that an import names; NULL if it cannot be read.
static const SourceFile *imported_file(const AstModExp *exp) {
  static const char *const endings[] = { ".fl", ".fut" };
  const char *here = exp->loc.file->path, *slash = strrchr(here, '/');
  int folder = slash && exp->u.path[0] != '/' ? (int)(slash - here + 1) : 0;
  for (int i = 0; i < 2; i++) {
    size_t length;
    const char *path = text_format("%.*s%s%s", folder, here, exp->u.path, endings[i]);
    const char *text = text_read_file(path, &length);
    if (text) return source_file_new(path, text, length);
  }
  return NULL;
}

// What `import "file"` and `open import "file"` make visible.
static void add_imports(CompletionItems *items) {
  vec_each (AstDecl *const *, decl, &items->ast->decls) {
    const AstDecl *open = *decl;
    while (open->kind == AST_DECL_LOCAL)
      open = open->u.local.decl;
    const AstModExp *exp = open->kind == AST_DECL_OPEN ? open->u.open.exp : NULL;
    if (!exp || exp->kind != MODEXP_IMPORT) continue;
    const SourceFile *file = imported_file(exp);
    const AstProgram *other = file ? source_parse(items->query->c, file) : NULL;
    if (other) add_decls(items, &other->decls);
  }
}

static void add_all_names(CompletionItems *items) {
  if (items->ast) add_typed_names(items);
  if (items->ast) add_imports(items);
  add_names_of_text(items);
  for (int i = 0; i < prelude_file_count; i++)
    if (is_open_file(prelude_files[i].path)) add_library_file(items, &prelude_files[i]);
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

json_t *lsp_completion(LspQuery *q) {
  CompletionItems items = { json_array(), map_new(NULL), q, with_name(q) };
  NamePath path = qualifiers(q);
  if (path.count)
    add_members_at(&items, &path);
  else
    add_all_names(&items);
  return items.list;
}
