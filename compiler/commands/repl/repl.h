// What the files of `flc repl` share.
#pragma once
#include "commands/commands.h"
#include "commands/test/spec.h"

// A definition that was given, or a file that was loaded.
typedef struct ReplPiece {
  const char *name;  // "[3]": that of the input
  const char *text;
  bool in_module;  // what a later one may define again stands in a module that is opened
} ReplPiece;

typedef struct ReplSession {
  Vec(ReplPiece) pieces;
  int number;  // of the next input
} ReplSession;

// ---- input.c: what was written

typedef enum ReplKind {
  REPL_NOTHING,
  REPL_UNFINISHED,  // more may follow
  REPL_DECLS,
  REPL_EXPRESSION,
  REPL_MISTAKE,  // neither
} ReplKind;

// The definitions of the input go to `out`.
ReplKind repl_read(const char *name, const char *text, ReplSession *out);
// Says what is wrong with a text that is unfinished or a mistake.
void repl_report(const char *name, const char *text);

// ---- run.c: processes that check and compute, so that nothing that happens there ends the
// session.  False after a message.

// Adds the pieces of `more` if they are right.
bool repl_define(ReplSession *session, const ReplSession *more);
typedef enum ReplShow { REPL_SHOW_VALUE, REPL_SHOW_TYPE, REPL_SHOW_TEXT } ReplShow;
// Prints the value of an expression, as it is written or, of bytes, as the text that they are; or
// only its type.
bool repl_evaluate(const ReplSession *session, const char *text, ReplShow show);

// ---- value.c

// The value that has these leaves, as it could be written in a program.
void repl_print_value(Text *t, const Type *type, const Value *const *leaves);

// ---- complete.c: what may stand at the end of a line

// The words that go on from the letters at the end of the text, with these letters; their number
// is `*typed`.
TextVec repl_complete(const ReplSession *session, const char *text, size_t *typed);

// ---- line.c: lines, from a terminal with a history

typedef struct ReplLines ReplLines;
ReplLines *repl_lines_open(const ReplSession *session);
typedef enum ReplLine { REPL_LINE, REPL_INTERRUPTED, REPL_END } ReplLine;
// The next line without its end.
ReplLine repl_lines_next(ReplLines *lines, const char *prompt, const char **out);
void repl_lines_close(ReplLines *lines);
