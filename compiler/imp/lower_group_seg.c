// Seg-ops of level 0: their points shared among the items of a work-group, whatever its size.
#include "imp/lower_group.h"

static const Arr **alloc_outs(Group *g, const Stm *stm, int from) {
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  for (int i = from; i < stm->binder_count; i++) {
    Arr out = group_alloc_for(g, stm->binders[i]);
    outs[i] = mem_copy(&out, sizeof out);
  }
  return outs;
}

static void bind_outs(Group *g, const Stm *stm, const Arr *const *outs) {
  for (int i = 0; i < stm->binder_count; i++)
    if (outs[i]) code_bind(&g->k, stm->binders[i], *outs[i]);
}

// The body at one point, `depth` index variables bound: results from `from` on are stored.
static void run_point(Code *k, const SegOp *seg, const Arr *const *outs, int from,
                      const ImpExp **scalars) {
  int count = seg->body->result_count;
  const Arr **dests = new_array(const Arr *, count + 1);
  const ImpExp *const *indices = space_indices(seg->dims, seg->dim_count);
  for (int i = from; i < count; i++)
    if (outs[i]->rank > seg->dim_count)
      dests[i] = element_of(outs[i], indices, seg->dim_count);
  seq_body(k, seg->body, scalars, dests);
  for (int i = from; i < count; i++)
    if (outs[i]->rank == seg->dim_count)
      imp_store(k->b, outs[i]->mem, arr_index(outs[i], indices), scalars[i]);
}

static void group_segmap(Group *g, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  const Arr **outs = alloc_outs(g, stm, 0);
  group_barrier_if_dirty(g);
  ImpBuilder b;
  GroupPoints p = points_open(g, &b, space_size(seg->dims, seg->dim_count), false);
  bind_space(&p.item, seg->dims, seg->dim_count, p.at);
  run_point(&p.item, seg, outs, 0,
            new_array(const ImpExp *, seg->body->result_count + 1));
  points_close(g, &p, false);
  group_barrier(g);
  bind_outs(g, stm, outs);
}

// ---- reductions and scans

typedef struct GroupRed {
  Group *g;
  const Stm *stm;
  const SegOp *seg;
  int reds;
  const Arr **outs;
  const Mem **parts;  // a partial result per item and value
} GroupRed;

static GroupRed red_new(Group *g, const Stm *stm) {
  GroupRed r = { .g = g, .stm = stm, .seg = stm->exp->u.seg };
  for (int i = 0; i < r.seg->op_count; i++)
    r.reds += r.seg->ops[i].count;
  r.parts = new_array(const Mem *, r.reds + 1);
  return r;
}

static void store_values(const GroupRed *r, Code *k, Accs accs,
                         const ImpExp *const *indices, int rank) {
  const ImpExp *const *values = accs_values(accs);
  for (int i = 0; i < r->reds; i++) {
    Arr at = arr_peel(r->outs[i], indices, rank);
    imp_store(k->b, at.mem, at.offset, values[i]);
  }
}

// One element: the innermost index is bound to `at`, the body run, its values accumulated; a scan
// stores what it has so far.
static void accumulate(const GroupRed *r, Code *k, const ImpExp *at, Accs accs) {
  const SegOp *seg = r->seg;
  code_bind_scalar(k, seg->dims[seg->dim_count - 1].index, at);
  const ImpExp **scalars = new_array(const ImpExp *, seg->body->result_count + 1);
  run_point(k, seg, r->outs, r->reds, scalars);
  accs_apply(k, accs, scalars);
  if (seg->kind == SEG_SCAN)
    store_values(r, k, accs, space_indices(seg->dims, seg->dim_count), seg->dim_count);
}

static void alloc_parts(GroupRed *r) {
  for (int i = 0; i < r->reds; i++) {
    PrimType elem = r->seg->body->results[i].kind == ATOM_VAR
                        ? r->seg->body->results[i].u.var->type.elem
                        : r->seg->body->results[i].u.constant.type;
    r->parts[i] = mem_new(r->g->k.lower->c, "parts", MEM_LOCAL, elem);
    vec_push(r->g->k.scratch, (Scratch){ .mem = r->parts[i], .count = r->g->group_size });
  }
}

