#include "imp/lower/group.h"

// ---- barriers, memory, sharing of points

void group_barrier(Group *g) {
  imp_add_stm(g->k.b, (ImpStm){ .kind = IMP_BARRIER });
  g->dirty = false;
}

void group_barrier_if_dirty(Group *g) {
  if (g->dirty) group_barrier(g);
}

enum { SHORT_ROW = 8, WORD_BYTES = 4 };

// An odd number of words, at least so many.
static const ImpExp *odd(const ImpExp *words) {
  return words->kind == IMP_CONST ? imp_i64(words->u.constant.u.i | 1)
                                  : imp_op2(OP_OR, words, imp_i64(1));
}

const ImpExp *group_spread_over_banks(const Group *g, Arr *arr) {
  int last = arr->rank - 1;
  bool is_short = last >= 0 && arr->shape[last]->kind == IMP_CONST &&
                  arr->shape[last]->u.constant.u.i < SHORT_ROW;
  if (last < 1 || is_short || g->reshapes || prim_size_bytes(arr->elem) < WORD_BYTES)
    return arr_count(arr);
  const ImpExp **strides = new_array(const ImpExp *, arr->rank);
  const ImpExp *stride = odd(arr->shape[last]);
  strides[last] = imp_i64(1);
  for (int d = last - 1; d >= 0; d--) {
    strides[d] = stride;
    stride = imp_mul(arr->shape[d], stride);
  }
  arr->strides = strides;
  return stride;
}

Arr group_alloc(Group *g, const char *name, CoreType type) {
  const Mem *mem = mem_new(g->k.lower->c, name, MEM_LOCAL, type.elem);
  Arr arr = arr_dense(mem, type.elem, code_shape(type), type.rank);
  const ImpExp *count = group_spread_over_banks(g, &arr);
  for (int i = 0; i < type.rank; i++) {
    bool varies =
        type.dims[i].kind == ATOM_VAR && map_has(g->k.inside, type.dims[i].u.var);
    if (varies && !g->k.lower->failed) {
      limit(g->k.lower->c, g->k.b->loc,
            "an array of a work-group whose size depends on the group");
      g->k.lower->failed = true;
    }
  }
  vec_push(g->k.scratch, (Scratch){ .mem = mem, .count = count });
  map_put(g->k.owned, mem, mem);
  return arr;
}

Arr group_alloc_for(Group *g, const Var *binder) {
  const Arr *wanted = map_get(g->k.wanted, binder);
  return wanted ? *wanted : group_alloc(g, binder->name, binder->type);
}

static const ImpExp *if_active(const Group *g, const ImpExp *count) {
  return g->k.active ? imp_select(g->k.active, count, imp_i64(0)) : count;
}

// j = first + round * step
static void split_points(Group *g, GroupPoints *p, const ImpExp *count,
                         PointOrder order) {
  const ImpExp *id = imp_item(ITEM_LOCAL_ID), *size = imp_item(ITEM_LOCAL_SIZE);
  const ImpExp *round = imp_var(p->round);
  if (order == POINTS_STRIDED) {
    const ImpExp *rest = imp_sub(count, id);
    p->rounds = imp_named(g->k.b, "rounds",
                          if_active(g, imp_max(imp_i64(0), imp_ceil_div(rest, size))));
    p->at = imp_add(id, imp_mul(round, size));
    return;
  }
  const ImpExp *fair = imp_ceil_div(count, size);
  if (order == POINTS_ODD_PIECES) fair = imp_op2(OP_OR, fair, imp_i64(1));
  const ImpExp *piece = imp_named(g->k.b, "piece", fair);
  const ImpExp *first = imp_named(g->k.b, "first", imp_mul(id, piece));
  const ImpExp *rest = imp_max(imp_i64(0), imp_min(piece, imp_sub(count, first)));
  p->rounds = imp_named(g->k.b, "rounds", if_active(g, rest));
  p->at = imp_add(first, round);
}

GroupPoints points_open(Group *g, ImpBuilder *b, const ImpExp *count, PointOrder order) {
  GroupPoints p = { 0 };
  p.round = code_index(&g->k, "round");
  split_points(g, &p, count, order);
  p.item = code_inner(&g->k, b);
  p.item.active = NULL;  // an inactive item has no points
  p.at = imp_let(b, "j", p.at);
  return p;
}

