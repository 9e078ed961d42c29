#include "flat/nest.h"
#include "base/map.h"

const Nest *nest_level(const Nest *outer, Atom width) {
  return new_node(Nest, .kind = NEST_LEVEL, .outer = outer,
                  .depth = nest_depth(outer) + 1, .u.level = { width });
}

const Nest *nest_read(const Nest *outer, const Var *var, Atom array, int index_count) {
  return new_node(Nest, .kind = NEST_READ, .outer = outer, .depth = nest_depth(outer),
                  .u.read = { var, array, index_count });
}

const Nest *nest_index(const Nest *outer, const Var *var, int level) {
  return new_node(Nest, .kind = NEST_INDEX, .outer = outer, .depth = nest_depth(outer),
                  .u.index = { var, level, NULL });
}

const Nest *nest_position(const Nest *outer, const Var *var, const Var *iota) {
  return new_node(Nest, .kind = NEST_INDEX, .outer = outer, .depth = nest_depth(outer),
                  .u.index = { var, nest_depth(outer), iota });
}

const Nest *nest_stm(const Nest *outer, const Stm *stm) {
  return new_node(Nest, .kind = NEST_STM, .outer = outer, .depth = nest_depth(outer),
                  .u.stm = { stm });
}

int nest_depth(const Nest *nest) { return nest ? nest->depth : 0; }

static bool link_binds(const Nest *link, const Var *var) {
  if (link->kind == NEST_READ) return link->u.read.var == var;
  if (link->kind == NEST_INDEX) return link->u.index.var == var;
  if (link->kind == NEST_LEVEL) return false;
  const Stm *stm = link->u.stm.stm;
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i] == var) return true;
  return false;
}

bool nest_binds(const Nest *nest, const Var *var) {
  for (; nest; nest = nest->outer)
    if (link_binds(nest, var)) return true;
  return false;
}

bool nest_varies(const Nest *nest, Atom a) {
  return a.kind == ATOM_VAR && nest_binds(nest, a.u.var);
}

void nest_widths(const Nest *nest, Atom *out) {
  for (; nest; nest = nest->outer)
    if (nest->kind == NEST_LEVEL) out[nest->depth - 1] = nest->u.level.width;
}

const SizeExp *nest_par(const Nest *nest) {
  Atom *widths = new_array(Atom, nest_depth(nest) + 1);
  nest_widths(nest, widths);
  const SizeExp *par = NULL;
  for (int i = 0; i < nest_depth(nest); i++) {
    const SizeExp *width = size_exp_atom(widths[i]);
    par = par ? size_exp_op(SIZE_EXP_MUL, par, width) : width;
  }
  return par;
}

bool nest_origin(const Nest *nest, const Var *var, Atom *array, int *index_count) {
  int depth = nest_depth(nest);
  int covered = 0;  // innermost levels whose indices are accounted for
  for (; nest; nest = nest->outer) {
    if (!link_binds(nest, var)) continue;
    if (nest->kind != NEST_READ) return false;
    // Are the levels read here exactly those next to the ones already covered?
    if (nest->depth != depth - covered) return false;
    covered += nest->u.read.index_count;
    *array = nest->u.read.array;
    *index_count = covered;
    if (array->kind != ATOM_VAR) return false;
    var = array->u.var;
    if (!nest_binds(nest->outer, var)) return true;
  }
  return false;
}

// ---- manifesting

typedef struct Manifest {
  Compiler *c;
  Map *needed;    // variables that the body or a later link reads
  Vec(Stm) stms;  // innermost first
  SegDim *dims;   // by depth
} Manifest;

static void need_var(Manifest *m, const Var *var) { map_put(m->needed, var, var); }

static void need_atom(Manifest *m, Atom a) {
  if (a.kind == ATOM_VAR) need_var(m, a.u.var);
}

static void need_all(Manifest *m, VarVec vars) {
  vec_each (const Var **, v, &vars)
    need_var(m, *v);
}

static void manifest_level(Manifest *m, const Nest *link) {
  const Var *index =
      var_new(m->c, name_of(m->c->names, "i"), type_scalar(PRIM_I64), (Loc){ 0 });
  m->dims[link->depth - 1] = (SegDim){ index, link->u.level.width };
}

static void manifest_read(Manifest *m, const Nest *link) {
  if (!map_has(m->needed, link->u.read.var)) return;
  int count = link->u.read.index_count;
  Atom *indices = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    indices[i] = atom_var(m->dims[link->depth - count + i].index);
  const Var **binder = new (const Var *);
  *binder = link->u.read.var;
  need_atom(m, link->u.read.array);
  vec_push(&m->stms,
           (Stm){ .binders = binder,
                  .binder_count = 1,
                  .loc = (*binder)->loc,
                  .exp = exp_index(link->u.read.array, indices, count, false) });
}

static void manifest_index(Manifest *m, const Nest *link) {
  if (!map_has(m->needed, link->u.index.var)) return;
  const Var **binder = new (const Var *);
  *binder = link->u.index.var;
  Atom position = atom_var(m->dims[link->u.index.level - 1].index);
  vec_push(&m->stms,
           (Stm){ .binders = binder, .binder_count = 1, .exp = exp_atom(position) });
}

