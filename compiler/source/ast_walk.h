// The parts of expressions and patterns, for those who look at all of a tree.
#pragma once
#include "source/ast.h"

typedef struct AstVisitor AstVisitor;
struct AstVisitor {
  void (*exp)(AstVisitor *v, const AstExp *part);
  void (*pat)(AstVisitor *v, const AstPat *part);  // or NULL
  void *state;
};

// Visits the expressions and patterns that are immediate parts of `exp`, in the order of the text;
// not those in written types.
void ast_visit_parts(AstVisitor *v, const AstExp *exp);

// Visits the names that a pattern binds.
void ast_visit_names(const AstPat *pat, void (*visit)(void *state, const AstPat *name),
                     void *state);
