// scan { let x = t[i]  let f = x > 0 } after { let y = t[i]  let g = y > 0 }
//   =>  scan { .. } after { let y = x  let g = f }
//
// Why: what is made of a scan needs its elements, which fusion computes again
// (flat/fuse_scans.c): loads, and branches, that no pass before has seen side by side.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

typedef struct MadeAgain {
  KernMapper mapper;
  const Map *stored;  // Tensor -> itself: memory that the kernel changes
  Map *is;            // Var -> const Term *: what it is of the scan's body
} MadeAgain;

static const Term *known_term(void *state, const Var *var) {
  const MadeAgain *a = state;
  return map_get(a->is, var);
}

static bool same_term(MadeAgain *a, const Term *again, const Term *term) {
  return term_same(term_replace(again, known_term, a), term);
}

static bool same_load(MadeAgain *a, const Access *again, const Access *load) {
  if (again->tensor != load->tensor || map_has(a->stored, tensor_root(load->tensor)))
    return false;
  for (int i = 0; i < load->tensor->rank; i++)
    if (!same_term(a, again->index[i], load->index[i])) return false;
  return true;
}

static bool same_stm(MadeAgain *a, const KernStm *again, const KernStm *stm);

// What the body has checked need not be checked again.
static bool same_block(MadeAgain *a, const KernBlock *again, const KernBlock *block) {
  int at = 0;
  if (again->result_count != block->result_count) return false;
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    bool checked = stm->kind == KERN_CHECK;
    if (checked && (at == again->count || again->stms[at].kind != KERN_CHECK)) continue;
    if (at == again->count || !same_stm(a, &again->stms[at++], stm)) return false;
  }
  for (int i = 0; i < block->result_count; i++)
    if (!same_term(a, again->results[i], block->results[i])) return false;
  return at == again->count;
}

static bool computes_same(MadeAgain *a, const KernStm *again, const KernStm *stm) {
  switch (stm->kind) {
  case KERN_LET: return same_term(a, again->u.term, stm->u.term);
  case KERN_LOAD: return same_load(a, &again->u.load, &stm->u.load);
  case KERN_IF:
    return same_term(a, again->u.cond.condition, stm->u.cond.condition) &&
           same_block(a, again->u.cond.then_block, stm->u.cond.then_block) &&
           same_block(a, again->u.cond.else_block, stm->u.cond.else_block);
  case KERN_STORE:
  case KERN_ALLOC:
  case KERN_ROOM:
  case KERN_AXIS:
  case KERN_WHILE:
  case KERN_CALL: return false;
  case KERN_CHECK: return same_term(a, again->u.check.condition, stm->u.check.condition);
  }
  return false;
}

// If so, its binders are the other's from here on.
static bool same_stm(MadeAgain *a, const KernStm *again, const KernStm *stm) {
  if (again->kind != stm->kind || again->binder_count != stm->binder_count ||
      !computes_same(a, again, stm))
    return false;
  for (int i = 0; i < stm->binder_count; i++)
    map_put(a->is, again->binders[i], term_var(stm->binders[i]));
  return true;
}

// Notes what is made again, and lets what it binds be that.
static bool is_made_again(MadeAgain *a, const KernBlock *body, const KernStm *again,
                          KernBuilder *b) {
  if (again->kind == KERN_LET && again->u.term->kind == TERM_VAR) {
    map_put(a->is, again->binders[0], term_replace(again->u.term, known_term, a));
    return false;
  }
  for (int i = 0; i < body->count; i++) {
    if (!same_stm(a, again, &body->stms[i])) continue;
    for (int k = 0; k < again->binder_count; k++)
      kern_let_var(b, again->binders[k], term_var(body->stms[i].binders[k]));
    return true;
  }
  return false;
}

static const KernBlock *after_once(MadeAgain *a, const Axis *axis) {
  KernBuilder b = kern_builder(a->mapper.c, (Loc){ 0 });
  for (int i = 0; i < axis->after->count; i++) {
    const KernStm *stm = &axis->after->stms[i];
    b.loc = stm->loc;
    if (!is_made_again(a, axis->body, stm, &b)) kern_add(&b, *stm);
  }
  return kern_block(&b, axis->after->results, axis->after->result_count);
}

static const KernBlock *made_once(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    if (stm.kind == KERN_AXIS && stm.u.axis->after) {
      Axis *axis = mem_copy(stm.u.axis, sizeof *axis);
      axis->after = after_once(m->state, axis);
      stm.u.axis = axis;
    }
    b.loc = stm.loc;
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

static void note_store_root(KernVisitor *v, Access access, bool stores) {
  const Tensor *root = tensor_root(access.tensor);
  if (stores) map_put(v->state, root, root);
}

static void note_bins(KernVisitor *v, const KernStm *stm) {
  for (int i = 0; stm->kind == KERN_AXIS && i < stm->u.axis->hist_count; i++)
    for (int k = 0; k < stm->u.axis->hists[i].op.count; k++)
      note_store_root(v, stm->u.axis->hists[i].dests[k], true);
}

const Map *kern_stored(const Kern *kern) {
  Map *stored = map_new(NULL);
  KernVisitor v = { .stm = note_bins, .access = note_store_root, .state = stored };
  kern_visit_block(&v, kern->body);
  return stored;
}

const Kern *kern_make_once(Compiler *c, const Kern *kern) {
  MadeAgain a = { .mapper = { .c = c, .block = made_once },
                  .stored = kern_stored(kern),
                  .is = map_new(NULL) };
  a.mapper.state = &a;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = made_once(&a.mapper, kern->body);
  return out;
}
