// loop (total = ms) for k < n do .. let us = .. vs = ..
//     in {map2 (map2 (+)) total (map (\u -> map (\v -> {u * v}) vs) us)}
//   =>  loop (tape = zeros) for k < n do .. let us = .. in {tape with [k] = us}
//       let all = map (\k -> vs) (iota n)
//       map2 (map2 (+)) ms (map (\us -> map (\vs -> redomap (*) (+) us vs) all') tape')
//           where ' transposes
//
// Needs: Core, before fusion; binders unique.  Keeps: both.
// Why: the way back through a loop adds the outer product of two vectors to the adjoint of a matrix
// in each round, as do programs.  Matrices that do not fit into caches are then read and written n
// times; one product of matrices after the loop does the same in tiles.  A vector that needs no
// other round, as a row of an array from outside, is not kept but computed again.
#include "core/passes.h"

enum {
  MAX_AGAIN = 16,  // statements that are computed again
  LARGE = 32,      // rows or columns
};

// What all rounds have as this vector: on a tape, a parameter of the new loop, unless it can be
// computed again.
typedef struct RoundVector {
  const Var *vector;
  Vec(Stm) again;  // what computes it from the number of the round
  bool computed;
  const Var *tape;
  Atom next, all;  // the tape after a round; [n] vectors
} RoundVector;

// Element i, j of what a round adds to parameter `param` is the product of those of two vectors.
typedef struct RoundProduct {
  int param, us, vs;  // the vectors: of `kept`
  const Exp *sum;     // of the parameter and what is added, a map
} RoundProduct;

typedef struct RoundSums {
  Compiler *c;
  const Exp *loop;
  Atom count;   // of its rounds: none if its bound is negative
  Map *uses;    // Var -> int *, in the body of the loop
  Map *defs;    // Var -> Stm of the body
  Map *params;  // those of the loop
  Vec(RoundProduct) products;
  Vec(RoundVector) kept;
} RoundSums;

// ---- what a round adds

static const Stm *def_of(const RoundSums *r, Atom a) {
  return a.kind == ATOM_VAR ? map_get(r->defs, a.u.var) : NULL;
}

static bool is_outside(const RoundSums *r, Atom a) {
  return a.kind == ATOM_CONST ||
         (!map_has(r->defs, a.u.var) && !map_has(r->params, a.u.var) &&
          a.u.var != r->loop->u.loop.index);
}

static bool is_read_by_one(const RoundSums *r, Atom a) {
  const int *count = a.kind == ATOM_VAR ? map_get(r->uses, a.u.var) : NULL;
  return count && *count == 1;
}

// The statement of the body that computes the result, and which one it computes; NULL: none.
static const Stm *stm_of_result(const Body *body, Atom result, int *which) {
  for (int i = 0; i < body->stm_count && result.kind == ATOM_VAR; i++)
    for (*which = 0; *which < body->stms[i].binder_count; ++*which)
      if (body->stms[i].binders[*which] == result.u.var) return &body->stms[i];
  return NULL;
}

static bool has_operands(const Exp *e, PrimOp op, Atom a, Atom b) {
  if (e->kind != EXP_OP || e->u.op.op != op) return false;
  const Atom *args = e->u.op.args;
  return (atom_equal(args[0], a) && atom_equal(args[1], b)) ||
         (atom_equal(args[0], b) && atom_equal(args[1], a));
}

// map2 (map2 (+)) of two arrays, or at depth 0 the sum itself, of the parameters of `fn`.
static bool is_sum(const Lambda *fn, int depth) {
  const Body *body = fn->body;
  if (fn->param_count != 2 || body->stm_count != 1 || body->result_count != 1)
    return false;
  const Stm *stm = &body->stms[0];
  if (!atom_equal(body->results[0], atom_var(stm->binders[0]))) return false;
  Atom a = atom_var(fn->params[0]), b = atom_var(fn->params[1]);
  if (depth == 0) return has_operands(stm->exp, OP_ADD, a, b);
  if (stm->exp->kind != EXP_MAP || stm->exp->u.soac.array_count != 2) return false;
  const Atom *arrays = stm->exp->u.soac.arrays;
  bool both = (atom_equal(arrays[0], a) && atom_equal(arrays[1], b)) ||
              (atom_equal(arrays[0], b) && atom_equal(arrays[1], a));
  return both && is_sum(&stm->exp->u.soac.fn, depth - 1);
}

