// map 3 (\x -> {f x}) xs   =>  let a = f xs[0]  let b = f xs[1]  let c = f xs[2]  in [a, b, c]
//   within another operator, where f is a few scalars; likewise reductions, but for those of what a
//   map makes that stays one
//
// Needs: binders unique.  Keeps: that.
// Why: points in space are rows of three numbers.  As numbers their adjoints need no memory, and
// sums over the points fuse with what makes their summands.  The adjoint of a sum of what a map
// makes is the same for all of its elements, and fuses with the way back through the map; as
// numbers, its elements would be put together.
#include "core/ad/ad.h"
#include "core/ad/code.h"

enum { MOST_ROUNDS = 4, MOST_STATEMENTS = 16 };  // of f

typedef struct Unrolling {
  Compiler *c;
  int depth;    // of parallel operators around
  Map *mapped;  // Var -> Var: what is made by maps that stay
} Unrolling;

static bool is_scalar_code(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (!exp_is_scalar(body->stms[i].exp) && body->stms[i].exp->kind != EXP_ATOM)
      return false;
  return body->stm_count <= MOST_STATEMENTS;
}

static bool is_short(const Exp *e) {
  if (e->kind != EXP_MAP && e->kind != EXP_REDOMAP) return false;
  const Soac *soac = &e->u.soac;
  if (soac->width.kind == ATOM_VAR || soac->width.u.constant.u.i > MOST_ROUNDS)
    return false;
  for (int i = 0; i < soac->op_count; i++)
    if (!is_scalar_code(soac->ops[i].op.body)) return false;
  return soac->width.u.constant.u.i > 0 && is_scalar_code(soac->fn.body);
}

static bool sums_mapped(const Unrolling *state, const Exp *e) {
  for (int i = 0; e->kind == EXP_REDOMAP && i < e->u.soac.array_count; i++)
    if (map_has(state->mapped, e->u.soac.arrays[i].u.var)) return true;
  return false;
}

static void note_mapped(Unrolling *state, const Stm *stm) {
  for (int i = 0; stm->exp->kind == EXP_MAP && i < stm->binder_count; i++)
    map_put(state->mapped, stm->binders[i], stm->binders[i]);
}

// The function's results for the i-th elements.
static const Atom *one_round(Builder *b, const Soac *soac, int i) {
  Subst *s = subst_new();
  for (int k = 0; k < soac->array_count; k++)
    subst_put(s, soac->fn.params[k], ad_row(b, soac->arrays[k], atom_i64(i)));
  const Body *body = core_rename_body(b->c, s, soac->fn.body);
  core_add_body(b, body);
  return body->results;
}

// sums = op sums values
static void combine_values(Builder *b, const RedOp *op, Atom *sums, const Atom *values) {
  Subst *s = subst_new();
  for (int k = 0; k < op->count; k++) {
    subst_put(s, op->op.params[k], sums[k]);
    subst_put(s, op->op.params[op->count + k], values[k]);
  }
  const Body *body = core_rename_body(b->c, s, op->op.body);
  core_add_body(b, body);
  for (int k = 0; k < op->count; k++)
    sums[k] = body->results[k];
}

static void add_reduced(Builder *b, const Stm *stm, const Atom *const *rounds) {
  const Soac *soac = &stm->exp->u.soac;
  int at = 0;
  for (int i = 0; i < soac->op_count; i++) {
    const RedOp *op = &soac->ops[i];
    Atom *sums = mem_copy(rounds[0] + at, sizeof(Atom) * (size_t)op->count);
    for (int k = 1; k < soac->width.u.constant.u.i; k++)
      combine_values(b, op, sums, rounds[k] + at);
    for (int k = 0; k < op->count; k++)
      core_let_vars(b, stm->binders + at + k, 1, exp_atom(sums[k]));
    at += op->count;
  }
}

static void add_unrolled(Builder *b, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  int count = (int)soac->width.u.constant.u.i;
  const Atom **rounds = new_array(const Atom *, count);
  Atom *column = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    rounds[i] = one_round(b, soac, i);
  add_reduced(b, stm, rounds);
  for (int k = soac_red_count(soac); k < stm->binder_count; k++) {
    for (int i = 0; i < count; i++)
      column[i] = rounds[i][k];
    CoreType row = type_row(stm->binders[k]->type);
    core_let_vars(b, stm->binders + k, 1, exp_array(column, count, row));
  }
}

static const Body *unroll_body(CoreMapper *m, const Body *body) {
  Unrolling *state = m->state;
  Builder b = builder_new(state->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    bool parallel = exp_is_soac(stm.exp);
    state->depth += parallel;
    stm.exp = core_map_exp(m, stm.exp);
    state->depth -= parallel;
    b.loc = stm.loc;
    b.attrs = NULL;
    if (state->depth && is_short(stm.exp) && !sums_mapped(state, stm.exp)) {
      add_unrolled(&b, &stm);
      continue;
    }
    note_mapped(state, &stm);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *ad_unroll(Compiler *c, const Body *body) {
  Unrolling state = { c, 0, map_new(NULL) };
  CoreMapper m = { .body = unroll_body, .state = &state };
  return unroll_body(&m, body);
}
