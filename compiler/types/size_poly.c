// Sizes as polynomials: two sizes are equal if their normal forms are, and nothing cancels in one
// of them that does not in the other.
//
// A polynomial is a sum of terms, a term a coefficient times a product of factors: names, open
// variables, and expressions such as `f n`, `n / 2` or `r.a`, which are opaque but for their parts.
// Factors are ordered by their number, so that the form does not depend on addresses.
#include "types/check.h"
#include <string.h>

// A product with more terms is a factor of its own: (a + b) * (c + d) * .. doubles their number.
enum { MAX_TERMS = 1000 };

typedef struct Factor {
  int id;  // of the name, the variable, or the applied function
  const Size *size;
} Factor;
typedef Vec(Factor) FactorVec;

typedef struct PolyTerm {
  const Big *coefficient;
  FactorVec factors;
} PolyTerm;

struct Poly {
  Vec(PolyTerm) terms;
  bool apart;  // terms of opposite signs do not cancel
};

static int compare_sizes(const Size *a, const Size *b);
static int compare_calls(const SizeTree *a, const SizeTree *b);

// What a name is known to be, in its place.
static const Size *size_meaning(const Size *size) {
  size = size_resolve(size);
  while (size->kind == SIZE_NAME && size->u.name->known)
    size = size_resolve(size->u.name->known);
  return size;
}

// Floating-point literals equal themselves only.
static int compare_literals(const AstExp *a, const AstExp *b) {
  if (a->kind == AST_INT && b->kind == AST_INT)
    return big_compare(literal_value(a), literal_value(b));
  if (a->kind == AST_BOOL && b->kind == AST_BOOL)
    return (int)a->u.boolean.value - (int)b->u.boolean.value;
  return a == b ? 0 : a->loc.start < b->loc.start ? -1 : 1;
}

static int compare_written(const Size *a, const Size *b);

// Products of too many terms are compared as they are written: to multiply them out at each
// comparison of factors within factors would take forever.
static int compare_trees(const SizeTree *a, const SizeTree *b) {
  if (a == b) return 0;
  if (a->op != b->op) return a->op < b->op ? -1 : 1;
  if (a->op >= SIZE_CALL) return compare_calls(a, b);
  for (int i = 0; i < a->count; i++) {
    int order = compare_written(a->parts[i], b->parts[i]);
    if (order != 0) return order;
  }
  return 0;
}

static int compare_written(const Size *a, const Size *b) {
  a = size_meaning(a);
  b = size_meaning(b);
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  switch (a->kind) {
  case SIZE_CONST: return big_compare(a->u.constant, b->u.constant);
  case SIZE_NAME: return a->u.name->id - b->u.name->id;
  case SIZE_EXP: return compare_trees(a->u.exp.tree, b->u.exp.tree);
  case SIZE_VAR: return a->u.var->id - b->u.var->id;
  case SIZE_ANY: return 0;
  }
  return 0;
}

static int compare_calls(const SizeTree *a, const SizeTree *b) {
  if (a->op != b->op) return a->op < b->op ? -1 : 1;
  if (a->op == SIZE_LITERAL) return compare_literals(a->node, b->node);
  if (a->op == SIZE_PROJECT && a->node->u.project.field != b->node->u.project.field)
    return strcmp(a->node->u.project.field, b->node->u.project.field);
  bool opaque = a->op == SIZE_OPAQUE && a->node != b->node;
  int text = opaque ? strcmp(size_opaque_text(a), size_opaque_text(b)) : 0;
  if (text) return text;
  if (a->count != b->count) return a->count - b->count;
  for (int i = 0; i < a->count; i++) {
    int order = compare_sizes(a->parts[i], b->parts[i]);
    if (order != 0) return order;
  }
  return 0;
}

static int compare_factors(const Factor *a, const Factor *b) {
  if (a->id != b->id) return a->id < b->id ? -1 : 1;
  if (a->size->kind != SIZE_EXP || b->size->kind != SIZE_EXP) return 0;
  return compare_trees(a->size->u.exp.tree, b->size->u.exp.tree);
}

static int compare_products(const FactorVec *a, const FactorVec *b) {
  if (a->count != b->count) return b->count - a->count;
  for (int i = 0; i < a->count; i++) {
    int order = compare_factors(&a->at[i], &b->at[i]);
    if (order != 0) return order;
  }
  return 0;
}

static bool is_negative_term(const PolyTerm *t) {
  return big_compare(t->coefficient, big_of(0)) < 0;
}

// The order of terms; where they are kept apart, of equal products the negative one first.
static int compare_terms(const Poly *p, const PolyTerm *a, const PolyTerm *b) {
  int order = compare_products(&a->factors, &b->factors);
  if (order != 0 || !p->apart) return order;
  return (int)is_negative_term(b) - (int)is_negative_term(a);
}

