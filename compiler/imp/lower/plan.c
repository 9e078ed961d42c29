// Seg-ops of the host through Kern: memory for the results, the kernels of the plan,
// their launches.
#include "imp/lower/kern.h"
#include "kern/recipes/recipe_book.h"
#include "kern/schedules/chunks.h"
#include "kern/tidy/tidy.h"
#include "kern/wide_lanes.h"

// ---- the grid

static bool is_bound(const KernBlock *block, AxisBind bind) {
  return block->count == 1 && block->stms[0].kind == KERN_AXIS &&
         block->stms[0].u.axis->bind == bind;
}

Grid find_grid(KernCode *host, const KernBlock *block, AxisBind bind) {
  Grid grid = { .block = block };
  int depth = 0;
  for (const KernBlock *b = block; is_bound(b, bind); b = b->stms[0].u.axis->body)
    depth++;
  grid.dims = new_array(SegDim, depth + 1);
  for (; is_bound(grid.block, bind); grid.block = grid.block->stms[0].u.axis->body) {
    const Axis *axis = grid.block->stms[0].u.axis;
    const ImpExp *width = lower_scalar(host, axis->width);
    grid.dims[grid.count++] = (SegDim){ axis->index, code_atom(host->k, width) };
  }
  return grid;
}

// ---- kernels

static bool is_straight_kern(const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE || stm->kind == KERN_CALL)
      return false;
    if (stm->kind == KERN_IF && (!is_straight_kern(stm->u.cond.then_block) ||
                                 !is_straight_kern(stm->u.cond.else_block)))
      return false;
  }
  return true;
}

enum {
  FLAT_RUN = 512
};  // points of a few dozen operations each: less than an item is worth

static void launch_kern(Code *host, const KernPlan *plan, const Kern *kern, Map *memory) {
  Compiler *c = host->lower->c;
  kern =
      kern_wide_lanes_as_loops(c, kern_compare_once(c, kern_simple_remainders(c, kern)));
  KernCode outside = { .k = host, .values = map_new(NULL), .memory = memory };
  Grid grid = find_grid(&outside, kern->body, BIND_GRID);
  KernelCode *kernel = kernel_begin(host, kern->loc);
  KernCode kc = { .k = &kernel->code,
                  .values = map_new(NULL),
                  .memory = map_new(memory),
                  .permuted = map_new(NULL) };
  Items items = { .least = is_straight_kern(grid.block) ? FLAT_RUN : 1,
                  .owner = plan->many_points ? host->lower->kernel : NULL,
                  .independent = true,
                  .scalar =
                      grid.count > 0 &&
                      kern_moves_apart(grid.block, grid.dims[grid.count - 1].index) };
  if (host->lower->machine->by_axes)
    items_open_runs(&items, host, kernel, grid.dims, grid.count);
  else
    items_open_space(&items, host, kernel, grid.dims, grid.count);
  lower_block(&kc, kern_added_products(c, grid.block));
  items_close(&items, kern->name);
}

// ---- memory

static const Arr *scalar_out(Code *host, const Var *binder) {
  const Mem *mem = host_mem(host, binder->name, binder->type.elem, imp_i64(1));
  Arr arr = arr_dense(mem, binder->type.elem, NULL, 0);
  return mem_copy(&arr, sizeof arr);
}

// There are never more chunks than items.
static const Arr *spare_out(Code *host, const KernSeg *seg, const Var *binder) {
  Arr arr = arr_dense(NULL, binder->type.elem, code_shape(binder->type), 1);
  Name items = kern_chunk_param(host->lower->c, seg, "items");
  const ImpExp *spare =
      imp_mul(imp_max(code_tuning(host, items), imp_i64(1)), imp_i64(SPARE_ELEMENTS));
  arr.mem =
      host_mem(host, binder->name, binder->type.elem, imp_add(arr_count(&arr), spare));
  return mem_copy(&arr, sizeof arr);
}