// The map that adds a matrix to the parameter, if that is all that is done with either; else NULL.
static const Exp *find_sum(const RoundSums *r, int param, Atom *added) {
  Atom total = atom_var(r->loop->u.loop.params[param]);
  Atom next = r->loop->u.loop.body->results[param];
  const Stm *stm = def_of(r, next);
  if (!stm || stm->exp->kind != EXP_MAP || stm->exp->u.soac.array_count != 2) return NULL;
  const Soac *soac = &stm->exp->u.soac;
  bool once = is_read_by_one(r, total) && is_read_by_one(r, next);
  if (!once || !is_sum(&soac->fn, 1)) return NULL;
  bool first = atom_equal(soac->arrays[0], total);
  if (!first && !atom_equal(soac->arrays[1], total)) return NULL;
  *added = soac->arrays[first ? 1 : 0];
  return is_read_by_one(r, *added) ? stm->exp : NULL;
}

// The array of which the operand is an element by `fn`; NULL: it is something else.
static const Var *array_of(const Soac *soac, Atom operand) {
  int k = lambda_param_index(&soac->fn, operand);
  return k < 0 || soac->arrays[k].kind == ATOM_CONST ? NULL : soac->arrays[k].u.var;
}

// map (\.. u .. -> let .. = map (\.. v .. -> let m = u * v in {.. m ..}) vs in ..) us
static bool find_factors(const Stm *outer, Atom matrix, const Var **us, const Var **vs) {
  int which = 0;
  if (outer->exp->kind != EXP_MAP) return false;
  while (outer->binders[which] != matrix.u.var)
    which++;
  const Soac *rows = &outer->exp->u.soac;
  const Stm *inner = stm_of_result(rows->fn.body, rows->fn.body->results[which], &which);
  if (!inner || inner->exp->kind != EXP_MAP) return false;
  const Soac *row = &inner->exp->u.soac;
  int zero = 0;
  const Stm *product = stm_of_result(row->fn.body, row->fn.body->results[which], &zero);
  if (!product || product->exp->kind != EXP_OP || product->exp->u.op.op != OP_MUL)
    return false;
  const Atom *args = product->exp->u.op.args;
  for (int i = 0; i < 2; i++) {
    *us = array_of(rows, args[i]);
    *vs = array_of(row, args[1 - i]);
    if (*us && *vs) return true;
  }
  return false;
}

// ---- what is kept of each round

static bool compute_again(const RoundSums *r, RoundVector *kept, Atom a);

typedef struct SumAgain {
  const RoundSums *r;
  RoundVector *kept;
  bool fails;
} SumAgain;

static void need_again(CoreVisitor *v, Atom a) {
  SumAgain *again = v->state;
  again->fails = again->fails || !compute_again(again->r, again->kept, a);
}

// Adds to `kept` what computes the value from the number of the round: scalars and rows.
static bool compute_again(const RoundSums *r, RoundVector *kept, Atom a) {
  if (is_outside(r, a) || a.u.var == r->loop->u.loop.index) return true;
  const Stm *def = def_of(r, a);
  if (!def || (def->exp->kind != EXP_INDEX && !exp_is_scalar(def->exp))) return false;
  vec_each (const Stm *, known, &kept->again)
    if (known->binders[0] == a.u.var) return true;
  SumAgain again = { .r = r, .kept = kept };
  CoreVisitor v = { .atom = need_again, .state = &again };
  core_visit_exp(&v, def->exp);
  if (again.fails || kept->again.count >= MAX_AGAIN) return false;
  vec_push(&kept->again, *def);
  return true;
}

