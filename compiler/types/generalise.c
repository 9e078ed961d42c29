// Schemes: their instances, making them, and the end of a definition, when all is solved.
#include "base/text.h"
#include "types/check.h"

// --- Instances ---

static const Type *fresh_for(Check *k, const Binding *param, Loc loc) {
  const Type *type = param->prims ? type_var_of(k, param->prims, loc) : type_var(k, loc);
  TypeVar *var = type->u.var;
  if (!param->lifted) var->first_order = true;
  if (!param->lifted && !param->size_lifted) var->fixed_size = var->is_element = true;
  return type;
}

const Type *instantiate(Check *k, const Binding *binding, Loc loc, const Inst **inst) {
  static const Inst none = { 0 };
  *inst = &none;
  if (binding->sizes.count == 0 && binding->types.count == 0) return binding->type;
  Inst *made = new (Inst);
  TypeSubst s = { 0 };
  made->sizes = new_array(const Size *, binding->sizes.count);
  made->types = new_array(const Type *, binding->types.count);
  for (int i = 0; i < binding->sizes.count; i++) {
    vec_push(&s.sizes, binding->sizes.at[i]);
    made->sizes[i] = size_var(k, binding->sizes.at[i]->name, loc);
    vec_push(&s.to_sizes, made->sizes[i]);
  }
  for (int i = 0; i < binding->types.count; i++) {
    vec_push(&s.types, binding->types.at[i]);
    made->types[i] = fresh_for(k, binding->types.at[i], loc);
    vec_push(&s.to_types, made->types[i]);
  }
  *inst = made;
  return type_substitute(k, &s, binding->type);
}

// --- Generalisation ---

static void generalise_var(Check *k, Binding *binding, TypeVar *var) {
  if (var->is_error || var->level <= k->level) return;
  if (var->prims || var->fields.count) {
    var->level = k->level;
    return;
  }
  char letter = (char)('a' + binding->types.count % 26);
  Name name = name_of(k->c->names, text_format("%c", letter));
  Binding *param = binding_new(k, BIND_TYPE_PARAM, name, var->loc, NULL);
  param->level = k->level + 1;
  param->lifted = !var->first_order;
  param->size_lifted = !var->fixed_size;
  var->solution = type_of_param(param);
  vec_push(&binding->types, param);
}

static bool has_size(const Binding *binding, Name name) {
  for (int i = 0; i < binding->sizes.count; i++)
    if (binding->sizes.at[i]->name == name) return true;
  return false;
}

// A name that no other size of the scheme has: the wanted one if it is free.
static Name size_name(Check *k, const Binding *binding, Name wanted) {
  static const char *const names[] = { "n", "m", "k", "l" };
  if (wanted && wanted[0] != '?' && !has_size(binding, wanted)) return wanted;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    Name name = name_of(k->c->names, names[i]);
    if (!has_size(binding, name)) return name;
  }
  return name_of(k->c->names, text_format("n%d", binding->sizes.count));
}

static void generalise_size(Check *k, Binding *binding, const Size *size) {
  size = size_resolve(size);
  if (size->kind == SIZE_EXP)
    for (int i = 0; i < size->u.exp.tree->count; i++)
      generalise_size(k, binding, size->u.exp.tree->parts[i]);
  if (size->kind != SIZE_VAR || size->u.var->level <= k->level) return;
  SizeVar *var = size->u.var;
  Name name = size_name(k, binding, var->name);
  Binding *param = binding_new(k, BIND_SIZE, name, var->loc, type_prim(PRIM_I64));
  param->level = k->level + 1;
  var->solution = size_of_binding(param, var->loc);
  vec_push(&binding->sizes, param);
}

static void generalise_type(Check *k, Binding *binding, const Type *type) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_PRIM: break;
  case TYPE_PARAM:
    if (type->args) generalise_type(k, binding, type->args);
    break;
  case TYPE_RECORD:
    for (int i = 0; i < type->u.record.count; i++)
      generalise_type(k, binding, type->u.record.fields[i].type);
    break;
  case TYPE_ARRAY:
    generalise_size(k, binding, type->u.array.size);
    generalise_type(k, binding, type->u.array.elem);
    break;
  case TYPE_FUNCTION:
    generalise_type(k, binding, type->u.function.from);
    generalise_type(k, binding, type->u.function.to);
    break;
  case TYPE_VAR: generalise_var(k, binding, type->u.var); break;
  }
}

// A record of which only some fields are known stays open, and the types of these fields with it.
static void keep_wanted(Check *k) {
  vec_each (TypeVar **, var, &k->vars) {
    if ((*var)->solution || !(*var)->fields.count) continue;
    vec_each (const FieldWant *, want, &(*var)->fields)
      type_lower(k, want->type);
  }
}

// The size that has become the parameter where the function calls itself; NULL: elaboration finds
// it from the arguments.
static const Size *size_at_use(const OwnUse *use, const Binding *param) {
  for (int i = 0; i < use->old.count; i++) {
    const Size *old = size_resolve(use->old.at[i]);
    if (old->kind == SIZE_NAME && old->u.name == param) return use->fresh.at[i];
  }
  return NULL;
}

