// Loops.
//
// A dimension of a loop parameter whose declared size has no value outside of the loop varies: it
// becomes an i64 parameter of its own, before the arrays.  `for x in xs` counts and reads.
#include "core/elab/elaborate.h"

// A varying size: the parameter that carries it.
typedef struct LoopSize {
  const Size *size;  // as declared
  Atom init;
  const Var *param;
  Atom next;
  bool has_next;
  const Var *result;
} LoopSize;

typedef struct Loop {
  const AstExp *exp;
  const Tail
      *tail;  // of a call that goes on as a loop, of which `exp` has the pattern only
  const Scope *outer;
  int mark;
  bool is_while;
  const Val *init;
  AtomVec inits;  // the leaves of `init`
  Vec(LoopSize) sizes;
  VarVec leaf_params;
  const Var *going_on;  // while loops: the condition
} Loop;

static bool same_size(const Size *a, const Size *b) {
  return a == b ||
         (a->kind == SIZE_NAME && b->kind == SIZE_NAME && a->u.name == b->u.name);
}

static const Var *fresh(Elab *e, const char *name, CoreType type) {
  return var_new(e->c, name_of(e->c->names, name), type, e->b->loc);
}

// The parameter for a size that varies.
static Atom varying(Elab *e, Loop *l, const Size *size, Atom init) {
  vec_each (LoopSize *, known, &l->sizes) {
    if (same_size(known->size, size)) return atom_var(known->param);
  }
  // Unknown sizes have names like ?1.
  bool named = size->kind == SIZE_NAME && size->u.name->name[0] != '?';
  const char *name = named ? size->u.name->name : "n";
  const Var *param = fresh(e, name, type_scalar(PRIM_I64));
  vec_push(&l->sizes, (LoopSize){ .size = size, .init = init, .param = param });
  return atom_var(param);
}

static CoreType param_type(Elab *e, Loop *l, Atom init, LeafSizes declared) {
  CoreType type = atom_type(init);
  Atom *dims = new_array(Atom, type.rank);
  for (int i = 0; i < type.rank; i++) {
    dims[i] = type.dims[i];
    if (i >= declared.count || size_known(declared.at[i])) continue;
    dims[i] = varying(e, l, declared.at[i].size, type.dims[i]);
  }
  return (CoreType){ type.elem, type.rank, dims };
}

static void make_loop_params(Elab *e, Loop *l) {
  const AstPat *pat = l->exp->u.loop.pat;
  LeafSizesVec declared = val_sizes(e, (TypeIn){ pat->type, l->outer->env }, l->init);
  Name whole = pat_whole_name(pat);
  for (int i = 0; i < l->inits.count; i++) {
    CoreType type = param_type(e, l, l->inits.at[i], declared.at[i]);
    vec_push(&l->leaf_params, fresh(e, whole ? whole : "x", type));
  }
  if (l->is_while) l->going_on = fresh(e, "going_on", type_scalar(PRIM_BOOL));
}

static const Val *rebuild_vars(Elab *e, const Loop *l, const VarVec *vars) {
  AtomVec atoms = { 0 };
  vec_each (const Var **, var, vars)
    vec_push(&atoms, atom_var(*var));
  return val_rebuild(e, l->init, atoms.at);
}

// The body of the function that calls itself.
static const Val *tail_value(Elab *e, Scope *s, const Loop *l, TailMode mode,
                             const Val *state) {
  Tail t = *l->tail;
  t.mode = mode;
  t.state = state;
  return elab_exp(e, s, t.body, (Want){ .tail = &t });
}

static Atom loop_condition(Elab *e, const Loop *l, const Val *v) {
  Scope scope = *l->outer;
  elab_bind(e, &scope, l->exp->u.loop.pat, v);
  if (l->tail) return val_scalar(e, tail_value(e, &scope, l, TAIL_GOES_ON, NULL));
  return elab_scalar(e, &scope, l->exp->u.loop.bound);
}

// ---- the body