static bool is_of_rounds(const RoundSums *r, const Var *vector) {
  return map_has(r->defs, vector) && vector->type.rank == 1 &&
         is_outside(r, vector->type.dims[0]);
}

// The place of the vector among what is kept.
static int keep_factor(RoundSums *r, const Var *vector) {
  for (int i = 0; i < r->kept.count; i++)
    if (r->kept.at[i].vector == vector) return i;
  RoundVector kept = { .vector = vector };
  kept.computed = compute_again(r, &kept, atom_var(vector));
  vec_push(&r->kept, kept);
  return r->kept.count - 1;
}

// A matrix that is known to be small stays in registers.
static bool may_be_large(CoreType type) {
  if (type.rank != 2) return false;
  const Atom *dims = type.dims;
  if (dims[0].kind == ATOM_VAR || dims[1].kind == ATOM_VAR) return true;
  return dims[0].u.constant.u.i > LARGE || dims[1].u.constant.u.i > LARGE;
}

static void find_product(RoundSums *r, int param) {
  CoreType type = r->loop->u.loop.params[param]->type;
  const Var *us = NULL, *vs = NULL;
  Atom added = { 0 };
  const Exp *sum = may_be_large(type) ? find_sum(r, param, &added) : NULL;
  const Stm *outer = sum ? def_of(r, added) : NULL;
  if (!outer || !find_factors(outer, added, &us, &vs)) return;
  if (!is_of_rounds(r, us) || !is_of_rounds(r, vs)) return;
  if (!atom_equal(us->type.dims[0], type.dims[0])) return;
  if (!atom_equal(vs->type.dims[0], type.dims[1])) return;
  vec_push(&r->products,
           (RoundProduct){ param, keep_factor(r, us), keep_factor(r, vs), sum });
}

// ---- the loop without the sums

static bool is_summed_up(const RoundSums *r, int param) {
  vec_each (const RoundProduct *, p, &r->products)
    if (p->param == param) return true;
  return false;
}

static void start_tapes(RoundSums *r, Builder *b, Exp *loop) {
  VarVec params = { 0 };
  AtomVec inits = { 0 };
  for (int i = 0; i < loop->u.loop.param_count; i++) {
    if (is_summed_up(r, i)) continue;
    vec_push(&params, loop->u.loop.params[i]);
    vec_push(&inits, loop->u.loop.inits[i]);
  }
  vec_each (RoundVector *, kept, &r->kept) {
    if (kept->computed) continue;
    CoreType row = kept->vector->type;
    Atom zeros =
        core_let(b, "zeros", exp_replicate(row.dims[0], atom_const(prim_zero(row.elem))));
    vec_push(&inits, core_let(b, "zeros", exp_replicate(r->count, zeros)));
    kept->tape = var_new(r->c, kept->vector->name, type_of_rows(row, r->count), b->loc);
    vec_push(&params, kept->tape);
  }
  loop->u.loop.params = params.at;
  loop->u.loop.inits = inits.at;
  loop->u.loop.param_count = params.count;
}

static const Body *round_body(RoundSums *r) {
  const Body *old = r->loop->u.loop.body;
  Builder b = builder_new(r->c, (Loc){ 0 });
  for (int i = 0; i < old->stm_count; i++)
    core_add_stm(&b, old->stms[i]);
  AtomVec results = { 0 };
  for (int i = 0; i < old->result_count; i++)
    if (!is_summed_up(r, i)) vec_push(&results, old->results[i]);
  vec_each (RoundVector *, kept, &r->kept) {
    if (kept->computed) continue;
    b.loc = kept->vector->loc;
    DimIndex dims[2] = { dim_fix(atom_var(r->loop->u.loop.index)),
                         dim_slice(atom_i64(0), kept->vector->type.dims[0],
                                   atom_i64(1)) };
    kept->next = core_let(&b, "tape",
                          exp_update(atom_var(kept->tape), mem_copy(dims, sizeof dims),
                                     atom_var(kept->vector), false));
    vec_push(&results, kept->next);
  }
  return core_body(&b, results.at, results.count);
}

