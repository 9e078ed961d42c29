#include "core/map_nest.h"

MapNest nest_new(Compiler *c, int rank) {
  return (MapNest){ .c = c,
                    .rank = rank,
                    .levels = map_new(NULL),
                    .defs = map_new(NULL),
                    .params = map_new(NULL),
                    .done = map_new(NULL) };
}

static int level_of_var(const MapNest *n, Atom a) {
  return a.kind == ATOM_VAR ? (int)(intptr_t)map_get(n->levels, a.u.var) - 1 : -1;
}

bool exp_is_nest(const Exp *e) {
  return e->kind == EXP_MAP || e->kind == EXP_REDOMAP || e->kind == EXP_SCANOMAP;
}

Atom nest_width(const Stm *stm) {
  const Exp *e = stm->exp;
  return e->kind == EXP_REPLICATE ? e->u.replicate.count : e->u.soac.width;
}

static void note_bound(MapNest *n, const Var *var, int level) {
  map_put(n->levels, var, (const void *)((intptr_t)level + 1));
}

static void note_function(MapNest *n, const Soac *soac, int level) {
  for (int i = 0; i < soac->fn.param_count; i++) {
    note_bound(n, soac->fn.params[i], level);
    map_put(n->params, soac->fn.params[i], soac->arrays[i].u.var);
  }
  for (int i = 0; i < soac->fn.body->stm_count; i++) {
    const Stm *stm = &soac->fn.body->stms[i];
    for (int k = 0; k < stm->binder_count; k++) {
      note_bound(n, stm->binders[k], level);
      map_put(n->defs, stm->binders[k], stm);
    }
  }
}

int nest_binder(const Stm *stm, const Var *var) {
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i] == var) return i;
  return -1;
}

bool nest_find(MapNest *n, const Stm *stm, const Var *array) {
  Atom result = atom_var(array);
  for (int level = 0; level < n->rank; level++) {
    n->stms[level] = stm;
    if (level_of_var(n, nest_width(stm)) >= 0) return false;
    if (stm->exp->kind == EXP_REPLICATE) {
      n->result = stm->exp->u.replicate.value;
      return level == n->rank - 1 && level > 0;
    }
    if (!exp_is_nest(stm->exp)) return false;
    const Soac *soac = &stm->exp->u.soac;
    int k = nest_binder(stm, result.u.var);
    if (k < soac_red_count(soac)) return false;
    note_function(n, soac, level);
    result = soac->fn.body->results[k];
    if (level == n->rank - 1) break;
    stm = level_of_var(n, result) == level ? map_get(n->defs, result.u.var) : NULL;
    if (!stm) return false;
  }
  n->result = result;
  return true;
}

// ---- what f reads

static void add_input(MapNest *n, const Var *scalar, NestInput in) {
  in.scalar = scalar;
  if (atom_type(in.array).rank != in.count) n->fails = true;
  vec_push(&n->inputs, in);
}

static bool is_inside(const MapNest *n, CoreType type) {
  for (int d = 0; d < type.rank; d++)
    if (level_of_var(n, type.dims[d]) >= 0) return true;
  return false;
}

static NestInput lifted_input(const Lifted *l) {
  NestInput in = { .array = atom_var(l->arrays[0]), .count = l->level + 1 };
  for (int i = 0; i <= l->level; i++)
    in.levels[i] = i;
  return in;
}

// The maps return it as well; the array of its values, which must be smaller than what the nest
// made before.
static NestInput lift(MapNest *n, const Var *var, int level) {
  vec_each (const Lifted *, known, &n->lifted)
    if (known->var == var) return lifted_input(known);
  Lifted l = { .var = var, .level = level };
  CoreType type = var->type;
  for (int i = level; i >= 0; i--) {
    type = type_of_rows(type, nest_width(n->stms[i]));
    l.arrays[i] = var_new(n->c, var->name, type, var->loc);
  }
  n->fails |= is_inside(n, type) || type.rank >= n->rank;
  vec_push(&n->lifted, l);
  return lifted_input(&l);
}

