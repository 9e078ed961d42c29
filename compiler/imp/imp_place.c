// Index expressions as multiples of a loop's index: base + stride * (index + shift).
#include "imp/imp_place.h"

// ---- variables

static void see_vars(ImpVars *vars, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (stm->kind == IMP_DECLARE && stm->u.declare.value)
      map_put(vars->values, stm->u.declare.var, stm->u.declare.value);
    if (stm->kind == IMP_ASSIGN) map_put(vars->sets, stm->u.assign.var, stm);
    for (int i = 0; stm->kind == IMP_CALL && i < stm->u.call.var_count; i++)
      map_put(vars->sets, stm->u.call.vars[i], stm);
    if (stm->kind == IMP_ATOMIC && stm->u.atomic.result)
      map_put(vars->sets, stm->u.atomic.result, stm);
    const ImpExp *old = stm->kind == IMP_ATOMIC ? stm->u.atomic.old : NULL;
    if (old && old->kind == IMP_VAR) map_put(vars->sets, old->u.var, stm);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      see_vars(vars, inner[i]);
  }
}

static void drop_value(void *values, const void *var, void *stm) {
  (void)stm;
  map_remove(values, var);
}

ImpVars imp_vars(const ImpBlock *block) {
  ImpVars vars = { map_new(NULL), map_new(NULL) };
  see_vars(&vars, block);
  map_each(vars.sets, drop_value, vars.values);
  return vars;
}

// ---- places

typedef struct PlaceRead {
  const ImpVars *vars;
  const Var *index;
} PlaceRead;

static const ImpExp *value_of(const PlaceRead *r, const ImpExp *e) {
  return e->kind == IMP_VAR ? map_get(r->vars->values, e->u.var) : NULL;
}

static bool mentions_index(const PlaceRead *r, const ImpExp *e) {
  if (e->kind == IMP_VAR && e->u.var == r->index) return true;
  const ImpExp *value = value_of(r, e), *operands[3];
  if (value) return mentions_index(r, value);
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (mentions_index(r, operands[i])) return true;
  return false;
}

// The same in all rounds: nothing of memory, of the index, or of what is assigned.
static bool is_same_in_rounds(const PlaceRead *r, const ImpExp *e) {
  if (e->kind == IMP_VAR) {
    const ImpExp *value = value_of(r, e);
    if (value) return is_same_in_rounds(r, value);
    return e->u.var != r->index && !map_has(r->vars->sets, e->u.var);
  }
  if (e->kind == IMP_CONST || e->kind == IMP_ITEM) return !e->lanes;
  if (e->kind != IMP_OP && e->kind != IMP_SELECT) return false;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (!is_same_in_rounds(r, operands[i])) return false;
  return true;
}

static bool is_number(const ImpExp *e) { return e->kind == IMP_CONST && !e->lanes; }

static const MemPlace nowhere = { .known = false };

static MemPlace place_of(const PlaceRead *r, const ImpExp *e);

static MemPlace place_of_sum(const PlaceRead *r, const ImpExp *e) {
  const ImpExp *a = e->u.op.args[0], *b = e->u.op.args[1];
  bool swapped = e->u.op.op == OP_ADD && !mentions_index(r, a);
  const ImpExp *rest = swapped ? a : b;
  MemPlace place = place_of(r, swapped ? b : a);
  if (!is_same_in_rounds(r, rest)) return nowhere;
  if (is_number(rest) && !place.stride) {
    int64_t by = rest->u.constant.u.i;
    place.shift += e->u.op.op == OP_ADD ? by : -by;
    return place;
  }
  if (e->u.op.op == OP_SUB) return nowhere;
  place.base = place.base ? imp_add(place.base, rest) : rest;
  return place;
}

static MemPlace place_of_product(const PlaceRead *r, const ImpExp *e) {
  const ImpExp *a = e->u.op.args[0], *b = e->u.op.args[1];
  bool swapped = !mentions_index(r, a);
  MemPlace place = place_of(r, swapped ? b : a);
  place.known = place.known && is_same_in_rounds(r, swapped ? a : b) && !place.base &&
                !place.stride;
  place.stride = swapped ? a : b;
  return place;
}

// Of what mentions the index.
static MemPlace place_of(const PlaceRead *r, const ImpExp *e) {
  if (e->kind == IMP_VAR && e->u.var == r->index) return (MemPlace){ .known = true };
  const ImpExp *value = value_of(r, e);
  if (value) return place_of(r, value);
  if (e->kind != IMP_OP || e->lanes || e->type != PRIM_I64) return nowhere;
  if (e->u.op.op == OP_ADD || e->u.op.op == OP_SUB) return place_of_sum(r, e);
  return e->u.op.op == OP_MUL ? place_of_product(r, e) : nowhere;
}

MemPlace imp_place(const ImpVars *vars, const Var *index, const ImpExp *at) {
  PlaceRead r = { vars, index };
  return at->lanes || !mentions_index(&r, at) ? nowhere : place_of(&r, at);
}

// ---- comparing

static bool is_same_exp(const ImpExp *a, const ImpExp *b) {
  const ImpExp *of_a[3], *of_b[3];
  if (!a || !b || a == b) return a == b;
  if (a->kind != b->kind || a->type != b->type || a->lanes || b->lanes) return false;
  if (a->kind == IMP_VAR) return a->u.var == b->u.var;
  if (a->kind == IMP_CONST) return a->u.constant.u.i == b->u.constant.u.i;
  if (a->kind == IMP_ITEM) return a->u.item == b->u.item;
  if (a->kind == IMP_OP && a->u.op.op != b->u.op.op) return false;
  if (a->kind != IMP_OP && a->kind != IMP_SELECT) return false;
  int count = imp_operands(a, of_a);
  imp_operands(b, of_b);
  for (int i = 0; i < count; i++)
    if (!is_same_exp(of_a[i], of_b[i])) return false;
  return true;
}

bool imp_places_match(const MemPlace *a, const MemPlace *b) {
  return a->known && b->known && is_same_exp(a->base, b->base) &&
         is_same_exp(a->stride, b->stride);
}

bool imp_is_own(const Mem *mem) {
  return mem->space == MEM_SCRATCH || mem->space == MEM_PRIVATE;
}
