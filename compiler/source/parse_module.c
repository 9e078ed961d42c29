// Modules and module types.
#include "source/parse.h"

static AstModExp *parse_module_exp(Parser *p);
static AstModType *parse_module_type(Parser *p);

static AstModExp *new_exp_of(const Parser *p, AstModExpKind kind, const Token *first) {
  return new_node(AstModExp, .kind = kind, .loc = token_loc(p, first));
}

// --- Module types ---

// "type" ("~" | "^")? name TypeParams ("=" Type)?
static AstSpec parse_type_spec(Parser *p) {
  AstSpec spec = { .kind = SPEC_TYPE, .loc = token_loc(p, next(p)) };
  spec.lifted = parse_lifted(p);
  spec.name = expect_name(p, "a type's name");
  spec.params = parse_type_params(p);
  if (accept(p, TOKEN_EQUAL)) spec.type = parse_type(p);
  return spec;
}

static Name parse_value_name(Parser *p) {
  const Token *open = peek(p);
  if (!accept(p, TOKEN_LPAREN))
    return at_binary_operator(p, 0) ? parse_operator(p).name
                                    : expect_name(p, "a name to declare");
  if (!at_binary_operator(p, 0) && !at_operator(p, "!")) fail_expected(p, "an operator");
  Name name = parse_operator(p).name;
  expect_close(p, TOKEN_RPAREN, open);
  return name;
}

// "val" (name | operator | "(" operator ")") TypeParams ":" Type
static AstSpec parse_value_spec(Parser *p) {
  AstSpec spec = { .kind = SPEC_VALUE, .loc = token_loc(p, next(p)) };
  spec.name = parse_value_name(p);
  spec.params = parse_type_params(p);
  expect(p, TOKEN_COLON);
  spec.type = parse_type(p);
  return spec;
}

// Spec = Attr* (Type | Value | "module" name ":" ModuleType | "include" ModuleType)
static AstSpec parse_spec_kind(Parser *p) {
  if (at_kind(p, TOKEN_TYPE)) return parse_type_spec(p);
  if (at_kind(p, TOKEN_VAL)) return parse_value_spec(p);
  AstSpec spec = { .kind = SPEC_INCLUDE, .loc = token_loc(p, peek(p)) };
  if (accept(p, TOKEN_INCLUDE)) {
    spec.of = parse_module_type(p);
  } else if (accept(p, TOKEN_MODULE)) {
    spec.kind = SPEC_MODULE;
    spec.name = expect_name(p, "a module's name");
    expect(p, TOKEN_COLON);
    spec.of = parse_module_type(p);
  } else {
    fail_expected(p, "'val', 'type', 'module' or 'include'");
  }
  return spec;
}

static AstSpec parse_spec(Parser *p) {
  const char *doc = take_doc(p);
  while (at_kind(p, TOKEN_ATTR))
    parse_attr(p);
  if (take_doc(p)) doc = take_doc(p);
  AstSpec spec = parse_spec_kind(p);
  spec.doc = doc;
  return spec;
}

// "(" name ":" ModuleType ")"
static AstModType *parse_module_param(Parser *p, Name *name) {
  const Token *open = expect(p, TOKEN_LPAREN);
  *name = expect_name(p, "a module's name");
  map_put(p->modules, *name, p);
  expect(p, TOKEN_COLON);
  AstModType *type = parse_module_type(p);
  expect_close(p, TOKEN_RPAREN, open);
  return type;
}

// QualName | "{" Spec* "}" | "(" ModuleType ")"
static AstModType *parse_module_type_atom(Parser *p) {
  const Token *open = peek(p);
  AstModType *type = new_node(AstModType, .kind = MODTYPE_NAME);
  if (accept(p, TOKEN_LPAREN)) {
    type = parse_module_type(p);
    expect_close(p, TOKEN_RPAREN, open);
  } else if (accept(p, TOKEN_LBRACE)) {
    type->kind = MODTYPE_SPECS;
    while (!p->failed && !at_kind(p, TOKEN_RBRACE) && !at_kind(p, TOKEN_END))
      vec_push(&type->u.specs, parse_spec(p));
    expect_close(p, TOKEN_RBRACE, open);
  } else {
    type->u.name = parse_qualified_name(p);
  }
  type->loc = loc_from(p, open);
  return type;
}

