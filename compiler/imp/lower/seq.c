// Sequential code in kernels: scalar expressions with their checks, array operations as loops, and
// the walk over bodies.  Results are made in place where the consumer wants them (`wanted`).
#include "imp/lower/lower.h"

// ---- scalars

static bool is_positive_constant(const Term *t) {
  return t->kind == TERM_CONST && prim_is_int(t->u.constant.type) &&
         t->u.constant.u.i > 0;
}

// Did the host compute it as `max 1 n`?  Kern has seen to its own checks.
static bool is_positive_of_host(const Code *k, Atom a) {
  const Term *t = a.kind == ATOM_VAR ? map_get(k->lower->scalars, a.u.var) : NULL;
  if (k->lower->machine->by_axes || !t || t->kind != TERM_OP || t->u.op.op != OP_MAX)
    return false;
  return is_positive_constant(t->u.op.args[0]) || is_positive_constant(t->u.op.args[1]);
}

static void check_divisor(Code *k, const Exp *exp, Loc loc) {
  if (!op_may_trap(exp->u.op.op, exp->u.op.type)) return;
  if (is_positive_of_host(k, exp->u.op.args[1])) return;
  const ImpExp *divisor = imp_atom(exp->u.op.args[1]);
  bool power = exp->u.op.op == OP_POW;
  const ImpExp *zero = imp_const(prim_zero(exp->u.op.type));
  const ImpExp *fine =
      imp_op2(power ? OP_LE : OP_NE, power ? zero : divisor, power ? divisor : zero);
  if (fine->kind == IMP_CONST && fine->u.constant.u.i) return;
  static const char *const division[] = { "division by zero" };
  static const char *const negative[] = { "negative exponent of an integer power" };
  code_check(k, fine, power ? negative : division, NULL, 0, loc);
}

static const ImpExp *scalar_op(Code *k, const Exp *exp, Loc loc) {
  check_divisor(k, exp, loc);
  const ImpExp *a = imp_atom(exp->u.op.args[0]);
  int arity = op_arity(exp->u.op.op);
  if (arity == 1) return imp_op1(exp->u.op.op, a);
  const ImpExp *b = imp_atom(exp->u.op.args[1]);
  return arity == 2 ? imp_op2(exp->u.op.op, a, b)
                    : imp_op3(exp->u.op.op, a, b, imp_atom(exp->u.op.args[2]));
}

static const ImpExp *index_value(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Arr *arr = code_array(k, exp->u.index.array);
  if (exp->u.index.checked) code_check_bounds(k, arr, exp->u.index.dims, stm->loc);
  Arr element = arr_slice(arr, exp->u.index.dims);
  return arr_load(&element, element.offset);
}

const ImpExp *seq_scalar(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (stm->binder_count != 1 || stm->binders[0]->type.rank > 0) return NULL;
  if (exp->kind == EXP_ATOM || exp->kind == EXP_COPY) return imp_atom(exp->u.atom.atom);
  if (exp->kind == EXP_OP) return scalar_op(k, exp, stm->loc);
  if (exp->kind == EXP_CONVERT)
    return imp_convert(exp->u.convert.to, imp_atom(exp->u.convert.atom));
  if (exp->kind == EXP_BITS)
    return imp_bits(exp->u.convert.to, imp_atom(exp->u.convert.atom));
  if (exp->kind == EXP_INDEX) return index_value(k, stm);
  return NULL;
}

// ---- array operations

static void seq_iota(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  code_check_size(k, exp->u.iota.count, NULL);
  const ImpExp *const *shape = code_shape(stm->binders[0]->type);
  code_bind(k, stm->binders[0],
            arr_virtual(exp->u.iota.type, shape, imp_atom(exp->u.iota.start),
                        imp_atom(exp->u.iota.step)));
}

// for i < n: out[i] = value
static void fill_rows(Code *k, const Arr *out, Atom value) {
  const Var *i = code_index(k, "i");
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  const ImpExp *at = imp_var(i);
  Arr row = arr_peel(out, &at, 1);
  code_store(&inner, &row, value);
  imp_for(k->b, i, out->shape[0], b.block);
}

