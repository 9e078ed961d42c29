// Seg-ops of level 0: their points shared among the items of a work-group, whatever its size.
#include "imp/lower/bins.h"
#include "imp/lower/group.h"
#include "imp/lower/tree.h"

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
  const Arr **outs = alloc_outs(g, stm, 0), **copied = copied_by_segmap(&g->k, stm);
  if (copied) {  // element by element, not a row to an item
    for (int i = 0; i < stm->binder_count; i++)
      group_copy(g, outs[i], copied[i]);
    bind_outs(g, stm, outs);
    return;
  }
  group_barrier_if_dirty(g);
  ImpBuilder b;
  ItemPlaces places;
  GroupPoints p = space_points_open(g, &b, seg, &places);
  run_point(&p.item, seg, outs, 0,
            new_array(const ImpExp *, seg->body->result_count + 1));
  space_points_close(g, &p, &places);
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
  const Mem **mems;
  Parts parts;  // a partial result per item and value
} GroupRed;

static GroupRed red_new(Group *g, const Stm *stm) {
  GroupRed r = { .g = g, .stm = stm, .seg = stm->exp->u.seg };
  for (int i = 0; i < r.seg->op_count; i++)
    r.reds += r.seg->ops[i].count;
  r.mems = new_array(const Mem *, r.reds + 1);
  return r;
}

// Room for so many values per item.
static void alloc_parts(GroupRed *r, int64_t each) {
  for (int i = 0; i < r->reds; i++) {
    PrimType elem = r->seg->body->results[i].kind == ATOM_VAR
                        ? r->seg->body->results[i].u.var->type.elem
                        : r->seg->body->results[i].u.constant.type;
    const ImpExp *count = imp_mul(imp_i64(each), r->g->group_size);
    r->mems[i] = mem_new(r->g->k.lower->c, "parts", MEM_LOCAL, elem);
    vec_push(r->g->k.scratch, (Scratch){ .mem = r->mems[i], .count = count });
  }
  const ImpExp *item = imp_named(r->g->k.b, "item", imp_item(ITEM_LOCAL_ID));
  r->parts = (Parts){ r->seg, r->reds, r->mems, item, NULL };
}

// The innermost index is bound to `at` and the body run; the values to be combined.
static const ImpExp **run_element(const GroupRed *r, Code *k, const ImpExp *at) {
  const SegOp *seg = r->seg;
  code_bind_scalar(k, seg->dims[seg->dim_count - 1].index, at);
  const ImpExp **scalars = new_array(const ImpExp *, seg->body->result_count + 1);
  run_point(k, seg, r->outs, r->reds, scalars);
  return scalars;
}

static void store_part(const GroupRed *r, Accs accs) {
  values_store(r->g->k.b, r->mems, r->reds, r->parts.item, accs_values(accs));
  group_barrier(r->g);
}

static PartRun whole_group(const GroupRed *r) {
  return (PartRun){ r->parts.item, imp_item(ITEM_LOCAL_SIZE), imp_item(ITEM_LOCAL_STEPS),
                    NULL };
}

// Each item accumulates its points; then the items' parts are combined.
static void group_segred(Group *g, const Stm *stm) {
  GroupRed r = red_new(g, stm);
  bool commutes = seg_commutes(r.seg);
  r.outs = alloc_outs(g, stm, r.reds);
  group_barrier_if_dirty(g);
  alloc_parts(&r, 1);
  ImpBuilder b;
  Accs accs = accs_new(&g->k, r.seg->ops, r.seg->op_count);
  GroupPoints p = points_open(g, &b, imp_atom(r.seg->dims[0].width),
                              commutes ? POINTS_STRIDED : POINTS_PIECES);
  accs_apply(&p.item, accs, run_element(&r, &p.item, p.at));
  points_close(g, &p);
  store_part(&r, accs);
  if (commutes)
    parts_halve(&r.parts, &g->k);
  else
    parts_tree(&r.parts, &g->k, whole_group(&r));
  const ImpExp *const *totals = values_load(r.mems, r.reds, imp_i64(0));
  for (int i = 0; i < r.reds; i++)
    code_bind_scalar(&g->k, stm->binders[i], totals[i]);
  g->dirty = true;
  bind_outs(g, stm, r.outs);
}

// ---- scans