// The array around the nest of which a parameter of one of its functions is an element or a row.
static NestInput source_of(MapNest *n, const Var *var) {
  int level = level_of_var(n, atom_var(var));
  const Var *array = map_get(n->params, var);
  if (!array) return lift(n, var, level);
  NestInput in = { .array = atom_var(array) };
  if (level_of_var(n, in.array) >= 0) in = source_of(n, array);
  if (in.count < MAX_RANK) in.levels[in.count++] = level;
  return in;
}

static void need_operand(CoreVisitor *v, Atom a) { nest_need(v->state, a); }

static bool is_element(const MapNest *n, const Exp *e) {
  if (e->kind != EXP_INDEX || level_of_var(n, e->u.index.array) >= 0) return false;
  for (int d = 0; d < e->u.index.dim_count; d++)
    if (e->u.index.dims[d].is_slice) return false;
  return true;
}

// Places are computed where they are needed: an array of them hides how they follow each other.
static bool is_place(const Exp *e) {
  return e->kind == EXP_OP && e->u.op.type == PRIM_I64 && exp_is_cheap(e);
}

void nest_need(MapNest *n, Atom a) {
  int level = level_of_var(n, a);
  if (level < 0 || n->fails || map_has(n->done, a.u.var)) return;
  map_put(n->done, a.u.var, a.u.var);
  const Stm *def = map_get(n->defs, a.u.var);
  bool computes = def && (exp_is_scalar(def->exp) || is_element(n, def->exp));
  if (!computes || (level < n->rank - 1 && !is_place(def->exp))) {
    add_input(n, a.u.var, source_of(n, a.u.var));
    return;
  }
  CoreVisitor v = { .atom = need_operand, .state = n };
  core_visit_exp(&v, def->exp);
  vec_push(&n->slice, *def);
  if (n->slice.count > MAX_SLICE) n->fails = true;
}

// ---- f elsewhere

Atom nest_apply(const MapNest *n, Builder *b, const Atom *now) {
  Subst *s = subst_new();
  for (int i = 0; i < n->inputs.count; i++)
    subst_put(s, n->inputs.at[i].scalar, now[i]);
  Body body = { .stms = n->slice.at, .stm_count = n->slice.count };
  body.results = &n->result;
  body.result_count = 1;
  const Body *renamed = core_rename_body(n->c, s, &body);
  core_add_body(b, renamed);
  return renamed->results[0];
}

// The body with the next map of the nest replaced, and more results.
static const Body *lifting_body(const MapNest *n, const Body *old, int level) {
  Builder b = builder_new(n->c, (Loc){ 0 });
  AtomVec results = { 0 };
  for (int i = 0; i < old->stm_count; i++) {
    bool next = level + 1 < n->rank && &old->stms[i] == n->stms[level + 1];
    core_add_stm(&b, next ? nest_with_lifted(n, &old->stms[i], level + 1) : old->stms[i]);
  }
  for (int i = 0; i < old->result_count; i++)
    vec_push(&results, old->results[i]);
  vec_each (const Lifted *, l, &n->lifted)
    if (l->level >= level)
      vec_push(&results, atom_var(l->level == level ? l->var : l->arrays[level + 1]));
  return core_body(&b, results.at, results.count);
}

Stm nest_with_lifted(const MapNest *n, const Stm *old, int level) {
  Stm stm = *old;
  if (stm.exp->kind == EXP_REPLICATE) return stm;
  Exp *e = mem_copy(stm.exp, sizeof *stm.exp);
  VarVec binders = { 0 };
  for (int i = 0; i < stm.binder_count; i++)
    vec_push(&binders, stm.binders[i]);
  vec_each (const Lifted *, l, &n->lifted)
    if (l->level >= level) vec_push(&binders, l->arrays[level]);
  e->u.soac.fn.body = lifting_body(n, e->u.soac.fn.body, level);
  stm.exp = e;
  stm.binders = binders.at;
  stm.binder_count = binders.count;
  return stm;
}
