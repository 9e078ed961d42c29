// Names, operators, attributes, and the parameters [n] and 't.
#include "source/parse.h"
#include <string.h>

// QualName = name ("." name)*
AstName parse_qualified_name(Parser *p) {
  const Token *first = peek(p);
  AstName name = { .loc = token_loc(p, first), .name = expect_name(p, "a name") };
  while (at_kind(p, TOKEN_DOT) && peek_at(p, 1)->kind == TOKEN_NAME) {
    next(p);
    vec_push(&name.qualifiers, name.name);
    name.name = next(p)->name;
  }
  name.loc = loc_from(p, first);
  return name;
}

// The number of tokens of the binary operator that is next, 0 if there is none.  `!` is no binary
// operator, `=` no operator.
int operator_length(const Parser *p, int ahead) {
  const Token *token = peek_at(p, ahead);
  if (token->kind == TOKEN_OPERATOR) return token_is_operator(token, "!") ? 0 : 1;
  if (token->kind != TOKEN_BACKTICK) return 0;
  int length = 1;
  while (peek_at(p, ahead + length)->kind == TOKEN_NAME ||
         peek_at(p, ahead + length)->kind == TOKEN_DOT)
    length++;
  return peek_at(p, ahead + length)->kind == TOKEN_BACKTICK ? length + 1 : 1;
}

bool at_binary_operator(const Parser *p, int ahead) {
  return operator_length(p, ahead) > 0;
}

// The qualifiers that the operator's token holds: "a.b." of `a.b.+`.
static void split_qualifiers(Parser *p, const Token *token, AstName *name) {
  const char *text = p->file->text;
  uint32_t start = token->start;
  for (uint32_t at = start; lex_is_name_part(text[start]); at++) {
    if (text[at] != '.') continue;
    vec_push(&name->qualifiers, name_intern(p->c->names, text + start, at - start));
    start = at + 1;
  }
}

// BinOp = operator | "`" QualName "`"
AstName parse_operator(Parser *p) {
  if (accept(p, TOKEN_BACKTICK)) {
    AstName name = parse_qualified_name(p);
    expect(p, TOKEN_BACKTICK);
    return name;
  }
  const Token *token = next(p);
  AstName name = { .loc = token_loc(p, token), .name = token->name };
  split_qualifiers(p, token, &name);
  return name;
}

static const AstAttr *parse_attr_arg(Parser *p, int level);

// "(" AttrArg,* ")"
static void parse_attr_args(Parser *p, AstAttr *attr) {
  const Token *open = peek(p);
  if (!accept(p, TOKEN_LPAREN)) return;
  attr->has_args = true;
  while (!p->failed && !at_kind(p, TOKEN_RPAREN)) {
    vec_push(&attr->args, parse_attr_arg(p, 0));
    if (!accept(p, TOKEN_COMMA)) break;
  }
  expect_close(p, TOKEN_RPAREN, open);
}

static Name parse_attr_literal(Parser *p) {
  if (at_kind(p, TOKEN_STRING)) {
    size_t length;
    const char *text = parse_string(p, &length);
    return name_intern(p->c->names, text, length);
  }
  bool minus = accept_operator(p, "-");
  if (!at_kind(p, TOKEN_NATURAL) && !at_kind(p, TOKEN_INT))
    fail_expected(p, "an attribute");
  Name name = next(p)->name;
  return minus && name ? name_of(p->c->names, text_format("-%s", name)) : name;
}

// AttrInfo = name | name "(" AttrArg,* ")" | "$" name | literal
static const AstAttr *parse_attr_info(Parser *p) {
  const Token *first = peek(p);
  AstAttr *attr = new_node(AstAttr, .loc = token_loc(p, first));
  if (!enter(p)) return attr;
  if (first->kind == TOKEN_NAME || (first->kind >= TOKEN_TRUE && first->name)) {
    attr->name = next(p)->name;
    parse_attr_args(p, attr);
  } else if (first->kind == TOKEN_REFERENCE) {
    attr->name = next(p)->name;
  } else {
    attr->name = parse_attr_literal(p);
  }
  leave(p);
  attr->loc = loc_from(p, first);
  return attr;
}

// AttrInfo | "(" AttrArg ")"
static const AstAttr *parse_attr_operand(Parser *p) {
  const Token *open = peek(p);
  if (!accept(p, TOKEN_LPAREN)) return parse_attr_info(p);
  if (!enter(p)) return new_node(AstAttr, .loc = token_loc(p, open));
  const AstAttr *inner = parse_attr_arg(p, 0);
  leave(p);
  expect_close(p, TOKEN_RPAREN, open);
  return inner;
}

// AttrArg = sums (level 0) of products (level 1) of AttrInfo | "(" AttrArg ")"
static const AstAttr *parse_attr_arg(Parser *p, int level) {
  static const char *const operators[2][2] = { { "+", "-" }, { "*", "*" } };
  const Token *first = peek(p);
  const AstAttr *left = level < 1 ? parse_attr_arg(p, level + 1) : parse_attr_operand(p);
  while (!p->failed) {
    int which = 0;
    while (which < 2 && !accept_operator(p, operators[level][which]))
      which++;
    if (which == 2) break;
    AstAttr *sum = new_node(AstAttr, .has_args = true,
                            .name = name_of(p->c->names, operators[level][which]));
    vec_push(&sum->args, left);
    vec_push(&sum->args,
             level < 1 ? parse_attr_arg(p, level + 1) : parse_attr_operand(p));
    sum->loc = loc_from(p, first);
    left = sum;
  }
  return left;
}

// "#[" AttrInfo "]"
const AstAttr *parse_attr(Parser *p) {
  const Token *open = expect(p, TOKEN_ATTR);
  const AstAttr *attr = parse_attr_info(p);
  expect_close(p, TOKEN_RBRACKET, open);
  return attr;
}

static bool type_param_kind(TokenKind token, int *kind) {
  if (token == TOKEN_APOSTROPHE)
    *kind = TYPE_PARAM_TYPE;
  else if (token == TOKEN_APOSTROPHE_HAT)
    *kind = TYPE_PARAM_LIFTED;
  else if (token == TOKEN_APOSTROPHE_TILDE)
    *kind = TYPE_PARAM_SIZE_LIFTED;
  else
    return false;
  return true;
}

// "[" name "]"
static AstTypeParam parse_size(Parser *p) {
  const Token *open = expect(p, TOKEN_LBRACKET);
  AstTypeParam param = { .kind = TYPE_PARAM_SIZE, .loc = token_loc(p, peek(p)) };
  param.name = expect_name(p, "a size");
  expect_close(p, TOKEN_RBRACKET, open);
  return param;
}

AstTypeParamVec parse_sizes(Parser *p) {
  AstTypeParamVec params = { 0 };
  while (at_kind(p, TOKEN_LBRACKET))
    vec_push(&params, parse_size(p));
  return params;
}

// TypeParam = "[" name "]" | "'" name | "'^" name | "'~" name
AstTypeParamVec parse_type_params(Parser *p) {
  AstTypeParamVec params = { 0 };
  int kind;
  while (true) {
    if (at_kind(p, TOKEN_LBRACKET)) {
      vec_push(&params, parse_size(p));
    } else if (type_param_kind(peek_kind(p), &kind)) {
      next(p);
      AstTypeParam param = { .loc = token_loc(p, peek(p)) };
      param.kind = kind;
      param.name = expect_name(p, "a type's name");
      vec_push(&params, param);
    } else {
      return params;
    }
  }
}
