// Bits of indices, in blocks that begin at a multiple of a power of two that is at least their size
// (steps/interior.c).
//
//   axis a < 16 { x = low + a .. x ^ m .. x & m .. x >> s }
//     =>   turned = low ^ m   bits = low & m   above = low >> s
//          axis a < 16 { .. turned + a .. bits .. above }   if 16 divides low and m, and s >= 4
//
// Why: exchanges with partners whose index differs in a bit, as in Fourier's and Walsh's
// transforms and in sorting networks, load whole vectors then, and what a bit decides is decided
// once for the block.  Of a form (low + a) & m, say, no lane has a bit that another one lacks.
#include "kern/steps/interior.h"

enum { MOST_SPAN = 1 << 10 };

// The least power of two that is more than how far the form's values lie apart; 0: it is not known.
static int64_t size_of(const Interior *x, const Linear *form) {
  int64_t span = 0, size = 1;
  for (int i = 0; i < x->index_count; i++) {
    const Index *index = &x->indices[i];
    if (!form->by[i]) continue;
    const Term *low = index->low, *high = index->high;
    bool constant = low->kind == TERM_CONST && high->kind == TERM_CONST;
    if (form->by[i] < 0 || (!index->at && !constant)) return 0;
    int64_t points =
        index->at ? index->size : high->u.constant.u.i - low->u.constant.u.i + 1;
    span += form->by[i] * (points - 1);
    if (span >= MOST_SPAN) return 0;
  }
  while (size <= span)
    size *= 2;
  return size;
}

static void want_multiple(Assumption *w, const Term *t, int64_t size) {
  const Term *rest = term_op2(OP_AND, t, term_i64(size - 1));
  interior_want(w, term_at_most(rest, term_i64(0)));
}

static void want_shift(Assumption *w, const Term *by, int64_t size) {
  int bits = 0;
  while (INT64_C(1) << bits < size)
    bits++;
  interior_want(w, term_at_most(term_i64(bits), by));
  interior_want(w, term_at_most(by, term_i64(63)));
}

typedef struct BitOperands {
  const Term *index;  // it varies in the block
  Linear form;        // of the index
  const Term *by;     // it does not; known outside
} BitOperands;

static bool find_operands(const Interior *x, const Term *t, BitOperands *out) {
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  Linear form_a, form_b;
  if (!interior_form(x, a, &form_a) || !interior_form(x, b, &form_b)) return false;
  bool second = t->u.op.op != OP_SHR && interior_is_closed(x, &form_a);
  *out = second ? (BitOperands){ b, form_b, form_a.base }
                : (BitOperands){ a, form_a, form_b.base };
  return !interior_is_closed(x, &out->form) &&
         interior_is_closed(x, second ? &form_a : &form_b);
}

// What the operand's low bits are: all 0, or all 1, of which only & makes anything.
typedef enum LowBits { LOW_ZEROS, LOW_ONES } LowBits;

static void want_operand(Assumption *w, PrimOp op, const Term *by, int64_t size,
                         LowBits bits) {
  const Term *low = term_op2(OP_AND, by, term_i64(size - 1));
  if (op == OP_SHR)
    want_shift(w, by, size);
  else if (bits == LOW_ONES)
    interior_want(w, term_at_most(term_i64(size - 1), low));
  else
    want_multiple(w, by, size);
}

static const Term *bits_with(Interior *x, const Term *t, const BitOperands *of,
                             int64_t size, LowBits bits) {
  Assumption w = { .count = 0 };
  PrimOp op = t->u.op.op;
  const Term *low = interior_extreme(x, &of->form, -1);
  interior_want_range(x, &w, &of->form);
  want_multiple(&w, low, size);
  want_operand(&w, op, of->by, size, bits);
  const Interior before = *x;
  const Term *first = interior_first(x, term_op2(op, low, of->by), true);
  if (!first || !interior_assume(x, &w)) {
    *x = before;
    return NULL;
  }
  if (interior_form_differs(x, &of->form)) x->over_lanes = true;
  bool same = op == OP_SHR || (op == OP_AND && bits == LOW_ZEROS);
  return same ? first : term_add(term_sub(of->index, low), first);
}

const Term *interior_bits(Interior *x, const Term *t) {
  BitOperands of;
  int64_t size = find_operands(x, t, &of) ? size_of(x, &of.form) : 0;
  if (!size) return t;
  const Term *out = bits_with(x, t, &of, size, LOW_ZEROS);
  if (!out && t->u.op.op == OP_AND) out = bits_with(x, t, &of, size, LOW_ONES);
  return out ? out : t;
}
