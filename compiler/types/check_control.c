// if, match and loop.
#include "types/check.h"

// --- Joining the types of branches ---

// Two sizes that differ, and the one that stands for both.
typedef struct Joined {
  const Size *a, *b, *both;
} Joined;

typedef struct TypeJoin {
  Check *k;
  AstExp *node;
  Vec(Joined) joined;
} TypeJoin;

static const Type *join_types(TypeJoin *j, const Type *a, const Type *b);

// An open size that the other may be taken for.  A size of a loop's parameter may come to vary, and
// one that a function's parameter leaves open is each caller's.
static bool may_bind(const Size *open, const Size *size) {
  if (open->kind != SIZE_VAR) return false;
  const SizeVar *var = open->u.var;
  return !var->loop && !var->apart && !size_has_var(var, size);
}

static bool may_unify(const Size *a, const Size *b) {
  return may_bind(a, b) || may_bind(b, a);
}

static const Size *join_unknown(TypeJoin *j) {
  Binding *fresh =
      binding_new(j->k, BIND_SIZE, unknown_name(j->k), j->node->loc, type_prim(PRIM_I64));
  vec_push(&j->node->unknown_sizes, fresh);
  return size_of_binding(fresh, j->node->loc);
}

// Arrays that have the same size in each branch have it in the result.
static const Size *join_different(TypeJoin *j, const Size *a, const Size *b,
                                  bool at_first) {
  vec_each (const Joined *, known, &j->joined)
    if (size_equal(known->a, a) && size_equal(known->b, b)) return known->both;
  const Size *both = at_first ? size_join(j->k, j->node, a, b) : join_unknown(j);
  vec_push(&j->joined, (Joined){ a, b, both });
  return both;
}

// Sizes that are equal, or known only inside of one branch, or different.
static const Size *join_sizes(TypeJoin *j, const Size *a, const Size *b) {
  Check *k = j->k;
  a = size_resolve(a);
  b = size_resolve(b);
  bool inside = size_level(a) > k->level || size_level(b) > k->level;
  if (a == b || (!inside && size_equal(a, b))) return a;
  bool at_first = !inside && size_same_at_first(a, b);
  if (!inside && !at_first && may_unify(a, b) && unify_sizes(k, a, b)) return a;
  return join_different(j, a, b, at_first);
}

static const Type *join_records(TypeJoin *j, const Type *a, const Type *b) {
  int count = a->u.record.count;
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++) {
    if (a->u.record.fields[i].name != b->u.record.fields[i].name) return NULL;
    const Type *t = join_types(j, a->u.record.fields[i].type, b->u.record.fields[i].type);
    if (!t) return NULL;
    fields[i] = (TypeField){ a->u.record.fields[i].name, t };
  }
  if (count == 0) return type_unit();
  Type *type = mem_copy(a, sizeof *a);
  type->u.record.fields = fields;
  return type;
}

static bool is_open_sum(const Type *type) {
  return type->kind == TYPE_VAR && type->u.var->fields.count &&
         type->u.var->fields.at[0].name[0] == '#';
}

// NULL if they have no type in common.
static const Type *join_types(TypeJoin *j, const Type *a, const Type *b) {
  a = type_resolve(a);
  b = type_resolve(b);
  if (a == b) return a;
  if (is_open_sum(a) && type_is_sum(b))
    return tell_sum(j->k, a, b) ? join_types(j, a, b) : NULL;
  if (is_open_sum(b) && type_is_sum(a))
    return tell_sum(j->k, b, a) ? join_types(j, a, b) : NULL;
  if (a->kind == TYPE_ARRAY && b->kind == TYPE_ARRAY) {
    const Type *elem = join_types(j, a->u.array.elem, b->u.array.elem);
    return elem ? type_array_of(join_sizes(j, a->u.array.size, b->u.array.size), elem)
                : NULL;
  }
  if (a->kind == TYPE_RECORD && b->kind == TYPE_RECORD &&
      a->u.record.count == b->u.record.count)
    return join_records(j, a, b);
  return unify(j->k, a, b) ? a : NULL;
}

const Type *join(Check *k, AstExp *node, const Type *a, const Type *b) {
  TypeJoin j = { .k = k, .node = node };
  return join_types(&j, a, b);
}

static bool add_case(Check *k, AstExp *node, const AstExp *body, const Type **type,
                     Why why) {
  k->at = body->loc;
  const Type *both = join(k, node, *type, body->type);
  // Reported by another attempt, which fails in the same way.
  if (!both) return expect_type(k, body->loc, *type, body->type, why);
  *type = both;
  return true;
}

static const Type *leave_branches(Check *k, AstExp *exp, const Type *type,
                                  const char *what) {
  BindingVec unknowns = { 0 };
  type = type_close(k, type, &unknowns, exp->loc);
  add_unknowns(exp, &unknowns);
  k->at = exp->loc;
  if (unify_first_order(k, type)) return type;
  error(k->c, exp->loc, "the result of %s cannot be a function (type `%s`)", what,
        type_text(type));
  hint(k->c, "choose between what the functions make: `if c then f x else g x`");
  return type_error(k, exp->loc);
}

static void infer_inside(Check *k, AstExp *exp) {
  k->level++;
  infer(k, exp);
  k->level--;
}

// if c then a else b: both of one type; sizes that differ become unknown
const Type *infer_if(Check *k, AstExp *exp) {
  check_exp(k, exp->u.cond.condition, type_prim(PRIM_BOOL),
            (Why){ .kind = WHY_CONDITION });
  infer_inside(k, exp->u.cond.then_exp);
  infer_inside(k, exp->u.cond.else_exp);
  const Type *type = exp->u.cond.then_exp->type;
  add_case(k, exp, exp->u.cond.else_exp, &type,
           (Why){ .kind = WHY_BRANCH, .from = exp->u.cond.then_exp->loc });
  return leave_branches(k, exp, type, "`if`");
}

static void infer_case(Check *k, AstCase *c, const Type *value) {
  int mark = scope_mark(k);
  k->level++;
  check_pat(k, c->pat, value);
  check_pat_names(k, c->pat, NULL, PAT_CASE);
  infer(k, c->body);
  k->level--;
  scope_leave(k, mark);
}

const Type *infer_match(Check *k, AstExp *exp) {
  const Type *value = infer(k, exp->u.match.value), *type = NULL;
  bool fits = true;
  for (int i = 0; i < exp->u.match.cases.count; i++) {
    AstCase *c = &exp->u.match.cases.at[i];
    infer_case(k, c, value);
    Why why = { .kind = WHY_CASE,
                .index = i + 1,
                .from = exp->u.match.cases.at[0].body->loc };
    if (!type)
      type = c->body->type;
    else if (fits)
      fits = add_case(k, exp, c->body, &type, why);
  }
  return leave_branches(k, exp, type ? type : type_error(k, exp->loc), "`match`");
}
