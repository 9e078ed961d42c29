// Signature help: the parameters of the function whose arguments are being written.
//
// What is being written can hardly be read: tokens say which words are arguments of which, and
// the heads of definitions, `def f [n] (xs: [n]i32) : i32 =`, in the text before them, in the files
// that it imports and in the library, what is expected.
#include "base/embed.h"
#include "base/vec.h"
#include "commands/lsp/lsp.h"
#include "source/lex.h"
#include "types/types.h"
#include <string.h>

typedef struct SignatureParam {
  size_t start, end;  // in the label, which is ASCII
} SignatureParam;

typedef struct SignatureHead {
  Text *label;
  Vec(SignatureParam) params;
  const char *doc;
} SignatureHead;

// ---- brackets

static bool opens(TokenKind kind) {
  return kind == TOKEN_LPAREN || kind == TOKEN_LBRACKET || kind == TOKEN_LBRACE ||
         kind == TOKEN_ATTR;
}

static bool closes(TokenKind kind) {
  return kind == TOKEN_RPAREN || kind == TOKEN_RBRACKET || kind == TOKEN_RBRACE;
}

// Behind the bracket that closes the one at `at`.
static int after_group(const TokenVec *tokens, int at) {
  int depth = 0;
  for (; at < tokens->count; at++) {
    depth += opens(tokens->at[at].kind) - closes(tokens->at[at].kind);
    if (depth == 0) return at + 1;
  }
  return at;
}

// The bracket that the one at `at` closes, or -1.
static int start_of_group(const TokenVec *tokens, int at) {
  int depth = 0;
  for (; at >= 0; at--) {
    depth += closes(tokens->at[at].kind) - opens(tokens->at[at].kind);
    if (depth == 0) break;
  }
  return at;
}

// ---- heads of definitions

static void add_to_label(SignatureHead *s, const SourceFile *file, const TokenVec *tokens,
                         int from, int to) {
  for (int i = from; i < to; i++) {
    const Token *token = &tokens->at[i];
    bool apart = text_length(s->label) && token->start > tokens->at[i - 1].end;
    text_printf(s->label, "%s%.*s", apart ? " " : "", (int)(token->end - token->start),
                file->text + token->start);
  }
}

// Where the parameter, or the parameter of type or size, at `at` ends; `at` if none is there.
static int after_param(const TokenVec *tokens, int at, bool *is_value) {
  TokenKind kind = tokens->at[at].kind;
  *is_value = kind == TOKEN_NAME || kind == TOKEN_UNDERSCORE || kind == TOKEN_LPAREN ||
              kind == TOKEN_LBRACE;
  if (opens(kind)) return after_group(tokens, at);
  if (*is_value) return at + 1;
  bool is_type = kind == TOKEN_APOSTROPHE || kind == TOKEN_APOSTROPHE_HAT ||
                 kind == TOKEN_APOSTROPHE_TILDE;
  return is_type && tokens->at[at + 1].kind == TOKEN_NAME ? at + 2 : at;
}

// Behind the type of the result, as far as one stands there.
static int after_result(const TokenVec *tokens, int at) {
  if (tokens->at[at].kind != TOKEN_COLON) return at;
  int end = at + 1;
  while (tokens->at[end].kind != TOKEN_EQUAL && tokens->at[end].kind != TOKEN_END)
    end = opens(tokens->at[end].kind) ? after_group(tokens, end) : end + 1;
  return tokens->at[end].kind == TOKEN_EQUAL ? end : at;
}

// Is a definition of the name at `at`?
static bool defines(const TokenVec *tokens, int at, Name name) {
  TokenKind kind = tokens->at[at].kind;
  bool begins = kind == TOKEN_DEF || kind == TOKEN_LET || kind == TOKEN_ENTRY;
  return begins && tokens->at[at + 1].kind == TOKEN_NAME &&
         strcmp(tokens->at[at + 1].name, name) == 0;
}

static SignatureHead signature_at(const SourceFile *file, const TokenVec *tokens,
                                  int at) {
  SignatureHead s = { .label = text_new(), .doc = tokens->at[at].doc };
  add_to_label(&s, file, tokens, at + 1, at + 2);
  at += 2;
  for (int end; tokens->at[at].kind != TOKEN_END; at = end) {
    bool is_value;
    end = after_param(tokens, at, &is_value);
    if (end == at) break;
    size_t start = text_length(s.label) + (tokens->at[at].start > tokens->at[at - 1].end);
    add_to_label(&s, file, tokens, at, end);
    if (is_value) vec_push(&s.params, (SignatureParam){ start, text_length(s.label) });
  }
  add_to_label(&s, file, tokens, at, after_result(tokens, at));
  return s;
}

// The last definition of the name that begins before `limit`; false: there is none with parameters.
static bool find_in_file(const SourceFile *file, Name name, uint32_t limit,
                         SignatureHead *found) {
  Compiler *c = compiler_new();  // its messages are nobody's
  TokenVec tokens = lex_file(c, file);
  int last = -1;
  for (int i = 0; i + 1 < tokens.count && tokens.at[i].start < limit; i++)
    if (defines(&tokens, i, name)) last = i;
  if (last < 0) return false;
  *found = signature_at(file, &tokens, last);
  return found->params.count > 0;
}

