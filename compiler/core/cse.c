// let x = f a  let y = f a  =>  let x = f a   and y is x;  x = m - k + 1  y = m + 1 - k as well
//
// Needs: Core, one binding per variable.   Keeps: both.   Why: elaboration computes a size each
// time that a type mentions it, and what is shared is hoisted, fused and checked once.
//
// Expressions of the same body or an enclosing one are shared, also such as may fail (the first
// fails before the second).  Not shared is what makes a fresh array that is likely to be updated
// in place, as sharing would cost a copy, and what contains bodies.
#include "core/linear.h"
#include "core/operands.h"
#include "core/passes.h"

typedef struct Sharing {
  Compiler *c;
  Subst *subst;      // variables that another one stands for
  NameTable *texts;  // of expressions: equal ones have the same pointer
  Map *scope;        // text -> Var, enclosing bodies' as parents
  Map *sums;         // Var -> LinearSum, those of more than one variable
  Map *failing;      // failing.h
} Sharing;

static Atom represent(CoreMapper *m, Atom a) {
  const Sharing *s = m->state;
  return subst_atom(s->subst, a);
}

static bool comes_first(Atom a, Atom b) {
  if (a.kind != b.kind) return a.kind == ATOM_VAR;
  return a.kind == ATOM_CONST || a.u.var->id <= b.u.var->id;
}

// a + b and b + a are the same.
static const Exp *ordered(const Exp *e) {
  if (e->kind != EXP_OP || op_arity(e->u.op.op) != 2) return e;
  Atom a = e->u.op.args[0], b = e->u.op.args[1];
  if (!operands_may_turn(e->u.op.op, e->u.op.type) || comes_first(a, b)) return e;
  return exp_op2(e->u.op.op, b, a);
}

// The printed form tells expressions of a kind apart: variables are printed with their numbers.
// Functions are not, and their names may be those of operators.
static Name text_of(const Sharing *s, const Exp *e) {
  Text *t = text_new();
  text_printf(t, "%d ", (int)e->kind);
  if (e->kind == EXP_CALL) text_printf(t, "%p ", (const void *)e->u.call.function);
  core_print_exp(t, ordered(e));
  return name_of(s->texts, text_str(t));
}

static void share_text(Sharing *s, const Var *var, Name text) {
  const Var *older = map_get(s->scope, text);
  if (older)
    subst_put(s->subst, var, atom_var(older));
  else
    map_put(s->scope, text, var);
}

static void share_sum(Sharing *s, const Var *var, const LinearSum *sum) {
  Atom atom;
  if (linear_is_atom(sum, &atom)) {
    subst_put(s->subst, var, atom);
    return;
  }
  map_put(s->sums, var, mem_copy(sum, sizeof *sum));
  share_text(s, var, name_of(s->texts, linear_text(sum)));
}

static void share(Sharing *s, const Stm *stm, const Exp *exp) {
  if (!exp_is_shareable(exp) || stm->binder_count != 1) return;
  LinearSum sum;
  if (linear_of_exp(s->sums, exp, &sum) &&
      linear_keeps_failing(s->sums, s->failing, exp, &sum))
    share_sum(s, stm->binders[0], &sum);
  else
    share_text(s, stm->binders[0], text_of(s, exp));
}

// Finds what is shared, from the top.
static void find(CoreVisitor *v, const Body *body) {
  Sharing *s = v->state;
  CoreMapper m = { .atom = represent, .state = s };
  Map *outer = s->scope;
  s->scope = map_new(outer);
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    stm.exp = core_map_exp(&m, stm.exp);
    failing_note(s->failing, &stm);
    share(s, &stm, stm.exp);
    core_visit_exp(v, body->stms[i].exp);
  }
  s->scope = outer;
}

static bool is_shared(const Sharing *s, const Stm *stm) {
  if (stm->binder_count != 1) return false;
  Atom a = atom_var(stm->binders[0]);
  return !atom_equal(subst_atom(s->subst, a), a);
}

// Drops the statements for which an older one stands.
static const Body *drop(CoreMapper *m, const Body *body) {
  const Sharing *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    if (is_shared(s, &stm)) continue;
    stm.exp = core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *cse_body(Compiler *c, const Body *body) {
  Sharing s = { .c = c,
                .subst = subst_new(),
                .texts = name_table_new(),
                .sums = map_new(NULL),
                .failing = map_new(NULL) };
  CoreVisitor v = { .body = find, .state = &s };
  find(&v, body);
  CoreMapper m = { .body = drop, .state = &s };
  return core_subst_body(c, s.subst, drop(&m, body));
}

const Core *cse(Compiler *c, const Core *core) {
  return core_map_bodies(c, core, cse_body);
}
