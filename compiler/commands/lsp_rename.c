// Renaming: the names of a file get another one, if the program then means the same.
#include "base/vec.h"
#include "commands/lsp.h"
#include "source/lex.h"
#include <string.h>

static bool is_new_name(const char *name) {
  if (!name || !lex_is_name_start(*name)) return false;
  for (const char *s = name; *s; s++)
    if (!lex_is_name_part(*s)) return false;
  for (int kind = TOKEN_TRUE; kind <= TOKEN_CASE; kind++)
    if (strncmp(token_text((TokenKind)kind) + 1, name, strlen(name)) == 0 &&
        token_text((TokenKind)kind)[strlen(name) + 1] == '\'')
      return false;
  return true;
}

typedef struct Renamed {
  LspQuery *query;
  const char *to;
  json_t *edits;
  Text *text;     // the file with the new name
  uint32_t done;  // up to here of the old one
} Renamed;

// {x} becomes {x = y}.
static void replace(Renamed *r, const LspName *place) {
  const char *text = place->is_field ? text_format("%s = %s", place->name, r->to) : r->to;
  const SourceFile *file = r->query->program->file;
  json_array_append_new(
      r->edits, json_pack("{s:o, s:s}", "range", lsp_range(place->loc), "newText", text));
  text_add_bytes(r->text, file->text + r->done, place->loc.start - r->done);
  text_add(r->text, text);
  r->done = place->loc.end;
}

static void replace_all(Renamed *r, const LspNames *names, const LspName *name) {
  const LspName *last = NULL;
  vec_each (const LspName *, other, names) {
    bool again = last && last->loc.start == other->loc.start;
    if (again || !lsp_same_name(names, name, other)) continue;
    last = other;
    replace(r, other);
  }
  text_add(r->text, r->query->program->file->text + r->done);
}

// For each name the first one in the file that refers to the same.
static bool same_structure(const LspNames *a, const LspNames *b) {
  if (a->count != b->count) return false;
  for (int i = 0; i < a->count; i++)
    for (int k = 0; k < i; k++)
      if ((a->at[i].binding == a->at[k].binding) !=
          (b->at[i].binding == b->at[k].binding))
        return false;
  return true;
}

// Is the new text a program without errors whose names refer to one another as before?
static bool keeps_meaning(const Renamed *r, const LspNames *before) {
  Compiler *c = compiler_new();
  const char *text = text_str(r->text);
  Program *program = program_of_text(c, r->query->program->path, text, strlen(text));
  if (!pipeline_run(c, program, "check")) return false;
  LspNames after = lsp_names(c, program->ast);
  return same_structure(before, &after);
}

static json_t *refusal(const char *why) { return json_pack("{s:s}", "refused", why); }

json_t *lsp_rename(LspQuery *q) {
  const char *to = json_string_value(json_object_get(q->params, "newName"));
  if (!q->program->checked) return refusal("the program has errors");
  if (!is_new_name(to)) return refusal("that is no name");
  LspNames names = lsp_names(q->c, q->program->ast);
  const LspName *name = lsp_name_at(&names, q->offset);
  if (!name) return refusal("there is no name of a value here");
  if (name->binding->loc.file != q->program->file)
    return refusal("the name comes from another file");
  Renamed r = { q, to, json_array(), text_new(), 0 };
  replace_all(&r, &names, name);
  if (!keeps_meaning(&r, &names)) return refusal("the program would mean something else");
  return json_pack("{s:{s:o}}", "changes", q->document->uri, r.edits);
}
