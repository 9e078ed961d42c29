// Patterns.
#include "source/parse.h"

static AstPat *new_pat(AstPatKind kind, Loc loc) {
  return new_node(AstPat, .kind = kind, .loc = loc);
}

static AstPat *no_pat(Parser *p) {
  return new_pat(AST_PAT_WILDCARD, token_loc(p, peek(p)));
}

static AstPat *name_pat(Name name, Loc loc) {
  AstPat *pat = new_pat(AST_PAT_NAME, loc);
  pat->u.name.name = name;
  return pat;
}

static AstPat *ascribe(Parser *p, AstPat *inner) {
  AstPat *pat = new_pat(AST_PAT_ASCRIBE, inner->loc);
  pat->u.ascribe.pat = inner;
  pat->u.ascribe.type = parse_type(p);
  pat->loc = loc_since(p, inner->loc);
  return pat;
}

// "(" operator ")"
static bool at_operator_pat(const Parser *p) {
  int length = at_kind(p, TOKEN_LPAREN) ? operator_length(p, 1) : 0;
  return length > 0 && peek_at(p, 1 + length)->kind == TOKEN_RPAREN;
}

static AstPat *parse_operator_pat(Parser *p) {
  const Token *open = next(p);
  AstName name = parse_operator(p);
  expect_close(p, TOKEN_RPAREN, open);
  if (name.qualifiers.count)
    fail_at(p, name.loc, "expected a name to bind, found a qualified one");
  return name_pat(name.name, loc_from(p, open));
}

// "(" ")" | "(" Pat ")" | "(" Pat "," Pat,+ ")"
static AstPat *parse_bracketed_pat(Parser *p) {
  if (at_operator_pat(p)) return parse_operator_pat(p);
  const Token *open = next(p);
  AstPat *tuple = new_pat(AST_PAT_TUPLE, token_loc(p, open));
  bool comma = false;
  while (!p->failed && !at_kind(p, TOKEN_RPAREN)) {
    vec_push(&tuple->u.tuple.items, parse_pat(p));
    if (!accept(p, TOKEN_COMMA)) break;
    comma = true;
  }
  expect_close(p, TOKEN_RPAREN, open);
  tuple->loc = loc_from(p, open);
  if (comma && tuple->u.tuple.items.count == 1)
    fail_at(p, tuple->loc, "expected a tuple of no or at least two patterns, found one");
  return comma || tuple->u.tuple.items.count != 1 ? tuple : tuple->u.tuple.items.at[0];
}

// FieldPat = Field "=" Pat | Field ":" Type | Field
static AstFieldPat parse_field_pat(Parser *p) {
  const Token *first = peek(p);
  AstFieldPat field = { .loc = token_loc(p, first), .name = expect_field(p) };
  field.pat = name_pat(field.name, field.loc);
  if (accept(p, TOKEN_EQUAL))
    field.pat = parse_pat(p);
  else if (first->kind == TOKEN_NATURAL)
    fail_expected(p, token_text(TOKEN_EQUAL));
  else if (accept(p, TOKEN_COLON))
    field.pat = ascribe(p, field.pat);
  field.loc = loc_from(p, first);
  return field;
}

// "{" FieldPat,* "}"
static AstPat *parse_record_pat(Parser *p) {
  const Token *open = next(p);
  AstPat *pat = new_pat(AST_PAT_RECORD, token_loc(p, open));
  while (!p->failed && !at_kind(p, TOKEN_RBRACE)) {
    vec_push(&pat->u.record.fields, parse_field_pat(p));
    if (!accept(p, TOKEN_COMMA)) break;
  }
  expect_close(p, TOKEN_RBRACE, open);
  pat->loc = loc_from(p, open);
  return pat;
}

// literal | "-" number
static AstPat *parse_literal_pat(Parser *p) {
  const Token *first = peek(p);
  AstPat *pat = new_pat(AST_PAT_LITERAL, token_loc(p, first));
  bool minus = accept_operator(p, "-");
  TokenKind kind = peek_kind(p);
  bool number = kind == TOKEN_NATURAL || kind == TOKEN_INT || kind == TOKEN_FLOAT;
  if (minus && !number) fail_expected(p, "a number");
  pat->u.literal.value = parse_literal(p);
  pat->loc = loc_from(p, first);
  if (minus) pat->u.literal.value = negate_literal(p, pat->u.literal.value, pat->loc);
  return pat;
}

static AstPat *constructor_pat(Parser *p) {
  const Token *first = next(p);
  AstPat *pat = new_pat(AST_PAT_CONSTRUCTOR, token_loc(p, first));
  pat->u.constructor.name = first->name;
  return pat;
}

bool at_param(const Parser *p) {
  TokenKind kind = peek_kind(p);
  return kind == TOKEN_NAME || kind == TOKEN_UNDERSCORE || kind == TOKEN_LPAREN ||
         kind == TOKEN_LBRACE || kind == TOKEN_CONSTRUCTOR ||
         (at_literal(p) && kind != TOKEN_STRING);
}

// ParamPat = name | _ | "(" ... ")" | "{" ... "}" | literal | #name
static AstPat *parse_param_kind(Parser *p) {
  const Token *first = peek(p);
  if (at_kind(p, TOKEN_LPAREN)) return parse_bracketed_pat(p);
  if (at_kind(p, TOKEN_LBRACE)) return parse_record_pat(p);
  if (at_kind(p, TOKEN_CONSTRUCTOR)) return constructor_pat(p);
  if (at_literal(p) && !at_kind(p, TOKEN_STRING)) return parse_literal_pat(p);
  if (accept(p, TOKEN_NAME)) return name_pat(first->name, token_loc(p, first));
  if (!accept(p, TOKEN_UNDERSCORE)) fail_expected(p, "a pattern");
  return new_pat(AST_PAT_WILDCARD, token_loc(p, first));
}

AstPat *parse_param(Parser *p) {
  if (!enter(p)) return no_pat(p);
  AstPat *pat = parse_param_kind(p);
  leave(p);
  return pat;
}

AstPatVec parse_params(Parser *p) {
  AstPatVec params = { 0 };
  while (at_param(p))
    vec_push(&params, parse_param(p));
  return params;
}

// InnerPat = ParamPat | "-" number
static AstPat *parse_inner(Parser *p) {
  return at_operator(p, "-") ? parse_literal_pat(p) : parse_param(p);
}

// "#[" AttrInfo "]" Pat
static AstPat *parse_attr_pat(Parser *p) {
  const Token *first = peek(p);
  AstPat *pat = new_pat(AST_PAT_ATTR, token_loc(p, first));
  if (!enter(p)) return no_pat(p);
  pat->u.attr.attr = parse_attr(p);
  pat->u.attr.pat = parse_pat(p);
  leave(p);
  pat->loc = loc_from(p, first);
  return pat;
}

// Pat = "#[" AttrInfo "]" Pat | #name InnerPat* | InnerPat | InnerPat ":" Type
AstPat *parse_pat(Parser *p) {
  if (at_kind(p, TOKEN_ATTR)) return parse_attr_pat(p);
  AstPat *pat = parse_inner(p);
  if (pat->kind == AST_PAT_CONSTRUCTOR) {
    while (at_param(p) || at_operator(p, "-"))
      vec_push(&pat->u.constructor.payload, parse_inner(p));
    pat->loc = loc_since(p, pat->loc);
  }
  return accept(p, TOKEN_COLON) ? ascribe(p, pat) : pat;
}
