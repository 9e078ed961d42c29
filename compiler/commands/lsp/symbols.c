// The definitions of files: of one as a tree, of all as a list.
#include "base/vec.h"
#include "commands/lsp/lsp.h"
#include "source/source.h"
#include <ctype.h>
#include <string.h>

// The numbers of the protocol.
enum {
  SYMBOL_MODULE = 2,
  SYMBOL_INTERFACE = 11,
  SYMBOL_FUNCTION = 12,
  SYMBOL_CONSTANT = 14,
  SYMBOL_STRUCT = 23
};

static json_t *symbols_of(const LspQuery *q, const AstDeclVec *decls);

static json_t *symbol(const LspQuery *q, Name name, int kind, const AstDecl *decl,
                      Loc name_loc) {
  return json_pack("{s:s, s:i, s:o, s:o}", "name", name, "kind", kind, "range",
                   lsp_range(q->lsp, decl->loc), "selectionRange",
                   lsp_range(q->lsp, name_loc));
}

static json_t *module_symbol(const LspQuery *q, const AstDecl *decl) {
  json_t *object =
      symbol(q, decl->u.module.name, SYMBOL_MODULE, decl, decl->u.module.name_loc);
  const AstModExp *body = decl->u.module.exp;
  while (body->kind == MODEXP_ASCRIBE || body->kind == MODEXP_FUNCTION)
    body = body->kind == MODEXP_ASCRIBE ? body->u.ascribe.exp : body->u.function.body;
  if (body->kind == MODEXP_BODY)
    json_object_set_new(object, "children", symbols_of(q, &body->u.body));
  return object;
}

static json_t *decl_symbol(const LspQuery *q, const AstDecl *decl) {
  switch (decl->kind) {
  case AST_DECL_VALUE:
    return symbol(q, decl->u.value.name,
                  decl->u.value.function.params.count ? SYMBOL_FUNCTION : SYMBOL_CONSTANT,
                  decl, decl->u.value.name_loc);
  case AST_DECL_TYPE:
    return symbol(q, decl->u.type.name, SYMBOL_STRUCT, decl, decl->u.type.name_loc);
  case AST_DECL_SPEC:
    return symbol(q, decl->u.spec.name, SYMBOL_FUNCTION, decl, decl->u.spec.name_loc);
  case AST_DECL_MODULE: return module_symbol(q, decl);
  case AST_DECL_MODULE_TYPE:
    return symbol(q, decl->u.module_type.name, SYMBOL_INTERFACE, decl,
                  decl->u.module_type.name_loc);
  case AST_DECL_LOCAL: return decl_symbol(q, decl->u.local.decl);
  case AST_DECL_OPEN: break;
  }
  return NULL;
}

static json_t *symbols_of(const LspQuery *q, const AstDeclVec *decls) {
  json_t *list = json_array();
  vec_each (AstDecl *const *, decl, decls) {
    json_t *object = decl_symbol(q, *decl);
    if (object) json_array_append_new(list, object);
  }
  return list;
}

json_t *lsp_symbols(LspQuery *q) {
  return q->program->ast ? symbols_of(q, &q->program->ast->decls) : json_array();
}

// ---- of all files

typedef struct SymbolSearch {
  const LspQuery *query;
  const char *wanted;
  Map *seen;  // Name of a path -> itself
  json_t *list;
} SymbolSearch;

// Does the name hold these letters, large or small?
static bool holds(const char *name, const char *wanted) {
  size_t length = strlen(wanted);
  for (; strlen(name) >= length; name++) {
    size_t i = 0;
    while (i < length &&
           tolower((unsigned char)name[i]) == tolower((unsigned char)wanted[i]))
      i++;
    if (i == length) return true;
  }
  return false;
}

// `symbols` as symbols_of makes them, with those inside.
static void add_symbols(SymbolSearch *s, const SourceFile *file, const json_t *symbols,
                        const char *module) {
  for (size_t i = 0; i < json_array_size(symbols); i++) {
    const json_t *symbol = json_array_get(symbols, i);
    const char *name = json_string_value(json_object_get(symbol, "name"));
    if (holds(name, s->wanted))
      json_array_append_new(
          s->list, json_pack("{s:s, s:O, s:s*, s:{s:s, s:O}}", "name", name, "kind",
                             json_object_get(symbol, "kind"), "containerName", module,
                             "location", "uri", lsp_uri_of(s->query, file), "range",
                             json_object_get(symbol, "selectionRange")));
    add_symbols(s, file, json_object_get(symbol, "children"), name);
  }
}

static void search_file(SymbolSearch *s, const char *path) {
  Name name = name_of(s->query->c->names, path);
  if (map_has(s->seen, name)) return;
  map_put(s->seen, name, name);
  SourceFile *file = lsp_read_source(s->query->c, name);
  const AstProgram *program = file ? source_parse(compiler_new(), file) : NULL;
  if (program) add_symbols(s, file, symbols_of(s->query, &program->decls), NULL);
}

json_t *lsp_workspace_symbols(LspQuery *q) {
  const char *wanted = json_string_value(json_object_get(q->params, "query"));
  SymbolSearch s = { q, wanted ? wanted : "", map_new(NULL), json_array() };
  vec_each (const LspDocument *, d, &q->lsp->documents)
    if (d->open) search_file(&s, d->path);
  ProgramPaths paths = { 0 };
  if (q->lsp->root) command_find_programs(q->lsp->root, &paths);
  vec_each (const char *const *, path, &paths)
    search_file(&s, *path);
  return s.list;
}
