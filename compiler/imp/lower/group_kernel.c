// segmap1 around level-0 code: a group to each point.
//
// Where neighbouring items would read or write words of the group's own rows that lie apart (an
// item to each row of a matrix), the rows are copied to local memory in order, and back, if they
// are few bytes:
//
//   segmap <i < n> { .. xsss[i] .. segmap0 <j < m> { loop over xsss[i, j] } }
//   =>  local[e] = xsss[i][e] for all e; barrier; .. loop over local[j]
//
// Else they are transposed as a whole (coalesce.c), which reads and writes them once more.
#include "imp/lower/group.h"

static void store_by_first(Code *k, const Arr *to, const ImpExp *value) {
  ImpBuilder b = { .c = k->lower->c, .loc = k->b->loc };
  imp_store(&b, to->mem, to->offset, value);
  const ImpExp *is_first = imp_op2(OP_EQ, imp_item(ITEM_LOCAL_ID), imp_i64(0));
  imp_if(k->b, is_first, b.block);
}

typedef struct GroupKernel {
  Code *host;
  const Stm *stm;
  const SegOp *seg;
  const Arr **outs;
  const ImpExp *group_size;
  GroupWishes wishes;
} GroupKernel;

// ---- the group's own rows

// A parameter: the bytes of own rows that a group has in local memory, at most.
enum { OWN_BYTES = 8192 };

static const ImpExp *own_limit(const GroupKernel *s) {
  return tuning_param(s->host->lower, "intra_own_bytes", "bytes", OWN_BYTES, OWN_BYTES);
}

static bool is_made_apart(const GroupKernel *s, int result) {
  return s->outs[result]->rank > s->seg->dim_count && s->wishes.stores_apart[result];
}

static const ImpExp *bytes_with(const ImpExp *bytes, const Arr *arr, int from) {
  const ImpExp *count = imp_i64(prim_size_bytes(arr->elem));
  for (int d = from; d < arr->rank; d++)
    count = imp_mul(count, arr->shape[d]);
  return bytes ? imp_add(bytes, count) : count;
}

// Of the group's rows that items would touch apart; NULL: there are none.
static const ImpExp *bytes_of_own_rows(const GroupKernel *s) {
  const ImpExp *bytes = NULL;
  int outer = s->seg->dim_count;
  vec_each (const GroupWish *, w, &s->wishes.reads)
    if (w->own) bytes = bytes_with(bytes, code_array(s->host, atom_var(w->var)), outer);
  for (int i = 0; i < s->stm->binder_count; i++)
    if (is_made_apart(s, i)) bytes = bytes_with(bytes, s->outs[i], outer);
  return bytes;
}

// Room for the group's part of the array.  Where that is too much, the kernel does not run, and its
// need is none: guards ask for what all kernels of a version need (local.c).
static Arr own_room(Group *g, const Arr *arr, int outer, const ImpExp *fits) {
  const Mem *mem = mem_new(g->k.lower->c, "own", MEM_LOCAL, arr->elem);
  Arr own = arr_dense(mem, arr->elem, arr->shape + outer, arr->rank - outer);
  const ImpExp *count = group_spread_over_banks(g, &own);
  vec_push(g->k.scratch,
           (Scratch){ .mem = mem, .count = imp_select(fits, count, imp_i64(0)) });
  return own;
}

// The array as if all of it lay in local memory, where the group only goes to its own part.
static Arr seen_as_all(const Arr *own, const Arr *all, int outer) {
  Arr here = *own;
  const ImpExp **strides = new_array(const ImpExp *, all->rank + 1);
  for (int d = 0; d < all->rank; d++)
    strides[d] = d < outer ? imp_i64(0) : own->strides[d - outer];
  here.rank = all->rank;
  here.shape = all->shape;
  here.strides = strides;
  return here;
}

