// Lines, columns and comments: writes the tokens with the white space that they should have.
//
// Where lines break is the author's choice, but for those that are too long, and for definitions,
// members of modules, `let`s and `case`s, which are on lines of their own if some of them are.  Of
// empty lines one remains.
#include "source/format.h"
#include "source/ast_print.h"
#include <ctype.h>
#include <limits.h>
#include <string.h>

enum { INDENT = 2, HEADER_INDENT = 4 };

// ---- the white space of the file

static uint32_t gap_start(const Formatter *f, int at) {
  return at > 0 ? format_token(f, at - 1)->end : 0;
}

bool format_broken(const Formatter *f, int at) {
  uint32_t start = gap_start(f, at);
  return at > 0 &&
         memchr(f->file->text + start, '\n', format_token(f, at)->start - start) != NULL;
}

static uint32_t end_of_line(const Formatter *f, uint32_t at) {
  const char *newline = memchr(f->file->text + at, '\n', f->file->length - at);
  return newline ? (uint32_t)(newline - f->file->text) : (uint32_t)f->file->length;
}

// ---- test blocks

// Does the line at `start` hold a comment and nothing else?
static bool is_comment_line(const Formatter *f, uint32_t start) {
  const char *text = f->file->text;
  while (text[start] == ' ' || text[start] == '\t')
    start++;
  return strncmp(text + start, "--", 2) == 0;
}

static uint32_t line_start(const Formatter *f, uint32_t at) {
  while (at > 0 && f->file->text[at - 1] != '\n')
    at--;
  return at;
}

// Does the line say `-- ==`?
static bool is_test_mark(const Formatter *f, uint32_t start) {
  const char *text = f->file->text;
  uint32_t at = start, end = end_of_line(f, start);
  while (text[at] == ' ' || text[at] == '\t' || text[at] == '-')
    at++;
  while (end > at && strchr(" \t\r", text[end - 1]))
    end--;
  return end == at + 2 && strncmp(text + at, "==", 2) == 0;
}

// Reads the run of comments around `at`.
static void find_run(Formatter *f, uint32_t at) {
  uint32_t start = line_start(f, at);
  while (start > 0 && is_comment_line(f, line_start(f, start - 1)))
    start = line_start(f, start - 1);
  f->run_is_test = false;
  while (start < f->file->length && is_comment_line(f, start)) {
    f->run_is_test = f->run_is_test || is_test_mark(f, start);
    start = end_of_line(f, start) + 1;
  }
  f->run_end = start;
}

// Is the comment at `at`, which has its line for itself, in a run of comments with a test block?
static bool in_test_block(Formatter *f, uint32_t at) {
  if (at >= f->run_end) find_run(f, at);
  return f->run_is_test;
}

// ---- columns

static const FormatGroup *group_at(const Formatter *f, int index) {
  return index < 0 ? NULL : &f->groups.at[index];
}

// The innermost group that the token does not begin; NULL outside of all.
static const FormatGroup *around(const Formatter *f, int at) {
  const FormatGroup *g = group_at(f, f->inner[at]);
  while (g && g->first == at)
    g = group_at(f, g->parent);
  return g;
}

// The column of the line that the bracket is on; of a module's braces, of its definition.
static int base_of_bracket(const Formatter *f, const FormatGroup *g) {
  const FormatGroup *decl = group_at(f, g->parent);
  while (decl && decl->kind != FORMAT_DECL)
    decl = group_at(f, decl->parent);
  bool body = f->flags[g->first + 1] & FORMAT_ITEM && decl && decl->last == g->last;
  return body ? f->column[decl->first] : f->line_column[g->first];
}

// Brackets whose contents begin on the next line have them indented, others aligned.
static int content_column(const Formatter *f, const FormatGroup *g, int at) {
  bool below = at == g->first + 1 || f->first[g->first + 1];
  return below ? base_of_bracket(f, g) + INDENT : f->column[g->first + 1];
}

static int bracket_column(const Formatter *f, const FormatGroup *g, int at) {
  if (at == g->last && f->first[g->first + 1]) return base_of_bracket(f, g);
  bool on_bracket = at == g->last || format_token(f, at)->kind == TOKEN_COMMA;
  return on_bracket ? f->column[g->first] : content_column(f, g, at);
}

// Does an attribute end before this token?
static bool follows_attr(const Formatter *f, int at) {
  int open = f->match[at - 1];
  return open >= 0 && open < at && format_token(f, open)->kind == TOKEN_ATTR;
}

static int decl_column(const Formatter *f, const FormatGroup *g, int at) {
  if (follows_attr(f, at)) return f->column[g->first];
  return f->line_column[g->first] + (at < g->mark ? HEADER_INDENT : INDENT);
}

