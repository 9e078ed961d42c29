// What a kernel does with the arrays that it is given.
#include "imp/imp.h"

typedef struct AccessSearch {
  const Mem *mem;
  ImpAccess found;
} AccessSearch;

static void find_reads(void *state, const ImpExp *e) {
  AccessSearch *s = state;
  if (!e || s->found.reads) return;
  if ((e->kind == IMP_LOAD && e->u.load.mem == s->mem) ||
      (e->kind == IMP_STRIDED && e->u.strided.mem == s->mem)) {
    s->found.reads = true;
    return;
  }
  const ImpExp *operands[3] = { NULL };
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    find_reads(s, operands[i]);
}

static void find_accesses(AccessSearch *s, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    imp_each_exp(stm, find_reads, s);
    bool atomic = (stm->kind == IMP_ATOMIC && stm->u.atomic.mem == s->mem) ||
                  (stm->kind == IMP_LOCKED && stm->u.locked.locks == s->mem);
    bool store = stm->kind == IMP_STORE && stm->u.store.mem == s->mem;
    s->found.reads = s->found.reads || atomic;
    s->found.writes = s->found.writes || atomic || store;
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      find_accesses(s, inner[i]);
  }
}

ImpAccess imp_access(const Kernel *kernel, int param) {
  AccessSearch s = { .mem = kernel->params[param].mem };
  if (kernel->params[param].is_mem) find_accesses(&s, &kernel->body);
  return s.found;
}
