// let x = ..   =>            if nothing mentions x; likewise loads, loops and branches that have no
// effect
#include "kern/kern.h"

typedef struct KernDead {
  KernMapper mapper;
  Map *used;  // Var -> itself: mentioned by what stays, further down
} KernDead;

static void mark_var(void *state, const Var *var) { map_put(state, var, var); }

static void mark_term(KernVisitor *v, const Term *term) {
  term_each_var(term, mark_var, v->state);
}

// What is loaded or stored lies in an array of some size.
static void mark_dims(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  for (const Tensor *t = access.tensor; t; t = t->of)
    for (int i = 0; i < t->rank; i++)
      term_each_var(t->dims[i], mark_var, v->state);
}

static bool stm_has_effect(const KernStm *stm) {
  switch (stm->kind) {
  case KERN_LET:
  case KERN_LOAD: return false;
  case KERN_AXIS:
    if (stm->u.axis->hist_count) return true;
    break;
  case KERN_IF: break;
  case KERN_STORE:
  case KERN_ALLOC:
  case KERN_ROOM:
  case KERN_WHILE:  // it may not end
  case KERN_CALL:
  case KERN_CHECK: return true;
  }
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks)
    if (kern_has_effect(*block)) return true;
  return false;
}

bool kern_has_effect(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (stm_has_effect(&block->stms[i])) return true;
  return false;
}

static bool is_used(const KernDead *d, const KernStm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (map_has(d->used, stm->binders[i])) return true;
  return stm_has_effect(stm);
}

// The statement without the blocks within, whose mentions are seen when these are mapped.
static KernStm without_blocks(const KernStm *stm) {
  static const KernBlock none = { .count = 0 };
  KernStm out = *stm;
  if (stm->kind == KERN_IF)
    out.u.cond.then_block = out.u.cond.else_block = &none;
  else if (stm->kind == KERN_WHILE)
    out.u.loop.body = &none;
  else if (stm->kind == KERN_AXIS) {
    Axis *axis = mem_copy(stm->u.axis, sizeof *axis);
    axis->body = &none;
    out.u.axis = axis;
  }
  return out;
}

// From the end on, so that all that mentions a variable has been seen before it.
static const KernBlock *live_block(KernMapper *m, const KernBlock *block) {
  KernDead *d = m->state;
  KernStm *stms = new_array(KernStm, block->count + 1);
  int first = block->count;
  KernVisitor uses = { .term = mark_term, .access = mark_dims, .state = d->used };
  kern_visit_block(&uses, &(KernBlock){ .results = block->results,
                                        .result_count = block->result_count });
  for (int i = block->count - 1; i >= 0; i--) {
    const KernStm *stm = &block->stms[i];
    if (!is_used(d, stm)) continue;
    // What follows each point of a scan sees what the point binds.
    if (stm->kind == KERN_AXIS && stm->u.axis->after)
      kern_visit_block(&uses, stm->u.axis->after);
    stms[--first] = kern_map_stm(m, &block->stms[i]);
    const KernStm own = without_blocks(&stms[first]);
    kern_visit_stm(&uses, &own);
  }
  return new_node(KernBlock, .stms = stms + first, .count = block->count - first,
                  .results = block->results, .result_count = block->result_count);
}

const KernBlock *kern_live_block(Compiler *c, const KernBlock *block) {
  KernDead d = { .mapper = { .c = c, .block = live_block }, .used = map_new(NULL) };
  d.mapper.state = &d;
  return live_block(&d.mapper, block);
}