static int apply_column(const Formatter *f, const FormatGroup *g, int at) {
  bool aligned = at > g->mark && !f->first[g->mark];
  return aligned ? f->column[g->mark] : f->column[g->first] + INDENT;
}

// `f <|` at the end of a line indents what follows.
static int chain_column(const Formatter *f, const FormatGroup *g, int at) {
  const Token *before = format_token(f, at - 1);
  bool applied = before->kind == TOKEN_OPERATOR && strcmp(before->name, "<|") == 0;
  return f->column[g->first] + (applied ? INDENT : 0);
}

static int let_column(const Formatter *f, const FormatGroup *g, int at) {
  TokenKind kind = format_token(f, at)->kind;
  bool aligned = at >= g->mark - 1 && (kind == TOKEN_LET || kind == TOKEN_IN);
  return f->column[g->first] + (aligned ? 0 : INDENT);
}

// `else if` goes on with the `if` before.
static int keyword_base(const Formatter *f, const FormatGroup *g) {
  while (g->parent >= 0 && !f->first[g->first] &&
         format_token(f, g->first)->kind == TOKEN_IF && g->first > 0 &&
         format_token(f, g->first - 1)->kind == TOKEN_ELSE &&
         group_at(f, g->parent)->kind == FORMAT_KEYWORD)
    g = group_at(f, g->parent);
  return f->column[g->first];
}

static bool is_keyword(TokenKind kind) {
  return kind == TOKEN_THEN || kind == TOKEN_ELSE || kind == TOKEN_CASE ||
         kind == TOKEN_FOR || kind == TOKEN_WHILE || kind == TOKEN_DO;
}

// `if` on the line below an `else` at the end of a line: the next of several cases.
static bool is_next_case(const Formatter *f, int at) {
  return format_token(f, at)->kind == TOKEN_IF && at > 0 && !f->first[at - 1] &&
         format_token(f, at - 1)->kind == TOKEN_ELSE;
}

static int keyword_column(const Formatter *f, const FormatGroup *g, int at) {
  bool aligned = is_keyword(format_token(f, at)->kind) || is_next_case(f, at);
  return keyword_base(f, g) + (aligned ? 0 : INDENT);
}

// Where a line begins that begins with this token.
static int line_column(const Formatter *f, int at) {
  const FormatGroup *g = around(f, at);
  if (!g) return 0;
  switch (g->kind) {
  case FORMAT_BRACKET: return bracket_column(f, g, at);
  case FORMAT_DECL: return decl_column(f, g, at);
  case FORMAT_APPLY: return apply_column(f, g, at);
  case FORMAT_CHAIN: return chain_column(f, g, at);
  case FORMAT_LET: return let_column(f, g, at);
  case FORMAT_KEYWORD: return keyword_column(f, g, at);
  case FORMAT_LAMBDA: return f->line_column[g->first] + INDENT;
  case FORMAT_HANG: return f->column[g->first] + INDENT;
  case FORMAT_ALIGN: return f->column[g->first];
  }
  return 0;
}

// A definition in the old style begins in the first column.
static int start_column(const Formatter *f, int at) {
  const FormatGroup *g = group_at(f, f->inner[at]);
  while (g && g->first == at && g->kind != FORMAT_DECL)
    g = group_at(f, g->parent);
  bool old = g && g->first == at && format_token(f, at)->kind == TOKEN_LET;
  return old && format_token(f, at)->first_on_line ? 0 : line_column(f, at);
}

// Comments before a closing bracket belong to what is inside.
static int comment_column(const Formatter *f, int at) {
  const FormatGroup *g = around(f, at);
  bool closing = g && g->kind == FORMAT_BRACKET && at == g->last;
  return closing ? content_column(f, g, at) : start_column(f, at);
}

// ---- comments

// What stands between two tokens, piece by piece.
typedef struct Gap {
  int newlines;  // since the last piece
  bool broken;   // is a comment before, which a line ends with?
  int at;        // the token behind
} Gap;

static void start_line(Formatter *f, const Gap *gap, int column) {
  bool inside = gap->at > 0 && f->match[gap->at - 1] > gap->at - 1 && !gap->broken;
  bool end = f->match[gap->at] >= 0 && f->match[gap->at] < gap->at;
  bool empty = gap->newlines > 1 && !inside && !end && text_length(f->out);
  if (text_length(f->out)) text_add(f->out, empty ? "\n\n" : "\n");
  text_printf(f->out, "%*s", column, "");
  f->at = column;
}

