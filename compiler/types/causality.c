// The order in which unknown sizes come into being: what needs one must come after what makes it.
//
// The operator of a section, and a section that indexes, are there before their operand; an array
// without elements, the constructor of a sum type and a hole before what is evaluated after them.
#include "source/ast_walk.h"
#include "types/check.h"

typedef struct Causality {
  Check *k;
  Map *made;   // the sizes that expressions of the definition make
  Map *known;  // those that have been made
  bool reported;
} Causality;

static void note_made(AstVisitor *v, const AstExp *exp) {
  Causality *c = v->state;
  vec_each (Binding *const *, b, &exp->unknown_sizes)
    map_put(c->made, *b, *b);
  ast_visit_parts(v, exp);
}

static const Binding *unknown_in_size(const Causality *c, const Size *size) {
  if (size->kind == SIZE_NAME && map_has(c->made, size->u.name) &&
      !map_has(c->known, size->u.name))
    return size->u.name;
  if (size->kind != SIZE_EXP) return NULL;
  for (int i = 0; i < size->u.exp.tree->count; i++) {
    const Binding *b = unknown_in_size(c, size_resolve(size->u.exp.tree->parts[i]));
    if (b) return b;
  }
  return NULL;
}

// A size in the type that has not come into being yet, or NULL.
static const Binding *unknown_in(const Causality *c, const Type *type) {
  type = type_resolve(type);
  const Binding *b = NULL;
  if (type->kind == TYPE_ARRAY) {
    b = unknown_in_size(c, size_resolve(type->u.array.size));
    return b ? b : unknown_in(c, type->u.array.elem);
  }
  if (type->kind == TYPE_FUNCTION) {
    b = unknown_in(c, type->u.function.from);
    return b ? b : unknown_in(c, type->u.function.to);
  }
  for (int i = 0; type->kind == TYPE_RECORD && !b && i < type->u.record.count; i++)
    b = unknown_in(c, type->u.record.fields[i].type);
  return b;
}

static void check_known(Causality *c, const AstExp *exp, const Type *type,
                        const char *what) {
  const Binding *size = c->reported || !type ? NULL : unknown_in(c, type);
  if (!size) return;
  c->reported = true;
  error(c->k->c, exp->loc,
        "the type of %s, `%s`, has a size that comes into being later, or in another "
        "branch",
        what, type_text(type));
  note(c->k->c, size->loc, "`%s` is the unknown size of this result", size->name);
  hint(c->k->c, "bind that result with `let` before");
}

static void visit(AstVisitor *v, const AstExp *exp);

static void visit_apply(AstVisitor *v, const AstExp *exp) {
  const AstExpVec *args = &exp->u.apply.args;
  bool in_order = exp->u.apply.is_operator;
  for (int pass = 0; pass < (in_order ? 1 : 2); pass++)
    vec_each (AstExp *const *, arg, args) {
      bool function = (*arg)->type && type_resolve((*arg)->type)->kind == TYPE_FUNCTION;
      if (in_order || function == (pass == 1)) visit(v, *arg);
    }
  visit(v, exp->u.apply.function);
}

static void add_known(void *known, const void *size, void *value) {
  map_put(known, size, value);
}

// What one branch makes is not there in the others, but behind all.
static void visit_branch(AstVisitor *v, const AstExp *branch, Map *behind) {
  Causality *c = v->state;
  Map *before = c->known;
  c->known = map_new(before);
  visit(v, branch);
  map_each(c->known, add_known, behind);
  c->known = before;
}

static void visit_branches(AstVisitor *v, const AstExp *exp) {
  Causality *c = v->state;
  Map *behind = map_new(NULL);
  if (exp->kind == AST_IF) {
    visit(v, exp->u.cond.condition);
    visit_branch(v, exp->u.cond.then_exp, behind);
    visit_branch(v, exp->u.cond.else_exp, behind);
  } else {
    visit(v, exp->u.match.value);
    vec_each (const AstCase *, branch, &exp->u.match.cases)
      visit_branch(v, branch->body, behind);
  }
  map_each(behind, add_known, c->known);
}

static void visit(AstVisitor *v, const AstExp *exp) {
  Causality *c = v->state;
  bool section = exp->kind == AST_SECTION_LEFT || exp->kind == AST_SECTION_RIGHT;
  if (section)
    check_known(c, exp, exp->u.section.op->type, "the operator of this section");
  if (exp->kind == AST_SECTION_INDEX)
    check_known(c, exp, exp->type, "this index section");
  if (exp->kind == AST_ARRAY && !exp->u.array.items.count)
    check_known(c, exp, exp->type, "this array without elements");
  if (exp->kind == AST_HOLE) check_known(c, exp, exp->type, "this hole");
  if (exp->kind == AST_APPLY)
    visit_apply(v, exp);
  else if (exp->kind == AST_IF || exp->kind == AST_MATCH)
    visit_branches(v, exp);
  else
    ast_visit_parts(v, exp);
  if (exp->kind == AST_CONSTRUCTOR) check_known(c, exp, exp->type, "this constructor");
  vec_each (Binding *const *, b, &exp->unknown_sizes)
    map_put(c->known, *b, *b);
}

void check_causality(Check *k, const AstFunction *f) {
  Causality c = { .k = k, .made = map_new(NULL), .known = map_new(NULL) };
  AstVisitor note = { .exp = note_made, .state = &c };
  note_made(&note, f->body);
  AstVisitor visitor = { .exp = visit, .state = &c };
  visit(&visitor, f->body);
}
