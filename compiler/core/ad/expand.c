// Statements that reverse mode has no rule for, as others that it has rules for.
//
//   redomap (\x -> {f x, g x}) op       =>  a, b = map (\x -> {f x, g x})   reduce op a
//     likewise scans, histograms, scatters, filters
//   reduce (map2 op) (replicate z) xss  =>  map (reduce op z) (transpose xss)
//   reduce op ne xs                     =>  loop y = ne for i < n do op y xs[i]
//     where op depends on the inputs otherwise than by its operands; likewise scans by operators on
//     rows or on many values, and histograms by others than + * min max
//   loop p = a while c p do f p         =>  n = how often it runs   loop p = a for i < n do f p
//
// Needs: binders unique.  Keeps: that; the variables that statements bind_expanded.
#include "core/ad/reverse.h"

typedef struct Expand {
  Reverse *r;
  Builder b;
  bool changed;
} Expand;

static void expand_stm(Expand *x, const Stm *stm);

static void bind_expanded(Expand *x, const Var **binders, int count, const Exp *exp) {
  Stm stm = { binders, count, exp, x->b.loc, x->b.attrs };
  x->changed = true;
  expand_stm(x, &stm);
}

// The value under the name of a variable that is bound elsewhere.
static void rebind(Expand *x, const Var *var, Atom value) {
  const Var **binder = new_array(const Var *, 1);
  binder[0] = var;
  core_let_vars(&x->b, binder, 1, exp_atom(value));
}

// ---- functions on elements apart from what is done with the results

static bool is_plain(const Lambda *fn) {
  const Body *body = fn->body;
  return !body->stm_count && lambda_is_identity(fn);
}

// Adds the map; returns the arrays of its results.
static const Atom *elements(Expand *x, Atom width, const Lambda *fn, const Atom *arrays) {
  Atom *out = new_array(Atom, fn->body->result_count);
  core_let_n(&x->b, "elements", exp_map(width, *fn, arrays, fn->param_count), out);
  return out;
}

static Lambda identity(Expand *x, const Atom *arrays, int count) {
  AdLambda l = ad_lambda(&x->b);
  Atom *results = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    results[i] = ad_param(&l, "x", type_row(atom_type(arrays[i])));
  return ad_lambda_end(&l, results, count);
}

static void split_soac(Expand *x, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  const Atom *all = elements(x, soac->width, &soac->fn, soac->arrays);
  int at = 0;
  for (int i = 0; i < soac->op_count; i++) {
    int count = soac->ops[i].count;
    Soac part = { .width = soac->width,
                  .fn = identity(x, all + at, count),
                  .arrays = all + at,
                  .array_count = count,
                  .ops = &soac->ops[i],
                  .op_count = 1 };
    bind_expanded(x, stm->binders + at, count, exp_soac(stm->exp->kind, part));
    at += count;
  }
  for (; at < stm->binder_count; at++)
    rebind(x, stm->binders[at], all[at]);
}

static void split_filter(Expand *x, const Stm *stm) {
  Soac soac = stm->exp->u.soac;
  soac.arrays = elements(x, soac.width, &soac.fn, soac.arrays);
  soac.array_count = soac.fn.body->result_count;
  soac.fn = identity(x, soac.arrays, soac.array_count);
  bind_expanded(x, stm->binders, stm->binder_count, exp_soac(EXP_FILTER, soac));
}

static void split_scatter(Expand *x, const Stm *stm) {
  const Exp *e = stm->exp;
  const Atom *all =
      elements(x, e->u.scatter.width, &e->u.scatter.fn, e->u.scatter.arrays);
  for (int i = 0; i < e->u.scatter.dest_count; i++) {
    Exp *part = mem_copy(e, sizeof *e);
    int count = e->u.scatter.dests[i].index_count + 1;
    part->u.scatter.fn = identity(x, all, count);
    part->u.scatter.arrays = all;
    part->u.scatter.array_count = count;
    part->u.scatter.dests = &e->u.scatter.dests[i];
    part->u.scatter.dest_count = 1;
    bind_expanded(x, stm->binders + i, 1, part);
    all += count;
  }
}

