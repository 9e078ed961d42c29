// Syntax tree to text: expressions.  Operands get brackets unless they are atoms or continue a
// chain of the same operator, so that long chains stay flat.
#include "source/ast_print.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void print_in_brackets(Text *t, const AstExp *exp) {
  text_add(t, "(");
  ast_print_exp(t, exp);
  text_add(t, ")");
}

// Does it need no brackets as an argument?
static bool is_atom(const AstExp *exp) {
  switch (exp->kind) {
  case AST_INT: return !exp->u.integer.negative;
  case AST_CONSTRUCTOR: return exp->u.constructor.payload.count == 0;
  case AST_FLOAT:
  case AST_BOOL:
  case AST_STRING:
  case AST_NAME:
  case AST_HOLE:
  case AST_TUPLE:
  case AST_RECORD:
  case AST_ARRAY:
  case AST_INDEX:
  case AST_PROJECT:
  case AST_SECTION_LEFT:
  case AST_SECTION_RIGHT:
  case AST_SECTION_FIELD:
  case AST_SECTION_INDEX:
  case AST_OPEN_IN: return true;
  case AST_RANGE:
  case AST_APPLY:
  case AST_AND:
  case AST_OR:
  case AST_LAMBDA:
  case AST_LET:
  case AST_LET_FUN:
  case AST_LET_WITH:
  case AST_IF:
  case AST_LOOP:
  case AST_MATCH:
  case AST_WITH:
  case AST_ASCRIBE:
  case AST_COERCE:
  case AST_ASSERT:
  case AST_ATTR: return false;
  }
  return false;
}

static void print_atom(Text *t, const AstExp *exp) {
  if (is_atom(exp))
    ast_print_exp(t, exp);
  else
    print_in_brackets(t, exp);
}

static bool is_operation(const AstExp *exp) {
  return exp->kind == AST_APPLY && exp->u.apply.is_operator;
}

// Where a `:` or a `case` may follow.
static void print_closed(Text *t, const AstExp *exp) {
  if (is_operation(exp))
    ast_print_exp(t, exp);
  else
    print_atom(t, exp);
}

static void print_int(Text *t, const AstExp *exp) {
  text_add(t, exp->u.integer.negative ? "-" : "");
  text_add(t, big_text(exp->u.integer.value));
  if (exp->u.integer.has_suffix) text_add(t, prim_type_name(exp->u.integer.suffix));
}

// The fewest digits that read back to the same numbers (beyond 17 only where the decimal text was
// nearly half way between two of type f32).
static const char *float_digits(const AstExp *exp, bool single) {
  const char *text = "";
  bool same = false;
  for (int digits = 1; !same && digits <= 60; digits++) {
    text = text_format("%.*g", digits,
                       single ? (double)exp->u.floating.value32 : exp->u.floating.value);
    same = strtof(text, NULL) == exp->u.floating.value32 &&
           (single || strtod(text, NULL) == exp->u.floating.value);
  }
  return text;
}

// With a mark that it is no integer.
static void print_float(Text *t, const AstExp *exp) {
  bool single = exp->u.floating.has_suffix && exp->u.floating.suffix == PRIM_F32;
  const char *text = float_digits(exp, single);
  if (isinf(single ? (double)exp->u.floating.value32 : exp->u.floating.value))
    text = exp->u.floating.value32 < 0 ? "-1e999" : "1e999";
  text_add(t, text);
  if (!strpbrk(text, ".e")) text_add(t, ".0");
  if (exp->u.floating.has_suffix) text_add(t, prim_type_name(exp->u.floating.suffix));
}

static void print_list(Text *t, const char *open, const AstExpVec *items,
                       const char *close) {
  text_add(t, open);
  for (int i = 0; i < items->count; i++) {
    if (i > 0) text_add(t, ", ");
    ast_print_exp(t, items->at[i]);
  }
  text_add(t, close);
}

static void print_record(Text *t, const AstExp *exp) {
  text_add(t, "{");
  for (int i = 0; i < exp->u.record.fields.count; i++) {
    const AstFieldExp *field = &exp->u.record.fields.at[i];
    text_printf(t, "%s%s = ", i > 0 ? ", " : "", field->name);
    ast_print_exp(t, field->value);
  }
  text_add(t, "}");
}

