// let ys = segmap <i < n> <j < m> { let xs = xsss[i, j, :]  .. in {y} }
//   =>  let xss = reshape [n * m][k] xsss
//       let y = segmap <p < n * m> { let xs = xss[p, :]  .. in {y} }   let ys = reshape [n][m] y
//
// where points go through rows of arrays, or make rows, that are theirs in all of the space.
//
// Needs, keeps: Flat, whose other promises hold.
// Why: code for GPUs.  Groups copy the rows of 32 to 256 neighbouring points to local memory, in
// the order in which they lie (kern/schedules/group_rows.c, imp/lower/short_rows.c): a batch of few
// rows does not fill a group, but those of all batches do.  What points of a batch share (vectors
// that a matrix is multiplied with, rows of attention) groups stage where a batch fills them.
#include "base/map.h"
#include "core/passes.h"
#include "flat/spaces.h"

enum { FULL_GROUP = 64 };

// An array with so many of its outer dimensions as one.
typedef struct JoinedView {
  int dims;
  const Var *view;  // NULL: it is wanted, and made where the array is bound
} JoinedView;
typedef Vec(JoinedView) JoinedViews;

typedef struct SpaceJoining {
  Compiler *c;
  Map *apart;  // Var -> itself: arrays of the host that may not lie in one piece
  Map *views;  // Var -> JoinedViews *
  const Var *const *params;  // of the host's body that comes next
  int param_count;
} SpaceJoining;

typedef struct JoinedSpace {
  SpaceJoining *s;
  const Stm *stm;
  const SegOp *seg;
  Map *own;       // Var -> itself: bound in the body
  Map *by_inner;  // Var -> itself: made of the innermost index
  int depth;      // of bodies in the body
  bool in_inner;  // in what is made of that index
  bool rows;      // points have rows
  bool shared;    // points with the same outer indices read the same rows
  bool refused;   // points with the same inner index do
  VarVec arrays;  // that they read at their place
} JoinedSpace;

// ---- what suits

static bool is_index_of_space(const JoinedSpace *j, Atom a, int dim) {
  return atom_equal(a, atom_var(j->seg->dims[dim].index));
}

// xss[i, j, ..] in the order of the space, of an array that is no larger than it within.
static bool reads_at_point(const JoinedSpace *j, const Exp *e) {
  if (e->kind != EXP_INDEX || map_has(j->own, e->u.index.array.u.var)) return false;
  CoreType type = atom_type(e->u.index.array);
  if (type.rank < j->seg->dim_count || map_has(j->s->apart, e->u.index.array.u.var))
    return false;
  for (int d = 0; d < j->seg->dim_count; d++) {
    const DimIndex *at = &e->u.index.dims[d];
    if (at->is_slice || !is_index_of_space(j, at->start, d)) return false;
    if (d && !atom_equal(type.dims[d], j->seg->dims[d].width)) return false;
  }
  return true;
}

static bool is_outer_index(const JoinedSpace *j, Atom a) {
  for (int d = 0; d < j->seg->dim_count - 1; d++)
    if (is_index_of_space(j, a, d)) return true;
  return false;
}

static bool is_by_inner(const JoinedSpace *j, Atom a) {
  return is_index_of_space(j, a, j->seg->dim_count - 1) ||
         (a.kind == ATOM_VAR && map_has(j->by_inner, a.u.var));
}

typedef struct InnerUse {
  const JoinedSpace *j;
  bool found;
} InnerUse;

static void see_inner_use(CoreVisitor *v, Atom a) {
  InnerUse *use = v->state;
  use->found = use->found || is_by_inner(use->j, a);
}

static void see_inner_uses(CoreVisitor *v, const Body *body) { core_visit_body(v, body); }

static bool uses_inner_index(const JoinedSpace *j, const Exp *e) {
  InnerUse use = { .j = j };
  CoreVisitor v = { .atom = see_inner_use, .body = see_inner_uses, .state = &use };
  core_visit_exp(&v, e);
  return use.found;
}

// Does it give a row, or stand in a loop, at the outer indices alone?
static bool reads_shared_row(const JoinedSpace *j, const Stm *stm) {
  const Exp *e = stm->exp;
  bool outer = false;
  for (int d = 0; e->kind == EXP_INDEX && d < e->u.index.dim_count; d++)
    outer = outer || is_outer_index(j, e->u.index.dims[d].start);
  return outer && (j->depth > 1 || stm->binders[0]->type.rank > 0);
}

