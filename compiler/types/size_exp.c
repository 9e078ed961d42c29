// Sizes as expressions: reading them from expressions, and writing them back.
//
// Addition, subtraction and multiplication are understood; all else is equal to what is written
// alike.  `length xs` is the size of xs.
#include "source/ast_walk.h"
#include "types/check.h"
#include <string.h>

// --- From expressions ---

// The operators, those of the module i64 as well.
static SizeOp operator_of(const Check *k, const Binding *function) {
  bool built_in = function->loc.file && function->loc.file->built_in;
  for (int op = SIZE_ADD; built_in && op <= SIZE_MUL; op++)
    if (function->name == k->lib->size_ops[op]->name) return (SizeOp)op;
  return SIZE_CALL;
}

static bool is_length(const Binding *function) {
  return strcmp(function->name, "length") == 0 && function->loc.file &&
         function->loc.file->built_in;
}

// NULL unless all are operands.
static const Size **operands(Check *k, AstExp *const *exps, int count) {
  const Size **parts = new_array(const Size *, count);
  for (int i = 0; i < count; i++)
    if (!(parts[i] = size_operand(k, exps[i]))) return NULL;
  return parts;
}

static bool is_i64_exp(const AstExp *exp) {
  const Type *type = exp->type ? type_resolve(exp->type) : NULL;
  return type && type->kind == TYPE_PRIM && type->u.prim == PRIM_I64;
}

// A call on local functions would outlive them; top-level ones stay meaningful.
static const Size *size_of_apply(Check *k, const AstExp *exp) {
  const AstExp *f = exp->u.apply.function;
  int count = exp->u.apply.args.count;
  if (f->kind != AST_NAME || !f->u.name.binding || !f->u.name.binding->is_top)
    return NULL;
  if (count == 1 && is_length(f->u.name.binding)) {
    const Type *array = type_resolve(exp->u.apply.args.at[0]->type);
    if (array->kind == TYPE_ARRAY) return array->u.array.size;
  }
  const Size **parts = operands(k, exp->u.apply.args.at, count);
  if (!parts) return NULL;
  SizeOp op =
      is_i64_exp(exp) && count == 2 ? operator_of(k, f->u.name.binding) : SIZE_CALL;
  return size_tree(op, op == SIZE_CALL ? f : NULL, count, parts);
}

static const Size *size_of_index(Check *k, const AstExp *exp) {
  int count = 1 + exp->u.index.dims.count;
  AstExp **exps = new_array(AstExp *, count);
  exps[0] = exp->u.index.array;
  for (int i = 1; i < count; i++) {
    const AstDim *dim = &exp->u.index.dims.at[i - 1];
    if (dim->is_slice) return NULL;
    exps[i] = dim->index;
  }
  const Size **parts = operands(k, exps, count);
  return parts ? size_tree(SIZE_INDEX, exp, count, parts) : NULL;
}

static const Size *size_of_name(const AstExp *exp) {
  const Binding *b = exp->u.name.binding;
  if (!b || b->kind == BIND_INTRINSIC || !exp->type) return NULL;
  // The use of a function that is defined stands for one of its instances.
  if (type_resolve(exp->type)->kind == TYPE_FUNCTION && b->kind != BIND_VALUE)
    return NULL;
  return size_of_binding(b, exp->loc);
}

static const Size *size_of_integer(const AstExp *exp) {
  return new_node(Size, .kind = SIZE_CONST, .loc = exp->loc,
                  .u.constant = literal_value(exp));
}

