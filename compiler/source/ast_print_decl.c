// Syntax tree to text: definitions and programs.
#include "source/ast_print.h"
#include <string.h>

static void print_doc(Text *t, const char *doc) {
  if (!doc) return;
  text_add(t, "-- |");
  while (true) {
    size_t length = strcspn(doc, "\n");
    if (length) text_add(t, " ");
    text_add_bytes(t, doc, length);
    text_newline(t);
    if (doc[length] == '\0') return;
    doc += length + 1;
    text_add(t, "--");
  }
}

static void print_body(Text *t, const AstExp *body) {
  text_add(t, " =");
  text_indent(t, 2);
  text_newline(t);
  ast_print_exp(t, body);
  text_indent(t, -2);
}

static void print_value(Text *t, const AstDecl *decl) {
  const AstFunction *function = &decl->u.value.function;
  text_add(t, decl->u.value.is_entry ? "entry " : "def ");
  print_binder(t, decl->u.value.name);
  print_type_params(t, &function->type_params);
  print_params(t, &function->params);
  if (function->result) {
    text_add(t, " : ");
    ast_print_type(t, function->result);
  }
  print_body(t, function->body);
}

static const char *lifted_mark(AstLifted lifted) {
  static const char *const marks[] = {
    [LIFTED_NOT] = "", [LIFTED_SIZES] = "~", [LIFTED_FULLY] = "^"
  };
  return marks[lifted];
}

static void print_type_decl(Text *t, const AstDecl *decl) {
  text_printf(t, "type%s %s", lifted_mark(decl->u.type.lifted), decl->u.type.name);
  print_type_params(t, &decl->u.type.params);
  text_add(t, " = ");
  ast_print_type(t, decl->u.type.type);
}

static void print_spec(Text *t, const AstDecl *decl) {
  text_add(t, "val ");
  print_binder(t, decl->u.spec.name);
  print_type_params(t, &decl->u.spec.params);
  text_add(t, " : ");
  ast_print_type(t, decl->u.spec.type);
}

static void print_decl(Text *t, const AstDecl *decl);

static void print_module_body(Text *t, const AstModExp *exp) {
  text_add(t, "{");
  text_indent(t, 2);
  vec_each (AstDecl *const *, inner, &exp->u.body) {
    text_newline(t);
    print_decl(t, *inner);
  }
  text_indent(t, -2);
  text_newline(t);
  text_add(t, "}");
}

static void print_type_spec(Text *t, const AstSpec *spec) {
  text_printf(t, "type%s %s", lifted_mark(spec->lifted), spec->name);
  print_type_params(t, &spec->params);
  if (!spec->type) return;
  text_add(t, " = ");
  ast_print_type(t, spec->type);
}

static void print_value_spec(Text *t, const AstSpec *spec) {
  text_add(t, "val ");
  print_binder(t, spec->name);
  print_type_params(t, &spec->params);
  text_add(t, " : ");
  ast_print_type(t, spec->type);
}

static void print_member(Text *t, const AstSpec *spec) {
  print_doc(t, spec->doc);
  switch (spec->kind) {
  case SPEC_TYPE: print_type_spec(t, spec); return;
  case SPEC_VALUE: print_value_spec(t, spec); return;
  case SPEC_MODULE: text_printf(t, "module %s : ", spec->name); break;
  case SPEC_INCLUDE: text_add(t, "include "); break;
  }
  print_module_type(t, spec->of);
}

static void print_members(Text *t, const AstModType *type) {
  text_add(t, "{");
  text_indent(t, 2);
  vec_each (AstSpec *, spec, &type->u.specs) {
    text_newline(t);
    print_member(t, spec);
  }
  text_indent(t, -2);
  if (type->u.specs.count) text_newline(t);
  text_add(t, "}");
}

// To the left of an arrow or of `with`.
static void print_module_type_atom(Text *t, const AstModType *type) {
  bool brackets = type->kind == MODTYPE_FUNCTION || type->kind == MODTYPE_WITH;
  if (brackets) text_add(t, "(");
  print_module_type(t, type);
  if (brackets) text_add(t, ")");
}

