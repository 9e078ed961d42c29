// Expressions: ascription, ranges, operators, `with`, application.
#include "source/parse.h"
#include <string.h>

AstExp *new_exp(Parser *p, AstExpKind kind, Loc loc) {
  (void)p;
  return new_node(AstExp, .kind = kind, .loc = loc);
}

AstExp *name_exp(Parser *p, AstName name) {
  AstExp *exp = new_exp(p, AST_NAME, name.loc);
  exp->u.name.name = name;
  return exp;
}

// What stands for an expression after a mistake.
static AstExp *no_exp(Parser *p) { return new_exp(p, AST_TUPLE, token_loc(p, peek(p))); }

// How tightly things bind, loosest first.
typedef enum Level {
  LEVEL_RANGE,
  LEVEL_BACKTICK,
  LEVEL_WITH,
  LEVEL_PIPE_RIGHT,  // |>
  LEVEL_PIPE_LEFT,   // <|, to the right
  LEVEL_OR,
  LEVEL_AND,
  LEVEL_COMPARE,
  LEVEL_BITS,
  LEVEL_SHIFT,
  LEVEL_ADD,
  LEVEL_MULTIPLY,
  LEVEL_POWER,
} Level;

// A user's operator binds like the longest operator here that it starts with.
static Level operator_level(const char *spelling) {
  static const struct {
    const char *prefix;
    Level level;
  } table[] = {
    { "|>", LEVEL_PIPE_RIGHT }, { "<|", LEVEL_PIPE_LEFT }, { "||", LEVEL_OR },
    { "&&", LEVEL_AND },        { "<<", LEVEL_SHIFT },     { ">>", LEVEL_SHIFT },
    { "**", LEVEL_POWER },      { "<", LEVEL_COMPARE },    { ">", LEVEL_COMPARE },
    { "=", LEVEL_COMPARE },     { "!", LEVEL_COMPARE },    { "&", LEVEL_BITS },
    { "^", LEVEL_BITS },        { "|", LEVEL_BITS },       { "+", LEVEL_ADD },
    { "-", LEVEL_ADD },         { "*", LEVEL_MULTIPLY },   { "/", LEVEL_MULTIPLY },
    { "%", LEVEL_MULTIPLY },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (strncmp(spelling, table[i].prefix, strlen(table[i].prefix)) == 0)
      return table[i].level;
  return LEVEL_AND;
}

// Is an operator next, and not the end of a section `(a +)`?
static bool at_infix(const Parser *p, Level *level) {
  int length = operator_length(p, 0);
  if (length == 0 || peek_at(p, length)->kind == TOKEN_RPAREN) return false;
  *level = at_kind(p, TOKEN_BACKTICK) ? LEVEL_BACKTICK : operator_level(peek(p)->name);
  return true;
}

static AstExp *parse_operators(Parser *p, Level lowest);

// left op right, where && and || without qualifier are kinds of their own
static AstExp *binary(Parser *p, AstExp *left, AstName op, AstExp *right) {
  Loc loc = loc_since(p, left->loc);
  bool and = strcmp(op.name, "&&") == 0, or = strcmp(op.name, "||") == 0;
  if ((and || or) && op.qualifiers.count == 0) {
    AstExp *exp = new_exp(p, and? AST_AND : AST_OR, loc);
    exp->u.logical.left = left;
    exp->u.logical.right = right;
    return exp;
  }
  AstExp *exp = new_exp(p, AST_APPLY, loc);
  exp->u.apply.function = name_exp(p, op);
  exp->u.apply.is_operator = true;
  vec_push(&exp->u.apply.args, left);
  vec_push(&exp->u.apply.args, right);
  return exp;
}

// "[" Dims "]" | Field
static void parse_step(Parser *p, AstPath *path) {
  const Token *first = peek(p);
  AstStep step = { .loc = token_loc(p, first) };
  if (at_kind(p, TOKEN_LBRACKET))
    step.dims = parse_dims(p, next(p));
  else
    step.field = expect_field(p);
  step.loc = loc_from(p, first);
  AstStep *last = path->count ? &path->at[path->count - 1] : NULL;
  bool slices = !last || last->field || step.field;
  for (int i = 0; !slices && i < last->dims.count; i++)
    slices = last->dims.at[i].is_slice;
  if (slices) {
    vec_push(path, step);
    return;
  }
  vec_each (const AstDim *, dim, &step.dims)
    vec_push(&last->dims, *dim);
}

AstPath parse_path(Parser *p) {
  AstPath path = { 0 };
  do
    parse_step(p, &path);
  while (accept(p, TOKEN_DOT) || at_kind(p, TOKEN_LBRACKET));
  return path;
}

// "with" Path "=" Exp
static AstExp *parse_with(Parser *p, AstExp *left) {
  next(p);
  AstExp *exp = new_exp(p, AST_WITH, left->loc);
  exp->u.with.target = left;
  exp->u.with.path = parse_path(p);
  expect(p, TOKEN_EQUAL);
  exp->u.with.value = parse_operators(p, LEVEL_PIPE_RIGHT);
  exp->loc = loc_since(p, left->loc);
  return exp;
}

static AstExp *parse_operand(Parser *p);

// Operators that bind at least as tightly as `lowest`; all but <| to the left.
static AstExp *parse_operators(Parser *p, Level lowest) {
  AstExp *left = parse_operand(p);
  Level level;
  int count = 0;
  while (true) {
    if (at_kind(p, TOKEN_WITH) && lowest <= LEVEL_WITH) {
      left = parse_with(p, left);
    } else if (at_infix(p, &level) && level >= lowest) {
      AstName op = parse_operator(p);
      if (!enter(p)) return left;
      AstExp *right = parse_operators(p, level == LEVEL_PIPE_LEFT ? level : level + 1);
      leave(p);
      left = p->failed ? left : binary(p, left, op, right);
    } else {
      return left;
    }
    count_chain(p, &count);
  }
}

// - e and ! e: an application with one argument; a literal's sign belongs to it
static AstExp *parse_unary(Parser *p) {
  const Token *op = next(p);
  bool literal = at_kind(p, TOKEN_NATURAL) || at_kind(p, TOKEN_INT);
  AstExp *operand = parse_operand(p);
  Loc loc = loc_from(p, op);
  if (literal && operand->kind == AST_INT && strcmp(op->name, "-") == 0)
    return negate_literal(p, operand, loc);
  AstExp *exp = new_exp(p, AST_APPLY, loc);
  exp->u.apply.function =
      name_exp(p, (AstName){ .loc = token_loc(p, op), .name = op->name });
  exp->u.apply.is_operator = true;
  vec_push(&exp->u.apply.args, operand);
  return exp;
}

// "assert" Atom Atom
static AstExp *parse_assert(Parser *p) {
  const Token *first = next(p);
  AstExp *exp = new_exp(p, AST_ASSERT, token_loc(p, first));
  exp->u.assert.condition = parse_atom(p);
  exp->u.assert.exp = parse_atom(p);
  exp->loc = loc_from(p, first);
  return exp;
}

// "#[" AttrInfo "]" Exp
static AstExp *parse_attr_exp(Parser *p) {
  const Token *first = peek(p);
  AstExp *exp = new_exp(p, AST_ATTR, token_loc(p, first));
  exp->u.attr.attr = parse_attr(p);
  exp->u.attr.exp = parse_exp(p);
  exp->loc = loc_from(p, first);
  return exp;
}

// `unsafe e` of old programs is #[unsafe] e
static AstExp *parse_unsafe(Parser *p) {
  const Token *first = next(p);
  Loc loc = token_loc(p, first);
  warning(p->c, loc, "'unsafe' is an attribute now: #[unsafe]");
  AstExp *exp = new_exp(p, AST_ATTR, loc);
  exp->u.attr.attr = new_node(AstAttr, .loc = loc, .name = first->name);
  exp->u.attr.exp = parse_exp(p);
  exp->loc = loc_from(p, first);
  return exp;
}

static bool at_unsafe(const Parser *p) {
  if (!at_kind(p, TOKEN_NAME) || strcmp(peek(p)->name, "unsafe") != 0) return false;
  TokenKind after = peek_at(p, 1)->kind;
  return after == TOKEN_NAME || after == TOKEN_LPAREN || after == TOKEN_LET ||
         after == TOKEN_IF || after == TOKEN_LOOP;
}

static AstExp *constructor(Parser *p) {
  const Token *first = next(p);
  AstExp *exp = new_exp(p, AST_CONSTRUCTOR, token_loc(p, first));
  exp->u.constructor.name = first->name;
  while (at_atom(p))
    vec_push(&exp->u.constructor.payload, parse_atom(p));
  exp->loc = loc_from(p, first);
  return exp;
}

// Apply = Atom Atom* Lambda? | #name Atom*
static AstExp *parse_apply(Parser *p) {
  if (at_kind(p, TOKEN_CONSTRUCTOR)) return constructor(p);
  AstExp *function = parse_atom(p);
  if (!at_atom(p) && !at_kind(p, TOKEN_BACKSLASH)) return function;
  AstExp *exp = new_exp(p, AST_APPLY, function->loc);
  exp->u.apply.function = function;
  while (at_atom(p))
    vec_push(&exp->u.apply.args, parse_atom(p));
  if (at_kind(p, TOKEN_BACKSLASH)) vec_push(&exp->u.apply.args, parse_operand(p));
  exp->loc = loc_since(p, function->loc);
  return exp;
}

// What an operator takes on its right; the keyword forms reach as far as they can.
static AstExp *parse_operand_kind(Parser *p) {
  if (at_kind(p, TOKEN_LET)) return parse_let(p);
  if (at_kind(p, TOKEN_IF)) return parse_if(p);
  if (at_kind(p, TOKEN_LOOP)) return parse_loop(p);
  if (at_kind(p, TOKEN_MATCH)) return parse_match(p);
  if (at_kind(p, TOKEN_BACKSLASH)) return parse_lambda(p);
  if (at_kind(p, TOKEN_ATTR)) return parse_attr_exp(p);
  if (at_kind(p, TOKEN_ASSERT)) return parse_assert(p);
  if (at_operator(p, "-") || at_operator(p, "!")) return parse_unary(p);
  if (at_unsafe(p)) return parse_unsafe(p);
  return parse_apply(p);
}

static AstExp *parse_operand(Parser *p) {
  if (!enter(p)) return no_exp(p);
  AstExp *exp = parse_operand_kind(p);
  leave(p);
  return exp;
}

static bool range_end(TokenKind kind, AstRangeEnd *end) {
  if (kind == TOKEN_DOTS_LESS)
    *end = RANGE_BELOW;
  else if (kind == TOKEN_DOTS_THREE)
    *end = RANGE_UPTO;
  else if (kind == TOKEN_DOTS_GREATER)
    *end = RANGE_ABOVE;
  else
    return false;
  return true;
}

// Range = Ops | Ops (".." Ops)? ("..<" | "..." | "..>") Ops
AstExp *parse_exp_plain(Parser *p) {
  AstExp *from = parse_operators(p, LEVEL_BACKTICK);
  AstExp *second = NULL;
  AstRangeEnd end = RANGE_UPTO;
  if (accept(p, TOKEN_DOTS)) second = parse_operators(p, LEVEL_BACKTICK);
  if (!range_end(peek_kind(p), &end)) {
    if (second) fail_expected(p, "'..<', '...' or '..>'");
    return from;
  }
  next(p);
  AstExp *exp = new_exp(p, AST_RANGE, from->loc);
  exp->u.range.from = from;
  exp->u.range.second = second;
  exp->u.range.end = end;
  exp->u.range.to = parse_operators(p, LEVEL_BACKTICK);
  exp->loc = loc_since(p, from->loc);
  return exp;
}

// Exp = Range ((":" | ":>") Type)*
AstExp *parse_exp(Parser *p) {
  AstExp *exp = parse_exp_plain(p);
  int count = 0;
  while (at_kind(p, TOKEN_COLON) || at_kind(p, TOKEN_COLON_GREATER)) {
    AstExpKind kind = next(p)->kind == TOKEN_COLON ? AST_ASCRIBE : AST_COERCE;
    AstExp *outer = new_exp(p, kind, exp->loc);
    outer->u.ascribe.exp = exp;
    outer->u.ascribe.type = parse_type(p);
    outer->loc = loc_since(p, exp->loc);
    exp = outer;
    count_chain(p, &count);
  }
  return exp;
}