// Uses of a function within itself have seen the parameters that are written, no others.
static void complete_use(const OwnUse *use, const Binding *b, int sizes, int types) {
  if (b->sizes.count == sizes && b->types.count == types) return;
  const Inst *old = use->exp->u.name.inst;
  Inst *inst = new (Inst);
  inst->sizes = new_array(const Size *, b->sizes.count);
  inst->types = new_array(const Type *, b->types.count);
  for (int i = 0; i < b->sizes.count; i++)
    inst->sizes[i] = i < sizes ? old->sizes[i] : size_at_use(use, b->sizes.at[i]);
  for (int i = 0; i < b->types.count; i++)
    inst->types[i] = i < types ? old->types[i] : type_of_param(b->types.at[i]);
  use->exp->u.name.inst = inst;
}

static void complete_uses(Check *k, const Binding *binding, int sizes, int types) {
  int kept = 0;
  for (int i = 0; i < k->own_uses.count; i++) {
    OwnUse *use = k->own_uses.at[i];
    if (use->binding == binding)
      complete_use(use, binding, sizes, types);
    else
      k->own_uses.at[kept++] = use;
  }
  k->own_uses.count = kept;
}

void generalise(Check *k, Binding *binding) {
  int sizes = binding->sizes.count, types = binding->types.count;  // that are written
  keep_wanted(k);
  generalise_type(k, binding, binding->type);
  if (binding->calls_itself) complete_uses(k, binding, sizes, types);
}

// --- The end of a definition ---

static const Type *default_type(TypeClass prims) {
  static const PrimType order[] = { PRIM_I32, PRIM_F64, PRIM_I64, PRIM_F32 };
  for (int i = 0; i < 4; i++)
    if (prims >> order[i] & 1) return type_prim(order[i]);
  for (int i = 0; i < PRIM_COUNT; i++)
    if (prims >> i & 1) return type_prim((PrimType)i);
  return type_unit();
}

// An open type of which only a field or constructor is known, for good.
static void report_unknown(Check *k, const TypeVar *var) {
  FieldWant want = var->fields.at[0];
  bool sum = want.name[0] == '#';
  error(k->c, want.loc, "the type of the %s `%s` cannot be told",
        sum ? "constructor" : "record with field", want.name);
  hint(k->c,
       sum ? "write the sum type where the value is bound, as in (x : %s | #other)"
           : "write the type where the record is bound, as in (r : {%s: i32})",
       want.name);
}

static void report_compared(Check *k, const TypeVar *var) {
  error(k->c, var->loc, "the type of what `==` compares cannot be told");
  hint(k->c, "write the type where the value is bound, as in (x : i32)");
}

// After other errors, in what the definition uses too, it may be in consequence that something is
// not known.
static bool is_right_so_far(const Check *k) {
  return diag_error_count(k->c) == k->errors && k->type_errors == k->outer_type_errors;
}

static void settle_var(Check *k, TypeVar *var) {
  if (var->solution || var->is_error) return;
  bool compared = var->prims & CLASS_STRUCTURE;
  if (!var->fields.count && !compared) {
    var->solution = default_type(var->prims);
    return;
  }
  if (is_right_so_far(k) && compared)
    report_compared(k, var);
  else if (is_right_so_far(k))
    report_unknown(k, var);
  var->is_error = true;
}

bool size_is_open(const Size *size) {
  size = size_resolve(size);
  if (size->kind != SIZE_EXP) return size->kind == SIZE_VAR;
  for (int i = 0; i < size->u.exp.tree->count; i++)
    if (size_is_open(size->u.exp.tree->parts[i])) return true;
  return false;
}

const Size *size_solve(Check *k, const Size *size) {
  size = size_resolve(size);
  if (size->kind == SIZE_VAR || size_is_open(size))
    return new_node(Size, .kind = SIZE_ANY, .loc = size->loc);
  if (size->kind != SIZE_EXP || size->u.exp.exp) return size;
  // Short ones stay as they are written: n + m = a + (1 + 2) comes to mean n = a, m = 1 + 2; but
  // the characters of two literals are so many.
  const Size *simple = size_simplify(size);
  if (size_is_huge(size) || simple->kind == SIZE_CONST) size = simple;
  if (size->kind != SIZE_EXP) return size;
  Size *solved = mem_copy(size, sizeof *size);
  solved->u.exp.exp = exp_of_size(k, size);
  return solved;
}

const Inst *inst_solve(Check *k, const Binding *binding, const Inst *inst) {
  Inst *solved = new (Inst);
  solved->sizes = new_array(const Size *, binding->sizes.count);
  solved->types = new_array(const Type *, binding->types.count);
  for (int i = 0; i < binding->sizes.count; i++) {
    // NULL already if a copy of the use is solved again, as part of a size.
    const Size *known = inst->sizes ? inst->sizes[i] : NULL;
    const Size *size = known ? size_solve(k, known) : NULL;
    solved->sizes[i] = !size || size->kind == SIZE_ANY ? NULL : size;
  }
  for (int i = 0; i < binding->types.count; i++)
    solved->types[i] = type_solve(k, inst->types[i]);
  return solved;
}