// Each item accumulates its points and stores the outcome in `parts`.
static Accs own_part(const GroupRed *r, bool in_order) {
  Group *g = r->g;
  ImpBuilder b;
  Accs accs = accs_new(&g->k, r->seg->ops, r->seg->op_count);
  GroupPoints p = points_open(g, &b, imp_atom(r->seg->dims[0].width), in_order);
  accumulate(r, &p.item, p.at, accs);
  points_close(g, &p, r->seg->kind == SEG_RED);
  const ImpExp *const *values = accs_values(accs);
  for (int i = 0; i < r->reds; i++)
    imp_store(g->k.b, r->parts[i], imp_item(ITEM_LOCAL_ID), values[i]);
  group_barrier(g);
  return accs;
}

// The parts of the first `count` items, combined by every item for itself: no second barrier, and
// on a CPU as fast as a tree (docs/opencl.md, "Reductions").
static Accs combine_parts(const GroupRed *r, const ImpExp *count) {
  Group *g = r->g;
  Accs accs = accs_new(&g->k, r->seg->ops, r->seg->op_count);
  const Var *i = code_index(&g->k, "i");
  ImpBuilder b;
  Code round = code_inner(&g->k, &b);
  round.active = NULL;
  const ImpExp **values = new_array(const ImpExp *, r->reds + 1);
  for (int v = 0; v < r->reds; v++)
    values[v] = imp_load(r->parts[v], imp_var(i));
  accs_apply(&round, accs, values);
  imp_for(g->k.b, i, count, b.block);
  g->dirty = true;
  return accs;
}

static void group_segred(Group *g, const Stm *stm) {
  GroupRed r = red_new(g, stm);
  r.outs = alloc_outs(g, stm, r.reds);
  group_barrier_if_dirty(g);
  alloc_parts(&r);
  own_part(&r, !seg_commutes(r.seg));
  Accs total = combine_parts(&r, imp_item(ITEM_LOCAL_SIZE));
  const ImpExp *const *values = accs_values(total);
  for (int i = 0; i < r.reds; i++)
    code_bind_scalar(&g->k, stm->binders[i], values[i]);
  bind_outs(g, stm, r.outs);
}

// out[j] = op before out[j] for the item's own points.
static void add_before(const GroupRed *r, Accs before) {
  Group *g = r->g;
  ImpBuilder b;
  GroupPoints p = points_open(g, &b, imp_atom(r->seg->dims[0].width), true);
  Accs accs = accs_from(&p.item, r->seg->ops, r->seg->op_count, accs_values(before));
  const ImpExp **values = new_array(const ImpExp *, r->reds + 1);
  for (int v = 0; v < r->reds; v++)
    values[v] = imp_load(r->outs[v]->mem, arr_index(r->outs[v], &p.at));
  accs_apply(&p.item, accs, values);
  store_values(r, &p.item, accs, &p.at, 1);
  points_close(g, &p, false);
}

static void group_segscan(Group *g, const Stm *stm) {
  GroupRed r = red_new(g, stm);
  r.outs = alloc_outs(g, stm, 0);
  group_barrier_if_dirty(g);
  alloc_parts(&r);
  own_part(&r, true);
  add_before(&r, combine_parts(&r, imp_item(ITEM_LOCAL_ID)));
  group_barrier(g);
  bind_outs(g, stm, r.outs);
}

// ---- destinations

// The destination under the binder's name: overwritten in place if it dies here.
static const Arr *take_dest(Group *g, const Var *binder, Atom dest, const Body *body,
                            int position) {
  if (code_may_overwrite(&g->k, dest, body, position)) return code_array(&g->k, dest);
  code_note_copy(&g->k, dest);
  Arr place = group_alloc_for(g, binder);
  group_copy(g, &place, code_array(&g->k, dest));
  return mem_copy(&place, sizeof place);
}