void points_close(Group *g, const GroupPoints *points) {
  imp_for(g->k.b, points->round, points->rounds, points->item.b->block);
}

static ItemPlaces places_begin(Group *g, const ImpExp *const *shape, int rank) {
  ItemPlaces s = { .rank = rank, .shape = shape };
  s.at = new_array(const Var *, rank + 1);
  s.steps = new_array(const ImpExp *, rank + 1);
  if (rank < 2) return s;
  ImpBuilder *b = g->k.b;
  const ImpExp *first = imp_item(ITEM_LOCAL_ID), *step = imp_item(ITEM_LOCAL_SIZE);
  for (int d = rank - 1; d >= 0; d--) {
    const ImpExp *width = imp_max(imp_i64(1), shape[d]);
    s.at[d] = imp_declare(b, "i", d == 0 ? first : imp_rem(first, width));
    s.steps[d] = imp_named(b, "step", d == 0 ? step : imp_rem(step, width));
    if (d == 0) continue;
    first = imp_named(b, "rest", imp_quot(first, width));
    step = imp_named(b, "rest", imp_quot(step, width));
  }
  return s;
}

// The indices of the item's element, number `flat`.
static const ImpExp *const *places_at(const ItemPlaces *s, const ImpExp *flat) {
  const ImpExp **at = new_array(const ImpExp *, s->rank + 1);
  if (s->rank == 1) at[0] = flat;
  for (int d = 0; d < s->rank && s->rank > 1; d++)
    at[d] = imp_var(s->at[d]);
  return at;
}

static void places_advance(const ItemPlaces *s, ImpBuilder *b) {
  const ImpExp *carry = imp_i64(0);
  for (int d = s->rank - 1; d >= 0 && s->rank > 1; d--) {
    const ImpExp *next = imp_add(imp_add(imp_var(s->at[d]), s->steps[d]), carry);
    if (d == 0) {
      imp_assign(b, s->at[d], next);
      return;
    }
    next = imp_let(b, "next", next);
    const ImpExp *wraps = imp_let(b, "wraps", imp_op2(OP_LE, s->shape[d], next));
    imp_assign(b, s->at[d], imp_select(wraps, imp_sub(next, s->shape[d]), next));
    carry = imp_select(wraps, imp_i64(1), imp_i64(0));
  }
}

void group_copy(Group *g, const Arr *to, const Arr *from) {
  if (arr_same(to, from)) return;
  if (to->mem ==
      from->mem) {  // another view of the memory that is written, e.g. its reversal
    const Mem *mem = mem_new(g->k.lower->c, "apart", MEM_LOCAL, to->elem);
    vec_push(g->k.scratch, (Scratch){ .mem = mem, .count = arr_count(to) });
    Arr apart = arr_dense(mem, to->elem, to->shape, to->rank);
    group_copy(g, &apart, from);
    group_copy(g, to, &apart);
    return;
  }
  group_barrier_if_dirty(g);
  ItemPlaces places = places_begin(g, to->shape, to->rank);
  ImpBuilder b;
  GroupPoints p = points_open(g, &b, arr_count(to), POINTS_STRIDED);
  const ImpExp *const *at = places_at(&places, p.at);
  imp_store(&b, to->mem, arr_index(to, at), arr_load(from, arr_index(from, at)));
  places_advance(&places, &b);
  points_close(g, &p);
  group_barrier(g);
}

// Are all widths constant that a point's number is divided by?
static bool divides_by_constants(const SegOp *seg) {
  for (int d = 1; d < seg->dim_count; d++)
    if (seg->dims[d].width.kind != ATOM_CONST) return false;
  return true;
}

GroupPoints space_points_open(Group *g, ImpBuilder *b, const SegOp *seg,
                              ItemPlaces *places) {
  int rank = seg->dim_count;
  const ImpExp *count = space_size(seg->dims, rank);
  if (divides_by_constants(seg)) {
    *places = (ItemPlaces){ 0 };
    GroupPoints p = points_open(g, b, count, POINTS_STRIDED);
    bind_space(&p.item, seg->dims, rank, p.at);
    return p;
  }
  const ImpExp **shape = new_array(const ImpExp *, rank);
  for (int d = 0; d < rank; d++)
    shape[d] = imp_atom(seg->dims[d].width);
  *places = places_begin(g, shape, rank);
  GroupPoints p = points_open(g, b, count, POINTS_STRIDED);
  const ImpExp *const *at = places_at(places, p.at);
  for (int d = 0; d < rank; d++)
    code_bind_scalar(&p.item, seg->dims[d].index, imp_let(b, "i", at[d]));
  return p;
}

