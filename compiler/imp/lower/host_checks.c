//        kernel { if gid < n { check c(m); .. } }
//   =>   check n <= 0 || c(m); kernel { if gid < n { .. } }
//
// On GPUs: checks that every item makes alike are made once, by the host.  Only those before which
// nothing else can fail, or go on forever, so that the failure that is reported stays the same.
#include "imp/lower/lower.h"

static void note_declared(Map *bound, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (stm->kind == IMP_DECLARE) map_put(bound, stm->u.declare.var, stm);
    if (stm->kind == IMP_FOR) map_put(bound, stm->u.loop.var, stm);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      note_declared(bound, inner[i]);
  }
}

static bool host_knows(const Map *bound, const ImpExp *e) {
  bool pure = e->kind == IMP_OP || e->kind == IMP_CONVERT || e->kind == IMP_BITS ||
              e->kind == IMP_SELECT || e->kind == IMP_CONST;
  if (e->kind == IMP_VAR ? map_has(bound, e->u.var) : !pure) return false;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (!host_knows(bound, operands[i])) return false;
  return true;
}

static bool host_can_check(const Map *bound, const ImpStm *stm) {
  if (stm->kind != IMP_CHECK || stm->u.check.condition->lanes) return false;
  for (int i = 0; i < stm->u.check.value_count; i++)
    if (!host_knows(bound, stm->u.check.values[i])) return false;
  return host_knows(bound, stm->u.check.condition);
}

static void check_on_host(Code *host, const ImpStm *stm, const ImpExp *points) {
  const ImpExp *nobody = imp_op2(OP_LE, points, imp_i64(0));
  code_check(host, imp_op2(OP_LOR, nobody, stm->u.check.condition), stm->u.check.parts,
             stm->u.check.values, stm->u.check.value_count, stm->loc);
}

static bool has_check(const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind == IMP_CHECK) return true;
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      if (has_check(inner[i])) return true;
  }
  return false;
}

// Does what stands behind it always come by?
static bool goes_on(const ImpStm *stm) {
  if (stm->kind == IMP_WHILE || stm->kind == IMP_CHECK || stm->kind == IMP_CALL ||
      stm->kind == IMP_LOCAL)
    return false;
  const ImpBlock *inner[2];
  int count = imp_blocks(stm, inner);
  for (int i = 0; i < count; i++)
    vec_each (const ImpStm **, at, inner[i])
      if (!goes_on(*at)) return false;
  return true;
}

void move_checks_to_host(Code *host, KernelCode *kernel, ImpBlock *block,
                         const ImpExp *points) {
  if (host->lower->machine->by_axes || !kernel->may_fail) return;
  Map *bound = map_new(NULL);
  ImpBlock rest = { 0 };
  bool first = true;
  note_declared(bound, &kernel->b.block);
  note_declared(bound, block);
  vec_each (const ImpStm **, stm, block) {
    bool moved = first && host_can_check(bound, *stm);
    if (moved) check_on_host(host, *stm, points);
    if (!moved) vec_push(&rest, *stm);
    first = moved || (first && goes_on(*stm));
  }
  *block = rest;
  kernel->may_fail = has_check(&kernel->b.block) || has_check(block);
}