// Fresh memory for a result, or that of an array which dies.
static const Arr *map_out(Code *host, const Stm *stm, KernSeg *seg, int result,
                          const Body *body, int position) {
  const Var *binder = stm->binders[result];
  if (!binder->type.rank) return scalar_out(host, binder);
  if (landing_take(host, seg, binder, result))
    return landing_place(host, landing_of(host, binder));
  if (room_of(host, binder)) {
    Arr roomy = room_alloc(host, binder, binder->type);
    return mem_copy(&roomy, sizeof roomy);
  }
  bool may = host->lower->machine->in_place;
  const Mem *dying =
      may ? lower_in_place(host, seg, binder, result, body, position) : NULL;
  if (!dying) return host_map_out(host, binder);
  Arr taken = host_overwrite(host, binder, dying);
  return mem_copy(&taken, sizeof taken);
}

// Destinations are overwritten in place if nothing else refers to theirs.
static const Arr **make_outs(Code *host, const Stm *stm, KernSeg *made, const Body *body,
                             int position) {
  const SegOp *seg = stm->exp->u.seg;
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  Atom *dests = new_array(Atom, stm->binder_count + 1);
  int count = seg_dests(seg, dests);
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *binder = stm->binders[i];
    if (seg_has_spare(seg, i)) {
      outs[i] = spare_out(host, made, binder);
    } else if (i < count) {
      Arr taken = host_take(host, binder, dests[i], body, position);
      outs[i] = mem_copy(&taken, sizeof taken);
    } else {
      outs[i] = map_out(host, stm, made, i, body, position);
    }
  }
  return outs;
}

// ---- plans

static void lower_plan(Code *host, const KernPlan *plan, const void *partials,
                       Map *memory);

static KernCode host_code(Code *host, Map *memory) {
  return (KernCode){ .k = host, .values = map_new(NULL), .memory = memory };
}

// The host's scalars keep their variables: kernels mention them.
static void lower_lets(Code *host, const KernBlock *lets, Map *memory) {
  KernCode kc = host_code(host, memory);
  for (int i = 0; i < lets->count; i++) {
    const ImpExp *value = lower_scalar(&kc, lets->stms[i].u.term);
    imp_add_stm(host->b, (ImpStm){ .kind = IMP_DECLARE,
                                   .u.declare = { lets->stms[i].binders[0], value, 0 } });
  }
}

static void make_temp(Code *host, const Tensor *t, Map *memory) {
  KernCode kc = host_code(host, memory);
  const ImpExp **dims = new_array(const ImpExp *, t->rank + 1);
  for (int i = 0; i < t->rank; i++)
    dims[i] = lower_scalar(&kc, t->dims[i]);
  Arr arr = arr_dense(NULL, t->elem, dims, t->rank);
  arr.mem = host_mem(host, t->name, t->elem, arr_count(&arr));
  Memory *temp = new_node(Memory, .copies = new_array(const Arr *, 1));
  temp->copies[0] = mem_copy(&arr, sizeof arr);
  map_put(memory, t, temp);
}

static void make_temps(Code *host, const KernPlan *plan, Map *memory) {
  for (int i = 0; i < plan->temp_count; i++)
    make_temp(host, plan->temps[i], memory);
}

static void release_temps(Code *host, const KernPlan *plan, Map *memory) {
  for (int i = 0; i < plan->temp_count; i++) {
    const Memory *temp = map_get(memory, plan->temps[i]);
    imp_release(host->b, temp->copies[0]->mem);
  }
}

// if small { the narrow kernel } else { the kernel }
static void lower_kernel(Code *host, const KernPlan *plan, Map *memory) {
  host->lower->plan = plan;
  if (plan->narrow) {
    KernCode kc = host_code(host, memory);
    const ImpExp *small = lower_scalar(&kc, plan->small);
    ImpBuilder yes, no;
    Code yes_code = code_inner(host, &yes), no_code = code_inner(host, &no);
    launch_kern(&yes_code, plan, plan->narrow, memory);
    launch_kern(&no_code, plan, plan->kern, memory);
    imp_add_stm(host->b,
                (ImpStm){ .kind = IMP_IF, .u.cond = { small, yes.block, no.block } });
  } else {
    launch_kern(host, plan, plan->kern, memory);
  }
  host->lower->plan = NULL;
}

