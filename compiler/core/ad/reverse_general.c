// Reductions and scans by operators without rules of their own, in parallel.
//
//   y = reduce op ne xs   =>  ls, rs = what is left and right of each element, combined: scans
//                             xs^ += (map (\l x r -> (l op x) op r) ls xs rs)^, where each has y^
//   ys = scan op ne xs    =>  cs, ds = derivatives of ys[i - 1] op xs[i] by both operands
//                             ss = ys^[i] + cs[i + 1] * ss[i + 1]: a scan of linear functions
//                             xs^ += ds * ss          where op is on scalars
//
// Both take the operator to be associative, and its neutral element and what it mentions from
// around it to be constant; expand.c makes loops of others.
#include "core/ad/reverse.h"

// \left right -> op left right, in the builder.
static AtomVec combine(Builder *b, const RedOp *op, const Atom *left, const Atom *right) {
  Subst *s = subst_new();
  for (int k = 0; k < op->count; k++) {
    subst_put(s, op->op.params[k], left[k]);
    subst_put(s, op->op.params[op->count + k], right[k]);
  }
  const Body *body = core_rename_body(b->c, s, op->op.body);
  core_add_body(b, body);
  AtomVec results = { 0 };
  for (int k = 0; k < op->count; k++)
    vec_push(&results, ad_fit(b, body->results[k], atom_type(op->neutral[k])));
  return results;
}

// ---- what stands before each element

static RedOp flipped(Builder *b, const RedOp *op) {
  AdLambda l = ad_lambda(b);
  Atom *params = new_array(Atom, 2 * op->count);
  for (int k = 0; k < 2 * op->count; k++)
    params[k] = ad_param(&l, "x", atom_type(op->neutral[k % op->count]));
  AtomVec results = combine(&l.b, op, &params[op->count], params);
  RedOp out = *op;
  out.op = ad_lambda_end(&l, results.at, results.count);
  return out;
}

static const Atom *scanned(Builder *b, RedOp op, const Atom *arrays) {
  AdLambda l = ad_lambda(b);
  Atom *rows = new_array(Atom, op.count), *out = new_array(Atom, op.count);
  for (int k = 0; k < op.count; k++)
    rows[k] = ad_param(&l, "x", type_row(atom_type(arrays[k])));
  Soac soac = { .width = ad_length(arrays[0]),
                .fn = ad_lambda_end(&l, rows, op.count),
                .arrays = arrays,
                .array_count = op.count,
                .ops = mem_copy(&op, sizeof op),
                .op_count = 1 };
  core_let_n(b, "prefix", exp_soac(EXP_SCANOMAP, soac), out);
  return out;
}

// array[i + distance], or `otherwise` where there is none, for all i.
static Atom shifted(Builder *b, Atom array, int distance, Atom otherwise) {
  Atom count = ad_length(array), places = ad_iota(b, count);
  AdLambda l = ad_lambda(b);
  Atom i = ad_param(&l, "i", type_scalar(PRIM_I64));
  Atom at = size_add(&l.b, i, atom_i64(distance));
  Atom low = ad_op2(&l.b, OP_LE, atom_i64(0), at), high = ad_op2(&l.b, OP_LT, at, count);
  Builder yes = builder_new(b->c, b->loc), no = builder_new(b->c, b->loc);
  Atom there = ad_row(&yes, array, at);
  const Exp *chosen = exp_if(ad_op2(&l.b, OP_LAND, low, high), core_body(&yes, &there, 1),
                             core_body(&no, &otherwise, 1));
  Atom result = core_let(&l.b, "neighbour", chosen);
  Lambda fn = ad_lambda_end(&l, &result, 1);
  return core_let(b, "shifted", exp_map(count, fn, &places, 1));
}

// For each element what is left of it, combined; or, from behind, what is right of it.
static Atom *before_each(Builder *b, const RedOp *op, const Atom *arrays, bool behind) {
  Atom *in = new_array(Atom, op->count), *out = new_array(Atom, op->count);
  for (int k = 0; k < op->count; k++)
    in[k] = behind ? ad_reversed(b, arrays[k]) : arrays[k];
  RedOp fresh = *op;
  fresh.op = core_rename_lambda(b->c, NULL, op->op);
  const Atom *all = scanned(b, behind ? flipped(b, op) : fresh, in);
  for (int k = 0; k < op->count; k++) {
    out[k] = shifted(b, all[k], -1, op->neutral[k]);
    if (behind) out[k] = ad_reversed(b, out[k]);
  }
  return out;
}

// ---- reductions

// Adjoints for the arrays of a map that nobody computes, by those of its results.
static void reverse_virtual_map(Reverse *r, const AdLambda *l, const AtomVec *results,
                                const AtomVec *arrays, const Atom *const *adjoints) {
  Lambda fn = ad_lambda_end(l, results->at, results->count);
  Atom width = arrays->at ? ad_length(arrays->at[0]) : atom_i64(0);
  Builder unused = builder_new(r->c, r->scope->b->loc);
  Atom *out = new_array(Atom, results->count);
  core_let_n(&unused, "combined", exp_map(width, fn, arrays->at, arrays->count), out);
  for (int k = 0; k < results->count; k++)
    if (adjoints[k]) reverse_assign(r, out[k].u.var, *adjoints[k]);
  reverse_map(r, unused.stms.at);
}

