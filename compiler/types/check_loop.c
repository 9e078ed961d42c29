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

// A size of the parameter that is still a variable; `initial` is that of the initial value, `body`
// that of the body's result.
typedef struct LoopSize {
  SizeVar *var;
  const Size *initial, *body;
  int first;  // the first of the sizes that are `var`; it says whether they vary
  bool varies;
} LoopSize;

typedef Vec(LoopSize) LoopSizeVec;

// The place of the first of the sizes that are `var`, or -1.
static int first_of(const LoopSizeVec *open, const SizeVar *var) {
  for (int i = 0; i < open->count; i++)
    if (open->at[i].var == var) return i;
  return -1;
}

static bool note_size(Check *k, LoopSizeVec *open, const Size *param, LoopSize it) {
  param = size_resolve(param);
  if (is_open_loop_size(param)) {
    it.var = param->u.var;
    int first = first_of(open, it.var);
    it.first = first < 0 ? open->count : first;
    vec_push(open, it);
    return true;
  }
  if (size_level(param) > k->level) return true;
  return unify_sizes(k, param, it.initial) && unify_sizes(k, param, it.body);
}

// Compares the sizes that are decided and collects the others.
static bool note_sizes(Check *k, LoopSizeVec *open, const Type *param,
                       const Type *initial, const Type *body) {
  param = type_resolve(param);
  initial = type_resolve(initial);
  body = type_resolve(body);
  // A part that is erroneous, or still open, has no sizes to compare.
  if (param->kind != initial->kind || param->kind != body->kind) return true;
  if (param->kind == TYPE_ARRAY) {
    LoopSize it = { .initial = initial->u.array.size, .body = body->u.array.size };
    return note_size(k, open, param->u.array.size, it) &&
           note_sizes(k, open, param->u.array.elem, initial->u.array.elem,
                      body->u.array.elem);
  }
  if (param->kind != TYPE_RECORD) return true;
  for (int i = 0; i < param->u.record.count; i++)
    if (!note_sizes(k, open, param->u.record.fields[i].type,
                    initial->u.record.fields[i].type, body->u.record.fields[i].type))
      return false;
  return true;
}

// Whether the body's size equals the initial one, if the sizes that do not vary are the initial ones.
static bool keeps(const Check *k, const LoopSizeVec *open, const LoopSize *it) {
  const Size *body = size_resolve(it->body);
  if (body->kind == SIZE_VAR && !body->u.var->loop) return true;
  int other = body->kind == SIZE_VAR ? first_of(open, body->u.var) : -1;
  if (other == it->first) return true;
  if (other >= 0)
    return !open->at[other].varies && size_equal(open->at[other].initial, it->initial);
  return size_level(body) <= k->level && size_equal(body, it->initial);
}

// Finds the greatest set of sizes that all keep their initial values; the others vary.
static void find_varying(const Check *k, LoopSizeVec *open) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < open->count; i++) {
      LoopSize *first = &open->at[open->at[i].first];
      if (first->varies || keeps(k, open, &open->at[i])) continue;
      first->varies = changed = true;
    }
  }
}

static bool decide_size(Check *k, const LoopSizeVec *open, int i) {
  LoopSize *it = &open->at[i];
  if (it->first != i) return unify_sizes(k, open->at[it->first].initial, it->initial);
  if (it->varies) {
    make_varying(k, it->var);
    return true;
  }
  const Size *body = size_resolve(it->body);
  it->var->solution = it->initial;
  return body->kind != SIZE_VAR || body->u.var->loop || unify_sizes(k, it->initial, body);
}

static bool decide(Check *k, const Type *param, const Type *initial, const Type *body) {
  LoopSizeVec open = { 0 };
  if (!note_sizes(k, &open, param, initial, body)) return false;
  find_varying(k, &open);
  for (int i = 0; i < open.count; i++)
    if (!decide_size(k, &open, i)) return false;
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
  if (k->mismatch.kind == MISMATCH_SIZE)
    note(k->c, loc, "sizes `%s` and `%s` can't be shown equal",
         size_text(k->mismatch.expected_size), size_text(k->mismatch.actual_size));
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
