// segmap1 <i < n> { .. let r = segred0 <j < m> op {e} in {r} }
//   =>  segred1 <i < n> <j < m> op { .. e}
//
// and likewise segmap0, if its elements take loops, or rows of a few words.
//
// Needs, keeps: Flat, whose other promises hold.
// Why: code for GPUs.  A group of which only one operation is wanted has nothing to share: without
// it short rows come several to a group, and what neighbouring items read can be laid out for them.
// What a group computes before its operation is computed again for each element, so it must be
// little.  Scans stay: in a group each element is read and written once, which several groups to a
// segment cannot always do.
#include "core/passes.h"
#include "flat/spaces.h"

enum { MOST_WORK = 48 };  // of what is computed again, in statements

// The body's only seg-op; NULL if there are others, or others' results are wanted.
static const Stm *lone_seg(const Body *body) {
  const Stm *last = body->stm_count ? &body->stms[body->stm_count - 1] : NULL;
  if (!last || last->exp->kind != EXP_SEG || last->binder_count != body->result_count)
    return NULL;
  for (int i = 0; i < body->result_count; i++)
    if (!atom_equal(body->results[i], atom_var(last->binders[i]))) return NULL;
  return last;
}

static bool is_bound_in(const Body *body, Atom a) {
  for (int i = 0; a.kind == ATOM_VAR && i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == a.u.var) return true;
  return false;
}

// The same space for all groups, that certainly has points if there may be failures before it?
static bool is_regular(const SegOp *group, const SegOp *inner, bool fails) {
  for (int d = 0; d < inner->dim_count; d++) {
    Atom width = inner->dims[d].width;
    bool some = width.kind == ATOM_CONST && width.u.constant.u.i > 0;
    if (fails && !some) return false;
    if (is_bound_in(group->body, width)) return false;
    for (int k = 0; k < group->dim_count; k++)
      if (atom_equal(width, atom_var(group->dims[k].index))) return false;
  }
  return true;
}

static bool operators_vary(const SegOp *group, const SegOp *inner) {
  SegOp only = *inner;
  only.body = new_node(Body, .stm_count = 0);
  VarVec free = core_free_exp(exp_seg(&only));
  vec_each (const Var *const *, v, &free) {
    if (is_bound_in(group->body, atom_var(*v))) return true;
    for (int k = 0; k < group->dim_count; k++)
      if (group->dims[k].index == *v) return true;
  }
  return false;
}

// Does a point read a row word by word: xsss[i, j, 2]?
static bool reads_rows_of_few(const SegOp *group, const SegOp *inner) {
  for (int i = 0; i < inner->body->stm_count; i++) {
    const Exp *e = inner->body->stms[i].exp;
    int count = e->kind == EXP_INDEX ? e->u.index.dim_count : 0;
    if (count > group->dim_count + inner->dim_count &&
        e->u.index.dims[count - 1].start.kind == ATOM_CONST)
      return true;
  }
  return false;
}

// What has no loops is one of the flat version's maps already, and may want other layouts there.
static bool suits(const SegOp *group, const SegOp *inner) {
  return inner->kind == SEG_RED ||
         (inner->kind == SEG_MAP &&
          (flat_has_loops(inner->body) || reads_rows_of_few(group, inner)));
}

static const SegOp *without_group(Compiler *c, const SegOp *group, const SegOp *inner) {
  SegOp *out = mem_copy(inner, sizeof *inner);
  SegDim *dims = new_array(SegDim, group->dim_count + inner->dim_count);
  for (int d = 0; d < group->dim_count + inner->dim_count; d++)
    dims[d] = d < group->dim_count ? group->dims[d] : inner->dims[d - group->dim_count];
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < group->body->stm_count - 1; i++)
    core_add_stm(&b, group->body->stms[i]);
  core_add_body(&b, inner->body);
  out->body = core_body(&b, inner->body->results, inner->body->result_count);
  out->level = 1;
  out->dims = dims;
  out->dim_count = group->dim_count + inner->dim_count;
  return out;
}

static void add_without_group(void *state, Builder *b, const Body *body, int position) {
  Compiler *c = state;
  Stm stm = body->stms[position];
  const SegOp *group = stm.exp->u.seg;
  const Stm *lone = lone_seg(group->body);
  const SegOp *inner = lone ? lone->exp->u.seg : NULL;
  bool fits = inner && suits(group, inner);
  Body before = *group->body;
  before.stm_count -= fits;
  if (fits && flat_takes_little(&before, MOST_WORK) &&
      is_regular(group, inner, flat_may_fail(&before)) && !operators_vary(group, inner))
    stm.exp = exp_seg(without_group(c, group, inner));
  core_add_stm(b, stm);
}

const Core *flat_without_lone_groups(Compiler *c, const Core *flat) {
  return flat_rewrite_maps(c, flat, add_without_group, c);
}