static void lower_parts(Code *host, const KernPlan *plan, Map *outer) {
  if (plan->kern) {
    lower_kernel(host, plan, outer);
    return;
  }
  Map *memory = map_new(outer);
  if (!plan->share) make_temps(host, plan, memory);
  for (int i = 0; i < plan->part_count; i++)
    lower_plan(host, plan->parts[i], NULL, memory);
  if (!plan->share) release_temps(host, plan, memory);
}

// Partial results that stay until the scan has taken them.
static void keep_temps(Code *host, const KernPlan *plan, const void *number,
                       Map *memory) {
  const Memory **kept = new_array(const Memory *, plan->temp_count + 1);
  make_temps(host, plan, memory);
  for (int i = 0; i < plan->temp_count; i++) {
    kept[i] = map_get(memory, plan->temps[i]);
    map_remove(host->owned, kept[i]->copies[0]->mem);
  }
  map_put(host->lower->partials, number, kept);
}

static void take_temps(Code *host, const KernPlan *plan, const void *number,
                       Map *memory) {
  const Memory **kept = map_get(host->lower->partials, number);
  for (int i = 0; i < plan->temp_count; i++)
    map_put(memory, plan->temps[i], mem_copy(kept[i], sizeof *kept[i]));
}

// if condition { this } else { the other }
// `partials`: what they are kept as, if the plan shares them.
static void lower_plan(Code *host, const KernPlan *plan, const void *partials,
                       Map *memory) {
  if (plan->name) host->lower->kernel = plan->name;
  if (plan->recipes)
    tuning_param_of_recipes(host->lower, text_format("%s.recipe", plan->name),
                            plan->recipes);
  if (plan->lets) lower_lets(host, plan->lets, memory);
  if (plan->share == SHARE_KEEP) keep_temps(host, plan, partials, memory);
  if (plan->share == SHARE_TAKE) take_temps(host, plan, partials, memory);
  if (!plan->condition) {
    lower_parts(host, plan, memory);
    return;
  }
  KernCode kc = host_code(host, memory);
  const ImpExp *condition = lower_scalar(&kc, plan->condition);
  ImpBuilder yes, no;
  Code yes_code = code_inner(host, &yes), no_code = code_inner(host, &no);
  lower_parts(&yes_code, plan, memory);
  lower_plan(&no_code, plan->otherwise, NULL, memory);
  imp_add_stm(host->b,
              (ImpStm){ .kind = IMP_IF, .u.cond = { condition, yes.block, no.block } });
  if (plan->share == SHARE_TAKE) release_temps(host, plan, memory);
}

static const void *partials_key(const SegOp *seg) {
  return (const void *)(intptr_t)seg->partials;
}

// Does a scan behind the reduction take its partial results, or has this scan some to take?
static KernShare share_of(Code *host, const Body *body, int position) {
  const SegOp *seg = body->stms[position].exp->u.seg;
  if (!seg->partials) return SHARE_NONE;
  if (seg->kind == SEG_SCAN)
    return map_has(host->lower->partials, partials_key(seg)) ? SHARE_TAKE : SHARE_NONE;
  for (int i = position + 1; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_SEG && exp->u.seg->partials == seg->partials) return SHARE_KEEP;
  }
  return SHARE_NONE;
}

static Map *memory_of_outs(const Stm *stm, const KernSeg *seg, const Arr **outs) {
  Map *memory = map_new(NULL);
  for (int i = 0; i < stm->binder_count; i++) {
    const Tensor *to = seg->outs[i];
    if (to->host != stm->binders[i]) continue;  // it has landed in another array
    Memory *out = new_node(Memory, .copies = new_array(const Arr *, 1));
    out->copies[0] = outs[i];
    map_put(memory, to, out);
  }
  return memory;
}

// Are all places in their arrays where results have landed?  NULL: none has.
static const ImpExp *landed(Code *host, const Stm *stm, const KernSeg *seg) {
  const ImpExp *all = NULL;
  for (int i = 0; i < stm->binder_count; i++) {
    if (seg->outs[i]->host == stm->binders[i]) continue;
    const ImpExp *fits = landing_fits(host, landing_of(host, stm->binders[i]));
    all = all ? imp_op2(OP_LAND, all, fits) : fits;
  }
  return all;
}