// Rows by the inner index alone are the same for points of other batches: those are for blocks
// (kern/schedules/groups.c), and windows for strips.
static bool reads_by_inner(const JoinedSpace *j, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_INDEX || map_has(j->own, e->u.index.array.u.var)) return false;
  bool one = e->u.index.dim_count == 1 && j->depth == 1 && !stm->binders[0]->type.rank;
  return !one && uses_inner_index(j, e);
}

static void see_point_read(JoinedSpace *j, const Exp *e) {
  vec_push(&j->arrays, e->u.index.array.u.var);
  j->rows = j->rows || e->u.index.dim_count > j->seg->dim_count;
}

static void note_bound(JoinedSpace *j, const Var *var, bool by_inner) {
  map_put(j->own, var, var);
  if (by_inner) map_put(j->by_inner, var, var);
}

static void see_point_stm(CoreVisitor *v, const Stm *stm) {
  JoinedSpace *j = v->state;
  bool around = j->in_inner;
  j->in_inner = around || uses_inner_index(j, stm->exp);
  j->shared = j->shared || reads_shared_row(j, stm);
  j->refused = j->refused || reads_by_inner(j, stm);
  for (int k = 0; k < stm->binder_count; k++)
    note_bound(j, stm->binders[k], j->in_inner);
  core_visit_exp(v, stm->exp);
  j->in_inner = around;
}

static void see_point_body(CoreVisitor *v, const Body *body) {
  JoinedSpace *j = v->state;
  j->depth++;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (!reads_at_point(j, stm->exp)) {
      see_point_stm(v, stm);
      continue;
    }
    see_point_read(j, stm->exp);
    note_bound(j, stm->binders[0], false);
  }
  j->depth--;
}

static void see_point_binder(CoreVisitor *v, const Var *var) {
  JoinedSpace *j = v->state;
  note_bound(j, var, j->in_inner);
}

static bool is_rearranged(const Body *body, int position, const Var *var) {
  for (int i = position + 1; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (e->kind == EXP_REARRANGE && atom_equal(e->u.rearrange.array, atom_var(var)))
      return true;
  }
  return false;
}

static JoinedSpace joined_space(SpaceJoining *s, const Stm *stm) {
  return (
      JoinedSpace){ .s = s, .stm = stm, .own = map_new(NULL), .by_inner = map_new(NULL) };
}

static bool may_join(JoinedSpace *j, const Body *body, int position) {
  const Exp *e = j->stm->exp;
  j->seg = e->kind == EXP_SEG ? e->u.seg : NULL;
  if (!j->seg || j->seg->kind != SEG_MAP || j->seg->level != 1 || j->seg->dim_count < 2 ||
      flat_has_inner_seg(j->seg))
    return false;
  for (int i = 0; i < j->stm->binder_count; i++) {
    const Var *binder = j->stm->binders[i];
    j->rows = j->rows || binder->type.rank > j->seg->dim_count;
    if (is_rearranged(body, position, binder)) return false;
  }
  CoreVisitor v = { .body = see_point_body, .binder = see_point_binder, .state = j };
  see_point_body(&v, j->seg->body);
  Atom width = j->seg->dims[j->seg->dim_count - 1].width;
  bool full = width.kind == ATOM_CONST && width.u.constant.u.i >= FULL_GROUP;
  return j->rows && !j->refused && !(j->shared && full);
}

// ---- views of arrays, made where these are bound

static JoinedViews *views_of(const SpaceJoining *s, const Var *array) {
  JoinedViews *views = map_get(s->views, array);
  if (!views) map_put(s->views, array, views = new (JoinedViews));
  return views;
}

static JoinedView *view_of_array(const SpaceJoining *s, const Var *array, int dims) {
  JoinedViews *views = views_of(s, array);
  vec_each (JoinedView *, view, views)
    if (view->dims == dims) return view;
  vec_push(views, (JoinedView){ dims, NULL });
  return &views->at[views->count - 1];
}

