// What the tests of the parser share: text to tree to text.
#pragma once
#include "base/text.h"
#include "source/source.h"
#include "unit.h"

typedef enum SnippetKind { SNIPPET_EXP, SNIPPET_TYPE, SNIPPET_PROGRAM } SnippetKind;

static inline bool snippet_print(Text *t, Compiler *c, SnippetKind kind,
                                 const SourceFile *file) {
  AstExp *exp = kind == SNIPPET_EXP ? source_parse_exp(c, file) : NULL;
  AstType *type = kind == SNIPPET_TYPE ? source_parse_type(c, file) : NULL;
  AstProgram *program = kind == SNIPPET_PROGRAM ? source_parse(c, file) : NULL;
  if (exp) ast_print_exp(t, exp);
  if (type) ast_print_type(t, type);
  if (program) ast_print_program(t, program);
  return exp || type || program;
}

// The printed tree of a text, or what the first line of the messages says after "error: ".
static inline const char *snippet_result(SnippetKind kind, const char *text,
                                         size_t length, bool built_in) {
  Compiler *c = compiler_new();
  SourceFile *file = source_file_new("t.fl", text, length);
  file->built_in = built_in;
  Text *t = text_new();
  if (snippet_print(t, c, kind, file)) return text_str(t);
  const char *messages = diag_take_text(c), *message = strstr(messages, "error: ");
  CHECK(message != NULL);
  return text_format("%.*s", (int)strcspn(message, "\n"), message);
}

// The printed tree reads back to a tree that prints the same.
static inline void snippet_check_round_trip(SnippetKind kind, const char *printed,
                                            bool built_in) {
  CHECK_TEXT(snippet_result(kind, printed, strlen(printed), built_in), printed);
}
