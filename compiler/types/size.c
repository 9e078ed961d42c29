// Sizes with inference variables, and their unification.
#include "types/check.h"

// Polynomials over names that stand for larger sizes would grow without bounds.
// and so would sizes that are made of one another, `xs ++ xs` appended to itself over and over.
enum { MAX_KNOWN_PARTS = 12, MAX_PARTS = 200 };

const Size *size_resolve(const Size *size) {
  while (size->kind == SIZE_VAR && size->u.var->solution) {
    const Size *next = size->u.var->solution;
    if (next->kind == SIZE_VAR && next->u.var->solution)
      size->u.var->solution = next->u.var->solution;
    size = next;
  }
  return size;
}

const Size *size_var(Check *k, Name name, Loc loc) {
  SizeVar *var = new_node(SizeVar, .level = k->level, .id = k->c->next_id++, .name = name,
                          .loc = loc);
  return new_node(Size, .kind = SIZE_VAR, .loc = loc, .u.var = var);
}

const Size *size_tree(SizeOp op, const AstExp *node, int count,
                      const Size *const *parts) {
  const SizeTree *tree =
      new_node(SizeTree, .op = op, .node = node, .count = count, .parts = parts);
  Loc loc = count ? parts[0]->loc : node->loc;
  return new_node(Size, .kind = SIZE_EXP, .loc = loc, .u.exp = { .tree = tree });
}

const Size *size_rebuild(const SizeTree *tree, const Size *const *parts) {
  SizeTree *copy = mem_copy(tree, sizeof *copy);
  copy->parts = parts;
  Loc loc = tree->count ? parts[0]->loc : tree->node->loc;
  return new_node(Size, .kind = SIZE_EXP, .loc = loc, .u.exp = { .tree = copy });
}

const Size *size_binary(SizeOp op, const Size *a, const Size *b) {
  const Size **parts = new_array(const Size *, 2);
  parts[0] = a;
  parts[1] = b;
  return size_tree(op, NULL, 2, parts);
}

int size_level(const Size *size) {
  size = size_resolve(size);
  if (size->kind == SIZE_NAME) return size->u.name->level;
  if (size->kind != SIZE_EXP) return 0;
  int level = 0;
  for (int i = 0; i < size->u.exp.tree->count; i++) {
    int part = size_level(size->u.exp.tree->parts[i]);
    if (part > level) level = part;
  }
  return level;
}

bool size_mentions(const Size *size, const Binding *binding) {
  size = size_resolve(size);
  if (size->kind == SIZE_NAME) return size->u.name == binding;
  if (size->kind != SIZE_EXP) return false;
  for (int i = 0; i < size->u.exp.tree->count; i++)
    if (size_mentions(size->u.exp.tree->parts[i], binding)) return true;
  return false;
}

bool size_can_enter(Check *k, const Size *size, int level) {
  size = size_resolve(size);
  if (size->kind == SIZE_VAR && size->u.var->level > level) {
    if (size->u.var->node)
      return size_join_equal(k, size->u.var) && size_can_enter(k, size, level);
    size->u.var->level = level;
  }
  if (size->kind == SIZE_NAME && size->u.name->level > level) {
    k->mismatch = (Mismatch){ .kind = MISMATCH_SCOPE, .size = size->u.name };
    return false;
  }
  if (size->kind != SIZE_EXP) return true;
  for (int i = 0; i < size->u.exp.tree->count; i++)
    if (!size_can_enter(k, size->u.exp.tree->parts[i], level)) return false;
  return true;
}

static const Size *outer_tree(const Size *size, int level) {
  const SizeTree *tree = size->u.exp.tree;
  const Size **parts = new_array(const Size *, tree->count);
  bool same = true;
  for (int i = 0; i < tree->count; i++) {
    if (!(parts[i] = size_outer(tree->parts[i], level))) return NULL;
    same = same && parts[i] == tree->parts[i];
  }
  return same ? size : size_rebuild(tree, parts);
}

const Size *size_outer(const Size *size, int level) {
  const Size *s = size_resolve(size);
  if (s->kind == SIZE_EXP) return outer_tree(s, level);
  if (s->kind != SIZE_NAME || s->u.name->level <= level) return size;
  return s->u.name->known ? size_outer(s->u.name->known, level) : NULL;
}

// Counts down with each part of the size, with names replaced by what is known of them.
static bool within(const Size *size, int *left) {
  size = size_resolve(size);
  if (--*left < 0) return false;
  if (size->kind == SIZE_NAME && size->u.name->known)
    return within(size->u.name->known, left);
  if (size->kind != SIZE_EXP) return true;
  for (int i = 0; i < size->u.exp.tree->count; i++)
    if (!within(size->u.exp.tree->parts[i], left)) return false;
  return true;
}

