//        for i < n { let x = a[k]; b[i] = x + i }
//   =>   if (0 < n) { let x = a[k]; for i < n { b[i] = x + i } }
//
// Why: the device's compiler must assume that the stores of a loop change what it loads, and LLVM
// takes the address of an invariant load, where a loop further out advances it, for one that this
// loop advances by a stride that might be 1: it makes vectors for that case alone.
#include "base/map.h"
#include "imp/imp.h"

typedef struct ImpHoist {
  const ImpStm *loop;
  Map *varies;   // Var: the index, what the body assigns, what stays in it
  Map *stored;   // Mem: what the body stores to
  bool checked;  // a check has gone before: what follows may be out of bounds without it
  bool loads;    // a load is moved
} ImpHoist;

// ---- what the body changes

static void see_changes(ImpHoist *h, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (stm->kind == IMP_ASSIGN) map_put(h->varies, stm->u.assign.var, h);
    if (stm->kind == IMP_STORE) map_put(h->stored, stm->u.store.mem, h);
    if (stm->kind == IMP_ATOMIC) map_put(h->stored, stm->u.atomic.mem, h);
    if (stm->kind == IMP_LOCKED) map_put(h->stored, stm->u.locked.locks, h);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      see_changes(h, inner[i]);
  }
}

// Constant over the loop; loads only of memory that the host made and the body leaves alone.
static bool is_invariant(const ImpHoist *h, const ImpExp *e, bool *loads) {
  const Mem *mem = e->kind == IMP_LOAD      ? e->u.load.mem
                   : e->kind == IMP_STRIDED ? e->u.strided.mem
                                            : NULL;
  if (mem && (mem->space != MEM_GLOBAL || map_has(h->stored, mem))) return false;
  if (mem) *loads = true;
  if (e->kind == IMP_VAR && map_has(h->varies, e->u.var)) return false;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (!is_invariant(h, operands[i], loads)) return false;
  return true;
}

// ---- moving

static void see_declared(ImpHoist *h, const ImpStm *stm) {
  if (stm->kind == IMP_DECLARE) map_put(h->varies, stm->u.declare.var, h);
  for (int i = 0; stm->kind == IMP_CALL && i < stm->u.call.var_count; i++)
    map_put(h->varies, stm->u.call.vars[i], h);
  if (stm->kind == IMP_CHECK) h->checked = true;
}

static bool moves(ImpHoist *h, const ImpStm *stm) {
  if (stm->kind != IMP_DECLARE || !stm->u.declare.value) return false;
  if (map_has(h->varies, stm->u.declare.var)) return false;  // assigned to
  bool loads = false;
  if (!is_invariant(h, stm->u.declare.value, &loads) || (loads && h->checked))
    return false;
  h->loads = h->loads || loads;
  return true;
}

static const ImpStm *with_body(const ImpStm *loop, ImpBlock body) {
  ImpStm *out = mem_copy(loop, sizeof *loop);
  out->u.loop.body = body;
  return out;
}

static void add_loop(ImpHoist *h, const ImpBlock *body, ImpBlock *out) {
  ImpBlock before = { 0 }, inside = { 0 };
  map_put(h->varies, h->loop->u.loop.var, h);
  see_changes(h, body);
  vec_each (const ImpStm **, stm, body) {
    bool moved = moves(h, *stm);
    vec_push(moved ? &before : &inside, *stm);
    if (!moved) see_declared(h, *stm);
  }
  const ImpStm *loop = with_body(h->loop, inside);
  vec_push(&before, loop);
  if (!h->loads) {
    vec_each (const ImpStm **, stm, &before)
      vec_push(out, *stm);
    return;
  }
  const ImpExp *runs = imp_op2(OP_LT, imp_i64(0), loop->u.loop.bound);
  vec_push(out, new_node(ImpStm, .kind = IMP_IF, .loc = loop->loc,
                         .u.cond = { .condition = runs, .then_body = before }));
}

static const ImpStm *in_branches(const ImpStm *stm) {
  ImpStm *out = mem_copy(stm, sizeof *stm);
  if (stm->kind == IMP_WHILE) out->u.loop_while.body = imp_hoist(&stm->u.loop_while.body);
  if (stm->kind == IMP_IF) {
    out->u.cond.then_body = imp_hoist(&stm->u.cond.then_body);
    out->u.cond.else_body = imp_hoist(&stm->u.cond.else_body);
  }
  return out;
}

ImpBlock imp_hoist(const ImpBlock *block) {
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind != IMP_FOR) {
      vec_push(&out, in_branches(*stm));
      continue;
    }
    ImpHoist h = { .loop = *stm, .varies = map_new(NULL), .stored = map_new(NULL) };
    ImpBlock body = imp_hoist(&(*stm)->u.loop.body);
    add_loop(&h, &body, &out);
  }
  return out;
}