// [n][m]row  =>  [n * m]row
static Atom joined_view(Builder *b, const Var *array, int count) {
  CoreType type = array->type;
  int rank = type.rank - count + 1;
  Atom *dims = new_array(Atom, rank);
  dims[0] = type.dims[0];
  for (int d = 1; d < count; d++)
    dims[0] = size_mul(b, dims[0], type.dims[d]);
  for (int d = 1; d < rank; d++)
    dims[d] = type.dims[count - 1 + d];
  return core_let(b, array->name, exp_reshape(dims, rank, atom_var(array)));
}

static void add_views(const SpaceJoining *s, Builder *b, const Var *array) {
  if (!map_has(s->views, array)) return;
  vec_each (JoinedView *, view, views_of(s, array))
    view->view = joined_view(b, array, view->dims).u.var;
}

// ---- the seg-op

typedef struct JoinedBody {
  const JoinedSpace *j;
  Atom point;
} JoinedBody;

static const Exp *read_at_joined(const JoinedBody *x, const Exp *e) {
  int count = x->j->seg->dim_count, rank = e->u.index.dim_count - count + 1;
  Exp *out = mem_copy(e, sizeof *e);
  DimIndex *dims = new_array(DimIndex, rank);
  dims[0] = (DimIndex){ .start = x->point };
  for (int d = 1; d < rank; d++)
    dims[d] = e->u.index.dims[count - 1 + d];
  out->u.index.array =
      atom_var(view_of_array(x->j->s, e->u.index.array.u.var, count)->view);
  out->u.index.dims = dims;
  out->u.index.dim_count = rank;
  return out;
}

static const Body *joined_body(CoreMapper *m, const Body *body) {
  const JoinedBody *x = m->state;
  Body *out = mem_copy(body, sizeof *body);
  Stm *stms = new_array(Stm, body->stm_count + 1);
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    stms[i] = body->stms[i];
    stms[i].exp = reads_at_point(x->j, e) ? read_at_joined(x, e) : core_map_exp(m, e);
  }
  out->stms = stms;
  return out;
}

// The outer indices of a point, whose number in the space is `point`.
static void find_outer_indices(const JoinedSpace *j, Builder *host, Builder *b,
                               Atom point, Subst *subst) {
  for (int d = j->seg->dim_count - 1; d > 0; d--) {
    Atom by = flat_divisor(host, j->seg->dims[d].width);
    Atom rest = core_let(b, "row", exp_op2(OP_QUOT, point, by));
    Atom whole = core_let(b, "whole", exp_op2(OP_MUL, rest, by));
    Atom at = core_let(b, "column", exp_op2(OP_SUB, point, whole));
    subst_put(subst, j->seg->dims[d].index, at);
    point = rest;
  }
  subst_put(subst, j->seg->dims[0].index, point);
}

static const SegOp *joined_seg(const JoinedSpace *j, Builder *host) {
  Compiler *c = j->s->c;
  SegOp *out = mem_copy(j->seg, sizeof *j->seg);
  SegDim *dim = new (SegDim);
  Builder b = builder_new(c, j->stm->loc);
  Subst *subst = subst_new();
  *dim = j->seg->dims[0];
  dim->index = var_like(c, dim->index);
  for (int d = 1; d < j->seg->dim_count; d++)
    dim->width = size_mul(host, dim->width, j->seg->dims[d].width);
  JoinedBody x = { j, atom_var(dim->index) };
  CoreMapper m = { .body = joined_body, .state = &x };
  find_outer_indices(j, host, &b, x.point, subst);
  const Body *body = core_rename_body(c, subst, joined_body(&m, j->seg->body));
  for (int i = 0; i < body->stm_count; i++)
    core_add_stm(&b, body->stms[i]);
  out->body = dead_body(c, core_body(&b, body->results, body->result_count));
  out->dims = dim;
  out->dim_count = 1;
  return out;
}

static Atom *add_joined(const JoinedSpace *j, Builder *b) {
  int count = j->stm->binder_count;
  Atom *made = new_array(Atom, count + 1), *out = new_array(Atom, count + 1);
  const SegOp *seg = joined_seg(j, b);
  core_let_n(b, "joined", exp_seg(seg), made);
  for (int i = 0; i < count; i++) {
    CoreType type = j->stm->binders[i]->type;
    out[i] =
        core_let(b, j->stm->binders[i]->name, exp_reshape(type.dims, type.rank, made[i]));
  }
  return out;
}

