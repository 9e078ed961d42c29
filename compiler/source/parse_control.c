// let, if, loop, match, lambda: each reaches as far to the right as it can.
#include "source/parse.h"

// let f [n] 't p q : t = e, behind the name
static AstExp *parse_let_fun(Parser *p, Name name, Loc loc) {
  AstExp *exp = new_exp(p, AST_LET_FUN, loc);
  exp->u.let_fun.name = name;
  exp->u.let_fun.name_loc = loc;
  exp->u.let_fun.function.type_params = parse_type_params(p);
  if (!at_param(p)) fail_expected(p, "a parameter");
  parse_function_rest(p, &exp->u.let_fun.function);
  return exp;
}

// let xs[i].f = v, behind the name
static AstExp *parse_let_with(Parser *p, const Token *name) {
  Loc loc = token_loc(p, name);
  AstExp *exp = new_exp(p, AST_LET_WITH, loc);
  exp->u.let_with.target = name_exp(p, (AstName){ .loc = loc, .name = name->name });
  exp->u.let_with.pat = new_node(AstPat, .kind = AST_PAT_NAME, .loc = loc);
  exp->u.let_with.pat->u.name.name = name->name;
  accept(p, TOKEN_DOT);
  exp->u.let_with.path = parse_path(p);
  expect(p, TOKEN_EQUAL);
  exp->u.let_with.value = parse_exp(p);
  return exp;
}

// let [n] p = e
static AstExp *parse_let_pat(Parser *p) {
  AstExp *exp = new_exp(p, AST_LET, token_loc(p, peek(p)));
  exp->u.let.sizes = parse_sizes(p);
  exp->u.let.pat = parse_pat(p);
  expect(p, TOKEN_EQUAL);
  exp->u.let.value = parse_exp(p);
  return exp;
}

// "let" "(" operator ")" and not yet the end of a pattern
static bool at_bracketed_name(const Parser *p) {
  int length = peek_at(p, 1)->kind == TOKEN_LPAREN ? operator_length(p, 2) : 0;
  if (!length || peek_at(p, 2 + length)->kind != TOKEN_RPAREN) return false;
  TokenKind after = peek_at(p, 3 + length)->kind;
  return after != TOKEN_EQUAL && after != TOKEN_COLON;
}

// let (+) a b = e
static AstExp *parse_let_operator(Parser *p) {
  const Token *open = next(p);
  AstName name = parse_operator(p);
  expect_close(p, TOKEN_RPAREN, open);
  if (name.qualifiers.count)
    fail_at(p, name.loc, "expected a name to bind, found a qualified one");
  return parse_let_fun(p, name.name, loc_from(p, open));
}

// One binding, without what follows it.
static AstExp *parse_binding(Parser *p) {
  const Token *name = peek_at(p, 1), *after = peek_at(p, 2);
  bool is_operator = at_bracketed_name(p);
  Loc loc = token_loc(p, next(p));
  AstExp *exp;
  bool is_pat = name->kind != TOKEN_NAME || after->kind == TOKEN_EQUAL ||
                after->kind == TOKEN_COLON;
  if (is_operator) {
    exp = parse_let_operator(p);
  } else if (is_pat) {
    exp = parse_let_pat(p);
  } else {
    next(p);
    bool update =
        after->kind == TOKEN_DOT || (after->kind == TOKEN_LBRACKET && after->touches);
    exp = update ? parse_let_with(p, name)
                 : parse_let_fun(p, name->name, token_loc(p, name));
  }
  exp->loc = loc;
  return exp;
}

static AstExp **body_of(AstExp *let) {
  if (let->kind == AST_LET) return &let->u.let.body;
  if (let->kind == AST_LET_FUN) return &let->u.let_fun.body;
  return &let->u.let_with.body;
}

// "in" Exp, when no `let` follows
static AstExp *parse_let_end(Parser *p) {
  bool ends = at_decl(p) || at_kind(p, TOKEN_END) || at_kind(p, TOKEN_ELSE) ||
              at_kind(p, TOKEN_CASE);
  bool told = p->failed || peek_kind(p) == TOKEN_BAD;
  if (!accept(p, TOKEN_IN)) {
    fail_expected(p, token_text(TOKEN_IN));
    if (!told && ends) hint(p->c, "a 'let' ends with 'in' and the expression it is for");
  }
  return parse_exp(p);
}

// Let = ("let" Binding "in"?)+ "in" Exp, where "in" may be left out before "let".  A loop, so
// that the parser's depth does not grow with the number of bindings.
AstExp *parse_let(Parser *p) {
  AstExp *first = NULL, **slot = &first;
  int count = 0;
  while (at_kind(p, TOKEN_LET)) {
    *slot = parse_binding(p);
    slot = body_of(*slot);
    if (at_kind(p, TOKEN_IN) && peek_at(p, 1)->kind == TOKEN_LET) next(p);
    count_chain(p, &count);
  }
  *slot = parse_let_end(p);
  for (AstExp *let = first; let != *slot; let = *body_of(let))
    let->loc = loc_since(p, let->loc);
  return first;
}

