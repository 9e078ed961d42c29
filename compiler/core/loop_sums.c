// loop (s = s0) for i < n do let x = .. in {s + x}
//   =>  if there are LONG rounds, those of inner loops counted, then
//         let r = redomap n (\i -> let x = .. in {x}) (iota n) op (+) {0} in {s0 + r}
//       else the loop
// if c then s + x else s   =>   if c then x else 0   likewise, as deep as such conditions go
// loop (t = s) for j < m do {t + x}   =>   loop (t = 0) for j < m do {t + x}   likewise
//
// for operators on whole numbers and truth values that are associative and commutative, where
// nothing else in a round reads what it carries.
//
// Needs: Core; binders unique.  Keeps: both.
// Why: the host, or one work-item, would go through the rounds one by one; a sum has vectors and
// all cores.  kern/tidy/loops_as_sums.c does the same within kernels, where loops are in one item.
//
// Not into SOACs, whose elements are parallel themselves, nor into loops, which would launch a
// kernel in each round; rounds with SOACs are parallel as they are.
#include "base/map.h"
#include "base/mem.h"
#include "core/passes.h"

// From here on a launch costs less than the rounds.
enum { LONG = 8192, MOST_SUMS = 8, ROUNDS_OF_WHILE = 16 };

// A value that is the carried one of number `sum`, joined with `joined`, which is of the round
// alone.
typedef struct LateTotal {
  int sum;
  bool alone;  // joined with nothing
  Atom joined;
} LateTotal;

typedef struct RoundTotals {
  Compiler *c;
  const Exp *loop;
  Map *late;  // Var -> const LateTotal *
  bool known[MOST_SUMS];
  PrimOp ops[MOST_SUMS];
} RoundTotals;

static const LateTotal *late_of(const RoundTotals *s, Atom a) {
  return a.kind == ATOM_VAR ? map_get(s->late, a.u.var) : NULL;
}

static void note_late(RoundTotals *s, const Var *var, LateTotal late) {
  map_put(s->late, var, mem_copy(&late, sizeof late));
}

static bool mentions_late(const RoundTotals *s, const Exp *e) {
  VarVec free = core_free_exp(e);
  vec_each (const Var **, var, &free)
    if (map_has(s->late, *var)) return true;
  return false;
}

static PrimType type_of_sum(const RoundTotals *s, int sum) {
  return s->loop->u.loop.params[sum]->type.elem;
}

// Is it the operator of that sum, or is none known yet?
static bool joins_by(RoundTotals *s, int sum, PrimOp op) {
  if (!op_joins_in_any_order(op, type_of_sum(s, sum)) ||
      (s->known[sum] && s->ops[sum] != op))
    return false;
  s->known[sum] = true;
  s->ops[sum] = op;
  return true;
}

static Atom neutral_of(const RoundTotals *s, int sum) {
  return atom_const(prim_neutral(s->ops[sum], type_of_sum(s, sum)));
}

// What is joined with the carried value, if something is.
static Atom joined_or_neutral(const RoundTotals *s, const LateTotal *late) {
  return late->alone ? neutral_of(s, late->sum) : late->joined;
}

static LateTotal joined_with(RoundTotals *s, Builder *b, const LateTotal *late,
                             Atom early) {
  LateTotal both = { late->sum, false, early };
  if (!late->alone)
    both.joined = core_let(b, "joined", exp_op2(s->ops[late->sum], late->joined, early));
  return both;
}

// ---- statements that mention what is carried

static bool sum_op(RoundTotals *s, Builder *b, const Stm *stm) {
  const Exp *e = stm->exp;
  const Atom *args = e->u.op.args;
  if (op_arity(e->u.op.op) != 2) return false;
  const LateTotal *first = late_of(s, args[0]), *second = late_of(s, args[1]);
  if ((first && second) || e->u.op.type != stm->binders[0]->type.elem) return false;
  const LateTotal *late = first ? first : second;
  if (!joins_by(s, late->sum, e->u.op.op)) return false;
  note_late(s, stm->binders[0], joined_with(s, b, late, args[first ? 1 : 0]));
  return true;
}

