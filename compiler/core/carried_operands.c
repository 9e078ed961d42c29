// reduce (\i j -> let x = xs[i] let y = xs[j] .. in if x < y then i else j) 0 is
//   =>  reduce (\(i, x) (j, y) -> .. in if x < y then (i, x) else (j, y)) (0, xs[0])
//         (map (\i -> (i, xs[i])) is)
//
// for reductions and scans, where the operator loads from the same array at both of its operands,
// gives one of the places that it has loaded from, and begins at place 0.
//
// Needs: Core, fused; binders unique.  Keeps: both.
// Why: as in carried_loads.c: the elements are loaded once, in order, and not again for each pair.
#include "core/carried.h"
#include "core/passes.h"

// An operator, and the results of the function before its own.
typedef struct CarriedOperand {
  const Soac *soac;
  int at, before;
} CarriedOperand;

static const RedOp *carried_op(const CarriedOperand *o) { return &o->soac->ops[o->at]; }

static bool is_made_by(const Lambda *op, Atom a) {
  if (lambda_param_index(op, a) >= 0) return true;
  for (int i = 0; i < op->body->stm_count && a.kind == ATOM_VAR; i++)
    for (int k = 0; k < op->body->stms[i].binder_count; k++)
      if (op->body->stms[i].binders[k] == a.u.var) return true;
  return false;
}

// A load at operands of one side, `side` 0 or 1, and otherwise of one place, that begins inside.
static bool is_at_operand(const CarriedOperand *o, const Stm *stm, int side) {
  const Exp *e = stm->exp;
  const RedOp *op = carried_op(o);
  if (e->kind != EXP_INDEX || stm->binders[0]->type.rank || stm->attrs) return false;
  if (is_made_by(&op->op, e->u.index.array)) return false;
  for (int i = 0; i < e->u.index.dim_count; i++) {
    int k = lambda_param_index(&op->op, e->u.index.dims[i].start);
    if (k < 0 || k / op->count != side || !atom_is_i64(op->neutral[k % op->count], 0) ||
        !atom_equal(atom_type(e->u.index.array).dims[i], o->soac->width))
      return false;
  }
  return true;
}

// The same place by other operands: from the values or the results of an operator.
static Atom *place_by_operands(const CarriedOperand *o, const Exp *load,
                               const Atom *values) {
  int count = load->u.index.dim_count;
  Atom *place = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    int k = lambda_param_index(&carried_op(o)->op, load->u.index.dims[i].start);
    place[i] = values[k % carried_op(o)->count];
  }
  return place;
}

static bool is_other_side(const CarriedOperand *o, const Exp *load, const Exp *other) {
  const RedOp *op = carried_op(o);
  Atom *right = new_array(Atom, op->count);
  for (int i = 0; i < op->count; i++)
    right[i] = atom_var(op->op.params[op->count + i]);
  Atom *place = place_by_operands(o, load, right);
  if (other->kind != EXP_INDEX || other->u.index.dim_count != load->u.index.dim_count ||
      !atom_equal(other->u.index.array, load->u.index.array))
    return false;
  for (int i = 0; i < load->u.index.dim_count; i++)
    if (!atom_equal(other->u.index.dims[i].start, place[i])) return false;
  return true;
}

// ---- the new operator

static const Var **params_with(const RedOp *op, const Var *left, const Var *right) {
  const Var **params = new_array(const Var *, 2 * op->count + 2);
  for (int i = 0; i < op->count; i++) {
    params[i] = op->op.params[i];
    params[op->count + 1 + i] = op->op.params[op->count + i];
  }
  params[op->count] = left;
  params[2 * op->count + 1] = right;
  return params;
}

static Atom *atoms_with(const Atom *atoms, int count, int at, Atom atom) {
  Atom *all = new_array(Atom, count + 1);
  for (int i = 0; i <= count; i++)
    all[i] = i < at ? atoms[i] : i == at ? atom : atoms[i - 1];
  return all;
}

