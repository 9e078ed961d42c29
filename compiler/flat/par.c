// Par and the local memory of a version whose kernels use level 0 (rule G3's e_middle).
#include "base/map.h"
#include "flat/rules.h"

static bool same_size(const SizeExp *a, const SizeExp *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == SIZE_EXP_ATOM) return atom_equal(a->atom, b->atom);
  return same_size(a->a, b->a) && same_size(a->b, b->b);
}

// Is `e` one of the operands of the maximum `max`?
static bool among_operands(const SizeExp *max, const SizeExp *e) {
  if (same_size(max, e)) return true;
  if (max->kind != SIZE_EXP_MAX) return false;
  return among_operands(max->a, e) || among_operands(max->b, e);
}

static const SizeExp *larger(const SizeExp *a, const SizeExp *b) {
  if (!a) return b;
  return among_operands(a, b) ? a : size_exp_op(SIZE_EXP_MAX, a, b);
}

static const SizeExp *seg_par(const SegOp *seg, const Map *bound) {
  const SizeExp *par = NULL;
  for (int i = 0; i < seg->dim_count; i++) {
    Atom width = seg->dims[i].width;
    if (width.kind == ATOM_VAR && map_has(bound, width.u.var)) continue;
    const SizeExp *e = size_exp_atom(width);
    par = par ? size_exp_op(SIZE_EXP_MUL, par, e) : e;
  }
  return par ? par : size_exp_atom(atom_i64(1));
}

// The function that a SOAC applies to the elements; NULL for anything else.
static const Lambda *function_of(const Exp *exp) {
  if (!exp_is_soac(exp)) return NULL;
  if (exp->kind == EXP_SCATTER) return &exp->u.scatter.fn;
  return exp->kind == EXP_HIST ? &exp->u.hist.fn : &exp->u.soac.fn;
}

// The names in scope inside an expression: those outside, and the parameters and the index of a
// loop, the parameters of a function or the positions of a space.
static Map *scope_inside(const Map *outside, const Exp *exp) {
  Map *scope = map_new(outside);
  if (exp->kind == EXP_LOOP) {
    for (int i = 0; i < exp->u.loop.param_count; i++)
      map_put(scope, exp->u.loop.params[i], exp);
    if (exp->u.loop.form == CORE_FOR) map_put(scope, exp->u.loop.index, exp);
  }
  const Lambda *fn = function_of(exp);
  for (int i = 0; fn && i < fn->param_count; i++)
    map_put(scope, fn->params[i], exp);
  if (exp->kind == EXP_SEG)
    for (int i = 0; i < exp->u.seg->dim_count; i++)
      map_put(scope, exp->u.seg->dims[i].index, exp);
  return scope;
}

const SizeExp *par_inner(const Body *body, const Map *bound, const SizeExp *so_far) {
  Map *scope = map_new(bound);
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_SEG) so_far = larger(so_far, seg_par(exp->u.seg, scope));
    BodyVec bodies = exp_is_parallel(exp) ? (BodyVec){ 0 } : exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      so_far = par_inner(*inner, scope_inside(scope, exp), so_far);
    for (int k = 0; k < body->stms[i].binder_count; k++)
      map_put(scope, body->stms[i].binders[k], body);
  }
  return so_far;
}

// ---- local memory

// coefficient * factors; factors are NULL for a constant.
typedef struct BytesTerm {
  int64_t coefficient;
  const SizeExp *factors;
} BytesTerm;

static bool is_constant(const SizeExp *e) {
  return e->kind == SIZE_EXP_ATOM && e->atom.kind == ATOM_CONST;
}

static BytesTerm term_of(const SizeExp *e) {
  if (is_constant(e)) return (BytesTerm){ e->atom.u.constant.u.i, NULL };
  if (e->kind != SIZE_EXP_MUL || !is_constant(e->a)) return (BytesTerm){ 1, e };
  return (BytesTerm){ e->a->atom.u.constant.u.i, e->b };
}

static const SizeExp *exp_of_term(BytesTerm t) {
  const SizeExp *coefficient = size_exp_atom(atom_i64(t.coefficient));
  return t.factors ? size_exp_op(SIZE_EXP_MUL, coefficient, t.factors) : coefficient;
}

static bool same_factors(BytesTerm a, BytesTerm b) {
  if (!a.factors || !b.factors) return a.factors == b.factors;
  return same_size(a.factors, b.factors);
}

// The sum with the term added to a term with the same factors; NULL if it has none.
static const SizeExp *merged(const SizeExp *sum, BytesTerm term) {
  if (sum->kind != SIZE_EXP_ADD) {
    BytesTerm own = term_of(sum);
    if (!same_factors(own, term)) return NULL;
    return exp_of_term((BytesTerm){ own.coefficient + term.coefficient, term.factors });
  }
  const SizeExp *a = merged(sum->a, term);
  if (a) return size_exp_op(SIZE_EXP_ADD, a, sum->b);
  const SizeExp *b = merged(sum->b, term);
  return b ? size_exp_op(SIZE_EXP_ADD, sum->a, b) : NULL;
}