static void seq_replicate(Code *k, const Stm *stm) {
  code_check_size(k, stm->exp->u.replicate.count, NULL);
  Atom value = stm->exp->u.replicate.value;
  if (atom_type(value).rank == 0) {
    const ImpExp *const *shape = code_shape(stm->binders[0]->type);
    code_bind(k, stm->binders[0],
              arr_virtual(atom_type(value).elem, shape, imp_atom(value), NULL));
    return;
  }
  Arr out = code_alloc_for(k, stm->binders[0]);
  fill_rows(k, &out, value);
  code_bind(k, stm->binders[0], out);
}

// The part of `arr` from row `start` on, `count` rows.
static Arr rows_from(const Arr *arr, const ImpExp *start, const ImpExp *count) {
  Arr out = *arr;
  out.offset = imp_add(arr->offset, imp_mul(start, arr->strides[0]));
  const ImpExp **shape = new_array(const ImpExp *, arr->rank);
  for (int i = 0; i < arr->rank; i++)
    shape[i] = i == 0 ? count : arr->shape[i];
  out.shape = shape;
  return out;
}

static void seq_concat(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  Arr out = code_alloc_for(k, stm->binders[0]);
  const ImpExp *start = imp_i64(0);
  for (int i = 0; i < exp->u.concat.array_count; i++) {
    const Arr *from = code_array(k, exp->u.concat.arrays[i]);
    Arr part = rows_from(&out, start, from->shape[0]);
    code_copy(k, &part, from);
    start = imp_add(start, from->shape[0]);
  }
  code_bind(k, stm->binders[0], out);
}

static void seq_rotate(Code *k, const Stm *stm) {
  const Arr *from = code_array(k, stm->exp->u.rotate.array);
  Arr out = code_alloc_for(k, stm->binders[0]);
  const Var *i = code_index(k, "i");
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  const ImpExp *at = imp_var(i);
  const ImpExp *moved =
      imp_op2(OP_MOD, imp_add(at, imp_atom(stm->exp->u.rotate.amount)), from->shape[0]);
  Arr to_row = arr_peel(&out, &at, 1), from_row = arr_peel(from, &moved, 1);
  code_copy(&inner, &to_row, &from_row);
  imp_for(k->b, i, out.shape[0], b.block);
  code_bind(k, stm->binders[0], out);
}

static void seq_copy(Code *k, const Stm *stm) {
  Arr out = code_alloc_for(k, stm->binders[0]);
  code_copy(k, &out, code_array(k, stm->exp->u.atom.atom));
  code_bind(k, stm->binders[0], out);
}

static void seq_array(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  Arr out = code_alloc_for(k, stm->binders[0]);
  for (int i = 0; i < exp->u.array.count; i++) {
    const ImpExp *at = imp_i64(i);
    Arr row = arr_peel(&out, &at, 1);
    code_store(k, &row, exp->u.array.atoms[i]);
  }
  code_bind(k, stm->binders[0], out);
}

static void seq_update(Code *k, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  const Arr *from = code_array(k, exp->u.update.array);
  if (exp->u.update.checked) code_check_bounds(k, from, exp->u.update.dims, stm->loc);
  const Arr *wanted = map_get(k->wanted, stm->binders[0]);
  Arr out = *from;
  bool there = wanted && arr_same(wanted, from);
  if (!there && !code_may_overwrite(k, exp->u.update.array, body, position)) {
    code_note_copy(k, exp->u.update.array);
    out = code_alloc_for(k, stm->binders[0]);
    code_copy(k, &out, from);
  }
  Arr part = arr_slice(&out, exp->u.update.dims);
  code_store(k, &part, exp->u.update.value);
  code_bind(k, stm->binders[0], out);
}

// The first branch of a choose: within a kernel there is no decision to take.
static void seq_choose(Code *k, const Stm *stm) {
  const Body *first = stm->exp->u.choose.first;
  const ImpExp **scalars = new_array(const ImpExp *, first->result_count);
  const Arr **dests = new_array(const Arr *, first->result_count);
  seq_body(k, first, scalars, dests);
  for (int i = 0; i < stm->binder_count; i++) {
    if (stm->binders[i]->type.rank > 0)
      code_bind(k, stm->binders[i], *dests[i]);
    else
      code_bind_scalar(k, stm->binders[i], scalars[i]);
  }
}

