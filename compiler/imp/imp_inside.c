//        for i < n { let k = a * i + b; if (0 <= k && k < m) { y[k] = x } }
//   =>   if (0 <= k && k < m at i = 0 and i = n - 1) { for i < n { let k = a * i + b; y[k] = x } }
//        else { for i < n { let k = a * i + b; if (0 <= k && k < m) { y[k] = x } } }
//
// if a and b, which may be products of variables, are the same in all rounds.
//
// Why: a comparison of affine numbers that holds in the first and in the last round holds in all.
// A `scatter` in one item otherwise tests each of its places, and stores one by one.
//
// The numbers are so small that none overflows in between: |a|, n < 2^31, |b| < 2^62.
#include "base/map.h"
#include "imp/imp.h"

enum {
  FEW_ROUNDS = 8,        // of a loop that is not worth a test
  MOST_STATEMENTS = 40,  // of a loop that there are two of
  MOST_OPERATORS = 24,   // of a number's factor and base
};
static const int64_t SMALL = INT64_C(1) << 31, TAME = INT64_C(1) << 62;

// An affine number: by * (index of the loop) + base; both are the same in all rounds.
typedef struct EvenSteps {
  const ImpExp *by, *base;
} EvenSteps;

typedef struct InsideLoop {
  const ImpStm *loop;
  Map *varies;         // Var: the index, and what is set or declared in the loop
  Map *forms;          // Var -> const EvenSteps *
  Map *tamed;          // Var: of these the test asks already whether they are small
  const ImpExp *test;  // that all guards hold in all rounds; NULL: there is no guard
  int statements;
  bool simple;  // nothing in the loop but numbers, stores and branches
} InsideLoop;

// ---- what the loop changes

static void see_loop(InsideLoop *x, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    x->statements++;
    if (stm->kind == IMP_DECLARE) map_put(x->varies, stm->u.declare.var, stm);
    if (stm->kind == IMP_ASSIGN) map_put(x->varies, stm->u.assign.var, stm);
    if (stm->kind == IMP_IF) {
      see_loop(x, &stm->u.cond.then_body);
      see_loop(x, &stm->u.cond.else_body);
    }
    x->simple = x->simple && (stm->kind == IMP_DECLARE || stm->kind == IMP_ASSIGN ||
                              stm->kind == IMP_STORE || stm->kind == IMP_IF);
  }
}

// Operators that may stand before a loop that does not run: divisions may not.
static bool is_harmless(const ImpExp *e) {
  if (e->kind != IMP_OP) return e->kind == IMP_VAR || e->kind == IMP_CONST;
  PrimOp op = e->u.op.op;
  return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_MIN || op == OP_MAX;
}

static bool is_same_in_all(const InsideLoop *x, const ImpExp *e) {
  if (e->lanes || !is_harmless(e)) return false;
  if (e->kind == IMP_VAR && map_has(x->varies, e->u.var)) return false;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (!is_same_in_all(x, operands[i])) return false;
  return true;
}

// ---- affine numbers

static int operators(const ImpExp *e) {
  const ImpExp *operands[3];
  int count = imp_operands(e, operands), out = 1;
  for (int i = 0; i < count; i++)
    out += operators(operands[i]);
  return out;
}

static bool affine_in(const InsideLoop *x, const ImpExp *e, EvenSteps *out);

static bool affine_of_op(const InsideLoop *x, const ImpExp *e, EvenSteps *out) {
  PrimOp op = e->u.op.op;
  EvenSteps a, b;
  if ((op != OP_ADD && op != OP_SUB && op != OP_MUL) ||
      !affine_in(x, e->u.op.args[0], &a) || !affine_in(x, e->u.op.args[1], &b))
    return false;
  if (op == OP_ADD) *out = (EvenSteps){ imp_add(a.by, b.by), imp_add(a.base, b.base) };
  if (op == OP_SUB) *out = (EvenSteps){ imp_sub(a.by, b.by), imp_sub(a.base, b.base) };
  if (op != OP_MUL) return true;
  bool first = !imp_is_i64(a.by, 0), second = !imp_is_i64(b.by, 0);
  if (first && second) return false;
  const ImpExp *by = first ? imp_mul(a.by, b.base) : imp_mul(a.base, b.by);
  *out = (EvenSteps){ by, imp_mul(a.base, b.base) };
  return true;
}

static bool affine_in(const InsideLoop *x, const ImpExp *e, EvenSteps *out) {
  if (e->type != PRIM_I64 || e->lanes) return false;
  if (is_same_in_all(x, e)) {
    *out = (EvenSteps){ imp_i64(0), e };
    return true;
  }
  if (e->kind == IMP_VAR && e->u.var == x->loop->u.loop.var) {
    *out = (EvenSteps){ imp_i64(1), imp_i64(0) };
    return true;
  }
  const EvenSteps *known = e->kind == IMP_VAR ? map_get(x->forms, e->u.var) : NULL;
  if (known) *out = *known;
  if (!known && (e->kind != IMP_OP || !affine_of_op(x, e, out))) return false;
  return operators(out->by) + operators(out->base) <= MOST_OPERATORS;
}

