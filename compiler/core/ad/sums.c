// loop s = a for i < n do let t = s + f i  in {t}   =>  let t = redomap n f (iota n) (+)   a + t
//   where f does not depend on s; likewise min and max, and several of them in one loop
//
// Needs: binders unique.  Keeps: that.
// Why: what a loop reads of arrays around it contributes to their adjoints round by round, each
// time to whole arrays; the function of a reduction contributes an array of elements.  Loops with
// parallelism in them that stand in no parallel operator stay: their rounds may be large.
#include "core/ad/ad.h"
#include "core/ad/code.h"

typedef struct Summing {
  Compiler *c;
  const Map *sizes;  // variables that are dimensions of arrays, so not negative
  int depth;         // of parallel operators around
} Summing;

// What a round combines with one parameter of a loop.
typedef struct Sum {
  PrimOp op;
  AtomVec terms;
  AtomVec negated;  // those that are subtracted
} Sum;

typedef struct SumLoop {
  const Exp *loop;
  Map *uses;   // Var -> int *, in the body
  Map *defs;   // Var -> Stm of the body
  Map *links;  // Stm: an operation that combines
} SumLoop;

// ---- which loops are sums

static void count_use(CoreVisitor *v, Atom a) {
  if (a.kind == ATOM_CONST) return;
  int *count = map_get(v->state, a.u.var);
  if (!count) map_put(v->state, a.u.var, count = new (int));
  ++*count;
}

static void count_uses(CoreVisitor *v, const Body *body) { core_visit_body(v, body); }

static SumLoop sum_loop(const Exp *loop) {
  SumLoop s = { loop, map_new(NULL), map_new(NULL), map_new(NULL) };
  CoreVisitor v = { .atom = count_use, .body = count_uses, .state = s.uses };
  const Body *body = loop->u.loop.body;
  core_visit_body(&v, body);
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      map_put(s.defs, body->stms[i].binders[k], &body->stms[i]);
  return s;
}

static bool is_used_once(const SumLoop *s, Atom a) {
  const int *count = a.kind == ATOM_VAR ? map_get(s->uses, a.u.var) : NULL;
  return count && *count == 1;
}

// The operation that computes a value which is used once, or NULL.
static const Stm *operation(const SumLoop *s, Atom a) {
  const Stm *stm = is_used_once(s, a) ? map_get(s->defs, a.u.var) : NULL;
  return stm && stm->exp->kind == EXP_OP ? stm : NULL;
}

static bool find_sum(SumLoop *s, Sum *sum, Atom value, Atom param);

// value = x op y, where x is a sum that begins with the parameter.
static bool continues(SumLoop *s, Sum *sum, const Stm *stm, int operand, Atom param) {
  const Atom *args = stm->exp->u.op.args;
  bool subtracts = stm->exp->u.op.op == OP_SUB;
  if (subtracts && operand) return false;
  if (!find_sum(s, sum, args[operand], param)) return false;
  vec_push(subtracts ? &sum->negated : &sum->terms, args[1 - operand]);
  map_put(s->links, stm, stm);
  return true;
}

static bool find_sum(SumLoop *s, Sum *sum, Atom value, Atom param) {
  if (atom_equal(value, param)) return is_used_once(s, param);
  const Stm *stm = operation(s, value);
  if (!stm) return false;
  PrimOp op = stm->exp->u.op.op == OP_SUB ? OP_ADD : stm->exp->u.op.op;
  if (op != sum->op) return false;
  return continues(s, sum, stm, 0, param) || continues(s, sum, stm, 1, param);
}

// What parameter k is combined with; false if a round does anything else with it.
static bool is_sum(SumLoop *s, int k, Sum *sum) {
  static const PrimOp ops[] = { OP_ADD, OP_MIN, OP_MAX };
  CoreType type = s->loop->u.loop.params[k]->type;
  Atom param = atom_var(s->loop->u.loop.params[k]),
       end = s->loop->u.loop.body->results[k];
  if (type.rank || !prim_is_float(type.elem) || atom_equal(end, param)) return false;
  for (int i = 0; i < 3; i++) {
    *sum = (Sum){ .op = ops[i] };
    if (find_sum(s, sum, end, param)) return true;
  }
  return false;
}

// ---- the reduction

