// Characters to syntax tree.
#pragma once
#include "base/text.h"
#include "source/ast.h"

// The tree of a file, or NULL after errors (already reported).  Several errors are reported in
// one run.  Constructs of later tiers in a user's file are reported as limits with their name;
// they are accepted in built-in files.
AstProgram *source_parse(Compiler *c, const SourceFile *file);

// The path of the file that an import names, if it has that ending.
const char *source_import_path(const AstModExp *import, const char *ending);
// The file that an import names, beside the file that imports or else in a folder of FLC_IMPORTS;
// NULL if it cannot be read.
SourceFile *source_import(const Compiler *c, const AstModExp *import);

// The body of a parametric module once more, as a tree that shares nothing with other ones.
AstModExp *source_parse_again(const AstModExp *function);

// The expression or type alone that makes up the whole text (tests, command line); NULL after
// errors.
AstExp *source_parse_exp(Compiler *c, const SourceFile *file);
AstType *source_parse_type(Compiler *c, const SourceFile *file);

// Fl text that parses back to the same tree (fully parenthesised where precedence matters).
void ast_print_program(Text *t, const AstProgram *program);
void ast_print_exp(Text *t, const AstExp *exp);
void ast_print_type(Text *t, const AstType *type);
void ast_print_pat(Text *t, const AstPat *pat);