static void see_form(InsideLoop *x, const ImpStm *stm) {
  const Var *var = stm->u.declare.var;
  EvenSteps form;
  // What is assigned to has that statement as its last.
  if (map_get(x->varies, var) != stm || !stm->u.declare.value ||
      !affine_in(x, stm->u.declare.value, &form))
    return;
  map_put(x->forms, var, mem_copy(&form, sizeof form));
}

// ---- the test

// -most < e < most
static const ImpExp *lies_within(const ImpExp *e, int64_t most) {
  return imp_and(imp_less(imp_i64(-most), e), imp_less(e, imp_i64(most)));
}

static const ImpExp *is_tame(InsideLoop *x, const ImpExp *e, const EvenSteps *form) {
  bool asked = e->kind == IMP_VAR && map_has(x->tamed, e->u.var);
  if (e->kind == IMP_CONST || asked) return imp_const(prim_bool(true));
  if (e->kind == IMP_VAR) map_put(x->tamed, e->u.var, e);
  return imp_and(lies_within(form->by, SMALL), lies_within(form->base, TAME));
}

static const ImpExp *at_round(const EvenSteps *form, const ImpExp *round) {
  return imp_add(imp_mul(form->by, round), form->base);
}

// Does the comparison hold in all rounds?  NULL: that is not known.
static const ImpExp *holds_throughout(InsideLoop *x, const ImpExp *e) {
  PrimOp op = e->u.op.op;
  if (op == OP_LAND) {
    const ImpExp *a = holds_throughout(x, e->u.op.args[0]),
                 *b = a ? holds_throughout(x, e->u.op.args[1]) : NULL;
    return b ? imp_and(a, b) : NULL;
  }
  EvenSteps a, b;
  if ((op != OP_LT && op != OP_LE) || !affine_in(x, e->u.op.args[0], &a) ||
      !affine_in(x, e->u.op.args[1], &b))
    return NULL;
  const ImpExp *tame =
      imp_and(is_tame(x, e->u.op.args[0], &a), is_tame(x, e->u.op.args[1], &b));
  const ImpExp *last = imp_sub(x->loop->u.loop.bound, imp_i64(1)), *zero = imp_i64(0);
  const ImpExp *at_first = imp_op2(op, at_round(&a, zero), at_round(&b, zero));
  const ImpExp *at_last = imp_op2(op, at_round(&a, last), at_round(&b, last));
  return imp_and(tame, imp_and(at_first, at_last));
}

// ---- loops

static bool is_guard(const ImpStm *stm) {
  return stm->kind == IMP_IF && !stm->u.cond.condition->lanes &&
         stm->u.cond.condition->kind == IMP_OP && stm->u.cond.else_body.count == 0;
}

// The block without guards that hold in all rounds if the test does.
static ImpBlock without_guards(InsideLoop *x, const ImpBlock *block) {
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, at, block) {
    if ((*at)->kind == IMP_DECLARE) see_form(x, *at);
    const ImpExp *holds =
        is_guard(*at) ? holds_throughout(x, (*at)->u.cond.condition) : NULL;
    if (!holds) {
      vec_push(&out, *at);
      continue;
    }
    x->test = x->test ? imp_and(x->test, holds) : holds;
    vec_each (const ImpStm **, inner, &(*at)->u.cond.then_body)
      vec_push(&out, *inner);
  }
  return out;
}

static bool has_guard(const ImpStm *loop) {
  const ImpExp *bound = loop->u.loop.bound;
  if (bound->kind == IMP_CONST && bound->u.constant.u.i < FEW_ROUNDS) return false;
  vec_each (const ImpStm **, at, &loop->u.loop.body)
    if (is_guard(*at)) return true;
  return false;
}

static const ImpStm *with_form_inside(const ImpStm *loop) {
  InsideLoop x = { .loop = loop,
                   .varies = map_new(NULL),
                   .forms = map_new(NULL),
                   .tamed = map_new(NULL),
                   .simple = true };
  map_put(x.varies, loop->u.loop.var, loop);
  see_loop(&x, &loop->u.loop.body);
  const ImpExp *bound = loop->u.loop.bound;
  if (!x.simple || x.statements > MOST_STATEMENTS || !is_same_in_all(&x, bound))
    return loop;
  ImpStm *inside = mem_copy(loop, sizeof *loop);
  inside->u.loop.body = without_guards(&x, &loop->u.loop.body);
  if (!x.test) return loop;
  ImpBlock yes = { 0 }, no = { 0 };
  vec_push(&yes, inside);
  vec_push(&no, loop);
  const ImpExp *test = imp_and(imp_less(bound, imp_i64(SMALL)), x.test);
  return new_node(ImpStm, .kind = IMP_IF, .loc = loop->loc,
                  .u.cond = { .condition = test, .then_body = yes, .else_body = no });
}

static ImpBlock inside_in(void *state, const ImpBlock *block) {
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = imp_map_blocks(*at, inside_in, state);
    bool guarded = stm->kind == IMP_FOR && has_guard(stm);
    vec_push(&out, guarded ? with_form_inside(stm) : stm);
  }
  return out;
}

ImpBlock imp_inside(const ImpBlock *block) { return inside_in(NULL, block); }
