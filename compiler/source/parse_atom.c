// Expressions that need no brackets as arguments: names, literals, brackets, sections, and what
// follows them: a[i], e.field.
#include "source/parse.h"
#include <string.h>

bool at_atom(const Parser *p) {
  TokenKind kind = peek_kind(p);
  return kind == TOKEN_NAME || kind == TOKEN_LPAREN || kind == TOKEN_LBRACKET ||
         kind == TOKEN_LBRACE || kind == TOKEN_CONSTRUCTOR || kind == TOKEN_HOLE ||
         at_literal(p);
}

// Dim = Exp | Exp? ":" Exp? (":" Exp)?
static AstDim parse_dim(Parser *p) {
  const Token *first = peek(p);
  AstDim dim = { .loc = token_loc(p, first) };
  if (!at_kind(p, TOKEN_COLON)) dim.index = parse_exp_plain(p);
  if (accept(p, TOKEN_COLON)) {
    dim.is_slice = true;
    dim.from = dim.index;
    dim.index = NULL;
    bool to = !at_kind(p, TOKEN_COLON) && !at_kind(p, TOKEN_COMMA) &&
              !at_kind(p, TOKEN_RBRACKET);
    if (to) dim.to = parse_exp_plain(p);
    if (accept(p, TOKEN_COLON)) dim.step = parse_exp_plain(p);
  }
  dim.loc = loc_from(p, first);
  return dim;
}

// Dim,+ "]"
AstDimVec parse_dims(Parser *p, const Token *open) {
  AstDimVec dims = { 0 };
  do
    vec_push(&dims, parse_dim(p));
  while (accept(p, TOKEN_COMMA) && !at_kind(p, TOKEN_RBRACKET));
  expect_close(p, TOKEN_RBRACKET, open);
  return dims;
}

// (op), (op e); `(- e)` is a negation
static AstExp *parse_right_section(Parser *p, const Token *open) {
  AstExp *op = name_exp(p, parse_operator(p));
  if (accept(p, TOKEN_RPAREN)) {
    op->u.name.name.loc = op->loc = loc_from(p, open);
    return op;
  }
  AstExp *exp = new_exp(p, AST_SECTION_RIGHT, op->loc);
  exp->u.section.op = op;
  exp->u.section.operand = parse_exp_plain(p);
  expect_close(p, TOKEN_RPAREN, open);
  exp->loc = loc_from(p, open);
  return exp;
}

// (e op)
static AstExp *parse_left_section(Parser *p, const Token *open, AstExp *operand) {
  AstExp *exp = new_exp(p, AST_SECTION_LEFT, operand->loc);
  exp->u.section.operand = operand;
  exp->u.section.op = name_exp(p, parse_operator(p));
  expect_close(p, TOKEN_RPAREN, open);
  exp->loc = loc_from(p, open);
  return exp;
}

// (.a.b)
static AstExp *parse_field_section(Parser *p, const Token *open) {
  AstExp *exp = new_exp(p, AST_SECTION_FIELD, token_loc(p, open));
  do
    vec_push(&exp->u.section_field.fields, expect_field(p));
  while (!at_kind(p, TOKEN_LBRACKET) && accept(p, TOKEN_DOT) &&
         !at_kind(p, TOKEN_LBRACKET));
  return exp;
}

// (.[i, j:k])
static AstExp *parse_index_section(Parser *p, const Token *open) {
  AstExp *exp = new_exp(p, AST_SECTION_INDEX, token_loc(p, open));
  exp->u.section_index.dims = parse_dims(p, next(p));
  accept(p, TOKEN_DOT);
  return exp;
}

static AstExp *parse_section_step(Parser *p, const Token *open) {
  return at_kind(p, TOKEN_LBRACKET) ? parse_index_section(p, open)
                                    : parse_field_section(p, open);
}

// What a section does, done to an expression.
static AstExp *apply_section(Parser *p, const AstExp *section, AstExp *to) {
  if (section->kind == AST_SECTION_INDEX) {
    AstExp *index = new_exp(p, AST_INDEX, section->loc);
    index->u.index.array = to;
    index->u.index.dims = section->u.section_index.dims;
    return index;
  }
  vec_each (Name *, field, &section->u.section_field.fields) {
    AstExp *project = new_exp(p, AST_PROJECT, section->loc);
    project->u.project.record = to;
    project->u.project.field = *field;
    to = project;
  }
  return to;
}

