// Reductions and scans by operators with rules of their own; reverse_general.c has the others.
//
//   y = reduce (+) xs    =>  xs^ += replicate n y^
//   y = reduce max xs    =>  xs^[i] += y^, where i is the first place of the greatest
//   y = reduce (*) xs    =>  xs^ += y^ * y / x; zeros are counted, not divided by
//   ys = scan (+) xs     =>  xs^ += the sums of ys^ from behind
#include "core/ad/reverse.h"

typedef struct Reduction {
  Builder *b;
  Atom array, result, adjoint;
  PrimType elem;
} Reduction;

static Atom of_sum(const Reduction *s) {
  return core_let(s->b, "same", exp_replicate(ad_length(s->array), s->adjoint));
}

// ---- min and max

// The first place where the array has the value; its length if none is equal (NaN).
static Atom first_place(const Reduction *s) {
  Builder *b = s->b;
  Atom count = ad_length(s->array), places = ad_iota(b, count);
  AdLambda l = ad_lambda(b);
  Atom i = ad_param(&l, "i", type_scalar(PRIM_I64));
  Atom x = ad_param(&l, "x", type_scalar(s->elem));
  Atom equal = ad_op2(&l.b, OP_EQ, x, s->result);
  Atom place = ad_select(&l.b, equal, i, count);
  Lambda fn = ad_lambda_end(&l, &place, 1);
  places = core_let(b, "places", exp_map(count, fn, (Atom[]){ places, s->array }, 2));
  return ad_reduce(b, EXP_REDOMAP, OP_MIN, prim_highest(PRIM_I64), places);
}

static Atom extremum_parts(const Reduction *s) {
  Builder *b = s->b;
  Atom count = ad_length(s->array), winner = first_place(s);
  Atom places = ad_iota(b, count), zero = ad_number(s->elem, 0);
  AdLambda l = ad_lambda(b);
  Atom i = ad_param(&l, "i", type_scalar(PRIM_I64));
  Atom wins = ad_op2(&l.b, OP_EQ, i, winner);
  Atom part = ad_select(&l.b, wins, s->adjoint, zero);
  Lambda fn = ad_lambda_end(&l, &part, 1);
  return core_let(b, "parts", exp_map(count, fn, &places, 1));
}

// ---- products

// For each element 0, itself and 0, or if it is zero 1, 1 and itself: how many zeros there are,
// what the product is without them, and their sum, which is zero, but changes as they do.
static void without_zeros(const Reduction *s, Atom *out) {
  AdLambda l = ad_lambda(s->b);
  Atom x = ad_param(&l, "x", type_scalar(s->elem)), one = ad_number(s->elem, 1);
  Atom is_zero = ad_op2(&l.b, OP_EQ, x, ad_number(s->elem, 0));
  AtomVec results = { 0 }, arrays = { 0 };
  vec_push(&results, ad_select(&l.b, is_zero, atom_i64(1), atom_i64(0)));
  vec_push(&results, ad_select(&l.b, is_zero, one, x));
  vec_push(&results, ad_select(&l.b, is_zero, x, ad_number(s->elem, 0)));
  vec_push(&arrays, s->array);
  ad_map(s->b, &l, &results, &arrays, out);
}

Atom ad_product_of_others(Builder *b, Atom x, Atom zeros, Atom product, Atom sum) {
  PrimType elem = atom_type(x).elem;
  Atom none = ad_number(elem, 0);
  Atom is_zero = ad_op2(b, OP_EQ, x, none);
  Atom no_zeros = ad_op2(b, OP_EQ, zeros, atom_i64(0));
  Atom one_zero = ad_op2(b, OP_EQ, zeros, atom_i64(1));
  Atom two_zeros = ad_op2(b, OP_EQ, zeros, atom_i64(2));
  Atom divisor = ad_select(b, is_zero, ad_number(elem, 1), x);
  Atom quotient = ad_op2(b, OP_DIV, product, divisor);
  Atom by_zero = ad_op2(b, OP_MUL, quotient, sum);
  Atom by_other = ad_op2(b, OP_MUL, product, ad_op2(b, OP_SUB, sum, x));
  Atom of_zero = ad_select(b, one_zero, product, ad_select(b, two_zeros, by_other, none));
  Atom of_number =
      ad_select(b, no_zeros, quotient, ad_select(b, one_zero, by_zero, none));
  return ad_select(b, is_zero, of_zero, of_number);
}

static Atom of_product(const Reduction *s) {
  Atom parts[3];
  without_zeros(s, parts);
  Atom zeros = ad_reduce(s->b, EXP_REDOMAP, OP_ADD, prim_i64(0), parts[0]);
  Atom product = ad_reduce(s->b, EXP_REDOMAP, OP_MUL, prim_one(s->elem), parts[1]);
  Atom sum = ad_reduce(s->b, EXP_REDOMAP, OP_ADD, prim_zero(s->elem), parts[2]);
  AdLambda l = ad_lambda(s->b);
  Atom x = ad_param(&l, "x", type_scalar(s->elem));
  Atom others = ad_product_of_others(&l.b, x, zeros, product, sum);
  Atom part = ad_op2(&l.b, OP_MUL, s->adjoint, others);
  Lambda fn = ad_lambda_end(&l, &part, 1);
  return core_let(s->b, "parts", exp_map(ad_length(s->array), fn, &s->array, 1));
}

// ---- scans

static Atom of_sums(const Reduction *s) {
  Atom backwards = ad_reversed(s->b, s->adjoint);
  Atom sums = ad_reduce(s->b, EXP_SCANOMAP, OP_ADD, prim_zero(s->elem), backwards);
  return ad_reversed(s->b, sums);
}

static Atom of_array(const Reduction *s, PrimOp op) {
  if (op == OP_ADD) return of_sum(s);
  return op == OP_MUL ? of_product(s) : extremum_parts(s);
}

bool reverse_has_rule(const RedOp *op, bool is_scan) {
  PrimOp by;
  if (op->count != 1 || atom_type(op->neutral[0]).rank || !ad_is_op(&op->op, &by))
    return false;
  if (is_scan) return by == OP_ADD;
  return by == OP_ADD || by == OP_MUL || by == OP_MIN || by == OP_MAX;
}

void reverse_reduction(Reverse *r, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  bool is_scan = stm->exp->kind == EXP_SCANOMAP;
  if (!reverse_has_rule(&soac->ops[0], is_scan)) {
    if (is_scan)
      reverse_general_scan(r, stm);
    else
      reverse_general_reduction(r, stm);
    return;
  }
  Atom array = soac->arrays[0], result = atom_var(stm->binders[0]);
  Reduction s = { .b = r->scope->b, .array = array, .result = result };
  s.adjoint = *reverse_adjoint(r, stm->binders[0]);
  s.elem = atom_type(array).elem;
  PrimOp op = OP_ADD;
  ad_is_op(&soac->ops[0].op, &op);
  reverse_add(r, array, is_scan ? of_sums(&s) : of_array(&s, op));
}
