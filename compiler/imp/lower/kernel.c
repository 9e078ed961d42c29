// Kernels: their parameters are what their code mentions and does not bind.
#include "imp/lower/lower.h"

typedef struct Collect {
  Compiler *c;
  Map *bound;  // variables and memory bound inside
  Map *seen;
  Vec(KernelParam) params;
  Vec(const Function *) functions;
  bool has_barrier;
} Collect;

static void collect_block(Collect *s, const ImpBlock *block);

static void collect_var(Collect *s, const Var *var) {
  if (map_has(s->bound, var) || map_has(s->seen, var)) return;
  map_put(s->seen, var, var);
  vec_push(&s->params, (KernelParam){ false, NULL, var });
}

static void collect_mem(Collect *s, const Mem *mem) {
  if (mem->space != MEM_GLOBAL || map_has(s->seen, mem)) return;
  map_put(s->seen, mem, mem);
  vec_push(&s->params, (KernelParam){ true, mem, NULL });
}

static void collect_exp(Collect *s, const ImpExp *e) {
  if (!e) return;
  if (e->kind == IMP_TUNING)
    bug(s->c, (Loc){ 0 }, "tuning parameter %s within a kernel", e->u.tuning);
  if (e->kind == IMP_VAR) collect_var(s, e->u.var);
  if (e->kind == IMP_LOAD) collect_mem(s, e->u.load.mem);
  if (e->kind == IMP_STRIDED) collect_mem(s, e->u.strided.mem);
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    collect_exp(s, operands[i]);
}

static void bind(Collect *s, const void *what) { map_put(s->bound, what, what); }

static void collect_function(Collect *s, const Function *function);

static void collect_callees(CoreVisitor *v, const Body *body) {
  Collect *s = v->state;
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].exp->kind == EXP_CALL)
      collect_function(s, body->stms[i].exp->u.call.function);
  core_visit_body(v, body);
}

// Callees first.
static void collect_function(Collect *s, const Function *function) {
  if (map_has(s->seen, function)) return;
  map_put(s->seen, function, function);
  CoreVisitor visitor = { .body = collect_callees, .state = s };
  collect_callees(&visitor, function->body);
  vec_push(&s->functions, function);
}

static void collect_call(Collect *s, const ImpStm *stm) {
  for (int i = 0; i < stm->u.call.arg_count; i++)
    collect_exp(s, stm->u.call.args[i]);
  collect_function(s, stm->u.call.function);
}

static void collect_check(Collect *s, const ImpStm *stm) {
  collect_exp(s, stm->u.check.condition);
  for (int i = 0; i < stm->u.check.value_count; i++)
    collect_exp(s, stm->u.check.values[i]);
}

static void collect_store(Collect *s, const Mem *mem, const ImpExp *index,
                          const ImpExp *value) {
  collect_mem(s, mem);
  collect_exp(s, index);
  collect_exp(s, value);
}

static void collect_stm(Collect *s, const ImpStm *stm) {
  switch (stm->kind) {
  case IMP_DECLARE:
    collect_exp(s, stm->u.declare.value);
    bind(s, stm->u.declare.var);
    return;
  case IMP_ASSIGN: collect_exp(s, stm->u.assign.value); return;
  case IMP_STORE:
    collect_store(s, stm->u.store.mem, stm->u.store.index, stm->u.store.value);
    collect_exp(s, stm->u.store.step);
    collect_exp(s, stm->u.store.mask);
    return;
  case IMP_PREFETCH: return;  // of what is collected: it comes later
  case IMP_ATOMIC:
    collect_store(s, stm->u.atomic.mem, stm->u.atomic.index, stm->u.atomic.value);
    collect_exp(s, stm->u.atomic.old);
    return;
  case IMP_LOCKED:
    collect_mem(s, stm->u.locked.locks);
    collect_exp(s, stm->u.locked.index);
    collect_block(s, &stm->u.locked.body);
    return;
  case IMP_FOR:
    collect_exp(s, stm->u.loop.bound);
    bind(s, stm->u.loop.var);
    collect_block(s, &stm->u.loop.body);
    return;
  case IMP_WHILE:
    collect_exp(s, stm->u.loop_while.condition);
    collect_block(s, &stm->u.loop_while.body);
    return;
  case IMP_IF:
    collect_exp(s, stm->u.cond.condition);
    collect_block(s, &stm->u.cond.then_body);
    collect_block(s, &stm->u.cond.else_body);
    return;
  case IMP_BARRIER: s->has_barrier = true; return;
  case IMP_CALL: collect_call(s, stm); return;
  case IMP_CHECK: collect_check(s, stm); return;
  case IMP_LOCAL: collect_exp(s, stm->u.alloc.count); return;
  case IMP_COMMENT: return;
  case IMP_DECLARE_MEM:
  case IMP_ALLOC:
  case IMP_SHARE:
  case IMP_UNIQUE:
  case IMP_RELEASE:
  case IMP_LAUNCH:
  case IMP_TABLE:
  case IMP_READ:
  case IMP_GUARD:
  case IMP_ONCE:
  case IMP_SPLIT:
  case IMP_AWAIT:
  case IMP_GATHER: bug(s->c, stm->loc, "host statement within a kernel");
  }
}

