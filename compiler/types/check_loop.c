// Loops.
//
// A size of the loop's parameter is a variable while the body is checked.  Afterwards it is the
// size of the initial value if the body keeps it, and otherwise a size that varies: a name in the
// body, and an unknown size in the result.  Which sizes the body keeps is decided for all of them
// together, since the body may exchange arrays: as many as possible are.  Where that depends on
// whether a loop around this one keeps its sizes, it is known after that one (size_join.c).
#include "types/check.h"

// --- The type of the parameter ---

// A variable for a size of the parameter.
typedef struct LoopSizeVar {
  SizeVar *var;
  const Size *initial;  // of the initial value
  const Size *kept;     // what it is if it does not vary
  bool varies;
} LoopSizeVar;

// A place in the type of the parameter, the initial value and the body's result.
typedef struct Place {
  const Size *param, *initial, *body;
} Place;

typedef struct LoopSizes {
  Check *k;
  AstExp *exp;
  Loc loc;
  Vec(LoopSizeVar) sizes;
  Vec(Place) places;
} LoopSizes;

static const Type *open_loop_sizes(LoopSizes *l, const Type *type);

static const Type *open_record(LoopSizes *l, const Type *type) {
  int count = type->u.record.count;
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    fields[i] = (TypeField){ f->name, open_loop_sizes(l, f->type) };
  }
  Type *copy = mem_copy(type, sizeof *copy);
  copy->u.record.fields = fields;
  return copy;
}

static const Type *open_loop_sizes(LoopSizes *l, const Type *type) {
  type = type_resolve(type);
  if (type->kind == TYPE_RECORD && type->u.record.count > 0) return open_record(l, type);
  if (type->kind != TYPE_ARRAY) return type;
  const Size *size = size_var(l->k, NULL, l->loc);
  size->u.var->loop = true;
  size->u.var->initial = type->u.array.size;
  vec_push(&l->sizes, (LoopSizeVar){ .var = size->u.var, .initial = type->u.array.size });
  return type_array_of(size, open_loop_sizes(l, type->u.array.elem));
}

// --- After the body ---

// Open variables of this loop that may still become a name of the body.
static LoopSizeVar *find_open(LoopSizes *l, const Size *size) {
  size = size_resolve(size);
  if (size->kind != SIZE_VAR || size->u.var->level <= l->k->level) return NULL;
  vec_each (LoopSizeVar *, s, &l->sizes)
    if (s->var == size->u.var) return s;
  return NULL;
}

static void add_places(LoopSizes *l, const Type *param, const Type *initial,
                       const Type *body) {
  param = type_resolve(param);
  initial = type_resolve(initial);
  body = type_resolve(body);
  // A part that is erroneous, or still open, has no sizes to compare.
  if (param->kind != initial->kind || param->kind != body->kind) return;
  if (param->kind == TYPE_ARRAY) {
    vec_push(&l->places,
             (Place){ param->u.array.size, initial->u.array.size, body->u.array.size });
    add_places(l, param->u.array.elem, initial->u.array.elem, body->u.array.elem);
  }
  if (param->kind != TYPE_RECORD) return;
  for (int i = 0; i < param->u.record.count; i++)
    add_places(l, param->u.record.fields[i].type, initial->u.record.fields[i].type,
               body->u.record.fields[i].type);
}

static bool is_open_size(const Size *size) {
  return size_resolve(size)->kind == SIZE_VAR;
}

// The body's size at a place, if the sizes that do not vary are those of the initial value.
static const Size *body_size(LoopSizes *l, const Place *place) {
  const LoopSizeVar *size = find_open(l, place->body);
  return size && !size->varies ? size->initial : place->body;
}

static const SizeVar *joined(const Size *size) {
  size = size_resolve(size);
  return size->kind == SIZE_VAR && size->u.var->node ? size->u.var : NULL;
}

