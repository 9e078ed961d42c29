// Branches of which one has the size of a loop's parameter, and the other that which the parameter
// has at first.  Whether these are equal is known after the body of the loop, which may itself
// depend on it: until then the size of both is a variable that holds the two.  If something else
// wants a size of it, or if it leaves a function, they are required to be equal.
#include "types/check.h"

const Size *size_initial(const Size *size) {
  size = size_resolve(size);
  while (size->kind == SIZE_VAR && size->u.var->loop)
    size = size_resolve(size->u.var->initial);
  return size;
}

static bool in_loop(const Size *size) {
  size = size_resolve(size);
  return size->kind == SIZE_VAR && size->u.var->loop;
}

bool size_same_at_first(const Size *a, const Size *b) {
  return (in_loop(a) || in_loop(b)) && size_unified(size_initial(a), size_initial(b));
}

// What is not open stands there as the initial value's size: names in it may end before the loop.
const Size *size_join(Check *k, AstExp *node, const Size *a, const Size *b) {
  const Size *size = size_var(k, NULL, node->loc);
  SizeVar *var = size->u.var;
  var->loop = true;
  var->node = node;
  var->initial = size_initial(a->kind == SIZE_VAR ? a : b);
  var->branches[0] = a->kind == SIZE_VAR ? a : var->initial;
  var->branches[1] = b->kind == SIZE_VAR ? b : var->initial;
  vec_push(&k->joined, var);
  return size;
}

bool size_join_equal(Check *k, SizeVar *var) {
  if (var->solution) return true;
  var->solution = var->branches[0];
  return unify_sizes(k, var->branches[0], var->branches[1]);
}

void size_join_leave(Check *k, const Size *size, int level, bool stays) {
  size = size_resolve(size);
  if (size->kind == SIZE_EXP)
    for (int i = 0; i < size->u.exp.tree->count; i++)
      size_join_leave(k, size->u.exp.tree->parts[i], level, stays);
  if (size->kind != SIZE_VAR || !size->u.var->node || size->u.var->level <= level) return;
  if (stays)
    size->u.var->level = level;
  else
    size_join_equal(k, size->u.var);
}

// False if that is not known yet.
static bool find_out(Check *k, SizeVar *var) {
  const Size *a = size_resolve(var->branches[0]), *b = size_resolve(var->branches[1]);
  if (var->solution) return true;
  if (size_same_at_first(a, b)) return false;
  if (size_equal(a, b)) {
    var->solution = a;
    return true;
  }
  Binding *unknown =
      binding_new(k, BIND_SIZE, unknown_name(k), var->loc, type_prim(PRIM_I64));
  unknown->level = var->level;
  vec_push(&var->node->unknown_sizes, unknown);
  var->solution = size_of_binding(unknown, var->loc);
  return true;
}

// One may wait for another that comes later.
void size_join_settle(Check *k) {
  for (bool changed = true; changed;) {
    int open = 0;
    for (int i = 0; i < k->joined.count; i++)
      if (!find_out(k, k->joined.at[i])) k->joined.at[open++] = k->joined.at[i];
    changed = open < k->joined.count;
    k->joined.count = open;
  }
}
