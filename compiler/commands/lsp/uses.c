// Who uses a name: the files that are open, and those in the folders of the document and of the
// file that defines the name.
#include "base/vec.h"
#include "commands/lsp/lsp.h"
#include <string.h>

typedef struct UsesWanted {
  LspQuery *query;
  Loc target;  // where the name is defined
  Name name;
  const char *other;  // a name that is to become it, or NULL
  Map *seen;          // Name of a path -> itself
  LspUses uses;
  const char *refused;
} UsesWanted;

static bool defines_target(const Binding *b, Loc target) {
  return b->loc.file == target.file && b->loc.start == target.start;
}

static const LspName *name_of_target(const LspNames *names, Loc target) {
  vec_each (const LspName *, name, names)
    if (defines_target(name->binding, target)) return name;
  return NULL;
}

// A compiler of its own that sees the same files.
Program *lsp_program_of(Compiler *c, SourceFile *file) {
  Program *program = program_of_text(c, file->path, file->text, file->length);
  program->file = file;
  return program;
}

static bool leads_to(const UsesWanted *s, Program *program, Compiler *c) {
  LspQuery q = *s->query;
  q.program = program;
  q.c = c;
  return program->file == s->target.file ||
         (program->ast && lsp_import_of(&q, s->target.file).file);
}

static void look_in(UsesWanted *s, SourceFile *file) {
  Compiler *c = compiler_new();
  c->names = s->query->c->names;
  c->sources = s->query->c->sources;
  Program *program = lsp_program_of(c, file);
  bool checked = pipeline_run(c, program, "check");
  if (!leads_to(s, program, c)) return;
  if (!checked) s->refused = text_format("%s has errors", command_file_name(file->path));
  LspUse use = { program, { 0 }, NULL };
  if (checked) use.names = lsp_names(c, program->ast);
  use.name = name_of_target(&use.names, s->target);
  if (use.name || s->other) vec_push(&s->uses, use);
}

SourceFile *lsp_read_source(Compiler *c, const char *path) {
  Name name = name_of(c->names, path);
  SourceFile *known = map_get(c->sources, name);
  size_t length;
  const char *text = known ? NULL : text_read_lines(name, &length);
  if (!text) return known;
  known = source_file_new(name, text, length);
  map_put(c->sources, name, known);
  return known;
}

static void look_at(UsesWanted *s, const char *path) {
  Name name = name_of(s->query->c->names, path);
  if (map_has(s->seen, name)) return;
  map_put(s->seen, name, name);
  SourceFile *file = lsp_read_source(s->query->c, name);
  bool mentions =
      file && (strstr(file->text, s->name) || (s->other && strstr(file->text, s->other)));
  if (mentions) look_in(s, file);
}

static void look_around(UsesWanted *s, const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return;
  ProgramPaths paths = { 0 };
  command_find_programs_in(text_format("%.*s", (int)(slash - path + 1), path), &paths);
  vec_each (const char *const *, other, &paths)
    look_at(s, *other);
}

LspUses lsp_uses(LspQuery *q, const LspName *name, const char *other,
                 const char **refused) {
  UsesWanted s = { q, name->binding->loc, name->name, other, map_new(NULL), { 0 }, NULL };
  look_at(&s, q->program->file->path);
  vec_each (const LspDocument *, d, &q->lsp->documents)
    if (d->open) look_at(&s, d->path);
  look_around(&s, s.target.file->path);
  look_around(&s, q->program->file->path);
  *refused = s.refused;
  return s.uses;
}

const char *lsp_uri_of(const LspQuery *q, const SourceFile *file) {
  vec_each (const LspDocument *, d, &q->lsp->documents)
    if (d->open && strcmp(d->path, file->path) == 0) return d->uri;
  return lsp_uri_of_path(file->path);
}