static bool find_in_library(const char *path, Name name, SignatureHead *found) {
  for (int i = 0; i < prelude_file_count; i++) {
    const EmbeddedFile *f = &prelude_files[i];
    bool here = path ? strcmp(f->path, path) == 0 : lsp_is_open_file(f->path);
    if (here && find_in_file(source_file_new(f->path, f->text, f->length), name,
                             UINT32_MAX, found))
      return true;
  }
  return false;
}

static bool find_in_imports(const LspQuery *q, Name name, SignatureHead *found) {
  const json_t *paths = q->document->imports;
  for (size_t i = 0; i < json_array_size(paths); i++) {
    const SourceFile *file =
        lsp_read_source(q->c, json_string_value(json_array_get(paths, i)));
    if (file && find_in_file(file, name, UINT32_MAX, found)) return true;
  }
  return false;
}

// Of a function, or of one of a module.
static bool find_signature(const LspQuery *q, Name module, Name name,
                           SignatureHead *found) {
  const char *paths[2] = { NULL, NULL };
  if (module && types_module_files(module, paths))
    return (paths[0] && find_in_library(paths[0], name, found)) ||
           (paths[1] && find_in_library(paths[1], name, found));
  return find_in_file(q->program->file, name, q->offset, found) ||
         find_in_imports(q, name, found) ||
         (!module && find_in_library(NULL, name, found));
}

// ---- applications

static bool is_atom(TokenKind kind) {
  return kind == TOKEN_NAME || kind == TOKEN_CONSTRUCTOR || kind == TOKEN_NATURAL ||
         kind == TOKEN_INT || kind == TOKEN_FLOAT || kind == TOKEN_CHAR ||
         kind == TOKEN_STRING || kind == TOKEN_HOLE || kind == TOKEN_TRUE ||
         kind == TOKEN_FALSE || kind == TOKEN_REFERENCE;
}

// Where what ends before `end` begins, a name with all that is in front of its dots and with its
// indices; `end` if that is no argument.
static int start_of_atom(const TokenVec *tokens, int end) {
  int at = end - 1;
  if (at < 0) return end;
  if (closes(tokens->at[at].kind))
    at = start_of_group(tokens, at);
  else if (!is_atom(tokens->at[at].kind))
    return end;
  if (at > 0 && tokens->at[at].kind == TOKEN_LBRACKET && tokens->at[at].touches)
    return start_of_atom(tokens, at);
  if (at > 1 && tokens->at[at - 1].kind == TOKEN_DOT)
    return start_of_atom(tokens, at - 1);
  return at < 0 ? end : at;
}

// The bracket around the place in front of `end`, or -1.
static int bracket_around(const TokenVec *tokens, int end) {
  for (int at = end - 1; at >= 0; at--) {
    TokenKind kind = tokens->at[at].kind;
    if (opens(kind) || kind == TOKEN_DEF || kind == TOKEN_ENTRY)
      return opens(kind) ? at : -1;
    if (closes(kind)) at = start_of_group(tokens, at);
  }
  return -1;
}

// What is applied to words that end before `end`, and to how many; false: nothing that has a name.
static bool applied(const TokenVec *tokens, int end, Name *module, Name *name,
                    int *args) {
  int at = end, count = 0, after = end;
  for (int start; (start = start_of_atom(tokens, at)) < at; at = start) {
    after = at;
    count++;
  }
  *args = count - 1;
  if (count == 0 || tokens->at[at].kind != TOKEN_NAME) return false;
  TokenKind before = at > 0 ? tokens->at[at - 1].kind : TOKEN_END;
  if (before == TOKEN_DEF || before == TOKEN_LET || before == TOKEN_ENTRY) return false;
  *name = tokens->at[after - 1].name;
  *module = after - at > 1 ? tokens->at[after - 3].name : NULL;
  for (int i = at; i < after; i++)
    if (tokens->at[i].kind != (((i - at) & 1) ? TOKEN_DOT : TOKEN_NAME)) return false;
  return true;
}

static json_t *signature_json(const SignatureHead *s, int active) {
  json_t *params = json_array();
  vec_each (const SignatureParam *, p, &s->params)
    json_array_append_new(params,
                          json_pack("{s:[i, i]}", "label", (int)p->start, (int)p->end));
  json_t *signature =
      json_pack("{s:s, s:o}", "label", text_str(s->label), "parameters", params);
  if (s->doc) json_object_set_new(signature, "documentation", json_string(s->doc));
  return json_pack("{s:[o], s:i, s:i}", "signatures", signature, "activeSignature", 0,
                   "activeParameter", active);
}

json_t *lsp_signature(LspQuery *q) {
  TokenVec tokens = lex_file(compiler_new(), q->program->file);
  int end = 0;
  while (end < tokens.count && tokens.at[end].kind != TOKEN_END &&
         tokens.at[end].end <= q->offset)
    end++;
  // The word at the place is the argument that is being written.
  bool inside = end > 0 && tokens.at[end - 1].end == q->offset;
  if (inside) end = start_of_atom(&tokens, end);
  for (; end > 0; end = bracket_around(&tokens, end)) {
    Name module, name;
    int active;
    SignatureHead found;
    if (applied(&tokens, end, &module, &name, &active) &&
        find_signature(q, module, name, &found) && active < found.params.count)
      return signature_json(&found, active);
  }
  return json_null();
}
