// In which order a kernel's arrays lie: on a GPU,
// neighbouring items should touch neighbouring words.
//
//   segmap <i < n> { redomap m f (xss[i]) }      item i reads xss[i, 0], xss[i, 1], ..
//
// is served badly by rows and well by columns, so the kernel reads a copy whose dimension of i lies
// innermost in memory, and likewise writes rows of results.  How the places of its reads move is
// asked of the seg-op as a kernel of Kern (kern/motion.h).  What is read in order already, or only
// in part, is left alone.
//
// Of kernels of groups the neighbours are points of level 0 side by side:
//
//   segmap <i < n> { segmap0 <j < m> { redomap h g (yss[j]) } }   item j reads yss[j, 0], ..
#include "imp/lower/group.h"
#include "kern/motion.h"

enum { FEW_ROWS = 16, LEAST_ROW_BYTES = 20 };

// An array of the host that the body may read, or a result.
typedef struct Probe {
  const Var *var;
  int rank, outer;  // rank: of what the body has, without `outer` dimensions of the space
  const ImpExp *const *shape;
  PrimType elem;
  int unit;  // dimension whose neighbours are neighbours in memory
  int in_order,
      apart;  // deepest loop with reads of neighbouring words, or of words apart; -1: none
  int *order;         // what the latter want: the dimensions in memory, outermost first
  int result;         // its number; -1: an array that is read
  Vec(Access) fixed;  // reads of words apart, at fixed places of rows
  bool in_rounds;     // some of these in loops
} Probe;

typedef struct Reads {
  Code *host;
  const Stm *stm;
  const SegOp *seg;
  Vec(Probe) probes;
  bool groups;  // a group to a point of the space
} Reads;

// ---- what the reads of an array want

static int highest(unsigned bits) {
  int k = -1;
  for (; bits; bits >>= 1)
    k++;
  return k;
}

// Dimensions that a loop walks come first, but behind those that tell groups apart; those of the
// space follow in its order, that of neighbouring items is last.
static void set_order(const Reads *r, Probe *p, const Motion *dims, int lane) {
  int rank = p->rank, *keys = new_array(int, rank + 1);
  int walking = r->groups ? 2 * r->seg->dim_count - 1 : -1;
  for (int d = 0; d < rank; d++)
    keys[d] = d == lane ? 64 : dims[d].walks ? walking : 2 * highest(dims[d].space);
  for (int d = 0; d < rank; d++) {
    int at = d;
    for (; at > 0 && keys[p->order[at - 1]] > keys[d]; at--)
      p->order[at] = p->order[at - 1];
    p->order[at] = d;
  }
}

// Do other items read the same?
static bool is_read_again(const Reads *r, const Probe *p, const Motion *dims) {
  unsigned space = 0;
  for (int d = 0; d < p->rank; d++)
    space |= dims[d].space;
  for (int d = 0; d < r->seg->dim_count; d++)
    if (d < 31 && !(space & 1U << d)) return true;
  return false;
}

// One of few rows, at a fixed place.
static bool is_one_of_few(const Probe *p, int d) {
  const ImpExp *width = p->shape[d];
  return width->kind == IMP_CONST && width->u.constant.u.i <= FEW_ROWS;
}

static void see_fixed(Probe *p, const Access *access, bool in_rounds) {
  p->in_rounds = p->in_rounds || in_rounds;
  vec_each (const Access *, known, &p->fixed)
    if (kern_same_access(known, access)) return;
  vec_push(&p->fixed, *access);
}

// A read of words apart counts if the items read all of the array, or a good part of it several
// times: copying what few elements of are needed would cost more than it saves.
static void see_read(const Reads *r, Probe *p, const Motion *dims, const Access *access,
                     int depth) {
  int lane = -1;
  for (int d = 0; d < p->rank; d++) {
    if (dims[d].step == 0) continue;
    if (dims[d].step == STEP_OTHER || lane >= 0) return;
    lane = d;
  }
  if (lane < 0) return;
  if (p->unit == lane) {
    p->in_order = depth > p->in_order ? depth : p->in_order;
    return;
  }
  bool again = is_read_again(r, p, dims);
  for (int d = 0; d < p->rank; d++)
    if (!dims[d].walks && !dims[d].space && !(again && is_one_of_few(p, d))) {
      see_fixed(p, access, depth > 0);
      return;
    }
  if (depth <= p->apart) return;
  p->apart = depth;
  set_order(r, p, dims, lane);
}

static void see_access(void *state, const Access *access, const Motion *dims, int depth) {
  Reads *r = state;
  vec_each (Probe *, p, &r->probes)
    if (access->tensor->host == p->var && access->tensor->rank == p->outer + p->rank)
      see_read(r, p, dims + p->outer, access, depth);
}

// ---- candidates

// A change of rank needs a row-major array: where one is, any other order costs a further copy.
static void find_reshape(CoreVisitor *v, const Body *body) {
  bool *found = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_RESHAPE &&
        exp->u.reshape.rank != atom_type(exp->u.reshape.array).rank)
      *found = true;
  }
  core_visit_body(v, body);
}

bool body_changes_rank(const Body *body) {
  bool found = false;
  CoreVisitor visitor = { .body = find_reshape, .state = &found };
  find_reshape(&visitor, body);
  return found;
}

static void find_probes(Reads *r) {
  VarVec free = core_free_body(r->seg->body);
  vec_each (const Var **, v, &free) {
    const Arr *arr = (*v)->type.rank > 1 ? map_get(r->host->arrays, *v) : NULL;
    if (arr && arr->mem)
      vec_push(&r->probes, ((Probe){ .var = *v,
                                     .rank = arr->rank,
                                     .shape = arr->shape,
                                     .elem = arr->elem,
                                     .unit = layout_unit_dim(arr),
                                     .result = -1 }));
  }
}

