// Syntax tree to text: names, types, patterns, definitions.
#include "source/ast_print.h"
#include "source/lex.h"
#include <string.h>

static bool is_operator(Name name) { return lex_is_operator(name[0]); }

static void print_qualified(Text *t, const AstName *name) {
  vec_each (Name *, qualifier, &name->qualifiers)
    text_printf(t, "%s.", *qualifier);
  text_add(t, name->name);
}

void print_name(Text *t, const AstName *name) {
  if (is_operator(name->name)) text_add(t, "(");
  print_qualified(t, name);
  if (is_operator(name->name)) text_add(t, ")");
}

void print_operator(Text *t, const AstName *name) {
  if (!is_operator(name->name)) text_add(t, "`");
  print_qualified(t, name);
  if (!is_operator(name->name)) text_add(t, "`");
}

void print_binder(Text *t, Name name) { print_name(t, &(const AstName){ .name = name }); }

// A control character is written as a number, which `\&` keeps apart from digits behind it.
static void print_character(Text *t, char ch) {
  if (ch == '"' || ch == '\\')
    text_printf(t, "\\%c", ch);
  else if (ch == '\n')
    text_add(t, "\\n");
  else if ((unsigned char)ch < ' ' || ch == 127)
    text_printf(t, "\\%d\\&", ch);
  else
    text_add_bytes(t, &ch, 1);
}

void print_string(Text *t, const char *bytes, size_t length) {
  text_add(t, "\"");
  for (size_t i = 0; i < length; i++)
    print_character(t, bytes[i]);
  text_add(t, "\"");
}

// Names and numbers are written bare, other strings in quotes.
static void print_attr_name(Text *t, Name name) {
  const char *rest = name[0] == '-' && lex_is_digit(name[1]) ? name + 1 : name;
  bool bare = lex_is_name_start(rest[0]) || lex_is_digit(rest[0]);
  while (bare && *rest)
    bare = lex_is_name_part(*rest++);
  if (bare)
    text_add(t, name);
  else
    print_string(t, name, strlen(name));
}

static bool attr_is_operation(const AstAttr *attr) {
  return attr->args.count == 2 && strchr("+-*", attr->name[0]) && !attr->name[1];
}

static void print_attr_operand(Text *t, const AstAttr *attr) {
  bool brackets = attr_is_operation(attr);
  if (brackets) text_add(t, "(");
  print_attr_info(t, attr);
  if (brackets) text_add(t, ")");
}

void print_attr_info(Text *t, const AstAttr *attr) {
  if (attr_is_operation(attr)) {
    print_attr_operand(t, attr->args.at[0]);
    text_printf(t, " %s ", attr->name);
    print_attr_operand(t, attr->args.at[1]);
    return;
  }
  print_attr_name(t, attr->name);
  if (!attr->has_args) return;
  text_add(t, "(");
  for (int i = 0; i < attr->args.count; i++) {
    if (i > 0) text_add(t, ", ");
    print_attr_info(t, attr->args.at[i]);
  }
  text_add(t, ")");
}

void print_attr(Text *t, const AstAttr *attr) {
  text_add(t, "#[");
  print_attr_info(t, attr);
  text_add(t, "]");
}

static void print_type_param(Text *t, const AstTypeParam *param) {
  static const char *const formats[] = {
    [TYPE_PARAM_SIZE] = "[%s]",
    [TYPE_PARAM_TYPE] = "'%s",
    [TYPE_PARAM_LIFTED] = "'^%s",
    [TYPE_PARAM_SIZE_LIFTED] = "'~%s",
  };
  const char *format = formats[param->kind];
  text_add_bytes(t, format, strcspn(format, "%"));
  text_add(t, param->name);
  text_add(t, strchr(format, '%') + 2);
}

void print_type_params(Text *t, const AstTypeParamVec *params) {
  vec_each (AstTypeParam *, param, params) {
    text_add(t, " ");
    print_type_param(t, param);
  }
}

// Types

static void print_size(Text *t, const AstExp *size) {
  text_add(t, "[");
  if (size) ast_print_exp(t, size);
  text_add(t, "]");
}

static void print_type_in_brackets(Text *t, const AstType *type) {
  text_add(t, "(");
  ast_print_type(t, type);
  text_add(t, ")");
}

// As an argument of a type or a constructor.
static void print_type_atom(Text *t, const AstType *type) {
  bool atom = type->kind == AST_TYPE_TUPLE || type->kind == AST_TYPE_RECORD ||
              (type->kind == AST_TYPE_NAME && type->u.name.args.count == 0);
  if (atom)
    ast_print_type(t, type);
  else
    print_type_in_brackets(t, type);
}

void print_type_term(Text *t, const AstType *type) {
  bool outer = type->kind == AST_TYPE_FUNCTION || type->kind == AST_TYPE_EXISTS;
  if (outer)
    print_type_in_brackets(t, type);
  else
    ast_print_type(t, type);
}

static void print_type_name(Text *t, const AstType *type) {
  print_qualified(t, &type->u.name.name);
  vec_each (AstTypeArg *, arg, &type->u.name.args) {
    text_add(t, " ");
    if (arg->is_size)
      print_size(t, arg->size);
    else
      print_type_atom(t, arg->type);
  }
}

static void print_tuple_type(Text *t, const AstType *type) {
  text_add(t, "(");
  for (int i = 0; i < type->u.tuple.items.count; i++) {
    if (i > 0) text_add(t, ", ");
    ast_print_type(t, type->u.tuple.items.at[i]);
  }
  text_add(t, ")");
}