static void stage_own_reads(const GroupKernel *s, Group *g, const ImpExp *fits) {
  int outer = s->seg->dim_count;
  const ImpExp *const *indices = space_indices(s->seg->dims, outer);
  vec_each (const GroupWish *, w, &s->wishes.reads) {
    if (!w->own) continue;
    const Arr *all = code_array(s->host, atom_var(w->var));
    Arr own = own_room(g, all, outer, fits);
    group_copy(g, &own, element_of(all, indices, outer));
    Arr here = seen_as_all(&own, all, outer);
    map_put(g->k.arrays, w->var, mem_copy(&here, sizeof here));
  }
}

// ---- the kernel

// fits: own rows are few bytes, on the host; NULL: none are staged.
static void launch_group(const GroupKernel *s, const Layouts *layouts,
                         const ImpExp *fits) {
  const SegOp *seg = s->seg;
  int count = s->stm->binder_count, outer = seg->dim_count;
  KernelCode *kernel = kernel_begin(s->host, s->stm->loc);
  group_check_spaces(s->host, &kernel->code, seg);
  layout_bind(&kernel->code, layouts);
  Group g = { .k = kernel->code,
              .group_size = s->group_size,
              .reshapes = body_changes_rank(seg->body) };
  bind_space(&g.k, seg->dims, outer, imp_item(ITEM_GROUP_ID));
  if (fits) stage_own_reads(s, &g, fits);
  const ImpExp *const *indices = space_indices(seg->dims, outer);
  const ImpExp **scalars = new_array(const ImpExp *, count + 1);
  const Arr **dests = new_array(const Arr *, count + 1);
  for (int i = 0; i < count; i++) {
    if (s->outs[i]->rank == outer) continue;
    dests[i] = element_of(s->outs[i], indices, outer);
    if (!fits || !is_made_apart(s, i)) continue;
    Arr own = own_room(&g, s->outs[i], outer, fits);
    dests[i] = mem_copy(&own, sizeof own);
  }
  group_body(&g, seg->body, scalars, dests);
  for (int i = 0; i < count; i++) {
    const Arr *to = element_of(s->outs[i], indices, outer);
    if (to->rank == 0)
      store_by_first(&g.k, to, scalars[i]);
    else if (fits && is_made_apart(s, i))
      group_copy(&g, to, dests[i]);
  }
  const ImpExp *groups = space_size(seg->dims, outer);
  move_checks_to_host(s->host, kernel, &kernel->b.block, groups);
  kernel_end(
      s->host, kernel,
      (Launch){ .name = "seggroup", .groups = groups, .group_size = s->group_size });
}

static void launch_with_or_without_own(const GroupKernel *s, const Layouts *layouts,
                                       const ImpExp *bytes) {
  const ImpExp *fits = imp_let(s->host->b, "fits", imp_op2(OP_LE, bytes, own_limit(s)));
  ImpBuilder few, many;
  Code staged = code_inner(s->host, &few), apart = code_inner(s->host, &many);
  GroupKernel with = *s, without = *s;
  with.host = &staged;
  without.host = &apart;
  launch_group(&with, layouts, fits);
  Layouts all = layout_group_inputs(&apart, &s->wishes, true);
  launch_group(&without, &all, NULL);
  imp_if_else(s->host->b, fits, few.block, many.block);
}

void lower_group_segmap(Code *host, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  GroupKernel s = { .host = host, .stm = stm, .seg = seg };
  s.outs = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++)
    s.outs[i] = host_out(host, stm->binders[i]);
  const ImpExp *size =
      tuning_param(host->lower, "intra_group_size", "group_size", 16, 256);
  s.group_size = imp_let(host->b, "group_size", group_size_for(host, seg, size));
  s.wishes = layout_group_wishes(host, stm);
  Layouts layouts = layout_group_inputs(host, &s.wishes, false);
  const ImpExp *bytes = bytes_of_own_rows(&s);
  if (bytes)
    launch_with_or_without_own(&s, &layouts, bytes);
  else
    launch_group(&s, &layouts, NULL);
  for (int i = 0; i < stm->binder_count; i++)
    code_bind(host, stm->binders[i], *s.outs[i]);
}
