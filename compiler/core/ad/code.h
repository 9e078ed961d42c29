// Small code that derivatives are made of.
#pragma once
#include "core/core.h"

Atom ad_op1(Builder *b, PrimOp op, Atom a);
Atom ad_op2(Builder *b, PrimOp op, Atom x, Atom y);
Atom ad_number(PrimType type, double value);
Atom ad_zeros(Builder *b, CoreType type);
Atom ad_select(Builder *b, Atom condition, Atom yes, Atom no);
// The value with the dimensions of `type`, which are equal to its own.
Atom ad_fit(Builder *b, Atom value, CoreType type);
// x + y, of any rank.
Atom ad_add(Builder *b, Atom x, Atom y);
// [n]row -> row
Atom ad_sum_rows(Builder *b, Atom array);
// xs[i], which exists.
Atom ad_row(Builder *b, Atom array, Atom i);
// xs with [i] = row
Atom ad_set_row(Builder *b, Atom array, Atom i, Atom row);
Atom ad_reversed(Builder *b, Atom array);
Atom ad_iota(Builder *b, Atom count);
Atom ad_reshaped(Builder *b, Atom array, CoreType type);
Atom ad_size_of(Builder *b, CoreType type);  // the number of its elements
Atom ad_length(Atom array);                  // the outer dimension

// A lambda under construction: parameters are added, code goes to `b`.
typedef struct AdLambda {
  Builder b;
  VarVec params;
} AdLambda;
AdLambda ad_lambda(const Builder *outer);
Atom ad_param(AdLambda *l, const char *name, CoreType type);
Lambda ad_lambda_end(const AdLambda *l, const Atom *results, int count);
// map (\arrays' rows -> results)
void ad_map(Builder *b, const AdLambda *l, const AtomVec *results, const AtomVec *arrays,
            Atom *out);

// A reduction or scan of one array by a scalar operator.
Atom ad_reduce(Builder *b, ExpKind kind, PrimOp op, Prim neutral, Atom array);
RedOp ad_red_op(Builder *b, PrimOp op, Prim neutral);
// The scalar operator `\x y -> x op y` that a lambda is.
bool ad_is_op(const Lambda *fn, PrimOp *op);

// Of a product with `zeros` zeros, which add up to `sum`, and of whose other factors `product` is
// the product: what is left without the factor x.  Its own derivative is right if that of `sum` is.
Atom ad_product_of_others(Builder *b, Atom x, Atom zeros, Atom product, Atom sum);

// The derivative of log (gamma x).
Atom ad_digamma(Builder *b, Atom x);

// d times the derivative of an operation on scalars by operand `arg`; `result` is its value.
Atom ad_partial(Builder *b, const Exp *operation, Atom result, int arg, Atom d);
// Is that something else than zero for some operands?
bool ad_has_partial(PrimOp op, int arg);
