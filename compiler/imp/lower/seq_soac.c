// Sequential SOACs in kernels: one loop each, without intermediate arrays.
#include "imp/lower/lower.h"

// ---- map, redomap, scanomap

typedef struct SoacCode {
  const Stm *stm;
  const Soac *soac;
  int reds;          // results of the function that are reduced or scanned
  Accs accs;         // one per operator
  const Arr **outs;  // an array per result that becomes one
} SoacCode;

static bool is_array_result(const SoacCode *s, int i) {
  return i >= s->reds || s->stm->exp->kind == EXP_SCANOMAP;
}

static void prepare(Code *k, SoacCode *s) {
  s->outs = new_array(const Arr *, s->stm->binder_count + 1);
  s->accs = accs_new(k, s->soac->ops, s->soac->op_count);
  for (int i = 0; i < s->stm->binder_count; i++) {
    if (!is_array_result(s, i)) continue;
    Arr out = code_alloc_for(k, s->stm->binders[i]);
    s->outs[i] = mem_copy(&out, sizeof out);
  }
}

static Arr element(const Arr *arr, const ImpExp *at) { return arr_peel(arr, &at, 1); }

static void combine(Code *k, const SoacCode *s, const ImpExp *at,
                    const ImpExp *const *scalars, const Arr *const *made) {
  int first = 0;
  for (int o = 0; o < s->soac->op_count; o++) {
    int count = s->soac->ops[o].count;
    acc_apply(k, &s->accs.at[o], scalars + first, made + first);
    for (int i = 0; i < count && s->stm->exp->kind == EXP_SCANOMAP; i++) {
      Arr to = element(s->outs[first + i], at);
      acc_store(k, &s->accs.at[o], i, &to);
    }
    first += count;
  }
}

// One round: the function on element `at`, its results combined and stored.
static void soac_round(Code *k, const SoacCode *s, const ImpExp *at) {
  const Lambda *fn = &s->soac->fn;
  int count = fn->body->result_count;
  code_bind_elements(k, fn, s->soac->arrays, s->soac->array_count, at);
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **made = new_array(const Arr *, count + 1);
  for (int i = s->reds; i < count; i++) {
    Arr to = element(s->outs[i], at);
    if (to.rank > 0) made[i] = mem_copy(&to, sizeof to);
  }
  seq_body(k, fn->body, scalars, made);
  for (int i = s->reds; i < count; i++) {
    Arr to = element(s->outs[i], at);
    if (to.rank == 0) imp_store(k->b, to.mem, to.offset, scalars[i]);
  }
  combine(k, s, at, scalars, made);
}

static void bind_soac_results(Code *k, const SoacCode *s) {
  int first = 0;
  for (int i = 0; i < s->stm->binder_count; i++)
    if (is_array_result(s, i)) code_bind(k, s->stm->binders[i], *s->outs[i]);
  if (s->stm->exp->kind != EXP_REDOMAP) return;
  for (int o = 0; o < s->soac->op_count; o++)
    for (int i = 0; i < s->soac->ops[o].count; i++, first++) {
      if (s->accs.at[o].vars[i])
        code_bind_scalar(k, s->stm->binders[first], imp_var(s->accs.at[o].vars[i]));
      else
        code_bind(k, s->stm->binders[first], *s->accs.at[o].places[i]);
    }
}

// A replicate of negative size may have become a SOAC without inputs.
static void check_width(Code *k, Atom width, int array_count) {
  if (array_count == 0) code_check_size(k, width, NULL);
}

void seq_soac(Code *k, const Stm *stm) {
  check_width(k, stm->exp->u.soac.width, stm->exp->u.soac.array_count);
  SoacCode s = { .stm = stm, .soac = &stm->exp->u.soac };
  s.reds = soac_red_count(s.soac);
  prepare(k, &s);
  const Var *i = code_index(k, "i");
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  soac_round(&inner, &s, imp_var(i));
  bool reduces = stm->exp->kind == EXP_REDOMAP;
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_FOR,
                              .u.loop = { i, imp_atom(s.soac->width), b.block, reduces,
                                          false, false } });
  bind_soac_results(k, &s);
}

// ---- scatter

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

