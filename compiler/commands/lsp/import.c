// The files that a document imports.
#include "base/vec.h"
#include "commands/lsp/lsp.h"
#include "source/source.h"

typedef struct ImportWalk {
  Compiler *c;     // one whose messages nobody reads
  Map *paths;      // Name -> itself, of all files seen
  json_t *listed;  // the same in order
} ImportWalk;

const AstProgram *lsp_imported(Compiler *c, const AstModExp *import) {
  const SourceFile *file = source_import(c, import);
  return file ? source_parse(c, file) : NULL;
}

typedef void (*ImportVisit)(void *state, const AstModExp *import);

static void each_import(const AstDeclVec *decls, ImportVisit visit, void *state);

static void each_import_in(const AstModExp *exp, ImportVisit visit, void *state) {
  if (!exp) return;
  switch (exp->kind) {
  case MODEXP_NAME: return;
  case MODEXP_IMPORT: visit(state, exp); return;
  case MODEXP_BODY: each_import(&exp->u.body, visit, state); return;
  case MODEXP_APPLY:
    each_import_in(exp->u.apply.function, visit, state);
    each_import_in(exp->u.apply.arg, visit, state);
    return;
  case MODEXP_ASCRIBE: each_import_in(exp->u.ascribe.exp, visit, state); return;
  case MODEXP_FUNCTION: each_import_in(exp->u.function.body, visit, state); return;
  }
}

static void each_import(const AstDeclVec *decls, ImportVisit visit, void *state) {
  vec_each (AstDecl *const *, d, decls) {
    const AstDecl *decl = *d;
    while (decl->kind == AST_DECL_LOCAL)
      decl = decl->u.local.decl;
    if (decl->kind == AST_DECL_OPEN) each_import_in(decl->u.open.exp, visit, state);
    if (decl->kind == AST_DECL_MODULE) each_import_in(decl->u.module.exp, visit, state);
  }
}

// The file and those that it imports; one that is not there is expected at its first path.
static void follow_import(void *state, const AstModExp *import) {
  ImportWalk *w = state;
  const SourceFile *file = source_import(w->c, import);
  Name path = name_of(w->c->names, file ? file->path : source_import_path(import, ".fl"));
  if (map_has(w->paths, path)) return;
  map_put(w->paths, path, path);
  json_array_append_new(w->listed, json_string(path));
  const AstProgram *program = file ? source_parse(w->c, file) : NULL;
  if (program) each_import(&program->decls, follow_import, w);
}

static ImportWalk import_walk_new(const LspQuery *q) {
  Compiler *c = compiler_new();
  c->names = q->c->names;
  c->sources = q->c->sources;
  return (ImportWalk){ c, map_new(NULL), json_array() };
}

json_t *lsp_imports(const LspQuery *q) {
  ImportWalk w = import_walk_new(q);
  if (q->program->ast) each_import(&q->program->ast->decls, follow_import, &w);
  return w.listed;
}

// Looks for the first import that leads to a file.
typedef struct ImportSearch {
  const LspQuery *query;
  Name wanted;
  Loc found;
} ImportSearch;

static void search_import(void *state, const AstModExp *import) {
  ImportSearch *s = state;
  if (s->found.file) return;
  ImportWalk w = import_walk_new(s->query);
  follow_import(&w, import);
  if (map_has(w.paths, s->wanted)) s->found = import->loc;
}

Loc lsp_import_of(const LspQuery *q, const SourceFile *file) {
  ImportSearch s = { q, name_of(q->c->names, file->path), { 0 } };
  if (q->program->ast) each_import(&q->program->ast->decls, search_import, &s);
  return s.found;
}

// Looks for the import whose path is at a place.
typedef struct ImportAsked {
  const LspQuery *query;
  const SourceFile *file;
} ImportAsked;

static void ask_import(void *state, const AstModExp *import) {
  ImportAsked *a = state;
  if (import->loc.start <= a->query->offset && a->query->offset < import->loc.end)
    a->file = source_import(import_walk_new(a->query).c, import);
}

const SourceFile *lsp_import_asked(const LspQuery *q) {
  ImportAsked a = { q, NULL };
  if (q->program->ast) each_import(&q->program->ast->decls, ask_import, &a);
  return a.file;
}