static void print_range(Text *t, const AstExp *exp) {
  static const char *const ends[] = {
    [RANGE_BELOW] = "..<", [RANGE_UPTO] = "...", [RANGE_ABOVE] = "..>"
  };
  print_atom(t, exp->u.range.from);
  if (exp->u.range.second) {
    text_add(t, " .. ");
    print_atom(t, exp->u.range.second);
  }
  text_printf(t, " %s ", ends[exp->u.range.end]);
  print_atom(t, exp->u.range.to);
}

static void print_slice(Text *t, const AstDim *dim) {
  if (dim->from) print_closed(t, dim->from);
  text_add(t, ":");
  if (dim->to) print_closed(t, dim->to);
  if (!dim->step) return;
  text_add(t, ":");
  print_closed(t, dim->step);
}

static void print_dims(Text *t, const AstDimVec *dims) {
  text_add(t, "[");
  for (int i = 0; i < dims->count; i++) {
    const AstDim *dim = &dims->at[i];
    if (i > 0) text_add(t, ", ");
    if (dim->is_slice)
      print_slice(t, dim);
    else
      print_closed(t, dim->index);
  }
  text_add(t, "]");
}

// `"text"[0]` and `{}[0]` would be applications.
static void print_index(Text *t, const AstExp *exp) {
  const AstExp *array = exp->u.index.array;
  bool brackets = array->kind == AST_STRING || array->kind == AST_RECORD;
  if (brackets)
    print_in_brackets(t, array);
  else
    print_atom(t, array);
  print_dims(t, &exp->u.index.dims);
}

// `1.0` would be a number.
static void print_project(Text *t, const AstExp *exp) {
  const AstExp *record = exp->u.project.record;
  bool number = record->kind == AST_INT || record->kind == AST_FLOAT;
  if (number)
    print_in_brackets(t, record);
  else
    print_atom(t, record);
  text_printf(t, ".%s", exp->u.project.field);
}

static const AstName *operator_of(const AstExp *exp) {
  return &exp->u.apply.function->u.name.name;
}

static bool same_operation(const AstExp *a, const AstExp *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == AST_AND || a->kind == AST_OR) return true;
  return is_operation(a) && a->u.apply.args.count == 2 && b->u.apply.args.count == 2 &&
         operator_of(a)->name == operator_of(b)->name;
}

// -e, !e; `-1` would be a literal
static void print_unary(Text *t, const AstExp *exp) {
  const AstExp *operand = exp->u.apply.args.at[0];
  text_add(t, operator_of(exp)->name);
  if (operand->kind == AST_INT)
    print_in_brackets(t, operand);
  else
    print_atom(t, operand);
}

static void print_operation(Text *t, const AstExp *exp) {
  const AstExp *left = exp->u.apply.args.at[0], *right = exp->u.apply.args.at[1];
  bool to_right = strncmp(operator_of(exp)->name, "<|", 2) == 0;
  if (!to_right && same_operation(left, exp))
    ast_print_exp(t, left);
  else
    print_atom(t, left);
  text_add(t, " ");
  print_operator(t, operator_of(exp));
  text_add(t, " ");
  if (to_right && same_operation(right, exp))
    ast_print_exp(t, right);
  else
    print_atom(t, right);
}

static void print_apply(Text *t, const AstExp *exp) {
  if (is_operation(exp) && exp->u.apply.args.count == 1) {
    print_unary(t, exp);
  } else if (is_operation(exp)) {
    print_operation(t, exp);
  } else {
    print_atom(t, exp->u.apply.function);
    vec_each (AstExp **, arg, &exp->u.apply.args) {
      text_add(t, " ");
      print_atom(t, *arg);
    }
  }
}

static void print_logical(Text *t, const AstExp *exp) {
  const AstExp *left = exp->u.logical.left;
  if (same_operation(left, exp))
    ast_print_exp(t, left);
  else
    print_atom(t, left);
  text_add(t, exp->kind == AST_AND ? " && " : " || ");
  print_atom(t, exp->u.logical.right);
}

static void print_lambda(Text *t, const AstExp *exp) {
  const AstFunction *function = &exp->u.lambda.function;
  text_add(t, "\\");
  for (int i = 0; i < function->params.count; i++) {
    if (i > 0) text_add(t, " ");
    print_param(t, function->params.at[i]);
  }
  if (function->result) {
    text_add(t, ": ");
    print_type_term(t, function->result);
  }
  text_add(t, " -> ");
  ast_print_exp(t, function->body);
}