void lower_note_plan(Lower *lower, const SegOp *seg, const KernPlan *plan) {
  vec_push(&lower->plans, plan);
  vec_push(&lower->planned, seg);
}

typedef struct SegKernels {
  const SegOp *op;
  Map *memory;
} SegKernels;

// A point to an item, of many.
static void lower_seg_items(Code *host, const Stm *stm, const KernSeg *seg, Map *memory) {
  Layouts layouts = layout_inputs(host, stm);
  Code laid = *host;
  laid.arrays = map_new(host->arrays);
  layout_bind(&laid, &layouts);
  lower_plan(&laid, kern_schedule_items(host->lower->c, seg), NULL, memory);
}

static void lower_seg_kernels(Code *host, const KernSeg *seg, void *state) {
  const SegKernels *s = state;
  Lower *lower = host->lower;
  KernCode kc = host_code(host, s->memory);
  if (!book_mentions(lower->book, seg->name) && lower_permuted(&kc, seg->kern)) return;
  const KernPlan *plan = kern_schedule(lower->c, lower->book, seg);
  lower_note_plan(lower, s->op, plan);
  lower_plan(host, plan, partials_key(s->op), s->memory);
}

// ---- results that nobody reads

// Does nothing behind the statement mention the array, under any name?
static bool is_unread(const Var *array, const Body *body, int position) {
  for (int i = 0; i < body->result_count; i++)
    if (atom_equal(body->results[i], atom_var(array))) return false;
  for (int i = position + 1; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    VarVec free = core_free_exp(stm->exp);
    vec_each (const Var **, var, &free)
      if (*var == array &&
          (stm->exp->kind != EXP_ATOM || !is_unread(stm->binders[0], body, i)))
        return false;
  }
  return true;
}

// Scans of tuples without what is only there to be combined: the flags of segments.
static void drop_unread(Code *host, const Stm *stm, KernSeg *seg, const Body *body,
                        int position) {
  const SegOp *op = stm->exp->u.seg;
  int result = 0;
  if (op->kind != SEG_SCAN || op->after) return;
  for (int o = 0; o < op->op_count; o++)
    for (int i = 0; i < op->ops[o].count; i++, result++)
      if (op->ops[o].count > 1 && is_unread(stm->binders[result], body, position))
        seg->kern = kern_without_stores(host->lower->c, seg->kern, seg->outs[result]);
}

void lower_kern_seg(Code *host, const Stm *stm, const Body *body, int position) {
  Lower *lower = host->lower;
  bool by_axes = lower->machine->by_axes;
  KernHost around =
      by_axes ? code_kern_host(host) : code_kern_host_as_is(host, stm->exp->u.seg->body);
  KernSeg seg = kern_from_seg(lower->c, around, stm, &lower->copies);
  drop_unread(host, stm, &seg, body, position);
  if (by_axes) seg.share = share_of(host, body, position);
  seg.name = kern_seg_name(lower->c, lower->segs, lower->entry->name, seg.kind);
  const Kern *apart = seg.kern;
  const Arr **outs = make_outs(host, stm, &seg, body, position);
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i]->type.rank > 0) code_bind(host, stm->binders[i], *outs[i]);
  if (seg.kern != apart) underway_end(host, stm->exp->u.seg);
  if (lower->c->check_ir) kern_check(lower->c, seg.kern);
  const ImpExp *fits = landed(host, stm, &seg);
  ImpBuilder b;
  Code inner = code_inner(host, &b);
  SegKernels kernels = { stm->exp->u.seg, memory_of_outs(stm, &seg, outs) };
  Code *at = fits ? &inner : host;
  if (!by_axes)
    lower_seg_items(at, stm, &seg, kernels.memory);
  else if (!lower_interior_first(at, &seg, kernels.op, lower_seg_kernels, &kernels))
    lower_seg_kernels(at, &seg, &kernels);
  if (fits) imp_if(host->b, fits, b.block);
  lower->kernel = NULL;
  seg_bind_results(host, stm, outs);
}
