// What the items of a group have, combined in local memory in as many steps as the logarithm of
// their number, a barrier after each.  Any associative operator.
//
// Where the device has sub-groups (ITEM_SUB_STEPS > 0), a whole group begins within each of them,
// whose items ask each other without memory or barriers:
//
//   acc = op acc (acc of item + 1), then + 2, ..; parts[first item of each] = acc; tree of those
#include "imp/lower/tree.h"

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
  accs_join(k, accs, values_load(mems, p->count, right));
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

// ---- sub-groups

static const ImpExp *sub_steps(void) { return imp_item(ITEM_SUB_STEPS); }

// Is it all of the group?
static bool is_all_of_group(const Parts *p, PartRun run) {
  return run.position == p->item && run.count->kind == IMP_ITEM && !run.active &&
         !p->stride;
}

static const ImpExp *lane_of(const Parts *p) {
  const ImpExp *size = imp_op2(OP_SHL, imp_i64(1), sub_steps());
  return imp_op2(OP_AND, p->item, imp_sub(size, imp_i64(1)));
}

static Accs own_part(const Parts *p, Code *k) {
  return accs_from(k, p->seg->ops, p->seg->op_count,
                   values_load(p->mems, p->count, p->item));
}

static const ImpExp *const *shuffled(const Parts *p, ImpBuilder *b, Accs accs,
                                     const ImpExp *apart, bool up) {
  const ImpExp *const *own = accs_values(accs);
  const ImpExp **others = new_array(const ImpExp *, p->count + 1);
  for (int i = 0; i < p->count; i++)
    others[i] = imp_let(b, "other", imp_shuffle(own[i], apart, up));
  return others;
}

// accs = op left accs
static void put_before(const Parts *p, Code *k, Accs accs, const ImpExp *const *left) {
  Accs sum = accs_from(k, p->seg->ops, p->seg->op_count, left);
  const ImpExp *const *own = accs_values(accs);
  accs_join(k, sum, own);
  const ImpExp *const *sums = accs_values(sum);
  for (int i = 0; i < p->count; i++)
    imp_assign(k->b, own[i]->u.var, sums[i]);
}

// for i < sub_steps { others = accs of the item 2^i away; if it counts { accs = op .. } }
static void sub_group_rounds(const Parts *p, Code *k, Accs accs, bool scans) {
  ImpBuilder b, pair;
  const Var *i = code_index(k, "i");
  Code inner = code_inner(k, &b);
  const ImpExp *apart = imp_let(&b, "apart", imp_op2(OP_SHL, imp_i64(1), imp_var(i)));
  const ImpExp *const *others = shuffled(p, &b, accs, apart, scans);
  Code then_code = code_inner(&inner, &pair);
  const ImpExp *mask = imp_sub(imp_mul(imp_i64(2), apart), imp_i64(1));
  if (scans)
    put_before(p, &then_code, accs, others);
  else
    accs_join(&then_code, accs, others);
  imp_if(&b,
         scans ? imp_op2(OP_LE, apart, lane_of(p))
               : imp_op2(OP_EQ, imp_op2(OP_AND, p->item, mask), imp_i64(0)),
         pair.block);
  imp_for(k->b, i, sub_steps(), b.block);
}

static Code open_sub_groups(Code *k, ImpBuilder *b) {
  Code inner = code_inner(k, b);
  inner.active = NULL;
  return inner;
}

// The first item of each sub-group gets what all of it have.
static void reduce_sub_groups(const Parts *p, Code *k) {
  ImpBuilder b, first = { .c = k->b->c, .loc = k->b->loc };
  Code inner = open_sub_groups(k, &b);
  Accs accs = own_part(p, &inner);
  sub_group_rounds(p, &inner, accs, false);
  values_store(&first, p->mems, p->count, p->item, accs_values(accs));
  imp_if(&b, imp_op2(OP_EQ, lane_of(p), imp_i64(0)), first.block);
  imp_add_stm(&b, (ImpStm){ .kind = IMP_BARRIER });
  imp_if(k->b, imp_less(imp_i64(0), sub_steps()), b.block);
}

// accs = op sums[0] .. sums[number - 1] accs, sums of the sub-groups before the item's
static void add_sub_groups_before(const Parts *p, Code *k, Accs accs,
                                  const ImpExp *number) {
  ImpBuilder all, b;
  const ImpExp *size = imp_item(ITEM_LOCAL_SIZE);
  Code some = code_inner(k, &all);
  Accs before = accs_from(&some, p->seg->ops, p->seg->op_count,
                          values_load(p->mems, p->count, size));
  const Var *i = code_index(&some, "i");
  Code inner = code_inner(&some, &b);
  const ImpExp *at = imp_add(imp_add(size, imp_i64(1)), imp_var(i));
  accs_join(&inner, before, values_load(p->mems, p->count, at));
  imp_for(&all, i, imp_sub(number, imp_i64(1)), b.block);
  put_before(p, &some, accs, accs_values(before));
  imp_if(k->b, imp_less(imp_i64(0), number), all.block);
}

