// reduce (\xs ys -> map (+) xs ys) [0, 0] points
//   =>  let (s, t) = reduce (\(a, b) (c, d) -> (a + c, b + d)) (0, 0) columns of points
//       in [s, t]
//   where the operands are arrays of a small constant shape; likewise for scans.
//
// Needs: Core, simplified, not fused; binders unique.  Keeps: both.
// Why: an operator on arrays runs in order, one element after the other; one on scalars is a
// parallel reduction, whatever it does with them: sums of points, products of 2 x 2 matrices,
// boxes around points.
#include "core/passes.h"
#include "core/straight.h"

enum { MOST_SCALARS = 16, MOST_STMS = 400 };

typedef struct SmallOperands {
  Compiler *c;
  bool changed;
} SmallOperands;

// ---- which operators

static int scalars_of(const RedOp *op) {
  int all = 0;
  for (int i = 0; i < op->count; i++) {
    int size = straight_size(op->op.params[i]->type, MOST_SCALARS);
    if (!size) return 0;
    all += size;
  }
  return all <= MOST_SCALARS ? all : 0;
}

static bool has_arrays(const RedOp *op) {
  for (int i = 0; i < op->count; i++)
    if (op->op.params[i]->type.rank > 0) return true;
  return false;
}

static bool has_small_operands(const Exp *e) {
  if (e->kind != EXP_REDOMAP && e->kind != EXP_SCANOMAP) return false;
  bool arrays = false;
  for (int i = 0; i < e->u.soac.op_count; i++) {
    if (!scalars_of(&e->u.soac.ops[i])) return false;
    arrays = arrays || has_arrays(&e->u.soac.ops[i]);
  }
  return arrays;
}

// ---- the operator on scalars

static Straight straight_new(Compiler *c, Builder *b, int *budget) {
  return (Straight){ .c = c,
                     .b = b,
                     .atoms = map_new(NULL),
                     .elements = map_new(NULL),
                     .most = MOST_SCALARS,
                     .budget = budget };
}

static const Var *part_var(Compiler *c, const char *name, CoreType type, Loc loc) {
  return var_new(c, name_of(c->names, name), type, loc);
}

// Parameters for the elements of a value.
static void split_param(Straight *s, const Var *param, VarVec *out) {
  int size = straight_size(param->type, MOST_SCALARS);
  Atom *at = new_array(Atom, size);
  for (int k = 0; k < size; k++) {
    const Var *part =
        part_var(s->c, "operand", type_scalar(param->type.elem), param->loc);
    vec_push(out, part);
    at[k] = atom_var(part);
  }
  straight_bind_elements(s, param, at, size);
}

static void add_elements(Straight *s, const Atom *atoms, int count, AtomVec *out) {
  for (int i = 0; i < count; i++) {
    const ArrayParts *parts = straight_elements(s, atoms[i]);
    for (int k = 0; k < parts->count; k++)
      vec_push(out, parts->at[k]);
  }
}

// False if it cannot be made of scalar code alone.
static bool op_on_scalars(Straight *outer, const RedOp *op, RedOp *out) {
  Builder b = builder_new(outer->c, outer->b->loc);
  Straight s = straight_new(outer->c, &b, outer->budget);
  VarVec params = { 0 };
  AtomVec results = { 0 }, neutral = { 0 };
  for (int i = 0; i < 2 * op->count; i++)
    split_param(&s, op->op.params[i], &params);
  straight_body(&s, op->op.body);
  if (*s.budget < 0) return false;
  add_elements(&s, op->op.body->results, op->count, &results);
  const Body *body = core_body(&b, results.at, results.count);
  if (core_has_soac(body)) return false;
  add_elements(outer, op->neutral, op->count, &neutral);
  *out = (RedOp){ .op = lambda_new(params.at, params.count, body),
                  .neutral = neutral.at,
                  .count = results.count };
  out->commutative = op->commutative || lambda_commutes(&out->op);
  return true;
}