// ---- the walk

void seq_stm(Code *k, const Stm *stm, const Body *body, int position) {
  k->b->loc = stm->loc;
  const ImpExp *scalar = seq_scalar(k, stm);
  if (scalar) {
    code_bind_scalar(k, stm->binders[0], scalar);
    code_note_size(k, stm);
    return;
  }
  switch (stm->exp->kind) {
  case EXP_ATOM:
  case EXP_INDEX:
  case EXP_RESHAPE:
  case EXP_REARRANGE: code_view(k, stm); return;
  case EXP_UPDATE: seq_update(k, stm, body, position); return;
  case EXP_IOTA: seq_iota(k, stm); return;
  case EXP_REPLICATE: seq_replicate(k, stm); return;
  case EXP_CONCAT: seq_concat(k, stm); return;
  case EXP_ROTATE: seq_rotate(k, stm); return;
  case EXP_COPY: seq_copy(k, stm); return;
  case EXP_ARRAY: seq_array(k, stm); return;
  case EXP_ASSERT: code_assert(k, stm); return;
  case EXP_IF: seq_if(k, stm, body, position); return;
  case EXP_LOOP: seq_loop(k, stm, body, position); return;
  case EXP_CALL: code_call(k, stm); return;
  case EXP_CHOOSE: seq_choose(k, stm); return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP: seq_soac(k, stm); return;
  case EXP_SCATTER: seq_scatter(k, stm); return;
  case EXP_HIST: seq_hist(k, stm); return;
  case EXP_FILTER: seq_filter(k, stm); return;
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS:
  case EXP_SEG:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_GUARD: bug(k->lower->c, stm->loc, "not sequential code");
  }
}

// Arrays that are results are made where the consumer wants them, if the body makes them itself.
static void want_results(Code *k, const Body *body, const Arr **dests) {
  for (int i = 0; i < body->result_count; i++) {
    Atom result = body->results[i];
    if (result.kind != ATOM_VAR || result.u.var->type.rank == 0 || !dests[i]) continue;
    if (!map_has(k->wanted, result.u.var)) map_put(k->wanted, result.u.var, dests[i]);
  }
}

static void want_too(Code *k, const Map *uses, const Var *var, Atom from) {
  const Arr *wanted = map_get(k->wanted, var);
  if (wanted && core_is_made_of(uses, var, from) && !map_has(k->wanted, from.u.var))
    map_put(k->wanted, from.u.var, wanted);
}

// So are the arrays that loops and updates make those from, if nothing else reads them.
static void want_starts(Code *k, const Body *body) {
  const Map *uses = NULL;
  for (int i = body->stm_count - 1; i >= 0 && map_count(k->wanted); i--) {
    const Stm *stm = &body->stms[i];
    const Exp *exp = stm->exp;
    if (exp->kind != EXP_LOOP && exp->kind != EXP_UPDATE) continue;
    if (!uses) uses = core_uses(body);
    if (exp->kind == EXP_UPDATE) want_too(k, uses, stm->binders[0], exp->u.update.array);
    for (int p = 0; exp->kind == EXP_LOOP && p < exp->u.loop.param_count; p++)
      want_too(k, uses, stm->binders[p], exp->u.loop.inits[p]);
  }
}

void seq_body(Code *k, const Body *body, const ImpExp **scalars, const Arr **dests) {
  want_results(k, body, dests);
  want_starts(k, body);
  for (int i = 0; i < body->stm_count; i++)
    seq_stm(k, &body->stms[i], body, i);
  for (int i = 0; i < body->result_count; i++) {
    Atom result = body->results[i];
    if (atom_type(result).rank == 0) {
      scalars[i] = imp_atom(result);
      continue;
    }
    const Arr *made = code_array(k, result);
    if (dests[i])
      code_copy(k, dests[i], made);
    else
      dests[i] = made;
  }
}