static const Body *sums_of_branch(RoundTotals *s, const Body *body,
                                  const LateTotal **lates);

// Both branches end with values of the same sum, or both with values of the round.
static bool agree(const RoundTotals *s, const LateTotal *a, const LateTotal *b) {
  return (!a && !b) || (a && b && a->sum == b->sum && s->known[a->sum]);
}

static const Body *with_joined(const RoundTotals *s, const Body *body,
                               const LateTotal **lates) {
  Atom *results = mem_copy(body->results, (size_t)body->result_count * sizeof *results);
  for (int i = 0; i < body->result_count; i++)
    if (lates[i]) results[i] = joined_or_neutral(s, lates[i]);
  return new_node(Body, .stms = body->stms, .stm_count = body->stm_count,
                  .results = results, .result_count = body->result_count);
}

static bool sum_choice(RoundTotals *s, Builder *b, const Stm *stm) {
  const Exp *e = stm->exp;
  int count = stm->binder_count;
  if (late_of(s, e->u.cond.condition)) return false;
  const LateTotal **first = new_array(const LateTotal *, count + 1),
                  **second = new_array(const LateTotal *, count + 1);
  const Body *then_body = sums_of_branch(s, e->u.cond.then_body, first);
  const Body *else_body =
      then_body ? sums_of_branch(s, e->u.cond.else_body, second) : NULL;
  if (!else_body) return false;
  for (int i = 0; i < count; i++)
    if (!agree(s, first[i], second[i])) return false;
  const Var **binders = mem_copy(stm->binders, (size_t)count * sizeof *binders);
  for (int i = 0; i < count; i++) {
    if (!first[i]) continue;
    binders[i] = var_like(s->c, stm->binders[i]);
    note_late(s, stm->binders[i],
              (LateTotal){ first[i]->sum, false, atom_var(binders[i]) });
  }
  core_let_vars(b, binders, count,
                exp_if_again(e, with_joined(s, then_body, first),
                             with_joined(s, else_body, second)));
  return true;
}

// The sums of a loop within the round, which begins with values of the round's.
static bool sum_loop(RoundTotals *s, Builder *b, const Stm *stm) {
  Exp *inner = mem_copy(stm->exp, sizeof *inner);
  int count = stm->binder_count;
  if (inner->u.loop.form != CORE_FOR || late_of(s, inner->u.loop.bound)) return false;
  const LateTotal **starts = new_array(const LateTotal *, count + 1),
                  **ends = new_array(const LateTotal *, count + 1);
  Atom *inits = mem_copy(inner->u.loop.inits, (size_t)count * sizeof *inits);
  const Var **binders = mem_copy(stm->binders, (size_t)count * sizeof *binders);
  for (int i = 0; i < count; i++) {
    starts[i] = late_of(s, inits[i]);
    if (starts[i])
      note_late(s, inner->u.loop.params[i], (LateTotal){ starts[i]->sum, true, { 0 } });
  }
  const Body *body = sums_of_branch(s, inner->u.loop.body, ends);
  if (!body) return false;
  Builder round = builder_new(s->c, b->loc);
  core_add_body(&round, body);
  Atom *results = mem_copy(body->results, (size_t)count * sizeof *results);
  for (int i = 0; i < count; i++) {
    if (!agree(s, starts[i], ends[i])) return false;
    if (!starts[i]) continue;
    inits[i] = neutral_of(s, starts[i]->sum);
    binders[i] = var_like(s->c, stm->binders[i]);
    results[i] =
        joined_with(s, &round,
                    &(LateTotal){ starts[i]->sum, ends[i]->alone, ends[i]->joined },
                    atom_var(inner->u.loop.params[i]))
            .joined;
  }
  inner->u.loop.inits = inits;
  inner->u.loop.body = core_body(&round, results, count);
  core_let_vars(b, binders, count, inner);
  for (int i = 0; i < count; i++)
    if (starts[i])
      note_late(s, stm->binders[i], joined_with(s, b, starts[i], atom_var(binders[i])));
  return true;
}