static void collect_block(Collect *s, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block)
    collect_stm(s, *stm);
}

// ---- arenas
//
// Note [Running again].  The items of a launch take the arrays whose sizes only they know from one
// arena, which may turn out too small; the host then runs the kernel again with a larger one.  So
// the host must know which arrays the kernel changes that it reads: it keeps what they held, and
// puts it back.  And an item without memory must be able to stop, which it cannot where others wait
// for it: at a barrier, for a lock, for what it signals.

typedef struct Effects {
  Map *loaded, *stored;  // Mem, global
  bool arena, waits, barrier;
} Effects;

static Effects no_effects(void) {
  return (Effects){ .loaded = map_new(NULL), .stored = map_new(NULL) };
}

static void see_loads(void *state, const ImpExp *e) {
  Effects *seen = state;
  if (e->kind == IMP_LOAD) map_put(seen->loaded, e->u.load.mem, e->u.load.mem);
  if (e->kind == IMP_STRIDED) map_put(seen->loaded, e->u.strided.mem, e->u.strided.mem);
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    see_loads(seen, operands[i]);
}

static void see_atomic(Effects *seen, const ImpStm *stm) {
  const Mem *mem = stm->u.atomic.mem;
  AtomicAction action = stm->u.atomic.action;
  if (mem->space != MEM_GLOBAL) return;
  map_put(seen->loaded, mem, mem);
  map_put(seen->stored, mem, mem);
  seen->waits = seen->waits || (action != ATOMIC_UPDATE && action != ATOMIC_EXCHANGE);
}

static void see_block(Effects *seen, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    imp_each_exp(stm, see_loads, seen);
    if (stm->kind == IMP_LOCAL && stm->u.alloc.mem->space == MEM_ARENA)
      seen->arena = true;
    seen->barrier = seen->barrier || stm->kind == IMP_BARRIER;
    seen->waits = seen->waits || stm->kind == IMP_LOCKED;
    if (stm->kind == IMP_ATOMIC) see_atomic(seen, stm);
    if (stm->kind == IMP_STORE && stm->u.store.mem->space == MEM_GLOBAL)
      map_put(seen->stored, stm->u.store.mem, stm->u.store.mem);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      see_block(seen, inner[i]);
  }
}

static bool may_write(const ImpStm *stm) {
  ImpStmKind kind = stm->kind;
  return kind != IMP_DECLARE && kind != IMP_ASSIGN && kind != IMP_CHECK &&
         kind != IMP_COMMENT && kind != IMP_DECLARE_MEM && kind != IMP_ALLOC &&
         kind != IMP_SHARE && kind != IMP_RELEASE && kind != IMP_TABLE &&
         kind != IMP_READ;
}

// Was the block made for the kernel that is launched next?  It then reads only what it wrote there.
static bool is_fresh(const ImpBlock *host, const Mem *mem) {
  for (int i = host->count - 1; i >= 0 && !may_write(host->at[i]); i--)
    if (host->at[i]->kind == IMP_ALLOC && host->at[i]->u.alloc.mem == mem) return true;
  return false;
}

static bool uses_arena(const Code *host, const KernelCode *kernel, const Effects *seen) {
  Lower *lower = host->lower;
  if (!seen->arena || lower->failed) return seen->arena;
  if (!seen->barrier && !seen->waits) return true;
  limit(lower->c, kernel->b.loc,
        "an array whose size depends on the work-item, in a kernel that %s",
        seen->barrier ? "works in groups" : "takes turns");
  lower->failed = true;
  return true;
}

// ---- loops

typedef struct FreshArrays {
  const ImpBlock *host;
  Map *found;
} FreshArrays;