static void solve_exp(Check *k, AstExp *exp) {
  exp->type = type_solve(k, exp->type);
  bool is_name = exp->kind == AST_NAME && exp->u.name.inst && exp->u.name.binding;
  if (is_name && (exp->u.name.inst->sizes || exp->u.name.inst->types))
    exp->u.name.inst = inst_solve(k, exp->u.name.binding, exp->u.name.inst);
  if (exp->kind == AST_ASCRIBE || exp->kind == AST_COERCE)
    exp->u.ascribe.ascribed = type_solve(k, exp->u.ascribe.ascribed);
}

static const Size *settle_size(Check *k, const Size *size) {
  if (size_resolve(size)->kind == SIZE_VAR)
    unify_sizes(k, size_const(0, size->loc), size);
  return size;
}

// What hides behind an abstract type in the arguments of the other constructors may have any size;
// where modules are opaque, sizes that really are open are reported.
static void settle_payload_sizes(Check *k, const AstExp *exp) {
  bool settles = exp->kind == AST_CONSTRUCTOR && k->lib->has_signatures && !k->opaque;
  if (settles && is_right_so_far(k)) type_map_sizes(k, exp->type, settle_size);
}

// The arguments of the other constructors have sizes too.
static void check_payload_sizes(Check *k, const AstExp *exp) {
  if (exp->kind != AST_CONSTRUCTOR || !type_has_any_size(exp->type)) return;
  error(k->c, exp->loc, "the sizes in the type of `#%s` cannot be told: `%s`",
        exp->u.constructor.name, type_text(exp->type));
  hint(k->c, "write the type with its sizes, as in `(#%s ...) : t [n]`",
       exp->u.constructor.name);
}

static bool is_size_missing(const Type *type) {
  type = type_resolve(type);
  if (type->kind != TYPE_FUNCTION) return type_has_any_size(type);
  return is_size_missing(type->u.function.from) || is_size_missing(type->u.function.to);
}

// The first size of the definition that the expression names and that nothing tells, or NULL.
static const Binding *missing_size(const AstExp *exp) {
  if (exp->kind != AST_NAME || !exp->u.name.binding || !exp->u.name.inst) return NULL;
  const Binding *b = exp->u.name.binding;
  for (int i = 0; i < b->sizes.count; i++)
    if (!exp->u.name.inst->sizes[i]) return b->sizes.at[i];
  return NULL;
}

// A size that nothing tells is reported where it is first met, since what follows has it as well.
static void check_sizes_found(Check *k) {
  if (!is_right_so_far(k)) return;
  vec_each (AstExp **, exp, &k->exps) {
    if (!(*exp)->type || !is_size_missing((*exp)->type)) continue;
    const Binding *size = missing_size(*exp);
    if (size)
      error(k->c, (*exp)->loc, "nothing tells the value of the size `%s` of `%s`",
            size->name, (*exp)->u.name.binding->name);
    else
      error(k->c, (*exp)->loc,
            "a size in the type of this expression cannot be told: `%s`",
            type_text((*exp)->type));
    hint(k->c, "write a type with its sizes, as in `e : [n][2]i32`");
    return;
  }
}

static void report_hole(Check *k, const AstExp *exp) {
  if (exp->kind == AST_HOLE)
    warning(k->c, exp->loc, "a hole of type `%s` is to be filled", type_text(exp->type));
}

// After other errors a match may only seem to miss values.
static void check_matches(Check *k) {
  if (!is_right_so_far(k)) return;
  vec_each (AstExp **, exp, &k->exps)
    if ((*exp)->kind == AST_MATCH) check_match_covers(k, *exp);
}

void finish_definition(Check *k, Binding *binding) {
  size_equations_solve(k, 0, true);
  for (int i = 0; i < k->vars.count; i++)
    settle_var(k, k->vars.at[i]);
  if (binding) generalise(k, binding);
  vec_each (AstExp **, exp, &k->exps)
    settle_payload_sizes(k, *exp);
  vec_each (AstExp **, exp, &k->exps)
    solve_exp(k, *exp);
  vec_each (AstExp **, exp, &k->exps) {
    check_literal(k, *exp);
    report_hole(k, *exp);
    check_payload_sizes(k, *exp);
  }
  vec_each (AstPat **, pat, &k->pats)
    (*pat)->type = type_solve(k, (*pat)->type);
  check_sizes_found(k);
  check_matches(k);
  vec_each (Binding **, b, &k->bindings)
    (*b)->type = type_solve(k, (*b)->type);
  if (binding) binding->type = type_solve(k, binding->type);
  k->unknown_count = k->joined.count = 0;
  k->exps.count = k->pats.count = k->bindings.count = k->vars.count = k->equations.count =
      0;
}