static void add_term(Poly *p, PolyTerm term) {
  int i = 0;
  while (i < p->terms.count && compare_terms(p, &p->terms.at[i], &term) < 0)
    i++;
  bool found = i < p->terms.count && compare_terms(p, &p->terms.at[i], &term) == 0;
  if (found) {
    term.coefficient = big_add(p->terms.at[i].coefficient, term.coefficient);
    p->terms.at[i] = term;
  } else {
    vec_push(&p->terms, term);
    for (int j = p->terms.count - 1; j > i; j--)
      p->terms.at[j] = p->terms.at[j - 1];
    p->terms.at[i] = term;
  }
  if (big_compare(term.coefficient, big_of(0)) != 0) return;
  for (int j = i; j + 1 < p->terms.count; j++)
    p->terms.at[j] = p->terms.at[j + 1];
  p->terms.count--;
}

static void add_scaled(Poly *p, const Poly *q, const Big *scale) {
  for (int i = 0; i < q->terms.count; i++) {
    PolyTerm t = q->terms.at[i];
    t.coefficient = big_mul(t.coefficient, scale);
    add_term(p, t);
  }
}

static FactorVec merge(const FactorVec *a, const FactorVec *b) {
  FactorVec all = { 0 };
  int i = 0, j = 0;
  while (i < a->count || j < b->count) {
    bool left =
        j == b->count || (i < a->count && compare_factors(&a->at[i], &b->at[j]) <= 0);
    vec_push(&all, left ? a->at[i] : b->at[j]);
    if (left)
      i++;
    else
      j++;
  }
  return all;
}

static Poly *multiply(const Poly *a, const Poly *b) {
  Poly *p = new_node(Poly, .apart = a->apart);
  for (int i = 0; i < a->terms.count; i++)
    for (int j = 0; j < b->terms.count; j++) {
      const PolyTerm *s = &a->terms.at[i], *t = &b->terms.at[j];
      add_term(p, (PolyTerm){ big_mul(s->coefficient, t->coefficient),
                              merge(&s->factors, &t->factors) });
    }
  return p;
}

static Poly *of_factor(int id, const Size *size, bool apart) {
  Poly *p = new_node(Poly, .apart = apart);
  PolyTerm t = { .coefficient = big_of(1) };
  vec_push(&t.factors, (Factor){ id, size });
  add_term(p, t);
  return p;
}

static Poly *poly_of(const Size *size, bool apart);

static Poly *of_tree(const Size *size, bool apart) {
  const SizeTree *tree = size->u.exp.tree;
  if (tree->op == SIZE_CALL)
    return of_factor(tree->node->u.name.binding->id, size, apart);
  if (tree->op > SIZE_CALL) return of_factor(0, size, apart);
  Poly *a = poly_of(tree->parts[0], apart);
  const Poly *b = poly_of(tree->parts[1], apart);
  if (tree->op == SIZE_MUL && a->terms.count * b->terms.count > MAX_TERMS)
    return of_factor(0, size, apart);
  if (tree->op == SIZE_MUL) return multiply(a, b);
  add_scaled(a, b, big_of(tree->op == SIZE_ADD ? 1 : -1));
  return a;
}

static Poly *poly_of(const Size *size, bool apart) {
  size = size_resolve(size);
  Poly *p = new_node(Poly, .apart = apart);
  switch (size->kind) {
  case SIZE_CONST: add_term(p, (PolyTerm){ .coefficient = size->u.constant }); return p;
  case SIZE_NAME:
    if (size->u.name->known) return poly_of(size->u.name->known, apart);
    return of_factor(size->u.name->id, size, apart);
  case SIZE_EXP: return of_tree(size, apart);
  case SIZE_VAR: return of_factor(size->u.var->id, size, apart);
  case SIZE_ANY: return p;
  }
  return p;
}

static int compare_polys(const Poly *p, const Poly *q) {
  if (p->terms.count != q->terms.count) return p->terms.count - q->terms.count;
  for (int i = 0; i < p->terms.count; i++) {
    const PolyTerm *s = &p->terms.at[i], *t = &q->terms.at[i];
    int order = compare_products(&s->factors, &t->factors);
    if (order == 0) order = big_compare(s->coefficient, t->coefficient);
    if (order != 0) return order;
  }
  return 0;
}

static int compare_sizes(const Size *a, const Size *b) {
  return compare_polys(poly_of(a, false), poly_of(b, false));
}

static bool poly_is_constant(const Poly *p) {
  return p->terms.count == 0 || (p->terms.count == 1 && !p->terms.at[0].factors.count);
}

