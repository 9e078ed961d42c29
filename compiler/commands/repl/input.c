#include "base/diag_show.h"
#include "commands/repl/repl.h"
#include "source/ast_walk.h"
#include "source/lex.h"
#include "source/source.h"
#include <ctype.h>
#include <string.h>

typedef struct InputText {
  const char *name, *text;
  size_t length;  // without blanks at its end
} InputText;

static SourceFile *file_of(const InputText *in) {
  return source_file_new(in->name, in->text, strlen(in->text));
}

// Would more text mend the first mistake?
static bool ends_too_early(const Compiler *c, const InputText *in) {
  const DiagMessage *messages = NULL;
  return diag_messages(c, &messages) > 0 && messages[0].loc.start >= in->length;
}

// The word before the name of a definition.
static Loc keyword_of(const AstDecl *decl) {
  const char *text = decl->loc.file->text;
  uint32_t end = decl->u.value.name_loc.start;
  while (end > decl->loc.start && !lex_is_name_part(text[end - 1]))
    end--;
  uint32_t start = end;
  while (start > decl->loc.start && lex_is_name_part(text[start - 1]))
    start--;
  return (Loc){ decl->loc.file, start, end };
}

// `let x = 1` and `entry x = 1` stand for `def x = 1`: entry points are no members of modules.
static const char *piece_text(const AstDecl *decl) {
  const char *text = decl->loc.file->text + decl->loc.start;
  size_t length = decl->loc.end - decl->loc.start;
  const char *piece = text_format("%.*s", (int)length, text);
  if (decl->kind != AST_DECL_VALUE) return piece;
  Loc keyword = keyword_of(decl);
  size_t before = keyword.start - decl->loc.start, width = keyword.end - keyword.start;
  return text_format("%.*s%-*s%s", (int)before, piece, (int)width, "def",
                     piece + before + width);
}

// Spaces that keep the columns of the first line, and lines above it.
static const char *placed(const AstDecl *decl, const char *text) {
  Text *t = text_new();
  LineCol at = loc_line_col(decl->loc);
  for (int line = 1; line < at.line; line++)
    text_add(t, "\n");
  for (int col = 1; col < at.col; col++)
    text_add(t, " ");
  text_add(t, text);
  return text_str(t);
}

static void add_pieces(const InputText *in, const AstProgram *program, ReplSession *out) {
  vec_each (AstDecl *const *, decl, &program->decls) {
    bool opens = (*decl)->kind == AST_DECL_OPEN || (*decl)->kind == AST_DECL_LOCAL;
    vec_push(&out->pieces,
             (ReplPiece){ in->name, placed(*decl, piece_text(*decl)), !opens });
  }
}

static ReplKind read_decls(const InputText *in, ReplSession *out) {
  Compiler *c = compiler_new();
  const AstProgram *program = source_parse(c, file_of(in));
  if (!program) return ends_too_early(c, in) ? REPL_UNFINISHED : REPL_MISTAKE;
  add_pieces(in, program, out);
  return REPL_DECLS;
}

static ReplKind read_expression(const InputText *in) {
  Compiler *c = compiler_new();
  if (source_parse_exp(c, file_of(in))) return REPL_EXPRESSION;
  return ends_too_early(c, in) ? REPL_UNFINISHED : REPL_MISTAKE;
}

// ---- `let (a, b) = e`: several names at once

// let x = e, and let x : t = e; a bracket would begin a pattern.
static bool is_definition(const AstExp *let) {
  const AstPat *pat = let->u.let.pat;
  const char *after = let->loc.file->text + let->loc.start + strlen("let");
  if (after[strspn(after, " \t\n")] == '(') return false;
  if (pat->kind == AST_PAT_ASCRIBE) pat = pat->u.ascribe.pat;
  return pat->kind == AST_PAT_NAME && !let->u.let.sizes.count;
}

// An expression whose body is not written yet, of a pattern of several names; NULL if it is none.
static const AstExp *read_let(const InputText *in) {
  const char *text = text_format("%.*s\nin ()", (int)in->length, in->text);
  const InputText with_body = { in->name, text, strlen(text) };
  const AstExp *exp = source_parse_exp(compiler_new(), file_of(&with_body));
  bool is_let = exp && exp->kind == AST_LET && exp->u.let.body->loc.start > in->length;
  return is_let && !is_definition(exp) ? exp : NULL;
}

typedef Vec(Name) LetNames;

static void add_bound_name(void *state, const AstPat *name) {
  LetNames *names = state;
  vec_push(names, name->u.name.name);
}

// "(a, b)"
static const char *all_names(const LetNames *names) {
  Text *t = text_new();
  text_add(t, "(");
  for (int i = 0; i < names->count; i++)
    text_printf(t, "%s%s", i ? ", " : "", names->at[i]);
  text_add(t, ")");
  return text_str(t);
}