// The function with the element at its place as one more result.
static const Body *loaded_by(Compiler *c, const CarriedOperand *o, const Exp *load) {
  const Body *body = o->soac->fn.body;
  Builder b = builder_new(c, (Loc){ 0 });
  core_add_body(&b, body);
  const Atom *place = place_by_operands(o, load, body->results + o->before);
  Atom element = core_let(&b, "element",
                          exp_index(load->u.index.array, place, load->u.index.dim_count,
                                    load->u.index.checked));
  int at = o->before + carried_op(o)->count;
  return core_body(&b, atoms_with(body->results, body->result_count, at, element),
                   body->result_count + 1);
}

static bool carry_pair(Builder *b, Stm *stm, const CarriedOperand *o, const Stm *left,
                       const Stm *right) {
  const RedOp *op = carried_op(o);
  const Soac *soac = o->soac;
  CarriedLoad first = { b->c, left->exp, var_like(b->c, left->binders[0]) },
              second = { b->c, right->exp, var_like(b->c, right->binders[0]) };
  const Body *body;
  if (!carried_give(&first, op->op.body,
                    place_by_operands(o, left->exp, op->op.body->results), &body))
    return false;
  body = carried_without(&second, carried_without(&first, body));
  b->loc = left->loc;
  Atom neutral =
      carried_first(b, &first, soac->width, place_by_operands(o, left->exp, op->neutral));
  RedOp *ops = new_array(RedOp, soac->op_count);
  for (int i = 0; i < soac->op_count; i++)
    ops[i] = soac->ops[i];
  ops[o->at].op =
      lambda_new(params_with(op, first.element, second.element), 2 * op->count + 2, body);
  ops[o->at].neutral = atoms_with(op->neutral, op->count, op->count, neutral);
  ops[o->at].count++;
  Soac carried = *soac;
  carried.ops = ops;
  carried.fn.body = loaded_by(b->c, o, left->exp);
  const Var **binders = new_array(const Var *, stm->binder_count + 1);
  int at = o->before + op->count;
  CoreType type = first.element->type;
  if (stm->exp->kind == EXP_SCANOMAP) type = type_of_rows(type, soac->width);
  for (int i = 0; i <= stm->binder_count; i++)
    binders[i] = i < at    ? stm->binders[i]
                 : i == at ? var_new(b->c, first.element->name, type, stm->loc)
                           : stm->binders[i - 1];
  stm->binders = binders;
  stm->binder_count++;
  stm->exp = exp_soac(stm->exp->kind, carried);
  return true;
}

static bool carry_operand(Builder *b, Stm *stm, const CarriedOperand *o) {
  const Body *body = carried_op(o)->op.body;
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stm_count && is_at_operand(o, &body->stms[i], 0); k++)
      if (is_other_side(o, body->stms[i].exp, body->stms[k].exp) &&
          carry_pair(b, stm, o, &body->stms[i], &body->stms[k]))
        return true;
  return false;
}

static bool carry_in_soac(Builder *b, Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_REDOMAP && e->kind != EXP_SCANOMAP) return false;
  CarriedOperand o = { .soac = &e->u.soac };
  for (; o.at < e->u.soac.op_count; o.at++) {
    if (carry_operand(b, stm, &o)) return true;
    o.before += carried_op(&o)->count;
  }
  return false;
}

typedef struct CarriedOperands {
  Compiler *c;
  bool changed;
} CarriedOperands;

static const Body *operands_in_body(CoreMapper *m, const Body *body) {
  CarriedOperands *w = m->state;
  Builder b = builder_new(w->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    stm.exp = core_map_exp(m, stm.exp);
    while (carry_in_soac(&b, &stm))
      w->changed = true;
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *carry_operands_body(Compiler *c, const Body *body) {
  CarriedOperands w = { .c = c };
  CoreMapper m = { .body = operands_in_body, .state = &w };
  const Body *carried = operands_in_body(&m, body);
  return w.changed ? carried : body;
}

const Core *carry_operands(Compiler *c, const Core *core) {
  return core_map_bodies(c, core, carry_operands_body);
}
