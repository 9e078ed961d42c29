// What the files of the parser share.  There is a function per production of the grammar.
//
// A mistake is reported once: after it every token looks like the end of the file until the next
// definition, so that the productions return without further messages.  They always return a
// node, after a mistake a meaningless one.
#pragma once
#include "source/lex.h"
#include "source/source.h"

enum {
  PARSE_MAX_DEPTH = 2000,  // of nested expressions, patterns and types
  PARSE_MAX_CHAIN =
      10000,  // operators, lets, indices after one another: nested in the tree
};

typedef struct Parser {
  Compiler *c;
  const SourceFile *file;
  TokenVec tokens;
  int at;          // the next token
  bool failed;     // a mistake was reported; see above
  bool mistaken;   // a mistake was reported somewhere in the file
  bool stopped;    // one of size: the rest of the file is not read
  bool old_style;  // the file defines with `let`
  int depth;       // of nested productions
  Map *modules;    // the names of modules: `m.x` is a qualified name
} Parser;

// parse.c: tokens
// The text of the `-- |` comment before the next token, where a definition may start.
const char *take_doc(Parser *p);
const Token *peek(const Parser *p);  // the next token
// The token that many after the next one.
const Token *peek_at(const Parser *p, int ahead);
TokenKind peek_kind(const Parser *p);
// Is the next token of that kind?
bool at_kind(const Parser *p, TokenKind kind);
// Is the next token that operator?
bool at_operator(const Parser *p, const char *spelling);
bool token_is_operator(const Token *token, const char *spelling);
const Token *next(Parser *p);            // takes it
bool accept(Parser *p, TokenKind kind);  // takes it if it is of that kind
// Takes the operator if it is the next token.
bool accept_operator(Parser *p, const char *spelling);
// Takes a token of that kind, or reports that it is missing.
const Token *expect(Parser *p, TokenKind kind);
// The closing bracket of the one at `open`.
void expect_close(Parser *p, TokenKind kind, const Token *open);
Name expect_name(Parser *p, const char *what);  // "a parameter"
Name expect_field(Parser *p);                   // a name or a number
Loc token_loc(const Parser *p, const Token *token);  // its place in the file
Loc loc_from(const Parser *p, const Token *first);  // up to the last token taken
// From the beginning of `from` to the last token taken.
Loc loc_since(const Parser *p, Loc from);

// "expected WHAT after <last token>, found <next token>"; the first mistake only.
void fail_expected(Parser *p, const char *what);
// The same for the message before: what to write instead (parse_hint.c).
void parse_hint(Parser *p, const char *expected);
void parse_hint_bracket(Parser *p, const Token *open);  // a bracket that was not closed
void parse_hint_suffix(Parser *p, Loc literal, const char *suffix);  // one that no number has
// Any other mistake at `loc`.
void fail_at(Parser *p, Loc loc, const char *format, ...) DIAG_FORMAT;
// Enters a nested production; false (and failed) if there are too many. Pair with leave.
bool enter(Parser *p);
void leave(Parser *p);  // leaves what `enter` entered
// Counts an element of a chain that nests in the tree.
void count_chain(Parser *p, int *count);

// parse_name.c
AstName parse_qualified_name(Parser *p);  // a.b.c
bool at_binary_operator(const Parser *p, int ahead);
AstName parse_operator(Parser *p);                // +, m.+, `f`
int operator_length(const Parser *p, int ahead);  // in tokens
const AstAttr *parse_attr(Parser *p);             // #[...]
AstTypeParamVec parse_type_params(Parser *p);     // [n] 't '^t '~t, any number
AstTypeParamVec parse_sizes(Parser *p);           // [n], any number

// parse_literal.c: the value of the next token
AstExp *parse_literal(Parser *p);
bool at_literal(const Parser *p);
// The bytes of a string literal, escapes resolved.
const char *parse_string(Parser *p, size_t *length);
// - and a literal as one literal.
AstExp *negate_literal(Parser *p, AstExp *literal, Loc loc);

// parse_type.c
AstType *parse_type(Parser *p);        // with arrows
AstType *parse_type_term(Parser *p);   // without arrows on the outside
bool at_named_param(const Parser *p);  // "(" name ":", as in (n: i64) -> [n]i32

// parse_pat.c
AstPat *parse_pat(Parser *p);
AstPat *parse_param(Parser *p);     // a pattern that needs no brackets as a parameter
AstPatVec parse_params(Parser *p);  // any number
// Can a parameter begin here?
bool at_param(const Parser *p);

// parse_exp.c
AstExp *new_exp(Parser *p, AstExpKind kind, Loc loc);
AstExp *parse_exp(Parser *p);        // with ascriptions
AstExp *parse_exp_plain(Parser *p);  // without
AstExp *name_exp(Parser *p, AstName name);
// Path = Step (("." Field) | "[" Dims "]")*, where the first step may be a field.
AstPath parse_path(Parser *p);

// parse_atom.c
AstExp *parse_atom(Parser *p);
// Can an argument begin here?
bool at_atom(const Parser *p);
AstDimVec parse_dims(Parser *p, const Token *open);  // what follows `[`, and `]`

// parse_control.c
AstExp *parse_let(Parser *p);
AstExp *parse_if(Parser *p);
AstExp *parse_loop(Parser *p);
AstExp *parse_match(Parser *p);
AstExp *parse_lambda(Parser *p);

// parse_decl.c
AstDecl *parse_decl(Parser *p);  // NULL if it was refused
AstDeclVec parse_decls(Parser *p, TokenKind end);  // definitions up to the token `end`
void parse_function_rest(Parser *p, AstFunction *function);  // params : t = body
// Does a definition begin here?
bool at_decl(const Parser *p);
AstLifted parse_lifted(Parser *p);  // ("~" | "^")?

// parse_module.c
AstDecl *parse_module(Parser *p, const Token *first);
AstDecl *parse_open(Parser *p, const Token *first);
AstModExp *parse_module_import(Parser *p);
