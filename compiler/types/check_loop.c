// Loops.
//
// A size of the loop's parameter is a variable while the body is checked.  Afterwards it is the
// size of the initial value if the body keeps it, and otherwise a size that varies: a name in the
// body, and an unknown size in the result.
#include "types/check.h"

// --- The type of the parameter ---

static const Type *open_sizes(Check *k, const Type *type, Loc loc);

static const Type *open_record(Check *k, const Type *type, Loc loc) {
  int count = type->u.record.count;
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    fields[i] = (TypeField){ f->name, open_sizes(k, f->type, loc) };
  }
  Type *copy = mem_copy(type, sizeof *copy);
  copy->u.record.fields = fields;
  return copy;
}

static const Type *open_sizes(Check *k, const Type *type, Loc loc) {
  type = type_resolve(type);
  if (type->kind == TYPE_RECORD && type->u.record.count > 0)
    return open_record(k, type, loc);
  if (type->kind != TYPE_ARRAY) return type;
  const Size *size = size_var(k, NULL, loc);
  size->u.var->loop = true;
  return type_array_of(size, open_sizes(k, type->u.array.elem, loc));
}

// --- After the body ---

static bool is_open_loop_size(const Size *size) {
  return size->kind == SIZE_VAR && size->u.var->loop;
}

static void make_varying(Check *k, SizeVar *var) {
  Binding *b = binding_new(k, BIND_SIZE, unknown_name(k), var->loc, type_prim(PRIM_I64));
  b->level = k->level + 1;
  var->solution = size_of_binding(b, var->loc);
}

// `param` is a size of the parameter, `initial` that of the initial value, `body` that of the
// body's result.
static bool decide_size(Check *k, const Size *param, const Size *initial,
                        const Size *body) {
  param = size_resolve(param);
  body = size_resolve(body);
  if (!is_open_loop_size(param)) {
    if (size_level(param) > k->level) return true;
    return unify_sizes(k, param, initial) && unify_sizes(k, param, body);
  }
  SizeVar *var = param->u.var;
  bool keeps = param == body || (body->kind == SIZE_VAR && body->u.var == var);
  bool open = body->kind == SIZE_VAR && !body->u.var->loop;
  bool same = size_level(body) <= k->level && size_equal(body, initial);
  if (keeps || same || open) {
    var->solution = initial;
    if (open) return unify_sizes(k, initial, body);
  } else {
    make_varying(k, var);
  }
  return true;
}

static bool decide(Check *k, const Type *param, const Type *initial, const Type *body) {
  param = type_resolve(param);
  initial = type_resolve(initial);
  body = type_resolve(body);
  // A part that is erroneous, or still open, has no sizes to compare.
  if (param->kind != initial->kind || param->kind != body->kind) return true;
  if (param->kind == TYPE_ARRAY)
    return decide_size(k, param->u.array.size, initial->u.array.size,
                       body->u.array.size) &&
           decide(k, param->u.array.elem, initial->u.array.elem, body->u.array.elem);
  if (param->kind != TYPE_RECORD) return true;
  for (int i = 0; i < param->u.record.count; i++)
    if (!decide(k, param->u.record.fields[i].type, initial->u.record.fields[i].type,
                body->u.record.fields[i].type))
      return false;
  return true;
}

static const Size *any_size(Check *k, const Size *size) {
  (void)k;
  return new_node(Size, .kind = SIZE_ANY, .loc = size->loc);
}

// Both types with the structure of the parameter but sizes of their own, so that they can be
// compared position by position.
static bool same_structure(Check *k, const Type *param, const Type *other) {
  return unify(k, type_map_sizes(k, param, any_size), other);
}

static void check_sizes(Check *k, AstExp *exp, const Type *param) {
  const Type *initial = exp->u.loop.init->type, *body = exp->u.loop.body->type;
  Loc loc = exp->u.loop.body->loc;
  k->at = loc;
  Why why = { .kind = WHY_LOOP, .from = exp->u.loop.init->loc };
  if (!same_structure(k, param, body)) {
    expect_type(k, loc, param, body, why);
    return;
  }
  if (type_is_error(param) || type_is_error(initial) || type_is_error(body)) return;
  if (decide(k, param, initial, body)) return;
  error(k->c, loc, "%s has type `%s`, expected `%s`", "the body of the loop",
        type_text(body), type_text(param));
  note(k->c, exp->u.loop.init->loc, "the initial value has type `%s`",
       type_text(initial));
}

// --- The loop ---

static void check_form(Check *k, AstExp *exp) {
  if (exp->u.loop.form == LOOP_WHILE) return;
  const Type *type = infer(k, exp->u.loop.bound);
  const Type *index = exp->u.loop.form == LOOP_FOR ? type_var_of(k, CLASS_INT, exp->loc)
                                                   : type_data_var(k, exp->loc);
  const Type *wanted = exp->u.loop.form == LOOP_FOR
                           ? index
                           : type_array_of(size_var(k, NULL, exp->loc), index);
  expect_type(k, exp->u.loop.bound->loc, wanted, type, (Why){ .kind = WHY_LOOP_FOR });
  exp->u.loop.index->type = index;
}

// The names of the pattern, with sizes that the pattern may fix.
static const Type *check_param(Check *k, AstExp *exp) {
  const Type *initial = exp->u.loop.init->type;
  bind_type_params(k, &exp->u.loop.sizes, NULL);
  const Type *param = open_sizes(k, initial, exp->u.loop.init->loc);
  check_pat(k, exp->u.loop.pat, param);
  check_pat_names(k, exp->u.loop.pat, PAT_PARAM);
  k->at = exp->u.loop.init->loc;
  if (!unify_first_order(k, param)) {
    error(k->c, exp->u.loop.init->loc,
          "a loop parameter cannot be a function (type `%s`)", type_text(initial));
    return type_error(k, exp->loc);
  }
  return param;
}

static void check_body(Check *k, AstExp *exp) {
  if (exp->u.loop.index) {
    check_pat(k, exp->u.loop.index, exp->u.loop.index->type);
    check_pat_names(k, exp->u.loop.index, PAT_PARAM);
  }
  if (exp->u.loop.form == LOOP_WHILE)
    check_exp(k, exp->u.loop.bound, type_prim(PRIM_BOOL), (Why){ .kind = WHY_CONDITION });
  infer(k, exp->u.loop.body);
}

const Type *infer_loop(Check *k, AstExp *exp) {
  infer(k, exp->u.loop.init);
  check_form(k, exp);
  int mark = scope_mark(k);
  k->level++;
  const Type *param = check_param(k, exp);
  k->level++;
  check_body(k, exp);
  k->level -= 2;
  check_sizes(k, exp, param);
  scope_leave(k, mark);
  BindingVec unknowns = { 0 };
  const Type *type = type_close(k, param, &unknowns, exp->loc);
  add_unknowns(exp, &unknowns);
  return type;
}