static void note_fresh(void *state, const void *mem, void *value) {
  FreshArrays *fresh = state;
  (void)value;
  if (is_fresh(fresh->host, mem)) map_put(fresh->found, mem, mem);
}

// Where items do not work together, an item need not load what it has just stored; steps of Kern
// have seen to that.
static void fuse_loops(const Code *host, KernelCode *kernel) {
  Effects seen = no_effects();
  see_block(&seen, &kernel->b.block);
  if (host->lower->machine->by_axes || seen.barrier) return;
  FreshArrays fresh = { &host->b->block, map_new(NULL) };
  map_each(seen.stored, note_fresh, &fresh);
  ImpBlock fused = imp_fuse_loops(host->lower->c, &kernel->b.block, fresh.found);
  kernel->b.block = imp_forward_stores(host->lower->c, &fused);
}

KernelCode *kernel_begin(Code *host, Loc loc) {
  KernelCode *kernel = new (KernelCode);
  kernel->b = (ImpBuilder){ .c = host->lower->c, .loc = loc };
  kernel->code = *host;
  kernel->code.b = &kernel->b;
  kernel->code.arrays = map_new(host->arrays);
  kernel->code.inside = map_new(NULL);
  kernel->code.sizes = map_new(host->sizes);
  kernel->code.owned = map_new(NULL);
  kernel->code.wanted = map_new(NULL);
  kernel->code.scratch = &kernel->scratch;
  kernel->code.may_fail = &kernel->may_fail;
  return kernel;
}

static KernelArg launch_arg(const ImpBlock *host, const KernelParam *param,
                            const Effects *seen) {
  const Mem *mem = param->mem;
  if (!param->is_mem) return (KernelArg){ .value = imp_var(param->var) };
  return (KernelArg){ .is_mem = true,
                      .mem = mem,
                      .loads = map_has(seen->loaded, mem) && !is_fresh(host, mem),
                      .changes = map_has(seen->stored, mem) };
}

static const KernelArg *launch_args(const Collect *s, const ImpBlock *host,
                                    const Effects *seen) {
  KernelArg *args = new_array(KernelArg, s->params.count + 1);
  for (int i = 0; i < s->params.count; i++)
    args[i] = launch_arg(host, &s->params.at[i], seen);
  return args;
}

static int64_t known_group_size(const ImpExp *size) {
  if (!size) return 0;
  return size->kind == IMP_CONST ? size->u.constant.u.i : -1;
}

void kernel_end(Code *host, KernelCode *kernel, Launch launch) {
  Compiler *c = host->lower->c;
  Collect s = { .c = c, .bound = map_new(NULL), .seen = map_new(NULL) };
  fuse_loops(host, kernel);
  collect_block(&s, &kernel->b.block);
  share_scratch(&kernel->scratch, &kernel->b.block);
  Effects seen = no_effects();
  see_block(&seen, &kernel->b.block);
  const char *name = text_format("%s_%d", launch.name, c->next_id++);
  Kernel *k = new_node(
      Kernel, .name = name_of(c->names, name), .loc = host->b->loc, .params = s.params.at,
      .param_count = s.params.count, .scratch = kernel->scratch.at,
      .scratch_count = kernel->scratch.count, .may_fail = kernel->may_fail,
      .one_point = kernel->one_point, .has_barrier = s.has_barrier,
      .uses_arena = uses_arena(host, kernel, &seen), .functions = s.functions.at,
      .function_count = s.functions.count, .plan = host->lower->plan,
      .recipe_name = host->lower->kernel,
      .group_size = known_group_size(launch.group_size));
  const Traits *machine = host->lower->machine;
  k->sized = machine->sized && launch.group_size;
  ImpBlock lifted = imp_lift_divisions(&kernel->b.block);
  ImpBlock body = machine->side_by_side ? imp_contract(&lifted) : imp_hoist(&lifted);
  if (!machine->side_by_side) {
    body = imp_inside(&body);
    body = imp_prefetch_rows(s.c, &body);
  }
  k->body.at = body.at;
  k->body.count = body.count;
  ImpStm stm = { .kind = IMP_LAUNCH,
                 .u.launch = { k, launch.items, launch.groups, launch.group_size,
                               launch_args(&s, &host->b->block, &seen),
                               s.params.count } };
  vec_push(&host->lower->kernels, k);
  if (launch.own)
    launch_own(host, k, &stm);
  else if (!launch_with_own(host, &stm))
    imp_add_stm(host->b, stm);
}