static void emit_loop(RoundSums *r, Builder *b, const Stm *stm) {
  Exp *loop = mem_copy(stm->exp, sizeof *stm->exp);
  start_tapes(r, b, loop);
  loop->u.loop.body = round_body(r);
  VarVec binders = { 0 };
  for (int i = 0; i < stm->binder_count; i++)
    if (!is_summed_up(r, i)) vec_push(&binders, stm->binders[i]);
  vec_each (RoundVector *, kept, &r->kept) {
    if (kept->computed) continue;
    const Var *all = var_like(r->c, kept->tape);
    vec_push(&binders, all);
    kept->all = atom_var(all);
  }
  b->attrs = stm->attrs;
  core_let_vars(b, binders.at, binders.count, loop);
  b->attrs = NULL;
}

// ---- the products after the loop

static void emit_again(const RoundSums *r, Builder *b, RoundVector *kept) {
  const Var *k = var_like(r->c, r->loop->u.loop.index);
  Subst *s = subst_new();
  subst_put(s, r->loop->u.loop.index, atom_var(k));
  Atom result = atom_var(kept->vector);
  Body body = { .stms = kept->again.at, .stm_count = kept->again.count };
  body.results = &result;
  body.result_count = 1;
  Lambda fn = lambda_new(&k, 1, core_rename_body(r->c, s, &body));
  Atom rounds = core_let(b, "rounds", exp_iota(r->count, atom_i64(0), atom_i64(1)));
  kept->all = core_let(b, "all", exp_map(r->count, fn, &rounds, 1));
}

static Lambda operator_on(RoundSums *r, Builder *b, PrimOp op, PrimType elem) {
  const Var *params[2];
  for (int i = 0; i < 2; i++)
    params[i] =
        var_new(r->c, name_of(r->c->names, i ? "y" : "x"), type_scalar(elem), b->loc);
  Builder inner = builder_new(r->c, b->loc);
  Atom value = core_let(&inner, op == OP_ADD ? "add" : "mul",
                        exp_op2(op, atom_var(params[0]), atom_var(params[1])));
  return lambda_new(params, 2, core_body(&inner, &value, 1));
}

// The sum of the products of two columns' elements.
static Atom emit_dot(RoundSums *r, Builder *b, const Atom columns[2], PrimType elem) {
  Atom zero = atom_const(prim_zero(elem));
  RedOp op = { .op = operator_on(r, b, OP_ADD, elem),
               .neutral = mem_copy(&zero, sizeof zero),
               .count = 1,
               .commutative = true };
  Soac soac = { .width = r->count,
                .fn = operator_on(r, b, OP_MUL, elem),
                .arrays = mem_copy(columns, 2 * sizeof *columns),
                .array_count = 2,
                .ops = mem_copy(&op, sizeof op),
                .op_count = 1 };
  return core_let(b, "total", exp_soac(EXP_REDOMAP, soac));
}

// map (\column -> ..) over the columns of [n][width], of which `column` is one.
static Lambda over_columns(RoundSums *r, const Builder *b, Builder *inner,
                           const RoundVector *kept) {
  CoreType type = type_array(kept->vector->type.elem, 1, &r->count);
  const Var *column = var_new(r->c, kept->vector->name, type, b->loc);
  *inner = builder_new(r->c, b->loc);
  return (Lambda){ .params = mem_copy(&column, sizeof column), .param_count = 1 };
}

static Atom columns_of(Builder *b, const RoundVector *kept) {
  static const int transposition[2] = { 1, 0 };
  return core_let(
      b, "columns",
      exp_rearrange(mem_copy(transposition, sizeof transposition), 2, kept->all));
}

