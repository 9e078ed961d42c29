// What is known while straight code is made, and what is not:
//
//   let k = 2 + 1  let x = xs[k]   =>   the fourth element
//   let y = xs[i]                  =>   i == 0 ? x0 : i == 1 ? x1 : x2
#include "core/straight.h"

enum { MOST_CHOSEN = 8 };  // elements among which one is chosen

// ---- what is known

static bool constant_args(Straight *s, const Atom *args, int count, Prim *out) {
  for (int i = 0; i < count; i++) {
    Atom known = straight_whole(s, args[i]);
    if (known.kind != ATOM_CONST) return false;
    out[i] = known.u.constant;
  }
  return true;
}

static bool is_known_true(Atom a) {
  return a.kind == ATOM_CONST && a.u.constant.type == PRIM_BOOL && a.u.constant.u.i;
}

static bool assertion_holds(Straight *s, const Stm *stm) {
  const Exp *e = stm->exp;
  if (!is_known_true(straight_whole(s, e->u.assert.condition))) return false;
  for (int i = 0; i < stm->binder_count; i++)
    straight_bind(s, stm->binders[i], straight_whole(s, e->u.assert.atoms[i]));
  return true;
}

bool straight_fold(Straight *s, const Stm *stm) {
  const Exp *e = stm->exp;
  Prim args[3], value;
  if (e->kind == EXP_ASSERT) return assertion_holds(s, stm);
  if (e->kind == EXP_CONVERT) {
    if (!constant_args(s, &e->u.convert.atom, 1, args)) return false;
    value = prim_convert(e->u.convert.to, args[0]);
  } else if (!constant_args(s, e->u.op.args, op_arity(e->u.op.op), args) ||
             !prim_apply(e->u.op.op, args, &value)) {
    return false;
  }
  straight_bind(s, stm->binders[0], atom_const(value));
  return true;
}

// ---- what is chosen

static Atom straight_let(Straight *s, const char *name, const Exp *e) {
  --*s->budget;
  return core_let(s->b, name, e);
}

// The places that the index may mean, each with its condition.
typedef struct ChosenPlaces {
  int places[MOST_CHOSEN];
  Atom conditions[MOST_CHOSEN];
  int count;
} ChosenPlaces;

// Adds a dimension: each place so far, in all positions of it that the index may have.
static bool add_dimension(Straight *s, const DimIndex *dim, int width, ChosenPlaces *p) {
  if (dim->is_slice) return false;
  Atom at = straight_whole(s, dim->start);
  ChosenPlaces next = { .count = 0 };
  bool known = at.kind == ATOM_CONST;
  int64_t first = known ? at.u.constant.u.i : 0, end = known ? first + 1 : width;
  if (first < 0 || end > width || p->count * (end - first) > MOST_CHOSEN) return false;
  Atom *here = new_array(Atom, width);
  for (int64_t i = first; i < end && !known; i++)
    here[i] = straight_let(s, "here", exp_op2(OP_EQ, at, atom_i64(i)));
  for (int k = 0; k < p->count; k++)
    for (int64_t i = first; i < end; i++) {
      Atom condition = p->conditions[k];
      if (!known)
        condition = is_known_true(condition)
                        ? here[i]
                        : straight_let(s, "here", exp_op2(OP_LAND, condition, here[i]));
      next.places[next.count] = p->places[k] * width + (int)i;
      next.conditions[next.count++] = condition;
    }
  *p = next;
  return true;
}

static bool find_chosen(Straight *s, CoreType type, const DimIndex *dims,
                        ChosenPlaces *p) {
  *p = (ChosenPlaces){ .conditions = { atom_bool(true) }, .count = 1 };
  for (int d = 0; d < type.rank; d++)
    if (!add_dimension(s, &dims[d], (int)type.dims[d].u.constant.u.i, p)) return false;
  return true;
}

static Atom choose_value(Straight *s, Atom condition, Atom yes, Atom no) {
  if (is_known_true(condition) || atom_equal(yes, no)) return yes;
  const Body *then_body =
                 new_node(Body, .results = mem_copy(&yes, sizeof yes), .result_count = 1),
             *else_body =
                 new_node(Body, .results = mem_copy(&no, sizeof no), .result_count = 1);
  return straight_let(s, "chosen", exp_if(condition, then_body, else_body));
}

static bool choose_element(Straight *s, const Stm *stm, const ArrayParts *of) {
  ChosenPlaces p;
  if (stm->exp->u.index.checked || !find_chosen(s, of->type, stm->exp->u.index.dims, &p))
    return false;
  Atom value = of->at[p.places[p.count - 1]];
  for (int k = p.count - 2; k >= 0; k--)
    value = choose_value(s, p.conditions[k], of->at[p.places[k]], value);
  straight_bind(s, stm->binders[0], value);
  return true;
}

static bool choose_update(Straight *s, const Stm *stm, const ArrayParts *of) {
  const Exp *e = stm->exp;
  ChosenPlaces p;
  if (e->u.update.checked || !find_chosen(s, of->type, e->u.update.dims, &p))
    return false;
  Atom value = straight_whole(s, e->u.update.value),
       *at = mem_copy(of->at, (size_t)of->count * sizeof *at);
  for (int k = 0; k < p.count; k++)
    at[p.places[k]] = choose_value(s, p.conditions[k], value, at[p.places[k]]);
  straight_bind_elements(s, stm->binders[0], at, of->count);
  return true;
}

bool straight_choose(Straight *s, const Stm *stm, const ArrayParts *of) {
  return stm->exp->kind == EXP_INDEX ? choose_element(s, stm, of)
                                     : choose_update(s, stm, of);
}