static LetNames names_of(const AstExp *let) {
  LetNames names = { 0 };
  vec_each (const AstTypeParam *, size, &let->u.let.sizes)
    vec_push(&names, size->name);
  ast_visit_names(let->u.let.pat, add_bound_name, &names);
  return names;
}

static const char *part_of(const LetNames *names, int i) {
  return names->count > 1 ? text_format(".%d", i) : "";
}

// Does the pattern say sizes or types, which tell what literals are?
static bool is_typed(const AstExp *let) {
  Loc pattern = let->u.let.pat->loc;
  const char *text = let->loc.file->text + pattern.start;
  return let->u.let.sizes.count || memchr(text, ':', pattern.end - pattern.start);
}

// The whole gets a name, with all names as its value.
static void add_typed_let(const InputText *in, const AstExp *let, const char *value,
                          ReplSession *out) {
  LetNames names = names_of(let);
  Text *t = text_new();
  text_printf(t, "def %s =\n%.*s\nin %s", value, (int)in->length, let->loc.file->text,
              all_names(&names));
  for (int i = 0; i < names.count; i++)
    text_printf(t, "\ndef %s = %s%s", names.at[i], value, part_of(&names, i));
  vec_push(&out->pieces, (ReplPiece){ in->name, text_str(t), true });
}

// The value gets a name, and each name of the pattern is a part of it.  Columns stay as they are.
static void add_let(const InputText *in, const AstExp *let, ReplSession *out) {
  const char *text = let->loc.file->text;
  Loc pattern = let->u.let.pat->loc;
  int start = (int)let->loc.start,
      equals = (int)(strcspn(text + pattern.end, "=") + pattern.end);
  const char *value =
      text_format("in_%.*s", (int)strcspn(in->name + 1, "]"), in->name + 1);
  if (is_typed(let)) {
    add_typed_let(in, let, value, out);
    return;
  }
  Text *t = text_new();
  text_printf(t, "%.*sdef %-*s%.*s", start, text, equals - start - 4, value,
              (int)in->length - equals, text + equals);
  LetNames names = names_of(let);
  for (int i = 0; i < names.count; i++)
    text_printf(t, "\ndef %s = let %.*s = %s in %s%s", names.at[i],
                (int)(pattern.end - pattern.start), text + pattern.start, value,
                all_names(&names), part_of(&names, i));
  vec_push(&out->pieces, (ReplPiece){ in->name, text_str(t), true });
}

static TokenKind first_token(const InputText *in) {
  return lex_file(compiler_new(), file_of(in)).at[0].kind;
}

static bool begins_decl(TokenKind kind) {
  static const TokenKind kinds[] = { TOKEN_DEF,   TOKEN_LET,    TOKEN_ENTRY,  TOKEN_TYPE,
                                     TOKEN_VAL,   TOKEN_MODULE, TOKEN_IMPORT, TOKEN_OPEN,
                                     TOKEN_LOCAL, TOKEN_ATTR };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i] == kind) return true;
  return false;
}

// `let` and attributes begin definitions as well as expressions.
ReplKind repl_read(const char *name, const char *text, ReplSession *out) {
  InputText in = { name, text, strlen(text) };
  while (in.length && isspace((unsigned char)text[in.length - 1]))
    in.length--;
  TokenKind first = first_token(&in);
  if (first == TOKEN_END) return REPL_NOTHING;
  ReplKind kind = read_expression(&in);
  if (kind == REPL_EXPRESSION || !begins_decl(first)) return kind;
  const AstExp *let = kind == REPL_UNFINISHED ? read_let(&in) : NULL;
  if (let) add_let(&in, let, out);
  if (let) return REPL_DECLS;
  ReplKind as_decls = read_decls(&in, out);
  bool may_follow = kind == REPL_UNFINISHED && as_decls != REPL_DECLS;
  return may_follow ? REPL_UNFINISHED : as_decls;
}

// The first mistake; NULL if there is none.
static const DiagMessage *first_mistake(const Compiler *c) {
  const DiagMessage *messages = NULL;
  return diag_messages(c, &messages) ? &messages[0] : NULL;
}

// What begins like either is taken for what it is for longer.
void repl_report(const char *name, const char *text) {
  InputText in = { name, text, strlen(text) };
  Compiler *as_exp = compiler_new(), *as_decls = compiler_new();
  source_parse_exp(as_exp, file_of(&in));
  source_parse(as_decls, file_of(&in));
  const DiagMessage *a = first_mistake(as_exp), *b = first_mistake(as_decls);
  if (begins_decl(first_token(&in)) && (!a || (b && b->loc.start >= a->loc.start)))
    diag_flush(as_decls);
  else
    diag_flush(as_exp);
}