static Atom emit_product(RoundSums *r, Builder *b, const RoundProduct *p) {
  const RoundVector *us = &r->kept.at[p->us], *vs = &r->kept.at[p->vs];
  CoreType type = r->loop->u.loop.params[p->param]->type;
  Atom columns[2] = { columns_of(b, us), columns_of(b, vs) };
  Builder outer, inner;
  Lambda rows = over_columns(r, b, &outer, us), row = over_columns(r, b, &inner, vs);
  Atom pair[2] = { atom_var(rows.params[0]), atom_var(row.params[0]) };
  Atom dot = emit_dot(r, &inner, pair, type.elem);
  row.body = core_body(&inner, &dot, 1);
  Atom products =
      core_let(&outer, "products", exp_map(type.dims[1], row, &columns[1], 1));
  rows.body = core_body(&outer, &products, 1);
  return core_let(b, "products", exp_map(type.dims[0], rows, &columns[0], 1));
}

// The sum is that of the rounds, whose names it has, with other arrays.
static void emit_total(RoundSums *r, Builder *b, const Stm *stm, const RoundProduct *p) {
  const Soac *sum = &p->sum->u.soac;
  Lambda fn = core_rename_lambda(r->c, subst_new(), sum->fn);
  Atom arrays[2] = { r->loop->u.loop.inits[p->param], emit_product(r, b, p) };
  core_let_vars(b, &stm->binders[p->param], 1, exp_map(sum->width, fn, arrays, 2));
}

// ---- where there are such loops

static RoundSums rounds_of(Compiler *c, const Exp *loop) {
  RoundSums r = { .c = c, .loop = loop, .defs = map_new(NULL), .params = map_new(NULL) };
  const Body *body = loop->u.loop.body;
  r.uses = core_uses(body);
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      map_put(r.defs, body->stms[i].binders[k], &body->stms[i]);
  for (int i = 0; i < loop->u.loop.param_count; i++)
    map_put(r.params, loop->u.loop.params[i], loop->u.loop.params[i]);
  for (int i = 0; i < loop->u.loop.param_count; i++)
    find_product(&r, i);
  return r;
}

static bool may_be_long(const Exp *e) {
  return e->kind == EXP_LOOP && e->u.loop.form == CORE_FOR &&
         e->u.loop.index->type.elem == PRIM_I64;
}

static void emit_without_sums(RoundSums *r, Builder *b, const Stm *stm) {
  Atom bound = r->loop->u.loop.bound;
  r->count = core_let(b, "rounds", exp_op2(OP_MAX, bound, atom_i64(0)));
  emit_loop(r, b, stm);
  vec_each (RoundVector *, kept, &r->kept)
    if (kept->computed) emit_again(r, b, kept);
  vec_each (const RoundProduct *, p, &r->products)
    emit_total(r, b, stm, p);
}

// Not into SOACs: the tapes of each element of a map would be in memory at once.
static const Body *rewrite_body(CoreMapper *m, const Body *body) {
  Builder b = builder_new(m->state, (Loc){ 0 });
  bool changed = false;
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    if (!exp_is_parallel(stm.exp)) stm.exp = core_map_exp(m, stm.exp);
    RoundSums r = { 0 };
    if (may_be_long(stm.exp)) r = rounds_of(m->state, stm.exp);
    changed = changed || stm.exp != body->stms[i].exp || r.products.count;
    if (r.products.count)
      emit_without_sums(&r, &b, &stm);
    else
      core_add_stm(&b, stm);
  }
  return changed ? core_body(&b, body->results, body->result_count) : body;
}

static const Body *rewrite_rounds(Compiler *c, const Body *body) {
  CoreMapper m = { .body = rewrite_body, .state = c };
  return rewrite_body(&m, body);
}

const Core *round_sums(Compiler *c, const Core *core) {
  const Core *rewritten = core_map_bodies(c, core, rewrite_rounds);
  return dead(c, rewritten);
}
