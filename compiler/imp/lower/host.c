// The host's code: scalars, views, launches, control, and who refers to which block of memory.
//
// Every block-holding reference (Mem) of an entry point is released when the entry returns; here
// references are released early, after the last use of what lies in their block, so that the pool
// can hand it out again (double buffering of loops comes from that).
#include "imp/lower/lower.h"

// ---- memory

const Mem *host_declare_mem(Code *k, const char *name, PrimType elem) {
  const Mem *mem = mem_new(k->lower->c, name, MEM_GLOBAL, elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_DECLARE_MEM, .u.mem = { mem } });
  map_put(k->owned, mem, mem);
  return mem;
}

const Mem *host_mem(Code *k, const char *name, PrimType elem, const ImpExp *count) {
  const Mem *mem = host_declare_mem(k, name, elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_ALLOC, .u.alloc = { mem, count } });
  return mem;
}

Arr host_alloc(Code *k, const char *name, CoreType type) {
  const ImpExp *const *shape = code_shape(type);
  Arr arr = arr_dense(NULL, type.elem, shape, type.rank);
  arr.mem = host_mem(k, name, type.elem, arr_count(&arr));
  return arr;
}

void host_read(Code *k, const Var *var, const Mem *mem, const ImpExp *index) {
  code_bind_scalar(k, var, NULL);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_READ, .u.read = { var, mem, index } });
}

bool host_is_plain(const Arr *arr) { return arr_begins(arr) && arr_is_dense(arr); }

// The array row-major from the start of its block on; a copy if it does not lie so.
static Arr host_dense(Code *k, const Arr *arr, CoreType type) {
  if (host_is_plain(arr)) return *arr;
  if (layout_may_be_dense(arr)) return layout_dense(k, arr);
  Arr dense = host_alloc(k, "dense", type);
  host_copy(k, &dense, arr);
  return dense;
}

// The value of `a` as `var` is to lie: dense, or with room for rows of others.
static Arr host_lying(Code *k, const Var *var, Atom a, const Arr *arr) {
  if (!room_of(k, var)) return host_dense(k, arr, atom_type(a));
  if (room_is_like(k, var, a)) return *arr;
  Arr roomy = room_alloc(k, var, atom_type(a));
  host_copy(k, &roomy, arr);
  return roomy;
}

Arr host_overwrite(Code *k, const Var *binder, const Mem *held) {
  const Mem *mem = host_declare_mem(k, binder->name, binder->type.elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_UNIQUE, .u.share = { mem, held } });
  return arr_dense(mem, binder->type.elem, code_shape(binder->type), binder->type.rank);
}

Arr host_take(Code *k, const Var *binder, Atom source, const Body *body, int position) {
  const Arr *from = code_array(k, source);
  if (!host_is_plain(from)) {
    Arr fresh = host_alloc(k, binder->name, binder->type);
    host_copy(k, &fresh, from);
    return fresh;
  }
  if (code_may_overwrite(k, source, body, position))
    return host_overwrite(k, binder, from->mem);
  code_note_copy(k, source);
  // A second reference, so that taking it copies.
  const Mem *held = host_declare_mem(k, "kept", from->elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_SHARE, .u.share = { held, from->mem } });
  Arr copy = host_overwrite(k, binder, held);
  imp_release(k->b, held);
  return copy;
}

// ---- releasing

typedef struct Release {
  Code *k;
  const Body *body;
  int position;
} Release;

static void release(Code *k, const Mem *mem) {
  if (map_has(k->released, mem)) return;
  map_put(k->released, mem, mem);
  imp_release(k->b, mem);
}

static void release_dead(void *state, const void *key, void *value) {
  Release *r = state;
  const Mem *mem = key;
  (void)value;
  if (map_has(r->k->released, mem)) return;
  const Mem *original = map_get(r->k->lower->copy_of, mem);
  if (original ? code_memory_read_after(r->k, original, r->body, r->position)
               : code_memory_used_after(r->k, mem, r->body, r->position))
    return;
  release(r->k, mem);
}

// At the end of a branch or of a round of a loop.
static void release_all(void *state, const void *key, void *value) {
  (void)value;
  release(state, key);
}

// ---- control

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
  map_each(inner.owned, release_all, &inner);
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

