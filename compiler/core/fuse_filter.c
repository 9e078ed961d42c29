// let (k, ys) = filter n p xs in redomap k op f ys z
//       =>  redomap n op (\x -> let (keep, y) = p x in if keep then f y else z) xs z
//
// If nobody else reads ys; who wants to know how many there are may still ask.
// Why: what is only summed up need not be stored, nor its places found.
#include "core/fuse.h"

// What overwrites nothing, so that what is read before it may be read after it.
static const ExpKind harmless[] = {
  EXP_ATOM,    EXP_OP,        EXP_CONVERT,   EXP_BITS,    EXP_INDEX,
  EXP_IOTA,    EXP_REPLICATE, EXP_REARRANGE, EXP_RESHAPE, EXP_MAP,
  EXP_REDOMAP, EXP_SCANOMAP,  EXP_FILTER,    EXP_ASSERT,
};

static bool overwrites_nothing(const Stm *stm) {
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (stm->exp->kind == harmless[i]) return true;
  return false;
}

static bool is_among(const Var *var, const Var *const *vars, int count) {
  for (int i = 0; i < count; i++)
    if (vars[i] == var) return true;
  return false;
}

// Does the redomap read nothing but what the filter keeps, and store nothing?
static bool sums_up(const Stm *filter, const Stm *stm) {
  if (stm->exp->kind != EXP_REDOMAP) return false;
  const Soac *soac = &stm->exp->u.soac;
  if (soac->width.kind != ATOM_VAR || soac->width.u.var != filter->binders[0] ||
      soac->fn.body->result_count != soac_red_count(soac))
    return false;
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i]->type.rank > 0) return false;
  for (int i = 0; i < soac->array_count; i++)
    if (soac->arrays[i].kind != ATOM_VAR ||
        !is_among(soac->arrays[i].u.var, filter->binders + 1, filter->binder_count - 1))
      return false;
  return true;
}

static bool mentions_kept(const Stm *filter, const VarVec *free) {
  vec_each (const Var *const *, var, free)
    if (is_among(*var, filter->binders + 1, filter->binder_count - 1)) return true;
  return false;
}

// The one statement that reads what the filter at `position` keeps, if it sums that up; NULL: none.
static const Stm *only_reader(const Body *body, int position) {
  const Stm *filter = &body->stms[position], *reader = NULL;
  bool safe = true;
  for (int i = 0; i < body->result_count; i++)
    if (body->results[i].kind == ATOM_VAR &&
        is_among(body->results[i].u.var, filter->binders, filter->binder_count))
      return NULL;
  for (int i = position + 1; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    VarVec free = core_free_exp(stm->exp);
    if (mentions_kept(filter, &free)) {
      if (reader || !safe || !sums_up(filter, stm)) return NULL;
      reader = stm;
    }
    safe = safe && overwrites_nothing(stm);
  }
  return reader;
}

static const Body *neutral_values(Compiler *c, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  Builder b = builder_new(c, stm->loc);
  Atom *values = new_array(Atom, stm->binder_count + 1);
  for (int o = 0, next = 0; o < soac->op_count; o++)
    for (int k = 0; k < soac->ops[o].count; k++)
      values[next++] = soac->ops[o].neutral[k];
  return core_body(&b, values, stm->binder_count);
}

// What the redomap makes of values that the filter's function has just returned.
static const Body *summand(Compiler *c, const Stm *filter, const Stm *stm,
                           const Atom *made) {
  const Soac *soac = &stm->exp->u.soac;
  Subst *s = subst_new();
  for (int i = 0; i < soac->array_count; i++)
    for (int k = 1; k < filter->binder_count; k++)
      if (soac->arrays[i].u.var == filter->binders[k])
        subst_put(s, soac->fn.params[i], made[k]);
  return core_rename_body(c, s, soac->fn.body);
}

static const Exp *sum_of_kept(Compiler *c, const Stm *filter, const Stm *stm) {
  Soac sum = stm->exp->u.soac;
  const Soac *from = &filter->exp->u.soac;
  Lambda fn = core_rename_lambda(c, subst_new(), from->fn);
  Builder b = builder_new(c, stm->loc);
  core_add_body(&b, fn.body);
  const Exp *choice =
      exp_if(fn.body->results[0], summand(c, filter, stm, fn.body->results),
             neutral_values(c, stm));
  Atom *results = new_array(Atom, stm->binder_count + 1);
  core_let_n(&b, "kept", choice, results);
  sum.width = from->width;
  sum.arrays = from->arrays;
  sum.array_count = from->array_count;
  sum.fn =
      lambda_new(fn.params, fn.param_count, core_body(&b, results, stm->binder_count));
  return exp_soac(EXP_REDOMAP, sum);
}

const Body *fuse_filters(Compiler *c, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    if (body->stms[i].exp->kind != EXP_FILTER) continue;
    const Stm *reader = only_reader(body, i);
    if (!reader) continue;
    Stm *stms = mem_copy(body->stms, sizeof(Stm) * (size_t)body->stm_count);
    stms[reader - body->stms].exp = sum_of_kept(c, &body->stms[i], reader);
    body = new_node(Body, .stms = stms, .stm_count = body->stm_count,
                    .results = body->results, .result_count = body->result_count);
  }
  return body;
}
