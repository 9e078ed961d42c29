// assert c (xs[i] + 10 / y + i64.sum (iota k))
//   =>  let xs' = assert c {xs}   let a = xs'[i]   let y' = assert c {y}   let b = 10 / y'
//       let k' = assert c {k}     let ks : [k']i64 = iota k'   ..
//
// The assertion comes before whatever its expression computes.  Passes know no order but that of
// dependence: they move statements, leave out those that nobody reads, and spread them over
// kernels.  So each operation of the expression that may fail, or never end, depends on the
// assertion: an operand passes through it.  Where the operand comes from outside of a loop or an
// operator, so does the assertion in the end (hoist.c).
//
// Of `iota` and `replicate` the size passes, and everything in the expression then mentions the
// size that has passed: what the assertion protects from being negative is a size only behind it.
#include "core/elab/elaborate.h"

typedef struct Guarding {
  Compiler *c;
  const Exp *assertion;  // without atoms
  Loc loc;
  Map *bound;     // what the expression binds so far
  Map *asserted;  // what assertions within the expression bind; these come after this one
  Map *sizes;     // counts that may be negative: Var -> Var
  Subst *passed;  // those of them that have passed; binders with such sizes
  VarVec entered;  // sizes that are parameters of the body that comes next
} Guarding;

// ---- which operand

static bool is_asserted(const Guarding *g, Atom a) {
  return a.kind == ATOM_VAR && map_has(g->asserted, a.u.var);
}

// One from outside, if there is one.
static Atom *op_operand(const Guarding *g, Exp *e) {
  Atom *args = e->u.op.args;
  bool from_inside = args[0].kind == ATOM_VAR && map_has(g->bound, args[0].u.var);
  return from_inside ? &args[1] : &args[0];
}

static Atom *update_operand(Exp *e) {
  DimIndex *dims =
      mem_copy(e->u.update.dims, sizeof(DimIndex) * (size_t)e->u.update.dim_count);
  e->u.update.dims = dims;
  return &dims[0].start;
}

static Atom *while_operand(Exp *e) {
  if (e->u.loop.form != CORE_WHILE) return NULL;
  Atom *inits = mem_copy(e->u.loop.inits, sizeof(Atom) * (size_t)e->u.loop.param_count);
  e->u.loop.inits = inits;
  return &inits[e->u.loop.while_param];
}

static Atom *call_operand(Exp *e) {
  if (e->u.call.arg_count == 0) return NULL;
  Atom *args = mem_copy(e->u.call.args, sizeof(Atom) * (size_t)e->u.call.arg_count);
  e->u.call.args = args;
  return &args[0];
}

// The operand to pass through the assertion, in an expression that may be changed: none that types
// mention, and of an access the array, so that the ranges of indices stay known.  NULL: what the
// expression itself does neither fails nor runs for ever.
static Atom *operand_of(const Guarding *g, Exp *e) {
  bool reads = e->kind == EXP_INDEX || e->kind == EXP_UPDATE;  // checked or not
  if (e->kind != EXP_LOOP && !reads && !exp_may_fail(e)) return NULL;
  switch (e->kind) {
  case EXP_OP: return op_operand(g, e);
  case EXP_INDEX: return &e->u.index.array;
  case EXP_UPDATE: return update_operand(e);
  case EXP_ASSERT: return &e->u.assert.condition;
  case EXP_LOOP: return while_operand(e);
  case EXP_CALL: return call_operand(e);
  case EXP_IOTA:
  case EXP_REPLICATE:  // their sizes
  case EXP_ATOM:
  case EXP_CONVERT:
  case EXP_BITS:
  case EXP_REARRANGE:
  case EXP_RESHAPE:
  case EXP_CONCAT:
  case EXP_ROTATE:
  case EXP_COPY:
  case EXP_ARRAY:
  case EXP_IF:
  case EXP_CHOOSE:
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_SCATTER:
  case EXP_HIST:
  case EXP_FILTER:
  case EXP_SEG:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_GUARD: return NULL;
  }
  return NULL;
}

// Does one of the operands pass through an assertion within the expression?
static bool is_guarded(const Guarding *g, const Exp *e) {
  if (e->kind == EXP_ASSERT) return is_asserted(g, e->u.assert.condition);
  VarVec free = core_free_exp(e);
  vec_each (const Var **, v, &free)
    if (!exp_has_bodies(e) && map_has(g->asserted, *v)) return true;
  return false;
}

// ---- sizes

typedef struct Counts {
  CoreVisitor visitor;
  Map *counts, *sizes;
} Counts;

static void note_size(CoreVisitor *v, Atom a) {
  Counts *s = v->state;
  if (a.kind == ATOM_VAR) map_put(s->sizes, a.u.var, a.u.var);
}

// Sizes that a statement finds out are those of an array that it makes.
static void note_found_sizes(Counts *s, const Stm *stm) {
  bool makes_them = stm->exp->kind == EXP_FILTER || stm->exp->kind == EXP_IF ||
                    stm->exp->kind == EXP_LOOP;
  for (int i = 0; makes_them && i < stm->binder_count; i++)
    for (int d = 0; d < stm->binders[i]->type.rank; d++)
      note_size(&s->visitor, stm->binders[i]->type.dims[d]);
}

static void note_counts(CoreVisitor *v, const Body *body) {
  Counts *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    Atom count = e->kind == EXP_IOTA        ? e->u.iota.count
                 : e->kind == EXP_REPLICATE ? e->u.replicate.count
                                            : atom_i64(0);
    if (count.kind == ATOM_VAR) map_put(s->counts, count.u.var, count.u.var);
    note_found_sizes(s, &body->stms[i]);
    core_visit_exp(v, e);
  }
}