bool size_is_small(const Size *size) {
  int left = MAX_KNOWN_PARTS;
  return within(size, &left);
}

bool size_is_huge(const Size *size) {
  int left = MAX_PARTS;
  return !within(size, &left);
}

bool size_has_var(const SizeVar *var, const Size *size) {
  size = size_resolve(size);
  if (size->kind == SIZE_VAR)
    return size->u.var == var ||
           (size->u.var->loop && size_has_var(var, size->u.var->initial));
  if (size->kind != SIZE_EXP) return false;
  for (int i = 0; i < size->u.exp.tree->count; i++)
    if (size_has_var(var, size->u.exp.tree->parts[i])) return true;
  return false;
}

static bool different(Check *k, const Size *expected, const Size *actual) {
  k->mismatch = (Mismatch){ .kind = MISMATCH_SIZE,
                            .expected_size = expected,
                            .actual_size = actual };
  return false;
}

static bool bind_size(Check *k, SizeVar *var, const Size *size) {
  if (var->node) return size_join_equal(k, var) && unify_sizes(k, var->solution, size);
  const Size *outer = size_outer(size, var->level);
  if (!size_can_enter(k, outer ? outer : size, var->level)) {
    k->mismatch.actual_size = size;
    return false;
  }
  // A name that goes may stand for the variable, or for a size with it in it.
  const Size *known = outer ? size_resolve(outer) : size;
  if (known->kind == SIZE_VAR && known->u.var == var) return true;
  if (known->kind == SIZE_EXP && size_has_var(var, known))
    return different(k, size, known);
  // What has just been required of branches may have bound it.
  if (var->solution) return unify_sizes(k, var->solution, size);
  const Binding *own = size_var_in_names(var, outer);
  if (own) {
    k->mismatch = (Mismatch){ .kind = MISMATCH_CYCLE, .size = own, .actual_size = size };
    return false;
  }
  var->solution = outer;
  return true;
}

static bool is_outer(const SizeVar *a, const SizeVar *b) {
  return a->level != b->level ? a->level < b->level : a->id < b->id;
}

static const Size *size_of_var(SizeVar *var) {
  return new_node(Size, .kind = SIZE_VAR, .loc = var->loc, .u.var = var);
}

// Of two open variables the one of a loop parameter stays, since it has to be looked at again, else
// that of a function's parameter; of two loops that of the outer one.
static bool bind_vars(Check *k, SizeVar *a, const Size *b) {
  if (a == b->u.var) return true;
  if (a->loop && b->u.var->node) return bind_size(k, b->u.var, size_of_var(a));
  bool keep_a =
      a->loop ? !b->u.var->loop || is_outer(a, b->u.var) : a->apart && !b->u.var->loop;
  if (!keep_a) return bind_size(k, a, b);
  if (a->apart) a->name = b->u.var->name;
  return bind_size(k, b->u.var, size_of_var(a));
}

static bool same_form(const Size *e, const Size *a) {
  if (e->kind != SIZE_EXP || a->kind != SIZE_EXP) return false;
  const SizeTree *te = e->u.exp.tree, *ta = a->u.exp.tree;
  if (te->op != ta->op || te->count != ta->count) return false;
  return te->op < SIZE_CALL ||
         (te->op == SIZE_CALL && te->node->u.name.binding == ta->node->u.name.binding);
}

typedef Vec(const Size *) SizeVec;

static void add_factors(SizeVec *factors, const Size *size) {
  size = size_resolve(size);
  bool product = size->kind == SIZE_EXP && size->u.exp.tree->op == SIZE_MUL;
  if (!product) vec_push(factors, size);
  for (int i = 0; product && i < 2; i++)
    add_factors(factors, size->u.exp.tree->parts[i]);
}

// Takes a factor that is equal to `size` from `factors`; false if there is none.
static bool take_factor(SizeVec *factors, const Size *size) {
  for (int i = 0; i < factors->count; i++) {
    if (!size_equal(factors->at[i], size)) continue;
    factors->at[i] = factors->at[--factors->count];
    return true;
  }
  return false;
}

// k * m = n * m says k = n: if one variable is left over on the side of `e`, it is the rest of `a`.
static bool cancel_factors(Check *k, const Size *e, const Size *a) {
  SizeVec left = { 0 }, right = { 0 };
  const Size *var = NULL;
  add_factors(&left, e);
  add_factors(&right, a);
  for (int i = 0; i < left.count; i++) {
    if (take_factor(&right, left.at[i])) continue;
    if (var || left.at[i]->kind != SIZE_VAR) return false;
    var = left.at[i];
  }
  if (!var || !right.count) return false;
  const Size *rest = right.at[0];
  for (int i = 1; i < right.count; i++)
    rest = size_binary(SIZE_MUL, rest, right.at[i]);
  return !size_has_var(var->u.var, rest) && bind_size(k, var->u.var, rest);
}

