// In which order a kernel's arrays lie: on a GPU,
// neighbouring items should touch neighbouring words.
//
//   segmap <i < n> { redomap m f (xss[i]) }      item i reads xss[i, 0], xss[i, 1], ..
//
// is served badly by rows and well by columns, so the kernel reads a copy whose dimension of i lies
// innermost in memory, and likewise writes rows of results.  What a kernel reads where is found by
// lowering its body on trial, with a variable for each stride: the index of a load is then a sum
// over the dimensions of an array.  What is read in order already, or only in part, is left alone.
//
// Of kernels of groups the neighbours are points of level 0 side by side:
//
//   segmap <i < n> { segmap0 <j < m> { redomap h g (yss[j]) } }   item j reads yss[j, 0], ..
#include "imp/lower/group.h"

enum { STEP_OTHER = 2 };  // else 0 or 1

enum { FEW_ROWS = 16, LEAST_ROW_BYTES = 20 };

// How a value changes from one item to the next, and what it depends on.
typedef struct Motion {
  int step;        // added when the innermost index grows by 1
  bool walks;      // follows a counted loop of the item
  unsigned space;  // bit k: depends on index k of the space
} Motion;

// An array of the host that the body may read, or, without `var`, a result.
typedef struct Probe {
  const Var *var;
  const Arr *arr;
  const Mem *mem;       // stands in for its memory
  const Var **strides;  // ... and for its strides
  int in_order,
      apart;  // deepest loop with reads of neighbouring words, or of words apart; -1: none
  int *order;  // what the latter want: the dimensions in memory, outermost first
  int result;  // its number
  Vec(const ImpExp *) fixed;  // indices of reads of words apart, at fixed places of rows
  bool in_rounds;             // some of these in loops
} Probe;

typedef struct Reads {
  Code *host;
  const SegOp *seg;
  Vec(Probe) probes;
  Map *motions;  // Var -> Motion, for what the body binds
  int depth;     // of loops
  bool groups;   // a group to a point of the space
} Reads;

// ---- motions

static Motion motion_of(const Reads *r, const ImpExp *e);

static Motion mixed(Motion a, Motion b) {
  bool still = a.step == 0 && b.step == 0;
  return (Motion){ still ? 0 : STEP_OTHER, a.walks || b.walks, a.space | b.space };
}

static Motion sum(Motion a, Motion b) {
  Motion both = mixed(a, b);
  if (a.step + b.step == 1) both.step = 1;
  return both;
}

// A group's points, counted through rows: neighbours are neighbours in a row, mostly.
static bool counts_rows(const Reads *r, PrimOp op, Motion a, Motion b) {
  return r->groups && (op == OP_QUOT || op == OP_REM) && a.step == 1 && b.step == 0;
}

static Motion motion_of_op(const Reads *r, const ImpExp *e) {
  Motion a = motion_of(r, e->u.op.args[0]);
  if (op_arity(e->u.op.op) == 1) return mixed(a, a);
  Motion b = motion_of(r, e->u.op.args[1]);
  if (e->u.op.op == OP_ADD) return sum(a, b);
  if (counts_rows(r, e->u.op.op, a, b))
    return (Motion){ e->u.op.op == OP_REM, a.walks, a.space | b.space };
  Motion both = mixed(a, b);
  if (e->u.op.op == OP_SUB && a.step == 1 && b.step == 0) both.step = 1;
  // An index that is kept within bounds.
  if ((e->u.op.op == OP_MIN || e->u.op.op == OP_MAX) && a.step + b.step == 1)
    both.step = 1;
  return op_arity(e->u.op.op) == 2 ? both : mixed(both, motion_of(r, e->u.op.args[2]));
}

static Motion motion_of_load(const Reads *r, const ImpExp *e) {
  Motion at = motion_of(r, e->u.load.index);
  bool shared = e->u.load.mem->space == MEM_GLOBAL && at.step == 0;
  return (Motion){ shared ? 0 : STEP_OTHER, false, at.space };
}

static Motion motion_of_item(const Reads *r, ItemNumber item) {
  if (!r->groups || item == ITEM_GLOBAL_ID) return (Motion){ STEP_OTHER, false, 0 };
  return (Motion){ item == ITEM_LOCAL_ID, false, 0 };
}