// Sums take shape in local memory, even where they are wanted elsewhere.
static const Arr **alloc_sums(GroupRed *r) {
  const Arr **sums = new_array(const Arr *, r->reds + 1);
  for (int i = 0; i < r->reds; i++) {
    sums[i] = r->outs[i];
    if (sums[i]->mem->space == MEM_LOCAL) continue;
    Arr own = group_alloc(r->g, r->stm->binders[i]->name, r->stm->binders[i]->type);
    sums[i] = mem_copy(&own, sizeof own);
  }
  return sums;
}

static void store_sums(const GroupRed *r, Code *k, const Arr *const *sums,
                       const ImpExp *at, const ImpExp *const *values) {
  for (int i = 0; i < r->reds; i++)
    imp_store(k->b, sums[i]->mem, arr_index(sums[i], &at), values[i]);
}

static const ImpExp *const *load_sums(const GroupRed *r, const Arr *const *sums,
                                      const ImpExp *at) {
  const ImpExp **values = new_array(const ImpExp *, r->reds + 1);
  for (int i = 0; i < r->reds; i++)
    values[i] = imp_load(sums[i]->mem, arr_index(sums[i], &at));
  return values;
}

// sums[j] = the element, neighbours by neighbouring items
static void stage_elements(const GroupRed *r, const Arr *const *sums) {
  ImpBuilder b;
  GroupPoints p = points_open(r->g, &b, imp_atom(r->seg->dims[0].width), POINTS_STRIDED);
  store_sums(r, &p.item, sums, p.at, run_element(r, &p.item, p.at));
  points_close(r->g, &p);
  group_barrier(r->g);
}

// Each item scans its piece; parts[item] = all of it
static void scan_pieces(const GroupRed *r, const Arr *const *sums) {
  Group *g = r->g;
  ImpBuilder b;
  Accs accs = accs_new(&g->k, r->seg->ops, r->seg->op_count);
  GroupPoints p = points_open(g, &b, imp_atom(r->seg->dims[0].width), POINTS_ODD_PIECES);
  accs_apply(&p.item, accs, load_sums(r, sums, p.at));
  store_sums(r, &p.item, sums, p.at, accs_values(accs));
  points_close(g, &p);
  store_part(r, accs);
}

// What comes before the item's piece; `own`: where the scanned part of the item is.
static Accs part_before(const GroupRed *r, const ImpExp *own) {
  const ImpExp **before = new_array(const ImpExp *, r->reds + 1);
  const ImpExp *const *parts = values_load(r->mems, r->reds, imp_sub(own, imp_i64(1)));
  const ImpExp *has_any = imp_less(imp_i64(0), r->parts.item);
  for (int o = 0, next = 0; o < r->seg->op_count; o++)
    for (int i = 0; i < r->seg->ops[o].count; i++, next++)
      before[next] =
          imp_select(has_any, parts[next], imp_atom(r->seg->ops[o].neutral[i]));
  r->g->dirty = true;
  return accs_from(&r->g->k, r->seg->ops, r->seg->op_count, before);
}

// sums[j] = op before sums[j] for the item's piece
static void add_before(const GroupRed *r, const Arr *const *sums, Accs before) {
  Group *g = r->g;
  ImpBuilder b;
  GroupPoints p = points_open(g, &b, imp_atom(r->seg->dims[0].width), POINTS_ODD_PIECES);
  Accs accs = accs_from(&p.item, r->seg->ops, r->seg->op_count, accs_values(before));
  accs_apply(&p.item, accs, load_sums(r, sums, p.at));
  store_sums(r, &p.item, sums, p.at, accs_values(accs));
  points_close(g, &p);
  group_barrier(g);
}

static void group_segscan(Group *g, const Stm *stm) {
  GroupRed r = red_new(g, stm);
  r.outs = alloc_outs(g, stm, 0);
  const Arr **sums = alloc_sums(&r);
  group_barrier_if_dirty(g);
  alloc_parts(&r, 2);
  stage_elements(&r, sums);
  scan_pieces(&r, sums);
  add_before(&r, sums, part_before(&r, parts_scan(&r.parts, &g->k, whole_group(&r))));
  for (int i = 0; i < r.reds; i++)
    group_copy(g, r.outs[i], sums[i]);
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
  ItemPlaces places;
  GroupPoints p = space_points_open(g, &b, seg, &places);
  const ImpExp **scalars = new_array(const ImpExp *, seg->body->result_count + 1);
  const Arr **made = new_array(const Arr *, seg->body->result_count + 1);
  seq_body(&p.item, seg->body, scalars, made);
  for (int d = 0, first = 0; d < seg->dest_count; d++) {
    int indexed = seg->dests[d].index_count;
    store_if_inside(&p.item, outs[d], scalars + first, indexed, scalars[first + indexed],
                    made[first + indexed]);
    first += indexed + 1;
  }
  space_points_close(g, &p, &places);
  group_barrier(g);
  bind_outs(g, stm, outs);
}

