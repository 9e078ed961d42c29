// Walking over Imp: the expressions and blocks of statements, which variables matter, what is the
// same.
#include "imp/imp.h"

int imp_operands(const ImpExp *e, const ImpExp **out) {
  switch (e->kind) {
  case IMP_VAR:
  case IMP_CONST:
  case IMP_ITEM:
  case IMP_IOTA:
  case IMP_TUNING: return 0;
  case IMP_OP:
    for (int i = 0; i < op_arity(e->u.op.op); i++)
      out[i] = e->u.op.args[i];
    return op_arity(e->u.op.op);
  case IMP_CONVERT:
  case IMP_BITS:
  case IMP_SPLAT:
  case IMP_ANY:
  case IMP_ALL:
  case IMP_MOST:
  case IMP_COUNT: out[0] = e->u.convert.arg; return 1;
  case IMP_LOAD: out[0] = e->u.load.index; return 1;
  case IMP_STRIDED:
    out[0] = e->u.strided.index;
    out[1] = e->u.strided.step;
    return 2;
  case IMP_PERMUTE:
    out[0] = e->u.permute.a;
    out[1] = e->u.permute.b;
    return e->u.permute.b ? 2 : 1;
  case IMP_SHUFFLE:
    out[0] = e->u.shuffle.value;
    out[1] = e->u.shuffle.apart;
    return 2;
  case IMP_PICK:
    out[0] = e->u.pick.vector;
    out[1] = e->u.pick.which;
    return 2;
  case IMP_SELECT:
    out[0] = e->u.select.condition;
    out[1] = e->u.select.a;
    out[2] = e->u.select.b;
    return 3;
  }
  return 0;
}

static void each_of(const ImpExp *const *exps, int count, ImpExpFn fn, void *state) {
  for (int i = 0; i < count; i++)
    if (exps[i]) fn(state, exps[i]);
}

static void each_count(KernelArrays arrays, ImpExpFn fn, void *state) {
  vec_each (Scratch *, array, &arrays)
    each_of(&array->count, 1, fn, state);
}

static void each_of_launch(const ImpStm *stm, ImpExpFn fn, void *state) {
  const ImpExp *own[] = { stm->u.launch.items, stm->u.launch.groups,
                          stm->u.launch.group_size };
  each_of(own, 3, fn, state);
  const Kernel *kernel = stm->u.launch.kernel;
  for (int i = 0; i < stm->u.launch.arg_count; i++)
    each_of(&stm->u.launch.args[i].value, 1, fn, state);
  each_count(imp_kernel_arrays(kernel, MEM_SCRATCH), fn, state);
  each_count(imp_kernel_arrays(kernel, MEM_LOCAL), fn, state);
}

static void each_of_guard(const ImpStm *stm, ImpExpFn fn, void *state) {
  each_of((const ImpExp *[]){ stm->u.guard.par, stm->u.guard.local_bytes,
                              stm->u.guard.step, stm->u.guard.roundings },
          4, fn, state);
  for (int i = 0; i < stm->u.guard.result_count; i++)
    if (stm->u.guard.results[i].is_array)
      each_of(stm->u.guard.results[i].arr.shape, stm->u.guard.results[i].arr.rank, fn,
              state);
}

static void each_of_gather(const ImpStm *stm, ImpExpFn fn, void *state) {
  const ImpExp *all[] = { stm->u.gather.value,  stm->u.gather.workers,
                          stm->u.gather.total,  stm->u.gather.start,
                          stm->u.gather.count,  stm->u.gather.row,
                          stm->u.gather.before, stm->u.gather.after,
                          stm->u.gather.first,  stm->u.gather.rows,
                          stm->u.gather.outer,  stm->u.gather.columns,
                          stm->u.gather.room,   stm->u.gather.points,
                          stm->u.gather.unit,   stm->u.gather.later };
  each_of(all, sizeof all / sizeof *all, fn, state);
}

