// Arrays of work-items, in code for GPUs, lie in local memory where they are small:
//
//   launch k <n items> (scratch a m)
//   =>  if m * 4 <= segmap_own_bytes { launch k_own <groups of 64> (local a m * 64) } else { .. }
//
// So do those of items whose groups stage what they read (kern/schedules/groups.h), beside what is
// staged.
//
// Why: tables of dynamic programs, rows that are sorted and stacks are read and written over and
// over.  In global memory each such access is a request, and of the writes all reach the second
// cache at least.  More bytes than that leave a multiprocessor too few items to hide what else
// they wait for.
#include "imp/lower/lower.h"
#include <string.h>

enum { GROUP = 64, OWN_BYTES = 288, LOCAL_BYTES = 32768 };

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

static bool is_of_groups(const Kernel *kernel) {
  return kernel->plan && kernel->group_size > 0;
}

// Some of local memory is all that a kernel may have.
static bool may_lie_in_local(const Code *host, const Kernel *kernel) {
  return host->lower->machine->local_memory && !kernel->uses_arena &&
         (!kernel->has_barrier || is_of_groups(kernel));
}

// What groups stage, which is of constant size.
static int64_t staged_bytes(const Kernel *kernel) {
  int64_t sum = 0;
  for (int i = 0; i < kernel->scratch_count; i++) {
    const Scratch *s = &kernel->scratch[i];
    if (s->mem->space == MEM_LOCAL)
      sum += s->count->u.constant.u.i * prim_size_bytes(s->mem->elem);
  }
  return sum;
}

// segmap_12  =>  segmap_own_12
static Name name_of_own(Code *host, Name name) {
  const char *number = strrchr(name, '_');
  return name_of(host->lower->c->names,
                 text_format("%.*s_own%s", (int)(number - name), name, number));
}

void launch_own(Code *host, Kernel *kernel, const ImpStm *launch) {
  ImpStm local = *launch;
  kernel->name = name_of_own(host, kernel->name);
  kernel->own_local = kernel->sized = true;
  local.u.launch.kernel = kernel;
  if (launch->u.launch.groups) {
    imp_add_stm(host->b, local);
    return;
  }
  kernel->group_size = GROUP;
  local.u.launch.items = NULL;
  local.u.launch.groups = imp_ceil_div(launch->u.launch.items, imp_i64(GROUP));
  local.u.launch.group_size = imp_i64(GROUP);
  imp_add_stm(host->b, local);
}

const ImpExp *own_is_small(Code *host, const Kernel *kernel) {
  const ImpExp *bytes = own_bytes(kernel), *small = NULL;
  if (!bytes) bytes = imp_i64(0);
  small = imp_op2(
      OP_LE, bytes,
      tuning_param(host->lower, "segmap_own_bytes", "bytes", OWN_BYTES, OWN_BYTES));
  if (!is_of_groups(kernel)) return small;
  const ImpExp *all = imp_mul(bytes, imp_i64(kernel->group_size));
  int64_t left = LOCAL_BYTES - staged_bytes(kernel);
  return imp_op2(OP_LAND, small, imp_op2(OP_LE, all, imp_i64(left)));
}

bool launch_with_own(Code *host, const ImpStm *launch) {
  const Kernel *kernel = launch->u.launch.kernel;
  if (!launch->u.launch.items && !is_of_groups(kernel)) return false;
  if (!may_lie_in_local(host, kernel) || !own_bytes(kernel)) return false;
  ImpBuilder few = { .c = host->b->c, .loc = host->b->loc }, many = few;
  Code local = *host;
  local.b = &few;
  Kernel *own = mem_copy(kernel, sizeof *kernel);
  vec_push(&host->lower->kernels, own);
  launch_own(&local, own, launch);
  imp_add_stm(&many, *launch);
  imp_if_else(host->b, own_is_small(host, kernel), few.block, many.block);
  return true;
}
