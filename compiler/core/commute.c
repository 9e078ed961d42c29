// \x y -> e   commutes if e[x, y] = e[y, x]: proved by cases.
//
// The operator is evaluated on symbols, in both orders of its operands.  What a comparison of two
// values gives, no one knows: each of less, equal and greater is tried, and equal symbols are
// one in what follows.  A value is a text; operands of commutative operators stand in order.
//
// NaN is left aside: an operator that compares does not even associate with it.
// Why: reductions whose operators commute need not keep elements in order.
#include "base/text.h"
#include "core/core.h"
#include <string.h>

enum {
  MOST_CASES = 6,  // comparisons on the way to a result
  LONGEST =
      1000,  // values that mention a shared one twice double at each step: hashes, say
};

// What the comparison of two values, or the test of one, gives in the case at hand.
typedef struct Comparison {
  const char *left, *right;  // in order; right NULL: a bool
  int outcome;               // -1 less or false, 0 equal, 1 greater or true
} Comparison;

typedef struct Proof {
  const Lambda *op;
  bool swapped;  // the operands stand for each other
  Comparison cases[MOST_CASES];
  int case_count;
  bool open;     // a case is needed that is not there: it has been added
  bool gave_up;  // something else than scalar code, or too many cases
} Proof;

typedef struct Symbols {
  const struct Symbols *outer;
  const Var *var;
  const char *value;
} Symbols;

static const char *const yes = "true", *const no = "false";

static const char *give_up(Proof *p) {
  p->gave_up = true;
  return "";
}

// Equal symbols are one: the first of them.
static const char *same_symbol(const Proof *p, const char *symbol) {
  for (int i = 0; i < p->case_count; i++)
    if (p->cases[i].right && p->cases[i].outcome == 0 &&
        strcmp(p->cases[i].right, symbol) == 0)
      return same_symbol(p, p->cases[i].left);
  return symbol;
}

static const char *operand(const Proof *p, const Var *var) {
  int half = p->op->param_count / 2;
  for (int i = 0; i < p->op->param_count; i++) {
    if (p->op->params[i] != var) continue;
    bool first = (i < half) != p->swapped;
    return same_symbol(p, text_format("%s%d", first ? "x" : "y", i % half));
  }
  return text_format("v%d", var->id);
}

static const char *value_of(const Proof *p, const Symbols *scope, Atom a) {
  if (a.kind == ATOM_CONST) return prim_text(a.u.constant);
  for (; scope; scope = scope->outer)
    if (scope->var == a.u.var) return scope->value;
  return operand(p, a.u.var);
}

// The outcome in this case; a new one if it has not been decided.
static int outcome(Proof *p, const char *left, const char *right) {
  for (int i = 0; i < p->case_count; i++) {
    const Comparison *c = &p->cases[i];
    bool same_right =
        right && c->right ? strcmp(c->right, right) == 0 : right == c->right;
    if (strcmp(c->left, left) == 0 && same_right) return c->outcome;
  }
  if (p->case_count == MOST_CASES) give_up(p);
  if (p->open || p->gave_up) return 0;
  p->cases[p->case_count++] = (Comparison){ left, right, 0 };
  p->open = true;
  return 0;
}

static int compare(Proof *p, const char *a, const char *b) {
  int order = strcmp(a, b);
  if (order == 0) return 0;
  return order < 0 ? outcome(p, a, b) : -outcome(p, b, a);
}

static bool is_so(Proof *p, const char *condition) {
  if (strcmp(condition, yes) == 0) return true;
  if (strcmp(condition, no) == 0) return false;
  return outcome(p, condition, NULL) > 0;
}

static const char *bool_value(bool value) { return value ? yes : no; }

static bool is_comparison(PrimOp op) {
  return op == OP_LT || op == OP_LE || op == OP_EQ || op == OP_NE;
}

static const char *comparison(PrimOp op, int order) {
  if (op == OP_LT) return bool_value(order < 0);
  if (op == OP_LE) return bool_value(order <= 0);
  return bool_value((order == 0) == (op == OP_EQ));
}