void imp_each_exp(const ImpStm *stm, ImpExpFn fn, void *state) {
  switch (stm->kind) {
  case IMP_DECLARE: each_of(&stm->u.declare.value, 1, fn, state); return;
  case IMP_ASSIGN: each_of(&stm->u.assign.value, 1, fn, state); return;
  case IMP_STORE:
    each_of((const ImpExp *[]){ stm->u.store.index, stm->u.store.value, stm->u.store.step,
                                stm->u.store.mask },
            4, fn, state);
    return;
  case IMP_PREFETCH: each_of(&stm->u.prefetch.index, 1, fn, state); return;
  case IMP_ATOMIC:
    each_of(
        (const ImpExp *[]){ stm->u.atomic.index, stm->u.atomic.value, stm->u.atomic.old },
        3, fn, state);
    return;
  case IMP_LOCKED: each_of(&stm->u.locked.index, 1, fn, state); return;
  case IMP_FOR: each_of(&stm->u.loop.bound, 1, fn, state); return;
  case IMP_WHILE: each_of(&stm->u.loop_while.condition, 1, fn, state); return;
  case IMP_IF: each_of(&stm->u.cond.condition, 1, fn, state); return;
  case IMP_CALL: each_of(stm->u.call.args, stm->u.call.arg_count, fn, state); return;
  case IMP_CHECK:
    each_of(&stm->u.check.condition, 1, fn, state);
    each_of(stm->u.check.values, stm->u.check.value_count, fn, state);
    return;
  case IMP_LOCAL:
  case IMP_ALLOC: each_of(&stm->u.alloc.count, 1, fn, state); return;
  case IMP_LAUNCH: each_of_launch(stm, fn, state); return;
  case IMP_READ: each_of(&stm->u.read.index, 1, fn, state); return;
  case IMP_GUARD: each_of_guard(stm, fn, state); return;
  case IMP_SPLIT:
    each_of((const ImpExp *[]){ stm->u.split.par, stm->u.split.width, stm->u.split.moved,
                                stm->u.split.workers },
            stm->u.split.workers ? 4 : 3, fn, state);
    return;
  case IMP_GATHER: each_of_gather(stm, fn, state); return;
  case IMP_BARRIER:
  case IMP_COMMENT:
  case IMP_DECLARE_MEM:
  case IMP_SHARE:
  case IMP_UNIQUE:
  case IMP_RELEASE:
  case IMP_TABLE:
  case IMP_AWAIT:
  case IMP_ONCE: return;
  }
}

int imp_blocks(const ImpStm *stm, const ImpBlock **out) {
  if (stm->kind == IMP_FOR) out[0] = &stm->u.loop.body;
  if (stm->kind == IMP_WHILE) out[0] = &stm->u.loop_while.body;
  if (stm->kind == IMP_LOCKED) out[0] = &stm->u.locked.body;
  if (stm->kind == IMP_ONCE) out[0] = &stm->u.once.body;
  bool loops = stm->kind == IMP_FOR || stm->kind == IMP_WHILE;
  bool holds = stm->kind == IMP_ONCE || stm->kind == IMP_LOCKED;
  if (loops || holds) return 1;
  if (stm->kind == IMP_IF) {
    out[0] = &stm->u.cond.then_body;
    out[1] = &stm->u.cond.else_body;
    return 2;
  }
  if (stm->kind == IMP_GUARD) {
    out[0] = &stm->u.guard.then_body;
    out[1] = &stm->u.guard.else_body;
    return 2;
  }
  return 0;
}

