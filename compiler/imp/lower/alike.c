// while p(x) { x = next x }, in lanes (and registers), where x is the same in all lanes at first
//   =>  stay = true
//       while stay && p(x) { stay = false; if all lanes decide alike { x = next x; stay = true } }
//       while any lane goes on { .. }, in lanes, from that x on
//
// Why: what is loaded for all lanes is one element, not as many as there are lanes.  Searches for
// keys that lie near each other (sorted ones, rising sums) part in their last rounds.  A round in
// which lanes part is made again in lanes; nothing of it is kept.
#include "imp/lower/kern.h"

typedef struct Together {
  const Var **params;  // scalars
  const VarCopies **values;
  int count;
  const KernBlock *body;
  const ImpExp *stay;
} Together;

// What a round decides, by a condition that differs across lanes or registers.
static bool is_decision(const KernCode *kc, const KernStm *stm) {
  return stm->kind == KERN_LET && stm->binders[0]->type.elem == PRIM_BOOL &&
         set_of_term(kc, stm->u.term);
}

static const ImpExp *joined(const ImpExp *a, PrimOp op, const ImpExp *b) {
  return a ? imp_op2(op, a, b) : b;
}

// Declares the decision as what all lanes have, and says whether they do.
static const ImpExp *decide(KernCode *kc, const KernStm *stm) {
  const ImpExp *every = NULL, *some = NULL;
  for (Copies c = copies_over(kc, set_of_term(kc, stm->u.term)); copies_next(&c);) {
    const ImpExp *one = declared(kc, "holds", lower_vector(kc, stm->u.term));
    every = joined(every, OP_LAND, one);
    some = joined(some, OP_LOR, one);
  }
  const Var *binder = stm->binders[0];
  VarCopies *value = copies_new(kc, binder, 0);
  declare_copy(kc, binder, value, imp_over_lanes(IMP_ALL, every));
  return imp_op2(OP_EQ, copy_of(kc, value), imp_over_lanes(IMP_ANY, some));
}

// The round from statement `at` on: behind a decision only if it is one for all.
static void lower_round(KernCode *kc, const Together *a, int at) {
  for (; at < a->body->count; at++) {
    const KernStm *stm = &a->body->stms[at];
    if (!is_decision(kc, stm)) {
      lower_stm(kc, stm);
      continue;
    }
    const ImpExp *agreed = decide(kc, stm);
    ImpBuilder b;
    Code code;
    KernCode inner = inner_code(kc, &code, &b);
    lower_round(&inner, a, at + 1);
    imp_if(kc->k->b, agreed, b.block);
    return;
  }
  params_next(kc, a->values, a->body->results, a->count, false);
  imp_assign(kc->k->b, a->stay->u.var, imp_const(prim_bool(true)));
}

// The body with params of its own.
static Together together(KernCode *kc, const KernStm *stm) {
  Compiler *c = kc->k->lower->c;
  int count = stm->u.loop.param_count;
  Together a = { .params = new_array(const Var *, count + 1), .count = count };
  Map *replace = map_new(NULL);
  for (int i = 0; i < count; i++) {
    a.params[i] = var_like(c, stm->u.loop.params[i]);
    map_put(replace, stm->u.loop.params[i], (void *)(intptr_t)term_var(a.params[i]));
  }
  a.body = kern_rename(c, replace, stm->u.loop.body);
  return a;
}

// A scalar variable with that value.
static const Term *scalar_var(KernCode *kc, const Var *var, const ImpExp *is) {
  declare_copy(kc, var, copies_new(kc, var, 0), is);
  return term_var(var);
}

// Are values that compare as equal the same, and may they be at all points?
static bool may_be_same(const KernCode *kc, const Term *t) {
  Affine a;
  return t->type == PRIM_BOOL || (prim_is_int(t->type) && !vary_affine(kc->vary, t, &a));
}

