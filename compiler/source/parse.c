// The parser's view of the tokens, its messages, and the entries.
#include "source/parse.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const Token *peek_at(const Parser *p, int ahead) {
  int last = p->tokens.count - 1;
  bool outside = p->failed || p->at + ahead > last;
  return &p->tokens.at[outside ? last : p->at + ahead];
}

const Token *peek(const Parser *p) { return peek_at(p, 0); }
TokenKind peek_kind(const Parser *p) { return peek(p)->kind; }
bool at_kind(const Parser *p, TokenKind kind) { return peek_kind(p) == kind; }

bool token_is_operator(const Token *token, const char *spelling) {
  return token->kind == TOKEN_OPERATOR && token->end - token->start == strlen(spelling) &&
         strcmp(token->name, spelling) == 0;
}

bool at_operator(const Parser *p, const char *spelling) {
  return token_is_operator(peek(p), spelling);
}

const Token *next(Parser *p) {
  const Token *token = peek(p);
  if (!p->failed && token->kind != TOKEN_END) p->at++;
  return token;
}

bool accept(Parser *p, TokenKind kind) {
  if (!at_kind(p, kind)) return false;
  next(p);
  return kind != TOKEN_END;
}

bool accept_operator(Parser *p, const char *spelling) {
  if (!at_operator(p, spelling)) return false;
  next(p);
  return true;
}

Loc token_loc(const Parser *p, const Token *token) {
  return (Loc){ .file = p->file, .start = token->start, .end = token->end };
}

static const Token *last_taken(const Parser *p) {
  return p->at > 0 ? &p->tokens.at[p->at - 1] : &p->tokens.at[0];
}

Loc loc_since(const Parser *p, Loc from) {
  uint32_t end = last_taken(p)->end;
  if (end > from.end) from.end = end;
  return from;
}

Loc loc_from(const Parser *p, const Token *first) {
  return loc_since(p, token_loc(p, first));
}

// The token's own text in quotes, cut if it is long; literals and names with their kind.
static const char *describe(const Parser *p, const Token *token) {
  if (token->kind == TOKEN_END) return "end of file";
  int length = (int)(token->end - token->start);
  const char *text = p->file->text + token->start;
  const char *dots = length > 40 ? "..." : "";
  int shown = length > 40 ? 40 : length;
  while (shown < length && shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80)
    shown--;
  return text_format("'%.*s%s'", shown, text, dots);
}

void fail_at(Parser *p, Loc loc, const char *format, ...) {
  if (p->failed) return;
  va_list args;
  va_start(args, format);
  char text[400];
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  error(p->c, loc, "%s", text);
  p->failed = p->mistaken = true;
}

// Right behind the last token at the end of the file, which may be some lines below.
static Loc found_loc(const Parser *p) {
  const Token *found = peek(p);
  if (found->kind != TOKEN_END || p->at == 0) return token_loc(p, found);
  uint32_t end = last_taken(p)->end;
  return (Loc){ .file = p->file, .start = end, .end = end };
}

// Without a last token, "at the start".
static void report_expected(Parser *p, const char *what) {
  const Token *found = peek(p);
  const char *after =
      p->at == 0 ? "" : text_format(" after %s", describe(p, last_taken(p)));
  error(p->c, found_loc(p), "expected %s%s, found %s", what, after, describe(p, found));
}

static bool fail_unexplained(Parser *p, const char *what) {
  if (p->failed) return false;
  bool told = peek_kind(p) != TOKEN_BAD;
  if (told) report_expected(p, what);
  p->failed = p->mistaken = true;
  return told;
}

void fail_expected(Parser *p, const char *what) {
  if (fail_unexplained(p, what)) parse_hint(p, what);
}

const Token *expect(Parser *p, TokenKind kind) {
  if (!at_kind(p, kind)) fail_expected(p, token_text(kind));
  return next(p);
}

void expect_close(Parser *p, TokenKind kind, const Token *open) {
  if (p->failed || accept(p, kind)) return;
  if (!fail_unexplained(p, token_text(kind))) return;
  Loc loc = token_loc(p, open);
  note(p->c, loc, "to close %s at line %d", describe(p, open), loc_line_col(loc).line);
  parse_hint_bracket(p, open);
}