const ImpStm *imp_map_blocks(const ImpStm *stm, ImpBlockFn fn, void *state) {
  const ImpBlock *inside[2];
  if (!imp_blocks(stm, inside)) return stm;
  ImpStm *out = mem_copy(stm, sizeof *stm);
  ImpBlock *blocks[2] = { NULL, NULL };
  if (stm->kind == IMP_FOR) blocks[0] = &out->u.loop.body;
  if (stm->kind == IMP_WHILE) blocks[0] = &out->u.loop_while.body;
  if (stm->kind == IMP_LOCKED) blocks[0] = &out->u.locked.body;
  if (stm->kind == IMP_ONCE) blocks[0] = &out->u.once.body;
  if (stm->kind == IMP_IF) {
    blocks[0] = &out->u.cond.then_body;
    blocks[1] = &out->u.cond.else_body;
  }
  if (stm->kind == IMP_GUARD) {
    blocks[0] = &out->u.guard.then_body;
    blocks[1] = &out->u.guard.else_body;
  }
  for (int i = 0; i < 2; i++)
    if (blocks[i]) *blocks[i] = fn(state, blocks[i]);
  return out;
}

static bool has_array(const KernelArrays *arrays, const Mem *mem) {
  vec_each (const Scratch *, s, arrays)
    if (s->mem == mem) return true;
  return false;
}

// Each array once: one whose size is found out is given room in several places.
static void find_local_arrays(const ImpBlock *block, MemSpace space, KernelArrays *out) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    bool wanted = stm->kind == IMP_LOCAL && stm->u.alloc.mem->space == space;
    if (wanted && !has_array(out, stm->u.alloc.mem))
      vec_push(out, (Scratch){ .mem = stm->u.alloc.mem, .count = stm->u.alloc.count });
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      find_local_arrays(inner[i], space, out);
  }
}

KernelArrays imp_kernel_arrays(const Kernel *kernel, MemSpace space) {
  KernelArrays out = { 0 };
  for (int i = 0; i < kernel->scratch_count; i++) {
    Scratch s = kernel->scratch[i];
    bool moved = kernel->own_local && s.mem->space == MEM_SCRATCH;
    if (moved) s.count = imp_mul(s.count, imp_i64(kernel->group_size));
    if ((moved ? MEM_LOCAL : s.mem->space) == space && !s.within) vec_push(&out, s);
  }
  if (space == MEM_LOCAL || space == MEM_ARENA)
    find_local_arrays(&kernel->body, space, &out);
  return out;
}

// ---- other kernels

static ImpBlock with_kernels(void *state, const ImpBlock *block) {
  const Map *replaced = state;
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, at, block) {
    const Kernel *with =
        (*at)->kind == IMP_LAUNCH ? map_get(replaced, (*at)->u.launch.kernel) : NULL;
    ImpStm *stm = mem_copy(imp_map_blocks(*at, with_kernels, state), sizeof *stm);
    if (with) stm->u.launch.kernel = with;
    vec_push(&out, stm);
  }
  return out;
}

void imp_replace_kernels(ImpProgram *program, Map *replaced) {
  if (map_count(replaced) == 0) return;
  for (int i = 0; i < program->entry_count; i++) {
    ImpEntry *entry = mem_copy(program->entries[i], sizeof *entry);
    entry->body = with_kernels(replaced, &entry->body);
    program->entries[i] = entry;
  }
  for (int i = 0; i < program->kernel_count; i++) {
    const Kernel *with = map_get(replaced, program->kernels[i]);
    if (with) program->kernels[i] = with;
  }
}

// ---- which variables matter

typedef struct Live {
  Map *vars;
  bool changed;
} Live;

static void mark_exp(void *state, const ImpExp *e) {
  Live *live = state;
  if (e->kind == IMP_VAR && !map_has(live->vars, e->u.var)) {
    map_put(live->vars, e->u.var, e->u.var);
    live->changed = true;
  }
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    mark_exp(state, operands[i]);
}

static bool matters(const Live *live, const ImpStm *stm) {
  if (stm->kind == IMP_DECLARE) return map_has(live->vars, stm->u.declare.var);
  if (stm->kind == IMP_ASSIGN) return map_has(live->vars, stm->u.assign.var);
  return true;
}

// Backwards, so that one round settles code without loops.
static void mark_block(Live *live, const ImpBlock *block) {
  for (int i = block->count - 1; i >= 0; i--) {
    const ImpStm *stm = block->at[i];
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int k = count - 1; k >= 0; k--)
      mark_block(live, inner[k]);
    if (matters(live, stm)) imp_each_exp(stm, mark_exp, live);
  }
}

