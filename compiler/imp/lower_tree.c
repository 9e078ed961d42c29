// What the items of a group have, combined in local memory in as many steps as the logarithm of
// their number, a barrier after each.  Any associative operator.
#include "imp/lower_tree.h"

const ImpExp *host_doublings(Code *host, const ImpExp *count) {
  const ImpExp *zeros = imp_op1(OP_CLZ, imp_sub(count, imp_i64(1)));
  const ImpExp *bits = imp_sub(imp_i64(64), imp_convert(PRIM_I64, zeros));
  return imp_named(host->b, "steps", imp_max(imp_i64(1), bits));
}

const ImpExp *const *values_load(const Mem *const *mems, int count, const ImpExp *at) {
  const ImpExp **values = new_array(const ImpExp *, count + 1);
  for (int i = 0; i < count; i++)
    values[i] = imp_load(mems[i], at);
  return values;
}

void values_store(ImpBuilder *b, const Mem *const *mems, int count, const ImpExp *at,
                  const ImpExp *const *values) {
  for (int i = 0; i < count; i++)
    imp_store(b, mems[i], at, values[i]);
}

// to = op left right, values at these places of the parts
static void combine_parts(const Parts *p, Code *k, const ImpExp *left,
                          const ImpExp *right, const ImpExp *to) {
  const Mem *const *mems = p->mems;
  Accs accs =
      accs_from(k, p->seg->ops, p->seg->op_count, values_load(mems, p->count, left));
  accs_apply(k, accs, values_load(mems, p->count, right));
  values_store(k->b, mems, p->count, to, accs_values(accs));
}

// for i < steps { apart = 1 << i; .. barrier }
typedef struct Doubling {
  const Var *i;
  const ImpExp *apart;
  Code code;
  ImpBuilder b;
} Doubling;

static void doubling_open(Doubling *d, Code *k, const ImpExp *first) {
  d->i = code_index(k, "i");
  d->code = code_inner(k, &d->b);
  d->code.active = NULL;
  d->apart = imp_let(
      &d->b, "apart",
      imp_op2(first ? OP_SHR : OP_SHL, first ? first : imp_i64(1), imp_var(d->i)));
}

static void doubling_close(Doubling *d, Code *k, const ImpExp *steps) {
  imp_add_stm(&d->b, (ImpStm){ .kind = IMP_BARRIER });
  imp_for(k->b, d->i, steps, d->b.block);
}

// parts[item] = op parts[item] parts[item + apart], of 2 apart neighbours the first
void parts_tree(const Parts *p, Code *k, PartRun run) {
  Doubling d;
  ImpBuilder pair;
  doubling_open(&d, k, NULL);
  const ImpExp *mask = imp_sub(imp_mul(imp_i64(2), d.apart), imp_i64(1));
  const ImpExp *leads = imp_op2(OP_EQ, imp_op2(OP_AND, run.position, mask), imp_i64(0));
  const ImpExp *has_other = imp_less(imp_add(run.position, d.apart), run.count);
  if (run.active) has_other = imp_and(has_other, run.active);
  Code inner = code_inner(&d.code, &pair);
  const ImpExp *away = p->stride ? imp_mul(d.apart, p->stride) : d.apart;
  combine_parts(p, &inner, p->item, imp_add(p->item, away), p->item);
  imp_if(&d.b, imp_and(leads, has_other), pair.block);
  doubling_close(&d, k, run.steps);
}

// The same for all items, with apart = .., 4, 2, 1, so that whole warps soon have nothing to do.
void parts_halve(const Parts *p, Code *k) {
  Doubling d;
  ImpBuilder pair;
  const ImpExp *size = imp_item(ITEM_LOCAL_SIZE), *steps = imp_item(ITEM_LOCAL_STEPS);
  const ImpExp *half = imp_op2(OP_SHL, imp_i64(1), imp_sub(steps, imp_i64(1)));
  doubling_open(&d, k, half);
  const ImpExp *pairs = imp_min(d.apart, imp_sub(size, d.apart));
  Code inner = code_inner(&d.code, &pair);
  combine_parts(p, &inner, p->item, imp_add(p->item, d.apart), p->item);
  imp_if(&d.b, imp_less(p->item, pairs), pair.block);
  doubling_close(&d, k, steps);
}

const ImpExp *parts_scan(const Parts *p, Code *k, PartRun run) {
  Doubling d;
  ImpBuilder pair, alone;
  const ImpExp *size = imp_item(ITEM_LOCAL_SIZE);
  doubling_open(&d, k, NULL);
  const ImpExp *old =
      imp_let(&d.b, "old", imp_mul(imp_rem(imp_var(d.i), imp_i64(2)), size));
  const ImpExp *from = imp_add(old, p->item), *to = imp_add(imp_sub(size, old), p->item);
  Code inner = code_inner(&d.code, &pair);
  combine_parts(p, &inner, imp_sub(from, d.apart), from, to);
  alone = (ImpBuilder){ .c = d.b.c, .loc = d.b.loc };
  values_store(&alone, p->mems, p->count, to, values_load(p->mems, p->count, from));
  imp_add_stm(&d.b, (ImpStm){ .kind = IMP_IF,
                              .u.cond = { imp_op2(OP_LE, d.apart, run.position),
                                          pair.block, alone.block } });
  doubling_close(&d, k, run.steps);
  return imp_add(imp_mul(imp_rem(run.steps, imp_i64(2)), size), p->item);
}
