// What editors offer beside the text: types that are not written, and edits that messages propose.
#include "base/vec.h"
#include "commands/lsp/lsp.h"
#include "source/lex.h"
#include "types/check.h"
#include <string.h>

// ---- types that are not written

static bool is_size_in_brackets(const LspName *name) {
  const char *text = name->loc.file->text;
  return name->loc.start > 0 && text[name->loc.start - 1] == '[' &&
         text[name->loc.end] == ']';
}

// Does a type follow already, or the index of an update?
static bool is_typed(const LspName *name) {
  const char *after = name->loc.file->text + name->loc.end;
  after += strspn(after, " \t\r\n");
  return *after == ':' || *after == '[';
}

static bool wants_type(const LspName *name) {
  if (!name->is_definition || name->is_field || !name->type || *name->name == '_')
    return false;
  if (name->binding->kind != BIND_VALUE && name->binding->kind != BIND_FUNCTION)
    return false;
  if (type_resolve(name->type)->kind == TYPE_FUNCTION) return false;
  if (strcmp(type_text(name->type), "_") == 0) return false;
  return !is_size_in_brackets(name) && !is_typed(name);
}

static json_t *type_hint(const LspQuery *q, const LspName *name) {
  enum { KIND_TYPE = 1, MOST_COLUMNS = 60 };
  const char *type = type_text(name->type);
  const char *text = text_format(": %s", type + (*type == '*'));
  if (strlen(text) > MOST_COLUMNS) text = text_format("%.*s..", MOST_COLUMNS - 2, text);
  json_t *range =
      lsp_range(q->lsp, (Loc){ name->loc.file, name->loc.end, name->loc.end });
  json_t *hint = json_pack("{s:O, s:s, s:i}", "position", json_object_get(range, "start"),
                           "label", text, "kind", KIND_TYPE);
  json_decref(range);
  return hint;
}

json_t *lsp_inlay_hints(LspQuery *q) {
  json_t *list = json_array();
  if (!q->program->ast) return list;
  const json_t *range = json_object_get(q->params, "range");
  const SourceFile *file = q->program->file;
  uint32_t from = lsp_offset(q->lsp, file, json_object_get(range, "start"));
  uint32_t to = lsp_offset(q->lsp, file, json_object_get(range, "end"));
  uint32_t last = UINT32_MAX;
  LspNames names = lsp_names(q->c, q->program->ast);
  vec_each (const LspName *, name, &names) {
    if (name->loc.end < from || name->loc.end > to || name->loc.start == last) continue;
    if (!wants_type(name)) continue;
    last = name->loc.start;
    json_array_append_new(list, type_hint(q, name));
  }
  return list;
}

// ---- edits that messages propose

// A message that the editor has, and what it is about.
typedef struct Told {
  const LspQuery *q;
  json_t *diagnostic, *actions;
  const char *message, *about;
} Told;

static void propose(const Told *told, const char *title, const char *text) {
  json_t *edit = json_pack("{s:O, s:s}", "range",
                           json_object_get(told->diagnostic, "range"), "newText", text);
  json_array_append_new(told->actions,
                        json_pack("{s:s, s:s, s:[O], s:{s:{s:[o]}}}", "title", title,
                                  "kind", "quickfix", "diagnostics", told->diagnostic,
                                  "edit", "changes", told->q->document->uri, edit));
}

static bool is_word(const char *text) {
  for (; *text; text++)
    if (!lex_is_name_part(*text) && *text != '.' && *text != '#') return false;
  return true;
}

// The text between the next two backquotes from `at` on, which moves behind them; NULL if there is
// none.
static const char *quoted(const char **at) {
  const char *open = strchr(*at, '`'), *close = open ? strchr(open + 1, '`') : NULL;
  if (!close) return NULL;
  *at = close + 1;
  return text_format("%.*s", (int)(close - open - 1), open + 1);
}

// did you mean `sqrt`?, for `f32.sqroot` too
static void propose_name(const Told *told) {
  const char *hint = strstr(told->message, "hint: did you mean `");
  const char *name = hint ? quoted(&hint) : NULL;
  if (!name || !is_word(told->about)) return;
  const char *dot = strrchr(told->about, '.');
  int kept = dot && !strchr(name, '.') ? (int)(dot - told->about) + 1 : 0;
  propose(told, text_format("Change to %s", name),
          text_format("%.*s%s", kept, told->about, name));
}

// unknown type `float`, hint: write `f32`
static void propose_word(const Told *told) {
  const char *hint = strstr(told->message, "hint: write `");
  bool is_unknown = strncmp(told->message, "unknown ", 8) == 0 ||
                    strstr(told->message, " is no operator\n") ||
                    strncmp(told->message, "unexpected character", 20) == 0;
  const char *text = hint && is_unknown ? quoted(&hint) : NULL;
  if (!text || *hint) return;
  propose(told, text_format("Change to %s", text), text);
}

static bool ends_with(const char *text, const char *end) {
  size_t length = strlen(text), tail = strlen(end);
  return length > tail && strcmp(text + length - tail, end) == 0;
}

// `f32.i64 (length xs)` converts it, or `f64.i64 (length xs)`
static void propose_conversions(const Told *told) {
  const char *hint = strstr(told->message, "hint: `");
  if (!hint || !strstr(hint, "` converts ")) return;
  const char *bracketed = text_format("(%s)", told->about);
  for (const char *text; (text = quoted(&hint));) {
    const char *with =
        text_format(" %s", ends_with(text, bracketed) ? bracketed : told->about);
    if (!ends_with(text, with)) continue;
    int function = (int)(strlen(text) - strlen(with));
    propose(told, text_format("Convert by %.*s", function, text),
            text_format("(%s)", text));
  }
}

// unused name `x`
static void propose_underscore(const Told *told) {
  if (strncmp(told->message, "unused name `", 13) != 0 || !is_word(told->about)) return;
  propose(told, text_format("Rename to _%s, which is not used", told->about),
          text_format("_%s", told->about));
}

json_t *lsp_code_actions(LspQuery *q) {
  json_t *context = json_object_get(q->params, "context");
  json_t *diagnostics = json_object_get(context, "diagnostics");
  json_t *actions = json_array();
  const SourceFile *file = q->program->file;
  for (size_t i = 0; i < json_array_size(diagnostics); i++) {
    json_t *diagnostic = json_array_get(diagnostics, i);
    const char *message = json_string_value(json_object_get(diagnostic, "message"));
    json_t *range = json_object_get(diagnostic, "range");
    uint32_t start = lsp_offset(q->lsp, file, json_object_get(range, "start"));
    uint32_t end = lsp_offset(q->lsp, file, json_object_get(range, "end"));
    if (!message || end <= start) continue;
    const char *about = text_format("%.*s", (int)(end - start), file->text + start);
    Told told = { q, diagnostic, actions, message, about };
    propose_name(&told);
    propose_word(&told);
    propose_conversions(&told);
    propose_underscore(&told);
  }
  return actions;
}