// If = "if" Exp "then" Exp "else" Exp
AstExp *parse_if(Parser *p) {
  const Token *first = next(p);
  AstExp *exp = new_exp(p, AST_IF, token_loc(p, first));
  exp->u.cond.condition = parse_exp(p);
  expect(p, TOKEN_THEN);
  exp->u.cond.then_exp = parse_exp(p);
  expect(p, TOKEN_ELSE);
  exp->u.cond.else_exp = parse_exp(p);
  exp->loc = loc_from(p, first);
  return exp;
}

static AstExp *pat_exp(Parser *p, const AstPat *pat);

static AstExp *tuple_pat_exp(Parser *p, const AstPat *pat) {
  AstExp *exp = new_exp(p, AST_TUPLE, pat->loc);
  vec_each (AstPat **, item, &pat->u.tuple.items)
    vec_push(&exp->u.tuple.items, pat_exp(p, *item));
  return exp;
}

static AstExp *record_pat_exp(Parser *p, const AstPat *pat) {
  AstExp *exp = new_exp(p, AST_RECORD, pat->loc);
  vec_each (AstFieldPat *, field, &pat->u.record.fields) {
    AstFieldExp value = { .loc = field->loc, .name = field->name };
    value.value = pat_exp(p, field->pat);
    vec_push(&exp->u.record.fields, value);
  }
  return exp;
}

// The values of the names in a loop's pattern: what `loop (a, b) for ...` starts with.
static AstExp *pat_exp(Parser *p, const AstPat *pat) {
  switch (pat->kind) {
  case AST_PAT_NAME:
    return name_exp(p, (AstName){ .loc = pat->loc, .name = pat->u.name.name });
  case AST_PAT_TUPLE: return tuple_pat_exp(p, pat);
  case AST_PAT_RECORD: return record_pat_exp(p, pat);
  case AST_PAT_ASCRIBE: return pat_exp(p, pat->u.ascribe.pat);
  case AST_PAT_ATTR: return pat_exp(p, pat->u.attr.pat);
  case AST_PAT_WILDCARD:
  case AST_PAT_LITERAL:
  case AST_PAT_CONSTRUCTOR: break;
  }
  fail_at(p, pat->loc,
          "expected names in a loop without initial value, found another pattern");
  return new_exp(p, AST_TUPLE, pat->loc);
}

// "for" name "<" Exp | "for" Pat "in" Exp
static void parse_for(Parser *p, AstExp *loop) {
  bool counts = at_kind(p, TOKEN_NAME) && token_is_operator(peek_at(p, 1), "<");
  loop->u.loop.form = counts ? LOOP_FOR : LOOP_FOR_IN;
  loop->u.loop.index = parse_pat(p);
  if (counts)
    next(p);
  else if (!accept(p, TOKEN_IN))
    fail_expected(p, "'<' or 'in'");
  loop->u.loop.bound = parse_exp(p);
}

static void parse_loop_form(Parser *p, AstExp *loop) {
  if (accept(p, TOKEN_FOR)) {
    parse_for(p, loop);
  } else if (accept(p, TOKEN_WHILE)) {
    loop->u.loop.form = LOOP_WHILE;
    loop->u.loop.bound = parse_exp(p);
  } else {
    fail_expected(p, loop->u.loop.init ? "'for' or 'while'" : "'=', 'for' or 'while'");
  }
}

// Loop = "loop" Sizes Pat ("=" Exp)? Form "do" Exp
AstExp *parse_loop(Parser *p) {
  const Token *first = next(p);
  AstExp *exp = new_exp(p, AST_LOOP, token_loc(p, first));
  exp->u.loop.sizes = parse_sizes(p);
  exp->u.loop.pat = parse_pat(p);
  if (accept(p, TOKEN_EQUAL)) exp->u.loop.init = parse_exp(p);
  parse_loop_form(p, exp);
  if (!exp->u.loop.init) exp->u.loop.init = pat_exp(p, exp->u.loop.pat);
  expect(p, TOKEN_DO);
  exp->u.loop.body = parse_exp(p);
  exp->loc = loc_from(p, first);
  return exp;
}

// "case" Pat "->" Exp
static AstCase parse_case(Parser *p) {
  const Token *first = expect(p, TOKEN_CASE);
  AstCase result = { .pat = parse_pat(p) };
  expect(p, TOKEN_ARROW);
  result.body = parse_exp(p);
  result.loc = loc_from(p, first);
  return result;
}

// Match = "match" Exp Case+
AstExp *parse_match(Parser *p) {
  const Token *first = next(p);
  AstExp *exp = new_exp(p, AST_MATCH, token_loc(p, first));
  exp->u.match.value = parse_exp(p);
  do
    vec_push(&exp->u.match.cases, parse_case(p));
  while (at_kind(p, TOKEN_CASE));
  exp->loc = loc_from(p, first);
  return exp;
}

// Lambda = "\" Param+ (":" TypeTerm)? "->" Exp
AstExp *parse_lambda(Parser *p) {
  const Token *first = next(p);
  AstExp *exp = new_exp(p, AST_LAMBDA, token_loc(p, first));
  AstFunction *function = &exp->u.lambda.function;
  if (!at_param(p)) fail_expected(p, "a parameter");
  function->params = parse_params(p);
  if (accept(p, TOKEN_COLON)) function->result = parse_type_term(p);
  expect(p, TOKEN_ARROW);
  function->body = parse_exp(p);
  exp->loc = loc_from(p, first);
  return exp;
}