const Size *size_operand(Check *k, const AstExp *exp) {
  if (exp->kind == AST_NAME) return size_of_name(exp);
  if (exp->kind == AST_APPLY) return size_of_apply(k, exp);
  if (exp->kind == AST_INDEX) return size_of_index(k, exp);
  if (exp->kind == AST_ASCRIBE) return size_operand(k, exp->u.ascribe.exp);
  if (exp->kind == AST_ATTR) return size_operand(k, exp->u.attr.exp);
  if (exp->kind == AST_ASSERT) return size_operand(k, exp->u.assert.exp);
  if (exp->kind == AST_PROJECT) {
    const Size **parts = operands(k, &exp->u.project.record, 1);
    return parts ? size_tree(SIZE_PROJECT, exp, 1, parts) : NULL;
  }
  if (exp->kind == AST_INT && is_i64_exp(exp)) return size_of_integer(exp);
  bool literal = exp->kind == AST_INT || exp->kind == AST_FLOAT || exp->kind == AST_BOOL;
  return literal ? size_tree(SIZE_LITERAL, exp, 0, NULL) : NULL;
}

const Size *size_of_exp(Check *k, const AstExp *exp) {
  if (exp->kind == AST_INT) return size_of_integer(exp);
  return is_i64_exp(exp) ? size_operand(k, exp) : NULL;
}

// The names in an expression that were bound outside of it, each once.
typedef struct FreeNames {
  int level;
  BindingVec names;
  bool
      polymorphic;  // a function is used at a type of the enclosing definition's parameters
} FreeNames;

static bool is_new(const BindingVec *names, const Binding *binding) {
  vec_each (Binding *const *, b, names)
    if (*b == binding) return false;
  return true;
}

static void add_free_name(AstVisitor *v, const AstExp *exp) {
  FreeNames *free = v->state;
  Binding *b = exp->kind == AST_NAME ? exp->u.name.binding : NULL;
  if (b && exp->u.name.inst && b->types.count && b->kind != BIND_INTRINSIC)
    free->polymorphic = true;
  bool inner = !b || b->is_top || b->kind == BIND_INTRINSIC || b->level > free->level;
  if (!inner && is_new(&free->names, b)) vec_push(&free->names, b);
  ast_visit_parts(v, exp);
}

const Size *size_opaque(Check *k, const AstExp *exp) {
  FreeNames free = { .level = k->level };
  AstVisitor visitor = { .exp = add_free_name, .state = &free };
  add_free_name(&visitor, exp);
  if (free.polymorphic) return NULL;
  const Size **parts = new_array(const Size *, free.names.count);
  for (int i = 0; i < free.names.count; i++)
    parts[i] = size_of_binding(free.names.at[i], exp->loc);
  const SizeTree *tree = new_node(SizeTree, .op = SIZE_OPAQUE, .node = exp,
                                  .count = free.names.count, .names = free.names.at);
  return size_rebuild(tree, parts);
}

// --- To expressions ---

static AstExp *size_exp(AstExpKind kind, Loc loc) {
  return new_node(AstExp, .kind = kind, .loc = loc, .type = type_prim(PRIM_I64));
}

static AstExp *exp_of_name(Check *k, Binding *binding, Loc loc) {
  static const Inst none = { 0 };
  AstExp *exp = size_exp(AST_NAME, loc);
  exp->u.name.name = (AstName){ .loc = loc, .name = binding->name };
  exp->u.name.binding = binding;
  exp->u.name.inst = &none;
  if (binding->kind == BIND_VALUE && binding->type)
    exp->type = type_solve(k, binding->type);
  return exp;
}

static AstExp *exp_of_operator(Check *k, SizeOp op, Loc loc) {
  AstExp *exp = exp_of_name(k, k->lib->size_ops[op], loc);
  Inst *inst = new (Inst);
  inst->types = new_array(const Type *, 1);
  inst->types[0] = type_prim(PRIM_I64);
  exp->u.name.inst = inst;
  const Type *i64 = type_prim(PRIM_I64);
  exp->type = type_function(NULL, i64, type_function(NULL, i64, i64));
  return exp;
}

// A copy of a node of the tree, which may not have its solved type yet.
static AstExp *copy_node(Check *k, const AstExp *node) {
  AstExp *copy = mem_copy(node, sizeof *copy);
  copy->type = type_solve(k, node->type);
  bool scheme = copy->kind == AST_NAME && copy->u.name.inst &&
                (copy->u.name.inst->sizes || copy->u.name.inst->types);
  if (scheme) copy->u.name.inst = inst_solve(k, copy->u.name.binding, copy->u.name.inst);
  return copy;
}

