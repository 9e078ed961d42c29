// Types and sizes as text, in source syntax with source names.
#include "base/text.h"
#include "source/source.h"
#include "types/check.h"
#include <ctype.h>
#include <string.h>

static void add_type(Text *t, const Type *type, bool atomic);
static void add_size(Text *t, const Size *size, int precedence);

static void add_class(Text *t, TypeClass prims) {
  if (prims == CLASS_ANY || prims & CLASS_STRUCTURE)
    text_add(t, "_");
  else if (!(prims & CLASS_FLOAT))
    text_add(t, "<integer>");
  else if (!(prims & CLASS_INT))
    text_add(t, "<float>");
  else if (prims & (1 << PRIM_BOOL))
    text_add(t, "<scalar>");
  else
    text_add(t, "<number>");
}

static void add_sum(Text *t, const Type *type, bool atomic) {
  if (atomic) text_add(t, "(");
  for (int i = 1; i < type->u.record.count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    const Type *payload = type_resolve(f->type);
    text_printf(t, "%s%s", i > 1 ? " | " : "", f->name);
    for (int j = 0; payload->kind == TYPE_RECORD && j < payload->u.record.count; j++) {
      text_add(t, " ");
      add_type(t, payload->u.record.fields[j].type, true);
    }
  }
  if (atomic) text_add(t, ")");
}

static void add_record(Text *t, const Type *type) {
  bool tuple = type->u.record.is_tuple;
  text_add(t, tuple ? "(" : "{");
  for (int i = 0; i < type->u.record.count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    if (i > 0) text_add(t, ", ");
    if (!tuple) text_printf(t, "%s: ", f->name);
    add_type(t, f->type, false);
  }
  text_add(t, tuple ? ")" : "}");
}

static void add_function(Text *t, const Type *type) {
  const Type *from = type_resolve(type->u.function.from);
  if (type->u.function.param) {
    text_printf(t, "(%s: ", type->u.function.param->name);
    add_type(t, from, false);
    text_add(t, ")");
  } else {
    add_type(t, from, from->kind == TYPE_FUNCTION);
  }
  text_add(t, " -> ");
  if (type->u.function.exist_count > 0) text_add(t, "?");
  for (int i = 0; i < type->u.function.exist_count; i++)
    text_printf(t, "[%s]", type->u.function.exists[i]->name);
  if (type->u.function.exist_count > 0) text_add(t, ".");
  add_type(t, type->u.function.to, false);
}

// A type parameter, or an abstract type with its arguments.
static void add_param(Text *t, const Type *type, bool atomic) {
  bool brackets = atomic && type->args;
  text_printf(t, "%s%s", brackets ? "(" : "", type->u.param->name);
  for (int i = 0; type->args && i < type->args->u.record.count; i++) {
    const Type *arg = type_resolve(type->args->u.record.fields[i].type);
    text_add(t, " ");
    bool size = arg->kind == TYPE_ARRAY &&
                type_resolve(arg->u.array.elem)->kind == TYPE_RECORD &&
                type_resolve(arg->u.array.elem)->u.record.count == 0;
    if (size) text_add(t, "[");
    if (size)
      add_size(t, arg->u.array.size, 0);
    else
      add_type(t, arg, true);
    if (size) text_add(t, "]");
  }
  if (brackets) text_add(t, ")");
}

// `atomic` asks for parentheses around a function or a sum.
static void add_type(Text *t, const Type *type, bool atomic) {
  type = type_resolve(type);
  // Of scalars it says nothing: reductions give `*a`, sums numbers.
  if (type->unique && type->kind != TYPE_PRIM) text_add(t, "*");
  switch (type->kind) {
  case TYPE_PRIM: text_add(t, prim_type_name(type->u.prim)); break;
  case TYPE_RECORD:
    if (type_is_sum(type))
      add_sum(t, type, atomic);
    else
      add_record(t, type);
    break;
  case TYPE_ARRAY:
    text_add(t, "[");
    add_size(t, type->u.array.size, 0);
    text_add(t, "]");
    add_type(t, type->u.array.elem, true);
    break;
  case TYPE_FUNCTION:
    if (atomic) text_add(t, "(");
    add_function(t, type);
    if (atomic) text_add(t, ")");
    break;
  case TYPE_PARAM: add_param(t, type, atomic); break;
  case TYPE_VAR: add_class(t, type->u.var->prims); break;
  }
}

// The operands have the precedences `left` and `right` at least.
static void add_infix(Text *t, const SizeTree *tree, const char *operator, int left,
                      int right) {
  add_size(t, tree->parts[0], left);
  text_printf(t, " %s ", operator);
  add_size(t, tree->parts[1], right);
}

enum { INFIX = 1, APPLICATION = 4 };  // precedences; those of + - * lie between

