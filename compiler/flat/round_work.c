// How much work a round of a host loop gives the device at a time: the most operations of one of
// its parallel statements, in the middle of the loop, as far as the sizes outside tell.  An
// estimate, for a guard (rule_host_loop): a wrong one costs time only.  Likewise how much work the
// seg-ops of one width are, for several workers (workers.c).
#include "base/map.h"
#include "flat/rules.h"

enum {
  UNKNOWN_ROUNDS = 8,  // of a loop within a kernel whose trip count is not known outside
  LIBRARY_OPERATIONS = 16,
  SCAN_OPERATIONS = 8,    // each round waits for the one before, where vectors do sixteen
  PLACE_OPERATIONS = 16,  // a store to a place of its own, or an update of one
  READ_OPERATIONS = 8,    // a read that is not beside the one for the next element
};

typedef struct RoundWork {
  Builder *b;   // outside of the loop
  Map *bound;   // Var -> the Stm that binds it in the loop; the Exp whose parameter it is
  Map *values;  // Var -> its Atom in the middle of the loops around it
  const SizeExp *usual;  // the width of what is not known outside; NULL: no idea
} RoundWork;

// ---- values in the middle of the loop

static bool middle_value(RoundWork *w, Atom a, Atom *out);

// Operators of sizes that a value outside of the loop is made with.
static bool is_size_operator(PrimOp op) {
  return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_DIV || op == OP_QUOT ||
         op == OP_MIN || op == OP_MAX;
}

static bool middle_of_op(RoundWork *w, const Exp *exp, Atom *out) {
  PrimOp op = exp->u.op.op;
  Atom x, y;
  if (exp->u.op.type != PRIM_I64 || !is_size_operator(op)) return false;
  if (!middle_value(w, exp->u.op.args[0], &x) || !middle_value(w, exp->u.op.args[1], &y))
    return false;
  bool divides = op == OP_DIV || op == OP_QUOT;
  if (divides) y = core_let(w->b, "divisor", exp_op2(OP_MAX, y, atom_i64(1)));
  *out = core_let(w->b, "middle", exp_op2(op, x, y));
  return true;
}

// Does the loop carry an array of this size?
static bool is_size(const Exp *loop, const Var *size) {
  for (int i = 0; i < loop->u.loop.param_count; i++) {
    CoreType type = loop->u.loop.params[i]->type;
    for (int d = 0; d < type.rank; d++)
      if (atom_equal(type.dims[d], atom_var(size))) return true;
  }
  return false;
}

static bool middle_of_index(RoundWork *w, const Exp *loop, Atom *out) {
  Atom bound;
  if (!middle_value(w, loop->u.loop.bound, &bound)) return false;
  *out = core_let(w->b, "middle", exp_op2(OP_QUOT, bound, atom_i64(2)));
  return true;
}

// The parameter of a loop that is a size of others is at most what it was before the first round.
static bool first_value(RoundWork *w, const Exp *loop, const Var *var, Atom *out) {
  for (int i = 0; i < loop->u.loop.param_count; i++)
    if (loop->u.loop.params[i] == var && is_size(loop, var))
      return middle_value(w, loop->u.loop.inits[i], out);
  return false;
}

static bool is_loop_index(const Exp *exp, const Var *var) {
  return exp->kind == EXP_LOOP && exp->u.loop.form == CORE_FOR &&
         exp->u.loop.index == var;
}

static bool middle_value(RoundWork *w, Atom a, Atom *out) {
  *out = a;
  if (a.kind != ATOM_VAR || !map_has(w->bound, a.u.var)) return true;
  const Atom *known = map_get(w->values, a.u.var);
  if (known) *out = *known;
  if (known) return true;
  const Exp *exp = map_get(w->bound, a.u.var);
  bool found = false;
  if (is_loop_index(exp, a.u.var))
    found = middle_of_index(w, exp, out);
  else if (exp->kind == EXP_LOOP)
    found = first_value(w, exp, a.u.var, out);
  if (exp->kind == EXP_OP) found = middle_of_op(w, exp, out);
  if (exp->kind == EXP_ATOM) found = middle_value(w, exp->u.atom.atom, out);
  if (found) map_put(w->values, a.u.var, mem_copy(out, sizeof(Atom)));
  return found;
}

