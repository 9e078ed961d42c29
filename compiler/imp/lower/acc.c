// Accumulators of reduction operators in code under construction: a variable per scalar, an array
// per row.
//
// Note [Nothing to combine].  Items that have no element hold the neutral element, and so do bins,
// groups and segments without any.  Applied to two of these an operator may fail although no
// element is there, as \i j -> if xs[i] < xs[j] then i else j does in an empty array.  What comes
// from items, and not from elements, is therefore left out if it is the neutral element, which
// changes nothing: but for operators that may fail that is not worth the comparison.
#include "flat/spaces.h"
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

// Do these values differ from the neutral element?  NULL: it makes no difference.
static const ImpExp *has_something(const RedOp *op, const ImpExp *const *scalars) {
  const ImpExp *differs = NULL;
  if (!flat_may_fail(op->op.body)) return NULL;
  for (int i = 0; i < op->count; i++) {
    if (op->op.params[i]->type.rank) return NULL;
    const ImpExp *one = imp_op2(OP_NE, scalars[i], imp_atom(op->neutral[i]));
    differs = differs ? imp_op2(OP_LOR, differs, one) : one;
  }
  return differs;
}

static const ImpExp *const *let_values(ImpBuilder *b, const ImpExp *const *scalars,
                                       int count) {
  const ImpExp **values = new_array(const ImpExp *, count + 1);
  for (int i = 0; i < count; i++)
    values[i] = imp_let(b, "value", scalars[i]);
  return values;
}

void acc_join(Code *k, const Accumulator *acc, const ImpExp *const *scalars,
              const Arr *const *arrays) {
  if (!has_something(acc->op, scalars)) {
    acc_apply(k, acc, scalars, arrays);
    return;
  }
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  const ImpExp *const *values = let_values(k->b, scalars, acc->op->count);
  acc_apply(&inner, acc, values, arrays);
  imp_if(k->b, has_something(acc->op, values), b.block);
}

void hist_join(Code *k, const HistOp *hist, const Arr *const *dests, const ImpExp *bin,
               const ImpExp *const *scalars) {
  const Arr *const *no_rows = new_array(const Arr *, hist->op.count + 1);
  if (!has_something(&hist->op, scalars)) {
    hist_apply(k, hist, dests, bin, scalars, no_rows);
    return;
  }
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  const ImpExp *const *values = let_values(k->b, scalars, hist->op.count);
  hist_apply(&inner, hist, dests, bin, values, no_rows);
  imp_if(k->b, has_something(&hist->op, values), b.block);
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

void accs_join(Code *k, Accs accs, const ImpExp *const *scalars) {
  for (int o = 0, first = 0; o < accs.count; first += accs.at[o++].op->count)
    acc_join(k, &accs.at[o], scalars + first,
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

// ---- scatters

static const ImpExp *in_bounds(const Arr *arr, const ImpExp *const *indices, int count) {
  const ImpExp *inside = imp_const(prim_bool(true));
  for (int i = 0; i < count; i++) {
    inside = imp_and(inside, imp_op2(OP_LE, imp_i64(0), indices[i]));
    inside = imp_and(inside, imp_less(indices[i], arr->shape[i]));
  }
  return inside;
}

// if indices are in bounds: dest[indices] = value
void store_if_inside(Code *k, const Arr *dest, const ImpExp *const *indices, int count,
                     const ImpExp *scalar, const Arr *array) {
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  Arr to = arr_peel(dest, indices, count);
  if (to.rank == 0)
    imp_store(&b, to.mem, to.offset, scalar);
  else
    code_copy(&inner, &to, array);
  imp_if(k->b, in_bounds(dest, indices, count), b.block);
}

// ---- histograms

static Arr element(const Arr *arr, const ImpExp *at) { return arr_peel(arr, &at, 1); }

void hist_apply(Code *k, const HistOp *hist, const Arr *const *dests, const ImpExp *bin,
                const ImpExp *const *scalars, const Arr *const *arrays) {
  Accumulator acc = { &hist->op, new_array(const Var *, hist->op.count),
                      new_array(const Arr *, hist->op.count) };
  for (int i = 0; i < hist->op.count; i++) {
    Arr at = element(dests[i], bin);
    if (at.rank == 0)
      acc.vars[i] = imp_declare(k->b, "bin", imp_load(at.mem, at.offset));
    else
      acc.places[i] = mem_copy(&at, sizeof at);
  }
  acc_apply(k, &acc, scalars, arrays);
  for (int i = 0; i < hist->op.count; i++) {
    Arr at = element(dests[i], bin);
    if (at.rank == 0) imp_store(k->b, at.mem, at.offset, imp_var(acc.vars[i]));
  }
}
