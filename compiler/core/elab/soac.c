// The parallel operators.
//
// A lambda gets a parameter per leaf of its arguments and returns a result per leaf of its value.
// The types of what a map produces may only mention names from outside of the lambda.  An inner
// size that is computed inside is replaced by the declared one, evaluated outside; failing that,
// the statements that compute it move out, which needs them to be independent of the parameters.
#include "core/elab/elaborate.h"

// ---- parameters

// The pattern of the next parameter of a function, or NULL.
static const AstPat *next_param(const Val *f) {
  if (f->kind != VAL_CLOSURE || f->u.closure->kind != CLOSURE_FUNCTION) return NULL;
  const Closure *closure = f->u.closure;
  if (closure->arg_count >= closure->arity) return NULL;
  return closure->function->params.at[closure->arg_count];
}

static const AstPat *bare(const AstPat *pat) {
  while (pat && (pat->kind == AST_PAT_ASCRIBE || pat->kind == AST_PAT_ATTR)) {
    pat = pat->kind == AST_PAT_ASCRIBE ? pat->u.ascribe.pat : pat->u.attr.pat;
  }
  return pat;
}

typedef struct NewParam {
  const AstPat *pat;
  int peel;
  VarVec *params;
} NewParam;

static Atom new_param(Elab *e, Atom leaf, const void *state) {
  const NewParam *p = state;
  bool named = p->pat && p->pat->kind == AST_PAT_NAME;
  Name name = named ? p->pat->u.name.name : name_of(e->c->names, "x");
  const Var *var = var_new(e->c, name, type_peel(atom_type(leaf), p->peel), e->b->loc);
  vec_push(p->params, var);
  return atom_var(var);
}

// A parameter for each leaf of `v`, with `peel` dimensions less, named as the pattern says.
static const Val *make_params(Elab *e, const Val *v, const AstPat *pat, int peel,
                              VarVec *params) {
  pat = bare(pat);
  bool is_tuple = pat && pat->kind == AST_PAT_TUPLE;
  if (!is_tuple || v->kind != VAL_RECORD)
    return val_map(e, v, new_param, &(NewParam){ pat, peel, params });
  const Val **items = new_array(const Val *, v->u.record.count);
  for (int i = 0; i < v->u.record.count; i++) {
    items[i] =
        make_params(e, v->u.record.items[i], pat->u.tuple.items.at[i], peel, params);
  }
  return val_record(v->u.record.names, items, v->u.record.count);
}

Atom elab_width(Elab *e, const Val *array, SizeIn declared) {
  Atom leaf;
  if (val_first_leaf(array, &leaf)) return atom_type(leaf).dims[0];
  if (!size_known(declared)) bug(e->c, e->b->loc, "the length of an array is not known");
  return size_eval(e, declared);
}

// ---- sizes that are computed inside of a map

typedef struct Needed {
  Map *vars;  // variables to be defined outside: Var -> itself
  int mark;   // what is numbered from here on is inside
} Needed;

static void need_atom(CoreVisitor *v, Atom a) {
  Needed *needed = v->state;
  if (a.kind == ATOM_VAR && a.u.var->id >= needed->mark)
    map_put(needed->vars, a.u.var, a.u.var);
}

static void need_body(CoreVisitor *v, const Body *body) {
  VarVec vars = core_free_body(body);
  vec_each (const Var **, var, &vars)
    need_atom(v, atom_var(*var));
}

static bool binds_needed(const Needed *needed, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++) {
    if (map_has(needed->vars, stm->binders[i])) return true;
  }
  return false;
}

// Moves what computes `dim` from the lambda's body out in front of it; false if it depends on the
// parameters.
static bool move_out(Elab *e, Builder *inner, const VarVec *params, int mark, Atom dim) {
  Needed needed = { map_new(NULL), mark };
  CoreVisitor visitor = { .atom = need_atom, .body = need_body, .state = &needed };
  need_atom(&visitor, dim);
  bool *moves = new_array(bool, inner->stms.count);
  for (int i = inner->stms.count - 1; i >= 0; i--) {
    moves[i] = binds_needed(&needed, &inner->stms.at[i]);
    if (moves[i]) core_visit_stm(&visitor, &inner->stms.at[i]);
  }
  vec_each (const Var **, param, params) {
    if (map_has(needed.vars, *param)) return false;
  }
  int kept = 0;
  for (int i = 0; i < inner->stms.count; i++) {
    Stm stm = inner->stms.at[i];
    if (moves[i])
      core_add_stm(e->b, stm);
    else
      inner->stms.at[kept++] = stm;
  }
  inner->stms.count = kept;
  return true;
}

