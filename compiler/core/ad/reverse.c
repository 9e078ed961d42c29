// Reverse mode: a body, then the adjoints of what it reads.
//
//   let y = x * x   let z = f y   in {z}
//     =>  let y = x * x   let z = f y   let y^ = f^ y z^   let x^ = y^ * x + y^ * x
//
// Needs: binders unique.  Keeps: that; the variables of the original.
#include "core/ad/reverse.h"

// ---- scopes

void reverse_enter(Reverse *r, AdScope *s, ScopeKind kind) {
  Loc loc = r->scope->b->loc;
  *s = (AdScope){ .kind = kind,
                  .outer = r->scope,
                  .own = builder_new(r->c, loc),
                  .mark = r->c->next_id,
                  .adjoints = map_new(NULL) };
  s->b = &s->own;
  r->scope = s;
}

void reverse_leave(Reverse *r) { r->scope = r->scope->outer; }

bool reverse_is_outside(const AdScope *s, Atom a) {
  return a.kind == ATOM_CONST || a.u.var->id < s->mark;
}

// The scope in whose points the contributions to outer arrays end up.
static AdScope *map_around(AdScope *s) {
  while (s->kind != SCOPE_MAP)
    s = s->outer;
  return s;
}

void reverse_give_up(AdScope *s) { map_around(s)->irregular = true; }

// ---- adjoints

bool reverse_is_active(const Reverse *r, Atom a) { return ad_is_active(&r->active, a); }

const Atom *reverse_adjoint(const Reverse *r, const Var *var) {
  return map_get(r->scope->adjoints, var);
}

static void set(AdScope *s, const Var *var, Atom adjoint) {
  map_put(s->adjoints, var, mem_copy(&adjoint, sizeof adjoint));
}

static void assign(AdScope *s, const Var *var, Atom adjoint) {
  bool new_here = !map_has(s->adjoints, var);
  if (new_here && reverse_is_outside(s, atom_var(var))) vec_push(&s->touched, var);
  set(s, var, adjoint);
}

static Atom current(Reverse *r, AdScope *s, const Var *var) {
  const Atom *known = map_get(s->adjoints, var);
  if (known) return *known;
  bool outside = reverse_is_outside(s, atom_var(var));
  if (!outside || s->kind == SCOPE_MAP) return ad_zeros(s->b, var->type);
  Atom before = current(r, s->outer, var);
  if (s->kind == SCOPE_BRANCH) return before;
  // So that zeros are made once, outside of all loops.
  assign(s->outer, var, before);
  const Var *param = var_like(r->c, var);
  vec_push(&s->carried, param);
  vec_push(&s->inits, before);
  assign(s, var, atom_var(param));
  return atom_var(param);
}

Atom reverse_current(Reverse *r, const Var *var) { return current(r, r->scope, var); }

void reverse_assign(Reverse *r, const Var *var, Atom adjoint) {
  assign(r->scope, var, adjoint);
}

void reverse_add(Reverse *r, Atom to, Atom adjoint) {
  if (!reverse_is_active(r, to)) return;
  AdScope *s = r->scope;
  const Var *var = to.u.var;
  bool own = s->kind == SCOPE_MAP || !reverse_is_outside(s, to);
  adjoint = ad_fit(s->b, adjoint, var->type);
  if (own && !reverse_adjoint(r, var))
    assign(s, var, adjoint);
  else
    assign(s, var, ad_add(s->b, reverse_current(r, var), adjoint));
}

// The number of the element at the beginning of the part, and the distances between neighbours.
static AdPoints points_of(Reverse *r, const Exp *index, Atom adjoint) {
  Builder *b = r->scope->b;
  const Var *array = index->u.index.array.u.var;
  Atom *strides = new_array(Atom, index->u.index.dim_count);
  Atom weight = atom_i64(1), offset = atom_i64(0);
  int count = 0;
  for (int d = index->u.index.dim_count - 1; d >= 0; d--) {
    const DimIndex *dim = &index->u.index.dims[d];
    offset = size_add(b, offset, size_mul(b, dim->start, weight));
    if (dim->is_slice) strides[count++] = size_mul(b, dim->stride, weight);
    weight = size_mul(b, weight, array->type.dims[d]);
  }
  for (int i = 0; i < count / 2; i++) {
    Atom swapped = strides[i];
    strides[i] = strides[count - 1 - i];
    strides[count - 1 - i] = swapped;
  }
  return (AdPoints){ array, 0, offset, adjoint, strides, reverse_places(r, index) };
}