static void print_section_left(Text *t, const AstExp *exp) {
  text_add(t, "(");
  print_atom(t, exp->u.section.operand);
  text_add(t, " ");
  print_operator(t, &exp->u.section.op->u.name.name);
  text_add(t, ")");
}

static void print_section_right(Text *t, const AstExp *exp) {
  text_add(t, "(");
  print_operator(t, &exp->u.section.op->u.name.name);
  text_add(t, " ");
  print_atom(t, exp->u.section.operand);
  text_add(t, ")");
}

static void print_section_field(Text *t, const AstExp *exp) {
  text_add(t, "(");
  vec_each (Name *, field, &exp->u.section_field.fields)
    text_printf(t, ".%s", *field);
  text_add(t, ")");
}

static void print_open_in(Text *t, const AstExp *exp) {
  print_name(t, &exp->u.open_in.module);
  text_add(t, ".(");
  ast_print_exp(t, exp->u.open_in.exp);
  text_add(t, ")");
}

static void print_section_index(Text *t, const AstExp *exp) {
  text_add(t, "(.");
  print_dims(t, &exp->u.section_index.dims);
  text_add(t, ")");
}

static bool is_let(const AstExp *exp) {
  return exp->kind == AST_LET || exp->kind == AST_LET_FUN || exp->kind == AST_LET_WITH;
}

static void print_let_body(Text *t, const AstExp *body) {
  text_newline(t);
  if (!is_let(body)) text_add(t, "in ");
  ast_print_exp(t, body);
}

static void print_let(Text *t, const AstExp *exp) {
  text_add(t, "let");
  print_type_params(t, &exp->u.let.sizes);
  text_add(t, " ");
  ast_print_pat(t, exp->u.let.pat);
  text_add(t, " = ");
  ast_print_exp(t, exp->u.let.value);
  print_let_body(t, exp->u.let.body);
}

static void print_let_fun(Text *t, const AstExp *exp) {
  const AstFunction *function = &exp->u.let_fun.function;
  text_add(t, "let ");
  print_binder(t, exp->u.let_fun.name);
  print_type_params(t, &function->type_params);
  print_params(t, &function->params);
  if (function->result) {
    text_add(t, " : ");
    ast_print_type(t, function->result);
  }
  text_add(t, " = ");
  ast_print_exp(t, function->body);
  print_let_body(t, exp->u.let_fun.body);
}

// xs[i].f, where a field has no dot if it comes first
static void print_path(Text *t, const AstPath *path) {
  for (int i = 0; i < path->count; i++) {
    const AstStep *step = &path->at[i];
    if (step->field)
      text_printf(t, "%s%s", i > 0 ? "." : "", step->field);
    else
      print_dims(t, &step->dims);
  }
}

static void print_let_with(Text *t, const AstExp *exp) {
  text_add(t, "let ");
  ast_print_exp(t, exp->u.let_with.target);
  if (exp->u.let_with.path.at[0].field) text_add(t, ".");
  print_path(t, &exp->u.let_with.path);
  text_add(t, " = ");
  ast_print_exp(t, exp->u.let_with.value);
  print_let_body(t, exp->u.let_with.body);
}

static void print_if(Text *t, const AstExp *exp) {
  text_add(t, "if ");
  ast_print_exp(t, exp->u.cond.condition);
  text_newline(t);
  text_add(t, "then ");
  ast_print_exp(t, exp->u.cond.then_exp);
  text_newline(t);
  text_add(t, "else ");
  ast_print_exp(t, exp->u.cond.else_exp);
}

static void print_loop_form(Text *t, const AstExp *exp) {
  if (exp->u.loop.form == LOOP_WHILE) {
    text_add(t, " while ");
  } else {
    text_add(t, " for ");
    ast_print_pat(t, exp->u.loop.index);
    text_add(t, exp->u.loop.form == LOOP_FOR ? " < " : " in ");
  }
  ast_print_exp(t, exp->u.loop.bound);
}

static void print_loop(Text *t, const AstExp *exp) {
  text_add(t, "loop");
  print_type_params(t, &exp->u.loop.sizes);
  text_add(t, " ");
  ast_print_pat(t, exp->u.loop.pat);
  text_add(t, " = ");
  ast_print_exp(t, exp->u.loop.init);
  print_loop_form(t, exp);
  text_add(t, " do");
  text_indent(t, 2);
  text_newline(t);
  ast_print_exp(t, exp->u.loop.body);
  text_indent(t, -2);
}