typedef struct MapBody {
  Inner inner;
  int mark;
  VarVec params;
  const Val *result;
  AtomVec leaves;
} MapBody;

static _Noreturn void refuse_irregular(Elab *e) {
  error(e->c, e->b->loc,
        "irregular arrays: the size of the results differs from element to element");
  elab_stop(e);
}

static bool moved_out(const MapBody *m, Atom dim) {
  for (int i = 0; i < m->inner.b.stms.count; i++) {
    const Stm *stm = &m->inner.b.stms.at[i];
    for (int k = 0; k < stm->binder_count; k++) {
      if (stm->binders[k] == dim.u.var) return false;
    }
  }
  vec_each (const Var *const *, param, &m->params) {
    if (*param == dim.u.var) return false;
  }
  return true;
}

// The outer name of a dimension of a result.
static Atom outer_dim(Elab *e, MapBody *m, Atom dim, SizeIn declared) {
  if (atom_is_older(dim, m->mark) || moved_out(m, dim)) return dim;
  if (size_known(declared)) return size_eval(e, declared);
  if (!move_out(e, &m->inner.b, &m->params, m->mark, dim)) refuse_irregular(e);
  return dim;
}

// Gives the results of a map's body types that make sense outside.
static void fit_map_results(Elab *e, MapBody *m, TypeIn elem) {
  LeafSizesVec declared = val_sizes(e, elem, m->result);
  for (int i = 0; i < m->leaves.count; i++) {
    CoreType type = atom_type(m->leaves.at[i]);
    Atom *dims = new_array(Atom, type.rank);
    for (int k = 0; k < type.rank; k++) {
      SizeIn size = k < declared.at[i].count ? declared.at[i].at[k] : (SizeIn){ 0 };
      dims[k] = outer_dim(e, m, type.dims[k], size);
    }
    Builder *outer = e->b;
    e->b = &m->inner.b;
    m->leaves.at[i] = elab_fit(e, m->leaves.at[i], dims);
    e->b = outer;
  }
}

// ---- map

static const Val *bind_soac(Elab *e, const Val *shape, const Exp *exp, const char *name) {
  Atom *out = new_array(Atom, exp_result_count(exp));
  if (exp_result_count(exp)) core_let_n(e->b, name, exp, out);
  return val_rebuild(e, shape, out);
}

// The array whose rows a result of the map is, or -1.
static int passed_on(const MapBody *m, Atom result) {
  for (int i = 0; i < m->params.count; i++) {
    if (atom_equal(result, atom_var(m->params.at[i]))) return i;
  }
  return -1;
}

// Emits the map; a result that is a parameter needs none: it is the array.
static const Val *finish_map(Elab *e, const MapBody *m, Atom width, const AtomVec *arrays,
                             const char *name) {
  AtomVec computed = { 0 };
  vec_each (const Atom *, leaf, &m->leaves) {
    if (passed_on(m, *leaf) < 0) vec_push(&computed, *leaf);
  }
  Atom *out = new_array(Atom, computed.count), *all = new_array(Atom, m->leaves.count);
  Lambda fn = lambda_new(m->params.at, m->params.count,
                         core_body(&m->inner.b, computed.at, computed.count));
  if (computed.count)
    core_let_n(e->b, name ? name : "mapped",
               exp_map(width, fn, arrays->at, arrays->count), out);
  for (int i = 0; i < m->leaves.count; i++) {
    int array = passed_on(m, m->leaves.at[i]);
    all[i] = array < 0 ? *out++ : arrays->at[array];
  }
  return val_rebuild(e, m->result, all);
}