// Would the second body copy nothing, either?  Kernels for CPUs lie where an array dies.
static bool spares_nothing(Code *k, const Stm *stm, const Body *body, int position) {
  const Body *first = stm->exp->u.cond.then_body;
  if (!stm->exp->u.cond.spares_copy || k->lower->profile != PROFILE_CPU) return false;
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

static void host_if(Code *k, const Stm *stm, const Body *body, int position) {
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
  if (guard->kind != GUARD_INTRA || k->lower->profile != PROFILE_CPU) return NULL;
  return guard->step ? imp_size_exp(guard->step) : imp_i64(0);
}

static void host_guard(Code *k, const Stm *stm, const Body *body, int position) {
  const Guard *guard = stm->exp->u.guard.guard;
  HostBranches s = open_branches(k, stm, body, position);
  ImpBlock then_block = host_branch(&s, stm->exp->u.guard.then_body);
  int before = k->lower->plans.count;
  ImpBlock else_block = host_branch(&s, stm->exp->u.guard.else_body);
  bool one_for_two = has_one_for_two(k->lower, before),
       bands = sums_in_bands(k->lower, before, stm->exp->u.guard.else_body, &else_block);
  // On a CPU level 0 is the lanes of an item: no local memory.
  bool needs_local = guard->local_bytes && k->lower->profile == PROFILE_GPU;
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
    if (init.mem != code_array(k, exp->u.loop.inits[i])->mem) release(k, init.mem);
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
    release(original->k, key);
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
    release(k, init.mem);
  }
}

static void host_loop(Code *k, const Stm *stm, const Body *body, int position) {
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
  map_each(inner.owned, release_all, &inner);
  if (exp->u.loop.form == CORE_FOR)
    imp_for(k->b, exp->u.loop.index, imp_atom(exp->u.loop.bound), b.block);
  else
    imp_add_stm(k->b, (ImpStm){ .kind = IMP_WHILE,
                                .u.loop_while = {
                                    imp_var(exp->u.loop.params[exp->u.loop.while_param]),
                                    b.block } });
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *param = exp->u.loop.params[i];
    if (mems[i])
      code_bind(k, stm->binders[i], room_array(k, param, param->type, mems[i]));
    else
      code_bind_scalar(k, stm->binders[i], imp_var(param));
  }
}

// ---- other statements

static void host_call(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const ImpExp **args = new_array(const ImpExp *, exp->u.call.arg_count + 1);
  for (int i = 0; i < exp->u.call.arg_count; i++)
    args[i] = imp_atom(exp->u.call.args[i]);
  for (int i = 0; i < stm->binder_count; i++)
    code_bind_scalar(k, stm->binders[i], NULL);
  imp_add_stm(k->b,
              (ImpStm){ .kind = IMP_CALL,
                        .u.call = { exp->u.call.function, stm->binders, stm->binder_count,
                                    args, exp->u.call.arg_count } });
}

static void host_table(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  const Mem *mem = host_declare_mem(k, binder->name, binder->type.elem);
  Prim *values = new_array(Prim, exp->u.array.count);
  for (int i = 0; i < exp->u.array.count; i++)
    values[i] = exp->u.array.atoms[i].u.constant;
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_TABLE,
                              .u.table = { mem, values, exp->u.array.count } });
  code_bind(k, binder, arr_dense(mem, mem->elem, code_shape(binder->type), 1));
}

// Array code that is left on the host (literals of arrays): a kernel of one item.
static void single_item(Code *k, const Stm *stm, const Body *body, int position) {
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  KernelCode *kernel = NULL;
  for (int i = 0; i < stm->binder_count; i++)
    outs[i] = host_out(k, stm->binders[i]);
  kernel = kernel_begin(k, stm->loc);
  for (int i = 0; i < stm->binder_count; i++)
    map_put(kernel->code.wanted, stm->binders[i], outs[i]);
  seq_stm(&kernel->code, stm, body, position);
  for (int i = 0; i < stm->binder_count; i++)
    code_copy(&kernel->code, outs[i],
              code_array(&kernel->code, atom_var(stm->binders[i])));
  kernel_end(
      k, kernel,
      (Launch){ .name = "single", .groups = imp_i64(1), .group_size = imp_i64(1) });
  for (int i = 0; i < stm->binder_count; i++)
    code_bind(k, stm->binders[i], *outs[i]);
}

static void host_index(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (stm->binders[0]->type.rank > 0) {
    code_view(k, stm);
    return;
  }
  const Arr *arr = code_array(k, exp->u.index.array);
  if (exp->u.index.checked) code_check_bounds(k, arr, exp->u.index.dims, stm->loc);
  Arr element = arr_slice(arr, exp->u.index.dims);
  host_read(k, stm->binders[0], element.mem, element.offset);
}

