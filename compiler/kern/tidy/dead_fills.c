// axis i < n { t[i, j] = 0 }  axis i < n loop { ..; t[i, j] = x }
//   =>   axis i < n loop { ..; t[i, j] = x }
//
// where the loop stores every element that was filled, and loads none: `loop out = replicate n 0
// for i < n do .. out with [i] = x`.  Why: the memory is written once.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

enum { MOST_DIMS = 8 };

// Loops around one store, from outside to inside.
typedef struct StoreNest {
  const Axis *axes[MOST_DIMS];
  int depth;
  const KernStm *store;
} StoreNest;

// What a statement does to the memory.
typedef struct MemoryUse {
  const Tensor *root;
  bool loads, stores;
} MemoryUse;

static void see_memory(KernVisitor *v, Access access, bool stores) {
  MemoryUse *u = v->state;
  if (tensor_root(access.tensor) != u->root) return;
  u->stores = u->stores || stores;
  u->loads = u->loads || !stores;
}

static void see_room_or_bins(KernVisitor *v, const KernStm *stm) {
  MemoryUse *u = v->state;
  if (stm->kind == KERN_ROOM && tensor_root(stm->u.room.tensor) == u->root)
    u->loads = true;
  for (int i = 0; stm->kind == KERN_AXIS && i < stm->u.axis->hist_count; i++)
    for (int k = 0; k < stm->u.axis->hists[i].op.count; k++)
      if (tensor_root(stm->u.axis->hists[i].dests[k].tensor) == u->root) u->loads = true;
}

static MemoryUse use_of(const KernStm *stm, const Tensor *root) {
  MemoryUse u = { .root = root };
  KernVisitor v = { .stm = see_room_or_bins, .access = see_memory, .state = &u };
  kern_visit_stm(&v, stm);
  return u;
}

// ---- fills

// A nest of maps that stores something and does nothing else.
static bool is_fill(const KernStm *stm, StoreNest *out) {
  *out = (StoreNest){ .depth = 0 };
  while (stm->kind == KERN_AXIS && out->depth < MOST_DIMS) {
    const Axis *axis = stm->u.axis;
    if (axis->role != AXIS_MAP || axis->bind != BIND_SEQ || axis->body->count != 1)
      return false;
    out->axes[out->depth++] = axis;
    stm = &axis->body->stms[0];
  }
  out->store = stm;
  return out->depth > 0 && stm->kind == KERN_STORE && !stm->u.store.to.tensor->spare;
}

static int axis_in_index(const StoreNest *nest, const Term *index) {
  for (int a = 0; a < nest->depth && index->kind == TERM_VAR; a++)
    if (nest->axes[a]->index == index->u.var) return a;
  return -1;
}

// ---- what is stored over them

static bool mentions_axis(const StoreNest *nest, const Term *index) {
  for (int a = 0; a < nest->depth; a++)
    if (term_mentions(index, nest->axes[a]->index)) return true;
  return false;
}

static const Term *let_value(const KernBlock *block, const Term *t) {
  for (int i = 0; i < block->count && t->kind == TERM_VAR; i++)
    if (block->stms[i].kind == KERN_LET && block->stms[i].binders[0] == t->u.var)
      return block->stms[i].u.term;
  return t;
}

// The index of the innermost axis, if that is what is left of it in 32 bits: `for i < 1000`.
static const Term *in_full(const StoreNest *nest, const Term *index) {
  const Axis *last = nest->axes[nest->depth - 1];
  const Term *whole = let_value(last->body, index);
  if (last->width->kind != TERM_CONST || last->width->u.constant.u.i > INT32_MAX ||
      whole->kind != TERM_CONVERT || whole->u.arg->type != PRIM_I32)
    return index;
  const Term *half = let_value(last->body, whole->u.arg);
  return half->kind == TERM_CONVERT && half->u.arg->kind == TERM_VAR &&
                 half->u.arg->u.var == last->index
             ? half->u.arg
             : index;
}

// Do both stores go through the same elements, each with its own axes?
static bool stores_the_same(const StoreNest *fill, const StoreNest *nest) {
  const Access *a = &fill->store->u.store.to, *b = &nest->store->u.store.to;
  bool taken[MOST_DIMS] = { false };
  int matched = 0;
  if (a->tensor != b->tensor || fill->depth != nest->depth) return false;
  for (int d = 0; d < a->tensor->rank; d++) {
    int x = axis_in_index(fill, a->index[d]);
    int y = axis_in_index(nest, in_full(nest, b->index[d]));
    if (x < 0 && y < 0 && !mentions_axis(fill, a->index[d]) &&
        term_same(a->index[d], b->index[d]))
      continue;
    if (x < 0 || y < 0 || taken[y] ||
        !term_same(fill->axes[x]->width, nest->axes[y]->width))
      return false;
    taken[y] = true;
    matched++;
  }
  return matched == fill->depth;
}

// Is there a store in these loops, and under no condition, that goes through all of them?
static bool stores_over(const StoreNest *fill, StoreNest *nest, const KernStm *stm) {
  if (stm->kind == KERN_STORE) {
    nest->store = stm;
    return stores_the_same(fill, nest);
  }
  if (stm->kind != KERN_AXIS || nest->depth == fill->depth) return false;
  const Axis *axis = stm->u.axis;
  if ((axis->role != AXIS_MAP && axis->role != AXIS_LOOP) || axis->bind != BIND_SEQ)
    return false;
  nest->axes[nest->depth++] = axis;
  bool found = false;
  for (int i = 0; i < axis->body->count && !found; i++)
    found = stores_over(fill, nest, &axis->body->stms[i]);
  nest->depth--;
  return found;
}

static bool is_dead(const KernBlock *block, int at) {
  StoreNest fill, nest = { .depth = 0 };
  if (!is_fill(&block->stms[at], &fill)) return false;
  const Tensor *root = tensor_root(fill.store->u.store.to.tensor);
  for (int i = at + 1; i < block->count; i++) {
    MemoryUse use = use_of(&block->stms[i], root);
    if (use.loads) return false;
    if (use.stores) return stores_over(&fill, &nest, &block->stms[i]);
  }
  return false;
}

static const KernBlock *without_fills(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    if (is_dead(block, i)) continue;
    b.loc = block->stms[i].loc;
    kern_add(&b, kern_map_stm(m, &block->stms[i]));
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_drop_fills(Compiler *c, const Kern *kern) {
  KernMapper m = { .c = c, .block = without_fills };
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = without_fills(&m, kern->body);
  return out;
}