static void split_hist(Expand *x, const Stm *stm) {
  const Exp *e = stm->exp;
  const Atom *all = elements(x, e->u.hist.width, &e->u.hist.fn, e->u.hist.arrays);
  const Atom *values = all + e->u.hist.op_count;
  const Var **binders = stm->binders;
  for (int i = 0; i < e->u.hist.op_count; i++) {
    Exp *part = mem_copy(e, sizeof *e);
    int count = e->u.hist.ops[i].op.count;
    Atom *arrays = new_array(Atom, count + 1);
    arrays[0] = all[i];
    for (int k = 0; k < count; k++)
      arrays[k + 1] = values[k];
    part->u.hist.fn = identity(x, arrays, count + 1);
    part->u.hist.arrays = arrays;
    part->u.hist.array_count = count + 1;
    part->u.hist.ops = &e->u.hist.ops[i];
    part->u.hist.op_count = 1;
    bind_expanded(x, binders, count, part);
    values += count;
    binders += count;
  }
}

// ---- operators on arrays, element by element

static Atom transposed(Builder *b, Atom array) {
  int rank = atom_type(array).rank, *perm = new_array(int, rank);
  for (int i = 0; i < rank; i++)
    perm[i] = i < 2 ? 1 - i : i;
  return core_let(b, "columns", exp_rearrange(perm, rank, array));
}

// A map over columns of reductions (or scans) by `g`.
static void interchange(Expand *x, const Stm *stm, Lambda g) {
  const Soac *soac = &stm->exp->u.soac;
  const RedOp *op = &soac->ops[0];
  int count = op->count;
  AdLambda l = ad_lambda(&x->b);
  AtomVec arrays = { 0 };
  Atom *columns = new_array(Atom, count), *neutral = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    vec_push(&arrays, transposed(&x->b, soac->arrays[i]));
    columns[i] = ad_param(&l, "column", type_row(atom_type(arrays.at[i])));
  }
  for (int i = 0; i < count; i++) {
    vec_push(&arrays, op->neutral[i]);
    neutral[i] = ad_param(&l, "neutral", type_row(atom_type(op->neutral[i])));
  }
  RedOp inner = { core_rename_lambda(x->b.c, NULL, g), neutral, count, op->commutative };
  Soac part = { .width = soac->width,
                .fn = identity(x, columns, count),
                .arrays = columns,
                .array_count = count,
                .ops = mem_copy(&inner, sizeof inner),
                .op_count = 1 };
  Atom *results = new_array(Atom, count), *out = new_array(Atom, count);
  core_let_n(&l.b, "column", exp_soac(stm->exp->kind, part), results);
  Lambda fn = ad_lambda_end(&l, results, count);
  Atom width = atom_type(soac->arrays[0]).dims[1];
  core_let_n(&x->b, "columns", exp_map(width, fn, arrays.at, arrays.count), out);
  bool is_scan = stm->exp->kind == EXP_SCANOMAP;
  for (int i = 0; i < count; i++)
    rebind(x, stm->binders[i], is_scan ? transposed(&x->b, out[i]) : out[i]);
}

// ---- loops

// Does the operator depend on the inputs by anything but its operands?
static bool mentions_active(const Expand *x, const RedOp *op) {
  VarVec free = core_free_lambda(&op->op);
  vec_each (const Var *const *, var, &free)
    if (reverse_is_active(x->r, atom_var(*var))) return true;
  for (int k = 0; k < op->count; k++)
    if (reverse_is_active(x->r, op->neutral[k])) return true;
  return false;
}

// Can its adjoint be computed in parallel?
static bool is_parallel(const Expand *x, const Stm *stm) {
  const RedOp *op = &stm->exp->u.soac.ops[0];
  bool is_scan = stm->exp->kind == EXP_SCANOMAP;
  if (reverse_has_rule(op, is_scan)) return true;
  if (mentions_active(x, op)) return false;
  return !is_scan || reverse_can_scan(x->r, stm);
}

// A loop over all elements, under construction.
typedef struct Chain {
  Builder b;
  const Var *index;
  VarVec params;
  AtomVec inits, results;
} Chain;

static Chain chain(const Expand *x) {
  Compiler *c = x->b.c;
  Chain l = { .b = builder_new(c, x->b.loc) };
  l.index = var_new(c, name_of(c->names, "i"), type_scalar(PRIM_I64), x->b.loc);
  return l;
}

static Atom chain_param(Chain *l, const char *name, Atom init) {
  Compiler *c = l->b.c;
  const Var *param = var_new(c, name_of(c->names, name), atom_type(init), l->b.loc);
  vec_push(&l->params, param);
  vec_push(&l->inits, init);
  return atom_var(param);
}

static const Exp *chain_end(const Chain *l, Atom count) {
  return new_node(
      Exp, .kind = EXP_LOOP,
      .u.loop = { .params = l->params.at,
                  .inits = l->inits.at,
                  .param_count = l->params.count,
                  .form = CORE_FOR,
                  .index = l->index,
                  .bound = count,
                  .body = core_body(&l->b, l->results.at, l->results.count) });
}