static bool unify_expressions(Check *k, const Size *e, const Size *a) {
  SizeVar *var = NULL;
  const Size *value = NULL;
  switch (poly_solve(e, a, &var, &value)) {
  case POLY_EQUAL: return size_alike(e, a) || different(k, e, a);
  case POLY_DIFFERENT: return different(k, e, a);
  case POLY_SOLVED:
    // A variable that is in what it ought to equal: n = n + n holds for 0 only, which nobody means.
    if (e->kind == SIZE_VAR || a->kind == SIZE_VAR) return different(k, e, a);
    return bind_size(k, var, value);
  case POLY_OPEN: break;
  }
  if (cancel_factors(k, e, a) || cancel_factors(k, a, e)) return true;
  vec_push(&k->equations, (SizeEquation){ e, a, k->at });
  return true;
}

bool unify_sizes(Check *k, const Size *e, const Size *a) {
  e = size_resolve(e);
  a = size_resolve(a);
  if (e == a || e->kind == SIZE_ANY || a->kind == SIZE_ANY) return true;
  if (e->kind == SIZE_NAME && a->kind == SIZE_NAME && e->u.name == a->u.name) return true;
  if (a->kind == SIZE_VAR && e->kind == SIZE_VAR) return bind_vars(k, a->u.var, e);
  if (a->kind == SIZE_VAR && !size_has_var(a->u.var, e)) return bind_size(k, a->u.var, e);
  if (e->kind == SIZE_VAR && !size_has_var(e->u.var, a)) return bind_size(k, e->u.var, a);
  return unify_expressions(k, e, a);
}

bool size_equal(const Size *a, const Size *b) {
  SizeVar *var = NULL;
  const Size *value = NULL;
  return poly_solve(a, b, &var, &value) == POLY_EQUAL;
}

bool size_unified(const Size *a, const Size *b) {
  return size_equal(a, b) && size_alike(a, b);
}

// Equates sizes, if they have the same form part by part.
static bool unify_forms(Check *k, const Size *e, const Size *a) {
  int before = k->equations.count;
  e = size_resolve(e);
  a = size_resolve(a);
  if (!unify_sizes(k, e, a)) return false;
  if (k->equations.count == before || !same_form(e, a)) return true;
  k->equations.count = before;
  for (int i = 0; i < e->u.exp.tree->count; i++)
    if (!unify_forms(k, e->u.exp.tree->parts[i], a->u.exp.tree->parts[i])) return false;
  return true;
}

// Reports an equation that does not hold; without `last` one that leaves something open stays.
static void solve_equation(Check *k, SizeEquation eq, bool last) {
  const Size *e = size_resolve(eq.expected), *a = size_resolve(eq.actual);
  k->at = eq.loc;
  int before = k->equations.count;
  if (!unify_forms(k, e, a))
    error(k->c, eq.loc, "sizes `%s` and `%s` can't be shown equal", size_text(a),
          size_text(e));
  else if (last && k->equations.count > before) {
    error(k->c, eq.loc,
          "sizes `%s` and `%s` can't be shown equal: nothing tells the parts of `%s`",
          size_text(a), size_text(e), size_text(size_is_open(a) ? a : e));
    hint(k->c, "give a type that tells them, or write `:>` before one if the sizes are "
               "equal when the program runs");
  }
}

// Takes the equations from `from` to `end` away, which have been solved.
static void drop_equations(Check *k, int from, int end) {
  for (int i = end; i < k->equations.count; i++)
    k->equations.at[from + i - end] = k->equations.at[i];
  k->equations.count = from + k->equations.count - end;
}

// Once nothing more can be learnt from the context, sizes of the same form are equated part by
// part: n * m = a * b says n = a, m = b, as in `unflatten xs` for xs : [a * b]t.
void size_equations_solve(Check *k, int from, bool last) {
  int end = k->equations.count;
  for (int i = from; i < end; i++)
    solve_equation(k, k->equations.at[i], last);
  drop_equations(k, from, end);
}

// What surrounds the scope of a name can tell nothing of sizes that mention it.
void size_equations_leave(Check *k) {
  for (int i = k->equations.count - 1; i >= 0; i--) {
    SizeEquation eq = k->equations.at[i];
    if (size_outer(eq.expected, k->level) && size_outer(eq.actual, k->level)) continue;
    drop_equations(k, i, i + 1);
    solve_equation(k, eq, false);
  }
}