static void print_module_function_type(Text *t, const AstModType *type) {
  if (type->u.function.param) {
    text_printf(t, "(%s : ", type->u.function.param);
    print_module_type(t, type->u.function.from);
    text_add(t, ")");
  } else {
    print_module_type_atom(t, type->u.function.from);
  }
  text_add(t, " -> ");
  print_module_type(t, type->u.function.to);
}

static void print_refined_module_type(Text *t, const AstModType *type) {
  print_module_type_atom(t, type->u.with.of);
  text_add(t, " with ");
  print_name(t, &type->u.with.name);
  print_type_params(t, &type->u.with.params);
  text_add(t, " = ");
  print_type_term(t, type->u.with.type);
}

void print_module_type(Text *t, const AstModType *type) {
  switch (type->kind) {
  case MODTYPE_NAME: print_name(t, &type->u.name); return;
  case MODTYPE_SPECS: print_members(t, type); return;
  case MODTYPE_FUNCTION: print_module_function_type(t, type); return;
  case MODTYPE_WITH: print_refined_module_type(t, type); return;
  }
}

void print_module_exp(Text *t, const AstModExp *exp, bool atom) {
  bool brackets = atom && exp->kind != MODEXP_NAME && exp->kind != MODEXP_BODY;
  if (brackets) text_add(t, "(");
  switch (exp->kind) {
  case MODEXP_NAME: print_name(t, &exp->u.name); break;
  case MODEXP_BODY: print_module_body(t, exp); break;
  case MODEXP_IMPORT:
    text_add(t, "import ");
    print_string(t, exp->u.path, strlen(exp->u.path));
    break;
  case MODEXP_APPLY:
    print_module_exp(t, exp->u.apply.function, true);
    text_add(t, " ");
    print_module_exp(t, exp->u.apply.arg, true);
    break;
  case MODEXP_ASCRIBE:
    print_module_exp(t, exp->u.ascribe.exp, true);
    text_add(t, " : ");
    print_module_type(t, exp->u.ascribe.type);
    break;
  case MODEXP_FUNCTION:
    text_printf(t, "\\(%s : ", exp->u.function.param);
    print_module_type(t, exp->u.function.type);
    text_add(t, ") -> ");
    print_module_exp(t, exp->u.function.body, false);
    break;
  }
  if (brackets) text_add(t, ")");
}

static void print_module(Text *t, const AstDecl *decl) {
  text_printf(t, "module %s = ", decl->u.module.name);
  print_module_exp(t, decl->u.module.exp, false);
}

static void print_module_type_decl(Text *t, const AstDecl *decl) {
  text_printf(t, "module type %s = ", decl->u.module_type.name);
  print_module_type(t, decl->u.module_type.type);
}

static void print_open(Text *t, const AstDecl *decl) {
  text_add(t, "open ");
  print_module_exp(t, decl->u.open.exp, false);
}

static void print_local(Text *t, const AstDecl *decl) {
  text_add(t, "local ");
  print_decl(t, decl->u.local.decl);
}

static void print_decl_kind(Text *t, const AstDecl *decl) {
  switch (decl->kind) {
  case AST_DECL_VALUE: print_value(t, decl); return;
  case AST_DECL_TYPE: print_type_decl(t, decl); return;
  case AST_DECL_SPEC: print_spec(t, decl); return;
  case AST_DECL_MODULE: print_module(t, decl); return;
  case AST_DECL_MODULE_TYPE: print_module_type_decl(t, decl); return;
  case AST_DECL_OPEN: print_open(t, decl); return;
  case AST_DECL_LOCAL: print_local(t, decl); return;
  }
}

static void print_decl(Text *t, const AstDecl *decl) {
  print_doc(t, decl->doc);
  vec_each (const AstAttr **, attr, &decl->attrs) {
    print_attr(t, *attr);
    text_newline(t);
  }
  print_decl_kind(t, decl);
}

void ast_print_program(Text *t, const AstProgram *program) {
  print_doc(t, program->doc);
  if (program->doc) text_newline(t);
  vec_each (AstDecl **, decl, &program->decls) {
    print_decl(t, *decl);
    text_newline(t);
    text_newline(t);
  }
}