static bool keeps(LoopSizes *l, const Place *place) {
  const Size *body = body_size(l, place), *initial = size_resolve(place->initial);
  const SizeVar *branches = joined(body);
  if (branches) {
    Place a = *place, b = *place;
    a.body = branches->branches[0];
    b.body = branches->branches[1];
    return keeps(l, &a) && keeps(l, &b);
  }
  const LoopSizeVar *other = find_open(l, body);
  if (other) return !other->varies;
  if (is_open_size(body) && !size_resolve(body)->u.var->loop) return true;
  return size_level(body) <= l->k->level &&
         (size_unified(body, initial) || size_same_at_first(body, initial));
}

// Starts from the assumption that all sizes are kept, and takes back what is refuted, until
// nothing changes.
static void find_varying(LoopSizes *l) {
  for (bool changed = true; changed;) {
    changed = false;
    vec_each (const Place *, place, &l->places) {
      LoopSizeVar *size = find_open(l, place->param);
      if (!size || size->varies || keeps(l, place)) continue;
      size->varies = changed = true;
    }
  }
}

// `kept`, joined with those sizes of the body of which a loop around this one tells whether they
// are equal to it.
static const Size *join_body(LoopSizes *l, const Size *kept, const Place *place) {
  const Size *body = body_size(l, place);
  const SizeVar *branches = joined(body);
  if (branches) {
    Place a = *place, b = *place;
    a.body = branches->branches[0];
    b.body = branches->branches[1];
    return join_body(l, join_body(l, kept, &a), &b);
  }
  if (find_open(l, body) || size_equal(body, place->initial)) return kept;
  if (!size_same_at_first(body, place->initial)) return kept;
  return size_join(l->k, l->exp, size_resolve(kept), size_resolve(body));
}

static const Size *kept_size(LoopSizes *l, const LoopSizeVar *size) {
  const Size *kept = size->initial;
  vec_each (const Place *, place, &l->places)
    if (find_open(l, place->param) == size) kept = join_body(l, kept, place);
  return kept;
}

static void settle(LoopSizes *l) {
  Check *k = l->k;
  vec_each (LoopSizeVar *, size, &l->sizes)
    if (!size->varies) size->kept = kept_size(l, size);
  vec_each (LoopSizeVar *, size, &l->sizes) {
    if (size->var->solution || size->var->level <= k->level) continue;
    if (!size->varies) {
      size->var->solution = size->kept;
      continue;
    }
    Binding *b =
        binding_new(k, BIND_SIZE, unknown_name(k), size->var->loc, type_prim(PRIM_I64));
    b->level = k->level + 1;
    size->var->solution = size_of_binding(b, size->var->loc);
  }
}

// Sizes that do not vary are those of the initial value and of the body's result; places that
// share one that does vary agree in both.  What is not decided is that of neither.
static bool places_agree(LoopSizes *l) {
  Check *k = l->k;
  vec_each (const Place *, place, &l->places) {
    if (joined(place->param)) continue;
    if (size_level(place->param) <= k->level) {
      if (!unify_sizes(k, place->param, place->initial) ||
          !unify_sizes(k, place->param, place->body))
        return false;
      continue;
    }
    vec_each (const Place *, other, &l->places) {
      if (other == place) break;
      if (!size_equal(place->param, other->param)) continue;
      if (!unify_sizes(k, other->initial, place->initial) ||
          !unify_sizes(k, other->body, place->body))
        return false;
    }
  }
  return true;
}

static bool decide(LoopSizes *l, const Type *param, const Type *initial,
                   const Type *body) {
  add_places(l, param, initial, body);
  find_varying(l);
  settle(l);
  size_join_settle(l->k);
  return places_agree(l);
}

static const Size *any_loop_size(Check *k, const Size *size) {
  (void)k;
  return new_node(Size, .kind = SIZE_ANY, .loc = size->loc);
}

// Both types with the structure of the parameter but sizes of their own, so that they can be
// compared position by position.
static bool same_structure(Check *k, const Type *param, const Type *other) {
  return unify(k, type_map_sizes(k, param, any_loop_size), other);
}