static void print_match(Text *t, const AstExp *exp) {
  text_add(t, "match ");
  print_closed(t, exp->u.match.value);
  vec_each (AstCase *, one, &exp->u.match.cases) {
    text_newline(t);
    text_add(t, "case ");
    ast_print_pat(t, one->pat);
    text_add(t, " -> ");
    print_closed(t, one->body);
  }
}

static void print_updated(Text *t, const AstExp *exp) {
  if (exp->kind == AST_WITH)
    ast_print_exp(t, exp);
  else
    print_atom(t, exp);
  text_add(t, " with ");
}

static void print_with(Text *t, const AstExp *exp) {
  print_updated(t, exp->u.with.target);
  print_path(t, &exp->u.with.path);
  text_add(t, " = ");
  print_atom(t, exp->u.with.value);
}

static void print_ascribe(Text *t, const AstExp *exp) {
  const AstExp *inner = exp->u.ascribe.exp;
  bool chain = inner->kind == AST_ASCRIBE || inner->kind == AST_COERCE;
  // a type reaches to the right: an arrow's or a sum's would go on
  if (chain)
    ast_print_exp(t, inner);
  else
    print_atom(t, inner);
  text_add(t, exp->kind == AST_ASCRIBE ? " : " : " :> ");
  ast_print_type(t, exp->u.ascribe.type);
}

static void print_assert(Text *t, const AstExp *exp) {
  text_add(t, "assert ");
  print_atom(t, exp->u.assert.condition);
  text_add(t, " ");
  print_atom(t, exp->u.assert.exp);
}

static void print_attr_exp(Text *t, const AstExp *exp) {
  print_attr(t, exp->u.attr.attr);
  text_add(t, " ");
  ast_print_exp(t, exp->u.attr.exp);
}

static void print_constructor(Text *t, const AstExp *exp) {
  text_printf(t, "#%s", exp->u.constructor.name);
  vec_each (AstExp **, payload, &exp->u.constructor.payload) {
    text_add(t, " ");
    print_atom(t, *payload);
  }
}

void ast_print_exp(Text *t, const AstExp *exp) {
  switch (exp->kind) {
  case AST_INT: print_int(t, exp); return;
  case AST_FLOAT: print_float(t, exp); return;
  case AST_BOOL: text_add(t, exp->u.boolean.value ? "true" : "false"); return;
  case AST_STRING: print_string(t, exp->u.string.bytes, exp->u.string.length); return;
  case AST_NAME: print_name(t, &exp->u.name.name); return;
  case AST_TUPLE: print_list(t, "(", &exp->u.tuple.items, ")"); return;
  case AST_RECORD: print_record(t, exp); return;
  case AST_ARRAY: print_list(t, "[", &exp->u.array.items, "]"); return;
  case AST_RANGE: print_range(t, exp); return;
  case AST_INDEX: print_index(t, exp); return;
  case AST_PROJECT: print_project(t, exp); return;
  case AST_APPLY: print_apply(t, exp); return;
  case AST_AND: print_logical(t, exp); return;
  case AST_OR: print_logical(t, exp); return;
  case AST_LAMBDA: print_lambda(t, exp); return;
  case AST_SECTION_LEFT: print_section_left(t, exp); return;
  case AST_SECTION_RIGHT: print_section_right(t, exp); return;
  case AST_SECTION_FIELD: print_section_field(t, exp); return;
  case AST_SECTION_INDEX: print_section_index(t, exp); return;
  case AST_OPEN_IN: print_open_in(t, exp); return;
  case AST_LET: print_let(t, exp); return;
  case AST_LET_FUN: print_let_fun(t, exp); return;
  case AST_LET_WITH: print_let_with(t, exp); return;
  case AST_IF: print_if(t, exp); return;
  case AST_LOOP: print_loop(t, exp); return;
  case AST_MATCH: print_match(t, exp); return;
  case AST_WITH: print_with(t, exp); return;
  case AST_ASCRIBE: print_ascribe(t, exp); return;
  case AST_COERCE: print_ascribe(t, exp); return;
  case AST_ASSERT: print_assert(t, exp); return;
  case AST_HOLE: text_add(t, "???"); return;
  case AST_ATTR: print_attr_exp(t, exp); return;
  case AST_CONSTRUCTOR: print_constructor(t, exp); return;
  }
}