// Writes the comment at `start`; returns its end.
static uint32_t put_comment(Formatter *f, Gap *gap, uint32_t start) {
  uint32_t end = end_of_line(f, start), last = end;
  bool own = gap->newlines > 0 || text_length(f->out) == 0;
  bool test = own && in_test_block(f, start);
  while (last > start && (f->file->text[last - 1] == '\r' ||
                          (!test && strchr(" \t\v\f", f->file->text[last - 1]))))
    last--;
  if (test)
    start_line(f, gap, (int)(start - line_start(f, start)));
  else if (own)
    start_line(f, gap, comment_column(f, gap->at));
  else
    text_add(f->out, "  ");
  text_add_bytes(f->out, f->file->text + start, last - start);
  gap->newlines = 0;
  gap->broken = true;
  return end;
}

static void put_gap(Formatter *f, Gap *gap) {
  uint32_t at = gap_start(f, gap->at), end = format_token(f, gap->at)->start;
  while (at < end) {
    if (f->file->text[at] == '-') {
      at = put_comment(f, gap, at);
      continue;
    }
    gap->newlines += f->file->text[at] == '\n';
    at++;
  }
}

// ---- tokens

static bool starts_line(const Formatter *f, const Gap *gap) {
  if (gap->broken || gap->at == 0) return true;
  if (f->flags[gap->at] & FORMAT_JOIN) return false;
  return gap->newlines > 0 || f->flags[gap->at] & FORMAT_BREAK;
}

int format_width(const Formatter *f, int token) {
  int count = 0;
  for (uint32_t i = format_token(f, token)->start; i < format_token(f, token)->end; i++)
    count += ((unsigned char)f->file->text[i] & 0xc0) != 0x80;
  return count;
}

static void put_token(Formatter *f, int at) {
  const Token *t = format_token(f, at);
  f->column[at] = f->at;
  f->line_column[at] = f->first[at] ? f->at : f->line_column[at - 1];
  if (f->first[at]) f->line = at;
  text_add_bytes(f->out, f->file->text + t->start, t->end - t->start);
  f->at += format_width(f, at);
}

static void put(Formatter *f, int at) {
  Gap gap = { .at = at };
  f->length[at] = text_length(f->out);
  put_gap(f, &gap);
  f->first[at] = starts_line(f, &gap);
  if (f->first[at]) {
    start_line(f, &gap, start_column(f, at));
  } else if (format_spaced(f, at)) {
    text_add(f->out, " ");
    f->at++;
  }
  put_token(f, at);
}

// Takes back what was put from this token on, which is not the first.
static void take_back(Formatter *f, int at) {
  text_cut(f->out, f->length[at]);
  f->at = f->column[at - 1] + format_width(f, at - 1);
  f->run_end = 0;
  for (f->line = at - 1; !f->first[f->line];)
    f->line--;
}

static void put_all(Formatter *f) {
  for (int at = 0; at < f->tokens.count - 1;) {
    put(f, at);
    int place = f->at > f->width ? format_break(f, f->line, at) : -1;
    if (place >= 0) take_back(f, place);
    at = place >= 0 ? place : at + 1;
  }
}

static void put_end(Formatter *f) {
  Gap gap = { .at = f->tokens.count - 1 };
  put_gap(f, &gap);
  if (text_length(f->out)) text_add(f->out, "\n");
}

// ---- the whole

static Formatter *format_new(Compiler *c, const SourceFile *file) {
  Formatter *f = new_node(Formatter, .c = c, .file = file, .tokens = lex_file(c, file));
  size_t count = (size_t)f->tokens.count + 1;
  f->flags = new_array(unsigned char, count);
  f->match = new_array(int, count);
  f->inner = new_array(int, count);
  f->column = new_array(int, count);
  f->line_column = new_array(int, count);
  f->first = new_array(bool, count);
  f->length = new_array(size_t, count);
  f->out = text_new();
  return f;
}

static const char *tree_text(const AstProgram *program) {
  Text *t = text_new();
  ast_print_program(t, program);
  return text_str(t);
}

// The tokens and comments of a file without what is between them.
static const char *essence(const Formatter *f) {
  Text *t = text_new();
  for (int i = 0; i < f->tokens.count; i++) {
    for (uint32_t at = gap_start(f, i); at < format_token(f, i)->start; at++) {
      if (f->file->text[at] != '-') continue;
      uint32_t end = end_of_line(f, at), last = end;
      while (last > at && strchr(" \t\v\f\r", f->file->text[last - 1]))
        last--;
      text_printf(t, "%.*s\n", (int)(last - at), f->file->text + at);
      at = end;
    }
    uint32_t length = format_token(f, i)->end - format_token(f, i)->start;
    text_printf(t, "%.*s\n", (int)length, f->file->text + format_token(f, i)->start);
  }
  return text_str(t);
}