void reverse_general_reduction(Reverse *r, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  const RedOp *op = &soac->ops[0];
  Builder *b = r->scope->b;
  int count = op->count;
  AtomVec arrays = { 0 };
  const Atom **adjoints = new_array(const Atom *, count);
  const Atom *left = before_each(b, op, soac->arrays, false);
  const Atom *right = before_each(b, op, soac->arrays, true);
  for (int k = 0; k < 3 * count; k++)
    vec_push(&arrays, k < count       ? soac->arrays[k]
                      : k < 2 * count ? left[k - count]
                                      : right[k - 2 * count]);
  for (int k = 0; k < count; k++) {
    if (!reverse_adjoint(r, stm->binders[k])) continue;
    Atom adjoint = *reverse_adjoint(r, stm->binders[k]);
    Atom same = core_let(b, "same", exp_replicate(soac->width, adjoint));
    adjoints[k] = mem_copy(&same, sizeof same);
  }
  AdLambda l = ad_lambda(b);
  Atom *params = new_array(Atom, 3 * count);
  for (int k = 0; k < 3 * count; k++)
    params[k] = ad_param(&l, "x", atom_type(op->neutral[k % count]));
  AtomVec so_far = combine(&l.b, op, &params[count], params);
  AtomVec all = combine(&l.b, op, so_far.at, params + count + count);
  reverse_virtual_map(r, &l, &all, &arrays, adjoints);
}

// ---- scans

// A fresh variable for the value, which is differentiated by it.
static Atom watched(Reverse *r, Atom value) {
  Atom copy = core_let(r->scope->b, "operand", exp_atom(value));
  ad_activate(&r->active, copy.u.var);
  return copy;
}

// (a, b) (c, d) -> (a * c, b * c + d): first x -> a * x + b, then the other.
static RedOp linear_functions(Builder *b, PrimType elem) {
  AdLambda l = ad_lambda(b);
  Atom p[4];
  for (int k = 0; k < 4; k++)
    p[k] = ad_param(&l, "x", type_scalar(elem));
  Atom slope = ad_op2(&l.b, OP_MUL, p[0], p[2]);
  Atom offset = ad_op2(&l.b, OP_ADD, ad_op2(&l.b, OP_MUL, p[1], p[2]), p[3]);
  Atom neutral[2] = { ad_number(elem, 1), ad_number(elem, 0) };
  return (RedOp){ .op = ad_lambda_end(&l, (Atom[]){ slope, offset }, 2),
                  .neutral = mem_copy(neutral, sizeof neutral),
                  .count = 2 };
}

static Atom product(Builder *b, Atom xs, Atom ys) {
  AdLambda l = ad_lambda(b);
  Atom x = ad_param(&l, "x", type_row(atom_type(xs)));
  Atom y = ad_param(&l, "y", type_row(atom_type(ys)));
  Atom result = ad_op2(&l.b, OP_MUL, x, y);
  Lambda fn = ad_lambda_end(&l, &result, 1);
  return core_let(b, "parts", exp_map(ad_length(xs), fn, (Atom[]){ xs, ys }, 2));
}

void reverse_general_scan(Reverse *r, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  const RedOp *op = &soac->ops[0];
  Builder *b = r->scope->b;
  Atom adjoint = *reverse_adjoint(r, stm->binders[0]);
  PrimType elem = atom_type(adjoint).elem;
  AtomVec arrays = { 0 };
  Atom before = shifted(b, atom_var(stm->binders[0]), -1, op->neutral[0]);
  vec_push(&arrays, watched(r, before));
  vec_push(&arrays, watched(r, soac->arrays[0]));
  AdLambda l = ad_lambda(b);
  Atom params[2];
  for (int k = 0; k < 2; k++)
    params[k] = ad_param(&l, "x", type_scalar(elem));
  AtomVec result = combine(&l.b, op, params, params + 1);
  Atom ones = core_let(b, "ones", exp_replicate(soac->width, ad_number(elem, 1)));
  const Atom **seeds = new_array(const Atom *, result.count);
  seeds[0] = &ones;
  reverse_virtual_map(r, &l, &result, &arrays, seeds);
  Atom slopes = reverse_current(r, arrays.at[0].u.var);
  Atom next = shifted(b, slopes, 1, ad_number(elem, 0));
  Atom functions[2] = { ad_reversed(b, next), ad_reversed(b, adjoint) };
  const Atom *sums =
      scanned(b, linear_functions(b, elem), mem_copy(functions, sizeof functions));
  Atom by_element = reverse_current(r, arrays.at[1].u.var);
  reverse_add(r, soac->arrays[0], product(b, by_element, ad_reversed(b, sums[1])));
}
