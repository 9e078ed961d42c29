// What the tree says about the layout: which tokens belong together, which touch each other.
#include "source/ast_walk.h"
#include "source/format.h"
#include <stdlib.h>
#include <string.h>

// ---- tokens

// The first token that begins at `position` or behind it.
static int token_from(const Formatter *f, uint32_t position) {
  int low = 0, high = f->tokens.count - 1;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (format_token(f, middle)->start < position)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static int first_of(const Formatter *f, Loc loc) { return token_from(f, loc.start); }

static void flag(Formatter *f, int at, int flags) {
  if (at >= 0 && at < f->tokens.count) f->flags[at] |= (unsigned char)flags;
}

static bool is_token(const Formatter *f, int at, TokenKind kind) {
  return at >= 0 && at < f->tokens.count && format_token(f, at)->kind == kind;
}

// The first token of this kind in the range that is in no brackets; -1 if there is none.
static int find(const Formatter *f, int from, int to, TokenKind kind) {
  for (int at = from; at <= to; at++) {
    if (is_token(f, at, kind)) return at;
    if (format_opens(format_token(f, at)->kind) && f->match[at] > at) at = f->match[at];
  }
  return -1;
}

// ---- groups

typedef struct TokenRange {
  int first, last;
} TokenRange;

// Brackets that only one end of the range is in are taken in whole: the place of `(a) + b` is that
// of what it says, which begins with `a`.
static TokenRange range_of(const Formatter *f, Loc loc) {
  TokenRange r = { first_of(f, loc), token_from(f, loc.end) - 1 };
  if (r.last < r.first) r.last = r.first;
  for (int at = r.first; at <= r.last; at++) {
    if (f->match[at] < 0) continue;
    if (f->match[at] < r.first) r.first = f->match[at];
    if (f->match[at] > r.last) r.last = f->match[at];
  }
  return r;
}

static TokenRange group(Formatter *f, FormatKind kind, Loc loc, int mark) {
  TokenRange r = range_of(f, loc);
  vec_push(&f->groups, (FormatGroup){ kind, r.first, r.last, mark, -1, 0 });
  return r;
}

// The first token behind what stands at `loc` and its brackets.
static int behind(const Formatter *f, Loc loc) {
  int at = range_of(f, loc).last + 1;
  while (at < f->tokens.count && format_closes(format_token(f, at)->kind))
    at++;
  return at;
}

// The first token of what stands at `loc`, brackets around it included.
static int before(const Formatter *f, Loc loc) {
  int at = range_of(f, loc).first;
  while (at > 0 && is_token(f, at - 1, TOKEN_LPAREN))
    at--;
  return at;
}

// ---- attributes

// #[name("n")]: brackets touch the name.
static void mark_attr(Formatter *f, const AstAttr *attr) {
  TokenRange r = range_of(f, attr->loc);
  for (int at = r.first; at <= r.last; at++) {
    if (is_token(f, at, TOKEN_LPAREN) && is_token(f, at - 1, TOKEN_NAME))
      flag(f, at, FORMAT_TIGHT_LEFT);
    bool sign = is_token(f, at, TOKEN_OPERATOR) &&
                (is_token(f, at - 1, TOKEN_LPAREN) || is_token(f, at - 1, TOKEN_COMMA));
    if (sign) flag(f, at, FORMAT_TIGHT_RIGHT);
  }
}

// ---- types

static void mark_exp(Formatter *f, const AstExp *exp);

// [n]t: the bracket touches the type.
static void mark_array_type(Formatter *f, const AstType *type) {
  int open = first_of(f, type->loc);
  if (f->match[open] > open) flag(f, f->match[open], FORMAT_TIGHT_RIGHT);
  if (type->u.array.size) mark_exp(f, type->u.array.size);
}

static void mark_type(Formatter *f, const AstType *type);

static void mark_type_args(Formatter *f, const AstType *type) {
  vec_each (AstTypeArg *, arg, &type->u.name.args) {
    if (arg->is_size && arg->size) mark_exp(f, arg->size);
    if (arg->is_size) flag(f, first_of(f, arg->loc), FORMAT_SPACE_LEFT);
    if (!arg->is_size) mark_type(f, arg->type);
  }
  if (type->u.name.args.count) group(f, FORMAT_HANG, type->loc, -1);
}

// The colon of a field or a named parameter touches what is before it.
static void mark_colon(Formatter *f, Loc from, Loc to) {
  int at = find(f, first_of(f, from), before(f, to), TOKEN_COLON);
  flag(f, at, FORMAT_TIGHT_LEFT);
}

static void mark_function_type(Formatter *f, const AstType *type) {
  int open = first_of(f, type->loc);
  if (type->u.function.param) flag(f, open + 2, FORMAT_TIGHT_LEFT);
  group(f, FORMAT_CHAIN, type->loc, before(f, type->u.function.to->loc) - 1);
  mark_type(f, type->u.function.from);
  mark_type(f, type->u.function.to);
}

static void mark_sum_type(Formatter *f, const AstType *type) {
  group(f, FORMAT_CHAIN, type->loc, -1);
  vec_each (AstConstructor *, constructor, &type->u.sum.constructors) {
    group(f, FORMAT_HANG, constructor->loc, -1);
    vec_each (AstType **, payload, &constructor->payload) {
      flag(f, before(f, (*payload)->loc), FORMAT_SPACE_LEFT);
      mark_type(f, *payload);
    }
  }
}

static void mark_exists_type(Formatter *f, const AstType *type) {
  int at = first_of(f, type->loc) + 1;
  while (is_token(f, at, TOKEN_LBRACKET)) {
    flag(f, at, FORMAT_TIGHT_LEFT);
    at = f->match[at] + 1;
  }
  mark_type(f, type->u.exists.of);
}

static void mark_type(Formatter *f, const AstType *type) {
  switch (type->kind) {
  case AST_TYPE_NAME: mark_type_args(f, type); return;
  case AST_TYPE_TUPLE:
    vec_each (AstType **, item, &type->u.tuple.items)
      mark_type(f, *item);
    return;
  case AST_TYPE_RECORD:
    vec_each (AstField *, field, &type->u.record.fields) {
      mark_colon(f, field->loc, field->type->loc);
      mark_type(f, field->type);
    }
    return;
  case AST_TYPE_ARRAY:
    mark_array_type(f, type);
    mark_type(f, type->u.array.elem);
    return;
  case AST_TYPE_UNIQUE:
    flag(f, first_of(f, type->loc), FORMAT_TIGHT_RIGHT);
    mark_type(f, type->u.unique.of);
    return;
  case AST_TYPE_FUNCTION: mark_function_type(f, type); return;
  case AST_TYPE_SUM: mark_sum_type(f, type); return;
  case AST_TYPE_EXISTS: mark_exists_type(f, type); return;
  }
}

// [n] 'a: each apart from what is before it.
static void mark_type_params(Formatter *f, const AstTypeParamVec *params) {
  vec_each (AstTypeParam *, param, params)
    flag(f, first_of(f, param->loc) - 1, FORMAT_SPACE_LEFT);
}

// ---- patterns

static void mark_pat(Formatter *f, const AstPat *pat);

// A number's sign touches it: -1
static void mark_sign(Formatter *f, Loc loc) {
  if (is_token(f, first_of(f, loc), TOKEN_OPERATOR))
    flag(f, first_of(f, loc), FORMAT_TIGHT_RIGHT);
}

// In brackets the colon touches the pattern: (x: t), but `let x : t`.
static void mark_ascribed_pat(Formatter *f, const AstPat *pat) {
  TokenRange r = group(f, FORMAT_HANG, pat->loc, -1);
  bool inside = is_token(f, r.first - 1, TOKEN_LPAREN) ||
                is_token(f, r.first - 1, TOKEN_COMMA) ||
                is_token(f, r.first - 1, TOKEN_LBRACE);
  if (inside) mark_colon(f, pat->loc, pat->u.ascribe.type->loc);
  mark_pat(f, pat->u.ascribe.pat);
  mark_type(f, pat->u.ascribe.type);
}

static void mark_pats(Formatter *f, const AstPatVec *pats) {
  vec_each (AstPat *const *, pat, pats)
    mark_pat(f, *pat);
}

static void mark_pat(Formatter *f, const AstPat *pat) {
  switch (pat->kind) {
  case AST_PAT_NAME:
  case AST_PAT_WILDCARD: return;
  case AST_PAT_TUPLE: mark_pats(f, &pat->u.tuple.items); return;
  case AST_PAT_RECORD:
    vec_each (const AstFieldPat *, field, &pat->u.record.fields)
      mark_pat(f, field->pat);
    return;
  case AST_PAT_LITERAL: mark_sign(f, pat->loc); return;
  case AST_PAT_ASCRIBE: mark_ascribed_pat(f, pat); return;
  case AST_PAT_CONSTRUCTOR: mark_pats(f, &pat->u.constructor.payload); return;
  case AST_PAT_ATTR:
    mark_attr(f, pat->u.attr.attr);
    mark_pat(f, pat->u.attr.pat);
    return;
  }
}

// ---- expressions

static void mark_function(Formatter *f, const AstFunction *function) {
  mark_type_params(f, &function->type_params);
  if (function->result) mark_type(f, function->result);
}

// The bodies of a chain of `let`s; NULL at its end.
static const AstExp *body_of_let(const AstExp *exp) {
  if (exp->kind == AST_LET) return exp->u.let.body;
  if (exp->kind == AST_LET_FUN) return exp->u.let_fun.body;
  return exp->kind == AST_LET_WITH ? exp->u.let_with.body : NULL;
}

// Is there a line break before a `let` or `in` of the chain, or behind one?
static bool chain_is_broken(const Formatter *f, const AstExp *exp) {
  for (const AstExp *body; (body = body_of_let(exp)); exp = body) {
    int at = before(f, body->loc);
    if (format_broken(f, at) || format_broken(f, at - 1)) return true;
  }
  return false;
}

// If so, each `let` and the last `in` start a line, which what follows `in` goes on; an `in` before
// a `let` ends one.
static void mark_let_chain(Formatter *f, const AstExp *exp) {
  bool broken = chain_is_broken(f, exp);
  for (const AstExp *body; (body = body_of_let(exp)); exp = body) {
    int at = before(f, body->loc);
    bool more = body_of_let(body) && is_token(f, at, TOKEN_LET);
    if (more) flag(f, at, FORMAT_CHAINED);
    if (!broken) continue;
    flag(f, at, more ? FORMAT_BREAK : FORMAT_JOIN);
    if (is_token(f, at - 1, TOKEN_IN)) flag(f, at - 1, more ? FORMAT_JOIN : FORMAT_BREAK);
  }
}

static void mark_let(Formatter *f, const AstExp *exp, const AstExp *body) {
  int let = first_of(f, exp->loc);
  if (!(f->flags[let] & FORMAT_CHAINED)) mark_let_chain(f, exp);
  group(f, FORMAT_LET, exp->loc, before(f, body->loc));
  if (exp->kind == AST_LET) mark_type_params(f, &exp->u.let.sizes);
  if (exp->kind == AST_LET_FUN) mark_function(f, &exp->u.let_fun.function);
}

static void mark_match(Formatter *f, const AstExp *exp) {
  group(f, FORMAT_KEYWORD, exp->loc, -1);
  bool broken = false;
  for (int i = 0; i < exp->u.match.cases.count; i++)
    broken = broken || format_broken(f, first_of(f, exp->u.match.cases.at[i].loc));
  for (int i = 0; i < exp->u.match.cases.count; i++) {
    Loc loc = exp->u.match.cases.at[i].loc;
    group(f, FORMAT_HANG, loc, before(f, exp->u.match.cases.at[i].body->loc));
    if (broken) flag(f, first_of(f, loc), FORMAT_BREAK);
  }
}

// One argument: a prefix.
static void mark_apply(Formatter *f, const AstExp *exp) {
  if (!exp->u.apply.is_operator) {
    group(f, FORMAT_APPLY, exp->loc, behind(f, exp->u.apply.function->loc));
  } else if (exp->u.apply.args.count > 1) {
    group(f, FORMAT_CHAIN, exp->loc, behind(f, exp->u.apply.args.at[0]->loc));
  } else {
    flag(f, first_of(f, exp->loc), FORMAT_TIGHT_RIGHT);
  }
}

// xs[a:b]: colons touch both sides.
static void mark_dims(Formatter *f, const AstDimVec *dims) {
  vec_each (const AstDim *, dim, dims) {
    TokenRange r = range_of(f, dim->loc);
    for (int at = r.first; dim->is_slice && at <= r.last; at++) {
      int left = is_token(f, at - 1, TOKEN_COMMA) ? 0 : FORMAT_TIGHT_LEFT;
      if (is_token(f, at, TOKEN_COLON)) flag(f, at, left | FORMAT_TIGHT_RIGHT);
      if (format_opens(format_token(f, at)->kind)) at = f->match[at];
    }
  }
}

static void mark_path(Formatter *f, const AstPath *path) {
  vec_each (const AstStep *, step, path)
    mark_dims(f, &step->dims);
}

static void mark_fields(Formatter *f, const AstExp *exp) {
  vec_each (const AstFieldExp *, field, &exp->u.record.fields) {
    int equal = first_of(f, field->loc) + 1;
    group(f, FORMAT_HANG, field->loc, is_token(f, equal, TOKEN_EQUAL) ? equal + 1 : -1);
  }
}

// What is to be said of the expression itself, not of its parts.
static void mark_exp_kind(Formatter *f, const AstExp *exp) {
  switch (exp->kind) {
  case AST_INT:
  case AST_FLOAT: mark_sign(f, exp->loc); return;
  case AST_BOOL:
  case AST_STRING:
  case AST_NAME:
  case AST_HOLE:
  case AST_TUPLE:
  case AST_ARRAY:
  case AST_PROJECT:
  case AST_OPEN_IN:
  case AST_SECTION_LEFT:
  case AST_SECTION_RIGHT:
  case AST_SECTION_FIELD: return;
  case AST_RECORD: mark_fields(f, exp); return;
  case AST_ASSERT:
    group(f, FORMAT_HANG, exp->loc, before(f, exp->u.assert.exp->loc));
    return;
  case AST_RANGE:
  case AST_CONSTRUCTOR: group(f, FORMAT_HANG, exp->loc, -1); return;
  case AST_SECTION_INDEX: mark_dims(f, &exp->u.section_index.dims); return;
  case AST_INDEX: mark_dims(f, &exp->u.index.dims); return;
  case AST_APPLY: mark_apply(f, exp); return;
  case AST_AND:
  case AST_OR:
    group(f, FORMAT_CHAIN, exp->loc, behind(f, exp->u.logical.left->loc));
    return;
  case AST_LAMBDA:
    group(f, FORMAT_LAMBDA, exp->loc, before(f, exp->u.lambda.function.body->loc));
    mark_function(f, &exp->u.lambda.function);
    return;
  case AST_LET: mark_let(f, exp, exp->u.let.body); return;
  case AST_LET_FUN: mark_let(f, exp, exp->u.let_fun.body); return;
  case AST_LET_WITH:
    mark_let(f, exp, exp->u.let_with.body);
    mark_path(f, &exp->u.let_with.path);
    return;
  case AST_IF: group(f, FORMAT_KEYWORD, exp->loc, -1); return;
  case AST_LOOP:
    group(f, FORMAT_KEYWORD, exp->loc, -1);
    mark_type_params(f, &exp->u.loop.sizes);
    return;
  case AST_MATCH: mark_match(f, exp); return;
  case AST_WITH:
    group(f, FORMAT_HANG, exp->loc, behind(f, exp->u.with.target->loc));
    flag(f, first_of(f, exp->u.with.path.at[0].loc), FORMAT_SPACE_LEFT);
    mark_path(f, &exp->u.with.path);
    return;
  case AST_ASCRIBE:
  case AST_COERCE:
    group(f, FORMAT_HANG, exp->loc, behind(f, exp->u.ascribe.exp->loc));
    mark_type(f, exp->u.ascribe.type);
    return;
  case AST_ATTR:
    group(f, FORMAT_ALIGN, exp->loc, before(f, exp->u.attr.exp->loc));
    mark_attr(f, exp->u.attr.attr);
    return;
  }
}

static void mark_visited_exp(AstVisitor *v, const AstExp *exp) {
  mark_exp(v->state, exp);
}
static void mark_visited_pat(AstVisitor *v, const AstPat *pat) {
  mark_pat(v->state, pat);
}

static void mark_exp(Formatter *f, const AstExp *exp) {
  AstVisitor v = { mark_visited_exp, mark_visited_pat, f };
  mark_exp_kind(f, exp);
  ast_visit_parts(&v, exp);
}

// ---- definitions

static void mark_decls(Formatter *f, const AstDeclVec *decls);
static void mark_module_type(Formatter *f, const AstModType *type);

// If the items in braces are on lines of their own, all are; else braces have spaces inside.
static void mark_braces(Formatter *f, Loc loc, const int *items, int count) {
  int open = first_of(f, loc), close = f->match[open];
  bool broken = close > 0 && format_broken(f, close);
  for (int i = 0; i < count; i++)
    broken = broken || format_broken(f, items[i]);
  for (int i = 0; i < count; i++)
    flag(f, items[i], FORMAT_ITEM | (broken ? FORMAT_BREAK : 0));
  if (broken) flag(f, close, FORMAT_BREAK);
  if (count == 0) return;
  flag(f, open, FORMAT_SPACE_RIGHT);
  flag(f, close, FORMAT_SPACE_LEFT);
}

// type~ t
static void mark_lifted(Formatter *f, Loc loc, AstLifted lifted) {
  int at = first_of(f, loc);
  while (!is_token(f, at, TOKEN_TYPE))
    at++;
  if (lifted != LIFTED_NOT) flag(f, at + 1, FORMAT_TIGHT_LEFT);
}

static void mark_spec(Formatter *f, const AstSpec *spec) {
  group(f, FORMAT_HANG, spec->loc, -1);
  mark_type_params(f, &spec->params);
  if (spec->kind == SPEC_TYPE) mark_lifted(f, spec->loc, spec->lifted);
  if (spec->type) mark_type(f, spec->type);
  if (spec->of) mark_module_type(f, spec->of);
}

static void mark_specs(Formatter *f, const AstModType *type) {
  int count = type->u.specs.count, *items = new_array(int, count + 1);
  for (int i = 0; i < count; i++) {
    items[i] = first_of(f, type->u.specs.at[i].loc);
    mark_spec(f, &type->u.specs.at[i]);
  }
  mark_braces(f, type->loc, items, count);
}

static void mark_module_type(Formatter *f, const AstModType *type) {
  switch (type->kind) {
  case MODTYPE_NAME: return;
  case MODTYPE_SPECS: mark_specs(f, type); return;
  case MODTYPE_FUNCTION:
    if (type->u.function.param) flag(f, first_of(f, type->loc) + 2, FORMAT_TIGHT_LEFT);
    group(f, FORMAT_CHAIN, type->loc, before(f, type->u.function.to->loc) - 1);
    mark_module_type(f, type->u.function.from);
    mark_module_type(f, type->u.function.to);
    return;
  case MODTYPE_WITH:
    group(f, FORMAT_HANG, type->loc, -1);
    mark_module_type(f, type->u.with.of);
    mark_type_params(f, &type->u.with.params);
    mark_type(f, type->u.with.type);
    return;
  }
}

static void mark_body(Formatter *f, const AstModExp *exp) {
  int count = exp->u.body.count, *items = new_array(int, count + 1);
  for (int i = 0; i < count; i++)
    items[i] = first_of(f, exp->u.body.at[i]->loc);
  mark_decls(f, &exp->u.body);
  mark_braces(f, exp->loc, items, count);
}

// (m : s) or \(m : s): the colon touches the name.
static void mark_module_param(Formatter *f, const AstModExp *exp) {
  int open = first_of(f, exp->loc);
  while (!is_token(f, open, TOKEN_LPAREN))
    open++;
  flag(f, open + 2, FORMAT_TIGHT_LEFT);
  mark_module_type(f, exp->u.function.type);
}

static void mark_module_exp(Formatter *f, const AstModExp *exp) {
  switch (exp->kind) {
  case MODEXP_NAME:
  case MODEXP_IMPORT: return;
  case MODEXP_BODY: mark_body(f, exp); return;
  case MODEXP_APPLY:
    group(f, FORMAT_HANG, exp->loc, -1);
    mark_module_exp(f, exp->u.apply.function);
    mark_module_exp(f, exp->u.apply.arg);
    return;
  case MODEXP_ASCRIBE:
    mark_module_exp(f, exp->u.ascribe.exp);
    mark_module_type(f, exp->u.ascribe.type);
    return;
  case MODEXP_FUNCTION:
    mark_module_param(f, exp);
    mark_module_exp(f, exp->u.function.body);
    return;
  }
}

static void mark_decl(Formatter *f, const AstDecl *decl);

static void mark_value(Formatter *f, const AstDecl *decl) {
  const AstFunction *function = &decl->u.value.function;
  mark_function(f, function);
  mark_pats(f, &function->params);
  mark_exp(f, function->body);
}

static void mark_decl_kind(Formatter *f, const AstDecl *decl) {
  switch (decl->kind) {
  case AST_DECL_VALUE: mark_value(f, decl); return;
  case AST_DECL_TYPE:
    mark_lifted(f, decl->loc, decl->u.type.lifted);
    mark_type_params(f, &decl->u.type.params);
    mark_type(f, decl->u.type.type);
    return;
  case AST_DECL_SPEC:
    mark_type_params(f, &decl->u.spec.params);
    mark_type(f, decl->u.spec.type);
    return;
  case AST_DECL_MODULE: mark_module_exp(f, decl->u.module.exp); return;
  case AST_DECL_MODULE_TYPE: mark_module_type(f, decl->u.module_type.type); return;
  case AST_DECL_OPEN: mark_module_exp(f, decl->u.open.exp); return;
  case AST_DECL_LOCAL: mark_decl(f, decl->u.local.decl); return;
  }
}

static void mark_decl(Formatter *f, const AstDecl *decl) {
  int first = first_of(f, decl->loc), last = token_from(f, decl->loc.end) - 1;
  if (decl->kind != AST_DECL_LOCAL) {
    int equal = find(f, first, last, TOKEN_EQUAL);
    group(f, FORMAT_DECL, decl->loc, equal);
  }
  vec_each (const AstAttr *const *, attr, &decl->attrs)
    mark_attr(f, *attr);
  mark_decl_kind(f, decl);
}

static void mark_decls(Formatter *f, const AstDeclVec *decls) {
  vec_each (AstDecl *const *, decl, decls)
    mark_decl(f, *decl);
}

// ---- the whole

// `a` touches what is in between: a.b, `f`
static void mark_backticks(Formatter *f) {
  bool open = false;
  for (int at = 0; at < f->tokens.count; at++) {
    if (!is_token(f, at, TOKEN_BACKTICK)) continue;
    open = !open;
    flag(f, at, open ? FORMAT_TIGHT_RIGHT : FORMAT_TIGHT_LEFT);
  }
}

// Is there a comment between this token and the one before it?
static bool follows_comment(const Formatter *f, int at) {
  uint32_t start = format_token(f, at - 1)->end;
  return memchr(f->file->text + start, '-', format_token(f, at)->start - start) != NULL;
}

// A comma ends a line: what begins with one goes on behind it.
static void mark_commas(Formatter *f) {
  for (int at = 1; at + 1 < f->tokens.count; at++) {
    if (!is_token(f, at, TOKEN_COMMA) || !format_broken(f, at)) continue;
    if (follows_comment(f, at)) continue;
    flag(f, at, FORMAT_JOIN);
    flag(f, at + 1, FORMAT_BREAK);
  }
}

static void match_brackets(Formatter *f) {
  int *open = new_array(int, f->tokens.count + 1), depth = 0;
  for (int at = 0; at < f->tokens.count; at++) {
    f->match[at] = -1;
    if (format_opens(format_token(f, at)->kind)) open[depth++] = at;
    if (!format_closes(format_token(f, at)->kind) || depth == 0) continue;
    int other = open[--depth];
    f->match[at] = other;
    f->match[other] = at;
    vec_push(&f->groups, (FormatGroup){ FORMAT_BRACKET, other, at, -1, -1, 0 });
  }
}

// Outer groups first.
static int by_place(const void *a, const void *b) {
  const FormatGroup *x = a, *y = b;
  if (x->first != y->first) return x->first < y->first ? -1 : 1;
  if (x->last != y->last) return x->last > y->last ? -1 : 1;
  return (x->kind > y->kind) - (x->kind < y->kind);
}

static void nest(Formatter *f) {
  int inner = -1, next = 0;
  if (f->groups.count)
    qsort(f->groups.at, (size_t)f->groups.count, sizeof *f->groups.at, by_place);
  for (int at = 0; at < f->tokens.count; at++) {
    while (inner >= 0 && f->groups.at[inner].last < at)
      inner = f->groups.at[inner].parent;
    for (; next < f->groups.count && f->groups.at[next].first == at; next++) {
      f->groups.at[next].parent = inner;
      inner = next;
    }
    f->inner[at] = inner;
  }
}

void format_mark(Formatter *f, const AstProgram *program) {
  match_brackets(f);
  mark_backticks(f);
  mark_commas(f);
  mark_decls(f, &program->decls);
  vec_each (AstDecl *const *, decl, &program->decls)
    flag(f, first_of(f, (*decl)->loc), FORMAT_BREAK);
  nest(f);
}
