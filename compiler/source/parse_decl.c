// Definitions, and how parsing goes on after a mistake in one.
#include "source/parse.h"

static AstDecl *new_decl(AstDeclKind kind, Loc loc) {
  return new_node(AstDecl, .kind = kind, .loc = loc);
}

// Can a definition start with this token?  `let` and `#[` can where a line begins with them.
static bool starts_decl(const Token *token) {
  switch ((int)token->kind) {
  case TOKEN_DEF:
  case TOKEN_ENTRY:
  case TOKEN_TYPE:
  case TOKEN_VAL:
  case TOKEN_MODULE:
  case TOKEN_OPEN:
  case TOKEN_IMPORT:
  case TOKEN_LOCAL:
  case TOKEN_INCLUDE: return true;
  case TOKEN_LET:
  case TOKEN_ATTR: return token->first_on_line;
  }
  return false;
}

bool at_decl(const Parser *p) { return starts_decl(peek(p)); }

// Params (":" Type)? "=" Exp
void parse_function_rest(Parser *p, AstFunction *function) {
  function->params = parse_params(p);
  if (accept(p, TOKEN_COLON)) function->result = parse_type(p);
  expect(p, TOKEN_EQUAL);
  function->body = parse_exp(p);
}

static Name binding_name(Parser *p, AstName name) {
  if (name.qualifiers.count)
    fail_at(p, name.loc, "expected a name to bind, found a qualified one");
  return name.name;
}

// "(" operator ")"
static bool at_bracketed_operator(const Parser *p) {
  if (!at_kind(p, TOKEN_LPAREN)) return false;
  int length = operator_length(p, 1);
  return length > 0 && peek_at(p, 1 + length)->kind == TOKEN_RPAREN;
}

static bool at_bracketed_not(const Parser *p) {
  return at_kind(p, TOKEN_LPAREN) && token_is_operator(peek_at(p, 1), "!");
}

// name | "(" operator ")"
static Name parse_binding_name(Parser *p, Loc *loc, const char *what) {
  const Token *open = peek(p);
  *loc = token_loc(p, open);
  if (at_bracketed_not(p))
    fail_at(p, token_loc(p, peek_at(p, 1)), "`!` cannot be redefined");
  if (!at_bracketed_operator(p)) return expect_name(p, what);
  next(p);
  Name name = binding_name(p, parse_operator(p));
  expect_close(p, TOKEN_RPAREN, open);
  *loc = loc_from(p, open);
  return name;
}

// Param operator Param, as in `def a +^ b = e`
static void parse_infix_head(Parser *p, AstDecl *decl) {
  const Token *first = peek(p);
  AstFunction *function = &decl->u.value.function;
  vec_push(&function->params, parse_param(p));
  if (!p->failed && first->kind != TOKEN_NAME && at_kind(p, TOKEN_EQUAL))
    fail_at(p, loc_from(p, first),
            "a definition at top level binds a name, not a pattern");
  if (!at_binary_operator(p, 0)) fail_expected(p, "an operator");
  AstName op = parse_operator(p);
  decl->u.value.name_loc = op.loc;
  decl->u.value.name = binding_name(p, op);
  vec_push(&function->params, parse_param(p));
}

static bool at_infix_head(const Parser *p) {
  if (at_kind(p, TOKEN_NAME)) return at_binary_operator(p, 1);
  return at_param(p) && !at_bracketed_operator(p) && !at_bracketed_not(p);
}

// Value = ("def" | "let" | "entry") (Name TypeParams Params | InfixHead) (":" Type)? "=" Exp
static AstDecl *parse_value(Parser *p) {
  const Token *first = next(p);
  AstDecl *decl = new_decl(AST_DECL_VALUE, token_loc(p, first));
  AstFunction *function = &decl->u.value.function;
  decl->u.value.is_entry = first->kind == TOKEN_ENTRY;
  if (at_infix_head(p)) {
    parse_infix_head(p, decl);
  } else {
    decl->u.value.name =
        parse_binding_name(p, &decl->u.value.name_loc, "a name to define");
    function->type_params = parse_type_params(p);
    function->params = parse_params(p);
  }
  if (accept(p, TOKEN_COLON)) function->result = parse_type(p);
  expect(p, TOKEN_EQUAL);
  function->body = parse_exp(p);
  return decl;
}

AstLifted parse_lifted(Parser *p) {
  if (accept(p, TOKEN_TILDE)) return LIFTED_SIZES;
  return accept_operator(p, "^") ? LIFTED_FULLY : LIFTED_NOT;
}