static void manifest_stm(Manifest *m, const Nest *link) {
  const Stm *stm = link->u.stm.stm;
  bool needed = false;
  for (int i = 0; i < stm->binder_count; i++)
    needed = needed || map_has(m->needed, stm->binders[i]);
  if (!needed) return;
  need_all(m, core_free_exp(stm->exp));
  for (int i = 0; i < stm->binder_count; i++)
    for (int d = 0; d < stm->binders[i]->type.rank; d++)
      need_atom(m, stm->binders[i]->type.dims[d]);
  vec_push(&m->stms, *stm);
}

// Index variables are needed by reads further in: make them before the links that use them.
static void manifest_levels(Manifest *m, const Nest *nest) {
  for (; nest; nest = nest->outer)
    if (nest->kind == NEST_LEVEL) manifest_level(m, nest);
}

static const Body *manifest_body(Manifest *m, const Nest *nest, const Body *body) {
  need_all(m, core_free_body(body));
  for (; nest; nest = nest->outer) {
    if (nest->kind == NEST_READ) manifest_read(m, nest);
    if (nest->kind == NEST_INDEX) manifest_index(m, nest);
    if (nest->kind == NEST_STM) manifest_stm(m, nest);
  }
  Stm *stms = new_array(Stm, m->stms.count + body->stm_count);
  for (int i = 0; i < m->stms.count; i++)
    stms[i] = m->stms.at[m->stms.count - 1 - i];
  for (int i = 0; i < body->stm_count; i++)
    stms[m->stms.count + i] = body->stms[i];
  const Body *whole =
      new_node(Body, .stms = stms, .stm_count = m->stms.count + body->stm_count,
               .results = body->results, .result_count = body->result_count);
  return core_rename_body(m->c, subst_new(), whole);
}

static const RedOp *rename_ops(Compiler *c, const RedOp *ops, int count) {
  RedOp *out = new_array(RedOp, count);
  for (int i = 0; i < count; i++) {
    out[i] = ops[i];
    out[i].op = core_rename_lambda(c, subst_new(), ops[i].op);
  }
  return out;
}

static const HistOp *rename_hists(Compiler *c, const HistOp *hists, int count) {
  HistOp *out = new_array(HistOp, count);
  for (int i = 0; i < count; i++) {
    out[i] = hists[i];
    out[i].op.op = core_rename_lambda(c, subst_new(), hists[i].op.op);
  }
  return out;
}

const SegOp *nest_manifest(Compiler *c, const Nest *nest, const SegOp *like,
                           const Body *body) {
  Manifest m = { .c = c, .needed = map_new(NULL) };
  m.dims = new_array(SegDim, nest_depth(nest));
  manifest_levels(&m, nest);
  SegOp *seg = mem_copy(like, sizeof *like);
  seg->dims = m.dims;
  seg->dim_count = nest_depth(nest);
  seg->body = manifest_body(&m, nest, body);
  seg->ops = rename_ops(c, like->ops, like->op_count);
  seg->hists = rename_hists(c, like->hists, like->hist_count);
  return seg;
}

// ---- putting a level back

typedef struct PutBack {
  Compiler *c;
  VarVec params;
  AtomVec arrays;
  Vec(Stm) stms;      // innermost first
  const Nest *extra;  // rows of arrays that were read over several levels
} PutBack;

// x = A[.., i2, i1] becomes a parameter x of the map over A' = A[.., i2].
static Atom outer_row(PutBack *p, const Nest *link) {
  if (link->u.read.index_count == 1) return link->u.read.array;
  const Var *var = link->u.read.var;
  Atom array = link->u.read.array;
  CoreType row = type_peel(atom_type(array), link->u.read.index_count - 1);
  const Var *rows = var_new(p->c, var->name, row, var->loc);
  p->extra = nest_read(p->extra, rows, array, link->u.read.index_count - 1);
  return atom_var(rows);
}

static void put_back_link(PutBack *p, const Nest *link) {
  if (link->kind == NEST_STM) {
    vec_push(&p->stms, *link->u.stm.stm);
    return;
  }
  if (link->kind == NEST_INDEX) {
    // Without an iota it was made for one seg-op, and what is put back does not need it.
    if (!link->u.index.iota) return;
    vec_push(&p->params, link->u.index.var);
    vec_push(&p->arrays, atom_var(link->u.index.iota));
    return;
  }
  vec_push(&p->params, link->u.read.var);
  vec_push(&p->arrays, outer_row(p, link));
}

const Nest *nest_put_back(Compiler *c, const Nest *nest, const Body *body,
                          const Exp **map) {
  PutBack p = { .c = c };
  const Nest *level = nest;
  while (level->kind != NEST_LEVEL)
    level = level->outer;
  p.extra = level->outer;
  for (; nest != level; nest = nest->outer)
    put_back_link(&p, nest);
  Stm *stms = new_array(Stm, p.stms.count + body->stm_count);
  for (int i = 0; i < p.stms.count; i++)
    stms[i] = p.stms.at[p.stms.count - 1 - i];
  for (int i = 0; i < body->stm_count; i++)
    stms[p.stms.count + i] = body->stms[i];
  const Body *whole =
      new_node(Body, .stms = stms, .stm_count = p.stms.count + body->stm_count,
               .results = body->results, .result_count = body->result_count);
  *map = exp_map(level->u.level.width, lambda_new(p.params.at, p.params.count, whole),
                 p.arrays.at, p.arrays.count);
  return p.extra;
}
