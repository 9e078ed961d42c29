// x = t[i];  y = axis a reduce { .. };  .. x ..
//   =>   y = axis a reduce { .. };  x = t[i];  .. x ..
//
// where the kernel stores nothing in t, and the loop does not need x.
// Why: points side by side in registers each keep x while the loop runs, which takes the registers
// of what it carries.
#include "kern/tidy/tidy.h"

typedef struct LateLoads {
  KernMapper mapper;
  Map *stored;  // Tensor -> itself: memory of stores
  Map *late;    // Var -> itself: bound by statements that wait
  Vec(KernStm) waiting;
} LateLoads;

static void note_stored_root(KernVisitor *v, Access access, bool stores) {
  LateLoads *l = v->state;
  const Tensor *root = tensor_root(access.tensor);
  if (stores) map_put(l->stored, root, root);
}

// Those of `late` that statements need.
typedef struct LateNeeds {
  const Map *late;
  Map *needed;  // Var -> itself
  int count;
} LateNeeds;

static void see_needed_var(void *state, const Var *var) {
  LateNeeds *n = state;
  if (!map_has(n->late, var)) return;
  map_put(n->needed, var, var);
  n->count++;
}

static void see_needed_term(KernVisitor *v, const Term *term) {
  term_each_var(term, see_needed_var, v->state);
}

static void add_needs(LateNeeds *n, const KernStm *stm) {
  KernVisitor v = { .term = see_needed_term, .state = n };
  kern_visit_stm(&v, stm);
}

static bool needs_late(const LateLoads *l, const KernStm *stm) {
  LateNeeds n = { l->late, map_new(NULL), 0 };
  add_needs(&n, stm);
  return n.count > 0;
}

// May it wait, as a load or as something made of one?
static bool waits(const LateLoads *l, const KernStm *stm) {
  if (stm->kind == KERN_LET) return needs_late(l, stm);
  if (stm->kind != KERN_LOAD) return false;
  const Tensor *t = stm->u.load.tensor;
  return t->space == TENSOR_GLOBAL && !map_has(l->stored, tensor_root(t));
}

static void add_waiting(LateLoads *l, KernBuilder *b) {
  vec_each (const KernStm *, stm, &l->waiting)
    kern_add(b, *stm);
  l->waiting.count = 0;
}

// Those that the loop needs, directly or through others.
static void add_needed(LateLoads *l, KernBuilder *b, const KernStm *loop) {
  LateNeeds n = { l->late, map_new(NULL), 0 };
  add_needs(&n, loop);
  for (int i = l->waiting.count - 1; i >= 0; i--)
    if (map_has(n.needed, l->waiting.at[i].binders[0])) add_needs(&n, &l->waiting.at[i]);
  int left = 0;
  for (int i = 0; i < l->waiting.count; i++) {
    KernStm stm = l->waiting.at[i];
    if (map_has(n.needed, stm.binders[0]))
      kern_add(b, stm);
    else
      l->waiting.at[left++] = stm;
  }
  l->waiting.count = left;
}

static bool is_long(const KernStm *stm) {
  return stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ;
}

static const KernBlock *load_late(KernMapper *m, const KernBlock *block) {
  LateLoads *l = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  LateLoads here = { .stored = l->stored, .late = map_new(NULL) };
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (waits(&here, stm)) {
      vec_push(&here.waiting, *stm);
      map_put(here.late, stm->binders[0], stm);
      continue;
    }
    if (is_long(stm))
      add_needed(&here, &b, stm);
    else if (stm->kind != KERN_LET)
      add_waiting(&here, &b);
    kern_add(&b, kern_map_stm(m, stm));
  }
  add_waiting(&here, &b);
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_load_late(Compiler *c, const Kern *kern) {
  LateLoads l = { .mapper = { .c = c, .block = load_late }, .stored = map_new(NULL) };
  l.mapper.state = &l;
  KernVisitor stores = { .access = note_stored_root, .state = &l };
  kern_visit_block(&stores, kern->body);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = load_late(&l.mapper, kern->body);
  return out;
}