// The dimensions that the next value of a parameter must have.
static const Atom *next_dims(Loop *l, CoreType param, CoreType result) {
  Atom *dims = new_array(Atom, param.rank);
  for (int i = 0; i < param.rank; i++) {
    dims[i] = param.dims[i];
    vec_each (LoopSize *, size, &l->sizes) {
      if (!atom_equal(param.dims[i], atom_var(size->param))) continue;
      if (!size->has_next) size->next = result.dims[i];
      size->has_next = true;
      dims[i] = size->next;
    }
  }
  return dims;
}

// The results of the body in the order of the parameters.
static AtomVec body_results(Elab *e, Loop *l, const Val *v) {
  AtomVec leaves = val_leaves(e, v), fitted = { 0 }, results = { 0 };
  for (int i = 0; i < leaves.count; i++) {
    CoreType result = atom_type(leaves.at[i]);
    const Atom *dims = next_dims(l, l->leaf_params.at[i]->type, result);
    vec_push(&fitted, elab_fit(e, leaves.at[i], dims));
  }
  if (l->is_while) vec_push(&results, loop_condition(e, l, val_rebuild(e, v, fitted.at)));
  vec_each (LoopSize *, size, &l->sizes) {
    vec_push(&results, size->has_next ? size->next : atom_var(size->param));
  }
  vec_each (Atom *, a, &fitted)
    vec_push(&results, *a);
  return results;
}

// What the index pattern names: the counter in the type of the bound, or an element.
static void bind_index(Elab *e, Scope *s, const Loop *l, const Var *index,
                       const Val *bound) {
  const AstPat *pat = l->exp->u.loop.index;
  if (l->exp->u.loop.form == LOOP_FOR_IN) {
    elab_bind(e, s, pat, elab_element(e, bound, atom_var(index)));
    return;
  }
  PrimType type = atom_type(val_scalar(e, bound)).elem;
  elab_bind(e, s, pat, val_atom(elab_convert(e, NULL, type, atom_var(index))));
}

static const Body *loop_body(Elab *e, Loop *l, const Var *index, const Val *bound) {
  Inner inner;
  elab_enter(e, &inner);
  Scope scope = *l->outer;
  const Val *now = rebuild_vars(e, l, &l->leaf_params);
  elab_bind(e, &scope, l->exp->u.loop.pat, now);
  if (index) bind_index(e, &scope, l, index, bound);
  const Val *v = l->tail ? tail_value(e, &scope, l, TAIL_NEXT, now)
                         : elab_part(e, &scope, l->exp->u.loop.body);
  AtomVec results = body_results(e, l, v);
  const Body *body = core_body(&inner.b, results.at, results.count);
  elab_leave(e, &inner);
  return body;
}

// ---- the whole

static CoreType result_type(const Loop *l, CoreType param) {
  Atom *dims = new_array(Atom, param.rank);
  for (int i = 0; i < param.rank; i++) {
    dims[i] = param.dims[i];
    vec_each (const LoopSize *, size, &l->sizes) {
      if (atom_equal(dims[i], atom_var(size->param))) dims[i] = atom_var(size->result);
    }
  }
  return (CoreType){ param.elem, param.rank, dims };
}

// Binds the loop's results; returns the value that they make up.
static const Val *bind_results(Elab *e, Loop *l, const Exp *exp, const char *name) {
  VarVec binders = { 0 }, leaves = { 0 };
  if (l->is_while) vec_push(&binders, var_like(e->c, l->going_on));
  vec_each (LoopSize *, size, &l->sizes) {
    size->result = var_like(e->c, size->param);
    vec_push(&binders, size->result);
  }
  vec_each (const Var **, param, &l->leaf_params) {
    const char *own = name ? name : (*param)->name;
    vec_push(&leaves, fresh(e, own, result_type(l, (*param)->type)));
    vec_push(&binders, leaves.at[leaves.count - 1]);
  }
  if (binders.count) core_let_vars(e->b, binders.at, binders.count, exp);
  return rebuild_vars(e, l, &leaves);
}