static void check_sizes(LoopSizes *l, AstExp *exp, const Type *param) {
  Check *k = l->k;
  const Type *initial = exp->u.loop.init->type, *body = exp->u.loop.body->type;
  Loc loc = exp->u.loop.body->loc;
  k->at = loc;
  Why why = { .kind = WHY_LOOP, .from = exp->u.loop.init->loc };
  if (!same_structure(k, param, body)) {
    expect_type(k, loc, param, body, why);
    return;
  }
  if (type_is_error(param) || type_is_error(initial) || type_is_error(body)) return;
  if (decide(l, param, initial, body)) return;
  Mismatch m = k->mismatch;
  error(k->c, loc, "the body of the loop has type `%s`, expected `%s`", type_text(body),
        type_text(param));
  note(k->c, exp->u.loop.init->loc, "the initial value has type `%s`",
       type_text(initial));
  explain_mismatch(k, &m, param, body);
}

// --- The loop ---

static void check_form(Check *k, AstExp *exp) {
  if (exp->u.loop.form == LOOP_WHILE) return;
  const Type *type = infer(k, exp->u.loop.bound);
  const Type *index = exp->u.loop.form == LOOP_FOR
                          ? type_var_of(k, CLASS_SIGNED, exp->loc)
                          : type_data_var(k, exp->loc);
  const Type *wanted = exp->u.loop.form == LOOP_FOR
                           ? index
                           : type_array_of(size_var(k, NULL, exp->loc), index);
  expect_type(k, exp->u.loop.bound->loc, wanted, type, (Why){ .kind = WHY_LOOP_FOR });
  exp->u.loop.index->type = index;
}

// The names of the pattern, with sizes that the pattern may fix.
static const Type *check_loop_param(LoopSizes *l, AstExp *exp) {
  Check *k = l->k;
  const Type *initial = exp->u.loop.init->type;
  bind_type_params(k, &exp->u.loop.sizes, NULL);
  k->at = exp->u.loop.init->loc;
  bool data = unify_first_order(k, initial);
  if (!data)
    error(k->c, exp->u.loop.init->loc,
          "a loop parameter cannot be a function (type `%s`)", type_text(initial));
  const Type *param = data ? open_loop_sizes(l, initial) : type_error(k, exp->loc);
  check_pat(k, exp->u.loop.pat, param);
  check_pat_names(k, exp->u.loop.pat, NULL, PAT_PARAM);
  return param;
}

static void check_body(Check *k, AstExp *exp) {
  if (exp->u.loop.index) {
    check_pat(k, exp->u.loop.index, exp->u.loop.index->type);
    check_pat_names(k, exp->u.loop.index, NULL, PAT_PARAM);
  }
  if (exp->u.loop.form == LOOP_WHILE)
    check_exp(k, exp->u.loop.bound, type_prim(PRIM_BOOL), (Why){ .kind = WHY_CONDITION });
  infer(k, exp->u.loop.body);
}

const Type *infer_loop(Check *k, AstExp *exp) {
  if (!exp->u.loop.sizes.count)
    expect_constructors_of_pat(k, exp->u.loop.init, exp->u.loop.pat);
  infer(k, exp->u.loop.init);
  check_form(k, exp);
  int mark = scope_mark(k);
  k->level++;
  LoopSizes l = { .k = k, .exp = exp, .loc = exp->u.loop.init->loc };
  const Type *param = check_loop_param(&l, exp);
  k->level++;
  expect_constructors(k, exp->u.loop.body, param);
  check_body(k, exp);
  check_sizes_told(k, &exp->u.loop.sizes, param);
  k->level -= 2;
  check_sizes(&l, exp, param);
  scope_leave(k, mark);
  BindingVec unknowns = { 0 };
  const Type *type = type_close(k, param, &unknowns, exp->loc);
  add_unknowns(exp, &unknowns);
  return type;
}