// (.a.b), (.[i]), behind the dot; (.a.[i].b) is \x -> x.a[i].b with a name that nobody has
static AstExp *parse_dot_section(Parser *p, const Token *open) {
  AstExp *exp = parse_section_step(p, open);
  if (!p->failed && !at_kind(p, TOKEN_RPAREN)) {
    AstName name = { .loc = token_loc(p, open),
                     .name = name_of(p->c->names, "section'argument") };
    AstPat *param = new_node(AstPat, .kind = AST_PAT_NAME, .loc = name.loc);
    param->u.name.name = name.name;
    AstExp *lambda = new_exp(p, AST_LAMBDA, name.loc);
    vec_push(&lambda->u.lambda.function.params, param);
    AstExp *body = apply_section(p, exp, name_exp(p, name));
    while (!p->failed && !at_kind(p, TOKEN_RPAREN))
      body = apply_section(p, parse_section_step(p, open), body);
    lambda->u.lambda.function.body = body;
    exp = lambda;
  }
  expect_close(p, TOKEN_RPAREN, open);
  exp->loc = loc_from(p, open);
  return exp;
}

// What follows "(" e ",".
static AstExp *parse_tuple_rest(Parser *p, const Token *open, AstExp *first) {
  AstExp *exp = new_exp(p, AST_TUPLE, first->loc);
  vec_push(&exp->u.tuple.items, first);
  do
    vec_push(&exp->u.tuple.items, parse_exp(p));
  while (accept(p, TOKEN_COMMA) && !at_kind(p, TOKEN_RPAREN));
  expect_close(p, TOKEN_RPAREN, open);
  exp->loc = loc_from(p, open);
  return exp;
}

static bool at_bracketed(const Parser *p, const char *operator) {
  return at_operator(p, operator) && peek_at(p, 1)->kind == TOKEN_RPAREN;
}

// "(" ")" | "(" Exp ")" | "(" Exp "," Exp,+ ")" | a section
static AstExp *parse_bracketed_exp(Parser *p) {
  const Token *open = next(p);
  if (accept(p, TOKEN_RPAREN)) return new_exp(p, AST_TUPLE, loc_from(p, open));
  if (accept(p, TOKEN_DOT)) return parse_dot_section(p, open);
  if (at_bracketed(p, "!"))
    fail_at(p, token_loc(p, peek(p)),
            "`!` stands before its operand: the function is `not`");
  if (at_bracketed(p, "-")) return parse_right_section(p, open);
  if (at_binary_operator(p, 0) && !at_operator(p, "-"))
    return parse_right_section(p, open);
  AstExp *exp = parse_exp(p);
  if (accept(p, TOKEN_COMMA)) return parse_tuple_rest(p, open, exp);
  if (at_binary_operator(p, 0)) return parse_left_section(p, open, exp);
  expect_close(p, TOKEN_RPAREN, open);
  return exp;
}

// "[" Exp,* "]"
static AstExp *parse_array_exp(Parser *p) {
  const Token *open = next(p);
  AstExp *exp = new_exp(p, AST_ARRAY, token_loc(p, open));
  while (!p->failed && !at_kind(p, TOKEN_RBRACKET)) {
    vec_push(&exp->u.array.items, parse_exp(p));
    if (!accept(p, TOKEN_COMMA)) break;
  }
  expect_close(p, TOKEN_RBRACKET, open);
  exp->loc = loc_from(p, open);
  return exp;
}

// Field = name | field "=" Exp
static AstFieldExp parse_field(Parser *p) {
  const Token *first = peek(p);
  AstFieldExp field = { .loc = token_loc(p, first), .name = expect_field(p) };
  AstName name = { .loc = field.loc, .name = field.name };
  if (first->kind == TOKEN_NATURAL && !at_kind(p, TOKEN_EQUAL))
    fail_expected(p, token_text(TOKEN_EQUAL));
  field.value = accept(p, TOKEN_EQUAL) ? parse_exp(p) : name_exp(p, name);
  field.loc = loc_from(p, first);
  return field;
}