static Prim neutral_of(PrimOp op, PrimType type) {
  if (op == OP_ADD) return prim_zero(type);
  return op == OP_MIN ? prim_highest(type) : prim_lowest(type);
}

static Atom all_terms(Builder *b, const Sum *sum) {
  Atom all = { 0 };
  int count = 0;
  vec_each (const Atom *, term, &sum->terms)
    all = count++ ? ad_op2(b, sum->op, all, *term) : *term;
  vec_each (const Atom *, term, &sum->negated)
    all = count++ ? ad_op2(b, OP_SUB, all, *term) : ad_op1(b, OP_NEG, *term);
  return all;
}

static Lambda summand(const Summing *m, const SumLoop *s, const Sum *sums) {
  const Body *body = s->loop->u.loop.body;
  int count = s->loop->u.loop.param_count;
  Builder b = builder_new(m->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++)
    if (!map_has(s->links, &body->stms[i])) core_add_stm(&b, body->stms[i]);
  Atom *results = new_array(Atom, count);
  for (int k = 0; k < count; k++)
    results[k] = all_terms(&b, &sums[k]);
  return lambda_new(&s->loop->u.loop.index, 1, core_body(&b, results, count));
}

static void add_reduction(const Summing *m, Builder *b, const Stm *stm, const SumLoop *s,
                          const Sum *sums) {
  int count = stm->binder_count;
  Atom width = s->loop->u.loop.bound;
  if (width.kind == ATOM_CONST ? width.u.constant.u.i < 0
                               : !map_has(m->sizes, width.u.var))
    width = ad_op2(b, OP_MAX, width, atom_i64(0));
  Atom iota = ad_iota(b, width), *out = new_array(Atom, count);
  RedOp *ops = new_array(RedOp, count);
  for (int k = 0; k < count; k++)
    ops[k] = ad_red_op(b, sums[k].op, neutral_of(sums[k].op, stm->binders[k]->type.elem));
  Soac soac = { .width = width,
                .fn = summand(m, s, sums),
                .arrays = mem_copy(&iota, sizeof iota),
                .array_count = 1,
                .ops = ops,
                .op_count = count };
  core_let_n(b, "total", exp_soac(EXP_REDOMAP, soac), out);
  for (int k = 0; k < count; k++) {
    Atom init = s->loop->u.loop.inits[k];
    core_let_vars(b, stm->binders + k, 1,
                  atom_equal(init, ops[k].neutral[0])
                      ? exp_atom(out[k])
                      : exp_op2(sums[k].op, init, out[k]));
  }
}

static bool sum_up(const Summing *m, Builder *b, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_LOOP || e->u.loop.form != CORE_FOR) return false;
  if (stm->attrs && stm->attrs->stripmine) return false;
  if (!m->depth && core_has_soac(e->u.loop.body)) return false;
  SumLoop s = sum_loop(e);
  Sum *sums = new_array(Sum, e->u.loop.param_count);
  for (int k = 0; k < e->u.loop.param_count; k++)
    if (!is_sum(&s, k, &sums[k])) return false;
  if (!e->u.loop.param_count) return false;
  add_reduction(m, b, stm, &s, sums);
  return true;
}

static const Body *sum_up_body(CoreMapper *m, const Body *body) {
  Summing *state = m->state;
  Builder b = builder_new(state->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    bool parallel = exp_is_soac(stm.exp);
    state->depth += parallel;
    stm.exp = core_map_exp(m, stm.exp);
    state->depth -= parallel;
    b.loc = stm.loc;
    b.attrs = stm.attrs;
    if (!sum_up(state, &b, &stm)) core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// ---- sizes

static void note_sizes(CoreVisitor *v, Atom a) {
  CoreType type = atom_type(a);
  for (int d = 0; d < type.rank; d++)
    if (type.dims[d].kind == ATOM_VAR) map_put(v->state, type.dims[d].u.var, v->state);
}

static void note_sizes_in(CoreVisitor *v, const Body *body) { core_visit_body(v, body); }

const Body *ad_sums(Compiler *c, const Body *body) {
  Map *sizes = map_new(NULL);
  CoreVisitor v = { .atom = note_sizes, .body = note_sizes_in, .state = sizes };
  core_visit_body(&v, body);
  Summing state = { c, sizes, 0 };
  CoreMapper m = { .body = sum_up_body, .state = &state };
  return sum_up_body(&m, body);
}
