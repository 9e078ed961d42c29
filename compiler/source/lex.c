// Characters to tokens.  A token is the longest piece of text that is one, as in Futhark: `->*`
// is an operator, not an arrow and a star.
#include "source/lex.h"
#include "base/text.h"
#include <string.h>

typedef struct Lexer {
  Compiler *c;
  const SourceFile *file;
  const char *text;
  uint32_t at;
  uint32_t qualified_until;  // names up to here belong to a chain a.b.c without operator
  TokenVec tokens;
  const char *doc, *file_doc;
  uint32_t doc_start;
  bool reported[256];  // bytes that start no token
  Map *lookalikes;     // those that were reported, by their advice
} Lexer;

bool lex_is_name_start(char ch) {
  return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

bool lex_is_name_part(char ch) {
  return lex_is_name_start(ch) || lex_is_digit(ch) || ch == '_' || ch == '\'';
}

bool lex_is_operator(char ch) {
  return ch != '\0' && strchr("+-*/%=!><|&^.", ch) != NULL;
}

const char *token_text(TokenKind kind) {
  static const char *const texts[] = {
#define TOKEN(name, text) [TOKEN_##name] = text,
#include "source/token.def"
#undef TOKEN
  };
  return texts[kind];
}

static bool is_space(char ch) { return ch == ' ' || (ch >= '\t' && ch <= '\r'); }

// Does a name start here?  A single `_` is no name.
static bool name_starts(const char *text) {
  if (text[0] == '_') return lex_is_name_start(text[1]) || lex_is_digit(text[1]);
  return lex_is_name_start(text[0]);
}

static Loc loc_of(const Lexer *lx, uint32_t start, uint32_t end) {
  return (Loc){ .file = lx->file, .start = start, .end = end };
}

static uint32_t name_end(const Lexer *lx, uint32_t at) {
  while (lex_is_name_part(lx->text[at]))
    at++;
  return at;
}

// Adds the token from lx->at to `end`, and stands behind it.
static Token *add(Lexer *lx, TokenKind kind, uint32_t end) {
  uint32_t at = lx->at;
  char before = at > 0 ? lx->text[at - 1] : '\n';
  vec_push(&lx->tokens,
           (Token){ .kind = kind,
                    .start = at,
                    .end = end,
                    .touches = lex_is_name_part(before) || before == ')' || before == ']',
                    .first_on_line = before == '\n',
                    .doc = lx->doc,
                    .file_doc = lx->file_doc,
                    .doc_start = lx->doc_start });
  lx->doc = lx->file_doc = NULL;
  lx->at = end;
  return &lx->tokens.at[lx->tokens.count - 1];
}

static uint32_t line_end(const Lexer *lx, uint32_t at) {
  const char *newline = memchr(lx->text + at, '\n', lx->file->length - at);
  return newline ? (uint32_t)(newline - lx->text) : (uint32_t)lx->file->length;
}

// Adds a line of a documentation comment: without `--`, a space after it, and blanks at its end.
static void add_doc_line(const Lexer *lx, Text *doc, uint32_t start, uint32_t end) {
  if (text_length(doc)) text_add(doc, "\n");
  if (start < end && lx->text[start] == ' ') start++;
  while (end > start && is_space(lx->text[end - 1]))
    end--;
  text_add_bytes(doc, lx->text + start, end - start);
}

// The position behind the blanks after a line, if a comment follows there.
static bool next_comment(const Lexer *lx, uint32_t end, uint32_t *start) {
  if (lx->text[end] != '\n') return false;
  uint32_t at = end + 1;
  while (lx->text[at] != '\n' && is_space(lx->text[at]))
    at++;
  *start = at;
  return strncmp(lx->text + at, "--", 2) == 0;
}

// -- | text, and the `--` lines that follow it
static void doc_comment(Lexer *lx) {
  Text *doc = text_new();
  uint32_t start = lx->at, end = line_end(lx, start);
  add_doc_line(lx, doc, start + 4, end);
  while (next_comment(lx, end, &start)) {
    end = line_end(lx, start);
    add_doc_line(lx, doc, start + 2, end);
  }
  lx->file_doc = lx->doc;
  lx->doc_start = lx->at;
  lx->doc = text_format("%s", text_str(doc));
  lx->at = end;
}

static void comment(Lexer *lx) {
  if (strncmp(lx->text + lx->at, "-- |", 4) == 0)
    doc_comment(lx);
  else
    lx->at = line_end(lx, lx->at);
}

static TokenKind keyword(const char *text, uint32_t length) {
  for (int kind = TOKEN_TRUE; kind <= TOKEN_CASE; kind++) {
    const char *word = token_text((TokenKind)kind) + 1;
    if (word[0] == text[0] && strncmp(word, text, length) == 0 && word[length] == '\'')
      return (TokenKind)kind;
  }
  return TOKEN_NAME;
}

// The start of the operator in a chain `a.b.+`, or 0 if the chain ends otherwise.  `end` is the
// end of the first name.
static uint32_t qualified_operator(Lexer *lx, uint32_t end) {
  if (lx->at < lx->qualified_until) return 0;
  while (lx->text[end] == '.' && name_starts(lx->text + end + 1))
    end = name_end(lx, end + 1);
  lx->qualified_until = end;
  char next = lx->text[end] == '.' ? lx->text[end + 1] : '\0';
  return lex_is_operator(next) && next != '.' ? end + 1 : 0;
}

static void set_name(Lexer *lx, Token *token, uint32_t start) {
  token->name = name_intern(lx->c->names, lx->text + start, token->end - start);
}

static uint32_t operator_end(const Lexer *lx, uint32_t at) {
  while (lex_is_operator(lx->text[at]))
    at++;
  return at;
}

static void name(Lexer *lx) {
  uint32_t end = name_end(lx, lx->at);
  TokenKind kind = keyword(lx->text + lx->at, end - lx->at);
  uint32_t op = kind == TOKEN_NAME ? qualified_operator(lx, end) : 0;
  if (op) {
    set_name(lx, add(lx, TOKEN_OPERATOR, operator_end(lx, op)), op);
    return;
  }
  uint32_t start = lx->at;
  set_name(lx, add(lx, kind, end), start);
}

// `..` does not count as a projection's dot
static bool after_projection_dot(const Lexer *lx) {
  uint32_t at = lx->at;
  return at > 0 && lx->text[at - 1] == '.' && !(at > 1 && lx->text[at - 2] == '.');
}

static void number(Lexer *lx) {
  TokenKind kind;
  size_t length = lex_number(lx->text + lx->at, after_projection_dot(lx), &kind);
  uint32_t start = lx->at;
  set_name(lx, add(lx, kind, start + (uint32_t)length), start);
}

static void operator(Lexer *lx) {
  uint32_t start = lx->at, end = operator_end(lx, start);
  TokenKind kind = TOKEN_OPERATOR;
  if (end - start == 1 && lx->text[start] == '=') kind = TOKEN_EQUAL;
  if (end - start == 2 && strncmp(lx->text + start, "->", 2) == 0) kind = TOKEN_ARROW;
  set_name(lx, add(lx, kind, end), start);
}

// The end of a literal in quotes, behind the closing one; 0 if its line ends first.
static uint32_t quoted_end(const Lexer *lx, uint32_t at, char quote) {
  for (at++; lx->text[at] != quote; at++) {
    if (lx->text[at] == '\\') at++;
    if (lx->text[at] == '\n' || lx->text[at] == '\0') return 0;
  }
  return at + 1;
}

static void string(Lexer *lx) {
  uint32_t end = quoted_end(lx, lx->at, '"');
  if (end) {
    add(lx, TOKEN_STRING, end);
    return;
  }
  end = line_end(lx, lx->at);
  error(lx->c, loc_of(lx, lx->at, lx->at + 1),
        "expected '\"' at the end of the string, found end of line");
  add(lx, TOKEN_BAD, end);
}

uint32_t lex_character_length(char first) {
  unsigned char byte = (unsigned char)first;
  return byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

// The end of a character literal; 0 if the apostrophe starts a type parameter.
static uint32_t character_end(const Lexer *lx) {
  const char *text = lx->text + lx->at + 1;
  uint32_t n = 0;
  if (text[0] == '\\' && text[1] != '\0') {
    n = 1 + lex_character_length(text[1]);
    while (lex_is_name_start(text[n]) || lex_is_digit(text[n]))
      n++;
  } else if (text[0] != '\'' && text[0] != '\n' && text[0] != '\0') {
    n = lex_character_length(text[0]);
  }
  return n && text[n] == '\'' ? lx->at + n + 2 : 0;
}

static void apostrophe(Lexer *lx) {
  uint32_t end = character_end(lx);
  char next = lx->text[lx->at + 1];
  if (end)
    add(lx, TOKEN_CHAR, end);
  else if (next == '^')
    add(lx, TOKEN_APOSTROPHE_HAT, lx->at + 2);
  else if (next == '~')
    add(lx, TOKEN_APOSTROPHE_TILDE, lx->at + 2);
  else
    add(lx, TOKEN_APOSTROPHE, lx->at + 1);
}

// #name and #[
static bool hash(Lexer *lx) {
  const char *text = lx->text + lx->at + 1;
  uint32_t start = lx->at + 1;
  if (text[0] == '[')
    add(lx, TOKEN_ATTR, start + 1);
  else if (name_starts(text))
    set_name(lx, add(lx, TOKEN_CONSTRUCTOR, name_end(lx, start)), start);
  else
    return false;
  return true;
}

static bool punctuation(Lexer *lx) {
  static const struct {
    const char *text;
    TokenKind kind;
  } table[] = {
    { "..<", TOKEN_DOTS_LESS },
    { "..>", TOKEN_DOTS_GREATER },
    { "...", TOKEN_DOTS_THREE },
    { "..", TOKEN_DOTS },
    { ".", TOKEN_DOT },
    { "(", TOKEN_LPAREN },
    { ")", TOKEN_RPAREN },
    { "[", TOKEN_LBRACKET },
    { "]", TOKEN_RBRACKET },
    { "{", TOKEN_LBRACE },
    { "}", TOKEN_RBRACE },
    { ",", TOKEN_COMMA },
    { "_", TOKEN_UNDERSCORE },
    { "?"
      "??",
      TOKEN_HOLE },
    { "?", TOKEN_QUESTION },
    { ":>", TOKEN_COLON_GREATER },
    { ":", TOKEN_COLON },
    { "\\", TOKEN_BACKSLASH },
    { "~", TOKEN_TILDE },
    { "`", TOKEN_BACKTICK },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    if (lx->text[lx->at] != table[i].text[0]) continue;
    size_t length = strlen(table[i].text);
    if (strncmp(lx->text + lx->at, table[i].text, length) != 0) continue;
    add(lx, table[i].kind, lx->at + (uint32_t)length);
    return true;
  }
  return false;
}

// A character without meaning, but perhaps with one in another language, where it is frequent.
static void unexpected(Lexer *lx, Loc loc, int length) {
  unsigned char character = (unsigned char)lx->text[lx->at];
  if (character < 128 && lx->reported[character])
    return;  // others begin several characters
  lx->reported[character] = true;
  error(lx->c, loc, "unexpected character '%.*s'", length, lx->text + lx->at);
  if (character == '#')
    hint(lx->c, "comments begin with `--`");
  else if (character == '$')
    hint(lx->c, "`f <| x` applies `f` to everything that follows");
  else if (character == ';')
    hint(lx->c, "definitions and `let`s end without a mark, elements end with `,`");
  else if (character == '@' && lx->text[lx->at + 1] == '[')
    hint(lx->c, "an attribute is written `#[name]`");
  else if (character == '@')
    hint(lx->c, "`++` joins arrays; a product of matrices is `map (\\r -> map (\\c -> "
                "f32.sum (map2 (*) r c)) (transpose b)) a`");
}

// Is this between `#[` and `]`?  Attributes are short.
static bool within_attr(const Lexer *lx) {
  static const int longest = 100;
  for (int i = lx->tokens.count - 1; i >= 0 && i + longest >= lx->tokens.count; i--) {
    if (lx->tokens.at[i].kind == TOKEN_ATTR) return true;
    if (lx->tokens.at[i].kind == TOKEN_RBRACKET) return false;
  }
  return false;
}

// $x in an attribute
static bool reference(Lexer *lx) {
  if (!name_starts(lx->text + lx->at + 1) || !within_attr(lx)) return false;
  uint32_t start = lx->at;
  set_name(lx, add(lx, TOKEN_REFERENCE, name_end(lx, start + 1)), start);
  return true;
}

// The end of what a quotation mark of typography opens, behind the next one of the line.
static uint32_t quotation_end(const Lexer *lx, uint32_t at) {
  uint32_t last = line_end(lx, at), length;
  Lookalike other;
  for (uint32_t i = at; i < last; i += lex_character_length(lx->text[i])) {
    length = lex_lookalike(lx->text + i, &other);
    if (length && other.kind == LOOKALIKE_QUOTE) return i + length;
  }
  return at;
}

// A message for the first of each sort: text from elsewhere has many.
static void report_lookalike(Lexer *lx, Loc loc, uint32_t length,
                             const Lookalike *found) {
  Name sort = name_of(lx->c->names, found->advice);
  if (map_has(lx->lookalikes, sort)) return;
  map_put(lx->lookalikes, sort, sort);
  if (found->name)
    error(lx->c, loc, "unexpected character U+%04X, %s", found->code, found->name);
  else
    error(lx->c, loc, "unexpected character '%.*s' (U+%04X)", (int)length,
          lx->text + lx->at, found->code);
  hint(lx->c, "%s", found->advice);
}

static bool lookalike(Lexer *lx) {
  Lookalike found;
  uint32_t length = lex_lookalike(lx->text + lx->at, &found), end = lx->at + length;
  if (!length) return false;
  report_lookalike(lx, loc_of(lx, lx->at, end), length, &found);
  if (found.kind == LOOKALIKE_QUOTE) end = quotation_end(lx, end);
  if (found.kind == LOOKALIKE_SPACE)
    lx->at = end;
  else
    add(lx, TOKEN_BAD, end);
  return true;
}

// One message for a run of characters that start no token.
static void bad_character(Lexer *lx) {
  uint32_t end = lx->at;
  bool letter = (unsigned char)lx->text[end] >= 0x80;
  do
    end++;
  while ((unsigned char)lx->text[end] >= 0x80 ||
         (letter && lex_is_name_part(lx->text[end])));
  Loc loc = loc_of(lx, lx->at, end);
  int shown = end - lx->at > 40 ? 40 : (int)(end - lx->at);
  while (shown > 0 && ((unsigned char)lx->text[lx->at + shown] & 0xc0) == 0x80)
    shown--;
  if (letter)
    error(lx->c, loc, "names consist of ASCII letters, digits, '_' and ''', found '%.*s'",
          shown, lx->text + lx->at);
  else if ((unsigned char)lx->text[lx->at] < ' ')
    error(lx->c, loc, "unexpected control character 0x%02x", (unsigned)lx->text[lx->at]);
  else
    unexpected(lx, loc, shown);
  add(lx, TOKEN_BAD, end);
}

static void token(Lexer *lx) {
  const char *text = lx->text + lx->at;
  if (is_space(*text))
    lx->at++;
  else if (text[0] == '-' && text[1] == '-')
    comment(lx);
  else if (name_starts(text))
    name(lx);
  else if (lex_is_digit(*text))
    number(lx);
  else if (*text != '.' && lex_is_operator(*text))
    operator(lx);
  else if (*text == '"')
    string(lx);
  else if (*text == '\'')
    apostrophe(lx);
  else if ((*text == '#' && hash(lx)) || (*text == '$' && reference(lx)))
    return;
  else if (!punctuation(lx) && !lookalike(lx))
    bad_character(lx);
}

// The number of bytes of the well-formed UTF-8 character at `text`, 0 if there is none
// (Unicode standard, table 3-7).
static uint32_t utf8_length(const unsigned char *text) {
  unsigned char a = text[0], b = text[1];
  if (a < 0x80) return 1;
  if (a < 0xc2 || a > 0xf4 || (b & 0xc0) != 0x80) return 0;
  if (a < 0xe0) return 2;
  if ((a == 0xe0 && b < 0xa0) || (a == 0xed && b > 0x9f)) return 0;
  if ((text[2] & 0xc0) != 0x80) return 0;
  if (a < 0xf0) return 3;
  if ((a == 0xf0 && b < 0x90) || (a == 0xf4 && b > 0x8f)) return 0;
  return (text[3] & 0xc0) == 0x80 ? 4 : 0;
}

// Is the file text?  Nothing else is said about one that is not.
static bool is_text(const Lexer *lx) {
  uint32_t length = (uint32_t)lx->file->length;
  for (uint32_t at = 0, n; at < length; at += n) {
    n = utf8_length((const unsigned char *)lx->text + at);
    if (lx->text[at] == '\0') {
      error(lx->c, loc_of(lx, at, at + 1), "expected text, found a NUL byte");
      return false;
    }
    if (n == 0) {
      error(lx->c, loc_of(lx, at, at + 1),
            "expected text in UTF-8, found the byte 0x%02x", (unsigned char)lx->text[at]);
      if (strncmp(lx->text, "\xff\xfe", 2) == 0 || strncmp(lx->text, "\xfe\xff", 2) == 0)
        hint(lx->c, "the file is in UTF-16: save it as UTF-8");
      else
        hint(lx->c, "save the file as UTF-8");
      return false;
    }
  }
  return true;
}

TokenVec lex_file(Compiler *c, const SourceFile *file) {
  Lexer lx = { .c = c, .file = file, .text = file->text, .lookalikes = map_new(NULL) };
  uint32_t length = (uint32_t)file->length;
  bool mark = strncmp(lx.text, "\xef\xbb\xbf", 3) == 0;  // byte order mark
  if (!is_text(&lx)) {
    lx.at = length;
    add(&lx, TOKEN_BAD, length);
  } else if (mark) {
    lx.at = 3;
  }
  while (lx.at < length && !diag_full(c))
    token(&lx);
  lx.at = length;
  add(&lx, TOKEN_END, length);
  return lx.tokens;
}