void seq_scatter(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  check_width(k, exp->u.scatter.width, exp->u.scatter.array_count);
  for (int d = 0; d < exp->u.scatter.dest_count; d++) {
    Arr out = code_alloc_for(k, stm->binders[d]);
    code_copy(k, &out, code_array(k, exp->u.scatter.dests[d].dest));
    code_bind(k, stm->binders[d], out);
  }
  const Var *i = code_index(k, "i");
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  const Lambda *fn = &exp->u.scatter.fn;
  code_bind_elements(&inner, fn, exp->u.scatter.arrays, exp->u.scatter.array_count,
                     imp_var(i));
  const ImpExp **scalars = new_array(const ImpExp *, fn->body->result_count + 1);
  const Arr **made = new_array(const Arr *, fn->body->result_count + 1);
  seq_body(&inner, fn->body, scalars, made);
  int first = 0;
  for (int d = 0; d < exp->u.scatter.dest_count; d++) {
    int count = exp->u.scatter.dests[d].index_count;
    const Arr *dest = code_array(k, atom_var(stm->binders[d]));
    store_if_inside(&inner, dest, scalars + first, count, scalars[first + count],
                    made[first + count]);
    first += count + 1;
  }
  imp_for(k->b, i, imp_atom(exp->u.scatter.width), b.block);
}

// ---- histogram

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

void hist_round(Code *k, const HistOp *ops, int op_count, const Arr *const *dests,
                const ImpExp *const *scalars, const Arr *const *made) {
  int first_value = op_count, first_dest = 0;
  for (int o = 0; o < op_count; o++) {
    ImpBuilder b;
    Code inner = code_inner(k, &b);
    const ImpExp *bin = scalars[o];
    hist_apply(&inner, &ops[o], dests + first_dest, bin, scalars + first_value,
               made + first_value);
    const ImpExp *inside =
        imp_and(imp_op2(OP_LE, imp_i64(0), bin), imp_less(bin, imp_atom(ops[o].width)));
    imp_if(k->b, inside, b.block);
    first_value += ops[o].op.count;
    first_dest += ops[o].op.count;
  }
}

void seq_hist(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  check_width(k, exp->u.hist.width, exp->u.hist.array_count);
  const Arr **dests = new_array(const Arr *, stm->binder_count + 1);
  int next = 0;
  for (int o = 0; o < exp->u.hist.op_count; o++)
    for (int i = 0; i < exp->u.hist.ops[o].op.count; i++, next++) {
      Arr out = code_alloc_for(k, stm->binders[next]);
      code_copy(k, &out, code_array(k, exp->u.hist.ops[o].dests[i]));
      code_bind(k, stm->binders[next], out);
      dests[next] = code_array(k, atom_var(stm->binders[next]));
    }
  const Var *i = code_index(k, "i");
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  const Lambda *fn = &exp->u.hist.fn;
  code_bind_elements(&inner, fn, exp->u.hist.arrays, exp->u.hist.array_count, imp_var(i));
  const ImpExp **scalars = new_array(const ImpExp *, fn->body->result_count + 1);
  const Arr **made = new_array(const Arr *, fn->body->result_count + 1);
  seq_body(&inner, fn->body, scalars, made);
  hist_round(&inner, exp->u.hist.ops, exp->u.hist.op_count, dests, scalars, made);
  imp_for(k->b, i, imp_atom(exp->u.hist.width), b.block);
}

// ---- filter

// The kept values are packed into memory for all of them; the count is known afterwards.
void seq_filter(Code *k, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  check_width(k, soac->width, soac->array_count);
  const Var *kept = imp_declare(k->b, "kept", imp_i64(0));
  const Arr **outs = new_array(const Arr *, stm->binder_count);
  for (int i = 1; i < stm->binder_count; i++) {
    CoreType all = type_of_rows(type_row(stm->binders[i]->type), soac->width);
    Arr out = code_alloc(k, stm->binders[i]->name, all);
    outs[i] = mem_copy(&out, sizeof out);
  }
  const Var *i = code_index(k, "i");
  ImpBuilder b, packed;
  Code inner = code_inner(k, &b);
  code_bind_elements(&inner, &soac->fn, soac->arrays, soac->array_count, imp_var(i));
  int count = soac->fn.body->result_count;
  const ImpExp **scalars = new_array(const ImpExp *, count);
  const Arr **made = new_array(const Arr *, count);
  seq_body(&inner, soac->fn.body, scalars, made);
  Code then_code = code_inner(&inner, &packed);
  for (int r = 1; r < count; r++) {
    Arr to = element(outs[r], imp_var(kept));
    if (to.rank == 0)
      imp_store(&packed, to.mem, to.offset, scalars[r]);
    else
      code_copy(&then_code, &to, made[r]);
  }
  imp_assign(&packed, kept, imp_add(imp_var(kept), imp_i64(1)));
  imp_if(&b, scalars[0], packed.block);
  imp_for(k->b, i, imp_atom(soac->width), b.block);
  code_bind_scalar(k, stm->binders[0], imp_var(kept));
  for (int r = 1; r < stm->binder_count; r++) {
    Arr out = *outs[r];
    out.shape = code_shape(stm->binders[r]->type);
    code_bind(k, stm->binders[r], out);
  }
}
