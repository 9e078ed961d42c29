// Arrays of whole numbers of which no two are the same: iotas, parts of them, and what maps make of
// such an array by adding a number that is the same for all, subtracting, or multiplying.
#include "core/ad/reverse.h"

enum {
  LARGEST_FACTOR = 1 << 16,  // so that products of places do not wrap
  MOST_COMPARED = 64,        // elements of a literal
};

// The statement that binds the atom, which gets its place among the binders; or NULL.
static const Stm *binding(const Stm *stms, int count, Atom a, int *place) {
  for (int i = count - 1; i >= 0 && a.kind == ATOM_VAR; i--)
    for (*place = 0; *place < stms[i].binder_count; ++*place)
      if (stms[i].binders[*place] == a.u.var) return &stms[i];
  return NULL;
}

static const Stm *bound_in_body(const Body *body, Atom a) {
  int place;
  return binding(body->stms, body->stm_count, a, &place);
}

static int param_of(const Lambda *fn, Atom a) {
  for (int i = 0; i < fn->param_count; i++)
    if (atom_equal(a, atom_var(fn->params[i]))) return i;
  return -1;
}

static bool is_same_for_all(const Lambda *fn, Atom a) {
  const Stm *stm = bound_in_body(fn->body, a);
  if (!stm) return param_of(fn, a) < 0;
  if (stm->exp->kind != EXP_OP) return false;
  for (int k = 0; k < op_arity(stm->exp->u.op.op); k++)
    if (!is_same_for_all(fn, stm->exp->u.op.args[k])) return false;
  return true;
}

static bool is_factor(Atom a) {
  if (a.kind != ATOM_CONST || !a.u.constant.u.i) return false;
  return a.u.constant.u.i < LARGEST_FACTOR && a.u.constant.u.i > -LARGEST_FACTOR;
}

// The operand that tells the results of an operation apart, if there is one.
static bool telling_operand(const Lambda *fn, const Stm *stm, Atom *out) {
  const Exp *e = stm ? stm->exp : NULL;
  if (!e || e->kind != EXP_OP || e->u.op.type != PRIM_I64) return false;
  const Atom *x = e->u.op.args;
  PrimOp op = e->u.op.op;
  if (op != OP_ADD && op != OP_SUB && op != OP_MUL) return false;
  for (int k = 0; k < 2; k++) {
    *out = x[1 - k];
    if (op == OP_MUL ? is_factor(x[k]) : is_same_for_all(fn, x[k])) return true;
  }
  return false;
}

static bool map_is_distinct(const Reverse *r, const Soac *soac, int place) {
  Atom a = soac->fn.body->results[place];
  while (param_of(&soac->fn, a) < 0)
    if (!telling_operand(&soac->fn, bound_in_body(soac->fn.body, a), &a)) return false;
  return reverse_is_distinct(r, soac->arrays[param_of(&soac->fn, a)]);
}

static bool is_nonzero(Atom a) { return a.kind == ATOM_CONST && a.u.constant.u.i != 0; }

static bool is_distinct_slice(const Reverse *r, const Exp *e) {
  const DimIndex *dim = &e->u.index.dims[0];
  return e->u.index.dim_count == 1 && dim->is_slice && is_nonzero(dim->stride) &&
         reverse_is_distinct(r, e->u.index.array);
}

static bool is_distinct_table(const Exp *e) {
  if (!exp_is_table(e) || e->u.array.count > MOST_COMPARED) return false;
  const Atom *atoms = e->u.array.atoms;
  for (int i = 0; i < e->u.array.count; i++)
    for (int k = 0; k < i; k++)
      if (atom_equal(atoms[i], atoms[k])) return false;
  return true;
}

bool reverse_is_distinct(const Reverse *r, Atom array) {
  const Stm *stm = NULL;
  int place = 0;
  if (atom_type(array).rank != 1) return false;
  for (const AdScope *in = r->scope; in && !stm; in = in->outer)
    stm = binding(in->b->stms.at, in->b->stms.count, array, &place);
  const Builder *around = r->around;
  if (!stm && around) stm = binding(around->stms.at, around->stms.count, array, &place);
  if (!stm) return false;
  const Exp *e = stm->exp;
  if (e->kind == EXP_ROTATE) return reverse_is_distinct(r, e->u.rotate.array);
  if (e->kind == EXP_ARRAY) return is_distinct_table(e);
  if (e->kind == EXP_ATOM) return reverse_is_distinct(r, e->u.atom.atom);
  if (e->kind == EXP_IOTA) return is_nonzero(e->u.iota.step);
  if (e->kind == EXP_INDEX) return is_distinct_slice(r, e);
  return e->kind == EXP_MAP && map_is_distinct(r, &e->u.soac, place);
}
