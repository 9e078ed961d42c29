// if c { a[i] = x }  =>  a[c ? i : spare] = x, where `a` has spare elements behind its end
//
// Why: what a filter keeps is not foreseen by the processor; a wrong guess costs ten stores.
#include "kern/schedules/chunks.h"

// Where an item stores what is not kept: no other item's line of memory.
static const Term *spare_index(const Tensor *t, const Term *item) {
  return term_add(t->dims[0], term_mul(item, term_i64(SPARE_ELEMENTS)));
}

static bool goes_spare(const KernStm *stm) {
  if (stm->kind != KERN_IF || stm->u.cond.else_block->count || stm->binder_count)
    return false;
  const KernBlock *block = stm->u.cond.then_block;
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind != KERN_STORE || !block->stms[i].u.store.to.tensor->spare)
      return false;
  return block->count > 0;
}

static void add_stores(KernMapper *m, KernBuilder *b, const KernStm *stm) {
  const KernBlock *block = stm->u.cond.then_block;
  const Term *const *item = m->state;
  const Term *kept = kern_let(b, "kept", stm->u.cond.condition);
  for (int i = 0; i < block->count; i++) {
    Access to = block->stms[i].u.store.to;
    const Term **index = new_array(const Term *, 1);
    index[0] = term_select(kept, to.index[0], spare_index(to.tensor, *item));
    kern_store(b, (Access){ to.tensor, index }, block->stms[i].u.store.value);
  }
}

static const KernBlock *with_spare(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    b.loc = block->stms[i].loc;
    if (goes_spare(&block->stms[i]))
      add_stores(m, &b, &block->stms[i]);
    else
      kern_add(&b, kern_map_stm(m, &block->stms[i]));
  }
  return kern_block(&b, block->results, block->result_count);
}

const KernBlock *kern_use_spare(Compiler *c, const KernBlock *block, const Term *item) {
  KernMapper m = { .c = c, .block = with_spare, .state = &item };
  return with_spare(&m, block);
}