static bool decides(const KernCode *kc, const KernBlock *body) {
  for (int i = 0; i < body->count; i++)
    if (is_decision(kc, &body->stms[i])) return true;
  return false;
}

// May all begin alike, and part by what they decide?  `asked`: this is known when the program runs.
static bool may_begin_alike(const KernCode *kc, const KernStm *stm, bool *asked) {
  *asked = false;
  for (int i = 0; i < stm->u.loop.param_count; i++) {
    const Term *init = stm->u.loop.inits[i];
    bool differs = set_of_term(kc, init);
    *asked |= differs;
    if (differs && !may_be_same(kc, init)) return false;
  }
  return !kc->mask && !kc->masks;
}

static const ImpExp *all_are(KernCode *kc, const ImpExp *vector, const ImpExp *first) {
  if (vector->type != PRIM_BOOL)
    return imp_over_lanes(IMP_ALL, imp_op2(OP_EQ, vector, imp_splat(first, kc->lanes)));
  return imp_and(imp_op2(OP_EQ, imp_over_lanes(IMP_ALL, vector), first),
                 imp_op2(OP_EQ, imp_over_lanes(IMP_ANY, vector), first));
}

// Declares what the first lane begins with; `alike` becomes whether all others do, too.
static void begin_with_first(KernCode *kc, const Var *param, const Term *init,
                             const ImpExp **alike) {
  AxisSet set = set_of_term(kc, init);
  const ImpExp *first =
      set ? imp_pick(declared(kc, "begin", lower_vector(kc, init)), imp_i64(0))
          : lower_scalar(kc, init);
  first = lower_scalar(kc, scalar_var(kc, param, first));
  for (Copies c = copies_over(kc, set); set && copies_next(&c);) {
    const ImpExp *is = lower_vector(kc, init);
    const ImpExp *same = all_are(kc, is, first);
    *alike = imp_and(*alike, same);
  }
}

// The rounds, from what the params are on.
static void lower_rounds(KernCode *kc, Together *a, int which, const ImpExp *alike) {
  const Var *stay = imp_declare(kc->k->b, "stay", alike);
  map_put(kc->k->inside, stay, stay);
  a->stay = imp_var(stay);
  ImpBuilder b;
  Code code;
  KernCode inner = inner_code(kc, &code, &b);
  imp_assign(&b, stay, imp_const(prim_bool(false)));
  lower_round(&inner, a, 0);
  const ImpExp *going = copy_of(kc, a->values[which]);
  add_stm(kc, (ImpStm){ .kind = IMP_WHILE,
                        .u.loop_while = { imp_op2(OP_LAND, a->stay, going), b.block } });
}

const Term *const *lower_rounds_alike(KernCode *kc, const KernStm *stm) {
  const Term *const *inits = stm->u.loop.inits;
  bool asked;
  if (!may_begin_alike(kc, stm, &asked)) return inits;
  Together a = together(kc, stm);
  KernCode outer = *kc;
  outer.vary = vary_alike(kc->vary, a.body);
  if (!outer.vary || (asked && !decides(&outer, a.body))) return inits;
  const ImpExp *alike = imp_const(prim_bool(true));
  a.values = new_array(const VarCopies *, a.count + 1);
  for (int i = 0; i < a.count; i++) {
    begin_with_first(&outer, a.params[i], inits[i], &alike);
    a.values[i] = map_get(kc->values, a.params[i]);
  }
  const Var *began = var_new(kc->k->lower->c, "alike", type_scalar(PRIM_BOOL), stm->loc);
  const Term *is_alike = asked ? scalar_var(&outer, began, alike) : term_bool(true);
  lower_rounds(&outer, &a, stm->u.loop.which, lower_scalar(&outer, is_alike));
  const Term **next = new_array(const Term *, a.count + 1);
  for (int i = 0; i < a.count; i++)
    next[i] = term_select(is_alike, term_var(a.params[i]), inits[i]);
  return next;
}
