// Branches, guards and loops of the host: what of their memory they release, what they pass on.
#include "imp/lower/host.h"

typedef struct HostBranches {
  Code *k;
  const Stm *stm;
  const Body *body;
  int position;
  const Mem **mems;  // of array binders
  const Map *sizes;  // that the first branch has checked; NULL before
} HostBranches;

static void keep_if_common(void *state, const void *key, void *value) {
  const HostBranches *s = state;
  if (map_has(s->sizes, key)) map_put(s->k->sizes, key, value);
}

// What both branches have checked is known behind them.
static void note_sizes(HostBranches *s, const Map *checked) {
  if (s->sizes)
    map_each(checked, keep_if_common, s);
  else
    s->sizes = checked;
}

static void inherit_dying(const HostBranches *s, Code *inner, const Body *branch) {
  VarVec free = core_free_body(branch);
  vec_each (const Var **, v, &free) {
    if ((*v)->type.rank == 0 || !map_has(s->k->arrays, *v)) continue;
    if (!code_may_overwrite(s->k, atom_var(*v), s->body, s->position)) continue;
    const Mem *mem = code_array(s->k, atom_var(*v))->mem;
    map_put(inner->owned, mem, mem);
  }
}

static ImpBlock host_branch(HostBranches *s, const Body *branch) {
  ImpBuilder b;
  Code inner = code_inner(s->k, &b);
  inherit_dying(s, &inner, branch);
  const ImpExp **scalars = new_array(const ImpExp *, branch->result_count + 1);
  const Arr **arrays = new_array(const Arr *, branch->result_count + 1);
  for (int i = 0; i < branch->result_count; i++) {
    host_pass_layout(&inner, s->stm->binders[i], branch->results[i]);
    landing_pass(&inner, landing_of(s->k, s->stm->binders[i]), branch,
                 branch->results[i]);
  }
  host_body(&inner, branch, scalars, arrays);
  for (int i = 0; i < branch->result_count; i++) {
    Landing *landing = landing_of(s->k, s->stm->binders[i]);
    if (landing) {
      landing_copy(&inner, landing, arrays[i], atom_type(branch->results[i]));
      continue;
    }
    if (!s->mems[i]) {
      imp_assign(&b, s->stm->binders[i], scalars[i]);
      continue;
    }
    Arr dense;
    if (room_of(s->k, s->stm->binders[i])) {
      dense = host_lying(&inner, s->stm->binders[i], branch->results[i], arrays[i]);
    } else {
      Arr laid_out = host_to_memory(&inner, s->stm->binders[i], arrays[i]);
      dense = host_dense(&inner, &laid_out, host_memory_type(&inner, s->stm->binders[i]));
    }
    imp_add_stm(&b, (ImpStm){ .kind = IMP_SHARE, .u.share = { s->mems[i], dense.mem } });
  }
  map_each(inner.owned, host_release_all, &inner);
  note_sizes(s, inner.sizes);
  return b.block;
}

static HostBranches open_branches(Code *k, const Stm *stm, const Body *body,
                                  int position) {
  HostBranches s = {
    k, stm, body, position, new_array(const Mem *, stm->binder_count + 1), NULL
  };
  for (int i = 0; i < stm->binder_count; i++) {
    if (stm->binders[i]->type.rank == 0)
      code_bind_scalar(k, stm->binders[i], NULL);
    else if (!landing_of(k, stm->binders[i]))
      s.mems[i] = host_declare_mem(k, stm->binders[i]->name, stm->binders[i]->type.elem);
  }
  return s;
}

static void close_branches(const HostBranches *s) {
  for (int i = 0; i < s->stm->binder_count; i++) {
    const Var *binder = s->stm->binders[i];
    Landing *landing = landing_of(s->k, binder);
    if (landing) {
      landing_is_made(landing);
      code_bind(s->k, binder, *landing_place(s->k, landing));
    }
    if (!s->mems[i]) continue;
    if (room_of(s->k, binder)) {
      code_bind(s->k, binder, room_array(s->k, binder, binder->type, s->mems[i]));
      continue;
    }
    CoreType type = host_memory_type(s->k, binder);
    Arr memory = arr_dense(s->mems[i], type.elem, code_shape(type), type.rank);
    code_bind(s->k, binder, host_of_memory(s->k, binder, memory));
  }
}

static bool is_bound_in(const Body *body, const Var *var) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == var) return true;
  return false;
}

