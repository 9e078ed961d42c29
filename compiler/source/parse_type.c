// Types.
#include "source/parse.h"
#include <string.h>

static AstType *new_type(AstTypeKind kind, Loc loc) {
  return new_node(AstType, .kind = kind, .loc = loc);
}

// What stands for a type after a mistake.
static AstType *no_type(Parser *p) {
  return new_type(AST_TYPE_TUPLE, token_loc(p, peek(p)));
}

// "[" Exp? "]"; the size, NULL if it is left out
static AstExp *parse_size_exp(Parser *p) {
  const Token *open = expect(p, TOKEN_LBRACKET);
  AstExp *size = at_kind(p, TOKEN_RBRACKET) ? NULL : parse_exp(p);
  expect_close(p, TOKEN_RBRACKET, open);
  return size;
}

// SizeExp TypeTerm
static AstType *parse_array(Parser *p) {
  const Token *first = peek(p);
  AstType *type = new_type(AST_TYPE_ARRAY, token_loc(p, first));
  type->u.array.size = parse_size_exp(p);
  type->u.array.elem = parse_type_term(p);
  type->loc = loc_from(p, first);
  return type;
}

static AstType *parse_type_name(Parser *p) {
  AstName name = parse_qualified_name(p);
  AstType *type = new_type(AST_TYPE_NAME, name.loc);
  type->u.name.name = name;
  return type;
}

// "(" ")" | "(" Type ")" | "(" Type "," Type,+ ")"
static AstType *parse_bracketed(Parser *p) {
  const Token *open = next(p);
  AstType *tuple = new_type(AST_TYPE_TUPLE, token_loc(p, open));
  bool comma = false;
  while (!p->failed && !at_kind(p, TOKEN_RPAREN)) {
    vec_push(&tuple->u.tuple.items, parse_type(p));
    if (!accept(p, TOKEN_COMMA)) break;
    comma = true;
  }
  expect_close(p, TOKEN_RPAREN, open);
  tuple->loc = loc_from(p, open);
  if (comma && tuple->u.tuple.items.count == 1)
    fail_at(p, tuple->loc, "expected a tuple of no or at least two types, found one");
  return comma || tuple->u.tuple.items.count != 1 ? tuple : tuple->u.tuple.items.at[0];
}

// Field ":" Type
static AstField parse_field_type(Parser *p) {
  AstField field = { .loc = token_loc(p, peek(p)) };
  field.name = expect_field(p);
  expect(p, TOKEN_COLON);
  field.type = parse_type(p);
  return field;
}

// "{" FieldType,* "}"
static AstType *parse_record(Parser *p) {
  const Token *open = next(p);
  AstType *type = new_type(AST_TYPE_RECORD, token_loc(p, open));
  while (!p->failed && !at_kind(p, TOKEN_RBRACE)) {
    vec_push(&type->u.record.fields, parse_field_type(p));
    if (!accept(p, TOKEN_COMMA)) break;
  }
  expect_close(p, TOKEN_RBRACE, open);
  type->loc = loc_from(p, open);
  return type;
}

static bool at_type_atom(const Parser *p) {
  TokenKind kind = peek_kind(p);
  return kind == TOKEN_LPAREN || kind == TOKEN_LBRACE || kind == TOKEN_LBRACKET ||
         kind == TOKEN_NAME;
}

// TypeAtom = "(" ... ")" | "{" ... "}" | SizeExp TypeTerm | QualName
static AstType *parse_type_atom(Parser *p) {
  if (at_kind(p, TOKEN_LPAREN)) return parse_bracketed(p);
  if (at_kind(p, TOKEN_LBRACE)) return parse_record(p);
  if (at_kind(p, TOKEN_LBRACKET)) return parse_array(p);
  if (at_kind(p, TOKEN_NAME)) return parse_type_name(p);
  fail_expected(p, "a type");
  return no_type(p);
}

// TypeArg = SizeExp | TypeAtom
static AstTypeArg parse_type_arg(Parser *p) {
  const Token *first = peek(p);
  AstTypeArg arg = { .is_size = at_kind(p, TOKEN_LBRACKET) };
  if (arg.is_size)
    arg.size = parse_size_exp(p);
  else
    arg.type = parse_type_atom(p);
  arg.loc = loc_from(p, first);
  return arg;
}

