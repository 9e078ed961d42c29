// Statements without bodies.
#include "core/ad/reverse.h"

static void operation_adjoints(Reverse *r, const Stm *stm, Atom adjoint) {
  const Exp *e = stm->exp;
  for (int i = 0; i < op_arity(e->u.op.op); i++) {
    Atom x = e->u.op.args[i];
    if (!reverse_is_active(r, x) || !ad_has_partial(e->u.op.op, i)) continue;
    Atom y = atom_var(stm->binders[0]);
    reverse_add(r, x, ad_partial(r->scope->b, e, y, i, adjoint));
  }
}

static void conversion(Reverse *r, const Exp *e, Atom adjoint) {
  Atom from = e->u.convert.atom;
  PrimType type = atom_type(from).elem;
  if (reverse_is_active(r, from))
    reverse_add(r, from, core_let(r->scope->b, "back", exp_convert(type, adjoint)));
}

// The part that was written gets its adjoint; the array gets the rest.
static void update(Reverse *r, const Exp *e, Atom adjoint) {
  Builder *b = r->scope->b;
  const DimIndex *dims = e->u.update.dims;
  bool checked = e->u.update.checked;
  Atom value = e->u.update.value;
  if (reverse_is_active(r, value))
    reverse_add(r, value, core_let(b, "part", exp_slice(adjoint, dims, checked)));
  if (!reverse_is_active(r, e->u.update.array)) return;
  Atom none = ad_zeros(b, atom_type(value));
  Atom rest = core_let(b, "rest", exp_update(adjoint, dims, none, checked));
  reverse_add(r, e->u.update.array, rest);
}

static void rearranged(Reverse *r, const Exp *e, Atom adjoint) {
  int rank = e->u.rearrange.rank, *back = new_array(int, rank);
  for (int i = 0; i < rank; i++)
    back[e->u.rearrange.perm[i]] = i;
  Atom array = core_let(r->scope->b, "back", exp_rearrange(back, rank, adjoint));
  reverse_add(r, e->u.rearrange.array, array);
}

static void joined(Reverse *r, const Exp *e, Atom adjoint) {
  Builder *b = r->scope->b;
  CoreType type = atom_type(adjoint);
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int d = 1; d < type.rank; d++)
    dims[d] = dim_slice(atom_i64(0), type.dims[d], atom_i64(1));
  Atom start = atom_i64(0);
  for (int i = 0; i < e->u.concat.array_count; i++) {
    Atom array = e->u.concat.arrays[i], count = ad_length(array);
    dims[0] = dim_slice(start, count, atom_i64(1));
    if (reverse_is_active(r, array))
      reverse_add(r, array, core_let(b, "part", exp_slice(adjoint, dims, false)));
    start = size_add(b, start, count);
  }
}

static void rotated(Reverse *r, const Exp *e, Atom adjoint) {
  Builder *b = r->scope->b;
  Atom amount = ad_op1(b, OP_NEG, e->u.rotate.amount);
  reverse_add(r, e->u.rotate.array, core_let(b, "back", exp_rotate(amount, adjoint)));
}

static void literal(Reverse *r, const Exp *e, Atom adjoint) {
  for (int i = 0; i < e->u.array.count; i++)
    if (reverse_is_active(r, e->u.array.atoms[i]))
      reverse_add(r, e->u.array.atoms[i], ad_row(r->scope->b, adjoint, atom_i64(i)));
}

void reverse_single(Reverse *r, const Stm *stm, Atom adjoint) {
  const Exp *e = stm->exp;
  switch (e->kind) {
  case EXP_ATOM:
  case EXP_COPY: reverse_add(r, e->u.atom.atom, adjoint); return;
  case EXP_OP: operation_adjoints(r, stm, adjoint); return;
  case EXP_CONVERT: conversion(r, e, adjoint); return;
  case EXP_INDEX: reverse_add_at(r, e, adjoint); return;
  case EXP_UPDATE: update(r, e, adjoint); return;
  case EXP_REPLICATE:
    reverse_add(r, e->u.replicate.value, ad_sum_rows(r->scope->b, adjoint));
    return;
  case EXP_REARRANGE: rearranged(r, e, adjoint); return;
  case EXP_RESHAPE: reverse_add(r, e->u.reshape.array, adjoint); return;
  case EXP_CONCAT: joined(r, e, adjoint); return;
  case EXP_ROTATE: rotated(r, e, adjoint); return;
  case EXP_ARRAY: literal(r, e, adjoint); return;
  case EXP_BITS:
  case EXP_IOTA:
  case EXP_ASSERT:
  case EXP_IF:
  case EXP_LOOP:
  case EXP_CALL:
  case EXP_CHOOSE:
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_SCATTER:
  case EXP_HIST:
  case EXP_FILTER:
  case EXP_SEG:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_GUARD: return;
  }
}

void reverse_call(Reverse *r, const Stm *stm) {
  const Exp *e = stm->exp;
  const Function *f = e->u.call.function;
  const Lambda *adjoint = f->adjoint;
  Subst *s = subst_new();
  for (int i = 0; i < f->param_count; i++)
    subst_put(s, f->params[i], e->u.call.args[i]);
  for (int i = 0; i < stm->binder_count; i++)
    subst_put(s, adjoint->params[i], atom_var(stm->binders[i]));
  // Sizes come first among the results and have no adjoints.
  int sizes = 2 * stm->binder_count - adjoint->param_count;
  for (int i = sizes; i < stm->binder_count; i++)
    subst_put(s, adjoint->params[stm->binder_count + i - sizes],
              reverse_current(r, stm->binders[i]));
  const Body *body = core_rename_body(r->c, s, adjoint->body);
  core_add_body(r->scope->b, body);
  for (int i = 0; i < body->result_count; i++)
    reverse_add(r, e->u.call.args[i], body->results[i]);
}