static AstExp *exp_of_apply(Check *k, const SizeTree *tree, Loc loc) {
  AstExp *exp = size_exp(AST_APPLY, loc);
  exp->u.apply.is_operator = tree->op != SIZE_CALL;
  exp->u.apply.function = tree->op == SIZE_CALL ? copy_node(k, tree->node)
                                                : exp_of_operator(k, tree->op, loc);
  const Type *type = exp->u.apply.function->type;
  for (int i = 0; i < tree->count; i++) {
    vec_push(&exp->u.apply.args, exp_of_size(k, tree->parts[i]));
    if (type->kind == TYPE_FUNCTION) type = type->u.function.to;
  }
  exp->type = type;
  return exp;
}

static AstExp *exp_of_index(Check *k, const SizeTree *tree) {
  AstExp *exp = copy_node(k, tree->node);
  exp->u.index.array = exp_of_size(k, tree->parts[0]);
  AstDimVec dims = { 0 };
  for (int i = 1; i < tree->count; i++) {
    AstDim dim = exp->u.index.dims.at[i - 1];
    dim.index = exp_of_size(k, tree->parts[i]);
    vec_push(&dims, dim);
  }
  exp->u.index.dims = dims;
  return exp;
}

static AstExp *exp_of_project(Check *k, const SizeTree *tree) {
  AstExp *exp = copy_node(k, tree->node);
  exp->u.project.record = exp_of_size(k, tree->parts[0]);
  return exp;
}

// let name = part in body
static AstExp *bind_part(Check *k, Binding *name, const Size *part, AstExp *body) {
  AstPat *pat = new_node(AstPat, .kind = AST_PAT_NAME, .loc = body->loc);
  pat->u.name.name = name->name;
  pat->u.name.binding = name;
  pat->type = type_solve(k, name->type);
  AstExp *let = new_node(AstExp, .kind = AST_LET, .loc = body->loc, .type = body->type);
  let->u.let.pat = pat;
  let->u.let.value = exp_of_size(k, part);
  let->u.let.body = body;
  return let;
}

static AstExp *exp_of_opaque(Check *k, const SizeTree *tree) {
  AstExp *exp = copy_node(k, tree->node);
  for (int i = 0; i < tree->count; i++) {
    const Size *part = size_resolve(tree->parts[i]);
    bool same = part->kind == SIZE_NAME && part->u.name == tree->names[i];
    if (!same) exp = bind_part(k, tree->names[i], part, exp);
  }
  return exp;
}

static AstExp *exp_of_tree(Check *k, const SizeTree *tree, Loc loc) {
  switch (tree->op) {
  case SIZE_ADD: return exp_of_apply(k, tree, loc);
  case SIZE_SUB: return exp_of_apply(k, tree, loc);
  case SIZE_MUL: return exp_of_apply(k, tree, loc);
  case SIZE_CALL: return exp_of_apply(k, tree, loc);
  case SIZE_PROJECT: return exp_of_project(k, tree);
  case SIZE_INDEX: return exp_of_index(k, tree);
  case SIZE_LITERAL: return copy_node(k, tree->node);
  case SIZE_OPAQUE: return exp_of_opaque(k, tree);
  }
  bug(k->c, loc, "a size of unknown form");
}

AstExp *exp_of_size(Check *k, const Size *size) {
  size = size_resolve(size);
  if (size->kind == SIZE_EXP) return exp_of_tree(k, size->u.exp.tree, size->loc);
  if (size->kind == SIZE_NAME) {
    // The tree refers to binders that it may mark as used, so their type is not const.
    Binding *binding = NULL;
    memcpy(&binding, &size->u.name, sizeof binding);
    return exp_of_name(k, binding, size->loc);
  }
  AstExp *exp = size_exp(AST_INT, size->loc);
  exp->u.integer.value = size->kind == SIZE_CONST ? size->u.constant : big_of(0);
  exp->u.integer.has_suffix = true;
  exp->u.integer.suffix = PRIM_I64;
  return exp;
}
