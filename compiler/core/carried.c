// What carried.h says.
#include "core/carried.h"

// A body on the way from the round to what decides about the next place.
typedef struct CarriedScope {
  const Body *body;
  int limit;  // statements that are done
  const struct CarriedScope *around;
} CarriedScope;

static bool same_place(const CarriedLoad *l, const DimIndex *dims, const Atom *place) {
  for (int i = 0; i < l->load->u.index.dim_count; i++)
    if (dims[i].is_slice || !atom_equal(dims[i].start, place[i])) return false;
  return true;
}

// The element at the place, if it has been loaded.
static bool find_loaded(const CarriedLoad *l, const CarriedScope *scope,
                        const Atom *place, Atom *out) {
  const Exp *load = l->load;
  if (same_place(l, load->u.index.dims, place)) {
    *out = atom_var(l->element);
    return true;
  }
  for (; scope; scope = scope->around)
    for (int i = 0; i < scope->limit; i++) {
      const Exp *e = scope->body->stms[i].exp;
      if (e->kind == EXP_INDEX && atom_equal(e->u.index.array, load->u.index.array) &&
          e->u.index.dim_count == load->u.index.dim_count &&
          same_place(l, e->u.index.dims, place)) {
        *out = atom_var(scope->body->stms[i].binders[0]);
        return true;
      }
    }
  return false;
}

static int result_of(const Stm *stm, Atom a) {
  for (int i = 0; i < stm->binder_count; i++)
    if (a.kind == ATOM_VAR && stm->binders[i] == a.u.var) return i;
  return -1;
}

// The place as a branch has it.
static Atom *place_in(const CarriedLoad *l, const Stm *choice, const Body *branch,
                      const Atom *place) {
  int count = l->load->u.index.dim_count;
  Atom *inner = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    int k = result_of(choice, place[i]);
    inner[i] = k < 0 ? place[i] : branch->results[k];
  }
  return inner;
}

static bool give_element(const CarriedLoad *l, const CarriedScope *around,
                         const Body *body, const Atom *place, const Body **out);

// The branch at `at` in the body, which gives the element besides.
static bool decide_element(const CarriedLoad *l, const CarriedScope *scope, int at,
                           const Atom *place, Stm *out) {
  const Stm *stm = &scope->body->stms[at];
  CarriedScope before = { scope->body, at, scope->around };
  const Body *branches[2] = { stm->exp->u.cond.then_body, stm->exp->u.cond.else_body };
  for (int i = 0; i < 2; i++)
    if (!give_element(l, &before, branches[i], place_in(l, stm, branches[i], place),
                      &branches[i]))
      return false;
  VarVec binders = { 0 };
  for (int i = 0; i < stm->binder_count; i++)
    vec_push(&binders, stm->binders[i]);
  vec_push(&binders, var_like(l->c, l->element));
  *out = *stm;
  out->binders = binders.at;
  out->binder_count = binders.count;
  out->exp = exp_if_again(stm->exp, branches[0], branches[1]);
  return true;
}

static const Body *body_with(const CarriedLoad *l, const Body *body, int at,
                             const Stm *changed, Atom result) {
  Builder b = builder_new(l->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++)
    core_add_stm(&b, i == at ? *changed : body->stms[i]);
  Vec(Atom) results = { 0 };
  for (int i = 0; i < body->result_count; i++)
    vec_push(&results, body->results[i]);
  vec_push(&results, result);
  return core_body(&b, results.at, results.count);
}

// The body with one more result, the element at the place; false if that would have to be loaded.
static bool give_element(const CarriedLoad *l, const CarriedScope *around,
                         const Body *body, const Atom *place, const Body **out) {
  CarriedScope scope = { body, body->stm_count, around };
  Atom element;
  if (find_loaded(l, &scope, place, &element)) {
    *out = body_with(l, body, -1, NULL, element);
    return true;
  }
  for (int at = 0; at < body->stm_count; at++) {
    const Stm *stm = &body->stms[at];
    bool decides = false;
    for (int i = 0; i < l->load->u.index.dim_count; i++)
      decides = decides || result_of(stm, place[i]) >= 0;
    if (!decides || stm->exp->kind != EXP_IF) continue;
    Stm choice;
    if (!decide_element(l, &scope, at, place, &choice)) return false;
    element = atom_var(choice.binders[choice.binder_count - 1]);
    *out = body_with(l, body, at, &choice, element);
    return true;
  }
  return false;
}

bool carried_give(const CarriedLoad *l, const Body *body, const Atom *place,
                  const Body **out) {
  return give_element(l, NULL, body, place, out);
}

const Body *carried_without(const CarriedLoad *l, const Body *body) {
  Builder b = builder_new(l->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    if (stm.exp == l->load)
      stm.exp = exp_atom(atom_var(l->element));
    else if (stm.exp->kind == EXP_IF)
      stm.exp = exp_if_again(stm.exp, carried_without(l, stm.exp->u.cond.then_body),
                             carried_without(l, stm.exp->u.cond.else_body));
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

Atom carried_first(Builder *b, const CarriedLoad *l, Atom width, const Atom *place) {
  const Exp *load = l->load;
  const Exp *first = exp_index(load->u.index.array, place, load->u.index.dim_count,
                               load->u.index.checked);
  if (width.kind == ATOM_CONST && width.u.constant.u.i > 0)
    return core_let(b, "first", first);
  Atom runs = core_let(b, "runs", exp_op2(OP_LT, atom_i64(0), width));
  Builder some = builder_new(b->c, b->loc), none = some;
  Atom loaded = core_let(&some, "first", first),
       zero = atom_const(prim_zero(l->element->type.elem));
  const Body *then_body = core_body(&some, &loaded, 1),
             *else_body = core_body(&none, &zero, 1);
  return core_let(b, "first", exp_if(runs, then_body, else_body));
}