const Val *elab_map(Elab *e, const Val *const *args, Atom width, TypeIn elem,
                    const char *name) {
  const Val *f = args[0], *array = args[1];
  MapBody m = { 0 };
  AtomVec arrays = val_leaves(e, elab_fit_width(e, array, width));
  m.mark = e->c->next_id;
  elab_enter(e, &m.inner);
  const Val *row = make_params(e, array, next_param(f), 1, &m.params);
  m.result = elab_apply(e, f, &row, 1, NULL);
  m.leaves = val_leaves(e, m.result);
  elab_leave(e, &m.inner);
  fit_map_results(e, &m, elem);
  return finish_map(e, &m, width, &arrays, name);
}

// ---- reduce and scan

// The operator over the leaves of `row`, whose results take the types of the operands.
static Lambda op_lambda(Elab *e, const Val *op, const Val *row, int peel) {
  Inner inner;
  elab_enter(e, &inner);
  VarVec params = { 0 };
  const AstPat *left = next_param(op);
  const AstPat *right = NULL;
  if (left && op->u.closure->arg_count + 2 <= op->u.closure->arity) {
    right = op->u.closure->function->params.at[op->u.closure->arg_count + 1];
  }
  const Val *args[2];
  args[0] = make_params(e, row, left, peel, &params);
  args[1] = make_params(e, row, right, peel, &params);
  AtomVec leaves = val_leaves(e, elab_apply(e, op, args, 2, NULL));
  for (int i = 0; i < leaves.count; i++) {
    leaves.at[i] = elab_fit(e, leaves.at[i], params.at[i]->type.dims);
  }
  Lambda fn =
      lambda_new(params.at, params.count, core_body(&inner.b, leaves.at, leaves.count));
  elab_leave(e, &inner);
  return fn;
}

// The neutral element with the types of the array's rows.
static const Atom *fit_neutral(Elab *e, const Val *neutral, const AtomVec *arrays) {
  AtomVec leaves = val_leaves(e, neutral);
  for (int i = 0; i < leaves.count; i++) {
    leaves.at[i] = elab_fit(e, leaves.at[i], type_row(atom_type(arrays->at[i])).dims);
  }
  return leaves.at;
}

static Lambda identity(Elab *e, const Val *array) {
  Inner inner;
  elab_enter(e, &inner);
  VarVec params = { 0 };
  AtomVec leaves = val_leaves(e, make_params(e, array, NULL, 1, &params));
  Lambda fn =
      lambda_new(params.at, params.count, core_body(&inner.b, leaves.at, leaves.count));
  elab_leave(e, &inner);
  return fn;
}

static const Val *reduction(Elab *e, ExpKind kind, RedOp op, const Val *array,
                            const char *name) {
  AtomVec arrays = val_leaves(e, array);
  if (!arrays.count) return array;
  Soac soac = { .width = atom_type(arrays.at[0]).dims[0],
                .fn = identity(e, array),
                .arrays = arrays.at,
                .array_count = arrays.count,
                .ops = mem_copy(&op, sizeof op),
                .op_count = 1 };
  if (!name) name = kind == EXP_REDOMAP ? "reduced" : "scanned";
  return bind_soac(e, array, exp_soac(kind, soac), name);
}

static RedOp red_op(Elab *e, const Val *op, const Val *neutral, const Val *array) {
  AtomVec arrays = val_leaves(e, array);
  RedOp red = { .count = arrays.count };
  if (!arrays.count) return red;
  red.op = op_lambda(e, op, array, 1);
  red.neutral = fit_neutral(e, neutral, &arrays);
  red.commutative = lambda_commutes(&red.op);
  return red;
}

const Val *elab_reduce(Elab *e, const Val *const *args, bool comm, const char *name) {
  RedOp red = red_op(e, args[0], args[1], args[2]);
  red.commutative = red.commutative || comm;
  return reduction(e, EXP_REDOMAP, red, args[2], name);
}

const Val *elab_scan(Elab *e, const Val *const *args, const char *name) {
  RedOp red = red_op(e, args[0], args[1], args[2]);
  return reduction(e, EXP_SCANOMAP, red, args[2], name);
}

// ---- filter