typedef struct Rest {
  const Map *sizes, *known;
  Map *out;
} Rest;

static void keep_unknown(void *state, const void *key, void *value) {
  Rest *rest = state;
  if (!map_has(rest->sizes, key) && !map_has(rest->known, key))
    map_put(rest->out, key, value);
}

// The counts of iotas and replicates in the body, unless they are the sizes of arrays anyway.
static Map *doubtful_sizes(const Body *body, const Map *known) {
  Counts s = { .visitor = { .body = note_counts },
               .counts = map_new(NULL),
               .sizes = map_new(NULL) };
  s.visitor.state = &s;
  note_counts(&s.visitor, body);
  VarVec free = core_free_body(body);
  vec_each (const Var **, v, &free)
    for (int d = 0; d < (*v)->type.rank; d++)
      note_size(&s.visitor, (*v)->type.dims[d]);
  Rest rest = { s.sizes, known, map_new(NULL) };
  map_each(s.counts, keep_unknown, &rest);
  return rest.out;
}

// ---- statements

static Atom guarded(const Guarding *g, Builder *b, Atom operand) {
  Exp assertion = *g->assertion;
  assertion.u.assert.atoms = mem_copy(&operand, sizeof operand);
  assertion.u.assert.atom_count = 1;
  Builder at = { .c = g->c, .loc = g->loc };
  const char *name = operand.kind == ATOM_VAR ? operand.u.var->name : "guarded";
  Atom out = core_let(&at, name, mem_copy(&assertion, sizeof assertion));
  core_add_stm(b, at.stms.at[0]);
  map_put(g->asserted, out.u.var, out.u.var);
  return out;
}

static void pass_size(const Guarding *g, Builder *b, const Var *size) {
  if (map_has(g->sizes, size)) subst_put(g->passed, size, guarded(g, b, atom_var(size)));
}

// The binder with what has passed in its type.
static const Var *guard_binder(Guarding *g, const Var *var) {
  CoreType type = subst_type(g->passed, var->type);
  map_put(g->bound, var, var);
  bool same = true;
  for (int i = 0; i < type.rank; i++)
    same = same && atom_equal(type.dims[i], var->type.dims[i]);
  if (same) return var;
  const Var *fresh = var_new(g->c, var->name, type, var->loc);
  map_put(g->bound, fresh, fresh);
  subst_put(g->passed, var, atom_var(fresh));
  return fresh;
}

static const Var *enter_binder(CoreMapper *m, const Var *var) {
  Guarding *g = m->state;
  if (map_has(g->sizes, var)) vec_push(&g->entered, var);
  return guard_binder(g, var);
}

static Atom guard_atom(CoreMapper *m, Atom a) {
  const Guarding *g = m->state;
  return subst_atom(g->passed, a);
}

static void guard_stm(Guarding *g, Builder *b, Stm stm);

static const Body *guard_body(CoreMapper *m, const Body *body) {
  Guarding *g = m->state;
  Builder b = builder_new(g->c, g->loc);
  VarVec entered = g->entered;
  g->entered = (VarVec){ 0 };
  vec_each (const Var **, size, &entered)
    pass_size(g, &b, *size);
  for (int i = 0; i < body->stm_count; i++)
    guard_stm(g, &b, body->stms[i]);
  Atom *results = new_array(Atom, body->result_count + 1);
  for (int i = 0; i < body->result_count; i++)
    results[i] = subst_atom(g->passed, body->results[i]);
  return core_body(&b, results, body->result_count);
}

static void guard_stm(Guarding *g, Builder *b, Stm stm) {
  CoreMapper m = {
    .atom = guard_atom, .body = guard_body, .binder = enter_binder, .state = g
  };
  Exp *exp = mem_copy(core_map_exp(&m, stm.exp), sizeof *exp);
  Atom *operand = operand_of(g, exp);
  if (operand && !is_guarded(g, exp)) *operand = guarded(g, b, *operand);
  const Var **binders = new_array(const Var *, stm.binder_count + 1);
  for (int i = 0; i < stm.binder_count; i++) {
    binders[i] = guard_binder(g, stm.binders[i]);
    if (exp->kind == EXP_ASSERT) map_put(g->asserted, binders[i], binders[i]);
  }
  core_add_stm(b, (Stm){ binders, stm.binder_count, exp, stm.loc, stm.attrs });
  for (int i = 0; i < stm.binder_count; i++)
    pass_size(g, b, stm.binders[i]);
}

static bool is_bound_in(const Body *body, const Var *var) {
  VarVec free = core_free_body(body);
  vec_each (const Var **, v, &free)
    if (*v == var) return false;
  return true;
}

typedef struct Outside {
  Guarding *g;
  Builder *b;
  const Body *body;
} Outside;

static void pass_from_outside(void *state, const void *key, void *value) {
  const Outside *s = state;
  (void)value;
  if (!is_bound_in(s->body, key)) pass_size(s->g, s->b, key);
}

void elab_guard(Elab *e, const Body *body, const Exp *assertion, Atom *results) {
  Guarding g = { .c = e->c,
                 .assertion = assertion,
                 .loc = e->b->loc,
                 .bound = map_new(NULL),
                 .asserted = map_new(NULL),
                 .sizes = doubtful_sizes(body, e->frame->sizes),
                 .passed = subst_new() };
  Outside outside = { &g, e->b, body };
  map_each(g.sizes, pass_from_outside, &outside);
  for (int i = 0; i < body->stm_count; i++)
    guard_stm(&g, e->b, body->stms[i]);
  for (int i = 0; i < body->result_count; i++)
    results[i] = subst_atom(g.passed, body->results[i]);
}
