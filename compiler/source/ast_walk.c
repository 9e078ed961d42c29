// The parts of expressions and patterns, for those who look at all of a tree.
#include "source/ast_walk.h"

static void visit_part(AstVisitor *v, const AstExp *part) {
  if (part) v->exp(v, part);
}

static void visit_all(AstVisitor *v, const AstExpVec *parts) {
  vec_each (AstExp *const *, part, parts)
    visit_part(v, *part);
}

static void visit_pat(AstVisitor *v, const AstPat *pat) {
  if (pat && v->pat) v->pat(v, pat);
}

static void visit_dims(AstVisitor *v, const AstDimVec *dims) {
  vec_each (const AstDim *, dim, dims) {
    visit_part(v, dim->index);
    visit_part(v, dim->from);
    visit_part(v, dim->to);
    visit_part(v, dim->step);
  }
}

static void visit_path(AstVisitor *v, const AstPath *path) {
  vec_each (const AstStep *, step, path)
    visit_dims(v, &step->dims);
}

static void visit_function(AstVisitor *v, const AstFunction *f) {
  vec_each (AstPat *const *, pat, &f->params)
    visit_pat(v, *pat);
  visit_part(v, f->body);
}

static void visit_loop(AstVisitor *v, const AstExp *exp) {
  visit_part(v, exp->u.loop.init);
  visit_pat(v, exp->u.loop.pat);
  visit_pat(v, exp->u.loop.index);
  visit_part(v, exp->u.loop.bound);
  visit_part(v, exp->u.loop.body);
}

static void visit_match(AstVisitor *v, const AstExp *exp) {
  visit_part(v, exp->u.match.value);
  for (int i = 0; i < exp->u.match.cases.count; i++) {
    visit_pat(v, exp->u.match.cases.at[i].pat);
    visit_part(v, exp->u.match.cases.at[i].body);
  }
}

static void visit_let_with(AstVisitor *v, const AstExp *exp) {
  visit_part(v, exp->u.let_with.target);
  visit_path(v, &exp->u.let_with.path);
  visit_part(v, exp->u.let_with.value);
  visit_pat(v, exp->u.let_with.pat);
  visit_part(v, exp->u.let_with.body);
}

static void visit_three(AstVisitor *v, const AstExp *a, const AstExp *b,
                        const AstExp *c) {
  visit_part(v, a);
  visit_part(v, b);
  visit_part(v, c);
}

static void visit_apply(AstVisitor *v, const AstExp *exp) {
  visit_part(v, exp->u.apply.function);
  visit_all(v, &exp->u.apply.args);
}

static void visit_record(AstVisitor *v, const AstExp *exp) {
  for (int i = 0; i < exp->u.record.fields.count; i++)
    visit_part(v, exp->u.record.fields.at[i].value);
}

void ast_visit_parts(AstVisitor *v, const AstExp *exp) {
  switch (exp->kind) {
  case AST_INT:
  case AST_FLOAT:
  case AST_BOOL:
  case AST_STRING:
  case AST_NAME:
  case AST_HOLE:
  case AST_SECTION_FIELD: return;
  case AST_TUPLE: visit_all(v, &exp->u.tuple.items); return;
  case AST_RECORD: visit_record(v, exp); return;
  case AST_ARRAY: visit_all(v, &exp->u.array.items); return;
  case AST_RANGE:
    visit_three(v, exp->u.range.from, exp->u.range.second, exp->u.range.to);
    return;
  case AST_INDEX:
    visit_part(v, exp->u.index.array);
    visit_dims(v, &exp->u.index.dims);
    return;
  case AST_PROJECT: visit_part(v, exp->u.project.record); return;
  case AST_APPLY: visit_apply(v, exp); return;
  case AST_AND:
  case AST_OR: visit_three(v, exp->u.logical.left, exp->u.logical.right, NULL); return;
  case AST_LAMBDA: visit_function(v, &exp->u.lambda.function); return;
  case AST_SECTION_LEFT:
  case AST_SECTION_RIGHT:
    visit_three(v, exp->u.section.op, exp->u.section.operand, NULL);
    return;
  case AST_SECTION_INDEX: visit_dims(v, &exp->u.section_index.dims); return;
  case AST_LET:
    visit_part(v, exp->u.let.value);
    visit_pat(v, exp->u.let.pat);
    visit_part(v, exp->u.let.body);
    return;
  case AST_LET_FUN:
    visit_function(v, &exp->u.let_fun.function);
    visit_part(v, exp->u.let_fun.body);
    return;
  case AST_LET_WITH: visit_let_with(v, exp); return;
  case AST_IF:
    visit_three(v, exp->u.cond.condition, exp->u.cond.then_exp, exp->u.cond.else_exp);
    return;
  case AST_LOOP: visit_loop(v, exp); return;
  case AST_MATCH: visit_match(v, exp); return;
  case AST_WITH:
    visit_part(v, exp->u.with.target);
    visit_path(v, &exp->u.with.path);
    visit_part(v, exp->u.with.value);
    return;
  case AST_ASCRIBE:
  case AST_COERCE: visit_part(v, exp->u.ascribe.exp); return;
  case AST_ASSERT:
    visit_three(v, exp->u.assert.condition, exp->u.assert.exp, NULL);
    return;
  case AST_ATTR: visit_part(v, exp->u.attr.exp); return;
  case AST_CONSTRUCTOR: visit_all(v, &exp->u.constructor.payload); return;
  case AST_OPEN_IN: visit_part(v, exp->u.open_in.exp); return;
  }
}

void ast_visit_names(const AstPat *pat, void (*visit)(void *state, const AstPat *name),
                     void *state) {
  switch (pat->kind) {
  case AST_PAT_NAME: visit(state, pat); return;
  case AST_PAT_WILDCARD:
  case AST_PAT_LITERAL: return;
  case AST_PAT_TUPLE:
    vec_each (AstPat *const *, p, &pat->u.tuple.items)
      ast_visit_names(*p, visit, state);
    return;
  case AST_PAT_RECORD:
    vec_each (const AstFieldPat *, f, &pat->u.record.fields)
      ast_visit_names(f->pat, visit, state);
    return;
  case AST_PAT_ASCRIBE: ast_visit_names(pat->u.ascribe.pat, visit, state); return;
  case AST_PAT_CONSTRUCTOR:
    vec_each (AstPat *const *, p, &pat->u.constructor.payload)
      ast_visit_names(*p, visit, state);
    return;
  case AST_PAT_ATTR: ast_visit_names(pat->u.attr.pat, visit, state); return;
  }
}