Name expect_name(Parser *p, const char *what) {
  if (!at_kind(p, TOKEN_NAME)) fail_expected(p, what);
  Name name = next(p)->name;
  return name ? name : name_of(p->c->names, "?");
}

// the number of a tuple's component without underscores and leading zeros stays as it is written
Name expect_field(Parser *p) {
  if (at_kind(p, TOKEN_NATURAL)) return next(p)->name;
  return expect_name(p, "a field");
}

static void fail_too_deep(Parser *p, const char *what, int most) {
  fail_at(p, token_loc(p, peek(p)), "nested too deeply (%s more than %d)", what, most);
  p->stopped = true;
}

bool enter(Parser *p) {
  if (++p->depth > PARSE_MAX_DEPTH) fail_too_deep(p, "levels:", PARSE_MAX_DEPTH);
  return !p->failed;
}

void leave(Parser *p) { p->depth--; }

void count_chain(Parser *p, int *count) {
  if (++*count > PARSE_MAX_CHAIN) fail_too_deep(p, "a chain of", PARSE_MAX_CHAIN);
}

const char *take_doc(Parser *p) {
  Token *token = &p->tokens.at[p->at];
  token->doc_taken = true;
  return token->doc;
}

// The language reference: documentation comments stand before definitions only.
static void refuse_misplaced_docs(const Parser *p) {
  for (int i = 0; i < p->tokens.count; i++) {
    const Token *token = &p->tokens.at[i];
    if (!token->doc || token->doc_taken) continue;
    uint32_t start = token->doc_start;
    Loc loc = { .file = p->file, .start = start, .end = start + strlen("-- |") };
    error(p->c, loc, "`-- |` documents a definition, and none follows");
    hint(p->c, "other comments begin with `--` alone");
  }
}

static Parser parser_new(Compiler *c, const SourceFile *file) {
  static const char *const modules[] = { "i8",  "i16", "i32", "i64", "u8",  "u16",
                                         "u32", "u64", "f16", "f32", "f64", "bool" };
  Parser p = { .c = c, .file = file, .modules = map_new(NULL) };
  for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
    map_put(p.modules, name_of(c->names, modules[i]), modules[i]);
  if (file->built_in) map_put(p.modules, name_of(c->names, "intrinsics"), file);
  p.tokens = lex_file(c, file);
  return p;
}

// Nothing may be left over.
static void expect_end(Parser *p) {
  if (!p->failed && !at_kind(p, TOKEN_END)) fail_expected(p, token_text(TOKEN_END));
}

static bool is_behind_blank_line(const SourceFile *file, const Token *token) {
  int newlines = 0;
  for (uint32_t at = token->start; at > 0 && isspace((unsigned char)file->text[at - 1]);
       at--)
    newlines += file->text[at - 1] == '\n';
  return newlines > 1;
}

// A file's only comment before its first definition is the file's if a blank line or an import
// follows.
static void find_file_doc(const SourceFile *file, Token *first) {
  bool opens = first->kind == TOKEN_IMPORT || first->kind == TOKEN_OPEN ||
               first->kind == TOKEN_END;
  if (first->file_doc || !(opens || is_behind_blank_line(file, first))) return;
  first->file_doc = first->doc;
  first->doc = NULL;
}

AstProgram *source_parse(Compiler *c, const SourceFile *file) {
  int errors = diag_error_count(c);
  Parser p = parser_new(c, file);
  find_file_doc(file, &p.tokens.at[0]);
  AstProgram *program = new_node(AstProgram, .file = file, .doc = peek(&p)->file_doc);
  program->decls = parse_decls(&p, TOKEN_END);
  if (!p.mistaken) refuse_misplaced_docs(&p);
  return diag_error_count(c) == errors ? program : NULL;
}

AstExp *source_parse_exp(Compiler *c, const SourceFile *file) {
  int errors = diag_error_count(c);
  Parser p = parser_new(c, file);
  AstExp *exp = parse_exp(&p);
  expect_end(&p);
  return diag_error_count(c) == errors ? exp : NULL;
}

AstType *source_parse_type(Compiler *c, const SourceFile *file) {
  int errors = diag_error_count(c);
  Parser p = parser_new(c, file);
  AstType *type = parse_type(&p);
  expect_end(&p);
  return diag_error_count(c) == errors ? type : NULL;
}