// ---- several workers

// Of no rows, or a negative number of them, each worker has all.
static void host_split(Code *k, const Stm *stm) {
  Atom width = stm->exp->u.split.width;
  for (int i = 0; i < SPLIT_RESULTS; i++) {
    bool counts = i == SPLIT_COUNT || i == SPLIT_MOST;
    code_bind_scalar(k, stm->binders[i], NULL);
    if (!counts || code_is_size(k, width))
      map_put(k->sizes, stm->binders[i], stm->binders[i]);
  }
  const Guard *guard = stm->exp->u.split.guard;
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_SPLIT,
                              .u.split = { guard, imp_size_exp(guard->par),
                                           imp_atom(width), stm->binders } });
}

static void host_gather(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  Atom value = exp->u.gather.value;
  CoreType type = atom_type(value);
  bool is_scalar = type.rank == 0;
  const ImpExp *room = is_scalar ? NULL : room_rows(k, value);
  Arr from = { 0 };
  if (room)
    from = *code_array(k, value);
  else if (!is_scalar)
    from = host_dense(k, code_array(k, value), type);
  const Mem *to = host_declare_mem(k, binder->name, binder->type.elem);
  Arr arr = arr_dense(to, binder->type.elem, code_shape(binder->type), binder->type.rank);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_GATHER,
                              .u.gather = { .to = to,
                                            .from = from.mem,
                                            .value = is_scalar ? imp_atom(value) : NULL,
                                            .workers = imp_atom(exp->u.gather.workers),
                                            .total = imp_atom(exp->u.gather.total),
                                            .start = imp_atom(exp->u.gather.start),
                                            .count = imp_atom(exp->u.gather.count),
                                            .row = arr.strides[0],
                                            .room = room,
                                            .each = atom_equal(exp->u.gather.total,
                                                               exp->u.gather.workers),
                                            .site = exp->u.gather.site } });
  code_bind(k, binder, arr);
}

static void host_border(Code *k, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  Atom block = exp->u.border.block;
  const ImpExp *room = room_rows(k, block);
  Arr from = room ? *code_array(k, block)
                  : host_dense(k, code_array(k, block), atom_type(block));
  const Mem *to = host_declare_mem(k, binder->name, binder->type.elem);
  Arr arr = arr_dense(to, binder->type.elem, code_shape(binder->type), binder->type.rank);
  if (room) {
    const ImpExp *before = imp_let(k->b, "rows", border_rows_before(exp));
    arr.offset = imp_mul(imp_sub(room, before), arr.strides[0]);
  }
  const ImpExp *later = underway_begin(k, stm, body, position, &arr);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_GATHER,
                              .u.gather = { .to = to,
                                            .from = from.mem,
                                            .workers = imp_atom(exp->u.border.workers),
                                            .total = imp_atom(exp->u.border.total),
                                            .start = imp_atom(exp->u.border.start),
                                            .count = imp_atom(exp->u.border.count),
                                            .row = arr.strides[0],
                                            .before = imp_atom(exp->u.border.before),
                                            .after = imp_atom(exp->u.border.after),
                                            .room = room,
                                            .ring = exp->u.border.ring,
                                            .site = exp->u.border.site,
                                            .later = later } });
  code_bind(k, binder, arr);
}

static void host_fetch(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  Atom block = exp->u.fetch.block;
  Arr from = host_dense(k, code_array(k, block), atom_type(block));
  const Mem *to = host_declare_mem(k, binder->name, binder->type.elem);
  Arr arr = arr_dense(to, binder->type.elem, code_shape(binder->type), binder->type.rank);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_GATHER,
                              .u.gather = { .to = to,
                                            .from = from.mem,
                                            .workers = imp_atom(exp->u.fetch.workers),
                                            .total = imp_atom(exp->u.fetch.total),
                                            .start = imp_atom(exp->u.fetch.start),
                                            .count = imp_atom(exp->u.fetch.count),
                                            .row = arr.strides[0],
                                            .first = imp_atom(exp->u.fetch.first),
                                            .rows = imp_atom(exp->u.fetch.rows),
                                            .site = exp->u.fetch.site } });
  code_bind(k, binder, arr);
}

