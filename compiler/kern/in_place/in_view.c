// out[i, j] = x   =>   a[k + 1 + i, k + 1 + j] = x      where a with [k + 1:, k + 1:] = out follows
//
// The result of a kernel is made where it would be copied to.  Why: an update by slices then writes
// what it changes once.
//
// Legal: the kernel loads nothing of the array, nor of its memory under another shape; or each
// point stores one element, and each load reads what it would have read (in_place_loads.c).
#include "kern/in_place/places.h"
#include "kern/sums.h"

typedef struct MovingOut {
  KernMapper mapper;
  const Tensor *out;
  const View *place;
  bool refused;
} MovingOut;

static bool moves(const MovingOut *m, const Access *access) {
  return access->tensor == m->out;
}

// Is it of memory whose elements `place` has under another shape?  Those are not compared.
static bool has_other_shape(const MovingOut *m, const Access *access) {
  const Tensor *to = m->place->tensor, *root = tensor_root(to);
  const Tensor *of = tensor_root(access->tensor);
  return root != to && (of == root || (of->host && of->host == root->host));
}

// Only in its own dimensions, and by no histogram, whose accesses lack an index.
static void see_out(KernVisitor *v, Access access, bool stores) {
  MovingOut *m = v->state;
  (void)stores;
  bool other = access.tensor != m->out && tensor_root(access.tensor) == m->out;
  m->refused = m->refused || other || has_other_shape(m, &access);
}

static void see_bins(KernVisitor *v, const KernStm *stm) {
  MovingOut *m = v->state;
  for (int i = 0; stm->kind == KERN_AXIS && i < stm->u.axis->hist_count; i++)
    for (int k = 0; k < stm->u.axis->hists[i].op.count; k++)
      if (tensor_root(stm->u.axis->hists[i].dests[k].tensor) == m->out) m->refused = true;
}

