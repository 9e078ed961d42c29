// Small code that derivatives are made of.
#include "core/ad/code.h"

Atom ad_op1(Builder *b, PrimOp op, Atom a) {
  return core_let(b, op_name(op), exp_op1(op, a));
}

Atom ad_op2(Builder *b, PrimOp op, Atom x, Atom y) {
  return core_let(b, op_name(op), exp_op2(op, x, y));
}

Atom ad_number(PrimType type, double value) {
  return atom_const(prim_is_float(type) ? prim_float(type, value)
                                        : prim_int(type, (int64_t)value));
}

Atom ad_zeros(Builder *b, CoreType type) {
  Atom zero = atom_const(prim_zero(type.elem));
  for (int i = type.rank - 1; i >= 0; i--)
    zero = core_let(b, "zeros", exp_replicate(type.dims[i], zero));
  return zero;
}

static const Body *only(const Builder *b, Atom a) {
  Builder empty = builder_new(b->c, b->loc);
  return core_body(&empty, &a, 1);
}

Atom ad_select(Builder *b, Atom condition, Atom yes, Atom no) {
  return core_let(b, "selected", exp_if(condition, only(b, yes), only(b, no)));
}

Atom ad_reshaped(Builder *b, Atom array, CoreType type) {
  return core_let(b, "reshaped", exp_reshape(type.dims, type.rank, array));
}

Atom ad_fit(Builder *b, Atom value, CoreType type) {
  if (!type.rank || type_same_shape(atom_type(value), type)) return value;
  return ad_reshaped(b, value, type);
}

Atom ad_row(Builder *b, Atom array, Atom i) {
  return core_let(b, "row", exp_index(array, &i, 1, false));
}

Atom ad_set_row(Builder *b, Atom array, Atom i, Atom row) {
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  dims[0] = dim_fix(i);
  for (int d = 1; d < type.rank; d++)
    dims[d] = dim_slice(atom_i64(0), type.dims[d], atom_i64(1));
  row = ad_fit(b, row, type_row(type));
  return core_let(b, "written", exp_update(array, dims, row, false));
}

Atom ad_length(Atom array) { return atom_type(array).dims[0]; }

Atom ad_iota(Builder *b, Atom count) {
  return core_let(b, "iota", exp_iota(count, atom_i64(0), atom_i64(1)));
}

Atom ad_reversed(Builder *b, Atom array) {
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int d = 1; d < type.rank; d++)
    dims[d] = dim_slice(atom_i64(0), type.dims[d], atom_i64(1));
  Atom last = size_sub(b, type.dims[0], atom_i64(1));
  dims[0] = dim_slice(last, type.dims[0], atom_i64(-1));
  return core_let(b, "reversed", exp_slice(array, dims, false));
}

Atom ad_size_of(Builder *b, CoreType type) {
  Atom size = atom_i64(1);
  for (int d = 0; d < type.rank; d++)
    size = size_mul(b, size, type.dims[d]);
  return size;
}

// ---- lambdas

AdLambda ad_lambda(const Builder *outer) {
  return (AdLambda){ .b = builder_new(outer->c, outer->loc) };
}

Atom ad_param(AdLambda *l, const char *name, CoreType type) {
  const Var *var = var_new(l->b.c, name_of(l->b.c->names, name), type, l->b.loc);
  vec_push(&l->params, var);
  return atom_var(var);
}

Lambda ad_lambda_end(const AdLambda *l, const Atom *results, int count) {
  return lambda_new(l->params.at, l->params.count, core_body(&l->b, results, count));
}

void ad_map(Builder *b, const AdLambda *l, const AtomVec *results, const AtomVec *arrays,
            Atom *out) {
  if (!results->count) return;
  Lambda fn = ad_lambda_end(l, results->at, results->count);
  Atom width = ad_length(arrays->at[0]);
  core_let_n(b, "mapped", exp_map(width, fn, arrays->at, arrays->count), out);
}

// ---- sums

Atom ad_add(Builder *b, Atom x, Atom y) {
  CoreType type = atom_type(x);
  if (!type.rank) return ad_op2(b, OP_ADD, x, y);
  AdLambda l = ad_lambda(b);
  Atom row_x = ad_param(&l, "x", type_row(type));
  Atom row_y = ad_param(&l, "y", type_row(type));
  Atom sum = ad_add(&l.b, row_x, row_y);
  Lambda fn = ad_lambda_end(&l, &sum, 1);
  Atom arrays[2] = { x, ad_fit(b, y, type) };
  return core_let(b, "sum", exp_map(type.dims[0], fn, arrays, 2));
}

RedOp ad_red_op(Builder *b, PrimOp op, Prim neutral) {
  AdLambda l = ad_lambda(b);
  CoreType type = type_scalar(neutral.type);
  Atom x = ad_param(&l, "x", type), y = ad_param(&l, "y", type);
  Atom result = ad_op2(&l.b, op, x, y), zero = atom_const(neutral);
  return (RedOp){ .op = ad_lambda_end(&l, &result, 1),
                  .neutral = mem_copy(&zero, sizeof zero),
                  .count = 1,
                  .commutative = true };
}

Atom ad_reduce(Builder *b, ExpKind kind, PrimOp op, Prim neutral, Atom array) {
  AdLambda l = ad_lambda(b);
  Atom x = ad_param(&l, "x", type_row(atom_type(array)));
  RedOp red = ad_red_op(b, op, neutral);
  Soac soac = { .width = ad_length(array),
                .fn = ad_lambda_end(&l, &x, 1),
                .arrays = mem_copy(&array, sizeof array),
                .array_count = 1,
                .ops = mem_copy(&red, sizeof red),
                .op_count = 1 };
  return core_let(b, "total", exp_soac(kind, soac));
}

// [m]..[n]t -> [m]..t
static Atom sum_innermost(Builder *b, Atom array) {
  CoreType type = atom_type(array);
  if (type.rank == 1)
    return ad_reduce(b, EXP_REDOMAP, OP_ADD, prim_zero(type.elem), array);
  AdLambda l = ad_lambda(b);
  Atom sum = sum_innermost(&l.b, ad_param(&l, "xs", type_row(type)));
  return core_let(b, "sums",
                  exp_map(type.dims[0], ad_lambda_end(&l, &sum, 1), &array, 1));
}

Atom ad_sum_rows(Builder *b, Atom array) {
  int rank = atom_type(array).rank;
  if (rank == 1) return sum_innermost(b, array);
  int *perm = new_array(int, rank);
  for (int i = 0; i < rank; i++)
    perm[i] = (i + 1) % rank;
  return sum_innermost(b, core_let(b, "columns", exp_rearrange(perm, rank, array)));
}

// ---- operators

bool ad_is_op(const Lambda *fn, PrimOp *op) {
  const Body *body = fn->body;
  if (fn->param_count != 2 || body->stm_count != 1 || body->result_count != 1)
    return false;
  const Stm *stm = &body->stms[0];
  if (stm->exp->kind != EXP_OP || op_arity(stm->exp->u.op.op) != 2) return false;
  if (!atom_equal(body->results[0], atom_var(stm->binders[0]))) return false;
  Atom x = atom_var(fn->params[0]), y = atom_var(fn->params[1]);
  const Atom *args = stm->exp->u.op.args;
  *op = stm->exp->u.op.op;
  if (atom_equal(args[0], x) && atom_equal(args[1], y)) return true;
  return op_is_commutative(*op) && atom_equal(args[0], y) && atom_equal(args[1], x);
}
