// e_flat of G3 (PPoPP'19, Figure 3)  =>  if 0 < m && .. then e_flat else e_top
//
// Here the condition: m, .. are the widths of e_flat's seg-ops behind those of the context, and the
// rounds of its loops, as far as they are known before it.
// Why: statements at the points of the context that may fail and are computed again where they are
// needed are needed nowhere if rows are empty.
#include "base/map.h"
#include "flat/rules.h"

// Does a statement at a point of the context fail where it is needed only?  What is stored fails
// when it is made.
static bool may_be_lost(const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp_is_cheap(exp) && exp_may_fail(exp)) return true;
    if (exp->kind == EXP_LOOP && may_be_lost(exp->u.loop.body)) return true;
    if (exp->kind == EXP_IF &&
        (may_be_lost(exp->u.cond.then_body) || may_be_lost(exp->u.cond.else_body)))
      return true;
  }
  return false;
}

// How often the seg-ops of a version run what is within a point of the context.
typedef struct Repeats {
  int depth;
  Map *known;  // what the version mentions and does not bind
  AtomVec counts;
} Repeats;

static void add_count(Repeats *r, Atom count) {
  if (count.kind == ATOM_CONST ? count.u.constant.u.i > 0
                               : !map_has(r->known, count.u.var))
    return;
  vec_each (const Atom *, other, &r->counts)
    if (atom_equal(*other, count)) return;
  vec_push(&r->counts, count);
}

static void find_counts(CoreVisitor *v, const Body *body) {
  Repeats *r = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_LOOP && exp->u.loop.form == CORE_FOR)
      add_count(r, exp->u.loop.bound);
    for (int d = r->depth; exp->kind == EXP_SEG && d < exp->u.seg->dim_count; d++)
      add_count(r, exp->u.seg->dims[d].width);
    if (exp->kind != EXP_SEG) core_visit_exp(v, exp);
  }
}

static AtomVec counts_of(const Body *flat, int depth) {
  Repeats r = { .depth = depth, .known = map_new(NULL) };
  VarVec free = core_free_body(flat);
  vec_each (const Var **, var, &free)
    map_put(r.known, *var, *var);
  CoreVisitor v = { .body = find_counts, .state = &r };
  find_counts(&v, flat);
  return r.counts;
}

Atom flatten_rows_have_points(Builder *b, const Body *body, const Body *flat, int depth) {
  Atom all = atom_bool(true);
  if (!may_be_lost(body)) return all;
  AtomVec counts = counts_of(flat, depth);
  for (int i = 0; i < counts.count; i++) {
    Atom some = core_let(b, "some", exp_op2(OP_LT, atom_i64(0), counts.at[i]));
    all = i == 0 ? some : core_let(b, "some", exp_op2(OP_LAND, all, some));
  }
  return all;
}
