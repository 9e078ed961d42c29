// The layout of programs: what `flc fmt` writes.
//
// Tokens and comments stay as they are and in their order; only the white space between them
// changes.  Lines that the author broke stay broken, others break where they are too long; what
// stands at which column is not the author's choice.
#pragma once
#include "base/text.h"
#include "source/lex.h"
#include "source/source.h"

enum { FORMAT_WIDTH = 100 };  // the columns of a line

// The file as it should look, in lines of at most `width` columns where they can be broken; NULL
// after errors, which are reported.
const char *source_format(Compiler *c, const SourceFile *file, int width);

// The expression of a file on one line, in its brackets, with the spaces that it has in a formatted
// file.
const char *source_format_exp(Compiler *c, Loc loc);

// ---- shared by the files of the formatter

// A range of tokens that belong together, and how its lines are indented.  Some have a `mark`, a
// token where they may break, else -1.
typedef enum FormatKind {
  FORMAT_BRACKET,  // ( ) [ ] { }: what is inside is aligned, or indented if it starts a line
  FORMAT_DECL,     // a definition, up to `mark`, its `=`, and behind that
  FORMAT_APPLY,    // f a b: arguments are aligned with the first one, at `mark`
  FORMAT_CHAIN,    // a + b, a -> b: the operator, at `mark`, is aligned with a
  FORMAT_LET,      // let x = a in b: `let` and `in` are aligned; b is at `mark`
  FORMAT_KEYWORD,  // if a then b else c, match, loop: keywords are aligned
  FORMAT_LAMBDA,  // \\x -> e: e, at `mark`, is indented from the line that this begins on
  FORMAT_HANG,    // anything else: further lines are indented
  FORMAT_ALIGN,   // #[attr] e: e, at `mark`, and further lines are aligned
} FormatKind;

typedef struct FormatGroup {
  FormatKind kind;
  int first, last;  // tokens
  int mark;         // a token, as the kind says
  int parent;       // the group around it, -1 for none
  int tried;        // the last search for a place to break that has looked at it
} FormatGroup;

// What the tree says about a token.
enum {
  FORMAT_TIGHT_LEFT = 1,   // no space before it
  FORMAT_TIGHT_RIGHT = 2,  // no space behind it
  FORMAT_SPACE_LEFT = 4,   // a space before it
  FORMAT_SPACE_RIGHT = 8,  // a space behind it
  FORMAT_BREAK = 16,       // it starts a line
  FORMAT_JOIN = 32,        // it starts none
  FORMAT_CHAINED = 64,     // a `let` that belongs to one before it
  FORMAT_ITEM = 128,       // a definition or specification in braces
};

typedef struct Formatter {
  Compiler *c;
  const SourceFile *file;
  int width;
  TokenVec tokens;
  unsigned char *flags;  // of each token
  int *match;            // of each bracket the other one, else -1
  Vec(FormatGroup) groups;
  int *inner;  // of each token the innermost group, -1 for none
  // The run of comments that was read last:
  uint32_t run_end;
  bool run_is_test;
  // Where tokens were put:
  int *column;       // of each token
  int *line_column;  // of the first token on its line
  bool *first;       // is it the first on its line?
  size_t *length;    // of `out` before it and what stands before it
  int line;          // the first token of the last line
  int searches;      // for places to break
  int at;            // the column behind the last one
  Text *out;
} Formatter;

static inline const Token *format_token(const Formatter *f, int at) {
  return &f->tokens.at[at];
}
// Is there a line break before this token in the file?
bool format_broken(const Formatter *f, int token);
// format_mark.c: finds groups and sets flags.
void format_mark(Formatter *f, const AstProgram *program);
// format_space.c: is there a space between this token and the one before it, on one line?
bool format_spaced(const Formatter *f, int token);
// The columns that the token takes.
int format_width(const Formatter *f, int token);
// format_break.c: token `at` ends behind the margin, on the line that begins with token `start`:
// finds places for line breaks, flags them, and returns the first; -1 if there is none.
int format_break(Formatter *f, int start, int at);
// Brackets; `#[` is one.
bool format_opens(TokenKind kind);
bool format_closes(TokenKind kind);
