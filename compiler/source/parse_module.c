// Modules and module types.  The tree has room for `module m = { ... }` only, which the prelude
// uses; the rest is parsed to be refused.
#include "source/parse.h"

// What is refused, the first thing found; NULL if the tree has room for it.
typedef const char *Refusal;

static Refusal parse_module_exp(Parser *p, AstDeclVec *body);
static void parse_module_type(Parser *p);

// "(" name ":" ModuleType ")"
static void parse_module_param(Parser *p) {
  const Token *open = expect(p, TOKEN_LPAREN);
  map_put(p->modules, expect_name(p, "a module's name"), p);
  expect(p, TOKEN_COLON);
  parse_module_type(p);
  expect_close(p, TOKEN_RPAREN, open);
}

// "type" ("~" | "^")? name TypeParams ("=" Type)?
static void parse_type_spec(Parser *p) {
  next(p);
  if (!accept(p, TOKEN_TILDE)) accept_operator(p, "^");
  expect_name(p, "a type's name");
  parse_type_params(p);
  if (accept(p, TOKEN_EQUAL)) parse_type(p);
}

// "val" (name | "(" operator ")") TypeParams ":" Type
static void parse_value_spec(Parser *p) {
  next(p);
  const Token *open = peek(p);
  if (accept(p, TOKEN_LPAREN)) {
    if (!at_binary_operator(p, 0)) fail_expected(p, "an operator");
    parse_operator(p);
    expect_close(p, TOKEN_RPAREN, open);
  } else {
    if (at_binary_operator(p, 0))
      parse_operator(p);
    else
      expect_name(p, "a name to declare");
  }
  parse_type_params(p);
  expect(p, TOKEN_COLON);
  parse_type(p);
}

// Spec = Attr* (Type | Value | "module" name ":" ModuleType | "include" ModuleType)
static void parse_spec(Parser *p) {
  while (at_kind(p, TOKEN_ATTR))
    parse_attr(p);
  if (at_kind(p, TOKEN_TYPE)) {
    parse_type_spec(p);
  } else if (at_kind(p, TOKEN_VAL)) {
    parse_value_spec(p);
  } else if (accept(p, TOKEN_INCLUDE)) {
    parse_module_type(p);
  } else if (accept(p, TOKEN_MODULE)) {
    expect_name(p, "a module's name");
    expect(p, TOKEN_COLON);
    parse_module_type(p);
  } else {
    fail_expected(p, "'val', 'type', 'module' or 'include'");
  }
}

// "{" Spec* "}"
static void parse_specs(Parser *p) {
  const Token *open = next(p);
  while (!p->failed && !at_kind(p, TOKEN_RBRACE) && !at_kind(p, TOKEN_END))
    parse_spec(p);
  expect_close(p, TOKEN_RBRACE, open);
}

// QualName | "{" Spec* "}" | "(" ModuleType ")" | "(" name ":" ModuleType ")"
static void parse_module_type_atom(Parser *p) {
  const Token *open = peek(p);
  if (at_named_param(p)) {
    parse_module_param(p);
  } else if (accept(p, TOKEN_LPAREN)) {
    parse_module_type(p);
    expect_close(p, TOKEN_RPAREN, open);
  } else if (at_kind(p, TOKEN_LBRACE)) {
    parse_specs(p);
  } else {
    parse_qualified_name(p);
  }
}

// "with" QualName TypeParams "=" TypeTerm
static void parse_refinement(Parser *p) {
  next(p);
  parse_qualified_name(p);
  parse_type_params(p);
  expect(p, TOKEN_EQUAL);
  parse_type_term(p);
}

// ModuleType = Atom ("with" ...)* ("->" ModuleType)?
static void parse_module_type(Parser *p) {
  if (!enter(p)) return;
  parse_module_type_atom(p);
  while (at_kind(p, TOKEN_WITH))
    parse_refinement(p);
  if (accept(p, TOKEN_ARROW)) parse_module_type(p);
  leave(p);
}

// "\" ModuleParam (":" ModuleType)? "->" ModuleExp
static Refusal parse_module_lambda(Parser *p) {
  next(p);
  parse_module_param(p);
  if (accept(p, TOKEN_COLON)) parse_module_type_atom(p);
  expect(p, TOKEN_ARROW);
  parse_module_exp(p, &(AstDeclVec){ 0 });
  return "parametric modules";
}