// "{" Field,* "}"
static AstExp *parse_record_exp(Parser *p) {
  const Token *open = next(p);
  AstExp *exp = new_exp(p, AST_RECORD, token_loc(p, open));
  while (!p->failed && !at_kind(p, TOKEN_RBRACE)) {
    vec_push(&exp->u.record.fields, parse_field(p));
    if (!accept(p, TOKEN_COMMA)) break;
  }
  expect_close(p, TOKEN_RBRACE, open);
  exp->loc = loc_from(p, open);
  return exp;
}

// A name; if it is a module's, with the name in it that follows.
static AstExp *parse_name_exp(Parser *p) {
  const Token *first = peek(p);
  AstName name = { .loc = token_loc(p, first), .name = next(p)->name };
  bool module = map_has(p->modules, name.name);
  while (module && at_kind(p, TOKEN_DOT) && peek_at(p, 1)->kind == TOKEN_NAME) {
    next(p);
    vec_push(&name.qualifiers, name.name);
    name.name = next(p)->name;
    module = map_has(p->modules, name.name);
  }
  name.loc = loc_from(p, first);
  return name_exp(p, name);
}

static AstExp *parse_hole(Parser *p) {
  return new_exp(p, AST_HOLE, token_loc(p, next(p)));
}

static AstExp *parse_constructor_exp(Parser *p) {
  const Token *token = next(p);
  AstExp *exp = new_exp(p, AST_CONSTRUCTOR, token_loc(p, token));
  exp->u.constructor.name = token->name;
  return exp;
}

static AstExp *parse_atom_start(Parser *p) {
  if (at_kind(p, TOKEN_NAME)) return parse_name_exp(p);
  if (at_kind(p, TOKEN_LPAREN)) return parse_bracketed_exp(p);
  if (at_kind(p, TOKEN_LBRACKET)) return parse_array_exp(p);
  if (at_kind(p, TOKEN_LBRACE)) return parse_record_exp(p);
  if (at_kind(p, TOKEN_CONSTRUCTOR)) return parse_constructor_exp(p);
  if (at_kind(p, TOKEN_HOLE)) return parse_hole(p);
  if (at_literal(p)) return parse_literal(p);
  fail_expected(p, "an expression");
  return new_exp(p, AST_TUPLE, token_loc(p, peek(p)));
}

// The path of names that an expression is.
static AstName path_of(Parser *p, const AstExp *exp) {
  if (exp->kind == AST_NAME) return exp->u.name.name;
  AstName name = { .loc = exp->loc };
  if (exp->kind != AST_PROJECT) {
    fail_at(p, exp->loc, "this is no module to open");
    return name;
  }
  name = path_of(p, exp->u.project.record);
  vec_push(&name.qualifiers, name.name);
  name.name = exp->u.project.field;
  return name;
}

// e.field, and m.(e), which opens the module m in e
static AstExp *parse_projection(Parser *p, AstExp *record) {
  next(p);
  AstExp *exp = new_exp(p, AST_PROJECT, record->loc);
  if (at_kind(p, TOKEN_LPAREN)) {
    const Token *open = next(p);
    exp->kind = AST_OPEN_IN;
    exp->u.open_in.module = path_of(p, record);
    exp->u.open_in.exp = parse_exp(p);
    expect_close(p, TOKEN_RPAREN, open);
    exp->loc = loc_since(p, record->loc);
    return exp;
  }
  exp->u.project.record = record;
  exp->u.project.field = expect_field(p);
  exp->loc = loc_since(p, record->loc);
  return exp;
}

static AstExp *parse_index(Parser *p, AstExp *array) {
  AstExp *exp = new_exp(p, AST_INDEX, array->loc);
  const Token *open = next(p);
  exp->u.index.array = array;
  exp->u.index.dims = parse_dims(p, open);
  exp->loc = loc_since(p, array->loc);
  return exp;
}

// Atom = Start ("[" Dims "]" | "." Field)*, where no space is before "["
AstExp *parse_atom(Parser *p) {
  AstExp *exp = parse_atom_start(p);
  int count = 0;
  while (true) {
    if (at_kind(p, TOKEN_LBRACKET) && peek(p)->touches)
      exp = parse_index(p, exp);
    else if (at_kind(p, TOKEN_DOT))
      exp = parse_projection(p, exp);
    else
      return exp;
    count_chain(p, &count);
  }
}