// Would the second body copy nothing, either?  Kernels may store where an array dies.
static bool spares_nothing(Code *k, const Stm *stm, const Body *body, int position) {
  const Body *first = stm->exp->u.cond.then_body;
  if (!stm->exp->u.cond.spares_copy || !k->lower->machine->in_place) return false;
  for (int i = 0; i < first->stm_count; i++) {
    const Exp *loop = first->stms[i].exp;
    for (int p = 0; loop->kind == EXP_LOOP && p < loop->u.loop.param_count; p++) {
      Atom init = loop->u.loop.inits[p];
      bool outside = init.kind == ATOM_VAR && init.u.var->type.rank > 0 &&
                     !is_bound_in(first, init.u.var);
      if (outside && !code_dies(k, init, body, position)) return false;
    }
  }
  return true;
}

void host_stm_if(Code *k, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  HostBranches s = open_branches(k, stm, body, position);
  if (spares_nothing(k, stm, body, position)) {
    ImpBlock only = host_branch(&s, exp->u.cond.else_body);
    imp_add_stm(k->b, (ImpStm){ .kind = IMP_IF,
                                .u.cond = { imp_const(prim_bool(true)), only,
                                            (ImpBlock){ 0 } } });
    close_branches(&s);
    return;
  }
  ImpBlock then_block = host_branch(&s, exp->u.cond.then_body);
  ImpBlock else_block = host_branch(&s, exp->u.cond.else_body);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_IF,
                              .u.cond = { imp_atom(exp->u.cond.condition), then_block,
                                          else_block } });
  close_branches(&s);
}

static const ImpParam *guard_results(Code *k, const Stm *stm) {
  ImpParam *results = new_array(ImpParam, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *binder = stm->binders[i];
    results[i] = (ImpParam){ .var = binder, .is_array = binder->type.rank > 0 };
    const Landing *landing = landing_of(k, binder);
    if (landing)
      results[i].arr = *landing_array(k, landing);
    else if (results[i].is_array)
      results[i].arr = *code_array(k, atom_var(binder));
  }
  return results;
}

// Does a kernel since then have one array where the host has two?
static bool has_one_for_two(const Lower *lower, int since) {
  for (int i = since; i < lower->plans.count; i++)
    if (lower->plans.at[i]->one_for_two) return true;
  return false;
}

// Does the body only choose between versions, as far as it has work to do?
static bool has_only_guards(const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind != EXP_GUARD && !exp_is_scalar(exp) && !exp_is_view(exp)) return false;
  }
  return true;
}

// Are the seg-ops since then sums of columns in bands, and what little is made of the sums?
static bool are_bands(const Lower *lower, int since) {
  int points = 0;
  for (int i = since; i < lower->plans.count; i++) {
    int bands = lower->plans.at[i]->bands;
    if (bands && (!points || bands < points)) points = bands;
  }
  for (int i = since; i < lower->plans.count; i++) {
    const KernPlan *plan = lower->plans.at[i];
    if (!plan->bands && (!plan->straight || plan->straight > points)) return false;
  }
  return points > 0;
}

// Is the last of the versions that a guard leaves but such sums?
static bool sums_in_bands(const Lower *lower, int since, const Body *body,
                          const ImpBlock *versions) {
  int guards = 0;
  vec_each (const ImpStm **, stm, versions) {
    if ((*stm)->kind != IMP_GUARD) continue;
    if (!(*stm)->u.guard.bands) return false;
    guards++;
  }
  return guards ? has_only_guards(body) : are_bands(lower, since);
}

static const ImpExp *step_of(const Code *k, const Guard *guard) {
  if (guard->kind != GUARD_INTRA || k->lower->machine->local_memory) return NULL;
  return guard->step ? imp_size_exp(guard->step) : imp_i64(0);
}

void host_stm_guard(Code *k, const Stm *stm, const Body *body, int position) {
  const Guard *guard = stm->exp->u.guard.guard;
  HostBranches s = open_branches(k, stm, body, position);
  ImpBlock then_block = host_branch(&s, stm->exp->u.guard.then_body);
  int before = k->lower->plans.count;
  ImpBlock else_block = host_branch(&s, stm->exp->u.guard.else_body);
  bool one_for_two = has_one_for_two(k->lower, before),
       bands = sums_in_bands(k->lower, before, stm->exp->u.guard.else_body, &else_block);
  bool needs_local = guard->local_bytes && k->lower->machine->local_memory;
  const ImpExp *local = needs_local ? local_need(&then_block) : imp_i64(0);
  if (!local) local = imp_size_exp(guard->local_bytes);
  const ImpExp *roundings =
      host_roundings(stm->exp->u.guard.then_body, stm->exp->u.guard.else_body);
  close_branches(&s);
  imp_add_stm(
      k->b,
      (ImpStm){ .kind = IMP_GUARD,
                .loc = guard->loc,
                .u.guard = { guard, one_for_two, bands, imp_size_exp(guard->par), local,
                             step_of(k, guard), then_block, else_block,
                             guard_results(k, stm), stm->binder_count, roundings } });
}