// The text must mean the same as before.  That it does not would be our mistake.
static void check_same(Formatter *f, const AstProgram *before, const char *text) {
  SourceFile *file = source_file_new(f->file->path, text, strlen(text));
  file->built_in = true;
  const AstProgram *after = source_parse(f->c, file);
  bool same = after && strcmp(tree_text(before), tree_text(after)) == 0 &&
              strcmp(essence(f), essence(format_new(f->c, file))) == 0;
  if (!same)
    bug(f->c, (Loc){ 0 }, "the formatted program is another one; nothing was written");
}

// What the file becomes when it is laid out once.
static const char *lay_out(Compiler *c, const SourceFile *file, int width) {
  SourceFile *read = source_file_new(file->path, file->text, file->length);
  read->built_in = true;  // files of the prelude declare with `val`
  const AstProgram *program = source_parse(c, read);
  if (!program) return NULL;
  Formatter *f = format_new(c, read);
  f->width = width;
  format_mark(f, program);
  put_all(f);
  put_end(f);
  const char *text = text_str(f->out);
  check_same(f, program, text);
  return text;
}

// Where lines were broken, places may read better that were refused before, so that a text is laid
// out until it stays as it is: nearly always that is so at once.
const char *source_format(Compiler *c, const SourceFile *file, int width) {
  enum { MOST_ROUNDS = 10 };
  c->phase = "format";
  const char *before = file->text, *text = lay_out(c, file, width);
  for (int round = 1; text && strcmp(before, text) != 0 && round < MOST_ROUNDS; round++) {
    before = text;
    text = lay_out(c, source_file_new(file->path, text, strlen(text)), width);
  }
  return text;
}

// Comments and line breaks become spaces.
static const char *in_one_line(Compiler *c, const char *text) {
  const SourceFile *file = source_file_new("", text, strlen(text));
  Text *line = text_new();
  uint32_t end = 0;
  TokenVec tokens = lex_file(c, file);
  vec_each (const Token *, token, &tokens) {
    if (token->kind == TOKEN_END) break;
    if (token->start > end) text_add(line, " ");
    text_printf(line, "%.*s", (int)(token->end - token->start),
                file->text + token->start);
    end = token->end;
  }
  return text_str(line);
}

typedef struct Brackets {
  int unopened, unclosed;
} Brackets;

// Of a text, in which an operand's own brackets may be cut off: `a) && (b` of `(a) && (b)`.
static Brackets odd_brackets(Compiler *c, const char *text) {
  Brackets odd = { 0 };
  TokenVec tokens = lex_file(c, source_file_new("", text, strlen(text)));
  vec_each (const Token *, token, &tokens) {
    if (token->kind == TOKEN_LPAREN) odd.unclosed++;
    if (token->kind != TOKEN_RPAREN) continue;
    if (odd.unclosed)
      odd.unclosed--;
    else
      odd.unopened++;
  }
  return odd;
}

static const char *text_of(Loc loc) {
  return text_format("%.*s", (int)(loc.end - loc.start), loc.file->text + loc.start);
}

// Further by a bracket, or not at all if there is none.
static uint32_t open_before(Loc loc) {
  uint32_t at = loc.start;
  while (at > 0 && isspace((unsigned char)loc.file->text[at - 1]))
    at--;
  return at > 0 && loc.file->text[at - 1] == '(' ? at - 1 : loc.start;
}

static uint32_t close_behind(Loc loc) {
  uint32_t at = loc.end;
  while (isspace((unsigned char)loc.file->text[at]))
    at++;
  return loc.file->text[at] == ')' ? at + 1 : loc.end;
}

// With the brackets that are its own and those around it.
static Loc in_brackets(Compiler *c, Loc loc) {
  Brackets odd = odd_brackets(c, text_of(loc));
  for (; odd.unopened > 0; odd.unopened--)
    loc.start = open_before(loc);
  for (; odd.unclosed > 0; odd.unclosed--)
    loc.end = close_behind(loc);
  while (open_before(loc) < loc.start && close_behind(loc) > loc.end) {
    loc.start = open_before(loc);
    loc.end = close_behind(loc);
  }
  return loc;
}

const char *source_format_exp(Compiler *c, Loc loc) {
  static const char before[] = "def x = ";
  const char *phase = c->phase, *text = text_of(in_brackets(c, loc));
  Brackets odd = odd_brackets(c, text);
  if (odd.unopened || odd.unclosed) return text;  // a comment stands between
  const char *line = in_one_line(c, text_format("%s%s", before, text));
  const char *formatted =
      source_format(c, source_file_new("", line, strlen(line)), INT_MAX);
  c->phase = phase;
  if (!formatted) return text;
  const char *exp = formatted + strlen(before);
  return text_format("%.*s", (int)strcspn(exp, "\n"), exp);
}