void reverse_add_at(Reverse *r, const Exp *index, Atom adjoint) {
  Atom array = index->u.index.array;
  if (!reverse_is_active(r, array)) return;
  Builder *b = r->scope->b;
  if (reverse_is_outside(map_around(r->scope), array)) {
    AdPoints points = points_of(r, index, adjoint);
    vec_push(&r->scope->points, points);
    return;
  }
  const DimIndex *dims = index->u.index.dims;
  bool first = r->scope->kind == SCOPE_MAP && !reverse_adjoint(r, array.u.var);
  Atom before = reverse_current(r, array.u.var);
  Atom part = core_let(b, "part", exp_slice(before, dims, index->u.index.checked));
  adjoint = ad_fit(b, adjoint, atom_type(part));
  Atom sum = first ? adjoint : ad_add(b, part, adjoint);
  Atom after = core_let(b, "adjoint", exp_update(before, dims, sum, false));
  reverse_assign(r, array.u.var, after);
}

// ---- statements

static bool any_active(const Reverse *r, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (reverse_is_active(r, atom_var(stm->binders[i]))) return true;
  return false;
}

static Kept go_forward(Reverse *r, const Stm *stm) {
  const Exp *e = stm->exp;
  r->scope->b->loc = stm->loc;
  // While loops that are left only count rounds.
  bool counts = e->kind == EXP_LOOP && e->u.loop.form == CORE_FOR;
  if (counts && any_active(r, stm)) return reverse_keep_loop(r, stm);
  if (e->kind == EXP_FILTER && any_active(r, stm)) return reverse_keep_filter(r, stm);
  core_add_stm(r->scope->b, *stm);
  return (Kept){ 0 };
}

static bool any_adjoint(const Reverse *r, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (reverse_adjoint(r, stm->binders[i])) return true;
  return false;
}

static void go_back(Reverse *r, const Stm *stm, const Kept *kept) {
  if (!any_adjoint(r, stm)) return;
  r->scope->b->loc = stm->loc;
  switch (stm->exp->kind) {
  case EXP_IF:
  case EXP_CHOOSE: reverse_branches(r, stm); return;
  case EXP_LOOP: reverse_loop(r, stm, kept); return;
  case EXP_MAP: reverse_map(r, stm); return;
  case EXP_REDOMAP:
  case EXP_SCANOMAP: reverse_reduction(r, stm); return;
  case EXP_SCATTER: reverse_scatter(r, stm); return;
  case EXP_HIST: reverse_hist(r, stm); return;
  case EXP_FILTER: reverse_filter(r, stm, kept); return;
  case EXP_ASSERT:
    for (int i = 0; i < stm->binder_count; i++) {
      const Atom *adjoint = reverse_adjoint(r, stm->binders[i]);
      if (adjoint) reverse_add(r, stm->exp->u.assert.atoms[i], *adjoint);
    }
    return;
  case EXP_ATOM:
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS:
  case EXP_INDEX:
  case EXP_UPDATE:
  case EXP_IOTA:
  case EXP_REPLICATE:
  case EXP_REARRANGE:
  case EXP_RESHAPE:
  case EXP_CONCAT:
  case EXP_ROTATE:
  case EXP_COPY:
  case EXP_ARRAY: reverse_single(r, stm, *reverse_adjoint(r, stm->binders[0])); return;
  case EXP_CALL: reverse_call(r, stm); return;
  case EXP_SEG:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_GUARD: bug(r->c, stm->loc, "an adjoint of what should not be here");
  }
}

void reverse_body(Reverse *r, const Body *body, const Atom *const *seeds) {
  ad_find_active(&r->active, body);
  body = reverse_expand(r, body);
  ad_find_active(&r->active, body);
  Loc loc = r->scope->b->loc;
  Kept *kept = new_array(Kept, body->stm_count);
  for (int i = 0; i < body->stm_count; i++)
    kept[i] = go_forward(r, &body->stms[i]);
  for (int i = 0; i < body->result_count; i++)
    if (seeds[i]) reverse_add(r, body->results[i], *seeds[i]);
  for (int i = body->stm_count - 1; i >= 0; i--)
    go_back(r, &body->stms[i], &kept[i]);
  r->scope->b->loc = loc;
}

// ---- the whole

void ad_reverse(Builder *b, const AdFunction *f, const Atom *seeds, Atom *adjoints) {
  AdScope top = { .kind = SCOPE_MAP, .b = b, .adjoints = map_new(NULL) };
  Reverse r = { .c = b->c,
                .active = { map_new(NULL), f->ints, f->floats },
                .scope = &top,
                .around = f->around };
  for (int i = 0; i < f->input_count; i++)
    ad_activate(&r.active, f->inputs[i]);
  const Atom **given = new_array(const Atom *, f->body->result_count);
  for (int i = 0; i < f->body->result_count; i++) {
    PrimType elem = atom_type(f->body->results[i]).elem;
    given[i] = ad_carries(&r.active, elem) ? &seeds[i] : NULL;
  }
  reverse_body(&r, f->body, given);
  for (int i = 0; i < f->input_count; i++)
    adjoints[i] = reverse_current(&r, f->inputs[i]);
}