static const SizeExp *add_term(const SizeExp *sum, BytesTerm term) {
  if (!sum) return exp_of_term(term);
  const SizeExp *fewer = merged(sum, term);
  return fewer ? fewer : size_exp_op(SIZE_EXP_ADD, sum, exp_of_term(term));
}

static bool type_bytes(CoreType type, const Map *bound, const SizeExp **sum) {
  BytesTerm term = { prim_size_bytes(type.elem), NULL };
  for (int i = 0; i < type.rank; i++) {
    Atom dim = type.dims[i];
    if (dim.kind == ATOM_VAR && map_has(bound, dim.u.var)) return false;
    const SizeExp *size = size_exp_atom(dim);
    if (dim.kind == ATOM_CONST && dim.u.constant.u.i < 1 << 20 &&
        term.coefficient < 1 << 30)
      term.coefficient *= dim.u.constant.u.i;
    else
      term.factors = term.factors ? size_exp_op(SIZE_EXP_MUL, term.factors, size) : size;
  }
  *sum = add_term(*sum, term);
  return true;
}

// Reads and views lie in the memory of others; the rest makes arrays of its own.
static bool makes_array(const Exp *exp) {
  if (exp->kind == EXP_RESHAPE)
    return exp->u.reshape.rank != atom_type(exp->u.reshape.array).rank;
  bool bounded = exp->kind == EXP_FILTER;  // has room for everything
  return !exp_is_view(exp) && !bounded && exp->kind != EXP_IOTA &&
         exp->kind != EXP_REPLICATE;
}

static bool stm_bytes(const Stm *stm, const Map *bound, const SizeExp **sum) {
  if (stm->exp->kind == EXP_SEG)
    for (int i = 0; i < stm->binder_count; i++)
      if (!type_bytes(stm->binders[i]->type, bound, sum)) return false;
  if (exp_is_parallel(stm->exp)) return true;
  BodyVec bodies = exp_bodies(stm->exp);
  vec_each (const Body **, inner, &bodies)
    if (!par_local_bytes(*inner, scope_inside(bound, stm->exp), sum)) return false;
  return true;
}

static void note_used(Map *used, VarVec vars) {
  vec_each (const Var **, v, &vars)
    map_put(used, *v, *v);
}

static bool is_used(const Map *used, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (map_has(used, stm->binders[i])) return true;
  return false;
}

// Which statements of a body does something else read?
static const bool *live_statements(const Body *body) {
  bool *live = new_array(bool, body->stm_count + 1);
  Map *used = map_new(NULL);
  for (int i = 0; i < body->result_count; i++)
    if (body->results[i].kind == ATOM_VAR) map_put(used, body->results[i].u.var, body);
  for (int i = body->stm_count - 1; i >= 0; i--) {
    const Stm *stm = &body->stms[i];
    bool droppable = stm->exp->kind == EXP_SEG || stm->exp->kind == EXP_ATOM;
    live[i] = !droppable || is_used(used, stm);
    if (live[i]) note_used(used, core_free_exp(stm->exp));
  }
  return live;
}

// A filter has room for everything, which may itself be of a size that only the kernel knows.
static bool room_varies(const Exp *exp, const Map *bound) {
  if (exp->kind != EXP_FILTER) return false;
  Atom width = exp->u.soac.width;
  return width.kind == ATOM_VAR && map_has(bound, width.u.var);
}

// Is an array made whose size only the kernel knows?  There is no memory for it in a work-group.
bool par_makes_varying(const Body *body, const Map *bound) {
  Map *scope = map_new(bound);
  const bool *live = live_statements(body);
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    const SizeExp *ignored = NULL;
    if (live[i] && room_varies(stm->exp, scope)) return true;
    for (int k = 0; k < stm->binder_count; k++) {
      map_put(scope, stm->binders[k], body);
      if (live[i] && makes_array(stm->exp) &&
          !type_bytes(stm->binders[k]->type, scope, &ignored))
        return true;
    }
    BodyVec bodies = live[i] ? exp_bodies(stm->exp) : (BodyVec){ 0 };
    vec_each (const Body **, inner, &bodies)
      if (par_makes_varying(*inner, scope_inside(scope, stm->exp))) return true;
  }
  return false;
}

bool par_local_bytes(const Body *body, const Map *bound, const SizeExp **sum) {
  Map *scope = map_new(bound);
  // An iota that seg-ops range over is not in memory.
  const bool *live = live_statements(body);
  for (int i = 0; i < body->stm_count; i++) {
    for (int k = 0; k < body->stms[i].binder_count; k++)
      map_put(scope, body->stms[i].binders[k], body);
    if (live[i] && !stm_bytes(&body->stms[i], scope, sum)) return false;
  }
  return true;
}
