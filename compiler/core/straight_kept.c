// Loops and operators that stay, on elements of small arrays:
//
//   loop (best: [2]f32 = [p, q]) for i < n do .. in {best'}
//   =>  loop (x = p) (y = q) for i < n do .. in {x', y'}
#include "core/straight.h"

// ---- is there anything to take apart?

typedef struct PartsSearch {
  const Straight *s;
  bool found;
} PartsSearch;

static void see_part(CoreVisitor *v, Atom a) {
  PartsSearch *search = v->state;
  search->found = search->found || straight_known(search->s, a);
}

static void see_made(PartsSearch *search, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    search->found = search->found || straight_is_small(search->s, stm->binders[i]->type);
}

static void see_parts_of(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    see_made(v->state, &body->stms[i]);
  core_visit_body(v, body);
}

bool straight_mentions_parts(const Straight *s, const Stm *stm) {
  PartsSearch search = { .s = s };
  CoreVisitor v = { .atom = see_part, .body = see_parts_of, .state = &search };
  see_made(&search, stm);
  core_visit_exp(&v, stm->exp);
  return search.found;
}

// ---- loops

static const Var *fresh_param(const Straight *s, const Var *param, CoreType type) {
  return var_new(s->c, param->name, type, param->loc);
}

// Parameters for the elements of a small array, or one for another value.
static void add_params(Straight *inner, const Var *param, VarVec *params) {
  AtomVec at = { 0 };
  bool small = straight_is_small(inner, param->type);
  int count = small ? straight_size(param->type, inner->most) : 1;
  CoreType type = small ? type_scalar(param->type.elem) : param->type;
  for (int k = 0; k < count; k++) {
    const Var *part = fresh_param(inner, param, type);
    vec_push(params, part);
    vec_push(&at, atom_var(part));
  }
  straight_bind_parts(inner, &param, 1, at.at);
}

// Sizes that are found out by the loop itself.
static bool has_sizes_of_params(const Exp *loop) {
  for (int i = 0; i < loop->u.loop.param_count; i++) {
    CoreType type = loop->u.loop.params[i]->type;
    for (int d = 0; d < type.rank; d++)
      for (int k = 0; k < loop->u.loop.param_count; k++)
        if (atom_equal(type.dims[d], atom_var(loop->u.loop.params[k]))) return true;
  }
  return false;
}

static const Exp *loop_of_parts(Straight *s, const Exp *loop) {
  Builder b = builder_new(s->c, s->b->loc);
  Straight inner = straight_inner(s, &b);
  AtomVec inits = { 0 }, results = { 0 };
  VarVec params = { 0 };
  Exp *out = mem_copy(loop, sizeof *loop);
  for (int i = 0; i < loop->u.loop.param_count; i++) {
    const Var *param = loop->u.loop.params[i];
    if (i == loop->u.loop.while_param) out->u.loop.while_param = params.count;
    straight_add_parts(s, param->type, loop->u.loop.inits[i], &inits);
    add_params(&inner, param, &params);
  }
  if (loop->u.loop.form == CORE_FOR) {
    out->u.loop.index = var_like(s->c, loop->u.loop.index);
    out->u.loop.bound = straight_whole(s, loop->u.loop.bound);
    straight_bind(&inner, loop->u.loop.index, atom_var(out->u.loop.index));
  }
  straight_body(&inner, loop->u.loop.body);
  for (int i = 0; i < loop->u.loop.param_count; i++)
    straight_add_parts(&inner, loop->u.loop.params[i]->type,
                       loop->u.loop.body->results[i], &results);
  out->u.loop.params = params.at;
  out->u.loop.inits = inits.at;
  out->u.loop.param_count = params.count;
  out->u.loop.body = core_body(&b, results.at, results.count);
  return out;
}

// ---- others

static Atom kept_atom(CoreMapper *m, Atom a) { return straight_whole(m->state, a); }

static const Var *kept_binder(CoreMapper *m, const Var *var) {
  Straight *s = m->state;
  const Var *fresh = fresh_param(s, var, core_map_type(m, var->type));
  straight_bind(s, var, atom_var(fresh));
  return fresh;
}

static const Body *kept_body(CoreMapper *m, const Body *body) {
  Straight *s = m->state;
  Builder b = builder_new(s->c, s->b->loc);
  Straight inner = straight_inner(s, &b);
  AtomVec results = { 0 };
  straight_body(&inner, body);
  for (int i = 0; i < body->result_count; i++)
    vec_push(&results, straight_whole(&inner, body->results[i]));
  return core_body(&b, results.at, results.count);
}

void straight_keep(Straight *s, const Stm *stm) {
  const Exp *e = stm->exp;
  CoreMapper m = {
    .atom = kept_atom, .body = kept_body, .binder = kept_binder, .state = s
  };
  if (e->kind == EXP_LOOP && has_sizes_of_params(e)) *s->budget = -1;
  bool loops = e->kind == EXP_LOOP && *s->budget >= 0;
  const Exp *kept = loops ? loop_of_parts(s, e) : core_map_exp(&m, e);
  if (--*s->budget < 0) return;
  int count = exp_result_count(kept);
  Atom *out = new_array(Atom, count + 1);
  s->b->attrs = stm->attrs;
  core_let_n(s->b, "kept", kept, out);
  s->b->attrs = NULL;
  if (loops) {
    straight_bind_parts(s, stm->binders, stm->binder_count, out);
    return;
  }
  for (int i = 0; i < count; i++)
    straight_bind(s, stm->binders[i], out[i]);
}