void space_points_close(Group *g, GroupPoints *points, const ItemPlaces *places) {
  if (places->at) places_advance(places, points->item.b);
  points_close(g, points);
}

bool group_has_seg(const Exp *exp) {
  if (exp->kind == EXP_SEG) return true;
  BodyVec bodies = exp_bodies(exp);
  vec_each (const Body **, inner, &bodies)
    for (int i = 0; i < (*inner)->stm_count; i++)
      if (group_has_seg((*inner)->stms[i].exp)) return true;
  return false;
}

// ---- control around level-0 code

// binder = value, where the group is active.
static void assign_active(Group *g, const Var *var, const ImpExp *value) {
  if (!g->k.active) {
    imp_assign(g->k.b, var, value);
    return;
  }
  ImpBuilder b = { .c = g->k.lower->c, .loc = g->k.b->loc };
  imp_assign(&b, var, value);
  imp_if(g->k.b, g->k.active, b.block);
}

static const ImpExp *both(const ImpExp *a, const ImpExp *b) {
  return a ? imp_and(a, b) : b;
}

// A branch runs in the same block, under a predicate.
static void group_branch(Group *g, const Stm *stm, const Body *branch,
                         const ImpExp *condition) {
  Group inner = *g;
  inner.k.arrays = map_new(g->k.arrays);
  inner.k.sizes = map_new(g->k.sizes);
  inner.k.owned = map_new(NULL);
  inner.k.wanted = map_new(NULL);
  inner.k.active = imp_let(g->k.b, "active", both(g->k.active, condition));
  const ImpExp **scalars = new_array(const ImpExp *, branch->result_count + 1);
  const Arr **dests = new_array(const Arr *, branch->result_count + 1);
  group_body(&inner, branch, scalars, dests);
  for (int i = 0; i < branch->result_count; i++) {
    if (stm->binders[i]->type.rank == 0)
      assign_active(&inner, stm->binders[i], scalars[i]);
    else
      group_copy(&inner, code_array(&g->k, atom_var(stm->binders[i])), dests[i]);
  }
  g->dirty = true;
}

// A scalar that is assigned where the group is active.  Code without a predicate (`is_view`)
// reads it in any case, and a compiler of OpenCL may conclude from such a read that the group is
// active: hence a value.
static void bind_predicated(Group *g, const Var *binder) {
  code_bind_scalar(&g->k, binder, imp_const(prim_zero(binder->type.elem)));
}

static void group_if(Group *g, const Stm *stm) {
  const Exp *exp = stm->exp;
  for (int i = 0; i < stm->binder_count; i++) {
    if (stm->binders[i]->type.rank == 0)
      bind_predicated(g, stm->binders[i]);
    else
      code_bind(&g->k, stm->binders[i], group_alloc_for(g, stm->binders[i]));
  }
  const ImpExp *condition = imp_atom(exp->u.cond.condition);
  group_branch(g, stm, exp->u.cond.then_body, condition);
  group_branch(g, stm, exp->u.cond.else_body, imp_op1(OP_NOT, condition));
}

static void group_loop_params(Group *g, const Exp *exp) {
  Arr *places = new_array(Arr, exp->u.loop.param_count + 1);
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    const Var *param = exp->u.loop.params[i];
    if (param->type.rank == 0) {
      code_bind_scalar(&g->k, param, imp_atom(exp->u.loop.inits[i]));
      continue;
    }
    places[i] = group_alloc(g, param->name, param->type);
    group_copy(g, &places[i], code_array(&g->k, exp->u.loop.inits[i]));
  }
  for (int i = 0; i < exp->u.loop.param_count; i++)
    if (places[i].mem) code_bind(&g->k, exp->u.loop.params[i], places[i]);
}

static bool in_other_param(Group *g, const Exp *exp, const Mem *mem, int i) {
  for (int j = 0; j < exp->u.loop.param_count; j++) {
    const Var *param = exp->u.loop.params[j];
    if (j != i && param->type.rank > 0 && code_array(&g->k, atom_var(param))->mem == mem)
      return true;
  }
  return false;
}