static bool sum_stm(RoundTotals *s, Builder *b, const Stm *stm) {
  b->loc = stm->loc;
  bool scalars = true;
  for (int i = 0; i < stm->binder_count; i++)
    scalars = scalars && stm->binders[i]->type.rank == 0;
  if (mentions_late(s, stm->exp)) {
    if (!scalars || stm->attrs) return false;
    if (stm->exp->kind == EXP_OP) return sum_op(s, b, stm);
    if (stm->exp->kind == EXP_IF) return sum_choice(s, b, stm);
    if (stm->exp->kind == EXP_LOOP) return sum_loop(s, b, stm);
    return false;
  }
  core_add_stm(b, *stm);
  return scalars || exp_is_view(stm->exp);
}

// The body without what is carried; `lates[i]` is how result i depends on that, or NULL.
static const Body *sums_of_branch(RoundTotals *s, const Body *body,
                                  const LateTotal **lates) {
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++)
    if (!sum_stm(s, &b, &body->stms[i])) return NULL;
  for (int i = 0; i < body->result_count; i++)
    lates[i] = late_of(s, body->results[i]);
  return core_body(&b, body->results, body->result_count);
}

// ---- loops

static Lambda operator_of(const RoundTotals *s, int sum, Loc loc) {
  const Var *like = s->loop->u.loop.params[sum];
  const Var *params[2] = { var_like(s->c, like), var_like(s->c, like) };
  Builder b = builder_new(s->c, loc);
  Atom total =
      core_let(&b, "sum", exp_op2(s->ops[sum], atom_var(params[0]), atom_var(params[1])));
  return lambda_new(params, 2, core_body(&b, &total, 1));
}

// What a round joins with each of the carried values; NULL: it does something else with them.
static const Body *joined_in_round(RoundTotals *s) {
  const Exp *loop = s->loop;
  const LateTotal *lates[MOST_SUMS];
  int count = loop->u.loop.param_count;
  if (core_has_soac(loop->u.loop.body)) return NULL;
  for (int i = 0; i < count; i++) {
    if (loop->u.loop.params[i]->type.rank > 0) return NULL;
    note_late(s, loop->u.loop.params[i], (LateTotal){ i, true, { 0 } });
  }
  const Body *body = sums_of_branch(s, loop->u.loop.body, lates);
  for (int i = 0; body && i < count; i++)
    if (!lates[i] || lates[i]->sum != i || lates[i]->alone) return NULL;
  return body ? with_joined(s, body, lates) : NULL;
}

static const Body *total_of_rounds(const RoundTotals *s, const Body *round,
                                   const Stm *stm) {
  int count = s->loop->u.loop.param_count;
  Builder b = builder_new(s->c, stm->loc);
  Atom width = s->loop->u.loop.bound, *sums = new_array(Atom, count);
  Atom numbers = core_let(&b, "numbers", exp_iota(width, atom_i64(0), atom_i64(1)));
  RedOp *ops = new_array(RedOp, count);
  for (int i = 0; i < count; i++) {
    Atom neutral = neutral_of(s, i);
    ops[i] = (RedOp){ operator_of(s, i, stm->loc), mem_copy(&neutral, sizeof neutral), 1,
                      true };
  }
  Lambda fn = lambda_new(&s->loop->u.loop.index, 1, round);
  Soac soac = { .width = width,
                .fn = core_rename_lambda(s->c, subst_new(), fn),
                .arrays = &numbers,
                .array_count = 1,
                .ops = ops,
                .op_count = count };
  soac.arrays = mem_copy(&numbers, sizeof numbers);
  core_let_n(&b, "sums", exp_soac(EXP_REDOMAP, soac), sums);
  for (int i = 0; i < count; i++)
    sums[i] = core_let(&b, "sum", exp_op2(s->ops[i], s->loop->u.loop.inits[i], sums[i]));
  return core_body(&b, sums, count);
}

