// with_vjp f f' x: a function with an adjoint of its own.
//
// Within code that is being differentiated the application becomes a call of a Core function, which
// has f' beside its body; reverse mode takes that, and once the outermost derivative is there all
// calls that are left are replaced by the function's body.  Elsewhere it is f x.
#include "core/elab/elaborate.h"

typedef struct Custom {
  int mark;       // what is numbered from here on is inside of f
  VarVec params;  // of the function: the floats of x, then what is free
  AtomVec args;   // for them
  const Val *x;   // at the params
  const Val *result;
  AtomVec leaves;  // of the result
  AtomVec sizes;   // of the leaves, found inside
} Custom;

static const Var *new_var(Elab *e, const char *name, CoreType type) {
  return var_new(e->c, name_of(e->c->names, name), type, e->b->loc);
}

static Atom float_param(Elab *e, Atom leaf, const void *state) {
  Custom *const *u = state;
  if (!prim_is_float(atom_type(leaf).elem)) return leaf;
  const Var *param = new_var(e, "x", atom_type(leaf));
  vec_push(&(*u)->params, param);
  vec_push(&(*u)->args, leaf);
  return atom_var(param);
}

// What is free in the body gets a parameter of its own name.
static void capture(Custom *u, const Body *body, const VarVec *bound) {
  VarVec free = core_free_body(body);
  vec_each (const Var *const *, var, &free) {
    bool known = false;
    vec_each (const Var *const *, param, &u->params)
      known = known || *param == *var;
    for (int i = 0; bound && i < bound->count; i++)
      known = known || bound->at[i] == *var;
    if (known) continue;
    vec_push(&u->params, *var);
    vec_push(&u->args, atom_var(*var));
  }
}

// Sizes of the result that f computes become results themselves.
static void find_sizes(Custom *u) {
  vec_each (const Atom *, leaf, &u->leaves) {
    CoreType type = atom_type(*leaf);
    for (int d = 0; d < type.rank; d++) {
      bool known = atom_is_older(type.dims[d], u->mark);
      vec_each (const Atom *, size, &u->sizes)
        known = known || atom_equal(*size, type.dims[d]);
      if (!known) vec_push(&u->sizes, type.dims[d]);
    }
  }
}

// Fresh variables for the sizes and the leaves of the result.
static VarVec result_vars(Elab *e, const Custom *u, const char *name) {
  VarVec vars = { 0 };
  Subst *s = subst_new();
  vec_each (const Atom *, size, &u->sizes) {
    const Var *var = new_var(e, "n", type_scalar(PRIM_I64));
    subst_put(s, size->u.var, atom_var(var));
    vec_push(&vars, var);
  }
  vec_each (const Atom *, leaf, &u->leaves)
    vec_push(&vars, new_var(e, name, subst_type(s, atom_type(*leaf))));
  return vars;
}

static const Val *of_vars(Elab *e, const Custom *u, const Var *const *vars) {
  AtomVec atoms = { 0 };
  for (int i = 0; vars && i < u->leaves.count; i++)
    vec_push(&atoms, atom_var(vars[i]));
  return val_rebuild(e, u->result, atoms.at);
}

// \sizes result cotangent -> the cotangents of the floats of x
static const Lambda *adjoint(Elab *e, Custom *u, const Val *f) {
  VarVec params = result_vars(e, u, "result");
  int sizes = u->sizes.count;
  for (int i = sizes; i < sizes + u->leaves.count; i++)
    vec_push(&params, new_var(e, "adjoint", params.at[i]->type));
  const Val *const args[2] = { of_vars(e, u, params.at + sizes),
                               of_vars(e, u, params.at + sizes + u->leaves.count) };
  Inner inner;
  elab_enter(e, &inner);
  AtomVec all = val_leaves(e, elab_apply(e, f, args, 2, NULL)), floats = { 0 };
  elab_leave(e, &inner);
  vec_each (const Atom *, leaf, &all)
    if (prim_is_float(atom_type(*leaf).elem)) vec_push(&floats, *leaf);
  const Body *body = core_body(&inner.b, floats.at, floats.count);
  capture(u, body, &params);
  return new_node(Lambda, .params = params.at, .param_count = params.count, .body = body);
}

static const Body *value_body(Elab *e, Custom *u, const Val *f) {
  Inner inner;
  elab_enter(e, &inner);
  u->result = elab_apply(e, f, &u->x, 1, NULL);
  elab_leave(e, &inner);
  u->leaves = val_leaves(e, u->result);
  find_sizes(u);
  AtomVec results = { 0 };
  vec_each (const Atom *, size, &u->sizes)
    vec_push(&results, *size);
  vec_each (const Atom *, leaf, &u->leaves)
    vec_push(&results, *leaf);
  const Body *body = core_body(&inner.b, results.at, results.count);
  capture(u, body, NULL);
  return body;
}

static const CoreType *types_of(const Body *body) {
  CoreType *types = new_array(CoreType, body->result_count);
  for (int i = 0; i < body->result_count; i++)
    types[i] = atom_type(body->results[i]);
  return types;
}

const Val *elab_with_vjp(Elab *e, const IntrinsicCall *call) {
  const Val *f = call->args[0], *x = call->args[2];
  if (!e->deriving) return elab_apply(e, f, &x, 1, call->name);
  Custom u = { .mark = e->c->next_id }, *state = &u;
  u.x = val_map(e, x, float_param, &state);
  Function *function = new_node(Function, .name = name_of(e->c->names, "with_vjp"),
                                .loc = e->b->loc, .body = value_body(e, &u, f));
  function->adjoint = adjoint(e, &u, call->args[1]);
  function->params = u.params.at;
  function->param_count = u.params.count;
  function->results = types_of(function->body);
  function->result_count = function->body->result_count;
  VarVec binders = result_vars(e, &u, call->name ? call->name : "result");
  const Exp *exp =
      new_node(Exp, .kind = EXP_CALL, .u.call = { function, u.args.at, u.args.count });
  if (binders.count) core_let_vars(e->b, binders.at, binders.count, exp);
  return of_vars(e, &u, binders.at + u.sizes.count);
}
