// alloc t: [2] own;  t[0] = a;  t[1] = b;  if c { x = t[1]; .. }   =>   if c { let x = b; .. }
//
// for arrays of a point's own that are stored in the block that has them alone, not within its
// loops and branches, and whose places are all constants: literals whose loops are straight code.
// Why: branches with stores in them are no choices (short_branches.c), and what stands in an array
// is not known to be a constant, a comparison with an index or few bits.
#include "kern/tidy/tidy.h"

enum { MOST_KNOWN = 64 };

// A small own array.
typedef struct OwnElements {
  const Term *at[MOST_KNOWN];  // what each is at this point; NULL: not stored yet
  int stores;                  // in the kernel
  bool open;                   // accessed otherwise
} OwnElements;

typedef struct KnownElements {
  KernMapper mapper;
  Map *arrays;  // Tensor -> OwnElements *: own arrays
  bool done;
} KnownElements;

// The place in row-major order; -1: it is not known, or outside.
static int place_in(const Access *access) {
  int64_t place = 0;
  for (int i = 0; i < access->tensor->rank; i++) {
    const Term *width = access->tensor->dims[i], *index = access->index[i];
    if (width->kind != TERM_CONST || index->kind != TERM_CONST) return -1;
    int64_t n = width->u.constant.u.i, k = index->u.constant.u.i;
    if (n < 1 || n > MOST_KNOWN || k < 0 || k >= n) return -1;
    place = place * n + k;
    if (place >= MOST_KNOWN) return -1;
  }
  return (int)place;
}

// ---- which arrays

static void see_own_access(KernVisitor *v, Access access, bool stores) {
  const Tensor *root = tensor_root(access.tensor);
  if (root->space != TENSOR_OWN) return;
  OwnElements *e = map_get(v->state, root);
  if (!e) map_put(v->state, root, e = new_node(OwnElements, .stores = 0));
  e->stores += stores;
  e->open = e->open || root != access.tensor || place_in(&access) < 0;
}

static void see_own_bins(KernVisitor *v, const KernStm *stm) {
  for (int i = 0; stm->kind == KERN_AXIS && i < stm->u.axis->hist_count; i++)
    for (int k = 0; k < stm->u.axis->hists[i].op.count; k++) {
      OwnElements *e =
          map_get(v->state, tensor_root(stm->u.axis->hists[i].dests[k].tensor));
      if (e) e->open = true;
    }
}

typedef struct UnstoredLoads {
  const Tensor *array;
  const bool *stored;
  bool found;
} UnstoredLoads;

static void see_unstored_load(KernVisitor *v, Access access, bool stores) {
  UnstoredLoads *s = v->state;
  if (!stores && access.tensor == s->array && !s->stored[place_in(&access)])
    s->found = true;
}

// Is the array stored in these statements alone, each element before it is loaded?
static bool is_known_from(const KernBlock *block, int from, const OwnElements *e) {
  bool stored[MOST_KNOWN] = { false };
  int stores = 0;
  UnstoredLoads s = { .array = block->stms[from].u.tensor, .stored = stored };
  KernVisitor v = { .access = see_unstored_load, .state = &s };
  for (int i = from + 1; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    kern_visit_stm(&v, stm);
    if (stm->kind != KERN_STORE || stm->u.store.to.tensor != s.array) continue;
    stored[place_in(&stm->u.store.to)] = true;
    stores++;
  }
  return !s.found && stores == e->stores;
}

// ---- elements as scalars

static OwnElements *elements_of(const KnownElements *k, const Tensor *t) {
  OwnElements *e = map_get(k->arrays, t);
  return e && !e->open ? e : NULL;
}

// Takes the place of the statement; false: it stays.
static bool is_known_stm(KnownElements *k, KernBuilder *b, const KernBlock *block,
                         int i) {
  const KernStm *stm = &block->stms[i];
  const Access *load = stm->kind == KERN_LOAD ? &stm->u.load : NULL;
  const Access *store = stm->kind == KERN_STORE ? &stm->u.store.to : NULL;
  const Tensor *t = load                      ? load->tensor
                    : store                   ? store->tensor
                    : stm->kind == KERN_ALLOC ? stm->u.tensor
                                              : NULL;
  OwnElements *e = t ? elements_of(k, t) : NULL;
  if (!e) return false;
  if (load) kern_let_var(b, stm->binders[0], e->at[place_in(load)]);
  if (store) e->at[place_in(store)] = kern_let(b, "element", stm->u.store.value);
  if (stm->kind == KERN_ALLOC && !is_known_from(block, i, e)) e->open = true;
  k->done = k->done || !e->open;
  return !e->open;
}

static const KernBlock *known_in(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    b.loc = block->stms[i].loc;
    if (!is_known_stm(m->state, &b, block, i))
      kern_add(&b, kern_map_stm(m, &block->stms[i]));
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_know_elements(Compiler *c, const Kern *kern) {
  KnownElements k = { .mapper = { .c = c, .block = known_in }, .arrays = map_new(NULL) };
  KernVisitor accesses = { .access = see_own_access, .state = k.arrays };
  kern_visit_block(&accesses, kern->body);
  if (map_count(k.arrays) == 0) return kern;
  KernVisitor bins = { .stm = see_own_bins, .state = k.arrays };
  kern_visit_block(&bins, kern->body);
  k.mapper.state = &k;
  const KernBlock *body = known_in(&k.mapper, kern->body);
  if (!k.done) return kern;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = kern_settle(c, body);
  return kern_name_axes(c, out);
}