static const KernBlock *move_in(KernMapper *mapper, const KernBlock *block) {
  const MovingOut *m = mapper->state;
  KernBuilder b = kern_builder(mapper->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(mapper, &block->stms[i]);
    b.loc = stm.loc;
    if (stm.kind == KERN_LOAD && moves(m, &stm.u.load))
      stm.u.load = view_access(m->place, stm.u.load.index);
    if (stm.kind == KERN_STORE && moves(m, &stm.u.store.to))
      stm.u.store.to = view_access(m->place, stm.u.store.to.index);
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

typedef Vec(KernStm) KernStmVec;

static const KernBlock *in_view(Compiler *c, const Kern *kern, const KernBlock *block,
                                const Tensor *out, const View *place) {
  MovingOut m = { .mapper = { .c = c, .block = move_in }, .out = out, .place = place };
  m.mapper.state = &m;
  KernVisitor v = { .stm = see_bins, .access = see_out, .state = &m };
  kern_visit_block(&v, block);
  ArrayPlace made = { out, NULL }, at = { place->tensor, NULL };
  bool loads, fits = in_place_fits(kern, block, made, at, &loads);
  if (m.refused || (loads && !fits)) return NULL;
  const KernBlock *moved = move_in(&m.mapper, block);
  return loads ? in_place_loads(c, kern, sum_lets(kern), moved, at, at, false) : moved;
}

const Kern *kern_in_view(Compiler *c, const Kern *kern, const Tensor *out,
                         const View *place) {
  Kern *moved = mem_copy(kern, sizeof *kern);
  moved->body = in_view(c, kern, kern->body, out, place);
  return moved->body ? moved : NULL;
}

// ---- within kernels
//
// axis { t[i] = x }  axis { a[k + 1 + i] = t[i] }   =>   axis { a[k + 1 + i] = x }
//
// Also if t is copied under another shape: flatten.

typedef struct Updating {
  KernMapper mapper;
  const Kern *kern;
} Updating;

// A nest that does nothing but copy an array of the point's own, which is all that it is for.
typedef struct Copying {
  const Tensor *from;
  View to;
} Copying;

enum { MOST_DIMS = 8 };

static bool is_identity(const Access *access, const Axis *const *axes, int depth) {
  const Tensor *t = access->tensor;
  if (t->rank != depth || t->space != TENSOR_OWN || tensor_root(t)->open) return false;
  for (int d = 0; d < depth; d++) {
    const Term *at = access->index[d];
    if (at->kind != TERM_VAR || at->u.var != axes[d]->index ||
        !term_same(t->dims[d], axes[d]->width))
      return false;
  }
  return true;
}

// The array's memory as it is made, if it is copied under another shape.
static bool of_root(Compiler *c, Copying *copy) {
  const Tensor *root = tensor_root(copy->from);
  View to = copy->to;
  if (root == copy->from) return true;
  copy->from = root;
  return root->rank > 0 && view_reshape(c, &to, root->dims, root->rank, &copy->to);
}

static bool is_copy(Compiler *c, const KernStm *stm, Copying *out) {
  const Axis *axes[MOST_DIMS];
  int depth = 0;
  while (stm->kind == KERN_AXIS && depth < MOST_DIMS && stm->u.axis->role == AXIS_MAP) {
    axes[depth++] = stm->u.axis;
    const KernBlock *body = stm->u.axis->body;
    if (body->count == 2 && body->stms[0].kind == KERN_LOAD) break;
    if (body->count != 1) return false;
    stm = &body->stms[0];
  }
  if (!depth || axes[depth - 1]->body->count != 2) return false;
  const KernStm *load = &axes[depth - 1]->body->stms[0], *store = load + 1;
  if (store->kind != KERN_STORE || store->u.store.value->kind != TERM_VAR ||
      store->u.store.value->u.var != load->binders[0] ||
      !is_identity(&load->u.load, axes, depth))
    return false;
  const Var **vars = new_array(const Var *, depth);
  for (int d = 0; d < depth; d++)
    vars[d] = axes[d]->index;
  out->from = load->u.load.tensor;
  const Access *to = &store->u.store.to;
  return !to->tensor->of &&
         view_by_index(to->tensor, to->index, vars, out->from->dims, depth, &out->to) &&
         of_root(c, out);
}

typedef struct RootUses {
  const Tensor *root;
  int count;
} RootUses;

static void note_of_root(KernVisitor *v, Access access, bool stores) {
  RootUses *a = v->state;
  const Tensor *root = tensor_root(access.tensor);
  (void)stores;
  a->count += root == a->root || (root->host && root->host == a->root->host);
}

static int accesses_in(const KernStm *stm, const Tensor *root) {
  RootUses a = { root, 0 };
  KernVisitor v = { .access = note_of_root, .state = &a };
  kern_visit_stm(&v, stm);
  return a.count;
}

// The statement before `last` that alone makes what is copied there; -1: there are others.
static int maker_of(const KernStmVec *stms, int last, const Copying *copy) {
  int found = -1;
  for (int i = 0; i < stms->count; i++) {
    if (i == last || !accesses_in(&stms->at[i], copy->from)) continue;
    if (found >= 0 || i > last || stms->at[i].kind != KERN_AXIS) return -1;
    found = i;
  }
  return found;
}

static void see_made_var(KernVisitor *v, const Var *var) { map_put(v->state, var, var); }

typedef struct AnyOf {
  const Map *vars;
  bool found;
} AnyOf;

static void see_all_of_term(KernVisitor *v, const Term *t) {
  AnyOf *m = v->state;
  m->found = m->found || term_mentions_any(t, m->vars);
}

static bool mentions_any(const KernStm *stm, const Map *vars) {
  AnyOf m = { vars, false };
  KernVisitor v = { .term = see_all_of_term, .state = &m };
  kern_visit_stm(&v, stm);
  return m.found;
}

static bool is_alloc(const KernStm *stm, const Tensor *t) {
  return stm->kind == KERN_ALLOC && stm->u.tensor == t;
}

// Scalars and checks between the maker and the copy, which can be before it: the copy's place
// depends on them.  False: something there has to do with the array, or with what is made.
static bool move_before(KernStmVec *stms, int maker, int last, const Tensor *to) {
  Map *later = map_new(NULL);
  KernVisitor v = { .binder = see_made_var, .state = later };
  kern_visit_stm(&v, &stms->at[maker]);
  int at = maker;
  for (int i = maker + 1; i < last; i++) {
    KernStm stm = stms->at[i];
    bool moves =
        (stm.kind == KERN_LET || stm.kind == KERN_CHECK) && !mentions_any(&stm, later);
    if (!moves) {
      if (stm.kind == KERN_CHECK || is_alloc(&stm, tensor_root(to)) ||
          accesses_in(&stm, tensor_root(to)))
        return false;
      kern_visit_stm(&v, &stm);
      continue;
    }
    for (int k = i; k > at; k--)
      stms->at[k] = stms->at[k - 1];
    stms->at[at++] = stm;
  }
  return !mentions_any(&stms->at[last], later);
}

// Leaves out the copy at `last`; false, and nothing has changed, if it has to stay.
static bool update_at(const Updating *u, KernStmVec *stms, int last) {
  Copying copy;
  if (!is_copy(u->mapper.c, &stms->at[last], &copy)) return false;
  int alloc = 0, maker = maker_of(stms, last, &copy);
  while (alloc < stms->count && !is_alloc(&stms->at[alloc], copy.from))
    alloc++;
  if (maker < 0 || alloc >= maker) return false;
  KernStmVec moved = { mem_copy(stms->at, (size_t)stms->count * sizeof *stms->at),
                       stms->count, stms->count };
  int moves = 0;
  if (!move_before(&moved, maker, last, copy.to.tensor)) return false;
  while (moved.at[maker + moves].kind != KERN_AXIS ||
         moved.at[maker + moves].u.axis != stms->at[maker].u.axis)
    moves++;
  KernStm *at = &moved.at[maker + moves];
  const KernBlock one = { at, 1, NULL, 0 };
  const KernBlock *made = in_view(u->mapper.c, u->kern, &one, copy.from, &copy.to);
  if (!made) return false;
  *stms = (KernStmVec){ 0 };
  for (int i = 0; i < moved.count; i++) {
    if (i == last || i == alloc) continue;
    for (int k = 0; i == maker + moves && k < made->count; k++)
      vec_push(stms, made->stms[k]);
    if (i != maker + moves) vec_push(stms, moved.at[i]);
  }
  return true;
}

static const KernBlock *update_in(KernMapper *m, const KernBlock *block) {
  const Updating *u = m->state;
  KernStmVec stms = { 0 };
  for (int i = 0; i < block->count; i++)
    vec_push(&stms, kern_map_stm(m, &block->stms[i]));
  for (int i = 0; i < stms.count; i++)
    if (update_at(u, &stms, i)) i = -1;
  return new_node(KernBlock, .stms = stms.at, .count = stms.count,
                  .results = block->results, .result_count = block->result_count);
}

const Kern *kern_update_in_place(Compiler *c, const Kern *kern) {
  Updating u = { .mapper = { .c = c, .block = update_in }, .kern = kern };
  u.mapper.state = &u;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = update_in(&u.mapper, kern->body);
  return out;
}
