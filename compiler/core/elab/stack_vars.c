// The variables of functions that call themselves (stack.c): where sizes change from call to call,
// each array has its own, before it.
#include "core/elab/stack.h"

static const Var *stack_var(Elab *e, const char *name, CoreType type) {
  return var_new(e->c, name_of(e->c->names, name), type, e->b->loc);
}

Atom stack_add_leaf(Elab *e, const Stack *s, const char *name, CoreType type,
                    VarVec *out) {
  Atom *dims = new_array(Atom, type.rank);
  for (int i = 0; i < type.rank; i++) {
    dims[i] = type.dims[i];
    if (!s->varies) continue;
    const Var *size = stack_var(e, "n", type_scalar(PRIM_I64));
    vec_push(out, size);
    dims[i] = atom_var(size);
  }
  const Var *var = stack_var(e, name, (CoreType){ type.elem, type.rank, dims });
  vec_push(out, var);
  return atom_var(var);
}

void stack_add_value(const Stack *s, Atom leaf, AtomVec *out) {
  CoreType type = atom_type(leaf);
  for (int i = 0; s->varies && i < type.rank; i++)
    vec_push(out, type.dims[i]);
  vec_push(out, leaf);
}

VarVec stack_copy_vars(Elab *e, const VarVec *vars) {
  VarVec copies = { 0 };
  Subst *subst = subst_new();
  vec_each (const Var *const *, var, vars) {
    const Var *copy = stack_var(e, (*var)->name, subst_type(subst, (*var)->type));
    subst_put(subst, *var, atom_var(copy));
    vec_push(&copies, copy);
  }
  return copies;
}

// A size is a variable that the type of a later one mentions.
static bool is_size(const VarVec *vars, int at) {
  const Var *var = vars->at[at];
  for (int i = at + 1; var->type.rank == 0 && i < vars->count; i++)
    for (int k = 0; k < vars->at[i]->type.rank; k++)
      if (atom_equal(vars->at[i]->type.dims[k], atom_var(var))) return true;
  return false;
}

AtomVec stack_leaves(const Stack *s, const VarVec *vars) {
  AtomVec leaves = { 0 };
  for (int i = 0; i < vars->count; i++)
    if (!s->varies || !is_size(vars, i)) vec_push(&leaves, atom_var(vars->at[i]));
  return leaves;
}
