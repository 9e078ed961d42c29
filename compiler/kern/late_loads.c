// x = t[i];  y = axis a reduce { .. };  .. x ..
//   =>   y = axis a reduce { .. };  x = t[i];  .. x ..
//
// where the kernel stores nothing in t, and the loop does not need x.
// Why: points side by side in registers each keep x while the loop runs, which takes the registers
// of what it carries.
#include "kern/plan.h"

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

typedef struct LateNeed {
  const Map *late;
  bool found;
} LateNeed;

static void see_needed_var(void *state, const Var *var) {
  LateNeed *w = state;
  if (map_has(w->late, var)) w->found = true;
}

static void see_needed_term(KernVisitor *v, const Term *term) {
  term_each_var(term, see_needed_var, v->state);
}

static bool needs_late(const LateLoads *l, const KernStm *stm) {
  LateNeed w = { l->late, false };
  KernVisitor v = { .term = see_needed_term, .state = &w };
  kern_visit_stm(&v, stm);
  return w.found;
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

static bool is_long(const KernStm *stm) {
  return stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_SEQ;
}

static const KernBlock *load_late(KernMapper *m, const KernBlock *block) {
  LateLoads *l = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  LateLoads here = { .stored = l->stored, .late = map_new(NULL) };
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (waits(&here, stm)) {
      vec_push(&here.waiting, *stm);
      map_put(here.late, stm->binders[0], stm);
      continue;
    }
    if (stm->kind != KERN_LET && (!is_long(stm) || needs_late(&here, stm)))
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
