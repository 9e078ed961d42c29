// Spaces between the tokens of a line.
#include "source/format.h"
#include <string.h>

bool format_opens(TokenKind kind) {
  return kind == TOKEN_LPAREN || kind == TOKEN_LBRACKET || kind == TOKEN_LBRACE ||
         kind == TOKEN_ATTR;
}

bool format_closes(TokenKind kind) {
  return kind == TOKEN_RPAREN || kind == TOKEN_RBRACKET || kind == TOKEN_RBRACE;
}

static bool is_dots(TokenKind kind) {
  return kind == TOKEN_DOT || kind == TOKEN_DOTS || kind == TOKEN_DOTS_LESS ||
         kind == TOKEN_DOTS_GREATER || kind == TOKEN_DOTS_THREE;
}

// 'a, \x, ?[n]
static bool is_prefix(TokenKind kind) {
  return kind == TOKEN_APOSTROPHE || kind == TOKEN_APOSTROPHE_HAT ||
         kind == TOKEN_APOSTROPHE_TILDE || kind == TOKEN_BACKSLASH ||
         kind == TOKEN_QUESTION;
}

// Would the two be read as something else if they touched?
static bool would_merge(const Formatter *f, const Token *left, const Token *right) {
  char end = f->file->text[left->end - 1], begin = f->file->text[right->start];
  bool names = lex_is_name_part(end) && !is_prefix(left->kind) &&
               (lex_is_name_part(begin) || begin == '\'');
  bool operators = lex_is_operator(end) && lex_is_operator(begin) &&
                   (!is_dots(left->kind) || strchr("<>.", begin));
  return names || operators || (end == ':' && begin == '>');
}

// A number before a dot might take it for its own.
static bool was_apart(const Token *left, const Token *right) {
  bool number =
      left->kind == TOKEN_NATURAL || left->kind == TOKEN_INT || left->kind == TOKEN_FLOAT;
  return number && right->kind == TOKEN_DOT && left->end < right->start;
}

static bool is_tight(const Formatter *f, int at) {
  const Token *left = &f->tokens.at[at - 1], *right = left + 1;
  if (f->flags[at - 1] & FORMAT_TIGHT_RIGHT || f->flags[at] & FORMAT_TIGHT_LEFT)
    return true;
  if (f->flags[at - 1] & FORMAT_SPACE_RIGHT || f->flags[at] & FORMAT_SPACE_LEFT)
    return false;
  if (format_opens(left->kind) || format_closes(right->kind) ||
      right->kind == TOKEN_COMMA)
    return true;
  if (is_dots(left->kind) || is_dots(right->kind) || is_prefix(left->kind)) return true;
  return right->kind == TOKEN_LBRACKET && right->touches && left->end == right->start;
}

bool format_spaced(const Formatter *f, int at) {
  const Token *left = &f->tokens.at[at - 1], *right = left + 1;
  if (!is_tight(f, at)) return true;
  return would_merge(f, left, right) || was_apart(left, right);
}