static void bind_lambda(RoundWork *w, const Lambda *fn, const Exp *exp) {
  for (int i = 0; i < fn->param_count; i++)
    map_put(w->bound, fn->params[i], exp);
}

static void bind_stm(RoundWork *w, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    map_put(w->bound, stm->binders[i], stm->exp);
}

static void bind_loop(RoundWork *w, const Exp *loop) {
  for (int i = 0; i < loop->u.loop.param_count; i++)
    map_put(w->bound, loop->u.loop.params[i], loop);
  if (loop->u.loop.form == CORE_FOR) map_put(w->bound, loop->u.loop.index, loop);
}

// ---- operations

static const SizeExp *constant(int64_t n) { return size_exp_atom(atom_i64(n)); }

static const SizeExp *plus(const SizeExp *a, const SizeExp *b) {
  return size_exp_op(SIZE_EXP_ADD, a, b);
}

static const SizeExp *times(const SizeExp *a, const SizeExp *b) {
  return size_exp_op(SIZE_EXP_MUL, a, b);
}

// The elements of an array; false if a dimension is not known.
static bool elements(RoundWork *w, CoreType type, const SizeExp **out) {
  *out = constant(1);
  for (int i = 0; i < type.rank; i++) {
    Atom dim;
    if (!middle_value(w, type.dims[i], &dim)) return false;
    *out = times(*out, size_exp_atom(dim));
  }
  return true;
}

static const SizeExp *elements_made(RoundWork *w, const Stm *stm) {
  const SizeExp *made;
  bool is_array = stm->binder_count && stm->binders[0]->type.rank > 0;
  if (!is_array || exp_is_view(stm->exp)) return constant(1);
  return elements(w, stm->binders[0]->type, &made) ? made : constant(UNKNOWN_ROUNDS);
}

static const SizeExp *trips(RoundWork *w, Atom count) {
  Atom known;
  if (middle_value(w, count, &known)) return size_exp_atom(known);
  return constant(UNKNOWN_ROUNDS);
}

static Atom soac_width(const Exp *exp) {
  if (exp->kind == EXP_SCATTER) return exp->u.scatter.width;
  return exp->kind == EXP_HIST ? exp->u.hist.width : exp->u.soac.width;
}

static const Lambda *soac_function(const Exp *exp) {
  if (exp->kind == EXP_SCATTER) return &exp->u.scatter.fn;
  return exp->kind == EXP_HIST ? &exp->u.hist.fn : &exp->u.soac.fn;
}

static const SizeExp *body_operations(RoundWork *w, const Body *body);

// What it takes to go to the next element: vectors do not help there.
static int64_t operations_to_next(const Exp *soac) {
  if (soac->kind == EXP_SCATTER) return 1 + PLACE_OPERATIONS * soac->u.scatter.dest_count;
  if (soac->kind == EXP_HIST) return 1 + PLACE_OPERATIONS * soac->u.hist.op_count;
  if (soac->kind != EXP_SCANOMAP) return 1;
  int64_t scanned = 0;
  for (int i = 0; i < soac->u.soac.op_count; i++)
    scanned += soac->u.soac.ops[i].count;
  return 1 + SCAN_OPERATIONS * scanned;
}

// Of the function and the operators, for one element.
static const SizeExp *element_operations(RoundWork *w, const Exp *soac) {
  const SizeExp *sum = constant(operations_to_next(soac));
  bind_lambda(w, soac_function(soac), soac);
  BodyVec bodies = exp_bodies(soac);
  vec_each (const Body **, body, &bodies)
    sum = plus(sum, body_operations(w, *body));
  return sum;
}