// "with" QualName TypeParams "=" TypeTerm
static AstModType *parse_refinement(Parser *p, AstModType *of) {
  next(p);
  AstModType *type = new_node(AstModType, .kind = MODTYPE_WITH);
  type->u.with.of = of;
  type->u.with.name = parse_qualified_name(p);
  type->u.with.params = parse_type_params(p);
  expect(p, TOKEN_EQUAL);
  type->u.with.type = at_kind(p, TOKEN_QUESTION) ? parse_type(p) : parse_type_term(p);
  type->loc = loc_since(p, of->loc);
  return type;
}

// ModuleType = Atom ("with" ...)* ("->" ModuleType)? | "(" name ":" ModuleType ")" "->" ModuleType
static AstModType *parse_module_type(Parser *p) {
  const Token *first = peek(p);
  if (!enter(p)) return new_node(AstModType, .kind = MODTYPE_SPECS);
  Name param = NULL;
  AstModType *type =
      at_named_param(p) ? parse_module_param(p, &param) : parse_module_type_atom(p);
  while (!param && at_kind(p, TOKEN_WITH))
    type = parse_refinement(p, type);
  if (param && !at_kind(p, TOKEN_ARROW)) fail_expected(p, token_text(TOKEN_ARROW));
  if (accept(p, TOKEN_ARROW)) {
    AstModType *from = type;
    type = new_node(AstModType, .kind = MODTYPE_FUNCTION);
    type->u.function.param = param;
    type->u.function.from = from;
    type->u.function.to = parse_module_type(p);
  }
  type->loc = loc_from(p, first);
  leave(p);
  return type;
}

// --- Modules ---

static AstModExp *ascribed(Parser *p, AstModExp *exp, AstModType *type) {
  return new_node(AstModExp, .kind = MODEXP_ASCRIBE, .loc = loc_since(p, exp->loc),
                  .u.ascribe = { exp, type });
}

static AstModExp *parse_function(Parser *p, bool is_lambda);

// What follows a parameter: (":" ModuleType)? "=" ModuleExp, before which a definition may have
// more parameters; in a lambda "->" stands for "=".
static AstModExp *parse_function_rest_of(Parser *p, bool is_lambda) {
  if (!is_lambda && at_kind(p, TOKEN_LPAREN)) return parse_function(p, false);
  AstModType *type = NULL;
  if (accept(p, TOKEN_COLON))
    type = is_lambda ? parse_module_type_atom(p) : parse_module_type(p);
  expect(p, is_lambda ? TOKEN_ARROW : TOKEN_EQUAL);
  AstModExp *exp = parse_module_exp(p);
  return type ? ascribed(p, exp, type) : exp;
}

// ModuleParam and what follows
static AstModExp *parse_function(Parser *p, bool is_lambda) {
  const Token *first = peek(p);
  AstModExp *exp = new_exp_of(p, MODEXP_FUNCTION, first);
  exp->u.function.is_lambda = is_lambda;
  exp->u.function.type = parse_module_param(p, &exp->u.function.param);
  exp->u.function.again = mem_copy(p, sizeof *p);
  exp->u.function.body = parse_function_rest_of(p, is_lambda);
  exp->loc = loc_from(p, first);
  return exp;
}

AstModExp *source_parse_again(const AstModExp *function) {
  Parser p = *function->u.function.again;
  return parse_function_rest_of(&p, function->u.function.is_lambda);
}