static void group_next_params(Group *g, const Exp *exp, const ImpExp **scalars,
                              const Arr **made) {
  int count = exp->u.loop.param_count;
  const Var **moved = new_array(const Var *, count + 1);
  for (int i = 0; i < count; i++) {
    const Var *param = exp->u.loop.params[i];
    if (param->type.rank == 0) {
      moved[i] = imp_declare(g->k.b, param->name, scalars[i]);
    } else if (in_other_param(g, exp, made[i]->mem, i)) {
      Arr temporary = group_alloc(g, param->name, param->type);
      group_copy(g, &temporary, made[i]);
      made[i] = mem_copy(&temporary, sizeof temporary);
    }
  }
  // Arrays first: where a view lies may depend on the scalars as they were.
  for (int i = 0; i < count; i++)
    if (!moved[i])
      group_copy(g, code_array(&g->k, atom_var(exp->u.loop.params[i])), made[i]);
  for (int i = 0; i < count; i++)
    if (moved[i]) assign_active(g, exp->u.loop.params[i], imp_var(moved[i]));
}

// The body in a block of its own, with the loop's predicate declared at its start.
static ImpBlock group_loop_body(Group *g, const Exp *exp, const ImpExp *going) {
  ImpBuilder b;
  Group inner = *g;
  inner.k = code_inner(&g->k, &b);
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    const Var *param = exp->u.loop.params[i];
    if (param->type.rank == 0) continue;
    const Mem *mem = code_array(&g->k, atom_var(param))->mem;
    map_put(inner.k.owned, mem, mem);
  }
  inner.dirty = true;
  inner.k.active = imp_let(&b, "active", both(g->k.active, going));
  const ImpExp **scalars = new_array(const ImpExp *, exp->u.loop.param_count + 1);
  const Arr **made = new_array(const Arr *, exp->u.loop.param_count + 1);
  group_body(&inner, exp->u.loop.body, scalars, made);
  group_next_params(&inner, exp, scalars, made);
  return b.block;
}

static void group_for(Group *g, const Exp *exp) {
  map_put(g->k.inside, exp->u.loop.index, exp);
  const ImpExp *bound = imp_atom(exp->u.loop.bound);
  ImpBlock block = group_loop_body(g, exp, imp_less(imp_var(exp->u.loop.index), bound));
  const ImpExp *trips = imp_max(imp_i64(1), bound);
  if (g->k.active) trips = imp_select(g->k.active, trips, imp_i64(1));
  imp_for(g->k.b, exp->u.loop.index, trips, block);
}

static void group_while(Group *g, const Exp *exp) {
  const Var *go = exp->u.loop.params[exp->u.loop.while_param];
  const Var *first = imp_declare(g->k.b, "first", imp_const(prim_bool(true)));
  ImpBlock block = group_loop_body(g, exp, imp_var(go));
  ImpBuilder b = { .c = g->k.lower->c, .loc = g->k.b->loc };
  imp_assign(&b, first, imp_const(prim_bool(false)));
  vec_each (const ImpStm **, stm, &block)
    vec_push(&b.block, *stm);
  const ImpExp *again = both(g->k.active, imp_var(go));
  imp_add_stm(g->k.b, (ImpStm){ .kind = IMP_WHILE,
                                .u.loop_while = { imp_op2(OP_LOR, imp_var(first), again),
                                                  b.block } });
}

static void group_loop(Group *g, const Stm *stm) {
  const Exp *exp = stm->exp;
  group_loop_params(g, exp);
  if (exp->u.loop.form == CORE_FOR)
    group_for(g, exp);
  else
    group_while(g, exp);
  g->dirty = true;
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *param = exp->u.loop.params[i];
    if (param->type.rank == 0)
      code_bind_scalar(&g->k, stm->binders[i], imp_var(param));
    else
      code_bind(&g->k, stm->binders[i], *code_array(&g->k, atom_var(param)));
  }
}

// ---- code that every item runs for itself

