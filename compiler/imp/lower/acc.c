// Accumulators of reduction operators in code under construction: a variable per scalar, an array
// per row.
#include "imp/lower/lower.h"

Accumulator acc_new(Code *k, const RedOp *op) {
  Accumulator acc = { op, new_array(const Var *, op->count),
                      new_array(const Arr *, op->count) };
  for (int i = 0; i < op->count; i++) {
    CoreType type = op->op.params[i]->type;
    if (type.rank == 0) {
      acc.vars[i] = imp_declare(k->b, "acc", imp_atom(op->neutral[i]));
      continue;
    }
    Arr place = code_alloc(k, "acc", type);
    code_copy(k, &place, code_array(k, op->neutral[i]));
    acc.places[i] = mem_copy(&place, sizeof place);
  }
  return acc;
}

static void bind_operands(Code *k, const Accumulator *acc, const ImpExp *const *scalars,
                          const Arr *const *arrays) {
  int count = acc->op->count;
  for (int i = 0; i < count; i++) {
    const Var *left = acc->op->op.params[i], *right = acc->op->op.params[count + i];
    if (left->type.rank == 0) {
      code_bind_scalar(k, left, imp_var(acc->vars[i]));
      code_bind_scalar(k, right, scalars[i]);
    } else {
      code_bind(k, left, *acc->places[i]);
      code_bind(k, right, *arrays[i]);
    }
  }
}

void acc_apply(Code *k, const Accumulator *acc, const ImpExp *const *scalars,
               const Arr *const *arrays) {
  int count = acc->op->count;
  bind_operands(k, acc, scalars, arrays);
  const ImpExp **next = new_array(const ImpExp *, count);
  const Arr **made = new_array(const Arr *, count);
  seq_body(k, acc->op->op.body, next, made);
  for (int i = 0; i < count; i++) {
    if (acc->vars[i])
      imp_assign(k->b, acc->vars[i], next[i]);
    else
      code_copy(k, acc->places[i], made[i]);
  }
}

void acc_load(Code *k, const Accumulator *acc, int i, const Arr *from) {
  if (acc->vars[i])
    imp_assign(k->b, acc->vars[i], imp_load(from->mem, from->offset));
  else
    code_copy(k, acc->places[i], from);
}

void acc_store(Code *k, const Accumulator *acc, int i, const Arr *to) {
  if (acc->vars[i])
    imp_store(k->b, to->mem, to->offset, imp_var(acc->vars[i]));
  else
    code_copy(k, to, acc->places[i]);
}

// ---- those of several operators

Accs accs_new(Code *k, const RedOp *ops, int count) {
  Accs accs = { new_array(Accumulator, count + 1), count };
  for (int i = 0; i < count; i++)
    accs.at[i] = acc_new(k, &ops[i]);
  return accs;
}

Accs accs_from(Code *k, const RedOp *ops, int count, const ImpExp *const *values) {
  Accs accs = { new_array(Accumulator, count + 1), count };
  for (int o = 0, next = 0; o < count; o++) {
    accs.at[o] = (Accumulator){ &ops[o], new_array(const Var *, ops[o].count),
                                new_array(const Arr *, ops[o].count) };
    for (int i = 0; i < ops[o].count; i++)
      accs.at[o].vars[i] = imp_declare(k->b, "acc", values[next++]);
  }
  return accs;
}

void accs_apply(Code *k, Accs accs, const ImpExp *const *scalars) {
  for (int o = 0, first = 0; o < accs.count; first += accs.at[o++].op->count)
    acc_apply(k, &accs.at[o], scalars + first,
              new_array(const Arr *, accs.at[o].op->count));
}

const ImpExp *const *accs_values(Accs accs) {
  int count = 0, next = 0;
  for (int o = 0; o < accs.count; o++)
    count += accs.at[o].op->count;
  const ImpExp **values = new_array(const ImpExp *, count + 1);
  for (int o = 0; o < accs.count; o++)
    for (int i = 0; i < accs.at[o].op->count; i++)
      values[next++] = imp_var(accs.at[o].vars[i]);
  return values;
}