// "import" string
AstModExp *parse_module_import(Parser *p) {
  const Token *first = next(p);
  AstModExp *exp = new_exp_of(p, MODEXP_IMPORT, first);
  if (!at_kind(p, TOKEN_STRING)) {
    fail_expected(p, "a string");
    return exp;
  }
  size_t length;
  const char *path = parse_string(p, &length);
  exp->u.path = name_intern(p->c->names, path, length);
  exp->loc = loc_from(p, first);
  return exp;
}

static bool at_module_atom(const Parser *p) {
  return at_kind(p, TOKEN_NAME) || at_kind(p, TOKEN_LBRACE) || at_kind(p, TOKEN_LPAREN);
}

// QualName | "{" Decl* "}" | "(" ModuleExp ")" | "import" string
static AstModExp *parse_module_atom(Parser *p) {
  const Token *open = peek(p);
  if (at_kind(p, TOKEN_IMPORT)) return parse_module_import(p);
  AstModExp *exp = new_exp_of(p, MODEXP_BODY, open);
  if (accept(p, TOKEN_LBRACE)) {
    exp->u.body = parse_decls(p, TOKEN_RBRACE);
    expect_close(p, TOKEN_RBRACE, open);
  } else if (accept(p, TOKEN_LPAREN)) {
    exp = parse_module_exp(p);
    expect_close(p, TOKEN_RPAREN, open);
  } else {
    if (!at_kind(p, TOKEN_NAME)) fail_expected(p, "a module");
    exp->kind = MODEXP_NAME;
    exp->u.name = parse_qualified_name(p);
  }
  exp->loc = loc_from(p, open);
  return exp;
}

// ModuleExp = "\\" ModuleParam ... | Atom Atom* (":" ModuleType)*
static AstModExp *parse_module_exp(Parser *p) {
  const Token *first = peek(p);
  if (!enter(p)) return new_exp_of(p, MODEXP_BODY, first);
  AstModExp *exp;
  if (accept(p, TOKEN_BACKSLASH)) {
    exp = parse_function(p, true);
  } else {
    exp = parse_module_atom(p);
    while (at_module_atom(p)) {
      AstModExp *arg = parse_module_atom(p);
      exp = new_node(AstModExp, .kind = MODEXP_APPLY, .loc = loc_from(p, first),
                     .u.apply = { exp, arg });
    }
    while (accept(p, TOKEN_COLON))
      exp = ascribed(p, exp, parse_module_type(p));
  }
  leave(p);
  return exp;
}

// "module" "type" name "=" ModuleType
static AstDecl *parse_module_type_decl(Parser *p, const Token *first) {
  AstDecl *decl =
      new_node(AstDecl, .kind = AST_DECL_MODULE_TYPE, .loc = token_loc(p, first));
  next(p);
  decl->u.module_type.name_loc = token_loc(p, peek(p));
  decl->u.module_type.name = expect_name(p, "a module type's name");
  expect(p, TOKEN_EQUAL);
  decl->u.module_type.type = parse_module_type(p);
  return decl;
}

// Module = "module" name ModuleParam* (":" ModuleType)? "=" ModuleExp | "module" "type" ...
AstDecl *parse_module(Parser *p, const Token *first) {
  next(p);
  if (at_kind(p, TOKEN_TYPE)) return parse_module_type_decl(p, first);
  AstDecl *decl = new_node(AstDecl, .kind = AST_DECL_MODULE, .loc = token_loc(p, first));
  decl->u.module.name_loc = token_loc(p, peek(p));
  decl->u.module.name = expect_name(p, "a module's name");
  decl->u.module.exp = parse_function_rest_of(p, false);
  map_put(p->modules, decl->u.module.name, decl);
  return decl;
}

// "open" ModuleExp
AstDecl *parse_open(Parser *p, const Token *first) {
  next(p);
  AstDecl *decl = new_node(AstDecl, .kind = AST_DECL_OPEN, .loc = token_loc(p, first));
  decl->u.open.exp = parse_module_exp(p);
  return decl;
}