// if m < 64 { the dimensions as one } else { as it was }
static const Exp *joined_if_narrow(const JoinedSpace *j, Atom narrow) {
  Builder yes = builder_new(j->s->c, j->stm->loc), no = yes;
  yes.attrs = no.attrs = j->stm->attrs;
  int count = j->stm->binder_count;
  Atom *made = new_array(Atom, count + 1);
  core_let_n(&no, "apart", j->stm->exp, made);
  return exp_if(narrow, core_body(&yes, add_joined(j, &yes), count),
                core_body(&no, made, count));
}

static void join_space(const JoinedSpace *j, Builder *b) {
  Atom width = j->seg->dims[j->seg->dim_count - 1].width;
  if (j->shared && width.kind == ATOM_VAR) {
    Atom narrow = core_let(b, "narrow", exp_op2(OP_LT, width, atom_i64(FULL_GROUP)));
    core_let_vars(b, j->stm->binders, j->stm->binder_count, joined_if_narrow(j, narrow));
    return;
  }
  Atom *made = add_joined(j, b);
  for (int i = 0; i < j->stm->binder_count; i++)
    core_let_vars(b, j->stm->binders + i, 1, exp_atom(made[i]));
}

// ---- the host's code

static bool is_part(const Exp *e, int d) {
  const DimIndex *at = &e->u.index.dims[d];
  bool forward = at->stride.kind == ATOM_CONST && at->stride.u.constant.u.i == 1;
  bool all = atom_equal(at->count, atom_type(e->u.index.array).dims[d]);
  return at->is_slice && !(forward && all);
}

// Rows of a slice by columns, or of an array in another order, lie apart.
static void note_apart(const SpaceJoining *s, const Stm *stm) {
  const Exp *e = stm->exp;
  bool apart = e->kind == EXP_REARRANGE;
  for (int d = 1; e->kind == EXP_INDEX && d < e->u.index.dim_count; d++)
    apart = apart || is_part(e, d);
  for (int i = 0; apart && i < stm->binder_count; i++)
    map_put(s->apart, stm->binders[i], stm->binders[i]);
}

// Notes which views are wanted.
static void see_host_body(CoreVisitor *v, const Body *body) {
  SpaceJoining *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    JoinedSpace j = joined_space(s, stm);
    note_apart(s, stm);
    if (may_join(&j, body, i))
      vec_each (const Var **, array, &j.arrays)
        view_of_array(s, *array, j.seg->dim_count);
    if (stm->exp->kind != EXP_SEG) core_visit_exp(v, stm->exp);
  }
}

static const Exp *join_inside(CoreMapper *m, const Exp *e) {
  SpaceJoining *s = m->state;
  if (e->kind != EXP_IF && e->kind != EXP_GUARD && e->kind != EXP_LOOP) return e;
  s->param_count = 0;
  if (e->kind == EXP_LOOP) {
    s->params = e->u.loop.params;
    s->param_count = e->u.loop.param_count;
  }
  return core_map_exp(m, e);
}

static const Body *join_host_body(CoreMapper *m, const Body *body) {
  SpaceJoining *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < s->param_count; i++)
    add_views(s, &b, s->params[i]);
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    JoinedSpace j = joined_space(s, &body->stms[i]);
    b.loc = stm.loc;
    b.attrs = stm.attrs;
    if (may_join(&j, body, i)) {
      join_space(&j, &b);
    } else {
      stm.exp = join_inside(m, stm.exp);
      core_add_stm(&b, stm);
    }
    for (int k = 0; k < stm.binder_count; k++)
      add_views(s, &b, stm.binders[k]);
  }
  return core_body(&b, body->results, body->result_count);
}

const Core *flat_join_spaces(Compiler *c, const Core *flat) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  SpaceJoining s = { .c = c, .apart = map_new(NULL), .views = map_new(NULL) };
  CoreVisitor v = { .body = see_host_body, .state = &s };
  CoreMapper m = { .body = join_host_body, .state = &s };
  for (int i = 0; i < flat->entry_count; i++) {
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    see_host_body(&v, entry->body);
    s.params = entry->params;
    s.param_count = entry->param_count;
    entry->body = join_host_body(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