Map *imp_live(const ImpBlock *block, const ImpExp *const *extra, int extra_count) {
  Live live = { map_new(NULL), true };
  each_of(extra, extra_count, mark_exp, &live);
  for (live.changed = true; live.changed;) {
    live.changed = false;
    mark_block(&live, block);
  }
  return live.vars;
}

// ---- which types occur

typedef struct Uses {
  PrimType type;
  bool found;
  const Map *live;
} Uses;

static void use_type(Uses *uses, PrimType type) {
  uses->found = uses->found || type == uses->type;
}

static void use_exp(void *state, const ImpExp *e) {
  use_type(state, e->type);
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    use_exp(state, operands[i]);
}

static void use_block(Uses *uses, const ImpBlock *block);

static void use_stm(Uses *uses, const ImpStm *stm) {
  const Var *var = stm->kind == IMP_DECLARE  ? stm->u.declare.var
                   : stm->kind == IMP_ASSIGN ? stm->u.assign.var
                                             : NULL;
  if (var && !map_has(uses->live, var)) return;
  if (var) use_type(uses, var->type.elem);
  if (stm->kind == IMP_LOCAL) use_type(uses, stm->u.alloc.mem->elem);
  imp_each_exp(stm, use_exp, uses);
  const ImpBlock *inner[2];
  int count = imp_blocks(stm, inner);
  for (int i = 0; i < count; i++)
    use_block(uses, inner[i]);
}

static void use_block(Uses *uses, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block)
    use_stm(uses, *stm);
}

static bool function_uses(Compiler *c, const Function *function, PrimType type) {
  const ImpFunction *body = imp_lower_function(c, function);
  Uses uses = { type, false,
                imp_live(&body->body, body->results, function->result_count) };
  for (int i = 0; i < function->param_count; i++)
    use_type(&uses, function->params[i]->type.elem);
  each_of(body->results, function->result_count, use_exp, &uses);
  use_block(&uses, &body->body);
  return uses.found;
}

bool imp_kernel_uses(Compiler *c, const Kernel *kernel, PrimType type) {
  Uses uses = { type, false, imp_live(&kernel->body, NULL, 0) };
  for (int i = 0; i < kernel->param_count; i++) {
    const KernelParam *p = &kernel->params[i];
    use_type(&uses, p->is_mem ? p->mem->elem : p->var->type.elem);
  }
  for (int i = 0; i < kernel->scratch_count; i++)
    use_type(&uses, kernel->scratch[i].mem->elem);
  for (int i = 0; i < kernel->function_count && !uses.found; i++)
    uses.found = function_uses(c, kernel->functions[i], type);
  use_block(&uses, &kernel->body);
  return uses.found;
}

// ---- equality

static bool same_operands(const ImpExp *a, const ImpExp *b) {
  const ImpExp *of_a[3], *of_b[3];
  int count = imp_operands(a, of_a);
  if (count != imp_operands(b, of_b)) return false;
  bool commutes = a->kind == IMP_OP && (a->u.op.op == OP_MUL || a->u.op.op == OP_ADD);
  if (commutes && imp_same(of_a[0], of_b[1]) && imp_same(of_a[1], of_b[0])) return true;
  for (int i = 0; i < count; i++)
    if (!imp_same(of_a[i], of_b[i])) return false;
  return true;
}

bool imp_same(const ImpExp *a, const ImpExp *b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->type != b->type) return false;
  if (a->kind == IMP_VAR) return a->u.var == b->u.var;
  if (a->kind == IMP_CONST) return a->u.constant.u.i == b->u.constant.u.i;
  if (a->kind == IMP_TUNING) return a->u.tuning == b->u.tuning;
  if (a->kind == IMP_OP && a->u.op.op != b->u.op.op) return false;
  bool compound = a->kind == IMP_OP || a->kind == IMP_CONVERT;
  return compound && same_operands(a, b);
}