static void add_call(Text *t, const SizeTree *tree) {
  const char *name = tree->node->u.name.name.name;
  bool operator= tree->count == 2 && !isalnum((unsigned char)name[0]) && name[0] != '_';
  if (operator) {
    add_infix(t, tree, name, APPLICATION, APPLICATION);
    return;
  }
  ast_print_exp(t, tree->node);
  for (int i = 0; i < tree->count; i++) {
    text_add(t, " ");
    add_size(t, tree->parts[i], APPLICATION + 1);
  }
}

static void add_indices(Text *t, const SizeTree *tree) {
  add_size(t, tree->parts[0], APPLICATION + 1);
  for (int i = 1; i < tree->count; i++) {
    text_add(t, i == 1 ? "[" : ", ");
    add_size(t, tree->parts[i], 0);
  }
  text_add(t, "]");
}

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '\''; }

// The part that a word of the text stands for, or -1.  There is a bracket before the text.
static int part_named(const SizeTree *tree, const char *word, size_t length) {
  if (word[-1] == '.') return -1;
  for (int i = 0; i < tree->count; i++)
    if (strlen(tree->names[i]->name) == length &&
        strncmp(tree->names[i]->name, word, length) == 0)
      return i;
  return -1;
}

static void add_word(Text *t, const SizeTree *tree, const char *word, size_t length,
                     bool numbered) {
  int part = part_named(tree, word, length);
  if (part < 0)
    text_printf(t, "%.*s", (int)length, word);
  else if (numbered)
    text_printf(t, "#%d", part);
  else
    add_size(t, tree->parts[part], APPLICATION + 1);
}

// The text of the program, in one line, with the parts in place of the names.
static void add_opaque(Text *t, const SizeTree *tree, bool numbered) {
  Loc loc = tree->node->loc;
  const char *text = loc.file ? loc.file->text : "";
  for (uint32_t at = loc.start, next; loc.file && at < loc.end; at = next) {
    next = at + 1;
    while (is_word(text[at]) && next < loc.end && is_word(text[next]))
      next++;
    if (is_word(text[at]))
      add_word(t, tree, text + at, next - at, numbered);
    else if (!isspace((unsigned char)text[at]))
      text_printf(t, "%c", text[at]);
    else if (!isspace((unsigned char)text[next]))
      text_add(t, " ");
  }
}

const char *size_opaque_text(const SizeTree *tree) {
  Text *t = text_new();
  add_opaque(t, tree, true);
  return text_str(t);
}

static int precedence_of(const SizeTree *tree) {
  switch (tree->op) {
  case SIZE_ADD: return 2;
  case SIZE_SUB: return 2;
  case SIZE_MUL: return 3;
  case SIZE_CALL: {
    const char *name = tree->node->u.name.name.name;
    return isalnum((unsigned char)name[0]) || name[0] == '_' ? APPLICATION : INFIX;
  }
  case SIZE_PROJECT:
  case SIZE_INDEX:
  case SIZE_LITERAL: break;
  case SIZE_OPAQUE: return 0;
  }
  return APPLICATION + 1;
}

static void add_tree(Text *t, const SizeTree *tree, int precedence) {
  int own = precedence_of(tree);
  if (own < precedence) text_add(t, "(");
  switch (tree->op) {
  case SIZE_ADD: add_infix(t, tree, "+", own, own + 1); break;
  case SIZE_SUB: add_infix(t, tree, "-", own, own + 1); break;
  case SIZE_MUL: add_infix(t, tree, "*", own, own + 1); break;
  case SIZE_CALL: add_call(t, tree); break;
  case SIZE_PROJECT:
    add_size(t, tree->parts[0], own);
    text_printf(t, ".%s", tree->node->u.project.field);
    break;
  case SIZE_INDEX: add_indices(t, tree); break;
  case SIZE_LITERAL: ast_print_exp(t, tree->node); break;
  case SIZE_OPAQUE: add_opaque(t, tree, false); break;
  }
  if (own < precedence) text_add(t, ")");
}

static void add_size(Text *t, const Size *size, int precedence) {
  size = size_resolve(size);
  switch (size->kind) {
  case SIZE_CONST: text_add(t, big_text(size->u.constant)); break;
  case SIZE_NAME: text_add(t, size->u.name->name); break;
  case SIZE_EXP:
    if (size->u.exp.tree)
      add_tree(t, size->u.exp.tree, precedence);
    else
      ast_print_exp(t, size->u.exp.exp);
    break;
  case SIZE_VAR:
    // Without a name: [] as a whole, `_` within an expression.
    text_add(t, size->u.var->name ? size->u.var->name : precedence ? "_" : "");
    break;
  case SIZE_ANY: break;
  }
}

const char *type_text(const Type *type) {
  Text *t = text_new();
  add_type(t, type, false);
  return text_format("%s", text_str(t));
}

const char *size_text(const Size *size) {
  Text *t = text_new();
  add_size(t, size, 0);
  return *text_str(t) ? text_format("%s", text_str(t)) : "_";
}