// op left right, in the builder.
static const Atom *apply(Builder *b, const RedOp *op, const Atom *left,
                         const Atom *right) {
  Subst *s = subst_new();
  for (int i = 0; i < op->count; i++) {
    subst_put(s, op->op.params[i], left[i]);
    subst_put(s, op->op.params[op->count + i], right[i]);
  }
  const Body *body = core_rename_body(b->c, s, op->op.body);
  core_add_body(b, body);
  return body->results;
}

static void loop_of_reduction(Expand *x, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  const RedOp *op = &soac->ops[0];
  bool is_scan = stm->exp->kind == EXP_SCANOMAP;
  Chain l = chain(x);
  Atom *left = new_array(Atom, op->count), *right = new_array(Atom, op->count);
  Atom *all = new_array(Atom, op->count), i = atom_var(l.index);
  for (int k = 0; k < op->count; k++) {
    left[k] = chain_param(&l, "so_far", op->neutral[k]);
    right[k] = ad_row(&l.b, soac->arrays[k], i);
  }
  for (int k = 0; is_scan && k < op->count; k++)
    all[k] = chain_param(&l, "all", ad_zeros(&x->b, atom_type(soac->arrays[k])));
  const Atom *next = apply(&l.b, op, left, right);
  for (int k = 0; k < op->count; k++)
    vec_push(&l.results, ad_fit(&l.b, next[k], atom_type(left[k])));
  for (int k = 0; is_scan && k < op->count; k++)
    vec_push(&l.results, ad_set_row(&l.b, all[k], i, next[k]));
  const Exp *loop = chain_end(&l, soac->width);
  Atom *out = new_array(Atom, l.params.count);
  core_let_n(&x->b, "all", loop, out);
  for (int k = 0; k < op->count; k++)
    rebind(x, stm->binders[k], out[is_scan ? op->count + k : k]);
  x->changed = true;
}

// The bin of one value combined with it, if there is such a bin.
static const Exp *one_bin(Chain *l, const HistOp *op, const Atom *dests, Atom bin,
                          const Atom *values) {
  int count = op->op.count;
  Builder yes = builder_new(l->b.c, l->b.loc), no = builder_new(l->b.c, l->b.loc);
  Atom *before = new_array(Atom, count), *after = new_array(Atom, count);
  for (int k = 0; k < count; k++)
    before[k] = ad_row(&yes, dests[k], bin);
  const Atom *next = apply(&yes, &op->op, before, values);
  for (int k = 0; k < count; k++)
    after[k] = ad_set_row(&yes, dests[k], bin, next[k]);
  Atom low = ad_op2(&l->b, OP_LE, atom_i64(0), bin);
  Atom high = ad_op2(&l->b, OP_LT, bin, op->width);
  Atom inside = ad_op2(&l->b, OP_LAND, low, high);
  return exp_if(inside, core_body(&yes, after, count), core_body(&no, dests, count));
}

static void loop_of_hist(Expand *x, const Stm *stm) {
  const Exp *e = stm->exp;
  const HistOp *op = &e->u.hist.ops[0];
  int count = op->op.count;
  Chain l = chain(x);
  Atom *dests = new_array(Atom, count), *values = new_array(Atom, count);
  for (int k = 0; k < count; k++) {
    dests[k] = chain_param(&l, "bins", op->dests[k]);
    values[k] = ad_row(&l.b, e->u.hist.arrays[1 + k], atom_var(l.index));
  }
  Atom bin = ad_row(&l.b, e->u.hist.arrays[0], atom_var(l.index));
  Atom *next = new_array(Atom, count);
  core_let_n(&l.b, "bins", one_bin(&l, op, dests, bin, values), next);
  for (int k = 0; k < count; k++)
    vec_push(&l.results, next[k]);
  bind_expanded(x, stm->binders, count, chain_end(&l, e->u.hist.width));
}