static void host_deliver(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  Atom block = exp->u.deliver.block, at = exp->u.deliver.positions,
       values = exp->u.deliver.values;
  CoreType points = atom_type(at);
  Arr from = host_dense(k, code_array(k, block), atom_type(block));
  const Mem *positions = host_dense(k, code_array(k, at), points).mem;
  const Mem *put = host_dense(k, code_array(k, values), atom_type(values)).mem;
  const ImpExp *count = imp_i64(1), *unit = imp_i64(1);
  const ImpExp *const *shape = code_shape(atom_type(values));
  for (int i = 0; i < points.rank; i++)
    count = imp_mul(count, shape[i]);
  for (int i = points.rank; i < atom_type(values).rank; i++)
    unit = imp_mul(unit, shape[i]);
  const Mem *to = host_declare_mem(k, binder->name, binder->type.elem);
  Arr arr = arr_dense(to, binder->type.elem, code_shape(binder->type), binder->type.rank);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_GATHER,
                              .u.gather = { .to = to,
                                            .from = from.mem,
                                            .workers = imp_atom(exp->u.deliver.workers),
                                            .total = imp_atom(exp->u.deliver.total),
                                            .start = imp_atom(exp->u.deliver.start),
                                            .count = imp_atom(exp->u.deliver.count),
                                            .row = arr.strides[0],
                                            .positions = positions,
                                            .values = put,
                                            .points = count,
                                            .unit = unit,
                                            .site = exp->u.deliver.site } });
  code_bind(k, binder, arr);
}

// Kernels take arrays that they know no views of for dense.
static void host_reshape(Code *k, const Stm *stm) {
  const Var *binder = stm->binders[0];
  code_view(k, stm);
  const Arr *arr = code_array(k, atom_var(binder));
  if (k->lower->profile != PROFILE_CPU || host_is_plain(arr) ||
      kern_see_renamed(code_kern_host(k), stm))
    return;
  code_bind(k, binder, host_dense(k, arr, binder->type));
}

static void lower_host_stm(Code *k, const Stm *stm, const Body *body, int position) {
  k->b->loc = stm->loc;
  kern_see_host(k->lower->c, code_kern_host(k), stm);
  const ImpExp *scalar = stm->exp->kind == EXP_INDEX ? NULL : seq_scalar(k, stm);
  if (scalar) {
    code_bind_scalar(k, stm->binders[0], scalar);
    code_note_size(k, stm);
    return;
  }
  switch (stm->exp->kind) {
  case EXP_INDEX: host_index(k, stm); return;
  case EXP_RESHAPE: host_reshape(k, stm); return;
  case EXP_ATOM:
  case EXP_REARRANGE: code_view(k, stm); return;
  case EXP_ASSERT: code_assert(k, stm); return;
  case EXP_IF: host_if(k, stm, body, position); return;
  case EXP_GUARD: host_guard(k, stm, body, position); return;
  case EXP_LOOP: host_loop(k, stm, body, position); return;
  case EXP_CALL: host_call(k, stm); return;
  case EXP_SEG:
    if (!landing_update(k, stm)) lower_seg(k, stm, body, position);
    return;
  case EXP_ARRAY:
    if (exp_is_table(stm->exp))
      host_table(k, stm);
    else
      single_item(k, stm, body, position);
    return;
  case EXP_SPLIT: host_split(k, stm); return;
  case EXP_GATHER: host_gather(k, stm); return;
  case EXP_BORDER: host_border(k, stm, body, position); return;
  case EXP_FETCH: host_fetch(k, stm); return;
  case EXP_DELIVER: host_deliver(k, stm); return;
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS:
  case EXP_UPDATE:
  case EXP_IOTA:
  case EXP_REPLICATE:
  case EXP_CONCAT:
  case EXP_ROTATE:
  case EXP_COPY:
  case EXP_CHOOSE:
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_SCATTER:
  case EXP_HIST:
  case EXP_FILTER: bug(k->lower->c, stm->loc, "flattening left array code on the host");
  }
}

void host_body(Code *k, const Body *body, const ImpExp **scalars, const Arr **arrays) {
  host_find_layouts(k, body);
  int last_update = landing_last_update(body);
  for (int i = 0; i < body->stm_count; i++) {
    landing_find(k, body, i, last_update);
    lower_host_stm(k, &body->stms[i], body, i);
    Release after = { k, body, i };
    map_each(k->owned, release_dead, &after);
  }
  for (int i = 0; i < body->result_count; i++) {
    if (atom_type(body->results[i]).rank == 0)
      scalars[i] = imp_atom(body->results[i]);
    else
      arrays[i] = code_array(k, body->results[i]);
  }
}