static Motion motion_of(const Reads *r, const ImpExp *e) {
  const Motion *known;
  switch (e->kind) {
  case IMP_CONST:
  case IMP_TUNING: return (Motion){ 0 };
  case IMP_VAR:
    known = map_get(r->motions, e->u.var);
    return known ? *known : (Motion){ 0 };
  case IMP_OP: return motion_of_op(r, e);
  case IMP_CONVERT: return motion_of(r, e->u.convert.arg);
  case IMP_LOAD: return motion_of_load(r, e);
  case IMP_BITS:
  case IMP_SELECT:
  case IMP_SPLAT:
  case IMP_IOTA:
  case IMP_STRIDED:
  case IMP_PERMUTE:
  case IMP_PICK:
  case IMP_ANY:
  case IMP_ALL:
  case IMP_MOST:
  case IMP_COUNT:
  case IMP_SHUFFLE: return (Motion){ STEP_OTHER, false, 0 };
  case IMP_ITEM: return motion_of_item(r, e->u.item);
  }
  return (Motion){ STEP_OTHER, false, 0 };
}

static void put_motion(Reads *r, const Var *var, Motion m) {
  map_put(r->motions, var, mem_copy(&m, sizeof m));
}

// ---- the index of a load, taken apart

// The dimension whose stride is a factor of the product; -1 if none is.
static int stride_in(const Probe *p, const ImpExp *e) {
  if (e->kind == IMP_VAR) {
    for (int d = 0; d < p->arr->rank; d++)
      if (p->strides[d] == e->u.var) return d;
    return -1;
  }
  if (e->kind != IMP_OP || e->u.op.op != OP_MUL) return -1;
  int left = stride_in(p, e->u.op.args[0]);
  return left >= 0 ? left : stride_in(p, e->u.op.args[1]);
}

// The motion of the other factors; false if there are none.
static bool other_factors(const Reads *r, const Probe *p, const ImpExp *e, Motion *out) {
  if (e->kind == IMP_VAR) return false;
  const ImpExp *a = e->u.op.args[0], *b = e->u.op.args[1];
  if (stride_in(p, a) < 0) {
    const ImpExp *swap = a;
    a = b;
    b = swap;
  }
  Motion rest = motion_of(r, b), inner;
  *out = other_factors(r, p, a, &inner) ? mixed(inner, rest) : rest;
  return true;
}

// Adds the terms of an index to the motions of the dimensions; false if it is no sum over them.
static bool add_terms(const Reads *r, const Probe *p, const ImpExp *e, Motion *dims) {
  if (e->kind == IMP_CONST) return true;
  int d = stride_in(p, e);
  if (d < 0) {
    bool is_sum = e->kind == IMP_OP && e->u.op.op == OP_ADD;
    return is_sum && add_terms(r, p, e->u.op.args[0], dims) &&
           add_terms(r, p, e->u.op.args[1], dims);
  }
  Motion m;
  if (other_factors(r, p, e, &m)) dims[d] = sum(dims[d], m);
  return true;
}

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
  int rank = p->arr->rank, *keys = new_array(int, rank + 1);
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
  for (int d = 0; d < p->arr->rank; d++)
    space |= dims[d].space;
  for (int d = 0; d < r->seg->dim_count; d++)
    if (d < 31 && !(space & 1U << d)) return true;
  return false;
}

// One of few rows, at a fixed place.
static bool is_one_of_few(const Probe *p, int d) {
  const ImpExp *width = p->arr->shape[d];
  return width->kind == IMP_CONST && width->u.constant.u.i <= FEW_ROWS;
}

static void see_fixed(Probe *p, const ImpExp *index, bool in_rounds) {
  p->in_rounds = p->in_rounds || in_rounds;
  vec_each (const ImpExp **, known, &p->fixed)
    if (imp_same(*known, index)) return;
  vec_push(&p->fixed, index);
}

// A read of words apart counts if the items read all of the array, or a good part of it several
// times: copying what few elements of are needed would cost more than it saves.
static void see_read(const Reads *r, Probe *p, const Motion *dims, const ImpExp *index) {
  int lane = -1;
  for (int d = 0; d < p->arr->rank; d++) {
    if (dims[d].step == 0) continue;
    if (dims[d].step == STEP_OTHER || lane >= 0) return;
    lane = d;
  }
  if (lane < 0) return;
  if (layout_unit_dim(p->arr) == lane) {
    p->in_order = r->depth > p->in_order ? r->depth : p->in_order;
    return;
  }
  bool again = is_read_again(r, p, dims);
  for (int d = 0; d < p->arr->rank; d++)
    if (!dims[d].walks && !dims[d].space && !(again && is_one_of_few(p, d))) {
      see_fixed(p, index, r->depth > 0);
      return;
    }
  if (r->depth <= p->apart) return;
  p->apart = r->depth;
  set_order(r, p, dims, lane);
}

static void see_access(Reads *r, const Mem *mem, const ImpExp *index) {
  vec_each (Probe *, p, &r->probes) {
    if (p->mem != mem) continue;
    Motion *dims = new_array(Motion, p->arr->rank);
    if (add_terms(r, p, index, dims)) see_read(r, p, dims, index);
  }
}

