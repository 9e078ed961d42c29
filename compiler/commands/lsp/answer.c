// What the language server says about a place or a document.
#include "base/diag_show.h"
#include "base/vec.h"
#include "commands/lsp/lsp.h"
#include "source/format.h"
#include "source/lex.h"
#include <string.h>

// ---- messages

static bool same_loc(Loc a, Loc b) {
  return a.file == b.file && a.start == b.start && a.end == b.end;
}

static json_t *related_place(const LspQuery *q, Loc loc, const char *text) {
  json_t *place = lsp_location(q->lsp, lsp_uri_of_path(loc.file->path), loc);
  return json_pack("{s:o, s:s}", "location", place, "message", text);
}

// The notes about other places, and what stands in another file itself.
static json_t *related(const LspQuery *q, const DiagMessage *message) {
  json_t *list = json_array();
  const SourceFile *file = message->loc.file;
  if (file && file != q->program->file && !file->built_in)
    json_array_append_new(list, related_place(q, message->loc, message->text));
  vec_each (const DiagMessage *, note, &message->notes) {
    bool elsewhere = note->kind == MESSAGE_NOTE && !same_loc(note->loc, message->loc);
    if (!elsewhere || !note->loc.file || note->loc.file->built_in) continue;
    json_array_append_new(list, related_place(q, note->loc, note->text));
  }
  return list;
}

// The message with its hints and the notes about the same place.
static const char *whole_message(const DiagMessage *message) {
  Text *t = text_new();
  text_add(t, message->text);
  vec_each (const DiagMessage *, note, &message->notes) {
    if (note->kind == MESSAGE_HINT) text_printf(t, "\nhint: %s", note->text);
    if (note->kind == MESSAGE_NOTE && same_loc(note->loc, message->loc))
      text_printf(t, "\nnote: %s", note->text);
  }
  return text_str(t);
}

// A message about another file stands where that is imported.
static Loc place_in_document(const LspQuery *q, Loc loc) {
  Loc import = loc.file ? lsp_import_of(q, loc.file) : (Loc){ 0 };
  return import.file ? import : (Loc){ q->program->file, 0, 0 };
}

static json_t *diagnostic(const LspQuery *q, const DiagMessage *message) {
  enum { SEVERITY_ERROR = 1, SEVERITY_WARNING = 2 };
  bool here = message->loc.file == q->program->file;
  const char *text = whole_message(message);
  if (!here && message->loc.file)
    text = text_format("%s: %s", loc_text(message->loc), text);
  Loc loc = here ? message->loc : place_in_document(q, message->loc);
  int severity = message->kind == MESSAGE_WARNING ? SEVERITY_WARNING : SEVERITY_ERROR;
  return json_pack("{s:o, s:i, s:s, s:s, s:o}", "range", lsp_range(q->lsp, loc),
                   "severity", severity, "source", "flc", "message", text,
                   "relatedInformation", related(q, message));
}

json_t *lsp_diagnostics(LspQuery *q) {
  pipeline_run(q->c, q->program, "elaborate");
  json_t *list = json_array();
  const DiagMessage *messages = NULL;
  int count = diag_messages(q->c, &messages);
  for (int i = 0; i < count; i++)
    json_array_append_new(list, diagnostic(q, &messages[i]));
  return json_pack("{s:o, s:o}", "messages", list, "imports",
                   q->program->ast ? lsp_imports(q) : json_null());
}

// ---- names

static const LspName *name_asked(const LspQuery *q, LspNames *names) {
  *names = (LspNames){ 0 };
  if (!q->program->ast) return NULL;
  *names = lsp_names(q->c, q->program->ast);
  return lsp_name_at(names, q->offset);
}

static const char *doc_in(const AstDeclVec *decls, const Binding *binding) {
  vec_each (AstDecl *const *, decl, decls) {
    bool is_it =
        ((*decl)->kind == AST_DECL_VALUE && (*decl)->u.value.binding == binding) ||
        ((*decl)->kind == AST_DECL_SPEC && (*decl)->u.spec.binding == binding);
    if (is_it) return (*decl)->doc;
  }
  return NULL;
}

static const char *doc_of(const LspQuery *q, const Binding *binding) {
  const char *doc = doc_in(&q->program->ast->decls, binding);
  return doc || !q->program->checked ? doc : doc_in(&q->program->checked->decls, binding);
}

static json_t *hover(const LspQuery *q, Loc loc, const char *title, const char *doc) {
  const char *text =
      text_format("```fl\n%s\n```%s%s", title, doc ? "\n\n" : "", doc ? doc : "");
  return json_pack("{s:{s:s, s:s}, s:o}", "contents", "kind", "markdown", "value", text,
                   "range", lsp_range(q->lsp, loc));
}

// The line that defines a type or module.
static const char *defining_line(Loc loc) {
  const char *line = loc.file->text + loc_line_start(loc);
  line += strspn(line, " \t");
  return text_format("%.*s", (int)strcspn(line, "\r\n"), line);
}

