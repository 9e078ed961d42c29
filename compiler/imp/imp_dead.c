// alloc m; launch k (.., m)   =>   nothing, if k only writes m and nothing reads it.
//
// Why: an iota that a version reads as positions, an array that one version of several needs: Flat
// still mentions them, the kernels that were made do not.
#include "base/map.h"
#include "imp/imp.h"

typedef struct Dead {
  Map *used;     // Mem: something reads it, or may
  bool changed;  // a launch has gone
  bool grown;    // `used` has
} Dead;

// ---- what a kernel stores to

static void see_stores(Map *mems, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (stm->kind == IMP_STORE) map_put(mems, stm->u.store.mem, stm);
    if (stm->kind == IMP_ATOMIC) map_put(mems, stm->u.atomic.mem, stm);
    if (stm->kind == IMP_LOCKED) map_put(mems, stm->u.locked.locks, stm);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      see_stores(mems, inner[i]);
  }
}

// Does running it change nothing but arrays that nobody reads?
static bool is_idle(const Dead *d, const ImpStm *launch) {
  const Kernel *kernel = launch->u.launch.kernel;
  Map *stored = map_new(NULL);
  if (kernel->may_fail || kernel->uses_arena) return false;
  see_stores(stored, &kernel->body);
  for (int i = 0; i < kernel->param_count; i++) {
    const KernelParam *param = &kernel->params[i];
    bool stores = param->is_mem && map_has(stored, param->mem);
    if (stores && map_has(d->used, launch->u.launch.args[i].mem)) return false;
  }
  return true;
}

// ---- what is used

static void use(Dead *d, const Mem *mem) {
  if (!mem || map_has(d->used, mem)) return;
  map_put(d->used, mem, mem);
  d->grown = true;
}

static void use_results(Dead *d, const ImpParam *results, int count) {
  for (int i = 0; i < count; i++)
    if (results[i].is_array) use(d, results[i].arr.mem);
}

// A kernel may read what it stores to; then something has to want what it makes of it, for a start.
static void use_args(Dead *d, const ImpStm *launch) {
  const Kernel *kernel = launch->u.launch.kernel;
  Map *stored = map_new(NULL);
  see_stores(stored, &kernel->body);
  for (int i = 0; i < kernel->param_count; i++)
    if (kernel->params[i].is_mem && !map_has(stored, kernel->params[i].mem))
      use(d, launch->u.launch.args[i].mem);
}

static void use_code(Dead *d, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (stm->kind == IMP_SHARE || stm->kind == IMP_UNIQUE) {
      use(d, stm->u.share.to);
      use(d, stm->u.share.from);
    }
    if (stm->kind == IMP_READ) use(d, stm->u.read.mem);
    if (stm->kind == IMP_AWAIT) use(d, stm->u.mem.mem);
    if (stm->kind == IMP_GATHER) {
      use(d, stm->u.gather.to);
      use(d, stm->u.gather.from);
      use(d, stm->u.gather.positions);
      use(d, stm->u.gather.values);
    }
    if (stm->kind == IMP_ONCE) use(d, stm->u.once.mem);
    if (stm->kind == IMP_GUARD)
      use_results(d, stm->u.guard.results, stm->u.guard.result_count);
    if (stm->kind == IMP_LAUNCH) use_args(d, stm);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      use_code(d, inner[i]);
  }
}

// What launches read that something is made of, and store to besides.
static void use_read(Dead *d, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (stm->kind == IMP_LAUNCH && !is_idle(d, stm))
      for (int i = 0; i < stm->u.launch.kernel->param_count; i++)
        if (imp_access(stm->u.launch.kernel, i).reads) use(d, stm->u.launch.args[i].mem);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      use_read(d, inner[i]);
  }
}

// ---- removing

static ImpBlock without_idle(void *state, const ImpBlock *block) {
  Dead *d = state;
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    bool idle = stm->kind == IMP_LAUNCH && is_idle(d, stm);
    d->changed = d->changed || idle;
    if (!idle) vec_push(&out, imp_map_blocks(stm, without_idle, d));
  }
  return out;
}

// Memory that no launch mentions is not made.
static void see_mentioned(Map *mentioned, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (stm->kind == IMP_TABLE) map_put(mentioned, stm->u.table.mem, stm);
    for (int i = 0; stm->kind == IMP_LAUNCH && i < stm->u.launch.arg_count; i++)
      if (stm->u.launch.args[i].mem) map_put(mentioned, stm->u.launch.args[i].mem, stm);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      see_mentioned(mentioned, inner[i]);
  }
}

static ImpBlock without_memory(void *state, const ImpBlock *block) {
  const Map *mentioned = state;
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    const Mem *mem = stm->kind == IMP_ALLOC ? stm->u.alloc.mem
                     : stm->kind == IMP_DECLARE_MEM || stm->kind == IMP_RELEASE
                         ? stm->u.mem.mem
                         : NULL;
    if (!mem || map_has(mentioned, mem))
      vec_push(&out, imp_map_blocks(stm, without_memory, state));
  }
  return out;
}

static const ImpEntry *without_dead(const ImpEntry *entry) {
  ImpEntry *out = mem_copy(entry, sizeof *entry);
  Dead d = { .changed = true };
  while (d.changed) {
    d = (Dead){ .used = map_new(NULL) };
    use_results(&d, out->results, out->result_count);
    use_results(&d, out->params, out->entry->param_count);
    use_code(&d, &out->body);
    for (d.grown = true; d.grown;) {
      d.grown = false;
      use_read(&d, &out->body);
    }
    out->body = without_idle(&d, &out->body);
  }
  see_mentioned(d.used, &out->body);
  out->body = without_memory(d.used, &out->body);
  return out;
}

static void keep_launched(Map *kept, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpBlock *inner[2];
    int count = imp_blocks(*at, inner);
    if ((*at)->kind == IMP_LAUNCH) map_put(kept, (*at)->u.launch.kernel, *at);
    for (int i = 0; i < count; i++)
      keep_launched(kept, inner[i]);
  }
}

void imp_drop_dead(ImpProgram *program) {
  Map *kept = map_new(NULL);
  for (int i = 0; i < program->entry_count; i++) {
    program->entries[i] = without_dead(program->entries[i]);
    keep_launched(kept, &program->entries[i]->body);
  }
  int count = 0;
  for (int i = 0; i < program->kernel_count; i++)
    if (map_has(kept, program->kernels[i]))
      program->kernels[count++] = program->kernels[i];
  program->kernel_count = count;
}