static void group_segscatter(Group *g, const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  for (int d = 0; d < seg->dest_count; d++)
    outs[d] = take_dest(g, stm->binders[d], seg->dests[d].dest, body, position);
  group_barrier_if_dirty(g);
  ImpBuilder b;
  GroupPoints p = points_open(g, &b, space_size(seg->dims, seg->dim_count), false);
  bind_space(&p.item, seg->dims, seg->dim_count, p.at);
  const ImpExp **scalars = new_array(const ImpExp *, seg->body->result_count + 1);
  const Arr **made = new_array(const Arr *, seg->body->result_count + 1);
  seq_body(&p.item, seg->body, scalars, made);
  for (int d = 0, first = 0; d < seg->dest_count; d++) {
    int indexed = seg->dests[d].index_count;
    store_if_inside(&p.item, outs[d], scalars + first, indexed, scalars[first + indexed],
                    made[first + indexed]);
    first += indexed + 1;
  }
  points_close(g, &p, false);
  group_barrier(g);
  bind_outs(g, stm, outs);
}

// The first item does all of it.
static void group_seghist(Group *g, const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  for (int o = 0, next = 0; o < seg->hist_count; o++)
    for (int i = 0; i < seg->hists[o].op.count; i++, next++)
      outs[next] =
          take_dest(g, stm->binders[next], seg->hists[o].dests[i], body, position);
  group_barrier_if_dirty(g);
  ImpBuilder b, loop;
  GroupPoints p = points_open(g, &b, imp_i64(1), false);
  const Var *i = code_index(&p.item, "i");
  Code round = code_inner(&p.item, &loop);
  code_bind_scalar(&round, seg->dims[0].index, imp_var(i));
  const ImpExp **scalars = new_array(const ImpExp *, seg->body->result_count + 1);
  const Arr **made = new_array(const Arr *, seg->body->result_count + 1);
  seq_body(&round, seg->body, scalars, made);
  hist_round(&round, seg->hists, seg->hist_count, outs, scalars, made);
  imp_for(&b, i, imp_atom(seg->dims[0].width), loop.block);
  points_close(g, &p, false);
  group_barrier(g);
  bind_outs(g, stm, outs);
}

static bool is_bound_outside(const SegOp *around, const VarVec *free, Atom width) {
  for (int i = 0; i < around->dim_count; i++)
    if (atom_equal(width, atom_var(around->dims[i].index))) return false;
  vec_each (const Var *const *, v, free)
    if (width.kind == ATOM_VAR && *v == width.u.var) return true;
  return width.kind == ATOM_CONST;
}

// A kernel with barriers that may fail is slower.
void group_check_spaces(Code *host, Code *kernel, const SegOp *around) {
  const ImpExp *nobody = space_is_empty(around->dims, around->dim_count);
  VarVec free = core_free_body(around->body);
  for (int i = 0; i < around->body->stm_count; i++) {
    const Exp *exp = around->body->stms[i].exp;
    if (exp->kind != EXP_SEG) continue;
    for (int d = 0; d < exp->u.seg->dim_count; d++) {
      Atom width = exp->u.seg->dims[d].width;
      if (!is_bound_outside(around, &free, width)) continue;
      code_check_size(host, width, nobody);
      if (width.kind == ATOM_VAR) map_put(kernel->sizes, width.u.var, width.u.var);
    }
  }
}

void group_seg(Group *g, const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  for (int d = 0; d < seg->dim_count; d++)
    code_check_size(&g->k, seg->dims[d].width, NULL);
  switch (stm->exp->u.seg->kind) {
  case SEG_MAP: group_segmap(g, stm); return;
  case SEG_RED: group_segred(g, stm); return;
  case SEG_SCAN: group_segscan(g, stm); return;
  case SEG_HIST: group_seghist(g, stm, body, position); return;
  case SEG_SCATTER: group_segscatter(g, stm, body, position); return;
  }
}
