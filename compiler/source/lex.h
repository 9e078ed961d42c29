// Tokens of Fl.
#pragma once
#include "base/diag.h"
#include "base/vec.h"

typedef enum TokenKind {
#define TOKEN(name, text) TOKEN_##name,
#include "source/token.def"
#undef TOKEN
} TokenKind;

typedef struct Token {
  TokenKind kind;
  uint32_t start, end;  // bytes of the file
  bool touches;        // `[`: directly after a name, a literal, `)` or `]`, so it indexes
  bool first_on_line;  // in the first column
  Name name;           // names, constructors; operators (without qualifiers)
  const char *doc;     // `-- |` comment just before the token, or NULL
  const char *file_doc;  // the `-- |` comment before that one: it belongs to the file
  uint32_t doc_start;    // where `doc` stands
  bool doc_taken;        // by a definition
} Token;
typedef Vec(Token) TokenVec;

// The tokens of a file; TOKEN_END is the last one.  Where a TOKEN_BAD stands, the mistake has
// been reported.  Linear in the length of the file.
TokenVec lex_file(Compiler *c, const SourceFile *file);

// How a kind of token is called in messages: "'then'", "a name".
const char *token_text(TokenKind kind);

// Classes of characters.
bool lex_is_digit(char ch);
bool lex_is_name_start(char ch);  // letters
bool lex_is_name_part(char ch);   // letters, digits, _ and '
bool lex_is_operator(char ch);

// The bytes of the character of UTF-8 that begins so.
uint32_t lex_character_length(char first);

// A character that looks like one of Fl's, or means the same elsewhere (lex_lookalike.c).
typedef struct Lookalike {
  uint32_t code;
  enum { LOOKALIKE_SPACE, LOOKALIKE_QUOTE, LOOKALIKE_SIGN } kind;
  const char *name, *advice;  // name: of one that is not seen
} Lookalike;

// The number of bytes of the character at `text` if it is one, else 0.
uint32_t lex_lookalike(const char *text, Lookalike *found);

// The number of bytes of the numeric literal at `text`, whose kind is stored; a bad suffix is
// part of it.  After a projection's dot only digits are taken.
size_t lex_number(const char *text, bool after_dot, TokenKind *kind);