// Locks that nobody holds.
static Arr free_locks(Group *g, int64_t count) {
  Arr locks =
      group_alloc(g, "locks", type_of_rows(type_scalar(PRIM_I32), atom_i64(count)));
  Arr zeros = arr_virtual(PRIM_I32, locks.shape, imp_const(prim_int(PRIM_I32, 0)), NULL);
  group_copy(g, &locks, &zeros);
  return locks;
}

// Values of 32 bits need no locks; what wider atomic operations the device has is not known here.
static Bins *shared_bins(Group *g, const SegOp *seg) {
  enum { ATOMIC_BYTES = 4, LOCKS = 256 };
  Bins *bins = new_array(Bins, seg->hist_count + 1);
  Arr locks = { 0 };
  for (int i = 0; i < seg->hist_count; i++) {
    bins[i] =
        (Bins){ .hist = &seg->hists[i], .way = bin_way(&seg->hists[i].op, ATOMIC_BYTES) };
    if (bins[i].way != BIN_LOCKED) continue;
    if (!locks.mem) locks = free_locks(g, LOCKS);
    bins[i].locks = locks;
    bins[i].lock_mask = LOCKS - 1;
  }
  return bins;
}

static void add_point(Code *k, const SegOp *seg, Bins *bins, const Arr *const *outs) {
  int outer = seg->dim_count - 1, count = seg->body->result_count;
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **made = new_array(const Arr *, count + 1);
  for (int i = 0, next = 0; i < seg->hist_count; i++) {
    const Arr **dests = new_array(const Arr *, seg->hists[i].op.count + 1);
    for (int v = 0; v < seg->hists[i].op.count; v++)
      dests[v] = element_of(outs[next++], space_indices(seg->dims, outer), outer);
    bins[i].dests = dests;
  }
  seq_body(k, seg->body, scalars, made);
  bins_round(k, bins, seg->hist_count, scalars, made);
}

static void group_seghist(Group *g, const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  for (int o = 0, next = 0; o < seg->hist_count; o++)
    for (int i = 0; i < seg->hists[o].op.count; i++, next++)
      outs[next] =
          take_dest(g, stm->binders[next], seg->hists[o].dests[i], body, position);
  Bins *bins = shared_bins(g, seg);
  group_barrier_if_dirty(g);
  ImpBuilder b;
  ItemPlaces places;
  GroupPoints p = space_points_open(g, &b, seg, &places);
  add_point(&p.item, seg, bins, outs);
  space_points_close(g, &p, &places);
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

// The most points of a level-0 seg-op of the body, at least `most`; NULL if the host cannot tell.
static const ImpExp *most_points(const SegOp *around, const VarVec *free,
                                 const Body *body, const ImpExp *most) {
  for (int i = 0; i < body->stm_count && most; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind != EXP_SEG) {
      BodyVec bodies = exp_bodies(exp);
      vec_each (const Body **, inner, &bodies)
        most = most ? most_points(around, free, *inner, most) : NULL;
      continue;
    }
    const SegOp *seg = exp->u.seg;
    for (int d = 0; d < seg->dim_count; d++)
      if (!is_bound_outside(around, free, seg->dims[d].width)) return NULL;
    most = imp_max(most, space_size(seg->dims, seg->dim_count));
  }
  return most;
}

// No more items than have something to do, in whole warps and few different sizes.
const ImpExp *group_size_for(Code *host, const SegOp *around, const ImpExp *limit) {
  enum { WARP = 32 };
  VarVec free = core_free_body(around->body);
  const ImpExp *most = most_points(around, &free, around->body, imp_i64(WARP));
  if (!most) return limit;
  const ImpExp *steps = host_doublings(host, imp_named(host->b, "points", most));
  return imp_min(limit, imp_op2(OP_SHL, imp_i64(1), steps));
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
