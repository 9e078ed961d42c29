// What the files of the printer share.
#pragma once
#include "source/source.h"

void print_name(Text *t, const AstName *name);      // m.x, (+), (m.+)
void print_binder(Text *t, Name name);              // x, (+)
void print_operator(Text *t, const AstName *name);  // +, m.+, `f`
void print_attr(Text *t, const AstAttr *attr);      // #[...]
void print_attr_info(Text *t, const AstAttr *attr);  // what is in it
void print_type_params(Text *t,
                       const AstTypeParamVec *params);  // each with a space before it
void print_param(Text *t, const AstPat *pat);
void print_params(Text *t, const AstPatVec *params);  // each with a space before it
void print_type_term(Text *t, const AstType *type);   // a type without an arrow outside
void print_module_exp(Text *t, const AstModExp *exp, bool atom);  // atom: in brackets if need be
void print_module_type(Text *t, const AstModType *type);
void print_string(Text *t, const char *bytes, size_t length);