// ---- entries

static bool is_consumed(const Entry *entry, int param) {
  for (int i = 0; i < entry->input_count; i++) {
    const EntryValue *input = &entry->inputs[i];
    if (param >= input->first && param < input->first + input->count)
      return input->unique;
  }
  return false;
}

// What the caller gives up may be overwritten, when nobody else refers to its block at run time.
static const ImpParam *entry_params(Code *k, const Entry *entry) {
  ImpParam *params = new_array(ImpParam, entry->param_count + 1);
  for (int i = 0; i < entry->param_count; i++) {
    const Var *var = entry->params[i];
    params[i].var = var;
    params[i].is_array = var->type.rank > 0;
    if (!params[i].is_array) continue;
    const Mem *mem = mem_new(k->lower->c, var->name, MEM_GLOBAL, var->type.elem);
    params[i].arr = arr_dense(mem, var->type.elem, code_shape(var->type), var->type.rank);
    code_bind(k, var, params[i].arr);
    if (is_consumed(entry, i)) map_put(k->owned, mem, mem);
  }
  return params;
}

static void entry_results(Code *k, ImpEntry *out, const ImpExp **scalars,
                          const Arr **arrays) {
  const Body *body = out->entry->body;
  ImpParam *results = new_array(ImpParam, body->result_count + 1);
  for (int i = 0; i < body->result_count; i++) {
    CoreType type = atom_type(body->results[i]);
    results[i].is_array = type.rank > 0;
    if (results[i].is_array) results[i].arr = host_dense(k, arrays[i], type);
  }
  out->results = results;
  out->scalar_results = scalars;
  out->result_count = body->result_count;
}

static const ImpEntry *lower_entry(Lower *lower, const Entry *entry) {
  ImpBuilder b = { .c = lower->c, .loc = entry->loc };
  Code k = { .lower = lower,
             .b = &b,
             .arrays = map_new(NULL),
             .inside = map_new(NULL),
             .sizes = map_new(NULL),
             .owned = map_new(NULL),
             .released = map_new(NULL),
             .wanted = map_new(NULL),
             .views = map_new(NULL),
             .layouts = map_new(NULL),
             .landings = map_new(NULL) };
  k.scope = host_scope(&b, k.arrays, k.owned, NULL);
  for (int i = 0; i < entry->size_count; i++)
    map_put(k.sizes, entry->params[i], entry->params[i]);
  lower->layout = NULL;
  lower->entry = entry;
  lower->segs = map_new(NULL);
  rooms_find(lower, entry->body);
  ImpEntry *out = new_node(ImpEntry, .entry = entry);
  out->params = entry_params(&k, entry);
  const ImpExp **scalars = new_array(const ImpExp *, entry->body->result_count + 1);
  const Arr **arrays = new_array(const Arr *, entry->body->result_count + 1);
  host_body(&k, entry->body, scalars, arrays);
  entry_results(&k, out, scalars, arrays);
  layout_declare(lower, &b.block);
  out->body.at = b.block.at;
  out->body.count = b.block.count;
  return out;
}

ImpProgram *imp_lower(Compiler *c, const Core *flat, Profile profile, RecipeBook *book,
                      bool mixed) {
  Lower lower = { .c = c,
                  .profile = profile,
                  .book = book,
                  .copy_of = map_new(NULL),
                  .partials = map_new(NULL),
                  .scalars = map_new(NULL),
                  .underway = map_new(NULL),
                  .rounds = map_new(NULL) };
  ImpProgram *program =
      new_node(ImpProgram, .flat = flat, .functions = flat->functions,
               .function_count = flat->function_count, .entry_count = flat->entry_count);
  program->entries = new_array(const ImpEntry *, flat->entry_count + 1);
  for (int i = 0; i < flat->entry_count; i++)
    program->entries[i] = lower_entry(&lower, flat->entries[i]);
  program->kernels = lower.kernels.at;
  program->kernel_count = lower.kernels.count;
  program->tuning = lower.tuning.at;
  program->tuning_count = lower.tuning.count;
  program->plans = lower.plans.at;
  program->plan_count = lower.plans.count;
  program->copies = lower.copies.at;
  program->copy_count = lower.copies.count;
  imp_drop_dead(program);
  if (!mixed) imp_keep_scalars(c, program);
  imp_heed_failures(program);
  return lower.failed ? NULL : program;
}
