// segmap1 and segscatter1 without inner parallelism: a work-item per point of the space.
#include "imp/lower/lower.h"

static bool has_inner_seg(const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_SEG) return true;
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      if (has_inner_seg(*inner)) return true;
  }
  return false;
}

typedef struct ScratchUse {
  const Var *var;
  int all, covered;
} ScratchUse;

static void see_use(CoreVisitor *v, Atom a) {
  ScratchUse *use = v->state;
  use->all += a.kind == ATOM_VAR && a.u.var == use->var;
}

static void see_uses(CoreVisitor *v, const Body *body) { core_visit_body(v, body); }

static void see_covered(ScratchUse *use, const SegOp *seg) {
  for (int d = 0; d < seg->dest_count; d++)
    use->covered +=
        seg->dests[d].covered && atom_equal(seg->dests[d].dest, atom_var(use->var));
}

// Is the array of one value overwritten as a whole before anybody reads it?
static bool is_scratch(const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  if (seg->kind != SEG_MAP || seg->body->stm_count || stm->binder_count != 1)
    return false;
  ScratchUse use = { .var = stm->binders[0] };
  CoreVisitor v = { .atom = see_use, .body = see_uses, .state = &use };
  for (int i = position + 1; i < body->stm_count; i++) {
    core_visit_stm(&v, &body->stms[i]);
    if (body->stms[i].exp->kind == EXP_SEG) see_covered(&use, body->stms[i].exp->u.seg);
  }
  for (int i = 0; i < body->result_count; i++)
    see_use(&v, body->results[i]);
  return use.all > 0 && use.all == use.covered;
}

void lower_seg(Code *host, const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  host->b->loc = stm->loc;
  code_check_space(host, seg->dims, seg->dim_count);
  if (is_scratch(stm, body, position)) {
    code_bind(host, stm->binders[0],
              host_alloc(host, stm->binders[0]->name, stm->binders[0]->type));
    return;
  }
  // Groups work together, for which an arena is of no use.
  bool by_items =
      seg->kind == SEG_SCATTER || (seg->kind != SEG_MAP && body_takes_arena(seg));
  if (host->lower->machine->by_axes || by_items) {
    lower_kern_seg(host, stm, body, position);
    return;
  }
  switch (seg->kind) {
  case SEG_MAP:
    if (has_inner_seg(seg->body))
      lower_group_segmap(host, stm);
    else if (!lower_copying_segmap(host, stm) && !lower_block_segmap(host, stm))
      lower_segmap(host, stm);
    return;
  case SEG_RED: lower_wide_segred(host, stm); return;
  case SEG_SCAN: lower_wide_segscan(host, stm, body, position); return;
  case SEG_HIST: lower_wide_seghist(host, stm, body, position); return;
  case SEG_SCATTER: return;  // above
  }
}

const ImpExp *const *space_indices(const SegDim *dims, int count) {
  const ImpExp **indices = new_array(const ImpExp *, count + 1);
  for (int i = 0; i < count; i++)
    indices[i] = imp_var(dims[i].index);
  return indices;
}

const Arr *host_out(Code *host, const Var *binder) {
  Arr out = host_alloc(host, binder->name, binder->type);
  return mem_copy(&out, sizeof out);
}

// A reduction over everything is a scalar: the host reads it.
void seg_bind_results(Code *host, const Stm *stm, const Arr *const *outs) {
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *binder = stm->binders[i];
    if (binder->type.rank > 0) {
      code_bind(host, binder, *outs[i]);
      continue;
    }
    host_read(host, binder, outs[i]->mem, imp_i64(0));
    imp_release(host->b, outs[i]->mem);
  }
}

const Arr *element_of(const Arr *out, const ImpExp *const *indices, int count) {
  Arr at = arr_peel(out, indices, count);
  return mem_copy(&at, sizeof at);
}

static bool is_made_by_loop(const Body *body, const Var *var) {
  for (int i = 0; i < body->stm_count; i++)
    for (int b = 0; b < body->stms[i].binder_count; b++)
      if (body->stms[i].binders[b] == var) return body->stms[i].exp->kind == EXP_LOOP;
  return false;
}

// Is it made round by round?  What that stores again and again had better be the item's own.
static bool is_made_in_rounds(const Code *k, const Body *body, Atom result) {
  if (result.kind != ATOM_VAR) return false;
  return (k->own_results || code_is_private(result.u.var->type)) &&
         is_made_by_loop(body, result.u.var);
}

void seg_point(Code *k, const Stm *stm, const Arr *const *outs) {
  const SegOp *seg = stm->exp->u.seg;
  int count = stm->binder_count;
  const Arr **dests = new_array(const Arr *, count + 1);
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const ImpExp *const *indices = space_indices(seg->dims, seg->dim_count);
  for (int i = 0; i < count; i++)
    if (outs[i]->rank > seg->dim_count &&
        !is_made_in_rounds(k, seg->body, seg->body->results[i]))
      dests[i] = element_of(outs[i], indices, seg->dim_count);
  seq_body(k, seg->body, scalars, dests);
  for (int i = 0; i < count; i++)
    if (outs[i]->rank == seg->dim_count)
      imp_store(k->b, outs[i]->mem, arr_index(outs[i], indices), scalars[i]);
    else if (is_made_in_rounds(k, seg->body, seg->body->results[i]))
      code_copy(k, element_of(outs[i], indices, seg->dim_count), dests[i]);
}