// How often the body of a while loop runs: the loop once more, with a counter.
static Atom rounds(Expand *x, const Exp *loop) {
  Exp *e = mem_copy(core_rename_exp(x->b.c, NULL, loop), sizeof *loop);
  Compiler *c = x->b.c;
  int count = e->u.loop.param_count;
  Builder b = builder_new(c, x->b.loc);
  VarVec params = { 0 };
  AtomVec inits = { 0 }, results = { 0 };
  core_add_body(&b, e->u.loop.body);
  for (int i = 0; i < count; i++) {
    vec_push(&params, e->u.loop.params[i]);
    vec_push(&inits, e->u.loop.inits[i]);
    vec_push(&results, e->u.loop.body->results[i]);
  }
  Name name = name_of(c->names, "rounds");
  vec_push(&params, var_new(c, name, type_scalar(PRIM_I64), b.loc));
  vec_push(&inits, atom_i64(0));
  vec_push(&results, ad_op2(&b, OP_ADD, atom_var(params.at[count]), atom_i64(1)));
  e->u.loop.params = params.at;
  e->u.loop.inits = inits.at;
  e->u.loop.param_count = params.count;
  e->u.loop.body = core_body(&b, results.at, results.count);
  Atom *out = new_array(Atom, count + 1);
  core_let_n(&x->b, "rounds", mem_copy(e, sizeof *e), out);
  return out[count];
}

static void count_rounds(Expand *x, const Stm *stm) {
  Exp *e = mem_copy(stm->exp, sizeof *stm->exp);
  e->u.loop.bound = rounds(x, stm->exp);
  e->u.loop.form = CORE_FOR;
  Name name = name_of(x->b.c->names, "i");
  e->u.loop.index = var_new(x->b.c, name, type_scalar(PRIM_I64), x->b.loc);
  bind_expanded(x, stm->binders, stm->binder_count, e);
}

// ---- statements

static void expand_reduction(Expand *x, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  const Soac *by_element = NULL;
  if (soac->op_count == 1) by_element = lambda_vector_operator(&soac->ops[0].op);
  if (soac->op_count != 1 || !is_plain(&soac->fn) ||
      soac->array_count != soac->ops[0].count)
    split_soac(x, stm);
  else if (by_element)
    interchange(x, stm, by_element->fn);
  else if (is_parallel(x, stm))
    core_add_stm(&x->b, *stm);
  else
    loop_of_reduction(x, stm);
}

static bool adds_rows(const Lambda *fn) {
  PrimOp op;
  if (ad_is_op(fn, &op)) return op == OP_ADD;
  const Soac *by_element = lambda_vector_operator(fn);
  return fn->param_count == 2 && by_element && adds_rows(&by_element->fn);
}

static void expand_hist(Expand *x, const Stm *stm) {
  const Exp *e = stm->exp;
  const HistOp *op = &e->u.hist.ops[0];
  if (e->u.hist.op_count != 1 || !is_plain(&e->u.hist.fn))
    split_hist(x, stm);
  else if (reverse_has_rule(&op->op, false) || adds_rows(&op->op.op))
    core_add_stm(&x->b, *stm);
  else
    loop_of_hist(x, stm);
}

static void expand_scatter(Expand *x, const Stm *stm) {
  if (stm->exp->u.scatter.dest_count != 1 || !is_plain(&stm->exp->u.scatter.fn))
    split_scatter(x, stm);
  else
    core_add_stm(&x->b, *stm);
}

static bool keeps_elements(const Lambda *fn) {
  for (int i = 1; i < fn->body->result_count; i++)
    if (lambda_param_index(fn, fn->body->results[i]) < 0) return false;
  return true;
}

static bool has_active(const Expand *x, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (reverse_is_active(x->r, atom_var(stm->binders[i]))) return true;
  return false;
}

static void expand_stm(Expand *x, const Stm *stm) {
  const Exp *e = stm->exp;
  x->b.loc = stm->loc;
  x->b.attrs = stm->attrs;
  bool active = has_active(x, stm);
  if (active && (e->kind == EXP_REDOMAP || e->kind == EXP_SCANOMAP))
    expand_reduction(x, stm);
  else if (active && e->kind == EXP_HIST)
    expand_hist(x, stm);
  else if (active && e->kind == EXP_SCATTER)
    expand_scatter(x, stm);
  else if (active && e->kind == EXP_FILTER && !keeps_elements(&e->u.soac.fn))
    split_filter(x, stm);
  else if (active && e->kind == EXP_LOOP && e->u.loop.form == CORE_WHILE)
    count_rounds(x, stm);
  else if (active && e->kind == EXP_LOOP && stm->attrs && stm->attrs->stripmine)
    reverse_stripmine(&x->b, stm);
  else
    core_add_stm(&x->b, *stm);
}

const Body *reverse_expand(Reverse *r, const Body *body) {
  Expand x = { .r = r, .b = builder_new(r->c, r->scope->b->loc) };
  for (int i = 0; i < body->stm_count; i++)
    expand_stm(&x, &body->stms[i]);
  return core_body(&x.b, body->results, body->result_count);
}