static const SizeExp *loop_operations(RoundWork *w, const Exp *loop) {
  bind_loop(w, loop);
  const SizeExp *rounds = loop->u.loop.form == CORE_FOR ? trips(w, loop->u.loop.bound)
                                                        : constant(UNKNOWN_ROUNDS);
  return times(rounds, body_operations(w, loop->u.loop.body));
}

static const SizeExp *seg_operations(RoundWork *w, const Exp *exp) {
  const SegOp *seg = exp->u.seg;
  const SizeExp *points = constant(1);
  for (int i = 0; i < seg->dim_count; i++) {
    points = times(points, trips(w, seg->dims[i].width));
    map_put(w->bound, seg->dims[i].index, exp);
  }
  return times(points, plus(constant(1), body_operations(w, seg->body)));
}

// Is it not an index, nor made of such by operators that keep or clamp the order of places?
static bool is_elsewhere(const RoundWork *w, Atom a) {
  const Exp *exp = a.kind == ATOM_VAR ? map_get(w->bound, a.u.var) : NULL;
  if (!exp) return false;
  if (exp->kind == EXP_INDEX) return true;
  if (exp->kind == EXP_ATOM) return is_elsewhere(w, exp->u.atom.atom);
  if (exp->kind != EXP_OP) return false;
  PrimOp op = exp->u.op.op;
  bool ordered =
      op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_MIN || op == OP_MAX;
  return !ordered || is_elsewhere(w, exp->u.op.args[0]) ||
         is_elsewhere(w, exp->u.op.args[1]);
}

static int64_t read_operations(const RoundWork *w, const Exp *index) {
  const DimIndex *last = &index->u.index.dims[index->u.index.dim_count - 1];
  return is_elsewhere(w, last->start) ? READ_OPERATIONS : 1;
}

static const SizeExp *operations(RoundWork *w, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (exp->kind == EXP_INDEX && !stm->binders[0]->type.rank)
    return constant(read_operations(w, exp));
  if (exp->kind == EXP_SEG) return seg_operations(w, exp);
  if (exp_is_soac(exp))
    return times(trips(w, soac_width(exp)), element_operations(w, exp));
  if (exp->kind == EXP_LOOP) return loop_operations(w, exp);
  if (exp->kind == EXP_OP && op_cost(exp->u.op.op, exp->u.op.type) == COST_LIBRARY)
    return constant(LIBRARY_OPERATIONS);
  const SizeExp *sum = elements_made(w, stm);
  BodyVec bodies = exp_bodies(exp);
  vec_each (const Body **, body, &bodies)
    sum = plus(sum, body_operations(w, *body));
  return sum;
}

static const SizeExp *body_operations(RoundWork *w, const Body *body) {
  const SizeExp *sum = constant(0);
  for (int i = 0; i < body->stm_count; i++) {
    sum = plus(sum, operations(w, &body->stms[i]));
    bind_stm(w, &body->stms[i]);
  }
  return sum;
}

// ---- what the host does

// The the_larger one; a constant and a product without coefficient are not compared.
static const SizeExp *the_larger(const SizeExp *a, const SizeExp *b) {
  return a ? size_exp_op(SIZE_EXP_MAX, a, b) : b;
}

static bool most_of_body(RoundWork *w, const Body *body, const SizeExp **most);

// Adds the work of a statement to the maximum; false if its size is not known.
static bool most_of_stm(RoundWork *w, const Stm *stm, const SizeExp **most) {
  const Exp *exp = stm->exp;
  Atom width;
  const SizeExp *made;
  if (exp->kind == EXP_LOOP) bind_loop(w, exp);
  if (exp_is_soac(exp)) {
    bool known = middle_value(w, soac_width(exp), &width);
    const SizeExp *points = known ? size_exp_atom(width) : w->usual;
    if (points) *most = the_larger(*most, times(points, element_operations(w, exp)));
    return points != NULL;
  }
  BodyVec bodies = exp_bodies(exp);
  vec_each (const Body **, body, &bodies)
    if (!most_of_body(w, *body, most)) return false;
  bool is_array = stm->binder_count && stm->binders[0]->type.rank > 0;
  if (bodies.count || !is_array || exp_is_view(exp) || exp->kind == EXP_UPDATE)
    return true;
  if (!elements(w, stm->binders[0]->type, &made)) made = w->usual;
  if (made) *most = the_larger(*most, made);
  return made != NULL;
}

