// xs[(i + 1) * m - k]   =>   row i + 1, of length m, place 0 - k
#include "kern/row_index.h"

static bool is_short(const Term *length) {
  return length->kind == TERM_CONST && length->u.constant.u.i <= 1 &&
         length->u.constant.u.i >= -1;
}

static bool row_of_product(const RowQuestion *q, const Term *t, RowIndex *out) {
  const Term *row = t->u.op.args[0], *length = t->u.op.args[1];
  if (!q->differs(q->state, row)) {
    row = length;
    length = t->u.op.args[0];
  }
  if (q->differs(q->state, length)) return false;
  RowIndex inner;
  bool rows = kern_row_index(q, row, &inner) && term_is_i64(inner.place, 0);
  *out = (RowIndex){ rows ? inner.row : row,
                     rows ? term_mul(inner.length, length) : length, term_i64(0) };
  return !is_short(out->length);
}

static bool row_of_sum(const RowQuestion *q, const Term *t, RowIndex *out) {
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  bool adds = t->u.op.op == OP_ADD, second = q->differs(q->state, b);
  if (second && (!adds || q->differs(q->state, a))) return false;
  if (!kern_row_index(q, second ? b : a, out)) return false;
  const Term *other = second ? a : b;
  out->place = adds ? term_add(out->place, other) : term_sub(out->place, other);
  return true;
}

bool kern_row_index(const RowQuestion *q, const Term *t, RowIndex *out) {
  if (t->type != PRIM_I64 || !q->differs(q->state, t)) return false;
  const Term *let = t->kind == TERM_VAR ? map_get(q->lets, t->u.var) : NULL;
  if (let) return kern_row_index(q, let, out);
  if (t->kind != TERM_OP) return false;
  if (t->u.op.op == OP_MUL) return row_of_product(q, t, out);
  bool sum = t->u.op.op == OP_ADD || t->u.op.op == OP_SUB;
  return sum && row_of_sum(q, t, out);
}