static bool at_module_atom(const Parser *p) {
  return at_kind(p, TOKEN_NAME) || at_kind(p, TOKEN_LBRACE) || at_kind(p, TOKEN_LPAREN);
}

// QualName | "{" Decl* "}" | "(" ModuleExp ")" | "import" string
static Refusal parse_module_atom(Parser *p, AstDeclVec *body) {
  const Token *open = peek(p);
  if (accept(p, TOKEN_IMPORT)) {
    expect(p, TOKEN_STRING);
    return "import";
  }
  if (accept(p, TOKEN_LBRACE)) {
    *body = parse_decls(p, TOKEN_RBRACE);
    expect_close(p, TOKEN_RBRACE, open);
    return NULL;
  }
  if (accept(p, TOKEN_LPAREN)) {
    Refusal refusal = parse_module_exp(p, body);
    expect_close(p, TOKEN_RPAREN, open);
    return refusal;
  }
  if (!at_kind(p, TOKEN_NAME)) fail_expected(p, "a module");
  parse_qualified_name(p);
  return "names for modules";
}

// ModuleExp = "\" ... | Atom Atom* (":" ModuleType)*
static Refusal parse_module_exp(Parser *p, AstDeclVec *body) {
  if (!enter(p)) return NULL;
  if (at_kind(p, TOKEN_BACKSLASH)) {
    Refusal lambda = parse_module_lambda(p);
    leave(p);
    return lambda;
  }
  Refusal refusal = parse_module_atom(p, body);
  for (; at_module_atom(p); refusal = "parametric modules")
    parse_module_atom(p, &(AstDeclVec){ 0 });
  for (; accept(p, TOKEN_COLON); refusal = "module types")
    parse_module_type(p);
  leave(p);
  return refusal;
}

// The tree has no room for it, also in built-in files.
static void refuse(Parser *p, Loc loc, Refusal refusal) {
  if (p->failed) return;
  if (refusal)
    limit(p->c, loc, "%s", refusal);
  else
    later_tier(p, loc, "modules");
}

// "module" "type" name "=" ModuleType
static AstDecl *parse_module_type_decl(Parser *p, const Token *first) {
  AstDecl *decl =
      new_node(AstDecl, .kind = AST_DECL_MODULE_TYPE, .loc = token_loc(p, first));
  next(p);
  expect_name(p, "a module type's name");
  expect(p, TOKEN_EQUAL);
  parse_module_type(p);
  refuse(p, loc_from(p, first), "module types");
  return decl;
}

// Module = "module" name ModuleParam* (":" ModuleType)? "=" ModuleExp | "module" "type" ...
AstDecl *parse_module(Parser *p, const Token *first) {
  next(p);
  if (at_kind(p, TOKEN_TYPE)) return parse_module_type_decl(p, first);
  AstDecl *decl = new_node(AstDecl, .kind = AST_DECL_MODULE, .loc = token_loc(p, first));
  decl->u.module.name_loc = token_loc(p, peek(p));
  decl->u.module.name = expect_name(p, "a module's name");
  Loc head = loc_from(p, first);
  map_put(p->modules, decl->u.module.name, decl);
  Refusal by_params = at_kind(p, TOKEN_LPAREN) ? "parametric modules" : NULL;
  while (at_kind(p, TOKEN_LPAREN))
    parse_module_param(p);
  Refusal by_type = at_kind(p, TOKEN_COLON) ? "module types" : NULL;
  if (accept(p, TOKEN_COLON)) parse_module_type(p);
  expect(p, TOKEN_EQUAL);
  Refusal by_exp = parse_module_exp(p, &decl->u.module.body);
  refuse(p, head, by_params ? by_params : by_type ? by_type : by_exp);
  return decl;
}

// "open" ModuleExp
AstDecl *parse_open(Parser *p, const Token *first) {
  next(p);
  AstDecl *decl = new_node(AstDecl, .kind = AST_DECL_OPEN, .loc = token_loc(p, first));
  if (at_kind(p, TOKEN_NAME)) {
    decl->u.open.name = parse_qualified_name(p);
    later_tier(p, loc_from(p, first), "open");
    return decl;
  }
  Refusal refusal = parse_module_exp(p, &(AstDeclVec){ 0 });
  refuse(p, loc_from(p, first), refusal ? refusal : "open");
  return decl;
}