bool size_alike(const Size *a, const Size *b) {
  if (poly_is_constant(poly_of(a, false))) return true;
  return compare_polys(poly_of(a, true), poly_of(b, true)) == 0;
}

static bool has_var(const Size *size) {
  size = size_resolve(size);
  if (size->kind == SIZE_VAR) return true;
  if (size->kind != SIZE_EXP) return false;
  for (int i = 0; i < size->u.exp.tree->count; i++)
    if (has_var(size->u.exp.tree->parts[i])) return true;
  return false;
}

static const Size *of_term(const PolyTerm *t, bool negate) {
  const Big *coefficient = negate ? big_neg(t->coefficient) : t->coefficient;
  const Size *size = NULL;
  bool one = big_compare(coefficient, big_of(1)) == 0;
  if (!one || t->factors.count == 0)
    size = new_node(Size, .kind = SIZE_CONST, .u.constant = coefficient);
  for (int i = 0; i < t->factors.count; i++) {
    const Size *factor = t->factors.at[i].size;
    size = size ? size_binary(SIZE_MUL, size, factor) : factor;
  }
  return size;
}

// Terms with a positive coefficient first, so that the text starts without a sign.
static const Size *size_of_poly(const Poly *p) {
  const Size *size = NULL;
  for (int i = 0; i < p->terms.count; i++) {
    const PolyTerm *t = &p->terms.at[i];
    if (big_compare(t->coefficient, big_of(0)) < 0) continue;
    const Size *term = of_term(t, false);
    size = size ? size_binary(SIZE_ADD, size, term) : term;
  }
  if (!size) size = size_const(0, (Loc){ 0 });
  for (int i = 0; i < p->terms.count; i++) {
    const PolyTerm *t = &p->terms.at[i];
    if (big_compare(t->coefficient, big_of(0)) < 0)
      size = size_binary(SIZE_SUB, size, of_term(t, true));
  }
  return size;
}

const Size *size_simplify(const Size *size) { return size_of_poly(poly_of(size, false)); }

const Size *size_minus(const Size *a, const Size *b) {
  const Size *size = size_binary(SIZE_SUB, a, b);
  const Poly *p = poly_of(size, false), *q = poly_of(b, false);
  return q->terms.count == 0 || poly_is_constant(p) ? size_of_poly(p) : size;
}

// The variable that occurs as a term of its own with coefficient 1 or -1, if all is open but it.
static SizeVar *linear_var(const Poly *p, int *at) {
  int found = 0;
  SizeVar *var = NULL;
  for (int i = 0; i < p->terms.count; i++) {
    const FactorVec *factors = &p->terms.at[i].factors;
    bool alone = factors->count == 1;
    for (int j = 0; j < factors->count; j++) {
      if (!has_var(factors->at[j].size)) continue;
      found++;
      if (!alone || factors->at[j].size->kind != SIZE_VAR) return NULL;
      var = factors->at[j].size->u.var;
      *at = i;
    }
  }
  if (found != 1) return NULL;
  const Big *c = p->terms.at[*at].coefficient;
  bool unit = big_compare(c, big_of(1)) == 0 || big_compare(c, big_of(-1)) == 0;
  return unit ? var : NULL;
}

static bool poly_has_var(const Poly *p) {
  for (int i = 0; i < p->terms.count; i++)
    for (int j = 0; j < p->terms.at[i].factors.count; j++)
      if (has_var(p->terms.at[i].factors.at[j].size)) return true;
  return false;
}

// A constant that no size is.
static bool is_negative(const Poly *p) {
  return p->terms.count == 1 && p->terms.at[0].factors.count == 0 &&
         big_compare(p->terms.at[0].coefficient, big_of(0)) < 0;
}

PolyAnswer poly_solve(const Size *e, const Size *a, SizeVar **var, const Size **value) {
  Poly *p = poly_of(e, false);
  add_scaled(p, poly_of(a, false), big_of(-1));
  if (p->terms.count == 0) return POLY_EQUAL;
  if (!poly_has_var(p)) return POLY_DIFFERENT;
  int at = 0;
  *var = linear_var(p, &at);
  if (!*var) return POLY_OPEN;
  // c * var + rest = 0  =>  var = -rest / c
  bool positive = big_compare(p->terms.at[at].coefficient, big_of(0)) > 0;
  Poly *rest = new (Poly);
  for (int i = 0; i < p->terms.count; i++)
    if (i != at) add_term(rest, p->terms.at[i]);
  Poly *solution = new (Poly);
  add_scaled(solution, rest, big_of(positive ? -1 : 1));
  if (is_negative(solution)) return POLY_DIFFERENT;
  *value = size_of_poly(solution);
  return POLY_SOLVED;
}
