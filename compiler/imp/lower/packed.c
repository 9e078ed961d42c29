// scan { flag } after (sum) { if 0 <= sum - 1 && sum - 1 < n { t[sum - 1] = x } }, in lanes  =>
//
//   count = how many flags are set
//   if 0 <= before && before + count <= n { pack x where flag, from t[before] on }
//   else { sums, and a store for each lane }
//
// kern/packed.h says of which stores.  Places are never computed, but where something is stored
// that is not counted.
#include "kern/packed.h"
#include "imp/lower/kern.h"

typedef struct PackedCode {
  KernCode *kc;
  const PackedScan *scan;
  const ImpExp **flags, **counts;
} PackedCode;

static const ImpExp *piece_mask(const PackedCode *p, const PackedPiece *piece) {
  const ImpExp *flag = p->flags[piece->flag];
  return piece->others ? imp_op1(OP_NOT, flag) : flag;
}

static const ImpExp *piece_count(const PackedCode *p, const PackedPiece *piece) {
  const ImpExp *count = p->counts[piece->flag];
  return piece->others ? imp_sub(imp_i64(p->kc->lanes), count) : count;
}

// Do the elements of the piece lie as it says?
static const ImpExp *piece_holds(const PackedCode *p, const PackedStore *store,
                                 const PackedPiece *piece) {
  const ImpExp *holds = imp_const(prim_bool(true));
  if (piece->only) {
    const ImpExp *only = lower_vector(p->kc, piece->only);
    PrimOp op = piece->others ? OP_NE : OP_EQ;
    const ImpExp *alike = imp_op2(op, only, p->flags[piece->flag]);
    holds = imp_and(holds, imp_over_lanes(IMP_ALL, declared(p->kc, "alike", alike)));
  }
  if (!store->width) return holds;
  const ImpExp *first = declared(p->kc, "first", lower_scalar(p->kc, piece->first));
  const ImpExp *end = imp_add(first, piece_count(p, piece));
  holds = imp_and(holds, imp_op2(OP_LE, imp_i64(0), first));
  return imp_and(holds, imp_op2(OP_LE, end, lower_scalar(p->kc, store->width)));
}

// Sums of 32 bits, that do not wrap on the way?
static const ImpExp *sums_fit(const PackedCode *p, const Axis *axis) {
  const ImpExp *fit = imp_const(prim_bool(true));
  for (int i = 0; axis->inits && i < kern_sum_count(axis); i++) {
    if (axis->sums[i]->type.elem != PRIM_I32) continue;
    const ImpExp *before = lower_scalar(p->kc, axis->inits[i]);
    const ImpExp *end = imp_add(imp_convert(PRIM_I64, before), p->counts[i]);
    fit = imp_and(fit, imp_op2(OP_LE, end, imp_i64(INT32_MAX)));
  }
  return fit;
}

static const ImpExp *all_hold(const PackedCode *p, const Axis *axis) {
  const ImpExp *holds = sums_fit(p, axis);
  for (int i = 0; i < p->scan->stores.count; i++) {
    const PackedStore *store = p->scan->stores.at[i];
    for (int k = 0; k < store->count; k++)
      holds = imp_and(holds, piece_holds(p, store, &store->pieces[k]));
  }
  return holds;
}

static void store_pieces(const PackedCode *p, const PackedStore *store) {
  const Arr *arr = memory_at(p->kc, store->to.tensor);
  const ImpExp *value = declared(p->kc, "value", lower_vector(p->kc, store->value));
  for (int k = 0; k < store->count; k++) {
    const PackedPiece *piece = &store->pieces[k];
    const ImpExp *at = imp_add(arr->offset, lower_scalar(p->kc, piece->first));
    const ImpExp *mask = declared(p->kc, "mask", piece_mask(p, piece));
    add_stm(p->kc, (ImpStm){ .kind = IMP_STORE,
                             .u.store = { arr->mem, at, value, NULL, mask, 0, true,
                                          store->over } });
  }
}

static void store_packed(const PackedCode *p) {
  for (int i = 0; i < p->scan->stores.count; i++)
    store_pieces(p, p->scan->stores.at[i]);
}

static ImpBlock packed_stores(const PackedCode *p) {
  ImpBuilder b;
  Code code;
  KernCode inner = inner_code(p->kc, &code, &b);
  store_packed(&(PackedCode){ &inner, p->scan, p->flags, p->counts });
  return b.block;
}

static ImpBlock single_stores(KernCode *kc, const Axis *axis, const PackedScan *scan) {
  ImpBuilder b;
  Code code;
  KernCode inner = inner_code(kc, &code, &b);
  lower_scan_sums(&inner, axis);
  lower_block(&inner, scan->counted);
  return b.block;
}

static bool lie_dense(KernCode *kc, const PackedScan *scan) {
  for (int i = 0; i < scan->stores.count; i++) {
    const Arr *arr = memory_at(kc, scan->stores.at[i]->to.tensor);
    bool global = arr->mem->space == MEM_GLOBAL || arr->mem->space == MEM_SCRATCH;
    if (arr->mem->lanes || !global || !imp_is_i64(arr->strides[0], 1)) return false;
  }
  return true;
}

static void count_flags(PackedCode *p, KernCode *outer, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  for (int i = 0; i < kern_sum_count(axis); i++) {
    p->flags[i] = declared(p->kc, "flag", lower_vector(p->kc, p->scan->flags[i]));
    p->counts[i] = declared(p->kc, "count", imp_over_lanes(IMP_COUNT, p->flags[i]));
    if (!stm->binder_count) continue;
    const Var *binder = stm->binders[i];
    PrimType type = binder->type.elem;
    const ImpExp *count = imp_convert(type, p->counts[i]);
    const ImpExp *before =
        axis->inits ? lower_scalar(outer, axis->inits[i]) : imp_const(prim_zero(type));
    declare_copy(outer, binder, copies_new(outer, binder, 0),
                 imp_op2(OP_ADD, before, count));
  }
}

bool lower_packed_scan(KernCode *outer, KernCode *kc, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  if (outer->mask || outer->open || outer->lanes) return false;
  const PackedScan *scan = kern_packed_scan(kc->k->lower->c, kc->vary, axis);
  if (!scan || !lie_dense(kc, scan)) return false;
  int count = kern_sum_count(axis);
  PackedCode p = { kc, scan, new_array(const ImpExp *, count + 1),
                   new_array(const ImpExp *, count + 1) };
  count_flags(&p, outer, stm);
  lower_block(kc, scan->plain);
  if (!scan->stores.count) return true;
  const ImpExp *holds = all_hold(&p, axis);
  if (imp_is_true(holds))
    store_packed(&p);
  else
    add_stm(kc, (ImpStm){ .kind = IMP_IF,
                          .u.cond = { declared(kc, "packed", holds), packed_stores(&p),
                                      single_stores(kc, axis, scan) } });
  return true;
}