// The function, with the elements of what is combined in its place.
static Lambda fn_of_scalars(Straight *outer, const Soac *soac) {
  Builder b = builder_new(outer->c, outer->b->loc);
  Straight s = straight_new(outer->c, &b, outer->budget);
  Lambda fn = core_rename_lambda(s.c, subst_new(), soac->fn);
  int combined = soac_red_count(soac);
  AtomVec results = { 0 };
  core_add_body(&b, fn.body);
  add_elements(&s, fn.body->results, combined, &results);
  for (int i = combined; i < fn.body->result_count; i++)
    vec_push(&results, fn.body->results[i]);
  return lambda_new(fn.params, fn.param_count, core_body(&b, results.at, results.count));
}

static bool soac_on_scalars(Straight *s, const Soac *soac, Soac *out) {
  RedOp *ops = new_array(RedOp, soac->op_count);
  for (int i = 0; i < soac->op_count; i++)
    if (!op_on_scalars(s, &soac->ops[i], &ops[i])) return false;
  *out = *soac;
  out->ops = ops;
  out->fn = fn_of_scalars(s, soac);
  return true;
}

// ---- the arrays of its results

// map n (\a b -> {[a, b]}) as bs
static const Exp *rows_of_scans(Builder *b, Atom width, CoreType row, const Atom *columns,
                                int count) {
  Builder inner = builder_new(b->c, b->loc);
  const Var **params = new_array(const Var *, count);
  Atom *at = new_array(Atom, count);
  for (int k = 0; k < count; k++) {
    params[k] = part_var(b->c, "part", type_scalar(row.elem), b->loc);
    at[k] = atom_var(params[k]);
  }
  Atom made = core_let(&inner, "row", straight_array(&inner, row, at));
  Lambda fn = lambda_new(params, count, core_body(&inner, &made, 1));
  return exp_map(width, fn, columns, count);
}

// Where the scalars of a result go: to its own binder, or to fresh ones.
static void add_part_binders(Compiler *c, const Exp *e, const Var *binder, CoreType row,
                             VarVec *out) {
  if (row.rank == 0) {
    vec_push(out, binder);
    return;
  }
  CoreType scalar = type_scalar(row.elem);
  CoreType type =
      e->kind == EXP_SCANOMAP ? type_of_rows(scalar, e->u.soac.width) : scalar;
  for (int k = 0; k < straight_size(row, MOST_SCALARS); k++)
    vec_push(out, part_var(c, "part", type, binder->loc));
}

static CoreType combined_type(const Exp *e, int result) {
  return atom_type(e->u.soac.fn.body->results[result]);
}

static void join_results(Builder *b, const Stm *stm, const Var *const *parts) {
  const Exp *e = stm->exp;
  int at = 0;
  for (int i = 0; i < soac_red_count(&e->u.soac); i++) {
    CoreType row = combined_type(e, i);
    int size = straight_size(row, MOST_SCALARS);
    Atom *atoms = new_array(Atom, size);
    for (int k = 0; k < size; k++)
      atoms[k] = atom_var(parts[at + k]);
    at += size;
    if (row.rank == 0) continue;
    const Exp *made = e->kind == EXP_SCANOMAP
                          ? rows_of_scans(b, e->u.soac.width, row, atoms, size)
                          : straight_array(b, row, atoms);
    core_let_vars(b, &stm->binders[i], 1, made);
  }
}

// Adds the statements in the place of this one; false, and nothing added, if they cannot be made.
static bool split_operands(Compiler *c, Builder *b, const Stm *stm) {
  int budget = MOST_STMS, before = b->stms.count;
  Straight s = straight_new(c, b, &budget);
  Soac soac;
  VarVec binders = { 0 };
  if (!soac_on_scalars(&s, &stm->exp->u.soac, &soac)) {
    b->stms.count = before;
    return false;
  }
  int combined = soac_red_count(&stm->exp->u.soac);
  for (int i = 0; i < combined; i++)
    add_part_binders(c, stm->exp, stm->binders[i], combined_type(stm->exp, i), &binders);
  for (int i = combined; i < stm->binder_count; i++)
    vec_push(&binders, stm->binders[i]);
  b->attrs = stm->attrs;
  core_let_vars(b, binders.at, binders.count, exp_soac(stm->exp->kind, soac));
  b->attrs = NULL;
  join_results(b, stm, mem_copy(binders.at, (size_t)binders.count * sizeof *binders.at));
  return true;
}