static void host_loop_params(Code *k, const Exp *exp, const Mem **mems) {
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    const Var *param = exp->u.loop.params[i];
    if (param->type.rank == 0) {
      code_bind_scalar(k, param, imp_atom(exp->u.loop.inits[i]));
      continue;
    }
    Arr init =
        host_lying(k, param, exp->u.loop.inits[i], code_array(k, exp->u.loop.inits[i]));
    mems[i] = host_declare_mem(k, param->name, param->type.elem);
    imp_add_stm(k->b, (ImpStm){ .kind = IMP_SHARE, .u.share = { mems[i], init.mem } });
    if (init.mem != code_array(k, exp->u.loop.inits[i])->mem) host_release(k, init.mem);
  }
}

// The results become the parameters, as if all at once.
static void host_next_params(Code *k, const Exp *exp, const ImpExp **scalars,
                             const Arr **arrays, const Mem *const *mems) {
  int count = exp->u.loop.param_count;
  const Var **moved = new_array(const Var *, count + 1);
  const Mem **held = new_array(const Mem *, count + 1);
  for (int i = 0; i < count; i++) {
    if (!mems[i]) {
      moved[i] = imp_declare(k->b, exp->u.loop.params[i]->name, scalars[i]);
      continue;
    }
    Arr dense =
        host_lying(k, exp->u.loop.params[i], exp->u.loop.body->results[i], arrays[i]);
    held[i] = host_declare_mem(k, "next", dense.elem);
    imp_add_stm(k->b, (ImpStm){ .kind = IMP_SHARE, .u.share = { held[i], dense.mem } });
  }
  for (int i = 0; i < count; i++) {
    if (!mems[i]) {
      imp_assign(k->b, exp->u.loop.params[i], imp_var(moved[i]));
      continue;
    }
    imp_add_stm(k->b, (ImpStm){ .kind = IMP_SHARE, .u.share = { mems[i], held[i] } });
    imp_release(k->b, held[i]);
  }
}

typedef struct Original {
  Code *k;
  const Mem *mem;
} Original;

static void release_copy(void *state, const void *key, void *value) {
  const Original *original = state;
  (void)value;
  if (map_get(original->k->lower->copy_of, key) == original->mem)
    host_release(original->k, key);
}

// First values that only the parameters of the loop refer to live no longer than these.
static void release_inits(Code *k, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    if (exp->u.loop.params[i]->type.rank == 0 ||
        !code_loop_takes(k, exp, i, body, position))
      continue;
    Original init = { k, code_array(k, exp->u.loop.inits[i])->mem };
    map_each(k->owned, release_copy, &init);
    host_release(k, init.mem);
  }
}

void host_stm_loop(Code *k, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  const Mem **mems = new_array(const Mem *, exp->u.loop.param_count + 1);
  if (exp->u.loop.form == CORE_FOR)
    map_put(k->lower->rounds, exp->u.loop.index, term_atom(exp->u.loop.bound));
  host_loop_params(k, exp, mems);
  release_inits(k, stm, body, position);
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    if (!mems[i]) continue;
    const Var *param = exp->u.loop.params[i];
    code_bind(&inner, param, room_array(k, param, param->type, mems[i]));
    map_put(inner.owned, mems[i], mems[i]);
  }
  int count = exp->u.loop.param_count;
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **arrays = new_array(const Arr *, count + 1);
  host_body(&inner, exp->u.loop.body, scalars, arrays);
  host_next_params(&inner, exp, scalars, arrays, mems);
  for (int i = 0; i < count; i++)
    if (mems[i]) map_remove(inner.owned, mems[i]);
  map_each(inner.owned, host_release_all, &inner);
  code_add_loop(k, exp, b.block);
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *param = exp->u.loop.params[i];
    if (mems[i])
      code_bind(k, stm->binders[i], room_array(k, param, param->type, mems[i]));
    else
      code_bind_scalar(k, stm->binders[i], imp_var(param));
  }
}
