// Renaming: a name gets another one in all files that use it, if the programs then mean the same.
#include "base/vec.h"
#include "commands/lsp/lsp.h"
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

// A file with the new name.
typedef struct Renamed {
  const Lsp *lsp;
  const LspUse *use;
  const char *to;
  json_t *edits;
  Text *text;
  uint32_t done;   // up to here of the old text
  LspNames names;  // of the new one
} Renamed;
typedef Vec(Renamed) RenamedFiles;

// {x} becomes {x = y}.
static void replace(Renamed *r, const LspName *place) {
  const char *text = place->is_field ? text_format("%s = %s", place->name, r->to) : r->to;
  const SourceFile *file = r->use->program->file;
  json_array_append_new(
      r->edits,
      json_pack("{s:o, s:s}", "range", lsp_range(r->lsp, place->loc), "newText", text));
  text_add_bytes(r->text, file->text + r->done, place->loc.start - r->done);
  text_add(r->text, text);
  r->done = place->loc.end;
}

static void replace_all(Renamed *r) {
  const LspName *last = NULL;
  vec_each (const LspName *, other, &r->use->names) {
    bool again = last && last->loc.start == other->loc.start;
    if (again || !r->use->name || !lsp_same_name(&r->use->names, r->use->name, other))
      continue;
    last = other;
    replace(r, other);
  }
  text_add(r->text, r->use->program->file->text + r->done);
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

// How many names of the file stand before a place.
static int names_before(const LspNames *names, uint32_t start) {
  int count = 0;
  while (count < names->count && names->at[count].loc.start < start)
    count++;
  return count;
}

// Are both defined at the same place of the same file, which may have got another text?
static bool same_definition(const RenamedFiles *files, const Binding *a,
                            const Binding *b) {
  if (!a->loc.file || !b->loc.file) return !a->loc.file && !b->loc.file;
  if (strcmp(a->loc.file->path, b->loc.file->path) != 0) return false;
  vec_each (const Renamed *, r, files)
    if (r->use->program->file == a->loc.file)
      return names_before(&r->use->names, a->loc.start) ==
             names_before(&r->names, b->loc.start);
  return a->loc.start == b->loc.start;
}

static bool means_the_same(const RenamedFiles *files, const Renamed *r) {
  const LspNames *before = &r->use->names;
  if (!same_structure(before, &r->names)) return false;
  for (int i = 0; i < before->count; i++)
    if (!same_definition(files, before->at[i].binding, r->names.at[i].binding))
      return false;
  return true;
}

static void give_source(void *state, const void *path, void *file) {
  map_put(state, path, file);
}

static void give_renamed(const Compiler *c, const RenamedFiles *files) {
  vec_each (const Renamed *, r, files) {
    const char *path = r->use->program->file->path, *text = text_str(r->text);
    map_put(c->sources, name_of(c->names, path),
            source_file_new(path, text, strlen(text)));
  }
}

// Are the new texts programs without errors whose names refer to one another as before?
static bool keep_meaning(const LspQuery *q, RenamedFiles *files) {
  Map *sources = map_new(NULL);
  map_each(q->c->sources, give_source, sources);
  vec_each (Renamed *, r, files) {
    Compiler *c = compiler_new();
    c->names = q->c->names;
    c->sources = sources;
    if (r == files->at) give_renamed(c, files);
    Name path = name_of(c->names, r->use->program->file->path);
    Program *program = lsp_program_of(c, map_get(sources, path));
    if (!pipeline_run(c, program, "check")) return false;
    r->names = lsp_names(c, program->ast);
  }
  vec_each (const Renamed *, r, files)
    if (!means_the_same(files, r)) return false;
  return true;
}

static json_t *refusal(const char *why) { return json_pack("{s:s}", "refused", why); }

static json_t *rename_uses(LspQuery *q, const LspUses *uses, const char *to) {
  RenamedFiles files = { 0 };
  json_t *changes = json_object();
  vec_each (const LspUse *, use, uses) {
    Renamed r = { q->lsp, use, to, json_array(), text_new(), 0, { 0 } };
    replace_all(&r);
    if (use->name) json_object_set(changes, lsp_uri_of(q, use->program->file), r.edits);
    vec_push(&files, r);
  }
  if (!keep_meaning(q, &files)) return refusal("the program would mean something else");
  return json_pack("{s:o}", "changes", changes);
}

json_t *lsp_rename(LspQuery *q) {
  const char *to = json_string_value(json_object_get(q->params, "newName"));
  if (!q->program->checked) return refusal("the program has errors");
  if (!is_new_name(to)) return refusal("that is no name");
  LspNames names = lsp_names(q->c, q->program->ast);
  const LspName *name = lsp_name_at(&names, q->offset);
  const SourceFile *file = name ? name->binding->loc.file : NULL;
  if (!name) return refusal("there is no name of a value here");
  if (!file || file->built_in) return refusal("the name belongs to the language");
  const char *refused = NULL;
  LspUses uses = lsp_uses(q, name, to, &refused);
  return refused ? refusal(refused) : rename_uses(q, &uses, to);
}