static void see_exp(void *state, const ImpExp *e) {
  Reads *r = state;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    see_exp(r, operands[i]);
  if (e->kind == IMP_LOAD) see_access(r, e->u.load.mem, e->u.load.index);
}

// ---- the trial

static void note_assigned(Reads *r, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind == IMP_ASSIGN)
      put_motion(r, (*stm)->u.assign.var, (Motion){ STEP_OTHER, false, 0 });
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      note_assigned(r, inner[i]);
  }
}

// What is assigned later moves in no known way, but for the places of a group's items, which begin
// side by side and go on by the same steps.
static void see_declared(Reads *r, const Var *var, const ImpExp *value) {
  const Motion *known = map_get(r->motions, var);
  Motion first = value ? motion_of(r, value) : (Motion){ STEP_OTHER, false, 0 };
  bool assigned = known && known->step == STEP_OTHER && !known->space;
  if (assigned && r->groups && first.step == 1)
    first.walks = true;
  else if (known)
    return;
  put_motion(r, var, first);
}

static void walk_block(Reads *r, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    imp_each_exp(stm, see_exp, r);
    if (stm->kind == IMP_STORE) see_access(r, stm->u.store.mem, stm->u.store.index);
    if (stm->kind == IMP_DECLARE)
      see_declared(r, stm->u.declare.var, stm->u.declare.value);
    bool loops = stm->kind == IMP_FOR || stm->kind == IMP_WHILE;
    if (stm->kind == IMP_FOR) put_motion(r, stm->u.loop.var, (Motion){ 0, true, 0 });
    r->depth += loops;
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      walk_block(r, inner[i]);
    r->depth -= loops;
  }
}

static const Arr *stand_in(const Probe *p, Compiler *c, Loc loc) {
  const ImpExp **strides = new_array(const ImpExp *, p->arr->rank);
  for (int d = 0; d < p->arr->rank; d++) {
    p->strides[d] = var_new(c, name_of(c->names, "stride"), type_scalar(PRIM_I64), loc);
    strides[d] = imp_var(p->strides[d]);
  }
  Arr arr = { p->mem,        p->arr->elem, p->arr->rank, imp_i64(0),
              p->arr->shape, strides,      NULL,         NULL };
  return mem_copy(&arr, sizeof arr);
}

// Results that are arrays are wanted somewhere in global memory.
static const Arr **some_places(Compiler *c, const Body *body) {
  const Arr **dests = new_array(const Arr *, body->result_count + 1);
  for (int i = 0; i < body->result_count; i++) {
    CoreType type = atom_type(body->results[i]);
    if (type.rank == 0) continue;
    Arr place = arr_dense(mem_new(c, "out", MEM_GLOBAL, type.elem), type.elem,
                          code_shape(type), type.rank);
    dests[i] = mem_copy(&place, sizeof place);
  }
  return dests;
}

// The body lowered without effect on the program; what it would make is lost.
static KernelCode *lower_on_trial(Reads *r) {
  Lower *lower = r->host->lower;
  int notes = lower->copies.count;
  KernelCode *trial = kernel_begin(r->host, r->host->b->loc);
  Code *k = &trial->code;
  Loc loc = r->host->b->loc;
  vec_each (Probe *, p, &r->probes)
    if (p->var) map_put(k->arrays, p->var, stand_in(p, lower->c, loc));
  for (int d = 0; d < r->seg->dim_count; d++)
    map_put(k->inside, r->seg->dims[d].index, r->seg);
  const Body *body = r->seg->body;
  const ImpExp **scalars = new_array(const ImpExp *, body->result_count + 1);
  const Arr **places = some_places(lower->c, body);
  vec_each (Probe *, p, &r->probes)
    if (!p->var) places[p->result] = stand_in(p, lower->c, loc);
  if (r->groups)
    group_points(k, body, imp_i64(1), scalars, places);
  else
    seq_body(k, body, scalars, places);
  lower->copies.count = notes;
  return trial;
}

// The indices of a space, of which `outer` are around it; `step`: of the innermost.
static void put_space(Reads *r, const SegOp *seg, int outer, int step) {
  for (int d = 0; d < seg->dim_count; d++) {
    int bit = outer + d < 31 ? outer + d : 31;
    put_motion(r, seg->dims[d].index,
               (Motion){ d == seg->dim_count - 1 ? step : 0, false, 1U << bit });
  }
}

// Items take neighbouring points of level 0, or pieces where a reduction does not commute.
static void put_inner_spaces(Reads *r, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_SEG) {
      const SegOp *seg = exp->u.seg;
      bool pieces = seg->kind == SEG_RED && !seg_commutes(seg);
      put_space(r, seg, r->seg->dim_count, pieces ? STEP_OTHER : 1);
      continue;
    }
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      put_inner_spaces(r, *inner);
  }
}