// parts[item] = op over the group's items up to this one; the second half holds sums of sub-groups
static void scan_sub_groups(const Parts *p, Code *k, ImpBuilder *b) {
  ImpBuilder last = { .c = k->b->c, .loc = k->b->loc };
  Code inner = open_sub_groups(k, b);
  const ImpExp *number = imp_op2(OP_SHR, p->item, sub_steps());
  const ImpExp *size = imp_op2(OP_SHL, imp_i64(1), sub_steps());
  Accs accs = own_part(p, &inner);
  sub_group_rounds(p, &inner, accs, true);
  values_store(&last, p->mems, p->count, imp_add(imp_item(ITEM_LOCAL_SIZE), number),
               accs_values(accs));
  imp_if(b, imp_op2(OP_EQ, imp_add(lane_of(p), imp_i64(1)), size), last.block);
  imp_add_stm(b, (ImpStm){ .kind = IMP_BARRIER });
  add_sub_groups_before(p, &inner, accs, number);
  values_store(b, p->mems, p->count, p->item, accs_values(accs));
  imp_add_stm(b, (ImpStm){ .kind = IMP_BARRIER });
}

// ---- trees

// What is left to do when sub-groups have done their part: of their first items.
typedef struct Leading {
  const ImpExp *count, *steps, *spread;  // parts lie 2^spread apart
} Leading;

static Leading leading_items(void) {
  const ImpExp *size = imp_item(ITEM_LOCAL_SIZE), *steps = imp_item(ITEM_LOCAL_STEPS);
  return (Leading){ imp_op2(OP_SHR, size, sub_steps()), imp_sub(steps, sub_steps()),
                    sub_steps() };
}

static void combine_leading(const Parts *p, Code *k, const ImpExp *apart,
                            Leading leading) {
  const ImpExp *right = imp_op2(OP_SHL, imp_add(p->item, apart), leading.spread),
               *left = imp_op2(OP_SHL, p->item, leading.spread);
  combine_parts(p, k, left, right, left);
}

// parts[item] = op parts[item] parts[item + apart], of 2 apart neighbours the first
static void tree_of_group(const Parts *p, Code *k) {
  Doubling d;
  ImpBuilder pair;
  Leading leading = leading_items();
  reduce_sub_groups(p, k);
  doubling_open(&d, k, NULL);
  const ImpExp *mask = imp_sub(imp_mul(imp_i64(2), d.apart), imp_i64(1));
  const ImpExp *leads = imp_op2(OP_EQ, imp_op2(OP_AND, p->item, mask), imp_i64(0));
  Code inner = code_inner(&d.code, &pair);
  combine_leading(p, &inner, d.apart, leading);
  const ImpExp *has_other = imp_less(imp_add(p->item, d.apart), leading.count);
  imp_if(&d.b, imp_and(leads, has_other), pair.block);
  doubling_close(&d, k, leading.steps);
}

void parts_tree(const Parts *p, Code *k, PartRun run) {
  Doubling d;
  ImpBuilder pair;
  if (is_all_of_group(p, run)) {
    tree_of_group(p, k);
    return;
  }
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
  Leading leading = leading_items();
  reduce_sub_groups(p, k);
  const ImpExp *half = imp_op2(OP_SHL, imp_i64(1), imp_sub(leading.steps, imp_i64(1)));
  doubling_open(&d, k, half);
  const ImpExp *pairs = imp_min(d.apart, imp_sub(leading.count, d.apart));
  Code inner = code_inner(&d.code, &pair);
  combine_leading(p, &inner, d.apart, leading);
  imp_if(&d.b, imp_less(p->item, pairs), pair.block);
  doubling_close(&d, k, leading.steps);
}

// ---- scans

static void scan_run(const Parts *p, Code *k, PartRun run) {
  Doubling d;
  ImpBuilder pair, alone;
  const ImpExp *size = imp_item(ITEM_LOCAL_SIZE);
  doubling_open(&d, k, NULL);
  const ImpExp *old =
      imp_let(&d.b, "old", imp_mul(imp_rem(imp_var(d.i), imp_i64(2)), size));
  const ImpExp *from = imp_add(old, p->item), *to = imp_add(imp_sub(size, old), p->item);
  Code inner = code_inner(&d.code, &pair);
  const ImpExp *away = p->stride ? imp_mul(d.apart, p->stride) : d.apart;
  combine_parts(p, &inner, imp_sub(from, away), from, to);
  alone = (ImpBuilder){ .c = d.b.c, .loc = d.b.loc };
  values_store(&alone, p->mems, p->count, to, values_load(p->mems, p->count, from));
  imp_add_stm(&d.b, (ImpStm){ .kind = IMP_IF,
                              .u.cond = { imp_op2(OP_LE, d.apart, run.position),
                                          pair.block, alone.block } });
  doubling_close(&d, k, run.steps);
}

const ImpExp *parts_scan(const Parts *p, Code *k, PartRun run) {
  const ImpExp *size = imp_item(ITEM_LOCAL_SIZE);
  const ImpExp *at = imp_add(imp_mul(imp_rem(run.steps, imp_i64(2)), size), p->item);
  if (!is_all_of_group(p, run)) {
    scan_run(p, k, run);
    return at;
  }
  ImpBuilder sub, steps;
  Code in_steps = code_inner(k, &steps);
  scan_sub_groups(p, k, &sub);
  scan_run(p, &in_steps, run);
  const ImpExp *has_sub = imp_less(imp_i64(0), sub_steps());
  imp_add_stm(k->b,
              (ImpStm){ .kind = IMP_IF, .u.cond = { has_sub, sub.block, steps.block } });
  return imp_let(k->b, "at", imp_select(has_sub, p->item, at));
}
