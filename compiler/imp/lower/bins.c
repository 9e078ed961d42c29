// Bins of a histogram to which several items add at the same time: by the atomic operation that the
// operator is; or in a loop that compares and exchanges,
//
//   old = ne; while (!done) { new = op old x; done = (dest[bin] was old and is new) }
//
// or, for several values and for those of other sizes, under a lock.
#include "imp/lower/bins.h"

static bool is_param(Atom a, const Var *param) {
  return a.kind == ATOM_VAR && a.u.var == param;
}

// The operation of `\x y -> x op y`, if it exists in atomic form.
static bool atomic_op(const RedOp *op, PrimOp *out) {
  const Body *body = op->op.body;
  if (body->stm_count != 1 || body->stms[0].exp->kind != EXP_OP) return false;
  const Exp *exp = body->stms[0].exp;
  const Var *x = op->op.params[0], *y = op->op.params[1];
  *out = exp->u.op.op;
  PrimType type = exp->u.op.type;
  bool bits = *out == OP_MIN || *out == OP_MAX || *out == OP_AND || *out == OP_OR ||
              *out == OP_XOR;
  bool exists = *out == OP_ADD || (bits && (type == PRIM_I32 || type == PRIM_U32));
  if (!exists || !is_param(body->results[0], body->stms[0].binders[0])) return false;
  const Atom *args = exp->u.op.args;
  return (is_param(args[0], x) && is_param(args[1], y)) ||
         (is_param(args[0], y) && is_param(args[1], x));
}

BinWay bin_way(const RedOp *op, int64_t atomic_bytes) {
  CoreType type = op->op.params[0]->type;
  int64_t bytes = prim_size_bytes(type.elem);
  bool one_word = op->count == 1 && type.rank == 0 && (bytes == 4 || bytes == 8);
  if (!one_word || bytes > atomic_bytes) return BIN_LOCKED;
  PrimOp atomic;
  if (!atomic_op(op, &atomic)) return BIN_EXCHANGED;
  return prim_is_float(type.elem) ? BIN_ADDED : BIN_ATOMIC;
}

// mem[at] = op mem[at] value, whatever the operator
static void exchange(Code *k, const RedOp *op, const Mem *mem, const ImpExp *at,
                     const ImpExp *value) {
  const Var *old = imp_declare(k->b, "old", imp_atom(op->neutral[0])),
            *done = imp_declare(k->b, "done", imp_const(prim_bool(false)));
  const ImpExp *before = imp_var(old);
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  Accs accs = accs_from(&inner, op, 1, &before);
  accs_apply(&inner, accs, &value);
  ImpStm stm = { .kind = IMP_ATOMIC,
                 .u.atomic = { OP_ADD, mem, at, accs_values(accs)[0], before, done,
                               ATOMIC_EXCHANGE } };
  imp_add_stm(&b, stm);
  ImpStm loop = { .kind = IMP_WHILE,
                  .u.loop_while = { imp_op1(OP_NOT, imp_var(done)), b.block } };
  imp_add_stm(k->b, loop);
}

static void update(Code *k, const RedOp *op, const Mem *mem, const ImpExp *at,
                   const ImpExp *value) {
  ImpStm stm = { .kind = IMP_ATOMIC, .u.atomic = { .mem = mem, .index = at } };
  stm.u.atomic.value = value;
  atomic_op(op, &stm.u.atomic.op);
  imp_add_stm(k->b, stm);
}

static void add_locked(Code *k, const Bins *bins, const ImpExp *bin,
                       const ImpExp *const *scalars, const Arr *const *arrays) {
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  hist_apply(&inner, bins->hist, bins->dests, bin, scalars, arrays);
  const ImpExp *lock = arr_index(&bins->locks, &bin);
  if (bins->lock_mask) lock = imp_op2(OP_AND, lock, imp_i64(bins->lock_mask));
  ImpStm locked = { .kind = IMP_LOCKED, .u.locked = { bins->locks.mem, lock, b.block } };
  imp_add_stm(k->b, locked);
}

void bins_add(Code *k, const Bins *bins, const ImpExp *bin, const ImpExp *const *scalars,
              const Arr *const *arrays) {
  const Arr *dest = bins->dests[0];
  switch (bins->way) {
  case BIN_ATOMIC:
  case BIN_ADDED:
    update(k, &bins->hist->op, dest->mem, arr_index(dest, &bin), scalars[0]);
    return;
  case BIN_EXCHANGED:
    exchange(k, &bins->hist->op, dest->mem, arr_index(dest, &bin), scalars[0]);
    return;
  case BIN_LOCKED: add_locked(k, bins, bin, scalars, arrays); return;
  }
}

void bins_round(Code *k, const Bins *bins, int count, const ImpExp *const *scalars,
                const Arr *const *arrays) {
  for (int i = 0, first = count; i < count; first += bins[i++].hist->op.count) {
    ImpBuilder b;
    Code inner = code_inner(k, &b);
    const ImpExp *bin = scalars[i];
    bins_add(&inner, &bins[i], bin, scalars + first, arrays + first);
    const ImpExp *width = imp_atom(bins[i].hist->width);
    imp_if(k->b, imp_and(imp_op2(OP_LE, imp_i64(0), bin), imp_less(bin, width)), b.block);
  }
}