static bool is_view(const Stm *stm) {
  switch (stm->exp->kind) {
  case EXP_ATOM:
  case EXP_INDEX:
  case EXP_RESHAPE:
  case EXP_REARRANGE: return stm->binders[0]->type.rank > 0;
  case EXP_ASSERT: return true;
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS: return !exp_may_fail(stm->exp);
  case EXP_UPDATE:
  case EXP_IOTA:
  case EXP_REPLICATE:
  case EXP_CONCAT:
  case EXP_ROTATE:
  case EXP_COPY:
  case EXP_ARRAY:
  case EXP_IF:
  case EXP_LOOP:
  case EXP_CALL:
  case EXP_CHOOSE:
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_SCATTER:
  case EXP_HIST:
  case EXP_FILTER:
  case EXP_SEG:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_GUARD: return false;
  }
  return false;
}

// A place for a result of any size that it may have.
static Arr alloc_result(Group *g, const Stm *stm, const Var *binder) {
  if (stm->exp->kind != EXP_FILTER) return code_alloc(&g->k, binder->name, binder->type);
  CoreType all = type_of_rows(type_row(binder->type), stm->exp->u.soac.width);
  Arr place = code_alloc(&g->k, binder->name, all);
  place.shape = code_shape(binder->type);
  return place;
}

// Names for the results, with places for arrays.
static void declare_results(Group *g, const Stm *stm, const Arr **places) {
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *binder = stm->binders[i];
    if (binder->type.rank == 0) {
      bind_predicated(g, binder);
      continue;
    }
    Arr place = alloc_result(g, stm, binder);
    places[i] = mem_copy(&place, sizeof place);
    code_bind(&g->k, binder, place);
  }
}

// if active { stm }, with the results declared before.  What a filter keeps is copied once it is
// known how much that is.
static void run_if_active(Group *g, const Stm *stm) {
  Atom *results = new_array(Atom, stm->binder_count);
  const Arr **places = new_array(const Arr *, stm->binder_count + 1);
  const Arr **made = new_array(const Arr *, stm->binder_count + 1);
  const ImpExp **scalars = new_array(const ImpExp *, stm->binder_count + 1);
  bool filters = stm->exp->kind == EXP_FILTER;
  declare_results(g, stm, places);
  for (int i = 0; i < stm->binder_count; i++)
    results[i] = atom_var(stm->binders[i]);
  const Body body = { stm, 1, results, stm->binder_count };
  const Body *renamed = core_rename_body(g->k.lower->c, subst_new(), &body);
  ImpBuilder b;
  Code inner = code_inner(&g->k, &b);
  inner.active = NULL;
  seq_body(&inner, renamed, scalars, filters ? made : places);
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i]->type.rank == 0) imp_assign(&b, stm->binders[i], scalars[i]);
  for (int i = 0; i < stm->binder_count; i++)
    if (made[i]) code_copy(&inner, places[i], made[i]);
  imp_if(g->k.b, g->k.active, b.block);
}

// Memory shared by the group must not be overwritten by every item for itself.
static void run_alone(Group *g, const Stm *stm) {
  Map *owned = g->k.owned;
  g->k.owned = map_new(NULL);
  seq_stm(&g->k, stm);
  g->k.owned = owned;
}

static void group_stm(Group *g, const Stm *stm, const Body *body, int position) {
  g->k.b->loc = stm->loc;
  bool inner = group_has_seg(stm->exp);
  if (stm->exp->kind == EXP_SEG)
    group_seg(g, stm, body, position);
  else if (inner && stm->exp->kind == EXP_IF)
    group_if(g, stm);
  else if (inner && stm->exp->kind == EXP_LOOP)
    group_loop(g, stm);
  else if (g->k.active && !is_view(stm))
    run_if_active(g, stm);
  else
    run_alone(g, stm);
  if (!inner) g->dirty = true;
}

void group_body(Group *g, const Body *body, const ImpExp **scalars, const Arr **dests) {
  for (int i = 0; i < body->result_count; i++) {
    Atom result = body->results[i];
    if (result.kind != ATOM_VAR || result.u.var->type.rank == 0 || !dests[i]) continue;
    if (!map_has(g->k.wanted, result.u.var)) map_put(g->k.wanted, result.u.var, dests[i]);
  }
  for (int i = 0; i < body->stm_count; i++)
    group_stm(g, &body->stms[i], body, i);
  for (int i = 0; i < body->result_count; i++) {
    Atom result = body->results[i];
    if (atom_type(result).rank == 0) {
      scalars[i] = imp_atom(result);
      continue;
    }
    const Arr *made = code_array(&g->k, result);
    if (dests[i])
      group_copy(g, dests[i], made);
    else
      dests[i] = made;
  }
}