const Val *elab_filter(Elab *e, const Val *const *args, const char *name) {
  const Val *p = args[0], *array = args[1];
  AtomVec arrays = val_leaves(e, array), results = { 0 };
  Inner inner;
  elab_enter(e, &inner);
  VarVec params = { 0 };
  const Val *row = make_params(e, array, next_param(p), 1, &params);
  vec_push(&results, val_scalar(e, elab_apply(e, p, &row, 1, NULL)));
  val_add_leaves(e, row, &results);
  const Body *body = core_body(&inner.b, results.at, results.count);
  elab_leave(e, &inner);
  Soac soac = { .width = atom_type(arrays.at[0]).dims[0],
                .fn = lambda_new(params.at, params.count, body),
                .arrays = arrays.at,
                .array_count = arrays.count };
  Atom *out = new_array(Atom, results.count);
  core_let_n(e->b, name ? name : "kept", exp_soac(EXP_FILTER, soac), out);
  return val_rebuild(e, array, out + 1);
}

// ---- scatter and histograms

static Lambda make_lambda(Inner *inner, const VarVec *params, const AtomVec *results) {
  return lambda_new(params->at, params->count,
                    core_body(&inner->b, results->at, results->count));
}

// \index values -> (index, value) for each destination
static Lambda scatter_lambda(Elab *e, const Val *indices, const Val *values) {
  Inner inner;
  elab_enter(e, &inner);
  VarVec params = { 0 };
  Atom index = val_scalar(e, make_params(e, indices, NULL, 1, &params));
  AtomVec row = val_leaves(e, make_params(e, values, NULL, 1, &params)), results = { 0 };
  vec_each (Atom *, value, &row) {
    vec_push(&results, index);
    vec_push(&results, *value);
  }
  Lambda fn = make_lambda(&inner, &params, &results);
  elab_leave(e, &inner);
  return fn;
}

const Val *elab_scatter(Elab *e, const Val *const *args, const char *name) {
  const Val *dest = args[0], *indices = args[1];
  AtomVec dests = val_leaves(e, dest), arrays = val_leaves(e, indices);
  Atom width = atom_type(arrays.at[0]).dims[0];
  const Val *values = elab_fit_width(e, args[2], width);
  val_add_leaves(e, values, &arrays);
  ScatterDest *targets = new_array(ScatterDest, dests.count);
  for (int i = 0; i < dests.count; i++)
    targets[i] = (ScatterDest){ dests.at[i], 1, false, false, false };
  const Exp *exp = new_node(Exp, .kind = EXP_SCATTER,
                            .u.scatter = { .width = width,
                                           .fn = scatter_lambda(e, indices, values),
                                           .arrays = arrays.at,
                                           .array_count = arrays.count,
                                           .dests = targets,
                                           .dest_count = dests.count });
  return bind_soac(e, dest, exp, name ? name : "scattered");
}

const Val *elab_hist(Elab *e, const Val *const *args, const char *name) {
  const Val *dest = args[0], *indices = args[3], *values = args[4];
  AtomVec dests = val_leaves(e, dest), arrays = val_leaves(e, indices);
  if (!dests.count) return dest;
  Atom width = atom_type(arrays.at[0]).dims[0];
  val_add_leaves(e, elab_fit_width(e, values, width), &arrays);
  HistOp *hist =
      new_node(HistOp, .dests = dests.at, .width = atom_type(dests.at[0]).dims[0],
               .op = red_op(e, args[1], args[2], dest));
  Inner inner;
  elab_enter(e, &inner);
  VarVec params = { 0 };
  AtomVec results = val_leaves(e, make_params(e, indices, NULL, 1, &params));
  val_add_leaves(e, make_params(e, values, NULL, 1, &params), &results);
  Lambda fn = make_lambda(&inner, &params, &results);
  elab_leave(e, &inner);
  const Exp *exp = new_node(Exp, .kind = EXP_HIST,
                            .u.hist = { .width = width,
                                        .fn = fn,
                                        .arrays = arrays.at,
                                        .array_count = arrays.count,
                                        .ops = hist,
                                        .op_count = 1 });
  return bind_soac(e, dest, exp, name ? name : "histogram");
}