// Rows that groups make.
static void find_result_probes(Reads *r) {
  for (int i = 0; i < r->stm->binder_count; i++) {
    CoreType row = type_peel(r->stm->binders[i]->type, r->seg->dim_count);
    if (row.rank > 1)
      vec_push(&r->probes, ((Probe){ .var = r->stm->binders[i],
                                     .rank = row.rank,
                                     .outer = r->seg->dim_count,
                                     .shape = code_shape(row),
                                     .elem = row.elem,
                                     .unit = row.rank - 1,
                                     .result = i }));
  }
}

static void find_motions(Reads *r) {
  Lower *lower = r->host->lower;
  CopyNotes copies = { 0 };
  KernHost host = code_kern_host_as_is(r->host, r->seg->body);
  KernSeg kern = kern_from_seg(lower->c, host, r->stm, &copies);
  Motions asked = { .seg = r->seg, .groups = r->groups, .see = see_access, .state = r };
  motions_find(&asked, kern.kern);
}

// What the body does with arrays that may be laid out anew.
static Reads find_seg_reads(Code *host, const Stm *stm, bool groups) {
  Reads r = { .host = host, .stm = stm, .seg = stm->exp->u.seg, .groups = groups };
  if (!host->lower->machine->side_by_side) return r;
  find_probes(&r);
  if (groups) find_result_probes(&r);
  vec_each (Probe *, p, &r.probes) {
    p->in_order = p->apart = -1;
    p->order = new_array(int, p->rank);
  }
  if (body_changes_rank(r.seg->body)) r.probes.count = 0;
  if (r.probes.count) find_motions(&r);
  return r;
}

static bool wants_copy(const Probe *p) { return p->apart > p->in_order; }

Layouts layout_inputs(Code *host, const Stm *stm) {
  Layouts out = { 0 };
  Reads r = find_seg_reads(host, stm, false);
  vec_each (Probe *, p, &r.probes)
    if (wants_copy(p))
      vec_push(&out, (Laid){ p->var, layout_copy(host, p->var, p->order) });
  return out;
}

// Do points read most of a row of constant size word by word, again and again or of so many bytes
// that neighbours' words are far apart?
static bool reads_row(const Probe *p) {
  int64_t count = 1;
  for (int d = 1; d < p->rank; d++) {
    const ImpExp *width = p->shape[d];
    if (width->kind != IMP_CONST || width->u.constant.u.i > INT16_MAX) return false;
    count *= width->u.constant.u.i;
  }
  bool far = count * prim_size_bytes(p->elem) >= LEAST_ROW_BYTES;
  return (far || (p->in_rounds && count > 1)) && 2 * p->fixed.count >= count;
}

VarVec layout_apart(Code *host, const Stm *stm) {
  VarVec out = { 0 };
  const SegOp *seg = stm->exp->u.seg;
  Reads r = find_seg_reads(host, stm, false);
  vec_each (Probe *, p, &r.probes)
    if (wants_copy(p) || (seg->dim_count == 1 && reads_row(p))) vec_push(&out, p->var);
  return out;
}

static const Probe *probe_of(const Reads *r, const Var *var) {
  vec_each (const Probe *, p, &r->probes)
    if (p->result < 0 && p->var == var) return p;
  return NULL;
}

// Is it to be made dense, as nothing better is known?
static bool wants_rows(const Arr *arr, const Probe *p) {
  bool is_read = p && p->in_order >= 0;
  return !is_read && !arr_is_dense(arr) && layout_dense_if_off(arr);
}

static const int *order_of_rows(int rank) {
  int *order = new_array(int, rank + 1);
  for (int d = 0; d < rank; d++)
    order[d] = d;
  return order;
}

static bool *find_stores_apart(const Reads *r) {
  bool *apart = new_array(bool, r->seg->body->result_count + 1);
  vec_each (const Probe *, p, &r->probes)
    if (p->result >= 0) apart[p->result] = wants_copy(p);
  return apart;
}

GroupWishes layout_group_wishes(Code *host, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  Reads r = find_seg_reads(host, stm, true);
  GroupWishes out = { .stores_apart = find_stores_apart(&r) };
  VarVec free = core_free_body(seg->body);
  vec_each (const Var **, v, &free) {
    const Arr *arr = (*v)->type.rank > 1 ? map_get(host->arrays, *v) : NULL;
    if (!arr || !arr->mem) continue;
    const Probe *p = probe_of(&r, *v);
    bool apart = p && wants_copy(p);
    if (!apart && !wants_rows(arr, p)) continue;
    const int *order = apart ? p->order : order_of_rows(arr->rank);
    bool own = apart && arr_is_dense(arr) && seg_reads_own_rows(seg, *v);
    vec_push(&out.reads, (GroupWish){ *v, order, own });
  }
  return out;
}

Layouts layout_group_inputs(Code *host, const GroupWishes *wishes, bool own) {
  Layouts out = { 0 };
  vec_each (const GroupWish *, w, &wishes->reads)
    if (own || !w->own)
      vec_push(&out, (Laid){ w->var, layout_copy(host, w->var, w->order) });
  return out;
}

void layout_bind(Code *kernel, const Layouts *layouts) {
  vec_each (const Laid *, laid, layouts)
    map_put(kernel->arrays, laid->var, laid->arr);
}