static bool may_be_total(const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_LOOP || e->u.loop.form != CORE_FOR || stm->attrs) return false;
  Atom bound = e->u.loop.bound;
  int count = e->u.loop.param_count;
  bool some = bound.kind == ATOM_VAR || bound.u.constant.u.i >= 2;
  return e->u.loop.index->type.elem == PRIM_I64 && count > 0 && count <= MOST_SUMS &&
         some;
}

// How often a loop goes round, as far as is known outside of the round.
static Atom known_rounds(const Exp *loop, const Exp *outer) {
  Atom bound = loop->u.loop.bound;
  if (loop->u.loop.form != CORE_FOR) return atom_i64(ROUNDS_OF_WHILE);
  if (bound.kind == ATOM_CONST) return bound;
  VarVec known = core_free_exp(outer);
  vec_each (const Var **, var, &known)
    if (*var == bound.u.var) return bound;
  return atom_i64(ROUNDS_OF_WHILE);
}

// The rounds of the loops in the body, and that itself.
static Atom rounds_within(Builder *b, const Body *body, const Exp *outer) {
  Atom total = atom_i64(1);
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (e->kind != EXP_LOOP) continue;
    Atom rounds = rounds_within(b, e->u.loop.body, outer);
    total = size_add(b, total, size_mul(b, known_rounds(e, outer), rounds));
  }
  return total;
}

// The loop as a sum, where it is long; NULL: it is none.
static const Exp *long_sum(Compiler *c, Builder *b, const Stm *stm) {
  RoundTotals s = { .c = c, .loop = stm->exp, .late = map_new(NULL) };
  const Body *round = may_be_total(stm) ? joined_in_round(&s) : NULL;
  if (!round) return NULL;
  int count = stm->binder_count;
  Builder again = builder_new(c, stm->loc);
  Atom *results = new_array(Atom, count);
  core_let_n(&again, "sum", stm->exp, results);
  Atom within = rounds_within(b, stm->exp->u.loop.body, stm->exp);
  Atom rounds = size_mul(b, stm->exp->u.loop.bound, within);
  if (rounds.kind == ATOM_CONST && rounds.u.constant.u.i < LONG) return NULL;
  Atom any = core_let(b, "any", exp_op2(OP_LT, atom_i64(0), stm->exp->u.loop.bound));
  Atom many = core_let(b, "many", exp_op2(OP_LE, atom_i64(LONG), rounds));
  Atom is_long = core_let(b, "long", exp_op2(OP_LAND, any, many));
  return exp_if(is_long, total_of_rounds(&s, round, stm),
                core_body(&again, results, count));
}

static const Body *totals_in_body(CoreMapper *m, const Body *body) {
  Builder b = builder_new(m->state, (Loc){ 0 });
  bool changed = false;
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    const Exp *sum = long_sum(m->state, &b, &stm);
    if (sum)
      stm.exp = sum;
    else if (exp_is_branch(stm.exp))
      stm.exp = core_map_exp(m, stm.exp);
    changed = changed || stm.exp != body->stms[i].exp;
    core_add_stm(&b, stm);
  }
  return changed ? core_body(&b, body->results, body->result_count) : body;
}

// Functions run within kernels.
const Core *loop_sums(Compiler *c, const Core *core) {
  CoreMapper m = { .body = totals_in_body, .state = c };
  Core *out = mem_copy(core, sizeof *out);
  const Entry **entries = new_array(const Entry *, core->entry_count);
  bool changed = false;
  for (int i = 0; i < core->entry_count; i++) {
    Entry *entry = mem_copy(core->entries[i], sizeof *entry);
    entry->body = totals_in_body(&m, entry->body);
    changed = changed || entry->body != core->entries[i]->body;
    entries[i] = entry;
  }
  out->entries = entries;
  return changed ? simplify(c, out) : core;
}