static void run_trial(Reads *r) {
  put_space(r, r->seg, 0, r->groups ? 0 : 1);
  if (r->groups) put_inner_spaces(r, r->seg->body);
  const KernelCode *trial = lower_on_trial(r);
  note_assigned(r, &trial->b.block);
  walk_block(r, &trial->b.block);
}

static bool takes_arena(const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind == IMP_LOCAL && (*stm)->u.alloc.mem->space == MEM_ARENA) return true;
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      if (takes_arena(inner[i])) return true;
  }
  return false;
}

bool body_takes_arena(Code *host, const SegOp *seg) {
  bool only_scalars = true;
  for (int i = 0; i < seg->body->stm_count; i++) {
    const Stm *stm = &seg->body->stms[i];
    for (int b = 0; b < stm->binder_count; b++)
      only_scalars = only_scalars &&
                     (stm->binders[b]->type.rank == 0 || stm->exp->kind == EXP_INDEX);
    only_scalars = only_scalars && !exp_has_bodies(stm->exp);
  }
  if (only_scalars) return false;
  Reads r = { .host = host, .seg = seg };
  return takes_arena(&lower_on_trial(&r)->b.block);
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

static void add_probe(Reads *r, const Var *var, const Arr *arr, int result) {
  Probe p = { .var = var, .arr = arr, .in_order = -1, .apart = -1, .result = result };
  p.mem = mem_new(r->host->lower->c, "probe", MEM_GLOBAL, arr->elem);
  p.strides = new_array(const Var *, arr->rank);
  p.order = new_array(int, arr->rank);
  vec_push(&r->probes, p);
}

static void find_probes(Reads *r) {
  VarVec free = core_free_body(r->seg->body);
  vec_each (const Var **, v, &free) {
    const Arr *arr = (*v)->type.rank > 1 ? map_get(r->host->arrays, *v) : NULL;
    if (arr && arr->mem) add_probe(r, *v, arr, 0);
  }
}

static void find_result_probes(Reads *r) {
  const Body *body = r->seg->body;
  const Arr **places = some_places(r->host->lower->c, body);
  for (int i = 0; i < body->result_count; i++)
    if (places[i] && places[i]->rank > 1) add_probe(r, NULL, places[i], i);
}

// What the body does with arrays that may be laid out anew.
static Reads find_seg_reads(Code *host, const SegOp *seg, bool groups) {
  Reads r = { .host = host, .seg = seg, .motions = map_new(NULL), .groups = groups };
  if (!host->lower->machine->side_by_side) return r;
  find_probes(&r);
  if (groups) find_result_probes(&r);
  if (body_changes_rank(seg->body)) r.probes.count = 0;
  if (r.probes.count) run_trial(&r);
  return r;
}

static bool wants_copy(const Probe *p) { return p->apart > p->in_order; }

Layouts layout_inputs(Code *host, const SegOp *seg) {
  Layouts out = { 0 };
  Reads r = find_seg_reads(host, seg, false);
  vec_each (Probe *, p, &r.probes)
    if (wants_copy(p))
      vec_push(&out, (Laid){ p->var, layout_copy(host, p->var, p->order) });
  return out;
}

// Do points read most of a row of constant size word by word, again and again or of so many bytes
// that neighbours' words are far apart?
static bool reads_row(const Probe *p) {
  int64_t count = 1;
  for (int d = 1; d < p->arr->rank; d++) {
    const ImpExp *width = p->arr->shape[d];
    if (width->kind != IMP_CONST || width->u.constant.u.i > INT16_MAX) return false;
    count *= width->u.constant.u.i;
  }
  bool far = count * prim_size_bytes(p->arr->elem) >= LEAST_ROW_BYTES;
  return (far || (p->in_rounds && count > 1)) && 2 * p->fixed.count >= count;
}

VarVec layout_apart(Code *host, const SegOp *seg) {
  VarVec out = { 0 };
  Reads r = find_seg_reads(host, seg, false);
  vec_each (Probe *, p, &r.probes)
    if (wants_copy(p) || (seg->dim_count == 1 && reads_row(p))) vec_push(&out, p->var);
  return out;
}

static const Probe *probe_of(const Reads *r, const Var *var) {
  vec_each (const Probe *, p, &r->probes)
    if (p->var == var) return p;
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
    if (!p->var) apart[p->result] = wants_copy(p);
  return apart;
}

GroupWishes layout_group_wishes(Code *host, const SegOp *seg) {
  Reads r = find_seg_reads(host, seg, true);
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