// ---- all

static const Body *split_in_body(CoreMapper *m, const Body *body) {
  SmallOperands *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    stm.exp = core_map_exp(m, stm.exp);
    if (has_small_operands(stm.exp) && split_operands(s->c, &b, &stm))
      s->changed = true;
    else
      core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *split_all(Compiler *c, const Body *body) {
  SmallOperands s = { .c = c };
  CoreMapper m = { .body = split_in_body, .state = &s };
  const Body *rewritten = split_in_body(&m, body);
  return s.changed ? rewritten : body;
}

const Core *scalar_operands(Compiler *c, const Core *core) {
  const Core *rewritten = core_map_bodies(c, core, split_all);
  return core_same_bodies(core, rewritten) ? core : simplify(c, rewritten);
}

// ---- functions that make small arrays, once fused

// Is it an element, at a constant place, of an array that the body makes?
static bool is_made_element(const Map *made, Atom a) {
  const Stm *stm = a.kind == ATOM_VAR ? map_get(made, a.u.var) : NULL;
  if (!stm || stm->exp->kind != EXP_INDEX || stm->binders[0]->type.rank > 0) return false;
  Atom array = stm->exp->u.index.array;
  return array.kind == ATOM_VAR && map_has(made, array.u.var);
}

static bool combines_elements(const Soac *soac) {
  const Body *body = soac->fn.body;
  Map *made = map_new(NULL);
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      map_put(made, body->stms[i].binders[k], &body->stms[i]);
  for (int i = 0; i < soac_red_count(soac); i++)
    if (is_made_element(made, body->results[i])) return true;
  return false;
}

// Straight code in the place of what the function makes of operators; false if some would be left.
static bool straighten(Compiler *c, Loc loc, const Soac *soac, Lambda *out) {
  int budget = MOST_STMS;
  Builder b = builder_new(c, loc);
  Straight s = straight_new(c, &b, &budget);
  Lambda fn = core_rename_lambda(c, subst_new(), soac->fn);
  straight_body(&s, fn.body);
  if (budget < 0) return false;
  AtomVec results = { 0 };
  for (int i = 0; i < fn.body->result_count; i++)
    vec_push(&results, straight_whole(&s, fn.body->results[i]));
  const Body *body = core_body(&b, results.at, results.count);
  *out = lambda_new(fn.params, fn.param_count, body);
  return !core_has_soac(body);
}

static const Body *straighten_in_body(CoreMapper *m, const Body *body) {
  SmallOperands *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    Lambda fn;
    stm.exp = core_map_exp(m, stm.exp);
    bool combines = stm.exp->kind == EXP_REDOMAP || stm.exp->kind == EXP_SCANOMAP;
    if (combines && core_has_soac(stm.exp->u.soac.fn.body) &&
        combines_elements(&stm.exp->u.soac) &&
        straighten(s->c, stm.loc, &stm.exp->u.soac, &fn)) {
      Soac soac = stm.exp->u.soac;
      soac.fn = fn;
      stm.exp = exp_soac(stm.exp->kind, soac);
      s->changed = true;
    }
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *straighten_all(Compiler *c, const Body *body) {
  SmallOperands s = { .c = c };
  CoreMapper m = { .body = straighten_in_body, .state = &s };
  const Body *rewritten = straighten_in_body(&m, body);
  return s.changed ? rewritten : body;
}

const Core *small_rows(Compiler *c, const Core *core) {
  const Core *rewritten = core_map_bodies(c, core, straighten_all);
  return core_same_bodies(core, rewritten) ? core : simplify(c, rewritten);
}
