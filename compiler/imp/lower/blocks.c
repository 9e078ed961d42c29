// Kernels of groups of items through Kern (kern/schedules/groups.c), on GPUs: a group per point of
// the grid's axes, an item per point of those of items around everything else.  Where there are
// none of those, an item per point of the grid.
#include "imp/lower/kern.h"
#include "kern/tidy/tidy.h"

enum { MOST_ALONE = 4 };
enum { ITEMS = 128 };  // of a group without an axis of items: leaves them registers

// An axis that the items of a group share, a point each.
void lower_item_axis(KernCode *kc, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  KernCode inner = *kc;
  inner.values = map_new(kc->values);
  copies_new(&inner, axis->index, 0)->copies[0] =
      declared(kc, "item", imp_item(ITEM_LOCAL_ID));
  lower_block(&inner, axis->body);
}

static int64_t group_of(const Grid *items) {
  int64_t size = 1;
  for (int i = 0; i < items->count; i++)
    size *= items->dims[i].width.u.constant.u.i;
  return size;
}

static void launch_groups(Code *host, const KernPlan *plan, const Grid *grid,
                          const Grid *items, KernCode *kc, KernelCode *kernel) {
  const ImpExp *groups =
      imp_named(host->b, "groups", space_size(grid->dims, grid->count));
  kc->group = group_of(items);
  bind_space(&kernel->code, grid->dims, grid->count,
             imp_named(&kernel->b, "group", imp_item(ITEM_GROUP_ID)));
  bind_space(&kernel->code, items->dims, items->count,
             imp_named(&kernel->b, "item", imp_item(ITEM_LOCAL_ID)));
  lower_block(kc, items->block);
  kernel_end(host, kernel,
             (Launch){ .name = plan->in_rows ? "segmap_staged" : "segmap_blocks",
                       .groups = groups,
                       .group_size = imp_i64(kc->group) });
}

// An item per point of the grid.
static void launch_items(Code *host, const Grid *grid, KernCode *kc, KernelCode *kernel) {
  Items items;
  items_open_space(&items, host, kernel, grid->dims, grid->count);
  items.group_size = imp_i64(ITEMS);
  lower_block(kc, grid->block);
  items_close(&items, "segmap_strips");
}

static void launch_plan(Code *host, const KernPlan *plan, Map *memory) {
  const Kern *kern = plan->kern;
  KernCode outside = { .k = host, .values = map_new(NULL), .memory = memory };
  const KernBlock *body = kern_added_products(host->lower->c, kern->body);
  Grid grid = find_grid(&outside, body, BIND_GRID);
  Grid items = find_grid(&outside, grid.block, BIND_ITEM);
  KernelCode *kernel = kernel_begin(host, kern->loc);
  TileRooms tiles = { 0 };
  KernCode kc = { .k = &kernel->code,
                  .values = map_new(NULL),
                  .memory = map_new(memory),
                  .tiles = &tiles };
  if (items.count)
    launch_groups(host, plan, &grid, &items, &kc, kernel);
  else
    launch_items(host, &grid, &kc, kernel);
}

// ---- what suits

static bool has_loop(const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    ExpKind kind = body->stms[i].exp->kind;
    if (kind == EXP_REDOMAP || kind == EXP_LOOP || kind == EXP_SCANOMAP) return true;
  }
  return false;
}

static int count_reads(const Body *body) {
  int reads = 0;
  for (int i = 0; i < body->stm_count; i++) {
    BodyVec bodies = exp_bodies(body->stms[i].exp);
    reads += body->stms[i].exp->kind == EXP_INDEX;
    vec_each (const Body **, inner, &bodies)
      reads += count_reads(*inner);
  }
  return reads;
}

static bool has_scalar_results(const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i]->type.rank != stm->exp->u.seg->dim_count) return false;
  return true;
}

// Is it known in which order everything lies that the points read?
static bool orders_are_known(Code *host, const SegOp *seg) {
  KernHost kern = code_kern_host(host);
  VarVec free = core_free_body(seg->body);
  vec_each (const Var **, v, &free) {
    const Arr *arr = (*v)->type.rank > 1 ? map_get(host->arrays, *v) : NULL;
    if (arr && arr->mem && !arr_is_dense(arr) && !kern.order(kern.state, *v))
      return false;
  }
  return true;
}

static bool suits_plan(Code *host, const Stm *stm, const KernPlan *plan) {
  const SegOp *seg = stm->exp->u.seg;
  if (!plan->in_rows) return has_scalar_results(stm);
  return orders_are_known(host, seg) && !body_takes_arena(seg);
}

// The results' memory, also as the kernel knows it.
static const Arr **bind_block_outs(Code *host, const Stm *stm, const KernSeg *seg,
                                   Map *memory) {
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++) {
    Memory *out = new_node(Memory, .copies = new_array(const Arr *, 1));
    outs[i] = out->copies[0] = host_map_out(host, stm->binders[i]);
    map_put(memory, seg->outs[i], out);
    code_bind(host, stm->binders[i], *outs[i]);
  }
  return outs;
}

// if condition { a kernel of groups } else { the next plan, or an item for each point }
static void lower_group_plans(Code *host, const Stm *stm, const KernPlan *plan,
                              Map *memory, const Arr *const *outs) {
  if (!plan) {
    lower_segmap_to(host, stm, outs);
    return;
  }
  KernCode kc = { .k = host, .values = map_new(NULL), .memory = memory };
  const ImpExp *condition = lower_scalar(&kc, plan->condition);
  ImpBuilder yes, no;
  Code groups = code_inner(host, &yes), others = code_inner(host, &no);
  host->lower->plan = plan;
  launch_plan(&groups, plan, memory);
  host->lower->plan = NULL;
  lower_group_plans(&others, stm, plan->otherwise, memory, outs);
  imp_add_stm(host->b,
              (ImpStm){ .kind = IMP_IF, .u.cond = { condition, yes.block, no.block } });
}

bool lower_block_segmap(Code *host, const Stm *stm) {
  const SegOp *op = stm->exp->u.seg;
  if (!has_loop(op->body) && count_reads(op->body) < MOST_ALONE) return false;
  CopyNotes copies = { 0 };
  KernSeg seg = kern_from_seg(host->lower->c, code_kern_host(host), stm, &copies);
  seg.name = kern_seg_name(host->lower->c, host->lower->segs, host->lower->entry->name,
                           seg.kind);
  const KernPlan *plan = kern_schedule_groups(host->lower->c, &seg);
  if (!plan || !suits_plan(host, stm, plan)) return false;
  lower_note_plan(host->lower, stm->exp->u.seg, plan);
  Map *memory = map_new(NULL);
  const Arr **outs = bind_block_outs(host, stm, &seg, memory);
  lower_group_plans(host, stm, plan, memory, outs);
  return true;
}
