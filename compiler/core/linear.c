#include "core/linear.h"
#include "base/text.h"
#include <inttypes.h>

static LinearSum linear_of_atom(const Map *sums, Atom a) {
  if (a.kind == ATOM_CONST) return (LinearSum){ .constant = (uint64_t)a.u.constant.u.i };
  const LinearSum *known = map_get(sums, a.u.var);
  return known ? *known : (LinearSum){ .terms = { { a.u.var, 1 } }, .count = 1 };
}

static bool add_term(LinearSum *sum, const Var *var, uint64_t factor) {
  if (factor == 0) return true;
  if (sum->count == LINEAR_TERMS) return false;
  sum->terms[sum->count++] = (LinearTerm){ var, factor };
  return true;
}

// a + factor * b
static bool add_scaled(const LinearSum *a, const LinearSum *b, uint64_t factor,
                       LinearSum *sum) {
  *sum = (LinearSum){ .constant = a->constant + factor * b->constant };
  int i = 0, j = 0;
  while (i < a->count || j < b->count) {
    const LinearTerm *s = i < a->count ? &a->terms[i] : NULL,
                     *t = j < b->count ? &b->terms[j] : NULL;
    bool left = s && (!t || s->var->id <= t->var->id),
         right = t && (!s || t->var->id <= s->var->id);
    uint64_t together = (left ? s->factor : 0) + (right ? factor * t->factor : 0);
    if (!add_term(sum, left ? s->var : t->var, together)) return false;
    i += left;
    j += right;
  }
  return true;
}

bool linear_of_exp(const Map *sums, const Exp *e, LinearSum *sum) {
  static const LinearSum zero = { .count = 0 };
  if (e->kind != EXP_OP || e->u.op.type != PRIM_I64) return false;
  PrimOp op = e->u.op.op;
  if (op != OP_ADD && op != OP_SUB && op != OP_MUL) return false;
  LinearSum a = linear_of_atom(sums, e->u.op.args[0]),
            b = linear_of_atom(sums, e->u.op.args[1]);
  if (op == OP_ADD) return add_scaled(&a, &b, 1, sum);
  if (op == OP_SUB) return add_scaled(&a, &b, (uint64_t)-1, sum);
  if (a.count && b.count) return false;
  return b.count ? add_scaled(&zero, &b, a.constant, sum)
                 : add_scaled(&zero, &a, b.constant, sum);
}

static bool has_term(const LinearSum *sum, const Var *var) {
  for (int i = 0; i < sum->count; i++)
    if (sum->terms[i].var == var) return true;
  return false;
}

bool linear_keeps_failing(const Map *sums, const Map *failing, const Exp *e,
                          const LinearSum *sum) {
  for (int k = 0; k < op_arity(e->u.op.op); k++) {
    LinearSum part = linear_of_atom(sums, e->u.op.args[k]);
    for (int i = 0; i < part.count; i++) {
      const Var *var = part.terms[i].var;
      if (failing_has(failing, atom_var(var)) && !has_term(sum, var)) return false;
    }
  }
  return true;
}

const char *linear_text(const LinearSum *sum) {
  Text *t = text_new();
  text_printf(t, "sum %" PRIu64, sum->constant);
  for (int i = 0; i < sum->count; i++)
    text_printf(t, " %" PRIu64 "*%d", sum->terms[i].factor, sum->terms[i].var->id);
  return text_str(t);
}

bool linear_is_atom(const LinearSum *sum, Atom *atom) {
  if (sum->count == 0) *atom = atom_i64((int64_t)sum->constant);
  if (sum->count == 1) *atom = atom_var(sum->terms[0].var);
  return sum->count == 0 ||
         (sum->count == 1 && sum->constant == 0 && sum->terms[0].factor == 1);
}