static void launch_points(Code *host, const Stm *stm, const Arr *const *outs,
                          const Layouts *layouts, bool own) {
  const SegOp *seg = stm->exp->u.seg;
  KernelCode *kernel = kernel_begin(host, stm->loc);
  layout_bind(&kernel->code, layouts);
  kernel->code.own_results = own;
  Items items;
  items_open_space(&items, host, kernel, seg->dims, seg->dim_count);
  items.own = own;
  seg_point(&kernel->code, stm, outs);
  items_close(&items, "segmap");
}

static bool binds_size(const Body *body, CoreType type) {
  for (int d = 0; d < type.rank; d++)
    for (int i = 0; i < body->stm_count && type.dims[d].kind == ATOM_VAR; i++)
      for (int b = 0; b < body->stms[i].binder_count; b++)
        if (body->stms[i].binders[b] == type.dims[d].u.var) return true;
  return false;
}

// Are there rows that loops make, which may lie in local memory until they are ready?
static bool has_rows_of_loops(const SegOp *seg) {
  bool found = false;
  if (body_takes_arena(seg)) return false;
  for (int i = 0; i < seg->body->result_count; i++) {
    Atom result = seg->body->results[i];
    if (result.kind != ATOM_VAR || result.u.var->type.rank == 0 ||
        !is_made_by_loop(seg->body, result.u.var))
      continue;
    if (binds_size(seg->body, result.u.var->type)) return false;
    found = found || !code_is_private(result.u.var->type);
  }
  return found;
}

void segmap_by_items(Code *host, const Stm *stm, const Arr *const *outs) {
  const SegOp *seg = stm->exp->u.seg;
  Layouts layouts = layout_inputs(host, stm);
  if (!has_rows_of_loops(seg)) {
    launch_points(host, stm, outs, &layouts, false);
    return;
  }
  ImpBuilder few, many;
  Code own = code_inner(host, &few), apart = code_inner(host, &many);
  launch_points(&own, stm, outs, &layouts, true);
  const ImpExp *small =
      own_is_small(host, host->lower->kernels.at[host->lower->kernels.count - 1]);
  launch_points(&apart, stm, outs, &layouts, false);
  imp_if_else(host->b, small, few.block, many.block);
}

void segmap_by_columns(Code *host, const Stm *stm, const Arr *const *outs) {
  int count = stm->binder_count, dims = stm->exp->u.seg->dim_count;
  const Arr **made = new_array(const Arr *, count + 1);
  for (int i = 0; i < count; i++)
    made[i] = outs[i]->rank > dims && arr_is_dense(outs[i])
                  ? layout_out(host, stm->binders[i], dims)
                  : outs[i];
  segmap_by_items(host, stm, made);
  for (int i = 0; i < count; i++) {
    if (made[i] == outs[i]) continue;
    host_copy(host, outs[i], made[i]);
    imp_release(host->b, made[i]->mem);
  }
}

void lower_segmap_to(Code *host, const Stm *stm, const Arr *const *outs) {
  const VarVec *rows = find_short_rows(host, stm, outs);
  if (rows)
    lower_short_rows(host, stm, outs, rows);
  else
    segmap_by_columns(host, stm, outs);
}

// segmap <i < n> { i }
static bool is_iota(const SegOp *seg) {
  const Body *body = seg->body;
  if (seg->dim_count != 1 || body->result_count != 1) return false;
  Atom result = body->results[0];
  return result.kind == ATOM_VAR && result.u.var == seg->dims[0].index;
}

// A map's result without its memory.
static const Arr *without_memory(Code *host, const Var *binder) {
  CoreType type = host_memory_type(host, binder);
  Arr memory = arr_dense(NULL, type.elem, code_shape(type), type.rank);
  Arr out = host_of_memory(host, binder, memory);
  return mem_copy(&out, sizeof out);
}

void lower_segmap(Code *host, const Stm *stm) {
  int count = stm->binder_count, dims = stm->exp->u.seg->dim_count;
  const Arr **outs = new_array(const Arr *, count + 1);
  for (int i = 0; i < count; i++)
    outs[i] = without_memory(host, stm->binders[i]);
  const VarVec *rows = find_short_rows(host, stm, outs);
  for (int i = 0; i < count; i++)
    outs[i] = rows ? host_map_out(host, stm->binders[i])
                   : layout_out(host, stm->binders[i], dims);
  if (rows)
    lower_short_rows(host, stm, outs, rows);
  else
    segmap_by_items(host, stm, outs);
  for (int i = 0; i < stm->binder_count; i++) {
    Arr out = *outs[i];
    if (is_iota(stm->exp->u.seg)) {
      out.start = imp_i64(0);
      out.step = imp_i64(1);
    }
    code_bind(host, stm->binders[i], out);
  }
}
