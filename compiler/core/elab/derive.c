// Differentiation: jvp2 f x x', vjp2 f x y'.
//
// The function is evaluated at fresh variables for the numbers in x, like any other call, but into
// a body of its own, which is then transformed (core/ad) and joins the code around it.
#include "core/ad/ad.h"
#include "core/elab/elaborate.h"

typedef struct Derivation {
  AdFunction f;
  bool of_ints;  // the inputs are integers, not floats
  VarVec inputs;
  const Val *result;  // with the leaves of the body
} Derivation;

// ---- the function

static bool is_float(Atom leaf) { return prim_is_float(atom_type(leaf).elem); }

static bool any_float(const AtomVec *leaves) {
  vec_each (const Atom *, leaf, leaves)
    if (is_float(*leaf)) return true;
  return false;
}

static bool any_int(const AtomVec *leaves) {
  vec_each (const Atom *, leaf, leaves)
    if (prim_is_int(atom_type(*leaf).elem)) return true;
  return false;
}

static bool is_number(const Derivation *d, Atom leaf) {
  PrimType elem = atom_type(leaf).elem;
  return d->of_ints ? prim_is_int(elem) : prim_is_float(elem);
}

static Atom fresh_input(Elab *e, Atom leaf, const void *state) {
  Derivation *const *d = state;
  if (!is_number(*d, leaf)) return leaf;
  const char *name = leaf.kind == ATOM_VAR ? leaf.u.var->name : "x";
  Atom input = core_let(e->b, name, exp_atom(leaf));
  vec_push(&(*d)->inputs, input.u.var);
  return input;
}

static Derivation derivation(Elab *e, const Val *f, const Val *x, bool keep_adjoints) {
  Derivation d = { 0 }, *state = &d;
  AtomVec leaves = val_leaves(e, x);
  d.of_ints = !any_float(&leaves);
  const Val *at = val_map(e, x, fresh_input, &state);
  Inner inner;
  elab_enter(e, &inner);
  e->deriving++;
  d.result = elab_apply(e, f, &at, 1, NULL);
  e->deriving--;
  elab_leave(e, &inner);
  AtomVec results = val_leaves(e, d.result);
  const Body *body = core_body(&inner.b, results.at, results.count);
  d.f.body = ad_prepare(e->c, body, keep_adjoints);
  d.f.ints = d.of_ints || (any_int(&results) && !any_float(&results));
  d.f.floats = !d.of_ints || any_float(&results);
  d.f.inputs = d.inputs.at;
  d.f.input_count = d.inputs.count;
  d.result = val_rebuild(e, d.result, d.f.body->results);
  return d;
}

// ---- tangents and adjoints of what is no number: zero

static Atom zero_leaf(Elab *e, CoreType type) {
  Atom zero = atom_const(prim_zero(type.elem));
  for (int i = type.rank - 1; i >= 0; i--)
    zero = core_let(e->b, "zero_leaf", exp_replicate(type.dims[i], zero));
  return zero;
}

// The leaves of `v` with the shapes of `like`.
static AtomVec fitted_leaves(Elab *e, const Val *v, const AtomVec *like) {
  AtomVec leaves = val_leaves(e, v);
  for (int i = 0; i < leaves.count; i++)
    leaves.at[i] = elab_fit(e, leaves.at[i], atom_type(like->at[i]).dims);
  return leaves;
}

// ---- tangents and adjoints of sums

// A tangent or an adjoint with the constructors that the value has.
static const Val *with_constructors(const Val *v, const Val *of) {
  if (v->kind != VAL_RECORD) return v;
  int count = v->u.record.count;
  const Val **items = new_array(const Val *, count);
  for (int i = 0; i < count; i++) {
    bool is_tag = i == 0 && val_is_sum(v);
    items[i] = is_tag ? of->u.record.items[i]
                      : with_constructors(v->u.record.items[i], of->u.record.items[i]);
  }
  return val_record(v->u.record.names, items, count);
}

const Val *elab_jvp(Elab *e, const IntrinsicCall *call) {
  Derivation d = derivation(e, call->args[0], call->args[1], false);
  AtomVec at = val_leaves(e, call->args[1]), seeds = { 0 };
  AtomVec all = fitted_leaves(e, call->args[2], &at);
  for (int i = 0; i < at.count; i++)
    if (is_number(&d, at.at[i])) vec_push(&seeds, all.at[i]);
  Atom *tangents = new_array(Atom, d.f.body->result_count);
  ad_forward(e->b, &d.f, seeds.at, tangents);
  const Val *tangent = val_rebuild(e, d.result, tangents);
  return val_pair(e, d.result, with_constructors(tangent, d.result));
}

const Val *elab_vjp(Elab *e, const IntrinsicCall *call) {
  Derivation d = derivation(e, call->args[0], call->args[1], true);
  AtomVec at = val_leaves(e, call->args[1]);
  // The seeds are reshaped where the sizes of the results are known: behind the body.
  AtomVec seeds = val_leaves(e, call->args[2]);
  Atom *adjoints = new_array(Atom, d.f.input_count);
  d.f.around = e->b;
  Inner inner;
  elab_enter(e, &inner);
  ad_reverse(e->b, &d.f, seeds.at, adjoints);
  elab_leave(e, &inner);
  // A function around this one may have use for adjoints that calls bring with them.
  const Body *body = core_body(&inner.b, adjoints, d.f.input_count);
  core_add_body(e->b, e->deriving ? body : ad_inline(e->c, body, false));
  for (int i = 0; i < at.count; i++)
    at.at[i] = is_number(&d, at.at[i]) ? *adjoints++ : zero_leaf(e, atom_type(at.at[i]));
  const Val *adjoint = val_rebuild(e, call->args[1], at.at);
  return val_pair(e, d.result, with_constructors(adjoint, call->args[1]));
}