json_t *lsp_hover(LspQuery *q) {
  LspNames names;
  const LspName *name = name_asked(q, &names);
  if (name && name->type)
    return hover(q, name->loc, text_format("%s : %s", name->name, type_text(name->type)),
                 doc_of(q, name->binding));
  if (name && name->binding->loc.file && !name->binding->loc.file->built_in)
    return hover(q, name->loc, defining_line(name->binding->loc), NULL);
  const AstExp *exp = q->program->ast ? lsp_exp_at(q->program->ast, q->offset) : NULL;
  return exp ? hover(q, exp->loc, type_text(exp->type), NULL) : json_null();
}

// The word at the place that is asked about; empty if there is none.
static const char *word_asked(const LspQuery *q) {
  const char *text = q->program->file->text;
  uint32_t start = q->offset, end = q->offset;
  while (start > 0 && lex_is_name_part(text[start - 1]))
    start--;
  while (lex_is_name_part(text[end]))
    end++;
  return text_format("%.*s", (int)(end - start), text + start);
}

// Where the definition stands if it is one of a type or module of this name.
static Loc place_of_type(const AstDecl *decl, const char *name) {
  if (decl->kind == AST_DECL_LOCAL) return place_of_type(decl->u.local.decl, name);
  if (decl->kind == AST_DECL_TYPE && strcmp(decl->u.type.name, name) == 0)
    return decl->u.type.name_loc;
  if (decl->kind == AST_DECL_MODULE && strcmp(decl->u.module.name, name) == 0)
    return decl->u.module.name_loc;
  if (decl->kind == AST_DECL_MODULE_TYPE && strcmp(decl->u.module_type.name, name) == 0)
    return decl->u.module_type.name_loc;
  return (Loc){ 0 };
}

// The type or module at top level that has the name of the word, if there is only one.
static Loc type_asked(const LspQuery *q) {
  const char *name = word_asked(q);
  Loc found = { 0 };
  if (!q->program->ast) return found;
  vec_each (AstDecl *const *, decl, &q->program->ast->decls) {
    Loc loc = place_of_type(*decl, name);
    if (loc.file && found.file) return (Loc){ 0 };
    if (loc.file) found = loc;
  }
  return found;
}

json_t *lsp_definition(LspQuery *q) {
  LspNames names;
  const LspName *name = name_asked(q, &names);
  const SourceFile *file = name ? NULL : lsp_import_asked(q);
  Loc loc = name ? name->binding->loc : file ? (Loc){ file, 0, 0 } : type_asked(q);
  if (!loc.file || loc.file->built_in) return json_null();
  bool here = loc.file == q->program->file;
  return lsp_location(q->lsp, here ? q->document->uri : lsp_uri_of_path(loc.file->path),
                      loc);
}

// Adds each place of a name once; `make` says what stands for it.
static void add_places(json_t *list, const LspQuery *q, const LspNames *names,
                       const LspName *name,
                       json_t *(*make)(const LspQuery *q, const LspName *place)) {
  uint32_t last = UINT32_MAX;
  vec_each (const LspName *, other, names) {
    if (other->loc.start == last || !lsp_same_name(names, name, other)) continue;
    last = other->loc.start;
    json_t *made = make(q, other);
    if (made) json_array_append_new(list, made);
  }
}

static json_t *reference(const LspQuery *q, const LspName *place) {
  const json_t *context = json_object_get(q->params, "context");
  bool wanted = !json_is_false(json_object_get(context, "includeDeclaration"));
  if (place->is_definition && !wanted) return NULL;
  return lsp_location(q->lsp, lsp_uri_of(q, place->loc.file), place->loc);
}

static json_t *highlight(const LspQuery *q, const LspName *place) {
  enum { HIGHLIGHT_READ = 2, HIGHLIGHT_WRITE = 3 };
  return json_pack("{s:o, s:i}", "range", lsp_range(q->lsp, place->loc), "kind",
                   place->is_definition ? HIGHLIGHT_WRITE : HIGHLIGHT_READ);
}

// In all files, if this one has no errors.
json_t *lsp_references(LspQuery *q) {
  LspNames names;
  const LspName *name = name_asked(q, &names);
  json_t *list = json_array();
  if (!name) return list;
  const char *refused = NULL;
  LspUses uses = { 0 };
  const SourceFile *file = name->binding->loc.file;
  bool everywhere = q->program->checked && file && !file->built_in;
  if (everywhere) uses = lsp_uses(q, name, NULL, &refused);
  if (!uses.count) add_places(list, q, &names, name, reference);
  vec_each (const LspUse *, use, &uses)
    add_places(list, q, &use->names, use->name, reference);
  return list;
}

json_t *lsp_highlights(LspQuery *q) {
  LspNames names;
  const LspName *name = name_asked(q, &names);
  json_t *list = json_array();
  if (name) add_places(list, q, &names, name, highlight);
  return list;
}

// ---- layout

json_t *lsp_formatting(LspQuery *q) {
  const SourceFile *file = q->program->file;
  const char *text = source_format(q->c, file, FORMAT_WIDTH);
  json_t *edits = json_array();
  if (!text || strcmp(text, file->text) == 0) return edits;
  Loc all = { file, 0, (uint32_t)file->length };
  json_array_append_new(
      edits, json_pack("{s:o, s:s}", "range", lsp_range(q->lsp, all), "newText", text));
  return edits;
}