static void print_record_type(Text *t, const AstType *type) {
  text_add(t, "{");
  for (int i = 0; i < type->u.record.fields.count; i++) {
    const AstField *field = &type->u.record.fields.at[i];
    text_printf(t, "%s%s: ", i > 0 ? ", " : "", field->name);
    ast_print_type(t, field->type);
  }
  text_add(t, "}");
}

// `**` would be an operator.
static void print_unique_type(Text *t, const AstType *type) {
  const AstType *of = type->u.unique.of;
  text_add(t, "*");
  if (of->kind == AST_TYPE_UNIQUE)
    print_type_in_brackets(t, of);
  else
    print_type_term(t, of);
}

static void print_function_type(Text *t, const AstType *type) {
  if (type->u.function.param) {
    text_printf(t, "(%s: ", type->u.function.param);
    ast_print_type(t, type->u.function.from);
    text_add(t, ")");
  } else {
    print_type_term(t, type->u.function.from);
  }
  text_add(t, " -> ");
  ast_print_type(t, type->u.function.to);
}

static void print_sum_type(Text *t, const AstType *type) {
  for (int i = 0; i < type->u.sum.constructors.count; i++) {
    const AstConstructor *constructor = &type->u.sum.constructors.at[i];
    text_printf(t, "%s#%s", i > 0 ? " | " : "", constructor->name);
    vec_each (AstType **, payload, &constructor->payload) {
      text_add(t, " ");
      print_type_atom(t, *payload);
    }
  }
}

static void print_exists_type(Text *t, const AstType *type) {
  text_add(t, "?");
  vec_each (Name *, size, &type->u.exists.sizes)
    text_printf(t, "[%s]", *size);
  text_add(t, ".");
  ast_print_type(t, type->u.exists.of);
}

static void print_array_type(Text *t, const AstType *type) {
  print_size(t, type->u.array.size);
  print_type_term(t, type->u.array.elem);
}

void ast_print_type(Text *t, const AstType *type) {
  switch (type->kind) {
  case AST_TYPE_NAME: print_type_name(t, type); return;
  case AST_TYPE_TUPLE: print_tuple_type(t, type); return;
  case AST_TYPE_RECORD: print_record_type(t, type); return;
  case AST_TYPE_ARRAY: print_array_type(t, type); return;
  case AST_TYPE_UNIQUE: print_unique_type(t, type); return;
  case AST_TYPE_FUNCTION: print_function_type(t, type); return;
  case AST_TYPE_SUM: print_sum_type(t, type); return;
  case AST_TYPE_EXISTS: print_exists_type(t, type); return;
  }
}

// Patterns

static bool is_negative(const AstExp *literal) {
  if (literal->kind == AST_INT) return literal->u.integer.negative;
  return literal->kind == AST_FLOAT &&
         (literal->u.floating.value < 0 || 1 / literal->u.floating.value < 0);
}

void print_param(Text *t, const AstPat *pat) {
  bool brackets =
      pat->kind == AST_PAT_ASCRIBE || pat->kind == AST_PAT_ATTR ||
      (pat->kind == AST_PAT_LITERAL && is_negative(pat->u.literal.value)) ||
      (pat->kind == AST_PAT_CONSTRUCTOR && pat->u.constructor.payload.count > 0);
  if (brackets) text_add(t, "(");
  ast_print_pat(t, pat);
  if (brackets) text_add(t, ")");
}

void print_params(Text *t, const AstPatVec *params) {
  vec_each (AstPat **, param, params) {
    text_add(t, " ");
    print_param(t, *param);
  }
}

static void print_tuple_pat(Text *t, const AstPat *pat) {
  text_add(t, "(");
  for (int i = 0; i < pat->u.tuple.items.count; i++) {
    if (i > 0) text_add(t, ", ");
    ast_print_pat(t, pat->u.tuple.items.at[i]);
  }
  text_add(t, ")");
}

static void print_record_pat(Text *t, const AstPat *pat) {
  text_add(t, "{");
  for (int i = 0; i < pat->u.record.fields.count; i++) {
    const AstFieldPat *field = &pat->u.record.fields.at[i];
    text_printf(t, "%s%s = ", i > 0 ? ", " : "", field->name);
    ast_print_pat(t, field->pat);
  }
  text_add(t, "}");
}

static void print_ascribed_pat(Text *t, const AstPat *pat) {
  print_param(t, pat->u.ascribe.pat);
  text_add(t, ": ");
  ast_print_type(t, pat->u.ascribe.type);
}

static void print_attr_pat(Text *t, const AstPat *pat) {
  print_attr(t, pat->u.attr.attr);
  text_add(t, " ");
  ast_print_pat(t, pat->u.attr.pat);
}

static void print_constructor_pat(Text *t, const AstPat *pat) {
  text_printf(t, "#%s", pat->u.constructor.name);
  print_params(t, &pat->u.constructor.payload);
}

void ast_print_pat(Text *t, const AstPat *pat) {
  switch (pat->kind) {
  case AST_PAT_NAME: print_binder(t, pat->u.name.name); return;
  case AST_PAT_WILDCARD: text_add(t, "_"); return;
  case AST_PAT_TUPLE: print_tuple_pat(t, pat); return;
  case AST_PAT_RECORD: print_record_pat(t, pat); return;
  case AST_PAT_LITERAL: ast_print_exp(t, pat->u.literal.value); return;
  case AST_PAT_ASCRIBE: print_ascribed_pat(t, pat); return;
  case AST_PAT_CONSTRUCTOR: print_constructor_pat(t, pat); return;
  case AST_PAT_ATTR: print_attr_pat(t, pat); return;
  }
}