// "type" ("~" | "^")? name TypeParams "=" Type
static AstDecl *parse_type_decl(Parser *p) {
  AstDecl *decl = new_decl(AST_DECL_TYPE, token_loc(p, next(p)));
  decl->u.type.lifted = parse_lifted(p);
  decl->u.type.name_loc = token_loc(p, peek(p));
  decl->u.type.name = expect_name(p, "a type's name");
  decl->u.type.params = parse_type_params(p);
  expect(p, TOKEN_EQUAL);
  decl->u.type.type = parse_type(p);
  return decl;
}

// "val" Name TypeParams ":" Type
static AstDecl *parse_val_spec(Parser *p) {
  Loc loc = token_loc(p, next(p));
  AstDecl *decl = new_decl(AST_DECL_SPEC, loc);
  decl->u.spec.name = parse_binding_name(p, &decl->u.spec.name_loc, "a name to declare");
  decl->u.spec.params = parse_type_params(p);
  expect(p, TOKEN_COLON);
  decl->u.spec.type = parse_type(p);
  if (!p->file->built_in)
    fail_at(
        p, loc,
        "'val' stands in module types only: a value is defined by `def x : i32 = ..`");
  return decl;
}

// "import" string
static AstDecl *parse_import(Parser *p) {
  AstDecl *decl = new_decl(AST_DECL_LOCAL, token_loc(p, peek(p)));
  decl->u.local.decl = new_decl(AST_DECL_OPEN, decl->loc);
  decl->u.local.decl->u.open.exp = parse_module_import(p);
  return decl;
}

// "local" Decl
static AstDecl *parse_local(Parser *p) {
  const Token *first = next(p);
  AstDecl *decl = new_decl(AST_DECL_LOCAL, token_loc(p, first));
  decl->u.local.decl = parse_decl(p);
  return decl;
}

// Old-style `let` is `def`.
static AstDecl *parse_decl_kind(Parser *p, const Token *first) {
  switch ((int)peek_kind(p)) {
  case TOKEN_DEF:
  case TOKEN_ENTRY:
  case TOKEN_LET: return parse_value(p);
  case TOKEN_TYPE: return parse_type_decl(p);
  case TOKEN_VAL: return parse_val_spec(p);
  case TOKEN_MODULE: return parse_module(p, first);
  case TOKEN_OPEN: return parse_open(p, first);
  case TOKEN_IMPORT: return parse_import(p);
  case TOKEN_LOCAL: return parse_local(p);
  case TOKEN_INCLUDE:
    fail_at(p, token_loc(p, peek(p)), "'include' stands in module types only");
    break;
  }
  fail_expected(p, "a definition");
  return new_decl(AST_DECL_VALUE, token_loc(p, first));
}

// Decl = ("#[" AttrInfo "]")* Decl'
AstDecl *parse_decl(Parser *p) {
  const Token *first = peek(p);
  AstAttrVec attrs = { 0 };
  const char *doc = take_doc(p);
  if (!enter(p)) return new_decl(AST_DECL_VALUE, token_loc(p, first));
  while (at_kind(p, TOKEN_ATTR))
    vec_push(&attrs, parse_attr(p));
  if (take_doc(p)) doc = take_doc(p);
  AstDecl *decl = parse_decl_kind(p, first);
  leave(p);
  decl->attrs = attrs;
  decl->doc = doc;
  decl->loc = loc_from(p, first);
  return decl;
}

// A `let` in the first column starts a definition only where the file defines with `let`.
static bool at_next_decl(const Parser *p) {
  return at_decl(p) && (p->old_style || !at_kind(p, TOKEN_LET));
}

// After a mistake: on to the next definition, which is behind `start`.  A word that was found where
// it cannot stand, as in `def f (type: i32) = type`, starts none on this line.
static void resynchronise(Parser *p, int start) {
  p->failed = false;
  p->depth = 0;
  if (p->at == start) next(p);
  TokenKind found = peek_kind(p);
  while (!at_kind(p, TOKEN_END)) {
    bool misplaced = at_kind(p, found) && !peek(p)->first_on_line;
    if (!p->stopped && !misplaced && at_next_decl(p)) break;
    next(p);
  }
}

// A bracket that closes what a mistake left open.
static bool is_leftover(const Parser *p, TokenKind end) {
  return p->mistaken && end == TOKEN_END && at_kind(p, TOKEN_RBRACE);
}

// Decl* up to `end`, which is left.  A mistake inside brackets ends them.
AstDeclVec parse_decls(Parser *p, TokenKind end) {
  AstDeclVec decls = { 0 };
  while (!at_kind(p, end) && !at_kind(p, TOKEN_END)) {
    int start = p->at;
    if (is_leftover(p, end)) {
      resynchronise(p, start);
      continue;
    }
    p->old_style = p->old_style || at_kind(p, TOKEN_LET);
    AstDecl *decl = parse_decl(p);
    if (!p->failed) vec_push(&decls, decl);
    if (p->failed && end == TOKEN_END) resynchronise(p, start);
  }
  return decls;
}