static const char *operation(Proof *p, const Exp *exp, const char *const *args) {
  PrimOp op = exp->u.op.op;
  const char *a = args[0], *b = args[1];
  if (is_comparison(op)) return comparison(op, compare(p, a, b));
  if (op == OP_NOT && exp->u.op.type == PRIM_BOOL) return bool_value(!is_so(p, a));
  if (op == OP_LAND) return bool_value(is_so(p, a) && is_so(p, b));
  if (op == OP_LOR) return bool_value(is_so(p, a) || is_so(p, b));
  bool turned = op_arity(op) == 2 && op_is_commutative(op) && strcmp(a, b) > 0;
  if (strlen(a) + strlen(b) + strlen(args[2]) > LONGEST) return give_up(p);
  return text_format("%d(%s,%s,%s)", (int)op, turned ? b : a, turned ? a : b, args[2]);
}

static void evaluate(Proof *p, const Symbols *scope, const Body *body,
                     const char **results);

static const char *element(Proof *p, const Symbols *scope, const Exp *exp) {
  Text *t = text_new();
  text_printf(t, "%s[", value_of(p, scope, exp->u.index.array));
  for (int i = 0; i < exp->u.index.dim_count; i++) {
    if (exp->u.index.dims[i].is_slice) return give_up(p);
    text_printf(t, "%s,", value_of(p, scope, exp->u.index.dims[i].start));
  }
  text_add(t, "]");
  return text_str(t);
}

static const char *applied(Proof *p, const Symbols *scope, const Exp *exp) {
  const char *args[3] = { "", "", "" };
  for (int i = 0; i < op_arity(exp->u.op.op); i++)
    args[i] = value_of(p, scope, exp->u.op.args[i]);
  return operation(p, exp, args);
}

// The value of a statement with one result.
static const char *value(Proof *p, const Symbols *scope, const Exp *exp) {
  if (exp->kind == EXP_ATOM) return value_of(p, scope, exp->u.atom.atom);
  if (exp->kind == EXP_OP) return applied(p, scope, exp);
  if (exp->kind == EXP_INDEX) return element(p, scope, exp);
  if (exp->kind != EXP_CONVERT && exp->kind != EXP_BITS) return give_up(p);
  return text_format("%d:%d(%s)", (int)exp->kind, (int)exp->u.convert.to,
                     value_of(p, scope, exp->u.convert.atom));
}

static const Symbols *bind_symbol(const Symbols *scope, const Var *var,
                                  const char *what) {
  return new_node(Symbols, .outer = scope, .var = var, .value = what);
}

static const Symbols *branch(Proof *p, const Symbols *scope, const Stm *stm) {
  const char **chosen = new_array(const char *, stm->binder_count);
  bool taken = is_so(p, value_of(p, scope, stm->exp->u.cond.condition));
  evaluate(p, scope, taken ? stm->exp->u.cond.then_body : stm->exp->u.cond.else_body,
           chosen);
  for (int i = 0; i < stm->binder_count; i++)
    scope = bind_symbol(scope, stm->binders[i], chosen[i]);
  return scope;
}

static void evaluate(Proof *p, const Symbols *scope, const Body *body,
                     const char **results) {
  for (int i = 0; i < body->result_count; i++)
    results[i] = "";
  for (int i = 0; i < body->stm_count && !p->gave_up; i++) {
    const Stm *stm = &body->stms[i];
    if (stm->exp->kind == EXP_IF)
      scope = branch(p, scope, stm);
    else
      scope = bind_symbol(scope, stm->binders[0], value(p, scope, stm->exp));
  }
  for (int i = 0; i < body->result_count; i++)
    results[i] = value_of(p, scope, body->results[i]);
}

// In the cases of `p`, and in all that they leave open.
static bool commutes_in(Proof p) {
  int count = p.op->body->result_count;
  const char **results = new_array(const char *, 2 * count + 1);
  evaluate(&p, NULL, p.op->body, results);
  p.swapped = true;
  if (!p.open) evaluate(&p, NULL, p.op->body, results + count);
  p.swapped = false;
  if (p.gave_up) return false;
  if (p.open) {
    p.open = false;
    for (int outcome = -1; outcome <= 1; outcome++) {
      p.cases[p.case_count - 1].outcome = outcome;
      if (!commutes_in(p)) return false;
    }
    return true;
  }
  for (int i = 0; i < count; i++)
    if (strcmp(results[i], results[count + i]) != 0) return false;
  return true;
}

bool lambda_commutes(const Lambda *op) {
  for (int i = 0; i < op->param_count; i++)
    if (op->params[i]->type.rank > 0) return false;
  return commutes_in((Proof){ .op = op });
}