static bool most_of_body(RoundWork *w, const Body *body, const SizeExp **most) {
  for (int i = 0; i < body->stm_count; i++) {
    if (!most_of_stm(w, &body->stms[i], most)) return false;
    bind_stm(w, &body->stms[i]);
  }
  return true;
}

// Has it a size that the loop carries?
static bool changes_size(const Exp *loop, CoreType type) {
  for (int d = 0; d < type.rank; d++)
    for (int i = 0; i < loop->u.loop.param_count; i++)
      if (atom_equal(type.dims[d], atom_var(loop->u.loop.params[i]))) return true;
  return false;
}

// The most elements that an array has which the loop carries: slices of it, say, are no longer.
// Of a while loop those whose size changes: as long as they are short, one item will run it.
static const SizeExp *most_carried(RoundWork *w, const Exp *loop) {
  const SizeExp *most = NULL, *changing = NULL, *count;
  for (int i = 0; i < loop->u.loop.param_count; i++) {
    CoreType type = loop->u.loop.params[i]->type;
    if (type.rank == 0 || !elements(w, type, &count)) continue;
    most = the_larger(most, count);
    if (changes_size(loop, type)) changing = the_larger(changing, count);
  }
  return changing && loop->u.loop.form == CORE_WHILE ? changing : most;
}

const SizeExp *flat_round_work(Builder *b, const Exp *loop) {
  RoundWork w = { b, map_new(NULL), map_new(NULL), NULL };
  const SizeExp *most = NULL;
  bind_loop(&w, loop);
  w.usual = most_carried(&w, loop);
  return most_of_body(&w, loop->u.loop.body, &most) ? most : NULL;
}

// ---- seg-ops of one width

static void most_over(RoundWork *w, const Body *body, int first, const Atom *width,
                      const SizeExp **most);

// Versions do the same work: one will do.
static void most_within(RoundWork *w, const Exp *exp, const Atom *width,
                        const SizeExp **most) {
  BodyVec bodies = exp_bodies(exp);
  const SizeExp *before = *most;
  vec_each (const Body **, inner, &bodies)
    if (exp->kind != EXP_GUARD || *most == before) most_over(w, *inner, 0, width, most);
}

// Adds the seg-ops whose outer dimension is `width` (NULL: any) to the maximum.
static void most_over(RoundWork *w, const Body *body, int first, const Atom *width,
                      const SizeExp **most) {
  for (int i = first; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_LOOP) bind_loop(w, exp);
    if (exp->kind != EXP_SEG)
      most_within(w, exp, width, most);
    else if (!width || atom_equal(exp->u.seg->dims[0].width, *width))
      *most = the_larger(*most, seg_operations(w, exp));
    bind_stm(w, &body->stms[i]);
  }
}

const SizeExp *flat_width_work(Builder *b, const Body *body, int first, Atom width) {
  RoundWork w = { b, map_new(NULL), map_new(NULL), NULL };
  const SizeExp *most = NULL;
  most_over(&w, body, first, &width, &most);
  return most ? most : constant(0);
}

const SizeExp *flat_step_work(Builder *b, const Exp *exp) {
  RoundWork w = { b, map_new(NULL), map_new(NULL), NULL };
  const SegOp *seg = exp->u.seg;
  const SizeExp *most = NULL, *points = constant(1);
  for (int i = 0; i < seg->dim_count; i++) {
    points = times(points, size_exp_atom(seg->dims[i].width));
    map_put(w.bound, seg->dims[i].index, exp);
  }
  most_over(&w, seg->body, 0, NULL, &most);
  return most ? times(points, most) : NULL;
}