static const Exp *loop_exp(Elab *e, Loop *l, Atom bound, const Var *index,
                           const Body *body) {
  VarVec params = { 0 };
  AtomVec inits = { 0 };
  if (l->is_while) {
    vec_push(&params, l->going_on);
    vec_push(&inits, loop_condition(e, l, l->init));
  }
  vec_each (LoopSize *, size, &l->sizes) {
    vec_push(&params, size->param);
    vec_push(&inits, size->init);
  }
  for (int i = 0; i < l->inits.count; i++) {
    vec_push(&params, l->leaf_params.at[i]);
    vec_push(&inits, l->inits.at[i]);
  }
  return new_node(Exp, .kind = EXP_LOOP,
                  .u.loop = { .params = params.at,
                              .inits = inits.at,
                              .param_count = params.count,
                              .form = l->is_while ? CORE_WHILE : CORE_FOR,
                              .index = index,
                              .bound = bound,
                              .while_param = 0,
                              .body = body });
}

static Name index_name(Elab *e, const AstExp *exp) {
  Name name = exp->u.loop.form == LOOP_FOR ? pat_whole_name(exp->u.loop.index) : NULL;
  return name ? name : name_of(e->c->names, "i");
}

// ---- #[unroll]

enum { MAX_UNROLLED = 1024 };  // rounds

static bool is_unrolled(const Elab *e, const Loop *l, Atom count) {
  const StmAttrs *attrs = e->b->attrs;
  return attrs && attrs->unroll && !l->is_while && count.kind == ATOM_CONST &&
         count.u.constant.u.i <= MAX_UNROLLED;
}

// The index pattern of round `i`.
static void bind_round(Elab *e, Scope *s, const Loop *l, int64_t i, const Val *bound) {
  const AstPat *pat = l->exp->u.loop.index;
  if (l->exp->u.loop.form == LOOP_FOR_IN) {
    elab_bind(e, s, pat, elab_element(e, bound, atom_i64(i)));
    return;
  }
  PrimType type = atom_type(val_scalar(e, bound)).elem;
  elab_bind(e, s, pat, val_atom(atom_const(prim_int(type, i))));
}

// One body after the other.  The attribute is not for loops inside.
static const Val *unrolled(Elab *e, Loop *l, int64_t count, const Val *bound) {
  const StmAttrs *attrs = e->b->attrs;
  StmAttrs inner = *attrs;
  inner.unroll = false;
  e->b->attrs = mem_copy(&inner, sizeof inner);
  const Val *v = l->init;
  for (int64_t i = 0; i < count; i++) {
    Scope scope = *l->outer;
    elab_bind(e, &scope, l->exp->u.loop.pat, v);
    bind_round(e, &scope, l, i, bound);
    v = elab_part(e, &scope, l->exp->u.loop.body);
  }
  e->b->attrs = attrs;
  return v;
}

const Val *elab_loop(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  Loop l = { .exp = exp, .outer = s, .is_while = exp->u.loop.form == LOOP_WHILE };
  l.init = elab_part(e, s, exp->u.loop.init);
  l.inits = val_leaves(e, l.init);
  const Val *bound = NULL;
  const Var *index = NULL;
  Atom count = atom_i64(0);
  if (!l.is_while) {
    bound = elab_part(e, s, exp->u.loop.bound);
    bool counts = exp->u.loop.form == LOOP_FOR;
    const Type *type = exp->u.loop.bound->type;
    SizeIn size = { counts ? NULL : type->u.array.size, s->env };
    count = counts ? elab_to_i64(e, val_scalar(e, bound)) : elab_width(e, bound, size);
    index = fresh(e, index_name(e, exp), type_scalar(PRIM_I64));
  }
  if (is_unrolled(e, &l, count)) return unrolled(e, &l, count.u.constant.u.i, bound);
  make_loop_params(e, &l);
  const Body *body = loop_body(e, &l, index, bound);
  const Exp *loop = loop_exp(e, &l, count, index, body);
  return bind_results(e, &l, loop, name);
}

const Val *elab_tail_loop(Elab *e, Scope *s, AstPat *pat, const Tail *t,
                          const Val *init) {
  AstExp *exp = new_node(AstExp, .kind = AST_LOOP, .loc = pat->loc);
  exp->u.loop.pat = pat;
  exp->u.loop.form = LOOP_WHILE;
  Loop l = { .exp = exp, .tail = t, .outer = s, .is_while = true, .init = init };
  l.inits = val_leaves(e, init);
  make_loop_params(e, &l);
  const Body *body = loop_body(e, &l, NULL, NULL);
  return bind_results(e, &l, loop_exp(e, &l, atom_i64(0), NULL, body), NULL);
}
