// Arrays of work-items, in code for GPUs, lie in local memory where they are small:
//
//   launch k <n items> (scratch a m)
//   =>  if m * 4 <= segmap_own_bytes { launch k_own <groups of 64> (local a m * 64) } else { .. }
//
// Why: tables of dynamic programs, rows that are sorted and stacks are read and written over and
// over.  In global memory each such access is a request, and of the writes all reach the second
// cache at least.  More bytes than that leave a multiprocessor too few items to hide what else
// they wait for.
#include "imp/lower/lower.h"
#include <string.h>

enum { GROUP = 64, OWN_BYTES = 288 };

static bool is_root(const Scratch *s) {
  return s->mem->space == MEM_SCRATCH && !s->within;
}

// What an item has; NULL: nothing.
static const ImpExp *own_bytes(const Kernel *kernel) {
  const ImpExp *bytes = NULL;
  for (int i = 0; i < kernel->scratch_count; i++) {
    const Scratch *s = &kernel->scratch[i];
    if (!is_root(s)) continue;
    const ImpExp *count = imp_max(imp_i64(0), s->count),
                 *own = imp_mul(count, imp_i64(prim_size_bytes(s->mem->elem)));
    bytes = bytes ? imp_add(bytes, own) : own;
  }
  return bytes;
}

// Some of local memory is all that a kernel may have.
static bool may_lie_in_local(const Code *host, const Kernel *kernel) {
  return host->lower->profile == PROFILE_GPU && !kernel->has_barrier &&
         !kernel->uses_arena;
}

// segmap_12  =>  segmap_own_12
static Name name_of_own(Code *host, Name name) {
  const char *number = strrchr(name, '_');
  return name_of(host->lower->c->names,
                 text_format("%.*s_own%s", (int)(number - name), name, number));
}

bool launch_with_own(Code *host, const ImpStm *launch) {
  const Kernel *kernel = launch->u.launch.kernel;
  const ImpExp *items = launch->u.launch.items;
  if (!items || !may_lie_in_local(host, kernel)) return false;
  const ImpExp *bytes = own_bytes(kernel);
  if (!bytes) return false;
  Kernel *own = mem_copy(kernel, sizeof *kernel);
  own->name = name_of_own(host, kernel->name);
  own->own_local = own->sized = true;
  own->group_size = GROUP;
  vec_push(&host->lower->kernels, own);
  ImpStm local = *launch, global = *launch;
  local.u.launch.kernel = own;
  local.u.launch.items = NULL;
  local.u.launch.groups = imp_ceil_div(items, imp_i64(GROUP));
  local.u.launch.group_size = imp_i64(GROUP);
  ImpBuilder few = { .c = host->b->c, .loc = host->b->loc }, many = few;
  imp_add_stm(&few, local);
  imp_add_stm(&many, global);
  const ImpExp *limit =
      tuning_param(host->lower, "segmap_own_bytes", "bytes", OWN_BYTES, OWN_BYTES);
  imp_if_else(host->b, imp_op2(OP_LE, bytes, limit), few.block, many.block);
  return true;
}