// TypeApply = TypeAtom TypeArg*
static AstType *parse_type_apply(Parser *p) {
  AstType *type = parse_type_atom(p);
  if (type->kind == AST_TYPE_ARRAY || !at_type_atom(p)) return type;
  if (type->kind != AST_TYPE_NAME) {
    fail_at(p, token_loc(p, peek(p)), "only a type's name takes arguments");
    return type;
  }
  while (at_type_atom(p))
    vec_push(&type->u.name.args, parse_type_arg(p));
  type->loc = loc_since(p, type->loc);
  return type;
}

// #name TypeAtom*
static AstConstructor parse_constructor(Parser *p) {
  const Token *first = expect(p, TOKEN_CONSTRUCTOR);
  AstConstructor constructor = { .name = first->name };
  while (at_type_atom(p))
    vec_push(&constructor.payload, parse_type_atom(p));
  constructor.loc = loc_from(p, first);
  return constructor;
}

// Sum = Constructor ("|" Constructor)*
static AstType *parse_sum(Parser *p) {
  const Token *first = peek(p);
  AstType *type = new_type(AST_TYPE_SUM, token_loc(p, first));
  do
    vec_push(&type->u.sum.constructors, parse_constructor(p));
  while (accept_operator(p, "|"));
  type->loc = loc_from(p, first);
  return type;
}

// TypeTerm = "*" TypeTerm | TypeApply | Sum
AstType *parse_type_term(Parser *p) {
  const Token *first = peek(p);
  AstType *type = no_type(p);
  if (!enter(p)) return type;
  if (accept_operator(p, "*")) {
    type = new_type(AST_TYPE_UNIQUE, token_loc(p, first));
    type->u.unique.of = parse_type_term(p);
    type->loc = loc_from(p, first);
  } else if (at_kind(p, TOKEN_CONSTRUCTOR)) {
    type = parse_sum(p);
  } else {
    type = parse_type_apply(p);
  }
  leave(p);
  return type;
}

// "?" ("[" name "]")+ "." Type
static AstType *parse_exists(Parser *p) {
  const Token *first = next(p);
  AstType *type = new_type(AST_TYPE_EXISTS, token_loc(p, first));
  if (!at_kind(p, TOKEN_LBRACKET)) fail_expected(p, token_text(TOKEN_LBRACKET));
  AstTypeParamVec sizes = parse_sizes(p);
  vec_each (AstTypeParam *, size, &sizes)
    vec_push(&type->u.exists.sizes, size->name);
  expect(p, TOKEN_DOT);
  type->u.exists.of = parse_type(p);
  type->loc = loc_from(p, first);
  return type;
}

bool at_named_param(const Parser *p) {
  return at_kind(p, TOKEN_LPAREN) && peek_at(p, 1)->kind == TOKEN_NAME &&
         peek_at(p, 2)->kind == TOKEN_COLON;
}

static AstType *parse_named_param(Parser *p, Name *name) {
  const Token *open = next(p);
  *name = next(p)->name;
  next(p);
  AstType *type = parse_type(p);
  expect_close(p, TOKEN_RPAREN, open);
  if (!at_kind(p, TOKEN_ARROW)) fail_expected(p, token_text(TOKEN_ARROW));
  return type;
}

// Type = TypeTerm | TypeTerm "->" Type | "(" name ":" Type ")" "->" Type | "?" ...
AstType *parse_type(Parser *p) {
  const Token *first = peek(p);
  if (!enter(p)) return no_type(p);
  AstType *type;
  Name name = NULL;
  if (at_kind(p, TOKEN_QUESTION))
    type = parse_exists(p);
  else if (at_named_param(p))
    type = parse_named_param(p, &name);
  else
    type = parse_type_term(p);
  if (accept(p, TOKEN_ARROW)) {
    AstType *function = new_type(AST_TYPE_FUNCTION, token_loc(p, first));
    function->u.function.param = name;
    function->u.function.from = type;
    function->u.function.to = parse_type(p);
    function->loc = loc_from(p, first);
    type = function;
  }
  leave(p);
  return type;
}
